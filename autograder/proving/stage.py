"""A stage: one warm process in which a notebook's cells have run, forked for every piece of work.

What is tried here runs the very programs of the exercises and is judged by the very rules that grade
students, but without a kernel's walls: it is our own code. All draws of one piece of work run in one
forked process, one after the other, as one kernel would run them.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import select
import signal
import subprocess
import symtable
import sys
import tempfile
import time
import traceback
from functools import lru_cache
from pathlib import Path

from autograder.blueprint import Blueprint, is_kept, load_blueprint
from autograder.course import CourseError, load_assignment
from autograder.kernel import wire

PATIENCE = 10  # seconds of a processor's time that one piece of work gets for all its draws ...
_WAIT = 300  # ... and seconds by the clock, where others keep the processor busy
_PATIENCE_START = 180  # seconds that a notebook's cells may take
_ROOM = 6 * 2**30  # bytes of address space


class Stage:
    """The process of one notebook. Use it as a context manager."""

    def __init__(self, blueprint: Blueprint):
        self.blueprint = blueprint

    def __enter__(self) -> Stage:
        # A process of its own, not a fork of this one: here the judge works with gradients, and
        # whatever is forked after that cannot.
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "autograder.proving.stage",
                self.blueprint.assignment,
                self.blueprint.name,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        self._rest = b""
        ready = self._read(time.monotonic() + _PATIENCE_START)
        if ready != {"ready": True}:
            self.__exit__()
            raise CourseError(f"{self.blueprint.name} cannot be set up to be proven: {ready}")
        return self

    def __exit__(self, *_) -> None:
        self._process.stdin.close()
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()

    def perform(self, code: str, asks: list[tuple[str, str]]) -> list[tuple[str, dict]]:
        """Run code in the notebook, then each (program, inputs); return a status and values for each.

        A status is "ok", "timeout" or "crashed", as a kernel's is.
        """
        self._process.stdin.write(json.dumps({"code": code, "asks": asks}).encode() + b"\n")
        self._process.stdin.flush()
        answers: list[tuple[str, dict]] = []
        while True:
            message = self._read(time.monotonic() + _WAIT + 60)
            if message is None:
                raise RuntimeError(f"{self.blueprint.name}: the stage does not answer any more.")
            if "end" in message:
                missing = len(asks) - len(answers)
                return answers + [(message["end"], {})] * missing
            answers.append(("ok", wire.load(message["reply"])))

    def _read(self, deadline: float) -> dict | None:
        while True:
            while b"\n" not in self._rest:
                wait = max(0.0, deadline - time.monotonic())
                ready, _, _ = select.select([self._process.stdout], [], [], wait)
                piece = os.read(self._process.stdout.fileno(), 2**20) if ready else b""
                if not piece:
                    return None
                self._rest += piece
            line, _, self._rest = self._rest.partition(b"\n")
            with contextlib.suppress(ValueError):  # half a line of a process that was ended
                return json.loads(line)


def run_cells(blueprint: Blueprint) -> dict:
    """Return the namespace of a notebook whose cells have run with the instructor's solutions.

    Checks are left out, also where a plain cell calls one: what they do with gradients would keep
    the processes that are forked from doing the same.
    """
    namespace = {"__name__": "__main__"}
    for slot in blueprint.slots:
        if slot.source.cell_type != "code" or slot.role == "check" or is_kept(slot.source):
            continue
        source = blueprint.solutions[slot.grade_id] if slot.role == "solve" else slot.release.source
        if slot.role == "plain" and ("check(" in source or source.lstrip().startswith(("%", "!"))):
            continue
        exec(compile(source, f"<cell {slot.index}>", "exec"), namespace)
    return namespace


# -------------------------------------------------------------------- inside the stage's process


@lru_cache(maxsize=64)
def _compile(program: str):
    """Compile a program, and import what it imports: here, and not in every fork."""
    compiled = compile(program, "<judge>", "exec")
    exec(compiled, {"Missing": wire.Missing, "Unusable": wire.Unusable})
    return compiled


def _answer(program: str, namespace: dict, inputs: str) -> str:
    """Do what `wire.answer` does, with the program compiled only once."""
    scope = {"Missing": wire.Missing, "Unusable": wire.Unusable}
    exec(_compile(program), scope)
    return wire.dump(scope["probe"](namespace, wire.load(inputs)))


def serve(assignment: str, notebook: str) -> None:
    """Set a notebook up and perform what is asked for, until nobody asks any more."""
    os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "MPLBACKEND": "agg"}
    asks, replies = os.dup(0), os.dup(1)
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silence, stream)
    try:
        with tempfile.TemporaryDirectory(prefix="stage-") as scratch:
            os.chdir(scratch)
            import torch

            torch.set_num_threads(1)  # threads do not survive a fork
            blueprint = load_blueprint(load_assignment(assignment), notebook)
            for module in blueprint.warm_imports:
                importlib.import_module(module)
            namespace = run_cells(blueprint)
            _say(replies, {"ready": True})
            rest = b""
            while True:
                while b"\n" not in rest:
                    piece = os.read(asks, 2**20)
                    if not piece:
                        os._exit(0)
                    rest += piece
                line, _, rest = rest.partition(b"\n")
                _perform(json.loads(line), namespace, replies)
    except BaseException:
        _say(replies, {"trouble": traceback.format_exc()})
        os._exit(1)


def _say(replies: int, message: dict) -> None:
    data = json.dumps(message).encode() + b"\n"
    while data:
        data = data[os.write(replies, data) :]


def _perform(task: dict, namespace: dict, replies: int) -> None:
    for program, _ in task["asks"]:
        _compile(program)
    child = os.fork()
    if child == 0:
        try:
            resource.setrlimit(resource.RLIMIT_AS, (_ROOM, _ROOM))
            _forget_what_is_defined(task["code"], namespace)
            with contextlib.suppress(Exception):  # it leaves what it had defined, as in a kernel
                exec(compile(task["code"], "<cell>", "exec"), namespace)
            for program, inputs in task["asks"]:
                try:
                    reply = _answer(program, namespace, inputs)
                except BaseException:
                    reply = "{}"  # as from a kernel in which the judge's program failed
                _say(replies, {"reply": reply})
        finally:
            os._exit(0)
    deadline, end = time.monotonic() + _WAIT, "crashed"
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        if time.monotonic() > deadline or _measure_work(child) > PATIENCE:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            end = "timeout"
            break
        time.sleep(0.003)
    os.write(replies, b"\n")  # ends the half line that an ended process may have left
    _say(replies, {"end": end})


def _forget_what_is_defined(code: str, namespace: dict) -> None:
    """Take away the instructor's definition of whatever the code defines: where it stops halfway, nothing stands in."""
    with contextlib.suppress(SyntaxError):
        for symbol in symtable.symtable(code, "<cell>", "exec").get_symbols():
            if symbol.is_assigned():
                namespace.pop(symbol.get_name(), None)


def _measure_work(process: int) -> float:
    """Return the seconds of a processor's time that a process has used; 0 where nobody knows."""
    try:
        facts = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(facts[11]) + int(facts[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    serve(*sys.argv[1:])
