"""Claims about functions of tensors that were called case by case: shapes, types, gradients, leaks."""

from __future__ import annotations

import numpy as np

from autograder.proving.claims.seen import Claim, Seen, is_near, read, says


def _in_a_case(ending: str, holds) -> Claim:
    """Claim something of what came back and what should have, in some case."""

    def claim(seen: Seen) -> bool:
        pairs = [(seen.array(key), seen.wanted(key)) for key in seen.keys(ending)]
        return any(holds(*pair) for pair in pairs if None not in map(_shape, pair))

    return claim


def _shape(array) -> tuple | None:
    return None if array is None else array.shape


def _numbers_are_right(seen: Seen) -> bool:
    """In some case the output is right."""
    return any(seen.is_right(key) for key in seen.keys(".out"))


def _side_effect(part: str, holds) -> Claim:
    """Claim that a case has the right output, and beside it something that is not right."""

    def claim(seen: Seen) -> bool:
        cases = {key.split(".")[0] for key in seen.right if f".{part}." in key}
        return any(
            seen.is_right(f"{case}.out") or seen.array(f"{case}.out") is not None
            for case in cases
            for key in seen.right
            if key.startswith(f"{case}.{part}.") and holds(seen, key)
        )

    return claim


def _is_cut_off(seen: Seen, key: str) -> bool:
    return read(seen.right[key]) is not None and seen.array(key) is None


def _gradient_differs(seen: Seen, key: str) -> bool:
    return _is_cut_off(seen, key) or not is_near(seen.array(key), seen.wanted(key), 1e-5)


def _is_elsewhere(seen: Seen) -> bool:
    words = ("cuda", "device", "nvidia")
    return seen.has_text(*words) or any(
        value is None or isinstance(value, str) or float(np.reshape(value, -1)[0]) != 1
        for key, value in seen.values.items()
        if key.endswith(".device")
    )


def _leaks(seen: Seen) -> bool:
    """An output of the first three tokens moves when only later ones are changed."""
    for heads in (1, 3):
        pair = [seen.array(f"{case}.out") for case in (f"future-{heads}", f"basic-{heads}-causal")]
        if None in map(_shape, pair) or pair[0].shape != pair[1].shape:
            continue
        if np.nan_to_num(np.abs(pair[0][:, :3] - pair[1][:, :3])).max() > 1e-3:
            return True
    return False


def _fills_with(holds) -> Claim:
    """Claim something of what stands in all hidden places of some scores."""

    def claim(seen: Seen) -> bool:
        for key in seen.keys(".out"):
            out = seen.array(key)
            if out is None or out.ndim < 2 or out.shape[-1] < 2:
                continue
            hidden = out[..., np.triu(np.ones(out.shape[-2:], bool), 1)].astype(float)
            if not np.isfinite(hidden).all():
                continue
            alike = np.ptp(hidden) <= 0.1 * np.abs(hidden).min()  # a fill, or scores plus a fill
            if alike and holds(hidden.flat[0]):
                return True
        return False

    return claim


def _masks(holds) -> Claim:
    """Claim something of a mask for several tokens, beside the right one: (mask, what may be seen)."""
    return lambda seen: any(
        holds(seen.array(key), np.asarray(seen.right[key]) != 0)
        for key in seen.keys(".out")
        if key.startswith("n") and seen.array(key) is not None and seen.array(key).size > 1
    )


CASES: dict[str, Claim] = {
    "wrong-shape": lambda s: (
        s.has_text("empty|") or _in_a_case(".out", lambda out, wanted: out.shape != wanted.shape)(s)
    ),
    "wrong-dtype": _in_a_case(".out", lambda out, wanted: out.dtype != wanted.dtype),
    "not-finite": _in_a_case(".out", lambda out, _: np.isnan(out.astype(float)).any()),
    "same-every-time": lambda s: (
        len({s.values[key].tobytes() for key in s.keys(".out") if s.array(key) is not None}) == 1
    ),
    "not-repeatable": lambda s: any(
        not is_near(s.array(key), s.array(key.replace(".again", ".out")))
        for key in s.keys(".again")
    ),
    "input-changed": _side_effect("after", lambda s, key: not is_near(s.array(key), s.wanted(key))),
    "no-gradient": _side_effect("grad", _is_cut_off),
    "wrong-gradient": _side_effect("grad", _gradient_differs),
    "hard-coded-device": _is_elsewhere,
    "view-needs-contiguous": says("view size is not compatible"),
    "not-a-tensor": says("type|"),
    "mask-stops-growing": _in_a_case("n130.out", lambda out, wanted: out.size < wanted.size),
    "sees-future": _leaks,
    "mask-finite": _fills_with(lambda fill: fill < -10),
    "mask-tiny": _fills_with(lambda fill: 0 < fill < 1e-3),
    "mask-inverted": _masks(lambda mask, past: np.array_equal(mask != 0, ~past)),
    "mask-upper-triangle": _masks(lambda mask, past: np.array_equal(mask != 0, past.T)),
    "mask-all-ones": _masks(lambda mask, past: (mask != 0).all()),
    "mask-additive": _masks(lambda mask, past: not mask[past].any() and (mask[~past] < -1e3).all()),
    "block-not-cut": lambda s: _numbers_are_right(s) and s.has_text("raised|"),
}
