"""The roster: who takes the course, on which track, and who has more time.

A CSV with the columns `student` (the folder's name), `name`, `track`, `extension_days.<assignment>`
and, for exports, `email`, `lms_id`, `sis_id`, `login` and `section`; only `student` has to be there. A plain
`extension_days` counts for every assignment. What Canvas, Moodle and Blackboard export is taken as it
comes, in whatever encoding a spreadsheet saved it.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from pathlib import Path

from autograder.course import Assignment, Course, CourseError
from autograder.files import replace_file

COLUMNS = (
    "student", "name", "track", "extension_days", "email", "lms_id", "login", "section", "sis_id"
)  # fmt: skip

# What the columns of learning systems are for us. The first that is there and filled names the
# student's folder.
_SYSTEMS = {
    "Canvas": {
        "needs": ("student", "id"),
        "student": ("sis login id", "sis user id", "id"),
        "columns": {"student": "name", "id": "lms_id", "sis user id": "sis_id",
                    "sis login id": "login", "section": "section"},
    },
    "Blackboard": {
        "needs": ("username", "student id"),
        "student": ("username", "student id"),
        "columns": {"last name": "last", "first name": "first", "username": "login",
                    "student id": "lms_id", "email": "email"},
    },
    "Moodle": {
        "needs": ("email address",),
        "student": ("username", "id number", "email address"),
        "columns": {"first name": "first", "last name": "last", "surname": "last",
                    "full name": "name", "username": "login", "id number": "lms_id",
                    "email address": "email", "groups": "section"},
    },
}  # fmt: skip
_DAYS = "extension_days"  # for every assignment; with a dot and a name, for that one
_NOBODY = ("points possible", "student, test", "test student", "teststudent")  # Canvas's own lines


@dataclass(frozen=True)
class Entry:
    """One student of the roster.

    `extension` counts for every assignment that `extensions` does not name; None where nothing is said.
    """

    student: str
    name: str = ""
    track: str | None = None
    extension: timedelta | None = None
    email: str = ""
    lms_id: str = ""
    login: str = ""
    section: str = ""
    sis_id: str = ""
    extensions: dict[str, timedelta] = field(default_factory=dict)  # by assignment

    def find_extension(self, assignment: str) -> timedelta | None:
        """Return how much more time this student has for an assignment."""
        return self.extensions.get(assignment, self.extension)

    @property
    def label(self) -> str:
        return f"{self.student} ({self.name})" if self.name else self.student

    @property
    def first_name(self) -> str:
        """What stands before the last word, or after a comma."""
        _, comma, first = self.name.partition(",")
        return first.strip() if comma else self.name.rpartition(" ")[0].strip()

    @property
    def last_name(self) -> str:
        last, comma, _ = self.name.partition(",")
        return last.strip() if comma else self.name.rpartition(" ")[2].strip()


def find_roster(assignment: Assignment) -> dict[str, Entry] | None:
    """Return the class's roster by student, or None when there is none."""
    path = assignment.grading / "roster.csv"
    return read_roster(path, assignment) if path.is_file() else None


def read_roster(path: Path, assignment: Assignment) -> dict[str, Entry]:
    """Read a roster, or name the line that is wrong."""
    return _read(path, assignment)[0]


def _read(path: Path, assignment: Assignment) -> tuple[dict[str, Entry], str]:
    """Return a roster, and whose export it is (nothing for our own form)."""
    rows = open_table(path)
    names = list(rows.fieldnames or [])
    system = _find_system(names)
    if not system:
        _require_our_columns(names, path)
    _require_assignments(names, path, assignment.course)
    roster: dict[str, Entry] = {}
    try:
        for row in rows:
            where = f"{path}, line {rows.line_num}"
            cells = _translate(row, system) if system else row
            entry = _read_entry(cells, where, assignment) if cells is not None else None
            if entry is None:
                continue
            if entry.student in roster:
                raise CourseError(f"{where}: {entry.student} is there twice.")
            roster[entry.student] = entry
    except csv.Error as problem:
        raise CourseError(f"{path}, line {rows.line_num}: {problem}.") from None
    if not roster:
        raise CourseError(f"{path} names no student.")
    return roster, system


