"""Around your own training functions: less padding, half the precision, many runs in one table."""

from __future__ import annotations

import copy
import html
import json
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch.utils.data import DataLoader, RandomSampler, Sampler

from course_utils import runtime
from course_utils.checks.values import require
from course_utils.sentiment.resuming import Main
from course_utils.sentiment.sources import Settings
from course_utils.words import say

# ------------------------------------------------------------------ batches of like length


class LikeLengthBatches(Sampler):
    """Draws batches whose examples are about equally long, in a new random order every pass.

    Ties are broken at random, so that batches differ from pass to pass.
    """

    def __init__(self, lengths: Sequence[int], batch_size: int):
        self.lengths, self.batch_size = torch.as_tensor(lengths), batch_size

    def __len__(self) -> int:
        return -(-len(self.lengths) // self.batch_size)

    def __iter__(self) -> Iterator[list[int]]:
        mixed = torch.randperm(len(self.lengths))
        order = mixed[self.lengths[mixed].argsort(stable=True)]
        batches = order.split(self.batch_size)
        for index in torch.randperm(len(batches)).tolist():
            yield batches[index].tolist()


def make_like_length_dataloaders(datasets: dict, batch_size: int) -> dict[str, DataLoader]:
    """Return a DataLoader per dataset that pads little, with the dataset's own `collate_fn`."""
    loaders = {}
    for split, dataset in datasets.items():
        batches = LikeLengthBatches(count_tokens(dataset), batch_size)
        loaders[split] = DataLoader(dataset, batch_sampler=batches, collate_fn=dataset.collate_fn)
    return loaders


def count_tokens(dataset) -> list[int]:
    """Return how many tokens each example has, the special ones included."""
    texts = [example.text for example in dataset.sample_list]
    encoded = dataset.tokenizer(texts, truncation=True, max_length=512)
    return [len(ids) for ids in encoded["input_ids"]]


def measure_padding(dataloader) -> float:
    """Return the share of a dataloader's tokens that are padding, between 0 and 1."""
    masks = [batch["text_encoding"]["attention_mask"] for batch in dataloader]
    return 1 - sum(int(mask.sum()) for mask in masks) / sum(mask.numel() for mask in masks)


# --------------------------------------------------------------------------- many runs


class Runs(list):
    """Finished runs as a table; each is a dict, `best` the one with the best validation accuracy."""

    COLUMNS = (
        ("batch size", "batch_size", "d"),
        ("learning rate", "learning_rate", "g"),
        ("epochs", "num_epochs", "d"),
        ("best epoch", "best_epoch", "d"),
        ("training accuracy", "train_accuracy", ".3f"),
        ("validation accuracy", "validation_accuracy", ".3f"),
        ("seconds", "seconds", ".0f"),
    )

    @property
    def best(self) -> dict:
        return max(self, key=lambda run: run["validation_accuracy"])

    def _rows(self) -> list[list[str]]:
        return [[format(run[key], form) for _, key, form in self.COLUMNS] for run in self]

    def __repr__(self) -> str:
        titles = [title for title, _, _ in self.COLUMNS]
        marks = ["*" if run is self.best else " " for run in self]
        lines = ["  " + "  ".join(titles)]
        for mark, row in zip(marks, self._rows(), strict=True):
            cells = (cell.rjust(len(title)) for cell, title in zip(row, titles, strict=True))
            lines.append(f"{mark} " + "  ".join(cells))
        return "\n".join([*lines, "* best on the validation split"] if self else lines)

    def _repr_html_(self) -> str:
        titles = "".join(f"<th>{html.escape(title)}</th>" for title, _, _ in self.COLUMNS)
        rows = []
        for run, cells in zip(self, self._rows(), strict=True):
            best = run is self.best
            row = "".join(f"<td>{'<b>' * best}{cell}{'</b>' * best}</td>" for cell in cells)
            rows.append(f"<tr>{row}<td>{'best' if best else ''}</td></tr>")
        return f"<table><tr>{titles}<th></th></tr>{''.join(rows)}</table>"


def search(
    main: Main, make_model: Callable, datasets: dict, choices: Iterable[Settings], folder
) -> Runs:
    """Run your `main` once for each choice of settings, and collect the runs in a table.

    `make_model()` returns a fresh model. Training uses AdamW and batches of like length; the test
    split stays out of it. Every finished run is written to `folder` at once, so that a search that
    was cut off goes on where it stopped; the best run's model is in `folder/best`.
    """
    require(datasets=datasets)
    folder, choices = Path(folder), list(choices)
    folder.mkdir(parents=True, exist_ok=True)
    record = folder / "runs.json"
    runs = Runs(json.loads(record.read_text()) if record.exists() else [])
    _say_what_was_read(sum(_is_among(runs, choice) for choice in choices), len(choices), folder)
    datasets = {split: datasets[split] for split in ("train", "validation")}
    for choice in choices:
        if _is_among(runs, choice):
            continue
        start = time.perf_counter()
        runtime.set_seed(choice.seed)
        model = make_model().to(runtime.device())
        optimizer = torch.optim.AdamW(model.parameters(), lr=choice.learning_rate, eps=1e-8)
        loaders = make_like_length_dataloaders(datasets, choice.batch_size)
        history = main(model, loaders, optimizer, choice.num_epochs, folder / "attempt")
        best = max(history, key=lambda epoch: epoch["validation"]["accuracy"])
        runs.append(
            {
                **asdict(choice),
                "best_epoch": best["epoch"],
                "train_accuracy": best["train"]["accuracy"],
                "validation_accuracy": best["validation"]["accuracy"],
                "seconds": time.perf_counter() - start,
            }
        )
        if runs.best is runs[-1]:
            shutil.rmtree(folder / "best", ignore_errors=True)
            os.replace(folder / "attempt", folder / "best")
        _write_whole(record, json.dumps(runs, indent=1))
        print(f"run {len(runs)}: validation accuracy {runs[-1]['validation_accuracy']:.3f}")
    shutil.rmtree(folder / "attempt", ignore_errors=True)
    return runs


def _is_among(runs: Runs, choice: Settings) -> bool:
    return any(asdict(choice).items() <= run.items() for run in runs)


def _say_what_was_read(read: int, wanted: int, folder: Path) -> None:
    """Say how many runs come from the disk: code that has changed since then had no part in them."""
    if not read:
        return
    were = "was" if read == 1 else "were"
    rest = "nothing was trained" if read == wanted else "the rest is trained now"
    say(
        f"{read} of {wanted} runs {were} read from {folder}; {rest}. To start over, delete that folder."
    )


def compare_optimizers(
    main: Main,
    make_model: Callable,
    dataloaders: dict,
    optimizers: dict[str, Callable],
    num_epochs: int,
    folder,
    seed: int = 64,
) -> dict[str, list[dict]]:
    """Run your `main` once with each optimizer, all from the same start; return the histories.

    `optimizers` maps a name to a function of the parameters:
    {"SGD": lambda parameters: torch.optim.SGD(parameters, lr=0.1)}.
    """
    require(dataloaders=dataloaders)
    histories = {}
    for name, make_optimizer in optimizers.items():
        runtime.set_seed(seed)
        model = make_model().to(runtime.device())
        optimizer = make_optimizer(model.parameters())
        histories[name] = main(model, dataloaders, optimizer, num_epochs, Path(folder) / name)
    return histories


def measure_learning_curve(
    main: Main,
    makers: dict[str, Callable],
    datasets: dict,
    sizes: Sequence[int],
    settings: Settings,
    steps: int = 200,
    folder="checkpoints/learning_curve",
) -> dict[str, dict[int, float]]:
    """Run your `main` on the first 50, 200, ... training examples; return validation accuracies.

    `makers` maps a name to a function that makes a model; `sizes` are followed by all examples. Every
    run takes the same number of steps, drawing from its few examples again and again, so that only
    their number differs.
    """
    require(datasets=datasets)
    everything = len(datasets["train"])
    sizes = [*(size for size in sizes if size < everything), everything]
    validation = make_like_length_dataloaders(
        {"validation": datasets["validation"]}, settings.batch_size
    )
    curves: dict[str, dict[int, float]] = {name: {} for name in makers}
    for name, make in makers.items():
        for size in sizes:
            few = copy.copy(datasets["train"])
            few.sample_list = few.sample_list[:size]
            drawn = RandomSampler(few, replacement=True, num_samples=steps * settings.batch_size)
            train = DataLoader(few, settings.batch_size, sampler=drawn, collate_fn=few.collate_fn)
            runtime.set_seed(settings.seed)
            model = make().to(runtime.device())
            optimizer = torch.optim.AdamW(model.parameters(), lr=settings.learning_rate, eps=1e-8)
            history = main(model, {"train": train, **validation}, optimizer, 1, Path(folder))
            curves[name][size] = history[-1]["validation"]["accuracy"]
    shutil.rmtree(folder, ignore_errors=True)
    return curves


# ------------------------------------------------------------------------- how long will it take


class LongTraining(RuntimeError):
    """A training would take very long; Jupyter shows the sentence alone."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def estimate_training(
    model, dataloaders: dict, num_epochs: int, patient: bool = False, limit: float = 3600
) -> None:
    """Time one training batch, and say how long all epochs will take.

    More than `limit` seconds raise LongTraining, unless you are patient. The model stays as it was.
    """
    require(dataloaders=dataloaders)
    was_training, dice = model.training, torch.get_rng_state()  # drawing a batch throws dice
    batch = next(iter(dataloaders["train"]))
    tensors = {**batch["text_encoding"], "labels": batch["label_encoding"]}
    tensors = {name: tensor.to(model.device) for name, tensor in tensors.items()}
    model.train()
    try:
        for _ in range(2):  # the first call warms up
            start = time.perf_counter()
            model(**tensors).loss.backward()
            if model.device.type == "cuda":
                torch.cuda.synchronize()
            once = time.perf_counter() - start
    finally:
        model.zero_grad()
        model.train(was_training)
        torch.set_rng_state(dice)
    seconds = once * len(dataloaders["train"]) * num_epochs
    words = (
        f"One batch takes {once:.2g} s, so {num_epochs} epochs of {len(dataloaders['train'])} batches "
        f"take about {_say_time(seconds)}, and a little more for the evaluations."
    )
    if seconds > limit and not patient:
        raise LongTraining(
            f"{words} That is long. Use a GPU (in Colab: Runtime → Change runtime type), or the "
            "course's small model: model_name = find_model(), and run on from there. If you want to "
            "wait all the same, write PATIENT = True and run this cell again."
        )
    say(words)


def _say_time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def _write_whole(path: Path, text: str) -> None:
    """Write a file so that at any moment there is either the old one or the new one."""
    fresh = path.with_suffix(".new")
    fresh.write_text(text)
    os.replace(fresh, path)


# ----------------------------------------------------------------------- mixed precision


@dataclass
class _Scale:
    """How much gradients are enlarged so that 16 bits can hold them."""

    value: float = 2.0**10
    good_steps: int = 0


@contextmanager
def mixed_precision(model, optimizer) -> Iterator[None]:
    """Let a GPU compute in 16 bits while your training functions stay as they are.

    Weights stay in 32 bits. With bfloat16 nothing more is needed; float16, on older GPUs, has
    gradients enlarged on their way back and made small again just before `optimizer.step()`; a step
    with an overflow is left out. Without a GPU nothing changes.
    """
    if next(model.parameters()).device.type != "cuda":
        print("Mixed precision needs a GPU: computing in 32 bits as before.")
        yield
        return
    dtype = torch.bfloat16 if torch.cuda.is_bf16_supported(False) else torch.float16
    with _computing_in(dtype, "cuda", model, optimizer):
        yield


@contextmanager
def _computing_in(dtype, device_type: str, model, optimizer) -> Iterator[None]:
    scale = _Scale()
    plain_forward = model.forward

    def forward(*inputs, **named):
        with torch.autocast(device_type, dtype=dtype):
            outputs = plain_forward(*inputs, **named)
        # From the logits every gradient passes through this hook, whoever computes the loss.
        if dtype is torch.float16 and outputs.logits.requires_grad:
            outputs.logits.register_hook(lambda gradient: gradient * scale.value)
        return outputs

    def restore_gradients(optimizer, *_):
        gradients = [
            parameter.grad
            for group in optimizer.param_groups
            for parameter in group["params"]
            if parameter.grad is not None
        ]
        for gradient in gradients:
            gradient /= scale.value
        if all(gradient.isfinite().all() for gradient in gradients):
            scale.good_steps += 1
            if scale.good_steps % 1000 == 0:
                scale.value *= 2
            return
        scale.value, scale.good_steps = scale.value / 2, 0
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                parameter.grad = None  # optimizers pass over parameters without a gradient

    hook = optimizer.register_step_pre_hook(restore_gradients) if dtype is torch.float16 else None
    model.forward = forward
    try:
        yield
    finally:
        del model.forward  # the class's own shows again
        if hook is not None:
            hook.remove()
