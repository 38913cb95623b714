"""A new assignment is a folder, not a fork: files are added, and everything works for it."""

import json
import os
import shutil
import subprocess
import sys

import nbformat
import pytest

from tests.conftest import ROOT, copy_course, keep_one_notebook

pytestmark = [pytest.mark.landing, pytest.mark.xdist_group("second assignment")]

TOML = """\
title = "Small things"

[[notebooks]]
name = "1_halves"
title = "Halves"
auto = 3
manual = 1
pages = 1
exercises = "halves"
"""
TEXT = """\
# %% [markdown]
# # Halves
#
# One function to write.

# %% setup="course"

# %% [markdown] answer="answer_collaborators" points=0
# Alone.

# %% solve="main"
def main(x):
    ### BEGIN SOLUTION
    return x / 2
    ### END SOLUTION
    raise NotImplementedError("TODO: main")

# %% check="main" points=3
assert main(4) == 2, "Half of 4 is 2."

# %% [markdown] answer="answer_why" points=1
# Because two of them make the whole.
#
# ### BEGIN MARK SCHEME
# - 1 point: says that twice the half is the whole.
# ### END MARK SCHEME
"""
EXERCISES = '''\
"""The exercise of the notebook on halves."""

import numpy as np

from autograder.exercises.base import Exercise, Mistake, Ruling
from course_utils.checks.findings import Finding

PROGRAM = """
def probe(namespace, inputs):
    if "main" not in namespace:
        return {}
    return {"out": [namespace["main"](float(x)) for x in inputs["x"]]}
"""


def judge(values, inputs, solutions):
    space = {}
    exec(solutions["main"], space)
    right = np.array([space["main"](x) for x in inputs["x"]])
    out = values.get("out")
    if not isinstance(out, np.ndarray):
        return Ruling(0.0, Finding(False, "main did not give numbers.", "todo-open"))
    good = out.shape == right.shape and np.allclose(out, right)
    named = "doubled" if np.allclose(out, 2 * inputs["x"]) else "wrong"
    words = "halves are halves." if good else "that is not half."
    return Ruling(float(good), Finding(good, words, None if good else named))


EXERCISES = [
    Exercise(
        "main", PROGRAM, judge, oracle="def main(x):\\n    return 0.5 * x",
        make_inputs=lambda rng: {"x": rng.integers(1, 99, 4).astype(float)},
        mistakes=(Mistake("doubled", "def main(x):\\n    return 2 * x"),),
        variants=("main = lambda x: x - x / 2",),
    )
]
'''


@pytest.fixture(scope="module")
def course_with_two(tmp_path_factory):
    """A copy of the course, its first assignment with one notebook, and a second one added.

    Returned as its folder and a function that runs commands there.
    """
    copy = copy_course(tmp_path_factory.mktemp("two") / "course")
    shutil.copy(ROOT / "LICENSE", copy)
    keep_one_notebook(copy)
    files = {
        "notebooks/small/assignment.toml": TOML,
        "notebooks/small/1_halves.py": TEXT,
        "autograder/exercises/small/__init__.py": '"""A small assignment."""\n',
        "autograder/exercises/small/halves.py": EXERCISES,
    }
    for name, content in files.items():
        path = copy / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8")
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(copy), str(ROOT)])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as python:

        def run(*command):
            """Run a command in the copy; return its status, output and errors."""
            print(json.dumps(list(map(str, command))), file=python.stdin, flush=True)
            return json.loads(python.stdout.readline())

        yield copy, run
        python.stdin.close()


# Commands run one after another in one Python that imports the copy of the course, not this one. With an
# address of its own in course.toml, the first notebook's set-up cell would change, and its proof be made anew.
PROGRAM = """
import json, sys
from unittest import mock
from tests.conftest import run_autograder, run_nbgrader

mock.patch("autograder.authoring.publish.require_own_address", lambda course: None).start()

tell = sys.stdout
for line in sys.stdin:
    program, *arguments = json.loads(line)
    run = {"autograder": run_autograder, "nbgrader": run_nbgrader}[program]
    found = run(*arguments, cwd=".")
    print(json.dumps([found.returncode, found.stdout, found.stderr]), file=tell, flush=True)
"""


def run_well(run, *commands):
    """Run commands that have to end well; return their outputs."""
    outputs = []
    for command in commands:
        status, output, errors = run(*command)
        assert status == 0, f"{command}: {output}{errors}"
        outputs.append(output)
    return outputs


def test_an_assignment_is_added_by_adding_files_only(course_with_two, tmp_path):
    course, run = course_with_two
    published = tmp_path / "published"
    run_well(
        run,
        ["autograder", "build"],
        ["autograder", "build", "--check"],
        ["autograder", "publish", published, "--assignment", "small"],
        ["autograder", "publish", published, "--verify"],
    )
    assert (published / "small" / "1_halves.ipynb").is_file()
    assert not (published / "attention").exists(), "an assignment is published when it is named"

    release = nbformat.read(course / "release/small/1_halves.ipynb", as_version=4)
    for cell in release.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        if name == "main":
            cell.source = "def main(x):\n    return x / 2"
        elif name and name.startswith("answer"):
            cell.source = "Two of them make the whole."
    place = course / "grading/submitted/ada/small"
    place.mkdir(parents=True)
    nbformat.write(release, place / "1_halves.ipynb")
    other = tmp_path / "untitled.ipynb"
    nbformat.write(release, other)

    small = ["--assignment", "small"]
    graded, _, grades, _ = run_well(
        run,
        ["autograder", "grade", place / "1_halves.ipynb", other, "--json"],
        ["autograder", "grade", *small],
        [
            "autograder",
            "grades",
            "--unmarked-as-zero",
            *small,
            "--track",
            "graduate",
            "--format",
            "csv",
        ],
        ["autograder", "report", "--write", *small],
    )
    # By its name, and by its cells: both assignments have an exercise called main.
    results = [json.loads(line) for line in graded.splitlines()]
    assert [(r["assignment"], r["score"]) for r in results] == [("small", 3.0)] * 2, results
    assert "ada" in grades and (course / "grading/grades-csv-small.csv").is_file()
    assert (course / "grading/results/small/ada/1_halves.json").is_file()
    assert "Small things" in (course / "grading/report-small.html").read_text("utf-8")

    (course / "grading/gradebook.db").unlink()
    shutil.rmtree(course / "grading/autograded")
    run_well(run, ["nbgrader", "autograde", "small", "--force"])
    graded = course / "grading/autograded/ada/small/1_halves.ipynb"
    assert nbformat.read(graded, 4).metadata["course"]["result"]["score"] == 3.0


def test_a_wrong_solution_does_not_build(course_with_two):
    course, run = course_with_two
    text = course / "notebooks/small/1_halves.py"
    text.write_text(TEXT.replace("return x / 2", "return x / 3"), "utf-8")
    status, _, errors = run("autograder", "build")
    text.write_text(TEXT, "utf-8")
    assert status == 1
    assert "the oracle of main earns 0 of 3 points" in errors
