"""The class report: what it tells, that it keeps quiet about names, and how Chromium shows it."""

import os
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import nbformat
import pytest

from autograder.blueprint import load_blueprint
from autograder.course import load_assignment
from autograder.demo.cohort import make_cohort
from autograder.demo.personas import fill_in, make_class, solve_all
from autograder.reports.examples import make_anonymous
from autograder.reports.similarity import Work, find_pairs
from tests.autograder.classroom.classes import NOTEBOOK, grade_class
from tests.conftest import ROOT, run_autograder

pytestmark = pytest.mark.xdist_group("report")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
NASTY = "<script>document.title = 'stolen'</script><img src=x onerror=alert(1)>"
DESK = "http://localhost:8888/desk/attention"  # where it is while it runs on the same computer
LONG = (
    "The second key pulls the first one along, since a query that lies between both of them scores "
    "the two alike, and every other key falls far behind once the whole thing is scaled by ten."
)


@pytest.fixture(scope="module")
def folder(graded, tmp_path_factory):
    """Seven graded students: four of the demo's, two whose work is alike, and one who attacks."""
    folder = tmp_path_factory.mktemp("report") / "grading"
    shutil.copytree(graded[0], folder, symlinks=True)
    blueprint = load_blueprint(load_assignment("attention", ROOT), NOTEBOOK)
    right = solve_all(blueprint)
    odd = (
        "import torch\nmix = [0.5 * (K[0][i] + K[1][i]) for i in range(3)]\nk2_average_three = mix"
    )
    for student, name in (("mia", "mix"), ("noa", "blend")):
        codes = right | {"k2_average_three": odd.replace("mix", name)}
        notebook = fill_in(blueprint, codes, LONG)
        _write(folder, student, notebook)
    evil = fill_in(blueprint, right | {"q_select_first": f"raise ValueError({NASTY!r})"}, NASTY)
    evil.cells.append(nbformat.v4.new_code_cell(f"# {NASTY}"))
    _write(folder, "<b>mallory", evil)
    (folder / "roster.csv").write_text("student\nada\nben\nchloe\ndmitri\nmia\nzoe\n", "utf-8")
    grade_class(folder, notebooks=[NOTEBOOK])
    return folder


def _write(folder, student, notebook):
    place = folder / "submitted" / student / "attention"
    place.mkdir(parents=True)
    (place / f"{NOTEBOOK}.ipynb").write_text(nbformat.writes(notebook), "utf-8")


@pytest.fixture(scope="module")
def page(folder):
    done = run_autograder("report", "--write", COURSE_GRADING=str(folder))
    assert done.returncode == 0, done.stderr
    return (folder / "report.html").read_text("utf-8")


