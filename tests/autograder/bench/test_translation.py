"""The course's loop and the plain one do the same."""

from autograder.bench import translation as bench
from course_utils.translation.data import make_data
from course_utils.translation.grammar import generate_pairs


def make_small():
    pairs, _ = generate_pairs(120, seed=2)
    return make_data(
        "own", "", {"train": pairs[:100], "validation": pairs[100:], "test": pairs[100:]}
    )


def test_losses_and_gradients_are_equal():
    result = bench.measure_equality(make_small(), 70)
    assert result["equal"]
    assert result["loss_difference"] < 1e-9 and result["gradient_difference"] < 1e-9


def test_a_loop_that_does_something_else_is_found_out(monkeypatch):
    right = bench.Translator.mean_loss
    monkeypatch.setattr(
        bench.Translator, "mean_loss", lambda self, batch: 1.01 * right(self, batch)
    )
    assert not bench.measure_equality(make_small(), 70)["equal"]
