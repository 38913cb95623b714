"""What a worker does with one notebook: run it, judge it, hand it back. No gradebook here.

A worker is a thread of the grader or a process on another machine; it needs this package alone.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from nbformat import NotebookNode

from autograder.fence import describe_failure
from autograder.grading.canary import prove_once
from autograder.grading.grade import grade_notebook
from autograder.intake.gather import Kit
from autograder.intake.restore import Restored
from autograder.plain_text import clean_words


@dataclass(frozen=True)
class Task:
    """One notebook to grade, with everything that belongs to it."""

    student: str
    restored: Restored
    seed: int
    timeout: float
    files: dict[str, bytes] = field(default_factory=dict)  # the submission's other files
    folder: str | None = None  # where they are instead, when the worker sees our disk


@dataclass
class Finished:
    """A graded notebook, or the sentence about why it is not."""

    notebook: NotebookNode | None = None
    result: dict | None = None
    error: str | None = None


def run_task(task: Task, kit: Kit) -> Finished:
    """Grade one notebook. Whatever goes wrong, the worker goes on to the next one."""
    try:
        prove_once(kit)
        if task.folder is not None:
            return _grade(task, kit, Path(task.folder))
        with tempfile.TemporaryDirectory(prefix="files-") as scratch:
            for name, content in task.files.items():
                path = Path(scratch) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            return _grade(task, kit, Path(scratch))
    except Exception as problem:  # one submission must never end the run for the others
        return Finished(error=describe_failure(problem))


def _grade(task: Task, kit: Kit, folder: Path) -> Finished:
    result = grade_notebook(
        task.restored,
        kit[task.restored.name],
        folder,
        submission=task.student,
        seed=task.seed,
        cell_timeout=task.timeout,
    )
    return Finished(task.restored.notebook, clean_words(result.to_dict()))
