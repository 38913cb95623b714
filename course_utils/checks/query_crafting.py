"""Notebook 1's checks: is this query (or key) right, and if not, which mistake does it look like?

Right and wrong are decided by running attention itself on the public keys and values, so there
is no answer in here to find: only targets, and descriptions of ways to miss them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from course_utils import queries
from course_utils.checks.findings import Finding
from course_utils.checks.values import as_array, describe_shape, is_open
from course_utils.queries import TOLERANCE

LENGTH_TOLERANCE = 0.01  # how far from 1 the length of a "unit" key may be
_EVEN = 0.005  # how far from 0.25 a weight may be in a mean of all four that needs no remark
_ROUNDING = 1e-9  # 0.05 itself still passes, whatever the last bit says
_FACTORS = np.geomspace(1e-5, 1e5, 1001)  # lengths tried to tell "wrong" from "wrong length"


@dataclass(frozen=True)
class Item:
    """One task: what the learner gives, and which mixture of the values it must produce."""

    number: str
    goal: str  # what the output should be, in words
    wanted: tuple[tuple[float, ...], ...]  # the weights that would be exact, one row per query
    gives: str = "query"  # "query", "queries" (a matrix of four) or "key" (a new third key)
    unit_length: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        return (4, 3) if self.gives == "queries" else (3,)

    @property
    def target(self) -> torch.Tensor:
        target = torch.tensor(self.wanted).double() @ queries.make_values().double()
        return target if self.gives == "queries" else target[0]


_third = 1 / 3
ITEMS = {
    "q_select_first": Item("1.2.1", "the first value v0", ((1.0, 0.0, 0.0, 0.0),)),
    "Q_identity": Item(
        "1.2.2", "all four values, one per row", tuple(map(tuple, np.eye(4).tolist())), "queries"
    ),
    "q_average_all": Item("1.3.1", "the mean of all values", ((0.25, 0.25, 0.25, 0.25),)),
    "q_average_two": Item("1.3.2", "the mean of v0 and v1", ((0.5, 0.5, 0.0, 0.0),)),
    "k2_average_three": Item(
        "1.4.1", "the mean of v0, v1 and v2", ((_third, _third, _third, 0.0),), "key"
    ),
    "k2_select": Item("1.4.2", "the third value v2", ((0.0, 0.0, 1.0, 0.0),), "key", True),
}


def examine(name: str, value, query=None) -> Finding:
    """Judge the value given for one item; `query` is the 1.3.2 query that 1.4 builds on."""
    item = ITEMS[name]
    if is_open(value):
        return Finding(
            False, f"still `...`: the TODO of {item.number} is open. Give it a value.", "todo-open"
        )
    try:
        array = as_array(value)
    except ValueError as problem:
        return Finding(
            False,
            f"{name} should hold numbers, as a list, an array or a tensor: {problem}.",
            "not-numbers",
        )
    return _examine_shape(name, item, array) or _examine_numbers(name, item, array, query)


def passes(name: str, value) -> bool:
    """Say whether a value passes its item (items that need no other answer)."""
    return examine(name, value).passed


def _examine_shape(name: str, item: Item, array: np.ndarray) -> Finding | None:
    if array.shape == item.shape or (item.shape == (3,) and array.shape == (1, 3)):
        return None
    given = describe_shape(array)
    if item.gives == "key" and array.shape == (4, 3):
        return _examine_whole_matrix(name, array)
    if item.gives == "queries":
        hint = {
            (3, 4): " It looks transposed: each query is a row.",
            (3,): " One query gives one output; here you need four.",
            (4, 4): " A query lives in the keys' space, which has three dimensions.",
        }.get(array.shape, "")
    else:
        hint = {
            (3, 1): " That is a column; give a flat row of three numbers.",
            (4,): " Four numbers look like scores, weights or a column of K.",
            (4, 3): " That is four vectors; this item asks for one.",
            (): " That is a single number.",
        }.get(array.shape, "")
    return Finding(
        False,
        f"{name} has shape {given}, but it must have shape {item.shape}.{hint}",
        "wrong-shape",
    )


def _examine_whole_matrix(name: str, array: np.ndarray) -> Finding:
    others = [0, 1, 3]
    if not np.allclose(array[others], queries.make_keys().numpy()[others], atol=1e-6):
        return Finding(
            False,
            f"{name} is a whole key matrix in which keys other than the third have changed. "
            "Only k2 may change: give just its three numbers.",
            "other-keys-changed",
        )
    return Finding(
        False,
        f"{name} is a whole key matrix of shape (4, 3). Give just the third key, three numbers.",
        "wrong-shape",
    )


def _examine_numbers(name: str, item: Item, array: np.ndarray, query) -> Finding:
    if not np.isfinite(array).all():
        kind = "NaN (not a number)" if np.isnan(array).any() else "infinity"
        return Finding(
            False,
            f"{name} contains {kind}. The softmax of such scores is undefined; "
            "use ordinary numbers, large ones if you need them.",
            "not-finite",
        )
    given = torch.from_numpy(array).reshape(item.shape)
    if item.gives == "key":
        return _examine_key(item, given, query)
    keys = queries.make_keys().double()
    return _examine_query(item, given, keys)


# ---------------------------------------------------------------------------- queries


def _examine_query(item: Item, q: torch.Tensor, keys: torch.Tensor) -> Finding:
    scores, weights, output = queries.attend(q, keys, queries.make_values().double())
    error = queries.find_error(output, item.target)
    facts = _describe_result(error, weights)
    if _is_small(error):
        facts += _remark_on_uneven_weights(item, weights)
        return Finding(True, f"The output is {item.goal}.", facts=facts)
    for diagnosis, sentence in _suspect_query_mistakes(item, q, keys, scores, weights):
        if sentence:
            return Finding(False, sentence, diagnosis, facts + _remark_on_changed_keys())
    return Finding(
        False,
        f"the output is not {item.goal} yet. Compare the weights below with the ones you want.",
        "wrong-weights",
        facts + _remark_on_changed_keys(),
    )


def _suspect_query_mistakes(item, q, keys, scores, weights):
    """Yield (diagnosis, sentence or None) for each known mistake, the most telling first."""
    values = queries.make_values().double()
    wanted = torch.tensor(item.wanted).double().reshape(weights.shape)
    rows = (q / q.norm(dim=-1, keepdim=True).clamp_min(1e-12)).reshape(-1, 3)

    yield (
        "overflow",
        None
        if torch.isfinite(scores).all()
        else "the numbers are so large that the scores overflow. A length of a few dozen is plenty.",
    )
    yield (
        "softmax-forgotten",
        "your query would work if the scores were used as weights directly. The softmax comes in "
        "between: it turns differences between scores into ratios between weights."
        if _aims_without_softmax(q, keys, values, wanted)
        else None,
    )
    yield (
        "opposite-sign",
        "flip the sign of this query and it would pass: the key you want has the lowest score "
        "instead of the highest."
        if _is_small(_error(item, -q, keys))
        else None,
    )
    shorter, longer = _lengths_that_pass(item, q, keys)
    if not _ranks_rightly(scores, wanted):
        shorter = longer = False  # it would pass by accident, not because the direction is right
    several = item.gives == "queries"
    subject = (
        "directions are fine, the queries are" if several else "direction is fine, the query is"
    )
    yield (
        "scale-too-large",
        f"the {subject} too long ({_length(q)}): tiny differences "
        "between scores grow until the softmax sees one winner."
        if shorter
        else None,
    )
    yield (
        "scale-too-small",
        f"the {subject} too short ({_length(q)}): the scores differ too "
        "little for the softmax to tell the keys apart."
        if longer
        else None,
    )
    yield (
        "values-as-query",
        "your query points along values. Scores compare a query with the keys, never with values."
        if _points_along(rows, values, item)
        else None,
    )
    yield from _describe_weights(item, scores, weights, wanted)


def _describe_weights(item: Item, scores, weights, wanted):
    even = float((weights.amax(dim=-1) - weights.amin(dim=-1)).max()) < 0.05
    yield (
        "averages-all",
        "all four weights are equal, so the output is the mean of all values. Some keys must "
        "score higher than the others."
        if even
        else None,
    )
    if item.gives == "queries":
        missed = [
            f"row {row} favours v{int(weights[row].argmax())}"
            for row in range(4)
            if int(weights[row].argmax()) != row
        ]
        yield (
            "wrong-key",
            f"each row should select its own value, but {', '.join(missed)}." if missed else None,
        )
        return
    top = int(weights.argmax())
    share = float(weights.max())
    favoured = [index for index in range(4) if wanted[index] > 0]
    if item.number == "1.2.1":
        runner_up = float(weights.sort().values[-2])
        off_by_one = " Rows count from 0." if top == 1 and share > 2 * runner_up else ""
        yield (
            "wrong-key",
            f"your query favours v{top} (weight {share:.2f}), not v0.{off_by_one}"
            if top not in favoured
            else None,
        )
    elif share > 0.95:
        yield (
            "selects-one",
            f"v{top} takes {share:.0%} of the weight, so the output is nearly a single value. "
            "A mean gives every value the same share.",
        )
    if item.number == "1.3.1":
        spread = float(scores.max() - scores.min())
        yield (
            "scale-too-large",
            f"the scores lie up to {spread:.1f} apart, which makes the weights too uneven for a mean. "
            "A longer query pulls scores further apart.",
        )
    elif item.number == "1.3.2":
        extra = [f"v{i} ({weights[i]:.2f})" for i in (2, 3) if weights[i] > 0.1]
        yield (
            "wrong-key",
            f"{' and '.join(extra)} should get no weight; v0 and v1 should get half each."
            if extra
            else None,
        )


def _aims_without_softmax(q, keys, values, wanted) -> bool:
    """Would q be right if scores were weights (exactly, or in the least-squares sense)?"""
    if _is_small(queries.find_error(q @ keys.T @ values, wanted @ values)):
        return True
    aimed = torch.linalg.lstsq(keys, wanted.reshape(-1, 4).T).solution.T  # (n, 3)
    return torch.allclose(q.reshape(-1, 3), aimed, atol=0.02)


def _ranks_rightly(scores: torch.Tensor, wanted: torch.Tensor) -> bool:
    """Do the wanted keys score above all others? (Lengthening a query never changes the order.)"""
    lowest_wanted = scores.masked_fill(wanted == 0, torch.inf).amin(dim=-1)
    highest_other = scores.masked_fill(wanted > 0, -torch.inf).amax(dim=-1)
    return bool((wanted == 0).any() and (lowest_wanted > highest_other).all())


def _points_along(rows: torch.Tensor, values: torch.Tensor, item: Item) -> bool:
    wanted = torch.tensor(item.wanted).double() @ values  # (n, 3), the values that are wanted
    cosines = torch.cosine_similarity(rows, wanted.reshape(-1, 3), dim=-1).abs()
    return bool((cosines > 0.999).all())


def _lengths_that_pass(item: Item, q: torch.Tensor, keys: torch.Tensor) -> tuple[bool, bool]:
    """Would the same direction pass when shorter, and when longer?"""
    factors = torch.from_numpy(_FACTORS)
    errors = [_error(item, factor * q, keys) for factor in factors]
    passing = torch.tensor([_is_small(error) for error in errors])
    return bool(passing[factors < 1].any()), bool(passing[factors > 1].any())


# ------------------------------------------------------------------------------- keys


def _examine_key(item: Item, k2: torch.Tensor, query) -> Finding:
    if query is None or is_open(query) or not passes("q_average_two", query):
        return Finding(
            False,
            f"{item.number} builds on your query of 1.3.2, which does not pass yet. Finish 1.3.2 "
            "first. (In grading, a right query stands in for a wrong one.)",
            "query-not-ready",
        )
    q = torch.from_numpy(as_array(query)).reshape(3)
    length = float(k2.norm())
    if item.unit_length and abs(length - 1) > LENGTH_TOLERANCE:
        return Finding(
            False,
            f"the new k2 has length {length:.3f}; this item asks for length 1 "
            f"(within {LENGTH_TOLERANCE}).",
            "length-not-1",
        )
    keys = _replace_third(k2)
    scores, weights, output = queries.attend(q, keys, queries.make_values().double())
    error = queries.find_error(output, item.target)
    facts = _describe_result(error, weights)
    if _is_small(error):
        return Finding(True, f"The output is {item.goal}.", facts=facts)
    if item.unit_length:
        needed = _find_length_needed(item, q)
        if needed and float(q.norm()) < needed:
            return Finding(
                False,
                f"with your query of 1.3.2, of length {float(q.norm()):.1f}, no key of length 1 "
                f"can do this. The query needs a length of about {needed:.1f} or more: go back "
                "to 1.3.2, lengthen it there (its check must still pass), and run on from there.",
                "query-too-short",
                facts,
            )
    diagnosis, sentence = _suspect_key_mistake(item, k2, q, scores, weights)
    return Finding(False, sentence, diagnosis, facts + _remark_on_changed_keys())


def _suspect_key_mistake(item, k2, q, scores, weights) -> tuple[str, str]:
    values = queries.make_values().double()
    turned = queries.attend(q, _replace_third(-k2), values)[2]
    if _is_small(queries.find_error(turned, item.target)):
        return (
            "opposite-sign",
            "flip the sign of this key and it would pass: it points away from your query.",
        )
    if torch.cosine_similarity(k2, values[2], dim=0) > 0.999:
        return (
            "values-as-query",
            "the new k2 points along v2. Keys are compared with the query; values only get mixed.",
        )
    others = f"{float(scores[0]):.1f} and {float(scores[1]):.1f}"
    compared = f"its score with your query is {float(scores[2]):.1f}, beside {others} for k0 and k1"
    if not item.unit_length and weights[2] > 1 / 3:
        return "key-too-strong", f"the new k2 takes too much of the weight: {compared}."
    return "key-too-weak", f"the new k2 gets too little of the weight: {compared}."


def _replace_third(k2: torch.Tensor) -> torch.Tensor:
    keys = queries.make_keys().double()
    keys[2] = k2
    return keys


def _find_length_needed(item: Item, q: torch.Tensor) -> float | None:
    """Return the shortest length at which this query's direction leaves the item solvable."""
    direction = q / q.norm()
    keys = _replace_third(direction)  # no key of length 1 scores higher with this query
    lengths = torch.arange(0.1, 1000.0, 0.1)
    for length in lengths.tolist():
        if _is_small(_error(item, length * direction, keys)):
            return length
    return None


