"""The one writer: finished work goes to nbgrader's gradebook and to grading/autograded/.

What lands there is what `nbgrader autograde` would have written: the same preprocessors do it,
on one connection and in one transaction per notebook. The order makes a run safe to kill anywhere:
the notebook beside its place, the gradebook, the notebook in its place, and the record last.
Whatever lacks its record is graded again, with the same outcome.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace

import nbformat
from nbformat import NotebookNode
from nbgrader import api
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import (
    AssignLatePenalties,
    NbGraderPreprocessor,
    OverwriteCells,
    OverwriteKernelspec,
    SaveAutoGrades,
)
from nbgrader.utils import find_all_files, is_ignored
from sqlalchemy.exc import SQLAlchemyError
from traitlets.utils.importstring import import_item

from autograder.authoring.build import generate_release, load_nbgrader_config
from autograder.blueprint import load_blueprints
from autograder.classroom.migration import fits, migrate, read_points
from autograder.classroom.snapshot import copy_gradebook
from autograder.course import Assignment, CourseError
from autograder.files import explain_os_error, replace_file, write_beside
from autograder.grading.grade import CELL_TIMEOUT
from autograder.grading.secret import copy_secret
from autograder.intake.moments import Moment, find_moments
from autograder.intake.writeups import find_elsewhere
from autograder.roster import Entry, find_roster
from autograder.terminal import show_bar

# Done by whoever runs the notebook; everything else in nbgrader_config.py's lists is done here.
_DONE_BY_WORKERS = ("RestoreSubmission", "DeduplicateIds", "JudgedExecute")
_UNTOUCHED = "No response."  # nbgrader's comment on an answer that is as it was handed out
_PERMISSIONS = 0o444  # what nbgrader gives to graded files


class NotRecorded(CourseError):
    """Work was graded, but could not be written down; the text says why."""


@dataclass(frozen=True)
class Mark:
    """One cell's points in the gradebook."""

    student: str
    notebook: str
    cell: str
    max_score: float
    auto: float | None
    manual: float | None
    extra: float | None
    waits: bool  # for a person
    written: bool  # an answer in words, not a test

    @property
    def score(self) -> float:
        """As nbgrader counts: a person's mark stands before the automatic one, and extra on top."""
        given = self.manual if self.manual is not None else self.auto
        if given is None:
            return 0.0
        # A mark from before an exercise lost points never counts more than there are now.
        return min(given, self.max_score) + (self.extra or 0.0)


@dataclass(frozen=True)
class Deadline:
    """When an assignment is due, and the extensions that the gradebook knows."""

    due: datetime | None
    extensions: dict[str, timedelta | None] = field(default_factory=dict)  # by student

    def find_end(self, student: str, roster: dict[str, Entry], name: str) -> datetime | None:
        """Return until when a student's work is in time; whom the roster names, it alone extends."""
        if self.due is None:
            return None
        if student in roster:
            granted = roster[student].find_extension(name)
        else:
            granted = self.extensions.get(student)
        return self.due + (granted or timedelta(0))


# ------------------------------------------------------------------------- one transaction


class _Deferred:
    """A database session whose `commit` waits for `finish`."""

    def __init__(self, session):
        self._session = session

    def __getattr__(self, name):
        return getattr(self._session, name)

    def commit(self) -> None:
        self._session.flush()

    def finish(self) -> None:
        self._session.commit()


