"""The judge: every known mistake is named, every accepted variant passes, no score is odd."""

import math
from collections import Counter
from dataclasses import replace

import pytest
import torch
from nbgrader.utils import determine_grade

from autograder.blueprint import load_blueprint
from autograder.course import load_assignment
from autograder.exercises import find_exercises
from autograder.exercises.base import Exercise, Ruling
from autograder.grading import grade
from autograder.grading.grade import make_output
from autograder.demo.personas import fill_in, solve_all
from autograder.grading import judges
from autograder.grading.grade import grade_notebook
from autograder.grading.hidden_words import HiddenWords
from autograder.grading.in_process import grade_here
from autograder.grading.judge import Verdict, decide
from autograder.grading.second_try import (
    add_stand_ins,
    choose_stand_ins,
    credit,
    judge_again,
    pay_once,
)
from autograder.intake.restore import restore
from autograder.kernel import wire
from autograder.reports.sentences import describe_check, list_details
from course_utils import queries
from course_utils.checks.findings import Finding

MODULE = "attention.query_crafting"
SCRATCH = load_blueprint(load_assignment("attention"), "2_attention_from_scratch")
SOLUTIONS = SCRATCH.solutions
EXERCISES = find_exercises(MODULE)
NAMES = list(EXERCISES)
MISTAKES = [(name, mistake) for name in NAMES for mistake in EXERCISES[name].mistakes]
VARIANTS = [
    (name, code) for name in NAMES for code in (EXERCISES[name].oracle, *EXERCISES[name].variants)
]


def judge(name: str, code: str, **others) -> Verdict:
    """Run code as a solution cell would run and judge what it leaves behind."""
    namespace = {"torch": torch, "K": queries.make_keys(), "V": queries.make_values()}
    exec(EXERCISES["q_average_two"].oracle, namespace)
    namespace |= others
    exec(code, namespace)
    exercise = EXERCISES[name]
    reply = wire.answer(exercise.program, namespace, wire.dump(exercise.inputs))
    return decide(exercise, 2.0, "ok", wire.load(reply), exercise.inputs, {})


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
    assert verdict.status == "passed" and len(verdict.lines) == 3


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
    exercise = Exercise("x", "", lambda *_: Ruling(share, Finding(False, "hm", "odd")), "")
    verdict = decide(exercise, 2.0, "ok", {}, {}, {})
    assert 0.0 <= verdict.score <= 2.0
    if share == 0.5:
        assert (verdict.score, verdict.status) == (1.0, "partial")
    if not math.isfinite(share):
        assert (verdict.score, verdict.status) == (0.0, "failed")


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
        verdict = decide(EXERCISES["q_select_first"], 2.0, status, {}, {}, {})
        assert (verdict.score, verdict.status) == (0.0, status) and verdict.messages


def test_grading_inside_the_kernel_is_refused_where_the_judge_should_be_outside(monkeypatch):
    monkeypatch.setenv("COURSE_JUDGE", "outside")
    with pytest.raises(RuntimeError, match="hook is broken"):
        grade_here(MODULE, "q_average_all", {"q_average_all": [0, 0, 0]}, points=2)
    monkeypatch.delenv("COURSE_JUDGE")
    assert grade_here(MODULE, "q_average_all", {"q_average_all": [0, 0, 0]}, points=2) == 2.0


# ------------------------------------------------------------------- one mistake is paid once


def test_right_pieces_stand_in_and_leave_again():
    program = (
        "def probe(namespace, inputs):\n    return {'x': namespace['piece'](2) + namespace['own']}"
    )
    exercise = Exercise("x", program, lambda *_: None, "", builds_on=("piece",))
    namespace = {"piece": lambda x: -x, "own": 1}
    before = dict(namespace)
    piece = Exercise("piece", "", lambda *_: None, "")
    code = "factor = 10\ndef piece(x):\n    return factor * x"
    reply = wire.load(wire.answer(add_stand_ins(exercise, [(piece, code)]), namespace, "{}"))
    assert reply["x"] == 21
    assert namespace == before, "what a learner wrote is what stays"
    fit = "def fitted(x):\n    return right(x) * own(1)"
    fitted = Exercise("piece", "", lambda *_: None, "", stand_in=fit)
    reply = wire.load(wire.answer(add_stand_ins(exercise, [(fitted, code)]), namespace, "{}"))
    assert reply["x"] == -19 and namespace == before


def test_pieces_that_only_fit_each_other_are_replaced_together():
    exercise = Exercise(
        "x", "", lambda *_: None, "",
        builds_on=("mask", "apply", "other"), together=(("mask", "apply"),),
    )  # fmt: skip
    pieces = ["mask", "apply", "other"]
    chosen = choose_stand_ins(exercise, {"mask": "failed", "apply": "passed"})
    assert chosen == [["mask"], ["mask", "apply"], pieces]
    assert choose_stand_ins(exercise, {"other": "partial"}) == [["other"], pieces]
    assert choose_stand_ins(exercise, {"mask": "passed", "stranger": "failed"}) == [pieces]


