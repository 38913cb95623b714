"""What the package knows about the notebooks: which there are, and what each cell is for."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path

_FACTS = Path(__file__).parents[1] / "data" / "course.json"


class HandInError(Exception):
    """Something a student can mend; its text is one clear sentence."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


@dataclass(frozen=True)
class Plan:
    """One notebook of an assignment."""

    name: str
    title: str
    pages: int  # how long its written part may be
    given: frozenset[str]  # digests of the code that was handed out to be run
    stubs: frozenset[str]  # digests of the cells that were handed out to be filled in


@dataclass(frozen=True)
class AssignmentPlan:
    """One assignment: its notebooks in order, and what is handed in beside them."""

    name: str
    title: str
    files: dict[str, str]  # what to tell somebody who has not got it, by file
    notebooks: dict[str, Plan]


@dataclass(frozen=True)
class Cell:
    """One cell of a student's notebook, and what the hand-out meant it for."""

    number: int  # counted from 1, as a person would
    kind: str  # "code" or "markdown"
    source: str
    name: str  # the hand-out's name for it, or ""
    role: str  # "solve", "check", "answer" or "plain"
    kept: bool  # training and experiments: not run again by anybody
    is_open: bool  # to be filled in, and still as it was handed out
    outputs: tuple = ()
    count: int | None = None  # when it was run, counted by the kernel

    @property
    def label(self) -> str:
        """The name as a person says it: answer_q4_1 is Q4.1, answer_2_2_setup is 2.2 setup."""
        if self.name == "answer_collaborators":
            return "who helped you"
        if self.role != "answer":
            return self.name.removeprefix("test_") if self.role == "check" else self.name
        words = self.name.removeprefix("answer_")
        numbers = re.match(r"(q?\d+(?:_\d+)*)_?(.*)", words)
        if not numbers:
            return words.replace("_", " ")
        place = numbers[1].replace("_", ".").replace("q", "Q")
        return f"{place} {numbers[2].replace('_', ' ')}".strip()


@dataclass(frozen=True)
class StudentNotebook:
    """A notebook file as it lies there."""

    path: Path
    content: dict
    assignment: str  # which assignment it belongs to, or ""
    name: str  # which of the assignment's notebooks it is, or ""
    cells: tuple[Cell, ...]

    @property
    def release(self) -> str:
        """Which release of the hand-out it was made from, or ""."""
        return str(_course_facts(self.content).get("release", ""))


def digest(source: str) -> str:
    """Return a few characters that tell one piece of code from another, white space aside."""
    return hashlib.sha256(" ".join(source.split()).encode()).hexdigest()[:8]


@cache
def load_assignments() -> dict[str, AssignmentPlan]:
    """Return the course's assignments in order, by name."""
    return {
        facts["name"]: AssignmentPlan(
            facts["name"],
            facts["title"],
            facts["files"],
            {plan["name"]: _read_plan(plan) for plan in facts["notebooks"]},
        )
        for facts in _facts()["assignments"]
    }


def _read_plan(plan: dict) -> Plan:
    given, stubs = frozenset(plan["given"]), frozenset(plan["stubs"])
    return Plan(plan["name"], plan["title"], plan["pages"], given, stubs)


def list_notebooks() -> list[str]:
    """Return the names of all notebooks of the course."""
    return [name for assignment in load_assignments().values() for name in assignment.notebooks]


def load_fact(name: str) -> str:
    """Return what the course says about itself under this name."""
    return _facts()[name]


@cache
def _facts() -> dict:
    return json.loads(_FACTS.read_text("utf-8"))


# ------------------------------------------------------------------------------ reading files


