"""Grading by warm, walled kernels against stock nbgrader: speed, and that the scores are equal.

    python -m autograder.bench.grading [--json] [--students N]

Three measurements, each side by side in one run: a kernel ready with its imports; one submission,
once the warm process is up; a class. Stock nbgrader is measured on a sample of the class.
"""

from __future__ import annotations

import argparse
import json as json_format
import logging
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from jupyter_client.manager import KernelManager
from nbgrader.api import Gradebook
from nbgrader.converters import Autograde, GenerateAssignment
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config

from autograder.blueprint import Blueprint, load_blueprints
from autograder.course import Course, load_course
from autograder.intake import grade_paths
from autograder.keepsakes import is_kept
from autograder.kernel import nursery
from autograder.kernel.session import KernelSession
from autograder.personas import fill_in, solve_all

IMPORTS = """\
import datasets, ipywidgets, matplotlib.figure, torch, transformers
from transformers import AutoModelForSequenceClassification, AutoTokenizer
from course_utils import plots
from course_utils.checks import check
"""  # what the notebooks import
ROUNDS = 3
STOCK_SAMPLE = 2


def run(json: bool, students: int = 6) -> dict:
    """Measure everything; print a table, or with `json` one JSON object."""
    course = load_course()
    folder = str(Path(sys.executable).parent)  # nbgrader calls alembic by its bare name
    os.environ["PATH"] = os.pathsep.join([folder, os.environ.get("PATH", "")])
    with tempfile.TemporaryDirectory() as scratch:
        result = {"bench": "grading", "students": students}
        result |= measure_kernels()
        result |= measure_class(course, Path(scratch).resolve(), students)
    if json:
        print(json_format.dumps(result))
    else:
        print(describe(result))
    return result


def measure_kernels() -> dict:
    """Time a kernel from nothing to its imports done, the plain way and ours, turn by turn."""
    started = time.perf_counter()
    nursery.share_nursery()
    cold = time.perf_counter() - started
    plain, warm, memory = [], [], []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        manager = KernelManager(kernel_name="python3")
        manager.start_kernel(stderr=-3, stdout=-3)
        client = manager.blocking_client()
        client.start_channels()
        client.wait_for_ready(timeout=120)
        client.execute_interactive(IMPORTS, timeout=120)
        plain.append(time.perf_counter() - started)
        client.stop_channels()
        manager.shutdown_kernel(now=True)

        started = time.perf_counter()
        with KernelSession() as kernel:
            kernel.run(IMPORTS, 120)
            warm.append(time.perf_counter() - started)
            memory.append(_own_memory(kernel.manager.provisioner.pid))
    return {
        "plain_kernel_seconds": statistics.median(plain),
        "warm_kernel_seconds": statistics.median(warm),
        "kernel_ratio": statistics.median(plain) / statistics.median(warm),
        "warm_process_start_seconds": cold,
        "memory_per_kernel_mb": statistics.median(memory),
    }


