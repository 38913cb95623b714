"""What a check found: a verdict, the name of the mistake, and a sentence to a person."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from course_utils.words import wrap


@dataclass(frozen=True)
class Part:
    """A part of a function's points, what it was lost to (the slug of a mistake), and how much of it."""

    words: str
    points: int
    lost_to: str | None = None
    cost: int | None = None  # of a mistake that costs less than the whole part

    @property
    def lost(self) -> int:
        if not self.lost_to:
            return 0
        return self.points if self.cost is None else min(self.cost, self.points)

    def __str__(self) -> str:
        return f"{self.words} {self.points - self.lost} of {self.points}"


@dataclass(frozen=True)
class Finding:
    """One verdict on one piece of work.

    `diagnosis` names the mistake in a slug that reports can count (None when it passed);
    `sentence` tells the learner what is wrong and why; `facts` are the numbers beside it.
    `parts` are those of the points, where the task counts parts.
    """

    passed: bool
    sentence: str
    diagnosis: str | None = None
    facts: tuple[str, ...] = field(default=())
    parts: tuple[Part, ...] = ()

    @property
    def share(self) -> float:
        """The share of the points that this is worth, 0 to 1."""
        if self.passed:
            return 1.0
        whole = sum(part.points for part in self.parts)
        return (whole - sum(part.lost for part in self.parts)) / max(1, whole)

    @property
    def lines(self) -> list[str]:
        return [self.sentence, *self.facts, *self.counted]

    @property
    def counted(self) -> tuple[str, ...]:
        """The line that lists the parts of what is not all right."""
        if self.passed or not self.share:
            return ()
        return (f"Points by parts: {', '.join(map(str, self.parts))}.",)


# What torch says to code that insists on a GPU: builds without CUDA, and with it but no card or driver.
_NO_GPU = ("not compiled with cuda", "no nvidia driver", "cuda driver", "no cuda gpus",
           "cannot access accelerator")  # fmt: skip


def drop_line(problem: str) -> str:
    """Return a problem without the learner's line: an error is known by its own words."""
    return problem.partition(" [line ")[0]


def misses_gpu(problem: str) -> bool:
    """Do an error's own words say that there is no GPU here?"""
    words = drop_line(problem).lower()
    return any(sign in words for sign in _NO_GPU)


def end_sentence(words: str) -> str:
    """Return words with a full stop, unless they bring their own: an error's often do."""
    return words if words.endswith((".", "!", "?")) else f"{words}."


def collect(found: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return all faults; after the first there may be nothing more to look at."""
    faults: list[tuple[str, str]] = []
    try:
        for fault in found:
            faults.append(fault)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        if not faults:
            raise
    return faults


def name_second(
    first: str, faults: Iterable[tuple[str, str]], apart: Collection[str], words: Mapping[str, str]
) -> tuple[str, ...]:
    """Return a line about a second mistake, where both are of those that are seen apart from others.

    What comes after the first fault is often only what it led to; `apart` names what is not.
    """
    if first not in apart:
        return ()
    try:
        second = next((slug for slug, _ in faults if slug != first and slug in apart), None)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return ()  # after the first fault there was nothing more to look at
    return (f"And a second thing: {words[second]}",) if second else ()


class CheckFailed(AssertionError):
    """A check did not pass. Jupyter shows its sentences alone, without a traceback."""

    def __init__(self, name: str, finding: Finding, progress: str = ""):
        self.name, self.finding, self.progress = name, finding, progress
        super().__init__(f"✘ {name}: " + "\n".join(finding.lines))

    def _render_traceback_(self) -> list[str]:
        lines = [*str(self).splitlines(), *([self.progress] if self.progress else [])]
        return [wrap("\n".join(lines))]
