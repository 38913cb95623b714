"""Reads a download entry by entry: a zip of all submissions, a folder, or a single file.

Only names and sizes are held in memory; what an entry holds is streamed when it is asked for.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from autograder.budgets import DEEPEST_FOLDER, LARGEST_DOWNLOAD_FILE, MOST_DOWNLOADED
from autograder.course import CourseError
from autograder.intake.unzip import DAMAGED
from autograder.opener import describe_size, open_plain
from autograder.plain_text import show_name

_JUNK = {"__MACOSX", ".DS_Store", "Thumbs.db", "desktop.ini", ".ipynb_checkpoints", "__pycache__"}


@dataclass(frozen=True)
class Entry:
    """One file of a download, or an empty folder; its names are as the download has them."""

    parts: tuple[str, ...]
    size: int
    time: datetime | None  # what stands beside the file: the packing's, or its last change
    source: zipfile.ZipInfo | Path | None  # None for a folder

    @property
    def label(self) -> str:
        return show_name("/".join(self.parts))


class Download:
    """One download, opened: its entries, and what cannot be taken from it."""

    def __init__(self, path: Path):
        """Read the list of contents; raise CourseError where there is none."""
        self.name = path.name
        self.stem = path.stem if path.is_file() else path.name
        self.problems: list[str] = []
        self._archive: zipfile.ZipFile | None = None
        if path.is_file() and path.suffix.lower() == ".zip":
            try:
                self._archive = zipfile.ZipFile(open_plain(path))
            except (*DAMAGED, NotImplementedError, OSError) as problem:
                why = show_name(str(problem))
                raise CourseError(f"{path} cannot be read as a zip file ({why}).") from None
            found = self._list_zip(self._archive)
        elif path.is_dir():
            found = self._list_folder(path)
        else:
            found = iter([_make_entry(path, (path.name,))])
        self.entries = [entry for entry in found if self._is_wanted(entry)]
        there = {entry.parts for entry in self.entries}
        self.entries = [e for e in self.entries if not _is_a_macs_shadow(e.parts, there)]

    def __enter__(self) -> Download:
        return self

    def __exit__(self, *_) -> None:
        if self._archive is not None:
            self._archive.close()

    def open(self, entry: Entry) -> BinaryIO:
        """Open an entry for reading; errors of a damaged one come while it is read."""
        if isinstance(entry.source, Path):
            return open_plain(entry.source)
        return self._archive.open(entry.source)

    def take_off_folder(self) -> None:
        """Take the one folder off that lies around all entries."""
        inner = [replace(entry, parts=entry.parts[1:]) for entry in self.entries]
        self.entries = [entry for entry in inner if entry.parts]

    def _list_zip(self, archive: zipfile.ZipFile) -> Iterator[Entry]:
        members = archive.infolist()
        if len(members) > MOST_DOWNLOADED:
            raise CourseError(f"{self.name} holds more than {MOST_DOWNLOADED:,} files.")
        for member in members:
            try:
                moment = datetime(*member.date_time).astimezone(UTC)  # zips hold local time
            except (ValueError, OverflowError, OSError):
                moment = None
            name = _mend(member).replace("\\", "/")
            parts = tuple(part for part in name.split("/") if part not in ("", "."))
            if parts:
                yield Entry(parts, member.file_size, moment, None if member.is_dir() else member)

    def _list_folder(self, folder: Path) -> Iterator[Entry]:
        for count, (place, below, names) in enumerate(os.walk(folder)):
            below.sort()
            inner = Path(place).relative_to(folder).parts
            if count > MOST_DOWNLOADED or len(inner) > DEEPEST_FOLDER:
                below.clear()
                self.problems.append(f"{show_name('/'.join(inner))} is nested too deep.")
                continue
            for name in below if not inner else ():
                if not os.path.islink(os.path.join(place, name)):
                    yield Entry((name,), 0, None, None)
            for name in sorted(names):
                path = Path(place, name)
                if path.is_file() and not path.is_symlink():
                    yield _make_entry(path, (*inner, name))

    def _is_wanted(self, entry: Entry) -> bool:
        if not _JUNK.isdisjoint(entry.parts):
            return False
        why = ""
        if ".." in entry.parts:
            why = "wants to lie outside its folder"
        elif len(entry.parts) > DEEPEST_FOLDER:
            why = "is nested too deep"
        elif entry.size > LARGEST_DOWNLOAD_FILE:
            why = f"is too large to be work ({describe_size(entry.size)})"
        if why:
            self.problems.append(f"{self.name}: {entry.label} {why}, and was left out.")
        return not why


def _is_a_macs_shadow(parts: tuple[str, ...], there: set[tuple[str, ...]]) -> bool:
    """Is this the `._name` that a Mac writes beside a file?"""
    return parts[-1].startswith("._") and (*parts[:-1], parts[-1][2:]) in there


def _make_entry(path: Path, parts: tuple[str, ...]) -> Entry:
    facts = path.stat()
    return Entry(parts, facts.st_size, datetime.fromtimestamp(facts.st_mtime, UTC), path)


def _mend(member: zipfile.ZipInfo) -> str:
    """Return a member's name; some systems write UTF-8 without saying so."""
    if member.flag_bits & 0x800:
        return member.filename
    try:
        return member.filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return member.filename
