"""System calls that no notebook needs and that lead around a wall: refused by a small filter.

Inside a new user namespace anybody is root: there a student's code could mount file systems that no
limit counts. Memory that belongs to no process (memfd, System V) is not counted either. Where
files are guarded by Landlock alone, changing their permissions, owners or times would still be
possible for files of the same user: there these calls say that they worked, and do nothing. The limits
and the pace of other processes of the same user are out of reach, and so are sockets of kinds that a
network namespace does not hold back, such as those between a virtual machine and its host.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
import sys

_SET_SECCOMP, _FILTER = 22, 2
_LOAD, _EQUAL, _ABOVE, _ANY_BIT, _RETURN = (
    0x20,
    0x15,
    0x35,
    0x45,
    0x06,
)  # of Berkeley's packet filter
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NEW_NAMESPACES = 0x7E020080  # every CLONE_NEW... flag; NEWTIME counts for unshare alone

# Of sockets: files, IPv4, IPv6, and what the C library asks the system by.
_FAMILIES = (1, 2, 10, 16)

# Numbers of system calls, by machine. `socket` makes sockets; `of_others` (prlimit, sched_setaffinity)
# take a process for their first argument, and 0 is oneself. `pace` chooses how threads take turns; libraries
# insist that it works for their own, so it says that it did, and does nothing. clone3 keeps its flags where no filter can look: programs
# that are told it does not exist use clone.
_NUMBERS = {
    "x86_64": {
        "arch": 0xC000003E, "clone": 56, "unshare": 272, "clone3": 435,
        "socket": (41, 53), "of_others": (302, 203), "pace": (142, 144, 314),
        "refused": (165, 166, 155, 308, 101, 310, 311, 321, 298, 323, 425, 426, 427, 248, 249, 250,
                    319, 29, 30, 31, 428, 429, 430, 431, 432, 433, 442, 304, 246, 320, 175, 313, 163,
                    438, 440, 141, 251, 64, 68, 240),
        "ignored": (90, 91, 268, 452, 92, 93, 94, 260, 132, 235, 261, 280, 188, 189, 190, 197, 198, 199),
    },
    "aarch64": {
        "arch": 0xC00000B7, "clone": 220, "unshare": 97, "clone3": 435,
        "socket": (198, 199), "of_others": (261, 122), "pace": (118, 119, 274),
        "refused": (40, 39, 41, 268, 117, 270, 271, 280, 241, 282, 425, 426, 427, 217, 218, 219,
                    279, 194, 195, 196, 428, 429, 430, 431, 432, 433, 442, 265, 104, 294, 105, 273, 89,
                    438, 440, 140, 30, 190, 186, 180),
        "ignored": (52, 53, 452, 54, 55, 88, 5, 6, 7, 14, 15, 16),
    },
}  # fmt: skip


def is_possible() -> bool:
    """Do we know the numbers of this machine's system calls?"""
    return platform.machine() in _NUMBERS and sys.maxsize > 2**32


def refuse_calls(libc, keep_permissions: bool) -> bool:
    """Refuse them for this process and all its children; say whether the filter stands.

    With `keep_permissions`, calls that change a file's permissions, owner or times do nothing.
    Call it when no privileges can be had any more.
    """
    if not is_possible():
        return False
    steps = _make_filter(_NUMBERS[platform.machine()], keep_permissions)
    code = ctypes.create_string_buffer(b"".join(steps))
    program = ctypes.create_string_buffer(
        struct.pack("@HxxxxxxQ", len(steps), ctypes.addressof(code))
    )
    return libc.prctl(_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0) == 0


def _make_filter(numbers: dict, keep_permissions: bool) -> list[bytes]:
    def step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
        return struct.pack("=HBBI", code, yes, no, value)

    def answer(number: int, action: int) -> list[bytes]:
        return [step(_EQUAL, number, 0, 1), step(_RETURN, action)]

    # Another machine's calls (32-bit ones on a 64-bit machine) have other numbers: none of them.
    steps = [step(_LOAD, 4), step(_EQUAL, numbers["arch"], 1, 0), step(_RETURN, _KILL)]
    # The same for numbers from 2**30 on: x86-64 takes them for those of its 32-bit pointers.
    steps += [step(_LOAD, 0), step(_ABOVE, 1 << 30, 0, 1), step(_RETURN, _ERRNO | errno.ENOSYS)]
    steps += answer(numbers["clone3"], _ERRNO | errno.ENOSYS)
    for number in numbers["refused"]:
        steps += answer(number, _ERRNO | errno.EPERM)
    ignored = (*numbers["pace"], *(numbers["ignored"] if keep_permissions else ()))
    for number in ignored:
        steps += answer(number, _ERRNO | 0)
    for name in ("clone", "unshare"):  # with flags that make a namespace
        steps += [
            step(_EQUAL, numbers[name], 0, 4),
            step(_LOAD, 16),  # the lower half of the first argument
            step(_ANY_BIT, _NEW_NAMESPACES & ~(0x80 if name == "clone" else 0), 0, 1),
            step(_RETURN, _ERRNO | errno.EPERM),
            step(_RETURN, _ALLOW),
        ]
    for number in numbers["of_others"]:
        steps += [
            step(_EQUAL, number, 0, 4),
            step(_LOAD, 16),
            step(_EQUAL, 0, 1, 0),
            step(_RETURN, _ERRNO | errno.EPERM),
            step(_RETURN, _ALLOW),
        ]
    for number in numbers["socket"]:
        last = len(_FAMILIES)  # as many steps lie between the first comparison and the last answer
        steps += [
            step(_EQUAL, number, 0, last + 3),
            step(_LOAD, 16),
            *(step(_EQUAL, family, last - place) for place, family in enumerate(_FAMILIES)),
            step(_RETURN, _ERRNO | errno.EAFNOSUPPORT),
            step(_RETURN, _ALLOW),
        ]
    return [*steps, step(_RETURN, _ALLOW)]
