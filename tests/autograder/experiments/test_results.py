"""The numbers that the notebooks quote: measured, written in their place, and those of today."""

import json

import pytest

from autograder.authoring.quoted_numbers import load_numbers
from autograder.course import load_course
from autograder.experiments import at_work, results
from course_utils.translation.data import make_data
from course_utils.translation.grammar import generate_pairs
from course_utils.translation.training import Settings
from tests.conftest import ROOT

QUICK = [("attention", "queries"), ("attention", "real"), ("attention_at_work", "pretraining")]


@pytest.mark.parametrize(("assignment", "group"), QUICK)
def test_quoted_numbers_are_those_of_today(assignment, group, monkeypatch):
    monkeypatch.chdir(ROOT)
    written = load_numbers(load_course(ROOT).find(assignment).texts)[group]
    found = json.loads(json.dumps(results.GROUPS[assignment][group]()))
    assert written == found, f"python -m autograder.experiments.results --only {group}"


def test_every_assignment_has_its_groups_measured_and_no_others():
    for assignment, groups in results.GROUPS.items():
        assert list(load_numbers(load_course(ROOT).find(assignment).texts)) == list(groups)
    names = [name for groups in results.GROUPS.values() for name in groups]
    assert len(names) == len(set(names)), "--only takes the name alone"


def test_a_group_takes_its_place_and_the_others_stay(tmp_path):
    path = tmp_path / "results.json"
    path.write_text('{"last": {"number": 1}, "gone": {}}', "utf-8")
    groups = {"first": lambda: {"number": "2 ●"}, "last": None}
    results.write_group(path, groups, "first")
    assert list(load_numbers(tmp_path)) == ["first", "last"]
    assert load_numbers(tmp_path) == {"first": {"number": "2 ●"}, "last": {"number": 1}}


def test_the_translators_numbers_bear_out_what_is_said_about_them():
    numbers = load_numbers(load_course(ROOT).find("attention_at_work").texts)["translation"]
    best, middle, last = (numbers[kind] for kind in ("scaled_dot_product", "mean_pool", "dummy"))
    for kind in (best, middle, last):
        assert float(kind["most_above"]) < 0.1, "no model has learned its sentences by heart"
    for name in ("train_mean", "validation_mean", "best"):
        assert float(best[name]) < float(middle[name]) < float(last[name])
    assert float(best["bleu"]) > float(middle["bleu"]) > float(last["bleu"])
    assert float(best["validation_variance"]) > float(middle["validation_variance"])
    pictures = numbers["pictures"]
    assert pictures["picture_7"]["looks_at"]["need"] == "brauchen", "at the end of its clause"
    assert pictures["picture_1"]["looks_at"]["removes"] == "nimmt", "its prefix decides, unseen"


def test_a_small_comparison_of_translators_becomes_numbers(tmp_path, monkeypatch):
    pairs, _ = generate_pairs(40, seed=1)
    data = make_data("own", "Pairs.", dict.fromkeys(("train", "validation", "test"), pairs))
    data.entropy = 0.04
    monkeypatch.setattr(at_work, "load_own", lambda reason: data)
    monkeypatch.setattr(at_work, "Settings", lambda: Settings(epochs=2, n_train=16))
    monkeypatch.setattr(at_work, "RUNS", tmp_path)
    monkeypatch.setenv("COURSE_PROFILE", "quick")
    found = at_work.measure_translation()
    assert (found["epochs"], found["floor"]) == (2, "0.040")
    for kind in ("scaled_dot_product", "mean_pool", "dummy"):
        assert float(found[kind]["best"]) <= float(found[kind]["first_validation"]) + 0.005
    assert len(found["pictures"]["picture_8"]["german"].split()) > 4
    assert 0 <= found["pictures"]["sharp"] <= found["pictures"]["rows"]


def test_shares_are_written_as_text_needs_them():
    assert [at_work._write_percent(share) for share in (0.014, 0.9021, 0.9954, 1.0)] == [
        "1", "90", "99.5", "100",
    ]  # fmt: skip
    assert at_work._find_start({2: 0.1, 4: 1.0, 6: 0.9, 8: 1.0, 10: 1.0}) == 8


def test_a_longer_query_copies_better():
    shares = [
        at_work.measure_share("copy_query", lambda a, b, C: C * a, length) for length in (2, 20)
    ]
    assert shares[0] < 0.1 and shares[1] == 1.0
