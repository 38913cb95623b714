"""Reads whatever arrives and puts it back into the shape of the hand-out.

A student's work is what stands in the solve and answer cells, and in cells they added. All the
rest (tests, points, tags, order) comes from the blueprint. What had to be put right is said in
`repairs`; what a person should look at is said in `flags`.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.authoring import find_defined_names
from autograder.blueprint import Blueprint, Slot
from autograder.course import CourseError
from autograder.keepsakes import is_kept, mark_kept

LARGEST_NOTEBOOK = 100 * 1024 * 1024  # bytes
_ELSEWHERE = "# The work of this cell stands in another cell of this notebook."


class Unreadable(CourseError):
    """A submission that is not a notebook; the text says what it is instead."""


@dataclass
class Restored:
    """A submission in the shape of the hand-out."""

    notebook: NotebookNode
    repairs: list[str] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    release: str = ""  # of the hand-out that it was made from, where that is known


# --------------------------------------------------------------------------------- reading


def read_notebook(path: Path) -> NotebookNode:
    """Read a notebook file of any nbformat that can be upgraded to 4."""
    if path.is_dir():
        raise Unreadable(f"{path.name} is a folder, not a notebook file.")
    if not path.is_file():
        raise Unreadable(f"{path} does not exist.")
    if path.stat().st_size > LARGEST_NOTEBOOK:
        raise Unreadable(
            f"{path.name} is larger than {LARGEST_NOTEBOOK // 2**20} MB; clear its outputs."
        )
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable(f"{path.name} is not a notebook: it is not text.") from None
    if not text.strip():
        raise Unreadable(f"{path.name} is empty.")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as problem:
        line = getattr(problem, "lineno", None)
        where = f" (line {line})" if line else ""
        raise Unreadable(f"{path.name} is not a notebook: it is not valid JSON{where}.") from None
    return _normalise(content, text, path.name)


def _normalise(content, text: str, name: str) -> NotebookNode:
    version = content.get("nbformat") if isinstance(content, dict) else None
    if version is None:
        raise Unreadable(f"{name} is JSON, but not a notebook: it has no nbformat.")
    if version not in (1, 2, 3, 4):
        raise Unreadable(f"{name} has nbformat {version!r}; notebooks of format 4 are graded.")
    try:
        # Only old formats go through nbformat's own reader: it refuses format 4 with small flaws.
        notebook = nbformat.reads(text, 4) if version < 4 else nbformat.from_dict(content)
        cells = [_normalise_cell(cell) for cell in notebook["cells"]]
    except Exception as problem:  # a damaged notebook can fail anywhere in there
        raise Unreadable(
            f"{name} is damaged: its cells cannot be read ({type(problem).__name__})."
        ) from None
    seen: Counter[str] = Counter()
    for cell in cells:  # a copied cell keeps its id in some editors; nbformat allows each but once
        seen[cell.id] += 1
        if seen[cell.id] > 1:
            cell["id"] = f"{cell.id[:50]}-copy-{seen[cell.id]}"
    return nbformat.v4.new_notebook(cells=cells, metadata=notebook.get("metadata", {}))


def _normalise_cell(cell) -> NotebookNode:
    source = cell.get("source", "")
    source = "".join(source) if isinstance(source, list) else str(source)
    metadata = cell.get("metadata") if isinstance(cell.get("metadata"), dict) else {}
    facts = {"metadata": metadata}
    if isinstance(cell.get("id"), str) and cell["id"]:
        facts["id"] = cell["id"]
    if cell.get("cell_type") == "code":
        outputs = cell.get("outputs")
        facts["outputs"] = outputs if isinstance(outputs, list) else []
        return nbformat.v4.new_code_cell(source, **facts)
    if cell.get("cell_type") == "raw":
        return nbformat.v4.new_raw_cell(source, **facts)
    return nbformat.v4.new_markdown_cell(source, **facts)


def identify(path: Path, notebook: NotebookNode, blueprints: dict[str, Blueprint]) -> str:
    """Say which notebook of the assignment a file is: by its name, its metadata or its cells."""
    if path.stem in blueprints:
        return path.stem
    course = notebook.metadata.get("course")
    claimed = course.get("notebook") if isinstance(course, dict) else None
    if claimed in blueprints:
        return claimed
    likeness = {
        name: sum(
            1
            for slot in blueprint.slots
            if slot.role != "plain"
            and any(slot.grade_id in cell.source or slot.grade_id == _grade_id(cell)
                    for cell in notebook.cells)
        )
        for name, blueprint in blueprints.items()
    }  # fmt: skip
    best = max(likeness, key=likeness.get)
    if likeness[best] == 0:
        raise Unreadable(
            f"{path.name} is none of this assignment's notebooks ({', '.join(blueprints)})."
        )
    return best


# ------------------------------------------------------------------------------- restoring


def restore(notebook: NotebookNode, blueprint: Blueprint) -> Restored:
    """Put a submission into the hand-out's shape, keeping every bit of the student's work."""
    matches = _Matcher(notebook.cells, blueprint).match()
    restored = Restored(nbformat.v4.new_notebook(metadata=blueprint.metadata))
    restored.repairs += matches.repairs
    restored.flags += matches.flags
    restored.release = find_release(notebook)
    current = find_release(nbformat.v4.new_notebook(metadata=blueprint.metadata))
    if restored.release and restored.release != current:
        restored.flags.append(
            f"made from release {restored.release} of the notebook; the current one is {current}"
        )
    owner_of = {student: slot for slot, student in matches.pairs.items()}
    defined = _names_in(notebook.cells)

    extras: dict[int, list[NotebookNode]] = {}  # slot index -> cells the student added after it
    last_slot = -1
    for index, cell in enumerate(notebook.cells):
        if index in owner_of:
            last_slot = owner_of[index]
        elif _is_untouched_copy(cell, blueprint):
            restored.repairs.append("an untouched copy of a cell to fill in was left out")
        elif cell.source.strip():
            kept = last_slot >= 0 and is_kept(blueprint.slots[last_slot].source)
            extras.setdefault(last_slot, []).append(_make_extra(cell, kept))

    cells = [*extras.get(-1, [])]
    for slot in blueprint.slots:
        student = matches.pairs.get(slot.index)
        given = notebook.cells[student] if student is not None else None
        cell = _fill(slot, given, defined, restored.repairs)
        if cell is not None:
            cells.append(cell)
        cells += extras.get(slot.index, [])
    _make_ids_unique(cells)
    restored.notebook.cells = cells
    return restored


def find_release(notebook: NotebookNode) -> str:
    """Return which release of the hand-out a notebook says that it was made from."""
    course = notebook.metadata.get("course")
    release = course.get("release") if isinstance(course, dict) else None
    return release[:40] if isinstance(release, str) else ""


def make_blank(blueprint: Blueprint) -> NotebookNode:
    """Return the hand-out itself, as if nothing had been done, with its hidden tests in place."""
    return restore(nbformat.v4.new_notebook(), blueprint).notebook


def _fill(slot: Slot, given: NotebookNode | None, defined: set[str], repairs: list[str]):
    """Make the cell for one slot from the student's cell, or from the hand-out without one."""
    if given is None and slot.role == "plain" and not _prepares_something(slot.release):
        return None  # prose or a picture that the student removed: nothing depends on it
    cell = nbformat.from_dict(slot.source if slot.role == "check" else slot.release)
    if given is None:
        if slot.role == "solve" and slot.grade_id in defined:
            cell.source = _ELSEWHERE
            repairs.append(f"{slot.grade_id} was found in another cell than its own")
        elif slot.role != "plain":
            repairs.append(f"the cell {slot.grade_id} was missing and was put back")
        return cell
    if slot.role == "check":
        if given.source.strip() not in (slot.release.source.strip(), slot.source.source.strip()):
            repairs.append(f"the test {slot.grade_id} had been changed and was restored")
        return cell
    cell.source = given.source
    if cell.cell_type == "code":
        cell.outputs = given.get("outputs", [])
    return cell


