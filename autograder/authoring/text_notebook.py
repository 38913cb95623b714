"""From a text notebook with short markers to a full nbgrader source notebook.

Authors write jupytext percent notebooks and mark cells like this:

    # %% solve="q_select_first"                            the learner fills this in
    # %% check="q_select_first" points=2                   judged by the exercise of that name
    # %% [markdown] answer="answer_1_2_3" points=2         a written answer, marked by hand
    # %% keep="outputs"                                    not run again when graded: training
    # %% [markdown] keep="outputs"                         the same for all under this heading
    # %% setup="course"                                    the build writes this cell
    # %% solve="challenge_pair" optional=true              nobody misses it when it stays open

A number that was measured is named, {{queries.select_from}}, and filled in from results.json.
Everything else (nbgrader's metadata, cell ids, the hidden test) is made here.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode

from autograder.authoring.mark_scheme import SchemeMistake, read_scheme
from autograder.authoring.quoted_numbers import fill_numbers, load_numbers
from autograder.blueprint import mark_kept
from autograder.course import CourseError, NotebookPlan
from autograder.python_text import REGIONS, find_defined_names, parse

_SOLUTION = re.compile(r"(?ms)^[ \t]*### BEGIN SOLUTION.*?### END SOLUTION[^\n]*\n?")
MARKERS = {"solve", "check", "answer", "points", "tags", "keep", "setup", "optional"}
SCHEMA_VERSION = 3  # of nbgrader's cell metadata

_HIDDEN_TEST = """\
### BEGIN HIDDEN TESTS
from autograder.grading.in_process import grade_here

grade_here("{exercises}", "{name}", globals(), points={points:g})
### END HIDDEN TESTS"""


@dataclass
class AuthoredCell:
    """A cell as the author wrote it, and where."""

    path: Path
    line: int
    kind: str  # "code" or "markdown"
    source: str
    markers: dict

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"


def read_text_notebook(path: Path) -> list[AuthoredCell]:
    """Read a percent notebook into cells that remember their line."""
    text = path.read_text(encoding="utf-8")
    lines = [number for number, line in enumerate(text.splitlines(), 1) if line.startswith("# %%")]
    notebook = jupytext.reads(text, fmt="py:percent")
    if len(lines) != len(notebook.cells):
        raise CourseError(
            f"{path}:1: there is text before the first `# %%` marker; put it into a cell."
        )
    return [
        AuthoredCell(path, line, cell.cell_type, cell.source, _drop_layout(cell.metadata))
        for line, cell in zip(lines, notebook.cells, strict=True)
    ]


def _drop_layout(metadata: dict) -> dict:
    """Leave out what jupytext notes about blank lines around a cell."""
    return {key: value for key, value in metadata.items() if key != "lines_to_next_cell"}


def build_source(
    path: Path, plan: NotebookPlan, assignment: str, exercises: Iterable[str], setup: str = ""
) -> NotebookNode:
    """Expand a text notebook into the instructor's notebook, or name the author's mistake.

    `setup` is the code of the cell that sets the notebook up.
    """
    cells = read_text_notebook(path)
    numbers = load_numbers(path.parent)
    for cell in cells:
        cell.source = fill_numbers(cell.source, numbers, path, cell.line)
        _check_cell(cell)
        if "setup" in cell.markers:
            cell.source = setup
    _check_names(cells, set(exercises), f"{assignment}/{plan.exercises}.py")
    _check_points(path, cells, plan)
    for cell in cells:
        if "answer" in cell.markers:
            _check_scheme(cell)
    kept = _find_kept(cells)
    notebook = nbformat.v4.new_notebook(
        metadata={
            "kernelspec": {
                "display_name": "Python 3 (ipykernel)",
                "language": "python",
                "name": "python3",
            },
            "language_info": {"name": "python"},
            "course": {"assignment": assignment, "notebook": plan.name},
        }
    )
    used: set[str] = set()
    for cell in cells:
        expanded = _expand(cell, used, f"{assignment}.{plan.exercises}")
        if cell.line in kept:
            mark_kept(expanded)
        notebook.cells.append(expanded)
    return notebook


# ------------------------------------------------------------------------ author's mistakes


