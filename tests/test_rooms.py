"""The house: imports between rooms go one way, and every room says in a sentence what it is for."""

import ast
import subprocess
import sys

import pytest

from autograder.authoring.module_map import ROOMS, STUDENTS, make_map, read_first_line
from tests.conftest import ROOT

MODULES = sorted(
    path
    for package in ("autograder", "course_utils")
    for path in (ROOT / package).rglob("*.py")
    if "__pycache__" not in path.parts and "build" not in path.parts
)


def list_imports(path):
    """Yield every module that a file imports, at its top or later."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def find_room(name):
    """Return the room of a module of the autograder; \"\" for those that lie beside the rooms."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 and (ROOT / "autograder" / parts[1]).is_dir() else ""


def test_imports_between_rooms_go_one_way():
    wrong = []
    for path in MODULES:
        relative = path.relative_to(ROOT)
        if relative.parts[0] != "autograder" or path.name == "__main__.py":
            continue
        own = find_room(".".join(relative.with_suffix("").parts))
        for name in list_imports(path):
            if not name.startswith("autograder."):
                continue
            room = find_room(name)
            if ROOMS.index(room) > ROOMS.index(own):
                wrong.append(f"{relative} imports {name}")
    assert not wrong, "\n".join(sorted(set(wrong)))


def test_every_room_is_on_the_map_and_every_module_has_a_first_line():
    for package, rooms in (("autograder", ROOMS), ("course_utils", STUDENTS)):
        there = {
            path.parent.name
            for path in (ROOT / package).glob("*/__init__.py")
        }  # fmt: skip
        assert there <= set(rooms), there - set(rooms)
    nameless = [str(path) for path in MODULES if not read_first_line(path)]
    assert not nameless
    assert make_map(ROOT) == (ROOT / "docs/modules.md").read_bytes()


@pytest.mark.parametrize(
    "module",
    [
        "autograder.classroom.worker",
        "autograder.grading.paths",
        "autograder.adapters.gradescope_run",
    ],
)
def test_who_needs_no_gradebook_imports_no_nbgrader(module):
    code = (
        "import sys; sys.modules['nbgrader'] = None\n"
        f"import {module}\n"
        "from autograder.exercises import find_exercises\n"
        "find_exercises('attention.query_crafting')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
