"""Grades: the tracks, the collaborators rule and late work, against sums done by hand."""

import csv
import io
import os
import shutil
from datetime import UTC, datetime, timedelta

import nbformat
import pytest
from nbgrader.api import Gradebook

from autograder.classroom.gradebook import ClassGradebook, Deadline, Mark, record_assignment
from autograder.course import CourseError, load_assignment, load_course
from autograder.reports.grades import (
    CourseGrade,
    Grade,
    Part,
    _plain,
    require_marked,
    work_out_course,
    work_out_grades,
    write_course,
    write_grades,
)
from autograder.roster import Entry
from tests.conftest import FULL, ROOT, run_autograder

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
        assignment = load_assignment("attention", ROOT)
        (folder / "roster.csv").write_text(ROSTER, "utf-8")
        with ClassGradebook(assignment):
            pass
        with Gradebook(f"sqlite:///{folder / 'gradebook.db'}", assignment.course.id) as gradebook:
            gradebook.update_or_create_assignment("attention", duedate="2025-03-01 18:00:00 UTC")
            for student, notebooks in MARKS.items():
                gradebook.add_student(student)
                gradebook.add_submission("attention", student)
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
def graded_assignment(folder, monkeypatch):
    monkeypatch.setenv("COURSE_GRADING", str(folder))
    return load_assignment("attention", ROOT)


def by_name(grades):
    return {grade.entry.student: grade for grade in grades}


# By hand. Outside 1.4, notebook 1: 8 + 2 = 10. Section 1.4: 4 automatic + 3 by hand = 7.
# Notebook 2: 6 + 5.5 = 11.5. Notebook 3: 4 + 1.5 = 5.5. Together outside 1.4: 27.
PLANS = load_assignment("attention", ROOT).notebooks
TOTAL = sum(plan.auto + plan.manual for plan in PLANS)
PENALTY = 0.02 * (TOTAL - 10)
EXTRA = 10  # the points of section 1.4
GRADUATE = 27 + 7  # all of it required
UNDERGRADUATE = 27 + 3.5  # section 1.4 counts half, on top of what is left


def test_both_tracks_agree_with_sums_done_by_hand(graded_assignment):
    grades, notes = work_out_grades(graded_assignment)
    found = by_name(grades)
    assert (found["ada"].total, found["ada"].out_of) == (GRADUATE, TOTAL)
    assert (found["cleo"].total, found["cleo"].out_of) == (UNDERGRADUATE, TOTAL - EXTRA)
    # Two notebooks with the collaborators left open cost 2 % of the points without 1.4, once.
    assert found["ben"].total == UNDERGRADUATE - PENALTY
    assert (found["dora"].total, found["dora"].handed_in) == (0, False)
    assert "mallory" not in found
    assert any("mallory" in note for note in notes) and any("dora" in note for note in notes)


def test_the_sums_are_explained(graded_assignment):
    found = by_name(work_out_grades(graded_assignment)[0])
    text = "\n".join(found["ben"].explain())
    assert "1_query_crafting: 8 of 8 by the autograder, 2 of 12 by hand" in text
    assert "section 1.4 on top, 7 of 10 times 0.5: +3.5" in text
    assert (
        f"-{PENALTY:g}: collaborators left open in 2_attention_from_scratch, 3_finetune_roberta"
        in text
    )
    assert f"Sum: {UNDERGRADUATE - PENALTY:g} of {TOTAL - EXTRA:g}" in text
    assert "1 answer still waits for a person" in "\n".join(found["ada"].explain())


def test_late_work_is_penalised_by_nbgraders_plugin_on_the_score_as_it_is_now(graded_assignment):
    with ClassGradebook(graded_assignment) as gradebook:
        gradebook.config.LateSubmissionPlugin.penalty_method = "zero"
        penalise = gradebook.make_late_rule()
        deadline = gradebook.read_deadlines()["attention"]
    assert penalise("cleo", 5.5, 60.0) == 5.5, "nbgrader's own `zero`: nothing is left"
    due = datetime(2025, 3, 1, 18, tzinfo=UTC)
    roster = {"cleo": Entry("cleo", extension=timedelta(days=2))}
    assert deadline.find_end("ada", roster, "attention") == due
    assert deadline.find_end("cleo", roster, "attention") == due + timedelta(days=2)


