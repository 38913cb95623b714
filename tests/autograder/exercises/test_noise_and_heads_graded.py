"""Notebook noise_and_heads through the real command line: mistakes, variants, half of the points."""

import json
from itertools import cycle, islice

import pytest

from autograder.blueprint import load_blueprint
from autograder.course import load_assignment
from autograder.demo.personas import fill_in
from autograder.exercises.attention_at_work.noise_and_heads_code import MISTAKES, VARIANTS
from tests.conftest import grade

pytestmark = pytest.mark.xdist_group("grade_noise_and_heads")  # one fixture grades everything

POINTS = {"copy_query": 1, "average_query": 2, "robust_query": 2, "two_head_queries": 3,
          "craft_projections": 4, "synthesizer_attention": 4}  # fmt: skip
KNOWN = {
    name: [(slug, code) for slug, codes in MISTAKES[name].items() for code in codes]
    for name in POINTS
}
FEW = 2  # notebooks of each kind
ALL_MISTAKES = max(len(known) for known in KNOWN.values())
ALL_VARIANTS = max(len(codes) for codes in VARIANTS.values())


@pytest.fixture(scope="module")
def blueprint():
    return load_blueprint(load_assignment("attention_at_work"), "1_noise_and_heads")


def choose_mistakes(number, step=11):
    return {name: next(islice(cycle(KNOWN[name]), number * step, None)) for name in POINTS}


def choose_variants(number, step=2):
    return {name: next(islice(cycle(VARIANTS[name]), number * step, None)) for name in POINTS}


def grade_all(blueprint, folder, codes):
    paths = {}
    for name, chosen in codes.items():
        paths[name] = folder / f"{name}.ipynb"
        paths[name].write_text(json.dumps(fill_in(blueprint, chosen)), "utf-8")
    return dict(zip(paths, grade(*paths.values()), strict=True))


def take_codes(mistakes):
    return {name: code for name, (_, code) in mistakes.items()}


@pytest.fixture(scope="module")
def graded(blueprint, tmp_path_factory):
    codes = {"untouched": {}}
    codes |= {f"right-{n}": choose_variants(n) for n in range(FEW)}
    codes |= {f"wrong-{n}": take_codes(choose_mistakes(n)) for n in range(FEW)}
    return grade_all(blueprint, tmp_path_factory.mktemp("class"), codes)


def assert_full_marks(result):
    assert (result["score"], result["max_score"]) == (16, 16), result["cells"]
    for name, points in POINTS.items():
        cell = result["cells"][f"test_{name}"]
        assert (cell["score"], cell["max_score"], cell["status"]) == (points, points, "passed")


def assert_named(result, mistakes):
    for name, (slug, code) in mistakes.items():
        cell = result["cells"][f"test_{name}"]
        assert cell["score"] < cell["max_score"], (name, code)
        assert cell["diagnosis"] == slug, (name, cell, code)


@pytest.mark.parametrize("number", range(FEW))
def test_right_ways_earn_everything(graded, number):
    assert_full_marks(graded[f"right-{number}"])


@pytest.mark.parametrize("number", range(FEW))
def test_mistakes_are_rejected_and_named(graded, number):
    assert_named(graded[f"wrong-{number}"], choose_mistakes(number))


def test_an_untouched_notebook_is_missing_everything(graded):
    result = graded["untouched"]
    assert (result["score"], result["max_score"]) == (0, 16)
    assert (result["assignment"], result["notebook"]) == ("attention_at_work", "1_noise_and_heads")
    judged = [cell for name, cell in result["cells"].items() if name.startswith("test_")]
    assert {(cell["status"], cell["diagnosis"]) for cell in judged} == {("missing", "todo-open")}
    by_hand = [cell["max_score"] for name, cell in result["cells"].items() if "answer_" in name]
    assert by_hand == [0, 2, 2, 2, 2, 3, 3]


@pytest.mark.soak
def test_every_right_way_earns_everything(blueprint, tmp_path):
    codes = {f"right-{n}": choose_variants(n, 1) for n in range(ALL_VARIANTS)}
    for result in grade_all(blueprint, tmp_path, codes).values():
        assert_full_marks(result)


@pytest.mark.soak
def test_every_mistake_is_rejected_and_named(blueprint, tmp_path):
    mistakes = {f"wrong-{n}": choose_mistakes(n, 1) for n in range(ALL_MISTAKES)}
    results = grade_all(blueprint, tmp_path, {k: take_codes(v) for k, v in mistakes.items()})
    for name, result in results.items():
        assert_named(result, mistakes[name])
