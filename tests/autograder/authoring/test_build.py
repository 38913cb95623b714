"""What an author can get wrong, each with one sentence that names file and line."""

import re
from dataclasses import replace

import pytest

from autograder.authoring import leaks
from autograder.authoring.build import build, make_files
from autograder.authoring.text_notebook import build_source, read_text_notebook
from autograder.course import Assignment, CourseError, NotebookPlan, load_assignment, load_course
from autograder.exercises import find_exercises

GOOD = """\
# %% [markdown]
# # A notebook

# %% solve="q_select_first"
q_select_first = ...
### BEGIN SOLUTION
q_select_first = 10 * K[0]
### END SOLUTION

# %% check="q_select_first" points=2
check("q_select_first", q_select_first)

# %% [markdown] answer="answer_1" points=3
# Because the softmax says so, every single time.
#
# ### BEGIN MARK SCHEME
# - 3 points: mentions the softmax and what it does.
# ### END MARK SCHEME
"""
PLAN = NotebookPlan("one", "One", auto=2, manual=3, pages=1, exercises="query_crafting")


def expand(tmp_path, text, plan=PLAN):
    path = tmp_path / "one.py"
    path.write_text(text, "utf-8")
    return build_source(path, plan, "attention", find_exercises("attention.query_crafting"))


def test_short_markers_become_nbgrader_metadata(tmp_path):
    heading, solve, check, answer = expand(tmp_path, GOOD).cells
    assert "nbgrader" not in heading.metadata
    assert solve.id == "q_select_first"
    assert solve.metadata.nbgrader == {
        "grade": False, "grade_id": "q_select_first", "locked": False, "schema_version": 3,
        "solution": True, "task": False,
    }  # fmt: skip
    assert check.id == "test_q_select_first"
    assert check.metadata.nbgrader["points"] == 2
    assert check.metadata.nbgrader["locked"] and not check.metadata.nbgrader["solution"]
    assert (
        """grade_here("attention.query_crafting", "q_select_first", globals(), points=2)"""
        in check.source
    )
    assert answer.metadata.nbgrader["grade"] and answer.metadata.nbgrader["solution"]


def test_ids_stay_when_a_cell_is_added_before(tmp_path):
    before = [cell.id for cell in expand(tmp_path, GOOD).cells]
    after = [cell.id for cell in expand(tmp_path, "# %% [markdown]\n# New.\n\n" + GOOD).cells]
    assert after[1:] == before


