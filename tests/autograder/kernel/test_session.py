"""The kernel session: faults cost only what they touch."""

import pytest

from autograder.kernel import wire
from autograder.kernel.session import KernelSession, _is_reply, make_environment

pytestmark = pytest.mark.xdist_group("session")  # its fixtures take a while

PROGRAM = "def probe(namespace, inputs):\n    return {'x': namespace.get('x', Missing), **inputs}"


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    with KernelSession(tmp_path_factory.mktemp("work")) as session:
        yield session


def test_cells_run_and_their_outputs_come_back(kernel):
    run = kernel.run("import sys\nx = 3\nprint('out')\nprint('err', file=sys.stderr)\nx", 30)
    assert run.status == "ok"
    assert [output.output_type for output in run.outputs] == ["stream", "stream", "execute_result"]


def test_an_error_is_an_error_and_the_kernel_lives(kernel):
    run = kernel.run("1 / 0", 30)
    assert run.status == "error" and run.outputs[-1].ename == "ZeroDivisionError"
    assert kernel.run("y = 1", 30).status == "ok"


def test_the_judge_gets_arrays_and_leaves_no_trace(kernel):
    kernel.run("x = [1.0, 2.0]\nbefore = set(globals())", 30)
    status, reply = kernel.ask(PROGRAM, wire.dump({"given": [5]}), 30)
    values = wire.load(reply)
    assert status == "ok" and values["x"].tolist() == [1, 2] and values["given"].tolist() == [5]
    run = kernel.run("[name for name in set(globals()) - before if 'judge' in name]", 30)
    assert run.outputs[0].data["text/plain"] == "[]"


def test_a_probe_that_fails_gives_nothing(kernel):
    assert kernel.ask("def probe(n, i):\n    raise SystemError", "{}", 30) == ("ok", "")
    assert kernel.ask("not python", "{}", 30) == ("ok", "")


def test_a_cell_that_hangs_is_stopped_and_the_rest_goes_on(kernel):
    kernel.run("kept = 7", 30)
    assert kernel.run("half = 1\nwhile True: pass", 1).status == "timeout"
    shown = kernel.run("kept, half", 30).outputs[0].data["text/plain"]
    assert shown == "(7, 1)", "it is interrupted; the kernel is the same"


def test_a_cell_that_ignores_the_interrupt_gets_a_new_kernel(kernel, monkeypatch):
    monkeypatch.setattr("autograder.kernel.session._PATIENCE", 1)
    kernel.run("kept = 8", 30)
    stubborn = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass"
    assert kernel.run(stubborn, 1).status == "timeout"
    assert kernel.run("kept", 30).outputs[0].data["text/plain"] == "8"


def test_a_cell_that_eats_all_memory_costs_only_itself(kernel):
    kernel.run("kept = 10", 30)
    greedy = "eaten = []\nwhile True: eaten.append(bytearray(2**28))"
    assert kernel.run(greedy, 60).status == "out of memory"
    assert kernel.run("kept, 'eaten' in globals()", 30).outputs[0].data["text/plain"] == (
        "(10, False)"
    )


def test_a_cell_that_asks_too_much_at_once_keeps_what_it_defined(kernel):
    code = "import torch\ndef f():\n    return 11\ntorch.empty(2**40)"
    assert kernel.run(code, 60).status == "out of memory"
    assert kernel.run("f()", 30).outputs[0].data["text/plain"] == "11"


def test_a_cell_that_kills_the_kernel_costs_only_itself(kernel):
    kernel.run("kept = 9", 30)
    kernel.run("half = 5\n1 / 0", 30)
    assert kernel.run("import os; os._exit(1)", 30).status == "crashed"
    shown = kernel.run("kept, half", 30).outputs[0].data["text/plain"]
    assert shown == "(9, 5)", "what a cell did before it failed is there again, too"


def test_progress_bars_and_cleared_output(kernel):
    run = kernel.run(
        "from IPython.display import clear_output\nprint(1)\nclear_output()\nprint(2)", 30
    )
    assert [output.text for output in run.outputs] == ["2\n"]


def test_the_environment_is_clean(monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "x")
    monkeypatch.setenv("PYTHONSTARTUP", "/tmp/evil.py")
    environment = make_environment()
    assert "SECRET_TOKEN" not in environment and "PYTHONSTARTUP" not in environment
    assert environment["HF_HUB_OFFLINE"] == "1"
    assert environment["NBGRADER_EXECUTION"] == "autograde"


def test_the_wire_travels_as_text():
    """The kernel gets this module's source: it must not import anything of the course."""
    import inspect

    assert "autograder" not in inspect.getsource(wire).split('"""', 2)[2]
    assert "course_utils" not in inspect.getsource(wire).split('"""', 2)[2]


def test_what_another_cell_says_is_not_this_ones():
    message = {"parent_header": {"msg_id": "mine"}, "content": {}}
    assert _is_reply(message, "mine") and not _is_reply(message, "another")
    for odd in ({}, {"parent_header": None, "content": {}}, message | {"content": "text"}):
        assert not _is_reply(odd, "mine")
