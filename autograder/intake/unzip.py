"""Opens the zip files that students hand in, and writes nothing but what belongs there."""

from __future__ import annotations

import errno
import os
import stat
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from autograder.budgets import (
    EMPTY_RATIO,
    LARGEST_CONTENT,
    LARGEST_ZIP,
    MOST_FILES,
    PLAIN_CONTENT,
)
from autograder.course import CourseError
from autograder.files import remove_tree
from autograder.intake.read import Unreadable
from autograder.opener import Refused, open_plain
from autograder.plain_text import clean_text

_LARGEST_INDEX = 2**20  # bytes of a zip's list of contents
_CHUNK = 2**16
# What zipfile raises for bytes that are no zip, or whose parts do not fit together.
DAMAGED = (
    zipfile.BadZipFile, zlib.error, EOFError, struct.error, UnicodeError, ValueError, OverflowError,
)  # fmt: skip
_JUNK = ("__MACOSX", ".ipynb_checkpoints", "__pycache__", ".git")


@dataclass
class Allowance:
    """What all zip files of one place may unpack to together."""

    size: int = LARGEST_CONTENT
    files: int = MOST_FILES


def unpack(path: Path, folder: Path, allowance: Allowance | None = None) -> list[Path]:
    """Unpack a zip into an empty or new folder; return its files. All of it, or nothing.

    Whatever is not an ordinary file inside that folder is refused with a sentence; so is what goes
    beyond the allowance, which is used up by what was unpacked.
    """
    allowance = allowance or Allowance()
    name = clean_text(path.name)
    try:
        with open_plain(path) as file:
            _check_index(name, file)
            archive = zipfile.ZipFile(file)
            packed = os.fstat(file.fileno()).st_size
            members = _choose_members(name, archive, packed, allowance)
            folder.parent.mkdir(parents=True, exist_ok=True)
            scratch = Path(tempfile.mkdtemp(prefix=".unpacking-", dir=folder.parent))
            try:
                used = _extract(name, archive, members, scratch, allowance.size)
                folder.mkdir(parents=True, exist_ok=True)
                allowance.size -= used
                allowance.files -= len(members)
                return [_move(scratch, folder, name) for name in members.values()]
            finally:
                remove_tree(scratch)
    except Refused as problem:
        raise Unreadable(str(problem)) from None
    except DAMAGED as problem:
        why = clean_text(str(problem))[:200]
        raise Unreadable(
            f"{name} is damaged and cannot be opened ({why}). Make the zip file again."
        ) from None
    except OSError as problem:  # what its list says leads nowhere in the file
        if problem.errno not in (errno.EINVAL, errno.ENAMETOOLONG, errno.EILSEQ, None):
            raise
        raise Unreadable(f"{name} is damaged and cannot be opened. Make it again.") from None
    except NotImplementedError:
        raise Unreadable(
            f"{name} is packed in a way that is not known here. Make an ordinary zip file."
        ) from None


def _check_index(name: str, file: BinaryIO) -> None:
    """Look at a zip's size and the size of its list before anything reads that list."""
    size = os.fstat(file.fileno()).st_size
    if size > LARGEST_ZIP:
        raise Unreadable(
            f"{name} is larger than {LARGEST_ZIP // 2**20} MB. Leave checkpoints and data out."
        )
    file.seek(max(0, size - 66_000))
    tail = file.read()
    end = tail.rfind(b"PK\x05\x06")
    if end < 0 or len(tail) < end + 22:
        raise Unreadable(f"{name} is not a zip file, or only a part of one. Make it again.")
    count, index = struct.unpack("<H L", tail[end + 10 : end + 16])
    large = tail.rfind(b"PK\x06\x06", 0, end)
    if large >= 0 and len(tail) >= large + 48:  # the same again, for zips with many files
        count, index = struct.unpack("<Q Q", tail[large + 32 : large + 48])
    if count > MOST_FILES or index > _LARGEST_INDEX:
        raise Unreadable(
            f"{name} holds more than {MOST_FILES:,} files. Hand in what the assignment asks for, "
            "and nothing else."
        )


def read_member(path: Path, member: str, largest: int) -> bytes | None:
    """Return the first bytes of one file in a zip, or None where it has none that can be read."""
    try:
        with open_plain(path) as file:
            _check_index(path.name, file)
            with zipfile.ZipFile(file) as archive, archive.open(member) as inside:
                return inside.read(largest)
    except (CourseError, *DAMAGED, KeyError, OSError, RuntimeError, MemoryError):
        return None


