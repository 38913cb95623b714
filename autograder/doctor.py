"""Says what this machine can do for grading, and how to get more."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from rich.markup import escape

from autograder.kernel import nursery, walls
from autograder.kernel.isolation import measure_isolation
from autograder.terminal import console


def run_doctor() -> None:
    """Print one line for each thing that matters, and advice where something is missing."""
    for good, line in examine_machine():
        console.print(f"{'[green]✔[/]' if good else '[yellow]–[/]'} {escape(line)}")


def examine_machine() -> Iterator[tuple[bool, str]]:
    """Yield (is it as we like it, what was found and what to do about it)."""
    if not nursery.is_possible():
        yield (
            False,
            f"Kernels cannot be forked on {sys.platform}: each notebook gets an ordinary kernel, "
            "which takes seconds to start and has no walls. Grade on Linux (a virtual machine or a "
            "container will do) for both.",
        )
        return
    yield True, "Kernels are forked from a warm process."
    flags = walls.can_unshare()
    if flags:
        how = "as root" if os.geteuid() == 0 else "through user namespaces"
        yield True, f"Namespaces for files, processes and network can be made ({how})."
    else:
        yield (
            False,
            "Namespaces cannot be made. Run as root, or let users make them "
            "(sysctl kernel.unprivileged_userns_clone=1, or user.max_user_namespaces above 0; in a "
            "container, --cap-add SYS_ADMIN or --security-opt seccomp=unconfined).",
        )
    version = walls.landlock_version()
    yield (
        version > 0,
        f"Landlock version {version}."
        if version
        else "No Landlock: it needs Linux 5.13 or newer, with landlock among the security modules.",
    )
    isolation = measure_isolation()
    yield not isolation.holes, f"Measured by trying to break out: {isolation.sentence}."
