"""Figures of notebook 2: each is a PNG with a sentence that says the same."""

import math

import pytest
import torch

from course_utils.plots import attention as plots

WORDS = ["the", "cat", "sat", "down"]
SCORES = torch.arange(16.0).reshape(1, 4, 4)
MASKED = SCORES.masked_fill(torch.ones(4, 4).tril() == 0, -math.inf)


@pytest.mark.parametrize(
    ("picture", "words"),
    [
        (plots.plot_scores(SCORES, WORDS), "(down), down is highest with 15.00."),
        (plots.plot_scores(-SCORES, WORDS), "(down), the is highest with -12.00."),
        (plots.plot_scores(MASKED, WORDS), "6 of them are minus infinity"),
        (plots.plot_weights(MASKED.softmax(-1), WORDS), "Every row sums to 1"),
        (plots.plot_weights(SCORES / 9, WORDS), "not to 1"),
        (plots.plot_mask(torch.ones(4, 4).tril().bool(), WORDS), "1, 2, 3, 4"),
        (plots.plot_masking(SCORES, MASKED, WORDS), "6 of 6"),
        (plots.plot_masking(SCORES, SCORES, WORDS), "0 of 6"),
        (plots.plot_heads(SCORES, SCORES.reshape(1, 4, 2, 2).transpose(1, 2), WORDS), "2 heads"),
        (plots.plot_pipeline(MASKED, MASKED.softmax(-1), SCORES, WORDS), "highest with 0.64"),
        (plots.plot_weights(torch.ones(1, 3, 4, 4) / 4, WORDS), "Every row"),
        (plots.plot_weights(torch.ones(1, 3, 4, 4) / 4, WORDS), "Head 0: in the last row (down)"),
        (plots.plot_scores(torch.ones(1, 3, 4, 4), WORDS), "Head 0: in the last row (down)"),
        (plots.plot_weights(torch.ones(1, 1, 4, 4) / 4, WORDS), "1. In the last row (down)"),
        (plots.plot_side_by_side({"all": torch.ones(4, 4)}), "some weight lies above the diagonal"),
        (plots.plot_side_by_side({"past": torch.eye(4)}), "no weight lies above the diagonal"),
        (plots.plot_scores(torch.full((1, 2, 2), math.nan)), "2 by 2"),
        (plots.plot_scores(torch.ones(1, 30, 30)), "30 by 30"),
    ],
)
def test_a_picture_is_drawn_and_said(picture, words):
    assert words in picture.words
    assert picture.render().startswith(b"\x89PNG")


@pytest.mark.parametrize("nothing", [None, 3.0, torch.tensor(1.0)])
def test_what_cannot_be_drawn_gets_a_sentence(nothing):
    with pytest.raises((TypeError, ValueError), match="nothing to draw"):
        plots.plot_scores(nothing)
