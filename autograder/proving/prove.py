"""Lets the judge prove itself: on mutants and rewrites of every reference and accepted variant.

Every mutant has to lose something on every draw of the hidden inputs, every rewrite has to lose
nothing on any, and what a mutant is told must be true of it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from functools import cache
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from autograder.blueprint import Blueprint, load_blueprint, load_blueprints
from autograder.course import CourseError, load_assignment, load_course
from autograder.exercises import Exercise, find_exercises
from autograder.grading.judge import Verdict, decide
from autograder.kernel import wire
from autograder.proving.claims import Seen, find_claim
from autograder.proving.closure import read_closure
from autograder.proving.contracts import BETWEEN, RIGHT, ask_contract
from autograder.proving.equivalents import find_reason
from autograder.proving.mutants import choose, make_mutants
from autograder.proving.rewrites import make_rewrites
from autograder.proving.stage import Stage
from autograder.python_text import find_defined_names, parse

SEEDS = 8  # draws of the hidden inputs
FROM_VARIANT = 6  # mutants of each accepted variant; the reference gives all it has
REWRITTEN = 1  # accepted variants that are rewritten too
_TOGETHER = 12  # pieces of work that are handed to a process at once

# A diagnosis that says only that something is wrong. It may be true, but it names nothing.
VAGUE = {
    None, "no-answer", "wrong-values", "wrong-loss", "wrong-accuracy", "wrong-weights", "wrong-history",
    "wrong-epoch-saved", "wrong-tokens", "wrong-output", "wrong-weights-values",
    "count-wrong", "wrong-answer", "wrong-characters", "wrong-text-asked", "wrong-description",
    "wrong-words",
}  # fmt: skip


@dataclass(frozen=True)
class Work:
    """One piece of work to be judged: a mutant or a rewrite of right code."""

    assignment: str
    notebook: str
    exercise: str
    is_right: bool
    kind: str
    code: str
    change: str = ""

    @property
    def key(self) -> str:
        return hashlib.sha256(
            f"{self.exercise}\0{self.is_right}\0{self.code}".encode()
        ).hexdigest()[:20]


@dataclass
class Outcome:
    """What came of one piece of work, draw by draw."""

    key: str
    shares: list[float]  # of the points, by draw
    diagnoses: list[str | None]
    message: str = ""  # of the first draw that was not passed
    misnamed: str = ""  # a diagnosis that is not true of it
    named: bool = False
    contract: str | None = None  # what the contract says of it, where many answers are right

    @property
    def is_rejected(self) -> bool:
        return all(share < 1 for share in self.shares)

    @property
    def is_accepted(self) -> bool:
        return all(share >= 1 for share in self.shares)


@dataclass
class Tally:
    """What the table says of one exercise."""

    exercise: str
    mutants: int = 0
    rejected: int = 0
    named: int = 0
    misnamed: int = 0
    survivors: int = 0
    equivalent: int = 0
    right: int = 0  # by a contract that many answers fulfil
    between: int = 0  # right in some draws and wrong in others, by the contract itself
    rewrites: int = 0
    refused: int = 0
    unstable: int = 0
    listed: dict[str, list[dict]] = field(default_factory=dict)

    def add(self, other: Tally) -> None:
        for name, value in asdict(other).items():
            if isinstance(value, int):
                setattr(self, name, getattr(self, name) + value)

    def to_dict(self, details: bool = True) -> dict:
        found = asdict(self)
        listed = found.pop("listed")
        return found | ({"details": listed} if details and listed else {})


# ----------------------------------------------------------------------------- what is tried


def list_notebooks(assignment: str | None, notebook: str | None) -> list[Blueprint]:
    """Return the notebooks to be proven; a name may be left out or be a part of it."""
    course = load_course()
    names = [assignment] if assignment else list(course.assignments)
    found = [b for name in names for b in load_blueprints(load_assignment(name)).values()]
    chosen = [b for b in found if not notebook or notebook in b.name]
    if not chosen:
        raise CourseError(
            f"There is no notebook {notebook!r}; there are: {', '.join(b.name for b in found)}."
        )
    return chosen


def list_works(blueprint: Blueprint, exercise: str | None = None) -> Iterator[Work]:
    """Yield the mutants and rewrites of a notebook's exercises."""
    for found in find_exercises(blueprint.exercises).values():
        if exercise in (None, found.name):
            yield from _list_works_of(blueprint, found)


