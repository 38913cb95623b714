"""The comparison of the translation notebook on the real Multi30k, and the table it leads to.

    COURSE_DATA=... python -m autograder.experiments.translation

trains a translator with each of the three kinds of attention and writes docs/translation.md.
Finished epochs are kept in runs/translation/, so that it can be stopped and started again.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import torch

from autograder.exercises.attention_at_work import translation_code as code
from course_utils import runtime
from course_utils.translation.data import Data, load_data
from course_utils.translation.evaluation import measure_bleu
from course_utils.translation.model import DummyAttention, Translator
from course_utils.translation.training import History, Settings, train

EPOCHS = 5
ENC_HID_DIM, DEC_HID_DIM = 64, 128  # the model's own defaults
REPORTED = {  # validation and training loss in an earlier course's report
    "scaled dot product": (2.64, 3.35),
    "mean pool": (3.02, 3.58),
    "dummy": (3.16, 3.67),
}


def load_references() -> dict:
    """Return the notebook's solutions by name, as a learner's kernel would hold them."""
    namespace: dict = {"__name__": "notebook"}
    for text in (code.GIVEN, *code.ORACLES.values()):
        exec(compile(text, "<reference>", "exec"), namespace)
    namespace["DEVICE"] = runtime.device()
    return namespace


def make_attentions() -> dict:
    """Return the three kinds by name, each a function that makes one."""
    solved = load_references()
    scaled = solved["SingleQueryScaledDotProductAttention"]
    return {
        "scaled dot product": lambda: scaled(ENC_HID_DIM, DEC_HID_DIM),
        "mean pool": solved["MeanPoolAttention"],
        "dummy": DummyAttention,
    }


def train_kind(
    name: str, data: Data, settings: Settings, folder: Path | None = None
) -> tuple[Translator, History]:
    """Train a translator with one kind of attention, from the seed that all of them share."""
    runtime.set_seed(settings.seed)
    model = Translator(
        len(data.german),
        len(data.english),
        make_attentions()[name](),
        enc_hid_dim=ENC_HID_DIM,
        dec_hid_dim=DEC_HID_DIM,
    ).to(runtime.device())
    return model, train(model, data, settings, name.replace(" ", "_"), folder)


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    name: str
    history: History
    bleu: float


def write_table(data: Data, settings: Settings, rows: list[Row]) -> str:
    """Return the page that goes into docs/."""
    describe = load_references()["describe_losses"]
    lines = [
        "# Three kinds of attention, on real sentences",
        "",
        f"Made by `COURSE_DATA=... python -m autograder.experiments.translation`. {data.description} "
        f"{settings.epochs} epochs, batches of {settings.batch_size}, learning rate "
        f"{settings.learning_rate:g} falling to nothing, seed {settings.seed}, "
        f"torch {torch.__version__}.",
        "",
        "Losses are in nats per token; the model kept is that of the epoch with the lowest "
        "validation loss. Mean and variance are over the epochs, as in the notebook. BLEU is "
        "sacrebleu's, on all test sentences in lower case, decoded greedily.",
        "",
        "| attention | validation loss | training loss of that epoch | training loss, mean (variance) "
        "| validation loss, mean (variance) | BLEU | reported validation, training |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    for row in rows:
        best = row.history.best
        trained, validated = map(
            describe, (row.history.train_losses, row.history.validation_losses)
        )
        reported = REPORTED[row.name]
        lines.append(
            f"| {row.name} | {best['validation']:.2f} | {best['train']:.2f} "
            f"| {trained['mean']:.2f} ({trained['variance']:.2f}) "
            f"| {validated['mean']:.2f} ({validated['variance']:.2f}) | {row.bleu:.1f} "
            f"| {reported[0]}, {reported[1]} |"
        )
    names = [row.name for row in sorted(rows, key=lambda row: row.history.best["validation"])]
    same = names == sorted(REPORTED, key=lambda name: REPORTED[name][0])
    order = ", ".join(names)
    lines += [
        "",
        f"From the lowest validation loss to the highest: {order}. That is "
        f"{'the order' if same else 'NOT the order'} of the earlier report, whose losses stand in "
        "the last column (another vocabulary and another model, so only the order can be compared).",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m autograder.experiments.translation")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--folder", type=Path, default=Path("runs/translation"))
    parser.add_argument("--page", type=Path, default=Path("docs/translation.md"))
    options = parser.parse_args()
    data = load_data()
    print(data.description)
    if data.name != "multi30k":
        raise SystemExit("This comparison needs Multi30k: name its folder in COURSE_DATA.")
    settings = Settings(epochs=options.epochs)
    translate = load_references()["greedy_translate"]
    rows = []
    for name in REPORTED:
        model, history = train_kind(name, data, settings, options.folder)
        bleu, _ = measure_bleu(translate, model, data, n=len(data.test))
        rows.append(Row(name, history, bleu))
    options.page.write_text(write_table(data, settings, rows), encoding="utf-8")
    print(f"Written: {options.page}.")


if __name__ == "__main__":
    main()
