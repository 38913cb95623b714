"""Checks of notebook noise_and_heads: how often is the answer right, and if seldom, why?

Whether an answer is right is found out by running attention on keys and values drawn by the law in
the notebook and comparing with the target. There is no answer in here, only targets, and ways to
recognise a miss by where the weights went. The synthesizer's numbers are in noise_and_heads.json.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from course_utils import noisy_keys
from course_utils.checks import projections
from course_utils.checks.answer_numbers import load_answers
from course_utils.checks.calls import run_cases
from course_utils.checks.comparing import Mistakes, Tolerance, explain, find_faults
from course_utils.checks.findings import Finding, end_sentence
from course_utils.checks.noise_and_heads_words import WORDS
from course_utils.checks.projections import PROJECTIONS, draw_directions, judge_projections
from course_utils.checks.set_calls import Problem, call_on_sets
from course_utils.checks.set_findings import (
    find_changed_inputs,
    find_problem,
    find_unsteady_answer,
)
from course_utils.checks.values import as_array, describe_shape
from course_utils.noisy_keys import World

SETS, DRAWS = 10, 100  # sets of means, and draws of keys and values for each of them
NEEDED_SHARE = 0.95  # of all draws must be right for full credit
_PUBLIC_SEED = 15
_FACTORS = np.geomspace(1, 1e9, 73)[1:]  # lengths tried to tell "wrong" from "wrong length"
_SEVERAL = 3  # sets in which the same rows are looked at, whatever was asked for
_FEW = 20  # draws for each set when many lengths are tried


@dataclass(frozen=True)
class Task:
    """One function that returns queries: how many, over which keys, and for which output."""

    heads: int
    noisy: bool
    unsteady: bool
    tokens: int  # 1: the output is the value of a; 2: the mean of the values of a and b

    def make_arguments(self, world: World) -> list:
        return [world.means, *(world.a, world.b)[: self.tokens]]

    def find_targets(self, world: World, values: np.ndarray) -> np.ndarray:
        return values[:, [world.a, world.b][: self.tokens]].mean(axis=1)  # (draws, d)


TASKS = {
    "copy_query": Task(heads=1, noisy=False, unsteady=False, tokens=1),
    "average_query": Task(heads=1, noisy=False, unsteady=False, tokens=2),
    "robust_query": Task(heads=1, noisy=True, unsteady=False, tokens=2),
    "two_head_queries": Task(heads=2, noisy=True, unsteady=True, tokens=2),
}
NAMES = (*TASKS, PROJECTIONS, "synthesizer_attention")


def examine(name: str, function) -> Finding:
    """Examine a learner's function on public sets: the same ones every time."""
    rng = np.random.default_rng(_PUBLIC_SEED)
    if name == "synthesizer_attention":
        return _examine_synthesizer(function)
    if name == PROJECTIONS:
        sets = [draw_directions(rng) for _ in range(projections.SETS)]
        results = call_on_sets(function, [list(u) for u in sets], 3)
        return judge_projections(sets, read_numbers(results))[1]
    worlds = draw_worlds(rng)
    arguments = [TASKS[name].make_arguments(world) for world in worlds]
    results = call_on_sets(function, arguments, TASKS[name].heads)
    return judge_queries(name, worlds, read_numbers(results), rng)


def draw_worlds(rng: np.random.Generator) -> list[World]:
    """Draw the sets of means that one answer is judged on.

    Each number of keys from 4 to 12 comes up once, in any order, and the tenth set is of any size.
    Many keys are harder than few: were all sizes left to chance, a right answer could be unlucky.
    The tenth has the tokens and dimensions of the other set of its size, and keys of its own.
    """
    sizes = [*range(noisy_keys.LEAST_KEYS, noisy_keys.MOST_KEYS + 1)]
    sizes += rng.choice(sizes, SETS - len(sizes)).tolist()
    worlds: dict[int, World] = {}
    drawn = []
    for n in rng.permutation(sizes).tolist():
        world = noisy_keys.draw_world(rng, n)
        twin = worlds.setdefault(n, world)
        if twin is not world:
            means = noisy_keys.draw_orthonormal(rng, *twin.means.shape)
            world = World(means, twin.a, twin.b)
        drawn.append(world)
    return drawn


def read_numbers(results: dict) -> dict:
    """Turn what came back into arrays; what is not numbers becomes the words about it."""
    read = {}
    for key, value in results.items():
        try:
            read[key] = value if isinstance(value, Problem) else as_array(value)
        except ValueError as problem:
            read[key] = str(problem)
    return read


