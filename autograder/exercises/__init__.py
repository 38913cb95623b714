"""Every exercise of the course, by the name the learner defines."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from autograder.exercises import attention, finetuning, query_crafting
from autograder.exercises.base import Exercise, Mistake, Ruling

if TYPE_CHECKING:
    from autograder.judge import Verdict

_MODULES = (query_crafting, attention, finetuning)
EXERCISES: dict[str, Exercise] = {
    exercise.name: exercise for module in _MODULES for exercise in module.EXERCISES
}
MODULES: dict[str, str] = {  # the module that an exercise is written in
    exercise.name: module.__name__ for module in _MODULES for exercise in module.EXERCISES
}


def grade_here(name: str, namespace: dict, points: float) -> float:
    """Judge an exercise inside the process that solved it, for nbgrader without our config.

    With our config this never runs: the judge asks from outside. When the config announces
    that judge and this runs all the same, something is broken, and nothing may be graded.
    """
    from autograder.judge import add_stand_ins, choose_stand_ins, credit_second_try, decide
    from autograder.kernel import wire

    if os.environ.get("COURSE_JUDGE") == "outside":
        raise RuntimeError(
            "This cell should have been judged from outside the kernel: the grading hook is "
            "broken. Do not use this score; run `nbgrader autograde` from the course's root."
        )

    def ask(exercise: Exercise, program: str) -> Verdict:
        inputs = exercise.draw_inputs()
        values = wire.load(wire.answer(program, namespace, wire.dump(inputs)))
        return decide(exercise, points, "ok", values, inputs)

    exercise = EXERCISES[name]
    verdict = ask(exercise, exercise.program)
    if verdict.status != "passed" and exercise.builds_on:
        pieces = {piece: ask(EXERCISES[piece], EXERCISES[piece].program)
                  for piece in exercise.builds_on}  # fmt: skip
        failed = choose_stand_ins(exercise, {k: v.status for k, v in pieces.items()})
        if failed:
            program = add_stand_ins(exercise, [EXERCISES[piece].reference for piece in failed])
            verdict = credit_second_try(verdict, ask(exercise, program), failed)
    print("\n".join(verdict.messages))
    return verdict.score


__all__ = ["EXERCISES", "MODULES", "Exercise", "Mistake", "Ruling", "grade_here"]
