"""The write-up: all written answers and figures of the notebooks in order, as one PDF or web page."""

from __future__ import annotations

import base64
import html
import io
import math
import os
import re
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from course_utils.bounded import bounded
from course_utils.handing_in.handout import (
    Cell,
    StudentNotebook,
    digest,
    load_assignments,
    load_fact,
)
from course_utils.sanitize import clean_html

_BROWSERS = (
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
    "microsoft-edge", "msedge",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
)  # fmt: skip
_STYLE = """
@page { size: A4; margin: 18mm 20mm; }
body { font: 10.5pt/1.4 sans-serif; color: #111; max-width: 46em; margin: auto; }
section + section { break-before: page; }
h1 { font-size: 16pt; margin: 0 0 .4em; } h2 { font-size: 11pt; margin: 1em 0 .2em; }
p, ul, ol { margin: .3em 0; } figure { margin: .6em 0; break-inside: avoid; }
img.figure { max-width: 100%; max-height: 75mm; }
.given { display: inline-block; width: 49%; vertical-align: top; } .given img.figure { max-height: 55mm; }
figcaption { font-size: 8.5pt; color: #444; } .open { color: #a00; font-style: italic; }
table { border-collapse: collapse; font-size: 9pt; } td, th { border: 1px solid #999; padding: 1px 5px; }
pre, code { font-size: 8.5pt; white-space: pre-wrap; overflow-wrap: anywhere; }
"""
# To guess where pages cannot be counted. Figures of the notebook's own cells are shown two in a row.
_WORDS_A_PAGE, _FIGURES_A_PAGE, _GIVEN_A_PAGE = 550, 3, 8


@dataclass(frozen=True)
class Part:
    """One notebook's part of the write-up."""

    name: str
    title: str
    limit: int  # pages
    body: str  # HTML
    words: int
    figures: int
    given: int  # figures of cells that nobody changed


@dataclass(frozen=True)
class WriteUp:
    """The finished document: a PDF, or HTML where nothing here can print."""

    suffix: str  # ".pdf" or ".html"
    content: bytes
    pages: dict[str, int]  # by notebook
    is_guess: bool  # were the pages estimated, for want of a printer?


def make_parts(notebooks: Sequence[StudentNotebook]) -> list[Part]:
    """Return the written answers and figures of each notebook, in the assignment's order."""
    parts = []
    plans = {
        (known.name, name): plan
        for known in load_assignments().values()
        for name, plan in known.notebooks.items()
    }
    for (assignment, name), plan in plans.items():
        for notebook in notebooks:
            if (notebook.assignment, notebook.name) != (assignment, name):
                continue
            pieces, figures, given, words = [], 0, 0, 0
            for cell in notebook.cells:
                if cell.role == "answer":
                    pieces.append(_show_answer(cell, notebook))
                    words += len(cell.source.split())
                elif cell.kind == "code":
                    is_given = digest(cell.source) in plan.given
                    shown = list(_show_figures(cell)) if cell.kept or not is_given else []
                    if is_given:
                        given += len(shown)
                        pieces += [f'<div class="given">{figure}</div>' for figure in shown]
                    else:
                        figures += len(shown)
                        pieces += shown
            body = f"<section><h1>{html.escape(plan.title)}</h1>{''.join(pieces)}</section>"
            parts.append(Part(name, plan.title, plan.pages, body, words, figures, given))
    return parts


def make_document(parts: Sequence[Part]) -> str:
    """Return the parts as one page of HTML that needs no network."""
    title = html.escape(f"{load_fact('title')}: written answers and figures")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style></head><body>{''.join(part.body for part in parts)}</body></html>"
    )


def make_writeup(notebooks: Sequence[StudentNotebook]) -> WriteUp:
    """Print the write-up as a PDF with what is here; without a printer, return it as HTML."""
    parts = make_parts(notebooks)
    document = make_document(parts)
    printer = find_printer()
    if printer is not None:
        try:
            # Each part begins a page, so a part's pages are what it adds to those before it.
            pages, before, pdf = {}, 0, b""
            for count, part in enumerate(parts, 1):
                pdf = printer(document if count == len(parts) else make_document(parts[:count]))
                pages[part.name] = count_pages(pdf) - before
                before += pages[part.name]
            if pdf:
                return WriteUp(".pdf", pdf, pages, is_guess=False)
        except (OSError, subprocess.SubprocessError, ValueError):
            pass  # a browser that does not print here: HTML is as good
    guessed = {
        part.name: part.words / _WORDS_A_PAGE
        + part.figures / _FIGURES_A_PAGE
        + part.given / _GIVEN_A_PAGE
        for part in parts
    }
    pages = {name: max(1, math.ceil(count)) for name, count in guessed.items()}
    return WriteUp(".html", document.encode(), pages, is_guess=True)


# ------------------------------------------------------------------------- answers and figures


def _show_answer(cell: Cell, notebook: StudentNotebook) -> str:
    heading = f"<h2>{html.escape(cell.label[:1].upper() + cell.label[1:])}</h2>"
    if cell.is_open:
        return f'{heading}<p class="open">not written</p>'
    return heading + render_markdown(cell.source, _read_attachments(cell, notebook))


def _read_attachments(cell: Cell, notebook: StudentNotebook) -> dict[str, str]:
    """Return the pictures pasted into a cell, as addresses that hold the picture itself."""
    found = notebook.content["cells"][cell.number - 1].get("attachments")
    addresses = {}
    for name, kinds in (found if isinstance(found, dict) else {}).items():
        for kind, data in (kinds if isinstance(kinds, dict) else {}).items():
            if kind in ("image/png", "image/jpeg", "image/gif"):
                addresses[name] = f"data:{kind};base64,{_join(data)}"
    return addresses


