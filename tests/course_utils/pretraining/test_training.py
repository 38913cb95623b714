"""Pretraining and finetuning: what counts in the loss, going on after a stop, other attention."""

import random

import pytest
import torch
import torch.nn.functional as F

from autograder.exercises.attention_at_work.pretraining import make_namespace
from autograder.exercises.attention_at_work.pretraining_code import ORACLES
from course_utils.pretraining import training
from course_utils.pretraining.answering import ask_all, measure_confidence
from course_utils.pretraining.characters import MASK, PAD
from course_utils.pretraining.model import make_model, make_synthesizer_layer
from course_utils.pretraining.plans import PLANS, choose_plan
from course_utils.pretraining.synthesizer import explain_why_not
from course_utils.pretraining.training import BadPair, OtherTraining, Settings, finetune, pretrain
from course_utils.pretraining.world import make_world

SIZES = {"n_layers": 1, "n_heads": 2, "n_embd": 16}
GIVEN = make_namespace(*ORACLES.values())
corrupt_span, make_pair = GIVEN["corrupt_span"], GIVEN["make_pair"]
make_question, answer_question = GIVEN["make_question"], GIVEN["answer_question"]


@pytest.fixture(scope="module")
def world():
    return make_world(1, n_train=6, n_test=4, n_unknown=3, n_biographies=3)


def synthesize(X, w1, b1, w2, b2, V):
    T = X.shape[1]
    scores = torch.relu(X @ w1 + b1) @ w2[:, :T] + b2[:T]
    return scores.masked_fill(torch.ones(T, T).triu(1) == 1, -torch.inf).softmax(-1) @ V


def draw_batch(world, n=8):
    rng = random.Random(3)
    texts = [corrupt_span(text, world.block_size, rng) for text in world.biographies[:n]]
    return [make_pair(text, world.block_size) for text in texts]


def test_the_loss_is_that_of_a_plain_loop(world):
    model = make_model(world, SIZES)
    pairs = draw_batch(world)
    x, y = (
        torch.tensor([world.vocabulary.encode(text) for text in part])
        for part in zip(*pairs, strict=True)
    )
    plain = F.cross_entropy(model(x).flatten(0, 1), y.flatten(), ignore_index=world.vocabulary.pad)
    encoded = training.encode_pairs(pairs, world, "make_pair")
    short_x, short_y = training.stack_batch(encoded, world.vocabulary.pad)
    assert short_x.shape[1] < world.block_size
    assert torch.allclose(model.loss(short_x, short_y), plain, atol=1e-5)


def test_pad_in_y_does_not_count(world):
    model = make_model(world, SIZES)
    question = world.train[0]
    x, y = make_question(question.text, question.place, world.block_size)
    ids, targets = (torch.tensor([world.vocabulary.encode(text)]) for text in (x, y))
    log_p = model(ids).log_softmax(-1)
    places = range(len(question.text), len(question.text) + len(question.place) + 1)
    wanted = -sum(log_p[0, place, targets[0, place]] for place in places) / len(places)
    assert torch.allclose(model.loss(ids, targets), wanted, atol=1e-5)


def test_a_training_learns_and_repeats(world):
    histories = []
    for _ in range(2):
        model = make_model(world, SIZES)
        histories.append(pretrain(model, world, corrupt_span, make_pair, Settings(4, 1e-2)))
        assert not model.training
    assert histories[0].losses == histories[1].losses
    assert histories[0].losses[-1] < histories[0].losses[0] - 0.15


