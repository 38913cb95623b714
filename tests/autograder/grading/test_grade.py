"""`python -m autograder grade` on real notebook files."""

from itertools import zip_longest

import nbformat
import pytest

from autograder.blueprint import load_blueprint
from autograder.demo.personas import fill_in, solve_all
from autograder.exercises import find_exercises
from autograder.exercises.attention import query_crafting
from autograder.grading.judge import STATUSES, Verdict
from autograder.grading.judges import Question
from autograder.intake.restore import restore
from tests.conftest import FULL, grade, run_autograder, run_python

EXERCISES = find_exercises("attention.query_crafting")
NAMES = list(EXERCISES)
# Each file makes one mistake (or uses one variant) an exercise, so that a few files hold all.
# Section 1.4 builds on the query of 1.3.2, so that one is varied in files of its own.
INDEPENDENT = [name for name in NAMES if name != "q_average_two"]


def write(folder, name, notebook):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.ipynb"
    path.write_text(nbformat.writes(notebook), "utf-8")
    return path


def spread(blueprint, folder, lists):
    """Write notebooks that together hold every code of every list; return path -> codes."""
    files = {}
    for number, row in enumerate(zip_longest(*lists.values())):
        codes = {name: code for name, code in zip(lists, row, strict=True) if code is not None}
        notebook = fill_in(blueprint, solve_all(blueprint) | codes)
        files[str(write(folder / str(number), blueprint.name, notebook))] = codes
    return files


def test_every_known_mistake_is_rejected_and_named(blueprint, tmp_path):
    named = {m.code: m.diagnosis for name in NAMES for m in EXERCISES[name].mistakes}
    lists = {name: [m.code for m in EXERCISES[name].mistakes] for name in NAMES}
    files = spread(blueprint, tmp_path / "independent", {n: lists[n] for n in INDEPENDENT})
    files |= spread(blueprint, tmp_path / "query", {"q_average_two": lists["q_average_two"]})
    wrong = 0
    for result in grade(*files):
        codes = files[result["submission"]]
        for name, code in codes.items():
            cell = result["cells"][f"test_{name}"]
            assert cell["score"] == 0.0 and cell["status"] == "failed", (code, cell)
            assert cell["diagnosis"] == named[code], (code, cell)
            wrong += 1
        if "q_average_two" not in codes:
            assert result["score"] == FULL - 2 * len(codes)
    assert wrong >= 18


def test_every_accepted_variant_gets_full_marks(blueprint, tmp_path):
    lists = {name: list(EXERCISES[name].variants) for name in NAMES}
    files = spread(blueprint, tmp_path / "independent", {n: lists[n] for n in INDEPENDENT})
    files |= spread(blueprint, tmp_path / "query", {"q_average_two": lists["q_average_two"]})
    right = 0
    for result in grade(*files):
        codes = files[result["submission"]]
        for name in codes:
            cell = result["cells"][f"test_{name}"]
            assert (cell["score"], cell["status"]) == (2.0, "passed"), (codes[name], cell)
            right += 1
        if "q_average_two" not in codes:
            assert result["score"] == result["max_score"] == FULL
    assert right >= 10


def test_the_json_object_is_what_was_promised(blueprint, tmp_path):
    path = write(tmp_path, blueprint.name, fill_in(blueprint, solve_all(blueprint), "Words."))
    (result,) = grade(path)
    assert result["submission"] == str(path)
    assert result["notebook"] == "1_query_crafting"
    assert (result["score"], result["max_score"]) == (FULL, FULL)
    assert result["repairs"] == [] and result["flags"] == [] and result["isolation"]
    for name, cell in result["cells"].items():
        assert set(cell) == {"score", "max_score", "status", "diagnosis", "messages", "details"}
        assert cell["status"] in STATUSES
        assert (cell["status"] == "manual") == name.startswith("answer_")


