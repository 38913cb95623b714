"""What the desk has written down about marks, for whoever only reads: feedback and reports."""

from __future__ import annotations

import json
from dataclasses import dataclass

from nbgrader.api import Gradebook
from sqlalchemy import inspect, select

from autograder.marking import tables


@dataclass(frozen=True)
class Record:
    """The mark that counts for one answer: its score, and what it was given for."""

    score: float
    items: dict[str, int]
    words: dict[str, tuple[str, float]]  # item -> text, points
    adjustment: float

    def list_items(self) -> list[tuple[str, float]]:
        """Return the words of what was given, and the points it brought."""
        found = [
            (self.words[key][0], self.words[key][1] * times)
            for key, times in self.items.items()
            if key in self.words
        ]
        if self.adjustment:
            found.append(("adjusted by the marker", self.adjustment))
        return found


def read_records(
    gradebook: Gradebook, assignment: str, notebook: str, student: str
) -> dict[str, Record]:
    """Return the marks of one student's notebook by cell; none where the desk was never opened."""
    if not inspect(gradebook.engine).has_table(tables.marks.name):
        return {}
    a, m, i = tables.answers.c, tables.marks.c, tables.items.c
    rows = gradebook.db.execute(
        select(m.cell, m.score, m["items"].label("given"), m.adjustment)
        .select_from(tables.answers.join(tables.marks, m.id == a.mark))
        .where(a.assignment == assignment, a.notebook == notebook, a.student == student)
    ).all()
    given = {row.cell: json.loads(row.given) for row in rows}
    wanted = {digest for found in given.values() for digest in found}
    words = {
        digest: (text, points)
        for digest, text, points in gradebook.db.execute(
            select(i.digest, i.text, i.points).where(i.digest.in_(wanted))
        )
    }
    return {row.cell: Record(row.score, given[row.cell], words, row.adjustment) for row in rows}
