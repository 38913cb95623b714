"""Notebook 3's public checks: they name mistakes at once, hold no answer and leave nothing behind."""

import ast
import contextlib
import inspect

import numpy as np
import pytest
import torch

from autograder.exercises import find_exercises
from autograder.exercises.attention import finetune_roberta
from autograder.exercises.attention.finetune_roberta_code import ORACLES
from course_utils.checks import CheckFailed, check, finetuning_trials
from course_utils.checks.answer_numbers import load_answers
from course_utils.checks.finetuning import NAMES
from course_utils.checks.finetuning_words import WORDS

EXERCISES = find_exercises("attention.finetune_roberta")
RIGHT = finetune_roberta.list_pieces(ORACLES)
MISTAKES = [(name, mistake) for name in NAMES for mistake in EXERCISES[name].mistakes]


def label(value):
    return getattr(value, "diagnosis", value if value in NAMES else "")


@pytest.mark.parametrize("name, mistake", MISTAKES, ids=label)
def test_a_known_mistake_is_named(name, mistake):
    finding = finetune_roberta.examine_code(name, mistake.code)
    assert not finding.passed
    assert finding.diagnosis == mistake.diagnosis, finding
    assert finding.sentence == WORDS[mistake.diagnosis]
    assert not any("second thing" in fact for fact in finding.facts), finding


@pytest.mark.parametrize("name", NAMES)
def test_right_work_passes(name):
    for text in (EXERCISES[name].oracle, *EXERCISES[name].variants):
        finding = finetune_roberta.examine_code(name, text)
        assert finding.passed, (finding, text)


def test_every_sentence_is_one_that_somebody_can_meet():
    met = {mistake.diagnosis for _, mistake in MISTAKES}
    unmet = {"todo-open", "not-defined", "not-a-function", "raised", "samples-changed",
             "not-a-number", "wrong-tokens", "wrong-weights", "wrong-loss", "wrong-accuracy",
             "wrong-epoch-saved", "wrong-history", "other-batches"}  # fmt: skip
    assert set(WORDS) == met | unmet
    for slug, sentence in WORDS.items():
        assert sentence.endswith((".", "?", ")")) and len(sentence) > 15, slug


def test_a_check_speaks_in_a_sentence(capsys):
    namespace = finetune_roberta.make_namespace(*RIGHT)
    check("compute_accuracy", namespace["compute_accuracy"])
    assert "public check passed" in capsys.readouterr().out
    with pytest.raises(CheckFailed, match="two evaluations would differ"):
        wrong = finetune_roberta.make_namespace(*RIGHT, EXERCISES["evaluate"].mistakes[0].code)
        check("evaluate", wrong["evaluate"])


def test_a_check_is_quiet_and_leaves_everything_as_it_was(capsys):
    noisy = EXERCISES["train_one_epoch"].variants[2]  # prints; another one draws bars
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    gpu = torch.cuda.is_available()
    namespace = finetune_roberta.make_namespace(*RIGHT, noisy)
    namespace["SST2Dataset"].tokenizer = "mine"
    device = namespace["DEVICE"]
    for name in NAMES:
        others = {"SST2Dataset": namespace["SST2Dataset"]} if name == "make_dataloaders" else {}
        with contextlib.suppress(CheckFailed):
            check(name, namespace["SST2Dataset" if name == "collate_fn" else name], **others)
    captured = capsys.readouterr()
    assert captured.out.count("public check passed") == len(NAMES) and captured.err == ""
    assert torch.equal(torch.get_rng_state(), state) and torch.get_num_threads() == threads
    assert namespace["SST2Dataset"].tokenizer == "mine" and namespace["DEVICE"] is device
    assert torch.cuda.is_available() is gpu and torch.is_grad_enabled()


def test_an_error_in_main_is_not_blamed_on_the_collate_function():
    text = change("main", ("model.save_pretrained(", "tokenizer.save_pretrained("))
    finding = finetune_roberta.examine_code("main", text)
    assert finding.diagnosis == "raised" and "tokenizer" in finding.facts[0]


@pytest.mark.parametrize("start, remarked", [("-1.0", False), ("0.0", True)])
def test_a_best_so_far_of_zero_passes_with_a_remark(start, remarked):
    finding = finetune_roberta.examine_code("main", change("main", ("-1.0", start)))
    assert finding.passed
    assert any("best so far" in fact for fact in finding.facts) is remarked


def test_facts_are_plain_english():
    shorter = change("collate_fn", ("512", "510"))
    assert "For 1 text input_ids" in finetune_roberta.examine_code("collate_fn", shorter).facts[0]
    unstepped = change("train_one_epoch", ("        optimizer.step()\n", ""))
    (fact,) = finetune_roberta.examine_code("train_one_epoch", unstepped).facts
    assert fact == "Calls for 3 batches: backward 3, step 0, zero_grad 3."


