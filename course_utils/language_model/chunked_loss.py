"""The output layer and the cross-entropy in one, a few tokens at a time.

A plain output layer makes a (tokens x vocabulary) matrix, and its gradient makes another. With
26,604 words and 32 sentences these two take most of the memory and time of a training step. Here
only `CHUNK` rows of it exist at any moment: once a chunk's loss is known, so is its gradient, and
the rows can be forgotten.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

# Rows worked on at once: few enough to stay in a CPU's cache, enough to keep its cores busy.
CHUNK = 96


def mean_cross_entropy(hidden: Tensor, weight: Tensor, targets: Tensor) -> Tensor:
    """Return the mean cross-entropy of `hidden @ weight.T` with `targets`, ready for backward.

    hidden (N, C), weight (V, C), targets (N,) -> ()
    """
    if torch.is_grad_enabled():
        return _MeanCrossEntropy.apply(hidden, weight, targets)
    return token_cross_entropies(hidden, weight, targets).mean()


@torch.no_grad()
def token_cross_entropies(hidden: Tensor, weight: Tensor, targets: Tensor) -> Tensor:
    """Return the cross-entropy of each token, without gradients.

    hidden (N, C), weight (V, C), targets (N,) -> (N,)
    """
    losses = hidden.new_empty(len(hidden))  # (N,)
    for rows, loss, _ in _chunks(hidden, weight, targets):
        losses[rows] = loss
    return losses


class _MeanCrossEntropy(torch.autograd.Function):
    """The mean over tokens, with the gradients worked out on the way forward."""

    @staticmethod
    def forward(ctx, hidden: Tensor, weight: Tensor, targets: Tensor) -> Tensor:
        total = hidden.new_zeros(())
        d_hidden = torch.empty_like(hidden)  # (N, C)
        d_weight_t = torch.zeros_like(weight.T)  # (C, V)
        for rows, loss, probabilities in _chunks(hidden, weight, targets):
            total += loss.sum()
            # The gradient of the loss with respect to the logits: probabilities - one_hot(target).
            d_logits = probabilities  # the same memory: (n, V)
            d_logits[torch.arange(len(loss), device=loss.device), targets[rows]] -= 1
            torch.mm(d_logits, weight, out=d_hidden[rows])
            d_weight_t.addmm_(hidden[rows].T, d_logits)
        ctx.save_for_backward(d_hidden, d_weight_t)
        return total / len(hidden)

    @staticmethod
    @once_differentiable
    def backward(ctx, d_mean: Tensor):
        d_hidden, d_weight_t = ctx.saved_tensors
        share = d_mean / len(d_hidden)  # of each token in the mean
        return d_hidden * share, d_weight_t.T * share, None


def _chunks(hidden: Tensor, weight: Tensor, targets: Tensor):
    """Yield (rows, losses (n,), probabilities (n, V)); the next chunk reuses the memory."""
    weight_t = weight.T.contiguous()  # (C, V), read row by row in every product below
    buffer = hidden.new_empty(min(CHUNK, len(hidden)), len(weight))  # (CHUNK, V)
    for start in range(0, len(hidden), CHUNK):
        rows = slice(start, min(start + CHUNK, len(hidden)))
        logits = torch.mm(hidden[rows], weight_t, out=buffer[: rows.stop - start])  # (n, V)
        logits -= logits.amax(-1, keepdim=True)  # so that exp cannot overflow
        target_logit = logits.gather(-1, targets[rows, None])  # (n, 1)
        exponentials = logits.exp_()  # the same memory from here on
        total = exponentials.sum(-1, keepdim=True)  # (n, 1)
        losses = (total.log() - target_logit).squeeze(-1)  # (n,)
        yield rows, losses, exponentials.div_(total)
