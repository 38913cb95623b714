"""The numbers that the notebooks quote: what can be looked up again is what stands there."""

import json

import pytest

from autograder.course import load_course
from autograder.experiments import results
from tests.conftest import ROOT


@pytest.mark.parametrize("group", ["queries", "real"])
def test_quoted_numbers_are_those_of_today(group, monkeypatch):
    monkeypatch.chdir(ROOT)
    written = json.loads((load_course(ROOT).find("attention").texts / "results.json").read_text())
    found = json.loads(json.dumps(results.GROUPS[group]()))
    assert written[group] == found, f"python -m autograder.experiments.results --only {group}"
