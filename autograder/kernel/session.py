"""One kernel for one notebook: run cells in it, ask it for values, survive what it does."""

from __future__ import annotations

import ast
import os
import queue
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint
from pathlib import Path

import nbformat
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import KernelManager
from jupyter_client.provisioning import KernelProvisionerFactory
from nbformat import NotebookNode

from autograder.kernel import wire

_WIRE_SOURCE = Path(wire.__file__).read_text(encoding="utf-8")
_KEPT_VARIABLES = (
    "PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV", "SYSTEMROOT",
    "OMP_NUM_THREADS", "JUPYTER_PATH", "JUPYTER_DATA_DIR",
)  # fmt: skip
_PATIENCE = 5  # seconds that a kernel gets to react to an interrupt


class _WalledSpecs(KernelSpecManager):
    """Knows one kernel: forked from the warm process, with walls around it."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        return KernelSpec(
            argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
            display_name="A student's kernel",
            language="python",
            metadata={
                "kernel_provisioner": {
                    "provisioner_name": "attention-warm",
                    "config": {"walls": True},
                }
            },
        )


@dataclass
class Run:
    """What came of running one cell: "ok", "error", "timeout" or "crashed", and its outputs."""

    status: str
    outputs: list[NotebookNode] = field(default_factory=list)


class KernelSession:
    """A kernel that is started on entry, replaced when it dies, and gone on exit."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._finished: list[str] = []  # cells that worked, to be run again in a new kernel

    def __enter__(self) -> KernelSession:
        self._start()
        return self

    def __exit__(self, *_) -> None:
        self._stop()

    def run(self, code: str, timeout: float) -> Run:
        """Run one cell. A cell that hangs or kills the kernel costs only itself."""
        result = self._execute(code, timeout)
        if result.status in ("ok", "error"):
            self._finished.append(code)
        elif not self._is_responsive():
            self._replace(timeout)
        return result

    def ask(self, program: str, inputs: dict, timeout: float) -> tuple[str, dict]:
        """Run a judge's program in the kernel; return a status and the arrays it gave."""
        scope = f"_judge_{secrets.token_hex(8)}"
        setup = f"{scope} = {{}}\n__import__('builtins').exec({_WIRE_SOURCE!r}, {scope})"
        call = f"{scope}['answer']({program!r}, globals(), {wire.dump(inputs)!r})"
        reply: dict = {}
        result = self._execute(setup, timeout, expressions={"answer": call}, reply=reply)
        if result.status in ("timeout", "crashed"):
            if not self._is_responsive():
                self._replace(timeout)
            return result.status, {}
        self._execute(f"del {scope}", timeout)
        return "ok", wire.load(_read_text(reply.get("answer")))

    # ------------------------------------------------------------------ starting and ending

    def _start(self) -> None:
        _register_provisioner()
        self.channel = tempfile.mkdtemp(prefix="judge-")
        self.manager = KernelManager(
            kernel_name="attention-walled", kernel_spec_manager=_WalledSpecs()
        )
        self.manager.connection_file = str(Path(self.channel) / "kernel.json")
        if sys.platform != "win32":  # files that only we can open, instead of open ports
            self.manager.transport, self.manager.ip = "ipc", str(Path(self.channel) / "socket")
        self.manager.start_kernel(
            cwd=str(self.folder),
            env=make_environment(),
            extra_arguments=["--HistoryManager.hist_file=:memory:"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.client = self.manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=120)

    def _stop(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        self.manager.cleanup_resources()
        shutil.rmtree(self.channel, ignore_errors=True)

    def _replace(self, timeout: float) -> None:
        """Start a new kernel and bring it to where the old one was before it broke."""
        self._stop()
        self._start()
        for code in self._finished:
            self._execute(code, timeout)

    def _is_responsive(self) -> bool:
        return self.manager.is_alive() and self._execute("", _PATIENCE).status == "ok"

    # ---------------------------------------------------------------------------- messages

    def _execute(
        self, code: str, timeout: float, expressions: dict | None = None, reply: dict | None = None
    ) -> Run:
        request = self.client.execute(
            code,
            silent=expressions is not None,
            store_history=False,
            allow_stdin=False,
            stop_on_error=False,
            user_expressions=expressions,
        )
        outputs: list[NotebookNode] = []
        deadline = time.monotonic() + timeout
        status = self._listen(request, deadline, outputs, reply)
        if status == "timeout":
            self.manager.interrupt_kernel()
            # Whatever the cell still says is read and dropped, so that it cannot be taken for
            # the output of the next one.
            self._listen(request, time.monotonic() + _PATIENCE, [], None)
        return Run(status, outputs)

    def _listen(self, request: str, deadline: float, outputs: list, reply: dict | None) -> str:
        """Collect a request's outputs until the kernel is idle again; return how it ended."""
        status, idle, replied = "ok", False, False
        while not (idle and replied):
            if time.monotonic() > deadline:
                return "timeout"
            if not idle:
                message = self._next(self.client.get_iopub_msg)
                if message and message["parent_header"].get("msg_id") == request:
                    idle = _collect(message, outputs)
            if idle or not replied:
                message = self._next(self.client.get_shell_msg, wait=0.2 if idle else 0.0)
                if message and message["parent_header"].get("msg_id") == request:
                    replied = True
                    status = "ok" if message["content"].get("status") == "ok" else "error"
                    if reply is not None:
                        reply.update(message["content"].get("user_expressions") or {})
            if not (idle and replied) and not self.manager.is_alive():
                return "crashed"
        return status

    @staticmethod
    def _next(get, wait: float = 0.2):
        try:
            return get(timeout=wait)
        except queue.Empty:
            return None


def _register_provisioner() -> None:
    """Make our provisioner known even where the installed entry points are out of date."""
    known = KernelProvisionerFactory.instance().provisioners
    known.setdefault(
        "attention-warm",
        EntryPoint(
            "attention-warm",
            "autograder.kernel.provisioner:WarmProvisioner",
            KernelProvisionerFactory.GROUP_NAME,
        ),
    )


def make_environment() -> dict[str, str]:
    """Return the environment a student's kernel gets: little of ours, nothing from the hub."""
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    return kept | {
        "NBGRADER_EXECUTION": "autograde",
        "COURSE_JUDGE": "outside",
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "PYTHONNOUSERSITE": "1",
    }


def _collect(message: dict, outputs: list) -> bool:
    """Add one message to the outputs; say whether it was the last."""
    kind, content = message["msg_type"], message["content"]
    if kind == "status":
        return content["execution_state"] == "idle"
    if kind == "clear_output":
        outputs.clear()
    elif kind in ("stream", "display_data", "execute_result", "error"):
        output = nbformat.v4.output_from_msg(message)
        last = outputs[-1] if outputs else None
        if kind == "stream" and last and last.get("name") == output.name:
            last.text += output.text
        else:
            outputs.append(output)
    return False


def _read_text(expression: dict | None) -> str:
    """Return the string that a user expression evaluated to, or nothing."""
    try:
        return ast.literal_eval(expression["data"]["text/plain"])
    except (TypeError, KeyError, ValueError, SyntaxError):
        return ""