def test_going_on_gives_what_never_stopping_gives(world, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(training, "_SAVE_SECONDS", 0)
    settings = Settings(5, 1e-2)
    whole = pretrain(make_model(world, SIZES), world, corrupt_span, make_pair, settings)

    calls = []

    def stop_late(document, block_size, rng):
        calls.append(document)
        if len(calls) > 3.5 * len(world.biographies):
            raise KeyboardInterrupt
        return corrupt_span(document, block_size, rng)

    model = make_model(world, SIZES)
    halted = pretrain(model, world, stop_late, make_pair, settings, tmp_path)
    assert halted.interrupted and len(halted.losses) == 3
    assert "Interrupted in epoch 4 of 5" in capsys.readouterr().out
    resumed_model = make_model(world, SIZES, seed=9)  # its start must not matter
    resumed = pretrain(resumed_model, world, corrupt_span, make_pair, settings, tmp_path)
    assert resumed.losses == pytest.approx(whole.losses, abs=1e-6) and not resumed.interrupted
    assert "Going on after epoch 3" in capsys.readouterr().out
    again = pretrain(make_model(world, SIZES), world, corrupt_span, make_pair, settings, tmp_path)
    assert again.losses == resumed.losses


def test_another_training_in_the_folder_is_refused(world, tmp_path):
    model = make_model(world, SIZES)
    finetune(model, world, make_question, Settings(1, 1e-3), tmp_path)
    with pytest.raises(OtherTraining, match="other settings"):
        finetune(model, world, make_question, Settings(2, 1e-3), tmp_path)
    (tmp_path / "finetuning.pt").write_bytes(b"broken")
    with pytest.raises(OtherTraining, match="cannot be read"):
        finetune(model, world, make_question, Settings(1, 1e-3), tmp_path)


@pytest.mark.parametrize(
    "maker, words",
    [
        (lambda text, size: text, "two strings"),
        (lambda text, size: (text[:5], text[:5]), "128 characters"),
        (lambda text, size: (text, PAD * size), "nothing but PAD"),
    ],
)
def test_pairs_that_cannot_be_learned_from_get_a_sentence(world, maker, words):
    with pytest.raises(BadPair, match=words):
        pretrain(make_model(world, SIZES), world, corrupt_span, maker, Settings(1, 1e-3))


def test_the_learning_rate_rises_and_falls():
    settings = Settings(10, 1.0)
    rates = [training.find_rate(done / 100, settings) for done in range(101)]
    assert rates[0] == 0 and max(rates) == pytest.approx(1.0, abs=0.01)
    assert rates[100] == pytest.approx(settings.final_rate)
    assert rates.index(max(rates)) == 5


def test_the_synthesizer_layer_trains_whatever_length_comes(world):
    model = make_model(world, SIZES, make_synthesizer_layer(synthesize))
    layer = model.blocks[0].attention
    assert layer.w1.shape == (16, 16) and layer.w2.shape == (16, world.block_size)
    before = layer.w2.detach().clone()
    history = pretrain(model, world, corrupt_span, make_pair, Settings(3, 1e-2))
    assert history.losses[-1] < history.losses[0]
    assert not torch.equal(before, layer.w2)
    assert not list(model.blocks[0].projection_modules)  # it does without queries and keys
    first = model(torch.tensor([world.vocabulary.encode("Ada was born")]))
    longer = model(torch.tensor([world.vocabulary.encode("Ada was born in Arlen")]))
    assert torch.allclose(first, longer[:, :12], atol=1e-5)


@pytest.mark.parametrize(
    "attend, words",
    [
        (None, "There is no synthesizer_attention"),
        (..., "There is no synthesizer_attention"),
        (3, "not a function"),
        (lambda X, w1, b1, w2, b2, V: 1 / 0, "left out"),
        (lambda X, w1, b1, w2, b2, V: V[:, :1], "left out"),
        (lambda X, w1, b1, w2, b2, V: synthesize(X.flip(1), w1, b1, w2, b2, V), "left out"),
        (lambda X, w1, b1, w2, b2, V: 2 * synthesize(X, w1, b1, w2, b2, V), "left out"),
        (lambda X, w1, b1, w2, b2, V: synthesize(X, w1, b1.detach(), w2, b2, V), "left out"),
    ],
)
def test_a_synthesizer_that_cannot_be_used_gets_a_sentence(attend, words):
    assert words in explain_why_not(attend)


def test_a_right_synthesizer_can_be_used():
    assert explain_why_not(synthesize) is None


def test_answers_and_their_confidence(world):
    model = make_model(world, SIZES)
    finetune(model, world, make_question, Settings(60, 1e-2))
    answers = ask_all(model, world.train, answer_question)
    assert [a.place for a in answers] == [q.place for q in world.train]
    assert any(a.right for a in answers)
    for answer in answers:
        assert 0 < answer.confidence <= 1
    # All that could be said instead shares what is left.
    question = world.train[0].text
    both = [measure_confidence(model, question, place) for place in ("Arlen", "Bostra")]
    assert sum(both) <= 1
    ids = torch.tensor([world.vocabulary.encode(question + MASK)])
    first = model(ids)[0, -1].softmax(-1)[world.vocabulary.encode("A")[0]]
    assert both[0] <= float(first) + 1e-6


def test_every_profile_has_a_plan(world, monkeypatch, capsys):
    for profile in ("quick", "laptop", "gpu"):
        monkeypatch.setenv("COURSE_PROFILE", profile)
        assert choose_plan(world) is PLANS["own"][profile]
        assert f"{PLANS['own'][profile].pretraining.epochs} epochs" in capsys.readouterr().out
