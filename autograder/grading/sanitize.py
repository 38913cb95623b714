"""Takes out of a student's notebook whatever could act on the page of whoever looks at it.

The formgrader shows submissions to somebody who may change marks, so a script that runs there
could too, and a picture from an address says who looked. Words, tables and pasted pictures stay.
"""

from __future__ import annotations

import html
import re
from urllib.parse import unquote

import nbformat
from nbformat import NotebookNode

from autograder.plain_text import clean_text
from course_utils.sanitize import LARGEST_IMAGE, clean_html

_LONGEST_TEXT = 100_000  # characters of one output
_IMAGES = ("image/png", "image/jpeg", "image/gif")
# Tags in markdown that stay: those without attributes, plain pictures, and tables.
_PLAIN_TAG = r"/?(?:b|br|details|em|hr|i|li|ol|p|pre|small|strong|sub|summary|sup|u|ul)\s*/?>"
# A picture is part of the notebook. One from an address would be asked for by whoever looks, and so
# tell a student who looks at what and when, or reach what only the looker can reach.
_NAME = r"(?:[\w.%~'+,@-]|\([\w.%~'+,@-]*\))*"
_OWN = rf"(?:attachment:{_NAME}|data:image/(?:png|jpeg|gif);base64,[\w+/=]*)"
_SIZES = r"(?:alt|width|height)=(?:\"[^\"<>]*\"|'[^'<>]*')"
_PICTURE = rf"img(?:\s+(?:src=(?:\"{_OWN}\"|'(?:{_OWN})')|{_SIZES}))*\s*/?>"
_TABLE = (
    r"/?(?:table|caption|thead|tbody|tfoot|tr|th|td)(?:\s+(?:class=\"dataframe\""
    r"|(?:border|align|valign|colspan|rowspan|width|scope)=(?:\"[\w %]*\"|'[\w %]*'|\w+)))*\s*/?>"
)
_TAG = re.compile(rf"<(?=[A-Za-z/!?])(?!{_PLAIN_TAG}|{_PICTURE}|{_TABLE})")
# Addresses of links, where they stand and where they are defined for later.
_LINK = re.compile(r"(?P<before>\]\(\s*)(?P<address><[^<>\n]*>|[^\s)]*)")
_DEFINITION = re.compile(r"(?m)(?P<before>^[ >\t]*\[[^\]\n]{1,200}\]:\s*)(?P<address><[^<>\n]*>|\S+)")
_SAFE_ADDRESS = re.compile(
    r"(?:https?|mailto):|attachment:|data:image/(?:png|jpeg|gif);base64,[a-z0-9+/=]*$"
)
_FOREIGN = re.compile(rf"<(?!{_PICTURE})img\b[^<>]*>", re.IGNORECASE)
# The words of a picture hold nothing that could move where they end: brackets, code, maths, tags.
_MARKDOWN_PICTURE = re.compile(
    rf"!\[(?:(?P<own>[^\[\]\\`$<>\n]{{0,500}}\]\(\s*<?{_OWN}>?(?:\s+\"[^\"\n]{{0,200}}\")?\s*\))"
    r"|(?P<foreign>(?=[^\]\n]{0,500}\][(\[])))?"
)
_NOT_SHOWN = "*[a picture that cannot be shown]*"
_SCRIPT = re.compile(r"(?i)((?:java|vb|live)script)\s*:")
_PASTED = re.compile(
    rf"!\[[^\[\]\n]{{0,500}}\]\(\s*<?attachment:(?P<name>{_NAME})>?[^()\n]{{0,203}}\)"
    rf"|<img[^<>]{{0,300}}src=[\"']attachment:(?P<other>{_NAME})[\"'][^<>]{{0,300}}>"
)


def sanitize_notebook(notebook: NotebookNode, ours: set[str]) -> None:
    """Make a graded notebook safe to look at; cells whose text is in `ours` are our own."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [out for out in map(sanitize_output, cell.outputs) if out is not None]
            continue
        pictures = {
            name: images
            for name, data in cell.get("attachments", {}).items()
            if (images := _keep_images(data))
        }
        if "attachments" in cell:
            cell.attachments = pictures
        if cell.source not in ours:
            cell.source = _replace_dangling(sanitize_markdown(cell.source), pictures)


def sanitize_markdown(text: str) -> str:
    """Set a space after every `<` that opens a tag which could act: then it is only a sign.

    >>> sanitize_markdown("a<b, H<sub>2</sub>O, <script>")
    'a< b, H<sub>2</sub>O, < script>'
    """
    text = _FOREIGN.sub(_NOT_SHOWN, clean_text(text))
    text = _TAG.sub("< ", text)
    text = _MARKDOWN_PICTURE.sub(_keep_own_picture, text)
    for pattern in (_LINK, _DEFINITION):
        text = pattern.sub(_keep_safe_address, text)
    return _SCRIPT.sub(r"\1 :", text)


def _keep_own_picture(found: re.Match) -> str:
    """Return a picture that is part of the notebook as it stands, and any other as a link."""
    if found["own"]:
        return found.group()
    return f"{_NOT_SHOWN} [" if found["foreign"] is not None else "! ["


def _keep_safe_address(found: re.Match) -> str:
    """Return a link as it stands when its address can only lead to a page or a picture."""
    address = html.unescape(unquote(found["address"]))
    plain = re.sub(r"[\s\\<>]", "", address).lower()
    scheme = re.match(r"([^/?#:]*):", plain)
    if scheme is None or _SAFE_ADDRESS.match(plain):
        return found.group()
    return f"{found['before']}#not-a-link"


def _replace_dangling(text: str, pictures: dict) -> str:
    """Say in words where a pasted picture is missing: a page cannot be made with what is not there."""

    def check(found: re.Match) -> str:
        return found.group() if (found["name"] or found["other"]) in pictures else "*[a picture that is missing]*"

    return _PASTED.sub(check, text)


def sanitize_output(output) -> NotebookNode | None:
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
        data = _sanitize_data(output["data"])
        return nbformat.v4.new_output("display_data", data=data) if data else None
    except (KeyError, TypeError, AttributeError, ValueError):
        return None  # not an output of any kind we know


def _sanitize_data(data: dict) -> dict[str, str]:
    safe = _keep_images(data)
    for kind, value in data.items():
        text = _join(value)
        if kind == "text/plain":
            safe[kind] = _cut(text)
        elif kind in ("text/markdown", "text/latex"):
            safe[kind] = _replace_dangling(sanitize_markdown(_cut(text)), {})
        elif kind == "text/html" and len(text) <= LARGEST_IMAGE:
            safe[kind] = clean_html(text)
    return safe


def _keep_images(data: dict) -> dict[str, str]:
    texts = {kind: _join(value) for kind, value in data.items() if kind in _IMAGES}
    return {
        kind: text
        for kind, text in texts.items()
        if len(text) <= LARGEST_IMAGE and re.fullmatch(r"[\w+/=\s]*", text)
    }


def _join(text) -> str:
    return "".join(text) if isinstance(text, list) else str(text)


def _cut(text: str) -> str:
    text = clean_text(text, colours=True)
    return text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + "\n[...]"
