"""A public check tries a learner's code and leaves nothing behind; a fault has one name everywhere."""

import contextlib
import random

import numpy as np
import pytest
import torch
from torch import nn

from course_utils.checks import (
    CheckFailed,
    check,
    comparing,
    finetuning,
    pretraining,
    set_findings,
    translation,
)
from course_utils.checks.findings import misses_gpu
from course_utils.checks.undisturbed import undisturbed


class MeanPoolAttention(nn.Module):
    def forward(self, hidden, outputs, mask):
        print("looking")
        return torch.rand(outputs.shape[0], outputs.shape[2]), mask.float()


def _shout(A):
    print("shouting")
    return torch.softmax(A, dim=-1)


@pytest.mark.parametrize("name, value", [("MeanPoolAttention", MeanPoolAttention), ("attn_softmax", _shout)])  # fmt: skip
def test_the_dice_fall_after_a_check_as_they_would_have_without_it(name, value):
    def throw():
        return random.random(), np.random.rand(), float(torch.rand(1))

    for seed in (random.seed, np.random.seed, torch.manual_seed):
        seed(123)
    wanted = throw()
    for seed in (random.seed, np.random.seed, torch.manual_seed):
        seed(123)
    with contextlib.suppress(CheckFailed):
        check(name, value)
    assert throw() == wanted


def test_a_trial_puts_torchs_seed_back_by_itself():
    from course_utils.checks.translation_trials import run_trial

    torch.manual_seed(123)
    before = torch.get_rng_state()
    inputs = {"one.hidden": np.zeros((1, 2)), "one.outputs": np.zeros((3, 1, 2)), "one.mask": np.ones((1, 3), bool)}  # fmt: skip
    run_trial("MeanPoolAttention", {"MeanPoolAttention": MeanPoolAttention}, inputs, device=False)
    assert torch.equal(torch.get_rng_state(), before)


def test_what_a_learners_function_prints_is_not_shown(capsys):
    check("attn_softmax", _shout)
    said = capsys.readouterr().out
    assert "public check passed" in said and "shouting" not in said


def test_errors_inside_put_the_dice_back_too():
    torch.manual_seed(5)
    before = torch.get_rng_state()
    with pytest.raises(ValueError), undisturbed():
        torch.rand(3)
        raise ValueError
    assert torch.equal(torch.get_rng_state(), before)


NO_GPU = [
    "AssertionError: Torch not compiled with CUDA enabled",
    "RuntimeError: Found no NVIDIA driver on your system.",
    "RuntimeError: No CUDA GPUs are available",
    "RuntimeError: Cannot access accelerator device when none is available.",
    "RuntimeError: Unexpected error from cudaGetDeviceCount(). CUDA driver initialization failed",
]


def _name_everywhere(words):
    problem = f"raised|{words}"
    return [
        comparing._judge_problem({"name": "one"}, problem).kind,
        finetuning._read_problem(problem)[0],
        translation._read_problem(problem)[0],
        pretraining._read_problem("make_pair", problem)[0],
        set_findings.find_problem({"0.problem": problem}, 1, "a list").diagnosis,
    ]


@pytest.mark.parametrize("words", NO_GPU)
def test_a_missing_gpu_is_one_mistake_everywhere(words):
    assert misses_gpu(words)
    assert set(_name_everywhere(words)) == {"hard-coded-device"}


def test_a_comment_in_a_learners_line_decides_nothing():
    for comment in (*NO_GPU, "as the step wants it", "encode wants it", "empty range", "token_type_ids"):  # fmt: skip
        words = f"KeyError: 'a' [line 7 of your cell: d['a']  # {comment}]"
        assert set(_name_everywhere(words)) == {"raised"}, comment
        slug, _ = pretraining._read_problem("corrupt_span", f"raised|{words}")
        assert slug == "raised", comment
        assert not list(translation._check_device(f"raised|{words}")), comment


@pytest.mark.parametrize(
    "line",
    ["model.table", "getattr(model, 'dia' + 'ry')", "vars(model)", "model.__dict__", "model.diary = []"],
)  # fmt: skip
def test_what_a_question_lends_shows_nobody_its_insides(line):
    from course_utils.checks.translation_trials import ProbeTranslator

    model = ProbeTranslator(np.zeros((2, 3, 3)), "cpu")
    space = {"model": model}
    with pytest.raises((AttributeError, TypeError)):
        exec(compile(line, "<cell>", "exec"), space)
    honest = "model.eval(); model.training; list(model.modules()); next(model.parameters()).device"
    exec(compile(f"{honest}; model.state_dict(); model.train(True)", "<cell>", "exec"), space)
    assert model.diary == [] and model.table.shape == (2, 3, 3), "the course itself may look"
