"""Every known mistake is rejected and named, every right variant earns everything; in-process."""

import math

import numpy as np
import pytest

from autograder.blueprint import load_blueprint
from autograder.course import load_assignment
from autograder.exercises import find_exercises
from autograder.exercises.attention import attention_from_scratch as exercises
from autograder.exercises.attention.attention_from_scratch_code import (
    MISTAKES,
    ORACLES,
    VARIANTS,
)
from autograder.grading.in_process import grade_here
from autograder.grading.judge import decide
from autograder.grading.second_try import add_stand_ins, choose_stand_ins, judge_again
from autograder.kernel import wire
from course_utils.checks.attention_words import WORDS

MODULE = "attention.attention_from_scratch"
EXERCISES = find_exercises(MODULE)
SOLUTIONS = load_blueprint(load_assignment("attention"), "2_attention_from_scratch").solutions
NAMES = tuple(ORACLES)
POINTS = {name: 4.0 if name == "self_attention" else 2.0 for name in NAMES}
MISTAKEN = [
    pytest.param(name, slug, code, id=f"{name}-{slug}-{number}")
    for name in NAMES
    for slug, codes in MISTAKES[name].items()
    for number, code in enumerate(codes)
]
RIGHT = [
    pytest.param(name, code, id=f"{name}-{number}")
    for name in NAMES
    for number, code in enumerate([SOLUTIONS[name], ORACLES[name], *VARIANTS[name]])
]


def make_fresh_namespace(*codes):
    return exercises.make_namespace.__wrapped__(*ORACLES.values(), *codes)


def judge_code(name, *codes, seed=447, program=None):
    exercise = EXERCISES[name]
    inputs = exercise.draw_inputs(seed)
    text = wire.answer(program or exercise.program, make_fresh_namespace(*codes), wire.dump(inputs))
    return decide(exercise, POINTS[name], "ok", wire.load(text), inputs, SOLUTIONS)


def test_there_are_enough_of_both():
    assert len(MISTAKEN) >= 40
    assert len(RIGHT) - 2 * len(NAMES) >= 25
    assert {param.values[0] for param in MISTAKEN} == set(NAMES)


@pytest.mark.parametrize(("name", "slug", "code"), MISTAKEN)
def test_a_mistake_is_rejected_and_named(name, slug, code):
    verdict = judge_code(name, code)
    assert verdict.score < verdict.max_score
    assert verdict.status != "passed"
    assert verdict.diagnosis == slug
    assert WORDS[slug] in verdict.messages[0]


@pytest.mark.parametrize(("name", "code"), RIGHT)
def test_a_right_way_earns_everything(name, code):
    verdict = judge_code(name, code)
    assert (verdict.score, verdict.status) == (verdict.max_score, "passed"), verdict.messages


@pytest.mark.parametrize("name", NAMES)
def test_inputs_come_from_the_seed(name):
    exercise = EXERCISES[name]
    one, same, other = (exercise.draw_inputs(seed) for seed in (1, 1, 2))
    assert all(np.array_equal(one[key], same[key]) for key in one)
    drawn = [key for key in one if not key.endswith(".mask")]
    assert any(not np.array_equal(one[key], other[key]) for key in drawn)
    for seed in (1, 2):
        assert judge_code(name, SOLUTIONS[name], seed=seed).status == "passed"


@pytest.mark.parametrize("seed", [5, 6])
def test_mistakes_are_named_on_other_inputs_too(seed):
    for name, slug, code in (param.values for param in MISTAKEN[::9]):
        verdict = judge_code(name, code, seed=seed)
        assert verdict.diagnosis == slug, (name, slug, verdict)


def test_a_mask_that_stays_on_the_cpu_earns_nothing_even_in_a_pair_that_works():
    additive = (
        "def make_causal_mask(n_tok):\n"
        "    return torch.full((n_tok, n_tok), -math.inf{place}).triu(1)\n"
        "def apply_causal_mask(mask, A):\n    return A + mask"
    )
    assert judge_code("make_causal_mask", additive.format(place="")).status == "passed"
    for place in (", device='cpu'", ", device=torch.device('cpu')"):
        verdict = judge_code("make_causal_mask", additive.format(place=place))
        assert (verdict.score, verdict.diagnosis) == (0.0, "hard-coded-device")


def test_a_device_under_any_name_is_followed():
    own = "A = A.masked_fill(torch.ones(A.shape[-2:], device={place}).triu(1) == 1, -math.inf)"
    for before, place in (
        ("dev = 'cuda' if torch.cuda.is_available() else 'cpu'\n", "dev"),
        ("class CFG:\n    device = torch.device('cpu')\n", "CFG.device"),
        ("settings = dict(device='cpu')\n", "settings['device']"),
    ):
        text = ORACLES["self_attention"].replace(
            "A = apply_causal_mask(make_causal_mask(Q.shape[-2]), A)", own.format(place=place)
        )
        assert judge_code("self_attention", before + text).status == "passed", place
    fixed = ORACLES["self_attention"].replace(
        "A = apply_causal_mask(make_causal_mask(Q.shape[-2]), A)", own.format(place="'cpu'")
    )
    assert judge_code("self_attention", fixed).diagnosis == "hard-coded-device"


