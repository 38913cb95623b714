"""Sorts what a learning system lets instructors download into grading/submitted/, by the roster.

Moodle's and Canvas's zips of all submissions, Gradescope's export, and folders or files that are
named by student. Nothing is overwritten: a file that comes again with other content is kept beside the
earlier one, with its time in its name. When it was handed in is taken from what the system says, from the
manifest in a student's zip, or from the file, in that order.
"""

from __future__ import annotations

import io
import json
import os
import re
import unicodedata
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

import yaml

from autograder.classroom.roster import Entry, find_roster
from autograder.course import Assignment, CourseError
from autograder.files import replace_file
from autograder.intake.arrivals import STAMP
from autograder.intake.gather import MANIFEST

_MOODLE = re.compile(
    r"(?P<who>.+?)_(?P<id>\d+)_assignsubmission_(?P<kind>[a-z]+)_?/?(?P<file>.*)", re.S
)
_CANVAS = re.compile(r"(?P<who>[^_/]+)_(?P<late>LATE_)?(?P<user>\d+)_(?P<sub>\d+)_(?P<file>[^/]+)")
_METADATA = "submission_metadata.yml"  # in what Gradescope exports
_LARGEST = 200 * 2**20  # bytes of one file; more is no notebook
_JUNK = ("__MACOSX", ".DS_Store", "Thumbs.db")


@dataclass(frozen=True)
class Piece:
    """One file of a download, and whatever its system says about it."""

    name: str  # the file's own name, folders included
    content: bytes
    label: str  # where it is in the download
    keys: tuple[str, ...]  # what may name the student, the surest first
    moment: datetime | None = None
    source: str = "file"  # of the moment: system, manifest or file
    ticket: str = ""  # what the system wants to see on feedback


@dataclass
class Collected:
    """What came of a download."""

    placed: list[tuple[str, str, str]] = field(default_factory=list)  # student, file, when
    known: int = 0  # files that were there already
    unmatched: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def collect(assignment: Assignment, downloads: list[Path]) -> Collected:
    """Sort downloads into the students' folders; return what was done and what could not be."""
    roster = find_roster(assignment)
    if roster is None:
        raise CourseError(
            "There is no roster, so nobody can be told whose files these are: "
            "python -m autograder roster FILE (Canvas's, Moodle's or Blackboard's export will do)."
        )
    names = _index(roster)
    done = Collected()
    log = Log(assignment)
    for download in downloads:
        if not download.exists():
            raise CourseError(f"{download} does not exist.")
        for piece in _read(download, done):
            student = _match(piece.keys, names)
            if student is None:
                done.unmatched.append(piece.label)
            else:
                _place(assignment, student, piece, log, done)
    log.write()
    return done


class Log:
    """What was collected when: grading/collected/<assignment>.json, by student and file."""

    def __init__(self, assignment: Assignment):
        self.path = assignment.grading / "collected" / f"{assignment.name}.json"
        try:
            self.entries: dict[str, dict[str, dict]] = json.loads(self.path.read_bytes())
        except (OSError, ValueError):
            self.entries = {}

    def write(self) -> None:
        replace_file(self.path, json.dumps(self.entries, indent=1, ensure_ascii=False).encode())


# --------------------------------------------------------------------------------------- reading


def _read(download: Path, done: Collected) -> Iterator[Piece]:
    if download.is_file() and download.suffix.lower() == ".zip":
        try:
            with zipfile.ZipFile(download) as archive:
                yield from _read_files(_list_zip(archive, done), download.name)
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError) as problem:
            raise CourseError(f"{download} cannot be read as a zip file ({problem}).") from None
    elif download.is_dir():
        yield from _read_files(_list_folder(download, done), download.name)
    else:
        yield from _read_files(
            iter([(download.name, download.read_bytes(), _find_file_time(download))]), ""
        )


File = tuple[str, bytes, datetime | None]


def _list_zip(archive: zipfile.ZipFile, done: Collected) -> Iterator[File]:
    for entry in archive.infolist():
        if entry.is_dir() or _is_junk(entry.filename):
            continue
        if entry.file_size > _LARGEST:
            done.problems.append(
                f"{entry.filename} is too large to be work ({entry.file_size} bytes)."
            )
            continue
        try:
            moment = datetime(*entry.date_time).astimezone(UTC)  # zips hold local time
        except (ValueError, OverflowError):
            moment = None
        yield _mend(entry), archive.read(entry), moment


