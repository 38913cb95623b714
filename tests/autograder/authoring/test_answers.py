"""The edition with answers shows solutions and model answers, and nothing else of the instructors'."""

import nbformat
import pytest

from autograder.authoring.answers import publish_answers, show_answers
from autograder.course import CourseError, load_course


@pytest.fixture
def course(monkeypatch):
    monkeypatch.setattr("autograder.authoring.build.build", lambda course, check: [])
    return load_course()


def test_answers_are_there_and_schemes_and_tests_are_not(course, tmp_path):
    written = publish_answers(course, tmp_path / "out", "attention")
    assert len(written) == 4
    for name in written[1:]:
        text = (tmp_path / "out" / name).read_text("utf-8")
        for secret in (
            "MARK SCHEME",
            "HIDDEN TESTS",
            "BEGIN SOLUTION",
            "autograder",
            "Teaching notes",
        ):
            assert secret not in text, (name, secret)
        nbformat.validate(nbformat.reads(text, as_version=4))
    first = (tmp_path / "out" / "attention/1_query_crafting_answers.ipynb").read_text("utf-8")
    assert "q_select_first = 10 * K[0]" in first and "We want weights close to" in first
    assert publish_answers(course, tmp_path / "out", "attention") == []


def test_answers_never_go_where_students_files_are(course, tmp_path):
    (tmp_path / "release.json").write_text("{}")
    with pytest.raises(CourseError, match="kept apart"):
        publish_answers(course, tmp_path, "attention")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["release.json"]


def test_what_is_not_built_has_no_answers(course, monkeypatch, tmp_path):
    monkeypatch.setattr(
        "autograder.authoring.build.build", lambda course, check: [course.root / "release/x.ipynb"]
    )
    with pytest.raises(CourseError, match="out of date"):
        publish_answers(course, tmp_path / "out")


def test_regions_are_dropped_whole():
    cell = nbformat.v4.new_code_cell(
        "a = ...\n### BEGIN SOLUTION\na = 1\n### END SOLUTION\n"
        "### BEGIN HIDDEN TESTS\nassert a\n### END HIDDEN TESTS"
    )
    shown = show_answers(nbformat.v4.new_notebook(cells=[cell]))
    assert shown.cells[0].source == "a = ...\na = 1"
