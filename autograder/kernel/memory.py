"""Tells running out of memory from other errors, by the words that Python and torch use for it."""

from __future__ import annotations

SENTENCE = "It ran out of memory: it asked for more than a grading kernel has (about 4 GB)."
DISK_SENTENCE = "It wrote more files than a grading kernel may, and was stopped."
_SIGNS = ("memoryerror", "can't allocate memory", "cannot allocate memory", "bad_alloc")


def is_out_of_memory(words: str) -> bool:
    """Do an error's name and message speak of too little memory?

    >>> is_out_of_memory("RuntimeError: DefaultCPUAllocator: can't allocate memory")
    True
    """
    return any(sign in words.lower() for sign in _SIGNS)
