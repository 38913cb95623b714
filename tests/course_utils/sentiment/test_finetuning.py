"""Helpers around the learner's functions: batches, searches, optimizers, precision."""

import json
import re

import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from autograder.bench import pipeline
from course_utils.checks.values import StillOpen
from course_utils.sentiment import finetuning, sources
from course_utils.sentiment.finetuning import (
    LikeLengthBatches,
    compare_optimizers,
    make_like_length_dataloaders,
    measure_padding,
    mixed_precision,
    search,
)
from course_utils.sentiment.resuming import train_resumably
from course_utils.sentiment.sources import Settings
from tests.course_utils import sixteen_bits
from tests.course_utils.tiny import (
    load_splits,
    load_tokenizer,
    make_tiny_datasets,
    make_tiny_model,
    make_tiny_run,
    save_tiny_bert,
)


def make_model():
    return make_tiny_model(len(load_tokenizer()))


def test_like_length_batches_hold_every_example_once():
    torch.manual_seed(0)
    lengths = torch.randint(5, 50, (103,))
    batches = LikeLengthBatches(lengths, 10)
    first, second = list(batches), list(batches)
    assert len(batches) == len(first) == 11
    assert sorted(index for batch in first for index in batch) == list(range(103))
    assert first != second  # a new order every pass
    spreads = [(lengths[batch].max() - lengths[batch].min()).item() for batch in first]
    assert max(spreads) <= 12


def test_like_length_batches_pad_less_and_keep_labels_with_their_texts():
    datasets = make_tiny_datasets(train=200)
    loaders = make_like_length_dataloaders(datasets, 16)
    assert measure_padding(loaders["train"]) < 0.1
    assert measure_padding(pipeline.make_dataloaders(datasets, 16)["train"]) > 0.25
    labels = {row["text"]: row["label"] for row in load_splits()["train"]}
    for batch in loaders["train"]:
        texts = load_tokenizer().batch_decode(batch["text_encoding"]["input_ids"], True)
        assert [labels[text] for text in texts] == batch["label_encoding"].tolist()


CHOICES = [Settings(16, 1e-3, 2, 1), Settings(8, 1e-2, 1, 1)]


def test_search_tables_its_runs_and_keeps_the_best_model(tmp_path):
    runs = search(pipeline.main, make_model, make_tiny_datasets(), CHOICES, tmp_path)
    assert [run["batch_size"] for run in runs] == [16, 8]
    assert runs.best["validation_accuracy"] == max(run["validation_accuracy"] for run in runs)
    best = AutoModelForSequenceClassification.from_pretrained(tmp_path / "best")
    loader = make_like_length_dataloaders(make_tiny_datasets(), 16)["validation"]
    measured = pipeline.evaluate(best, loader)["accuracy"]
    assert measured == pytest.approx(runs.best["validation_accuracy"])
    assert "0.01" in repr(runs) and "* best on the validation split" in repr(runs)
    assert runs._repr_html_().count("<tr>") == 3


