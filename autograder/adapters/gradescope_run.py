"""Grades one submission inside Gradescope's container and writes results.json, come what may."""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

from autograder.blueprint import Blueprint, load_blueprints
from autograder.course import Assignment, CourseError, load_assignment
from autograder.exercises import find_leaderboard
from autograder.files import replace_file
from autograder.grading.paths import grade_paths
from autograder.kernel.cgroup import find_memory_limit
from autograder.opener import walk
from autograder.plain_text import clean_words, one_line
from autograder.reports.sentences import describe_check, list_details

ASSIGNMENT = "assignment"  # the file that says which one this zip grades
TEST_SETS = "test_sets.json"  # what its leaderboard knows
SMALLEST_MEMORY = 1000 << 20  # bytes; three solved notebooks take 960 MB at the peak
_LONGEST_OUTPUT = 8000  # characters of one test
_SORRY = (
    "Your work has arrived, but it could not be graded here. You need not do anything: your "
    "instructor sees why and can run it again."
)


def main(root: Path) -> None:
    """Grade `root/submission` and write `root/results/results.json`."""
    started = time.monotonic()
    try:
        _expect_enough_memory(find_memory_limit())
        name = (Path.cwd() / ASSIGNMENT).read_text("utf-8").strip()
        assignment = load_assignment(name, Path.cwd())
        results = grade_submission(assignment, root / "submission")
    except BaseException as problem:  # even then there is something to read
        results = {"score": 0.0, "output": _SORRY, "tests": [], "stdout_visibility": "hidden"}
        kind = "" if isinstance(problem, CourseError) else f"{type(problem).__name__}: "
        print(f"autograder: {kind}{one_line(str(problem))}", file=sys.stderr)
    results["execution_time"] = round(time.monotonic() - started)
    write_results(root / "results" / "results.json", results)


def _expect_enough_memory(limit: int | None) -> None:
    """Refuse a container in which the system would end kernels, and honest work would lose its points."""
    if limit is not None and limit < SMALLEST_MEMORY:
        raise CourseError(
            f"this container has {limit >> 20} MB of memory and grading needs {SMALLEST_MEMORY >> 20} MB, so nothing "
            "was graded. Choose 1.5 GB under the assignment's container specifications and run the autograder again."
        )


def write_results(path: Path, results: dict) -> None:
    """Write results.json all at once: half of one would be none."""
    text = json.dumps(clean_words(results), indent=1, ensure_ascii=False, allow_nan=False)
    replace_file(path, text.encode("utf-8", "replace"))


def grade_submission(assignment: Assignment, submission: Path) -> dict:
    """Return the content of results.json for a folder of submitted files."""
    blueprints = load_blueprints(assignment)
    with tempfile.TemporaryDirectory(prefix="submission-") as scratch:
        folder = Path(scratch) / "files"
        _copy(submission, folder)
        graded = list(grade_paths([str(folder)], assignment.course, assignment.name))
        leaderboard = find_leaderboard(assignment.name)
        if leaderboard:
            sets = leaderboard.read_test_sets(assignment.root / TEST_SETS)
            counted = leaderboard.count_again(folder / leaderboard.FILE, sets)
    trouble = [
        result["error"].replace(str(folder), "The submission")
        for result in graded
        if "error" in result
    ]
    results = {result["notebook"]: result for result in graded if "notebook" in result}
    about = [counted.sentence] if leaderboard else []
    tests = [_describe_arrival(blueprints, results, trouble, about)]
    for number, (name, blueprint) in enumerate(blueprints.items(), 1):
        title = assignment.find_notebook(name).title
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
    if leaderboard and counted.accuracy is not None:
        found["leaderboard"] = [
            {"name": "Test accuracy", "value": counted.accuracy, "order": "desc"}
        ]
    return found


def _copy(submission: Path, folder: Path) -> None:
    """Copy what was handed in, links left out."""
    if not submission.is_dir():
        raise CourseError(f"There is no folder {submission}.")
    folder.mkdir()
    for path in walk(submission):
        place = folder / path.relative_to(submission)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, place, follow_symlinks=False)


def _list_tests(
    number: int, title: str, blueprint: Blueprint, result: dict | None, trouble: list[str]
) -> list[dict]:
    """Return one entry for each judged cell; they speak of hidden tests, so they wait."""
    tests = []
    checks = [slot for slot in blueprint.slots if slot.role == "check"]
    sections = find_sections(blueprint)
    for place, slot in enumerate(checks, 1):
        cell = result["cells"][slot.grade_id] if result else None
        told = [describe_check(cell), *list_details(cell)] if cell else trouble or [_SORRY]
        tests.append(
            {
                "name": f"{title}: {slot.exercise}",
                "number": sections.get(slot.grade_id, f"{number}.{place}"),
                "score": cell["score"] if cell else 0.0,
                "max_score": slot.points,
                "status": "passed" if cell and cell["status"] == "passed" else "failed",
                "output": "\n".join(told)[:_LONGEST_OUTPUT],
                "output_format": "text",
                "visibility": "after_published",
            }
        )
    return tests


def find_sections(blueprint: Blueprint) -> dict[str, str]:
    """Return the number of the section that each check stands in, where its headings have numbers."""
    found, current = {}, ""
    for slot in blueprint.slots:
        if slot.release.cell_type == "markdown":
            numbers = re.findall(r"(?m)^#+ (\d+(?:\.\d+)+)\b", slot.release.source)
            current = numbers[-1] if numbers else current
        elif slot.role == "check" and current:
            found[slot.grade_id] = current
    return found


def _describe_arrival(blueprints, results, trouble: list[str], also: list[str]) -> dict:
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
    lines += also
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