# ------------------------------------------------------------------------------- many draws


def count_right(
    task: Task, worlds: Sequence[World], queries: Sequence[np.ndarray], rng, draws: int = DRAWS
) -> int:
    """Return in how many draws, over all worlds, the output is right."""
    return sum(
        int(try_queries(task, world, q, rng, draws)[0].sum())
        for world, q in zip(worlds, queries, strict=True)
    )


def try_queries(task: Task, world: World, queries: np.ndarray, rng, draws: int = DRAWS):
    """Run attention on many draws: which are right, (draws,), and the weights (heads, draws, n)."""
    values = noisy_keys.draw_values(rng, world, draws)
    if task.noisy:
        gains = noisy_keys.draw_gains(rng, draws) if task.unsteady else None
        keys = noisy_keys.draw_keys(rng, world, draws, gains)
    else:
        keys = np.broadcast_to(world.means, values.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        weights = noisy_keys.find_weights(queries, keys)
        outputs = noisy_keys.mix_values(weights, values)
    return noisy_keys.is_right(outputs, task.find_targets(world, values)), weights


def is_enough(right: int, draws: int) -> bool:
    """Are so many right draws full credit? 950 of 1,000 are."""
    return right >= math.ceil(NEEDED_SHARE * draws - 1e-9)


# ---------------------------------------------------------------------------------- queries


def judge_queries(name: str, worlds: Sequence[World], results: dict, rng) -> Finding:
    """Judge what a function returned for these worlds, here or in a kernel that is graded."""
    task = TASKS[name]
    problem = find_problem(results, len(worlds), _describe_count(task))
    if problem is not None and problem.diagnosis != "raised":
        return problem
    queries: dict[int, np.ndarray] = {}
    for index, world in enumerate(worlds):
        if f"{index}.problem" in results:
            continue
        rows = [results.get(f"{index}.out.{head}") for head in range(task.heads)]
        wrong = next((f for f in map(partial(_judge_shape, world), rows) if f), None)
        if wrong:
            return wrong
        queries[index] = np.stack([row.reshape(-1) for row in rows])
    if problem is not None:  # some sets raised: the others may say what was meant
        return _suspect_index(task, worlds, queries, rng) or problem
    again = find_unsteady_answer(results, len(worlds), task.heads)
    if again:
        return again
    trials = [try_queries(task, world, queries[i], rng) for i, world in enumerate(worlds)]
    right, draws = sum(int(trial[0].sum()) for trial in trials), sum(len(t[0]) for t in trials)
    seen = f"right in {right:,} of {draws:,} draws"
    if not is_enough(right, draws):
        if _remembers(task, worlds, queries, trials):
            return Finding(False, WORDS["remembers-tokens"], "remembers-tokens")
        slug, words = _suspect_mistake(task, worlds, list(queries.values()), trials, rng)
        facts = (f"{math.ceil(NEEDED_SHARE * draws):,} right draws are full credit.",)
        return Finding(
            False, f"{seen}: {words}", slug, (*_describe_first(worlds, trials, task.tokens), *facts)
        )
    changed = find_changed_inputs(results, [task.make_arguments(world) for world in worlds])
    return changed or Finding(True, f"{seen[0].upper()}{seen[1:]}.")


def _remembers(task: Task, worlds, queries, trials) -> bool:
    """Did other keys get the query of the keys before, because the same tokens were asked for?"""
    wrong = [index for index, trial in enumerate(trials) if not is_enough(trial[0].sum(), DRAWS)]
    if len(wrong) != 1:
        return False
    (late,) = wrong
    return any(
        worlds[early].means.shape == worlds[late].means.shape
        and np.array_equal(queries[early], queries[late])
        for early in range(late)
    )


def _describe_count(task: Task) -> str:
    return "two queries, (q1, q2)" if task.heads == 2 else "one query"


def _judge_shape(world: World, row) -> Finding | None:
    d = world.means.shape[1]
    if row is None or isinstance(row, str):
        words = f"a query should be numbers, as list, array or tensor: {row or 'there is none'}."
        return Finding(False, words, "not-numbers")
    if row.shape not in ((d,), (1, d)):
        words = (
            f"for keys of shape {describe_shape(world.means)} a query came back with shape "
            f"{describe_shape(row)}; it should have shape ({d},): as many numbers as one key has."
        )
        return Finding(False, words, "wrong-shape")
    if not np.isfinite(row).all():
        words = "a query holds NaN or infinity. Use ordinary numbers, large ones if need be."
        return Finding(False, words, "not-finite")
    return None


def _describe_first(worlds, trials, tokens: int) -> tuple[str, ...]:
    """Say where the weights of the first set went, on average over its draws."""
    world, weights = worlds[0], trials[0][1].mean(axis=1)  # (heads, n)
    lines = []
    for head, row in enumerate(weights):
        top = sorted(range(len(row)), key=lambda i: -row[i])[:3]
        shares = ", ".join(f"{row[i]:.2f} on {_name_token(world, i, tokens)}" for i in top)
        who = f"head {head + 1}" if len(weights) > 1 else "the query"
        lines.append(f"First set, mean weights of {who}: {shares}.")
    return tuple(lines)


def _name_token(world: World, index: int, tokens: int) -> str:
    names = {world.a: "j"} if tokens == 1 else {world.a: "a", world.b: "b"}
    return names.get(index, "another") + f" (row {index})"


# -------------------------------------------------------------------------- naming mistakes


def _suspect_mistake(task, worlds, queries, trials, rng) -> tuple[str, str]:
    """Return the slug and the words of the mistake that the evidence points to."""
    weights = [trial[1].mean(axis=1) for trial in trials]  # per set: (heads, n)
    if not all(np.isfinite(table).all() for table in weights):
        return "overflow", "the numbers are so large that the scores overflow."
    turned = [-q for q in queries]
    if is_enough(count_right(task, worlds, turned, rng), SETS * DRAWS):
        return "opposite-sign", WORDS["opposite-sign"]
    slug = _suspect_length(task, worlds, queries, rng)
    if slug:
        pick = (
            np.min if slug == "scale-too-small" else np.max
        )  # of two heads, the one that is meant
        lengths = [pick(np.linalg.norm(q, axis=1)) for q in queries]
        return slug, WORDS[slug].format(length=f"{np.median(lengths):.3g}")
    if all(float(np.ptp(table)) < 0.05 for table in weights):
        return "averages-all", WORDS["averages-all"]
    finding = _suspect_index(task, worlds, dict(enumerate(queries)), rng)
    if finding:
        return finding.diagnosis, finding.sentence
    name = _suspect_heads if task.heads == 2 else _suspect_one_head
    slug = name(task, worlds, queries, weights)
    return slug, WORDS[slug]


def _suspect_length(task, worlds, queries, rng) -> str | None:
    """Would the same directions be right if they were longer, or shorter?"""
    if not _ranks_rightly(task, worlds, queries):
        return None  # any success would be an accident: the direction is wrong
    for factor in _FACTORS:
        right = {}  # at the same distance both ways: the better one, where luck lets both be enough
        for slug, scale in (("scale-too-small", factor), ("scale-too-large", 1 / factor)):
            scaled = [scale * q for q in queries]
            right[slug] = count_right(task, worlds, scaled, rng, _FEW)
        best = max(right, key=lambda slug: right[slug])
        if is_enough(right[best], len(worlds) * _FEW):
            uneven = best == "scale-too-large" and _score_unequally(task, worlds, queries)
            return None if uneven else best
    return None


def _score_unequally(task: Task, worlds, queries) -> bool:
    """Does a single head prefer one of the two wanted keys, apart from any noise?"""
    if task.heads == 2 or task.tokens == 1:
        return False
    pairs = [_score_wanted(world, q[0]) for world, q in zip(worlds, queries, strict=True)]
    return any(np.ptp(pair) > 1e-4 * np.abs(pair).max() for pair in pairs)


def _ranks_rightly(task: Task, worlds, queries) -> bool:
    """Does every head score one of the wanted keys above all others?"""
    for world, table in zip(worlds, queries, strict=True):
        best = (table @ world.means.T).argmax(axis=1)
        if not set(best.tolist()) <= _shift_wanted(task, world, 0):
            return False
    return True


def _suspect_index(task: Task, worlds, queries: dict, rng) -> Finding | None:
    """Do the weights go to other tokens, always the same ones or always the neighbours?"""
    looked = [
        (worlds[i], _find_favoured(try_queries(task, worlds[i], table, rng, _FEW)[1]))
        for i, table in queries.items()
    ]
    if not looked or any(not tokens for _, tokens in looked):
        return None
    for shift in (1, -1):
        if all(tokens == _shift_wanted(task, world, shift) for world, tokens in looked):
            return Finding(False, WORDS["off-by-one"], "off-by-one")
    first = looked[0][1]
    if len(looked) >= _SEVERAL and all(tokens == first for _, tokens in looked):
        names = " and ".join(str(token) for token in sorted(first))
        return Finding(False, WORDS["fixed-index"].format(rows=names), "fixed-index")
    return None


def _shift_wanted(task: Task, world: World, shift: int) -> set[int]:
    return {(token + shift) % len(world.means) for token in (world.a, world.b)[: task.tokens]}


def _find_favoured(weights: np.ndarray) -> set[int]:
    """Return the tokens that get most of the weight, over heads and draws."""
    mean = weights.mean(axis=(0, 1))
    favoured = {int(i) for i in np.flatnonzero(mean > 0.15)}
    return favoured if mean[list(favoured)].sum() > 0.6 else set()


def _suspect_one_head(task, worlds, queries, weights) -> str:
    if task.tokens == 1:
        shares = [table[0][w.a] for w, table in zip(worlds, weights, strict=True)]
        return "wrong-key" if np.mean(shares) < 0.5 else "wrong-weights"
    scores = [_score_wanted(world, q[0]) for world, q in zip(worlds, queries, strict=True)]
    if all(_are_opposed(pair) for pair in scores):
        return "difference"
    pairs = [table[0][[w.a, w.b]] for w, table in zip(worlds, weights, strict=True)]
    if all(pair.max() > 0.9 for pair in pairs):
        return "selects-one"
    if all(pair.sum() > 0.9 for pair in pairs):
        return "unequal-weights"
    return "wrong-weights"


def _suspect_heads(task, worlds, queries, weights) -> str:
    if all(np.allclose(q[0], q[1], rtol=1e-6) for q in queries):
        return "one-query-twice"
    kinds = {
        tuple(sorted(_name_head(world, row) for row in table))
        for world, table in zip(worlds, queries, strict=True)
    }
    named = {
        (("difference", "sum"),): "sum-and-difference",
        (("sum", "sum"),): "both-heads-mixed",
        (("one", "sum"),): "one-head-mixed",
        (("flat", "one"),): "one-head-flat",
    }.get(tuple(kinds))
    same = all(len(set(table.argmax(axis=1).tolist())) == 1 for table in weights)
    return named or ("same-key-twice" if same else "wrong-weights")


def _name_head(world: World, q: np.ndarray) -> str:
    pair = _score_wanted(world, q)
    if np.ptp(q @ world.means.T) < 1e-6:
        return "flat"
    if pair.max() <= 1e-9 or pair.max() < (q @ world.means.T).max() - 1e-9:
        return "other"
    if _are_opposed(pair):
        return "difference"
    return "sum" if pair.min() > 0.2 * pair.max() else "one"


def _score_wanted(world: World, q: np.ndarray) -> np.ndarray:
    return world.means[[world.a, world.b]] @ q


def _are_opposed(pair: np.ndarray) -> bool:
    """Is one score about the negative of the other?"""
    return bool(pair.max() > 0 and pair.min() < -0.5 * pair.max())


# ------------------------------------------------------------------------------ synthesizer


def _examine_synthesizer(function) -> Finding:
    probes = load_answers("noise_and_heads")["synthesizer_attention"]
    results = run_cases({"synthesizer_attention": function}, probes["cases"], probes["inputs"])
    numbers = {
        key: value if isinstance(value, str) else value.detach().cpu().numpy()
        for key, value in results.items()
    }
    return judge_synthesizer(
        probes["cases"], numbers, probes["right"], lambda: probes["mistakes"], Tolerance()
    )


def judge_synthesizer(
    cases: Sequence[dict], results: dict, right: dict, mistakes: Mistakes, tolerance: Tolerance
) -> Finding:
    """Judge what the learner's synthesizer returned, here or in a kernel that is graded."""
    faults = find_faults(cases, results, right, tolerance)
    longer = {c["name"] for c in cases if c.get("longer_block") and not c.get("device")}
    raised = {f.case["name"] for f in faults if f.kind == "raised" and not f.case.get("device")}
    if longer and raised == longer and all(f.kind == "raised" for f in faults):
        facts = (end_sentence(f"Seen with {faults[0].case['words']}: {faults[0].words}"),)
        return Finding(False, WORDS["block-not-cut"], "block-not-cut", facts)
    if faults:
        return explain(faults, cases, results, mistakes, WORDS)
    return Finding(True, f"{len(cases)} different inputs gave the right numbers.")
