"""Students' requests to look again: a text file they hand in, a list at the desk until it is answered.

The file is called `regrade_request.txt` and has a line for each request: what it is about, a colon, and
why. One that was collected beside an earlier one has its time in its name, and counts too. A request is answered when a person gives a mark after it was made.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from nbgrader import api
from sqlalchemy import select

from autograder.blueprint import load_blueprints
from autograder.budgets import LARGEST_RECORD
from autograder.course import Assignment
from autograder.marking import tables
from autograder.marking.questions import name_answer
from autograder.marking.reading import make_code
from autograder.opener import Refused, read_plain, walk

FILE = "regrade_request.txt"
_LONGEST = 4000  # characters of one request


@dataclass(frozen=True)
class Request:
    """What a student wants to have looked at again."""

    student: str
    notebook: str
    cell: str  # nbgrader's name; empty when nobody can tell what is meant
    words: str
    asked: datetime  # UTC

    @property
    def label(self) -> str:
        """How a person calls the thing that it is about."""
        if self.cell.startswith("answer_"):
            return f"Answer {name_answer(self.cell)}"
        return self.cell.removeprefix("test_") or "something in the notebooks"


def read_requests(assignment: Assignment) -> list[Request]:
    """Return all requests that were handed in, in the order of students."""
    cells = _name_cells(assignment)
    found = []
    for folder in sorted((assignment.grading / "submitted").glob(f"*/{assignment.name}")):
        files = [] if folder.is_symlink() else walk(folder, hidden=False)
        for path in filter(_is_request, files):
            try:
                text = read_plain(path, LARGEST_RECORD).decode("utf-8", "replace")
            except Refused:
                continue
            asked = datetime.fromtimestamp(path.stat().st_mtime, UTC).replace(tzinfo=None)
            found += [
                Request(folder.parent.name, *_find_cell(about, cells), words, asked)
                for about, words in _split(text)
            ]
    return found


def _is_request(path: Path) -> bool:
    stem = Path(FILE).stem
    return path.name.startswith(stem) and path.suffix == Path(FILE).suffix


def find_open(assignment: Assignment, gradebook: api.Gradebook) -> list[Request]:
    """Return the requests that nobody has answered with a mark yet."""
    requests = read_requests(assignment)
    if not requests:
        return []
    m = tables.marks.c
    query = select(m.student, m.cell, m.given).where(
        m.assignment == assignment.name, m.undone.is_(None)
    )
    given: dict[tuple[str, str], datetime] = {}
    for student, cell, moment in gradebook.db.execute(query):
        given[student, cell] = max(moment, given.get((student, cell), moment))
    by_hand = _read_hand_marks(assignment, gradebook)
    gradebook.db.rollback()  # reading, too, opens a transaction
    return [
        request
        for request in requests
        if given.get((request.student, request.cell), datetime.min) <= request.asked
        and not (request.cell.startswith("test_") and (request.student, request.cell) in by_hand)
    ]


def _read_hand_marks(assignment: Assignment, gradebook: api.Gradebook) -> set[tuple[str, str]]:
    """Return who has a person's mark for which cell: exercises are marked in formgrader."""
    query = (
        select(api.SubmittedAssignment.student_id, api.BaseCell.name)
        .select_from(api.Grade)
        .join(api.BaseCell, api.BaseCell.id == api.Grade.cell_id)
        .join(api.SubmittedNotebook, api.SubmittedNotebook.id == api.Grade.notebook_id)
        .join(
            api.SubmittedAssignment,
            api.SubmittedAssignment.id == api.SubmittedNotebook.assignment_id,
        )
        .join(api.Assignment, api.Assignment.id == api.SubmittedAssignment.assignment_id)
        .where(api.Assignment.name == assignment.name, api.Grade.manual_score.is_not(None))
    )
    return set(map(tuple, gradebook.db.execute(query)))


def _split(text: str) -> list[tuple[str, str]]:
    """Return what each request is about, and its words; lines without a name go on."""
    found: list[list[str]] = []
    for line in text.splitlines():
        named = re.match(r"\s*([\w. ]{1,60}):\s*(.*)", line)
        if named:
            found.append([named[1], named[2]])
        elif line.strip():
            if not found:
                found.append(["", ""])
            found[-1][1] = f"{found[-1][1]} {line.strip()}".strip()
    return [(about.strip(), words[:_LONGEST]) for about, words in found]


def _name_cells(assignment: Assignment) -> dict[str, tuple[str, str]]:
    """Return which cell is meant by its own name, its exercise or the number of its question."""
    names = {}
    for notebook, blueprint in load_blueprints(assignment).items():
        for slot in blueprint.slots:
            if slot.role in ("check", "answer"):
                spoken = name_answer(slot.grade_id) if slot.role == "answer" else slot.exercise
                for name in (slot.grade_id, spoken, f"answer {spoken}"):
                    names[_plain(name)] = (notebook, slot.grade_id)
    return names


def _find_cell(about: str, cells: dict[str, tuple[str, str]]) -> tuple[str, str]:
    return cells.get(_plain(about), ("", ""))


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


def find_code(request: Request, assignment: str) -> str:
    """Return what stands for the student at the desk; nothing where it is no written answer."""
    if not request.cell.startswith("answer_"):
        return ""
    return make_code(assignment, request, request.student)