def _list_works_of(blueprint: Blueprint, exercise: Exercise) -> Iterator[Work]:
    facts = (blueprint.assignment, blueprint.name, exercise.name)
    seen: set[str] = set()
    bases = [blueprint.solutions[exercise.cell], *exercise.variants]
    exercises = find_exercises(blueprint.exercises)
    within = _choose_definitions(exercise, exercises)
    for number, base in enumerate(bases):
        mutants = make_mutants(base, within or _choose_own(base, exercise, exercises))
        for mutant in mutants if number == 0 else choose(mutants, FROM_VARIANT):
            if mutant.code not in seen:
                seen.add(mutant.code)
                yield Work(*facts, False, mutant.kind, mutant.code, mutant.change)
    for base in bases[: 1 + REWRITTEN]:
        for rewrite in make_rewrites(base):
            if rewrite.code not in seen:
                seen.add(rewrite.code)
                yield Work(*facts, True, rewrite.kind, rewrite.code)


def _choose_own(base: str, exercise: Exercise, exercises: dict[str, Exercise]):
    """Return which definitions to change in code that solves other exercises too: its own."""
    others = find_defined_names(parse(base)) & exercises.keys() - {exercise.name}
    return (lambda node: getattr(node, "name", "") == exercise.name) if others else None


def _choose_definitions(exercise: Exercise, exercises: dict[str, Exercise]):
    """Return which definitions in a cell belong to an exercise, where a cell holds several."""
    sharing = {e.name for e in exercises.values() if e.cell == exercise.cell}
    if len(sharing) == 1:
        return None
    if exercise.solved_in:
        return lambda node: getattr(node, "name", "") == exercise.name
    others = sharing - {exercise.name}
    return lambda node: hasattr(node, "name") and node.name not in others and _is_function(node)


def _is_function(node) -> bool:
    return type(node).__name__ == "FunctionDef" and node.name != "__init__"


# ---------------------------------------------------------------------------- trying it out


