"""Text -> vocabulary -> batches, and where the text comes from."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from course_utils import hub, runtime
from course_utils.language_model import grammar

START, STOP, UNK, PAD = 0, 1, 2, 3
SPECIALS = ("<START>", "<STOP>", "<UNK>", "<PAD>")
MIN_COUNT = 3  # a word seen less often than this becomes <UNK>
MAX_TOKENS = 100  # of a sentence, START and STOP counted

# What the real files must hold: the subset of the 1 Billion Word Benchmark.
HUB_DATA = "Salesforce/wikitext"
REAL_FILE = "1b_benchmark.{split}.tokens"
REAL_COUNTS = {"train": 61_530, "dev": 12_216, "test": 12_105}
REAL_WORDS = 1_561_375  # in the training file

OWN_COUNTS = {"train": 120_000, "dev": 2_000, "test": 2_000}
OWN_SEEDS = {"train": 1, "dev": 2, "test": 3}

# Sentences whose losses a report compares.
SENTENCES = (
    "After learning language models model natural language .",
    "The quick brown fox jumps over the lazy dog .",
    "Amidst the twilight , the ancient ruins whispered secrets long forgotten .",
    "Quantum entanglement fascinates physicists and philosophers alike , "
    "bridging worlds with invisible threads .",
)
OWN_SENTENCES = (
    "Ada met Tom in the garden , and she gave Tom a red lamp . Later Tom lost the lamp , "
    "so Ada helped Tom .",
    "The horse near the ladders waits calmly , and the horse is huge .",
    'Oscar said : " I like the violin . " Then Vera answered : " I need the violin too , Oscar . "',
    "Mira has a map and Felix has a drum . Who has the map ? It is Mira .",
)

Sentence = list[str]


class CorpusError(ValueError):
    """A corpus file that cannot be used, said in one sentence."""


class Vocabulary:
    """The words a model knows, each with its number; any other word is <UNK>."""

    def __init__(self, words: Sequence[str]):
        self.words = [*SPECIALS, *words]
        self.ids = {word: i for i, word in enumerate(self.words)}

    @classmethod
    def build(cls, sentences: Sequence[Sentence]) -> Vocabulary:
        """Take every word seen `MIN_COUNT` times or more, the most frequent first."""
        counts = Counter(word for sentence in sentences for word in sentence)
        return cls([w for w, n in counts.most_common() if n >= MIN_COUNT and w not in SPECIALS])

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, sentence: Sentence | str) -> list[int]:
        """Return a sentence's numbers between START and STOP, cut to `MAX_TOKENS`."""
        words = sentence.split() if isinstance(sentence, str) else sentence
        return [START, *(self.ids.get(word, UNK) for word in words[: MAX_TOKENS - 2]), STOP]

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the words of a sequence of numbers."""
        return " ".join(self.words[token] for token in tokens)


@dataclass
class Corpus:
    """Sentences as numbers, in three splits, and what is known about them."""

    name: str
    description: str  # which corpus this is, and why this one
    vocabulary: Vocabulary
    train: list[list[int]]
    dev: list[list[int]]
    test: list[list[int]]
    sentences: tuple[str, ...] = SENTENCES  # whose losses a report compares
    entropy: float | None = None  # nats per token: no model that sees only the past gets below
    # The loss of each development sentence under the grammar itself, where known.
    dev_grammar_losses: list[float] = field(default_factory=list)


def load_corpus(folder: str | Path | None = None) -> Corpus:
    """Load the best corpus there is: real files, else the hub, else the course's own.

    `folder` (or else `COURSE_DATA`) names a folder with the real files, in it or in its `lm1b`.
    While being graded it is always the course's own.
    """
    if runtime.where() == "autograder":
        return load_own("because this is a grading run")
    if folder is not None:
        return load_real(Path(folder))
    data = runtime.data_dir()
    if data is not None and (data / "lm1b").is_dir():
        return load_real(data)
    corpus, problem = hub.fetch(load_hub, HUB_DATA, "dataset")
    if corpus is not None:
        return corpus
    own = load_own("because WikiText-2 is not available")
    own.description += f" {problem}"
    return own


def load_real(folder: Path) -> Corpus:
    """Read the three real files, and make sure by their counts that they are whole."""
    files = folder / "lm1b" if (folder / "lm1b").is_dir() else folder
    splits = {}
    for split, count in REAL_COUNTS.items():
        path = files / REAL_FILE.format(split=split)
        splits[split] = read_sentences(path)
        if len(splits[split]) != count:
            raise CorpusError(
                f"{path} holds {len(splits[split]):,} sentences where the course's file has "
                f"{count:,}: it is another file, or not all of it."
            )
    n_words = sum(map(len, splits["train"]))
    if n_words != REAL_WORDS:
        raise CorpusError(
            f"The training file in {files} holds {n_words:,} words where the course's has "
            f"{REAL_WORDS:,}: it is another file, or was changed."
        )
    return make_corpus("lm1b", "The 1 Billion Word Benchmark subset, read from files.", splits)


def read_sentences(path: str | Path) -> list[Sentence]:
    """Read one space-tokenised sentence per line, or say in a sentence why that is impossible."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise CorpusError(f"There is no file {path}.") from None
    except IsADirectoryError:
        raise CorpusError(f"{path} is a folder, not a text file.") from None
    except UnicodeDecodeError:
        raise CorpusError(f"{path} is not text in UTF-8; is it still compressed?") from None
    if "\0" in text:
        raise CorpusError(f"{path} is not text (it holds zero bytes); is it still compressed?")
    sentences = [line.split() for line in text.split("\n") if line.strip()]
    if not sentences:
        raise CorpusError(f"{path} holds no sentence: it is empty.")
    return sentences


