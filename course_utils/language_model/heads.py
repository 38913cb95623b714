"""Looking for heads that have one job: in your model, and in a language that asks for such a head."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping

from torch import Tensor

from course_utils.language_model.corpus import Corpus, make_corpus
from course_utils.language_model.evaluation import HeadScores
from course_utils.words import say

ECHO_WORDS = (
    "red", "blue", "green", "gold", "pink", "grey", "lime", "teal",
    "rust", "plum", "sand", "mint", "rose", "navy", "jade", "ruby",
)  # fmt: skip
ECHO_LENGTH = 14  # words in a sentence
REPEATS = 0.7  # how often a word repeats the one two places back
CLOSE = 2  # hundredths: heads whose weights, as shown, differ by no more do the job equally well

JOBS = {"the token before": "previous", "same word earlier": "same_word"}


def make_echoes(n_train: int = 8_000, seed: int = 0) -> Corpus:
    """Return sentences in a language of echoes.

    From the third word on, most words repeat the one two places back; all others are drawn at random.
    So whoever wants to predict the next word has to look at the token just before the current one.
    """
    dice = random.Random(seed)

    def speak() -> list[str]:
        words = dice.choices(ECHO_WORDS, k=2)
        while len(words) < ECHO_LENGTH:
            words.append(words[-2] if dice.random() < REPEATS else dice.choice(ECHO_WORDS))
        return words

    sizes = {"train": n_train, "dev": 300, "test": 300}
    splits = {split: [speak() for _ in range(size)] for split, size in sizes.items()}
    description = (
        f"A language of echoes: from the third word on, a word repeats the one two places back with "
        f"probability {REPEATS:g} and is drawn at random otherwise."
    )
    corpus = make_corpus("echoes", description, splits)
    corpus.sentences = tuple(" ".join(sentence) for sentence in splits["dev"][:4])
    corpus.entropy = _measure_surprise()
    return corpus


def _measure_surprise() -> float:
    """Return the mean surprise of a token, in nats: two free words, the echoes, and a sure STOP."""
    n_words = len(ECHO_WORDS)
    other = (1 - REPEATS) / n_words
    echo = REPEATS + other  # a random word may be the echo as well
    surprise = -echo * math.log(echo) - (n_words - 1) * other * math.log(other)
    return (2 * math.log(n_words) + (ECHO_LENGTH - 2) * surprise) / (ECHO_LENGTH + 1)


def check_heads(scores: HeadScores, found: Mapping[str, tuple[int, int]]) -> None:
    """Say whether these heads do most for each job: {"the token before": (layer, head), ...}."""
    for job, name in JOBS.items():
        weights = getattr(scores, name)  # (layers, heads)
        n_layers, n_heads = weights.shape
        said = found.get(job, ...)
        if said is ...:
            print(f"{job}: no head named yet.")
            continue
        try:
            layer, head = (int(number) for number in said)
        except (TypeError, ValueError):
            print(f"{job}: name a head by two numbers, (layer, head), for example (0, 2).")
            continue
        if not (0 <= layer < n_layers and 0 <= head < n_heads):
            say(
                f"{job}: there is no layer {layer}, head {head}; "
                f"layers go from 0 to {n_layers - 1}, heads from 0 to {n_heads - 1}."
            )
            continue
        say(f"{job}: {judge_head(weights, layer, head)}")


def judge_head(weights: Tensor, layer: int, head: int) -> str:
    """Say whether a head puts most weight, by the numbers as they are shown.  weights (layers, heads)"""
    shown = (100 * weights).round().int()  # hundredths
    mine, most = int(shown[layer, head]), int(shown.max())
    n_close = int((shown >= most - CLOSE).sum())
    words = f"layer {layer}, head {head} puts {mine / 100:.2f} there, on average"
    if mine < most - CLOSE:
        return f"✘ {words}; another head puts {most / 100:.2f}. Look at a few more sentences."
    if n_close == 1:
        return f"✔ {words}, and stands out: no other head is close."
    best = divmod(int(weights.argmax()), weights.shape[1])
    if mine == most:
        verdict = f"✔ {words}, and none puts more."
    else:
        verdict = f"≈ {words}, close to the best, {best} with {most / 100:.2f}."
    n_heads = weights.numel()
    end = ": no head stands out." if n_close > n_heads / 2 else "."
    return (
        f"{verdict} {n_close} of the {n_heads} heads lie within {CLOSE / 100:.2f} of the best{end}"
    )
