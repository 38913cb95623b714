"""Keeps the desk's copy of the answers up to date with the graded notebooks.

Texts are copied once, when a notebook was graded or is first seen, so that no page has to read a
class of notebooks. A mark that a person gave stays when work is graded again: if the answer is the
same, nbgrader's flag that it waits for a person is taken back; if it has changed, it waits again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from pathlib import Path

import nbformat
from nbgrader import api
from nbgrader.coursedir import CourseDirectory
from sqlalchemy import select, update

from autograder.blueprint import is_kept
from autograder.course import Assignment
from autograder.intake.writeups import find_elsewhere
from autograder.marking import tables
from autograder.marking.questions import Question, find_name
from autograder.marking.render import clean_text

_LONGEST = 200_000  # characters of one answer that are kept


class Reader:
    """Reads graded notebooks into the desk's tables, on the desk's own connection."""

    def __init__(
        self,
        assignment: Assignment,
        directory: CourseDirectory,
        questions: list[Question],
        gradebook: api.Gradebook,
    ):
        self.assignment, self.directory, self.gradebook = assignment, directory, gradebook
        self.questions: dict[str, list[Question]] = {}
        for question in questions:
            self.questions.setdefault(question.notebook, []).append(question)
        self._looked = 0.0

    def refresh(self, at_least: float) -> None:
        """Copy what has changed since the last look, at most every `at_least` seconds."""
        if time.monotonic() - self._looked < at_least and self._looked:
            return
        known = self._read_stamps()
        for student, notebook in self._find_notebooks():
            stamp = self._find_stamp(student, notebook)
            if known.get((student, notebook)) != stamp:
                self._read(student, notebook, stamp)
        self._looked = time.monotonic()

    def read_work(self, question: Question, student: str) -> tuple[list, dict]:
        """Return the student's code cells that an answer may speak of, and its own pictures."""
        notebook = read_notebook(self._find_path(student, question.notebook))
        cells = notebook.cells if notebook is not None else []
        own = next((cell for cell in cells if find_name(cell) == question.cell), {})
        pictures = own.get("attachments", {})
        return question.find_work(cells), pictures if isinstance(pictures, dict) else {}

    def _find_stamp(self, student: str, notebook: str) -> str:
        """Return what changes with a graded notebook or, without one, with what was handed in."""
        path = self._find_path(student, notebook)
        home = self.assignment.grading / "submitted" / student
        return find_stamp(path) or find_stamp(home / self.assignment.name) + find_stamp(home)

    def _find_path(self, student: str, notebook: str) -> Path:
        folder = self.directory.format_path(
            self.directory.autograded_directory, student, self.assignment.name
        )
        return Path(folder) / f"{notebook}.ipynb"

    def _read_stamps(self) -> dict[tuple[str, str], str]:
        f = tables.files.c
        rows = self.gradebook.db.execute(
            select(f.student, f.notebook, f.stamp).where(f.assignment == self.assignment.name)
        )
        return {(student, notebook): stamp for student, notebook, stamp in rows}

    def _find_notebooks(self) -> list[tuple[str, str]]:
        """Return the students and notebooks that the gradebook knows."""
        query = (
            select(api.SubmittedAssignment.student_id, api.Notebook.name)
            .select_from(api.SubmittedNotebook)
            .join(api.Notebook, api.Notebook.id == api.SubmittedNotebook.notebook_id)
            .join(
                api.SubmittedAssignment,
                api.SubmittedAssignment.id == api.SubmittedNotebook.assignment_id,
            )
            .join(api.Assignment, api.Assignment.id == api.SubmittedAssignment.assignment_id)
            .where(api.Assignment.name == self.assignment.name)
        )
        return [
            (student, name)
            for student, name in self.gradebook.db.execute(query)
            if name in self.questions
        ]

    def _read(self, student: str, name: str, stamp: str) -> None:
        """Copy one notebook's answers."""
        notebook = read_notebook(self._find_path(student, name))
        elsewhere = "".join(found.key for found in find_elsewhere(self.assignment, student))
        grades = self._find_grades(student, name)
        known, fresh = self._find_known(student, name), []
        for question in self.questions[name]:
            if question.cell not in grades:
                continue
            facts = self._describe(question, notebook, grades[question.cell], elsewhere)
            if question.cell in known:
                self._change(*known[question.cell], facts)
            else:
                fresh.append({
                    "code": make_code(self.assignment.name, question, student),
                    "assignment": self.assignment.name, "notebook": name,
                    "cell": question.cell, "student": student, "version": 0, **facts,
                })  # fmt: skip
        tables.insert_missing(self.gradebook.db, tables.answers, fresh)
        key = {"assignment": self.assignment.name, "notebook": name, "student": student}
        f = tables.files.c
        changed = self.gradebook.db.execute(
            update(tables.files)
            .where(*(f[column] == value for column, value in key.items()))
            .values(stamp=stamp)
        ).rowcount
        if not changed:
            tables.insert_missing(self.gradebook.db, tables.files, [{**key, "stamp": stamp}])

    def _find_grades(self, student: str, name: str) -> dict[str, str]:
        query = (
            select(api.BaseCell.name, api.Grade.id)
            .select_from(api.Grade)
            .join(api.BaseCell, api.BaseCell.id == api.Grade.cell_id)
            .join(api.SubmittedNotebook, api.SubmittedNotebook.id == api.Grade.notebook_id)
            .join(api.Notebook, api.Notebook.id == api.SubmittedNotebook.notebook_id)
            .join(
                api.SubmittedAssignment,
                api.SubmittedAssignment.id == api.SubmittedNotebook.assignment_id,
            )
            .join(api.Assignment, api.Assignment.id == api.SubmittedAssignment.assignment_id)
            .where(
                api.Assignment.name == self.assignment.name,
                api.Notebook.name == name,
                api.SubmittedAssignment.student_id == student,
            )
        )
        return dict(map(tuple, self.gradebook.db.execute(query)))

    def _find_known(self, student: str, name: str) -> dict[str, tuple[str, str | None]]:
        """Return the codes and marks of a notebook's answers that have been read before."""
        a = tables.answers.c
        rows = self.gradebook.db.execute(
            select(a.cell, a.code, a.mark).where(
                a.assignment == self.assignment.name, a.notebook == name, a.student == student
            )
        )
        return {cell: (code, mark) for cell, code, mark in rows}

    def _describe(self, question: Question, notebook, grade: str, elsewhere: str) -> dict:
        """Return an answer's row; `elsewhere` names the files in which it may be, if its cell is bare."""
        state, text, pictured = read_answer(question, notebook)
        read = f"{state}|{text}"
        if elsewhere and state != "given":
            state, read = "elsewhere", elsewhere
        return {
            "grade_id": grade,
            "state": state,
            "digest": hashlib.sha256(read.encode()).hexdigest()[:16],
            "text": text[:_LONGEST],
            "pictured": pictured,
        }

    def _change(self, code: str, mark: str | None, facts: dict) -> None:
        a = tables.answers.c
        self.gradebook.db.execute(
            update(tables.answers).where(a.code == code).values(version=a.version + 1, **facts)
        )
        if mark:
            self._settle(mark, facts["grade_id"], facts["digest"])

    def _settle(self, mark: str, grade: str, digest: str) -> None:
        """Let nbgrader's flag say what holds: an answer that has been read does not wait."""
        m, g = tables.marks.c, api.Grade.__table__
        given = self.gradebook.db.execute(select(m.digest, m.score).where(m.id == mark)).first()
        if given.digest != digest:
            waits = True
        else:
            waits = False
            held = self.gradebook.db.execute(
                select(g.c.manual_score).where(g.c.id == grade)
            ).scalar()
            if held != given.score:
                return  # somebody gave another mark in formgrader: theirs to say
        self.gradebook.db.execute(update(g).where(g.c.id == grade).values(needs_manual_grade=waits))


