"""Query crafting: the learner gives numbers, the judge runs attention with them."""

from __future__ import annotations

import torch

from autograder.exercises.base import Exercise, Mistake, Ruling
from autograder.kernel.wire import Missing, Unusable
from course_utils import queries
from course_utils.checks.findings import Finding
from course_utils.checks.query_crafting import ITEMS, examine

# 1.4 builds on the learner's query of 1.3.2; this one stands in when that did not pass.
_STAND_IN = 10 * (queries.make_keys()[0] + queries.make_keys()[1])

_PROGRAM = """
def probe(namespace, inputs):
    return {{name: namespace.get(name, Missing) for name in {names!r}}}
"""


def _judge(name: str):
    def rule(values: dict, inputs: dict, solutions: dict[str, str]) -> Ruling:
        value = values.get(name, Missing)
        if value is Missing:
            return Ruling(0.0, Finding(False, f"{name} is not defined.", "not-defined"))
        if isinstance(value, Unusable):
            sentence = f"{name} should hold numbers, as list, array or tensor: {value}."
            return Ruling(0.0, Finding(False, sentence, "not-numbers"))
        if ITEMS[name].gives != "key":
            finding = examine(name, value)
            return Ruling(float(finding.passed), finding)
        query, remarks = _choose_query(values.get("q_average_two", Missing))
        finding = examine(name, value, query=query)
        return Ruling(float(finding.passed), finding, remarks)

    return rule


def _choose_query(query):
    """Return the query that 1.4 is judged with: the learner's own if it earned its points."""
    usable = query is not Missing and not isinstance(query, Unusable)
    if usable and examine("q_average_two", query).passed:
        return query, ()
    return _STAND_IN, (
        "Your query of 1.3.2 did not pass, so a right one stood in for it here: that mistake "
        "is not counted twice.",
    )


def _make(name: str, oracle: str, mistakes: dict[str, list[str]], variants: list[str]):
    names = (name, "q_average_two") if ITEMS[name].gives == "key" else (name,)
    return Exercise(
        name=name,
        oracle=f"{name} = {oracle}",
        program=_PROGRAM.format(names=names),
        rule=_judge(name),
        mistakes=tuple(
            Mistake(diagnosis, f"{name} = {code}")
            for diagnosis, codes in mistakes.items()
            for code in codes
        ),
        variants=tuple(f"{name} = {code}" for code in variants),
        reads=names[1:],
    )


def examine_code(name: str, code: str) -> Finding:
    """Show a solution cell's code to the public check, as a student would."""
    namespace = {"torch": torch, "K": queries.make_keys(), "V": queries.make_values()}
    namespace["q_average_two"] = _STAND_IN
    exec(compile(code, "<exercise>", "exec"), namespace)
    query = {"query": _STAND_IN} if ITEMS[name].gives == "key" else {}
    return examine(name, namespace[name], **query)


