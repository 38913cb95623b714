"""The course's translation loop against a plain one: speed, and that they do the same.

    python -m autograder.bench.translation [--json]

Plain: sentences as they come, every batch padded to its longest, the decoder step by step with the
whole vocabulary's logits and loss at each step, AdamW as it comes. Only real tokens are counted. On
Multi30k when COURSE_DATA names it, on the course's own pairs otherwise.
"""

from __future__ import annotations

import argparse
import json as json_format
import statistics
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from autograder.experiments.translation import make_attentions
from course_utils import runtime
from course_utils.language_model.corpus import PAD
from course_utils.translation.data import (
    Batch,
    Data,
    Pair,
    collate,
    load_data,
    load_own,
    make_batches,
)
from course_utils.translation.model import Translator
from course_utils.translation.training import Settings, make_optimizer, take_step

ROUNDS = 5
STEPS = 8  # a round
EQUAL = 1e-4  # relative


def plain_loss(model: Translator, batch: Batch) -> Tensor:
    """Return the summed loss as it is usually written: one step, one set of logits, one loss at a time."""
    outputs, hidden = model.encode(batch.source, batch.mask)
    total = outputs.new_zeros(())
    for t in range(batch.target.shape[1] - 1):
        logits, hidden, _ = model.step(batch.target[:, t], hidden, outputs, batch.mask)
        following = batch.target[:, t + 1]
        total = total + F.cross_entropy(logits, following, ignore_index=PAD, reduction="sum")
    return total


def step_plain(model: Translator, optimizer: torch.optim.Optimizer, batch: Batch) -> None:
    loss = plain_loss(model, batch) / batch.n_tokens
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), Settings().clip)
    optimizer.step()
    loss.item()


def step_fast(model: Translator, optimizer: torch.optim.Optimizer, batch: Batch) -> None:
    take_step(model, optimizer, batch, Settings().clip).item()


def build_model(data: Data, dropout: float = 0.1) -> Translator:
    runtime.set_seed(0)
    attention = make_attentions()["scaled dot product"]()
    return Translator(len(data.german), len(data.english), attention, dropout=dropout)


def prepare(kind: str, data: Data) -> tuple[Callable, list[list[Pair]]]:
    """Return a function that takes one step, and the batches that this loop would meet."""
    settings = Settings()
    model = build_model(data)
    if kind == "plain":
        optimizer = torch.optim.AdamW(model.parameters(), settings.learning_rate)
        order = torch.randperm(len(data.train)).tolist()
        size = settings.batch_size
        chosen = [order[start : start + size] for start in range(0, len(order), size)]
        step = step_plain
    else:
        optimizer = make_optimizer(model, settings)
        chosen = make_batches(data.train, settings.batch_size, seed=0)
        step = step_fast
    batches = [[data.train[i] for i in batch] for batch in chosen[: ROUNDS * STEPS]]
    return lambda pairs: step(model, optimizer, collate(pairs)), batches


def time_steps(step: Callable, batches: list[list[Pair]]) -> float:
    """Return real tokens per second."""
    began = time.perf_counter()
    for pairs in batches:
        step(pairs)
    n_tokens = sum(len(target) - 1 for pairs in batches for _, target in pairs)
    return n_tokens / (time.perf_counter() - began)


def measure_speed(data: Data) -> dict:
    """Time both loops in turns, so that what else the machine does hurts them alike."""
    plain, plain_batches = prepare("plain", data)
    fast, fast_batches = prepare("fast", data)
    time_steps(plain, plain_batches[:2]), time_steps(fast, fast_batches[:2])  # warm up
    speeds = [
        (
            time_steps(plain, plain_batches[start : start + STEPS]),
            time_steps(fast, fast_batches[start : start + STEPS]),
        )
        for start in range(0, ROUNDS * STEPS, STEPS)
    ]
    return {
        "ratio": statistics.median(fast / plain for plain, fast in speeds),
        "plain_tokens_per_second": statistics.median(plain for plain, _ in speeds),
        "fast_tokens_per_second": statistics.median(fast for _, fast in speeds),
    }


def measure_equality(data: Data, n_pairs: int = 192) -> dict:
    """Compare summed losses and gradients on the same sentences, with the same weights.

    The plain loop takes the sentences in batches as they come, the course's in batches of like length.
    """
    model = build_model(data, dropout=0.0).double()
    pairs = data.train[:n_pairs]
    weights = list(model.parameters())
    loops = {
        "plain": (plain_loss, [pairs[start : start + 64] for start in range(0, len(pairs), 64)]),
        "fast": (
            lambda model, batch: model.mean_loss(batch) * batch.n_tokens,
            [[pairs[i] for i in batch] for batch in make_batches(pairs, 64, seed=1)],
        ),
    }
    totals, gradients = {}, {}
    for name, (loss, batches) in loops.items():
        model.zero_grad()
        totals[name] = 0.0
        for batch in batches:
            found = loss(model, collate(batch))
            found.backward()
            totals[name] += found.item()
        gradients[name] = [weight.grad.clone() for weight in weights]
    loss_difference = abs(totals["plain"] - totals["fast"]) / totals["plain"]
    # A bias of the keys moves all scores alike, so that its gradient is 0 but for rounding.
    whole = torch.cat([gradient.flatten() for gradient in gradients["plain"]]).norm()
    gradient_difference = max(
        ((one - other).norm() / one.norm().clamp(min=1e-6 * whole)).item()
        for one, other in zip(gradients["plain"], gradients["fast"], strict=True)
    )
    return {
        "equal": loss_difference < EQUAL and gradient_difference < EQUAL,
        "loss_difference": loss_difference,
        "gradient_difference": gradient_difference,
    }


def load_bench_data() -> Data:
    """Return Multi30k where COURSE_DATA names it, the course's own pairs otherwise."""
    folder = runtime.data_dir()
    if folder is not None and (folder / "multi30k").is_dir():
        return load_data()
    return load_own("because COURSE_DATA names no real ones")


def run(json: bool) -> dict:
    """Measure everything; print a table, or with `json` one JSON object."""
    data = load_bench_data()
    result = {"bench": "translation", **measure_speed(data), **measure_equality(data)}
    result |= {"data": data.name, "threads": torch.get_num_threads()}
    print(json_format.dumps(result) if json else describe(result, data))
    return result


def describe(result: dict, data: Data) -> str:
    """Return the results as a small table and a verdict."""
    lines = [
        data.description,
        "",
        f"{'':12}{'tokens/s':>12}",
        f"{'plain loop':12}{result['plain_tokens_per_second']:>12,.0f}",
        f"{'course':12}{result['fast_tokens_per_second']:>12,.0f}",
        "",
        f"{result['ratio']:.1f} times as fast, on {result['threads']} threads.",
        f"On the same sentences the summed losses differ by {result['loss_difference']:.1e} and the "
        f"gradients by {result['gradient_difference']:.1e}, relative: "
        + ("equal." if result["equal"] else "NOT EQUAL."),
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m autograder.bench.translation")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    run(parser.parse_args().json)


if __name__ == "__main__":
    main()
