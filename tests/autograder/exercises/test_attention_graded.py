"""Notebook 2 through the real command line: mistakes, variants, kept outputs, borrowed attention."""

import json
from itertools import cycle, islice

import nbformat
import pytest

from autograder.blueprint import load_blueprint
from autograder.demo.personas import fill_in
from autograder.exercises.attention.attention_from_scratch import PIECES
from autograder.exercises.attention.attention_from_scratch_code import (
    MISTAKES,
    ORACLES,
    VARIANTS,
)
from autograder.grading.kept_outputs import NOTE
from tests.conftest import grade

pytestmark = pytest.mark.xdist_group("grade_attention")  # one fixture grades everything

MASKS = ("make_causal_mask", "apply_causal_mask")
ROUNDS = 2  # notebooks of each kind; the build tries every mistake and variant


@pytest.fixture(scope="module")
def blueprint2(assignment):
    return load_blueprint(assignment, "2_attention_from_scratch")


def choose_variants(number):
    """Take another right way for every function; masks of a convention of their own as a pair."""
    codes = {
        name: next(islice(cycle(VARIANTS[name]), number * 2, None))
        for name in ORACLES
        if name not in MASKS
    }
    pairs = [code for code in VARIANTS["make_causal_mask"] if "def apply_causal_mask" in code]
    return codes | dict.fromkeys(MASKS, pairs[number % len(pairs)])


def choose_mistakes(number):
    """Take another mistake for every function, and what it should be called."""
    chosen = {}
    for name in ORACLES:
        known = [(slug, code) for slug, codes in MISTAKES[name].items() for code in codes[:1]]
        chosen[name] = next(islice(cycle(known), number * 3, None))
    return chosen


def write(notebook, path):
    path.write_text(json.dumps(notebook), "utf-8")
    return path


@pytest.fixture(scope="module")
def graded(blueprint2, tmp_path_factory):
    """Grade all notebooks of this module in one call, as a class is graded."""
    folder = tmp_path_factory.mktemp("class")
    notebooks = {}
    for number in range(ROUNDS):
        notebooks[f"right-{number}"] = fill_in(blueprint2, choose_variants(number))
        mistakes = {name: code for name, (_, code) in choose_mistakes(number).items()}
        mistakes["self_attention"] = ORACLES["self_attention"]
        notebooks[f"wrong-{number}"] = fill_in(blueprint2, ORACLES | mistakes)
    notebooks["untouched"] = fill_in(blueprint2, {})
    notebooks["forgetful"] = fill_in(
        blueprint2,
        ORACLES | {"self_attention": MISTAKES["self_attention"]["mask-forgotten"][0]},
    )
    notebooks["trained"] = make_trained(blueprint2)
    paths = {name: write(nb, folder / f"{name}.ipynb") for name, nb in notebooks.items()}
    return dict(zip(paths, grade(*paths.values()), strict=True))


def make_trained(blueprint2):
    """A student who trained on a GPU, added cells, and called PyTorch's attention."""
    borrowed = (
        "def fast(*qkv, causal):\n    return F.scaled_dot_product_attention(*qkv, is_causal=causal)"
    )
    uses = (
        "def self_attention(Q, K, V, n_heads=1, causal=True):\n"
        "    return merge_heads(fast(*split_heads_qkv(Q, K, V, n_heads), causal=causal))"
    )
    notebook = fill_in(blueprint2, ORACLES | {"self_attention": f"{borrowed}\n\n\n{uses}"})
    output = nbformat.v4.new_output("stream", name="stdout", text="loss 5.80 after an hour\n")
    for cell in notebook.cells:
        if cell.cell_type == "code" and cell.source.startswith("settings ="):
            cell.outputs = [output]
    added = nbformat.v4.new_code_cell("import time\ntime.sleep(1000)", outputs=[output])
    silent = nbformat.v4.new_code_cell("import time\ntime.sleep(2000)")  # and nothing to show
    notebook.cells[-1:-1] = [added, silent]
    return notebook


@pytest.mark.parametrize("number", range(ROUNDS))
def test_right_ways_earn_everything(graded, number):
    result = graded[f"right-{number}"]
    assert (result["score"], result["max_score"]) == (20, 20), result["cells"]


@pytest.mark.parametrize("number", range(ROUNDS))
def test_mistakes_are_rejected_named_and_paid_once(graded, number):
    cells = graded[f"wrong-{number}"]["cells"]
    for name, (slug, _) in choose_mistakes(number).items():
        cell = cells[f"test_{name}"]
        if name in PIECES:
            assert cell["score"] < cell["max_score"], name
            assert cell["diagnosis"] == slug, (name, cell)
    attention = cells["test_self_attention"]
    assert attention["score"] == 4, attention
    assert any("stood in for" in message for message in attention["messages"])


def test_an_untouched_notebook_is_missing_everything(graded):
    result = graded["untouched"]
    assert result["score"] == 0
    judged = [cell for name, cell in result["cells"].items() if name.startswith("test_")]
    assert {(cell["status"], cell["diagnosis"]) for cell in judged} == {("missing", "todo-open")}


def test_what_works_earns_a_part(graded):
    cell = graded["forgetful"]["cells"]["test_self_attention"]
    assert (cell["score"], cell["status"], cell["diagnosis"]) == (2, "partial", "mask-forgotten")


def test_pytorchs_attention_is_flagged_and_not_failed(graded):
    result = graded["trained"]
    assert result["score"] == 20
    assert any("self_attention uses PyTorch's own" in flag for flag in result["flags"])
    assert not graded["right-0"]["flags"]


def test_training_is_neither_run_again_nor_lost(blueprint2, graded):
    assert graded["trained"]["seconds"] < 60  # the cells that were added would sleep for longer
    from autograder.grading.grade import grade_notebook
    from autograder.intake.restore import restore

    restored = restore(make_trained(blueprint2), blueprint2)
    grade_notebook(restored, blueprint2, None)
    kept = [
        cell
        for cell in restored.notebook.cells
        if cell.cell_type == "code" and "loss 5.80" in str(cell.outputs)
    ]
    assert len(kept) == 2
    for cell in kept:
        assert cell.outputs[0].text.startswith(NOTE)


def test_a_student_cannot_decide_what_is_kept(blueprint2):
    from autograder.blueprint import is_kept
    from autograder.intake.restore import restore

    notebook = fill_in(blueprint2, ORACLES)
    for cell in notebook.cells:
        cell.metadata["course"] = {"keep": "outputs"}
        cell.metadata["tags"] = ["skip-execution"]
    restored = restore(notebook, blueprint2).notebook
    solved = [cell for cell in restored.cells if cell.source == ORACLES["attn_softmax"]]
    assert len(solved) == 1
    assert not is_kept(solved[0])