def _check_cell(cell: AuthoredCell) -> None:
    unknown = set(cell.markers) - MARKERS
    if unknown:
        raise CourseError(
            f"{cell.place}: unknown marker {_list(unknown)}; a cell may have {_list(MARKERS)}."
        )
    roles = [role for role in ("solve", "check", "answer") if role in cell.markers]
    if len(roles) > 1:
        raise CourseError(f"{cell.place}: a cell is either {' or '.join(roles)}, not both.")
    role = roles[0] if roles else None
    if role in ("solve", "check") and cell.kind != "code":
        raise CourseError(f"{cell.place}: a {role} cell must be code, not markdown.")
    if role == "answer" and cell.kind != "markdown":
        raise CourseError(f"{cell.place}: an answer cell must be markdown, not code.")
    points = cell.markers.get("points")
    if role in ("check", "answer") and not _is_points(points):
        raise CourseError(
            f"{cell.place}: {cell.markers[role]} needs points=NUMBER, zero or more; "
            f"it has {'none' if points is None else repr(points)}."
        )
    if role not in ("check", "answer") and points is not None:
        raise CourseError(f"{cell.place}: only check and answer cells carry points.")
    if role == "answer" and not cell.markers["answer"].startswith("answer_"):
        raise CourseError(
            f'{cell.place}: an answer\'s name starts with "answer_"; '
            f"this one is called {cell.markers['answer']!r}."
        )
    if "keep" in cell.markers and (cell.markers["keep"] != "outputs" or role == "check"):
        raise CourseError(
            f'{cell.place}: keep="outputs" is the only way to keep, and a check cannot be kept.'
        )
    if "optional" in cell.markers and (role != "solve" or cell.markers["optional"] is not True):
        raise CourseError(f"{cell.place}: only a solve cell can be optional: write optional=true.")
    if "setup" in cell.markers and (cell.source.strip() or len(cell.markers) > 1):
        raise CourseError(
            f"{cell.place}: the build writes the cell with setup; leave it empty, without other "
            "markers."
        )
    _check_regions(cell, role)
    if role == "solve" and cell.markers["solve"] not in _defined_names(cell):
        raise CourseError(
            f"{cell.place}: the cell solves {cell.markers['solve']!r} but never defines it."
        )


def _check_scheme(cell: AuthoredCell) -> None:
    """The mark scheme is the rubric at the marking desk: its items must reach the points."""
    try:
        read_scheme(cell.source, cell.markers["points"])
    except SchemeMistake as problem:
        raise CourseError(
            f"{cell.path}:{cell.line + problem.line}: mark scheme of {cell.markers['answer']}: "
            f"{problem}"
        ) from None


def _is_points(points) -> bool:
    return isinstance(points, int | float) and not isinstance(points, bool) and points >= 0


def _check_regions(cell: AuthoredCell, role: str | None) -> None:
    open_region, begun = None, 0
    found = set()
    for offset, line in enumerate(cell.source.splitlines(), 1):
        number = cell.line + offset
        for name in REGIONS:
            if f"BEGIN {name}" in line:
                if open_region:
                    raise CourseError(
                        f"{cell.path}:{number}: a region begins inside the {open_region} region "
                        f"of line {begun}."
                    )
                open_region, begun = name, number
                found.add(name)
            elif f"END {name}" in line:
                if open_region != name:
                    raise CourseError(
                        f"{cell.path}:{number}: END {name} without a BEGIN {name} before it."
                    )
                open_region = None
    if open_region:
        raise CourseError(
            f"{cell.path}:{begun}: the region BEGIN {open_region} is never closed; "
            f"add `### END {open_region}`."
        )
    allowed = {"solve": "SOLUTION", "answer": "MARK SCHEME"}.get(role)
    for name in found - {allowed}:
        raise CourseError(
            f"{cell.place}: a {name} region does not belong in this cell"
            + (" (hidden tests are added by the build)." if name == "HIDDEN TESTS" else ".")
        )
    if role == "solve" and "SOLUTION" not in found:
        raise CourseError(
            f"{cell.place}: the cell solves {cell.markers['solve']!r} but has no "
            "`### BEGIN SOLUTION` ... `### END SOLUTION` region, so nothing would be hidden."
        )


def _defined_names(cell: AuthoredCell) -> set[str]:
    try:
        tree = ast.parse(cell.source)
    except SyntaxError as problem:
        line = cell.line + (problem.lineno or 1)
        raise CourseError(f"{cell.path}:{line}: not valid Python: {problem.msg}.") from None
    return find_defined_names(tree)


def _check_names(cells: list[AuthoredCell], exercises: set[str], module: str) -> None:
    seen: dict[str, AuthoredCell] = {}
    solved: set[str] = set()
    for cell in cells:
        grade_id = find_grade_id(cell.markers)
        if grade_id is None:
            continue
        if grade_id in seen:
            raise CourseError(
                f"{cell.place}: the name {grade_id!r} is taken already, by line {seen[grade_id].line}."
            )
        seen[grade_id] = cell
        if "solve" in cell.markers:
            solved |= _defined_names(cell)
        if "check" in cell.markers:
            name = cell.markers["check"]
            if name not in solved:
                raise CourseError(
                    f"{cell.place}: the cell checks {name!r}, which no solve cell above defines."
                )
            if name not in exercises:
                raise CourseError(
                    f"{cell.place}: there is no exercise {name!r}; "
                    f"autograder/exercises/{module} knows {_list(exercises)}."
                )


