"""How a run over a class is shown: a bar for people, one JSON object a line for machines."""

from __future__ import annotations

import json
import time

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from autograder.classroom.run import Listener, Summary, Unit
from autograder.terminal import console


class Bar(Listener):
    """A progress bar with the rate, the time that is left, and what is running."""

    def __init__(self) -> None:
        self._progress = Progress(
            TextColumn("grading"),
            BarColumn(24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            TextColumn("[dim]{task.fields[who]}"),
            console=console,
            disable=not console.is_terminal,
        )
        self._running: dict[Unit, None] = {}
        self._done = 0

    def plan(self, total: int, unchanged: int) -> None:
        if unchanged:
            console.print(f"{unchanged} notebooks are graded already and have not changed.")
        if total:
            self._task = self._progress.add_task("", total=total, rate="", who="warming up")
            self._progress.start()
            self._started = time.monotonic()
            self._total = total

    def start(self, unit: Unit) -> None:
        self._running[unit] = None
        self._show()

    def finish(self, unit: Unit, result: dict) -> None:
        self._count(unit)
        if not console.is_terminal:
            points = f"{result['score']:g} of {result['max_score']:g}"
            console.print(f"{self._done}/{self._total} {escape(str(unit))}: {points}")

    def fail(self, student: str, notebook: str | None, sentence: str) -> None:
        where = f"{student}: {notebook}" if notebook else student
        console.print(f"[red]✘[/] {escape(where)}: {escape(sentence)}")
        for unit in list(self._running):
            if (unit.student, unit.notebook) == (student, notebook):
                self._count(unit)

    def close(self) -> None:
        self._progress.stop()

    def _count(self, unit: Unit) -> None:
        self._running.pop(unit, None)
        self._done += 1
        self._show()

    def _show(self) -> None:
        minutes = (time.monotonic() - self._started) / 60
        rate = f"{self._done / minutes:.0f}/min" if self._done else ""
        who = ", ".join(f"{unit.student} {unit.notebook[0]}" for unit in list(self._running)[:4])
        self._progress.update(self._task, completed=self._done, rate=rate, who=escape(who))


class Lines(Listener):
    """One JSON object a line: each notebook as it is graded, and problems as they come."""

    def finish(self, unit: Unit, result: dict) -> None:
        self._print({"student": unit.student, **result})

    def fail(self, student: str, notebook: str | None, sentence: str) -> None:
        self._print({"student": student, "notebook": notebook, "error": sentence})

    def _print(self, found: dict) -> None:
        print(json.dumps(found, ensure_ascii=False, allow_nan=False), flush=True)


def show_summary(summary: Summary, as_json: bool, output: Console = console) -> None:
    """Say at the end what was done."""
    if as_json:
        print(json.dumps({"summary": summary.to_dict()}, ensure_ascii=False), flush=True)
        return
    parts = [f"{summary.graded} graded"]
    if summary.unchanged:
        parts.append(f"{summary.unchanged} unchanged")
    if summary.missing:
        parts.append(f"{summary.missing} not handed in")
    if summary.problems:
        parts.append(f"[red]{len(summary.problems)} with a problem (see above)[/]")
    rate = 60 * summary.graded / max(summary.seconds, 0.1)
    speed = f", {rate:.0f} a minute" if summary.graded else ""
    output.print(f"Notebooks: {', '.join(parts)}, in {summary.seconds:.0f} s{speed}.")
    if summary.graded or summary.missing:
        output.print("Next: `python -m autograder mark`, and `python -m autograder report --write`, which says "
                     "what was chosen, repaired or flagged.")  # fmt: skip
