"""Handing in: everything in one zip file, with a word about what is missing before it is too late."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import sys
import time
import zipfile
from collections import Counter
from importlib import metadata
from itertools import count, pairwise
from pathlib import Path

from course_utils.handing_in.handout import (
    AssignmentPlan,
    HandInError,
    StudentNotebook,
    find_own_notebook,
    list_notebooks,
    load_assignments,
    load_fact,
    read_notebook,
)
from course_utils.handing_in.standing import find_not_run
from course_utils.handing_in.writeup import WriteUp, make_writeup

LARGE_FILE = 25 * 2**20  # bytes: a warning
LARGEST_FILE = 100 * 2**20  # what the graders take
_PACKAGES = ("attention-course", "torch", "transformers", "datasets", "numpy", "matplotlib")


def submit(folder: str | None = None) -> None:
    """Make the zip file to hand in; for the notebook's last cell.

    `folder` is where the three notebooks are; without it, the folder of this one.
    """
    try:
        assignment = None
        if folder is None:
            try:
                own = find_own_notebook()
                folder, assignment = own.parent, read_notebook(own).assignment or None
            except HandInError:
                folder = Path.cwd()
        made = make_submission(Path(folder), assignment)
        if "google.colab" in sys.modules:
            from google.colab import files

            files.download(str(made))  # the browser's download begins
    except HandInError as problem:
        print(problem)


def make_submission(folder: Path, assignment: str | None = None) -> Path:
    """Put the notebooks, other files, write-up and manifest of a folder into a new zip file.

    Without an assignment, it is the one that most of the folder's notebooks belong to.
    """
    notebooks, warnings = collect_notebooks(folder, assignment)
    plan = load_assignments()[notebooks[0].assignment]
    for notebook in notebooks:
        warnings += examine(notebook)
    files = {f"{notebook.name}.ipynb": notebook.path.read_bytes() for notebook in notebooks}
    for name, without in plan.files.items():
        if (folder / name).is_symlink():
            raise HandInError(
                f"{name} is a link, and what it leads to would be handed in. Put the file itself into "
                f"{folder.resolve()}, and run this again."
            )
        if (folder / name).is_file():
            files[name] = (folder / name).read_bytes()
        else:
            warnings.append(f"{name} is not here: {without}")
    print("Printing your answers and figures ...", flush=True)
    writeup = make_writeup(notebooks)
    files[f"write-up{writeup.suffix}"] = writeup.content
    warnings += examine_pages(writeup, plan)
    for name, content in files.items():
        warnings += _examine_size(name, len(content))
    manifest = make_manifest(plan.name, notebooks, files, writeup, warnings)
    files["manifest.json"] = (json.dumps(manifest, indent=1, ensure_ascii=False) + "\n").encode()
    path = _write_zip(folder, plan.name, files)
    _report(path, files, writeup, warnings)
    return path


def collect_notebooks(
    folder: Path, assignment: str | None = None
) -> tuple[list[StudentNotebook], list[str]]:
    """Return an assignment's notebooks in a folder, one of each, and what is to be said."""
    if not folder.is_dir():
        raise HandInError(f"There is no folder {folder}.")
    known = load_assignments()
    if assignment is not None and assignment not in known:
        raise HandInError(f"There is no assignment {assignment!r}; there are: {', '.join(known)}.")
    everything: list[StudentNotebook] = []
    warnings = []
    for path in sorted(folder.glob("*.ipynb")):
        if path.stat().st_size > LARGEST_FILE:
            raise HandInError(
                f"{path.name} is {path.stat().st_size / 2**20:.0f} MB, more than the graders take "
                f"({LARGEST_FILE // 2**20} MB). Clear the outputs of cells that print a lot, "
                "save it, and run this again."
            )
        try:
            notebook = read_notebook(path)
        except HandInError as problem:
            if path.stem in list_notebooks():
                raise
            warnings.append(f"{path.name} was left out: {problem}")
            continue
        if notebook.name and assignment in (notebook.assignment, None):
            everything.append(notebook)
    if not everything:
        names = known[assignment].notebooks if assignment else list_notebooks()
        raise HandInError(
            f"None of the course's notebooks ({', '.join(names)}) is in {folder.resolve()}. Go to "
            "the folder with your notebooks, or give it: python -m course_utils submit FOLDER"
        )
    counts = Counter(notebook.assignment for notebook in everything)
    chosen_plan = known[max(known, key=lambda name: counts[name])]
    if len(counts) > 1:
        others = ", ".join(name for name in counts if name != chosen_plan.name)
        warnings.append(
            f"This folder holds notebooks of several assignments: this is about {chosen_plan.name}. "
            f"For the rest: python -m course_utils submit --assignment {others}"
        )
    found: dict[str, list[StudentNotebook]] = {name: [] for name in chosen_plan.notebooks}
    for notebook in everything:
        if notebook.assignment == chosen_plan.name:
            found[notebook.name].append(notebook)
    chosen = []
    for name, versions in found.items():
        if not versions:
            how = (
                " In Colab, write KEEP_ON_DRIVE = True in the first cell of every notebook and run "
                "the cell Hand in in each of them: the last one finds them all."
                if "google.colab" in sys.modules
                else " Put it into this folder, and run this again."
            )
            warnings.append(f"{name}.ipynb is not here: it will count as not handed in.{how}")
            continue
        best = next((one for one in versions if one.path.stem == name), None)
        if best is None:
            best = max(versions, key=lambda one: one.path.stat().st_mtime)
        if len(versions) > 1:
            others = ", ".join(one.path.name for one in versions if one is not best)
            warnings.append(f"There are several copies of {name}: {best.path.name} is handed in, "
                            f"not {others}.")  # fmt: skip
        chosen.append(best)
    return chosen, warnings