class _OneTransaction(api.Gradebook):
    """nbgrader's gradebook, with lookups of one notebook read at once and one commit at the end."""

    def __init__(self, db_url: str, course_id: str):
        super().__init__(db_url, course_id)
        self.db = _Deferred(self.db)
        self._sources: dict[str, dict[str, SimpleNamespace]] = {}
        self._grades: dict[str, api.Grade] = {}
        self._comments: dict[str, api.Comment] = {}

    def turn_to(self, notebook: str, assignment: str, student: str) -> None:
        """Read a student's notebook: all its grades and comments."""
        found = super().find_submission_notebook(notebook, assignment, student)
        for kind, known in ((api.Grade, "_grades"), (api.Comment, "_comments")):
            rows = self.db.query(api.BaseCell.name, kind).join(
                kind, kind.cell_id == api.BaseCell.id
            )
            setattr(self, known, dict(map(tuple, rows.filter(kind.notebook_id == found.id))))

    def find_grade(self, grade_cell: str, notebook: str, assignment: str, student: str):
        return self._grades.get(grade_cell) or super().find_grade(
            grade_cell, notebook, assignment, student
        )

    def find_comment(self, solution_cell: str, notebook: str, assignment: str, student: str):
        return self._comments.get(solution_cell) or super().find_comment(
            solution_cell, notebook, assignment, student
        )

    def find_source_cell(self, name: str, notebook: str, assignment: str):
        return self._read_source(notebook, assignment)[name]

    def find_graded_cell(self, name: str, notebook: str, assignment: str):
        return self._read_source(notebook, assignment)[name]

    def _read_source(self, notebook: str, assignment: str) -> dict[str, SimpleNamespace]:
        """Return the assignment's own cells, which do not change during a run."""
        if notebook not in self._sources:
            entry = super().find_notebook(notebook, assignment)
            points = {cell.name: cell.max_score for cell in entry.grade_cells}
            self._sources[notebook] = {
                cell.name: SimpleNamespace(
                    name=cell.name,
                    cell_type=cell.cell_type,
                    locked=cell.locked,
                    checksum=cell.checksum,
                    source=cell.source,
                    max_score=points.get(cell.name, 0.0),
                )
                for cell in entry.source_cells
            }
            self._kernelspecs = getattr(self, "_kernelspecs", {}) | {notebook: entry.kernelspec}
        return self._sources[notebook]

    def find_kernelspec(self, notebook: str, assignment: str) -> str | None:
        self._read_source(notebook, assignment)
        return self._kernelspecs[notebook]


class _SharedKernelspec(OverwriteKernelspec):
    """nbgrader's step, on the run's one connection."""

    def preprocess(self, nb: NotebookNode, resources):
        names = resources["nbgrader"]
        spec = names["gradebook"].find_kernelspec(names["notebook"], names["assignment"])
        if spec and json.loads(spec):
            nb.metadata["kernelspec"] = json.loads(spec)
        return nb, resources


class _SharedOverwrite(OverwriteCells):
    """nbgrader's step, on the run's one connection."""

    def preprocess(self, nb: NotebookNode, resources):
        _introduce(self, resources)
        return NbGraderPreprocessor.preprocess(self, nb, resources)


class _SharedSave(SaveAutoGrades):
    """nbgrader's step, on the run's one connection."""

    def preprocess(self, nb: NotebookNode, resources):
        _introduce(self, resources)
        return NbGraderPreprocessor.preprocess(self, nb, resources)


class _SharedPenalties(AssignLatePenalties):
    """nbgrader's step, on the run's one connection."""

    def preprocess(self, nb: NotebookNode, resources):
        _introduce(self, resources)
        self.init_plugin()
        self.gradebook.db.flush()
        self.gradebook.db.expire_all()  # scores are sums that the database works out
        assign_late_penalty(self, self.gradebook, self.notebook_id, self.assignment_id,
                            self.student_id)  # fmt: skip
        return nb, resources


def assign_late_penalty(
    step: AssignLatePenalties,
    gradebook: api.Gradebook,
    notebook: str,
    assignment: str,
    student: str,
) -> None:
    """Set a notebook's penalty as nbgrader's plugin wants it for the score as it is now."""
    submission = gradebook.find_submission(assignment, student)
    entry = gradebook.find_submission_notebook(notebook, assignment, student)
    entry.late_submission_penalty = None
    if submission.total_seconds_late > 0:
        penalty = step.plugin_inst.late_submission_penalty(
            student, entry.score, submission.total_seconds_late
        )
        if penalty is not None:
            entry.late_submission_penalty = step._check_late_penalty(entry, penalty)


def _introduce(step, resources) -> None:
    names = resources["nbgrader"]
    step.gradebook = names["gradebook"]
    step.notebook_id, step.assignment_id = names["notebook"], names["assignment"]
    step.student_id = names["student"]


_SHARED = {
    "OverwriteKernelspec": _SharedKernelspec,
    "OverwriteCells": _SharedOverwrite,
    "SaveAutoGrades": _SharedSave,
    "AssignLatePenalties": _SharedPenalties,
}


# ------------------------------------------------------------------- what there is to be earned