def open_table(path: Path, lower: bool = True) -> csv.DictReader:
    """Open a CSV as spreadsheets of any country save it; its columns' names are in small letters."""
    text = _decode(path)
    first, _, rest = text.partition("\n")
    if first.strip().lower().startswith("sep="):  # Excel's own hint
        text, first = rest, rest.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)  # spreadsheets write what their country uses
    rows = csv.DictReader(io.StringIO(text), delimiter=delimiter, skipinitialspace=True)
    names = [(name or "").strip() for name in rows.fieldnames or []]
    rows.fieldnames = [name.lower() for name in names] if lower else names
    return rows


def _decode(path: Path) -> str:
    """Read a text as spreadsheets save them: UTF-8, UTF-16 with its mark, or Windows' own."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise CourseError(f"{path} does not exist.") from None
    except OSError as problem:
        raise CourseError(f"{path} cannot be read ({problem.strerror}).") from None
    if content[:4] in (b"PK\x03\x04", b"\xd0\xcf\x11\xe0"):
        raise CourseError(f"{path} is a spreadsheet: save it as CSV, then give that file.")
    marked = content[:2] in (b"\xff\xfe", b"\xfe\xff")
    for encoding in ("utf-16",) if marked else ("utf-8-sig", "cp1252"):
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\0" not in text:
            return text.replace("\r\n", "\n").replace("\r", "\n")
    raise CourseError(f"{path} cannot be read as text: save it as CSV in UTF-8.")


def _find_system(names: list[str]) -> str:
    """Say whose export has these columns. Our own form is told from Canvas's by `id`."""
    for system, facts in _SYSTEMS.items():
        if all(name in names for name in facts["needs"]):
            return system
    return ""


def _require_our_columns(names: list[str], path: Path) -> None:
    if "student" not in names:
        raise CourseError(
            f"{path}: the first line must name the columns, `student` among them "
            f"(known: {', '.join(COLUMNS)}), or be that of Canvas's, Moodle's or Blackboard's export."
        )
    for name in names:
        if name not in COLUMNS and not name.startswith(f"{_DAYS}."):
            raise CourseError(f"{path}: the column {name!r} is not known ({', '.join(COLUMNS)}).")


def _require_assignments(names: list[str], path: Path, course: Course) -> None:
    known = {f"{_DAYS}.{name}".lower() for name in course.assignments}
    for name in names:
        if name.startswith(f"{_DAYS}.") and name not in known:
            raise CourseError(
                f"{path}, line 1: the column {name!r} is for an assignment that is not there "
                f"({', '.join(course.assignments)})."
            )


def _translate(row: dict, system: str) -> dict | None:
    """Return one line of a learning system's export in our own columns; None where it is nobody."""
    cells = {name: value.strip() for name, value in row.items() if name and isinstance(value, str)}
    facts = _SYSTEMS[system]
    found = dict.fromkeys(facts["columns"].values(), "")
    for theirs, ours in facts["columns"].items():
        found[ours] = found[ours] or cells.get(theirs, "")
    first, last = found.pop("first", ""), found.pop("last", "")
    if first or last:
        found["name"] = f"{last}, {first}" if first else last
    if found.get("name", "").lower() in _NOBODY:
        return None
    found["student"] = next((cells[name] for name in facts["student"] if cells.get(name)), "")
    for ours, value in cells.items():  # an instructor may have added them to the export
        if ours == "track" or ours.startswith(_DAYS):
            found[ours] = value
    return found if any(found.values()) else None


