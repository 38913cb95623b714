"""Looks for what only instructors may see in what students get."""

from __future__ import annotations

import ast
import bisect
import functools
import io
import json
import re
import textwrap
import zipfile
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.course import Course
from autograder.python_text import split_regions
from autograder.terminal import track

_SHORTEST_SENTENCE = 5  # words; shorter ones say too little to be a secret
_SHORTEST_STATEMENT = 30  # characters of a statement of an exercise module
# Idioms that the students' package needs for ends of its own; some accepted variants use them too.
_COMMONPLACE = {
    "device=next(model.parameters()).device",
    "best=max(history,key=lambdarecord:record['validation']['accuracy'])",
}
_PROSE = ("model answer", "mark scheme", "comment in the solution")


@dataclass(frozen=True)
class Secret:
    """A statement or sentence that belongs to the instructor's version alone."""

    text: str  # normalised
    owner: str  # the grade id of the cell it belongs to
    kind: str  # "solution", "hidden test", "model answer", "mark scheme", "exercise module", ...


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
            comments = [line.split("# ", 1)[1] for line in parts["SOLUTION"] if "# " in line]
            for sentence in _split_sentences("\n".join(comments)):
                secrets.add(Secret(sentence, owner, "comment in the solution"))
    return secrets


def collect_secrets(course: Course) -> frozenset[Secret]:
    """Collect what belongs to instructors alone: the source notebooks' and the exercises'."""
    secrets: set[Secret] = set()
    for assignment in course.assignments.values():
        for plan in assignment.notebooks:
            source = assignment.source / f"{plan.name}.ipynb"
            secrets |= find_secrets(nbformat.read(source, as_version=4))
    folder = course.root / "autograder" / "exercises"
    for path in sorted(folder.rglob("*.py")):
        secrets |= find_secrets_in_module(path.name, path.read_text("utf-8"))
    return frozenset(secrets)


def find_secrets_in_module(name: str, text: str) -> set[Secret]:
    """Collect the telling statements of an exercise module, and those of the code it quotes."""
    secrets = set()
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.Return | ast.Expr | ast.keyword):
            statement = _normalise_code(ast.unparse(node))
            if len(statement) >= _SHORTEST_STATEMENT and _is_telling(node):
                secrets.add(Secret(statement, name, "exercise module"))
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for statement in _read_quoted(node.value):
                secrets.add(Secret(statement, name, "reference"))
    return secrets


def _read_quoted(text: str) -> Iterator[str]:
    """Yield the telling statements of a string that is code.

    A mistake's name, such as `softmax-over-queries`, would be read as a subtraction, but checks say
    it aloud.
    """
    if re.fullmatch(r"\w+(-\w+)+", text):
        return
    try:
        tree = ast.parse(textwrap.dedent(text))
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.Return | ast.Expr):
            statement = _normalise_code(ast.unparse(node))
            if (
                len(statement) >= _SHORTEST_STATEMENT
                and _is_telling(node)
                and statement not in _COMMONPLACE
            ):
                yield statement


# ------------------------------------------------------------------------------------ looking


def find_leaks_in_notebook(path, notebook: NotebookNode, secrets: Set[Secret]) -> list[Leak]:
    """Look through every cell, output and piece of metadata of a student's notebook."""
    leaks = []
    for number, cell in enumerate(notebook.cells, 1):
        leaks += _match(cell.source, secrets, f"{path}, cell {number}, line {{line}}")
        rest = {key: value for key, value in cell.items() if key != "source"}
        leaks += _match(_spell_out(rest), secrets, f"{path}, cell {number}, outputs or metadata")
    leaks += _match(_spell_out(notebook.metadata), secrets, f"{path}, metadata")
    return _keep_first_of_each(leaks)


def find_leaks_in_text(path, text: str, secrets: Set[Secret]) -> list[Leak]:
    """Look through a text file that students get."""
    return _keep_first_of_each(_match(text, secrets, f"{path}:{{line}}"))


def find_leaks_in_folder(release: Path, secrets: Set[Secret]) -> list[Leak]:
    """Look through a folder of release notebooks."""
    leaks = []
    for path in sorted(release.glob("*.ipynb")):
        leaks += find_leaks_in_notebook(path, nbformat.read(path, as_version=4), secrets)
    return leaks


