"""Outputs in, verdict out. The judge runs in the grader's process and never in the student's."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace

from autograder.exercises.base import Exercise
from autograder.kernel.memory import SENTENCE, is_out_of_memory

STATUSES = ("passed", "partial", "failed", "timeout", "crashed", "missing", "manual")

_TROUBLE = {
    "timeout": "Your code took too long here and was stopped.",
    "crashed": "Your code ended the kernel here.",
}


@dataclass(frozen=True)
class Verdict:
    """What one cell earned, and why."""

    score: float
    max_score: float
    status: str
    diagnosis: str | None = None
    messages: list[str] = field(default_factory=list)

    def to_dict(self) -> dict:
        return asdict(self)


def decide(
    exercise: Exercise, points: float, status: str, values: dict, inputs: dict | None = None
) -> Verdict:
    """Judge the arrays that came back for one exercise.

    `status` says how asking went: "ok", "timeout" or "crashed"; `inputs` are what was asked with.
    The score always lies between 0 and `points`, whatever an exercise's rule returns.
    """
    if status in _TROUBLE:
        return Verdict(0.0, points, status, status, [_TROUBLE[status]])
    ruling = exercise.judge(values, exercise.draw_inputs() if inputs is None else inputs)
    share = ruling.share if math.isfinite(ruling.share) else 0.0
    score = points * min(1.0, max(0.0, share))
    finding = ruling.finding
    if finding.diagnosis in ("todo-open", "not-defined"):
        status = "missing"
    elif score >= points:
        status = "passed"
    else:
        status = "partial" if score > 0 else "failed"
    messages = [f"{exercise.name}: {finding.sentence}", *finding.facts, *ruling.remarks]
    diagnosis = finding.diagnosis
    if diagnosis == "raised" and is_out_of_memory(" ".join(finding.facts)):
        diagnosis, messages = "out-of-memory", [*messages, SENTENCE]
    return Verdict(score, points, status, diagnosis, messages)


# -------------------------------------------------------------- one mistake is paid once


def choose_stand_ins(exercise: Exercise, statuses: dict[str, str]) -> list[str]:
    """Return the pieces under an exercise that did not pass, and those that only fit them."""
    failed = {name for name in exercise.builds_on if statuses.get(name, "passed") != "passed"}
    for partners in exercise.together:
        if failed & set(partners):
            failed |= set(partners)
    return [name for name in exercise.builds_on if name in failed]


def add_stand_ins(exercise: Exercise, codes: list[str]) -> str:
    """Return the exercise's program with right pieces put into the kernel first.

    What this program defines is there to be called by the learner's code alone: it runs when
    nothing else will be asked any more, and only arrays come out.
    """
    return (
        f"{exercise.program}\n\n_probe_own = probe\n\n\n"
        "def probe(namespace, inputs):\n"
        "    kept = dict(namespace)\n"
        f"    for code in {codes!r}:\n"
        "        exec(compile(code, '<course>', 'exec'), namespace)\n"
        "    try:\n"
        "        return _probe_own(namespace, inputs)\n"
        "    finally:\n"
        "        namespace.clear()\n"
        "        namespace.update(kept)\n"
    )


def credit_second_try(first: Verdict, second: Verdict, pieces: list[str]) -> Verdict:
    """Return the better of two verdicts: on the learner's own pieces, and on right ones."""
    if second.score <= first.score:
        return first
    word = (
        f"Right pieces stood in for {', '.join(pieces)}, so that a mistake there is not counted "
        f"twice: {second.score:g} of {second.max_score:g} points here."
    )
    return replace(second, messages=[*second.messages, word])
