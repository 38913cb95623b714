"""Figures of notebook noise_and_heads, drawn from the learner's own functions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from course_utils import noisy_keys
from course_utils.checks.findings import Finding
from course_utils.checks.noise_and_heads import TASKS, judge_queries, read_numbers
from course_utils.checks.projections import (
    describe_vector,
    make_tokens,
    share_attention,
)
from course_utils.checks.set_calls import call_on_sets
from course_utils.checks.set_findings import find_problem
from course_utils.noisy_keys import World
from course_utils.plots.picture import COLOURS, Picture
from course_utils.plots.sliders import find_widgets

_A_COLOUR, _B_COLOUR, _OTHER_COLOUR, _TARGET_COLOUR = "#1f3a6b", "#b3341f", "#8a8a8a", "#000000"
_SEED = 4
_DRAWS = 300
_SYNTHESIZER_SEED = 96  # of an example in which every change is large enough to see


def draw_stage() -> tuple[World, np.ndarray]:
    """Return the world that the figures show, always the same: six tokens, and their values."""
    rng = np.random.default_rng(_SEED)
    world = World(noisy_keys.draw_orthonormal(rng, 6, 8), a=1, b=4)
    values = noisy_keys.draw_values(rng, world, 1)[0]  # (6, 8)
    values[:, :2] = [
        (-0.1, 0.85),
        (-0.8, -0.5),
        (0.15, -0.8),
        (-0.75, 0.6),
        (0.75, 0.55),
        (0.9, -0.3),
    ]
    return world, values


# ------------------------------------------------------------------------------ single draws


def plot_new_keys(function: Callable, name: str = "copy_query", sets: int = 3) -> Picture:
    """Picture the weights that your formula gives on keys it has not seen, one panel per set."""
    rng = np.random.default_rng(_SEED)
    task = TASKS[name]
    worlds = [noisy_keys.draw_world(rng) for _ in range(sets)]
    queries = [_ask(name, function, world) for world in worlds]
    problem = next((q for q in queries if isinstance(q, str)), None)
    if problem:
        return _say(problem)
    tables = [
        noisy_keys.find_weights(q, world.means[None])[:, 0].mean(axis=0)
        for q, world in zip(queries, worlds, strict=True)
    ]
    wanted = [[world.a, world.b][: task.tokens] for world in worlds]

    def draw(figure):
        axes = figure.subplots(1, sets, sharey=True)
        for axis, world, table, chosen in zip(axes, worlds, tables, wanted, strict=True):
            bars = axis.bar(range(len(table)), table, color=_OTHER_COLOUR)
            for token in chosen:
                bars[token].set_color(_A_COLOUR)
                axis.annotate("▼", (token, 1.04), ha="center", va="bottom", annotation_clip=False)
            axis.set_title(f"{len(table)} keys in {world.means.shape[1]} dimensions", pad=16)
            axis.set_xticks(range(len(table)))
            axis.set_xlabel("token")
            axis.set_ylim(0, 1.05)
        axes[0].set_ylabel("weight")

    said = "; ".join(
        f"set {i + 1}: " + ", ".join(f"token {t} gets {table[t]:.2f}" for t in chosen)
        for i, (table, chosen) in enumerate(zip(tables, wanted, strict=True))
    )
    words = f"Weights on {sets} new sets of keys; ▼ marks the tokens asked for. {said[0].upper()}{said[1:]}."
    return Picture(draw, words, size=(9, 2.9))


# ---------------------------------------------------------------------------------- clouds


def plot_cloud(one_head: Callable, two_heads: Callable | None = None) -> Picture:
    """Picture the outputs of many draws of the unsteady key: one head, and beside it two.

    `one_head` and `two_heads` are your `robust_query` and `two_head_queries`.
    """
    world, values = draw_stage()
    asked = [("one head", _ask("robust_query", one_head, world))]
    if two_heads is not None:
        asked.append(("two heads", _ask("two_head_queries", two_heads, world)))
    problem = next((queries for _, queries in asked if isinstance(queries, str)), None)
    if problem:
        return _say(problem)
    rng = np.random.default_rng(_SEED)
    keys = noisy_keys.draw_keys(rng, world, _DRAWS, noisy_keys.draw_gains(rng, _DRAWS))
    clouds = [(title, *_find_cloud(world, values, queries, keys)) for title, queries in asked]

    def draw(figure):
        axes = np.atleast_1d(figure.subplots(1, len(clouds), sharex=True, sharey=True))
        for axis, (title, outputs, right) in zip(axes, clouds, strict=True):
            _draw_cloud(axis, world, values, outputs)
            axis.set_title(f"{title}: {right.sum()} of {len(right)} draws right")
        handles = axes[0].get_legend_handles_labels()
        figure.legend(*handles, loc="outside lower center", ncols=3, fontsize="small")

    said = " ".join(
        f"With {title}, {right.sum()} of {len(right)} lie within 0.05 of the mean of v_a and v_b; "
        + "{} are nearer to v_a than to the mean, {} nearer to v_b.".format(
            *_count_nearer(outputs, values[world.a], values[world.b])
        )
        for title, outputs, right in clouds
    )
    words = f"Outputs of {_DRAWS} draws of the unsteady key, their first two coordinates. {said}"
    return Picture(draw, words, size=(4.6 * len(clouds), 3.9))


def _find_cloud(world, values, queries, keys):
    weights = noisy_keys.find_weights(queries, keys)
    repeated = np.broadcast_to(values, keys.shape)
    outputs = noisy_keys.mix_values(weights, repeated)
    target = (values[world.a] + values[world.b]) / 2
    return outputs, noisy_keys.is_right(outputs, target)


def _count_nearer(outputs, v_a, v_b) -> tuple[int, int]:
    """Return how many outputs lie nearer to v_a, and to v_b, than to the mean of the two."""
    spots = np.stack([v_a, (v_a + v_b) / 2, v_b])
    nearest = np.linalg.norm(outputs[:, None] - spots, axis=-1).argmin(axis=1)
    return int((nearest == 0).sum()), int((nearest == 2).sum())


def _draw_cloud(axis, world, values, outputs) -> None:
    others = [i for i in range(len(values)) if i not in (world.a, world.b)]
    axis.scatter(*values[others, :2].T, marker="^", color=_OTHER_COLOUR, label="other values")
    axis.scatter(*outputs[:, :2].T, s=14, alpha=0.25, color="#5b6f9c", label="outputs", zorder=5)
    marks = (
        (world.a, "v_a", "o", _A_COLOUR, (-20, -16)),
        (world.b, "v_b", "s", _B_COLOUR, (7, 5)),
    )
    for token, name, mark, colour, offset in marks:
        axis.scatter(*values[token, :2], marker=mark, s=70, color=colour, zorder=3)
        axis.annotate(
            f"${name}$", values[token, :2], xytext=offset, textcoords="offset points",
            color=colour, fontsize=13,
        )  # fmt: skip
    target = (values[world.a] + values[world.b])[:2] / 2
    axis.scatter(*target, marker="+", s=220, linewidths=1.8, color=_TARGET_COLOUR, zorder=4,
                 label="mean of $v_a$ and $v_b$")  # fmt: skip
    axis.set(xlim=(-1.08, 1.08), ylim=(-1.08, 1.08), xlabel="coordinate 0", ylabel="coordinate 1")
    axis.set_aspect("equal")


def plot_noise(function: Callable, noise: float = 1e-3, length: float = 15.0) -> Picture:
    """Picture the outputs of your query, made as long as you like, when keys are drawn with noise.

    `noise` is the standard deviation of every coordinate of every key.
    """
    world, values = draw_stage()
    queries = _ask("robust_query", function, world)
    if isinstance(queries, str):
        return _say(queries)
    size = float(np.linalg.norm(queries))
    queries = queries / (size or 1.0) * length
    rng = np.random.default_rng(_SEED)
    keys = noisy_keys.draw_keys(rng, world, _DRAWS, variance=noise**2)
    outputs, right = _find_cloud(world, values, queries, keys)
    weights = noisy_keys.find_weights(queries, keys)[0]  # (draws, n)

    def draw(figure):
        left, axis = figure.subplots(1, 2, width_ratios=[1, 1.1])
        _draw_cloud(left, world, values, outputs)
        left.set_title(f"{right.sum()} of {len(right)} draws right")
        axis.hist(weights[:, world.a], bins=np.linspace(0, 1, 21), color=_A_COLOUR)
        axis.set(xlim=(0, 1), xlabel="weight of a", ylabel="draws")
        axis.set_title(f"noise {noise:.2g}, query length {length:.3g}")

    spread = weights[:, world.a]
    words = (
        f"With noise {noise:.2g} in the keys and a query of length {length:.3g}, {right.sum()} of "
        f"{len(right)} draws are right; the weight of a lies between {spread.min():.2f} and "
        f"{spread.max():.2f}."
    )
    return Picture(draw, words, size=(9, 3.7))


def explore_noise(function: Callable):
    """Return sliders for noise and query length with their picture; without widgets, a still one."""
    widgets = find_widgets()
    if widgets is None:
        return plot_noise(function)
    from IPython.display import display

    noise = widgets.FloatLogSlider(
        value=1e-3, base=10, min=-5, max=-0.5, step=0.25, description="noise",
        continuous_update=False, readout_format=".1e",
    )  # fmt: skip
    length = widgets.FloatLogSlider(
        value=15, base=10, min=0, max=3, step=0.1, description="length",
        continuous_update=False, readout_format=".3g",
    )  # fmt: skip
    panel = widgets.interactive_output(
        lambda noise, length: display(plot_noise(function, noise, length)),
        {"noise": noise, "length": length},
    )
    return widgets.VBox([widgets.HBox([noise, length]), panel])


def plot_shares(
    function: Callable, lengths=(2, 4, 6, 8, 10, 14, 20, 30, 40, 60, 100, 200, 400)
) -> Picture:
    """Picture in how many draws your `robust_query` is right when it is made shorter or longer."""
    rng = np.random.default_rng(_SEED)
    worlds = [noisy_keys.draw_world(rng) for _ in range(30)]
    answers = [_ask("robust_query", function, world) for world in worlds]
    problem = next((q for q in answers if isinstance(q, str)), None)
    if problem:
        return _say(problem)
    directions = [q / (np.linalg.norm(q) or 1.0) for q in answers]
    shares = {
        title: [_find_share(task, worlds, directions, length) for length in lengths]
        for title, task in (("steady keys, noise 0.001", TASKS["robust_query"]),
                            ("key a unsteady", TASKS["two_head_queries"]))
    }  # fmt: skip
    own = float(np.median([np.linalg.norm(q) for q in answers]))

    def draw(figure):
        axis = figure.subplots()
        styles = (("o", "-", _A_COLOUR), ("s", "--", _B_COLOUR))
        for (title, row), (mark, line, colour) in zip(shares.items(), styles, strict=True):
            axis.plot(lengths, row, marker=mark, linestyle=line, color=colour, label=title)
        axis.axvline(own, color=_OTHER_COLOUR, linestyle=":", label=f"your length, {own:.3g}")
        axis.axhline(0.95, color=_OTHER_COLOUR, linewidth=0.8)
        axis.annotate("0.95: full credit", (lengths[0], 0.955), va="bottom", fontsize="small")
        axis.set(xscale="log", ylim=(-0.03, 1.08), xlabel="length of the query",
                 ylabel="share of right draws")  # fmt: skip
        axis.set_xticks(lengths, [f"{length:g}" for length in lengths], minor=False)
        axis.minorticks_off()
        axis.legend(loc="center left", bbox_to_anchor=(1, 0.5))

    said = "; ".join(
        f"{title}: "
        + ", ".join(
            f"{share:.2f} at {length:g}" for length, share in zip(lengths, row, strict=True)
        )
        for title, row in shares.items()
    )
    words = f"Share of right draws of one head by the length of your query. {said}."
    return Picture(draw, words, size=(9, 3.4))


def _find_share(task, worlds, directions, length) -> float:
    from course_utils.checks.noise_and_heads import count_right

    rng = np.random.default_rng(_SEED)
    queries = [length * q for q in directions]
    return count_right(task, worlds, queries, rng, 20) / (20 * len(worlds))


# ------------------------------------------------------------------------------ the factor g


def plot_gains(one_head: Callable, two_heads: Callable | None = None) -> Picture:
    """Picture the weights of a, of b and of all others as key a grows from 0.3 to 2.5 times mu_a."""
    world, _ = draw_stage()
    asked = [("one head", _ask("robust_query", one_head, world))]
    if two_heads is not None:
        asked.append(("two heads, their mean", _ask("two_head_queries", two_heads, world)))
    problem = next((queries for _, queries in asked if isinstance(queries, str)), None)
    if problem:
        return _say(problem)
    gains = np.linspace(noisy_keys.LEAST_GAIN, 2.5, 89)
    keys = np.repeat(world.means[None], len(gains), axis=0)
    keys[:, world.a] *= gains[:, None]
    panels = [
        (title, noisy_keys.find_weights(queries, keys).mean(axis=0)) for title, queries in asked
    ]

    def draw(figure):
        axes = np.atleast_1d(figure.subplots(1, len(panels), sharey=True))
        for axis, (title, weights) in zip(axes, panels, strict=True):
            pair = weights[:, [world.a, world.b]]
            axis.plot(gains, pair[:, 0], color=_A_COLOUR, linewidth=3, label="a")
            axis.plot(gains, pair[:, 1], color=_B_COLOUR, linestyle="--", label="b")
            axis.plot(gains, 1 - pair.sum(axis=1), color=_OTHER_COLOUR, linestyle=":",
                      label="all others")  # fmt: skip
            axis.axvline(1, color=_OTHER_COLOUR, linewidth=0.8)
            axis.set(xlabel="g, the length of key a", ylim=(-0.03, 1.03))
            axis.set_title(title)
        axes[0].set_ylabel("weight")
        axes[0].legend(loc="center right", title="weight of")

    said = " ".join(
        f"{title.capitalize()}: the weight of a is {_look_up(gains, weights[:, world.a], 0.5):.2f} "
        f"at g = 0.5, {_look_up(gains, weights[:, world.a], 1.0):.2f} at g = 1 and "
        f"{_look_up(gains, weights[:, world.a], 1.5):.2f} at g = 1.5."
        for title, weights in panels
    )
    return Picture(draw, f"Weights as key a gets longer. {said}", size=(4.4 * len(panels), 3.2))


def _look_up(gains, weights, gain) -> float:
    return float(np.interp(gain, gains, weights))


# ------------------------------------------------------------------------------- K, Q and V


def plot_projections(function: Callable, add_to_x2: str = "") -> Picture:
    """Picture who looks at whom among x1, x2 and x3, what is handed over, and what comes out.

    `add_to_x2` may name one of u_a, u_b, u_c and u_d: it is added to x2 before attention runs.
    """
    names = ("u_a", "u_b", "u_c", "u_d")
    if add_to_x2 and add_to_x2 not in names:
        return _say(f"add_to_x2 should be one of {', '.join(names)}, or empty.")
    rng = np.random.default_rng(_SEED)
    directions = 10 * noisy_keys.draw_orthonormal(rng, 4, 6)
    results = read_numbers(call_on_sets(function, [list(directions)], 3))
    problem = find_problem(results, 1, "three matrices, (V, K, Q)")
    matrices = [results.get(f"0.out.{part}") for part in range(3)]
    if problem or any(np.shape(matrix) != (6, 6) for matrix in matrices):
        return _say(problem.sentence if problem else "three matrices of shape (d, d) are needed.")
    tokens = make_tokens(directions)
    if add_to_x2:
        tokens[1] += directions[names.index(add_to_x2)]
    found = share_attention(*matrices, tokens)
    values, contexts, inputs = (
        [describe_vector(vector, directions) for vector in table]
        for table in (found.values, found.contexts, tokens)
    )

    def draw(figure):
        axis = figure.subplots()
        for row in range(3):
            for column in range(3):
                weight = found.weights[row, column]
                if weight >= 0.02:
                    _draw_link(axis, row, column, weight)
        for row in range(3):
            height = 2 - row
            _draw_box(axis, 0.0, height, f"$x_{row + 1}$", "right", inputs[row])
            _draw_box(axis, 1.0, height, f"$x_{row + 1}$", "left", values[row])
            axis.text(
                2.15,
                height,
                f"$c_{row + 1}$ =  {_set_formula(contexts[row])}",
                va="center",
                fontsize=11,
            )
        axis.set(xlim=(-0.75, 3.2), ylim=(-0.5, 2.75))
        axis.text(0, 2.6, "who looks", ha="center", weight="bold")
        axis.text(1, 2.6, "at whom, and its value", ha="center", weight="bold")
        axis.text(1.95, 2.6, "what comes out", weight="bold")
        axis.axis("off")

    said = " ".join(
        f"x{row + 1} looks at "
        + ", ".join(
            f"x{c + 1} ({found.weights[row, c]:.2f})"
            for c in range(3)
            if found.weights[row, c] >= 0.02
        )
        + f", so c{row + 1} = {contexts[row]}."
        for row in range(3)
    )
    extra = f" (x2 is {inputs[1]} here.)" if add_to_x2 else ""
    return Picture(draw, said + extra, size=(9.2, 2.8))


def _draw_link(axis, row: int, column: int, weight: float) -> None:
    start, end = (0.17, 2 - row), (0.83, 2 - column)
    axis.annotate(
        "", xy=end, xytext=start,
        arrowprops={"arrowstyle": "-|>", "lw": 0.6 + 3.4 * weight, "color": _A_COLOUR,
                    "alpha": 0.35 + 0.65 * weight, "shrinkA": 0, "shrinkB": 0},
    )  # fmt: skip
    place = 0.2  # near the one who asks: further on, arrows cross
    axis.text(
        start[0] + place * (end[0] - start[0]), start[1] + place * (end[1] - start[1]),
        f"{weight:.2f}", ha="center", va="center", fontsize=9,
        bbox={"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none"},
    )  # fmt: skip


def _draw_box(axis, x: float, y: float, title: str, side: str, content: str) -> None:
    colour = _A_COLOUR if side == "right" else _B_COLOUR
    axis.text(x, y, title, ha="center", va="center", color="white", fontsize=11,
              bbox={"boxstyle": "round,pad=0.35", "fc": colour, "ec": "none"})  # fmt: skip
    offset = -0.2 if side == "right" else 0.13
    align = "right" if side == "right" else "left"
    axis.text(x + offset, y, _set_formula(content), ha=align, va="center", fontsize=11)


def _set_formula(text: str) -> str:
    """Set the u's of "u_b - u_c" as symbols."""
    for letter in "abcd":
        text = text.replace(f"u_{letter}", f"$u_{letter}$")
    return text.replace("- ", "\N{MINUS SIGN} ")


