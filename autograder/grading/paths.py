"""Grades notebooks anywhere on disk, without a gradebook."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from autograder.blueprint import Blueprint, load_blueprints
from autograder.course import Course
from autograder.fence import describe_failure
from autograder.grading.canary import prove
from autograder.grading.grade import grade_notebook
from autograder.grading.secret import draw_seed
from autograder.intake.gather import Gathered, Kit, find_kit, gather
from autograder.intake.read import Unreadable
from autograder.kernel import nursery
from autograder.plain_text import clean_words


@dataclass(frozen=True)
class Job:
    """One notebook of a place to grade, or the sentence about why there is none."""

    submission: str  # the path as it was given
    gathered: Gathered | None = None
    blueprint: Blueprint | None = None
    problem: str | None = None


def grade_paths(
    paths: list[str], course: Course, assignment: str | None = None, workers: int | None = None
) -> Iterator[dict]:
    """Yield one object for each notebook, in the order of the paths, after the canary.

    The assignment is recognised by the notebooks' names, then by their cells, unless one is named.
    A path that cannot be graded yields an object with `submission` and `error`.
    """
    chosen = [course.find(assignment)] if assignment else list(course.assignments.values())
    kits = {one.name: load_blueprints(one) for one in chosen}
    for one in chosen:
        nursery.want(one.warm_imports)
    with tempfile.TemporaryDirectory(prefix="intake-") as scratch:
        jobs = [
            job
            for number, path in enumerate(paths)
            for job in find_jobs(path, kits, Path(scratch) / str(number))
        ]
        used = {job.blueprint.assignment for job in jobs if job.blueprint} or list(kits)[:1]
        for name in used:
            prove(kits[name])
        with ThreadPoolExecutor(workers or os.cpu_count()) as pool:
            yield from pool.map(lambda job: grade_job(job, course.grading), jobs)


def find_jobs(given: str, kits: dict[str, Kit], scratch: Path) -> list[Job]:
    """Return what there is to grade under a path; zips are unpacked into `scratch`."""
    path = Path(given)
    try:
        if not path.exists():
            raise Unreadable(f"{given} does not exist.")
        if path.is_symlink():
            raise Unreadable(f"{given} is a link: give the path that it leads to.")
        if path.is_file() and path.suffix.lower() not in (".ipynb", ".py", ".zip"):
            raise Unreadable(
                f"{path.name} is not a notebook: give an .ipynb, .py or .zip file, or a folder."
            )
        kit = kits[find_kit(path, kits, scratch)]
        gathered = gather(path, kit, scratch)
    except Exception as problem:  # one submission must never end the run for the others
        return [Job(given, problem=describe_failure(problem))]
    alone = path.is_file() and path.suffix.lower() != ".zip"
    known = gathered.pieces.keys() | (gathered.troubles.keys() if not alone else set())
    problems = [*gathered.problems, *(gathered.troubles.values() if alone else ())]
    if not known:
        what = f"{path.name} holds" if path.suffix.lower() == ".zip" else f"{given} holds"
        return [Job(given, problem=p) for p in problems or [f"{what} no notebook (.ipynb)."]]
    wanted = [name for name in kit if name in known or not alone]
    jobs = [Job(given, gathered, kit[name]) for name in wanted]
    return jobs + [Job(given, problem=problem) for problem in problems]


def grade_job(job: Job, grading: Path) -> dict:
    """Grade one notebook; what goes wrong with it becomes a sentence and stops nobody else."""
    if job.problem:
        return clean_words({"submission": job.submission, "error": job.problem})
    try:
        restored = job.gathered.restore(job.blueprint)
        piece = job.gathered.pieces.get(job.blueprint.name)
        alone = Path(job.submission).is_file() and not job.submission.lower().endswith(".zip")
        folder = piece.found.folder if piece and not alone else None
        result = grade_notebook(
            restored,
            job.blueprint,
            folder=folder,
            submission=job.submission,
            seed=draw_seed(grading, job.blueprint, restored.notebook, folder),
        )
        return clean_words(result.to_dict())
    except Exception as problem:  # one submission must never end the run for the others
        return clean_words({"submission": job.submission, "error": describe_failure(problem)})
