"""Says what this machine can do for grading, and how to get more, by starting a real kernel."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator

from rich.markup import escape

from autograder import budgets
from autograder.fence import describe_failure
from autograder.kernel import cgroup, nursery, seccomp, walls
from autograder.kernel.isolation import SYSTEM, Isolation, measure_isolation
from autograder.kernel.session import KernelSession
from autograder.terminal import console

_NEEDED = budgets.FOLDER_SIZE  # bytes that should be free where kernels work


def run_doctor() -> None:
    """Print one line for each thing that matters, and advice where something is missing."""
    for good, line in examine_machine():
        console.print(f"{'[green]✔[/]' if good else '[yellow]–[/]'} {escape(line)}")


def examine_machine() -> Iterator[tuple[bool, str]]:
    """Yield (is it as we like it, what was found and what to do about it)."""
    if not nursery.is_possible():
        yield (
            False,
            f"Kernels cannot be forked on {SYSTEM}: each notebook gets an ordinary kernel, "
            "which takes seconds to start and has no walls: a student's code could read and write "
            "your files. Grade on Linux for both; the Dockerfile of this repository, a virtual "
            "machine or WSL will do.",
        )
        yield _say_what_is_required(measure_isolation())
        return
    yield True, "Kernels are forked from a warm process."
    flags, in_the_way = walls.choose_namespaces()
    how = "as root" if os.geteuid() == 0 else "through user namespaces"
    if flags & walls.NEWNS:
        yield True, f"Namespaces for files, processes and network can be made ({how})."
    elif flags:
        yield (
            False,
            f"Namespaces for processes and network can be made ({how}), but not a root of a "
            f"kernel's own ({in_the_way}): its files are guarded by Landlock, where there is one.",
        )
    else:
        yield (
            False,
            f"Namespaces cannot be made ({in_the_way}). Run as root, or let users make them "
            "(sysctl kernel.unprivileged_userns_clone=1, or user.max_user_namespaces above 0; in a "
            "container, --cap-add SYS_ADMIN or --security-opt seccomp=unconfined).",
        )
    yield _describe_landlock(walls.landlock_version())
    yield (
        seccomp.is_possible(),
        "System calls that lead around walls can be refused."
        if seccomp.is_possible()
        else "The numbers of this machine's system calls are not known: none can be refused.",
    )
    yield _look_for_groups()
    yield _try_a_kernel()
    yield _look_at_the_disk()
    isolation = measure_isolation()
    yield not isolation.holes, f"Measured by trying to break out: {isolation.sentence}."
    yield _say_what_is_required(isolation)


def _describe_landlock(version: int) -> tuple[bool, str]:
    if not version:
        words = "it needs Linux 5.13 or newer, with landlock among the security modules"
        return False, f"No Landlock: {words}."
    missing = [
        f"{what} (version {since})"
        for since, what in ((3, "emptying files"), (4, "TCP"), (6, "signals"))
        if version < since
    ]
    without = f"; it cannot stop: {', '.join(missing)}" if missing else ""
    return not missing, f"Landlock version {version}{without}."


def _look_for_groups() -> tuple[bool, str]:
    place, reason = cgroup.find_place()
    if place:
        return True, f"Each kernel gets a control group for memory and processes, below {place}."
    return (
        False,
        f"Kernels get no control group ({reason}): what one uses with all that it starts is added "
        "up four times a second, and it is ended when that is too much.",
    )


def _try_a_kernel() -> tuple[bool, str]:
    """Start a kernel as grading does, and let it work out a sum."""
    try:
        with KernelSession() as kernel:
            run = kernel.run("import torch\nprint(int(torch.arange(10).sum()))", 60)
            said = "".join(output.get("text", "") for output in run.outputs).strip()
    except Exception as problem:
        words = describe_failure(problem, "it failed").rstrip(".")
        return (
            False,
            f"A kernel was started for a trial, and did not come up: {words}. Nothing can be graded "
            f"here. Kernels work below {tempfile.gettempdir()} (TMPDIR), with {sys.executable}: "
            "both must be open to the user that students' code runs as.",
        )
    if said != "45":
        return (
            False,
            f"A kernel was started for a trial, and could not work out a sum ({run.status}).",
        )
    return True, f"A kernel was started for a trial, below {tempfile.gettempdir()}, and works."


def _look_at_the_disk() -> tuple[bool, str]:
    place = tempfile.gettempdir()
    facts = os.statvfs(place)
    free = facts.f_bavail * facts.f_frsize
    words = f"{free / budgets.GB:.1f} GB are free below {place}, where kernels work"
    return free >= _NEEDED, words + ("." if free >= _NEEDED else ": that is too little. Make room.")


def _say_what_is_required(isolation: Isolation) -> tuple[bool, str]:
    if isolation.level == "walls":
        return True, "Nothing is open: all submissions are graded."
    open_ = ", ".join(isolation.holes) or "nothing that was tried"
    if isolation.same_user:
        return (
            False,
            f"Open for a student's code: {open_}. It would run under your own name, so nothing is "
            f"graded unless you say --require-isolation {isolation.level} (for nbgrader, "
            f"COURSE_ISOLATION={isolation.level}).",
        )
    return False, f"Open for a student's code: {open_}. It runs as another user, so work is graded."
