"""What instructors see in the terminal."""

from __future__ import annotations

import contextlib

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

MARKS = {"passed": "[green]✔[/]", "partial": "[yellow]◐[/]", "manual": "[dim]✎[/]"}

console = Console(highlight=False)


def show_result(result: dict) -> None:
    """Print one graded notebook as a small table, or the sentence about what could not be graded."""
    if "error" in result:
        console.print(f"[red]✘[/] {escape(result['submission'])}: {escape(result['error'])}")
        return
    title = f"{result['submission']}: {result['notebook']}"
    table = Table(title=escape(title), title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("cell")
    table.add_column("points", justify="right")
    table.add_column("what was found", overflow="fold")
    for name, cell in result["cells"].items():
        if cell["status"] == "manual":
            continue
        mark = MARKS.get(cell["status"], "[red]✘[/]")
        table.add_row(
            f"{mark} {escape(name)}",
            f"{cell['score']:g} / {cell['max_score']:g}",
            escape("\n".join(cell["messages"][:1])),
        )
    table.add_section()
    table.add_row("sum", f"{result['score']:g} / {result['max_score']:g}", "")
    console.print(table)
    for kind in ("repairs", "flags"):
        for line in result[kind]:
            console.print(f"  [dim]{kind[:-1]}:[/] {escape(line)}")


def show_grades(grades: list, explained: list[str] | None) -> None:
    """Print everybody's total; with `explained`, how the sums of these (or all) come about."""
    table = Table(box=box.SIMPLE_HEAD)
    for name in ("student", "track", "total", "out of", "waiting for a person"):
        table.add_column(name, justify="left" if name in ("student", "track") else "right")
    for grade in grades:
        table.add_row(
            escape(grade.entry.student),
            escape(grade.track),
            f"{grade.total:g}",
            f"{grade.out_of:g}",
            str(grade.waiting or ""),
        )
    console.print(table)
    for grade in grades:
        if explained is not None and (not explained or grade.entry.student in explained):
            console.print(f"[bold]{escape(grade.entry.student)}[/]")
            for line in grade.explain():
                console.print(f"  {escape(line)}")


def track(items, what: str):
    """Go through items and show a bar, in a terminal, as soon as it takes longer than a moment."""
    items = list(items)
    if not console.is_terminal or not items:
        return iter(items)
    return _follow(items, what)


def _follow(items: list, what: str):
    columns = (TextColumn(what), BarColumn(24), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        yield from progress.track(items)


@contextlib.contextmanager
def waiting(what: str):
    """Show, in a terminal, that something goes on whose length is not known."""
    if not console.is_terminal:
        yield
        return
    with console.status(what):
        yield
