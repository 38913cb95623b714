"""The downloads of four platforms: everybody's work under their own name, and nobody else's."""

import io
import json
import os
import zipfile
from datetime import timedelta

import pytest

from autograder.course import CourseError
from autograder.intake import collect as collecting
from autograder.intake.collect import collect
from autograder.intake.collected import Log
from autograder.intake.layouts import _BLACKBOARD
from tests.autograder.classroom.classes import grading_into
from tests.autograder.intake.downloads import (
    Person,
    decompose,
    make_download,
    make_people,
    make_roster,
    name_entry,
    pack,
)
from tests.conftest import run_autograder

SYSTEMS = ("moodle", "canvas", "blackboard", "gradescope")
systems = pytest.mark.parametrize("system", SYSTEMS)


@pytest.fixture
def enter(tmp_path):
    """Return a function that makes a class of these people."""
    folder = tmp_path / "grading"
    folder.mkdir()

    def make(system, people):
        (folder / "roster.csv").write_text(make_roster(system, people), "utf-8")
        return assignment

    with grading_into(folder) as assignment:
        yield make


def read_tree(assignment):
    """Return what lies in the students' folders: name -> content."""
    place = assignment.grading / "submitted"
    return {
        path.relative_to(place).as_posix(): path.read_bytes()
        for path in place.rglob("*")
        if path.is_file() and path.name != "timestamp.txt"
    }


def expect(system, people):
    found = {}
    for person in people:
        for inner, content in person.files.items():
            flat = inner if system in ("moodle", "gradescope") else inner.replace("/", " ")
            found[f"{person.login}/attention/{flat}"] = content
    return found


@systems
def test_thirty_awkward_names_each_get_their_own(enter, tmp_path, system):
    people = make_people()
    assignment = enter(system, people)
    paths = make_download(system, people, tmp_path / "first")
    done = collect(assignment, paths)
    assert not done.unmatched and not done.problems
    assert read_tree(assignment) == expect(system, people)
    log = Log(assignment).entries
    for person in people[:-1]:
        for entry in log[person.login].values():
            minute = "%Y-%m-%d %H:%M" + ":%S" * (system != "moodle")
            told = f"{person.moment:{minute}}" if system != "canvas" else ""
            assert entry["time"].startswith(told), person.login
            assert bool(entry["time"]) == (system != "canvas")
            assert entry["late"] == (system == "canvas" and person.late)
    if system == "canvas":
        assert done.late == {p.login for p in people if p.late}
    before = read_tree(assignment), log
    done = collect(assignment, paths)
    assert not done.placed and sum(done.known.values()) == len(before[0])
    assert (read_tree(assignment), Log(assignment).entries) == before, "twice gives the same"


@systems
def test_what_is_handed_in_again_is_kept_beside_the_earlier(enter, tmp_path, system):
    people = make_people()
    assignment = enter(system, people)
    collect(assignment, make_download(system, people, tmp_path / "first"))
    first = read_tree(assignment)
    for person in people[:10]:
        person.files = {name: content + b", better" for name, content in person.files.items()}
        person.moment += timedelta(days=3)
    done = collect(assignment, make_download(system, people, tmp_path / "second"))
    assert not done.unmatched and not done.problems
    now = read_tree(assignment)
    assert first.items() <= now.items(), "nothing is overwritten"
    fresh = {name: content for name, content in now.items() if name not in first}
    assert sorted(fresh.values()) == sorted(c for p in people[:10] for c in p.files.values())
    for name, content in fresh.items():
        assert content.split(b" of ")[1].split(b",")[0].decode() == name.split("/")[0]


