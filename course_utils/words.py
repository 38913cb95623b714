"""Sentences for a narrow window: a notebook's output area cuts long lines in mid-word."""

from __future__ import annotations

import textwrap

WIDTH = 84  # characters of a line that fit into a narrow window


def wrap(text: str, indent: str = "  ") -> str:
    """Break each line of a text at words; what goes on in the next line is indented."""
    return "\n".join(
        textwrap.fill(
            line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
        for line in text.splitlines()
    )


def say(text: str) -> None:
    """Print a text, broken at words."""
    print(wrap(text))
