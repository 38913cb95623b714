"""A class with hostile submissions in it takes longer by no more than their own limits."""

import os
import time

import pytest

from autograder import budgets
from autograder.classroom.run import grade_class
from autograder.demo.personas import fill_in, solve_all
from autograder.kernel import nursery
from tests.attacks.attacks import ATTACKS
from tests.attacks.damages import NAME, write
from tests.autograder.classroom.classes import Listener, grading_into
from tests.conftest import FULL

STUDENTS, WHOLE, CELL = 30, 30, 5  # students; seconds for a notebook and for a cell
FLOOD = """
import numpy as np
q_select_first = np.zeros(1_400_000)  # close to the longest reply that is read
"""
CRASHES = "import os\nos._exit(0)"
HOSTILE = {
    **{attack.name: attack.code for attack in ATTACKS if attack.name in (
        "forever", "output-flood", "flood-of-messages", "memory", "fork-bomb", "threads", "disk",
        "never-ending-repr",
    )},
    "large-replies": FLOOD,
    "crashes": CRASHES,
}  # fmt: skip


def hand_in(grading, blueprint, hostile):
    """Thirty students; the hostile ones do what they do in every exercise."""
    right = solve_all(blueprint)
    codes = [dict.fromkeys(right, code) for code in hostile.values()]
    codes += [right] * (STUDENTS - len(codes))
    for number, one in enumerate(codes):
        # Spread over the class, so that both workers meet them.
        folder = grading / "submitted" / f"student{number * 7 % STUDENTS:02}" / "attention"
        write(folder / NAME, fill_in(blueprint, one))


def grade(folder, blueprint, hostile):
    hand_in(folder, blueprint, hostile)
    listener = Listener()
    with grading_into(folder) as assignment:
        started = time.monotonic()
        summary = grade_class(assignment, notebooks=[blueprint.name], listener=listener)
    assert not summary.problems
    return time.monotonic() - started, [result["score"] for result in listener.results]


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_ten_hostile_of_thirty_cost_no_more_than_their_limits(tmp_path, blueprint, monkeypatch):
    assert len(HOSTILE) == 10
    monkeypatch.setattr(budgets, "WHOLE_SECONDS", WHOLE)
    monkeypatch.setattr("autograder.classroom.gradebook.CELL_TIMEOUT", CELL)
    nursery.share_nursery()
    honest, scores = grade(tmp_path / "honest", blueprint, {})
    assert scores == [FULL] * STUDENTS
    mixed, scores = grade(tmp_path / "mixed", blueprint, HOSTILE)
    assert sorted(scores) == [0.0] * 10 + [FULL] * 20
    limit = 2 * honest + WHOLE * len(HOSTILE) / os.cpu_count()
    print(f"30 honest: {honest:.0f} s; with ten hostile: {mixed:.0f} s; allowed: {limit:.0f} s")
    assert mixed < limit
