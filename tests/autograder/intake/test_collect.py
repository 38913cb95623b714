"""What learning systems let instructors download ends up with the right student, and dated."""

import io
import json
import os
import zipfile
from datetime import UTC, datetime

import nbformat
import pytest

from autograder.blueprint import load_blueprints
from autograder.classroom.gradebook import Mark
from autograder.course import CourseError
from autograder.demo.personas import fill_in, solve_all
from autograder.intake.arrivals import find_students, settle
from autograder.intake.collect import collect
from autograder.intake.collected import Log
from autograder.reports.grades import _compare_with_gradescope
from autograder.roster import read_roster
from tests.autograder.classroom.classes import grading_into
from tests.autograder.intake.odd_students import FIRST, make_odd_students, put, read_scores
from tests.conftest import run_autograder

CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section,Attention (77)\n"
    "    Points Possible,,,,,110\n"
    '"Lund, Ada",101,s-1,alund,A,\n'
    '"Müller, Jörg",102,s-2,jmueller,B,\n'
    '"Student, Test",999,,,A,\n'
)
MOODLE = "First name,Last name,ID number,Email address\nAda,Lund,s-1,ada@x.org\nJörg,Müller,s-2,j@x.org\n"
BLACKBOARD = (
    '"Last Name"\t"First Name"\t"Username"\t"Student ID"\t"Last Access"\n'
    '"Lund"\t"Ada"\t"alund"\t"s-1"\t"2030-01-01"\n'
)


@pytest.fixture
def grading(tmp_path):
    folder = tmp_path / "grading"
    folder.mkdir()
    with grading_into(folder) as assignment:
        yield folder, assignment


def pack(path, files, when=(2030, 3, 1, 12, 0, 0)):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            stamp = when
            if isinstance(content, tuple):
                content, stamp = content
            archive.writestr(zipfile.ZipInfo(name, stamp), content)
    return path


# -------------------------------------------------------------------------------------- rosters


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_a_canvas_export_is_a_roster_in_every_encoding_of_excel(grading, encoding, tmp_path):
    path = tmp_path / "canvas.csv"
    path.write_bytes(CANVAS.encode(encoding))
    roster = read_roster(path, grading[1])
    assert list(roster) == ["alund", "jmueller"]
    found = roster["jmueller"]
    assert (found.name, found.lms_id, found.sis_id) == ("Müller, Jörg", "102", "s-2")
    assert (found.first_name, found.last_name, found.section) == ("Jörg", "Müller", "B")


def test_moodle_and_blackboard_too_and_tracks_are_kept(grading, tmp_path):
    folder, assignment = grading
    moodle, blackboard, own = (tmp_path / name for name in ("m.csv", "b.xls", "own.csv"))
    moodle.write_bytes(("sep=,\n" + MOODLE).encode("utf-8-sig"))
    assert read_roster(moodle, assignment)["s-2"].email == "j@x.org"
    blackboard.write_bytes(BLACKBOARD.encode("utf-16"))
    assert read_roster(blackboard, assignment)["alund"].lms_id == "s-1"
    own.write_text("student,track,extension_days\ns-1,graduate,2\n")
    run_autograder("roster", own, COURSE_GRADING=str(folder))
    done = run_autograder("roster", moodle, COURSE_GRADING=str(folder))
    assert "read as Moodle's export: Lund, Ada hands in as 's-1'." in done.stdout
    assert "Tracks and extensions of 1 students were kept" in done.stdout
    entry = read_roster(folder / "roster.csv", assignment)["s-1"]
    assert entry.track == "graduate" and entry.extension.days == 2 and entry.name == "Lund, Ada"
    (tmp_path / "book.csv").write_bytes(b"PK\x03\x04rest")
    with pytest.raises(CourseError, match="save it as CSV"):
        read_roster(tmp_path / "book.csv", assignment)


# ------------------------------------------------------------------------------------- downloads


@pytest.fixture
def enrolled(grading, tmp_path):
    (grading[0] / "roster.csv").write_text(CANVAS, "utf-8")
    return grading


def stamp(folder, student):
    return (folder / "submitted" / student / "attention" / "timestamp.txt").read_text().strip()


def names(folder, student):
    place = folder / "submitted" / student / "attention"
    return sorted(p.relative_to(place).as_posix() for p in place.rglob("*") if p.is_file())


