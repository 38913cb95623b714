"""Grades out: the tracks and the collaborators rule of course.toml, late penalties, and CSV files.

Everything is worked out from the gradebook as it is now, so that it does not matter whether a
person graded before the autograder or after it.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

from autograder.classroom.accounts import Account, account_for
from autograder.classroom.gradebook import ClassGradebook, Mark
from autograder.classroom.staleness import Stale, require_fresh
from autograder.course import Assignment, Course, CourseError
from autograder.files import replace_file
from autograder.intake.collected import Log
from autograder.intake.writeups import find_elsewhere
from autograder.reports.lateness import Arrival, find_arrivals, require_possible, say_lateness
from autograder.roster import (
    Entry,
    compare,
    find_canvas_column,
    find_roster,
    find_without_track,
)

FORMATS = ("csv", "canvas", "moodle")
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?")
# What a formula begins with, at the start of a cell or where another spreadsheet may begin a new one:
# they cut at semicolons, tabs and ends of lines, skip blanks and quotes, and know full-width signs.
_FORMULA = re.compile(
    r"(^|[;|\t\r\n\v\f\x1c-\x1f\x85\u2028\u2029])(?=[\s\"'\u200b-\u200f\u2060\ufeff\x00-\x1f]*[=+\-@＝＋－＠])"
)
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
    stale: list[Stale] = field(default_factory=list)  # scores that are older than today's rules
    arrival: Arrival | None = None
    elsewhere: str = ""  # files in which answers that wait may stand

    @property
    def points(self) -> float:
        """The total before it is rounded."""
        points = sum(part.counted - part.late for part in self.parts) - self.collaborators
        return max(0.0, points)

    @property
    def total(self) -> float:
        return _round(self.points)

    @property
    def is_open(self) -> bool:
        """Does something still have to be looked at before the total can be said?"""
        return bool(self.waiting or self.not_gradable)

    def explain(self) -> list[str]:
        """Return the sum, line by line."""
        if not self.handed_in and not self.not_gradable and not self.stale:
            return [f"Nothing was handed in: 0 of {_number(self.out_of)}."]
        lines = []
        for part in self.parts:
            lines.append(
                f"{part.notebook}: {_number(part.auto)} of {_number(part.auto_max)} by the "
                f"autograder, {_number(part.hand)} of {_number(part.hand_max)} by hand"
                + (f" so far, {part.waiting} not read yet" if part.waiting else "")
            )
            lines += part.extra_lines
            if part.late:
                lines.append(
                    f"{part.notebook}: -{_number(part.late)} for {say_lateness(self.seconds_late)}"
                )
        lines += self.arrival.explain() if self.arrival else []
        if self.collaborators:
            lines.append(
                f"-{_number(self.collaborators)}: collaborators left open in "
                f"{', '.join(self.untouched)}"
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
        lines += [entry.sentence for entry in self.stale]
        lines.append(f"Sum: {_number(self.total)} of {_number(self.out_of)}")
        return lines


def work_out_grades(
    assignment: Assignment, track: str | None = None, stale_ok: bool = False
) -> tuple[list[Grade], list[str]]:
    """Return everybody's grade, and what a person should know (unknown and missing students).

    Scores that are older than today's points, tests and work are refused, or marked with `stale_ok`.
    """
    grades, notes = _work_out_all(assignment, track, stale_ok)
    if track is not None:
        grades = [grade for grade in grades if grade.track == track]
    listed = {grade.entry.student for grade in grades}
    return grades, [words for student, words in notes if student is None or student in listed]


def _work_out_all(
    assignment: Assignment, track: str | None, stale_ok: bool
) -> tuple[list[Grade], list[tuple[str | None, str]]]:
    """Work out the grades of all tracks; `track` is that of whoever has none.

    Each note comes with the student whom it is about, where that is one of those with a grade.
    """
    if track is not None and track not in assignment.course.tracks:
        raise CourseError(
            f"course.toml has no track {track!r} ({', '.join(assignment.course.tracks)})."
        )
    roster = find_roster(assignment)
    with ClassGradebook(assignment, preview=True) as gradebook:
        stale = require_fresh(gradebook, stale_ok)
        marks: dict[str, list[Mark]] = {}
        for mark in gradebook.read_marks():
            marks.setdefault(mark.student, []).append(mark)
        arrivals = find_arrivals(assignment, gradebook, roster)
        untouched = gradebook.read_untouched(assignment.course.collaborators["cell"])
        penalise = gradebook.make_late_rule()
    accounts = account_for(assignment)
    here = {account.student for account in accounts.values() if account.handed_in} | set(marks)
    people, notes = _choose_people(assignment, roster, sorted(here), track)
    require_possible(arrivals, [entry.student for entry, _ in people])
    notes += [(None, words) for words in _compare_with_gradescope(assignment, marks)]
    for entry, _ in people:
        notes += [
            (entry.student, words) for words in _say_odd(arrivals.get(entry.student), assignment)
        ]
    grades = [
        _make_grade(assignment, entry, name, marks.get(entry.student, []), untouched,
                    arrivals.get(entry.student, Arrival(entry.student)), penalise,
                    accounts.get(entry.student),
                    [found for found in stale if found.student == entry.student])
        for entry, name in people
    ]  # fmt: skip
    for grade in grades:
        if grade.waiting:
            found = find_elsewhere(assignment, grade.entry.student)
            grade.elsewhere = ", ".join(map(str, found))
        if grade.elsewhere:
            words = f"{grade.entry.student}: answers wait, and may be elsewhere: {grade.elsewhere}."
            notes.append((grade.entry.student, words))
    return grades, notes


def _say_odd(arrival: Arrival | None, assignment: Assignment) -> list[str]:
    """Say where somebody is late without a date, and what hints say against the platform."""
    if arrival is None:
        return []
    said = [f"{arrival.student}: {words}." for words in arrival.contradictions]
    if arrival.called_late:
        said.append(
            f"{arrival.student} is late, says the learning platform, but not since when: nothing is "
            f"taken off until you say it: python -m autograder date {arrival.student} MOMENT "
            f"--assignment {assignment.name}"
        )
    return said


def _compare_with_gradescope(assignment: Assignment, marks: dict[str, list[Mark]]) -> list[str]:
    """Say where a student saw other automatic points on Gradescope than the gradebook has."""
    notes = []
    for student, found in sorted(Log(assignment, "-gradescope").entries.items()):
        here = sum(mark.auto or 0.0 for mark in marks.get(student, []) if not mark.written)
        if student in marks and abs(here - found["score"]) > 0.005:
            notes.append(
                f"{student} saw {_number(found['score'])} automatic points on Gradescope; the "
                f"gradebook has {_number(here)}."
            )
    return notes


def require_marked(grades: list[Grade]) -> None:
    """Refuse to hand out grades while something in them still has to be read by a person."""
    said = say_open(grades)
    if said:
        raise CourseError(
            f"Nothing was written, because unmarked work would count 0: {said}. Mark "
            "what waits, or say --unmarked-as-zero."
        )


def say_open(grades: list[Grade]) -> str:
    """Say what still has to be read by a person, or cannot be graded; nothing where all is done."""
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
    return "; ".join(said)


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
            weight * self.grades[name].points / self.grades[name].out_of
            for name, weight in self.weights.items()
        )
        return _round(100 * points / sum(self.weights.values()))

    @property
    def waiting(self) -> int:
        return sum(grade.waiting for grade in self.grades.values())

    out_of = 100.0

    def explain(self) -> list[str]:
        """Return the sum, assignment by assignment."""
        lines = []
        for name, grade in self.grades.items():
            lines.append(
                f"{name}: {_number(grade.total)} of {_number(grade.out_of)}, weighing "
                f"{_number(self.weights[name])} of {_number(sum(self.weights.values()))}"
            )
            told = grade.arrival.explain() if grade.arrival else []
            lines += [f"{name}: {words}" for words in told]
        return [*lines, f"Sum: {_number(self.total)} of 100"]


def work_out_course(
    course: Course, track: str | None = None, stale_ok: bool = False
) -> tuple[list[CourseGrade], list[str]]:
    """Return everybody's total by the weights of course.toml, over what has been graded."""
    weights = {name: course.weights.get(name, 1) for name in course.assignments}
    found: dict[str, dict[str, Grade]] = {}
    notes: list[tuple[str | None, str]] = []
    for name, weight in list(weights.items()):
        # Which assignments count does not depend on whose total is wanted.
        one = course.assignments[name]
        grades, told = _work_out_all(one, track, stale_ok) if weight else ([], [])
        if not any(grade.handed_in for grade in grades):
            weights.pop(name)
            why = "nothing of it is graded yet" if weight else "it weighs nothing"
            notes.append((None, f"{name} is not in the total: {why}."))
            continue
        notes += [(student, f"{name}: {note}") for student, note in told]
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
        if track is None or first.track == track:
            totals.append(CourseGrade(first.entry, first.track, ordered, weights))
    listed = {total.entry.student for total in totals}
    return totals, [words for student, words in notes if student is None or student in listed]


