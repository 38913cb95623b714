"""Outputs in, verdict out. The judge runs in the grader's process and never in the student's."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field

from autograder.exercises.base import Exercise

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


def decide(exercise: Exercise, points: float, status: str, values: dict) -> Verdict:
    """Judge the arrays that came back for one exercise.

    `status` says how asking went: "ok", "timeout" or "crashed". The score always lies between
    0 and `points`, whatever an exercise's rule returns.
    """
    if status in _TROUBLE:
        return Verdict(0.0, points, status, status, [_TROUBLE[status]])
    ruling = exercise.rule(values)
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
    return Verdict(score, points, status, finding.diagnosis, messages)
