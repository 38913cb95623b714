"""Lets nbgrader find what came as a zip, as a .py or under another name.

nbgrader looks for `<notebook>.ipynb` as soon as it starts to grade, before any of its hooks is
called. A setting whose value is worked out when it is needed, traitlets' own way, is asked for just
before that. Nothing that a student sent is touched while the configuration is read: there, traitlets
would answer an error by going on without any of our settings.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from traitlets.config.loader import DeferredConfig

HOOK = "autograder.adapters.nbgrader_plugin.prepare_gradebook"


class SettledFirst(DeferredConfig, str):
    """The name of nbgrader's pre-convert hook; asking for it settles what has arrived."""

    def __new__(cls, name: str, root: Path | None = None):
        made = super().__new__(cls, name)
        made.root = root
        return made

    def get_value(self, trait) -> str:
        try:
            settle_arrivals(self.root)
        except BaseException as problem:  # nbgrader must not carry on without us
            if isinstance(problem, KeyboardInterrupt | SystemExit):
                raise
            stop(problem)
        return str(self)


_said: set[str] = set()  # traitlets asks twice; whoever reads is told once


def settle_arrivals(root: Path | None) -> None:
    """Settle every student's folder of every assignment; say what could not be read."""
    from autograder.blueprint import load_blueprints
    from autograder.classroom.gradebook import set_moments
    from autograder.course import load_course
    from autograder.intake.arrivals import settle_all
    from autograder.intake.moments import write_stamps

    for assignment in load_course(root).assignments.values():
        if (assignment.grading / "submitted").is_dir():
            for sentence in settle_all(assignment, load_blueprints(assignment)):
                if sentence not in _said:
                    print(f"autograder: {sentence}", file=sys.stderr)
                    _said.add(sentence)
            write_stamps(assignment)
            set_moments(assignment)


def make_ready(root: Path, grading: str) -> SettledFirst:
    """Return the setting; called when nbgrader_config.py is read, it makes sure that ours is there."""
    try:
        # nbgrader opens the gradebook before there is a folder for it.
        if sys.argv[1:2] in (["collect"], ["autograde"]):
            os.makedirs(root / grading, exist_ok=True)
        if sys.argv[1:2] == ["autograde"]:
            import autograder.adapters.nbgrader_plugin  # noqa: F401  (or there is nothing to hook)
    except Exception as problem:
        stop(problem)
    return SettledFirst(HOOK, root)


def make_pages_anew(root: Path) -> None:
    """Take away pages that no longer say what holds, so that `generate_feedback` writes them."""
    try:
        from autograder.course import load_course
        from autograder.reports.feedback_files import clear_for_nbgrader

        clear_for_nbgrader(load_course(root))
    except Exception as problem:
        stop(problem, "No feedback was written.")


def stop(problem: BaseException, so: str = "Nothing was graded.") -> None:
    """End nbgrader with a sentence: SystemExit is no Exception, so traitlets lets it through."""
    from autograder.fence import describe_failure

    words = describe_failure(problem, "the grader could not be set up")
    raise SystemExit(f"autograder: {words.rstrip('.')}. {so}")
