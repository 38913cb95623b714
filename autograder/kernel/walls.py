"""Walls around a student's process: what it may see, reach and use up.

`build_walls` is called in a freshly forked process, before any of the student's code. It applies
what the system allows and returns which walls stand. Nothing here is assumed to have worked:
`probe.py` tries to break out and reports what it could do.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import shutil
import struct
from dataclasses import dataclass, field
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)

# unshare(2) and mount(2)
NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = (
    0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip
_RDONLY, _NOSUID, _NODEV, _REMOUNT, _BIND, _REC, _PRIVATE = 1, 2, 4, 32, 4096, 16384, 1 << 18
_LOCKED = {os.ST_RDONLY: 1, os.ST_NOSUID: 2, os.ST_NODEV: 4, os.ST_NOEXEC: 8, os.ST_NOATIME: 1024}
_MNT_DETACH = 2
# prctl(2)
_PDEATHSIG, _DUMPABLE, _NO_NEW_PRIVS, _CAPBSET_DROP = 1, 4, 38, 24
_SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/alternatives", "/opt")
_SYSTEM_FILES = (
    "/etc/ld.so.cache", "/etc/localtime", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf",
    "/etc/mime.types", "/etc/fonts",
)  # fmt: skip
_DEVICES = ("null", "zero", "full", "random", "urandom")


@dataclass(frozen=True)
class Limits:
    """What one kernel may use up."""

    memory: int = 4 * 2**30  # bytes beyond what it is born with
    processes: int = 128
    open_files: int = 512
    file_size: int = 256 * 2**20
    folder_size: int = 512 * 2**20  # its work folder, and its temporary folder


@dataclass(frozen=True)
class Plan:
    """What one kernel gets: its folder, the folder of its sockets, what it may read."""

    folder: str
    channel: str
    visible: tuple[str, ...]
    identity: int | None = None  # the user id to run as, where we may choose
    limits: Limits = field(default_factory=Limits)


def can_unshare() -> int:
    """Return the namespaces that this user may make, as flags; 0 when none."""
    if not hasattr(_libc, "unshare"):
        return 0
    wanted = NEWNS | NEWUTS | NEWIPC | NEWPID | NEWNET
    for flags in (wanted, wanted | NEWUSER):
        if flags & NEWUSER and os.geteuid() == 0:
            continue
        child = os.fork()
        if child == 0:
            os._exit(0 if _libc.unshare(flags) == 0 else 1)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0:
            return flags
    return 0


def unshare(flags: int) -> None:
    """Leave the namespaces of the grader; in a user namespace, keep the own identity."""
    uid, gid = os.getuid(), os.getgid()
    _call("unshare", flags)
    if flags & NEWUSER:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")


def die_with_parent() -> None:
    """Ask the kernel to end this process when the one that made it ends."""
    _libc.prctl(_PDEATHSIG, 9, 0, 0, 0)


def build_walls(plan: Plan, flags: int) -> list[str]:
    """Put up every wall that stands here; return their names. `flags` were unshared before."""
    walls = []
    if flags & NEWNET:
        walls += ["processes", "network"]
    if flags & NEWNS:
        _change_root(plan)
        walls.append("files")
    else:
        _give_to(plan.identity, Path(plan.folder), Path(plan.channel))
        os.chdir(plan.folder)
        if _restrict_files(plan):
            walls.append("files by Landlock")
    _set_limits(plan.limits)
    _drop_rights(plan.identity)
    die_with_parent()  # changing identity has taken this back
    return [*walls, "limits", "rights"]


# ------------------------------------------------------------------------------------- files


def _change_root(plan: Plan) -> None:
    """Make a new root that holds what may be seen, and nothing else."""
    _mount(None, "/", None, _REC | _PRIVATE)
    root = Path(plan.channel) / "root"
    root.mkdir()
    _mount("tmpfs", root, "tmpfs", _NOSUID | _NODEV, "size=16m,mode=755")
    size = f"size={plan.limits.folder_size},mode=1777"
    # First of all: what may be seen can lie below one of these.
    for name in ("tmp", "var/tmp", "dev/shm"):
        _mount("tmpfs", _make_folder(root / name), "tmpfs", _NOSUID | _NODEV, size)
    for name in (*_SYSTEM_FOLDERS, *_SYSTEM_FILES, *plan.visible):
        if os.path.islink(name) and name in _SYSTEM_FOLDERS:
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
    _call("syscall", 155, b".", b"old")  # pivot_root(2), which the C library does not offer
    os.chdir("/")
    _call("umount2", b"/old", _MNT_DETACH)
    old = Path("/old")
    with contextlib.suppress(OSError):
        old.rmdir()
    os.chdir(plan.folder)


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
        # Flags that the original mount has may not be dropped in a user namespace.
        found = os.statvfs(target).f_flag
        kept = sum(flag for mark, flag in _LOCKED.items() if found & mark)
        _mount(None, target, None, _REMOUNT | _BIND | _RDONLY | _NOSUID | _NODEV | kept)


def _give_to(identity: int | None, *folders: Path) -> None:
    if identity is None:
        return
    for folder in folders:
        for path, _, files in os.walk(folder):
            for name in (".", *files):
                os.chown(Path(path) / name, identity, identity, follow_symlinks=False)


# Landlock: the wall for systems where namespaces may not be made.
_LANDLOCK_READ = 1 | 4 | 8  # execute, read file, read folder
_LANDLOCK_ALL = (1 << 13) - 1  # every right on files that the first version knows


def landlock_version() -> int:
    """Return the version of Landlock that this system has, or 0."""
    return max(0, _libc.syscall(444, None, ctypes.c_size_t(0), 1))


def _restrict_files(plan: Plan) -> bool:
    if landlock_version() < 1:
        return False
    handled = struct.pack("=Q", _LANDLOCK_ALL)
    ruleset = _libc.syscall(444, handled, ctypes.c_size_t(len(handled)), 0)
    if ruleset < 0:
        return False
    rules = [(name, _LANDLOCK_READ) for name in (*_SYSTEM_FOLDERS, "/etc", *plan.visible)]
    rules += [("/proc", _LANDLOCK_READ), ("/dev", _LANDLOCK_READ | 2)]
    rules += [(name, _LANDLOCK_ALL) for name in (plan.folder, plan.channel)]
    for name, rights in rules:
        if not os.path.exists(name):
            continue
        allowed = rights if os.path.isdir(name) else rights & 7
        opened = os.open(name, os.O_PATH | os.O_CLOEXEC)
        _libc.syscall(445, ruleset, 1, struct.pack("=Qi", allowed, opened), 0)
        os.close(opened)
    _libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
    restricted = _libc.syscall(446, ruleset, 0) == 0
    os.close(ruleset)
    return restricted


# ---------------------------------------------------------------------------- limits, rights


def _set_limits(limits: Limits) -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if _has_proc() else 0
    born_with = pages * resource.getpagesize()
    for kind, amount in (
        (resource.RLIMIT_AS, born_with + limits.memory if born_with else resource.RLIM_INFINITY),
        (resource.RLIMIT_NPROC, limits.processes),
        (resource.RLIMIT_NOFILE, limits.open_files),
        (resource.RLIMIT_FSIZE, limits.file_size),
        (resource.RLIMIT_CORE, 0),
    ):
        with contextlib.suppress(ValueError, OSError):  # a lower limit is in force already
            resource.setrlimit(kind, (amount, amount))


def _has_proc() -> bool:
    return os.path.exists("/proc/self/statm")


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
