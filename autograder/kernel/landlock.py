"""Landlock: the wall around files for systems where namespaces may not be made.

Every right that the running kernel knows is taken away and given back for a few folders. Rights
that only later kernels know (moving files between folders, truncating, devices, TCP, signals) are
part of it wherever they exist.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446  # the same on every machine
_NO_NEW_PRIVS = 38
READ = 1 | 4 | 8  # execute, read file, read folder
WRITE_DEVICE = 2  # as for /dev/null
_ON_A_FILE = 1 | 2 | 4 | 1 << 14 | 1 << 15  # of all rights, those that a file can have
# How many rights on files each version knows: moving came with 2, truncating with 3, ioctl with 5.
_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_TCP = 1 | 2  # bind, connect: version 4
_SCOPES = 1 | 2  # abstract sockets and signals of processes outside: version 6


def find_version(libc) -> int:
    """Return the version of Landlock that this system has, or 0."""
    return max(0, libc.syscall(_CREATE, None, ctypes.c_size_t(0), 1))


def every_right(version: int) -> int:
    """Return all rights on files that a version knows."""
    return (1 << _RIGHTS.get(version, _RIGHTS[5])) - 1


def restrict(libc, readable: list[str], writable: list[str], devices: list[str]) -> list[str]:
    """Keep this process to these folders from now on; return the names of the walls that stand."""
    version = find_version(libc)
    if version < 1:
        return []
    rights = every_right(version)
    handled = struct.pack("=Q", rights)
    if version >= 4:
        handled += struct.pack("=Q", _TCP)
    if version >= 6:
        handled += struct.pack("=Q", _SCOPES)
    ruleset = libc.syscall(_CREATE, handled, ctypes.c_size_t(len(handled)), 0)
    if ruleset < 0:
        return []
    rules = [(name, READ) for name in readable]
    rules += [(name, READ | WRITE_DEVICE) for name in devices]
    rules += [(name, rights) for name in writable]
    for name, allowed in rules:
        with contextlib.suppress(OSError):
            opened = os.open(name, os.O_PATH | os.O_CLOEXEC)
            allowed &= rights if os.path.isdir(name) else _ON_A_FILE
            libc.syscall(_ADD_RULE, ruleset, 1, struct.pack("=Qi", allowed, opened), 0)
            os.close(opened)
    libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
    stands = libc.syscall(_RESTRICT, ruleset, 0) == 0
    os.close(ruleset)
    if not stands:
        return []
    walls = ["files by Landlock"]
    if version >= 3:
        walls.append("truncating")
    if version >= 4:
        walls.append("TCP")
    if version >= 6:
        walls.append("signals")
    return walls
