"""What a student is told about their work, in one sentence for each exercise and answer.

The feedback page, its plain text for e-mail, and Gradescope's output use the same words.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, field

NOT_READ = "Not read yet."


@dataclass(frozen=True)
class Line:
    """One row of the card: what it is about, its points, and what is said about it."""

    cell: str  # nbgrader's name of the cell, to link to
    name: str  # as the student knows it
    score: float | None  # None while nobody has read it
    max_score: float
    sentence: str
    items: list[tuple[str, float]] = field(default_factory=list)  # of the mark scheme, as given
    comment: str = ""
    by_hand: bool = False
    details: list[str] = field(default_factory=list)  # numbers and places, one to a row

    @property
    def sign(self) -> str:
        """all, some, none or open."""
        if self.score is None:
            return "open"
        if self.score >= self.max_score:
            return "all"
        return "some" if self.score > 0 else "none"


def describe_check(cell: dict) -> str:
    """Say in a sentence what the autograder found in one exercise.

    >>> describe_check({"messages": ["f: The mask lets a token see the next one."]})
    'The mask lets a token see the next one.'
    """
    told = [str(words).strip() for words in cell["messages"]]
    if not told:
        return "It was not judged."
    named = re.match(r"([A-Za-z_]\w*): ", told[0])
    first = told[0][named.end() :] if named else told[0]
    if named and not first.startswith(named[1]):  # a name of the learner's stays as it is
        first = first[:1].upper() + first[1:]
    return " ".join([first, *told[1:]])


def list_details(cell: dict) -> list[str]:
    """Return the lines with numbers and places that stand below the sentence."""
    return [str(words) for words in cell.get("details", [])]


def describe_answer(
    score: float | None, max_score: float, untouched: bool, changed: bool, commented: bool
) -> str:
    """Say how a written answer stands."""
    if changed:
        return "Your answer changed after it was marked, and will be read again."
    if score is None:
        return NOT_READ
    if untouched:
        return "The answer was left as it was handed out."
    if score >= max_score:
        return "Everything that was asked for is there."
    what = "Some of it is there" if score > 0 else "What was asked for is not there"
    return f"{what}: see the comment." if commented else f"{what}."


def write_text(
    title: str,
    lines: list[Line],
    late: float | None = 0.0,
    sums: list[str] | None = None,
    ask: str = "",
) -> str:
    """Return the card as plain text, for an e-mail."""
    out = [title, "=" * len(title), "", describe_total(lines, late), ""]
    for line in lines:
        points = "open" if line.score is None else f"{line.score:g}"
        out.append(f"{line.name}: {points} of {line.max_score:g}")
        out += _wrap(line.sentence)
        out += [part for words in line.details for part in _wrap(f"- {words}")]
        for words, worth in line.items:
            out += _wrap(f"+ {worth:g}: {_plain(words)}")
        if line.comment:
            out += [part for words in line.comment.splitlines() for part in _wrap(f"> {words}")]
        out.append("")
    if sums:
        out += ["How the total adds up", *(part for line in sums for part in _wrap(line)), ""]
    out += textwrap.wrap(ask, 76)
    return "\n".join(out).rstrip() + "\n"


def describe_total(lines: list[Line], late: float | None = 0.0) -> str:
    """Say the sum; what nobody has read yet is not counted as lost.

    `late` is what is taken off the total for being late; None where nobody can say yet how much.
    """
    read = [line for line in lines if line.score is not None]
    waiting = [line for line in lines if line.score is None]
    words = (
        f"{sum(line.score for line in read):g} of {sum(line.max_score for line in read):g} points"
    )
    if waiting:
        open_points = sum(line.max_score for line in waiting)
        words += f" so far; {_count(waiting)} worth {open_points:g} points not read yet"
    if late != 0:
        number = "" if late is None else f"{late:g} "
        words += f"; {number}points are taken off the total because it came late"
    return words + "."


def _count(waiting: list[Line]) -> str:
    return "1 answer" if len(waiting) == 1 else f"{len(waiting)} answers"


def _wrap(text: str) -> list[str]:
    return textwrap.wrap(text, 76, initial_indent="  ", subsequent_indent="    ")


def _plain(markdown: str) -> str:
    return re.sub(r"[*`]", "", markdown)
