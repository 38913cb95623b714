"""A warm process from which kernels are forked, with everything imported once.

Importing torch and transformers takes seconds; a fork takes milliseconds and shares the memory.
The nursery is started on demand, belongs to the process that started it, and ends with it. It
does no tensor work itself and holds nothing of the course but what students import.

Run as a program, this module *is* the nursery: it listens on the socket whose number it is given.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import queue
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable
from pathlib import Path

from autograder.kernel import cgroup, walls, watch

WARM_IMPORTS = (
    "numpy", "torch", "torch.nn.functional", "matplotlib.figure",
    "matplotlib.backends.backend_agg", "ipywidgets", "tqdm.auto",
    "course_utils.plots", "course_utils.checks",
    "ipykernel.kernelapp", "IPython.core.completer", "matplotlib_inline.backend_inline",
    # What a kernel imports by itself as it starts, and what it shows an error with.
    "ipykernel.debugger", "IPython.core.completerlib", "IPython.core.oinspect", "IPython.extensions",
    "sqlite3", "tornado.queues", "tornado.platform.asyncio", "encodings.idna",
    "stack_data", "pygments.formatters.terminal256", "pygments.styles",
)  # fmt: skip
# What of the grader's environment a student's kernel may have.
KEPT_VARIABLES = (
    "PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV", "SYSTEMROOT",
    "OMP_NUM_THREADS", "JUPYTER_PATH", "JUPYTER_DATA_DIR",
)  # fmt: skip
_TO_FIND_PYTHON = ("PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH")
# Seconds that the imports, or a fork, may take on a very busy machine. Whoever ends is noticed at once:
# its end of the socket closes.
_PATIENCE = 900


class NurseryError(RuntimeError):
    """The nursery could not be started or did not answer."""


def is_possible() -> bool:
    """Say whether kernels can be forked on this system."""
    return sys.platform == "linux" and hasattr(os, "fork") and hasattr(os, "pidfd_open")


# ------------------------------------------------------------------------- the grader's side


class WarmProcess:
    """A forked kernel, with the few methods of a Popen that jupyter_client uses."""

    stdin = stdout = stderr = None

    def __init__(self, status: socket.socket, pid: int, standing: list[str]):
        self._status, self.pid, self.walls = status, pid, standing
        self.returncode: int | None = None
        self.lost = False  # did its keeper go without a word? Then it was ended from outside
        self.excess = ""  # what it had used up when its keeper ended it: "memory" or "disk"

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._status], [], [], 0)[0]:
            self._note_end(_receive(self._status))
        return self.returncode

    def close_channel(self) -> None:
        """Have the folder of its sockets closed to writing, now that the sockets are there."""
        report = None
        with contextlib.suppress(OSError):
            self._status.settimeout(_PATIENCE)
            self._status.sendall(b"\n")
            report = _receive(self._status)
            self._status.settimeout(None)
        if not report or "exit" in report:
            self._note_end(report)

    def _note_end(self, report: dict | None) -> None:
        self.returncode = report.get("exit", -signal.SIGKILL) if report else -signal.SIGKILL
        self.excess = str(report.get("excess", "")) if report else ""
        self.lost = report is None
        self._status.close()

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None and not select.select([self._status], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired("kernel", timeout)
        return self.poll()

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)


class Helper:
    """A forked process that does work of our own, with all that is imported at hand."""

    def __init__(self, connection: socket.socket, pid: int):
        self.connection = connection
        self._process = os.pidfd_open(pid)

    def end(self) -> None:
        self.connection.close()
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._process, signal.SIGKILL)
        os.close(self._process)


class Nursery:
    """The grader's end of one warm process."""

    def __init__(self, imports: Iterable[str] = ()) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._closed = threading.Event()
            self._process = _start_and_stay(
                self._closed,
                [
                    sys.executable,
                    "-m",
                    "autograder.kernel.nursery",
                    str(theirs.fileno()),
                    *imports,
                ],
                pass_fds=[theirs.fileno()],
                cwd=Path(__file__).resolve().parents[2],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                # A fork shows what its parent began with in /proc/self/environ: no tokens there.
                env={k: os.environ[k] for k in KEPT_VARIABLES + _TO_FIND_PYTHON if k in os.environ}
                | {
                    "HF_HUB_OFFLINE": "1",
                    "OMP_NUM_THREADS": "1",  # kernels run side by side: a thread each is fastest
                    "PYTHONDONTWRITEBYTECODE": "1",
                },
            )
        self._socket = ours
        self._socket.settimeout(_PATIENCE)
        self._lock = threading.Lock()
        self._made_from = _fingerprint()
        self.facts = _receive(self._socket)
        if not self.facts:
            alive = self._process.poll() is None
            self.close()
            raise NurseryError(
                f"The process that kernels are forked from was not ready after {_PATIENCE // 60} minutes: "
                "this machine is too busy. What is not graded yet stays so; try again later."
                if alive
                else "The process that kernels are forked from ended while it was starting. "
                "`python -m autograder doctor` may know why."
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def is_usable(self) -> bool:
        """Is it alive, and made from the files as they are now?"""
        # It says nothing unasked: what can be read is its end, which shows here first.
        is_gone = self._process.poll() is not None or select.select([self._socket], [], [], 0)[0]
        return not is_gone and self._made_from == _fingerprint()

    def spawn(self, request: dict) -> WarmProcess:
        """Fork one kernel as `request` says and return it once it stands."""
        status, report = self._fork(request)
        return WarmProcess(status, report["pid"], report["walls"])

    def lend(self, service: str) -> Helper:
        """Fork a process for work of our own: `service` is a module whose `serve(socket)` it runs."""
        connection, report = self._fork({"service": service})
        return Helper(connection, report["pid"])

    def _fork(self, request: dict) -> tuple[socket.socket, dict]:
        """Return a socket to a new process, and the first thing that it said."""
        ours, theirs = socket.socketpair()
        with theirs, self._lock:
            try:
                socket.send_fds(
                    self._socket, [json.dumps(request).encode() + b"\n"], [theirs.fileno()]
                )
            except OSError as problem:
                raise NurseryError(f"the warm process is gone: {problem}") from problem
        ours.settimeout(_PATIENCE)
        report = _receive(ours)
        if not report or "pid" not in report:
            ours.close()
            raise NurseryError((report or {}).get("error", "the warm process did not answer"))
        ours.settimeout(None)
        return ours, report

    def close(self) -> None:
        self._socket.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        self._process.kill()
        self._process.wait()
        self._closed.set()


def _start_and_stay(closed: threading.Event, command: list[str], **options) -> subprocess.Popen:
    """Start a process that ends with its parent, from a thread that stays until `closed`.

    For the system the parent is the *thread* that started it: one of a pool would take all kernels
    along when its run is over, in the midst of the next one's.
    """
    started: queue.SimpleQueue = queue.SimpleQueue()

    def stay() -> None:
        try:
            started.put(subprocess.Popen(command, **options))
        except BaseException as problem:
            started.put(problem)
            return
        closed.wait()

    threading.Thread(target=stay, name="warm process", daemon=True).start()
    process = started.get()
    if isinstance(process, BaseException):
        raise process
    return process


_shared: Nursery | None = None
_shared_by = 0
_sharing = threading.Lock()
_wanted: set[str] = set()


def want(imports: Iterable[str]) -> None:
    """Say what the notebooks to come import. What is said too late they import themselves."""
    _wanted.update(imports)


def share_nursery() -> Nursery:
    """Return this process's nursery, started on demand, replaced when it is dead or stale."""
    global _shared, _shared_by
    with _sharing:
        if _shared is not None and (_shared_by != os.getpid() or not _shared.is_usable()):
            if _shared_by == os.getpid():
                _shared.close()
            _shared = None
        if _shared is None:
            _shared, _shared_by = Nursery(sorted(_wanted)), os.getpid()
        return _shared


def close_nursery() -> None:
    """End this process's nursery and all its kernels, if there is one."""
    global _shared
    with _sharing:
        if _shared is not None and _shared_by == os.getpid():
            _shared.close()
        _shared = None


def _fingerprint() -> float:
    """Return when the package that students import was last changed."""
    import course_utils

    files = Path(course_utils.__file__).parent.rglob("*.py")
    return max(path.stat().st_mtime for path in files)


def _receive(connection: socket.socket) -> dict | None:
    """Read one line of JSON, or None when the other side is gone or silent."""
    line = b""
    try:
        while not line.endswith(b"\n"):
            piece = connection.recv(65536)
            if not piece:
                return None
            line += piece
        return json.loads(line)
    except (OSError, ValueError):
        return None


# ------------------------------------------------------------------------- the warm process


def main(number: int, imports: Iterable[str]) -> None:
    """Import everything, then fork a kernel for each request until the grader is gone."""
    walls.die_with_parent()
    _import_all((*WARM_IMPORTS, *imports))
    flags, in_the_way = walls.choose_namespaces()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # keepers report by themselves
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the grader's to handle
    gc.collect()
    gc.freeze()  # what is here now will not be touched, so it stays shared
    with socket.socket(fileno=number) as grader:
        _send(grader, {"ready": True, "flags": flags, "in the way": in_the_way})
        while True:
            data, descriptors, _, _ = socket.recv_fds(grader, 1 << 20, 1)
            if not data:
                return
            if os.fork() == 0:
                grader.close()
                with socket.socket(fileno=descriptors[0]) as status:
                    request = json.loads(data)
                    if "service" in request:
                        _help(request["service"], status)
                    else:
                        _keep(request, flags, status)
                os._exit(0)
            for descriptor in descriptors:
                os.close(descriptor)


def _import_all(names: Iterable[str]) -> None:
    import importlib

    for name in names:
        with contextlib.suppress(ImportError):  # a plain kernel would find out in its own time
            importlib.import_module(name)


def _help(service: str, connection: socket.socket) -> None:
    """Be a process that works for the grader: it ends with the grader, and no kernel comes from it."""
    import importlib

    walls.die_with_parent()
    _send(connection, {"pid": os.getpid()})
    importlib.import_module(service).serve(connection)


def _keep(request: dict, flags: int, status: socket.socket) -> None:
    """Be a kernel's keeper: make it, report it, wait for it, and end it when the grader is gone."""
    walls.die_with_parent()
    walls.adopt_orphans()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    flags = flags if request["walls"] else 0
    limits = walls.Limits(**request["limits"])
    group = _make_group(limits) if request["walls"] else None
    identity = walls.choose_identity()  # from our process id, while we see the real one
    ready, told = os.pipe()
    try:
        if flags:
            walls.unshare(flags)
        kernel = os.fork()
    except OSError as problem:
        _send(status, {"error": f"no kernel could be made: {problem}"})
        return
    if kernel == 0:
        os.close(ready)
        status.close()
        if group:
            group.join()
        _become_kernel(request, flags, identity, told)
    os.close(told)
    with os.fdopen(ready) as pipe:
        report = json.loads(pipe.readline() or "{}")
    if "walls" not in report:
        os.waitpid(kernel, 0)
        _send(status, {"error": report.get("error", "the kernel died before it stood")})
        return
    _send(status, {"pid": kernel, "walls": report["walls"]})
    watched, excess = os.pidfd_open(kernel), ""
    own_root = "files" in report["walls"]
    budget = _make_budget(request, limits, own_root) if request["walls"] else None
    while True:
        awake = select.select([watched, status], [], [], watch.INTERVAL if budget else None)[0]
        if watched in awake:
            code = os.waitstatus_to_exitcode(os.waitpid(kernel, 0)[1])
            watch.end_all()
            if group:
                excess = excess or ("memory" if group.has_run_out() else "")
                group.remove()
            _send(status, {"exit": code, "excess": excess})
            return
        if status in awake and _read_order(status):
            if own_root:
                walls.close_to_writing(request["channel"])
            _send(status, {"closed": own_root})
            continue
        if not awake:
            excess = excess or watch.find_excess(budget)
            if not excess:
                continue
        with contextlib.suppress(ProcessLookupError):
            os.kill(kernel, signal.SIGKILL)  # it takes too much, or the grader is gone


def _read_order(status: socket.socket) -> bytes:
    """Read the one thing that a grader may ask for, or nothing when it is gone."""
    with contextlib.suppress(OSError):
        return status.recv(1)
    return b""


def _make_group(limits: walls.Limits) -> cgroup.Group | None:
    place, _ = cgroup.find_place()
    with contextlib.suppress(OSError):
        return cgroup.Group(place, limits.whole_memory, limits.processes) if place else None
    return None


def _make_budget(request: dict, limits: walls.Limits, own_root: bool) -> watch.Budget:
    """Say what to count: with a root of its own, a kernel's files lie in memory."""
    folders = {request["channel"]: limits.channel_size}
    if not own_root:
        folders[request["folder"]] = limits.folder_size
    in_memory = (request["folder"], *(f"/{name}" for name in walls.IN_MEMORY))
    return watch.Budget(
        limits.whole_memory, folders, in_memory if own_root else (), own_proc=own_root
    )


def _send(status: socket.socket, report: dict) -> None:
    with contextlib.suppress(OSError):
        status.sendall(json.dumps(report).encode() + b"\n")


def _become_kernel(request: dict, flags: int, identity: int | None, told: int) -> None:
    """Put up the walls, then run an ordinary ipykernel. Never returns."""
    code = 1
    try:
        walls.die_with_parent()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for stream in (0, 1, 2):
            os.dup2(os.open(os.devnull, os.O_RDWR), stream)
        standing = ["process"]
        if request["walls"]:
            walls.offer_to_the_memory_killer()
            plan = walls.Plan(
                folder=request["folder"],
                channel=request["channel"],
                visible=tuple(request["visible"]),
                identity=identity,
                limits=walls.Limits(**request["limits"]),
            )
            standing += walls.build_walls(plan, flags)
        else:
            os.chdir(request["folder"])
        os.environ.clear()
        os.environ.update(request["env"])
        if request["walls"]:  # the grader's temporary folder is not there, or not to be written to
            _live_in(request["folder"], "/tmp" if "files" in standing else request["folder"])
        os.environ.setdefault("HOME", request["folder"])  # nobody knows this user's
        os.write(told, json.dumps({"walls": standing}).encode() + b"\n")
        os.close(told)
        _forget_the_grader()
        _run(request)
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0
    except BaseException as problem:
        with contextlib.suppress(OSError):
            os.write(told, json.dumps({"error": f"{problem}"}).encode() + b"\n")
    finally:
        os._exit(code)


def _live_in(folder: str, temporary: str) -> None:
    """Make the work folder home, and a folder that may be written to the temporary one."""
    import tempfile

    os.environ["TMPDIR"] = temporary
    if temporary == folder:
        os.environ["HOME"] = folder
    tempfile.tempdir = None


def _forget_the_grader() -> None:
    """Leave nothing of the autograder in the kernel's memory, and give it fresh randomness."""
    import random
    import types

    import numpy
    import torch

    for name in [name for name in sys.modules if name.split(".")[0] == "autograder"]:
        del sys.modules[name]
    sys.modules["__main__"] = types.ModuleType("__main__")
    sys.path[:] = ["", *(path for path in sys.path if path)]
    random.seed()
    numpy.random.seed()
    torch.seed()


def _run(request: dict) -> None:
    if request.get("program"):  # not a kernel, but something that looks at the walls from inside
        exec(compile(request["program"], "<probe>", "exec"), {"request": request})
        return
    from ipykernel.kernelapp import IPKernelApp

    sys.argv = ["ipykernel_launcher.py", *request["arguments"]]
    IPKernelApp.launch_instance(argv=request["arguments"])


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
