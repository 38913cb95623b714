"""Grading a class against stock nbgrader: speed, and that the scores are equal.

    python -m autograder bench grading [--json]
    python -m autograder.bench.grading [--json] [--students N] [--scale]

Side by side in one run: a kernel ready with its imports; one submission, once the warm process is
up; a class, from nothing to the gradebook. The same cells run on both sides: training cells, which
ours would keep, are taken out. Stock nbgrader is measured on a sample of the class and scaled; it
runs in this process, so that starting it costs nothing. `--scale` grades 10 and 240 students, too.
"""

from __future__ import annotations

import argparse
import json as json_format
import logging
import os
import shutil
import statistics
import tempfile
import time
from collections import Counter
from pathlib import Path

import nbformat
from jupyter_client.manager import KernelManager
from nbgrader.api import Gradebook
from nbgrader.converters import Autograde, GenerateAssignment
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config

from autograder.blueprint import Blueprint, is_kept, load_blueprints
from autograder.classroom.gradebook import find_alembic
from autograder.classroom.run import Listener, Unit, grade_class
from autograder.course import Assignment, load_assignment
from autograder.demo.personas import fill_in, solve_all
from autograder.grading.grade import grade_notebook
from autograder.intake.read import read_notebook
from autograder.intake.restore import restore
from autograder.kernel import nursery
from autograder.kernel.session import KernelSession

IMPORTS = """\
import datasets, ipywidgets, matplotlib.figure, torch, transformers
from transformers import AutoModelForSequenceClassification, AutoTokenizer
from course_utils.plots import queries
from course_utils.checks import check
"""  # what the notebooks import
ROUNDS = 3
STOCK_SAMPLE = 2


STUDENTS = 60
SCALE = (10, 240)


def run(json: bool, students: int = STUDENTS, scale: bool = False) -> dict:
    """Measure everything; print a table, or with `json` one JSON object."""
    assignment = load_assignment()
    find_alembic()
    with tempfile.TemporaryDirectory() as scratch:
        result = {"bench": "grading", "students": students, "cores": os.cpu_count()}
        result |= measure_kernels(assignment)
        result |= measure_class(assignment, Path(scratch).resolve(), students)
        if scale:
            result["growth"] = [
                measure_growth(assignment, Path(scratch).resolve() / f"scale-{size}", size)
                for size in SCALE
            ]
    if json:
        print(json_format.dumps(result))
    else:
        print(describe(result))
    return result


def measure_kernels(assignment: Assignment) -> dict:
    """Time a kernel from nothing to its imports done, the plain way and ours, turn by turn."""
    started = time.perf_counter()
    nursery.want(assignment.warm_imports)
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


def measure_class(assignment: Assignment, scratch: Path, students: int) -> dict:
    """Grade the same clean submissions by stock nbgrader (a sample) and by ours (all of them)."""
    blueprints = load_blueprints(assignment)
    names = [f"student{number:03}" for number in range(students)]
    sample = names[: min(STOCK_SAMPLE, students)]
    _make_stock_course(assignment, blueprints, scratch)
    for name in names:
        _hand_in(blueprints, scratch / "submitted" / name / assignment.name)

    stock_scores, stock_seconds = {}, []
    for name in sample:
        started = time.perf_counter()
        _autograde_by_stock(assignment, scratch, name)
        stock_seconds.append(time.perf_counter() - started)
        stock_scores[name] = _read_scores(scratch / "gradebook.db", "stock", assignment, name)

    ours = grade_by_ours(assignment, scratch / "ours", scratch / "submitted")
    scores = {
        name: _read_scores(
            scratch / "ours" / "gradebook.db", assignment.course.id, assignment, name
        )
        for name in sample
    }
    stock = statistics.median(stock_seconds)
    count = len(blueprints)
    times = ours.pop("times")
    return ours | {
        "notebooks": count,
        "stock_submission_seconds": stock,
        "submission_ratio": stock / ours["submission_seconds"],
        "stock_class_seconds": stock * students,
        "stock_measured_on": len(sample),
        "stock_per_minute": 60 * count / stock,
        "per_minute": 60 * count * students / ours["class_seconds"],
        "ratio": stock * students / ours["class_seconds"],
        "own_code_seconds": times.pop("notebook"),
        "other_seconds": times,
        "equal": scores == stock_scores and all(scores.values()),
    }


