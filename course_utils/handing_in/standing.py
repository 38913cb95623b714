"""Says where you stand: runs a notebook's public checks in a clean kernel, and what is open."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from course_utils import runtime
from course_utils.handing_in.handout import (
    Cell,
    HandInError,
    StudentNotebook,
    find_own_notebook,
    list_notebooks,
    read_notebook,
)

CELL_TIMEOUT = 300  # seconds; what takes longer is training, which is left out


@dataclass(frozen=True)
class Line:
    """What one public check said: "passed", "failed" or "open", and a sentence."""

    name: str
    status: str
    sentence: str

    def __str__(self) -> str:
        mark = {"passed": "✔", "failed": "✘", "open": "○"}[self.status]
        return f"{mark} {self.name}: {self.sentence}"


def check_notebook(path: str | None = None) -> None:
    """Run the saved notebook fresh and print where you stand; for the notebook's last cell.

    `path` is a file, or the name of one of the assignment's notebooks.
    """
    if not runtime.is_watched():
        return
    try:
        is_name = path is None or path in list_notebooks()
        file = find_own_notebook(path) if is_name else Path(path)
        age = time.time() - file.stat().st_mtime if file.is_file() else 0
        if age > 120:
            print(
                f"{file.name} was last saved {age / 60:.0f} minutes ago; that is what is checked."
            )
        print("A fresh kernel runs your notebook; this takes up to a minute ...", flush=True)
        command = [sys.executable, "-m", "course_utils", "check", str(file)]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8",
            env=os.environ | {"PYTHONIOENCODING": "utf-8"},
        ) as process:  # fmt: skip
            for line in process.stdout:
                print(line, end="", flush=True)
    except HandInError as problem:
        print(problem)


def report_standing(path: Path, say: Callable[[str], None] = print) -> bool:
    """Print one line for each public check and what is open; return whether nothing is."""
    notebook = read_notebook(path)
    checks = [cell for cell in notebook.cells if cell.role == "check"]
    if not checks:
        raise HandInError(
            f"{path.name} has no public checks: is it one of the course's notebooks "
            f"({', '.join(list_notebooks())})?"
        )
    passed = 0
    for line in run_checks(notebook):
        passed += line.status == "passed"
        say(str(line))
    open_answers = [cell.label for cell in notebook.cells if cell.role == "answer" and cell.is_open]
    say("")
    say(f"{path.name}: {passed} of {len(checks)} public checks pass.")
    if open_answers:
        say(f"Not written yet: {', '.join(open_answers)}.")
    open_runs = find_not_run(notebook)
    if open_runs:
        say(
            f"Not run yet, or saved without outputs: {open_runs} cells of trainings and experiments."
        )
    if passed < len(checks):
        say("The lines with ✘ and ○ say what to look at.")
    done = passed == len(checks) and not open_answers and not open_runs
    if done:
        say("Nothing is open. A public check is a good sign, not a mark: grading tries more.")
    return done


def find_not_run(notebook: StudentNotebook) -> int:
    """Count the kept cells that should show something and were never run."""
    return sum(
        cell.kept and cell.kind == "code" and cell.count is None and not cell.outputs
        and not re.search(r"course_utils\.(handing_in|standing)\b", cell.source)
        for cell in notebook.cells
    )  # fmt: skip


def run_checks(notebook: StudentNotebook) -> Iterator[Line]:
    """Run a notebook's code in a clean kernel, trainings left out; yield each check's line."""
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellTimeoutError, DeadKernelError

    code = [cell for cell in notebook.cells if cell.kind == "code" and not cell.kept]
    fresh = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell.source) for cell in code]
    )
    client = NotebookClient(
        fresh, timeout=CELL_TIMEOUT, allow_errors=True, kernel_name="python3",
        resources={"metadata": {"path": str(notebook.path.resolve().parent)}},
    )  # fmt: skip
    variables = os.environ | {runtime.CHECKING: "1", "COURSE_PROFILE": "quick"}
    trouble: str | None = None  # why nothing after this cell can run
    broken: dict[str, str] = {}  # what the cell that solves something stopped with
    total = Counter(cell.label for cell in code if cell.role == "check")
    seen: Counter[str] = Counter()  # a name can be checked more than once
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(client.setup_kernel(env=variables, stderr=subprocess.DEVNULL))
        except Exception as problem:  # Jupyter has many ways to say it
            raise HandInError(
                f"No fresh kernel could be started ({problem}). Try `pip install ipykernel`, and "
                "close other notebooks that need much memory."
            ) from None
        for index, cell in enumerate(code):
            if trouble is None:
                try:
                    client.execute_cell(fresh.cells[index], index)
                except CellTimeoutError:
                    trouble = f"cell {cell.number} took longer than {CELL_TIMEOUT} seconds"
                except DeadKernelError:
                    trouble = f"cell {cell.number} ended the kernel (out of memory?)"
            error = _find_error(fresh.cells[index])
            if cell.role == "check":
                line = _judge(cell, error, trouble, broken)
                seen[cell.label] += 1
                if total[cell.label] > 1:
                    name = f"{cell.label} ({seen[cell.label]} of {total[cell.label]})"
                    line = replace(line, name=name)
                yield line
            elif error and cell.role == "solve":
                broken[cell.label] = f"{error.ename}: {error.evalue}"


def _find_error(cell):
    return next((output for output in cell.outputs if output.output_type == "error"), None)


def _judge(cell: Cell, error, trouble: str | None, broken: dict[str, str]) -> Line:
    if trouble:
        return Line(cell.label, "failed", f"could not be run, because {trouble}.")
    if error is None:
        return Line(cell.label, "passed", "public check passed.")
    said = error.evalue.strip().splitlines()[0] if error.evalue.strip() else ""
    said = said.removeprefix(f"✘ {cell.label}: ")
    if error.ename == "CheckFailed":
        is_open = "TODO" in said and "open" in said
        return Line(cell.label, "open" if is_open else "failed", said)
    if cell.label in broken:
        return Line(cell.label, "failed", f"its cell stops with {broken[cell.label]}")
    return Line(cell.label, "failed", f"{error.ename}: {said}")