def test_the_summary_names_everybody(enter, tmp_path):
    people = make_people()
    assignment = enter("moodle", people)
    stranger = Person("who", "Who\x1b[2J", "Ever", 9, {"a.ipynb": b"x"})
    paths = make_download("moodle", [*people, stranger], tmp_path / "d")
    done = run_autograder("collect", *paths, COURSE_GRADING=str(assignment.grading))
    assert done.returncode == 1 and "\x1b" not in done.stdout + done.stderr
    for person in people[:-1]:
        assert f"\n{person.login}: 1_query_crafting.ipynb" in f"\n{done.stdout}"
    assert "van: handed in no file" in done.stdout
    assert (
        "jose2: answers may be elsewhere: week 3/mine/report.pdf (the desk shows it)" in done.stdout
    )
    assert "not placed: Who[2J Ever_9 (1 file) names nobody on the roster exactly" in done.stderr
    assert 'say whose it is: --assign "file or folder=student"' in done.stderr


# --------------------------------------------------------------------------------- whose work it is


def test_an_exact_id_is_never_exchanged_for_one_that_is_like_it(enter, tmp_path):
    people = make_people()
    assignment = enter("gradescope", people)
    folder = tmp_path / "by hand"
    for person in people[:9]:
        (folder / person.login).mkdir(parents=True)
        (folder / person.login / "x.ipynb").write_text(person.login)
    assert not collect(assignment, [folder]).unmatched
    for person in people[:9]:
        place = assignment.grading / "submitted" / person.login / "attention" / "x.ipynb"
        assert place.read_text() == person.login


def test_a_files_beginning_needs_a_separator_and_one_owner(enter, tmp_path):
    assignment = enter("gradescope", make_people())
    folder = tmp_path / "flat"
    folder.mkdir()
    mine = {"anna_1.ipynb": "anna", "j.doe.ipynb": "j.doe", "0042 work.ipynb": "0042"}
    others = ("annabella_1.ipynb", "adams.ipynb", "a_b_2.ipynb", "JDOE.ipynb", "joseph.ipynb")
    for name in (*mine, *others):
        (folder / name).write_text(name)
    done = collect(assignment, [folder])
    assert {one.name for one in done.placed} == mine.keys()
    assert {one.student for one in done.placed} == set(mine.values())
    nobodys = {one.name: one for one in done.unmatched}
    assert nobodys.keys() == set(others)
    assert nobodys["a_b_2.ipynb"].candidates == ("a", "a_b")
    assert "anna" in nobodys["annabella_1.ipynb"].candidates
    assert {"jdoe", "JDoe"} <= set(nobodys["JDOE.ipynb"].candidates)


def impostors(of):
    """Yield people who are not on the roster and look like somebody who is."""
    for number, (first, last) in enumerate([
        (of.first, of.last), (of.first.upper(), of.last.upper()), (f"{of.first}\u200b", of.last),
        ("".join(chr(ord(s) + 0xFEE0) for s in of.first), of.last), (of.first, f"{of.last}\u202e"),
        (of.first, f"\u3000{of.last}"),
    ]):  # fmt: skip
        yield Person(f"mallory{number}", first, last, 50 + number, {"x.ipynb": b"mallory's"})


@systems
def test_nobody_is_filed_as_somebody_by_bearing_a_name(enter, tmp_path, system):
    people = make_people()
    assignment = enter(system, people)
    victim = next(p for p in people if p.login == "anna")
    wrong = list(impostors(victim))
    done = collect(assignment, make_download(system, [*people, *wrong], tmp_path / "all"))
    assert b"mallory's" not in read_tree(assignment).values()
    assert len(done.unmatched) >= len(wrong)
    if system != "moodle":
        assert read_tree(assignment) == expect(system, people)
    victim.files = {}
    assignment = enter(system, people)
    collect(assignment, make_download(system, [victim, *wrong], tmp_path / "without her"))
    assert b"mallory's" not in read_tree(assignment).values(), "though she handed in nothing"


