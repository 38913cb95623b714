"""A piece that does not fit is refused in one sentence, before any training."""

import pytest
import torch
from torch import nn

from autograder.experiments.language_model import EXPERIMENTS, Additive, dot_product, init_qkv_proj
from course_utils.language_model.corpus import make_corpus
from course_utils.language_model.gpt import GPT, GPTConfig
from course_utils.language_model.grammar import generate_sentences
from course_utils.language_model.preflight import ContractError, check_before_training, check_model
from course_utils.language_model.training import Settings, train


@pytest.fixture(scope="module")
def corpus():
    sentences, _ = generate_sentences(400, seed=0)
    return make_corpus("tiny", "Tiny.", dict.fromkeys(("train", "dev", "test"), sentences))


def make(corpus, attention=dot_product, projections=init_qkv_proj):
    torch.manual_seed(0)
    config = GPTConfig(len(corpus.vocabulary), n_layers=2, n_heads=3, n_embd=24)
    return GPT(config, attention, projections)


def wrong(change):
    return lambda Q, K, V, n_heads=1, causal=True: change(dot_product(Q, K, V, n_heads, causal))


outside = nn.Linear(24, 24)

WRONG = {
    "None": (wrong(lambda y: None), "returned None .* `return` missing"),
    "tuple": (wrong(lambda y: (y, y)), "returned a tuple, not a tensor"),
    "array": (wrong(lambda y: y.detach().numpy()), "returned a ndarray"),
    "shape": (wrong(lambda y: y.mT), "shape .* must stay the same"),
    "squeezed": (wrong(lambda y: y.squeeze()), r"returned shape \(24,\)"),
    "heads": (wrong(lambda y: y.unflatten(-1, (3, 8))), "returned shape"),
    "dtype": (wrong(lambda y: y.double()), "returned torch.float64 .* torch.float32"),
    "device": (wrong(lambda y: y.to("meta")), "on meta .* stay on cpu"),
    "no gradient": (wrong(lambda y: y.detach()), "without a gradient"),
    "no grad": (torch.no_grad()(dot_product), "without a gradient"),
    "NaN": (wrong(lambda y: y / 0 * 0), "NaN or infinite"),
    "outside": (wrong(outside), r"parameter of shape \(24, 24\) .* not be trained|shape \(24,\)"),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_attention_that_does_not_fit_gets_a_sentence_before_training(corpus, name):
    attention, words = WRONG[name]
    model = make(corpus, attention)
    before = {k: v.clone() for k, v in model.state_dict().items()}
    with pytest.raises(ContractError, match=words) as caught:
        train(model, corpus, Settings(n_train=64))
    assert "\n" not in str(caught.value)
    assert all(torch.equal(v, before[k]) for k, v in model.state_dict().items())


def test_a_projection_of_the_wrong_size_gets_a_sentence(corpus):
    model = make(corpus, projections=lambda C: [nn.Linear(C, 2 * C)] * 3)
    with pytest.raises(ContractError, match="projection for Q returned shape"):
        check_model(model)


def test_what_does_not_fit_is_called_by_its_name(corpus):
    def my_attention(Q, K, V, n_heads=1, causal=True):
        return V[..., :1]

    with pytest.raises(ContractError, match=r"^my_attention returned shape \(2, 7, 1\)"):
        check_model(make(corpus, my_attention))
    with pytest.raises(ContractError, match=r"^The attention returned"):
        check_model(make(corpus, wrong(lambda y: y.mT)))


def test_a_module_built_beforehand_is_shared_and_that_is_said(corpus, capsys):
    check_model(make(corpus, Additive(24, 3)))
    said = " ".join(capsys.readouterr().out.split())
    assert "all 2 layers share the parameters of one Additive" in said
    assert "pass the class, Additive" in said
    check_model(make(corpus, Additive))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.name)
def test_every_experiment_fits(corpus, experiment, capsys):
    check_model(make(corpus, experiment.attention, experiment.projections))
    assert capsys.readouterr().out == ""


def test_a_good_model_passes_and_is_set_back(corpus, capsys):
    model = make(corpus)
    before = {k: v.clone() for k, v in model.state_dict().items()}
    torch.manual_seed(5)
    state = torch.get_rng_state()
    check_before_training(model, corpus)
    assert all(torch.equal(v, before[k]) for k, v in model.state_dict().items())
    assert all(p.grad is None for p in model.parameters())
    assert torch.equal(torch.get_rng_state(), state)
    assert "ln(vocabulary)" in capsys.readouterr().out


def test_a_first_loss_far_from_ln_vocabulary_is_named(corpus):
    model = make(corpus)
    nn.init.normal_(model.output.weight, std=3.0)
    with pytest.raises(ContractError, match="close to ln"):
        check_before_training(model, corpus)


def test_a_model_that_cannot_learn_is_named(corpus):
    class Constant(nn.Module):
        """Drowns everything that the layer knew."""

        def __init__(self, n_embd, n_heads):
            super().__init__()

        def forward(self, Q, K, V, n_heads=1, causal=True):
            return V * 0 + 1.0

    model = make(corpus, Constant)
    for p in model.parameters():
        p.requires_grad_(False)
    model.ln_f.bias.requires_grad_(True)
    model.blocks[0].out_proj.weight.requires_grad_(True)
    for block in model.blocks:
        for projection in block.projections:
            projection.requires_grad_(True)
    with pytest.raises(ContractError, match="by heart"):
        check_before_training(model, corpus)
