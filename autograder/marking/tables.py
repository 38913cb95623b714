"""Our tables, in the same database as nbgrader's gradebook, so that a mark and its record are one
transaction. nbgrader does not know them, and `nbgrader db upgrade` leaves them alone.

A row is found by the names of assignment, notebook, cell and student, never by nbgrader's ids:
those are made anew when a submission is removed and comes again.
"""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    DateTime,
    Float,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
)
from sqlalchemy.dialects import postgresql, sqlite

metadata = MetaData()


def _name_a_question() -> list[Column]:
    return [
        Column("assignment", String(128), nullable=False),
        Column("notebook", String(128), nullable=False),
        Column("cell", String(128), nullable=False),
    ]


# What is to be read: one row for each student and question, with the text as it was last seen.
answers = Table(
    "desk_answer",
    metadata,
    Column("code", String(16), primary_key=True),  # stands for the student, in addresses too
    *_name_a_question(),
    Column("student", String(128), nullable=False),
    Column("grade_id", String(32)),  # nbgrader's row, looked up again whenever the work changes
    Column("state", String(16), nullable=False),  # given, untouched, empty, missing or elsewhere
    Column("digest", String(16), nullable=False),  # of the text
    Column("text", Text, nullable=False),
    Column("pictured", Boolean, nullable=False),  # outputs were kept above it
    Column("version", Integer, nullable=False),  # counts changes, so that nobody overwrites unseen
    Column("mark", String(32)),  # the mark that counts
    Column("second", String(32)),  # what a second person gave without having seen the first
    Index("desk_answer_question", "assignment", "notebook", "cell"),
    Index("desk_answer_student", "assignment", "notebook", "student"),
)

# Every mark that was ever given; nothing is deleted.
marks = Table(
    "desk_mark",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("code", String(16), nullable=False, index=True),
    *_name_a_question(),
    Column("student", String(128), nullable=False),
    Column("marker", String(128), nullable=False),
    Column("given", DateTime, nullable=False),  # UTC
    Column("kind", String(16), nullable=False),  # mark, second or decision
    Column("score", Float, nullable=False),
    Column("items", Text, nullable=False),  # JSON: item -> how often
    Column("adjustment", Float, nullable=False),
    Column("comment", Text, nullable=False),
    Column("digest", String(16), nullable=False),  # of the answer that was read
    Column("scheme", String(16), nullable=False),  # of the mark scheme as it was
    Column("batch", String(32), nullable=False),  # marks given together are undone together
    Column("before", Text, nullable=False),  # JSON: what the gradebook held
    Column("undone", DateTime),
    Index("desk_mark_question", "assignment", "notebook", "cell"),
)

# The words of every item that was ever part of a mark.
items = Table(
    "desk_item",
    metadata,
    Column("digest", String(16), primary_key=True),
    Column("text", Text, nullable=False),
    Column("points", Float, nullable=False),
)

# Who has which answer open, and until when unless they go on.
leases = Table(
    "desk_lease",
    metadata,
    Column("code", String(16), primary_key=True),
    Column("marker", String(128), nullable=False),
    Column("ticket", String(32), nullable=False),  # one opened page
    Column("until", Float, nullable=False),
)

# Where in a write-up an answer stands, as a marker found it.
places = Table(
    "desk_place",
    metadata,
    Column("code", String(16), primary_key=True),
    Column("document", String(16), nullable=False),
    Column("page", Integer, nullable=False),
    Column("marker", String(128), nullable=False),
    Column("given", DateTime, nullable=False),  # UTC
)

# Which graded files have been read.
files = Table(
    "desk_file",
    metadata,
    Column("assignment", String(128), primary_key=True),
    Column("notebook", String(128), primary_key=True),
    Column("student", String(128), primary_key=True),
    Column("stamp", String(64), nullable=False),
)


def insert_missing(session, table: Table, rows: list[dict]) -> None:
    """Insert rows unless they are there: another server may have been faster."""
    dialect = {"sqlite": sqlite, "postgresql": postgresql}[session.get_bind().dialect.name]
    if rows:
        session.execute(dialect.insert(table).on_conflict_do_nothing(), rows)
