"""When work came, who says so, how late that was, and what late days cover."""

import json
import shutil
from datetime import UTC, datetime, timedelta

import pytest

from autograder.classroom.gradebook import Deadline
from autograder.course import CourseError, load_course
from autograder.reports.lateness import Arrival, find_arrivals, require_possible
from autograder.roster import Entry
from tests.conftest import ROOT, run_autograder

DUE = datetime(2025, 3, 1, 18, tzinfo=UTC)
WHEN = "2025-03-02 20:00:00 UTC"  # 26 hours after it was due
NO_TIME = {"time": "", "says": "", "from": "", "ticket": "", "counts": True}


class Deadlines:
    """What of a gradebook tells when something is due."""

    def __init__(self, **deadlines):
        self.deadlines = deadlines

    def read_deadlines(self):
        return self.deadlines


def write_log(folder, entries, name="attention"):
    (folder / "collected").mkdir(exist_ok=True)
    (folder / "collected" / f"{name}.json").write_text(json.dumps(entries))


def write_dates(folder, *lines):
    (folder / "dates.csv").write_text("\n".join(["student,assignment,moment", *lines]), "utf-8")


@pytest.fixture
def course(tmp_path, monkeypatch):
    """Two assignments, due a week apart, and no roster."""
    monkeypatch.setenv("COURSE_GRADING", str(tmp_path))
    for name in ("ada", "ben", "cleo", "dora", "emil"):
        (tmp_path / "submitted" / name).mkdir(parents=True)
    return load_course(ROOT)


def find(course, days=None, roster=None, name="attention", **extensions):
    gradebook = Deadlines(
        attention=Deadline(DUE, extensions),
        attention_at_work=Deadline(DUE + timedelta(days=7)),
    )
    course.late.clear()
    course.late.update({"days": days} if days else {})
    try:
        return find_arrivals(course.assignments[name], gradebook, roster)
    finally:
        course.late.clear()


def test_who_says_when_and_what_nobody_says(tmp_path, course):
    write_log(tmp_path, {
        "ada": {"a.zip": NO_TIME | {"time": WHEN, "says": "manifest", "late": True}},
        "ben": {"b.ipynb": NO_TIME | {"late": True}},
        "cleo": {"c.ipynb": NO_TIME | {"time": "2025-03-02 19:00:00 UTC", "says": "system"}},
        "dora": {"d.ipynb": NO_TIME},
    })  # fmt: skip
    write_dates(tmp_path, f"emil,attention,{WHEN}")
    roster = {"emil": Entry("emil", extensions={"attention": timedelta(days=1)})}
    found = find(course, roster=roster)
    told = {a.student: (a.moment, a.source, a.seconds_late / 3600, a.called_late)
            for a in found.values()}  # fmt: skip
    assert told == {
        "ada": ("", "", 0, True),  # the manifest is the student's own
        "ben": ("", "", 0, True),
        "cleo": ("2025-03-02 19:00:00 UTC", "the learning platform", 25, False),
        "dora": ("", "", 0, False),
        "emil": (WHEN, "the instructor's entry", 2, False),
    }


def hours(number, start=DUE):
    return f"{start + timedelta(hours=number):%Y-%m-%d %H:%M:%S} UTC"


def test_late_days_are_spent_in_the_order_of_due_dates_and_never_twice(tmp_path, course):
    """A day that has begun counts; what the bank does not reach is late."""
    later = DUE + timedelta(days=7)
    write_dates(
        tmp_path,
        f"ada,attention,{hours(25)}",  # 2 days begun
        f"ada,attention_at_work,{hours(49, later)}",  # 3 days begun, 1 of them left
        f"ben,attention,{hours(24)}",  # exactly a day
        f"ben,attention_at_work,{hours(-1, later)}",
        f"cleo,attention_at_work,{hours(72, later)}",
        f"dora,attention,{hours(26)}",  # a day more than hers: 2 hours, 1 day begun
    )
    roster = {name: Entry(name) for name in ("ada", "ben", "cleo")}
    roster["dora"] = Entry("dora", extensions={"attention": timedelta(days=1)})
    for _ in range(2):  # it is worked out each time, and nothing is stored
        first = find(course, 3, roster)
        second = find(course, 3, roster, "attention_at_work")
    assert {n: (a.days_spent, a.days_left, a.seconds_charged) for n, a in first.items()} == {
        "ada": (2, 1, 0), "ben": (1, 2, 0), "cleo": (0, 3, 0), "dora": (1, 2, 0),
    }  # fmt: skip
    assert {n: (a.days_spent, a.days_left, a.seconds_charged) for n, a in second.items()} == {
        "ada": (1, 0, 25 * 3600), "ben": (0, 2, 0), "cleo": (3, 0, 0), "dora": (0, 2, 0),
    }  # fmt: skip
    assert first["ada"].explain() == ["25.0 hours late: 2 late days spent; 1 late day left"]
    assert second["ada"].explain() == [
        "2.0 days late: 1 late day spent, which leaves 25.0 hours late; 0 late days left"
    ]
    assert find(course, None, roster)["ada"].seconds_charged == 25 * 3600, "without a bank"


