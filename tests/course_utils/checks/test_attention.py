"""The public checks of notebook 2: right ways pass, known mistakes are named, nothing blows up."""

import json
from pathlib import Path

import pytest
import torch

from autograder.exercises.attention import attention_from_scratch as exercises
from autograder.exercises.attention.attention_from_scratch_code import (
    MISTAKES,
    ORACLES,
    VARIANTS,
)
from course_utils.checks import CheckFailed, attention, check
from course_utils.checks.attention_words import WORDS
from course_utils.language_model.compare_with_torch import show_parity
from course_utils.words import WIDTH

NAMES = tuple(ORACLES)


@pytest.mark.parametrize("name", NAMES)
def test_right_ways_pass(name):
    for code in (ORACLES[name], *VARIANTS[name]):
        finding = exercises.examine_code(name, code)
        assert finding.passed, (code, finding)


@pytest.mark.parametrize("name", NAMES)
def test_known_mistakes_are_named(name):
    seen = {s: c for s, c in MISTAKES[name].items() if (name, s) not in exercises.HIDDEN_ONLY}
    assert seen
    for slug, codes in seen.items():
        for code in codes:
            finding = exercises.examine_code(name, code)
            assert not finding.passed, code
            assert finding.diagnosis == slug, (code, finding)
            assert finding.sentence == WORDS[slug]


def test_a_pieces_mistake_is_named_in_self_attention_too():
    for piece, slug in (
        ("attn_softmax", "softmax-over-queries"),
        ("make_causal_mask", "mask-off-by-one"),
        ("merge_heads", "merge-bare-view"),
        ("attn_scaled", "scale-by-n-embd"),
    ):
        finding = exercises.examine_code("self_attention", MISTAKES[piece][slug][0])
        assert finding.diagnosis == slug


def test_the_three_tests_ask_for_more_and_more():
    forgotten = MISTAKES["self_attention"]["mask-forgotten"][0]
    ignored = MISTAKES["self_attention"]["heads-ignored"][0]
    passed = {
        code: [
            exercises.examine_code("self_attention", code, test=test).passed for test in (1, 2, 3)
        ]
        for code in (forgotten, ignored, ORACLES["self_attention"])
    }
    assert list(passed.values()) == [[True, False, False], [True, True, False], [True] * 3]


def test_a_rehearsal_is_told_from_the_real_thing(capsys):
    right = exercises.make_namespace.__wrapped__(*ORACLES.values())["self_attention"]
    check("self_attention", right, test=1)
    said = capsys.readouterr().out
    assert said.startswith("✔ Test 1: passed (a rehearsal; no points).")
    assert "self_attention" not in said and "0 of 9 pieces" in said
    with pytest.raises(CheckFailed, match="✘ Test 2: "):
        check("self_attention", stub, test=2)


@pytest.mark.parametrize("test", [2, 3])
@pytest.mark.parametrize("slug", ["mask-after-softmax", "infinity-after-softmax"])
def test_masking_the_weights_is_named_in_rehearsals_too(slug, test):
    for code in MISTAKES["self_attention"][slug]:
        assert exercises.examine_code("self_attention", code, test=test).diagnosis == slug


def test_a_quoted_error_ends_in_one_full_stop():
    def raises(A):
        raise ValueError("Too many of them.")

    finding = attention.examine("attn_softmax", raises)
    assert finding.facts[0].endswith("]." if "[line" in finding.facts[0] else "of them.")
    assert ".." not in finding.facts[0]


def stub(A):
    raise NotImplementedError("TODO: attn_softmax")


@pytest.mark.parametrize(
    ("function", "slug", "words"),
    [
        (stub, "todo-open", "still open"),
        (lambda A: ..., "todo-open", "still open"),
        (lambda A: None, "returned-none", "return"),
        (lambda A: A.tolist(), "not-a-tensor", "list"),
        (lambda A: A[..., :1], "wrong-shape", "(2, 4, 1)"),
        (lambda A: 1 / 0, "raised", "ZeroDivisionError"),
        (lambda: 3, "raised", "TypeError"),
        (lambda A: A + float("nan"), "not-finite", "NaN"),
        (lambda A: A.softmax(-1) + 0.1, "wrong-values", "largest difference"),
        (None, "not-a-function", "NoneType"),
        ("softmax", "not-a-function", "str"),
    ],
)
def test_a_wrong_return_gets_a_sentence(function, slug, words):
    with pytest.raises(CheckFailed) as caught:
        check("attn_softmax", function)
    assert caught.value.finding.diagnosis == slug
    assert words in str(caught.value)
    assert "|" not in str(caught.value)  # the signs by which faults are told apart are ours alone
    (shown,) = caught.value._render_traceback_()
    assert shown.split()[: len(str(caught.value).split())] == str(caught.value).split()
    assert shown.endswith("0 of 9 pieces of this notebook pass so far.")
    assert max(map(len, shown.splitlines())) <= WIDTH


