"""Says which cell of a notebook reaches for what is none of its business: for a person, never for marks.

What was seen in the kernel comes from its guard; what is only written in a cell is found here.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable

from nbformat import NotebookNode

from autograder.plain_text import one_line
from autograder.python_text import parse

Note = tuple[str, str, str]  # what kind, which thing, and the line that it was seen in, if any

_FRAMES = {"_getframe", "_current_frames", "currentframe", "getouterframes", "getinnerframes", "f_back", "f_locals",
           "f_globals", "tb_frame", "gi_frame", "cr_frame", "ag_frame", "settrace", "setprofile"}  # fmt: skip
_OBJECTS = {"get_objects", "get_referrers", "get_referents"}
_HOOKS = {"ast_transformers", "input_transformers_post", "input_transformers_cleanup", "user_expressions"}  # fmt: skip
_INSIDE = {"__closure__", "cell_contents"}
_LIBRARIES = {"json", "base64", "builtins", "torch", "numpy", "math", "IPython", "ipykernel", "jupyter_client"}  # fmt: skip
_GRADER = ("_course_question", "autograder")
_KINDS = (
    (_FRAMES, "reaches for frames"),
    (_OBJECTS, "reaches for the memory's objects (gc)"),
    (_HOOKS, "hangs something on how the kernel runs cells"),
    (_INSIDE, "reaches into the inside of functions"),
    ({"DisableTorchFunction", "DisableTorchFunctionSubclass"}, "switches off how PyTorch's calls are seen"),
)  # fmt: skip
_SEEN = {
    "frames": "reaches for frames",
    "the memory's objects": "reaches for the memory's objects (gc)",
    "raw memory": "reaches for raw memory (ctypes)",
    "exchanged": "exchanges a function of a library",
    "changed": "changes what the kernel replies",
}


def find_tampering(notebook: NotebookNode, seen: Iterable[Note]) -> list[str]:
    """Return a sentence for each thing that a person should look at, with its cell."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    found: dict[tuple[int, str], list[str]] = {}
    known: dict[str, str] = {}  # what imported modules are called
    for number, cell in enumerate(cells, 1):
        if _is_ours(cell):
            continue
        for words, what in _look_at(cell.source, known):
            found.setdefault((number, words), []).append(what)
    for kind, what, line in seen:
        number = _find_cell(cells, line or what.rpartition(".")[2])
        words, shown = _SEEN[kind], f"{what} in `{line}`" if line else what
        told = found.setdefault((number, words), [])
        if not any(what.rpartition(".")[2] in other for other in told):
            told.append(shown)
    return [
        one_line(f"{_name(cells, number)} {words}: {', '.join(dict.fromkeys(things))}", 300)
        for (number, words), things in sorted(found.items())
    ]


def _name(cells: list[NotebookNode], number: int) -> str:
    if not number:
        return "Some cell"
    grade_id = cells[number - 1].metadata.get("nbgrader", {}).get("grade_id")
    return f"Code cell {number} ({grade_id})" if grade_id else f"Code cell {number}"


def _find_cell(cells: list[NotebookNode], words: str) -> int:
    """Return the number of the cell that assigns to a name, or else holds the words; 0 where none does."""
    holding = [n for n, cell in enumerate(cells, 1) if words in cell.source and not _is_ours(cell)]
    assigned = re.compile(rf"\.{re.escape(words)}\s*=[^=]|\b[sd]e[tl]attr\(")
    return next((n for n in holding if assigned.search(cells[n - 1].source)), max(holding, default=0))


def _is_ours(cell: NotebookNode) -> bool:
    """Is this a check of the course's? What stands there is not the student's."""
    return str(cell.metadata.get("nbgrader", {}).get("grade_id", "")).startswith("test_")


def _look_at(source: str, known: dict[str, str]) -> Iterable[tuple[str, str]]:
    """Yield what is written in a cell: attributes, and names as texts, put together or not."""
    try:
        tree = parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names]
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for alias in node.names:
                place = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
                top = alias.name if alias.asname else alias.name.split(".")[0]
                known[alias.asname or top] = f"{place}{top}"
            for name in names:
                if name.split(".")[0] in _GRADER:
                    yield "reaches for the judge's modules", name
        name = node.attr if isinstance(node, ast.Attribute) else _read_text(node)
        if name == _GRADER[0] or name.startswith(f"{_GRADER[1]}."):
            yield "reaches for the judge's modules", name
        for names, words in _KINDS:
            if name in names:
                yield words, name
        for target in node.targets if isinstance(node, ast.Assign) else ():
            path = _read_path(target, known)
            if path.split(".")[0] in _LIBRARIES and _is_function(path):
                yield _SEEN["exchanged"], path


def _read_path(node: ast.AST, known: dict[str, str]) -> str:
    """Return which attribute of an imported module something is, or nothing."""
    if isinstance(node, ast.Attribute):
        above = _read_path(node.value, known) if isinstance(node.value, ast.Attribute) else ""
        if isinstance(node.value, ast.Name):
            above = known.get(node.value.id, "")
        return f"{above}.{node.attr}" if above else ""
    return ""


def _is_function(path: str) -> bool:
    """Is this a function or class of a library? Nothing is imported to find out."""
    top, *names = path.split(".")
    found = sys.modules.get(top)
    for name in names:
        found = getattr(found, name, None)
    return callable(found)


def _read_text(node: ast.AST) -> str:
    """Return a text that a cell writes down, in one piece or added up from several."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _read_text(node.left), _read_text(node.right)
        return left + right if left and right else ""
    return ""
