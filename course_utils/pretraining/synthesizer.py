"""Can a learner's `synthesizer_attention` be trained with? Tried out, never written down here."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable

import torch

from course_utils.checks import CheckFailed, check

B, T, C, D, BLOCK = 2, 5, 4, 3, 7  # sizes of a small trial


def explain_why_not(synthesizer_attention: Callable | None) -> str | None:
    """Return None when this function can be trained with, else a sentence that says why not."""
    if synthesizer_attention in (None, ...):
        return (
            "There is no synthesizer_attention here, so this run is left out. Paste yours from "
            "1_noise_and_heads into the cell above to have it."
        )
    if not callable(synthesizer_attention):
        return "synthesizer_attention is not a function, so this run is left out."
    try:
        fault = _find_fault(synthesizer_attention)
    except Exception as error:  # whatever a learner's code does wrong
        fault = f"it stopped with {type(error).__name__}: {error}"
    if fault is None:
        return None
    return f"Your synthesizer_attention cannot be used, so this run is left out: {fault}"


def _find_fault(attend: Callable) -> str | None:
    """Ask the check of the notebook it comes from, then try what a training relies on."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            check("synthesizer_attention", attend)
    except CheckFailed as failed:
        return failed.finding.sentence
    except ValueError as problem:  # the course may go without that notebook, and its check
        if "no check called" not in str(problem):
            raise
    dice = torch.Generator().manual_seed(0)
    shapes = ((C, D), (D,), (D, BLOCK), (BLOCK,))
    weights = [torch.randn(*shape, generator=dice, requires_grad=True) for shape in shapes]
    X, V = (torch.randn(B, T, C, generator=dice) for _ in range(2))
    mixed = attend(X, *weights, V)
    if not isinstance(mixed, torch.Tensor) or mixed.shape != V.shape:
        return "it should return a tensor of the shape of V."
    if not torch.allclose(attend(X, *weights, torch.ones_like(V)), torch.ones_like(V), atol=1e-4):
        return "its weights do not sum to 1."
    later = X.clone()
    later[:, 3:] += 1.0
    if not torch.allclose(attend(later, *weights, V)[:, :3], mixed[:, :3], atol=1e-4):
        return "an early token changes when only later ones do: it sees the future."
    gradients = torch.autograd.grad(mixed.sum(), weights, allow_unused=True)
    if any(gradient is None for gradient in gradients):
        return "no gradient reaches one of its weights, so that it would not learn."
    return None
