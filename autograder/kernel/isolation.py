"""How well a student's process is walled in here: found out by trying to break out."""

from __future__ import annotations

import json
import os
import socket
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from autograder.course import CourseError
from autograder.kernel import nursery, provisioner

LEVELS = ("process", "fence", "walls")  # from weakest to strongest

# What a student might try. Runs where a student's code would run; each line that succeeds is a
# hole. Written as text because nothing of the autograder exists in there.
_ATTEMPTS = """
import json, os, signal, socket

def attempt(action):
    try:
        action()
    except BaseException:
        return False
    return True

def read(path):
    with open(path) as file:
        file.read(1)

def write(path):
    with open(path, "w") as file:
        file.write("x")

secrets = request["secrets"]
found = {
    "read the course's files": any(attempt(lambda p=p: read(p)) for p in secrets["files"]),
    "write outside its folder": attempt(lambda: write(secrets["outside"])),
    "see the grader's process": attempt(lambda: read(f"/proc/{secrets['pid']}/status")),
    "signal the grader": attempt(lambda: os.kill(secrets["pid"], 0)),
    "use the network": attempt(
        lambda: socket.create_connection(("127.0.0.1", secrets["port"]), 2).close()
    ),
}
with open(os.path.join(request["channel"], "found.json"), "w") as file:
    json.dump(found, file)
"""


@dataclass(frozen=True)
class Isolation:
    """The level in force, the walls that stand, and what a student's code could still do."""

    level: str
    walls: tuple[str, ...]
    holes: tuple[str, ...]

    @property
    def sentence(self) -> str:
        words = {
            "walls": "walls: the student's code sees only its own folder, has no network and "
            "cannot reach the grader",
            "fence": "fence: the student's code cannot open the course's files",
            "process": "process: the student's code runs in a process of its own",
        }[self.level]
        return f"{words}; it can {', '.join(self.holes)}" if self.holes else words


@cache
def measure_isolation() -> Isolation:
    """Try to break out of a kernel's walls, once; return what was found."""
    if not nursery.is_possible():
        return Isolation("process", (), ("read and write your files", "use the network"))
    with tempfile.TemporaryDirectory() as scratch, socket.create_server(("127.0.0.1", 0)) as door:
        os.chmod(scratch, 0o711)  # what lies in it may be another user's
        outside = Path(scratch) / "outside"
        outside.mkdir()
        (outside / "secret").write_text("x")
        folder, channel = (Path(scratch) / name for name in ("folder", "channel"))
        folder.mkdir()
        channel.mkdir()
        request = provisioner.make_request(folder, channel, {}, [], with_walls=True)
        request["program"] = _ATTEMPTS
        request["secrets"] = {
            "files": [str(outside / "secret"), str(Path(__file__).resolve())],
            "outside": str(outside / "made"),
            "pid": os.getpid(),
            "port": door.getsockname()[1],
        }
        kernel = nursery.share_nursery().spawn(request)
        kernel.wait(60)
        try:
            found = json.loads((channel / "found.json").read_text())
        except (OSError, ValueError):
            found = {"do what it likes (the walls could not be tried)": True}
    holes = tuple(what for what, possible in found.items() if possible)
    if not holes:
        level = "walls"
    elif "read the course's files" in holes or len(found) == 1:
        level = "process"
    else:
        level = "fence"
    return Isolation(level, tuple(kernel.walls), holes)


def require_isolation(level: str) -> None:
    """Refuse to go on below a level."""
    found = measure_isolation()
    if LEVELS.index(found.level) < LEVELS.index(level):
        raise CourseError(
            f"Isolation {level!r} was asked for, but this machine gives {found.level!r} "
            f"({found.sentence}). Nothing was graded. `python -m autograder doctor` says how to "
            "get more."
        )
