"""Deletes one student's data everywhere the course keeps any."""

from __future__ import annotations

import shutil

from nbgrader import api
from nbgrader.coursedir import CourseDirectory
from sqlalchemy import delete, inspect

from autograder.authoring.build import load_nbgrader_config
from autograder.classroom.gradebook import find_alembic
from autograder.classroom.history import find_place
from autograder.classroom.migration import dropped_marks
from autograder.classroom.snapshot import open_copy
from autograder.course import Course, CourseError
from autograder.intake.collect import KEPT, PROPOSALS
from autograder.intake.collected import Log
from autograder.intake.matching import drop_lines
from autograder.intake.moments import read_dates, write_dates
from autograder.marking import tables
from autograder.roster import find_roster, remove_from_roster


def forget(course: Course, student: str, really: bool) -> list[str]:
    """Delete everything about a student; return what that is. Without `really`, only say it."""
    if not student or "/" in student or student.startswith("."):
        raise CourseError(f"{student!r} is nobody's name.")
    grading = course.grading
    told = []
    places = [
        grading / step / student for step in ("submitted", "autograded", "feedback", "dropped")
    ]
    for assignment in course.assignments:
        places.append(grading / "results" / assignment / student)
        places.append(grading / "mail" / assignment / f"{student}.eml")
    places.append(find_place(course, student))
    for place in places:
        if place.exists():
            told.append(str(place))
            if really:
                shutil.rmtree(place) if place.is_dir() else place.unlink()
    told += _forget_collected(course, student, really)
    told += _forget_dates(course, student, really)
    told += _forget_in_roster(course, student, really)
    told += _forget_in_gradebook(course, student, really)
    if not told:
        raise CourseError(f"Nothing is known about {student!r}.")
    told = [f"{'deleted' if really else 'would be deleted'}: {what}" for what in told]
    exports = [*grading.glob("*.csv"), *grading.glob("*.html"), *grading.glob("*.zip")]
    named = [path for path in sorted(exports) if path.name not in ("roster.csv", "dates.csv")]
    told += [
        f"made before, and may name {student}: {path}. Make it anew or delete it." for path in named
    ]
    return told


def _forget_collected(course: Course, student: str, really: bool) -> list[str]:
    told = []
    for assignment in course.assignments.values():
        for log in (Log(assignment), Log(assignment, "-gradescope"), Log(assignment, "-stamps")):
            if log.entries.pop(student, None) is not None:
                told.append(f"what {log.path} says about {student}")
                if really:
                    log.write()
    for name in (KEPT, PROPOSALS):
        table = course.grading / "collected" / name
        if count := drop_lines(table, student, really):
            told.append(f"{count} lines in {table}")
    return told


def _forget_dates(course: Course, student: str, really: bool) -> list[str]:
    dates = read_dates(course)
    mine = [entries.pop(student) for entries in dates.values() if student in entries]
    if mine and really:
        write_dates(course, dates)
    return [f"{len(mine)} lines in the table of dates"] if mine else []


def _forget_in_roster(course: Course, student: str, really: bool) -> list[str]:
    assignment = next(iter(course.assignments.values()))
    if student not in (find_roster(assignment) or {}):
        return []
    if really:
        remove_from_roster(assignment, student)
    return ["the line in the roster"]


def _forget_in_gradebook(course: Course, student: str, really: bool) -> list[str]:
    if not course.grading.is_dir():
        return []
    find_alembic()
    first = next(iter(course.assignments.values()))
    directory = CourseDirectory(config=load_nbgrader_config(first))
    book = api.Gradebook(directory.db_url, directory.course_id) if really else open_copy(first)
    count = 0
    with book as gradebook:
        there = inspect(gradebook.engine)
        for table in (tables.answers, tables.marks, tables.files, dropped_marks):
            if not there.has_table(table.name):
                continue
            if table is tables.answers:
                codes = table.select().where(table.c.student == student)
                found = [row.code for row in gradebook.db.execute(codes)]
                for by_code in (tables.leases, tables.places):
                    if there.has_table(by_code.name):
                        gradebook.db.execute(delete(by_code).where(by_code.c.code.in_(found)))
            done = gradebook.db.execute(delete(table).where(table.c.student == student))
            count += done.rowcount
        try:
            gradebook.find_student(student)
            count += 1
            if really:
                gradebook.db.commit()
                gradebook.remove_student(student)
        except api.MissingEntry:
            pass
        gradebook.db.commit() if really else gradebook.db.rollback()
    return [f"{count} entries in the gradebook"] if count else []
