"""Says whose a part of a download is: by exact keys of the roster, or nobody's, with the candidates.

An id or an address outranks a name; a name decides only where it is exactly one person's and nothing else
speaks against it. What fits loosely (other capitals, accents, a beginning) is proposed, never decided.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from autograder.course import CourseError
from autograder.files import replace_file
from autograder.intake.layouts import HandIn, Key
from autograder.intake.worksheet import clean_as_moodle
from autograder.plain_text import show_name
from autograder.roster import Entry, open_table

# The roster's columns that each kind of key may be, the surest first: the first that fits decides.
_IDS = ("student", "sis_id", "lms_id", "login")
_COLUMNS = {
    "canvas id": (("lms_id",),),
    "login": (("login",), ("student",)),
    "id": (_IDS,),
    "email": (("email",),),
    "folder": (("student",), (*_IDS, "email")),
    "file": (("student",), (*_IDS, "email")),
}
# Columns that, where they are filled and say otherwise, speak against a name.
_AGAINST = {
    "canvas id": ("lms_id",),
    "login": ("login",),
    "id": ("sis_id", "lms_id"),
    "email": ("email",),
}
_NAMES = {"name": "name", "folder": "name", "file": "name", "moodle name": "moodle name"}
_MOST_CANDIDATES = 4


@dataclass(frozen=True)
class Match:
    """Whose a part is, or why it is nobody's and whose it might be."""

    student: str | None
    by_name: bool = False
    why: str = ""
    candidates: tuple[str, ...] = ()
    is_proposed: bool = False  # one candidate fits loosely, and nothing speaks against it


class Matcher:
    """The roster, indexed by everything that names somebody exactly, and by what does so loosely."""

    def __init__(self, roster: dict[str, Entry]):
        self.roster = roster
        self._exact: dict[tuple[str, str], set[str]] = defaultdict(set)  # column, text -> students
        self._loose: dict[str, set[str]] = defaultdict(set)
        for student, entry in roster.items():
            for column in (*_IDS, "email"):
                if text := getattr(entry, column):
                    self._exact[column, _write_one_way(column, text)].add(student)
                    self._loose[normalise(text)].add(student)
            self._loose[normalise(entry.email.partition("@")[0])].add(student)
            for name in _list_names(entry):
                self._exact["name", _write_one_way("name", name)].add(student)
                self._exact["moodle name", clean_as_moodle(name)].add(student)
                self._loose[normalise(name)].add(student)
        self._loose.pop("", None)

    def is_known(self, key: Key) -> bool:
        """Is a key exactly somebody's?"""
        return bool(self._find_by_id([key]) or self._find_by_name([key]))

    def match(self, keys: Iterable[Key]) -> Match:
        """Say who is meant by the keys of one person."""
        keys = list(keys)
        found = self._find_by_id(keys)
        by_name = False
        if not found:
            named = self._find_by_name(keys)
            found = {one for one in named if not self._speaks_against(one, keys)}
            by_name = True
            if named and not found:
                return self._refuse("bears a name of the roster, but another id or address", named)
        if len(found) == 1:
            return Match(found.pop(), by_name)
        if found:
            return self._refuse("fits several on the roster", found)
        loose = set().union(*(self._find_loosely(key) for key in keys)) if keys else set()
        fitting = {one for one in loose if not self._speaks_against(one, keys)}
        if loose and not fitting:
            return self._refuse(
                "looks like a name of the roster, with another id or address", loose
            )
        return self._refuse("names nobody on the roster exactly", fitting, len(fitting) == 1)

    def _refuse(self, why: str, candidates: set[str], is_proposed: bool = False) -> Match:
        return Match(None, False, why, tuple(sorted(candidates)[:_MOST_CANDIDATES]), is_proposed)

    def _find_by_id(self, keys: list[Key]) -> set[str]:
        found: set[str] = set()
        for kind, text in keys:
            for columns in _COLUMNS.get(kind, ()):
                hits = self._look_up(columns, kind, text)
                if hits:
                    found |= hits
                    break
        return found

    def _find_by_name(self, keys: list[Key]) -> set[str]:
        found: set[str] = set()
        for kind, text in keys:
            if kind in _NAMES:
                found |= self._look_up((_NAMES[kind],), kind, text)
        return found

    def _look_up(self, columns: tuple[str, ...], kind: str, text: str) -> set[str]:
        texts = [text]
        if kind == "file":  # the file is called by somebody's key, or its name begins with one
            stem = text.rpartition(".")[0] or text
            texts = [stem, *(stem[: cut.start()] for cut in re.finditer(r"[_\- ]", stem))]
        found: set[str] = set()
        for number, one in enumerate(texts):
            for column in columns:
                found |= self._exact.get((column, _write_one_way(column, one)), set())
            if number == 0 and found:
                break  # the whole name outranks its beginnings
        return found

    def _speaks_against(self, student: str, keys: list[Key]) -> bool:
        entry = self.roster[student]
        return any(getattr(entry, column) for kind, _ in keys for column in _AGAINST.get(kind, ()))

    def _find_loosely(self, key: Key) -> set[str]:
        kind, text = key
        plain = normalise(text.rpartition(".")[0] or text if kind == "file" else text)
        found = set(self._loose.get(plain, ()))
        if not found and kind == "file":
            fitting = [one for one in self._loose if len(one) > 2 and plain.startswith(one)]
            for one in fitting:
                found |= self._loose[one]
        return found


