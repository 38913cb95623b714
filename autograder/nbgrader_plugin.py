"""What nbgrader_config.py hangs on nbgrader's own hooks, so that `nbgrader autograde` is ours."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import nbformat
from nbconvert.exporters import NotebookExporter
from nbformat import NotebookNode
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.preprocessors import ClearOutput, NbGraderPreprocessor
from nbgrader.utils import determine_grade
from traitlets import Integer

from autograder import canary, exported
from autograder.blueprint import Blueprint, load_blueprint, load_blueprints
from autograder.course import Course, CourseError, load_course
from autograder.grading import CELL_TIMEOUT, Result, grade_notebook
from autograder.keepsakes import is_kept
from autograder.secret import draw_seed
from autograder.submissions import Unreadable, make_blank, read_notebook, restore

# Steps that read or write the gradebook, where the canary has no place.
_GRADEBOOK_STEPS = {
    "OverwriteKernelspec",
    "OverwriteCells",
    "SaveAutoGrades",
    "AssignLatePenalties",
}
_prepared = False  # does the gradebook know the assignment as it stands?
_proven = False  # has the canary been graded rightly in this process?


def prepare_gradebook(**_) -> None:
    """Make the gradebook know the assignment as it stands in source/ (nbgrader's pre-convert hook).

    nbgrader does this when it generates an assignment; a fresh clone, or a source that was
    rebuilt, would otherwise have to be generated again by hand.
    """
    global _prepared
    if _prepared:
        return
    try:
        record_assignment(load_course())
    except CourseError as problem:
        sys.exit(str(problem))
    _prepared = True


def record_assignment(course: Course) -> None:
    """Write the assignment's cells into the gradebook, unless it has them as they are."""
    from autograder.build import generate_release, load_nbgrader_config

    config = load_nbgrader_config(course)
    db_url = config.CourseDirectory.db_url
    course.grading.mkdir(parents=True, exist_ok=True)
    with Gradebook(db_url, config.CourseDirectory.course_id) as gradebook:
        if _is_recorded(gradebook, course):
            return
    try:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch).resolve()
            (folder / "source").symlink_to(course.root / "source")
            generate_release(course, folder, db_url=db_url)
    except Exception as problem:
        raise CourseError(
            f"The gradebook could not be brought up to date with source/: {problem}. If cells were "
            "added or removed after submissions were graded, nbgrader keeps the old ones: restore "
            "them, or start a new gradebook."
        ) from problem


def _is_recorded(gradebook: Gradebook, course: Course) -> bool:
    """Are the gradebook's cells those of the built source?"""
    for name, blueprint in load_blueprints(course).items():
        try:
            recorded = gradebook.find_notebook(name, course.assignment).source_cells
        except MissingEntry:
            return False
        known = {cell.name: cell.source for cell in recorded}
        current = {
            slot.grade_id: (slot.source if slot.role == "check" else slot.release).source
            for slot in blueprint.slots
            if slot.grade_id
        }
        if known != current:
            return False
    return True


class SubmissionExporter(NotebookExporter):
    """Reads a submission in whatever state it is; lets nothing through before the canary."""

    def from_filename(self, filename, resources=None, **kwargs):
        _require_canary(self.parent)
        try:
            notebook = read_notebook(Path(filename))
        except Unreadable as problem:
            notebook = nbformat.v4.new_notebook(metadata={"course": {"trouble": str(problem)}})
        resources = resources or {}
        resources.setdefault("metadata", {}).update(
            name=Path(filename).stem, path=str(Path(filename).parent)
        )
        return self.from_notebook_node(notebook, resources=resources, **kwargs)


class RestoreSubmission(NbGraderPreprocessor):
    """Puts a submission into the hand-out's shape before nbgrader looks at it."""

    def preprocess(self, nb: NotebookNode, resources):
        trouble = find_trouble(nb)
        if trouble:
            self.log.error("%s Its cells earn nothing; the others are graded.", trouble)
        return restore_submission(nb, _find_blueprint(resources), trouble), resources


def find_trouble(notebook: NotebookNode) -> str | None:
    """Return what a notebook without cells says about why there is nothing to grade."""
    course = notebook.metadata.get("course")
    trouble = course.get("trouble") if isinstance(course, dict) and not notebook.cells else None
    return str(trouble) if trouble else None


