"""Who may say when work came in: the instructor, then the platform, and never a student."""

import io
import json
import os
import time
import zipfile
from datetime import UTC, datetime

import nbformat
import pytest
from nbgrader.api import Gradebook

from autograder.blueprint import load_blueprints
from autograder.classroom.gradebook import ClassGradebook, set_moments
from autograder.course import CourseError
from autograder.demo.personas import fill_in
from autograder.intake.arrivals import settle
from autograder.intake.collected import Log
from autograder.intake.moments import find_moments, read_dates, read_moment, write_stamps
from tests.autograder.classroom.classes import grading_into
from tests.conftest import run_autograder

DUE = "2025-03-01 18:00:00 UTC"
EARLY = "2025-02-01 09:00:00 UTC"
LATE = "2025-03-05 09:00:00 UTC"


@pytest.fixture
def grading(tmp_path):
    with grading_into(tmp_path) as assignment:
        for name in ("ada", "ben"):
            (tmp_path / "submitted" / name / "attention").mkdir(parents=True)
        yield tmp_path, assignment


def stamp(folder, student):
    path = folder / "submitted" / student / "attention" / "timestamp.txt"
    return path.read_text().strip() if path.exists() else None


def write_stamp(folder, student, text):
    (folder / "submitted" / student / "attention" / "timestamp.txt").write_text(text)


def collect(assignment, **students):
    log = Log(assignment)
    log.entries = {name: {"w.ipynb": {"counts": True, **entry}} for name, entry in students.items()}
    log.write()


def enter(folder, *lines):
    (folder / "dates.csv").write_text("\n".join(("student,assignment,moment", *lines)), "utf-8")


def utc(*numbers):
    return datetime(*numbers, tzinfo=UTC)


def test_the_instructor_goes_first_then_the_platform_and_nobody_else(grading):
    folder, assignment = grading
    write_stamp(folder, "ada", EARLY)
    found = find_moments(assignment)["ada"]
    assert (found.time, found.hints) == (None, {"timestamp.txt": utc(2025, 2, 1, 9)})
    collect(assignment, ada={"time": LATE, "says": "system", "hint": {"manifest": EARLY}},
            ben={"time": EARLY, "says": "manifest", "late": True})  # fmt: skip
    found = find_moments(assignment)
    assert (found["ada"].time, found["ada"].says) == (utc(2025, 3, 5, 9), "system")
    assert found["ada"].hints.keys() == {"manifest", "timestamp.txt"}
    assert (found["ben"].time, found["ben"].called_late) == (None, True)
    assert found["ben"].hints == {"manifest": utc(2025, 2, 1, 9)}
    enter(
        folder, f"ada,attention,{EARLY}", f"ben,attention,{LATE}", f"ada,attention_at_work,{LATE}"
    )
    found = find_moments(assignment)
    assert (found["ada"].time, found["ada"].says) == (utc(2025, 2, 1, 9), "instructor")
    assert (found["ben"].time, found["ben"].called_late) == (utc(2025, 3, 5, 9), False)


def test_only_files_that_count_tell_when(grading):
    _, assignment = grading
    log = Log(assignment)
    system = {"says": "system"}
    log.entries = {"ada": {"old.ipynb": system | {"time": LATE, "counts": False},
                           "new.ipynb": system | {"time": EARLY, "counts": True}},
                   "ben": {"a.ipynb": system | {"time": EARLY, "counts": True},
                           "b.ipynb": {"time": "", "late": True, "counts": True}}}  # fmt: skip
    log.write()
    found = find_moments(assignment)
    assert found["ada"].time == utc(2025, 2, 1, 9)
    assert found["ben"].called_late, "of one piece nobody says since when"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ada,attention,2999-01-01 10:00 UTC", "line 2: 2999-01-01 10:00:00 UTC is in the future"),
        ("ada,attention,yesterday", "line 2: 'yesterday' is no moment"),
        ("ada,attention,2025-03-01", "line 2: '2025-03-01' is no moment"),
        ("ada,attention,2025-02-30 10:00", "line 2: '2025-02-30 10:00' is no moment"),
        ("ada,attention,2025-10-26 02:30", "line 2: 2025-10-26 02:30 lies in an hour"),  # twice
        ("ada,attention,2025-03-30 02:30", "line 2: 2025-03-30 02:30 lies in an hour"),  # never
        ("ada,atention,2025-03-01 10:00", "line 2: there is no assignment 'atention'"),
        ("adda,attention,2025-03-01 10:00", "line 2: 'adda' is not on the roster"),
        ("ada,attention,2025-03-01 10:00,x", "line 2: there are more values"),
        ("ada,attention,2025-03-01 10:00\nada,attention,2025-03-01 11:00", "line 3: ada is there twice"),
    ],
)  # fmt: skip
def test_a_wrong_entry_is_refused_by_its_line(grading, monkeypatch, line, words):
    folder, assignment = grading
    monkeypatch.setenv("TZ", "Europe/Zurich")
    time.tzset()
    try:
        enter(folder, line)
        with pytest.raises(CourseError) as refused:
            read_dates(assignment.course)
        assert words in str(refused.value) and "dates.csv" in str(refused.value)
        assert read_moment("2025-10-26 02:30+01:00") == utc(2025, 10, 26, 1, 30)
        assert read_moment("2025-07-01 12:00") == utc(2025, 7, 1, 10)
    finally:
        monkeypatch.undo()
        time.tzset()


