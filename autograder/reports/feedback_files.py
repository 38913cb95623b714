"""Makes feedback pages for what changed, and packs them so that a learning system takes them back."""

from __future__ import annotations

import glob
import io
import logging
import re
import shutil
import sys
import zipfile
from collections.abc import Container, Iterable
from email.message import EmailMessage
from pathlib import Path

from nbgrader import api
from nbgrader.converters import GenerateFeedback
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory

from autograder.authoring.build import load_nbgrader_config
from autograder.classroom.gradebook import find_alembic
from autograder.course import Assignment, Course, CourseError
from autograder.files import replace_file
from autograder.intake.collected import Log
from autograder.marking.desk import refresh_desk
from autograder.reports.feedback import explain_grade, find_grade, require_sums
from autograder.reports.page_state import fingerprint_student
from autograder.roster import find_roster

SYSTEMS = ("moodle", "canvas", "mail")
_MADE_FROM = re.compile(r'<meta[^>]*name="made-from"[^>]*>')


_cleared_for: list[str] | None = None  # the command line that stale pages were removed for


def clear_for_nbgrader(course: Course) -> None:
    """Remove stale pages before `nbgrader generate_feedback` looks which there are.

    nbgrader_config.py calls this, and is read more than once by one command.
    """
    global _cleared_for
    if _cleared_for is sys.argv:
        return
    _cleared_for = sys.argv
    for assignment in course.assignments.values():
        if assignment.name in sys.argv:
            clear_stale(assignment)


def clear_stale(assignment: Assignment, anyway: Container[str] = ()) -> list[str]:
    """Remove pages that no longer say what holds; return whose pages have to be made.

    nbgrader makes a page only where there is none. Those of the students in `anyway` are made anew.
    """
    find_alembic()
    directory = CourseDirectory(config=load_nbgrader_config(assignment))
    graded = sorted((assignment.grading / "autograded").glob(f"*/{assignment.name}"))
    students = [folder.parent.name for folder in graded if any(folder.glob("*.ipynb"))]
    if not students:
        return []
    require_sums(assignment)
    refresh_desk(assignment)
    sums = {name: explain_grade(assignment, find_grade(assignment, name)) for name in students}
    stale = []
    with api.Gradebook(directory.db_url, directory.course_id) as gradebook:
        for student in students:
            pages = assignment.grading / "feedback" / student / assignment.name
            wanted = fingerprint_student(gradebook, assignment, student, sums[student])
            if student in anyway or not _is_current(pages, assignment, student, wanted):
                shutil.rmtree(pages, ignore_errors=True)
                stale.append(student)
    return stale


def _is_current(pages: Path, assignment: Assignment, student: str, wanted: str) -> bool:
    graded = assignment.grading / "autograded" / student / assignment.name
    for notebook in graded.glob("*.ipynb"):
        try:
            with open(pages / f"{notebook.stem}.html", encoding="utf-8") as page:
                found = _MADE_FROM.search(page.read(4000))
        except OSError:
            return False
        if found is None or f'"{wanted}"' not in found[0]:
            return False
    return True


def make_pages(assignment: Assignment, students: Iterable[str]) -> list[str]:
    """Make the pages of these students, by nbgrader's own converter; return what went wrong."""
    problems = []
    for student in students:
        config = load_nbgrader_config(assignment)
        directory = CourseDirectory(config=config)
        directory.assignment_id, directory.student_id = assignment.name, glob.escape(student)
        try:
            GenerateFeedback(coursedir=directory, config=config, log=_quiet()).start()
        except (NbGraderException, OSError) as problem:
            problems.append(
                f"{student}: the page could not be made ({str(problem).splitlines()[0]})"
            )
    return problems


def _quiet() -> logging.Logger:
    log = logging.getLogger("autograder.reports.feedback")
    log.setLevel(logging.CRITICAL)
    return log


# --------------------------------------------------------------------------------------- packing


def pack(assignment: Assignment, system: str, path: Path) -> tuple[int, list[str]]:
    """Pack all pages for a learning system; return how many students, and who is left out.

    Moodle and Canvas know a file by the name they gave to what the student handed in: `collect` has
    written it down.
    """
    pages = _find_pages(assignment)
    if not pages:
        raise CourseError("There are no pages to pack: python -m autograder feedback makes them.")
    tickets = _find_tickets(assignment, system)
    left_out = sorted(set(pages) - set(tickets))
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for student in sorted(set(pages) & set(tickets)):
            for page in pages[student]:
                entry = zipfile.ZipInfo(f"{tickets[student]}_{page.name}", (2020, 1, 1, 0, 0, 0))
                archive.writestr(entry, page.read_bytes(), zipfile.ZIP_DEFLATED)
    packed = len(pages) - len(left_out)
    if not packed:
        raise CourseError(
            f"Nobody's work was collected from a {system.capitalize()} download, so there is no name "
            f"by which it would know the pages. `--for mail` needs none."
        )
    replace_file(path, content.getvalue())
    return packed, left_out


def _find_pages(assignment: Assignment, suffix: str = "html") -> dict[str, list[Path]]:
    """Return the pages that were made for each student; nbgrader puts copies of their files there."""
    names = [f"{plan.name}.{suffix}" for plan in assignment.notebooks]
    found: dict[str, list[Path]] = {}
    for folder in sorted((assignment.grading / "feedback").glob(f"*/{assignment.name}")):
        pages = [folder / name for name in names if (folder / name).is_file()]
        if pages:
            found[folder.parent.name] = pages
    return found


def _find_tickets(assignment: Assignment, system: str) -> dict[str, str]:
    """Return the name by which a system knows each student's work: that of the latest file."""
    pattern = {"moodle": r".+_\d+_assignsubmission_file", "canvas": r"[^_]+_\d+_\d+"}[system]
    found = {}
    for student, entries in Log(assignment).entries.items():
        for entry in sorted(entries.values(), key=lambda entry: entry.get("time", "")):
            if re.fullmatch(pattern, entry.get("ticket", "")):
                found[student] = entry["ticket"]
    return found


def write_mails(assignment: Assignment, folder: Path) -> tuple[int, list[str]]:
    """Write one plain-text mail per student; return how many, and whose address is not known."""
    texts = _find_pages(assignment, "txt")
    if not texts:
        raise CourseError("There are no pages to send: python -m autograder feedback makes them.")
    roster = find_roster(assignment) or {}
    unknown = []
    for student, files in texts.items():
        mail = EmailMessage()
        mail["Subject"] = f"{assignment.title}: feedback"
        entry = roster.get(student)
        if entry and re.fullmatch(r"[^@\s,;<>]+@[^@\s,;<>]+", entry.email):
            mail["To"] = entry.email
        else:
            unknown.append(student)
        mail.set_content("\n\n".join(file.read_text("utf-8") for file in files))
        replace_file(folder / f"{student}.eml", bytes(mail))
    return len(texts), unknown
