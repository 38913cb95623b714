"""What is right, what is asked, known mistakes and accepted variants: one package per assignment.

A notebook's exercises are a module `autograder.exercises.<assignment>.<module>` with a list
`EXERCISES`; which module it is stands in the assignment's assignment.toml.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from functools import cache

from autograder.course import CourseError
from autograder.exercises.base import Exercise, Mistake, Ruling


@cache
def find_exercises(module: str) -> dict[str, Exercise]:
    """Return a module's exercises by name; `module` is named from autograder.exercises on.

    >>> list(find_exercises("attention.query_crafting"))[:2]
    ['q_select_first', 'Q_identity']
    """
    full = f"autograder.exercises.{module}"
    try:
        found = importlib.import_module(full)
    except ModuleNotFoundError as problem:
        if not full.startswith(problem.name or " "):
            raise
        raise CourseError(
            f"There is no module {full}: an assignment.toml names it as `exercises`."
        ) from None
    return {exercise.name: exercise for exercise in found.EXERCISES}


def find_leaderboard(assignment: str):
    """Return the module that counts an assignment's result again for a leaderboard, or None."""
    name = f"autograder.exercises.{assignment}.leaderboard"
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


def warm_up(module: str) -> None:
    """Import what judging a module's exercises needs later and takes seconds to import."""
    find_exercises(module)
    for name in getattr(sys.modules[f"autograder.exercises.{module}"], "SLOW_IMPORTS", ()):
        importlib.import_module(name)


__all__ = ["Exercise", "Mistake", "Ruling", "find_exercises", "find_leaderboard", "warm_up"]
