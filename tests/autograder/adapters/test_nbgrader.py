"""`nbgrader autograde`, typed as instructors type it, gives the scores that `grade` gives."""

import json
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from unittest import mock

import nbformat
import pytest
from nbgrader.api import Gradebook

from autograder.blueprint import load_blueprint, load_blueprints
from autograder.course import load_assignment, load_course
from autograder.demo.personas import fill_in, hand_in, make_class, solve_all
from autograder.grading.kept_outputs import NOTE
from tests.conftest import FULL, ROOT, grade, run_autograder, run_nbgrader

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("nbgrader")]

# All right, partly done, a wrong formula, a query too short, nothing done, repaired: the demo has more.
SOME = ("ada", "ben", "dmitri", "fatima", "hana", "kofi")


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """A class that has gone through autograde and feedback, in a grading folder of its own."""
    folder = tmp_path_factory.mktemp("grading")
    blueprint = load_blueprint(load_assignment("attention", ROOT), "1_query_crafting")
    for persona in make_class([blueprint]):
        if persona.name in SOME:
            hand_in(persona, [blueprint], folder / "submitted")
    for name, content in (("zoe", b'{"cells": ['), ("yan", b"")):  # unreadable files
        place = folder / "submitted" / name / "attention"
        place.mkdir(parents=True)
        (place / f"{blueprint.name}.ipynb").write_bytes(content)
    (folder / "submitted" / "xia" / "attention" / f"{blueprint.name}.ipynb").mkdir(parents=True)
    _hand_in_training(folder / "submitted" / "uma" / "attention")
    _hand_in_a_link(folder / "submitted" / "wim" / "attention", blueprint)
    done = run_nbgrader("autograde", "attention", COURSE_GRADING=str(folder))
    assert done.returncode == 0, done.stderr[-3000:]
    feedback = run_nbgrader("generate_feedback", "attention", COURSE_GRADING=str(folder))
    assert feedback.returncode == 0, feedback.stderr[-3000:]
    return folder, done.stderr


def _hand_in_training(place):
    """Hand in notebook 2 with outputs of a training that nobody would want to run again."""
    blueprint = load_blueprint(load_assignment("attention", ROOT), "2_attention_from_scratch")
    notebook = fill_in(blueprint, solve_all(blueprint))
    trained = nbformat.v4.new_output("stream", name="stdout", text="loss 5.80 after an hour\n")
    for cell in notebook.cells:
        if cell.cell_type == "code":  # of all these, only those of 2.2 may survive
            cell.outputs = [trained]
    place.mkdir(parents=True)
    (place / f"{blueprint.name}.ipynb").write_text(nbformat.writes(notebook), "utf-8")


def _hand_in_a_link(place, blueprint):
    """Hand in a link to the course's secret, and a cell that reads it."""
    place.mkdir(parents=True)
    (place / "notes.txt").write_text("my own notes")
    secret = place.parents[2] / "secret"
    secret.write_text("5ec2e7" * 10)
    (place / "link.txt").symlink_to(secret)
    peep = "print(open('notes.txt').read())\nprint('LOOT', open('link.txt').read())"
    notebook = fill_in(blueprint, solve_all(blueprint) | {"q_select_first": peep})
    (place / f"{blueprint.name}.ipynb").write_text(nbformat.writes(notebook), "utf-8")


def read_scores(folder):
    """Return student -> grade id -> automatic score, from nbgrader's own gradebook."""
    with Gradebook(f"sqlite:///{folder}/gradebook.db", "attention-course") as gradebook:
        return {
            submission.student.id: {
                grade.name: grade.auto_score
                for notebook in submission.notebooks
                for grade in notebook.grades
            }
            for submission in gradebook.assignment_submissions("attention")
        }


def test_both_ways_of_grading_give_the_same_scores(graded):
    folder, _ = graded
    by_nbgrader = read_scores(folder)
    assert set(SOME) < set(by_nbgrader)
    some = ["dmitri", "kofi", "uma"]
    results = grade(*(folder / "submitted" / name / "attention" for name in some))
    assert len(results) == len(some) * len(load_assignment("attention", ROOT).notebooks)
    for result in results:  # notebooks that were not handed in included
        name = Path(result["submission"]).parent.name
        by_command = {
            grade_id: cell["score"]
            for grade_id, cell in result["cells"].items()
            if cell["status"] != "manual"
        }
        assert by_command == {key: by_nbgrader[name][key] for key in by_command}, name


