"""What an exercise is: a right answer, what to ask a kernel for, how to judge what comes back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from course_utils.checks.findings import Finding


@dataclass(frozen=True)
class Mistake:
    """Code for a solution cell that is wrong, and the name of what is wrong with it."""

    diagnosis: str
    code: str


@dataclass(frozen=True)
class Ruling:
    """A judge's opinion of one exercise: how much of the points, and what was found."""

    share: float  # 0 to 1 of the exercise's points
    finding: Finding
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Exercise:
    """One judged piece of work.

    `program` is source text of a function `probe(namespace, inputs)` that runs in the student's
    kernel and returns a dictionary of values; `rule` looks at the arrays that came back, in the
    judge's own process. `inputs` are arrays that travel with the program.
    """

    name: str
    reference: str
    program: str
    rule: Callable[[dict], Ruling]
    inputs: dict = field(default_factory=dict)
    mistakes: tuple[Mistake, ...] = ()
    variants: tuple[str, ...] = ()  # other right answers, as code
