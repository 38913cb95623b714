"""Grades out: the tracks and the collaborators rule of course.toml, late penalties, and CSV files.

Everything is worked out from the gradebook as it is now, so that it does not matter whether a
person graded before the autograder or after it.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass, field
from pathlib import Path

from autograder.classroom.accounts import Account, account_for
from autograder.classroom.gradebook import ClassGradebook, Mark, Submission
from autograder.course import Assignment, Course, CourseError
from autograder.files import replace_file
from autograder.intake.collected import Log
from autograder.intake.writeups import find_elsewhere
from autograder.reports.lateness import find_arrivals, say_lateness
from autograder.roster import Entry, compare, find_roster, find_without_track

FORMATS = ("csv", "canvas", "moodle")
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?")
_MOODLE = ("Username", "ID number", "First name", "Last name", "Email address")


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
    waiting: int = 0  # cells that wait for a person

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
    not_gradable: dict[str, str] = field(default_factory=dict)  # notebook -> why
    elsewhere: str = ""  # files in which answers that wait may stand

    @property
    def total(self) -> float:
        points = sum(part.counted - part.late for part in self.parts) - self.collaborators
        return round(max(0.0, points), 4)

    @property
    def is_open(self) -> bool:
        """Does something still have to be looked at before the total can be said?"""
        return bool(self.waiting or self.not_gradable)

    def explain(self) -> list[str]:
        """Return the sum, line by line."""
        if not self.handed_in and not self.not_gradable:
            return [f"Nothing was handed in: 0 of {self.out_of:g}."]
        lines = []
        for part in self.parts:
            lines.append(
                f"{part.notebook}: {part.auto:g} of {part.auto_max:g} by the autograder, "
                f"{part.hand:g} of {part.hand_max:g} by hand"
                + (f" so far, {part.waiting} not read yet" if part.waiting else "")
            )
            lines += part.extra_lines
            if part.late:
                lines.append(
                    f"{part.notebook}: -{part.late:g} for {say_lateness(self.seconds_late)}"
                )
        if self.collaborators:
            lines.append(
                f"-{self.collaborators:g}: collaborators left open in {', '.join(self.untouched)}"
            )
        if self.waiting:
            what = (
                "1 answer still waits"
                if self.waiting == 1
                else f"{self.waiting} answers still wait"
            )
            lines.append(f"{what} for a person and count{'s' * (self.waiting == 1)} 0 until then")
        if self.waiting and self.elsewhere:
            lines.append(f"answers that wait may be elsewhere, in {self.elsewhere}")
        lines += [
            f"{name} cannot be graded as it is: {why}" for name, why in self.not_gradable.items()
        ]
        lines.append(f"Sum: {self.total:g} of {self.out_of:g}")
        return lines


def work_out_grades(
    assignment: Assignment, track: str | None = None
) -> tuple[list[Grade], list[str]]:
    """Return everybody's grade, and what a person should know (unknown and missing students)."""
    if track is not None and track not in assignment.course.tracks:
        raise CourseError(
            f"course.toml has no track {track!r} ({', '.join(assignment.course.tracks)})."
        )
    with ClassGradebook(assignment) as gradebook:
        marks: dict[str, list[Mark]] = {}
        for mark in gradebook.read_marks():
            marks.setdefault(mark.student, []).append(mark)
        submissions = gradebook.read_submissions()
        untouched = gradebook.read_untouched(assignment.course.collaborators["cell"])
        penalise = gradebook.make_late_rule()
    accounts = account_for(assignment)
    here = {account.student for account in accounts.values() if account.handed_in} | set(marks)
    roster = find_roster(assignment)
    people, notes = _choose_people(assignment, roster, sorted(here), track)
    notes += _compare_with_gradescope(assignment, marks)
    listed = {entry.student for entry, _ in people}
    notes += [
        f"{arrival.student} is late, says the learning platform, but not since when: nothing is taken off."
        for arrival in find_arrivals(assignment, submissions, roster)
        if arrival.called_late and arrival.student in listed
    ]
    grades = [
        _make_grade(assignment, entry, name, marks.get(entry.student, []), untouched,
                    submissions.get(entry.student), penalise, accounts.get(entry.student))
        for entry, name in people
    ]  # fmt: skip
    for grade in grades:
        if grade.waiting:
            found = find_elsewhere(assignment, grade.entry.student)
            grade.elsewhere = ", ".join(map(str, found))
        if grade.elsewhere:
            notes.append(
                f"{grade.entry.student}: answers wait, and may be elsewhere: {grade.elsewhere}."
            )
    return grades, notes


