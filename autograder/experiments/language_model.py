"""A reference for each experiment that notebook 2 suggests, and the tables they lead to.

    COURSE_DATA=... python -m autograder.experiments.language_model --corpus real

trains each of them for one epoch (about five minutes each on two cores) and writes
docs/experiments.md, anew after each of them. Finished runs are kept in runs/experiments/, so that it
can be stopped and started again; what the report holds of runs whose files are gone stays in it.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from autograder.files import replace_file
from course_utils import runtime
from course_utils.language_model.corpus import Corpus, load_own, load_real, make_batches, pad_batch
from course_utils.language_model.evaluation import (
    Run,
    describe_leak,
    evaluate_run,
    format_time,
    keep_short,
    make_table,
    measure_positions,
)
from course_utils.language_model.gpt import GPT, GPTConfig, LearnedPositions
from course_utils.language_model.training import Settings, make_optimizer, take_step, train

COST_STEPS = 30  # batches over which the cost of an experiment is measured
EMBEDDING_STD = 0.02  # of the model's embeddings and learned positions at the start
SHORT = 21  # tokens of the longest training sentence when positions are put to the test
MAX_TOKENS = 128  # room for the positions of an attention that has weights for each of them


# --- The model of the notebook: dot-product attention --------------------------------------------


def init_qkv_proj(n_embd: int) -> tuple[nn.Linear, nn.Linear, nn.Linear]:
    """Make the three projections."""
    return nn.Linear(n_embd, n_embd), nn.Linear(n_embd, n_embd), nn.Linear(n_embd, n_embd)


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """(B, T, C) -> (B, n_heads, T, head_size)"""
    B, T, C = x.shape
    return x.view(B, T, n_heads, C // n_heads).transpose(1, 2)


def merge_heads(y: Tensor) -> Tensor:
    """(B, n_heads, T, head_size) -> (B, T, C)"""
    return y.transpose(1, 2).flatten(-2)


def see_past(n_tokens: int, device: torch.device) -> Tensor:
    """True where a token may look: at itself and before.  -> (T, T)"""
    return torch.ones(n_tokens, n_tokens, dtype=torch.bool, device=device).tril()


def dot_product(Q: Tensor, K: Tensor, V: Tensor, n_heads: int = 1, causal: bool = True) -> Tensor:
    """Scaled dot-product attention.  (B, T, C) x3 -> (B, T, C)"""
    q, k, v = (split_heads(x, n_heads) for x in (Q, K, V))  # (B, nh, T, hs)
    scores = q @ k.mT / math.sqrt(q.shape[-1])  # (B, nh, T, T)
    if causal:
        scores = scores.masked_fill(~see_past(Q.shape[1], Q.device), -math.inf)
    return merge_heads(scores.softmax(-1) @ v)


# --- Other attentions ----------------------------------------------------------------------------


class Additive(nn.Module):
    """Scores from a small network: W2 tanh(W1 [q; k])."""

    def __init__(self, n_embd: int, n_heads: int):
        super().__init__()
        head_size = n_embd // n_heads
        # W1 on [q; k] is one matrix on q plus another on k, which spares building the pairs.
        self.W1_q = nn.Linear(head_size, head_size)
        self.W1_k = nn.Linear(head_size, head_size, bias=False)
        self.W2 = nn.Linear(head_size, 1, bias=False)

    def forward(self, Q, K, V, n_heads: int = 1, causal: bool = True) -> Tensor:
        q, k, v = (split_heads(x, n_heads) for x in (Q, K, V))  # (B, nh, T, hs)
        pairs = self.W1_q(q).unsqueeze(-2) + self.W1_k(k).unsqueeze(-3)  # (B, nh, T, T, hs)
        scores = self.W2(pairs.tanh()).squeeze(-1)  # (B, nh, T, T)
        if causal:
            scores = scores.masked_fill(~see_past(Q.shape[1], Q.device), -math.inf)
        return merge_heads(scores.softmax(-1) @ v)


def zero_after_softmax(Q, K, V, n_heads: int = 1, causal: bool = True) -> Tensor:
    """Mask by zeros after the softmax: the future still counts in its denominator."""
    q, k, v = (split_heads(x, n_heads) for x in (Q, K, V))  # (B, nh, T, hs)
    weights = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1)  # (B, nh, T, T)
    if causal:
        weights = weights * see_past(Q.shape[1], Q.device)
    return merge_heads(weights @ v)


class AttentionFree(nn.Module):
    """Attention Free Transformer (full): no products of queries and keys.

    Each channel of V is averaged with weights exp(key + position bias), and the query only
    decides how much of the result comes through.
    """

    def __init__(self, n_embd: int, n_heads: int):
        super().__init__()
        # The (T, T) table of biases as a product of two thin ones, as in the paper.
        self.bias_to = nn.Parameter(torch.randn(MAX_TOKENS, n_embd) * 0.01)
        self.bias_from = nn.Parameter(torch.randn(MAX_TOKENS, n_embd) * 0.01)

    def forward(self, Q, K, V, n_heads: int = 1, causal: bool = True) -> Tensor:
        T = Q.shape[1]
        bias = self.bias_to[:T] @ self.bias_from[:T].T  # (T, T)
        if causal:
            bias = bias.masked_fill(~see_past(T, Q.device), -math.inf)
        # The largest value cancels in the fraction; it only keeps exp from overflowing.
        K = (K - K.amax(1, keepdim=True)).exp()  # (B, T, C)
        bias = (bias - bias.amax(-1, keepdim=True)).exp()  # (T, T)
        return Q.sigmoid() * (bias @ (K * V)) / (bias @ K)


class Fastformer(nn.Module):
    """Fastformer-style additive attention, made causal with running sums.

    One running average of the queries stands for all of them, one of the keys likewise, so that
    the work grows with T and not with its square.
    """

    def __init__(self, n_embd: int, n_heads: int):
        super().__init__()
        head_size = n_embd // n_heads
        self.score_q = nn.Linear(head_size, 1, bias=False)
        self.score_k = nn.Linear(head_size, 1, bias=False)
        self.mix = nn.Linear(head_size, head_size)

    def forward(self, Q, K, V, n_heads: int = 1, causal: bool = True) -> Tensor:
        q, k, v = (split_heads(x, n_heads) for x in (Q, K, V))  # (B, nh, T, hs)
        mixed_k = k * average(q, self.score_q(q), causal)
        mixed_v = v * average(mixed_k, self.score_k(mixed_k), causal)
        return merge_heads(self.mix(mixed_v) + q)


def average(x: Tensor, scores: Tensor, causal: bool) -> Tensor:
    """Average x with weights softmax(scores), over the past only if causal.

    x (B, nh, T, hs), scores (B, nh, T, 1) -> (B, nh, T, hs)
    """
    scores = scores / math.sqrt(x.shape[-1])
    weights = (scores - scores.amax(-2, keepdim=True)).exp()  # (B, nh, T, 1)
    if causal:
        return (weights * x).cumsum(-2) / weights.cumsum(-2)
    return (weights * x).sum(-2, keepdim=True) / weights.sum(-2, keepdim=True)


def no_attention(Q, K, V, n_heads: int = 1, causal: bool = True) -> Tensor:
    """Attention switched off: each token receives its own value and nothing else."""
    return V


# --- Other projections and positions -------------------------------------------------------------


def share_qk(n_embd: int) -> tuple[nn.Module, ...]:
    """One projection for Q and K, another for V."""
    qk = nn.Linear(n_embd, n_embd)
    return qk, qk, nn.Linear(n_embd, n_embd)


def share_qkv(n_embd: int) -> tuple[nn.Module, ...]:
    """One projection for all three."""
    qkv = nn.Linear(n_embd, n_embd)
    return qkv, qkv, qkv


def project_relu(n_embd: int) -> tuple[nn.Module, ...]:
    """A nonlinearity after each projection."""
    return tuple(nn.Sequential(nn.Linear(n_embd, n_embd), nn.ReLU()) for _ in range(3))


def project_networks(n_embd: int) -> tuple[nn.Module, ...]:
    """A small network in place of each projection."""
    return tuple(
        nn.Sequential(nn.Linear(n_embd, n_embd), nn.GELU(), nn.Linear(n_embd, n_embd))
        for _ in range(3)
    )


def sinusoidal(n_tokens: int, n_embd: int) -> Tensor:
    """Sines and cosines of growing wavelength, as large as the embeddings they join.  -> (T, C)

    At their usual amplitude of 1 they drown embeddings that start with a standard deviation of
    0.02, and the comparison says something about sizes instead of positions.
    """
    rates = torch.exp(-math.log(10_000) * torch.arange(0, n_embd, 2) / n_embd)  # (C/2,)
    angles = torch.arange(n_tokens)[:, None] * rates  # (T, C/2)
    waves = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)
    return EMBEDDING_STD * math.sqrt(2) * waves  # a sine's standard deviation is 1 / sqrt(2)


# --- Training them -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Experiment:
    """What takes the place of what; the notebook's model where nothing is named."""

    name: str
    attention: Callable = dot_product
    projections: Callable = init_qkv_proj
    positions: Callable = LearnedPositions


