"""Takes out of a student's notebook whatever could act on the page of whoever looks at it.

The formgrader shows submissions to somebody who may change marks, so a script that runs there
could too. Words, tables and pictures stay.
"""

from __future__ import annotations

import re

import bleach
import nbformat
from bleach.css_sanitizer import CSSSanitizer
from nbformat import NotebookNode

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
# Tags in markdown that stay: those without attributes, and plain pictures.
_PLAIN_TAG = r"/?(?:b|br|details|em|hr|i|li|ol|p|pre|small|strong|sub|summary|sup|u|ul)\s*/?>"
_PICTURE = r"img(?:\s+(?:src|alt|width|height)=(?:\"[^\"<>]*\"|'[^'<>]*'))*\s*/?>"
_TAG = re.compile(rf"<(?=[A-Za-z/!?])(?!{_PLAIN_TAG}|{_PICTURE})")


def defuse_notebook(notebook: NotebookNode, ours: set[str]) -> None:
    """Make a graded notebook safe to look at; cells whose text is in `ours` are our own."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [out for out in map(defuse_output, cell.outputs) if out is not None]
            continue
        if cell.source not in ours:
            cell.source = defuse_markdown(cell.source)
        if "attachments" in cell:
            cell.attachments = {
                name: images
                for name, data in cell.attachments.items()
                if (images := _keep_images(data))
            }


def defuse_markdown(text: str) -> str:
    """Set a space after every `<` that opens a tag which could act: then it is only a sign.

    >>> defuse_markdown("a<b, H<sub>2</sub>O, <script>")
    'a< b, H<sub>2</sub>O, < script>'
    """
    return _TAG.sub("< ", text)


def defuse_output(output) -> NotebookNode | None:
    """Return an output without anything that could act, or None when nothing is left of it."""
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
        data = _defuse_data(output["data"])
        return nbformat.v4.new_output("display_data", data=data) if data else None
    except (KeyError, TypeError, AttributeError, ValueError):
        return None  # not an output of any kind we know


def _defuse_data(data: dict) -> dict[str, str]:
    safe = _keep_images(data)
    for kind, value in data.items():
        text = _join(value)
        if kind == "text/plain":
            safe[kind] = _cut(text)
        elif kind == "text/markdown":
            safe[kind] = defuse_markdown(_cut(text))
        elif kind == "text/html" and len(text) <= _LARGEST_IMAGE:
            safe[kind] = _clean_html(text)
    return safe


def _keep_images(data: dict) -> dict[str, str]:
    texts = {kind: _join(value) for kind, value in data.items() if kind in _IMAGES}
    return {
        kind: text
        for kind, text in texts.items()
        if len(text) <= _LARGEST_IMAGE and re.fullmatch(r"[\w+/=\s]*", text)
    }


def _clean_html(text: str) -> str:
    """Keep plain tags and images that are part of the page; drop scripts, links and the rest."""
    text = re.sub(r"(?is)<(script|style)\b.*?</\1\s*>", "", text)
    cleaned = bleach.clean(
        text, tags=_TAGS, attributes=_ATTRIBUTES, protocols=["data"], css_sanitizer=_CSS, strip=True
    )
    return re.sub(r'src="(?!data:image/(png|jpeg|gif);base64,)[^"]*"', "", cleaned)


def _join(text) -> str:
    return "".join(text) if isinstance(text, list) else str(text)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + "\n[...]"
