"""Claims about queries and keys: where the weight goes, and what would be right instead."""

from __future__ import annotations

import numpy as np

from autograder.proving.claims.seen import Claim, Seen
from autograder.proving.contracts import (
    TARGETS,
    attend_to_tokens,
    find_halves,
    find_share,
    find_weights,
    fulfils,
    read_array,
    read_sets,
)

_FACTORS = np.geomspace(1.01, 1e6, 160)
_ENOUGH = 0.95

# ----------------------------------------------------------------------------- crafted queries


def _weights(seen: Seen) -> np.ndarray:
    value = read_array(seen.values.get(seen.exercise))
    found = None if value is None else find_weights(seen.exercise, value, _query(seen))
    return np.zeros((len(TARGETS[seen.exercise]), 4)) if found is None else found


def _query(seen: Seen):
    return seen.values.get("q_average_two")


def _scaled(factors) -> Claim:
    return lambda seen: any(fulfils(seen.exercise, seen.values, factor) for factor in factors)


def _is_uneven(seen: Seen) -> bool:
    """The scores of a mean over all lie too far apart."""
    return seen.exercise == "q_average_all" and np.ptp(_weights(seen)) > 0.05


def _favours_others(seen: Seen) -> bool:
    weights, wanted = _weights(seen), np.array(TARGETS[seen.exercise])
    return bool((weights.argmax(axis=1) != wanted.argmax(axis=1)).any()) or bool(
        (weights[wanted == 0] > 0.1).any()
    )


def _is_along_values(seen: Seen) -> bool:
    from course_utils.queries import make_values

    values = make_values().double().numpy()
    aims = (
        values[2:3] if seen.exercise.startswith("k2") else np.array(TARGETS[seen.exercise]) @ values
    )
    rows = np.reshape(read_array(seen.values[seen.exercise]), (-1, 3))
    cosines = (rows * aims).sum(1) / np.linalg.norm(rows, axis=1) / np.linalg.norm(aims, axis=1)
    return bool((np.abs(cosines) > 0.99).all())


CRAFTED: dict[str, Claim] = {
    "wrong-shape": lambda s: (
        read_array(s.values[s.exercise]) is None
        or find_weights(s.exercise, read_array(s.values[s.exercise]), _query(s)) is None
    ),
    "not-numbers": lambda s: isinstance(s.values[s.exercise], str),
    "not-finite": lambda s: not np.isfinite(np.asarray(s.values[s.exercise], float)).all(),
    "opposite-sign": _scaled([-1.0]),
    "scale-too-small": _scaled(_FACTORS),
    "scale-too-large": lambda s: _is_uneven(s) or _scaled(1 / _FACTORS)(s),
    "wrong-key": _favours_others,
    "selects-one": lambda s: bool(_weights(s).max() > 0.9),
    "averages-all": lambda s: bool(np.ptp(_weights(s), axis=1).max() < 0.06),
    "values-as-query": _is_along_values,
    "length-not-1": lambda s: abs(np.linalg.norm(read_array(s.values[s.exercise])) - 1) > 0.01,
    "key-too-strong": lambda s: bool(_weights(s)[0, 2] > np.array(TARGETS[s.exercise])[0, 2]),
    "key-too-weak": lambda s: bool(_weights(s)[0, 2] < np.array(TARGETS[s.exercise])[0, 2]),
}

# ----------------------------------------------------------------------- queries under noise


def _mean_weights(seen: Seen) -> list[tuple[np.ndarray, list[int], np.ndarray]]:
    """Return, by set, the queries, the tokens asked for, and each head's weights on the mean keys."""
    found = []
    for means, tokens, table in read_sets(seen.exercise, seen.values, seen.inputs):
        scores = table @ means.T
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        found.append((table, tokens, shares / shares.sum(axis=1, keepdims=True)))
    return found


def _in_every_set(holds) -> Claim:
    def claim(seen: Seen) -> bool:
        found = _mean_weights(seen)
        return bool(found) and all(holds(*one) for one in found)

    return claim