def _compare_with_gradescope(assignment: Assignment, marks: dict[str, list[Mark]]) -> list[str]:
    """Say where a student saw other automatic points on Gradescope than the gradebook has."""
    notes = []
    for student, found in sorted(Log(assignment, "-gradescope").entries.items()):
        here = sum(mark.auto or 0.0 for mark in marks.get(student, []) if not mark.written)
        if student in marks and abs(here - found["score"]) > 0.005:
            notes.append(
                f"{student} saw {found['score']:g} automatic points on Gradescope; the gradebook has "
                f"{here:g}."
            )
    return notes


def require_marked(grades: list[Grade]) -> None:
    """Refuse to hand out grades while something in them still has to be read by a person."""
    waiting = [grade for grade in grades if grade.waiting]
    broken = [grade for grade in grades if grade.not_gradable]
    said = []
    if waiting:
        answers = sum(grade.waiting for grade in waiting)
        names = _name_some([grade.entry.student for grade in waiting])
        said.append(f"{_count_of(answers, 'answer')} of {names} not marked yet")
    if broken:
        names = _name_some([grade.entry.student for grade in broken])
        said.append(f"the work of {names} cannot be graded as it is")
    if said:
        raise CourseError(
            f"Nothing was written, because unmarked work would count 0: {'; '.join(said)}. Mark "
            "what waits, or say --unmarked-as-zero."
        )


