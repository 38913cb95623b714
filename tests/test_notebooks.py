"""The notebooks themselves: the instructor's runs through, the student's stops at open TODOs."""

import itertools
import re

import nbformat
import pytest
from nbclient import NotebookClient

from autograder.course import load_course
from tests.conftest import ROOT

ATTENTION = load_course(ROOT).find("attention")
NOTEBOOKS = [
    pytest.param(assignment, plan.name, id=f"{assignment.name}-{plan.name}")
    for assignment in load_course(ROOT).assignments.values()
    for plan in assignment.notebooks
]
every_notebook = pytest.mark.parametrize(("assignment", "name"), NOTEBOOKS)


def execute(path, folder, monkeypatch, until=None):
    monkeypatch.setenv("COURSE_PROFILE", "quick")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("COURSE_CHECKING", "1")  # nobody is there to move a slider
    notebook = nbformat.read(path, as_version=4)
    if until:  # only the cells before this heading
        starts = [cell.source.startswith(until) for cell in notebook.cells]
        notebook.cells = notebook.cells[: starts.index(True)]
    client = NotebookClient(
        notebook,
        timeout=400,
        startup_timeout=300,  # a busy machine takes its time
        allow_errors=True,
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute()
    errors = [
        (cell, output)
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.output_type == "error"
    ]
    return notebook, errors


# The first of each assignment is quick; the others train.
@pytest.mark.long
@pytest.mark.parametrize(
    ("assignment", "name"),
    [
        param
        if "-1_" in param.id
        else pytest.param(*param.values, id=param.id, marks=pytest.mark.landing)
        for param in NOTEBOOKS
    ],
)
def test_the_instructors_notebook_runs_from_top_to_bottom(assignment, name, tmp_path, monkeypatch):
    _, errors = execute(assignment.source / f"{name}.ipynb", tmp_path, monkeypatch)
    assert [(cell.id, output.evalue) for cell, output in errors] == []


def test_the_release_fails_only_where_a_todo_is_open(tmp_path, monkeypatch):
    path = ATTENTION.release / "1_query_crafting.ipynb"
    notebook, errors = execute(path, tmp_path, monkeypatch)
    checks = [cell.id for cell in notebook.cells if cell.source.startswith("check(")]
    assert [cell.id for cell, _ in errors] == checks
    for cell, output in errors:
        name = cell.id.removeprefix("test_")
        assert output.ename == "CheckFailed"
        assert f"{name}: still `...`: the TODO of 1." in output.evalue
        assert len(output.traceback) == 1, "a sentence, not a traceback"


def test_open_functions_say_that_they_are_open(tmp_path, monkeypatch):
    path = ATTENTION.release / "2_attention_from_scratch.ipynb"
    _, errors = execute(path, tmp_path, monkeypatch, until="## 2.2")
    assert {output.ename for _, output in errors} <= {
        "CheckFailed",
        "NotImplementedError",
        "NameError",
    }
    checks = [(cell, output) for cell, output in errors if cell.source.startswith("check(")]
    assert len(checks) == 11  # nine that count, tests 1 and 2
    for cell, output in checks:
        assert "the TODO is still open" in output.evalue, cell.source
        assert len(output.traceback) == 1, "a sentence, not a traceback"


@every_notebook
@pytest.mark.parametrize("version", ["source", "release"])
def test_a_committed_notebook_is_tidy(assignment, name, version):
    notebook = nbformat.read(getattr(assignment, version) / f"{name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    headings = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == [] and cell.execution_count is None
            assert "import *" not in cell.source
        else:
            fenced = False
            for line in cell.source.splitlines():
                fenced ^= line.startswith("```")
                if line.startswith("#") and not fenced and not line.startswith("### BEGIN") \
                        and not line.startswith("### END"):  # fmt: skip
                    headings.append(len(line) - len(line.lstrip("#")))
            assert "](http" not in cell.source or "![" not in cell.source, "no hot-linked images"
    assert headings.count(1) == 1, "one H1 per notebook"
    for upper, lower in itertools.pairwise(headings):
        assert lower <= upper + 1, "headings go down one level at a time"


def count_cells(row):
    """Return how many cells a row of a Markdown table has; a pipe may be escaped, or stand in code."""
    row = re.sub(r"`[^`]*`|\\\|", "", row.strip())
    return row.removeprefix("|").removesuffix("|").count("|") + 1


@every_notebook
@pytest.mark.parametrize("version", ["source", "release"])
def test_the_rule_of_a_table_is_as_wide_as_its_header(assignment, name, version):
    notebook = nbformat.read(getattr(assignment, version) / f"{name}.ipynb", as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for header, rule in itertools.pairwise(cell.source.splitlines()):
                if re.fullmatch(r"\|(\s*:?-+:?\s*\|)+", rule.strip()):
                    assert count_cells(rule) == count_cells(header), f"no table is shown: {header}"


@every_notebook
def test_the_release_holds_no_secret(assignment, name):
    text = (assignment.release / f"{name}.ipynb").read_text("utf-8")
    for secret in ("BEGIN SOLUTION", "HIDDEN TESTS", "MARK SCHEME", "autograder", "grade_here"):
        assert secret not in text


@every_notebook
def test_every_section_states_its_minutes(assignment, name):
    notebook = nbformat.read(assignment.release / f"{name}.ipynb", as_version=4)
    sections = [
        line
        for cell in notebook.cells
        if cell.cell_type == "markdown"
        for line in cell.source.splitlines()
        if line.startswith("## ") and line[3].isdigit()
    ]
    assert sections
    for line in sections:
        assert "minutes)" in line, line
