"""Keeps the judge's programs out of what a student is shown.

A program runs in the student's own process, so the student's code can read it there and show it
later: in an error's message, or in the output of a cell that comes after. Whatever holds a line of
one is not shown. (Who writes it down in another form learns how is asked, not what: hidden inputs are
drawn for each submission.)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from nbformat import NotebookNode

from autograder.grading.judge import Verdict
from autograder.plain_text import one_line

INSTEAD = "[Not shown: it holds words of the hidden tests.]"
_SHORTEST = 24  # characters; a shorter line may be anybody's
_LONGEST_MESSAGE = 400  # characters of one message about a check


class HiddenWords:
    """The lines of hidden programs, without those that the student has written too."""

    def __init__(self, programs: Iterable[str], visible: Iterable[str]):
        seen = {line.strip() for text in visible for line in text.splitlines()}
        lines = {line.strip() for text in programs for line in text.splitlines()}
        self._lines = [line for line in lines - seen if len(line) >= _SHORTEST]

    def are_in(self, text: str) -> bool:
        """Does a text hold one of these lines, as it stands or as Python shows it?"""
        return any(line in text or repr(line)[1:-1] in text for line in self._lines)

    def strip(self, verdict: Verdict) -> Verdict:
        """Return a verdict whose words are bounded and hold nothing hidden."""
        return replace(
            verdict,
            messages=self.strip_messages(verdict.messages),
            details=self.strip_messages(verdict.details),
        )

    def strip_messages(self, messages: list[str]) -> list[str]:
        """Return messages about a check, each one line, without hidden words."""
        return [
            INSTEAD if self.are_in(message) else one_line(message, _LONGEST_MESSAGE)
            for message in messages
        ]

    def strip_outputs(self, outputs: list[NotebookNode]) -> list[NotebookNode]:
        """Return a cell's outputs without those that hold hidden words."""
        return [_replace(output) if self.are_in(_words_of(output)) else output for output in outputs]


def _words_of(output: NotebookNode) -> str:
    if output.output_type == "stream":
        return str(output.text)
    if output.output_type == "error":
        return "\n".join([str(output.ename), str(output.evalue), *map(str, output.traceback)])
    data = output.get("data", {})
    return "\n".join(str(text) for kind, text in data.items() if not kind.startswith("image/"))


def _replace(output: NotebookNode) -> NotebookNode:
    return NotebookNode(output_type="stream", name="stdout", text=INSTEAD + "\n")
