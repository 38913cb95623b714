"""What a finetuned model says of each sentence, where it errs, and a file that proves it."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from course_utils.checks.values import require
from course_utils.sentiment.sources import LABELS
from course_utils.words import wrap


def classify(model, tokenizer, texts: Sequence[str], batch_size: int = 64) -> Tensor:
    """Return the model's probabilities for every text, by transformers' own pipeline.  (N, 2)"""
    from transformers import pipeline

    require(best_model=model, tokenizer=tokenizer)
    was_training = model.training
    model.train(False)  # a pipeline leaves dropout as it finds it
    try:
        reader = pipeline(
            "text-classification", model=model, tokenizer=tokenizer, device=model.device
        )
        answers = reader(
            list(texts), top_k=None, batch_size=batch_size, truncation=True, max_length=512,
            function_to_apply="softmax",
        )  # fmt: skip
    finally:
        model.train(was_training)
    column = model.config.label2id
    probabilities = torch.zeros(len(answers), len(column))
    for row, answer in enumerate(answers):
        for choice in answer:
            probabilities[row, column[choice["label"]]] = choice["score"]
    return probabilities


def read_mistakes(texts, labels, probabilities: Tensor, count: int = 5) -> str:
    """Read aloud the mistakes that the model was surest of; the surest comes first.

    texts and labels of length N, probabilities (N, 2).
    """
    require(probabilities=probabilities)
    labels = torch.as_tensor(labels)
    sureness, predicted = probabilities.max(dim=-1)  # (N,), (N,)
    wrong = (predicted != labels).nonzero().flatten()
    wrong = wrong[sureness[wrong].argsort(descending=True)]
    if len(wrong) == 0:
        return f"No mistake in {len(labels)} sentences."
    lines = [f"{len(wrong)} mistakes in {len(labels)} sentences. The ones the model was surest of:"]
    for place, index in enumerate(wrong[:count].tolist(), start=1):
        lines.append(
            f"{place}. “{texts[index]}” is {LABELS[labels[index]]}; the model was "
            f"{sureness[index]:.1%} sure that it is {LABELS[predicted[index]]}."
        )
    return wrap("\n".join(lines), indent="   ")


def write_predictions(path, texts, labels, predictions) -> Path:
    """Write one row per sentence, (index, text, label, prediction), so that anyone can check.

    labels and predictions hold class ids, as lists or tensors of length N.
    """
    require(predictions=predictions)
    path = Path(path)
    rows = [
        (index, text, int(label), int(prediction))
        for index, (text, label, prediction) in enumerate(
            zip(texts, labels, predictions, strict=True)
        )
    ]
    fresh = path.with_suffix(".new")
    with open(fresh, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("index", "text", "label", "prediction"))
        writer.writerows(rows)
    os.replace(fresh, path)
    print(f"{path}: {len(rows)} predictions.")
    return path
