"""Figures of notebook 3: curves, optimizers side by side, confusion, where attention looks."""

from __future__ import annotations

import numpy as np
import torch

from course_utils.checks.values import as_array, is_open
from course_utils.plots.picture import COLOURS, Picture, nothing_to_draw, nothing_yet
from course_utils.sentiment.sources import LABELS

# Each line has a colour, a mark and a dash of its own, so colour never stands alone.
_LINES = (
    ("#1f3a6b", "o", "-"),
    ("#b3841f", "s", "--"),
    ("#6b6b6b", "^", ":"),
    ("#b3341f", "D", "-."),
    ("#2f7d5b", "v", (0, (5, 1, 1, 1))),
)


def plot_curves(history: list[dict]) -> Picture:
    """Picture loss and accuracy of training and validation over the epochs of one run."""
    epochs = [record["epoch"] for record in history]
    best = max(history, key=lambda record: record["validation"]["accuracy"])["epoch"]

    def draw(figure):
        for axis, measure in zip(figure.subplots(1, 2), ("loss", "accuracy"), strict=True):
            for split, style in zip(("train", "validation"), _LINES, strict=False):
                values = [record[split][measure] for record in history]
                _draw_line(axis, epochs, values, {"train": "training"}.get(split, split), style)
            axis.axvline(best, color="grey", linewidth=0.8, label="best epoch")
            _label(axis, measure)
            axis.legend()

    first, last = history[0], history[-1]
    chosen = history[epochs.index(best)]
    words = (
        f"Over {len(history)} epochs the training loss goes from {first['train']['loss']:.3f} to "
        f"{last['train']['loss']:.3f} and the validation loss from {first['validation']['loss']:.3f} "
        f"to {last['validation']['loss']:.3f}; validation accuracy is best in epoch {best} with "
        f"{chosen['validation']['accuracy']:.1%}, where training accuracy is "
        f"{chosen['train']['accuracy']:.1%}."
    )
    return Picture(draw, words, size=(9, 3.2))


def plot_optimizers(histories: dict[str, list[dict]]) -> Picture:
    """Picture training loss and validation accuracy of several runs, one line per name."""

    def draw(figure):
        left, right = figure.subplots(1, 2)
        for index, (name, history) in enumerate(histories.items()):
            style = _LINES[index % len(_LINES)]
            epochs = [record["epoch"] for record in history]
            _draw_line(left, epochs, [r["train"]["loss"] for r in history], name, style)
            _draw_line(right, epochs, [r["validation"]["accuracy"] for r in history], name, style)
        _label(left, "training loss")
        _label(right, "validation accuracy")
        lines, names = right.get_legend_handles_labels()
        figure.legend(lines, names, loc="outside lower center", ncols=len(names))

    words = "Best validation accuracy: " + "; ".join(
        f"{name} {max(record['validation']['accuracy'] for record in history):.1%} "
        f"(training loss at the end {history[-1]['train']['loss']:.3f})"
        for name, history in histories.items()
    )
    return Picture(draw, words + ".", size=(9, 3.5))


def plot_confusion(labels, predictions) -> Picture:
    """Picture how often each label was taken for which.  labels, predictions: class ids, (N,)"""
    if is_open(predictions):
        return nothing_yet("your predictions from 3.5")
    labels, predictions = as_array(labels), as_array(predictions)
    if predictions.shape != labels.shape or not np.isin(predictions, (0, 1)).all():
        return nothing_to_draw(
            f"the predictions should be {len(labels)} class ids, each 0 or 1: one per sentence."
        )
    table = np.zeros((2, 2), dtype=int)
    np.add.at(table, (labels.astype(int), predictions.astype(int)), 1)

    def draw(figure):
        axis = figure.subplots()
        image = axis.imshow(table, cmap=COLOURS, vmin=0)
        axis.set_xticks(range(2), LABELS)
        axis.set_yticks(range(2), LABELS, rotation=90, va="center")
        axis.set_xlabel("the model says")
        axis.set_ylabel("the sentence is")
        for row, column in np.ndindex(2, 2):
            colour = "white" if table[row, column] < table.max() / 2 else "black"
            axis.text(column, row, table[row, column], ha="center", va="center", color=colour)
        figure.colorbar(image, ax=axis, shrink=0.8)

    negative, positive = table
    words = (
        f"Of {negative.sum()} negative sentences {negative[1]} were taken for positive; "
        f"of {positive.sum()} positive ones {positive[0]} were taken for negative."
    )
    return Picture(draw, words, size=(4.6, 3.6))


