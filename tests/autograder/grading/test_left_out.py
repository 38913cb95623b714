"""Names of sections that grading does not run: a student's code may mention them."""

import nbformat
import pytest

from autograder.blueprint import fill_in, load_blueprint, mark_kept
from autograder.course import load_assignment
from autograder.grading.grade import grade_notebook
from autograder.grading.left_out import write_stand_ins
from autograder.intake.restore import restore

KEPT = "import json as notes\ntokenizer = load()\nmodel_name = 'roberta'\nsettings = suggest()\nmax = 3\ndef helper(x):\n    return x + 1"


def run(source, name="work", *arguments):
    kept, own = (nbformat.v4.new_code_cell(text) for text in (KEPT, source))
    mark_kept(kept)
    own.metadata["nbgrader"] = {"solution": True}
    namespace = {}
    exec(write_stand_ins([kept, own]), namespace)
    exec(source, namespace)
    return namespace[name](*arguments)


def test_such_names_can_be_called_and_shown_and_imports_are_real():
    saved = run(
        "def work():\n    tokenizer.save_pretrained('here')\n    with tokenizer.quiet() as q:\n        q()\n"
        "    return f'{model_name:>12}', notes.dumps([1]), max(1, 2), helper(3)"
    )
    assert saved == ("model_name", "[1]", 2, 4)


@pytest.mark.parametrize(
    "sign", ["settings.epochs + 1", "len(settings)", "[*settings]", "1 < settings", "tokenizer([])"]
)
def test_whoever_calculates_with_one_is_told_what_it_is(sign):
    with pytest.raises(NameError, match="a section that grading does not run"):
        run(f"def work():\n    return {sign}")


def test_nothing_is_put_in_place_of_parameters_or_of_what_is_defined():
    kept, own = (
        nbformat.v4.new_code_cell(text)
        for text in (
            "model, optimizer, words = 1, 2, 3\n!ls",
            "words = 4\ndef work(model):\n    return model, words",
        )
    )
    mark_kept(kept)
    own.metadata["nbgrader"] = {"solution": True}
    assert write_stand_ins([kept, own]) == ""
    with pytest.raises(NameError, match="'optimizer' is not defined"):
        run(
            "def train(model, optimizer):\n    return work(model)\ndef work(model):\n    return optimizer",
            "train",
            1,
            2,
        )


def test_a_loop_that_saves_the_tokenizer_beside_the_model_gets_full_marks():
    blueprint = load_blueprint(load_assignment("attention"), "3_finetune_roberta")
    code = blueprint.solutions["main"].replace(
        "model.save_pretrained(checkpoint_dir)",
        "model.save_pretrained(checkpoint_dir)\n            tokenizer.save_pretrained(checkpoint_dir)\n"
        "            print(f'{model_name}: epoch {epoch}')",
    )
    assert code.count("tokenizer") == 1
    notebook = fill_in(blueprint, blueprint.solutions | {"main": code})
    cell = grade_notebook(restore(notebook, blueprint), blueprint, None).cells["test_main"]
    assert cell["score"] == cell["max_score"], cell
