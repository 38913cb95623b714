"""What was seen of a piece of work, beside what right code gives: what a claim is checked on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Seen:
    """What came back for one draw: from the work, and from right code."""

    exercise: str
    values: dict
    right: dict
    inputs: dict

    def text(self, key: str) -> str:
        """Return the words that came back in place of numbers, or none."""
        value = self.values.get(key)
        return str(value) if isinstance(value, str) else ""

    def has_text(self, *parts: str) -> bool:
        """Say whether any words that came back hold one of these, capitals or not."""
        words = [v.lower() for v in self.values.values() if isinstance(v, str)]
        return any(part in word for part in parts for word in words)

    def array(self, key: str) -> np.ndarray | None:
        return read(self.values.get(key))

    def wanted(self, key: str) -> np.ndarray | None:
        return read(self.right.get(key))

    def list(self, key: str) -> list:
        array = self.array(key)
        return [] if array is None else array.reshape(-1).tolist()

    def number(self, key: str) -> float:
        found = self.list(key)
        return float(found[0]) if len(found) == 1 else float("nan")

    def is_right(self, key: str) -> bool:
        return is_near(self.array(key), self.wanted(key))

    def keys(self, ending: str) -> list[str]:
        """Return the keys that right code gives and that end so."""
        return [key for key in self.right if key.endswith(ending)]


Claim = Callable[[Seen], bool]


def read(value) -> np.ndarray | None:
    if value is None or isinstance(value, str) or not hasattr(value, "shape"):
        return None if not isinstance(value, int | float) else np.asarray(value)
    return np.asarray(value)


def is_near(one: np.ndarray | None, other: np.ndarray | None, close: float = 1e-3) -> bool:
    """Say whether two arrays have one shape and the same numbers, as far as a judge looks."""
    if one is None or other is None or one.shape != other.shape:
        return one is other
    return bool(
        np.allclose(one.astype(float), other.astype(float), close, close / 10, equal_nan=True)
    )


def says(*parts: str) -> Claim:
    """Return a claim about the words of an error."""
    return lambda seen: seen.has_text(*parts)
