"""Sorts what a learning platform lets instructors download into grading/submitted/, by the roster.

Moodle's, Canvas's and Blackboard's zips of all submissions, Gradescope's export, and folders or files
that are named by student. Nothing is overwritten: a file that comes again with other content is kept
beside the earlier one, with its time in its name. What is nobody's for sure is placed nowhere, and
listed with the students it may belong to. When work came in is what the platform's record says; the
moment of packing and a file's own time are noted as hints.
"""

from __future__ import annotations

import contextlib
import errno
import filecmp
import hashlib
import json
import os
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from autograder.blueprint import load_blueprints
from autograder.budgets import LARGEST_CONTENT, LARGEST_RECORD, MOST_FILES
from autograder.course import Assignment, CourseError
from autograder.fence import describe_failure
from autograder.files import explain_os_error
from autograder.intake.arrivals import STAMP, find_counting
from autograder.intake.collected import Log
from autograder.intake.download import Download
from autograder.intake.gather import MANIFEST
from autograder.intake.layouts import HandIn, HandInFile, split
from autograder.intake.matching import Assigned, Match, Matcher, refuse_namesakes, write_lines
from autograder.intake.moments import write_stamps
from autograder.intake.unzip import DAMAGED, read_member
from autograder.intake.worksheet import Worksheet, is_worksheet, read_worksheet
from autograder.intake.writeups import find_elsewhere
from autograder.opener import describe_size
from autograder.plain_text import clean_text, show_name
from autograder.roster import find_roster
from autograder.terminal import track

PROPOSALS = "proposals.csv"  # below grading/collected/: what fits one student loosely
KEPT = "assign.csv"  # there too: what an instructor said
_LONGEST = 180  # bytes of a file's name; some more are added to it on the way
_CHUNK = 2**20
_PACKING = timedelta(minutes=15)  # times of files that lie closer together are those of the packing


@dataclass(frozen=True)
class Placed:
    """One file that was put into a student's folder."""

    student: str
    name: str
    moment: datetime | None  # by the platform's record


@dataclass(frozen=True)
class Unmatched:
    """A part of a download that is nobody's for sure."""

    name: str
    files: int
    why: str
    candidates: tuple[str, ...]
    is_proposed: bool  # the one candidate fits loosely, and nothing speaks against it


@dataclass
class Collected:
    """What came of a download."""

    placed: list[Placed] = field(default_factory=list)
    known: dict[str, int] = field(default_factory=dict)  # files that were there already
    unmatched: list[Unmatched] = field(default_factory=list)
    left_out: list[str] = field(
        default_factory=list
    )  # sentences: what was handed in and is no work
    empty: set[str] = field(default_factory=set)  # whose part held no file
    late: set[str] = field(default_factory=set)  # whom the platform calls late, without a moment
    moodle_alone: bool = False  # Moodle's folders came without the worksheet that says when
    writeups: dict[str, list[str]] = field(default_factory=dict)  # what is elsewhere, by student
    results: int = 0  # students whose points on Gradescope are known
    problems: list[str] = field(default_factory=list)  # sentences


def collect(
    assignment: Assignment, downloads: Iterable[Path], given: Iterable[str] = ()
) -> Collected:
    """Sort downloads into the students' folders; return what was done and what could not be.

    `given` says whose a file or folder is: lines "file or folder=student", or tables of them. What is
    wrong with these lines is said before anything is placed.
    """
    roster = find_roster(assignment)
    if roster is None:
        raise CourseError(
            "There is no roster, so nobody can be told whose files these are: "
            "python -m autograder roster FILE (Canvas's, Moodle's or Blackboard's export will do)."
        )
    downloads = list(downloads)
    for path in downloads:
        if not path.exists():
            raise CourseError(f"{path} does not exist.")
    matcher = Matcher(roster)
    assigned = Assigned(assignment.grading / "collected" / KEPT, roster, given)
    done = Collected(problems=list(assigned.problems))
    with contextlib.ExitStack() as stack:
        sheet = _read_worksheets(downloads, done)
        opened: list[tuple[Download, list[HandIn]]] = []
        for path in downloads:
            if is_worksheet(path):
                continue
            try:
                download = stack.enter_context(Download(path))
                opened.append((download, split(download, matcher.is_known, sheet)))
                done.problems += download.problems
            except Exception as problem:  # one download must not end the others
                done.problems.append(describe_failure(problem, f"{path} could not be read"))
        every = [hand_in for _, hand_ins in opened for hand_in in hand_ins]
        assigned.require_used(every)
        _compare_with_sheet(sheet, every, done)
        log, results = Log(assignment), Log(assignment, "-gradescope")
        placer = _Placer(assignment, log, done)
        chosen = list(_choose(opened, matcher, assigned, log, done))
        try:
            for download, hand_in, match in track(chosen, "sorting files"):
                if hand_in.results is not None:
                    results.entries[match.student] = hand_in.results
                    done.results += 1
                placer.place(download, hand_in, match.student)
        finally:  # what was placed is known to have been, whatever happens
            log.write()
            if done.results:
                results.write()
    assigned.keep()
    _propose(assignment, done)
    for student in track(sorted(placer.touched), "looking when it came"):
        try:
            _note_counting(assignment, student, log.entries[student])
            if found := find_elsewhere(assignment, student):
                done.writeups[student] = [writeup.label for writeup in found]
        except Exception as problem:  # one student's files must not cost the others
            done.problems.append(
                describe_failure(problem, f"{student}: could not be looked through")
            )
    log.write()
    write_stamps(assignment, sorted(placer.touched))
    return done