def test_the_class_scores_what_it_should(graded):
    totals = {
        name: sum(score for key, score in scores.items() if key.startswith("test_"))
        for name, scores in read_scores(graded[0]).items()
    }
    assert totals == {
        "ada": 12, "ben": 4, "dmitri": 10, "fatima": 10, "hana": 0, "kofi": 12,
        "uma": 20, "wim": 10, "xia": 0, "yan": 0, "zoe": 0,
    }  # fmt: skip


def test_training_keeps_its_outputs_and_the_rest_is_run_again(graded):
    path = graded[0] / "autograded/uma/attention/2_attention_from_scratch.ipynb"
    cells = nbformat.read(path, as_version=4).cells
    kept = [cell for cell in cells if "loss 5.80" in str(cell.get("outputs"))]
    assert any("history = train(" in cell.source for cell in kept)
    for cell in kept:
        assert cell.metadata["course"]["keep"] == "outputs"
        assert cell.outputs[0].text.startswith(NOTE)
    page = (graded[0] / "feedback/uma/attention/2_attention_from_scratch.html").read_text("utf-8")
    assert "loss 5.80 after an hour" in page


def test_a_link_leads_nowhere_and_files_are_there(graded):
    path = graded[0] / "autograded/wim/attention/1_query_crafting.ipynb"
    notebook = nbformat.read(path, as_version=4)
    shown = str([cell.get("outputs") for cell in notebook.cells])
    assert "my own notes" in shown and "5ec2e7" not in shown
    assert any("link.txt" in flag for flag in notebook.metadata["course"]["result"]["flags"])


def test_untouched_answers_get_zero_and_written_ones_wait_for_a_person(graded):
    scores = read_scores(graded[0])
    assert scores["hana"]["answer_1_2_3"] == 0
    assert scores["ada"]["answer_1_2_3"] is None


def test_unreadable_files_get_a_sentence_and_stop_nobody(graded):
    folder, log = graded
    assert "1_query_crafting.ipynb is not a notebook: it is not valid JSON" in log
    assert "1_query_crafting.ipynb is empty" in log
    assert "1_query_crafting.ipynb is a folder, not a notebook file" in log
    assert "Traceback" not in log
    page = (folder / "feedback/zoe/attention/1_query_crafting.html").read_text("utf-8")
    assert "is not valid JSON" in page


def test_feedback_explains_and_shows_no_hidden_test(graded):
    pages = sorted((graded[0] / "feedback").glob("*/attention/*.html"))
    assert len(pages) >= len(SOME)
    for page in pages:
        text = page.read_text("utf-8")
        for secret in ("HIDDEN TESTS", "grade_here", "autograder.exercises", "MARK SCHEME"):
            assert secret not in text, page
    text = (graded[0] / "feedback/fatima/attention/1_query_crafting.html").read_text("utf-8")
    assert "no key of length 1 can do this" in text and "0 of 2 points" in text


def test_the_autograded_notebook_carries_its_result(graded):
    path = graded[0] / "autograded/kofi/attention/1_query_crafting.ipynb"
    result = nbformat.read(path, as_version=4).metadata["course"]["result"]
    assert result["score"] == FULL and result["repairs"] and result["isolation"]
    assert json.dumps(result, allow_nan=False)


def test_a_submitted_result_is_not_believed(graded, blueprint, tmp_path):
    notebook = fill_in(blueprint, {})
    notebook.metadata["course"] = {"result": {"score": 12}, "trouble": None, "repairs": ["none"]}
    place = tmp_path / "submitted" / "mallory" / "attention"
    place.mkdir(parents=True)
    (place / f"{blueprint.name}.ipynb").write_text(nbformat.writes(notebook), "utf-8")
    done = run_nbgrader("autograde", "attention", COURSE_GRADING=str(tmp_path))
    assert done.returncode == 0, done.stderr
    path = tmp_path / "autograded/mallory/attention" / f"{blueprint.name}.ipynb"
    assert nbformat.read(path, as_version=4).metadata["course"]["result"]["score"] == 0


def test_what_the_instructors_own_run_wrote_reaches_no_student(small_course_copy, blueprint):
    """The source was run where it lies: its weights and predictions are there, beside it."""
    course = small_course_copy
    for name in ("checkpoints/best.pt", "runs/log", "test_predictions.csv"):
        path = course / "source/attention" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("the instructor's")
    submitted = course / "grading/submitted"
    hand_in(make_class([blueprint])[0], [blueprint], submitted)
    (submitted / "ada/attention/test_predictions.csv").write_text("her own")
    graded = course / "grading/autograded/ada/attention"
    for run, command in (
        (run_autograder, ["grade"]),
        (run_nbgrader, ["autograde", "attention", "--force"]),
    ):
        done = run(*command, cwd=course)
        assert done.returncode == 0, done.stderr
        found = {path.name for path in graded.iterdir()}
        assert found == {f"{blueprint.name}.ipynb", "test_predictions.csv"}, command
        assert (graded / "test_predictions.csv").read_text() == "her own", command


