"""Grading where no namespaces can be made, as in most containers: students are another user there."""

import json
import os
import shutil
import stat
import subprocess
import sys
import sysconfig
from pathlib import Path

import nbformat
import pytest

from autograder.demo.personas import fill_in, solve_all
from tests.conftest import ROOT

pytestmark = pytest.mark.skipif(
    not shutil.which("setpriv") or not hasattr(os, "geteuid") or os.geteuid() != 0,
    reason="needs root, and setpriv to give rights away",
)


def is_open(path: str) -> bool:
    """May another user come to this file?"""
    folders = [Path(path), *Path(path).parents]
    return all(folder.stat().st_mode & stat.S_IXOTH for folder in folders)


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """A Python that other users can read: ours, or the system's of the same version."""
    if is_open(os.path.realpath(sys.executable)) and is_open(sys.base_prefix):
        return sys.executable
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    system = f"/usr/bin/python{version}"
    packages = sysconfig.get_paths()["purelib"]
    if not os.path.exists(system) or not is_open(os.path.realpath(packages)):
        pytest.skip("there is no Python here that another user could read")
    folder = tmp_path_factory.mktemp("python") / "env"
    if subprocess.run([system, "-m", "venv", "--without-pip", folder]).returncode:
        pytest.skip("the system's Python makes no virtual environment")
    for place in (folder, *folder.parents):
        if place.stat().st_uid == 0 and str(place).startswith("/tmp/"):
            place.chmod(place.stat().st_mode | 0o755)
    site = folder / "lib" / f"python{version}" / "site-packages"
    (site / "packages.pth").write_text(f"{os.path.realpath(packages)}\n")
    return str(folder / "bin" / "python")


def test_students_run_as_another_user_without_namespaces(python, blueprint, tmp_path):
    codes = solve_all(blueprint)
    codes["q_select_first"] = (
        "import os\n"
        "assert os.getuid() != 0 and os.getgid() != 0\n"
        "try:\n    os.setuid(0)\n    q_select_first = None\n"
        "except PermissionError:\n    q_select_first = 10 * K[0]"
    )
    path = tmp_path / f"{blueprint.name}.ipynb"
    path.write_text(nbformat.writes(fill_in(blueprint, codes)), "utf-8")
    done = subprocess.run(
        ["setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin",
         python, "-m", "autograder", "grade", str(path), "--json"],
        cwd=ROOT, capture_output=True, text=True, timeout=300,
        env={**os.environ, "COURSE_GRADING": str(tmp_path / "grading")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["score"] == 12.0, result["cells"]
    assert not result["isolation"].startswith("walls"), "the rights were not taken away"
