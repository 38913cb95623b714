"""Commands that only show write nothing below grading/, whatever tempts them to.

The shortcuts of other tests stand in for some of the very functions that write, so `make landing` tries all
of it once more in a process that takes none.
"""

import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from contextlib import closing

import nbformat
import pytest
from sqlalchemy.engine import make_url

from autograder.classroom.snapshot import _copy_rows, copy_gradebook
from tests.autograder.classroom.classes import NOTEBOOK, read_gradebook
from tests.autograder.classroom.test_migration import drop
from tests.autograder.classroom.test_staleness import reweigh
from tests.conftest import PATH, ROOT, run_autograder

pytestmark = pytest.mark.xdist_group("previews")

SHOW = (
    ("grades", "--track", "graduate"),
    ("grades", "--track", "graduate", "--unmarked-as-zero", "--stale-ok", "--explain", "ada"),
    ("history", "ada"),
    ("report",),
    ("report", "--stale-ok", "--anonymous"),
    ("roster",),
    ("date",),
    ("forget", "ada"),
)
DRY_RUN = ("regrade", "--dry-run", "--student", "ada")
# These write, unless they are refused.
REFUSED = (
    ("feedback",),
    ("grades", "--track", "graduate", "--format", "csv"),
    ("report", "--write"),
)
RUN = """
import contextlib, io, json, os, sys
from autograder.__main__ import main
for line in sys.stdin:
    sys.argv[1:], root, os.environ["COURSE_GRADING"] = json.loads(line)
    os.chdir(root)
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        status = main(sys.argv[1:])
    print(json.dumps([status, out.getvalue()]), flush=True)
"""