def test_what_only_looks_like_a_name_is_proposed_and_not_taken(enter, tmp_path):
    """Moodle's folders without the worksheet: nothing but the name speaks for or against anybody."""
    people = make_people()
    assignment = enter("moodle", people)
    anna = next(p for p in people if p.login == "anna")
    wrong = list(impostors(anna))[1:]
    done = collect(assignment, make_download("moodle", wrong, tmp_path / "d")[:1])
    assert not done.placed and len(done.unmatched) == len(wrong)
    assert all("anna" in one.candidates for one in done.unmatched)
    assert not any("\u200b" in one.name or "\u202e" in one.name for one in done.unmatched)


def test_without_a_worksheet_two_of_a_name_get_nothing_and_both_are_named(enter, tmp_path):
    people = make_people()
    anna = next(p for p in people if p.login == "anna")
    assignment = enter("moodle", people)
    mallory = Person("m", anna.first, anna.last, 51, {"x.ipynb": b"mallory's"})
    path = make_download("moodle", [anna, mallory], tmp_path / "d")[0]
    done = collect(assignment, [path])
    assert not done.placed and len(done.unmatched) == 2
    assert all(one.candidates == ("anna",) and not one.is_proposed for one in done.unmatched)
    said = f"Anna Lund_{anna.number}=anna"
    done = collect(assignment, [path], [said])
    assert {one.student for one in done.placed} == {"anna"} and len(done.unmatched) == 1
    later = make_download("moodle", [mallory], tmp_path / "later")[0]
    done = collect(assignment, [later])
    assert not done.placed and "another number before" in done.unmatched[0].why


def test_a_name_does_not_decide_against_an_address(enter, tmp_path):
    people = make_people()[:3]
    assignment = enter("gradescope", people)
    twin = Person("x", people[0].first, people[0].last, 99, {"x.ipynb": b"twin's"})
    done = collect(assignment, make_download("gradescope", [twin], tmp_path / "d"))
    assert not done.placed and done.unmatched[0].name == "submission_99 (John Doe)"
    assert "another id or address" in done.unmatched[0].why
    assert not (assignment.grading / "collected" / "proposals.csv").exists()
    twin.last = twin.last.upper()
    done = collect(assignment, make_download("gradescope", [twin], tmp_path / "d"))
    assert done.unmatched[0].why == "looks like a name of the roster, with another id or address"
    assert not done.unmatched[0].is_proposed


# ------------------------------------------------------------------- what a student's file may say


def test_blackboards_name_ends_where_the_student_begins(enter, tmp_path):
    people = make_people()
    assignment = enter("blackboard", people)
    mallory, victim = people[5], people[1]
    early = f"Attention_week_1_{victim.login}_attempt_2030-01-01-00-00-00_1_query_crafting.ipynb"
    mallory.files = {early: b"mallory's"}
    done = collect(assignment, make_download("blackboard", people, tmp_path / "d"))
    assert not done.unmatched and read_tree(assignment) == expect("blackboard", people)
    entry = Log(assignment).entries[mallory.login][early]
    assert entry["time"] == f"{mallory.moment:%Y-%m-%d %H:%M:%S} UTC"


@systems
@pytest.mark.parametrize("planted", [
    "submission_metadata.yml", "Anna Lund_1063_assignsubmission_file_/x.ipynb",
    "Attention_week_1_anna_attempt_2030-01-01-00-00-00_x.ipynb", "lundanna_1063_7_x.ipynb",
    "submission_1063/x.ipynb", "../../anna/attention/x.ipynb", "anna/attention/x.ipynb",
])  # fmt: skip
def test_the_layout_is_said_by_what_lies_outermost(enter, tmp_path, system, planted):
    """However many files a student names like another platform's: they are hers, or nobody's."""
    for alone in (False, True):
        people = make_people()
        mallory = people[4]
        mallory.files = {f"{number} {planted}" if number else planted: b"mallory's %d" % number
                         for number in range(3)}  # fmt: skip
        if alone:
            people = [mallory]
        assignment = enter(system, make_people())
        done = collect(assignment, make_download(system, people, tmp_path / f"{alone}"))
        for name, content in read_tree(assignment).items():
            owner = name.split("/")[0]
            assert content.startswith(b"mallory's") == (owner == mallory.login), name
        if not alone:
            honest = {f"{p.login}/attention" for p in people if p.files and p is not mallory}
            assert honest <= {os.path.dirname(name) for name in read_tree(assignment)}
        assert not done.unmatched or ".." in planted


