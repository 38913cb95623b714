"""Tasks and hand-outs as JSON, for workers on other machines: what a student sent is never unpickled."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import asdict
from functools import lru_cache

import nbformat

from autograder.blueprint import Blueprint, Slot
from autograder.classroom.worker import Task
from autograder.intake.gather import Kit
from autograder.intake.restore import Restored


def write_task(task: Task) -> bytes:
    """Return a task as bytes; its files travel with it."""
    files = {name: base64.b64encode(content).decode() for name, content in task.files.items()}
    return _write(vars(task) | {"restored": vars(task.restored), "files": files})


def read_task(content: bytes) -> Task:
    facts = _read(content)
    restored = facts["restored"]
    restored["notebook"] = nbformat.from_dict(restored["notebook"])
    files = {name: base64.b64decode(coded) for name, coded in facts["files"].items()}
    return Task(**facts | {"restored": Restored(**restored), "files": files})


def write_kit(kit: Kit) -> bytes:
    """Return an assignment's hand-out as bytes."""
    return _write({name: asdict(blueprint) for name, blueprint in kit.items()})


@lru_cache(maxsize=2)
def read_kit(content: bytes) -> Kit:
    return {name: _read_blueprint(facts) for name, facts in _read(content).items()}


def _read_blueprint(facts: dict) -> Blueprint:
    slots = tuple(
        Slot(**slot | {cell: nbformat.from_dict(slot[cell]) for cell in ("source", "release")})
        for slot in facts["slots"]
    )
    return Blueprint(**facts | {"slots": slots, "warm_imports": tuple(facts["warm_imports"])})


def _write(content: dict) -> bytes:
    return zlib.compress(json.dumps(content).encode(), level=1)


def _read(content: bytes) -> dict:
    return json.loads(zlib.decompress(content))
