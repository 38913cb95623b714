"""Contracts that many answers fulfil, checked a second time: a changed number may be as right as before.

A mutant of an exercise with one right answer is wrong unless it does the very same. Where any query
that selects is right, `11 * K[0]` is no mutant of `10 * K[0]`. What stands here was written from the
contracts alone and shares no code with the judge, so that the two can disagree.
"""

from __future__ import annotations

import re

import numpy as np

from course_utils import queries

RIGHT, WRONG, BETWEEN = "right", "wrong", "between"  # what a contract can say of an answer
_NEAR = 0.05 + 1e-9  # for the largest error in any coordinate
_NEAR_CONTEXT = 0.5 + 1e-9  # the same for contexts of vectors of length 10
_DRAWS = 200  # of keys and values, for each set of means
# "A right answer has a true share of at least 0.98; answers between 0.90 and 0.98 are in no test."
_SURE, _HOPELESS = 0.98, 0.90


def ask_contract(exercise: str, draws: list[tuple[dict, dict]]) -> str | None:
    """Return what the contract says of the (values, inputs) of all draws; None where it has one answer."""
    if exercise in TARGETS:
        return RIGHT if all(fulfils(exercise, values) for values, _ in draws) else WRONG
    if exercise in NOISY_QUERIES:
        shares = [find_share(exercise, values, inputs) for values, inputs in draws]
        if min(shares) >= _SURE:
            return RIGHT
        return WRONG if max(shares) < _HOPELESS else BETWEEN
    if exercise == "craft_projections":
        return RIGHT if all(find_halves(*draw) == {"c1", "c2"} for draw in draws) else WRONG
    if exercise in MASKS:
        return RIGHT if all(MASKS[exercise](*draw) for draw in draws) else WRONG
    return None


def _softmax(scores: np.ndarray) -> np.ndarray:
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return shares / shares.sum(axis=-1, keepdims=True)


def read_array(value) -> np.ndarray | None:
    """Return numbers as an array, or None where there are none or where they are not finite."""
    array = read_any_numbers(value)
    return array if array is not None and np.isfinite(array).all() else None


def read_any_numbers(value) -> np.ndarray | None:
    """Return numbers as an array, infinite ones too, or None where there are none."""
    try:
        return np.asarray(value, float)
    except (TypeError, ValueError):
        return None


# ----------------------------------------------------------------------------- crafted queries

_THIRD = 1 / 3
TARGETS = {  # the weights that would be exact, one row per query
    "q_select_first": [[1, 0, 0, 0]],
    "Q_identity": np.eye(4).tolist(),
    "q_average_all": [[0.25] * 4],
    "q_average_two": [[0.5, 0.5, 0, 0]],
    "k2_average_three": [[_THIRD, _THIRD, _THIRD, 0]],
    "k2_select": [[0, 0, 1, 0]],
}


def find_weights(name: str, value: np.ndarray, query=None) -> np.ndarray | None:
    """Return the attention weights of crafted queries, (rows, 4), or of a query on a crafted key."""
    keys = queries.make_keys().double().numpy()
    rows = len(TARGETS[name])
    if value.shape != (rows, 3) and not (rows == 1 and value.shape == (3,)):
        return None
    asked = value.reshape(-1, 3)
    if name.startswith("k2"):
        keys, asked = keys.copy(), read_array(query).reshape(1, 3)
        keys[2] = value.reshape(3)
    return _softmax(asked @ keys.T)


def fulfils(name: str, values: dict, factor: float = 1.0) -> bool:
    """Say whether a crafted query or key, times a factor, gives the output that is asked for."""
    value = read_array(values.get(name))
    if value is None:
        return False
    if name == "k2_select" and abs(np.linalg.norm(value) - 1) > 0.01:
        return False
    weights = find_weights(name, factor * value, values.get("q_average_two"))
    if weights is None:
        return False
    error = (weights - np.array(TARGETS[name])) @ queries.make_values().double().numpy()
    return bool(np.abs(error).max() <= _NEAR)


# ----------------------------------------------------------------------- queries under noise

NOISY_QUERIES = {  # and how many tokens each is about
    "copy_query": 1,
    "average_query": 2,
    "robust_query": 2,
    "two_head_queries": 2,
}


def read_sets(
    name: str, values: dict, inputs: dict
) -> list[tuple[np.ndarray, list[int], np.ndarray]]:
    """Return (mean keys, tokens asked for, queries) of every set; none when a query is none."""
    sets = []
    for index in range(sum(key.endswith(".0") for key in inputs)):
        means = np.asarray(inputs[f"{index}.0"], float)
        tokens = [int(inputs[f"{index}.{1 + place}"]) for place in range(NOISY_QUERIES[name])]
        heads = range(2 if name == "two_head_queries" else 1)
        rows = [read_array(values.get(f"{index}.out.{head}")) for head in heads]
        if any(row is None or row.size != means.shape[1] for row in rows):
            return []
        sets.append((means, tokens, np.stack([row.reshape(-1) for row in rows])))
    return sets


def find_share(name: str, values: dict, inputs: dict, factor: float = 1.0) -> float:
    """Return the share of draws of keys and values in which queries, times a factor, are right."""
    if not is_steady(values, inputs):
        return 0.0
    rng, right = np.random.default_rng(len(inputs)), []
    for means, tokens, table in read_sets(name, values, inputs):
        keys = np.repeat(means[None], _DRAWS, axis=0)
        if name in ("robust_query", "two_head_queries"):
            if name == "two_head_queries":
                gains = rng.normal(1, np.sqrt(0.5), 40 * _DRAWS)
                keys[:, tokens[0]] *= gains[gains >= 0.3][:_DRAWS, None]
            keys += 1e-3 * rng.standard_normal(keys.shape)
        held = rng.uniform(-1, 1, keys.shape)
        weights = np.mean([_softmax(keys @ (factor * q)) for q in table], axis=0)
        outputs = np.einsum("kn,knd->kd", weights, held)
        errors = np.abs(outputs - held[:, tokens].mean(axis=1)).max(axis=1)
        right.append(float((errors <= _NEAR).mean()))
    return float(np.mean(right)) if right else 0.0


