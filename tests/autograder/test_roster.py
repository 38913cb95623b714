"""The roster: what is read, what is refused by line, who is unknown and who is missing."""

import time
from datetime import timedelta
from unittest import mock

import pytest

from autograder.__main__ import main
from autograder.course import CourseError, load_course
from autograder.roster import (
    Entry,
    compare,
    find_canvas_column,
    read_roster,
    say_old_extensions,
    set_roster,
)
from tests.autograder.classroom.classes import read_gradebook
from tests.conftest import ROOT, run_autograder

GOOD = (
    "student,name,track,extension_days,email\n"
    "ada,Ada Lund,graduate,,ada@example.org\n"
    'ben,"Weiss, Ben",undergraduate,2,\n'
    ",,,,\n"
    "zoe,Zoe,undergraduate,0.5,\n"
)


def test_a_roster_is_read(tmp_path, assignment):
    path = tmp_path / "roster.csv"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    roster = read_roster(path, assignment)
    assert roster["ada"] == Entry("ada", "Ada Lund", "graduate", email="ada@example.org")
    assert (roster["ada"].first_name, roster["ada"].last_name) == ("Ada", "Lund")
    assert (roster["ben"].first_name, roster["ben"].last_name) == ("Ben", "Weiss")
    assert roster["ben"].extension == timedelta(days=2)
    assert roster["zoe"].extension == timedelta(hours=12) and roster["zoe"].last_name == "Zoe"
    path.write_text(GOOD.replace(",", ";").replace('"Weiss; Ben"', '"Weiss, Ben"'), "utf-8")
    assert read_roster(path, assignment) == roster, "as spreadsheets in other countries write it"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name\nAda\n", "`student` among them"),
        ("student,shoe\nada,38\n", "'shoe' is not known"),
        ("student,track\nada,master\n", "line 2: course.toml has no track 'master'"),
        ("student\nada\nada\n", "line 3: ada is there twice"),
        ("student,extension_days\nada,soon\n", "'soon', not a number"),
        ("student,extension_days\nada,-1\n", "cannot be negative"),
        (
            "student,extension_days.attention\nada,soon\n",
            "line 2: extension_days.attention is 'soon'",
        ),
        (
            "student,extension_days.attention\nada,nan\n",
            "line 2: extension_days.attention is 'nan'",
        ),
        (
            "student,extension_days.attention\nada,-0.5\n",
            "line 2: extension_days.attention is -0.5;",
        ),
        (
            "student,extension_days.atention\nada,1\n",
            "line 1: the column 'extension_days.atention'",
        ),
        ("student,name\n,Ada\n", "`student` is empty"),
        ("student\n../etc\n", "cannot be the name of a folder"),
        ("student,name\nada,Ada,Lund\n", "more values than columns"),
        ("student\n", "names no student"),
    ],
)
def test_a_wrong_roster_is_refused_by_its_line(tmp_path, assignment, text, words):
    path = tmp_path / "roster.csv"
    path.write_text(text, "utf-8")
    with pytest.raises(CourseError) as refused:
        read_roster(path, assignment)
    assert words in str(refused.value) and str(path) in str(refused.value)


def test_extensions_for_one_assignment_go_before_those_for_all(tmp_path, assignment):
    path = tmp_path / "roster.csv"
    path.write_text("student,extension_days,Extension_days.attention\nada,2,0.5\nben,2,\nzoe,,1\n")
    roster = read_roster(path, assignment)
    found = {
        name: [entry.find_extension(one) for one in ("attention", "attention_at_work")]
        for name, entry in roster.items()
    }
    half, day = timedelta(hours=12), timedelta(days=1)
    assert found == {"ada": [half, 2 * day], "ben": [2 * day, 2 * day], "zoe": [day, None]}
    (words,) = say_old_extensions(assignment, roster)
    assert "extension_days counts for every assignment (it is filled for 2 of 3" in words
    del roster["ada"], roster["ben"]
    assert say_old_extensions(assignment, roster) == [], "where nobody has one, it does not matter"
    path.write_text("ID,Student,SIS Login ID,Section,extension_days.attention\n7,Zoe,zoe,A,3\n")
    assert read_roster(path, assignment)["zoe"].extensions == {"attention": 3 * day}, "in an export"


