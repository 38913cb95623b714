"""Contracts and claims, written a second time: they must be able to say no to the judge."""

import numpy as np
import pytest

from autograder.exercises import find_exercises
from autograder.exercises.attention.attention_from_scratch import make_namespace
from autograder.exercises.attention.attention_from_scratch_code import ORACLES
from autograder.kernel import wire
from autograder.proving.claims import Seen, find_claim
from autograder.proving.claims.cases import CASES
from autograder.proving.claims.finetuning import FINETUNING
from autograder.proving.claims.pretraining import PRETRAINING
from autograder.proving.claims.queries import CRAFTED, CRAFTED_MATRICES, NOISY
from autograder.proving.claims.translation import TRANSLATION
from autograder.proving.contracts import BETWEEN, RIGHT, WRONG, ask_contract
from course_utils.checks import (
    attention_words,
    finetuning_words,
    noise_and_heads_words,
    pretraining_words,
    translation_words,
)
from course_utils.queries import make_keys

K = make_keys().double().numpy()


@pytest.mark.parametrize(
    ("query", "verdict"),
    [
        (10 * K[0], RIGHT),
        (11 * K[0], RIGHT),
        (3.4 * K[0], WRONG),
        (10 * K[1], WRONG),
        ([1.0], WRONG),
    ],
)
def test_a_crafted_query_is_right_by_what_it_selects(query, verdict):
    assert ask_contract("q_select_first", [({"q_select_first": np.array(query)}, {})]) == verdict


def test_a_key_is_judged_with_the_query_and_by_its_length():
    query = 10 * (K[0] + K[1])
    for key, verdict in ((query / np.linalg.norm(query), RIGHT), (query, WRONG), (K[0], WRONG)):
        values = {"k2_select": key, "q_average_two": query}
        assert ask_contract("k2_select", [(values, {})]) == verdict


@pytest.mark.parametrize(("length", "verdict"), [(20, RIGHT), (10, BETWEEN), (4, WRONG)])
def test_queries_under_noise_are_right_by_their_share(length, verdict):
    exercise = find_exercises("attention_at_work.noise_and_heads")["two_head_queries"]
    inputs, values = exercise.draw_inputs(3), {}
    for index in range(10):
        means, a, b = (inputs[f"{index}.{place}"] for place in range(3))
        for part, token in enumerate((int(a), int(b))):
            for kind in ("out", "again"):
                values[f"{index}.{kind}.{part}"] = length * means[token]
    assert ask_contract("two_head_queries", [(values, inputs)]) == verdict
    values["0.again.0"] = -values["0.again.0"]  # an answer that changes is none
    assert ask_contract("two_head_queries", [(values, inputs)]) == WRONG


def test_matrices_are_right_by_both_contexts():
    inputs = {f"0.{place}": 10 * np.eye(4)[place] for place in range(4)}
    u_a, u_b, u_c, u_d = (inputs[f"0.{place}"] for place in range(4))
    V = (np.outer(u_b, u_b) - np.outer(u_c, u_c)) / 100
    Q = (np.outer(u_d, u_a) + np.outer(u_c, u_d)) / 100
    for matrices, verdict in (((V, np.eye(4), Q), RIGHT), ((np.eye(4),) * 3, WRONG)):
        values = {f"0.{kind}.{i}": m for kind in ("out", "again") for i, m in enumerate(matrices)}
        assert ask_contract("craft_projections", [(values, inputs)]) == verdict


def call_masks(name, code):
    """Return what two mask functions, the right ones or this code in their place, give."""
    exercise = find_exercises("attention.attention_from_scratch")[name]
    space = make_namespace(ORACLES["make_causal_mask"], ORACLES["apply_causal_mask"], code)
    inputs = exercise.draw_inputs(3)
    reply = wire.answer(exercise.program, space, wire.dump(inputs))
    return ask_contract(name, [(wire.load(str(reply)), inputs)])


