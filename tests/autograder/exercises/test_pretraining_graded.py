"""The pretraining notebook through the grader: files on disk in, scores and kept outputs out."""

from itertools import zip_longest

import nbformat
import pytest

from autograder.blueprint import load_blueprint
from autograder.course import load_assignment
from autograder.demo.personas import fill_in, solve_all
from autograder.exercises import find_exercises
from autograder.grading.grade import grade_notebook
from autograder.grading.kept_outputs import NOTE
from autograder.intake.restore import restore
from tests.conftest import ROOT, grade

pytestmark = pytest.mark.xdist_group("grade_pretraining")

BLUEPRINT = load_blueprint(load_assignment("attention_at_work"), "3_pretraining")
SOLVED = solve_all(BLUEPRINT)
EXERCISES = find_exercises("attention_at_work.pretraining")


def write(folder, codes, change=None):
    path = folder / f"{BLUEPRINT.name}.ipynb"
    path.parent.mkdir(parents=True)
    notebook = fill_in(BLUEPRINT, SOLVED | codes, "Words.")
    if change:
        change(notebook)
    path.write_text(nbformat.writes(notebook), "utf-8")
    return str(path)


def write_mistakes(folder, step):
    """Write notebooks with one mistake in each exercise; `step` says how many are left out."""
    files = {}
    rows = zip_longest(*(EXERCISES[name].mistakes[::step] for name in SOLVED))
    for number, row in enumerate(rows):
        mistakes = {name: m for name, m in zip(SOLVED, row, strict=True) if m}
        path = write(folder / f"wrong-{number}", {name: m.code for name, m in mistakes.items()})
        files[path] = mistakes
    return files


def check_mistakes(files):
    results = {result["submission"]: result for result in grade(*files)}
    for path, mistakes in files.items():
        cells = results[path]["cells"]
        for name, mistake in mistakes.items():
            cell = cells[f"test_{name}"]
            assert cell["score"] <= cell["max_score"] * mistake.share, (mistake, cell)
            assert cell["status"] in ("failed", "partial"), (mistake, cell)
            # A wrong make_pair shows in make_question as well, as a mistake of another kind.
            if name != "make_question" or "make_pair" not in mistakes:
                assert cell["diagnosis"] == mistake.diagnosis, cell
        right = [cells[f"test_{name}"] for name in SOLVED if name not in mistakes]
        assert all(cell["score"] == cell["max_score"] for cell in right)


def test_mistakes_are_rejected_and_named(tmp_path):
    check_mistakes(write_mistakes(tmp_path, step=10))


@pytest.mark.soak
def test_all_mistakes_are_rejected_and_named(tmp_path):
    check_mistakes(write_mistakes(tmp_path, step=1))


def test_variants_get_full_marks_and_an_untouched_release_none(tmp_path):
    variants = [
        write(tmp_path / f"right-{number}", {n: c for n, c in zip(SOLVED, row, strict=True) if c})
        for number, row in enumerate(zip_longest(*(EXERCISES[name].variants for name in SOLVED)))
    ]
    release = ROOT / "release/attention_at_work/3_pretraining.ipynb"
    results = {result["submission"]: result for result in grade(*variants, str(release))}
    for path in variants:
        assert results[path]["score"] == results[path]["max_score"] == 14.0, results[path]["cells"]
    untouched = results[str(release)]
    assert (untouched["score"], untouched["max_score"]) == (0.0, 14.0)
    assert all(c["status"] in ("missing", "manual") for c in untouched["cells"].values())


def test_trainings_are_neither_run_again_nor_lost():
    notebook = fill_in(BLUEPRINT, SOLVED, "Words.")
    output = nbformat.v4.new_output("stream", name="stdout", text="finetuning alone 15.0%")
    trained = [
        cell
        for cell in notebook.cells
        if cell.cell_type == "code"
        and ("finetune(" in cell.source or "plot_confidence" in cell.source)
    ]
    assert len(trained) == 4
    for cell in trained:
        cell.outputs = [output]
    restored = restore(notebook, BLUEPRINT)
    result = grade_notebook(restored, BLUEPRINT, None)
    assert result.score == 14.0
    kept = [cell for cell in restored.notebook.cells if "15.0%" in str(cell.get("outputs"))]
    assert len(kept) == len(trained)
    assert all(cell.outputs[0].text.startswith(NOTE) for cell in kept)
