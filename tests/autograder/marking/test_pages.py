"""The desk through HTTP: who gets in, what is shown, and that nothing on a page acts."""

import re
import shutil

import nbformat
import pytest

from autograder.course import load_assignment
from autograder.marking import pages
from autograder.marking.questions import find_questions
from autograder.marking.reading import make_code
from tests.autograder.marking.conftest import NOTEBOOK
from tests.autograder.marking.servers import Person, read_form, serving
from tests.autograder.marking.test_render import HOSTILE
from tests.conftest import ROOT

CELL = "answer_1_2_3"
QUESTION = f"/desk/attention/q/{NOTEBOOK}/{CELL}"


@pytest.fixture(scope="module")
def server(written_class, tmp_path_factory):
    """A desk with the class, one student of which wrote everything that could do harm."""
    folder = tmp_path_factory.mktemp("pages") / "grading"
    shutil.copytree(written_class, folder)
    path = folder / "autograded" / "student001" / "attention" / f"{NOTEBOOK}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    answers = [
        cell for cell in notebook.cells
        if cell.metadata.get("nbgrader", {}).get("grade_id", "").startswith("answer_1")
    ]  # fmt: skip
    texts = ["\n\n".join(HOSTILE.values()), "x" * 1_000_000, "$\\frac{$ ${{{$ $\\left($",
             f"![big](data:image/png;base64,{'A' * 5_000_000})", "<script>alert(1)</script>"]  # fmt: skip
    for cell, text in zip(answers, texts, strict=False):
        cell.source = text
    path.write_text(nbformat.writes(notebook), "utf-8")
    with serving(folder) as (address, _):
        yield address


@pytest.fixture(scope="module")
def person(server):
    return Person(server, "Ann")


def find_code(cell, student):
    assignment = load_assignment(root=ROOT)
    question = next(q for q in find_questions(assignment) if q.cell == cell)
    return make_code(assignment.name, question, student)


def list_addresses():
    """Return an example of every address the desk answers at, made from its own table."""
    code = find_code(CELL, "student002")
    parts = {
        "assignment": "attention", "notebook": NOTEBOOK, "cell": CELL, "code": code, "what": "keep",
        "key": "0" * 16, "page": "1",
    }  # fmt: skip
    found = []
    for pattern, handler in pages.ADDRESSES:
        path = re.sub(r"\(\?P<(\w+)>(?:[^()]|\([^()]*\))*\)", lambda m: parts[m[1]], pattern)
        path = path.replace(r"/([\w-]+\.(?:css|js))", "/desk.css").replace("/?", "")
        assert re.fullmatch(pattern, path), (pattern, path)
        found.append((path, handler))
    return found


def test_somebody_without_the_token_gets_nothing(server):
    addresses = list_addresses()
    assert len(addresses) == len(pages.ADDRESSES) >= 11
    stranger = Person(server)
    for path, handler in addresses:
        for wrong in ("", "?token=wrong"):
            status, page, url = stranger.get(path + wrong)
            assert status in (403, 405) or "/login" in url, path
            assert "student" not in page.replace("Student", "student") or "/login" in url, path
            assert "Mark scheme" not in page and "Marking as" not in page, path
        if handler.post is not pages.DeskHandler.post:
            status, page, _ = stranger.post(path, name="Eve", ticket="x")
            assert status == 403, path
            assert "Mark scheme" not in page, path


def test_a_forged_request_is_refused(server, person):
    takes_posts = [
        path for path, handler in list_addresses() if handler.post is not pages.DeskHandler.post
    ]
    assert len(takes_posts) >= 3
    for path in takes_posts:
        status, _, _ = person.post(path, forged=True)
        assert status == 403, path


def test_the_list_names_every_question(person):
    status, page, _ = person.get("/desk/attention")
    assert status == 200 and "Marking as <b>Ann</b>" in page
    assert page.count("all answers") >= 25 and "0 of 8" in page
    assert page.count("0 of 0</span>") == page.count("none yet") > 0 and "done<" not in page


