"""Environments for the matrix: which Pythons there are, which versions go together, and building them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from autograder.course import CourseError

SETS = ("lowest", "pinned", "newest")
STUDENTS, INSTRUCTORS = "course_utils/pyproject.toml", "pyproject.toml"
_TOOLS = (
    "pytest",
    "pytest-timeout",
    "pytest-xdist",
    "einops",
    "scikit-learn",
)  # of the extra `dev`
# The tests read exercises from `autograder`, which itself asks for a newer Python: this is what
# they need where only the students' package is installed.
_READERS = ("rich", "tomli", "setuptools>=70.1")


@dataclass(frozen=True)
class Python:
    """One interpreter."""

    path: Path
    version: tuple[int, int, int]

    @property
    def name(self) -> str:
        return ".".join(map(str, self.version[:2]))

    @property
    def full_name(self) -> str:
        return ".".join(map(str, self.version))


@dataclass(frozen=True)
class Environment:
    """One Python with one set of versions."""

    folder: Path
    python: Python
    versions: str  # one of SETS
    with_autograder: bool

    @property
    def executable(self) -> Path:
        return self.folder / "bin" / "python"


# --------------------------------------------------------------------------------- Pythons


def find_pythons(root: Path) -> list[Python]:
    """Return the newest interpreter of each minor version that students may use, oldest first."""
    allowed = SpecifierSet(_read(root, STUDENTS)["requires-python"])
    places = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    places += [*sorted(pyenv.glob("*/bin")), Path(sys.base_prefix) / "bin"]
    found: dict[str, Python] = {}
    for place in places:
        if place.name == "shims":  # pyenv's own scripts; the interpreters come below
            continue
        for path in sorted(place.glob("python3.*")):
            if re.fullmatch(r"python3\.\d+", path.name) and os.access(path, os.X_OK):
                python = _look_at(path)
                if python is None or python.full_name not in allowed:
                    continue
                known = found.setdefault(python.name, python)
                if known.version < python.version:
                    found[python.name] = python
    return sorted(found.values(), key=lambda python: python.version)


def _look_at(path: Path) -> Python | None:
    """Return what is known of an interpreter, or None where it cannot make environments."""
    program = "import sys, venv, ensurepip; print(*sys.version_info[:3])"
    try:
        done = subprocess.run([path, "-c", program], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    numbers = done.stdout.split()
    return None if done.returncode or len(numbers) != 3 else Python(path, tuple(map(int, numbers)))


# ------------------------------------------------------------------------------ requirements


def list_requirements(root: Path, python: Python, versions: str) -> list[str]:
    """Return what pip is asked to install, for one Python and one set of versions.

    torch is not among it: it stays the build that is there.
    """
    students, instructors = _read(root, STUDENTS), _read(root, INSTRUCTORS)
    bounded = list(students["dependencies"])
    others = [
        t for t in instructors["optional-dependencies"]["dev"] if Requirement(t).name in _TOOLS
    ]
    if has_autograder(root, python):
        bounded += students["optional-dependencies"]["lab"]
        bounded += [t for t in instructors["dependencies"] if not t.startswith("attention-course")]
    else:
        others += _READERS
    surroundings = {"python_version": python.name, "python_full_version": python.full_name}
    chosen = []
    for requirement in map(Requirement, bounded):
        fits = requirement.marker is None or requirement.marker.evaluate(surroundings)
        if not fits or requirement.name == "torch":
            continue
        requirement.marker = None
        if versions == "lowest":
            requirement.specifier = SpecifierSet(f"=={_find_lowest(requirement)}")
        chosen.append(str(requirement))
    return chosen + others


def has_autograder(root: Path, python: Python) -> bool:
    """Say whether the instructor's package runs on this Python too."""
    return python.full_name in SpecifierSet(_read(root, INSTRUCTORS)["requires-python"])


def _find_lowest(requirement: Requirement) -> str:
    for specifier in requirement.specifier:
        if specifier.operator in (">=", "=="):
            return specifier.version
    raise CourseError(f"{requirement} has no lower bound.")


def find_pin(root: Path, name: str) -> str:
    """Return the version that constraints.txt gives a package."""
    for line in (root / "constraints.txt").read_text("utf-8").splitlines():
        found = re.match(rf"{re.escape(name)}==([^\s#]+)", line)
        if found:
            return found[1]
    raise CourseError(f"constraints.txt says nothing about {name}.")


def _read(root: Path, name: str) -> dict:
    return tomllib.loads((root / name).read_text("utf-8"))["project"]


