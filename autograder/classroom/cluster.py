"""Grades on a Dask cluster: workers run and judge, this process alone writes.

Workers need this package and nothing else: each task carries the submission and what the
assignment hands out, so that it does not matter which worker dies. The secret stays here: only
seeds travel.
"""

from __future__ import annotations

import contextvars
import importlib.util
import logging
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED
from typing import TYPE_CHECKING

from autograder import __version__
from autograder.course import CourseError
from autograder.fence import describe_failure

if TYPE_CHECKING:  # the scheduler reads this module, too, and has no use for torch
    from autograder.classroom.run import Unit
    from autograder.classroom.worker import Finished, Task
    from autograder.intake.gather import Kit

_PATIENCE = 60  # seconds to wait for a scheduler and its first worker


def run_on_cluster(
    units: Iterator[Unit], prepare: Callable[[Unit], Task], kit: Kit, address: str
) -> Iterator[tuple[Unit, Finished]]:
    """Grade on the workers of a scheduler; yield each notebook as it is done."""
    if importlib.util.find_spec("distributed") is None:
        raise CourseError("--scheduler needs Dask: pip install -c constraints.txt -e '.[cluster]'.")
    from distributed import wait

    from autograder.classroom import parcel
    from autograder.classroom.run import fill_up, pack_files

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters is said below
    client = _connect(address)
    try:
        packed = parcel.write_kit(kit)

        def submit(task: Task):
            content = parcel.write_task(pack_files(task))
            return client.submit(_run, content, packed, __version__, pure=False)

        running: dict = {}
        while True:
            size = 2 * max(1, sum(client.nthreads().values()))
            yield from fill_up(running, units, prepare, submit, size)
            if not running:
                return
            for future in wait(list(running), return_when=FIRST_COMPLETED).done:
                unit = running.pop(future)
                yield unit, _collect(future)
                future.release()
    except OSError as problem:
        raise CourseError(
            f"The connection to the scheduler at {address!r} was lost ({problem}). What was graded "
            "is recorded: start again, and it goes on from there."
        ) from None
    finally:
        client.close()


def _run(task: bytes, packed: bytes, version: str) -> Finished:
    """What a worker does; an old worker must not give marks by old rules."""
    from autograder.classroom import parcel
    from autograder.classroom.worker import Finished, run_task

    if version != __version__:
        return Finished(
            error=f"a worker has version {__version__} of this package instead of {version}."
        )
    # Dask hands its own context on to all its threads, and with it one event loop, which Jupyter
    # would then run twice at once.
    return contextvars.Context().run(run_task, parcel.read_task(task), parcel.read_kit(packed))


def _connect(address: str):
    from distributed import Client

    try:
        client = Client(address, timeout=_PATIENCE)
    except (OSError, ValueError, TypeError) as problem:
        raise CourseError(f"There is no Dask scheduler at {address!r} ({problem}).") from None
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError:
        client.close()
        raise CourseError(f"The scheduler at {address!r} has no workers: start some.") from None
    return client


def _collect(future) -> Finished:
    from distributed.scheduler import KilledWorker

    from autograder.classroom.worker import Finished

    try:
        return future.result()
    except KilledWorker:
        return Finished(error="one worker after another died over this notebook.")
    except Exception as problem:  # a lost connection, a value that could not be sent
        return Finished(error=describe_failure(problem))
