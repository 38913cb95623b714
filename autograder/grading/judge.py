"""Outputs in, verdict out. The judge runs in the grader's process and never in the student's."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field

from autograder.exercises.base import Exercise
from autograder.kernel.memory import SENTENCE, is_out_of_memory
from autograder.plain_text import one_line

STATUSES = ("passed", "partial", "failed", "timeout", "crashed", "missing", "manual")

_LONGEST_SLIP = 200  # characters
_NOT_JUDGED = (
    "This could not be judged: what came back is not what code for it gives, or the grader made a "
    "mistake. It earns nothing for now, and your instructor is told to look at it."
)
_TROUBLE = {
    "timeout": "Your code took too long here and was stopped.",
    "crashed": "Your code ended the kernel here.",
    "used up": "The time for the whole notebook was used up before this could be asked.",
}


@dataclass(frozen=True)
class Verdict:
    """What one cell earned, and why.

    `parts` lists [points, lost points, mistake or None] where points count by parts; it stays inside.
    """

    score: float
    max_score: float
    status: str
    diagnosis: str | None = None
    messages: list[str] = field(default_factory=list)  # sentences; the first says the most
    details: list[str] = field(default_factory=list)  # numbers and places, to be shown below them
    parts: list[list] = field(default_factory=list)
    slip: str = ""  # what went wrong with the judge itself: for a person, never for the student

    @property
    def lines(self) -> list[str]:
        """Everything that the student is told, in order."""
        return [*self.messages[:1], *self.details, *self.messages[1:]]

    def to_dict(self) -> dict:
        return {key: value for key, value in asdict(self).items() if key not in ("parts", "slip")}


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
    try:
        ruling = exercise.rule(values, inputs, solutions)
    except MemoryError:  # the judge has used up what it may have
        raise
    except Exception as problem:  # a reply that no code of ours gives, or a mistake of ours
        slip = one_line(f"{type(problem).__name__}: {problem}", _LONGEST_SLIP)
        return Verdict(0.0, points, "failed", "not-judged", [_NOT_JUDGED], slip=slip)
    share = ruling.share if math.isfinite(ruling.share) else 0.0
    score = points * min(1.0, max(0.0, share))
    finding = ruling.finding
    if finding.diagnosis in ("todo-open", "not-defined"):
        status = "missing"
    elif score >= points:
        status = "passed"
    else:
        status = "partial" if score > 0 else "failed"
    messages = [f"{exercise.name}: {finding.sentence}", *ruling.remarks]
    details = [*(fact.strip() for fact in finding.facts), *finding.counted]
    diagnosis = finding.diagnosis
    if diagnosis == "raised" and is_out_of_memory(" ".join(finding.facts)):
        diagnosis, messages = "out-of-memory", [*messages, SENTENCE]
    parts = [[part.points, part.lost, part.lost_to] for part in finding.parts]
    parts = [] if finding.passed else parts
    return Verdict(score, points, status, diagnosis, messages, details, parts)
