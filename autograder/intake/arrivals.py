"""Settles what lies in a student's folder under grading/submitted/, so that nbgrader sees it too.

nbgrader looks for `<notebook>.ipynb`. Where a student handed in a zip, a .py or a file of another
name, the version that counts is written there; where a file of that name is there but another
version counts, that one is kept in `.taken-in/`. The student's own files stay as they are. What was
made is noted in a small file beside it, so that it can be made again when something new arrives.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import nbformat

from autograder.blueprint import load_blueprints
from autograder.budgets import LARGEST_RECORD
from autograder.course import Assignment
from autograder.fence import describe_failure
from autograder.files import replace_file
from autograder.intake.gather import Gathered, Kit, find_kit, gather, is_work
from autograder.intake.read import Unreadable, read_notebook
from autograder.intake.restore import Restored, make_blank, restore
from autograder.opener import is_inside, is_plain, open_plain, read_plain, walk
from autograder.plain_text import clean_text

RECORD = ".taken-in.json"
STAMP = "timestamp.txt"  # when it was handed in, where nbgrader looks for that
INSTEAD = ".taken-in"  # versions that count instead of a student's file of the right name
# What we write, and what nbgrader takes for the moment of handing in: that is not the student's to say.
_NOT_FROM_A_ZIP = (RECORD, STAMP)


@dataclass
class Settled:
    """Where each notebook of a student's submission is, and what to say about it."""

    folder: Path
    files: dict[str, Path] = field(default_factory=dict)  # the version that counts, by notebook
    notes: dict[str, dict] = field(default_factory=dict)  # repairs, flags and trouble, by notebook
    problems: list[str] = field(default_factory=list)

    def restore(self, blueprint) -> Restored:
        """Return one notebook in the hand-out's shape; a blank one where there is none."""
        notes = self.notes.get(blueprint.name, {})
        path = self.files.get(blueprint.name)
        if path is None:
            missing = f"The submission has no notebook {blueprint.name}.ipynb."
            return make_blank(blueprint, notes.get("trouble") or missing)
        if not is_inside(path, self.folder):
            return make_blank(
                blueprint, f"{path.name} lies behind a link. Hand in the file itself."
            )
        try:
            restored = restore(read_notebook(path), blueprint)
        except Unreadable as problem:
            return make_blank(blueprint, str(problem))
        restored.repairs += notes.get("repairs", [])
        restored.flags = [*notes.get("flags", []), *restored.flags]
        return restored


def settle_all(assignment: Assignment, kit: Kit) -> list[str]:
    """Settle every student's folder; return sentences about what went wrong."""
    sentences = []
    for student, strays in find_students(assignment).items():
        folder = assignment.grading / "submitted" / student / assignment.name
        name = clean_text(student)
        try:
            found = settle(folder, kit, strays).problems
            sentences += [f"{name}: {sentence}" for sentence in found]
        except Exception as problem:  # one folder stops nobody, whatever is in it
            sentences.append(f"{name}: {describe_failure(problem, 'could not be read')}")
    return sentences


def find_students(assignment: Assignment) -> dict[str, list[Path]]:
    """Return who handed something in, and what of it lies beside the assignment's folder.

    That is a folder with a misspelt name, or files in the student's own folder. Whose they are is
    found out by the notebooks in them; where there is nothing else, a file of any kind counts as handed
    in, so that a person hears of it.
    """
    found: dict[str, list[Path]] = {}
    is_first = assignment.name == next(iter(assignment.course.assignments))
    kits: dict[str, Kit] = {}
    for home in sorted((assignment.grading / "submitted").glob("*")):
        if not home.is_dir() or home.is_symlink() or home.name.startswith("."):
            continue
        beside = [path for path in sorted(home.iterdir()) if _is_astray(path, assignment)]
        if beside and not kits:
            every = assignment.course.assignments
            kits = {name: load_blueprints(one) for name, one in every.items()}
        with tempfile.TemporaryDirectory(prefix="stray-") as scratch:
            mine = [p for p in beside if find_kit(p, kits, Path(scratch)) == assignment.name]
        folders = [home / name for name in assignment.course.assignments]
        if is_first and not beside and not any(map(_holds_files, folders)):
            mine = [p for p in sorted(home.iterdir()) if is_plain(p) and p.name[0] != "."]
        if mine or (home / assignment.name).is_dir():
            found[home.name] = mine
    return found


def _holds_files(folder: Path) -> bool:
    """Is there a file in a folder that we did not make?"""
    ours = {folder / name for name in (RECORD, *_read_record(folder)["made"])}
    return any(path not in ours for path in walk(folder))


