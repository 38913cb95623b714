"""Walls around a student's process: what it may see, reach and use up.

`build_walls` is called in a freshly forked process, before any of the student's code. It applies
what the system allows and returns which walls stand. Nothing here is assumed to have worked:
`isolation.py` tries to break out and reports what it could do.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import platform
import shutil
import struct
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from autograder import budgets
from autograder.kernel import landlock, seccomp
from course_utils.bounded import limit_memory

# This module is imported everywhere, and walls are built on Linux alone: see `nursery.is_possible`.
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None

# unshare(2) and mount(2)
NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = (
    0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip
_RDONLY, _NOSUID, _NODEV, _REMOUNT, _BIND, _REC, _PRIVATE = 1, 2, 4, 32, 4096, 16384, 1 << 18
_LOCKED = 1 | 2 | 4 | 8 | 1024  # read-only, nosuid, nodev, noexec, noatime: as statvfs(3) has them
_MNT_DETACH = 2
# pivot_root(2) has no function in the C library, and its number is another on each machine.
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "arm64": 41, "riscv64": 41, "loongarch64": 41,
               "ppc64le": 203, "s390x": 217}  # fmt: skip
# prctl(2)
_PDEATHSIG, _DUMPABLE, _CHILD_SUBREAPER, _NO_NEW_PRIVS = 1, 4, 36, 38
SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/alternatives")
_SYSTEM_FILES = (
    "/etc/ld.so.cache", "/etc/localtime", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf",
    "/etc/mime.types", "/etc/fonts",
)  # fmt: skip
IN_MEMORY = ("tmp", "var/tmp", "dev/shm")  # file systems of a kernel's own
_DEVICES = ("null", "zero", "full", "random", "urandom")


@dataclass(frozen=True)
class Limits:
    """What one kernel may use up."""

    memory: int = budgets.MEMORY  # bytes beyond what it is born with
    whole_memory: int = budgets.WHOLE_MEMORY  # of it and its children, and of its files in memory
    processes: int = budgets.PROCESSES
    open_files: int = budgets.OPEN_FILES
    file_size: int = budgets.FILE_SIZE
    folder_size: int = budgets.FOLDER_SIZE  # its work folder, and its temporary folder
    channel_size: int = budgets.CHANNEL_SIZE  # the folder of its sockets


@dataclass(frozen=True)
class Plan:
    """What one kernel gets: its folder, the folder of its sockets, what it may read."""

    folder: str
    channel: str
    visible: tuple[str, ...]
    identity: int | None = None  # the user id to run as, where we may choose
    limits: Limits = field(default_factory=Limits)


def choose_namespaces() -> tuple[int, str]:
    """Return the namespaces that walls can be built with here, as flags, and what is in the way.

    Everything is tried in a process of its own, with a new root in a scratch folder: a system may
    let us make namespaces and refuse what has to be done inside. Then there are fewer walls, one
    level down, and the words say why; with flags 0 there are no namespaces at all.
    """
    everything = NEWNS | NEWUTS | NEWIPC | NEWPID | NEWNET
    as_user = 0 if os.geteuid() == 0 else NEWUSER
    reasons = []
    for flags in (everything | as_user, (everything & ~NEWNS) | as_user):
        reason = _try_namespaces(flags)
        if not reason:
            return flags, "; ".join(reasons)
        reasons.append(reason)
    return 0, "; ".join(dict.fromkeys(reasons))


def _try_namespaces(flags: int) -> str:
    """Build a throw-away kernel's namespaces and root; return why that fails, or nothing."""
    with tempfile.TemporaryDirectory() as scratch:
        os.chmod(scratch, 0o711)
        plan = Plan(f"{scratch}/folder", f"{scratch}/channel", visible=())
        os.mkdir(plan.folder)
        os.mkdir(plan.channel)
        reading, writing = os.pipe()
        keeper = os.fork()
        if keeper == 0:
            os.close(reading)
            _enter_namespaces(plan, flags, writing)
        os.close(writing)
        with os.fdopen(reading, encoding="utf-8", errors="replace") as pipe:
            reason = pipe.read()
        ended = os.waitstatus_to_exitcode(os.waitpid(keeper, 0)[1])
    return reason or (f"the trial ended with status {ended}" if ended else "")


