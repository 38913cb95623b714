"""Checks of K, Q and V built by hand: what three tokens hand to each other, and what they should.

The tokens are x1 = u_d + u_b, x2 = u_a and x3 = u_c + u_b; a token's context c is what attention
returns for it. Only what c1 and c2 should be stands here, and how a miss can be recognised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np

from course_utils import noisy_keys
from course_utils.checks.findings import Finding
from course_utils.checks.noise_and_heads_words import WORDS
from course_utils.checks.set_findings import (
    find_changed_inputs,
    find_problem,
    find_unsteady_answer,
)
from course_utils.checks.values import describe_shape

PROJECTIONS = "craft_projections"
LENGTH = 10.0  # of every u
SETS = 40  # of directions that one answer is judged on: some answers are right by luck in a few
TOLERANCE = 0.5  # for the largest error in any coordinate of a context
_MATRICES = ("V", "K", "Q")
_DIRECTIONS = ("u_a", "u_b", "u_c", "u_d")
_WANTED = {"c2": {"u_b": 1.0}, "c1": {"u_b": 1.0, "u_c": -1.0}}  # in the order of judging
_ROWS = {"c1": 0, "c2": 1}
_FACTORS = (10.0, 100.0, 1e3, 1e4, 1e6)  # tried on scores that may be too small


@dataclass(frozen=True)
class Contexts:
    """What attention makes of three tokens: weights (3, 3), values (3, d) and contexts (3, d)."""

    weights: np.ndarray
    values: np.ndarray
    contexts: np.ndarray


def draw_directions(rng: np.random.Generator) -> np.ndarray:
    """Draw u_a, u_b, u_c and u_d, of length 10 and at right angles: (4, d), d from 4 to 16."""
    return LENGTH * noisy_keys.draw_orthonormal(rng, 4, int(rng.integers(4, 17)))


def make_tokens(directions: np.ndarray) -> np.ndarray:
    """Return x1, x2 and x3, one per row: (3, d)."""
    u_a, u_b, u_c, u_d = directions
    return np.stack([u_d + u_b, u_a, u_c + u_b])


def find_contexts(V, K, Q, directions: np.ndarray) -> Contexts:
    """Run attention on x1, x2 and x3."""
    return share_attention(V, K, Q, make_tokens(directions))


def share_attention(V, K, Q, tokens: np.ndarray) -> Contexts:
    """Run attention on tokens, one per row, with v = Vx, k = Kx and q = Qx for every token x."""
    values, keys, queries = (tokens @ np.asarray(matrix).T for matrix in (V, K, Q))  # (3, d)
    weights = noisy_keys.find_weights(queries, keys[None])[:, 0]  # (3, 3)
    return Contexts(weights, values, weights @ values)


def describe_vector(vector: np.ndarray, directions: np.ndarray) -> str:
    """Write a vector as a sum of the u's: "u_b - 0.33 u_c"."""
    shares = directions @ vector / LENGTH**2
    rest = float(np.abs(vector - shares @ directions).max())
    terms = [
        f"{'-' if share < 0 else '+'} {_write_factor(share)}{name}"
        for share, name in zip(shares, _DIRECTIONS, strict=True)
        if abs(share) >= 0.005
    ]
    if rest > TOLERANCE:
        terms.append("+ something that is none of them")
    text = " ".join(terms) or "0"
    return text[2:] if text.startswith("+ ") else text


def _write_factor(share: float) -> str:
    number = f"{abs(share):.2f}"
    return "" if number == "1.00" else f"{number} "


# ----------------------------------------------------------------------------------- judging


def judge_projections(sets: Sequence[np.ndarray], results: dict) -> tuple[float, Finding]:
    """Judge what came back for these sets of directions: the share of points, and what was found."""
    finding = find_problem(results, len(sets), "three matrices, (V, K, Q)")
    finding = finding or _judge_shapes(sets, results) or find_unsteady_answer(results, len(sets), 3)
    if finding:
        return 0.0, finding
    answers = [
        tuple(results[f"{index}.out.{part}"] for part in range(3)) for index in range(len(sets))
    ]
    right = _find_right_halves(answers, sets)
    changed = find_changed_inputs(results, [list(directions) for directions in sets])
    if changed:
        return 0.0, changed
    if all(right.values()):
        return 1.0, Finding(True, "c2 is u_b and c1 is u_b - u_c.")
    slug, words = _suspect_mistake(answers, sets, right)
    finding = Finding(False, words, slug, _describe_first(answers[0], sets[0], right))
    return sum(right.values()) / 2, finding