def test_a_mark_is_saved_shown_and_undone(person):
    _, page, _ = person.get(QUESTION)
    form = read_form(page)
    status, page, url = person.post(
        form["action"], seen=form["seen"], view="blind", queue="open", ticket=form["ticket"],
        comment="Say <why>.", **{form["items"][0]: "1"},
    )  # fmt: skip
    assert status == 200 and "Saved: 1 point for the last answer." in page and "saved=" in url
    assert "Say &lt;why&gt;." in page, "offered for the next answer"
    status, page, _ = person.post(form["action"], seen=form["seen"], view="blind")
    assert status == 409 and "Nothing was saved" in page
    status, page, url = person.post("/desk/attention/undo")
    assert status == 200 and url.endswith(form["action"])
    assert "Saved" not in page


def test_a_made_up_batch_is_not_shown_as_saved(person):
    _, page, _ = person.get(f"{QUESTION}?saved={'0' * 32}")
    assert "Saved" not in page


@pytest.mark.parametrize("value", ["99", "nan", "-inf", "x", "1e999"])
def test_an_adjustment_that_is_none_is_refused(person, value):
    _, page, _ = person.get(QUESTION)
    form = read_form(page)
    status, page, _ = person.post(form["action"], seen=form["seen"], adjustment=value)
    assert status == 400 and "Nothing was saved" in page and "Traceback" not in page


@pytest.mark.parametrize(
    "path",
    ["/desk/nothing", f"/desk/attention/q/{NOTEBOOK}/answer_9", f"{QUESTION}/{'0' * 16}",
     "/desk/static/no.css", f"/desk/attention/q/..%2F..%2F/{CELL}"],
)  # fmt: skip
def test_what_is_not_there_gets_a_sentence(person, path):
    status, page, _ = person.get(path)
    assert status == 404 and "Traceback" not in page


def test_where_to_go_on_stays_within_the_desk(server, person):
    for target in ("https://example.org/desk/", "//example.org", "/lab", "/desk//example.org"):
        person.post("/desk/who", name="Ann", to=target)
        status, _, url = person.post("/desk/who", name="Ann", to=target)
        assert status == 200 and url.removeprefix(server).startswith("/desk"), target
    assert person.post("/desk/who", name=" ")[0] == 400


def test_untouched_answers_get_zero_in_one_step_and_can_be_taken_back(server):
    person = Person(server, "Zoe")
    _, page, _ = person.get("/desk/attention/blank")
    fields = dict(re.findall(r'name="(zero-\w+)" value="(\w+)" checked', page))
    assert len(fields) > 3
    status, page, _ = person.post("/desk/attention/blank", **fields)
    assert status == 200 and f"Saved: 0 points for {len(fields)} answers." in page
    status, page, _ = person.post("/desk/attention/blank", **fields)
    assert status == 409
    status, page, _ = person.post("/desk/attention/undo")
    assert f"{len(fields)} marks that were given together were taken back" in page


@pytest.mark.parametrize("cell", ["answer_1_2_1", "answer_1_2_2", "answer_1_2_3", "answer_1_3_1"])
def test_a_hostile_answer_is_shown_and_the_desk_goes_on(server, cell):
    person = Person(server, f"Marker of {cell}")
    code = find_code(cell, "student001")
    status, page, _ = person.get(f"/desk/attention/q/{NOTEBOOK}/{cell}/{code}")
    assert status == 200
    inner = page.split('aria-label="The student\'s answer">', 1)[1].split("</section>", 1)[0]
    assert not re.search(r"<(script|style|iframe|svg|form|a|input)\b", inner, re.IGNORECASE)
    assert not re.search(r"<[^>]+\son\w+=", inner) and len(inner) < 300_000
    assert person.get("/desk/attention")[0] == 200


def test_pages_forbid_everything_that_is_not_ours(server):
    import urllib.request

    person = Person(server, "Ann")
    with person._opener.open(urllib.request.Request(f"{server}{QUESTION}"), timeout=60) as answer:
        policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy
