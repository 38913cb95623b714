"""From the words of a mark scheme to items with keys."""

import re

import pytest

from autograder.authoring.mark_scheme import SchemeMistake, read_scheme
from autograder.blueprint import load_blueprints
from autograder.course import load_course
from autograder.marking.questions import find_questions
from tests.conftest import ROOT


def write(*lines):
    return "\n".join(
        ["A model answer.", "", "### BEGIN MARK SCHEME", *lines, "### END MARK SCHEME"]
    )


def test_every_mark_scheme_of_the_course_reaches_its_points():
    found = 0
    assignments = load_course(ROOT).assignments.values()
    for blueprint in (b for a in assignments for b in load_blueprints(a).values()):
        for slot in blueprint.slots:
            if slot.role == "answer" and slot.points:
                scheme = read_scheme(slot.source.source, slot.points)
                everything = {item.digest: item.times for item in scheme.items}
                assert scheme.add_up(everything) == slot.points, slot.grade_id
                assert scheme.model and "MARK SCHEME" not in scheme.model
                found += 1
    assert found > 20


def test_bullets_become_items_and_the_rest_notes():
    scheme = read_scheme(
        write("- 1 point: names it,", "  over two lines.", "- 0.5 points: one. 0.5 points: two.",
              "- Trial and error earns 0.", "", "**Expect** 1 point of noise."),
        2,
    )  # fmt: skip
    assert [(item.text, item.points, item.times) for item in scheme.items] == [
        ("names it, over two lines.", 1, 1), ("one.", 0.5, 1), ("two.", 0.5, 1),
    ]  # fmt: skip
    assert scheme.notes == "- Trial and error earns 0.\n\n**Expect** 1 point of noise."
    assert scheme.model == "A model answer."


def test_each_counts_as_often_as_the_points_allow():
    scheme = read_scheme(write("- 1 point: first.", "- 0.25 points each. More words."), 2)
    assert [item.times for item in scheme.items] == [1, 4]


def test_the_sum_is_capped_and_never_negative():
    scheme = read_scheme(write("- 1 point: a.", "- 1 point: b."), 2)
    one, two = (item.digest for item in scheme.items)
    assert scheme.add_up({one: 1}) == 1
    assert scheme.add_up({one: 9, two: 1}) == 2, "an item counts as often as it may"
    assert scheme.add_up({one: 1, two: 1}, 0.5) == 2
    assert scheme.add_up({}, -1) == 0
    assert scheme.add_up({"unknown": 1}) == 0


def test_an_item_is_known_by_its_words():
    before = read_scheme(write("- 1 point: says   yes.", "- 1 point: says no."), 2)
    moved = read_scheme(write("- 1 point: says no.", "- 1 point: says", "  yes."), 2)
    reworded = read_scheme(write("- 1 point: agrees.", "- 1 point: says no."), 2)
    assert {item.digest for item in before.items} == {item.digest for item in moved.items}
    assert before.items[0].digest != reworded.items[0].digest and before.digest != reworded.digest


def test_every_question_has_a_title_that_says_what_it_asks(course):
    for assignment in course.assignments.values():
        for question in find_questions(assignment):
            assert re.fullmatch(r"[A-Z][^<>●○*#]+", question.title), (
                question.label,
                question.title,
            )
    titles = {q.cell: q.title for q in find_questions(course.assignments["attention"])}
    assert titles["answer_1_3_2"] == "Average the first two", (
        "its heading, not what stands above it"
    )
    assert titles["answer_q4_4"] == "What does an optimizer do?"


@pytest.mark.parametrize(
    "lines, points, line, words",
    [
        (["- 1 point: a."], 2, 4, "worth 2 points, but its items add up to 1"),
        (["Be kind."], 1, 3, "it has no item"),
        (["- 0.3 points each."], 1, 4, "0.3 points each cannot make up the 1 points"),
        (["- 1 point each a.", "- 1 point each b."], 2, 5, "only one item"),
        (["- 1 point: a.", "- 1 point: a."], 2, 5, "twice"),
        ([f"- 1 point: {n}." for n in range(10)], 10, 13, "at most 9 items"),
    ],
    ids=["short", "none", "uneven", "two-each", "double", "many"],
)
def test_a_scheme_that_cannot_work_is_named_by_its_line(lines, points, line, words):
    with pytest.raises(SchemeMistake, match=words) as problem:
        read_scheme(write(*lines), points)
    assert problem.value.line == line
