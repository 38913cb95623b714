"""Challenges for no points: what is asked for can be tried out, so no answer is stored here."""

from __future__ import annotations

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from course_utils import queries
from course_utils.checks.findings import Finding, end_sentence
from course_utils.checks.learners_code import describe_error
from course_utils.checks.query_crafting import TOLERANCE
from course_utils.checks.values import as_array, is_open

_B, _T, _C, _HEADS = 2, 9, 12, 3
_MIXTURES = {
    "challenge_pair": ((0.5, 0.0, 0.5, 0.0), "the mean of v0 and v2"),
    "challenge_three": ((1 / 3, 1 / 3, 1 / 3, 0.0), "the mean of v0, v1 and v2"),
}
_CLOSE = 1e-4


def examine(name: str, value, **others) -> Finding:
    """Try out a learner's answer to one of the challenges."""
    if is_open(value):
        return Finding(False, "still open: give it a value.", "todo-open")
    if name in _MIXTURES:
        return _examine_query(name, value)
    try:
        return _EXAMINERS[name](value, **others)
    except NotImplementedError:
        return Finding(False, "the TODO is still open.", "todo-open")
    except Exception as error:  # whatever a learner's code does wrong
        words = end_sentence(f"it stopped with {describe_error(error)}")
        return Finding(False, words, "raised")


def _examine_query(name: str, value) -> Finding:
    wanted, goal = _MIXTURES[name]
    try:
        q = torch.from_numpy(as_array(value)).reshape(3)
    except (ValueError, RuntimeError):
        return Finding(False, "give three numbers, as a list, array or tensor.", "not-numbers")
    values = queries.make_values().double()
    scores, weights, output = queries.attend(q, queries.make_keys().double(), values)
    error = queries.find_error(output, torch.tensor(wanted).double() @ values)
    facts = (
        f"  error {error:.4f} (should be at most {TOLERANCE})",
        "  weights: " + "  ".join(f"v{i} {float(w):.3f}" for i, w in enumerate(weights)),
    )
    if error <= TOLERANCE:
        return Finding(True, f"The output is {goal}.", facts=facts)
    scored = "  scores: " + "  ".join(f"k{i} {float(s):.3f}" for i, s in enumerate(scores))
    return Finding(False, f"the output is not {goal} yet.", "wrong-weights", (*facts, scored))


def _draw(seed: int, tokens: int = _T) -> tuple[torch.Tensor, ...]:
    dice = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(_B, tokens, _C, generator=dice) for _ in range(3))


def _examine_rope(rotate) -> Finding:
    """Rotary positions are known by what they do: lengths stay, only distances between positions count."""
    x, y, _ = _draw(1)
    turned = rotate(x)  # (B, T, C)
    if turned.shape != x.shape:
        return Finding(False, f"the shape must stay {tuple(x.shape)}.", "wrong-shape")
    if not torch.allclose(turned.norm(dim=-1), x.norm(dim=-1), atol=_CLOSE):
        return Finding(False, "a rotation leaves every length as it is; yours does not.", "length")
    same_q, same_k = x[:, :1].expand_as(x), y[:, :1].expand_as(y)  # one vector at every place
    scores = rotate(same_q) @ rotate(same_k).mT  # (B, T, T)
    for distance in range(_T):
        diagonal = scores.diagonal(-distance, -2, -1)
        if not torch.allclose(diagonal, diagonal[:, :1].expand_as(diagonal), atol=1e-3):
            return Finding(
                False,
                f"with the same two vectors at every place, scores at distance {distance} should all "
                "be equal: only the distance may count.",
                "not-relative",
            )
    if torch.allclose(scores, scores[:, :1, :1].expand_as(scores), atol=1e-3):
        return Finding(False, "nothing turns: position makes no difference yet.", "no-rotation")
    return Finding(True, "Lengths stay, and only the distance between two positions counts.")


def _examine_cache(attend_next, self_attention=None) -> Finding:
    Q, K, V = _draw(2)
    wanted = self_attention(Q, K, V, n_heads=_HEADS, causal=True)
    cache = None
    for place in range(_T):
        step = slice(place, place + 1)
        output, cache = attend_next(Q[:, step], K[:, step], V[:, step], cache, _HEADS)
        if output.shape != (_B, 1, _C):
            words = f"the output for one token must have shape ({_B}, 1, {_C})."
            return Finding(False, words, "wrong-shape")
        difference = (output[:, 0] - wanted[:, place]).abs().max().item()
        if difference > _CLOSE:
            return Finding(
                False,
                f"token {place} differs from your self_attention by {difference:.2g}.",
                "wrong-values",
            )
    return Finding(True, f"{_T} tokens, one at a time, gave what your self_attention gives.")


def _examine_chunks(attend, self_attention=None) -> Finding:
    tokens, chunk = 256, 16
    Q, K, V = _draw(3, tokens)
    wanted = self_attention(Q, K, V, n_heads=_HEADS, causal=True)
    with _LargestTensor() as seen:
        output = attend(Q, K, V, _HEADS, chunk)
    if output.shape != wanted.shape:
        return Finding(False, f"the output must have shape {tuple(wanted.shape)}.", "wrong-shape")
    difference = (output - wanted).abs().max().item()
    if difference > _CLOSE:
        return Finding(False, f"it differs from your self_attention by {difference:.2g}.", "wrong")
    allowed = _B * _HEADS * tokens * chunk
    fact = f"  largest tensor on the way: {seen.numbers:,} numbers; (T, T) scores: {_B * _HEADS * tokens**2:,}"
    if seen.numbers > 2 * allowed:
        return Finding(
            False, "the numbers are right, but memory still grows with T * T.", "too-large", (fact,)
        )
    return Finding(True, "Right, and no table of (T, T) was ever made.", facts=(fact,))


class _LargestTensor(TorchDispatchMode):
    """Remembers the size of the largest tensor that any operation made."""

    numbers = 0

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        result = function(*arguments, **(keywords or {}))
        for tensor in result if isinstance(result, tuple | list) else (result,):
            if isinstance(tensor, torch.Tensor):
                self.numbers = max(self.numbers, tensor.untyped_storage().nbytes() // 4)
        return result


_EXAMINERS = {
    "rotate_positions": _examine_rope,
    "attend_next": _examine_cache,
    "attend_in_chunks": _examine_chunks,
}
NAMES = {  # by notebook
    "1_query_crafting": tuple(_MIXTURES),
    "2_attention_from_scratch": tuple(_EXAMINERS),
}
