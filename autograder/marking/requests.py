"""Students' requests to look again: a text file they hand in, a list at the desk until it is answered.

The file is called `regrade_request.txt` and has a line for each request: what it is about, a colon, and
why. One that was collected beside an earlier one has its time in its name, and counts too. A request is
answered when a person gives a mark after it was made. However many lines a student writes, each cell is one
request, with a beginning of its words; the file holds the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
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
_LONGEST = 1000  # characters of one request that are shown


@dataclass(frozen=True)
class Request:
    """What a student wants to have looked at again."""

    student: str
    notebook: str
    cell: str  # nbgrader's name; empty when nobody can tell what is meant
    words: str
    asked: datetime  # UTC
    lines: int = 1  # how often it was asked

    @property
    def shown(self) -> str:
        """The words, or their beginning."""
        more = len(self.words) - _LONGEST
        if more <= 0:
            return self.words
        return f"{self.words[:_LONGEST]}... ({more} more characters in the student's {FILE})"

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
            student = folder.parent.name
            asked = datetime.fromtimestamp(path.stat().st_mtime, UTC).replace(tzinfo=None)
            try:
                text = read_plain(path, LARGEST_RECORD).decode("utf-8", "replace")
            except Refused as problem:
                found.append(Request(student, "", "", f"{problem} Look at it yourself.", asked))
                continue
            found += _fold(
                Request(student, *_find_cell(about, cells), words, asked)
                for about, words in _split(text)
            )
    return found


def _fold(requests: Iterable[Request]) -> list[Request]:
    """Make one request of all that a student says about the same cell."""
    words: dict[tuple[str, str], list[str]] = {}
    found: dict[tuple[str, str], Request] = {}
    for request in requests:
        key = request.student, request.cell
        words.setdefault(key, []).append(request.words)
        so_far = found.get(key)
        if so_far:
            lines, asked = so_far.lines + request.lines, max(so_far.asked, request.asked)
            request = replace(so_far, lines=lines, asked=asked)
        found[key] = request
    return [replace(request, words=" / ".join(words[key])) for key, request in found.items()]


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
    return _fold(
        request
        for request in requests
        if given.get((request.student, request.cell), datetime.min) <= request.asked
        and not (request.cell.startswith("test_") and (request.student, request.cell) in by_hand)
    )


def group_by_student(
    requests: list[Request], assignment: str
) -> list[tuple[str, list[tuple[Request, str]]]]:
    """Return the desk's list: one entry per student, with a name where no answer in words is asked about.

    Requests about answers come with the code that stands for the student, and without the name.
    """
    groups: dict[tuple[str, bool], list[tuple[Request, str]]] = {}
    for request in requests:
        code = find_code(request, assignment)
        groups.setdefault((request.student, bool(code)), []).append((request, code))
    return [("" if is_answer else student, found) for (student, is_answer), found in groups.items()]


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
            found[-1].append(line.strip())
    return [(about.strip(), " ".join(words).strip()) for about, *words in found]


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
