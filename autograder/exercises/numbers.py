"""Answers for the student's side: numbers in a file, worked out here, with no code beside them.

A module of exercises whose public checks compare with numbers says so: `ANSWER_FILE` is a file's
name in course_utils/checks/, and `make_answers(solutions)` returns what goes into it, by exercise.
"""

from __future__ import annotations

import importlib
import json
import math

import numpy as np

from course_utils.checks.answer_numbers import encode_array

FOLDER = "course_utils/checks"
_TOLERANCE = 1e-3  # between numbers from different CPUs


def make_answer_files(solutions: dict[str, dict[str, str]]) -> dict[str, bytes]:
    """Return the generated files, by their path from the course's root.

    `solutions` is the instructor's code, by exercise module and by the name that it defines.
    """
    made = {}
    for name, codes in solutions.items():
        module = importlib.import_module(f"autograder.exercises.{name}")
        if hasattr(module, "ANSWER_FILE"):
            made[f"{FOLDER}/{module.ANSWER_FILE}"] = _write(module.make_answers(codes))
    return made


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


def encode_probes(probes: dict) -> dict:
    return {
        "cases": probes["cases"],
        "inputs": {key: encode_array(array) for key, array in probes["inputs"].items()},
        "right": encode_all(probes["right"]),
        "mistakes": drop_repeated(
            [[diagnosis, encode_all(outputs, 4)] for diagnosis, outputs in probes["mistakes"]],
            {key: v for key, v in encode_all(probes["right"], 4).items() if key.endswith(".out")},
        ),
    }


def encode_trial(numbers: dict) -> dict:
    right = encode_all(numbers["right"])
    mistakes = [[diagnosis, encode_all(found)] for diagnosis, found in numbers["mistakes"]]
    compared = {key for _, found in mistakes for key in found}
    telling = {key: value for key, value in right.items() if key in compared}
    return {
        "inputs": encode_all(numbers["inputs"]),
        "right": right,
        "mistakes": drop_repeated(mistakes, telling),
    }


def encode_all(outputs: dict, digits: int = 6) -> dict:
    """Encode what can be compared; of an error's words the beginning is enough."""
    return {
        key: str(value)[:80] if isinstance(value, str) else encode_array(np.asarray(value), digits)
        for key, value in outputs.items()
        if not key.endswith(".again")
    }


def drop_repeated(mistakes: list, right: dict) -> list:
    """Leave out what returns the right numbers, or the same as a mistake before it."""
    kept: list = []
    for diagnosis, outputs in mistakes:
        if not are_alike(outputs, right) and not any(are_alike(outputs, k) for _, k in kept):
            kept.append([diagnosis, outputs])
    return kept


def _write(value: dict) -> bytes:
    """Write one mistake per line: small, and readable in a diff."""
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
