"""Lets jupyter_client take kernels from the nursery (entry point `attention-warm`)."""

from __future__ import annotations

import os
import site
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.provisioning import LocalProvisioner
from traitlets import Bool

from autograder.kernel import nursery, walls


class WarmProvisioner(LocalProvisioner):
    """Forks a kernel from a warm process; where that is not to be had, starts an ordinary one."""

    walls = Bool(False, help="Put walls around the kernel, as for a student's code.").tag(
        config=True
    )

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        if not nursery.is_possible():
            self.log.warning("Kernels cannot be forked on this system: starting an ordinary one.")
            return await super().launch_kernel(cmd, **kwargs)
        file = self.parent.connection_file
        request = make_request(
            folder=kwargs.get("cwd") or os.getcwd(),
            channel=str(Path(file).parent),
            environment=dict(kwargs.get("env") or os.environ),
            arguments=cmd[cmd.index("-f") :] if "-f" in cmd else ["-f", file],
            with_walls=self.walls,
        )
        self.process = nursery.share_nursery().spawn(request)
        self.pid, self.pgid = self.process.pid, None
        self.cwd = kwargs.get("cwd")
        return self.connection_info


def make_request(
    folder: str, channel: str, environment: dict, arguments: list[str], with_walls: bool
) -> dict:
    """Describe a kernel to the nursery."""
    return {
        "folder": str(folder),
        "channel": str(channel),
        "env": environment | {"JPY_PARENT_PID": "1"},
        "arguments": arguments,
        "walls": with_walls,
        "visible": find_visible(),
        "limits": asdict(walls.Limits()),
    }


def find_visible() -> list[str]:
    """Return the folders that Python itself and what students import live in."""
    import course_utils

    folders = {sys.prefix, sys.base_prefix, sys.exec_prefix, *site.getsitepackages()}
    folders |= {path for path in sys.path if path.endswith(("site-packages", "dist-packages"))}
    folders.add(str(Path(course_utils.__file__).resolve().parent))
    folders.add(str(Path(os.path.realpath(sys.executable)).parent.parent))
    return sorted(folder for folder in folders if os.path.isdir(folder) and folder != "/usr")
