"""The public checks of the pretraining notebook say which mistake it is, and hold no answer."""

from importlib import resources

import pytest

from autograder.blueprint import load_blueprint
from autograder.course import load_assignment
from autograder.exercises.attention_at_work import pretraining
from course_utils.checks import CheckFailed, check
from course_utils.checks.answer_numbers import load_answers
from course_utils.checks.pretraining import NAMES

SOLUTIONS = load_blueprint(load_assignment("attention_at_work"), "3_pretraining").solutions
EXERCISES = {exercise.name: exercise for exercise in pretraining.EXERCISES}


def run(name, *codes):
    pieces = pretraining.list_pieces(SOLUTIONS)
    return pretraining.make_namespace(*pieces, *codes)[name]


@pytest.mark.parametrize("name", NAMES)
def test_right_ways_pass(name, capsys):
    for codes in ((), *((text,) for text in EXERCISES[name].variants)):
        check(name, run(name, *codes))
    assert "public check passed" in capsys.readouterr().out


@pytest.mark.parametrize("name", NAMES)
def test_mistakes_are_named_as_in_grading(name):
    for mistake in EXERCISES[name].mistakes:
        with pytest.raises(CheckFailed) as failed:
            check(name, run(name, mistake.code))
        assert failed.value.finding.diagnosis == mistake.diagnosis, failed.value


@pytest.mark.parametrize("name", NAMES)
def test_an_open_todo_says_so(name):
    def stub(*arguments):
        raise NotImplementedError(f"TODO: {name}")

    for value in (stub, ...):
        with pytest.raises(CheckFailed) as failed:
            check(name, value)
        assert failed.value.finding.diagnosis == "todo-open"


def test_what_the_learner_prints_is_not_shown(capsys):
    def majority_baseline(train_answers, questions):
        print("hello")
        return [max(train_answers, key=train_answers.count)] * len(questions)

    check("majority_baseline", majority_baseline)
    assert "hello" not in capsys.readouterr().out


def test_span_corruption_is_stored_without_an_answer():
    assert load_answers("pretraining")["corrupt_span"]["right"] == {}
    text = resources.files("course_utils.checks").joinpath("pretraining.json").read_text("utf-8")
    assert "def " not in text
