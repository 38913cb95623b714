"""A believable class of any size, from known mistakes and accepted variants, the same for a seed.

Abilities differ, and so do exercises; mistakes come in groups, because people misunderstand the
same things. A few hand in late, damaged or copied work, and one or two nothing at all.
"""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.blueprint import Blueprint
from autograder.course import Assignment, CourseError
from autograder.demo.personas import Persona, duplicate_cells, fill_in, raise_at_top, strip_metadata
from autograder.exercises import Exercise, find_exercises

DUE = datetime(2025, 3, 1, 18, 0, tzinfo=UTC)  # of the made-up class
_FIRST = [
    "Aino",
    "Bela",
    "Chidi",
    "Dalia",
    "Edda",
    "Farid",
    "Greta",
    "Hugo",
    "Ines",
    "Jonas",
    "Kamala",
    "Luca",
    "Mira",
    "Noor",
    "Oskar",
    "Paula",
    "Quinn",
    "Rosa",
    "Sami",
    "Tara",
    "Ugo",
    "Vera",
    "Wim",
    "Xenia",
    "Yara",
    "Zeno",
]
_LAST = [
    "Abel",
    "Brandt",
    "Castel",
    "Duarte",
    "Elling",
    "Ferro",
    "Grau",
    "Holm",
    "Iversen",
    "Jansen",
    "Kessler",
    "Lund",
    "Moreau",
    "Novak",
    "Orban",
    "Pires",
    "Quist",
    "Renner",
    "Sato",
    "Toth",
    "Urban",
    "Vidal",
    "Weiss",
    "Yilmaz",
    "Zander",
]
_OPENINGS = (
    "In a sentence,", "Put simply,", "As I see it,", "Because", "The point is that", "Here", "I think",
    "In language,", "Looking at the weights,", "After trying it,",
)  # fmt: skip
_MIDDLES = (
    "the softmax turns scores into shares", "the query picks the keys that point its way",
    "a large scale makes one weight almost 1", "equal scores give equal weights",
    "a word needs what another word carries", "the mask keeps later words out of the sum",
    "padding makes rows of one length", "the gradient would add up over batches otherwise",
    "evaluation must not move the weights",
)  # fmt: skip
_ENDINGS = (
    "so the output follows.", "which is what we want here.", "and nothing else changes.",
    "so that meaning can flow between words.", "and the rest comes out close to zero.",
    "though the scale decides how much.", "as the picture shows.",
)  # fmt: skip


@dataclass
class Student:
    """One made-up student: what they wrote and how they handed it in."""

    persona: Persona
    name: str
    track: str
    answers: dict[str, str] = field(default_factory=dict)  # by notebook and cell
    handed_in: datetime | None = None
    extension_days: int = 0
    absent: bool = False


def make_cohort(
    blueprints: list[Blueprint], count: int, seed: int, tracks: list[str]
) -> list[Student]:
    """Return a class of `count` students."""
    if count < 1:
        raise CourseError(f"A class of {count} students cannot be made: at least 1.")
    rng = random.Random(seed)
    names = _invent_names(rng, count)
    exercises = [e for b in blueprints for e in find_exercises(b.exercises).values()]
    popular = {e.name: _rank_mistakes(e.name, exercises, rng) for e in exercises}
    hardness = {e.name: rng.uniform(-0.25, 0.2) for e in exercises}
    students = []
    for index, name in enumerate(names):
        ability = rng.betavariate(4, 1.6)
        codes, story = _solve(blueprints, ability, popular, hardness, rng)
        persona = Persona(_make_id(name), story, codes)
        track = tracks[0] if rng.random() < 0.7 else tracks[-1]
        answers = write_answers(blueprints, ability, rng)
        early = timedelta(hours=rng.expovariate(1 / 20))
        student = Student(persona, name, track, answers, DUE - early)
        students.append(_give_fate(student, index, count, students, blueprints, rng))
    return students


