"""Exercises of notebook noise_and_heads: queries by the share of right draws, K, Q, V by what they do.

The kernel is asked for queries and matrices alone. Keys and values are drawn, and attention is run,
in the judge's own process.

**A right answer does not fail by bad luck.** An answer that is right in a share of at least 0.98 of
all draws fails when fewer than 950 of 1,000 are right. With independent draws of the same share that
number is binomial, and by Chernoff's bound

    P(fewer than 950) <= exp(-1000 D),   D = 0.95 ln(0.95 / 0.98) + 0.05 ln(0.05 / 0.02) = 0.0163

which is below 1e-7. The share is not the same everywhere, though: the more keys, the harder. With
ten sizes left to chance a barely right pair of queries failed once in about 10,000 times. So every
size from 4 to 12 comes up among the sets, and the bound holds again: a test adds up the exact
probabilities for barely right answers (below 1e-6) and runs the judge's arithmetic over 10,000 seeds.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import torch
from torch import nn

from autograder.exercises.attention_at_work import noise_and_heads_code as code
from autograder.exercises.base import Exercise, Ruling, join_sources
from autograder.exercises.numbers import encode_probes
from autograder.exercises.trials import Outputs, list_codes, make_mistakes, run_codes, write_program
from autograder.kernel.wire import Missing
from course_utils.checks import projections
from course_utils.checks.comparing import Tolerance
from course_utils.checks.findings import Finding
from course_utils.checks.noise_and_heads import (
    SETS,
    TASKS,
    draw_worlds,
    examine,
    judge_queries,
    judge_synthesizer,
)
from course_utils.checks.projections import PROJECTIONS, draw_directions, judge_projections
from course_utils.checks.values import as_array
from course_utils.noisy_keys import World

SYNTHESIZER = "synthesizer_attention"
# One formula may well be written with an earlier one.
BUILDS_ON = {
    "average_query": ("copy_query",),
    "robust_query": ("copy_query", "average_query"),
    "two_head_queries": ("copy_query", "average_query", "robust_query"),
}
HIDDEN_TOLERANCE = Tolerance(rtol=1e-4, atol=1e-5)

# ------------------------------------------------------- functions of arrays, called on sets

_SET_CALLS = join_sources("learners_code", "set_calls")


def _make_program(name: str, arguments: int, parts: int, sets: int) -> str:
    """Write the program that runs in a kernel: the text of set_calls.py and one call of it."""
    read = f"[[inputs[f'{{i}}.{{j}}'] for j in range({arguments})] for i in range({sets})]"
    call = f"call_on_sets(functions[{name!r}], {read}, {parts})"
    return write_program(_SET_CALLS, (name,), f"{call} if functions else {{}}")


def _name_arguments(sets: list[list]) -> dict[str, np.ndarray]:
    return {
        f"{index}.{place}": np.asarray(argument)
        for index, arguments in enumerate(sets)
        for place, argument in enumerate(arguments)
    }


def _read_numbers(values: dict) -> dict:
    """Turn what came back into float arrays; what is not numbers stays words."""
    read = {}
    for key, value in values.items():
        if value is Missing or value is ...:
            value = "there is none"
        try:
            read[key] = value if isinstance(value, str) else as_array(value)
        except ValueError as problem:
            read[key] = str(problem)
    return read


def _judge_safely(name: str, values: dict, judge: Callable[[dict], Ruling]) -> Ruling:
    if not values:
        return Ruling(0.0, Finding(False, f"{name} is not defined.", "not-defined"))
    return judge(_read_numbers(values))


def draw_from_inputs(inputs: dict[str, np.ndarray]) -> np.random.Generator:
    """Return the chance that keys and values are drawn with: another one for each submission.

    It hangs on the inputs alone, which hang on the submission's seed, so that grading again gives
    the same, on another processor too: the last digits of keys at right angles differ there. The
    kernel sees the inputs, but what is drawn here never travels.
    """
    digest = hashlib.sha256(b"noise and heads")
    for key in sorted(inputs):
        digest.update(key.encode() + (np.round(inputs[key], 6) + 0.0).tobytes())
    return np.random.default_rng(int.from_bytes(digest.digest()[:16], "big"))


def _make_query_exercise(name: str) -> Exercise:
    task = TASKS[name]

    def make_inputs(rng) -> dict:
        return _name_arguments([task.make_arguments(world) for world in draw_worlds(rng)])

    def read_worlds(inputs) -> list[World]:
        worlds = []
        for index in range(SETS):
            means, *tokens = (inputs[f"{index}.{place}"] for place in range(1 + task.tokens))
            a = int(tokens[0])
            b = int(tokens[1]) if task.tokens == 2 else (a + 1) % len(means)
            worlds.append(World(means, a, b))
        return worlds

    def rule(values: dict, inputs: dict, solutions: dict[str, str]) -> Ruling:
        def judge(results: dict) -> Ruling:
            finding = judge_queries(name, read_worlds(inputs), results, draw_from_inputs(inputs))
            return Ruling(float(finding.passed), finding)

        return _judge_safely(name, values, judge)

    program = _make_program(name, 1 + task.tokens, task.heads, SETS)
    return _make_exercise(name, program, rule, make_inputs)


def _make_projections_exercise() -> Exercise:
    def make_inputs(rng) -> dict:
        return _name_arguments([list(draw_directions(rng)) for _ in range(projections.SETS)])

    def rule(values: dict, inputs: dict, solutions: dict[str, str]) -> Ruling:
        def judge(results: dict) -> Ruling:
            sets = [
                np.stack([inputs[f"{i}.{j}"] for j in range(4)]) for i in range(projections.SETS)
            ]
            share, finding = judge_projections(sets, results)
            halves = ("Half of the points: one of c1 and c2 is right.",)
            return Ruling(share, finding, halves if 0 < share < 1 else ())

        return _judge_safely(PROJECTIONS, values, judge)

    program = _make_program(PROJECTIONS, 4, 3, projections.SETS)
    return _make_exercise(PROJECTIONS, program, rule, make_inputs)


def _make_exercise(name: str, program: str, rule, make_inputs) -> Exercise:
    return Exercise(
        name=name,
        oracle=code.ORACLES[name],
        program=program,
        rule=rule,
        make_inputs=make_inputs,
        mistakes=make_mistakes(list_mistakes(name), code.SHARES.get(name)),
        variants=tuple(code.VARIANTS[name]),
        builds_on=BUILDS_ON.get(name, ()),
    )


def list_mistakes(name: str) -> Iterator[tuple[str, str]]:
    """Yield (diagnosis, code) of the known mistakes."""
    return list_codes(code.MISTAKES[name])


# ------------------------------------------------------------------------------ synthesizer

_ARGUMENTS = ("X", "w1", "b1", "w2", "b2", "V")


def _make_cases(hidden: bool) -> list[dict]:
    """Return the synthesizer's cases as calls.py reads them, with the sizes of their arrays."""

    def make(name, B, T, C, D, block, Cv, dtype="float64", extreme=False, **flags):
        words = f"B = {B}, T = {T}, C = {C}, D = {D}, block = {block}"
        words += ", scores around -40,000" if extreme else ""
        call = {"name": name, "call": SYNTHESIZER, "arguments": list(_ARGUMENTS), "keywords": {},
                "words": words, "group": "", "longer_block": block > T, **flags}  # fmt: skip
        shapes = {"X": (B, T, C), "w1": (C, D), "b1": (D,), "w2": (D, block), "b2": (block,),
                  "V": (B, T, Cv), "weight": (B, T, Cv)}  # fmt: skip
        return {"call": call, "shapes": shapes, "dtype": dtype, "extreme": extreme}

    cases = [
        make("whole-block", 2, 4, 4, 5, 4, 4, after=True, again=True),
        make("longer-block", 2, 3, 4, 5, 6, 4, "float32", after=True),
        make("gradient", 1, 3, 3, 4, 5, 2, grad=True),
        make("extreme", 1, 4, 3, 4, 6, 3, extreme=True),
    ]
    if hidden:
        cases += [
            make("large", 3, 7, 6, 8, 11, 6, after=True, again=True),
            make("one-token", 2, 1, 3, 4, 5, 3),
            make("gradient-32", 2, 5, 4, 6, 5, 4, "float32", grad=True),
            make("wide-values", 1, 4, 3, 2, 9, 7),
            make("device", 2, 4, 3, 5, 6, 3, device="gpu", forgiving=True),
        ]
    return cases


def _draw_arrays(cases: list[dict], rng: np.random.Generator) -> dict[str, np.ndarray]:
    arrays = {}
    for case in cases:
        name = case["call"]["name"]
        for argument, shape in case["shapes"].items():
            array = np.round(rng.standard_normal(shape), 2)
            if case["extreme"]:  # whole numbers: then no order of summing them matters
                array = np.round(array)
            arrays[f"{name}.{argument}"] = array.astype(case["dtype"])
        if case["extreme"]:  # all scores lie below what some take for a mask, and near each other
            arrays[f"{name}.b2"] -= 40_000
    return arrays


@cache
def make_namespace(text: str) -> dict:
    """Return a namespace as the notebook has it, with one piece of code run in it."""
    namespace = {
        "np": np, "torch": torch, "nn": nn, "F": nn.functional, "math": math,
        "__name__": "notebook",
    }  # fmt: skip
    return run_codes(namespace, text)


# Seen when graded, on a pretended GPU; the visible inputs are on the CPU.
HIDDEN_ONLY = {("synthesizer_attention", "hard-coded-device")}


def examine_code(name: str, text: str) -> Finding:
    """Show a solution cell's code to the public check, as a student would."""
    return examine(name, make_namespace(text)[name])


def _find_outputs(plan: list[dict], inputs: dict, text: str) -> Outputs:
    return Outputs(plan, inputs, lambda: make_namespace(text))


def _make_synthesizer_exercise() -> Exercise:
    cases = _make_cases(hidden=True)
    plan = [case["call"] for case in cases]

    def rule(values: dict, inputs: dict, solutions: dict[str, str]) -> Ruling:
        results = {key: value for key, value in values.items() if value is not Missing}
        if not results:
            return Ruling(0.0, Finding(False, "nothing came back from the kernel.", "no-answer"))
        right = _find_outputs(plan, inputs, solutions[SYNTHESIZER]).work_out()

        def mistakes():
            for slug, text in list_mistakes(SYNTHESIZER):
                yield slug, _find_outputs(plan, inputs, text)

        finding = judge_synthesizer(plan, results, right, mistakes, HIDDEN_TOLERANCE)
        return Ruling(float(finding.passed), finding)

    source = join_sources("learners_code", "pretended_gpu", "calls")
    program = write_program(source, (SYNTHESIZER,), f"run_cases(functions, {plan!r}, inputs)")
    return _make_exercise(SYNTHESIZER, program, rule, lambda rng: _draw_arrays(cases, rng))


EXERCISES = [
    *(_make_query_exercise(name) for name in TASKS),
    _make_projections_exercise(),
    _make_synthesizer_exercise(),
]


# ---------------------------------------------------------------------- numbers for students

# Seen from how a function behaves, or different on every machine.
_SAID_WITHOUT_NUMBERS = ("returned-none", "not-a-tensor", "hard-coded-device", "not-repeatable",
                         "todo-open", "no-gradient", "wrong-gradient", "input-changed", "raised")  # fmt: skip


ANSWER_FILE = "noise_and_heads.json"


def make_answers(solutions: dict[str, str]) -> dict[str, dict]:
    """Return what the public check of the synthesizer compares with."""
    return {SYNTHESIZER: encode_probes(make_probes(solutions))}


def make_probes(solutions: dict[str, str], seed: int = 15) -> dict:
    """Return the synthesizer's visible cases and what right and mistaken functions return."""
    cases = _make_cases(hidden=False)
    plan = [case["call"] for case in cases]
    inputs = _draw_arrays(cases, np.random.default_rng(seed))
    known = []
    for slug, text in list_mistakes(SYNTHESIZER):
        if slug in _SAID_WITHOUT_NUMBERS:
            continue
        outputs = _find_outputs(plan, inputs, text).work_out()
        known.append((slug, {key: v for key, v in outputs.items() if key.endswith(".out")}))
    right = _find_outputs(plan, inputs, solutions[SYNTHESIZER]).work_out()
    return {"cases": plan, "inputs": inputs, "right": right, "mistakes": known}
