"""Grading a class: what is written, what is skipped, and what happens when things go wrong."""

import os
import random
import shutil
import sqlite3
import stat
import subprocess
import sys
import time

import nbformat
import pytest
from nbgrader.api import Gradebook

from autograder import records
from autograder.blueprint import load_blueprints
from tests.autograder.classes import (
    NOTEBOOK,
    grade_class,
    kill,
    make_submissions,
    read_gradebook,
    read_graded,
    start_grading,
    wait_for,
)
from tests.conftest import ROOT, run_autograder, run_nbgrader

pytestmark = pytest.mark.xdist_group("classroom")


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """A class of four, graded once: notebook 1, and for two of them notebook 2."""
    folder = tmp_path_factory.mktemp("class")
    make_submissions(folder, 4)
    extra = folder / "submitted" / "ada" / "attention"
    (extra / "notes").mkdir()
    (extra / "notes" / "plan.txt").write_text("first the keys\n")
    (extra / "timestamp.txt").write_text("2030-01-01 10:00:00 UTC\n")
    return folder, *grade_class(folder)


def copy_class(graded, tmp_path):
    return shutil.copytree(graded[0], tmp_path / "copy", symlinks=True)


# ----------------------------------------------------------------------- what is written


def test_the_class_is_graded_and_summed_up(graded):
    _, results, summary = graded
    assert summary["graded"] == 4 and summary["missing"] == 8 and not summary["problems"]
    scores = {found["student"]: found["score"] for found in results}
    assert scores == {"ada": 12, "ben": 4, "chloe": 12, "dmitri": 10}
    assert all(found["max_score"] == 12 and found["isolation"] for found in results)


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
    assert "0 of 2 points" in page and "sign turned round" in page
    done = run_nbgrader("export", f"--to={tmp_path / 'out.csv'}", COURSE_GRADING=str(folder))
    assert done.returncode == 0, done.stderr[-3000:]
    assert ",10.0," in (tmp_path / "out.csv").read_text("utf-8")


# --------------------------------------------------------------------- what is graded again


def test_only_what_changed_is_graded_again(graded, tmp_path):
    folder = copy_class(graded, tmp_path)
    results, summary = grade_class(folder)
    assert results == [] and summary["unchanged"] == 12 and summary["graded"] == 0
    path = folder / "submitted/ben/attention" / f"{NOTEBOOK}.ipynb"
    path.write_text(path.read_text("utf-8").replace("10 * K[0]", "-10 * K[0]"), "utf-8")
    results, summary = grade_class(folder)
    assert [(found["student"], found["score"]) for found in results] == [("ben", 2)]
    assert summary["graded"] == 1 and summary["unchanged"] >= 9
    results, _ = grade_class(folder, "--force", "--student", "ada", "chloe")
    assert {found["student"] for found in results} == {"ada", "chloe"}


@pytest.mark.parametrize("loss", ["the gradebook", "a graded notebook", "a record"])
def test_what_was_lost_is_graded_again(graded, tmp_path, loss):
    folder = copy_class(graded, tmp_path)
    before = read_gradebook(folder)
    paths = {
        "the gradebook": "gradebook.db",
        "a graded notebook": f"autograded/ada/attention/{NOTEBOOK}.ipynb",
        "a record": f"results/ada/{NOTEBOOK}.json",
    }
    (folder / paths[loss]).unlink()
    _, summary = grade_class(folder, "--student", "ada", "--notebook", NOTEBOOK)
    assert summary["graded"] == 1
    after = read_gradebook(folder)
    ada = [row for row in before["grades"] if row[:2] == ("ada", NOTEBOOK)]
    assert [row for row in after["grades"] if row[:2] == ("ada", NOTEBOOK)] == ada


def test_rules_are_fingerprinted_by_notebook(course, monkeypatch):
    blueprints = load_blueprints(course)
    before = {name: records.fingerprint_rules(course, b) for name, b in blueprints.items()}
    real = records._read_module

    def read(name):
        return real(name) + (b"# fixed\n" if name == "autograder.exercises.attention" else b"")

    monkeypatch.setattr(records, "_read_module", read)
    after = {name: records.fingerprint_rules(course, b) for name, b in blueprints.items()}
    assert [name for name in before if before[name] != after[name]] == ["2_attention_from_scratch"]