def _choose_people(
    assignment: Assignment, roster: dict[str, Entry] | None, graded: list[str], track: str | None
) -> tuple[list[tuple[Entry, str]], list[tuple[str | None, str]]]:
    """Return who gets a grade and on which track, and sentences about who is odd."""
    tracks = assignment.course.tracks
    if roster is None:
        if track is None and len(tracks) > 1:
            raise CourseError(
                "There is no roster that says who is on which track: give one with "
                "`python -m autograder roster FILE`, or say --track "
                f"{' or --track '.join(tracks)} for all."
            )
        chosen = track or next(iter(tracks), "")
        return [(Entry(student), chosen) for student in sorted(graded)], []
    unknown, missing = compare(roster, graded)
    notes: list[tuple[str | None, str]] = [
        (None, f"{name} handed in but is not on the roster, and gets no grade.") for name in unknown
    ]
    without = find_without_track(assignment, roster)
    if without and track is None:
        raise CourseError(
            f"The roster says no track for {_name_some(without)}: write "
            f"{' or '.join(tracks)} into the column `track` of "
            f"{assignment.grading / 'roster.csv'}, or say --track NAME for those who have none."
        )
    people = [
        (entry, entry.track or (track if entry.student in without else next(iter(tracks), "")))
        for entry in roster.values()
    ]
    missing = missing if graded else []
    notes += [(name, f"{name} has handed in nothing, and gets 0.") for name in missing]
    return sorted(people, key=lambda pair: pair[0].student), notes