def test_what_a_platform_does_not_know_is_kept_and_canvas_columns_are_noted(
    tmp_path, monkeypatch, assignment
):
    monkeypatch.setenv("COURSE_GRADING", str(tmp_path))
    own, canvas = tmp_path / "own.csv", tmp_path / "canvas.csv"
    own.write_text("student,track,extension_days.attention\nada,graduate,1.5\n")
    canvas.write_text(
        f"Student,ID,SIS Login ID,Section,{assignment.title} (77),Twin (1),Twin (2)\n"
        '"Lund, Ada",101,ada,A,,,\n'
    )
    for file in (own, canvas):
        set_roster(assignment, file)
    entry = read_roster(tmp_path / "roster.csv", assignment)["ada"]
    assert (entry.lms_id, entry.track) == ("101", "graduate")
    assert entry.extensions == {"attention": timedelta(hours=36)}
    assert find_canvas_column(assignment, assignment.title.upper()) == f"{assignment.title} (77)"
    assert find_canvas_column(assignment, "Twin") is None, "nobody says which of the two"
    assert find_canvas_column(assignment, "Other") is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[late]\ndays = -1", "[late] days must be a whole number"),
        ("[late]\ndays = 1.5", "[late] days must be a whole number"),
        ("[late]\nhours = 4", "[late] has an entry 'hours'"),
        ("[hand_in]\nopens.atention = 2025-02-01", "[hand_in] opens names 'atention'"),
        ("[hand_in]\nopens.attention = 'soon'", "[hand_in] opens.attention must be a date"),
        ("[hand_in]\ndue.attention = 2025-10-26T02:30:00", "due.attention lies in an hour"),
        (
            "[hand_in]\nopens.attention = 2025-03-02\ndue.attention = 2025-03-01",
            "due before it opens",
        ),
        ("[hand_in]\ncanvas = 12345", "[hand_in] canvas must name an assignment"),
        ("[hand_in]\ncanvas.attention = '12'", "canvas.attention must be the number"),
        ("[hand_in]\ncanvas.attention = { master = 12 }", "'master', which is no track"),
    ],
)
def test_wrong_dates_late_days_and_numbers_in_course_toml(tmp_path, monkeypatch, text, words):
    for name in ("attention", "attention_at_work"):
        (tmp_path / "notebooks" / name).mkdir(parents=True)
        toml = f"notebooks/{name}/assignment.toml"
        (tmp_path / toml).write_text((ROOT / toml).read_text("utf-8"), "utf-8")
    good = (ROOT / "course.toml").read_text("utf-8")
    monkeypatch.setenv("TZ", "Europe/Zurich")
    time.tzset()
    try:
        (tmp_path / "course.toml").write_text(f"{good}\n{text}\n", "utf-8")
        with pytest.raises(CourseError) as refused:
            load_course(tmp_path)
    finally:
        monkeypatch.undo()
        time.tzset()
    assert words in str(refused.value)


def test_a_roster_that_is_no_text_or_not_there(tmp_path, assignment):
    (tmp_path / "x.csv").write_bytes(b"student\n\x81\x8d")
    for name in ("x.csv", "none.csv"):
        with pytest.raises(CourseError):
            read_roster(tmp_path / name, assignment)


def test_unknown_and_missing_students():
    roster = {name: Entry(name) for name in ("ada", "ben", "zoe")}
    assert compare(roster, ["ada", "mallory"]) == (["mallory"], ["ben", "zoe"])


