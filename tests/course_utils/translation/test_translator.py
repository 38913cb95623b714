"""Data, model and training of the translation notebook."""

import json
import os

import pytest
import torch
from torch import nn

from autograder.experiments.translation import load_references, make_attentions
from course_utils import hub
from course_utils.language_model.corpus import PAD
from course_utils.translation import data as sources
from course_utils.translation.data import collate, make_batches, make_data, split_words
from course_utils.translation.evaluation import (
    align,
    align_text,
    choose_examples,
    group_by_length,
    measure_bleu,
    measure_sentences,
)
from course_utils.translation.grammar import generate_pairs
from course_utils.translation.model import DummyAttention, Translator, remember_projections
from course_utils.translation.training import History, OtherRun, Settings, measure_loss, train
from tests.course_utils.fake_hub import serve_hub


@pytest.fixture(scope="module")
def data():
    pairs, _ = generate_pairs(300, seed=1)
    return make_data(
        "own", "", {"train": pairs[:200], "validation": pairs[200:250], "test": pairs[250:]}
    )


def make_model(data, kind="scaled dot product", seed=0):
    torch.manual_seed(seed)
    attention = make_attentions()[kind]()
    return Translator(len(data.german), len(data.english), attention, emb_dim=16)


# -------------------------------------------------------------------------------------- data


def test_words_and_marks():
    assert split_words("Zwei Männer, im Freien.") == ["zwei", "männer", ",", "im", "freien", "."]
    assert split_words("A man's 2 hats!") == ["a", "man's", "2", "hats", "!"]


def test_batches_are_of_like_length_and_lose_nobody(data):
    batches = make_batches(data.train, 16, seed=3)
    assert sorted(i for batch in batches for i in batch) == list(range(200))
    assert batches != make_batches(data.train, 16, seed=4)
    places = words = 0
    for batch in batches:
        made = collate([data.train[i] for i in batch])
        places, words = places + made.source.numel(), words + int(made.mask.sum())
        assert torch.equal(made.mask, made.source != PAD)
    assert words / places > 0.9


def test_real_files_are_read_and_counted(tmp_path, monkeypatch):
    folder = tmp_path / "multi30k"
    folder.mkdir()
    counts = {"train": 30, "validation": 4, "test": 3}
    monkeypatch.setattr(sources, "MULTI30K_COUNTS", counts)
    monkeypatch.setenv("COURSE_DATA", str(tmp_path))
    for split, stem in sources.MULTI30K_FILES.items():
        (folder / f"{stem}.de").write_text("Ein Mann schläft.\n" * counts[split], "utf-8")
        (folder / f"{stem}.en").write_text("A man sleeps.\n" * counts[split], "utf-8")
    loaded = sources.load_data()
    assert loaded.name == "multi30k" and "COURSE_DATA" in loaded.description
    assert loaded.german.decode(loaded.train[0][0]) == "<START> ein mann schläft . <STOP>"
    (folder / "val.en").write_text("A man sleeps.\n")
    with pytest.raises(ValueError, match=r"val\.en holds 1 lines"):
        sources.load_data()
    (folder / "val.en").unlink()
    with pytest.raises(FileNotFoundError, match=r"without val\.en"):
        sources.load_data()


@pytest.mark.xdist_group("hub")
def test_the_hub_is_asked_by_its_usual_call(tmp_path, monkeypatch):
    import datasets
    from huggingface_hub import constants

    folder = tmp_path / "repository"
    folder.mkdir()
    for split in ("train", "validation", "test"):
        row = json.dumps({"de": "Ein Mann schläft.", "en": "A man sleeps."})
        (folder / f"{split}.jsonl").write_text(f"{row}\n" * 5, "utf-8")
    monkeypatch.delenv("COURSE_DATA", raising=False)
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    monkeypatch.setenv("HF_HUB_DISABLE_XET", "1")
    with serve_hub({f"datasets/{sources.HUB_DATA}": folder}) as server:
        for place in (constants, datasets.config):
            monkeypatch.setattr(place, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "ENDPOINT", server.address)
        hub._last_asked.clear()
        problem = hub._find_problem(sources.HUB_DATA, "dataset")
    assert problem is None
    assert any(sources.HUB_DATA in asked for asked in server.asked)


