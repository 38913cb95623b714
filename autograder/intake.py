"""Takes in what students hand in, whatever its form, and grades it without a gradebook.

A submission is a notebook, a zip of them, a folder, or the .py file that Colab makes of a notebook.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from nbformat import NotebookNode

from autograder import canary, exported
from autograder.blueprint import Blueprint, load_blueprint, load_blueprints
from autograder.course import Course, CourseError
from autograder.grading import Result, grade_notebook
from autograder.secret import draw_seed
from autograder.submissions import Unreadable, identify, make_blank, read_notebook, restore
from autograder.unpacking import unpack


@dataclass(frozen=True)
class Job:
    """One notebook to grade: its file, or None when a folder lacks it."""

    submission: str  # the path as it was given
    file: Path | None
    folder: Path | None = None  # whose other files come along
    missing: str | None = None  # the name of a notebook that is not there
    trouble: str | None = None  # why nothing of the submission could be opened


@dataclass
class Taken:
    """A notebook as it was handed in, before it is put into the hand-out's shape."""

    name: str  # which of the assignment's notebooks it is
    notebook: NotebookNode
    flags: list[str] = field(default_factory=list)


def grade_paths(paths: list[str], course: Course, workers: int | None = None) -> Iterator[dict]:
    """Yield one object for each notebook, in the order of the paths, after the canary.

    A path that cannot be graded yields an object with `submission` and `error`.
    """
    blueprints = load_blueprints(course)
    prove_grader(course)
    with tempfile.TemporaryDirectory(prefix="intake-") as scratch:
        jobs = [
            job
            for number, path in enumerate(paths)
            for job in find_jobs(path, blueprints, Path(scratch) / str(number))
        ]
        with ThreadPoolExecutor(workers or os.cpu_count()) as pool:
            yield from pool.map(lambda job: grade_job(job, blueprints, course.grading), jobs)


def prove_grader(course: Course) -> None:
    """Grade the canary the way submissions are graded; raise when its marks are wrong."""
    blueprint = load_blueprint(course.root, course.assignment, canary.NOTEBOOK)

    def grade(notebook) -> dict[str, float]:
        result = grade_notebook(notebook, blueprint, folder=None)
        return {name: cell["score"] for name, cell in result.cells.items()}

    canary.require_canary(blueprint, grade)


# ---------------------------------------------------------------------------- taking things in


def take_in(path: Path, blueprints: dict[str, Blueprint]) -> Taken:
    """Read a notebook file, or rebuild a notebook from the .py that was made of it."""
    if path.suffix != ".py":
        notebook = read_notebook(path)
        return Taken(identify(path, notebook, blueprints), notebook)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise Unreadable(f"{path} does not exist.") from None
    except (OSError, UnicodeDecodeError):
        raise Unreadable(f"{path.name} is not a text file.") from None
    name = identify(path, exported.rebuild(text, next(iter(blueprints.values()))), blueprints)
    return Taken(name, exported.rebuild(text, blueprints[name]), [exported.NOTE])


def find_jobs(given: str, blueprints: dict[str, Blueprint], scratch: Path) -> list[Job]:
    """Return what there is to grade under a path; a zip is unpacked into `scratch`."""
    path = Path(given)
    if path.suffix == ".zip" and path.is_file():
        return _find_in_zip(given, path, blueprints, scratch)
    if not path.is_dir() or path.suffix == ".ipynb":
        return [Job(given, path)]
    files = find_notebooks(path, blueprints)
    zips = sorted(path.glob("*.zip"), key=lambda zipped: zipped.stat().st_mtime)
    if not files and zips:
        return _find_in_zip(given, zips[-1], blueprints, scratch)
    return _find_in_folder(given, path, blueprints, f"{given} holds")


def _find_in_zip(
    given: str, path: Path, blueprints: dict[str, Blueprint], scratch: Path
) -> list[Job]:
    try:
        unpack(path, scratch)
    except Unreadable as problem:
        return [Job(given, None, trouble=str(problem))]
    return _find_in_folder(given, scratch, blueprints, f"{path.name} holds")


def find_notebooks(folder: Path, blueprints: dict[str, Blueprint]) -> list[Path]:
    """Return the notebooks of a folder; a .py counts when it was made from one that is not there."""
    files = sorted(folder.glob("*.ipynb"))
    there = {file.stem for file in files}
    for path in sorted(folder.glob("*.py")):
        try:
            text = path.read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError):
            continue
        is_ours = path.stem in blueprints or exported.is_export(text)
        if is_ours and path.is_file() and path.stem not in there:
            files.append(path)
    return files


def _find_in_folder(
    given: str, folder: Path, blueprints: dict[str, Blueprint], holds: str
) -> list[Job]:
    files = find_notebooks(folder, blueprints)
    present = set()
    for file in files:
        try:
            present.add(take_in(file, blueprints).name)
        except Unreadable:
            present.add(file.stem)  # said when the file itself is graded
    if not files:
        inner = sorted(path.name for path in folder.rglob("*.zip"))
        also = f" but another zip ({inner[0]}): unpack that one" if inner else ""
        return [Job(given, None, trouble=f"{holds} no notebook (.ipynb){also}.")]
    jobs = [Job(given, file, folder=folder) for file in files]
    return jobs + [Job(given, None, missing=name) for name in blueprints if name not in present]


# ------------------------------------------------------------------------------------- grading


def grade_job(job: Job, blueprints: dict[str, Blueprint], grading: Path) -> dict:
    """Grade one notebook; what goes wrong with it becomes a sentence and stops nobody else."""
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
    if job.trouble:
        raise Unreadable(job.trouble)
    if job.file.is_file() and job.file.suffix not in (".ipynb", ".py"):
        raise Unreadable(
            f"{job.file.name} is not a notebook: give an .ipynb, .py or .zip file, or a folder."
        )
    taken = take_in(job.file, blueprints)
    blueprint = blueprints[taken.name]
    restored = restore(taken.notebook, blueprint)
    return grade_notebook(
        restored.notebook,
        blueprint,
        job.folder,
        submission=job.submission,
        repairs=restored.repairs,
        flags=[*taken.flags, *restored.flags],
        release=restored.release,
        seed=draw_seed(grading, restored.notebook),
    )


def _grade_missing(job: Job, blueprint: Blueprint) -> Result:
    trouble = f"The submission has no notebook {blueprint.name}.ipynb."
    return grade_notebook(
        make_blank(blueprint), blueprint, None, submission=job.submission, trouble=trouble
    )
