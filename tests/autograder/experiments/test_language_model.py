"""The references of the suggested experiments, against slow versions written from their papers."""

import math

import pytest
import torch

from autograder.experiments.language_model import (
    EXPERIMENTS,
    Additive,
    AttentionFree,
    Fastformer,
    dot_product,
    init_qkv_proj,
    measure_cost,
    no_attention,
    run_experiment,
    share_qk,
    share_qkv,
    sinusoidal,
    write_report,
)
from course_utils.language_model.corpus import make_corpus
from course_utils.language_model.gpt import GPT, GPTConfig
from course_utils.language_model.grammar import generate_sentences
from course_utils.language_model.training import Settings

B, T, C, H = 2, 5, 12, 3


@pytest.fixture
def qkv():
    torch.manual_seed(0)
    return [torch.randn(B, T, C, dtype=torch.float64) for _ in range(3)]


@pytest.mark.parametrize("causal", [True, False])
def test_dot_product_is_pytorchs(qkv, causal):
    Q, K, V = (x.view(B, T, H, C // H).transpose(1, 2) for x in qkv)
    theirs = torch.nn.functional.scaled_dot_product_attention(Q, K, V, is_causal=causal)
    ours = dot_product(*qkv, n_heads=H, causal=causal)
    torch.testing.assert_close(ours, theirs.transpose(1, 2).reshape(B, T, C))


def test_additive_is_w2_tanh_w1_of_the_pair(qkv):
    attention = Additive(C, H).double()
    W1 = torch.cat([attention.W1_q.weight, attention.W1_k.weight], dim=1)  # on [q; k]
    size = C // H
    expected = torch.zeros(B, T, C, dtype=torch.float64)
    for b in range(B):
        for h in range(H):
            part = slice(h * size, (h + 1) * size)
            q, k, v = (x[b, :, part] for x in qkv)
            for i in range(T):
                scores = [
                    attention.W2.weight
                    @ torch.tanh(W1 @ torch.cat([q[i], k[j]]) + attention.W1_q.bias)
                    for j in range(i + 1)
                ]
                expected[b, i, part] = torch.cat(scores).softmax(0) @ v[: i + 1]
    torch.testing.assert_close(attention(*qkv, n_heads=H), expected)


def test_attention_free_is_the_papers_sum(qkv):
    attention = AttentionFree(C, H).double()
    Q, K, V = qkv
    bias = attention.bias_to[:T] @ attention.bias_from[:T].T
    expected = torch.zeros(B, T, C, dtype=torch.float64)
    for i in range(T):
        weights = (K[:, : i + 1] + bias[i, : i + 1, None]).exp()  # (B, i+1, C)
        expected[:, i] = Q[:, i].sigmoid() * (weights * V[:, : i + 1]).sum(1) / weights.sum(1)
    torch.testing.assert_close(attention(*qkv, n_heads=H), expected)


def test_fastformer_averages_the_past(qkv):
    attention = Fastformer(C, 1).double()
    Q, K, V = (x[0] for x in qkv)
    root = math.sqrt(C)
    mixed_k = (
        torch.stack(
            [(attention.score_q(Q[: i + 1]) / root).softmax(0).mT @ Q[: i + 1] for i in range(T)]
        ).squeeze(1)
        * K
    )
    expected = (
        torch.stack(
            [
                (attention.score_k(mixed_k[: i + 1]) / root).softmax(0).mT @ mixed_k[: i + 1]
                for i in range(T)
            ]
        ).squeeze(1)
        * V
    )
    torch.testing.assert_close(attention(*qkv, n_heads=1)[0], attention.mix(expected) + Q)


def test_sinusoidal_positions_are_the_papers_at_the_size_of_embeddings():
    table = sinusoidal(7, 8) / (0.02 * math.sqrt(2))
    for position in range(7):
        for i in range(4):
            angle = position / 10_000 ** (2 * i / 8)
            assert table[position, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-5)
            assert table[position, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-5)


def test_shared_projections_are_trained_once():
    sizes = [
        GPT(GPTConfig(10), dot_product, maker).count_parameters()
        for maker in (init_qkv_proj, share_qk, share_qkv)
    ]
    one = 3 * (48 * 48 + 48)  # a projection in each of three layers
    assert sizes[0] - sizes[1] == one
    assert sizes[1] - sizes[2] == one


def test_no_attention_gives_each_token_its_own_value(qkv):
    assert no_attention(*qkv) is qkv[2]


def test_the_report_holds_every_run(tmp_path):
    sentences, _ = generate_sentences(64, seed=0)
    corpus = make_corpus("tiny", "Tiny.", dict.fromkeys(("train", "dev", "test"), sentences))
    runs = {
        e.name: run_experiment(e, corpus, Settings(n_validate=4, n_validations=1))
        for e in EXPERIMENTS[:3]
    }
    costs = measure_cost(EXPERIMENTS[:3], corpus)
    assert set(costs) == set(runs)
    assert min(costs.values()) > 0
    report = write_report(runs, costs, corpus, "python -m something")
    assert "`python -m something`" in report
    for name, run in runs.items():
        assert f"| {name} | {run.train_perplexity:.1f} | {run.dev_perplexity:.1f} |" in report
    assert "## Dot-product and additive" in report
    assert "## Do we need" not in report, "a comparison needs more than one run"

    # What is in the report stays when its run's file is gone; costs are those of the last command.
    first, _, third = runs
    dearer = {name: cost + 1000 for name, cost in costs.items()}
    later = write_report({third: runs[third]}, dearer, corpus, "python -m something", report)
    assert f"| {first} | {runs[first].train_perplexity:.1f} |" in later
    assert f"| {dearer[first]:.0f} |" in later and f"| {costs[first]:.0f} |" not in later
    assert report.partition("\n## ")[2] == later.partition("\n## ")[2]
    assert later.count(f"| {third} |") == report.count(f"| {third} |")