def test_a_known_mistake_that_gives_the_right_numbers_here_explains_nothing():
    coarse = "def attn_softmax(A):\n    return torch.softmax(A.half(), dim=-1).to(A.dtype)"
    verdict = judge_code("attn_softmax", coarse)
    assert verdict.status != "passed" and verdict.diagnosis == "wrong-values"


def test_numbers_in_extreme_cases_reach_ten_thousand():
    inputs = EXERCISES["attn_softmax"].draw_inputs()
    assert inputs["extreme.A"].dtype == np.float32
    assert np.abs(inputs["extreme.A"]).max() >= 1e4
    attention = EXERCISES["self_attention"].draw_inputs()
    Q, K = attention["extreme-1-plain.Q"], attention["extreme-1-plain.K"]
    assert np.abs(Q @ K.swapaxes(-1, -2) / 2).max() >= 1e4


def test_a_finite_fill_passes_from_minus_1e9_down_with_a_remark():
    for fill, passes in ((-1e9, True), (-1e30, True), (-1e8, False), (-1e4, False)):
        code = f"def apply_causal_mask(mask, A):\n    return A.masked_fill(mask == 0, {fill})"
        verdict = judge_code("apply_causal_mask", code)
        assert (verdict.status == "passed") is passes, fill
        remarked = any("Remark" in message for message in verdict.lines)
        assert remarked is passes
        if not passes:
            assert verdict.diagnosis == "mask-finite"


def test_each_mask_function_is_judged_by_its_contract_when_the_pair_fails():
    wrong_mask = MISTAKES["make_causal_mask"]["mask-off-by-one"][0]
    assert judge_code("make_causal_mask", wrong_mask).score == 0
    assert judge_code("apply_causal_mask", wrong_mask).score == 2
    wrong_masking = MISTAKES["apply_causal_mask"]["mask-added"][0]
    assert judge_code("make_causal_mask", wrong_masking).score == 2
    assert judge_code("apply_causal_mask", wrong_masking).score == 0


def test_an_inverted_mask_needs_a_masking_that_fits():
    inverted = MISTAKES["make_causal_mask"]["mask-inverted"][0]
    fitting = "def apply_causal_mask(mask, A):\n    return A.masked_fill(mask, -math.inf)"
    assert judge_code("make_causal_mask", inverted).score == 0
    assert judge_code("make_causal_mask", inverted, fitting).score == 2
    assert judge_code("apply_causal_mask", inverted, fitting).score == 2


def test_a_pair_in_which_one_function_does_all_the_work_earns_that_ones_points():
    for slug in ("mask-all-ones", "wrong-shape"):
        pair = MISTAKES["make_causal_mask"][slug][-1]
        assert "def apply_causal_mask" in pair
        assert judge_code("make_causal_mask", pair).score == 0
        assert judge_code("apply_causal_mask", pair).score == 2


def test_a_masking_that_changes_the_mask_loses_its_own_points_alone():
    pair = MISTAKES["apply_causal_mask"]["input-changed"][-1]
    verdict = judge_code("apply_causal_mask", pair)
    assert verdict.score == 0 and any("changed: mask" in line for line in verdict.lines)
    assert judge_code("make_causal_mask", pair).score == 2


@pytest.mark.parametrize("how", ["device='cpu'", "device=torch.device('cpu')"])
def test_a_mask_that_is_made_on_the_cpu_is_no_kept_one(how):
    code = ORACLES["make_causal_mask"].replace("device=DEVICE", how)
    verdict = judge_code("self_attention", code)
    assert (verdict.score, verdict.diagnosis) == (3, "hard-coded-device")


def test_outputs_that_are_no_numbers_are_not_said_to_move():
    verdict = judge_code("self_attention", MISTAKES["self_attention"]["infinity-after-softmax"][0])
    assert any("are NaN" in line for line in verdict.lines)
    assert not any("moved by" in line for line in verdict.lines)


def test_self_attention_earns_a_quarter_for_each_way_it_works():
    shares = {"mask-forgotten": 2, "mask-before-heads-only": 3, "heads-ignored": 2,
              "softmax-over-queries": 0}  # fmt: skip
    for slug, points in shares.items():
        assert judge_code("self_attention", MISTAKES["self_attention"][slug][0]).score == points


def judge_whole(name, *codes):
    """Judge as the grader does: on the learner's own pieces, then on right ones."""
    names = [*EXERCISES[name].builds_on, name]
    verdicts = {piece: judge_code(piece, *codes) for piece in names}
    stood_in = choose_stand_ins(EXERCISES[name], {n: v.status for n, v in verdicts.items()})

    def ask(exercise, program):
        return judge_code(exercise.name, *codes, program=program)

    return judge_again(verdicts, EXERCISES, SOLUTIONS, ask)[name], stood_in