def test_an_error_comes_with_the_learners_line():
    """As in a notebook: the cell's text is known to linecache under the kernel's name for it."""
    import linecache

    text = "def attn_softmax(A):\n    B = A.exp()\n    return B / undefined_name\n"
    linecache.cache["ipykernel_1/7.py"] = (len(text), None, text.splitlines(True), "x")
    namespace = {}
    exec(compile(text, "ipykernel_1/7.py", "exec"), namespace)
    with pytest.raises(CheckFailed, match=r"\[line 3 of your cell: return B / undefined_name\]"):
        check("attn_softmax", namespace["attn_softmax"])


def test_two_mask_functions_that_do_not_fit_are_told_so(capsys):
    def make_causal_mask(n_tok):
        return torch.ones(n_tok, n_tok).tril()  # float

    def apply_causal_mask(mask, A):
        return torch.where(mask, A, -torch.inf)  # wants a boolean one

    check("make_causal_mask", make_causal_mask, apply_causal_mask=apply_causal_mask)
    check("apply_causal_mask", apply_causal_mask, make_causal_mask=make_causal_mask)
    said = " ".join(capsys.readouterr().out.split())
    assert said.count("do not work together yet") == 2 and "boolean" in said


def test_passing_is_said_without_promising_too_much(capsys):
    check("attn_softmax", lambda A: torch.softmax(A, dim=-1))
    said = capsys.readouterr().out
    assert "public check passed" in said
    assert "all correct" not in said.lower()


def test_a_mask_by_itself_is_checked_by_its_contract():
    inverted = exercises.make_namespace.__wrapped__(
        *ORACLES.values(), MISTAKES["make_causal_mask"]["mask-inverted"][0]
    )
    finding = attention.examine("make_causal_mask", inverted["make_causal_mask"])
    assert finding.diagnosis == "mask-inverted"
    assert "together" in finding.sentence


def test_the_stored_file_holds_numbers_and_names_alone():
    path = Path(attention.__file__).with_name("attention.json")
    stored = json.loads(path.read_text("utf-8"))
    assert set(stored) == set(attention.FUNCTIONS)
    assert path.stat().st_size < 300_000
    text = path.read_text("utf-8")
    for code in ("softmax(", "transpose(", "@", "def ", "lambda", "masked_fill("):
        assert code not in text
    for probes in stored.values():
        assert {slug for slug, _ in probes["mistakes"]} <= set(WORDS)


def test_parity_waits_for_ones_own_version(capsys):
    right = exercises.make_namespace.__wrapped__(*ORACLES.values())
    forgotten = MISTAKES["self_attention"]["mask-forgotten"][0]
    wrong = exercises.make_namespace.__wrapped__(*ORACLES.values(), forgotten)
    with pytest.raises(CheckFailed):
        show_parity(wrong["self_attention"], right["split_heads"], right["merge_heads"])
    assert "causal" not in capsys.readouterr().out
    show_parity(right["self_attention"], right["split_heads"], right["merge_heads"])
    assert capsys.readouterr().out.count("the same, to rounding") == 2


BORROWED = {
    "directly": "def self_attention(Q, K, V, n_heads=1, causal=True):\n"
    "    q, k, v = split_heads_qkv(Q, K, V, n_heads)\n"
    "    return merge_heads(F.scaled_dot_product_attention(q, k, v, is_causal=causal))",
    "through another": "from torch.nn.functional import scaled_dot_product_attention as ready\n"
    "def attend(q, k, v, causal):\n"
    "    return (lambda: ready(q, k, v, is_causal=causal))()\n"
    "def self_attention(Q, K, V, n_heads=1, causal=True):\n"
    "    return merge_heads(attend(*split_heads_qkv(Q, K, V, n_heads), causal))",
}


@pytest.mark.parametrize("way", BORROWED)
def test_pytorchs_own_attention_passes_with_a_remark(way):
    finding = exercises.examine_code("self_attention", BORROWED[way])
    assert finding.passed
    assert "rule 3" in finding.facts[-1] and "`scaled_dot_product_attention`" in finding.facts[-1]


@pytest.mark.parametrize("name", NAMES)
def test_work_of_ones_own_gets_no_remark_about_pytorchs(name):
    for code in (ORACLES[name], *VARIANTS[name]):
        remarked = any("rule 3" in fact for fact in exercises.examine_code(name, code).facts)
        assert remarked == ("scaled_dot_product_attention" in code)


@pytest.mark.parametrize("cut", ["reshape", "view"])
def test_a_size_that_is_no_whole_number_is_told_so(cut):
    def split_heads(x, n_heads):
        B, T, C = x.shape
        return getattr(x, cut)(B, T, n_heads, C / n_heads)

    def make_causal_mask(n_tok):
        return torch.tensor([[1] * n_tok for _ in range(n_tok / 1)])

    for function in (split_heads, make_causal_mask):
        finding = attention.examine(function.__name__, function)
        assert finding.diagnosis == "raised"
        assert (
            "A size has to be a whole number" in finding.facts[0] and ".." not in finding.facts[0]
        )


def test_other_errors_say_nothing_of_sizes():
    finding = attention.examine("split_heads", lambda x, n_heads: x + "a")
    assert finding.diagnosis == "raised" and "whole number" not in finding.facts[0]
