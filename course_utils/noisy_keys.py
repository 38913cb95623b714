"""Keys at right angles, noisy copies of them, and attention over many draws at once.

A world has n keys of length 1 in d dimensions, all at right angles to each other, and two chosen
tokens, a and b. Its keys can be drawn again and again with a little noise, and key a may also be
*unsteady*: longer in one draw, shorter in the next. Attention is unscaled: softmax(K q) V.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

TOLERANCE = 0.05  # an output is right when no coordinate is further off than this
NOISE_VARIANCE = 1e-6  # of every coordinate of every key
GAIN_MEAN, GAIN_VARIANCE = 1.0, 0.5  # of g, the unsteady key's factor ...
LEAST_GAIN = 0.3  # ... which is drawn again while it lies below this
LEAST_KEYS, MOST_KEYS = 4, 12
_ROUNDING = 1e-9  # 0.05 itself still counts, whatever the last bit says


@dataclass(frozen=True)
class World:
    """Mean keys, one per row, (n, d), and the two tokens whose values should be averaged."""

    means: np.ndarray
    a: int
    b: int


def draw_world(rng: np.random.Generator, n: int | None = None) -> World:
    """Draw n from 4 to 12, d from n to 16, keys of length 1 at right angles, and a != b."""
    n = int(rng.integers(LEAST_KEYS, MOST_KEYS + 1)) if n is None else n
    d = int(rng.integers(n, 17))
    a, b = rng.choice(n, size=2, replace=False)
    return World(draw_orthonormal(rng, n, d), int(a), int(b))


def draw_orthonormal(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Return n rows of length 1 in d dimensions, each at right angles to all others."""
    columns, _ = np.linalg.qr(rng.standard_normal((d, n)))  # (d, n)
    return np.ascontiguousarray(columns.T)


def draw_values(rng: np.random.Generator, world: World, draws: int) -> np.ndarray:
    """Return values between -1 and 1, anew for every draw: (draws, n, d)."""
    return rng.uniform(-1, 1, (draws, *world.means.shape))


def draw_gains(rng: np.random.Generator, draws: int) -> np.ndarray:
    """Return the factors g of the unsteady key, one per draw: (draws,)."""
    gains = np.full(draws, -np.inf)
    while (low := gains < LEAST_GAIN).any():
        gains[low] = rng.normal(GAIN_MEAN, np.sqrt(GAIN_VARIANCE), int(low.sum()))
    return gains


def draw_keys(
    rng: np.random.Generator,
    world: World,
    draws: int,
    gains: np.ndarray | None = None,
    variance: float = NOISE_VARIANCE,
) -> np.ndarray:
    """Return noisy copies of the keys, (draws, n, d); with gains, key a is unsteady as well."""
    keys = np.sqrt(variance) * rng.standard_normal((draws, *world.means.shape))
    keys += world.means
    if gains is not None:
        keys[:, world.a] += (gains - 1)[:, None] * world.means[world.a]
    return keys


def find_weights(queries, keys) -> np.ndarray:
    """Return the weights of every head: queries (heads, d), keys (draws, n, d) -> (heads, draws, n)."""
    scores = np.moveaxis(np.asarray(keys) @ np.asarray(queries).T, -1, 0)  # (heads, draws, n)
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return shares / shares.sum(axis=-1, keepdims=True)


def mix_values(weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the mean of the heads' outputs: (heads, draws, n), (draws, n, d) -> (draws, d)."""
    return np.einsum("kn,knd->kd", weights.mean(axis=0), values)


def is_right(outputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Say of each draw whether its output is near enough to its target: (draws, d) -> (draws,)."""
    return np.abs(outputs - targets).max(axis=-1) <= TOLERANCE + _ROUNDING
