"""A class whose numbers were typed by hand: the same to the last digit in every file and filter.

Two assignments, due on 1 and 8 March 2025 at 18:00 UTC, weighing 3 and 1; two late days for everybody; a
tenth of a notebook's points goes for each day that has begun beyond them. In `attention` (110 points)
answer_1_2_1 (2 points) was dropped, and answer_1_2_3 came back with 1 point instead of 2: 107 are left, and
97 for undergraduates, for whom section 1.4 (10 points) counts half, on top.
"""

import csv
import io
import json
import math
import shutil

import pytest
from nbgrader.api import Gradebook
from nbgrader.plugins import BasePlugin

from autograder.classroom.gradebook import ClassGradebook
from autograder.course import _read_course, load_course
from autograder.reports.grades import (
    work_out_course,
    work_out_grades,
    write_course,
    write_grades,
)
from tests.autograder.classroom.test_migration import change, drop, name_of, rename_in_toml
from tests.conftest import copy_course, run_autograder

pytestmark = pytest.mark.xdist_group("grades")


class TenthPerDay(BasePlugin):
    """nbgrader's penalty plugin of this class."""

    def late_submission_penalty(self, student_id, score, total_seconds_late):
        return score * 0.1 * math.ceil(total_seconds_late / 86_400)


TOML = """
[late]
days = 2

[hand_in]
due.attention = 2025-03-01T18:00:00Z
due.attention_at_work = 2025-03-08T18:00:00Z
canvas.attention = { undergraduate = 34, graduate = 12 }
"""
ROSTER = (
    "student,name,track,extension_days.attention\n"
    "ada,Ada Lund,graduate,\nben,Ben Weiss,undergraduate,\ncleo,Cleo Park,graduate,1\n"
    "dora,Dora Holm,undergraduate,\nemil,Emil;=1+1,graduate,\n"
)
DATES = (
    "student,assignment,moment\n"
    "ben,attention,2025-03-02 19:00 UTC\n"  # 25 hours late: both late days, and nothing is taken off
    "cleo,attention,2025-03-03 19:00 UTC\n"  # 49 hours, 24 of them extended: both late days
    "cleo,attention_at_work,2025-03-08 18:30 UTC\n"  # half an hour, no late day left: one tenth
    "emil,attention,2025-03-05 18:00 UTC\n"  # 96 hours: both late days, two more days: two tenths
)
LOG = {"ada": {"w.ipynb": {"time": "2025-03-01 17:59:59 UTC", "says": "system", "counts": True,
                           "hint": {"manifest": "2024-01-01 00:00:00 UTC"}}}}  # fmt: skip
# Automatic points of tests, points by hand of answers.
MARKS = {
    "attention": {
        "ada": {"test_q_select_first": 2, "answer_1_2_1": 2, "answer_1_2_3": 1.5, "test_k2_select": 2,
                "answer_1_4_1": 1.25, "test_attn_softmax": 4 / 3, "answer_q4_7": 0.25},
        "ben": {"test_q_select_first": 2, "answer_1_2_3": 0.5, "test_k2_select": 2,
                "answer_1_4_1": 1.25, "test_attn_softmax": 2},
        "cleo": {"answer_1_2_3": 1.5, "answer_2_2_setup": 5.5, "test_main": 4},
        "emil": {"test_Q_identity": 2, "test_self_attention": 3.3},
    },
    "attention_at_work": {
        "ada": {"test_copy_query": 1, "answer_1_5": 2.5},
        "cleo": {"test_masked_loss": 2, "test_majority_baseline": 1},
    },
}  # fmt: skip
# attention. ada: 2 + 1 (of 1.5, which comes back to be looked at) + 2 + 1.25 + 1.3333 + 0.25, and the
# dropped answer counts nothing. ben: 2 + 0.5 + 2, and (2 + 1.25) / 2 on top: 6.125; collaborators left
# open cost 2 % of 97, 1.94. cleo: 1 + 5.5 + 4. emil: 2 - 0.4, and 3.3 - 0.66.
# attention_at_work, 90 points. ada: 1 + 2.5. cleo: 2 - 0.2, and 1 - 0.1.
TOTALS = {
    "attention": {"ada": "7.8333", "ben": "4.185", "cleo": "10.5", "dora": "0", "emil": "4.24"},
    "attention_at_work": {"ada": "3.5", "ben": "0", "cleo": "2.7", "dora": "0", "emil": "0"},
    # 100 * (3 * first / (107 or 97) + second / 90) / 4. ada, in fractions: 25 * (47/214 + 7/180) =
    # 248950/38520. ben: 25 * 12.555/97. cleo: 25 * (31.5/107 + 0.03). emil: 25 * 12.72/107.
    "course": {"ada": "6.4629", "ben": "3.2358", "cleo": "8.1098", "dora": "0", "emil": "2.972"},
}
TRACKS = {"graduate": ("ada", "cleo", "emil"), "undergraduate": ("ben", "dora")}


