"""The second assignment goes the whole way: publish, solve, check, submit, grade, Gradescope, grades."""

import json
import shutil

import nbformat
import pytest

from autograder.blueprint import load_blueprints
from autograder.course import load_assignment
from tests.conftest import ROOT, run_autograder, run_python, without_build
from tests.journey.test_whole_way import fill, lay_out, read_results, run_script

pytestmark = [pytest.mark.landing, pytest.mark.xdist_group("attention at work")]
NAME = "attention_at_work"


@pytest.fixture(scope="module")
def work():
    return load_assignment(NAME, ROOT)


@pytest.fixture(scope="module")
def points(work):
    return {plan.name: float(plan.auto) for plan in work.notebooks}


@pytest.fixture(scope="module")
def student(work, tmp_path_factory):
    """A student's folder: the published notebooks, every TODO and every answer filled in."""
    place = tmp_path_factory.mktemp("at-work")
    with without_build():
        done = run_autograder("publish", place / "published", "--assignment", NAME)
    assert done.returncode == 0, done.stdout + done.stderr
    folder = place / "work"
    shutil.copytree(place / "published" / NAME, folder)
    for name, blueprint in load_blueprints(work).items():
        path = folder / f"{name}.ipynb"
        notebook = nbformat.read(path, as_version=4)
        for cell in notebook.cells:
            slot = blueprint.find(cell.metadata.get("nbgrader", {}).get("grade_id", ""))
            if slot and slot.role == "solve":
                cell.source = blueprint.solutions[slot.grade_id]
            elif slot and slot.role == "answer":
                cell.source = f"What I think about {slot.grade_id}."
        path.write_text(nbformat.writes(notebook), "utf-8")
    return folder


@pytest.fixture(scope="module")
def handed_in(student):
    done = run_python("-m", "course_utils", "submit", cwd=student)
    assert done.returncode == 0, done.stderr
    path = student / f"{NAME}-submission-1.zip"
    assert done.stdout.splitlines()[-1] == f"Hand in this file: {path.name}"
    return path


def test_check_is_content(student):
    done = run_python(
        "-m",
        "course_utils",
        "check",
        "1_noise_and_heads.ipynb",
        cwd=student,
        COURSE_PROFILE="quick",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "✘" not in done.stdout and "public checks pass." in done.stdout


@pytest.fixture(scope="module")
def grading(handed_in, tmp_path_factory):
    """A class of one, graded; return its folder, settings and what the command said."""
    folder = tmp_path_factory.mktemp("class") / "grading"
    submitted = folder / "submitted" / "zoe" / NAME
    submitted.mkdir(parents=True)
    shutil.copy(handed_in, submitted)
    settings = {"COURSE_GRADING": str(folder)}
    done = run_autograder("grade", "--assignment", NAME, "--json", **settings)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder, settings, [json.loads(line) for line in done.stdout.splitlines()]


def test_the_zip_is_worth_every_automatic_point(grading, points):
    results = {line["notebook"]: line for line in grading[2] if "score" in line}
    assert {name: result["score"] for name, result in results.items()} == points
    assert {result["assignment"] for result in results.values()} == {NAME}


def test_gradescope_agrees(handed_in, points, work, tmp_path):
    root = lay_out(tmp_path / "autograder", "--assignment", NAME)
    fill(root, handed_in)
    run_script("run_autograder", root)
    results = read_results(root)
    assert results["score"] == sum(points.values())
    titles = {test["name"].partition(":")[0] for test in results["tests"]}
    assert {plan.title for plan in work.notebooks} <= titles


def test_grades_and_report_hold_it(grading, points, tmp_path):
    folder, settings, _ = grading
    roster = tmp_path / "class.csv"
    roster.write_text("student,name,track\nzoe,Zoe Example,graduate\n", "utf-8")
    for command in (
        ("roster", roster, "--assignment", NAME),
        ("report", "--write", "--assignment", NAME),
    ):
        done = run_autograder(*command, **settings)
        assert done.returncode == 0, (command, done.stdout + done.stderr)
    done = run_autograder("grades", "--assignment", NAME, "--explain", "zoe", **settings)
    assert f"{sum(points.values()):g}" in done.stdout, done.stdout + done.stderr
    assert "1_noise_and_heads" in next(folder.glob("report*.html")).read_text("utf-8")