def _make_extra(cell: NotebookNode, kept: bool) -> NotebookNode:
    """Keep a cell that the student added, without tags or metadata that could steer grading.

    `kept` says that it stands where the hand-out keeps outputs: it then keeps its own.
    """
    make = {
        "code": nbformat.v4.new_code_cell,
        "raw": nbformat.v4.new_raw_cell,
    }.get(cell.cell_type, nbformat.v4.new_markdown_cell)
    extra = make(cell.source)
    if kept:
        mark_kept(extra)
        if cell.cell_type == "code":
            extra.outputs = cell.get("outputs", [])
    return extra


def _make_ids_unique(cells: list[NotebookNode]) -> None:
    for index, cell in enumerate(cells):
        if "nbgrader" not in cell.metadata:
            cell["id"] = f"cell-{index}"


class _Matcher:
    """Finds, for each slot of the hand-out, the student's cell that belongs to it.

    Tries grade id, then cell id, then equal text, then the names that a cell defines, then the
    place between neighbours that have been found.
    """

    def __init__(self, cells: list[NotebookNode], blueprint: Blueprint):
        self.cells, self.blueprint = cells, blueprint
        self.pairs: dict[int, int] = {}  # slot index -> student's cell index
        self.repairs: list[str] = []
        self.flags: list[str] = []
        self.repeated: list[str] = []

    def match(self) -> _Matcher:
        self._match_by_key("grade id", _grade_id, lambda slot: slot.grade_id)
        by_id = self._match_by_key("cell id", lambda c: c.get("id"), lambda s: s.release.get("id"))
        by_text = self._match_by_key("text", _text_key, lambda slot: _text_key(slot.release))
        by_name = self._match_by_names()
        by_place = self._match_by_place()
        found = by_id + by_text + by_name + by_place
        if found:
            self.repairs.append(
                f"{found} cells had lost their metadata and were recognised by id, text, names "
                "or place"
            )
        if self.repeated:
            self.repairs.append(
                f"cells that were there more than once: {', '.join(self.repeated)}; the last one "
                "that was worked on counts"
            )
        return self

    def _is_free(self, index: int) -> bool:
        return index not in self.pairs.values()

    def _open_slots(self) -> list[Slot]:
        return [slot for slot in self.blueprint.slots if slot.index not in self.pairs]

    def _match_by_key(self, kind: str, key_of_cell, key_of_slot) -> int:
        """Match slots and cells with equal keys; return how many graded cells were found."""
        found = 0
        keys = Counter(key_of_slot(slot) for slot in self.blueprint.slots)
        for slot in self._open_slots():
            key = key_of_slot(slot)
            if key is None or keys[key] > 1:  # an ambiguous key proves nothing
                continue
            candidates = [
                index
                for index, cell in enumerate(self.cells)
                if self._is_free(index) and key_of_cell(cell) == key
            ]
            if candidates:
                self._take(slot, candidates)
                found += slot.role != "plain"
        return found if kind != "grade id" else 0

    def _match_by_names(self) -> int:
        found = 0
        for slot in self._open_slots():
            if slot.role != "solve":
                continue
            candidates = [
                index
                for index, cell in enumerate(self.cells)
                if self._is_free(index) and slot.grade_id in _names_in([cell])
            ]
            if candidates:
                self._take(slot, candidates)
                found += 1
        return found

    def _match_by_place(self) -> int:
        """Match written answers by the cells that stand before and after them."""
        found = 0
        for slot in self._open_slots():
            if slot.role == "plain":
                continue
            before = [self.pairs[i] for i in range(slot.index) if i in self.pairs]
            after = [
                self.pairs[i]
                for i in range(slot.index + 1, len(self.blueprint.slots))
                if i in self.pairs
            ]
            start = max(before, default=-1) + 1
            end = min((index for index in after if index >= start), default=len(self.cells))
            candidates = [
                index
                for index in range(start, end)
                if self._is_free(index) and self.cells[index].cell_type == slot.release.cell_type
            ]
            if slot.role == "answer" and candidates:
                self.pairs[slot.index] = candidates[0]
                found += 1
        return found

    def _take(self, slot: Slot, candidates: list[int]) -> None:
        """Choose among several cells for one slot: the last one that was worked on."""
        worked_on = [
            index for index in candidates if self.cells[index].source != slot.release.source
        ]
        self.pairs[slot.index] = (worked_on or candidates)[-1]
        if len(candidates) > 1 and slot.role != "plain":
            self.repeated.append(slot.grade_id)
            if len({self.cells[index].source for index in worked_on}) > 1 and slot.role != "check":
                self.flags.append(
                    f"there are different versions of {slot.grade_id}; the last one was graded"
                )


