"""Outputs in, verdict out. The judge runs in the grader's process and never in the student's."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field

from autograder.exercises.base import Exercise
from autograder.kernel.memory import SENTENCE, is_out_of_memory

STATUSES = ("passed", "partial", "failed", "timeout", "crashed", "missing", "manual")

_TROUBLE = {
    "timeout": "Your code took too long here and was stopped.",
    "crashed": "Your code ended the kernel here.",
    "used up": "The time for the whole notebook was used up before this could be asked.",
}


@dataclass(frozen=True)
class Verdict:
    """What one cell earned, and why.

    `parts` lists [what, points, mistake or None] where points count by parts; it stays inside.
    """

    score: float
    max_score: float
    status: str
    diagnosis: str | None = None
    messages: list[str] = field(default_factory=list)
    parts: list[list] = field(default_factory=list)

    def to_dict(self) -> dict:
        return {key: value for key, value in asdict(self).items() if key != "parts"}


def decide(
    exercise: Exercise,
    points: float,
    status: str,
    values: dict,
    inputs: dict,
    solutions: dict[str, str],
) -> Verdict:
    """Judge the arrays that came back for one exercise.

    `status` says how asking went: "ok", "timeout" or "crashed"; `inputs` are what was asked with,
    `solutions` the instructor's code of the notebook's cells. The score always lies between 0 and
    `points`, whatever an exercise's rule returns.
    """
    if status in _TROUBLE:
        known = status if status in STATUSES else "timeout"
        return Verdict(0.0, points, known, status.replace(" ", "-"), [_TROUBLE[status]])
    ruling = exercise.rule(values, inputs, solutions)
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
    messages += finding.counted
    diagnosis = finding.diagnosis
    if diagnosis == "raised" and is_out_of_memory(" ".join(finding.facts)):
        diagnosis, messages = "out-of-memory", [*messages, SENTENCE]
    parts = [[part.words, part.points, part.lost_to] for part in finding.parts]
    return Verdict(score, points, status, diagnosis, messages, [] if finding.passed else parts)
