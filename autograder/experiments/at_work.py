"""Measures the numbers that the notebooks of `attention_at_work` quote, one group per notebook.

`python -m autograder.experiments.results` calls what stands here. Draws of keys and the three
translators are made anew; finished epochs are kept in runs/results/translation. The numbers on
pretraining are read from docs/pretraining.md, which `python -m autograder.experiments.pretraining`
writes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

from autograder.experiments import pretraining
from autograder.experiments.translation import REPORTED, load_references, train_kind
from course_utils import noisy_keys
from course_utils.checks import noise_and_heads as checks
from course_utils.translation.data import load_own
from course_utils.translation.evaluation import (
    MAX_TOKENS,
    align,
    choose_examples,
    group_by_length,
    measure_bleu,
    measure_sentences,
)
from course_utils.translation.training import Settings

RUNS = Path("runs/results/translation")


# ------------------------------------------------------------------------------ notebook 1

_ROUNDS = 30  # of ten sets of means each, with 100 draws for each set
_LENGTHS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 25, 30, 40, 60, 80, 100, 200, 400, 1000)


def measure_noise() -> dict:
    """Return how often queries of several lengths are right: one head, two, and near misses."""
    copied = _measure_lengths("copy_query", lambda a, b, C: C * a)
    averaged = _measure_lengths("average_query", lambda a, b, C: C * (a + b))
    robust = _measure_lengths("robust_query", lambda a, b, C: C * (a + b))
    one = _measure_lengths("two_head_queries", lambda a, b, C: [C * (a + b)] * 2)
    two = _measure_lengths("two_head_queries", lambda a, b, C: [C * a, C * b])
    cancelling = _measure_lengths("two_head_queries", lambda a, b, C: [C * (a + b), C * (a - b)])
    always = [length for length, share in robust.items() if share == 1]
    gains = noisy_keys.draw_gains(np.random.default_rng(0), 1_000_000)
    return {
        "gain_mean": round(float(gains.mean()), 1),
        "copy_from": _find_start(copied),
        "average_from": _find_start(averaged),
        "robust": {"from": always[0], "to": always[-1]} | _write_shares(robust, 20, 40, 80, 200),
        "one_head_at_most": math.ceil(100 * max(one.values())),
        "two_heads": {"from": _find_start(two)} | _write_shares(two, 6, 10, 14),
        "sum_and_difference": {"at_most": round(100 * max(cancelling.values()))}
        | _write_shares(cancelling, 6),
    }


def _measure_lengths(name: str, make: Callable) -> dict[int, float]:
    """Return the share of right draws by the queries' length, always of the same draws."""
    return {length: measure_share(name, make, length) for length in _LENGTHS}


def measure_share(name: str, make: Callable, length: float, seed: int = 0) -> float:
    """Return in which share of draws queries are right; `make` takes the means of a and b."""
    rng = np.random.default_rng(seed)
    right = 0
    for _ in range(_ROUNDS):
        worlds = checks.draw_worlds(rng)
        queries = [np.atleast_2d(make(w.means[w.a], w.means[w.b], length)) for w in worlds]
        right += checks.count_right(checks.TASKS[name], worlds, queries, rng)
    return right / (_ROUNDS * checks.SETS * checks.DRAWS)


def _find_start(shares: dict[int, float]) -> int:
    """Return the length from which on every draw is right, among those that were tried."""
    longest_wrong = max(length for length, share in shares.items() if share < 1)
    return min(length for length in shares if length > longest_wrong)


def _write_shares(shares: dict[int, float], *lengths: int) -> dict[str, str]:
    return {f"at_{length}": _write_percent(shares[length]) for length in lengths}


def _write_percent(share: float) -> str:
    """Write a share in percent: whole numbers, and a digit more where nearly all are right."""
    percent = 100 * share
    return f"{percent:.1f}" if 99 <= percent < 100 else f"{percent:.0f}"


# ------------------------------------------------------------------------------ notebook 2


