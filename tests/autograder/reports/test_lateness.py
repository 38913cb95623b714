"""When work came, who says so, and how late that was: in the report, and beside the grades."""

import json
import shutil
from datetime import datetime, timedelta

import pytest

from autograder.classroom.gradebook import Submission
from autograder.course import load_assignment
from autograder.reports.lateness import find_arrivals
from autograder.roster import Entry
from tests.conftest import ROOT, run_autograder

DUE = datetime(2030, 3, 1, 18)
LATE = datetime(2030, 3, 2, 20)
WHEN = "2030-03-02 20:00:00 UTC"
NO_TIME = {"time": "", "says": "", "from": "", "ticket": ""}


def write_log(folder, entries):
    (folder / "collected").mkdir(exist_ok=True)
    (folder / "collected" / "attention.json").write_text(json.dumps(entries))


def test_who_says_when_and_what_nobody_says(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_GRADING", str(tmp_path))
    write_log(tmp_path, {
        "ada": {"a.zip": NO_TIME | {"time": WHEN, "says": "manifest", "late": True}},
        "ben": {"b.ipynb": NO_TIME | {"late": True}},
        "cleo": {"c.ipynb": NO_TIME | {"time": "2030-03-02 19:00:00 UTC", "says": "system"}},
        "dora": {"d.ipynb": NO_TIME},
    })  # fmt: skip
    times = {"ada": LATE, "ben": None, "cleo": LATE, "dora": None, "emil": LATE}
    submissions = {name: Submission(when, DUE, None) for name, when in times.items()}
    roster = {"emil": Entry("emil", extension=timedelta(days=1))}
    found = find_arrivals(load_assignment("attention", ROOT), submissions, roster)
    told = {a.student: (a.moment, a.source, a.seconds_late / 3600, a.called_late) for a in found}
    assert told == {
        "ada": (WHEN, "the manifest in the zip", 26, False),
        "ben": ("", "", 0, True),
        "cleo": (WHEN, "timestamp.txt", 26, False),  # not the moment that was collected
        "dora": ("", "", 0, False),
        "emil": (WHEN, "timestamp.txt", 2, False),
    }


@pytest.mark.xdist_group("report")
def test_the_report_and_the_grades_say_it(graded, tmp_path):
    folder = tmp_path / "grading"
    shutil.copytree(graded[0], folder, symlinks=True)
    write_log(folder, {
        "ada": {"a.zip": NO_TIME | {"time": "2030-01-01 10:00:00 UTC", "says": "system"}},
        "ben": {"b.ipynb": NO_TIME | {"late": True}},
    })  # fmt: skip
    run_autograder("report", "--write", COURSE_GRADING=str(folder))
    page = (folder / "report.html").read_text("utf-8")
    assert "2030-01-01 10:00:00 UTC</td>" in page and "the learning platform</td>" in page
    assert "Of 3 students nobody says when" in page and "calls 1 of them late" in page
    done = run_autograder("grades", "--track", "graduate", COURSE_GRADING=str(folder))
    assert (
        "ben is late, says the learning platform, but not since when" in done.stdout + done.stderr
    )
