"""Notebook 2's checks: is this function right, and if not, which mistake does it look like?

What a function should return, and what each known mistake would return, are numbers in
attention.json beside this file. `python -m autograder build` makes them; there is no code in here
that computes attention.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import CodeType

import numpy as np

from course_utils.checks.answer_numbers import load_answers
from course_utils.checks.attention_words import WORDS
from course_utils.checks.calls import run_cases
from course_utils.checks.comparing import Fault, Mistakes, Tolerance, explain, find_faults
from course_utils.checks.findings import Finding

FUNCTIONS = (
    "pairwise_similarities",
    "attn_scaled",
    "attn_softmax",
    "compute_outputs",
    "make_causal_mask",
    "apply_causal_mask",
    "split_heads",
    "merge_heads",
    "self_attention",
)
TESTS = {  # what each of the three tests in the notebook tries
    1: ("one",),
    2: ("one", "one-causal"),
    3: ("one", "one-causal", "heads", "heads-causal"),
}
_MASK_KINDS = ("pair", "bool", "float", "int")  # any one of which suffices for apply_causal_mask
_FINITE_REMARK = (
    "Remark: the hidden scores hold a very low number, not minus infinity. That is low enough here; "
    "minus infinity is low enough everywhere."
)

# PyTorch's own attention: no shortcut in functions that are to be written from scratch.
BUILT_IN = ("scaled_dot_product_attention", "MultiheadAttention", "multi_head_attention_forward")

_PAIR_REMARK = (
    "Remark: each of your two mask functions is right by itself, but they do not work together yet: "
    "masking expects another kind of mask than the one you make. self_attention needs them to agree."
)


def examine(name: str, function, test: int = 3, **others) -> Finding:
    """Examine a learner's function on the visible cases; `others` are functions it works with.

    `test` limits self_attention to what it can do so far: 1 one head, 2 with the mask, 3 all.
    """
    probes = load_answers("attention")[name]
    cases = probes["cases"]
    if name == "self_attention":
        cases = [case for case in cases if case["group"] in TESTS[test]]
    elif not {"make_causal_mask", "apply_causal_mask"} <= {name, *others}:  # no pair yet
        cases = [case for case in cases if case["group"] != "pair"]
    results = run_cases({**others, name: function}, cases, probes["inputs"])
    results = {key: _to_numbers(value) for key, value in results.items()}
    finding = judge(name, cases, results, probes["right"], lambda: probes["mistakes"], Tolerance())
    return _remark_on_borrowing(finding, function) if finding.passed else finding


def find_names(function) -> set[str]:
    """Return the names that a learner's function uses, itself or through others of the notebook."""
    notebook = getattr(function, "__globals__", {})
    names, seen, waiting = set(), set(), [getattr(function, "__code__", None)]
    while waiting:
        code = waiting.pop()
        if not isinstance(code, CodeType) or code in seen:
            continue
        seen.add(code)
        waiting += code.co_consts  # functions within functions are among them
        for name in code.co_names:
            value = notebook.get(name)
            names |= {name, str(getattr(value, "__name__", "")), type(value).__name__}
            if getattr(value, "__globals__", None) is notebook:
                waiting.append(getattr(value, "__code__", None))
    return names


def _remark_on_borrowing(finding: Finding, function) -> Finding:
    remarks = tuple(
        f"Remark: the numbers are right, but rule 3 asks you to build attention yourself, and `{name}` "
        "is PyTorch's."
        for name in sorted(find_names(function) & set(BUILT_IN))
    )
    return replace(finding, facts=finding.facts + remarks)


def judge(
    name: str,
    cases: Sequence[dict],
    results: dict,
    right: dict,
    mistakes: Mistakes,
    tolerance: Tolerance,
) -> Finding:
    """Judge results, however they were come by: here from the notebook, or from a graded kernel."""
    results = {key: value for key, value in results.items() if value is not None}
    if name == "make_causal_mask":
        return _judge_mask(cases, results, right, mistakes, tolerance)
    if name == "apply_causal_mask":
        return _judge_masking(cases, results, right, mistakes, tolerance)
    faults = find_faults(cases, results, right, tolerance)
    if faults:
        if name == "self_attention":
            faults = _suspect_leak(cases, results) + faults
        return explain(faults, cases, results, mistakes, right=right)
    return Finding(True, _praise(cases))


def _praise(cases: Sequence[dict]) -> str:
    if len(cases) == 1:
        return "The numbers are right."
    return f"{len(cases)} different inputs gave the right numbers."


def _to_numbers(value):
    if isinstance(value, str):
        return value
    value = value.detach().cpu()
    return (value.float() if str(value.dtype) == "torch.bfloat16" else value).numpy()


# ------------------------------------------------------------------------------------ masks


