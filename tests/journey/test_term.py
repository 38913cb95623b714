"""A made-up term: from the roster to the grades that go back, with everything that comes between.

Four students hand in notebook 1 through Moodle. The first hidden test is wrong until week two, the package
is corrected in week three, a question is dropped, and one of two late students has an extension. All
sums at the end are done by hand.
"""

import csv
import io
import json
import zipfile
from dataclasses import replace

import nbformat
import pytest
from nbgrader.api import Gradebook

from autograder.authoring import leaks
from autograder.course import load_assignment, load_course
from autograder.demo.personas import fill_in, solve_all
from autograder.exercises import Ruling, find_exercises
from autograder.grading.judges import Question
from course_utils.checks.findings import Finding
from tests.autograder.classroom.test_migration import change, name_of, rename_in_toml
from tests.autograder.classroom.test_run import add_to_module
from tests.conftest import run_autograder, without_build

FIRST = "1_query_crafting"
MOODLE = (
    "First name,Last name,ID number,Email address\n"
    "Ada,Lund,ada,ada@example.org\nBen,Weiss,ben,ben@example.org\n"
    "Cleo,Park,cleo,cleo@example.org\nDora,Holm,dora,dora@example.org\n"
)
TRACKS = "student,track,extension_days\nada,graduate,\nben,undergraduate,\ncleo,graduate,2\ndora,graduate,\n"
IN_TIME, LATE = "Saturday, 1 March 2025, 10:00 AM", "Sunday, 2 March 2025, 8:00 PM"
WORKSHEET = "Identifier,Full name,Email address,Status,Last modified (submission)\n"
# Marks that people give; every other answer gets 0.
MARKS = {"answer_1_2_1": 2.0, "answer_1_2_3": 1.5, "answer_1_4_1": 2.0}


@pytest.fixture
def term(course_copy, tmp_path, monkeypatch):
    """The course as its instructors set it up before the term."""
    toml = course_copy / "course.toml"
    text = toml.read_text("utf-8").replace("your-department", "our-department")
    due = '[hand_in]\nwhere = "Moodle"\ndue.attention = 2025-03-01T18:00:00Z\n\n[weights]'
    toml.write_text(text.replace("[weights]", due), "utf-8")
    config = course_copy / "nbgrader_config.py"
    late = "\nc.LateSubmissionPlugin.penalty_method = 'zero'\n"
    config.write_text(config.read_text("utf-8") + late, "utf-8")
    monkeypatch.setenv("TZ", "UTC")  # worksheets hold local time
    secrets = leaks.collect_secrets(load_course(course_copy))
    monkeypatch.setattr(leaks, "collect_secrets", lambda course: secrets)
    grading = tmp_path / "grading"

    def run(*arguments, expect=0):
        done = run_autograder(*arguments, cwd=course_copy, COURSE_GRADING=str(grading))
        assert done.returncode == expect, done.stderr + done.stdout
        return done

    return course_copy, grading, run


def make_download(path, root):
    """What Moodle lets an instructor download, and when each came; Ben has one answer wrong."""
    from autograder.blueprint import load_blueprint

    blueprint = load_blueprint(load_assignment("attention", root), FIRST)
    wrong = find_exercises("attention.query_crafting")["q_average_two"].mistakes[0].code
    sheet = WORKSHEET
    with zipfile.ZipFile(path, "w") as archive:
        for number, (name, when) in enumerate(
            {
                "Ada Lund": IN_TIME,
                "Ben Weiss": IN_TIME,
                "Cleo Park": LATE,
                "Dora Holm": LATE,
            }.items()
        ):
            codes = solve_all(blueprint) | ({"q_average_two": wrong} if name[0] == "B" else {})
            work = nbformat.writes(fill_in(blueprint, codes, f"Words of {name}."))
            folder = f"{name}_{5000 + number}_assignsubmission_file_"
            archive.writestr(f"{folder}/{FIRST}.ipynb", work)
            sheet += f'Participant {5000 + number},{name},,Submitted,"{when}"\n'
    path.with_name("worksheet.csv").write_text(sheet, "utf-8")
    return path, path.with_name("worksheet.csv")


def mark_everything(grading):
    with Gradebook(f"sqlite:///{grading / 'gradebook.db'}", "attention-course") as gradebook:
        for submission in gradebook.assignment_submissions("attention"):
            for notebook in submission.notebooks:
                for grade in notebook.grades:
                    if grade.needs_manual_grade:
                        grade.manual_score = MARKS.get(grade.name, 0.0)
                        grade.needs_manual_grade = False
        gradebook.db.commit()


