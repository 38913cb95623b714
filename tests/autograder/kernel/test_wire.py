"""What crosses between judge and kernel: arrays, unchanged; anything else is a word, never an error."""

import numpy as np
import pytest
import torch

from autograder.exercises import find_exercises
from autograder.grading.judge import decide
from autograder.kernel import wire


def test_arrays_cross_the_wire_unchanged():
    values = {
        "f": np.arange(6, dtype=np.float32).reshape(2, 3).T,
        "b": np.array([True, False]),
        "i": np.int64(3),
        "nan": np.array([np.nan, np.inf]),
        "t": torch.ones(2, 2, dtype=torch.bfloat16, requires_grad=True),
    }
    back = wire.load(wire.dump(values))
    assert np.array_equal(back["f"], values["f"]) and back["f"].dtype == np.float32
    assert back["b"].dtype == bool and back["i"] == 3
    assert np.isnan(back["nan"][0]) and back["t"].shape == (2, 2)


class Evil:
    """Fails, or lies, wherever it is touched."""

    def __getattr__(self, name):
        raise RuntimeError("no")

    def __array__(self, *args, **kwargs):
        raise RuntimeError("no")


def test_what_is_not_numbers_comes_back_as_a_word():
    for value in ("text", None, [[1], [1, 2]], {}, object(), Evil(), [], 1j):
        back = wire.load(wire.dump({"x": value}))["x"]
        assert isinstance(back, wire.Unusable), type(value)


@pytest.mark.parametrize(
    "text",
    [
        "", "not json", "[1, 2]", "null", "1" * 5, None, 3,
        '{"x": 3}', '{"x": {"kind": "array"}}',
        '{"x": {"kind": "array", "dtype": "object", "shape": [1], "data": "AAAA"}}',
        '{"x": {"kind": "array", "dtype": "complex64", "shape": [1], "data": "AAAAAAAAAAA="}}',
        '{"x": {"kind": "array", "dtype": "datetime64[s]", "shape": [1], "data": "AAAAAAAAAAA="}}',
        '{"x": {"kind": "array", "dtype": "float64", "shape": [-1, 4], "data": "AAAA"}}',
        '{"x": {"kind": "array", "dtype": "float64", "shape": [1000000000], "data": "AAAA"}}',
        '{"x": {"kind": "array", "dtype": "float64", "shape": [1], "data": "!"}}',
        '{"x": {"kind": "pickle", "data": "gASVAAAA"}}',
    ],
)  # fmt: skip
def test_a_malformed_reply_is_never_an_exception(text):
    values = wire.load(text)
    assert all(isinstance(value, wire.Unusable) for value in values.values())
    for exercise in find_exercises("attention.query_crafting").values():
        sent = {exercise.name: values.get("x", wire.Missing)}
        verdict = decide(exercise, 2.0, "ok", sent, exercise.inputs, {})
        assert verdict.score == 0.0


def test_a_reply_that_is_too_long_is_dropped(monkeypatch):
    monkeypatch.setattr(wire, "LIMIT", 10)
    assert wire.load(wire.dump({"x": np.zeros(100)})) == {}