def plot_attention(model, tokenizer, text: str) -> Picture:
    """Picture where the last layer looks from the first token, whose state is classified.

    One row per head, one column per token. It shows where information can flow from, and is no
    explanation of what the model decides.
    """
    if problem := _find_open(model, tokenizer):
        return problem
    encoded = tokenizer(text, truncation=True, max_length=512, return_tensors="pt")
    weights = _get_attention(model, encoded.to(model.device))[-1][0, :, 0]  # (heads, T)
    weights = weights.float().cpu().numpy()
    tokens = [tokenizer.decode([index]).strip() for index in encoded["input_ids"][0].tolist()]

    def draw(figure):
        axis = figure.subplots()
        image = axis.imshow(weights, cmap=COLOURS, vmin=0, aspect="auto")
        axis.set_xticks(range(len(tokens)), tokens, rotation=60, ha="right", rotation_mode="anchor")
        axis.set_yticks(range(len(weights)), [f"head {head}" for head in range(len(weights))])
        axis.set_xlabel("token looked at")
        axis.set_title("last layer, from the first token", fontsize=10)
        figure.colorbar(image, ax=axis, label="weight")

    mean = weights.mean(axis=0)
    top = ", ".join(f"“{tokens[index]}” {mean[index]:.2f}" for index in mean.argsort()[::-1][:3])
    words = (
        f"Where the last layer looks from the first token in “{text}”. On average over "
        f"{len(weights)} heads most weight goes to {top}. These weights say where information may "
        "come from; they do not explain the decision."
    )
    size = (max(5.0, 0.38 * len(tokens) + 2), 1.4 + 0.3 * min(len(weights), 12))
    return Picture(draw, words, size=size)


def plot_deletions(model, tokenizer, text: str) -> Picture:
    """Picture how the answer changes when each word is left out: that is what a word was worth."""
    from course_utils.sentiment.predictions import classify

    if problem := _find_open(model, tokenizer):
        return problem
    words = text.split()
    shorter = [" ".join(words[:i] + words[i + 1 :]) for i in range(len(words))]
    chances = classify(model, tokenizer, [text, *shorter])[:, 1].numpy()  # of "positive"
    changes = chances[1:] - chances[0]

    def draw(figure):
        axis = figure.subplots()
        colours = ["#b3341f" if change < 0 else "#1f3a6b" for change in changes]
        bars = axis.bar(range(len(words)), changes, color=colours)
        axis.bar_label(bars, fmt="%+.2f", fontsize=8, padding=1)
        axis.axhline(0, color="black", linewidth=0.6)
        axis.set_xticks(range(len(words)), words, rotation=45, ha="right", rotation_mode="anchor")
        axis.set_ylabel("change in P(positive)")
        axis.set_xlabel("word that is left out, with its punctuation")
        axis.margins(y=0.2)

    most = int(np.abs(changes).argmax())
    said = (
        f"“{text}” is positive with probability {chances[0]:.2f}. Leaving out “{words[most]}” changes "
        f"that most, by {changes[most]:+.2f}. Red: less positive without it; blue: more positive."
    )
    return Picture(draw, said, size=(max(5.0, 0.6 * len(words) + 2), 3.2))


def plot_learning_curve(curves: dict[str, dict[int, float]]) -> Picture:
    """Picture validation accuracy by number of training examples, one line per name."""

    def draw(figure):
        axis = figure.subplots()
        for (name, curve), style in zip(curves.items(), _LINES, strict=False):
            _draw_line(axis, list(curve), list(curve.values()), name, style)
        sizes = sorted({size for curve in curves.values() for size in curve})
        axis.set_xscale("log")
        axis.set_xticks(sizes, [f"{size:,}" for size in sizes])
        axis.minorticks_off()
        axis.set_xlabel("training examples")
        axis.set_ylabel("validation accuracy")
        axis.legend()

    words = "Validation accuracy by number of training examples. " + "; ".join(
        f"{name}: " + ", ".join(f"{size:,}: {accuracy:.1%}" for size, accuracy in curve.items())
        for name, curve in curves.items()
    )
    return Picture(draw, words + ".", size=(6.5, 3.2))


def _find_open(model, tokenizer) -> Picture | None:
    """Return what stands in place of a figure while model or tokenizer is still `...`."""
    if is_open(tokenizer):
        return nothing_yet("your tokenizer from 3.2")
    return nothing_yet("your best model from 3.5") if is_open(model) else None


def _get_attention(model, encoded) -> tuple[torch.Tensor, ...]:
    """Return each layer's weights, (1, heads, T, T); only "eager" attention gives them away."""
    before = model.config._attn_implementation
    was_training = model.training
    # Before transformers 4.54 a model goes over to "eager" by itself when it is asked for weights.
    can_change = hasattr(model, "set_attn_implementation")
    if can_change:
        model.set_attn_implementation("eager")
    try:
        with torch.inference_mode():
            return model.train(False)(**encoded, output_attentions=True).attentions
    finally:
        if can_change:
            model.set_attn_implementation(before)
        model.train(was_training)


def _draw_line(axis, x, y, name, style) -> None:
    colour, mark, dash = style
    axis.plot(x, y, color=colour, marker=mark, linestyle=dash, label=name)


def _label(axis, measure: str) -> None:
    from matplotlib.ticker import MaxNLocator

    axis.set_xlabel("epoch")
    axis.set_ylabel(measure)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