def _is_astray(path: Path, assignment: Assignment) -> bool:
    """May something in a student's own folder be work that was put into the wrong place?"""
    if path.name in assignment.course.assignments or path.name.startswith("."):
        return False
    if path.is_symlink():
        return False
    return path.is_dir() or is_work(path)


def settle(
    folder: Path, kit: Kit, strays: list[Path] | None = None, scratch: Path | None = None
) -> Settled:
    """Choose the version of each notebook that counts, and put it where nbgrader looks.

    Without `strays` those of the last time count. With `scratch` nothing is written here: what is not
    settled yet is settled there, in a copy of the student's files.
    """
    if folder.is_symlink():
        raise Unreadable(
            f"{clean_text(folder.parent.name)}/{folder.name} is a link: what it leads to may be "
            "somebody else's. Put the student's own files there."
        )
    record = _read_record(folder)
    if strays is None:
        strays = find_strays(folder, record)
    if strays and scratch is None:
        folder.mkdir(exist_ok=True)
    made = {name: digest for name, digest in record["made"].items() if _is(folder, name, digest)}
    arrived = _take_stock(folder, made, strays)
    if record["from"] == arrived and record["for"] == sorted(kit) and made == record["made"]:
        return _describe(folder, record["notebooks"], record["problems"])
    if scratch is not None:
        copy = _copy_files(folder, strays, scratch / folder.parent.name)
        return settle(copy, kit, [copy.parent / stray.name for stray in strays])
    with tempfile.TemporaryDirectory(prefix="arrival-") as scratch:
        ignore = frozenset(folder / name for name in made)
        gathered = gather(folder, kit, Path(scratch), ignore, strays)
        files, notebooks = _plan(folder, gathered, kit, made)
        for name in made.keys() - files.keys():
            (folder / name).unlink()
        for name, content in files.items():
            if not is_inside(folder / name, folder):
                raise Unreadable(
                    f"{clean_text(name.split('/')[0])} is a link where a folder of ours belongs. "
                    "Hand in files, not links."
                )
            replace_file(folder / name, content)
        for name, facts in notebooks.items():
            if "file" in facts:  # as old as what it was made from: newer work counts before it
                moment = gathered.pieces[name].found.time
                os.utime(folder / facts["file"], (moment, moment))
    problems = gathered.problems
    record = {
        "from": arrived,
        "for": sorted(kit),
        "made": {name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
        "notebooks": notebooks,
        "problems": problems,
        "strays": [path.name for path in strays],
    }
    if files or notebooks != {name: {} for name in gathered.pieces} or problems:
        replace_file(folder / RECORD, json.dumps(record, indent=1).encode())
    else:
        (folder / RECORD).unlink(missing_ok=True)
    return _describe(folder, notebooks, problems)


def _copy_files(folder: Path, strays: list[Path], home: Path) -> Path:
    """Copy what a student handed in, links as links, into a home elsewhere; return the folder there."""
    places = [stray for stray in strays if not is_plain(stray)] + [folder]
    files = [path for place in places for path in walk(place)] + list(filter(is_plain, strays))
    folders = dict.fromkeys([*filter(Path.is_dir, places), *(path.parent for path in files)])
    links = [p for f in folders if f != folder.parent for p in f.iterdir() if p.is_symlink()]
    (home / folder.name).mkdir(parents=True)
    for path in [*files, *links]:
        copy = home / path.relative_to(folder.parent)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy, follow_symlinks=False)
    return home / folder.name


def find_strays(folder: Path, record: dict | None = None) -> list[Path]:
    """Return what lay beside a folder and belonged to it when it was settled last."""
    beside = [folder.parent / name for name in (record or _read_record(folder))["strays"]]
    return [path for path in beside if path.exists() and not path.is_symlink()]


def find_counting(folder: Path, kit: Kit) -> list[Path]:
    """Return which of a student's own files hold the versions that count."""
    made = frozenset(folder / name for name in _read_record(folder)["made"])
    with tempfile.TemporaryDirectory(prefix="arrival-") as scratch:
        gathered = gather(folder, kit, Path(scratch), made)
    return [piece.found.origin for piece in gathered.pieces.values()]


