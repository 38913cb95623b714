"""Judges in processes of their own: what one kernel sent holds up nobody else, and not for long.

A judge is forked from the warm process and is given the bytes of a reply. It has a limit on the
processor's time and on memory; one that meets it is gone, and the next question gets a new one. Where no
process can be forked, judging happens here.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import struct
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import BinaryIO

from autograder import budgets
from autograder.exercises import find_exercises, warm_up
from autograder.grading.judge import Verdict, decide
from autograder.kernel import nursery, walls, wire

_TOO_MUCH = "What your code handed over could not be judged within the time and memory for it."
_TRIES = 4  # judges that are asked before a reply is left unjudged
_OUT_OF_MEMORY = 3  # a judge's exit status
_HEAD = struct.Struct(">QQ")  # the lengths of what follows: JSON, and the reply as it came


@dataclass(frozen=True)
class Question:
    """What was asked: enough to judge the reply to it anywhere."""

    module: str  # of exercises
    exercise: str
    points: float
    inputs: str  # as they were sent to the kernel: drawn again they may differ in the last digit
    solutions: dict[str, str]  # the instructor's code of the notebook

    def decide(self, status: str, reply: str) -> Verdict:
        exercise = find_exercises(self.module)[self.exercise]
        values, inputs = wire.load(reply), wire.load(self.inputs)
        return decide(exercise, self.points, status, values, inputs, self.solutions)


class _UsedUp(Exception):
    """A judge met its limit on time or memory."""


def judge_reply(question: Question, status: str, reply: str) -> Verdict:
    """Have a reply judged. One that uses a judge up earns nothing, and a sentence says why.

    `status` says how asking went, as `KernelSession.ask` has it.
    """
    if status != "ok" or not nursery.is_possible():
        return question.decide(status, reply)
    for _ in range(_TRIES):
        try:
            with _borrow_judge() as judge:
                asked = {"question": asdict(question), "seconds": budgets.JUDGE_SECONDS}
                _send(judge, asked, reply.encode("utf-8", "replace"))
                answer, _ = _receive(judge)
                if "used up" in answer:
                    raise _UsedUp
        except _UsedUp:
            return Verdict(0.0, question.points, "failed", "too-much-to-judge", [_TOO_MUCH])
        except (OSError, EOFError):
            continue  # somebody else ended it, or the machine stood still: the reply is not to blame
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return Verdict(**answer)
    raise RuntimeError(f"{_TRIES} judges in a row were ended from outside: is memory short here?")


# ------------------------------------------------------------------------ the grader's side

_idle: list[nursery.Helper] = []
_idle_of = 0  # the process that they serve: after a fork they are the parent's
_taking = threading.Lock()


@contextlib.contextmanager
def _borrow_judge() -> Iterator[BinaryIO]:
    """Lend a connection to a judge that nobody else uses; it comes back unless it failed."""
    global _idle_of
    with _taking:
        if _idle_of != os.getpid():
            _idle.clear()
            _idle_of = os.getpid()
        helper = _idle.pop() if _idle else None
    helper = helper or nursery.share_nursery().lend(__name__)
    helper.connection.settimeout(budgets.JUDGE_WAIT)
    try:
        with helper.connection.makefile("rwb") as stream:
            yield stream
    except BaseException:
        helper.end()
        raise
    with _taking:
        _idle.append(helper)


def _send(stream: BinaryIO, content: dict, reply: bytes = b"") -> None:
    words = json.dumps(content).encode()
    stream.write(_HEAD.pack(len(words), len(reply)))
    stream.write(words)
    stream.write(reply)
    stream.flush()


def _receive(stream: BinaryIO) -> tuple[dict, bytes]:
    words, reply = _HEAD.unpack(_read(stream, _HEAD.size))
    return json.loads(_read(stream, words)), _read(stream, reply)


def _read(stream: BinaryIO, size: int) -> bytes:
    content = stream.read(size)
    if len(content) < size:
        raise EOFError
    return content


# -------------------------------------------------------------------------- the judge's side


def serve(connection: socket.socket) -> None:
    """Be a judge's keeper: when it ends by a limit of its own, say so to the grader.

    How a process ended is known to its parent alone, and only that tells a reply that was too much
    from a judge that somebody else killed.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    judge = os.fork()
    if judge == 0:
        walls.die_with_parent()
        _serve(connection)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(judge, 0)[1])
    if code in (_OUT_OF_MEMORY, -signal.SIGPROF):
        with contextlib.suppress(OSError), connection.makefile("rwb") as stream:
            _send(stream, {"used up": True})


def _serve(connection: socket.socket) -> None:
    """Judge one reply after another until the grader is gone."""
    walls.limit_memory(budgets.JUDGE_MEMORY)
    with connection.makefile("rwb") as stream:
        while True:
            try:
                asked, reply = _receive(stream)
            except (OSError, EOFError):
                return
            try:
                answer = _judge(Question(**asked["question"]), reply.decode(), asked["seconds"])
            except MemoryError:
                os._exit(_OUT_OF_MEMORY)
            except Exception as problem:  # a mistake of ours: the grader says so, as its own
                answer = {"error": f"judging failed: {type(problem).__name__}: {problem}"}
            _send(stream, answer)


def _judge(question: Question, reply: str, seconds: float) -> dict:
    warm_up(question.module)  # what it imports is no fault of the reply's
    signal.setitimer(signal.ITIMER_PROF, seconds)  # of the processor; its signal ends the process
    try:
        return asdict(question.decide("ok", reply))
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
