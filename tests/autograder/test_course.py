"""course.toml and assignment.toml: the rules they hold, and what a mistake in them says."""

import pytest

from autograder.blueprint import load_blueprint
from autograder.course import CourseError, load_course

COURSE, ASSIGNMENT = "course.toml", "notebooks/attention/assignment.toml"


def test_the_rules_of_the_course(course, assignment):
    for plan in assignment.notebooks:
        slots = load_blueprint(assignment, plan.name).slots
        for role, points in (("check", plan.auto), ("answer", plan.manual)):
            assert sum(slot.points for slot in slots if slot.role == role) == points
    section = assignment.sections["1.4"]
    assert len(section["cells"]) == 5
    assert assignment.find_rules("undergraduate")["1.4"] == {"counts": "extra", "weight": 0.5}
    assert assignment.find_rules("graduate")["1.4"]["counts"] == "required"
    assert course.collaborators == {"cell": "answer_collaborators", "penalty_percent": 2}


def test_section_1_4_is_worth_ten_points(assignment, blueprint):
    points = sum(blueprint.find(name).points for name in assignment.sections["1.4"]["cells"])
    assert points == 10


@pytest.mark.parametrize(
    "file, old, new, sentence",
    [
        (COURSE, "[course]", "[course", "is not valid TOML"),
        (COURSE, 'id = "attention-course"', "", "lacks the entry 'id'"),
        (ASSIGNMENT, "auto = 12", "automatic = 12", "needs exactly name, title, auto, manual, pages and"),
        (ASSIGNMENT, 'notebook = "1_query_crafting"', 'notebook = "x"', "section 1.4 names the notebook 'x'"),
        (COURSE, 'counts = "extra"', 'counts = "maybe"', "\"required\" or \"extra\", not 'maybe'"),
        (ASSIGNMENT, '[sections."1.4"]', '[sections."1.5"]', "speaks of section 1.4, which attention does"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_toml_file_is_a_sentence(course_copy, file, old, new, sentence):
    path = course_copy / file
    content = path.read_text("utf-8")
    assert old in content
    path.write_text(content.replace(old, new), "utf-8")
    with pytest.raises(CourseError) as caught:
        load_course(course_copy)
    assert sentence in str(caught.value)


def test_a_missing_course_toml_is_a_sentence(tmp_path):
    with pytest.raises(CourseError, match="does not exist"):
        load_course(tmp_path)
