"""Sorts what a learning system lets instructors download into grading/submitted/, by the roster.

Moodle's, Canvas's and Blackboard's zips of all submissions, Gradescope's export, and folders or files
that are named by student. Nothing is overwritten: a file that comes again with other content is kept
beside the earlier one, with its time in its name. What tells when it came is written down; who may say
it is settled in `moments`.
"""

from __future__ import annotations

import io
import json
import os
import re
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath

import yaml

from autograder.course import Assignment, CourseError
from autograder.files import replace_file
from autograder.intake.arrivals import STAMP
from autograder.intake.collected import Log
from autograder.intake.gather import MANIFEST
from autograder.intake.gradescope_export import read_gradescope_results, read_gradescope_time
from autograder.intake.moments import write_stamps
from autograder.intake.worksheet import Worksheet, is_worksheet, read_worksheet
from autograder.roster import Entry, find_roster
from autograder.terminal import track

_MOODLE = re.compile(
    r"(?P<who>.+?)_(?P<id>\d+)_assignsubmission_(?P<kind>[a-z]+)_?/?(?P<file>.*)", re.S
)
_CANVAS = re.compile(r"(?P<who>.+?)_(?P<late>LATE_)?(?P<user>\d+)_(?P<sub>\d+)_(?P<file>.+)", re.S)
_BLACKBOARD = re.compile(
    r"(?P<who>.+)_attempt_(?P<when>\d{4}(?:-\d\d){5})(?:_(?P<file>.+)|\.txt)", re.S
)
_METADATA = "submission_metadata.yml"  # in what Gradescope exports
_LARGEST = 200 * 2**20  # bytes of one file; more is no notebook
_JUNK = ("__MACOSX", ".DS_Store", "Thumbs.db")
_PACKING = timedelta(minutes=15)  # times of files that lie closer together are those of the packing


@dataclass(frozen=True)
class Piece:
    """One file of a download, and whatever its system says about it."""

    name: str  # the file's own name, folders included
    content: bytes
    label: str  # where it is in the download
    keys: tuple[str, ...]  # what may name the student, the surest first
    moment: datetime | None = None
    source: str = "file"  # of the moment: system, manifest, file, or packing, which tells nothing
    ticket: str = ""  # what the system wants to see on feedback
    late: bool = False  # says the system, without saying when

    @property
    def from_canvas(self) -> bool:
        return bool(self.keys) and self.keys[0].startswith("lms:")


@dataclass
class Collected:
    """What came of a download."""

    placed: list[tuple[str, str, str]] = field(default_factory=list)  # student, file, when
    known: int = 0  # files that were there already
    unmatched: list[str] = field(default_factory=list)  # sentences
    undated_late: list[str] = field(default_factory=list)  # students whom the system calls late
    results: int = 0  # students whose points on Gradescope are known
    problems: list[str] = field(default_factory=list)


def collect(assignment: Assignment, downloads: list[Path]) -> Collected:
    """Sort downloads into the students' folders; return what was done and what could not be."""
    roster = find_roster(assignment)
    if roster is None:
        raise CourseError(
            "There is no roster, so nobody can be told whose files these are: "
            "python -m autograder roster FILE (Canvas's, Moodle's or Blackboard's export will do)."
        )
    for download in downloads:
        if not download.exists():
            raise CourseError(f"{download} does not exist.")
    sheets = {path: read_worksheet(path) for path in downloads if is_worksheet(path)}
    names = _index(roster)
    reader = Reader(names, sheets.values())
    log, results = Log(assignment), Log(assignment, "-gradescope")
    done = reader.done
    touched = set()
    for download in downloads:
        for piece in reader.read(download) if download not in sheets else ():
            student = _match(piece.keys, names)
            if student:
                _place(assignment, student, piece, log, done)
                touched.add(student)
            else:
                done.unmatched.append(f"{piece.label} {_say_why_not(piece.keys, names)}")
    for keys, result in reader.results:
        student = _match(keys, names)
        if student:
            results.entries[student] = result
            done.results += 1
    log.write()
    write_stamps(assignment, sorted(touched))
    if reader.results:
        results.write()
    return done


# --------------------------------------------------------------------------------------- reading


