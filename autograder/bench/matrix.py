"""Runs the course under many versions and prints a table: `python -m autograder.bench.matrix`.

Each environment is one Python with one set of versions: the lowest that both pyproject files allow,
those of constraints.txt, and the newest that the registry offers. In each run the tests of
`course_utils`, the public checks over every known mistake and right way, and, where the
instructor's package can be installed, one submission graded by `python -m autograder grade`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from autograder.bench import environments
from autograder.bench.environments import SETS, Environment, Python
from autograder.course import CourseError

MOVING = ("transformers", "datasets", "numpy", "nbformat", "ipykernel", "nbclient", "matplotlib")
_PATIENCE = 3600  # seconds for one step
_BEGIN, _END = "<!-- made by `make matrix` -->", "<!-- end -->"
_SLOW = "not soak and not browser and not realdata"


def main() -> int:
    arguments = _read_arguments()
    root = Path(__file__).resolve().parents[2]
    folder = root / ".matrix"
    folder.mkdir(exist_ok=True)
    version = environments.find_pin(root, "torch")
    pythons = environments.find_pythons(root)
    if arguments.python:
        missing = set(arguments.python) - {python.name for python in pythons}
        if missing:
            print(f"No Python {', '.join(sorted(missing))} was found here.", file=sys.stderr)
            return 1
        pythons = [python for python in pythons if python.name in arguments.python]
    rows = []
    for python in pythons:
        try:
            _say(f"Python {python.full_name}: torch {version}")
            torch = environments.fetch_torch(python, version, folder)
        except CourseError as problem:
            rows.append({"python": python.full_name, "versions": "all", "problem": str(problem)})
            continue
        for versions in arguments.sets:
            row = _run_cell(root, python, versions, torch, folder, arguments)
            rows.append(row)
            _say(_describe(row))
    table = make_table(rows)
    print(table)
    if arguments.write:
        _write_between_marks(root / arguments.write, table)
    return 0 if all(is_green(row) for row in rows) else 1


def _read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m autograder.bench.matrix", description=__doc__)
    parser.add_argument("--python", action="append", help="3.11, ...; all that are found otherwise")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), help="of versions")
    parser.add_argument("--short", action="store_true", help="leave out the tests of course_utils")
    parser.add_argument(
        "--resume",
        action="store_true",
        help="keep green results that an earlier run of this code left",
    )
    parser.add_argument("--write", metavar="FILE", help="put the table into this file, too")
    return parser.parse_args()


# ------------------------------------------------------------------------------------ running


def _run_cell(
    root: Path, python: Python, versions: str, torch: Path, folder: Path, arguments
) -> dict:
    """Build one environment and run everything in it; a cell that fails never stops the others."""
    row = {"python": python.full_name, "versions": versions}
    code = fingerprint(root)
    kept = folder / f"py{python.name}-{versions}.json"
    if arguments.resume and kept.is_file():
        before = json.loads(kept.read_text("utf-8"))
        if before["code"] == code and before["short"] == arguments.short and is_green(before):
            return before
    started = time.monotonic()
    try:
        environment = environments.build(root, python, versions, torch, folder)
        row["installed"] = environments.list_installed(environment, (*MOVING, "torch"))
        row["torch"] = _ask_torch(environment)
        row["checks"] = _show_to_checks(environment, root)
        row["graded"] = _grade(environment, root) if environment.with_autograder else None
        row["tests"] = None if arguments.short else _run_tests(environment, root)
    except (CourseError, subprocess.SubprocessError, ValueError) as problem:
        row["problem"] = str(problem)
    row |= {"seconds": time.monotonic() - started, "code": code, "short": arguments.short}
    kept.write_text(json.dumps(row, indent=1), "utf-8")
    return row


def fingerprint(root: Path) -> str:
    """Return a number that changes with the code that is tried."""
    digest = hashlib.sha256()
    for name in ("course_utils", "autograder", "tests/course_utils", "source"):
        for path in sorted((root / name).rglob("*")):
            if path.suffix in (".py", ".json", ".toml", ".ipynb", ".jsonl"):
                digest.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return digest.hexdigest()


def _run(environment: Environment, root: Path, *arguments) -> subprocess.CompletedProcess:
    bare = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    bare["PATH"] = os.pathsep.join([str(environment.folder / "bin"), bare.get("PATH", "")])
    return subprocess.run(
        [environment.executable, *map(str, arguments)],
        cwd=root,
        env={**bare, "OMP_NUM_THREADS": "1", "VIRTUAL_ENV": str(environment.folder)},
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
    )


def _ask_torch(environment: Environment) -> str:
    done = subprocess.run(
        [environment.executable, "-c", "import torch; print(torch.__version__)"],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise CourseError(f"torch cannot be imported: {done.stderr.strip().splitlines()[-1]}")
    return done.stdout.strip()


def _show_to_checks(environment: Environment, root: Path) -> dict:
    done = _run(environment, root, "-m", "autograder.bench.public_checks")
    if done.returncode:
        raise CourseError(f"the public checks broke off: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


def _grade(environment: Environment, root: Path) -> dict:
    """Grade the instructor's own notebooks as one submission: they earn full marks."""
    done = _run(environment, root, "-m", "autograder", "grade", "source/attention", "--json")
    results = [json.loads(line) for line in done.stdout.splitlines()]
    if done.returncode or not results or any("error" in result for result in results):
        words = [result["error"] for result in results if "error" in result]
        words = words or done.stderr.strip().splitlines()[-1:] or ["nothing came back"]
        raise CourseError(f"grading broke off: {words[0]}")
    return {
        "score": sum(result["score"] for result in results),
        "max_score": sum(result["max_score"] for result in results),
        "isolation": results[0]["isolation"].partition(":")[0],
    }