def _enter_namespaces(plan: Plan, flags: int, told: int) -> None:
    """Do, in a forked process, what a kernel's keeper and the kernel will do. Never returns."""
    code = 1
    try:
        unshare(flags)
        child = os.fork()  # a new process namespace begins with the next process
        if child:
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        else:
            if flags & NEWNS:
                _change_root(plan)
            code = 0
    except BaseException as problem:
        os.write(told, str(getattr(problem, "strerror", "") or problem).encode())
    finally:
        os._exit(code)


def unshare(flags: int) -> None:
    """Leave the namespaces of the grader; in a user namespace, keep the own identity."""
    uid, gid = os.getuid(), os.getgid()
    _call("unshare", flags)
    if flags & NEWUSER:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")


def adopt_orphans() -> None:
    """Become the parent of whatever this process's children leave behind, so that it can be ended."""
    _libc.prctl(_CHILD_SUBREAPER, 1, 0, 0, 0)


def offer_to_the_memory_killer() -> None:
    """When the machine runs out of memory, this process goes first, and not the grader."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("900")


def die_with_parent() -> None:
    """Ask the kernel to end this process when the one that made it ends."""
    _libc.prctl(_PDEATHSIG, 9, 0, 0, 0)


def build_walls(plan: Plan, flags: int) -> list[str]:
    """Put up every wall that stands here; return their names. `flags` were unshared before."""
    walls = []
    identity = plan.identity
    if flags & NEWNET:
        walls += ["processes", "network"]
    if flags & NEWNS:
        _change_root(plan)
        walls.append("files")
    else:
        if not _can_others_import():
            identity = (
                None  # another user could not even start a kernel, as with Python under /root
            )
        _give_to(identity, Path(plan.folder), Path(plan.channel))
        os.chdir(plan.folder)
        walls += _restrict_files(plan)
    _set_limits(plan.limits)
    _drop_rights(identity)
    die_with_parent()  # changing identity has taken this back
    if seccomp.refuse_calls(_libc, keep_permissions=not flags & NEWNS):
        walls.append("calls")
    return [*walls, "limits", "rights"]


def shut_in(readable: list[str]) -> None:
    """Wall this process in where it is: it reads a few folders, and talks through what it has open.

    For work of our own on files of a student's, such as drawing a PDF. What stands here stands.
    """
    if _libc is None:
        return
    import resource

    with contextlib.suppress(OSError):
        unshare(NEWNET | NEWIPC | (0 if os.geteuid() == 0 else NEWUSER))
    landlock.restrict(_libc, readable=readable, writable=[], devices=[])
    for kind in (resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC, resource.RLIMIT_CORE):
        resource.setrlimit(kind, (0, 0))
    offer_to_the_memory_killer()
    _drop_rights(choose_identity())
    seccomp.refuse_calls(_libc, keep_permissions=True)


# ------------------------------------------------------------------------------------- files


def _change_root(plan: Plan) -> None:
    """Make a new root that holds what may be seen, and nothing else."""
    _mount(None, "/", None, _REC | _PRIVATE)
    root = Path(plan.channel) / "root"
    root.mkdir()
    _mount("tmpfs", root, "tmpfs", _NOSUID | _NODEV, "size=16m,mode=755")
    size = f"size={plan.limits.folder_size},mode=1777"
    # First of all: what may be seen can lie below one of these.
    for name in IN_MEMORY:
        _mount("tmpfs", _make_folder(root / name), "tmpfs", _NOSUID | _NODEV, size)
    for name in (*SYSTEM_FOLDERS, *_SYSTEM_FILES, *plan.visible):
        if os.path.islink(name) and name in SYSTEM_FOLDERS:
            _place(root, name).symlink_to(os.readlink(name))
        elif os.path.exists(name):
            _bind(name, _make_place(root, name), read_only=True)
    for name in _DEVICES:
        (root / "dev" / name).touch()
        _mount(f"/dev/{name}", root / "dev" / name, None, _BIND)
    # The folder's own content, on a file system that is thrown away with the kernel.
    folder = _make_folder(_place(root, plan.folder))
    _mount("tmpfs", folder, "tmpfs", _NOSUID | _NODEV, size)
    shutil.copytree(plan.folder, folder, symlinks=True, dirs_exist_ok=True)
    channel = _make_folder(_place(root, plan.channel))
    _mount(plan.channel, channel, None, _BIND)
    _give_to(plan.identity, folder, channel)
    with contextlib.suppress(OSError):  # refused where /proc is covered, as in some containers
        _mount("proc", _make_folder(root / "proc"), "proc", _NOSUID | _NODEV | 8)
    old = _make_folder(root / "old")
    os.chdir(root)
    _call("syscall", _find_pivot_root(), b".", b"old")
    os.chdir("/")
    _call("umount2", b"/old", _MNT_DETACH)
    old = Path("/old")
    with contextlib.suppress(OSError):
        old.rmdir()
    os.chdir(plan.folder)


def _find_pivot_root() -> int:
    """Return the number of pivot_root(2) on this machine, or say that nobody told us."""
    number = _PIVOT_ROOT.get(platform.machine())
    if number is None or sys.maxsize < 2**32:  # 32-bit programs have numbers of their own
        raise OSError(
            errno.ENOSYS, f"the number of pivot_root on {platform.machine()} is not known"
        )
    return number


def _place(root: Path, name: str) -> Path:
    return root / str(name).lstrip("/")


def _make_folder(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    return path


def _make_place(root: Path, name: str) -> Path:
    """Make what a bind mount needs to sit on: a folder for a folder, a file for a file."""
    place = _place(root, name)
    if os.path.isdir(name):
        return _make_folder(place)
    _make_folder(place.parent)
    if not place.exists():
        place.touch()
    return place


def _bind(source: str, target: Path, read_only: bool) -> None:
    _mount(source, target, None, _BIND)
    if read_only:
        close_to_writing(target)


def close_to_writing(target: str | Path) -> None:
    """Let nothing be made or changed below a bind mount; sockets in it work as before."""
    # Flags that the original mount has may not be dropped in a user namespace.
    kept = os.statvfs(target).f_flag & _LOCKED
    _mount(None, target, None, _REMOUNT | _BIND | _RDONLY | _NOSUID | _NODEV | kept)


def _give_to(identity: int | None, *folders: Path) -> None:
    if identity is None:
        return
    for folder in folders:
        for path, _, files in os.walk(folder):
            for name in (".", *files):
                os.chown(Path(path) / name, identity, identity, follow_symlinks=False)


def _can_others_import() -> bool:
    """Say whether any user may read Python's own library and the packages that a kernel needs."""
    needed = [sys.modules[name] for name in ("os", "numpy", "ipykernel") if name in sys.modules]
    return all(
        folder.stat().st_mode & 0o001  # may be entered by all
        for module in needed
        for folder in Path(module.__file__).resolve().parents
    )


