"""What a student writes or shows does nothing on the pages that others open."""

import html
import re
from html.parser import HTMLParser
from urllib.parse import unquote

import nbformat
import pytest
from nbconvert.exporters import HTMLExporter
from nbgrader.server_extensions.formgrader import handlers
from traitlets.config import Config

from autograder.demo.personas import fill_in, solve_all
from autograder.grading.grade import grade_notebook
from autograder.grading.sanitize import sanitize_markdown, sanitize_notebook
from autograder.intake.restore import restore
from autograder.marking.render import render_markdown
from tests.test_browser import CHROMIUM, QUIET

pytestmark = pytest.mark.xdist_group("pages")

ACT = "document.title='PWNED'"
IN_MARKDOWN = [
    f"<script>{ACT}</script>",
    f'<img src="x" onerror="{ACT}">',
    f"\\`<script>{ACT}</script>\\`",
    f'<details open ontoggle="{ACT}">hello</details>',
    f"<svg onload={ACT}>",
    f'<iframe srcdoc="<script>parent.{ACT}</script>"></iframe>',
    f"<style onload={ACT}>a{{}}</style>",
    f'<img src="x"\nonerror="{ACT}">',
    f"<math><mtext><img src=x onerror={ACT}></math>",
    "\x1b[31mred\x1b[0m \x1b]0;PWNED\x07",
]
IN_OUTPUTS = f"""
from IPython.display import HTML, SVG, Javascript, Markdown, display
display(HTML("<script>{ACT}</script><img src=x onerror=\\"{ACT}\\"> <b>bold</b>"))
display(Javascript("{ACT}"))
display(Markdown("<script>{ACT}</script>"))
display(SVG("<svg xmlns='http://www.w3.org/2000/svg' onload=\\"{ACT}\\"></svg>"))
display({{"text/latex": "<script>{ACT}</script>", "text/plain": "x"}}, raw=True)
display({{"image/png": "x\\" onerror=\\"{ACT}"}}, raw=True)
print("\\x1b[31mred<script>{ACT}</script>\\x1b[0m")
raise ValueError("<script>{ACT}</script>")
"""


def make_hostile(blueprint):
    """Return a notebook that tries to act wherever a page shows something of a student's."""
    notebook = fill_in(blueprint, solve_all(blueprint) | {"q_select_first": IN_OUTPUTS})
    answer = next(cell for cell in notebook.cells if cell.id == "answer_1_2_3")
    answer.source += "\n" + "\n\n".join(IN_MARKDOWN)
    added = [nbformat.v4.new_markdown_cell(text) for text in IN_MARKDOWN]
    added.append(nbformat.v4.new_raw_cell(IN_MARKDOWN[0]))
    for cell in added:
        cell.metadata.update(tags=[f'"><script>{ACT}</script>'], raw_mimetype="text/html")
    added[0].attachments = {"a.png": {'image/png" onerror="': ACT, "image/png": f'"{ACT}'}}
    notebook.cells[4:4] = added
    notebook.metadata["title"] = f"</title><script>{ACT}</script>"
    return notebook


def render(notebook):
    """Render a notebook as the formgrader does."""
    settings = Config()
    settings.HTMLExporter.extra_template_basedirs = [handlers.template_path]
    settings.HTMLExporter.template_name = "formgrade"
    facts = {"base_url": "", "notebook_id": "notebook", "total": 1, "index": 0}
    return HTMLExporter(config=settings).from_notebook_node(notebook, resources=facts)[0]


@pytest.fixture(scope="module")
def graded(blueprint):
    """The hostile notebook after grading."""
    restored = restore(make_hostile(blueprint), blueprint)
    result = grade_notebook(restored, blueprint, None)
    return result, restored.notebook


def test_nothing_that_acts_is_left(graded):
    result, notebook = graded
    assert result.score == 10.0, "the other five items are right"
    page = render(notebook)
    body = page[page.index("<body") :]
    assert "PWNED" in body, "its words are still there to be read"
    for tag in ("<script>document", "<svg onload", "<iframe", "<img src=x", "<details open"):
        assert tag not in body
    assert "<b>bold</b>" in body


def test_words_and_signs_of_honest_answers_stay():
    text = "If $a<b$ then `x<y`; H<sub>2</sub>O, <br> <img src='attachment:fig(1).png' width=\"300\">, 1 < 2!"
    kept = text.replace("a<b", "a< b").replace("x<y", "x< y")
    assert sanitize_markdown(text) == kept


