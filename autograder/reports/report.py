"""The class at a glance: gathers what grading found, for one page that needs no network."""

from __future__ import annotations

import json
import os
import random
import statistics
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

import nbformat

from autograder.blueprint import Blueprint, load_blueprints
from autograder.classroom.accounts import account_for
from autograder.classroom.gradebook import ClassGradebook, Mark
from autograder.classroom.staleness import Stale, require_fresh
from autograder.course import Assignment, CourseError
from autograder.files import replace_file
from autograder.grading.grade import read_result
from autograder.intake.writeups import WriteUp, find_elsewhere
from autograder.marking.documents import Document, open_document
from autograder.marking.questions import find_name
from autograder.plain_text import clean_text
from autograder.reports.examples import find_codes, make_anonymous
from autograder.reports.lateness import Arrival, find_arrivals, require_possible
from autograder.reports.similarity import Pair, Work, find_pairs, read_work
from autograder.roster import compare, find_roster
from autograder.terminal import track


@dataclass(frozen=True)
class Who:
    """A student as the page shows them: a name and where their notebooks are, or neither."""

    label: str
    links: dict[str, str] = field(default_factory=dict)  # notebook -> address


@dataclass
class ExerciseFacts:
    """How the class did in one exercise."""

    notebook: str
    name: str
    max_score: float
    scores: list[float] = field(default_factory=list)
    mistakes: dict[str, list[str]] = field(default_factory=dict)  # diagnosis -> students
    sentences: dict[str, str] = field(default_factory=dict)  # diagnosis -> what it says
    examples: dict[str, str] = field(default_factory=dict)  # diagnosis -> code of one of them

    @property
    def mean_share(self) -> float:
        return statistics.fmean(self.scores) / self.max_score if self.scores else 0.0


@dataclass
class QuestionFacts:
    """How the class did in one written answer, as far as people have read it."""

    notebook: str
    cell: str
    max_score: float
    scores: list[float] = field(default_factory=list)
    waiting: int = 0

    @property
    def everything(self) -> int:
        return len(self.scores) + self.waiting


@dataclass
class ClassFacts:
    """Everything that the page tells."""

    title: str
    made: str
    anonymous: bool
    notebooks: dict[str, str]  # name -> title
    people: dict[str, Who]
    totals: dict[str, dict[str, float]]  # student -> notebook -> automatic points
    max_totals: dict[str, float]  # notebook -> automatic points there are
    exercises: list[ExerciseFacts]
    seconds: dict[str, float]  # student -> all notebooks
    notes: list[tuple[str, str, str, str]]  # student, notebook, "repair" or "flag", words
    missing: list[tuple[str, str]]  # student, notebook
    unreadable: list[tuple[str, str, str]]  # student, notebook, why
    pairs: list[Pair]
    questions: list[QuestionFacts]
    desk: str  # where the marking desk is, while it runs on this computer
    not_gradable: list[tuple[str, str]]  # student, why: a person has to look
    not_on_roster: list[str]
    nothing_handed_in: list[str]
    isolation: list[str]
    bare: dict[str, int]  # student -> answers whose cells are as they were handed out
    writeups: list[tuple[str, WriteUp, Document]]  # student, what they wrote elsewhere
    arrivals: list[Arrival]
    stale: list[Stale] = field(default_factory=list)


def write_report(facts: ClassFacts, path: Path) -> None:
    """Write the page about the class."""
    from autograder.reports.page import make_page

    replace_file(path.resolve(), make_page(facts).encode())


def summarise(facts: ClassFacts) -> list[str]:
    """Say the most important things about the class in a few lines."""
    lines = [f"{facts.title}: {len(facts.people)} students are graded."]
    for name, most in facts.max_totals.items():
        scores = [totals[name] for totals in facts.totals.values() if name in totals]
        mean = f", {statistics.fmean(scores):.1f} of {most:g} automatic points" if scores else ""
        lines.append(f"{name}: {len(scores)} handed in{mean}.")
    waiting = sum(question.waiting for question in facts.questions)
    if waiting:
        lines.append(f"{waiting} answers wait for a person: python -m autograder mark.")
    for what, names in (
        ("handed in nothing", facts.nothing_handed_in),
        ("not on the roster", facts.not_on_roster),
    ):
        told = "" if facts.anonymous else f" ({', '.join(names[:20])}{', ...' * (len(names) > 20)})"
        if names:
            lines.append(f"{what}: {len(names)}{told}")
    lines += [f"cannot be graded: {student}: {why}" for student, why in facts.not_gradable]
    lines += [
        f"out of date: {facts.people[entry.student].label}: {entry.sentence}"
        for entry in facts.stale
        if entry.student in facts.people
    ]
    return [clean_text(line) for line in lines]


