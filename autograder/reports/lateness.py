"""When each student handed in, who says so, how late that was, and what the late days cover."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime

from autograder.classroom.gradebook import ClassGradebook, Deadline
from autograder.course import Assignment, CourseError
from autograder.intake.moments import SOURCES, Moment, find_moments, write_moment
from autograder.roster import Entry

_DAY = 86_400.0  # seconds


@dataclass(frozen=True)
class Arrival:
    """One student's moment of handing in. Without one, nothing is taken off for being late."""

    student: str
    moment: str = ""  # nothing where it is not known
    source: str = ""
    seconds_late: float = 0.0  # extension counted, before late days
    called_late: bool = False  # by the learning platform, which does not say since when
    days_spent: int = 0  # late days, on this assignment
    days_left: int | None = None  # after this assignment; None where the course has none
    contradictions: tuple[str, ...] = ()  # of hints with the platform's record, in words
    trouble: str = ""  # why no sum can be worked out

    @property
    def seconds_charged(self) -> float:
        """How late it was, beyond what late days cover."""
        return max(0.0, self.seconds_late - self.days_spent * _DAY)

    def explain(self) -> list[str]:
        """Return what is to be said about late days, and about lateness that has no date."""
        lines = []
        if self.called_late and not self.trouble:
            lines.append(
                "late, says the learning platform, but not since when: nothing is taken off"
            )
        if self.days_left is None or not (self.days_spent or self.seconds_late):
            return lines
        words = f"{say_lateness(self.seconds_late)}: {_count_days(self.days_spent)} spent"
        if self.seconds_charged:
            words += f", which leaves {say_lateness(self.seconds_charged)}"
        return [*lines, f"{words}; {_count_days(self.days_left)} left"]


def find_arrivals(
    assignment: Assignment, gradebook: ClassGradebook, roster: dict[str, Entry] | None
) -> dict[str, Arrival]:
    """Return when work came and how late that is, by what is said now; nothing of it is stored.

    Late days are spent in the order of due dates, over all assignments of a student.
    """
    deadlines = gradebook.read_deadlines()
    days = assignment.course.late.get("days", 0)
    wanted = [assignment]
    if days:
        never = datetime.max.replace(tzinfo=UTC)
        every = assignment.course.assignments.values()
        wanted = sorted(every, key=lambda one: deadlines[one.name].due or never)
    left: dict[str, int] = {}
    troubles: dict[str, str] = {}
    for one in wanted:
        found = {}
        moments = find_moments(one)
        for student in sorted(
            {*moments, *troubles, *deadlines[one.name].extensions, *(roster or {})}
        ):
            moment = moments.get(student, Moment())
            trouble = troubles.setdefault(student, moment.trouble) or moment.trouble
            troubles[student] = trouble
            has = left.get(student, days)
            arrival = _make_arrival(student, moment, deadlines[one.name], roster or {}, one.name)
            spent = min(has, math.ceil(arrival.seconds_late / _DAY))
            left[student] = has - spent
            facts = {"days_spent": spent, "days_left": has - spent if days else None}
            found[student] = Arrival(**{**arrival.__dict__, **facts, "trouble": trouble})
        if one is assignment:
            return found
    raise AssertionError(f"{assignment.name} is not among the course's assignments")


def _make_arrival(
    student: str, moment: Moment, deadline: Deadline, roster: dict[str, Entry], name: str
) -> Arrival:
    end = deadline.find_end(student, roster, name)
    late = (moment.time - end).total_seconds() if moment.time and end else 0.0
    return Arrival(
        student,
        write_moment(moment.time) if moment.time else "",
        SOURCES.get(moment.says, ""),
        max(0.0, late),
        moment.called_late,
        contradictions=tuple(moment.list_contradictions(end)),
    )


def require_possible(arrivals: dict[str, Arrival], students: list[str]) -> None:
    """Refuse to work out sums with moments that cannot be."""
    troubles = [arrivals[name].trouble for name in students if name in arrivals]
    troubles = [trouble for trouble in troubles if trouble]
    if troubles:
        more = f" (and {len(troubles) - 3} more)" if len(troubles) > 3 else ""
        raise CourseError(f"There are no sums: {'; '.join(troubles[:3])}{more}.")


def say_lateness(seconds: float) -> str:
    """Say in hours or days how late something was."""
    hours = seconds / 3600
    return f"{hours / 24:.1f} days late" if hours >= 48 else f"{hours:.1f} hours late"


def _count_days(number: int) -> str:
    return "1 late day" if number == 1 else f"{number} late days"
