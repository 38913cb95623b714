"""How good is a model: losses, perplexities, samples, attention maps, and does it see the future?"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import torch
from matplotlib.figure import Figure
from torch import Tensor

from course_utils.history import History, format_time
from course_utils.language_model.corpus import (
    MAX_TOKENS,
    PAD,
    START,
    STOP,
    Corpus,
    Vocabulary,
    make_batches,
    pad_batch,
)
from course_utils.language_model.gpt import GPT
from course_utils.plots.training import plot_comparison

# A change smaller than this, next to the size of what changes, is rounding and not sight.
ROUNDING = 1e-4

PERPLEXITIES = {  # as a table calls them: a run's own name for each
    "training perplexity, mean over sentences": "train_perplexity",
    "development perplexity, mean over sentences": "dev_perplexity",
    "training perplexity, over all tokens": "train_corpus_perplexity",
    "development perplexity, over all tokens": "dev_corpus_perplexity",
}


@dataclass
class Measured:
    """The mean loss and the number of predicted tokens of each document."""

    losses: Tensor  # (n,)
    counts: Tensor  # (n,)

    @property
    def mean_perplexity(self) -> float:
        """mean(exp(document loss)): every document weighs the same."""
        return self.losses.exp().mean().item()

    @property
    def corpus_perplexity(self) -> float:
        """exp(total loss / total tokens): every token weighs the same."""
        return math.exp((self.losses * self.counts).sum().item() / self.counts.sum().item())


@torch.no_grad()
def measure_documents(
    model: GPT, documents: Sequence[Sequence[int]], batch_size: int = 64
) -> Measured:
    """Return the mean loss of each document, PAD left out."""
    model.eval()
    losses = torch.empty(len(documents), dtype=torch.float64)  # (n,)
    for batch in make_batches(documents, batch_size):
        tokens = pad_batch([documents[i] for i in batch]).to(find_device(model))  # (B, T)
        losses[batch] = model.token_losses(tokens).cpu().double().mean(-1)
    counts = torch.tensor([len(d) - 1 for d in documents], dtype=torch.float64)
    return Measured(losses, counts)


@torch.no_grad()
def measure_positions(
    model: GPT, documents: Sequence[Sequence[int]], band: int = 5, batch_size: int = 64
) -> dict[str, float]:
    """Return the mean loss in each band of positions, over whole sentences.

    Every sentence starts at position 0, as in training, so late bands hold only what longer
    sentences have there. Train on short sentences (`keep_short`) and measure on longer ones: a
    model whose positions carry over does about as well beyond the training's length as before it.
    """
    if isinstance(documents, Corpus):
        raise TypeError(
            "Which sentences are to be measured? Give one of the corpus's lists, such as corpus.dev."
        )
    if not documents:
        raise ValueError("There is nothing to measure: the list of sentences is empty.")
    model.eval()
    longest = max(len(document) for document in documents) - 1
    totals, counts = torch.zeros(longest), torch.zeros(longest)  # (longest,)
    for batch in make_batches(documents, batch_size):
        tokens = pad_batch([documents[i] for i in batch]).to(find_device(model))  # (B, T)
        losses = model.token_losses(tokens).cpu()  # (B, T - 1), one length per batch: no PAD
        totals[: losses.shape[1]] += losses.sum(0)
        counts[: losses.shape[1]] += len(losses)
    return {
        f"{start} to {min(start + band, longest) - 1}": (
            totals[start : start + band].sum() / counts[start : start + band].sum()
        ).item()
        for start in range(0, longest, band)
    }


def keep_short(corpus: Corpus, longest: int) -> Corpus:
    """Return the corpus with training sentences of at most `longest` tokens; dev and test stay."""
    short = [document for document in corpus.train if len(document) <= longest]
    if not short:
        raise ValueError(f"No training sentence has {longest} tokens or fewer.")
    description = (
        f"{corpus.description} Of the training sentences only the {len(short):,} with at most "
        f"{longest} tokens; development and test sentences as before."
    )
    return replace(corpus, train=short, description=description)


def measure_grammar(corpus: Corpus) -> Measured | None:
    """Return what a perfect model scores on the development sentences, where that is known."""
    if not corpus.dev_grammar_losses:
        return None
    counts = torch.tensor([len(d) - 1 for d in corpus.dev], dtype=torch.float64)
    return Measured(torch.tensor(corpus.dev_grammar_losses, dtype=torch.float64) / counts, counts)


@torch.no_grad()
def write_samples(
    model: GPT, vocabulary: Vocabulary, n: int = 5, prompt: str = "", seed: int = 0
) -> list[str]:
    """Let the model write n sentences, each after START and the words of the prompt."""
    model.eval()
    device = find_device(model)
    dice = torch.Generator().manual_seed(seed)  # on the CPU: the same draws on every device
    first = vocabulary.encode(prompt)[:-1]  # START and the prompt, no STOP
    tokens = torch.tensor([first] * n, device=device)  # (n, T)
    while tokens.shape[1] < MAX_TOKENS and not (tokens == STOP).any(-1).all():
        logits = model.output(model.hidden(tokens)[:, -1])  # (n, vocab_size)
        logits[:, [START, PAD]] = -math.inf  # neither ever follows a word
        chosen = torch.multinomial(logits.softmax(-1).cpu(), 1, generator=dice)  # (n, 1)
        tokens = torch.cat([tokens, chosen.to(device)], dim=1)
    rows = [row[: row.index(STOP) + 1] if STOP in row else row for row in tokens.tolist()]
    return [vocabulary.decode(row) for row in rows]


def measure_sentences(model: GPT, corpus: Corpus) -> dict[str, float]:
    """Return the mean loss of each of the corpus's example sentences."""
    encoded = [corpus.vocabulary.encode(sentence) for sentence in corpus.sentences]
    return dict(
        zip(corpus.sentences, measure_documents(model, encoded).losses.tolist(), strict=True)
    )


