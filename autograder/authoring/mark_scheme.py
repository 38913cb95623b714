"""The mark scheme is the rubric: its bullets become items that a marker gives with one key.

Authors write what they always wrote below a model answer:

    ### BEGIN MARK SCHEME
    - 1 point: names something concrete that is copied.
    - 0.5 points: no graph is recorded. 0.5 points: so memory is saved.
    - 0.25 points each. "Loads in parallel" is enough.      (as often as the points allow)
    - Trial and error earns 0.                              (no points: a note for the marker)
    ### END MARK SCHEME

An item is known by its text, so that a reworded scheme shows which marks were given under the old.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

KEYS = 9  # items that a single key can give
_POINTS = re.compile(r"(?:^|(?<=[.;:!?] ))(\d+(?:\.\d+)?) points?\b[:,]?[ ]*")
_EACH = re.compile(r"(?:for )?each\b", re.IGNORECASE)
_BEGIN, _END = "### BEGIN MARK SCHEME", "### END MARK SCHEME"


@dataclass(frozen=True)
class Item:
    """One thing that earns points, once or several times."""

    digest: str
    text: str
    points: float
    times: int = 1


@dataclass(frozen=True)
class Scheme:
    """How one question is marked."""

    points: float  # of the question: the sum is capped here
    model: str  # the model answer, in markdown
    items: tuple[Item, ...]
    notes: str  # the rest of the scheme, in markdown
    digest: str  # of all items

    @property
    def step(self) -> float:
        """The size of a free adjustment."""
        return 0.25 if self.points <= 1 else 0.5

    def add_up(self, given: dict[str, int], adjustment: float = 0.0) -> float:
        """Return the score: what was given, adjusted, never below zero or above the points."""
        earned = sum(
            item.points * min(given.get(item.digest, 0), item.times) for item in self.items
        )
        return round(min(max(earned + adjustment, 0.0), self.points), 4)


class SchemeMistake(ValueError):
    """What an author has to mend, and in which line of the cell (counted from 1)."""

    def __init__(self, line: int, sentence: str):
        super().__init__(sentence)
        self.line = line


def read_scheme(source: str, points: float) -> Scheme:
    """Read an instructor's answer cell; a scheme that cannot work raises `SchemeMistake`.

    >>> read_scheme("Yes.\\n\\n### BEGIN MARK SCHEME\\n- 1 point: says yes.\\n### END MARK SCHEME", 1).items[0].text
    'says yes.'
    """
    model, lines, first = _split(source)
    found: list[tuple[int, str, float]] = []
    notes: list[str] = []
    for number, bullet, text in _read_blocks(lines, first):
        pieces = _read_points(text) if bullet else []
        if pieces:
            found += [(number, *piece) for piece in pieces]
        else:
            notes.append(f"- {text}" if bullet else text)
    items = _count_times(found, points, first)
    digest = _hash("|".join(item.digest for item in items))
    return Scheme(points, model, items, _join_notes(notes), digest)


def _split(source: str) -> tuple[str, list[str], int]:
    """Return the model answer, the scheme's lines, and the number of the first of them."""
    lines = source.splitlines()
    begun = next((i for i, line in enumerate(lines) if _BEGIN in line), len(lines))
    ended = next((i for i, line in enumerate(lines) if _END in line), len(lines))
    return "\n".join(lines[:begun]).strip(), lines[begun + 1 : ended], begun + 2


def _read_blocks(lines: list[str], first: int) -> list[tuple[int, bool, str]]:
    """Return (line, is a bullet, text) for each bullet and paragraph."""
    blocks: list[tuple[int, bool, list[str]]] = []
    fresh = True
    for number, line in enumerate(lines, start=first):
        if not line.strip():
            fresh = True
        elif re.match(r"[-*] ", line):
            blocks.append((number, True, [line[2:]]))
            fresh = False
        elif fresh:
            blocks.append((number, False, [line]))
            fresh = False
        else:
            blocks[-1][2].append(line)
    return [(n, bullet, " ".join(" ".join(text).split())) for n, bullet, text in blocks]


def _read_points(text: str) -> list[tuple[str, float]]:
    """Return the items of one bullet: their words and points."""
    marks = list(_POINTS.finditer(text))
    if not marks or marks[0].start() != 0:
        return []
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return [
        (text[mark.end() : end].strip(), float(mark[1]))
        for mark, end in zip(marks, ends, strict=True)
    ]


def _count_times(
    found: list[tuple[int, str, float]], points: float, first: int
) -> tuple[Item, ...]:
    """An item "for each" can be given as often as the question's points allow."""
    if points <= 0:
        return ()
    repeated = [entry for entry in found if _EACH.match(entry[1])]
    single = sum(worth for _, text, worth in found if not _EACH.match(text))
    if len(repeated) > 1:
        raise SchemeMistake(
            repeated[1][0], 'only one item of a mark scheme can be given "each"; list the others.'
        )
    for line, _, worth in repeated:
        times = (points - single) / worth if worth else 0
        if times < 1 or times != int(times):
            raise SchemeMistake(
                line,
                f"{worth:g} points each cannot make up the {points - single:g} points that are left.",
            )
    total = single + (points - single if repeated else 0)
    if total < points:
        line = found[-1][0] if found else max(1, first - 1)
        what = (
            f"its items add up to {total:g}" if found else 'it has no item such as "- 1 point: ..."'
        )
        raise SchemeMistake(line, f"the answer is worth {points:g} points, but {what}.")
    if len(found) > KEYS:
        raise SchemeMistake(
            found[KEYS][0], f"a mark scheme has at most {KEYS} items, one for each key."
        )
    items = []
    for line, text, worth in found:
        digest = _hash(f"{worth:g} {text}")
        if digest in {item.digest for item in items}:
            raise SchemeMistake(line, "this item stands here twice.")
        times = int((points - single) / worth) if _EACH.match(text) else 1
        items.append(Item(digest, text, worth, times))
    return tuple(items)


def _join_notes(notes: list[str]) -> str:
    text = ""
    for note in notes:
        close = note.startswith("- ") and text.rpartition("\n")[2].startswith("- ")
        text += ("\n" if close else "\n\n") + note
    return text.strip()


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
