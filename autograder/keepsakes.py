"""Cells whose outputs are kept as the student made them: training and experiments.

Such a cell is not run again, so that what took a GPU and an hour survives grading. Which cells
these are is written in the text notebook (`keep="outputs"`) and read from the hand-out.
"""

from __future__ import annotations

import re

import bleach
import nbformat
from bleach.css_sanitizer import CSSSanitizer
from nbformat import NotebookNode

NOTE = "Not run again: the outputs below are the student's own."
_LONGEST_TEXT = 100_000  # characters of one output
_LARGEST_IMAGE = 4 * 1024 * 1024  # characters of one image, in base64
_IMAGES = ("image/png", "image/jpeg", "image/gif")
_TAGS = {
    "b", "br", "caption", "code", "div", "em", "figcaption", "figure", "h1", "h2", "h3", "h4", "hr",
    "i", "img", "li", "ol", "p", "pre", "small", "span", "strong", "sub", "sup", "table", "tbody",
    "td", "th", "thead", "tr", "u", "ul",
}  # fmt: skip
_ATTRIBUTES = {
    "*": ["style", "title", "colspan", "rowspan"],
    "img": ["src", "alt", "width", "height"],
}
_CSS = CSSSanitizer(
    allowed_css_properties=["color", "font-weight", "margin", "max-width", "text-align", "width"]
)


def mark_kept(cell: NotebookNode) -> None:
    """Mark a cell of the hand-out, or one that a student added beside such a cell."""
    cell.metadata["course"] = {**cell.metadata.get("course", {}), "keep": "outputs"}


def is_kept(cell: NotebookNode) -> bool:
    """Say whether a cell carries the mark. Ask this of cells of the hand-out or restored ones."""
    course = cell.metadata.get("course")
    return isinstance(course, dict) and course.get("keep") == "outputs"


def keep_outputs(cell: NotebookNode) -> list[NotebookNode]:
    """Return a student's outputs without anything that could act, under a note that says so."""
    kept = [output for output in map(_sanitise, cell.get("outputs", [])) if output is not None]
    if not kept:
        return []
    is_note = kept[0].output_type == "stream" and kept[0].text.startswith(NOTE)
    note = nbformat.v4.new_output("stream", name="stdout", text=NOTE + "\n")
    return kept if is_note else [note, *kept]


def _sanitise(output) -> NotebookNode | None:
    try:
        kind = output["output_type"]
        if kind == "stream":
            name = "stderr" if output.get("name") == "stderr" else "stdout"
            return nbformat.v4.new_output("stream", name=name, text=_cut(_join(output["text"])))
        if kind == "error":
            lines = [_cut(_join(line)) for line in output.get("traceback", [])][:200]
            return nbformat.v4.new_output(
                "error",
                ename=_cut(_join(output.get("ename", ""))),
                evalue=_cut(_join(output.get("evalue", ""))),
                traceback=lines,
            )
        data = _sanitise_data(output["data"])
        return nbformat.v4.new_output("display_data", data=data) if data else None
    except (KeyError, TypeError, AttributeError, ValueError):
        return None  # not an output of any kind we know


def _sanitise_data(data: dict) -> dict[str, str]:
    safe = {}
    for kind, value in data.items():
        text = _join(value)
        if kind in _IMAGES and len(text) <= _LARGEST_IMAGE and re.fullmatch(r"[\w+/=\s]*", text):
            safe[kind] = text
        elif kind == "text/plain":
            safe[kind] = _cut(text)
        elif kind == "text/markdown":
            safe[kind] = _defuse_markdown(_cut(text))
        elif kind == "text/html" and len(text) <= _LARGEST_IMAGE:
            safe[kind] = _clean_html(text)
    return safe


def _clean_html(text: str) -> str:
    """Keep plain tags and images that are part of the page; drop scripts, links and the rest."""
    text = re.sub(r"(?is)<(script|style)\b.*?</\1\s*>", "", text)
    cleaned = bleach.clean(
        text, tags=_TAGS, attributes=_ATTRIBUTES, protocols=["data"], css_sanitizer=_CSS, strip=True
    )
    return re.sub(r'src="(?!data:image/(png|jpeg|gif);base64,)[^"]*"', "", cleaned)


def _defuse_markdown(text: str) -> str:
    """Make tags harmless outside code marks; inside them nothing acts anyway."""
    parts = re.split(r"(`[^`\n]*`)", text)
    return "".join(
        part if index % 2 else part.replace("<", "&lt;") for index, part in enumerate(parts)
    )


def _join(text) -> str:
    return "".join(text) if isinstance(text, list) else str(text)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + "\n[...]"
