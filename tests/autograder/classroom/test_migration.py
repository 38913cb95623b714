"""A course that changes in mid-term: the gradebook follows, and no mark is lost."""

import shutil

import nbformat
import pytest
from nbgrader.api import Gradebook

from autograder.classroom.gradebook import Mark
from tests.conftest import run_autograder, run_nbgrader

NOTEBOOK = "1_query_crafting"


@pytest.fixture
def term(graded, course_copy, tmp_path):
    """A course of one's own, a graded class in it, and one answer that a person has marked."""
    grading = tmp_path / "grading"
    shutil.copytree(graded[0], grading)
    with open_gradebook(grading) as gradebook:
        grade = gradebook.find_grade("answer_1_2_3", NOTEBOOK, "attention", "ada")
        grade.manual_score, grade.needs_manual_grade = 1.5, False
        comment = gradebook.find_comment("answer_1_2_3", NOTEBOOK, "attention", "ada")
        comment.manual_comment = "Nearly."
        gradebook.db.commit()
    return course_copy, grading


def open_gradebook(grading):
    return Gradebook(f"sqlite:///{grading / 'gradebook.db'}", "attention-course")


def read_marks(grading):
    with open_gradebook(grading) as gradebook:
        return {
            (submission.student.id, notebook.name, grade.name): (
                grade.auto_score, grade.manual_score, grade.max_score, grade.needs_manual_grade
            )
            for submission in gradebook.assignment_submissions("attention")
            for notebook in submission.notebooks
            for grade in notebook.grades
        }  # fmt: skip


def change(root, edit, name=NOTEBOOK):
    """Change source and release alike, as a build would after an author's edit."""
    for step in ("source", "release"):
        path = root / step / "attention" / f"{name}.ipynb"
        notebook = nbformat.read(path, as_version=4)
        notebook.cells = [cell for cell in notebook.cells if edit(cell) is not False]
        nbformat.write(notebook, path)


def name_of(cell):
    return cell.metadata.get("nbgrader", {}).get("grade_id")


def drop(root, *names):
    change(root, lambda cell: name_of(cell) not in names)


def rename_in_toml(root, text, by):
    path = root / "notebooks" / "attention" / "assignment.toml"
    content = path.read_text("utf-8")
    assert text in content
    path.write_text(content.replace(text, by), "utf-8")


def run(command, term, *more):
    return run_autograder(command, *more, cwd=term[0], COURSE_GRADING=str(term[1]))


def test_a_dropped_answer_keeps_its_mark_and_brings_it_back(term):
    before = read_marks(term[1])
    shutil.copytree(term[0] / "source", term[0] / "source-was")
    shutil.copytree(term[0] / "release", term[0] / "release-was")
    drop(term[0], "answer_1_2_3")
    done = run("grade", term)
    assert done.returncode == 0, done.stderr
    assert "answer_1_2_3 (2 points) is no longer part of 1_query_crafting" in done.stderr
    assert "dropped_mark" in done.stderr
    gone = {key for key in before if key[2] == "answer_1_2_3"}
    assert len(gone) == 4
    assert read_marks(term[1]) == {key: before[key] for key in before.keys() - gone}
    assert "no longer" not in run("grade", term).stderr, "said once"
    for step in ("source", "release"):
        shutil.rmtree(term[0] / step)
        (term[0] / f"{step}-was").rename(term[0] / step)
    done = run("grade", term)
    assert "1 mark by hand for answer_1_2_3" in done.stderr
    assert read_marks(term[1])["ada", NOTEBOOK, "answer_1_2_3"] == (None, 1.5, 2.0, False)
    with open_gradebook(term[1]) as gradebook:
        comment = gradebook.find_comment("answer_1_2_3", NOTEBOOK, "attention", "ada")
        assert comment.manual_comment == "Nearly."