def test_tables_stay_and_do_nothing_else():
    table = '<table border="1" class="dataframe"><tr><th scope=row>a</th><td align="right">1</td></tr></table>'
    assert sanitize_markdown(table) == table
    for acting in ("<table onclick=x>", '<td style="position:fixed">', "<tr\nonmouseover=x>",
                   '<table class="x">', '<td width="1" onclick="x">', "<tablet>"):  # fmt: skip
        assert sanitize_markdown(acting) == acting.replace("<", "< ")


@pytest.mark.browser
def test_nothing_acts_in_a_browser(graded, blueprint, tmp_path):
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    titles = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        for name, notebook in (("as handed in", make_hostile(blueprint)), ("graded", graded[1])):
            path = tmp_path / f"{name}.html"
            path.write_text(render(notebook), "utf-8")
            page = browser.new_page()
            page.goto(path.as_uri())
            page.wait_for_timeout(500)
            titles[name] = page.title()
        browser.close()
    assert titles == {"as handed in": "PWNED", "graded": "notebook"}


# ------------------------------------------------------------------------- links and pictures

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
ACTING_LINKS = [
    f"[x](javascript:{ACT})", f"[x](  JavaScript:{ACT})", f"[x](<java\tscript:{ACT}>)",
    f"[x](javascript\\:{ACT})", f"[x](&#106;avascript:{ACT})", f"[x](javascript&colon;{ACT})",
    f"[x](\njavascript:{ACT})", f"[x]\n\n[x]: javascript:{ACT}", f"[x]\n\n> [x]: <javascript:{ACT}>",
    f"<javascript:{ACT}>", f"[x](vbscript:{ACT})", "[x](data:text/html,<script>1</script>)",
    f"![x](javascript:{ACT})", "[x](%6aavascript:1)", "[x](data:image/svg+xml;base64,AAAA)",
]  # fmt: skip


@pytest.mark.parametrize("text", ACTING_LINKS)
def test_a_link_cannot_act(text):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(text)])
    sanitize_notebook(notebook, ours=set())
    page = html.unescape(unquote(render(notebook).split("<body", 1)[1])).lower()
    addresses = re.findall(r"(?:href|src)\s*=\s*[\"']?\s*([a-z+\s]*:)", page)
    assert not {"javascript:", "vbscript:"} & {"".join(a.split()) for a in addresses}
    assert "data:text/html" not in str(re.findall(r"href=\S+", page))
    assert "svg+xml" not in str(re.findall(r"src=\S+", page))


AWAY = "https://spy.example/p.png"
FROM_ADDRESSES = [
    f"![x]({AWAY})", f"![x](<{AWAY}>)", f"![x]( {AWAY} 'words')", f"![x][r]\n\n[r]: {AWAY}",
    f"![r]\n\n[r]: {AWAY}", f"![r][]\n\n> [r]: <{AWAY}>", f"![a [b] c]({AWAY})", f"![a\nb]({AWAY})",
    f"![a\\](attachment:x.png)]({AWAY})", f"![a`](attachment:x.png)`]({AWAY})",
    f"![a$](attachment:x.png)$]({AWAY})", f"[![x](attachment:x.png)]({AWAY}) ![y]({AWAY})",
    f"<img src='{AWAY}'>", f"<IMG\nSRC={AWAY}>", f"<img alt='x' src=\"{AWAY}\" width='3'/>",
    "<img src='&#104;ttps://spy.example/p.png'>", "<img src='//spy.example/p.png'>", "![x](//spy.example/p)",
    f"<img srcset='{AWAY} 2x'>", f"<img src='attachment:x.png' src='{AWAY}'>", "![x](/formgrader/api/x)",
    f"<p style='background:url({AWAY})'>", f"<table background='{AWAY}'>", f"![x](data:image/png;base64,AA)![y]({AWAY})",
    f"\\![x]({AWAY})", f"!\\[x]({AWAY}) ![*x*]({AWAY})", f"$ ![x]({AWAY}) $", f"- ![x]({AWAY})",
]  # fmt: skip
IN_HTML = [
    f"<img src='{AWAY}'>", f"<b style=\"background: url('{AWAY}')\">x</b>", f"<table background={AWAY}>",
    f"<p style='color: u\\72l({AWAY})'>x</p>", f"<style>p {{ background: url({AWAY}) }}</style>",
    f"<div style='width: image-set(\"{AWAY}\" 1x)'>x</div>", f"<link rel=stylesheet href={AWAY}>",
    f"<video poster={AWAY}></video>", f"<svg><image href={AWAY}></svg>", f"<input type=image src={AWAY}>",
]  # fmt: skip


