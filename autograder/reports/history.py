"""One student's story: what was handed in when, what was graded and why, what people gave."""

from __future__ import annotations

from sqlalchemy import inspect, select

from autograder.classroom.accounts import account_for
from autograder.classroom.gradebook import find_alembic
from autograder.classroom.history import read_history
from autograder.classroom.migration import read_dropped
from autograder.classroom.snapshot import open_copy
from autograder.course import Assignment, CourseError
from autograder.intake.collected import Log
from autograder.intake.moments import describe_moment, find_moments
from autograder.intake.writeups import find_handed_in
from autograder.marking import tables
from autograder.marking.requests import read_requests


def tell_history(assignments: list[Assignment], student: str) -> list[str]:
    """Return the story as lines, assignment by assignment; refuse a name that nobody has."""
    lines = []
    for assignment in assignments:
        found = _tell(assignment, student)
        if found:
            lines += [f"{assignment.title} ({assignment.name})", *(f"  {line}" for line in found)]
    if not lines:
        raise CourseError(f"Nothing is known about {student!r}.")
    return lines


def _tell(assignment: Assignment, student: str) -> list[str]:
    events: list[tuple[str, str]] = []
    for name, entry in Log(assignment).entries.get(student, {}).items():
        dated = entry.get("says") == "system"
        said = ", said by the system" if dated else ""
        said += ", late, says the system" if entry.get("late") and not dated else ""
        when = entry.get("time", "") if dated else ""
        events.append((when, f"handed in {name} ({entry.get('from', '')}{said})"))
    elsewhere = Log(assignment, "-gradescope").entries.get(student)
    if elsewhere:
        words = f"Gradescope's own run gave {elsewhere['score']:g} ({elsewhere['submission']})"
        events.append((elsewhere["time"], words))
    for line in read_history(assignment.course, student):
        if line["assignment"] == assignment.name:
            events += _tell_grading(student, line)
    for request in read_requests(assignment):
        if request.student == student:
            moment = f"{request.asked:%Y-%m-%d %H:%M:%S} UTC"
            events.append((moment, f"asked to look again at {request.label}: {request.shown}"))
    events += _tell_marks(assignment, student)
    account = account_for(assignment).get(student)
    told = [f"{when or 'at an unknown time'}: {what}" for when, what in sorted(events)]
    moment = find_moments(assignment).get(student)
    if moment is not None:
        told.append(f"the moment that counts: {describe_moment(moment)}")
    found = find_handed_in(assignment, student)
    if found:
        told.append(f"now: beside the notebooks there is {', '.join(map(str, found))}")
    if account and account.troubles:
        told.append(f"now: cannot be graded as it is. {account.sentence}")
    return told


def _tell_grading(student: str, line: dict) -> list[tuple[str, str]]:
    score = "not handed in"
    if line["score"] is not None:
        score = f"{line['score']:g} of {line['max_score']:g} by the autograder"
    words = f"{student}: {line['notebook']}, {line['why']}: {score}"
    if line["changed"]:
        words += f" ({', '.join(line['changed'])})"
    return [(line["time"], words), *((line["time"], f"  {flag}") for flag in line["flags"])]


def _tell_marks(assignment: Assignment, student: str) -> list[tuple[str, str]]:
    find_alembic()
    events = []
    with open_copy(assignment) as gradebook:
        if inspect(gradebook.engine).has_table(tables.marks.name):
            m = tables.marks.c
            query = select(m.given, m.cell, m.score, m.marker, m.comment, m.undone).where(
                m.assignment == assignment.name, m.student == student
            )
            for given, cell, score, marker, comment, undone in gradebook.db.execute(query):
                words = f"{marker} gave {score:g} for {cell}" + (f": {comment}" if comment else "")
                words += " (taken back later)" if undone else ""
                events.append((f"{given:%Y-%m-%d %H:%M:%S} UTC", words))
        for row in read_dropped(gradebook, student):
            if row.assignment == assignment.name:
                mark = row.manual_score if row.manual_score is not None else row.auto_score
                words = f"{row.cell} was dropped from the course; the mark was {mark:g} of {row.max_score:g}"
                events.append((f"{row.dropped:%Y-%m-%d %H:%M:%S} UTC", words))
    return events
