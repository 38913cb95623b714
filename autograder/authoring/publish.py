"""Writes the students' repository, and makes sure that nothing leaves that must not."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import nbformat

import autograder
from autograder.authoring import handout, leaks
from autograder.authoring.additions import Changed, carry_over
from autograder.authoring.build import require_built
from autograder.authoring.wheel import find_version, stamp
from autograder.course import Assignment, Course, CourseError
from autograder.files import replace_file

SUMS = "SHA256SUMS"
RELEASE = "release.json"
BADGE = "colab-badge.svg"
README = "README.md"
_EXAMPLE = "github.com/your-department/"
_LEFT_OUT = ("__pycache__", "*.egg-info", "build", ".*")
_CONDA_NAMES = {"torch": "pytorch"}
_BADGE = """\
<svg xmlns="http://www.w3.org/2000/svg" width="117" height="20" role="img" aria-label="Open in Colab">
<title>Open in Colab</title><rect width="117" height="20" rx="3" fill="#505a66"/>
<circle cx="13" cy="10" r="4" fill="none" stroke="#f9ab00" stroke-width="2.5"/>
<circle cx="20" cy="10" r="4" fill="none" stroke="#e8710a" stroke-width="2.5"/>
<text x="31" y="14" fill="#fff" font-family="Verdana,sans-serif" font-size="11">Open in Colab</text>
</svg>
"""


def publish(course: Course, folder: Path, name: str | None = None) -> list[str]:
    """Write or update the students' repository; return the names of the files that changed.

    It holds the assignment of this name, and those that were published there before.
    """
    chosen = course.find(name).name
    earlier = _read_earlier(course, folder)
    require_built(course)  # takes a while: what is typed comes first
    require_own_address(course)
    names = [one for one in course.assignments if one == chosen or one in _list_published(folder)]
    files = make_publication(course, names)
    if earlier:
        _keep_additions(folder, files)
    found = leaks.find_leaks_in_files(files, leaks.collect_secrets(course))
    if found:
        raise CourseError(
            "This would give answers away, so nothing was written:\n"
            + "\n".join(map(str, found))
            + "\nTake it out where it comes from, build, and publish again."
        )
    changed = []
    for name, content in files.items():
        path = folder / name
        if path.is_file() and path.read_bytes() == content:
            continue
        replace_file(path, content)
        changed.append(name)
    for name in sorted(set(earlier) - set(files)):  # ours, unchanged, and no longer needed
        if (folder / name).is_file():
            (folder / name).unlink()
            changed.append(name)
    return changed


def require_own_address(course: Course) -> None:
    """Refuse to publish notebooks that fetch their package from an address nobody has."""
    if _EXAMPLE in course.students["address"]:
        raise CourseError(
            f"course.toml still has the example's address ({course.students['address']}): badges and "
            "first cells would lead nowhere. Put your own under [students], build, and publish again."
        )


def _keep_additions(folder: Path, files: dict[str, bytes]) -> None:
    """Carry what was written into the README by hand over to the new one."""
    path = folder / README
    if not path.is_file():
        return
    fresh = files[README].decode()
    try:
        theirs = path.read_text("utf-8")
        facts = json.loads((folder / RELEASE).read_text("utf-8"))
        base = facts["readme"] if isinstance(facts.get("readme"), str) else fresh
        files[README] = carry_over(base, theirs, fresh).encode()
    except (Changed, UnicodeDecodeError) as problem:
        raise CourseError(
            f"{path} was changed by hand: {problem}. Lines that you add are kept, but what was "
            "published cannot be changed there: put that line back, and write yours below it. Nothing "
            "was written."
        ) from None
    files[SUMS] = _list_sums(files)


def _list_published(folder: Path) -> list[str]:
    """Return the assignments that a published repository holds."""
    try:
        facts = json.loads((folder / RELEASE).read_text("utf-8"))
        return list(facts.get("assignments") or [facts["assignment"]])
    except (OSError, ValueError, KeyError, TypeError):
        return []


def verify(course: Course, folder: Path) -> list[str]:
    """Check a published repository; return notes, or raise with a sentence for each problem."""
    if not (folder / SUMS).is_file():
        raise CourseError(f"{folder} was not published from here: it has no {SUMS}.")
    sums = _read_sums(folder)
    problems = [
        f"{folder / name} is missing." for name in (*sums, RELEASE) if not (folder / name).is_file()
    ]
    problems += [
        f"{folder / name} was changed after it was published."
        for name, digest in sums.items()
        if (folder / name).is_file() and _digest((folder / name).read_bytes()) != digest
    ]
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(folder).parts
    }
    found = leaks.find_leaks_in_files(files, leaks.collect_secrets(course))
    problems += [str(leak) for leak in found]
    if problems:
        raise CourseError(f"{folder} is not as it should be:\n" + "\n".join(problems))
    extra = sorted(set(files) - set(sums) - {SUMS})
    notes = [f"{name} is not part of the publication; it holds no answer." for name in extra]
    facts = json.loads((folder / RELEASE).read_text("utf-8"))
    if facts.get("assignments") != _find_stamps(course, _list_published(folder)):
        notes.append(
            f"It is an earlier release ({facts['release']}) than what is built here: publish again "
            "when you want students to have the new one."
        )
    return notes


def make_publication(course: Course, names: list[str]) -> dict[str, bytes]:
    """Make every file of the students' repository in memory, the same bytes every time.

    `names` are the assignments that are published: a folder each.
    """
    wheel, plain = build_wheel(course), autograder.__version__
    version = find_version(wheel, plain)
    name_versioned = handout.name_wheel(course).replace(f"-{plain}-", f"-{version}-")
    files = {
        handout.name_wheel(course): stamp(wheel, plain, version, plain),
        name_versioned: stamp(wheel, plain, version, version),
        "environment.yml": make_environment(course, name_versioned).encode(),
        README: make_readme(course, names, name_versioned).encode(),
        BADGE: _BADGE.encode(),
    }
    for name in names:
        for plan in course.find(name).notebooks:
            files[f"{name}/{plan.name}.ipynb"] = _add_badge(course.find(name), plan.name)
    licence = course.root / "LICENSE"
    if licence.is_file():
        files["LICENSE"] = licence.read_bytes()
    content = "".join(f"{_digest(files[name])} {name}\n" for name in sorted(files))
    facts = {
        "course": course.id,
        "release": f"{autograder.__version__}+{_digest(content.encode())[:8]}",
        "assignments": _find_stamps(course, names),
        "package": version,
        "wheel": name_versioned,
        "readme": files[README].decode(),  # what additions by hand are told apart from
    }
    files[RELEASE] = (json.dumps(facts, indent=1) + "\n").encode()
    return files | {SUMS: _list_sums(files)}


def _list_sums(files: dict[str, bytes]) -> bytes:
    names = sorted(set(files) - {SUMS})
    return "".join(f"{_digest(files[name])}  {name}\n" for name in names).encode()


def build_wheel(course: Course) -> bytes:
    """Build the students' package from a copy, by setuptools alone: no network, fixed dates."""
    with tempfile.TemporaryDirectory() as scratch:
        source, target = Path(scratch) / "course_utils", Path(scratch) / "wheel"
        shutil.copytree(
            course.root / "course_utils", source, ignore=shutil.ignore_patterns(*_LEFT_OUT)
        )
        for path in source.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
        target.mkdir()
        done = subprocess.run(
            [sys.executable, "-c", "import sys; from setuptools import build_meta; "
             "build_meta.build_wheel(sys.argv[1])", str(target)],
            cwd=source, capture_output=True, text=True,
            env=os.environ | {"SOURCE_DATE_EPOCH": "315532800"},  # the first date a zip can hold
        )  # fmt: skip
        wheels = sorted(target.glob("*.whl"))
        if done.returncode or not wheels:
            last = (done.stderr.strip().splitlines() or ["no reason was given"])[-1]
            raise CourseError(f"The students' package could not be built: {last}")
        if wheels[0].name != handout.name_wheel(course):
            raise CourseError(
                f"The students' package is called {wheels[0].name}, but the notebooks ask for "
                f"{handout.name_wheel(course)}: make course.toml and course_utils/pyproject.toml "
                "agree."
            )
        return wheels[0].read_bytes()


