"""What takes seconds and comes out the same every time is done once in a test process.

Everything here stands in for a function of the product or of nbgrader that is really called the first
time, so that it is tried, too. Used by the fixture `shortcuts` in tests/conftest.py.
"""

import contextlib
import functools
import hashlib
import secrets
import sqlite3
import sys
from pathlib import Path
from unittest import mock

from nbgrader import api

from autograder.classroom import gradebook
from autograder.course import load_course
from autograder.grading import canary

ROOT = Path(__file__).resolve().parents[1]


@contextlib.contextmanager
def take_all():
    """Take every shortcut for a while; yield the canaries that have sung."""
    sung = set()
    with (
        mock.patch("autograder.grading.secret.secrets", Secrets),
        mock.patch.object(canary, "require_canary", make_canary_remember(sung)),
        mock.patch.object(api, "get_alembic_version", functools.cache(api.get_alembic_version)),
        mock.patch.object(gradebook, "generate_release", make_recording_remember()),
    ):
        yield sung


class Secrets:
    """A new secret follows from its folder's name: no test may pass or fail by the luck of a draw."""

    @staticmethod
    def token_hex(count):
        if count < 32:  # the name of a file that is there for a moment
            return secrets.token_hex(count)
        folder = sys._getframe(1).f_locals["grading"]
        return hashlib.sha256(folder.name.encode()).hexdigest()


def make_canary_remember(sung):
    """Each canary needs a kernel of its own: one for every way and place is enough.

    A test that breaks the judge clears the set, and the canary is asked again.
    """
    ask = canary.require_canary

    def require_canary(blueprint, birds, grade):
        key = (blueprint.assignment, blueprint.name, grade.__qualname__, Path.cwd())
        if key not in sung:
            ask(blueprint, birds, grade)
            sung.add(key)

    return require_canary


def make_recording_remember():
    """nbgrader takes seconds to record an assignment in an empty gradebook.

    Later gradebooks begin as copies of the first, while they are empty and the course is this one.
    """
    record, kept = gradebook.generate_release, {}

    def generate_release(assignment, root, db_url):
        path = Path(db_url.removeprefix("sqlite:///"))
        known = assignment == load_course(ROOT).assignments.get(assignment.name)
        if not known or not _is_empty(path):
            record(assignment, root, db_url=db_url)
        elif assignment.name in kept:
            path.write_bytes(kept[assignment.name])
        else:
            record(assignment, root, db_url=db_url)
            kept[assignment.name] = path.read_bytes()

    return generate_release


def _is_empty(path):
    """Is this a gradebook of nbgrader's with nothing in it?"""
    if not path.is_file():
        return False
    with contextlib.closing(sqlite3.connect(path)) as database:
        tables = database.execute("select name from sqlite_master where type = 'table'").fetchall()
        used = {name for (name,) in tables if database.execute(f"select 1 from {name}").fetchone()}
    return used == {"course", "alembic_version"}
