"""The figures of the notebook on pretraining: texts as strips of characters, curves, confidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from course_utils.history import History
from course_utils.plots.picture import Picture
from course_utils.pretraining.characters import MASK, PAD

_PLAIN, _TAKEN, _SIGN, _EMPTY = "#e8ecf4", "#f2cf63", "#1f3a6b", "#ffffff"
_MOST_SHOWN = 64  # characters in one strip
_LINES = ("-", "--", ":", "-.")  # so that colour never stands alone
_BARS = ("", "//", "..", "xx")


def plot_corruption(document: str, corrupted: str) -> Picture:
    """Picture a document and what span corruption made of it, character by character."""
    parts = corrupted.rstrip(PAD).split(MASK)
    well_formed = len(parts) == 3
    span = parts[2] if well_formed else ""
    begin = len(parts[0])
    kept = sum(map(len, parts))

    def colour_document(place: int) -> str:
        return _TAKEN if well_formed and begin <= place < begin + len(span) else _PLAIN

    def colour_corrupted(place: int) -> str:
        return _TAKEN if well_formed and place > len(parts[0]) + len(parts[1]) + 1 else _PLAIN

    def draw(figure):
        top, bottom = figure.subplots(2, 1)
        width = max(min(len(text), _MOST_SHOWN) for text in (document, corrupted))
        _draw_strip(top, document, colour_document, width, "document")
        _draw_strip(bottom, corrupted, colour_corrupted, width, "corrupted")

    if well_formed:
        words = (
            f"The document, and below it what the model gets: of the first {kept} characters, the "
            f"span {span!r} was taken out. A MASK ({MASK}) stands in its place; the span itself "
            f"follows at the end, after a second MASK, and then PAD ({PAD})."
        )
    else:
        words = (
            f"The document, and below it what came out of it, with {len(parts) - 1} MASK ({MASK})."
        )
    return Picture(draw, words, (10, 1.9))


def plot_pair(x: str, y: str) -> Picture:
    """Picture what a model reads above what it is asked for; what is PAD below does not count."""

    def draw(figure):
        top, bottom = figure.subplots(2, 1)
        width = max(min(len(text), _MOST_SHOWN) for text in (x, y))
        _draw_strip(top, x, lambda place: _PLAIN, width, "x: reads")
        _draw_strip(bottom, y, lambda place: _TAKEN, width, "y: should say")

    counted = [place for place, character in enumerate(y) if character != PAD]
    said = "".join(y[place] for place in counted)
    words = (
        f"x, what the model reads, above y, what it should say at each place. {len(counted)} of "
        f"{len(y)} places count: {said[:40]!r}{' and so on' if len(said) > 40 else ''}."
    )
    return Picture(draw, words, (10, 1.9))


def _draw_strip(axis, text: str, colour, width: int, name: str) -> None:
    """Draw one box per character; MASK is dark, PAD is empty."""
    for place, character in enumerate(text[:_MOST_SHOWN]):
        face = {MASK: _SIGN, PAD: _EMPTY}.get(character) or colour(place)
        axis.add_patch(_make_box(place, face))
        shown = {MASK: "M", PAD: "·", " ": "␣"}.get(character, character)
        ink = {MASK: "white", PAD: "#999999", " ": "#999999"}.get(character, "black")
        axis.text(place + 0.5, 0.5, shown, ha="center", va="center", color=ink, fontsize=8)
    if len(text) > _MOST_SHOWN:
        axis.text(_MOST_SHOWN + 0.3, 0.5, "…", va="center")
    axis.set_xlim(0, width + 1)
    axis.set_ylim(0, 1)
    axis.set_xticks([])
    axis.set_yticks([0.5], [name])
    for side in axis.spines.values():
        side.set_visible(False)
    axis.tick_params(length=0)


def _make_box(place: int, face: str):
    from matplotlib.patches import Rectangle

    return Rectangle((place, 0.08), 0.94, 0.84, facecolor=face, edgecolor="#b9c2d6", linewidth=0.6)


def plot_curves(pretraining: Mapping[str, History], finetuning: Mapping[str, History]) -> Picture:
    """Picture the loss by epoch, pretraining on the left and finetuning on the right."""
    stages = {"pretraining": pretraining, "finetuning": finetuning}
    stages = {name: runs for name, runs in stages.items() if runs}

    def draw(figure):
        axes = figure.subplots(1, len(stages), squeeze=False)[0]
        for axis, (stage, runs) in zip(axes, stages.items(), strict=True):
            for (name, history), line in zip(runs.items(), _LINES * len(runs), strict=False):
                epochs = range(1, len(history.losses) + 1)
                axis.plot(epochs, history.losses, line, label=name)
            axis.set_xlabel("epoch")
            axis.set_ylabel("loss per character")
            axis.set_title(stage)
            axis.legend()
            axis.set_ylim(bottom=0)

    said = [
        f"{stage}, {name}: {history.losses[0]:.2f} in the first epoch, {history.losses[-1]:.2f} in "
        f"the last of {len(history.losses)}"
        for stage, runs in stages.items()
        for name, history in runs.items()
        if history.losses
    ]
    return Picture(draw, "Loss by epoch. " + "; ".join(said) + ".", (9.5, 3.4))


def plot_shares(shares: Mapping[str, Mapping[str, float]]) -> Picture:
    """Picture the share of right answers of several models, one bar per group of people."""
    groups = list(dict.fromkeys(group for by_group in shares.values() for group in by_group))

    def draw(figure):
        axis = figure.subplots()
        height = 0.8 / len(groups)
        for i, group in enumerate(groups):
            places = [row + i * height for row in range(len(shares))]
            values = [by_group.get(group, np.nan) for by_group in shares.values()]
            tone = ("#3c5a99", "#c9a227", "#7a7a7a")[i % 3]
            bars = axis.barh(places, values, height, label=group, color=tone,
                             hatch=_BARS[i % len(_BARS)], edgecolor="white")  # fmt: skip
            axis.bar_label(bars, labels=[f"{value:.0%}" for value in values], padding=3)
        axis.set_yticks(
            [row + height * (len(groups) - 1) / 2 for row in range(len(shares))], shares
        )
        axis.invert_yaxis()
        axis.set_xlim(0, 1.1)
        axis.set_xlabel("share of right answers")
        axis.legend(loc="lower right")

    said = [
        f"{name}: " + ", ".join(f"{value:.1%} {group}" for group, value in by_group.items())
        for name, by_group in shares.items()
    ]
    return Picture(
        draw, "Share of right answers. " + "; ".join(said) + ".", (8.5, 1.2 + 0.7 * len(shares))
    )


def plot_confidence(groups: Mapping[str, Sequence[float]], title: str = "") -> Picture:
    """Picture how sure a model is: one row per group of answers, one dot per answer."""
    groups = {name: np.asarray(list(values), dtype=float) for name, values in groups.items()}

    def draw(figure):
        axis = figure.subplots()
        dice = np.random.default_rng(0)  # dots on top of each other would look like one
        for row, (values, mark) in enumerate(
            zip(groups.values(), "os^D" * len(groups), strict=False)
        ):
            heights = row + dice.uniform(-0.28, 0.28, len(values))
            axis.plot(values, heights, mark, alpha=0.5, markersize=5, color="#3c5a99")
            if len(values):
                middle = float(np.median(values))
                axis.plot(
                    [middle, middle], [row - 0.36, row + 0.36], color="#b3341f", linewidth=2.5
                )
        names = [f"{name} ({len(values)})" for name, values in groups.items()]
        axis.set_yticks(range(len(groups)), names)
        axis.invert_yaxis()
        axis.set_xlim(-0.03, 1.03)
        axis.set_xlabel("confidence: probability of the whole answer (bar: median)")
        axis.set_title(title)

    said = []
    for name, values in groups.items():
        if len(values):
            sure = (values > 0.5).mean()
            said.append(
                f"{name}: {len(values)} answers, mean confidence {values.mean():.2f}, median "
                f"{np.median(values):.2f}, {sure:.0%} of them above one half"
            )
        else:
            said.append(f"{name}: no answers")
    return Picture(draw, "Confidence. " + "; ".join(said) + ".", (8.5, 1.3 + 0.75 * len(groups)))
