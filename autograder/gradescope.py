"""Makes the zip that Gradescope builds its container from: everything that grading needs."""

from __future__ import annotations

import io
import tomllib
import zipfile
from pathlib import Path

from autograder import accuracy, handout
from autograder.build import build
from autograder.course import Course, CourseError
from autograder.publish import build_wheel
from autograder.secret import read_secret

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
  $PIP torch  # a CPU build is enough; pip takes it from wherever its own settings say
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
  "$(cat "$ROOT/source/python")" -m autograder.gradescope_run "$ROOT"
echo "grading ended with status $?"
exit 0
"""


def make_gradescope_zip(course: Course, path: Path) -> list[str]:
    """Write the autograder zip; return the names of the test sets that its leaderboard knows."""
    stale = build(course, check=True)
    if stale:
        raise CourseError(
            "What is built is out of date: run `python -m autograder build` first. Nothing was "
            "written."
        )
    if path.suffix != ".zip":
        raise CourseError(f"{path} should end in .zip: Gradescope takes a zip file.")
    if path.exists() and not _is_ours(path):
        raise CourseError(
            f"{path} is something else than an autograder zip and is not overwritten: give another "
            "name."
        )
    sets = accuracy.collect_test_sets()
    content = make_bundle(course, sets)
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".zip.new")
    fresh.write_bytes(content)
    fresh.replace(path)
    return [one.name for one in sets]


def make_bundle(course: Course, sets: list[accuracy.TestSet]) -> bytes:
    """Return the zip's bytes, the same every time for the same course and secret."""
    files = {
        "setup.sh": _SETUP.encode(),
        "run_autograder": _RUN.encode(),
        "requirements.txt": make_requirements(course).encode(),
        "constraints.txt": (course.root / "constraints.txt").read_bytes(),
        handout.name_wheel(course): build_wheel(course),
        "course/course.toml": (course.root / "course.toml").read_bytes(),
        "course/test_sets.json": accuracy.write_test_sets(sets),
        # Hidden inputs are drawn from it: the same here as in the container.
        "course/grading/secret": read_secret(course.grading) + b"\n",
    }
    for folder in ("autograder", f"source/{course.assignment}", f"release/{course.assignment}"):
        for file in sorted((course.root / folder).rglob("*")):
            if file.is_file() and file.suffix in (".py", ".json", ".ipynb"):
                files[f"course/{file.relative_to(course.root).as_posix()}"] = file.read_bytes()
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


def make_requirements(course: Course) -> str:
    """Return what grading needs beside the students' package."""
    facts = tomllib.loads((course.root / "pyproject.toml").read_text("utf-8"))
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