EXPERIMENTS = (
    Experiment("dot product"),
    Experiment("additive", attention=Additive),
    Experiment("zero after softmax", attention=zero_after_softmax),
    Experiment("shared Q, K", projections=share_qk),
    Experiment("shared Q, K, V", projections=share_qkv),
    Experiment("sinusoidal", positions=sinusoidal),
    Experiment("attention free", attention=AttentionFree),
    Experiment("Fastformer", attention=Fastformer),
    Experiment("ReLU projections", projections=project_relu),
    Experiment("network projections", projections=project_networks),
    Experiment("no attention", attention=no_attention),
)


def run_experiment(experiment: Experiment, corpus: Corpus, settings: Settings) -> Run:
    """Train one experiment's model and measure it."""
    model = build_model(experiment, corpus, settings.seed).to(runtime.device())
    history = train(model, corpus, settings)
    return evaluate_run(experiment.name, model, corpus, history)


def compare_longer(corpus: Corpus, settings: Settings) -> dict[str, dict[str, float]]:
    """Train learned and sinusoidal positions on short sentences; measure them on longer ones.

    Returns the loss by band of positions for each, on whole sentences of more than `SHORT` tokens.
    """
    short = keep_short(corpus, SHORT)
    longer = [document for document in corpus.dev if len(document) > SHORT]
    losses = {}
    for name, label in (("dot product", "learned"), ("sinusoidal", "sinusoidal")):
        experiment = next(e for e in EXPERIMENTS if e.name == name)
        model = build_model(experiment, corpus, settings.seed).to(runtime.device())
        train(model, short, settings)
        losses[label] = measure_positions(model, longer)
    return losses


