"""Judges in processes of their own: nobody holds them up, and no other submission notices."""

import json
import os
import signal
import time

import pytest

from autograder import budgets
from autograder.grading import judges
from autograder.grading.judges import Question, judge_reply
from autograder.kernel import nursery, wire

pytestmark = [
    pytest.mark.skipif(not nursery.is_possible(), reason="processes cannot be forked here"),
    pytest.mark.xdist_group("kernels"),
]
RIGHT = wire.dump({"q_average_all": [0.0, 0.0, 0.0]})
SMALL = {"kind": "array", "dtype": "int8", "shape": [1], "data": "AA=="}
FLOOD = json.dumps({f"x{number}": SMALL for number in range(170_000)})


@pytest.fixture
def question(blueprint):
    return Question("attention.query_crafting", "q_average_all", 2.0, 1, blueprint.solutions)


def find_judges():
    """Return the process ids of judges that wait for work."""
    return [_read_pid(helper._process) for helper in judges._idle]


def _read_pid(pidfd):
    with open(f"/proc/self/fdinfo/{pidfd}") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Pid:"))


def test_a_reply_is_judged_elsewhere_and_the_judge_is_used_again(question):
    assert judge_reply(question, "ok", RIGHT) == question.decide("ok", RIGHT)
    before = find_judges()
    assert before and os.getpid() not in before
    assert judge_reply(question, "ok", "{}").status == "missing"
    assert find_judges() == before


def test_a_reply_that_takes_too_long_costs_only_itself(question, monkeypatch):
    judge_reply(question, "ok", RIGHT)
    assert len(FLOOD) < wire.LIMIT
    monkeypatch.setattr(budgets, "JUDGE_SECONDS", 0.1)
    verdict = judge_reply(question, "ok", FLOOD)
    assert (verdict.score, verdict.diagnosis) == (0.0, "too-much-to-judge")
    monkeypatch.undo()
    assert judge_reply(question, "ok", RIGHT).score == 2.0


def test_the_largest_reply_is_judged_well_within_the_time(question):
    started = time.process_time()
    assert judge_reply(question, "ok", FLOOD).score == 0.0
    assert time.process_time() - started < 0.5, "it is not this process that reads it"


def test_a_judge_that_died_is_replaced_and_asked_again(question):
    judge_reply(question, "ok", RIGHT)
    for pid in find_judges():
        os.kill(pid, signal.SIGKILL)
    assert judge_reply(question, "ok", RIGHT).score == 2.0


def test_judges_end_with_the_warm_process(question):
    judge_reply(question, "ok", RIGHT)
    (pid, *_) = find_judges()
    nursery.close_nursery()
    for _ in range(50):
        if not os.path.exists(f"/proc/{pid}"):
            break
        time.sleep(0.1)
    else:
        pytest.fail("a judge outlived the warm process")
    assert judge_reply(question, "ok", RIGHT).score == 2.0


def test_a_mistake_of_the_judges_own_is_said(question):
    from dataclasses import replace

    with pytest.raises(RuntimeError, match="judging failed: KeyError"):
        judge_reply(replace(question, exercise="nothing"), "ok", RIGHT)
