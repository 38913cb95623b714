"""Makes notebooks of what lies in grading/submitted/ as a zip or a .py, so that nbgrader sees them.

The original stays where it is. What was made is noted in a small file beside it, so that it can be
made again when something new arrives, and so that nothing of a student's is ever overwritten.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from pathlib import Path

import nbformat

from autograder.blueprint import Blueprint, load_blueprints
from autograder.course import Course
from autograder.intake import find_notebooks, take_in
from autograder.submissions import Unreadable
from autograder.unpacking import unpack

RECORD = ".taken-in.json"


def unpack_submissions(course: Course) -> list[str]:
    """Unpack zips and rebuild .py exports of all students; return sentences about what went wrong."""
    blueprints = load_blueprints(course)
    sentences = []
    for folder in sorted((course.grading / "submitted").glob(f"*/{course.assignment}")):
        try:
            found = unpack_submission(folder, blueprints)
            sentences += [f"{folder.parent.name}: {sentence}" for sentence in found]
        except OSError as problem:  # one folder that cannot be read or written stops nobody
            sentences.append(f"{folder}: {problem}")
    return sentences


def unpack_submission(folder: Path, blueprints: dict[str, Blueprint]) -> list[str]:
    """The same for one student's folder."""
    zips = sorted(folder.glob("*.zip"), key=lambda path: (path.stat().st_mtime, path.name))
    exports = [path for path in find_notebooks(folder, blueprints) if path.suffix == ".py"]
    given = [*zips[-1:], *exports]  # of several zips, the one handed in last
    if not given:
        return []
    record = _read_record(folder)
    arrived = {path.name: _digest(path) for path in given}
    if record.get("from") == arrived:
        return []
    made: dict[str, bytes] = {}
    sentences = []
    for path in given:
        try:
            if path.suffix == ".zip":
                made |= _open_zip(path, blueprints)
            else:
                made |= _rebuild(path, blueprints)
        except Unreadable as problem:
            sentences.append(str(problem))
            made = {
                f"{name}.ipynb": _explain(name, str(problem)) for name in blueprints
            } | made  # so that the student is told, in place of marks
    written = {}
    for name, content in made.items():
        path = folder / name
        ours = record.get("made", {}).get(name)
        if not path.resolve().is_relative_to(folder.resolve()):
            continue  # a link that leads elsewhere
        if path.exists() and (not path.is_file() or _digest(path) != ours):
            continue  # the student's own file, or one that a person has changed
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        written[name] = hashlib.sha256(content).hexdigest()
    (folder / RECORD).write_text(json.dumps({"from": arrived, "made": written}, indent=1), "utf-8")
    return sentences


def _open_zip(path: Path, blueprints: dict[str, Blueprint]) -> dict[str, bytes]:
    scratch = Path(tempfile.mkdtemp(prefix="arrival-"))
    try:
        files = unpack(path, scratch / "content")
        notebooks = find_notebooks(scratch / "content", blueprints)
        if not notebooks:
            raise Unreadable(f"{path.name} holds no notebook (.ipynb).")
        made = {
            file.relative_to(scratch / "content").as_posix(): file.read_bytes()
            for file in files
            if file.suffix not in (".ipynb", ".zip") and file not in notebooks
        }
        for notebook in notebooks:
            if notebook.suffix == ".py":
                made |= _rebuild(notebook, blueprints)
                continue
            try:
                name = take_in(notebook, blueprints).name
            except Unreadable:
                name = notebook.stem  # said when it is graded
            made[f"{name}.ipynb"] = notebook.read_bytes()
        return made
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _rebuild(path: Path, blueprints: dict[str, Blueprint]) -> dict[str, bytes]:
    taken = take_in(path, blueprints)
    taken.notebook.metadata["course"] = {"notebook": taken.name, "notes": taken.flags}
    return {f"{taken.name}.ipynb": nbformat.writes(taken.notebook).encode()}


def _explain(name: str, trouble: str) -> bytes:
    """Return a notebook without cells that says why there is nothing to grade."""
    metadata = {"course": {"notebook": name, "trouble": trouble}}
    return nbformat.writes(nbformat.v4.new_notebook(metadata=metadata)).encode()


def _read_record(folder: Path) -> dict:
    try:
        record = json.loads((folder / RECORD).read_text("utf-8"))
        return record if isinstance(record, dict) else {}
    except (OSError, ValueError):
        return {}


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
