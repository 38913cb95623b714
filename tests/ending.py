"""A run of the tests ends: what kills a worker is named at once, and the whole has a time limit.

Left to itself, pytest-xdist starts a new worker for one that died, but with groups of tests gives it
nothing to do, and waits for ever. Here the run ends, with a failure that names the test; and it ends
when it has taken longer than `--run-limit` minutes, naming what was under way.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading

import pytest


class Ending:
    """Watches over one run, in the process that a person started."""

    def __init__(self, config: pytest.Config):
        self.config = config
        self.under_way: dict[str, None] = {}
        self.timer: threading.Timer | None = None
        self.death: pytest.TestReport | None = None

    def pytest_sessionstart(self, session) -> None:
        minutes = self.config.getoption("--run-limit")
        if minutes:
            self.timer = threading.Timer(60 * minutes, self.give_up, [minutes])
            self.timer.daemon = True
            self.timer.start()

    def pytest_sessionfinish(self, session) -> None:
        if self.timer:
            self.timer.cancel()

    def pytest_runtest_logstart(self, nodeid, location) -> None:
        self.under_way[nodeid] = None

    def pytest_runtest_logfinish(self, nodeid, location) -> None:
        self.under_way.pop(nodeid, None)

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem, report, sched) -> None:
        self.say(f"a test process died in {crashitem}")
        self.death = report

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report) -> None:
        """Stop once the death is counted; other workers would first finish all they were given."""
        if report is self.death:
            raise pytest.Session.Interrupted("a test process died")

    def give_up(self, minutes: float) -> None:
        """End everything from another thread: whatever hangs would not listen."""
        tests = ", ".join(self.under_way) or "no test"
        self.say(f"the run took longer than {minutes:g} minutes; under way: {tests}")
        session = self.config.pluginmanager.get_plugin("dsession")
        for gateway in session.nodemanager.group if session else ():
            gateway._io.kill()
        os._exit(1)

    def say(self, sentence: str) -> None:
        capture = self.config.pluginmanager.get_plugin("capturemanager")
        if capture:
            with contextlib.suppress(Exception):
                capture.suspend_global_capture(in_=False)
        print(f"\nENDED: {sentence}", file=sys.stderr, flush=True)


def add_option(parser: pytest.Parser) -> None:
    parser.addoption(
        "--run-limit", type=float, default=0, metavar="MINUTES", help="end the whole run after this"
    )


def watch(config: pytest.Config) -> None:
    """Watch over a run, unless this is one of its workers."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Ending(config), "ending")
