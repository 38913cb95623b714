"""Runs a restored notebook and judges it; the one way to a score, whoever asks for it."""

from __future__ import annotations

import contextlib
import html
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder import keepsakes
from autograder.blueprint import Blueprint, Slot
from autograder.borrowed import find_borrowed
from autograder.defuse import defuse_notebook
from autograder.exercises import EXERCISES, Exercise
from autograder.exercises.base import COURSE_SEED
from autograder.judge import (
    STATUSES,
    Verdict,
    add_stand_ins,
    choose_stand_ins,
    credit_second_try,
    decide,
)
from autograder.kernel import memory
from autograder.kernel.isolation import measure_isolation
from autograder.kernel.session import KernelSession, Run

CELL_TIMEOUT = 60  # seconds for one cell of a student's notebook
ASK_TIMEOUT = 30  # seconds for the judge's questions about one exercise


@dataclass
class Result:
    """What one notebook of one submission earned. `score` counts what the autograder judges."""

    submission: str
    notebook: str
    score: float
    max_score: float
    cells: dict[str, dict]
    repairs: list[str] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    release: str = ""  # of the hand-out that it was made from, where that is known
    isolation: str = ""
    seconds: float = 0.0
    times: dict[str, float] = field(default_factory=dict)  # where the seconds went

    def to_dict(self) -> dict:
        return asdict(self)


def grade_notebook(
    notebook: NotebookNode,
    blueprint: Blueprint,
    folder: Path | None,
    submission: str = "",
    repairs: list[str] | None = None,
    flags: list[str] | None = None,
    trouble: str | None = None,
    release: str = "",
    seed: int = COURSE_SEED,
    cell_timeout: float = CELL_TIMEOUT,
) -> Result:
    """Run a restored notebook and judge every check; outputs go into the notebook.

    `folder` holds the other files of the submission: the notebook runs beside a copy of them.
    Hidden inputs are drawn from `seed`.

    `trouble` is a sentence about a submission that could not be read: then nothing is run, and
    every cell says why it earns nothing.
    """
    started = time.monotonic()
    flags = list(flags or [])
    times: Counter[str] = Counter()
    if trouble:
        verdicts = {
            slot.grade_id: Verdict(0.0, slot.points, "missing", "unreadable", [trouble])
            for slot in blueprint.slots
            if slot.role == "check"
        }
    else:
        verdicts = _run_and_judge(notebook, blueprint, folder, cell_timeout, seed, flags, times)
    defuse_notebook(notebook, ours={slot.release.source for slot in blueprint.slots})
    for cell in notebook.cells:
        slot = _find_slot(cell, blueprint)
        if slot and slot.role == "check":
            cell.outputs = [make_output(verdicts[slot.grade_id])]
        elif slot and slot.role == "answer":
            verdicts[slot.grade_id] = _judge_answer(cell, slot)
    judged = [verdict for verdict in verdicts.values() if verdict.status != "manual"]
    return Result(
        submission=submission,
        notebook=blueprint.name,
        score=sum(verdict.score for verdict in judged),
        max_score=blueprint.auto_points,
        cells={name: verdict.to_dict() for name, verdict in verdicts.items()},
        repairs=repairs or [],
        flags=[*flags, *find_borrowed(notebook, blueprint)],
        release=release,
        isolation=measure_isolation().sentence,
        seconds=round(time.monotonic() - started, 2),
        times={name: round(seconds, 3) for name, seconds in times.items()},
    )


def make_output(verdict: Verdict) -> NotebookNode:
    """Return a cell output that nbgrader reads as the score and a person reads as the reason."""
    lines = "".join(f"<div>{html.escape(line)}</div>" for line in verdict.messages)
    mark = {"passed": "✔", "partial": "◐"}.get(verdict.status, "✘")
    page = (
        f'<div class="verdict"><strong>{mark} {verdict.score:g} of {verdict.max_score:g} points'
        f"</strong>{lines}</div>"
    )
    return nbformat.v4.new_output(
        "execute_result",
        data={"text/plain": repr(float(verdict.score)), "text/html": page},
        execution_count=None,
    )