def examine(notebook: StudentNotebook) -> list[str]:
    """Return a sentence for everything that a student would want to know before handing in."""
    name, sentences = notebook.path.name, []
    unwritten = [cell.label for cell in notebook.cells if cell.role == "answer" and cell.is_open]
    if unwritten:
        sentences.append(f"{name}: not written yet: {', '.join(unwritten)}.")
    unsolved = [cell.label for cell in notebook.cells if cell.role == "solve" and cell.is_open]
    if unsolved:
        sentences.append(f"{name}: the TODO is still open in: {', '.join(unsolved)}.")
    # A finished training may be older than the rest: it is not run again for every change.
    for cells in ([c for c in notebook.cells if c.kept], [c for c in notebook.cells if not c.kept]):
        counts = [cell.count for cell in cells if cell.kind == "code" and cell.count]
        if any(later <= earlier for earlier, later in pairwise(counts)):
            which = "cells of trainings or experiments" if cells[0].kept else "cells"
            sentences.append(
                f"{name}: {which} were run out of order, so their outputs may come from older "
                "code. If you can, restart the kernel and run them once from top to bottom."
            )
    broken = [
        str(cell.number)
        for cell in notebook.cells
        if any(output.get("output_type") == "error" for output in cell.outputs)
    ]
    if broken:
        sentences.append(f"{name}: an error is shown below cell {', '.join(broken)}.")
    empty = find_not_run(notebook)
    if empty:
        sentences.append(
            f"{name}: {empty} cells of trainings and experiments were not run, or saved without "
            "their outputs. Nobody runs them again: what you hand in is what is read."
        )
    return sentences


def examine_pages(writeup: WriteUp, assignment: AssignmentPlan) -> list[str]:
    """Return a sentence for each notebook whose written part is longer than it may be."""
    sentences = []
    for name, pages in writeup.pages.items():
        limit = assignment.notebooks[name].pages
        if pages > limit:
            about = "about " if writeup.is_guess else ""
            sentences.append(
                f"{name}: answers and figures take {about}{pages} pages, {limit} are allowed. "
                "Shorten the answers, or show fewer figures."
            )
    return sentences


def _examine_size(name: str, size: int) -> list[str]:
    if size <= LARGE_FILE:
        return []
    return [
        f"{name} is large, {size / 2**20:.0f} MB. Some places take no more than 100 MB in all: "
        "clear outputs that nobody needs."
    ]


def make_manifest(
    assignment: str, notebooks, files: dict[str, bytes], writeup: WriteUp, warnings
) -> dict:
    """Return what the zip says about itself: hashes, versions, and what was warned of."""
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return {
        "course": load_fact("id"),
        "assignment": assignment,
        "made": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "releases": {notebook.name: notebook.release for notebook in notebooks},
        "files": {
            name: {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
            for name, content in files.items()
        },
        "pages": writeup.pages,
        "versions": versions,
        "warnings": warnings,
    }


def _write_zip(folder: Path, assignment: str, files: dict[str, bytes]) -> Path:
    """Write a zip file under a name that is not taken: earlier ones stay as they are."""
    base = f"{assignment}-submission"
    taken = [
        re.fullmatch(rf"{base}-(\d+)\.zip", path.name) for path in folder.glob(f"{base}-*.zip")
    ]
    first = max((int(match[1]) for match in taken if match), default=0) + 1
    for number in count(first):
        path = folder / f"{base}-{number}.zip"
        try:
            with open(path, "xb") as file:
                try:
                    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                        for name, content in files.items():
                            archive.writestr(name, content)
                except BaseException:
                    file.close()
                    os.unlink(path)  # half a zip would look like a whole one
                    raise
        except FileExistsError:
            continue
        except OSError as problem:
            raise HandInError(
                f"{path} could not be written: {problem.strerror}. Nothing was handed in; make "
                "room or choose another folder, and try again."
            ) from None
        return path
    raise AssertionError("there is always another number")


def _report(path: Path, files: dict[str, bytes], writeup: WriteUp, warnings: list[str]) -> None:
    for sentence in warnings:
        print(f"! {sentence}")
    if warnings:
        print("You can fix this and run the cell again; this zip file is also valid as it is.")
    pages = ", ".join(f"{name} {number}" for name, number in writeup.pages.items())
    print(f"Pages{' (estimated)' if writeup.is_guess else ''}: {pages}.")
    if writeup.suffix == ".html":
        print(
            "No browser was found here that could print a PDF, so the write-up is a web page. It is "
            "accepted like that; to make a PDF yourself, open it and print."
        )
    print(f"Inside: {', '.join(files)}.")
    print(f"Hand in this file: {path}")