def test_a_late_class_loses_its_points_and_an_extension_keeps_them(
    graded_assignment, folder, course_copy
):
    """What is entered takes effect at once: nothing is graded in between."""
    config = course_copy / "nbgrader_config.py"
    config.write_text(
        config.read_text("utf-8") + "\nc.LateSubmissionPlugin.penalty_method = 'zero'\n", "utf-8"
    )

    def run(*arguments):
        done = run_autograder(
            *arguments, cwd=course_copy, COURSE_GRADING=str(folder), COLUMNS="200"
        )
        assert done.returncode == 0, done.stderr
        return done

    def read_totals():
        run("grades", "--format", "csv", "--unmarked-as-zero")
        text = (folder / "grades-csv.csv").read_text("utf-8-sig")
        return {row["student"]: row for row in csv.DictReader(io.StringIO(text))}

    try:
        for student in ("ada", "cleo"):  # a day late; cleo has two days more
            run("date", student, "2025-03-02 18:00:00 UTC")
        assert "24.0 hours late" in run("grades", "--explain", "ada").stdout
        rows = read_totals()
        assert rows["ada"]["total"] == "0" and rows["ada"]["late penalty"] == f"-{GRADUATE}"
        assert rows["cleo"]["total"] == "30.5"
        run("date", "ada", "2025-03-01 17:59:59 UTC")
        assert read_totals()["ada"]["total"] == f"{GRADUATE}"
        run("date", "ada", "--remove")
        assert read_totals()["ada"]["total"] == f"{GRADUATE}", "nobody says when"
    finally:
        (folder / "dates.csv").unlink(missing_ok=True)
        (folder / "grades-csv.csv").unlink(missing_ok=True)


def test_without_a_roster_a_track_has_to_be_said(graded_assignment, folder):
    (folder / "roster.csv").rename(folder / "away.csv")
    try:
        with pytest.raises(CourseError, match="--track undergraduate or --track graduate"):
            work_out_grades(graded_assignment)
        found = by_name(work_out_grades(graded_assignment, "graduate")[0])
        assert found["cleo"].total == GRADUATE and "mallory" in found
        with pytest.raises(CourseError, match="no track 'master'"):
            work_out_grades(graded_assignment, "master")
    finally:
        (folder / "away.csv").rename(folder / "roster.csv")


def test_unmarked_work_is_never_exported_as_zero_unless_told(graded_assignment, folder, tmp_path):
    for form in ("csv", "canvas", "moodle"):
        path = tmp_path / f"{form}.csv"
        options = ("--format", form, "--output", path)
        done = run_autograder("grades", *options, COURSE_GRADING=str(folder))
        assert done.returncode == 1 and not path.exists()
        assert "1 answer of ada not marked yet" in done.stderr
        assert "--unmarked-as-zero" in done.stderr
        done = run_autograder("grades", *options, "--unmarked-as-zero", COURSE_GRADING=str(folder))
        assert done.returncode == 0 and path.exists(), done.stderr


def test_what_cannot_be_graded_is_not_zero_by_itself(graded_assignment, folder, tmp_path):
    place = folder / "submitted" / "dora" / "attention"
    place.mkdir(parents=True)
    (place / "work.zip").write_bytes(b"PK\x03\x04 broken")
    try:
        grades, notes = work_out_grades(graded_assignment)
        dora = by_name(grades)["dora"]
        assert dora.not_gradable and "work.zip" in " ".join(dora.explain())
        assert not any("dora has handed in nothing" in note for note in notes)
        with pytest.raises(CourseError, match="the work of dora cannot be graded"):
            require_marked([dora])
    finally:
        shutil.rmtree(folder / "submitted")


def test_a_course_without_tracks_gets_grades(graded_assignment, folder, course_copy):
    toml = (course_copy / "course.toml").read_text("utf-8")
    head, _, rest = toml.partition("# A track says")
    (course_copy / "course.toml").write_text(
        head + rest[rest.index("# Each notebook opens") :], "utf-8"
    )
    (folder / "roster.csv").rename(folder / "away.csv")
    try:
        done = run_autograder("grades", "--unmarked-as-zero", "--output", course_copy / "out.csv",
                              cwd=course_copy, COURSE_GRADING=str(folder))  # fmt: skip
        assert done.returncode == 0, done.stderr
        rows = {row["student"]: row for row in csv.DictReader(
            io.StringIO((course_copy / "out.csv").read_text("utf-8-sig")))}  # fmt: skip
        assert rows["ada"]["total"] == f"{GRADUATE}" and rows["ada"]["out of"] == f"{TOTAL:g}"
    finally:
        (folder / "away.csv").rename(folder / "roster.csv")


