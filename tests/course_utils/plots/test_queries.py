"""Figures: each can be drawn, and each says in words what it shows."""

import io
import re

import numpy as np
import pytest
import torch

from course_utils import plots, queries
from course_utils.plots.picture import Picture

K, V = queries.make_keys(), queries.make_values()

PICTURES = {
    "steps": lambda: plots.plot_steps([1.0, 0.0, 0.5]),
    "steps of four": lambda: plots.plot_steps(3 * K),
    "dial": lambda: plots.plot_dial([1.0, 0.0, 0.5]),
    "dial without a direction": lambda: plots.plot_dial([0.0, 0.0, 0.0]),
    "error": lambda: plots.plot_error(K[0] + K[1], (V[0] + V[1]) / 2),
    "error of nothing": lambda: plots.plot_error([0, 0, 0], V[0]),
    "key": lambda: plots.plot_key([0, 0, 1], 10 * K[0]),
    "nothing yet": lambda: plots.plot_key(..., 10 * K[0]),
    "target": lambda: plots.plot_target([1, 1, 1], V[0]),
    "lengths": lambda: plots.plot_lengths([1.0, -1.0, -1.0]),
    "query": lambda: plots.plot_query([2, 0, 2]),
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_drawn_and_said(name):
    from PIL import Image

    picture = PICTURES[name]()
    image = Image.open(io.BytesIO(picture.render())).convert("L")
    assert min(image.size) > 100
    assert len(np.unique(np.asarray(image))) > 10, "the figure is blank"
    shown = picture._repr_mimebundle_()
    assert shown["text/plain"] == picture.words
    assert re.search(r'<img alt="[^"]{20,}"', shown["text/html"])
    assert f"<figcaption>{picture.words}</figcaption>" in shown["text/html"]


FIGURES = {
    "steps": plots.plot_steps,
    "dial": plots.plot_dial,
    "target": lambda q: plots.plot_target(q, V[0]),
    "lengths": plots.plot_lengths,
    "query": plots.plot_query,
    "error": lambda q: plots.plot_error(q, V[0]),
    "key": lambda k2: plots.plot_key(k2, 10 * K[0]),
    "query of a key": lambda q: plots.plot_key([0, 0, 1], q),
    "explorer": plots.explore_key,
    "arrows": plots.turn_arrows,
}
UNFIT = {
    "open": (..., "There is nothing to draw yet: this figure needs your "),
    "a number": (0, "has shape (), but it must have shape ("),
    "a word": ("q", "should hold numbers: it is a str, not numbers."),
    "two numbers": ([1.0, 2.0], "has shape (2,), but it must have shape ("),
    "a column": (torch.ones(3, 1), "has shape (3, 1), but it must have shape ("),
    "not a number": ([1.0, float("nan"), 0.0], "contains NaN or infinity."),
}


@pytest.mark.parametrize("unfit", UNFIT)
@pytest.mark.parametrize("figure", FIGURES)
def test_what_cannot_be_drawn_is_said_in_a_sentence(figure, unfit):
    value, said = UNFIT[unfit]
    picture = FIGURES[figure](value)
    assert picture.words.startswith("There is nothing to draw") and said in picture.words
    assert picture.render().startswith(b"\x89PNG")


def test_a_matrix_is_drawn_only_where_a_matrix_is_asked_for():
    assert "(4, 3), but it must have shape (3,)" in plots.plot_target(K, V[0]).words
    assert "(4, 3), but it must have shape (3,)" in plots.plot_key(K, 10 * K[0]).words
    assert "largest difference" in plots.plot_target(10 * K, V).words
    assert "(3,), but it must have shape (4, 3)" in plots.plot_target(K[0], V).words


def test_the_words_are_true():
    words = plots.plot_query(10 * K[2]).words
    assert "v2 1.00" in words and "output (-0.25, -0.75, 0.61)" in words
    assert "v2 gets the largest weight, 1.00" in plots.plot_steps(10 * K[2]).words
    assert "k3 123°, -0.61" in plots.plot_dial([-1.0, 0.0, -0.5]).words
    assert "lengths from 2.2" in plots.plot_error(2 * (K[0] + K[1]), (V[0] + V[1]) / 2).words
    assert "v2 0.00 → 0.50" in plots.plot_key(K[0], 20 * K[0]).words


def test_keys_are_drawn_at_their_true_angle():
    """The foot of a key's dotted line is its score, divided by the length of the query."""
    from matplotlib.figure import Figure

    query = np.array([-1.0, 0.0, -0.5])
    figure = Figure()
    plots.plot_dial(query).draw(figure)
    feet = sorted(
        line.get_xdata()[0] for line in figure.axes[0].lines if line.get_marker() in "os^D"
    )
    wanted = sorted(K.double().numpy() @ query / np.linalg.norm(query))
    assert feet == pytest.approx(wanted, abs=1e-6)


def test_nothing_is_drawn_while_grading(monkeypatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    picture = plots.plot_query([2, 0, 2])
    monkeypatch.setattr(picture, "draw", lambda figure: pytest.fail("drawn"))
    assert picture._repr_mimebundle_() == {"text/plain": picture.words}
    for still in (
        plots.explore_query(),
        plots.explore_key([9, 0, 0]),
        plots.turn_arrows([1, 0, 0]),
    ):
        assert isinstance(still, plots.Picture)


def test_the_explorer_has_sliders_and_a_still_picture_without_widgets(monkeypatch):
    import sys

    explorer = plots.explore_query()
    sliders = explorer.children[0].children
    assert [slider.description for slider in sliders] == ["q[0]", "q[1]", "q[2]"]
    keys = plots.explore_key([9, 0, 0]).children[0].children
    assert [round(slider.value, 2) for slider in keys] == [-0.03, -0.48, -0.88]
    assert isinstance(plots.explore_key(...), plots.Picture)
    assert len(plots.turn_arrows([1, 0, 0]).children[0].children) == 2
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    assert isinstance(plots.explore_query(), plots.Picture)


def test_where_a_program_runs_the_notebook_figures_stand_still(monkeypatch):
    monkeypatch.setenv("COURSE_CHECKING", "1")
    assert isinstance(plots.explore_query(), Picture)
    assert isinstance(plots.turn_arrows([1.0, 0.0, 0.5]), Picture)