def test_the_untouched_release_scores_nothing_and_crashes_nothing(assignment, blueprint):
    (result,) = grade(assignment.release / f"{blueprint.name}.ipynb")
    assert result["score"] == 0.0
    judged = [cell for cell in result["cells"].values() if cell["status"] != "manual"]
    assert len(judged) == 6 and all(cell["status"] == "missing" for cell in judged)
    answers = [cell for cell in result["cells"].values() if cell["status"] == "manual"]
    assert all(cell["messages"] == ["untouched"] for cell in answers)


def test_what_cannot_be_graded_gets_a_sentence_and_the_others_are_graded(blueprint, tmp_path):
    good = write(tmp_path / "good", blueprint.name, fill_in(blueprint, solve_all(blueprint)))
    bad = {
        "broken": b'{"cells": [',
        "empty": b"",
        "future": b'{"nbformat": 99, "cells": []}',
        "other": b'{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []}',
    }
    paths = []
    for name, content in bad.items():
        path = tmp_path / f"{name}.ipynb"
        path.write_bytes(content)
        paths.append(path)
    folder = tmp_path / "folder.ipynb"
    folder.mkdir()
    text = tmp_path / "notes.txt"
    text.write_text("hello")
    nothing = tmp_path / "bare"
    nothing.mkdir()
    results = grade(*paths, folder, text, tmp_path / "gone.ipynb", nothing, good, expect=1)
    assert len(results) == 9
    for result in results[:-1]:
        assert set(result) == {"submission", "error"}
        assert "\n" not in result["error"] and "Traceback" not in result["error"]
    assert results[-1]["score"] == FULL


def test_faults_cost_only_what_they_touch(blueprint, tmp_path):
    codes = solve_all(blueprint)
    codes["q_select_first"] = "import os\nos._exit(3)"
    codes["Q_identity"] = "Q_identity = 10 * L"
    codes["q_average_all"] = "import warnings, sys\nwarnings.warn('careful')\n" + (
        "print('oops', file=sys.stderr)\nq_average_all = torch.zeros(3)"
    )
    notebook = fill_in(blueprint, codes)
    notebook.cells.insert(0, nbformat.v4.new_code_cell("raise RuntimeError('at the top')"))
    (result,) = grade(write(tmp_path, blueprint.name, notebook))
    cells = result["cells"]
    assert cells["test_q_select_first"]["status"] == "crashed"
    assert cells["test_Q_identity"]["diagnosis"] == "cell-raised"
    assert "NameError: name 'L' is not defined" in cells["test_Q_identity"]["messages"][0]
    assert cells["test_q_average_all"]["status"] == "passed"
    assert result["score"] == 8.0


def test_nothing_the_kernel_says_becomes_a_score(blueprint, tmp_path):
    """A few ways of faking marks from inside; none of them reaches the judge."""
    cheat = """
import sys, builtins, torch, course_utils.checks
course_utils.checks.check = check = lambda *a, **k: 2.0
torch.allclose = torch.equal = lambda *a, **k: True
sys.displayhook(2.0)
get_ipython().kernel.do_execute = lambda *a, **k: {"status": "ok", "user_expressions": {}}
class Q(list):
    def __eq__(self, other): return True
q_select_first = Q([0.0, 0.0, 0.0])
2.0
"""
    notebook = fill_in(blueprint, {"q_select_first": cheat})
    for cell in notebook.cells:
        cell.metadata["tags"] = ["skip-execution"]
        if cell.source.startswith("check("):
            cell.source = "2.0"
    (result,) = grade(write(tmp_path, blueprint.name, notebook))
    assert result["score"] == 0.0


def test_a_person_reads_a_table(blueprint, tmp_path):
    path = write(
        tmp_path, blueprint.name, fill_in(blueprint, {"q_select_first": "q_select_first = 1"})
    )
    done = run_autograder("grade", path, COLUMNS="120")
    assert done.returncode == 0
    assert "test_q_select_first" in done.stdout and "0 / 12" in done.stdout
    assert "must have shape (3,)" in done.stdout


