"""A damaged file becomes a sentence; the class goes on, and nothing outside is reached."""

import contextlib
import json
import shutil
import time
from unittest import mock

import pytest

from autograder.course import CourseError
from autograder.files import remove_tree
from autograder.grading.paths import find_jobs
from autograder.intake.arrivals import settle
from autograder.opener import walk
from tests.attacks.damages import DAMAGES, NAME, solved, write
from tests.autograder.intake.downloads import Person, make_download, write_table
from tests.conftest import FULL, ROOT, run_autograder, run_nbgrader

pytestmark = pytest.mark.xdist_group("damages")
SECONDS = 20  # of the processor, on a slow machine; the longest takes two on an ordinary one


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    folder = tmp_path / "submitted" / "mallory" / "attention"
    folder.mkdir(parents=True)
    yield folder
    remove_tree(tmp_path)


def read_all(folder, blueprint):
    """Read a folder by both doors; return the restored notebooks, or None where there is none."""
    kit = {blueprint.name: blueprint}
    found = []
    try:
        found.append(settle(folder, kit).restore(blueprint))
    except CourseError:
        found.append(None)
    jobs = find_jobs(str(folder), {"attention": kit}, folder.parent / "scratch")
    graded = [job.gathered.restore(blueprint) for job in jobs if job.gathered]
    return [*found, *(graded or [None])]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.name)
def test_a_damage_is_read_or_refused_in_a_sentence(damage, place, blueprint):
    damage.make(place, blueprint)
    started = time.process_time()
    for restored in read_all(place, blueprint):
        if restored is None or restored.trouble:
            assert not damage.earns
            continue
        text = json.dumps([cell.source for cell in restored.notebook.cells])
        assert text.encode("utf-8"), "no halves of characters"
        assert damage.earns is None or ("10 * K[0]" in text) == (damage.earns > 0)
    assert time.process_time() - started < SECONDS


def test_there_are_at_least_fifty_and_each_says_what_it_is():
    assert len({damage.name for damage in DAMAGES}) == len(DAMAGES) >= 50


def test_a_link_in_our_folders_place_is_not_written_through(place, blueprint):
    """`.taken-in` is where a zip's version goes when the student has a file of the right name."""
    victim = place.parent.parent / "victim" / "attention"
    write(victim / NAME, {"precious": True})
    (place / ".taken-in").symlink_to(victim)
    shutil.copy(ROOT / "release" / "attention" / NAME, place / NAME)
    from tests.attacks.damages import make_zip

    make_zip(place / "work.zip", {NAME: json.dumps(solved(blueprint)).encode()})
    with pytest.raises(CourseError, match="is a link"):
        settle(place, {blueprint.name: blueprint})
    assert json.loads((victim / NAME).read_text()) == {"precious": True}


def test_a_students_folder_that_is_a_link_is_refused(place, blueprint):
    place.rmdir()
    write(place.parent.parent / "victim" / "attention" / NAME, solved(blueprint))
    place.symlink_to(place.parent.parent / "victim" / "attention")
    with pytest.raises(CourseError, match="is a link"):
        settle(place, {blueprint.name: blueprint})


def hand_in_all(submitted, blueprint, chosen):
    """Every damage is a student's of its own, beside an honest one before and one after them."""
    for name in ("ada", "zoe"):
        write(submitted / name / "attention" / NAME, solved(blueprint))
    for damage in chosen:
        folder = submitted / damage.name / "attention"
        folder.mkdir(parents=True)
        damage.make(folder, blueprint)


