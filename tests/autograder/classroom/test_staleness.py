"""Scores that are older than what they were judged by are refused, or marked; others are not."""

import shutil

import pytest
from nbgrader.api import Gradebook

from tests.autograder.classroom.classes import NOTEBOOK, grade_class
from tests.autograder.classroom.test_migration import change, drop, name_of, rename_in_toml
from tests.conftest import FULL, run_autograder, run_nbgrader

CELL = "test_q_average_two"
COMMANDS = (("grades", "--track", "graduate", "--unmarked-as-zero"), ("feedback",), ("report",))


@pytest.fixture
def term(graded, course_copy, tmp_path):
    """A course of one's own, and a graded class in it."""
    return course_copy, shutil.copytree(graded[0], tmp_path / "grading", symlinks=True)


def run(term, *arguments):
    return run_autograder(*arguments, cwd=term[0], COURSE_GRADING=str(term[1]))


def reweigh(root):
    """One exercise is worth four points instead of two, and built."""

    def edit(cell):
        if name_of(cell) == CELL:
            cell.metadata["nbgrader"]["points"] = 4

    change(root, edit)
    rename_in_toml(root, f"auto = {FULL:g}", f"auto = {FULL + 2:g}")


def list_files(folder):
    return {
        path.relative_to(folder): (
            path.read_bytes() if path.is_file() else None,
            path.stat().st_mtime_ns,
        )
        for path in [folder, *folder.rglob("*")]
    }


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_after_an_exercise_was_weighed_anew_nothing_is_summed_until_it_is_judged(term, command):
    assert run(term, *command).returncode == 0
    reweigh(term[0])
    before = list_files(term[1])
    for _ in range(2):
        refused = run(term, *command)
        assert refused.returncode == 1
        assert "out of the old points" in refused.stderr
        assert "python -m autograder regrade;" in refused.stderr and "--stale-ok" in refused.stderr
    assert list_files(term[1]) == before
    allowed = run(term, *command, "--stale-ok")
    assert allowed.returncode == 0, allowed.stderr


def test_what_is_allowed_is_marked_wherever_it_is_shown(term):
    reweigh(term[0])
    mark = f"{CELL} (of 2): out of the old points"
    told = run(
        term,
        "grades",
        "--track",
        "graduate",
        "--unmarked-as-zero",
        "--explain",
        "ada",
        "--stale-ok",
    )
    assert f"{NOTEBOOK}: {mark}" in " ".join(told.stdout.split())
    assert f"out of date: ada: {NOTEBOOK}: {mark}" in run(term, "report", "--stale-ok").stdout
    run(term, "report", "--stale-ok", "--write")
    assert mark in (term[1] / "report.html").read_text("utf-8")
    run(term, "feedback", "--stale-ok")
    page = (term[1] / f"feedback/ada/attention/{NOTEBOOK}.txt").read_text("utf-8")
    assert page.count("(out of the old points)") == 1, page


def test_the_command_that_helps_helps(term):
    reweigh(term[0])
    tried = run(term, "regrade", "--dry-run").stdout
    done = run(term, "regrade").stdout
    counted = "scores of 3 students"
    assert counted in tried and counted in done, tried + done
    told = run(term, *COMMANDS[0], "--explain", "ada")
    assert told.returncode == 0 and f"Sum: {FULL + 2:g} of" in told.stdout


def test_a_test_or_a_question_that_changed_counts_as_well(term):
    change(term[0], lambda cell: setattr(cell, "source", cell.source + "\n# stricter")
           if name_of(cell) == CELL else None)  # fmt: skip
    refused = run(term, "report")
    assert refused.returncode == 1 and "older hand-out or older tests" in refused.stderr


def test_new_work_asks_for_grading_alone(term):
    path = term[1] / "submitted" / "ben" / "attention" / f"{NOTEBOOK}.ipynb"
    path.write_text(path.read_text("utf-8").replace("10 * K[0]", "-10 * K[0]"), "utf-8")
    new = term[1] / "submitted" / "zoe" / "attention"
    shutil.copytree(path.parent, new)
    refused = run(term, "report")
    assert refused.returncode == 1
    assert "ben: what was handed in has changed since" in refused.stderr
    assert "zoe: was handed in and is not graded" in refused.stderr
    assert "python -m autograder grade;" in refused.stderr
    grade_class(term[1])


def test_what_changes_no_score_makes_none_stale(term):
    toml = term[0] / "course.toml"
    due = '[hand_in]\nwhere = "Moodle"\ndue.attention = 2040-03-01T18:00:00Z\n\n[weights]'
    toml.write_text(toml.read_text("utf-8").replace("[weights]", due), "utf-8")
    (term[1] / "submitted/ada/attention/regrade_request.txt").write_text("1.2.3: please\n")
    (term[1] / "submitted/ben/attention/timestamp.txt").write_text("2030-01-02 10:00:00 UTC\n")
    with Gradebook(f"sqlite:///{term[1] / 'gradebook.db'}", "attention-course") as gradebook:
        grade = gradebook.find_grade(CELL, NOTEBOOK, "attention", "ben")
        grade.manual_score, grade.needs_manual_grade = 1, False
        gradebook.db.commit()
    for command in COMMANDS:
        done = run(term, *command)
        assert done.returncode == 0, done.stderr


def test_a_class_of_nbgraders_own_is_refused_only_for_what_can_be_known(term):
    shutil.rmtree(term[1] / "results")
    shutil.rmtree(term[1] / "history")
    assert run(term, "report").returncode == 0
    path = term[1] / "submitted/ada/attention" / f"{NOTEBOOK}.ipynb"
    path.write_text(path.read_text("utf-8").replace("10 * K[0]", "11 * K[0]"), "utf-8")
    assert "ada: what was handed in has changed" in run(term, "report").stderr
    run_nbgrader(
        "autograde",
        "attention",
        "--student=ada",
        "--force",
        cwd=term[0],
        COURSE_GRADING=str(term[1]),
    )
    assert run(term, "report").returncode == 0
    reweigh(term[0])
    refused = run(term, "report")
    assert "ada, ben, chloe, dmitri: out of the old points" in refused.stderr
    (term[0] / "class.csv").write_text("student\nada\nben\nchloe\ndmitri\n")
    done = run(term, "roster", term[0] / "class.csv")
    assert "is worth 4 points" in done.stderr, "the gradebook has followed, and nothing was judged"
    assert "out of the old points" in run(term, "report").stderr


def test_nbgrader_may_grade_after_us(term):
    """A record says nothing about a notebook that nbgrader graded since."""
    reweigh(term[0])
    done = run_nbgrader(
        "autograde", "attention", "--force", cwd=term[0], COURSE_GRADING=str(term[1])
    )
    assert done.returncode == 0, done.stderr
    done = run(term, "report")
    assert done.returncode == 0, done.stderr


def test_work_that_is_gone_is_said_where_nothing_can_judge_it(term):
    shutil.rmtree(term[1] / "submitted" / "ada")
    assert run(term, "report").returncode == 0
    drop(term[0], "answer_1_2_3")
    rename_in_toml(term[0], "manual = 18", "manual = 16")
    run(term, "grade")
    assert run(term, "report").returncode == 0, "her points are those of today"
    reweigh(term[0])
    run(term, "grade")
    refused = run(term, "report")
    assert (
        "ada: out of the old points" in refused.stderr and "work itself is gone" in refused.stderr
    )