@pytest.fixture(scope="module")
def term(tmp_path_factory):
    """The course, after both changes, with everybody's marks in the gradebook."""
    place = tmp_path_factory.mktemp("by-hand")
    root, grading = copy_course(place / "course"), place / "grading"
    grading.mkdir()
    toml = (root / "course.toml").read_text("utf-8").replace("\nattention = 1", "\nattention = 3")
    (root / "course.toml").write_text(toml + TOML, "utf-8")
    with open(root / "nbgrader_config.py", "a", encoding="utf-8") as config:
        config.write(f"\nc.AssignLatePenalties.plugin_class = '{__name__}.TenthPerDay'\n")
    (grading / "roster.csv").write_text(ROSTER, "utf-8")
    (grading / "dates.csv").write_text(DATES, "utf-8")
    (grading / "collected").mkdir()
    (grading / "collected" / "attention.json").write_text(json.dumps(LOG))

    def run(*arguments, expect=0):
        done = run_autograder(*arguments, cwd=root, COURSE_GRADING=str(grading), COLUMNS="200")
        assert done.returncode == expect, done.stderr
        return done

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COURSE_GRADING", str(grading))
        for assignment in load_course(root).assignments.values():
            with ClassGradebook(assignment):
                pass
        fill(grading)
        for step in ("source", "release"):
            shutil.copytree(root / step, place / step)
        drop(root, "answer_1_2_1", "answer_1_2_3")
        rename_in_toml(root, "manual = 18", "manual = 14")
        assert (
            "answer_1_2_3 (2 points) is no longer part"
            in run("roster", grading / "roster.csv").stderr
        )
        for step in ("source", "release"):
            shutil.copytree(place / step, root / step, dirs_exist_ok=True)
        drop(root, "answer_1_2_1")
        change(root, lambda cell: cell.metadata.nbgrader.update(points=1)
               if name_of(cell) == "answer_1_2_3" else None)  # fmt: skip
        rename_in_toml(root, "manual = 14", "manual = 15")
        told = run("roster", grading / "roster.csv").stderr
        assert "4 marks by hand for answer_1_2_3 in 1_query_crafting are back" in told
        assert "more than it is worth now is to be looked at again (ada, cleo)" in told
        _read_course.cache_clear()
        yield load_course(root), grading, run


def fill(grading):
    """Write marks as a class that was graded and read by people would have them."""
    with Gradebook(f"sqlite:///{grading / 'gradebook.db'}", "attention-course") as gradebook:
        for student in ("ada", "ben", "cleo", "emil"):
            gradebook.add_student(student)
        for name, people in MARKS.items():
            for student, given in people.items():
                submission = gradebook.add_submission(name, student)
                for grade in [grade for n in submission.notebooks for grade in n.grades]:
                    key = "manual_score" if grade.name.startswith("answer") else "auto_score"
                    setattr(grade, key, given.get(grade.name, 0))
                    grade.needs_manual_grade = False
        cell = "answer_collaborators", "2_attention_from_scratch", "attention", "ben"
        gradebook.find_comment(*cell).auto_comment = "No response."
        gradebook.db.commit()