def read_notebook(path: Path) -> StudentNotebook:
    """Read a notebook file, or say in a sentence why it cannot be read."""
    path = Path(path)
    if path.is_dir():
        raise HandInError(f"{path} is a folder: give the notebook file in it.")
    try:
        content = json.loads(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        there = ", ".join(sorted(p.name for p in path.parent.glob("*.ipynb"))) or "no notebook"
        raise HandInError(f"There is no file {path}. In that folder there is: {there}.") from None
    except OSError as problem:
        raise HandInError(f"{path} cannot be opened: {problem.strerror}.") from None
    except (ValueError, RecursionError):
        raise HandInError(
            f"{path.name} is not a notebook, or it was cut off while it was saved. Save it again "
            "from Jupyter, or download it again."
        ) from None
    if not isinstance(content, dict) or not isinstance(content.get("cells"), list):
        raise HandInError(f"{path.name} is not a notebook of format 4: save it again from Jupyter.")
    cells = tuple(
        _read_cell(number, cell)
        for number, cell in enumerate(content["cells"], 1)
        if isinstance(cell, dict)
    )
    return StudentNotebook(path, content, *_identify(path, content), cells)


def _course_facts(content: dict) -> dict:
    metadata = content.get("metadata")
    course = metadata.get("course") if isinstance(metadata, dict) else None
    return course if isinstance(course, dict) else {}


def _identify(path: Path, content: dict) -> tuple[str, str]:
    """Return which assignment and which of its notebooks a file is: by its mark, then its name."""
    facts = _course_facts(content)
    claimed, assignment = facts.get("notebook"), facts.get("assignment")
    for known in load_assignments().values():
        if claimed in known.notebooks and assignment in (known.name, None):
            return known.name, claimed
    for known in load_assignments().values():
        for name in known.notebooks:
            if name in path.stem:
                return known.name, name
    return "", ""


def _read_cell(number: int, cell: dict) -> Cell:
    source = cell.get("source", "")
    source = "".join(map(str, source)) if isinstance(source, list) else str(source)
    kind = "code" if cell.get("cell_type") == "code" else "markdown"
    metadata = cell.get("metadata") if isinstance(cell.get("metadata"), dict) else {}
    marks = metadata.get("nbgrader") if isinstance(metadata.get("nbgrader"), dict) else {}
    course = metadata.get("course") if isinstance(metadata.get("course"), dict) else {}
    outputs = cell.get("outputs") if isinstance(cell.get("outputs"), list) else []
    count = cell.get("execution_count")
    name, role = _find_role(kind, source, marks)
    return Cell(
        number, kind, source, name, role,
        kept=course.get("keep") == "outputs",
        is_open=role in ("solve", "answer") and not course.get("optional") and _is_stub(source),
        outputs=tuple(output for output in outputs if isinstance(output, dict)),
        count=count if isinstance(count, int) else None,
    )  # fmt: skip


def _is_stub(source: str) -> bool:
    plans = [p for known in load_assignments().values() for p in known.notebooks.values()]
    return not source.strip() or any(digest(source) in plan.stubs for plan in plans)


def _find_role(kind: str, source: str, marks: dict) -> tuple[str, str]:
    """Tell a cell's name and role by its marks; a check is known by its text as well."""
    name = str(marks.get("grade_id", ""))
    called = re.match(r'check\(\s*["\'](\w+)["\']', source.strip())
    if marks.get("grade") and marks.get("solution"):
        return name, "answer"
    if marks.get("grade"):
        return name, "check"
    if marks.get("solution"):
        return name, "solve"
    if kind == "code" and called and not marks and not source.strip().count("\n"):
        rehearsal = re.search(r"\btest=(\d+)", source)
        return (f"Test {rehearsal[1]}" if rehearsal else f"test_{called[1]}"), "check"
    return name, "plain"


# --------------------------------------------------------------------------- finding one's own


def find_own_notebook(name: str | None = None) -> Path:
    """Return the file of the notebook that asks, wherever it runs."""
    colab = _take_from_colab(name)
    if colab is not None:
        return colab
    session = os.environ.get("JPY_SESSION_NAME", "")  # what Jupyter's server calls the notebook
    if session.endswith(".ipynb"):
        for path in (Path(session), Path.cwd() / Path(session).name):
            if path.is_file():
                return path
    here = sorted(Path.cwd().glob("*.ipynb"))
    if name is None and len(here) == 1:
        return here[0]
    for path in here:
        if name is not None and path.stem == name:
            return path
    for path in here:
        if name is not None and _is_named(path, name):
            return path
    wanted = f"{name}.ipynb" if name else "this notebook's file"
    if "google.colab" in sys.modules:
        raise HandInError(
            f"Colab does not hand {wanted} over. Choose File → Download → Download .ipynb, upload "
            "that file in the pane Files on the left, and run this cell again."
        )
    raise HandInError(
        f"{wanted} is not in {Path.cwd()}. Give its path in the brackets, "
        'for example "work/my_notebook.ipynb".'
    )


def _is_named(path: Path, name: str) -> bool:
    try:
        return read_notebook(path).name == name
    except HandInError:
        return False


def _take_from_colab(name: str | None) -> Path | None:
    """In Colab the notebook is no file here: ask the page for it and write it down."""
    if "google.colab" not in sys.modules:
        return None
    try:
        from google.colab import _message

        content = _message.blocking_request("get_ipynb", timeout_sec=30)["ipynb"]
    except Exception:  # another version of Colab, or no page that answers
        return None
    name = _course_facts(content).get("notebook") or name or "notebook"
    path = Path.cwd() / f"{name}.ipynb"
    _set_aside(path)
    content.setdefault("metadata", {}).setdefault("course", {})["copy"] = "made by Colab's page"
    path.write_text(json.dumps(content, ensure_ascii=False), "utf-8")
    return path


def _set_aside(path: Path) -> None:
    """Give a file of the same name another one, unless it is a copy that we made."""
    if not path.exists():
        return
    try:
        if "copy" in _course_facts(read_notebook(path).content):
            return
    except HandInError:
        pass  # whatever it is, it stays
    numbers = (path.with_name(f"{path.stem} (earlier {n}).ipynb") for n in count(1))
    path.rename(next(other for other in numbers if not other.exists()))
