"""Makes the zip that Gradescope builds its container from: everything that grading needs."""

from __future__ import annotations

import io
import re
import tomllib
import zipfile
from pathlib import Path

from autograder.adapters.gradescope_run import ASSIGNMENT, TEST_SETS
from autograder.authoring import handout
from autograder.authoring.build import require_built
from autograder.authoring.publish import build_wheel
from autograder.course import Assignment, CourseError
from autograder.exercises import find_leaderboard
from autograder.files import replace_file
from autograder.grading.secret import read_secret

_DATE = (1980, 1, 1, 0, 0, 0)
_NOT_NEEDED = {"attention-course[lab]", "nbgrader"}  # the wheel comes along; no gradebook there
_SETUP = """\
#!/usr/bin/env bash
# Runs once, when Gradescope builds the container: installs Python and what grading needs.
set -euo pipefail
ROOT="${AUTOGRADER_ROOT:-/autograder}"
SOURCE="$ROOT/source"
PYTHON="${COURSE_PYTHON:-}"
if [ -z "$PYTHON" ]; then
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  for version in 3.13 3.12 3.11; do
    apt-get install -y -qq "python$version" "python$version-venv" || continue
    "python$version" -m venv "$ROOT/environment" && PYTHON="$ROOT/environment/bin/python" && break
  done
  if [ -z "$PYTHON" ]; then
    echo "No Python 3.11 or newer is to be had here: choose Ubuntu 24.04 as the base image." >&2
    exit 1
  fi
  PIP="$PYTHON -m pip install --quiet --disable-pip-version-check -c $SOURCE/constraints.txt"
  $PIP torch __INDEX__  # a CPU build is enough: `gradescope --torch-index` says where it is
  $PIP -r "$SOURCE/requirements.txt" "$SOURCE"/*.whl
fi
"$PYTHON" -m pip install --quiet --disable-pip-version-check --no-deps --upgrade \\
  --target "$ROOT/packages" "$SOURCE"/*.whl
echo "$PYTHON" > "$SOURCE/python"
# Students' code runs as another user, who may read the package and nothing of the course.
chmod -R a+rX "$ROOT/packages"
chmod -R go-rwx "$SOURCE"
"""
_RUN = """\
#!/usr/bin/env bash
# Runs for every submission. A results.json is there from the start, whatever happens later.
ROOT="${AUTOGRADER_ROOT:-/autograder}"
mkdir -p "$ROOT/results"
chmod go-w "$ROOT/results"
cat > "$ROOT/results/results.json" <<'JSON'
{"score": 0, "stdout_visibility": "hidden", "tests": [], "output":
 "Your work has arrived, but grading it did not come to an end. You need not do anything: your instructor can run it again."}
JSON
cd "$ROOT/source/course" || exit 0
export PYTHONPATH="$ROOT/packages:$ROOT/source/course" PYTHONDONTWRITEBYTECODE=1 HF_HUB_OFFLINE=1
export COURSE_GRADING="$ROOT/source/course/grading"
# Gradescope itself ends a run after ten minutes, unless it is told otherwise.
timeout --kill-after=20 "${AUTOGRADER_SECONDS:-540}" \\
  "$(cat "$ROOT/source/python")" -m autograder.adapters.gradescope_run "$ROOT"
echo "grading ended with status $?"
exit 0
"""


def make_gradescope_zip(assignment: Assignment, path: Path, torch_index: str = "") -> list[str]:
    """Write the autograder zip; return the names of the test sets that its leaderboard knows.

    `torch_index` is where pip finds PyTorch's CPU builds.
    """
    if torch_index and not re.fullmatch(r"https?://[\w./-]+", torch_index):
        raise CourseError(f"{torch_index!r} is no address of a package index.")
    if path.suffix != ".zip":
        raise CourseError(f"{path} should end in .zip: Gradescope takes a zip file.")
    if path.exists() and not _is_ours(path):
        raise CourseError(
            f"{path} is something else than an autograder zip and is not overwritten: give another "
            "name."
        )
    require_built(assignment.course)  # takes a while: what is typed comes first
    leaderboard = find_leaderboard(assignment.name)
    sets = leaderboard.collect_test_sets() if leaderboard else []
    test_sets = leaderboard.write_test_sets(sets) if leaderboard else b"[]"
    content = make_bundle(assignment, test_sets, torch_index)
    replace_file(path, content)
    return [one.name for one in sets]


def make_bundle(assignment: Assignment, test_sets: bytes, torch_index: str = "") -> bytes:
    """Return the zip's bytes, the same every time for the same course and secret."""
    index = f" --index-url {torch_index}" if torch_index else ""
    files = {
        "setup.sh": _SETUP.replace(" __INDEX__", index).encode(),
        "run_autograder": _RUN.encode(),
        "requirements.txt": make_requirements(assignment).encode(),
        "constraints.txt": (assignment.root / "constraints.txt").read_bytes(),
        handout.name_wheel(assignment.course): build_wheel(assignment.course),
        "course/course.toml": (assignment.root / "course.toml").read_bytes(),
        f"course/{ASSIGNMENT}": assignment.name.encode(),
        f"course/{TEST_SETS}": test_sets,
        # Hidden inputs are drawn from it: the same here as in the container.
        "course/grading/secret": read_secret(assignment.grading) + b"\n",
    }
    name = assignment.name
    for folder in ("autograder", "notebooks", f"source/{name}", f"release/{name}"):
        for file in sorted((assignment.root / folder).rglob("*")):
            if _is_needed(folder, file):
                files[f"course/{file.relative_to(assignment.root).as_posix()}"] = file.read_bytes()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            member = zipfile.ZipInfo(name, _DATE)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = (
                0o100755 if name in ("setup.sh", "run_autograder") else 0o100644
            ) << 16
            archive.writestr(member, files[name])
    return buffer.getvalue()


def _is_needed(folder: str, file: Path) -> bool:
    """Of the text notebooks only what the assignments say about themselves goes along."""
    if folder == "notebooks":
        return file.name == "assignment.toml"
    return file.is_file() and file.suffix in (".py", ".json", ".ipynb")


def make_requirements(assignment: Assignment) -> str:
    """Return what grading needs beside the students' package."""
    facts = tomllib.loads((assignment.root / "pyproject.toml").read_text("utf-8"))
    lines = [
        line for line in facts["project"]["dependencies"] if line.split(">=")[0] not in _NOT_NEEDED
    ]
    return "\n".join(lines) + "\n"


def _is_ours(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return "run_autograder" in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False