def _run_tests(environment: Environment, root: Path) -> dict:
    report = environment.folder / "tests.xml"
    report.unlink(missing_ok=True)
    done = _run(
        environment, root, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", _SLOW,
        "-n", "2", "--dist", "loadgroup", "--continue-on-collection-errors",
        f"--junitxml={report}", "tests/course_utils",
    )  # fmt: skip
    if not report.is_file():
        raise CourseError(f"the tests broke off: {(done.stdout + done.stderr).strip()[-300:]}")
    passed, failed, skipped = 0, [], []
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname', '').rpartition('.')[2]}::{case.get('name')}"
        if case.find("failure") is not None or case.find("error") is not None:
            failed.append(name)
        elif case.find("skipped") is not None:
            skipped.append(f"{name}: {case.find('skipped').get('message')}")
        else:
            passed += 1
    return {"passed": passed, "failed": failed, "skipped": skipped}


# ------------------------------------------------------------------------------------ telling


def is_green(row: dict) -> bool:
    """Say whether everything that was run in a cell came out right."""
    if "problem" in row:
        return False
    graded, tests = row["graded"], row["tests"]
    return (
        not row["checks"]["wrong"]
        and (graded is None or graded["score"] == graded["max_score"])
        and (tests is None or (tests["passed"] > 0 and not tests["failed"]))
    )


def make_table(rows: list[dict]) -> str:
    """Return the rows as a Markdown table, and what went wrong beneath."""
    head = ["Python", "versions", *MOVING, "torch", "tests of `course_utils`", "public checks",
            "graded submission"]  # fmt: skip
    lines = [_line(head), _line(["---"] * len(head))]
    lines += [_line(_make_cells(row)) for row in rows]
    lines += ["", *_list_troubles(rows)]
    machine = f"{platform.system()} on {platform.machine()}"
    lines.append(f"Run on {time.strftime('%Y-%m-%d')}, {machine}.")
    return "\n".join(lines)


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _make_cells(row: dict) -> list[str]:
    installed = row.get("installed", {})
    start = [row["python"], row["versions"], *(installed.get(name, "–") for name in MOVING)]
    if "problem" in row:
        return [*start, row.get("torch", "–"), "✘ see below", "–", "–"]
    tests, graded, checks = row["tests"], row["graded"], row["checks"]
    shown = checks["mistakes"] + checks["right"]
    answered = shown - len(checks["wrong"])
    return [
        *start,
        row["torch"],
        "not asked" if tests is None else _describe_tests(tests),
        f"{_mark(answered == shown)} {answered} of {shown}",
        "students' package only"
        if graded is None
        else f"{_mark(graded['score'] == graded['max_score'])} {graded['score']:g} of "
        f"{graded['max_score']:g} points ({graded['isolation']})",
    ]


def _describe_tests(tests: dict) -> str:
    words = f"{_mark(tests['passed'] > 0 and not tests['failed'])} {tests['passed']} passed"
    for kind in ("failed", "skipped"):
        words += f", {len(tests[kind])} {kind}" if tests[kind] else ""
    return words


def _mark(good: bool) -> str:
    return "✔" if good else "✘"


def _list_troubles(rows: list[dict]) -> list[str]:
    lines = []
    for row in rows:
        troubles = [row["problem"]] if "problem" in row else []
        if not troubles:
            troubles += row["checks"]["wrong"] + (row["tests"] or {"failed": []})["failed"]
        lines += [f"- Python {row['python']}, {row['versions']}: {words}" for words in troubles]
    return [*lines, ""] if lines else lines


def _describe(row: dict) -> str:
    return f"Python {row['python']}, {row['versions']}: " + (
        row["problem"] if "problem" in row else f"{', '.join(_make_cells(row)[-3:])}"
    )


def _write_between_marks(path: Path, table: str) -> None:
    before, begin, rest = path.read_text("utf-8").partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise CourseError(f"{path.name} has no place for the table between {_BEGIN} and {_END}.")
    path.write_text(f"{before}{_BEGIN}\n\n{table}\n\n{_END}{after}", "utf-8")


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CourseError as problem:
        sys.exit(f"matrix: {problem}")