def test_a_slip_in_two_functions_is_paid_once_in_the_first():
    first, second, third = (
        Exercise(name, "", lambda *_: None, "", slips=frozenset({"means"})) for name in "abc"
    )
    exercises = {"a": first, "b": second, "c": third}
    lost = [[2, 0, None], [1, 1, "means"]]
    both = [[2, 2, "other"], [1, 1, "means"]]
    verdicts = {
        "c": Verdict(0.0, 3.0, "failed", "other", ["C"], parts=both),
        "b": Verdict(4.0, 6.0, "partial", "means", ["B"], parts=lost),
        "a": Verdict(2.0, 3.0, "partial", "means", ["A"], parts=lost),
    }
    paid = pay_once(verdicts, exercises)
    assert paid["a"] is verdicts["a"]
    assert (paid["b"].score, paid["b"].status) == (6.0, "passed")
    assert "`a` has paid for" in paid["b"].messages[-1]
    assert (paid["c"].score, paid["c"].status) == (1.0, "partial")  # the other mistake is its own
    assert pay_once({"b": verdicts["b"]}, exercises)["b"] is verdicts["b"]
    strange = {name: replace(e, slips=frozenset()) for name, e in exercises.items()}
    assert pay_once(verdicts, strange) == verdicts


def test_parts_stay_inside():
    verdict = Verdict(1.0, 2.0, "partial", "x", ["X"], parts=[[1, 1, "x"]])
    assert "parts" not in verdict.to_dict()


def test_a_second_try_counts_only_when_it_is_worth_more():
    first = Verdict(2.0, 4.0, "partial", "a", ["own"])
    assert credit(first, Verdict(2.0, 4.0, "partial", "b", ["right"]), ["p"]) is first
    assert credit(first, Verdict(1.0, 4.0, "partial", "b", ["right"]), ["p"]) is first
    better = credit(first, Verdict(3.0, 4.0, "partial", "b", ["LOOT"]), ["p", "q"])
    assert better.score == 3.0 and better.diagnosis == "b"
    assert "LOOT" not in str(better.messages), "nothing that the kernel said comes out"
    assert better.messages[0] == "With right pieces beneath it, this is partly right."
    assert "stood in for p, q" in better.messages[-1] and "3 of 4 points" in better.messages[-1]


class Asked:
    """In a kernel's place: remembers what it was asked, and has nothing to say."""

    def __init__(self):
        self.inputs = []

    def ask(self, program, inputs, timeout, watched):
        self.inputs.append(inputs)
        return "ok", ""


def test_what_is_missing_gets_no_second_try(assignment):
    exercises = find_exercises("attention.attention_from_scratch")
    asked = []

    def ask(exercise, program):
        asked.append(exercise.name)
        return Verdict(4.0, 4.0, "passed")

    verdicts = {
        "attn_softmax": Verdict(0.0, 2.0, "failed"),
        "self_attention": Verdict(0.0, 4.0, "missing", "todo-open"),
    }
    assert judge_again(verdicts, exercises, SOLUTIONS, ask) == verdicts and asked == []
    verdicts["self_attention"] = Verdict(0.0, 4.0, "failed")
    assert judge_again(verdicts, exercises, SOLUTIONS, ask)["self_attention"].score == 4.0
    assert asked == ["self_attention"]


def test_hidden_inputs_are_drawn_from_the_seed_of_the_submission():
    exercise = find_exercises("attention.attention_from_scratch")["attn_softmax"]
    kernel = Asked()
    for seed in (1, 2, 1):
        grade._ask(kernel, exercise, exercise.program, SCRATCH, seed, Counter())
    one, other, again = kernel.inputs
    assert one == again and one != other


def test_numbers_stand_apart_from_the_sentence():
    verdict = judge("q_select_first", "q_select_first = -10 * K[0]")
    assert len(verdict.messages) == 1 and "v0" not in verdict.messages[0].partition(":")[2]
    assert any("error" in line for line in verdict.details)
    assert any("weights" in line for line in verdict.details)
    shown = HiddenWords([], []).strip_messages(verdict.details)
    cell = verdict.to_dict() | {"details": shown}
    assert len(list_details(cell)) == len(verdict.details)
    assert "error 0" not in describe_check(cell) and "slip" not in cell


def test_a_mistake_of_the_judges_own_costs_no_other_exercise_and_is_not_kept_quiet():
    def fail(values, inputs, solutions):
        return values["nothing of the kind"]

    broken = replace(EXERCISES["q_select_first"], rule=fail)
    verdict = decide(broken, 2.0, "ok", {}, {}, {})
    assert (verdict.score, verdict.diagnosis) == (0.0, "not-judged")
    assert "KeyError" in verdict.slip and "KeyError" not in " ".join(verdict.lines)
    assert "your instructor is told" in verdict.messages[0]


def test_a_mistake_of_the_judges_own_is_flagged(blueprint, monkeypatch):
    def fail(self, status, reply):
        verdict = decide_as_always(self, status, reply)
        return replace(verdict, slip="KeyError: x") if self.exercise == "Q_identity" else verdict

    decide_as_always = judges.Question.decide
    monkeypatch.setattr(judges.Question, "decide", fail)
    monkeypatch.setattr(judges.nursery, "is_possible", lambda: False)
    notebook = fill_in(blueprint, solve_all(blueprint))
    (flag,) = grade_notebook(restore(notebook, blueprint), blueprint, None).flags
    assert "Q_identity could not be judged (KeyError: x)" in flag
