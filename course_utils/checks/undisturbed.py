"""Lets a check try a learner's code without a trace: no prints, no bars, and the dice as they were."""

from __future__ import annotations

import contextlib
import io
import random
from collections.abc import Iterator

import numpy as np
import torch

from course_utils import runtime


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Swallow what is printed or displayed inside, and put every random generator back afterwards.

    What a notebook seeded before a check is still what its training draws from after it.
    """
    states = random.getstate(), np.random.get_state()
    cards = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()
    try:
        with torch.random.fork_rng(devices=cards), _quietly():
            yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    if runtime.in_kernel():  # tqdm's bars are widgets there
        from IPython.utils.capture import capture_output

        with capture_output():
            yield
        return
    quiet = io.StringIO()
    with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
        yield