def _turned(factors) -> Claim:
    return lambda s: any(
        find_share(s.exercise, s.values, s.inputs, factor) >= _ENOUGH for factor in factors
    )


def _looks_beside(seen: Seen) -> bool:
    found = _mean_weights(seen)
    return any(
        all(
            shares.mean(axis=0)[[(t + shift) % shares.shape[1] for t in tokens]].sum() > 0.5
            for _, tokens, shares in found
        )
        for shift in (1, -1)
    )


def _looks_at_fixed_rows(seen: Seen) -> bool:
    favoured = [
        tuple(np.flatnonzero(shares.mean(axis=0) > 0.15)) for _, _, shares in _mean_weights(seen)
    ]
    return len(set(favoured)) == 1


def _heads(*kinds: str) -> Claim:
    """Claim that one head has the first kind of scores for a and b, the other the second."""

    def name(row: np.ndarray, tokens: list[int]) -> str:
        low, high = sorted(row[tokens])
        if high < row.max() - 1e-9:
            return "other"
        return "opposed" if low < -0.5 * high else "both" if low > 0.2 * high else "one"

    def claim(seen: Seen) -> bool:
        sets = read_sets(seen.exercise, seen.values, seen.inputs)
        return bool(sets) and all(
            sorted(name(q @ means.T, tokens) for q in table) == sorted(kinds)
            for means, tokens, table in sets
        )

    return claim


def _repeats_a_query(seen: Seen) -> bool:
    """Two sets of different keys got the very same queries."""
    tables = [table for _, _, table in read_sets(seen.exercise, seen.values, seen.inputs)]
    return any(
        one.shape == other.shape and np.array_equal(one, other)
        for place, one in enumerate(tables)
        for other in tables[:place]
    )


def _look_at_one_token(table, tokens, shares) -> bool:
    return len(set(shares.argmax(axis=1))) == 1


NOISY: dict[str, Claim] = {
    "opposite-sign": _turned([-1.0]),
    "scale-too-small": _turned(np.geomspace(1.05, 1e9, 60)),
    "scale-too-large": _turned(1 / np.geomspace(1.05, 1e9, 60)),
    "averages-all": _in_every_set(lambda q, tokens, shares: np.ptp(shares) < 0.06),
    "off-by-one": _looks_beside,
    "fixed-index": _looks_at_fixed_rows,
    "wrong-key": lambda s: (
        np.mean([shares.mean(axis=0)[tokens].sum() for _, tokens, shares in _mean_weights(s)]) < 0.5
    ),
    "selects-one": _in_every_set(lambda q, tokens, shares: shares[0][tokens].max() > 0.85),
    "unequal-weights": _in_every_set(lambda q, tokens, shares: shares[0][tokens].sum() > 0.85),
    "difference": _in_every_set(lambda q, tokens, shares: shares[0][tokens].min() < 0.4),
    "one-query-twice": _in_every_set(lambda q, tokens, shares: np.allclose(q[0], q[1])),
    "both-heads-mixed": _heads("both", "both"),
    "one-head-mixed": _heads("both", "one"),
    "remembers-tokens": _repeats_a_query,
    "one-head-flat": _in_every_set(
        lambda q, tokens, shares: min(float(np.ptp(row)) for row in shares) < 1e-6
    ),
    "sum-and-difference": _heads("both", "opposed"),
    "same-key-twice": _in_every_set(_look_at_one_token),
    "wrong-shape": lambda s: any(
        np.size(s.values[key]) != np.shape(s.inputs[f"{key.split('.')[0]}.0"])[-1]
        or np.ndim(s.values[key]) > 2
        for key in s.values
        if ".out." in key
    ),
    "not-finite": lambda s: any(
        not np.isfinite(np.asarray(v, float)).all()
        for key, v in s.values.items()
        if ".out." in key and not isinstance(v, str)
    ),
    "not-repeatable": lambda s: any(
        f"{index}.again.{part}" not in s.values
        or not np.allclose(s.values[key], s.values[f"{index}.again.{part}"])
        for key in s.values
        if ".out." in key
        for index, _, part in [key.split(".")]
    ),
    "input-changed": lambda s: any(
        not np.array_equal(value, s.inputs[key.replace(".after", "")])
        for key, value in s.values.items()
        if ".after." in key
    ),
    "wrong-count": lambda s: s.has_text("count|", "type|"),
    "not-numbers": lambda s: any(
        isinstance(v, str) or np.asarray(v).dtype == object
        for key, v in s.values.items()
        if ".out." in key
    ),
    "overflow": lambda s: any(
        np.abs(np.asarray(v, float)).max() > 1e150 for key, v in s.values.items() if ".out." in key
    ),
}

