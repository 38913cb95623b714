"""What an exercise is: what to ask a kernel for, how to judge what comes back, what goes wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import resources

import numpy as np

from course_utils.checks.findings import Finding

COURSE_SEED = 447  # what hidden inputs are drawn from, unless a submission has a seed of its own


def join_sources(*names: str) -> str:
    """Return the text of modules of course_utils.checks as one program, for a kernel.

    Each must come after those that it imports; the statements that import them are left out.
    """
    texts = (
        resources.files("course_utils.checks").joinpath(f"{n}.py").read_text("utf-8") for n in names
    )
    lines = "\n\n".join(texts).splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("from course_utils."))


@dataclass(frozen=True)
class Mistake:
    """Code for a solution cell that is wrong, and the name of what is wrong with it."""

    diagnosis: str
    code: str
    share: float = 0.0  # of the points that it earns all the same, where they count by parts


@dataclass(frozen=True)
class Ruling:
    """A judge's opinion of one exercise: how much of the points, and what was found."""

    share: float  # 0 to 1 of the exercise's points
    finding: Finding
    remarks: tuple[str, ...] = ()


Rule = Callable[[dict, dict, dict[str, str]], Ruling]


@dataclass(frozen=True)
class Exercise:
    """One judged piece of work. What is right is the solution in the source notebook.

    `program` is source text of a function `probe(namespace, inputs)` that runs in the student's
    kernel and returns a dictionary of values. `rule(values, inputs, solutions)` looks at the arrays
    that came back, in the judge's own process; `solutions` is the instructor's code of the
    notebook's cells, by the name that each defines. `inputs` are arrays that travel with the
    program; where there is `make_inputs`, they are drawn anew from a seed.

    `oracle` is right code that was not written in the notebook: the build refuses a solution that
    disagrees with it, as it does when a variant loses or a mistake gains a point.

    An exercise that builds on others is judged on the learner's own work first. When that fails
    and some of the others failed too, it is judged again with their solutions in place.
    """

    name: str
    program: str
    rule: Rule
    oracle: str
    inputs: dict = field(default_factory=dict)
    mistakes: tuple[Mistake, ...] = ()
    variants: tuple[str, ...] = ()  # other right answers, as code
    make_inputs: Callable[[np.random.Generator], dict] | None = None
    builds_on: tuple[str, ...] = ()  # names of exercises whose pieces it uses
    together: tuple[tuple[str, ...], ...] = ()  # pieces that only fit each other
    reads: tuple[str, ...] = ()  # names of exercises whose values it is judged with
    watched: tuple[str, ...] = ()  # names whose use a person should know about
    solved_in: str = ""  # the cell that defines it, when that has another name
    slips: frozenset[str] = (
        frozenset()
    )  # mistakes that cost a part only in the first function with them
    stand_in: str = ""  # code that fits the right piece, `right`, to the learner's, `own`

    @property
    def cell(self) -> str:
        """The name of the cell that the learner fills in."""
        return self.solved_in or self.name

    def draw_inputs(self, seed: int = COURSE_SEED) -> dict:
        """Return the arrays that travel with the program."""
        return self.make_inputs(np.random.default_rng(seed)) if self.make_inputs else self.inputs
