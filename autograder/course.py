"""What the course says about itself: course.toml, an assignment.toml each, and the folders."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cache
from pathlib import Path

DEFAULT_ASSIGNMENT = "attention"  # what is meant where nobody names one


class CourseError(Exception):
    """Something a user can mend; its text is one clear sentence."""


@dataclass(frozen=True)
class NotebookPlan:
    """One notebook of an assignment and the points it must hold."""

    name: str
    title: str
    auto: float
    manual: float
    pages: int  # for the written answers and figures, when printed
    exercises: str  # the module in autograder/exercises/<assignment>/ that judges it


@dataclass(frozen=True)
class Course:
    """What course.toml says, and the assignments beside it."""

    root: Path
    id: str
    title: str
    tracks: dict
    collaborators: dict
    students: dict
    marking: dict
    weights: dict  # of the assignments in the course's total
    hand_in: dict = field(default_factory=dict)  # where, and when each assignment is due
    late: dict = field(default_factory=dict)  # how many late days everybody has
    assignments: dict[str, Assignment] = field(default_factory=dict, compare=False, repr=False)

    @property
    def grading(self) -> Path:
        """The folder of everything about real students; COURSE_GRADING moves it."""
        return self.root / os.environ.get("COURSE_GRADING", "grading")

    def find(self, name: str | None = None) -> Assignment:
        """Return an assignment by its name; without one, the one that is meant then."""
        if name is None and DEFAULT_ASSIGNMENT not in self.assignments:
            return next(iter(self.assignments.values()))
        if (name or DEFAULT_ASSIGNMENT) not in self.assignments:
            raise CourseError(
                f"There is no assignment {name!r}; notebooks/ holds: {', '.join(self.assignments)}."
            )
        return self.assignments[name or DEFAULT_ASSIGNMENT]


@dataclass(frozen=True)
class Assignment:
    """What one assignment.toml says, and where the assignment's files are."""

    course: Course
    name: str
    title: str
    notebooks: tuple[NotebookPlan, ...]
    sections: dict
    files: dict[str, str] = field(default_factory=dict)  # handed in too: what to say without it
    warm_imports: tuple[str, ...] = ()  # what its notebooks import: ready before a kernel starts

    @property
    def root(self) -> Path:
        return self.course.root

    @property
    def grading(self) -> Path:
        return self.course.grading

    @property
    def due(self) -> datetime | None:
        """When it is due, as course.toml says; a day without a time means its end."""
        found = self.course.hand_in.get("due", {}).get(self.name)
        if found is None or isinstance(found, datetime):
            return found
        return datetime(found.year, found.month, found.day, 23, 59)

    @property
    def opens(self) -> datetime | None:
        """When it is handed out, where course.toml says so; a day without a time means its start."""
        found = self.course.hand_in.get("opens", {}).get(self.name)
        if found is None or isinstance(found, datetime):
            return found
        return datetime(found.year, found.month, found.day)

    @property
    def texts(self) -> Path:
        return self.root / "notebooks" / self.name

    @property
    def source(self) -> Path:
        return self.root / "source" / self.name

    @property
    def release(self) -> Path:
        return self.root / "release" / self.name

    def find_notebook(self, name: str) -> NotebookPlan | None:
        return next((plan for plan in self.notebooks if plan.name == name), None)

    def find_rules(self, track: str) -> dict:
        """Return how a track counts this assignment's sections; without tracks, all is required."""
        return self.course.tracks.get(track, {}).get("sections", {}).get(self.name, {})

    def name_output(self, file: str) -> str:
        """Return the name of something written about this assignment, such as its report."""
        if self.name == DEFAULT_ASSIGNMENT:
            return file
        stem, dot, suffix = file.rpartition(".")
        return f"{stem}-{self.name}{dot}{suffix}"


def find_root() -> Path:
    """Return the folder with course.toml: this one, one above it, or the package's own."""
    here = Path.cwd()
    for folder in (here, *here.parents, Path(__file__).resolve().parents[1]):
        if (folder / "course.toml").is_file():
            return folder
    raise CourseError("There is no course.toml here or above: run this from the course's folder.")


def load_course(root: Path | None = None) -> Course:
    """Read course.toml and what it leads to, or say in one sentence what is wrong with it."""
    return _read_course(root or find_root())


@cache
def _read_course(root: Path) -> Course:
    path = root / "course.toml"
    facts = _read_toml(path)
    try:
        course = Course(
            root=root,
            id=facts["course"]["id"],
            title=facts["course"]["title"],
            tracks=facts.get("tracks", {}),
            collaborators=facts["collaborators"],
            students=facts["students"],
            marking=facts.get("marking", {}),
            weights=facts.get("weights", {}),
            hand_in=facts.get("hand_in", {}),
            late=facts.get("late", {}),
        )
    except KeyError as missing:
        raise CourseError(f"{path} lacks the entry {missing}.") from None
    texts = sorted((root / "notebooks").glob("*/assignment.toml"))
    for text in sorted(texts, key=lambda found: found.parent.name != DEFAULT_ASSIGNMENT):
        course.assignments[text.parent.name] = _read_assignment(course, text)
    if not course.assignments:
        raise CourseError(f"There is no assignment: {root / 'notebooks'}/*/assignment.toml.")
    _check_rules(course, path)
    return course


