"""The course's training loop against a plain one: speed, memory, and that they do the same.

    python -m autograder.bench.training [--json]

Plain: sentences as they come, padded to 99 tokens, all logits at once, `F.cross_entropy`, AdamW as
it comes. Only real tokens are counted. On the real corpus when COURSE_DATA names it, on the
course's own otherwise.
"""

from __future__ import annotations

import argparse
import json as json_format
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from autograder.experiments.language_model import dot_product, init_qkv_proj
from course_utils import runtime
from course_utils.language_model.corpus import (
    MAX_TOKENS,
    PAD,
    Corpus,
    load_own,
    load_real,
    make_batches,
    pad_batch,
)
from course_utils.language_model.gpt import GPT, GPTConfig
from course_utils.language_model.training import Settings, make_optimizer, take_step

ROUNDS = 5
PLAIN_STEPS = 3  # a round
FAST_STEPS = 30  # more, because they are shorter
EQUAL = 1e-5

Documents = list[list[int]]


def plain_loss(model: GPT, documents: Documents) -> Tensor:
    """The loss as it is usually written: everything padded, every logit made."""
    tokens = pad_batch(documents, MAX_TOKENS)  # (B, 100)
    logits = model(tokens[:, :-1])  # (B, 99, vocab_size)
    return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=PAD)


def step_plain(model: GPT, optimizer: torch.optim.Optimizer, documents: Documents) -> None:
    loss = plain_loss(model, documents)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), Settings().clip)
    optimizer.step()
    loss.item()


def step_fast(model: GPT, optimizer: torch.optim.Optimizer, documents: Documents) -> None:
    take_step(model, optimizer, pad_batch(documents), Settings().clip).item()


def prepare(kind: str, corpus: Corpus) -> tuple[Callable, list[Documents]]:
    """Return a function that takes one step, and the batches that this loop would meet."""
    settings = Settings()
    runtime.set_seed(0)
    model = GPT(GPTConfig(len(corpus.vocabulary)), dot_product, init_qkv_proj)
    if kind == "plain":
        optimizer = torch.optim.AdamW(
            model.parameters(), settings.learning_rate, (0.9, 0.95), weight_decay=0.1
        )
        chosen = torch.randperm(len(corpus.train)).split(settings.batch_size)
        step = step_plain
    else:
        optimizer = make_optimizer(model, settings)
        chosen = make_batches(corpus.train, settings.batch_size, seed=0)
        step = step_fast
    batches = [[corpus.train[i] for i in batch] for batch in chosen[: ROUNDS * FAST_STEPS]]
    return lambda documents: step(model, optimizer, documents), batches


def time_steps(step: Callable, batches: list[Documents]) -> float:
    """Return real tokens a second."""
    began = time.perf_counter()
    for documents in batches:
        step(documents)
    return sum(len(d) - 1 for b in batches for d in b) / (time.perf_counter() - began)


def measure_speed(corpus: Corpus) -> dict:
    """Time both loops in turns, so that what else the machine does hurts them alike."""
    plain, plain_batches = prepare("plain", corpus)
    fast, fast_batches = prepare("fast", corpus)
    time_steps(plain, plain_batches[:1]), time_steps(fast, fast_batches[:3])  # warm up
    speeds = []
    for r in range(ROUNDS):
        speeds.append(
            (
                time_steps(plain, plain_batches[r * PLAIN_STEPS : (r + 1) * PLAIN_STEPS]),
                time_steps(fast, fast_batches[r * FAST_STEPS : (r + 1) * FAST_STEPS]),
            )
        )
    return {
        "ratio": statistics.median(fast / plain for plain, fast in speeds),
        "plain_tokens_per_second": statistics.median(plain for plain, _ in speeds),
        "fast_tokens_per_second": statistics.median(fast for _, fast in speeds),
    }


def measure_equality(corpus: Corpus) -> dict:
    """Compare losses and gradients on the same batches, with the same weights."""
    runtime.set_seed(0)
    model = GPT(GPTConfig(len(corpus.vocabulary)), dot_product, init_qkv_proj)
    loss_difference = gradient_difference = 0.0
    for start in range(0, 96, 32):
        documents = corpus.train[start : start + 32]  # of different lengths: padding counts too
        results = []
        for loss in (plain_loss(model, documents), model.loss(pad_batch(documents))):
            results.append((loss, torch.autograd.grad(loss, list(model.parameters()))))
        (plain, plain_grads), (fast, fast_grads) = results
        loss_difference = max(loss_difference, (plain - fast).abs().item())
        for a, b in zip(plain_grads, fast_grads, strict=True):
            gradient_difference = max(gradient_difference, (a - b).abs().max().item())
    return {
        "equal": loss_difference < EQUAL and gradient_difference < EQUAL,
        "loss_difference": loss_difference,
        "gradient_difference": gradient_difference,
    }


def measure_peak(kind: str) -> float:
    """Return the peak memory, in MB, of a process of its own that trains for a few steps."""
    command = [sys.executable, "-m", "autograder.bench.training", "--peak", kind]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(done.stdout)


def print_peak(kind: str) -> None:
    """Train for a few steps and print this process's peak memory in MB."""
    step, batches = prepare(kind, load_bench_corpus())
    longest = sorted(batches, key=lambda b: -sum(map(len, b)))[:PLAIN_STEPS]
    for documents in longest:
        step(documents)
    print(read_peak())


def read_peak() -> float:
    """Return this process's peak memory in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # on Linux getrusage would count the parent's memory before exec, too
        line = next(row for row in status.read_text().splitlines() if row.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    import resource  # not on every system

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2  # macOS counts in bytes


def load_bench_corpus() -> Corpus:
    """Return the real corpus where COURSE_DATA names it, the course's own otherwise."""
    folder = runtime.data_dir()
    if folder is not None and (folder / "lm1b").is_dir():
        return load_real(folder)
    return load_own("because COURSE_DATA names no real one")


def run(json: bool) -> dict:
    """Measure everything; print a table, or with `json` one JSON object."""
    corpus = load_bench_corpus()
    result = {"bench": "training", **measure_speed(corpus), **measure_equality(corpus)}
    result["plain_peak_mb"] = measure_peak("plain")
    result["fast_peak_mb"] = measure_peak("fast")
    result["memory_ratio"] = result["fast_peak_mb"] / result["plain_peak_mb"]
    result["corpus"] = corpus.name
    result["threads"] = torch.get_num_threads()
    if json:
        print(json_format.dumps(result))
    else:
        print(describe(result, corpus))
    return result


def describe(result: dict, corpus: Corpus) -> str:
    """Return the results as a small table and a verdict."""
    lines = [
        corpus.description,
        "",
        f"{'':12}{'tokens/s':>12}{'peak MB':>12}",
        f"{'plain loop':12}{result['plain_tokens_per_second']:>12,.0f}{result['plain_peak_mb']:>12,.0f}",
        f"{'course':12}{result['fast_tokens_per_second']:>12,.0f}{result['fast_peak_mb']:>12,.0f}",
        "",
        f"{result['ratio']:.1f} times as fast with {result['memory_ratio']:.0%} of the memory, "
        f"on {result['threads']} threads.",
        f"On the same batches the losses differ by {result['loss_difference']:.1e} and the "
        f"gradients by {result['gradient_difference']:.1e}: "
        + ("equal." if result["equal"] else "NOT EQUAL."),
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m autograder.bench.training")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--peak", choices=("plain", "fast"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peak:
        print_peak(arguments.peak)
    else:
        run(arguments.json)


if __name__ == "__main__":
    main()
