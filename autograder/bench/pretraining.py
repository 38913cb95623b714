"""The pretraining loop of the course against a plain one: speed, and that the losses are the same.

    python -m autograder.bench.pretraining [--json]

Plain: texts in any order, all of them padded to the block, every logit made, `F.cross_entropy` that
ignores PAD, AdamW as it comes. The course's loop puts texts of like length together and cuts off
what is PAD in a whole batch. Counted are characters that are to be predicted. On the real texts when
COURSE_DATA names them, on the course's own world otherwise.
"""

from __future__ import annotations

import argparse
import json as json_format
import random
import statistics
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from autograder.exercises.attention_at_work.pretraining import make_namespace
from autograder.exercises.attention_at_work.pretraining_code import ORACLES
from course_utils.pretraining.characters import PAD
from course_utils.pretraining.model import CharacterGPT, make_model
from course_utils.pretraining.plans import PLANS, Plan
from course_utils.pretraining.training import (
    encode_pairs,
    make_batches,
    make_optimizer,
    stack_batch,
    take_step,
)
from course_utils.pretraining.world import World, load_world

ROUNDS = 5
PLAIN_STEPS = 6  # in each round
FAST_STEPS = 20  # more, because they are shorter
EQUAL = 1e-5

Pairs = list[tuple[str, str]]


def draw_pairs(world: World, seed: int = 0) -> Pairs:
    """Corrupt every biography once and return the pairs of strings."""
    functions, rng = make_namespace(*ORACLES.values()), random.Random(seed)
    return [
        functions["make_pair"](
            functions["corrupt_span"](document, world.block_size, rng), world.block_size
        )
        for document in world.biographies
    ]


def plain_loss(model: CharacterGPT, pairs: Pairs) -> Tensor:
    """The loss as it is usually written: the whole block, every logit."""
    x, y = (torch.tensor([model.vocabulary.encode(text) for text in part])
            for part in zip(*pairs, strict=True))  # fmt: skip
    logits = model(x)  # (B, block, vocabulary)
    return F.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index=model.config.pad)


def fast_tables(model: CharacterGPT, world: World, pairs: Pairs) -> tuple[Tensor, Tensor]:
    """The same pairs as the course's loop sees them.  -> x (B, T), y (B, T)"""
    return stack_batch(encode_pairs(pairs, world, "make_pair"), model.config.pad)


def prepare(kind: str, world: World, plan: Plan) -> tuple[Callable, list]:
    """Return a function that takes one step, and the batches that this loop would meet."""
    settings = plan.pretraining
    model = make_model(world, plan.sizes)
    pairs, rng = draw_pairs(world), random.Random(0)
    if kind == "fast":
        optimizer = make_optimizer(model, settings)
        encoded = encode_pairs(pairs, world, "make_pair")

        def step(batch) -> None:
            x, y = stack_batch(batch, model.config.pad)
            take_step(model, optimizer, x, y, settings.clip).item()

        return step, make_batches(encoded, settings.batch_size, rng)
    optimizer = torch.optim.AdamW(model.parameters(), settings.learning_rate, (0.9, 0.95))

    def step(batch) -> None:
        loss = plain_loss(model, batch)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
        optimizer.step()
        loss.item()

    rng.shuffle(pairs)
    size = settings.batch_size
    return step, [pairs[start : start + size] for start in range(0, len(pairs), size)]


def time_steps(step: Callable, batches: list, pad) -> float:
    """Return how many characters were learned from in a second."""
    began = time.perf_counter()
    for batch in batches:
        step(batch)
    seconds = time.perf_counter() - began
    return sum(sum(1 for c in y if c != pad) for batch in batches for _, y in batch) / seconds


def measure_speed(world: World, plan: Plan) -> dict:
    """Time both loops in turns, so that what else the machine does hurts them alike."""
    plain, plain_batches = prepare("plain", world, plan)
    fast, fast_batches = prepare("fast", world, plan)
    time_steps(plain, plain_batches[:1], PAD), time_steps(fast, fast_batches[:2], 0)  # warm up
    speeds = []
    for r in range(ROUNDS):
        some_plain = take_some(plain_batches, r * PLAIN_STEPS, PLAIN_STEPS)
        some_fast = take_some(fast_batches, r * FAST_STEPS, FAST_STEPS)
        speeds.append((time_steps(plain, some_plain, PAD), time_steps(fast, some_fast, 0)))
    return {
        "ratio": statistics.median(fast / plain for plain, fast in speeds),
        "plain_characters_per_second": statistics.median(plain for plain, _ in speeds),
        "fast_characters_per_second": statistics.median(fast for _, fast in speeds),
    }


def take_some(batches: list, start: int, count: int) -> list:
    """Return so many batches from a place on, beginning anew at the end."""
    return [batches[(start + i) % len(batches)] for i in range(count)]


def measure_equality(world: World, plan: Plan) -> dict:
    """Compare losses and gradients on the same pairs, with the same weights."""
    model = make_model(world, plan.sizes)
    pairs = draw_pairs(world, seed=1)
    loss_difference = gradient_difference = 0.0
    for start in range(0, 96, 32):
        some = pairs[start : start + 32]
        results = []
        for loss in (plain_loss(model, some), model.loss(*fast_tables(model, world, some))):
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


def run(json: bool) -> dict:
    """Measure everything; print a table, or with `json` one JSON object."""
    world = load_world()
    plan = PLANS[world.name]["laptop"]
    result = {"bench": "pretraining", **measure_speed(world, plan), **measure_equality(world, plan)}
    result |= {"world": world.name, "threads": torch.get_num_threads()}
    print(json_format.dumps(result) if json else describe(result, world))
    return result


def describe(result: dict, world: World) -> str:
    """Return the results as a small table and a verdict."""
    lines = [
        world.description,
        "",
        f"{'':12}{'characters/s':>14}",
        f"{'plain loop':12}{result['plain_characters_per_second']:>14,.0f}",
        f"{'course':12}{result['fast_characters_per_second']:>14,.0f}",
        "",
        f"{result['ratio']:.1f} times as fast, on {result['threads']} threads.",
        f"On the same texts the losses differ by {result['loss_difference']:.1e} and the gradients "
        f"by {result['gradient_difference']:.1e}: "
        + ("equal." if result["equal"] else "NOT EQUAL."),
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m autograder.bench.pretraining")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    run(parser.parse_args().json)


if __name__ == "__main__":
    main()
