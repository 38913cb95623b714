"""The bench of the pretraining loop: same losses, and a ratio."""

import json

from autograder.bench import pretraining as bench
from course_utils.pretraining.plans import PLANS
from course_utils.pretraining.world import make_world


def test_both_loops_have_the_same_losses_and_gradients(monkeypatch, capsys):
    monkeypatch.delenv("COURSE_DATA", raising=False)
    monkeypatch.setattr(bench, "ROUNDS", 1)
    monkeypatch.setattr(bench, "PLAIN_STEPS", 1)
    monkeypatch.setattr(bench, "FAST_STEPS", 2)
    result = bench.run(json=True)
    assert json.loads(capsys.readouterr().out) == result
    assert result["equal"] and result["bench"] == "pretraining" and result["ratio"] > 0


def test_a_loss_that_differs_is_found(monkeypatch):
    right = bench.plain_loss
    monkeypatch.setattr(bench, "plain_loss", lambda model, pairs: right(model, pairs) * 1.01)
    assert not bench.measure_equality(make_world(), PLANS["own"]["laptop"])["equal"]