# -------------------------------------------------------------------- broken hooks, stock nbgrader

BROKEN_CONFIGS = {
    "stock execution": (
        "autograder.adapters.nbgrader_plugin.JudgedExecute",
        "nbgrader.preprocessors.Execute",
    ),
    "no execution": ('    "autograder.adapters.nbgrader_plugin.JudgedExecute",\n', ""),
}


@pytest.mark.parametrize("name", BROKEN_CONFIGS)
def test_with_the_hook_broken_on_purpose_grading_refuses(course_copy, blueprint, name):
    config = course_copy / "nbgrader_config.py"
    old, new = BROKEN_CONFIGS[name]
    assert old in config.read_text("utf-8")
    config.write_text(config.read_text("utf-8").replace(old, new), "utf-8")
    folder = course_copy / "grading" / "submitted"
    hand_in(make_class([blueprint])[0], [blueprint], folder)
    done = run_nbgrader("autograde", "attention", cwd=course_copy)
    assert done.returncode != 0
    assert "canary" in done.stderr.lower() and "nothing was graded" in done.stderr
    assert not (course_copy / "grading" / "autograded" / "ada").exists() or not list(
        (course_copy / "grading" / "autograded" / "ada").rglob("*.ipynb")
    )
    scores = read_scores(course_copy / "grading").get("ada", {})
    handed_in = {name: score for name, score in scores.items() if blueprint.find(name)}
    assert all(score is None for name, score in handed_in.items() if name.startswith("test_"))


def make_stock_course(folder, assignment):
    """A course with a plain config, none of our hooks, and the release that stock nbgrader makes of our source."""
    (folder / "nbgrader_config.py").write_text(
        "c = get_config()\n"
        "c.CourseDirectory.course_id = 'plain'\n"
        f"c.CourseDirectory.root = {str(folder)!r}\n"
        "c.Execute.timeout = 400\n"
        "c.IncludeHeaderFooter.enabled = False\n",
        "utf-8",
    )
    shutil.copytree(assignment.source, folder / "source" / assignment.name)
    done = run_nbgrader("generate_assignment", assignment.name, cwd=folder)
    assert done.returncode == 0, done.stderr


def hand_in_to_stock(folder, assignment, name, notebook, codes):
    """Fill a release in and hand it in under a name."""
    release = folder / "release" / assignment.name / f"{notebook}.ipynb"
    filled = nbformat.read(release, as_version=4)
    assert "BEGIN SOLUTION" not in release.read_text("utf-8")
    for cell in filled.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") in codes:
            cell.source = codes[cell.metadata.nbgrader.grade_id]
    place = folder / "submitted" / name / assignment.name
    place.mkdir(parents=True, exist_ok=True)
    nbformat.write(filled, place / f"{notebook}.ipynb")


def autograde_by_stock(folder, assignment):
    """Return student -> notebook -> points."""
    done = run_nbgrader("autograde", assignment.name, cwd=folder)
    assert done.returncode == 0, done.stderr
    with Gradebook(f"sqlite:///{folder}/gradebook.db", "plain") as gradebook:
        return {
            submission.student.id: {
                notebook.name: sum(grade.auto_score or 0 for grade in notebook.grades)
                for notebook in submission.notebooks
            }
            for submission in gradebook.assignment_submissions(assignment.name)
        }


def test_stock_nbgrader_grades_the_same_source(tmp_path, blueprint, assignment):
    make_stock_course(tmp_path, assignment)
    right = solve_all(blueprint)
    wrong = right | {"q_select_first": "q_select_first = -10 * K[0]"}
    for name, codes in (("right", right), ("wrong", wrong)):
        hand_in_to_stock(tmp_path, assignment, name, blueprint.name, codes)
    points = autograde_by_stock(tmp_path, assignment)
    assert points["right"][blueprint.name] == FULL
    assert points["wrong"][blueprint.name] == FULL - 2