def _run_and_judge(
    notebook, blueprint, folder, cell_timeout, seed, flags, times
) -> dict[str, Verdict]:
    verdicts: dict[str, Verdict] = {}
    runs: dict[str, Run] = {}  # how the solve cells went, by the name they solve
    with _stopwatch(times, "kernel"):
        kernel = KernelSession(folder).__enter__()
    try:
        flags += kernel.flags
        for cell in notebook.cells:
            if cell.cell_type != "code":
                continue
            slot = _find_slot(cell, blueprint)
            if slot and slot.role == "check":
                exercise = EXERCISES[slot.exercise]
                verdict = _ask(kernel, exercise, exercise.program, slot.points, seed, times)
                run = runs.get(exercise.solved_in or slot.exercise)
                verdicts[slot.grade_id] = _explain(verdict, run)
            elif keepsakes.is_kept(cell):
                cell.outputs = keepsakes.keep_outputs(cell)
            else:
                with _stopwatch(times, "notebook"):
                    run = kernel.run(cell.source, cell_timeout)
                cell.outputs = [*run.outputs, *_report_trouble(run, cell_timeout)]
                if slot and slot.role == "solve":
                    runs[slot.grade_id] = run
        _judge_again(kernel, blueprint, verdicts, seed, times)
    finally:
        with _stopwatch(times, "kernel"):
            kernel.__exit__()
    return verdicts


def _ask(
    kernel: KernelSession,
    exercise: Exercise,
    program: str,
    points: float,
    seed: int,
    times: Counter[str],
) -> Verdict:
    with _stopwatch(times, "judge"):
        inputs = exercise.draw_inputs(seed)
    with _stopwatch(times, "tests"):
        status, values = kernel.ask(program, inputs, ASK_TIMEOUT)
    with _stopwatch(times, "judge"):
        return decide(exercise, points, status, values, inputs)


@contextlib.contextmanager
def _stopwatch(times: Counter[str], what: str) -> Iterator[None]:
    """Add the seconds that something takes to what it took before."""
    started = time.monotonic()
    try:
        yield
    finally:
        times[what] += time.monotonic() - started


def _judge_again(
    kernel: KernelSession,
    blueprint: Blueprint,
    verdicts: dict[str, Verdict],
    seed: int,
    times: Counter[str],
) -> None:
    """Judge work that failed on failed pieces once more, on right ones. Last of all."""
    statuses = {name.removeprefix("test_"): verdict.status for name, verdict in verdicts.items()}
    for grade_id, verdict in verdicts.items():
        slot = blueprint.find(grade_id)
        exercise = EXERCISES[slot.exercise]
        pieces = choose_stand_ins(exercise, statuses)
        if not pieces or verdict.status in ("passed", "missing"):
            continue
        program = add_stand_ins(exercise, [EXERCISES[piece].reference for piece in pieces])
        second = _ask(kernel, exercise, program, slot.points, seed, times)
        verdicts[grade_id] = credit_second_try(verdict, second, pieces)


def _find_slot(cell: NotebookNode, blueprint: Blueprint) -> Slot | None:
    """Return a cell's slot; restored notebooks carry the blueprint's own metadata."""
    grade_id = cell.metadata.get("nbgrader", {}).get("grade_id")
    return blueprint.find(grade_id) if grade_id else None


def _judge_answer(cell: NotebookNode, slot: Slot) -> Verdict:
    untouched = cell.source.strip() == slot.release.source.strip()
    message = "untouched" if untouched else "waits for a person to read it"
    return Verdict(0.0, slot.points, "manual", None, [message])


def _explain(verdict: Verdict, run: Run | None) -> Verdict:
    """Say why a name is missing when its own cell is what went wrong."""
    if verdict.status != "missing" or run is None or run.status == "ok":
        return verdict
    if run.status == "error":
        error = next((out for out in run.outputs if out.output_type == "error"), None)
        why = (
            f"Its cell stopped with {error.ename}: {error.evalue}" if error else "Its cell failed."
        )
        status, diagnosis = "failed", "cell-raised"
    else:
        status = run.status if run.status in STATUSES else "failed"
        diagnosis = run.status.replace(" ", "-")
        why = {
            "out of memory": memory.SENTENCE,
            "timeout": "Its cell took too long and was stopped.",
            "crashed": "Its cell ended the kernel.",
        }[run.status]
    return Verdict(0.0, verdict.max_score, status, diagnosis, [*verdict.messages, why])


def _report_trouble(run: Run, timeout: float) -> list[NotebookNode]:
    sentences = {
        "timeout": f"This cell was stopped after {timeout:g} seconds.",
        "crashed": "This cell ended the kernel; the cells after it ran in a new one.",
        "out of memory": memory.SENTENCE,
    }
    if run.status not in sentences:
        return []
    return [
        nbformat.v4.new_output(
            "error",
            ename=run.status.capitalize(),
            evalue=sentences[run.status],
            traceback=[sentences[run.status]],
        )
    ]
