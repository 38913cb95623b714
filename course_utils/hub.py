"""Gets things from the Hugging Face hub, and says in a sentence why when it cannot."""

from __future__ import annotations

import math
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE = 2.5  # seconds a hub has to show that it is there
_last_asked: dict[str, tuple[float, bool]] = {}  # endpoint -> when, and whether it answered


def fetch(get: Callable, name: str, kind: str):
    """Run `get()` with the hub if it answers, with what was downloaded earlier if it does not.

    Returns what `get` returned, or None when there is no way to it; and what was wrong with the
    hub in a sentence, or None when nothing was.
    """
    problem = _find_problem(name, kind)
    if problem is None:
        try:
            return get(), None
        except Exception as error:  # three libraries raise their own kinds; each ends in words
            problem = _explain(error, name)
    try:
        with switched_off():
            return get(), problem
    except Exception:  # not there from an earlier download either, or not whole
        return None, problem


def switch_off() -> None:
    """Keep this process from asking the hub for anything, whoever tries."""
    import datasets
    from huggingface_hub import constants

    os.environ["HF_HUB_OFFLINE"] = "1"  # for processes started from here
    constants.HF_HUB_OFFLINE = True  # both are read when imported, and only then
    datasets.config.HF_HUB_OFFLINE = True
    _forget_sessions()


@contextmanager
def switched_off() -> Iterator[None]:
    """Keep from asking the hub for as long as the block lasts."""
    import datasets
    from huggingface_hub import constants

    places = (constants, datasets.config)
    before = [place.HF_HUB_OFFLINE for place in places]
    try:
        for place in places:
            place.HF_HUB_OFFLINE = True
        _forget_sessions()
        yield
    finally:
        for place, value in zip(places, before, strict=True):
            place.HF_HUB_OFFLINE = value
        _forget_sessions()


def _forget_sessions() -> None:
    """Have the client make new connections: before 1.0 it builds "offline" into those it keeps."""
    from huggingface_hub import utils

    if hasattr(utils, "reset_sessions"):
        utils.reset_sessions()


def _find_problem(name: str, kind: str) -> str | None:
    """Say what keeps us from a repository on the hub, or None."""
    from huggingface_hub import constants

    endpoint = constants.ENDPOINT
    if constants.HF_HUB_OFFLINE:
        return "The Hugging Face hub is switched off (HF_HUB_OFFLINE)."
    if not _is_there(endpoint):
        return f"The Hugging Face hub cannot be reached ({endpoint})."
    # The client itself asks again and again for half a minute when a hub is out of order.
    status = _knock(f"{endpoint}/api/{kind}s/{name}")
    if status is None:
        return f"The Hugging Face hub takes too long to answer ({endpoint})."
    if status in (401, 404):
        return f"The hub has no {kind} {name!r}, or does not show it to you."
    if status >= 500:
        return f"The hub answered with error {status} when asked for {name!r}."
    return None


def _is_there(endpoint: str) -> bool:
    """Does anybody answer? Asked once a minute at most: silence takes its full time to notice."""
    asked, answer = _last_asked.get(endpoint, (-math.inf, False))
    if time.monotonic() - asked > 60:
        answer = _knock(endpoint) is not None
        _last_asked[endpoint] = (time.monotonic(), answer)
    return answer


def _knock(address: str) -> int | None:
    """Return the status with which an address answers, or None if it does not within PATIENCE.

    The question runs in a thread of its own: looking up a host's name can take far longer than
    any timeout given to it.
    """
    from huggingface_hub.utils import get_session

    answers: queue.Queue = queue.Queue()

    def ask():
        try:
            answers.put(get_session().head(address, timeout=2 * PATIENCE).status_code)
        except Exception:  # whatever it is, nobody is there
            answers.put(None)

    threading.Thread(target=ask, daemon=True).start()
    try:
        return answers.get(timeout=PATIENCE)
    except queue.Empty:
        return None


def _explain(error: Exception, name: str) -> str:
    """Put what a hub's client raised on the way into a sentence a learner can act on."""
    while error.__cause__ or error.__context__:
        error = error.__cause__ or error.__context__
    reason = f"{type(error).__name__}: {error}".partition("\n")[0]
    return (
        f"The download of {name!r} broke off ({reason}). "
        "Nothing broken was kept; run this cell again to fetch what is missing."
    )