def refuse_namesakes(
    matched: list[tuple[str, Match]], remembered: dict[str, set[str]]
) -> list[Match]:
    """Return the matches, without those by name that several people claim.

    Each match comes with the platform's own number for whoever it is (nothing where it has none);
    `remembered` holds those under which a student's work came before.
    """
    claims: dict[str, set[str]] = defaultdict(set)
    for identity, match in matched:
        if match.student and identity:
            claims[match.student].add(identity)
    checked = []
    for identity, match in matched:
        if match.student and match.by_name and identity:
            platform = identity.partition(":")[0]
            before = {
                one for one in remembered.get(match.student, ()) if one.startswith(f"{platform}:")
            }
            why = ""
            if len(claims[match.student]) > 1:
                why = "bears a name under which somebody else handed in, too"
            elif before and identity not in before:
                why = "bears a name that came with another number before"
            match = Match(None, False, why, (match.student,)) if why else match
        checked.append(match)
    return checked


def normalise(text: str) -> str:
    """Return a text without case, accents, punctuation and signs that cannot be seen."""
    plain = unicodedata.normalize("NFKD", text).casefold()
    return "".join(sign for sign in plain if sign.isalnum())


def _write_one_way(column: str, text: str) -> str:
    """Return a text in Unicode's one form; addresses do not tell capitals apart."""
    text = unicodedata.normalize("NFC", text)
    if column == "name":
        return re.sub(" +", " ", text).strip(" ")
    if column == "moodle name":
        return clean_as_moodle(text)
    return text.casefold() if column == "email" else text


def _list_names(entry: Entry) -> set[str]:
    first, last = entry.first_name, entry.last_name
    names = {entry.name, f"{first} {last}", f"{last} {first}", f"{last}, {first}"}
    return {name.strip(", ") for name in names} - {""}


# --------------------------------------------------------------------- what an instructor says


class Assigned:
    """Lines that an instructor gave: whose a file or folder is. They are kept for the next download."""

    def __init__(self, place: Path, roster: dict[str, Entry], given: Iterable[str]):
        self.place = place
        self.problems: list[str] = []
        kept = _read_lines(place) if place.is_file() else {}
        self.fresh = _read_given(given)
        wrong = [
            f"{show_name(student)!r} is not on the roster ({show_name(work)})"
            for work, student in self.fresh.items()
            if student not in roster
        ]
        if wrong:
            raise CourseError(f"Nothing was collected: {'; '.join(wrong)}.")
        self.problems += [
            f"{place} gives {show_name(work)} to {show_name(student)}, who is not on the roster."
            for work, student in kept.items()
            if student not in roster and work not in self.fresh
        ]
        known = {work: student for work, student in kept.items() if student in roster}
        self._students = known | self.fresh
        self._all = kept | self.fresh

    def find(self, hand_in: HandIn) -> str | None:
        """Return whose a part is by these lines; its own name, or that of a folder or file in it."""
        said = {self._students[name] for name in _list_calls(hand_in) if name in self._students}
        if len(said) > 1:
            raise CourseError(
                f"Nothing was collected: {hand_in.name} is given to {', '.join(sorted(said))}."
            )
        return said.pop() if said else None

    def require_used(self, hand_ins: Iterable[HandIn]) -> None:
        """Refuse lines about what is not in the download."""
        there = set().union(*map(_list_calls, hand_ins))
        absent = [show_name(work) for work in self.fresh if work not in there]
        if absent:
            raise CourseError(f"Nothing was collected: the download holds no {', '.join(absent)}.")

    def keep(self) -> None:
        """Write the lines down, if there are new ones."""
        if self.fresh:
            write_lines(self.place, self._all)


def _list_calls(hand_in: HandIn) -> set[str]:
    """Return what a line may call a part of a download."""
    names = {name for file in hand_in.files for name in (file.entry.parts[0], file.entry.label)}
    return names | {hand_in.name, *(show_name(name) for name in names)}


def _read_given(given: Iterable[str]) -> dict[str, str]:
    """Read lines `file or folder=student`, or tables of them."""
    found: dict[str, str] = {}
    for one in given:
        if one.lower().endswith(".csv") and Path(one).is_file():
            lines = _read_lines(Path(one))
        else:
            work, sign, student = one.rpartition("=")
            if not sign or not work.strip() or not student.strip():
                raise CourseError(
                    f'--assign {one!r} is neither "file or folder=student" nor a CSV of such lines.'
                )
            lines = {work.strip(): student.strip()}
        for work, student in lines.items():
            if found.setdefault(work, student) != student:
                raise CourseError(
                    f"Nothing was collected: {show_name(work)} is given to {found[work]} and to {student}."
                )
    return found


def _read_lines(path: Path) -> dict[str, str]:
    rows = open_table(path)
    if not {"work", "student"} <= set(rows.fieldnames or []):
        raise CourseError(f"{path}: the first line must name the columns work and student.")
    found: dict[str, str] = {}
    for row in rows:
        work, student = (str(row.get(name) or "").strip() for name in ("work", "student"))
        if not work and not student:
            continue
        if not work or not student:
            raise CourseError(f"{path}, line {rows.line_num}: work or student is empty.")
        if found.setdefault(work, student) != student:
            raise CourseError(
                f"{path}, line {rows.line_num}: {show_name(work)} is given to {found[work]} and to "
                f"{student}."
            )
    return found


def drop_lines(path: Path, student: str, really: bool) -> int:
    """Take a student's lines out of a table of such lines; return how many there are."""
    lines = _read_lines(path) if path.is_file() else {}
    others = {work: who for work, who in lines.items() if who != student}
    if really and len(others) < len(lines):
        write_lines(path, others)
    return len(lines) - len(others)


def write_lines(path: Path, lines: dict[str, str]) -> None:
    """Write a table of such lines."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("work", "student"))
    writer.writerows(lines.items())
    replace_file(path, text.getvalue().encode())
