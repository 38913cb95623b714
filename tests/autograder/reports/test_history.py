"""One student's requests: what happened to my work, please look again, please forget me."""

import shutil
import subprocess
import sys

import pytest
from nbgrader.api import Gradebook, MissingEntry

from autograder.marking.desk import Desk, Judgement
from autograder.marking.requests import FILE, find_code, find_open
from tests.autograder.classroom.classes import grading_into
from tests.conftest import ROOT, run_autograder


@pytest.fixture
def folder(graded, tmp_path):
    folder = shutil.copytree(graded[0], tmp_path / "grading")
    (folder / "roster.csv").write_text("student,track\nada,graduate\nben,graduate\n")
    return folder


def test_history_tells_what_was_graded_and_why(folder):
    done = run_autograder("history", "ada", COURSE_GRADING=str(folder))
    assert done.returncode == 0, done.stderr
    assert "ada: 1_query_crafting, graded for the first time: 12 of 12" in done.stdout
    done = run_autograder("history", "nobody", COURSE_GRADING=str(folder))
    assert done.returncode == 1 and "Nothing is known about 'nobody'" in done.stderr


def test_a_request_is_on_the_desks_list_until_it_is_answered(folder):
    file = folder / "submitted" / "ada" / "attention" / FILE
    file.write_text(
        "1.2.3: the second point\nis there, in my last sentence\n"
        "q_select_first: your test is wrong\nwhatever: hello\n"
    )
    with grading_into(folder) as assignment:
        desk = Desk(assignment)
        try:
            desk.refresh(at_least=0)
            asked = find_open(assignment, desk.gradebook)
            assert [r.label for r in asked] == [
                "Answer 1.2.3", "q_select_first", "something in the notebooks"
            ]  # fmt: skip
            assert asked[0].words == "the second point is there, in my last sentence"
            question = desk.find_question("1_query_crafting", "answer_1_2_3")
            answer = desk.find_answer(question, find_code(asked[0], assignment.name))
            assert answer.student == "ada"
            desk.give(question, "me", Judgement(adjustment=1.0), {answer.code: answer.seen})
            left = find_open(assignment, desk.gradebook)
            assert [r.label for r in left] == ["q_select_first", "something in the notebooks"]
        finally:
            desk.close()
    done = run_autograder("history", "ada", COURSE_GRADING=str(folder))
    assert "asked to look again at Answer 1.2.3: the second point" in done.stdout
    assert "me gave 1 for answer_1_2_3" in done.stdout


def test_forgetting_leaves_nothing(folder):
    elsewhere = folder / "collected" / "attention-gradescope.json"
    elsewhere.parent.mkdir(exist_ok=True)
    elsewhere.write_text('{"ada": {"score": 1, "time": "", "submission": "s"}}')
    said = run_autograder("forget", "ada", COURSE_GRADING=str(folder))
    assert "Nothing was deleted" in said.stdout and (folder / "submitted" / "ada").is_dir()
    done = run_autograder("forget", "ada", "--yes", COURSE_GRADING=str(folder))
    assert done.returncode == 0, done.stderr
    left = [path for path in folder.rglob("*") if "ada" in path.parts or path.stem == "ada"]
    assert left == [] and "ada" not in (folder / "roster.csv").read_text()
    assert elsewhere.read_text() == "{}"
    with Gradebook(f"sqlite:///{folder / 'gradebook.db'}", "attention-course") as gradebook:
        with pytest.raises(MissingEntry):
            gradebook.find_student("ada")
        assert gradebook.find_student("ben")
    done = run_autograder("forget", "ada", "--yes", COURSE_GRADING=str(folder))
    assert done.returncode == 1 and "Nothing is known" in done.stderr


def test_a_reader_who_has_seen_enough_is_no_error(folder):
    """`... --json | head -1`: the pipe breaks, and nobody sees a traceback."""
    code = (
        "import sys; from autograder.__main__ import main\n"
        "import autograder.__main__ as m\n"
        "def talk(options):\n    for _ in range(100000): print('x' * 100)\n    return 0\n"
        "m.run_doctor = talk\nsys.exit(main(['doctor']))"
    )
    writer = subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    writer.stdout.readline()
    writer.stdout.close()
    assert writer.wait(60) == 141
    assert writer.stderr.read() == b""