def gather(
    assignment: Assignment, path: Path, anonymous: bool = False, stale_ok: bool = False
) -> ClassFacts:
    """Read the gradebook and every graded notebook, once; `path` is where links lead from."""
    blueprints = load_blueprints(assignment)
    roster = find_roster(assignment)
    with ClassGradebook(assignment, preview=True) as gradebook:
        stale = require_fresh(gradebook, stale_ok)
        marks = gradebook.read_marks()
        arrivals = find_arrivals(assignment, gradebook, roster)
        graded = {
            student: gradebook.find_folders(student)[1] for student in {m.student for m in marks}
        }
    if not graded:
        raise CourseError(
            "Nothing is graded yet, so there is nothing to report: python -m autograder grade."
        )
    require_possible(arrivals, sorted(graded))
    facts = _start(assignment, blueprints, sorted(graded), graded, path, anonymous)
    works: list[Work] = []
    exercises = {(e.notebook, e.name): e for e in facts.exercises}
    isolation = set()
    for student in track(sorted(graded), "reading the class"):
        for name, blueprint in blueprints.items():
            found = _read(graded[student] / f"{name}.ipynb")
            facts.bare[student] = facts.bare.get(student, 0) + _count_bare(found, blueprint)
            if found is None:
                facts.missing.append((student, name))
                continue
            result = read_result(found)
            works.append(
                read_work(student, blueprint, found, assignment.course.collaborators["cell"])
            )
            isolation.add(result.get("isolation", ""))
            _add_result(facts, exercises, student, result, found, blueprint)
    facts.pairs = find_pairs(works)
    facts.isolation = sorted(isolation - {""})
    _add_marks(facts, marks, set(facts.missing))
    facts.stale = stale
    for entry in stale:
        if entry.student in graded:
            facts.notes.append((entry.student, entry.notebook, "flag", entry.sentence))
    accounts = account_for(assignment)
    facts.not_gradable = [
        (account.student, account.sentence) for account in accounts.values() if account.troubles
    ]
    if anonymous:
        why = "the page with names says why"  # by files, on which people put their own names
        facts.not_gradable = [("a student", why) for _ in facts.not_gradable]
    facts.writeups = [
        (student, writeup, open_document(writeup))
        for student in sorted(graded)
        for writeup in find_elsewhere(assignment, student)
    ]
    here = {account.student for account in accounts.values() if account.handed_in}
    nothing = sorted(set(accounts) - here - set(graded))
    facts.arrivals = [arrivals[student] for student in sorted(graded)]
    if roster is not None:
        facts.not_on_roster, missing = compare(roster, list(here | set(graded)))
        nothing = sorted({*nothing, *missing})
    facts.nothing_handed_in = nothing
    return facts


def _start(
    assignment: Assignment,
    blueprints: dict[str, Blueprint],
    students: list[str],
    graded: dict[str, Path],
    path: Path,
    anonymous: bool,
) -> ClassFacts:
    if anonymous:
        order = list(students)
        random.Random("\n".join(students)).shuffle(order)  # not the order of the alphabet
        people = {student: Who(f"student {i}") for i, student in enumerate(order, start=1)}
    else:
        people = {
            student: Who(student, _find_links(graded[student], path, blueprints))
            for student in students
        }
    return ClassFacts(
        title=assignment.title,
        made=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M"),
        anonymous=anonymous,
        notebooks={plan.name: plan.title for plan in assignment.notebooks},
        people=people,
        totals={student: {} for student in students},
        max_totals={name: blueprint.auto_points for name, blueprint in blueprints.items()},
        exercises=[
            ExerciseFacts(name, slot.exercise, slot.points)
            for name, blueprint in blueprints.items()
            for slot in blueprint.slots
            if slot.role == "check"
        ],
        seconds={},
        notes=[],
        missing=[],
        unreadable=[],
        pairs=[],
        questions=[
            QuestionFacts(name, slot.grade_id, slot.points)
            for name, blueprint in blueprints.items()
            for slot in blueprint.slots
            if slot.role == "answer" and slot.points > 0
        ],
        desk=f"http://localhost:8888/desk/{assignment.name}",
        not_gradable=[],
        not_on_roster=[],
        nothing_handed_in=[],
        isolation=[],
        bare={},
        writeups=[],
        arrivals=[],
    )


