"""Pretraining and finetuning: one loop, two sources of pairs, and a file to go on from.

Pairs of one batch have about the same length, and what is PAD to the end of a whole batch is cut
off before the model sees it. PAD counts in no loss and no character looks ahead, so the losses stay
what they are; only the work gets less.
"""

from __future__ import annotations

import math
import os
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from tqdm.auto import tqdm

from course_utils import runtime
from course_utils.history import History
from course_utils.pretraining.characters import PAD
from course_utils.pretraining.model import CharacterGPT
from course_utils.pretraining.world import World

Pair = tuple[list[int], list[int]]  # what the model reads, and what it should say at each place
_SAVE_SECONDS = 15  # between two saves: what a lost session can cost


class OtherTraining(ValueError):
    """A saved training does not belong to this one; the message says what to do."""


class BadPair(ValueError):
    """What a learner's function returned cannot be trained on; the message says why."""


@dataclass(frozen=True)
class Settings:
    """How to train in one of the two stages."""

    epochs: int
    learning_rate: float
    batch_size: int = 32
    weight_decay: float = 0.01
    beta_1: float = 0.9
    beta_2: float = 0.95
    clip: float = 1.0
    warm_up: float = 0.05  # share of all steps in which the learning rate rises
    final_rate: float = 0.1  # share of the learning rate that is left at the end
    seed: int = 1


def pretrain(
    model: CharacterGPT,
    world: World,
    corrupt_span: Callable,
    make_pair: Callable,
    settings: Settings,
    folder: str | Path | None = None,
) -> History:
    """Learn from the world's biographies, each corrupted anew in every epoch.

    With a folder, the training is saved there now and then, and goes on from there when it is
    started again.
    """  # fmt: skip

    def make_epoch(rng: random.Random) -> list[Pair]:
        texts = [corrupt_span(document, world.block_size, rng) for document in world.biographies]
        pairs = [make_pair(text, world.block_size) for text in texts]
        return encode_pairs(pairs, world, "make_pair")

    return _train(model, make_epoch, settings, "pretraining", world.name, folder)


def finetune(
    model: CharacterGPT,
    world: World,
    make_question: Callable,
    settings: Settings,
    folder: str | Path | None = None,
) -> History:
    """Learn to answer from the questions of `world.train`."""  # fmt: skip
    pairs = [make_question(q.text, q.place, world.block_size) for q in world.train]
    encoded = encode_pairs(pairs, world, "make_question")
    return _train(model, lambda rng: list(encoded), settings, "finetuning", world.name, folder)


def encode_pairs(pairs: Sequence, world: World, maker: str) -> list[Pair]:
    """Turn pairs of strings into numbers, up to the last character that is to be predicted."""
    encoded = []
    for pair in pairs:
        _check_pair(pair, world.block_size, maker)
        x, y = pair
        length = len(y.rstrip(PAD))
        encoded.append((world.vocabulary.encode(x[:length]), world.vocabulary.encode(y[:length])))
    return encoded


def _check_pair(pair, block_size: int, maker: str) -> None:
    if not (isinstance(pair, tuple | list) and len(pair) == 2):
        raise BadPair(f"{maker} should return two strings, x and y; it returned {pair!r:.60}.")
    if not all(isinstance(text, str) and len(text) == block_size for text in pair):
        raise BadPair(
            f"{maker} should return two strings of {block_size} characters: see its check."
        )
    if not pair[1].strip(PAD):
        raise BadPair(
            f"{maker} returned a y of nothing but PAD, from which there is nothing to learn."
        )


