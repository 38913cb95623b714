"""One training loop for a translator: teacher forcing, epoch by epoch, the best epoch kept."""

from __future__ import annotations

import copy
import json
import os
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn
from tqdm.auto import tqdm

from course_utils import runtime
from course_utils.translation.data import Batch, Data, Pair, collate, make_batches
from course_utils.translation.model import Translator

VALIDATION_BATCH = 128


@dataclass(frozen=True)
class Settings:
    """How to train; the course's values unless told otherwise."""

    epochs: int = 10
    n_train: int | None = None  # pairs to train on; None for all
    batch_size: int = 64
    learning_rate: float = 3e-3  # falls in a straight line to nothing at the end
    clip: float = 1.0
    seed: int = 0


# By profile and data. Minutes are for the three trainings of the notebook together, on two cores.
_PROFILES = {
    ("quick", "own"): (Settings(epochs=1, n_train=640), "less than one minute"),
    ("quick", "multi30k"): (Settings(epochs=1, n_train=640), "less than one minute"),
    ("laptop", "own"): (Settings(), "about 3 minutes"),
    ("laptop", "multi30k"): (Settings(epochs=4), "about 20 minutes"),
    ("gpu", "own"): (Settings(), "a few minutes"),
    ("gpu", "multi30k"): (Settings(epochs=8), "a few minutes"),
}


