"""Numbers that text quotes come from a file of results, never from an author's memory.

An author writes {{queries.select_from}}; the build puts the number in its place, and refuses a name
that results.json, beside the text notebooks, does not have.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from autograder.course import CourseError

FILE = "results.json"
_NAME = re.compile(r"\{\{([\w.]+)\}\}")


def load_numbers(folder: Path) -> dict:
    """Read the results beside the text notebooks; an assignment that quotes nothing has none."""
    path = folder / FILE
    if not path.is_file():
        return {}
    try:
        return json.loads(path.read_text("utf-8"))
    except ValueError as problem:
        raise CourseError(f"{path}: not valid JSON: {problem}.") from None


def fill_numbers(text: str, numbers: dict, path: Path, line: int) -> str:
    """Put numbers where text names them; `line` is where the text's cell begins in its file."""

    def find(match: re.Match) -> str:
        found = numbers
        for part in match[1].split("."):
            found = found.get(part) if isinstance(found, dict) else None
        if found is None or isinstance(found, dict):
            number = line + 1 + text[: match.start()].count("\n")
            what = "is a group, not a number" if found else "has no such number"
            raise CourseError(
                f"{path}:{number}: {match[0]} is quoted, but {path.with_name(FILE)} {what}. "
                "Correct the name, or measure it: `python -m autograder.experiments.results`."
            )
        return str(found)

    return _NAME.sub(find, text)