def test_without_hub_and_files_it_is_our_own(monkeypatch):
    monkeypatch.delenv("COURSE_DATA", raising=False)
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    monkeypatch.setattr(sources, "OWN_COUNTS", {"train": 50, "validation": 5, "test": 5})
    monkeypatch.setattr(hub, "fetch", lambda *_: (None, "The hub cannot be reached."))
    loaded = sources.load_data()
    assert loaded.name == "own" and loaded.problem == "The hub cannot be reached."
    assert f"{loaded.entropy:.3f}" in loaded.description
    rows = [{"de": "Ein Mann.", "en": "A man."}] * 4
    found = {split: rows for split in sources.MULTI30K_FILES}
    monkeypatch.setattr("datasets.load_dataset", lambda name: found)
    monkeypatch.setattr(hub, "fetch", lambda get, *_: (get(), None))
    assert "from the Hugging Face hub" in sources.load_data().description
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    assert "grading run" in sources.load_data().description


# ------------------------------------------------------------------------------------- model


@pytest.mark.parametrize("kind", ["scaled dot product", "mean pool", "dummy"])
def test_padding_changes_nothing(data, kind):
    model = make_model(data, kind).eval()
    pairs = sorted(data.train[:6], key=lambda pair: len(pair[0]))
    together = model.token_losses(collate(pairs))
    alone = torch.cat([model.token_losses(collate([pair])) for pair in pairs])
    assert torch.allclose(together, alone, atol=1e-5)


def test_reading_along_is_stepping_with_the_right_words(data):
    model = make_model(data).eval()
    batch = collate(data.train[:3])
    logits = model(batch)
    outputs, hidden = model.encode(batch.source, batch.mask)
    for t in range(batch.target.shape[1] - 1):
        step, hidden, weights = model.step(batch.target[:, t], hidden, outputs, batch.mask)
        assert torch.allclose(step, logits[:, t], atol=1e-5)
        assert torch.allclose(weights.sum(dim=1), torch.ones(3), atol=1e-5)
    masked_loss = load_references()["masked_loss"]
    yours = masked_loss(logits, batch.target[:, 1:], PAD)
    assert torch.allclose(yours, model.mean_loss(batch), atol=1e-5)


def test_projections_are_worked_out_once_per_sentence(data):
    model = make_model(data)
    calls = []
    hook = model.attention.k_proj.register_forward_hook(lambda *_: calls.append(1))
    plain = nn.Linear.forward
    asked = []
    model.attention.k_proj.__class__ = type("Counted", (nn.Linear,), {
        "forward": lambda self, x: (asked.append(1), plain(self, x))[1]
    })  # fmt: skip
    model.mean_loss(collate(data.train[:4]))
    hook.remove()
    assert len(calls) > 1 and len(asked) == 1
    assert "forward" not in vars(model.attention.k_proj)


def test_a_remembered_answer_that_was_changed_is_worked_out_again():
    layer = nn.Linear(2, 2)
    module = nn.ModuleList([layer])
    x = torch.randn(3, 2)
    with torch.no_grad(), remember_projections(module):
        first = layer(x)
        right = first.clone()
        first.mul_(2)
        assert torch.equal(layer(x), right)
        x.mul_(3)
        assert not torch.equal(layer(x), right)


def test_dummy_attention_tells_nothing():
    mask = torch.tensor([[True, True, False], [True, False, False]])
    attended, weights = DummyAttention()(torch.randn(2, 4), torch.randn(2, 3, 6).double(), mask)
    assert attended.shape == (2, 6) and not attended.any() and weights.dtype == torch.float64
    assert weights.tolist() == [[0.5, 0.5, 0], [1, 0, 0]]


# ---------------------------------------------------------------------------------- training


def test_a_training_that_was_interrupted_ends_as_if_it_had_not_been(
    data, tmp_path, monkeypatch, capsys
):
    settings = Settings(epochs=3, batch_size=50)
    whole = make_model(data)
    expected = train(whole, data, settings, "whole")

    broken = make_model(data)
    measured = []

    def stop(model, pairs):
        measured.append(1)
        if len(measured) == 3:
            raise KeyboardInterrupt
        return measure_loss(model, pairs)

    monkeypatch.setattr("course_utils.translation.training.measure_loss", stop)
    with pytest.raises(KeyboardInterrupt):
        train(broken, data, settings, "broken", tmp_path)
    monkeypatch.undo()
    assert "Stopped after 2 of 3 epochs. They are saved in" in capsys.readouterr().out
    again = make_model(data, seed=5)
    history = train(again, data, settings, "broken", tmp_path)
    assert "going on after epoch 2" in capsys.readouterr().out
    assert history.validation_losses == pytest.approx(expected.validation_losses, abs=1e-5)
    for one, other in zip(whole.parameters(), again.parameters(), strict=True):
        assert torch.allclose(one, other, atol=1e-5)
    assert not again.training
    with pytest.raises(OtherRun, match="other settings"):
        train(make_model(data), data, Settings(epochs=4), "broken", tmp_path)
    with pytest.raises(OtherRun, match="another kind"):
        train(make_model(data, "dummy"), data, settings, "broken", tmp_path)
    (tmp_path / "broken.pt").write_bytes(b"nothing")
    with pytest.raises(OtherRun, match="cannot be read"):
        train(make_model(data), data, settings, "broken", tmp_path)


