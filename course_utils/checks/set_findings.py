"""What can be said of any function that was called on several sets, whatever it should return."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from course_utils.checks.findings import Finding, end_sentence, misses_gpu
from course_utils.checks.noise_and_heads_words import WORDS


def find_problem(results: dict, sets: int, wanted: str) -> Finding | None:
    """Return the first problem that a function had with its arguments, in words."""
    problems = [results.get(f"{index}.problem") for index in range(sets)]
    first = next((problem for problem in problems if problem), None)
    if first is None:
        missing = not any(f"{index}.out.0" in results for index in range(sets))
        words = "nothing came back from the kernel."
        return Finding(False, words, "no-answer") if missing else None
    kind, _, words = first.partition("|")
    if kind == "count":
        slug, sentence = (
            "wrong-count",
            f"the number of things that came back is {words}; it should be {wanted}.",
        )
        return Finding(False, sentence, slug)
    if kind == "type":
        sentence = f"a {words} came back; it should return {wanted}."
        return Finding(False, sentence, "wrong-count")
    slug = {"open": "todo-open", "undefined": "not-defined", "not-callable": "not-a-function",
            "none": "returned-none", "raised": "raised"}.get(kind, "no-answer")  # fmt: skip
    facts = (end_sentence(words[0].upper() + words[1:]),) if slug == "raised" and words else ()
    slug = "hard-coded-device" if slug == "raised" and misses_gpu(words) else slug
    return Finding(False, WORDS[slug], slug, facts)


def find_unsteady_answer(results: dict, sets: int, parts: int) -> Finding | None:
    """Did a second call with the same arguments return something else?"""
    for index in range(sets):
        for part in range(parts):
            first = results.get(f"{index}.out.{part}")
            second = results.get(f"{index}.again.{part}")
            same = second is not None and not isinstance(second, str)
            if not same or first.shape != second.shape or not np.allclose(first, second):
                return Finding(False, WORDS["not-repeatable"], "not-repeatable")
    return None


def find_changed_inputs(results: dict, sets: Sequence[list]) -> Finding | None:
    """Did the function change an array that it was given?"""
    for index, arguments in enumerate(sets):
        for place, argument in enumerate(arguments):
            after = results.get(f"{index}.after.{place}")
            if np.ndim(argument) and (
                after is None or isinstance(after, str) or not np.array_equal(after, argument)
            ):
                return Finding(False, WORDS["input-changed"], "input-changed")
    return None
