"""Cells whose outputs are kept as the student made them: training and experiments.

Such a cell is not run again, so that what took a GPU and an hour survives grading. Which cells
these are is written in the text notebook (`keep="outputs"`) and read from the hand-out.
"""

from __future__ import annotations

import nbformat
from nbformat import NotebookNode

from autograder.defuse import defuse_output

NOTE = "Not run again: the outputs below are the student's own."


def mark_kept(cell: NotebookNode) -> None:
    """Mark a cell of the hand-out, or one that a student added beside such a cell."""
    cell.metadata["course"] = {**cell.metadata.get("course", {}), "keep": "outputs"}


def is_kept(cell: NotebookNode) -> bool:
    """Say whether a cell carries the mark. Ask this of cells of the hand-out or restored ones."""
    course = cell.metadata.get("course")
    return isinstance(course, dict) and course.get("keep") == "outputs"


def keep_outputs(cell: NotebookNode) -> list[NotebookNode]:
    """Return a student's outputs without anything that could act, under a note that says so."""
    kept = [output for output in map(defuse_output, cell.get("outputs", [])) if output is not None]
    if not kept:
        return []
    is_note = kept[0].output_type == "stream" and kept[0].text.startswith(NOTE)
    note = nbformat.v4.new_output("stream", name="stdout", text=NOTE + "\n")
    return kept if is_note else [note, *kept]