class Prover:
    """Tries work of one notebook on a stage, and judges it as a student's is judged."""

    def __init__(self, blueprint: Blueprint, stage: Stage, seeds: int = SEEDS):
        self.blueprint, self.stage = blueprint, stage
        self.exercises = find_exercises(blueprint.exercises)
        self.seeds = [7919 * (number + 1) for number in range(seeds)]
        self._known: dict[tuple[str, str], list[dict]] = {}
        self._drawn: dict[str, list[tuple[dict, str]]] = {}

    def draw(self, exercise: Exercise) -> list[tuple[dict, str]]:
        """Return the hidden inputs of every draw, as they are and as they travel."""
        if exercise.name not in self._drawn:
            inputs = [exercise.draw_inputs(seed) for seed in self.seeds]
            self._drawn[exercise.name] = [(drawn, wire.dump(drawn)) for drawn in inputs]
        return self._drawn[exercise.name]

    def try_out(self, work: Work) -> Outcome:
        """Run a piece of work on all draws and judge it."""
        wanted = self.exercises[work.exercise]
        judged = [e for e in self.exercises.values() if e.cell == wanted.cell]
        judged.sort(key=lambda e: e is not wanted)
        shares, diagnoses, message, misnamed = (
            [1.0] * len(self.seeds),
            [None] * len(self.seeds),
            "",
            "",
        )
        asks = [(e.program, text) for e in judged for _, text in self.draw(e)]
        performed = self.stage.perform(work.code, asks)
        drawn = [inputs for inputs, _ in self.draw(wanted)]
        contract = ask_contract(
            wanted.name,
            [(values, inputs) for (_, values), inputs in zip(performed, drawn, strict=False)],
        )
        answers = iter(performed)
        is_named = True
        for exercise in judged:
            points = self.blueprint.find(f"test_{exercise.name}").points
            for place, (inputs, _) in enumerate(self.draw(exercise)):
                status, values = next(answers)
                verdict = self._judge(exercise, points, status, values, inputs)
                if verdict.score >= points or shares[place] < 1:
                    continue
                shares[place], diagnoses[place] = verdict.score / points, verdict.diagnosis
                message = message or " ".join(verdict.lines)
                is_named &= _is_name(verdict.diagnosis, verdict.lines)
                if (
                    not work.is_right
                    and not misnamed
                    and self._is_misnamed(exercise, verdict.diagnosis, place, values)
                ):
                    misnamed = str(verdict.diagnosis)
        return Outcome(work.key, shares, diagnoses, message, misnamed, is_named, contract)

    def _judge(
        self, exercise: Exercise, points: float, status: str, values: dict, inputs: dict
    ) -> Verdict:
        try:
            return decide(exercise, points, status, values, inputs, self.blueprint.solutions)
        except (
            Exception
        ) as problem:  # a judge that fails is a hole: the work counts as not rejected
            return Verdict(
                points, points, "passed", "judge-failed", [f"{type(problem).__name__}: {problem}"]
            )

    def _is_misnamed(
        self, exercise: Exercise, diagnosis: str | None, place: int, values: dict
    ) -> bool:
        """Say whether a diagnosis is untrue of what was seen.

        It is true when a known mistake of this name gives the same outputs on this draw, or when what
        it claims to have seen was seen. That something is wrong needs no proof: it was rejected.
        """
        if diagnosis in PLAIN_FACTS or diagnosis in VAGUE:
            return False
        claim = find_claim(exercise.name, diagnosis)
        if claim and _holds(claim, self._see(exercise, place, values)):
            return False
        known = [
            mistake.code
            for other in (exercise, *self.exercises.values())
            for mistake in other.mistakes
            if mistake.diagnosis == diagnosis
        ]
        return not any(
            are_alike(values, self._recall(exercise, code)[place], diagnosis) for code in known
        )

    def _see(self, exercise: Exercise, place: int, values: dict) -> Seen:
        right = self._recall(exercise, self.blueprint.solutions[exercise.cell])[place]
        return Seen(exercise.name, values, right, self.draw(exercise)[place][0])

    def _recall(self, exercise: Exercise, code: str) -> list[dict]:
        """Return what some code gives on every draw."""
        if (exercise.name, code) not in self._known:
            asks = [(exercise.program, text) for _, text in self.draw(exercise)]
            self._known[exercise.name, code] = [
                values for _, values in self.stage.perform(code, asks)
            ]
        return self._known[exercise.name, code]


def _holds(claim, seen: Seen) -> bool:
    try:
        return bool(claim(seen))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return False  # what it is about did not even come back


# What these say is what was seen: that nothing was returned, or what the exception was.
PLAIN_FACTS = {
    "raised",
    "todo-open",
    "not-defined",
    "returned-none",
    "not-a-function",
    "timeout",
    "crashed",
}


def _is_name(diagnosis: str | None, messages: list[str]) -> bool:
    """Say whether a verdict names what is wrong: a diagnosis, or an exception with its line."""
    if diagnosis == "raised":
        return any(re.search(r"\bline \d+", message) for message in messages)
    return diagnosis not in VAGUE


# What a trial writes down beside what a function gives: from other calls, and about its manners.
_BESIDE = {
    "again", "after", "grad", "device", "plain", "kept", "batches", "steepest", "events", "masks",
    "modes", "gradients", "seen", "left", "off", "frozen", "moved", "own",
}  # fmt: skip
# A diagnosis of one number of a report is about that number; what else is wrong is told beside it.
_PARTS = ("loss", "accuracy")


# Kinds of masks: masking has to work with one of them, and is told about that one.
_KINDS_OF_MASKS = ("pair-", "bool-", "float-", "int-")