def _plan(
    folder: Path, gathered: Gathered, kit: Kit, made: dict[str, str]
) -> tuple[dict[str, bytes], dict[str, dict]]:
    """Return the files to write, and what is known about each notebook."""
    files: dict[str, bytes] = {}
    notebooks: dict[str, dict] = {}
    for name in kit:
        place = f"{name}.ipynb"
        taken = place not in made and (folder / place).exists()
        piece = gathered.pieces.get(name)
        if piece is None:
            trouble = gathered.troubles.get(name) or " ".join(gathered.problems)
            if trouble:  # so that the student is told, in place of marks
                notebooks[name] = {"trouble": trouble}
                if not taken:
                    files[place] = nbformat.writes(nbformat.v4.new_notebook()).encode()
            continue
        restored = gathered.restore(kit[name])
        notes = {"repairs": _own(restored.repairs, piece, kit), "flags": gathered.flags[name]}
        notebooks[name] = {key: value for key, value in notes.items() if value}
        if piece.notes:
            notebooks[name]["flags"] = [*piece.notes, *notebooks[name].get("flags", [])]
        if piece.found.path == folder / place:
            continue
        where = f"{INSTEAD}/{place}" if taken else place
        notebooks[name]["file"] = where
        files[where] = nbformat.writes(piece.notebook).encode()
        for extra in walk(piece.found.folder) if piece.found.folder != folder else ():
            inner = extra.relative_to(piece.found.folder)
            target = folder / inner
            ours = inner.as_posix() in made or not os.path.lexists(target)
            if extra.name in _NOT_FROM_A_ZIP or not is_inside(target, folder):
                continue
            if ours and extra.suffix not in (".ipynb", ".zip"):
                files[inner.as_posix()] = extra.read_bytes()
    return files, notebooks


def _own(repairs: list[str], piece, kit: Kit) -> list[str]:
    """Return the repairs that were noticed here, and not those that restoring finds again."""
    again = restore(piece.notebook, kit[piece.name]).repairs
    return [repair for repair in repairs if repair not in again]


def _describe(folder: Path, notebooks: dict[str, dict], problems: list[str]) -> Settled:
    files = {
        name: folder / facts.get("file", f"{name}.ipynb")
        for name, facts in notebooks.items()
        if "trouble" not in facts
    }
    return Settled(folder, files, notebooks, problems)


def _take_stock(folder: Path, made: dict[str, str], strays: list[Path]) -> dict[str, str]:
    """Return a digest of every file that the student put there, or beside it."""
    found = {}
    for stray in strays:
        for path in [stray] if is_plain(stray) else sorted(walk(stray)):
            name = f"../{path.relative_to(folder.parent).as_posix()}"
            found[name] = f"{_digest(path)} {path.stat().st_mtime_ns}"
    for path in sorted(walk(folder)):
        name = path.relative_to(folder).as_posix()
        if name not in made and name not in (RECORD, STAMP):
            found[name] = f"{_digest(path)} {path.stat().st_mtime_ns}"
    return found


def _read_record(folder: Path) -> dict:
    """Return what was noted here; anything else than what we write counts as nothing."""
    empty = {"from": {}, "for": [], "made": {}, "notebooks": {}, "problems": [], "strays": []}
    try:
        record = {"strays": [], **json.loads(read_plain(folder / RECORD, LARGEST_RECORD))}
        return record if _is_ours(record, empty) else empty
    except Exception:  # a student may have put anything there
        return empty


def _is_ours(record, empty: dict) -> bool:
    """Is this a record as `settle` writes it, part by part?"""
    if not isinstance(record, dict) or record.keys() != empty.keys():
        return False
    if not all(isinstance(record[key], type(value)) for key, value in empty.items()):
        return False
    texts = [*record["for"], *record["problems"], *record["made"].values()]
    texts += [*record["from"].values(), *record["strays"]]
    if not all(isinstance(text, str) for text in texts):
        return False
    if any("/" in name or name in ("..", ".") for name in record["strays"]):
        return False
    return all(
        isinstance(facts, dict)
        and facts.keys() <= {"trouble", "repairs", "flags", "file"}
        and facts.get("file", f"{name}.ipynb") in (f"{name}.ipynb", f"{INSTEAD}/{name}.ipynb")
        and isinstance(facts.get("trouble", ""), str)
        and all(
            isinstance(sentence, str)
            for sentence in (*facts.get("repairs", ()), *facts.get("flags", ()))
        )
        for name, facts in record["notebooks"].items()
    )


def _is(folder: Path, name: str, digest: str) -> bool:
    """Is a file that we made here still what we made?"""
    path = folder / name
    return is_inside(path, folder) and is_plain(path) and _digest(path) == digest


def _digest(path: Path) -> str:
    with open_plain(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
