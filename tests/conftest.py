"""What several tests share: the course, its first notebook, and the two ways to grade."""

import contextlib
import importlib.util
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

from autograder.__main__ import main
from autograder.blueprint import load_blueprint
from autograder.course import load_assignment, load_course
from tests import ending

ROOT = Path(__file__).resolve().parents[1]
os.environ.setdefault("COURSE_ISOLATION", "process")  # tests run wherever they can
FULL = load_assignment("attention", ROOT).find_notebook("1_query_crafting").auto  # notebook 1
PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # nbgrader's tools


def pytest_addoption(parser):
    ending.add_option(parser)


def pytest_configure(config):
    ending.watch(config)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Begin with what is marked `long`, so that both workers have something to do to the end."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.fixture(scope="session", autouse=True)
def shortcuts():
    """What takes seconds and comes out the same every time is done once; see tests/shortcuts.py.

    Yields the canaries that have sung: a test that breaks the judge clears them.
    """
    if (
        importlib.util.find_spec("nbgrader") is None
    ):  # a Python that has the students' package alone
        yield None
        return
    from tests.shortcuts import take_all

    with take_all() as canaries:
        yield canaries


@pytest.fixture(scope="session")
def course():
    return load_course(ROOT)


@pytest.fixture(scope="session")
def assignment():
    """The first assignment, `attention`."""
    return load_assignment("attention", ROOT)


@pytest.fixture(scope="session")
def blueprint(assignment):
    """Notebook 1 as it is handed out."""
    return load_blueprint(assignment, "1_query_crafting")


@pytest.fixture
def course_copy(tmp_path):
    """A copy of the course that a test may break: a folder with everything that is built from."""
    return copy_course(tmp_path / "course")


@pytest.fixture
def small_course_copy(course_copy):
    """A copy of the course with one assignment of one notebook, which is built in no time."""
    keep_one_notebook(course_copy)
    return course_copy


def copy_course(copy):
    copy.mkdir()
    for name in ("notebooks", "source", "release", "course_utils", "autograder"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("course.toml", "nbgrader_config.py", "pyproject.toml"):
        shutil.copy(ROOT / name, copy / name)
    return copy


def keep_one_notebook(copy):
    """Leave `attention` with its first notebook, and no other assignment."""
    for folder in ("notebooks", "source", "release"):
        shutil.rmtree(copy / folder / "attention_at_work")
        for path in (copy / folder / "attention").glob("[23]_*"):
            path.unlink()
    facts = copy / "notebooks/attention/assignment.toml"
    head, first, _ = facts.read_text("utf-8").split("[[notebooks]]\n", 2)
    tail = facts.read_text("utf-8").partition("# What students hand in")[2]
    facts.write_text(f"{head}[[notebooks]]\n{first}# What students hand in{tail}", "utf-8")
    course = copy / "course.toml"
    course.write_text(course.read_text("utf-8").replace("attention_at_work = 1\n", ""), "utf-8")


@pytest.fixture(scope="session")
def published(tmp_path_factory):
    """The students' repository, published by the command that instructors type."""
    folder = tmp_path_factory.mktemp("published") / "attention-course"
    with without_build():
        assert main(["publish", str(folder)]) == 0
    return folder


@contextlib.contextmanager
def without_build():
    """Take for granted that what is built is up to date: other tests see to that, for seconds.

    The course's own course.toml holds the example's address, which is refused elsewhere.
    """
    needed = ("authoring.publish.require_own_address", "authoring.publish.require_built",
              "adapters.gradescope.require_built")  # fmt: skip
    with contextlib.ExitStack() as stack:
        for name in needed:
            stack.enter_context(mock.patch(f"autograder.{name}", lambda course: None))
        yield


def run_autograder(*arguments, cwd=ROOT, **variables):
    """Run a command of the autograder here, where all is imported and a warm process is at hand."""
    return run_here(main, list(map(str, arguments)), cwd, variables)


def run_nbgrader(*arguments, cwd=ROOT, **variables):
    """Run a command of nbgrader here, with an application of its own."""
    from nbgrader.apps.nbgraderapp import NbGraderApp

    def launch(given):
        try:
            return NbGraderApp.launch_instance(argv=given)
        finally:
            for kind in (NbGraderApp, *NbGraderApp.subcommands.values()):
                (kind[0] if isinstance(kind, tuple) else kind).clear_instance()

    return run_here(launch, list(map(str, arguments)), cwd, variables)


def run_here(command, arguments, cwd, variables):
    """Call a command as if in a process of its own; return what that process would leave."""
    from autograder.course import _read_course
    from autograder.grading import canary

    out, error = io.StringIO(), io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        mock.patch.dict(os.environ, {"PATH": PATH} | variables),
    ):
        patch.chdir(cwd)
        patch.setattr(sys, "argv", ["command", *arguments])  # nbgrader_config.py looks at it
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", error)
        canary._proven.clear()  # what a process remembers
        _read_course.cache_clear()
        if "COLUMNS" in variables:  # the terminal's width was read when this process began
            patch.setattr("autograder.terminal.console._width", int(variables["COLUMNS"]))
        try:
            status = command(arguments)
        except SystemExit as end:
            status = end.code
            if isinstance(status, str):  # a last sentence: Python prints it and ends with 1
                print(status, file=error)
                status = 1
    return subprocess.CompletedProcess(
        arguments, int(status or 0), out.getvalue(), error.getvalue()
    )


def run_python(*arguments, cwd=ROOT, **variables):
    """Run Python as a user would: a process of its own."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "PATH": PATH, **variables},
        capture_output=True,
        text=True,
        timeout=540,
    )


def grade(*paths, cwd=ROOT, expect=0):
    """Grade paths with the command `grade` and return its JSON objects."""
    done = run_autograder("grade", *paths, "--json", cwd=cwd)
    assert done.returncode == expect, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]
