"""Lets a gradebook follow a course that changed in mid-term, without losing a mark.

nbgrader refuses to add or remove cells once somebody has handed in. Here cells and notebooks that are
new get a place in every submission; those that were dropped leave the gradebook, and their marks
move to a table of ours, from which they return when the exercise does. All of it is one transaction.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import nbformat
from nbgrader import api
from nbgrader.utils import is_grade, is_locked, is_solution, is_task
from sqlalchemy import (
    Boolean,
    Column,
    DateTime,
    Float,
    MetaData,
    String,
    Table,
    Text,
    inspect,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from autograder.course import Assignment

_metadata = MetaData()

# Marks of exercises that the course no longer has. A row is never deleted, only said to be restored.
dropped_marks = Table(
    "dropped_mark",
    _metadata,
    Column("id", String(32), primary_key=True),
    Column("assignment", String(128), nullable=False),
    Column("notebook", String(128), nullable=False),
    Column("cell", String(128), nullable=False),
    Column("student", String(128), nullable=False),
    Column("max_score", Float),  # None for a comment without points
    Column("auto_score", Float),
    Column("manual_score", Float),
    Column("extra_credit", Float),
    Column("waits", Boolean),
    Column("manual_comment", Text),
    Column("dropped", DateTime, nullable=False),  # UTC
    Column("restored", DateTime),
)


@dataclass(frozen=True)
class CellPlan:
    """One cell of the built source that the gradebook has to know."""

    name: str
    kinds: frozenset[type]  # nbgrader's rows for it, besides that of its source
    points: float
    cell_type: str
    locked: bool


Plan = dict[str, dict[str, CellPlan]]  # by notebook and cell


def read_plan(assignment: Assignment) -> Plan:
    """Read from source/ which cells the gradebook has to know."""
    plan: Plan = {}
    for notebook in assignment.notebooks:
        path = assignment.source / f"{notebook.name}.ipynb"
        if path.is_file():
            cells = nbformat.read(path, as_version=4).cells
            plan[notebook.name] = {cell.name: cell for cell in _plan_cells(cells)}
    return plan


def _plan_cells(cells) -> Iterator[CellPlan]:
    for cell in cells:
        tests = (
            (is_grade, api.GradeCell),
            (is_solution, api.SolutionCell),
            (is_task, api.TaskCell),
        )
        kinds = frozenset(kind for test, kind in tests if test(cell))
        if kinds or is_locked(cell):
            facts = cell.metadata["nbgrader"]
            points = float(facts.get("points", 0))
            yield CellPlan(facts["grade_id"], kinds, points, cell.cell_type, is_locked(cell))


def fits(gradebook: api.Gradebook, assignment: Assignment) -> bool:
    """Does the gradebook know the notebooks, cells and points of source/, and no others?"""
    try:
        entry = gradebook.find_assignment(assignment.name)
    except api.MissingEntry:
        return False
    plan = read_plan(assignment)
    if {notebook.name for notebook in entry.notebooks} != set(plan):
        return False
    for notebook in entry.notebooks:
        wanted = plan[notebook.name]
        if {cell.name for cell in notebook.source_cells} != set(wanted):
            return False
        points = {cell.name: cell.max_score for cell in _list_cells(notebook) if _has_points(cell)}
        if points != {cell.name: cell.points for cell in wanted.values() if _is_graded(cell)}:
            return False
        if _list_kinds(notebook) != {(c.name, kind) for c in wanted.values() for kind in c.kinds}:
            return False
    return True


def read_points(gradebook: api.Gradebook, assignment: Assignment) -> dict[tuple[str, str], float]:
    """Return what each cell is worth in the gradebook, by notebook and cell."""
    notebooks = gradebook.find_assignment(assignment.name).notebooks
    return {
        (notebook.name, cell.name): cell.max_score
        for notebook in notebooks
        for cell in _list_cells(notebook)
        if _has_points(cell)
    }


def migrate(gradebook: api.Gradebook, assignment: Assignment, move_files: bool = True) -> list[str]:
    """Make the gradebook's submissions fit the notebooks in source/; return what was done."""
    try:
        entry = gradebook.find_assignment(assignment.name)
    except api.MissingEntry:
        return []
    if not entry.submissions:
        return []  # nbgrader does it by itself
    _metadata.create_all(gradebook.engine)
    migration = _Migration(gradebook, assignment, entry)
    try:
        migration.run()
        gradebook.db.commit()
    except IntegrityError:  # another process was faster: what it did holds
        gradebook.db.rollback()
        return []
    except BaseException:
        gradebook.db.rollback()
        raise
    if move_files:
        migration.set_files_aside()
    return migration.told


def read_dropped(gradebook: api.Gradebook, student: str) -> list:
    """Return the marks that a student has for exercises which the course dropped."""
    if not inspect(gradebook.engine).has_table(dropped_marks.name):
        return []
    d = dropped_marks.c
    query = select(dropped_marks).where(
        d.student == student, d.restored.is_(None), d.max_score.is_not(None)
    )
    return list(gradebook.db.execute(query.order_by(d.assignment, d.notebook, d.cell)))


