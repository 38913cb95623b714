"""The notebook as it was handed out: which cells there are, what each is for, what it is worth.

Read from source/ and release/, never from a submission: what a student changes about a cell's
role, points or tags has no effect.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.course import Assignment, CourseError
from autograder.python_text import drop_region_marks


def mark_kept(cell: NotebookNode) -> None:
    """Mark a cell whose outputs stay the student's own: it is not run again when graded."""
    cell.metadata["course"] = {**cell.metadata.get("course", {}), "keep": "outputs"}


def is_kept(cell: NotebookNode) -> bool:
    """Say whether a cell carries the mark. Ask this of cells of the hand-out or restored ones."""
    course = cell.metadata.get("course")
    return isinstance(course, dict) and course.get("keep") == "outputs"


@dataclass(frozen=True)
class Slot:
    """One cell of the hand-out."""

    index: int
    role: str  # "solve", "check", "answer" or "plain"
    source: NotebookNode  # the instructor's cell
    release: NotebookNode  # the student's cell

    @property
    def grade_id(self) -> str | None:
        return self.source.metadata.get("nbgrader", {}).get("grade_id")

    @property
    def points(self) -> float:
        return float(self.source.metadata.get("nbgrader", {}).get("points", 0))

    @property
    def exercise(self) -> str:
        return self.grade_id.removeprefix("test_")


@dataclass(frozen=True)
class Blueprint:
    """One notebook of the hand-out."""

    assignment: str
    name: str
    slots: tuple[Slot, ...]
    metadata: dict
    exercises: str  # the module that judges it, from autograder.exercises on
    warm_imports: tuple[str, ...] = ()

    @property
    def auto_points(self) -> float:
        return sum(slot.points for slot in self.slots if slot.role == "check")

    @cached_property
    def solutions(self) -> dict[str, str]:
        """The instructor's code of every cell to fill in: the reference of its exercise."""
        return find_solutions(slot.source for slot in self.slots)

    def find(self, grade_id: str) -> Slot | None:
        return self._by_grade_id.get(grade_id)

    @cached_property
    def _by_grade_id(self) -> dict[str, Slot]:
        return {slot.grade_id: slot for slot in self.slots if slot.grade_id}


def find_solutions(cells: Iterable[NotebookNode]) -> dict[str, str]:
    """Return the code of an instructor's cells to fill in, by the name they define."""
    return {
        cell.metadata["nbgrader"]["grade_id"]: drop_region_marks(cell.source)
        for cell in cells
        if _find_role(cell) == "solve"
    }


def load_blueprint(assignment: Assignment, name: str) -> Blueprint:
    """Read one notebook's blueprint from the built source and release."""
    if assignment.find_notebook(name) is None:
        raise CourseError(
            f"{assignment.name} has no notebook {name!r}; it has: "
            f"{', '.join(plan.name for plan in assignment.notebooks)}."
        )
    versions = []
    for folder in (assignment.source, assignment.release):
        path = folder / f"{name}.ipynb"
        if not path.is_file():
            raise CourseError(f"{path} does not exist: run `python -m autograder build` first.")
        versions.append(_read(path, path.stat().st_mtime_ns))
    return make_blueprint(assignment, name, *versions)


@cache
def _read(path: Path, changed: int) -> NotebookNode:
    """Read a built notebook, once for every time that it was written."""
    return nbformat.read(path, as_version=4)


def make_blueprint(
    assignment: Assignment, name: str, source: NotebookNode, release: NotebookNode
) -> Blueprint:
    """Lay the instructor's and the students' version of a notebook side by side."""
    slots = tuple(
        Slot(index, _find_role(cell), cell, twin)
        for index, (cell, twin) in enumerate(zip(source.cells, release.cells, strict=True))
    )
    module = f"{assignment.name}.{assignment.find_notebook(name).exercises}"
    return Blueprint(
        assignment.name, name, slots, dict(release.metadata), module, assignment.warm_imports
    )


def load_blueprints(assignment: Assignment) -> dict[str, Blueprint]:
    """Read the blueprints of all the assignment's notebooks."""
    return {plan.name: load_blueprint(assignment, plan.name) for plan in assignment.notebooks}


def _find_role(cell: NotebookNode) -> str:
    facts = cell.metadata.get("nbgrader", {})
    if facts.get("grade") and facts.get("solution"):
        return "answer"
    if facts.get("grade"):
        return "check"
    return "solve" if facts.get("solution") else "plain"


def fill_in(blueprint: Blueprint, codes: dict[str, str], answer: str | None = None) -> NotebookNode:
    """Return the release notebook with code in solve cells and text in answer cells."""
    notebook = nbformat.v4.new_notebook(metadata=dict(blueprint.metadata))
    for slot in blueprint.slots:
        cell = nbformat.from_dict(slot.release)
        if slot.role == "solve" and slot.grade_id in codes:
            cell.source = codes[slot.grade_id]
        elif slot.role == "answer" and answer:
            cell.source = answer
        notebook.cells.append(cell)
    return notebook
