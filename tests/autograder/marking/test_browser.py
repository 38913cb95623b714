"""Two people mark by keys alone in Chromium, and a screen reader's tree is checked by axe-core."""

import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from tests.autograder.marking.conftest import NOTEBOOK, marking_in
from tests.autograder.marking.servers import TOKEN, serving
from tests.conftest import run_nbgrader

pytestmark = [pytest.mark.browser, pytest.mark.long, pytest.mark.xdist_group("desk in a browser")]

GIVEN = [(("1",), "1"), (("1", "2"), "2"), (("2", "+"), "1.5"), (("1", "2", "-"), "1.5")]
ENOUGH = 40  # marks
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="module")
def desk_server(written_class, tmp_path_factory):
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium)")
    folder = tmp_path_factory.mktemp("browser") / "grading"
    shutil.copytree(written_class, folder)
    with serving(folder, extension="autograder.marking") as (address, _):
        yield address, folder


@pytest.fixture(scope="module")
def chromium():
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield found
        found.close()


def sit_down(chromium, address, name, width=1300):
    """Open the desk as a person with a name; return their page."""
    page = chromium.new_context(viewport={"width": width, "height": 900}).new_page()
    page.set_default_timeout(60_000)
    page.errors = []
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.on("console", lambda message: page.errors.append(message.text)
            if message.type == "error" else None)  # fmt: skip
    page.goto(f"{address}/desk/attention?token={TOKEN}")
    page.locator("input[name=name]:focus").wait_for()  # what is typed before would be lost
    page.keyboard.type(name)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="What is to be marked").wait_for()
    return page


