"""Generated downloads: none ends in a traceback, and none puts work where the layout does not say."""

import io
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as some

from autograder.course import CourseError
from autograder.intake import collect as collecting
from autograder.intake.collect import collect
from autograder.intake.collected import Log
from autograder.intake.worksheet import clean_as_moodle
from autograder.roster import find_roster
from tests.autograder.classroom.classes import grading_into
from tests.autograder.intake.downloads import DUE, Person, make_download, make_roster
from tests.conftest import ROOT

SYSTEMS = ("moodle", "canvas", "blackboard", "gradescope")
SIGNS = "abAB._-' éßÅ1\u0301\u200b０李"
words = some.text(SIGNS, min_size=1, max_size=6)
logins = some.text("abAB._-12é", min_size=1, max_size=5).filter(lambda s: s[0] not in ".-_")
patterns = some.sampled_from([
    "submission_metadata.yml", "{0}_{1}_assignsubmission_file_/x", "{0}_{1}_assignsubmission_file_x",
    "A_{0}_attempt_2030-01-01-00-00-00_x", "{0}_{1}_{1}_x", "{0}_LATE_{1}_7_x", "{0}/x", "{0}.ipynb",
    "../{0}/attention/x", "timestamp.txt", ".taken-in.json", "x" * 255, "é" * 127, "a\x1b[2J", "{0}",
    "both", "both/inner", "a\\b", "C:x", "a//b", "manifest.json", "x.zip",
])  # fmt: skip
manifests = some.sampled_from([None, "[]", "{}", "{", '{"made": 3}', "null", '"made"', "[" * 9000]) | some.text(
    max_size=9).map(lambda made: json.dumps({"made": made}))  # fmt: skip


@some.composite
def classes(draw):
    """A platform, people (some not enrolled, some like others), and files that anybody may name."""
    system = draw(some.sampled_from(SYSTEMS))
    people, seen = [], set()
    for number in range(draw(some.integers(1, 6))):
        login = draw(logins)
        if login in seen:
            continue
        seen.add(login)
        person = Person(login, draw(words).strip() or "A", draw(words).strip() or "B", 100 + number)
        person.moment = DUE + timedelta(hours=draw(some.integers(-50, 50)))
        person.enrolled = draw(some.integers(0, 3)) > 0
        people.append(person)
    others = [person.login for person in people] + [person.full_name for person in people]
    for person in people:
        for number in range(draw(some.integers(0, 3))):
            name = draw(patterns).format(
                draw(some.sampled_from(others)), draw(some.integers(99, 106))
            )
            manifest = draw(manifests) if name.endswith(".zip") else None
            tag = f"{person.login}|{number}".encode()
            person.files[name if draw(some.booleans()) else f"w {name}"] = (
                tag if manifest is None else _zip(manifest, tag)
            )
    return system, people, draw(some.booleans())


def _zip(manifest, tag):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("manifest.json", manifest)
        archive.comment = tag
    return content.getvalue()


def may_be(system, sheet, owner, student, people):
    """Does the layout name this student for that owner's part?"""
    if owner is student:
        return True
    if owner.enrolled:
        return False
    # Who is not on the roster and has nothing but a name is whom that name says.
    alike = clean_as_moodle(owner.full_name) == clean_as_moodle(student.full_name)
    return system == "moodle" and not sheet and alike


def try_out(case):
    system, people, sheet = case
    enrolled = [person for person in people if person.enrolled] or people[:1]
    enrolled[0].enrolled = True
    with tempfile.TemporaryDirectory() as scratch:
        grading = Path(scratch).resolve() / "grading"
        grading.mkdir()
        (grading / "roster.csv").write_text(make_roster(system, enrolled), "utf-8")
        with grading_into(grading) as assignment:
            try:
                roster = find_roster(assignment)
            except CourseError:
                return  # two of a login in Canvas's table: the roster says so
            paths = make_download(system, people, Path(scratch) / "d")
            paths = paths if sheet else paths[:1]
            done = collect(assignment, paths)
            again = collect(assignment, paths)
            assert not again.placed, "twice gives the same"
            by_login = {person.login: person for person in people}
            for path in (grading / "submitted").rglob("*"):
                if path.is_file():
                    student = path.relative_to(grading / "submitted").parts[0]
                    content = path.read_bytes()
                    tags = [p for p in people for c in p.files.values() if c == content]
                    assert student in roster
                    assert any(may_be(system, sheet, o, by_login[student], people) for o in tags)
            for student, files in Log(assignment).entries.items():
                for entry in files.values():
                    moments = {f"{p.moment:%Y-%m-%d %H:%M}" for p in people}
                    assert not entry["time"] or entry["time"][:16] in moments, student
            problems = [sentence for sentence in done.problems if "worksheet" not in sentence]
            told = len(problems) + len(done.left_out) + sum(o.files for o in done.unmatched)
            placed = sum(done.known.values()) + len(done.placed)
            assert placed + told == sum(len(person.files) for person in people), "nothing vanishes"


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """What counts, and when it came, is not what is tried here."""
    monkeypatch.setattr(collecting, "_note_counting", lambda *_: None)
    monkeypatch.setattr(collecting, "write_stamps", lambda *_: None)


def make_test(count):
    return settings(
        max_examples=count, deadline=None, derandomize=count < 1000, database=None,
        phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck),
    )  # fmt: skip


@make_test(200)
@given(classes())
def test_two_hundred_generated_downloads(case):
    try_out(case)


@pytest.mark.soak
@make_test(5000)
@given(classes())
def test_five_thousand_generated_downloads(case):
    try_out(case)


@pytest.mark.soak
def test_a_download_of_two_gigabytes_takes_less_than_500_megabytes_of_memory(tmp_path):
    people = [Person(f"s{number}", "Ada", f"Lund {number}", number) for number in range(1, 21)]
    grading = tmp_path / "grading"
    grading.mkdir()
    (grading / "roster.csv").write_text(make_roster("moodle", people), "utf-8")
    for person in people:
        person.files = {f"{name}.bin": b"" for name in "ab"}
    path = make_download("moodle", people, tmp_path)[0]
    large = tmp_path / "large.zip"
    with (
        zipfile.ZipFile(path) as names,
        zipfile.ZipFile(large, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
    ):
        for name in names.namelist():
            with archive.open(name, "w", force_zip64=True) as file:
                for part in range(50):
                    file.write(f"{name}{part}".encode() + bytes(2**20))
    code = (
        "import resource, sys; from autograder.__main__ import main\n"
        f"status = main(['collect', {str(large)!r}])\n"
        "print(status, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True,
        env=os.environ | {"COURSE_GRADING": str(grading)},
    )  # fmt: skip
    status, megabytes = done.stdout.split()[-2:]
    assert status == "0" and int(megabytes) < 500, done.stdout[-500:] + done.stderr
    assert len(list((grading / "submitted").glob("*/attention/*.bin"))) == 40
