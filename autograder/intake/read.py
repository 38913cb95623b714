"""Reads a notebook file in whatever state it is, or says in a sentence why it cannot be read.

Nothing that arrives is trusted to have a type: what leaves here is a notebook of plain cells, with
texts where texts belong, the few words of metadata that grading looks at, and nothing else.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder import budgets
from autograder.course import CourseError
from autograder.opener import Refused, describe_size, read_plain
from autograder.plain_text import clean_text

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_PICTURE = re.compile(r"image/(?:png|jpeg|gif)")


class Unreadable(CourseError):
    """A submission that is not a notebook; the text says what it is instead."""


def read_notebook(path: Path) -> NotebookNode:
    """Read a notebook file of any nbformat that can be upgraded to 4."""
    name = clean_text(path.name)
    if path.is_dir() and not path.is_symlink():
        raise Unreadable(f"{name} is a folder, not a notebook file.")
    text = read_text(path, budgets.LARGEST_NOTEBOOK, f"{name} is not a notebook: it is not text.")
    if not text.strip():
        raise Unreadable(f"{name} is empty.")
    if text.count("{") + text.count("[") > budgets.MOST_PARTS:
        raise Unreadable(f"{name} is made of too many small parts to be read; clear its outputs.")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError, MemoryError) as problem:
        line = getattr(problem, "lineno", None)
        where = f" (line {line})" if line else ""
        raise Unreadable(f"{name} is not a notebook: it is not valid JSON{where}.") from None
    version = content.get("nbformat") if isinstance(content, dict) else None
    if version is None:
        raise Unreadable(f"{name} is JSON, but not a notebook: it has no nbformat.")
    if type(version) is not int or version not in (1, 2, 3, 4):
        shown = clean_text(repr(version)[:20])
        raise Unreadable(f"{name} has nbformat {shown}; notebooks of format 4 are graded.")
    try:
        # Only old formats go through nbformat's own reader: it refuses format 4 with small flaws.
        return make_plain(nbformat.reads(text, 4) if version < 4 else content, name)
    except Unreadable:
        raise
    except Exception as problem:  # a damaged notebook can fail anywhere in there
        raise Unreadable(
            f"{name} is damaged: its cells cannot be read ({type(problem).__name__})."
        ) from None


def read_text(path: Path, largest: int, otherwise: str) -> str:
    """Return a file's text, `otherwise` being the sentence when it is none."""
    try:
        return read_plain(path, largest).decode("utf-8-sig")
    except Refused as problem:
        hint = " Clear its outputs." if "larger than" in str(problem) else ""
        raise Unreadable(f"{problem}{hint}") from None
    except UnicodeDecodeError:
        raise Unreadable(otherwise) from None


def make_plain(content: dict, name: str) -> NotebookNode:
    """Return a notebook of plain cells; raise Unreadable when it holds more than it may."""
    given = content["cells"]
    if len(given) > budgets.MOST_CELLS:
        raise Unreadable(
            f"{name} has {len(given):,} cells, and more than {budgets.MOST_CELLS:,} are not read. "
            "Delete the empty ones."
        )
    cells = [_make_cell(cell, index) for index, cell in enumerate(given)]
    _check_sizes(cells, name)
    seen: Counter[str] = Counter()
    for cell in cells:  # a copied cell keeps its id in some editors; nbformat allows each but once
        seen[cell.id] += 1
        if seen[cell.id] > 1:
            cell["id"] = f"{cell.id[:50]}-copy-{seen[cell.id]}"
    course = content.get("metadata")
    course = course.get("course") if isinstance(course, dict) else None
    course = course if isinstance(course, dict) else {}
    known = {
        key: clean_text(course[key])
        for key in ("assignment", "notebook", "release")
        if isinstance(course.get(key), str)
    }
    return NotebookNode(
        nbformat=4,
        nbformat_minor=5,
        metadata=NotebookNode({"course": NotebookNode(known)} if known else {}),
        cells=cells,
    )