def test_the_trials_hold_no_training_and_no_evaluation():
    tree = ast.parse(inspect.getsource(finetuning_trials))
    called = {
        node.func.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    assert not called & {"backward", "argmax", "eval"}


def test_the_stored_numbers_are_numbers():
    assert load_answers("finetuning")
    for name, stored in load_answers("finetuning").items():
        assert name in NAMES and stored["right"]
        for value in stored["right"].values():
            assert isinstance(value, np.ndarray)


# ------------------------------------------------------------------------ the pretended GPU


def test_the_pretended_gpu_refuses_what_a_gpu_refuses():
    gpu, real = finetuning_trials.PretendedGPU(), torch.cuda.is_available()
    weight = finetuning_trials.put_there(torch.ones(3))
    with gpu:
        assert torch.cuda.is_available()
        here = torch.arange(3.0)
        assert weight.device.type == "cuda" and here.device.type == "cpu" and weight.is_cuda
        with pytest.raises(RuntimeError, match="same device"):
            weight + here
        with pytest.raises(TypeError, match="numpy"):
            weight.numpy()
        for moved in (here.to(weight.device), here.cuda(), here.to("cuda"), here.to(weight)):
            assert (weight + moved).device.type == "cuda"
        assert (weight.cpu() + here).device.type == "cpu"
        assert torch.zeros(3, device=weight.device).device.type == "cuda"
        assert weight.sum().item() == 3.0 and (2 * weight).tolist() == [2.0] * 3
        assert here.to(torch.float64).device.type == "cpu"
        assert here.type_as(weight).device.type == "cuda" and weight.type_as(here).is_cuda is False
        assert weight[torch.arange(2)].device.type == "cuda"  # an index may stay on the CPU
        with pytest.raises(RuntimeError, match="same device"):
            here[torch.zeros(2, dtype=torch.long, device="cuda")]
        listed = [
            weight.sum(),
            weight[0],
        ]  # numbers in a list: torch reads them, the result is here
        assert (torch.tensor(listed) + torch.zeros(2)).device.type == "cpu"
        assert torch.tensor(listed, device="cuda").is_cuda and torch.stack(listed).is_cuda
        weight[0] = here[0]
        weight[:2] = here[:2]  # copies, between devices too
        with pytest.raises(RuntimeError, match="same device"):
            weight[torch.arange(2)] = here[:2]
    assert torch.cuda.is_available() is real and weight.device.type == "cpu"


def test_a_number_on_the_cpu_takes_nothing_from_a_gpu_in_place():
    weight = finetuning_trials.put_there(torch.ones(3))
    with finetuning_trials.PretendedGPU():
        total = torch.tensor(0.0)
        assert (total + weight.sum()).device.type == "cuda"
        for add in (total.__iadd__, total.add_, total.mul_):
            with pytest.raises(RuntimeError, match="same device"):
                add(weight.sum())
        total.copy_(weight.sum())
        there = weight.sum()
        there += total
        assert there.item() == 6.0 and there.is_cuda and not total.is_cuda


def test_pretending_finds_devices_wherever_they_are_kept_and_puts_them_back():
    import types

    from course_utils.checks.pretended_gpu import pretending

    space = {"__name__": "__main__", "torch": torch, "types": types}
    exec(
        "one, two, unused = torch.device('cpu'), 'cpu', 'cpu'\n"
        "settings, bag = {'device': 'cpu', 'seed': 4}, types.SimpleNamespace(place='cpu')\n"
        "class CFG:\n    device = torch.device('cpu')\n"
        "class Runner:\n"
        "    def __init__(self):\n        self.device = 'cpu'\n"
        "    def run(self):\n"
        "        places = one, two, settings['device'], bag.place, CFG.device, self.device, *self.more()\n"
        "        return [torch.zeros(2, device=place).is_cuda for place in places]\n"
        "    def more(self):\n        return [(lambda: inner)()]\n"
        "inner = 'cpu'\n"
        "runner = Runner()\n",
        space,
    )

    def look():
        kept = space["CFG"].device, space["runner"].device, space["bag"].place
        return *kept, dict(space["settings"]), *(space[name] for name in ("one", "two", "inner"))

    before = look()
    with pretending(finetuning_trials.PretendedGPU(), space["runner"].run):
        assert space["runner"].run() == [True] * 7
        assert space["unused"] == "cpu" and space["settings"]["seed"] == 4
    assert look() == before


def test_an_accelerator_is_pretended_too_and_forgotten_afterwards():
    accelerator = getattr(torch, "accelerator", None)
    if accelerator is None:
        pytest.skip("this torch has no torch.accelerator")
    real = accelerator.is_available, accelerator.current_accelerator
    gpu = finetuning_trials.PretendedGPU()
    with gpu:
        assert accelerator.is_available() and accelerator.current_accelerator().type == "cuda"
        with gpu.pause():
            assert accelerator.is_available is real[0]
        assert accelerator.is_available()
    assert (accelerator.is_available, accelerator.current_accelerator) == real


def change(name, *pairs):
    text = ORACLES[name]
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize(
    ("name", "pairs", "first", "second"),
    [
        ("evaluate", [("@torch.no_grad()\n", ""), ("    model.eval()\n", "")],
         "eval-mode-forgotten", "no-grad-forgotten"),
        ("evaluate", [("outputs.loss.item() * len(label)", "outputs.loss.item()"),
                      ("total_loss / len(labels)", "total_loss / len(dataloader)"),
                      ("compute_accuracy(predictions, labels)", "compute_accuracy(outputs.logits.argmax(dim=-1), label)")],
         "loss-mean-of-batches", "accuracy-of-last-batch"),
        ("main", [("range(1, num_epochs + 1)", "range(num_epochs)"),
                  ('validation["accuracy"] > best', "True")], "epochs-from-zero", "saves-last"),
    ],
)  # fmt: skip
def test_two_mistakes_are_named_as_two(name, pairs, first, second):
    finding = finetune_roberta.examine_code(name, change(name, *pairs))
    assert finding.diagnosis == first
    assert any(WORDS[second] in fact for fact in finding.facts), finding
