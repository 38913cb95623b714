"""Attention from scratch: nine functions, hidden and visible cases, compared with a reference."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from torch import nn

from autograder.exercises.attention import attention_from_scratch_code as code
from autograder.exercises.base import Exercise, Ruling, join_sources
from autograder.exercises.numbers import encode_probes
from autograder.exercises.trials import Outputs, list_codes, make_mistakes, run_codes, write_program
from autograder.kernel import wire
from course_utils.checks.attention import BUILT_IN, examine, judge
from course_utils.checks.comparing import Tolerance, find_faults
from course_utils.checks.findings import Finding

PIECES = tuple(name for name in code.ORACLES if name != "self_attention")
HIDDEN_TOLERANCE = Tolerance(rtol=1e-4, atol=1e-5)


@dataclass(frozen=True)
class Case:
    """One call of a learner's function: as calls.py reads it, and how its arrays are drawn."""

    call: dict
    draw: Callable[[np.random.Generator], dict[str, np.ndarray]]

    @property
    def name(self) -> str:
        return self.call["name"]


def make_case(name, function, arguments, draw, words, group="", keywords=None, **flags) -> Case:
    call = {
        "name": name,
        "call": function,
        "arguments": list(arguments),
        "keywords": keywords or {},
        "words": words,
        "group": group,
        **flags,
    }
    return Case(call, draw)


