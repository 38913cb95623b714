"""Your attention beside PyTorch's own: shown once yours passes, never before."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
import torch.nn.functional as F

from course_utils.checks import attention
from course_utils.checks.findings import CheckFailed
from course_utils.runtime import profile

_TOKENS = {"quick": 64, "laptop": 1024, "gpu": 1024}  # long, where (T, T) weights hurt
_WIDTH, _HEADS = 48, 3
_REPEATS = 5


def show_parity(self_attention: Callable, split_heads: Callable, merge_heads: Callable) -> None:
    """Print how far your attention and PyTorch's lie apart, and how long each takes.

    PyTorch's function knows nothing of splitting and merging: it is called between yours.
    """
    pieces = {"split_heads": split_heads, "merge_heads": merge_heads}
    for name, function in {**pieces, "self_attention": self_attention}.items():
        finding = attention.examine(name, function)
        if not finding.passed:
            raise CheckFailed(name, finding)

    device = getattr(self_attention, "__globals__", {}).get("DEVICE", "cpu")
    dice = torch.Generator().manual_seed(0)
    T = _TOKENS[profile()]
    Q, K, V = (torch.randn(1, T, _WIDTH, generator=dice).to(device) for _ in range(3))  # (B, T, C)

    def ours(causal: bool) -> torch.Tensor:
        return self_attention(Q, K, V, n_heads=_HEADS, causal=causal)

    def theirs(causal: bool) -> torch.Tensor:
        heads = [split_heads(x, _HEADS) for x in (Q, K, V)]
        return merge_heads(F.scaled_dot_product_attention(*heads, is_causal=causal))

    for causal in (False, True):
        difference = (ours(causal) - theirs(causal)).abs().max().item()
        verdict = "the same, to rounding" if difference < 1e-4 else "NOT the same"
        print(f"causal={causal!s:5}  largest difference {difference:.1e}: {verdict}")
    megabytes = _HEADS * T * T * 4 / 1e6
    print(
        f"time per call with {T:,} tokens: yours {_clock(ours):.1f} ms, PyTorch's "
        f"{_clock(theirs):.1f} ms; one table of weights takes {megabytes:.3g} MB"
    )


def _clock(attend: Callable) -> float:
    """Return the milliseconds that one call takes, over a few calls."""
    float(attend(True).sum())  # reading a number waits until a GPU is done
    began = time.perf_counter()
    for _ in range(_REPEATS):
        out = attend(True)
    float(out.sum())
    return 1000 * (time.perf_counter() - began) / _REPEATS