# ------------------------------------------------------------------------------ words


def _error(item: Item, q: torch.Tensor, keys: torch.Tensor) -> float:
    output = queries.attend(q, keys, queries.make_values().double())[2]
    return queries.find_error(output, item.target)


def _is_small(error: float) -> bool:
    return error <= TOLERANCE + _ROUNDING  # False for NaN


def _length(q: torch.Tensor) -> str:
    lengths = q.reshape(-1, 3).norm(dim=-1)
    if len(lengths) == 1:
        return f"length {float(lengths[0]):.3g}"
    return f"lengths {', '.join(f'{float(length):.3g}' for length in lengths)}"


def _describe_result(error: float, weights: torch.Tensor) -> tuple[str, ...]:
    verdict = "at most" if _is_small(error) else "must be at most"
    lines = [f"  error {error:.4f} ({verdict} {TOLERANCE})"]
    for row, shares in enumerate(weights.reshape(-1, 4)):
        label = "weights" if weights.ndim == 1 else f"weights of row {row}"
        lines.append(
            f"  {label}: " + "  ".join(f"v{i} {float(share):.3f}" for i, share in enumerate(shares))
        )
    return tuple(lines)


def _remark_on_uneven_weights(item: Item, weights: torch.Tensor) -> tuple[str, ...]:
    """Say so when a mean of all values passes although the weights are not quite equal."""
    if item.number != "1.3.1" or float((weights - 0.25).abs().max()) <= _EVEN:
        return ()
    return (
        "  Remark: close enough, but this is not quite a mean: its weights would all be 0.250. "
        "What do the scores have to be for that?",
    )


def _remark_on_changed_keys() -> tuple[str, ...]:
    same = torch.equal(queries.K, queries.make_keys()) and torch.equal(
        queries.V, queries.make_values()
    )
    if same:
        return ()
    return (
        "  Note: K or V themselves have been changed in this kernel. Restart it, run the set-up "
        "again, and work on copies (K.clone()).",
    )
