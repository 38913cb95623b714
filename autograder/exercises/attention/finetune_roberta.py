"""Finetuning RoBERTa: a pipeline, tried on tiny models that keep a diary."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from threading import Lock

import numpy as np

from autograder.exercises.attention import finetune_roberta_code as code
from autograder.exercises.base import Exercise, Ruling, join_sources
from autograder.exercises.numbers import encode_trial
from autograder.exercises.trials import (
    judge_safely,
    list_codes,
    make_mistakes,
    run_codes,
    write_program,
)
from autograder.kernel import wire
from course_utils.checks.findings import Finding
from course_utils.checks.finetuning import (
    NAMES,
    SLIPS,
    SPLITS,
    TELLING,
    examine,
    judge,
    to_numbers,
)

# What each piece stands on: judged on the learner's own, then on right ones.
BUILDS_ON = {
    "make_dataloaders": ("SST2Dataset", "collate_fn"),
    "train_one_epoch": ("compute_accuracy",),
    "evaluate": ("compute_accuracy",),
    "main": ("compute_accuracy", "train_one_epoch", "evaluate"),
}
SLOW_IMPORTS = ("course_utils.checks.finetuning_trials",)  # with all of transformers

# As the trials have it, without importing them.
_WORDS, _PAD, _FIRST_WORD = 220, 1, 4
_PARAMETERS, _FEATURES = 6, 8  # of the model that keeps a diary


# ----------------------------------------------------------------------------------- inputs


def _draw_words(rng, lengths, first: int = 0, mixed: bool = False) -> np.ndarray:
    """Draw texts as rows of word numbers, filled up with -1; each begins with a word of its own.

    `mixed`: these words are in no order, so that texts that somebody has sorted show it.
    """
    table = np.full((len(lengths), max(lengths)), -1)
    for row, length in enumerate(lengths):
        table[row, :length] = rng.integers(0, _WORDS, length)
        table[row, 0] = first + row
    if mixed:
        starts = rng.permutation(table[:, 0])
        steps = np.diff(starts)
        if (steps > 0).all() or (steps < 0).all():
            starts = np.roll(starts, 1)
        table[:, 0] = starts
    return table


def _draw_labels(rng, count: int) -> np.ndarray:
    """Draw labels of which neither class is missing and which are not the same read backwards."""
    labels = rng.integers(0, 2, count)
    labels[:2], labels[-1] = (0, 1), 1
    return labels


def _draw_lengths(rng, count: int, longest: int) -> list[int]:
    lengths = rng.integers(2, longest, count).tolist()
    lengths[1] = longest
    return lengths


def _draw_dataset(rng, hidden: bool) -> dict:
    count = int(rng.integers(6, 10)) if hidden else 5
    return {
        "many.words": _draw_words(rng, _draw_lengths(rng, count, 6), mixed=True),
        "many.labels": _draw_labels(rng, count),
        "many.order": np.array([*rng.permutation(count), -1, -2]),
        "one.words": _draw_words(rng, [3]),
        "one.labels": np.array([1]),
        "one.order": np.array([0, -1]),
    }


def _draw_collate(rng, hidden: bool) -> dict:
    count = int(rng.integers(4, 8)) if hidden else 3
    return {
        "short.words": _draw_words(
            rng, _draw_lengths(rng, count, 9), int(rng.integers(0, 150)), mixed=True
        ),
        "short.labels": _draw_labels(rng, count),
        "long.words": _draw_words(rng, [4, 600] if hidden else [600]),
        "long.labels": np.array([1, 0] if hidden else [0]),
        "one.words": _draw_words(rng, [5]),
        "one.labels": np.array([1]),
    }


def _draw_dataloaders(rng, hidden: bool) -> dict:
    inputs = {"batch_size": np.array(rng.integers(4, 7) if hidden else 4)}
    whole = int(inputs["batch_size"])
    # The last batch of training and of validation data is smaller than the others.
    counts = (4 * whole + 3, 2 * whole + 2, whole + int(rng.integers(1, whole)))
    for place, (split, count) in enumerate(
        zip(SPLITS, counts if hidden else (14, 6, 5), strict=True)
    ):
        inputs[f"{split}.words"] = _draw_words(rng, _draw_lengths(rng, count, 7), 40 * place)
        inputs[f"{split}.labels"] = _draw_labels(rng, count)
    return inputs


def _draw_pass(name: str, rng, hidden: bool) -> dict:
    """Draw a model, and token ids with padding and labels for two loaders."""
    # A last batch of a single example where nothing is trained: there its gradient would be steep.
    again = 10 if name == "train_one_epoch" else 9
    sizes = (
        (("", 14, 4, 9), (".twice", again, 4, 7))
        if hidden
        else (("", 8, 3, 6), (".twice", 8, 3, 5))
    )
    inputs = {
        "batch_size": np.array(sizes[0][2]),
        "waves": np.round(rng.uniform((0.7, 0.0), (2.4, 6.2), (_PARAMETERS, 2)), 4),
        "gains": np.round(rng.uniform(0.3, 1.3, (4, _FEATURES)), 3),
        "lean": np.array(0.0),
    }
    for turn, count, _, longest in sizes:
        ids = np.full((count, longest + 2), _PAD)
        for row, length in enumerate(_draw_lengths(rng, count, longest)):
            ids[row, 0], ids[row, length + 1] = 0, 2
            ids[row, 1 : length + 1] = _FIRST_WORD + rng.integers(20, 60, length)
            ids[row, 1] = _FIRST_WORD + row
        inputs |= {f"ids{turn}": ids, f"labels{turn}": _draw_labels(rng, count)}
    return inputs


def _draw_telling_pass(name: str, rng, hidden: bool) -> dict:
    """Draw until right and mistaken reports differ: with few examples they can agree by chance."""
    for _ in range(400):
        inputs = _draw_pass(name, rng, hidden)
        if not _choose_labels(name, rng, inputs):
            continue
        if _is_telling(_try_once(name, inputs, *list_pieces(code.ORACLES))):
            return inputs | _list_longer()
    raise AssertionError(f"no telling inputs for {name}")


def _list_longer(count: int = 28) -> dict:
    """Return short texts for a loader of many batches: some code stops after the first ten."""
    words = _FIRST_WORD + np.arange(count)
    ids = np.stack([np.zeros_like(words), words, np.full_like(words, 2)], axis=1)
    return {"ids.longer": ids, "labels.longer": np.arange(count) % 2}


def _choose_labels(name: str, rng, inputs: dict) -> bool:
    """Make some of the model's answers right and others wrong, in every batch another share."""
    from course_utils.checks.finetuning_trials import classify_with

    size, trains = int(inputs["batch_size"]), name == "train_one_epoch"
    turns = ("", ".twice")
    logits = classify_with(inputs, [inputs[f"ids{turn}"] for turn in turns], trains)
    gaps = {turn: np.diff(pair, axis=1)[:, 0] for turn, pair in zip(turns, logits, strict=True)}
    # Texts look alike to so small a model: lean on it until it answers both classes.
    ordered = np.sort(np.concatenate(list(gaps.values())))
    middle = slice(len(ordered) // 3, -len(ordered) // 3)
    widest = np.argmax(np.diff(ordered[middle])) + middle.start
    inputs["lean"] = np.round((ordered[widest] + ordered[widest + 1]) / 2, 4)
    for turn, gap in gaps.items():
        gap = gap - inputs["lean"]
        said = (gap > 0).astype(np.int64)
        count = len(said)
        if not 3 <= said.sum() <= count - 3 or np.abs(gap).min() < 0.01:
            return False
        sizes = np.diff([*range(0, count, size), count])
        for _ in range(60):
            right = rng.random(count) < np.repeat(rng.uniform(0.2, 1.0, len(sizes)), sizes)
            batches = np.split(right, np.cumsum(sizes)[:-1])
            if _counts_apart(np.array([batch.sum() for batch in batches]), sizes, said.sum()):
                break
        else:
            return False
        inputs[f"labels{turn}"] = np.where(right, said, 1 - said)
    return True


def _counts_apart(right: np.ndarray, size: np.ndarray, ones: float) -> bool:
    """Say whether the accuracy differs from whatever comes of counting wrongly."""
    count, correct, shares = size.sum(), right.sum(), right / size
    others = (1 - correct / count, shares.mean(), shares[-1], shares[0], shares.max(), ones / count,
              correct / (len(size) * size[0]), shares.sum() * size[0] / count)  # fmt: skip
    return 2 <= correct <= count - 2 and all(abs(correct / count - o) > 2e-3 for o in others)


def _is_telling(results: dict) -> bool:
    """Say whether what right code did with a draw tells every known way to count wrongly apart.

    Each row of `batches` is a batch that the model saw: its loss, the number of right answers, its
    size, the smallest gap between two logits, and how often class 1 was answered.
    """
    if results["steepest"] > 0.95:  # clipping gradients at 1 must change nothing
        return False
    rows = np.asarray(results["again.batches"], float)
    first = len(results["batches"])
    for loss, right, size, gap, ones in (rows[:first].T, rows[first:].T):
        count = size.sum()
        losses = (loss @ size / count, loss.mean(), loss[-1], loss[0], loss.sum(), loss.sum() / count,
                  loss.max(), loss[:-1].mean(), loss.sum() * size[0] / count,
                  loss @ size / len(size))  # fmt: skip
        if gap.min() < 0.003 or not 2 <= ones.sum() <= count - 2:
            return False
        if not _counts_apart(right, size, ones.sum()):
            return False
        if any(abs(losses[0] - other) < 2e-3 for other in losses[1:]):
            return False
    return True


def _draw_accuracy(rng, hidden: bool) -> dict:
    # So many that the share of right answers has more than two decimal places.
    count = int(rng.choice([9, 11, 12, 13, 14])) if hidden else 7
    inputs = {}
    for case, size, wrong in (("some", count, count // 2 - 1), ("all", 6, 0), ("none", 3, 3),
                              ("one", 1, 0)):  # fmt: skip
        labels = _draw_labels(rng, size) if size > 2 else np.array([0])
        predictions = labels.copy()
        places = rng.choice(np.arange(1, size), wrong, replace=False) if wrong < size else ...
        predictions[places] = 1 - predictions[places]
        inputs |= {f"{case}.predictions": predictions, f"{case}.labels": labels}
    return inputs


def _draw_main(rng, hidden: bool) -> dict:
    """Write the script: how many answers are right, and how sure they are, epoch by epoch."""
    # The best epoch has one right answer more than another before it, and is tied by a later one.
    # Every other rule would choose another epoch: the lowest validation loss, the best on training
    # data, the worst, the first, the last.
    train, validation, test = (29, 290, 14) if hidden else (13, 210, 6)
    middle = rng.permutation(5) if hidden else np.arange(5)
    near, best, tie, lowest, trained = (1 + int(np.flatnonzero(middle == i)[0]) for i in range(5))
    near, best, tie = sorted((near, best, tie))
    worst = 6
    # The same whole percentage as with one right answer fewer.
    tops = [top for top in range(239, 267) if _agree_in_percent(top, validation)]
    top = int(rng.choice(tops)) if hidden else 170
    right = rng.choice(np.arange(top - 90, top - 40), 8, replace=False)
    right[[near, best, tie, worst]] = top - 1, top, top, top - 95
    sureness = rng.uniform(0.6, 0.9, 8)
    # Who takes loss and accuracy for each other keeps another epoch: the best ones, sure when wrong, have
    # losses above the lowest and below their accuracy; the worst, which comes later, has one above 1.
    wrong = 1 - top / validation
    sureness[[near, best, tie]] = rng.uniform(0.6, 0.7, 3) / (2 * wrong)
    sureness[best] = max(sureness[[best, tie]]) + 0.1  # a tie is not broken by a lower loss
    sureness[worst] = rng.uniform(1.6, 1.9)
    right[lowest], sureness[lowest] = top - 5, rng.uniform(0.6, 0.75)
    learned = np.sort(rng.choice(np.arange(train // 3, train - 2), 8, replace=train < 24))
    learned[trained], learned[-1] = train - 1, learned[-1] - 1
    inputs = {
        "batch_size": np.array(64 if hidden else 60),
        "long.epochs": np.array(8),
        "single.epochs": np.array(1),
        "single.right": np.array([1]),  # so bad an epoch, and the best one all the same
        "hopeless.epochs": np.array(1),
        "hopeless.right": np.array([0]),
        "validation.right": right,
        "validation.sureness": np.round(sureness, 3),
        "train.right": learned,
        "train.sureness": np.round(rng.uniform(0.2, 0.9, 8), 3),
        "test.right": rng.integers(1, test, 8),
        "test.sureness": np.round(rng.uniform(0.4, 0.5, 8), 3),
    }
    for split, count in (("train", train), ("validation", validation), ("test", test)):
        inputs[f"{split}.labels"] = _draw_labels(rng, count)
    return inputs


def _agree_in_percent(right: int, count: int) -> bool:
    """Do this many right answers and one fewer give the same percentage, cut off or rounded?"""
    more, fewer = 100 * right / count, 100 * (right - 1) / count
    return fewer % 0.5 > 0.02 and int(2 * more + 0.04) == int(2 * fewer)


_DRAWERS: dict[str, Callable] = {
    "SST2Dataset": _draw_dataset,
    "collate_fn": _draw_collate,
    "make_dataloaders": _draw_dataloaders,
    "compute_accuracy": _draw_accuracy,
    "train_one_epoch": lambda rng, hidden: _draw_telling_pass("train_one_epoch", rng, hidden),
    "evaluate": lambda rng, hidden: _draw_telling_pass("evaluate", rng, hidden),
    "main": _draw_main,
}


# ------------------------------------------------------------------------- asking and judging

_TRIALS_SOURCE = join_sources("learners_code", "pretended_gpu", "finetuning_trials")


def _make_program(name: str) -> str:
    """Write the program that runs in a kernel: the text of the trials and which one to run."""
    names = ("SST2Dataset",) if name == "collate_fn" else (name, "SST2Dataset")
    return write_program(_TRIALS_SOURCE, names, f"run_trial({name!r}, functions, inputs)")


def make_namespace(*codes: str) -> dict:
    """Return a namespace as the notebook has it, in which these codes have run."""
    return run_codes({"__name__": "__main__"}, code.GIVEN, *codes)  # named as in a notebook


def list_pieces(solutions: dict[str, str]) -> tuple[str, ...]:
    """Return the code of a right notebook: every cell that an exercise is about."""
    cells = dict.fromkeys("SST2Dataset" if name == "collate_fn" else name for name in NAMES)
    return tuple(solutions[cell] for cell in cells)


def examine_code(name: str, text: str) -> Finding:
    """Show a solution cell's code to the public check, as a student would."""
    namespace = make_namespace(*list_pieces(code.ORACLES), text)
    others = {"SST2Dataset": namespace["SST2Dataset"]} if name == "make_dataloaders" else {}
    return examine(name, namespace["SST2Dataset" if name == "collate_fn" else name], **others)


def try_out(name: str, inputs: dict, *codes: str, device: bool = True) -> dict:
    """Return what some code does in a trial, as numbers; the codes are a whole notebook's."""
    from course_utils.checks.finetuning_trials import run_trial

    results = run_trial(name, make_namespace(*codes), inputs, device)
    return {key: to_numbers(value) for key, value in results.items()}


_one_at_a_time = Lock()  # several notebooks are judged at once; a trial wants torch to itself


@lru_cache(maxsize=500)
def _recall(name: str, inputs: str, *codes: str) -> dict:
    return try_out(name, wire.load(inputs), *codes, device=False)


def _try_once(name: str, inputs: dict, *codes: str) -> dict:
    """Return what some code does in a trial; the same question is worked out only once."""
    with _one_at_a_time:
        return _recall(name, wire.dump(inputs), *codes)


# Told by their numbers alone; all others show in the diary.
_TOLD_BY_NUMBERS = (
    "loss-mean-of-batches", "loss-not-divided", "loss-of-last-batch", "loss-divided-twice",
    "loss-divided-by-batches", "loss-summed", "accuracy-mean-of-batches", "accuracy-of-last-batch", "argmax-over-examples",
    "zero-grad-forgotten", "zero-grad-once", "gradients-thrown-away",
)  # fmt: skip


def list_mistakes(name: str) -> Iterator[tuple[str, str]]:
    """Yield (diagnosis, code) of the known mistakes."""
    return list_codes(code.MISTAKES[name])


def _make_rule(name: str):
    def rule(values: dict, inputs: dict, solutions: dict[str, str]) -> Ruling:
        pieces = list_pieces(solutions)
        results = {key: value for key, value in values.items() if value is not wire.Missing}

        def mistakes():
            for diagnosis, text in list_mistakes(name):
                if diagnosis in _TOLD_BY_NUMBERS:
                    yield diagnosis, _try_once(name, inputs, *pieces, text)

        return judge_safely(
            lambda: judge(name, results, _try_once(name, inputs, *pieces), mistakes, inputs)
        )

    return rule


def _make(name: str) -> Exercise:
    return Exercise(
        name=name,
        oracle=code.ORACLES[name],
        program=_make_program(name),
        rule=_make_rule(name),
        make_inputs=lambda rng: _DRAWERS[name](rng, hidden=True),
        mistakes=make_mistakes(list_mistakes(name), code.SHARES.get(name)),
        variants=tuple(code.VARIANTS[name]),
        builds_on=BUILDS_ON.get(name, ()),
        solved_in="SST2Dataset" if name == "collate_fn" else "",
        slips=SLIPS,
    )


EXERCISES = [_make(name) for name in NAMES]


# ---------------------------------------------------------------------- numbers for students

ANSWER_FILE = "finetuning.json"


def make_answers(solutions: dict[str, str]) -> dict[str, dict]:
    """Return what the public checks compare with, by exercise."""
    return {e.name: encode_trial(make_numbers(e.name, solutions)) for e in EXERCISES}


def make_numbers(name: str, solutions: dict[str, str], seed: int = 3) -> dict:
    """Return the visible inputs, what a right solution does, and what telling mistakes do."""
    inputs = _DRAWERS[name](np.random.default_rng(seed), hidden=False)
    pieces = list_pieces(solutions)
    right = try_out(name, inputs, *pieces)
    mistakes = []
    for diagnosis, text in list_mistakes(name):
        if diagnosis in _TOLD_BY_NUMBERS:
            results = try_out(name, inputs, *pieces, text)
            mistakes.append((diagnosis, {key: results[key] for key in TELLING if key in right}))
    return {"inputs": inputs, "right": right, "mistakes": mistakes}
