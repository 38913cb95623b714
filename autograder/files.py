"""Files that are there whole or not at all, and what the system says when it refuses."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from pathlib import Path


def replace_file(path: Path, content: bytes, permissions: int = 0o644) -> None:
    """Write a file so that it is there whole or not at all."""
    write_beside(path, content, permissions).replace(path)


def write_beside(path: Path, content: bytes, permissions: int = 0o644) -> Path:
    """Write a file under another name beside its place; renaming it makes it count."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.new")  # one writer: the name can be reused
    try:
        fresh.unlink(missing_ok=True)
        with open(fresh, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        fresh.chmod(permissions)
    except OSError:
        with contextlib.suppress(OSError):
            fresh.unlink(missing_ok=True)
        raise
    return fresh


def remove_tree(folder: Path) -> None:
    """Remove a folder and all that is in it, however deep it goes and whatever its permissions say."""
    with contextlib.suppress(OSError, RecursionError):
        shutil.rmtree(folder)
    if not os.path.lexists(folder):
        return
    number = 0
    with contextlib.suppress(OSError):
        while inside := os.listdir(folder):
            before = number
            for name in inside:
                number += _dissolve(folder, name, number)
            if number == before:
                return  # nothing of what is left can be removed
        os.rmdir(folder)


def _dissolve(top: str | Path, name: str, number: int) -> int:
    """Remove one thing in a folder; what is inside it moves up. Return how many steps that took."""
    path = os.path.join(top, name)
    steps = 0
    with contextlib.suppress(OSError):
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            os.unlink(path)
            return 1
        os.chmod(path, 0o700)
        for inner in os.listdir(path):
            below = os.path.join(path, inner)
            if stat.S_ISDIR(os.lstat(below).st_mode):
                os.chmod(below, 0o700)
                os.rename(below, os.path.join(top, f".removed-{number}-{steps}"))
            else:
                os.unlink(below)
            steps += 1
        os.rmdir(path)
        steps += 1
    return steps


def explain_os_error(problem: OSError) -> str:
    """Say what the system refused, and where."""
    if problem.errno in (errno.ENOSPC, errno.EDQUOT):
        return "the disk is full. Make room and try again"
    if problem.errno in (errno.EEXIST, errno.ENOTDIR) and problem.filename:
        return f"{problem.filename} is a file, where there should be a folder"
    if problem.errno == errno.EISDIR:
        return f"{problem.filename2 or problem.filename} is a folder; give the name of a file"
    return f"{problem.strerror or problem}" + (f" ({problem.filename})" if problem.filename else "")
