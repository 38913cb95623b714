"""Says what kind of download it is, by its outermost names alone, and whose part each file is.

What a platform writes stands first in every name; what a student chose comes after it, and decides
nothing: neither what kind of download it is, nor whose work, nor when it came.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

import yaml

from autograder.budgets import LARGEST_DOWNLOAD_FILE
from autograder.course import CourseError
from autograder.intake.download import Download, Entry
from autograder.intake.gradescope_export import read_gradescope_results, read_gradescope_time
from autograder.intake.worksheet import Worksheet
from autograder.plain_text import show_name

_MOODLE = re.compile(
    r"(?P<who>.+?)_(?P<id>\d+)_assignsubmission_(?P<kind>[a-z]+)(?:_(?P<file>.*))?", re.S
)
_CANVAS = re.compile(
    r"(?P<who>[^_\s]+)_(?P<late>LATE_)?(?P<user>\d+)_(?P<sub>\d+)_(?P<file>.+)", re.S
)
_BLACKBOARD = re.compile(
    r"(?P<who>.+?)_attempt_(?P<when>\d{4}(?:-\d\d){5})(?:_(?P<file>.+)|\.txt)", re.S
)
_METADATA = "submission_metadata.yml"  # in what Gradescope exports
_GRADESCOPE = re.compile(r"submission_\d+")
# Folders that platforms put around everything. Others are taken off when the zip is called like them.
_WRAPPER = re.compile(r"gradebook_.+|assignment_\d+_export|submissions|export|download", re.I)
_COUNTED = re.compile(r"-\d+(?=\.[^.]+$)")  # what Canvas adds to what is handed in again

Key = tuple[str, str]  # what it is (login, email, name ...), and what it says


@dataclass(frozen=True)
class HandInFile:
    """One file of a student's part, and what the platform says about it."""

    entry: Entry
    name: str  # the student's own name for it, folders included
    moment: datetime | None = None  # the platform's record
    late: bool = False  # says the platform, without saying since when


@dataclass
class HandIn:
    """One person's part of a download. A group's has the keys of each of its people."""

    name: str  # how it is listed, and what --assign names
    people: list[tuple[Key, ...]]
    files: list[HandInFile] = field(default_factory=list)
    ticket: str = ""  # what the platform wants to see on feedback
    identity: str = ""  # the platform, and its own number for whoever this is
    results: dict | None = None  # what Gradescope's own run gave
    left_out: list[str] = field(default_factory=list)  # what was handed in and is no file
    has_times: bool = True  # the times beside its files are not just those of the packing

    def identify(self, keys: tuple[Key, ...]) -> str:
        """Return the platform's own number for one person of this part; nothing where it has none."""
        if self.identity != "gradescope:":
            return self.identity
        return self.identity + ("|".join(t for kind, t in keys if kind != "name") or self.name)


def split(download: Download, is_known: Callable[[Key], bool], sheet: Worksheet) -> list[HandIn]:
    """Return a download's parts, person by person.

    `is_known` says whether a key is exactly somebody's on the roster.
    """
    _unwrap(download, is_known)
    tops = Counter(entry.parts[0] for entry in download.entries)
    others = tops.keys() - {_METADATA}
    if _METADATA in tops and (not others or any(map(_GRADESCOPE.fullmatch, others))):
        return _split_gradescope(download)
    readers = {_MOODLE: _read_moodle, _CANVAS: _read_canvas, _BLACKBOARD: _read_blackboard}
    fits = {
        pattern: {top: found for top in tops if (found := pattern.fullmatch(top))}
        for pattern in readers
    }
    # A student can make a name fit another platform's pattern too, but only behind the platform's own.
    best = max(fits, key=lambda one: (len(fits[one]), -_measure(fits[one].values())))
    if 2 * len(fits[best]) <= len(tops):
        return _split_by_name(download.entries)
    known, other = [], []
    for entry in download.entries:
        (known if entry.parts[0] in fits[best] else other).append(entry)
    context = _find_title(fits[best].values(), is_known) if best is _BLACKBOARD else sheet
    found: dict[str, HandIn] = {}
    for entry in known:
        readers[best](found, entry, fits[best][entry.parts[0]], context)
    if best is _CANVAS:
        for hand_in in found.values():
            _take_off_counts(hand_in)
    return [*found.values(), *_split_by_name(other)]


def _measure(found: Iterable[re.Match]) -> int:
    """Return how long the parts are that platforms wrote, under which students' names follow."""
    return sum(match.start("file") if match["file"] else match.end() for match in found)


def _unwrap(download: Download, is_known: Callable[[Key], bool]) -> None:
    """Take off the one folder that a computer puts around what it packs or unpacks.

    A student's own folder never is one, though it be the only one.
    """
    tops = {entry.parts[0] for entry in download.entries}
    top = next(iter(tops), "")
    if len(tops) != 1 or is_known(("folder", top)):
        return
    if not any(len(entry.parts) > 1 for entry in download.entries):
        return
    stem = re.sub(r" ?\(\d+\)$", "", download.stem)
    if _WRAPPER.fullmatch(top) or top in (download.stem, stem):
        download.take_off_folder()


# ------------------------------------------------------------------------------------- platforms


def _read_moodle(found: dict, entry: Entry, match: re.Match, sheet: Worksheet) -> None:
    who, number = match["who"], match["id"]
    row = sheet.get(number)
    keys = [("moodle name", who)]
    if row and row.fits(who):
        keys = [*row.keys, *keys]
    name = f"{who}_{number}"
    hand_in = found.setdefault(
        name, HandIn(show_name(name), [tuple(keys)], identity=f"moodle:{number}",
                     ticket=f"{name}_assignsubmission_file"))  # fmt: skip
    inner = [match["file"] or "", *entry.parts[1:]]
    inner = "/".join(part for part in inner if part)
    if match["kind"] != "file":
        if entry.source is not None:
            hand_in.left_out.append(f"what was typed into Moodle's form ({show_name(inner)})")
    elif entry.source is not None and inner:
        moment = row.moment if row and row.fits(who) else None
        hand_in.files.append(HandInFile(entry, inner, moment))


