"""notebooks/ -> source/ -> release/, and answer numbers: one command, the same every time."""

from __future__ import annotations

import importlib.util
import json
import logging
import tempfile
from functools import cache
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.converters import GenerateAssignment
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from autograder.authoring import handout, leaks, module_map, proof
from autograder.authoring.text_notebook import build_source
from autograder.blueprint import find_solutions
from autograder.course import Assignment, Course, CourseError
from autograder.exercises import find_exercises, numbers
from autograder.files import replace_file
from autograder.terminal import show_bar, track


def build(course: Course, check: bool = False) -> list[Path]:
    """Build every assignment; return the files that changed (with `check`: would change)."""
    files = make_files(course)
    changed = [path for path, data in files.items() if not _is_current(path, data)]
    every = track(course.assignments.values(), "looking for what is not proven yet")
    unproven = [assignment for assignment in every if proof.find_unproven(assignment, files)]
    if check:
        changed += [proof.find_place(assignment) for assignment in unproven]
    stale = [
        path
        for assignment in course.assignments.values()
        for folder in (assignment.source, assignment.release)
        for path in sorted(folder.glob("*.ipynb"))  # what a notebook writes beside itself stays
        if path not in files
    ]
    if not check:
        for assignment in unproven:
            changed.append(proof.prove(assignment, files))
        for path in changed:
            if path in files:
                replace_file(path, files[path])
        for path in stale:
            path.unlink()
    return changed + stale


def require_built(course: Course) -> None:
    """Refuse to hand anything on while what is built is out of date."""
    stale = build(course, check=True)
    if stale:
        named = ", ".join(str(path.relative_to(course.root)) for path in stale)
        raise CourseError(
            f"What is built is out of date ({named}): run `python -m autograder build` first. "
            "Nothing was written."
        )


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
    """Make every generated file in memory, after all checks on what the authors wrote."""
    made: dict[Path, bytes] = {}
    sources: dict[str, dict[str, NotebookNode]] = {}
    releases: dict[str, list[NotebookNode]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch).resolve()
        for name, assignment in track(course.assignments.items(), "making notebooks"):
            sources[name] = _make_sources(assignment)
            folder = root / "source" / name
            folder.mkdir(parents=True)
            for stem, notebook in sources[name].items():
                (folder / f"{stem}.ipynb").write_text(nbformat.writes(notebook) + "\n", "utf-8")
            released = generate_release(assignment, root)
            releases[name] = [_stamp(released / f"{stem}.ipynb") for stem in sources[name]]
        solutions = {
            f"{name}.{plan.exercises}": find_solutions(sources[name][plan.name].cells)
            for name, assignment in course.assignments.items()
            for plan in assignment.notebooks
        }
        with show_bar("working out the answers' numbers"):
            answers = _make_answer_files(json.dumps(solutions))
        for path, data in answers.items():
            made[course.root / path] = data
        made[course.root / handout.FACTS_FILE] = handout.describe_course(course, releases)
        with show_bar("searching for answers"):
            _require_no_leaks(course, root, sources)
        if (course.root / module_map.FILE).parent.is_dir():  # not in a copy without documents
            made[course.root / module_map.FILE] = module_map.make_map(course.root)
        for step in ("source", "release"):
            for path in sorted((root / step).glob("*/*.ipynb")):
                made[course.root / path.relative_to(root)] = path.read_bytes()
    return made


@cache  # seconds, and the same for the same code: a process may build again and again
def _make_answer_files(solutions: str) -> dict[str, bytes]:
    return numbers.make_answer_files(json.loads(solutions))


def _make_sources(assignment: Assignment) -> dict[str, NotebookNode]:
    """Expand an assignment's text notebooks, or name the author's mistake."""
    _check_texts(assignment)
    setup = handout.make_setup_cell(assignment.course)
    sources = {
        plan.name: build_source(
            assignment.texts / f"{plan.name}.py",
            plan,
            assignment.name,
            find_exercises(f"{assignment.name}.{plan.exercises}"),
            setup,
        )
        for plan in assignment.notebooks
    }
    _check_sections(assignment, sources)
    return sources


