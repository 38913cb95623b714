"""Whatever state a submission arrives in, the work in it is found and nothing else counts."""

import json

import nbformat
import pytest

from autograder.demo.personas import fill_in, solve_all
from autograder.intake.read import Unreadable, read_notebook
from autograder.intake.recognise import recognise
from autograder.intake.restore import make_blank, restore


@pytest.fixture
def solved(blueprint):
    return fill_in(blueprint, solve_all(blueprint), answer="Because of the softmax.")


def describe(notebook):
    """Return what grading looks at: graded cells in order, with their text."""
    return [
        (cell.metadata.nbgrader.grade_id, cell.source)
        for cell in notebook.cells
        if "nbgrader" in cell.metadata
    ]


@pytest.fixture
def expected(solved, blueprint):
    return describe(restore(solved, blueprint).notebook)


def test_an_undamaged_submission_needs_no_repair(solved, blueprint):
    restored = restore(solved, blueprint)
    assert (restored.repairs, restored.flags) == ([], [])
    graded = dict(describe(restored.notebook))
    assert graded["q_select_first"].endswith("q_select_first = 10 * K[0]")
    assert "HIDDEN TESTS" in graded["test_q_select_first"]


def strip_metadata(notebook):
    for cell in notebook.cells:
        cell.metadata = nbformat.NotebookNode()


def strip_metadata_and_ids(notebook):
    strip_metadata(notebook)
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"new-{number}"


def duplicate_everything(notebook):
    notebook.cells = [copy for cell in notebook.cells for copy in (cell, nbformat.from_dict(cell))]


def duplicate_an_untouched_copy(notebook):
    index = find(notebook, "q_select_first")
    copy = nbformat.from_dict(notebook.cells[index])
    copy.source = "q_select_first = ...  # three numbers\n# TODO: your work goes here"
    notebook.cells.insert(index + 1, copy)


def delete_tests(notebook):
    notebook.cells = [c for c in notebook.cells if not grade_id(c).startswith("test_")]


def edit_tests(notebook):
    for cell in notebook.cells:
        if grade_id(cell).startswith("test_"):
            cell.source = "2.0"


def reorder(notebook):
    notebook.cells.reverse()


def tag_to_skip(notebook):
    for cell in notebook.cells:
        cell.metadata["tags"] = ["skip-execution"]


def change_points(notebook):
    for cell in notebook.cells:
        if "points" in cell.metadata.get("nbgrader", {}):
            cell.metadata.nbgrader["points"] = 100


def add_colab_metadata(notebook):
    notebook.metadata["colab"] = {"provenance": []}
    for cell in notebook.cells:
        cell.metadata["id"] = "AbC"
        cell.metadata["outputId"] = "xyz"


def delete_prose(notebook):
    notebook.cells = [c for c in notebook.cells if c.cell_type == "code" or grade_id(c)]


def delete_setup(notebook):
    notebook.cells = [c for c in notebook.cells if not c.source.startswith("import torch")]


def grade_id(cell):
    return cell.metadata.get("nbgrader", {}).get("grade_id", "")


def find(notebook, name):
    return next(index for index, cell in enumerate(notebook.cells) if grade_id(cell) == name)


DAMAGES = [
    strip_metadata, strip_metadata_and_ids, duplicate_everything, duplicate_an_untouched_copy,
    delete_tests, edit_tests, reorder, tag_to_skip, change_points, add_colab_metadata, delete_prose,
    delete_setup,
]  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_damage_does_not_change_what_is_graded(solved, blueprint, expected, damage):
    damage(solved)
    restored = restore(solved, blueprint)
    assert describe(restored.notebook) == expected
    points = [c.metadata.nbgrader.get("points", 0) for c in restored.notebook.cells if grade_id(c)]
    assert sum(points) == 30
    assert not any("tags" in cell.metadata for cell in restored.notebook.cells)
    assert any(cell.source.startswith("import torch") for cell in restored.notebook.cells)
    ids = [cell.id for cell in restored.notebook.cells]
    assert len(ids) == len(set(ids))