def test_the_best_epoch_is_kept(data, monkeypatch):
    losses = iter([3.0, 1.0, 2.0])
    seen = []

    def measure(model, pairs):
        seen.append([weight.clone() for weight in model.parameters()])
        return next(losses)

    monkeypatch.setattr("course_utils.translation.training.measure_loss", measure)
    model = make_model(data, "dummy")
    history = train(model, data, Settings(epochs=3, batch_size=100), "x")
    assert history.best["epoch"] == 2
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), seen[1], strict=True))


def test_a_history_survives_a_file(data, tmp_path):
    history = train(make_model(data, "dummy"), data, Settings(epochs=1, batch_size=100), "x")
    history.save(tmp_path / "runs" / "x.json")
    assert History.load(tmp_path / "runs" / "x.json") == history
    assert history.train_losses[0] > history.validation_losses[0] > 0


# -------------------------------------------------------------------------------- evaluation


def test_losses_by_sentence_and_length(data):
    model = make_model(data)
    losses = measure_sentences(model, data.validation)
    lengths = [len(target) - 1 for _, target in data.validation]
    mean = sum(a * n for a, n in zip(losses, lengths, strict=True)) / sum(lengths)
    assert mean == pytest.approx(measure_loss(model, data.validation), rel=1e-4)
    groups = group_by_length(data.validation, losses)
    assert sum(count for _, count in groups.values()) == len(data.validation)
    assert all(high - low == 4 and low % 5 == 1 for low, high in groups)


def test_bleu_and_pictures(data, capsys):
    model = make_model(data)
    right = {tuple(source): target[1:-1] for source, target in data.test}
    bleu, said = measure_bleu(lambda model, source, n: right[tuple(source)], model, data, 20)
    assert bleu == pytest.approx(100) and len(said) == 20
    assert measure_bleu(lambda *_: [7], model, data, 20)[0] < 1
    source, target = data.test[0]
    found = align(model, data, source, target[1:-1])
    assert found.weights.shape == (len(target) - 1, len(source))
    assert found.english[-1] == "<STOP>" and found.german[0] == "<START>"
    typed = align_text(
        load_references()["greedy_translate"], model, data, "Der Zwerg sieht nichts."
    )
    assert "zwerg" in capsys.readouterr().out
    assert "<UNK>" in typed.german
    assert len(choose_examples(data, 8)) == 8


# ------------------------------------------------------------------------- what it must show


@pytest.mark.soak
def test_three_kinds_come_out_in_order_and_the_verb_is_found(tmp_path):
    """Three trainings of the laptop profile: a few minutes."""
    from autograder.experiments.translation import train_kind

    data = sources.load_own("for a test")
    translate = load_references()["greedy_translate"]
    losses, bleu = {}, {}
    for kind in ("scaled dot product", "mean pool", "dummy"):
        model, history = train_kind(kind, data, Settings())
        losses[kind] = history.best["validation"]
        bleu[kind], _ = measure_bleu(translate, model, data)
        if kind == "scaled dot product":
            check_verbs(model, data, translate)
    assert losses["scaled dot product"] < losses["mean pool"] < losses["dummy"]
    assert bleu["scaled dot product"] >= bleu["mean pool"] + 15


def check_verbs(model, data, translate):
    """The English verb looks at the end of the German clause, where the verb stands."""
    for subject, their_subject in (("die frau", "the woman"), ("der koch", "the cook")):
        for verb, theirs in (("sieht", "sees"), ("fragt", "asks"), ("liebt", "loves")):
            german = f"der könig weiß , dass {subject} den alten hund {verb} ."
            found = align_text(translate, model, data, german)
            said = f"the king knows that {their_subject} {theirs} the old dog ."
            assert " ".join(found.english[:-1]) == said
            row = found.weights[found.english.index(theirs)]
            last = found.german.index(verb)
            assert row.argmax() == last, (german, row)
            assert row[last] > 0.5


@pytest.mark.skipif(not os.environ.get("COURSE_DATA"), reason="needs COURSE_DATA with multi30k")
def test_the_real_files_are_whole():
    loaded = sources.load_data()
    assert [len(loaded.train), len(loaded.validation), len(loaded.test)] == [29_000, 1_014, 1_000]