class _Migration:
    """One change of one assignment's rows."""

    def __init__(self, gradebook: api.Gradebook, assignment: Assignment, entry: api.Assignment):
        self.db, self.assignment, self.entry = gradebook.db, assignment, entry
        self.plan = read_plan(assignment)
        self.told: list[str] = []
        self._too_much: dict[str, list[str]] = {}  # whose marks came back above the points, by cell
        self._graded_files: list[Path] = []  # of dropped notebooks, below grading/autograded/
        self.now = datetime.now(UTC).replace(tzinfo=None)

    def run(self) -> None:
        for notebook in list(self.entry.notebooks):
            if notebook.name not in self.plan:
                self._drop_notebook(notebook)
        known = {notebook.name: notebook for notebook in self.entry.notebooks}
        for name, cells in self.plan.items():
            fresh = name not in known
            notebook = known.get(name) or self._add_notebook(name)
            self._drop_cells(notebook, cells)
            self._weigh_again(notebook, cells)
            self._add_cells(notebook, cells, fresh)
            self._complete(notebook)

    def set_files_aside(self) -> None:
        """Move graded files of dropped notebooks out of nbgrader's sight: no feedback can be made."""
        grading = self.assignment.grading
        for file in self._graded_files:
            if (grading / "autograded" / file).is_file():
                (grading / "dropped" / file).parent.mkdir(parents=True, exist_ok=True)
                (grading / "autograded" / file).replace(grading / "dropped" / file)

    # -------------------------------------------------------------------------------- dropping

    def _drop_notebook(self, notebook: api.Notebook) -> None:
        name = notebook.name
        kept = sum(self._keep(notebook, cell) for cell in _list_cells(notebook))
        for submitted in list(notebook.submissions):
            student = submitted.student.id
            self._graded_files.append(Path(student) / self.assignment.name / f"{name}.ipynb")
            for row in (*submitted.grades, *submitted.comments, submitted):
                self.db.delete(row)
        self.db.flush()
        for row in (*_list_cells(notebook), *notebook.source_cells, notebook):
            self.db.delete(row)
        self.db.flush()
        self.db.expire_all()
        self.told.append(
            f"The notebook {name} is no longer part of {self.assignment.name}: "
            f"{_count(kept, 'mark')} left the gradebook and {_are(kept)} kept in its table "
            f"{dropped_marks.name}."
        )

    def _drop_cells(self, notebook: api.Notebook, wanted: dict[str, CellPlan]) -> None:
        for cell in _list_cells(notebook):
            if cell.name in wanted and type(cell) in wanted[cell.name].kinds:
                continue
            kept = self._keep(notebook, cell)
            for row in (*cell.grades, *cell.comments):
                self.db.delete(row)
            self.db.flush()
            if _has_points(cell):
                self.told.append(
                    f"{cell.name} ({cell.max_score:g} points) is no longer part of "
                    f"{notebook.name}: {_count(kept, 'mark')} left the gradebook and {_are(kept)} "
                    f"kept in its table {dropped_marks.name}."
                )
            self.db.delete(cell)
        for source in list(notebook.source_cells):
            if source.name not in wanted:
                self.db.delete(source)
        self.db.flush()
        self.db.expire_all()

    def _keep(self, notebook: api.Notebook, cell: api.BaseCell) -> int:
        """Copy what the gradebook says about a cell to our table; return how many marks there were."""
        grades = {grade.notebook_id: grade for grade in cell.grades}
        comments = {comment.notebook_id: comment for comment in cell.comments}
        rows, marks = [], 0
        for submitted in notebook.submissions:
            grade, comment = grades.get(submitted.id), comments.get(submitted.id)
            words = comment.manual_comment if comment else None
            marked = grade and (grade.auto_score, grade.manual_score) != (None, None)
            if not marked and not words:
                continue
            marks += bool(marked)
            rows.append({
                "id": uuid.uuid4().hex, "assignment": self.assignment.name,
                "notebook": notebook.name, "cell": cell.name, "student": submitted.student.id,
                "max_score": cell.max_score if grade else None,
                "auto_score": grade.auto_score if grade else None,
                "manual_score": grade.manual_score if grade else None,
                "extra_credit": grade.extra_credit if grade else None,
                "waits": grade.needs_manual_grade if grade else None,
                "manual_comment": words, "dropped": self.now,
            })  # fmt: skip
        if rows:
            self.db.execute(dropped_marks.insert(), rows)
        return marks

    # ------------------------------------------------------------------------ reweighting, adding

    def _weigh_again(self, notebook: api.Notebook, wanted: dict[str, CellPlan]) -> None:
        for cell in _list_cells(notebook):
            if not _has_points(cell) or cell.max_score == wanted[cell.name].points:
                continue
            was, cell.max_score = cell.max_score, wanted[cell.name].points
            words = f"{cell.name} in {notebook.name} is worth {cell.max_score:g} points instead of {was:g}"
            given = [grade for grade in cell.grades if grade.manual_score is not None]
            if given:
                words += f"; {_count(len(given), 'mark')} by hand stay{'s' if len(given) == 1 else ''} as given"
            over = [grade for grade in given if grade.manual_score > cell.max_score]
            for grade in over:
                grade.needs_manual_grade = True
            if over:
                names = ", ".join(sorted(grade.student.id for grade in over))
                words += f", but more than that is to be looked at again ({names})"
            self.told.append(f"{words}.")
        self.db.flush()

    def _add_notebook(self, name: str) -> api.Notebook:
        notebook = api.Notebook(name=name, assignment=self.entry)
        self.db.add(notebook)
        self.db.flush()
        return notebook

    def _add_cells(self, notebook: api.Notebook, wanted: dict[str, CellPlan], fresh: bool) -> None:
        known = _list_kinds(notebook)
        sources = {source.name for source in notebook.source_cells}
        added = []
        for cell in wanted.values():
            for kind in cell.kinds:
                if (cell.name, kind) in known:
                    continue
                facts = {} if kind is api.SolutionCell else {
                    "max_score": cell.points, "cell_type": cell.cell_type}  # fmt: skip
                self.db.add(kind(name=cell.name, notebook=notebook, **facts))
                if facts:
                    added.append(cell)
            if cell.name not in sources:
                row = api.SourceCell(name=cell.name, notebook=notebook, cell_type=cell.cell_type,
                                     locked=cell.locked, source="")  # fmt: skip
                self.db.add(row)
        self.db.flush()
        self.db.expire_all()
        if fresh:
            self.told.append(f"The notebook {notebook.name} is new in {self.assignment.name}.")
        else:
            self.told += [
                f"{cell.name} ({cell.points:g} points) is new in {notebook.name}." for cell in added
            ]

    def _complete(self, notebook: api.Notebook) -> None:
        """Give every submission a place for each cell, with the marks that were kept for it."""
        cells = _list_cells(notebook)
        submitted = {entry.assignment_id: entry for entry in notebook.submissions}
        restored: dict[str, int] = {}
        for submission in self.entry.submissions:
            entry = submitted.get(submission.id)
            if entry is None:
                entry = api.SubmittedNotebook(notebook=notebook, assignment=submission)
                self.db.add(entry)
                self.db.flush()
            graded = {grade.cell_id for grade in entry.grades}
            commented = {comment.cell_id for comment in entry.comments}
            for cell in cells:
                grade = comment = None
                if _has_points(cell) and cell.id not in graded:
                    grade = api.Grade(cell_id=cell.id, notebook=entry)
                if not isinstance(cell, api.GradeCell) and cell.id not in commented:
                    comment = api.Comment(cell_id=cell.id, notebook=entry)
                self.db.add_all(row for row in (grade, comment) if row is not None)
                if self._bring_back(notebook, cell, submission.student.id, grade, comment):
                    restored[cell.name] = restored.get(cell.name, 0) + 1
        self.db.flush()
        for name, count in restored.items():
            words = (
                f"{_count(count, 'mark')} by hand for {name} in {notebook.name} "
                f"{_are(count)} back from the table {dropped_marks.name}"
            )
            if over := self._too_much.pop(name, []):
                words += (
                    f", but more than it is worth now is to be looked at again ({', '.join(over)})"
                )
            self.told.append(f"{words}.")

    def _bring_back(self, notebook, cell, student, grade, comment) -> bool:
        """Fill new rows with what people once gave for the same exercise; say whether a mark did."""
        if grade is None and comment is None:
            return False
        d = dropped_marks.c
        mine = (d.assignment == self.assignment.name, d.notebook == notebook.name,
                d.cell == cell.name, d.student == student, d.restored.is_(None),
                d.max_score.is_not(None) if grade else d.max_score.is_(None))  # fmt: skip
        kept = self.db.execute(select(dropped_marks).where(*mine).order_by(d.dropped)).all()
        if not kept:
            return False
        last = kept[-1]
        if comment is not None:
            comment.manual_comment = last.manual_comment
        if grade is not None:
            grade.auto_score, grade.manual_score = last.auto_score, last.manual_score
            grade.extra_credit, grade.needs_manual_grade = last.extra_credit, last.waits
            if last.manual_score is not None and last.manual_score > cell.max_score:
                grade.needs_manual_grade = True
                self._too_much.setdefault(cell.name, []).append(student)
        self.db.execute(update(dropped_marks).where(*mine).values(restored=self.now))
        return grade is not None and last.manual_score is not None


def _list_cells(notebook: api.Notebook) -> list[api.BaseCell]:
    return [*notebook.grade_cells, *notebook.solution_cells, *notebook.task_cells]


def _list_kinds(notebook: api.Notebook) -> set[tuple[str, type]]:
    return {(cell.name, type(cell)) for cell in _list_cells(notebook)}


def _has_points(cell: api.BaseCell) -> bool:
    return isinstance(cell, api.GradeCell | api.TaskCell)


def _is_graded(cell: CellPlan) -> bool:
    return bool(cell.kinds & {api.GradeCell, api.TaskCell})


def _count(number: int, what: str) -> str:
    return f"1 {what}" if number == 1 else f"{number} {what}s"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"