def restore_submission(
    notebook: NotebookNode | None, blueprint: Blueprint, trouble: str | None = None
) -> NotebookNode:
    """Return a submission in the hand-out's shape; what had to be done stands in its metadata.

    `trouble` is a sentence about one that could not be read: a blank one takes its place.
    """
    trouble = trouble or (find_trouble(notebook) if notebook else None)
    if trouble:
        restored, notes = make_blank(blueprint), {"trouble": trouble}
    else:
        found = restore(notebook, blueprint)
        restored = found.notebook
        notes = {
            "repairs": found.repairs,
            "flags": [*_find_notes(notebook), *found.flags],
            "release": found.release,
        }
    restored.metadata["course"] = {**blueprint.metadata.get("course", {}), **notes}
    return restored


def _find_notes(notebook: NotebookNode) -> list[str]:
    """Return what was noted when the notebook was made from a .py file."""
    course = notebook.metadata.get("course")
    notes = course.get("notes") if isinstance(course, dict) else None
    return [exported.NOTE] if isinstance(notes, list) and exported.NOTE in notes else []


class ClearOtherOutputs(ClearOutput):
    """Clears outputs as nbgrader does, except where the hand-out keeps the student's own."""

    def preprocess_cell(self, cell: NotebookNode, resources, cell_index):
        if is_kept(cell):
            return cell, resources
        return super().preprocess_cell(cell, resources, cell_index)


class JudgedExecute(NbGraderPreprocessor):
    """Runs the student's cells in a kernel and has every check judged from outside it."""

    timeout = Integer(CELL_TIMEOUT, help="Seconds that one cell may take.").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources):
        judge_submission(
            nb,
            _find_blueprint(resources),
            folder=_find_files(resources),
            student=resources["nbgrader"].get("student", ""),
            seed=draw_seed(load_course().grading, nb),
            timeout=self.timeout,
        )
        return nb, resources


def _find_files(resources) -> Path:
    """Return the folder with what was handed in.

    nbgrader runs notebooks in a copy of it, in which a link has become a copy of what it led to.
    """
    course, facts = load_course(), resources["nbgrader"]
    submitted = course.grading / "submitted" / facts.get("student", "") / course.assignment
    return submitted if submitted.is_dir() else Path(resources["metadata"]["path"]).resolve()


def judge_submission(
    notebook: NotebookNode,
    blueprint: Blueprint,
    folder: Path | None,
    student: str,
    seed: int,
    timeout: float = CELL_TIMEOUT,
) -> Result:
    """Run and judge what `restore_submission` returned; outputs and result go into it."""
    notes = notebook.metadata.get("course", {})
    result = grade_notebook(
        notebook,
        blueprint,
        folder=folder,
        submission=student,
        repairs=list(notes.get("repairs", [])),
        flags=list(notes.get("flags", [])),
        trouble=notes.get("trouble"),
        release=notes.get("release", ""),
        seed=seed,
        cell_timeout=timeout,
    )
    notebook.metadata["course"] = {**notes, "result": result.to_dict()}
    return result


def _find_blueprint(resources) -> Blueprint:
    names = resources["nbgrader"]
    return load_blueprint(load_course().root, names["assignment"], names["notebook"])


def _require_canary(converter) -> None:
    """Grade the canary once, by the very preprocessors that this converter is configured with."""
    global _proven
    if _proven:
        return

    def grade(notebook: NotebookNode) -> dict[str, float]:
        with tempfile.TemporaryDirectory() as folder:
            resources = {
                "nbgrader": {
                    "student": "canary",
                    "assignment": blueprint.assignment,
                    "notebook": blueprint.name,
                },
                "metadata": {"path": folder},
                "unique_key": blueprint.name,
            }
            exporter = NotebookExporter(parent=converter)
            for step in (*converter.sanitize_preprocessors, *converter.autograde_preprocessors):
                if _name_of(step) not in _GRADEBOOK_STEPS:
                    exporter.register_preprocessor(step)
            text, _ = exporter.from_notebook_node(notebook, resources=resources)
        graded = nbformat.reads(text, as_version=4)
        return {
            cell.metadata.nbgrader.grade_id: determine_grade(cell)[0]
            for cell in graded.cells
            if cell.metadata.get("nbgrader", {}).get("grade")
        }

    try:
        course = load_course()
        blueprint = load_blueprint(course.root, course.assignment, canary.NOTEBOOK)
        canary.require_canary(blueprint, grade)
    except CourseError as problem:
        sys.exit(f"autograder: {problem}")  # not an Exception: nbgrader must not carry on
    _proven = True


def _name_of(step) -> str:
    return step.rsplit(".", 1)[-1] if isinstance(step, str) else step.__name__