def build_model(experiment: Experiment, corpus: Corpus, seed: int) -> GPT:
    """Return an experiment's model before any training."""
    runtime.set_seed(seed)
    config = GPTConfig(vocab_size=len(corpus.vocabulary))
    return GPT(config, experiment.attention, experiment.projections, experiment.positions)


def measure_cost(experiments: Sequence[Experiment], corpus: Corpus) -> dict[str, float]:
    """Return the processor time of each experiment's training, in microseconds per token.

    On one thread and in turns, on the same batches: unlike wall-clock time it can be compared
    even when the machine was busy with other things.
    """
    settings = Settings()
    batches = make_batches(corpus.train, settings.batch_size, seed=0)[:COST_STEPS]
    batches = [pad_batch([corpus.train[i] for i in batch]) for batch in batches]
    n_tokens = sum(tokens[:, 1:].numel() for tokens in batches)
    models = {e.name: build_model(e, corpus, settings.seed) for e in experiments}
    optimizers = {name: make_optimizer(model, settings) for name, model in models.items()}
    spent = dict.fromkeys(models, 0.0)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    for tokens in batches:
        for name, model in models.items():
            began = time.process_time()
            take_step(model, optimizers[name], tokens, settings.clip)
            spent[name] += time.process_time() - began
    torch.set_num_threads(threads)
    return {name: seconds / n_tokens * 1e6 for name, seconds in spent.items()}


# What an earlier report on the same corpus gives, for one epoch: the name, then its numbers.
REPORTED = {
    "dot product": "train 401.0, dev 380.8, final loss 5.85, 3:35",
    "additive": "train 405.3, dev 386.0, final loss 5.72, 20:29",
    "zero after softmax": "train 200.3, dev 186.5, final loss 5.27, 2:32, junk samples",
    "shared Q, K": "no meaningful difference",
    "shared Q, K, V": "no meaningful difference",
    "sinusoidal": "485.6 (another report)",
}
GROUPS = {
    "Dot-product and additive attention": ("dot product", "additive"),
    "Do we need all three of Q, K and V?": ("dot product", "shared Q, K", "shared Q, K, V"),
    "Zeros after the softmax, or minus infinity before it": ("dot product", "zero after softmax"),
    "Other directions": (
        "dot product",
        "sinusoidal",
        "attention free",
        "Fastformer",
        "ReLU projections",
        "network projections",
        "no attention",
    ),
}