# --------------------------------------------------------------------------------------- choosing


def _read_worksheets(downloads: list[Path], done: Collected) -> Worksheet:
    sheet: Worksheet = {}
    for path in filter(is_worksheet, downloads):
        rows = read_worksheet(path)
        both = [number for number in rows if number in sheet and sheet[number] != rows[number]]
        if both:
            done.problems.append(
                f"{path.name} says something else about {len(both)} participants than the worksheet "
                f"before it ({', '.join(both[:4])}); the first one counts."
            )
        sheet = rows | sheet
    return sheet


def _compare_with_sheet(sheet: Worksheet, hand_ins: list[HandIn], done: Collected) -> None:
    """Say where Moodle's worksheet does not fit its zip: then it does not say who and when."""
    folders = {}
    for hand_in in hand_ins:
        platform, _, number = hand_in.identity.partition(":")
        if platform == "moodle":
            folders[number] = dict(hand_in.people[0])["moodle name"]
    done.moodle_alone = bool(folders) and not sheet
    if not sheet:
        return
    if not folders:
        done.problems.append("Moodle's worksheet was given without Moodle's zip, and says nothing.")
    absent = [number for number in folders if number not in sheet]
    wrong = [n for n, who in folders.items() if n in sheet and not sheet[n].fits(who)]
    for numbers, why in (
        (absent, "does not have"),
        (wrong, "has under another name"),
    ):
        if numbers:
            names = ", ".join(show_name(f"{folders[n]}_{n}") for n in sorted(numbers)[:4])
            done.problems.append(
                f"The worksheet {why} {len(numbers)} of the {len(folders)} participants in the zip "
                f"({names}): is it that of the same assignment? For them it was not used."
            )


def _choose(
    opened: list[tuple[Download, list[HandIn]]],
    matcher: Matcher,
    assigned: Assigned,
    log: Log,
    done: Collected,
) -> Iterator[tuple[Download, HandIn, Match]]:
    """Yield whose each part is; note what is nobody's."""
    people = []
    for download, hand_ins in opened:
        for hand_in in hand_ins:
            said = assigned.find(hand_in)
            for keys in hand_in.people if said is None else [()]:
                match = matcher.match(keys) if said is None else Match(said)
                people.append((download, hand_in, hand_in.identify(keys), match))
    remembered = {
        student: {file["who"] for file in files.values() if file.get("who")}
        for student, files in log.entries.items()
    }
    matches = refuse_namesakes([(who, match) for _, _, who, match in people], remembered)
    for (download, hand_in, _, _), match in zip(people, matches, strict=True):
        if match.student:
            for what in hand_in.left_out:
                done.left_out.append(f"{match.student}: {what} is no file, and is not graded.")
            yield download, hand_in, match
        elif hand_in.files or hand_in.left_out:
            name = show_name(hand_in.name)
            done.unmatched.append(
                Unmatched(name, len(hand_in.files), match.why, match.candidates, match.is_proposed)
            )