def test_a_second_try_runs_in_a_fresh_kernel(blueprint, monkeypatch):
    from autograder.grading import grade

    started = []

    def try_two(verdicts, exercises, solutions, ask):
        for name in ("q_select_first", "q_average_all"):
            assert ask(exercises[name], exercises[name].program).status == "missing"
        return verdicts

    start = grade.KernelSession.start_afresh
    monkeypatch.setattr(grade, "judge_again", try_two)
    monkeypatch.setattr(
        grade.KernelSession, "start_afresh", lambda *a: (started.append(a), start(*a))
    )
    grade.grade_notebook(restore(fill_in(blueprint, {}), blueprint), blueprint, None)
    assert len(started) == 1, "one for all second tries of a notebook"


# -------------------------------------------------------------------------------- the canary


BREAKS = {
    "a judge that passes everything": (
        "autograder.grading.judges.decide",
        lambda exercise, points, *asked: Verdict(points, points, "passed"),
    ),
    "a judge that fails everything": (
        "autograder.grading.judges.decide",
        lambda exercise, points, *asked: Verdict(0.0, points, "failed"),
    ),
    "checks that say yes": ("course_utils.checks.query_crafting._is_small", lambda error: True),
}


def is_refused(done):
    assert done.returncode == 1 and done.stdout == ""
    assert "The canary failed" in done.stderr and "Traceback" not in done.stderr
    return True


@pytest.mark.parametrize("name", BREAKS)
def test_with_a_broken_judge_nothing_is_graded(monkeypatch, shortcuts, name):
    shortcuts.clear()  # the canary has to be asked again
    monkeypatch.setattr(*BREAKS[name])
    # What is broken is broken in this process, so judging has to happen here.
    monkeypatch.setattr("autograder.grading.grade.judge_reply", Question.decide)
    assert is_refused(run_autograder("grade", "source/attention/1_query_crafting.ipynb", "--json"))


def test_with_a_broken_file_nothing_is_graded(course_copy):
    """The same as an instructor would meet it: one line of the judge was changed."""
    path = course_copy / "autograder/grading/judge.py"
    old = "score = points * min(1.0, max(0.0, share))"
    content = path.read_text("utf-8")
    assert old in content
    path.write_text(content.replace(old, "score = points"), "utf-8")
    command = ("-m", "autograder", "grade", "source/attention/1_query_crafting.ipynb", "--json")
    assert is_refused(run_python(*command, cwd=course_copy, PYTHONPATH=str(course_copy)))


def test_out_of_memory_is_called_by_its_name(assignment, blueprint, tmp_path):
    greedy = "eaten = []\nwhile True: eaten.append(bytearray(2**28))"
    notebook = fill_in(blueprint, solve_all(blueprint) | {"q_select_first": greedy})
    path = write(tmp_path, blueprint.name, notebook)
    blueprint2 = load_blueprint(assignment, "2_attention_from_scratch")
    asks_too_much = (
        "import torch\n\n\ndef attn_softmax(scores):\n    return torch.empty(2**40)[scores.long()]"
    )
    notebook = fill_in(blueprint2, solve_all(blueprint2) | {"attn_softmax": asks_too_much})
    results = grade(path, write(tmp_path, blueprint2.name, notebook))
    assert [result["score"] for result in results] == [10.0, 18.0]
    for result, name in zip(results, ("q_select_first", "attn_softmax"), strict=True):
        cell = result["cells"][f"test_{name}"]
        assert cell["diagnosis"] == "out-of-memory" and cell["status"] in STATUSES
        assert any("ran out of memory" in line for line in cell["messages"])


def test_what_a_person_should_know_about_files_is_flagged(blueprint, tmp_path):
    write(tmp_path, blueprint.name, fill_in(blueprint, solve_all(blueprint)))
    (tmp_path / "torch.py").write_text("raise SystemExit")
    (tmp_path / "link").symlink_to("/etc/passwd")
    result = next(r for r in grade(tmp_path) if r["notebook"] == blueprint.name)
    assert result["score"] == FULL
    assert result["flags"] == [
        "link is a link or no ordinary file and was left out",
        "torch.py has the name of a package and was set aside",
    ]