@dataclass
class History:
    """What happened in one training, one record per epoch; saves to a file and loads from it."""

    name: str
    data: str  # which pairs
    settings: dict
    epochs: list[dict] = field(default_factory=list)  # epoch, train, validation, tokens, seconds

    @property
    def train_losses(self) -> list[float]:
        """The mean loss per token while training, by epoch."""
        return [record["train"] for record in self.epochs]

    @property
    def validation_losses(self) -> list[float]:
        """The mean loss per token on the validation pairs, by epoch."""
        return [record["validation"] for record in self.epochs]

    @property
    def best(self) -> dict:
        """The record of the epoch whose weights were kept: the lowest validation loss."""
        return min(self.epochs, key=lambda record: record["validation"])

    @property
    def tokens_per_second(self) -> float:
        """How many tokens the model learned to predict in a second of training."""
        seconds = sum(record["seconds"] for record in self.epochs)
        return sum(record["tokens"] for record in self.epochs) / seconds if seconds else 0.0

    def save(self, path: str | Path) -> None:
        """Write everything to a JSON file."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> History:
        """Read what `save` wrote."""
        return cls(**json.loads(Path(path).read_text(encoding="utf-8")))


class OtherRun(ValueError):
    """The folder holds a training with other settings; the message says which."""


def choose_settings(data: Data) -> Settings:
    """Return the settings of the profile in use, and say how long they take."""
    name = runtime.profile()
    settings, duration = _PROFILES[name, data.name]
    n_train = min(settings.n_train or len(data.train), len(data.train))
    print(
        f"Profile {name!r}: {n_train:,} training pairs, {settings.epochs} epochs; three trainings "
        f"take {duration}."
    )
    return settings


def make_optimizer(model: nn.Module, settings: Settings) -> torch.optim.AdamW:
    """Return AdamW over all weights of the model, those of its attention included."""
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    fused = weights[0].device.type in {"cpu", "cuda"}  # one pass over the weights, not ten
    return torch.optim.AdamW(weights, settings.learning_rate, fused=fused)


def take_step(
    model: Translator, optimizer: torch.optim.Optimizer, batch: Batch, clip: float
) -> Tensor:
    """Learn from one batch; return its mean loss per token.  -> ()"""
    loss = model.mean_loss(batch)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return loss.detach()


@torch.no_grad()
def measure_loss(model: Translator, pairs: list[Pair]) -> float:
    """Return the mean loss per token over all tokens of the pairs; the model keeps its mode."""
    was_training = model.training
    model.eval()
    device = next(model.parameters()).device
    losses = [
        model.token_losses(collate([pairs[i] for i in batch], device))
        for batch in make_batches(pairs, VALIDATION_BATCH)
    ]
    model.train(was_training)
    return torch.cat(losses).mean().item()


def train(
    model: Translator,
    data: Data,
    settings: Settings,
    name: str,
    folder: str | Path | None = None,
) -> History:
    """Train a model in place and return what happened; the best epoch's weights are in it then.

    With a folder, every finished epoch is saved there. Interrupt it (the stop button, or Ctrl-C) and
    run it again: it goes on after the last finished epoch, and ends as if nothing had happened.
    """
    pairs = data.train[: settings.n_train]
    optimizer = make_optimizer(model, settings)
    n_steps = settings.epochs * len(make_batches(pairs, settings.batch_size))
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 1e-3, n_steps)
    run = _Run(model, optimizer, scheduler, History(name, data.name, asdict(settings)))
    checkpoint = Path(folder) / f"{name}.pt" if folder is not None else None
    if checkpoint is not None and checkpoint.exists():
        run.load(checkpoint)

    try:
        for epoch in range(len(run.history.epochs) + 1, settings.epochs + 1):
            began = time.perf_counter()
            loss, n_tokens = _train_epoch(run, pairs, settings, epoch)
            seconds = time.perf_counter() - began
            run.finish_epoch(loss, measure_loss(model, data.validation), n_tokens, seconds)
            if checkpoint is not None:
                run.save(checkpoint)
    except KeyboardInterrupt:
        done = len(run.history.epochs)
        print(f"Stopped after {done} of {settings.epochs} epochs. ", end="")
        print(f"They are saved in {checkpoint}: run it again to go on." if checkpoint else "")
        raise
    model.load_state_dict(run.best_weights)
    model.eval()
    best = run.history.best
    print(
        f"{name}: validation loss {best['validation']:.3f} after epoch {best['epoch']}, whose "
        f"weights are kept; {run.history.tokens_per_second:,.0f} tokens per second."
    )
    return run.history


def _train_epoch(run: _Run, pairs: list[Pair], settings: Settings, epoch: int) -> tuple[float, int]:
    """Go through all pairs once; return the mean loss per token and the number of tokens."""
    # Each epoch has a seed of its own, so that a training can be taken up between any two.
    seed = settings.seed * 1000 + epoch
    torch.manual_seed(seed)
    device = next(run.model.parameters()).device
    bar = tqdm(
        make_batches(pairs, settings.batch_size, seed),
        f"{run.history.name}, epoch {epoch} of {settings.epochs}",
        leave=False,
        disable=runtime.where() == "autograder",
    )
    run.model.train()
    total, n_tokens = 0.0, 0
    for chosen in bar:
        batch = collate([pairs[i] for i in chosen], device)
        loss = take_step(run.model, run.optimizer, batch, settings.clip)
        run.scheduler.step()
        total, n_tokens = total + loss.item() * batch.n_tokens, n_tokens + batch.n_tokens
        bar.set_postfix_str(f"loss {total / n_tokens:.2f}", refresh=False)
    return total / n_tokens, n_tokens


class _Run:
    """A training between two epochs: all there is to know to go on with it."""

    def __init__(self, model, optimizer, scheduler, history: History):
        self.model, self.optimizer, self.scheduler = model, optimizer, scheduler
        self.history = history
        self.best_weights = copy.deepcopy(model.state_dict())

    def finish_epoch(self, train: float, validation: float, tokens: int, seconds: float) -> None:
        """Write an epoch down, and keep its weights when none before was better."""
        self.history.epochs.append(
            {
                "epoch": len(self.history.epochs) + 1,
                "train": train,
                "validation": validation,
                "tokens": tokens,
                "seconds": seconds,
            }
        )
        if self.history.best is self.history.epochs[-1]:
            self.best_weights = copy.deepcopy(self.model.state_dict())

    def save(self, path: Path) -> None:
        """Write everything to a new file, and only then let it take the old one's place."""
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(".fresh")
        state = {
            "history": asdict(self.history),
            "model": self.model.state_dict(),
            "best": self.best_weights,
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
        }
        torch.save(state, fresh)
        os.replace(fresh, path)

    def load(self, path: Path) -> None:
        """Take up a saved training, or say why that is impossible."""
        try:
            state = torch.load(path, map_location="cpu", weights_only=True)
        except Exception as error:  # zip, pickle and system each complain in their own way
            raise OtherRun(
                f"{path} cannot be read ({type(error).__name__}). Delete it to start over."
            ) from error
        saved = History(**state["history"])
        if (saved.settings, saved.data) != (self.history.settings, self.history.data):
            raise OtherRun(
                f"{path} holds a training with other settings or other data. Delete it, or give "
                "another folder, to start over."
            )
        try:
            self.model.load_state_dict(state["model"])
        except RuntimeError as error:
            raise OtherRun(
                f"{path} holds a model of another kind: its weights do not fit. Delete it, or give "
                "another folder, to start over."
            ) from error
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.best_weights, self.history = state["best"], saved
        print(f"{self.history.name}: going on after epoch {len(saved.epochs)}, saved in {path}.")
