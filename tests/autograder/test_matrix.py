"""The matrix: bounds become versions, Pythons are found, and a table never hides a failure."""

import importlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.bench import environments, matrix, public_checks
from autograder.bench.environments import Python
from autograder.course import CourseError
from tests.conftest import ROOT, run_python

OLD, NEW = (Python(ROOT / "python", (3, minor, 1)) for minor in (10, 12))


def test_lowest_means_the_bounds_of_both_pyproject_files():
    lowest = environments.list_requirements(ROOT, NEW, "lowest")
    for name in (*matrix.MOVING, "nbgrader", "jupytext", "jupyterlab"):
        assert any(line.startswith(f"{name}==") for line in lowest), name
    newest = environments.list_requirements(ROOT, NEW, "newest")
    assert any(line.startswith("transformers>=") for line in newest)
    for lines in (lowest, newest):
        assert not any(line.startswith("torch") for line in lines), "torch stays as it is"


def test_a_python_for_students_alone_gets_their_package_alone():
    assert not environments.has_autograder(ROOT, OLD) and environments.has_autograder(ROOT, NEW)
    lines = environments.list_requirements(ROOT, OLD, "lowest")
    assert not any(line.startswith(("nbgrader", "jupyterlab")) for line in lines)


def test_a_requirement_without_a_bound_is_named(tmp_path):
    (tmp_path / "course_utils").mkdir()
    for name in (environments.STUDENTS, environments.INSTRUCTORS):
        shutil.copy(ROOT / name, tmp_path / name)
    path = tmp_path / environments.STUDENTS
    path.write_text(path.read_text("utf-8").replace("datasets>=", "datasets<="), "utf-8")
    with pytest.raises(CourseError, match=r"datasets.* has no lower bound"):
        environments.list_requirements(tmp_path, NEW, "lowest")


def test_pythons_are_found_on_the_path_and_under_pyenv(tmp_path, monkeypatch):
    def make(folder, name, version):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"#!/bin/sh\necho {version}\n", "utf-8")
        (folder / name).chmod(0o755)

    make(tmp_path / "bin", "python3.12", "3 12 1")
    make(tmp_path / "bin", "python3.9", "3 9 9")  # older than what students may use
    make(tmp_path / "bin", "python3.12-config", "3 12 9")
    make(tmp_path / "pyenv/versions/3.12.4/bin", "python3.12", "3 12 4")
    make(tmp_path / "pyenv/versions/3.11.2/bin", "python3.11", "3 11 2")
    (tmp_path / "pyenv/versions/3.11.2/bin/python3.13").write_text("no program", "utf-8")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{tmp_path / 'missing'}:/bin")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    found = {python.name: python.full_name for python in environments.find_pythons(ROOT)}
    assert found["3.12"] == "3.12.4" and "3.11" in found
    assert "3.9" not in found and "3.13" not in found


def test_a_package_that_is_here_is_taken_with_all_it_needs_and_nothing_else(tmp_path):
    environments.link_installed("jinja2", tmp_path)
    assert {path.name for path in tmp_path.iterdir() if not path.name.endswith(".dist-info")} == {
        "jinja2", "markupsafe"
    }  # fmt: skip
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import jinja2, markupsafe\n"
    program += "print(jinja2.__file__, markupsafe.__file__)"
    done = run_python("-I", "-S", "-c", program)
    assert done.returncode == 0 and done.stdout.count(str(tmp_path)) == 2, done.stderr


def test_torch_of_this_environment_is_not_fetched_again(tmp_path, monkeypatch):
    taken = []
    monkeypatch.setattr(environments, "link_installed", lambda *what: taken.append(what))
    monkeypatch.setattr(environments, "_pip", None)
    mine = Python(Path(sys.executable), sys.version_info[:3])
    version = environments.find_pin(ROOT, "torch")
    place = environments.fetch_torch(mine, version, tmp_path)
    assert taken == [("torch", place)]
    with pytest.raises(TypeError):  # another Python's has to be fetched
        environments.fetch_torch(OLD, version, tmp_path)


def make_row(**changes):
    row = {
        "python": "3.12.1", "versions": "lowest", "torch": "2.13.0",
        "installed": dict.fromkeys(matrix.MOVING, "1.0"),
        "checks": {"mistakes": 3, "right": 2, "wrong": []},
        "graded": {"score": 52.0, "max_score": 52.0, "isolation": "walls"},
        "tests": {"passed": 9, "failed": [], "skipped": ["a: reason"]},
    }  # fmt: skip
    return row | changes


def test_a_green_row_is_green():
    assert matrix.is_green(make_row())
    table = matrix.make_table([make_row()])
    assert "✔ 9 passed, 1 skipped | ✔ 5 of 5 | ✔ 52 of 52 points (walls) |" in table
    assert "✘" not in table
    assert matrix.is_green(make_row(graded=None)) and matrix.is_green(make_row(tests=None))


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"problem": "pip refuses: no"}, "pip refuses: no"),
        ({"checks": {"mistakes": 3, "right": 2, "wrong": ["main: refused"]}}, "main: refused"),
        ({"graded": {"score": 50.0, "max_score": 52.0, "isolation": "walls"}}, "✘ 50 of 52"),
        (
            {"tests": {"passed": 9, "failed": ["test_hub::test_a"], "skipped": []}},
            "test_hub::test_a",
        ),
        ({"tests": {"passed": 0, "failed": [], "skipped": []}}, "✘ 0 passed"),
    ],
)
def test_a_row_with_a_failure_is_red_and_says_why(changes, words):
    row = make_row(**changes)
    assert not matrix.is_green(row)
    table = matrix.make_table([row])
    assert words in table and "✘" in table


def test_the_table_goes_between_its_marks_and_nowhere_else(tmp_path):
    page = tmp_path / "matrix.md"
    page.write_text(f"above\n{matrix._BEGIN}\nold\n{matrix._END}\nbelow\n", "utf-8")
    matrix._write_between_marks(page, "new")
    assert page.read_text("utf-8").split() == ["above", *matrix._BEGIN.split(), "new",
                                               *matrix._END.split(), "below"]  # fmt: skip
    page.write_text("no marks", "utf-8")
    with pytest.raises(CourseError, match="no place for the table"):
        matrix._write_between_marks(page, "new")


def test_every_known_mistake_and_right_way_can_be_shown_to_a_public_check():
    """The matrix shows all of them everywhere; here, one of each kind for every exercise."""
    for path, name, exercise in public_checks.list_exercises():
        module = importlib.import_module(f"autograder.exercises.{path}")
        assert module.examine_code(name, exercise.oracle).passed, name
        mistake = exercise.mistakes[0]
        if (name, mistake.diagnosis) not in getattr(module, "HIDDEN_ONLY", ()):
            assert not module.examine_code(name, mistake.code).passed, name


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ("WARNING: odd\nERROR: No matching distribution\nmore", "No matching distribution"),
        (
            "WARNING: odd\n  error: subprocess-exited-with-error",
            "error: subprocess-exited-with-error",
        ),
        ("WARNING: odd\nkilled", "killed"),
        ("WARNING: odd", "no reason given"),
    ],
)
def test_pips_reason_is_not_its_first_warning(told, reason):
    done = subprocess.CompletedProcess([], 1, "", told)
    assert environments._last_words(done) == reason
