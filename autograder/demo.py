"""Plays a small class through the whole flow, in a folder of its own under grading/."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from rich import box
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from autograder.course import Course, CourseError
from autograder.terminal import console

FOLDER = "grading/demo"


def run_demo(course: Course, students: int | None = None, seed: int = 0) -> None:
    """Build, hand in, grade, write feedback and a report, and show who got what, and why.

    With `students`, a class of that size is made up from known mistakes, the same for a seed.
    """
    console.rule(f"[bold]{course.title}: a class of made-up students")
    console.print("[bold]1/5[/] build   notebooks/ → source/ → release/")
    from autograder.build import build  # takes seconds to import: a person sees the lines above

    changed = build(course)
    console.print(f"      {len(changed)} files written" if changed else "      up to date")

    from autograder.blueprint import load_blueprints
    from autograder.report import write_report

    blueprints = list(load_blueprints(course).values())
    folder = course.root / FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    os.environ["COURSE_GRADING"] = FOLDER
    if students is None:
        people = _hand_in_small(blueprints, folder)
    else:
        people = _hand_in_large(course, blueprints, folder, students, seed)
    waiting = len(list((folder / "submitted").glob("*/*/*.ipynb")))
    console.print(f"[bold]2/5[/] submit  {len(people)} students, {waiting} notebooks handed in")

    console.print("[bold]3/5[/] python -m autograder grade")
    _grade(course)
    if students is None:
        _run_nbgrader("4/5", "generate_feedback", "Converting notebook", waiting, course)
    else:
        console.print(f"[bold]4/5[/] nbgrader generate_feedback {course.assignment}: left to you")
    console.print("[bold]5/5[/] python -m autograder report")
    write_report(course, folder / "report.html")

    console.print()
    if students is None:
        console.print(_make_table(people, folder, course))
        console.print(f"Feedback pages, one a notebook: {FOLDER}/feedback/")
        example = f"{FOLDER}/feedback/ada/{course.assignment}/{blueprints[0].name}.html"
        console.print(f"For example: {example}")
    else:
        console.print(f"To try: COURSE_GRADING={FOLDER} python -m autograder grades")
    console.print(f"The class at a glance: {FOLDER}/report.html")
    console.print("Real submissions go to grading/submitted/; the demo never touches them.")


def _hand_in_small(blueprints: list, folder: Path) -> list:
    from autograder.personas import hand_in, make_class

    people = make_class(blueprints)
    for persona in people:
        hand_in(persona, blueprints, folder / "submitted")
    return people


def _hand_in_large(course: Course, blueprints: list, folder: Path, count: int, seed: int) -> list:
    from autograder.cohort import hand_in_cohort, make_cohort, make_roster, set_due_date
    from autograder.gradebook import ClassGradebook

    people = make_cohort(blueprints, count, seed, list(course.tracks))
    hand_in_cohort(people, blueprints, folder / "submitted")
    (folder / "roster.csv").write_text(make_roster(people), "utf-8")
    with ClassGradebook(course):
        set_due_date(course)
    return people


def _grade(course: Course) -> None:
    from autograder.classroom import grade_class
    from autograder.progress import Bar, show_summary

    listener = Bar()
    try:
        summary = grade_class(course, listener=listener)
    finally:
        listener.close()
    show_summary(summary, as_json=False)


def _run_nbgrader(step: str, command: str, sign: str, total: int, course: Course) -> None:
    """Run one nbgrader command, showing progress as its log speaks of one notebook after another."""
    label = f"[bold]{step}[/] nbgrader {command} {course.assignment}"
    columns = (
        TextColumn("{task.description}"),
        BarColumn(20),
        MofNCompleteColumn(),
        TextColumn("{task.fields[who]}"),
        TimeElapsedColumn(),
    )
    log: list[str] = []
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(label, total=total, who="")
        for line in _stream_nbgrader(command, course, log):
            match = re.search(rf"{sign} \S*?/(?:autograded|submitted)/([^/]+)/", line)
            if match:
                progress.update(task, advance=1, who=match[1])
                if not console.is_terminal:
                    console.print(f"      {command}: {match[1]}")
        progress.update(task, completed=total, who="")
    if log[-1] != "0":
        tail = "\n".join(log[-12:-1])
        raise CourseError(f"`nbgrader {command} {course.assignment}` did not succeed:\n{tail}")


def _stream_nbgrader(command: str, course: Course, log: list[str]) -> Iterator[str]:
    bin_folder = str(Path(sys.executable).parent)  # nbgrader calls alembic by its bare name
    environment = {
        **os.environ,
        "COURSE_GRADING": FOLDER,
        "PATH": os.pathsep.join([bin_folder, os.environ.get("PATH", "")]),
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "nbgrader", command, course.assignment],
        cwd=course.root,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with process:
        for line in process.stdout:
            log.append(line.rstrip())
            yield line
    log.append(str(process.returncode))


def _make_table(people, folder: Path, course: Course) -> Table:
    from nbgrader.api import Gradebook, MissingEntry

    table = Table(box=box.ROUNDED, title="The class", title_style="bold")
    table.add_column("who")
    table.add_column("story", style="dim")
    table.add_column("auto", justify="right")
    table.add_column("what went wrong", overflow="fold")
    with Gradebook(f"sqlite:///{folder / 'gradebook.db'}", course.id) as gradebook:
        for persona in people:
            try:
                submission = gradebook.find_submission(course.assignment, persona.name)
                cells = [
                    grade
                    for notebook in submission.notebooks
                    for grade in notebook.grades
                    if grade.cell.cell_type == "code"
                ]
                score = (
                    f"{sum(g.auto_score for g in cells):g} / {sum(g.max_score for g in cells):g}"
                )
            except MissingEntry:
                score = "–"
            lines = [
                line
                for plan in course.notebooks
                for line in _describe(folder, persona.name, course, plan.name)
            ]
            words = dict.fromkeys(lines)  # the same repair of three notebooks is said once
            table.add_row(
                persona.name, persona.story, score, "\n".join(words) or "[green]nothing[/]"
            )
    return table


def _describe(folder: Path, name: str, course: Course, notebook: str) -> list[str]:
    """Say in a few words what went wrong for one student in one notebook."""
    import nbformat

    path = folder / "autograded" / name / course.assignment / f"{notebook}.ipynb"
    if not path.is_file():
        return [f"[yellow]{notebook}: not handed in[/]"]
    result = nbformat.read(path, as_version=4).metadata["course"]["result"]
    judged = {k: cell for k, cell in result["cells"].items() if cell["status"] != "manual"}
    still_open = [k for k, cell in judged.items() if cell["diagnosis"] == "todo-open"]
    words = [
        f"[red]{escape(grade_id.removeprefix('test_'))}:[/] {escape(_in_words(cell['diagnosis']))}"
        for grade_id, cell in judged.items()
        if cell["diagnosis"] and cell["status"] != "passed" and grade_id not in still_open
    ]
    if still_open:
        words.append(f"[yellow]{notebook}: {len(still_open)} of {len(judged)} still open[/]")
    return words + [f"[dim]{escape(_shorten(repair))}[/]" for repair in result["repairs"]]


def _in_words(diagnosis: str) -> str:
    return diagnosis.replace("-", " ")


def _shorten(repair: str) -> str:
    return re.sub(r"[:;(].*", "", repair)