def read_file(path, form):
    """Return everybody's total in a file, by student."""
    rows = list(csv.reader(io.StringIO(path.read_bytes().decode("utf-8-sig"))))
    if form == "csv":
        return {row[0]: row[rows[0].index("total")] for row in rows[1:]}
    if form == "canvas":
        return {row[2]: next(cell for cell in row[5:] if cell) for row in rows[2:]}
    return {row[0]: row[5] for row in rows[1:]}


@pytest.mark.parametrize("track", [None, "graduate", "undergraduate"])
def test_every_file_and_filter_agrees_with_the_sums_by_hand(term, tmp_path, track):
    course, _, _ = term
    people = TRACKS.get(track, ("ada", "ben", "cleo", "dora", "emil"))
    for name, assignment in course.assignments.items():
        grades, _ = work_out_grades(assignment, track)
        for form in ("csv", "canvas", "moodle"):
            write_grades(grades, assignment, form, tmp_path / form)
            expected = {student: TOTALS[name][student] for student in people}
            assert read_file(tmp_path / form, form) == expected, (name, form)
        for grade in grades:
            assert (
                grade.explain()[-1]
                .rpartition(" of ")[0]
                .endswith(TOTALS[name][grade.entry.student])
            )
    totals, _ = work_out_course(course, track)
    for form in ("csv", "canvas", "moodle"):
        write_course(totals, course, form, tmp_path / form)
        expected = {student: TOTALS["course"][student] for student in people}
        assert read_file(tmp_path / form, form) == expected, form


def test_how_the_sums_come_about_is_said_to_whom_one_asks_for_and_writes_nothing(term):
    _, grading, run = term
    before = sorted(path for path in grading.rglob("*.csv"))
    told = run("grades", "--explain", "emil").stdout
    assert "2_attention_from_scratch: -0.66 for 2.0 days late" in told
    assert "4.0 days late: 2 late days spent, which leaves 2.0 days late; 0 late days left" in told
    assert "Sum: 4.24 of 107" in told and "ada" not in told
    assert (
        "25.0 hours late: 2 late days spent; 0 late days left"
        in run("grades", "--explain", "ben").stdout
    )
    assert "-1.94: collaborators left open" in run("grades", "--explain", "ben").stdout
    run("grades")
    assert sorted(path for path in grading.rglob("*.csv")) == before
    refused = run("grades", "--explain", "emil", "--format", "csv", expect=1)
    assert "--explain only shows" in refused.stderr
    assert (
        "2 answers of ada, cleo not marked yet" in run("grades", "--format", "csv", expect=1).stderr
    )


def test_canvas_knows_its_columns_again(term):
    course, grading, run = term
    done = run("grades", "--format", "canvas", "--unmarked-as-zero")
    head = next(csv.reader(io.StringIO((grading / "grades-canvas.csv").read_text("utf-8"))))
    title = course.assignments["attention"].title
    assert head[5:] == [f"{title} (Graduates) (12)", f"{title} (Undergraduates) (34)"]
    assert "new column" not in done.stderr
    text = (grading / "grades-canvas.csv").read_text("utf-8")
    assert "Emil;'=1+1" in text, "no formula where a spreadsheet cuts at semicolons"
    work = ("--assignment", "attention_at_work")
    done = run("grades", "--format", "canvas", "--track", "graduate", "--unmarked-as-zero", *work)
    assert "Canvas will make a new column 'Attention at work': its number" in done.stderr
    (grading / "canvas-columns.json").write_text(json.dumps(["Attention at work (77)", "Quiz (1)"]))
    done = run("grades", "--format", "canvas", "--track", "graduate", "--unmarked-as-zero", *work)
    assert "new column" not in done.stderr
    head = (grading / "grades-canvas-attention_at_work.csv").read_text("utf-8").partition("\n")[0]
    assert "Attention at work (77)" in head
