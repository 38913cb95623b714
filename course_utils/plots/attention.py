"""Notebook 2's figures of attention, step by step, drawn from the learner's own tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from course_utils.checks.values import describe_shape, describe_type
from course_utils.plots.picture import COLOURS, Picture

_HIDDEN_COLOUR = "#d9d9d9"  # where a score is minus infinity; the sign is written there too
_MOST_NUMBERS = 12  # rows or columns; larger tables are drawn without their numbers


def plot_scores(scores, words: Sequence[str] = (), title: str = "scores") -> Picture:
    """Picture scores, (T, T) or with batch and heads in front: one row per query, one column per key."""
    tables = _as_tables(scores, "scores")
    T = tables[0].shape[-1]
    words = _name_tokens(words, T)
    finite = [table[np.isfinite(table)] for table in tables]
    numbers = np.concatenate([*finite, np.zeros(1)]) if finite else np.zeros(1)
    limits = (float(numbers.min()), float(numbers.max()))

    def draw(figure):
        _draw_tables(figure, tables, words, limits, title, "score")

    hidden = sum(int(np.isneginf(table).sum()) for table in tables)
    said = f"The {title}: {_count_tables(tables)}, from {limits[0]:.2f} to {limits[1]:.2f}"
    said += f"; {hidden} of them are minus infinity." if hidden else "."
    return Picture(draw, f"{said} {_describe_first(tables, words)}", _size(tables))


def plot_weights(weights, words: Sequence[str] = (), title: str = "weights") -> Picture:
    """Picture weights, (T, T) or with batch and heads in front, and say what the rows sum to."""
    tables = _as_tables(weights, "weights")
    words = _name_tokens(words, tables[0].shape[-1])

    def draw(figure):
        _draw_tables(figure, tables, words, (0.0, 1.0), title, "weight")

    sums = np.concatenate([table.sum(axis=-1) for table in tables])
    if np.allclose(sums, 1, atol=1e-4):
        said = "Every row sums to 1."
    else:
        said = f"The rows sum to between {sums.min():.2f} and {sums.max():.2f}, not to 1."
    return Picture(draw, f"The {title}: {said} {_describe_first(tables, words)}", _size(tables))


def plot_side_by_side(tables: Mapping[str, object], words: Sequence[str] = ()) -> Picture:
    """Picture several tables of weights of one sentence beside each other, each under its name."""
    shown = {name: _as_tables(table, name)[0] for name, table in tables.items()}
    words = _name_tokens(words, len(next(iter(shown.values()))))

    def draw(figure):
        _draw_tables(figure, list(shown.values()), words, (0.0, 1.0), "", "weight", list(shown))

    largest = "; ".join(
        f"{name}: the largest weight of a row is {table.max(axis=-1).mean():.2f} on average, "
        f"{'some' if np.triu(table, 1).any() else 'no'} weight lies above the diagonal"
        for name, table in shown.items()
    )
    return Picture(draw, f"{largest}.", _size(list(shown.values())))


def plot_mask(mask, words: Sequence[str] = ()) -> Picture:
    """Picture a mask as it is: one row per query, one column per key."""
    tables = _as_tables(mask, "mask")[:1]
    table = tables[0]
    words = _name_tokens(words, table.shape[-1])

    def draw(figure):
        finite = table[np.isfinite(table)]
        limits = (min(0.0, float(finite.min())), max(1.0, float(finite.max())))
        _draw_tables(figure, tables, words, limits, "mask", "", form="g")

    ones = [int((row != 0).sum()) for row in table]
    rows = ", ".join(str(count) for count in ones)
    return Picture(
        draw, f"Your mask, {describe_shape(table)}: entries that are not 0, row by row: {rows}.",
        _size(tables),
    )  # fmt: skip


def plot_masking(before, after, words: Sequence[str] = ()) -> Picture:
    """Picture scores before and after masking, side by side."""
    tables = [_as_tables(before, "scores before")[0], _as_tables(after, "scores after")[0]]
    words = _name_tokens(words, tables[0].shape[-1])
    finite = np.concatenate([table[np.isfinite(table)] for table in tables])
    limits = (float(np.clip(finite, -1e3, 1e3).min()), float(finite.max()))

    def draw(figure):
        _draw_tables(figure, tables, words, limits, "", "score", ["before", "after"])

    changed = tables[0] != tables[1]
    above = int(np.triu(np.isneginf(tables[1]), 1).sum())
    T = len(words)
    said = (
        f"Scores before and after masking: {above} of {T * (T - 1) // 2} scores above the diagonal "
        f"are minus infinity, {int(np.tril(changed).sum())} of the others have changed."
    )
    return Picture(draw, said, _size(tables))


def plot_heads(x, heads, words: Sequence[str] = ()) -> Picture:
    """Picture which numbers of each token go to which head.

    x (B, T, C) and what your split made of it, (B, n_heads, T, head_size). Each number keeps the
    colour that it has in x, so that you can follow it.
    """
    whole = _as_tables(x, "x")[0]  # (T, C)
    parts = _as_tables(heads, "heads")
    words = _name_tokens(words, len(whole))
    limits = (float(whole.min()), float(whole.max()))

    def draw(figure):
        ratios = [max(part.shape[1], 2) for part in (whole, *parts)]
        axes = np.atleast_1d(figure.subplots(1, 1 + len(parts), width_ratios=ratios))
        titles = ["x", *(f"head {h}" for h in range(len(parts)))]
        for axis, table, title in zip(axes, (whole, *parts), titles, strict=True):
            rows = words if len(table) == len(words) else [str(i) for i in range(len(table))]
            columns = [str(i) for i in range(table.shape[1])]
            _draw_table(axis, table, rows, columns, limits, ".0f")
            axis.set_title(f"{title}  {describe_shape(table)}")

    said = f"x has {describe_shape(whole)} numbers for a sentence; you made {len(parts)} heads, each {describe_shape(parts[0])}."
    rows = [
        f"{name}: {', '.join(f'{number:g}' for number in row)}"
        for name, row in zip(words, parts[0], strict=False)
    ]  # a bare reshape gives the first row right, and only the first
    return Picture(
        draw, f"{said} In head 0, {'; '.join(rows[:2])}.", size=(9, 0.5 * len(whole) + 1.4)
    )


def plot_pipeline(scores, weights, output, words: Sequence[str] = ()) -> Picture:
    """Picture scores and weights of one sentence (and one head), and below them its output."""
    tables = [_as_tables(part, name)[0] for part, name in
              ((scores, "scores"), (weights, "weights"), (output, "output"))]  # fmt: skip
    words = _name_tokens(words, len(tables[0]))

    def draw(figure):
        axes = figure.subplot_mosaic([["scores", "weights"], ["output", "output"]])
        for (title, axis), table in zip(axes.items(), tables, strict=True):
            finite = table[np.isfinite(table)]
            limits = (0.0, 1.0) if title == "weights" else (finite.min(), finite.max())
            columns = words if title != "output" else [str(i) for i in range(table.shape[1])]
            _draw_table(axis, table, words, columns, limits, ".1f" if title == "output" else ".2f")
            axis.set_title(f"{title}  {describe_shape(table)}")

    said = "Scores, weights and output of one sentence, one row per token."
    return Picture(
        draw, f"{said} {_describe_best(tables[1], words)}", size=(9, 0.9 * len(words) + 2.2)
    )


# --------------------------------------------------------------------------------- drawing


def _draw_tables(figure, tables, words, limits, title, label, titles=None, form=".2f") -> None:
    axes = np.atleast_1d(figure.subplots(1, len(tables), sharey=True))
    titles = titles or ([f"head {h}" for h in range(len(tables))] if len(tables) > 1 else [title])
    image = None
    for axis, table, name in zip(axes, tables, titles, strict=True):
        image = _draw_table(axis, table, words, words, limits, form)
        axis.set_title(name)
        axis.set_xlabel("key (looked at)")
    axes[0].set_ylabel("query (looking)")
    figure.colorbar(image, ax=list(axes), label=label, shrink=0.8)
    if len(tables) > 1 and title:
        figure.suptitle(title)


def _draw_table(axis, table, rows, columns, limits, form=".2f"):
    low, high = limits
    shown = np.ma.masked_invalid(table)
    axis.set_facecolor(_HIDDEN_COLOUR)
    image = axis.imshow(shown, cmap=COLOURS, vmin=low, vmax=high, aspect="auto")
    axis.set_xticks(range(len(columns)), columns, rotation=90 if max(map(len, columns)) > 3 else 0)
    axis.set_yticks(range(len(rows)), rows)
    if max(table.shape) > _MOST_NUMBERS:
        return image
    for row, column in np.ndindex(table.shape):
        number = table[row, column]
        text = f"{number:{form}}" if np.isfinite(number) else _name_infinity(number)
        text = text.removeprefix("-") if not text.strip("-0.") else text  # no "-0.0"
        if abs(number) >= 1e5 and np.isfinite(number):
            text = f"{number:.0e}"
        dark = np.isfinite(number) and number < (low + high) / 2
        axis.text(
            column, row, text, ha="center", va="center", fontsize=8,
            color="white" if dark else "black",
        )  # fmt: skip
    return image


def _name_infinity(number: float) -> str:
    if np.isnan(number):
        return "NaN"
    return "−∞" if number < 0 else "+∞"


def _size(tables) -> tuple[float, float]:
    T = len(tables[0])
    side = max(2.4, 0.5 * T + 0.8) if T <= _MOST_NUMBERS else 4.0
    return min(10.0, side * len(tables) + 1.4), side + 0.6


# --------------------------------------------------------------------------------- numbers


def _as_tables(value, name: str) -> list[np.ndarray]:
    """Return the tables of the first sentence: one, or one per head."""
    if not hasattr(value, "detach"):
        raise TypeError(
            f"There is nothing to draw: the {name} should be a tensor, not {describe_type(value)}."
        )
    array = value.detach().cpu().double().numpy()
    if array.ndim < 2:
        raise ValueError(
            f"There is nothing to draw: the {name} have shape {describe_shape(array)}."
        )
    while array.ndim > 3:
        array = array[0]
    if array.ndim == 3 and value.dim() == 3:  # (B, T, T): the first sentence
        array = array[0]
    return list(array) if array.ndim == 3 else [array]


def _name_tokens(words: Sequence[str], count: int) -> list[str]:
    return list(words) if len(words) == count else [f"t{i}" for i in range(count)]


def _count_tables(tables) -> str:
    size = f"{tables[0].shape[0]} by {tables[0].shape[1]}"
    return f"{len(tables)} heads, each {size}" if len(tables) > 1 else size


def _describe_first(tables, words: Sequence[str]) -> str:
    """Say where the last row is highest, and in which head if there are several."""
    best = _describe_best(tables[0], words)
    return f"Head 0: {best[0].lower()}{best[1:]}" if len(tables) > 1 and best else best


def _describe_best(table: np.ndarray, words: Sequence[str]) -> str:
    """Say where the last row is highest."""
    if table.shape[1] != len(words) or np.isnan(table[-1]).any():
        return ""
    best = int(table[-1].argmax())
    return f"In the last row ({words[len(table) - 1]}), {words[best]} is highest with {table[-1, best]:.2f}."