def test_before_the_hand_out_there_is_no_work(grading, monkeypatch):
    folder, assignment = grading
    monkeypatch.setitem(assignment.course.hand_in, "opens", {"attention": utc(2025, 2, 10)})
    enter(folder, f"ada,attention,{EARLY}")
    with pytest.raises(
        CourseError, match="line 2: 2025-02-01 09:00:00 UTC is before attention was"
    ):
        read_dates(assignment.course)
    enter(folder)
    collect(assignment, ada={"time": EARLY, "says": "system"}, ben={"time": LATE, "says": "system"})
    found = find_moments(assignment)
    assert "before attention was handed out" in found["ada"].trouble and not found["ben"].trouble


def test_what_nbgrader_reads_is_what_holds_and_never_what_a_student_wrote(grading, monkeypatch):
    monkeypatch.setenv("PATH", os.environ["PATH"])  # alembic's place is added to it
    folder, assignment = grading
    with ClassGradebook(assignment):
        pass
    database = f"sqlite:///{folder / 'gradebook.db'}"
    with Gradebook(database, assignment.course.id) as gradebook:
        for name in ("ada", "ben"):
            gradebook.add_student(name)
            gradebook.add_submission("attention", name, timestamp=EARLY)

    def read_gradebook():
        set_moments(assignment)
        with Gradebook(database, assignment.course.id) as gradebook:
            found = gradebook.assignment_submissions("attention")
            return {one.student_id: one.timestamp and f"{one.timestamp:%d}" for one in found}

    write_stamp(folder, "ada", EARLY)
    collect(assignment, ben={"time": LATE, "says": "system"})
    write_stamps(assignment)
    assert (stamp(folder, "ada"), stamp(folder, "ben")) == (None, LATE)
    assert read_gradebook() == {"ada": None, "ben": "05"}
    assert find_moments(assignment)["ada"].hints, "what she wrote is shown"
    write_stamp(folder, "ben", EARLY)
    write_stamps(assignment)
    assert stamp(folder, "ben") == LATE
    enter(folder, "ada,attention,2025-03-03 10:00 UTC", "ben,attention,2025-03-04 10:00 UTC")
    write_stamps(assignment)
    assert stamp(folder, "ada") == "2025-03-03 10:00:00 UTC"
    assert read_gradebook() == {"ada": "03", "ben": "04"}
    assert find_moments(assignment)["ada"].hints == {"timestamp.txt": utc(2025, 2, 1, 9)}
    enter(folder)
    write_stamps(assignment)
    assert stamp(folder, "ada") is None, "ours goes with the entry"
    assert find_moments(assignment)["ada"].hints == {"timestamp.txt": utc(2025, 2, 1, 9)}


@pytest.mark.parametrize("kind", ["folder", "link", "huge", "garbage"])
def test_an_odd_timestamp_stops_nobody(grading, tmp_path, kind):
    folder, assignment = grading
    path = folder / "submitted" / "ada" / "attention" / "timestamp.txt"
    (folder / "mine.txt").write_text("instructor's")
    if kind == "folder":
        path.mkdir()
    elif kind == "link":
        path.symlink_to(folder / "mine.txt")
    else:
        path.write_text("x" * 2_000_000 if kind == "huge" else "\x1b[31m9999-99-99 soon")
    for line in ((), (f"ada,attention,{EARLY}",)):
        enter(folder, *line)
        assert find_moments(assignment).keys() == {"ada"} or not line
        write_stamps(assignment)
        assert stamp(folder, "ada") == (EARLY if line else None)
    assert (folder / "mine.txt").read_text() == "instructor's" and not path.is_symlink()


