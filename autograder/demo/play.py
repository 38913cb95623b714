"""Plays a small class through the whole flow, in a folder of its own under grading/."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich import box
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from autograder.course import DEFAULT_ASSIGNMENT, Assignment, CourseError
from autograder.terminal import console

FOLDER = "grading/demo"


def run_demo(assignments: Sequence[Assignment], students: int | None = None, seed: int = 0) -> None:
    """Build, hand in, grade, write feedback and a report, and show who got what, and why.

    With `students`, a class of that size is made up from known mistakes, the same for a seed.
    """
    course = assignments[0].course
    console.rule(f"[bold]{course.title}: a class of made-up students")
    console.print("[bold]1/5[/] build   notebooks/ → source/ → release/")
    from autograder.authoring.build import (
        build,  # takes seconds to import: a person sees the lines above
    )

    changed = build(course)
    console.print(f"      {len(changed)} files written" if changed else "      up to date")

    from autograder.blueprint import load_blueprints
    from autograder.reports.report import gather, write_report

    blueprints = {a.name: list(load_blueprints(a).values()) for a in assignments}
    folder = course.root / FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    os.environ["COURSE_GRADING"] = FOLDER
    if students is None:
        people = _hand_in_small(blueprints, folder)
    else:
        people = _hand_in_large(assignments, blueprints, folder, students, seed)
    waiting = {
        a.name: len(list((folder / "submitted").glob(f"*/{a.name}/*.ipynb"))) for a in assignments
    }
    total = sum(waiting.values())
    console.print(f"[bold]2/5[/] submit  {_count(people)} students, {total} notebooks handed in")

    for assignment in assignments:
        console.print(f"[bold]3/5[/] python -m autograder grade{_name_option(assignment)}")
        _grade(assignment)
    for assignment in assignments:
        if students is None:
            count = waiting[assignment.name]
            _run_nbgrader("4/5", "generate_feedback", "Converting notebook", count, assignment)
        else:
            console.print(f"[bold]4/5[/] nbgrader generate_feedback {assignment.name}: left to you")
    for assignment in assignments:
        console.print(f"[bold]5/5[/] python -m autograder report --write{_name_option(assignment)}")
        page = folder / assignment.name_output("report.html")
        write_report(gather(assignment, page), page)

    console.print()
    if students is None:
        for assignment in assignments:
            console.print(_make_table(people[assignment.name], folder, assignment))
        first = assignments[0].name
        console.print(f"Feedback pages, one for each notebook: {FOLDER}/feedback/")
        example = f"{FOLDER}/feedback/ada/{first}/{blueprints[first][0].name}.html"
        console.print(f"For example: {example}")
    else:
        console.print(f"To try: COURSE_GRADING={FOLDER} python -m autograder grades")
    for assignment in assignments:
        console.print(f"The class at a glance: {FOLDER}/{assignment.name_output('report.html')}")
    console.print("Real submissions go to grading/submitted/; the demo never touches them.")


def _count(people: dict | list) -> int:
    """Return how many students there are: the small class is the same in every assignment."""
    return len(next(iter(people.values())) if isinstance(people, dict) else people)


def _name_option(assignment: Assignment) -> str:
    """Return what has to be typed so that a command is about this assignment."""
    return "" if assignment.name == DEFAULT_ASSIGNMENT else f" --assignment {assignment.name}"


def _hand_in_small(blueprints: dict[str, list], folder: Path) -> dict[str, list]:
    """Hand in the small class's work; return who is in it, by assignment."""
    from autograder.demo.personas import hand_in, make_class

    people = {name: make_class(notebooks) for name, notebooks in blueprints.items()}
    for name, personas in people.items():
        for persona in personas:
            hand_in(persona, blueprints[name], folder / "submitted")
    return people


def _hand_in_large(
    assignments: Sequence[Assignment],
    blueprints: dict[str, list],
    folder: Path,
    count: int,
    seed: int,
) -> list:
    from autograder.classroom.gradebook import ClassGradebook
    from autograder.demo.cohort import hand_in_cohort, make_cohort, make_roster, set_due_date
    from autograder.intake.moments import take_over_timestamps

    notebooks = [blueprint for named in blueprints.values() for blueprint in named]
    people = make_cohort(notebooks, count, seed, list(assignments[0].course.tracks))
    hand_in_cohort(people, notebooks, folder / "submitted")
    (folder / "roster.csv").write_text(make_roster(people), "utf-8")
    for assignment in assignments:
        with ClassGradebook(assignment):
            set_due_date(assignment)
            take_over_timestamps(assignment)  # the class is ours: so is what they say
    return people


def _grade(assignment: Assignment) -> None:
    from autograder.classroom.progress import Bar, show_summary
    from autograder.classroom.run import grade_class

    listener = Bar()
    try:
        summary = grade_class(assignment, listener=listener)
    finally:
        listener.close()
    show_summary(summary, as_json=False)


def _run_nbgrader(step: str, command: str, sign: str, total: int, assignment: Assignment) -> None:
    """Run one nbgrader command, showing progress as its log speaks of one notebook after another."""
    label = f"[bold]{step}[/] nbgrader {command} {assignment.name}"
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
        for line in _stream_nbgrader(command, assignment, log):
            match = re.search(rf"{sign} \S*?/(?:autograded|submitted)/([^/]+)/", line)
            if match:
                progress.update(task, advance=1, who=match[1])
                if not console.is_terminal:
                    console.print(f"      {command}: {match[1]}")
        progress.update(task, completed=total, who="")
    if log[-1] != "0":
        tail = "\n".join(log[-12:-1])
        raise CourseError(f"`nbgrader {command} {assignment.name}` did not succeed:\n{tail}")


def _stream_nbgrader(command: str, assignment: Assignment, log: list[str]) -> Iterator[str]:
    bin_folder = str(Path(sys.executable).parent)  # nbgrader calls alembic by its bare name
    environment = {
        **os.environ,
        "COURSE_GRADING": FOLDER,
        "PATH": os.pathsep.join([bin_folder, os.environ.get("PATH", "")]),
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "nbgrader", command, assignment.name],
        cwd=assignment.root,
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


def _make_table(people, folder: Path, assignment: Assignment) -> Table:
    from nbgrader.api import Gradebook, MissingEntry

    table = Table(box=box.ROUNDED, title=f"The class: {assignment.title}", title_style="bold")
    table.add_column("who")
    table.add_column("story", style="dim")
    table.add_column("auto", justify="right")
    table.add_column("what went wrong", overflow="fold")
    with Gradebook(f"sqlite:///{folder / 'gradebook.db'}", assignment.course.id) as gradebook:
        for persona in people:
            try:
                submission = gradebook.find_submission(assignment.name, persona.name)
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
                for plan in assignment.notebooks
                for line in _describe(folder, persona.name, assignment, plan.name)
            ]
            words = dict.fromkeys(lines)  # the same repair of three notebooks is said once
            table.add_row(
                persona.name, persona.story, score, "\n".join(words) or "[green]nothing[/]"
            )
    return table


def _describe(folder: Path, name: str, assignment: Assignment, notebook: str) -> list[str]:
    """Say in a few words what went wrong for one student in one notebook."""
    import nbformat

    from autograder.grading.grade import read_result

    path = folder / "autograded" / name / assignment.name / f"{notebook}.ipynb"
    if not path.is_file():
        return [f"[yellow]{notebook}: not handed in[/]"]
    result = read_result(nbformat.read(path, as_version=4))
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
