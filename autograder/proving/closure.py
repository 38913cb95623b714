"""The text of all modules of ours that some imports lead to, found without running them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from functools import cache
from modulefinder import ModuleFinder
from pathlib import Path

import autograder
import course_utils


def read_closure(imports: Iterable[str]) -> dict[str, bytes]:
    """Return each module that these statements import, at the top or later, with its text."""
    found = _find_closure("\n".join(imports))
    return {name: path.read_bytes() for name, path in found.items()}


@cache
def _find_closure(imports: str) -> dict[str, Path]:
    packages = [Path(package.__file__).parent for package in (autograder, course_utils)]
    finder = ModuleFinder(path=[str(package.parent) for package in packages])
    with tempfile.TemporaryDirectory() as scratch:
        script = Path(scratch) / "imports.py"
        script.write_text(imports, "utf-8")
        finder.run_script(str(script))
    return {
        name: Path(module.__file__)
        for name, module in finder.modules.items()
        if module.__file__ and any(Path(module.__file__).is_relative_to(p) for p in packages)
    }