def test_what_was_put_right_is_said(solved, blueprint):
    edit_tests(solved)
    assert "the test test_Q_identity had been changed and was restored" in (
        restore(solved, blueprint).repairs
    )
    delete_tests(solved)
    assert "the cell test_Q_identity was missing and was put back" in (
        restore(solved, blueprint).repairs
    )


def test_two_different_versions_are_flagged_and_the_last_counts(solved, blueprint):
    index = find(solved, "q_select_first")
    copy = nbformat.from_dict(solved.cells[index])
    copy.source = "q_select_first = -K[0]"
    solved.cells.insert(index + 1, copy)
    restored = restore(solved, blueprint)
    assert dict(describe(restored.notebook))["q_select_first"] == "q_select_first = -K[0]"
    assert restored.flags == [
        "there are different versions of q_select_first; the last one was graded"
    ]


def test_work_merged_into_another_cell_is_not_overwritten_by_a_stub(solved, blueprint):
    first, second = find(solved, "q_select_first"), find(solved, "Q_identity")
    solved.cells[first].source += "\n" + solved.cells[second].source
    del solved.cells[second]
    graded = dict(describe(restore(solved, blueprint).notebook))
    assert "Q_identity = 10 * K" in graded["q_select_first"]
    assert "..." not in graded["Q_identity"]


def test_cells_a_student_added_stay_where_they_were(solved, blueprint):
    index = find(solved, "q_select_first")
    solved.cells.insert(index, nbformat.v4.new_code_cell("S = 10"))
    sources = [cell.source for cell in restore(solved, blueprint).notebook.cells]
    assert sources[sources.index("S = 10") + 1].endswith("q_select_first = 10 * K[0]")


def test_a_blank_notebook_has_every_graded_cell(blueprint):
    blank = make_blank(blueprint, "It is a picture.")
    assert blank.trouble == "It is a picture." and blank.name == blueprint.name
    graded = describe(blank.notebook)
    assert [name for name, _ in graded] == [s.grade_id for s in blueprint.slots if s.grade_id]


# --------------------------------------------------------------------------------- reading

