"""After a test was fixed: whose score changed, from what to what, and why.

The list is read from the records, so that a run that was stopped and started again tells the same.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from rich import box
from rich.markup import escape
from rich.table import Table

from autograder.blueprint import load_blueprints
from autograder.course import Course
from autograder.gradebook import ClassGradebook
from autograder.records import Records, fingerprint_rules
from autograder.terminal import console


@dataclass(frozen=True)
class Change:
    """One cell whose automatic score is another one by the rules as they are now."""

    student: str
    notebook: str
    cell: str
    before: float
    after: float
    why: str
    hand_mark: float | None = None  # what a person gave; it stands

    def to_dict(self) -> dict:
        return asdict(self)


def find_changes(
    course: Course, students: list[str] | None = None, notebooks: list[str] | None = None
) -> list[Change]:
    """Return what the last change of source or tests did to scores, for work that stayed the same."""
    blueprints = load_blueprints(course)
    rules = {name: fingerprint_rules(course, blueprint) for name, blueprint in blueprints.items()}
    with ClassGradebook(course) as gradebook:
        by_hand = {(m.student, m.notebook, m.cell): m.manual for m in gradebook.read_marks()}
    changes = []
    for record in Records(course).read_all():
        if not record.previous or not record.result or record.rules != rules.get(record.notebook):
            continue
        if (students and record.student not in students) or (
            notebooks and record.notebook not in notebooks
        ):
            continue
        for name, cell in record.result["cells"].items():
            old = record.previous.get(name)
            if old is None or cell["status"] == "manual" or old["score"] == cell["score"]:
                continue
            changes.append(
                Change(
                    student=record.student,
                    notebook=record.notebook,
                    cell=name,
                    before=old["score"],
                    after=cell["score"],
                    why=_explain(old, cell),
                    hand_mark=by_hand.get((record.student, record.notebook, name)),
                )
            )
    return changes


def _explain(old: dict, new: dict) -> str:
    """Say what the test said before and says now."""
    before, now = (" ".join(cell["messages"][:1]) or cell["status"] for cell in (old, new))
    return f"before: {before} Now: {now}"


def show_changes(changes: list[Change]) -> None:
    """Print the list as a table, or that there is nothing to list."""
    if not changes:
        console.print("No score changed.")
        return
    table = Table(title="Whose score changed", title_justify="left", box=box.SIMPLE_HEAD)
    for name in ("who", "cell", "from", "to"):
        table.add_column(name, justify="right" if name in ("from", "to") else "left")
    table.add_column("why", overflow="fold")
    for change in changes:
        why = escape(change.why)
        if change.hand_mark is not None:
            why += f"\n[yellow]A person gave {change.hand_mark:g} here; that stands.[/]"
        table.add_row(
            escape(change.student),
            escape(change.cell),
            f"{change.before:g}",
            f"{change.after:g}",
            why,
        )
    console.print(table)
    people = len({change.student for change in changes})
    console.print(f"{len(changes)} scores of {people} students changed; hand-given marks stay.")
