"""One student's requests: what happened to my work, please look again, please forget me."""

import shutil
import subprocess
import sys

import pytest
from nbgrader.api import Gradebook, MissingEntry

from autograder.marking.desk import Desk, Judgement
from autograder.marking.requests import FILE, find_code, find_open, group_by_student
from tests.autograder.classroom.classes import grading_into
from tests.conftest import FULL, ROOT, run_autograder


@pytest.fixture
def folder(graded, tmp_path):
    folder = shutil.copytree(graded[0], tmp_path / "grading")
    (folder / "roster.csv").write_text("student,track\nada,graduate\nben,graduate\n")
    return folder


def test_history_tells_what_was_graded_and_why(folder):
    done = run_autograder("history", "ada", COURSE_GRADING=str(folder))
    assert done.returncode == 0, done.stderr
    expected = f"ada: 1_query_crafting, graded for the first time: {FULL:g} of {FULL:g}"
    assert expected in done.stdout
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


def test_a_later_request_counts_beside_the_earlier_one(folder):
    """Collecting overwrites nothing, so the second file has its time in its name."""
    place = folder / "submitted" / "ada" / "attention"
    (place / FILE).write_text("1.2.3: once\n")
    (place / "regrade_request (2030-03-09 12.00.00).txt").write_text("1.2.1: twice\n")
    (place / "regrade_request-link.txt").symlink_to(folder / "roster.csv")
    done = run_autograder("history", "ada", COURSE_GRADING=str(folder))
    assert "look again at Answer 1.2.3: once" in done.stdout
    assert "look again at Answer 1.2.1: twice" in done.stdout and "graduate" not in done.stdout


@pytest.mark.parametrize("form", ["semicolons", "utf-16"])
def test_forgetting_finds_the_line_in_a_roster_of_any_form(folder, form):
    text = "student,name,track\nada,Ada Lund,graduate\nben,Ben Weiss,graduate\n"
    if form == "semicolons":
        text = text.replace(",", ";")
    (folder / "roster.csv").write_bytes(text.encode("utf-16" if form == "utf-16" else "utf-8"))
    run_autograder("forget", "ada", "--yes", COURSE_GRADING=str(folder))
    left = (folder / "roster.csv").read_bytes().replace(b"\0", b"")
    assert b"Ben" in left and b"Lund" not in left


def test_forgetting_leaves_nothing(folder):
    elsewhere = folder / "collected" / "attention-gradescope.json"
    elsewhere.parent.mkdir(exist_ok=True)
    elsewhere.write_text('{"ada": {"score": 1, "time": "", "submission": "s"}}')
    lines = folder / "collected" / "assign.csv"
    lines.write_text("work,student\nx.ipynb,ada\ny.ipynb,ben\n")
    said = run_autograder("forget", "ada", COURSE_GRADING=str(folder))
    assert "1 lines in" in said.stdout and "ada" in lines.read_text()
    assert "\ndeleted:" not in said.stdout and "would be deleted: " in said.stdout
    assert "Nothing was deleted" in said.stdout and (folder / "submitted" / "ada").is_dir()
    done = run_autograder("forget", "ada", "--yes", COURSE_GRADING=str(folder))
    assert done.returncode == 0, done.stderr
    left = [path for path in folder.rglob("*") if "ada" in path.parts or path.stem == "ada"]
    assert left == [] and "ada" not in (folder / "roster.csv").read_text()
    assert elsewhere.read_text() == "{}" and lines.read_text() == "work,student\ny.ipynb,ben\n"
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


def test_a_file_full_of_requests_is_one_entry_of_its_student(folder):
    place = folder / "submitted" / "ben" / "attention"
    lines = [f"1.2.3: reason {number}" for number in range(3000)]
    lines += ["1.2.1: " + "w" * 9000, "q_select_first: mine", "whatever: hello", "1.2.3 again"]
    (place / FILE).write_text("\n".join(lines))
    (folder / "submitted" / "ada" / "attention" / FILE).write_text("1.2.3: me too\n")
    with (place / "regrade_request-2.txt").open("wb") as file:
        file.truncate(5 * 2**20)
    with grading_into(folder) as assignment:
        desk = Desk(assignment)
        try:
            desk.refresh(at_least=0)
            asked = find_open(assignment, desk.gradebook)
        finally:
            desk.close()
    grouped = group_by_student(asked, assignment.name)
    assert sorted(
        (who, sorted((r.label, r.lines) for r, _ in found)) for who, found in grouped
    ) == [
        ("", [("Answer 1.2.1", 1), ("Answer 1.2.3", 3000)]),
        ("", [("Answer 1.2.3", 1)]),
        ("ben", [("q_select_first", 1), ("something in the notebooks", 2)]),
    ]
    words = {request.label: request.shown for request in asked if request.student == "ben"}
    assert words["Answer 1.2.3"].startswith("reason 0 / reason 1 / ")
    assert "8000 more characters in the student's regrade_request.txt" in words["Answer 1.2.1"]
    assert "regrade_request-2.txt is larger than 4 MB" in words["something in the notebooks"]
    assert sum(map(len, words.values())) < 5000
    done = run_autograder("history", "ben", COURSE_GRADING=str(folder))
    assert len(done.stdout) < 10_000
