"""Answers that stand in a PDF of the student's own: never a silent 0, shown at the desk, found again."""

import json
import os
import re
import shutil
import urllib.request

import pytest

from autograder.marking.desk import Desk, Judgement, Place
from autograder.marking.progress import measure_progress
from tests.autograder.intake.latex import make_writeup
from tests.autograder.marking.conftest import NOTEBOOK, marking_in
from tests.autograder.marking.servers import Person, read_form, serving
from tests.autograder.marking.test_browser import (
    check_accessibility,
    chromium,  # noqa: F401
    shoot,
    sit_down,
)


def hand_in(folder, student, name="jane doe.pdf", content=None):
    """Put a write-up beside what a student handed in, as if it had been graded together."""
    place = folder / "submitted" / student / "attention" / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content or make_writeup("1.4.1 The scores\ngrow.", "Page two", "Page three"))
    os.utime(folder / "autograded" / student / "attention" / f"{NOTEBOOK}.ipynb")
    return place


@pytest.fixture
def blank(desk):
    """An answer that was left untouched."""
    return next(x for x in desk.read_answers() if x.state == "untouched" and x.status == "blank")


def look_again(desk, answer):
    desk.refresh(at_least=0)
    question = desk.find_question(answer.notebook, answer.cell)
    return question, desk.find_answer(question, answer.code)


def test_a_bare_cell_beside_a_pdf_is_elsewhere(desk, blank, grading):
    others = {x.code: x.status for x in desk.read_answers() if x.student != blank.student}
    hand_in(grading, blank.student)
    question, answer = look_again(desk, blank)
    assert (answer.state, answer.status) == ("elsewhere", "elsewhere")
    mine = [x for x in desk.read_answers() if x.student == blank.student]
    assert "blank" not in {x.status for x in mine} and "open" in {x.status for x in mine}
    assert others == {x.code: x.status for x in desk.read_answers() if x.student != blank.student}
    served = set()
    while (found := desk.find_next(question, "ann")) and found[0].code not in served:
        served.add(found[0].code)
        desk.give(question, "ann", Judgement(), {found[0].code: found[0].seen})
    assert blank.code in served, "it comes up to be read like any other"
    assert desk.find_answer(question, blank.code).status == "marked"
    entry = next(e for e in measure_progress(desk) if e.question is question)
    assert entry.counts["elsewhere"] == 0


def test_what_submit_prints_makes_no_difference(desk, blank, grading):
    import hashlib

    content = make_writeup("the same answers")
    place = hand_in(grading, blank.student, "write-up.pdf", content)
    digest = hashlib.sha256(content).hexdigest()
    record = {"files": {"write-up.pdf": {"sha256": digest}}}
    (place.parent / "manifest.json").write_text(json.dumps(record))
    assert look_again(desk, blank)[1].status == "blank"


def test_a_new_version_of_the_pdf_is_read_again(desk, blank, grading):
    hand_in(grading, blank.student)
    question, answer = look_again(desk, blank)
    desk.give(question, "ann", Judgement(), {answer.code: answer.seen})
    assert look_again(desk, blank)[1].status == "marked"
    hand_in(grading, blank.student, content=make_writeup("another one"))
    assert look_again(desk, blank)[1].status == "changed"


def test_a_place_is_kept_shown_again_and_taken_back(desk, blank, grading):
    hand_in(grading, blank.student)
    answer = look_again(desk, blank)[1]
    (writeup,) = desk.find_writeups(answer)
    assert desk.find_place(answer) is None
    desk.put_place(answer, Place(writeup.key, 3, "ann"))
    desk.put_place(answer, Place(writeup.key, 2, "bob"))
    with marking_in(grading) as assignment:
        again = Desk(assignment)
        assert again.find_place(answer) == (writeup.key, 2, "bob")
        again.close()
    desk.put_place(answer, None)
    assert desk.find_place(answer) is None


# --------------------------------------------------------------------------- through a server


@pytest.fixture(scope="module")
def seated(written_class, tmp_path_factory):
    """A desk with one student whose answers are in a PDF; the address, and that student's answer."""
    folder = tmp_path_factory.mktemp("elsewhere") / "grading"
    shutil.copytree(written_class, folder)
    with marking_in(folder) as assignment:
        desk = Desk(assignment)
        desk.refresh()
        answer = next(x for x in desk.read_answers() if x.status == "blank")
        hand_in(folder, answer.student)
        hand_in(folder, answer.student, "long\x1b[31m.pdf", make_writeup(*["page"] * 1000))
        hand_in(folder, answer.student, "notes.docx", b"PK\x03\x04 damaged")
        others = (x for x in desk.read_answers() if x.student != answer.student)
        blank = next(x for x in others if x.status == "blank")
        desk.close()
    with serving(folder, extension="autograder.marking") as (address, _):
        yield address, f"/desk/attention/q/{NOTEBOOK}/{answer.cell}/{answer.code}", answer, blank


