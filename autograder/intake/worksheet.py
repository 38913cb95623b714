"""Reads Moodle's grading worksheet: who is behind a participant's number, and when work came in."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from autograder.course import CourseError
from autograder.roster import open_table

_LEFT_OUT = re.compile(r"[\x00-\x1f\x7f&<>\"`|':\\/]")
_TIME = "last modified (submission)"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MOMENT = re.compile(
    r"(?:(?P<day>\d{1,2})\s+(?P<month>[a-z]+)|(?P<month_first>[a-z]+)\s+(?P<day_second>\d{1,2}),)\s+"
    r"(?P<year>\d{4}),?\s+(?P<hour>\d{1,2}):(?P<minute>\d\d)\s*(?P<half>[ap]m)?"
)


@dataclass(frozen=True)
class Row:
    """One participant: what names the student, the surest first, and when work came in."""

    keys: tuple[tuple[str, str], ...]  # what it is (id, email, moodle name), and what it says
    moment: datetime | None
    word: str = ""  # what stands instead of a name where Moodle hides names

    def fits(self, who: str) -> bool:
        """Is this the row of somebody whose folder is called so?"""
        names = {text for kind, text in self.keys if kind == "moodle name"}
        return not names or who == self.word or who in {clean_as_moodle(name) for name in names}


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
        number = re.fullmatch(r"(.*?)\s*(\d+)", (row.get("identifier") or "").strip())
        if number is None:
            continue
        told = (("id", "id number"), ("email", "email address"), ("moodle name", "full name"))
        keys = tuple((kind, text) for kind, name in told if (text := (row.get(name) or "").strip()))
        text = (row.get(_TIME) or "").strip()
        moment = read_moment(text)
        if moment is None and text not in ("", "-"):
            raise CourseError(
                f"{path}, line {rows.line_num}: {text!r} is no time that can be read. Set your "
                "language in Moodle to English, and download the worksheet again."
            )
        found[number[2]] = Row(keys, moment, number[1])
    return found


def clean_as_moodle(name: str) -> str:
    """Return a name as Moodle writes it on folders: without signs that disks do not like."""
    plain = _LEFT_OUT.sub("", unicodedata.normalize("NFC", name.replace("_", " ")))
    return re.sub(" +", " ", plain).strip(" ")


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
