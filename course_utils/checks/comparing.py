"""Compares what a learner's functions returned with the right numbers and with known mistakes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from course_utils.checks.attention_words import WORDS
from course_utils.checks.findings import Finding, drop_line, end_sentence, misses_gpu


@dataclass(frozen=True)
class Tolerance:
    """How far numbers may lie apart and still count as equal."""

    rtol: float = 1e-4
    atol: float = 2e-5
    types: bool = True  # must the number type be the same too?


LOWEST_FILL = -9.9e8  # -1e9 plus any score: a finite mask from here down hides for certain
_PROBLEMS = {
    "open": "todo-open",
    "undefined": "not-defined",
    "not-callable": "not-a-function",
    "none": "returned-none",
    "type": "not-a-tensor",
    "empty": "wrong-shape",
    "raised": "raised",
}
# Faults of functions that return the right numbers: no known mistake needs to be looked for.
_SIDE_EFFECTS = {
    "input-changed",
    "hard-coded-device",
    "no-gradient",
    "wrong-gradient",
    "wrong-dtype",
}
_LIKENESS = Tolerance(rtol=1e-3, atol=1e-3)  # to a known mistake: its numbers are kept short
# Faults that speak for themselves.
_PLAIN = {"todo-open", "not-defined", "not-a-function", "returned-none", "not-repeatable"}
_DEVICE_TROUBLE = ("cuda", "expected device", "same device", "meta tensor; no data", "meta device")
# What torch and Python say to a float where a size belongs.
_FLOAT_SIZE = ("must be tuple of ints", "'float' object cannot be interpreted as an integer")
_WHOLE_SIZE = (
    "A size has to be a whole number: in Python `/` gives a float, and `//` a whole number."
)


@dataclass(frozen=True)
class Fault:
    """One thing that is not as it should be: in which case, what, and the number or words to it."""

    case: dict
    kind: str  # a key of WORDS
    words: str = ""


def find_faults(
    cases: Sequence[dict], results: dict, right: dict, tolerance: Tolerance
) -> list[Fault]:
    """Return what is wrong with the results, the most telling faults of each case first."""
    faults = []
    for case in cases:
        faults += _find_case_faults(case, results, right, tolerance)
    return faults


def _find_case_faults(case, results, right, tolerance) -> list[Fault]:
    name = case["name"]
    if case.get("device"):
        return _judge_device(case, results.get(f"{name}.device"))
    out, wanted = results.get(f"{name}.out"), right[f"{name}.out"]
    if isinstance(out, str):
        return [_judge_problem(case, out)]
    if out is None:
        return [Fault(case, "not-a-tensor", "nothing usable came back")]
    out, wanted = np.asarray(out), np.asarray(wanted)
    if out.shape != wanted.shape:
        return [Fault(case, "wrong-shape", f"it is {out.shape}, it should be {wanted.shape}")]
    again = results.get(f"{name}.again")
    if again is not None and not isinstance(again, str) and not is_close(out, again, tolerance):
        return [Fault(case, "not-repeatable")]
    if np.isnan(out.astype(float)).any():
        return [Fault(case, "not-finite", f"{int(np.isnan(out).sum())} of {out.size} are NaN")]
    retyped = tolerance.types and not case.get("any_type") and out.dtype != wanted.dtype
    if retyped and is_close(_settle(out, case), _settle(wanted, case), Tolerance(2e-2, 2e-2)):
        words = f"it is {out.dtype}, it should be {wanted.dtype}"
        return [Fault(case, "wrong-dtype", words)]
    if not is_close(_settle(out, case), _settle(wanted, case), _widen(tolerance, case)):
        return [Fault(case, "wrong-values", _describe_difference(out, wanted))]
    return _find_side_effects(case, results, right, tolerance)


def _find_side_effects(case, results, right, tolerance) -> list[Fault]:
    faults, cut_off = [], []
    prefix = f"{case['name']}."
    flowing = False
    for key in (key for key in right if key.startswith(prefix)):
        what, _, argument = key.removeprefix(prefix).partition(".")
        found = results.get(key)
        if what == "after" and not _equal(found, right[key]):
            faults.append(Fault(case, "input-changed", f"changed: {argument}"))
        elif what == "grad" and isinstance(right[key], str):
            continue  # none flows in a right solution either, and nobody asks for one
        elif what == "grad" and isinstance(found, str | type(None)):
            cut_off.append(argument)
        elif what == "grad":
            flowing = True
            kept = _keep_visible(found, case), _keep_visible(right[key], case)
            if not is_close(*kept, tolerance):
                faults.append(Fault(case, "wrong-gradient", f"for {argument}"))
    if cut_off:
        kind = "wrong-gradient" if flowing else "no-gradient"
        faults.append(Fault(case, kind, f"none reaches {', '.join(cut_off)}"))
    return faults


def _judge_device(case, value) -> list[Fault]:
    if isinstance(value, str):
        value = drop_line(value)
        trouble = any(word in value.lower() for word in _DEVICE_TROUBLE)
        return [Fault(case, "hard-coded-device")] if trouble else []
    stayed = value is not None and float(np.asarray(value).reshape(-1)[0]) == 1.0
    return [] if stayed else [Fault(case, "hard-coded-device")]


def _judge_problem(case, problem: str) -> Fault:
    kind, _, words = problem.partition("|")
    plain = drop_line(words).lower()
    if kind == "raised" and "view size is not compatible" in plain:
        return Fault(case, "view-needs-contiguous", words)
    if kind == "raised" and misses_gpu(words):
        return Fault(case, "hard-coded-device", words)
    if kind == "raised" and any(sign in plain for sign in _FLOAT_SIZE):
        words = f"{end_sentence(words)} {_WHOLE_SIZE}"
    return Fault(case, _PROBLEMS.get(kind, "not-a-tensor"), words)


def _widen(tolerance: Tolerance, case: dict) -> Tolerance:
    """Allow for the rounding of very large scores where a case asks for it."""
    return Tolerance(5e-3, 5e-3) if case.get("rounds") else tolerance


def is_close(one, other, tolerance: Tolerance) -> bool:
    """Are two arrays of one shape equal to within the tolerance, NaN and infinity included?"""
    one, other = np.asarray(one, dtype=float), np.asarray(other, dtype=float)
    return one.shape == other.shape and bool(
        np.allclose(one, other, rtol=tolerance.rtol, atol=tolerance.atol, equal_nan=True)
    )


def _equal(one, other) -> bool:
    if isinstance(one, str) or one is None:
        return False
    return np.array_equal(np.asarray(one), np.asarray(other))


def _settle(array: np.ndarray, case: dict) -> np.ndarray:
    """For masked scores: read a very low number above the diagonal as minus infinity."""
    if not case.get("masked"):
        return array
    future = np.triu(np.ones(array.shape[-2:], bool), 1) & (array <= LOWEST_FILL)
    return np.where(future, -np.inf, array.astype(float))


def _keep_visible(array, case: dict) -> np.ndarray:
    """For masked scores: only the gradient on and below the diagonal ever counts."""
    array = np.asarray(array, dtype=float)
    return np.tril(array) if case.get("masked") and array.ndim >= 2 else array


def _describe_difference(out: np.ndarray, wanted: np.ndarray) -> str:
    with np.errstate(invalid="ignore"):
        difference = np.abs(out.astype(float) - wanted.astype(float))
    difference = np.where(np.isnan(difference), 0.0, difference)  # inf - inf: equal
    place = np.unravel_index(int(difference.argmax()), difference.shape)
    where = ", ".join(str(int(index)) for index in place)
    return f"the largest difference is {difference.max():.3g}, at [{where}]"


# ------------------------------------------------------------------------------ explaining

# (name of the mistake, what it returns: anything with `get`, so that it may be worked out late)
Mistakes = Callable[[], Iterable[tuple[str, Mapping]]]


def explain(
    faults: list[Fault],
    cases: Sequence[dict],
    results: dict,
    mistakes: Mistakes,
    sentences: Mapping[str, str] = WORDS,
    right: Mapping | None = None,
) -> Finding:
    """Turn faults into one finding: a known mistake if it looks like one, else what was seen.

    `sentences` say what each kind of fault and each known mistake means. `right` are the right numbers:
    a known mistake that gives them here shows elsewhere, and explains nothing.
    """
    faults = sorted(faults, key=lambda fault: fault.kind != "not-repeatable")
    first = faults[0]
    if first.kind not in _PLAIN:
        wrong = {fault.kind for fault in faults} - _SIDE_EFFECTS
        known = find_mistake(cases, results, mistakes, right) if wrong else None
        if wrong and not known and _is_always_the_same(cases, results):
            known = "same-every-time"
        if known:
            return Finding(False, sentences[known], known, _describe_faults(faults))
    return Finding(False, sentences[first.kind], first.kind, _describe_faults(faults))


def find_mistake(cases, results: dict, mistakes: Mistakes, right: Mapping | None = None):
    """Return the first known mistake that gives these very results in every case, or None."""
    keys = [f"{case['name']}.out" for case in cases if not case.get("device")]
    for name, outputs in mistakes():
        if name in _SIDE_EFFECTS:
            continue
        if all(_looks_like(results.get(key), outputs.get(key)) for key in keys):
            if right and all(_looks_like(right.get(key), outputs.get(key)) for key in keys):
                continue
            return name
    return None


def _is_always_the_same(cases, results: dict) -> bool:
    """Did one and the same tensor come back whatever went in?"""
    outs = [results.get(f"{case['name']}.out") for case in cases if not case.get("device")]
    if len(outs) < 2 or any(out is None or isinstance(out, str) for out in outs):
        return False
    first = np.asarray(outs[0])
    return first.size > 1 and all(np.array_equal(first, np.asarray(out)) for out in outs[1:])


def _looks_like(found, known) -> bool:
    if found is None or known is None:
        return False
    if isinstance(found, str) or isinstance(known, str):
        same_kind = isinstance(found, str) and isinstance(known, str)
        return same_kind and _strip_numbers(found) == _strip_numbers(known)
    return is_close(found, known, _LIKENESS)


def _strip_numbers(problem: str) -> str:
    """Reduce an error to what does not depend on sizes: its kind and the start of its words."""
    return "".join(letter for letter in drop_line(problem) if not letter.isdigit())[:60]


def _describe_faults(faults: list[Fault]) -> tuple[str, ...]:
    first = faults[0]
    fact = f"Seen with {first.case['words']}" if first.case.get("words") else ""
    if first.words:
        fact = f"{fact}: {first.words}" if fact else first.words
    return (end_sentence(fact),) if fact and first.kind != "todo-open" else ()
