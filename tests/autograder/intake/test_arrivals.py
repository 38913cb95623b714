"""What lies in grading/submitted/ as a zip or a .py becomes notebooks; nothing is overwritten."""

import os
import zipfile

import nbformat
import pytest

from autograder.classroom.accounts import account_for
from autograder.course import load_assignment
from autograder.demo.personas import fill_in, solve_all
from autograder.exercises.attention.leaderboard import TestSet as Known
from autograder.exercises.attention.leaderboard import collect_test_sets, count_again
from autograder.grading.paths import find_jobs
from autograder.intake.arrivals import find_students, settle
from autograder.intake.colab_export import NOTE
from course_utils.sentiment.sources import load_own_splits
from tests.conftest import ROOT
from tests.journey.forms import export_py, write, write_predictions


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "submitted" / "ada" / "attention"
    place.mkdir(parents=True)
    return place


@pytest.fixture
def blueprints(blueprint):
    return {blueprint.name: blueprint}


def pack(path, notebook, name="1_query_crafting.ipynb", age=0):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"work/{name}", nbformat.writes(notebook))
        archive.writestr("work/test_predictions.csv", "index,text,label,prediction\n")
    os.utime(path, (10**9 - age, 10**9 - age))


def test_a_zip_is_unpacked_once_and_again_when_a_new_one_comes(folder, blueprint, blueprints):
    solved = fill_in(blueprint, solve_all(blueprint))
    pack(folder / "attention-submission-1.zip", solved, "Copy of homework.ipynb", age=50)
    settled = settle(folder, blueprints)
    path = folder / "1_query_crafting.ipynb"
    assert settled.problems == [] and settled.files == {blueprint.name: path}
    assert "handed in under the name Copy of homework.ipynb" in str(settled.notes)
    assert "10 * K[0]" in path.read_text("utf-8") and (folder / "test_predictions.csv").is_file()
    before = path.stat().st_mtime_ns
    assert before == (10**9 - 50) * 10**9, "as old as the zip, so that a newer one counts before it"
    assert settle(folder, blueprints) == settled
    assert path.stat().st_mtime_ns == before
    changed = fill_in(blueprint, {"q_select_first": "q_select_first = 1"})
    pack(folder / "attention-submission-2.zip", changed)
    (flag,) = settle(folder, blueprints).notes[blueprint.name]["flags"]
    assert flag == (
        "there are 2 versions of 1_query_crafting: attention-submission-2.zip: "
        "1_query_crafting.ipynb was graded (one cell worked on), not attention-submission-1.zip: "
        "Copy of homework.ipynb (6 cells worked on)"
    )
    assert "q_select_first = 1" in path.read_text("utf-8")
    assert (folder / "attention-submission-1.zip").is_file(), "originals stay"


def test_a_students_own_file_is_never_overwritten(folder, blueprint, blueprints, tmp_path):
    own = folder / "1_query_crafting.ipynb"
    write(own, fill_in(blueprint, {}))
    outside = tmp_path / "precious.csv"
    (folder / "test_predictions.csv").symlink_to(outside)
    pack(folder / "work.zip", fill_in(blueprint, solve_all(blueprint)))
    blank = own.read_bytes()
    settled = settle(folder, blueprints)
    assert own.read_bytes() == blank and not outside.exists(), "a link leads nowhere"
    assert settled.files[blueprint.name] == folder / ".taken-in" / own.name
    restored = settled.restore(blueprint)
    assert any("10 * K[0]" in cell.source for cell in restored.notebook.cells)
    assert "1_query_crafting.ipynb (untouched)" in restored.flags[0]
    write(own, fill_in(blueprint, {}, "My own words."))  # later, and worked on
    settled = settle(folder, blueprints)
    assert settled.files[blueprint.name] == own and not (folder / ".taken-in" / own.name).exists()


def test_an_exported_py_becomes_a_notebook_beside_it(folder, blueprint, blueprints):
    solved = fill_in(blueprint, solve_all(blueprint), "Words.")
    (folder / "1_query_crafting.py").write_text(export_py(solved, blueprint.name), "utf-8")
    (folder / "helpers.py").write_text("x = 1\n")
    settled = settle(folder, blueprints)
    assert settled.problems == [] and NOTE in settled.restore(blueprint).flags
    made = nbformat.read(folder / "1_query_crafting.ipynb", as_version=4)
    assert any("10 * K[0]" in cell.source for cell in made.cells)
    assert sorted(p.name for p in folder.glob("*.py")) == ["1_query_crafting.py", "helpers.py"]


def test_a_bad_zip_tells_the_student_and_a_good_one_later_counts(folder, blueprint, blueprints):
    (folder / "work.zip").write_bytes(b"not a zip")
    settled = settle(folder, blueprints)
    assert settled.problems[0].startswith("work.zip is not a zip file")
    assert "is not a zip file" in settled.restore(blueprint).trouble
    assert (folder / "1_query_crafting.ipynb").is_file(), "so that nbgrader tells the student too"
    pack(folder / "work.zip", fill_in(blueprint, solve_all(blueprint)))
    assert settle(folder, blueprints).problems == []
    assert "10 * K[0]" in (folder / "1_query_crafting.ipynb").read_text("utf-8")


