"""Claims about the pretraining notebook: texts that came back, and how a model was asked."""

from __future__ import annotations

import numpy as np

from autograder.proving.claims.seen import Claim, Seen, says
from course_utils.checks.pretraining_trials import MASK, PAD, unpack

_LONG = 40  # characters from which a document is long


def _cases(seen: Seen) -> list[str]:
    return list(dict.fromkeys(key.split(".")[0] for key in seen.inputs))


def _read(values: dict, key: str) -> list[str]:
    value = values.get(key)
    return [] if value is None or isinstance(value, str) else unpack(value)


def _of_texts(holds) -> Claim:
    """Claim something of the texts that came back and those that should have, in some case."""
    return lambda seen: any(
        holds(_read(seen.values, f"{case}.out"), _read(seen.right, f"{case}.out"), seen, case)
        for case in _cases(seen)
        if seen.array(f"{case}.out") is not None
    )


def _changed(seen: Seen) -> bool:
    return any(
        bool(np.any(value)) for key, value in seen.values.items() if key.endswith(".changed")
    )


BASELINE: dict[str, Claim] = {
    "input-changed": _changed,
    "baseline-one-string": says("type|str"),
    "baseline-with-count": says("type|", "parts|"),
    "baseline-one-only": _of_texts(lambda said, wanted, s, c: len(said) == 1 != len(wanted)),
    "baseline-per-training-answer": _of_texts(
        lambda said, wanted, s, c: len(said) == len(unpack(s.inputs[f"{c}.answers"])) != len(wanted)
    ),
    "baseline-not-a-list": says("type|", "parts|"),
    "baseline-random": lambda s: any(
        not np.all(value) for key, value in s.values.items() if key.endswith(".steady")
    ),
    "baseline-several": _of_texts(lambda said, wanted, s, c: len(set(said)) > 1),
    "baseline-wrong-length": _of_texts(lambda said, wanted, s, c: len(said) != len(wanted)),
    "baseline-not-most-frequent": _of_texts(lambda said, wanted, s, c: said != wanted),
}
COUNT: dict[str, Claim] = {
    "input-changed": _changed,
    "count-not-a-number": says("type|"),
}
PAIRS: dict[str, Claim] = {
    "not-two-strings": lambda s: (
        s.has_text("type|", "parts|") or _of_texts(lambda said, wanted, s, c: len(said) != 2)(s)
    ),
    "wrong-lengths": _of_texts(lambda said, wanted, s, c: [*map(len, said)] != [*map(len, wanted)]),
    "wrong-x": _of_texts(lambda said, wanted, s, c: said[:1] != wanted[:1]),
    "wrong-y": _of_texts(lambda said, wanted, s, c: said[:1] == wanted[:1] and said != wanted),
}

# ------------------------------------------------------------------------------ span corruption


def _document(seen: Seen, case: str) -> str:
    return unpack(seen.inputs[f"{case}.document"])[0]


def _of_drawn(holds) -> Claim:
    """Claim something of one of the texts, with its document and the size of the block."""
    return _of_texts(
        lambda said, wanted, s, c: any(
            holds(text, _document(s, c), int(s.inputs[f"{c}.block_size"])) for text in said
        )
    )


def _take_apart(text: str) -> list[str]:
    return text.rstrip(PAD).split(MASK)


def _of_parts(holds) -> Claim:
    """Claim something of a text with two MASKs: what stands before, between and behind them."""
    return _of_drawn(
        lambda text, document, size: (
            len(_take_apart(text)) == 3 and holds(*_take_apart(text), document, size)
        )
    )


def _of_all(holds) -> Claim:
    """Claim something of (kept, start, size) over all draws from long documents."""

    def claim(seen: Seen) -> bool:
        rows = []
        for case in _cases(seen):
            if len(_document(seen, case)) <= _LONG:
                continue
            for text in _read(seen.values, f"{case}.out"):
                parts = _take_apart(text)
                if len(parts) == 3:
                    rows.append((len("".join(parts)), len(parts[0]), len(parts[2])))
        return bool(rows) and bool(holds(*np.array(rows, float).T))

    return claim


def _kept(holds) -> Claim:
    """Claim something of how much was kept of a long document, and the most that may be, in some case."""

    def claim(seen: Seen) -> bool:
        for case in _cases(seen):
            most = 7 * int(seen.inputs[f"{case}.block_size"]) // 8
            texts = _read(seen.values, f"{case}.out")
            kept = np.array([len("".join(_take_apart(text))) for text in texts])
            if len(kept) and len(_document(seen, case)) > _LONG and holds(kept, most):
                return True
        return False

    return claim


