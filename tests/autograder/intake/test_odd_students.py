"""Odd but honest students get what they earned through every door, and every choice is said."""

import json
import re

import pytest
from nbgrader.api import Gradebook

from autograder.blueprint import load_blueprints
from autograder.course import load_assignment
from autograder.marking.desk import Desk
from autograder.marking.documents import draw, open_document
from tests.autograder.intake.odd_students import (
    FIRST,
    SECOND,
    THIRD,
    WRITEUP,
    make_odd_students,
    put_all,
    read_scores,
)
from tests.conftest import grade, run_autograder, run_nbgrader


@pytest.fixture(scope="module")
def kit(assignment):
    return load_blueprints(assignment)


@pytest.fixture(scope="module")
def students(kit):
    return make_odd_students(kit)


def test_there_are_23_of_them(students):
    assert len({student.name for student in students}) == 23


def test_the_class_as_a_whole(students, tmp_path):
    put_all(students, tmp_path / "submitted")
    (tmp_path / "submitted" / "nobody").mkdir()
    done = run_autograder("grade", "--json", "--notebook", FIRST, COURSE_GRADING=str(tmp_path))
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    results = {line["student"]: line for line in lines if "score" in line}
    problems = {line["student"]: line["error"] for line in lines[-1]["summary"]["problems"]}
    scores = read_scores(tmp_path)
    for student in students:
        if not student.earns:
            assert student.name in problems, student.name
            assert student.refused in problems[student.name]
            continue
        assert student.name not in problems, problems
        assert scores[student.name, FIRST] == student.earns[FIRST], student.name
        found = results[student.name]
        said = " ".join([*found["flags"], *found["repairs"]])
        assert student.told in said, (student.name, said)
    assert done.returncode == 1, "some could not be graded"
    check_what_is_elsewhere(tmp_path)


def check_what_is_elsewhere(grading):
    """The answers of who wrote a PDF wait, wherever one looks; those of others are 0 as before."""
    options = {"COURSE_GRADING": str(grading)}
    page = grading / "report.html"
    assert run_autograder("report", "--write", "--stale-ok", **options).returncode == 0
    row = re.search(
        rf"<tr><td>[^\n]*?latex-beside-py.*?{WRITEUP}.*?</tr>", page.read_text("utf-8")
    )[0]
    assert "<td class='n'>2</td>" in row and "untouched: elsewhere" in row
    done = run_autograder(
        "grades", "--track", "graduate", "--stale-ok", "--format", "csv", **options
    )
    assert done.returncode == 1 and "not marked yet" in done.stderr
    assert (
        f"latex-beside-py: answers wait, and may be elsewhere: {WRITEUP}"
        in done.stderr + done.stdout
    )
    assert WRITEUP in run_autograder("history", "latex-beside-py", **options).stdout
    assert find_waiting(grading, "latex-beside-py")[FIRST] == count_answers(FIRST)
    assert find_waiting(grading, "blank-beside-copy")[FIRST] == count_answers(FIRST), "own words"
    assert find_waiting(grading, "worse-but-later")[FIRST] == 0, "bare, and nothing beside it"
    assignment = load_assignment("attention")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COURSE_GRADING", str(grading))
        desk = Desk(load_assignment(assignment.name))
        desk.refresh()
        mine = [x for x in desk.read_answers() if x.student == "latex-beside-py"]
        assert mine and {x.status for x in mine if x.notebook == FIRST} == {"elsewhere"}
        (writeup,) = desk.find_writeups(mine[0])
        assert open_document(writeup).pages == 2 and draw(writeup, 2).startswith(b"\x89PNG")
        desk.close()


def count_answers(name):
    blueprint = load_blueprints(load_assignment("attention"))[name]
    return sum(slot.role == "answer" and slot.points > 0 for slot in blueprint.slots)


def find_waiting(grading, student):
    """Return how many answers with points wait for a person, by notebook."""
    with Gradebook(f"sqlite:///{grading / 'gradebook.db'}", "attention-course") as gradebook:
        found = gradebook.find_submission("attention", student)
        return {notebook.name: sum(grade.needs_manual_grade and grade.max_score > 0 for grade in notebook.grades)
                for notebook in found.notebooks}  # fmt: skip


# Every route has the same intake: others than the class take a part of the students in `make test`.
parts = pytest.mark.parametrize(
    "part",
    [slice(1, None, 3), pytest.param(slice(None), marks=pytest.mark.soak)],
    ids=["some", "all"],
)


@parts
def test_nbgrader_autograde_gives_the_same(students, part, tmp_path):
    students = students[part]
    put_all(students, tmp_path / "submitted")
    done = run_nbgrader("autograde", "attention", COURSE_GRADING=str(tmp_path))
    scores = read_scores(tmp_path)
    for student in students:
        for notebook, points in student.earns.items():
            assert scores[student.name, notebook] == points, (student.name, done.stderr[-3000:])
    if any(student.name == "latex-beside-py" for student in students):
        assert find_waiting(tmp_path, "latex-beside-py") == {
            name: count_answers(name) for name in (FIRST, SECOND, THIRD)
        }


@parts
def test_paths_anywhere_give_the_same(students, part, tmp_path):
    students = students[part]
    put_all(students, tmp_path)
    results = grade(*(tmp_path / student.name for student in students), expect=1)
    scores, errors = {}, {}
    for found in results:
        name = found["submission"].rpartition("/")[2]
        if "error" in found:
            errors[name] = found["error"]
        else:
            scores[name, found["notebook"]] = found["score"]
    for student in students:
        if student.earns:
            assert student.name not in errors, errors
        else:
            assert student.refused in errors[student.name]
        for notebook, points in student.earns.items():
            assert scores[student.name, notebook] == points, student.name
