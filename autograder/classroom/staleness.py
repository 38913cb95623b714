"""Which scores are older than what they were judged by: the work, the points, the tests or the hand-out.

A score is stale when grading would judge that work anew. Where `nbgrader autograde` alone has graded,
there is no record of ours, and only what its graded notebooks say is held against a score.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import nbformat

from autograder.blueprint import Blueprint
from autograder.classroom.gradebook import ClassGradebook, Mark
from autograder.classroom.records import Record
from autograder.classroom.run import Listener, Run, Unit
from autograder.course import DEFAULT_ASSIGNMENT, Assignment, CourseError
from autograder.grading.grade import read_result

_OLD_POINTS = "out of the old points"
_OLD_RULES = "judged by an older hand-out or older tests"
_NEW_WORK = "what was handed in has changed since"
_UNGRADED = "was handed in and is not graded"


@dataclass(frozen=True)
class Stale:
    """One student's notebook whose scores do not say what holds today, and what would help."""

    student: str
    notebook: str
    why: str
    command: str = "regrade"  # or grade, where work is new; nothing where the work is gone
    points_were: dict[str, float] = field(
        default_factory=dict
    )  # of cells that are worth others now

    @property
    def sentence(self) -> str:
        """Mark the notebook's scores, those of cells with other points by name."""
        cells = ", ".join(f"{cell} (of {points:g})" for cell, points in self.points_were.items())
        return f"{self.notebook}: {cells or 'its scores'}: {self.why}"


def find_stale(gradebook: ClassGradebook) -> list[Stale]:
    """Return the notebooks whose scores, as a preview of the gradebook has them, are out of date."""
    run = Run(gradebook.assignment, gradebook, Listener(), tried=[])
    marks: dict[tuple[str, str], list[Mark]] = {}
    for mark in gradebook.read_marks():
        if mark.auto is not None or mark.manual is not None:
            marks.setdefault((mark.student, mark.notebook), []).append(mark)
    units = {(unit.student, unit.notebook): unit for unit in run.plan_all()}
    gone = {key for key in marks if key[0] not in run.settled}
    found = [
        _look(run, key, units.get(key), marks.get(key, [])) for key in sorted(units.keys() | gone)
    ]
    return [stale for stale in found if stale]


def require_fresh(gradebook: ClassGradebook, stale_ok: bool = False) -> list[Stale]:
    """Refuse to work with scores that are out of date, or return them when that is wanted."""
    stale = find_stale(gradebook)
    if not stale or stale_ok:
        return stale
    whys = dict.fromkeys(entry.why for entry in stale)
    said = [f"{_name([entry for entry in stale if entry.why == why])}: {why}" for why in whys]
    commands = {entry.command for entry in stale}
    helps = "The work itself is gone, so nothing can judge it anew"
    if commands != {""}:
        command = "regrade" if "regrade" in commands else "grade"
        helps = f"What helps: python -m autograder {command}{_option(gradebook.assignment)}"
    raise CourseError(
        f"Nothing was written, because scores are out of date ({'; '.join(said)}). {helps}; "
        "or say --stale-ok, and each such score is marked."
    )


def _look(run: Run, key: tuple[str, str], unit: Unit | None, marks: list[Mark]) -> Stale | None:
    """Say what is stale about one notebook that grading would look at again, or whose work is gone."""
    student, notebook = key
    blueprint = run.kit.get(notebook)
    if blueprint is None:
        return None
    record = run.records.find(student, notebook)
    graded = _read(run.gradebook.find_folders(student)[1] / f"{notebook}.ipynb")
    result = read_result(graded) if graded else None
    if record and record.result and (result is None or result == record.result):
        return _compare(run, key, unit, record, marks)
    if unit and unit.file is None:
        return None
    readable = unit is not None and notebook in run.settled[student].files
    if graded is None and not any(mark.auto or mark.manual is not None for mark in marks):
        return Stale(student, notebook, _UNGRADED, "grade") if readable else None
    return _compare_without_record(run, key, unit, graded, result)


def _compare(
    run: Run, key: tuple[str, str], unit: Unit | None, record: Record, marks: list[Mark]
) -> Stale | None:
    if unit and unit.work != record.work:
        return Stale(*key, _NEW_WORK, "grade")
    blueprint = run.kit[key[1]]
    points = {name: cell["max_score"] for name, cell in record.result["cells"].items()}
    others = _find_other_points(blueprint, points)
    if record.rules != run.rules[key[1]]:
        if unit is None and not others:
            return None  # the work is gone, and nobody can tell what the new rules would say
        return Stale(*key, _OLD_POINTS if others else _OLD_RULES, "regrade" if unit else "", others)
    judged = {n: c["score"] for n, c in record.result["cells"].items() if c["status"] != "manual"}
    held = {mark.cell: mark.auto for mark in marks}
    if any(held.get(name) != score for name, score in judged.items()):
        return Stale(*key, "the gradebook holds other scores than were judged", "grade")
    return None


def _compare_without_record(
    run: Run, key: tuple[str, str], unit: Unit | None, graded, result: dict | None
) -> Stale | None:
    """Go by what nbgrader left: the graded notebook with its points, its tests and the student's cells."""
    student, notebook = key
    blueprint = run.kit[notebook]
    command = "regrade" if unit else ""
    judged = (result or {}).get("cells", {})
    points = {
        cell: worth for (n, cell), worth in run.gradebook.points_were.items() if n == notebook
    }
    points |= {name: cell["max_score"] for name, cell in judged.items()}
    others = _find_other_points(blueprint, points)
    if others:
        return Stale(student, notebook, _OLD_POINTS, command, others)
    if graded is None or unit is None:
        return None
    judged_cells = {
        cell.metadata.get("nbgrader", {}).get("grade_id"): cell.source for cell in graded.cells
    }
    for slot in blueprint.slots:
        if (
            slot.role == "check"
            and judged_cells.get(slot.grade_id, slot.source.source) != slot.source.source
        ):
            return Stale(student, notebook, _OLD_RULES, command)
    theirs = {
        cell.metadata.get("nbgrader", {}).get("grade_id"): cell.source
        for cell in run.settled[student].restore(blueprint).notebook.cells
    }
    for slot in blueprint.slots:
        if slot.role in ("solve", "answer") and theirs.get(slot.grade_id) != judged_cells.get(
            slot.grade_id
        ):
            return Stale(student, notebook, _NEW_WORK, "grade")
    return None


def _find_other_points(blueprint: Blueprint, points: dict[str, float]) -> dict[str, float]:
    """Return the cells that were worth something else, and how much."""
    slots = {name: blueprint.find(name) for name in points}
    return {
        name: points[name] for name, slot in slots.items() if slot and slot.points != points[name]
    }


def _read(path: Path) -> nbformat.NotebookNode | None:
    try:
        notebook = nbformat.from_dict(json.loads(path.read_bytes()))
        for cell in notebook.cells:
            cell.source = "".join(cell.source)  # on disk, texts are lists of lines
        return notebook
    except (OSError, ValueError, AttributeError, TypeError):
        return None


def _name(stale: list[Stale]) -> str:
    students = sorted({entry.student for entry in stale})
    more = f" and {len(students) - 5} more" if len(students) > 5 else ""
    return ", ".join(students[:5]) + more


def _option(assignment: Assignment) -> str:
    return "" if assignment.name == DEFAULT_ASSIGNMENT else f" --assignment {assignment.name}"
