"""Notebook 3's exercises: a finetuning pipeline, tried on tiny models that keep a diary."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib import resources
from threading import Lock

import numpy as np

from autograder.exercises import finetuning_code as code
from autograder.exercises.base import Exercise, Mistake, Ruling
from autograder.kernel import wire
from course_utils.checks.findings import Finding
from course_utils.checks.finetuning import NAMES, SPLITS, TELLING, judge, to_numbers

# What each piece stands on: judged on the learner's own, then on right ones.
BUILDS_ON = {
    "make_dataloaders": ("SST2Dataset", "collate_fn"),
    "train_one_epoch": ("compute_accuracy",),
    "evaluate": ("compute_accuracy",),
    "main": ("compute_accuracy", "train_one_epoch", "evaluate"),
}
# As the trials have it; importing them would bring in transformers, which takes seconds.
_WORDS, _PAD, _FIRST_WORD = 200, 1, 4


# ----------------------------------------------------------------------------------- inputs


def _draw_words(rng, lengths, first: int = 0) -> np.ndarray:
    """Draw texts as rows of word numbers, filled up with -1; each begins with a word of its own."""
    table = np.full((len(lengths), max(lengths)), -1)
    for row, length in enumerate(lengths):
        table[row, :length] = rng.integers(0, _WORDS, length)
        table[row, 0] = first + row
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
    count = 7 if hidden else 5
    return {
        "many.words": _draw_words(rng, _draw_lengths(rng, count, 6)),
        "many.labels": _draw_labels(rng, count),
        "one.words": _draw_words(rng, [3]),
        "one.labels": np.array([1]),
    }


def _draw_collate(rng, hidden: bool) -> dict:
    count = 5 if hidden else 3
    return {
        "short.words": _draw_words(rng, _draw_lengths(rng, count, 9)),
        "short.labels": _draw_labels(rng, count),
        "long.words": _draw_words(rng, [4, 600] if hidden else [600]),
        "long.labels": np.array([1, 0] if hidden else [0]),
        "one.words": _draw_words(rng, [5]),
        "one.labels": np.array([1]),
    }


def _draw_dataloaders(rng, hidden: bool) -> dict:
    inputs = {"batch_size": np.array(5 if hidden else 4)}
    counts = (23, 12, 8) if hidden else (14, 6, 5)
    for place, (split, count) in enumerate(zip(SPLITS, counts, strict=True)):
        inputs[f"{split}.words"] = _draw_words(rng, _draw_lengths(rng, count, 7), 40 * place)
        inputs[f"{split}.labels"] = _draw_labels(rng, count)
    return inputs


def _draw_pass(rng, hidden: bool) -> dict:
    """Draw token ids with padding and labels; the last batch is shorter than the others."""
    count, batch_size, longest = (14, 4, 9) if hidden else (8, 3, 6)
    ids = np.full((count, longest + 2), _PAD)
    for row, length in enumerate(_draw_lengths(rng, count, longest)):
        ids[row, 0], ids[row, length + 1] = 0, 2
        ids[row, 1 : length + 1] = _FIRST_WORD + rng.integers(20, 60, length)
        ids[row, 1] = _FIRST_WORD + row
    return {"ids": ids, "labels": _draw_labels(rng, count), "batch_size": np.array(batch_size)}


def _draw_telling_pass(name: str, rng, hidden: bool) -> dict:
    """Draw until right and mistaken reports differ: with few examples they can agree by chance."""
    for _ in range(30):
        inputs = _draw_pass(rng, hidden)
        if _tells_apart(name, inputs):
            return inputs
    raise AssertionError(f"no telling inputs for {name}")


def _tells_apart(name: str, inputs: dict) -> bool:
    reports = {"": _try_once(name, inputs)}
    reports |= {
        d: _try_once(name, inputs, t) for d, t in list_mistakes(name) if d in _TOLD_BY_NUMBERS
    }
    points = [
        np.array([float(report["loss"]), float(report["accuracy"]), *report["weights"]])
        for report in reports.values()
    ]
    return all(
        np.abs(one - other).max() > 2e-3 for i, one in enumerate(points) for other in points[:i]
    )


def _draw_accuracy(rng, hidden: bool) -> dict:
    count = 11 if hidden else 7
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
    # Epoch 2 is the best, with a tie in 4. Every other rule would choose another epoch: the lowest
    # validation loss 3, the best on training data 5, the worst 6, the last 7.
    inputs = {
        "batch_size": np.array(4),
        "long.epochs": np.array(7),
        "single.epochs": np.array(1),
        "validation.right": np.array([4, 9, 7, 9, 5, 3, 6] if hidden else [5, 8, 7, 8, 4, 3, 6]),
        "validation.sureness": np.array([0.3, 4.0, 0.2, 4.4, 0.6, 0.5, 0.9]),
        "train.right": np.array([6, 7, 8, 9, 12, 10, 11]),
        "train.sureness": np.array([0.1, 0.2, 0.3, 0.4, 0.9, 0.5, 0.6]),
        "test.right": np.array([3, 4, 5, 2, 4, 1, 2]),
        "test.sureness": np.array([0.5, 0.4, 0.5, 0.4, 0.5, 0.4, 0.5]),
    }
    for split, count in (("train", 13), ("validation", 10), ("test", 6)):
        inputs[f"{split}.labels"] = _draw_labels(rng, count)
    return inputs


_DRAWERS: dict[str, Callable] = {
    "SST2Dataset": _draw_dataset,
    "collate_fn": _draw_collate,
    "make_dataloaders": _draw_dataloaders,
    "compute_accuracy": _draw_accuracy,
    "train_one_epoch": lambda rng, hidden: _draw_telling_pass("train_one_epoch", rng, hidden),
    "evaluate": lambda rng, hidden: _draw_telling_pass("evaluate", rng, hidden),
    "main": _draw_main,
}


_DRAWS = 8  # different hidden inputs: what right code does with them is worked out once a class


@cache
def _draw_hidden(name: str, seed: int) -> dict:
    return _DRAWERS[name](np.random.default_rng(seed), hidden=True)


# ------------------------------------------------------------------------- asking and judging

_PROGRAM_END = """

