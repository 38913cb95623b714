"""The judge inside the student's process, for stock nbgrader without our config.

With our config this never runs: the judge asks from outside. When the config announces that judge
and this runs all the same, something is broken, and nothing may be graded.
"""

from __future__ import annotations

import os

from autograder.blueprint import load_blueprints
from autograder.course import load_assignment
from autograder.exercises import Exercise, find_exercises
from autograder.grading.judge import Verdict, decide
from autograder.grading.second_try import judge_again
from autograder.kernel import wire


def grade_here(module: str, name: str, namespace: dict, points: float) -> float:
    """Judge one exercise where it was solved; print what was found and return its points."""
    if os.environ.get("COURSE_JUDGE") == "outside":
        raise RuntimeError(
            "This cell should have been judged from outside the kernel: the grading hook is "
            "broken. Do not use this score; run `nbgrader autograde` from the course's root."
        )
    solutions = _find_solutions(module)

    def ask(exercise: Exercise, program: str) -> Verdict:
        inputs = exercise.draw_inputs()
        values = wire.load(wire.answer(program, namespace, wire.dump(inputs)))
        return decide(exercise, points, "ok", values, inputs, solutions)

    exercises = find_exercises(module)
    wanted = exercises[name]
    verdicts = {name: ask(wanted, wanted.program)}
    if verdicts[name].status != "passed":
        earlier = [*exercises][: [*exercises].index(name)]
        same = [piece for piece in earlier if exercises[piece].slips & wanted.slips]
        needed = {*wanted.builds_on, *same, *(n for s in same for n in exercises[s].builds_on)}
        pieces = [exercise for exercise in exercises.values() if exercise.name in needed]
        verdicts |= {piece.name: ask(piece, piece.program) for piece in pieces}
        verdicts = judge_again(verdicts, exercises, solutions, ask)
    print("\n".join(verdicts[name].lines))
    return verdicts[name].score


def _find_solutions(module: str) -> dict[str, str]:
    """Return the instructor's code of the notebook that a module judges."""
    blueprints = load_blueprints(load_assignment(module.partition(".")[0]))
    return next(b.solutions for b in blueprints.values() if b.exercises == module)