def _check_sizes(cells: list[NotebookNode], name: str) -> None:
    codes = [cell.source for cell in cells if cell.cell_type == "code"]
    if sum(map(len, codes)) > budgets.LARGEST_CODE:
        raise Unreadable(
            f"{name} holds more than {describe_size(budgets.LARGEST_CODE)} of code. Put data into a "
            "file of its own."
        )
    if sum(code.count("\n") + code.count(";") for code in codes) > budgets.MOST_STATEMENTS:
        raise Unreadable(f"{name} holds more than {budgets.MOST_STATEMENTS:,} lines of code.")
    if sum(len(cell.source) for cell in cells) > budgets.LARGEST_TEXT:
        raise Unreadable(f"{name} holds more than {describe_size(budgets.LARGEST_TEXT)} of text.")


def _make_cell(cell, index: int) -> NotebookNode:
    metadata = cell.get("metadata")
    facts = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    grade_id = facts.get("grade_id") if isinstance(facts, dict) else None
    kept = {"nbgrader": NotebookNode(grade_id=grade_id)} if isinstance(grade_id, str) else {}
    given = cell.get("id")
    plain = NotebookNode(
        id=given if isinstance(given, str) and _ID.fullmatch(given) else f"without-id-{index}",
        cell_type="markdown",
        metadata=NotebookNode(kept),
        source=clean_text(join_text(cell.get("source", ""))),
    )
    if cell.get("cell_type") == "code":
        outputs = cell.get("outputs")
        outputs = outputs[: budgets.MOST_OUTPUTS] if isinstance(outputs, list) else []
        made = (_make_output(output) for output in outputs)
        plain.update(
            cell_type="code", execution_count=None, outputs=[one for one in made if one is not None]
        )
        return plain
    if cell.get("cell_type") == "raw":
        plain["cell_type"] = "raw"
    pictures = read_attachments(cell.get("attachments"))
    if pictures:
        plain["attachments"] = pictures
    return plain


def read_attachments(given) -> NotebookNode:
    """Return the pictures that were pasted into a cell: name -> {type: base64}."""
    found = NotebookNode()
    for name, data in given.items() if isinstance(given, dict) else ():
        pictures = {
            kind: join_text(value)
            for kind, value in (data.items() if isinstance(data, dict) else ())
            if _PICTURE.fullmatch(kind) and isinstance(value, str | list)
        }
        if pictures:
            found[clean_text(name)] = NotebookNode(pictures)
    return found


def _make_output(output) -> NotebookNode | None:
    """Return an output of a kind that Jupyter knows, made of texts alone, or None."""
    kind = output.get("output_type") if isinstance(output, dict) else None
    if kind == "stream":
        name = "stderr" if output.get("name") == "stderr" else "stdout"
        text = clean_text(join_text(output.get("text", "")), colours=True)
        return NotebookNode(output_type="stream", name=name, text=text)
    if kind == "error":
        lines = output.get("traceback")
        lines = lines[: budgets.MOST_OUTPUTS] if isinstance(lines, list) else []
        return NotebookNode(
            output_type="error",
            ename=clean_text(join_text(output.get("ename", ""))),
            evalue=clean_text(join_text(output.get("evalue", "")), colours=True),
            traceback=[clean_text(join_text(line), colours=True) for line in lines],
        )
    if kind not in ("display_data", "execute_result"):
        return None
    data = output.get("data")
    texts = {
        clean_text(key): clean_text(join_text(value), colours=True)
        for key, value in (data.items() if isinstance(data, dict) else ())
        if isinstance(value, str | list)
    }
    made = NotebookNode(output_type=kind, data=NotebookNode(texts), metadata=NotebookNode())
    if kind == "execute_result":
        made["execution_count"] = None
    return made


def join_text(value) -> str:
    """Return a text that may be stored as a list of lines; whatever else there is becomes its words."""
    if isinstance(value, list):
        return "".join(line for line in value if isinstance(line, str))
    return value if isinstance(value, str) else str(value)[:1000]