# ------------------------------------------------------------------------------ synthesizer


def plot_changed_token(function: Callable, changed: int = 1) -> Picture:
    """Picture the weights of your synthesizer, and of key-query-value attention, when one of five
    tokens is replaced by another.
    """
    import torch

    words = ["the", "cat", "saw", "a", "dog"]
    T, C = len(words), 6
    if not 0 <= changed < T:
        return _say(f"`changed` should be a token from 0 to {T - 1}.")
    generator = torch.Generator().manual_seed(_SYNTHESIZER_SEED)

    def draw_numbers(*shape):
        return torch.randn(*shape, generator=generator)

    before = draw_numbers(1, T, C)
    after = before.clone()
    after[0, changed] = draw_numbers(C)
    w1, b1 = draw_numbers(C, 8) / C**0.5, draw_numbers(8)
    w2, b2 = draw_numbers(8, 7) / 2, draw_numbers(7) / 2
    w_q, w_k = draw_numbers(C, C) / 2, draw_numbers(C, C) / 2
    marks = torch.eye(T)[None]  # as values, they come back as the weights themselves

    def ask_synthesizer(X):
        return function(X, w1, b1, w2, b2, marks)

    def ask_attention(X):
        attend = torch.nn.functional.scaled_dot_product_attention
        return attend(X @ w_q, X @ w_k, marks, is_causal=True)

    try:
        tables = [[ask(X).detach()[0].numpy() for X in (before, after)]
                  for ask in (ask_synthesizer, ask_attention)]  # fmt: skip
    except Exception as error:  # whatever a learner's function does wrong
        return _say(f"your synthesizer_attention stopped with {type(error).__name__}: {error}")
    if any(table.shape != (T, T) for row in tables for table in row):
        return _say("your synthesizer_attention returned a shape other than (B, T, Cv).")
    titles = ("synthesizer", "key, query, value")
    moved = [np.abs(pair[1] - pair[0]) for pair in tables]
    others = [*words[:changed], f"{words[changed]}*", *words[changed + 1 :]]

    def draw(figure):
        axes = figure.subplots(2, 3, sharex=True, sharey=True)
        for row, (title, pair, change) in enumerate(zip(titles, tables, moved, strict=True)):
            panels = zip(axes[row], (*pair, change), ("before", "after", "change"), strict=True)
            for axis, table, what in panels:
                future = np.triu(np.ones((T, T), bool), 1)
                shown = np.ma.masked_where(future & (table == 0), table)
                image = axis.imshow(shown, cmap=COLOURS, vmin=0, vmax=1)
                axis.set_facecolor("#e6e6e6")
                for i, j in np.ndindex(table.shape):
                    if not np.ma.getmaskarray(shown)[i, j]:
                        colour = "white" if table[i, j] < 0.5 else "black"
                        axis.text(j, i, f"{table[i, j]:.2f}", ha="center", va="center",
                                  color=colour, fontsize=7.5)  # fmt: skip
                axis.set_title(f"{title}: {what}", fontsize=10)
                axis.set_xticks(range(T), others)
                axis.set_yticks(range(T), others)
        figure.colorbar(image, ax=axes, shrink=0.7, label="weight")

    said = " ".join(
        f"{title.capitalize()}: {_count_rows(change)}."
        for title, change in zip(titles, moved, strict=True)
    )
    text = f"Weights before and after token {changed} (*) is replaced, one row per token that looks. {said}"
    return Picture(draw, text, size=(9.4, 5.8))


