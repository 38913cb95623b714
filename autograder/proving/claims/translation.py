"""Claims about the translation notebook: what attention, a loss, decoding and a description give."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from autograder.proving.claims.seen import Claim, Seen, is_near, says


def _cases(seen: Seen) -> list[str]:
    return list(dict.fromkeys(key.split(".")[0] for key in seen.inputs))


def _in_a_case(holds) -> Claim:
    return lambda seen: any(holds(seen, case) for case in _cases(seen))


def _changed(seen: Seen, case: str) -> bool:
    return any(
        float(value) != 1 for key, value in seen.values.items() if key.startswith(f"{case}.kept.")
    )


def _has_no_gradient(seen: Seen, case: str) -> bool:
    keys = [key for key in seen.right if key.startswith(f"{case}.grad")]
    return any(seen.array(key) is None for key in keys)


def _has_wrong_gradient(seen: Seen, case: str) -> bool:
    keys = [key for key in seen.right if key.startswith(f"{case}.grad")]
    return any(not is_near(seen.array(key), seen.wanted(key), 1e-5) for key in keys)


COMMON: dict[str, Claim] = {
    "input-changed": _in_a_case(_changed),
    "no-gradient": _in_a_case(_has_no_gradient),
    "wrong-gradient": _in_a_case(_has_wrong_gradient),
    "hard-coded-device": lambda s: (
        s.has_text("cuda", "nvidia", "device", "accelerator")
        or any(
            key.endswith(".device")
            and (isinstance(value, str) or float(np.reshape(value, -1)[0]) != 1)
            for key, value in s.values.items()
        )
    ),
}

# ---------------------------------------------------------------------------------- attention


def _shapes(seen: Seen, case: str) -> tuple[tuple, tuple]:
    parts = (seen.array(f"{case}.{part}") for part in ("attended", "weights"))
    attended, weights = (() if part is None else part.shape for part in parts)
    return attended, weights


def _sizes(seen: Seen, case: str) -> tuple[int, int, int]:
    return np.shape(seen.inputs[f"{case}.outputs"])


def _of_shapes(holds) -> Claim:
    """Claim something of the shapes of attended and weights, for (B, T, 2E), in some case."""
    return lambda seen: any(
        holds(*_shapes(seen, case), *_sizes(seen, case))
        for case in _cases(seen)
        if seen.array(f"{case}.attended") is not None
    )


def _of_numbers(holds) -> Claim:
    """Claim something of attended, weights and the mask, in some case."""

    def claim(seen: Seen) -> bool:
        for case in _cases(seen):
            attended, weights = (seen.array(f"{case}.{part}") for part in ("attended", "weights"))
            mask = np.asarray(seen.inputs[f"{case}.mask"], bool)
            if attended is not None and weights is not None and holds(attended, weights, mask):
                return True
        return False

    return claim


def _layers(holds) -> Claim:
    """Claim something of the sizes of q_proj, k_proj and v_proj, for E, D and kq, in some case."""

    def claim(seen: Seen) -> bool:
        for case in _cases(seen):
            layers = seen.array(f"{case}.layers")
            if layers is None or layers.shape != (3, 2):
                continue
            E, D, kq = (int(size) for size in seen.inputs[f"{case}.sizes"])
            if holds(*(tuple(map(int, layer)) for layer in layers), E, D, kq):
                return True
        return False

    return claim


ATTENTIONS: dict[str, Claim] = COMMON | {
    "wrong-shape": _of_shapes(lambda a, w, B, T, C: (a, w) != ((B, C), (B, T))),
    "outputs-swapped": _of_shapes(lambda a, w, B, T, C: (a, w) == ((B, T), (B, C))),
    "attended-not-squeezed": _of_shapes(lambda a, w, B, T, C: len(a) == 3),
    "weights-not-squeezed": _of_shapes(lambda a, w, B, T, C: len(w) == 3),
    "squeezed-too-much": lambda s: (
        _of_shapes(lambda a, w, B, T, C: (len(a) < 2 or len(w) < 2) and 1 in (B, T))(s)
        or all(1 in _sizes(s, case)[:2] for case in _cases(s) if s.text(f"{case}.attended"))
    ),
    "remembers-first-call": _in_a_case(
        lambda s, c: (
            s.is_right(f"{c}.attended")
            and not (s.is_right(f"{c}.other") and s.is_right(f"{c}.other_weights"))
        )
    ),
    "not-finite": _of_numbers(lambda a, w, m: not (np.isfinite(a).all() and np.isfinite(w).all())),
    "not-repeatable": _in_a_case(
        lambda s, c: (
            s.array(f"{c}.again") is not None
            and not is_near(s.array(f"{c}.again"), s.array(f"{c}.attended"))
        )
    ),
    "wrong-dtype": lambda s: (
        s.has_text("dtype", "scalar type")
        or _in_a_case(
            lambda s, c: s.array(f"{c}.attended").dtype != s.inputs[f"{c}.outputs"].dtype
        )(s)
    ),
    "weights-on-padding": _of_numbers(lambda a, w, m: w.shape == m.shape and (w[~m] > 1e-6).any()),
    "mask-finite": lambda s: all(
        case.startswith("extreme")
        for case in _cases(s)
        if s.array(f"{case}.weights") is not None and not s.is_right(f"{case}.weights")
    ),
    "attended-wrong": _in_a_case(
        lambda s, c: s.is_right(f"{c}.weights") and not s.is_right(f"{c}.attended")
    ),
    "weights-do-not-sum": _of_numbers(lambda a, w, m: (np.abs(w.sum(axis=-1) - 1) > 1e-3).any()),
    "extra-layers": says("extra-layers|"),
    "layers-missing": says("layers-missing|"),
    "layers-not-linear": says("layers-not-linear|"),
    "not-a-module": says("not-a-module|"),
    "not-a-pair": says("not-a-pair|"),
    "not-a-tensor": says("not-a-tensor|"),
    "layer-sizes": says("layer-sizes|"),
    "super-forgotten": says("before module.__init__"),
    "constructor-arguments": says("meanpoolattention.__init__() missing"),
    "v-proj-half": _layers(lambda q, k, v, E, D, kq: v == (2 * E, E)),
    "v-proj-to-kq": _layers(lambda q, k, v, E, D, kq: v == (2 * E, kq or 64)),
    "v-proj-to-decoder": _layers(lambda q, k, v, E, D, kq: v == (2 * E, D)),
    "encoder-size-not-doubled": _layers(lambda q, k, v, E, D, kq: E in (k[0], v[0])),
    "projections-exchanged": _layers(lambda q, k, v, E, D, kq: (q[0], k[0]) == (2 * E, D)),
    "kq-dim-ignored": _layers(lambda q, k, v, E, D, kq: q[1] == k[1] == 64 != kq),
    "kq-dim-default": lambda s: (
        s.has_text("positional argument: 'kq_dim'")
        or _layers(lambda q, k, v, E, D, kq: not kq and q[1] == k[1] != 64)(s)
    ),
}

# ------------------------------------------------------------------------ losses and numbers

LOSSES: dict[str, Claim] = COMMON | {
    "loss-not-scalar": _in_a_case(lambda s, c: s.array(f"{c}.loss").shape != ()),
    "loss-dimensions": says("expected target size"),
}

DESCRIPTIONS: dict[str, Claim] = COMMON | {
    "wrong-keys": says("keys|"),
    "not-a-dict": says("not-a-dict|"),
    "not-floats": says("not-floats|"),
    "variance-of-sample": says("at least two data points"),
    "tensors-not-taken": lambda s: (
        any(s.text(f"{case}.found") for case in _cases(s) if case.startswith(("tensors", "grad")))
        and not all(s.text(f"{case}.found") for case in _cases(s))
    ),
    "floats-not-taken": lambda s: not s.text("tensors.found") and s.has_text("raised|"),
}

# ----------------------------------------------------------------------------------- decoding


def _words(seen: Seen, case: str, of: str = "values") -> list[int]:
    words = [int(word) for word in np.reshape(getattr(seen, of).get(f"{case}.words", []), -1)]
    return words[:-1] if words[-1:] == [-1] else words


def _of_decoding(holds) -> Claim:
    """Claim something of (words, right words, steps fed and asked, source, limit), in some case."""

    def claim(seen: Seen) -> bool:
        for case in _cases(seen):
            if seen.array(f"{case}.words") is None:
                continue
            diary = np.reshape(seen.values[f"{case}.diary"], (-1, 5))
            steps = diary[: int(seen.number(f"{case}.n_steps"))]
            source = [int(token) for token in seen.inputs[f"{case}.source"]]
            limit = int(seen.inputs[f"{case}.max_tokens"])
            words, wanted = _words(seen, case), _words(seen, case, "right")
            if holds(words, wanted, steps, source, limit):
                return True
        return False

    return claim


def _encoded(holds) -> Claim:
    def claim(seen: Seen) -> bool:
        return any(
            holds(seen.list(f"{case}.encoded"), [int(t) for t in seen.inputs[f"{case}.source"]])
            for case in _cases(seen)
        )

    return claim


def _mode(before: int) -> Claim:
    return _in_a_case(
        lambda s, c: int(s.inputs[f"{c}.training"]) == before and s.number(f"{c}.mode") != before
    )


def _best(seen: Seen, case: str, word: int, step: int) -> int:
    table = np.asarray(seen.inputs[f"{case}.table"])
    return int(table[min(int(step), len(table) - 1), int(word)].argmax())


def _goes_on(seen: Seen) -> bool:
    """The model found STOP likeliest, and was asked again."""
    for case in _cases(seen):
        steps = np.reshape(seen.values.get(f"{case}.diary", [[-1] * 5]), (-1, 5))
        stop = int(seen.inputs[f"{case}.source"][-1])
        if any(_best(seen, case, word, step) == stop for word, step, *_ in steps[:-1] if word >= 0):
            return True
    return False


def _feeds_another(seen: Seen) -> bool:
    """The decoder was fed another token than the one that the model had found likeliest."""
    for case in _cases(seen):
        steps = np.reshape(seen.values.get(f"{case}.diary", [[-1] * 5]), (-1, 5))
        for (word, step, *_), (fed, *_) in pairwise(steps):
            if word >= 0 and fed != _best(seen, case, word, step):
                return True
    return False


DECODING: dict[str, Claim] = COMMON | {
    "stop-returned": _of_decoding(lambda w, r, d, s, n: s[-1] in w),
    "start-returned": _of_decoding(lambda w, r, d, s, n: s[0] in w),
    "never-stops": _goes_on,
    "limit-ignored": lambda s: (
        s.has_text("far more words than allowed")
        or _of_decoding(lambda w, r, d, s, n: len(w) > n)(s)
    ),
    "limit-off-by-one": _of_decoding(
        lambda w, r, d, s, n: w != r and len(r) == n and (w == r[:-1] or w[:-1] == r)
    ),
    "last-word-dropped": _of_decoding(lambda w, r, d, s, n: w != r and w == r[:-1]),
    "token-not-fed-back": _of_decoding(
        lambda w, r, d, s, n: len(d) > 1 and len(set(d[:, 0].tolist())) == 1
    ),
    "source-fed": _of_decoding(
        lambda w, r, d, s, n: len(d) > 1 and set(d[:, 0].tolist()) <= set(s)
    ),
    "hidden-not-carried": _of_decoding(
        lambda w, r, d, s, n: len(d) > 1 and set(d[:, 1].tolist()) == {0}
    ),
    "begins-without-start": _of_decoding(lambda w, r, d, s, n: len(d) > 0 and d[0, 0] != s[0]),
    "not-the-likeliest": _feeds_another,
    "eval-forgotten": _in_a_case(
        lambda s, c: (
            (np.reshape(s.values[f"{c}.diary"], (-1, 5))[:, 2] > 0).any()
            or s.list(f"{c}.encoded_in")[0] > 0
        )
    ),
    "gradients-on": _in_a_case(
        lambda s, c: (
            (np.reshape(s.values[f"{c}.diary"], (-1, 5))[:, 3] > 0).any()
            or s.list(f"{c}.encoded_in")[1] > 0
        )
    ),
    "gradients-left-off": _in_a_case(lambda s, c: s.number(f"{c}.gradients_after") != 1),
    "limit-from-source": _of_decoding(
        lambda w, r, d, s, n: len(w) < len(r) < n and len(w) in (len(s), len(s) - 2, 2 * len(s))
    ),
    "mask-inverted": _in_a_case(
        lambda s, c: (np.reshape(s.values[f"{c}.diary"], (-1, 5))[:, 4] <= 0).all()
    ),
    "mask-hides-words": _in_a_case(lambda s, c: s.number(f"{c}.masked") != 1),
    "mode-not-restored": _mode(1),
    "mode-always-training": _mode(0),
    "source-cut": _encoded(lambda e, s: len(e) < len(s)),
    "source-wrapped-again": _encoded(lambda e, s: e[1:-1] == s),
    "source-not-encoded": _encoded(lambda e, s: e[: len(s)] != s),
    "not-ints": says("not-ints|"),
    "not-a-list": says("not-a-list|"),
    "batch-dimension": says("encode wants", "step wants"),
    "mask-not-bool": says("the mask holds no truth values"),
    "encoding-not-passed-on": says("not those of the encoded sentence"),
    "not-repeatable": _in_a_case(
        lambda s, c: not is_near(s.array(f"{c}.again"), s.array(f"{c}.words"))
    ),
}

TRANSLATION: dict[str, dict[str, Claim]] = {
    "MeanPoolAttention": ATTENTIONS,
    "SingleQueryScaledDotProductAttention": ATTENTIONS,
    "masked_loss": LOSSES,
    "greedy_translate": DECODING,
    "describe_losses": DESCRIPTIONS,
}
