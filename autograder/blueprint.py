"""The notebook as it was handed out: which cells there are, what each is for, what it is worth.

Read from source/ and release/, never from a submission: what a student changes about a cell's
role, points or tags has no effect.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import nbformat
from nbformat import NotebookNode

from autograder.course import Course, CourseError


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

    @property
    def auto_points(self) -> float:
        return sum(slot.points for slot in self.slots if slot.role == "check")

    def find(self, grade_id: str) -> Slot | None:
        return next((slot for slot in self.slots if slot.grade_id == grade_id), None)


@cache
def load_blueprint(course_root, assignment: str, name: str) -> Blueprint:
    """Read one notebook's blueprint from the built source and release."""
    versions = []
    for step in ("source", "release"):
        path = course_root / step / assignment / f"{name}.ipynb"
        if not path.is_file():
            raise CourseError(f"{path} does not exist: run `python -m autograder build` first.")
        versions.append(nbformat.read(path, as_version=4))
    source, release = versions
    slots = tuple(
        Slot(index, _find_role(cell), cell, twin)
        for index, (cell, twin) in enumerate(zip(source.cells, release.cells, strict=True))
    )
    return Blueprint(assignment, name, slots, dict(release.metadata))


def load_blueprints(course: Course) -> dict[str, Blueprint]:
    """Read the blueprints of all the assignment's notebooks."""
    return {
        plan.name: load_blueprint(course.root, course.assignment, plan.name)
        for plan in course.notebooks
    }


def _find_role(cell: NotebookNode) -> str:
    facts = cell.metadata.get("nbgrader", {})
    if facts.get("grade") and facts.get("solution"):
        return "answer"
    if facts.get("grade"):
        return "check"
    return "solve" if facts.get("solution") else "plain"
