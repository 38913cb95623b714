"""The judge: every known mistake is named, every accepted variant passes, no score is odd."""

import math

import numpy as np
import pytest
import torch
from nbgrader.utils import determine_grade

from autograder.exercises import EXERCISES, grade_here, query_crafting
from autograder.exercises.base import Exercise, Ruling
from autograder.grading import make_output
from autograder.judge import Verdict, decide
from autograder.kernel import wire
from course_utils import queries
from course_utils.checks.findings import Finding

NAMES = [exercise.name for exercise in query_crafting.EXERCISES]
MISTAKES = [(name, mistake) for name in NAMES for mistake in EXERCISES[name].mistakes]
VARIANTS = [
    (name, code)
    for name in NAMES
    for code in (EXERCISES[name].reference, *EXERCISES[name].variants)
]


def judge(name: str, code: str, **others) -> Verdict:
    """Run code as a solution cell would run and judge what it leaves behind."""
    namespace = {"torch": torch, "K": queries.make_keys(), "V": queries.make_values()}
    exec(EXERCISES["q_average_two"].reference, namespace)
    namespace |= others
    exec(code, namespace)
    exercise = EXERCISES[name]
    reply = wire.answer(exercise.program, namespace, wire.dump(exercise.inputs))
    return decide(exercise, 2.0, "ok", wire.load(reply))


@pytest.mark.parametrize("name, mistake", MISTAKES, ids=lambda value: getattr(value, "code", value))
def test_a_known_mistake_is_rejected_and_named(name, mistake):
    verdict = judge(name, mistake.code)
    assert (verdict.score, verdict.status) == (0.0, "failed")
    assert verdict.diagnosis == mistake.diagnosis
    assert len(verdict.messages[0]) > 30


@pytest.mark.parametrize("name, code", VARIANTS)
def test_an_accepted_variant_gets_full_marks(name, code):
    verdict = judge(name, code)
    assert (verdict.score, verdict.status, verdict.diagnosis) == (2.0, "passed", None)


def test_there_are_enough_of_both():
    assert len(MISTAKES) >= 18 and len(VARIANTS) >= 10


def test_section_1_4_is_judged_with_the_learners_own_query_when_it_is_right():
    own = 12 * (queries.make_keys()[0] + queries.make_keys()[1])
    verdict = judge(
        "k2_select", "k2_select = q_average_two / q_average_two.norm()", q_average_two=own
    )
    assert verdict.status == "passed" and len(verdict.messages) == 3


def test_a_wrong_query_of_1_3_2_is_paid_once():
    for wrong in (torch.zeros(3), ..., "text", 1e6 * torch.ones(3)):
        verdict = judge("k2_average_three", "k2_average_three = K[0]", q_average_two=wrong)
        assert verdict.status == "passed"
        assert "a right one stood in" in verdict.messages[-1]


def test_a_right_but_short_query_is_no_excuse():
    short = 2 * (queries.make_keys()[0] + queries.make_keys()[1])
    code = "k2_select = q_average_two / q_average_two.norm()"
    verdict = judge("k2_select", code, q_average_two=short)
    assert verdict.diagnosis == "query-too-short" and "13.4" in verdict.messages[0]


def test_a_missing_or_open_answer_is_missing_and_not_failed():
    assert judge("q_select_first", "q_select_first = ...").status == "missing"
    verdict = judge("q_select_first", "pass")
    assert (verdict.status, verdict.diagnosis) == ("missing", "not-defined")


@pytest.mark.parametrize("share", [math.nan, math.inf, -math.inf, -3.0, 7.0, 0.5, 0.0, 1.0])
def test_a_score_is_never_odd_whatever_a_rule_says(share):
    exercise = Exercise("x", "", "", lambda values: Ruling(share, Finding(False, "hm", "odd")))
    verdict = decide(exercise, 2.0, "ok", {})
    assert 0.0 <= verdict.score <= 2.0
    if share == 0.5:
        assert (verdict.score, verdict.status) == (1.0, "partial")


