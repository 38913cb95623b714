"""Grading a class: what is written, what is skipped, and what happens when things go wrong."""

import contextlib
import fcntl
import json
import os
import random
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time
import zipfile
from dataclasses import replace

import nbformat
import pytest
from nbgrader.api import Gradebook

from autograder.__main__ import main
from autograder.blueprint import load_blueprints
from autograder.classroom import records
from autograder.course import CourseError, load_assignment
from autograder.exercises import Ruling, find_exercises
from autograder.grading.judges import Question
from autograder.kernel import nursery
from course_utils.checks.findings import Finding
from tests.autograder.classroom.classes import (
    NOTEBOOK,
    grade_class,
    kill,
    make_submissions,
    read_gradebook,
    read_graded,
    start_grading,
    wait_for,
)
from tests.conftest import FULL, ROOT, run_autograder, run_nbgrader

NOTEBOOKS = len(load_assignment("attention", ROOT).notebooks)


def copy_class(graded, tmp_path):
    return shutil.copytree(graded[0], tmp_path / "copy", symlinks=True)


# ----------------------------------------------------------------------- what is written


def test_the_class_is_graded_and_summed_up(graded):
    _, results, summary = graded
    assert (
        summary["graded"] == 4
        and summary["missing"] == 4 * (NOTEBOOKS - 1)
        and not summary["problems"]
    )
    scores = {found["student"]: found["score"] for found in results}
    assert scores == {"ada": FULL, "ben": FULL - 8, "chloe": FULL, "dmitri": FULL - 2}
    assert all(found["max_score"] == FULL and found["isolation"] for found in results)


def test_gradebook_and_files_are_those_of_nbgrader_autograde(graded, tmp_path):
    folder = graded[0]
    for name in ("submitted", "secret"):
        source = folder / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / name)
    done = run_nbgrader("autograde", "attention", COURSE_GRADING=str(tmp_path))
    assert done.returncode == 0, done.stderr[-3000:]
    ours, theirs = read_gradebook(folder), read_gradebook(tmp_path)
    for table, rows in theirs.items():
        assert ours[table] == rows, table
    assert read_graded(folder) == read_graded(tmp_path)
    for path in (tmp_path / "autograded").rglob("*"):
        twin = folder / path.relative_to(tmp_path)
        assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(twin.stat().st_mode), path


def test_feedback_and_exports_see_the_marks(graded, tmp_path):
    folder = copy_class(graded, tmp_path)
    done = run_nbgrader(
        "generate_feedback", "attention", "--student=dmitri", COURSE_GRADING=str(folder)
    )
    assert done.returncode == 0, done.stderr[-3000:]
    page = (folder / "feedback/dmitri/attention" / f"{NOTEBOOK}.html").read_text("utf-8")
    assert "0 of 2 points" in page and "flip the sign of this query" in page
    done = run_nbgrader("export", f"--to={tmp_path / 'out.csv'}", COURSE_GRADING=str(folder))
    assert done.returncode == 0, done.stderr[-3000:]
    assert ",10.0," in (tmp_path / "out.csv").read_text("utf-8")


# --------------------------------------------------------------------- what is graded again


def test_only_what_changed_is_graded_again(graded, tmp_path):
    folder = copy_class(graded, tmp_path)
    results, summary = grade_class(folder)
    assert results == [] and summary["unchanged"] == 4 * NOTEBOOKS and summary["graded"] == 0
    path = folder / "submitted/ben/attention" / f"{NOTEBOOK}.ipynb"
    path.write_text(path.read_text("utf-8").replace("10 * K[0]", "-10 * K[0]"), "utf-8")
    results, summary = grade_class(folder)
    assert [(found["student"], found["score"]) for found in results] == [("ben", 2)]
    assert summary["graded"] == 1 and summary["unchanged"] >= 9
    results, _ = grade_class(folder, force=True, students=["ada", "chloe"])
    assert {found["student"] for found in results} == {"ada", "chloe"}


@pytest.mark.parametrize("loss", ["the gradebook", "a graded notebook", "a record"])
def test_what_was_lost_is_graded_again(graded, tmp_path, loss):
    folder = copy_class(graded, tmp_path)
    before = read_gradebook(folder)
    paths = {
        "the gradebook": "gradebook.db",
        "a graded notebook": f"autograded/ada/attention/{NOTEBOOK}.ipynb",
        "a record": f"results/attention/ada/{NOTEBOOK}.json",
    }
    (folder / paths[loss]).unlink()
    _, summary = grade_class(folder, students=["ada"], notebooks=[NOTEBOOK])
    assert summary["graded"] == 1
    after = read_gradebook(folder)
    ada = [row for row in before["grades"] if row[:2] == ("ada", NOTEBOOK)]
    assert [row for row in after["grades"] if row[:2] == ("ada", NOTEBOOK)] == ada


