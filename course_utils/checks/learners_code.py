"""What to say about an exception in a learner's code: its type, its words, and the learner's line.

The text of this file is also sent into kernels that are being graded.
"""

import linecache


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
