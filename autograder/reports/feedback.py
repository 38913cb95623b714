"""The page that a student gets back, through nbgrader's own template setting.

First a card: points by exercise and answer with a sentence each, comments, and what they were given
for. Then the notebook: figures, folded hints, maths without a script. Nothing hidden, nothing that acts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from nbconvert.exporters import HTMLExporter
from nbgrader.api import Comment, Grade, Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets.config import Config

from autograder.blueprint import load_blueprint
from autograder.course import Assignment, CourseError, load_assignment
from autograder.grading.sanitize import sanitize_output
from autograder.marking.questions import name_answer
from autograder.marking.reading import read_notebook
from autograder.marking.records import Record, read_records
from autograder.marking.render import (
    render_code,
    render_inline,
    render_markdown,
    render_outputs,
)
from autograder.marking.requests import FILE
from autograder.opener import is_plain
from autograder.reports.grades import Grade as GradeOfTrack
from autograder.reports.grades import work_out_grades
from autograder.reports.page_state import fingerprint_student
from autograder.reports.sentences import (
    Line,
    describe_answer,
    describe_check,
    describe_total,
    list_details,
    write_text,
)

ASK = (
    f"Was something overlooked? Hand in a text file {FILE}, with a line for each request, such as "
    "1.2.3: why. A person will look again."
)
TEMPLATES = Path(__file__).parent / "templates"
_FRESH = 20.0  # seconds that the sums of a class are kept
_UNTOUCHED = "No response."  # nbgrader's comment on an answer that is as it was handed out


class FeedbackExporter(HTMLExporter):
    """nbconvert's exporter with our template; formgrader's own pages stay as they are."""

    def __init__(self, **options):
        super().__init__(**options)
        self.exclude_input_prompt = self.exclude_output_prompt = True

    @property
    def default_config(self) -> Config:
        """Leave out what nbgrader's own steps do not know: each would warn of it in the terminal."""
        config = super().default_config
        config.pop("NbConvertBase", None)  # which form of an output to show: our template decides
        return config

    def _template_name_default(self) -> str:
        return "course_feedback"


class WriteFeedback(NbGraderPreprocessor):
    """Puts everything that the page shows where its template finds it."""

    def preprocess(self, nb, resources):
        names = resources["nbgrader"]
        assignment = load_assignment(names["assignment"])
        blueprint = load_blueprint(assignment, names["notebook"])
        with Gradebook(names["db_url"]) as gradebook:
            lines = list(_describe(nb, blueprint, names, gradebook))
            made_from = fingerprint_student(gradebook, assignment, names["student"])
        grade = find_grade(assignment, names["student"])
        sums = _explain(assignment, grade) if grade else []
        title = assignment.find_notebook(names["notebook"]).title
        late = _find_late(grade, names)
        figures = _find_figures(
            assignment.grading / "submitted" / names["student"] / names["assignment"],
            names["notebook"],
        )
        by_cell = {line.cell: line for line in lines}
        notes = nb.metadata.get("course", {}).get("result", {}).get("repairs", [])
        resources["feedback"] = {
            "course": assignment.title,
            "title": title,
            "total": describe_total(lines, late),
            "lines": [
                (
                    line,
                    render_inline(line.sentence),
                    _render_items(line),
                    render_markdown(line.comment),
                )
                for line in lines
            ],
            "cells": [_show(cell, by_cell, figures) for cell in nb.cells],
            "notes": [str(note) for note in notes],
            "sums": sums,
            "ask": ASK,
            "made_from": made_from,
        }
        text = write_text(f"{assignment.title}: {title}", lines, late, sums, ASK)
        outputs = resources.setdefault("outputs", {})
        outputs[f"{names['notebook']}.txt"] = text.encode()
        return nb, resources


def _describe(nb, blueprint, names: dict, gradebook: Gradebook) -> Iterator[Line]:
    """Return a line for every cell that carries points, in the order of the notebook."""
    judged = nb.metadata.get("course", {}).get("result", {}).get("cells", {})
    entry = gradebook.find_submission_notebook(
        names["notebook"], names["assignment"], names["student"]
    )
    grades: dict[str, Grade] = {grade.name: grade for grade in entry.grades}
    comments: dict[str, Comment] = {comment.name: comment for comment in entry.comments}
    records = read_records(gradebook, names["assignment"], names["notebook"], names["student"])
    for slot in blueprint.slots:
        grade = grades.get(slot.grade_id)
        if slot.role not in ("check", "answer") or slot.points <= 0 or grade is None:
            continue
        if slot.role == "check":
            yield _describe_check(slot, grade, judged.get(slot.grade_id))
        else:
            yield _describe_answer(slot, grade, comments.get(slot.grade_id), records)


