"""Batches of like length against shuffled ones: the bench itself, on a handful of sentences."""

import json

import pytest

from autograder.bench import finetuning, pipeline
from tests.course_utils.tiny import load_splits, load_tokenizer


@pytest.fixture
def few(monkeypatch):
    splits = load_splits()
    chosen = {"train": splits["train"][:192], "validation": splits["validation"][:64]}
    datasets = pipeline.make_datasets(load_tokenizer(), chosen)
    monkeypatch.setattr(finetuning, "load_bench_datasets", lambda: (datasets, "a few reviews"))
    monkeypatch.setattr(finetuning, "ROUNDS", 1)
    return datasets


def test_the_bench_compares_both_ways(few, capsys):
    result = finetuning.run(json=True)
    printed = json.loads(capsys.readouterr().out)
    assert printed == result and result["bench"] == "finetuning"
    speeds = (result[f"{kind}_examples_per_second"] for kind in ("like_length", "plain"))
    assert result["ratio"] == pytest.approx(next(speeds) / next(speeds))
    assert result["like_length_padding"] < result["plain_padding"]
    assert "192 sentences of a few reviews" in finetuning.describe(result)


@pytest.mark.parametrize(("accuracy", "equal"), [(0.73, True), (0.71, False), (1.0, False)])
def test_equal_means_within_what_so_few_sentences_can_tell(few, monkeypatch, accuracy, equal):
    """64 sentences: two standard errors of a difference are 2 * sqrt(2 * 0.25 / 64) = 0.177."""
    measured = {"plain": (100.0, 0.9), "like_length": (250.0, accuracy)}
    if accuracy == 1.0:
        measured["plain"] = (100.0, 0.8)
    monkeypatch.setattr(finetuning, "run_round", lambda kind, datasets, seed: measured[kind])
    result = finetuning.run(json=False)
    assert result["ratio"] == 2.5 and round(result["noise"], 3) == 0.177
    assert result["equal"] is equal
    assert ("NOT EQUAL" in finetuning.describe(result)) is not equal