def draw_arrays(cases: tuple[Case, ...], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Draw the arrays of all cases, named "<case>.<argument>"."""
    arrays: dict[str, np.ndarray] = {}
    for case in cases:
        twin = case.call.get("twin")
        drawn = _change_future(arrays, case) if twin else case.draw(rng)
        arrays |= {f"{case.name}.{name}": array for name, array in drawn.items()}
    return arrays


def _change_future(arrays: dict, case: Case) -> dict[str, np.ndarray]:
    """Take another case's inputs and change all tokens from `unchanged` on."""
    changed = {}
    for name in ("Q", "K", "V"):
        array = arrays[f"{case.call['twin']}.{name}"].copy()
        array[:, case.call["unchanged"] :] = 2 - 1.5 * array[:, case.call["unchanged"] :]
        changed[name] = array
    return changed


# ------------------------------------------------------------------------------------ cases


def _normal(rng, *shape, dtype="float64", scale=1.0) -> np.ndarray:
    return np.round(scale * rng.standard_normal(shape), 3).astype(dtype)


def _draws(dtype="float64", grad=None, **shapes):
    """Return a function that draws one array an argument, and a weight for the gradient."""

    def draw(rng):
        arrays = {name: _normal(rng, *shape, dtype=dtype) for name, shape in shapes.items()}
        if grad:
            arrays["weight"] = _normal(rng, *grad, dtype=dtype)
        return arrays

    return draw


def _make_similarity_cases(hidden: bool) -> Iterator[Case]:
    def make(name, shape, group, dtype="float64", **flags):
        out = (*shape[:-1], shape[-2])
        draw = _draws(dtype, out if flags.get("grad") else None, Q=shape, K=shape)
        words = f"Q and K of shape {shape}"
        return make_case(name, "pairwise_similarities", "QK", draw, words, group, **flags)

    if not hidden:
        yield make("tokens", (2, 4, 3), "plain", "float32", after=True)
        yield make("heads", (1, 2, 3, 3), "heads", "float32", grad=True)
        return
    yield make("tokens", (3, 5, 4), "plain", after=True)
    yield make("square", (4, 4, 4), "plain")
    yield make("two-dimensions", (5, 3), "plain")
    yield make("one-token", (2, 1, 3), "plain")
    yield make("heads", (2, 3, 5, 4), "heads", grad=True)
    yield make("heads-float32", (1, 4, 7, 1), "heads", "float32", after=True)
    yield make("strided", (2, 3, 6, 5), "heads", strided=True)
    yield make("device", (2, 3, 5, 4), "heads", device="gpu")


def _make_scale_cases(hidden: bool) -> Iterator[Case]:
    def make(name, shape, n_embd, n_heads, dtype="float64", **flags):
        draw = _draws(dtype, shape if flags.get("grad") else None, A=shape)
        words = f"A of shape {shape}, n_embd = {n_embd}, n_heads = {n_heads}"
        arguments = ("A", n_embd, n_heads)
        return make_case(name, "attn_scaled", arguments, draw, words, "plain", **flags)

    if not hidden:
        yield make("one-head", (2, 3, 3), 12, 1, "float32", after=True)
        yield make("heads", (1, 3, 3, 3), 18, 3, "float32", grad=True)
        return
    yield make("one-head", (2, 5, 5), 20, 1, after=True)
    yield make("heads", (2, 3, 5, 5), 24, 3, grad=True)
    yield make("heads-float32", (1, 4, 7, 7), 28, 4, "float32")
    yield make("heads-of-one", (2, 6, 3, 3), 6, 6)
    yield make("one-token", (2, 2, 1, 1), 10, 2)
    yield make("strided", (3, 2, 4, 4), 14, 2, strided=True, after=True)
    yield make("device", (2, 3, 5, 5), 24, 3, device="gpu")


def _make_softmax_cases(hidden: bool) -> Iterator[Case]:
    def make(name, shape, group, dtype="float64", draw=None, words=None, **flags):
        draw = draw or _draws(dtype, shape if flags.get("grad") else None, A=shape)
        words = words or f"A of shape {shape}"
        return make_case(name, "attn_softmax", "A", draw, words, group, **flags)

    def draw_extreme(*shape):
        def draw(rng):
            steps = rng.integers(-2, 3, shape) + rng.choice(
                [-1e4, 0, 1e4], shape, p=[0.3, 0.4, 0.3]
            )
            steps[..., 0, :] = -1e4  # a row with nothing but very low scores
            steps[..., 0, -1] = -1e4 + 1
            return {"A": steps.astype("float32")}

        return draw

    def draw_masked(*shape):
        def draw(rng):
            future = np.triu(np.ones(shape[-2:], bool), 1)
            return {"A": np.where(future, -np.inf, _normal(rng, *shape))}

        return draw

    extreme = "scores up to 10,000 and down to -10,000"
    if not hidden:
        yield make("tokens", (2, 4, 4), "plain", "float32", after=True)
        yield make("heads", (2, 2, 3, 3), "heads", "float32", grad=True)
        yield make(
            "extreme",
            (2, 2, 3, 3),
            "heads",
            draw=draw_extreme(2, 2, 3, 3),
            words=extreme,
            rounds=True,
        )
        return
    yield make("tokens", (3, 5, 5), "plain", after=True)
    yield make("two-dimensions", (5, 5), "plain")
    yield make("one-token", (2, 1, 1), "plain")
    yield make("heads", (2, 3, 5, 5), "heads", grad=True)
    yield make("heads-float32", (3, 2, 7, 7), "heads", "float32")
    yield make("strided", (2, 4, 6, 6), "heads", strided=True, after=True)
    yield make(
        "extreme", (2, 3, 5, 5), "heads", draw=draw_extreme(2, 3, 5, 5), words=extreme, rounds=True
    )
    yield make(
        "extreme-tokens", (2, 6, 6), "plain", draw=draw_extreme(2, 6, 6), words=extreme, rounds=True
    )
    yield make(
        "masked", (2, 3, 4, 4), "heads", draw=draw_masked(2, 3, 4, 4), words="scores with -inf"
    )
    yield make("device", (2, 3, 5, 5), "heads", device="gpu")


def _make_output_cases(hidden: bool) -> Iterator[Case]:
    def make(name, lead, n_tok, size, group, dtype="float64", **flags):
        def draw(rng):
            scores = rng.standard_normal((*lead, n_tok, n_tok))
            weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
            arrays = {
                "A": np.round(weights, 4).astype(dtype),
                "V": _normal(rng, *lead, n_tok, size, dtype=dtype),
            }
            if flags.get("grad"):
                arrays["weight"] = _normal(rng, *lead, n_tok, size, dtype=dtype)
            return arrays

        words = f"A of shape {(*lead, n_tok, n_tok)}, V of shape {(*lead, n_tok, size)}"
        return make_case(name, "compute_outputs", "AV", draw, words, group, **flags)

    if not hidden:
        yield make("tokens", (2,), 4, 3, "plain", "float32", after=True)
        yield make("heads", (1, 2), 3, 3, "heads", "float32", grad=True)
        return
    yield make("tokens", (3,), 5, 4, "plain", after=True)
    yield make("square", (4,), 4, 4, "plain")
    yield make("two-dimensions", (), 5, 3, "plain")
    yield make("one-token", (2,), 1, 3, "plain")
    yield make("heads", (2, 3), 5, 4, "heads", grad=True)
    yield make("heads-float32", (1, 4), 7, 1, "heads", "float32")
    yield make("strided", (2, 3), 6, 5, "heads", strided=True, after=True)
    yield make("device", (2, 3), 5, 4, "heads", device="gpu")


def _draw_scores(*shape, dtype="float64", extreme=False, grad=False):
    def draw(rng):
        scores = _normal(rng, *shape, dtype=dtype)
        if extreme:
            scores = (rng.integers(-2, 3, shape) + rng.choice([-1e4, 1e4], shape)).astype(dtype)
        scores[..., -1, 0] = 0.0  # a score of exactly zero is a score like any other
        arrays = {"A": scores}
        if grad:
            arrays["weight"] = _normal(rng, *shape, dtype=dtype)
        return arrays

    return draw


def _make_pair_cases(hidden: bool) -> Iterator[Case]:
    def make(name, shape, dtype="float64", extreme=False, **flags):
        draw = _draw_scores(*shape, dtype=dtype, extreme=extreme, grad=flags.get("grad"))
        words = f"your mask for {shape[-1]} tokens, on scores of shape {shape}"
        arguments = (shape[-1], "A")
        return make_case(
            f"pair-{name}", "mask_pair", arguments, draw, words, "pair", masked=True, **flags
        )

    if not hidden:
        yield make("heads", (1, 2, 4, 4), "float32", after=True)
        yield make("tokens", (2, 3, 3), "float32", grad=True)
        return
    yield make("heads", (2, 3, 5, 5), after=True)
    yield make("tokens", (2, 6, 6), "float32", grad=True)
    yield make("one-token", (2, 1, 1))
    yield make("extreme", (2, 2, 7, 7), "float32", extreme=True)


def _make_mask_cases(hidden: bool) -> Iterator[Case]:
    for n_tok in (5, 1, 2, 8) if hidden else (4, 1, 7):
        yield make_case(
            f"n{n_tok}", "make_causal_mask", (n_tok,), lambda rng: {}, f"n_tok = {n_tok}",
            "contract", any_type=True,
        )  # fmt: skip
    yield make_case(
        "device", "make_causal_mask", (6,), lambda rng: {}, "n_tok = 6", "contract", device="gpu"
    )
    yield make_case(  # longer than any sequence of the notebook; told by its size alone
        "n130", "make_causal_mask", (130,), lambda rng: {}, "n_tok = 130", "large", any_type=True
    )
    yield from _make_pair_cases(hidden)


def _make_masking_cases(hidden: bool) -> Iterator[Case]:
    kinds = {"bool": "bool", "float": "float32", "int": "int64"}
    lead = (2, 3) if hidden else (1, 2)
    n_tok = 5 if hidden else 4

    def draw_with(shape, kind, **options):
        draw_scores = _draw_scores(*shape, **options)

        def draw(rng):
            return {"mask": np.tril(np.ones(shape[-2:])).astype(kind), **draw_scores(rng)}

        return draw

    for kind, dtype in kinds.items():
        flags = {"masked": True, "group": kind}
        common = ("apply_causal_mask", ("mask", "A"))
        words = f"a {kind} mask and scores"
        yield make_case(
            f"{kind}-heads", *common, draw_with((*lead, n_tok, n_tok), dtype, dtype="float32"),
            words, after=True, **flags,
        )  # fmt: skip
        if not hidden:
            draw = draw_with((2, 3, 3), dtype, dtype="float32", grad=True)
            yield make_case(f"{kind}-tokens", *common, draw, words, grad=True, **flags)
            continue
        yield make_case(
            f"{kind}-tokens",
            *common,
            draw_with((2, 6, 6), dtype, grad=True),
            words,
            grad=True,
            **flags,
        )
        yield make_case(
            f"{kind}-strided", *common, draw_with((3, 2, 4, 4), dtype), words, strided=True, **flags
        )
        yield make_case(f"{kind}-one-token", *common, draw_with((2, 1, 1), dtype), words, **flags)
        yield make_case(
            f"{kind}-extreme", *common,
            draw_with((2, 2, 6, 6), dtype, dtype="float32", extreme=True),
            f"a {kind} mask and scores up to 10,000 and down to -10,000", **flags,
        )  # fmt: skip
        yield make_case(
            f"{kind}-device", *common, draw_with((2, 2, 4, 4), dtype), words, device="gpu", **flags
        )
    yield from _make_pair_cases(hidden)


def _make_split_cases(hidden: bool) -> Iterator[Case]:
    def make(name, shape, n_heads, dtype="float64", **flags):
        B, T, C = shape
        grad = (B, n_heads, T, C // n_heads) if flags.get("grad") else None
        words = f"x of shape {shape}, n_heads = {n_heads}"
        draw = _draws(dtype, grad, x=shape)
        return make_case(name, "split_heads", ("x", n_heads), draw, words, "plain", **flags)

    if not hidden:
        yield make("three", (2, 4, 6), 3, "float32", after=True)
        yield make("two", (1, 3, 8), 2, "float32", grad=True)
        return
    yield make("three", (2, 5, 12), 3, grad=True)
    yield make("four", (1, 6, 8), 4, "float32", after=True)
    yield make("one", (2, 5, 7), 1)
    yield make("heads-of-one", (2, 4, 5), 5)
    yield make("one-token", (3, 1, 6), 2)
    yield make("strided", (2, 7, 10), 5, strided=True)
    yield make("device", (2, 5, 12), 3, device="gpu")


def _make_merge_cases(hidden: bool) -> Iterator[Case]:
    def make(name, shape, dtype="float64", **flags):
        B, H, T, D = shape
        draw = _draws(dtype, (B, T, H * D) if flags.get("grad") else None, y=shape)
        words = f"y of shape {shape}"
        return make_case(name, "merge_heads", "y", draw, words, "plain", **flags)

    if not hidden:
        yield make("three", (2, 3, 4, 2), "float32", after=True)
        yield make("two", (1, 2, 3, 4), "float32", grad=True)
        return
    yield make("three", (2, 3, 5, 4), grad=True)
    yield make("four", (1, 4, 6, 2), "float32", after=True)
    yield make("one", (2, 1, 5, 7))
    yield make("heads-of-one", (2, 5, 4, 1))
    yield make("one-token", (3, 2, 1, 3))
    yield make("strided", (2, 5, 7, 2), strided=True)
    yield make("device", (2, 3, 5, 4), device="gpu")


def _make_attention_cases(hidden: bool) -> Iterator[Case]:
    def make(name, shape, n_heads, causal, dtype="float64", draw=None, words="", **flags):
        group = ("one" if n_heads == 1 else "heads") + ("-causal" if causal else "")
        grad = shape if flags.get("grad") else None
        draw = draw or _draws(dtype, grad, Q=shape, K=shape, V=shape)
        words = words or f"(B, T, C) = {shape}, n_heads = {n_heads}, causal = {causal}"
        keywords = {"n_heads": n_heads, "causal": causal}
        if flags.pop("defaults", False):
            keywords, words = {}, f"(B, T, C) = {shape}, n_heads and causal left at their defaults"
        arguments = [*"QKV"]
        if flags.pop("by_position", False):
            arguments, keywords = [*"QKV", n_heads, causal], {}
            words = f"(B, T, C) = {shape}, called as self_attention(Q, K, V, {n_heads}, {causal})"
        return make_case(name, "self_attention", arguments, draw, words, group, keywords, **flags)

    def draw_extreme(B, T, C, n_heads):
        """Scores of +-10,000 that are whole numbers, so that no order of summing them matters."""

        def draw(rng):
            assert C // n_heads == 4  # the root is 2
            Q = 100.0 * rng.integers(-1, 2, (B, T, C))
            K = 100.0 * rng.integers(-1, 2, (B, T, C)) + rng.integers(-1, 2, (B, T, C))
            Q[..., 0], K[..., 0] = 200.0, np.where(np.arange(T) % 2, 100.0, -100.0)
            V = _normal(rng, B, T, C)
            return {
                name: array.astype("float32") for name, array in zip("QKV", (Q, K, V), strict=True)
            }

        return draw

    if not hidden:
        shape = (1, 4, 6)
        yield make("test-1", shape, 1, False, "float32", after=True, again=True)
        yield make("test-2", shape, 1, True, "float32", grad=True)
        yield make("defaults", (1, 3, 4), 1, True, "float32", defaults=True)
        yield make("test-3", shape, 3, True, "float32")
        yield make("heads", shape, 3, False, "float32")
        return
    for n_heads in (1, 3):
        for causal in (False, True):
            tag = f"{n_heads}-{'causal' if causal else 'plain'}"
            yield make(f"basic-{tag}", (2, 5, 12), n_heads, causal, after=True, again=True)
            yield make(f"gradient-{tag}", (2, 4, 6), n_heads, causal, grad=True)
            yield make(f"float32-{tag}", (3, 7, 9), n_heads, causal, "float32")
            yield make(f"strided-{tag}", (2, 6, 3), n_heads, causal, strided=True)
            yield make(f"one-token-{tag}", (1, 1, 6), n_heads, causal)
    yield make("heads-of-one", (2, 4, 5), 5, True)
    yield make("heads-of-one-plain", (1, 3, 4), 4, False)
    yield make("defaults", (2, 5, 6), 1, True, defaults=True)
    for n_heads in (1, 2):
        for causal in (False, True):
            size = 4 * n_heads
            yield make(
                f"extreme-{n_heads}-{'causal' if causal else 'plain'}", (2, 5, size), n_heads, causal,
                draw=draw_extreme(2, 5, size, n_heads),
                words=f"scores up to 10,000 and down to -10,000, n_heads = {n_heads}", rounds=True,
            )  # fmt: skip
    for n_heads, twin in ((1, "basic-1-causal"), (3, "basic-3-causal")):
        yield make(
            f"future-{n_heads}", (2, 5, 12), n_heads, True, twin=twin, unchanged=3,
            words=f"the last two of five tokens changed, n_heads = {n_heads}",
        )  # fmt: skip
    yield make("by-position", (2, 4, 6), 3, True, by_position=True)
    yield make("long", (1, 130, 4), 1, True)  # longer than any sequence of the notebook
    yield make("long-heads", (1, 130, 4), 2, True)
    yield make("device", (2, 5, 12), 3, True, device="gpu")


_CASE_MAKERS = {
    "pairwise_similarities": _make_similarity_cases,
    "attn_scaled": _make_scale_cases,
    "attn_softmax": _make_softmax_cases,
    "compute_outputs": _make_output_cases,
    "make_causal_mask": _make_mask_cases,
    "apply_causal_mask": _make_masking_cases,
    "split_heads": _make_split_cases,
    "merge_heads": _make_merge_cases,
    "self_attention": _make_attention_cases,
}


# ------------------------------------------------------------------------- asking and judging

_CALLS_SOURCE = join_sources("learners_code", "pretended_gpu", "calls")


def make_program(name: str, cases: tuple[Case, ...]) -> str:
    """Write the program that runs in a kernel: the text of calls.py and the cases to run."""
    names = ("make_causal_mask", "apply_causal_mask") if "mask" in name else (name,)
    plan = [case.call for case in cases]
    return write_program(_CALLS_SOURCE, names, f"run_cases(functions, {plan!r}, inputs)")


@cache
def make_namespace(*codes: str) -> dict:
    """Return a namespace as the notebook has it, in which these codes have run."""
    namespace = {
        "torch": torch, "nn": nn, "F": nn.functional, "math": math,
        "DEVICE": torch.device("cpu"), "__name__": "__main__",
    }  # fmt: skip
    return run_codes(namespace, code.GIVEN, *codes)


# Seen when graded, on other number types and devices; the visible inputs are float32 on DEVICE.
# And sequences longer than the visible ones, and arguments without their names.
HIDDEN_ONLY = {
    ("pairwise_similarities", "hard-coded-device"),
    ("attn_softmax", "wrong-dtype"),
    ("self_attention", "mask-stops-growing"),
    ("self_attention", "parameters-exchanged"),
}


def examine_code(name: str, text: str, **options) -> Finding:
    """Show a solution cell's code to the public check, as a student would."""
    namespace = make_namespace.__wrapped__(*code.ORACLES.values(), text)
    if "mask" in name:
        pair = ("make_causal_mask", "apply_causal_mask")
        options |= {other: namespace[other] for other in pair if other != name}
    return examine(name, namespace[name], **options)


def find_outputs(cases: tuple[Case, ...], inputs: dict, solutions: dict, *codes: str) -> Outputs:
    """Return what a right notebook with these codes in place returns."""
    codes = (*(solutions[name] for name in code.ORACLES), *codes)
    return Outputs([case.call for case in cases], inputs, lambda: make_namespace(*codes))


def list_mistakes(name: str) -> Iterator[tuple[str, str]]:
    """Yield (diagnosis, code) of the known mistakes; for self_attention those of its pieces too."""
    yield from list_codes(code.MISTAKES[name])
    if name == "self_attention":
        for piece in PIECES:
            yield from list_mistakes(piece)


def _judge_results(name: str, cases: tuple[Case, ...]):
    plan = [case.call for case in cases]

    def rule(values: dict, inputs: dict, solutions: dict[str, str]) -> Ruling:
        right = find_outputs(cases, inputs, solutions).work_out()
        results = {key: value for key, value in values.items() if value is not wire.Missing}

        def mistakes():
            for diagnosis, text in list_mistakes(name):
                yield diagnosis, find_outputs(cases, inputs, solutions, text)

        if not results:
            return Ruling(0.0, Finding(False, "nothing came back from the kernel.", "no-answer"))
        finding = judge(name, plan, results, right, mistakes, HIDDEN_TOLERANCE)
        share = 1.0 if finding.passed else _share(name, plan, results, right)
        return Ruling(share, finding, _remark(name, share))

    return rule


def _share(name: str, plan: list[dict], results: dict, right: dict) -> float:
    """Return how much of the points an imperfect function earns."""
    groups = sorted({case["group"] for case in plan})
    passed = [
        not find_faults([c for c in plan if c["group"] == group], results, right, HIDDEN_TOLERANCE)
        for group in groups
    ]
    if name == "self_attention":  # with and without mask, with one head and with several
        return sum(passed) / len(groups)
    return 0.5 if "heads" in groups and passed[groups.index("heads")] else 0.0


def _remark(name: str, share: float) -> tuple[str, ...]:
    if name == "self_attention" and 0 < share < 1:
        return (
            f"{share:.0%} of the points for what works: one head or several, with the mask and "
            "without, count a quarter each.",
        )
    if 0 < share < 1:
        return ("Half of the points: with heads it is right.",)
    return ()


# A right mask, in the form of the learner's own: as it is, where it tells the same places apart, and of
# its type otherwise. What is written around a mask is written for that form.
_FIT_MASK = """
def fitted(n_tok):
    mask = right(n_tok)
    try:
        theirs = own(n_tok)
        same = (theirs == theirs[0, 0]) == (mask == mask[0, 0])
        if theirs.shape == mask.shape and len(theirs.unique()) <= 2 and bool(same.all()):
            return theirs
        return mask.to(theirs.dtype)
    except Exception:
        return mask
"""


def _make(name: str) -> Exercise:
    cases = tuple(_CASE_MAKERS[name](hidden=True))
    return Exercise(
        name=name,
        oracle=code.ORACLES[name],
        program=make_program(name, cases),
        rule=_judge_results(name, cases),
        make_inputs=lambda rng: draw_arrays(cases, rng),
        mistakes=make_mistakes(list_codes(code.MISTAKES[name]), code.SHARES.get(name)),
        variants=tuple(code.VARIANTS[name]),
        builds_on=PIECES if name == "self_attention" else (),
        together=(("make_causal_mask", "apply_causal_mask"),) if name == "self_attention" else (),
        watched=BUILT_IN,
        stand_in=_FIT_MASK if name == "make_causal_mask" else "",
    )


EXERCISES = [_make(name) for name in code.ORACLES]


# ---------------------------------------------------------------------- numbers for students

ANSWER_FILE = "attention.json"


def make_answers(solutions: dict[str, str]) -> dict[str, dict]:
    """Return what the public checks compare with, by exercise."""
    return {e.name: encode_probes(make_probes(e.name, solutions)) for e in EXERCISES}


# Seen from how a function behaves, or different on every machine.
_SAID_WITHOUT_NUMBERS = ("returned-none", "not-a-tensor", "hard-coded-device", "not-repeatable",
                         "todo-open", "wrong-dtype", "view-needs-contiguous", "same-every-time")  # fmt: skip


def make_probes(name: str, solutions: dict[str, str], seed: int = 2) -> dict:
    """Return the visible cases and what right and mistaken functions return for them."""
    cases = tuple(_CASE_MAKERS[name](hidden=False))
    inputs = draw_arrays(cases, np.random.default_rng(seed))
    right = find_outputs(cases, inputs, solutions).work_out()
    known: list[tuple[str, dict]] = []
    telling = tuple(case for case in cases if case.call["group"] != "large")
    for diagnosis, text in list_mistakes(name):
        outputs = find_outputs(telling, inputs, solutions, text).work_out()
        outputs = {key: value for key, value in outputs.items() if key.endswith(".out")}
        if diagnosis in _SAID_WITHOUT_NUMBERS:
            continue
        if name == "self_attention" and any(isinstance(v, str) for v in outputs.values()):
            continue  # an error of a piece says more by itself
        known.append((diagnosis, outputs))
    return {"cases": [c.call for c in cases], "inputs": inputs, "right": right, "mistakes": known}
