"""Writes the edition with answers, for after the deadline: solutions and model answers, no tests.

Mark schemes, teaching notes and hidden tests stay with the instructors.
"""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.authoring.build import require_built
from autograder.course import Course, CourseError
from autograder.files import replace_file
from autograder.python_text import REGIONS

MARK = "answers.json"  # says that a folder is such an edition, and of which course
KEPT = "SOLUTION"  # the one region whose lines are shown


def publish_answers(course: Course, folder: Path, name: str | None = None) -> list[str]:
    """Write an assignment's notebooks with their answers; return the names that changed."""
    assignment = course.find(name)
    require_built(course)
    _require_own_folder(course, folder)
    files = {MARK: (json.dumps({"course": course.id}) + "\n").encode()}
    for plan in assignment.notebooks:
        notebook = nbformat.read(assignment.source / f"{plan.name}.ipynb", as_version=4)
        text = nbformat.writes(show_answers(notebook)) + "\n"
        files[f"{assignment.name}/{plan.name}_answers.ipynb"] = text.encode()
    changed = [
        name
        for name, content in files.items()
        if not (folder / name).is_file() or (folder / name).read_bytes() != content
    ]
    for name in changed:
        replace_file(folder / name, files[name])
    return changed


def show_answers(source: NotebookNode) -> NotebookNode:
    """Return an instructor's notebook as students may see it afterwards."""
    notebook = nbformat.from_dict(source)
    for cell in notebook.cells:
        cell.source = _drop_regions(cell.source)
        facts = cell.metadata.pop("nbgrader", {})
        if facts.get("grade_id") == "answer_collaborators":
            cell.source = "*(Your own words.)*"
    return notebook


def _drop_regions(text: str) -> str:
    """Leave out what is the instructors' alone, and the marks around the rest."""
    lines, hidden = [], False
    for line in text.splitlines():
        begun = next((name for name in REGIONS if f"BEGIN {name}" in line), None)
        ended = any(f"END {name}" in line for name in REGIONS)
        if begun:
            hidden = begun != KEPT
        elif ended:
            hidden = False
        elif not hidden:
            lines.append(line)
    return "\n".join(lines).rstrip()


def _require_own_folder(course: Course, folder: Path) -> None:
    """Answers never go where students' files are: only into a new folder, or an earlier edition."""
    if folder.exists() and not folder.is_dir():
        raise CourseError(f"{folder} is a file: give a folder to publish into.")
    there = [path for path in folder.glob("*") if path.name != ".git"] if folder.is_dir() else []
    try:
        ours = json.loads((folder / MARK).read_text("utf-8"))["course"] == course.id
    except (OSError, ValueError, KeyError, TypeError):
        ours = False
    if there and not ours:
        raise CourseError(
            f"{folder} holds other things, and answers are kept apart from what students have: "
            "give a new or empty folder."
        )