def _require_no_leaks(course: Course, root: Path, sources: dict) -> None:
    """Refuse a release, or a students' package, in which an instructor's line shows through."""
    notebooks = [notebook for assignment in sources.values() for notebook in assignment.values()]
    secrets = frozenset().union(*map(leaks.find_secrets, notebooks))
    found = [
        leak
        for folder in sorted((root / "release").iterdir())
        for leak in leaks.find_leaks_in_folder(folder, secrets)
    ]
    found += leaks.find_leaks_in_package(course.root / "course_utils", secrets)
    if found:
        named = "\n".join(str(leak).replace(str(root), str(course.root)) for leak in found)
        raise CourseError(
            f"The release would give answers away, so nothing was written:\n{named}\n"
            "Reword it in the text notebook (or the package), then build again."
        )


def generate_release(assignment: Assignment, root: Path, db_url: str | None = None) -> Path:
    """Run nbgrader's own generate_assignment in `root`; return the folder it wrote.

    With `db_url` the cells are recorded in that gradebook, which is what autograding reads.
    """
    config = load_nbgrader_config(assignment)
    config.GenerateAssignment.pop("pre_convert_hook", None)  # it is about the gradebook
    config.CourseDirectory.root = str(root)
    config.CourseDirectory.source_directory = "source"
    config.CourseDirectory.release_directory = "release"
    if db_url is None:
        config.GenerateAssignment.no_database = True
        config.SaveCells.enabled = False
    else:
        config.CourseDirectory.db_url = db_url
    directory = CourseDirectory(config=config)
    directory.assignment_id = assignment.name
    converter = GenerateAssignment(coursedir=directory, config=config, log=_quiet_log())
    converter.force = True
    converter.start()
    return root / "release" / assignment.name


def _stamp(path: Path) -> NotebookNode:
    """Write into a release notebook which release it is; return the notebook."""
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata["course"]["release"] = handout.stamp_release(notebook)
    path.write_text(nbformat.writes(notebook) + "\n", "utf-8")
    return notebook


def load_nbgrader_config(assignment: Assignment) -> Config:
    """Read nbgrader_config.py as nbgrader does; refuse an address that nothing here can open."""
    config = PyFileConfigLoader("nbgrader_config.py", path=str(assignment.root)).load_config()
    address = str(config.CourseDirectory.get("db_url", ""))
    if address.startswith("postgresql://") and importlib.util.find_spec("psycopg2") is None:
        raise CourseError(
            "nbgrader_config.py: db_url begins with postgresql://, which asks for psycopg2. Write "
            "postgresql+psycopg:// in its place."
        )
    return config


def _quiet_log() -> logging.Logger:
    log = logging.getLogger("autograder.authoring.build")
    log.setLevel(logging.ERROR)
    return log


def _check_texts(assignment: Assignment) -> None:
    wanted = {plan.name for plan in assignment.notebooks}
    found = {path.stem for path in assignment.texts.glob("*.py")}
    for name in sorted(wanted - found):
        raise CourseError(
            f"assignment.toml names the notebook {name!r}, but {assignment.texts / f'{name}.py'} "
            "does not exist."
        )
    for name in sorted(found - wanted):
        raise CourseError(
            f"{assignment.texts / f'{name}.py'}: assignment.toml has no [[notebooks]] entry {name!r}; add "
            "one with its points."
        )


def _check_sections(assignment: Assignment, sources: dict) -> None:
    for section, facts in assignment.sections.items():
        cells = sources[facts["notebook"]].cells
        known = {cell.metadata.get("nbgrader", {}).get("grade_id") for cell in cells}
        for name in facts["cells"]:
            if name not in known:
                raise CourseError(
                    f"assignment.toml: section {section} names the cell {name!r}, which "
                    f"{facts['notebook']} does not have."
                )
