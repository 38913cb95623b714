"""What was collected when, and who says so: grading/collected/<assignment>.json."""

from __future__ import annotations

import json

from autograder.course import Assignment
from autograder.files import replace_file


class Log:
    """What was collected when: grading/collected/<assignment>.json, by student and file.

    Each file has `time` and `says` ("system") where the learning platform's record tells the moment,
    `late` where the platform calls it late, `hint` for moments that prove nothing (`manifest`, `file`),
    `from` (where in which download), `ticket` (what the platform wants to see on feedback) and
    `counts` where it holds a version that is graded. In logs of earlier versions `says` may also be
    "manifest" or "file": such a time is a hint.

    A file beside it, with -gradescope in its name, holds the points that Gradescope's own run gave.
    """

    def __init__(self, assignment: Assignment, kind: str = ""):
        self.path = assignment.grading / "collected" / f"{assignment.name}{kind}.json"
        try:
            self.entries: dict[str, dict[str, dict]] = json.loads(self.path.read_bytes())
        except (OSError, ValueError):
            self.entries = {}

    def write(self) -> None:
        replace_file(self.path, json.dumps(self.entries, indent=1, ensure_ascii=False).encode())
