"""What nbgrader_config.py hangs on nbgrader's own hooks, so that `nbgrader autograde` is ours."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import nbformat
from nbconvert.exporters import NotebookExporter
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import determine_grade
from traitlets import Integer

from autograder.adapters.settled_first import stop
from autograder.authoring.build import load_nbgrader_config
from autograder.blueprint import Blueprint, load_blueprint, load_blueprints
from autograder.classroom import gradebook as gradebooks
from autograder.course import Assignment, load_assignment
from autograder.fence import describe_failure
from autograder.grading.canary import prove_once
from autograder.grading.grade import CELL_TIMEOUT, grade_notebook
from autograder.grading.secret import draw_seed
from autograder.intake.arrivals import settle
from autograder.intake.restore import Restored, make_blank, restore

# Steps that read or write the gradebook, where the canary has no place.
_GRADEBOOK_STEPS = {
    "OverwriteKernelspec",
    "OverwriteCells",
    "SaveAutoGrades",
    "AssignLatePenalties",
}
_CANARY = "canary"  # the name of a student whom nobody can be
# nbgrader writes a sanitised notebook and reads it again before it is run; what was found out about
# a submission waits here in between, by student, assignment and notebook.
_restored: dict[tuple[str, str, str], Restored] = {}


def prepare_gradebook(assignment: str, **_) -> None:
    """Make the gradebook know the assignment as it stands in source/ (nbgrader's pre-convert hook).

    nbgrader does this when it generates an assignment; a fresh clone, or a source that was
    rebuilt, would otherwise have to be generated again by hand.
    """
    try:
        _prepare_once(load_assignment(assignment))
    except Exception as problem:
        stop(problem)


def follow_course(assignment: str, **_) -> None:
    """Make an earlier gradebook fit what is generated now (generate_assignment's hook)."""
    try:
        found = load_assignment(assignment)
        directory = CourseDirectory(config=load_nbgrader_config(found))
        with Gradebook(directory.db_url, directory.course_id) as gradebook:
            gradebooks.follow_course(gradebook, found)
    except Exception as problem:
        stop(problem, "Nothing was generated.")


_prepared: set[tuple[Path, str]] = set()  # gradebooks that know the assignment as it stands


def _prepare_once(assignment: Assignment) -> None:
    key = assignment.grading, assignment.name
    if key not in _prepared:
        gradebooks.record_assignment(assignment)
        _prepared.add(key)


class SubmissionExporter(NotebookExporter):
    """Reads a submission in whatever state it is; lets nothing through before the canary."""

    def from_filename(self, filename, resources=None, **kwargs):
        path = Path(filename)
        assignment = load_assignment(resources["nbgrader"]["assignment"])
        _require_canary(self.parent, assignment)
        if path.is_relative_to(assignment.grading / "submitted"):
            blueprint = load_blueprint(assignment, path.stem)
            restored = _read(path.parent, assignment, blueprint)
            if restored.trouble:
                self.log.error("%s Its cells earn nothing; the others go on.", restored.trouble)
            _restored[_find_key(resources)] = restored
            _drop_links(path.parent, assignment)
            notebook = restored.notebook
        else:  # our own, between the two passes
            notebook = nbformat.read(path, as_version=4)
        resources.setdefault("metadata", {}).update(name=path.stem, path=str(path.parent))
        return self.from_notebook_node(notebook, resources=resources, **kwargs)


def _read(folder: Path, assignment: Assignment, blueprint: Blueprint) -> Restored:
    """Read one notebook of a submission; whatever is wrong with it, there is something to go on with."""
    try:
        return settle(folder, load_blueprints(assignment)).restore(blueprint)
    except Exception as problem:
        return make_blank(blueprint, describe_failure(problem, "could not be read"))


def _drop_links(submitted: Path, assignment: Assignment) -> None:
    """Remove what nbgrader copied by following a student's links: it is not the student's."""
    graded = assignment.grading / "autograded" / submitted.parent.name / submitted.name
    for place, _, names in os.walk(submitted):
        for name in names:
            if (Path(place) / name).is_symlink() or submitted.is_symlink():
                copy = graded / Path(place).relative_to(submitted) / name
                if copy.suffix != ".ipynb":
                    copy.unlink(missing_ok=True)


class RestoreSubmission(NbGraderPreprocessor):
    """Sees to it that what nbgrader goes on with is in the hand-out's shape."""

    def preprocess(self, nb: NotebookNode, resources):
        key = _find_key(resources)
        if key not in _restored:  # not read by our exporter
            _restored[key] = restore(nb, _find_blueprint(resources))
        return _restored[key].notebook, resources


class JudgedExecute(NbGraderPreprocessor):
    """Runs the student's cells in a kernel and has every check judged from outside it."""

    timeout = Integer(CELL_TIMEOUT, help="Seconds that one cell may take.").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources):
        blueprint = _find_blueprint(resources)
        restored = _restored.pop(_find_key(resources), None) or restore(nb, blueprint)
        restored.notebook = nb  # as nbgrader's own steps have left it
        grading = load_assignment(blueprint.assignment).grading
        folder = _find_files(resources)
        grade_notebook(
            restored,
            blueprint,
            folder=folder,
            submission=resources["nbgrader"].get("student", ""),
            seed=draw_seed(grading, blueprint, nb, folder),
            cell_timeout=self.timeout,
        )
        return nb, resources


def _find_files(resources) -> Path:
    """Return the folder with what was handed in.

    nbgrader runs notebooks in a copy of it, in which a link has become a copy of what it led to.
    """
    facts = resources["nbgrader"]
    assignment = load_assignment(facts["assignment"])
    submitted = assignment.grading / "submitted" / facts.get("student", "") / assignment.name
    return submitted if submitted.is_dir() else Path(resources["metadata"]["path"]).resolve()


def _find_key(resources) -> tuple[str, str, str]:
    names = resources["nbgrader"]
    return names.get("student", ""), names["assignment"], names["notebook"]


def _find_blueprint(resources) -> Blueprint:
    names = resources["nbgrader"]
    return load_blueprint(load_assignment(names["assignment"]), names["notebook"])


def _require_canary(converter, assignment: Assignment) -> None:
    """Grade the canary once, by the very preprocessors that this converter is configured with."""
    steps = [*converter.sanitize_preprocessors, *converter.autograde_preprocessors]

    def grade_by_nbgrader(notebook: NotebookNode, blueprint: Blueprint) -> dict[str, float]:
        with tempfile.TemporaryDirectory() as folder:
            resources = {
                "nbgrader": {
                    "student": _CANARY,
                    "assignment": blueprint.assignment,
                    "notebook": blueprint.name,
                },
                "metadata": {"path": folder},
                "unique_key": blueprint.name,
            }
            exporter = NotebookExporter(parent=converter)
            for step in steps:
                if _name_of(step) not in _GRADEBOOK_STEPS:
                    exporter.register_preprocessor(step)
            text, _ = exporter.from_notebook_node(notebook, resources=resources)
            _restored.pop(_find_key(resources), None)
        graded = nbformat.reads(text, as_version=4)
        return {
            cell.metadata.nbgrader.grade_id: determine_grade(cell)[0]
            for cell in graded.cells
            if cell.metadata.get("nbgrader", {}).get("grade")
        }

    try:
        prove_once(load_blueprints(assignment), grade_by_nbgrader, way=" ".join(map(str, steps)))
    except Exception as problem:
        stop(problem)


def _name_of(step) -> str:
    return step.rsplit(".", 1)[-1] if isinstance(step, str) else step.__name__
