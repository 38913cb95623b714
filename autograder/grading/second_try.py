"""A mistake costs marks only once: what builds on pieces and failed is judged again, on right ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from autograder.exercises import Exercise
from autograder.grading.judge import Verdict

Ask = Callable[[Exercise, str], Verdict]  # runs a program for an exercise and judges the outcome


def judge_again(
    verdicts: dict[str, Verdict],
    exercises: dict[str, Exercise],
    solutions: dict[str, str],
    ask: Ask,
) -> dict[str, Verdict]:
    """Return the verdicts, by exercise, after a second try of what builds on others and failed.

    Call it last of all: the right pieces are put into the kernel for it.
    """
    statuses = {name: verdict.status for name, verdict in verdicts.items()}
    better = dict(verdicts)
    for name, verdict in verdicts.items():
        exercise = exercises[name]
        # A piece that passed may still be what fails it: then all of them stand in.
        pieces = choose_stand_ins(exercise, statuses) or list(exercise.builds_on)
        if not pieces or verdict.status in ("passed", "missing"):
            continue
        codes = [solutions[exercises[piece].cell] for piece in pieces]
        better[name] = credit(verdict, ask(exercise, add_stand_ins(exercise, codes)), pieces)
    return better


def choose_stand_ins(exercise: Exercise, statuses: dict[str, str]) -> list[str]:
    """Return the pieces under an exercise that did not pass, and those that only fit them."""
    failed = {name for name in exercise.builds_on if statuses.get(name, "passed") != "passed"}
    for partners in exercise.together:
        if failed & set(partners):
            failed |= set(partners)
    return [name for name in exercise.builds_on if name in failed]


def add_stand_ins(exercise: Exercise, codes: list[str]) -> str:
    """Return the exercise's program with right pieces put into the kernel first.

    What this program defines is there to be called by the learner's code alone: it runs when
    nothing else will be asked any more, and only arrays come out.
    """
    return (
        f"{exercise.program}\n\n_probe_own = probe\n\n\n"
        "def probe(namespace, inputs):\n"
        "    kept = dict(namespace)\n"
        f"    for code in {codes!r}:\n"
        "        exec(compile(code, '<course>', 'exec'), namespace)\n"
        "    try:\n"
        "        return _probe_own(namespace, inputs)\n"
        "    finally:\n"
        "        namespace.clear()\n"
        "        namespace.update(kept)\n"
    )


def credit(first: Verdict, second: Verdict, pieces: list[str]) -> Verdict:
    """Return the better of two verdicts: on the learner's own pieces, and on right ones.

    Of the second one only the points are taken. The learner's code ran beside the instructor's
    then, and whatever an error or a number said could carry it out.
    """
    if second.score <= first.score:
        return first
    word = (
        f"Right pieces stood in for {', '.join(pieces)}, so that a mistake there is not counted "
        f"twice: {second.score:g} of {second.max_score:g} points here."
    )
    found = "right" if second.score >= second.max_score else "partly right"
    return replace(second, messages=[f"With right pieces beneath it, this is {found}.", word])
