"""What students write, as HTML that cannot act."""

import time
from html.parser import HTMLParser

import pytest

from autograder.marking.render import (
    TOO_MUCH,
    render_code,
    render_markdown,
    render_outputs,
)
from course_utils.sanitize import LARGEST_IMAGE

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PLAIN = {"title", "alt", "colspan", "rowspan", "start", "open", "class", "tabindex", "display", "alttext",
         "xmlns", "stretchy", "width", "src", "mathvariant"}  # fmt: skip


class Reader(HTMLParser):
    """Finds what a browser would take for a tag or an attribute that can act."""

    def __init__(self, page):
        super().__init__()
        self.acting = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        if tag in ("script", "style", "iframe", "svg", "object", "embed", "form", "input", "link", "a",
                   "meta", "base", "mglyph", "annotation-xml", "template"):  # fmt: skip
            self.acting.append(tag)
        for name, value in attributes:
            if name == "style" and not value:
                continue  # it had nothing to say that is allowed
            if name not in PLAIN or (name == "src" and not value.startswith("data:image/png")):
                self.acting.append(f"{tag} {name}={value}")

    handle_startendtag = handle_starttag


def find_acting(page):
    return Reader(page).acting


HOSTILE = {
    "script": "<script>alert(1)</script>",
    "style": "<style>* { display: none }</style>",
    "iframe": '<iframe src="https://example.org"></iframe>',
    "svg": "<svg onload=alert(1)><animate onbegin=alert(1)></svg>",
    "handler": '<b onclick="alert(1)">bold</b><img src=x onerror=alert(1)>',
    "style attribute": '<p style="position:fixed;inset:0">over everything</p>',
    "link": "[click](javascript:alert(1)) <a href='javascript:alert(1)'>here</a>",
    "remote picture": "![spy](https://example.org/spy.png)",
    "svg picture": "![x](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+)",
    "mathml": "<math><mtext></mtext><mglyph><style><!--</style><img title='--><img src=x onerror=alert(1)>'>",
    "maths with a link": r"$\href{javascript:alert(1)}{x}$",
    "maths with html": r"$\text{<img src=x onerror=alert(1)>}$",
    "half a tag": "<img src=x onerror=alert(1) ",
    "comment": "<!-- --!><script>alert(1)</script> -->",
    "code": "```\n<script>alert(1)</script>\n```",
    "table": "|<script>|b|\n|---|---|\n|<iframe>|d|",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_nothing_that_acts_comes_through(text):
    page = render_markdown(text)
    assert not find_acting(page), page
    page = render_outputs([{"output_type": "display_data", "data": {"text/html": text}},
                           {"output_type": "stream", "text": text}])  # fmt: skip
    assert not find_acting(page), page


def test_what_is_not_allowed_goes_and_the_words_around_it_stay():
    page = render_markdown("Before <script>alert(1)</script> and <form>after</form>, `<script>`.")
    assert "Before" in page and "after" in page and "alert(1)" not in page
    assert "&lt;script&gt;" in page, "in code it is only a word"


def test_plain_things_stay():
    page = render_markdown(
        "# Title\n\n*yes* and `code`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"
        f"<details><summary>Hint</summary>\n\nfolded\n\n</details>\n\n![p](data:image/png;base64,{PIXEL})"
    )
    for words in ("<h3>Title</h3>", "<em>yes</em>", "<td>1</td>", "<summary>Hint</summary>",
                  f'src="data:image/png;base64,{PIXEL}"'):  # fmt: skip
        assert words in page
    assert render_markdown("# T\n\n## U", headings=None).startswith("<h2>T</h2>\n<h3>U</h3>")


def test_attachments_are_shown():
    page = render_markdown("![p](attachment:a.png)", {"a.png": {"image/png": PIXEL}})
    assert f"base64,{PIXEL}" in page


def test_maths_becomes_mathml():
    page = render_markdown("With $q_1 \\cdot k$ and `$not$`, 5$ or 6$.\n\n$$\n\\frac{a}{b}\n$$")
    assert page.count("<math") == 2 and "<mfrac>" in page and 'display="block"' in page
    assert "<code>$not$</code>" in page and "5$ or 6$" in page


@pytest.mark.parametrize(
    "formula",
    [
        "$\\frac{$",
        "$\\left( x$",
        "$\\unknown x$",
        "$^$",
        "$" + "{" * 400 + "$",
        "$" + "x" * 5000 + "$",
    ],
    ids=["open", "left", "unknown", "lone", "deep", "long"],
)
def test_maths_that_breaks_is_shown_as_it_was_typed(formula):
    page = render_markdown(f"before {formula} after")
    assert "<math" not in page and "before" in page and "after" in page
    assert formula[:20] in page


@pytest.mark.parametrize(
    "text",
    [">" * 19_000, "[" * 19_000, "<b>" * 6_000, "<details>" * 2_000, "`" * 9_999 + "a", "&" * 19_000,
     "$x$ " * 4_000, "x" * 1_000_000, "\x00\ud800" * 500, "- " * 9_000, "$$a\n" * 4_999, "$$a\n" * 4_990 + "$$",
     "> $$a\n" * 3_000, "\\begin{align}\n" * 1_400, "\\(" * 9_999, ("$" + "\\left(" * 200 + "$ ") * 12],
    ids=["quotes", "brackets", "tags", "details", "ticks", "ands", "maths", "megabyte", "halves", "lists",
         "dollars", "closed late", "quoted dollars", "aligns", "round", "nested maths"],
)  # fmt: skip
def test_a_text_made_to_hurt_is_set_in_less_than_the_bound(text):
    started = time.process_time()
    page = render_markdown.__wrapped__(text)  # here: what it costs is the rules' own cost
    assert time.process_time() - started < 8
    assert TOO_MUCH not in render_markdown(text)
    assert page and not find_acting(page)
    page.encode()


def test_a_huge_picture_is_left_out():
    data = "A" * (LARGEST_IMAGE + 1)
    page = render_outputs([{"output_type": "display_data", "data": {"image/png": data}}])
    assert "cannot be shown" in page and len(page) < 1000


def test_outputs_that_are_none_are_left_out():
    odd = [None, 3, {}, {"output_type": "stream"}, {"output_type": "display_data", "data": []}]
    assert render_outputs(odd) == "" and render_outputs(None) == ""


def test_an_error_is_shown_without_its_colours():
    page = render_outputs(
        [{"output_type": "error", "traceback": ["\x1b[31mValueError\x1b[0m: <b>"]}]
    )
    assert "ValueError: &lt;b&gt;" in page and "\x1b" not in page


def test_code_is_coloured_by_class_alone():
    page = render_code("def f():\n    return '<script>'")
    assert "<script>" not in page and 'class="k"' in page and "style=" not in page


def test_what_takes_too_much_is_shown_as_plain_text():
    """Each picture is pasted a thousand times: gigabytes."""
    pictures = {"a": {"image/png": "A" * 4_000_000}}
    page = render_markdown("**before** " + "![p](attachment:a)" * 1_000, pictures)
    assert TOO_MUCH in page and "**before**" in page and len(page) < 100_000
    assert "<strong>" in render_markdown("**after**")


def test_display_maths_over_several_lines_and_in_quotes():
    page = render_markdown(
        "$$\nx\n$$\n\n> $$y\n> z$$\n\n\\begin{align}\na\n\\end{align}\n\nand \\(w\\)"
    )
    assert page.count("<math") == 4 and page.count('display="block"') == 3
    assert "<math" not in render_markdown("$$a\n\nwords that go on $$ here")