def test_a_name_that_does_not_exist_gets_a_sentence(graded):
    done = run_autograder("grade", "--student", "adda", COURSE_GRADING=str(graded[0]))
    assert done.returncode == 1 and "Did you mean ada?" in done.stderr
    done = run_autograder("grade", "--notebook", "7", COURSE_GRADING=str(graded[0]))
    assert done.returncode == 1 and "There is no notebook '7'" in done.stderr
    done = run_autograder("grade", "some.ipynb", "--force")
    assert done.returncode == 1 and "leave the paths out" in done.stderr


def test_an_empty_class_gets_a_sentence(tmp_path):
    done = run_autograder("grade", COURSE_GRADING=str(tmp_path))
    assert done.returncode == 1 and "nothing to grade" in done.stderr


# -------------------------------------------------------------------- a test that was wrong


def test_after_a_fixed_test_the_changes_are_listed_and_hand_marks_stay(course_copy):
    folder = course_copy / "grading"
    make_submissions(folder, 4)
    module = course_copy / "autograder/exercises/query_crafting.py"
    right = module.read_text("utf-8")
    wrong = right.replace(
        "            return Ruling(float(finding.passed), finding)",
        "            return Ruling(float(finding.passed and name != 'q_select_first'), finding)",
    )
    assert wrong != right
    module.write_text(wrong, "utf-8")
    options = {"cwd": course_copy, "COURSE_GRADING": "grading"}
    # The canary notices such a test only where it is asked about; this one it does not ask.
    done = run_autograder("grade", "--json", **options)
    assert done.returncode == 0, done.stderr
    with Gradebook(f"sqlite:///{folder / 'gradebook.db'}", "attention-course") as gradebook:
        for student, cell, score in (("ada", "answer_1_2_3", 2), ("ben", "test_q_select_first", 1)):
            grade = gradebook.find_grade(cell, NOTEBOOK, "attention", student)
            grade.manual_score, grade.needs_manual_grade = score, False
        gradebook.db.commit()
    module.write_text(right, "utf-8")
    done = run_autograder("regrade", COLUMNS="160", **options)
    assert done.returncode == 0, done.stderr
    for name in ("ada", "ben", "chloe"):
        assert any(name in line and "test_q_select_first" in line and " 0 " in line
                   for line in done.stdout.splitlines()), done.stdout  # fmt: skip
    assert "3 scores of 3 students changed" in done.stdout
    assert "A person gave 1 here; that stands" in done.stdout
    marks = {(row[0], row[2]): row[3:] for row in read_gradebook(folder)["grades"]}
    assert marks["ada", "answer_1_2_3"] == (None, 2.0, None, 0)  # and needs no second reading
    assert marks["ben", "test_q_select_first"] == (2.0, 1.0, None, 1)  # this one does
    again = run_autograder("regrade", "--json", **options)
    assert again.stdout.count('"changed"') == 3, "told again, though nothing had to be graded"


# ------------------------------------------------------------------------------ stopping it


