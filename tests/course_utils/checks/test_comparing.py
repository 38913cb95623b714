"""Naming a mistake: only by numbers that this mistake gives, and that right code does not."""

import numpy as np

from course_utils.checks.comparing import find_mistake

CASES = [{"name": "one"}, {"name": "two"}]
RIGHT = {"one.out": np.array([0.25, 0.75]), "two.out": np.array([1.0])}
OTHER = {"one.out": np.array([0.5, 0.5]), "two.out": np.array([1.0])}


def test_a_mistake_is_known_by_its_numbers():
    known = [("another", {"one.out": np.zeros(2), "two.out": np.zeros(1)}), ("columns", OTHER)]
    assert find_mistake(CASES, OTHER, lambda: known, RIGHT) == "columns"
    assert find_mistake(CASES, OTHER, lambda: known[:1], RIGHT) is None


def test_a_mistake_that_gives_the_right_numbers_here_explains_nothing():
    known = [("shows-elsewhere", RIGHT)]
    assert find_mistake(CASES, RIGHT, lambda: known, RIGHT) is None
