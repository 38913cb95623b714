"""Whatever a kernel sends back, its notebook is graded, and what is no answer never passes."""

import base64
import json
import random

import numpy as np
import pytest
import torch

from autograder.blueprint import load_blueprints
from autograder.course import load_assignment
from autograder.exercises import find_exercises
from autograder.exercises.attention import attention_from_scratch, finetune_roberta
from autograder.exercises.attention_at_work import noise_and_heads, pretraining, translation
from autograder.grading.judges import Question
from autograder.kernel import wire
from course_utils import queries
from tests.conftest import ROOT

NAMESPACES = {
    attention_from_scratch: lambda codes: attention_from_scratch.make_namespace.__wrapped__(*codes),
    finetune_roberta: lambda codes: finetune_roberta.make_namespace(*codes),
    noise_and_heads: lambda codes: noise_and_heads.make_namespace.__wrapped__("\n".join(codes)),
    pretraining: lambda codes: pretraining.make_namespace(*codes),
    translation: lambda codes: translation.make_namespace(*codes),
}
WORDS = ("open|", "raised|", "raised|KeyError: 'a' [line 7 of your cell: d]", "type|", "shape|3", "|",
         "none|", "no-such|problem", "count|2", "keys|", "layers-missing|", "endless|", "x" * 600)  # fmt: skip


def _list_questions():
    """Yield every exercise of both assignments with the reply of right work to it."""
    for assignment in ("attention", "attention_at_work"):
        for blueprint in load_blueprints(load_assignment(assignment, ROOT)).values():
            exercises = find_exercises(blueprint.exercises)
            module = next((m for m in NAMESPACES if m.EXERCISES[0].name in exercises), None)
            cells = {exercise.cell for exercise in exercises.values()}
            codes = [code for name, code in blueprint.solutions.items() if name in cells]
            if module:
                namespace = NAMESPACES[module](codes)
            else:
                keys = {"K": queries.make_keys(), "V": queries.make_values()}
                namespace = {"torch": torch, "math": __import__("math"), **keys}
                exec("\n".join(codes), namespace)
            for exercise in exercises.values():
                inputs = wire.dump(exercise.draw_inputs(3))
                reply = str(wire.answer(exercise.program, namespace, inputs))
                yield Question(blueprint.exercises, exercise.name, 2.0, inputs, blueprint.solutions), reply  # fmt: skip


def _pack(array):
    array = np.asarray(array)
    return {
        "kind": "array", "dtype": array.dtype.name, "shape": list(array.shape),
        "data": base64.b64encode(np.ascontiguousarray(array).tobytes()).decode(),
    }  # fmt: skip


def _spoil(value, rng):
    """Return something that no code for this exercise hands over in this place."""
    array = wire.decode(value)
    shape = array.shape if isinstance(array, np.ndarray) else (2,)
    return rng.choice((
        lambda: {"kind": "open"},
        lambda: {"kind": "missing"},
        lambda: {"kind": "unusable", "why": rng.choice(WORDS)},
        lambda: {"kind": "unusable", "why": {"a": [1]}},
        lambda: _pack(np.full(shape, rng.choice([np.nan, np.inf, -np.inf, 1e308, -7.0]))),
        lambda: _pack(np.full((*shape, 3), 0.5)),
        lambda: _pack(np.zeros((0, 3))),
        lambda: _pack(np.full(rng.choice([(), (1,), (7,), (1, 1, 1, 1)]), -3)),
        lambda: _pack(np.array([2**62, -(2**62)])),
        lambda: {**value, "dtype": rng.choice(["int8", "object", "float16", "float64", 3])},
        lambda: {**value, "shape": rng.choice([[-1], [10**9], "x", [0], [2] * 20])},
        lambda: {**value, "data": rng.choice(["!!!", "", None, "AAAA"])},
        lambda: rng.choice([None, 3, "x", [], {}, {"kind": "array"}, {"kind": 5}]),
    ))()  # fmt: skip


def _make_malformed(reply, rng):
    """Spoil most of a right reply, or all of it, or its very form."""
    whole = rng.random()
    if whole < 0.05:
        return rng.choice(["", "null", "[]", "3", '"x"', "{", '{"a": 1}', "[" * 5000, "{}"])
    values = json.loads(reply)
    if whole < 0.15:  # the right numbers in the wrong places
        names, contents = list(values), list(values.values())
        if len(names) > 1:
            first = contents.pop(0)
            values = dict(zip(names, [*contents, first], strict=True))
            values[names[0]] = {"kind": "open"}
            return json.dumps(values)
    kept = rng.choice([0.0, 0.2, 0.5])
    spoiled = {}
    for name, value in values.items():
        if rng.random() >= 0.1:
            spoiled[name] = value if rng.random() < kept else _spoil(value, rng)
    first = next(iter(values))
    if any(spoiled.get(name) == value for name, value in values.items()):
        spoiled = {name: spoiled.get(name, {"kind": "missing"}) for name in values}
        for name in [first, *(n for n in values if n.endswith((".out", ".out.0", ".attended", ".loss")))]:  # fmt: skip
            spoiled[name] = {"kind": "open"}
    spoiled |= {"extra": {"kind": "open"}} if rng.random() < 0.1 else {}
    return json.dumps(spoiled)


@pytest.fixture(scope="module")
def questions():
    torch.manual_seed(0)
    return list(_list_questions())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("count", [200, pytest.param(5000, marks=[pytest.mark.soak, pytest.mark.timeout(3600)])])  # fmt: skip
def test_no_malformed_reply_passes_or_ends_a_notebook(questions, count):
    assert len(questions) >= 39
    rng, slips = random.Random(count), {}
    for number in range(count):
        question, reply = questions[number % len(questions)]
        malformed = _make_malformed(reply, rng)
        verdict = question.decide("ok", malformed)
        assert verdict.status != "passed" and verdict.score < 2.0, (question.exercise, malformed[:2000])  # fmt: skip
        assert verdict.messages[0] and not isinstance(verdict.diagnosis, float)
        if verdict.slip:
            slips.setdefault((question.exercise, verdict.slip[:60]), 0)
            slips[question.exercise, verdict.slip[:60]] += 1
    print(len(slips), slips)


def test_right_replies_pass(questions):
    for question, reply in questions[::4]:
        assert question.decide("ok", reply).status == "passed", question.exercise