def make_code(assignment: str, question: Question, student: str) -> str:
    """Return what stands for a student on the page of one question; its order is shuffled."""
    text = f"{assignment}|{question.notebook}|{question.cell}|{student}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def find_stamp(path: Path) -> str:
    """Return what changes whenever a file does, or nothing when it is not there."""
    try:
        found = os.stat(path)
    except OSError:
        return ""
    return f"{found.st_mtime_ns}:{found.st_size}:{found.st_ino}"


def read_notebook(path: Path) -> nbformat.NotebookNode | None:
    """Read a graded notebook quickly; nothing is trusted to be there."""
    try:
        notebook = nbformat.from_dict(json.loads(path.read_text("utf-8")))
        for cell in notebook.cells:
            cell.source = clean_text(cell.source)
            cell.cell_type, cell.metadata  # noqa: B018  (a cell without them is no cell)
        return notebook
    except (OSError, ValueError, AttributeError, TypeError, RecursionError):
        return None


def read_answer(
    question: Question, notebook: nbformat.NotebookNode | None
) -> tuple[str, str, bool]:
    """Return an answer's state, its text, and whether outputs were kept above it."""
    cells = notebook.cells if notebook is not None else []
    cell = next((cell for cell in cells if find_name(cell) == question.cell), None)
    if cell is None:
        return "missing", "", False
    text = cell.source
    pictured = any(is_kept(other) and other.get("outputs") for other in question.find_work(cells))
    if _flatten(text) == _flatten(question.slot.release.source):
        return "untouched", text, pictured
    has_words = re.search(r"\w", text) or "attachments" in cell
    return ("given" if has_words else "empty"), text, pictured


def _flatten(text: str) -> str:
    return " ".join(text.split())
