"""What was graded, from what, and with what outcome: one small file a student and notebook.

A record is written last of all, so that a notebook with a record is graded and written down. It
holds two fingerprints: of the work that was handed in, and of the rules that judged it.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import autograder
from autograder.blueprint import Blueprint
from autograder.course import Course
from autograder.exercises import EXERCISES, MODULES
from autograder.secret import read_secret

_GRADER = ("judge", "grading", "submissions", "keepsakes", "borrowed", "defuse", "kernel.wire")


@dataclass(frozen=True)
class Record:
    """One graded notebook of one student. `result` is None when it was not handed in."""

    student: str
    notebook: str
    work: str  # fingerprint of what was handed in
    rules: str  # fingerprint of what judged it
    result: dict | None
    previous: dict | None = None  # the cells before the rules changed, for the same work


class Records:
    """The records under grading/results/."""

    def __init__(self, course: Course):
        self.folder = course.grading / "results"

    def find(self, student: str, notebook: str) -> Record | None:
        """Return a record, or None when there is none that can be read."""
        try:
            return Record(**json.loads(self._place(student, notebook).read_bytes()))
        except (OSError, ValueError, TypeError):
            return None  # then it is graded again

    def write(self, record: Record) -> None:
        from autograder.gradebook import replace_file

        text = json.dumps(asdict(record), ensure_ascii=False, indent=1)
        replace_file(self._place(record.student, record.notebook), text.encode())

    def read_all(self) -> list[Record]:
        """Return all records, by student and notebook."""
        found = (
            self.find(path.parent.name, path.stem) for path in sorted(self.folder.glob("*/*.json"))
        )
        return [record for record in found if record is not None]

    def _place(self, student: str, notebook: str) -> Path:
        return self.folder / student / f"{notebook}.json"


# ------------------------------------------------------------------------------ fingerprints


def fingerprint_work(file: Path | None, others: list[Path], folder: Path) -> str:
    """Return a fingerprint of a notebook as handed in, and of the files that came with it."""
    digest = hashlib.sha256()
    for path in [*([file] if file else []), *sorted(others)]:
        ordinary = path.is_file() and not (path != file and path.is_symlink())
        content = path.read_bytes() if ordinary else b"not a file"
        name = str(path.relative_to(folder)).encode()
        digest.update(b"%d:%s%d:" % (len(name), name, len(content)) + content)
    return digest.hexdigest()


def fingerprint_rules(course: Course, blueprint: Blueprint) -> str:
    """Return a fingerprint of what judges a notebook: source, exercises, grader and secret."""
    digest = hashlib.sha256(autograder.__version__.encode())
    for folder in (course.source, course.release):
        digest.update((folder / f"{blueprint.name}.ipynb").read_bytes())
    for name in sorted(find_modules(blueprint)):
        digest.update(name.encode() + _read_module(name))
    digest.update(hashlib.sha256(read_secret(course.grading)).digest())
    return digest.hexdigest()


def find_modules(blueprint: Blueprint) -> set[str]:
    """Return the modules that decide about a notebook's marks."""
    names = {slot.exercise for slot in blueprint.slots if slot.role == "check"}
    roots = {MODULES[name] for name in names if name in EXERCISES}
    return _reach(frozenset(roots)) | {f"autograder.{name}" for name in _GRADER}


@cache
def _reach(roots: frozenset[str]) -> set[str]:
    """Return modules with all of the exercises' and checks' modules that they import."""
    reached, waiting = set(), list(roots)
    while waiting:
        name = waiting.pop()
        if name in reached:
            continue
        reached.add(name)
        for node in ast.walk(ast.parse(_read_module(name))):
            if isinstance(node, ast.Import):
                waiting += [alias.name for alias in node.names if _counts(alias.name)]
            elif isinstance(node, ast.ImportFrom) and node.module:
                parts = [f"{node.module}.{alias.name}" for alias in node.names]
                modules = [part for part in parts if _counts(part)]
                if len(modules) < len(parts) and _counts(node.module):
                    modules.append(node.module)
                waiting += modules
    return reached


def _counts(name: str) -> bool:
    """Is this a module whose text can change a mark?"""
    if not name.startswith(("autograder.exercises.", "course_utils.")):
        return False
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False  # a name inside a module


@cache
def _read_module(name: str) -> bytes:
    return Path(importlib.util.find_spec(name).origin).read_bytes()