def test_moodles_zip_and_what_is_handed_in_again(enrolled, tmp_path):
    folder, assignment = enrolled
    first = pack(tmp_path / "all.zip", {
        "Ada Lund_5001_assignsubmission_file_/work.ipynb": "one",
        "Jörg Müller_5002_assignsubmission_file_work.ipynb": ("his", (2030, 2, 27, 9, 0, 0)),
        "Ada Lund_5001_assignsubmission_onlinetext_/onlinetext.html": "<p>hello",
        "Mallory Who_5003_assignsubmission_file_/work.ipynb": "whose",
    })  # fmt: skip
    done = collect(assignment, [first])
    assert [label.rpartition(": ")[2] for label in done.unmatched] == [
        "Mallory Who_5003_assignsubmission_file_/work.ipynb names nobody on the roster"
    ]
    assert names(folder, "alund") == ["work.ipynb"], "a file's own time is nobody's word"
    assert Log(assignment).entries["alund"]["work.ipynb"]["says"] == "file"
    again = pack(tmp_path / "later.zip", {
        "Ada Lund_5001_assignsubmission_file_/work.ipynb": "two",
        "Jörg Müller_5002_assignsubmission_file_work.ipynb": ("his", (2030, 2, 27, 9, 0, 0)),
    }, when=(2030, 3, 9, 12, 0, 0))  # fmt: skip
    done = collect(assignment, [again])
    assert done.known == 1 and len(done.placed) == 1
    kept = [name for name in names(folder, "alund") if name.endswith(".ipynb")]
    assert len(kept) == 2 and any("2030-03-09" in name for name in kept)
    assert (folder / "submitted/alund/attention/work.ipynb").read_text() == "one"
    assert collect(assignment, [again, first]).placed == [], "nothing new"


def test_canvas_by_ids_gradescope_by_its_own_time_and_folders_by_name(enrolled, tmp_path):
    folder, assignment = enrolled
    manifest = io.BytesIO()
    with zipfile.ZipFile(manifest, "w") as archive:
        archive.writestr("manifest.json", json.dumps({"made": "2030-02-28T10:00:00+00:00"}))
    canvas = pack(tmp_path / "canvas.zip", {
        "lundada_LATE_101_7001_1_query_crafting-2.ipynb": "one",
        "mullerjorg_102_7002_submission.zip": manifest.getvalue(),
        "whoever_555_7003_x.ipynb": "?",
    })  # fmt: skip
    done = collect(assignment, [canvas])
    assert len(done.unmatched) == 1
    assert "1_query_crafting.ipynb" in names(folder, "alund")
    assert names(folder, "jmueller") == ["submission.zip"], "no moment that a student wrote"
    export = tmp_path / "gradescope"
    (export / "submission_9").mkdir(parents=True)
    (export / "submission_9" / "2_attention_from_scratch.ipynb").write_text("nine")
    (export / "submission_metadata.yml").write_text(
        "submission_9:\n  :submitters:\n  - :name: Ada Lund\n    :sid: s-1\n    :email: a@x.org\n"
        "  :created_at: 2030-04-01 08:00:00.000 Z\n"
    )
    collect(assignment, [export])
    assert "2_attention_from_scratch.ipynb" in names(folder, "alund")
    assert stamp(folder, "alund") == "2030-04-01 08:00:00 UTC"
    loose = tmp_path / "mail"
    loose.mkdir()
    (loose / "jmueller_notebook 3.ipynb").write_text("three")
    (loose / "Ada LUND").mkdir()
    (loose / "Ada LUND" / "3_finetune_roberta.ipynb").write_text("three")
    assert not collect(assignment, [loose]).unmatched
    assert "jmueller_notebook 3.ipynb" in names(folder, "jmueller")
    assert "3_finetune_roberta.ipynb" in names(folder, "alund")


def test_nothing_leaves_the_students_folder(enrolled, tmp_path):
    folder, assignment = enrolled
    evil = pack(tmp_path / "evil.zip", {
        "Ada Lund_1_assignsubmission_file_/../../../../evil.ipynb": "x",
        "Ada Lund_1_assignsubmission_file_/timestamp.txt": "1999-01-01 00:00:00 UTC",
    })  # fmt: skip
    collect(assignment, [evil])
    assert not list(tmp_path.glob("evil.ipynb")) and not list(folder.glob("*.ipynb"))
    assert names(folder, "alund") == ["evil.ipynb"], "no moment that a student wrote"


