"""A made-up class of written answers, copied for each test that changes it."""

import contextlib
import shutil

import pytest

from autograder.course import load_assignment
from autograder.demo.written import make_written_class
from autograder.marking.desk import Desk
from tests.conftest import ROOT

NOTEBOOK = "1_query_crafting"
STUDENTS = 8


@contextlib.contextmanager
def marking_in(folder, twice_percent=0):
    """Let the course keep its grading in a folder, with a share of answers that are read twice."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COURSE_GRADING", str(folder))
        assignment = load_assignment(root=ROOT)
        patch.setitem(assignment.course.marking, "twice_percent", twice_percent)
        yield assignment


@pytest.fixture(scope="session")
def written_class(tmp_path_factory):
    """Notebook 1 of a small class: graded, and not yet marked."""
    folder = tmp_path_factory.mktemp("written")
    with marking_in(folder) as assignment:
        make_written_class(assignment, STUDENTS, seed=1, notebooks=[NOTEBOOK])
    return folder


@pytest.fixture
def grading(written_class, tmp_path):
    folder = tmp_path / "grading"
    shutil.copytree(written_class, folder)
    return folder


@pytest.fixture
def desk(grading):
    with marking_in(grading) as assignment:
        desk = Desk(assignment)
        desk.refresh()
        yield desk
        desk.close()


@pytest.fixture
def desk_twice(grading):
    """A desk at which every answer is read by two people."""
    with marking_in(grading, twice_percent=100) as assignment:
        desk = Desk(assignment)
        desk.refresh()
        yield desk
        desk.close()