def _grade_id(cell: NotebookNode) -> str | None:
    facts = cell.metadata.get("nbgrader")
    return facts.get("grade_id") if isinstance(facts, dict) else None


def _text_key(cell: NotebookNode) -> str:
    return f"{cell.cell_type}:{' '.join(cell.source.split())}"


def _names_in(cells: list[NotebookNode]) -> set[str]:
    """Return the names that some cells define with something other than an open TODO."""
    names: set[str] = set()
    for cell in cells:
        if cell.cell_type != "code":
            continue
        try:
            tree = ast.parse(re.sub(r"(?m)^\s*[%!?].*$", "", cell.source))  # without magics
        except (SyntaxError, ValueError, RecursionError):
            continue
        tree.body = [statement for statement in tree.body if not _is_open_todo(statement)]
        names |= find_defined_names(tree)
    return names


def _is_open_todo(statement: ast.stmt) -> bool:
    value = getattr(statement, "value", None)
    return isinstance(value, ast.Constant) and value.value is ...


def _is_untouched_copy(cell: NotebookNode, blueprint: Blueprint) -> bool:
    return any(
        slot.role == "solve" and cell.source.strip() == slot.release.source.strip()
        for slot in blueprint.slots
    )


def _prepares_something(cell: NotebookNode) -> bool:
    """Does later code need this cell? It does when it imports or defines anything."""
    if cell.cell_type != "code":
        return False
    tree = ast.parse(cell.source)
    imports = any(isinstance(node, ast.Import | ast.ImportFrom) for node in tree.body)
    return imports or bool(find_defined_names(tree))
