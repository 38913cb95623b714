"""Who may say when work came in: the instructor's own entry, then the platform's record, nobody else.

What a student could have written (`timestamp.txt`, a zip's manifest, the time of a file) is a hint: it is
shown, and is worth nothing either way.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from autograder.blueprint import load_blueprints
from autograder.course import Assignment, Course, CourseError, is_ambiguous
from autograder.files import replace_file
from autograder.intake.arrivals import STAMP, find_counting
from autograder.intake.collected import Log
from autograder.intake.gather import is_work
from autograder.opener import Refused, read_plain
from autograder.plain_text import clean_text
from autograder.roster import find_roster, open_table

SOURCES = {"instructor": "the instructor's entry", "system": "the learning platform"}
_HINTS = {"manifest": "the manifest in the zip", "file": "the file's own time", STAMP: STAMP}
_COLUMNS = ("student", "assignment", "moment")
_MOMENT = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?) ?(Z|UTC|[+-]\d\d:?\d\d)?",
    re.ASCII | re.IGNORECASE,
)
_LONGEST_STAMP = 1000  # bytes of a timestamp.txt; more is no moment


@dataclass(frozen=True)
class Moment:
    """When a student's work for an assignment came in, as far as anybody may say it."""

    time: datetime | None = None
    says: str = ""  # a key of SOURCES
    called_late: bool = False  # by the platform, which does not say since when
    hints: dict[str, datetime] = field(default_factory=dict)  # by what they were taken from
    trouble: str = ""  # why no sum can be worked out with it

    def list_contradictions(self, deadline: datetime | None) -> list[str]:
        """Return what hints say against the platform's record; an instructor's entry settles it."""
        if self.says == "instructor" or (self.time is None and not self.called_late):
            return []
        record = f"the learning platform says {write_moment(self.time) if self.time else 'late'}"
        said = []
        for what, time in self.hints.items():
            if self.time is None:
                against = deadline is None or time <= deadline
            else:
                against = deadline is not None and time <= deadline < self.time
                # A file's own time is that of a download as often as not.
                against |= what != "file" and time > self.time
            if against:
                said.append(f"{_HINTS[what]} says {write_moment(time)}, but {record}, which counts")
        return said


