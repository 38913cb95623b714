"""A gradebook and records written by version 0.1 are still read, and no mark in them is lost."""

import zipfile

import pytest
from nbgrader.api import Gradebook

from autograder.classroom.records import Records
from tests.autograder.classroom.classes import grade_class, grading_into
from tests.conftest import ROOT


@pytest.fixture
def earlier(tmp_path):
    """Two students, notebook 1, one answer marked by hand: as version 0.1 left it."""
    folder = tmp_path / "grading"
    zipfile.ZipFile(ROOT / "tests/fixtures/grading-0.1.zip").extractall(folder)
    return folder


def read_scores(folder, course):
    with Gradebook(f"sqlite:///{folder / 'gradebook.db'}", course.id) as gradebook:
        return {
            (submission.student.id, grade.name): (grade.auto_score, grade.manual_score)
            for submission in gradebook.assignment_submissions("attention")
            for notebook in submission.notebooks
            for grade in notebook.grades
        }


def test_records_are_moved_with_a_sentence_and_read(earlier, capsys):
    with grading_into(earlier) as assignment:
        records = Records(assignment).read_all()
        assert [(r.student, r.notebook) for r in records if r.result] == [
            ("ada", "1_query_crafting"), ("emre", "1_query_crafting"),
        ]  # fmt: skip
        assert records[0].result["score"] == 12.0
        assert "records of earlier grading now lie in" in capsys.readouterr().err
        Records(assignment)
        assert capsys.readouterr().err == "", "said once"


def test_grading_again_keeps_scores_and_hand_marks(earlier, course):
    before = read_scores(earlier, course)
    assert before["ada", "answer_1_2_3"] == (None, 1.5)
    results, summary = grade_class(earlier)
    assert summary["graded"] == 2 and summary["problems"] == []
    assert {r["student"]: r["score"] for r in results} == {"ada": 12.0, "emre": 10.0}
    assert read_scores(earlier, course) == before
    assert grade_class(earlier)[1]["unchanged"] == 6