@pytest.mark.parametrize("piece", exercises.PIECES)
def test_one_wrong_piece_is_paid_once(piece):
    wrong = next(iter(MISTAKES[piece].values()))[0]
    verdict, pieces = judge_whole("self_attention", wrong)
    assert pieces[0] == [piece]
    assert verdict.score == 4
    assert any("stood in for" in message for message in verdict.messages)


def test_right_pieces_do_not_mend_a_wrong_self_attention():
    wrong_piece = MISTAKES["attn_softmax"]["softmax-over-queries"][0]
    wrong = MISTAKES["self_attention"]["mask-forgotten"][0]
    verdict, pieces = judge_whole("self_attention", wrong_piece, wrong)
    assert pieces[0] == ["attn_softmax"]
    assert verdict.score == 2
    assert verdict.diagnosis == "mask-forgotten"


def test_stand_ins_are_gone_afterwards():
    wrong = MISTAKES["attn_scaled"]["scale-forgotten"][0]
    namespace = make_fresh_namespace(wrong)
    own = namespace["attn_scaled"]
    exercise = EXERCISES["self_attention"]
    program = add_stand_ins(exercise, [(EXERCISES["attn_scaled"], SOLUTIONS["attn_scaled"])])
    wire.answer(program, namespace, wire.dump(exercise.draw_inputs()))
    assert namespace["attn_scaled"] is own


def test_a_mask_and_its_masking_stand_in_together():
    statuses = dict.fromkeys(exercises.PIECES, "passed") | {"make_causal_mask": "failed"}
    chosen = choose_stand_ins(EXERCISES["self_attention"], statuses)
    assert chosen[:2] == [["make_causal_mask"], ["make_causal_mask", "apply_causal_mask"]]
    assert choose_stand_ins(EXERCISES["self_attention"], {}) == [list(exercises.PIECES)]


def test_a_name_that_is_missing_or_no_function():
    exercise = EXERCISES["attn_softmax"]
    inputs = exercise.draw_inputs()
    for namespace, status, slug in (
        ({}, "missing", "not-defined"),
        ({"attn_softmax": ...}, "missing", "todo-open"),
        ({"attn_softmax": 3}, "failed", "not-a-function"),
    ):
        values = wire.load(wire.answer(exercise.program, namespace, wire.dump(inputs)))
        verdict = decide(exercise, 2, "ok", values, inputs, SOLUTIONS)
        assert (verdict.score, verdict.status, verdict.diagnosis) == (0, status, slug)


@pytest.mark.parametrize("values", [{}, {"tokens.out": wire.Missing}, {"nonsense": np.ones(3)}])
def test_values_that_make_no_sense_earn_nothing(values):
    for name in NAMES:
        inputs = EXERCISES[name].draw_inputs()
        verdict = decide(EXERCISES[name], POINTS[name], "ok", values, inputs, SOLUTIONS)
        assert verdict.score == 0
        assert math.isfinite(verdict.score)


def test_grading_in_the_same_process_gives_the_same(monkeypatch, capsys):
    monkeypatch.delenv("COURSE_JUDGE", raising=False)
    namespace = make_fresh_namespace(MISTAKES["split_heads"]["heads-bare-view"][0])
    assert grade_here(MODULE, "split_heads", namespace, 2.0) == 0
    assert grade_here(MODULE, "self_attention", namespace, 4.0) == 4
    assert "stood in for" in capsys.readouterr().out


_FLOAT_MASK = "def make_causal_mask(n_tok):\n    return torch.ones(n_tok, n_tok).tril()\n"
_OWN_MASKING = """
def self_attention(Q, K, V, n_heads=1, causal=True):
    q, k, v = (split_heads(x, n_heads) for x in (Q, K, V))
    A = attn_scaled(pairwise_similarities(q, k), Q.shape[-1], n_heads)
    if causal:
        A = A - 1e12 * (1 - make_causal_mask(A.shape[-1]).to(A))
    return merge_heads(compute_outputs(attn_softmax(A), v))
"""


@pytest.mark.parametrize("mask", [_FLOAT_MASK, _FLOAT_MASK.replace(".tril()", ".tril(-1)")])
def test_a_stand_in_mask_has_the_form_of_the_learners_own(mask):
    own = _OWN_MASKING.replace(".to(A)", "")  # raises with a mask of True and False
    scaled = MISTAKES["attn_scaled"]["scale-forgotten"][0]
    masking = MISTAKES["apply_causal_mask"]["mask-result-dropped"][0]
    verdict, _ = judge_whole("self_attention", mask, scaled, masking, own)
    assert (verdict.score, verdict.status) == (4, "passed"), verdict.messages
    assert any("stood in for" in message for message in verdict.messages)
