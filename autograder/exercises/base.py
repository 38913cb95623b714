"""What an exercise is: a right answer, what to ask a kernel for, how to judge what comes back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from course_utils.checks.findings import Finding

COURSE_SEED = 447  # what hidden inputs are drawn from, unless a submission has a seed of its own


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
    judge's own process. `inputs` are arrays that travel with the program; where there is
    `make_inputs`, they are drawn anew from a seed, and `rule` gets them as its second argument.

    An exercise that builds on others is judged on the learner's own work first. When that fails
    and some of the others failed too, it is judged again with their references in place.
    """

    name: str
    reference: str
    program: str
    rule: Callable[..., Ruling]
    inputs: dict = field(default_factory=dict)
    mistakes: tuple[Mistake, ...] = ()
    variants: tuple[str, ...] = ()  # other right answers, as code
    make_inputs: Callable[[np.random.Generator], dict] | None = None
    builds_on: tuple[str, ...] = ()  # names of exercises whose pieces it uses
    together: tuple[tuple[str, ...], ...] = ()  # pieces that only fit each other
    watched: tuple[str, ...] = ()  # names whose use a person should know about
    solved_in: str = ""  # the cell that defines it, when that has another name

    def draw_inputs(self, seed: int = COURSE_SEED) -> dict:
        """Return the arrays that travel with the program."""
        return self.make_inputs(np.random.default_rng(seed)) if self.make_inputs else self.inputs

    def judge(self, values: dict, inputs: dict) -> Ruling:
        """Judge the values that came back for these inputs."""
        return self.rule(values, inputs) if self.make_inputs else self.rule(values)