def _count_rows(change: np.ndarray) -> str:
    rows = [str(i) for i in range(len(change)) if change[i].max() > 1e-6]
    if not rows:
        return "no weight changes"
    return f"weights change in row{'s' if len(rows) > 1 else ''} {', '.join(rows)}"


# ------------------------------------------------------------------------------------ asking


def _ask(name: str, function: Callable, world: World) -> np.ndarray | str:
    """Return the learner's queries for a world, (heads, d), or a sentence about why there are none."""
    task = TASKS[name]
    results = read_numbers(call_on_sets(function, [task.make_arguments(world)], task.heads))
    finding = judge_queries(name, [world], results, np.random.default_rng(_SEED))
    rows = [results.get(f"0.out.{head}") for head in range(task.heads)]
    d = world.means.shape[1]
    if any(row is None or isinstance(row, str) or row.size != d for row in rows):
        return _describe(name, finding)
    if not all(np.isfinite(row).all() for row in rows):
        return _describe(name, finding)
    return np.stack([row.reshape(d) for row in rows])


def _describe(name: str, finding: Finding) -> str:
    return f"{name}: {finding.sentence}"


def _say(sentence: str) -> Picture:
    """Return a picture that says why there is nothing to see yet."""

    def draw(figure):
        figure.text(0.5, 0.5, "nothing to see yet", ha="center", va="center", color=_OTHER_COLOUR)

    return Picture(draw, f"There is no picture yet: {sentence}", size=(5, 0.8))
