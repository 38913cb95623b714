"""Work for the tests of `course_utils.bounded`: each kind of it does another harm."""

import os
import re
import time

from course_utils.bounded import bounded

_born = []


def begin():
    _born.append(os.getpid())


def say_plain(*arguments, **named):
    return f"plain: {arguments[0][:5]}"


@bounded(instead=say_plain)
def work(what, amount=0):
    if what == "regex":  # in C, where no signal handler and no other thread gets a turn
        return str(re.fullmatch(r"(a+)+b", "a" * 60))
    if what == "memory":
        return str(len("a" * (8 * 2**30)))
    if what == "deep":
        return work.__wrapped__(what, amount + 1)
    if what == "crash":
        os.kill(os.getpid(), 11)
    if what == "print":
        print("into the answer?", flush=True)
        os.write(1, b"or here")
    if what == "sleep":
        time.sleep(0.01)
    return f"done in {os.getpid()} {os.getpid() in _born} {amount}"


def reverse(content, times):
    return content[::-1] * times
