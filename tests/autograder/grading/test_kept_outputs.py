"""What is kept of a student's outputs, and what is not."""

import re

import nbformat
import pytest

from autograder.authoring.kept_sections import describe_runs
from autograder.authoring.text_notebook import build_source
from autograder.blueprint import fill_in, is_kept, load_blueprints
from autograder.course import CourseError, NotebookPlan, load_assignment
from autograder.grading.kept_outputs import NOTE, keep_outputs
from tests.conftest import run_autograder


def keep(*outputs):
    cell = nbformat.v4.new_code_cell("train()")
    cell["outputs"] = list(outputs)  # not validated: students' files are not either
    return keep_outputs(cell)


def show(**data):
    kinds = {"html": "text/html", "markdown": "text/markdown", "png": "image/png", "js": "application/javascript", "svg": "image/svg+xml", "plain": "text/plain"}  # fmt: skip
    data = {kinds[name]: value for name, value in data.items()}
    return nbformat.v4.new_output("display_data", data=data)


def test_text_and_images_stay_under_a_note():
    stream = nbformat.v4.new_output("stream", name="stdout", text="loss 5.8\n")
    note, text, image = keep(stream, show(png="iVBORw0KGgo=", plain="a curve"))
    assert note.text.startswith(NOTE)
    assert text.text == "loss 5.8\n"
    assert image.data == {"image/png": "iVBORw0KGgo=", "text/plain": "a curve"}


def test_what_was_kept_once_is_kept_again_without_a_second_note():
    once = keep(nbformat.v4.new_output("stream", name="stdout", text="x"))
    assert keep(*once) == once


@pytest.mark.parametrize(
    "page",
    [
        "<script>steal()</script><b>5.8</b>",
        "<img src=x onerror=steal()><b>5.8</b>",
        "<a href='javascript:steal()'>5.8</a>",
        "<iframe src='//steal'></iframe>5.8",
        "<img src='https://steal/steal.png'>5.8",
        "<b onclick=steal() style='background:url(//steal)'>5.8</b>",
        "<style>@import '//steal'</style>5.8",
        "<SCRIPT>steal()</SCRIPT ><Style>steal{}</sTYLE>5.8",
        "<img src='data:image/svg+xml;base64,steal'>5.8",
        "<img src='data:text/html,steal'>5.8",
    ],
)
def test_nothing_that_acts_survives(page):
    _, output = keep(show(html=page))
    assert "5.8" in output.data["text/html"]
    assert "steal" not in output.data["text/html"]


def test_a_figure_of_ours_survives():
    page = '<figure><img alt="loss" src="data:image/png;base64,iVBOR"><figcaption>w</figcaption></figure>'
    _, output = keep(show(html=page))
    assert 'src="data:image/png;base64,iVBOR"' in output.data["text/html"]


def test_markdown_keeps_its_words_and_loses_tags():
    _, output = keep(show(markdown="`<START> a` <b>x</b> <img src=x onerror=steal()>"))
    assert output.data["text/markdown"] == (
        "`< START> a` <b>x</b> *[a picture that cannot be shown]*"
    )


def test_what_is_no_output_is_dropped():
    assert keep({"output_type": "display_data"}, {"x": 1}, show(js="steal()", svg="<svg/>")) == []


TEXT = """\
# %% [markdown]
# # Title
# %% [markdown] keep="outputs"
# ## Experiment
# %%
a = 1
# %% [markdown]
# ### Below
# %%
b = 2
# %% [markdown]
# ## After
# %%
c = 3
# %% keep="outputs"
d = 4
"""


def build(tmp_path, text):
    path = tmp_path / "n.py"
    path.write_text(text)
    return build_source(path, NotebookPlan("n", "N", 0, 0, 1, "query_crafting"), "a", [])


def test_a_heading_keeps_everything_below_it_up_to_the_next_of_its_level(tmp_path):
    notebook = build(tmp_path, TEXT)
    kept = {cell.source for cell in notebook.cells if is_kept(cell)}
    assert kept == {"## Experiment", "a = 1", "### Below", "b = 2", "d = 4"}


def test_graded_work_cannot_be_kept(tmp_path):
    text = TEXT.replace(
        "# %%\na = 1",
        '# %% solve="a"\n### BEGIN SOLUTION\na = 1\n### END SOLUTION\n# %% check="a" points=2\na',
    )
    path = tmp_path / "n.py"
    path.write_text(text)
    with pytest.raises(CourseError, match="graded work stands where outputs are kept"):
        build_source(path, NotebookPlan("n", "N", 2, 0, 1, "query_crafting"), "a", ["a"])


def test_keep_knows_one_word(tmp_path):
    with pytest.raises(CourseError, match='keep="outputs" is the only way'):
        build(tmp_path, TEXT.replace('keep="outputs"', 'keep="all"', 1))


@pytest.mark.parametrize("name", ["attention", "attention_at_work"])
def test_what_stands_in_any_kept_cell_is_there_after_grading_and_in_feedback(name, tmp_path):
    """An output is planted in every kept cell of every notebook, whatever its section is called."""
    folder, planted = tmp_path / "submitted" / "ada" / name, {}
    folder.mkdir(parents=True)
    for blueprint in load_blueprints(load_assignment(name)).values():
        notebook = fill_in(blueprint, {}, answer="mine")
        kept = [cell for cell in notebook.cells if cell.cell_type == "code" and is_kept(cell)]
        planted[blueprint.name] = [f"planted-{number}-here" for number in range(len(kept))]
        for cell, words in zip(kept, planted[blueprint.name], strict=True):
            cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text=words)]
        (folder / f"{blueprint.name}.ipynb").write_text(nbformat.writes(notebook), "utf-8")
    for command in ("grade", "feedback"):
        done = run_autograder(command, "--assignment", name, COURSE_GRADING=str(tmp_path))
        assert done.returncode == 0, done.stderr
    for notebook, words in planted.items():
        graded = nbformat.read(tmp_path / "autograded" / "ada" / name / f"{notebook}.ipynb", 4)
        found = [str(cell.outputs) for cell in graded.cells if cell.get("outputs")]
        page = (tmp_path / "feedback" / "ada" / name / f"{notebook}.html").read_text("utf-8")
        for word in words:
            assert sum(word in outputs for outputs in found) == 1, (notebook, word)
            assert word in page, (notebook, word)
    assert sum(map(len, planted.values())) > 10


def test_the_build_shows_which_cells_are_run_again_and_which_are_kept():
    blueprint = load_blueprints(load_assignment("attention"))["3_finetune_roberta"]
    name, again, kept = describe_runs(blueprint)
    assert name == "attention/3_finetune_roberta"
    assert "run again" in again and "main training loop" in again and "Finetune" not in again
    assert "kept" in kept and "Finetune" in kept and "load the data" in kept
    counted = sum(map(int, re.findall(r"\((\d+)\)", again + kept)))
    assert counted == sum(slot.source.cell_type == "code" for slot in blueprint.slots)
