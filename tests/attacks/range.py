"""The attack range as a class: every attack by every door, at every level that this machine can show.

    python -m tests.attacks.range            # all of it, into docs/security.md; as root, about an hour
    python -m tests.attacks.range --few      # the probes and a dozen attacks
    python -m tests.attacks.range --door collect   # this door alone; its rows are replaced
    python -m tests.attacks.range --here     # at the level of this process alone; prints JSON

Each attack is a student of its own, beside two honest ones. The probes share one notebook. A level is a
process that this one starts: as another user, or with a filter that refuses namespaces.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from autograder import budgets

if __name__ == "__main__":
    budgets.CELL_SECONDS, budgets.ASK_SECONDS = 5, 4  # before anything takes them over

import nbformat

from autograder.blueprint import load_blueprint
from autograder.course import _read_course, load_assignment
from autograder.demo.personas import fill_in, solve_all
from autograder.files import remove_tree, replace_file
from autograder.kernel import nursery, seccomp, walls
from autograder.kernel.isolation import measure_isolation
from tests.attacks.attacks import ATTACKS
from tests.attacks.damages import NAME
from tests.attacks.probes import (
    ODD_VALUES,
    PROBES,
    add_odd_values,
    add_probes,
    aim,
    find_loot,
)
from tests.attacks.test_damages import (
    DOORS,
    come_by_downloads,
    grade_by_class,
    grade_by_collect,
)
from tests.conftest import FULL, ROOT

HONEST = ("ada", "zoe")
MARK = "planted-by-an-attack"
FEW = {"allclose", "forged-reply", "walk-memory", "classmate", "truncate-classmate", "daemon", "exit", "memfd",
       "points", "fake-torch", "symlink", "stops-itself"}  # fmt: skip
LEVELS = {  # the user, and whether namespaces may be made
    "root": (0, True),
    "root, no namespaces": (0, False),
    "a user": (65534, True),
    "a user, no namespaces": (65534, False),
}
_BEGIN, _END = "<!-- the range begins -->", "<!-- the range ends -->"


# --------------------------------------------------------------------------------- handing in


def hand_in(grading: Path, few: bool, walled: bool, port: int) -> int:
    """Write a class of attackers and two honest students; return the number of attacks.

    Below full walls those that only namespaces can stop are left out.
    """
    assignment = load_assignment("attention", ROOT)
    blueprint = load_blueprint(assignment, NAME.split(".")[0])
    submitted = grading / "submitted"
    victim = submitted / HONEST[0] / "attention" / NAME
    world = {
        "<COURSE>": str(ROOT), "<CLASSMATE>": str(victim), "<GRADER>": str(os.getpid()),
        "<NURSERY>": str(nursery.share_nursery().pid), "<PORT>": str(port), "<MARK>": MARK,
        "<OWNER>": str(os.getuid()), "<HOME>": str(Path.home()), "<GRADING>": str(grading),
    }  # fmt: skip

    def write(student: str, notebook, prepare=None) -> None:
        folder = submitted / student / "attention"
        folder.mkdir(parents=True)
        if prepare:
            prepare(notebook, folder)
        nbformat.write(notebook, folder / NAME)

    for student in HONEST:
        write(student, fill_in(blueprint, solve_all(blueprint)))
    chosen = [a for a in ATTACKS if (walled or not a.walls) and (not few or a.name in FEW)]
    for attack in chosen:
        codes = {"q_select_first": aim(attack.code, world)} if attack.code else {}
        write(attack.name, fill_in(blueprint, codes), attack.prepare)
    for number, notebook in enumerate(add_odd_values(blueprint)):
        write(f"odd-values-{number}", notebook)
    write("probes", add_probes(blueprint, world))
    return len(chosen) + len(ODD_VALUES) + len(PROBES)


# ----------------------------------------------------------------------------------- one level


def try_here(few: bool, only: str | None = None) -> dict:
    """Try everything at the level of this process; return what was found, by door."""
    os.chdir(ROOT)
    os.environ["COURSE_ISOLATION"] = "process"
    level = measure_isolation()
    walled = level.level == "walls"
    found: dict = {"level": level.level, "doors": {}}
    with socket.create_server(("127.0.0.1", 0)) as door:
        for name, grade in DOORS.items():
            if only not in (None, name):
                continue
            with _scratch() as grading:
                os.environ["COURSE_GRADING"] = str(grading)
                _read_course.cache_clear()
                attacks = hand_in(grading, few, walled, door.getsockname()[1])
                if grade is grade_by_collect:
                    come_by_downloads(grading)
                    grade = grade_by_class
                before = _look_outside(grading)
                scores = grade(grading)
                row = {
                    "attacks": attacks,
                    "gained": [s for s, score in scores.items() if score and s not in HONEST],
                    "honest lost": [s for s in HONEST if scores.get(s) != FULL],
                    "not graded": sorted(_list_students(grading) - scores.keys()),
                    "loot": _find_loot(grading, walled),
                    "changed": [] if _look_outside(grading) == before else ["something"],
                }
                found["doors"][name] = row
                print(f"{os.getuid()} {level.level} {name}: {row}", file=sys.stderr, flush=True)
    return found


def _list_students(grading: Path) -> set[str]:
    return {path.name for path in (grading / "submitted").iterdir()}


@contextlib.contextmanager
def _scratch():
    folder = Path(tempfile.mkdtemp(prefix="range-")).resolve()
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        remove_tree(folder)


def _look_outside(grading: Path) -> list:
    """Return what no attack may change: others' work, the course, what starts by itself."""
    home = Path.home()
    planted = [
        home / ".ipython" / "profile_default" / "startup" / f"{MARK}.py", home / f".{MARK}",
        *(Path(place) / MARK for place in ("/tmp", "/var/tmp", "/dev/shm", "/etc")),
    ]  # fmt: skip
    victim = grading / "submitted" / HONEST[0] / "attention" / NAME
    facts = victim.stat()
    return [
        [path.exists() for path in planted], facts.st_mtime, facts.st_mode, facts.st_uid,
        victim.read_bytes(), os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0),
        (ROOT / "course_utils" / "queries.py").read_bytes(),
    ]  # fmt: skip


