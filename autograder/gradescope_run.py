"""Grades one submission inside Gradescope's container and writes results.json, come what may."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from autograder.accuracy import FILE, count_again, read_test_sets
from autograder.arrivals import unpack_submission
from autograder.blueprint import Blueprint, load_blueprints
from autograder.course import Course, CourseError, load_course
from autograder.intake import grade_paths

_LONGEST_OUTPUT = 8000  # characters of one test
_SORRY = (
    "Your work has arrived, but it could not be graded here. You need not do anything: your "
    "instructor sees why and can run it again."
)


def main(root: Path) -> None:
    """Grade `root/submission` and write `root/results/results.json`."""
    started = time.monotonic()
    try:
        results = grade_submission(load_course(Path.cwd()), root / "submission")
    except BaseException as problem:  # even then there is something to read
        results = {"score": 0.0, "output": _SORRY, "tests": [], "stdout_visibility": "hidden"}
        print(f"autograder: {type(problem).__name__}: {problem}", file=sys.stderr)
    results["execution_time"] = round(time.monotonic() - started)
    write_results(root / "results" / "results.json", results)


def write_results(path: Path, results: dict) -> None:
    """Write results.json all at once: half of one would be none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(results, indent=1, ensure_ascii=False, allow_nan=False), "utf-8")
    os.replace(fresh, path)


def grade_submission(course: Course, submission: Path) -> dict:
    """Return the content of results.json for a folder of submitted files."""
    blueprints = load_blueprints(course)
    with tempfile.TemporaryDirectory(prefix="submission-") as scratch:
        folder = Path(scratch) / "files"
        trouble = _copy(submission, folder)
        trouble += unpack_submission(folder, blueprints)
        graded = list(grade_paths([str(folder)], course)) if not trouble else []
        counted = count_again(folder / FILE, read_test_sets(course.root / "test_sets.json"))
    trouble += [
        result["error"].replace(str(folder), "The submission")
        for result in graded
        if "error" in result
    ]
    results = {result["notebook"]: result for result in graded if "notebook" in result}
    tests = [_describe_arrival(blueprints, results, trouble, counted.sentence)]
    for number, (name, blueprint) in enumerate(blueprints.items(), 1):
        title = course.find_notebook(name).title
        tests += _list_tests(number, title, blueprint, results.get(name), trouble)
    tests += _describe_for_instructors(results)
    found = {
        "score": sum(test.get("score", 0.0) for test in tests),
        "output": "Each exercise's points appear when grades are published.",
        "stdout_visibility": "hidden",
        "tests": tests,
        "extra_data": {
            name: {"release": result["release"], "isolation": result["isolation"]}
            for name, result in results.items()
        },
    }
    if counted.accuracy is not None:
        found["leaderboard"] = [
            {"name": "Test accuracy", "value": counted.accuracy, "order": "desc"}
        ]
    return found


def _copy(submission: Path, folder: Path) -> list[str]:
    """Copy what was handed in, links left out; return what is wrong with it."""
    if not submission.is_dir():
        raise CourseError(f"There is no folder {submission}.")
    shutil.copytree(
        submission, folder,
        ignore=lambda place, names: [n for n in names if (Path(place) / n).is_symlink()],
    )  # fmt: skip
    inside = [path for path in folder.iterdir() if path.name != "__MACOSX"]
    if len(inside) == 1 and inside[0].is_dir():  # a folder was packed instead of its files
        for path in list(inside[0].iterdir()):
            if not (folder / path.name).exists():
                path.rename(folder / path.name)
    return []


def _list_tests(
    number: int, title: str, blueprint: Blueprint, result: dict | None, trouble: list[str]
) -> list[dict]:
    """Return one entry for each judged cell; they speak of hidden tests, so they wait."""
    tests = []
    checks = [slot for slot in blueprint.slots if slot.role == "check"]
    for place, slot in enumerate(checks, 1):
        cell = result["cells"][slot.grade_id] if result else None
        output = "\n".join(cell["messages"] if cell else trouble or [_SORRY])
        tests.append(
            {
                "name": f"{title}: {slot.exercise}",
                "number": f"{number}.{place}",
                "score": cell["score"] if cell else 0.0,
                "max_score": slot.points,
                "status": "passed" if cell and cell["status"] == "passed" else "failed",
                "output": output[:_LONGEST_OUTPUT],
                "output_format": "text",
                "visibility": "after_published",
            }
        )
    return tests


def _describe_arrival(blueprints, results, trouble: list[str], accuracy: str) -> dict:
    """Return the entry that a student sees at once: what arrived, and what is open."""
    lines = list(trouble)
    complete = not trouble
    for name in blueprints:
        result = results.get(name)
        if result is None:
            lines.append(f"{name}: not graded.")
            complete = False
            continue
        cells = result["cells"]
        judged = {k: cell for k, cell in cells.items() if cell["status"] != "manual"}
        answers = {k: cell for k, cell in cells.items() if cell["status"] == "manual"}
        missing = [k.removeprefix("test_") for k, c in judged.items() if c["status"] == "missing"]
        blank = [k for k, cell in answers.items() if cell["messages"] == ["untouched"]]
        unreadable = {c["messages"][0] for c in judged.values() if c["diagnosis"] == "unreadable"}
        if unreadable:
            lines += [f"{name}: {sentence}" for sentence in sorted(unreadable)]
        else:
            lines.append(
                f"{name}: arrived; {len(judged) - len(missing)} of {len(judged)} exercises worked "
                f"on, {len(answers) - len(blank)} of {len(answers)} answers written."
            )
            if missing:
                lines.append(f"  still open or not defined: {', '.join(missing)}")
            if blank:
                lines.append(f"  not written: {', '.join(blank)}")
            lines += [f"  put right: {repair}" for repair in result["repairs"]]
        complete &= not missing and not unreadable
    lines.append(accuracy)
    return {
        "name": "What arrived",
        "number": "0",
        "status": "passed" if complete else "failed",
        "output": "\n".join(lines)[:_LONGEST_OUTPUT],
        "output_format": "text",
        "visibility": "visible",
    }


def _describe_for_instructors(results: dict) -> list[dict]:
    lines = [f"{name}: {flag}" for name, result in results.items() for flag in result["flags"]]
    if not lines:
        return []
    return [
        {
            "name": "For instructors: please look at",
            "number": "9",
            "status": "passed",
            "output": "\n".join(lines)[:_LONGEST_OUTPUT],
            "output_format": "text",
            "visibility": "hidden",
        }
    ]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
