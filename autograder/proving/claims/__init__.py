"""What a diagnosis says was seen, written down a second time, so that it can be found untrue.

A diagnosis either names a known mistake, and then that mistake has to give the very same outputs; or
it describes what came back ("the batches do not have the size asked for"), and then its claim stands
here and has to hold. These claims share no code with the judge.
"""

from __future__ import annotations

from autograder.proving.claims.cases import CASES
from autograder.proving.claims.finetuning import FINETUNING
from autograder.proving.claims.pretraining import PRETRAINING
from autograder.proving.claims.queries import CRAFTED, CRAFTED_MATRICES, NOISY
from autograder.proving.claims.seen import Claim, Seen
from autograder.proving.claims.translation import TRANSLATION
from autograder.proving.contracts import NOISY_QUERIES, TARGETS

__all__ = ["Seen", "find_claim"]

_CLAIMS: dict[str, dict[str, Claim]] = (
    FINETUNING
    | TRANSLATION
    | PRETRAINING
    | dict.fromkeys(TARGETS, CRAFTED)
    | dict.fromkeys(NOISY_QUERIES, NOISY)
    | {"craft_projections": CRAFTED_MATRICES}
)


def find_claim(exercise: str, diagnosis: str) -> Claim | None:
    """Return what a diagnosis claims to have seen, or None when it names a mistake instead."""
    return _CLAIMS.get(exercise, CASES).get(diagnosis)
