"""Other processors and systems: numbers by machine, fewer walls where some cannot be built."""

import json
import os
import platform
import subprocess
import sys

import pytest

from autograder.kernel import walls
from tests.conftest import FULL, ROOT
from tests.elsewhere import run_elsewhere


@pytest.mark.parametrize(
    "machine, number", [("x86_64", 155), ("aarch64", 41), ("arm64", 41), ("riscv64", 41)]
)
def test_pivot_root_has_the_number_of_the_machine(monkeypatch, machine, number):
    monkeypatch.setattr(platform, "machine", lambda: machine)
    assert walls._find_pivot_root() == number


def test_on_an_unknown_machine_nothing_is_called_by_a_guessed_number(monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "abacus")
    with pytest.raises(OSError, match="pivot_root on abacus"):
        walls._find_pivot_root()


PROGRAM = """
import json, platform, sys
from autograder.kernel import nursery, walls
{damage}
print(json.dumps(walls.choose_namespaces()))
"""
DAMAGE = {
    "an unknown machine": 'platform.machine = lambda: "abacus"',
    "mounts are refused": """
def refuse(*arguments):
    raise PermissionError(1, "mount: Operation not permitted")
walls._mount = refuse
""",
    "namespaces are refused": """
def refuse(flags):
    raise PermissionError(1, "unshare: Operation not permitted")
walls.unshare = refuse
""",
}


@pytest.mark.skipif(os.geteuid() != 0, reason="all walls are sure to stand for root only")
@pytest.mark.parametrize("what", DAMAGE)
def test_a_wall_that_cannot_be_built_costs_one_level_and_is_said(what):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(damage=DAMAGE[what])],
        cwd=ROOT, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    flags, in_the_way = json.loads(done.stdout)
    if what == "namespaces are refused":
        assert flags == 0 and "unshare" in in_the_way
    else:
        assert flags & walls.NEWNET and not flags & walls.NEWNS
        assert ("abacus" if what == "an unknown machine" else "mount") in in_the_way


@pytest.mark.skipif(os.geteuid() != 0, reason="all walls are sure to stand for root only")
def test_a_kernel_starts_on_an_unknown_machine(tmp_path):
    """With the number of another machine no kernel would start; one level down it does."""
    (tmp_path / "sitecustomize.py").write_text(
        'import platform\nplatform.machine = lambda: "abacus"\n', "utf-8"
    )
    program = (
        "from autograder.kernel.isolation import measure_isolation\n"
        "from autograder.kernel.session import KernelSession\n"
        "with KernelSession() as kernel:\n"
        "    print(kernel.run('1 + 1', 60).outputs[-1].data['text/plain'])\n"
        "print(measure_isolation().sentence)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    answer, sentence = done.stdout.splitlines()
    assert answer == "2"
    assert not sentence.startswith("walls") and "abacus" in sentence


# ------------------------------------------------------------------------- Windows and macOS


def test_without_fork_instructors_get_a_process_and_a_plain_sentence(tmp_path):
    notebook = "source/attention/1_query_crafting.ipynb"
    done = run_elsewhere(tmp_path, "-m", "autograder", "grade", "--json", notebook)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["score"] == result["max_score"] == FULL
    assert result["isolation"].startswith(
        "process: the student's code runs in a process of its own"
    )
    assert "read and write your files" in result["isolation"]


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_walls_are_imported_where_they_cannot_be_built(system):
    """Neither the C library by its Linux name nor `resource` is asked for at import."""
    program = (
        "import sys, tempfile, jupyter_client.provisioning, autograder.course\n"
        f"sys.platform = {system!r}; sys.modules['resource'] = None\n"
        "from autograder.kernel import isolation, nursery, walls\n"
        "assert walls._libc is None and not nursery.is_possible()\n"
        "print(isolation.measure_isolation().sentence)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert {"darwin": "macOS", "win32": "Windows"}[system] in done.stdout
