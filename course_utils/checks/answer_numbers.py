"""The numbers that public checks compare with: arrays in a JSON file, with no code beside them."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources

import numpy as np


@cache
def load_answers(topic: str) -> dict[str, dict]:
    """Read, by exercise, visible inputs and what right and mistaken code returns for them."""
    text = resources.files("course_utils.checks").joinpath(f"{topic}.json").read_text("utf-8")
    return {name: _decode_exercise(stored) for name, stored in json.loads(text).items()}


def _decode_exercise(stored: dict) -> dict:
    mistakes = [(slug, decode_arrays(outputs)) for slug, outputs in stored["mistakes"]]
    arrays = {part: decode_arrays(stored[part]) for part in ("inputs", "right")}
    return {**stored, **arrays, "mistakes": mistakes}


def decode_arrays(stored: dict) -> dict:
    """Read arrays that `encode_array` wrote; words stay words."""
    return {
        key: value if isinstance(value, str) else _decode(value) for key, value in stored.items()
    }


def _decode(stored: dict) -> np.ndarray:
    numbers = [float(number) for number in stored["numbers"]]  # "inf" and "nan" are written out
    return np.array(numbers).astype(stored["type"]).reshape(stored["shape"])


def encode_array(array: np.ndarray, digits: int = 6) -> dict:
    """Write an array the way `decode_arrays` reads it."""
    array = np.asarray(array)
    whole = array.dtype.kind in "biu"
    numbers = [
        int(number)
        if whole
        else (float(f"{number:.{digits}g}") if np.isfinite(number) else str(float(number)))
        for number in array.reshape(-1).tolist()
    ]
    return {"type": array.dtype.name, "shape": list(array.shape), "numbers": numbers}
