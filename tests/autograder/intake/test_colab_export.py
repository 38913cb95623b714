"""Colab's .py: no cell marks, and yet every piece of work is found where it belongs."""

import nbformat
import pytest

from autograder.demo.personas import fill_in, solve_all
from autograder.intake.colab_export import NOTE, is_export, rebuild
from autograder.intake.gather import gather
from autograder.intake.restore import restore
from tests.journey.forms import export_py


def work_in(notebook):
    return {
        cell.metadata.nbgrader.grade_id: cell.source.strip()
        for cell in notebook.cells
        if "nbgrader" in cell.metadata
    }


@pytest.fixture
def solved(blueprint):
    return fill_in(blueprint, solve_all(blueprint), "Because $\\frac{a}{b}$ grows.")


def find(notebook, name):
    return next(c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") == name)


def test_nothing_is_lost_on_the_way(solved, blueprint):
    text = export_py(solved, blueprint.name)
    assert is_export(text)
    back = restore(rebuild(text, blueprint), blueprint)
    assert work_in(back.notebook) == work_in(restore(solved, blueprint).notebook)


def test_doubled_backslashes_and_windows_lines_do_no_harm(solved, blueprint):
    text = export_py(solved, blueprint.name).replace("\\", "\\\\").replace("\n", "\r\n")
    graded = work_in(restore(rebuild(text, blueprint), blueprint).notebook)
    assert graded["q_select_first"].endswith("q_select_first = 10 * K[0]")
    assert "grows" in graded["answer_1_2_3"] and "grows" in graded["answer_1_4_3"]


def test_a_cell_that_was_commented_out_for_its_magic_comes_back(solved, blueprint):
    find(solved, "q_select_first").source = "%%time\n# the first\n\nq_select_first = 10 * K[0]"
    find(solved, "Q_identity").source = "%matplotlib inline\nQ_identity = 10 * K"
    text = export_py(solved, blueprint.name)
    assert "# q_select_first = 10 * K[0]" in text
    graded = work_in(restore(rebuild(text, blueprint), blueprint).notebook)
    assert "\nq_select_first = 10 * K[0]" in graded["q_select_first"]
    assert graded["Q_identity"].endswith("Q_identity = 10 * K")


def test_one_broken_cell_does_not_cost_the_others(solved, blueprint):
    find(solved, "q_average_all").source = "q_average_all = torch.zeros(3"
    text = export_py(solved, blueprint.name)
    graded = work_in(restore(rebuild(text, blueprint), blueprint).notebook)
    assert graded["q_select_first"].endswith("q_select_first = 10 * K[0]")
    assert graded["k2_select"] == solve_all(blueprint)["k2_select"].strip()
    assert "grows" in graded["answer_1_3_3"]


def test_helpers_stay_before_the_work_that_uses_them(solved, blueprint):
    find(solved, "q_select_first").source = "def scale(k):\n    return 10 * k"
    cell = nbformat.v4.new_code_cell("q_select_first = scale(K[0])")
    solved.cells.insert(solved.cells.index(find(solved, "q_select_first")) + 1, cell)
    restored = restore(rebuild(export_py(solved, blueprint.name), blueprint), blueprint)
    sources = [c.source for c in restored.notebook.cells if c.cell_type == "code"]
    helper = next(i for i, s in enumerate(sources) if "def scale" in s)
    use = next(i for i, s in enumerate(sources) if "scale(K[0])" in s)
    assert helper <= use


def test_a_students_own_module_is_not_taken_for_a_notebook(tmp_path, blueprint):
    (tmp_path / "helpers.py").write_text('"""My helpers."""\n\ndef scale(k):\n    return 10 * k\n')
    (tmp_path / "copy_of_one.py").write_text(export_py(nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_markdown_cell("# Hi")]), "one"))  # fmt: skip
    (tmp_path / f"{blueprint.name}.py").write_text("q_select_first = 1\n")
    (tmp_path / "2.ipynb").write_text("{}")
    gathered = gather(tmp_path, {blueprint.name: blueprint}, tmp_path / ".scratch")
    assert gathered.pieces[blueprint.name].found.label == f"{blueprint.name}.py"
    assert gathered.pieces[blueprint.name].notes == [NOTE]
    assert len(gathered.problems) == 2, "a notebook without cells and a page of somebody else"
    assert "2.ipynb" in gathered.problems[0] and "copy_of_one.py" in gathered.problems[1]


def test_the_percent_format_is_read_as_what_it_is(blueprint):
    text = "# %% [markdown]\n# Hi.\n\n# %%\nq_select_first = 10 * K[0]\n\n# %%\nx = 1\n"
    notebook = rebuild(text, blueprint)
    assert [cell.source for cell in notebook.cells] == [
        "Hi.",
        "q_select_first = 10 * K[0]",
        "x = 1",
    ]