def measure_translation() -> dict:
    """Return what the three kinds of attention come to on the course's own pairs, laptop profile."""
    data, settings, references = load_own("as asked for"), Settings(), load_references()
    describe, translate = references["describe_losses"], references["greedy_translate"]
    results: dict = {"epochs": settings.epochs, "floor": f"{data.entropy:.3f}"}
    for name in REPORTED:
        model, history = train_kind(name, data, settings, RUNS)
        sentences = measure_sentences(model, data.validation)
        lengths = group_by_length(data.validation, sentences)
        trained = describe(history.train_losses)
        validated = describe(history.validation_losses)
        results[name.replace(" ", "_")] = {
            "train_mean": f"{trained['mean']:.3f}",
            "train_variance": f"{trained['variance']:.3f}",
            "validation_mean": f"{validated['mean']:.3f}",
            "validation_variance": f"{validated['variance']:.3f}",
            "best": f"{history.best['validation']:.3f}",
            "first_validation": f"{history.validation_losses[0]:.2f}",
            "last_validation": f"{history.validation_losses[-1]:.2f}",
            "most_above": f"{max(r['validation'] - r['train'] for r in history.epochs):.2f}",
            "bleu": f"{measure_bleu(translate, model, data)[0]:.1f}",
            "sentence_variance": f"{describe(sentences)['variance']:.3f}",
            "by_length": {
                f"{first}_{last}": f"{loss:.2f}" for (first, last), (loss, _) in lengths.items()
            },
        }
        if name == "scaled dot product":
            results["pictures"] = _read_pictures(model, data, translate)
    return results


def _read_pictures(model, data, translate) -> dict:
    """Return the notebook's eight pictures in words: both sentences, and where each word looks.

    A text that names a word of a translation can no longer be built when the word has changed.
    """
    pictures: dict = {"rows": 0, "sharp": 0}
    for number, (source, _) in enumerate(choose_examples(data, 8), start=1):
        found = align(model, data, source, translate(model, source, MAX_TOKENS))
        tops = [(f"{row.max():.2f}", found.german[int(row.argmax())]) for row in found.weights]
        looks = dict(zip(found.english, tops, strict=True))
        pictures[f"picture_{number}"] = {
            "german": _write_sentence(found.german[1:-1]),
            "english": _write_sentence(found.english[:-1]),
            "looks_at": {word: place for word, (_, place) in looks.items() if word.isalpha()},
            "weights": {word: weight for word, (weight, _) in looks.items() if word.isalpha()},
        }
        pictures["rows"] += len(tops)
        pictures["sharp"] += int((found.weights.max(dim=1).values > 0.9).sum())
    return pictures


def _write_sentence(words: list[str]) -> str:
    return " ".join(words).replace(" ,", ",").removesuffix(" .")


# ------------------------------------------------------------------------------ notebook 3

_KINDS = {  # how text names the models
    pretraining.BASELINE: "baseline",
    pretraining.ALONE: "alone",
    pretraining.PRETRAINED: "pretrained",
    pretraining.SYNTHESIZER: "synthesizer",
}


def read_pretraining() -> dict:
    """Return the tables of docs/pretraining.md: seed 1, the range over all seeds, the real data."""
    own, _, real = pretraining.REPORT.read_text("utf-8").partition("## The real people and places")
    results: dict = {}
    for model, *cells in _read_rows(own):
        kind = results.setdefault(_KINDS[model], {})
        if len(cells) == 9:  # one seed's confidence, loss and cost
            names = ("right", "wrong", "unknown_people", "above_half", "surest", "loss", "seconds")
            if cells[0] == "1":
                kind |= dict(zip((*names, "weights"), cells[1:], strict=True))
            continue
        known = sorted((int(cell.removesuffix(" %")), cell) for cell in cells[0::2])
        kind |= {
            "known": cells[0],
            "unknown": cells[1],
            "lowest": known[0][0],
            "highest": known[-1][1],
        }
    results["real"] = {
        _KINDS[model]: {"right": right, "epochs": epochs.partition(" ")[0]}
        for model, right, _, epochs, *_ in _read_rows(real)
    }
    return results


def _read_rows(text: str) -> list[list[str]]:
    """Return the rows about models of all tables in a text, cell by cell."""
    rows = [
        [cell.strip() for cell in line.strip().strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("|")
    ]
    return [row for row in rows if row[0] in _KINDS]


GROUPS = {
    "noise": measure_noise,
    "translation": measure_translation,
    "pretraining": read_pretraining,
}
