"""Ready-made versions are noticed where they are used, itself or through helpers; for a person to see."""

import nbformat
import pytest

from autograder.blueprint import load_blueprint
from autograder.demo.personas import fill_in, solve_all
from autograder.grading.borrowed import find_borrowed

READY = "F.scaled_dot_product_attention"
CALL = "def self_attention(Q, K, V, n_heads=1, causal=True):\n    return {}(Q, K, V)"


@pytest.fixture(scope="module")
def blueprint2(assignment):
    return load_blueprint(assignment, "2_attention_from_scratch")


@pytest.mark.parametrize(
    ("helper", "code"),
    [
        ("", CALL.format(READY)),
        (f"def fast(*qkv):\n    return {READY}(*qkv)", CALL.format("fast")),
        (f"ready = {READY}\ndef fast(*qkv):\n    return ready(*qkv)", CALL.format("fast")),
        ("ready = getattr(F, 'scaled_dot_product_attention')", CALL.format("ready")),
    ],
)
def test_what_is_borrowed_is_named(blueprint2, helper, code):
    notebook = fill_in(blueprint2, solve_all(blueprint2) | {"self_attention": code})
    notebook.cells.append(nbformat.v4.new_code_cell(helper))
    (flag,) = find_borrowed(notebook, blueprint2, {})
    assert flag.startswith("self_attention uses PyTorch's own scaled_dot_product_attention")


def test_what_is_only_mentioned_or_used_elsewhere_is_not(blueprint2):
    notebook = fill_in(blueprint2, solve_all(blueprint2))
    notebook.cells.append(nbformat.v4.new_code_cell(f"compare = {READY}(Q, K, V)  # for speed"))
    notebook.cells.append(nbformat.v4.new_markdown_cell(f"`{READY}` would do it in one call."))
    assert find_borrowed(notebook, blueprint2, {}) == []
    called = {"self_attention": {"scaled_dot_product_attention"}}
    assert "scaled_dot_product_attention" in find_borrowed(notebook, blueprint2, called)[0]
