"""The fence around each submission: whatever goes wrong inside becomes that submission's sentence."""

from __future__ import annotations

from autograder.course import CourseError
from autograder.files import explain_os_error
from autograder.plain_text import clean_text, one_line


def describe_failure(problem: Exception, what: str = "could not be graded") -> str:
    """Return one sentence about what went wrong, a mistake of our own included.

    >>> describe_failure(KeyError("cells"))
    "could not be graded: KeyError: 'cells'"
    """
    if isinstance(problem, CourseError):
        return clean_text(str(problem))
    if isinstance(problem, OSError):
        return f"{one_line(explain_os_error(problem))}."
    return f"{what}: {type(problem).__name__}: {one_line(str(problem))}"