def _judge_shapes(sets, results: dict) -> Finding | None:
    for index, directions in enumerate(sets):
        d = directions.shape[1]
        for part, name in enumerate(_MATRICES):
            matrix = results.get(f"{index}.out.{part}")
            if matrix is None or isinstance(matrix, str):
                words = f"{name} should be numbers, as list, array or tensor: {matrix}."
                return Finding(False, words, "not-numbers")
            if matrix.shape != (d, d):
                words = (
                    f"for vectors of {d} numbers, {name} came back with shape "
                    f"{describe_shape(matrix)}; it should be ({d}, {d}), so that {name}x is a "
                    "vector like x."
                )
                return Finding(False, words, "wrong-shape")
            if not np.isfinite(matrix).all():
                return Finding(False, f"{name} holds NaN or infinity.", "not-finite")
    return None


def _find_right_halves(answers, sets) -> dict[str, bool]:
    """Say of c2 and of c1 whether it is right in every set."""
    errors = {half: 0.0 for half in _WANTED}
    with np.errstate(over="ignore", invalid="ignore"):
        for answer, directions in zip(answers, sets, strict=True):
            contexts = find_contexts(*answer, directions).contexts
            for half in _WANTED:
                error = np.abs(contexts[_ROWS[half]] - _make_target(half, directions)).max()
                errors[half] = max(errors[half], float(np.nan_to_num(error, nan=np.inf)))
    return {half: error <= TOLERANCE + 1e-9 for half, error in errors.items()}


def _make_target(half: str, directions: np.ndarray) -> np.ndarray:
    shares = np.array([_WANTED[half].get(name, 0.0) for name in _DIRECTIONS])
    return shares @ directions


def _describe_first(answer, directions, right) -> tuple[str, ...]:
    found = find_contexts(*answer, directions)
    lines = []
    for half in ("c1", "c2"):
        row = _ROWS[half]
        weights = ", ".join(f"{weight:.2f}" for weight in found.weights[row])
        text = describe_vector(found.contexts[row], directions)
        verdict = "right" if right[half] else "not right yet"
        lines.append(f"{half} is {text} ({verdict}); x{row + 1} looks at x1, x2, x3: {weights}.")
    return tuple(lines)


# -------------------------------------------------------------------------- naming mistakes


def _suspect_mistake(answers, sets, right) -> tuple[str, str]:
    def passes(change) -> bool:
        return all(_find_right_halves([change(*answer) for answer in answers], sets).values())

    for turned in list(product((False, True), repeat=3))[1:]:
        if passes(lambda *m, t=turned: [x.T if turn else x for x, turn in zip(m, t, strict=True)]):
            return "transposed", WORDS["transposed"]
    for order in list(permutations(range(3)))[1:]:
        if passes(lambda *matrices, order=order: [matrices[place] for place in order]):
            return "wrong-order", WORDS["wrong-order"]
    if passes(lambda V, K, Q: (V, K, -Q)):
        return "opposite-sign", WORDS["opposite-sign"]
    if passes(lambda V, K, Q: (-V, K, Q)):
        return "values-turned", WORDS["values-turned"]
    if any(passes(lambda V, K, Q, f=factor: (V, K, f * Q)) for factor in _FACTORS):
        return "scores-too-small", WORDS["scores-too-small"]
    factor = _find_value_length(answers, sets)
    if factor and passes(lambda V, K, Q: (V / factor, K, Q)):
        return "values-wrong-length", WORDS["values-wrong-length"].format(factor=f"{factor:.3g}")
    if all(np.allclose(matrix, np.eye(len(matrix))) for answer in answers for matrix in answer):
        return "identity-matrices", WORDS["identity-matrices"]
    half = next(half for half in _WANTED if not right[half])
    missed = (
        (answer, directions)
        for answer, directions in zip(answers, sets, strict=True)
        if not _find_right_halves([answer], [directions])[half]
    )
    return _suspect_half(*next(missed), half)


def _find_value_length(answers, sets) -> float:
    """Return how many times too long the context c2 is, if it points along its target at all."""
    found = find_contexts(*answers[0], sets[0]).contexts[_ROWS["c2"]]
    target = _make_target("c2", sets[0])
    return float(found @ target / (target @ target))


def _suspect_half(answer, directions, half: str) -> tuple[str, str]:
    """Say why one context is not what it should be: the wrong place, several, or the wrong value."""
    found = find_contexts(*answer, directions)
    row, target = _ROWS[half], _make_target(half, directions)
    weights = found.weights[row]
    place = int(weights.argmax())
    values = [describe_vector(value, directions) for value in found.values]
    near = [i for i, value in enumerate(found.values) if np.abs(value - target).max() <= TOLERANCE]
    words = {
        "half": half,
        "token": f"x{row + 1}",
        "place": f"x{place + 1}",
        "value": values[place],
        "better": f"x{near[0] + 1}" if near else "",
        "weights": ", ".join(f"{weight:.2f}" for weight in weights),
        "target": describe_vector(target, directions),
    }
    if weights[place] < 0.95 or place in near:
        slug = "looks-at-several"
    elif near:
        slug = "looks-at-wrong-token"
    else:
        slug = "value-not-wanted"
    return slug, WORDS[slug].format(**words)
