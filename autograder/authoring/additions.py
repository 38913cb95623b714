"""Keeps what a person added by hand to a generated text, when the text is generated again."""

from __future__ import annotations

import difflib


class Changed(ValueError):
    """A generated line was changed or removed by hand; the text says which."""


def carry_over(base: str, theirs: str, fresh: str) -> str:
    """Return the fresh text with the lines that somebody added to the base.

    Lines stay behind the line that they were put behind; where that is gone, they come last.

    >>> print(carry_over("a\\nb\\n", "a\\nmine\\nb\\n", "a\\nb\\nc\\n"), end="")
    a
    mine
    b
    c
    """
    old, new = base.splitlines(), fresh.splitlines()
    added = list(_find_added(old, theirs.splitlines()))
    places = _align(old, new)
    after: dict[int, list[str]] = {}
    for anchor, lines in added:
        after.setdefault(places.get(anchor, len(new) - 1), []).extend(lines)
    result = [*after.get(-1, [])]
    for index, line in enumerate(new):
        result += [line, *after.get(index, [])]
    return "\n".join(result) + "\n"


def _find_added(old: list[str], theirs: list[str]):
    """Yield what was added, with the number of the old line that it stands behind (-1: the top)."""
    matcher = difflib.SequenceMatcher(None, old, theirs, autojunk=False)
    for kind, start, end, first, last in matcher.get_opcodes():
        if kind == "insert":
            yield start - 1, theirs[first:last]
        elif kind != "equal":
            raise Changed(f"line {first + 1} was {old[start:end][0]!r} when it was published")


def _align(old: list[str], new: list[str]) -> dict[int, int]:
    """Return where each old line is in the new text, for lines that are still there."""
    places = {-1: -1}
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for block in matcher.get_matching_blocks():
        places |= {block.a + offset: block.b + offset for offset in range(block.size)}
    return places
