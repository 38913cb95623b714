"""Before a run, grade three pieces of work whose marks are known; if any comes out wrong, stop.

A hook that silently stopped working must not hand out marks: a wrong answer and a cheat have to
earn nothing, and a right answer everything, through the very path that students' work takes.
"""

from __future__ import annotations

from collections.abc import Callable

import nbformat
from nbformat import NotebookNode

from autograder.blueprint import Blueprint
from autograder.course import CourseError
from autograder.exercises import EXERCISES
from autograder.submissions import restore

NOTEBOOK = "1_query_crafting"
_WRONG, _CHEAT, _RIGHT = "q_select_first", "Q_identity", "q_average_two"

# What a cheat tries from inside the kernel: silence the checks, fake equality, show a score.
_CHEAT_CODE = """\
import sys
import torch
import course_utils.checks
course_utils.checks.check = lambda *args, **kwargs: None
check = course_utils.checks.check
torch.allclose = torch.equal = lambda *args, **kwargs: True
sys.modules.setdefault("autograder.exercises", type(sys)("autograder.exercises"))
sys.modules["autograder.exercises"].grade_here = lambda *args, **kwargs: 2.0
Q_identity = torch.zeros(4, 3)
2.0
"""


class CanaryDied(CourseError):
    """The grader does not grade rightly on this machine, so nothing was graded."""


def make_canary(blueprint: Blueprint) -> NotebookNode:
    """Return a submission with one wrong answer, one cheat and one right answer."""
    wrong = EXERCISES[_WRONG]
    codes = {
        _WRONG: wrong.mistakes[0].code,
        _CHEAT: _CHEAT_CODE,
        _RIGHT: EXERCISES[_RIGHT].reference,
    }
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
    return restore(nbformat.v4.new_notebook(cells=cells), blueprint).notebook


def require_canary(blueprint: Blueprint, grade: Callable[[NotebookNode], dict[str, float]]) -> None:
    """Grade the canary with `grade`, which returns scores by grade id; raise if any is wrong."""
    try:
        scores = grade(make_canary(blueprint))
    except CourseError:
        raise
    except Exception as problem:
        raise CanaryDied(
            "The canary submission could not be graded, so nothing was graded: "
            f"{type(problem).__name__}: {problem}"
        ) from problem
    points = blueprint.find(f"test_{_RIGHT}").points
    expected = {f"test_{_WRONG}": 0.0, f"test_{_CHEAT}": 0.0, f"test_{_RIGHT}": points}
    labels = {f"test_{_WRONG}": "a wrong answer", f"test_{_CHEAT}": "a cheat",
              f"test_{_RIGHT}": "a right answer"}  # fmt: skip
    for name, score in expected.items():
        if scores.get(name) != score:
            raise CanaryDied(
                f"The canary failed: {labels[name]} ({name}) earned {scores.get(name)} points "
                f"instead of {score:g}. The judge or its hook is broken, so nothing was graded. "
                "Check nbgrader_config.py and run `make test`."
            )