def test_canvas_late_beats_a_manifest_and_both_are_kept_as_said(enter, tmp_path):
    people = make_people()
    assignment = enter("canvas", people)
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("manifest.json", json.dumps({"made": "2030-02-01T00:00:00+00:00"}))
    late = people[0]
    late.files = {"work.zip": zipped.getvalue()}
    done = collect(assignment, make_download("canvas", people, tmp_path / "d"))
    entry = Log(assignment).entries[late.login]["work.zip"]
    assert late.login in done.late and entry["late"] and not entry["time"]
    assert entry["hint"] == {"manifest": "2030-02-01 00:00:00 UTC"}
    assert not (assignment.grading / "submitted" / late.login / "attention/timestamp.txt").exists()


def test_a_worksheet_that_does_not_fit_says_so(enter, tmp_path):
    people = make_people()
    assignment = enter("moodle", people)
    path, sheet = make_download("moodle", people, tmp_path / "d")
    for person in people:
        person.number += 1
    _, other = make_download("moodle", people, tmp_path / "other")
    done = collect(assignment, [path, other])
    assert "does not have 30 of the 30 participants" in done.problems[0]
    assert not any(one.moment for one in done.placed)
    done = collect(assignment, [sheet])
    assert "without Moodle's zip" in done.problems[0]
    text = sheet.read_text("utf-8-sig").replace("John Doe", "Somebody Else")
    other.write_text(text, "utf-8-sig")
    assert "has under another name 1 of the 30" in collect(assignment, [path, other]).problems[0]


def test_what_was_typed_into_a_form_is_named(enter, tmp_path):
    people = make_people()
    assignment = enter("moodle", people)
    form = {"Anna Lund_1063_assignsubmission_onlinetext/onlinetext.html": b"my answer"}
    done = collect(assignment, make_download("moodle", people, tmp_path / "d", form))
    assert done.left_out == ["anna: what was typed into Moodle's form (onlinetext.html) is no file, "
                             "and is not graded."]  # fmt: skip


def test_what_generated_downloads_once_found(enter, tmp_path):
    """A name that begins as a Mac's shadow of a file is a file; an export may hold no file at all."""
    people = make_people()[:2]
    people[0].files = {"._ work.ipynb": b"hidden", "a.ipynb": b"work", "._a.ipynb": b"a shadow"}
    people[1].files = {}
    for system in ("moodle", "gradescope"):
        assignment = enter(system, people)
        done = collect(assignment, make_download(system, people, tmp_path / system))
        assert [one.name for one in done.placed] in (["a.ipynb"], []) and len(done.left_out) == 1
    people[0].files = {}
    done = collect(assignment, make_download("gradescope", people, tmp_path / "empty"))
    assert not done.problems and not done.unmatched


# ------------------------------------------------------------------------------------ --assign


