"""Figures for notebook 2; each is returned, and a sentence that says the same is printed.

The figures are handed back closed, so that a notebook shows them once: as the last line of a cell,
or with `display(figure)`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, PowerNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from torch import Tensor

from course_utils import runtime
from course_utils.history import History, format_time
from course_utils.plots.sliders import find_widgets
from course_utils.words import say

if TYPE_CHECKING:
    from course_utils.language_model.evaluation import FutureProbe, Run

COLOURS = plt.get_cmap("cividis")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))  # so that colour is never alone
# Trained heads spread their weight: drawn evenly from 0 to 1, most of what they do would be black.
WEIGHT_SCALE = PowerNorm(0.5, vmin=0, vmax=1)
FEW = 5  # lines that dashes and colours can tell apart
SMOOTH = 50  # steps that a drawn loss is averaged over
LABELS = 10.5  # the size of tokens along an axis: a notebook shows wide figures smaller


def plot_losses(histories: Mapping[str, History], entropy: float | None = None) -> Figure:
    """Draw the training loss of each run and its loss on development sentences.

    histories: {name: History}; entropy: where known, the loss below which no model gets that sees
    only the past.
    """
    figure, axes = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
    draw_losses(axes, histories, entropy)
    return finish(figure, describe_losses(histories, entropy))


def draw_losses(axes: Axes, histories: Mapping[str, History], entropy: float | None) -> None:
    """Draw the curves of `plot_losses` into existing axes."""
    for i, (name, history) in enumerate(histories.items()):
        colour, dash = pick_style(i, len(histories))
        smooth = smooth_losses(history.losses)
        axes.plot(*smooth, color=colour, linestyle=dash, linewidth=1.6, label=f"{name}, training")
        steps = [v["step"] for v in history.validations]
        losses = [math.log(v["corpus_perplexity"]) for v in history.validations]
        marker = "osD^v<>P*X"[i % 10]
        axes.plot(steps, losses, marker, color=colour, ms=5, label=f"{name}, development")
    if entropy is not None:
        label = f"best possible, seeing only the past: {entropy:.2f}"
        axes.axhline(entropy, color="black", linewidth=0.8, label=label)
    axes.set(xlabel="step", ylabel="loss (nats per token)")
    axes.legend(fontsize="small")


def describe_losses(histories: Mapping[str, History], entropy: float | None = None) -> str:
    """Say what `plot_losses` shows."""
    parts = []
    for name, history in histories.items():
        if not history.losses:
            parts.append(f"{name}: no step yet")
            continue
        words = (
            f"{name}: loss {history.losses[0]:.2f} at first, {history.final_loss:.2f} at the end "
            f"(mean of the last {history.n_final} steps)"
        )
        if history.validations:
            words += f", {_describe_validation(history.validations[-1])}"
        parts.append(words + (" (interrupted)" if history.interrupted else ""))
    if entropy is not None:
        parts.append(
            f"in the long run no model that sees only the past can get below {entropy:.2f} "
            f"(perplexity {math.exp(entropy):.2f})"
        )
    return "; ".join(parts) + "."


def _describe_validation(last: Mapping[str, float]) -> str:
    n = f" of the first {last['sentences']:,} sentences" if "sentences" in last else ""
    return f"development perplexity {last['corpus_perplexity']:.1f} (over all tokens{n})"


def plot_attention(weights: Tensor, words: Sequence[str], title: str = "") -> Figure:
    """Draw one layer's weights, one panel per head: rows look at columns.

    weights (n_heads, T, T), words: the T tokens
    """
    n_heads, T, _ = weights.shape
    size = max(2.8, 0.2 * T + 1) if n_heads > 1 else max(4.0, 0.27 * T + 1)
    figure, panels = plt.subplots(
        1, n_heads, figsize=(size * n_heads, size + 0.6), squeeze=False, layout="constrained"
    )
    for h, axes in enumerate(panels[0]):
        image = axes.imshow(weights[h].numpy(), cmap=COLOURS, norm=WEIGHT_SCALE)
        axes.set_title(f"head {h}" if n_heads > 1 else "")
        axes.set_xticks(range(T), words, rotation=90, fontsize=LABELS)
        axes.set_yticks(range(T), words if h == 0 else [""] * T, fontsize=LABELS)
        axes.set_xlabel("key (looked at)")
    panels[0][0].set_ylabel("query (looking)")
    figure.colorbar(image, ax=panels[0].tolist(), label="weight (square-root scale)", shrink=0.8)
    figure.suptitle(title)
    return finish(figure, describe_attention(weights, words))


def plot_all_heads(maps: Tensor, words: Sequence[str]) -> Figure:
    """Draw the weights of every layer and head in one figure: a row per layer, a panel per head.

    maps (n_layers, n_heads, T, T), words: the T tokens
    """
    n_layers, n_heads, T, _ = maps.shape
    size = max(2.4, 0.17 * T + 0.6)
    figure, panels = plt.subplots(
        n_layers, n_heads, figsize=(size * n_heads + 1.2, size * n_layers), squeeze=False,
        layout="constrained", sharex=True, sharey=True,
    )  # fmt: skip
    for layer, head in np.ndindex(n_layers, n_heads):
        axes = panels[layer][head]
        image = axes.imshow(maps[layer, head].numpy(), cmap=COLOURS, norm=WEIGHT_SCALE)
        axes.set_title(f"layer {layer}, head {head}", fontsize=13)
        axes.set_xticks(range(T), words, rotation=90, fontsize=LABELS)
        axes.set_yticks(range(T), words, fontsize=LABELS)
    figure.supxlabel("key (looked at)")
    figure.supylabel("query (looking)")
    figure.colorbar(
        image, ax=panels.ravel().tolist(), label="weight (square-root scale)", shrink=0.6
    )
    previous = maps.diagonal(-1, -2, -1).mean(-1)  # (n_layers, n_heads)
    return finish(
        figure,
        f"{n_layers} layers of {n_heads} heads. On average over this sentence, the head that looks "
        f"least at the token before puts {previous.min():.2f} there, the one that looks most "
        f"{previous.max():.2f}.",  # which one it is, is the reader's to find
    )


def browse_heads(maps: Tensor, words: Sequence[str]):
    """Return a menu of layers and heads, one drawn large; all of them at once without widgets."""
    if not in_notebook():
        return plot_all_heads(maps, words)
    widgets = find_widgets()
    if widgets is None:
        return plot_all_heads(maps, words)
    from IPython.display import display

    def show(layer: int, head: int) -> None:
        display(plot_attention(maps[layer, head : head + 1], words, f"layer {layer}, head {head}"))

    menus = {
        name: widgets.Dropdown(options=range(count), description=name)
        for name, count in zip(("layer", "head"), maps.shape, strict=False)
    }
    return widgets.VBox(
        [widgets.HBox(list(menus.values())), widgets.interactive_output(show, menus)]
    )


def describe_attention(weights: Tensor, words: Sequence[str]) -> str:
    """Say what `plot_attention` shows: where each head puts most, for the last token and overall."""
    T = len(words)
    parts = []
    for h, head in enumerate(weights):
        target = int(head[-1].argmax())
        own = head.diagonal().mean().item()
        before = head.diagonal(-1).mean().item() if T > 1 else 0.0
        parts.append(
            f"head {h}: the last token, {words[-1]!r}, looks most at {words[target]!r} "
            f"({head[-1, target].item():.2f}); on average {own:.2f} goes to the token itself and "
            f"{before:.2f} to the one before"
        )
    return "; ".join(parts) + "."


def plot_lengths(documents: Sequence[Sequence[int]], limit: int) -> Figure:
    """Draw how long the sentences are, in tokens; those cut at the limit stand at it."""
    lengths = [len(document) for document in documents]
    figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
    bins = np.arange(min(lengths), max(lengths) + 2) - 0.5  # a bar for each length
    axes.hist(lengths, bins=bins, color=COLOURS(0.25), edgecolor="white", lw=0.4)
    middle = np.median(lengths)
    axes.axvline(middle, color=COLOURS(0.85), lw=2.5, label=f"median {middle:.0f}")
    axes.legend()
    axes.set(xlabel="tokens per sentence, including <START> and <STOP>", ylabel="sentences")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    return finish(figure, describe_lengths(documents, limit))


def describe_lengths(documents: Sequence[Sequence[int]], limit: int) -> str:
    """Say what `plot_lengths` shows."""
    lengths = np.array([len(document) for document in documents])
    low, middle, high = np.percentile(lengths, [5, 50, 95])
    return (
        f"{len(lengths):,} sentences of {lengths.min()} to {lengths.max()} tokens: half have "
        f"{middle:.0f} or fewer, nine in ten {low:.0f} to {high:.0f}; "
        f"{(lengths >= limit).sum():,} reach the limit of {limit}."
    )


def plot_leak(probe: FutureProbe, words: Sequence[str]) -> Figure:
    """Draw which outputs moved when each token was changed; nothing should above the diagonal."""
    T = len(words)
    size = max(4.0, 0.24 * T + 1.6)
    figure, axes = plt.subplots(figsize=(size + 1, size), layout="constrained")
    moved = probe.moved.numpy()
    image = axes.imshow(np.maximum(moved, 1e-8), cmap=COLOURS, norm=LogNorm(1e-8, 1))
    rows, columns = np.nonzero(np.triu(moved > probe.rounding, k=1))
    axes.plot(columns, rows, "x", color="white", ms=6, mew=2)
    axes.plot(columns, rows, "x", color="black", ms=5, mew=0.8)
    axes.plot([-0.5, T - 0.5], [-0.5, T - 0.5], color="white", lw=1)
    axes.set_xticks(range(T), words, rotation=90, fontsize=LABELS)
    axes.set_yticks(range(T), words, fontsize=LABELS)
    axes.set(xlabel="token that was changed", ylabel="output that was watched")
    axes.set_title("sees the future: ×" if probe.sees_future else "does not see the future")
    figure.colorbar(image, label="relative change of the output", shrink=0.8)
    return finish(figure, probe.describe())


def plot_comparison(runs: Sequence[Run]) -> Figure:
    """Draw runs side by side: loss curves, perplexities, training times."""
    figure = plt.figure(figsize=(9, 7.2 + 0.15 * max(0, len(runs) - FEW)), layout="constrained")
    panels = figure.subplot_mosaic([["curves", "curves"], ["bars", "times"]], width_ratios=[1.6, 1])
    curves, bars, times = panels["curves"], panels["bars"], panels["times"]
    labels = [f"{i}. {r.name}" if len(runs) > FEW else r.name for i, r in enumerate(runs, 1)]
    for i, run in enumerate(runs):
        colour, dash = pick_style(i, len(runs))
        steps, losses = smooth_losses(run.history.losses)
        curves.plot(steps, losses, color=colour, linestyle=dash, lw=1.6, label=labels[i])
        if len(runs) > FEW and len(steps):  # too many lines to tell apart by their dashes
            curves.text(steps[-1], losses[-1], f" {i + 1}", fontsize=7, va="center")
    curves.set(xlabel="step", ylabel="training loss (nats per token)", title="training loss")
    curves.legend(fontsize="small")

    places = np.arange(len(runs))
    for shift, values, colour, hatch, label in (
        (-0.2, [r.train_perplexity for r in runs], COLOURS(0.2), "", "training"),
        (0.2, [r.dev_perplexity for r in runs], COLOURS(0.8), "//", "development"),
    ):
        drawn = bars.barh(places + shift, values, 0.4, color=colour, hatch=hatch, label=label)
        bars.bar_label(drawn, fmt="%.4g", padding=2, fontsize=8)
    bars.set_yticks(places, labels)
    bars.set(xlabel="mean over sentences", title="perplexity")
    bars.margins(x=0.15)
    bars.legend(fontsize="small", ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.14))

    drawn = times.barh(places, [r.history.seconds for r in runs], 0.6, color=COLOURS(0.5))
    times.bar_label(drawn, fmt=format_time, padding=2, fontsize=8)
    times.xaxis.set_major_locator(MaxNLocator(nbins=4, steps=[1, 2, 3, 6, 10], integer=True))
    times.xaxis.set_major_formatter(FuncFormatter(lambda seconds, _: format_time(seconds)))
    times.set_yticks(places, [""] * len(runs))
    times.set(xlabel="min:s", title="training time")
    times.margins(x=0.15)
    for axes in (bars, times):
        axes.invert_yaxis()
    return finish(figure, describe_comparison(runs))


def describe_comparison(runs: Sequence[Run]) -> str:
    """Say what `plot_comparison` shows."""
    parts = [
        f"{run.name}: final loss {run.history.final_loss:.2f}, perplexity (mean over sentences) "
        f"{run.train_perplexity:.1f} on training and {run.dev_perplexity:.1f} on development "
        f"sentences, {format_time(run.history.seconds)} min"
        for run in runs
    ]
    return "; ".join(parts) + "."


class LiveCurve:
    """The loss curve during a training, redrawn in place every few seconds (in a notebook only)."""

    SECONDS = 5.0  # between two drawings, which take a fraction of one

    def __init__(self, entropy: float | None):
        self.entropy = entropy
        self.drawn = time.perf_counter()
        self.handle = None

    def update(self, history: History) -> None:
        """Draw again, if it is time to and there is a notebook to draw in."""
        if time.perf_counter() - self.drawn < self.SECONDS or not in_notebook():
            return
        from IPython.display import display

        figure, axes = plt.subplots(figsize=(7.5, 3.4), layout="constrained")
        draw_losses(axes, {"so far": history}, self.entropy)
        plt.close(figure)
        if self.handle is None:
            self.handle = display(figure, display_id=True)
        else:
            self.handle.update(figure)
        self.drawn = time.perf_counter()

    def finish(self) -> None:
        """Take the live picture away: the cell's own figure shows the whole curve."""
        if self.handle is not None:
            from IPython.display import HTML

            self.handle.update(HTML(""))


def in_notebook() -> bool:
    """Say whether there is a person in front of a notebook to draw for."""
    return runtime.where() != "autograder" and runtime.in_kernel()


def smooth_losses(losses: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Return steps and the mean loss of the `SMOOTH` steps up to each."""
    window = max(1, min(SMOOTH, len(losses) // 10))
    if not losses:
        return np.array([]), np.array([])
    means = np.convolve(losses, np.ones(window) / window, mode="valid")
    return np.arange(window, len(losses) + 1), means


def pick_style(i: int, n: int) -> tuple:
    """Return the colour and the dashes of the i-th of n lines."""
    return COLOURS(i / max(1, n - 1) * 0.85), DASHES[i % len(DASHES)]


def finish(figure: Figure, sentence: str) -> Figure:
    """Print what the figure says, and hand it back closed."""
    plt.close(figure)
    say(sentence)
    return figure
