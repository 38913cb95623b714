"""What was graded, from what, and with what outcome: one small file per student and notebook.

A record is written last of all, so that a notebook with a record is graded and written down. It
holds two fingerprints: of the work that was handed in, and of the rules that judged it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import autograder
from autograder.blueprint import Blueprint, is_kept
from autograder.course import Assignment
from autograder.files import replace_file
from autograder.grading.secret import read_secret
from autograder.proving.closure import read_closure
from autograder.python_text import find_imports

REQUESTS = "regrade_request*.txt"  # students' requests to look again: no work, so nothing to grade


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
    """The records of one assignment: grading/results/<assignment>/<student>/<notebook>.json.

    Those of a course of one assignment lay one folder higher. They are moved, and a preview reads them
    where they are.
    """

    def __init__(self, assignment: Assignment, preview: bool = False):
        self._names = {plan.name for plan in assignment.notebooks}  # others were dropped
        self.folder = assignment.grading / "results" / assignment.name
        moved = 0 if preview else _move_old_records(assignment, self.folder)
        if moved:
            print(
                f"{moved} records of earlier grading now lie in {self.folder}: each assignment "
                "keeps its own.",
                file=sys.stderr,
            )

    def find(self, student: str, notebook: str) -> Record | None:
        """Return a record, or None when there is none that can be read."""
        place = self._place(student, notebook)
        for path in (place, self.folder.parent / student / place.name):
            with contextlib.suppress(OSError, ValueError, TypeError):  # then it is graded again
                return Record(**json.loads(path.read_bytes()))
        return None

    def write(self, record: Record) -> None:
        text = json.dumps(asdict(record), ensure_ascii=False, indent=1)
        replace_file(self._place(record.student, record.notebook), text.encode())

    def forget_previous(self, student: str, notebook: str) -> None:
        """Do not tell again how a score came to change."""
        record = self.find(student, notebook)
        if record and record.previous:
            self.write(replace(record, previous=None))

    def read_all(self) -> list[Record]:
        """Return all records, by student and notebook."""
        places = [*self.folder.glob("*/*.json"), *self.folder.parent.glob("*/*.json")]
        names = sorted({(path.parent.name, path.stem) for path in places})
        found = (self.find(student, notebook) for student, notebook in names)
        return [record for record in found if record and record.notebook in self._names]

    def _place(self, student: str, notebook: str) -> Path:
        return self.folder / student / f"{notebook}.json"


def _move_old_records(assignment: Assignment, folder: Path) -> int:
    """Move records from where a course of one assignment kept them; return how many there were."""
    moved = 0
    for path in sorted(folder.parent.glob("*/*.json")):
        place = folder / path.parent.name / path.name
        if assignment.find_notebook(path.stem) is None or place.exists():
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):  # another command is moving them, too
            path.rename(place)
            moved += 1
        with contextlib.suppress(OSError):  # something else is in it
            path.parent.rmdir()
    return moved


# ------------------------------------------------------------------------------ fingerprints


def fingerprint_work(file: Path | None, others: list[Path], folder: Path) -> str:
    """Return a fingerprint of a notebook as handed in, and of the files that came with it."""
    digest = hashlib.sha256()
    for path in [*([file] if file else []), *sorted(others)]:
        ordinary = path.is_file() and not (path != file and path.is_symlink())
        content = path.read_bytes() if ordinary else b"not a file"
        name = os.path.relpath(path, folder).encode()  # it may lie beside the folder
        digest.update(b"%d:%s%d:" % (len(name), name, len(content)) + content)
    return digest.hexdigest()


def fingerprint_rules(
    assignment: Assignment, blueprint: Blueprint, grading: Path | None = None
) -> str:
    """Return a fingerprint of what judges a notebook: source, exercises, grader and secret.

    `grading` is where the secret lies, when it is a preview's.
    """
    digest = hashlib.sha256(autograder.__version__.encode())
    for folder in (assignment.source, assignment.release):
        digest.update((folder / f"{blueprint.name}.ipynb").read_bytes())
    for name, content in sorted(read_modules(blueprint).items()):
        digest.update(name.encode() + content)
    digest.update(hashlib.sha256(read_secret(grading or assignment.grading)).digest())
    return digest.hexdigest()


def read_modules(blueprint: Blueprint) -> dict[str, bytes]:
    """Return the text of every module that a verdict passes through.

    These are what the worker and the exercises import, however deep, and what the notebook's own
    cells import of ours.
    """
    roots = [f"import autograder.exercises.{blueprint.exercises}"]
    for slot in blueprint.slots:
        if slot.source.cell_type == "code" and not is_kept(slot.source):
            roots += find_imports(slot.source.source, "course_utils")
    return read_closure(["import autograder.classroom.worker", *roots])