def test_the_command_says_what_is_missing(grading, tmp_path):
    zipped = pack(tmp_path / "a.zip", {"Nobody_1_assignsubmission_file_/a.ipynb": "x"})
    done = run_autograder("collect", zipped, COURSE_GRADING=str(grading[0]))
    assert done.returncode == 1 and "There is no roster" in done.stderr
    (grading[0] / "roster.csv").write_text(CANVAS, "utf-8")
    done = run_autograder("collect", zipped, COURSE_GRADING=str(grading[0]))
    assert done.returncode == 1 and "names nobody on the roster" in done.stderr
    (tmp_path / "b.zip").write_bytes(b"no zip")
    done = run_autograder("collect", tmp_path / "b.zip", COURSE_GRADING=str(grading[0]))
    assert "cannot be read as a zip file" in done.stderr


# --------------------------------------------------- the names and times that systems really write


def test_the_moment_of_the_download_is_nobodys_moment_of_handing_in(enrolled, tmp_path):
    """Moodle since 4.1, with no _ after the folder's name, and Canvas pack everything with that."""
    folder, assignment = enrolled
    done = collect(assignment, [pack(tmp_path / "moodle.zip", {
        "Ada Lund_5001_assignsubmission_file/week 3/1.ipynb": "one",
        "Jörg Müller_5002_assignsubmission_file/1.ipynb": ("two", (2030, 3, 1, 12, 4, 0)),
    })])  # fmt: skip
    assert not done.unmatched and names(folder, "alund") == ["week 3/1.ipynb"]
    assert not any(when for _, _, when in done.placed)
    canvas = pack(tmp_path / "canvas.zip", {"lundada_LATE_101_7001_2.ipynb": "late"})
    done = run_autograder("collect", canvas, COURSE_GRADING=str(folder))
    assert done.returncode == 0 and "calls work of alund late" in done.stdout
    assert "when is not known" in done.stdout and "timestamp.txt" not in names(folder, "alund")


def test_canvas_numbers_stay_where_they_tell_two_files_apart(enrolled, tmp_path):
    """Whatever their order in the zip, -10 is later than -9; alone, a number is Canvas's own count."""
    folder, assignment = enrolled
    collect(assignment, [pack(tmp_path / "canvas.zip", {
        "lundada_101_7001_work-9.zip": "nine",
        "lundada_101_7002_work-10.zip": "ten",
        "lundada_101_7003_test_predictions-3.csv": "table",
    })])  # fmt: skip
    assert names(folder, "alund") == ["test_predictions.csv", "work-10.zip", "work-9.zip"]


def test_only_work_that_counts_can_be_late(enrolled, tmp_path):
    """A blank notebook or a request after the deadline does not make good work late."""
    folder, assignment = enrolled
    kit = load_blueprints(assignment)
    good = nbformat.writes(fill_in(kit[FIRST], solve_all(kit[FIRST])))
    other = nbformat.writes(fill_in(kit[FIRST], {"q_select_first": "q_select_first = 1"}))
    blank = nbformat.writes(fill_in(kit[FIRST], {}))
    start = "Attention_alund_attempt_2030-0"
    for moment, name, content in (
        ("3-01-09-00-00", f"{FIRST}.ipynb", good),
        ("3-09-09-00-00", f"{FIRST}.ipynb", blank),
        ("4-09-09-00-00", "regrade_request.txt", "1.2.3: please"),
    ):
        collect(assignment, [pack(tmp_path / "b.zip", {f"{start}{moment}_{name}": content})])
        settle(folder / "submitted" / "alund" / "attention", kit)
        expected = datetime(2030, 3, 1, 9).astimezone(UTC)
        assert stamp(folder, "alund") == f"{expected:%Y-%m-%d %H:%M:%S} UTC", name
    late = pack(tmp_path / "b.zip", {f"{start}5-01-09-00-00_{FIRST}.ipynb": other})
    collect(assignment, [late])
    assert stamp(folder, "alund").startswith("2030-05-01"), "new work counts, and is late"
    canvas = pack(tmp_path / "c.zip", {f"lundada_LATE_101_7001_{FIRST}.ipynb": good.replace("10 *", "11 *")},
                  when=(2031, 1, 1, 0, 0, 0))  # fmt: skip
    collect(assignment, [canvas])
    assert "timestamp.txt" not in names(folder, "alund"), (
        "it counts now, and nobody says when it came"
    )


