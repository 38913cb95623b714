"""A copy of the gradebook as it stands, for commands that only show: they write nothing where it lies."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

from nbgrader import api
from nbgrader.coursedir import CourseDirectory
from sqlalchemy import MetaData, create_engine, event
from sqlalchemy.engine import URL, make_url

from autograder.authoring.build import load_nbgrader_config
from autograder.course import Assignment


@contextlib.contextmanager
def open_copy(assignment: Assignment) -> Iterator[api.Gradebook]:
    """Open a copy of the gradebook, which is gone afterwards."""
    directory = CourseDirectory(config=load_nbgrader_config(assignment))
    with tempfile.TemporaryDirectory(prefix="gradebook-", ignore_cleanup_errors=True) as scratch:
        copy = Path(scratch) / "gradebook.db"
        copy_gradebook(directory.db_url, copy)
        with api.Gradebook(f"sqlite:///{copy}", directory.course_id) as gradebook:
            yield gradebook


def copy_gradebook(db_url: str, copy: Path) -> None:
    """Copy a gradebook to a file of SQLite's; where there is none yet, there is no copy either."""
    url = make_url(db_url)
    if url.get_backend_name() != "sqlite":
        _copy_rows(url, copy)
    elif url.database and Path(url.database).is_file():
        _copy_file(Path(url.database).resolve(), copy)


def _copy_file(path: Path, copy: Path) -> None:
    """Copy by SQLite's own means, which wait for whoever is writing."""
    journal = path.with_name(f"{path.name}-journal")
    try:
        with (
            contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as here,
            contextlib.closing(sqlite3.connect(copy)) as there,
        ):
            here.backup(there)
    except sqlite3.OperationalError as problem:
        if "locked" in str(problem) or not journal.exists():
            raise
        # A killed run left something to take back: SQLite does that when the copy is read.
        shutil.copy(journal, copy.with_name(f"{copy.name}-journal"))
        shutil.copy(path, copy)
        with contextlib.closing(sqlite3.connect(copy)) as there:
            there.execute("select * from sqlite_master").fetchall()


def _copy_rows(url: URL, copy: Path, isolation: str = "REPEATABLE READ") -> None:
    """Copy all tables of another database, as they are at one moment."""
    tables = MetaData()

    @event.listens_for(tables, "column_reflect")
    def _as_everywhere(inspector, table, column):
        column["type"] = column["type"].as_generic()
        column.pop("default", None)

    source, target = create_engine(url), create_engine(f"sqlite:///{copy}")
    try:
        with source.connect().execution_options(isolation_level=isolation) as there:
            tables.reflect(there)
            for table in tables.tables.values():
                table.indexes.clear()
            tables.create_all(target)
            with target.begin() as here:
                for table in tables.sorted_tables:
                    for rows in there.execute(table.select()).mappings().partitions(1000):
                        here.execute(table.insert(), [dict(row) for row in rows])
    finally:
        source.dispose()
        target.dispose()
