"""The roster: who takes the course, on which track, and who has more time.

A CSV with the columns `student` (the folder's name), `name`, `track` and `extension_days`, and, for
exports, `email`, `lms_id`, `login` and `section`. Only `student` has to be there.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from autograder.course import Course, CourseError

COLUMNS = ("student", "name", "track", "extension_days", "email", "lms_id", "login", "section")


@dataclass(frozen=True)
class Entry:
    """One student of the roster. `extension` is None where nothing is said about it."""

    student: str
    name: str = ""
    track: str | None = None
    extension: timedelta | None = None
    email: str = ""
    lms_id: str = ""
    login: str = ""
    section: str = ""

    @property
    def first_name(self) -> str:
        """What stands before the last word, or after a comma."""
        _, comma, first = self.name.partition(",")
        return first.strip() if comma else self.name.rpartition(" ")[0].strip()

    @property
    def last_name(self) -> str:
        last, comma, _ = self.name.partition(",")
        return last.strip() if comma else self.name.rpartition(" ")[2].strip()


def find_roster(course: Course) -> dict[str, Entry] | None:
    """Return the class's roster by student, or None when there is none."""
    path = course.grading / "roster.csv"
    return read_roster(path, course) if path.is_file() else None


def read_roster(path: Path, course: Course) -> dict[str, Entry]:
    """Read a roster, or name the line that is wrong."""
    try:
        text = path.read_text("utf-8-sig")
    except FileNotFoundError:
        raise CourseError(f"{path} does not exist.") from None
    except (UnicodeDecodeError, OSError) as problem:
        raise CourseError(f"{path} cannot be read as UTF-8 text ({problem}).") from None
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)  # spreadsheets write what their country uses
    rows = csv.DictReader(io.StringIO(text), delimiter=delimiter, skipinitialspace=True)
    names = [(name or "").strip().lower() for name in rows.fieldnames or []]
    if "student" not in names:
        raise CourseError(
            f"{path}: the first line must name the columns, `student` among them "
            f"(known: {', '.join(COLUMNS)})."
        )
    for name in names:
        if name not in COLUMNS:
            raise CourseError(f"{path}: the column {name!r} is not known ({', '.join(COLUMNS)}).")
    rows.fieldnames = names
    roster: dict[str, Entry] = {}
    for row in rows:
        entry = _read_entry(row, f"{path}, line {rows.line_num}", course)
        if entry is None:
            continue
        if entry.student in roster:
            raise CourseError(f"{path}, line {rows.line_num}: {entry.student} is there twice.")
        roster[entry.student] = entry
    if not roster:
        raise CourseError(f"{path} names no student.")
    return roster


def _read_entry(row: dict, where: str, course: Course) -> Entry | None:
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
    if track is not None and track not in course.tracks:
        raise CourseError(
            f"{where}: course.toml has no track {track!r} ({', '.join(course.tracks)})."
        )
    days = cells.pop("extension_days", "")
    try:
        extension = timedelta(days=float(days.replace(",", "."))) if days else None
    except (ValueError, OverflowError):
        raise CourseError(f"{where}: extension_days is {days!r}, not a number of days.") from None
    if extension is not None and extension < timedelta(0):
        raise CourseError(f"{where}: extension_days is {days}; an extension cannot be negative.")
    return Entry(track=track, extension=extension, **cells)


def compare(roster: dict[str, Entry], handed_in: list[str]) -> tuple[list[str], list[str]]:
    """Return who handed in and is not on the roster, and who is on it and handed in nothing."""
    unknown = sorted(set(handed_in) - set(roster))
    missing = sorted(set(roster) - set(handed_in))
    return unknown, missing


def set_roster(course: Course, file: Path) -> dict[str, Entry]:
    """Make a file the class's roster, once it has been found to be in order."""
    from autograder.gradebook import replace_file

    roster = read_roster(file, course)
    place = course.grading / "roster.csv"
    if not place.exists() or not place.samefile(file):
        replace_file(place, file.read_bytes())
    return roster