UNREADABLE = {
    "not JSON": (b'{"cells": [', "is not valid JSON"),
    "empty": (b"", "is empty"),
    "white space": (b" \n", "is empty"),
    "binary": (b"\x89PNG\r\n\x1a\n\xff\xfe", "it is not text"),
    "a list": (b"[]", "it has no nbformat"),
    "no nbformat": (b'{"cells": []}', "it has no nbformat"),
    "nbformat of the future": (b'{"nbformat": 99, "cells": []}', "has nbformat 99"),
    "nbformat in words": (b'{"nbformat": "four", "cells": []}', "has nbformat 'four'"),
    "no cells": (b'{"nbformat": 4}', "its cells cannot be read"),
    "cells of numbers": (b'{"nbformat": 4, "cells": [1, 2]}', "its cells cannot be read"),
    "nested too deep": (b"[" * 100_000, "is not valid JSON"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_is_not_a_notebook_gets_one_sentence(tmp_path, name):
    content, sentence = UNREADABLE[name]
    path = tmp_path / "1_query_crafting.ipynb"
    path.write_bytes(content)
    with pytest.raises(Unreadable) as caught:
        read_notebook(path)
    assert sentence in str(caught.value) and "\n" not in str(caught.value)


def test_a_folder_or_nothing_gets_one_sentence(tmp_path):
    with pytest.raises(Unreadable, match="is a folder"):
        read_notebook(tmp_path)
    with pytest.raises(Unreadable, match="does not exist"):
        read_notebook(tmp_path / "x.ipynb")


def test_a_huge_file_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr("autograder.budgets.LARGEST_NOTEBOOK", 10)
    path = tmp_path / "big.ipynb"
    path.write_text(" " * 11)
    with pytest.raises(Unreadable, match="is larger than"):
        read_notebook(path)


def test_older_formats_and_odd_cells_are_read(tmp_path, solved, blueprint, expected):
    path = tmp_path / "1_query_crafting.ipynb"
    content = json.loads(json.dumps(solved))
    for cell in content["cells"]:  # nbformat 4.0: no ids; sources may be lists of lines
        del cell["id"]
        cell["source"] = cell["source"].splitlines(keepends=True)
    content["nbformat_minor"] = 0
    path.write_text("\ufeff" + json.dumps(content), "utf-8")
    assert describe(restore(read_notebook(path), blueprint).notebook) == expected
    path.write_text(nbformat.writes(nbformat.convert(nbformat.from_dict(solved), 3), version=3))
    assert describe(restore(read_notebook(path), blueprint).notebook) == expected


def test_a_renamed_notebook_is_recognised(tmp_path, solved, blueprint):
    blueprints = {blueprint.name: blueprint}
    path = tmp_path / "Copy of homework (2).ipynb"
    assert recognise(path, solved, blueprints) == blueprint.name
    solved.metadata = nbformat.NotebookNode()
    assert recognise(path, solved, blueprints) == blueprint.name
    with pytest.raises(Unreadable, match="none of this assignment's notebooks"):
        recognise(path, nbformat.v4.new_notebook(), blueprints)


# -------------------------------------------------------------------------------- the release


def test_the_release_of_a_submission_is_known_and_an_older_one_is_flagged(solved, blueprint):
    current = blueprint.metadata["course"]["release"]
    assert restore(solved, blueprint).release == current
    solved.metadata = nbformat.from_dict({"course": {"release": "0.0.9+12345678"}})
    restored = restore(solved, blueprint)
    assert restored.release == "0.0.9+12345678"
    assert restored.flags == [
        f"made from release 0.0.9+12345678 of the notebook; the current one is {current}"
    ]
    for odd in ({}, {"course": "x"}, {"course": {"release": ["x"]}}):
        solved.metadata = nbformat.from_dict(odd)
        assert (restore(solved, blueprint).release, restore(solved, blueprint).flags) == ("", [])


# ------------------------------------------------------------------- what a student cannot decide


def test_a_cell_that_was_added_keeps_its_text_alone(solved, blueprint):
    added = nbformat.v4.new_code_cell("S = 10")
    added.metadata.update(
        tags=["skip-execution"], course={"keep": "outputs"}, nbgrader={"grade_id": "x", "points": 9}
    )
    added.outputs = [nbformat.v4.new_output("stream", text="2.0")]
    solved.cells.insert(find(solved, "q_select_first"), added)
    (found,) = [c for c in restore(solved, blueprint).notebook.cells if c.source == "S = 10"]
    assert found.metadata == {} and found.outputs == []


def test_a_stub_below_the_work_is_no_second_version(solved, blueprint):
    """Metadata gone: a cell with an open TODO defines nothing, so it cannot be taken for work."""
    index = find(solved, "q_select_first")
    work = solved.cells[index].source
    strip_metadata_and_ids(solved)
    stub = nbformat.v4.new_code_cell("# again\nq_select_first = ...")
    solved.cells.insert(index + 1, stub)
    restored = restore(solved, blueprint)
    assert dict(describe(restored.notebook))["q_select_first"] == work and restored.flags == []


def test_texts_that_stand_twice_in_the_hand_out_prove_nothing(solved, blueprint):
    """All answer cells of the hand-out read alike: untouched, each is found by its place."""
    answers = [slot for slot in blueprint.slots if slot.role == "answer"]
    for slot in answers:
        solved.cells[find(solved, slot.grade_id)].source = slot.release.source
    written = answers[3].grade_id
    solved.cells[find(solved, written)].source = "My own words."
    strip_metadata_and_ids(solved)
    graded = dict(describe(restore(solved, blueprint).notebook))
    assert graded[written] == "My own words."
    assert sum(text == "My own words." for text in graded.values()) == 1
