"""A control group (version 2) for each kernel, where the system lets us make one: memory, processes.

And the limit that the grader itself has been given by whoever made its container.

A group is made beside the grader's own, where its parent hands out both controllers and we may write; that is
so below systemd, for root and for services of a user. Elsewhere a kernel is watched alone (`watch.py`).
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from autograder.files import explain_os_error

_NEEDED = ("memory", "pids")
_UNLIMITED = 1 << 60  # version 1 writes "no limit" as a number near 2**63


def find_place(proc: Path = Path("/proc/self")) -> tuple[Path | None, str]:
    """Return the folder in which a group can be made, or None and the reason why there is none."""
    try:
        mounts = [line.split() for line in (proc / "mounts").read_text().splitlines()]
        groups = (proc / "cgroup").read_text().splitlines()
    except OSError as problem:
        return None, explain_os_error(problem)
    top = next((Path(words[1]) for words in mounts if words[2] == "cgroup2"), None)
    own = next((line[3:] for line in groups if line.startswith("0::")), None)
    if top is None or own is None:
        return None, "there is no cgroup of version 2"
    if own == "/":
        return None, "the grader is in the topmost group that it sees"
    place = (top / own.lstrip("/")).parent
    try:
        handed_out = (place / "cgroup.subtree_control").read_text().split()
    except OSError as problem:
        return None, explain_os_error(problem)
    missing = [name for name in _NEEDED if name not in handed_out]
    if missing:
        return None, f"{place} does not hand out {' and '.join(missing)}"
    if not all(os.access(path, os.W_OK) for path in (place, place / "cgroup.procs")):
        return None, f"{place} may not be written to"
    return place, ""


def find_memory_limit(proc: Path = Path("/proc/self")) -> int | None:
    """Return how many bytes this process and its like may use in all; None if no group limits them."""
    try:
        mounts = [line.split() for line in (proc / "mounts").read_text().splitlines()]
        groups = [line.split(":", 2) for line in (proc / "cgroup").read_text().splitlines()]
    except OSError:
        return None
    limits = []
    for _, where, kind, options, *_ in mounts:
        if kind == "cgroup2":
            name, own = "memory.max", [path for number, _, path in groups if number == "0"]
        elif kind == "cgroup" and "memory" in options.split(","):
            name = "memory.limit_in_bytes"
            own = [path for _, names, path in groups if "memory" in names.split(",")]
        else:
            continue
        top = Path(where)
        inner = top / (own[0].lstrip("/") if own else "")
        for folder in (inner, *(parent for parent in inner.parents if parent.is_relative_to(top))):
            with contextlib.suppress(OSError, ValueError):  # not there, or "max"
                limits.append(int((folder / name).read_text()))
    return min((limit for limit in limits if limit < _UNLIMITED), default=None)


class Group:
    """One kernel's group; its files are opened at once, for a kernel's keeper soon has another root."""

    def __init__(self, place: Path, memory: int, processes: int):
        self._name = f"course-{os.getpid()}"
        self._place = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
        folder = place / self._name
        folder.mkdir()
        self._folder = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        (folder / "memory.max").write_text(str(memory))
        with contextlib.suppress(OSError):  # not there where nothing is swapped
            (folder / "memory.swap.max").write_text("0")
        (folder / "pids.max").write_text(str(processes))

    def join(self) -> None:
        """Put this process into the group, and keep nothing open with which it could leave."""
        procs = os.open("cgroup.procs", os.O_WRONLY, dir_fd=self._folder)
        os.write(procs, b"0")
        os.close(procs)
        self._close()

    def has_run_out(self) -> bool:
        """Has a process of the group been ended because its memory was used up?"""
        events = os.open("memory.events", os.O_RDONLY, dir_fd=self._folder)
        with os.fdopen(events) as file:
            counts = dict(line.split() for line in file)
        return int(counts.get("oom_kill", 0)) > 0

    def remove(self) -> None:
        with contextlib.suppress(OSError):  # somebody is still in it
            os.rmdir(self._name, dir_fd=self._place)
        self._close()

    def _close(self) -> None:
        os.close(self._folder)
        os.close(self._place)