def test_records_of_a_course_of_one_assignment_are_moved_once_and_still_count(
    graded, tmp_path, capsys
):
    folder = copy_class(graded, tmp_path)
    before = {path.name: path.read_bytes() for path in folder.glob("results/attention/ada/*")}
    for path in list((folder / "results" / "attention").iterdir()):
        path.rename(folder / "results" / path.name)
    other = folder / "results" / "ada" / "some_other_notebook.json"
    other.write_text("{}")
    _, summary = grade_class(folder)
    assert summary["unchanged"] == 4 * NOTEBOOKS and summary["graded"] == 0
    assert f"{4 * NOTEBOOKS} records of earlier grading now lie in" in capsys.readouterr().err
    moved = folder / "results" / "attention"
    assert {path.name: path.read_bytes() for path in moved.glob("ada/*")} == before
    assert other.is_file() and not (folder / "results" / "ben").exists()
    grade_class(folder)
    assert "records" not in capsys.readouterr().err, "said once"


def add_to_module(monkeypatch, name, text):
    """Let a module of the judge read as if this stood at its end."""
    real = records.read_modules
    monkeypatch.setattr(
        records,
        "read_modules",
        lambda blueprint: {n: code + text * (n == name) for n, code in real(blueprint).items()},
    )


def test_rules_are_fingerprinted_by_notebook(assignment, monkeypatch):
    blueprints = load_blueprints(assignment)
    before = {name: records.fingerprint_rules(assignment, b) for name, b in blueprints.items()}
    name = "autograder.exercises.attention.attention_from_scratch"
    add_to_module(monkeypatch, name, b"# fixed\n")
    after = {name: records.fingerprint_rules(assignment, b) for name, b in blueprints.items()}
    assert [name for name in before if before[name] != after[name]] == ["2_attention_from_scratch"]


def test_the_command_line_grades_and_names_mistakes(graded, tmp_path, monkeypatch, capsys):
    folder = copy_class(graded, tmp_path)
    monkeypatch.setenv("COURSE_GRADING", str(folder))
    monkeypatch.chdir(ROOT)
    options = ("--force", "--student", "ada", "ben", "--notebook", NOTEBOOK)
    done = run_autograder("grade", "--json", *options, COURSE_GRADING=str(folder))
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert {line["student"]: line["score"] for line in lines[:-1]} == {"ada": FULL, "ben": FULL - 8}
    assert lines[-1]["summary"]["graded"] == 2
    for arguments, words in (
        (("--student", "adda"), "Did you mean ada?"),
        (("--notebook", "7"), "There is no notebook '7'"),
        (("some.ipynb", "--force"), "leave the paths out"),
    ):
        assert main(["grade", *arguments]) == 1
        assert words in capsys.readouterr().err


def test_an_empty_class_gets_a_sentence(tmp_path):
    with pytest.raises(CourseError, match="nothing to grade"):
        grade_class(tmp_path)


# -------------------------------------------------------------------- a test that was wrong