def _describe_check(slot, grade: Grade, found: dict | None) -> Line:
    """What could not be read is not 0: somebody has to look at it first."""
    sentence = describe_check(found) if found else "It was not judged."
    unread = bool(found) and found.get("diagnosis") == "unreadable" and grade.manual_score is None
    score = None if unread else grade.score
    details = list_details(found) if found else []
    return Line(slot.grade_id, slot.exercise, score, slot.points, sentence, details=details)


_grades: dict[tuple, tuple[float, dict[str, GradeOfTrack]]] = {}  # worked out for a class at a time


def find_grade(assignment: Assignment, student: str) -> GradeOfTrack | None:
    """Return a student's grade on their track; None while nobody has said who is on which."""
    key = assignment.grading, assignment.name
    made, found = _grades.get(key, (float("-inf"), {}))
    if time.monotonic() - made > _FRESH:
        try:
            grades, _ = work_out_grades(assignment)
            found = {grade.entry.student: grade for grade in grades}
        except CourseError:
            found = {}
        _grades[key] = time.monotonic(), found
    return found.get(student)


def _find_late(grade: GradeOfTrack | None, names: dict) -> float | None:
    """Return what being late costs in this notebook, of the points as they are now.

    nbgrader's own number is that of the day of grading, before anybody marked.
    """
    if grade is None:
        return None if names.get("late_penalty") else 0.0
    return sum(part.late for part in grade.parts if part.notebook == names["notebook"])


def _explain(assignment: Assignment, grade: GradeOfTrack) -> list[str]:
    """Return how a student's total comes about on their track, with every penalty."""
    lines = grade.explain()
    if not grade.track:
        return lines
    return [f"Track: {assignment.course.tracks[grade.track]['title']}", *lines]


def _describe_answer(slot, grade: Grade, comment: Comment | None, records: dict) -> Line:
    marked = grade.manual_score is not None
    waits = grade.needs_manual_grade
    score = None if waits else grade.score
    words = (comment.manual_comment or "") if comment else ""
    untouched = bool(comment) and comment.auto_comment == _UNTOUCHED
    record: Record | None = records.get(slot.grade_id)
    counts = record is not None and not waits and record.score == grade.manual_score
    return Line(
        slot.grade_id,
        f"Answer {name_answer(slot.grade_id)}",
        score,
        slot.points,
        describe_answer(score, slot.points, untouched, marked and waits, bool(words)),
        record.list_items() if counts else [],
        words if not waits else "",
        by_hand=True,
    )


def _render_items(line: Line) -> list[tuple[str, float]]:
    return [(render_inline(words), worth) for words, worth in line.items]


def _find_figures(folder: Path, name: str) -> dict[str, list]:
    """Return the figures that a student handed in, by the code that made them.

    Grading does not draw: it says in words what a figure shows.
    """
    path = folder / f"{name}.ipynb"
    if folder.is_symlink() or not is_plain(path):
        return {}  # what a link leads to is not the student's
    notebook = read_notebook(path)
    found = {}
    for cell in notebook.cells if notebook is not None else []:
        outputs = cell.get("outputs")
        if isinstance(outputs, list):
            drawn = [output for output in map(sanitize_output, outputs) if _is_figure(output)]
            if drawn:
                found[cell.source.strip()] = drawn
    return found


def _is_figure(output) -> bool:
    data = (output or {}).get("data", {})
    return any(kind.startswith("image/") for kind in data) or "<img" in data.get("text/html", "")


def _show(cell, lines: dict[str, Line], figures: dict[str, list]) -> dict:
    facts = cell.metadata.get("nbgrader", {})
    name = facts.get("grade_id", "")
    shown = {"anchor": name, "line": lines.get(name), "kind": cell.cell_type, "outputs": ""}
    shown["answer"] = bool(facts.get("solution"))
    if cell.cell_type == "code":
        outputs = cell.get("outputs") or []
        drawn = figures.get(cell.source.strip(), [])
        if drawn and not any(map(_is_figure, outputs)):
            outputs = [output for output in outputs if output.output_type != "display_data"] + drawn
        shown["body"], shown["outputs"] = render_code(cell.source), render_outputs(outputs)
    else:
        shown["body"] = render_markdown(cell.source, cell.get("attachments"), headings=None)
    return shown
