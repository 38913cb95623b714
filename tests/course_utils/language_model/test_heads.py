"""The language of echoes needs a head that looks at the token before, and named heads are judged."""

import math

import pytest
import torch

from autograder.experiments.language_model import dot_product, init_qkv_proj
from course_utils import runtime
from course_utils.language_model.evaluation import HeadScores, score_heads
from course_utils.language_model.gpt import GPT, GPTConfig
from course_utils.language_model.heads import REPEATS, check_heads, judge_head, make_echoes
from course_utils.language_model.training import Settings, train


def test_words_echo_as_often_as_is_said():
    documents = make_echoes(2_000).train
    echoes = [d[i] == d[i - 2] for d in documents for i in range(3, len(d) - 1)]
    assert sum(echoes) / len(echoes) == pytest.approx(REPEATS + (1 - REPEATS) / 16, abs=0.01)


def test_the_best_possible_loss_is_that_of_the_language():
    corpus = make_echoes(4_000)
    echo = REPEATS + (1 - REPEATS) / 16
    losses = []
    for d in corpus.train:
        losses += [math.log(16), math.log(16), 0.0]  # the first two words, and STOP
        losses += [
            -math.log(echo if d[i] == d[i - 2] else (1 - REPEATS) / 16)
            for i in range(3, len(d) - 1)
        ]
    assert corpus.entropy == pytest.approx(sum(losses) / len(losses), abs=0.01)


def test_a_trained_model_has_a_head_that_looks_at_the_token_before():
    """What the notebook promises its reader, on the notebook's own settings."""
    corpus = make_echoes()
    runtime.set_seed(0)
    config = GPTConfig(vocab_size=len(corpus.vocabulary), block_size=32, n_layers=2)
    model = GPT(config, dot_product, init_qkv_proj)
    history = train(model, corpus, Settings(learning_rate=3e-3))
    scores = score_heads(model, corpus.dev[:100])
    assert scores.previous.max() > 0.7 > 3 * scores.even
    assert history.final_loss < corpus.entropy + 0.15


def make_scores():
    previous = torch.tensor([[0.1, 0.8, 0.79], [0.2, 0.3, 0.1]])
    return HeadScores(previous, previous, previous.flip(0), previous, even=0.2)


def read(capsys) -> str:
    """Return what was said, wherever its lines are broken."""
    return " ".join(capsys.readouterr().out.split())


def test_named_heads_are_judged(capsys):
    check_heads(make_scores(), {"the token before": (0, 1), "same word earlier": (0, 0)})
    said = read(capsys)
    assert "the token before: ✔ layer 0, head 1 puts 0.80" in said
    assert "same word earlier: ✘ layer 0, head 0 puts 0.20" in said and "puts 0.80." in said
    check_heads(make_scores(), {"the token before": (0, 2)})  # as good as the best
    said = read(capsys)
    assert "the token before: ≈ layer 0, head 2 puts 0.79" in said
    assert "close to the best, (0, 1) with 0.80. 2 of the 6 heads" in said
    assert "no head stands out" not in said, "these two do, together"


def test_a_head_is_judged_by_the_numbers_as_shown():
    weights = torch.tensor([[0.1149, 0.1301, 0.0949], [0.1051, 0.0, 0.0]])  # 0.11, 0.13, 0.09; 0.11
    for alike in ((0, 0), (1, 0)):
        assert judge_head(weights, *alike).startswith("≈")
        assert "close to the best, (0, 1) with 0.13" in judge_head(weights, *alike)
    assert judge_head(weights, 0, 2).startswith("✘")
    assert judge_head(weights, 0, 1).startswith("✔")
    assert judge_head(weights, 0, 1).endswith("3 of the 6 heads lie within 0.02 of the best.")
    weights[1] = 0.12
    assert judge_head(weights, 0, 0).endswith(
        "5 of the 6 heads lie within 0.02 of the best: no head stands out."
    )
    weights[0, 1] = 0.9
    assert "stands out: no other" in judge_head(weights, 0, 1)


@pytest.mark.parametrize(
    ("named", "words"),
    [
        (..., "no head named yet"),
        (3, "two numbers"),
        ("one", "two numbers"),
        ((0, 1, 2), "two numbers"),
        ((2, 0), "layers go from 0 to 1"),
        ((0, -1), "heads from 0 to 2"),
    ],
)
def test_what_names_no_head_gets_a_sentence(named, words, capsys):
    check_heads(make_scores(), {"the token before": named})
    assert words in read(capsys)
