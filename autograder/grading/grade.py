"""Runs a restored notebook and collects its verdicts; the one way to a score, whoever asks."""

from __future__ import annotations

import contextlib
import html
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder import budgets
from autograder.blueprint import Blueprint, Slot, is_kept
from autograder.exercises import Exercise, find_exercises
from autograder.exercises.base import COURSE_SEED
from autograder.grading.borrowed import find_borrowed
from autograder.grading.hidden_words import HiddenWords
from autograder.grading.judge import Verdict
from autograder.grading.judges import Question, judge_reply
from autograder.grading.kept_outputs import keep_outputs
from autograder.grading.left_out import write_stand_ins
from autograder.grading.sanitize import sanitize_notebook
from autograder.grading.second_try import judge_again
from autograder.grading.tampering import find_tampering
from autograder.intake.restore import Restored
from autograder.kernel import memory, nursery, wire
from autograder.kernel.isolation import measure_isolation
from autograder.kernel.session import KernelSession, Run

CELL_TIMEOUT = budgets.CELL_SECONDS
ASK_TIMEOUT = budgets.ASK_SECONDS
_AS_STATUS = {"out of memory": "failed", "out of disk": "failed", "used up": "timeout"}
_USED_UP = "The time for the whole notebook was used up before this cell; it was not run."


@dataclass
class Result:
    """What one notebook of one submission earned. `score` counts what the autograder judges."""

    submission: str
    assignment: str
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

    def attach_to(self, notebook: NotebookNode) -> None:
        """Write the result into the graded notebook, where reports find it."""
        known = notebook.metadata.get("course", {})
        notebook.metadata["course"] = {**known, "result": self.to_dict()}


def read_result(notebook: NotebookNode) -> dict | None:
    """Return the result that a graded notebook carries, or None."""
    course = notebook.metadata.get("course")
    result = course.get("result") if isinstance(course, dict) else None
    return result if isinstance(result, dict) else None


def grade_notebook(
    restored: Restored,
    blueprint: Blueprint,
    folder: Path | None,
    submission: str = "",
    seed: int = COURSE_SEED,
    cell_timeout: float = CELL_TIMEOUT,
) -> Result:
    """Run a restored notebook and judge every check; outputs and result go into it.

    `folder` holds the other files of the submission: the notebook runs beside a copy of them.
    Hidden inputs are drawn from `seed`. Where there is only a sentence about why the submission
    could not be read, nothing is run, and every cell says why it earns nothing.
    """
    started = time.monotonic()
    notebook, flags = restored.notebook, list(restored.flags)
    times: Counter[str] = Counter()
    if restored.trouble:
        verdicts = {
            slot.grade_id: Verdict(0.0, slot.points, "missing", "unreadable", [restored.trouble])
            for slot in blueprint.slots
            if slot.role == "check"
        }
    else:
        verdicts = _run_and_judge(notebook, blueprint, folder, cell_timeout, seed, flags, times)
    sanitize_notebook(notebook, ours={slot.release.source for slot in blueprint.slots})
    for cell in notebook.cells:
        slot = _find_slot(cell, blueprint)
        if slot and slot.role == "check":
            cell.outputs = [make_output(verdicts[slot.grade_id])]
        elif slot and slot.role == "answer":
            verdicts[slot.grade_id] = _judge_answer(cell, slot)
    judged = [verdict for verdict in verdicts.values() if verdict.status != "manual"]
    result = Result(
        submission=submission,
        assignment=blueprint.assignment,
        notebook=blueprint.name,
        score=sum(verdict.score for verdict in judged),
        max_score=blueprint.auto_points,
        cells={name: verdict.to_dict() for name, verdict in verdicts.items()},
        repairs=list(restored.repairs),
        flags=flags,
        release=restored.release,
        isolation=measure_isolation().sentence,
        seconds=round(time.monotonic() - started, 2),
        times={name: round(seconds, 3) for name, seconds in times.items()},
    )
    result.attach_to(notebook)
    return result