def is_steady(values: dict, inputs: dict) -> bool:
    """Say whether every call came back, the second as the first, and left what it was given alone."""
    for key, value in values.items():
        index, _, rest = key.partition(".")
        kind, _, place = rest.partition(".")
        twin = {
            "out": values.get(f"{index}.again.{place}"),
            "after": inputs.get(f"{index}.{place}"),
        }
        if kind == "problem":
            return False
        if kind in twin:
            one, other = read_array(value), read_array(twin[kind])
            if one is None or other is None or one.shape != other.shape:
                return False
            if not np.allclose(one, other):
                return False
    return True


# ---------------------------------------------------------------------------- V, K and Q by hand


def attend_to_tokens(values: dict, inputs: dict, index: int):
    """Return the weights, values and contexts of the three tokens in one set, and what c1 and c2 should be.

    None where there are no matrices of the right size.
    """
    u_a, u_b, u_c, u_d = (np.asarray(inputs[f"{index}.{place}"], float) for place in range(4))
    V, K, Q = (read_array(values.get(f"{index}.out.{part}")) for part in range(3))
    if any(matrix is None or matrix.shape != (len(u_a), len(u_a)) for matrix in (V, K, Q)):
        return None
    tokens = np.stack([u_d + u_b, u_a, u_c + u_b])
    with np.errstate(all="ignore"):
        weights = _softmax((tokens @ Q.T) @ (tokens @ K.T).T)
        held = tokens @ V.T
        return weights, held, weights @ held, {"c1": u_b - u_c, "c2": u_b}


def find_halves(values: dict, inputs: dict) -> set[str]:
    """Return which of the contexts c1 and c2 are what they should be, in every set."""
    halves = {"c1", "c2"}
    if not is_steady(values, inputs):
        return set()
    for index in range(len(inputs) // 4):
        found = attend_to_tokens(values, inputs, index)
        if found is None:
            return set()
        _, _, contexts, targets = found
        for row, half in enumerate(("c1", "c2")):
            if not np.abs(contexts[row] - targets[half]).max() <= _NEAR_CONTEXT:
                halves.discard(half)
    return halves


# -------------------------------------------------------------------------------------- masks

_FORBIDDEN = -1e9  # a finite number instead of -inf may be no higher


def is_mask(values: dict, inputs: dict) -> bool:
    """Say whether masks tell the past and present from the future: as ones, or for their own masking."""
    sizes = [key.split(".")[0] for key in values if re.fullmatch(r"n\d+\.out", key)]
    masks = {int(name[1:]): read_any_numbers(values[f"{name}.out"]) for name in sizes}
    if not masks or values.get("device.device") != 1:
        return False
    if any(mask is None or mask.shape != (size, size) for size, mask in masks.items()):
        return False
    if all(np.array_equal(mask, np.tril(np.ones_like(mask))) for mask in masks.values()):
        return True
    apart = all(
        not set(mask[_past(mask)].tolist()) & set(mask[~_past(mask)].tolist())
        for mask in masks.values()
    )
    return apart and hides_the_future("pair", values, inputs)


def masks_scores(values: dict, inputs: dict) -> bool:
    """Say whether masking works with masks of one kind: the learner's own, or the course's."""
    return any(hides_the_future(k, values, inputs) for k in ("pair", "bool", "float", "int"))


MASKS = {"make_causal_mask": is_mask, "apply_causal_mask": masks_scores}


def hides_the_future(kind: str, values: dict, inputs: dict) -> bool:
    """Say whether scores of the future are gone in all cases with one kind of mask, and no others."""
    cases = [key[:-2] for key in inputs if key.startswith(f"{kind}-") and key.endswith(".A")]
    for case in cases:
        if f"{case}.device" in values:
            if values[f"{case}.device"] != 1:
                return False
            continue
        given, found = inputs[f"{case}.A"], read_any_numbers(values.get(f"{case}.out"))
        if found is None or found.shape != given.shape:
            return False
        past = _past(given)
        if not np.allclose(found[past], given[past]) or (found[~past] > _FORBIDDEN).any():
            return False
        if np.isnan(found).any() or not _leaves_alone(case, values, inputs):
            return False
        gradient = values.get(f"{case}.grad.A")
        if gradient is not None:
            gradient = read_array(gradient)
            if gradient is None or not np.allclose(gradient[past], inputs[f"{case}.weight"][past]):
                return False
    return bool(cases)


def _past(array: np.ndarray) -> np.ndarray:
    """Return where a (..., T, T) array is about keys that a query may see."""
    return np.broadcast_to(np.tri(*array.shape[-2:], dtype=bool), array.shape)


def _leaves_alone(case: str, values: dict, inputs: dict) -> bool:
    """Say whether scores and mask are as they were; of a mask of the learner's own, 1 says so."""
    for name in ("A", "mask"):
        after = values.get(f"{case}.after.{name}")
        before = inputs.get(f"{case}.{name}", 1.0)
        if after is not None and not np.array_equal(np.asarray(after, float), before):
            return False
    return True
