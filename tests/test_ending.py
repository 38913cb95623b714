"""The test command ends, and says why: tried with small suites that die or hang on purpose."""

import os
import re
import subprocess
import sys
import time

import pytest

from tests.conftest import ROOT, pytest_collection_modifyitems

CONFTEST = """
from tests import ending
def pytest_addoption(parser): ending.add_option(parser)
def pytest_configure(config): ending.watch(config)
"""
DIES = """
import os, signal, time, pytest

@pytest.mark.parametrize("n", range(6))
@pytest.mark.xdist_group("dying")
def test_dying(n):
    if n == 2:
        os.kill(os.getpid(), signal.SIGILL)

@pytest.mark.parametrize("n", range(60))
@pytest.mark.xdist_group("living")
def test_living(n):
    time.sleep(5)
"""
HANGS = "import time\ndef test_hanging():\n    time.sleep(600)\ndef test_quick():\n    pass\n"


def run_suite(folder, text, *options):
    """Run a small suite as `make test` runs this one; return its status, its words and seconds."""
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_small.py").write_text(text)
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, str(folder)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONFAULTHANDLER": ""},
        capture_output=True,
        text=True,
        timeout=400,
    )
    return done.returncode, done.stdout + done.stderr, time.monotonic() - began


def test_a_worker_that_dies_ends_the_run_and_its_test_is_named(tmp_path):
    """As on a processor that announces an instruction and then does not let it run."""
    status, words, seconds = run_suite(tmp_path, DIES, "-n", "2", "--dist", "loadgroup")
    assert status != 0
    assert re.search(r"ENDED: a test process died in \S*::test_dying\[2\]", words)
    assert re.search(r"FAILED \S*::test_dying\[2\]", words)
    assert "test_dying[1]" not in words and "test_living" not in words
    assert seconds < 240, "the other worker's 300 seconds were waited for"


@pytest.mark.parametrize("workers", [0, 2])
def test_a_run_that_hangs_ends_by_its_own_limit(tmp_path, workers):
    for minutes in (0.1, 0.3, 2):  # a busy machine takes longer to begin
        options = ("-n", workers, "--dist", "loadgroup", "--run-limit", minutes)
        status, words, _ = run_suite(tmp_path, HANGS, *map(str, options))
        assert status == 1
        if "under way: no test" not in words:
            break
    assert re.search(rf"longer than {minutes} minutes; under way: \S*::test_hanging", words)
    assert "test_quick" not in words


def test_without_workers_nothing_of_xdist_is_needed(tmp_path):
    status, words, _ = run_suite(tmp_path, "def test_quick(): pass\n", "-p", "no:xdist")
    assert status == 0 and "1 passed" in words


def test_what_is_marked_long_comes_first_and_the_rest_stays_in_order():
    class Item(str):
        def get_closest_marker(self, name):
            return name if self.startswith(name) else None

    items = [Item(name) for name in ("b", "long 2", "a", "long 1", "c")]
    pytest_collection_modifyitems(items)
    assert items == ["long 2", "long 1", "b", "a", "c"]