def grade_by_class(grading):
    done = run_autograder(
        "grade", "--json", "--notebook", NAME.split(".")[0], COURSE_GRADING=str(grading)
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {line["student"]: line["score"] for line in lines if "score" in line}


def grade_by_nbgrader(grading):
    import nbformat

    run_nbgrader("autograde", "attention", COURSE_GRADING=str(grading))
    return {
        path.parent.parent.name: nbformat.read(path, 4).metadata["course"]["result"]["score"]
        for path in grading.glob(f"autograded/*/attention/{NAME}")
    }


def grade_by_path(grading):
    folders = sorted(grading.glob("submitted/*/attention"))
    done = run_autograder("grade", *folders, "--json", "--assignment", "attention")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    names = {str(folder): folder.parent.name for folder in folders}
    return {
        names[line["submission"]]: line["score"]
        for line in lines
        if line.get("notebook") == NAME.split(".")[0]
    }


def grade_by_gradescope(grading):
    """Grade each folder as Gradescope's container does, one by one."""
    from autograder.adapters.gradescope_run import grade_submission
    from autograder.course import load_assignment

    assignment = load_assignment("attention", ROOT)
    title = assignment.find_notebook(NAME.split(".")[0]).title
    found = {}
    for folder in sorted(grading.glob("submitted/*/attention")):
        # A leaderboard needs test sets, which are in Gradescope's zip alone.
        with mock.patch("autograder.adapters.gradescope_run.find_leaderboard", lambda name: None):
            tests = grade_submission(assignment, folder)["tests"]
        found[folder.parent.name] = sum(
            test["score"] for test in tests if test["name"].startswith(f"{title}: ")
        )
    return found


def come_by_downloads(grading):
    """Let what lies in submitted/ come by downloads of four platforms instead, in turn."""
    handed_in = grading / "handed-in"
    (grading / "submitted").rename(handed_in)
    people = []
    for number, home in enumerate(sorted(handed_in.iterdir()), start=100):
        person = Person(home.name, "First", home.name, number)
        for path in walk(home / "attention"):
            inner = path.relative_to(home / "attention").as_posix()
            with contextlib.suppress(OSError):
                person.files[inner.encode("utf-8", "replace").decode()] = path.read_bytes()
        people.append(person)
    rows = [["student", "name", "login", "lms_id", "sis_id", "email"]]
    rows += [[p.login, p.full_name, p.login, p.number, f"id-{p.number}", p.email] for p in people]
    (grading / "roster.csv").write_text(write_table(rows), "utf-8")
    paths = []
    for turn, system in enumerate(("moodle", "canvas", "blackboard", "gradescope")):
        paths += make_download(system, people[turn::4], grading / "downloads")
    run_autograder("collect", *paths, COURSE_GRADING=str(grading))
    remove_tree(handed_in)


def grade_by_collect(grading):
    come_by_downloads(grading)
    return grade_by_class(grading)


DOORS = {
    "grade PATH": grade_by_path,
    "the class": grade_by_class,
    "nbgrader autograde": grade_by_nbgrader,
    "Gradescope": grade_by_gradescope,
    "collect": grade_by_collect,
}


def check_door(door, chosen, tmp_path, blueprint):
    hand_in_all(tmp_path / "submitted", blueprint, chosen)
    scores = DOORS[door](tmp_path)
    assert scores["ada"] == scores["zoe"] == FULL, "an honest point was lost"
    for damage in chosen:
        if damage.earns is not None:
            assert scores.get(damage.name, 0) == damage.earns, damage.name


FEW = {"metadata-null", "course-unhashable", "minus-signs", "lzma-broken", "names-too-long",
       "record-odd", "link-to-source", "record-through-link", "surrogates", "deep-folders",
       "odd-names"}  # fmt: skip


def test_one_damaged_submission_does_not_stop_a_class(tmp_path, blueprint, monkeypatch):
    monkeypatch.chdir(ROOT)
    check_door("collect", [d for d in DAMAGES if d.name in FEW], tmp_path, blueprint)
    remove_tree(tmp_path)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("door", DOORS)
def test_every_damage_by_every_door(door, tmp_path, blueprint, monkeypatch):
    monkeypatch.chdir(ROOT)
    check_door(door, DAMAGES, tmp_path, blueprint)
    remove_tree(tmp_path)
