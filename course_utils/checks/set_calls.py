"""Calls a learner's function on several sets of arguments and writes down what came back.

The text of this file is also sent into kernels that are being graded, with that of the module of the
course that it imports.
"""

import numpy as np

from course_utils.checks.learners_code import Problem, describe_error


def call_on_sets(function, sets, parts):
    """Call the function twice on every set; return what came back, by set and part.

    `sets` are lists of arrays and whole numbers, `parts` is how many things the function returns.
    Set 0 gives "0.problem", or "0.out.0", "0.out.1", ...; "0.again.0", ... from a second call, and
    "0.after.0", ... for the arrays that were given, as the function left them.
    """
    results = {}
    for index, arguments in enumerate(sets):
        given = _copy(arguments)
        out = _call(function, given, parts)
        if isinstance(out, Problem):
            results[f"{index}.problem"] = out
            continue
        again = _call(function, _copy(arguments), parts)
        for part in range(parts):
            results[f"{index}.out.{part}"] = out[part]
            if not isinstance(again, Problem):
                results[f"{index}.again.{part}"] = again[part]
        for place, argument in enumerate(given):
            if isinstance(argument, np.ndarray):
                results[f"{index}.after.{place}"] = argument
    return results


def _copy(arguments):
    return [x.copy() if isinstance(x, np.ndarray) and x.ndim else int(x) for x in arguments]


def _call(function, arguments, parts):
    """Return a list of what the function returns, or a Problem."""
    if function is ...:
        return Problem("open|")
    if not callable(function):
        return Problem(f"not-callable|{type(function).__name__}")
    try:
        out = function(*arguments)
        return _split(out, parts)
    except (Exception, SystemExit) as error:  # whatever a learner's code does wrong
        words = str(error)
        if type(error) is NotImplementedError and (not words or "TODO" in words):
            return Problem("open|")
        return Problem(f"raised|{describe_error(error)}")


def _split(out, parts):
    if out is ...:
        return Problem("open|")
    if out is None:
        return Problem("none|")
    if parts == 1:
        return [_detach(out)]
    if not isinstance(out, (list, tuple)) and not getattr(out, "ndim", 0):
        return Problem(f"type|{type(out).__name__}")
    if len(out) != parts:
        return Problem(f"count|{len(out)}")
    return [_detach(part) for part in out]


def _detach(value):
    """Take a copy now: the function may hand out the very array that it changes later."""
    if hasattr(value, "detach"):
        return value.detach().clone()
    return value.copy() if isinstance(value, np.ndarray) else value
