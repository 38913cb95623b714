"""Notebook 1's figures: the steps of attention, angles, scores, weights, and explorers with sliders.

Keys are drawn at their true angle to the query, one dial for all of them. A flat picture of arrows
in space shows other angles than the true ones; such a picture is here only where it can be turned.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from course_utils import queries
from course_utils.checks.values import as_array, describe_shape, is_open
from course_utils.plots.picture import COLOURS, Picture, nothing_to_draw, nothing_yet
from course_utils.plots.sliders import find_widgets

_QUERY_COLOUR = "#b3341f"
_KEY_COLOUR = "#1f3a6b"
_BAR_COLOUR = "#5b6f9c"
_EARLIER = "your query from 1.3.2"
_MARKS = ("o", "s", "^", "D")  # each key has a mark of its own, so colour never stands alone


# ------------------------------------------------------------- notebook 1: query crafting


def plot_steps(q, keys=None, values=None) -> Picture:
    """Picture the three steps of attention, scores, weights and output, for one query or more."""
    keys, values = _world(keys, values)
    if problem := _find_problem(q, width=keys.shape[1], rows=None):
        return problem
    scores, weights, output = _attend(q, keys, values)
    names = [f"v{i}" for i in range(len(values))]

    def draw(figure):
        axes = figure.subplots(1, 3, width_ratios=[len(keys), len(keys), values.shape[1]])
        panels = (
            ("1. scores  $q K^T$", scores, [f"k{i}" for i in range(len(keys))], None),
            ("2. weights  softmax", weights, names, (0, max(0.5, weights.max()))),
            ("3. output  weights · V", output, list("xyz"), None),
        )
        for axis, (title, table, columns, limits) in zip(axes, panels, strict=True):
            _draw_heatmap(figure, axis, table, columns, limits)
            axis.set_title(title)

    top = weights.argmax(axis=-1)
    rows = [f"query {row}: " if len(weights) > 1 else "" for row in range(len(weights))]
    words = "Scores, weights and output. " + " ".join(
        f"{rows[row]}v{top[row]} gets the largest weight, {weights[row, top[row]]:.2f}."
        for row in range(len(weights))
    )
    return Picture(draw, words, size=(9, 1.6 + 0.45 * len(weights)))


def plot_dial(q) -> Picture:
    """Picture every key at its true angle to the query, and the scores that follow from it."""
    if problem := _find_problem(q):
        return problem
    keys, _ = _world(None, None)
    query = _as_rows(q)[0]

    def draw(figure):
        left, right = figure.subplots(1, 2, width_ratios=[1.7, 1])
        _draw_dial(left, keys, query)
        _draw_scores(right, keys @ query)

    return Picture(draw, _describe_angles(keys, query), size=(8.5, 3.4))


def plot_target(q, target, keys=None, values=None, name: str = "yours") -> Picture:
    """Picture what your query gives beside what is asked for, number by number."""
    keys, values = _world(keys, values)
    target = _as_rows(target)
    if problem := _find_problem(q, width=keys.shape[1], rows=len(target)):
        return problem
    _, _, output = _attend(q, keys, values)

    def draw(figure):
        left, right = figure.subplots(1, 2, sharey=True)
        limits = (min(output.min(), target.min()), max(output.max(), target.max()))
        for axis, title, table in ((left, name, output), (right, "target", target)):
            _draw_heatmap(figure, axis, table, list("xyz"), limits)
            axis.set_title(title)

    error = np.abs(output - target).max()
    words = f"Your output beside the target; the largest difference is {error:.3f}."
    return Picture(draw, words, size=(6, 1.4 + 0.45 * len(output)))


def plot_lengths(direction, lengths: Sequence[float] = (0, 1, 3, 10)) -> Picture:
    """Picture how the weights change when the same query gets longer."""
    if problem := _find_problem(direction):
        return problem
    keys, values = _world(None, None)
    direction = _as_rows(direction)[0]
    direction = direction / np.linalg.norm(direction)
    table = [_attend(length * direction, keys, values)[1][0] for length in lengths]

    def draw(figure):
        axes = figure.subplots(1, len(lengths), sharey=True)
        for axis, length, weights in zip(axes, lengths, table, strict=True):
            _draw_weights(axis, weights)
            axis.set_title(f"length {length:g}")
        axes[0].set_ylabel("weight")

    words = "Weights of v0 to v3 as the query keeps its direction and grows: " + "; ".join(
        f"length {length:g}: " + ", ".join(f"{share:.2f}" for share in weights)
        for length, weights in zip(lengths, table, strict=True)
    )
    return Picture(draw, words + ".", size=(2.2 * len(lengths), 2.4))


def plot_query(q) -> Picture:
    """Picture a query among the keys, its scores, and the weights it produces."""
    if problem := _find_problem(q):
        return problem
    keys, values = _world(None, None)
    query = _as_rows(q)[0]
    _, weights, output = _attend(query, keys, values)

    def draw(figure):
        left, middle, right = figure.subplots(1, 3, width_ratios=[1.9, 1, 1])
        _draw_dial(left, keys, query)
        _draw_scores(middle, keys @ query)
        _draw_weights(right, weights[0])
        right.set_title("weights")

    numbers = ", ".join(f"{number + 0.0:.2f}" for number in query)  # + 0.0 turns -0.0 into 0.0
    shares = ", ".join(f"v{i} {share:.2f}" for i, share in enumerate(weights[0]))
    result = ", ".join(f"{number:.2f}" for number in output[0])
    words = f"q = ({numbers}): weights {shares}; output ({result}). "
    return Picture(draw, words + _describe_angles(keys, query), size=(10.5, 3.2))


def plot_error(q, target) -> Picture:
    """Picture the error as the query keeps its direction and its length changes."""
    if problem := _find_problem(q):
        return problem
    keys, values = _world(None, None)
    query, target = _as_rows(q)[0], _as_rows(target)[0]
    length = float(np.linalg.norm(query))
    if length == 0:
        return Picture(
            lambda figure: figure.text(0.5, 0.5, "a query of length 0", ha="center"),
            "Your query has length 0, so it has no direction to be lengthened.",
            size=(5, 1.2),
        )
    lengths = np.geomspace(min(0.05, length), max(2000.0, length), 400)
    errors = np.array(
        [np.abs(_attend(r / length * query, keys, values)[2][0] - target).max() for r in lengths]
    )
    own = float(np.abs(_attend(query, keys, values)[2][0] - target).max())

    def draw(figure):
        axis = figure.subplots()
        axis.axhspan(0, queries.TOLERANCE, color="#d9e5d6", label="full credit")
        axis.semilogx(lengths, errors, color=_KEY_COLOUR)
        axis.plot([length], [own], "o", color=_QUERY_COLOUR, label="your query")
        axis.set_ylim(0, max(0.3, 1.05 * errors.max()))
        axis.set_xlabel("length of the query (its direction stays)")
        axis.set_ylabel("error")
        axis.legend()

    passing = lengths[errors <= queries.TOLERANCE]
    words = f"Your query has length {length:.3g} and error {own:.3f}. "
    words += (
        f"In its direction, lengths from {passing.min():.3g} to {passing.max():.3g} are within "
        f"{queries.TOLERANCE}"
        if len(passing)
        else f"No length in its direction comes within {queries.TOLERANCE}"
    )
    return Picture(draw, words + f" (lengths up to {lengths[-1]:.4g} were tried).", size=(7, 3))


def plot_key(k2, query) -> Picture:
    """Picture what one query gives when only the third key is replaced: scores and weights."""
    if problem := _find_problem(query, _EARLIER) or _find_problem(k2, "your new key"):
        return problem
    before, values = _world(None, None)
    keys, query = before.copy(), _as_rows(query)[0]
    keys[2] = _as_rows(k2)[0]
    old, new = (_attend(query, table, values) for table in (before, keys))

    def draw(figure):
        left, right = figure.subplots(1, 2)
        for axis, tables, title in (
            (left, (old[0][0], new[0][0]), "scores"),
            (right, (old[1][0], new[1][0]), "weights"),
        ):
            names = "kkkk" if title == "scores" else "vvvv"
            places = np.arange(len(keys))
            for shift, numbers, colour, hatch, label in (
                (-0.2, tables[0], "#c4c4c4", "", "with the old k2"),
                (0.2, tables[1], _BAR_COLOUR, "//", "with the new k2"),
            ):
                bars = axis.bar(
                    places + shift, numbers, 0.4, color=colour, hatch=hatch, label=label
                )
                axis.bar_label(bars, fmt="%.2f", fontsize=8, padding=1)
            axis.set_xticks(places, [f"{name}{i}" for i, name in enumerate(names)])
            axis.margins(y=0.15)
            axis.axhline(0, color="black", linewidth=0.6)
            axis.set_title(title)
        right.set_ylim(0, 1.15)
        left.legend(fontsize=8)

    shares = ", ".join(
        f"v{i} {a:.2f} → {b:.2f}" for i, (a, b) in enumerate(zip(old[1][0], new[1][0], strict=True))
    )
    words = (
        f"The new k2 has length {np.linalg.norm(keys[2]):.2f} and score {new[0][0][2]:.2f} "
        f"(before: {old[0][0][2]:.2f}). Weights: {shares}."
    )
    return Picture(draw, words, size=(9, 3.2))


def explore_query():
    """Return sliders for a query, with its picture; where widgets cannot run, a still picture."""
    return _explore(plot_query, "q", (2.0, 0.0, 2.0), 15, 0.5)


def explore_key(query):
    """Return sliders for the third key, with what it does to the weights; or a still picture."""
    if problem := _find_problem(query, _EARLIER):
        return problem
    start = tuple(float(number) for number in _world(None, None)[0][2])
    return _explore(lambda k2: plot_key(k2, query), "k2", start, 1.5, 0.01)


def turn_arrows(q=None):
    """Return keys and query as arrows in space, with sliders that turn them; else the dial."""
    if q is not None and (problem := _find_problem(q)):
        return problem
    query = None if q is None else _as_rows(q)[0]
    still = plot_dial(q if q is not None else (1.0, 0.0, 0.0))
    widgets = find_widgets()
    if widgets is None:
        return still
    from IPython.display import display

    keys, _ = _world(None, None)

    def show(turn, tilt):
        def draw(figure):
            _draw_arrows(figure.add_subplot(projection="3d"), keys, query, turn, tilt)

        words = f"Keys and query in space, turned by {turn} and tilted by {tilt} degrees."
        display(Picture(draw, words, size=(4.6, 4.2)))

    sliders = {
        "turn": widgets.IntSlider(-25, -180, 180, 5, description="turn", continuous_update=False),
        "tilt": widgets.IntSlider(20, -90, 90, 5, description="tilt", continuous_update=False),
    }
    return widgets.VBox(
        [widgets.HBox(list(sliders.values())), widgets.interactive_output(show, sliders)]
    )


def _explore(plot, name: str, start, limit: float, step: float):
    widgets = find_widgets()
    if widgets is None:
        return plot(start)
    from IPython.display import display

    sliders = [
        widgets.FloatSlider(
            value=value, min=-limit, max=limit, step=step, description=f"{name}[{i}]",
            continuous_update=False,
        )
        for i, value in enumerate(start)
    ]  # fmt: skip
    panel = widgets.interactive_output(
        lambda x, y, z: display(plot((x, y, z))), dict(zip("xyz", sliders, strict=True))
    )
    return widgets.VBox([widgets.HBox(sliders), panel])


# ------------------------------------------------------------------------------- drawing


def _draw_heatmap(figure, axis, table, columns, limits) -> None:
    low, high = limits or (table.min(), table.max())
    image = axis.imshow(table, cmap=COLOURS, vmin=low, vmax=high, aspect="auto")
    axis.set_xticks(range(len(columns)), columns)
    axis.set_yticks(
        range(len(table)), [f"q{i}" if len(table) > 1 else "q" for i in range(len(table))]
    )
    middle = (low + high) / 2
    for row, column in np.ndindex(table.shape):
        number = table[row, column]
        colour = "white" if number < middle else "black"
        axis.text(column, row, f"{number:.2f}", ha="center", va="center", color=colour)
    figure.colorbar(image, ax=axis, shrink=0.8)


def _draw_dial(axis, keys, query) -> None:
    """Draw half a disc: the query to the right, each key at its true angle to it."""
    length = float(np.linalg.norm(query))
    rim = np.linspace(0, np.pi, 181)
    axis.plot(np.cos(rim), np.sin(rim), color="#bbbbbb", linewidth=0.8)
    axis.plot([-1, 1], [0, 0], color="#bbbbbb", linewidth=0.8)
    axis.plot([0, 0], [0, 1], color="#dddddd", linewidth=0.8, linestyle=":")
    axis.set(xlim=(-1.45, 1.45), ylim=(-0.34, 1.32), aspect="equal")
    axis.axis("off")
    if length == 0:
        axis.text(0, 0.5, "a query of length 0\nhas no direction", ha="center", va="center")
        return
    arrow = {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0, "mutation_scale": 12}
    axis.annotate(
        "", (1.12, 0), (0, 0), arrowprops=arrow | {"color": _QUERY_COLOUR, "linestyle": "--"}
    )
    axis.text(
        1.12,
        -0.05,
        f"q (length {length:.3g})",
        color=_QUERY_COLOUR,
        ha="right",
        va="top",
        fontsize=9,
    )
    angles = _find_angles(keys, query)
    places = _spread(angles)
    for index, key in enumerate(keys):
        size, angle = np.linalg.norm(key), np.radians(angles[index])
        tip = size * np.array([np.cos(angle), np.sin(angle)])
        axis.annotate("", tip, (0, 0), arrowprops=arrow | {"color": _KEY_COLOUR})
        axis.plot([tip[0], tip[0]], [0, tip[1]], color=_KEY_COLOUR, linewidth=0.7, linestyle=":")
        axis.plot(tip[0], 0, marker=_MARKS[index % len(_MARKS)], color=_KEY_COLOUR, markersize=4)
        place = 1.16 * max(size, 1.0) * np.exp(1j * np.radians(places[index]))
        axis.text(
            place.real, place.imag, f"k{index}  {angles[index]:.0f}°", color=_KEY_COLOUR,
            ha="center", va="center", fontsize=9,
        )  # fmt: skip
    axis.text(
        0,
        -0.31,
        "score = length of q × where the dotted line lands\n(q itself is not drawn to scale)",
        ha="center",
        fontsize=8,
    )
    axis.set_title("angle of each key to the query", fontsize=10)


def _spread(angles, apart: float = 16.0) -> np.ndarray:
    """Return angles for labels: as given, but pushed apart where two would overlap."""
    order = np.argsort(angles)
    places = np.array(angles, dtype=float)
    for before, after in pairwise(order):
        places[after] = max(places[after], places[before] + apart)
    over = places.max() - 180
    if over > 0:  # the last ones moved past the end: push back from there
        places[order[-1]] = 180
        for after, before in pairwise(order[::-1]):
            places[before] = min(places[before], places[after] - apart)
    return places


def _draw_scores(axis, scores) -> None:
    bars = axis.barh([f"k{i}" for i in range(len(scores))], scores, color=_BAR_COLOUR)
    axis.bar_label(bars, labels=[f"{score + 0.0:.2f}" for score in scores], padding=2, fontsize=9)
    axis.axvline(0, color="black", linewidth=0.6)
    axis.invert_yaxis()
    reach = 1.6 * max(0.5, float(np.abs(scores).max()))
    axis.set_xlim(-reach, reach)
    axis.set_title("scores", fontsize=10)


def _draw_arrows(axis, keys, query, turn: float, tilt: float) -> None:
    for index, key in enumerate(keys):
        axis.quiver(0, 0, 0, *key, color=_KEY_COLOUR, arrow_length_ratio=0.08)
        axis.text(*(1.25 * key), f"k{index}", color=_KEY_COLOUR)
    length = 0.0 if query is None else float(np.linalg.norm(query))
    if length > 0:
        # A long query would shrink the keys to dots: past length 1.5 only its direction is drawn.
        tip = query * min(1.0, 1.5 / length)
        axis.quiver(0, 0, 0, *tip, color=_QUERY_COLOUR, linestyle="--", arrow_length_ratio=0.08)
        axis.text(*(1.15 * tip), "q", color=_QUERY_COLOUR)
    axis.view_init(elev=tilt, azim=turn)
    axis.set_box_aspect(None, zoom=0.95)  # leaves room for the axis labels
    for name in "xyz":
        getattr(axis, f"set_{name}lim")(-1.2, 1.2)
        getattr(axis, f"set_{name}ticks")((-1, 0, 1))
        getattr(axis, f"set_{name}label")(name)


def _draw_weights(axis, weights) -> None:
    bars = axis.bar([f"v{i}" for i in range(len(weights))], weights, color=_BAR_COLOUR)
    axis.bar_label(bars, labels=[f"{share:.2f}" for share in weights])
    axis.set_ylim(0, 1.15)


# ------------------------------------------------------------------------------- numbers


def _find_angles(keys, query) -> np.ndarray:
    """Return the angle between the query and each key, in degrees."""
    cosines = keys @ query / np.linalg.norm(keys, axis=-1) / np.linalg.norm(query)
    return np.degrees(np.arccos(np.clip(cosines, -1, 1)))


def _describe_angles(keys, query) -> str:
    length = float(np.linalg.norm(query))
    if length == 0:
        return "The query has length 0: it has no direction, and all scores are 0."
    angles, scores = _find_angles(keys, query), keys @ query
    return (
        f"Angle to the query (of length {length:.3g}), and score: "
        + "; ".join(
            f"k{i} {angle:.0f}°, {score + 0.0:.2f}"
            for i, (angle, score) in enumerate(zip(angles, scores, strict=True))
        )
        + "."
    )


def _find_problem(value, what: str = "your query", width: int = 3, rows: int | None = 1):
    """Return a picture that says why nothing can be drawn of a value; None where something can.

    A value is `rows` rows of `width` numbers (any number of rows if that is None).
    """
    if is_open(value):
        return nothing_yet(what)
    try:
        array = as_array(value)
    except ValueError as problem:
        return nothing_to_draw(f"{what} should hold numbers: {problem}.")
    table = np.atleast_2d(array)
    if table.shape != (rows or len(table), width):
        wanted = f"({width},)" if rows == 1 else f"({rows or 'n'}, {width})"
        return nothing_to_draw(
            f"{what} has shape {describe_shape(array)}, but it must have shape {wanted}."
        )
    if not np.isfinite(array).all():
        return nothing_to_draw(f"{what} contains NaN or infinity.")
    return None


def _world(keys, values):
    keys = queries.make_keys() if keys is None else keys
    values = queries.make_values() if values is None else values
    return _as_rows(keys), _as_rows(values)


def _as_rows(numbers) -> np.ndarray:
    """Return numbers given as list, array or tensor as rows of a float array."""
    return np.atleast_2d(as_array(numbers))


def _attend(q, keys, values):
    import torch

    steps = queries.attend(*(torch.from_numpy(_as_rows(table)) for table in (q, keys, values)))
    return [step.numpy() for step in steps]
