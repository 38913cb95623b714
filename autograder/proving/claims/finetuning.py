"""Claims about the pipeline of the finetuning notebook: what its diaries, batches and files hold."""

from __future__ import annotations

import numpy as np

from autograder.proving.claims.seen import Claim, Seen, is_near, says

_SPLITS = ("train", "validation", "test")
_CUT, _LONGEST, _OWN_LONGEST = 512, 602, 550  # tokens: as asked for, of the text, of the tokenizer


def _any_case(*cases: str):
    """Turn a claim about one case into the claim that it holds in some case."""

    def make(holds) -> Claim:
        return lambda seen: any(holds(seen, case) for case in cases)

    return make


_of_datasets, _of_batches = _any_case("many", "one"), _any_case("short", "long", "one")
_of_runs, _of_counts = _any_case("long", "single"), _any_case("some", "all", "none", "one")


# --------------------------------------------------------------------- datasets and batches


def _count(seen: Seen, case: str) -> int:
    return len(seen.inputs[f"{case}.labels"])


def _asked(seen: Seen, case: str) -> list[int]:
    return [int(place) % _count(seen, case) for place in seen.inputs[f"{case}.order"]]


def _width(seen: Seen, case: str) -> int:
    ids = seen.array(f"{case}.input_ids")
    return ids.shape[-1] if ids is not None and ids.ndim == 2 else -1


def _ids(seen: Seen, case: str) -> np.ndarray:
    ids = seen.array(f"{case}.input_ids")
    return np.zeros((1, 1), int) if ids is None or ids.ndim != 2 else ids


DATASETS: dict[str, Claim] = {
    "length-off": _of_datasets(lambda s, c: s.number(f"{c}.length") != _count(s, c)),
    "length-fixed": lambda s: s.number("many.length") == s.number("one.length"),
    "item-is-text": _of_datasets(lambda s, c: s.list(f"{c}.items")[-1:] == [1]),
    "item-not-an-example": _of_datasets(lambda s, c: s.list(f"{c}.items")[-1:] == [2]),
    "item-always-first": lambda s: set(s.list("many.items")[:-1]) == {0},
    "wrong-item": _of_datasets(lambda s, c: s.list(f"{c}.items")[:-1] != _asked(s, c)),
    "negative-index": _of_datasets(
        lambda s, c: bool(s.text(f"{c}.items")) and s.array(f"{c}.forwards") is not None
    ),
    "index-beyond-the-end": _of_datasets(lambda s, c: s.number(f"{c}.beyond") == 0),
    "none-beyond-the-end": _of_datasets(lambda s, c: s.number(f"{c}.beyond") == 2),
    "iter-wrong-items": _of_datasets(lambda s, c: s.list(f"{c}.pass") != [*range(_count(s, c)), 0]),
    "iterates-once": _of_datasets(
        lambda s, c: (
            s.list(f"{c}.twice") != s.list(f"{c}.pass")
            or s.number(f"{c}.nested") != _count(s, c) ** 2
        )
    ),
    "samples-changed": lambda s: s.has_text("samples|") or s.number("many.kept") != 1,
    "iter-not-an-iterator": says("non-iterator"),
    "not-static": says("positional argument"),
    "padding-forgotten": says("activate truncation and/or padding"),
    "padded-to-maximum": _of_batches(
        lambda s, c: c != "long" and _width(s, c) in (_CUT, _OWN_LONGEST)
    ),
    "padded-beyond-longest": _of_batches(
        lambda s, c: (
            _width(s, c) > s.wanted(f"{c}.input_ids").shape[-1]
            and (_ids(s, c)[:, s.wanted(f"{c}.input_ids").shape[-1] :] == 1).all()
        )
    ),
    "truncation-forgotten": lambda s: _width(s, "long") == _LONGEST,
    "max-length-forgotten": lambda s: _width(s, "long") == _OWN_LONGEST,
    "wrong-max-length": lambda s: _width(s, "long") not in (-1, _CUT),
    "not-tensors": _of_batches(lambda s, c: s.text(f"{c}.input_ids").startswith("type|")),
    "labels-not-a-tensor": _of_batches(lambda s, c: s.text(f"{c}.labels").startswith("type|")),
    "labels-wrong-shape": _of_batches(
        lambda s, c: s.array(f"{c}.labels").shape != s.wanted(f"{c}.labels").shape
    ),
    "labels-not-long": _of_batches(lambda s, c: s.array(f"{c}.labels").dtype != np.int64),
    "encoding-is-bare": _of_batches(
        lambda s, c: s.number(f"{c}.encoding") != 1 or bool(s.text(f"{c}.input_ids"))
    ),
    "mask-dropped": _of_batches(lambda s, c: s.array(f"{c}.attention_mask") is None),
    "wrong-mask": _of_batches(
        lambda s, c: (
            s.array(f"{c}.attention_mask") is not None and not s.is_right(f"{c}.attention_mask")
        )
    ),
    "token-type-ids": says("token_type_ids"),
    "global-tokenizer": lambda s: (
        s.has_text("name 'tokenizer' is not defined")
        or any((_ids(s, case) > 223).any() for case in ("short", "one"))
    ),
    "padded-in-front": _of_batches(lambda s, c: (_ids(s, c)[:, 0] == 1).any()),
    "special-tokens-left-out": _of_batches(
        lambda s, c: _width(s, c) > 0 and not (_ids(s, c) == 0).any()
    ),
    "wrong-keys": says("keys|"),
    "not-a-dict": says("type|"),
}


