"""Figures: each can be drawn, and each says in words what it shows."""

import io
import re

import numpy as np
import pytest

from course_utils import plots, queries

K, V = queries.make_keys(), queries.make_values()

PICTURES = {
    "steps": lambda: plots.plot_steps([1.0, 0.0, 0.5]),
    "steps of four": lambda: plots.plot_steps(3 * K),
    "arrows": lambda: plots.plot_arrows(),
    "arrows with a query": lambda: plots.plot_arrows([0.0, 0.0, 0.0]),
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


def test_the_words_are_true():
    words = plots.plot_query(10 * K[2]).words
    assert "v2 1.00" in words and "output (-0.25, -0.75, 0.61)" in words
    assert "v2 gets the largest weight, 1.00" in plots.plot_steps(10 * K[2]).words


def test_nothing_is_drawn_while_grading(monkeypatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    picture = plots.plot_query([2, 0, 2])
    monkeypatch.setattr(picture, "draw", lambda figure: pytest.fail("drawn"))
    assert picture._repr_mimebundle_() == {"text/plain": picture.words}
    assert isinstance(plots.explore_query(), plots.Picture)


def test_the_explorer_has_sliders_and_a_still_picture_without_widgets(monkeypatch):
    import sys

    explorer = plots.explore_query()
    sliders = explorer.children[0].children
    assert [slider.description for slider in sliders] == ["q[0]", "q[1]", "q[2]"]
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    assert isinstance(plots.explore_query(), plots.Picture)