def landlock_version() -> int:
    """Return the version of Landlock that this system has, or 0."""
    return landlock.find_version(_libc)


def _restrict_files(plan: Plan) -> list[str]:
    """Keep this process to what it may see, by Landlock; return the walls that stand then."""
    return landlock.restrict(
        _libc,
        readable=[*SYSTEM_FOLDERS, *_SYSTEM_FILES, "/proc", *plan.visible],
        writable=[plan.folder, plan.channel],
        devices=[f"/dev/{name}" for name in _DEVICES],
    )


# ---------------------------------------------------------------------------- limits, rights


def _set_limits(limits: Limits) -> None:
    import resource

    limit_memory(limits.memory)
    for kind, amount in (
        (resource.RLIMIT_NPROC, limits.processes),
        (resource.RLIMIT_NOFILE, limits.open_files),
        (resource.RLIMIT_FSIZE, limits.file_size),
        (resource.RLIMIT_CORE, 0),
    ):
        with contextlib.suppress(ValueError, OSError):  # a lower limit is in force already
            resource.setrlimit(kind, (amount, amount))


def choose_identity() -> int | None:
    """Return a user id that no other process has, when we may change ours."""
    return 2_000_000 + os.getpid() % 1_000_000 if os.geteuid() == 0 else None


def _drop_rights(identity: int | None) -> None:
    if identity is not None:
        os.setgroups([])
        os.setresgid(identity, identity, identity)
        os.setresuid(identity, identity, identity)
    _libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
    header = struct.pack("=Ii", 0x20080522, 0)
    _libc.capset(header, struct.pack("=6I", 0, 0, 0, 0, 0, 0))
    _libc.prctl(_DUMPABLE, 1, 0, 0, 0)  # it may look at itself, as any program may


# ------------------------------------------------------------------------------------ system


def _mount(source, target, kind, flags: int, options: str = "") -> None:
    def as_bytes(text):
        return None if text is None else str(text).encode()

    _call("mount", as_bytes(source), as_bytes(target), as_bytes(kind), flags, as_bytes(options))


def _call(name: str, *arguments) -> None:
    if getattr(_libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}", str(arguments[:2]))