class Loading(HTMLParser):
    """Finds what a browser would ask for while it shows a page."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            words = re.sub(r"\\\\", "", value or "")
            if (tag != "a" and "spy.example" in words) or (name == "src" and "formgrader" in words):
                self.found.append((tag, name, value))


def show_in_formgrader(cells):
    notebook = nbformat.v4.new_notebook(cells=cells)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.attachments = {"x.png": {"image/png": PIXEL}}
    sanitize_notebook(notebook, ours=set())
    return render(notebook).split("<body", 1)[1]


@pytest.mark.parametrize("text", FROM_ADDRESSES)
def test_no_picture_is_fetched_from_an_address(text):
    output = nbformat.v4.new_output("display_data", data={"text/markdown": text})
    code = nbformat.v4.new_code_cell("", outputs=[output])
    page = show_in_formgrader([nbformat.v4.new_markdown_cell(text), code])
    assert Loading(page).found == []


@pytest.mark.parametrize("text", IN_HTML)
def test_no_output_fetches_anything(text):
    output = nbformat.v4.new_output("display_data", data={"text/html": text})
    page = show_in_formgrader([nbformat.v4.new_code_cell("", outputs=[output])])
    assert Loading(page).found == []


def test_a_picture_from_an_address_goes_as_on_feedback_pages():
    text = f"before ![a plot]({AWAY}) after"
    for page in (show_in_formgrader([nbformat.v4.new_markdown_cell(text)]), render_markdown(text)):
        assert "a picture that cannot be shown" in page and "after" in page
        assert not Loading(page).found
    pasted = (
        "![mine](attachment:x.png) ![m](attachment:x.png \"words\") <img src='attachment:x.png'>"
    )
    page = show_in_formgrader([nbformat.v4.new_markdown_cell(pasted)])
    assert page.count(PIXEL) >= 2 and "cannot be shown" not in page
    cell = nbformat.v4.new_markdown_cell("![m](attachment:a(1).png)")
    cell.attachments = {"a(1).png": {"image/png": PIXEL}}
    notebook = nbformat.v4.new_notebook(cells=[cell])
    sanitize_notebook(notebook, ours=set())
    assert PIXEL in render(notebook)
    assert sanitize_markdown("Yes! [so] x![0] 5![") == "Yes! [so] x! [0] 5! ["


def test_honest_links_stay():
    text = (
        "[a](https://a.org/b?c=d:e) [b](#part) [c](notes.txt) <https> "
        f"![d](data:image/png;base64,{PIXEL}) [e](mailto:a@b.c)\n\n[f]: http://x.org"
    )
    assert sanitize_markdown(text) == text.replace("<https>", "< https>")


def test_a_pasted_picture_survives_grading_and_a_missing_one_is_said(blueprint):
    notebook = fill_in(blueprint, solve_all(blueprint), "Words. ![mine](attachment:mine.png)")
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and "attachment:mine.png" in cell.source:
            cell.source += " ![gone](attachment:gone.png) <img src='attachment:gone.png'>"
            cell.attachments = {"mine.png": {"image/png": PIXEL, "image/svg+xml": "<svg/>"}}
    restored = restore(notebook, blueprint)
    sanitize_notebook(restored.notebook, {slot.release.source for slot in blueprint.slots})
    kept = [cell for cell in restored.notebook.cells if "attachments" in cell]
    assert kept and all(cell.attachments == {"mine.png": {"image/png": PIXEL}} for cell in kept)
    assert "attachment:gone" not in str(restored.notebook.cells)
    page = render(restored.notebook)
    assert f"data:image/png;base64,{PIXEL}" in page and "a picture that is missing" in page


def test_control_codes_do_not_leave():
    from autograder.grading.sanitize import sanitize_output
    from autograder.plain_text import clean_words

    shown = sanitize_output(
        {"output_type": "stream", "name": "stdout", "text": "\x1b]0;x\x07\x1b[31mred\ud800"}
    )
    assert shown.text == "]0;x\x1b[31mred", "colours stay, commands to a terminal do not"
    assert clean_words({"a\x07": ["\x1b[2J", 1, None]}) == {"a": ["[2J", 1, None]}
