"""Odd but honest students get what they earned through every door, and every choice is said."""

import json

import pytest

from autograder.blueprint import load_blueprints
from tests.autograder.intake.odd_students import FIRST, make_odd_students, put_all, read_scores
from tests.conftest import grade, run_autograder, run_nbgrader


@pytest.fixture(scope="module")
def kit(assignment):
    return load_blueprints(assignment)


@pytest.fixture(scope="module")
def students(kit):
    return make_odd_students(kit)


def test_there_are_22_of_them(students):
    assert len({student.name for student in students}) == 22


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
