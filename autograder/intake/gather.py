"""One intake for every door: whatever lies in a place, and which version of each notebook counts.

A place is a notebook, a zip of them, a folder, or the .py file that Colab makes of a notebook. A
folder may hold all of these, copies and nested folders too. All versions of a notebook are found,
by their cells first and then by their names; the latest one that was worked on counts, and the
others are named in a flag.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from nbformat import NotebookNode

from autograder.blueprint import Blueprint
from autograder.budgets import LARGEST_EXPORT, LARGEST_RECORD
from autograder.intake import colab_export
from autograder.intake.read import Unreadable
from autograder.intake.recognise import NotAsked, read_work, weigh
from autograder.intake.restore import Restored, count_worked_on, make_blank, restore
from autograder.intake.unzip import unpack
from autograder.opener import Refused, read_plain, walk
from autograder.plain_text import clean_text

Kit = dict[str, Blueprint]  # what an assignment hands out, by notebook
MANIFEST = "manifest.json"  # in the zips that students make: when each was made
_JUNK = ("__MACOSX", "__pycache__")
_NOTEBOOK = re.compile(r"\.ipynb(\.txt|\.json)?$", re.IGNORECASE)  # as browsers and mail name them
_DISTINCT = 1.0  # seconds; files that were copied together are of one time


@dataclass(frozen=True)
class Found:
    """One file that may be a notebook of the assignment."""

    path: Path
    label: str  # how a person finds it
    origin: Path  # the file that the student handed in: itself, or the zip that it was in
    folder: Path  # whose other files belong to it
    time: float  # a hint of the order in which versions were made


@dataclass
class Piece:
    """One version of one notebook."""

    found: Found
    name: str
    notebook: NotebookNode
    notes: list[str] = field(default_factory=list)


@dataclass
class Gathered:
    """What one place holds: the version of each notebook that counts, and what went wrong."""

    pieces: dict[str, Piece] = field(default_factory=dict)
    flags: dict[str, list[str]] = field(default_factory=dict)
    troubles: dict[str, str] = field(default_factory=dict)  # by notebook: why it cannot be read
    problems: list[str] = field(default_factory=list)  # files that are nobody's notebook

    def restore(self, blueprint: Blueprint) -> Restored:
        """Return one notebook in the hand-out's shape; a blank one where there is none."""
        piece = self.pieces.get(blueprint.name)
        if piece is None:
            trouble = self.troubles.get(blueprint.name)
            missing = f"The submission has no notebook {blueprint.name}.ipynb."
            return make_blank(blueprint, trouble or missing)
        restored = restore(piece.notebook, blueprint)
        if piece.found.path.name != f"{blueprint.name}.ipynb" and not piece.notes:
            restored.repairs.append(
                f"the notebook was handed in under the name {clean_text(piece.found.path.name)}"
            )
        restored.flags = [*piece.notes, *self.flags.get(blueprint.name, []), *restored.flags]
        return restored


def gather(
    place: Path,
    kit: Kit,
    scratch: Path,
    ignore: frozenset[Path] = frozenset(),
    strays: Collection[Path] = (),
) -> Gathered:
    """Find everything in a place; zips are unpacked into `scratch`.

    `ignore` holds files that are not the student's own, `strays` what lies beside the place and
    belongs to it: a folder with a misspelt name, say.
    """
    gathered = Gathered()
    versions: dict[str, list[Piece]] = {}
    files = list(_find_files(place, scratch, gathered.problems, kit.keys(), ignore))
    for stray in strays:
        for found in _find_files(stray, scratch, gathered.problems, kit.keys(), ignore):
            inside = f"{stray.name}/{found.label}" if stray.is_dir() else found.label
            folder = place if found.folder == stray.parent else found.folder
            files.append(replace(found, label=f"../{inside}", folder=folder))
    unreadable: list[tuple[Found, str]] = []
    not_asked: list[str] = []
    for found in files:
        try:
            name, notebook, notes = read_work(found.path, kit)
        except NotAsked as problem:
            not_asked.append(str(problem))
            continue
        except Unreadable as problem:
            unreadable.append((found, str(problem)))
            continue
        except Exception as problem:  # one file must not cost the others, whatever it holds
            name = clean_text(found.path.name)
            sentence = f"{name} cannot be read ({type(problem).__name__})."
            unreadable.append((found, sentence))
            continue
        versions.setdefault(name, []).append(Piece(found, name, notebook, notes))
    for name, pieces in versions.items():
        gathered.pieces[name], gathered.flags[name] = choose(pieces, kit[name])
    for name in kit:
        if (place / f"{name}.ipynb").is_dir() and name not in gathered.pieces:
            gathered.troubles[name] = f"{name}.ipynb is a folder, not a notebook file."
    for found, sentence in unreadable:
        name = found.path.name.split(".")[0]
        if name in kit and name not in gathered.pieces:
            gathered.troubles[name] = sentence
        elif name not in kit or found.path.suffix != ".py":
            gathered.problems.append(sentence)
    if not gathered.pieces:
        gathered.problems += not_asked  # beside work that counts, nobody has to hear of it
    return gathered


