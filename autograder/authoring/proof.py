"""Remembers which solutions and exercises have been proven right: notebooks/<assignment>/proof.json.

A build grades a notebook's solution, oracles, variants and known mistakes when its cells or what
judges them has changed since, and refuses to go on when anything earns more or less than it must.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import nbformat

from autograder.blueprint import Blueprint, make_blueprint
from autograder.course import Assignment, CourseError
from autograder.files import replace_file
from autograder.proving.closure import read_closure
from autograder.proving.known import find_disagreements, list_trials
from autograder.terminal import show_bar


def find_place(assignment: Assignment) -> Path:
    return assignment.texts / "proof.json"


def find_unproven(assignment: Assignment, files: dict[Path, bytes]) -> list[str]:
    """Return the notebooks that have changed since they were proven, or never were."""
    proven = _read(assignment)
    return [
        plan.name
        for plan in assignment.notebooks
        if proven.get(plan.name) != _fingerprint(_load(assignment, plan.name, files))
    ]


def prove(assignment: Assignment, files: dict[Path, bytes]) -> Path:
    """Prove what has to be proven and write it down; raise with a sentence for each disagreement."""
    proven = _read(assignment)
    for name in find_unproven(assignment, files):
        blueprint = _load(assignment, name, files)
        with show_bar(f"proving {name}", len(list(list_trials(blueprint)))) as advance:
            found = find_disagreements(blueprint, lambda *_, step=advance: step())
        if found:
            raise CourseError(
                "The judge and the exercises disagree, so nothing was written:\n"
                + "\n".join(found)
                + "\nMend the solution, the oracle, the variant or the mistake, then build again."
            )
        proven[name] = _fingerprint(blueprint)
        known = {p.name: proven[p.name] for p in assignment.notebooks if p.name in proven}
        replace_file(find_place(assignment), (json.dumps(known, indent=1) + "\n").encode())
    return find_place(assignment)


def _read(assignment: Assignment) -> dict[str, str]:
    try:
        return json.loads(find_place(assignment).read_text("utf-8"))
    except (OSError, ValueError):
        return {}


def _load(assignment: Assignment, name: str, files: dict[Path, bytes]) -> Blueprint:
    """Return a notebook as it is being built, before it is written."""
    source, release = (
        nbformat.reads(files[folder / f"{name}.ipynb"].decode(), as_version=4)
        for folder in (assignment.source, assignment.release)
    )
    return make_blueprint(assignment, name, source, release)


def _fingerprint(blueprint: Blueprint) -> str:
    """Return a fingerprint of the code cells of a notebook and of all that its exercises import."""
    digest = hashlib.sha256()
    for slot in blueprint.slots:
        if slot.source.cell_type == "code":
            digest.update(f"{slot.grade_id}:{slot.points}:{slot.source.source}".encode())
    closure = read_closure([f"import autograder.exercises.{blueprint.exercises}"])
    for name, content in sorted(closure.items()):
        digest.update(name.encode() + content)
    return digest.hexdigest()[:16]
