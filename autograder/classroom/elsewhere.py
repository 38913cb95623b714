"""Lets untouched answers wait for a person where a write-up was handed in: they may stand in it.

nbgrader gives 0 to an answer that is as it was handed out, and nobody would ever look.
"""

from __future__ import annotations

from contextlib import nullcontext

from nbformat import NotebookNode
from nbgrader import utils
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor

from autograder.course import load_assignment
from autograder.intake.writeups import find_elsewhere


class WaitForAPerson(NbGraderPreprocessor):
    """nbgrader's step after its automatic grades are saved; by the class's one connection, if there is one."""

    def preprocess(self, nb: NotebookNode, resources):
        names = resources["nbgrader"]
        if find_elsewhere(load_assignment(names["assignment"]), names["student"]):
            ours = names.get("gradebook")
            with nullcontext(ours) if ours else Gradebook(names["db_url"]) as gradebook:
                for cell in nb.cells:
                    if utils.is_grade(cell) and utils.is_solution(cell):
                        self._let_wait(cell.metadata.nbgrader, names, gradebook)
                gradebook.db.commit()
        return nb, resources

    def _let_wait(self, facts, names: dict, gradebook: Gradebook) -> None:
        grade = gradebook.find_grade(
            facts["grade_id"], names["notebook"], names["assignment"], names["student"]
        )
        if grade.auto_score == 0 and facts["points"] > 0:
            grade.auto_score, grade.needs_manual_grade = None, True