MISTAKES = {
    "duplicate name": (
        GOOD + '\n# %% solve="q_select_first"\nq_select_first = 1\n'
        "### BEGIN SOLUTION\nq_select_first = 2\n### END SOLUTION\n",
        r"one.py:20: the name 'q_select_first' is taken already, by line 4",
    ),
    "check of a name that no cell defines": (
        GOOD.replace('check="q_select_first"', 'check="Q_identity"'),
        r"one.py:10: the cell checks 'Q_identity', which no solve cell above defines",
    ),
    "unknown exercise": (
        GOOD.replace("q_select_first", "q_unheard_of"),
        r"one.py:10: there is no exercise 'q_unheard_of'; autograder/exercises/attention/query_crafting.py knows .*Q_identity",
    ),
    "automatic points do not sum": (
        GOOD.replace("points=2", "points=1"),
        r"one.py:1: the check cells sum to 1 points, but assignment.toml says auto = 2 for one",
    ),
    "points by hand do not sum": (
        GOOD.replace("points=3", "points=4"),
        r"one.py:1: the answer cells sum to 4 points, but assignment.toml says manual = 3",
    ),
    "solution region never closed": (
        GOOD.replace("### END SOLUTION\n", ""),
        r"one.py:6: the region BEGIN SOLUTION is never closed",
    ),
    "mark scheme never closed": (
        GOOD.replace("# ### END MARK SCHEME\n", ""),
        r"one.py:16: the region BEGIN MARK SCHEME is never closed",
    ),
    "end without a beginning": (
        GOOD.replace("### BEGIN SOLUTION\n", ""),
        r"one.py:7: END SOLUTION without a BEGIN SOLUTION",
    ),
    "region inside a region": (
        GOOD.replace("### END SOLUTION", "### BEGIN SOLUTION\n### END SOLUTION"),
        r"one.py:8: a region begins inside the SOLUTION region of line 6",
    ),
    "nothing to hide": (
        GOOD.replace("### BEGIN SOLUTION\n", "").replace("### END SOLUTION\n", ""),
        r"one.py:4: the cell solves 'q_select_first' but has no `### BEGIN SOLUTION`",
    ),
    "region in the wrong cell": (
        GOOD.replace("# # A notebook", "# ### BEGIN SOLUTION\n# # A\n# ### END SOLUTION"),
        r"one.py:1: a SOLUTION region does not belong in this cell",
    ),
    "hand-written hidden test": (
        GOOD.replace('check("q', '### BEGIN HIDDEN TESTS\n### END HIDDEN TESTS\ncheck("q'),
        r"one.py:10: a HIDDEN TESTS region does not belong .* added by the build",
    ),
    "never defined": (
        GOOD.replace("q_select_first = ...\n", "").replace("q_select_first = 10", "q = 10"),
        r"one.py:4: the cell solves 'q_select_first' but never defines it",
    ),
    "misspelt marker": (GOOD.replace("points=2", "point=2"), r"one.py:10: unknown marker point;"),
    "no points": (
        GOOD.replace(" points=2", ""),
        r"one.py:10: q_select_first needs points=NUMBER, zero or more; it has none",
    ),
    "negative points": (GOOD.replace("points=2", "points=-2"), r"one.py:10: .* it has -2"),
    "points on a solve cell": (
        GOOD.replace('solve="q_select_first"', 'solve="q_select_first" points=2'),
        r"one.py:4: only check and answer cells carry points",
    ),
    "two roles": (
        GOOD.replace('solve="q_select_first"', 'solve="q_select_first" check="q_select_first"'),
        r"one.py:4: a cell is either solve or check",
    ),
    "answer in code": (GOOD.replace("[markdown] answer", "answer"), r"one.py:13: an answer cell"),
    "answer's name": (
        GOOD.replace('answer="answer_1"', 'answer="reply_1"'),
        r"one.py:13: an answer's name starts with \"answer_\"",
    ),
    "not Python": (
        GOOD.replace("q_select_first = 10 * K[0]", "q_select_first = 10 *"),
        r"one.py:7: not valid Python",
    ),
    "text before the first cell": ("import os\n\n" + GOOD, r"one.py:1: there is text before"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_an_authors_mistake_gets_one_sentence_with_its_line(tmp_path, name):
    text, sentence = MISTAKES[name]
    with pytest.raises(CourseError) as caught:
        expand(tmp_path, text)
    assert re.search(sentence, str(caught.value)), str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_optional_piece_is_marked_and_only_a_piece_can_be(tmp_path):
    optional = GOOD.replace('solve="q_select_first"', 'solve="q_select_first" optional=true')
    assert expand(tmp_path, optional).cells[1].metadata.course == {"optional": True}
    with pytest.raises(CourseError, match="only a solve cell can be optional"):
        expand(tmp_path, GOOD.replace("points=2", "points=2 optional=true"))


QUOTING = GOOD.replace("# # A notebook", "# # A notebook\n#\n# From {{queries.from}} up.")


def test_quoted_numbers_are_filled_in(tmp_path):
    (tmp_path / "results.json").write_text('{"queries": {"from": 3.5}}', "utf-8")
    assert expand(tmp_path, QUOTING).cells[0].source.endswith("From 3.5 up.")


@pytest.mark.parametrize(
    "results, said",
    [
        ('{"queries": {}}', "has no such number"),
        ("{}", "has no such number"),
        ('{"queries": {"from": {"more": 1}}}', "is a group"),
    ],
)
def test_a_number_that_nobody_measured_is_refused_with_its_line(tmp_path, results, said):
    (tmp_path / "results.json").write_text(results, "utf-8")
    with pytest.raises(CourseError, match=rf"one.py:4: {{{{queries.from}}}} .*{said}"):
        expand(tmp_path, QUOTING)


def test_cells_remember_their_lines(tmp_path):
    path = tmp_path / "one.py"
    path.write_text(GOOD, "utf-8")
    assert [cell.line for cell in read_text_notebook(path)] == [1, 4, 10, 13]


# ---------------------------------------------------------------------------- the real course


def test_building_twice_changes_no_byte(course_copy):
    course = load_course(course_copy)
    first = make_files(course)
    assert first == make_files(course)
    assert build(course) == []


def test_check_names_each_file_that_is_out_of_date(small_course_copy):
    course = load_course(small_course_copy)
    build(course)
    assert build(course, check=True) == []
    text = course.find().texts / "1_query_crafting.py"
    text.write_text(text.read_text("utf-8").replace("# # Query crafting", "# # Crafting queries"))
    stray = course.find().release / "old.ipynb"
    stray.write_text("{}")
    weights = (
        course.find().source / "checkpoints" / "best.pt"
    )  # somebody ran the source in its folder
    weights.parent.mkdir()
    weights.touch()
    stale = build(course, check=True)
    assert [path.relative_to(small_course_copy).as_posix() for path in stale] == [
        "source/attention/1_query_crafting.ipynb",
        "release/attention/1_query_crafting.ipynb",
        "release/attention/old.ipynb",
    ]
    assert stray.exists(), "--check must not write"
    build(course)
    assert build(course, check=True) == [] and not stray.exists()
    assert weights.exists()


def plant(assignment: Assignment, old: str, new: str) -> None:
    text = assignment.texts / "1_query_crafting.py"
    content = text.read_text("utf-8")
    assert old in content
    text.write_text(content.replace(old, new), "utf-8")


LEAKS = {
    "solution in a hint": ("# Work backwards.", "# Use `q_select_first = 10 * K[0]`.", "10*K[0]"),
    "solution in other spacing": ("# Work backwards.", "# Use `10*K[ 0 ]` here.", "10*K[0]"),
    "solution in a code cell": ("plots.plot_dial(q)", "print(10 * K[0])", "10*K[0]"),
    "right-hand side alone": (
        "plots.plot_dial(q)", "plots.plot_dial((K[0] + K[1]) / 2)", "(K[0]+K[1])/2"
    ),
    "mark scheme in a hint": (
        "# Work backwards.",
        "# At fixed length, the **dot product** is\n# largest along the query.",
        "at fixed length the dot product is largest along the query",
    ),
    "model answer in prose": (
        "# Work backwards.",
        "# For equal weights the third score must match those of k0 and k1.",
        "for equal weights the third score must match those of k0 and k1",
    ),
    "hidden test in a cell": (
        "plots.plot_dial(q)",
        "from autograder.grading.in_process import grade_here",
        "fromautograder.grading.in_processimportgrade_here",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LEAKS)
def test_a_release_that_gives_answers_away_fails_the_build(small_course_copy, name):
    old, new, secret = LEAKS[name]
    assignment = load_assignment("attention", small_course_copy)
    before = (assignment.release / "1_query_crafting.ipynb").read_bytes()
    plant(assignment, old, new)
    with pytest.raises(CourseError) as caught:
        build(assignment.course)
    assert f"«{secret}»" in str(caught.value)
    assert "release/attention/1_query_crafting.ipynb, cell " in str(caught.value)
    assert (assignment.release / "1_query_crafting.ipynb").read_bytes() == before


def test_the_package_may_not_give_answers_away_either(small_course_copy):
    module = small_course_copy / "course_utils" / "queries.py"
    module.write_text(module.read_text("utf-8") + "\n# psst: 10 * K[0]\n", "utf-8")
    with pytest.raises(CourseError, match=r"course_utils/queries.py:\d+: holds «10\*K\[0\]»"):
        build(load_course(small_course_copy))


def test_harmless_statements_are_no_secrets(tmp_path):
    text = GOOD.replace(
        "q_select_first = 10 * K[0]",
        "import torch\nS = 10\nreturned = S\nq_select_first = S * K[0]",
    )
    secrets = {secret.text for secret in leaks.find_secrets(expand(tmp_path, text))}
    assert "q_select_first=S*K[0]" in secrets
    assert not secrets & {"S=10", "returned=S", "importtorch"}


def test_text_notebooks_and_assignment_toml_must_agree(small_course_copy):
    course = load_course(small_course_copy)
    assignment = course.find()
    (assignment.texts / "9_extra.py").write_text(GOOD, "utf-8")
    with pytest.raises(CourseError, match=r"no .* entry '9_extra'"):
        make_files(course)
    (assignment.texts / "9_extra.py").unlink()
    more = NotebookPlan("x", "X", 0, 0, 1, "query_crafting")
    planned = replace(assignment, notebooks=(*assignment.notebooks, more))
    missing = replace(course, assignments={"attention": planned})
    with pytest.raises(CourseError, match=r"names the notebook 'x', but .* does not exist"):
        make_files(missing)


def test_a_solution_that_is_a_whole_body_leaves_python():
    """The students' cell must run before they have written anything."""
    from autograder.authoring.text_notebook import _keep_whole

    body = "def f(x):\n    ### BEGIN SOLUTION\n    return x\n    ### END SOLUTION"
    assert _keep_whole(body) == body.replace("    ### BEGIN", "    ...\n    ### BEGIN")
    partly = "x = ...\n### BEGIN SOLUTION\nx = 1\n### END SOLUTION"
    assert _keep_whole(partly) == partly
