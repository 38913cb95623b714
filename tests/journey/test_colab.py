"""Colab, simulated: a fresh environment, the notebook alone in an empty folder, files on loopback."""

import json
import re

import nbformat
import pytest

from autograder.authoring.handout import (
    find_address,
    find_colab_address,
    make_setup_cell,
    name_wheel,
)
from autograder.course import load_course
from course_utils import __version__ as VERSION
from tests.conftest import ROOT
from tests.journey.conftest import run_student, serve
from tests.journey.forms import change_as_colab_does, write

pytestmark = pytest.mark.xdist_group("colab")

# What a Colab kernel has that others have not.
COLAB = """\
import sys, types, pathlib
google, colab, drive = (types.ModuleType(n) for n in ("google", "google.colab", "google.colab.drive"))
google.colab, colab.drive = colab, drive
drive.mount = lambda place: pathlib.Path(place, "MyDrive").mkdir(parents=True, exist_ok=True)
sys.modules.update({"google": google, "google.colab": colab, "google.colab.drive": drive})
"""
RUN = """\
import sys, nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], as_version=4)
cells = notebook.cells[:int(sys.argv[2])] if len(sys.argv) > 2 else notebook.cells
notebook.cells = cells
NotebookClient(notebook, timeout=300, allow_errors=True).execute()
nbformat.write(notebook, sys.argv[1])
"""


def find_setup(notebook):
    return next(i for i, cell in enumerate(notebook.cells) if "KEEP_ON_DRIVE" in cell.source)


def outputs_of(cell):
    return "".join(
        output.get("text", "") + output.get("evalue", "") for output in cell.get("outputs", [])
    )


@pytest.fixture(scope="module")
def session(published, student_python, tmp_path_factory):
    """Notebook 1 in an empty folder, run as far as its first check, the set-up cell twice."""
    folder = tmp_path_factory.mktemp("content")
    notebook = nbformat.read(published / "attention" / "1_query_crafting.ipynb", as_version=4)
    place = find_setup(notebook)
    notebook.cells.insert(place + 1, nbformat.v4.new_code_cell(notebook.cells[place].source))
    notebook.cells.insert(place, nbformat.v4.new_code_cell(COLAB))
    drive = folder / "drive"
    move = f"import course_utils.colab as p, pathlib, os\np.DRIVE = pathlib.Path({str(drive)!r})\n"
    again = notebook.cells[place + 1].source.replace("DRIVE = False", "DRIVE = True")
    notebook.cells.insert(place + 3, nbformat.v4.new_code_cell(move + again + "\nos.getcwd()"))
    path = write(folder / "Copy of 1_query_crafting.ipynb", change_as_colab_does(notebook))
    with serve(published) as (address, asked):
        done = run_student(
            student_python, "-c", RUN, path, place + 8, cwd=folder, COURSE_ADDRESS=address
        )
    assert done.returncode == 0, done.stderr
    return nbformat.read(path, as_version=4).cells, place, asked, drive


def test_the_set_up_cell_fetches_the_package_once_and_leaves_torch_alone(session, student_python):
    cells, place, asked, _ = session
    first, second = outputs_of(cells[place + 1]), outputs_of(cells[place + 2])
    assert first.startswith("Fetching the course's package ...\n")
    version = re.escape(VERSION) + r"\+[0-9a-f]{8}"  # the published package's, from its content
    assert re.search(rf"course_utils {version} is ready\. No GPU: choose one", first)
    assert "Fetching" not in second and "is ready" in second
    assert len([path for path in asked if path.endswith(".whl")]) == 1
    own = student_python.parents[1].glob("lib/python3*/site-packages/*")
    assert {path.name.split("-")[0] for path in own} <= {
        "packages.pth", "course_utils", "attention_course"
    }  # fmt: skip


def test_the_notebook_runs_where_nothing_else_is(session):
    cells, place, _, _ = session
    after = [cell for cell in cells[place + 4 :] if cell.cell_type == "code"]
    assert len(after) >= 2
    for cell in after:
        assert cell.outputs and all(o.output_type != "error" for o in cell.outputs), cell


def test_checkpoints_go_to_drive_when_asked(session):
    cells, place, _, drive = session
    assert (drive / "MyDrive" / "attention-course").is_dir()
    assert "are kept in" in outputs_of(cells[place + 3])
    shown = [o.data["text/plain"] for o in cells[place + 3].outputs if "data" in o]
    assert shown[-1] == repr(str(drive / "MyDrive" / "attention-course"))


def test_without_network_and_package_a_sentence_says_what_to_do(
    published, student_python, tmp_path
):
    """Nothing listens there: the cell says so, and names the file to install by hand."""
    cell = make_setup_cell(load_course(ROOT))
    code = f"import sys\nsys.modules['course_utils'] = None\nsys.stdout.flush()\n{cell}"
    done = run_student(
        student_python, "-c", code, cwd=tmp_path,
        COURSE_ADDRESS="http://127.0.0.1:9", PIP_RETRIES="0", PIP_TIMEOUT="1",
    )  # fmt: skip
    assert done.returncode == 1 and "Traceback" not in done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert "could not be installed" in last and "Run this cell again" in last
    assert f"pip install attention_course-{VERSION}-py3-none-any.whl" in last


def test_addresses_come_from_course_toml(course_copy):
    path = course_copy / "course.toml"
    text = path.read_text("utf-8")
    path.write_text(text.replace('branch = "main"', 'branch = "autumn"'), "utf-8")
    course = load_course(course_copy)
    base = "https://github.com/your-department/attention-course"
    assert find_address(course) == f"{base}/raw/autumn"
    cell = make_setup_cell(course)
    assert f'"{base}/raw/autumn")' in cell and f"/{name_wheel(course)}" in cell
    assert find_colab_address(course, "x.ipynb") == (
        "https://colab.research.google.com/github/your-department/attention-course/blob/autumn/x.ipynb"
    )


def test_a_published_notebook_has_its_badge_and_stamp(published):
    facts = json.loads((published / "release.json").read_text("utf-8"))
    assert list(facts["assignments"]) == ["attention"]
    for name, stamp in facts["assignments"]["attention"].items():
        notebook = nbformat.read(published / "attention" / f"{name}.ipynb", as_version=4)
        assert notebook.metadata["course"]["release"] == stamp
        badge = notebook.cells[0].source.splitlines()[2]
        assert badge.startswith("[![Open in Colab](../colab-badge.svg)](https://colab.research")
        assert badge.endswith(f"/blob/main/attention/{name}.ipynb)")
