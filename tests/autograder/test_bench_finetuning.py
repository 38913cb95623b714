"""Batches of like length against shuffled ones: the bench itself, on a handful of sentences."""

import json

from autograder.bench import finetuning, pipeline
from tests.course_utils.tiny import load_splits, load_tokenizer


def test_the_bench_compares_both_ways(monkeypatch, capsys):
    splits = load_splits()
    few = {"train": splits["train"][:192], "validation": splits["validation"][:64]}
    datasets = pipeline.make_datasets(load_tokenizer(), few)
    monkeypatch.setattr(finetuning, "load_bench_datasets", lambda: (datasets, "a few reviews"))
    monkeypatch.setattr(finetuning, "ROUNDS", 1)
    result = finetuning.run(json=True)
    printed = json.loads(capsys.readouterr().out)
    assert printed == result and result["bench"] == "finetuning"
    assert result["ratio"] > 0 and result["equal"] in (True, False)
    assert result["like_length_padding"] < result["plain_padding"]
    assert "192 sentences of a few reviews" in finetuning.describe(result)
