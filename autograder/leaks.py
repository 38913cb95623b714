"""Looks for what only instructors may see in what students get."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.authoring import split_regions

_SHORTEST_SENTENCE = 5  # words; shorter ones say too little to be a secret


@dataclass(frozen=True)
class Secret:
    """A statement or sentence that belongs to the instructor's version alone."""

    text: str  # normalised
    owner: str  # the grade id of the cell it belongs to
    kind: str  # "solution", "hidden test", "model answer" or "mark scheme"


@dataclass(frozen=True)
class Leak:
    secret: Secret
    place: str

    def __str__(self) -> str:
        return (
            f"{self.place}: holds «{self.secret.text}», which belongs to the {self.secret.kind} "
            f"of {self.secret.owner}."
        )


def find_secrets(source: NotebookNode) -> set[Secret]:
    """Collect every telling statement and sentence of an instructor's notebook."""
    secrets = set()
    for cell in source.cells:
        owner = cell.metadata.get("nbgrader", {}).get("grade_id")
        if owner is None:
            continue
        parts = split_regions(cell.source)
        if cell.cell_type == "markdown":  # an answer cell is secret as a whole
            for kind, name in (("model answer", "public"), ("mark scheme", "MARK SCHEME")):
                for sentence in _split_sentences("\n".join(parts[name])):
                    secrets.add(Secret(sentence, owner, kind))
        else:
            for kind, name in (("solution", "SOLUTION"), ("hidden test", "HIDDEN TESTS")):
                for statement in _split_statements(parts[name], owner):
                    secrets.add(Secret(statement, owner, kind))
    return secrets


def find_leaks_in_notebook(path: Path, notebook: NotebookNode, secrets: set[Secret]) -> list[Leak]:
    """Look through every cell, output and piece of metadata of a student's notebook."""
    leaks = []
    for number, cell in enumerate(notebook.cells, 1):
        for offset, line in enumerate(cell.source.splitlines(), 1):
            leaks += _match(line, secrets, f"{path}, cell {number}, line {offset}")
        leaks += _match(cell.source, secrets, f"{path}, cell {number}")
        rest = {key: value for key, value in cell.items() if key != "source"}
        leaks += _match(repr(rest), secrets, f"{path}, cell {number}, outputs or metadata")
    leaks += _match(repr(notebook.metadata), secrets, f"{path}, metadata")
    return _keep_first_of_each(leaks)


def find_leaks_in_text(path: Path, text: str, secrets: set[Secret]) -> list[Leak]:
    """Look through a text file that students get."""
    leaks = []
    for number, line in enumerate(text.splitlines(), 1):
        leaks += _match(line, secrets, f"{path}:{number}")
    leaks += _match(text, secrets, str(path))
    return _keep_first_of_each(leaks)


def find_leaks(release: Path, package: Path, secrets: set[Secret]) -> list[Leak]:
    """Look through the release notebooks and the package that students install."""
    leaks = []
    for path in sorted(release.glob("*.ipynb")):
        leaks += find_leaks_in_notebook(path, nbformat.read(path, as_version=4), secrets)
    for path in sorted(package.rglob("*")):
        if path.suffix in (".py", ".json", ".md", ".txt", ".toml") and path.is_file():
            leaks += find_leaks_in_text(path, path.read_text(encoding="utf-8"), secrets)
    return leaks


def _match(text: str, secrets: set[Secret], place: str) -> list[Leak]:
    code, prose = _normalise_code(text), _normalise_prose(text)
    return [
        Leak(secret, place)
        for secret in sorted(secrets, key=lambda secret: (secret.owner, secret.text))
        if secret.text in (code if secret.kind in ("solution", "hidden test") else prose)
    ]


def _keep_first_of_each(leaks: list[Leak]) -> list[Leak]:
    first: dict[Secret, Leak] = {}
    for leak in leaks:
        first.setdefault(leak.secret, leak)
    return list(first.values())


def _split_statements(lines: list[str], owner: str) -> Iterator[str]:
    """Yield the telling statements and right-hand sides of some code, normalised."""
    tree = ast.parse(textwrap.dedent("\n".join(lines)) or "pass")
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.Return | ast.Expr):
            pieces = [node, node.value] if node.value is not None else []
        elif isinstance(node, ast.Import | ast.ImportFrom):
            pieces = [node] if "autograder" in ast.unparse(node) else []
        else:
            continue
        for piece in pieces:
            if _is_telling(piece) or _assigns(piece, owner):
                yield _normalise_code(ast.unparse(piece))


def _is_telling(node: ast.AST) -> bool:
    """Does it compute something? A bare name, number, docstring or plain call tells nothing."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return True
    worked = (ast.BinOp, ast.Subscript, ast.Call, ast.Compare, ast.Lambda)
    kinds = [child for child in ast.walk(node) if isinstance(child, worked)]
    return len(kinds) >= 2 or (bool(kinds) and "grade_here" in ast.unparse(node))


def _assigns(node: ast.AST, name: str) -> bool:
    """Is it the very assignment that the learner should find?"""
    return isinstance(node, ast.Assign) and name in {
        target.id for target in node.targets if isinstance(target, ast.Name)
    }


def _normalise_code(text: str) -> str:
    """Drop white space and quotes' style, so that layout cannot hide a copy."""
    return re.sub(r"\s+", "", text).replace('"', "'")


def _split_sentences(text: str) -> Iterator[str]:
    for sentence in re.split(r"(?<=[.!?:])\s+|\n\s*[-*]\s+|\n\s*\n", text):
        normalised = _normalise_prose(sentence)
        if len(normalised.split()) >= _SHORTEST_SENTENCE:
            yield normalised


def _normalise_prose(text: str) -> str:
    """Keep words and numbers only: neither line breaks nor emphasis may hide a copy."""
    return " ".join(re.findall(r"[^\W_]+", text.lower()))
