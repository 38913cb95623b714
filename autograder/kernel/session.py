"""One kernel for one notebook: run cells in it, ask it for values, survive what it does."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint
from pathlib import Path

import nbformat
import zmq
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import KernelManager
from jupyter_client.provisioning import KernelProvisionerFactory
from nbformat import NotebookNode

from autograder import budgets
from autograder.course import CourseError
from autograder.files import remove_tree
from autograder.kernel import guard, wire
from autograder.kernel.memory import is_out_of_memory
from autograder.kernel.nursery import KEPT_VARIABLES, WarmProcess
from autograder.kernel.workfolder import fill_folder

_GUARD_SOURCE = "".join(
    Path(module.__file__).read_text(encoding="utf-8") for module in (wire, guard)
)
WITH_WALLS = True  # tests switch them off, to see what holds without
_CUT = "[The rest of this cell's output was too long and was left out.]\n"
_LONGEST_SOCKET = 100  # characters of a socket's name; Linux allows 107
_PATIENCE = 5  # seconds that a kernel gets to react to an interrupt
_PATIENCE_START = 120  # seconds that a kernel on a busy machine gets to answer at all
_LOOK_AGAIN = 0.1  # seconds of silence after which we look whether a kernel is still alive
_STALL = 1.0  # seconds between two looks after which it was we who were held up, not the kernel
_LONGEST_STALL = 120  # seconds that a kernel gets back in all for such waits
_DRAIN = 2  # seconds after the deadline in which what has arrived is still read


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
                    "config": {"walls": WITH_WALLS},
                }
            },
        )


@dataclass
class Run:
    """What came of running one cell, and its outputs.

    `status` is "ok", "error", "timeout", "crashed", "out of memory", "out of disk", or "used up":
    the notebook's whole time was over before the cell began.
    """

    status: str
    outputs: list[NotebookNode] = field(default_factory=list)
    size: int = 0  # characters of all outputs


class KernelSession:
    """A kernel that is started on entry, replaced when it dies, and gone on exit."""

    def __init__(self, folder: Path | None = None, seconds: float = budgets.WHOLE_SECONDS):
        self.folder = folder  # the submission's files, if there are any
        self.seconds = seconds  # for all cells and questions, and for what is run again
        self.flags: list[str] = []  # what a person should know about them
        self.seen: list[tuple[str, str, str]] = []  # what the guard noted: kind, what, the line
        self.used: set[str] = set()  # watched functions that were called in the last question
        self.manager: KernelManager | None = None
        self.client = None
        self._finished: list[str] = []  # cells that worked, to be run again in a new kernel
        self._room = budgets.LARGEST_OUTPUTS  # characters that may still be shown
        self._end = 0.0  # when the whole time is over
        self._held_up = 0.0  # seconds that this process, not the kernel, was late with a question

    def __enter__(self) -> KernelSession:
        self._scratch = Path(tempfile.mkdtemp(prefix="work-"))
        try:
            self.flags = fill_folder(self.folder, self._scratch)
            self._start()
        except BaseException:
            remove_tree(self._scratch)
            raise
        self._end = time.monotonic() + self.seconds
        return self

    def __exit__(self, *_) -> None:
        self._stop()
        remove_tree(self._scratch)

    def run(self, code: str, timeout: float) -> Run:
        """Run one cell. A cell that hangs or kills the kernel costs only itself."""
        if self._is_used_up():
            return Run("used up")
        result = self._execute(code, timeout)
        if result.status == "crashed" and self._was_lost():
            self.start_afresh(timeout)
            result = self._execute(code, timeout)
        self._room -= result.size
        if result.status == "error" and _ran_out_of_memory(result):
            result.status = "out of memory"
        elif result.status == "crashed":
            excess = getattr(self.manager.provisioner.process, "excess", "")
            result.status = {"memory": "out of memory", "disk": "out of disk"}.get(
                excess, "crashed"
            )
            if excess:
                self.start_afresh(timeout)
                return result
        if result.status in ("ok", "error"):
            self._finished.append(code)
        elif result.status == "out of memory" and self._has_room():
            self._finished.append(code)  # it asked too much, but did not keep it
        elif result.status == "out of memory" or not self._is_responsive():
            self.start_afresh(timeout)
        return result

    def ask(
        self, program: str, inputs: str, timeout: float, watched: Iterable[str] = ()
    ) -> tuple[str, str]:
        """Run a judge's program in the kernel; return a status and the reply, as it came.

        `inputs` is what `wire.dump` wrote. Nothing else comes out: whatever the kernel shows in the
        meantime is dropped. When time ran out while this process was held up itself, the question
        is asked once more. Calls of functions with one of the names in `watched` are noted in `used`.
        """
        if self._is_used_up():
            return "used up", ""
        self._held_up = 0.0
        status, reply = self._ask(program, inputs, timeout, watched)
        if status == "crashed" and self._was_lost():
            self.start_afresh(timeout)
            status, reply = self._ask(program, inputs, timeout, watched)
        if status == "timeout" and self._held_up and not self._is_used_up():
            status, reply = self._ask(program, inputs, timeout, watched)
        return status, reply

    def _ask(
        self, program: str, inputs: str, timeout: float, watched: Iterable[str]
    ) -> tuple[str, str]:
        nonce, names = secrets.token_hex(16), " ".join(watched)
        question = (nonce, program, inputs, names)
        signature = self._sign("question", *question)
        call = f"__import__('sys').modules[{guard.NAME!r}].answer{(signature, *question)!r}"
        reply: dict = {}
        self.used = set()
        result = self._execute("", timeout, expressions={"answer": call}, reply=reply)
        if result.status == "crashed" and self._was_lost():
            return "crashed", ""
        if result.status in ("timeout", "crashed"):
            if not self._is_responsive():
                self.start_afresh(timeout)
            return result.status, ""
        return "ok", self._read_reply(nonce, _read_text(reply.get("answer")))

    def _sign(self, *parts: str) -> str:
        digest = hashlib.blake2b(key=self._key)
        for part in parts:
            content = part.encode("utf-8", "surrogatepass")
            digest.update(len(content).to_bytes(8, "big") + content)
        return digest.hexdigest()

    def _read_reply(self, nonce: str, text: str) -> str:
        """Return what a question answered, and note what was seen; nothing, if it is not as it was sent."""
        signature, _, content = text.partition(" ")
        if not hmac.compare_digest(
            signature.encode(), self._sign("reply", nonce, content).encode()
        ):
            self.seen.append(("changed", "the reply to a question", ""))
            return ""
        told = json.loads(content)
        self.seen += [tuple(note) for note in told["seen"] if tuple(note) not in self.seen]
        self.used = set(told["used"])
        return told["reply"]

    def _install_guard(self) -> None:
        """Set up what questions need, before anything of the student's runs."""
        scope = f"_setup_{secrets.token_hex(8)}"
        code = f"{scope} = {{}}\nexec(compile({_GUARD_SOURCE!r}, '<judge>', 'exec'), {scope})"
        call = f"{scope}['install'](globals())"
        reply: dict = {}
        self._execute(code, _PATIENCE_START, expressions={"key": call}, reply=reply)
        self._execute(f"del {scope}", _PATIENCE_START)
        try:
            self._key = bytes.fromhex(_read_text(reply.get("key")))
        except ValueError:
            raise RuntimeError("the kernel could not be made ready for questions") from None

    def start_afresh(self, timeout: float) -> None:
        """Start a new kernel and run in it, unseen, the cells that worked in the old one."""
        self._stop()
        self._start()
        for code in self._finished:
            if self._is_used_up():
                return
            self._execute(code, timeout)

    # ------------------------------------------------------------------ starting and ending

    def _start(self) -> None:
        try:
            self._launch()
        except BaseException:
            self._stop()
            raise

    def _launch(self) -> None:
        _register_provisioner()
        self.channel = tempfile.mkdtemp(prefix="judge-", dir=find_short_folder())
        self.manager = KernelManager(
            kernel_name="attention-walled",
            kernel_spec_manager=_WalledSpecs(),
            context=_make_context(),
        )
        self.manager.connection_file = str(Path(self.channel) / "kernel.json")
        if sys.platform != "win32":  # files that only we can open, instead of open ports
            self.manager.transport, self.manager.ip = "ipc", str(Path(self.channel) / "socket")
        self.manager.start_kernel(
            cwd=str(self._scratch),
            env=make_environment(),
            extra_arguments=["--HistoryManager.hist_file=:memory:"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.client = self.manager.blocking_client()
        self.client.start_channels(stdin=False, hb=False, control=False)
        self._wait_until_ready()
        process = self.manager.provisioner.process
        if isinstance(process, WarmProcess):
            process.close_channel()
        self._install_guard()

    def _wait_until_ready(self) -> None:
        """Wait for the kernel's first answer, on both channels.

        jupyter_client's own `wait_for_ready` listens for silence, a fifth of a second of it.
        """
        deadline = time.monotonic() + _PATIENCE_START
        wait = _LOOK_AGAIN
        while time.monotonic() < deadline:
            request = self.client.kernel_info()
            status = self._listen(request, time.monotonic() + wait, _Outputs(), None)
            wait *= (
                1.5  # what was said before we were connected is lost; ask again, ever less often
            )
            if status == "ok":
                return
            if status == "crashed":
                raise RuntimeError("the kernel died while it started")
        raise RuntimeError(f"the kernel did not answer within {_PATIENCE_START} seconds")

    def _stop(self) -> None:
        """End the kernel and give back what it took, however far it had come."""
        if self.manager is None:
            return
        if self.client is not None:
            self.client.stop_channels()
        process = getattr(self.manager.provisioner, "process", None)
        if process is not None:  # at once; the manager would look every tenth of a second
            process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_PATIENCE)
            self.manager.shutdown_kernel(now=True)
        self.manager.cleanup_resources()
        self.manager.context.destroy(linger=0)
        remove_tree(Path(self.channel))
        self.manager = self.client = None

    def _is_used_up(self) -> bool:
        return time.monotonic() >= self._end

    def _was_lost(self) -> bool:
        """Did the kernel end with the process that it came from? That is nothing the cell did."""
        return getattr(self.manager.provisioner.process, "lost", False)

    def _is_responsive(self) -> bool:
        return self.manager.is_alive() and self._execute("", _PATIENCE).status == "ok"

    def _has_room(self) -> bool:
        """Could the next cell get a gigabyte, or is the memory still taken?"""
        return self._execute("len(bytearray(2**30))", _PATIENCE).status == "ok"

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
        outputs = _Outputs(min(budgets.LARGEST_OUTPUT, self._room))
        now = time.monotonic()
        left = max(self._end - now, _PATIENCE) if self._end else timeout
        status = self._listen(request, now + min(timeout, left), outputs, reply)
        if status == "timeout":
            self.manager.interrupt_kernel()
            # Whatever the cell still says is read and dropped, so that it cannot be taken for
            # the output of the next one.
            self._listen(request, time.monotonic() + _PATIENCE, _Outputs(), None)
        return Run(status, outputs.kept, outputs.size)

    def _listen(self, request: str, deadline: float, outputs: _Outputs, reply: dict | None) -> str:
        """Collect a request's outputs until the kernel is idle again; return how it ended.

        When this process was held up itself, the kernel gets that time back, and an answer that
        had come before the deadline counts, whenever we come to read it.
        """
        status, idle, replied = "ok", False, False
        looked, held_up = time.monotonic(), 0.0
        shell, iopub = self.client.shell_channel, self.client.iopub_channel
        poller = zmq.Poller()
        poller.register(shell.socket, zmq.POLLIN)
        poller.register(iopub.socket, zmq.POLLIN)
        while not (idle and replied):
            now = time.monotonic()
            if now - looked > _STALL:
                deadline += min(now - looked, _LONGEST_STALL - held_up)
                held_up = min(held_up + now - looked, _LONGEST_STALL)
                self._held_up += now - looked
            looked = now
            left = deadline - now
            ready = dict(poller.poll(1000 * min(max(left, 0), _LOOK_AGAIN)))
            if left <= 0 and (not ready or left < -_DRAIN):
                return "timeout"
            if not ready and not self.manager.is_alive():
                return "crashed"
            if iopub.socket in ready:
                message = _receive(iopub)
                if message and _is_reply(message, request):
                    idle |= outputs.add(message)
            if shell.socket in ready:
                message = _receive(shell)
                if message and _is_reply(message, request):
                    replied = True
                    status = "ok" if message["content"].get("status") == "ok" else "error"
                    expressions = message["content"].get("user_expressions")
                    if reply is not None and isinstance(expressions, dict):
                        reply.update(expressions)
        return status


def find_short_folder() -> str | None:
    """Return where sockets can be: the system's temporary folder, unless its name is too long."""
    if len(os.path.join(tempfile.gettempdir(), "judge-12345678", "socket-5")) <= _LONGEST_SOCKET:
        return None
    short = next((name for name in ("/tmp", "/var/tmp") if os.access(name, os.W_OK)), None)
    if short is None:
        raise CourseError(
            f"The temporary folder {tempfile.gettempdir()} has too long a name for a socket: set "
            "TMPDIR to a shorter one."
        )
    return short


def _receive(channel) -> dict | None:
    """Read one message; a kernel that garbles its messages is one that says nothing."""
    try:
        return channel.get_msg(timeout=0)
    except Exception:
        return None


def _ran_out_of_memory(run: Run) -> bool:
    errors = [output for output in run.outputs if output.output_type == "error"]
    return any(is_out_of_memory(f"{error.ename}: {error.evalue}") for error in errors)


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
    kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    return kept | {
        "NBGRADER_EXECUTION": "autograde",
        "COURSE_JUDGE": "outside",
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "PYTHONNOUSERSITE": "1",
    }


def _is_reply(message: dict, request: str) -> bool:
    parent, content = message.get("parent_header"), message.get("content")
    return (
        isinstance(parent, dict) and parent.get("msg_id") == request and isinstance(content, dict)
    )


class _Outputs:
    """What a cell showed, up to a limit: a flood is cut off, not kept."""

    def __init__(self, limit: int = 0) -> None:
        self.kept: list[NotebookNode] = []
        self.size = self._count = 0
        self._limit = limit

    def add(self, message: dict) -> bool:
        """Add one message; say whether the cell is done."""
        try:
            return self._add(message)
        except Exception:  # not a message that Jupyter knows
            return False

    def _add(self, message: dict) -> bool:
        kind, content = message["msg_type"], message["content"]
        if kind == "status":
            return content["execution_state"] == "idle"
        if kind == "clear_output":
            self.kept.clear()
        elif kind in ("stream", "display_data", "execute_result", "error"):
            size = len(json.dumps(content, default=str))
            self._count += 1
            if self.size + size <= self._limit and self._count <= budgets.MOST_MESSAGES:
                self.size += size
                self._append(nbformat.v4.output_from_msg(message))
            elif not self.kept or self.kept[-1].get("text") != _CUT:
                self.kept.append(nbformat.v4.new_output("stream", name="stdout", text=_CUT))
        return False

    def _append(self, output: NotebookNode) -> None:
        last = self.kept[-1] if self.kept else None
        if output.output_type == "stream" and last and last.get("name") == output.name:
            last.text += output.text
        else:
            self.kept.append(output)


def _make_context() -> zmq.Context:
    """Return a context whose sockets drop a message that is far too large."""
    context = zmq.Context()
    context.setsockopt(zmq.MAXMSGSIZE, budgets.LARGEST_MESSAGE)
    context.setsockopt(zmq.LINGER, 0)  # nothing that was not sent is worth waiting for
    return context


def _read_text(expression: dict | None) -> str:
    """Return the text that a user expression is shown as, or nothing."""
    try:
        return str(expression["data"]["text/plain"])
    except (TypeError, KeyError):
        return ""
