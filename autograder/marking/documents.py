"""Makes pictures and words of what was handed in: PDFs, Word files and images, whatever they hold.

Each file is opened in a walled process of its own, which is given bytes and gives back bytes, and is gone
afterwards. It has a limit on time, memory, pages and pixels. What comes out is a new picture, or plain text.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from autograder import budgets
from autograder.course import CourseError
from autograder.intake.writeups import WriteUp
from autograder.kernel import drawing
from course_utils.bounded import TooMuch, Worker


@dataclass(frozen=True)
class Document:
    """What can be shown of one file: pages as pictures, or a text, or a sentence about why nothing."""

    pages: int = 0
    text: str = ""
    problem: str = ""


def open_document(writeup: WriteUp) -> Document:
    """Look into a write-up; whatever is wrong with it becomes a sentence."""
    return _open(writeup, _find_stamp(writeup))


def draw(writeup: WriteUp, page: int) -> bytes:
    """Return a page of a PDF, counted from 1, or an image, as a new PNG; raise CourseError."""
    return _draw(writeup, page, _find_stamp(writeup))


@lru_cache(maxsize=512)
def _open(writeup: WriteUp, stamp: tuple) -> Document:
    if writeup.kind == "other":
        return Document(problem="It is of a kind that is not shown here. Open the file itself.")
    try:
        return Document(**_ask(f"open_{writeup.kind}", writeup))
    except CourseError as problem:
        return Document(problem=str(problem))


@lru_cache(maxsize=64)
def _draw(writeup: WriteUp, page: int, stamp: tuple) -> bytes:
    drawn = _ask(f"draw_{writeup.kind}", writeup, page)
    if not isinstance(drawn, bytes):
        raise CourseError(drawn["problem"])
    return drawn


def _ask(name: str, writeup: WriteUp, *arguments):
    content = writeup.read()
    try:
        worker = Worker(drawing.__name__, budgets.DRAW_MEMORY)
        try:
            return worker.call(name, *arguments, content=content, seconds=budgets.DRAW_SECONDS)
        finally:
            worker.end()
    except TooMuch:
        raise CourseError(
            "It is damaged, or takes more time or memory than it may, and was not opened."
        ) from None


def _find_stamp(writeup: WriteUp) -> tuple:
    try:
        found = writeup.path.lstat()
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_size, found.st_ino