# ----------------------------------------------------------------------------------- building


def fetch_torch(python: Python, version: str, folder: Path) -> Path:
    """Put torch into a folder that environments of this Python share; return the folder.

    The one that is installed here is taken where it fits, so that nothing has to be fetched.
    Raises CourseError where there is no build.
    """
    # Its name is one that a graded kernel may see: see `provisioner.find_visible`.
    place = folder / f"torch-{version}-py{python.name}" / "site-packages"
    if not (place / "torch" / "version.py").is_file():
        shutil.rmtree(place.parent, ignore_errors=True)
        here = metadata.version("torch").partition("+")[0]
        if (python.version, version) == (sys.version_info[:3], here):
            link_installed("torch", place)
            return place
        done = _pip(python.path, "--target", place, f"torch=={version}")
        if done.returncode:
            shutil.rmtree(place.parent, ignore_errors=True)
            raise CourseError(f"No torch {version} for Python {python.name}: {_last_words(done)}")
    return place


def link_installed(name: str, place: Path) -> None:
    """Put a package of this environment, and all that it needs, into a folder of its own."""
    waiting, known = [name], set()
    while waiting:
        package = metadata.distribution(waiting.pop())
        if package.name in known:
            continue
        known.add(package.name)
        for text in package.requires or ():
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                waiting.append(requirement.name)
        for file in package.files or ():
            if ".." in file.parts or not file.locate().is_file():  # scripts, and what was removed
                continue
            (place / file).parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(file.locate(), place / file)
            except OSError:  # another disk
                shutil.copy2(file.locate(), place / file)


def build(root: Path, python: Python, versions: str, torch: Path, folder: Path) -> Environment:
    """Make the environment anew, unless it is there with these very requirements."""
    place = folder / f"py{python.name}-{versions}"
    environment = Environment(place, python, versions, has_autograder(root, python))
    requirements = list_requirements(root, python, versions)
    pins = [f"torch=={find_pin(root, 'torch')}"]
    if versions == "pinned":
        lines = (root / "constraints.txt").read_text("utf-8").splitlines()
        pins = [line for line in lines if line and not line.startswith(("#", "torch"))]
    recipe = "\n".join([str(torch), *requirements, *pins])
    stamp = place / "recipe.txt"
    if versions != "newest" and stamp.is_file() and stamp.read_text("utf-8") == recipe:
        return environment  # what is newest may have changed since
    shutil.rmtree(place, ignore_errors=True)
    subprocess.run([python.path, "-m", "venv", place], check=True, capture_output=True)
    site_packages = place / "lib" / f"python{python.name}" / "site-packages"
    (site_packages / "shared_torch.pth").write_text(f"{torch}\n", "utf-8")
    constraints = place / "constraints.txt"
    constraints.write_text("\n".join(pins) + "\n", "utf-8")
    done = _pip(environment.executable, "-c", constraints, *requirements)
    if done.returncode:
        raise CourseError(f"pip refuses: {_last_words(done)}")
    # Kernels import what is installed, and entry points are read there; the code is this folder's.
    ours = ["-e", root / "course_utils", *(["-e", root] if environment.with_autograder else [])]
    done = _pip(environment.executable, "--no-deps", "--no-build-isolation", *ours)
    if done.returncode:
        raise CourseError(f"pip refuses our own packages: {_last_words(done)}")
    if not environment.with_autograder:
        # The exercises that the tests read are written for a Python that brings tomllib.
        (site_packages / "tomllib.py").write_text("from tomli import *\n", "utf-8")
    stamp.write_text(recipe, "utf-8")
    return environment


def _pip(python: Path, *arguments) -> subprocess.CompletedProcess:
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--prefer-binary", *arguments]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True)


def _last_words(done: subprocess.CompletedProcess) -> str:
    lines = [line.strip() for line in done.stderr.splitlines() if not line.startswith("WARNING")]
    errors = [line for line in lines if line.lower().startswith("error")]
    return (errors or lines or ["no reason given"])[0].removeprefix("ERROR: ")


def list_installed(environment: Environment, names: tuple[str, ...]) -> dict[str, str]:
    """Return the versions that are really there."""
    program = (
        "import sys; from importlib.metadata import version\n"
        "for name in sys.argv[1:]: print(name, version(name))"
    )
    done = subprocess.run(
        [environment.executable, "-c", program, *names], capture_output=True, text=True, check=True
    )
    return dict(line.split() for line in done.stdout.splitlines())
