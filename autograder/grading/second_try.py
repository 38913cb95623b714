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
        if verdict.status in ("passed", "missing"):
            continue
        for pieces in choose_stand_ins(exercise, statuses):
            stand_ins = [(exercises[p], solutions[exercises[p].cell]) for p in pieces]
            second = ask(exercise, add_stand_ins(exercise, stand_ins))
            better[name] = credit(better[name], second, pieces)
            if second.status == "passed":
                break
    return pay_once(better, exercises)


def pay_once(
    verdicts: dict[str, Verdict], exercises: dict[str, Exercise]
) -> dict[str, Verdict]:
    """Give back the parts that were lost to a slip for which an earlier function has paid."""
    paid: dict[str, str] = {}  # who paid first, by slip
    better = dict(verdicts)
    for name, exercise in exercises.items():  # in the notebook's order
        verdict = verdicts.get(name)
        if verdict is None or verdict.status in ("passed", "missing"):
            continue
        lost = {slip for _, _, slip in verdict.parts if slip} or {verdict.diagnosis}
        again = {slip: paid[slip] for slip in lost & exercise.slips & paid.keys()}
        if again and verdict.parts:
            better[name] = _give_back(verdict, again)
        paid |= dict.fromkeys(lost - paid.keys(), name)
    return better


def _give_back(verdict: Verdict, again: dict[str, str]) -> Verdict:
    """Return a verdict in which what these slips cost is given back; they are by who paid for them."""
    whole = sum(points for points, _, _ in verdict.parts)
    back = sum(lost for _, lost, slip in verdict.parts if slip in again)
    score = min(verdict.max_score, verdict.score + verdict.max_score * back / whole)
    first = ", ".join(dict.fromkeys(f"`{name}`" for name in again.values()))
    word = f"This is the slip that {first} has paid for: here it costs nothing."
    status = "passed" if score >= verdict.max_score else "partial"
    return replace(verdict, score=score, status=status, messages=[*verdict.messages, word])


def choose_stand_ins(exercise: Exercise, statuses: dict[str, str]) -> list[list[str]]:
    """Return which pieces under an exercise stand in, one choice after another.

    First those that did not pass; then those that only fit them as well; then all of them: a piece that
    passed may still be what fails it.
    """
    failed = {name for name in exercise.builds_on if statuses.get(name, "passed") != "passed"}
    partners = {name for pair in exercise.together if failed & set(pair) for name in pair}
    choices = [
        [name for name in exercise.builds_on if name in chosen]
        for chosen in (failed, failed | partners, set(exercise.builds_on))
    ]
    return [choice for i, choice in enumerate(choices) if choice and choice not in choices[:i]]


def add_stand_ins(exercise: Exercise, stand_ins: list[tuple[Exercise, str]]) -> str:
    """Return the exercise's program with right pieces put into the kernel first.

    What this program defines is there to be called by the learner's code alone: it runs when
    nothing else will be asked any more, and only arrays come out. Where a piece says how it fits what
    it stands in for (its type, its conventions), that is done.
    """
    codes = [(piece.name, code, piece.stand_in) for piece, code in stand_ins]
    return (
        f"{exercise.program}\n\n_probe_own = probe\n\n\n"
        "def probe(namespace, inputs):\n"
        "    kept = dict(namespace)\n"
        f"    for name, code, fit in {codes!r}:\n"
        "        exec(compile(code, '<course>', 'exec'), namespace)\n"
        "        if fit:\n"
        "            scope = {'right': namespace[name], 'own': kept.get(name)}\n"
        "            exec(compile(fit, '<course>', 'exec'), scope)\n"
        "            namespace[name] = scope['fitted']\n"
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
