"""Twenty-five kinds of damage: wherever the work is there, it is graded as if undamaged."""

import json

import nbformat
import pytest

from autograder.demo.personas import fill_in, solve_all
from tests.autograder.intake.test_restore import DAMAGES, find, grade_id
from tests.conftest import FULL, grade

pytestmark = pytest.mark.xdist_group("damage")  # one fixture grades everything

ANSWER = "Because of the softmax."


def split_a_solution(notebook):
    index = find(notebook, "q_select_first")
    notebook.cells[index].source = "S = 10"
    notebook.cells.insert(index + 1, nbformat.v4.new_code_cell("q_select_first = S * K[0]"))


def merge_solution_and_test(notebook):
    index = find(notebook, "Q_identity")
    notebook.cells[index].source += '\ncheck("Q_identity", Q_identity)'
    del notebook.cells[index + 1]


def merge_two_solutions(notebook):
    first, second = find(notebook, "q_select_first"), find(notebook, "Q_identity")
    notebook.cells[first].source += "\n" + notebook.cells[second].source
    del notebook.cells[second]


def move_a_solution_below_its_test(notebook):
    index = find(notebook, "q_average_all")
    notebook.cells[index], notebook.cells[index + 1] = (
        notebook.cells[index + 1],
        notebook.cells[index],
    )


def use_windows_lines(notebook):
    for cell in notebook.cells:
        cell.source = cell.source.replace("\n", "\r\n")


def add_magics_and_lose_metadata(notebook):
    for cell in notebook.cells:
        if cell.cell_type == "code" and not cell.source.startswith("check("):
            cell.source = "%matplotlib inline\n" + cell.source
        cell.metadata = nbformat.NotebookNode()
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"other-{number}"


def garble_metadata(notebook):
    for number, cell in enumerate(notebook.cells):
        cell.metadata = nbformat.NotebookNode(nbgrader=["yes", None, 3][number % 3])


def swap_cell_ids(notebook):
    one, other = find(notebook, "q_select_first"), find(notebook, "Q_identity")
    notebook.cells[one]["id"], notebook.cells[other]["id"] = (
        notebook.cells[other]["id"],
        notebook.cells[one]["id"],
    )


def write_an_answer_in_two_cells(notebook):
    index = find(notebook, "answer_1_2_3")
    notebook.cells.insert(index + 1, nbformat.v4.new_markdown_cell("And another thing."))


def lose_the_kernel(notebook):
    notebook.metadata = nbformat.NotebookNode(kernelspec={"name": "julia-1.9", "display_name": "J"})


def add_cells_everywhere(notebook):
    cells = []
    for number, cell in enumerate(notebook.cells):
        cells += [cell, nbformat.v4.new_code_cell(f"scratch_{number} = {number}")]
    notebook.cells = cells


def paste_the_notebook_twice(notebook):
    notebook.cells += [nbformat.from_dict(cell) for cell in notebook.cells]


def leave_the_stub_below_the_work(notebook):
    index = find(notebook, "q_average_two")
    stub = nbformat.v4.new_code_cell(
        "q_average_two = ...  # three numbers\n# TODO: your work goes here"
    )
    notebook.cells.insert(index + 1, stub)


def leave_an_error_and_a_warning(notebook):
    notebook.cells.insert(0, nbformat.v4.new_code_cell("raise ValueError('old')"))
    notebook.cells.insert(0, nbformat.v4.new_code_cell("import warnings\nwarnings.warn('old')"))


KINDS = [
    *DAMAGES, split_a_solution, merge_solution_and_test, merge_two_solutions,
    move_a_solution_below_its_test, use_windows_lines, add_magics_and_lose_metadata,
    garble_metadata, swap_cell_ids, write_an_answer_in_two_cells, lose_the_kernel,
    add_cells_everywhere, paste_the_notebook_twice, leave_the_stub_below_the_work,
    leave_an_error_and_a_warning,
]  # fmt: skip


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    from autograder.blueprint import load_blueprint
    from autograder.course import load_assignment
    from tests.conftest import ROOT

    blueprint = load_blueprint(load_assignment("attention", ROOT), "1_query_crafting")
    folder = tmp_path_factory.mktemp("damaged")
    paths = {}
    for damage in KINDS:
        notebook = fill_in(blueprint, solve_all(blueprint), ANSWER)
        damage(notebook)
        path = folder / damage.__name__ / "homework (1).ipynb"  # renamed, too
        path.parent.mkdir()
        path.write_text(json.dumps(notebook), "utf-8")
        paths[damage.__name__] = path
    return dict(zip(paths, grade(*paths.values()), strict=True))


@pytest.mark.parametrize("damage", KINDS, ids=lambda damage: damage.__name__)
def test_the_work_is_graded_as_if_undamaged(damage, results):
    result = results[damage.__name__]
    assert result.get("score") == FULL, result
    answers = {k: c for k, c in result["cells"].items() if c["status"] == "manual"}
    assert len(answers) == 10
    assert all(cell["messages"] != ["untouched"] for cell in answers.values())


def test_there_are_twenty_five_kinds():
    assert len(KINDS) >= 25
    assert grade_id(nbformat.v4.new_code_cell()) == ""