def _make_grade(
    assignment: Assignment,
    entry: Entry,
    track: str,
    marks: list[Mark],
    untouched: dict[str, list[str]],
    arrival: Arrival,
    penalise,
    account: Account | None = None,
    stale: list[Stale] | None = None,
) -> Grade:
    rules = assignment.find_rules(track)
    section_of = {
        cell: section for section, facts in assignment.sections.items() for cell in facts["cells"]
    }
    by_notebook: dict[str, list[Mark]] = {plan.name: [] for plan in assignment.notebooks}
    for mark in marks:
        by_notebook.setdefault(mark.notebook, []).append(mark)
    parts = []
    for name, found in by_notebook.items():
        part = _count(name, found, section_of, rules)
        if arrival.seconds_charged > 0:
            part.late = penalise(entry.student, part.counted, arrival.seconds_charged)
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
        collaborators=_round(share * out_of) if open_in else 0.0,
        seconds_late=arrival.seconds_charged,
        waiting=sum(mark.waits and mark.max_score > 0 for mark in marks),
        handed_in=bool(marks),
        not_gradable=_find_not_gradable(account, marks),
        stale=stale or [],
        arrival=arrival,
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
            f"{name}: section {section} on top, {_number(points)} of {_number(most)} times "
            f"{_number(weight)}: +{_number(weight * points)}"
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
                         _number(total.total), "100", ". ".join(total.explain())])  # fmt: skip
    elif form == "canvas":
        title, _ = title_for_canvas(next(iter(course.assignments.values())), course.title)
        rows = [["Student", "ID", "SIS User ID", "SIS Login ID", "Section", title],
                ["    Points Possible", "", "", "", "", "100"]]  # fmt: skip
        rows += [[*_name_for_canvas(total.entry), _number(total.total)] for total in totals]
    else:
        rows = [[*_MOODLE, course.title, "Feedback comments"]]
        rows += [[*_name_for_moodle(total.entry), _number(total.total),
                  ". ".join(total.explain())] for total in totals]  # fmt: skip
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
                _number(grade.out_of), grade.waiting, ". ".join(grade.explain())]  # fmt: skip
        rows.append(row)
    return rows


