"""A small GPT, in the spirit of minGPT, that is built around an attention of yours.

Three pieces come in as arguments, so that an experiment swaps one and keeps the rest:

    attention     what a layer does with Q, K and V
    projections   what makes Q, K and V from a layer's input
    positions     what tells the model where each token stands

One rule holds for all three: *a function is used as it is; a class is built by the model, and what
it builds is then used like the function*. So a piece with parameters of its own is a class, and each
layer gets its own parameters:

    piece         called as                                     a class is built as
    attention     f(Q, K, V, n_heads=, causal=) -> (B, T, C)    Class(n_embd, n_heads), once per layer
    projections   f(n_embd) -> three callables (B, T, C) -> (B, T, C), once per layer
    positions     f(n_tokens, n_embd) -> (T, C)                 Class(n_embd, block_size), once

Whatever `nn.Module`s your pieces hold are trained with the model, and start from the values that
you gave them.

An attention that does without queries and keys can take the projections' place as well: a class with
`reads_input = True` is built as Class(n_embd, n_heads, block_size), once per layer, and called as
f(x) -> (B, T, C) with the layer's input.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from course_utils.language_model.chunked_loss import mean_cross_entropy, token_cross_entropies
from course_utils.language_model.corpus import PAD


@dataclass(frozen=True)
class GPTConfig:
    """The sizes of a model; those of GPT-nano unless told otherwise."""

    vocab_size: int
    block_size: int = 1024
    n_layers: int = 3
    n_heads: int = 3
    n_embd: int = 48
    pad: int = PAD  # the token that no loss counts


class LearnedPositions(nn.Module):
    """One learned vector for each position."""

    def __init__(self, n_embd: int, block_size: int):
        super().__init__()
        self.table = nn.Embedding(block_size, n_embd)
        nn.init.normal_(self.table.weight, std=0.02)

    def forward(self, n_tokens: int, n_embd: int) -> Tensor:
        return self.table.weight[:n_tokens]  # (T, C)


class Block(nn.Module):
    """One layer: attention, then a small network on each token by itself."""

    def __init__(self, config: GPTConfig, attention: Callable, projections: Callable):
        super().__init__()
        C = config.n_embd
        self.n_heads = config.n_heads
        self.ln_1 = nn.LayerNorm(C)
        self.out_proj = nn.Linear(C, C)
        self.ln_2 = nn.LayerNorm(C)
        self.mlp = nn.Sequential(nn.Linear(C, 4 * C), nn.GELU(), nn.Linear(4 * C, C))

        # The usual small start, for the model's own layers only. What is added back to x starts
        # smaller, because every layer adds twice.
        for layer in (self.out_proj, self.mlp[0], self.mlp[2]):
            nn.init.normal_(layer.weight, std=0.02)
            nn.init.zeros_(layer.bias)
        for layer in (self.out_proj, self.mlp[2]):
            nn.init.normal_(layer.weight, std=0.02 / math.sqrt(2 * config.n_layers))

        self.reads_input = getattr(attention, "reads_input", False)
        if self.reads_input:
            self.attention = attention(config.n_embd, config.n_heads, config.block_size)
            self.projections = ()
        else:
            self.attention = build(attention, config.n_embd, config.n_heads)
            self.projections = check_projections(projections(C), projections)
        # Named here too, so that PyTorch sees (and trains) the modules among the projections.
        self.projection_modules = nn.ModuleList(
            p for p in self.projections if isinstance(p, nn.Module)
        )

    def project(self, x: Tensor) -> tuple[Tensor, ...]:
        """Return Q, K and V.  (B, T, C) -> three times (B, T, C)"""
        x = self.ln_1(x)
        return tuple(projection(x) for projection in self.projections)

    def attend(self, Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
        """Run the attention that came in.  (B, T, C) x3 -> (B, T, C)"""
        return self.attention(Q, K, V, n_heads=self.n_heads, causal=True)

    def mix(self, x: Tensor) -> Tensor:
        """Let the tokens read each other.  (B, T, C) -> (B, T, C)"""
        if self.reads_input:
            return self.attention(self.ln_1(x))
        return self.attend(*self.project(x))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.out_proj(self.mix(x))  # (B, T, C)
        return x + self.mlp(self.ln_2(x))  # (B, T, C)


class GPT(nn.Module):
    """Predict each next token from those before it.

    Padding stands on the right: a causal attention never looks there, and `loss` leaves it out.

        model = GPT(GPTConfig(vocab_size=len(vocabulary)), self_attention, init_qkv_proj)
    """

    def __init__(
        self,
        config: GPTConfig,
        attention: Callable,
        projections: Callable,
        positions: Callable = LearnedPositions,
    ):
        super().__init__()
        if config.n_embd % config.n_heads:
            raise ValueError(
                f"n_embd = {config.n_embd} cannot be shared out evenly among "
                f"n_heads = {config.n_heads} heads."
            )
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.n_embd)
        nn.init.normal_(self.embedding.weight, std=0.02)
        self.positions = build(positions, config.n_embd, config.block_size)
        self.blocks = nn.ModuleList(
            Block(config, attention, projections) for _ in range(config.n_layers)
        )
        self.ln_f = nn.LayerNorm(config.n_embd)
        self.output = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        nn.init.normal_(self.output.weight, std=0.02)

    def embed(self, tokens: Tensor) -> Tensor:
        """Return what the first layer reads.  (B, T) -> (B, T, C)"""
        T = tokens.shape[1]
        if self.config.block_size < T:
            raise ValueError(
                f"{T} tokens are more than this model's block_size of {self.config.block_size}."
            )
        positions = self.positions(T, self.config.n_embd)  # (T, C)
        return self.embedding(tokens) + positions.to(self.embedding.weight)  # (B, T, C)

    def hidden(self, tokens: Tensor) -> Tensor:
        """Return what the output layer reads.  (B, T) -> (B, T, C)"""
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.ln_f(x)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the logits of each next token.  (B, T) -> (B, T, vocab_size)"""
        return self.output(self.hidden(tokens))

    def loss(self, tokens: Tensor, targets: Tensor | None = None) -> Tensor:
        """Return the mean loss of predicting the targets, those that are PAD left out.

        Without targets of their own, each token but the first is what those before it predict.

        tokens (B, T), targets (B, T) -> ()
        """
        if targets is None:
            tokens, targets = tokens[:, :-1], tokens[:, 1:]  # (B, T-1)
        real = targets != self.config.pad  # (B, T)
        hidden = self.hidden(tokens)  # (B, T, C)
        return mean_cross_entropy(hidden[real], self.output.weight, targets[real])

    @torch.no_grad()
    def token_losses(self, tokens: Tensor) -> Tensor:
        """Return the loss of each token but the first, 0 where it is PAD.  (B, T) -> (B, T-1)"""
        targets = tokens[:, 1:]  # (B, T-1)
        real = targets != self.config.pad  # (B, T-1)
        hidden = self.hidden(tokens[:, :-1])  # (B, T-1, C)
        losses = hidden.new_zeros(targets.shape)  # (B, T-1)
        losses[real] = token_cross_entropies(hidden[real], self.output.weight, targets[real])
        return losses

    def count_parameters(self) -> int:
        """Count the parameters, without those of the output layer (as GPTs are usually counted)."""
        return sum(p.numel() for p in self.parameters()) - self.output.weight.numel()


def build(piece: Callable, *sizes: int) -> Callable:
    """Return what the model will call: a class is built with these sizes, a function is kept."""
    return piece(*sizes) if isinstance(piece, type) else piece


def check_projections(made, maker: Callable) -> tuple[Callable, ...]:
    """Return the three projections, or say in a sentence what came instead."""
    name = getattr(maker, "__name__", "the projections")
    if not isinstance(made, (tuple, list, nn.ModuleList)):
        raise TypeError(f"{name} must return three projections; it returned {made!r}.")
    if len(made) != 3 or not all(callable(p) for p in made):
        raise TypeError(
            f"{name} must return three projections, for Q, K and V, each something that can be "
            f"called on x; it returned {len(made)}: {', '.join(type(p).__name__ for p in made)}."
        )
    return tuple(made)
