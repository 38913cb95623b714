"""Says what a student's feedback pages are made from, so that none is ever stale."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from nbgrader import api
from sqlalchemy import inspect, select

from autograder.course import Assignment
from autograder.marking import tables
from autograder.marking.reading import find_stamp

_HERE = Path(__file__).parent


def fingerprint_student(
    gradebook: api.Gradebook, assignment: Assignment, student: str, sums: list[str]
) -> str:
    """Return what changes whenever a student's pages would say something else.

    `sums` are the lines that tell how the total comes about, as it is now.
    """
    graded = assignment.grading / "autograded" / student / assignment.name
    facts = [
        [(path.name, find_stamp(path)) for path in sorted(graded.glob("*.ipynb"))],
        sums,
        _read_rows(gradebook, assignment.name, student),
        _read_desk(gradebook, assignment.name, student),
        _digest_files(
            assignment.grading / "roster.csv",
            assignment.root / "course.toml",
            assignment.texts / "assignment.toml",
            *sorted(_HERE.glob("*.py")),
            *sorted(_HERE.glob("templates/*/*")),
        ),
    ]
    return hashlib.sha256(json.dumps(facts, default=str).encode()).hexdigest()[:16]


def _read_rows(gradebook: api.Gradebook, assignment: str, student: str) -> list:
    try:
        submission = gradebook.find_submission(assignment, student)
    except api.MissingEntry:
        return []
    rows: list = [submission.timestamp, submission.extension, submission.assignment.duedate]
    for notebook in sorted(submission.notebooks, key=lambda entry: entry.name):
        rows.append((notebook.name, notebook.late_submission_penalty))
        rows += sorted(
            (g.name, g.auto_score, g.manual_score, g.extra_credit, g.needs_manual_grade,
             g.cell.max_score)
            for g in notebook.grades
        )  # fmt: skip
        rows += sorted(
            (c.name, c.auto_comment or "", c.manual_comment or "") for c in notebook.comments
        )
    return rows


def _read_desk(gradebook: api.Gradebook, assignment: str, student: str) -> list:
    if not inspect(gradebook.engine).has_table(tables.answers.name):
        return []
    a = tables.answers.c
    query = select(a.cell, a.mark, a.digest).where(a.assignment == assignment, a.student == student)
    return sorted(map(tuple, gradebook.db.execute(query)))


def _digest_files(*paths: Path) -> list[str]:
    return [hashlib.sha256(path.read_bytes()).hexdigest()[:16] for path in paths if path.is_file()]
