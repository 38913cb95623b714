"""Instant feedback while you work: `check("name", value)` says what is right or wrong, and why.

These are public checks. They look at what you give them and nothing else, and passing them
is a good sign, not a mark.
"""

from __future__ import annotations

from course_utils.checks import attention, finetuning, query_crafting
from course_utils.checks.findings import CheckFailed, Finding

_EXAMINERS = {
    **{name: query_crafting.examine for name in query_crafting.ITEMS},
    **{name: attention.examine for name in attention.FUNCTIONS},
    **{name: finetuning.examine for name in finetuning.NAMES},
}


def check(name: str, value, **context) -> None:
    """Examine one piece of work; print a line when it passes, raise CheckFailed when it does not.

    >>> check("q_select_first", [0.1, 0.2, 0.3])  # doctest: +SKIP
    ✘ q_select_first: ...
    """
    if name not in _EXAMINERS:
        raise ValueError(f"There is no check called {name!r}; there are: {', '.join(_EXAMINERS)}.")
    finding = _EXAMINERS[name](name, value, **context)
    if not finding.passed:
        raise CheckFailed(name, finding)
    print("\n".join([f"✔ {name}: public check passed. {finding.sentence}", *finding.facts]))


__all__ = ["CheckFailed", "Finding", "check"]