def test_search_goes_on_where_it_was_cut_off(tmp_path):
    calls = []

    def main(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return pipeline.main(*arguments)

    with pytest.raises(KeyboardInterrupt):
        search(main, make_model, make_tiny_datasets(), CHOICES, tmp_path)
    runs = search(main, make_model, make_tiny_datasets(), CHOICES, tmp_path)
    assert len(runs) == 2 and len(calls) == 3
    assert json.loads((tmp_path / "runs.json").read_text()) == runs


def test_search_says_how_many_runs_it_did_not_train(tmp_path, capsys):
    def say(choices):
        search(pipeline.main, make_model, make_tiny_datasets(), choices, tmp_path)
        return " ".join(capsys.readouterr().out.split())

    delete = "To start over, delete that folder."
    assert "read from" not in say(CHOICES[:1])
    read = f"1 of 2 runs was read from {tmp_path}; the rest is trained now. {delete} run 2: "
    assert say(CHOICES).startswith(read)
    assert say(CHOICES) == f"2 of 2 runs were read from {tmp_path}; nothing was trained. {delete}"


def test_search_never_shows_the_test_split(tmp_path):
    seen = []

    def main(model, loaders, optimizer, num_epochs, folder):
        seen.extend(loaders)
        return pipeline.main(model, loaders, optimizer, num_epochs, folder)

    datasets = make_tiny_datasets()
    search(main, make_model, {**datasets, "test": datasets["train"]}, CHOICES[:1], tmp_path)
    assert seen == ["train", "validation"]


def test_optimizers_all_start_from_the_same_weights(tmp_path):
    starts = []

    def main(model, loaders, optimizer, num_epochs, folder):
        starts.append(model.classifier.dense.weight.detach().clone())
        return pipeline.main(model, loaders, optimizer, num_epochs, folder)

    _, loaders, _ = make_tiny_run()
    makers = {
        "AdamW": lambda parameters: torch.optim.AdamW(parameters, lr=1e-3),
        "SGD": lambda parameters: torch.optim.SGD(parameters, lr=1e-3),
    }
    histories = compare_optimizers(main, make_model, loaders, makers, 2, tmp_path)
    assert list(histories) == ["AdamW", "SGD"]
    assert [len(history) for history in histories.values()] == [2, 2]
    assert torch.equal(*starts)
    assert histories["AdamW"] != histories["SGD"]


def test_without_a_gpu_precision_stays_and_is_said(capsys):
    model, loaders, optimizer = make_tiny_run()
    plain = pipeline.train_one_epoch(model, loaders["train"], optimizer, 1)
    model, loaders, optimizer = make_tiny_run()
    with mixed_precision(model, optimizer):
        assert pipeline.train_one_epoch(model, loaders["train"], optimizer, 1) == plain
    assert "needs a GPU" in capsys.readouterr().out


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_sixteen_bits_train_almost_alike(dtype):
    """The machinery for GPUs, on the CPU: same losses nearly, and everything put back after."""
    sixteen_bits.require(str(dtype).removeprefix("torch."))
    model, loaders, optimizer = make_tiny_run()
    plain = [pipeline.train_one_epoch(model, loaders["train"], optimizer, e) for e in (1, 2)]
    model, loaders, optimizer = make_tiny_run()
    kinds = set()
    watch = model.classifier.dense.register_forward_hook(lambda *args: kinds.add(args[2].dtype))
    with finetuning._computing_in(dtype, "cpu", model, optimizer):
        mixed = [pipeline.train_one_epoch(model, loaders["train"], optimizer, e) for e in (1, 2)]
    watch.remove()
    assert kinds == {dtype}
    for one, other in zip(plain, mixed, strict=True):
        assert one["loss"] == pytest.approx(other["loss"], rel=0.02)
    assert all(weight.dtype is torch.float32 for weight in model.parameters())
    assert "forward" not in vars(model)


def test_gradients_are_enlarged_on_the_way_and_right_at_the_step():
    sixteen_bits.require("float16")
    model, loaders, optimizer = make_tiny_run()
    model.train(False)  # no dropout: both passes see the same
    batch = next(iter(loaders["train"]))
    weight = model.classifier.dense.weight

    def get_gradient():
        optimizer.zero_grad()
        model(**batch["text_encoding"], labels=batch["label_encoding"]).loss.backward()
        return weight.grad.clone()

    plain = get_gradient()
    seen = []
    with finetuning._computing_in(torch.float16, "cpu", model, optimizer):
        enlarged = get_gradient()
        watch = optimizer.register_step_pre_hook(lambda *_: seen.append(weight.grad.clone()))
        optimizer.step()
        watch.remove()
    assert torch.allclose(enlarged / 1024, plain, atol=2e-3)
    assert torch.allclose(seen[0], plain, atol=2e-3)


def test_a_step_with_an_overflow_is_left_out():
    sixteen_bits.require("float16")
    model, loaders, optimizer = make_tiny_run()
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    with finetuning._computing_in(torch.float16, "cpu", model, optimizer):
        batch = next(iter(loaders["train"]))
        model(**batch["text_encoding"], labels=batch["label_encoding"]).loss.backward()
        model.classifier.dense.weight.grad[0, 0] = float("inf")
        optimizer.step()
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, before[name]), name


