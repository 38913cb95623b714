"""Five broken attentions to examine: which fault does each of them have?

They are made from *your* `self_attention`, by tampering with what goes in or comes out, and handed to
you in a random order. `check_diagnosis` tells you which of your diagnoses are right.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch

FAULTS = {
    "future": "looks at everything, later tokens included",
    "next": "looks one token too far ahead",
    "late mask": "hides later tokens after the softmax, instead of before",
    "scale": "divides by the root of n_embd instead of the root of the head size",
    "swapped": "swaps queries and keys",
}


@dataclass(frozen=True)
class Patient:
    """An attention with one fault; call it as you would call your own."""

    name: str
    _attend: Callable
    _fault: str

    def __call__(self, Q, K, V, n_heads=1, causal=True):
        return self._attend(Q, K, V, n_heads, causal)


def admit_patients(self_attention: Callable, seed: int = 0) -> dict[str, Patient]:
    """Return five broken copies of your attention, named A to E; another seed mixes them anew."""

    def see_all(Q, K, V, n_heads, causal):
        return self_attention(Q, K, V, n_heads, False)

    def see_next(Q, K, V, n_heads, causal):
        out = self_attention(Q, K, V, n_heads, causal)
        if not causal or Q.shape[1] < 2:
            return out
        late = torch.cat([Q[:, :1], Q[:, :-1]], dim=1)  # each query stands one place too late
        return torch.cat([self_attention(late, K, V, n_heads, True)[:, 1:], out[:, -1:]], dim=1)

    def mask_late(Q, K, V, n_heads, causal):
        if not causal:
            return self_attention(Q, K, V, n_heads, False)
        rows = []
        for place in range(Q.shape[1]):  # no value from later on, though its score still counts
            seen = torch.zeros_like(V)
            seen[:, : place + 1] = V[:, : place + 1]
            rows.append(self_attention(Q, K, seen, n_heads, False)[:, place])
        return torch.stack(rows, dim=1)

    def scale_wrongly(Q, K, V, n_heads, causal):
        return self_attention(Q / math.sqrt(n_heads), K, V, n_heads, causal)

    def swap(Q, K, V, n_heads, causal):
        return self_attention(K, Q, V, n_heads, causal)

    broken = [
        ("future", see_all), ("next", see_next), ("late mask", mask_late),
        ("scale", scale_wrongly), ("swapped", swap),
    ]  # fmt: skip
    random.Random(seed).shuffle(broken)
    return {
        name: Patient(name, attend, fault)
        for name, (fault, attend) in zip("ABCDE", broken, strict=True)
    }


def check_diagnosis(patients: Mapping[str, Patient], diagnosis: Mapping[str, str]) -> None:
    """Say which diagnoses are right: {"A": "scale", ...}, with the short names of `FAULTS`."""
    right = 0
    for name, patient in patients.items():
        said = diagnosis.get(name, ...)
        if said is ...:
            print(f"{name}: no diagnosis yet.")
        elif said not in FAULTS:
            print(f"{name}: {said!r} is not on the list: {', '.join(FAULTS)}.")
        elif said == patient._fault:
            right += 1
            print(f"{name}: ✔ it {FAULTS[said]}.")
        else:
            print(
                f"{name}: ✘ not {said!r}. Which measurement would tell this fault from the others?"
            )
    print(f"{right} of {len(patients)} diagnoses are right.")
