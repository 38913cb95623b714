"""The feedback page: what it says, what it leaves out, and how it stands while marking is open."""

import re

import nbformat
import pytest

from autograder.marking.desk import Desk, Judgement
from autograder.reports.sentences import (
    Line,
    describe_answer,
    describe_check,
    describe_total,
    list_details,
    write_text,
)
from tests.autograder.marking.conftest import NOTEBOOK, grading, marking_in, written_class  # noqa: F401
from tests.autograder.marking.test_render import HOSTILE, PIXEL, find_acting
from tests.conftest import run_nbgrader

FORMULA = "My query is $q = 10 k_0$.\n\n| a | b |\n|---|---|\n| 1 | 2 |"


@pytest.fixture
def pages(grading):  # noqa: F811
    """A student's feedback with one answer marked, one hostile, one untouched, the others open."""
    student = "student001"
    path = grading / "autograded" / student / "attention" / f"{NOTEBOOK}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        if name == "answer_1_2_1":
            cell.source = FORMULA
        elif name == "answer_1_3_3":
            cell.source = "\n\n".join(HOSTILE.values())
        elif name == "test_q_select_first":
            cell.source += "\n### BEGIN HIDDEN TESTS\nsecret = 1\n### END HIDDEN TESTS"
    cells = {"test_q_select_first": {"score": 0.0, "max_score": 2.0, "status": "failed",
             "diagnosis": "x", "messages": ["q_select_first: the sign is turned round."],
             "details": ["error 0.5 <here>"]}}  # fmt: skip
    notebook.metadata["course"] = {"result": {"cells": cells, "repairs": ["a cell was put back"]}}
    path.write_text(nbformat.writes(notebook), "utf-8")
    figure = next(cell for cell in notebook.cells if "plots.plot_steps" in cell.source)
    figure.outputs = [
        nbformat.v4.new_output("display_data", {"image/png": PIXEL, "text/plain": "steps"})
    ]
    submitted = grading / "submitted" / student / "attention"
    submitted.mkdir(parents=True)
    (submitted / path.name).write_text(nbformat.writes(notebook), "utf-8")
    with marking_in(grading) as assignment:
        desk = Desk(assignment)
        desk.refresh()
        question = desk.find_question(NOTEBOOK, "answer_1_2_1")
        answer = next(x for x in desk.read_answers(question) if x.student == student)
        judgement = Judgement({question.scheme.items[0].digest: 1}, 0.5, "Say *why*, see $k_0$.")
        desk.give(question, "Ann Marker", judgement, {answer.code: answer.seen})
        desk.close()
    done = run_nbgrader("generate_feedback", "attention", "--student", student,
                        COURSE_GRADING=str(grading))  # fmt: skip
    assert done.returncode == 0, done.stderr
    folder = grading / "feedback" / student / "attention"
    return (folder / f"{NOTEBOOK}.html").read_text("utf-8"), (folder / f"{NOTEBOOK}.txt").read_text(
        "utf-8"
    )


def test_the_page_says_what_a_student_wants_to_read(pages):
    page, text = pages
    card, notebook = page.split('id="notebook"')
    assert "1.5 of 2" in card and "The sign is turned round." in card
    assert "<li>error 0.5 &lt;here&gt;</li>" in card and "- error 0.5 <here>" in text
    assert "says which weights" in card and "+1:" in card and "+0.5:" in card
    assert "Say <em>why</em>" in card and card.count("<math") >= 1
    assert card.count("not read yet") >= 3 and "so far" in card, "what is open is not a zero"
    assert "a cell was put back" in card
    anchors = re.findall(r'href="#([\w-]+)"', page)
    assert anchors
    for anchor in anchors:
        assert f'id="{anchor}"' in page, anchor
    assert "<details><summary>Hint" in notebook.replace("\n", "") and "<td>1</td>" in notebook
    assert f"base64,{PIXEL}" in notebook, "the figure that the student handed in"
    assert "$q = 10" not in notebook and "<math" in notebook
    assert "Say *why*" in text and "1.5 of 2" in text and "open of 2" in text
    assert max(map(len, text.splitlines())) <= 80


def test_nothing_hidden_is_shown_and_nothing_acts(pages):
    page, text = pages
    for words in ("HIDDEN", "secret = 1", "MARK SCHEME", "grade_here", "Ann Marker"):
        assert words not in page and words not in text, words
    body = re.sub(r"<style>.*?</style>", "", page.split("<body", 1)[1], flags=re.DOTALL)
    acting = [found for found in find_acting(f"<body{body}")
              if not re.match(r"a( |$)|\w+ (id|role|aria-\w+|href)=", found)]  # fmt: skip
    assert not acting, acting
    assert not re.search(r'href="(?!#)', body) and "<script" not in page


def test_sentences():
    cell = {"messages": ["f: the mask leaks.", "Second word."], "details": ["error 3"]}
    assert describe_check(cell) == "The mask leaks. Second word." and list_details(cell) == [
        "error 3"
    ]
    assert describe_check({"messages": []}) == "It was not judged."
    missing = "q_select_first is not defined."
    assert describe_check({"messages": [missing]}) == missing, "a name stays as it is written"
    assert describe_answer(None, 2, False, False, False) == "Not read yet."
    assert "read again" in describe_answer(None, 2, False, True, False)
    assert "as it was handed out" in describe_answer(0, 2, True, False, False)
    assert describe_answer(2, 2, False, False, True) == "Everything that was asked for is there."
    assert describe_answer(1, 2, False, False, True).endswith("see the comment.")
    assert "comment" not in describe_answer(0, 2, False, False, False)


def test_the_total_does_not_count_what_nobody_has_read():
    lines = [Line("a", "a", 2.0, 2.0, "x"), Line("b", "b", None, 3.0, "y")]
    assert describe_total(lines) == "2 of 2 points so far; 1 answer worth 3 points not read yet."
    assert describe_total(lines[:1], 0.5) == (
        "2 of 2 points; 0.5 points are taken off the total because it came late."
    )
    assert describe_total(lines[:1], None).endswith(
        "; points are taken off the total because it came late."
    )
    assert "b: open of 3" in write_text("T", lines)
