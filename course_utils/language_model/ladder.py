"""A ladder of ever better language models, from no knowledge to attention: where does yours stand?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

import torch
from torch import Tensor

from course_utils.language_model.corpus import Corpus
from course_utils.words import say

SMOOTHING = 1.0  # how many sightings the next simpler model's guess counts for


def measure_counts(corpus: Corpus) -> dict[str, float]:
    """Return the development loss, in nats per token, of three models that only count.

    "uniform" gives every word the same probability, "unigram" knows how frequent words are, and "bigram"
    knows which word follows which. Each falls back on the one before it.
    """
    n_words = len(corpus.vocabulary)
    singles: Counter = Counter()
    pairs: Counter = Counter()
    for document in corpus.train:
        singles.update(document[1:])
        pairs.update(pairwise(document))
    total = singles.total()
    followed: Counter = Counter()
    for (before, _), count in pairs.items():
        followed[before] += count

    def unigram(word: int) -> float:
        return (singles[word] + SMOOTHING / n_words) / (total + SMOOTHING)

    def bigram(before: int, word: int) -> float:
        seen = pairs[before, word] + SMOOTHING * unigram(word)
        return seen / (followed[before] + SMOOTHING)

    losses = {"uniform": math.log(n_words), "unigram": 0.0, "bigram": 0.0}
    n_tokens = 0
    for document in corpus.dev:
        for before, word in pairwise(document):
            losses["unigram"] -= math.log(unigram(word))
            losses["bigram"] -= math.log(bigram(before, word))
            n_tokens += 1
    for name in ("unigram", "bigram"):
        losses[name] /= n_tokens
    return losses


def fits_rung(out, values: Tensor) -> bool:
    """Say whether an attention that is switched off gave each token its own value, or a TODO is open.

    Anything else would make a rung that looks plausible and means something else.
    """
    if out is ...:
        return False
    if isinstance(out, Tensor) and out.shape == values.shape and torch.equal(out, values):
        return True
    say(
        "The rung without attention is left out: what comes back there is not each token's own "
        "value, as it went in."
    )
    return False


def show_ladder(rungs: Mapping[str, float], widest: int = 24) -> str:
    """Return the rungs as lines of text, the worst loss first, each with a bar and its perplexity."""
    ordered: Sequence[tuple[str, float]] = sorted(rungs.items(), key=lambda rung: -rung[1])
    top = max(loss for _, loss in ordered)
    width = max(len(name) for name, _ in ordered)
    return "\n".join(
        f"{name:{width}}  {loss:5.2f} nats  {'█' * max(1, round(widest * loss / top)):{widest}}  "
        f"perplexity {math.exp(loss):,.1f}"
        for name, loss in ordered
    )
