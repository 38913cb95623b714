"""The course's secret, and the seeds drawn from it: hidden inputs that nobody can guess.

Each submission is judged on inputs of its own, which follow from the secret and from what was
handed in: grading the same work again asks the same questions.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
from pathlib import Path

from nbformat import NotebookNode

from autograder.blueprint import Blueprint
from autograder.course import CourseError
from autograder.kernel.workfolder import fingerprint_files

_SHORTEST = 16  # bytes


def draw_seed(
    grading: Path, blueprint: Blueprint, notebook: NotebookNode, folder: Path | None
) -> int:
    """Return the seed for one restored notebook of one submission.

    It hangs on everything that the notebook's code can read: its cells, and the files in `folder`.
    Whoever lays what one grading has said beside the same notebook is asked other questions.
    """
    cells = [f"{cell.cell_type}:{cell.source}" for cell in notebook.cells]
    files = fingerprint_files(folder)
    content = "\0".join([blueprint.assignment, blueprint.name, files, *cells])
    digest = hmac.new(read_secret(grading), content.encode("utf-8", "surrogatepass"), hashlib.sha256).digest()
    return int.from_bytes(digest[:8], "big")


def read_secret(grading: Path) -> bytes:
    """Return the secret under grading/, made on first use. It travels with the work there."""
    path = grading / "secret"
    if not path.exists():
        grading.mkdir(parents=True, exist_ok=True)
        fresh = grading / f".secret-{os.getpid()}-{secrets.token_hex(4)}"
        fresh.write_text(secrets.token_hex(32) + "\n", "utf-8")
        fresh.chmod(0o600)
        with contextlib.suppress(FileExistsError):  # another grader was first: its secret stands
            os.link(fresh, path)
        fresh.unlink()
    secret = path.read_bytes().strip()
    if len(secret) < _SHORTEST:
        raise CourseError(
            f"{path} should hold the course's secret, and is empty or too short: hidden inputs could "
            "be guessed. Restore it from a backup; or delete it, and a new one is made (what is "
            "graded then is asked other questions than before)."
        )
    return secret