def shoot(page, name):
    """Keep a screenshot where COURSE_SCREENSHOTS says, for a person to look at."""
    folder = os.environ.get("COURSE_SCREENSHOTS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(folder) / f"desk-{name}.png", full_page=True)


def check_accessibility(page):
    """Let axe-core look at the page as a screen reader gets it."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core is missing")
    found = axe.Axe().run(page)
    problems = [
        f"{problem['id']}: {problem['help']} ({problem['nodes'][0]['html'][:120]})"
        for problem in found.response["violations"]
    ]
    assert not problems, "\n".join(problems)


def find_link(page, address):
    """Return where the first answer of a list leads, within the assignment."""
    page.goto(address)
    return page.locator("table a").first.get_attribute("href").removeprefix("/desk/attention")


def mark_one(page, keys):
    """Press keys and save; return what the page then says."""
    for key in keys:
        page.keyboard.press(key)
    with page.expect_navigation():
        page.keyboard.press("Enter")
    return page.locator(".saved").inner_text()


def test_two_people_mark_at_once_by_keys_alone(desk_server, chromium):
    address, folder = desk_server
    people = [sit_down(chromium, address, name) for name in ("Ann", "Bob")]
    questions = ["answer_1_2_1", "answer_1_2_2", "answer_1_2_3", "answer_1_3_1", "answer_1_3_2",
                 "answer_1_3_3", "answer_1_4_1", "answer_1_4_2", "answer_1_4_3"]  # fmt: skip
    database = sqlite3.connect(folder / "gradebook.db")
    count = "select count(*) from grade where manual_score is not null"
    saved, marked = 0, 0
    for cell in questions:
        if marked >= ENOUGH:
            break
        for page in people:
            page.goto(f"{address}/desk/attention/q/{NOTEBOOK}/{cell}")
        while marked < ENOUGH:
            waiting = [page for page in people if page.locator("#mark").count()]
            if not waiting:
                break
            for page in waiting:
                keys, worth = GIVEN[saved % len(GIVEN)]
                said = mark_one(page, keys)
                assert said.startswith(f"Saved: {worth} point"), (keys, said)
                saved += 1
            (marked,) = database.execute(count).fetchone()
    assert marked >= ENOUGH and not people[0].errors and not people[1].errors
    # Every mark is in the gradebook once; a second reader's, given without knowing, is beside it.
    records = "select count(*), sum(score), count(distinct code) from desk_mark where kind = 'mark'"
    grades = database.execute(
        "select count(*), sum(manual_score), count(*) from grade where manual_score is not null"
    ).fetchone()
    assert grades == database.execute(records).fetchone()
    assert (saved,) == database.execute("select count(*) from desk_mark").fetchone()
    markers = database.execute("select distinct marker from desk_mark order by 1").fetchall()
    assert markers == [("Ann",), ("Bob",)]
    database.close()
    shoot(people[0], "two-people")
    check_what_nbgrader_shows(folder)


def check_what_nbgrader_shows(folder):
    """Exports and feedback have every mark."""
    database = sqlite3.connect(folder / "gradebook.db")
    (total,) = database.execute("select sum(manual_score) from grade").fetchone()
    by_hand = database.execute(
        "select s.student_id, b.name, g.manual_score from grade g join base_cell b on b.id = g.cell_id "
        "join submitted_notebook n on n.id = g.notebook_id "
        "join submitted_assignment s on s.id = n.assignment_id where g.manual_score is not null "
        "order by s.student_id limit 1"
    ).fetchone()
    automatic = database.execute(
        "select sum(g.auto_score) from grade g where g.manual_score is null and auto_score > 0"
    ).fetchone()[0]
    database.close()
    target = folder / "export.csv"
    done = run_nbgrader("export", f"--to={target}", COURSE_GRADING=str(folder))
    assert done.returncode == 0, done.stderr
    lines = [line.split(",") for line in target.read_text().splitlines()]
    column = lines[0].index("raw_score")
    assert sum(float(line[column]) for line in lines[1:]) == pytest.approx(total + automatic)
    student, cell, score = by_hand
    done = run_nbgrader(
        "generate_feedback", "attention", "--student", student, COURSE_GRADING=str(folder)
    )
    assert done.returncode == 0, done.stderr
    page = (folder / "feedback" / student / "attention" / f"{NOTEBOOK}.html").read_text("utf-8")
    name = cell.removeprefix("answer_").replace("_", ".")
    assert f'Answer {name}</a>\n<span class="points">{score:g} of 2' in page
    text = page.replace(".html", "")
    assert "Marking as" not in text and "Ann" not in text, "students do not see who marked"


def test_formgrader_shows_the_same_marks(desk_server, chromium):
    _, folder = desk_server
    database = sqlite3.connect(folder / "gradebook.db")
    notebook, cell, score = database.execute(
        "select g.notebook_id, b.name, g.manual_score from grade g join base_cell b on b.id = g.cell_id "
        "where g.manual_score is not null order by g.manual_score limit 1"
    ).fetchone()
    database.close()
    with serving(folder, extension="nbgrader.server_extensions.formgrader") as (address, _):
        login = {"Authorization": f"token {TOKEN}"}  # its pages set no cookie
        page = chromium.new_context(extra_http_headers=login).new_page()
        page.set_default_timeout(60_000)
        # Its page asks for MathJax from the network, which a test has not.
        page.route(lambda url: not url.startswith(address), lambda route: route.abort())
        page.add_init_script(
            "window.MathJax = {Hub: {Startup: {signal: {Interest() {}}}, Config() {}, Queue() {}}}"
        )
        page.goto(f"{address}/formgrader/submissions/{notebook}/")
        given = page.locator(f"input.score[id='{cell}']")
        given.first.wait_for()
        shoot(page, "formgrader")
        for _ in range(300):  # a minute
            if given.first.input_value():
                break
            page.wait_for_timeout(200)
        assert float(given.first.input_value()) == score
        page.close()


def test_a_screen_reader_finds_its_way_on_every_page(desk_server, chromium):
    address, _ = desk_server
    page = sit_down(chromium, address, "Dora")
    base = f"{address}/desk/attention"
    for name, path in (
        ("list", ""), ("progress", "/progress"), ("blank", "/blank"),
        ("answers", f"/q/{NOTEBOOK}/answer_1_2_3/answers"),
        ("nothing", f"/q/{NOTEBOOK}/answer_1_2_1"),
        ("answer", find_link(page, f"{base}/q/{NOTEBOOK}/answer_1_4_1/answers")),
        ("missing", "/q/nothing/here"),
    ):  # fmt: skip
        page.goto(base + path)
        check_accessibility(page)
        shoot(page, name)
    page.goto(f"{address}/desk/who")
    check_accessibility(page)


@pytest.mark.parametrize("width", [1300, 391])
def test_an_answer_can_be_marked_with_the_tab_key_alone(desk_server, chromium, width):
    """Without any of our single keys: Tab, Space and Enter reach everything."""
    address, _ = desk_server
    page = sit_down(chromium, address, f"Eve {width}", width)
    blank = page.goto(f"{address}/desk/attention/q/{NOTEBOOK}/answer_1_4_3/answers")
    assert blank.ok
    links = page.locator("table a")
    (links.first if width > 1000 else links.last).click()
    page.locator("#mark").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "nothing sticks out"
    reached = set()
    for _ in range(80):
        page.keyboard.press("Tab")
        reached.add(page.evaluate(
            "(e => e.id || e.name || e.dataset.key || e.dataset.quote || e.tagName)"
            "(document.activeElement)"
        ))  # fmt: skip
        if page.evaluate("document.activeElement.dataset.item === '1'"):
            was = page.evaluate("document.activeElement.checked")
            page.keyboard.press("Space")
            assert page.evaluate("document.activeElement.checked") is not was
    assert {"adjustment", "comment", "save", "n", "u", "h", "SUMMARY"} <= reached, reached
    shoot(page, f"tab-{width}")
    page.locator("#save").focus()
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert page.locator(".saved").inner_text().startswith("Saved")
    assert not page.errors


def test_comments_are_offered_while_typing_and_taken_by_key(desk_server, chromium):
    address, _ = desk_server
    page = sit_down(chromium, address, "Finn")
    page.goto(f"{address}/desk/attention/q/{NOTEBOOK}/answer_1_4_2/answers")
    links = page.locator("table a").evaluate_all("links => links.map(link => link.href)")
    page.goto(links[0])
    page.keyboard.press("c")
    page.keyboard.type("Which length?")
    with page.expect_navigation():
        page.keyboard.press("Control+Enter")
    page.goto(links[1])
    page.keyboard.press("Shift+Digit1")
    assert "dot product is largest" in page.locator("#comment").input_value()
    page.locator("#comment").fill("")
    page.keyboard.press("Escape")
    page.keyboard.press("c")
    page.keyboard.type("which")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.locator("#comment").input_value() == "Which length?"
    page.keyboard.press("Escape")
    page.keyboard.press("1")
    assert page.locator("#sum").inner_text() in ("1", "0"), "keys work again outside the field"
    page.keyboard.press("0")
    assert page.locator("#sum").inner_text() == "0"


def test_nothing_in_a_hostile_answer_acts(desk_server, chromium):
    import nbformat

    from tests.autograder.marking.test_render import HOSTILE

    address, folder = desk_server
    path = folder / "autograded" / "student002" / "attention" / f"{NOTEBOOK}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "answer_1_3_3":
            cell.source = "\n\n".join(HOSTILE.values())
    path.write_text(nbformat.writes(notebook), "utf-8")
    page = sit_down(chromium, address, "Gus")
    page.wait_for_timeout(2500)  # the desk looks at files every two seconds
    asked, dialogs = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.goto(f"{address}/desk/attention/q/{NOTEBOOK}/answer_1_3_3/answers?names=1")
    page.get_by_role("link", name="student002").click()
    page.locator("#mark").wait_for()
    said = page.locator(".text").inner_text()  # as text, or not at all
    assert "over everything" in said and "<script>alert(1)</script>" in said
    assert page.locator(".text script, .text iframe, .text style, .text svg, .text a").count() == 0
    assert not dialogs and all(url.startswith(address) or url.startswith("data:") for url in asked)
    shoot(page, "hostile")


def test_a_closed_page_gives_its_answer_back(desk_server, chromium):
    address, folder = desk_server
    page = sit_down(chromium, address, "Hal")
    page.goto(f"{address}/desk/attention/q/3_finetune_roberta/answer_q4_4")
    page.goto(f"{address}/desk/attention/q/{NOTEBOOK}/answer_1_4_1/answers")
    page.locator("table a").last.click()  # somebody else may still have the first one open
    page.locator("#mark").wait_for()
    count = "select count(*) from desk_lease where marker = 'Hal'"
    with marking_in(folder):
        book = sqlite3.connect(folder / "gradebook.db")
        held = book.execute("select marker, code, until from desk_lease").fetchall()
        assert book.execute(count).fetchone() == (1,), (page.url, held)
        page.goto(f"{address}/desk/attention")
        for _ in range(600):  # a minute, on a busy machine
            if sqlite3.connect(folder / "gradebook.db").execute(count).fetchone() == (0,):
                break
            page.wait_for_timeout(100)
        assert sqlite3.connect(folder / "gradebook.db").execute(count).fetchone() == (0,)


def test_jupyterlab_has_a_card_that_opens_the_desk(written_class, chromium, tmp_path):
    shutil.copytree(written_class, tmp_path / "grading")
    with serving(tmp_path / "grading", lab=True) as (address, _):
        page = chromium.new_context(viewport={"width": 1300, "height": 900}).new_page()
        page.set_default_timeout(120_000)
        page.goto(f"{address}/lab?reset&token={TOKEN}")
        card = page.locator(".jp-LauncherCard", has_text="Marking desk")
        card.wait_for()
        card.locator("svg").wait_for()
        shoot(page, "launcher")
        with page.expect_popup() as opened:
            card.click()
        desk = opened.value
        desk.get_by_role("link", name="Attention and transformers").click()
        desk.get_by_role("heading", name="Who is marking?").wait_for()
        page.context.close()