def load_hub() -> Corpus:
    """Load WikiText-2 from the Hugging Face hub, its paragraphs cut into sentences."""
    from datasets import load_dataset

    raw = load_dataset(HUB_DATA, "wikitext-2-raw-v1")
    splits = {
        ours: [s for text in raw[theirs]["text"] for s in split_paragraph(text)]
        for ours, theirs in {"train": "train", "dev": "validation", "test": "test"}.items()
    }
    return make_corpus("wikitext-2", "WikiText-2, from the Hugging Face hub.", splits)


def split_paragraph(text: str) -> Iterator[Sentence]:
    """Yield the sentences of a paragraph of WikiText; a heading (" = Title = ") has none."""
    if text.strip().startswith("="):
        return
    sentence: Sentence = []
    for word in text.split():
        sentence.append(word)
        if word in {".", "?", "!"}:
            yield sentence
            sentence = []
    if sentence:
        yield sentence


def load_own(reason: str) -> Corpus:
    """Generate the course's own corpus, whose best possible loss is known."""
    splits, losses = {}, {}
    for split, count in OWN_COUNTS.items():
        splits[split], losses[split] = grammar.generate_sentences(count, OWN_SEEDS[split])
    corpus = make_corpus("own", f"The course's own corpus, made by a grammar, {reason}.", splits)
    corpus.sentences = OWN_SENTENCES
    corpus.entropy = grammar.compute_entropy()
    corpus.description += (
        " In the long run no model that sees only the past can have a perplexity below "
        f"{math.exp(corpus.entropy):.2f}."
    )
    corpus.dev_grammar_losses = losses["dev"]
    return corpus


def make_corpus(name: str, description: str, splits: dict[str, list[Sentence]]) -> Corpus:
    """Number the words of three splits (train, dev, test), and say how much there is."""
    vocabulary = Vocabulary.build(splits["train"])
    encoded = {split: [vocabulary.encode(s) for s in splits[split]] for split in splits}
    description += (
        f" {len(encoded['train']):,} / {len(encoded['dev']):,} / {len(encoded['test']):,} "
        f"sentences (training / development / test); {len(vocabulary):,} words."
    )
    return Corpus(name, description, vocabulary, **encoded)


def make_batches(
    documents: Sequence[Sequence[int]], batch_size: int, seed: int | None = None
) -> list[list[int]]:
    """Group documents of one length, so that no batch holds padding; return their indices.

    With a seed, the documents and the batches are shuffled; without, they keep their order.
    """
    order = list(range(len(documents)))
    dice = random.Random(seed)
    if seed is not None:
        dice.shuffle(order)
    by_length: dict[int, list[int]] = {}
    for i in order:
        by_length.setdefault(len(documents[i]), []).append(i)
    batches = [
        same[start : start + batch_size]
        for same in by_length.values()
        for start in range(0, len(same), batch_size)
    ]
    if seed is not None:
        dice.shuffle(batches)
    return batches


def pad_batch(documents: Sequence[Sequence[int]], length: int | None = None) -> Tensor:
    """Stack documents, PAD on the right up to the longest (or to `length`).  -> (B, T)"""
    length = length or max(map(len, documents))
    return torch.tensor([[*d, *[PAD] * (length - len(d))] for d in documents])
