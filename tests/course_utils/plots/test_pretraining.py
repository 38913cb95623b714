"""The figures of the pretraining notebook: drawn, and said in words that fit."""

import pytest

from course_utils.history import History
from course_utils.plots import pretraining as plots
from course_utils.pretraining import MASK, PAD


def show(picture):
    assert picture.render().startswith(b"\x89PNG")
    return picture.words


def test_a_corrupted_text_says_what_was_taken_out():
    corrupted = f"Ada {MASK} in Arlen.{MASK}was born".ljust(40, PAD)
    words = show(plots.plot_corruption("Ada was born in Arlen.", corrupted))
    assert "'was born'" in words and "first 22 characters" in words


@pytest.mark.parametrize("wrong", ["", "no sign", f"{MASK}{MASK}{MASK}", PAD * 10, "x" * 300])
def test_whatever_a_learner_returns_can_be_drawn(wrong):
    show(plots.plot_corruption("Ada was born in Arlen.", wrong))
    show(plots.plot_pair(wrong, wrong[1:]))


def test_a_pair_says_what_counts():
    words = show(plots.plot_pair(f"Who?{MASK}Ada{MASK}{PAD}", f"{PAD * 4}Ada{MASK}{PAD * 2}"))
    assert f"4 of 10 places count: 'Ada{MASK}'" in words


def test_curves_shares_and_confidence():
    history = History(losses=[3.0, 1.5])
    words = show(plots.plot_curves({"attention": history}, {"alone": history, "after": history}))
    assert "pretraining, attention: 3.00 in the first epoch, 1.50 in the last of 2" in words
    show(plots.plot_curves({}, {"alone": history}))
    words = show(
        plots.plot_shares({"baseline": {"known": 0.2, "unknown": 0.25}, "mine": {"known": 0.5}})
    )
    assert "baseline: 20.0% known, 25.0% unknown" in words
    words = show(plots.plot_confidence({"right": [0.9, 0.8], "wrong": []}))
    assert "right: 2 answers, mean confidence 0.85" in words and "wrong: no answers" in words