@pytest.mark.parametrize(
    "written", ["Wednesday, 10 June 2026, 2:14 PM", "Wednesday, June 10, 2026, 2:14 PM", "10 June 2026, 14:14"]
)  # fmt: skip
def test_moodles_worksheet_says_who_and_when(enrolled, tmp_path, written, monkeypatch):
    folder, assignment = enrolled
    sheet = tmp_path / "Grades-CS-1.csv"
    head = "Identifier,Full name,ID number,Email address,Status,Last modified (submission)\n"
    rows = f'Participant 5001,Ada Lund,s-1,a@x.org,"Submitted, 3 mins late","{written}"\n'
    sheet.write_text(
        head + rows + "Participant 5002,Jörg Müller,s-2,j@x.org,No submission,-\n", "utf-8-sig"
    )
    blind = pack(tmp_path / "all.zip", {"Participant_5001_assignsubmission_file/1.ipynb": "x"})
    assert collect(assignment, [blind]).unmatched, "a number alone names nobody"
    named = pack(tmp_path / "named.zip", {"Ada Lund_5001_assignsubmission_file/1.ipynb": "x"})
    collect(assignment, [named])
    assert names(folder, "alund") == ["1.ipynb"], "without the worksheet nobody knows when"
    assert not collect(assignment, [sheet, blind]).unmatched
    expected = datetime(2026, 6, 10, 14, 14).astimezone(UTC)
    assert stamp(folder, "alund") == f"{expected:%Y-%m-%d %H:%M:%S} UTC"
    sheet.write_text(head + rows.replace(written, "neulich"), "utf-8")
    with pytest.raises(CourseError, match="line 2: 'neulich' is no time"):
        collect(assignment, [sheet, blind])


def test_blackboards_names_and_a_folder_around_everything(enrolled, tmp_path):
    folder, assignment = enrolled
    export = pack(tmp_path / "gradebook.zip", {
        "gradebook_X/Attention_week 1_alund_attempt_2030-02-27-09-30-00.txt": "Name: Ada",
        "gradebook_X/Attention_week 1_alund_attempt_2030-02-27-09-30-00_1_query_crafting.ipynb": "hers",
        "gradebook_X/Attention_week 1_jmueller_attempt_2030-02-28-09-30-00_my_1_2_try.ipynb": "his",
    })  # fmt: skip
    assert not collect(assignment, [export]).unmatched
    assert names(folder, "alund") == ["1_query_crafting.ipynb", "timestamp.txt"]
    assert names(folder, "jmueller") == ["my_1_2_try.ipynb", "timestamp.txt"]
    expected = datetime(2030, 2, 27, 9, 30).astimezone(UTC)
    assert stamp(folder, "alund") == f"{expected:%Y-%m-%d %H:%M:%S} UTC"


def test_a_students_own_folder_is_not_taken_for_canvas_and_namesakes_are_said(grading, tmp_path):
    folder, assignment = grading
    (folder / "roster.csv").write_text("student,name\nada,Ada Lund\nada2,Ada Lund\n", "utf-8")
    loose = tmp_path / "mail"
    (loose / "ada").mkdir(parents=True)
    (loose / "ada" / "task_1_2_mine.ipynb").write_text("x")
    (loose / "Ada Lund.ipynb").write_text("whose?")
    done = collect(assignment, [loose])
    assert names(folder, "ada") == ["task_1_2_mine.ipynb"]
    zipped = pack(tmp_path / "m.zip", {"Ada Lund_9_assignsubmission_file/a.ipynb": "x"})
    assert collect(assignment, [zipped]).unmatched[0].endswith("fits several on the roster")
    assert len(done.unmatched) == 1
    alone = pack(tmp_path / "one.zip", {"ada2/deep/1.ipynb": "x"})
    assert not collect(assignment, [alone]).unmatched and "deep/1.ipynb" in names(folder, "ada2")


