"""Lists what a student wrote elsewhere than in the notebooks: PDFs, Word files and pictures handed in.

An answer may stand in one of these, while its cell is as it was handed out. So nobody is given 0 for
such a cell before a person has looked. Nothing is unpacked or opened for the list.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

from autograder.blueprint import Blueprint
from autograder.budgets import LARGEST_FILE, LARGEST_RECORD
from autograder.course import Assignment
from autograder.intake.arrivals import find_strays
from autograder.intake.gather import MANIFEST
from autograder.intake.read import Unreadable
from autograder.intake.restore import Restored
from autograder.intake.unzip import open_zip
from autograder.opener import Refused, describe_size, is_plain, read_plain, walk
from autograder.plain_text import clean_text, one_line

KINDS = {".pdf": "pdf", ".docx": "docx"}
KINDS |= dict.fromkeys((".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff"), "image")
# What the desk cannot show, and a person has to open.
KINDS |= dict.fromkeys((".doc", ".odt", ".rtf", ".pages", ".heic", ".svg"), "other")
_JUNK = ("__MACOSX", "__pycache__")


@dataclass(frozen=True)
class WriteUp:
    """One file beside the notebooks in which a student may have written something."""

    label: str  # how a person finds it, without signs that act
    kind: str  # pdf, docx, image or other
    size: int  # bytes
    same_answers: bool  # `course_utils submit` printed it: its answers are those of the notebooks
    path: Path  # the file itself, or the zip that it lies in
    member: str = ""  # its name in that zip
    checksum: int = 0  # of its content

    @property
    def key(self) -> str:
        """Stands for this very content in addresses and tables."""
        words = f"{self.kind}|{self.size}|{self.checksum}"
        return hashlib.sha256(words.encode()).hexdigest()[:16]

    def __str__(self) -> str:
        return f"{self.label} ({describe_size(self.size)})"

    def read(self) -> bytes:
        """Return its content; raise Unreadable or Refused with a sentence where that cannot be."""
        if not self.member:
            return read_plain(self.path, LARGEST_FILE)
        with open_zip(self.path) as (archive, _):
            return _read_member(archive, self.member, LARGEST_FILE)


def find_writeups(
    place: Path, strays: Collection[Path] = (), ours: Collection[str] = ()
) -> list[WriteUp]:
    """Return what was handed in beside notebooks and code, in a place, its folders and its zips.

    `place` is a folder or a file, `strays` what lies beside it and belongs to it, `ours` the names of
    files that the course itself hands out or asks for. What cannot be opened is left out: whoever reads
    the notebooks says so. The same file twice is listed once.
    """
    found: dict[tuple[int, int], WriteUp] = {}
    for root in (place, *strays):
        prefix = "" if root == place else "../"
        for writeup in _look_through(root, prefix, frozenset(ours)):
            known = found.get((writeup.size, writeup.checksum))
            if known is None or (writeup.same_answers and not known.same_answers):
                found[writeup.size, writeup.checksum] = writeup
    return sorted(found.values(), key=lambda writeup: writeup.label)


def find_handed_in(assignment: Assignment, student: str) -> list[WriteUp]:
    """Return what a student handed in beside the notebooks of an assignment, strays included."""
    folder = assignment.grading / "submitted" / student / assignment.name
    home = folder.parent
    if home.is_symlink() or not home.is_dir():
        return []
    strays = {*find_strays(folder), *find_beside(folder)}
    return find_writeups(folder, sorted(strays), name_ours(assignment))


def find_beside(folder: Path) -> list[Path]:
    """Return write-ups that lie beside an assignment's folder, in the student's own."""
    home = folder.parent
    return sorted(path for path in home.iterdir() if _is_writeup(path) and is_plain(path))


def name_ours(assignment: Assignment) -> set[str]:
    """Return the names of files that the course hands out or asks for beside the notebooks."""
    return {path.name for path in walk(assignment.release)} | set(assignment.files)


def find_elsewhere(assignment: Assignment, student: str) -> list[WriteUp]:
    """Return the write-ups that may hold answers which no cell holds."""
    return [found for found in find_handed_in(assignment, student) if not found.same_answers]


def flag_writeups(restored: Restored, blueprint: Blueprint, found: list[WriteUp]) -> None:
    """Say of a notebook with untouched answers that they may stand in a write-up."""
    answers = [slot for slot in blueprint.slots if slot.role == "answer" and slot.points > 0]
    texts = {
        cell.metadata.get("nbgrader", {}).get("grade_id"): cell.source.split()
        for cell in restored.notebook.cells
    }
    untouched = [
        slot for slot in answers if texts.get(slot.grade_id) in (slot.release.source.split(), [])
    ]
    elsewhere = [str(writeup) for writeup in found if not writeup.same_answers]
    if untouched and elsewhere:
        more = f" and {len(elsewhere) - 3} more" if len(elsewhere) > 3 else ""
        restored.flags.append(
            f"{len(untouched)} of {len(answers)} answers are untouched here, and there is "
            f"{', '.join(elsewhere[:3])}{more}: they may be elsewhere, and wait for a person"
        )


# ------------------------------------------------------------------------------------ looking


def _look_through(root: Path, prefix: str, ours: frozenset[str]) -> Iterator[WriteUp]:
    if root.is_symlink():
        return
    whole = root.is_dir()
    for path in walk(root, _JUNK, hidden=False) if whole else filter(is_plain, [root]):
        inner = path.relative_to(root).as_posix() if whole else path.name
        label = one_line(f"{prefix}{f'{root.name}/' if whole and prefix else ''}{inner}", 200)
        try:
            if path.suffix.lower() == ".zip":
                yield from _look_into_zip(path, label, ours)
            elif _is_writeup(path) and path.name not in ours:
                kind, size = KINDS[path.suffix.lower()], path.stat().st_size
                content = read_plain(path, LARGEST_FILE) if size <= LARGEST_FILE else b""
                record = read_plain(path.parent / MANIFEST, LARGEST_RECORD) \
                    if is_plain(path.parent / MANIFEST) else b""  # fmt: skip
                same = _is_printed(path.name, content, record)
                yield WriteUp(label, kind, size, same, path, checksum=crc32(content))
        except (Refused, Unreadable, OSError):
            continue


def _look_into_zip(path: Path, label: str, ours: frozenset[str]) -> Iterator[WriteUp]:
    with open_zip(path) as (archive, members):
        record = b""
        for member, place in members.items():
            if place.as_posix() == MANIFEST:
                record = _read_member(archive, member.filename, LARGEST_RECORD)
        for member, place in members.items():
            if not _is_writeup(place) or place.name in ours or place.name.startswith("."):
                continue
            same = False
            if record and member.file_size <= LARGEST_FILE:
                content = _read_member(archive, member.filename, LARGEST_FILE)
                same = _is_printed(place.as_posix(), content, record)
            name = one_line(f"{label}: {place}", 200)
            kind = KINDS[place.suffix.lower()]
            yield WriteUp(name, kind, member.file_size, same, path, member.filename, member.CRC)


def _is_writeup(path) -> bool:
    return path.suffix.lower() in KINDS and not path.name.startswith(".")


def _is_printed(name: str, content: bytes, record: bytes) -> bool:
    """Did `course_utils submit` make this file from the notebooks? Its manifest has the digest."""
    try:
        listed = json.loads(record)["files"][name]["sha256"]
        return Path(name).stem == "write-up" and listed == hashlib.sha256(content).hexdigest()
    except Exception:  # a student may have written anything there
        return False


def _read_member(archive, name: str, largest: int) -> bytes:
    with archive.open(name) as file:
        content = file.read(largest + 1)
    if len(content) > largest:
        raise Unreadable(f"{clean_text(name)} is larger than {describe_size(largest)}.")
    return content
