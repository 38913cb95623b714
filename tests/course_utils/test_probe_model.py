"""The model that notebook 3's checks try a learner's code on: its arithmetic is the course's own."""

import ast
import inspect

import numpy as np
import pytest
import torch

from autograder.exercises import find_exercises
from course_utils.checks import finetuning_trials
from course_utils.checks.answer_numbers import load_answers

STORED = load_answers("finetuning")["train_one_epoch"]["inputs"]
EXERCISE = find_exercises("attention.finetune_roberta")["train_one_epoch"]
HIDDEN = [EXERCISE.draw_inputs(seed) for seed in range(4)]


def make_model(inputs=STORED):
    return finetuning_trials._make_diary_model(finetuning_trials.Diary(), inputs)


def make_batches(inputs):
    batch_size = int(inputs["batch_size"])
    return list(finetuning_trials._make_loader(inputs["ids"], inputs["labels"], batch_size))


def test_nothing_is_computed_by_a_model_of_the_library():
    """Models of transformers change between versions; stored numbers must not."""
    tree = ast.parse(inspect.getsource(finetuning_trials))
    imported = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module.startswith("transformers")
        for alias in node.names
    }
    auto = {"AutoConfig", "AutoModelForSequenceClassification"}  # which are only told of our model
    assert imported - auto == {
        "BatchEncoding", "PretrainedConfig", "PreTrainedModel", "PreTrainedTokenizerFast",
        "SequenceClassifierOutput", "logging",
    }  # fmt: skip
    for module in make_model().modules():
        assert type(module).__module__.startswith(("torch.", finetuning_trials.__name__))


@pytest.mark.parametrize("inputs", [STORED, *HIDDEN])
def test_mode_and_mask_show_in_the_numbers(inputs):
    model = make_model(inputs)
    batches = make_batches(inputs)
    lengths = {int(row.sum()) for batch in batches for row in batch["text_encoding"].attention_mask}
    assert len(lengths) > 1  # a mask that matters
    answers = {}
    for training in (False, True):
        model.train(training)
        for gradients in (False, True):
            with torch.set_grad_enabled(gradients):
                logits = torch.cat([model(**batch["text_encoding"]).logits for batch in batches])
                bare = torch.cat(
                    [model(batch["text_encoding"].input_ids).logits for batch in batches]
                )
            assert (logits - bare).abs().max() > 0.02
            assert all((logits - other).abs().max() > 0.02 for other in answers.values())
            answers[training, gradients] = logits.detach()
    assert set(answers[True, True].argmax(dim=1).tolist()) == {0, 1}


@pytest.mark.parametrize("inputs", [STORED, *HIDDEN])
def test_clipping_gradients_to_length_one_changes_nothing(inputs):
    model = make_model(inputs).train()
    for batch in make_batches(inputs):
        model.zero_grad()
        model(**batch["text_encoding"], labels=batch["label_encoding"]).loss.backward()
        assert torch.nn.utils.clip_grad_norm_(model.parameters(), 1e9) < 0.95


def test_it_is_used_as_any_model_of_the_library():
    model = make_model().train(False)
    batch = make_batches(STORED)[0]
    text, labels = batch["text_encoding"], batch["label_encoding"]
    outputs = model(**text, labels=labels)
    assert outputs.logits.shape == (len(labels), 2) and outputs["loss"] is outputs.loss
    loss, logits = model(**text, labels=labels)[:2]
    assert torch.equal(loss, outputs.loss) and torch.equal(logits, outputs.logits)
    assert torch.equal(model(**text, return_dict=False)[0], outputs.logits)
    assert model(**text).loss is None
    assert model.device == torch.device("cpu") and model.config.num_labels == model.num_labels == 2
    expected = torch.nn.functional.cross_entropy(outputs.logits, labels)
    assert np.isclose(float(loss.detach()), float(expected.detach()))
    with pytest.raises(TypeError, match="label"):
        model(**text, label=labels)