def test_a_manifest_in_a_zip_makes_no_timestamp(grading):
    folder, assignment = grading
    kit = load_blueprints(assignment)
    name, blueprint = next(iter(kit.items()))
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr(f"{name}.ipynb", nbformat.writes(fill_in(blueprint, {})))
        archive.writestr("manifest.json", json.dumps({"made": "2020-01-01T10:00:00+00:00"}))
        archive.writestr("timestamp.txt", EARLY)
    place = folder / "submitted" / "ada" / "attention"
    (place / "w.zip").write_bytes(content.getvalue())
    settle(place, kit)
    assert (place / f"{name}.ipynb").exists() and stamp(folder, "ada") is None
    record = (place / ".taken-in.json").stat().st_mtime_ns
    enter(folder, f"ada,attention,{EARLY}")
    write_stamps(assignment)
    settle(place, kit)
    assert (place / ".taken-in.json").stat().st_mtime_ns == record, "nothing came in"


def test_the_command(grading):
    folder, _ = grading

    def run(*arguments, expect=0):
        done = run_autograder("date", *arguments, COURSE_GRADING=str(folder))
        assert done.returncode == expect, done.stderr
        return done.stdout + done.stderr

    assert run() == ""
    assert "ada: 2025-02-01 09:00:00 UTC, says the instructor's entry" in run("ada", *EARLY.split())
    assert stamp(folder, "ada") == EARLY
    for wrong, words in (
        (("ada", "2999-01-01 10:00"), "is in the future"),
        (("ada", "soon"), "'soon' is no moment"),
        (("who", EARLY), "'who' is not on the roster"),
        (("ada",), "Say either when"),
        (("ada", EARLY, "--remove"), "Say either when"),
        (("ben", "--remove"), "There is no entry for ben"),
        (("ada", "--from-timestamps"), "goes alone"),
    ):
        assert words in run(*wrong, expect=1)
    assert (folder / "dates.csv").read_text().splitlines()[1:] == [f"ada,attention,{EARLY}"]
    write_stamp(folder, "ben", "2025-02-03 10:00:00.123456 UTC")
    assert "ben: nobody says when (a hint: timestamp.txt says 2025-02-03 10:00:00 UTC)" in run()
    assert "ada: nobody says when" in run("ada", "--remove") and stamp(folder, "ada") is None


def test_timestamps_of_the_exchange_are_taken_over_by_the_instructors_word_alone(grading):
    folder, assignment = grading

    def take():
        return run_autograder("date", "--from-timestamps", COURSE_GRADING=str(folder))

    (folder / "submitted" / "cleo" / "attention").mkdir(parents=True)
    collect(assignment, ben={"time": LATE, "says": "system"})
    write_stamp(folder, "ada", "2025-02-03 10:00:00.5 UTC")
    write_stamp(folder, "ben", EARLY)
    write_stamp(folder, "cleo", "whenever")
    write_stamps(assignment)  # as `grade` does
    assert stamp(folder, "ada") is None
    done = take()
    assert "ada: 2025-02-03 10:00:00 UTC, entered" in done.stdout and "1 moments" in done.stdout
    assert "ben: what was collected says when" in done.stderr and "'whenever'" in done.stderr
    assert find_moments(assignment)["ada"].says == "instructor"
    assert stamp(folder, "ada") == "2025-02-03 10:00:00 UTC"
    assert "0 moments" in take().stdout, "nothing new"
    write_stamp(folder, "ada", "2025-02-09 10:00:00 UTC")  # handed in again
    assert "ada: 2025-02-09 10:00:00 UTC, entered" in take().stdout
    enter(folder, f"ada,attention,{EARLY}")
    write_stamp(folder, "ada", "2025-02-11 10:00:00 UTC")
    done = take()
    assert (
        "your entry stays (2025-02-01 09:00:00 UTC)" in done.stderr and "0 moments" in done.stdout
    )