def _choose_members(
    name: str, archive: zipfile.ZipFile, packed: int, allowance: Allowance
) -> dict[zipfile.ZipInfo, PurePosixPath]:
    """Return the files to unpack and where; refuse what could do harm."""
    chosen: dict[zipfile.ZipInfo, PurePosixPath] = {}
    members = archive.infolist()
    if len(members) > MOST_FILES:
        raise Unreadable(f"{name} holds more than {MOST_FILES:,} files.")
    for member in members:
        given = member.filename.replace("\\", "/")
        place = PurePosixPath(given)
        shown = repr(member.filename[:80])
        if place.is_absolute() or ".." in place.parts or (len(given) > 1 and given[1] == ":"):
            raise Unreadable(f"{name} wants to write outside its folder ({shown}); nothing was.")
        parts = [part.encode("utf-8", "replace") for part in place.parts]
        odd = clean_text(given) != given or any(ord(character) < 32 for character in given)
        if odd or len(given) > 240 or max(map(len, parts), default=0) > 200:
            raise Unreadable(f"{name} holds a file with an impossible name ({shown}).")
        kind = stat.S_IFMT(member.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise Unreadable(
                f"{name} holds a link or something that is no file ({shown}). Put the file itself "
                "into the zip."
            )
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise NotImplementedError
        if member.flag_bits & 1:
            raise Unreadable(f"{name} is locked with a password. Make a zip without one.")
        if member.is_dir() or not place.parts or set(place.parts) & set(_JUNK):
            continue
        if place in chosen.values():
            raise Unreadable(f"{name} holds the file {shown} twice. Make the zip file again.")
        chosen[member] = place
    size = sum(member.file_size for member in chosen)
    if size > LARGEST_CONTENT:
        raise Unreadable(
            f"{name} would unpack to more than {LARGEST_CONTENT // 2**20} MB, so it was not opened. "
            "Leave checkpoints and data out."
        )
    if size > max(PLAIN_CONTENT, EMPTY_RATIO * packed):
        raise Unreadable(
            f"{name} would unpack to more than {EMPTY_RATIO} times its size, so it was not opened. "
            "Leave out what is not your work."
        )
    if size > allowance.size or len(chosen) > allowance.files:
        raise Unreadable(
            f"{name} was not opened: together with the other zip files here it would unpack to more "
            f"than {LARGEST_CONTENT // 2**20} MB or {MOST_FILES:,} files. Hand in one zip alone."
        )
    if not chosen:
        raise Unreadable(f"{name} is an empty zip file.")
    return _drop_common_folder(chosen)


def _drop_common_folder(chosen):
    """Leave out a folder that everything lies in, as when a whole folder was packed."""
    while all(len(place.parts) > 1 for place in chosen.values()):
        if len({place.parts[0] for place in chosen.values()}) > 1:
            break
        chosen = {m: PurePosixPath(*place.parts[1:]) for m, place in chosen.items()}
    return chosen


def _extract(name: str, archive, members, scratch: Path, most: int) -> int:
    """Write the members into a folder of ours; return how many bytes really came out."""
    left = most
    for member, place in members.items():
        target = scratch / place
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(member) as source, open(target, "xb") as file:
                while chunk := source.read(min(_CHUNK, left + 1)):
                    left -= len(chunk)
                    if left < 0:
                        raise Unreadable(
                            f"{name} unpacks to far more than it says, so it was refused."
                        )
                    file.write(chunk)
        except RuntimeError:  # a password after all
            raise Unreadable(f"{name} is locked with a password. Make one without.") from None
        except (FileExistsError, NotADirectoryError):
            raise Unreadable(
                f"{name} holds a file and a folder of the same name ({str(place)[:80]!r})."
            ) from None
    return most - left


def _move(scratch: Path, folder: Path, place: PurePosixPath) -> Path:
    target = folder / place
    target.parent.mkdir(parents=True, exist_ok=True)
    os.replace(scratch / place, target)
    return target


@contextmanager
def open_zip(path: Path) -> Iterator[tuple[zipfile.ZipFile, dict[zipfile.ZipInfo, PurePosixPath]]]:
    """Open a zip for a look at its members, without unpacking; raise Unreadable where that cannot be."""
    name = clean_text(path.name)
    try:
        with open_plain(path) as file:
            _check_index(name, file)
            archive = zipfile.ZipFile(file)
            packed = os.fstat(file.fileno()).st_size
            yield archive, _choose_members(name, archive, packed, Allowance())
    except (Refused, *DAMAGED, OSError, NotImplementedError, RuntimeError) as problem:
        raise Unreadable(f"{name} cannot be opened ({clean_text(str(problem))[:200]}).") from None
