"""The repository's own promises: two distributions, one set of versions, one-way imports."""

import ast
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

from tests import breaks
from tests.conftest import ROOT, run_autograder, run_python

CONDA_NAMES = {"pytorch": "torch"}


def read_toml(name):
    return tomllib.loads((ROOT / name).read_text("utf-8"))


def read_requirements(lines):
    """Return name -> lower bound."""
    found = {}
    for line in lines:
        name, _, bound = re.match(r"([A-Za-z0-9_.-]+)(\[\w+\])?(?:>=(.+))?", line).group(1, 2, 3)
        found[name.lower().replace("-", "_")] = bound
    return found


def required_by_instructors():
    student, instructor = read_toml("course_utils/pyproject.toml"), read_toml("pyproject.toml")
    lines = [
        *student["project"]["dependencies"],
        *student["project"]["optional-dependencies"]["lab"],
        *instructor["project"]["dependencies"],
    ]
    return {k: v for k, v in read_requirements(lines).items() if k != "attention_course"}


def test_environment_yml_agrees_with_pyproject():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text("utf-8"))
    lines = [line for line in environment["dependencies"] if isinstance(line, str)]
    conda = {CONDA_NAMES.get(k, k): v for k, v in read_requirements(lines).items()}
    python = conda.pop("python")
    assert f">={python}" == read_toml("pyproject.toml")["project"]["requires-python"]
    conda.pop("pip")
    assert conda == required_by_instructors()


def test_constraints_pin_everything_that_is_required():
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    pins = {name.lower().replace("-", "_"): version for name, version in pins.items()}
    dev = read_toml("pyproject.toml")["project"]["optional-dependencies"]["dev"]
    for name, bound in (required_by_instructors() | read_requirements(dev)).items():
        assert name in pins, f"{name} is not pinned in constraints.txt"
        as_numbers = [[int(n) for n in re.findall(r"\d+", v)] for v in (pins[name], bound)]
        assert as_numbers[0] >= as_numbers[1], f"{name} is pinned below its bound"
    assert pins["torch"] == "2.13.0"


@pytest.fixture(scope="module")
def student_wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    tracked = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "course_utils"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    for name in tracked:  # built from a copy: building leaves folders behind
        path = source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((ROOT / name).read_bytes())
    done = run_python(
        "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", folder,
        source / "course_utils", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("*.whl")
    return wheel


def test_students_install_course_utils_alone(student_wheel):
    names = zipfile.ZipFile(student_wheel).namelist()
    assert any(name == "course_utils/checks/query_crafting.py" for name in names)
    for name in names:
        assert name.startswith(("course_utils/", "attention_course-")), name
        assert "entry_points" not in name and "autograder" not in name


def test_course_utils_works_without_the_autograder(student_wheel, tmp_path):
    zipfile.ZipFile(student_wheel).extractall(tmp_path / "site")
    code = (
        "import sys; sys.modules['autograder'] = sys.modules['nbgrader'] = None\n"
        f"sys.path.insert(0, {str(tmp_path / 'site')!r})\n"
        "import course_utils, pkgutil, importlib\n"
        f"assert course_utils.__file__.startswith({str(tmp_path)!r})\n"
        "for module in pkgutil.walk_packages(course_utils.__path__, 'course_utils.'):\n"
        "    importlib.import_module(module.name)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_imports_go_one_way():
    files = sorted((ROOT / "course_utils").rglob("*.py"))
    assert files
    for path in files:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            modules = []
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                modules = [node.module or ""]
            assert not any(m.split(".")[0] in ("autograder", "nbgrader") for m in modules), path


def test_readme_speaks_of_what_there_is():
    text = (ROOT / "README.md").read_text("utf-8")
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = re.findall(r"^make (\w+)", text, re.MULTILINE)
    assert {"demo", "test"} <= set(targets)
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    paths = re.findall(r"`((?:[\w.]+/)+[\w.]*)`", text)
    assert paths
    for path in paths:
        if not path.startswith(("grading/", "some/", "another/")):
            assert (ROOT / path).exists(), path
    headings = {
        "#" + re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    }
    links = re.findall(r"\]\(([^)h][^)]*)\)", text)
    assert links
    for link in links:
        assert link in headings if link.startswith("#") else (ROOT / link).exists(), link
    screen = text[: text.index("## Grading a class")]
    assert "private" in screen and "make demo" in screen and "make test" in screen


def test_the_commands_of_the_readme_exist():
    text = (ROOT / "README.md").read_text("utf-8")
    commands = {match for match in re.findall(r"python -m autograder (\w+)", text)}
    assert len(commands) >= 10
    done = run_autograder("--help")
    for command in commands:
        assert re.search(rf"\b{command}\b", done.stdout), command


def test_nothing_is_committed_that_should_not_be():
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in listed.stdout.split("\n"):
        assert not name.startswith(("grading/", ".venv/")), name
        assert not name.endswith((".db", ".tokens")), name
        if name and (ROOT / name).is_file():
            assert (ROOT / name).stat().st_size < 8 * 2**20, name


def test_versions_agree():
    import autograder
    import course_utils

    versions = {
        read_toml("pyproject.toml")["project"]["version"],
        read_toml("course_utils/pyproject.toml")["project"]["version"],
        autograder.__version__,
        course_utils.__version__,
    }
    assert len(versions) == 1
    assert f"## {versions.pop()}" in Path(ROOT / "CHANGELOG.md").read_text("utf-8")


@pytest.mark.long
def test_source_release_and_answer_numbers_are_what_the_build_makes():
    done = run_autograder("build", "--check")
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_break_fits_the_code_and_has_tests_that_should_notice_it():
    for broken in breaks.BREAKS:
        assert (ROOT / broken.file).read_text("utf-8").count(broken.old) == 1, broken
        for name in (breaks.GUARDS[broken.file], *breaks.TESTS[broken.room]):
            assert (ROOT / "tests/autograder" / name).is_file(), name
