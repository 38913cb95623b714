"""What every trial of a learner's code needs: to find it, and to say in words how it failed.

The text of this file is also sent into kernels that are being graded.
"""

import linecache
import sys


class Problem(str):
    """Why there are no numbers: a kind, a bar, and words ("raised|ValueError: ...")."""


class Failed(Exception):
    """Carries a Problem out of a trial."""


class Lent:
    """What a question lends: it is asked and called like any other, and its insides are the course's.

    `closed` names the attributes that a learner's code has no business with: what they hold would say
    without any work what is wanted, or what is told of the work.
    """

    closed = frozenset()

    def __getattribute__(self, name):
        is_closed = name == "__dict__" or name in type(self).closed
        if is_closed and _is_learners(sys._getframe(1).f_code.co_filename):
            raise AttributeError(f"{type(self).__name__} shows nobody its {name}")
        return super().__getattribute__(name)

    def __setattr__(self, name, value):
        if name in type(self).closed and _is_learners(sys._getframe(1).f_code.co_filename):
            raise AttributeError(f"{type(self).__name__} lets nobody change its {name}")
        super().__setattr__(name, value)


def find_function(functions, name):
    """Return what the learner defined under a name, or fail in words."""
    if name not in functions:
        raise Failed(Problem(f"undefined|{name}"))
    if functions[name] is ...:
        raise Failed(Problem("open|"))
    if not callable(functions[name]):
        raise Failed(Problem(f"not-callable|{type(functions[name]).__name__}"))
    return functions[name]


def describe_error(error):
    """Return an exception in words, with the last line of the learner's own that it went through."""
    words = " ".join(str(error).split())
    text = f"{type(error).__name__}: {words}"[:400]
    line = None
    trace = error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if _is_learners(name):
            line = trace.tb_lineno, linecache.getline(name, trace.tb_lineno).strip()
        trace = trace.tb_next
    if line is None:
        return text
    number, source = line
    return f"{text} [line {number} of your cell{': ' + source[:120] if source else ''}]"


def _is_learners(name):
    """Say whether a file is a cell of a notebook, as IPython or `exec` calls it."""
    if name.startswith("<"):
        return name not in ("<judge>", "<course>", "<string>") and not name.startswith(
            ("<frozen", "<__")
        )
    return "ipykernel_" in name or "ipython-input" in name
