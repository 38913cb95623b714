"""Grades out: the tracks and the collaborators rule of course.toml, late penalties, and CSV files.

Everything is worked out from the gradebook as it is now, so that it does not matter whether a
person graded before the autograder or after it.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field
from pathlib import Path

from autograder.course import Course, CourseError
from autograder.gradebook import ClassGradebook, Mark, Submission, replace_file
from autograder.roster import Entry, compare, find_roster

FORMATS = ("csv", "canvas", "moodle")


@dataclass
class Part:
    """One notebook's points as a track counts them."""

    notebook: str
    auto: float = 0.0
    auto_max: float = 0.0
    hand: float = 0.0
    hand_max: float = 0.0
    extra: float = 0.0  # what comes on top, already weighted
    extra_lines: list[str] = field(default_factory=list)
    late: float = 0.0

    @property
    def counted(self) -> float:
        return self.auto + self.hand + self.extra


@dataclass
class Grade:
    """One student's grade, and how it came about."""

    entry: Entry
    track: str
    out_of: float
    parts: list[Part]
    untouched: list[str]  # notebooks whose collaborators cell was left as it was
    collaborators: float  # what that costs
    seconds_late: float
    waiting: int  # cells that wait for a person
    handed_in: bool

    @property
    def total(self) -> float:
        points = sum(part.counted - part.late for part in self.parts) - self.collaborators
        return round(max(0.0, points), 4)

    def explain(self) -> list[str]:
        """Return the sum, line by line."""
        if not self.handed_in:
            return [f"Nothing was handed in: 0 of {self.out_of:g}."]
        lines = []
        for part in self.parts:
            lines.append(
                f"{part.notebook}: {part.auto:g} of {part.auto_max:g} by the autograder, "
                f"{part.hand:g} of {part.hand_max:g} by hand"
            )
            lines += part.extra_lines
            if part.late:
                lines.append(f"{part.notebook}: -{part.late:g} for {_in_hours(self.seconds_late)}")
        if self.collaborators:
            lines.append(
                f"-{self.collaborators:g}: collaborators left open in {', '.join(self.untouched)}"
            )
        if self.waiting:
            lines.append(f"{self.waiting} answers still wait for a person and count 0 until then")
        lines.append(f"Sum: {self.total:g} of {self.out_of:g}")
        return lines


def work_out_grades(course: Course, track: str | None = None) -> tuple[list[Grade], list[str]]:
    """Return everybody's grade, and what a person should know (unknown and missing students)."""
    if track is not None and track not in course.tracks:
        raise CourseError(f"course.toml has no track {track!r} ({', '.join(course.tracks)}).")
    with ClassGradebook(course) as gradebook:
        marks: dict[str, list[Mark]] = {}
        for mark in gradebook.read_marks():
            marks.setdefault(mark.student, []).append(mark)
        submissions = gradebook.read_submissions()
        untouched = gradebook.read_untouched(course.collaborators["cell"])
        penalise = gradebook.make_late_rule()
    roster = find_roster(course)
    people, notes = _choose_people(course, roster, list(marks), track)
    grades = [
        _make_grade(course, entry, name, marks.get(entry.student, []), untouched,
                    submissions.get(entry.student), penalise)
        for entry, name in people
    ]  # fmt: skip
    return grades, notes


def _choose_people(
    course: Course, roster: dict[str, Entry] | None, graded: list[str], track: str | None
) -> tuple[list[tuple[Entry, str]], list[str]]:
    """Return who gets a grade and on which track, and sentences about who is odd."""
    if roster is None:
        if track is None and len(course.tracks) > 1:
            raise CourseError(
                "There is no roster that says who is on which track: give one with "
                "`python -m autograder roster FILE`, or say --track "
                f"{' or --track '.join(course.tracks)} for all."
            )
        chosen = track or next(iter(course.tracks))
        return [(Entry(student), chosen) for student in sorted(graded)], []
    unknown, missing = compare(roster, graded)
    notes = [f"{name} handed in but is not on the roster, and gets no grade." for name in unknown]
    people = []
    for entry in roster.values():
        own = entry.track or (next(iter(course.tracks)) if len(course.tracks) == 1 else None)
        if own is None and track is None:
            raise CourseError(
                f"The roster says no track for {entry.student}: one of {', '.join(course.tracks)}."
            )
        if track is None or own in (track, None):
            people.append((entry, own or track))
    listed = {entry.student for entry, _ in people}
    notes += [f"{name} has handed in nothing, and gets 0." for name in missing if name in listed]
    return sorted(people, key=lambda pair: pair[0].student), notes


def _make_grade(
    course: Course,
    entry: Entry,
    track: str,
    marks: list[Mark],
    untouched: dict[str, list[str]],
    submission: Submission | None,
    penalise,
) -> Grade:
    rules = course.tracks[track].get("sections", {})
    section_of = {
        cell: section for section, facts in course.sections.items() for cell in facts["cells"]
    }
    by_notebook: dict[str, list[Mark]] = {plan.name: [] for plan in course.notebooks}
    for mark in marks:
        by_notebook.setdefault(mark.notebook, []).append(mark)
    seconds_late = submission.count_seconds_late(entry.extension) if submission else 0.0
    parts = []
    for name, found in by_notebook.items():
        part = _count(name, found, section_of, rules)
        if seconds_late > 0:
            part.late = penalise(entry.student, part.counted, seconds_late)
        parts.append(part)
    out_of = _find_total(course, track)
    open_in = untouched.get(entry.student, [])
    share = course.collaborators["penalty_percent"] / 100
    return Grade(
        entry=entry,
        track=track,
        out_of=out_of,
        parts=parts,
        untouched=open_in,
        collaborators=round(share * out_of, 4) if open_in else 0.0,
        seconds_late=seconds_late,
        waiting=sum(mark.waits and mark.max_score > 0 for mark in marks),
        handed_in=bool(marks),
    )


