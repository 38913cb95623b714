"""The course's GPT on characters: its sizes, PyTorch's attention in it, or another in its place."""

from __future__ import annotations

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor, nn

from course_utils import runtime
from course_utils.language_model.gpt import GPT, GPTConfig
from course_utils.pretraining.characters import Characters
from course_utils.pretraining.world import World


class CharacterGPT(GPT):
    """A GPT with the characters that it reads and writes.

    `model(ids)` takes numbers on any device and returns the logits of each next character,
    (B, T) -> (B, T, vocabulary). `model.vocabulary` turns text into numbers and back.
    """

    def __init__(self, config: GPTConfig, vocabulary: Characters, layer: type[nn.Module]):
        super().__init__(config, layer, lambda n_embd: ())
        self.vocabulary = vocabulary

    def forward(self, tokens: Tensor) -> Tensor:
        return super().forward(tokens.to(self.embedding.weight.device))


class TorchLayer(nn.Module):
    """Makes Q, K and V of a layer's input and runs PyTorch's own attention.  (B, T, C) -> (B, T, C)"""

    reads_input = True

    def __init__(self, n_embd: int, n_heads: int, block_size: int):
        super().__init__()
        self.n_heads = n_heads
        self.projections = nn.ModuleList(nn.Linear(n_embd, n_embd) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        heads = (p(x).unflatten(-1, (self.n_heads, -1)).transpose(1, 2) for p in self.projections)
        mixed = F.scaled_dot_product_attention(*heads, is_causal=True)  # (B, nh, T, hs)
        return mixed.transpose(1, 2).flatten(-2)


def make_synthesizer_layer(synthesizer_attention: Callable) -> type[nn.Module]:
    """Return the class of a layer that holds the weights and calls your `synthesizer_attention`.

    The layer has one head. What it does with its weights is all in your function.
    """

    class SynthesizerLayer(nn.Module):
        reads_input = True

        def __init__(self, n_embd: int, n_heads: int, block_size: int):
            super().__init__()
            first, second = nn.Linear(n_embd, n_embd), nn.Linear(n_embd, block_size)
            self.w1 = nn.Parameter(first.weight.detach().T.clone())  # (C, D)
            self.b1 = nn.Parameter(first.bias.detach().clone())  # (D,)
            self.w2 = nn.Parameter(second.weight.detach().T.clone())  # (D, block)
            self.b2 = nn.Parameter(second.bias.detach().clone())  # (block,)
            self.values = nn.Linear(n_embd, n_embd)

        def forward(self, x: Tensor) -> Tensor:
            return synthesizer_attention(x, self.w1, self.b1, self.w2, self.b2, self.values(x))

    return SynthesizerLayer


def make_model(
    world: World, sizes: dict[str, int], layer: type[nn.Module] = TorchLayer, seed: int = 1
) -> CharacterGPT:
    """Return a new model for a world, on the best device there is: same seed, same start."""
    runtime.set_seed(seed)
    config = GPTConfig(
        vocab_size=len(world.vocabulary),
        block_size=world.block_size,
        pad=world.vocabulary.pad,
        **sizes,
    )
    return CharacterGPT(config, world.vocabulary, layer).to(runtime.device())