def make_output(verdict: Verdict) -> NotebookNode:
    """Return a cell output that nbgrader reads as the score and a person reads as the reason."""
    lines = "".join(f"<div>{html.escape(line)}</div>" for line in verdict.lines)
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
    exercises = find_exercises(blueprint.exercises)
    with _stopwatch(times, "kernel"):
        nursery.want(blueprint.warm_imports)
        whole = max(budgets.WHOLE_SECONDS, 2 * cell_timeout)
        kernel = KernelSession(folder, whole).__enter__()

    used: dict[str, set[str]] = {}  # watched functions that were called, by exercise
    hidden = HiddenWords(
        (exercise.program for exercise in exercises.values()),
        (cell.source for cell in notebook.cells),
    )

    def ask(exercise: Exercise, program: str) -> Verdict:
        verdict = _ask(kernel, exercise, program, blueprint, seed, times)
        used[exercise.name] = used.get(exercise.name, set()) | kernel.used
        if verdict.slip:
            flags.append(
                f"{exercise.name} could not be judged ({verdict.slip}): it has 0 points until a "
                "person has looked at it"
            )
        return hidden.strip(verdict)

    @cache
    def start_afresh() -> None:
        with _stopwatch(times, "kernel"):
            kernel.start_afresh(cell_timeout)

    def ask_again(exercise: Exercise, program: str) -> Verdict:
        start_afresh()  # in a process that has been asked nothing, and shows nothing more
        return ask(exercise, program)

    try:
        flags += kernel.flags
        stand_ins = write_stand_ins(notebook.cells)
        if stand_ins:
            kernel.run(stand_ins, cell_timeout)
        for cell in notebook.cells:
            if cell.cell_type != "code":
                continue
            slot = _find_slot(cell, blueprint)
            if slot and slot.role == "check":
                exercise = exercises[slot.exercise]
                verdict = ask(exercise, exercise.program)
                verdict = _explain(verdict, runs.get(exercise.cell))
                verdicts[slot.grade_id] = hidden.strip(verdict)
            elif is_kept(cell):
                cell.outputs = keep_outputs(cell)
            else:
                with _stopwatch(times, "notebook"):
                    run = kernel.run(cell.source, cell_timeout)
                outputs = hidden.strip_outputs(run.outputs)
                cell.outputs = [*outputs, *_report_trouble(run, cell_timeout)]
                if slot and slot.role == "solve":
                    runs[slot.grade_id] = run
        by_exercise = {name.removeprefix("test_"): verdict for name, verdict in verdicts.items()}
        by_exercise = judge_again(by_exercise, exercises, blueprint.solutions, ask_again)
        flags += find_borrowed(notebook, blueprint, used)
        flags += find_tampering(notebook, kernel.seen)
    finally:
        with _stopwatch(times, "kernel"):
            kernel.__exit__()
    return {f"test_{name}": verdict for name, verdict in by_exercise.items()}


def _ask(
    kernel: KernelSession,
    exercise: Exercise,
    program: str,
    blueprint: Blueprint,
    seed: int,
    times: Counter[str],
) -> Verdict:
    points = blueprint.find(f"test_{exercise.name}").points
    with _stopwatch(times, "judge"):
        inputs = wire.dump(exercise.draw_inputs(seed))
    with _stopwatch(times, "tests"):
        status, reply = kernel.ask(program, inputs, ASK_TIMEOUT, exercise.watched)
    with _stopwatch(times, "judge"):
        question = Question(
            blueprint.exercises, exercise.name, points, inputs, blueprint.solutions
        )
        return judge_reply(question, status, reply)


@contextlib.contextmanager
def _stopwatch(times: Counter[str], what: str) -> Iterator[None]:
    """Add the seconds that something takes to what it took before."""
    started = time.monotonic()
    try:
        yield
    finally:
        times[what] += time.monotonic() - started


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
        status = _AS_STATUS.get(run.status, run.status)
        diagnosis = run.status.replace(" ", "-")
        why = {
            "out of memory": memory.SENTENCE,
            "out of disk": memory.DISK_SENTENCE,
            "used up": _USED_UP,
            "timeout": "Its cell took too long and was stopped.",
            "crashed": "Its cell ended the kernel.",
        }[run.status]
    return Verdict(0.0, verdict.max_score, status, diagnosis, [why, *verdict.messages])


def _report_trouble(run: Run, timeout: float) -> list[NotebookNode]:
    sentences = {
        "timeout": f"This cell was stopped after {timeout:g} seconds.",
        "crashed": "This cell ended the kernel; the cells after it ran in a new one.",
        "out of memory": memory.SENTENCE,
        "out of disk": memory.DISK_SENTENCE,
        "used up": _USED_UP,
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