def test_what_comes_back_with_fewer_points_is_looked_at_again(term):
    """The mark is as it was given, waits for a person, and counts no more than there is now."""
    for step in ("source", "release"):
        shutil.copytree(term[0] / step, term[0] / f"{step}-was")
    drop(term[0], "answer_1_2_3")
    run("grade", term)
    for step in ("source", "release"):
        shutil.rmtree(term[0] / step)
        (term[0] / f"{step}-was").rename(term[0] / step)

    def weigh(cell):
        if name_of(cell) == "answer_1_2_3":
            cell.metadata.nbgrader["points"] = 1

    change(term[0], weigh)
    done = run("grade", term)
    assert (
        "back from the table dropped_mark, but more than it is worth now is to be looked at"
        in done.stderr
    )
    assert read_marks(term[1])["ada", NOTEBOOK, "answer_1_2_3"] == (None, 1.5, 1.0, True)
    assert Mark("ada", NOTEBOOK, "c", 1.0, None, 1.5, None, True, True).score == 1.0


def test_new_dropped_and_reweighted_cells_go_through_grading(term):
    before = read_marks(term[1])

    def edit(cell):
        if name_of(cell) in ("test_q_average_two", "answer_1_2_3"):
            cell.metadata.nbgrader["points"] = 1
        if name_of(cell) == "answer_collaborators":
            cell.metadata.nbgrader.update(grade_id="answer_new", points=3)
        return name_of(cell) not in ("k2_select", "test_k2_select")

    change(term[0], edit)
    rename_in_toml(term[0], '"test_k2_select", ', "")
    done = run("grade", term, "--json")
    assert done.returncode == 0, done.stderr
    for words in (
        "answer_new (3 points) is new in 1_query_crafting.",
        "test_k2_select (2 points) is no longer part of 1_query_crafting: 4 marks left",
        "test_q_average_two in 1_query_crafting is worth 1 points instead of 2",
        "answer_1_2_3 in 1_query_crafting is worth 1 points instead of 2; 1 mark by hand stays as "
        "given, but more than that is to be looked at again (ada)",
    ):
        assert words in done.stderr
    after = read_marks(term[1])
    assert after["ada", NOTEBOOK, "answer_1_2_3"][1:3] == (1.5, 1.0)
    assert after["ada", NOTEBOOK, "test_q_average_two"][0] == 1.0, "graded again by the new points"
    assert after["ada", NOTEBOOK, "answer_new"][2] == 3.0
    assert not [key for key in after if key[2] == "test_k2_select"]
    same = [key for key in after if key in before and after[key][2] == before[key][2]]
    assert len(same) > 100 and all(after[key][:2] == before[key][:2] for key in same)


def test_nbgraders_own_commands_follow_too(term):
    drop(term[0], "answer_1_2_3")
    done = run_nbgrader(
        "generate_assignment", "attention", "--force", cwd=term[0], COURSE_GRADING=str(term[1])
    )
    assert done.returncode == 0, done.stderr
    assert "answer_1_2_3 (2 points) is no longer part" in done.stderr
    drop(term[0], "answer_1_2_1")
    done = run_nbgrader(
        "autograde", "attention", "--force", "--student", "ada",
        cwd=term[0], COURSE_GRADING=str(term[1]),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    left = {key[2] for key in read_marks(term[1])}
    assert not left & {"answer_1_2_3", "answer_1_2_1"}


def test_a_notebook_can_be_dropped_and_another_added(term):
    """The canary takes what is there, and what the class handed in before is no mistake."""
    root, grading = term
    path = root / "notebooks" / "attention" / "assignment.toml"
    head, first, *others = path.read_text("utf-8").split("[[notebooks]]")
    others[-1] = others[-1].partition('[sections."1.4"]')[0]
    path.write_text("[[notebooks]]".join([head, *others]), "utf-8")
    toml = (root / "course.toml").read_text("utf-8")
    kept = [line for line in toml.splitlines() if not line.startswith("sections.attention")]
    (root / "course.toml").write_text("\n".join(kept), "utf-8")
    done = run("grade", term)
    assert "The notebook 1_query_crafting is no longer part of attention" in done.stderr
    marks = read_marks(grading)
    assert {key[1] for key in marks} == {"2_attention_from_scratch", "3_finetune_roberta"}
    done = run("grade", term, "--student", "ada", "--json")
    assert "KeyError" not in done.stderr + done.stdout
    assert (grading / "dropped" / "ada" / "attention" / f"{NOTEBOOK}.ipynb").is_file()
    path.write_text("[[notebooks]]".join([head, first, *others]), "utf-8")
    done = run("grade", term)
    assert "The notebook 1_query_crafting is new in attention." in done.stderr
    assert read_marks(grading)["ada", NOTEBOOK, "answer_1_2_3"][1] == 1.5
