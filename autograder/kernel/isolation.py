"""How well a student's process is walled in here: found out by trying to break out."""

from __future__ import annotations

import json
import os
import select
import socket
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from autograder.course import CourseError
from autograder.kernel import nursery, provisioner, walls
from autograder.kernel.session import find_short_folder

SYSTEM = {"darwin": "macOS", "win32": "Windows"}.get(sys.platform, sys.platform)
LEVELS = ("process", "fence", "walls")  # from weakest to strongest

READS_THE_COURSE = "read the course's files"
_ABOUT_FILES = (
    READS_THE_COURSE, "write outside its folder", "empty your files",
    "change your files' permissions",
)  # fmt: skip

# What a student might try. Runs where a student's code would run; each line that succeeds is a
# hole. Written as text because nothing of the autograder exists in there.
_ATTEMPTS = """
import json, os, signal, socket, time

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

def send(port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.sendto(b"x", ("127.0.0.1", port))

def survive(path):
    alive = socket.socket(socket.AF_UNIX)
    alive.connect(path)
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(60)  # with the connection open
        os._exit(0)
    os.wait()
    alive.close()

secrets = request["secrets"]
found = {
    "read the course's files": any(attempt(lambda p=p: read(p)) for p in secrets["files"]),
    "write outside its folder": attempt(lambda: write(secrets["outside"])),
    "see the grader's process": attempt(lambda: read(f"/proc/{secrets['pid']}/status")),
    "read the grader's environment": attempt(lambda: read(f"/proc/{secrets['pid']}/environ")),
    "signal the grader": attempt(lambda: os.kill(secrets["pid"], 0)),
    "use the network": attempt(
        lambda: socket.create_connection(("127.0.0.1", secrets["port"]), 2).close()
    ),
}
# What of these had an effect is seen from outside: a call may only say that it worked.
attempt(lambda: os.truncate(secrets["victim"], 0))
attempt(lambda: os.chmod(secrets["victim"], 0o600))
attempt(lambda: send(secrets["udp port"]))
attempt(lambda: survive(os.path.join(request["channel"], "alive")))
with open(os.path.join(request["channel"], "found.json"), "w") as file:
    json.dump({"found": found, "uid": os.getuid()}, file)
"""


@dataclass(frozen=True)
class Isolation:
    """The level in force, the walls that stand, and what a student's code could still do."""

    level: str
    walls: tuple[str, ...]
    holes: tuple[str, ...]
    in_the_way: str = ""  # why there are not more walls, where the system told us
    same_user: bool = False  # a student's code runs with the grader's own name

    @property
    def sentence(self) -> str:
        words = {
            "walls": "walls: the student's code sees only its own folder, has no network and "
            "cannot reach the grader",
            "fence": "fence: the student's code cannot open the course's files",
            "process": "process: the student's code runs in a process of its own",
        }[self.level]
        if self.holes:
            words += f"; it can {', '.join(self.holes)}"
        if self.in_the_way:
            words += f" (for more walls, this is in the way: {self.in_the_way})"
        return words


@cache
def measure_isolation() -> Isolation:
    """Try to break out of a kernel's walls, once; return what was found."""
    if not nursery.is_possible():
        holes = ("read and write your files", "use the network")
        why = f"walls are built on Linux, and this is {SYSTEM}"
        return Isolation("process", (), holes, why, same_user=True)
    with (
        tempfile.TemporaryDirectory(dir=find_short_folder()) as scratch,
        socket.create_server(("127.0.0.1", 0)) as door,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
        socket.socket(socket.AF_UNIX) as alive,
    ):
        os.chmod(scratch, 0o711)  # what lies in it may be another user's
        udp.bind(("127.0.0.1", 0))
        outside = Path(scratch) / "outside"
        outside.mkdir()
        (outside / "secret").write_text("x")
        victim = outside / "victim"
        victim.write_text("x")
        victim.chmod(0o644)
        folder, channel = (Path(scratch) / name for name in ("folder", "channel"))
        folder.mkdir()
        channel.mkdir()
        alive.bind(str(channel / "alive"))
        (channel / "alive").chmod(0o777)
        alive.listen()
        request = provisioner.make_request(folder, channel, {}, [], with_walls=True)
        request["program"] = _ATTEMPTS
        request["secrets"] = {
            "files": [str(outside / "secret"), str(Path(__file__).resolve())],
            "outside": str(outside / "made"),
            "pid": os.getpid(),
            "port": door.getsockname()[1],
            "udp port": udp.getsockname()[1],
            "victim": str(victim),
        }
        warm = nursery.share_nursery()
        kernel = warm.spawn(request)
        kernel.wait(60)
        try:
            said = json.loads((channel / "found.json").read_text())
            found, uid = said["found"], said["uid"]
        except (OSError, ValueError, KeyError, TypeError):
            found, uid = {"do what it likes (the walls could not be tried)": True}, os.getuid()
        else:
            found["empty your files"] = victim.stat().st_size == 0
            found["change your files' permissions"] = victim.stat().st_mode & 0o777 != 0o644
            found["send packets (UDP)"] = _has_arrived(udp)
            found["leave programs running"] = _is_still_there(alive)
    holes = tuple(what for what, possible in found.items() if possible)
    if not holes:
        level = "walls"
    elif any(what in _ABOUT_FILES for what in holes) or len(found) == 1:
        level = "process"
    else:
        level = "fence"
    in_the_way = warm.facts["in the way"]
    if READS_THE_COURSE in holes:
        in_the_way = find_exposure(Path(__file__).resolve()) or in_the_way
    return Isolation(level, tuple(kernel.walls), holes, in_the_way, uid == os.getuid())


def find_exposure(file: Path) -> str:
    """Say so when the course itself lies where every kernel has to read, as beside Python."""
    for folder in (*walls.SYSTEM_FOLDERS, *provisioner.find_visible()):
        if file.is_relative_to(folder):
            return f"the course lies in {folder}, which Python needs; put the course somewhere else"
    return ""


def _has_arrived(udp: socket.socket) -> bool:
    return bool(select.select([udp], [], [], 0.05)[0])


def _is_still_there(alive: socket.socket) -> bool:
    """Does somebody who connected before the kernel ended hold the connection still?"""
    if not select.select([alive], [], [], 0)[0]:
        return False
    with alive.accept()[0] as connection:
        return not select.select([connection], [], [], 2)[0]  # an end can be read, silence cannot


def require_enough() -> None:
    """Refuse to run strangers' code with the grader's own name behind less than all walls.

    COURSE_ISOLATION names the level that is enough for somebody who knows better.
    """
    told = os.environ.get("COURSE_ISOLATION", "")
    if told and told not in LEVELS:
        raise CourseError(f"COURSE_ISOLATION is {told!r}; it can be {', '.join(LEVELS)}.")
    if told:
        require_isolation(told)
        return
    found = measure_isolation()
    if found.same_user and found.level != "walls":
        raise CourseError(
            "Students' code would run here under your own name, behind less than full walls "
            f"({found.sentence}). Nothing was graded. `python -m autograder doctor` says how to get "
            "more. If you trust what was handed in, allow it: --require-isolation "
            f"{found.level}, or COURSE_ISOLATION={found.level} for nbgrader."
        )


def require_isolation(level: str) -> None:
    """Refuse to go on below a level."""
    found = measure_isolation()
    if LEVELS.index(found.level) < LEVELS.index(level):
        raise CourseError(
            f"Isolation {level!r} was asked for, but this machine gives {found.level!r} "
            f"({found.sentence}). Nothing was graded. `python -m autograder doctor` says how to "
            "get more."
        )
