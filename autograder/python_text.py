"""Reads Python as text: the names that a cell defines, and the regions that only authors see."""

from __future__ import annotations

import ast
import threading

_parsing = threading.Lock()
REGIONS = ("SOLUTION", "HIDDEN TESTS", "MARK SCHEME")


def parse(source: str) -> ast.Module:
    """Parse code, one thread at a time.

    Python 3.11 counts how deep it builds a tree in one place for all threads, and stops with a
    SystemError when two of them build at once. What is nested too deep to be read is, like all other
    code that cannot be read, a SyntaxError.
    """
    try:
        with _parsing:
            return ast.parse(source)
    except (MemoryError, RecursionError, ValueError, OverflowError) as problem:
        raise SyntaxError(f"it cannot be read: {problem}") from None


def find_defined_names(tree: ast.Module) -> set[str]:
    """Return the names that a piece of code defines at its top level."""
    names = set()
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(statement.name)
            if isinstance(statement, ast.ClassDef):  # a method can be checked by its own name
                names |= find_defined_names(ast.Module(statement.body, []))
        elif isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                names |= {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}
    return names


def split_regions(source: str) -> dict[str, list[str]]:
    """Return the lines of each secret region, and the rest under "public"."""
    parts: dict[str, list[str]] = {"public": [], **{name: [] for name in REGIONS}}
    inside = "public"
    for line in source.splitlines():
        begun = next((name for name in REGIONS if f"BEGIN {name}" in line), None)
        ended = next((name for name in REGIONS if f"END {name}" in line), None)
        if begun:
            inside = begun
        elif ended:
            inside = "public"
        else:
            parts[inside].append(line)
    return parts


def drop_region_marks(source: str) -> str:
    """Return a cell with its solution, without the lines that mark where it begins and ends."""
    return "\n".join(
        line
        for line in source.splitlines()
        if not any(f"{word} {name}" in line for word in ("BEGIN", "END") for name in REGIONS)
    )


def drop_unreachable(tree: ast.Module) -> ast.Module:
    """Take out what stands after a return, such as the line that a stub ends with."""
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            lines = getattr(node, field, None)
            if isinstance(lines, list):
                end = next(
                    (i for i, line in enumerate(lines) if isinstance(line, ast.Return)), None
                )
                if end is not None:
                    del lines[end + 1 :]
    return tree


def find_imports(source: str, package: str) -> list[str]:
    """Return a cell's imports from a package, one statement per line."""
    return [
        ast.unparse(node)
        for node in ast.walk(parse(source))
        if (isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == package)
        or (isinstance(node, ast.Import) and node.names[0].name.split(".")[0] == package)
    ]