def test_gradescopes_points_come_back_for_each_of_a_group(enrolled, tmp_path):
    folder, assignment = enrolled
    metadata = (
        "submission_9:\n  :submitters:\n  - :name: Ada Lund\n    :sid: s-1\n"
        "  - :name: Jörg Müller\n    :email: j@x.org\n"
        "  :created_at: 2030-04-01 08:00:00.000 Z\n  :score: 40.0\n  :results:\n    tests:\n"
        "    - {name: 'Query crafting: a', score: 2.0, max_score: 2.0}\n"
        "    - {name: 'Query crafting: b', score: 1.0, max_score: 2.0}\n"
        "    - {name: What arrived, output: hello}\n"
        "submission_10: nonsense\n"
    )
    export = pack(tmp_path / "assignment_export.zip", {
        "assignment_1_export/submission_metadata.yml": metadata,
        "assignment_1_export/submission_9/1_query_crafting.ipynb": "both",
    })  # fmt: skip
    done = run_autograder("collect", export, COURSE_GRADING=str(folder))
    assert done.returncode == 0 and "Gradescope's points of 2 students were kept" in done.stdout
    assert names(folder, "alund") == names(folder, "jmueller")
    kept = Log(assignment, "-gradescope").entries
    assert kept["alund"]["score"] == kept["jmueller"]["score"] == 3.0
    assert "Gradescope's own run gave 3 (submission_9)" in run_autograder(
        "history", "alund", COURSE_GRADING=str(folder)).stdout  # fmt: skip
    marks = {"alund": [Mark("alund", FIRST, "test_a", 2, 2.0, None, None, False, False)]}
    assert _compare_with_gradescope(assignment, marks) == [
        "alund saw 3 automatic points on Gradescope; the gradebook has 2."
    ]
    assert not Log(assignment).entries["alund"].keys() - {"1_query_crafting.ipynb"}


# ------------------------------------------------------------------------- the odd students again


def collect_odd_students(grading, tmp_path, system):
    """Have the odd students' files come in a download; return those whose work can be graded."""
    folder, assignment = grading
    students = [s for s in make_odd_students(load_blueprints(assignment)) if s.earns]
    roster, files = ["student,name,lms_id"], {}
    for number, student in enumerate(students, start=100):
        roster.append(f"{student.name},First {student.name},{number}")
        place = tmp_path / "hands-in" / student.name
        put(student, place)
        for path in sorted(p for p in place.rglob("*") if p.is_file()):
            inner = path.relative_to(place).as_posix()
            when = datetime.fromtimestamp(path.stat().st_mtime).timetuple()[:6]
            if system == "moodle":
                name = f"First {student.name}_{number}_assignsubmission_file_/{inner}"
            elif "ipynb_checkpoints" in inner or "MACOSX" in inner:
                continue  # nobody hands these in one by one
            else:
                key = student.name.replace("-", "")
                name = f"{key}first_{number}_{number + 500}_{path.name}"
            files[name] = path.read_bytes(), (*when[:5], when[5] // 2 * 2)
    (folder / "roster.csv").write_text("\n".join(roster), "utf-8")
    done = collect(assignment, [pack(tmp_path / "all.zip", files)])
    assert not done.unmatched and not done.problems
    return students


systems = pytest.mark.parametrize("system", ["moodle", "canvas"])


@systems
def test_odd_students_through_a_download(grading, tmp_path, system):
    """What is chosen is what `grade` chooses for the same files."""
    folder, assignment = grading
    kit = load_blueprints(assignment)
    students = collect_odd_students(grading, tmp_path, system)
    strays = find_students(assignment)
    for student in students:
        place = folder / "submitted" / student.name / "attention"
        restored = settle(place, kit, strays[student.name]).restore(kit[FIRST])
        assert restored.trouble is None, student.name
        code = {c.metadata.get("nbgrader", {}).get("grade_id"): c.source
                for c in restored.notebook.cells}["q_select_first"]  # fmt: skip
        worse = "q_select_first = 0" in code
        assert worse == (student.earns[FIRST] < kit[FIRST].auto_points), student.name
        assert code != kit[FIRST].find("q_select_first").release.source, student.name
        assert not os.path.exists(place / "timestamp.txt"), "neither system says when"


@pytest.mark.soak
@systems
def test_odd_students_get_what_they_earned_through_a_download(grading, tmp_path, system):
    folder, _ = grading
    students = collect_odd_students(grading, tmp_path, system)
    done = run_autograder("grade", "--json", "--notebook", FIRST, COURSE_GRADING=str(folder))
    assert done.returncode == 0, done.stdout + done.stderr
    scores = read_scores(folder)
    assert {s.name: scores[s.name, FIRST] for s in students} == {
        s.name: s.earns[FIRST] for s in students
    }