pytestmark = pytest.mark.xdist_group("elsewhere")


def test_the_desk_shows_it_beside_the_answer(seated):
    address, path, answer, _ = seated
    ann = Person(address, "Ann")
    _, page, _ = ann.get(path)
    assert "It may stand in what was handed in beside the notebook" in page
    assert "may show the student's name" in page, "and no name of a file does"
    assert "jane doe" not in page and answer.student not in page
    assert "PDF 2, 3 pages" in page or "PDF 1, 3 pages" in page
    assert "1,000 pages, more than 100, and was not opened" in page
    assert "damaged, locked or no Word file" in page
    pictures = re.findall(r'<img loading="lazy" alt="([^"]+)" src="([^"]+)"', page)
    assert [words.split(" of ")[0] for words, _ in pictures] == ["Page 1", "Page 2", "Page 3"]
    cookies = "; ".join(f"{c.name}={c.value}" for c in ann.cookies)
    request = urllib.request.Request(address + pictures[1][1], headers={"Cookie": cookies})
    with urllib.request.urlopen(request) as found:
        assert (
            found.headers["Content-Type"] == "image/png" and found.read(8) == b"\x89PNG\r\n\x1a\n"
        )
    assert ann.get(pictures[1][1][:-1] + "9")[0] == 404, "there is no page 9"
    assert ann.get(pictures[1][1].replace("/page/", "/page/f"))[0] == 404
    names = ann.get(path + "?names=1")[1]
    assert "jane doe.pdf" in names and "\x1b" not in names
    ann.post(f"{path}/leave", ticket=read_form(names)["ticket"])


def test_the_desk_jumps_to_where_somebody_found_it(seated):
    address, path, _, _ = seated
    ann, bob = Person(address, "Ann"), Person(address, "Bob")
    _, page, _ = ann.get(path)
    at = re.findall(r'name="at" value="([0-9a-f]{16}:\d+)"', page)
    status, page, url = ann.post(f"{path}/place", at=at[1])
    assert status == 200 and url.endswith(f"#page-{at[1].replace(':', '-')}")
    assert f'href="#page-{at[1].replace(":", "-")}"' in page and "says Ann" in page
    ann.post(f"{path}/leave", ticket=read_form(page)["ticket"])
    assert "says Ann" in bob.get(path)[1], "another marker jumps there as well"
    for wrong in ("ffffffffffffffff:1", at[1].split(":")[0] + ":0", "x", at[1] + "000000"):
        assert bob.post(f"{path}/place", at=wrong)[0] == 400
    page = bob.post(f"{path}/place", at="")[1]
    assert "says Ann" not in page
    assert bob.post(f"{path}/place", forged=True, at=at[1])[0] == 403
    bob.post(f"{path}/leave", ticket=read_form(page)["ticket"])


def test_elsewhere_is_left_out_of_zero_in_one_step(seated):
    address, path, answer, blank = seated
    ann = Person(address, "Ann")
    page = ann.get("/desk/attention/blank")[1]
    together, _, alone = page.partition('id="elsewhere"')
    assert path not in together and path in alone
    assert f'name="zero-{answer.code}"' not in page and f'name="zero-{blank.code}"' in page
    status, page, _ = ann.post("/desk/attention/blank", **{f"zero-{answer.code}": answer.seen})
    assert status == 409 and "Nothing was saved" in page
    assert "may stand elsewhere" in ann.get("/desk/attention")[1]


@pytest.mark.browser
def test_a_place_is_put_without_losing_what_was_ticked(seated, chromium):  # noqa: F811
    address, path, _, _ = seated
    page = sit_down(chromium, address, "Eve", width=1280)
    page.goto(address + path)
    pictures = page.locator(".writeup[open] figure img")
    pictures.nth(2).scroll_into_view_if_needed()
    for _ in range(300):  # a minute
        if pictures.nth(2).evaluate("picture => picture.naturalWidth") == 1200:
            break
        page.wait_for_timeout(200)
    assert pictures.nth(2).evaluate("picture => picture.naturalWidth") == 1200
    page.keyboard.press("1")
    page.locator(".writeup[open] button[value$=':2']").click()
    link = page.locator("#place a")
    link.wait_for()
    assert page.locator("[data-item='1']").is_checked(), "the page was not opened anew"
    link.click()
    assert page.evaluate("location.hash").endswith("-2")
    page.reload()
    assert "p. 2" in page.locator("#place").inner_text()
    check_accessibility(page)
    shoot(page, "elsewhere")
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    shoot(page, "elsewhere-390")
    page.goto(f"{address}/desk/attention/blank")
    check_accessibility(page)
    shoot(page, "elsewhere-blank")
    assert not page.errors