def _is_sorted(seen: Seen, split: str, turn: str = "first") -> bool:
    order = seen.list(f"{split}.{turn}")
    return order == sorted(order)


def _find_sizes(seen: Seen, split: str) -> tuple[list[int], int]:
    """Return the sizes that whole batches would have, and what is left for the last one."""
    size = int(seen.inputs["batch_size"])
    count = _count(seen, split)
    return [size] * (count // size), count % size


_of_splits = _any_case(*_SPLITS)

LOADERS: dict[str, Claim] = {
    "wrong-keys": says("keys|"),
    "split-missing": says("keys|"),
    "not-a-dict": says("type|"),
    "not-dataloaders": says("loader|"),
    "loaders-shared": lambda s: s.number("own") == 0,
    "collate-forgotten": says("default_collate", "batch|"),
    "wrong-dataset": _of_splits(
        lambda s, c: bool(set(s.list(f"{c}.first")) - set(s.right[f"{c}.first"].tolist()))
    ),
    "last-batch-dropped": _of_splits(
        lambda s, c: _find_sizes(s, c)[1] > 0 and s.list(f"{c}.sizes") == _find_sizes(s, c)[0]
    ),
    "batch-size-ignored": _of_splits(
        lambda s, c: (
            s.list(f"{c}.sizes")
            != [*_find_sizes(s, c)[0], *([_find_sizes(s, c)[1]] * (_find_sizes(s, c)[1] > 0))]
        )
    ),
    "examples-repeated": _of_splits(
        lambda s, c: any(
            len(set(s.list(f"{c}.{turn}"))) < len(s.list(f"{c}.{turn}"))
            for turn in ("first", "second")
        )
    ),
    "train-not-shuffled": lambda s: _is_sorted(s, "train"),
    "wrong-split-shuffled": lambda s: (
        _is_sorted(s, "train") and not (_is_sorted(s, "validation") and _is_sorted(s, "test"))
    ),
    "all-shuffled": lambda s: not (_is_sorted(s, "validation") and _is_sorted(s, "test")),
    "not-in-order": lambda s: any(
        not _is_sorted(s, split) and s.list(f"{split}.first") == s.list(f"{split}.second")
        for split in ("validation", "test")
    ),
    "shuffled-only-once": lambda s: s.list("train.first") == s.list("train.second"),
    "other-batches": lambda s: any(
        not s.is_right(f"{split}.widths") for split in ("validation", "test")
    ),
    "state-kept": _of_splits(lambda s, c: not s.is_right(f"{c}.twice")),
}


# ----------------------------------------------------------------------- counting and passes

_BACKWARD, _STEP = 1, 2


def _counts(make) -> Claim:
    """Claim that every number is what this makes of the right one: (right share, count of answers)."""

    def claim(seen: Seen) -> bool:
        return all(
            abs(seen.number(case) - make(float(seen.wanted(case)), _count(seen, case))) < 1e-3
            for case in ("some", "all", "none", "one")
        )

    return claim


COUNTS: dict[str, Claim] = {
    "accuracy-in-percent": _counts(lambda share, count: 100 * share),
    "accuracy-not-divided": _counts(lambda share, count: share * count),
    "error-rate": _counts(lambda share, count: 1 - share),
    "accuracy-whole-or-nothing": _counts(lambda share, count: float(share == 1)),
    "input-changed": _of_counts(lambda s, c: s.number(f"{c}.kept") != 1),
    "mean-of-integers": says("could not infer output dtype", "floating point"),
    "not-a-number": says("number|"),
    "expects-logits": says("dimension out of range"),
}


def _first_is_right(seen: Seen) -> bool:
    return seen.is_right("loss") and seen.is_right("accuracy") and seen.is_right("weights")


PASSES: dict[str, Claim] = {
    "attention-mask-dropped": lambda s: not all(s.list("masks")),
    "batches-skipped": lambda s: any(
        set(np.ravel(s.right.get(key, [])).tolist()) - set(s.list(key))
        for key in ("seen", "longer.seen")
    ),
    "batches-repeated": lambda s: len(s.list("seen")) > len(s.right["seen"]),
    "train-mode-forgotten": lambda s: not all(s.list("modes")),
    "eval-mode-forgotten": lambda s: any(s.list("modes")),
    "no-grad-in-training": lambda s: (
        s.has_text("does not require grad") or not all(s.list("gradients")) or s.number("off") == 1
    ),
    "no-grad-forgotten": lambda s: any(s.list("gradients")),
    "grad-left-off": lambda s: s.number("off") == 1,
    "weights-changed": lambda s: s.number("moved") != 0,
    "evaluation-trains": lambda s: _BACKWARD in s.list("events") or s.number("left") == 1,
    "backward-forgotten": lambda s: _BACKWARD not in s.list("events"),
    "step-forgotten": lambda s: _STEP not in s.list("events"),
    "one-step-an-epoch": lambda s: s.list("events").count(_STEP) < len(s.right["modes"]),
    "step-before-backward": lambda s: (
        s.has_text("modified by an inplace operation")
        or s.list("events").index(_STEP) < s.list("events").index(_BACKWARD)
    ),
    "earlier-batches-again": says("modified by an inplace operation", "a second time"),
    "wrong-optimizer": lambda s: _STEP not in s.list("events") and s.number("moved") > 0,
    "left-frozen": lambda s: s.number("frozen") != 0,
    "device-ignored": lambda s: s.number("device") == 0,
    "hard-coded-device": says("cuda", "nvidia"),
    "state-kept": lambda s: (
        _first_is_right(s)
        and not all(s.is_right(f"again.{key}") for key in ("loss", "accuracy", "weights"))
    ),
    "accuracy-in-percent": lambda s: (
        abs(s.number("accuracy") - 100 * float(s.right["accuracy"])) < 0.01
    ),
    "wrong-keys": says("keys|"),
    "not-a-dict": says("type|"),
    "not-a-number": says("number|"),
}


# ------------------------------------------------------------------------------------- main


def _history(seen: Seen, case: str) -> np.ndarray:
    history = seen.array(f"{case}.history")
    return np.zeros((0, 5)) if history is None or history.ndim != 2 else history.astype(float)


def _wanted(seen: Seen, case: str) -> np.ndarray:
    return np.asarray(seen.right[f"{case}.history"], float)


def _saved(choose) -> Claim:
    """Claim that the checkpoint holds another epoch than the best: the one that this chooses."""

    def holds(seen: Seen, case: str) -> bool:
        saved = seen.number(f"{case}.saved")
        best = float(seen.right[f"{case}.saved"])
        return saved != best and saved in choose(_wanted(seen, case))

    return _of_runs(holds)


def _nearly_best(history: np.ndarray) -> list[int]:
    accuracy = history[:, 4]
    return [e + 1 for e in range(len(accuracy)) if 0 < accuracy.max() - accuracy[e] <= 0.01]


MAIN: dict[str, Claim] = {
    "test-used": _of_runs(lambda s, c: s.number(f"{c}.test") > 0),
    "nothing-saved": _of_runs(lambda s, c: s.number(f"{c}.saved") == 0),
    "saved-elsewhere": _of_runs(
        lambda s, c: s.number(f"{c}.saved") < 0 and s.number(f"{c}.elsewhere") == 1
    ),
    "not-save-pretrained": _of_runs(lambda s, c: s.number(f"{c}.saved") < 0),
    "saves-last": _saved(lambda history: [len(history)]),
    "saves-first": _saved(lambda history: [1]),
    "latest-on-tie": _saved(
        lambda history: np.flatnonzero(history[:, 4] == history[:, 4].max())[1:] + 1
    ),
    "best-by-validation-loss": _saved(lambda history: [history[:, 3].argmin() + 1]),
    "best-by-training": _saved(lambda history: [history[:, 2].argmax() + 1]),
    "keeps-worst": _saved(lambda history: [history[:, 4].argmin() + 1]),
    "small-gain-ignored": _saved(_nearly_best),
    "wrong-optimizer": _of_runs(
        lambda s, c: not s.is_right(f"{c}.bias") or not s.is_right(f"{c}.learned")
    ),
    "steps-changed": _of_runs(
        lambda s, c: s.list(f"{c}.steps")[:1] > [0] and not s.is_right(f"{c}.learned")
    ),
    "train-evaluated-again": _of_runs(
        lambda s, c: (
            s.number(f"{c}.trained") > len(_wanted(s, c)) and not s.is_right(f"{c}.history")
        )
    ),
    "epochs-from-zero": _of_runs(lambda s, c: _history(s, c)[:1, 0].tolist() == [0]),
    "epoch-missing": _of_runs(
        lambda s, c: s.has_text("empty|") or len(_history(s, c)) < len(_wanted(s, c))
    ),
    "epochs-too-many": _of_runs(lambda s, c: len(_history(s, c)) > len(_wanted(s, c))),
    "epochs-fixed": lambda s: len(_history(s, "long")) == len(_history(s, "single")) > 1,
    "history-only-best": _of_runs(lambda s, c: 0 < len(_history(s, c)) < len(_wanted(s, c))),
    "history-shared": lambda s: bool((_history(s, "long") == _history(s, "long")[0]).all()),
    "splits-swapped": _of_runs(
        lambda s, c: is_near(_history(s, c), _wanted(s, c)[:, [0, 3, 4, 1, 2]])
    ),
    "validated-on-training-data": _of_runs(lambda s, c: s.number(f"{c}.validated") == 0),
    "trained-on-validation-data": _of_runs(
        lambda s, c: s.number(f"{c}.trained") == 0 or s.list(f"{c}.steps")[1:2] > [0]
    ),
    "validated-before-training": lambda s: is_near(
        _history(s, "long")[1:, 3:], _wanted(s, "long")[:-1, 3:]
    ),
    "history-format": says("entry|"),
    "not-a-list": says("type|", "entry|", "keys|"),
}

FINETUNING: dict[str, dict[str, Claim]] = {
    "SST2Dataset": DATASETS,
    "collate_fn": DATASETS,
    "make_dataloaders": LOADERS,
    "compute_accuracy": COUNTS,
    "train_one_epoch": PASSES,
    "evaluate": PASSES,
    "main": MAIN,
}