class Reader:
    """Reads downloads piece by piece, and notes what is odd about them."""

    def __init__(self, names: dict[str, str | None], sheets: Iterable[Worksheet] = ()):
        self.done = Collected()
        self.results: list[tuple[tuple[str, ...], dict]] = []  # keys, what Gradescope gave
        self._names = names
        self._rows = {number: row for sheet in sheets for number, row in sheet.items()}

    def read(self, download: Path) -> Iterator[Piece]:
        """Yield the files of one download."""
        where = f"{download.name}: "
        if download.is_file() and download.suffix.lower() == ".zip":
            try:
                with zipfile.ZipFile(download) as archive:
                    files = list(_list_zip(archive, self.done))
            except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError) as problem:
                raise CourseError(f"{download} cannot be read as a zip file ({problem}).") from None
        elif download.is_dir():
            files = list(_list_folder(download, self.done))
        else:
            files, where = [(download.name, download.read_bytes(), _find_file_time(download))], ""
        pieces = _take_off_counts(list(self._recognise(_unwrap(files, self._names))))
        packed = _find_packing(pieces)
        for piece in track(pieces, f"sorting {download.name}"):
            moment, source = _date(piece)
            if source == "file" and piece.ticket and packed:
                source = "packing"
            yield replace(piece, label=where + piece.label, moment=moment, source=source)

    def _recognise(self, files: list[File]) -> Iterator[Piece]:
        """Say whose download it is, by its names, and turn each file into a piece."""
        metadata = next((f for f in files if PurePosixPath(f[0]).name == _METADATA), None)
        submissions = _read_gradescope(metadata[1]) if metadata else {}
        for key, facts in submissions.items():
            found = read_gradescope_results(key, facts)
            self.results += [(keys, found) for keys in _list_submitters(facts) if found]
        for name, content, moment in files:
            if metadata is not None:
                pieces = _take_gradescope(name, content, submissions)
            else:
                pieces = filter(None, [_take_by_name(name, content, moment, self._names)])
            for piece in pieces:
                yield self._look_up(piece)

    def _look_up(self, piece: Piece) -> Piece:
        """Add what Moodle's grading worksheet says about a piece: who it is, and when it came."""
        found = _MOODLE.fullmatch(f"{piece.ticket}_")
        row = self._rows.get(found["id"]) if found else None
        if row is None:
            return piece
        keys = (*row.keys, *piece.keys)
        if row.moment is None:
            return replace(piece, keys=keys)
        return replace(piece, keys=keys, moment=row.moment, source="system")


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


def _unwrap(files: list[File], names: dict[str, str | None]) -> list[File]:
    """Take off the one folder that a computer puts around what it unpacks or packs."""
    tops = {PurePosixPath(name).parts[0] if "/" in name else "" for name, _, _ in files}
    top = tops.pop() if len(tops) == 1 else ""
    if not top or _normal(top) in names or _MOODLE.match(top):
        return files
    return [(name.partition("/")[2], content, moment) for name, content, moment in files]


def _take_off_counts(pieces: list[Piece]) -> list[Piece]:
    """Take off the number that Canvas adds to the name of what is handed in again.

    Where it tells two files of a student's apart, it stays: -10 is later than -9.
    """
    plain = [re.sub(r"-\d+(?=\.[^.]+$)", "", p.name) if p.from_canvas else p.name for p in pieces]
    times = Counter((piece.keys, name) for piece, name in zip(pieces, plain, strict=True))
    return [
        replace(piece, name=name) if times[piece.keys, name] == 1 else piece
        for piece, name in zip(pieces, plain, strict=True)
    ]


def _find_packing(pieces: list[Piece]) -> bool:
    """Do the files' times only say when the download was packed?"""
    times = [piece.moment for piece in pieces if piece.moment and piece.source == "file"]
    return bool(times) and max(times) - min(times) < _PACKING


def _take_by_name(
    name: str, content: bytes, moment: datetime | None, names: dict[str, str | None]
) -> Piece | None:
    found = _MOODLE.fullmatch(name)
    if found:
        if found["kind"] != "file" or not found["file"]:
            return None  # text typed into a form, not a file
        ticket = f"{found['who']}_{found['id']}_assignsubmission_file"
        who = found["who"].rpartition("/")[2]
        return Piece(found["file"], content, name, (who,), moment, ticket=ticket.rpartition("/")[2])
    parts = PurePosixPath(name).parts
    if len(parts) > 1 and _normal(parts[0]) in names:  # a folder for each student
        return Piece("/".join(parts[1:]), content, name, (parts[0],), moment)
    base = parts[-1]
    found = _BLACKBOARD.fullmatch(base)
    if found:
        return _take_blackboard(name, content, found) if found["file"] else None  # only a note
    found = _CANVAS.fullmatch(base)
    if found:
        ticket = f"{found['who']}_{found['user']}_{found['sub']}"
        keys = (f"lms:{found['user']}", found["who"])  # all files have the moment of the download
        late = bool(found["late"])
        return Piece(found["file"], content, name, keys, moment, "packing", ticket, late)
    if len(parts) > 1:
        return Piece("/".join(parts[1:]), content, name, (parts[0],), moment)
    return Piece(base, content, name, (f"start:{base}",), moment)