def run_quickly(arguments, root, grading):
    done = run_autograder(*arguments, cwd=root, COURSE_GRADING=str(grading))
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def run_without_shortcuts():
    """Run commands in a process of its own; return their status and what they say."""
    with subprocess.Popen(
        [sys.executable, "-c", RUN], cwd=ROOT, env={**os.environ, "PATH": PATH}, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip

        def run(arguments, root, grading):
            process.stdin.write(json.dumps([arguments, str(root), str(grading)]) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        yield run
        process.stdin.close()


def take_digest(folder):
    """Return every name below a folder, what is there, and when it was last changed."""
    found = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
        found[str(path.relative_to(folder))] = (content, path.lstat().st_mtime_ns)
    return found


def nothing_odd(root, grading):
    pass


def weigh_anew(root, grading):
    reweigh(root)
    drop(root, "answer_1_2_1")


def hand_in_anew(root, grading):
    """A zip that nobody has settled, a notebook beside its folder, and one that replaces another."""
    home = grading / "submitted" / "ada"
    with zipfile.ZipFile(home / "attention" / "second.zip", "w") as archive:
        archive.writestr(f"work/{NOTEBOOK}.ipynb", solve_otherwise(home / "attention"))
        archive.writestr("work/test_predictions.csv", "1\n")
    (home / "attention" / "link.ipynb").symlink_to(grading / "roster.csv")
    other = grading / "submitted" / "ben"
    (other / "attention" / f"{NOTEBOOK}.ipynb").rename(other / "mine.ipynb")
    (grading / "submitted" / "zoe" / "atention").mkdir(parents=True)
    shutil.copy(other / "mine.ipynb", grading / "submitted" / "zoe" / "atention" / "1.ipynb")


def solve_otherwise(folder):
    notebook = nbformat.read(folder / f"{NOTEBOOK}.ipynb", as_version=4)
    for cell in notebook.cells:
        cell.source = cell.source.replace("10 * K[0]", "11 * K[0]")
    return nbformat.writes(notebook)


def lose_everything(root, grading):
    for name in ("gradebook.db", "secret"):
        (grading / name).unlink()
    for name in ("results", "autograded", "history"):
        shutil.rmtree(grading / name, ignore_errors=True)


def lay_out_as_before(root, grading):
    """Records where a course of one assignment had them, and a run that was killed while it wrote."""
    for path in list((grading / "results" / "attention").iterdir()):
        path.rename(grading / "results" / path.name)
    leave_half_written(grading / "gradebook.db")


def leave_half_written(path):
    """Leave what a process leaves that is killed in a transaction: a journal to take back."""
    was, journal = path.read_bytes(), path.with_name(f"{path.name}-journal")
    with closing(sqlite3.connect(path)) as database:
        database.execute("pragma cache_size = 1")
        database.execute("update grade set auto_score = 0.5")
        database.execute("create table half_written as select * from comment, grade limit 3000")
        half, back = path.read_bytes(), journal.read_bytes()
        database.rollback()
    assert half != was and back
    path.write_bytes(half)
    journal.write_bytes(back)


SITUATIONS = {  # with the commands that are refused in it
    nothing_odd: (),
    weigh_anew: REFUSED,
    hand_in_anew: REFUSED,
    lose_everything: REFUSED,
    lay_out_as_before: (),
}


by_situation = pytest.mark.parametrize("tempt", SITUATIONS, ids=lambda tempt: tempt.__name__)


@by_situation
def test_what_only_shows_writes_nothing(graded, course_copy, tmp_path, tempt):
    grading = copy_class(graded, tmp_path)
    tempt(course_copy, grading)
    watch(run_quickly, course_copy, grading, SITUATIONS[tempt], ())


@pytest.mark.landing
@by_situation
def test_nor_does_it_without_shortcuts(graded, course_copy, tmp_path, run_without_shortcuts, tempt):
    grading = copy_class(graded, tmp_path)
    tempt(course_copy, grading)
    work = grading / "submitted" / "ada" / "attention"
    more = [DRY_RUN, ("doctor",), *([("grade", work)] if (grading / "secret").exists() else ())]
    watch(run_without_shortcuts, course_copy, grading, SITUATIONS[tempt], more)


def copy_class(graded, tmp_path):
    grading = shutil.copytree(graded[0], tmp_path / "grading", symlinks=True)
    (grading / "roster.csv").write_text("student,track\nada,graduate\nben,graduate\n")
    return grading


def watch(run, root, grading, refused, more):
    """Run all commands and look for what they changed."""
    before = take_digest(grading)
    for arguments in (*SHOW, *refused, *more):
        status, words = run(list(map(str, arguments)), root, grading)
        after = take_digest(grading)
        changed = [name for name in before | after if before.get(name) != after.get(name)]
        assert not changed, (arguments, words)
        assert status == 1 or arguments not in refused, words


def test_a_preview_counts_what_the_regrading_counts(graded, course_copy, tmp_path):
    """New work is graded by both, and is no change of the rules; an earlier change is still told."""
    grading = copy_class(graded, tmp_path)
    reweigh(course_copy)
    hand_in_anew(course_copy, grading)

    def run(*arguments):
        done = run_autograder(*arguments, "--json", cwd=course_copy, COURSE_GRADING=str(grading))
        return [json.loads(line) for line in done.stdout.splitlines()]

    run("grade", "--student", "chloe")
    before = take_digest(grading)
    tried = run("regrade", "--dry-run")
    assert take_digest(grading) == before
    done = run("regrade")
    changes = [[line["changed"] for line in lines if "changed" in line] for lines in (tried, done)]
    assert changes[0] == changes[1]
    assert {(c["student"], c["after"]) for c in changes[0]} == {("chloe", 4), ("dmitri", 4)}
    scores = [
        {(line["student"], line["notebook"]): line["score"] for line in lines if "score" in line}
        for lines in (tried, done)
    ]
    assert scores[0] == scores[1] and ("zoe", NOTEBOOK) in scores[0]


def test_a_gradebook_is_copied_from_any_database(graded, tmp_path):
    source = f"sqlite:///{graded[0] / 'gradebook.db'}"
    (tmp_path / "rows").mkdir()
    _copy_rows(make_url(source), tmp_path / "rows" / "gradebook.db", "SERIALIZABLE")
    assert read_gradebook(tmp_path / "rows") == read_gradebook(graded[0])
    copy_gradebook("sqlite:///nowhere.db", tmp_path / "none.db")
    assert not (tmp_path / "none.db").exists()


def test_what_a_killed_run_left_half_written_is_taken_back_in_the_copy(graded, tmp_path):
    folder = shutil.copytree(graded[0], tmp_path / "grading", symlinks=True)
    leave_half_written(folder / "gradebook.db")
    before = take_digest(folder)
    (tmp_path / "copy").mkdir()
    copy_gradebook(f"sqlite:///{folder / 'gradebook.db'}", tmp_path / "copy" / "gradebook.db")
    assert read_gradebook(tmp_path / "copy") == read_gradebook(graded[0])
    assert take_digest(folder) == before
