"""Judges in processes of their own: nobody holds them up, and no other submission notices."""

import json
import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from autograder import budgets
from autograder.blueprint import load_blueprint, load_blueprints
from autograder.course import load_assignment
from autograder.exercises import find_exercises
from autograder.grading import judges
from autograder.grading.judges import Question, judge_reply
from autograder.kernel import nursery, wire
from tests.conftest import ROOT

pytestmark = [
    pytest.mark.skipif(not nursery.is_possible(), reason="processes cannot be forked here"),
    pytest.mark.xdist_group("kernels"),
]
RIGHT = wire.dump({"q_average_all": [0.0, 0.0, 0.0]})
SMALL = {"kind": "array", "dtype": "int8", "shape": [1], "data": "AA=="}
FLOOD = json.dumps({f"x{number}": SMALL for number in range(170_000)})


@pytest.fixture
def question(blueprint):
    return Question("attention.query_crafting", "q_average_all", 2.0, "{}", blueprint.solutions)


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


def test_a_reply_is_judged_by_the_inputs_that_were_sent():
    """Drawn again by another process or processor, they may differ in the last digit."""
    blueprint = load_blueprint(load_assignment("attention_at_work", ROOT), "1_noise_and_heads")
    exercise = find_exercises(blueprint.exercises)["copy_query"]
    drawn = {k: np.nextafter(x, 9) if x.ndim else x for k, x in exercise.draw_inputs(5).items()}
    namespace = {"np": np}
    exec(blueprint.solutions["copy_query"], namespace)
    reply = str(wire.answer(exercise.program, namespace, wire.dump(drawn)))
    question = Question(
        blueprint.exercises, "copy_query", 1.0, wire.dump(drawn), blueprint.solutions
    )
    verdict = judge_reply(question, "ok", reply)
    assert verdict.score == 1.0, verdict.messages
    before = wire.dump(exercise.draw_inputs(5))
    again = Question(blueprint.exercises, "copy_query", 1.0, before, blueprint.solutions)
    reply = str(wire.answer(exercise.program, namespace, before))
    assert judge_reply(again, "ok", reply).messages == verdict.messages


@pytest.mark.parametrize("name", ["attention", "attention_at_work"])
def test_inputs_arrive_at_the_judge_as_they_were_drawn(name):
    exercises = {}
    for blueprint in load_blueprints(load_assignment(name, ROOT)).values():
        exercises |= find_exercises(blueprint.exercises)
    for exercise in exercises.values():
        drawn = exercise.draw_inputs(3)
        arrived = wire.load(wire.dump(drawn))
        assert arrived.keys() == drawn.keys(), exercise.name
        for key, value in drawn.items():
            assert np.array_equal(arrived[key], value, equal_nan=True), (exercise.name, key)


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


def test_judges_that_somebody_else_ends_cost_the_student_nothing(question, monkeypatch):
    kill = os.kill
    judge_reply(question, "ok", RIGHT)
    ended = []

    def end_first(stream, content, reply=b""):
        pid = _read_pid(helpers[-1]._process)
        children = Path(f"/proc/{pid}/task/{pid}/children")
        while not children.read_text():
            time.sleep(0.01)
        worker = int(children.read_text().split()[0])
        if len(ended) < how_many:
            ended.append(worker)
            kill(worker, signal.SIGKILL)
        send(stream, content, reply)

    send, helpers = judges._send, []
    lend = nursery.Nursery.lend
    monkeypatch.setattr(judges, "_send", end_first)
    monkeypatch.setattr(
        nursery.Nursery, "lend", lambda *a: helpers.append(lend(*a)) or helpers[-1]
    )
    for helper in judges._idle:
        helper.end()
    judges._idle.clear()
    how_many = 2
    assert judge_reply(question, "ok", RIGHT).score == 2.0 and len(ended) == 2
    for helper in judges._idle:
        helper.end()
    judges._idle.clear()
    how_many = 99
    with pytest.raises(RuntimeError, match="ended from outside"):
        judge_reply(question, "ok", RIGHT)


def test_a_judge_that_is_used_up_is_not_asked_again(question, monkeypatch):
    for helper in judges._idle:
        helper.end()
    judges._idle.clear()
    monkeypatch.setattr(budgets, "JUDGE_SECONDS", 0.05)
    assert judge_reply(question, "ok", FLOOD).diagnosis == "too-much-to-judge"
    assert not judges._idle


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
