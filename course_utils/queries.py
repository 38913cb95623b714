"""Notebook 1's small world: four keys, four values, attention over them, and its error.

Attention here is unscaled and has a single head, so that every number can be followed by hand.
"""

from __future__ import annotations

import torch

TOLERANCE = 0.05  # an answer whose error is at most this earns full credit


def make_keys() -> torch.Tensor:
    """Return a fresh copy of the four keys, shape (4, 3)."""
    return torch.tensor(
        [[0.47, 0.65, 0.60], [0.64, 0.50, -0.59], [-0.03, -0.48, -0.88], [0.43, -0.83, 0.35]]
    )


def make_values() -> torch.Tensor:
    """Return a fresh copy of the four values, shape (4, 3)."""
    return torch.tensor(
        [[-0.07, -0.88, 0.47], [0.37, -0.93, -0.07], [-0.25, -0.75, 0.61], [0.94, 0.20, 0.28]]
    )


K = make_keys()
V = make_values()


def attend(q: torch.Tensor, keys: torch.Tensor, values: torch.Tensor):
    """Return scores, weights and output of attention with one query or several.

    q (..., 3), keys (n, 3), values (n, 3) -> scores (..., n), weights (..., n), output (..., 3)
    """
    scores = q @ keys.T  # (..., n)
    weights = torch.softmax(scores, dim=-1)  # (..., n), each row sums to 1
    output = weights @ values  # (..., 3)
    return scores, weights, output


def find_error(output: torch.Tensor, target: torch.Tensor) -> float:
    """Return the largest absolute difference between an output and its target."""
    return (output - target).abs().max().item()