EXERCISES = [
    _make(
        "q_select_first",
        "10 * K[0]",
        mistakes={
            "wrong-shape": ["K[:, 0]", "(10 * K[0]).reshape(3, 1)", "10 * K", "10.0"],
            "not-numbers": ["'k0'", "None", "[[1, 2], [3]]", "lambda: K[0]"],
            "not-finite": ["float('nan') * K[0]", "float('inf') * K[0]"],
            "opposite-sign": ["-10 * K[0]"],
            "wrong-key": ["10 * K[1]", "10 * K[3]"],
            "values-as-query": ["10 * V[0]"],
            "scale-too-small": ["K[0]", "3.4 * K[0]"],
            "softmax-forgotten": ["torch.linalg.solve((K.T @ V).T, V[0])"],
            "averages-all": ["torch.zeros(3)"],
        },
        variants=[
            "3.5 * K[0]",
            "(100 * K[0]).tolist()",
            "(100 * K[0]).numpy()",
            "(1e6 * K[0])[None, :]",
            "torch.nn.Parameter(10 * K[0])",
            "[10 * K[0, 0], 10 * K[0, 1], 10 * K[0, 2]]",
            "(4.7, 6.5, 6.0)",
            "(20 * K[0]).double()",
        ],
    ),
    _make(
        "Q_identity",
        "10 * K",
        mistakes={
            "wrong-shape": ["10 * K.T", "10 * K[0]", "10 * torch.eye(4)"],
            "scale-too-small": ["K", "4.2 * K"],
            "opposite-sign": ["-10 * K"],
            "wrong-key": ["10 * K.flip(0)", "10 * K[[0, 1, 3, 2]]"],
            "values-as-query": ["10 * V"],
            "softmax-forgotten": ["torch.linalg.lstsq(K, torch.eye(4)).solution.T"],
            "averages-all": ["torch.zeros(4, 3)"],
        },
        variants=[
            "4.3 * K",
            "[(50 * k).tolist() for k in K]",
            "torch.stack([10 * K[0], 20 * K[1], 30 * K[2], 40 * K[3]])",
            "1e6 * K.numpy()",
            "[10 * k for k in K]",
        ],
    ),
    _make(
        "q_average_all",
        "torch.zeros(3)",
        mistakes={
            "selects-one": ["10 * K[0]"],
            "scale-too-large": ["20 * K.mean(dim=0)", "torch.ones(3)"],
            "values-as-query": ["V.mean(dim=0)"],
            "wrong-shape": ["torch.zeros(4)", "K"],
            "not-finite": ["torch.full((3,), float('nan'))"],
        },
        variants=["K.mean(dim=0)", "[0, 0, 0]", "0 * K[2]", "[[1e-3, 0.0, -1e-3]]", "0.1 * K[3]"],
    ),
    _make(
        "q_average_two",
        "10 * (K[0] + K[1])",
        mistakes={
            "scale-too-small": ["(K[0] + K[1]) / 2", "1.3 * (K[0] + K[1])"],
            "scale-too-large": ["1e6 * (K[0] + K[1])", "88 * (K[0] + K[1])"],
            "opposite-sign": ["-10 * (K[0] + K[1])"],
            "selects-one": ["10 * K[0]", "10 * (K[0] - K[1])"],
            "averages-all": ["torch.zeros(3)"],
            "wrong-key": ["10 * (K[1] + K[2])", "10 * (K[0] + K[3])"],
            "values-as-query": ["10 * (V[0] + V[1])"],
            "softmax-forgotten": ["torch.linalg.solve((K.T @ V).T, (V[0] + V[1]) / 2)"],
            "wrong-shape": ["10 * K[:2]"],
        },
        variants=[
            "1.4 * (K[0] + K[1])",
            "87 * (K[0] + K[1])",
            "20 * K[:2].mean(dim=0)",
            "(12 * (K[0] + K[1])).numpy().tolist()",
            "[[17.0, 18.0, 0.0]]",
        ],
    ),
    _make(
        "k2_average_three",
        "(K[0] + K[1]) / 2",
        mistakes={
            "wrong-shape": ["torch.cat([K[:2], (K[:1] + K[1:2]) / 2, K[3:]])"],
            "other-keys-changed": ["torch.stack([K[0], K[0], K[0], 0 * K[0]])"],
            "key-too-strong": ["K[0] + K[1]"],
            "key-too-weak": ["torch.zeros(3)", "K[2]"],
            "opposite-sign": ["-(K[0] + K[1]) / 2"],
            "values-as-query": ["V[2]"],
            "not-finite": ["[float('inf'), 0, 0]"],
        },
        variants=["K[0]", "K[1].tolist()", "K[:2].mean(dim=0, keepdim=True)"],
    ),
    _make(
        "k2_select",
        "q_average_two / q_average_two.norm()",
        mistakes={
            "length-not-1": ["10 * (K[0] + K[1])", "(K[0] + K[1]) / 2"],
            "opposite-sign": ["-(K[0] + K[1]) / (K[0] + K[1]).norm()"],
            "key-too-weak": ["K[0]", "K[2]", "torch.tensor([0.0, 0.0, 1.0])"],
            "values-as-query": ["V[2] / V[2].norm()"],
            "wrong-shape": ["K"],
            "other-keys-changed": ["torch.stack([0 * K[0], 0 * K[1], K[2], 0 * K[3]])"],
        },
        variants=[
            "(K[0] + K[1]) / (K[0] + K[1]).norm()",
            "torch.nn.functional.normalize(K[0] + K[1], dim=0).tolist()",
            "(1.008 * (K[0] + K[1]) / (K[0] + K[1]).norm()).numpy()",
        ],
    ),
]
