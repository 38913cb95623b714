"""Runs functions on texts and files of anybody's in a process of its own, where they can be stopped.

A text can be made so that a parser is busy with it for hours, in code that no signal or thread of the
same process interrupts. Here it has so many seconds of the processor, and so much memory.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import importlib
import json
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO

SECONDS = 2.0  # of the processor, for what one cell of a notebook becomes on a page
MEMORY = 2 * 2**30  # bytes beyond what a worker is born with
_HEAD = struct.Struct(">QQ")  # the lengths of what follows: JSON, and bytes
_PATIENCE = 120  # seconds that a worker may take to start, on a busy machine
_CAN_COUNT = hasattr(signal, "setitimer")  # the processor's time; elsewhere the clock's
_KEPT = (
    "PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TEMP", "VIRTUAL_ENV", "SYSTEMROOT", "MPLCONFIGDIR",
    "LD_LIBRARY_PATH", "PYTHONHOME", "PYTHONPATH",
)  # fmt: skip


class TooMuch(Exception):
    """The work took more time or memory than it may, or killed its process."""


class Worker:
    """A process that imports one module and calls its functions with what may be hostile.

    A module may have a function `begin`, which is called there first. Arguments and results are plain
    JSON; `content`, where there is any, is bytes and the function's first argument, and a result may be bytes.
    """

    def __init__(self, module: str, memory: int = MEMORY):
        environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
        self.owner = os.getpid()
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, module, str(memory)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            cwd=Path(__file__).parents[1], env=environment,
        )  # fmt: skip
        with self._ended_after(_PATIENCE):
            self._take()

    def call(
        self, name: str, *arguments, content: bytes | None = None, seconds: float = SECONDS, **named
    ):
        """Return what a function of the module returns; raise TooMuch when it does not in time."""
        asked = {"name": name, "arguments": arguments, "named": named, "seconds": seconds,
                 "bytes": content is not None}  # fmt: skip
        with self._ended_after(seconds * (30 if _CAN_COUNT else 3)):
            try:
                _send(self._process.stdin, asked, content or b"")
            except (OSError, ValueError) as problem:  # it is gone
                raise TooMuch(name) from problem
            answer, made = self._take()
        if "failed" in answer:
            raise TooMuch(answer["failed"])
        return made if answer["bytes"] else answer["value"]

    def _take(self) -> tuple[dict, bytes]:
        try:
            return _receive(self._process.stdout)
        except (OSError, EOFError, ValueError) as problem:
            self.end()
            raise TooMuch("the process ended") from problem

    @contextmanager
    def _ended_after(self, seconds: float) -> Iterator[None]:
        timer = threading.Timer(seconds, self._process.kill)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    @property
    def is_usable(self) -> bool:
        return self.owner == os.getpid() and self._process.poll() is None

    def end(self) -> None:
        """End the process; whatever it was doing is lost."""
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                pipe.close()
        self._process.wait()


# ------------------------------------------------------------------- functions that are bounded

_workers: dict[str, Worker] = {}  # by module
_turns: dict[str, threading.Lock] = {}  # a worker does one thing at a time
_failed: set[bytes] = set()  # digests of what took too long: once is enough
_working = False  # is this process a worker?
_left: ContextVar[list[float] | None] = ContextVar("left", default=None)


@contextmanager
def spending(seconds: float) -> Iterator[None]:
    """Let all bounded functions that are called inside take no more than this together."""
    token = _left.set([seconds])
    try:
        yield
    finally:
        _left.reset(token)


def bounded(instead: Callable) -> Callable:
    """Have a function run in its module's worker; `instead` says what is returned when it takes too much.

    In the worker itself the function is an ordinary one.
    """

    def decorate(function: Callable) -> Callable:
        @functools.wraps(function)
        def ask(*arguments, **named):
            if _working:
                return function(*arguments, **named)
            asked = json.dumps([function.__module__, function.__name__, arguments, named]).encode()
            digest = hashlib.sha256(asked).digest()
            left = _left.get()
            seconds = min(SECONDS, left[0]) if left else SECONDS
            if digest in _failed or seconds <= 0:
                return instead(*arguments)
            started = time.monotonic()
            try:
                with _turns.setdefault(function.__module__, threading.Lock()):
                    worker = _find_worker(function.__module__)
                    return worker.call(function.__name__, *arguments, seconds=seconds, **named)
            except TooMuch:
                if len(_failed) < 10_000 and seconds == SECONDS:
                    _failed.add(digest)
                return instead(*arguments)
            finally:
                if left:
                    left[0] -= min(SECONDS, time.monotonic() - started)

        return ask

    return decorate


def _find_worker(module: str) -> Worker:
    worker = _workers.get(module)
    if worker is None or not worker.is_usable:
        worker = _workers[module] = Worker(module)
    return worker


@atexit.register
def _end_workers() -> None:
    for worker in _workers.values():
        if worker.is_usable:
            worker.end()


# ------------------------------------------------------------------------------- the wire


def _send(stream: BinaryIO, words: dict, content: bytes = b"") -> None:
    text = json.dumps(words).encode()
    stream.write(_HEAD.pack(len(text), len(content)))
    stream.write(text)
    stream.write(content)
    stream.flush()


def _receive(stream: BinaryIO) -> tuple[dict, bytes]:
    words, content = _HEAD.unpack(_read(stream, _HEAD.size))
    return json.loads(_read(stream, words)), _read(stream, content)


def _read(stream: BinaryIO, size: int) -> bytes:
    content = stream.read(size)
    if len(content) < size:
        raise EOFError
    return content


# ------------------------------------------------------------------------------- the worker


def limit_memory(amount: int) -> None:
    """Give this process so many bytes beyond what it is born with, where the system can."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (ImportError, OSError):
        return
    limit = pages * resource.getpagesize() + amount
    with suppress(ValueError, OSError):  # a lower limit is in force already
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def serve(name: str, memory: int) -> None:
    """Be a worker: import a module and call its functions until nobody asks any more."""
    global _working
    sys.modules["course_utils.bounded"] = sys.modules[__name__]  # run as a program, it is __main__
    _working = True
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is our parent's to handle
    asking, telling = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1):  # what a library prints is no answer
        os.dup2(nothing, number)
    module = importlib.import_module(name)
    limit_memory(memory)
    if hasattr(module, "begin"):
        module.begin()
    _send(telling, {"ready": True})
    while True:
        try:
            asked, content = _receive(asking)
        except EOFError:
            return
        arguments = [content, *asked["arguments"]] if asked["bytes"] else asked["arguments"]
        try:
            if _CAN_COUNT:  # the signal ends this process
                signal.setitimer(signal.ITIMER_PROF, asked["seconds"])
            made = getattr(module, asked["name"])(*arguments, **asked["named"])
        except (Exception, RecursionError) as problem:
            _send(telling, {"failed": type(problem).__name__})
            continue
        finally:
            if _CAN_COUNT:
                signal.setitimer(signal.ITIMER_PROF, 0)
        if isinstance(made, bytes):
            _send(telling, {"bytes": True}, made)
        else:
            _send(telling, {"bytes": False, "value": made})


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
