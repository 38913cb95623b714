"""The translation notebook's judge: mistakes are named, right ways earn everything; also graded for real."""

import json
from collections import Counter
from itertools import cycle, islice

import nbformat
import numpy as np
import pytest

from autograder.blueprint import load_blueprint
from autograder.course import load_assignment
from autograder.demo.personas import fill_in, solve_all
from autograder.exercises.attention_at_work import translation as exercises
from autograder.exercises.attention_at_work.translation_code import (
    MISTAKES,
    ORACLES,
    SHARES,
    VARIANTS,
)
from autograder.grading.judge import decide
from autograder.grading.kept_outputs import NOTE
from autograder.kernel import wire
from course_utils.checks.translation import NAMES, examine
from course_utils.checks.translation_words import WORDS
from tests.conftest import ROOT, grade

pytestmark = pytest.mark.xdist_group("translation_exercises")
EXERCISES = {exercise.name: exercise for exercise in exercises.EXERCISES}
POINTS = {
    "MeanPoolAttention": 3, "SingleQueryScaledDotProductAttention": 6, "masked_loss": 2,
    "greedy_translate": 3, "describe_losses": 2,
}  # fmt: skip
MISTAKEN = [
    pytest.param(name, slug, code, id=f"{name}-{slug}-{number}")
    for name in NAMES
    for slug, codes in MISTAKES[name].items()
    for number, code in enumerate(codes)
]
RIGHT = [
    pytest.param(name, code, id=f"{name}-{number}")
    for name in NAMES
    for number, code in enumerate([ORACLES[name], *VARIANTS[name]])
]


# Points of the known mistakes that were tried in this process, by exercise and name.
_best: dict[tuple[str, str], float] = {}
_untried = Counter([param.values[:2] for param in MISTAKEN])


@pytest.fixture(scope="module")
def notebook():
    return load_blueprint(load_assignment("attention_at_work", ROOT), "2_translation")


def judge_code(name, code, solutions, seed=447):
    exercise = EXERCISES[name]
    inputs = exercise.draw_inputs(seed)
    text = wire.answer(exercise.program, exercises.make_namespace(code), wire.dump(inputs))
    return decide(exercise, POINTS[name], "ok", wire.load(text), inputs, solutions)


def test_there_are_enough_of_both():
    assert len(MISTAKEN) >= 30 and len(RIGHT) - len(NAMES) >= 15
    assert {param.values[0] for param in MISTAKEN} == set(NAMES)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "slug", "code"), MISTAKEN)
def test_a_mistake_is_rejected_and_named(name, slug, code, notebook):
    verdict = judge_code(name, code, notebook.solutions)
    share = SHARES.get(name, {}).get(slug, 0)
    assert verdict.score <= POINTS[name] * share + 1e-9 < POINTS[name]
    _untried[name, slug] -= 1
    _best[name, slug] = max(verdict.score, _best.get((name, slug), 0))
    assert verdict.diagnosis == slug, verdict.messages
    assert WORDS[slug] in verdict.messages[0]


def test_every_share_is_one_that_somebody_earns():
    for (name, slug), score in _best.items():
        if _untried[name, slug]:
            continue  # another process tried the others
        share = SHARES.get(name, {}).get(slug, 0)
        assert score == pytest.approx(POINTS[name] * share), (name, slug)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "code"), RIGHT)
def test_a_right_way_earns_everything(name, code, notebook):
    verdict = judge_code(name, code, notebook.solutions)
    assert (verdict.score, verdict.status) == (POINTS[name], "passed"), verdict.messages


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_the_public_check_names_the_same_mistakes(name):
    for code in (ORACLES[name], *VARIANTS[name]):
        assert examine(name, exercises.make_namespace(code)[name]).passed, code
    for slug, codes in MISTAKES[name].items():
        for code in codes:
            finding = examine(name, exercises.make_namespace(code)[name])
            assert finding.diagnosis == slug, (slug, finding, code)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", [5, 6])
def test_other_draws_tell_mistakes_apart_too(seed, notebook):
    for name, slug, code in (param.values for param in MISTAKEN[seed::11]):
        assert judge_code(name, code, notebook.solutions, seed).diagnosis == slug, (name, slug)
    for name in NAMES:
        assert judge_code(name, ORACLES[name], notebook.solutions, seed).status == "passed"


@pytest.mark.parametrize("name", NAMES)
def test_inputs_come_from_the_seed(name):
    one, same, other = (EXERCISES[name].draw_inputs(seed) for seed in (1, 1, 2))
    assert all(np.array_equal(one[key], same[key]) for key in one)
    assert any(not np.array_equal(one.get(key), other.get(key)) for key in one)


@pytest.mark.parametrize("values", [{}, {"plain.attended": wire.Missing}, {"plain.loss": np.ones(3)},
                                    {"stops.words": np.ones((2, 2))}, {"x": wire.Unusable("?")}])  # fmt: skip