def find_leaks_in_package(package: Path, secrets: Set[Secret]) -> list[Leak]:
    """Look through the package that students install."""
    leaks = []
    for path in sorted(package.rglob("*")):
        if path.suffix in (".py", ".json", ".md", ".txt", ".toml") and path.is_file():
            leaks += find_leaks_in_text(path, path.read_text(encoding="utf-8"), secrets)
    return leaks


def find_leaks_in_files(files: dict[str, bytes], secrets: Set[Secret]) -> list[Leak]:
    """Look into every file by what it holds, whatever it is called; into archives, too."""
    leaks = []
    for name, content in track(files.items(), "searching for answers"):
        if content.startswith(b"PK\x03\x04"):
            leaks += _find_leaks_in_zip(name, content, secrets)
            continue
        if _is_closed(name, content):
            secret = Secret("what cannot be looked into", "this file", "content")
            leaks.append(Leak(secret, name))
            continue
        text = _read_text(content)
        notebook = _read_as_notebook(text)
        if notebook is not None:
            leaks += find_leaks_in_notebook(name, notebook, secrets)
        else:
            leaks += find_leaks_in_text(name, text, secrets)
    return leaks


def _find_leaks_in_zip(name: str, content: bytes, secrets: Set[Secret]) -> list[Leak]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {f"{name}!{item}": archive.read(item) for item in archive.namelist()}
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, OSError):
        return [Leak(Secret("what cannot be looked into", "this file", "content"), name)]
    return find_leaks_in_files(members, secrets)


def _is_closed(name: str, content: bytes) -> bool:
    """Is it compiled or packed, so that nobody can see what is in it?"""
    packed = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf", b"Rar!", b"(\xb5/\xfd")
    return name.endswith((".pyc", ".pyo", ".pkl", ".db")) or content.startswith(packed)


def _read_text(content: bytes) -> str:
    """Return a file's text; of one that is not text, the pieces that are."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", errors="replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return "\n".join(run.decode() for run in re.findall(rb"[\x20-\x7e]{12,}", content))


def _read_as_notebook(text: str) -> NotebookNode | None:
    if not text.lstrip().startswith("{") or '"cells"' not in text:
        return None
    try:
        notebook = nbformat.from_dict(json.loads(text))
        for cell in notebook.cells:
            cell.source = "".join(cell.source)
        return notebook if isinstance(notebook.metadata, dict) else None
    except (ValueError, AttributeError, TypeError):
        return None


def _spell_out(value) -> str:
    """Return all strings in a nested value, one after the other."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "\n".join(f"{key}\n{_spell_out(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return "\n".join(map(_spell_out, value))
    return str(value)


class _Searchable:
    """A text without layout, which still knows the line that each character came from."""

    def __init__(self, lines: list[str], normalise: Callable[[str], str], glue: str):
        self.starts, pieces, length = [], [], 0
        for line in lines:
            self.starts.append(length)
            piece = normalise(line)
            if piece:
                pieces.append(piece + glue)
                length += len(piece) + len(glue)
        self.text = "".join(pieces)

    def find_line(self, secret: str) -> int | None:
        place = self.text.find(secret)
        return None if place < 0 else bisect.bisect_right(self.starts, place)


def _match(text: str, secrets: Set[Secret], place: str) -> list[Leak]:
    found = _find_secrets_in(text, frozenset(secrets))
    return [Leak(secret, place.replace("{line}", str(line))) for secret, line in found]


# Most texts go out more than once: alone, in a zip, in two wheels.
@functools.lru_cache(maxsize=4096)
def _find_secrets_in(text: str, secrets: frozenset[Secret]) -> list[tuple[Secret, int]]:
    """Return the secrets that a text holds, each with the line it begins in."""
    lines = text.splitlines()
    code = _Searchable(lines, _normalise_code, "")
    prose = _Searchable(lines, _normalise_prose, " ")
    found = []
    for secret in secrets:
        line = (prose if secret.kind in _PROSE else code).find_line(secret.text)
        if line is not None:
            found.append((secret, line))
    return sorted(found, key=lambda pair: (pair[0].owner, pair[0].text))


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
