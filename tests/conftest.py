"""What several tests share: the course, its first notebook, and the two ways to grade."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.blueprint import load_blueprint
from autograder.course import load_course

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def course():
    return load_course(ROOT)


@pytest.fixture(scope="session")
def blueprint(course):
    """Notebook 1 as it is handed out."""
    return load_blueprint(course.root, course.assignment, "1_query_crafting")


@pytest.fixture
def course_copy(tmp_path):
    """A copy of the course that a test may break: a folder with everything that is built from."""
    copy = tmp_path / "course"
    copy.mkdir()
    for name in ("notebooks", "source", "release", "course_utils", "autograder"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("course.toml", "nbgrader_config.py", "pyproject.toml"):
        shutil.copy(ROOT / name, copy / name)
    return copy


def run_autograder(*arguments, cwd=ROOT, **variables):
    """Run `python -m autograder ...` as a user would; return the finished process."""
    return run_python("-m", "autograder", *arguments, cwd=cwd, **variables)


def run_nbgrader(*arguments, cwd=ROOT, **variables):
    """Run `nbgrader ...` as a user would; return the finished process."""
    return run_python("-m", "nbgrader", *arguments, cwd=cwd, **variables)


def run_python(*arguments, cwd, **variables):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "PATH": path, **variables},
        capture_output=True,
        text=True,
        timeout=540,
    )


def grade(*paths, cwd=ROOT, expect=0):
    """Grade paths with the command line and return its JSON objects."""
    done = run_autograder("grade", *paths, "--json", cwd=cwd)
    assert done.returncode == expect, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]