def _is_uneven(kept: np.ndarray, most: int) -> bool:
    thirds = np.array_split(np.arange(4, most + 1), 3)
    return any(abs(np.isin(kept, t).mean() - len(t) / (most - 3)) > 0.06 for t in thirds)


def _vary(kept, start, size) -> bool:
    groups = [size[kept == n] for n in np.unique(kept) if n >= 12 and (kept == n).sum() >= 8]
    return np.mean([len(set(group)) > 1 for group in groups]) >= 0.5


def _places(kept, start, size) -> np.ndarray:
    room = kept - size
    return (start / np.maximum(room, 1))[room >= 8]


def _slope(kept, start, size) -> float:
    share, (low, high) = size / kept, np.quantile(kept, (1 / 3, 2 / 3))
    return share[kept <= low].mean() - share[kept >= high].mean()


SPANS: dict[str, Claim] = {
    "not-a-string": says("type|", "parts|"),
    "fails-on-short": says("empty range"),
    "not-padded": _of_drawn(lambda t, d, n: len(t) < n),
    "too-long-for-block": _of_drawn(lambda t, d, n: len(t.rstrip(PAD)) > n),
    "padded-too-far": _of_drawn(lambda t, d, n: len(t) > n >= len(t.rstrip(PAD))),
    "padded-in-front": _of_drawn(lambda t, d, n: t.startswith(PAD)),
    "padded-with-spaces": _of_drawn(lambda t, d, n: t.endswith(" ")),
    "padded-with-mask": _of_drawn(lambda t, d, n: t.endswith(MASK)),
    "masks-wrong": _of_drawn(lambda t, d, n: t.count(MASK) != 2),
    "first-mask-missing": _of_drawn(lambda t, d, n: t.count(MASK) == 1),
    "second-mask-missing": _of_drawn(lambda t, d, n: t.count(MASK) == 1),
    "mask-per-character": _of_drawn(lambda t, d, n: t.count(MASK) > 2),
    "closing-mask-added": _of_drawn(lambda t, d, n: t.count(MASK) == 3),
    "not-put-back": _of_parts(lambda a, b, c, d, n: not d.startswith(a + c + b)),
    "span-back-in-place": _of_parts(lambda a, b, c, d, n: d.startswith(a + b + c)),
    "span-first": _of_parts(lambda a, b, c, d, n: d.startswith(b + a + c)),
    "span-not-at-end": _of_drawn(
        lambda t, d, n: (
            not d.startswith("".join(_take_apart(t)[i] for i in (0, 2, 1) if i < t.count(MASK) + 1))
        )
    ),
    "span-not-taken-out": _of_parts(lambda a, b, c, d, n: d.startswith(a + b) and b.startswith(c)),
    "kept-from-the-middle": _of_parts(
        lambda a, b, c, d, n: a + c + b in d and not d.startswith(a + c + b)
    ),
    "kept-too-long": _of_drawn(lambda t, d, n: len("".join(_take_apart(t))) > 7 * n // 8),
    "kept-too-short": _of_drawn(lambda t, d, n: len("".join(_take_apart(t))) < min(4, len(d))),
    "span-empty": _of_parts(lambda a, b, c, d, n: c == ""),
    "same-every-time": _of_texts(lambda said, w, s, c: len(set(said)) == 1),
    "never-shortened": _kept(lambda kept, most: kept.min() == kept.max()),
    "kept-not-uniform": _kept(
        lambda kept, most: (
            _is_uneven(kept, most)
            or len(set(kept.tolist())) < 0.9 * (most - 3)
            or np.bincount(kept).max() > 2.4 * len(kept) / (most - 3)
        )
    ),
    "kept-stripped": lambda s: any(
        not any("".join(np.array(_take_apart(t))[[0, 2, 1]]).endswith(" ") for t in said)
        for case in _cases(s)
        if len(_document(s, case)) > _LONG and (said := _read(s.values, f"{case}.out"))
    ),
    "short-documents-cut": lambda s: any(
        np.mean([len("".join(_take_apart(t))) < len(_document(s, case)) for t in said]) > 0.3
        for case in _cases(s)
        if len(_document(s, case)) <= _LONG and (said := _read(s.values, f"{case}.out"))
    ),
    "short-documents-whole": lambda s: any(
        all(len("".join(_take_apart(t))) == len(_document(s, case)) for t in said)
        for case in _cases(s)
        if 7 <= len(_document(s, case)) <= _LONG and (said := _read(s.values, f"{case}.out"))
    ),
    "kept-never-longest": _kept(lambda kept, most: kept.max() < most),
    "kept-never-shortest": _kept(lambda kept, most: kept.min() > 4),
    "span-length-fixed": _of_all(lambda *drawn: not _vary(*drawn)),
    "span-length-of-block": _of_all(lambda *drawn: _slope(*drawn) > 0.1),
    "span-too-long": _of_all(lambda kept, start, size: (size / kept).mean() > 0.29),
    "span-too-short": _of_all(lambda kept, start, size: (size / kept).mean() < 0.21),
    "span-place-fixed": _of_all(lambda *drawn: np.ptp(_places(*drawn)) < 0.2),
    "span-place-one-sided": _of_all(
        lambda *drawn: (
            min((_places(*drawn) < 1 / 3).mean(), (_places(*drawn) > 2 / 3).mean()) < 0.12
        )
    ),
    "span-place-ends": _of_all(
        lambda *drawn: np.mean(np.abs(_places(*drawn) - 0.5) <= 1 / 6) < 0.12
    ),
    "chance-not-from-rng": lambda s: any(
        not np.all(value) for key, value in s.values.items() if key.endswith(".repeats")
    ),
}

# --------------------------------------------------------------------------- answering questions


def _of_answers(holds) -> Claim:
    """Claim something of (said, right, question, script, first text off the script, limit)."""

    def claim(seen: Seen) -> bool:
        for case in _cases(seen):
            said, wanted = (_read(v, f"{case}.out") for v in (seen.values, seen.right))
            if len(said) != 1:
                continue
            _, question, script = unpack(seen.inputs[f"{case}.texts"])
            off = (_read(seen.values, f"{case}.off") or [""])[0]
            limit = int(seen.inputs[f"{case}.limit"])
            if holds(said[0], wanted[0], question, script, off, limit):
                return True
        return False

    return claim


def _diary(place: int, value: int) -> Claim:
    return lambda seen: any(
        np.reshape(found, -1)[place] == value
        for key, found in seen.values.items()
        if key.endswith(".diary")
    )


def _mode(before: int) -> Claim:
    return lambda seen: any(
        int(seen.inputs[f"{case}.training"]) == before and seen.list(f"{case}.diary")[4] == 0
        for case in _cases(seen)
        if len(seen.list(f"{case}.diary")) == 7
    )


ANSWERS: dict[str, Claim] = {
    "not-a-string": says("type|"),
    "limit-ignored": lambda s: (
        s.has_text("endless|") or _of_answers(lambda a, w, q, t, off, n: len(a) > n)(s)
    ),
    "limit-off-by-one": _of_answers(lambda a, w, q, t, off, n: abs(len(a) - len(w)) == 1),
    "question-in-answer": _of_answers(lambda a, w, q, t, off, n: a.startswith(q) and a != w),
    "stop-returned": _of_answers(lambda a, w, q, t, off, n: a != w and a[-1:] in (MASK, PAD)),
    "stop-not-seen": _of_answers(lambda a, w, q, t, off, n: MASK in a or PAD in a),
    "mask-does-not-stop": _of_answers(lambda a, w, q, t, off, n: MASK in a or off.count(MASK) > 1),
    "pad-does-not-stop": _of_answers(lambda a, w, q, t, off, n: PAD in a + off),
    "stops-too-early": _of_answers(
        lambda a, w, q, t, off, n: len(a) < len(w) < n and w.startswith(a)
    ),
    "answer-reworded": _of_answers(
        lambda a, w, q, t, off, n: a != w and a.casefold()[:3] == w.casefold()[:3] and not off
    ),
    "never-asked": _diary(0, 0),
    "answer-not-fed-back": _of_answers(
        lambda a, w, q, t, off, n: len(a) > 2 and len(set(a)) == 1 and not off
    ),
    "mask-not-appended": _of_answers(lambda a, w, q, t, off, n: off == q),
    "mask-appended-twice": _of_answers(lambda a, w, q, t, off, n: off.startswith(q + MASK + MASK)),
    "last-character-only": _of_answers(lambda a, w, q, t, off, n: len(off) == 1),
    "mask-appended-each-time": _of_answers(
        lambda a, w, q, t, off, n: (
            off.endswith(MASK) and off != q + MASK and (q + t).startswith(off[:-1]) and q in off
        )
    ),
    "question-not-fed-again": _of_answers(lambda a, w, q, t, off, n: off != "" and off in t),
    "sampled": _diary(6, 0),
    "batch-missing": _diary(3, 1),
    "not-in-eval": _diary(1, 1),
    "gradients-on": _diary(2, 1),
    "gradients-left-off": _diary(5, 0),
    "mode-not-put-back": _mode(1),
    "always-trains-after": _mode(0),
}

PRETRAINING: dict[str, dict[str, Claim]] = {
    "majority_baseline": BASELINE,
    "count_right": COUNT,
    "corrupt_span": SPANS,
    "make_pair": PAIRS,
    "make_question": PAIRS,
    "answer_question": ANSWERS,
}