def _take_blackboard(name: str, content: bytes, found: re.Match) -> Piece:
    """Take `<assignment>_<login>_attempt_<time>_<file>`; either of the first two may hold a _."""
    words = found["who"].split("_")
    keys = tuple("_".join(words[start:]) for start in range(len(words)))
    try:
        moment = datetime.strptime(found["when"], "%Y-%m-%d-%H-%M-%S").astimezone(UTC)
    except (ValueError, OverflowError):
        moment = None
    return Piece(found["file"], content, name, keys, moment, "system")


def _read_gradescope(content: bytes) -> dict[str, dict]:
    try:
        found = yaml.safe_load(content)
        return found if isinstance(found, dict) else {}
    except (yaml.YAMLError, RecursionError, ValueError) as problem:
        raise CourseError(f"{_METADATA} cannot be read: {str(problem).splitlines()[0]}.") from None


def _list_submitters(facts) -> list[tuple[str, ...]]:
    """Return what names each student of a submission; groups have several."""
    people = facts.get(":submitters") if isinstance(facts, dict) else None
    found = [
        tuple(str(person[key]) for key in (":sid", ":email", ":name") if person.get(key))
        for person in (people if isinstance(people, list) else [])
        if isinstance(person, dict)
    ]
    return found or [()]


def _take_gradescope(name: str, content: bytes, submissions: dict) -> list[Piece]:
    parts = PurePosixPath(name).parts
    key = next((part for part in parts if part in submissions), None)
    if key is None or parts[-1] == _METADATA:
        return []
    facts = submissions[key] if isinstance(submissions[key], dict) else {}
    moment = read_gradescope_time(facts.get(":created_at"))
    inner = "/".join(parts[parts.index(key) + 1 :])
    return [
        Piece(inner, content, name, keys, moment, "system", key) for keys in _list_submitters(facts)
    ]


def _date(piece: Piece) -> tuple[datetime | None, str]:
    """Return when a file was handed in, and who says so."""
    if piece.source == "system" and piece.moment:
        return piece.moment, "system"
    if piece.name.lower().endswith(".zip"):
        try:
            with zipfile.ZipFile(io.BytesIO(piece.content)) as archive:
                manifest = json.loads(archive.read(MANIFEST)[: 2**20])
            return datetime.fromisoformat(manifest["made"]).astimezone(UTC), "manifest"
        except (zipfile.BadZipFile, KeyError, ValueError, TypeError, OSError, RuntimeError,
                NotImplementedError, OverflowError, RecursionError):  # fmt: skip
            pass
    return piece.moment, "packing" if piece.source == "packing" else "file"


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


def _say_why_not(keys: tuple[str, ...], names: dict[str, str | None]) -> str:
    several = any(_normal(key) in names for key in keys)
    return "fits several on the roster" if several else "names nobody on the roster"


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
    is_dated = piece.moment is not None and piece.source != "packing"
    when = f"{piece.moment:%Y-%m-%d %H:%M:%S} UTC" if is_dated else ""
    if piece.late and not is_dated and student not in done.undated_late:
        done.undated_late.append(student)
    path = folder / inner
    earlier = [
        name for name in entries if (folder / name).is_file() and _same(folder / name, piece)
    ]
    if earlier or (path.is_file() and _same(path, piece)):
        done.known += 1
        entry = entries.setdefault(earlier[0] if earlier else inner, {})
        entry.update({"ticket": piece.ticket or entry.get("ticket", ""), "from": piece.label,
                      "late": piece.late})  # fmt: skip
        if when and (piece.source == "system" or not entry.get("time")):
            entry.update({"time": when, "says": piece.source})  # known better now than before
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
        entries[name] = {"time": when, "says": piece.source if when else "",
                         "from": piece.label, "ticket": piece.ticket, "late": piece.late}  # fmt: skip
        done.placed.append((student, name, f"{when}, said by the {piece.source}" if when else ""))


def _same(path: Path, piece: Piece) -> bool:
    return path.stat().st_size == len(piece.content) and path.read_bytes() == piece.content