def test_what_an_instructor_says_is_done_and_kept(enter, tmp_path):
    people = make_people()
    assignment = enter("gradescope", people)
    folder = tmp_path / "mail"
    for name in ("Anna LUND", "stranger", "jose"):
        (folder / name).mkdir(parents=True)
        (folder / name / "x.ipynb").write_text(name)
    done = run_autograder("collect", folder, COURSE_GRADING=str(assignment.grading))
    assert "is it anna?" in done.stderr and "proposals.csv" in done.stderr
    proposals = assignment.grading / "collected" / "proposals.csv"
    assert proposals.read_text() == "work,student\nAnna LUND,anna\n"
    before = read_tree(assignment), Log(assignment).entries
    for lines, words in (
        (["stranger=nobody"], "'nobody' is not on the roster"),
        (["strange=anna"], "holds no strange"),
        (["stranger=anna", "stranger=jose"], "is given to anna and to jose"),
        (["stranger"], "is neither"),
    ):
        with pytest.raises(CourseError, match=words):
            collect(assignment, [folder], lines)
        assert (read_tree(assignment), Log(assignment).entries) == before, "nothing changed"
    assert not (assignment.grading / "collected" / "assign.csv").exists()
    done = collect(assignment, [folder], [str(proposals), "stranger=jose2"])
    assert not done.unmatched and not proposals.exists()
    assert {one.student for one in done.placed} == {"anna", "jose2"}
    (folder / "stranger" / "y.ipynb").write_text("new")
    done = collect(assignment, [folder])
    assert [one.student for one in done.placed] == ["jose2"], "the lines are kept"


# --------------------------------------------------------------------- one file stops nobody else


def odd_zip(manifest):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", manifest)
    return content.getvalue()


LONG = "é" * 150
ODD_FILES = {
    "odd.zip": odd_zip("[1, 2"),
    "list.zip": odd_zip("[]"),
    "null.zip": odd_zip('{"made": null}'),
    "deep.zip": odd_zip("[" * 200_000),
    "number.zip": odd_zip('{"made": "9999-99-99T99:99:99"}'),
    "bomb.zip": odd_zip(b" " * 30_000_000),
    "damaged.zip": odd_zip("{}")[:-30],
    f"{LONG}.ipynb": b"long in bytes, not in characters",
    f"{'x' * 251}.txt": b"too long with what is added",
    f"{'f' * 250}/{'g' * 250}/h.txt": b"long folders",
    "both": b"a file",
    "both/inner.txt": b"and a folder",
    "tab\there\x1b[2J.txt": b"signs that act",
    ".taken-in.json": b"{}",
    ".taken-in/1_query_crafting.ipynb": b"ours",
    "timestamp.txt": b"1999-01-01 00:00:00 UTC",
    "CON.txt": b"a device elsewhere",
    "=1+1.csv": b"a formula",
}


@systems
def test_whatever_one_student_names_and_packs_everybody_else_is_placed(enter, tmp_path, system):
    people = make_people()
    assignment = enter(system, people)
    odd = people[7]
    odd.files = dict(ODD_FILES) if system in ("moodle", "gradescope") else {
        name.replace("/", " "): content for name, content in ODD_FILES.items()}  # fmt: skip
    paths = make_download(system, people, tmp_path / "d")
    done = collect(assignment, paths)
    assert not done.problems and not done.unmatched
    found = read_tree(assignment)
    others = [person for person in people if person is not odd]
    mine = {name: content for name, content in found.items() if name.startswith(f"{odd.login}/")}
    assert found.items() - mine.items() == expect(system, others).items()
    ours = ("timestamp.txt", ".taken-in.json", ".taken-in/1_query_crafting.ipynb")
    kept = {content for name, content in ODD_FILES.items() if name not in ours}
    if system in ("moodle", "gradescope"):
        assert set(mine.values()) == kept
    assert all(len(part.encode()) < 220 for name in mine for part in name.split("/"))
    assert set(Log(assignment).entries) == {p.login for p in people if p.files}
    assert not any("\x1b" in name or "\t" in name for name in mine)


def test_a_damaged_entry_or_download_costs_itself_alone(enter, tmp_path):
    people = make_people()
    assignment = enter("canvas", people)
    path = make_download("canvas", people, tmp_path / "d")[0]
    content = bytearray(path.read_bytes())
    at = content.index(b"1_query_crafting.ipynb") + len("1_query_crafting.ipynb") + 3
    content[at : at + 8] = b"\xff" * 8
    path.write_bytes(content)
    (tmp_path / "none.zip").write_bytes(b"no zip")
    done = collect(assignment, [tmp_path / "none.zip", path])
    assert len(done.problems) == 2 and "damaged" in done.problems[1]
    assert len(done.placed) == sum(len(person.files) for person in people) - 1