def list_canvas_columns(grades: list[Grade], assignment: Assignment) -> list[tuple[str, bool]]:
    """Return the title of each track's column for Canvas, and whether Canvas will know it again."""
    tracks = list(dict.fromkeys(grade.track for grade in grades))
    given = assignment.course.hand_in.get("canvas", {}).get(assignment.name)
    numbers = given if isinstance(given, dict) else {}
    columns = []
    for track in tracks:
        title = assignment.title
        if len(tracks) > 1:
            title = f"{title} ({assignment.course.tracks[track]['title']})"
        elif not isinstance(given, dict) and given is not None:
            numbers = {track: given}
        columns.append(title_for_canvas(assignment, title, numbers.get(track)))
    return columns


def title_for_canvas(
    assignment: Assignment, title: str, number: int | None = None
) -> tuple[str, bool]:
    """Return a column's title as Canvas writes it, with its number, and whether that is known."""
    if number is not None:
        return f"{title} ({number})", True
    column = find_canvas_column(assignment, title)
    return column or title, column is not None


def say_new_columns(
    grades: list[Grade] | list[CourseGrade], assignment: Assignment, whole_course: bool
) -> list[str]:
    """Say where Canvas will make a new column, because nobody knows the number of the one it has."""
    if whole_course:
        course = assignment.course
        columns, entry = [title_for_canvas(assignment, course.title)], ""
    else:
        columns = list_canvas_columns(grades, assignment)
        entry = f", or write the number into course.toml ([hand_in] canvas.{assignment.name})"
        if len(columns) > 1:
            entry = f"{entry[:-1]}, one for each track)"
    return [
        f"Canvas will make a new column {title!r}: its number is not known. Give Canvas's own "
        f"gradebook export to `roster`{entry}."
        for title, known in columns
        if not known
    ]


def _make_canvas(grades: list[Grade], assignment: Assignment) -> list[list]:
    """Canvas wants names and ids first, and the points possible in the second line."""
    tracks = list(dict.fromkeys(grade.track for grade in grades))
    titles = [title for title, _ in list_canvas_columns(grades, assignment)]
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
                     ". ".join(grade.explain())])  # fmt: skip
    return rows


def _name_for_moodle(entry: Entry) -> list[str]:
    login = entry.login or entry.student
    return [login, entry.lms_id, entry.first_name, entry.last_name, entry.email]


def _round(value: float) -> float:
    """Round to four digits as people do, half a digit up; what binary fractions add does not count.

    >>> _round(2.00005), _round(0.1 + 0.2)
    (2.0001, 0.3)
    """
    exact = Decimal(repr(round(value, 9)))
    return float(exact.quantize(Decimal("0.0001"), ROUND_HALF_UP)) + 0.0


def _number(value: float) -> str:
    """Write a number the same everywhere: four digits after the point at most."""
    return f"{_round(value):.4f}".rstrip("0").rstrip(".")


def _plain(text: str) -> str:
    """Keep a spreadsheet from taking text for a formula, wherever it cuts."""
    return _FORMULA.sub(r"\1'", text)
