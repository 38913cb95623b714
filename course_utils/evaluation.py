"""How good is a model: losses, perplexities, samples, and does it see the future?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from course_utils.corpus import make_batches, pad_batch
from course_utils.gpt import GPT


@dataclass
class Measured:
    """The mean loss and the number of predicted tokens of each document."""

    losses: Tensor  # (n,)
    counts: Tensor  # (n,)

    @property
    def mean_perplexity(self) -> float:
        """mean(exp(document loss)): every document weighs the same."""
        return self.losses.exp().mean().item()

    @property
    def corpus_perplexity(self) -> float:
        """exp(total loss / total tokens): every token weighs the same."""
        return math.exp((self.losses * self.counts).sum().item() / self.counts.sum().item())


@torch.no_grad()
def measure_documents(
    model: GPT, documents: Sequence[Sequence[int]], batch_size: int = 64
) -> Measured:
    """Return the mean loss of each document, PAD left out."""
    device = next(model.parameters()).device
    model.eval()
    losses = torch.empty(len(documents), dtype=torch.float64)  # (n,)
    for batch in make_batches(documents, batch_size):
        tokens = pad_batch([documents[i] for i in batch]).to(device)  # (B, T)
        losses[batch] = model.token_losses(tokens).double().mean(-1).cpu()
    counts = torch.tensor([len(d) - 1 for d in documents], dtype=torch.float64)
    return Measured(losses, counts)
