"""Reads Moodle's grading worksheet: who is behind a participant's number, and when work came in."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from autograder.course import CourseError
from autograder.roster import open_table

_TIME = "last modified (submission)"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MOMENT = re.compile(
    r"(?:(?P<day>\d{1,2})\s+(?P<month>[a-z]+)|(?P<month_first>[a-z]+)\s+(?P<day_second>\d{1,2}),)\s+"
    r"(?P<year>\d{4}),?\s+(?P<hour>\d{1,2}):(?P<minute>\d\d)\s*(?P<half>[ap]m)?"
)


@dataclass(frozen=True)
class Row:
    """One participant: what may name the student, the surest first, and when work came in."""

    keys: tuple[str, ...]
    moment: datetime | None


Worksheet = dict[str, Row]  # by participant's number, which Moodle writes on folders and files


def is_worksheet(path: Path) -> bool:
    """Is this a grading worksheet?"""
    if not path.is_file() or path.suffix.lower() != ".csv":
        return False
    return "identifier" in (open_table(path).fieldnames or [])


def read_worksheet(path: Path) -> Worksheet:
    """Read a worksheet, or name the line whose time cannot be read."""
    found: Worksheet = {}
    rows = open_table(path)
    for row in rows:
        number = re.search(r"\d+$", (row.get("identifier") or "").strip())
        if number is None:
            continue
        keys = (row.get("id number"), row.get("email address"), row.get("full name"))
        text = (row.get(_TIME) or "").strip()
        moment = read_moment(text)
        if moment is None and text not in ("", "-"):
            raise CourseError(
                f"{path}, line {rows.line_num}: {text!r} is no time that can be read. Set your "
                "language in Moodle to English, and download the worksheet again."
            )
        found[number[0]] = Row(tuple(key.strip() for key in keys if key and key.strip()), moment)
    return found


def read_moment(text: str) -> datetime | None:
    """Read `Wednesday, 10 June 2026, 2:14 PM`, in this computer's time zone, or the American order."""
    found = _MOMENT.search(text.lower())
    if found is None:
        return None
    month = (found["month"] or found["month_first"])[:3]
    hour = int(found["hour"])
    if found["half"]:
        hour = hour % 12 + 12 * (found["half"] == "pm")
    try:
        day = int(found["day"] or found["day_second"])
        number = _MONTHS.index(month) + 1
        return datetime(int(found["year"]), number, day, hour, int(found["minute"])).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