def _propose(assignment: Assignment, done: Collected) -> None:
    """Write down what fits one student loosely, as a table to look through and to give back."""
    lines = {one.name: one.candidates[0] for one in done.unmatched if one.is_proposed}
    place = assignment.grading / "collected" / PROPOSALS
    if lines:
        write_lines(place, lines)
    else:
        place.unlink(missing_ok=True)


# ---------------------------------------------------------------------------------------- placing


class _Placer:
    """Puts files into students' folders, and notes in the log what the platform says about them."""

    def __init__(self, assignment: Assignment, log: Log, done: Collected):
        self.submitted = assignment.grading / "submitted"
        self.assignment, self.log, self.done = assignment, log, done
        self.touched: set[str] = set()
        self._spent: dict[str, list[int]] = defaultdict(lambda: [0, 0])  # bytes, files by student

    def place(self, download: Download, hand_in: HandIn, student: str) -> None:
        """Place all files of one part; what goes wrong with one costs no other."""
        if not hand_in.files:
            self.done.empty.add(student)
        packed = _find_packing(download, hand_in)
        for file in hand_in.files:
            label = f"{download.name}: {file.entry.label}"
            try:
                self._place(download, hand_in, file, student, packed)
            except OSError as problem:
                if problem.errno in (errno.ENOSPC, errno.EDQUOT):
                    raise
                self.done.problems.append(f"{label}: {explain_os_error(problem)}.")
            except Exception as problem:  # one file must not cost the others, whatever it holds
                why = describe_failure(problem, "could not be read")
                self.done.problems.append(f"{label}: {why}")

    def _place(
        self, download: Download, hand_in: HandIn, file: HandInFile, student: str, packed: bool
    ) -> None:
        label = f"{download.name}: {file.entry.label}"
        inner = _fit(file.name)
        if inner is None:
            self.done.left_out.append(f"{student}: {label} has a name that is ours, or hidden.")
            return
        spent = self._spent[student]
        if spent[0] + file.entry.size > LARGEST_CONTENT or spent[1] >= MOST_FILES:
            self.done.problems.append(
                f"{label} was not placed: {student} has more than {describe_size(LARGEST_CONTENT)} or "
                f"{MOST_FILES:,} files in this download."
            )
            return
        spent[0], spent[1] = spent[0] + file.entry.size, spent[1] + 1
        folder = self.submitted / student / self.assignment.name
        folder.mkdir(parents=True, exist_ok=True)
        with _take_out(download, file, self.submitted / ".collecting") as fresh:
            self._keep(fresh, folder, inner, hand_in, file, student, label, packed)
        self.touched.add(student)

    def _keep(
        self,
        fresh: Path,
        folder: Path,
        inner: str,
        hand_in: HandIn,
        file: HandInFile,
        student: str,
        label: str,
        packed: bool,
    ) -> None:
        """Put a file that was taken out where it belongs, unless it is there already."""
        entries = self.log.entries.setdefault(student, {})
        same = [name for name in (*entries, inner) if _is_same(folder / name, fresh)]
        path = folder / same[0] if same else _find_place(folder, inner, file)
        order = file.moment or (file.entry.time if hand_in.has_times else None) or file.entry.time
        if same:
            self.done.known[student] = self.done.known.get(student, 0) + 1
            order = max(order, datetime.fromtimestamp(path.stat().st_mtime, UTC)) if order else None
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            os.replace(fresh, path)
            self.done.placed.append(
                Placed(student, path.relative_to(folder).as_posix(), file.moment)
            )
        if order is not None:  # which version is the latest; it says nothing about lateness
            os.utime(path, (order.timestamp(),) * 2)
        entry = entries.setdefault(path.relative_to(folder).as_posix(), {})
        known = entry.get("time", "") if entry.get("says") == "system" else ""
        told = f"{file.moment:%Y-%m-%d %H:%M:%S} UTC" if file.moment else ""
        # The same work came in when it first did.
        time = min([moment for moment in (known, told) if moment], default="")
        hints = entry.get("hint", {}) | _find_hints(path, None if packed else file.entry.time)
        late = file.late and not time
        if late:
            self.done.late.add(student)
        entry.update(
            time=time, says="system" if time else "", late=late, hint=hints,
            ticket=hand_in.ticket or entry.get("ticket", ""), who=hand_in.identity,
            **{"from": label},
        )  # fmt: skip