def _judge_mask(cases, results, right, mistakes, tolerance) -> Finding:
    """A mask is right by its contract, or as a mask of another kind that the learner's masking works with."""
    contract, large = (
        [case for case in cases if case["group"] == group] for group in ("contract", "large")
    )
    faults = find_faults([*contract, *large], results, right, tolerance)
    if not faults:
        facts = _remark_on_pair(cases, results, right, tolerance)
        return Finding(True, _praise([*contract, *large]), facts=facts)
    numbers = [case for case in (*contract, *large) if not case.get("device")]
    tells_apart = all(_tells_apart(case, results) for case in numbers)
    if tells_apart and _pair_works(cases, results, right, tolerance):
        misplaced = [fault for fault in faults if fault.case.get("device")]
        if misplaced:
            return explain(misplaced, contract, results, mistakes, right=right)
        sentence = "The mask is of another kind than asked for, and your masking works with it."
        return Finding(True, sentence)
    finding = explain(faults, contract, results, mistakes, right=right)
    if finding.diagnosis == "wrong-shape" and faults[0].case in large:
        slug = "mask-stops-growing"
        return Finding(False, WORDS[slug], slug, finding.facts)
    return finding


def _tells_apart(case, results) -> bool:
    """Is this a (T, T) mask in which no number stands both for an allowed and for a forbidden place?"""
    mask, n_tok = results.get(f"{case['name']}.out"), case["arguments"][0]
    if mask is None or isinstance(mask, str) or np.shape(mask) != (n_tok, n_tok):
        return False
    allowed = np.tril(np.ones((n_tok, n_tok), bool))
    mask = np.asarray(mask, dtype=float)
    return not np.intersect1d(mask[allowed], mask[~allowed]).size


def _pair_works(cases, results, right, tolerance) -> bool:
    pair = [case for case in cases if case["group"] == "pair"]
    faults = find_faults(pair, results, right, tolerance)
    return bool(pair) and not [fault for fault in faults if fault.kind != "input-changed"]


def _remark_on_pair(cases, results, right, tolerance) -> tuple[str, ...]:
    """Say so when the two mask functions are right by themselves and do not fit together."""
    pair = [case for case in cases if case["group"] == "pair"]
    if not pair or _pair_works(cases, results, right, tolerance):
        return ()
    out = results.get(f"{pair[0]['name']}.out")
    error = f" Together they stop with: {out.partition('|')[2]}" if isinstance(out, str) else ""
    return (_PAIR_REMARK + error,)


def _judge_masking(cases, results, right, mistakes, tolerance) -> Finding:
    """Masking is right with the learner's own masks, or with boolean, float or whole-number ones."""
    findings = []
    general = [case for case in cases if case["group"] not in _MASK_KINDS]
    for kind in _MASK_KINDS:
        group = [case for case in cases if case["group"] == kind]
        if not group:
            continue
        tried = [*group, *general]
        faults = find_faults(tried, results, right, tolerance)
        if not faults:
            remark = (_FINITE_REMARK,) if _fills_finite(group, results) else ()
            remark += _remark_on_pair(cases, results, right, tolerance)
            return Finding(True, _praise(tried), facts=remark)
        finding = explain(faults, group, results, mistakes, right=right)
        if finding.diagnosis in ("wrong-values", "mask-zeros-scores"):
            fill = _name_fill(faults[0], results)
            finding = Finding(False, WORDS[fill], fill, finding.facts) if fill else finding
        findings.append(finding)
    vague = ("raised", "wrong-values", "wrong-shape", "not-finite", "not-a-tensor", "not-defined")
    named = [finding for finding in findings if finding.diagnosis not in vague]
    return (named or [f for f in findings if f.diagnosis != "raised"] or findings)[0]


def _hidden(array) -> np.ndarray:
    """Return the scores above the diagonal."""
    array = np.asarray(array, dtype=float)
    return array[..., np.triu(np.ones(array.shape[-2:], bool), 1)]


def _fills_finite(cases, results) -> bool:
    outs = [results[f"{case['name']}.out"] for case in cases if not case.get("device")]
    return any(np.isfinite(_hidden(out)).any() for out in outs)


def _name_fill(fault: Fault, results) -> str | None:
    """Name what is wrong with the number that all hidden places hold, or that was added to their scores."""
    out = results.get(f"{fault.case['name']}.out")
    if isinstance(out, str) or out is None or np.ndim(out) < 2 or np.shape(out)[-1] < 2:
        return None
    hidden = _hidden(out)
    if not np.isfinite(hidden).all():
        return None
    if hidden.max() < -10 and np.ptp(hidden) <= 0.1 * abs(hidden.max()):
        return "mask-finite"
    return "mask-tiny" if hidden.min() > 0 and hidden.max() < 1e-3 else None


# ----------------------------------------------------------------------------------- leaks


def _suspect_leak(cases, results) -> list[Fault]:
    """Did an output move when only later tokens were changed?"""
    by_name = {case["name"]: case for case in cases}
    for case in cases:
        twin = by_name.get(case.get("twin"))
        pair = [results.get(f"{c['name']}.out") for c in (case, twin)] if twin else []
        if not pair or any(out is None or isinstance(out, str) for out in pair):
            continue
        kept = case["unchanged"]  # so many tokens at the start are the same in both
        if np.ndim(pair[0]) == 3 and np.shape(pair[0]) == np.shape(pair[1]):
            with np.errstate(over="ignore", invalid="ignore"):  # scores instead of outputs
                moved = np.abs(np.subtract(*pair))[:, :kept]
            moved = moved[np.isfinite(moved)]
            if moved.max(initial=0) > 1e-3:
                return [Fault(case, "sees-future", f"moved by up to {moved.max():.3g}")]
    return []
