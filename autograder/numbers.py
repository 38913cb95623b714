"""Answers for the student's side: numbers in a file, worked out here, with no code beside them."""

from __future__ import annotations

import json
import math

import numpy as np

from autograder.exercises import attention, finetuning
from course_utils.checks.attention import encode_array

ATTENTION_FILE = "course_utils/checks/attention.json"
FINETUNING_FILE = "course_utils/checks/finetuning.json"
_TOLERANCE = 1e-3  # between numbers from different CPUs


def make_answer_files() -> dict[str, bytes]:
    """Return the generated files, by their path from the course's root."""
    probes = {
        exercise.name: _encode_probes(attention.make_probes(exercise.name))
        for exercise in attention.EXERCISES
    }
    trials = {
        exercise.name: _encode_trial(finetuning.make_numbers(exercise.name))
        for exercise in finetuning.EXERCISES
    }
    return {ATTENTION_FILE: _write(probes), FINETUNING_FILE: _write(trials)}


def are_alike(one, other) -> bool:
    """Compare two JSON values; numbers count as equal when they are as good as."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(are_alike(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(are_alike, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
    if isinstance(one, str) and isinstance(other, str) and one.startswith("raised|"):
        return one.split(":")[0] == other.split(":")[0]  # PyTorch's words change between versions
    return one == other


def _encode_probes(probes: dict) -> dict:
    return {
        "cases": probes["cases"],
        "arrays": {key: encode_array(array) for key, array in probes["arrays"].items()},
        "right": _encode_all(probes["right"]),
        "mistakes": _drop_repeated(
            [[diagnosis, _encode_all(outputs, 4)] for diagnosis, outputs in probes["mistakes"]],
            {key: v for key, v in _encode_all(probes["right"], 4).items() if key.endswith(".out")},
        ),
    }


def _encode_trial(numbers: dict) -> dict:
    right = _encode_all(numbers["right"])
    telling = {key: value for key, value in right.items() if key in finetuning.TELLING}
    mistakes = [[diagnosis, _encode_all(found)] for diagnosis, found in numbers["mistakes"]]
    return {
        "inputs": _encode_all(numbers["inputs"]),
        "right": right,
        "mistakes": _drop_repeated(mistakes, telling),
    }


def _encode_all(outputs: dict, digits: int = 6) -> dict:
    """Encode what can be compared; of an error's words the beginning is enough."""
    return {
        key: str(value)[:80] if isinstance(value, str) else encode_array(np.asarray(value), digits)
        for key, value in outputs.items()
        if not key.endswith(".again")
    }


def _drop_repeated(mistakes: list, right: dict) -> list:
    """Leave out what returns the right numbers, or the same as a mistake before it."""
    kept: list = []
    for diagnosis, outputs in mistakes:
        if not are_alike(outputs, right) and not any(are_alike(outputs, k) for _, k in kept):
            kept.append([diagnosis, outputs])
    return kept


def _write(value: dict) -> bytes:
    """Write one mistake a line: small, and readable in a diff."""
    lines = []
    for name, probes in value.items():
        parts = [
            f" {json.dumps(part)}: {json.dumps(content, separators=(',', ':'))}"
            for part, content in probes.items()
            if part != "mistakes"
        ]
        mistakes = ",\n".join(
            f"  {json.dumps(mistake, separators=(',', ':'))}" for mistake in probes["mistakes"]
        )
        parts.append(f' "mistakes": [\n{mistakes}\n ]')
        lines.append(f"{json.dumps(name)}: {{\n" + ",\n".join(parts) + "\n}")
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()