def _read_entry(row: dict, where: str, assignment: Assignment) -> Entry | None:
    if None in row:
        raise CourseError(f"{where}: there are more values than columns.")
    cells = {name: (value or "").strip() for name, value in row.items()}
    if not any(cells.values()):
        return None
    if not cells["student"]:
        raise CourseError(f"{where}: `student` is empty.")
    if "/" in cells["student"] or cells["student"].startswith("."):
        raise CourseError(f"{where}: {cells['student']!r} cannot be the name of a folder.")
    track = cells.pop("track", "") or None
    if track is not None and track not in assignment.course.tracks:
        tracks = ", ".join(assignment.course.tracks) or "it has none"
        raise CourseError(f"{where}: course.toml has no track {track!r} ({tracks}).")
    extension = _read_days(_DAYS, cells.pop(_DAYS, ""), where)
    extensions = {
        name: _read_days(f"{_DAYS}.{name}", cells.pop(f"{_DAYS}.{name}".lower(), ""), where)
        for name in assignment.course.assignments
    }
    given = {name: days for name, days in extensions.items() if days is not None}
    return Entry(track=track, extension=extension, extensions=given, **cells)


def _read_days(column: str, days: str, where: str) -> timedelta | None:
    if not days:
        return None
    try:
        extension = timedelta(days=float(days.replace(",", ".")))
    except (ValueError, OverflowError):
        raise CourseError(f"{where}: {column} is {days!r}, not a number of days.") from None
    if extension < timedelta(0):
        raise CourseError(f"{where}: {column} is {days}; an extension cannot be negative.")
    return extension


def say_old_extensions(assignment: Assignment, roster: dict[str, Entry] | None) -> list[str]:
    """Say that the column of earlier rosters counts for every assignment, where that matters."""
    names = [entry.student for entry in (roster or {}).values() if entry.extension]
    if not names or len(assignment.course.assignments) < 2:
        return []
    return [
        f"The roster's column {_DAYS} counts for every assignment (it is filled for {len(names)} of "
        f"{len(roster)} students); {_DAYS}.{assignment.name} counts for {assignment.name} alone."
    ]


def compare(roster: dict[str, Entry], handed_in: list[str]) -> tuple[list[str], list[str]]:
    """Return who handed in and is not on the roster, and who is on it and handed in nothing."""
    unknown = sorted(set(handed_in) - set(roster))
    missing = sorted(set(roster) - set(handed_in))
    return unknown, missing


def find_without_track(assignment: Assignment, roster: dict[str, Entry]) -> list[str]:
    """Return who has no track although there are several to choose from."""
    if len(assignment.course.tracks) < 2:
        return []
    return [entry.student for entry in roster.values() if entry.track is None]


def set_roster(
    assignment: Assignment, file: Path, confirm: Callable[[Change], None] = lambda change: None
) -> tuple[dict[str, Entry], str]:
    """Make a file the class's roster, once it has been found to be in order; say how it was read.

    A learning system knows no tracks and extensions: those of the roster so far are kept. `confirm` hears
    what changes, and raises where that is not wanted. The old file is kept beside the new one.
    """
    roster, system = _read(file, assignment)
    place = assignment.grading / "roster.csv"
    before = _read_before(assignment)
    if not system:
        if not place.exists() or not place.samefile(file):
            confirm(find_change(before, roster))
            _replace(place, file.read_bytes())
        return roster, ""
    kept = 0
    for student, entry in roster.items():
        known = before.get(student)
        if known and entry.track is None and entry.extension is None and not entry.extensions:
            facts = {
                "track": known.track,
                "extension": known.extension,
                "extensions": known.extensions,
            }
            roster[student] = Entry(**{**entry.__dict__, **facts})
            kept += any(value not in (None, {}) for value in facts.values())
    confirm(find_change(before, roster))
    _replace(place, _write(roster))
    keep_canvas_columns(assignment, file)
    told = f"{file} was read as {system}'s export: "
    example = next(iter(roster.values()))
    told += f"{example.name or 'the first student'} hands in as {example.student!r}."
    if kept:
        told += f" Tracks and extensions of {kept} students were kept."
    return roster, told


