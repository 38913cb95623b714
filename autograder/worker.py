"""What a worker does with one notebook: run it, judge it, hand it back. No gradebook here.

A worker is a thread of the grader or a process on another machine; it needs this package alone.
"""

from __future__ import annotations

import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.utils import determine_grade

from autograder import canary
from autograder.blueprint import Blueprint
from autograder.course import CourseError
from autograder.nbgrader_plugin import ClearOtherOutputs, judge_submission, restore_submission

Kit = dict[str, Blueprint]  # what the assignment hands out, by notebook: all that a worker needs


@dataclass(frozen=True)
class Task:
    """One notebook to grade, with everything that belongs to it."""

    student: str
    notebook: str
    restored: NotebookNode
    seed: int
    timeout: float
    files: dict[str, bytes] = field(default_factory=dict)  # the submission's other files
    folder: str | None = None  # where they are instead, when the worker sees our disk
    flags: tuple[str, ...] = ()  # about the files, found before they were sent


@dataclass
class Finished:
    """A graded notebook, or the sentence about why it is not."""

    notebook: NotebookNode | None = None
    result: dict | None = None
    error: str | None = None


def run_task(task: Task, kit: Kit) -> Finished:
    """Grade one notebook. Whatever goes wrong, the worker goes on to the next one."""
    try:
        prove_grader(kit)
        if task.folder is not None:
            return _grade(task, kit, Path(task.folder))
        with tempfile.TemporaryDirectory(prefix="files-") as scratch:
            for name, content in task.files.items():
                path = Path(scratch) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            return _grade(task, kit, Path(scratch))
    except CourseError as problem:
        return Finished(error=str(problem))
    except Exception as problem:  # one submission must never end the run for the others
        return Finished(error=f"could not be graded: {type(problem).__name__}: {problem}")


def _grade(task: Task, kit: Kit, folder: Path | None) -> Finished:
    notebook, _ = ClearOtherOutputs().preprocess(task.restored, {})
    notes = notebook.metadata["course"]
    if task.flags:
        notes["flags"] = [*notes.get("flags", []), *task.flags]
    result = judge_submission(
        notebook, kit[task.notebook], folder, task.student, task.seed, task.timeout
    )
    return Finished(notebook, result.to_dict())


_proven = False
_proving = threading.Lock()


def prove_grader(kit: Kit) -> None:
    """Grade the canary once in this process, the way work is graded; raise if it is marked wrong."""
    global _proven
    with _proving:
        if _proven:
            return
        blueprint = kit[canary.NOTEBOOK]

        def grade(notebook: NotebookNode) -> dict[str, float]:
            restored = restore_submission(notebook, blueprint)
            task = Task("canary", blueprint.name, restored, seed=0, timeout=60)
            graded = nbformat.from_dict(_grade(task, kit, None).notebook)
            return {
                cell.metadata.nbgrader.grade_id: determine_grade(cell)[0]
                for cell in graded.cells
                if cell.metadata.get("nbgrader", {}).get("grade")
            }

        canary.require_canary(blueprint, grade)
        _proven = True
