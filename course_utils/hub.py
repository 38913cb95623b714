"""Gets things from the Hugging Face hub, and says in a sentence why when it cannot."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache

PATIENCE = 2.5  # seconds a hub has to show that it is there


def fetch(get: Callable, name: str):
    """Run `get()` with the hub if it answers, with what was downloaded earlier if it does not.

    Returns what `get` returned, or None when there is no way to it; and what was wrong with the
    hub in a sentence, or None when nothing was.
    """
    problem = _find_problem(_endpoint(), minute=int(time.monotonic() / 60))
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
    import huggingface_hub

    os.environ["HF_HUB_OFFLINE"] = "1"  # for processes started from here
    huggingface_hub.constants.HF_HUB_OFFLINE = True  # both are read when imported, and only then
    datasets.config.HF_HUB_OFFLINE = True


@contextmanager
def switched_off() -> Iterator[None]:
    """Keep from asking the hub for as long as the block lasts."""
    import datasets
    import huggingface_hub

    places = (huggingface_hub.constants, datasets.config)
    before = [place.HF_HUB_OFFLINE for place in places]
    try:
        for place in places:
            place.HF_HUB_OFFLINE = True
        yield
    finally:
        for place, value in zip(places, before, strict=True):
            place.HF_HUB_OFFLINE = value


def _endpoint() -> str:
    import huggingface_hub

    return huggingface_hub.constants.ENDPOINT


@lru_cache(maxsize=1)
def _find_problem(endpoint: str, minute: int) -> str | None:
    """Say what keeps us from the hub, or None; asked at most once a minute.

    The question runs in a thread of its own: looking up a host's name can take far longer than
    any timeout given to it.
    """
    from huggingface_hub import constants
    from huggingface_hub.utils import get_session

    if constants.HF_HUB_OFFLINE:
        return "The Hugging Face hub is switched off (HF_HUB_OFFLINE)."
    answers: queue.Queue = queue.Queue()

    def knock():
        try:
            get_session().head(endpoint, timeout=PATIENCE)
        except Exception as error:  # whatever it is, the hub is out of reach
            answers.put(error)
        else:
            answers.put(None)

    threading.Thread(target=knock, daemon=True).start()
    try:
        error = answers.get(timeout=PATIENCE)
    except queue.Empty:
        return f"The hub at {endpoint} did not answer within {PATIENCE} seconds."
    return None if error is None else f"The hub at {endpoint} cannot be reached."


def _explain(error: Exception, name: str) -> str:
    """Put what a hub's client raised into a sentence a learner can act on."""
    chain = [error]
    while cause := chain[-1].__cause__ or chain[-1].__context__:
        chain.append(cause)
    text = " ".join(f"{type(part).__name__} {part}" for part in chain)
    status = next(
        (
            part.response.status_code
            for part in chain
            if getattr(part, "response", None) is not None
        ),
        None,
    )
    if "NotFound" in text or status in (401, 404):
        return f"The hub has no {name!r}, or does not show it to you."
    if status is not None:
        return f"The hub answered with error {status} when asked for {name!r}."
    return (
        f"The download of {name!r} broke off ({type(chain[-1]).__name__}). "
        "What has arrived is kept; run this cell again to fetch the rest."
    )