def test_values_that_make_no_sense_earn_nothing(values, notebook):
    for name in NAMES:
        inputs = EXERCISES[name].draw_inputs()
        verdict = decide(EXERCISES[name], 2, "ok", values, inputs, notebook.solutions)
        assert verdict.score == 0


def test_layers_without_bias_are_judged_without_it(notebook):
    name = "SingleQueryScaledDotProductAttention"
    code = MISTAKES[name]["scale-forgotten"][0].replace("kq_dim)\n", "kq_dim, bias=False)\n")
    assert "bias=False" in code
    assert judge_code(name, code, notebook.solutions).diagnosis == "scale-forgotten"


def test_a_name_that_is_missing_or_open(notebook):
    exercise = EXERCISES["masked_loss"]
    inputs = exercise.draw_inputs()
    for namespace, slug in (({}, "not-defined"), ({"masked_loss": ...}, "todo-open"),
                            ({"masked_loss": 3}, "not-a-function")):  # fmt: skip
        values = wire.load(wire.answer(exercise.program, namespace, wire.dump(inputs)))
        verdict = decide(exercise, 2, "ok", values, inputs, notebook.solutions)
        assert (verdict.score, verdict.diagnosis) == (0, slug)


# ------------------------------------------------------------------ through the command line

ROUNDS = 2  # notebooks of each kind; the build tries every mistake and variant


def choose_mistakes(number):
    """Take another mistake for every name, and what it should be called."""
    chosen = {}
    for name in NAMES:
        known = [(slug, code) for slug, codes in MISTAKES[name].items() for code in codes[:1]]
        chosen[name] = next(islice(cycle(known), 1 + number * 4, None))
    return chosen


def make_trained(notebook):
    """A student who trained on another machine and added a cell there."""
    handed_in = fill_in(notebook, solve_all(notebook))
    output = nbformat.v4.new_output("stream", name="stdout", text="validation loss 0.08\n")
    for cell in handed_in.cells:
        if "settings = choose_settings(data)" in cell.source:
            cell.outputs = [output]
    added = nbformat.v4.new_code_cell("import time\ntime.sleep(1000)", outputs=[output])
    handed_in.cells.insert(len(handed_in.cells) - 1, added)
    return handed_in


@pytest.fixture(scope="module")
def graded(notebook, tmp_path_factory):
    """Grade all notebooks of this module in one call, as a class is graded."""
    folder = tmp_path_factory.mktemp("translators")
    notebooks = {"untouched": fill_in(notebook, {}), "trained": make_trained(notebook)}
    for number in range(ROUNDS):
        variants = {name: VARIANTS[name][(2 * number) % len(VARIANTS[name])] for name in NAMES}
        notebooks[f"right-{number}"] = fill_in(notebook, variants)
        mistakes = {name: code for name, (_, code) in choose_mistakes(number).items()}
        notebooks[f"wrong-{number}"] = fill_in(notebook, mistakes)
    paths = {}
    for name, handed_in in notebooks.items():
        paths[name] = folder / f"{name}.ipynb"
        paths[name].write_text(json.dumps(handed_in), "utf-8")
    return dict(zip(paths, grade(*paths.values()), strict=True))


def test_graded_right_ways_earn_everything(graded):
    for number in range(ROUNDS):
        result = graded[f"right-{number}"]
        assert (result["score"], result["max_score"]) == (16, 16), result["cells"]


def test_graded_mistakes_are_rejected_and_named(graded):
    for number in range(ROUNDS):
        result = graded[f"wrong-{number}"]
        known = {
            name: SHARES.get(name, {}).get(slug, 0)
            for name, (slug, _) in choose_mistakes(number).items()
        }
        assert result["score"] <= sum(POINTS[name] * share for name, share in known.items()) + 1e-9
        for name, (slug, _) in choose_mistakes(number).items():
            assert result["cells"][f"test_{name}"]["diagnosis"] == slug, (name, result["cells"])


def test_an_untouched_notebook_is_missing_everything(graded):
    result = graded["untouched"]
    assert result["score"] == 0
    judged = [cell for name, cell in result["cells"].items() if name.startswith("test_")]
    assert {(cell["status"], cell["diagnosis"]) for cell in judged} == {("missing", "todo-open")}


def test_training_is_neither_run_again_nor_lost(notebook, graded):
    assert graded["trained"]["score"] == 16  # and the cell that was added did not sleep
    from autograder.grading.grade import grade_notebook
    from autograder.intake.restore import restore

    restored = restore(make_trained(notebook), notebook)
    grade_notebook(restored, notebook, None)
    kept = [
        cell for cell in restored.notebook.cells
        if cell.cell_type == "code" and "validation loss 0.08" in str(cell.outputs)
    ]  # fmt: skip
    assert len(kept) == 2
    assert all(cell.outputs[0].text.startswith(NOTE) for cell in kept)
