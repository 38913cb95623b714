"""What is said about a finetuned model's predictions, in words and in a file."""

import csv

import pytest
import torch

from course_utils.checks.values import StillOpen
from course_utils.sentiment.predictions import classify, read_mistakes, write_predictions
from tests.course_utils.tiny import load_splits, load_tokenizer, make_tiny_model

TEXTS = ["a triumph", "a bore", "a mess, and I loved it", "what a waste"]
LABELS = [1, 0, 1, 0]
PROBABILITIES = torch.tensor([[0.1, 0.9], [0.3, 0.7], [0.98, 0.02], [0.8, 0.2]])


def test_probabilities_are_the_models_own_whatever_the_batches():
    torch.manual_seed(0)
    model, tokenizer = make_tiny_model(len(load_tokenizer())), load_tokenizer()
    texts = [row["text"] for row in load_splits()["test"][:10]]
    model.train()
    together = classify(model, tokenizer, texts, batch_size=4)
    assert model.training  # left as it was found
    alone = []
    with torch.no_grad():
        model.eval()
        for text in texts:
            alone.append(model(**tokenizer(text, return_tensors="pt")).logits.softmax(-1))
    assert together.shape == (10, 2)
    assert torch.allclose(together, torch.cat(alone), atol=1e-5)


def test_a_text_longer_than_the_model_is_cut():
    model = make_tiny_model(len(load_tokenizer()))
    assert classify(model, load_tokenizer(), ["good film " * 600]).shape == (1, 2)


def test_the_surest_mistake_is_read_first():
    said = " ".join(read_mistakes(TEXTS, LABELS, PROBABILITIES, count=2).split())
    assert said.startswith(
        "2 mistakes in 4 sentences. The ones the model was surest of: 1. “a mess, and I loved it” is "
        "positive; the model was 98.0% sure that it is negative. 2. “a bore” is negative; the model was 70.0% "
    )


def test_no_mistake_is_said_too():
    assert read_mistakes(TEXTS[:1], LABELS[:1], PROBABILITIES[:1]) == "No mistake in 1 sentences."


def test_accuracy_can_be_counted_again_from_the_file(tmp_path):
    path = write_predictions(
        tmp_path / "test_predictions.csv", TEXTS, torch.tensor(LABELS), PROBABILITIES.argmax(-1)
    )
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["text"] for row in rows] == TEXTS  # commas and all
    assert [row["index"] for row in rows] == ["0", "1", "2", "3"]
    assert sum(row["label"] == row["prediction"] for row in rows) / len(rows) == 0.5
    assert list(tmp_path.iterdir()) == [path]


def test_as_many_predictions_as_sentences(tmp_path):
    with pytest.raises(ValueError):
        write_predictions(tmp_path / "p.csv", TEXTS, LABELS, [1])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("call", "missing"),
    [
        (lambda path: classify(..., None, TEXTS), "best_model"),
        (lambda path: classify(None, ..., TEXTS), "tokenizer"),
        (lambda path: read_mistakes(TEXTS, LABELS, ...), "probabilities"),
        (lambda path: write_predictions(path, TEXTS, LABELS, ...), "predictions"),
    ],
)
def test_what_is_still_open_is_named(call, missing, tmp_path):
    with pytest.raises(StillOpen, match=f"needs `{missing}`, which is still"):
        call(tmp_path / "p.csv")
