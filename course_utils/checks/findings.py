"""What a check found: a verdict, the name of the mistake, and a sentence to a person."""

from __future__ import annotations

from dataclasses import dataclass, field

from course_utils.words import wrap


@dataclass(frozen=True)
class Finding:
    """One verdict on one piece of work.

    `diagnosis` names the mistake in a slug that reports can count (None when it passed);
    `sentence` tells the learner what is wrong and why; `facts` are the numbers beside it.
    """

    passed: bool
    sentence: str
    diagnosis: str | None = None
    facts: tuple[str, ...] = field(default=())

    @property
    def lines(self) -> list[str]:
        return [self.sentence, *self.facts]


class CheckFailed(AssertionError):
    """A check did not pass. Jupyter shows its sentences alone, without a traceback."""

    def __init__(self, name: str, finding: Finding, progress: str = ""):
        self.name, self.finding, self.progress = name, finding, progress
        super().__init__("\n".join([f"✘ {name}: {finding.sentence}", *finding.facts]))

    def _render_traceback_(self) -> list[str]:
        lines = [*str(self).splitlines(), *([self.progress] if self.progress else [])]
        return [wrap("\n".join(lines))]
