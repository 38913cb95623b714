"""How far marking is: by question, by marker, and where two readers disagree."""

from __future__ import annotations

import statistics
from collections import Counter
from dataclasses import dataclass, field

from sqlalchemy import func, select

from autograder.marking import tables
from autograder.marking.desk import Answer, Desk
from autograder.marking.questions import Question


@dataclass
class QuestionProgress:
    """How one question stands."""

    question: Question
    counts: Counter = field(default_factory=Counter)  # by status
    scores: list[float] = field(default_factory=list)
    reworded: int = 0  # marks given under an older mark scheme
    read_twice: int = 0
    to_read_twice: int = 0
    differences: list[float] = field(default_factory=list)  # of those read twice

    @property
    def total(self) -> int:
        return sum(self.counts.values()) - self.counts["missing"]

    @property
    def done(self) -> int:
        return self.counts["marked"] + self.counts["formgrader"] + self.counts["decide"]

    @property
    def left(self) -> int:
        return self.total - self.done

    @property
    def to_read(self) -> int:
        return self.counts["open"] + self.counts["elsewhere"] + self.counts["changed"]

    @property
    def disagreed(self) -> int:
        return sum(difference > 0 for difference in self.differences)

    @property
    def mean_difference(self) -> float:
        return statistics.fmean(self.differences) if self.differences else 0.0

    @property
    def mean(self) -> float | None:
        return statistics.fmean(self.scores) if self.scores else None

    def count_scores(self) -> list[tuple[float, int]]:
        """Return how many answers have which mark, over every mark that was given."""
        return sorted(Counter(self.scores).items())


def measure_progress(desk: Desk, answers: list[Answer] | None = None) -> list[QuestionProgress]:
    """Return how every question stands."""
    found = {(q.notebook, q.cell): QuestionProgress(q) for q in desk.questions}
    for answer in desk.read_answers() if answers is None else answers:
        entry = found.get((answer.notebook, answer.cell))
        if entry is None:
            continue
        status = answer.status
        entry.counts[status] += 1
        if status in ("marked", "formgrader", "decide"):
            entry.scores.append(answer.score)
        if status == "marked" and answer.mark_scheme != entry.question.scheme.digest:
            entry.reworded += 1
        if status in ("marked", "decide") and desk.is_twice(answer):
            entry.to_read_twice += answer.second is None and answer.kind == "mark"
        if answer.second is not None and answer.mark is not None:
            entry.read_twice += 1
            entry.differences.append(_find_difference(desk, answer))
    return list(found.values())


def _find_difference(desk: Desk, answer: Answer) -> float:
    """Return how far apart the two readers were; a decision does not change that."""
    if answer.kind != "decision":
        return abs(answer.mark_score - answer.second_score)
    first = desk.find_first_score(answer)
    return abs(first - answer.second_score) if first is not None else 0.0


@dataclass(frozen=True)
class MarkerProgress:
    """What one person has done."""

    marker: str
    marks: int
    by_question: dict[str, int]
    latest: str


def measure_markers(desk: Desk) -> list[MarkerProgress]:
    """Return who has marked how much."""
    m = tables.marks.c
    rows = desk.gradebook.db.execute(
        select(m.marker, m.cell, func.count(), func.max(m.given))
        .where(m.assignment == desk.assignment.name, m.undone.is_(None))
        .group_by(m.marker, m.cell)
    ).all()
    desk.gradebook.db.rollback()
    labels = {question.cell: question.label for question in desk.questions}
    found = []
    for marker in sorted({row[0] for row in rows}):
        own = [row for row in rows if row[0] == marker]
        found.append(
            MarkerProgress(
                marker,
                sum(row[2] for row in own),
                {labels.get(row[1], row[1]): row[2] for row in own},
                max(row[3] for row in own).strftime("%Y-%m-%d %H:%M UTC"),
            )
        )
    return found
