"""The desk: what is to be marked, who has it open, and how a mark is written.

All state lives in the gradebook's database, so any number of servers may work on it. Marks go through
nbgrader's own rows, which formgrader, feedback and exports read; who gave them, when and for which
items is written in the same transaction. Nothing is overwritten that the writer has not seen: each
answer has a version, and a mark counts only if the version is still the one that was shown.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import NamedTuple

from nbgrader import api
from nbgrader.coursedir import CourseDirectory
from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError, OperationalError

from autograder.authoring.build import load_nbgrader_config
from autograder.classroom.gradebook import find_alembic
from autograder.course import Assignment, CourseError, load_assignment
from autograder.intake.writeups import WriteUp, find_handed_in
from autograder.marking import tables
from autograder.marking.alike import Passages, measure_likeness, read_passages
from autograder.marking.questions import Question, find_questions
from autograder.marking.reading import Reader

LEASE_SECONDS = 15 * 60
_TO_READ = ("open", "elsewhere", "changed")


class Overtaken(CourseError):
    """Somebody else, or a new submission, was faster; nothing was written."""


class Answer(NamedTuple):  # thousands of them make a list: a tuple is made fastest
    """One student's answer and how its marking stands."""

    code: str
    notebook: str
    cell: str
    student: str
    state: str  # given, untouched, empty, missing, or elsewhere: bare, and a write-up is there
    digest: str
    pictured: bool
    version: int
    mark: str | None
    second: str | None
    score: float | None  # what the gradebook holds from a person
    waits: bool  # as nbgrader sees it
    marker: str | None
    kind: str | None
    mark_score: float | None
    mark_digest: str | None
    mark_scheme: str | None
    second_marker: str | None
    second_score: float | None

    @property
    def status(self) -> str:
        """missing, blank, open, elsewhere, changed, formgrader (marked there), decide or marked."""
        if self.state == "missing":
            return "missing"
        if self.mark is None:
            if self.score is not None and not self.waits:
                return "formgrader"
            return {"given": "open", "elsewhere": "elsewhere"}.get(self.state, "blank")
        if self.digest != self.mark_digest:
            return "changed"
        if self.score != self.mark_score:
            return "open" if self.score is None else "formgrader"
        return "decide" if self.disagrees else "marked"

    @property
    def disagrees(self) -> bool:
        return (
            self.second is not None
            and self.kind != "decision"
            and self.second_score != self.mark_score
        )

    @property
    def seen(self) -> str:
        """What a form sends back to say what its writer saw; it gives no mark away."""
        return _hash(f"{self.code}|{self.version}|{self.score}")


class Place(NamedTuple):
    """Where in a write-up an answer stands."""

    document: str  # the write-up's key
    page: int  # from 1
    marker: str


@dataclass(frozen=True)
class Judgement:
    """What a marker decided about an answer."""

    items: dict[str, int] = field(default_factory=dict)
    adjustment: float = 0.0
    comment: str = ""


@dataclass(frozen=True)
class Given:
    """A mark that was given, with its words."""

    id: str
    marker: str
    given: datetime
    kind: str
    score: float
    items: dict[str, int]
    adjustment: float
    comment: str
    scheme: str