# -------------------------------------------------------------------------------- projections


def _with(change) -> Claim:
    """Claim that the three matrices, changed so, would be right."""

    def claim(seen: Seen) -> bool:
        return any(
            find_halves(_change(seen.values, one), seen.inputs) == {"c1", "c2"} for one in change
        )

    return claim


def _change(values: dict, change) -> dict:
    changed = dict(values)
    for index in {key.split(".")[0] for key in values}:
        for kind in ("out", "again"):
            keys = [f"{index}.{kind}.{part}" for part in range(3)]
            if all(np.ndim(values.get(key)) == 2 for key in keys):
                changed |= dict(zip(keys, change(*(values[key] for key in keys)), strict=True))
    return changed


def _every_order():
    from itertools import permutations

    return [lambda *m, o=order: [m[place] for place in o] for order in permutations(range(3))]


def _every_transpose():
    from itertools import product

    return [
        lambda *m, f=flips: [x.T if flip else x for x, flip in zip(m, f, strict=True)]
        for flips in product((False, True), repeat=3)
    ]


def _misses(holds) -> Claim:
    """Claim something about how the token of a wrong context looks at the others, in some set."""

    def claim(seen: Seen) -> bool:
        for index in range(len(seen.inputs) // 4):
            weights, held, contexts, targets = attend_to_tokens(seen.values, seen.inputs, index)
            for row, target in enumerate(targets.values()):
                near = np.abs(held - target).max(axis=1) <= 0.5
                if np.abs(contexts[row] - target).max() > 0.5 and holds(weights[row], near):
                    return True
        return False

    return claim


CRAFTED_MATRICES: dict[str, Claim] = {
    **{
        name: NOISY[name]
        for name in ("not-repeatable", "input-changed", "wrong-count", "not-finite")
    },
    "wrong-shape": lambda s: any(
        np.shape(s.values[key]) != 2 * np.shape(s.inputs[f"{key.split('.')[0]}.0"])
        for key in s.values
        if ".out." in key
    ),
    "not-numbers": NOISY["not-numbers"],
    "transposed": _with(_every_transpose()),
    "wrong-order": _with(_every_order()),
    "opposite-sign": _with([lambda V, K, Q: (V, K, -Q)]),
    "values-turned": _with([lambda V, K, Q: (-V, K, Q)]),
    "scores-too-small": _with(
        [lambda V, K, Q, f=factor: (V, K, f * Q) for factor in (10, 100, 1e3, 1e4, 1e6)]
    ),
    "values-wrong-length": _with(
        [lambda V, K, Q, f=factor: (V / f, K, Q) for factor in np.geomspace(1e-4, 1e4, 400)]
        + [lambda V, K, Q, f=factor: (V / f, K, Q) for factor in (-100, -10, -1, 10, 100)]
    ),
    "looks-at-several": _misses(lambda row, near: row.max() < 0.95 or near[row.argmax()]),
    "looks-at-wrong-token": _misses(
        lambda row, near: row.max() >= 0.95 and near.any() and not near[row.argmax()]
    ),
    "value-not-wanted": _misses(lambda row, near: row.max() >= 0.95 and not near.any()),
}
