"""Small classes for the tests about many students: handing in, grading, reading what came of it."""

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from autograder.blueprint import load_blueprint
from autograder.classroom import run
from autograder.course import load_assignment
from autograder.demo.personas import Persona, hand_in, make_class
from tests.conftest import ROOT

NOTEBOOK = "1_query_crafting"


def make_submissions(folder, count=4, notebooks=(NOTEBOOK,)):
    """Hand in the first students of the demo's class, with the notebooks named."""
    blueprints = [load_blueprint(load_assignment("attention", ROOT), name) for name in notebooks]
    people = [persona for persona in make_class(blueprints) if not persona.leaves_out]
    different = len(people)
    while len(people) < count:
        number = len(people)
        twin = people[number % different]
        people.append(
            Persona(f"{twin.name}{number}", twin.story, twin.codes, twin.damage, twin.writes)
        )
    for persona in people[:count]:
        hand_in(persona, blueprints, folder / "submitted")
    return [persona.name for persona in people[:count]]


class Listener(run.Listener):
    """Remembers what was graded; a test may let things happen when the first one is done."""

    def __init__(self, when_first_is_done=None):
        self.results, self.when_first_is_done = [], when_first_is_done

    def finish(self, unit, result):
        self.results.append({"student": unit.student, **result})
        if self.when_first_is_done:
            happen, self.when_first_is_done = self.when_first_is_done, None
            happen()


@contextlib.contextmanager
def grading_into(folder):
    """Let the course keep its grading in a folder for a while."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COURSE_GRADING", str(folder))
        yield load_assignment("attention", ROOT)


def grade_class(folder, happening=None, **options):
    """Grade a class in this process; return what was graded and the summary."""
    listener = Listener(happening)
    with grading_into(folder) as assignment:
        summary = run.grade_class(assignment, listener=listener, **options)
    return listener.results, summary.to_dict()


def start_grading(folder, *options):
    """Start grading a class as a process of its own, which a test may kill."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.Popen(
        [sys.executable, "-m", "autograder", "grade", "--json", *map(str, options)],
        cwd=ROOT,
        env={**os.environ, "PATH": path, "COURSE_GRADING": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def kill(process):
    process.send_signal(signal.SIGKILL)
    process.communicate()


def wait_for(condition, seconds=300):
    """Wait until something holds; fail when it does not within a generous time."""
    for _ in range(int(20 * seconds)):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it did not happen")


_WHERE = """
    join base_cell b on b.id = x.cell_id
    join submitted_notebook sn on sn.id = x.notebook_id
    join notebook n on n.id = sn.notebook_id
    join submitted_assignment sa on sa.id = sn.assignment_id order by 1, 2, 3
"""


def read_gradebook(folder):
    """Return everything that the gradebook says, without its random ids."""
    database = sqlite3.connect(f"file:{folder / 'gradebook.db'}?mode=ro", uri=True)
    columns = "sa.student_id, n.name, b.name"
    queries = {
        "grades": f"select {columns}, x.auto_score, x.manual_score, x.extra_credit, "
        f"x.needs_manual_grade from grade x {_WHERE}",
        "comments": f"select {columns}, x.auto_comment, x.manual_comment from comment x {_WHERE}",
        "submissions": "select student_id, timestamp, extension from submitted_assignment order by 1",
        "notebooks": "select sa.student_id, n.name, sn.flagged, sn.late_submission_penalty "
        "from submitted_notebook sn join notebook n on n.id = sn.notebook_id "
        "join submitted_assignment sa on sa.id = sn.assignment_id order by 1, 2",
        "students": "select id, first_name, last_name, email from student order by 1",
    }
    found = {name: database.execute(query).fetchall() for name, query in queries.items()}
    database.close()
    return found


def read_graded(folder):
    """Return the graded files: notebooks as JSON without times, other files as bytes."""
    found = {}
    for path in sorted((folder / "autograded").rglob("*")):
        if not path.is_file():
            continue
        name = str(path.relative_to(folder))
        if path.suffix != ".ipynb":
            found[name] = path.read_bytes()
            continue
        content = json.loads(path.read_text("utf-8"))
        for key in ("seconds", "times"):
            content["metadata"]["course"]["result"].pop(key, None)
        found[name] = content
    return found
