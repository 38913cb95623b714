"""Notebook 3's figures: each can be drawn, and its sentence holds the numbers that it shows."""

import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from course_utils.plots.sentiment import (
    plot_attention,
    plot_confusion,
    plot_curves,
    plot_deletions,
    plot_optimizers,
)
from tests.course_utils.tiny import load_tokenizer, make_tiny_model, save_tiny_bert

PNG = b"\x89PNG"


def make_history(*accuracies):
    return [
        {
            "epoch": epoch,
            "train": {"loss": 1 / epoch, "accuracy": 0.5 + 0.1 * epoch},
            "validation": {"loss": 1.2 / epoch, "accuracy": accuracy},
        }
        for epoch, accuracy in enumerate(accuracies, start=1)
    ]


def test_curves_name_the_best_epoch():
    picture = plot_curves(make_history(0.6, 0.8, 0.8, 0.7))
    assert "best in epoch 2 with 80.0%, where training accuracy is 70.0%" in picture.words
    assert "from 1.000 to 0.250" in picture.words
    assert picture.render().startswith(PNG)


def test_curves_of_a_single_epoch_can_be_drawn():
    assert plot_curves(make_history(0.6)).render().startswith(PNG)


def test_optimizers_are_all_named():
    histories = {"AdamW": make_history(0.6, 0.9), "SGD": make_history(0.5, 0.51)}
    picture = plot_optimizers(histories)
    assert "AdamW 90.0%" in picture.words and "SGD 51.0%" in picture.words
    assert picture.render().startswith(PNG)


def test_confusion_counts_each_kind_of_mistake():
    labels = [0] * 5 + [1] * 4
    picture = plot_confusion(torch.tensor(labels), [0, 0, 1, 1, 0, 1, 0, 1, 1])
    assert picture.words == (
        "Of 5 negative sentences 2 were taken for positive; "
        "of 4 positive ones 1 were taken for negative."
    )
    assert picture.render().startswith(PNG)


@pytest.mark.parametrize(
    ("draw", "said"),
    [
        (lambda: plot_confusion([0, 1], ...), "yet: this figure needs your predictions from 3.5"),
        (lambda: plot_confusion([0, 1], [[0.5, 0.5]] * 2), "should be 2 class ids"),
        (lambda: plot_confusion([0, 1], [0.2, 0.8]), "should be 2 class ids"),
        (lambda: plot_attention(..., load_tokenizer(), "Dull."), "needs your best model from 3.5"),
        (lambda: plot_attention(None, ..., "Dull."), "needs your tokenizer from 3.2"),
        (lambda: plot_deletions(..., load_tokenizer(), "Dull."), "needs your best model from 3.5"),
    ],
)
def test_what_a_figure_is_waiting_for_is_said(draw, said):
    picture = draw()
    assert "There is nothing to draw" in picture.words and said in picture.words
    assert picture.render().startswith(PNG)


def test_attention_is_shown_with_its_caveat_and_the_model_left_alone():
    model = make_tiny_model(len(load_tokenizer())).train()
    before = model.config._attn_implementation
    picture = plot_attention(model, load_tokenizer(), "The plot is not dull.")
    assert "over 2 heads" in picture.words and "do not explain" in picture.words
    assert model.training and model.config._attn_implementation == before
    assert picture.render().startswith(PNG)


def test_attention_weights_are_those_of_the_last_layer():
    model = make_tiny_model(len(load_tokenizer()))
    if hasattr(model, "set_attn_implementation"):  # before transformers 4.54 it does so by itself
        model.set_attn_implementation("eager")
    encoded = load_tokenizer()("Dull.", return_tensors="pt")
    with torch.no_grad():
        weights = model.eval()(**encoded, output_attentions=True).attentions[-1][0, :, 0].mean(0)
    top = load_tokenizer().decode([encoded["input_ids"][0, weights.argmax()]]).strip()
    words = plot_attention(model, load_tokenizer(), "Dull.").words
    assert f"most weight goes to “{top}” {weights.max():.2f}" in words


def test_attention_of_a_bert_like_model(tmp_path):
    save_tiny_bert(tmp_path)
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path)
    picture = plot_attention(model, AutoTokenizer.from_pretrained(tmp_path), "The plot is dull.")
    assert picture.render().startswith(PNG)


def test_nothing_is_drawn_before_it_is_shown():
    picture = plot_curves(make_history(0.5, 0.6))
    drawn = []
    picture.draw = drawn.append
    assert picture.words and not drawn
    assert picture.words in picture._repr_mimebundle_()["text/plain"] and len(drawn) == 1