@pytest.mark.parametrize(
    ("mask", "verdict"),
    [
        ("torch.ones(n_tok, n_tok, dtype=torch.int8).tril()", RIGHT),
        ("torch.ones(n_tok, n_tok, device='cpu').tril()", WRONG),
        ("torch.ones(n_tok, n_tok).triu()", WRONG),
        ("torch.ones(n_tok, n_tok).tril(-1)", WRONG),
        ("torch.ones(n_tok, n_tok - 1).tril()", WRONG),
        ("torch.ones(n_tok, n_tok).tril()[None]", WRONG),
        ("torch.ones(n_tok, n_tok)", WRONG),
        ("torch.ones(4, 4).tril()", WRONG),
    ],
)
def test_a_mask_is_right_by_what_it_tells_apart(mask, verdict):
    code = f"def make_causal_mask(n_tok):\n    return {mask}"
    assert call_masks("make_causal_mask", code) == verdict


def test_a_mask_of_another_kind_is_right_with_its_own_masking():
    other = "def make_causal_mask(n_tok):\n    return torch.ones(n_tok, n_tok).triu(1)\n\n"
    masking = (
        "def apply_causal_mask(mask, A):\n    return A.masked_fill(mask.bool(), float('-inf'))"
    )
    assert call_masks("make_causal_mask", other) == WRONG
    assert call_masks("make_causal_mask", other + masking) == RIGHT
    assert call_masks("apply_causal_mask", other + masking) == RIGHT


@pytest.mark.parametrize(
    ("masked", "verdict"),
    [
        ("torch.where(mask > 0, A, float('-inf'))", RIGHT),
        ("A + torch.log(mask)", RIGHT),  # not with boolean masks, but with those of ones and zeros
        ("A - 1e10 * (1 - mask)", RIGHT),
        ("A - 1e4 * (1 - mask.to(A))", WRONG),
        ("A.masked_fill_(mask == 0, float('-inf'))", WRONG),
        ("A.detach().masked_fill(mask == 0, float('-inf')).requires_grad_()", WRONG),
        ("A.masked_fill(mask > 0, float('-inf'))", WRONG),
        ("A * mask", WRONG),
        ("A", WRONG),
    ],
)
def test_masking_is_right_with_one_kind_of_mask(masked, verdict):
    code = f"def apply_causal_mask(mask, A):\n    return {masked}"
    assert call_masks("apply_causal_mask", code) == verdict


def test_an_exercise_with_one_answer_has_no_such_contract():
    assert ask_contract("attn_softmax", [({}, {})]) is None


def test_claims_are_about_what_the_judge_can_say():
    noise = noise_and_heads_words.WORDS.keys() | {"wrong-count", "not-numbers", "overflow"}
    tables = [(attention_words.WORDS.keys() | {"block-not-cut"}, [CASES]),
              (finetuning_words.WORDS, FINETUNING.values()), (noise, [NOISY, CRAFTED_MATRICES]),
              (translation_words.WORDS, TRANSLATION.values()), (pretraining_words.WORDS, PRETRAINING.values())]  # fmt: skip
    for words, claims in tables:
        for claim in claims:
            assert not claim.keys() - set(words), claim.keys() - set(words)
    assert CRAFTED


def test_an_untrue_description_is_found_out():
    right = {"seen": np.arange(6), "modes": np.ones(2)}
    skipped, repeated = ({"seen": np.array(seen)} for seen in ([0, 1, 2], [0, 1, 2, 3, 4, 5, 0]))
    claim = find_claim("evaluate", "batches-skipped")
    assert claim(Seen("evaluate", skipped, right, {})) and not claim(
        Seen("evaluate", repeated, right, {})
    )
    shape = find_claim("attn_scaled", "wrong-shape")
    right, wrong = {"a.out": np.ones((2, 3))}, {"a.out": np.ones((3, 2))}
    assert shape(Seen("attn_scaled", wrong, right, {})) and not shape(
        Seen("attn_scaled", right, right, {})
    )
    assert find_claim("attn_scaled", "scale-by-n-heads") is None
