"""The command `prove`: runs the proof, shows it, and writes it down."""

from __future__ import annotations

import json
import shlex
import time
from contextlib import nullcontext
from pathlib import Path

from rich import box
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from autograder.blueprint import Blueprint
from autograder.proving.prove import Tally, list_notebooks, prove
from autograder.terminal import console

COLUMNS = ("mutants", "rejected", "named", "misnamed", "survivors", "equivalent", "right", "between",
           "rewrites", "refused", "unstable")  # fmt: skip
_LONGEST = 12  # lines of a change that are shown


def run(options) -> int:
    """Prove what was asked for; the exit status is 1 when the judge does not hold its promises."""
    started = time.monotonic()
    blueprints = list_notebooks(options.assignment, options.notebook)
    bar = Progress(
        TextColumn("proving"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        TextColumn("{task.description}"), console=console, transient=True,
    )  # fmt: skip
    with nullcontext() if options.json else bar:
        task = bar.add_task("", total=None)

        def show(done: int, total: int, what: str) -> None:
            bar.update(task, completed=done, total=total, description=what)

        tallies = prove(
            blueprints, options.exercise, options.seeds, options.workers, show, options.sample
        )
    total = Tally("total")
    for tally in tallies:
        total.add(tally)
    if options.json:
        for tally in (*tallies, total):
            print(json.dumps(tally.to_dict(), ensure_ascii=False), flush=True)
    else:
        show_table(tallies, total)
    if options.write:
        text = write_page(blueprints, tallies, total, options, time.monotonic() - started)
        Path(options.write).write_text(text, "utf-8")
    return int(bool(find_broken(total)))


def find_broken(total: Tally) -> list[str]:
    """Return a sentence for every promise that the totals do not keep."""
    share = total.rejected / total.mutants if total.mutants else 1.0
    named = total.named / total.rejected if total.rejected else 1.0
    misnamed = total.misnamed / total.rejected if total.rejected else 0.0
    every = total.mutants + total.equivalent
    promises = (
        (share >= 0.98, f"{share:.1%} of the mutants are rejected; it should be 98 %."),
        (not total.refused, f"{total.refused} rewrites are refused; none should be."),
        (not total.unstable, f"{total.unstable} verdicts change with the draw; none should."),
        (misnamed <= 0.01, f"{misnamed:.1%} of the rejected are misnamed; at most 1 % may be."),
        (named >= 0.80, f"{named:.1%} of the rejected are named; it should be 80 %."),
        (total.equivalent <= 0.03 * every, f"{total.equivalent} of {every} are listed as equivalent; "
         "at most 3 % may be."),
    )  # fmt: skip
    return [sentence for kept, sentence in promises if not kept]


def show_table(tallies: list[Tally], total: Tally) -> None:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("exercise")
    for name in COLUMNS:
        table.add_column(name, justify="right")
    for tally in (*tallies, total):
        if tally is total:
            table.add_section()
        table.add_row(tally.exercise, *(str(getattr(tally, name) or "") for name in COLUMNS))
    console.print(table)
    for tally in tallies:
        for what in ("survivors", "refused", "unstable"):
            for found in tally.listed.get(what, []):
                console.print(f"{tally.exercise}, {what}: {found['kind']}", style="bold")
                console.print(_shorten(found["change"]), markup=False)
    for sentence in find_broken(total):
        console.print(f"[yellow]{sentence}[/]")


def write_page(
    blueprints: list[Blueprint], tallies: list[Tally], total: Tally, options, seconds: float
) -> str:
    """Return the table, the survivors and the command, as a page."""
    words = ["python", "-m", "autograder", "prove"]
    for name in ("assignment", "notebook", "exercise", "sample"):
        if getattr(options, name):
            words += [f"--{name}", str(getattr(options, name))]
    words += ["--seeds", str(options.seeds)]
    lines = [
        "# The judge, proven on mutants",
        "",
        "Made by the command below; do not edit it by hand.",
        "",
        f"    {shlex.join([*words, '--write', options.write])}",
        "",
        "A *mutant* is the reference or an accepted variant with one thing changed by program; it has",
        "to lose points on every draw of the hidden inputs. A *rewrite* changes nothing about what the",
        "code does, and has to lose nothing on any draw. *Named* is a rejected mutant that is told a",
        "diagnosis, or its own exception with the line. *Misnamed* is one that is told something untrue on",
        "some draw: a diagnosis that names a mistake is true when a known mistake of that name gives the",
        "same outputs, one that describes what was seen is true when its claim, written a second time in",
        "`autograder/proving/claims/`, holds. *Equivalent* mutants are right; they are listed with the line",
        "that proves it, and do not count as mutants. Where many answers fulfil a contract, it is checked a",
        "second time in `autograder/proving/contracts.py`: mutants that are *right* by it have to be",
        "accepted, and those *between*, right in 90 to 98 % of its own draws, are in no test. *Unstable*",
        "verdicts change with the draw. Each piece of work runs in a process forked from one in which the",
        "notebook's cells have run, with the same programs and the same judge as a student's; all its draws",
        "run in that one process. A sample of them is graded through the real kernel too, and must get the",
        "same verdict (`tests/autograder/proving/`).",
        "",
        f"{len(blueprints)} notebooks, {options.seeds} draws each.",
        "",
        f"| exercise | {' | '.join(COLUMNS)} |",
        f"|---|{'---:|' * len(COLUMNS)}",
    ]
    for tally in (*tallies, total):
        cells = " | ".join(str(getattr(tally, name)) for name in COLUMNS)
        name = "**total**" if tally is total else f"`{tally.exercise}`"
        lines.append(f"| {name} | {cells} |")
    share = total.rejected / max(1, total.mutants)
    lines += [
        "",
        f"Of {total.mutants} mutants {share:.1%} are rejected, and of those "
        f"{total.named / max(1, total.rejected):.1%} are named and "
        f"{total.misnamed / max(1, total.rejected):.1%} misnamed.",
    ]
    broken = find_broken(total)
    if broken:
        lines += ["", "What does not hold yet:", "", *(f"- {sentence}" for sentence in broken)]
    for what, title in (
        ("survivors", "Survivors"),
        ("unstable", "Verdicts that change with the draw"),
        ("refused", "Rewrites that are refused"),
        ("misnamed", "Misnamed"),
        ("equivalent", "Equivalent"),
        ("between", "Right in some draws and wrong in others, by the contract itself"),
    ):
        lines += _write_section(title, what, tallies)
    return "\n".join(lines) + "\n"


def _write_section(title: str, what: str, tallies: list[Tally]) -> list[str]:
    found = [(tally.exercise, one) for tally in tallies for one in tally.listed.get(what, [])]
    lines = ["", f"## {title}", ""]
    if not found:
        return [*lines, "None."]
    for exercise, one in found:
        said = f": {one['reason']}" if "reason" in one else ""
        said = said or (f", told `{one['diagnosis']}`" if what == "misnamed" else "")
        lines += [
            f"`{exercise}`, {one['kind']}{said}",
            "",
            "```diff",
            _shorten(one["change"]),
            "```",
            "",
        ]
    return lines[:-1]


def _shorten(change: str) -> str:
    lines = change.splitlines()
    return "\n".join(lines[:_LONGEST] + ["..."] * (len(lines) > _LONGEST))
