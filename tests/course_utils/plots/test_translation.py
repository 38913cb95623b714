"""Figures of the translation notebook: drawn, and said in words."""

import torch

from course_utils.plots.translation import (
    plot_alignment,
    plot_alignments,
    plot_gallery,
    plot_loss_by_length,
    plot_losses,
)
from course_utils.translation.evaluation import Alignment
from course_utils.translation.training import History

GERMAN, ENGLISH = ["<START>", "er", "schläft", "<STOP>"], ["he", "sleeps", "<STOP>"]
SHARP = Alignment(GERMAN, ENGLISH, torch.eye(4)[1:])
FLAT = Alignment(GERMAN, ENGLISH, torch.full((3, 4), 0.25))


def is_png(picture):
    return picture.render().startswith(b"\x89PNG")


def test_alignments_say_where_each_word_looks():
    picture = plot_alignment(SHARP, "mine")
    assert "sleeps at schläft (1.00)" in picture.words and picture.words.startswith("mine")
    assert is_png(picture)
    side_by_side = plot_alignments({"sharp": SHARP, "dummy": FLAT})
    assert "dummy: every one of 4 German tokens has the weight 0.25" in side_by_side.words
    assert is_png(side_by_side)
    gallery = plot_gallery([SHARP, FLAT, SHARP])
    assert "Picture 3" in gallery.words and is_png(gallery)


def test_losses_by_epoch_and_by_length():
    epochs = [
        {"train": 3.0, "validation": 2.5, "epoch": 1},
        {"train": 1.0, "validation": 0.5, "epoch": 2},
    ]
    picture = plot_losses({"one": History("one", "own", {}, epochs)}, 0.04)
    assert "validation loss from 2.50 to 0.50" in picture.words and "0.040" in picture.words
    assert is_png(picture)
    groups = {
        "one": {(1, 5): (0.1, 4), (6, 10): (0.7, 9)},
        "two": {(1, 5): (1.1, 4), (6, 10): (1.7, 9)},
    }
    picture = plot_loss_by_length(groups)
    assert "one: 1-5 words 0.10, 6-10 words 0.70" in picture.words and is_png(picture)