def _find_links(folder: Path, page: Path, blueprints: dict[str, Blueprint]) -> dict[str, str]:
    """Return addresses, seen from the page: a feedback page where there is one, or the notebook."""
    links = {}
    for name in blueprints:
        feedback = folder.parents[2] / "feedback" / folder.parent.name / folder.name
        for place in (feedback / f"{name}.html", folder / f"{name}.ipynb"):
            if place.is_file():
                links[name] = quote(os.path.relpath(place.resolve(), page.resolve().parent))
                break
    return links


def _read(path: Path) -> nbformat.NotebookNode | None:
    try:
        notebook = nbformat.from_dict(json.loads(path.read_text("utf-8")))
        for cell in notebook.cells:
            cell.source = "".join(cell.source)  # on disk, texts are lists of lines
        return notebook if read_result(notebook) else None
    except (OSError, ValueError, AttributeError):
        return None


def _count_bare(notebook: nbformat.NotebookNode | None, blueprint: Blueprint) -> int:
    """Count the answers that carry points and hold nothing of the student's."""
    cells = notebook.cells if notebook is not None else []
    texts = {find_name(cell): cell.source.split() for cell in cells}
    return sum(
        texts.get(slot.grade_id, []) in ([], slot.release.source.split())
        for slot in blueprint.slots
        if slot.role == "answer" and slot.points > 0
    )


def _add_marks(facts: ClassFacts, marks: list[Mark], missing: set[tuple[str, str]]) -> None:
    """Count what people have read; a notebook that was not handed in has nothing to read."""
    questions = {(q.notebook, q.cell): q for q in facts.questions}
    for mark in marks:
        entry = questions.get((mark.notebook, mark.cell))
        if entry is None or (mark.student, mark.notebook) in missing:
            continue
        if mark.waits:
            entry.waiting += 1
        else:
            entry.scores.append(mark.score)


def _add_result(
    facts: ClassFacts,
    exercises: dict,
    student: str,
    result: dict,
    notebook: nbformat.NotebookNode,
    blueprint: Blueprint,
) -> None:
    codes = find_codes(notebook, blueprint)
    name = result["notebook"]
    facts.totals[student][name] = result["score"]
    facts.seconds[student] = facts.seconds.get(student, 0.0) + result["seconds"]
    facts.notes += [(student, name, "repair", words) for words in result["repairs"]]
    facts.notes += [(student, name, "flag", words) for words in result["flags"]]
    judged = {key: cell for key, cell in result["cells"].items() if cell["status"] != "manual"}
    if judged and all(cell["diagnosis"] == "unreadable" for cell in judged.values()):
        sentence = next(iter(judged.values()))["messages"][0]
        facts.unreadable.append((student, name, sentence))
    for grade_id, cell in judged.items():
        entry = exercises.get((name, grade_id.removeprefix("test_")))
        if entry is None:
            continue
        entry.scores.append(cell["score"])
        if cell["diagnosis"] and cell["status"] != "passed" and cell["diagnosis"] != "unreadable":
            entry.mistakes.setdefault(cell["diagnosis"], []).append(student)
            told = cell["messages"] if cell["diagnosis"] == "cell-raised" else cell["messages"][:1]
            entry.sentences.setdefault(cell["diagnosis"], " ".join(told))
            code = make_anonymous(codes.get(entry.name, ""))
            known = entry.examples.get(cell["diagnosis"])
            if code and (known is None or len(code) < len(known)):
                entry.examples[cell["diagnosis"]] = code
