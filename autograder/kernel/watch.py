"""Watches what a kernel and all its children use together; limits of the system count each alone.

Runs in the kernel's keeper, a few times a second. Shared memory and files in memory count, too.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass

INTERVAL = 0.25  # seconds between two looks
_MOST_ENTRIES = 20_000  # files and folders; whoever makes more has used up the disk, too


@dataclass(frozen=True)
class Budget:
    """What one kernel may use in all."""

    memory: int  # bytes, of all processes and of the file systems in memory
    folders: dict[str, int]  # bytes on the disk, by folder
    in_memory: tuple[str, ...] = ()  # folders that lie in memory
    own_proc: bool = False  # /proc shows the kernel's processes and no others


def find_excess(budget: Budget) -> str:
    """Return what is used up: "memory", "disk" or nothing."""
    if _measure_memory(budget) > budget.memory:
        return "memory"
    for folder, limit in budget.folders.items():
        if measure_folder(folder, limit) > limit:
            return "disk"
    return ""


def find_processes(own_proc: bool) -> Iterator[int]:
    """Yield the kernel and all that came from it: of what we see, or below us."""
    if own_proc:
        yield from (int(name) for name in os.listdir("/proc") if name.isdigit())
        return
    waiting = [os.getpid()]
    while waiting:
        with contextlib.suppress(OSError):
            parent = waiting.pop()
            for thread in os.listdir(f"/proc/{parent}/task"):
                with open(f"/proc/{parent}/task/{thread}/children") as file:
                    children = [int(word) for word in file.read().split()]
                yield from children
                waiting += children


def end_all() -> None:
    """End whatever is still running below this process; stopped first, so that nothing new begins."""
    for _ in range(50):
        left = list(find_processes(own_proc=False))
        if not left:
            return
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in left:
                with contextlib.suppress(OSError):
                    os.kill(pid, number)
        with contextlib.suppress(OSError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _measure_memory(budget: Budget) -> int:
    files = sum(_measure_files(folder) for folder in budget.in_memory)
    processes = list(find_processes(budget.own_proc))
    # Pages that several processes share count for each here, which is quick; only when that is
    # too much is each page counted once.
    if files + sum(map(_read_resident, processes)) <= budget.memory:
        return 0
    return files + sum(map(_read_share, processes))


def _read_resident(pid: int) -> int:
    with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _read_share(pid: int) -> int:
    """Return a process's part of the memory, what it shares divided by those who share it."""
    try:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            for line in file:
                if line.startswith("Pss:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return _read_resident(pid)


def _measure_files(folder: str) -> int:
    with contextlib.suppress(OSError):
        facts = os.statvfs(folder)
        return (facts.f_blocks - facts.f_bfree) * facts.f_frsize
    return 0


def measure_folder(folder: str, limit: int) -> int:
    """Return the bytes that a folder takes on the disk; stop counting above the limit."""
    size = entries = 0
    waiting = [folder]
    while waiting:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as found:
            for entry in found:
                entries += 1
                with contextlib.suppress(OSError):
                    size += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                if size > limit or entries > _MOST_ENTRIES:
                    return limit + 1
    return size
