"""Markdown, maths, code and outputs as HTML that cannot act, made on the server.

Everything passes through one allow-list, our own texts included. What is not on it is shown as
text. One cell takes at most two seconds of the processor, in a process of its own. Maths becomes MathML, which browsers draw without a script; maths that cannot be read is shown
as it was typed. There are no links: an address is shown as words.
"""

from __future__ import annotations

import html
import json
import re
import secrets
import xml.etree.ElementTree as ElementTree
from bisect import bisect_left
from functools import lru_cache

from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from course_utils import sanitize
from course_utils.bounded import bounded

LONGEST = 20_000  # characters that are set as markdown; longer texts are shown as they are
TOO_MUCH = "Setting this would have taken too long, so it is shown as plain text."
_LONGEST_MATHS, _MOST_MATHS = 1_500, 200
_IMAGES = ("image/png", "image/jpeg", "image/gif")
_MATHS_TAGS = {
    "math", "mrow", "mi", "mn", "mo", "ms", "mtext", "mspace", "msub", "msup", "msubsup", "munder",
    "mover", "munderover", "mfrac", "msqrt", "mroot", "mtable", "mtr", "mtd", "mstyle", "mphantom",
    "mpadded", "menclose", "mmultiscripts",
}  # fmt: skip
_MATHS_ATTRIBUTES = {
    "display", "mathvariant", "stretchy", "fence", "form", "separator", "accent", "accentunder",
    "columnalign", "rowspacing", "columnspacing", "linethickness", "minsize", "maxsize", "width",
    "lspace", "rspace", "movablelimits", "symmetric", "largeop", "notation", "displaystyle",
}  # fmt: skip
ElementTree.register_namespace("", "http://www.w3.org/1998/Math/MathML")
_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")


def _show_plain(text, *_) -> str:
    """Return what stands on a page where setting a text would take too long."""
    plain = text if isinstance(text, str) else json.dumps(text, indent=1)
    return f'<p class="soft">{TOO_MUCH}</p>{render_plain(plain)}'


@bounded(instead=_show_plain)
def render_markdown(text: str, attachments: dict | None = None, headings: int | None = 3) -> str:
    """Return markdown as safe HTML; its largest heading becomes <h`headings`>.

    With None, headings keep their order: a notebook's # is <h2> below the page's own title.
    """
    text = clean_text(text)
    if len(text) > LONGEST:
        return render_plain(text)
    for name, data in (attachments or {}).items():
        for kind in _IMAGES:
            if isinstance(data, dict) and isinstance(data.get(kind), str):
                text = text.replace(f"(attachment:{name})", f"(data:{kind};base64,{data[kind]})")
    try:
        return _render(text, headings)
    except Exception:  # whatever a hostile text does to a parser, the page goes on
        return render_plain(text)


def render_inline(text: str) -> str:
    """Return one line of markdown without its paragraph."""
    return render_markdown(text).strip().removeprefix("<p>").removesuffix("</p>")


def render_plain(text: str, longest: int = LONGEST) -> str:
    """Return text as it was typed."""
    text = clean_text(text)
    cut = f"\n[... {len(text) - longest:,} more characters]" if len(text) > longest else ""
    return f'<pre class="plain" tabindex="0">{html.escape(text[:longest] + cut)}</pre>'


@bounded(instead=_show_plain)
def render_code(text: str) -> str:
    """Return Python code with its words coloured by class."""
    text = clean_text(text)
    if len(text) > LONGEST:
        return render_plain(text)
    return highlight(text, PythonLexer(), HtmlFormatter(cssclass="code", nowrap=False))


@bounded(instead=_show_plain)
def render_outputs(outputs: list) -> str:
    """Return a cell's outputs as safe HTML."""
    return "".join(part for part in map(_render_output, outputs or []) if part)


def clean_text(text) -> str:
    """Return text that any database and any browser takes: no NUL, no half characters."""
    joined = "".join(map(str, text)) if isinstance(text, list) else str(text or "")
    return joined.replace("\x00", "").encode("utf-8", "replace").decode()


def clean_html(text: str) -> str:
    """Let through what is on the allow-list, and say where a picture had to go."""
    return re.sub(
        r"<img(?![^>]*\ssrc=)[^>]*>",
        "<em>[a picture that cannot be shown]</em>",
        sanitize.clean_html(text),
    )


# --------------------------------------------------------------------------------- markdown


def _render(text: str, headings: int | None) -> str:
    parser = _make_parser()
    environment: dict = {}
    tokens = parser.parse(text, environment)
    levels = [int(token.tag[1]) for token in tokens if token.type == "heading_open"]
    shift = 1 if headings is None else headings - min(levels, default=headings)
    sign = secrets.token_hex(8)  # what a text cannot have guessed
    formulas: list[str] = []

    def place(token) -> str:
        if len(formulas) >= _MOST_MATHS:
            return html.escape(token.markup)
        formulas.append(render_maths(token.content, token.meta["block"], token.markup))
        return f"{sign}-{len(formulas) - 1}-"

    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, max(1, int(token.tag[1]) + shift))}"
        if token.type == "maths":
            token.type, token.content = "html_block", f"<p>{place(token)}</p>"
        for child in token.children or []:
            if child.type == "maths":
                child.type, child.content = "html_inline", place(child)
    cleaned = clean_html(parser.renderer.render(tokens, parser.options, environment))
    return re.sub(rf"{sign}-(\d+)-", lambda found: formulas[int(found[1])], cleaned)


