"""course.toml: the rules it holds, and what a mistake in it says."""

import pytest

from autograder.course import CourseError, load_course


def test_the_rules_of_the_course(course):
    plan = course.find_notebook("1_query_crafting")
    assert (plan.auto, plan.manual) == (12, 18)
    section = course.sections["1.4"]
    assert len(section["cells"]) == 5
    assert course.tracks["undergraduate"]["sections"]["1.4"] == {"counts": "extra", "weight": 0.5}
    assert course.tracks["graduate"]["sections"]["1.4"]["counts"] == "required"
    assert course.collaborators == {"cell": "answer_collaborators", "penalty_percent": 2}


def test_section_1_4_is_worth_ten_points(course, blueprint):
    points = sum(blueprint.find(name).points for name in course.sections["1.4"]["cells"])
    assert points == 10
    total = sum(slot.points for slot in blueprint.slots)
    assert total - points == 20


@pytest.mark.parametrize(
    "old, new, sentence",
    [
        ("[course]", "[course", "is not valid TOML"),
        ('id = "attention-course"', "", "lacks the entry 'id'"),
        ("auto = 12", "automatic = 12", "needs exactly name, title, auto, manual and pages"),
        ('notebook = "1_query_crafting"', 'notebook = "x"', "section 1.4 names the notebook 'x'"),
        ('counts = "extra"', 'counts = "maybe"', "\"required\" or \"extra\", not 'maybe'"),
        ('[sections."1.4"]', '[sections."1.5"]', "speaks of section 1.4, which is not defined"),
    ],
)  # fmt: skip
def test_a_mistake_in_course_toml_is_a_sentence(course_copy, old, new, sentence):
    path = course_copy / "course.toml"
    content = path.read_text("utf-8")
    assert old in content
    path.write_text(content.replace(old, new), "utf-8")
    with pytest.raises(CourseError) as caught:
        load_course(course_copy)
    assert sentence in str(caught.value)


def test_a_missing_course_toml_is_a_sentence(tmp_path):
    with pytest.raises(CourseError, match="does not exist"):
        load_course(tmp_path)
