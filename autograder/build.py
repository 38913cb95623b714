"""notebooks/ -> source/ -> release/, and answer numbers: one command, the same every time."""

from __future__ import annotations

import json
import logging
import tempfile
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.converters import GenerateAssignment
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from autograder import handout, leaks, numbers
from autograder.authoring import build_source
from autograder.course import Course, CourseError
from autograder.exercises import EXERCISES


def build(course: Course, check: bool = False) -> list[Path]:
    """Build source and release; return the files that changed (with `check`: would change)."""
    files = make_files(course)
    changed = [path for path, data in files.items() if not _is_current(path, data)]
    stale = [
        path
        for folder in (course.source, course.release)
        for path in sorted(folder.glob("*"))
        if path not in files and path.name != ".ipynb_checkpoints"
    ]
    if not check:
        for path in changed:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(files[path])
        for path in stale:
            path.unlink()
    return changed + stale


def _is_current(path: Path, data: bytes) -> bool:
    """Does a file hold this already? Numbers may differ in their last digits: CPUs do."""
    if not path.is_file():
        return False
    found = path.read_bytes()
    if path.suffix != ".json" or found == data:
        return found == data
    try:
        return numbers.are_alike(json.loads(found), json.loads(data))
    except ValueError:
        return False


def make_files(course: Course) -> dict[Path, bytes]:
    """Make every generated file in memory, after all checks on what the author wrote."""
    _check_texts(course)
    sources = {
        plan.name: build_source(
            course.texts / f"{plan.name}.py",
            plan,
            course.assignment,
            EXERCISES,
            handout.make_setup_cell(course),
        )
        for plan in course.notebooks
    }
    _check_sections(course, sources)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch).resolve() / "source" / course.assignment
        folder.mkdir(parents=True)
        for name, notebook in sources.items():
            (folder / f"{name}.ipynb").write_text(nbformat.writes(notebook) + "\n", "utf-8")
        release = generate_release(course, Path(scratch).resolve())
        released = [_stamp(release / f"{name}.ipynb") for name in sources]
        made = {course.root / path: data for path, data in numbers.make_answer_files().items()}
        made[course.root / handout.FACTS_FILE] = handout.describe_course(course, released)
        secrets = set().union(*(leaks.find_secrets(notebook) for notebook in sources.values()))
        found = leaks.find_leaks(release, course.root / "course_utils", secrets)
        if found:
            named = "\n".join(
                str(leak).replace(str(release), str(course.release)) for leak in found
            )
            raise CourseError(
                f"The release would give answers away, so nothing was written:\n{named}\n"
                "Reword it in the text notebook (or the package), then build again."
            )
        for name in sources:
            made[course.source / f"{name}.ipynb"] = (folder / f"{name}.ipynb").read_bytes()
            made[course.release / f"{name}.ipynb"] = (release / f"{name}.ipynb").read_bytes()
    return made


def generate_release(course: Course, root: Path, db_url: str | None = None) -> Path:
    """Run nbgrader's own generate_assignment in `root`; return the folder it wrote.

    With `db_url` the cells are recorded in that gradebook, which is what autograding reads.
    """
    config = load_nbgrader_config(course)
    config.CourseDirectory.root = str(root)
    config.CourseDirectory.source_directory = "source"
    config.CourseDirectory.release_directory = "release"
    if db_url is None:
        config.GenerateAssignment.no_database = True
        config.SaveCells.enabled = False
    else:
        config.CourseDirectory.db_url = db_url
    directory = CourseDirectory(config=config)
    directory.assignment_id = course.assignment
    converter = GenerateAssignment(coursedir=directory, config=config, log=_quiet_log())
    converter.force = True
    converter.start()
    return root / "release" / course.assignment


def _stamp(path: Path) -> NotebookNode:
    """Write into a release notebook which release it is; return the notebook."""
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata["course"]["release"] = handout.stamp_release(notebook)
    path.write_text(nbformat.writes(notebook) + "\n", "utf-8")
    return notebook


def load_nbgrader_config(course: Course) -> Config:
    """Read nbgrader_config.py as nbgrader does."""
    return PyFileConfigLoader("nbgrader_config.py", path=str(course.root)).load_config()


def _quiet_log() -> logging.Logger:
    log = logging.getLogger("autograder.build")
    log.setLevel(logging.ERROR)
    return log


def _check_texts(course: Course) -> None:
    wanted = {plan.name for plan in course.notebooks}
    found = {path.stem for path in course.texts.glob("*.py")}
    for name in sorted(wanted - found):
        raise CourseError(
            f"course.toml names the notebook {name!r}, but {course.texts / f'{name}.py'} "
            "does not exist."
        )
    for name in sorted(found - wanted):
        raise CourseError(
            f"{course.texts / f'{name}.py'}: course.toml has no [[notebooks]] entry {name!r}; add "
            "one with its points."
        )


def _check_sections(course: Course, sources: dict) -> None:
    for section, facts in course.sections.items():
        cells = sources[facts["notebook"]].cells
        known = {cell.metadata.get("nbgrader", {}).get("grade_id") for cell in cells}
        for name in facts["cells"]:
            if name not in known:
                raise CourseError(
                    f"course.toml: section {section} names the cell {name!r}, which "
                    f"{facts['notebook']} does not have."
                )