def _own_memory(pid: int) -> float:
    """Return the memory that belongs to one process alone, in MB."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    private = [int(line.split()[1]) for line in lines if line.startswith("Private_")]
    return sum(private) / 1024


def measure_class(course: Course, scratch: Path, students: int) -> dict:
    """Grade the same clean submissions by stock nbgrader (a sample) and by ours (all of them)."""
    blueprints = load_blueprints(course)
    names = [f"student{number:03}" for number in range(students)]
    sample = names[: min(STOCK_SAMPLE, students)]
    _make_stock_course(course, blueprints, scratch)
    for name in names:
        _hand_in(blueprints, scratch / "submitted" / name / course.assignment)

    stock_scores, stock_seconds = {}, []
    for name in sample:
        started = time.perf_counter()
        _autograde_by_stock(course, scratch, name)
        stock_seconds.append(time.perf_counter() - started)
        stock_scores[name] = _read_scores(scratch, course, name)

    nursery.share_nursery()
    folders = [str(scratch / "submitted" / name / course.assignment) for name in names]
    started = time.perf_counter()
    results = list(grade_paths(folders, course))
    class_seconds = time.perf_counter() - started
    one = [sum(r["seconds"] for r in results if r["submission"] == folder) for folder in folders]
    ours = {
        name: {
            grade_id: cell["score"]
            for result in results
            if result["submission"] == folder
            for grade_id, cell in result["cells"].items()
            if cell["status"] != "manual"
        }
        for name, folder in zip(names, folders, strict=True)
    }
    stock = statistics.median(stock_seconds)
    return {
        "notebooks": len(blueprints),
        "stock_submission_seconds": stock,
        "submission_seconds": statistics.median(one),
        "submission_ratio": stock / statistics.median(one),
        "class_seconds": class_seconds,
        "stock_class_seconds": stock * students,
        "stock_measured_on": len(sample),
        "ratio": stock * students / class_seconds,
        "equal": all(ours[name] == stock_scores[name] for name in sample),
    }


def _make_stock_course(course: Course, blueprints: dict[str, Blueprint], scratch: Path) -> None:
    """Lay out a plain nbgrader course with the same source; training cells run on neither side."""
    shutil.copytree(course.source, scratch / "source" / course.assignment)
    for name in blueprints:
        path = scratch / "source" / course.assignment / f"{name}.ipynb"
        notebook = nbformat.read(path, as_version=4)
        _drop_kept(notebook)
        nbformat.write(notebook, path)
    converter = GenerateAssignment(**_stock_settings(course, scratch))
    converter.start()


def _drop_kept(notebook) -> None:
    notebook.cells = [cell for cell in notebook.cells if not is_kept(cell)]


def _hand_in(blueprints: dict[str, Blueprint], folder: Path) -> None:
    folder.mkdir(parents=True)
    for name, blueprint in blueprints.items():
        notebook = fill_in(blueprint, solve_all(blueprint), answer="Because of the softmax.")
        _drop_kept(notebook)
        nbformat.write(notebook, folder / f"{name}.ipynb")


def _stock_settings(course: Course, scratch: Path, student: str = "*") -> dict:
    config = Config()
    config.CourseDirectory.root = str(scratch)
    config.CourseDirectory.course_id = "stock"
    config.Execute.timeout = 300
    directory = CourseDirectory(config=config)
    directory.assignment_id, directory.student_id = course.assignment, student
    log = logging.getLogger("autograder.bench")
    log.setLevel(logging.CRITICAL)
    return {"coursedir": directory, "config": config, "log": log}


def _autograde_by_stock(course: Course, scratch: Path, student: str) -> None:
    Autograde(**_stock_settings(course, scratch, student)).start()


def _read_scores(scratch: Path, course: Course, student: str) -> dict[str, float]:
    with Gradebook(f"sqlite:///{scratch}/gradebook.db", "stock") as gradebook:
        submission = gradebook.find_submission(course.assignment, student)
        return {
            grade.name: grade.auto_score
            for notebook in submission.notebooks
            for grade in notebook.grades
            if grade.name.startswith("test_")
        }


def describe(result: dict) -> str:
    """Return the results as a small table and a verdict."""
    rows = [
        ("a kernel with its imports", "plain_kernel_seconds", "warm_kernel_seconds", "kernel_ratio"),
        (f"one submission, {result['notebooks']} notebooks", "stock_submission_seconds",
         "submission_seconds", "submission_ratio"),
        (f"a class of {result['students']}", "stock_class_seconds", "class_seconds", "ratio"),
    ]  # fmt: skip
    lines = [f"{'':32}{'stock':>10}{'ours':>10}{'ratio':>8}"]
    for label, stock, ours, ratio in rows:
        lines.append(
            f"{label:32}{result[stock]:>8.2f} s{result[ours]:>8.2f} s{result[ratio]:>8.1f}"
        )
    lines += [
        f"Starting the warm process took {result['warm_process_start_seconds']:.1f} s, once a run.",
        f"Each kernel has {result['memory_per_kernel_mb']:.0f} MB of its own; the rest is shared.",
        f"Stock nbgrader was measured on {result['stock_measured_on']} submissions and scaled.",
        f"On {os.cpu_count()} cores; scores "
        + ("equal, cell by cell." if result["equal"] else "NOT EQUAL."),
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m autograder.bench.grading")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--students", type=int, default=6)
    arguments = parser.parse_args()
    run(arguments.json, arguments.students)


if __name__ == "__main__":
    main()
