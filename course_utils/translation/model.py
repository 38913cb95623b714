"""A translator: an encoder that reads, a decoder that writes, and attention between the two.

The encoder is a GRU that reads the German sentence in both directions and leaves one vector per word.
The decoder is a GRU that writes the English one word at a time. Before each word it asks an attention
module, which comes in as an argument, for what it should know about the German sentence:

    attended, weights = attention(hidden, encoder_outputs, mask)

Shapes: B sentences, S German and T English tokens, E = `enc_hid_dim`, D = `dec_hid_dim`, V words.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from course_utils.language_model.chunked_loss import mean_cross_entropy, token_cross_entropies
from course_utils.language_model.corpus import PAD
from course_utils.translation.data import Batch


class DummyAttention(nn.Module):
    """Attention that tells the decoder nothing: zeros, with equal weights on all words."""

    def forward(
        self, hidden: Tensor, encoder_outputs: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        """hidden (B, D), encoder_outputs (B, S, 2E), mask (B, S) -> (B, 2E), (B, S)"""
        attended = torch.zeros_like(encoder_outputs[:, 0])  # (B, 2E)
        weights = mask / mask.sum(dim=1, keepdim=True)  # (B, S)
        return attended, weights.to(encoder_outputs.dtype)


class Encoder(nn.Module):
    """Reads a sentence in both directions."""

    def __init__(self, n_words: int, emb_dim: int, enc_hid_dim: int, dec_hid_dim: int):
        super().__init__()
        self.embedding = nn.Embedding(n_words, emb_dim, padding_idx=PAD)
        self.gru = nn.GRU(emb_dim, enc_hid_dim, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(2 * enc_hid_dim, dec_hid_dim)

    def forward(self, source: Tensor, mask: Tensor, dropout: nn.Module) -> tuple[Tensor, Tensor]:
        """source (B, S), mask (B, S) -> outputs (B, S, 2E), the decoder's first state (B, D)"""
        embedded = dropout(self.embedding(source))  # (B, S, emb_dim)
        # Packed, so that neither direction ever reads padding.
        packed = pack_padded_sequence(
            embedded, mask.sum(dim=1).cpu(), batch_first=True, enforce_sorted=False
        )
        packed_outputs, last = self.gru(packed)  # last (2, B, E)
        outputs, _ = pad_packed_sequence(
            packed_outputs, batch_first=True, total_length=source.shape[1]
        )
        return outputs, torch.tanh(self.bridge(torch.cat([last[0], last[1]], dim=-1)))


class Translator(nn.Module):
    """Encoder, decoder and whatever attention it is given."""

    def __init__(
        self,
        n_german: int,
        n_english: int,
        attention: nn.Module,
        emb_dim: int = 64,
        enc_hid_dim: int = 64,
        dec_hid_dim: int = 128,
        dropout: float = 0.1,
    ):
        super().__init__()
        self.encoder = Encoder(n_german, emb_dim, enc_hid_dim, dec_hid_dim)
        self.attention = attention
        self.embedding = nn.Embedding(n_english, emb_dim, padding_idx=PAD)
        self.cell = nn.GRUCell(emb_dim + 2 * enc_hid_dim, dec_hid_dim)
        self.readout = nn.Linear(dec_hid_dim + 2 * enc_hid_dim, emb_dim)
        self.output = nn.Linear(emb_dim, n_english, bias=False)
        self.dropout = nn.Dropout(dropout)

    def encode(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Read German sentences.  ids, mask (B, S) -> outputs (B, S, 2E), hidden (B, D)"""
        return self.encoder(ids, mask, self.dropout)

    def step(
        self, token: Tensor, hidden: Tensor, outputs: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Write one word: what comes after `token`?

        token (B,), hidden (B, D), outputs (B, S, 2E), mask (B, S)
        -> logits (B, V), the next hidden (B, D), weights (B, S)
        """
        embedded = self.dropout(self.embedding(token))  # (B, emb_dim)
        hidden, attended, weights = self._advance(embedded, hidden, outputs, mask)
        return self.output(self._read_out(hidden, attended)), hidden, weights

    def _advance(self, embedded, hidden, outputs, mask) -> tuple[Tensor, Tensor, Tensor]:
        """Ask attention with the state before the step, then take the step."""
        attended, weights = self.attention(hidden, outputs, mask)  # (B, 2E), (B, S)
        hidden = self.cell(torch.cat([embedded, attended], dim=-1), hidden)  # (B, D)
        return hidden, attended, weights

    def _read_out(self, hidden: Tensor, attended: Tensor) -> Tensor:
        """(..., D), (..., 2E) -> (..., emb_dim)"""
        return torch.tanh(self.readout(torch.cat([hidden, attended], dim=-1)))

    def read_along(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """Let the decoder read the right translation along, one token ahead (teacher forcing).

        -> states (B, T - 1, D), attended (B, T - 1, 2E), weights (B, T - 1, S)
        """
        outputs, hidden = self.encode(batch.source, batch.mask)
        embedded = self.dropout(self.embedding(batch.target[:, :-1]))  # (B, T - 1, emb_dim)
        steps = []
        with remember_projections(self.attention):
            for word in embedded.unbind(dim=1):  # (B, emb_dim)
                hidden, attended, weights = self._advance(word, hidden, outputs, batch.mask)
                steps.append((hidden, attended, weights))
        return tuple(torch.stack(parts, dim=1) for parts in zip(*steps, strict=True))

    def forward(self, batch: Batch) -> Tensor:
        """Return the logits of every place of every translation, padding too.  -> (B, T - 1, V)"""
        states, attended, _ = self.read_along(batch)
        return self.output(self._read_out(states, attended))

    def mean_loss(self, batch: Batch) -> Tensor:
        """Return the mean loss of all real tokens, ready for backward.  -> ()"""
        return mean_cross_entropy(*self._gather(batch))

    def token_losses(self, batch: Batch) -> Tensor:
        """Return the loss of every real token, sentence by sentence, without gradients.  -> (n_tokens,)"""
        return token_cross_entropies(*self._gather(batch))

    def _gather(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """Return what the output layer starts from, its weights, and the right words.

        The decoder must go step by step, the output layer need not: it predicts all words of all
        sentences at once, a few at a time, and none in places of padding.
        """
        states, attended, _ = self.read_along(batch)
        following = batch.target[:, 1:]  # (B, T - 1)
        real = following != PAD
        return self._read_out(states[real], attended[real]), self.output.weight, following[real]


@contextmanager
def remember_projections(module: nn.Module) -> Iterator[None]:
    """Let a module's linear layers answer at once when they are asked about the same tensor again.

    A sentence is encoded once and attended to at every step. Its keys and values do not change on the
    way, so there is no need to work them out again, or to go back through them again for gradients.
    """
    layers = [layer for layer in module.modules() if isinstance(layer, nn.Linear)]
    for layer in layers:
        layer.forward = _Remembering(layer)
    try:
        yield
    finally:
        for layer in layers:
            del layer.forward  # back to that of its class


class _Remembering:
    """A layer's forward that keeps its last answer, as long as nobody has changed it in place."""

    def __init__(self, layer: nn.Linear):
        self.project = layer.forward
        self.asked = self.answer = self.versions = None

    def __call__(self, x: Tensor) -> Tensor:
        if x is not self.asked or (x._version, self.answer._version) != self.versions:
            self.asked, self.answer = x, self.project(x)
            self.versions = (x._version, self.answer._version)
        return self.answer
