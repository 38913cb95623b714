"""Finds answers that are the same or nearly the same, so that a person can mark them together."""

from __future__ import annotations

import difflib
import html
import re
from dataclasses import dataclass

from course_utils.bounded import bounded

_SHARE = 0.75  # of the passages that two answers have together
_LENGTH = 3  # words in a passage
_FEWEST = 8  # words; shorter answers must be the same to count as alike


@dataclass(frozen=True)
class Passages:
    """What of a text is compared: its words, whatever their case, and its passages."""

    words: tuple[str, ...]
    passages: frozenset[tuple[str, ...]]


def read_passages(text: str) -> Passages:
    words = tuple(re.findall(r"\w+|[^\w\s]", text.lower())[:4000])
    passages = {words[i : i + _LENGTH] for i in range(max(1, len(words) - _LENGTH + 1))}
    return Passages(words, frozenset(passages))


def measure_likeness(one: Passages, other: Passages) -> float:
    """Return 1 for the same words, the shared part of passages for longer texts, or 0.

    >>> measure_likeness(read_passages("Yes, it does."), read_passages("yes,  it does."))
    1.0
    """
    if one.words == other.words:
        return 1.0
    if min(len(one.words), len(other.words)) < _FEWEST:
        return 0.0
    shared = len(one.passages & other.passages) / len(one.passages | other.passages)
    return min(shared, 0.999) if shared >= _SHARE else 0.0


def _show_plain(text: str, *_) -> str:
    return f'<pre class="plain" tabindex="0">{html.escape(text[:3000])}</pre>'


@bounded(instead=_show_plain)
def show_difference(text: str, against: str, longest: int = 3000) -> str:
    """Return a text as HTML in which the words that differ from another are marked."""
    own, others = (re.findall(r"\s+|\S+", t[:longest]) for t in (text, against))
    parts = []
    matcher = difflib.SequenceMatcher(None, others, own, autojunk=False)
    for kind, _, _, start, end in matcher.get_opcodes():
        words = html.escape("".join(own[start:end]))
        if words:
            parts.append(words if kind == "equal" or not words.strip() else f"<mark>{words}</mark>")
    more = " [...]" if len(text) > longest else ""
    return f'<pre class="plain" tabindex="0">{"".join(parts)}{more}</pre>'
