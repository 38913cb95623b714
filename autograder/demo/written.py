"""A class of written answers in a gradebook, without running any code: for trying the marking desk."""

from __future__ import annotations

import random
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import nbformat
from nbgrader import api
from nbgrader.coursedir import CourseDirectory

from autograder.authoring.build import load_nbgrader_config
from autograder.blueprint import Blueprint, load_blueprints
from autograder.classroom.gradebook import find_alembic, record_assignment
from autograder.course import Assignment
from autograder.demo.cohort import write_answers
from autograder.demo.personas import fill_in


def make_written_class(
    assignment: Assignment, count: int, seed: int = 0, notebooks: Iterable[str] | None = None
) -> list[str]:
    """Write `count` students with answers to the gradebook and to autograded/; return their names.

    Rows and files are those that autograding would have left; checks count as passed.
    """
    find_alembic()
    record_assignment(assignment)
    directory = CourseDirectory(config=load_nbgrader_config(assignment))
    blueprints = [
        blueprint
        for name, blueprint in load_blueprints(assignment).items()
        if notebooks is None or name in notebooks
    ]
    rng = random.Random(seed)
    students = [f"student{index:03d}" for index in range(1, count + 1)]
    with api.Gradebook(directory.db_url, directory.course_id) as gradebook:
        known = gradebook.find_assignment(assignment.name)
        for student in students:
            answers = write_answers(blueprints, rng.betavariate(4, 1.6), rng)
            entry = api.SubmittedAssignment(
                assignment=known,
                student=api.Student(id=student),
                timestamp=datetime.now(UTC).replace(tzinfo=None),
            )
            gradebook.db.add(entry)
            for blueprint in blueprints:
                own = {
                    slot.grade_id: answers.get(f"{blueprint.name}/{slot.grade_id}")
                    for slot in blueprint.slots
                    if slot.role == "answer"
                }
                with gradebook.db.no_autoflush:
                    _add_rows(gradebook, entry, blueprint, own)
                _write_file(directory, student, blueprint, own)
        gradebook.db.commit()
    return students


def _add_rows(
    gradebook: api.Gradebook,
    entry: api.SubmittedAssignment,
    blueprint: Blueprint,
    answers: dict[str, str | None],
) -> None:
    found = gradebook.find_notebook(blueprint.name, blueprint.assignment)
    notebook = api.SubmittedNotebook(notebook=found, assignment=entry)
    gradebook.db.add(notebook)
    for cell in found.grade_cells:
        written = cell.name in answers
        waits = written and answers[cell.name] is not None
        score = None if waits else 0.0 if written else cell.max_score
        notebook.grades.append(
            api.Grade(cell_id=cell.id, auto_score=score, needs_manual_grade=waits)
        )
    for cell in found.solution_cells:
        untouched = cell.name in answers and answers[cell.name] is None
        words = "No response." if untouched else None
        notebook.comments.append(api.Comment(cell_id=cell.id, auto_comment=words))


def _write_file(
    directory: CourseDirectory, student: str, blueprint: Blueprint, answers: dict[str, str | None]
) -> None:
    notebook = fill_in(blueprint, {})
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        cell.source = answers.get(name) or cell.source
    folder = Path(
        directory.format_path(directory.autograded_directory, student, blueprint.assignment)
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{blueprint.name}.ipynb").write_text(nbformat.writes(notebook) + "\n", "utf-8")
