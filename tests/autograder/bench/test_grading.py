"""The bench of grading measures what it says, on a class that is small enough for a test."""

import json

import pytest

from autograder.bench import grading


@pytest.mark.soak
def test_both_sides_give_the_same_scores_and_everything_is_told(capsys):
    grading.run(json=True, students=2)
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert told["bench"] == "grading" and told["equal"] is True
    assert told["kernel_ratio"] > 1 and told["submission_ratio"] > 1
    for name in ("ratio", "cold_seconds", "own_code_seconds", "memory_end_mb", "per_minute"):
        assert told[name] > 0, name
    assert set(told["other_seconds"]) == {"kernel", "tests", "judge"}
    text = grading.describe(told)
    assert "equal, cell by cell" in text and "scaled" in text and "--scale" in text
