"""One intake: every version of a notebook is found, the one that was worked on last counts."""

import json
import os
import shutil
import zipfile

import nbformat
import pytest

from autograder.blueprint import load_blueprints
from autograder.demo.personas import fill_in, solve_all, strip_metadata
from autograder.intake.gather import find_kit, gather
from tests.conftest import grade

FIRST, SECOND = "1_query_crafting", "2_attention_from_scratch"


@pytest.fixture(scope="module")
def kit(assignment):
    return load_blueprints(assignment)


@pytest.fixture
def place(tmp_path):
    folder = tmp_path / "ada"
    folder.mkdir()
    return folder


def put(path, notebook, time=10**9):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(nbformat.writes(notebook), "utf-8")
    os.utime(path, (time, time))
    return path


def pack(path, notebooks, time=10**9, made=None):
    with zipfile.ZipFile(path, "w") as archive:
        for name, notebook in notebooks.items():
            archive.writestr(name, nbformat.writes(notebook))
        if made:
            archive.writestr("manifest.json", json.dumps({"made": made}))
    os.utime(path, (time, time))


def worked(kit, name, **codes):
    return fill_in(kit[name], solve_all(kit[name]) | codes)


def blank(kit, name):
    return fill_in(kit[name], {})


def choose(place, kit, name=SECOND):
    gathered = gather(place, kit, place.parent / "scratch")
    return gathered.pieces[name].found.label, gathered.flags[name]


def test_a_blank_copy_never_beats_the_worked_one(place, kit):
    put(place / f"{SECOND}.ipynb", blank(kit, SECOND), time=2 * 10**9)
    put(place / f"Copy of {SECOND}.ipynb", worked(kit, SECOND))
    label, (flag,) = choose(place, kit)
    assert label == f"Copy of {SECOND}.ipynb"
    assert f"{SECOND}.ipynb (untouched)" in flag and "9 cells worked on" in flag


def test_a_blank_notebook_beside_a_zip_with_the_work(place, kit):
    put(place / f"{SECOND}.ipynb", blank(kit, SECOND), time=2 * 10**9)
    pack(place / "work.zip", {f"{SECOND}.ipynb": worked(kit, SECOND)})
    assert choose(place, kit)[0] == f"work.zip: {SECOND}.ipynb"


def test_a_zip_with_a_blank_and_a_worked_one(place, kit):
    pack(place / "work.zip", {f"{SECOND}.ipynb": blank(kit, SECOND),
                              f"Copy of {SECOND}.ipynb": worked(kit, SECOND)})  # fmt: skip
    assert choose(place, kit)[0] == f"work.zip: Copy of {SECOND}.ipynb"


def test_notebooks_under_each_others_names_are_known_by_their_cells(place, kit):
    put(place / f"{FIRST}.ipynb", worked(kit, SECOND))
    put(place / f"{SECOND}.ipynb", worked(kit, FIRST))
    assert choose(place, kit, FIRST)[0] == f"{SECOND}.ipynb"
    assert choose(place, kit, SECOND)[0] == f"{FIRST}.ipynb"


def test_of_zips_with_equal_times_the_tenth_comes_after_the_ninth(place, kit):
    for number in (9, 10):
        code = f"attn_softmax = lambda A: {number}"
        notebook = worked(kit, SECOND, attn_softmax=code)
        pack(place / f"attention-submission-{number}.zip", {f"{SECOND}.ipynb": notebook})
    assert choose(place, kit)[0].startswith("attention-submission-10.zip")


def test_the_manifest_says_when_a_zip_was_made(place, kit):
    old, new = worked(kit, SECOND, attn_softmax="x = 1"), worked(kit, SECOND)
    pack(place / "b.zip", {f"{SECOND}.ipynb": old}, time=2 * 10**9, made="2026-01-01T10:00:00Z")
    pack(place / "a.zip", {f"{SECOND}.ipynb": new}, time=10**9, made="2026-01-02T10:00:00Z")
    assert choose(place, kit)[0].startswith("a.zip")


def test_a_later_zip_with_one_notebook_leaves_the_others_alone(place, kit):
    pack(place / "1.zip", {f"{n}.ipynb": worked(kit, n) for n in (FIRST, SECOND)}, time=10**9)
    pack(place / "2.zip", {f"{SECOND}.ipynb": worked(kit, SECOND)}, time=2 * 10**9)
    gathered = gather(place, kit, place.parent / "scratch")
    assert set(gathered.pieces) == {FIRST, SECOND}
    assert gathered.flags[SECOND] == [], "the same work twice is no question"
    pack(place / "0.zip", {f"{SECOND}.ipynb": worked(kit, SECOND, attn_softmax="x = 1")}, time=1)
    (flag,) = choose(place, kit)[1]
    assert flag.startswith("there are 2 versions") and "not 0.zip" in flag and "1.zip" not in flag


@pytest.mark.parametrize(
    "name",
    [f"homework/deep/{SECOND}.ipynb", f"{SECOND}.IPYNB", f"{SECOND}.ipynb.txt", "untitled.ipynb",
     f"Copy of {SECOND} (1).ipynb"],
)  # fmt: skip
def test_nobody_vanishes_behind_an_odd_name(place, kit, name):
    put(place / name, worked(kit, SECOND))
    assert choose(place, kit) == (name, [])


def test_a_link_is_nobodys_work(place, kit):
    elsewhere = put(place.parent / "bob" / f"{SECOND}.ipynb", worked(kit, SECOND))
    (place / f"{SECOND}.ipynb").symlink_to(elsewhere)
    assert gather(place, kit, place.parent / "scratch").pieces == {}


def test_the_assignment_is_known_by_names_then_by_cells(place, kit):
    kits = {"other": {"9_other": kit[FIRST]}, "attention": kit}
    put(place / f"{SECOND}.ipynb", worked(kit, SECOND))
    assert find_kit(place, kits, place.parent / "scratch") == "attention"
    stripped = worked(kit, SECOND)
    strip_metadata(stripped)
    put(place / f"{SECOND}.ipynb", stripped).rename(place / "untitled.ipynb")
    assert find_kit(place, kits, place.parent / "scratch") == "attention"


def test_one_notebook_and_a_zip_of_all_three_through_the_command(place, kit):
    """The same files get the same scores by every door."""
    names = list(kit)
    put(place / f"{names[0]}.ipynb", worked(kit, names[0]))
    pack(place / "all.zip", {f"{name}.ipynb": worked(kit, name) for name in names})
    results = grade(place)
    assert [(r["notebook"], r["score"]) for r in results] == [
        (name, kit[name].auto_points) for name in names
    ]
    shutil.rmtree(place)