def _find_loot(grading: Path, walled: bool) -> list[str] | None:
    """Return the attacks that printed LOOT, or None where a door leaves no notebook to look into."""
    notebooks = list(grading.glob(f"autograded/*/attention/{NAME}"))
    if not notebooks:
        return None
    allowed = set() if walled else {probe.name for probe in PROBES if probe.open_below}
    found = set()
    for path in notebooks:
        found |= find_loot(nbformat.read(path, 4), otherwise=path.parent.parent.name)
    return sorted(found - allowed)


# ------------------------------------------------------------------------------------ all levels


def try_all(few: bool, only: str | None = None) -> dict[str, dict]:
    """Try every level in a process of its own; as root."""
    if ROOT.is_relative_to("/root"):
        sys.exit("Another user cannot reach this folder: clone the course outside /root.")
    found = {}
    for name in LEVELS:
        command = [sys.executable, "-m", "tests.attacks.range", "--as", name, "--here"]
        more = ["--few"] * few + (["--door", only] if only else [])
        done = subprocess.run(
            command + more, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False
        )
        if done.returncode:
            sys.exit(f"Nothing could be tried as {name!r}, so no table is written; see above.")
        found[name] = json.loads(done.stdout.splitlines()[-1])
    return found


def become(level: str) -> None:
    """Turn this process into the one whose level is to be tried."""
    user, namespaces = LEVELS[level]
    libc = ctypes.CDLL(None, use_errno=True)
    if user:
        _open_the_way(libc)
        home = tempfile.mkdtemp(prefix="home-")
        os.chown(home, user, user)
        os.environ |= {"HOME": home, "TMPDIR": home}
        tempfile.tempdir = None
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    if not namespaces:
        libc.prctl(38, 1, 0, 0, 0)  # no new privileges: without, nobody may set a filter
        seccomp.refuse_calls(libc, keep_permissions=False)


def _open_the_way(libc) -> None:
    """Let another user reach a Python below /root, in a mount namespace that only we see."""
    python = Path(os.path.realpath(sys.executable)).parents[1]
    if not python.is_relative_to("/root"):
        return
    walls.unshare(walls.NEWNS)
    kept = tempfile.mkdtemp(prefix="python-")
    os.chmod(kept, 0o755)
    for source, target, kind, flags in (
        (None, "/", None, 16384 | 1 << 18),
        (str(python), kept, None, 4096),
        ("tmpfs", "/root", "tmpfs", 0),
    ):
        _mount(libc, source, target, kind, flags)
    python.mkdir(parents=True)
    os.chmod("/root", 0o755)
    _mount(libc, kept, str(python), None, 4096)


def _mount(libc, *arguments) -> None:
    words = [word.encode() if isinstance(word, str) else word for word in arguments]
    if libc.mount(*words, None):
        raise OSError(ctypes.get_errno(), "mount", arguments[1])


def describe(found: dict[str, dict], before: str = "") -> str:
    """Return the table for docs/security.md; rows of other doors stay as they were `before`."""
    kept = {tuple(line.split(" | ")[:3]): line for line in before.splitlines()[2:] if " | " in line}
    lines = [
        "| run as | isolation | door | attacks | gained a point | got through | honest lost a point "
        "| not graded | changed outside |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for level, result in found.items():
        start = (f"| {level}", result["level"])
        for door in DOORS:
            row = result["doors"].get(door)
            if row is None:
                lines += [kept[*start, door]] if (*start, door) in kept else []
                continue
            counts = [
                "not seen" if row[key] is None else ", ".join(row[key]) or "0"
                for key in ("gained", "loot", "honest lost", "not graded", "changed")
            ]
            cells = [level, result["level"], door, str(row["attacks"]), *counts]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.attacks.range")
    parser.add_argument("--few", action="store_true")
    parser.add_argument("--here", action="store_true")
    parser.add_argument("--door", choices=DOORS)
    parser.add_argument("--as", dest="level", choices=LEVELS, default="root")
    options = parser.parse_args()
    if options.here:
        become(options.level)
        print(json.dumps(try_here(options.few, options.door)))
        return
    found = try_all(options.few, options.door)
    page = ROOT / "docs" / "security.md"
    text = page.read_text("utf-8")
    before, table = text.split(_BEGIN)
    table, after = table.split(_END)
    rows = describe(found, table.strip())
    replace_file(page, f"{before}{_BEGIN}\n{rows}\n{_END}{after}".encode())
    print(rows)


if __name__ == "__main__":
    main()