def are_alike(one: dict, other: dict, about: str = "") -> bool:
    """Say whether two programs gave the same outputs: the same numbers, or the same words.

    `about` is the diagnosis that is looked at: "loss-summed" is about the loss of a report alone.
    """
    keys = [key for key in one.keys() | other.keys() if not _BESIDE & set(key.split("."))]
    part = about.partition("-")[0]
    if part in _PARTS and {"loss", "accuracy"} <= set(keys):
        keys = [part]
    groups = [[key for key in keys if key.startswith(kind)] for kind in _KINDS_OF_MASKS]
    rest = [key for key in keys if not key.startswith(_KINDS_OF_MASKS)]
    found = [group for group in (rest, *groups) if group]

    def is_alike(key: str) -> bool:
        return key in one and key in other and _alike(one[key], other[key])

    if rest:  # a mask by itself, or no mask at all
        return all(map(is_alike, rest))
    return any(all(map(is_alike, group)) for group in found)


def _alike(one, other) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        both = isinstance(one, str) and isinstance(other, str)
        return both and _strip(one) == _strip(other)
    if one is other:
        return True
    if not (hasattr(one, "shape") and hasattr(other, "shape")) or one.shape != other.shape:
        return False
    return bool(
        np.allclose(np.asarray(one, float), np.asarray(other, float), 1e-3, 1e-3, equal_nan=True)
    )


def _strip(problem: str) -> str:
    """Reduce an error to what depends neither on sizes nor on the line it happened in."""
    return "".join(c for c in problem.partition(" [line ")[0] if not c.isdigit())[:60]


# ------------------------------------------------------------------------------ many at once


