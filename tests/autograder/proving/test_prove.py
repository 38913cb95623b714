"""The judge proves itself: mutants are really different, rewrites really the same, counts are right."""

import ast
import json

import numpy as np
import pytest

from autograder.blueprint import fill_in, load_blueprint
from autograder.course import load_assignment
from autograder.exercises import find_exercises
from autograder.grading.grade import grade_notebook
from autograder.intake.restore import restore
from autograder.kernel import wire
from autograder.proving.command import find_broken
from autograder.proving.equivalents import load_equivalents
from autograder.proving.mutants import choose, make_mutants
from autograder.proving.prove import Outcome, Prover, Tally, Work, _count, are_alike, list_works
from autograder.proving.rewrites import make_rewrites
from autograder.proving.stage import Stage

CODE = """
def mean_of(losses, sizes):
    total = 0.0
    for loss, size in zip(losses, sizes):
        total += loss * size
    return total / sum(sizes)
    raise NotImplementedError("TODO")
"""


def run(code: str):
    namespace: dict = {}
    exec(compile(code, "<mutant>", "exec"), namespace)
    return namespace["mean_of"]


def test_mutants_differ_from_their_base_and_from_each_other():
    mutants = make_mutants(CODE)
    texts = {ast.dump(ast.parse(mutant.code)) for mutant in mutants}
    assert len(texts) == len(mutants) > 20
    assert all(mutant.change and "TODO" not in mutant.code for mutant in mutants)
    kinds = {mutant.kind for mutant in mutants}
    assert {
        "statement dropped",
        "state kept",
        "set instead of added to",
        "operator changed",
    } <= kinds
    kept = next(run(m.code) for m in mutants if m.kind == "state kept")
    assert kept([1.0], [1]) == 1.0 and kept([1.0], [1]) == 2.0  # the second call sees the first


def test_rewrites_do_what_their_base_does():
    rewrites = make_rewrites(CODE)
    assert len(rewrites) > 8
    for rewrite in rewrites:
        assert run(rewrite.code)([1.0, 4.0], [3, 1]) == pytest.approx(1.75), rewrite.kind


def test_a_sample_keeps_all_kinds():
    mutants = make_mutants(CODE)
    kept = choose(mutants, 14)
    assert len(kept) == 14
    assert {mutant.kind for mutant in kept} == {mutant.kind for mutant in mutants}


def test_the_table_counts_what_happened():
    works = [Work("a", "n", "e", is_right, "kind", str(place)) for place, is_right in
             enumerate((False, False, False, True, True))]  # fmt: skip
    shares = ([0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.5])
    outcomes = {
        work.key: Outcome(work.key, share, ["x", None], named=True)
        for work, share in zip(works, shares, strict=True)
    }
    tally = _count("e", works, outcomes)
    found = (
        tally.mutants,
        tally.rejected,
        tally.survivors,
        tally.rewrites,
        tally.refused,
        tally.unstable,
    )
    assert found == (3, 1, 1, 2, 1, 2)
    assert len(find_broken(tally)) == 3  # too few rejected, one refused, two unstable
    assert not find_broken(Tally("e", mutants=100, rejected=99, named=90, rewrites=5))


def test_answers_that_the_contract_allows_are_no_mutants_and_have_to_be_accepted():
    kinds = (
        ("right", [1.0, 1.0]),
        ("right", [1.0, 0.0]),
        ("between", [1.0, 0.0]),
        ("wrong", [1.0, 1.0]),
    )
    works = [Work("a", "n", "e", False, "kind", str(place)) for place in range(len(kinds))]
    outcomes = {
        work.key: Outcome(work.key, shares, [None, None], contract=contract)
        for work, (contract, shares) in zip(works, kinds, strict=True)
    }
    tally = _count("e", works, outcomes)
    assert (tally.mutants, tally.survivors, tally.right, tally.refused, tally.between) == (
        1,
        1,
        2,
        1,
        1,
    )
    assert tally.unstable == 1  # the right one whose verdict changes; the one between may


def test_outputs_are_compared_and_manners_are_not():
    one = {"loss": np.array(1.0), "accuracy": np.array(0.5), "events": np.array([1, 2])}
    other = {"loss": np.array(1.0), "accuracy": np.array(0.7), "events": np.array([2, 1])}
    assert are_alike(one, one | {"events": np.array([3])}) and not are_alike(one, other)
    assert are_alike(one, other, "loss-summed") and not are_alike(one, other, "accuracy-in-percent")
    masks = {"bool-heads.out": np.ones(3), "float-heads.out": np.ones(3)}
    assert are_alike(
        masks, masks | {"float-heads.out": np.zeros(3)}
    )  # with one kind it is the same
    assert not are_alike(masks, {key: np.zeros(3) for key in masks})
    raised = {"a.out": "raised|ValueError: 3 is not 4 [line 2 of your cell]"}
    assert are_alike(raised, {"a.out": "raised|ValueError: 5 is not 6 [line 9 of your cell]"})


def test_equivalents_are_told_by_exercise_and_change():
    known = load_equivalents()
    assert known
    for (exercise, change), reason in known.items():
        assert exercise and change[:1] in "+-" and len(reason) > 10


def test_a_stage_judges_as_a_kernel_does():
    """A few mutants and rewrites, on a stage and through the real kernel: the same verdicts."""
    blueprint = load_blueprint(load_assignment("attention"), "2_attention_from_scratch")
    works = list(list_works(blueprint, "attn_scaled"))
    sample = [*works[:40:13], *(work for work in works if work.is_right)][:5]
    assert {work.is_right for work in sample} == {True, False}
    with Stage(blueprint) as stage:
        prover = Prover(blueprint, stage, seeds=2)
        outcomes = [prover.try_out(work) for work in sample]
        # Where a cell stops, the instructor's definition does not stand in for what is missing.
        is_there = "def probe(namespace, inputs):\n    return {'there': 'attn_scaled' in namespace}"
        ask = [(is_there, wire.dump({}))]
        stopped = stage.perform("attn_scaled = 1 / 0", ask)
        untouched = stage.perform("another = 1 / 0", ask)
    assert [values["there"] for _, values in stopped + untouched] == [False, True]
    for work, outcome in zip(sample, outcomes, strict=True):
        notebook = fill_in(blueprint, blueprint.solutions | {"attn_scaled": work.code})
        result = grade_notebook(restore(notebook, blueprint), blueprint, folder=None)
        cell = result.cells["test_attn_scaled"]
        assert (cell["score"] == cell["max_score"]) is outcome.is_accepted is work.is_right
        break  # one whole notebook is enough here; the long test grades them all


@pytest.mark.soak
def test_the_whole_proof(capsys):
    """All of it, as the command runs it; the page in docs/ says what does not hold yet."""
    from autograder.__main__ import main

    main(["prove", "--json"])
    *tallies, total = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert total["exercise"] == "total" and total["mutants"] >= 1500
    assert len(tallies) == sum(
        len(find_exercises(f"{name}.{plan.exercises}"))
        for name in ("attention", "attention_at_work")
        for plan in load_assignment(name).notebooks
    )