def record_assignment(assignment: Assignment) -> None:
    """Write the assignment's cells into the gradebook, unless it has them as they are."""
    config = load_nbgrader_config(assignment)
    db_url = config.CourseDirectory.db_url
    assignment.grading.mkdir(parents=True, exist_ok=True)
    with api.Gradebook(db_url, config.CourseDirectory.course_id) as gradebook:
        if _is_recorded(gradebook, assignment):
            set_due(gradebook, assignment)
            return
        follow_course(gradebook, assignment)
    try:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch).resolve()
            source = folder / "source" / assignment.name
            source.mkdir(parents=True)
            for plan in assignment.notebooks:
                name = f"{plan.name}.ipynb"
                (source / name).symlink_to(assignment.source / name)
            generate_release(assignment, folder, db_url=db_url)
        with api.Gradebook(db_url, config.CourseDirectory.course_id) as gradebook:
            set_due(gradebook, assignment)
    except Exception as problem:
        raise CourseError(
            f"The gradebook could not be brought up to date with source/: {problem}."
        ) from problem


def set_due(gradebook: api.Gradebook, assignment: Assignment) -> None:
    """Let the gradebook know when it is due, where course.toml says it."""
    if assignment.due is not None:
        moment = assignment.due.astimezone(UTC).replace(tzinfo=None)
        entry = gradebook.find_assignment(assignment.name)
        if entry.duedate != moment:
            entry.duedate = moment
            gradebook.db.commit()


def set_moments(assignment: Assignment) -> None:
    """Let the gradebook know when each submission in it came, as those say it who may."""
    find_alembic()
    config = load_nbgrader_config(assignment).CourseDirectory
    moments = find_moments(assignment)
    with api.Gradebook(config.db_url, config.course_id) as gradebook:
        try:
            submissions = gradebook.find_assignment(assignment.name).submissions
        except api.MissingEntry:
            return
        for submission in submissions:
            time = moments.get(submission.student_id, Moment()).time
            submission.timestamp = time and time.replace(tzinfo=None)
        gradebook.db.commit()


def follow_course(gradebook: api.Gradebook, assignment: Assignment) -> None:
    """Make room for what is new in source/, take out what is gone, and say what was done."""
    for sentence in migrate(gradebook, assignment):
        print(f"autograder: {sentence}", file=sys.stderr)


def _is_recorded(gradebook: api.Gradebook, assignment: Assignment) -> bool:
    """Are the gradebook's cells those of the built source?"""
    if not fits(gradebook, assignment):
        return False
    for name, blueprint in load_blueprints(assignment).items():
        recorded = gradebook.find_notebook(name, assignment.name).source_cells
        known = {cell.name: cell.source for cell in recorded}
        current = {
            slot.grade_id: (slot.source if slot.role == "check" else slot.release).source
            for slot in blueprint.slots
            if slot.grade_id
        }
        if known != current:
            return False
    return True


# -------------------------------------------------------------------------------- the writer