def prove(
    blueprints: Iterable[Blueprint],
    exercise: str | None = None,
    seeds: int = SEEDS,
    workers: int | None = None,
    progress: Callable[[int, int, str], None] = lambda done, total, what: None,
    limit: int | None = None,
) -> list[Tally]:
    """Try all work of some notebooks; return a tally per exercise, in order.

    What was tried before with the same exercises is read from .prove/, so that a run that was
    stopped goes on where it was. With `limit`, only so many pieces of work per exercise are tried.
    """
    tallies: dict[tuple[str, str], Tally] = {}
    works: dict[tuple[str, str], list[Work]] = {}
    memories = {}
    for blueprint in blueprints:
        memories[blueprint.name] = _Memory(blueprint, seeds)
        for work in list_works(blueprint, exercise):
            works.setdefault((blueprint.name, work.exercise), []).append(work)
    if limit:
        works = {key: found[:: max(1, len(found) // limit)][:limit] for key, found in works.items()}
    if not works:
        raise CourseError(f"There is no exercise {exercise!r} there.")
    total = sum(map(len, works.values()))
    open_tasks = []
    for (notebook, _), found in works.items():
        left = [work for work in found if work.key not in memories[notebook].outcomes]
        open_tasks += [left[i : i + _TOGETHER] for i in range(0, len(left), _TOGETHER)]
    done = total - sum(map(len, open_tasks))
    progress(done, total, "")
    for task, outcomes in _run(open_tasks, seeds, workers or os.cpu_count() or 1):
        memories[task[0].notebook].remember(outcomes)
        done += len(task)
        progress(done, total, task[0].exercise)
    for (notebook, name), found in works.items():
        tallies[notebook, name] = _count(name, found, memories[notebook].outcomes)
    return list(tallies.values())


def _run(
    tasks: list[list[Work]], seeds: int, workers: int
) -> Iterator[tuple[list[Work], list[Outcome]]]:
    if not tasks:
        return
    if workers == 1:
        for task in tasks:
            yield task, _try_task(task, seeds)
        return
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        waiting = {pool.submit(_try_task, task, seeds): task for task in tasks}
        try:
            for future in as_completed(waiting):
                yield waiting[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


_open: dict[str, Prover] = {}  # the stage that this process has open, by notebook


def _try_task(task: list[Work], seeds: int) -> list[Outcome]:
    import torch

    torch.set_num_threads(1)
    first = task[0]
    key = f"{first.assignment}/{first.notebook}/{seeds}"
    if key not in _open:
        close_stages()
        blueprint = load_blueprint(load_assignment(first.assignment), first.notebook)
        _open[key] = Prover(blueprint, Stage(blueprint).__enter__(), seeds)
    return [_open[key].try_out(work) for work in task]


def close_stages() -> None:
    """End the processes that this one has started."""
    while _open:
        _open.popitem()[1].stage.__exit__()


class _Memory:
    """What was found before, in a file that is only ever added to."""

    def __init__(self, blueprint: Blueprint, seeds: int):
        folder = load_course().root / ".prove"
        folder.mkdir(exist_ok=True)
        self.path = folder / f"{blueprint.name}-{_fingerprint(blueprint, seeds)}.jsonl"
        self.outcomes: dict[str, Outcome] = {}
        if self.path.exists():
            for line in self.path.read_text("utf-8").splitlines():
                try:
                    outcome = Outcome(**json.loads(line))
                except (ValueError, TypeError):  # cut off in the middle
                    continue
                self.outcomes[outcome.key] = outcome

    def remember(self, outcomes: list[Outcome]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            for outcome in outcomes:
                self.outcomes[outcome.key] = outcome
                file.write(json.dumps(asdict(outcome)) + "\n")


def _fingerprint(blueprint: Blueprint, seeds: int) -> str:
    """Return a fingerprint of all that judges a notebook, and of this."""
    digest = hashlib.sha256(f"{seeds}".encode())
    for slot in blueprint.slots:
        if slot.source.cell_type == "code":
            digest.update(slot.source.source.encode())
    closure = _read_closure(f"import autograder.exercises.{blueprint.exercises}")
    for name, content in sorted(closure.items()):
        digest.update(name.encode() + content)
    here = Path(__file__).parent
    for path in (
        here / "prove.py",
        here / "stage.py",
        here / "contracts.py",
        *sorted((here / "claims").glob("*.py")),
    ):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


@cache
def _read_closure(statement: str) -> dict[str, bytes]:
    return read_closure([statement])


# ---------------------------------------------------------------------------------- counting


def _count(name: str, works: list[Work], outcomes: dict[str, Outcome]) -> Tally:
    tally = Tally(name)
    for work in works:
        outcome = outcomes[work.key]
        details = {"kind": work.kind, "change": work.change or work.code, "code": work.code,
                   "diagnosis": outcome.diagnoses[0], "message": outcome.message}  # fmt: skip
        if not outcome.is_rejected and not outcome.is_accepted and outcome.contract != BETWEEN:
            tally.unstable += 1
            counts = Counter(outcome.shares)
            tally.listed.setdefault("unstable", []).append(details | {"shares": str(dict(counts))})
        if work.is_right:
            tally.rewrites += 1
        if outcome.contract == RIGHT and not work.is_right:
            tally.right += 1
        if work.is_right or outcome.contract == RIGHT:
            if not outcome.is_accepted:
                tally.refused += 1
                tally.listed.setdefault("refused", []).append(details)
            continue
        if outcome.contract == BETWEEN:
            tally.between += 1
            tally.listed.setdefault("between", []).append(details)
            continue
        reason = find_reason(name, work.change)
        if reason and outcome.is_accepted:
            tally.equivalent += 1
            tally.listed.setdefault("equivalent", []).append(details | {"reason": reason})
            continue
        tally.mutants += 1
        if outcome.is_accepted:
            tally.survivors += 1
            tally.listed.setdefault("survivors", []).append(details)
        if outcome.is_rejected:
            tally.rejected += 1
            tally.named += outcome.named
            if not outcome.named:
                tally.listed.setdefault("unnamed", []).append(details)
        if outcome.misnamed:
            tally.misnamed += 1
            tally.listed.setdefault("misnamed", []).append(
                details | {"diagnosis": outcome.misnamed}
            )
    return tally
