"""A verdict hangs on the work alone: not on the machine's load, nor on who started the warm process."""

import contextlib
import os
import signal
import threading
import time

import psutil
import pytest

from autograder.demo.personas import fill_in, solve_all
from autograder.grading import judges
from autograder.grading.grade import grade_notebook
from autograder.intake.restore import restore
from autograder.kernel import nursery
from autograder.kernel.session import KernelSession

pytestmark = [
    pytest.mark.skipif(not nursery.is_possible(), reason="kernels cannot be forked here"),
    pytest.mark.xdist_group("kernels"),
]


def _grade(blueprint):
    codes = solve_all(blueprint) | {
        "q_select_first": "raise ValueError('mine')",
        "q_average_all": "q_average_all = torch.ones(3)",
    }
    return grade_notebook(restore(fill_in(blueprint, codes), blueprint), blueprint, None).cells


@contextlib.contextmanager
def _slowed():
    """Let kernels and judges run for a twentieth of the time only."""
    over = threading.Event()

    def slow():
        while not over.is_set():
            with contextlib.suppress(psutil.Error, OSError):
                for process in psutil.Process(nursery.share_nursery().pid).children(recursive=True):
                    process.suspend()
                    threading.Timer(0.1, lambda p=process: p.is_running() and p.resume()).start()
            over.wait(0.105)

    thread = threading.Thread(target=slow)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        time.sleep(0.15)


def test_a_slow_kernel_and_a_slow_judge_give_the_same_verdicts(blueprint):
    wanted = _grade(blueprint)
    assert wanted["test_q_select_first"]["diagnosis"] == "cell-raised"
    with _slowed():
        assert _grade(blueprint) == wanted


def test_the_warm_process_outlives_the_thread_that_first_asked_for_it():
    nursery.close_nursery()
    pids = []
    thread = threading.Thread(target=lambda: pids.append(nursery.share_nursery().pid))
    thread.start()
    thread.join()
    time.sleep(0.3)
    assert psutil.Process(pids[0]).status() != psutil.STATUS_ZOMBIE
    assert nursery.share_nursery().pid == pids[0]


@pytest.mark.parametrize("moment", ["in a cell", "in a question"])
def test_what_ends_the_warm_process_is_not_laid_at_the_students_door(moment):
    program = "def probe(namespace, inputs):\n    import time\n    time.sleep(0.8)\n    return {'x': namespace['x']}"
    with KernelSession() as kernel:
        kernel.run("x = 5", 30)
        threading.Timer(0.3, os.kill, (nursery.share_nursery().pid, signal.SIGKILL)).start()
        if moment == "in a cell":
            assert kernel.run("import time\ntime.sleep(0.8)\nx", 30).outputs[0].data[
                "text/plain"
            ] == "5"
        else:
            status, reply = kernel.ask(program, "{}", 30)
            assert status == "ok" and "array" in reply
        judges._idle.clear()