def grade_by_ours(assignment: Assignment, folder: Path, submitted: Path) -> dict:
    """Grade a class from nothing, warm process included, in a grading folder of its own."""
    folder.mkdir()
    (folder / "submitted").symlink_to(submitted)
    nursery.close_nursery()
    watch = _Watch()
    before = os.environ.get("COURSE_GRADING")
    os.environ["COURSE_GRADING"] = str(folder)
    try:
        watch.started = time.perf_counter()
        summary = grade_class(assignment, listener=watch)
        seconds = time.perf_counter() - watch.started
        assert not summary.problems, summary.problems
    finally:
        os.environ.pop("COURSE_GRADING")
        if before is not None:
            os.environ["COURSE_GRADING"] = before
    one = [sum(results) for results in watch.seconds.values()]
    parts: Counter[str] = Counter()
    for times in watch.times:
        parts.update(times)
    return {
        "class_seconds": seconds,
        "cold_seconds": watch.first - statistics.median(watch.notebook_seconds),
        "submission_seconds": _measure_one(assignment, folder),
        "submission_seconds_in_class": statistics.median(one),
        "times": {name: value / len(one) for name, value in parts.items()},
        "memory_early_mb": watch.memory[min(len(watch.memory) - 1, 29)],
        "memory_end_mb": watch.memory[-1],
    }


def _measure_one(assignment: Assignment, folder: Path) -> float:
    """Time one submission by itself, the warm process up: read, run, judged, three notebooks."""
    place = str(next((folder / "submitted").iterdir()) / assignment.name)
    rounds = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        for path in sorted(Path(place).glob("*.ipynb")):
            blueprint = load_blueprints(assignment)[path.stem]
            restored = restore(read_notebook(path), blueprint)
            grade_notebook(restored, blueprint, Path(place))
        rounds.append(time.perf_counter() - started)
    return statistics.median(rounds)


def measure_growth(assignment: Assignment, scratch: Path, students: int) -> dict:
    """Grade a class of another size; return how long it took and how much memory the end had."""
    blueprints = load_blueprints(assignment)
    for number in range(students):
        _hand_in(blueprints, scratch / "submitted" / f"student{number:03}" / assignment.name)
    ours = grade_by_ours(assignment, scratch / "ours", scratch / "submitted")
    warm = ours["class_seconds"] - ours["cold_seconds"]
    return {
        "students": students,
        "seconds": ours["class_seconds"],
        "seconds_a_student": warm / students,
        "memory_early_mb": ours["memory_early_mb"],
        "memory_end_mb": ours["memory_end_mb"],
    }


class _Watch(Listener):
    """Notes when notebooks are done, where their time went, and how large the grader is."""

    def __init__(self) -> None:
        self.started = self.first = 0.0
        self.seconds: dict[str, list[float]] = {}
        self.notebook_seconds: list[float] = []
        self.times: list[dict] = []
        self.memory: list[float] = []

    def finish(self, unit: Unit, result: dict) -> None:
        self.first = self.first or time.perf_counter() - self.started
        self.seconds.setdefault(unit.student, []).append(result["seconds"])
        self.notebook_seconds.append(result["seconds"])
        self.times.append(result["times"])
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        self.memory.append(pages * os.sysconf("SC_PAGESIZE") / 2**20)