@pytest.mark.parametrize(
    "content",
    ["null", "[]", '{"from": {}}', '{"from": {}, "for": [], "made": {"../x": "1"}, "notebooks": {}, '
     '"problems": []}', '{"from": 1, "made": [], "for": 2, "notebooks": null, "problems": 0}'],
)  # fmt: skip
def test_a_record_that_is_not_ours_counts_as_nothing(folder, blueprint, blueprints, content):
    write(folder / "1_query_crafting.ipynb", fill_in(blueprint, solve_all(blueprint)))
    (folder / ".taken-in.json").write_text(content)
    assert list(settle(folder, blueprints).files) == [blueprint.name]


# -------------------------------------------------------------------------- counting accuracy


def test_the_accuracy_is_counted_by_our_labels(tmp_path, monkeypatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")  # the course's own data alone
    sets = collect_test_sets()
    rows = load_own_splits()["test"]
    path = tmp_path / "test_predictions.csv"
    write_predictions(path, rows, wrong=len(rows) // 4)
    counted = count_again(path, sets)
    assert counted.accuracy == pytest.approx(1 - (len(rows) // 4) / len(rows), abs=1e-5)
    lying = [{"text": row["text"], "label": 1 - row["label"]} for row in rows]
    write_predictions(path, lying, wrong=0)  # its own labels say that all is right
    counted = count_again(path, sets)
    assert counted.accuracy == 0 and "are not those of the test set" in counted.sentence
    write_predictions(path, rows[:100])
    assert count_again(path, sets).accuracy is None
    assert f"has 100 of the {len(rows)}" in count_again(path, sets).sentence


@pytest.mark.parametrize(
    "content, sentence",
    [
        (None, "There is no test_predictions.csv"),
        (b"", "in no test set known here"),
        (b"a,b\n1,2\n", "is not as `write_predictions` makes it"),
        (b"index,text,label,prediction\n0,Good.,yes,1\n", "is not as `write_predictions`"),
        (b"index,text,label,prediction\n0,Other.,1,1\n", "in no test set known here"),
        (b"\xff\xfe\x00", "is not as `write_predictions`"),
        (b"index,text,label,prediction\n0,Good.,1,1\n0,Good.,1,1\n", "each once"),
    ],
)
def test_what_cannot_be_counted_gets_a_sentence(tmp_path, content, sentence):
    path = tmp_path / "test_predictions.csv"
    if content is not None:
        path.write_bytes(content)
    from autograder.exercises.attention.leaderboard import _digest

    counted = count_again(path, [Known("a set", (_digest("Good."),), (1,))])
    assert counted.accuracy is None and sentence in counted.sentence


def test_a_zip_in_a_zip_is_named(tmp_path, blueprints):
    with zipfile.ZipFile(tmp_path / "outer.zip", "w") as archive:
        archive.writestr("inner.zip", b"PK")
    (job,) = find_jobs(str(tmp_path / "outer.zip"), {"attention": blueprints}, tmp_path / "scratch")
    assert job.problem == (
        "outer.zip holds no notebook (.ipynb) but another zip (inner.zip): unpack that one."
    )


def test_a_file_of_any_kind_is_handed_in_and_nobody_vanishes(tmp_path, monkeypatch):
    """What is no notebook is for a person to look at, not 0; only an empty folder is nothing."""
    monkeypatch.setenv("COURSE_GRADING", str(tmp_path))
    for name in ("zoe/work.rar", "xia/atention/work.rar", "yan/attention/essay.docx",
                 "wim/essay.docx", "wim/attention_at_work/notes.txt"):  # fmt: skip
        path = tmp_path / "submitted" / name
        path.parent.mkdir(parents=True)
        path.write_bytes(b"no notebook")
    (tmp_path / "submitted" / "vic").mkdir()
    for _ in range(2):  # looking changes nothing
        found = account_for(load_assignment("attention", ROOT))
        told = {name: account.sentence for name, account in found.items() if account.handed_in}
        assert set(told) == {"xia", "yan", "zoe"}
        assert all("work.rar" in told[name] for name in ("xia", "zoe"))
        assert "essay.docx" in told["yan"] and not any(
            account.gradable for account in found.values()
        )


def test_a_link_in_a_students_own_folder_is_not_taken_for_misplaced_work(tmp_path, monkeypatch):
    home = tmp_path / "submitted" / "ada"
    (home / "attention").mkdir(parents=True)
    (home / "atention").symlink_to(ROOT / "source" / "attention")
    (home / "1_query_crafting.ipynb").symlink_to(
        ROOT / "source" / "attention" / "1_query_crafting.ipynb"
    )
    monkeypatch.setenv("COURSE_GRADING", str(tmp_path))
    assert find_students(load_assignment("attention", ROOT)) == {"ada": []}