def make_environment(course: Course, wheel: str) -> str:
    """Return the students' environment.yml: what the package needs, JupyterLab, the package."""
    facts = tomllib.loads((course.root / "course_utils/pyproject.toml").read_text("utf-8"))
    project = facts["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["lab"]]
    lines = []
    for requirement in needed:
        name, bound = requirement.split(">=")
        lines.append(f"  - {_CONDA_NAMES.get(name, name)}>={bound}")
    return "\n".join(
        [
            "# For conda users: conda env create -f environment.yml",
            f"name: {course.id}",
            "channels:",
            "  - conda-forge",
            "dependencies:",
            f"  - python{project['requires-python']}",
            "  - pip",
            *lines,
            "  - pip:",
            f"      - ./{wheel}",
            "",
        ]
    )


def make_readme(course: Course, names: list[str], wheel: str) -> str:
    """Return the students' README."""
    tables = "\n\n".join(_make_table(course.find(name)) for name in names)
    first = course.find(names[0])
    where = course.hand_in.get("where", "")
    hand_in = f"Hand that file in: {where}." if where else "Hand that file in."
    files = [file for name in names for file in course.find(name).files]
    beside = f", together with {', '.join(f'`{file}`' for file in files)}" if files else ""
    return f"""\
# {course.title}

Work in Colab or on your own computer; both are fine, and you can change in between.

{tables}

## In Colab

Open a notebook by its badge, choose *File → Save a copy in Drive*, and run the first code cell: it
fetches what is missing. For the trainings choose *Runtime → Change runtime type → GPU*, and set
`KEEP_ON_DRIVE = True` in that cell, so that checkpoints outlive the session. To hand in from Colab, set
it in all notebooks of the assignment and run the last cell, *Hand in*, in each of them: the last one
finds them all.

## On your computer

Download this folder ({course.students["address"]}), open a terminal in it, and type

```
python3 -m venv course-env
source course-env/bin/activate            # Windows: course-env\\Scripts\\activate
pip install "{wheel}[lab]"
jupyter lab
```

When the first cell of a notebook says that there is a newer package, download this folder again and repeat
the `pip install` line of its README.

With conda: `conda env create -f environment.yml`, `conda activate {course.id}`, `jupyter lab`.

## Where do I stand?

The cell below each exercise checks your work on the spot. To see everything at once, run a notebook from
top to bottom in a fresh kernel:

```
python -m course_utils check {first.name}/{first.notebooks[0].name}.ipynb
```

or run the cell *Where do I stand?* at the end of the notebook. Passing the public checks is a good
sign, not a mark: grading tries more, and a person reads your words.

## Hand in

Have an assignment's notebooks, saved with their outputs, in one folder{beside}. Then

```
python -m course_utils submit {first.name}
```

makes one zip file and tells you what is still missing. {hand_in} The cell *Hand in* at the end
of each notebook does the same. You can do it again at any time: earlier zip files stay.

## When something goes wrong

- *No module named course_utils*: run the first code cell of the notebook, or the `pip install` line above.
- *The kernel died*: restart it and run the cells again from the top. Trainings go on where they stopped.
- *A check fails and you don't see why*: its message says what it saw. Try a smaller input by hand.

To see whether your download is complete: `sha256sum -c {SUMS}`.
"""


def _make_table(assignment: Assignment) -> str:
    rows = []
    for plan in assignment.notebooks:
        file = f"{assignment.name}/{plan.name}.ipynb"
        badge = _make_badge(assignment.course, file, "")
        points = f"{plan.auto + plan.manual:g}"
        rows.append(f"| [{plan.title}]({file}) | {points} | {plan.pages} | {badge} |")
    lines = ["| notebook | points | pages for your answers | |", "|---|---|---|---|", *rows]
    due = assignment.due
    when = (
        f"Due {due:%A, %d %B %Y, %H:%M}{f' ({due:%Z})' if due.tzinfo else ''}.\n\n" if due else ""
    )
    return f"## {assignment.title}\n\n{when}" + "\n".join(lines)


def _make_badge(course: Course, file: str, up: str) -> str:
    """Return a badge that opens a published notebook in Colab; `up` leads to the top folder."""
    address = handout.find_colab_address(course, file)
    return f"[![Open in Colab]({up}{BADGE})]({address})" if address else ""


def _add_badge(assignment: Assignment, name: str) -> bytes:
    """Return a release notebook with its badge below the title."""
    notebook = nbformat.read(assignment.release / f"{name}.ipynb", as_version=4)
    badge = _make_badge(assignment.course, f"{assignment.name}/{name}.ipynb", "../")
    if badge:
        title, _, rest = notebook.cells[0].source.partition("\n")
        notebook.cells[0].source = f"{title}\n\n{badge}\n{rest}"
    return (nbformat.writes(notebook) + "\n").encode()


def _find_stamps(course: Course, names: list[str]) -> dict[str, dict[str, str]]:
    """Return the release of every published notebook, by assignment."""
    return {
        name: {
            plan.name: nbformat.read(
                course.find(name).release / f"{plan.name}.ipynb", as_version=4
            ).metadata["course"]["release"]
            for plan in course.find(name).notebooks
        }
        for name in names
        if name in course.assignments
    }


def _read_earlier(course: Course, folder: Path) -> dict[str, str]:
    """Return the files of an earlier publication; refuse to touch anything else."""
    if folder.exists() and not folder.is_dir():
        raise CourseError(f"{folder} is a file: give a folder to publish into.")
    there = [path for path in folder.glob("*") if path.name != ".git"] if folder.is_dir() else []
    if not there:
        return {}
    try:
        facts = json.loads((folder / RELEASE).read_text("utf-8"))
        sums = _read_sums(folder)
    except (OSError, ValueError):
        facts, sums = {}, {}
    if not isinstance(facts, dict) or facts.get("course") != course.id:
        raise CourseError(
            f"{folder} holds other things ({', '.join(sorted(p.name for p in there)[:3])}, ...), "
            "and nothing of yours is overwritten: give a new or empty folder."
        )
    for name, digest in sums.items():
        path = folder / name
        if name != README and path.is_file() and _digest(path.read_bytes()) != digest:
            raise CourseError(
                f"{path} was changed by hand after it was published. Move it away, or publish into "
                "a new folder; nothing was written."
            )
    return sums


def _read_sums(folder: Path) -> dict[str, str]:
    """Return name -> digest, for names that stay inside the folder."""
    sums = {}
    for line in (folder / SUMS).read_text("utf-8").splitlines():
        digest, _, name = line.partition("  ")
        if name and not Path(name).is_absolute() and ".." not in Path(name).parts:
            sums[name] = digest
    return sums


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
