"""Text that somebody else wrote, without signs that act on a terminal, a page or a file."""

from __future__ import annotations

import re
import unicodedata

# Everything below a space but tab and line ends, what follows 7-bit ASCII up to a0, halves of
# characters, and marks that turn the direction of writing round.
_CONTROL = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
_COLOUR = re.compile(r"\x1b\[[0-9;]{0,32}m")  # how Python shows errors; pages draw it, and only it


def clean_text(text: str, colours: bool = False) -> str:
    """Return a text without control characters; with `colours`, terminal colours stay.

    >>> clean_text("tab\\t, bell\\x07, \\x1b[31mred")
    'tab\\t, bell, [31mred'
    """
    if not _CONTROL.search(text):
        return text
    if not colours:
        return _CONTROL.sub("", text)
    parts, start = [], 0
    for found in _COLOUR.finditer(text):
        parts += [_CONTROL.sub("", text[start : found.start()]), found.group()]
        start = found.end()
    return "".join([*parts, _CONTROL.sub("", text[start:])])


def clean_words(value):
    """The same for every text in lists and dictionaries; numbers stay what they are."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_words(key): clean_words(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [clean_words(inner) for inner in value]
    return value


def one_line(text: str, longest: int = 500) -> str:
    """Return a text as one short line, as for an error's own words."""
    words = " ".join(clean_text(text[: 4 * longest]).split())
    return words if len(words) <= longest else words[: longest - 1] + "…"


def show_name(text: str, longest: int = 120) -> str:
    """Return a name that somebody else chose as one short line, with what cannot be seen spelt out.

    >>> show_name("Ada\\u200b Lund\\x1b[2J")
    'Ada\\\\u200b Lund[2J'
    """
    return "".join(
        f"\\u{ord(sign):04x}" if unicodedata.category(sign) == "Cf" else sign
        for sign in one_line(text, longest)
    )