def test_what_a_hint_says_against_the_platform_is_said(tmp_path, course):
    early, late = hours(-24), hours(5)
    system = NO_TIME | {"says": "system"}
    write_log(tmp_path, {
        "ada": {"a.zip": NO_TIME | {"late": True, "hint": {"manifest": early}}},
        "ben": {"b.zip": system | {"time": late, "hint": {"manifest": early, "file": early}}},
        "cleo": {"c.zip": system | {"time": early, "hint": {"manifest": hours(-30)}}},
        "dora": {"d.zip": system | {"time": early, "hint": {"manifest": late, "file": late}}},
    })  # fmt: skip
    found = find(course)
    assert found["ada"].contradictions == (
        f"the manifest in the zip says {early}, but the learning platform says late, which counts",
    )
    assert len(found["ben"].contradictions) == 2 and found["ben"].seconds_late == 5 * 3600
    assert found["cleo"].contradictions == (), "packed before it was handed in"
    assert found["dora"].contradictions == (
        f"the manifest in the zip says {late}, but the learning platform says {early}, which counts",
    )
    write_dates(tmp_path, f"ada,attention,{late}", f"ben,attention,{early}")
    found = find(course)
    assert found["ada"].contradictions == found["ben"].contradictions == (), "it is settled"
    assert (found["ada"].seconds_late, found["ada"].called_late) == (5 * 3600, False)
    assert found["ben"].seconds_late == 0


def test_moments_that_cannot_be_give_no_sum(tmp_path, course):
    write_log(tmp_path, {
        "ada": {"a.zip": NO_TIME | {"says": "system", "time": "2999-01-01 00:00:00 UTC"}},
        "ben": {"b.zip": NO_TIME | {"says": "system", "time": "soon"}},
        "cleo": {"c.zip": NO_TIME | {"says": "system", "time": hours(-1)}},
    })  # fmt: skip
    found = find(course)
    require_possible(found, ["cleo", "dora"])
    for student, words in (("ada", "2999-01-01 00:00:00 UTC is in the future"),
                           ("ben", "'soon' is no moment")):  # fmt: skip
        with pytest.raises(CourseError) as refused:
            require_possible(found, ["cleo", student])
        assert words in str(refused.value) and f"date {student} MOMENT" in str(refused.value)
    later = find(course, 3, name="attention_at_work")
    with pytest.raises(CourseError, match="in the future"):  # the bank depends on it
        require_possible(later, ["ada"])
    write_dates(tmp_path, f"ada,attention,{hours(1)}", f"ben,attention,{hours(1)}")
    require_possible(find(course), ["ada", "ben", "cleo"])


def test_nothing_known_is_never_late():
    assert Arrival("ada").seconds_charged == 0 and Arrival("ada").explain() == []


@pytest.mark.xdist_group("report")
def test_the_report_and_the_grades_say_it(graded, tmp_path):
    folder = tmp_path / "grading"
    shutil.copytree(graded[0], folder, symlinks=True)
    write_log(folder, {
        "ada": {"a.zip": NO_TIME | {"time": "2025-01-01 10:00:00 UTC", "says": "system"}},
        "ben": {"b.ipynb": NO_TIME | {"late": True, "hint": {"manifest": "2025-01-01 10:00:00 UTC"}}},
    })  # fmt: skip
    run_autograder("report", "--write", COURSE_GRADING=str(folder))
    page = (folder / "report.html").read_text("utf-8")
    assert "2025-01-01 10:00:00 UTC</td>" in page and "the learning platform</td>" in page
    assert "Of 3 students nobody says when" in page and "calls 1 of them late" in page
    assert "ben: the manifest in the zip says 2025-01-01 10:00:00 UTC" in page
    done = run_autograder("grades", "--track", "graduate", COURSE_GRADING=str(folder))
    assert "ben is late, says the learning platform, but not since when" in done.stderr
    assert "ben: the manifest in the zip says 2025-01-01" in done.stderr
    write_log(
        folder, {"ada": {"a.zip": NO_TIME | {"time": "2999-01-01 10:00:00 UTC", "says": "system"}}}
    )
    (folder / "report.html").unlink()
    for command in (("grades", "--track", "graduate"), ("report",), ("feedback",)):
        refused = run_autograder(*command, COURSE_GRADING=str(folder))
        assert refused.returncode == 1 and "ada: 2999-01-01" in refused.stderr, command
    assert not (folder / "report.html").exists() and not (folder / "feedback").exists()