@lru_cache(maxsize=1)
def _make_parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": True, "maxNesting": 30})
    parser.enable(["table", "strikethrough"])
    parser.validateLink = lambda address: True  # addresses are only shown, pictures are checked
    parser.inline.ruler.before("escape", "maths", _read_inline_maths)
    parser.block.ruler.before("fence", "maths", _read_block_maths, {"alt": ["paragraph"]})
    parser.add_render_rule("link_open", lambda *_: "<u>")
    parser.add_render_rule("link_close", _close_link)
    return parser


def _close_link(renderer, tokens, index, options, environment) -> str:
    depth = 0
    for token in reversed(tokens[: index + 1]):
        depth += (token.type == "link_close") - (token.type == "link_open")
        if depth == 0:
            address = str(token.attrs.get("href", ""))
            return f"</u> <code>{html.escape(address[:200])}</code>"
    return "</u>"


_INLINE = re.compile(
    r"(\$\$)(?P<block>[^$]+)\$\$|\$(?P<inline>(?! )[^$\n]*[^$\s\\])\$(?!\d)"
    r"|\\\((?P<round>(?:[^\\\n]|\\[^()\n])+)\\\)"
)
_OPENING = re.compile(r"\$\$|\\begin\{(align|equation|gather|cases|matrix)\*?\}")


def _read_inline_maths(state: StateInline, silent: bool) -> bool:
    found = _INLINE.match(state.src, state.pos)
    if not found or (state.pos > 0 and state.src[state.pos - 1] == "\\"):
        return False
    if not silent:
        token = state.push("maths", "", 0)
        token.content = found["block"] or found["inline"] or found["round"]
        token.meta, token.markup = {"block": found["block"] is not None}, found[0]
    state.pos = found.end()
    return True


def _read_block_maths(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Take lines from an opening to the next closing, which has to end its line.

    One look for the closing per opening: a text may consist of openings.
    """
    begin = state.bMarks[start] + state.tShift[start]
    opening = _OPENING.match(state.src, begin)
    if not opening:
        return False
    closing = "$$" if opening[0] == "$$" else f"\\end{{{opening[0][7:-1]}}}"
    place = state.src.find(closing, opening.end(), state.eMarks[end - 1])
    if place < 0:
        return False
    line = bisect_left(state.eMarks, place, start, end)
    if state.src[place + len(closing) : state.eMarks[line]].strip():
        return False
    if silent:
        return True
    text = state.getLines(start, line + 1, state.tShift[start], False).strip()
    token = state.push("maths", "", 0)
    token.content = text[2:-2] if closing == "$$" else text
    token.meta, token.markup = {"block": True}, text
    state.line = line + 1
    return True


# ------------------------------------------------------------------------------------ maths


@lru_cache(maxsize=4096)
def render_maths(source: str, block: bool = False, typed: str | None = None) -> str:
    """Return MathML, or what was typed where it cannot be read."""
    shown = f'<code class="maths">{html.escape(typed or source)}</code>'
    if len(source) > _LONGEST_MATHS or source.count("{") > 150 or not source.strip():
        return shown
    try:
        made = convert(source.strip(), display="block" if block else "inline")
        tree = ElementTree.fromstring(made)
        _check_maths(tree)
    except Exception:  # the converter raises whatever it likes, RecursionError included
        return shown
    tree.set("alttext", source.strip())
    return ElementTree.tostring(tree, encoding="unicode")


def _check_maths(tree: ElementTree.Element) -> None:
    for node in tree.iter():
        tag = node.tag.rpartition("}")[2]
        if tag not in _MATHS_TAGS:
            raise ValueError(f"<{tag}> is not for maths")
        for name in list(node.attrib):
            if name not in _MATHS_ATTRIBUTES:
                del node.attrib[name]
        # A command that the converter does not know comes out as its own name.
        if (node.text or "").startswith("\\") and len(node.text) > 1:
            raise ValueError(f"{node.text} is not known")


# ---------------------------------------------------------------------------------- outputs


def _render_output(output) -> str:
    try:
        kind = output["output_type"]
        if kind == "stream":
            return render_plain(_strip_colours(clean_text(output["text"])), 8_000)
        if kind == "error":
            lines = "\n".join(clean_text(line) for line in output.get("traceback", []))
            return render_plain(_strip_colours(lines), 8_000)
        return _render_data(output["data"])
    except (KeyError, TypeError, AttributeError):
        return ""


def _render_data(data: dict) -> str:
    if "text/html" in data and len(clean_text(data["text/html"])) <= sanitize.LARGEST_IMAGE:
        return f'<div class="out">{clean_html(clean_text(data["text/html"]))}</div>'
    for kind in _IMAGES:
        if kind in data:
            address = f"data:{kind};base64,{clean_text(data[kind]).strip()}"
            words = html.escape(clean_text(data.get("text/plain", ""))[:300] or "a figure")
            return (
                f'<div class="out">{clean_html(f"""<img alt="{words}" src="{address}">""")}</div>'
            )
    if "text/markdown" in data:
        return f'<div class="out">{render_markdown(clean_text(data["text/markdown"]))}</div>'
    return render_plain(clean_text(data["text/plain"]), 8_000) if "text/plain" in data else ""


def _strip_colours(text: str) -> str:
    return _ANSI.sub("", text)
