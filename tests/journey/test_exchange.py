"""nbgrader's exchange, tried end to end, and zips and .py files among the collected work."""

import json
import zipfile

import nbformat
import pytest
from nbgrader.api import Gradebook

from autograder.blueprint import load_blueprints
from tests.conftest import ROOT, run_autograder, run_nbgrader
from tests.journey.forms import WRONG, export_py, solve, write

pytestmark = pytest.mark.xdist_group("exchange")

FIRST = "1_query_crafting"
TOTALS = {"1_query_crafting": 10, "2_attention_from_scratch": 18, "3_finetune_roberta": 18}


@pytest.fixture(scope="module")
def collected(course, assignment, solved, tmp_path_factory):
    """Release, list, fetch, solve, submit, list, collect; then two who hand in otherwise."""
    scratch = tmp_path_factory.mktemp("exchange")
    grading, home = scratch / "grading", scratch / "student"
    home.mkdir()
    (scratch / "exchange").mkdir(mode=0o777)
    (scratch / "exchange").chmod(0o777)
    variables = {
        "COURSE_GRADING": str(grading),
        "USER": "ada", "LOGNAME": "ada", "JUPYTER_DATA_DIR": str(scratch / "data"),
    }  # fmt: skip
    config = f"c = get_config()\nc.Exchange.root = {str(scratch / 'exchange')!r}\n"
    (home / "nbgrader_config.py").write_text(
        config + f"c.CourseDirectory.course_id = {course.id!r}\n", "utf-8"
    )
    option = f"--Exchange.root={scratch / 'exchange'}"

    def run(*arguments, cwd=home):
        done = run_nbgrader(*arguments, cwd=cwd, **variables)
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout + done.stderr

    said = [
        run("release_assignment", "attention", option, cwd=ROOT),
        run("list"),
        run("fetch_assignment", "attention"),
    ]
    for name, blueprint in load_blueprints(assignment).items():
        path = home / "attention" / f"{name}.ipynb"
        write(path, solve(nbformat.read(path, as_version=4), blueprint))
    said += [
        run("submit", "attention"),
        run("list", "--inbound"),
        run("collect", "attention", option, cwd=ROOT),
    ]
    (student,) = [path.name for path in (grading / "submitted").iterdir()]
    # One notebook each: the whole of these two ways is graded in test_whole_way.
    zipper, exporter = (
        grading / "submitted" / name / "attention" for name in ("zipper", "exporter")
    )
    zipper.mkdir(parents=True)
    exporter.mkdir(parents=True)
    with zipfile.ZipFile(zipper / "work.zip", "w") as archive:
        archive.write(solved / f"{FIRST}.ipynb", f"work/{FIRST}.ipynb")
    notebook = nbformat.read(solved / f"{FIRST}.ipynb", as_version=4)
    (exporter / f"{FIRST}.py").write_text(export_py(notebook, FIRST), "utf-8")
    said.append(run("autograde", "attention", cwd=ROOT))
    return grading, student, said


def test_list_shows_what_was_released_and_handed_in(collected):
    _, _, said = collected
    assert "attention-course attention" in said[1]
    assert "attention-course" in said[4] and "attention" in said[4]


@pytest.mark.parametrize("way", ["exchange", "zipper", "exporter"])
def test_the_exchange_a_zip_and_a_py_give_the_same_scores(collected, way):
    grading, student, _ = collected
    who = student if way == "exchange" else way
    with Gradebook(f"sqlite:///{grading}/gradebook.db", "attention-course") as gradebook:
        submission = gradebook.find_submission("attention", who)
        scores = {
            notebook.name: {
                one.name: one.auto_score for one in notebook.grades if one.name.startswith("test_")
            }
            for notebook in submission.notebooks
        }
    handed_in = TOTALS if way == "exchange" else {FIRST: TOTALS[FIRST]}
    for name, total in handed_in.items():
        assert sum(scores[name].values()) == total
        assert scores[name][f"test_{WRONG[name]}"] == 0
    path = grading / "autograded" / who / "attention" / f"{FIRST}.ipynb"
    result = nbformat.read(path, as_version=4).metadata["course"]["result"]
    current = json.loads((ROOT / "release" / "attention" / f"{FIRST}.ipynb").read_text("utf-8"))
    expected = "" if way == "exporter" else current["metadata"]["course"]["release"]
    assert result["release"] == expected
    assert any("no outputs" in flag for flag in result["flags"]) == (way == "exporter")


def test_the_class_grader_takes_a_zip_too(collected, solved):
    grading, _, _ = collected
    folder = grading / "submitted" / "packer" / "attention"
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / "work.zip", "w") as archive:
        archive.write(solved / f"{FIRST}.ipynb", f"{FIRST}.ipynb")
    done = run_autograder("grade", "--student", "packer", COURSE_GRADING=str(grading))
    assert done.returncode == 0, done.stderr
    with Gradebook(f"sqlite:///{grading}/gradebook.db", "attention-course") as gradebook:
        grades = gradebook.find_submission_notebook(FIRST, "attention", "packer").grades
        scores = [one.auto_score for one in grades if one.name.startswith("test_")]
    assert sum(scores) == TOTALS[FIRST]
