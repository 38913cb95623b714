"""What `collect` says: what came from everybody on the roster, and what belongs to nobody."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from autograder.course import Assignment
from autograder.intake.collect import PROPOSALS, Collected, Placed, Unmatched
from autograder.plain_text import show_name

_MOST_NAMES = 6  # of one student's files


def tell_what_came(done: Collected, students: Iterable[str]) -> Iterator[str]:
    """Yield a line for each student of the roster, and the sums."""
    placed: dict[str, list[Placed]] = defaultdict(list)
    for one in done.placed:
        placed[one.student].append(one)
    nothing = []
    for student in students:
        known = done.known.get(student, 0)
        if placed[student]:
            more = (
                f"; {_count(known, ' was there already', ' were there already')}" if known else ""
            )
            yield f"{student}: {_describe(placed[student])}{more}"
        elif known:
            yield f"{student}: nothing new ({_count(known, ' was there already', ' were there already')})"
        elif student in done.empty:
            yield f"{student}: handed in no file"
        else:
            nothing.append(student)
    if nothing:
        yield f"Nothing came from {', '.join(nothing)}."
    for student, labels in sorted(done.writeups.items()):
        more = f" and {len(labels) - 3} more" if len(labels) > 3 else ""
        yield f"{student}: answers may be elsewhere: {', '.join(labels[:3])}{more} (the desk shows it)"
    yield from done.left_out
    everything = sum(done.known.values())
    known = f"; {everything} were there already" if everything else ""
    people = sum(bool(files) for files in placed.values())
    yield f"{_count(len(done.placed))} of {people} students were collected{known}."


def _describe(files: list[Placed]) -> str:
    """Name a student's files, and the moment of the last that has one."""
    names = [show_name(file.name) for file in files]
    told = ", ".join(names[:_MOST_NAMES])
    if len(names) > _MOST_NAMES:
        told += f" and {len(names) - _MOST_NAMES} more"
    moments = [file.moment for file in files if file.moment]
    if moments:
        return f"{told} ({max(moments):%Y-%m-%d %H:%M:%S} UTC, says the learning platform)"
    return told


def tell_what_is_open(done: Collected, assignment: Assignment) -> Iterator[str]:
    """Yield what an instructor has to look at."""
    yield from done.problems
    for one in done.unmatched:
        yield _tell_whose(one)
    if any(one.is_proposed for one in done.unmatched):
        place = assignment.grading / "collected" / PROPOSALS
        yield (
            f"Where one student fits loosely, {_show(place)} proposes it: look through that table, delete "
            f"what is wrong, and collect again with --assign {_show(place)}."
        )
    elif done.unmatched:
        yield (
            'Correct the roster and collect again, or say whose it is: --assign "file or folder=student".'
        )


def tell_about_times(done: Collected) -> Iterator[str]:
    """Yield what is not known about when work came in."""
    undated = {one.student for one in done.placed if one.moment is None}
    if undated:
        yield (
            f"Work of {len(undated)} students came without a moment that counts, and is never late by that."
            + (
                " Moodle says it in its grading worksheet: collect that CSV together with the zip."
                if done.moodle_alone
                else ""
            )
        )
    if done.late:
        yield (
            f"The platform calls work of {', '.join(sorted(done.late))} late, and does not say when it "
            "came. It costs nothing until you enter it: python -m autograder date STUDENT MOMENT."
        )


def _tell_whose(one: Unmatched) -> str:
    sentence = f"{one.name} ({_count(one.files)}) {one.why}"
    if one.candidates:
        sentence += f"; is it {' or '.join(one.candidates)}?"
    return f"not placed: {sentence}"


def _count(number: int, one: str = "", several: str = "") -> str:
    return f"1 file{one}" if number == 1 else f"{number} files{several}"


def _show(path: Path) -> str:
    """Return a path as one would type it from here."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
