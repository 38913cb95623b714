"""Training that survives a lost session: after every epoch all there is to know is on disk."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from course_utils.checks.values import require

Main = Callable[..., list[dict]]  # main(model, dataloaders, optimizer, num_epochs, checkpoint_dir)


class SavingFailed(OSError):
    """A checkpoint could not be written; the message says what is safe and how to go on."""


class OtherRun(ValueError):
    """The folder holds a run with other settings; the message says which."""


def train_resumably(main: Main, model, dataloaders, optimizer, num_epochs, checkpoint_dir):
    """Run your `main` epoch by epoch, each one saved; go on after the last one saved, if any.

    Takes what `main` takes, and returns the history that `main` would return. The best epoch's
    model ends up in `checkpoint_dir`; what is needed to go on lies in `checkpoint_dir/resume`.
    """
    require(dataloaders=dataloaders)
    folder = Path(checkpoint_dir)
    saved = _Saved(folder / "resume")
    run = _describe_run(model, dataloaders, optimizer)
    history = saved.load(run, model, optimizer, dataloaders)
    if len(history) >= num_epochs:
        print(f"All {num_epochs} epochs are already there, so nothing was trained. To start over (after "
              f"correcting your code, say), delete {folder}.")  # fmt: skip
    elif history:
        print(f"Going on after epoch {len(history)}, saved in {saved.folder}.")
    elif not saved.latest.exists():
        saved.store(run, model, optimizer, dataloaders, history)  # an interrupt may come early

    while len(history) < num_epochs:
        epoch = len(history) + 1
        print(f"Epoch {epoch} of {num_epochs}:")  # `main` counts from 1 each time it is called
        attempt = folder / "resume" / "attempt"
        shutil.rmtree(attempt, ignore_errors=True)
        try:
            history.append(
                {**_run_one_epoch(main, model, dataloaders, optimizer, attempt), "epoch": epoch}
            )
            if _leads(history):
                _move_contents(attempt, folder)
            saved.store(run, model, optimizer, dataloaders, history)
        except KeyboardInterrupt:
            print(f"Stopped in epoch {epoch}. {saved.advise(epoch - 1)}")
            raise
        except Exception as error:
            if not _is_about_space(error):
                raise
            raise SavingFailed(
                f"The disk is full: epoch {epoch} could not be saved. "
                f"{saved.advise(epoch - 1, 'Make room, then run')}"
            ) from error
        finally:
            shutil.rmtree(attempt, ignore_errors=True)
    return history


class _Saved:
    """The newest saved state and the one before it, in case the newest turns out broken."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.latest, self.previous = folder / "latest.pt", folder / "previous.pt"

    def advise(self, epochs: int, how: str = "Run") -> str:
        safe = f"Epochs 1 to {epochs} are safe" if epochs > 1 else f"Epoch {epochs} is safe"
        safe = safe if epochs else "Nothing was finished yet, and nothing is lost"
        return f"{safe}. {how} the same cell again: it goes on with epoch {epochs + 1}."

    def store(self, run, model, optimizer, dataloaders, history) -> None:
        """Write everything to a new file, and only then let it take the old one's place."""
        self.folder.mkdir(parents=True, exist_ok=True)
        state = {
            "run": run,
            "history": history,
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "random": _get_random_state(dataloaders),
        }
        fresh = self.folder / "fresh.pt"
        try:
            with open(fresh, "wb") as file:
                torch.save(state, file)
                file.flush()
                os.fsync(file.fileno())  # a session can be lost right after the rename
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise
        if self.latest.exists():
            os.replace(self.latest, self.previous)
        os.replace(fresh, self.latest)

    def load(self, run, model, optimizer, dataloaders) -> list[dict]:
        """Put model, optimizer and randomness back as they were; return the history."""
        for path in (self.latest, self.previous):
            if not path.exists():
                continue
            try:
                state = torch.load(path, map_location="cpu", weights_only=True)
            except Exception as error:  # zip, pickle and system each complain in their own way
                print(f"{path} is not whole ({type(error).__name__}); looking for the one before.")
                continue
            _compare_runs(state["run"], run, self.folder.parent)
            model.load_state_dict(state["model"])
            optimizer.load_state_dict(state["optimizer"])
            _set_random_state(state["random"], dataloaders)
            return state["history"]
        if self.latest.exists():
            raise SavingFailed(
                f"No saved state in {self.folder} can be read. To start over, delete "
                f"{self.folder.parent}."
            )
        return []


def _run_one_epoch(main: Main, model, dataloaders, optimizer, folder: Path) -> dict:
    """Let `main` train for one epoch into an empty folder; return what it recorded."""
    history = main(model, dataloaders, optimizer, 1, folder)
    if not isinstance(history, list) or len(history) != 1:
        raise TypeError(
            "Asked for one epoch, main should return a history of one epoch: a list with one "
            f'{{"epoch", "train", "validation"}}. It returned {history!r}.'
        )
    if not folder.is_dir():
        raise FileNotFoundError("main saved no model in the checkpoint_dir that it was given.")
    return history[0]


def _move_contents(source: Path, target: Path) -> None:
    """Move files and folders one by one over those of the same name."""
    for path in source.iterdir():
        if path.is_dir():
            shutil.rmtree(target / path.name, ignore_errors=True)
        os.replace(path, target / path.name)


def _leads(history: list[dict]) -> bool:
    """Say whether the newest epoch beats every one before it."""
    *earlier, newest = (record["validation"]["accuracy"] for record in history)
    return all(newest > other for other in earlier)


def _is_about_space(error: BaseException) -> bool:
    """Recognise a full disk; not every library raises OSError for it."""
    while error is not None:
        if "No space left" in str(error) or "disk full" in str(error).lower():
            return True
        error = error.__cause__ or error.__context__
    return False


def _describe_run(model, dataloaders, optimizer) -> dict:
    """Collect what must agree for a saved state to belong to this run."""
    return {
        "model": f"{type(model).__name__}, {sum(p.numel() for p in model.parameters()):,} parameters",
        "optimizer": type(optimizer).__name__,
        "learning rate": [
            group["initial_lr" if "initial_lr" in group else "lr"]
            for group in optimizer.param_groups
        ],
        "batch size": dataloaders["train"].batch_size,
        "training examples": len(dataloaders["train"].dataset),
    }


def _compare_runs(saved: dict, wanted: dict, folder: Path) -> None:
    for name, value in wanted.items():
        if saved[name] != value:
            raise OtherRun(
                f"{folder} holds a run with another {name}: {saved[name]}, where this one has "
                f"{value}. Give another checkpoint_dir, or delete {folder} to start over."
            )


def _get_random_state(dataloaders) -> dict:
    name, keys, *rest = np.random.get_state()
    generator = dataloaders["train"].generator
    return {
        "python": random.getstate(),
        "numpy": (name, torch.from_numpy(keys.astype(np.int64)), *rest),
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        "loader": None if generator is None else generator.get_state(),
    }


def _set_random_state(state: dict, dataloaders) -> None:
    name, keys, *rest = state["numpy"]
    random.setstate(state["python"])
    np.random.set_state((name, keys.numpy().astype(np.uint32), *rest))
    torch.set_rng_state(state["torch"])
    if torch.cuda.is_available() and state["cuda"]:
        torch.cuda.set_rng_state_all(state["cuda"])
    if state["loader"] is not None and dataloaders["train"].generator is not None:
        dataloaders["train"].generator.set_state(state["loader"])