def _mend(entry: zipfile.ZipInfo) -> str:
    """Return an entry's name; some systems write UTF-8 without saying so."""
    if entry.flag_bits & 0x800:
        return entry.filename
    try:
        return entry.filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return entry.filename


def _list_folder(folder: Path, done: Collected) -> Iterator[File]:
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not path.is_symlink() and not _is_junk(name):
            if path.stat().st_size > _LARGEST:
                done.problems.append(f"{name} is too large to be work.")
                continue
            yield name, path.read_bytes(), _find_file_time(path)


def _is_junk(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return any(part in _JUNK or part.startswith("._") for part in parts)


def _find_file_time(path: Path) -> datetime:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)


def _read_files(files: Iterator[File], where: str) -> Iterator[Piece]:
    """Recognise whose download it is, by its names, and turn each file into a piece."""
    files = list(files)
    metadata = next((f for f in files if PurePosixPath(f[0]).name == _METADATA), None)
    submissions = _read_gradescope(metadata[1]) if metadata else {}
    for name, content, moment in files:
        if metadata is not None:
            piece = _take_gradescope(name, content, submissions)
        else:
            piece = _take_by_name(name, content, moment)
        if piece is None:
            continue
        label = f"{where}: {name}" if where else name
        moment, source = _date(piece, content)
        yield Piece(piece.name, content, label, piece.keys, moment, source, piece.ticket)


def _take_by_name(name: str, content: bytes, moment: datetime | None) -> Piece | None:
    found = _MOODLE.fullmatch(name)
    if found:
        if found["kind"] != "file" or not found["file"]:
            return None  # text typed into a form, not a file
        ticket = f"{found['who']}_{found['id']}_assignsubmission_file"
        who = found["who"].rpartition("/")[2]
        return Piece(found["file"], content, name, (who,), moment, ticket=ticket.rpartition("/")[2])
    base = PurePosixPath(name).name
    found = _CANVAS.fullmatch(base)
    if found:
        file = re.sub(
            r"-\d+(?=\.[^.]+$)", "", found["file"]
        )  # Canvas counts what is handed in again
        ticket = f"{found['who']}_{found['user']}_{found['sub']}"
        return Piece(
            file, content, name, (f"lms:{found['user']}", found["who"]), moment, ticket=ticket
        )
    parts = PurePosixPath(name).parts
    if len(parts) > 1:  # a folder for each student
        return Piece("/".join(parts[1:]), content, name, (parts[0],), moment)
    return Piece(base, content, name, (f"start:{base}",), moment)


def _read_gradescope(content: bytes) -> dict[str, dict]:
    try:
        found = yaml.safe_load(content)
        return found if isinstance(found, dict) else {}
    except (yaml.YAMLError, RecursionError, ValueError) as problem:
        raise CourseError(f"{_METADATA} cannot be read: {str(problem).splitlines()[0]}.") from None


def _take_gradescope(name: str, content: bytes, submissions: dict) -> Piece | None:
    parts = PurePosixPath(name).parts
    key = next((part for part in parts if part in submissions), None)
    if key is None or parts[-1] == _METADATA:
        return None
    facts = submissions[key] if isinstance(submissions[key], dict) else {}
    keys = []
    for person in facts.get(":submitters") or []:
        if isinstance(person, dict):
            keys += [str(person.get(f":{kind}") or "") for kind in ("sid", "email", "name")]
    moment = facts.get(":created_at")
    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment.replace(" UTC", "+00:00"))
        except ValueError:
            moment = None
    moment = moment if isinstance(moment, datetime) else None
    inner = "/".join(parts[parts.index(key) + 1 :])
    return Piece(inner, content, name, tuple(filter(None, keys)), moment, "system", key)


