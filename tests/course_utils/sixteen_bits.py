"""Can this processor compute in 16 bits? Asked in a child process, which may die of it.

Some processors announce an instruction and do not let it run: the process is then ended by the
system ("Illegal instruction"), and with it everything else that it was doing.
"""

import os
import signal
import subprocess
import sys
from functools import cache

import pytest

_PROGRAM = """
import os, sys, torch
torch.set_num_threads(1)
if "COURSE_PRETEND_ILLEGAL" in os.environ:
    import signal
    os.kill(os.getpid(), signal.SIGILL)
layer = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.Linear(64, 2))
with torch.autocast("cpu", dtype=getattr(torch, sys.argv[1])):
    layer(torch.ones(8, 64)).float().sum().backward()
"""


@cache
def find_trouble(dtype: str) -> str:
    """Return why arithmetic in "bfloat16" or "float16" cannot run here, or nothing."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, dtype],
        capture_output=True, text=True, timeout=300, env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    if done.returncode < 0:
        return f"this processor cannot compute in {dtype}: {signal.strsignal(-done.returncode)}"
    if done.returncode:
        return f"torch cannot compute in {dtype} here: {done.stderr.strip().splitlines()[-1]}"
    return ""


def require(dtype: str) -> None:
    """Skip the test that calls this, with the reason, where 16 bits cannot be had."""
    if reason := find_trouble(dtype):
        pytest.skip(reason)
