"""Finds submissions that are nearly the same where most differ. A question for people, no verdict.

What the hand-out gives, and what many students write, proves nothing: only passages that few
share count. Names of variables, comments and layout do not.
"""

from __future__ import annotations

import io
import itertools
import keyword
import math
import re
import tokenize
from collections import Counter, defaultdict
from collections.abc import Set
from dataclasses import dataclass, field

from nbformat import NotebookNode

from autograder.blueprint import Blueprint

_LENGTH = 6  # tokens in one passage
_FEWEST = 15  # passages that two must share beyond the usual
_SHARE = 0.75  # of what is unusual in the smaller work
_FEW = 3  # students, or this share of a large class, may share a passage before it is usual
_FEW_SHARE = 0.05
_HALF = 0.5  # of what two say in words, for them to be copies of one text


@dataclass(frozen=True)
class Work:
    """What one student wrote into one notebook: texts by cell, hand-out left out."""

    student: str
    notebook: str
    cells: dict[str, str]
    collaborators: str = ""


@dataclass(frozen=True)
class Pair:
    """Two pieces of work that are alike, and the cells that make them so."""

    notebook: str
    one: Work
    other: Work
    share: float
    cells: list[str] = field(default_factory=list)


def read_work(
    student: str, blueprint: Blueprint, notebook: NotebookNode, collaborators: str
) -> Work:
    """Take a student's own texts out of a restored or graded notebook."""
    given = {slot.release.source.strip() for slot in blueprint.slots}
    given |= {slot.source.source.strip() for slot in blueprint.slots}
    cells: dict[str, str] = {}
    named = ""
    for index, cell in enumerate(notebook.cells):
        if not cell.source.strip() or cell.source.strip() in given:
            continue
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id")
        if grade_id == collaborators:
            named = cell.source.strip()
        else:
            cells[grade_id or f"added cell {index + 1}"] = cell.source
    return Work(student, blueprint.name, cells, named)


def find_pairs(works: list[Work]) -> list[Pair]:
    """Return the pairs of one notebook that are alike, the likest first."""
    found = []
    for notebook in sorted({work.notebook for work in works}):
        found += _compare_all([work for work in works if work.notebook == notebook])
    return sorted(found, key=lambda pair: -pair.share)


def _compare_all(works: list[Work]) -> list[Pair]:
    passages = {
        work.student: {
            name: _find_passages(text, is_code=not name.startswith("answer"))
            for name, text in work.cells.items()
        }
        for work in works
    }
    all_of = {student: _join(cells, "") for student, cells in passages.items()}
    # Copies count once: however many there are, they do not make a passage usual.
    groups = _group_copies(passages)
    spread = Counter(itertools.chain.from_iterable(
        frozenset().union(*(all_of[student] for student in group)) for group in groups
    ))  # fmt: skip
    few = max(_FEW, math.floor(_FEW_SHARE * len(works)))
    rare = {
        student: {passage for passage in found if spread[passage] <= few}
        for student, found in all_of.items()
    }
    holders = defaultdict(list)
    for student, found in rare.items():
        for passage in found:
            holders[passage].append(student)
    shared: Counter[tuple[str, str]] = Counter()
    for students in holders.values():
        shared.update(itertools.combinations(sorted(students), 2))
    by_name = {work.student: work for work in works}
    pairs = []
    for (one, other), count in shared.items():
        share = count / min(len(rare[one]), len(rare[other]))
        if count >= _FEWEST and share >= _SHARE:
            both = rare[one] & rare[other]
            cells = sorted(
                (name for name in passages[one] if passages[one][name] & both),
                key=lambda name: -len(passages[one][name] & both),
            )
            pairs.append(Pair(works[0].notebook, by_name[one], by_name[other], share, cells))
    return pairs


def _group_copies(passages: dict[str, dict[str, set]]) -> list[set[str]]:
    """Put students together whose works are the same, but for light changes.

    Right code is short, and honest people write it alike; so what half of the class wrote does not
    count. Two who agree in half of what they say in words have not written it apart.
    """
    everything = {student: _join(cells, "") for student, cells in passages.items()}
    words = {student: _join(cells, "answer") for student, cells in passages.items()}
    spread = Counter(itertools.chain.from_iterable(set(everything.values())))
    unusual = {
        student: {passage for passage in found if spread[passage] <= max(_FEW, len(passages) / 2)}
        for student, found in everything.items()
    }
    groups = {student: {student} for student in passages}
    for one, other in itertools.combinations(passages, 2):
        if groups[one] is not groups[other] and (
            everything[one] == everything[other]
            or _agree(unusual[one], unusual[other], _SHARE)
            or _agree(words[one], words[other], _HALF)
        ):
            groups[one] |= groups[other]
            groups.update(dict.fromkeys(groups[other], groups[one]))
    return list({id(group): group for group in groups.values()}.values())


def _join(cells: dict[str, set], start: str) -> frozenset:
    return frozenset().union(*(found for name, found in cells.items() if name.startswith(start)))


def _agree(one: Set, other: Set, share: float) -> bool:
    return len(one & other) >= max(_FEWEST, share * max(len(one), len(other)))


def _find_passages(text: str, is_code: bool) -> set[tuple[str, ...]]:
    tokens = (_read_code(text) if is_code else None) or re.findall(r"\w+|[^\w\s]", text.lower())
    return {
        tuple(tokens[start : start + _LENGTH])
        for start in range(max(1, len(tokens) - _LENGTH + 1))
        if tokens
    }


def _read_code(text: str) -> list[str] | None:
    """Return a cell's tokens with its own names numbered, or None when it is not Python."""
    skipped = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
               tokenize.ENDMARKER, tokenize.ENCODING)  # fmt: skip
    tokens, names, after_dot = [], {}, False
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in skipped:
                continue
            word = token.string
            if token.type == tokenize.NAME and not keyword.iskeyword(word) and not after_dot:
                word = names.setdefault(word, f"name{len(names)}")
            after_dot = word == "."
            tokens.append(word)
    except (tokenize.TokenError, SyntaxError, IndentationError):
        return None
    return tokens