def test_a_bert_like_folder_goes_through_unchanged(tmp_path):
    """Its tokenizer makes token_type_ids, which RoBERTa's does not; its padding is token 0."""
    folder = tmp_path / "bert"
    save_tiny_bert(folder)
    name = sources.find_model(str(folder))
    tokenizer = AutoTokenizer.from_pretrained(name)
    splits = {split: rows[:24] for split, rows in load_splits().items()}
    datasets = pipeline.make_datasets(tokenizer, splits)
    batch = next(iter(pipeline.make_dataloaders(datasets, 8)["train"]))
    assert "token_type_ids" in batch["text_encoding"]

    def make_bert():
        return AutoModelForSequenceClassification.from_pretrained(name)

    runs = search(pipeline.main, make_bert, datasets, [Settings(8, 1e-3, 1)], tmp_path / "runs")
    assert len(runs) == 1


def test_a_long_training_asks_first(capsys):
    dataloaders = finetuning.make_like_length_dataloaders(make_tiny_datasets(), 4)
    model = make_model()
    before = [parameter.clone() for parameter in model.parameters()]
    dice = torch.get_rng_state()
    assert finetuning.estimate_training(model, dataloaders, 2) is None  # a cell would show a number
    assert "2 epochs of" in capsys.readouterr().out
    with pytest.raises(finetuning.LongTraining, match="PATIENT = True"):
        finetuning.estimate_training(model, dataloaders, 2, limit=0)
    finetuning.estimate_training(model, dataloaders, 2, patient=True, limit=0)
    for parameter, old in zip(model.parameters(), before, strict=True):
        assert torch.equal(parameter, old) and parameter.grad is None
    assert torch.equal(torch.get_rng_state(), dice)


def train_nothing(*_):
    return [{"epoch": 1, "validation": {"accuracy": 0.5}}]


def test_a_learning_curve_ends_with_all_examples(tmp_path):
    datasets = make_tiny_datasets()
    curves = finetuning.measure_learning_curve(
        train_nothing, {"one": make_model}, datasets, (1, 10**6), sources.Settings(2), 1, tmp_path
    )
    assert list(curves["one"]) == [1, len(datasets["train"])]


OPEN = {
    "search": lambda folder: search(None, None, ..., CHOICES, folder),
    "compare_optimizers": lambda folder: compare_optimizers(None, None, ..., {}, 1, folder),
    "measure_learning_curve": lambda folder: finetuning.measure_learning_curve(
        None, {}, ..., (50,), CHOICES[0], folder=folder
    ),
    "estimate_training": lambda folder: finetuning.estimate_training(None, ..., 1),
    "train_resumably": lambda folder: train_resumably(None, None, ..., None, 1, folder),
    "load_raw_splits": lambda folder: sources.load_raw_splits(...),
}


@pytest.mark.parametrize("name", OPEN)
def test_an_open_todo_is_named_in_a_sentence(name, tmp_path):
    with pytest.raises(StillOpen) as caught:
        OPEN[name](tmp_path / "runs")
    (shown,) = caught.value._render_traceback_()
    assert re.match(r"This needs `(datasets|dataloaders|tokenizer)`, which is still `...`", shown)
    assert list(tmp_path.iterdir()) == []


def test_a_learning_curve_has_as_many_steps_for_few_examples_as_for_many(tmp_path):
    seen = []

    def main(model, dataloaders, optimizer, num_epochs, folder):
        batches = list(dataloaders["train"])
        seen.append(
            (len(batches), {tuple(b["text_encoding"]["input_ids"][0].tolist()) for b in batches})
        )
        return [{"epoch": 1, "validation": {"accuracy": len(seen) / 10}}]

    datasets, whole = make_tiny_datasets(), len(make_tiny_datasets()["train"])
    curves = finetuning.measure_learning_curve(
        main, {"one": make_model, "two": make_model}, datasets, [1, whole],
        sources.Settings(batch_size=2), steps=5, folder=tmp_path / "curve",
    )  # fmt: skip
    assert curves == {"one": {1: 0.1, whole: 0.2}, "two": {1: 0.3, whole: 0.4}}
    assert [steps for steps, _ in seen] == [5] * 4
    assert len(seen[0][1]) == 1 and len(datasets["train"]) == whole
