"""Mutants that are right: what was changed does not change what the contract asks for.

equivalents.toml lists them by exercise and change, each with a line that proves it.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path


def find_reason(exercise: str, change: str) -> str | None:
    """Return why a mutant is right, if it is one of those that are known to be."""
    return load_equivalents().get((exercise, change.strip()))


@cache
def load_equivalents() -> dict[tuple[str, str], str]:
    """Read the file: (exercise, change) -> the line that proves it."""
    path = Path(__file__).with_name("equivalents.toml")
    entries = tomllib.loads(path.read_text("utf-8")).get("equivalent", [])
    return {(entry["exercise"], entry["change"].strip()): entry["because"] for entry in entries}
