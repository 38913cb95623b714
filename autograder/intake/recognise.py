"""Says which notebook of an assignment a file is: by its cells first, then by what it is called."""

from __future__ import annotations

import re
from pathlib import Path

from nbformat import NotebookNode

from autograder.blueprint import Blueprint
from autograder.budgets import LARGEST_EXPORT, MOST_STATEMENTS
from autograder.intake import colab_export
from autograder.intake.read import Unreadable, make_plain, read_notebook, read_text
from autograder.plain_text import clean_text
from autograder.python_text import find_defined_names, parse

_CLEAR = 2  # how many times as many cells have to speak against a file's name


class NotAsked(Unreadable):
    """A notebook of this course that is not part of the assignment, for instance because it was dropped."""


def read_work(path: Path, kit: dict[str, Blueprint]) -> tuple[str, NotebookNode, list[str]]:
    """Read a notebook file, or rebuild one from a .py; return its name, itself and notes."""
    if path.suffix.lower() != ".py":
        notebook = read_notebook(path)
        return recognise(path, notebook, kit), notebook, []
    shown = clean_text(path.name)
    text = clean_text(read_text(path, LARGEST_EXPORT, f"{shown} is not a text file."))
    if text.count("\n") + text.count(";") > MOST_STATEMENTS:
        raise Unreadable(f"{shown} holds more than {MOST_STATEMENTS:,} lines of code.")
    first = next(iter(kit))
    notebook = _rebuild(text, kit[first], shown)
    name = recognise(path, notebook, kit)
    if name != first:
        notebook = _rebuild(text, kit[name], shown)
    return name, notebook, [colab_export.NOTE]


def _rebuild(text: str, blueprint: Blueprint, name: str) -> NotebookNode:
    return make_plain(colab_export.rebuild(text, blueprint), name)


def recognise(path: Path, notebook: NotebookNode, kit: dict[str, Blueprint]) -> str:
    """Return the name of the notebook in the kit that a file is; what it says outweighs its name."""
    evidence = weigh(notebook, kit)
    best = max(evidence, key=evidence.get)
    claimed = [path.name.split(".")[0], _read_claim(notebook)]
    for name in claimed:
        if name in kit and evidence[best] < _CLEAR * max(1, evidence[name]):
            return name
    if evidence[best] == 0:
        shown = clean_text(path.name)
        if _is_ours(notebook, kit):
            raise NotAsked(f"{shown} is a notebook that the assignment no longer has.")
        raise Unreadable(f"{shown} is none of this assignment's notebooks ({', '.join(kit)}).")
    return best


def weigh(notebook: NotebookNode, kit: dict[str, Blueprint]) -> dict[str, int]:
    """Count, for each notebook of the kit, the graded cells that are found again in this one."""
    ids = {str(_grade_id(cell)) for cell in notebook.cells}
    texts = {" ".join(cell.source.split()) for cell in notebook.cells}
    defined = find_names(notebook)
    return {
        name: sum(
            slot.grade_id in ids
            # What stands in an answer cell at first is the same in all notebooks.
            or (slot.role != "answer" and " ".join(slot.release.source.split()) in texts)
            or (slot.role == "solve" and slot.grade_id in defined)
            for slot in blueprint.slots
            if slot.role != "plain" and slot.points + (slot.role == "solve") > 0
        )
        for name, blueprint in kit.items()
    }


def find_names(notebook: NotebookNode) -> set[str]:
    """Return the names that a notebook's cells define."""
    names: set[str] = set()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            try:
                tree = parse(re.sub(r"(?m)^[^\S\n]*[%!?].*$", "", cell.source))  # without magics
                names |= find_defined_names(tree)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue
    return names


def _grade_id(cell: NotebookNode):
    facts = cell.metadata.get("nbgrader")
    return facts.get("grade_id") if isinstance(facts, dict) else None


def _is_ours(notebook: NotebookNode, kit: dict[str, Blueprint]) -> bool:
    course = notebook.metadata.get("course")
    named = course.get("assignment") if isinstance(course, dict) else None
    return named in {blueprint.assignment for blueprint in kit.values()}


def _read_claim(notebook: NotebookNode) -> str:
    course = notebook.metadata.get("course")
    claimed = course.get("notebook") if isinstance(course, dict) else None
    return claimed if isinstance(claimed, str) else ""
