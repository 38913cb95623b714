"""`python -m autograder demo`: the whole flow, and a table at the end."""

import subprocess

from autograder.demo.personas import make_class
from tests.conftest import ROOT, run_autograder


def test_the_demo_plays_a_class_through_and_leaves_no_trace(blueprint, assignment):
    before = subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True).stdout
    done = run_autograder("demo", COLUMNS="110")
    assert done.returncode == 0, done.stdout + done.stderr
    people = make_class([blueprint])
    assert len(people) >= 8
    table = done.stdout[done.stdout.index("The class") :]
    for persona in people:
        assert persona.name in table
    total = sum(plan.auto for plan in assignment.notebooks)
    for words in (f"{total} / {total}", f"0 / {total}", "opposite sign", "query too short", "zero grad forgotten",
                  "6 of 6 still open", "not handed in"):  # fmt: skip
        assert words in table, words
    second = table[table.index("Attention at work") :]
    for persona in people:
        assert persona.name in second
    for words in ("sum and difference", "scale too large", "value not wanted", "mask forgotten"):
        assert words in second, words
    for step in ("1/5", "2/5", "3/5", "4/5", "5/5"):
        assert step in done.stdout
    assert "grading/demo/feedback/" in done.stdout
    assert (ROOT / "grading/demo/feedback/ada/attention/1_query_crafting.html").is_file()
    assert (ROOT / "grading/demo/report.html").is_file()
    assert (ROOT / "grading/demo/report-attention_at_work.html").is_file()
    after = subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True).stdout
    assert after == before
