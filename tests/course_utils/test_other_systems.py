"""The students' package imports, checks and hands in without what only POSIX has."""

import re
import shutil
import zipfile

import nbformat
import pytest

from tests.conftest import ROOT
from tests.elsewhere import run_elsewhere


@pytest.fixture
def elsewhere(tmp_path_factory):
    scratch = tmp_path_factory.mktemp("elsewhere")
    return lambda *arguments, **named: run_elsewhere(scratch, *arguments, **named)


def test_the_block_blocks(elsewhere, tmp_path):
    """Or the tests below would prove nothing."""
    (tmp_path / "course_utils_like.py").write_text("import fcntl", "utf-8")
    program = "import os; print(hasattr(os, 'fork')); import course_utils_like"
    done = elsewhere("-c", program, cwd=tmp_path)
    assert done.stdout == "False\n"
    assert "no module named fcntl on this system" in done.stderr


IMPORT_ALL_AND_CHECK = """
import importlib, pkgutil, course_utils
names = [module.name for module in pkgutil.walk_packages(course_utils.__path__, "course_utils.")]
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)

from autograder.bench.public_checks import list_exercises
exercises = list(list_exercises())
for path, name, exercise in exercises:
    module = importlib.import_module(f"autograder.exercises.{path}")
    finding = module.examine_code(name, exercise.oracle)
    assert finding.passed, (name, finding)
print(len(names), len(exercises))
"""


def test_every_module_can_be_imported_and_every_public_check_runs(elsewhere):
    done = elsewhere("-c", IMPORT_ALL_AND_CHECK)
    assert done.returncode == 0, done.stderr
    modules, checks = map(int, done.stdout.splitlines()[-1].split())
    assert modules > 30 and checks > 20


def test_a_student_checks_and_hands_in(elsewhere, tmp_path):
    for path in (ROOT / "release" / "attention").glob("*.ipynb"):
        shutil.copy(path, tmp_path)
    name = "1_query_crafting.ipynb"
    notebook = nbformat.read(tmp_path / name, as_version=4)
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "q_select_first":
            cell.source = "q_select_first = [4.7, 6.5, 6.0]"
    nbformat.write(notebook, tmp_path / name)
    done = elsewhere("-m", "course_utils", "check", name, cwd=tmp_path)
    assert "✔ q_select_first: public check passed" in done.stdout, done.stderr
    assert re.search(r"1 of \d+ public checks pass", done.stdout)
    done = elsewhere("-m", "course_utils", "submit", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    [made] = tmp_path.glob("*.zip")
    with zipfile.ZipFile(made) as archive:
        assert {name, "manifest.json"} <= set(archive.namelist())