def _show_figures(cell: Cell) -> Iterator[str]:
    """Yield the pictures and tables that a cell shows."""
    for output in cell.outputs:
        data = output.get("data")
        if not isinstance(data, dict):
            continue
        kind = next((k for k in ("image/png", "image/jpeg") if k in data), None)
        words = _join(data.get("text/plain", ""))
        page = _join(data.get("text/html", ""))
        if kind:
            alt = html.escape(words[:300], quote=True)
            image = re.sub(r"[^\w+/=]", "", _join(data[kind]))
            yield (
                f'<figure><img class="figure" alt="{alt}" src="data:{kind};base64,{image}"></figure>'
            )
        elif "<img" in page or "<table" in page:
            yield clean_html(page.replace("<img ", '<img class="figure" '))
        elif "|---" in _join(data.get("text/markdown", "")):
            yield render_markdown(_join(data["text/markdown"]), {})


def begin() -> None:
    """Import what setting a text needs, before its time is counted (`course_utils.bounded` calls this)."""
    import nbconvert.filters.markdown_mistune  # noqa: F401


def _show_plain(text: str, *_) -> str:
    words = "Setting this would have taken too long, so it is shown as it was typed."
    return f'<p class="open">{words}</p><pre>{html.escape(text[:20_000])}</pre>'


@bounded(instead=_show_plain)
def render_markdown(text: str, attachments: dict[str, str]) -> str:
    """Turn a written answer into HTML; formulas become pictures, or stay as they were typed."""
    from nbconvert.filters.markdown_mistune import markdown2html_mistune

    for name, address in attachments.items():
        text = text.replace(f"attachment:{name}", address)
    formulas: list[str] = []
    sign = secrets.token_hex(8)  # no answer holds what is drawn only now

    def set_aside(match: re.Match) -> str:
        formulas.append(match[1] or match[2])
        return f"{sign}x{len(formulas) - 1}x"

    text = re.sub(r"\$\$(.+?)\$\$|(?<![\\$\w])\$(?!\s)([^$\n]+?)(?<!\s)\$(?!\d)",
                  set_aside, text, flags=re.DOTALL)  # fmt: skip
    page = clean_html(markdown2html_mistune(text).replace("<img ", '<img class="figure" '))
    return re.sub(rf"{sign}x(\d+)x", lambda match: render_formula(formulas[int(match[1])]), page)


def render_formula(formula: str) -> str:
    """Draw a formula with matplotlib; what it cannot draw stays readable as TeX."""
    from matplotlib import mathtext
    from matplotlib.font_manager import FontProperties

    words = html.escape(formula.strip(), quote=True)
    try:
        buffer = io.BytesIO()
        depth = mathtext.math_to_image(
            f"${formula.strip()}$", buffer, FontProperties(size=11), dpi=300, format="png"
        )
    except Exception:  # its parser knows a part of TeX, and says so in many ways
        return f"<code>{words}</code>"
    height = int.from_bytes(buffer.getvalue()[20:24], "big") * 72 / 300  # from the PNG's header
    size = f"height:{height:.1f}pt;vertical-align:{-depth:.1f}pt"  # it sits on the line
    image = base64.b64encode(buffer.getvalue()).decode()
    return f'<img class="maths" style="{size}" alt="{words}" src="data:image/png;base64,{image}">'


def _join(text) -> str:
    return "".join(map(str, text)) if isinstance(text, list) else str(text)


# ------------------------------------------------------------------------------------ printing


def find_printer():
    """Return a function that turns HTML into a PDF, or None: a browser, else WeasyPrint."""
    for name in _BROWSERS:
        browser = shutil.which(name)
        if browser:
            return lambda document: _print_with_browser(browser, document)
    try:
        import weasyprint
    except (ImportError, OSError):  # installed, but not what it needs of the system
        return None
    return lambda document: weasyprint.HTML(string=document).write_pdf()


def _print_with_browser(browser: str, document: str) -> bytes:
    # A browser from a snap cannot read the system's temporary folder.
    home = Path.home() if "snap" in browser or "snap" in os.path.realpath(browser) else None
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0  # browsers refuse their sandbox then
    with tempfile.TemporaryDirectory(
        prefix="write-up-", dir=home, ignore_cleanup_errors=True
    ) as scratch:
        page, pdf = Path(scratch) / "write-up.html", Path(scratch) / "write-up.pdf"
        page.write_text(document, "utf-8")
        subprocess.run(
            [
                browser, *(["--no-sandbox"] if is_root else []),
                "--headless", "--disable-gpu", "--no-first-run",
                "--disable-background-networking", "--disable-component-update", "--disable-sync",
                f"--user-data-dir={Path(scratch) / 'profile'}", "--no-pdf-header-footer",
                f"--print-to-pdf={pdf}", page.as_uri(),
            ],
            check=True, timeout=120, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        content = pdf.read_bytes()
    if not content.startswith(b"%PDF"):
        raise ValueError("the browser printed something that is no PDF")
    return content


def count_pages(pdf: bytes) -> int:
    """Count a PDF's pages; raise ValueError where they cannot be seen."""
    from pypdf import PdfReader

    try:
        count = len(PdfReader(io.BytesIO(pdf)).pages)
    except Exception as problem:  # of a damaged file it raises whatever it likes
        raise ValueError(f"the PDF cannot be read: {problem}") from problem
    if count == 0:
        raise ValueError("no page was found")
    return count
