"""Figures for the translation notebook: where a translator looks, and how well it learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from course_utils.plots.picture import COLOURS, Picture
from course_utils.translation.evaluation import Alignment
from course_utils.translation.training import History

_LINES = ("-", "--", ":")
_MARKS = ("o", "s", "^")
_SHADES = (0.1, 0.5, 0.85)  # of the colour map; lines and marks differ too


def plot_alignment(alignment: Alignment, title: str = "") -> Picture:
    """Draw the weights of one translation: German across, English down."""
    S, T = len(alignment.german), len(alignment.english)

    def draw(figure):
        axes = figure.subplots()
        image = _draw_weights(axes, alignment)
        figure.colorbar(image, label="weight", shrink=0.8)
        axes.set_title(title)

    words = f"{title}: " if title else ""
    return Picture(draw, words + describe_alignment(alignment), (0.42 * S + 3, 0.32 * T + 1.6))


def plot_alignments(alignments: Mapping[str, Alignment]) -> Picture:
    """Draw several kinds of attention on the same German sentence, side by side."""
    widest = max(len(a.german) for a in alignments.values())
    longest = max(len(a.english) for a in alignments.values())

    def draw(figure):
        panels = figure.subplots(1, len(alignments), squeeze=False)[0]
        for axes, (name, alignment) in zip(panels, alignments.items(), strict=True):
            image = _draw_weights(axes, alignment)
            axes.set_title(name)
        figure.colorbar(image, ax=list(panels), label="weight", shrink=0.7)

    words = " ".join(f"{name}: {describe_alignment(a)}" for name, a in alignments.items())
    size = (len(alignments) * (0.3 * widest + 1.6) + 1, 0.3 * longest + 1.8)
    return Picture(draw, words, size)


def plot_gallery(alignments: Sequence[Alignment], columns: int = 2) -> Picture:
    """Draw many translations at once, numbered from 1."""
    rows = -(-len(alignments) // columns)
    widest = max(len(a.german) for a in alignments)
    longest = max(len(a.english) for a in alignments)

    def draw(figure):
        panels = figure.subplots(rows, columns, squeeze=False).reshape(-1)
        for number, axes in enumerate(panels, start=1):
            if number > len(alignments):
                axes.axis("off")
                continue
            image = _draw_weights(axes, alignments[number - 1])
            axes.set_title(f"picture {number}", fontsize=10)
        figure.colorbar(image, ax=list(panels), label="weight", shrink=0.4)

    words = " ".join(
        f"Picture {number}: {describe_alignment(alignment)}"
        for number, alignment in enumerate(alignments, start=1)
    )
    size = (columns * (0.3 * widest + 1.5) + 1, rows * (0.26 * longest + 1.4))
    return Picture(draw, words, size)


def _draw_weights(axes, alignment: Alignment):
    weights = alignment.weights.numpy()
    image = axes.imshow(weights, cmap=COLOURS, vmin=0, vmax=1, aspect="auto")
    axes.set_xticks(range(len(alignment.german)), alignment.german, rotation=90, fontsize=8)
    axes.set_yticks(range(len(alignment.english)), alignment.english, fontsize=8)
    axes.set_xlabel("German: looked at", fontsize=8)
    axes.set_ylabel("English: about to be written", fontsize=8)
    return image


def describe_alignment(alignment: Alignment) -> str:
    """Say where each word looked most; or, when all looked everywhere alike, say that."""
    weights = alignment.weights.numpy()
    if np.ptp(weights) < 1e-4:
        return f"every one of {len(alignment.german)} German tokens has the weight {weights[0, 0]:.2f}."
    parts = []
    for word, row in zip(alignment.english, weights, strict=True):
        most = int(row.argmax())
        parts.append(f"{word} at {alignment.german[most]} ({row[most]:.2f})")
    return f"each English word and where it looks most: {', '.join(parts)}."


def plot_losses(histories: Mapping[str, History], entropy: float | None = None) -> Picture:
    """Draw the losses of several trainings by epoch: training on the left, validation on the right."""

    def draw(figure):
        panels = figure.subplots(1, 2, sharey=True)
        for axes, side in zip(panels, ("training", "validation"), strict=True):
            for style, (name, history) in zip(_styles(), histories.items(), strict=False):
                losses = history.train_losses if side == "training" else history.validation_losses
                axes.plot(range(1, len(losses) + 1), losses, label=name, markersize=4, **style)
            if entropy is not None:
                axes.axhline(entropy, color="black", linewidth=0.8)
                axes.annotate(
                    f"best possible: {entropy:.3f}", (0.02, entropy),
                    xycoords=("axes fraction", "data"), xytext=(0, 3), textcoords="offset points",
                    fontsize=8,
                )  # fmt: skip
            axes.set(xlabel="epoch", title=side)
        panels[0].set_ylabel("loss (nats per token)")
        panels[1].legend(fontsize=8)

    parts = []
    for name, history in histories.items():
        train, validation = history.train_losses, history.validation_losses
        parts.append(
            f"{name}: training loss from {train[0]:.2f} to {train[-1]:.2f}, validation loss from "
            f"{validation[0]:.2f} to {validation[-1]:.2f}"
        )
    if entropy is not None:
        parts.append(f"no translator can get below {entropy:.3f}")
    return Picture(draw, "; ".join(parts) + ".", (9, 3.6))


def plot_loss_by_length(groups: Mapping[str, dict]) -> Picture:
    """Draw the mean loss by the number of German words, one line per kind of attention.

    groups: {name: what `group_by_length` returns}
    """
    spans = list(next(iter(groups.values())))
    labels = [f"{low}-{high}" for low, high in spans]
    counts = [next(iter(groups.values()))[span][1] for span in spans]

    def draw(figure):
        axes = figure.subplots()
        for style, (name, found) in zip(_styles(), groups.items(), strict=False):
            axes.plot(labels, [found[span][0] for span in spans], label=name, **style)
        axes.set_xticks(
            range(len(labels)), [f"{label}\n({n})" for label, n in zip(labels, counts, strict=True)]
        )
        axes.set(
            xlabel="German words in a sentence (number of sentences)",
            ylabel="loss (nats per token)",
        )
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=8)

    parts = [
        f"{name}: "
        + ", ".join(
            f"{label} words {found[span][0]:.2f}" for label, span in zip(labels, spans, strict=True)
        )
        for name, found in groups.items()
    ]
    return Picture(draw, "Mean loss by length. " + "; ".join(parts) + ".", (7.5, 3.6))


def _styles():
    """Yield the looks of one line after the other; colour is never alone."""
    from matplotlib import colormaps

    for shade, line, mark in zip(_SHADES, _LINES, _MARKS, strict=True):
        yield {"color": colormaps[COLOURS](shade), "linestyle": line, "marker": mark}