@pytest.mark.parametrize("score", [0.0, 0.5, 1.0, 2.0])
def test_nbgrader_reads_the_score_that_was_given(score):
    """Partial credit reaches nbgrader as it is, 0 included."""
    import nbformat

    cell = nbformat.v4.new_code_cell("check(...)")
    cell.metadata["nbgrader"] = {"grade": True, "solution": False, "points": 2, "grade_id": "x"}
    cell.outputs = [make_output(Verdict(score, 2.0, "partial", None, ["<b>why</b>"]))]
    assert determine_grade(cell) == (score, 2.0)
    assert "&lt;b&gt;why" in cell.outputs[0].data["text/html"]


def test_trouble_in_the_kernel_is_named():
    for status in ("timeout", "crashed"):
        verdict = decide(EXERCISES["q_select_first"], 2.0, status, {})
        assert (verdict.score, verdict.status) == (0.0, status) and verdict.messages


def test_grading_inside_the_kernel_is_refused_where_the_judge_should_be_outside(monkeypatch):
    monkeypatch.setenv("COURSE_JUDGE", "outside")
    with pytest.raises(RuntimeError, match="hook is broken"):
        grade_here("q_average_all", {"q_average_all": [0, 0, 0]}, points=2)
    monkeypatch.delenv("COURSE_JUDGE")
    assert grade_here("q_average_all", {"q_average_all": [0, 0, 0]}, points=2) == 2.0


# ------------------------------------------------------------------------------- the wire


def test_arrays_cross_the_wire_unchanged():
    values = {
        "f": np.arange(6, dtype=np.float32).reshape(2, 3).T,
        "b": np.array([True, False]),
        "i": np.int64(3),
        "nan": np.array([np.nan, np.inf]),
        "t": torch.ones(2, 2, dtype=torch.bfloat16, requires_grad=True),
    }
    back = wire.load(wire.dump(values))
    assert np.array_equal(back["f"], values["f"]) and back["f"].dtype == np.float32
    assert back["b"].dtype == bool and back["i"] == 3
    assert np.isnan(back["nan"][0]) and back["t"].shape == (2, 2)


class Evil:
    """Fails, or lies, wherever it is touched."""

    def __getattr__(self, name):
        raise RuntimeError("no")

    def __array__(self, *args, **kwargs):
        raise RuntimeError("no")


def test_what_is_not_numbers_comes_back_as_a_word():
    for value in ("text", None, [[1], [1, 2]], {}, object(), Evil(), [], 1j):
        back = wire.load(wire.dump({"x": value}))["x"]
        assert isinstance(back, wire.Unusable), type(value)


@pytest.mark.parametrize(
    "text",
    [
        "", "not json", "[1, 2]", "null", "1" * 5, None, 3,
        '{"x": 3}', '{"x": {"kind": "array"}}',
        '{"x": {"kind": "array", "dtype": "object", "shape": [1], "data": "AAAA"}}',
        '{"x": {"kind": "array", "dtype": "float64", "shape": [-1, 4], "data": "AAAA"}}',
        '{"x": {"kind": "array", "dtype": "float64", "shape": [1000000000], "data": "AAAA"}}',
        '{"x": {"kind": "array", "dtype": "float64", "shape": [1], "data": "!"}}',
        '{"x": {"kind": "pickle", "data": "gASVAAAA"}}',
    ],
)  # fmt: skip
def test_a_malformed_reply_is_never_an_exception(text):
    values = wire.load(text)
    assert all(isinstance(value, wire.Unusable) for value in values.values())
    for exercise in EXERCISES.values():
        verdict = decide(exercise, 2.0, "ok", {exercise.name: values.get("x", wire.Missing)})
        assert verdict.score == 0.0


def test_a_reply_that_is_too_long_is_dropped(monkeypatch):
    monkeypatch.setattr(wire, "LIMIT", 10)
    assert wire.load(wire.dump({"x": np.zeros(100)})) == {}