class Desk:
    """The marking of one assignment, on an open gradebook."""

    def __init__(self, assignment: Assignment):
        find_alembic()
        self.assignment = assignment
        directory = CourseDirectory(config=load_nbgrader_config(assignment))
        assignment.grading.mkdir(parents=True, exist_ok=True)
        try:
            self.gradebook = api.Gradebook(directory.db_url, directory.course_id)
            tables.metadata.create_all(self.gradebook.engine)
        except OperationalError as problem:
            raise CourseError(f"The gradebook could not be opened: {problem.orig}.") from problem
        self._passages: dict[str, Passages] = {}  # by the digest of a text
        self._reader = Reader(assignment, directory, self.questions, self.gradebook)

    def close(self) -> None:
        self.gradebook.close()

    @cached_property
    def questions(self) -> list[Question]:
        return find_questions(self.assignment)

    def find_question(self, notebook: str, cell: str) -> Question:
        for question in self.questions:
            if (question.notebook, question.cell) == (notebook, cell):
                return question
        raise CourseError(f"There is no question {cell!r} in {notebook!r}.")

    @property
    def _db(self):
        return self.gradebook.db

    @contextmanager
    def _transaction(self):
        try:
            yield
            self._db.commit()
        except OperationalError as problem:
            self._db.rollback()
            raise CourseError(
                "The gradebook is busy or cannot be written, so nothing was saved. Try again in a "
                "moment."
            ) from problem
        except BaseException:
            self._db.rollback()
            raise
        finally:
            self._db.expunge_all()

    # -------------------------------------------------------------------------------- reading

    def refresh(self, at_least: float = 2.0) -> None:
        """Look for work that was graded since, unless that was done a moment ago."""
        with self._transaction():
            self._reader.refresh(at_least)

    def read_answers(self, question: Question | None = None) -> list[Answer]:
        """Return the answers to one question, or to all, in their shuffled order."""
        rows = self._select(question)
        self._db.rollback()  # reading, too, opens a transaction
        return rows

    def _select(self, question: Question | None) -> list[Answer]:
        a, first, second = tables.answers.c, tables.marks.alias(), tables.marks.alias()
        query = (
            select(
                a.code, a.notebook, a.cell, a.student, a.state, a.digest, a.pictured, a.version,
                a.mark, a.second, api.Grade.manual_score, api.Grade.needs_manual_grade,
                first.c.marker, first.c.kind, first.c.score, first.c.digest, first.c.scheme,
                second.c.marker, second.c.score,
            )
            .select_from(
                tables.answers
                .join(api.Grade.__table__, api.Grade.__table__.c.id == a.grade_id)
                .outerjoin(first, first.c.id == a.mark)
                .outerjoin(second, second.c.id == a.second)
            )
            .where(a.assignment == self.assignment.name)
            .order_by(a.code)
        )  # fmt: skip
        if question is not None:
            query = query.where(a.notebook == question.notebook, a.cell == question.cell)
        return [Answer._make(row) for row in self._db.execute(query)]

    def find_answer(self, question: Question, code: str) -> Answer:
        found = next((x for x in self.read_answers(question) if x.code == code), None)
        if found is None:
            raise CourseError("There is no such answer.")
        return found

    def read_texts(self, codes: Iterable[str]) -> dict[str, str]:
        a = tables.answers.c
        rows = dict(
            map(tuple, self._db.execute(select(a.code, a.text).where(a.code.in_(list(codes)))))
        )
        self._db.rollback()
        return rows

    def read_work(self, question: Question, answer: Answer) -> tuple[list, dict]:
        """Return the student's code cells that an answer may speak of, and its own pictures."""
        return self._reader.read_work(question, answer.student)

    def find_writeups(self, answer: Answer) -> list[WriteUp]:
        """Return what the student of an answer handed in beside the notebooks, elsewhere first."""
        found = find_handed_in(self.assignment, answer.student)
        return sorted(found, key=lambda writeup: writeup.same_answers)

    def find_place(self, answer: Answer) -> Place | None:
        """Return where somebody found an answer, if anybody did."""
        p = tables.places.c
        row = self._db.execute(
            select(p.document, p.page, p.marker).where(p.code == answer.code)
        ).first()
        self._db.rollback()
        return Place(*row) if row else None

    def put_place(self, answer: Answer, place: Place | None) -> None:
        """Write down where an answer stands; None takes it back."""
        with self._transaction():
            self._db.execute(delete(tables.places).where(tables.places.c.code == answer.code))
            if place is not None:
                row = {"code": answer.code, "given": _now(), **place._asdict()}
                tables.insert_missing(self._db, tables.places, [row])

    def find_mark(self, mark_id: str | None) -> Given | None:
        if mark_id is None:
            return None
        m = tables.marks.c
        row = self._db.execute(select(tables.marks).where(m.id == mark_id)).mappings().first()
        self._db.rollback()
        return _read_mark(row) if row else None

    def read_batch(self, batch: str) -> list[Given]:
        """Return marks that were given together and not undone."""
        m = tables.marks.c
        query = select(tables.marks).where(m.batch == batch, m.undone.is_(None))
        found = [_read_mark(row) for row in self._db.execute(query).mappings()]
        self._db.rollback()
        return found

    def find_first_score(self, answer: Answer) -> float | None:
        """Return what the first reader of an answer gave, before a decision."""
        m = tables.marks.c
        score = self._db.execute(
            select(m.score)
            .where(m.code == answer.code, m.kind == "mark", m.undone.is_(None))
            .order_by(m.given.desc())
            .limit(1)
        ).scalar()
        self._db.rollback()
        return score

    def find_item_words(self, digests: Iterable[str]) -> dict[str, tuple[str, float]]:
        """Return the words and points of items, those of older mark schemes included."""
        i = tables.items.c
        rows = self._db.execute(
            select(i.digest, i.text, i.points).where(i.digest.in_(list(digests)))
        )
        found = {digest: (text, points) for digest, text, points in rows}
        self._db.rollback()
        return found

    def remember_comments(self, question: Question) -> list[str]:
        """Return the comments that were given to this question, most used first."""
        m = tables.marks.c
        rows = self._db.execute(
            select(m.comment)
            .where(m.assignment == self.assignment.name, m.notebook == question.notebook,
                   m.cell == question.cell, m.comment != "", m.undone.is_(None))
            .group_by(m.comment)
            .order_by(func.count().desc(), func.max(m.given).desc())
            .limit(200)
        ).scalars().all()  # fmt: skip
        self._db.rollback()
        return list(rows)

    def find_alike(self, question: Question, answer: Answer) -> list[tuple[Answer, float, str]]:
        """Return unread answers that say the same or nearly so, with their likeness and text."""
        if answer.state != "given":
            return []
        others = [
            x for x in self.read_answers(question) if x.status in _TO_READ and x.state == "given"
        ]
        missing = {x.digest: x.code for x in (answer, *others) if x.digest not in self._passages}
        texts = self.read_texts(missing.values())
        for digest, code in missing.items():
            self._passages[digest] = read_passages(texts[code])
        own = self._passages[answer.digest]
        found = [
            (x, likeness)
            for x in others
            if x.code != answer.code
            and (likeness := measure_likeness(own, self._passages[x.digest])) > 0
        ]
        found.sort(key=lambda pair: (-pair[1], pair[0].code))
        texts = self.read_texts(x.code for x, _ in found)
        return [(x, likeness, texts[x.code]) for x, likeness in found]

    # ----------------------------------------------------------------------- the next answer

    def is_twice(self, answer: Answer) -> bool:
        """Say whether an answer belongs to the share that two people read."""
        share = self.assignment.course.marking.get("twice_percent", 0)
        return int(_hash(f"twice|{answer.code}"), 16) % 10_000 < 100 * share

    def wants_second(self, answer: Answer, marker: str) -> bool:
        """Is this an answer that `marker` may read as its second reader, without being told?"""
        return (
            answer.kind == "mark"  # the cheapest question first: a list asks it of thousands
            and answer.second is None
            and answer.marker != marker
            and answer.status == "marked"
            and self.is_twice(answer)
        )

    def find_next(
        self, question: Question, marker: str, queue: str = "open", after: str = ""
    ) -> tuple[Answer, str] | None:
        """Take the next answer that waits for this marker; return it with the page's ticket.

        `queue` is open, decide or reworded (marks given under an older mark scheme).
        `after` is the code of one that is skipped: the search goes on behind it.
        """
        waiting = [
            x for x in self.read_answers(question) if self._waits_in(x, question, marker, queue)
        ]
        for answer in sorted(waiting, key=lambda x: (x.code <= after, x.code)):
            if answer.code == after and len(waiting) > 1:
                continue
            ticket = self.take(answer.code, marker)
            if ticket:
                return answer, ticket
        return None

    def _waits_in(self, answer: Answer, question: Question, marker: str, queue: str) -> bool:
        if queue == "decide":
            return answer.status == "decide"
        if queue == "reworded":
            return answer.status == "marked" and answer.mark_scheme != question.scheme.digest
        return answer.status in _TO_READ or self.wants_second(answer, marker)

    def take(self, code: str, marker: str) -> str | None:
        """Reserve an answer for a marker; None when somebody else has it open."""
        lease, now, ticket = tables.leases.c, time.time(), secrets.token_hex(16)
        facts = {"marker": marker, "until": now + LEASE_SECONDS, "ticket": ticket}
        try:
            with self._transaction():
                taken = self._db.execute(
                    update(tables.leases)
                    .where(lease.code == code, (lease.marker == marker) | (lease.until < now))
                    .values(**facts)
                ).rowcount
                if not taken:
                    self._db.execute(insert(tables.leases).values(code=code, **facts))
        except IntegrityError:
            return None
        return ticket

    def find_holder(self, code: str) -> str | None:
        """Return who has an answer open."""
        lease = tables.leases.c
        holder = self._db.execute(
            select(lease.marker).where(lease.code == code, lease.until >= time.time())
        ).scalar()
        self._db.rollback()
        return holder

    def keep(self, code: str, ticket: str) -> None:
        """Go on having an answer open."""
        lease = tables.leases.c
        with self._transaction():
            self._db.execute(
                update(tables.leases)
                .where(lease.code == code, lease.ticket == ticket)
                .values(until=time.time() + LEASE_SECONDS)
            )

    def leave(self, code: str, ticket: str) -> None:
        """Give an answer back without a mark."""
        lease = tables.leases.c
        with self._transaction():
            self._db.execute(
                delete(tables.leases).where(lease.code == code, lease.ticket == ticket)
            )

    # -------------------------------------------------------------------------------- writing

    def give(
        self,
        question: Question,
        marker: str,
        judgement: Judgement,
        seen: dict[str, str],
        kind: str = "mark",
    ) -> str:
        """Write one judgement to all the answers in `seen` (code -> what was shown); return its batch."""
        return self.give_all(marker, [(question, judgement, seen)], kind)

    def give_all(
        self,
        marker: str,
        judgements: list[tuple[Question, Judgement, dict[str, str]]],
        kind: str = "mark",
    ) -> str:
        """Write several judgements, all together or none; return the batch that they are undone by."""
        batch = secrets.token_hex(16)
        with self._transaction():
            for question, judgement, seen in judgements:
                self._give(question, marker, judgement, seen, kind, batch)
        return batch

    def _give(
        self,
        question: Question,
        marker: str,
        judgement: Judgement,
        seen: dict[str, str],
        kind: str,
        batch: str,
    ) -> None:
        known = {item.digest: item for item in question.scheme.items}
        given = {
            key: min(number, known[key].times)
            for key, number in judgement.items.items()
            if number > 0 and key in known
        }
        score = question.scheme.add_up(given, judgement.adjustment)
        words = [
            {"digest": key, "text": known[key].text, "points": known[key].points} for key in given
        ]
        tables.insert_missing(self._db, tables.items, words)
        for code, shown in seen.items():
            answer = self._claim(question, code, shown, marker, kind)
            before = self._put(answer, score, judgement.comment, kind)
            mark = secrets.token_hex(16)
            self._db.execute(
                insert(tables.marks).values(
                    id=mark, code=code, assignment=self.assignment.name,
                    notebook=question.notebook, cell=question.cell, student=answer.student,
                    marker=marker, given=_now(), kind=kind, score=score,
                    items=json.dumps(given), adjustment=judgement.adjustment,
                    comment=judgement.comment, digest=answer.digest,
                    scheme=question.scheme.digest, batch=batch, before=json.dumps(before),
                )
            )  # fmt: skip
            pointers = {"second": mark} if kind == "second" else {"mark": mark}
            if kind == "mark":
                pointers["second"] = None
            a = tables.answers.c
            self._db.execute(update(tables.answers).where(a.code == code).values(**pointers))
            self._db.execute(delete(tables.leases).where(tables.leases.c.code == code))

    def _claim(self, question: Question, code: str, shown: str, marker: str, kind: str) -> Answer:
        """Count the answer's version up, if it is still what the marker saw.

        The update comes first: it holds the row (on SQLite, the database) until the commit, and
        nbgrader's own row is held likewise.
        """
        a, grade = tables.answers.c, api.Grade.__table__
        self._db.execute(update(tables.answers).where(a.code == code).values(version=a.version + 1))
        own = select(a.grade_id).where(a.code == code).scalar_subquery()
        self._db.execute(select(grade.c.id).where(grade.c.id == own).with_for_update())
        answer = next((x for x in self._select(question) if x.code == code), None)
        if answer is None:
            raise CourseError("There is no such answer.")
        before = _hash(f"{code}|{answer.version - 1}|{answer.score}")
        if before != shown:
            who = answer.second_marker if answer.second else answer.marker
            told = f"{who} has marked it" if who and who != marker else "it was marked or changed"
            raise Overtaken(
                f"Nothing was saved: {told} while you had it open. Look at it again before you decide."
            )
        if kind == "second" and not self.wants_second(answer, marker):
            raise Overtaken("Nothing was saved: this answer has been read twice already.")
        if kind == "decision" and answer.status != "decide":
            raise Overtaken("Nothing was saved: this answer has been decided already.")
        return answer

    def _put(self, answer: Answer, score: float, comment: str, kind: str) -> dict:
        """Write through nbgrader's own rows; return what they held. A second mark does not count."""
        names = (answer.cell, answer.notebook, self.assignment.name, answer.student)
        grade, words = self.gradebook.find_grade(*names), self.gradebook.find_comment(*names)
        before = {
            "score": grade.manual_score,
            "waits": grade.needs_manual_grade,
            "comment": words.manual_comment,
            "mark": answer.mark,
            "second": answer.second,
        }
        if kind != "second":
            grade.manual_score, grade.needs_manual_grade = score, False
            words.manual_comment = comment or None
        return before

    def undo(self, marker: str) -> list[Answer]:
        """Take back the marker's latest mark, with those given together with it."""
        m, a = tables.marks.c, tables.answers.c
        latest = (
            select(m.batch)
            .where(m.assignment == self.assignment.name, m.marker == marker, m.undone.is_(None))
            .order_by(m.given.desc())
            .limit(1)
        )
        with self._transaction():
            batch = self._db.execute(latest).scalar()
            if batch is None:
                raise CourseError("There is nothing of yours to undo.")
            rows = self._db.execute(select(tables.marks).where(m.batch == batch)).mappings().all()
            found = []
            for row in rows:
                pointer = a.second if row["kind"] == "second" else a.mark
                before = json.loads(row["before"])
                changed = self._db.execute(
                    update(tables.answers)
                    .where(a.code == row["code"], pointer == row["id"])
                    .values(version=a.version + 1, mark=before["mark"], second=before["second"])
                ).rowcount
                names = (row["cell"], row["notebook"], self.assignment.name, row["student"])
                grade = self.gradebook.find_grade(*names)
                counts = row["kind"] != "second"
                if not changed or (counts and grade.manual_score != row["score"]):
                    raise Overtaken("It was marked again since, so your mark was not taken back.")
                if counts:
                    grade.manual_score = before["score"]
                    grade.needs_manual_grade = before["waits"]
                    self.gradebook.find_comment(*names).manual_comment = before["comment"]
                self._db.execute(
                    update(tables.marks).where(m.id == row["id"]).values(undone=_now())
                )
                found.append(row)
        codes = {row["code"] for row in found}
        return [answer for answer in self.read_answers() if answer.code in codes]


_refreshed: set[str] = set()  # assignments, in this process


def refresh_marks(assignment: str, **_) -> None:
    """Let the gradebook know which marks still hold, before feedback is made (nbgrader's hook)."""
    if assignment not in _refreshed:
        refresh_desk(load_assignment(assignment))
        _refreshed.add(assignment)


def refresh_desk(assignment: Assignment) -> None:
    """Copy answers that were graded since, so that marks of unchanged answers go on counting."""
    desk = Desk(assignment)
    try:
        desk.refresh(at_least=0)
    finally:
        desk.close()


def _read_mark(row) -> Given:
    return Given(
        row["id"], row["marker"], row["given"], row["kind"], row["score"],
        json.loads(row["items"]), row["adjustment"], row["comment"], row["scheme"],
    )  # fmt: skip


def _now() -> datetime:
    """Return the time in UTC, as every database can keep it."""
    return datetime.now(UTC).replace(tzinfo=None)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