@contextlib.contextmanager
def _take_out(download: Download, file: HandInFile, fresh: Path) -> Iterator[Path]:
    """Stream a file out of its download, to a place on the disk where it belongs."""
    try:
        with download.open(file.entry) as source, open(fresh, "wb") as target:
            left = file.entry.size
            while chunk := source.read(min(_CHUNK, left + 1)):
                left -= len(chunk)
                if left < 0:
                    raise CourseError("holds more than it says.")
                target.write(chunk)
            target.flush()
            os.fsync(target.fileno())
        yield fresh
    except (*DAMAGED, NotImplementedError, RuntimeError) as problem:
        raise CourseError(f"is damaged and was left out ({show_name(str(problem))}).") from None
    finally:
        fresh.unlink(missing_ok=True)


def _fit(name: str) -> str | None:
    """Return a name that every disk takes, or None for one that is ours or hidden.

    >>> _fit("../week 3/./a\\x07.ipynb"), _fit(".taken-in.json")
    ('week 3/a.ipynb', None)
    """
    parts = []
    for part in name.replace("\\", "/").split("/"):
        part = clean_text(unicodedata.normalize("NFC", part)).replace("\n", " ").replace("\t", " ")
        if os.name == "nt":
            part = "".join("_" if sign in '<>:"|?*' else sign for sign in part).rstrip(". ")
        part = part.strip()
        if part in ("", ".", ".."):
            continue
        if part.startswith(".") or part == STAMP:
            return None
        parts.append(_shorten(part))
    return "/".join(parts) or None


def _shorten(name: str) -> str:
    """Cut a name that is too long for a disk; what is cut off is told apart by a digest."""
    if len(name.encode()) <= _LONGEST:
        return name
    stem, dot, suffix = name.rpartition(".")
    if not stem or len(suffix.encode()) > 12:
        stem, dot, suffix = name, "", ""
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    room = _LONGEST - len(f"~{digest}{dot}{suffix}".encode())
    return f"{stem.encode()[:room].decode('utf-8', 'ignore')}~{digest}{dot}{suffix}"


def _find_place(folder: Path, inner: str, file: HandInFile) -> Path:
    """Return a path that is free: names that are taken get the file's time, or a number."""
    moment = file.moment or file.entry.time
    stamp = f"{moment:%Y-%m-%d %H.%M.%S}" if moment else "again"
    parts = inner.split("/")
    place = folder
    for part in parts[:-1]:  # what is a folder here may be a file of that name there
        place = place / part
        number = 1
        while os.path.lexists(place) and (place.is_symlink() or not place.is_dir()):
            place = place.with_name(f"{part} ({stamp})" if number == 1 else f"{part} ({number})")
            number += 1
    path, number = place / parts[-1], 1
    stem, suffix = path.stem, path.suffix
    while os.path.lexists(path):
        more = f"{stamp}, {number}" if number > 1 else stamp
        path = path.with_name(f"{stem} ({more}){suffix}")
        number += 1
    return path


def _is_same(path: Path, fresh: Path) -> bool:
    return path.is_file() and not path.is_symlink() and filecmp.cmp(path, fresh, shallow=False)


def _find_packing(download: Download, hand_in: HandIn) -> bool:
    """Do the times beside the files only say when the download was packed?"""
    times = [entry.time for entry in download.entries if entry.time]
    return not hand_in.has_times or (len(times) > 1 and max(times) - min(times) < _PACKING)


def _find_hints(path: Path, moment: datetime | None) -> dict[str, str]:
    """Return moments that prove nothing: that of a zip's manifest, and that beside the file."""
    hints = {"file": f"{moment:%Y-%m-%d %H:%M:%S} UTC"} if moment else {}
    if path.suffix.lower() == ".zip":
        with contextlib.suppress(Exception):  # whatever it says, it is no moment
            made = json.loads(read_member(path, MANIFEST, LARGEST_RECORD) or b"{}")["made"]
            hints["manifest"] = (
                f"{datetime.fromisoformat(made).astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
            )
    return hints


def _note_counting(assignment: Assignment, student: str, entries: dict[str, dict]) -> None:
    """Note which files hold the versions that are graded: their moment is that of the hand-in.

    Whoever hands in a blank notebook, or asks to look again, after the deadline is not late by that.
    """
    folder = assignment.grading / "submitted" / student / assignment.name
    found = find_counting(folder, load_blueprints(assignment))
    counting = {path.relative_to(folder).as_posix() for path in found}
    for name, entry in entries.items():
        entry["counts"] = name in counting
