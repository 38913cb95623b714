"""`python -m autograder demo`: the whole flow, and a table at the end."""

import subprocess

import pytest

from autograder.demo import personas
from tests.conftest import ROOT, run_autograder

# Who shows what in the table of each assignment, beside their names.
SHOWN = {
    "ada": (["{total} / {total}"], []),
    "dmitri": (["opposite sign"], []),
    "emre": ([], ["scale too large"]),
    "fatima": (["query too short"], ["sum and difference"]),
    "goran": (["zero grad forgotten"], ["value not wanted", "mask forgotten"]),
    "hana": (["0 / {total}", "6 of 6 still open"], []),
    "lena": (["not handed in"], []),
}


@pytest.mark.landing
def test_the_demo_plays_a_class_through_and_leaves_no_trace(blueprint, assignment):
    before = subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True).stdout
    done = run_autograder("demo", COLUMNS="110")
    assert done.returncode == 0, done.stdout + done.stderr
    people = [persona.name for persona in personas.make_class([blueprint])]
    assert set(SHOWN) <= set(people)
    table = done.stdout[done.stdout.index("The class") :]
    split = table.index("Attention at work")
    total = sum(plan.auto for plan in assignment.notebooks)
    for name in people:
        for part, words in zip(
            (table[:split], table[split:]), SHOWN.get(name, ([], [])), strict=True
        ):
            assert name in part
            for word in words:
                assert word.format(total=total) in part, (name, word)
    for step in ("1/5", "2/5", "3/5", "4/5", "5/5"):
        assert step in done.stdout
    assert "grading/demo/feedback/" in done.stdout
    assert (ROOT / "grading/demo/feedback/ada/attention/1_query_crafting.html").is_file()
    assert (ROOT / "grading/demo/report.html").is_file()
    assert (ROOT / "grading/demo/report-attention_at_work.html").is_file()
    after = subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True).stdout
    assert after == before