class Reader(HTMLParser):
    """Collects what a page links to and loads, and its text."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loads, self.tags, self.words = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        for name, value in attributes:
            if name == "href":
                self.links.append(value)
            elif name in ("src", "srcset", "data", "action", "background"):
                self.loads.append(value)
            assert not name.startswith("on"), (tag, name)

    def handle_data(self, data):
        self.words.append(data)


def test_the_report_tells_what_there_is_to_tell(page):
    text = re.sub(r"\s+", " ", " ".join(Reader(page).words))
    for words in (
        "7 students", "median", "Query crafting", "opposite sign", "answers wait for a person",
        "Work that is nearly the same", "What was repaired or flagged", "How long grading took",
        "was not handed in", "zoe has handed in nothing", "<b>mallory is not on the roster",
    ):  # fmt: skip
        assert words in text, words
    assert text.count("todo open") >= 4, "what ben left out"
    for words in ("The exercises side by side", "One of them, comments", "nothing read yet"):
        assert words in text, words
    assert DESK + "/progress" in Reader(page).links


def test_axes_have_whole_points(page):
    ticks = re.findall(r'font-size="13" fill="#525a66">([^<%]+)</text>', page)
    assert len(ticks) > 10 and all(tick.isdigit() for tick in ticks), ticks


def test_an_example_of_code_names_nobody():
    code = "def f(x):\n    'Written by ada.'\n    note = 'ada wrote this very long message'\n    return x  # ada"
    assert make_anonymous(code) == "def f(x):\n    note = '...'\n    return x"
    assert make_anonymous("def f(:") == "" and make_anonymous("x = 1\n" * 2000) == ""


def test_nothing_comes_from_the_network_and_nothing_of_a_students_acts(page):
    found = Reader(page)
    assert found.loads == [] and "@import" not in page and "url(" not in page
    assert found.tags.count("script") == 1 and "img" not in found.tags and "b" in found.tags
    assert NASTY not in page
    raised = page.index("cell raised")
    assert "&lt;script&gt;" in page[raised : raised + 600], page[raised : raised + 600]
    for link in found.links:
        assert link.startswith(DESK) or not re.match(r"\w+:|//", link), link


def test_links_lead_to_the_notebooks(page, folder):
    links = [link for link in Reader(page).links if not link.startswith(("#", DESK))]
    assert len(links) >= 7
    for link in links:
        assert (folder / unquote(link)).is_file(), link


def test_alike_work_is_shown_as_a_question(page):
    text = " ".join(Reader(page).words)
    assert re.search(r"Did\s+mia\s+and\s+noa\s+work on this together\?", text)
    assert "nothing here is a verdict" in text
    assert not re.search(r"ada\s+and\s+chloe", text), "short right answers are alike by nature"


def test_anonymous_leaves_every_name_out(folder, tmp_path):
    path = tmp_path / "anonymous.html"
    done = run_autograder("report", "--anonymous", "--output", path, COURSE_GRADING=str(folder))
    assert done.returncode == 0, done.stderr
    text = path.read_text("utf-8")
    for name in ("ada", "ben", "chloe", "dmitri", "mia", "noa", "mallory", "zoe", "stolen"):
        assert not re.search(rf"\b{name}\b", text), name
    assert "student 7" in text and all(link.startswith("#") for link in Reader(text).links)


def test_anonymous_names_no_file_either(graded, tmp_path):
    """People put their own names on files."""
    folder = tmp_path / "grading"
    shutil.copytree(graded[0], folder, symlinks=True)
    place = folder / "submitted" / "ada" / "attention"
    work = (place / f"{NOTEBOOK}.ipynb").read_text("utf-8")
    (place / f"Lovelace {NOTEBOOK}.ipynb").write_text(work.replace("q_select_first = ", "x = "))
    (folder / "submitted" / "eve" / "attention").mkdir(parents=True)
    (folder / "submitted" / "eve" / "attention" / "Lovelace.zip").write_bytes(b"no zip")
    grade_class(folder, notebooks=[NOTEBOOK])
    texts = []
    for options in ((), ("--anonymous",)):
        path = tmp_path / f"report{len(options)}.html"
        run_autograder("report", *options, "--output", path, COURSE_GRADING=str(folder))
        texts.append(path.read_text("utf-8"))
    assert "Lovelace.zip" in texts[0] and f"Lovelace {NOTEBOOK}" in texts[0]
    assert "Lovelace" not in texts[1]
    assert f"there are 2 versions of {NOTEBOOK}" in texts[1] and "not gradable" in texts[1]


def test_without_grades_there_is_a_sentence(tmp_path):
    done = run_autograder("report", COURSE_GRADING=str(tmp_path))
    assert done.returncode == 1 and "Nothing is graded yet" in done.stderr


# ---------------------------------------------------------------------------------- likeness


def test_renamed_copies_are_found_and_common_answers_are_not():
    common = "def f(x):\n    return x.softmax(-1) @ torch.ones(3, 3) + x.sum(dim=-1, keepdim=True)"
    own = (
        "total = 0\nfor row in data:\n    total += max(row) - min(row[::2]) ** 3 // len(row[1:])\n"
    )
    works = [Work(f"s{i}", "n", {"f": common, "answer_1": f"word{i} " * 30}) for i in range(10)]
    works.append(Work("one", "n", {"f": common, "g": own * 2}))
    works.append(Work("two", "n", {"f": common, "g": "# mine\n" + own.replace("row", "z") * 2}))
    (pair,) = find_pairs(works)
    assert {pair.one.student, pair.other.student} == {"one", "two"} and pair.cells == ["g"]
    assert find_pairs(works[:10]) == []
    copies = [Work(f"copy{n}", "n", works[10].cells) for n in range(5)]
    alike = {(pair.one.student, pair.other.student) for pair in find_pairs([*works[:10], *copies])}
    assert len(alike) == 10, "five copies are ten pairs: many of them do not make it usual"


@pytest.mark.parametrize(("cell", "honest"), [("answer_1", 3), ("f", 6)])
def test_lightly_edited_copies_are_found_however_many_there_are(cell, honest):
    """Words count even where most of the class copied; code does not, as most of a class is right."""

    def write(student, who, changed=None):
        words = [f"{who} + {j}" for j in range(40)]
        words[changed or 0] += f" + {student}"  # everybody changes another place
        return Work(student, "n", {cell: "total = " + " + ".join(words)})

    works = [write(f"s{i}", 1000 + i) for i in range(honest)]
    works += [write(f"copy{number}", "x", 8 * number) for number in range(5)]
    alike = {(pair.one.student, pair.other.student) for pair in find_pairs(works)}
    assert len(alike) == 10 and all(name.startswith("copy") for pair in alike for name in pair)


def test_a_made_up_class_is_the_same_for_a_seed_and_has_everything_in_it(assignment):
    blueprints = [load_blueprint(assignment, p.name) for p in assignment.notebooks]
    tracks = list(assignment.course.tracks)
    people = make_cohort(blueprints, 60, 7, tracks)
    again = make_cohort(blueprints, 60, 7, tracks)
    assert [(s.persona.name, s.persona.codes, s.answers) for s in people] == [
        (s.persona.name, s.persona.codes, s.answers) for s in again
    ]
    assert len({s.persona.name for s in people}) == 60
    assert make_cohort(blueprints, 60, 8, tracks)[0].persona.codes != people[0].persona.codes
    stories = " ".join(s.persona.story for s in people)
    for words in ("very like", "cut off", "metadata gone", "left a notebook out", "mistakes"):
        assert words in stories
    assert {s.track for s in people} == set(tracks)
    assert any(s.absent for s in people) and any(s.extension_days for s in people)
    right = sum(s.persona.codes == {**s.persona.codes, **solve_all(blueprints[0])} for s in people)
    assert right < 30, "not everybody is right"


def test_the_small_class_has_a_mistake_in_notebook_3(assignment):
    blueprints = [load_blueprint(assignment, p.name) for p in assignment.notebooks]
    right = solve_all(blueprints[-1])
    assert any(0 < sum(right[name] != p.codes.get(name) for name in right) < len(right)
               for p in make_class(blueprints))  # fmt: skip


# ---------------------------------------------------------------------------------- a browser


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield found
        found.close()


@pytest.mark.browser
@pytest.mark.parametrize(("name", "width"), [("desktop", 1200), ("phone", 360)])
def test_chromium_shows_the_report(browser, page, folder, name, width):
    requests = []
    view = browser.new_page(viewport={"width": width, "height": 900})
    view.on("request", lambda request: requests.append(request.url))
    errors = []
    view.on("pageerror", lambda error: errors.append(error))
    view.goto((folder / "report.html").as_uri())
    assert view.title().endswith("the class") and not errors
    assert requests and all(url.startswith("file:") for url in requests)
    assert view.evaluate("document.documentElement.scrollWidth") <= width, "nothing sticks out"
    figures = view.locator("svg[role=img]").all()
    assert figures
    for figure in figures:
        assert len(figure.get_attribute("aria-label")) > 30
        assert figure.bounding_box()["width"] > 200
    sizes = view.evaluate(
        "[...document.querySelectorAll('p, td, summary')].filter(e => e.innerText)"
        ".map(e => parseFloat(getComputedStyle(e).fontSize))"
    )
    assert min(sizes) >= 14
    shots = os.environ.get("COURSE_SCREENSHOTS")
    if shots:
        Path(shots).mkdir(parents=True, exist_ok=True)
        view.screenshot(path=Path(shots) / f"report-{name}.png", full_page=True)
    view.close()


@pytest.mark.browser
def test_the_report_can_be_used_by_keyboard_and_printed(browser, page, folder):
    view = browser.new_page(viewport={"width": 1000, "height": 900})
    view.goto((folder / "report.html").as_uri())
    view.keyboard.press("Tab")
    assert view.evaluate("document.activeElement.innerText") == "To the report"
    for _ in range(60):
        view.keyboard.press("Tab")
        if view.evaluate("document.activeElement.tagName") == "SUMMARY":
            break
    assert view.evaluate("document.activeElement.tagName") == "SUMMARY"
    view.keyboard.press("Enter")
    assert view.evaluate("document.activeElement.parentElement.open")
    outline = view.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    assert len(view.pdf()) > 10_000
    view.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert view.evaluate("[...document.querySelectorAll('details')].every(d => d.open)")
    view.close()