def test_a_term_from_the_roster_to_the_grades(term, tmp_path, monkeypatch):
    root, grading, run = term
    grading.mkdir()

    # Week one: roster, publication, and what was handed in.
    (tmp_path / "tracks.csv").write_text(TRACKS)
    (tmp_path / "moodle.csv").write_bytes(MOODLE.encode("utf-16"))
    run("roster", tmp_path / "tracks.csv")
    assert (
        "Tracks and extensions of 4 students were kept"
        in run("roster", tmp_path / "moodle.csv").stdout
    )
    with without_build():
        run("publish", tmp_path / "public")
    readme = (tmp_path / "public" / "README.md").read_text("utf-8")
    assert (
        "Due Saturday, 01 March 2025, 18:00 (UTC)." in readme
        and "Hand that file in: Moodle." in readme
    )
    version = json.loads((tmp_path / "public" / "release.json").read_text())["package"]
    told = run("collect", *make_download(tmp_path / "all.zip", root)).stdout
    assert "4 files of 4 students were collected." in told and "says the learning platform" in told

    # The first hidden test is wrong: nobody gets its two points.
    module = "autograder.exercises.attention.query_crafting"
    with monkeypatch.context() as wrong:
        exercises = find_exercises("attention.query_crafting")
        strict = Ruling(0.0, Finding(False, "not what I had in mind.", "wrong-test"))
        exercise = replace(exercises["q_select_first"], rule=lambda *_: strict)
        wrong.setitem(exercises, "q_select_first", exercise)
        wrong.setattr("autograder.grading.grade.judge_reply", Question.decide)  # here
        add_to_module(wrong, module, b"# wrong")
        run("grade", "--json")
    refused = run("grades", "--format", "moodle", expect=1)
    assert "judged by an older hand-out or older tests" in refused.stderr
    assert "What helps: python -m autograder regrade" in refused.stderr
    refused = run("grades", "--format", "moodle", "--stale-ok", expect=1)
    assert "36 answers of ada, ben, cleo, dora not marked yet" in refused.stderr
    mark_everything(grading)

    # Week two: the test is corrected. First a look, then for real; a change is listed once.
    lines = run("regrade", "--dry-run", "--json").stdout.splitlines()
    tried = [json.loads(line)["changed"] for line in lines if "changed" in json.loads(line)]
    lines = run("regrade", "--json").stdout.splitlines()
    found = [json.loads(line) for line in lines]
    changed = [line["changed"] for line in found if "changed" in line]
    assert [(c["student"], c["cell"], c["before"], c["after"]) for c in changed] == [
        (name, "test_q_select_first", 0.0, 2.0) for name in ("ada", "ben", "cleo", "dora")
    ]
    assert sorted(c["student"] for c in tried) == ["ada", "ben", "cleo", "dora"]
    assert "No score changed." in run("regrade").stdout

    # Week three: the package is corrected, and a question is dropped.
    with open(root / "course_utils" / "queries.py", "a", encoding="utf-8") as file:
        file.write("\n# A correction.\n")
    with without_build():
        run("publish", tmp_path / "public")
    assert json.loads((tmp_path / "public" / "release.json").read_text())["package"] != version
    change(root, lambda cell: name_of(cell) != "answer_1_2_3")
    rename_in_toml(root, "manual = 18", "manual = 16")
    done = run("grade", "--json")
    assert "answer_1_2_3 (2 points) is no longer part of 1_query_crafting: 4 marks" in done.stderr

    # Grades. By hand: without 1.4, Ada has 8 automatic points and 2 by hand, in 1.4 she has 4 and 2:
    # 16. Ben has 2 automatic points less, and 1.4 counts half on top: 6 + 2 + 3 = 11. Cleo is late
    # within her extension: 16. Dora is late without one, which costs everything here.
    plans = load_assignment("attention", root).notebooks
    total = sum(plan.auto + plan.manual for plan in plans)  # without the question that was dropped
    run("grades", "--format", "moodle")
    rows = list(csv.reader(io.StringIO((grading / "grades-moodle.csv").read_text("utf-8-sig"))))
    assert {row[0]: float(row[5]) for row in rows[1:]} == {
        "ada": 16,
        "ben": 11,
        "cleo": 16,
        "dora": 0,
    }
    assert any(f"Sum: 16 of {total:g}" in row[6] for row in rows)
    assert "26.0 hours late" in next(row[6] for row in rows if row[0] == "dora")

    # Feedback goes back by the names that Moodle gave.
    run("feedback", "--for", "moodle", "--output", tmp_path / "back.zip")
    with zipfile.ZipFile(tmp_path / "back.zip") as archive:
        assert f"Ada Lund_5000_assignsubmission_file_{FIRST}.html" in archive.namelist()
        page = archive.read(f"Ben Weiss_5001_assignsubmission_file_{FIRST}.html").decode()
    assert "Sum: 11 of" in page and "Track: Undergraduates" in page and "Answer 1.2.3" not in page
    story = run("history", "ada").stdout
    assert "test_q_select_first 0 -> 2" in story
    assert "answer_1_2_3 was dropped from the course; the mark was 1.5 of 2" in story
