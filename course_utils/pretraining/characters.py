"""Text as characters: two signs that no text holds, and a number for every character."""

from __future__ import annotations

import string
from collections.abc import Iterable, Sequence

MASK = "⁇"  # stands where something was taken out, and in front of what it was
PAD = "□"  # fills a text up to the length of the block; nobody is asked to predict it


class UnknownCharacter(ValueError):
    """A character that the model has no number for, said in one sentence."""


class Characters:
    """The characters a model knows, each with its number.

        characters = Characters(["Ada was born in Arlen."])
        characters.decode(characters.encode("Ada"))  # "Ada"

    Whatever a keyboard writes has a number too, so that a model can be asked anything.
    """

    pad = 0  # the number of PAD

    def __init__(self, texts: Iterable[str]):
        found = set(string.ascii_letters + string.digits + string.punctuation + " ")
        for text in texts:
            found.update(text)
        self.characters = [PAD, MASK, *sorted(found - {PAD, MASK})]
        self.numbers = {character: i for i, character in enumerate(self.characters)}

    def __len__(self) -> int:
        return len(self.characters)

    def encode(self, text: str) -> list[int]:
        """Return the numbers of a text's characters."""
        try:
            return [self.numbers[character] for character in text]
        except KeyError as missing:
            raise UnknownCharacter(
                f"The character {missing.args[0]!r} occurs in nothing that the model has read; "
                "please write without it."
            ) from None

    def decode(self, numbers: Sequence[int]) -> str:
        """Return the text that these numbers stand for."""
        return "".join(self.characters[int(number)] for number in numbers)