def _read_before(assignment: Assignment) -> dict[str, Entry]:
    """Return the roster so far; one that cannot be read names nobody, and is kept beside the new one."""
    try:
        return find_roster(assignment) or {}
    except CourseError:
        return {}


def _replace(place: Path, content: bytes) -> None:
    """Write a roster; what it was before stays beside it, under the moment of the change."""
    if place.exists() and place.read_bytes() != content:
        copy = place.with_name(f"roster.{datetime.now():%Y-%m-%d-%H%M%S-%f}.csv")
        replace_file(copy, place.read_bytes())
    replace_file(place, content)


@dataclass(frozen=True)
class Change:
    """What a new roster does to the one so far."""

    coming: list[Entry]
    going: list[Entry]
    changed: dict[str, list[str]]  # student -> what is another now, in words
    is_first: bool


def find_change(before: dict[str, Entry], roster: dict[str, Entry]) -> Change:
    """Say who comes, who goes, and what is said anew about the others."""
    changed = {
        student: [
            f"{part.name} {_say(getattr(before[student], part.name))} -> "
            f"{_say(getattr(entry, part.name))}"
            for part in fields(Entry)
            if getattr(before[student], part.name) != getattr(entry, part.name)
        ]
        for student, entry in roster.items()
        if student in before and entry != before[student]
    }
    coming = [entry for student, entry in roster.items() if student not in before]
    going = [entry for student, entry in before.items() if student not in roster]
    return Change(coming, going, changed, is_first=not before)


def _say(value) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_say(one)}" for name, one in value.items()) or "none"
    if isinstance(value, timedelta):
        return f"{value / timedelta(days=1):g} days"
    return str(value or "none")


def remove_from_roster(assignment: Assignment, student: str) -> None:
    """Take a student off the class's roster, in whatever form it is."""
    place = assignment.grading / "roster.csv"
    roster = read_roster(place, assignment)
    del roster[student]
    if roster:
        replace_file(place, _write(roster))
    else:
        place.unlink()


def _write(roster: dict[str, Entry]) -> bytes:
    text = io.StringIO()
    names = dict.fromkeys(name for entry in roster.values() for name in entry.extensions)
    columns = [*COLUMNS, *(f"{_DAYS}.{name}" for name in names)]
    writer = csv.DictWriter(text, columns, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    for entry in roster.values():
        days = {_DAYS: entry.extension} | {f"{_DAYS}.{n}": d for n, d in entry.extensions.items()}
        written = {
            column: f"{extension / timedelta(days=1):g}"
            for column, extension in days.items()
            if extension is not None
        }
        writer.writerow({**entry.__dict__, "track": entry.track or "", **written})
    return text.getvalue().encode()


# ------------------------------------------------------------------------- columns of Canvas


_COLUMN = re.compile(
    r"(?P<title>.+) \(\d+\)", re.S
)  # as Canvas writes an assignment and its number


def keep_canvas_columns(assignment: Assignment, file: Path) -> None:
    """Note the titles of Canvas's own columns in an export: with their numbers, it knows them again."""
    columns = [title for title in _list_titles(file) if _COLUMN.fullmatch(title)]
    if columns:
        text = json.dumps(columns, indent=1, ensure_ascii=False)
        replace_file(assignment.grading / "canvas-columns.json", text.encode())


def find_canvas_column(assignment: Assignment, title: str) -> str | None:
    """Return the full title of Canvas's column for something with this title, where it is known."""
    try:
        columns = json.loads((assignment.grading / "canvas-columns.json").read_bytes())
    except (OSError, ValueError):
        columns = []
    roster = assignment.grading / "roster.csv"  # it may be an export as it came
    columns += _list_titles(roster) if roster.is_file() else []
    found = {
        column
        for column in columns
        if (parts := _COLUMN.fullmatch(column))
        and parts["title"].strip().casefold() == title.casefold()
    }
    return found.pop() if len(found) == 1 else None  # of several, nobody says which


def _list_titles(file: Path) -> list[str]:
    return [title.strip() for title in open_table(file, lower=False).fieldnames]
