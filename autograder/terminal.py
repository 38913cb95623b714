"""What instructors see in the terminal."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

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
    """Go through items and show a bar, where there is a terminal."""
    items = list(items)
    with show_bar(what, len(items)) as advance:
        for item in items:
            yield item
            advance()


@contextlib.contextmanager
def show_bar(what: str, total: int | None = None) -> Iterator[Callable[[], None]]:
    """Show a bar while something goes on; give a function that says one of `total` is done.

    Without a total the bar only moves. Bars inside bars stand below each other. Nothing is shown
    unless errors go to a terminal, and what is printed to elsewhere stays clean.
    """
    if not sys.stderr.isatty():
        yield lambda: None
        return
    global _display
    outermost = _display is None
    display = _display = _display or _make_display()
    task = display.add_task(what, total=total)
    if outermost:
        display.start()
    try:
        yield lambda: display.advance(task)
    finally:
        with contextlib.suppress(KeyError):  # an error closed the outermost bar before this one
            display.remove_task(task)
        if outermost:
            display.stop()
            _display = None


_display: Progress | None = None  # that of the outermost bar; inner ones are lines of it


class _Count(MofNCompleteColumn):
    """How many of how many, where that is known."""

    def render(self, task: Task) -> Text:
        return Text() if task.total is None else super().render(task)


def _make_display() -> Progress:
    """Return a display that vanishes when it is done.

    It shares the terminal with what is printed, and leaves alone what is printed to elsewhere.
    """
    shared = console.is_terminal
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(24),
        _Count(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console if shared else Console(stderr=True),
        redirect_stdout=shared,
        transient=True,
    )