def write_report(
    runs: dict[str, Run], costs: dict[str, float], corpus: Corpus, command: str, earlier: str = ""
) -> str:
    """Return the report in Markdown: a summary, then a table for each question.

    `earlier` is the report as it stands: its rows and sections stay where `runs` has nothing newer.
    """
    rows, sections = read_report(earlier)
    for name, row in rows.items():
        cells = row.split("|")
        cells[6] = f" {costs[name]:.0f} "  # costs are only comparable when measured in turns
        rows[name] = "|".join(cells)
    for name, run in runs.items():
        rows[name] = (
            f"| {name} | {run.train_perplexity:.1f} | {run.dev_perplexity:.1f} "
            f"| {run.history.final_loss:.2f} | {format_time(run.history.seconds)} | {costs[name]:.0f} "
            f"| {describe_leak(run.leak)} | {REPORTED.get(name, '')} |"
        )
    for title, names in GROUPS.items():
        present = [runs[name] for name in names if name in runs]
        gone = [name for name in names if f"Samples, {name}:" in sections.get(title, "")]
        if len(present) > 1 and set(gone) <= set(runs):
            sections[title] = make_table(present).strip()
    missing = [e.name for e in EXPERIMENTS if e.name not in rows]
    lines = [
        "# The suggested experiments, run",
        "",
        f"Made by `{command}`. {corpus.description} GPT-nano, one epoch, seed 0, "
        f"torch {torch.__version__}.",
        "",
        "Perplexity is mean(exp(document loss)), as in the reports that these tables are compared "
        "with. Training perplexity is that of the first 5,000 training sentences. Time is wall "
        "clock and depends on what else the machine did; cost, processor time per token on one "
        "thread with the experiments in turns, is what to compare.",
        "",
        "| experiment | train | dev | final loss | time | cost (µs) | sees the future | reported |",
        "|---|---:|---:|---:|---:|---:|---|---|",
        *(rows[e.name] for e in EXPERIMENTS if e.name in rows),
    ]
    if missing:
        lines += ["", f"Not run yet: {', '.join(missing)}. The same command goes on with them."]
    for title in GROUPS:
        if title in sections:
            lines += ["", f"## {title}", "", sections[title]]
    return "\n".join(lines) + "\n"


def read_report(text: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the summary's row of each experiment, and the text of each section by its title."""
    summary, *rest = text.split("\n## ")
    names = {experiment.name for experiment in EXPERIMENTS}
    rows = {}
    for line in summary.splitlines():
        name = line.strip("|").split("|")[0].strip()
        if line.startswith("|") and name in names:
            rows[name] = line
    sections = (section.partition("\n") for section in rest)
    return rows, {title: body.strip() for title, _, body in sections}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m autograder.experiments.language_model")
    parser.add_argument("--corpus", choices=("real", "own"), default="own")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="run these experiments only")
    arguments = parser.parse_args()
    if arguments.corpus == "real":
        folder = runtime.data_dir()
        if folder is None:
            parser.error("--corpus real needs COURSE_DATA to name the folder with the real files.")
        corpus = load_real(folder)
    else:
        corpus = load_own("as asked for")

    report = Path("docs", "experiments.md" if corpus.name == "lm1b" else "experiments_own.md")
    report.parent.mkdir(exist_ok=True)
    command = f"python -m autograder.experiments.language_model --corpus {arguments.corpus}"
    chosen = [e for e in EXPERIMENTS if not arguments.only or e.name in arguments.only]
    costs = measure_cost(EXPERIMENTS, corpus)
    for experiment in chosen:
        path = Path("runs/experiments", corpus.name, experiment.name + ".json")
        if not path.exists():
            print(experiment.name, flush=True)
            run_experiment(experiment, corpus, Settings()).save(path)
        finished = {e.name: path.with_name(f"{e.name}.json") for e in EXPERIMENTS}
        runs = {name: Run.load(file) for name, file in finished.items() if file.exists()}
        earlier = report.read_text("utf-8") if report.exists() else ""
        replace_file(report, write_report(runs, costs, corpus, command, earlier).encode())
    print(f"Wrote {report}.")


if __name__ == "__main__":
    main()
