"""What a trained translator can do: loss by sentence and by length, BLEU, and where it looks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from tqdm.auto import tqdm

from course_utils import runtime
from course_utils.language_model.corpus import PAD, START, STOP
from course_utils.translation.data import Data, Pair, collate, make_batches, split_words
from course_utils.translation.model import Translator

MAX_TOKENS = 60  # of a translation; one that has not ended by then never will
Translate = Callable[[Translator, list[int], int], list[int]]  # (model, source, max_tokens)


@dataclass(frozen=True)
class Alignment:
    """Where a translator looked: one row per English word written, one column per German word."""

    german: list[str]
    english: list[str]
    weights: Tensor  # (T, S)


@torch.no_grad()
def measure_sentences(model: Translator, pairs: Sequence[Pair]) -> list[float]:
    """Return the mean loss per token of every pair, in their order."""
    model.eval()
    device = next(model.parameters()).device
    found: dict[int, float] = {}
    for batch in make_batches(pairs, 128):
        chosen = collate([pairs[i] for i in batch], device)
        losses = model.token_losses(chosen)
        counts = (chosen.target[:, 1:] != PAD).sum(dim=1).tolist()
        for i, part in zip(batch, losses.split(counts), strict=True):
            found[i] = part.mean().item()
    return [found[i] for i in range(len(pairs))]


def group_by_length(pairs: Sequence[Pair], losses: Sequence[float], width: int = 5) -> dict:
    """Return the mean loss of pairs by the number of German words: {(from, to): (mean, count)}."""
    groups: dict[tuple[int, int], list[float]] = {}
    for (source, _), loss in zip(pairs, losses, strict=True):
        start = (len(source) - 3) // width * width + 1  # START and STOP are no words
        groups.setdefault((start, start + width - 1), []).append(loss)
    return {
        span: (sum(members) / len(members), len(members))
        for span, members in sorted(groups.items())
    }


def measure_bleu(
    translate: Translate, model: Translator, data: Data, n: int | None = None
) -> tuple[float, list[str]]:
    """Translate the first n test pairs with your function; return BLEU and the translations.

    Without n they are 200, or 20 where the profile is "quick".

    BLEU is sacrebleu's, on the words as the course splits them: 0 for nothing right, 100 for the
    reference word by word.
    """
    import sacrebleu

    pairs = data.test[: n or (20 if runtime.profile() == "quick" else 200)]
    bar = tqdm(pairs, "translating", leave=False, disable=runtime.where() == "autograder")
    translations = [data.english.decode(translate(model, source, MAX_TOKENS)) for source, _ in bar]
    references = [data.english.decode(target[1:-1]) for _, target in pairs]
    score = sacrebleu.corpus_bleu(translations, [references], tokenize="none", force=True)
    return score.score, translations


@torch.no_grad()
def align(model: Translator, data: Data, source: list[int], english: list[int]) -> Alignment:
    """Let the model read along as it writes `english`, and write down where it looks.

    The weights before each word of `english`, and before the STOP at its end.
    """
    model.eval()
    device = next(model.parameters()).device
    pair = (source, [START, *english, STOP])
    _, _, weights = model.read_along(collate([pair], device))  # (1, T, S)
    return Alignment(
        [data.german.words[i] for i in source],
        [data.english.words[i] for i in pair[1][1:]],
        weights[0].cpu(),
    )


def align_text(translate: Translate, model: Translator, data: Data, text: str) -> Alignment:
    """Translate any German sentence with your function, and write down where the model looked."""
    source = data.german.encode(split_words(text))
    unknown = [word for word in split_words(text) if word not in data.german.ids]
    if unknown:
        print(f"The model has never met: {', '.join(unknown)}. It reads <UNK> in their place.")
    return align(model, data, source, translate(model, source, MAX_TOKENS))


def choose_examples(data: Data, n: int = 8, shortest: int = 6, longest: int = 13) -> list[Pair]:
    """Return n test pairs of a length that makes a readable picture, short ones first."""
    fitting = [pair for pair in data.test if shortest <= len(pair[0]) - 2 <= longest]
    step = max(1, len(fitting) // n)
    return sorted(fitting[::step][:n], key=lambda pair: len(pair[0]))
