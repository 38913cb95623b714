"""Grades submissions given as paths, anywhere on disk, without a gradebook."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from autograder import canary
from autograder.blueprint import Blueprint, load_blueprint, load_blueprints
from autograder.course import Course, CourseError
from autograder.grading import Result, grade_notebook
from autograder.secret import draw_seed
from autograder.submissions import Unreadable, identify, make_blank, read_notebook, restore


@dataclass(frozen=True)
class Job:
    """One notebook to grade: its file, or None when a folder lacks it."""

    submission: str  # the path as it was given
    file: Path | None
    folder: Path | None = None  # whose other files come along
    missing: str | None = None  # the name of a notebook that is not there


def grade_paths(paths: list[str], course: Course, workers: int | None = None) -> Iterator[dict]:
    """Yield one object for each notebook, in the order of the paths, after the canary.

    A path that cannot be graded yields an object with `submission` and `error`.
    """
    blueprints = load_blueprints(course)
    prove_grader(course)
    jobs = [job for path in paths for job in _find_jobs(path, blueprints)]
    with ThreadPoolExecutor(workers or os.cpu_count()) as pool:
        yield from pool.map(lambda job: _grade_job(job, blueprints, course.grading), jobs)


def prove_grader(course: Course) -> None:
    """Grade the canary the way submissions are graded; raise when its marks are wrong."""
    blueprint = load_blueprint(course.root, course.assignment, canary.NOTEBOOK)

    def grade(notebook) -> dict[str, float]:
        result = grade_notebook(notebook, blueprint, folder=None)
        return {name: cell["score"] for name, cell in result.cells.items()}

    canary.require_canary(blueprint, grade)


def _find_jobs(given: str, blueprints: dict[str, Blueprint]) -> list[Job]:
    path = Path(given)
    if not path.is_dir() or path.suffix == ".ipynb":
        return [Job(given, path)]
    files = sorted(path.glob("*.ipynb"))
    present = set()
    for file in files:
        try:
            present.add(identify(file, read_notebook(file), blueprints))
        except Unreadable:
            present.add(file.stem)  # said when the file itself is graded
    jobs = [Job(given, file, folder=path) for file in files]
    if not jobs:
        return [Job(given, None)]
    return jobs + [Job(given, None, missing=name) for name in blueprints if name not in present]


def _grade_job(job: Job, blueprints: dict[str, Blueprint], grading: Path) -> dict:
    try:
        if job.missing:
            return _grade_missing(job, blueprints[job.missing]).to_dict()
        return _grade_file(job, blueprints, grading).to_dict()
    except CourseError as problem:
        return {"submission": job.submission, "error": str(problem)}
    except Exception as problem:  # one submission must never end the run for the others
        sentence = f"could not be graded: {type(problem).__name__}: {problem}"
        return {"submission": job.submission, "error": sentence}


def _grade_file(job: Job, blueprints: dict[str, Blueprint], grading: Path) -> Result:
    if job.file is None:
        raise Unreadable(f"{job.submission} holds no notebook (.ipynb).")
    if job.file.is_file() and job.file.suffix != ".ipynb":
        raise Unreadable(f"{job.file.name} is not a notebook: give an .ipynb file or a folder.")
    notebook = read_notebook(job.file)
    blueprint = blueprints[identify(job.file, notebook, blueprints)]
    restored = restore(notebook, blueprint)
    return grade_notebook(
        restored.notebook,
        blueprint,
        job.folder,
        submission=job.submission,
        repairs=restored.repairs,
        flags=restored.flags,
        seed=draw_seed(grading, restored.notebook),
    )


def _grade_missing(job: Job, blueprint: Blueprint) -> Result:
    trouble = f"The submission has no notebook {blueprint.name}.ipynb."
    return grade_notebook(
        make_blank(blueprint), blueprint, None, submission=job.submission, trouble=trouble
    )
