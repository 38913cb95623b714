"""Cells whose outputs are kept as the student made them: training and experiments.

Such a cell is not run again, so that what took a GPU and an hour survives grading. Which cells
these are is written in the text notebook (`keep="outputs"`) and read from the hand-out.
"""

from __future__ import annotations

import nbformat
from nbformat import NotebookNode

from autograder.grading.sanitize import sanitize_output

NOTE = "Not run again: the outputs below are the student's own."


def keep_outputs(cell: NotebookNode) -> list[NotebookNode]:
    """Return a student's outputs without anything that could act, under a note that says so."""
    kept = [output for output in map(sanitize_output, cell.get("outputs", [])) if output is not None]
    if not kept:
        return []
    is_note = kept[0].output_type == "stream" and kept[0].text.startswith(NOTE)
    note = nbformat.v4.new_output("stream", name="stdout", text=NOTE + "\n")
    return kept if is_note else [note, *kept]