def _name_some(names: list[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more


def _count_of(number: int, what: str) -> str:
    return f"1 {what}" if number == 1 else f"{number} {what}s"


# ------------------------------------------------------------------------ the whole course


@dataclass
class CourseGrade:
    """One student's total over all assignments, in per cent of what can be reached."""

    entry: Entry
    track: str
    grades: dict[str, Grade]  # by assignment
    weights: dict[str, float]

    @property
    def total(self) -> float:
        points = sum(
            weight * self.grades[name].total / self.grades[name].out_of
            for name, weight in self.weights.items()
        )
        return round(100 * points / sum(self.weights.values()), 4)

    @property
    def waiting(self) -> int:
        return sum(grade.waiting for grade in self.grades.values())

    out_of = 100.0

    def explain(self) -> list[str]:
        """Return the sum, assignment by assignment."""
        lines = [
            f"{name}: {grade.total:g} of {grade.out_of:g}, weighing {self.weights[name]:g} of "
            f"{sum(self.weights.values()):g}"
            for name, grade in self.grades.items()
        ]
        return [*lines, f"Sum: {self.total:g} of 100"]


def work_out_course(
    course: Course, track: str | None = None
) -> tuple[list[CourseGrade], list[str]]:
    """Return everybody's total by the weights of course.toml, over what has been graded."""
    weights = {name: course.weights.get(name, 1) for name in course.assignments}
    found: dict[str, dict[str, Grade]] = {}
    notes = []
    for name, weight in list(weights.items()):
        grades, told = work_out_grades(course.assignments[name], track)
        if weight == 0 or not any(grade.handed_in for grade in grades):
            weights.pop(name)
            why = "it weighs nothing" if weight == 0 else "nothing of it is graded yet"
            notes.append(f"{name} is not in the total: {why}.")
            continue
        notes += [f"{name}: {note}" for note in told]
        for grade in grades:
            found.setdefault(grade.entry.student, {})[name] = grade
    if not weights:
        raise CourseError("Nothing is graded yet: python -m autograder grade.")
    totals = []
    for _, grades in sorted(found.items()):
        first = next(iter(grades.values()))
        for name in weights.keys() - grades.keys():  # without a roster: who handed in only others
            empty = _find_total(course.assignments[name], first.track)
            grades[name] = Grade(first.entry, first.track, empty, [], [], 0.0, 0.0, 0, False)
        ordered = {name: grades[name] for name in weights}
        totals.append(CourseGrade(first.entry, first.track, ordered, weights))
    return totals, notes


def _choose_people(
    assignment: Assignment, roster: dict[str, Entry] | None, graded: list[str], track: str | None
) -> tuple[list[tuple[Entry, str]], list[str]]:
    """Return who gets a grade and on which track, and sentences about who is odd."""
    if not assignment.course.tracks:
        people = roster or {student: Entry(student) for student in graded}
        _, missing = compare(roster, graded) if roster else ([], [])
        unknown = sorted(set(graded) - set(people))
        notes = [
            f"{name} handed in but is not on the roster, and gets no grade." for name in unknown
        ]
        notes += [f"{name} has handed in nothing, and gets 0." for name in missing]
        return [(people[name], "") for name in sorted(people)], notes
    if roster is None:
        if track is None and len(assignment.course.tracks) > 1:
            raise CourseError(
                "There is no roster that says who is on which track: give one with "
                "`python -m autograder roster FILE`, or say --track "
                f"{' or --track '.join(assignment.course.tracks)} for all."
            )
        chosen = track or next(iter(assignment.course.tracks))
        return [(Entry(student), chosen) for student in sorted(graded)], []
    unknown, missing = compare(roster, graded)
    notes = [f"{name} handed in but is not on the roster, and gets no grade." for name in unknown]
    without = find_without_track(assignment, roster)
    if without and track is None:
        raise CourseError(
            f"The roster says no track for {_name_some(without)}: write "
            f"{' or '.join(assignment.course.tracks)} into the column `track` of "
            f"{assignment.grading / 'roster.csv'}, or say --track NAME for those who have none."
        )
    people = []
    for entry in roster.values():
        own = entry.track or (
            track if entry.student in without else next(iter(assignment.course.tracks))
        )
        if track is None or own == track:
            people.append((entry, own))
    listed = {entry.student for entry, _ in people}
    notes += [f"{name} has handed in nothing, and gets 0." for name in missing if name in listed]
    return sorted(people, key=lambda pair: pair[0].student), notes


def _make_grade(
    assignment: Assignment,
    entry: Entry,
    track: str,
    marks: list[Mark],
    untouched: dict[str, list[str]],
    submission: Submission | None,
    penalise,
    account: Account | None = None,
) -> Grade:
    rules = assignment.find_rules(track)
    section_of = {
        cell: section for section, facts in assignment.sections.items() for cell in facts["cells"]
    }
    by_notebook: dict[str, list[Mark]] = {plan.name: [] for plan in assignment.notebooks}
    for mark in marks:
        by_notebook.setdefault(mark.notebook, []).append(mark)
    seconds_late = submission.count_seconds_late(entry.extension) if submission else 0.0
    parts = []
    for name, found in by_notebook.items():
        part = _count(name, found, section_of, rules)
        if seconds_late > 0:
            part.late = penalise(entry.student, part.counted, seconds_late)
        parts.append(part)
    out_of = _find_total(assignment, track)
    open_in = untouched.get(entry.student, [])
    share = assignment.course.collaborators["penalty_percent"] / 100
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
        not_gradable=_find_not_gradable(account, marks),
    )


def _find_not_gradable(account: Account | None, marks: list[Mark]) -> dict[str, str]:
    """Return what cannot be graded and has not been settled by a person's marks either."""
    troubles = account.troubles if account else {}
    settled = {mark.notebook for mark in marks if mark.manual is not None}
    return {name: why for name, why in troubles.items() if name not in settled}


def _count(name: str, marks: list[Mark], section_of: dict, rules: dict) -> Part:
    part = Part(name)
    on_top: dict[str, list[Mark]] = {}
    for mark in marks:
        section = section_of.get(mark.cell)
        part.waiting += mark.waits and mark.max_score > 0
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


def _find_total(assignment: Assignment, track: str) -> float:
    """Return the points that a track's grade is out of; what is extra does not belong to them."""
    from autograder.blueprint import load_blueprints

    rules = assignment.find_rules(track)
    blueprints = load_blueprints(assignment)
    extra = sum(
        blueprints[facts["notebook"]].find(cell).points
        for section, facts in assignment.sections.items()
        if rules.get(section, {}).get("counts") == "extra"
        for cell in facts["cells"]
    )
    return sum(plan.auto + plan.manual for plan in assignment.notebooks) - extra


# --------------------------------------------------------------------------------- CSV files


def write_grades(grades: list[Grade], assignment: Assignment, form: str, path: Path) -> None:
    """Write a CSV as a plain spreadsheet, Canvas or Moodle imports it."""
    forms = {"csv": _make_plain, "canvas": _make_canvas, "moodle": _make_moodle}
    _write_csv(forms[form](grades, assignment), form, path)


def write_course(totals: list[CourseGrade], course: Course, form: str, path: Path) -> None:
    """Write everybody's course total: for Canvas and Moodle as one column of per cent."""
    if form == "csv":
        names = list(totals[0].weights)
        rows = [["student", "name", "track", *names, "total", "out of", "how it adds up"]]
        for total in totals:
            points = [_number(total.grades[name].total) for name in names]
            rows.append([total.entry.student, total.entry.name, total.track, *points,
                         _number(total.total), "100", "; ".join(total.explain())])  # fmt: skip
    elif form == "canvas":
        rows = [["Student", "ID", "SIS User ID", "SIS Login ID", "Section", course.title],
                ["    Points Possible", "", "", "", "", "100"]]  # fmt: skip
        rows += [[*_name_for_canvas(total.entry), _number(total.total)] for total in totals]
    else:
        rows = [[*_MOODLE, course.title, "Feedback comments"]]
        rows += [[*_name_for_moodle(total.entry), _number(total.total),
                  "; ".join(total.explain())] for total in totals]  # fmt: skip
    _write_csv(rows, form, path)


def _write_csv(rows: list[list], form: str, path: Path) -> None:
    text = io.StringIO()
    harmless = [
        [cell if _NUMBER.fullmatch(str(cell)) else _plain(cell) for cell in row] for row in rows
    ]
    csv.writer(text, lineterminator="\r\n").writerows(harmless)
    # Spreadsheets take a file without this mark for one in an older encoding.
    replace_file(path, text.getvalue().encode("utf-8" if form == "canvas" else "utf-8-sig"))


def _make_plain(grades: list[Grade], assignment: Assignment) -> list[list]:
    names = [plan.name for plan in assignment.notebooks]
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
        row = [grade.entry.student, grade.entry.name, grade.track]
        for part in grade.parts:
            row += [_number(part.auto), _number(part.hand), _number(part.extra)]
        late = sum(part.late for part in grade.parts)
        row += [_number(-late), _number(-grade.collaborators), _number(grade.total),
                _number(grade.out_of), grade.waiting, "; ".join(grade.explain())]  # fmt: skip
        rows.append(row)
    return rows


def _make_canvas(grades: list[Grade], assignment: Assignment) -> list[list]:
    """Canvas wants names and ids first, and the points possible in the second line."""
    tracks = list(dict.fromkeys(grade.track for grade in grades))
    titles = [
        assignment.title
        if len(tracks) <= 1
        else f"{assignment.title} ({assignment.course.tracks[track]['title']})"
        for track in tracks
    ]
    most = {grade.track: _number(grade.out_of) for grade in grades}
    rows = [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *titles],
        ["    Points Possible", "", "", "", "", *(most[track] for track in tracks)],
    ]
    for grade in grades:
        cells = [_number(grade.total) if grade.track == track else "" for track in tracks]
        rows.append([*_name_for_canvas(grade.entry), *cells])
    return rows


def _name_for_canvas(entry: Entry) -> list[str]:
    name = f"{entry.last_name}, {entry.first_name}" if entry.first_name else entry.name
    login = entry.login or entry.student
    return [
        name or entry.student,
        entry.lms_id,
        entry.sis_id or entry.student,
        login,
        entry.section,
    ]


def _make_moodle(grades: list[Grade], assignment: Assignment) -> list[list]:
    """Moodle finds people by user name, id number or address, and takes a grade and a comment."""
    rows = [[*_MOODLE, assignment.title, "Feedback comments"]]
    for grade in grades:
        rows.append([*_name_for_moodle(grade.entry), _number(grade.total),
                     "; ".join(grade.explain())])  # fmt: skip
    return rows


def _name_for_moodle(entry: Entry) -> list[str]:
    login = entry.login or entry.student
    return [login, entry.lms_id, entry.first_name, entry.last_name, entry.email]


def _number(value: float) -> str:
    return f"{round(value, 2) + 0.0:g}"


def _plain(text: str) -> str:
    """Keep a spreadsheet from taking text for a formula."""
    return f"'{text}" if text[:1] in tuple("=+-@\t\r\n") else text
