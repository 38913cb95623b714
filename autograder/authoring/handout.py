"""What a hand-out says about itself: where it is, which release it is, how it sets itself up."""

from __future__ import annotations

import hashlib
import json

from nbformat import NotebookNode

import autograder
from autograder.course import Course, NotebookPlan
from course_utils.handing_in.handout import digest

FACTS_FILE = "course_utils/data/course.json"

# The one cell that has to work where nothing of the course is installed yet.
_SET_UP = """\
# Run this cell first, on your computer or in Colab. Running it again does no harm.
KEEP_ON_DRIVE = False  # in Colab: True keeps checkpoints and results on your Google Drive

try:
    from course_utils import colab
except ImportError:  # the course's package is not here yet, as in a new Colab session
    import importlib, importlib.util, os, subprocess, sys
    from importlib.metadata import version

    address = os.environ.get("COURSE_ADDRESS", "{address}")
    wheel = f"{{address}}/{wheel}"
    as_it_is = [f"torch=={{version('torch')}}"] if importlib.util.find_spec("torch") else []
    print("Fetching the course's package ...")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*pip, *as_it_is, wheel], capture_output=True, text=True)
    if done.returncode:
        print(*done.stderr.strip().splitlines()[-1:])
        sys.exit(
            f"The course's package could not be installed from {{wheel}}. Is there a network? Run "
            "this cell again when there is, or install the file by hand: pip install "
            "{wheel}"
        )
    importlib.invalidate_caches()
    from course_utils import colab

colab.prepare(KEEP_ON_DRIVE)"""


def find_address(course: Course) -> str:
    """Return the address below which the published files can be fetched one by one."""
    address = course.students["address"].rstrip("/")
    if address.startswith("https://github.com/"):
        return f"{address}/raw/{course.students['branch']}"
    return address


def find_colab_address(course: Course, file: str) -> str | None:
    """Return the address that opens a published notebook in Colab, which reads from GitHub."""
    address = course.students["address"].rstrip("/")
    if not address.startswith("https://github.com/"):
        return None
    place = address.removeprefix("https://github.com/")
    return (
        f"https://colab.research.google.com/github/{place}/blob/{course.students['branch']}/{file}"
    )


def name_wheel(course: Course) -> str:
    """Return the file name of the students' package."""
    package = course.students["package"].replace("-", "_")
    return f"{package}-{autograder.__version__}-py3-none-any.whl"


def make_setup_cell(course: Course) -> str:
    """Return the code of the cell that every notebook begins with."""
    return _SET_UP.format(address=find_address(course), wheel=name_wheel(course))


def stamp_release(notebook: NotebookNode) -> str:
    """Return a notebook's release: the course's version, and a digest of what its cells say."""
    content = "\0".join(f"{cell.cell_type}:{cell.source}" for cell in notebook.cells)
    return f"{autograder.__version__}+{hashlib.sha256(content.encode()).hexdigest()[:8]}"


def describe_course(course: Course, releases: dict[str, list[NotebookNode]]) -> bytes:
    """Return what the students' package has to know: assignments, notebooks, pages, given code."""
    facts = {
        "id": course.id,
        "title": course.title,
        "address": course.students["address"],
        "files": find_address(course),
        "assignments": [
            {
                "name": name,
                "title": assignment.title,
                "files": assignment.files,
                "notebooks": [
                    _describe_notebook(plan, notebook)
                    for plan, notebook in zip(assignment.notebooks, releases[name], strict=True)
                ],
            }
            for name, assignment in course.assignments.items()
        ],
    }
    return (json.dumps(facts, indent=1) + "\n").encode()


def _describe_notebook(plan: NotebookPlan, notebook: NotebookNode) -> dict:
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    given = [cell for cell in code if "nbgrader" not in cell.metadata]
    stubs = [c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("solution")]
    return {
        "name": plan.name,
        "title": plan.title,
        "pages": plan.pages,
        "given": [digest(cell.source) for cell in given],
        "stubs": sorted({digest(cell.source) for cell in stubs}),
    }