def probe(namespace, inputs):
    functions = {{name: namespace[name] for name in {names!r} if name in namespace}}
    results = run_trial({name!r}, functions, inputs)
    return {{
        key: Unusable(value) if isinstance(value, Problem) else value
        for key, value in results.items()
    }}
"""
_TRIALS_SOURCE = (
    resources.files("course_utils.checks").joinpath("finetuning_trials.py").read_text("utf-8")
)


def _make_program(name: str) -> str:
    """Write the program that runs in a kernel: the text of the trials and which one to run."""
    names = ("SST2Dataset",) if name == "collate_fn" else (name, "SST2Dataset")
    return _TRIALS_SOURCE + _PROGRAM_END.format(names=names, name=name)


def make_namespace(*codes: str) -> dict:
    """Return a namespace as the notebook has it, with right pieces, and then these codes run."""
    namespace = {"__name__": "__main__"}  # as in a notebook
    for text in (code.GIVEN, *code.REFERENCES.values(), *codes):
        exec(compile(text, "<exercise>", "exec"), namespace)
    return namespace


def try_out(name: str, inputs: dict, *codes: str, device: bool = True) -> dict:
    """Return what some code does in a trial, as numbers."""
    from course_utils.checks.finetuning_trials import run_trial

    results = run_trial(name, make_namespace(*codes), inputs, device)
    return {key: to_numbers(value) for key, value in results.items()}


_one_at_a_time = Lock()  # several notebooks are judged at once; a trial wants torch to itself


@cache
def _recall(name: str, inputs: str, *codes: str) -> dict:
    return try_out(name, wire.load(inputs), *codes, device=False)


def _try_once(name: str, inputs: dict, *codes: str) -> dict:
    """Return what some code does in a trial; the same question is worked out only once."""
    with _one_at_a_time:
        return _recall(name, wire.dump(inputs), *codes)


# Told by their numbers alone; all others show in the diary.
_TOLD_BY_NUMBERS = (
    "loss-mean-of-batches", "loss-not-divided", "loss-of-last-batch", "loss-divided-twice",
    "loss-summed", "accuracy-mean-of-batches", "accuracy-of-last-batch", "argmax-over-examples",
)  # fmt: skip


def list_mistakes(name: str) -> Iterator[tuple[str, str]]:
    """Yield (diagnosis, code) of the known mistakes."""
    for diagnosis, codes in code.MISTAKES[name].items():
        for text in codes:
            yield diagnosis, text


def _make_rule(name: str):
    def rule(values: dict, inputs: dict) -> Ruling:
        results = {key: value for key, value in values.items() if value is not wire.Missing}

        def mistakes():
            for diagnosis, text in list_mistakes(name):
                if diagnosis in _TOLD_BY_NUMBERS:
                    yield diagnosis, _try_once(name, inputs, text)

        try:
            finding = judge(name, results, _try_once(name, inputs), mistakes, inputs)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            sentence = "what came back from the kernel is not what its code can give."
            finding = Finding(False, sentence, "no-answer")
        return Ruling(float(finding.passed), finding)

    return rule


def _make(name: str) -> Exercise:
    return Exercise(
        name=name,
        reference=code.REFERENCES[name],
        program=_make_program(name),
        rule=_make_rule(name),
        make_inputs=lambda rng: _draw_hidden(name, int(rng.integers(_DRAWS))),
        mistakes=tuple(Mistake(diagnosis, text) for diagnosis, text in list_mistakes(name)),
        variants=tuple(code.VARIANTS[name]),
        builds_on=BUILDS_ON.get(name, ()),
        solved_in="SST2Dataset" if name == "collate_fn" else "",
    )


EXERCISES = [_make(name) for name in NAMES]


# ---------------------------------------------------------------------- numbers for students


def make_numbers(name: str, seed: int = 3) -> dict:
    """Return the visible inputs, what a right solution does, and what telling mistakes do."""
    inputs = _DRAWERS[name](np.random.default_rng(seed), hidden=False)
    right = try_out(name, inputs)
    mistakes = []
    for diagnosis, text in list_mistakes(name):
        if diagnosis in _TOLD_BY_NUMBERS:
            results = try_out(name, inputs, text)
            mistakes.append((diagnosis, {key: results[key] for key in TELLING if key in right}))
    return {"inputs": inputs, "right": right, "mistakes": mistakes}