def test_one_total_over_the_course_by_its_weights(graded_assignment, folder, course_copy):
    """By hand: 34 of 110 in the first weighs 3; 10 of 30 in part of the second weighs 1."""
    toml = (course_copy / "course.toml").read_text("utf-8")
    (course_copy / "course.toml").write_text(
        toml.replace("\nattention = 1", "\nattention = 3"), "utf-8"
    )
    course = load_course(course_copy)
    totals, notes = work_out_course(course, None)
    assert "attention_at_work is not in the total: nothing of it is graded yet." in notes
    ada = next(total for total in totals if total.entry.student == "ada")
    assert ada.total == round(100 * GRADUATE / TOTAL, 4)
    other = Grade(ada.entry, "graduate", 90.0, [Part("x", auto=30.0)], [], 0.0, 0.0, 0, True)
    both = CourseGrade(ada.entry, "graduate", {**ada.grades, "attention_at_work": other},
                       {"attention": 3, "attention_at_work": 1})  # fmt: skip
    assert both.total == pytest.approx(100 * (3 * GRADUATE / TOTAL + 30 / 90) / 4, abs=1e-3)
    write_course([both], course, "canvas", course_copy / "all.csv")
    text = (course_copy / "all.csv").read_text("utf-8")
    assert "Attention and transformers" in text and "    Points Possible,,,,,100" in text


def test_only_one_track(graded_assignment):
    assert set(by_name(work_out_grades(graded_assignment, "graduate")[0])) == {"ada", "dora"}


def test_the_files_are_as_canvas_moodle_and_spreadsheets_import_them(graded_assignment, tmp_path):
    grades, _ = work_out_grades(graded_assignment)
    read = {}
    for form in ("csv", "canvas", "moodle"):
        write_grades(grades, graded_assignment, form, tmp_path / form)
        text = (tmp_path / form).read_bytes().decode("utf-8-sig")
        read[form] = list(csv.reader(io.StringIO(text)))
    canvas = read["canvas"]
    assert canvas[0][:5] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    assert canvas[1] == ["    Points Possible", "", "", "", "", f"{TOTAL:g}", f"{TOTAL - EXTRA:g}"]
    assert ["Lund, Ada", "101", "ada", "alund", "A", "34", ""] in canvas
    assert ["Weiss, Ben", "102", "ben", "bweiss", "B", "", f"{UNDERGRADUATE - PENALTY:g}"] in canvas
    moodle = {row[0]: row for row in read["moodle"]}
    assert moodle["Username"][5] == graded_assignment.title
    assert (
        moodle["bweiss"][5] == f"{UNDERGRADUATE - PENALTY:g}"
        and "collaborators" in moodle["bweiss"][6]
    )
    assert moodle["cleo"][3] == "'=Cleo", "no spreadsheet takes a name for a formula"
    plain = {row[0]: dict(zip(read["csv"][0], row, strict=True)) for row in read["csv"][1:]}
    assert plain["ada"]["total"] == "34" and plain["ada"]["waiting"] == "1"
    assert plain["ben"]["collaborators penalty"] == f"-{PENALTY:g}"
    for row in plain.values():  # the columns add up to the total
        parts = [float(v) for k, v in row.items() if ":" in k or k.endswith("penalty")]
        assert sum(parts) == float(row["total"])


@pytest.mark.parametrize("first", ["a person", "the autograder"])
def test_hand_grading_first_or_later_gives_the_same(tmp_path, monkeypatch, blueprint, first):
    """A mark given in formgrader stands, whichever came first."""
    from autograder.demo.personas import fill_in, solve_all
    from autograder.grading.grade import make_output
    from autograder.grading.judge import Verdict
    from autograder.intake.restore import restore

    monkeypatch.setenv("COURSE_GRADING", str(tmp_path))
    assignment = load_assignment("attention", ROOT)
    (tmp_path / "submitted" / "ada" / "attention").mkdir(parents=True)
    notebook = restore(fill_in(blueprint, solve_all(blueprint), "Because."), blueprint).notebook
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id", "").startswith("test_"):
            cell.outputs = [make_output(Verdict(2.0, 2.0, "passed"))]

    def read_by_a_person(gradebook):
        grade = gradebook._book.find_grade("answer_1_2_3", blueprint.name, "attention", "ada")
        grade.manual_score, grade.needs_manual_grade = 1.5, False
        gradebook._book.db.finish()

    with ClassGradebook(assignment) as gradebook:
        if first == "a person":
            gradebook._book.update_or_create_student("ada")
            gradebook._book.update_or_create_submission("attention", "ada")
            read_by_a_person(gradebook)
        gradebook.write("ada", blueprint.name, nbformat.from_dict(notebook), keep_reviews=False)
        if first != "a person":
            gradebook._book._grades = {}
            read_by_a_person(gradebook)
    (grade,) = work_out_grades(assignment, "graduate")[0]
    assert grade.total == FULL + 1.5