def _count(name: str, marks: list[Mark], section_of: dict, rules: dict) -> Part:
    part = Part(name)
    on_top: dict[str, list[Mark]] = {}
    for mark in marks:
        section = section_of.get(mark.cell)
        if section is not None and rules.get(section, {}).get("counts") == "extra":
            on_top.setdefault(section, []).append(mark)
        elif mark.written:
            part.hand += mark.score
            part.hand_max += mark.max_score
        else:
            part.auto += mark.score
            part.auto_max += mark.max_score
    for section, found in on_top.items():
        weight = rules[section].get("weight", 1)
        points, most = (sum(getattr(m, key) for m in found) for key in ("score", "max_score"))
        part.extra += weight * points
        part.extra_lines.append(
            f"{name}: section {section} on top, {points:g} of {most:g} times {weight:g}: "
            f"+{weight * points:g}"
        )
    return part


def _find_total(course: Course, track: str) -> float:
    """Return the points that a track's grade is out of; what is extra does not belong to them."""
    from autograder.blueprint import load_blueprints

    rules = course.tracks[track].get("sections", {})
    blueprints = load_blueprints(course)
    extra = sum(
        blueprints[facts["notebook"]].find(cell).points
        for section, facts in course.sections.items()
        if rules.get(section, {}).get("counts") == "extra"
        for cell in facts["cells"]
    )
    return sum(plan.auto + plan.manual for plan in course.notebooks) - extra


def _in_hours(seconds: float) -> str:
    hours = seconds / 3600
    return f"{hours / 24:.1f} days late" if hours >= 48 else f"{hours:.1f} hours late"


# --------------------------------------------------------------------------------- CSV files


def write_grades(grades: list[Grade], course: Course, form: str, path: Path) -> None:
    """Write a CSV as a plain spreadsheet, Canvas or Moodle imports it."""
    rows = {"csv": _make_plain, "canvas": _make_canvas, "moodle": _make_moodle}[form](
        grades, course
    )
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    # Spreadsheets take a file without this mark for one in an older encoding.
    replace_file(path, text.getvalue().encode("utf-8" if form == "canvas" else "utf-8-sig"))


def _make_plain(grades: list[Grade], course: Course) -> list[list]:
    names = [plan.name for plan in course.notebooks]
    header = ["student", "name", "track"]
    for name in names:
        header += [f"{name}: automatic", f"{name}: by hand", f"{name}: extra"]
    header += [
        "late penalty",
        "collaborators penalty",
        "total",
        "out of",
        "waiting",
        "how it adds up",
    ]
    rows = [header]
    for grade in grades:
        row = [_plain(grade.entry.student), _plain(grade.entry.name), grade.track]
        for part in grade.parts:
            row += [_number(part.auto), _number(part.hand), _number(part.extra)]
        late = sum(part.late for part in grade.parts)
        row += [_number(-late), _number(-grade.collaborators), _number(grade.total),
                _number(grade.out_of), grade.waiting, _plain("; ".join(grade.explain()))]  # fmt: skip
        rows.append(row)
    return rows


def _make_canvas(grades: list[Grade], course: Course) -> list[list]:
    """Canvas wants names and ids first, and the points possible in the second line."""
    tracks = list(dict.fromkeys(grade.track for grade in grades))
    titles = [
        course.title if len(tracks) == 1 else f"{course.title} ({course.tracks[track]['title']})"
        for track in tracks
    ]
    most = {grade.track: _number(grade.out_of) for grade in grades}
    rows = [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *titles],
        ["    Points Possible", "", "", "", "", *(most[track] for track in tracks)],
    ]
    for grade in grades:
        entry = grade.entry
        name = f"{entry.last_name}, {entry.first_name}" if entry.first_name else entry.name
        cells = [_number(grade.total) if grade.track == track else "" for track in tracks]
        rows.append([_plain(name or entry.student), entry.lms_id, entry.student,
                     entry.login or entry.student, entry.section, *cells])  # fmt: skip
    return rows


def _make_moodle(grades: list[Grade], course: Course) -> list[list]:
    """Moodle finds people by user name, id number or address, and takes a grade and a comment."""
    rows = [["Username", "ID number", "First name", "Last name", "Email address",
             course.title, "Feedback comments"]]  # fmt: skip
    for grade in grades:
        entry = grade.entry
        rows.append([entry.login or entry.student, entry.lms_id, _plain(entry.first_name),
                     _plain(entry.last_name), entry.email, _number(grade.total),
                     _plain("; ".join(grade.explain()))])  # fmt: skip
    return rows


def _number(value: float) -> str:
    return f"{round(value, 2) + 0.0:g}"


def _plain(text: str) -> str:
    """Keep a spreadsheet from taking text for a formula."""
    return f"'{text}" if text[:1] in tuple("=+-@\t\r") else text