def _date(piece: Piece, content: bytes) -> tuple[datetime | None, str]:
    """Return when a file was handed in, and who says so."""
    if piece.source == "system" and piece.moment:
        moment = piece.moment
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC), "system"
    if piece.name.lower().endswith(".zip"):
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                manifest = json.loads(archive.read(MANIFEST)[: 2**20])
            return datetime.fromisoformat(manifest["made"]).astimezone(UTC), "manifest"
        except (zipfile.BadZipFile, KeyError, ValueError, TypeError, OSError, RuntimeError,
                NotImplementedError, OverflowError, RecursionError):  # fmt: skip
            pass
    return piece.moment, "file"


# -------------------------------------------------------------------------------------- matching


def _index(roster: dict[str, Entry]) -> dict[str, str | None]:
    """Return who is meant by an id, a login, an address or a name; None where several are."""
    names: dict[str, str | None] = {}
    for entry in roster.values():
        first, last = entry.first_name, entry.last_name
        keys = {
            entry.student, entry.login, entry.sis_id, entry.email, entry.email.partition("@")[0],
            f"{first} {last}" if first else entry.name, f"{last} {first}" if first else "",
            f"lms:{entry.lms_id}" if entry.lms_id else "", entry.lms_id,
        }  # fmt: skip
        for key in {_normal(key) for key in keys} - {""}:
            names[key] = entry.student if names.get(key, entry.student) == entry.student else None
    for student in roster:
        names[_normal(student)] = student  # the surest of all
    return names


def _match(keys: tuple[str, ...], names: dict[str, str | None]) -> str | None:
    for key in keys:
        if key.startswith("start:"):  # a file's name begins with the student's
            plain = _normal(key.removeprefix("start:"))
            fitting = [name for name in names if len(name) > 2 and plain.startswith(name)]
            best = max(fitting, key=len, default="")
            if best and names[best]:
                return names[best]
        elif names.get(_normal(key)):
            return names[_normal(key)]
    return None


def _normal(text: str) -> str:
    """Return a text without case, accents and punctuation: systems differ in all of these."""
    prefix = "lms:" if text.startswith("lms:") else ""
    plain = unicodedata.normalize("NFKD", text.removeprefix("lms:")).casefold()
    return prefix + "".join(char for char in plain if char.isalnum())


# --------------------------------------------------------------------------------------- placing


def _place(assignment: Assignment, student: str, piece: Piece, log: Log, done: Collected) -> None:
    folder = assignment.grading / "submitted" / student / assignment.name
    inner = "/".join(
        part for part in PurePosixPath(piece.name).parts if part not in ("..", "/", ".")
    )
    if not inner or PurePosixPath(inner).name == STAMP:
        return
    entries = log.entries.setdefault(student, {})
    when = f"{piece.moment:%Y-%m-%d %H:%M:%S} UTC" if piece.moment else ""
    path = folder / inner
    earlier = [
        name for name in entries if (folder / name).is_file() and _same(folder / name, piece)
    ]
    if earlier or (path.is_file() and _same(path, piece)):
        done.known += 1
        entry = entries.setdefault(earlier[0] if earlier else inner, {})
        entry.update({"ticket": piece.ticket or entry.get("ticket", ""), "from": piece.label})
    else:
        if path.exists():
            stamp = f"{piece.moment:%Y-%m-%d %H.%M.%S}" if piece.moment else "again"
            path, number = path.with_name(f"{path.stem} ({stamp}){path.suffix}"), 1
            while path.exists():
                number += 1
                path = path.with_name(
                    f"{PurePosixPath(inner).stem} ({stamp}, {number}){path.suffix}"
                )
        replace_file(path, piece.content)
        if piece.moment:
            os.utime(path, (piece.moment.timestamp(),) * 2)
        name = path.relative_to(folder).as_posix()
        entries[name] = {"time": when, "says": piece.source, "from": piece.label,
                         "ticket": piece.ticket}  # fmt: skip
        done.placed.append((student, name, f"{when}, said by the {piece.source}" if when else ""))
    times = [entry["time"] for entry in entries.values() if entry.get("time")]
    if times:
        replace_file(folder / STAMP, f"{max(times)}\n".encode())


def _same(path: Path, piece: Piece) -> bool:
    return path.stat().st_size == len(piece.content) and path.read_bytes() == piece.content