def test_the_log_is_written_whatever_happens(enter, tmp_path, monkeypatch):
    people = make_people()
    assignment = enter("blackboard", people)
    paths = make_download("blackboard", people, tmp_path / "d")
    place, count = collecting._Placer.place, iter(range(10**6))

    def stop(self, *given):
        if next(count) == 10:
            raise KeyboardInterrupt
        place(self, *given)

    monkeypatch.setattr(collecting._Placer, "place", stop)
    with pytest.raises(KeyboardInterrupt):
        collect(assignment, paths)
    assert len(Log(assignment).entries) == 10
    monkeypatch.undo()
    collect(assignment, paths)
    assert read_tree(assignment) == expect("blackboard", people)


def test_one_student_cannot_fill_the_disk(enter, tmp_path, monkeypatch):
    monkeypatch.setattr(collecting, "LARGEST_CONTENT", 1000)
    people = make_people()
    people[0].files = {f"{number}.txt": bytes([number]) * 300 for number in range(9)}
    assignment = enter("moodle", people)
    done = collect(assignment, make_download("moodle", people, tmp_path / "d"))
    placed = [one for one in done.placed if one.student == people[0].login]
    assert len(placed) == 3 and len(done.problems) == 6
    assert all("was not placed" in sentence for sentence in done.problems)


# -------------------------------------------------------------------------------- what lies around


def test_a_students_own_folder_is_no_wrapping_though_it_be_the_only_one(enter, tmp_path):
    assignment = enter("gradescope", make_people())
    alone = pack(
        tmp_path / "class.zip", {"mallory/anna/x.ipynb": b"m", "mallory/jose/x.ipynb": b"m"}
    )
    done = collect(assignment, [alone])
    assert not done.placed and done.unmatched[0].name == "mallory"
    wrapped = pack(tmp_path / "homework (1).zip", {"homework/anna/x.ipynb": b"hers"})
    assert [one.student for one in collect(assignment, [wrapped]).placed] == ["anna"]


def test_names_from_a_mac_are_the_same_names(enter, tmp_path):
    people = make_people()
    assignment = enter("moodle", people)
    jose = next(p for p in people if p.login == "jose")
    name = decompose(name_entry("moodle", jose, "é.ipynb"))
    done = collect(assignment, [pack(tmp_path / "mac.zip", {name: b"x"})])
    assert [(one.student, one.name) for one in done.placed] == [("jose", "é.ipynb")]


def test_the_title_of_the_assignment_is_what_leaves_logins_of_the_roster():
    assert _BLACKBOARD.fullmatch("A_x_attempt_2030-01-01-00-00-00_y_attempt_2029-01-01-00-00-00_z")[
        "who"
    ] == "A_x"  # fmt: skip


def test_the_same_work_handed_in_twice_came_in_when_it_first_did(enter, tmp_path):
    """It counts as the latest version all the same: in between there may have been another."""
    people = make_people()[:1]
    person, name = people[0], "1_query_crafting.ipynb"
    assignment = enter("blackboard", people)
    first, place = person.moment, assignment.grading / "submitted" / person.login / "attention"
    for number, (content, days) in enumerate([(b"one", 0), (b"two", 1), (b"one", 3)]):
        person.files, person.moment = {name: content}, first + timedelta(days=days)
        collect(assignment, make_download("blackboard", people, tmp_path / str(number)))
    entry = Log(assignment).entries[person.login][name]
    assert entry["time"] == f"{first:%Y-%m-%d %H:%M:%S} UTC"
    latest = max(place.glob("*.ipynb"), key=lambda path: path.stat().st_mtime)
    assert latest.read_bytes() == b"one" and len(list(place.glob("*.ipynb"))) == 2
