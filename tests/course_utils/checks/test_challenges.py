"""Challenges: a right answer passes, a near miss gets a sentence."""

import pytest
import torch

from autograder.experiments.language_model import dot_product, merge_heads, split_heads
from course_utils.checks import CheckFailed, check
from course_utils.queries import K


def rotate(x, base=10_000.0):
    T, C = x.shape[-2:]
    angles = torch.arange(T)[:, None] * base ** (-torch.arange(0, C, 2) / C)
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = [even * angles.cos() - odd * angles.sin(), even * angles.sin() + odd * angles.cos()]
    return torch.stack(turned, dim=-1).flatten(-2)


def attend_next(q, k, v, cache, n_heads):
    if cache is not None:
        k, v = (torch.cat([old, new], dim=1) for old, new in zip(cache, (k, v), strict=True))
    return dot_product(q, k, v, n_heads, causal=False), (k, v)


def attend_in_chunks(Q, K, V, n_heads, chunk):
    parts = []
    for start in range(0, Q.shape[1], chunk):
        stop = start + chunk
        q, k, v = (split_heads(x, n_heads) for x in (Q[:, start:stop], K[:, :stop], V[:, :stop]))
        scores = q @ k.mT / q.shape[-1] ** 0.5
        hidden = torch.arange(k.shape[-2]) > torch.arange(start, start + q.shape[-2])[:, None]
        parts.append(merge_heads(scores.masked_fill(hidden, -torch.inf).softmax(-1) @ v))
    return torch.cat(parts, dim=1)


RIGHT = {
    "challenge_pair": lambda: check("challenge_pair", [-19.0, 6.2, 1.6]),
    "challenge_three": lambda: check(
        "challenge_three", 20 * torch.linalg.cross(K[0] - K[1], K[0] - K[2])
    ),
    "rotate_positions": lambda: check("rotate_positions", rotate),
    "attend_next": lambda: check("attend_next", attend_next, self_attention=dot_product),
    "attend_in_chunks": lambda: check(
        "attend_in_chunks", attend_in_chunks, self_attention=dot_product
    ),
}
WRONG = {
    "the recipe of 1.3.2": ("challenge_pair", 10 * (K[0] + K[2]), "not the mean"),
    "a word": ("challenge_three", "q", "three numbers"),
    "open": ("challenge_three", ..., "still open"),
    "no rotation": ("rotate_positions", lambda x: x, "nothing turns"),
    "positions added": ("rotate_positions", lambda x: x + torch.arange(9)[:, None], "length"),
    "turned back half-way": (
        "rotate_positions",
        lambda x: rotate(x) * torch.where(torch.arange(9) < 4, 1, -1)[:, None],
        "only the distance may count",
    ),
    "no memory": ("attend_next", lambda q, k, v, c, n: (v, c), "differs from your self_attention"),
    "everything at once": ("attend_in_chunks", lambda Q, K, V, n, c: dot_product(Q, K, V, n), "T * T"),
    "an error": ("attend_in_chunks", lambda *_: 1 / 0, "ZeroDivisionError"),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_answer_passes(name, capsys):
    RIGHT[name]()
    assert "public check passed" in capsys.readouterr().out


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_one_gets_a_sentence(case):
    name, value, said = WRONG[case]
    others = {"self_attention": dot_product} if name.startswith("attend") else {}
    with pytest.raises(CheckFailed, match=said.replace("*", r"\*")):
        check(name, value, **others)


def test_a_query_that_fails_is_told_its_four_scores():
    with pytest.raises(CheckFailed, match=r"scores: k0 0\.470  k1 0\.640  k2 -0\.030  k3 0\.430"):
        check("challenge_pair", [1.0, 0.0, 0.0])


def test_an_error_comes_with_the_learners_line():
    namespace = {}
    code = "def attend_next(q, k, v, cache, n_heads):\n    cache['k']\n"
    exec(compile(code, "<ipython-input-3-challenge>", "exec"), namespace)
    with pytest.raises(CheckFailed, match=r"TypeError: .* \[line 2 of your cell\]\."):
        check("attend_next", namespace["attend_next"], self_attention=dot_product)


def test_progress_counts_the_challenges_of_one_notebook(capsys):
    RIGHT["challenge_pair"]()
    assert "of 2 challenges of this notebook pass so far" in capsys.readouterr().out
    RIGHT["rotate_positions"]()
    assert "of 3 challenges of this notebook pass so far" in capsys.readouterr().out
