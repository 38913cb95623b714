"""The questions that people mark: read from the hand-out, with their rubric."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from nbformat import NotebookNode

from autograder.authoring.mark_scheme import Scheme, read_scheme
from autograder.blueprint import Blueprint, Slot, is_kept, load_blueprints
from autograder.course import Assignment


@dataclass(frozen=True)
class Question:
    """One written answer of the assignment."""

    notebook: str
    cell: str
    slot: Slot
    blueprint: Blueprint

    @property
    def points(self) -> float:
        return self.slot.points

    @cached_property
    def scheme(self) -> Scheme:
        return read_scheme(self.slot.source.source, self.points)

    @property
    def label(self) -> str:
        return name_answer(self.cell)

    @cached_property
    def asked(self) -> list[NotebookNode]:
        """Return the markdown cells right above the answer, as students see them."""
        found = []
        for slot in reversed(self.blueprint.slots[: self.slot.index]):
            if slot.role != "plain" or slot.release.cell_type != "markdown":
                break
            found.append(slot.release)
            if _find_level(slot.release):
                break
        return found[::-1]

    @cached_property
    def section(self) -> NotebookNode | None:
        """Return the cell with the heading under which the question stands, unless it is asked."""
        for slot in reversed(self.blueprint.slots[: self.slot.index]):
            if slot.release.cell_type == "markdown" and _find_level(slot.release):
                return None if slot.release in self.asked else slot.release
        return None

    @property
    def title(self) -> str:
        """Return the question's heading or its first words, for lists."""
        text = self.asked[-1].source if self.asked else ""
        label = re.escape(self.label)
        given = "\n".join(
            slot.release.source
            for slot in self.blueprint.slots
            if slot.release.cell_type == "markdown"
        )
        named = re.search(rf"\*\*{label}\*\* +(.+?)(?:\n\n|$)", text, re.DOTALL)
        named = named or re.search(rf"^#+ +{label} +(.+)", given, re.MULTILINE)
        headings = re.findall(r"^#+ +(.+)", text, re.MULTILINE)
        words = named[1] if named else headings[-1] if headings else text.strip().split("\n\n")[0]
        words = re.sub(r"[*`#●○]|\(\d[^)]*\)$", "", " ".join(words.split())).strip()
        return words if len(words) <= 90 else words[:87].rsplit(" ", 1)[0] + " ..."

    def find_work(self, cells: list) -> list:
        """Return the student's code cells that the answer may speak of, in a graded notebook.

        Where outputs are kept that is the whole section, because an answer speaks of its figures
        and tables; elsewhere what stands under the same heading.
        """
        index = next((i for i, cell in enumerate(cells) if find_name(cell) == self.cell), 0)
        kept = is_kept(self.slot.source)
        found = []
        for cell in reversed(cells[:index]):
            if cell["cell_type"] == "code" and (is_kept(cell) or not kept):
                found.append(cell)
            level = _find_level(cell)
            if level and (level <= 2 or not kept):
                break
        return found[::-1]


def find_questions(assignment: Assignment) -> list[Question]:
    """Return every written answer that carries points, in the order of the notebooks."""
    return [
        Question(name, slot.grade_id, slot, blueprint)
        for name, blueprint in load_blueprints(assignment).items()
        for slot in blueprint.slots
        if slot.role == "answer" and slot.points > 0
    ]


def name_answer(cell: str) -> str:
    """Return a short name for an answer, as the question's text has it.

    >>> name_answer("answer_1_2_3"), name_answer("answer_q4_5"), name_answer("answer_2_2_setup")
    ('1.2.3', 'Q4.5', '2.2 setup')
    """
    name = cell.removeprefix("answer_")
    number = re.match(r"q?\d+(?:_\d+)*", name)
    if not number:
        return name.replace("_", " ")
    rest = name[number.end() :].replace("_", " ")
    return number[0].replace("_", ".").replace("q", "Q") + rest


def find_name(cell) -> str | None:
    """Return nbgrader's name of a cell of any notebook, however damaged."""
    facts = cell.get("metadata", {}).get("nbgrader", {})
    return facts.get("grade_id") if isinstance(facts, dict) else None


def _find_level(cell) -> int:
    """Return the level of the heading that a cell begins with, or 0."""
    if cell["cell_type"] != "markdown":
        return 0
    found = re.match(r"(#+) ", "".join(cell["source"]))
    return len(found[1]) if found else 0