def hand_in_cohort(students: list[Student], blueprints: list[Blueprint], folder: Path) -> None:
    """Write everybody's submission as nbgrader expects it, with the time it came."""
    for student in students:
        if student.absent:
            continue
        persona = student.persona
        for blueprint in blueprints:
            place = folder / persona.name / blueprint.assignment
            place.mkdir(parents=True, exist_ok=True)
            (place / "timestamp.txt").write_text(f"{student.handed_in:%Y-%m-%d %H:%M:%S} UTC\n")
            if persona.leaves_out == blueprint.name:
                continue
            notebook = fill_in(blueprint, persona.codes)
            for cell in notebook.cells:
                grade_id = cell.metadata.get("nbgrader", {}).get("grade_id")
                cell.source = student.answers.get(f"{blueprint.name}/{grade_id}", cell.source)
            if persona.damage:
                persona.damage(notebook)
            text = nbformat.writes(notebook) if isinstance(notebook, NotebookNode) else notebook
            path = place / f"{blueprint.name}.ipynb"
            path.write_text(text + "\n", "utf-8")
            if "cut" in persona.story and blueprint is blueprints[-1]:
                path.write_text(text[: len(text) // 3], "utf-8")  # an upload that broke off


def make_roster(students: list[Student]) -> str:
    """Return the class's roster as CSV."""
    text = io.StringIO()
    rows = csv.writer(text)
    rows.writerow(["student", "name", "track", "extension_days", "email"])
    for student in students:
        address = f"{student.persona.name}@example.org"
        days = student.extension_days or ""
        rows.writerow([student.persona.name, student.name, student.track, days, address])
    return text.getvalue()


def set_due_date(assignment: Assignment) -> None:
    """Tell the gradebook when the made-up class's work was due."""
    from nbgrader.api import Gradebook

    from autograder.authoring.build import load_nbgrader_config

    config = load_nbgrader_config(assignment).CourseDirectory
    with Gradebook(config.db_url, config.course_id) as gradebook:
        gradebook.update_or_create_assignment(
            assignment.name, duedate=f"{DUE:%Y-%m-%d %H:%M:%S} UTC"
        )


# ----------------------------------------------------------------------------------- one by one


def _invent_names(rng: random.Random, count: int) -> list[str]:
    names: list[str] = []
    pairs = [f"{first} {last}" for first in _FIRST for last in _LAST]
    rng.shuffle(pairs)
    for number in range(count):
        lap, place = divmod(number, len(pairs))
        names.append(pairs[place] + (f" {lap + 1}" if lap else ""))
    return names


def _make_id(name: str) -> str:
    return name.lower().replace(" ", "-")


def _rank_mistakes(name: str, exercises: list[Exercise], rng: random.Random) -> list[str]:
    """Put an exercise's mistakes in an order of popularity, which all students share."""
    in_cell = [e for e in exercises if name in (e.name, e.solved_in)]
    codes = [mistake.code for exercise in in_cell for mistake in exercise.mistakes]
    rng.shuffle(codes)
    return codes[:5]


def _solve(
    blueprints: list[Blueprint],
    ability: float,
    popular: dict[str, list[str]],
    hardness: dict[str, float],
    rng: random.Random,
) -> tuple[dict[str, str], str]:
    codes: dict[str, str] = {}
    wrong = left = 0
    for blueprint in blueprints:
        exercises = find_exercises(blueprint.exercises)
        for slot in blueprint.slots:
            if slot.role != "solve" or slot.grade_id not in exercises:
                continue
            exercise = exercises[slot.grade_id]
            luck = rng.random()
            if luck < ability - hardness[exercise.name] + 0.1:
                right = blueprint.solutions[slot.grade_id]
                codes[exercise.name] = rng.choice([right, right, *exercise.variants])
            elif luck > 0.97 or (ability < 0.35 and rng.random() < 0.4):
                left += 1  # never filled in
            else:
                rank = min(int(rng.expovariate(1.1)), len(popular[exercise.name]) - 1)
                codes[exercise.name] = popular[exercise.name][rank]
                wrong += 1
    return codes, f"{wrong} mistakes, {left} left open"


def write_answers(
    blueprints: list[Blueprint], ability: float, rng: random.Random
) -> dict[str, str]:
    """Return what a student of some ability writes, by notebook and cell; some is left out."""
    answers = {}
    for blueprint in blueprints:
        for slot in blueprint.slots:
            if slot.role != "answer":
                continue
            key = f"{blueprint.name}/{slot.grade_id}"
            if slot.points == 0:  # collaborators and tools
                if rng.random() < 0.97:
                    answers[key] = rng.choice(("Alone.", "alone", "Worked alone, no tools."))
            elif rng.random() < ability + 0.3:
                sentences = [
                    f"{rng.choice(_OPENINGS)} {rng.choice(_MIDDLES)}, {rng.choice(_ENDINGS)}"
                    for _ in range(rng.randint(1, 3))
                ]
                answers[key] = " ".join(sentences)
    return answers


def _give_fate(
    student: Student, index: int, count: int, before: list[Student], blueprints, rng: random.Random
) -> Student:
    """Let things happen to a few: each kind to about one in twenty, the first of them early."""
    every = max(8, count // 3)
    kind = index % every
    fates: dict[int, Callable[[], Student]] = {
        1: lambda: _change(student, "duplicated cells", damage=duplicate_cells),
        2: lambda: _change(student, "metadata gone", damage=strip_metadata),
        3: lambda: _change(student, "raises an error at the top", damage=raise_at_top),
        4: lambda: replace(student, handed_in=DUE + timedelta(hours=rng.uniform(1, 40))),
        5: lambda: replace(student, handed_in=DUE + timedelta(hours=20), extension_days=2),
        6: lambda: _change(student, "left a notebook out", leaves_out=blueprints[-1].name),
        7: lambda: _copy(student, rng.choice([b for b in before if not b.absent]), blueprints),
        9: lambda: _change(student, "the last file is cut off"),
        11: lambda: replace(student, absent=True),
    }
    return fates[kind]() if kind in fates else student


def _change(student: Student, story: str, **facts) -> Student:
    return replace(student, persona=replace(student.persona, story=story, **facts))


def _copy(student: Student, other: Student, blueprints: list[Blueprint]) -> Student:
    """Hand in somebody else's work with a few words changed."""
    codes = {
        name: code.replace("scores", "values_").replace("    return", "    # result\n    return")
        for name, code in other.persona.codes.items()
    }
    answers = {
        key: text if key.endswith("collaborators") else text.replace("Here", "So here")
        for key, text in other.answers.items()
    }
    persona = replace(
        student.persona, codes=codes, story=f"very like {other.persona.name}", damage=None
    )
    return replace(student, persona=persona, answers=answers)