def test_an_extension_of_what_is_never_due_is_no_trouble(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_GRADING", str(tmp_path))
    assignment = load_assignment("attention", ROOT)
    record_assignment(assignment)
    (tmp_path / "roster.csv").write_text(ROSTER, "utf-8")
    with ClassGradebook(assignment) as gradebook:
        gradebook._book.update_or_create_student("cleo")
        gradebook._book.update_or_create_submission(
            "attention", "cleo", timestamp="2025-03-01 12:00 UTC"
        )
        gradebook._book.db.finish()
        gradebook.register(gradebook._roster["cleo"])
        deadline = gradebook.read_deadlines()["attention"]
        assert deadline.find_end("cleo", gradebook._roster, "attention") is None


# ------------------------------------------------------------------------------- sums, by hand


def test_a_grade_never_falls_below_nothing():
    grade = Grade(Entry("ada"), "graduate", 110, [Part("n", auto=1.0)], ["n"], 2.2, 0.0, 0, True)
    assert grade.total == 0.0


def mark(**facts):
    usual = {"student": "ada", "notebook": "n", "cell": "c", "max_score": 2.0, "auto": 2.0,
             "manual": None, "extra": None, "waits": False, "written": False}  # fmt: skip
    return Mark(**usual | facts)


def test_a_persons_mark_stands_before_the_automatic_one_nothing_included():
    assert mark().score == 2.0
    assert mark(manual=0.0).score == 0.0, "a person may take points away"
    assert mark(manual=1.5, extra=0.5).score == 2.0
    assert mark(auto=None).score == 0.0 and mark(auto=None, extra=1.0).score == 0.0


def test_an_extension_in_the_gradebook_counts_for_whom_the_roster_does_not_name():
    due = datetime(2025, 3, 1, 18, tzinfo=UTC)
    deadline = Deadline(due, {"emil": timedelta(days=1)})
    assert deadline.find_end("emil", {}, "attention") == due + timedelta(days=1)
    assert deadline.find_end("emil", {"emil": Entry("emil")}, "attention") == due, (
        "taken out of the roster, it is gone, though nbgrader has it still"
    )
    own = Entry("emil", extension=timedelta(days=3), extensions={"attention": timedelta(days=2)})
    assert deadline.find_end("emil", {"emil": own}, "attention") == due + timedelta(days=2)
    assert deadline.find_end("emil", {"emil": own}, "other") == due + timedelta(days=3)


def test_cells_without_points_do_not_wait_for_anybody(graded_assignment, folder):
    course = graded_assignment.course
    with Gradebook(f"sqlite:///{folder / 'gradebook.db'}", course.id) as gradebook:
        notebook = gradebook.find_submission("attention", "cleo").notebooks[0].name
        grade = gradebook.find_grade("answer_collaborators", notebook, "attention", "cleo")
        grade.needs_manual_grade = True
        gradebook.db.commit()
    assert by_name(work_out_grades(graded_assignment)[0])["cleo"].waiting == 0


@pytest.mark.parametrize(
    "text", ["=1", "+1", "-1", "@x", " =1", "＝1", "\u200b@x", '"=1', "\xa0－1"]
)  # fmt: skip
def test_no_text_becomes_a_formula_wherever_a_spreadsheet_cuts(text):
    assert _plain(text) == f"'{text}" and _plain(f"x{text.strip()}") == f"x{text.strip()}"
    for cut in (";", "\n", "\t", "\r", "|", "\u2028"):
        assert f"{cut}'{text}" in _plain(f"Ada{cut}{text}")
        assert f"{cut}'{text}" in _plain(f"{cut}{text}")
    assert _plain("Ada; Ben - or not = 1") == "Ada; Ben - or not = 1"
