"""Before a run, grade work whose marks are known; if any comes out wrong, stop.

A hook that silently stopped working must not hand out marks: a wrong answer and a cheat have to
earn nothing, and a right answer everything, through the very path that students' work takes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import nbformat
from nbformat import NotebookNode

from autograder.blueprint import Blueprint
from autograder.course import CourseError
from autograder.exercises import Exercise, find_exercises
from autograder.grading.grade import grade_notebook
from autograder.intake.restore import restore
from autograder.kernel.isolation import require_enough

Grade = Callable[[NotebookNode, Blueprint], dict[str, float]]  # a submission's scores by grade id

# What a cheat tries from inside the kernel: silence the checks, fake equality, show a score.
_CHEAT = """\
import sys
import torch
import course_utils.checks
course_utils.checks.check = lambda *args, **kwargs: None
check = course_utils.checks.check
torch.allclose = torch.equal = lambda *args, **kwargs: True
sys.modules.setdefault("autograder.grading.in_process", type(sys)("in_process"))
sys.modules["autograder.grading.in_process"].grade_here = lambda *args, **kwargs: {points:g}
{wrong}
{points:g}
"""


class CanaryDied(CourseError):
    """The grader does not grade rightly on this machine, so nothing was graded."""


@dataclass(frozen=True)
class Bird:
    """One piece of work in a canary: what stands in a cell, and what it must earn."""

    what: str
    exercise: str
    code: str
    earns: float


def make_canaries(kit: dict[str, Blueprint]) -> Iterator[tuple[Blueprint, list[Bird]]]:
    """Yield notebooks, and what to put into them: a wrong answer, a cheat and a right answer.

    One notebook holds all three where it has exercises enough that stand on their own.
    """
    able = {name: _find_independent(blueprint) for name, blueprint in kit.items()}
    name = max(able, key=lambda name: min(3, len(able[name])))
    blueprint, exercises = kit[name], able[name]
    if not exercises:
        raise CanaryDied(
            f"No exercise of {', '.join(kit)} can tell whether the grader works: one needs a known "
            "mistake and must not build on others. Nothing was graded."
        )
    birds = _hatch(blueprint, [exercises[i % len(exercises)] for i in range(3)])
    if len(exercises) >= 3:
        yield blueprint, birds
    else:
        yield from ((blueprint, [bird]) for bird in birds)


def _hatch(blueprint: Blueprint, exercises: list[Exercise]) -> list[Bird]:
    wrong, cheat, right = exercises
    points = [blueprint.find(f"test_{exercise.name}").points for exercise in exercises]
    faked = _CHEAT.format(wrong=cheat.mistakes[-1].code, points=points[1])
    return [
        Bird("a wrong answer", wrong.name, wrong.mistakes[0].code, 0.0),
        Bird("a cheat", cheat.name, faked, 0.0),
        Bird("a right answer", right.name, blueprint.solutions[right.cell], points[2]),
    ]


def _find_independent(blueprint: Blueprint) -> list[Exercise]:
    """Return the exercises that need no other cell's work and have a mistake to show."""
    exercises = find_exercises(blueprint.exercises)
    found = [exercises[slot.exercise] for slot in blueprint.slots if slot.role == "check"]
    return [e for e in found if e.mistakes and not e.builds_on and e.cell == e.name]


def make_canary(blueprint: Blueprint, birds: list[Bird]) -> NotebookNode:
    """Return a submission with these pieces of work and as little else as possible."""
    codes = {bird.exercise: bird.code for bird in birds}
    wanted = {*codes, *(f"test_{name}" for name in codes)}
    cells = []
    for slot in blueprint.slots:
        cell = nbformat.from_dict(slot.release)
        if slot.grade_id in codes:
            cell.source = codes[slot.grade_id]
        elif slot.role == "plain" and cell.cell_type == "code" and "import" not in cell.source:
            continue  # pictures: the canary is about marks
        elif slot.role != "plain" and slot.grade_id not in wanted:
            continue
        cells.append(cell)
    return nbformat.v4.new_notebook(cells=cells, metadata=dict(blueprint.metadata))


def grade_plainly(notebook: NotebookNode, blueprint: Blueprint) -> dict[str, float]:
    """Grade a canary as a submission is graded."""
    result = grade_notebook(restore(notebook, blueprint), blueprint, folder=None)
    return {name: cell["score"] for name, cell in result.cells.items()}


_proven: set[tuple] = set()
_proving = threading.Lock()


def prove(kit: dict[str, Blueprint], grade: Grade = grade_plainly) -> None:
    """Grade the canary by `grade`, at the start of a run; raise when anything is marked wrong."""
    require_enough()
    for blueprint, birds in make_canaries(kit):
        require_canary(blueprint, birds, grade)


def prove_once(
    kit: dict[str, Blueprint], grade: Grade = grade_plainly, way: str = "plainly"
) -> None:
    """The same in a process that works off many notebooks of one run: once per way is enough."""
    key = (way, *sorted((b.assignment, name) for name, b in kit.items()))
    with _proving:
        if key not in _proven:
            prove(kit, grade)
            _proven.add(key)


def require_canary(blueprint: Blueprint, birds: list[Bird], grade: Grade) -> None:
    """Grade one canary; raise if anything in it does not earn what it must."""
    try:
        scores = grade(make_canary(blueprint, birds), blueprint)
    except CourseError:
        raise
    except Exception as problem:
        raise CanaryDied(
            "The canary submission could not be graded, so nothing was graded: "
            f"{type(problem).__name__}: {problem}"
        ) from problem
    for bird in birds:
        name = f"test_{bird.exercise}"
        if scores.get(name) != bird.earns:
            raise CanaryDied(
                f"The canary failed: {bird.what} ({name}) earned {scores.get(name)} points "
                f"instead of {bird.earns:g}. The judge or its hook is broken, so nothing was "
                "graded. Check nbgrader_config.py and run `make test`."
            )
