"""When each student handed in, who says so, and how late that was."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC

from autograder.classroom.gradebook import Submission
from autograder.course import Assignment
from autograder.intake.collected import Log
from autograder.roster import Entry

# What a collected file's moment was taken from, in words.
_SOURCES = {
    "system": "the learning platform",
    "manifest": "the manifest in the zip",
    "file": "the file that was collected",
}


@dataclass(frozen=True)
class Arrival:
    """One student's moment of handing in. Without one, nothing is taken off for being late."""

    student: str
    moment: str  # nothing where it is not known
    source: str
    seconds_late: float
    called_late: bool  # by the learning platform, which does not say since when


def find_arrivals(
    assignment: Assignment, submissions: dict[str, Submission], roster: dict[str, Entry] | None
) -> list[Arrival]:
    """Return how the moments came about that the gradebook has."""
    log = Log(assignment).entries
    found = []
    for student, submission in sorted(submissions.items()):
        files = log.get(student, {}).values()
        entry = (roster or {}).get(student)
        moment = (
            submission.timestamp
            and f"{submission.timestamp.replace(tzinfo=UTC):%Y-%m-%d %H:%M:%S} UTC"
        )
        told = [file.get("says", "") for file in files if moment and file.get("time") == moment]
        source = _SOURCES.get(told[0], "timestamp.txt") if told else "timestamp.txt"
        late = submission.count_seconds_late(entry.extension if entry else None)
        called = not moment and any(file.get("late") for file in files)
        found.append(Arrival(student, moment or "", source if moment else "", late, called))
    return found


def say_lateness(seconds: float) -> str:
    """Say in hours or days how late something was."""
    hours = seconds / 3600
    return f"{hours / 24:.1f} days late" if hours >= 48 else f"{hours:.1f} hours late"