def _read_canvas(found: dict, entry: Entry, match: re.Match, _) -> None:
    name = f"{match['who']}_{match['user']}"
    keys = (("canvas id", match["user"]), ("canvas name", match["who"]))
    hand_in = found.setdefault(
        name, HandIn(show_name(name), [keys], identity=f"canvas:{match['user']}", has_times=False,
                     ticket=f"{name}_{match['sub']}"))  # fmt: skip
    if entry.source is not None:
        inner = "/".join((match["file"], *entry.parts[1:]))
        hand_in.files.append(HandInFile(entry, inner, late=bool(match["late"])))


def _take_off_counts(hand_in: HandIn) -> None:
    """Take off the number that Canvas adds to the name of what is handed in again.

    Where it tells two files of a student's apart, it stays: -10 is later than -9.
    """
    plain = Counter(_COUNTED.sub("", file.name) for file in hand_in.files)
    hand_in.files = [
        HandInFile(file.entry, short, file.moment, file.late)
        if plain[short := _COUNTED.sub("", file.name)] == 1
        else file
        for file in hand_in.files
    ]


def _read_blackboard(found: dict, entry: Entry, match: re.Match, title: str | None) -> None:
    who = match["who"]
    logins = [("login", who[len(title) + 1 :])] if title and who.startswith(f"{title}_") else []
    if title is None:  # several are possible: each may say whose it is, if only one does
        logins = [("login", login) for _, login in _cut(who)]
    hand_in = found.setdefault(
        who, HandIn(show_name(who), [tuple(logins)], identity=f"blackboard:{who}")
    )
    if entry.source is not None and match["file"]:  # else it is Blackboard's own note
        try:
            moment = datetime.strptime(match["when"], "%Y-%m-%d-%H-%M-%S").astimezone(UTC)
        except (ValueError, OverflowError, OSError):
            moment = None
        inner = "/".join((match["file"], *entry.parts[1:]))
        hand_in.files.append(HandInFile(entry, inner, moment))


def _cut(who: str) -> list[tuple[str, str]]:
    """Return every way to read `<assignment>_<login>`: either may hold a _."""
    words = who.split("_")
    return [("_".join(words[:at]), "_".join(words[at:])) for at in range(1, len(words))]


def _find_title(found: Iterable[re.Match], is_known: Callable[[Key], bool]) -> str | None:
    """Return the assignment's title: what, taken off, leaves logins of the roster most often."""
    votes: Counter[str] = Counter()
    for who in {match["who"] for match in found}:
        votes.update(title for title, login in _cut(who) if is_known(("login", login)))
    ranked = votes.most_common(2)
    if not ranked or (len(ranked) == 2 and ranked[0][1] == ranked[1][1]):
        return None
    return ranked[0][0]


def _split_gradescope(download: Download) -> list[HandIn]:
    metadata = next(e for e in download.entries if e.parts == (_METADATA,) and e.source is not None)
    with download.open(metadata) as file:
        submissions = _read_metadata(file.read(LARGEST_DOWNLOAD_FILE))
    found: dict[str, HandIn] = {}
    others = []
    for entry in download.entries:
        top = entry.parts[0]
        if top not in submissions or len(entry.parts) == 1:
            if entry is not metadata and entry.source is not None:
                others.append(entry)
            continue
        facts = submissions[top] if isinstance(submissions[top], dict) else {}
        people = _list_submitters(facts)
        if top not in found:
            who = ", ".join(show_name(dict(keys).get("name", "?")) for keys in people)
            found[top] = HandIn(f"{top} ({who})", people, ticket=top, identity="gradescope:")
            found[top].results = read_gradescope_results(top, facts)
        if entry.source is not None:
            moment = read_gradescope_time(facts.get(":created_at"))
            found[top].files.append(HandInFile(entry, "/".join(entry.parts[1:]), moment))
    return [*found.values(), *_split_by_name(others)]


def _read_metadata(content: bytes) -> dict:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        found = yaml.load(content, Loader=loader)
    except (yaml.YAMLError, RecursionError, ValueError, OverflowError) as problem:
        why = show_name(str(problem).partition("\n")[0])
        raise CourseError(f"{_METADATA} cannot be read: {why}.") from None
    return {str(key): facts for key, facts in found.items()} if isinstance(found, dict) else {}


def _list_submitters(facts: dict) -> list[tuple[Key, ...]]:
    """Return what names each student of a submission; groups have several."""
    people = facts.get(":submitters")
    kinds = {":sid": "id", ":email": "email", ":name": "name"}
    found = [
        tuple((kind, str(person[key])) for key, kind in kinds.items() if person.get(key))
        for person in (people if isinstance(people, list) else [])
        if isinstance(person, dict)
    ]
    return found or [()]


# -------------------------------------------------------------------------- folders and files by name


def _split_by_name(entries: list[Entry]) -> list[HandIn]:
    """Return a part for each folder or file that lies outermost: its name says whose it is."""
    found: dict[str, HandIn] = {}
    for entry in entries:
        top, *inner = entry.parts
        is_folder = bool(inner) or entry.source is None
        keys = (("folder" if is_folder else "file", top),)
        hand_in = found.setdefault(top, HandIn(show_name(top), [keys]))
        if entry.source is not None:
            hand_in.files.append(HandInFile(entry, "/".join(inner) or top))
    return list(found.values())
