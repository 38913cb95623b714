import json
import os
from pathlib import Path

import pytest
import torch

from autograder.bench import training as bench
from course_utils.language_model import corpus as corpus_module
from course_utils.language_model.gpt import GPT


@pytest.fixture
def small(monkeypatch):
    monkeypatch.delenv("COURSE_DATA", raising=False)
    monkeypatch.setattr(corpus_module, "OWN_COUNTS", {"train": 400, "dev": 20, "test": 20})
    monkeypatch.setattr(bench, "ROUNDS", 1)
    monkeypatch.setattr(bench, "FAST_STEPS", 4)
    monkeypatch.setattr(bench, "PLAIN_STEPS", 2)
    monkeypatch.setattr(bench, "measure_peak", {"plain": 200.0, "fast": 100.0}.__getitem__)


def test_bench_prints_one_object_and_both_loops_agree(small, capsys):
    result = bench.run(json=True)
    assert json.loads(capsys.readouterr().out) == result
    assert result["bench"] == "training"
    assert result["equal"] is True
    assert result["gradient_difference"] < 1e-5
    assert result["ratio"] > 0
    assert result["memory_ratio"] == 0.5


def test_bench_prints_a_table_for_people(small, capsys):
    bench.run(json=False)
    shown = capsys.readouterr().out
    assert "times as fast with 50% of the memory" in shown
    assert "equal." in shown


def test_bench_notices_a_loss_that_is_not_the_same(small, monkeypatch, capsys):
    right = GPT.loss
    monkeypatch.setattr(GPT, "loss", lambda self, tokens: right(self, tokens) * 1.001)
    assert bench.run(json=True)["equal"] is False


@pytest.mark.realdata
@pytest.mark.soak
def test_seven_times_as_fast_in_half_the_memory_on_the_real_corpus(monkeypatch):
    folder = Path(os.environ.get("COURSE_DATA") or Path(__file__).parents[4] / "shared" / "data")
    if not (folder / "lm1b").is_dir():
        pytest.skip("no real data: COURSE_DATA is not set and ../shared/data is absent")
    if torch.get_num_threads() > 2:
        torch.set_num_threads(2)
    monkeypatch.setenv("COURSE_DATA", str(folder))
    result = bench.run(json=True)
    assert result["equal"]
    assert result["memory_ratio"] <= 0.5
    assert result["ratio"] >= 7
