"""Notices when work that should be from scratch leans on a library's ready-made version.

This is for a person to look at, never for marks: it reads the submission's text, and knows what was
called when the work was tried.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from nbformat import NotebookNode

from autograder.blueprint import Blueprint
from autograder.exercises import find_exercises
from autograder.python_text import parse


def find_borrowed(
    notebook: NotebookNode, blueprint: Blueprint, called: Mapping[str, set[str]]
) -> list[str]:
    """Return a sentence for each exercise whose code reaches a name that is watched.

    `called` are the names that were called while a question ran, by exercise.
    """
    definitions = _collect_definitions(notebook)
    exercises = find_exercises(blueprint.exercises)
    flags = []
    for slot in blueprint.slots:
        watched = exercises[slot.exercise].watched if slot.role == "check" else ()
        found = _reach(slot.exercise, definitions) & set(watched) if watched else set()
        found = found or (watched and called.get(slot.exercise))
        if found:
            flags.append(
                f"{slot.exercise} uses PyTorch's own {', '.join(sorted(found))}; it was to be "
                "written from scratch"
            )
    return flags


def _collect_definitions(notebook: NotebookNode) -> dict[str, set[str]]:
    """Return, for each name defined at the top of a code cell, the names its definition uses."""
    uses: dict[str, set[str]] = {}
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        try:
            tree = parse(cell.source)
        except (SyntaxError, ValueError, RecursionError):
            continue
        for statement in tree.body:
            for name in _names_defined(statement):
                uses.setdefault(name, set()).update(_names_used(statement))
    return uses


def _names_defined(statement: ast.stmt) -> set[str]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.ImportFrom):
        return {alias.asname or alias.name for alias in statement.names}
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        return {
            node.id
            for node in ast.walk(statement)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
    return set()


def _names_used(statement: ast.stmt) -> set[str]:
    names = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
        elif isinstance(node, ast.alias):
            names.add(node.name.rsplit(".", 1)[-1])
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.add(node.value)  # getattr(F, "...")
    return names


def _reach(name: str, definitions: dict[str, set[str]]) -> set[str]:
    """Return all names that a definition uses, itself or through others of the notebook."""
    reached, waiting = set(), [name]
    while waiting:
        for used in definitions.get(waiting.pop(), ()):
            if used not in reached:
                reached.add(used)
                waiting.append(used)
    return reached