def test_killed_at_random_it_ends_up_the_same(graded, tmp_path):
    kill_and_compare(graded[0], tmp_path / "killed", kills=3, longest=14)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_fifty_kills_over_thirty_students(tmp_path):
    calm = tmp_path / "calm"
    make_submissions(calm, 30)
    grade_class(calm)
    kill_and_compare(calm, tmp_path / "killed", kills=50, longest=22)


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
            done = len(list(folder.glob("results/*/*.json")))
            wait_for(
                lambda done=done, process=process: (
                    process.poll() is not None or len(list(folder.glob("results/*/*.json"))) > done
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
    import fcntl

    folder = copy_class(graded, tmp_path)
    with open(folder / ".lock", "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        done = run_autograder("grade", COURSE_GRADING=str(folder))
    assert done.returncode == 1 and "Another run is grading" in done.stderr


# ------------------------------------------------------------------------------ trouble


def test_a_locked_gradebook_costs_a_sentence_and_no_work(graded, tmp_path):
    folder = copy_class(graded, tmp_path)
    database = sqlite3.connect(folder / "gradebook.db", timeout=0)
    database.execute("begin immediate")  # as a program that is in the middle of writing
    try:
        process = start_grading(folder, "--force", "--student", "ada", "--notebook", NOTEBOOK)
        out, error = process.communicate(timeout=300)
    finally:
        database.rollback()
        database.close()
    assert process.returncode == 1, error
    assert "locked by another program" in out and "Traceback" not in error
    results, _ = grade_class(folder, "--force", "--student", "ada", "--notebook", NOTEBOOK)
    assert results[0]["score"] == 12


def test_a_submission_removed_while_grading_stops_nobody(graded, tmp_path):
    folder = copy_class(graded, tmp_path)
    process = start_grading(folder, "--force", "--notebook", NOTEBOOK, "--workers", "1")
    first = folder / "results" / "ada" / f"{NOTEBOOK}.json"
    before = first.stat().st_mtime_ns
    wait_for(lambda: first.stat().st_mtime_ns != before or process.poll() is not None)
    shutil.rmtree(folder / "submitted" / "dmitri")
    out, error = process.communicate(timeout=300)
    assert process.returncode == 1 and "Traceback" not in error, error
    assert "the submission was removed while" in out
    assert '"graded": 3' in out.splitlines()[-1]


def test_a_full_disk_costs_a_sentence(graded, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", small])
    if made.returncode:
        pytest.skip("a small disk can only be mounted as root")
    try:
        for name in ("submitted", "secret", "gradebook.db"):
            source = graded[0] / name
            (shutil.copytree if source.is_dir() else shutil.copy)(source, small / name)
        with open(small / "ballast", "wb") as file, pytest.raises(OSError):
            while True:
                file.write(b"x" * 4096)
                file.flush()
        process = start_grading(small, "--student", "ada", "ben", "--notebook", NOTEBOOK)
        out, error = process.communicate(timeout=300)
        assert process.returncode == 1 and "Traceback" not in error, error
        assert "the disk is full" in out + error
        (small / "ballast").unlink()
        _, summary = grade_class(small, "--student", "ada", "ben", "--notebook", NOTEBOOK)
        assert summary["graded"] == 2
    finally:
        subprocess.run(["umount", small], check=True)


def test_a_warm_process_that_dies_is_replaced(graded, tmp_path):
    folder = copy_class(graded, tmp_path)
    process = start_grading(folder, "--force", "--notebook", NOTEBOOK, "--workers", "1")
    first = folder / "results" / "ada" / f"{NOTEBOOK}.json"
    before = first.stat().st_mtime_ns
    wait_for(lambda: first.stat().st_mtime_ns != before or process.poll() is not None)
    found = subprocess.run(
        ["pgrep", "-P", str(process.pid), "-f", "autograder.kernel.nursery"],
        capture_output=True, text=True,
    )  # fmt: skip
    os.kill(int(found.stdout.split()[0]), 9)
    out, error = process.communicate(timeout=300)
    assert "Traceback" not in error, error
    graded_now = out.splitlines()[-1]
    assert '"graded": 4' in graded_now or '"graded": 3' in graded_now, out
    if process.returncode:  # the one that was running when it died says so
        assert "could not be graded" in out


# ------------------------------------------------------------------------------ odd files


def test_other_names_and_unreadable_files(graded, tmp_path):
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
    results, summary = grade_class(tmp_path, "--notebook", NOTEBOOK, expect=1)
    found = {line["student"]: line for line in results}
    assert found["renamed"]["score"] == 12
    assert any("under the name" in words for words in found["renamed"]["repairs"])
    assert found["broken"]["score"] == 0
    assert "not valid JSON" in str(found["broken"]["cells"])
    assert "handed in no notebook" in found["nothing"]["error"]
    assert summary["graded"] == 2 and len(summary["problems"]) == 1


def test_the_modules_of_a_class_import_without_dask():
    code = (
        "import sys; sys.modules['distributed'] = sys.modules['dask'] = None\n"
        "import autograder.classroom, autograder.report, autograder.grades, autograder.progress"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
