"""Puts what arrived back into the shape of the hand-out.

A student's work is what stands in the solve and answer cells, and in cells they added. All the
rest (tests, points, tags, order) comes from the blueprint. What had to be put right is said in
`repairs`; what a person should look at is said in `flags`.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache

import nbformat
from nbformat import NotebookNode

from autograder.blueprint import Blueprint, Slot, is_kept, mark_kept
from autograder.intake.read import read_attachments
from autograder.python_text import find_defined_names, parse

_ELSEWHERE = "# The work of this cell stands in another cell of this notebook."


@dataclass
class Restored:
    """One notebook of a submission, in the shape of the hand-out: what grading begins with."""

    name: str  # which notebook of the assignment it is
    notebook: NotebookNode
    repairs: list[str] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    release: str = ""  # of the hand-out that it was made from, where that is known
    trouble: str | None = None  # why there is nothing to grade: a blank one takes its place


# ------------------------------------------------------------------------------- restoring


def restore(notebook: NotebookNode, blueprint: Blueprint) -> Restored:
    """Put a submission into the hand-out's shape, keeping every bit of the student's work."""
    matches = _Matcher(notebook.cells, blueprint).match()
    restored = Restored(blueprint.name, nbformat.v4.new_notebook(metadata=blueprint.metadata))
    restored.repairs += matches.repairs
    restored.flags += matches.flags
    restored.release = find_release(notebook)
    current = find_release(nbformat.v4.new_notebook(metadata=blueprint.metadata))
    if restored.release and restored.release != current:
        restored.flags.append(
            f"made from release {restored.release} of the notebook; the current one is {current}"
        )
    owner_of = {student: slot for slot, student in matches.pairs.items()}
    defined = set().union(*matches.names)
    untouched = {s.release.source.strip() for s in blueprint.slots if s.role == "solve"}

    extras: dict[int, list[NotebookNode]] = {}  # slot index -> cells the student added after it
    last_slot = -1
    for index, cell in enumerate(notebook.cells):
        if index in owner_of:
            last_slot = owner_of[index]
        elif cell.source.strip() in untouched:
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


def make_blank(blueprint: Blueprint, trouble: str) -> Restored:
    """Return the hand-out itself, with the sentence about why there is nothing else to grade."""
    blank = restore(nbformat.v4.new_notebook(), blueprint).notebook
    return Restored(blueprint.name, blank, trouble=trouble)


def count_worked_on(notebook: NotebookNode, blueprint: Blueprint) -> int:
    """Count the cells to fill in, and the answers, that are not as they were handed out."""
    worked = 0
    for cell in restore(notebook, blueprint).notebook.cells:
        slot = blueprint.find(cell.metadata.get("nbgrader", {}).get("grade_id", ""))
        if slot and slot.role in ("solve", "answer"):
            worked += cell.source.strip() != slot.release.source.strip()
    return worked


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
    if cell.cell_type == "code":  # what is run again gets new outputs
        cell.outputs = given.get("outputs", []) if is_kept(slot.source) else []
    else:
        _take_pictures(given, cell)
    return cell


def _take_pictures(given: NotebookNode, cell: NotebookNode) -> None:
    """Let a cell have the pictures that were pasted into it."""
    pictures = read_attachments(given.get("attachments"))
    if pictures:
        cell["attachments"] = pictures


def _make_extra(cell: NotebookNode, kept: bool) -> NotebookNode:
    """Keep a cell that the student added, without tags or metadata that could steer grading.

    `kept` says that it stands where the hand-out keeps outputs: it then keeps its own.
    """
    kind = cell.cell_type if cell.cell_type in ("code", "raw") else "markdown"
    extra = NotebookNode(
        id="added", cell_type=kind, metadata=NotebookNode(), source=cell.source
    )  # nbformat's own way to make one checks it against a schema: milliseconds for each cell
    if kind == "code":
        extra.update(execution_count=None, outputs=[])
    else:
        _take_pictures(cell, extra)
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
        self.taken: set[int] = set()  # the student's cells among them
        self.names = [_names_in([cell]) for cell in cells]  # what each cell defines
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
        return index not in self.taken

    def _open_slots(self) -> list[Slot]:
        return [slot for slot in self.blueprint.slots if slot.index not in self.pairs]

    def _match_by_key(self, kind: str, key_of_cell, key_of_slot) -> int:
        """Match slots and cells with equal keys; return how many graded cells were found."""
        found = 0
        keys = Counter(key_of_slot(slot) for slot in self.blueprint.slots)
        places: dict[str, list[int]] = {}
        for index, cell in enumerate(self.cells):
            if self._is_free(index):
                places.setdefault(key_of_cell(cell), []).append(index)
        for slot in self._open_slots():
            key = key_of_slot(slot)
            if key is None or keys[key] > 1:  # an ambiguous key proves nothing
                continue
            candidates = [index for index in places.get(key, ()) if self._is_free(index)]
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
                for index, names in enumerate(self.names)
                if slot.grade_id in names and self._is_free(index)
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
                self._pair(slot, candidates[0])
                found += 1
        return found

    def _pair(self, slot: Slot, index: int) -> None:
        self.pairs[slot.index] = index
        self.taken.add(index)

    def _take(self, slot: Slot, candidates: list[int]) -> None:
        """Choose among several cells for one slot: the last one that was worked on."""
        worked_on = [
            index for index in candidates if self.cells[index].source != slot.release.source
        ]
        self._pair(slot, (worked_on or candidates)[-1])
        if len(candidates) > 1 and slot.role != "plain":
            self.repeated.append(slot.grade_id)
            if len({self.cells[index].source for index in worked_on}) > 1 and slot.role != "check":
                self.flags.append(
                    f"there are different versions of {slot.grade_id}; the last one was graded"
                )


def _grade_id(cell: NotebookNode) -> str | None:
    facts = cell.metadata.get("nbgrader")
    found = facts.get("grade_id") if isinstance(facts, dict) else None
    return found if isinstance(found, str) else None


def _text_key(cell: NotebookNode) -> str:
    return f"{cell.cell_type}:{' '.join(cell.source.split())}"


def _names_in(cells: list[NotebookNode]) -> set[str]:
    """Return the names that some cells define with something other than an open TODO."""
    return set().union(*(_names_of(cell.source) for cell in cells if cell.cell_type == "code"))


@lru_cache(maxsize=1024)
def _names_of(source: str) -> frozenset[str]:
    try:
        tree = parse(re.sub(r"(?m)^[^\S\n]*[%!?].*$", "", source))  # without magics
        tree.body = [statement for statement in tree.body if not _is_open_todo(statement)]
        return frozenset(find_defined_names(tree))
    except (SyntaxError, ValueError, RecursionError):
        return frozenset()


def _is_open_todo(statement: ast.stmt) -> bool:
    value = getattr(statement, "value", None)
    return isinstance(value, ast.Constant) and value.value is ...


def _prepares_something(cell: NotebookNode) -> bool:
    """Does later code need this cell? It does when it imports or defines anything."""
    if cell.cell_type != "code":
        return False
    tree = parse(cell.source)
    imports = any(isinstance(node, ast.Import | ast.ImportFrom) for node in tree.body)
    return imports or bool(find_defined_names(tree))
