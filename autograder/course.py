"""Reads course.toml and knows where the course's folders are."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path


class CourseError(Exception):
    """Something a user can mend; its text is one clear sentence."""


@dataclass(frozen=True)
class NotebookPlan:
    """One notebook of the assignment and the points it must hold."""

    name: str
    title: str
    auto: float
    manual: float
    pages: int  # for the written answers and figures, when printed


@dataclass(frozen=True)
class Course:
    """What course.toml says, and the folders around it."""

    root: Path
    id: str
    title: str
    assignment: str
    notebooks: tuple[NotebookPlan, ...]
    sections: dict
    tracks: dict
    collaborators: dict
    students: dict

    @property
    def texts(self) -> Path:
        return self.root / "notebooks" / self.assignment

    @property
    def source(self) -> Path:
        return self.root / "source" / self.assignment

    @property
    def release(self) -> Path:
        return self.root / "release" / self.assignment

    @property
    def grading(self) -> Path:
        """The folder of everything about real students; COURSE_GRADING moves it."""
        return self.root / os.environ.get("COURSE_GRADING", "grading")

    def find_notebook(self, name: str) -> NotebookPlan | None:
        return next((plan for plan in self.notebooks if plan.name == name), None)


def find_root() -> Path:
    """Return the folder with course.toml: this one, one above it, or the package's own."""
    here = Path.cwd()
    for folder in (here, *here.parents, Path(__file__).resolve().parents[1]):
        if (folder / "course.toml").is_file():
            return folder
    raise CourseError("There is no course.toml here or above: run this from the course's folder.")


@cache
def load_course(root: Path | None = None) -> Course:
    """Read course.toml, or say in one sentence what is wrong with it."""
    root = root or find_root()
    path = root / "course.toml"
    try:
        facts = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CourseError(f"{path} does not exist.") from None
    except tomllib.TOMLDecodeError as problem:
        raise CourseError(f"{path} is not valid TOML: {problem}.") from None
    try:
        course = Course(
            root=root,
            id=facts["course"]["id"],
            title=facts["course"]["title"],
            assignment=facts["course"]["assignment"],
            notebooks=tuple(NotebookPlan(**plan) for plan in facts["notebooks"]),
            sections=facts.get("sections", {}),
            tracks=facts.get("tracks", {}),
            collaborators=facts["collaborators"],
            students=facts["students"],
        )
    except KeyError as missing:
        raise CourseError(f"{path} lacks the entry {missing}.") from None
    except TypeError as problem:
        raise CourseError(
            f"{path}: each [[notebooks]] entry needs exactly name, title, auto, manual and "
            f"pages ({problem})."
        ) from None
    _check_rules(course, path)
    return course


def _check_rules(course: Course, path: Path) -> None:
    for entry in ("package", "address", "branch"):
        if not course.students.get(entry):
            raise CourseError(f"{path}: [students] lacks the entry '{entry}'.")
    for section, facts in course.sections.items():
        if course.find_notebook(facts.get("notebook", "")) is None:
            raise CourseError(
                f"{path}: section {section} names the notebook {facts.get('notebook')!r}, "
                "which is not among [[notebooks]]."
            )
    for name, track in course.tracks.items():
        for section, rule in track.get("sections", {}).items():
            if section not in course.sections:
                raise CourseError(
                    f"{path}: track {name} speaks of section {section}, which is not defined."
                )
            if rule.get("counts") not in ("required", "extra"):
                raise CourseError(
                    f"{path}: in track {name}, section {section} must count as "
                    f'"required" or "extra", not {rule.get("counts")!r}.'
                )