@pytest.mark.soak
@pytest.mark.parametrize("assignment", load_course(ROOT).assignments.values(), ids=lambda a: a.name)
def test_stock_nbgrader_gives_right_solutions_of_every_notebook_full_marks(
    tmp_path, assignment, monkeypatch
):
    monkeypatch.setenv("COURSE_PROFILE", "quick")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    make_stock_course(tmp_path, assignment)
    for blueprint in load_blueprints(assignment).values():
        hand_in_to_stock(tmp_path, assignment, "right", blueprint.name, solve_all(blueprint))
    full = {plan.name: plan.auto for plan in assignment.notebooks}
    assert autograde_by_stock(tmp_path, assignment)["right"] == full


# --------------------------------------------------------------------------------- fail closed


def test_nothing_of_a_students_is_touched_while_the_configuration_is_read(
    assignment, tmp_path, monkeypatch
):
    from autograder.authoring.build import load_nbgrader_config

    place = tmp_path / "submitted" / "mallory" / "attention"
    place.mkdir(parents=True)
    (place / "work.zip").write_bytes(b"not a zip")
    monkeypatch.setenv("COURSE_GRADING", str(tmp_path))
    monkeypatch.setattr("sys.argv", ["nbgrader", "autograde", "attention"])
    load_nbgrader_config(assignment)
    assert [path.name for path in place.iterdir()] == ["work.zip"]


@pytest.mark.parametrize("where", ["reading", "settling"])
def test_without_our_settings_nbgrader_stops_with_a_sentence(tmp_path, monkeypatch, where):
    """Whatever is wrong with ours, nobody is graded by stock nbgrader in its place."""
    if where == "reading":
        (tmp_path / "grading").write_text("a file where the folder belongs")
        grading = tmp_path / "grading" / "inner"
    else:
        grading = tmp_path
        (tmp_path / "submitted" / "ada" / "attention").mkdir(parents=True)
        monkeypatch.setattr("autograder.intake.arrivals.settle_all", lambda *_: 1 / 0)
    done = run_nbgrader("autograde", "attention", COURSE_GRADING=str(grading))
    assert done.returncode != 0
    assert "Nothing was graded" in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "autograded").exists()


def test_a_file_that_nobody_can_read_stops_neither_settings_nor_class(tmp_path, blueprint):
    submitted = tmp_path / "submitted"
    for name, text in (
        ("mallory", "# %%\n" + "-" * 9000 + "1"),
        ("trudy", "# %%\nq_select_first=1"),
    ):
        place = submitted / name / "attention"
        place.mkdir(parents=True)
        (place / f"{blueprint.name}.py").write_text(text)
    hand_in(make_class([blueprint])[0], [blueprint], submitted)
    done = run_nbgrader("autograde", "attention", COURSE_GRADING=str(tmp_path))
    assert done.returncode == 0, done.stderr
    graded = tmp_path / "autograded"
    scores = {
        path.parent.parent.name: nbformat.read(path, 4).metadata["course"]["result"]["score"]
        for path in graded.glob(f"*/attention/{blueprint.name}.ipynb")
    }
    assert scores == {"ada": FULL, "mallory": 0, "trudy": 0}


def test_warnings_of_libraries_stay_out_of_the_terminal(tmp_path, blueprint):
    """SQLAlchemy warns of how nbgrader records a student's first submission."""
    place = tmp_path / "submitted" / "ada" / "attention"
    place.mkdir(parents=True)
    (place / f"{blueprint.name}.ipynb").write_text(nbformat.writes(fill_in(blueprint, {})))
    with warnings.catch_warnings(record=True) as caught, mock.patch.object(sys, "warnoptions", []):
        warnings.simplefilter("always")
        done = run_nbgrader("autograde", "attention", COURSE_GRADING=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert [str(one.message) for one in caught if "nbgrader" in one.filename] == []


def test_an_export_of_all_marks_lands_where_git_does_not_look(graded, course_copy, tmp_path):
    """`nbgrader export` would write grades.csv into the course's root; git ignores tables there, too."""
    folder = shutil.copytree(graded[0], tmp_path / "grading", symlinks=True)
    done = run_nbgrader("export", cwd=course_copy, COURSE_GRADING=str(folder))
    assert done.returncode == 0, done.stderr
    assert "ada" in (folder / "grades.csv").read_text("utf-8")
    assert not list(course_copy.glob("*.csv"))
    for name in ("grades.csv", "mine.csv", "downloaded/attention/archive/x.zip"):
        told = subprocess.run(["git", "check-ignore", name], cwd=ROOT, capture_output=True)
        assert told.returncode == 0, name
