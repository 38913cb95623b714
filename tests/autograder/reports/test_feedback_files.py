"""Feedback pages: made for what changed, never stale, and packed for whoever takes them back."""

import email
import json
import re
import shutil
import zipfile

import pytest
from nbgrader.api import Gradebook

from autograder.reports.feedback import _classes
from tests.conftest import FULL, run_autograder, run_nbgrader

NOTEBOOK = "1_query_crafting"


@pytest.fixture(scope="module")
def folder(graded, tmp_path_factory):
    """A graded class of four with a roster; two of them were collected from a learning system."""
    folder = tmp_path_factory.mktemp("feedback") / "grading"
    shutil.copytree(graded[0], folder)
    (folder / "roster.csv").write_text(
        "student,name,track,email\nada,Ada Lund,graduate,ada@example.org\n"
        "ben,Ben Weiss,undergraduate,\nchloe,Chloe K,graduate,c@x.org\ndmitri,D M,graduate,\n"
    )
    (folder / "collected").mkdir(exist_ok=True)
    tickets = {"ada": "Ada Lund_5001_assignsubmission_file", "ben": "weissben_102_7002"}
    entries = {who: {"work.ipynb": {"time": "", "ticket": t}} for who, t in tickets.items()}
    (folder / "collected" / "attention.json").write_text(json.dumps(entries))
    return folder


def run(folder, *arguments):
    done = run_autograder("feedback", *arguments, COURSE_GRADING=str(folder))
    assert done.returncode == 0, done.stderr
    return done


def mark(folder, student, points):
    with Gradebook(f"sqlite:///{folder / 'gradebook.db'}", "attention-course") as gradebook:
        grade = gradebook.find_grade("answer_1_2_3", NOTEBOOK, "attention", student)
        grade.manual_score, grade.needs_manual_grade = points, False
        gradebook.db.commit()


def read_page(folder, student):
    return (folder / "feedback" / student / "attention" / f"{NOTEBOOK}.html").read_text("utf-8")


def test_only_what_changed_is_made_again_and_nothing_is_stale(folder):
    assert "Pages of 4 students were made" in run(folder).stdout
    page = read_page(folder, "ada")
    card = page.partition("How the total")[0]
    assert "not read yet" in card and ">0 of 2<" not in card
    assert re.search(r"\b0 of \d+ by hand so far, \d+ not read yet", page)
    assert "Track: Graduates" in page and "still wait for a person" in page
    assert "Pages of 0 students were made" in run(folder).stdout
    mark(folder, "ada", 1.5)
    assert "Pages of 1 students were made" in run(folder).stdout
    assert "1.5 of 2" in read_page(folder, "ada")
    text = (folder / "feedback/ada/attention" / f"{NOTEBOOK}.txt").read_text("utf-8")
    assert "How the total adds up" in text
    for words in (text, read_page(folder, "ada")):
        assert "regrade_request.txt" in words, "how to ask for another look"


def test_nbgraders_command_makes_the_same_page_without_force(folder):
    run(folder)
    ours = read_page(folder, "ben")
    shutil.rmtree(folder / "feedback" / "ben")
    done = run_nbgrader("generate_feedback", "attention", COURSE_GRADING=str(folder))
    assert done.returncode == 0, done.stderr
    assert read_page(folder, "ben") == ours
    mark(folder, "ben", 0.5)
    done = run_nbgrader("generate_feedback", "attention", COURSE_GRADING=str(folder))
    assert done.returncode == 0, done.stderr
    assert "0.5 of 2" in read_page(folder, "ben"), "after marking, without --force"
    assert "Pages of 0 students were made" in run(folder).stdout


def test_nbgraders_command_says_nothing_of_its_libraries(folder):
    for page in (folder / "feedback/ada/attention").glob("*.html"):
        page.unlink()
    done = run_nbgrader(
        "generate_feedback", "attention", "--student=ada", COURSE_GRADING=str(folder)
    )
    assert done.returncode == 0 and "Writing" in done.stderr
    assert "WARNING" not in done.stderr, done.stderr


def test_pages_are_packed_by_the_names_that_the_systems_gave(folder, tmp_path):
    done = run(folder, "--for", "moodle", "--output", tmp_path / "m.zip")
    packed = zipfile.ZipFile(tmp_path / "m.zip").namelist()
    assert packed == [f"Ada Lund_5001_assignsubmission_file_{NOTEBOOK}.html"]
    assert "did not come from moodle: ben, chloe, dmitri" in done.stderr
    run(folder, "--for", "canvas", "--output", tmp_path / "c.zip")
    assert zipfile.ZipFile(tmp_path / "c.zip").namelist() == [f"weissben_102_7002_{NOTEBOOK}.html"]
    done = run(folder, "--for", "mail", "--output", tmp_path / "mail")
    mail = email.message_from_bytes((tmp_path / "mail" / "ada.eml").read_bytes())
    assert mail["To"] == "ada@example.org" and "feedback" in mail["Subject"]
    assert "points" in mail.get_payload(decode=True).decode()
    assert "No address is known for ben, dmitri." in done.stderr
    assert "2030-01-01" not in mail.get_payload(decode=True).decode(), "timestamp.txt is no page"


def test_what_being_late_costs_is_worked_out_after_marking(graded, course_copy, tmp_path):
    """nbgrader's own number is that of the day of grading: the page has that of the total."""
    folder = tmp_path / "grading"
    shutil.copytree(graded[0], folder)
    (folder / "roster.csv").write_text("student,track\nada,graduate\n")
    toml = course_copy / "course.toml"
    due = "[hand_in]\ndue.attention = 2024-12-31T10:00:00Z\n\n[weights]"
    toml.write_text(toml.read_text("utf-8").replace("[weights]", due), "utf-8")
    with open(course_copy / "nbgrader_config.py", "a", encoding="utf-8") as config:
        config.write("\nc.LateSubmissionPlugin.penalty_method = 'zero'\n")
    facts = {"cwd": course_copy, "COURSE_GRADING": str(folder)}
    run_autograder("grade", "--student", "ada", "--force", **facts)
    run_autograder("date", "ada", "2025-01-01 10:00 UTC", **facts)
    for points in (1.5, 2.0):
        mark(folder, "ada", points)
        done = run_autograder("feedback", **facts)
        assert done.returncode == 0, done.stderr
        text = (folder / "feedback/ada/attention" / f"{NOTEBOOK}.txt").read_text("utf-8")
        assert f"{FULL + points:g} points are taken off the total because it came late" in text
        assert f"-{FULL + points:g} for 24.0 hours late" in text
        _classes.clear()  # another command is another process
    run_autograder("date", "ada", "2024-12-30 10:00 UTC", **facts)
    assert "Pages of 1 students" in run_autograder("feedback", **facts).stdout
    text = (folder / "feedback/ada/attention" / f"{NOTEBOOK}.txt").read_text("utf-8")
    assert "taken off" not in text, "a date holds at once, without grading again"
    assert "Pages of 0 students" in run_autograder("feedback", **facts).stdout


def test_an_output_that_is_a_folder_is_a_sentence(folder, tmp_path):
    for command in (("feedback", "--for", "moodle"), ("report",), ("grades", "--unmarked-as-zero")):
        done = run_autograder(*command, "--output", tmp_path, COURSE_GRADING=str(folder))
        assert done.returncode == 1 and "is a folder" in done.stderr, (command, done.stderr)
        assert "Traceback" not in done.stderr
