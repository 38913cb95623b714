"""Windows and macOS, as far as one can see them from here: Python without what only POSIX has.

A `sitecustomize` goes before every Python that is started this way, kernels too. It takes `os.fork` and
its like away, and refuses POSIX-only modules to everything of the course (other packages have their
own versions for Windows, chosen by the system's name, which stays what it is).
"""

import os
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT

SITE_CUSTOMIZE = """
import builtins, os

for name in ("fork", "forkpty", "pidfd_open"):
    vars(os).pop(name, None)
refused = {"fcntl", "resource", "pwd", "grp", "termios", "pty", "tty", "posix", "syslog"}
plain_import = builtins.__import__


def import_as_elsewhere(name, globals=None, *others, **named):
    whose = (globals or {}).get("__name__", "")
    if name in refused and whose.startswith(("course_utils", "autograder")):
        raise ImportError(f"no module named {name} on this system (asked by {whose})")
    return plain_import(name, globals, *others, **named)


builtins.__import__ = import_as_elsewhere
"""


def run_elsewhere(scratch: Path, *arguments, cwd=ROOT) -> subprocess.CompletedProcess:
    """Run Python as on another system; `scratch` is a folder of the caller's."""
    (scratch / "sitecustomize.py").write_text(SITE_CUSTOMIZE, "utf-8")
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(scratch), str(ROOT)])},
        capture_output=True,
        text=True,
        timeout=300,
    )
