"""The map of the house, made from the modules' own first lines: docs/modules.md."""

from __future__ import annotations

import ast
from pathlib import Path

FILE = "docs/modules.md"
_HEAD = """\
# Where everything lives

Made by `python -m autograder build` from the first line of every module; do not edit it by hand.

The rooms of `autograder/` are listed in import order: a room may import from itself and from rooms above
it, and a test enforces this. **A new module goes into the topmost room where everything it needs is in that
room or above it**, and into a room of its own only when it has an idea of its own that two others use.
"""
# A room may import from those before it; "" are the modules that lie beside the rooms.
ROOMS = (
    "", "kernel", "exercises", "intake", "grading", "proving", "authoring", "classroom", "marking",
    "reports", "adapters", "demo", "reviews", "experiments", "bench",
)  # fmt: skip
STUDENTS = (
    "", "checks", "plots", "language_model", "sentiment", "translation", "pretraining", "handing_in",
)  # fmt: skip


def make_map(root: Path) -> bytes:
    """Return the map as markdown: a table per room, in the order in which work walks."""
    parts = [_HEAD]
    for package, rooms, title in (
        ("autograder", ROOMS, "`autograder/`: instructors only"),
        ("course_utils", STUDENTS, "`course_utils/`: what students import"),
    ):
        parts.append(f"## {title}\n")
        for room in rooms:
            folder = root / package / room
            if folder.is_dir():
                parts.append(_describe_room(folder, package, room))
    return "\n".join(parts).encode()


def _describe_room(folder: Path, package: str, room: str) -> str:
    pattern = "*.py" if not room else "**/*.py"
    lines = []
    if room:
        lines += [f"### `{package}/{room}/`\n", f"{read_first_line(folder / '__init__.py')}\n"]
    lines += ["| module | what it does |", "|---|---|"]
    for path in sorted(folder.glob(pattern)):
        if path.name == "__init__.py" and path.parent == folder:
            continue
        name = path.relative_to(folder).as_posix()
        lines.append(f"| `{name}` | {read_first_line(path)} |")
    return "\n".join(lines) + "\n"


def read_first_line(path: Path) -> str:
    """Return the first paragraph of a module's docstring, on one line."""
    text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return " ".join(text.partition("\n\n")[0].split()).replace("|", "\\|")