def write_moment(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def describe_moment(moment: Moment) -> str:
    """Say when work came and who says it, and which hints there are."""
    if moment.time is not None:
        words = f"{write_moment(moment.time)}, says {SOURCES[moment.says]}"
    else:
        words = "late, says the learning platform, but not since when" if moment.called_late else (
            "nobody says when")  # fmt: skip
    hints = [f"{_HINTS[what]} says {write_moment(time)}" for what, time in moment.hints.items()]
    return f"{words} (a hint: {', '.join(hints)})" if hints else words


def read_moment(text: str) -> datetime:
    """Read a moment such as 2030-03-01 18:00, in this computer's time zone unless it names one."""
    moment = _parse(text)
    if moment is None:
        raise CourseError(
            f"{text!r} is no moment: write it as 2030-03-01 18:00 (the time of this computer), "
            "2030-03-01 18:00 UTC or 2030-03-01 18:00+01:00"
        )
    if is_ambiguous(moment):
        raise CourseError(
            f"{text} lies in an hour that clocks here go through twice, or skip: add the offset, "
            f"such as {text}+01:00"
        )
    return moment.astimezone(UTC)


def _parse(text: str) -> datetime | None:
    found = _MOMENT.fullmatch(text.strip())
    if found is None:
        return None
    day, time, zone = found.groups()
    zone = "+00:00" if (zone or "").upper() in ("Z", "UTC") else zone or ""
    try:
        moment = datetime.fromisoformat(f"{day} {time}{zone}")
        moment.astimezone(UTC)  # the first and last years cannot be told in every zone
        return moment.replace(microsecond=0)
    except (ValueError, OverflowError):
        return None


# ------------------------------------------------------------------ the instructor's entries


def read_dates(course: Course) -> dict[str, dict[str, datetime]]:
    """Return the instructor's entries by assignment and student, or name the line that is wrong."""
    found: dict[str, dict[str, datetime]] = {name: {} for name in course.assignments}
    path = course.grading / "dates.csv"
    if not path.is_file():
        return found
    rows = open_table(path)
    if sorted(rows.fieldnames) != sorted(_COLUMNS):
        raise CourseError(f"{path}: the first line must be {','.join(_COLUMNS)}.")
    students = _list_students(course)
    try:
        for row in rows:
            where = f"{path}, line {rows.line_num}"
            if None in row:
                raise CourseError(f"{where}: there are more values than columns.")
            cells = {name: (value or "").strip() for name, value in row.items()}
            if any(cells.values()):
                _add_date(found, cells, where, course, students)
    except csv.Error as problem:
        raise CourseError(f"{path}, line {rows.line_num}: {problem}.") from None
    return found


def _add_date(found: dict, cells: dict, where: str, course: Course, students: set[str]) -> None:
    student, name = cells["student"], cells["assignment"]
    if name not in course.assignments:
        raise CourseError(
            f"{where}: there is no assignment {name!r} ({', '.join(course.assignments)})."
        )
    if student not in students:
        raise CourseError(f"{where}: {student!r} is not on the roster and has handed in nothing.")
    if student in found[name]:
        raise CourseError(f"{where}: {student} is there twice for {name}.")
    try:
        time = read_moment(cells["moment"])
        _require_possible(time, course.assignments[name])
    except CourseError as problem:
        raise CourseError(f"{where}: {problem}.") from None
    found[name][student] = time


def _require_possible(time: datetime, assignment: Assignment) -> None:
    if time > datetime.now(UTC):
        raise CourseError(f"{write_moment(time)} is in the future")
    opens = assignment.opens
    if opens is not None and time < opens.astimezone(UTC):
        raise CourseError(
            f"{write_moment(time)} is before {assignment.name} was handed out "
            f"({write_moment(opens)}, says course.toml)"
        )


def _list_students(course: Course) -> set[str]:
    roster = find_roster(next(iter(course.assignments.values()))) or {}
    return {*roster, *(home.name for home in (course.grading / "submitted").glob("*"))}


def set_dates(assignment: Assignment, times: dict[str, datetime | None]) -> None:
    """Enter when students' work came in; with None take an entry away. If one cannot be, none is."""
    course = assignment.course
    dates, known = read_dates(course), _list_students(course)
    mine = dates[assignment.name]
    for student, time in times.items():
        if time is None:
            if mine.pop(student, None) is None:
                raise CourseError(f"There is no entry for {student} in {assignment.name}.")
            continue
        if student not in known:
            raise CourseError(f"{student!r} is not on the roster and has handed in nothing.")
        try:
            _require_possible(time, assignment)
        except CourseError as problem:
            raise CourseError(f"{student}: {problem}.") from None
        mine[student] = time
    write_dates(course, dates)
    write_stamps(assignment, times)


def write_dates(course: Course, dates: dict[str, dict[str, datetime]]) -> None:
    """Write the table of the instructor's entries."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for name, entries in dates.items():
        writer.writerows([who, name, write_moment(time)] for who, time in sorted(entries.items()))
    replace_file(course.grading / "dates.csv", text.getvalue().encode())


def take_over_timestamps(assignment: Assignment) -> tuple[dict[str, datetime], list[str]]:
    """Enter what timestamp.txt says for students whose work was not collected by us.

    nbgrader's exchange writes that file, but so can a student: an instructor has to ask for this. Returns
    what was taken, and sentences about what was not.
    """
    log, entered = Log(assignment).entries, read_dates(assignment.course)[assignment.name]
    known = Log(assignment, "-stamps").entries
    taken, left = {}, []
    for student in _find_stamped(assignment):
        text = _find_hint(assignment, student, known.get(student, {}))
        time, before = _read_stamp_time(text), entered.get(student)
        if student in log:
            if text:
                left.append(f"{student}: what was collected says when, and not {STAMP}")
        elif text and time is None:
            left.append(f"{student}: {STAMP} says {clean_text(text)[:60]!r}, which is no moment")
        elif time is not None and before not in (None, time, _read_stamp_time(
            known.get(student, {}).get("taken", ""))):  # fmt: skip
            left.append(f"{student}: {STAMP} says {write_moment(time)}, but your entry stays "
                        f"({write_moment(before)})")  # fmt: skip
        elif time is not None and time != before:
            taken[student] = time
    if taken:
        set_dates(assignment, taken)
        stamps = Log(assignment, "-stamps")
        for student, time in taken.items():
            stamps.entries.setdefault(student, {})["taken"] = write_moment(time)
        stamps.write()
    return taken, left


# ------------------------------------------------------------------------------- all together


def find_moments(assignment: Assignment) -> dict[str, Moment]:
    """Return, for everybody of whom anything is known, when their work came in and who says so."""
    dates = read_dates(assignment.course)[assignment.name]
    log, known = Log(assignment).entries, Log(assignment, "-stamps").entries
    return {
        student: _find(
            assignment,
            student,
            dates.get(student),
            log.get(student, {}),
            _find_hint(assignment, student, known.get(student, {})),
        )
        for student in sorted({*dates, *log, *_find_stamped(assignment)})
    }


def _find(
    assignment: Assignment, student: str, entered: datetime | None, files: dict, stamp: str
) -> Moment:
    counting = [files[name] for name in _choose_counting(assignment, student, files)]
    hints = _collect_hints(counting)
    stamped = _read_stamp_time(stamp)
    if stamped is not None:
        hints[STAMP] = stamped
    if entered is not None:
        return Moment(entered, "instructor", hints=hints)
    times, late, trouble = [], False, ""
    for entry in counting:
        if entry.get("says") == "system" and entry.get("time"):
            time = _parse(entry["time"])
            if time is None:
                trouble = f"{entry['time']!r} is no moment"
            else:
                times.append(time)
        else:
            late |= bool(entry.get("late"))
    try:
        for time in times:
            _require_possible(time, assignment)
    except CourseError as problem:
        trouble = str(problem)
    if trouble:
        trouble = (
            f"{student}: {trouble}, as {Log(assignment).path} has it from the learning platform. "
            f"Say when it came: python -m autograder date {student} MOMENT --assignment "
            f"{assignment.name}"
        )
    says = "system" if times else ""
    return Moment(max(times, default=None), says, late, hints, trouble)


def _choose_counting(assignment: Assignment, student: str, files: dict) -> list[str]:
    """Return which of the collected files hold versions that are graded."""
    if all("counts" in entry for entry in files.values()):
        names = [name for name, entry in files.items() if entry["counts"]]
    else:  # collected by an earlier version
        folder = _find_folder(assignment, student)
        try:
            found = find_counting(folder, load_blueprints(assignment))
            names = [path.relative_to(folder).as_posix() for path in found]
        except Exception:  # whatever is in there, it is said when it is graded
            names = []
    names = names or [name for name in files if is_work(Path(name))]
    return [name for name in names if name in files]


def _collect_hints(counting: list[dict]) -> dict[str, datetime]:
    hints: dict[str, datetime] = {}
    for entry in counting:
        said = dict(entry.get("hint") or {})
        if entry.get("says") in _HINTS:  # in logs of earlier versions
            said.setdefault(entry["says"], entry.get("time", ""))
        for what, text in said.items():
            time = _parse(text) if what in _HINTS and isinstance(text, str) else None
            if time is not None:
                time = time if time.tzinfo else time.replace(tzinfo=UTC)
                hints[what] = max(time, hints.get(what, time))
    return hints


# ------------------------------------------------------------- timestamp.txt, for nbgrader's sake


def write_stamps(assignment: Assignment, students: Iterable[str] | None = None) -> None:
    """Let timestamp.txt in the students' folders (all, or these), which nbgrader reads, say what holds.

    What stood there and is not ours is kept beside the log of what was collected, as a hint.
    """
    if students is None:
        folders = (assignment.grading / "submitted").glob(f"*/{assignment.name}")
        students = sorted(folder.parent.name for folder in folders)
    moments, log = find_moments(assignment), Log(assignment, "-stamps")
    wanted: dict[Path, str] = {}
    for student in students:
        folder = _find_folder(assignment, student)
        if not folder.is_dir() or folder.is_symlink() or folder.parent.is_symlink():
            continue
        known = log.entries.get(student, {})
        time = moments.get(student, Moment()).time
        text = write_moment(time) if time else ""
        facts = {
            "written": text,
            "found": _find_hint(assignment, student, known),
            "taken": known.get("taken", ""),
        }
        if any(facts.values()):
            log.entries[student] = facts
        else:
            log.entries.pop(student, None)
        wanted[folder / STAMP] = text
    if log.entries or log.path.exists():
        log.write()  # before anything goes
    for path, text in wanted.items():
        if path.is_dir() and not path.is_symlink():
            path.rename(path.with_name(f"{STAMP} (folder)"))
        if not text:
            path.unlink(missing_ok=True)
        elif _read_stamp(path) != text:
            replace_file(path, f"{text}\n".encode())


def _find_stamped(assignment: Assignment) -> list[str]:
    """Return the students in whose folders there is, or was, a timestamp.txt."""
    here = (assignment.grading / "submitted").glob(f"*/{assignment.name}/{STAMP}")
    return sorted({*Log(assignment, "-stamps").entries, *(path.parents[1].name for path in here)})


def _find_hint(assignment: Assignment, student: str, known: dict) -> str:
    """Return what a timestamp.txt that we did not write says, or said."""
    text = _read_stamp(_find_folder(assignment, student) / STAMP)
    return known.get("found", "") if text in ("", known.get("written", "")) else text


def _read_stamp(path: Path) -> str:
    try:
        return read_plain(path, _LONGEST_STAMP).decode("utf-8", "replace").strip()
    except Refused:
        return ""


def _read_stamp_time(text: str) -> datetime | None:
    """Read a moment as nbgrader writes it: without a zone it is UTC."""
    time = _parse(text)
    return time and (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)


def _find_folder(assignment: Assignment, student: str) -> Path:
    return assignment.grading / "submitted" / student / assignment.name