@torch.no_grad()
def map_attention(attention: Callable, Q: Tensor, K: Tensor, n_heads: int) -> Tensor:
    """Return the weights that any attention of the contract gives, without looking inside it.

    Fed with indicator vectors as V, its output *is* the weights. A head has room for `head_size`
    indicators, so the tokens take turns, one batch row per turn.

    Q, K (T, C) -> (n_heads, T, T), [h, i, j] the weight of token j in what i receives in head h
    """
    T, C = Q.shape
    head_size = C // n_heads
    turns = math.ceil(T / head_size)
    V = Q.new_zeros(turns, T, C)
    places = []  # of each token's indicator: in which turn, and in which channel of each head
    for token in range(T):
        channels = [head * head_size + token % head_size for head in range(n_heads)]
        places.append((token // head_size, channels))
        V[token // head_size, token, channels] = 1.0
    Qs, Ks = Q.expand(turns, T, C), K.expand(turns, T, C)
    out = attention(Qs, Ks, V, n_heads=n_heads, causal=True)  # (turns, T, C)
    columns = [out[turn][:, channels].T for turn, channels in places]  # T times (n_heads, T)
    return torch.stack(columns, dim=-1)


@torch.no_grad()
def map_model(model: GPT, tokens: Sequence[int]) -> Tensor:
    """Return the attention weights of every layer and head.  T tokens -> (layers, heads, T, T)"""
    model.eval()
    x = model.embed(torch.tensor([list(tokens)], device=find_device(model)))  # (1, T, C)
    maps = []
    for block in model.blocks:
        Q, K, _ = block.project(x)
        maps.append(map_attention(block.attention, Q[0], K[0], block.n_heads))
        x = block(x)
    return torch.stack(maps).cpu()


@dataclass
class HeadScores:
    """What each head looks at, as mean weights over the tokens of some sentences."""

    previous: Tensor  # (layers, heads): on the token just before
    itself: Tensor  # on the token itself
    same_word: Tensor  # on earlier copies of the same word, where there are any
    first: Tensor  # on the first token
    even: float  # what an even spread over all visible tokens would put on the previous one

    def __str__(self) -> str:
        return "\n".join([
            "mean weight on     the token before   itself   same word earlier   the first token",
            *(
                f"layer {layer}, head {head}    {self.previous[layer, head]:15.2f}   "
                f"{self.itself[layer, head]:6.2f}   {self.same_word[layer, head]:17.2f}   "
                f"{self.first[layer, head]:15.2f}"
                for layer in range(len(self.previous))
                for head in range(self.previous.shape[1])
            ),
            f"(an even spread:   {self.even:15.2f})",
        ])  # fmt: skip


def score_heads(model: GPT, documents: Sequence[Sequence[int]]) -> HeadScores:
    """Measure what every head looks at, averaged over sentences.

    The first token counts nowhere but in `first`: it can only look at itself.
    """
    found = {name: [] for name in ("previous", "itself", "same_word", "first")}
    even = []
    for document in documents:
        maps = map_model(model, document)  # (layers, heads, T, T)
        tokens = torch.tensor(list(document))
        found["previous"].append(maps.diagonal(-1, -2, -1))  # (layers, heads, T - 1)
        found["itself"].append(maps.diagonal(0, -2, -1)[..., 1:])
        found["first"].append(maps[..., 1:, 0])
        copies = (tokens[:, None] == tokens[None]).tril(-1)  # (T, T)
        repeated = copies.any(-1)
        found["same_word"].append((maps * copies).sum(-1)[..., repeated])
        even += [1 / (place + 1) for place in range(1, len(tokens))]
    means = {name: torch.cat(parts, dim=-1).mean(-1) for name, parts in found.items()}
    return HeadScores(**means, even=sum(even) / len(even))


@dataclass
class FutureProbe:
    """How much each token's output moves when another token is changed."""

    moved: Tensor  # (T, T), [i, j] = relative change of the output at i when token j changes
    rounding: float = ROUNDING

    @property
    def leak(self) -> float:
        """The largest move of an output by a token that comes after it."""
        return self.moved.triu(1).max().item()

    @property
    def sees_future(self) -> bool:
        """Whether that move is more than rounding."""
        return self.leak > self.rounding

    def describe(self) -> str:
        """Say it in words."""
        if not self.sees_future:
            return "No output moved when a later token was changed: the model is causal."
        i, j = divmod(self.moved.triu(1).argmax().item(), len(self.moved))
        return (
            f"The model sees the future: the output at position {i} moved by {self.leak:.1%} of "
            f"its size when only token {j}, which comes later, was changed."
        )


@torch.no_grad()
def probe_future(model: GPT, tokens: Sequence[int]) -> FutureProbe:
    """Change each token in turn and see which outputs move; none before it should."""
    model.eval()
    original = torch.tensor(list(tokens), device=find_device(model))  # (T,)
    T = len(original)
    changed = original.repeat(T, 1)  # (T, T): row j differs from the original in token j
    other = (changed.diagonal() + 1) % model.config.vocab_size
    changed.diagonal().copy_(other)
    before = model.hidden(original[None])  # (1, T, C)
    after = model.hidden(changed)  # (T, T, C)
    moved = (after - before).norm(dim=-1) / before.norm(dim=-1)  # (changed token, output)
    return FutureProbe(moved.T.cpu())


@dataclass
class Run:
    """One trained model's results, as a report needs them; saves to a file and loads from it."""

    name: str
    history: History
    n_parameters: int
    sentence_losses: dict[str, float]
    train_perplexity: float  # mean(exp(document loss))
    dev_perplexity: float
    train_corpus_perplexity: float  # exp(total loss / total tokens)
    dev_corpus_perplexity: float
    samples: list[str]
    leak: float  # of the see-the-future probe
    best: dict[str, float] = field(default_factory=dict)  # what a perfect model scores, if known

    def __repr__(self) -> str:
        return (
            f"Run({self.name!r}: development perplexity {format_number(self.dev_perplexity)} (mean "
            f"over sentences), final training loss {self.history.final_loss:.3f}, sees the future: "
            f"{describe_leak(self.leak)})"
        )

    def save(self, path: str | Path) -> None:
        """Write everything but the parameters to a JSON file."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), ensure_ascii=False), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Run:
        """Read what `save` wrote."""
        values = json.loads(Path(path).read_text(encoding="utf-8"))
        return cls(**{**values, "history": History(**values["history"])})


def evaluate_run(
    name: str, model: GPT, corpus: Corpus, history: History, n_train: int = 5000
) -> Run:
    """Measure all that `compare` puts side by side; training perplexity on n_train sentences."""
    train = measure_documents(model, corpus.train[:n_train])
    dev = measure_documents(model, corpus.dev)
    perfect = measure_grammar(corpus)
    return Run(
        name=name,
        history=history,
        n_parameters=model.count_parameters(),
        sentence_losses=measure_sentences(model, corpus),
        train_perplexity=train.mean_perplexity,
        dev_perplexity=dev.mean_perplexity,
        train_corpus_perplexity=train.corpus_perplexity,
        dev_corpus_perplexity=dev.corpus_perplexity,
        samples=write_samples(model, corpus.vocabulary),
        leak=probe_future(model, corpus.vocabulary.encode(corpus.sentences[1])).leak,
        best={
            "perplexity": perfect.mean_perplexity,
            "corpus_perplexity": perfect.corpus_perplexity,
        }
        if perfect
        else {},
    )


@dataclass
class Comparison:
    """Runs side by side: a table for the report (Markdown) and a figure."""

    markdown: str
    figure: Figure

    def _repr_markdown_(self) -> str:
        return self.markdown


def compare(runs: Sequence[Run], folder: str | Path | None = "runs/comparison") -> Comparison:
    """Put runs side by side, and save `comparison.md` and `comparison.png` in a folder."""
    if not runs:
        raise ValueError("There is nothing to compare: the list of runs is empty.")
    comparison = Comparison(make_table(runs), plot_comparison(runs))
    if folder is not None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        Path(folder, "comparison.md").write_text(comparison.markdown, encoding="utf-8")
        comparison.figure.savefig(Path(folder, "comparison.png"), dpi=150)
    return comparison


def make_table(runs: Sequence[Run]) -> str:
    """Return the runs as Markdown: one table of numbers, then the samples of each run."""
    rows: list[tuple[str, list[str]]] = [
        ("training time (min:s)", [format_time(r.history.seconds) for r in runs]),
        ("tokens per second", [f"{r.history.tokens_per_second:,.0f}" for r in runs]),
        ("parameters", [f"{r.n_parameters:,}" for r in runs]),
        ("final training loss", [f"{r.history.final_loss:.3f}" for r in runs]),
    ]
    sentences = list(runs[0].sentence_losses)
    for i, s in enumerate(sentences, start=1):
        rows.append((f"sentence {i}, loss", [f"{r.sentence_losses[s]:.3f}" for r in runs]))
    for i, s in enumerate(sentences, start=1):
        values = [format_number(math.exp(r.sentence_losses[s])) for r in runs]
        rows.append((f"sentence {i}, perplexity", values))
    rows += [
        *(
            (label, [format_number(getattr(run, name)) for run in runs])
            for label, name in PERPLEXITIES.items()
        ),
        ("sees the future", [describe_leak(r.leak) for r in runs]),
    ]
    lines = ["| | " + " | ".join(r.name for r in runs) + " |", "|---|" + "---:|" * len(runs)]
    lines += [f"| {label} | " + " | ".join(values) + " |" for label, values in rows]
    if runs[0].best:
        lines += [
            "",
            f"The grammar that wrote the development sentences scores {runs[0].best['perplexity']:.2f} "
            f"(mean over sentences) and {runs[0].best['corpus_perplexity']:.2f} (over all tokens) on "
            "them. A model that is far below this sees the future.",
        ]
    lines += ["", f"Final training loss: {describe_final(runs)}."]
    lines += ["", "Sentences:", ""]
    lines += [f"{i}. {sentence}" for i, sentence in enumerate(sentences, start=1)]
    for run in runs:
        lines += ["", f"Samples, {run.name}:", ""]
        # In code marks, or Markdown would take <START> for a tag of its own.
        lines += [f"{i}. `{sample}`" for i, sample in enumerate(run.samples, start=1)]
    return "\n".join(lines) + "\n"


def describe_final(runs: Sequence[Run]) -> str:
    """Say over how many steps the final training losses are means."""
    steps = dict.fromkeys(run.history.n_final for run in runs)
    if len(steps) == 1:
        return f"the mean of each run's last {next(iter(steps))} steps"
    last = ", ".join(f"{run.history.n_final} ({run.name})" for run in runs)
    return f"the mean of each run's last steps: {last}"


def describe_leak(leak: float) -> str:
    """Say whether a model sees the future, and how far an output moved if so."""
    return f"yes ({leak:.2g})" if leak > ROUNDING else "no"


def format_number(value: float) -> str:
    """Return a perplexity with two decimals when small, one when large."""
    return f"{value:.2f}" if value < 100 else f"{value:,.1f}"


def find_device(model: GPT) -> torch.device:
    """Return the device that a model's weights are on."""
    return next(model.parameters()).device
