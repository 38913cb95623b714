"""Made-up students: right, half right, mistaken, unlucky. For the demo and for tests."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.blueprint import Blueprint, fill_in
from autograder.exercises import find_exercises

__all__ = ["Persona", "fill_in", "hand_in", "make_class", "solve_all"]


@dataclass(frozen=True)
class Persona:
    """A made-up student: a name, a story, and how the notebooks are filled in and damaged."""

    name: str
    story: str
    codes: dict[str, str] = field(default_factory=dict)
    damage: Callable[[NotebookNode], None] | None = None
    writes: bool = True  # fills in the written answers
    leaves_out: str | None = None  # a notebook that is not handed in


def solve_all(blueprint: Blueprint) -> dict[str, str]:
    """Return the instructor's code of every cell that an exercise of a notebook is about."""
    cells = {exercise.cell for exercise in find_exercises(blueprint.exercises).values()}
    return {name: code for name, code in blueprint.solutions.items() if name in cells}


def make_class(blueprints: Sequence[Blueprint]) -> list[Persona]:
    """Return a small class: each student shows one thing that happens."""
    right: dict[str, str] = {}
    for blueprint in blueprints:
        right |= solve_all(blueprint)

    def mistaken(**codes: str) -> dict[str, str]:
        """Everything right but these: code for a query or key, a mistake's name for the rest."""
        wrong = {
            name: _find_mistake(name, code, blueprints) or f"{name} = {code}"
            for name, code in codes.items()
        }
        return right | {name: code for name, code in wrong.items() if name in right}

    return [
        Persona("ada", "everything right", right),
        Persona(
            "ben",
            "stopped early",
            _keep(right, "q_select_first Q_identity copy_query average_query"),
        ),
        Persona(
            "chloe",
            "right, in lists and NumPy arrays",
            mistaken(q_select_first="(10 * K[0]).tolist()", Q_identity="(9 * K).numpy()"),
        ),
        Persona(
            "dmitri",
            "wrong sign; softmax over the wrong axis",
            mistaken(
                q_select_first="-10 * K[0]",
                attn_softmax="softmax-over-queries",
                copy_query="opposite-sign",
                synthesizer_attention="softmax-over-queries",
            ),
        ),
        Persona(
            "emre",
            "a query far too long",
            mistaken(
                q_average_two="1e6 * (K[0] + K[1])",
                k2_select="(K[0] + K[1]) / (K[0] + K[1]).norm()",
                robust_query="scale-too-large",
            ),
        ),
        Persona(
            "fatima",
            "a query too short for what builds on it; adds and subtracts heads",
            mistaken(
                q_average_two="2 * (K[0] + K[1])",
                two_head_queries="sum-and-difference",
            ),
        ),
        Persona(
            "goran",
            "forgot the unit length, zero_grad, half of V, the mask",
            mistaken(
                k2_select="q_average_two",
                train_one_epoch="zero-grad-forgotten",
                craft_projections="value-not-wanted",
                synthesizer_attention="mask-forgotten",
            ),
        ),
        Persona("hana", "untouched release", {}, writes=False),
        Persona("ivo", "raises an error at the top", right, damage=raise_at_top),
        Persona("jing", "duplicated cells", right, damage=duplicate_cells),
        Persona("kofi", "metadata gone", right, damage=strip_metadata),
        Persona("lena", "left a notebook out", right, leaves_out=blueprints[0].name),
    ]


def hand_in(persona: Persona, blueprints: Iterable[Blueprint], folder: Path) -> None:
    """Write a persona's submission as nbgrader expects it: one folder per student."""
    for blueprint in blueprints:
        place = folder / persona.name / blueprint.assignment
        place.mkdir(parents=True, exist_ok=True)
        if persona.leaves_out == blueprint.name:
            (place / "notes.txt").write_text("I will hand the notebook in later.\n", "utf-8")
            continue
        answer = "The softmax turns the scores into shares." if persona.writes else None
        notebook = fill_in(blueprint, persona.codes, answer)
        if persona.damage:
            persona.damage(notebook)
        path = place / f"{blueprint.name}.ipynb"
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _find_mistake(name: str, slug: str, blueprints: Iterable[Blueprint]) -> str | None:
    for blueprint in blueprints:
        exercise = find_exercises(blueprint.exercises).get(name)
        for mistake in exercise.mistakes if exercise else ():
            if mistake.diagnosis == slug:
                return mistake.code
    return None


def _keep(codes: dict[str, str], names: str) -> dict[str, str]:
    return {name: codes[name] for name in names.split() if name in codes}


def raise_at_top(notebook: NotebookNode) -> None:
    notebook.cells.insert(0, nbformat.v4.new_code_cell("raise RuntimeError('left over')"))


def duplicate_cells(notebook: NotebookNode) -> None:
    notebook.cells = [
        copy
        for cell in notebook.cells
        for copy in ([cell, cell] if "nbgrader" in cell.metadata else [cell])
    ]


def strip_metadata(notebook: NotebookNode) -> None:
    for cell in notebook.cells:
        cell.metadata = {}
        cell.pop("id", None)
    notebook.nbformat_minor = 0
    notebook.metadata = {}
