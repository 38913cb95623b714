"""The one way to what a student sent: ordinary files inside the place, and nothing through a link.

A link in a submission leads to what is not the student's: the solutions, a classmate's work, the
secret. So links are never followed, pipes and devices are never waited for, and nothing is read that
is larger than it may be.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from autograder.budgets import DEEPEST_FOLDER, MOST_ARRIVALS
from autograder.course import CourseError
from autograder.plain_text import clean_text


class Refused(CourseError):
    """Something that is not an ordinary file, or too large; the text says which."""


def open_plain(path: Path) -> BinaryIO:
    """Open an ordinary file for reading; raise Refused for anything else."""
    name = clean_text(path.name)
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    flags |= getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        if path.is_symlink():  # where there is no O_NOFOLLOW
            raise Refused(f"{name} is a link, not a file. Hand in the file itself.")
        descriptor = os.open(path, flags)
    except FileNotFoundError:
        raise Refused(f"{clean_text(str(path))} does not exist.") from None
    except (OSError, ValueError) as problem:
        raise Refused(f"{name} cannot be opened: {_say(problem)}.") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Refused(f"{name} is not an ordinary file.")
    return os.fdopen(descriptor, "rb")


def read_plain(path: Path, largest: int) -> bytes:
    """Return an ordinary file's content; raise Refused when it is something else, or too large."""
    with open_plain(path) as file:
        content = file.read(largest + 1)
    if len(content) > largest:
        raise Refused(f"{clean_text(path.name)} is larger than {describe_size(largest)}.")
    return content


def is_plain(path: Path) -> bool:
    """Is this an ordinary file, and no link to one?"""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def is_inside(path: Path, folder: Path) -> bool:
    """Does a path lie below a folder, without `..` and without a link on the way?"""
    try:
        parts = path.relative_to(folder).parts
    except ValueError:
        return False
    if ".." in parts:
        return False
    place = folder
    for part in parts[:-1]:
        place = place / part
        if place.is_symlink():
            return False
    return True


def walk(folder: Path, skip: tuple[str, ...] = (), hidden: bool = True) -> Iterator[Path]:
    """Yield the ordinary files below a folder, top first; links and what is too deep are left out."""
    count = 0
    level = [folder]
    for _ in range(DEEPEST_FOLDER):
        below = []
        for place in level:
            try:
                names = sorted(os.listdir(place))
            except OSError:
                continue  # not ours to read: nothing of it is handed in
            for name in names:
                path = place / name
                if name in skip or (not hidden and name.startswith(".")):
                    continue
                mode = os.lstat(path).st_mode
                count += 1
                if count > MOST_ARRIVALS:
                    return
                if stat.S_ISDIR(mode):
                    below.append(path)
                elif stat.S_ISREG(mode):
                    yield path
        level = below


def describe_size(size: int) -> str:
    """Return a size as people say it.

    >>> describe_size(400_000), describe_size(2 * 2**20)
    ('400 KB', '2 MB')
    """
    return f"{size // 2**20} MB" if size >= 2**20 else f"{size // 1000} KB"


def _say(problem: Exception) -> str:
    return getattr(problem, "strerror", None) or str(problem)