class ClassGradebook:
    """nbgrader's gradebook and the folder of graded notebooks, for one run.

    With `preview` it is a copy in a temporary folder: a changed course is followed there, and nothing
    is written below grading/.
    """

    def __init__(self, assignment: Assignment, preview: bool = False):
        find_alembic()
        self.assignment = assignment
        self.config = load_nbgrader_config(assignment)
        self.directory = CourseDirectory(config=self.config)
        self._closing = contextlib.ExitStack()
        self.scratch: Path | None = None  # where a preview puts what it makes
        self.points_were: dict[tuple[str, str], float] = {}  # before a preview followed the course
        with (
            show_bar("opening the gradebook"),
            _said_in_a_sentence("the gradebook could not be opened"),
        ):
            if preview:
                self._copy()
            else:
                record_assignment(assignment)
            self._book = _OneTransaction(self.directory.db_url, self.directory.course_id)
        self._closing.callback(self._book.close)

    def _copy(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="preview-", ignore_cleanup_errors=True)
        self.scratch = Path(self._closing.enter_context(folder)).resolve()
        copy_secret(self.assignment.grading, self.scratch)
        copy = self.scratch / "gradebook.db"
        copy_gradebook(self.directory.db_url, copy)
        self.directory.db_url = f"sqlite:///{copy}"
        with (
            contextlib.suppress(api.MissingEntry),
            api.Gradebook(self.directory.db_url, self.directory.course_id) as gradebook,
        ):
            self.points_were = read_points(gradebook, self.assignment)
            if not fits(gradebook, self.assignment):
                migrate(gradebook, self.assignment, move_files=False)
            set_due(gradebook, self.assignment)

    @property
    def grading(self) -> Path:
        """Return where a run keeps what it writes: grading/, or the preview's own folder."""
        return self.scratch or self.assignment.grading

    def __enter__(self) -> ClassGradebook:
        return self

    def __exit__(self, *_) -> None:
        self._closing.close()

    @cached_property
    def _roster(self) -> dict[str, Entry]:
        return find_roster(self.assignment) or {}

    @cached_property
    def _moments(self) -> dict[str, Moment]:
        return find_moments(self.assignment)

    @cached_property
    def _steps(self) -> list[NbGraderPreprocessor]:
        lists = self.config.Autograde
        steps = []
        for name in (*lists.sanitize_preprocessors, *lists.autograde_preprocessors):
            short = name.rsplit(".", 1)[-1] if isinstance(name, str) else name.__name__
            if short in _DONE_BY_WORKERS:
                continue
            kind = _SHARED.get(short) or (import_item(name) if isinstance(name, str) else name)
            steps.append(kind(config=self.config))
        return steps

    @property
    def cell_timeout(self) -> float:
        """The seconds that one cell may take, as nbgrader_config.py says."""
        return float(self.config.JudgedExecute.get("timeout", CELL_TIMEOUT))

    # ------------------------------------------------------------------------------ reading

    def read_marks(self, students: list[str] | None = None) -> list[Mark]:
        """Return every mark of the assignment, read in one go."""
        query = (
            self._book.db.query(
                api.SubmittedAssignment.student_id, api.Notebook.name, api.BaseCell.name,
                api.GradeCell.max_score, api.Grade.auto_score, api.Grade.manual_score,
                api.Grade.extra_credit, api.Grade.needs_manual_grade, api.GradeCell.cell_type,
            )
            .select_from(api.Grade)
            .join(api.GradeCell, api.GradeCell.id == api.Grade.cell_id)
            .join(api.SubmittedNotebook, api.SubmittedNotebook.id == api.Grade.notebook_id)
            .join(api.Notebook, api.Notebook.id == api.SubmittedNotebook.notebook_id)
            .join(api.SubmittedAssignment,
                  api.SubmittedAssignment.id == api.SubmittedNotebook.assignment_id)
            .join(api.Assignment, api.Assignment.id == api.SubmittedAssignment.assignment_id)
            .filter(api.Assignment.name == self.assignment.name)
            .order_by(api.SubmittedAssignment.student_id, api.Notebook.name, api.BaseCell.name)
        )  # fmt: skip
        if students is not None:
            query = query.filter(api.SubmittedAssignment.student_id.in_(students))
        with _said_in_a_sentence("the gradebook could not be read"):
            rows = [Mark(*row[:8], row[8] != "code") for row in query]
            self._book.db.rollback()  # reading, too, opens a transaction
        return rows

    def read_deadlines(self) -> dict[str, Deadline]:
        """Return when each assignment is due: as course.toml says, or else the gradebook."""
        with _said_in_a_sentence("the gradebook could not be read"):
            recorded = self._book.db.query(api.Assignment.name, api.Assignment.duedate)
            dues = {name: due and due.replace(tzinfo=UTC) for name, due in recorded}
            granted: dict[str, dict[str, timedelta | None]] = {name: {} for name in dues}
            rows = self._book.db.query(
                api.Assignment.name, api.SubmittedAssignment.student_id,
                api.SubmittedAssignment.extension,
            ).join(api.Assignment, api.Assignment.id == api.SubmittedAssignment.assignment_id)  # fmt: skip
            for name, student, extension in rows:
                granted[name][student] = extension
            self._book.db.rollback()
        return {
            name: Deadline(
                one.due.astimezone(UTC) if one.due else dues.get(name), granted.get(name, {})
            )
            for name, one in self.assignment.course.assignments.items()
        }

    def read_untouched(self, cell: str) -> dict[str, list[str]]:
        """Return, for each student, the notebooks in which an answer was left as handed out."""
        query = (
            self._book.db.query(api.SubmittedAssignment.student_id, api.Notebook.name)
            .select_from(api.Comment)
            .join(api.BaseCell, api.BaseCell.id == api.Comment.cell_id)
            .join(api.SubmittedNotebook, api.SubmittedNotebook.id == api.Comment.notebook_id)
            .join(api.Notebook, api.Notebook.id == api.SubmittedNotebook.notebook_id)
            .join(api.SubmittedAssignment,
                  api.SubmittedAssignment.id == api.SubmittedNotebook.assignment_id)
            .join(api.Assignment, api.Assignment.id == api.SubmittedAssignment.assignment_id)
            .filter(api.Assignment.name == self.assignment.name, api.BaseCell.name == cell,
                    api.Comment.auto_comment == _UNTOUCHED)
            .order_by(api.SubmittedAssignment.student_id, api.Notebook.name)
        )  # fmt: skip
        found: dict[str, list[str]] = {}
        with _said_in_a_sentence("the gradebook could not be read"):
            for student, notebook in query:
                found.setdefault(student, []).append(notebook)
            self._book.db.rollback()
        return found

    def make_late_rule(self) -> Callable[[str, float, float], float]:
        """Return nbgrader's own late penalty as a function of student, score and seconds."""
        step = AssignLatePenalties(config=self.config)
        step.init_plugin()

        def penalise(student: str, score: float, seconds: float) -> float:
            penalty = step.plugin_inst.late_submission_penalty(student, score, seconds)
            return min(max(0.0, penalty or 0.0), score)

        return penalise

    # ------------------------------------------------------------------------------ writing

    def register(self, entry: Entry) -> None:
        """Write a student of the roster into the gradebook, and the extension of what they gave."""
        with _said_in_a_sentence(f"{entry.student} could not be recorded"):
            try:
                self._book.update_or_create_student(entry.student, **_describe(entry))
                with contextlib.suppress(api.MissingEntry):
                    found = self._book.find_submission(self.assignment.name, entry.student)
                    if self._has_due_date():
                        found.extension = entry.find_extension(self.assignment.name) or None
                self._book.db.finish()
            except BaseException:
                self._book.db.rollback()
                raise

    def _has_due_date(self) -> bool:
        """nbgrader cannot count with an extension of what is never due."""
        return self._book.find_assignment(self.assignment.name).duedate is not None

    def place_files(self, student: str, submitted: Path) -> tuple[Path, list[str]]:
        """Put a submission's other files where its graded notebooks go, as nbgrader does.

        Returns that folder, and words about links: what they lead to is not the student's.
        """
        graded = self.find_folders(student)[1]
        if self.scratch:
            graded = self.scratch / "autograded" / student / self.assignment.name
        ignored = [*self.directory.ignore, "*.ipynb"]
        wanted: dict[Path, Path] = {}
        flags = []
        source = self.assignment.source
        kept = self.config.Autograde.get("exclude_overwriting", {}).get(self.assignment.name, [])
        for folder in (submitted, source):  # the course's own version counts
            for name in find_all_files(str(folder), ignored):
                inner = Path(name).relative_to(folder)
                if folder == source and str(inner) in kept:
                    continue
                if Path(name).is_symlink() or not Path(name).is_file():
                    flags.append(f"{inner} is a link or no ordinary file and was left out")
                else:
                    wanted[graded / inner] = Path(name)
        for target, source in wanted.items():
            content = source.read_bytes()
            if not target.is_file() or target.read_bytes() != content:
                replace_file(target, content, _PERMISSIONS)
        graded.mkdir(parents=True, exist_ok=True)
        for name in find_all_files(str(graded), ignored):
            if Path(name) not in wanted and not is_ignored(name, ["*.ipynb"]):
                Path(name).unlink()
        return graded, flags

    def find_folders(self, student: str) -> tuple[Path, Path]:
        """Return where a student's work is handed in, and where it goes when graded."""
        return tuple(
            Path(self.directory.format_path(step, student, self.assignment.name))
            for step in (self.directory.submitted_directory, self.directory.autograded_directory)
        )

    def write(self, student: str, name: str, notebook: NotebookNode, keep_reviews: bool) -> None:
        """Record one finished notebook.

        `keep_reviews` says that the work is the same as before: what a person has looked at then
        does not wait for them again, unless its automatic score changed.
        """
        graded = self.find_folders(student)[1]
        place = graded / f"{name}.ipynb"
        resources = {
            "nbgrader": {
                "student": student, "notebook": name, "assignment": self.assignment.name,
                "db_url": self.directory.db_url, "gradebook": self._book,
            },
            "unique_key": name,
            "metadata": {"name": name, "path": str(graded)},
        }  # fmt: skip
        with self._transaction(student):
            self._book.turn_to(name, self.assignment.name, student)
            before = {cell: (grade.auto_score, grade.manual_score, grade.needs_manual_grade)
                      for cell, grade in self._book._grades.items()}  # fmt: skip
            for step in self._steps:
                if step.enabled:
                    notebook, resources = step.preprocess(notebook, resources)
            if keep_reviews:
                self._book.db.flush()
                for cell, (auto, manual, waits) in before.items():
                    grade = self._book._grades[cell]
                    if manual is not None and grade.auto_score == auto:
                        grade.needs_manual_grade = waits
            text = nbformat.writes(notebook, version=4)
            fresh = write_beside(place, (text + "\n").encode(), _PERMISSIONS)
        fresh.replace(place)

    def write_missing(self, student: str, name: str) -> None:
        """Record that a notebook was not handed in: nothing to earn, and nothing to read but elsewhere."""
        elsewhere = bool(find_elsewhere(self.assignment, student))
        slots = load_blueprints(self.assignment)[name].slots
        answers = {slot.grade_id for slot in slots if slot.role == "answer" and slot.points > 0}
        with self._transaction(student):
            self._book.turn_to(name, self.assignment.name, student)
            for cell, grade in self._book._grades.items():
                waits = elsewhere and cell in answers and grade.manual_score is None
                grade.auto_score, grade.needs_manual_grade = 0, waits
        (self.find_folders(student)[1] / f"{name}.ipynb").unlink(missing_ok=True)

    @contextlib.contextmanager
    def _transaction(self, student: str) -> Iterator[None]:
        try:
            with _said_in_a_sentence(f"{student} was graded, but could not be recorded"):
                entry = self._roster.get(student)
                self._book.update_or_create_student(student, **_describe(entry))
                time = self._moments.get(student, Moment()).time
                facts = {"timestamp": time and time.replace(tzinfo=None)}
                if entry and self._has_due_date():
                    facts["extension"] = entry.find_extension(self.assignment.name) or None
                with self._book.db.no_autoflush:  # half-made rows would only be warned about
                    self._book.update_or_create_submission(self.assignment.name, student, **facts)
                yield
                self._book.db.finish()
        except BaseException:
            self._book.db.rollback()
            raise
        finally:
            self._book.db.expunge_all()  # memory stays flat however long the class is


