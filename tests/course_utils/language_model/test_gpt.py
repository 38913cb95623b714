import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from autograder.experiments.language_model import (
    EXPERIMENTS,
    Additive,
    dot_product,
    init_qkv_proj,
    sinusoidal,
)
from course_utils.language_model.corpus import PAD, START, pad_batch
from course_utils.language_model.gpt import GPT, GPTConfig
from course_utils.language_model.training import Settings, make_optimizer, take_step

SMALL = GPTConfig(vocab_size=40, block_size=32, n_layers=2, n_heads=3, n_embd=12)


def make(attention=dot_product, projections=init_qkv_proj, **options):
    torch.manual_seed(0)
    return GPT(SMALL, attention, projections, **options)


def test_gpt_nano_has_its_known_size():
    model = GPT(GPTConfig(vocab_size=26_604), dot_product, init_qkv_proj)
    assert model.count_parameters() == 1_411_056


def test_first_loss_is_near_ln_vocabulary():
    tokens = torch.randint(4, 40, (8, 20))
    assert make().loss(tokens).item() == pytest.approx(math.log(40), abs=0.2)


def test_loss_leaves_padding_out_and_is_pytorchs():
    model = make()
    tokens = pad_batch([[0, 5, 6, 7, 1], [0, 8, 1], [0, 1]])
    theirs = F.cross_entropy(
        model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=PAD
    )
    torch.testing.assert_close(model.loss(tokens), theirs)
    losses = model.token_losses(tokens)
    assert (losses == 0).tolist() == (tokens[:, 1:] == PAD).tolist()
    torch.testing.assert_close(losses.sum() / (losses != 0).sum(), theirs.detach())


def test_more_padding_changes_nothing():
    model = make()
    documents = [[0, 5, 6, 7, 1], [0, 8, 1]]
    a, b = model.loss(pad_batch(documents)), model.loss(pad_batch(documents, length=20))
    torch.testing.assert_close(a, b)


def test_a_class_is_built_once_a_layer_and_a_function_is_kept():
    model = make(Additive)
    first, second = (block.attention for block in model.blocks)
    assert first is not second
    assert first.W2.weight is not second.W2.weight
    assert make().blocks[0].attention is dot_product


class Strange(nn.Module):
    """Projections with weights of unusual names, shapes and start.

    Every weight matters: a layer's input sums to 0, so that a constant matrix would see nothing of
    it, and a bias of the keys changes no weight of the attention.
    """

    def __init__(self, n_embd):
        super().__init__()
        self.any_name_at_all = nn.Parameter(torch.full((n_embd,), 7.0))
        self.deep = nn.ModuleDict({"inner": nn.Linear(n_embd, n_embd, bias=False)})
        with torch.no_grad():
            self.deep["inner"].weight.copy_(self.make_start(n_embd))

    @staticmethod
    def make_start(n_embd):
        return torch.linspace(-0.5, 0.5, n_embd**2).view(n_embd, n_embd).tril()

    def forward(self, x):
        return self.deep["inner"](x) * self.any_name_at_all


def test_a_learners_modules_keep_their_start_and_are_trained_whatever_their_names():
    model = make(projections=lambda C: (Strange(C), Strange(C), Strange(C)))
    strange = model.blocks[0].projections[2]
    assert (strange.any_name_at_all == 7).all()
    assert torch.equal(strange.deep["inner"].weight, Strange.make_start(12))

    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    optimizer = make_optimizer(model, Settings())
    take_step(model, optimizer, torch.randint(4, 40, (8, 20)), clip=1.0)
    unmoved = {n for n, p in model.named_parameters() if torch.equal(p, before[n])}
    assert unmoved == set()
    assert any("any_name_at_all" in name for name in before)


def test_linear_projections_keep_pytorchs_start():
    torch.manual_seed(3)
    made = []

    def remember(C):
        made.append(init_qkv_proj(C))
        made.append([p.weight.detach().clone() for p in made[-1]])
        return made[-2]

    model = make(projections=remember)
    for block, weights in zip(model.blocks, made[1::2], strict=True):
        for projection, weight in zip(block.projections, weights, strict=True):
            assert torch.equal(projection.weight, weight)


def test_projections_may_be_plain_functions():
    model = make(projections=lambda C: (lambda x: x, torch.tanh, nn.Linear(C, C)))
    model.loss(torch.randint(4, 40, (2, 9))).backward()
    assert len(model.blocks[0].projection_modules) == 1


def test_every_weight_is_optimised_once_and_only_matrices_decay():
    model = make(Additive)
    groups = make_optimizer(model, Settings()).param_groups
    ids = [id(p) for group in groups for p in group["params"]]
    assert sorted(ids) == sorted(id(p) for p in model.parameters())
    decayed = {id(p) for group in groups if group["weight_decay"] for p in group["params"]}
    assert id(model.blocks[0].mlp[0].weight) in decayed
    assert id(model.blocks[0].attention.W1_q.weight) in decayed
    for kept in (model.embedding.weight, model.positions.table.weight, model.ln_f.weight):
        assert id(kept) not in decayed


def test_positions_may_be_a_function():
    model = make(positions=sinusoidal)
    x = model.embed(torch.full((1, 5), START))
    torch.testing.assert_close(x[0] - model.embedding.weight[START], sinusoidal(5, 12))
    assert sinusoidal(5, 12)[0].tolist() == pytest.approx([0.0, 0.02 * 2**0.5] * 6)
    assert sinusoidal(1000, 48).square().mean().sqrt().item() == pytest.approx(0.02, rel=1e-3)


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.name)
def test_every_experiment_learns(experiment):
    torch.manual_seed(0)
    model = GPT(SMALL, experiment.attention, experiment.projections, experiment.positions)
    tokens = torch.randint(4, 40, (4, 12))
    optimizer = make_optimizer(model, Settings(learning_rate=1e-2))
    first = model.loss(tokens).item()
    for _ in range(30):
        last = take_step(model, optimizer, tokens, clip=1.0).item()
    assert last < 0.8 * first


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (None, "returned None"),
        (nn.Linear(12, 12), "must return three"),
        ((nn.Linear(12, 12),) * 2, "returned 2"),
        ((nn.Linear(12, 12), 3, None), "Linear, int, NoneType"),
    ],
)
def test_wrong_projections_get_a_sentence(made, words):
    with pytest.raises(TypeError, match=words):
        make(projections=lambda C: made)


def test_sizes_that_cannot_work_get_a_sentence():
    with pytest.raises(ValueError, match="evenly among n_heads = 5"):
        GPT(GPTConfig(vocab_size=40, n_embd=12, n_heads=5), dot_product, init_qkv_proj)
    with pytest.raises(ValueError, match="33 tokens are more than"):
        make()(torch.zeros(1, 33, dtype=torch.long))