def load_assignment(name: str | None = None, root: Path | None = None) -> Assignment:
    """Read the course and return one assignment of it."""
    return load_course(root).find(name)


def _read_toml(path: Path) -> dict:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CourseError(f"{path} does not exist.") from None
    except tomllib.TOMLDecodeError as problem:
        raise CourseError(f"{path} is not valid TOML: {problem}.") from None


def _read_assignment(course: Course, path: Path) -> Assignment:
    facts = _read_toml(path)
    try:
        assignment = Assignment(
            course=course,
            name=path.parent.name,
            title=facts["title"],
            notebooks=tuple(NotebookPlan(**plan) for plan in facts["notebooks"]),
            sections=facts.get("sections", {}),
            files=facts.get("files", {}),
            warm_imports=tuple(facts.get("warm_imports", ())),
        )
    except KeyError as missing:
        raise CourseError(f"{path} lacks the entry {missing}.") from None
    except TypeError as problem:
        raise CourseError(
            f"{path}: each [[notebooks]] entry needs exactly name, title, auto, manual, pages and "
            f"exercises ({problem})."
        ) from None
    for section, described in assignment.sections.items():
        if assignment.find_notebook(described.get("notebook", "")) is None:
            raise CourseError(
                f"{path}: section {section} names the notebook {described.get('notebook')!r}, "
                "which is not among [[notebooks]]."
            )
    return assignment


def _check_rules(course: Course, path: Path) -> None:
    twice = course.marking.get("twice_percent", 0)
    if not isinstance(twice, int | float) or not 0 <= twice <= 100:
        raise CourseError(f"{path}: [marking] twice_percent must be a number from 0 to 100.")
    for entry in ("package", "address", "branch"):
        if not course.students.get(entry):
            raise CourseError(f"{path}: [students] lacks the entry '{entry}'.")
    _check_dates(course, path)
    _check_late_days(course, path)
    _check_canvas(course, path)
    for name in course.weights:
        if name not in course.assignments:
            raise CourseError(f"{path}: [weights] names {name!r}, which is no assignment.")
    for track, facts in course.tracks.items():
        for name, rules in facts.get("sections", {}).items():
            if name not in course.assignments:
                raise CourseError(f"{path}: track {track} speaks of {name!r}, no assignment.")
            for section, rule in rules.items():
                if section not in course.assignments[name].sections:
                    raise CourseError(
                        f"{path}: track {track} speaks of section {section}, which {name} does "
                        "not define."
                    )
                if rule.get("counts") not in ("required", "extra"):
                    raise CourseError(
                        f"{path}: in track {track}, section {section} must count as "
                        f'"required" or "extra", not {rule.get("counts")!r}.'
                    )


def _check_dates(course: Course, path: Path) -> None:
    for entry in ("opens", "due"):
        for name, moment in _get_table(course, entry, path).items():
            if name not in course.assignments:
                raise CourseError(
                    f"{path}: [hand_in] {entry} names {name!r}, which is no assignment."
                )
            if not isinstance(moment, date):
                raise CourseError(
                    f"{path}: [hand_in] {entry}.{name} must be a date and time such as "
                    "2030-03-01T18:00:00, without quotes."
                )
            if is_ambiguous(getattr(course.assignments[name], entry)):
                raise CourseError(
                    f"{path}: [hand_in] {entry}.{name} lies in an hour that clocks here go through "
                    "twice, or skip: add the offset, such as 2030-03-01T18:00:00+01:00."
                )
    for assignment in course.assignments.values():
        opens, due = assignment.opens, assignment.due
        if opens and due and opens.astimezone() >= due.astimezone():
            raise CourseError(f"{path}: [hand_in] {assignment.name} is due before it opens.")


def _get_table(course: Course, entry: str, path: Path) -> dict:
    table = course.hand_in.get(entry, {})
    if not isinstance(table, dict):
        raise CourseError(f"{path}: [hand_in] {entry} must name an assignment: {entry}.NAME = ...")
    return table


def is_ambiguous(moment: datetime) -> bool:
    """Does a local time lie in an hour that the clocks go through twice, or skip?"""
    if moment.tzinfo is not None:
        return False
    first, second = (moment.replace(fold=fold).astimezone().utcoffset() for fold in (0, 1))
    return first != second


def _check_late_days(course: Course, path: Path) -> None:
    if not isinstance(course.late, dict):
        raise CourseError(f"{path}: [late] must be a table of its own, with `days = 4`.")
    for name, days in course.late.items():
        if name != "days":
            raise CourseError(f"{path}: [late] has an entry {name!r}; it knows `days` alone.")
        if type(days) is not int or days < 0:
            raise CourseError(f"{path}: [late] days must be a whole number from 0, not {days!r}.")


def _check_canvas(course: Course, path: Path) -> None:
    for name, given in _get_table(course, "canvas", path).items():
        if name not in course.assignments:
            raise CourseError(f"{path}: [hand_in] canvas names {name!r}, which is no assignment.")
        numbers = given if isinstance(given, dict) else {"": given}
        for track, number in numbers.items():
            if track and track not in course.tracks:
                raise CourseError(
                    f"{path}: [hand_in] canvas.{name} names {track!r}, which is no track."
                )
            if type(number) is not int or number <= 0:
                raise CourseError(
                    f"{path}: [hand_in] canvas.{name} must be the number of the assignment in "
                    f"Canvas, such as 12345, or one for each track, not {number!r}."
                )
