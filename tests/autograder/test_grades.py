"""Grades: the tracks, the collaborators rule and late work, against sums done by hand."""

import csv
import io
import os
from datetime import timedelta

import nbformat
import pytest
from nbgrader.api import Gradebook

from autograder.course import CourseError, load_course
from autograder.gradebook import ClassGradebook
from autograder.grades import work_out_grades, write_grades
from autograder.nbgrader_plugin import record_assignment
from tests.conftest import ROOT, run_autograder

pytestmark = pytest.mark.xdist_group("grades")

ROSTER = (
    "student,name,track,extension_days,email,lms_id,login,section\n"
    "ada,Ada Lund,graduate,,ada@example.org,101,alund,A\n"
    "ben,Ben Weiss,undergraduate,,ben@example.org,102,bweiss,B\n"
    "cleo,=Cleo,undergraduate,2,,103,,B\n"
    "dora,Dora Holm,graduate,,,104,,A\n"
)
# What each student has, by cell; all other cells 0. Sums are done by hand in `EXPECTED`.
MARKS = {
    # 8 of 8 automatic outside 1.4; 1.4: 4 automatic + 3 by hand; notebook 2: 18 + 15.5; 3: 20 + 19
    "ada": {
        "1_query_crafting": {"auto": {"test_q_select_first": 2, "test_Q_identity": 2,
                                      "test_q_average_all": 2, "test_q_average_two": 2,
                                      "test_k2_average_three": 2, "test_k2_select": 2},
                             "manual": {"answer_1_2_1": 2, "answer_1_4_1": 2, "answer_1_4_2": 1}},
        "2_attention_from_scratch": {"auto": {"test_self_attention": 4, "test_attn_softmax": 2},
                                     "manual": {"answer_2_2_setup": 5.5}},
        "3_finetune_roberta": {"auto": {"test_main": 4}, "manual": {"answer_q1_1": 1.5}},
    },
}  # fmt: skip
MARKS["ben"] = MARKS["ada"]
MARKS["cleo"] = MARKS["ada"]
MARKS["mallory"] = {}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A gradebook with marks as a class that was graded and read by people would have them."""
    folder = tmp_path_factory.mktemp("grades")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COURSE_GRADING", str(folder))
        patch.setenv("PATH", os.environ["PATH"])
        course = load_course(ROOT)
        (folder / "roster.csv").write_text(ROSTER, "utf-8")
        with ClassGradebook(course):
            pass
        with Gradebook(f"sqlite:///{folder / 'gradebook.db'}", course.id) as gradebook:
            gradebook.update_or_create_assignment("attention", duedate="2030-03-01 18:00:00 UTC")
            for student, notebooks in MARKS.items():
                gradebook.add_student(student)
                gradebook.add_submission("attention", student, timestamp="2030-03-01 12:00 UTC")
                for grade in _grades_of(gradebook, student):
                    given = notebooks.get(grade.notebook.name, {})
                    if grade.name in given.get("auto", {}):
                        grade.auto_score = given["auto"][grade.name]
                    elif grade.name in given.get("manual", {}):
                        grade.manual_score = given["manual"][grade.name]
                    else:
                        grade.auto_score = 0
                    grade.needs_manual_grade = False
            comment = gradebook.find_comment(
                "answer_collaborators", "2_attention_from_scratch", "attention", "ben"
            )
            comment.auto_comment = "No response."
            comment = gradebook.find_comment(
                "answer_collaborators", "3_finetune_roberta", "attention", "ben"
            )
            comment.auto_comment = "No response."
            gradebook.find_grade(
                "answer_1_3_1", "1_query_crafting", "attention", "ada"
            ).needs_manual_grade = True
            gradebook.db.commit()
    return folder


def _grades_of(gradebook, student):
    submission = gradebook.find_submission("attention", student)
    return [grade for notebook in submission.notebooks for grade in notebook.grades]


@pytest.fixture
def graded_course(folder, monkeypatch):
    monkeypatch.setenv("COURSE_GRADING", str(folder))
    return load_course(ROOT)


def by_name(grades):
    return {grade.entry.student: grade for grade in grades}


# By hand. Outside 1.4, notebook 1: 8 + 2 = 10. Section 1.4: 4 automatic + 3 by hand = 7.
# Notebook 2: 6 + 5.5 = 11.5. Notebook 3: 4 + 1.5 = 5.5. Together outside 1.4: 27.
GRADUATE = 27 + 7  # all of it required, of 110
UNDERGRADUATE = 27 + 3.5  # section 1.4 counts half, on top of 100


def test_both_tracks_agree_with_sums_done_by_hand(graded_course):
    grades, notes = work_out_grades(graded_course)
    found = by_name(grades)
    assert (found["ada"].total, found["ada"].out_of) == (GRADUATE, 110)
    assert (found["cleo"].total, found["cleo"].out_of) == (UNDERGRADUATE, 100)
    # Two notebooks with the collaborators left open cost 2 % of the 100 points, once.
    assert found["ben"].total == UNDERGRADUATE - 2
    assert (found["dora"].total, found["dora"].handed_in) == (0, False)
    assert "mallory" not in found
    assert any("mallory" in note for note in notes) and any("dora" in note for note in notes)


def test_the_sums_are_explained(graded_course):
    found = by_name(work_out_grades(graded_course)[0])
    text = "\n".join(found["ben"].explain())
    assert "1_query_crafting: 8 of 8 by the autograder, 2 of 12 by hand" in text
    assert "section 1.4 on top, 7 of 10 times 0.5: +3.5" in text
    assert "-2: collaborators left open in 2_attention_from_scratch, 3_finetune_roberta" in text
    assert "Sum: 28.5 of 100" in text
    assert "1 answers still wait for a person" in "\n".join(found["ada"].explain())


def test_late_work_is_penalised_by_nbgraders_plugin_on_the_score_as_it_is_now(graded_course):
    with ClassGradebook(graded_course) as gradebook:
        gradebook.config.LateSubmissionPlugin.penalty_method = "zero"
        penalise = gradebook.make_late_rule()
        submission = gradebook.read_submissions()["cleo"]
    assert penalise("cleo", 5.5, 60.0) == 5.5, "nbgrader's own `zero`: nothing is left"
    late = timedelta(days=1, hours=20)
    moved = type(submission)(submission.due + late, submission.due, None)
    assert moved.count_seconds_late() == late.total_seconds()
    assert moved.count_seconds_late(timedelta(days=2)) == 0, "the roster's extension covers it"


def test_a_late_class_loses_its_points_and_an_extension_keeps_them(
    graded_course, folder, course_copy
):
    config = course_copy / "nbgrader_config.py"
    config.write_text(
        config.read_text("utf-8") + "\nc.LateSubmissionPlugin.penalty_method = 'zero'\n", "utf-8"
    )
    database = f"sqlite:///{folder / 'gradebook.db'}"

    def hand_in_at(time):
        with Gradebook(database, graded_course.id) as gradebook:
            for student in ("ada", "cleo"):
                gradebook.update_or_create_submission("attention", student, timestamp=time)

    hand_in_at("2030-03-02 18:00:00 UTC")  # a day late; cleo has two days more
    try:
        done = run_autograder(
            "grades", "--explain", cwd=course_copy, COURSE_GRADING=str(folder), COLUMNS="200"
        )
        assert done.returncode == 0, done.stderr
        assert "24.0 hours late" in done.stdout
        rows = {row["student"]: row for row in csv.DictReader(
            io.StringIO((folder / "grades-csv.csv").read_text("utf-8-sig")))}  # fmt: skip
        assert rows["ada"]["total"] == "0" and rows["ada"]["late penalty"] == f"-{GRADUATE}"
        assert rows["cleo"]["total"] == "30.5"
    finally:
        hand_in_at("2030-03-01 12:00:00 UTC")


def test_without_a_roster_a_track_has_to_be_said(graded_course, folder):
    (folder / "roster.csv").rename(folder / "away.csv")
    try:
        with pytest.raises(CourseError, match="--track undergraduate or --track graduate"):
            work_out_grades(graded_course)
        found = by_name(work_out_grades(graded_course, "graduate")[0])
        assert found["cleo"].total == GRADUATE and "mallory" in found
        with pytest.raises(CourseError, match="no track 'master'"):
            work_out_grades(graded_course, "master")
    finally:
        (folder / "away.csv").rename(folder / "roster.csv")


def test_only_one_track(graded_course):
    assert set(by_name(work_out_grades(graded_course, "graduate")[0])) == {"ada", "dora"}


def test_the_files_are_as_canvas_moodle_and_spreadsheets_import_them(graded_course, tmp_path):
    grades, _ = work_out_grades(graded_course)
    read = {}
    for form in ("csv", "canvas", "moodle"):
        write_grades(grades, graded_course, form, tmp_path / form)
        text = (tmp_path / form).read_bytes().decode("utf-8-sig")
        read[form] = list(csv.reader(io.StringIO(text)))
    canvas = read["canvas"]
    assert canvas[0][:5] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    assert canvas[1] == ["    Points Possible", "", "", "", "", "110", "100"]
    assert ["Lund, Ada", "101", "ada", "alund", "A", "34", ""] in canvas
    assert ["Weiss, Ben", "102", "ben", "bweiss", "B", "", "28.5"] in canvas
    moodle = {row[0]: row for row in read["moodle"]}
    assert moodle["Username"][5] == graded_course.title
    assert moodle["bweiss"][5] == "28.5" and "collaborators" in moodle["bweiss"][6]
    assert moodle["cleo"][3] == "'=Cleo", "no spreadsheet takes a name for a formula"
    plain = {row[0]: dict(zip(read["csv"][0], row, strict=True)) for row in read["csv"][1:]}
    assert plain["ada"]["total"] == "34" and plain["ada"]["waiting"] == "1"
    assert plain["ben"]["collaborators penalty"] == "-2"
    for row in plain.values():  # the columns add up to the total
        parts = [float(v) for k, v in row.items() if ":" in k or k.endswith("penalty")]
        assert sum(parts) == float(row["total"])


@pytest.mark.parametrize("first", ["a person", "the autograder"])
def test_hand_grading_first_or_later_gives_the_same(tmp_path, monkeypatch, blueprint, first):
    """A mark given in formgrader stands, whichever came first."""
    from autograder.grading import make_output
    from autograder.judge import Verdict
    from autograder.personas import fill_in, solve_all
    from autograder.submissions import restore

    monkeypatch.setenv("COURSE_GRADING", str(tmp_path))
    course = load_course(ROOT)
    (tmp_path / "submitted" / "ada" / "attention").mkdir(parents=True)
    notebook = restore(fill_in(blueprint, solve_all(blueprint), "Because."), blueprint).notebook
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id", "").startswith("test_"):
            cell.outputs = [make_output(Verdict(2.0, 2.0, "passed"))]

    def read_by_a_person(gradebook):
        grade = gradebook._book.find_grade("answer_1_2_3", blueprint.name, "attention", "ada")
        grade.manual_score, grade.needs_manual_grade = 1.5, False
        gradebook._book.db.finish()

    with ClassGradebook(course) as gradebook:
        if first == "a person":
            gradebook._book.update_or_create_student("ada")
            gradebook._book.update_or_create_submission("attention", "ada")
            read_by_a_person(gradebook)
        gradebook.write("ada", blueprint.name, nbformat.from_dict(notebook), keep_reviews=False)
        if first != "a person":
            gradebook._book._grades = {}
            read_by_a_person(gradebook)
    (grade,) = work_out_grades(course, "graduate")[0]
    assert grade.total == 12 + 1.5


def test_an_extension_of_what_is_never_due_is_no_trouble(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_GRADING", str(tmp_path))
    course = load_course(ROOT)
    record_assignment(course)
    (tmp_path / "roster.csv").write_text(ROSTER, "utf-8")
    with ClassGradebook(course) as gradebook:
        gradebook._book.update_or_create_student("cleo")
        gradebook._book.update_or_create_submission(
            "attention", "cleo", timestamp="2030-03-01 12:00 UTC"
        )
        gradebook._book.db.finish()
        gradebook.register(gradebook._roster["cleo"])
        assert gradebook.read_submissions()["cleo"].count_seconds_late() == 0
