"""Shows every known mistake and every right way to the public checks: `python -m autograder.bench.public_checks`.

Prints one JSON object: how many were shown, and which were not answered as they should be.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator

from autograder.course import load_course
from autograder.exercises import Exercise, find_exercises


def show_all() -> dict:
    """Return how many mistakes and right ways were shown, and a line for each wrong answer."""
    counts = {"mistakes": 0, "right": 0}
    wrong = []
    for path, name, exercise in list_exercises():
        module = importlib.import_module(f"autograder.exercises.{path}")
        unseen = getattr(module, "HIDDEN_ONLY", ())  # mistakes that show on hidden inputs alone
        for code in (exercise.oracle, *exercise.variants):
            counts["right"] += 1
            finding = module.examine_code(name, code)
            if not finding.passed:
                wrong.append(f"{name}: right code was refused ({finding.diagnosis})")
        for mistake in exercise.mistakes:
            if (name, mistake.diagnosis) in unseen:
                continue
            counts["mistakes"] += 1
            finding = module.examine_code(name, mistake.code)
            if finding.passed or finding.diagnosis != mistake.diagnosis:
                found = "passed" if finding.passed else f"was called {finding.diagnosis}"
                wrong.append(f"{name}: {mistake.diagnosis} {found}")
    return {**counts, "wrong": wrong}


def list_exercises() -> Iterator[tuple[str, str, Exercise]]:
    """Yield every exercise of the course with its module's path and its name."""
    for assignment in load_course().assignments.values():
        for plan in assignment.notebooks:
            path = f"{assignment.name}.{plan.exercises}"
            for name, exercise in find_exercises(path).items():
                yield path, name, exercise


if __name__ == "__main__":
    print(json.dumps(show_all()))
