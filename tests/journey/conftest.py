"""A student's folder, and a computer as a student has it: Python without nbgrader or autograder."""

import contextlib
import functools
import http.server
import os
import shutil
import subprocess
import sysconfig
import threading
import venv
from pathlib import Path

import nbformat
import pytest

from autograder.blueprint import load_blueprints
from course_utils.sentiment.sources import load_own_splits
from tests.journey import forms

# What a student's computer does not have.
_ABSENT = ("nbgrader", "attention_course", "autograder", "course_utils", "__editable__")


@pytest.fixture(scope="session")
def solved(published, assignment, tmp_path_factory):
    """A student's folder: the published files, worked on, with one mistake in each notebook."""
    folder = tmp_path_factory.mktemp("solved") / "work"
    shutil.copytree(published / assignment.name, folder)
    for name, blueprint in load_blueprints(assignment).items():
        path = folder / f"{name}.ipynb"
        forms.write(path, forms.solve(nbformat.read(path, as_version=4), blueprint))
    forms.write_predictions(folder / "test_predictions.csv", load_own_splits()["test"])
    return folder


@pytest.fixture(scope="module")
def student_python(tmp_path_factory):
    """A fresh virtual environment; its packages are links to ours, so that it takes no minutes."""
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder / "env", with_pip=False, symlinks=True)
    farm = folder / "packages"
    farm.mkdir()
    for path in Path(sysconfig.get_paths()["purelib"]).iterdir():
        if path.suffix != ".pth" and not path.name.startswith(_ABSENT):
            (farm / path.name).symlink_to(path)
    python = folder / "env" / "bin" / "python"
    site = next((folder / "env" / "lib").glob("python3*")) / "site-packages"
    (site / "packages.pth").write_text(f"{farm}\n")
    return python


def run_student(python, *arguments, cwd, **variables):
    """Run Python as a student does: nothing of ours on its path."""
    kept = {
        k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "JUPYTER", "COURSE"))
    }
    return subprocess.run(
        [str(python), *map(str, arguments)],
        cwd=cwd,
        env={**kept, "PYTHONDONTWRITEBYTECODE": "1", **variables},
        capture_output=True,
        text=True,
        timeout=400,
    )


@contextlib.contextmanager
def serve(folder):
    """Serve a folder on loopback; yield its address and the paths that were asked for."""
    asked = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format, *arguments):
            asked.append(self.path)

    handler = functools.partial(Handler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()