def _find_kept(cells: list[AuthoredCell]) -> set[int]:
    """Return the lines of the cells whose outputs are kept: marked, or under a marked heading."""
    kept: set[int] = set()
    level = 0  # of the marked heading that we are under
    for cell in cells:
        heading = re.match(r"(#+) ", cell.source) if cell.kind == "markdown" else None
        if heading and "keep" in cell.markers:
            level = len(heading[1])
        elif heading and len(heading[1]) <= level:
            level = 0
        if level or "keep" in cell.markers:
            kept.add(cell.line)
    checked = {cell.markers["check"] for cell in cells if "check" in cell.markers}
    for cell in cells:
        if cell.line in kept and ("check" in cell.markers or cell.markers.get("solve") in checked):
            raise CourseError(
                f"{cell.place}: graded work stands where outputs are kept, so it would not be run. "
                "Move it, or the heading with keep."
            )
    return kept


def _check_points(path: Path, cells: list[AuthoredCell], plan: NotebookPlan) -> None:
    for role, kind, total in (("check", "auto", plan.auto), ("answer", "manual", plan.manual)):
        found = sum(cell.markers["points"] for cell in cells if role in cell.markers)
        if found != total:
            raise CourseError(
                f"{path}:1: the {role} cells sum to {found:g} points, but assignment.toml says "
                f"{kind} = {total:g} for {plan.name}."
            )


def _list(words: Iterable[str]) -> str:
    return ", ".join(sorted(words)) or "none"


# -------------------------------------------------------------------------------- expansion


def find_grade_id(markers: dict) -> str | None:
    """Return nbgrader's name for a marked cell, or None for an unmarked one."""
    if "solve" in markers:
        return markers["solve"]
    if "check" in markers:
        return f"test_{markers['check']}"
    return markers.get("answer")


def _expand(cell: AuthoredCell, used: set[str], exercises: str) -> NotebookNode:
    grade_id = find_grade_id(cell.markers)
    source = _keep_whole(cell.source) if "solve" in cell.markers else cell.source
    if "check" in cell.markers:
        hidden = _HIDDEN_TEST.format(
            exercises=exercises, name=cell.markers["check"], points=cell.markers["points"]
        )
        source = f"{source}\n{hidden}"
    new_cell = nbformat.v4.new_code_cell if cell.kind == "code" else nbformat.v4.new_markdown_cell
    expanded = new_cell(source, id=grade_id or _make_id(cell, used))
    if grade_id:
        expanded.metadata["nbgrader"] = {
            "grade": "points" in cell.markers,
            "grade_id": grade_id,
            "locked": "check" in cell.markers,
            "schema_version": SCHEMA_VERSION,
            "solution": "check" not in cell.markers,
            "task": False,
        }
        if "points" in cell.markers:
            expanded.metadata["nbgrader"]["points"] = cell.markers["points"]
    if cell.markers.get("optional"):
        expanded.metadata["course"] = {"optional": True}
    if "tags" in cell.markers:
        expanded.metadata["tags"] = cell.markers["tags"]
    return expanded


def _keep_whole(source: str) -> str:
    """Put `...` above a solution that is a whole body, so that the students' cell is still Python."""
    filled = re.sub(r"(?m)^([ \t]*)### BEGIN SOLUTION", r"\1...\n\1### BEGIN SOLUTION", source)
    whole = not _is_python(_SOLUTION.sub("", source)) and _is_python(_SOLUTION.sub("", filled))
    return filled if whole else source


def _is_python(source: str) -> bool:
    try:
        parse(source)
        return True
    except SyntaxError:
        return False


def _make_id(cell: AuthoredCell, used: set[str]) -> str:
    """Name an unmarked cell after its content, so that ids survive cells added around it."""
    digest = hashlib.sha256(cell.source.encode()).hexdigest()[:8]
    heading = re.match(r"#+ +(.+)", cell.source) if cell.kind == "markdown" else None
    words = re.findall(r"[a-z0-9]+", heading[1].lower())[:4] if heading else ["cell"]
    base = "-".join([*words, digest])
    name, count = base, 1
    while name in used:
        count += 1
        name = f"{base}-{count}"
    used.add(name)
    return name