def test_after_a_fixed_test_the_changes_are_listed_and_hand_marks_stay(
    tmp_path, monkeypatch, capsys
):
    make_submissions(tmp_path, 4)
    name = "autograder.exercises.attention.query_crafting"
    with monkeypatch.context() as wrong:
        strict = Ruling(0.0, Finding(False, "not what I had in mind.", "wrong-test"))
        exercises = find_exercises("attention.query_crafting")
        exercise = replace(exercises["q_select_first"], rule=lambda *_: strict)
        wrong.setitem(exercises, "q_select_first", exercise)
        wrong.setattr("autograder.grading.grade.judge_reply", Question.decide)  # here
        add_to_module(wrong, name, b"# wrong")
        grade_class(tmp_path)
    with Gradebook(f"sqlite:///{tmp_path / 'gradebook.db'}", "attention-course") as gradebook:
        for student, cell, score in (("ada", "answer_1_2_3", 2), ("ben", "test_q_select_first", 1)):
            grade = gradebook.find_grade(cell, NOTEBOOK, "attention", student)
            grade.manual_score, grade.needs_manual_grade = score, False
        gradebook.db.commit()
    monkeypatch.setenv("COURSE_GRADING", str(tmp_path))
    monkeypatch.chdir(ROOT)
    before = read_gradebook(tmp_path)
    assert main(["regrade", "--dry-run"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "3 scores of 3 students would change; nothing was written" in out
    assert read_gradebook(tmp_path) == before
    assert main(["regrade", "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    changes = [line["changed"] for line in lines if "changed" in line]
    told = [(c["student"], c["cell"], c["before"], c["after"], c["hand_mark"]) for c in changes]
    cell = "test_q_select_first"
    assert told == [("ada", cell, 0, 2, None), ("ben", cell, 0, 2, 1), ("chloe", cell, 0, 2, None)]
    assert all("before: q_select_first: not what I had in mind. Now: " in c["why"] for c in changes)
    marks = {(row[0], row[2]): row[3:] for row in read_gradebook(tmp_path)["grades"]}
    assert marks["ada", "answer_1_2_3"] == (None, 2.0, None, 0)  # and needs no second reading
    assert marks["ben", "test_q_select_first"] == (2.0, 1.0, None, 1)  # this one does
    assert main(["regrade"]) == 0
    assert "No score changed." in capsys.readouterr().out, "each change is listed once"
    assert main(["history", "ben"]) == 0
    out = capsys.readouterr().out
    assert "graded for the first time" in out
    assert "test_q_select_first 0 -> 2" in out and "ben: 1_query_crafting" in out


# ------------------------------------------------------------------------------ stopping it


def test_killed_at_random_it_ends_up_the_same(graded, tmp_path):
    kill_and_compare(graded[0], tmp_path / "killed", kills=2, longest=9)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_fifty_kills_over_thirty_students(tmp_path):
    calm = tmp_path / "calm"
    make_submissions(calm, 30)
    grade_class(calm)
    kill_and_compare(calm, tmp_path / "killed", kills=50, longest=15)


def kill_and_compare(calm, folder, kills, longest):
    """Grade the same class, killing it again and again; the end must be that of a calm run."""
    rng = random.Random(5)
    folder.mkdir()
    for name in ("submitted", "secret"):
        source = calm / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)
    for number in range(kills):
        process = start_grading(folder)
        if number % 2:  # in the middle of things: just when something has been written
            done = len(list(folder.glob("results/*/*/*.json")))
            wait_for(
                lambda done=done, process=process: (
                    process.poll() is not None
                    or len(list(folder.glob("results/*/*/*.json"))) > done
                )
            )
            time.sleep(rng.uniform(0, 0.3))
        else:
            time.sleep(rng.uniform(0.5, longest))
        kill(process)
        if number % 10 == 9:  # all but done: begin anew, so that there is something to kill
            shutil.rmtree(folder / "results")
        for path in folder.glob("autograded/*/*/*.ipynb"):
            nbformat.read(path, as_version=4)  # whole, whatever happened
    _, summary = grade_class(folder)
    assert not summary["problems"]
    assert read_gradebook(folder) == read_gradebook(calm)
    assert read_graded(folder) == read_graded(calm)
    assert not list(folder.rglob("*.new"))
    _, summary = grade_class(folder)
    assert summary["graded"] == summary["missing"] == 0


def test_two_runs_at_once_do_not_mix(graded, tmp_path):
    folder = copy_class(graded, tmp_path)
    with open(folder / ".lock", "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(CourseError, match="Another run is grading"):
            grade_class(folder)


# ------------------------------------------------------------------------------ trouble


@pytest.mark.landing
def test_a_locked_gradebook_costs_a_sentence_and_one_locked_for_a_while_nothing(graded, tmp_path):
    folder = copy_class(graded, tmp_path)
    (folder / "gradebook.db").unlink()  # so that there is something to write
    options = {"notebooks": [NOTEBOOK], "workers": 1}
    lock = Lock(folder / "gradebook.db")
    timer = threading.Timer(7, lock.release)  # longer than SQLite waits by itself

    def happen():
        lock.acquire()
        timer.start()

    _, summary = grade_class(folder, happen, **options)
    timer.join()
    assert summary["graded"] == 4 and not summary["problems"]
    before = read_gradebook(folder)
    path = folder / "submitted/ben/attention" / f"{NOTEBOOK}.ipynb"
    path.write_text(path.read_text("utf-8").replace("10 * K[0]", "-10 * K[0]"), "utf-8")
    lock.acquire()
    _, summary = grade_class(folder, students=["ben"], **options)
    lock.release()
    (problem,) = summary["problems"]
    assert "ben was graded, but could not be recorded" in problem["error"]
    assert "locked by another program" in problem["error"]
    assert read_gradebook(folder) == before
    _, summary = grade_class(folder, students=["ben"], **options)
    assert summary["graded"] == 1 and read_gradebook(folder) != before


class Lock:
    """A program that is in the middle of writing to the gradebook."""

    def __init__(self, path):
        self.path = path

    def acquire(self):
        self.database = sqlite3.connect(self.path, timeout=0, check_same_thread=False)
        self.database.execute("begin immediate")

    def release(self):
        self.database.rollback()
        self.database.close()


def test_a_submission_removed_or_changed_while_grading_stops_nobody(graded, tmp_path):
    folder = copy_class(graded, tmp_path)

    def happen():
        shutil.rmtree(folder / "submitted" / "dmitri")
        with open(folder / "submitted/chloe/attention" / f"{NOTEBOOK}.ipynb", "a") as file:
            file.write("\n")

    _, summary = grade_class(folder, happen, force=True, notebooks=[NOTEBOOK], workers=1)
    assert summary["graded"] == 2
    sentences = {problem["student"]: problem["error"] for problem in summary["problems"]}
    assert "was removed while" in sentences["dmitri"]
    assert "changed while it was graded" in sentences["chloe"]


def test_a_full_disk_costs_a_sentence(graded, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", small], stderr=subprocess.DEVNULL
    )
    if made.returncode:
        pytest.skip("a small disk can only be mounted as root")
    options = {"students": ["ada", "ben"], "notebooks": [NOTEBOOK]}
    try:
        for name in ("submitted", "secret", "gradebook.db"):
            source = graded[0] / name
            (shutil.copytree if source.is_dir() else shutil.copy)(source, small / name)
        (small / ".lock").touch()
        with open(small / "ballast", "wb", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(b"x" * 4096):
                pass
        _, summary = grade_class(small, **options)
        assert len(summary["problems"]) == 2
        assert all("the disk is full" in problem["error"] for problem in summary["problems"])
        (small / "ballast").unlink()
        _, summary = grade_class(small, **options)
        assert summary["graded"] == 2 and not summary["problems"]
    finally:
        subprocess.run(["umount", small], check=True)


def test_a_warm_process_that_dies_is_replaced(graded, tmp_path):
    folder = copy_class(graded, tmp_path)

    def happen():
        os.kill(nursery.share_nursery().pid, signal.SIGKILL)

    _, summary = grade_class(folder, happen, force=True, notebooks=[NOTEBOOK], workers=1)
    assert summary["graded"] + len(summary["problems"]) == 4
    assert summary["graded"] >= 3, "at most the one that was running"
    assert all("could not be graded" in problem["error"] for problem in summary["problems"])


# ------------------------------------------------------------------------------ odd files


def test_other_names_links_and_unreadable_files(graded, tmp_path):
    place = tmp_path / "submitted"
    source = graded[0] / "submitted/ada/attention" / f"{NOTEBOOK}.ipynb"
    for student, name, content in (
        ("renamed", f"{NOTEBOOK} (1).ipynb", source.read_bytes()),
        ("broken", f"{NOTEBOOK}.ipynb", b'{"cells": ['),
        ("nothing", "essay.txt", b"I will do it later."),
    ):
        folder = place / student / "attention"
        folder.mkdir(parents=True)
        (folder / name).write_bytes(content)
    (place / "renamed/attention/key.txt").symlink_to(graded[0] / "secret")
    (place / "zipped/attention").mkdir(parents=True)
    with zipfile.ZipFile(place / "zipped/attention/work.zip", "w") as archive:
        archive.write(source, f"work/{NOTEBOOK}.ipynb")
    results, summary = grade_class(tmp_path, notebooks=[NOTEBOOK])
    found = {line["student"]: line for line in results}
    assert found["renamed"]["score"] == found["zipped"]["score"] == FULL
    assert any("under the name" in words for words in found["renamed"]["repairs"])
    assert any("key.txt is a link" in words for words in found["renamed"]["flags"])
    assert not (tmp_path / "autograded/renamed/attention/key.txt").exists()
    assert found["broken"]["score"] == 0
    assert "not valid JSON" in str(found["broken"]["cells"])
    assert summary["graded"] == 3
    for again in (summary, grade_class(tmp_path, notebooks=[NOTEBOOK])[1]):
        problems = {problem["student"]: problem for problem in again["problems"]}
        assert problems.keys() == {"broken", "nothing"}, "said as long as it is so"
        assert "not valid JSON" in problems["broken"]["error"], "and never a silent 0"
        assert problems["broken"]["notebook"] == NOTEBOOK
        assert "handed in no notebook" in problems["nothing"]["error"]
    done = run_autograder("grades", "--track", "graduate", COURSE_GRADING=str(tmp_path))
    assert done.returncode == 0 and "the work of broken, nothing cannot be graded" in done.stderr
    done = run_autograder(
        "grades", "--track", "graduate", "--format", "csv", COURSE_GRADING=str(tmp_path)
    )
    assert done.returncode == 1 and "the work of broken, nothing cannot be graded" in done.stderr


def test_the_modules_of_a_class_import_without_dask():
    code = (
        "import sys; sys.modules['distributed'] = sys.modules['dask'] = None\n"
        "import autograder.classroom.run, autograder.reports.report, autograder.reports.grades, autograder.classroom.progress"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
