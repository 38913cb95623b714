"""After a test was fixed: whose score changed, from what to what, and why.

The list is read from the records, so that a run that was stopped and started again tells the same.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from rich import box
from rich.markup import escape
from rich.table import Table

from autograder.blueprint import load_blueprints
from autograder.classroom.gradebook import ClassGradebook
from autograder.classroom.records import Record, Records, fingerprint_rules
from autograder.course import Assignment
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
    assignment: Assignment,
    students: list[str] | None = None,
    notebooks: list[str] | None = None,
    tried: list[Record] | None = None,
) -> list[Change]:
    """Return what the last change of source or tests did to scores, for work that stayed the same.

    `tried` are the records that a preview would have written.
    """
    with ClassGradebook(assignment, preview=True) as gradebook:
        rules = {
            name: fingerprint_rules(assignment, blueprint, gradebook.grading)
            for name, blueprint in load_blueprints(assignment).items()
        }
        by_hand = {(m.student, m.notebook, m.cell): m.manual for m in gradebook.read_marks()}
    records = Records(assignment, preview=True).read_all()
    current = {(record.student, record.notebook): record for record in [*records, *(tried or [])]}
    changes = []
    for (student, notebook), record in sorted(current.items()):
        if not record.previous or not record.result or record.rules != rules.get(notebook):
            continue
        if (students and student not in students) or (notebooks and notebook not in notebooks):
            continue
        changes += _compare(student, notebook, record.previous, record.result["cells"], by_hand)
    return changes


def tell_once(assignment: Assignment, changes: list[Change]) -> None:
    """Remember that these changes have been listed."""
    records = Records(assignment)
    for student, notebook in {(change.student, change.notebook) for change in changes}:
        records.forget_previous(student, notebook)


def _compare(student: str, notebook: str, before: dict, now: dict, by_hand: dict) -> list[Change]:
    return [
        Change(
            student=student,
            notebook=notebook,
            cell=name,
            before=before[name]["score"],
            after=cell["score"],
            why=_explain(before[name], cell),
            hand_mark=by_hand.get((student, notebook, name)),
        )
        for name, cell in now.items()
        if name in before and cell["status"] != "manual" and before[name]["score"] != cell["score"]
    ]


def _explain(old: dict, new: dict) -> str:
    """Say what the test said before and says now."""
    before, now = (" ".join(cell["messages"][:1]) or cell["status"] for cell in (old, new))
    return f"before: {before} Now: {now}"


def show_changes(changes: list[Change], only_tried: bool = False) -> None:
    """Print the list as a table, or that there is nothing to list."""
    if not changes:
        console.print("No score would change." if only_tried else "No score changed.")
        return
    table = Table(
        title="Whose score would change" if only_tried else "Whose score changed",
        title_justify="left",
        box=box.SIMPLE_HEAD,
    )
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
    verb = "would change; nothing was written" if only_tried else "changed; hand-given marks stay"
    console.print(f"{len(changes)} scores of {people} students {verb}.")
