"""What happened to a student's work, line by line: grading/history/<student>.jsonl."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from autograder.classroom.records import Record
from autograder.course import Assignment, Course


class History:
    """Writes down what a run of grading did, and why."""

    def __init__(self, assignment: Assignment):
        self.assignment = assignment

    def add(
        self,
        student: str,
        notebook: str,
        before: Record | None,
        result: dict | None,
        same_work: bool,
    ) -> None:
        """Add a line, unless everything is as it was."""
        old = before.result["cells"] if before and before.result else {}
        changed = [
            f"{name} {old[name]['score']:g} -> {cell['score']:g}"
            for name, cell in (result or {"cells": {}})["cells"].items()
            if name in old and old[name]["score"] != cell["score"]
        ]
        if before is None:
            why = "graded for the first time"
        elif not same_work:
            why = "what was handed in changed"
        elif changed:
            why = "graded again by other rules"
        else:
            return
        line = {
            "time": f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC",
            "assignment": self.assignment.name,
            "notebook": notebook,
            "why": why,
            "score": result["score"] if result else None,
            "max_score": result["max_score"] if result else None,
            "changed": changed,
            "flags": result["flags"] if result else [],
        }
        path = find_place(self.assignment.course, student)
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


def find_place(course: Course, student: str) -> Path:
    return course.grading / "history" / f"{student}.jsonl"


def read_history(course: Course, student: str) -> list[dict]:
    """Return what was written down; a line that a killed run left half is left out."""
    try:
        lines = find_place(course, student).read_text("utf-8").splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found