def test_the_command_tells_and_writes_names_to_the_gradebook(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COURSE_GRADING", str(tmp_path))
    monkeypatch.chdir(ROOT)
    for name in ("ada", "mallory"):
        place = tmp_path / "submitted" / name / "attention"
        place.mkdir(parents=True)
        (place / "notes.txt").write_text("first the keys")
    assert main(["roster"]) == 1 and "no roster yet" in capsys.readouterr().err
    file = tmp_path / "class.csv"
    file.write_text(GOOD, "utf-8")
    assert main(["roster", str(file)]) == 0
    told = capsys.readouterr().out
    assert "unknown: mallory" in told and "missing: ben" in told
    assert ("ben", "Ben", "Weiss", None) in read_gradebook(tmp_path)["students"]
    assert main(["roster"]) == 0 and capsys.readouterr().out == told
    file.write_text("student,track\nada,nobody\n", "utf-8")
    assert main(["roster", str(file)]) == 1
    assert "no track 'nobody'" in capsys.readouterr().err
    assert (tmp_path / "roster.csv").read_text("utf-8") == GOOD, "the old one stays"


def test_who_has_no_track_is_said_by_the_roster_and_by_the_grades(tmp_path):
    (tmp_path / "class.csv").write_text("student,track\nada,graduate\nben,\ncleo,\n")
    told = run_autograder("roster", tmp_path / "class.csv", COURSE_GRADING=str(tmp_path)).stdout
    assert "2 of 3 students have no track yet: write undergraduate or graduate into" in told
    refused = run_autograder("grades", COURSE_GRADING=str(tmp_path))
    assert refused.returncode == 1 and "no track for ben, cleo: write" in refused.stderr
    told = run_autograder("grades", "--track", "undergraduate", COURSE_GRADING=str(tmp_path)).stdout
    assert "cleo" in told and "ada" not in told


def say_roster(folder, text, *options):
    (folder / "class.csv").write_text(text, "utf-8")
    return run_autograder("roster", folder / "class.csv", *options, COURSE_GRADING=str(folder))


def test_nobody_is_missing_before_anything_was_handed_in(tmp_path):
    (tmp_path / "submitted" / "ada" / "attention").mkdir(parents=True)
    done = say_roster(tmp_path, GOOD)
    assert "0 have handed in" in done.stdout and "missing" not in done.stdout
    done = run_autograder("grades", "--unmarked-as-zero", COURSE_GRADING=str(tmp_path))
    assert "has handed in nothing" not in done.stderr


@pytest.mark.parametrize("answer", [None, "n", "", "y", "--remove"])
def test_nobody_is_taken_off_unasked(tmp_path, answer, monkeypatch):
    place = tmp_path / "submitted" / "ben" / "attention"
    place.mkdir(parents=True)
    (place / "notes.txt").write_text("first the keys")
    assert "goes" not in say_roster(tmp_path, GOOD).stdout
    asked = []
    if answer in ("n", "", "y"):
        monkeypatch.setattr("sys.stdin", mock.Mock(isatty=lambda: True))
        monkeypatch.setattr("builtins.input", lambda words: asked.append(words) or answer)
    new = "student,track\nada,undergraduate\nyves,graduate\n"
    done = say_roster(tmp_path, new, *(["--remove"] if answer == "--remove" else []))
    assert "comes: yves" in done.stdout and "goes: zoe (Zoe)\n" in done.stdout
    assert "goes: ben (Weiss, Ben), who has handed in" in done.stdout
    assert "changes: ada: " in done.stdout and "track graduate -> undergraduate" in done.stdout
    copies = list(tmp_path.glob("roster.*-*.csv"))
    if answer in ("y", "--remove"):
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "roster.csv").read_text("utf-8") == new
        assert [copy.read_text("utf-8") for copy in copies] == [GOOD]
    else:
        assert done.returncode == 1 and "Nothing was changed" in done.stderr
        assert (tmp_path / "roster.csv").read_text("utf-8") == GOOD and not copies
        assert ("yves",) not in {row[:1] for row in read_gradebook(tmp_path)["students"]}
    assert ("--remove" in done.stderr) == (answer is None)
    assert len(asked) == (answer in ("n", "", "y"))


def test_an_export_takes_nobody_off_unasked_and_a_broken_roster_can_be_replaced(tmp_path):
    say_roster(tmp_path, GOOD)
    moodle = "First name,Last name,ID number,Email address\nAda,Lund,ada,ada@example.org\n"
    done = say_roster(tmp_path, moodle)
    assert done.returncode == 1 and "2 students of the roster are not in" in done.stderr
    assert say_roster(tmp_path, moodle, "--remove").returncode == 0
    assert len(list(tmp_path.glob("roster.*-*.csv"))) == 1
    (tmp_path / "roster.csv").write_text("shoes\n38\n")
    assert say_roster(tmp_path, GOOD).returncode == 0
    assert "shoes\n38\n" in {copy.read_text("utf-8") for copy in tmp_path.glob("roster.*-*.csv")}