def _describe(entry: Entry | None) -> dict[str, str]:
    """Return what nbgrader keeps about a student, as far as the roster says it."""
    if entry is None:
        return {}
    facts = {"first_name": entry.first_name, "last_name": entry.last_name, "email": entry.email}
    return {name: value for name, value in facts.items() if value}


@contextlib.contextmanager
def _said_in_a_sentence(what: str) -> Iterator[None]:
    """Turn what can go wrong with disks and databases into one sentence."""
    log = logging.getLogger("tornado.application")  # where nbgrader's gradebook writes tracebacks
    was, log.disabled = log.disabled, True
    try:
        yield
    except (
        SQLAlchemyError,
        api.InvalidEntry,
    ) as problem:  # the second is what nbgrader makes of it
        words = str(getattr(problem, "orig", None) or problem).strip()
        if "locked" in words:
            why = "the gradebook is locked by another program. Close it and grade again"
        elif "full" in words:
            why = "the disk is full. Make room and grade again"
        else:
            why = f"the database says: {words}"
        raise NotRecorded(f"{what}: {why}.") from problem
    except OSError as problem:
        raise NotRecorded(f"{what}: {explain_os_error(problem)}.") from problem
    finally:
        log.disabled = was


def find_alembic() -> None:
    """Let nbgrader find alembic, which it calls by its bare name, without an activated .venv."""
    folder = str(Path(sys.executable).parent)
    paths = os.environ.get("PATH", "").split(os.pathsep)
    if folder not in paths:
        os.environ["PATH"] = os.pathsep.join([folder, *paths])