def _make_stock_course(
    assignment: Assignment, blueprints: dict[str, Blueprint], scratch: Path
) -> None:
    """Lay out a plain nbgrader course with the same source; training cells run on neither side."""
    shutil.copytree(assignment.source, scratch / "source" / assignment.name)
    for name in blueprints:
        path = scratch / "source" / assignment.name / f"{name}.ipynb"
        notebook = nbformat.read(path, as_version=4)
        _drop_kept(notebook)
        nbformat.write(notebook, path)
    converter = GenerateAssignment(**_stock_settings(assignment, scratch))
    converter.start()


def _drop_kept(notebook) -> None:
    notebook.cells = [cell for cell in notebook.cells if not is_kept(cell)]


def _hand_in(blueprints: dict[str, Blueprint], folder: Path) -> None:
    folder.mkdir(parents=True)
    for name, blueprint in blueprints.items():
        notebook = fill_in(blueprint, solve_all(blueprint), answer="Because of the softmax.")
        _drop_kept(notebook)
        nbformat.write(notebook, folder / f"{name}.ipynb")


def _stock_settings(assignment: Assignment, scratch: Path, student: str = "*") -> dict:
    config = Config()
    config.CourseDirectory.root = str(scratch)
    config.CourseDirectory.course_id = "stock"
    config.Execute.timeout = 300
    directory = CourseDirectory(config=config)
    directory.assignment_id, directory.student_id = assignment.name, student
    log = logging.getLogger("autograder.bench")
    log.setLevel(logging.CRITICAL)
    return {"coursedir": directory, "config": config, "log": log}


def _autograde_by_stock(assignment: Assignment, scratch: Path, student: str) -> None:
    Autograde(**_stock_settings(assignment, scratch, student)).start()


def _read_scores(
    database: Path, course_id: str, assignment: Assignment, student: str
) -> dict[str, float]:
    with Gradebook(f"sqlite:///{database}", course_id) as gradebook:
        submission = gradebook.find_submission(assignment.name, student)
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
    other = ", ".join(
        f"{_WORDS[name]} {seconds:.2f} s" for name, seconds in result["other_seconds"].items()
    )
    lines += [
        f"{'notebooks a minute':32}{result['stock_per_minute']:>10.1f}{result['per_minute']:>10.1f}",
        f"A class takes the {result['cold_seconds']:.1f} s until the first notebook is under way along"
        f" (starting the warm process: {result['warm_process_start_seconds']:.1f} s).",
        f"The notebooks' own code takes {result['own_code_seconds']:.2f} s of a submission in a class;"
        f" {other}.",
        f"Each kernel has {result['memory_per_kernel_mb']:.0f} MB of its own; the rest is shared.",
        f"The grader itself: {result['memory_early_mb']:.0f} MB after 30 notebooks, "
        f"{result['memory_end_mb']:.0f} MB at the end.",
        f"Stock nbgrader was measured on {result['stock_measured_on']} submissions and scaled.",
    ]
    for step in result.get("growth", []):
        lines.append(
            f"{step['students']} students: {step['seconds']:.0f} s, once warm "
            f"{step['seconds_a_student']:.2f} s a student; "
            f"{step['memory_early_mb']:.0f} MB early, {step['memory_end_mb']:.0f} MB at the end."
        )
    if "growth" not in result:
        lines.append("`python -m autograder.bench.grading --scale` measures 10 and 240 students.")
    lines.append(
        f"On {result['cores']} cores; scores "
        + ("equal, cell by cell." if result["equal"] else "NOT EQUAL.")
    )
    return "\n".join(lines)


_WORDS = {
    "kernel": "starting and ending kernels",
    "tests": "hidden tests in the kernel",
    "judge": "judging",
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m autograder.bench.grading")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--students", type=int, default=STUDENTS)
    parser.add_argument("--scale", action="store_true", help="grade 10 and 240 students, too")
    arguments = parser.parse_args()
    run(arguments.json, arguments.students, arguments.scale)


if __name__ == "__main__":
    main()