def make_batches(pairs: Sequence[Pair], batch_size: int, rng: random.Random) -> list[list[Pair]]:
    """Shuffle, then put pairs of like length together; the batches come in random order."""
    order = list(pairs)
    rng.shuffle(order)
    order.sort(key=lambda pair: len(pair[0]) // 4)  # lengths that differ by less count as equal
    batches = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
    rng.shuffle(batches)
    return batches


def stack_batch(batch: Sequence[Pair], pad: int) -> tuple[Tensor, Tensor]:
    """Put pairs into two tables, filled up on the right.  -> x (B, T), y (B, T)"""
    longest = max(len(x) for x, _ in batch)
    return tuple(
        torch.tensor([[*part, *[pad] * (longest - len(part))] for part in parts])
        for parts in zip(*batch, strict=True)
    )


def make_optimizer(model: nn.Module, settings: Settings) -> torch.optim.AdamW:
    """Return AdamW; weight decay pulls on matrices and leaves biases and norms alone."""
    weights = [p for p in model.parameters() if p.requires_grad]
    return torch.optim.AdamW(
        [
            {
                "params": [p for p in weights if p.dim() >= 2],
                "weight_decay": settings.weight_decay,
            },
            {"params": [p for p in weights if p.dim() < 2], "weight_decay": 0.0},
        ],
        lr=settings.learning_rate,
        betas=(settings.beta_1, settings.beta_2),
        fused=weights[0].device.type in {"cpu", "cuda"},
    )


def find_rate(done: float, settings: Settings) -> float:
    """Return the learning rate after a share of the training: up in a line, down in a cosine."""
    if done < settings.warm_up:
        return settings.learning_rate * done / settings.warm_up
    falling = (done - settings.warm_up) / (1 - settings.warm_up)
    height = (1 + math.cos(math.pi * falling)) / 2
    return settings.learning_rate * (settings.final_rate + (1 - settings.final_rate) * height)


def take_step(model: CharacterGPT, optimizer, x: Tensor, y: Tensor, clip: float) -> Tensor:
    """Learn from one batch and return its loss.  x, y (B, T) -> ()"""
    loss = model.loss(x, y)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return loss.detach()


def _train(model, make_epoch, settings: Settings, stage: str, world_name: str, folder) -> History:
    """Train a model in place, epoch by epoch; return the mean loss of each epoch."""
    device = next(model.parameters()).device
    optimizer = make_optimizer(model, settings)
    history = History(settings=asdict(settings), corpus=f"{world_name}, {stage}")
    saved = _SavedTraining(folder, settings, stage, model) if folder is not None else None
    if saved:
        saved.load(model, optimizer, history)
    progress = tqdm(
        total=settings.epochs,
        initial=len(history.losses),
        desc=stage,
        unit="epoch",
        disable=runtime.where() == "autograder",
    )
    last_save = time.perf_counter()
    try:
        while len(history.losses) < settings.epochs:
            epoch = len(history.losses)
            began, busy = time.perf_counter(), time.process_time()
            # A new rng for every epoch: going on later gives what going on at once would give.
            rng = random.Random(f"{settings.seed} {stage} {epoch}")
            batches = make_batches(make_epoch(rng), settings.batch_size, rng)
            model.train()
            total = count = 0.0
            for step, batch in enumerate(batches):
                done = (epoch + step / len(batches)) / settings.epochs
                for group in optimizer.param_groups:
                    group["lr"] = find_rate(done, settings)
                x, y = (table.to(device) for table in stack_batch(batch, model.config.pad))
                n = int((y != model.config.pad).sum())
                total += take_step(model, optimizer, x, y, settings.clip).item() * n
                count += n
            history.losses.append(total / count)
            history.tokens.append(int(count))
            history.seconds += time.perf_counter() - began
            history.processor_seconds += time.process_time() - busy
            progress.update()
            progress.set_postfix_str(f"loss {history.losses[-1]:.3f}", refresh=False)
            over = len(history.losses) == settings.epochs
            if saved and (over or time.perf_counter() - last_save > _SAVE_SECONDS):
                saved.store(model, optimizer, history)
                last_save = time.perf_counter()
    except KeyboardInterrupt:
        history.interrupted = True
        print(f"Interrupted in epoch {len(history.losses) + 1} of {settings.epochs}; the model keeps "
              "what it learned." + (" Run the cell that makes it again to go on." if saved else ""))  # fmt: skip
    finally:
        progress.close()
        model.eval()
    return history


class _SavedTraining:
    """One file with all it takes to go on with a training."""

    def __init__(self, folder: str | Path, settings: Settings, stage: str, model: nn.Module):
        self.path = Path(folder) / f"{stage}.pt"
        weights = sum(p.numel() for p in model.parameters())
        self.run = {**asdict(settings), "stage": stage, "weights": weights}

    def store(self, model, optimizer, history: History) -> None:
        """Write a new file, and only then let it take the old one's place."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.path.with_suffix(".fresh")
        torch.save(
            {
                "run": self.run,
                "history": asdict(history),
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
            },
            fresh,
        )
        os.replace(fresh, self.path)

    def load(self, model, optimizer, history: History) -> None:
        """Put everything back as it was, where there is something."""
        if not self.path.exists():
            return
        try:
            state = torch.load(self.path, map_location="cpu", weights_only=True)
            saved_run = state["run"]
        except Exception as error:  # zip, pickle and system each complain in their own way
            raise OtherTraining(
                f"{self.path} cannot be read ({type(error).__name__}). Delete it to start over."
            ) from error
        if saved_run != self.run:
            raise OtherTraining(
                f"{self.path} holds a training with other settings. Name another folder, or delete "
                "that file to start over."
            )
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        vars(history).update(state["history"], interrupted=False)
        print(f"Going on after epoch {len(history.losses)}, saved in {self.path}. "
              "If you changed a function since then, delete that file first.")  # fmt: skip
