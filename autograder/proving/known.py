"""Grades an instructor's notebook, its oracles, its variants and its known mistakes, as a build does.

The solution in the notebook is the reference, and so it always agrees with itself. That is why each
exercise has an oracle that was written elsewhere: both must earn everything, every accepted variant
too, and every known mistake must lose something: all its points, or what its parts say.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import zip_longest

from autograder.blueprint import Blueprint, fill_in
from autograder.exercises import Exercise, find_exercises
from autograder.grading.grade import grade_notebook
from autograder.intake.restore import restore
from autograder.kernel import nursery
from autograder.python_text import find_defined_names, parse


@dataclass
class Trial:
    """A notebook with some cells filled in otherwise than by the solution, and what must come of it."""

    what: str  # "the solution", "the oracle", "a variant" or "a known mistake"
    codes: dict[str, str] = field(default_factory=dict)  # by cell
    exercises: list[str] = field(default_factory=list)  # whose points are looked at
    is_right: bool = True
    at_most: dict[str, float] = field(default_factory=dict)  # shares that wrong work may earn


def list_trials(blueprint: Blueprint) -> Iterator[Trial]:
    """Yield trials that together hold every oracle, variant and known mistake of a notebook.

    One notebook holds as many as can be told apart: one per exercise, and what builds on others in
    notebooks of its own, in which those others are right.
    """
    exercises = find_exercises(blueprint.exercises)
    judged = [exercises[slot.exercise] for slot in blueprint.slots if slot.role == "check"]
    yield Trial("the solution", exercises=[exercise.name for exercise in judged])
    partners = {name for e in judged for pair in e.together for name in pair}
    alone = [e for e in judged if e.builds_on or e.reads or e.slips or e.name in partners]
    for group in ([e for e in judged if e not in alone], *([e] for e in alone)):
        yield from _spread("the oracle", group, [[e.oracle] for e in group], True)
        yield from _spread("a variant", group, [list(e.variants) for e in group], True)
        wrong = [[mistake.code for mistake in e.mistakes] for e in group]
        shares = [[mistake.share for mistake in e.mistakes] for e in group]
        yield from _spread("a known mistake", group, wrong, False, shares)


def _spread(
    what: str,
    exercises: list[Exercise],
    codes: list[list[str]],
    is_right: bool,
    shares: list[list[float]] | None = None,
) -> Iterator[Trial]:
    rows = zip_longest(*codes), zip_longest(*(shares or codes))
    for row, allowed in zip(*rows, strict=True):
        at_most = dict(zip((e.name for e in exercises), allowed, strict=True)) if shares else {}
        trial = Trial(what, is_right=is_right, at_most=at_most)
        for exercise, code in zip(exercises, row, strict=True):
            if code is not None and exercise.cell not in trial.codes:
                trial.codes[exercise.cell] = code
                trial.exercises.append(exercise.name)
            elif code is not None:  # two exercises in one cell: a notebook of its own
                yield Trial(what, {exercise.cell: code}, [exercise.name], is_right, at_most)
        if trial.exercises:
            yield trial


def find_disagreements(
    blueprint: Blueprint, progress: Callable[[int, int], None] = lambda done, total: None
) -> list[str]:
    """Return a sentence for everything that earned more or less than it must."""
    nursery.want(blueprint.warm_imports)
    if nursery.is_possible():
        nursery.share_nursery()
    trials = list(list_trials(blueprint))
    sentences: list[str] = []
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for number, found in enumerate(pool.map(lambda t: _try(t, blueprint), trials), 1):
            sentences += found
            progress(number, len(trials))
    return sentences


def _try(trial: Trial, blueprint: Blueprint) -> list[str]:
    codes = blueprint.solutions | trial.codes
    for code in trial.codes.values():  # a pair that only fits together stands in both its cells
        codes |= dict.fromkeys(_find_names(code) & codes.keys() - trial.codes.keys(), code)
    notebook = fill_in(blueprint, codes)
    result = grade_notebook(restore(notebook, blueprint), blueprint, folder=None)
    sentences = []
    for name in trial.exercises:
        cell = result.cells[f"test_{name}"]
        least = cell["max_score"] if trial.is_right else 0.0
        most = cell["max_score"] * (1.0 if trial.is_right else trial.at_most[name])
        if not least <= cell["score"] <= most + 1e-9:
            points = f"{cell['score']:g} of {cell['max_score']:g} points"
            shown = next(iter(trial.codes.values()), "") if len(trial.codes) == 1 else ""
            code = trial.codes.get(name, shown).strip()
            quoted = f":\n{code}" if code else "."
            why = f" ({cell['messages'][0]})" if trial.is_right else ""
            sentences.append(
                f"{blueprint.name}: {trial.what} of {name} earns {points}{why}{quoted}"
            )
    return sentences


def _find_names(code: str) -> set[str]:
    try:
        return find_defined_names(parse(code))
    except SyntaxError:
        return set()