def choose(pieces: list[Piece], blueprint: Blueprint) -> tuple[Piece, list[str]]:
    """Return the version that counts and what to say about the others.

    The latest counts, of those of one time the one with most work in it; one that nobody has worked
    on never counts before one that somebody has.
    """
    if len(pieces) == 1:
        return pieces[0], []
    work = {id(piece): count_worked_on(piece.notebook, blueprint) for piece in pieces}

    def rank(piece: Piece) -> tuple:
        moment = round(piece.found.time / _DISTINCT)
        return (work[id(piece)] > 0, moment, work[id(piece)], _natural(piece.found.label))

    best = max(pieces, key=rank)
    others = [piece for piece in pieces if piece is not best and not _same_work(best, piece)]
    if not others:
        return best, []
    named = "; ".join(
        f"{piece.found.label} ({_describe(work[id(piece)])})"
        for piece in sorted(others, key=rank, reverse=True)
    )
    flag = (
        f"there are {len(others) + 1} versions of {blueprint.name}: {best.found.label} was graded "
        f"({_describe(work[id(best)])}), not {named}"
    )
    return best, [flag]


def find_kit(place: Path, kits: dict[str, Kit], scratch: Path) -> str:
    """Return the name of the assignment that a place's notebooks belong to."""
    if len(kits) == 1:
        return next(iter(kits))
    every = set().union(*kits.values())
    files = list(_find_files(place, scratch, [], every))
    stems = [found.path.name.split(".")[0] for found in files]
    named = {name: sum(stem in kit for stem in stems) for name, kit in kits.items()}
    best = max(named, key=named.get)
    if named[best] and sum(count == named[best] for count in named.values()) == 1:
        return best
    weights = dict.fromkeys(kits, 0)
    for found in files:
        for name, kit in kits.items():
            try:
                _, notebook, _ = read_work(found.path, kit)
            except Exception:  # it is said when it is gathered
                continue
            weights[name] += max(weigh(notebook, kit).values())
    return max(weights, key=weights.get)


# -------------------------------------------------------------------------------- finding files


def _find_files(
    place: Path,
    scratch: Path,
    problems: list[str],
    names: Collection[str],
    ignore: frozenset[Path] = frozenset(),
) -> Iterator[Found]:
    """Yield every file of a place that may be a notebook; say what cannot be opened.

    `names` are those of notebooks: a .py of that name counts, as one that Colab wrote does.
    """
    if place.is_symlink():
        problems.append(
            f"{clean_text(place.name)} is a link, not a file or folder. Hand in what it leads to."
        )
        return
    for path in walk(place, _JUNK, hidden=False) if place.is_dir() else [place]:
        label = clean_text(path.relative_to(place).as_posix() if path != place else path.name)
        if path in ignore:
            continue
        if path.suffix.lower() == ".zip":
            yield from _open_zip(path, label, scratch, problems, names)
        elif path == place or _may_be_notebook(path, names):
            folder = place if place.is_dir() else place.parent
            yield Found(path, label, path, folder, _read_time(path))


def is_work(path: Path) -> bool:
    """May a file be, or hold, a student's notebook? Said by its name alone."""
    return bool(_NOTEBOOK.search(path.name)) or path.suffix.lower() in (".zip", ".py")


def _may_be_notebook(path: Path, names: Collection[str]) -> bool:
    if _NOTEBOOK.search(path.name):
        return True
    return path.suffix == ".py" and (path.stem in names or _is_export(path))


def _open_zip(
    path: Path, label: str, scratch: Path, problems: list[str], names: Collection[str]
) -> Iterator[Found]:
    scratch.mkdir(parents=True, exist_ok=True)
    inside = Path(tempfile.mkdtemp(prefix="zip-", dir=scratch))
    try:
        files = unpack(path, inside)
    except Unreadable as problem:
        problems.append(str(problem))
        return
    time = _read_manifest_time(inside) or _read_time(path)
    opened = False
    for file in files:
        if _may_be_notebook(file, names):
            opened = True
            inner = f"{label}: {clean_text(file.relative_to(inside).as_posix())}"
            yield Found(file, inner, path, inside, time)
    if not opened:
        inner = sorted(file.name for file in files if file.suffix.lower() == ".zip")
        also = f" but another zip ({inner[0]}): unpack that one" if inner else ""
        problems.append(f"{clean_text(path.name)} holds no notebook (.ipynb){also}.")


def _read_time(path: Path) -> float:
    try:
        return path.stat(follow_symlinks=False).st_mtime
    except OSError:
        return 0.0


def _is_export(path: Path) -> bool:
    try:
        return colab_export.is_export(read_plain(path, LARGEST_EXPORT).decode("utf-8-sig"))
    except (Refused, UnicodeDecodeError):
        return False


def _read_manifest_time(folder: Path) -> float | None:
    """Return when a zip was made, from the manifest that `course_utils submit` puts into it."""
    try:
        manifest = json.loads(read_plain(folder / MANIFEST, LARGEST_RECORD))
        return datetime.fromisoformat(manifest["made"]).astimezone(UTC).timestamp()
    except Exception:  # whatever else it says, it is not a time
        return None


# ------------------------------------------------------------------------------------- choosing


def _same_work(one: Piece, other: Piece) -> bool:
    return [(c.cell_type, c.source) for c in one.notebook.cells] == [
        (c.cell_type, c.source) for c in other.notebook.cells
    ]


def _describe(count: int) -> str:
    if count == 0:
        return "untouched"
    return f"{count} cells worked on" if count > 1 else "one cell worked on"


def _natural(name: str) -> list:
    """Return a key by which `-10` comes after `-9`."""
    return [
        (0, int(part), "") if part.isdigit() else (1, 0, part)
        for part in re.split(r"(\d{1,12})", name)
    ]
