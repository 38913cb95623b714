"""Writes film-review sentences whose label hangs on how words are put together, not on which.

Every pattern exists for both labels with the same words around the feeling, so counting words
helps little: "not dull" is praise, "could not be duller" is not, and after "but" the tide turns.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from autograder.reviews.words import (
    GENERAL,
    GENRES,
    INTENSIFIERS,
    NEGATIVE,
    OPENINGS,
    OTHERS,
    PEOPLE,
    POSITIVE,
    QUALITIES,
    TOPICS,
    VERDICTS,
    Topic,
)


@dataclass(frozen=True)
class Mix:
    """How often each kind of clause and sentence is written."""

    clauses: tuple[int, int, int]  # plain, negated, by degree
    sentences: tuple[int, int, int, int, int]  # the same three, contrast, agreement


TRICKY = Mix((8, 2, 1), (9, 2, 1, 5, 5))  # for labelled sentences
# Text to learn the language from is plainer: where every second adjective is turned round, nobody
# could find out which way it leans.
EVERYDAY = Mix((10, 2, 1), (14, 3, 2, 4, 8))


class Writer:
    """Writes clauses, sentences and short reviews of a wanted label, from one seed."""

    def __init__(self, seed: int, taboo: Collection[str] = (), mix: Mix = TRICKY):
        self.random = random.Random(seed)
        self.taboo = taboo  # sentences that no review may hold
        self.mix = mix

    # ------------------------------------------------------------------ words

    def pick(self, options: Sequence):
        return self.random.choice(options)

    def adjective(self, topic: Topic, label: int) -> str:
        """Draw an adjective; the later in its list, the rarer, as in any language."""
        options = (GENERAL if self.random.random() < 0.45 else topic.adjectives)[label]
        return options[int(len(options) * self.random.random() ** 1.5)]

    def subject(self, topic: Topic) -> tuple[str, bool]:
        """Draw something to speak of; also whether it is plural."""
        plural = self.random.random() < 0.35
        return self.pick(topic.plural if plural else topic.singular), plural

    # ---------------------------------------------------------------- clauses

    def clause(self, label: int) -> str:
        """Write a clause without capital or full stop: plain, negated, or by degree."""
        kind = self.random.choices((self.plain, self.negated, self.degree), self.mix.clauses)[0]
        return kind(label)

    def plain(self, label: int) -> str:
        topic = self.pick(TOPICS)
        subject, plural = self.subject(topic)
        be = "are" if plural else "is"
        adjective = self.adjective(topic, label)
        return self.pick(
            (
                f"{subject} {be} {adjective}",
                f"{subject} {be} {self.pick(INTENSIFIERS)} {adjective}",
                f"I found {subject} {adjective}",
                f"{subject} {be} {adjective} and {self.adjective(topic, label)}",
                f"{subject} {_conjugate(self.pick(topic.verbs[label]), plural)}",
                f"{subject} {be} full of {self.pick(QUALITIES[label])}",
            )
        )

    def negated(self, label: int) -> str:
        topic = self.pick(TOPICS)
        subject, plural = self.subject(topic)
        be = "are" if plural else "is"
        other = 1 - label
        adjective = self.adjective(topic, other)
        verb = self.pick(topic.verbs[other])
        denial = self.pick(
            ("not", "never", "hardly", "anything but", "far from", "by no means", "not at all")
        )
        return self.pick(
            (
                f"{subject} {be} {denial} {adjective}",
                f"{subject} {be} {denial} {adjective}",
                f"there is nothing {adjective} about {subject}",
                f"nobody could call {subject} {adjective}",
                f"I did not find {subject} {adjective}",
                f"{subject} never {_conjugate(verb, plural)}",
                f"{subject} {'do' if plural else 'does'} not {verb}",
                f"{subject} {be} free of {self.pick(QUALITIES[other])}",
                f"you will look in vain for {self.pick(QUALITIES[other])}",
                f"you cannot say that {subject} {be} not {self.adjective(topic, label)}",
            )
        )

    def degree(self, label: int) -> str:
        topic = self.pick(TOPICS)
        subject, plural = self.subject(topic)
        be = "are" if plural else "is"
        same, other = self.adjective(topic, label), self.adjective(topic, 1 - label)
        return self.pick(
            (
                f"{subject} could not be more {same}",
                f"{subject} could not be less {other}",
                f"{subject} {be} much less {other} than I expected",
                f"{subject} {be} even more {same} than I expected",
                f"rarely {'have' if plural else 'has'} {subject} been so {same}",
                f"{subject} {be} less {other} than {same}",
                f"{subject} {be} more {same} than {other}",
                f"{subject} would have been {other} in other hands",
            )
        )

    # -------------------------------------------------------------- sentences

    def contrast(self, label: int) -> str:
        """Set two feelings against each other; the grammar says which one wins."""
        topic = self.pick(TOPICS)
        subject, plural = self.subject(topic)
        wins, loses = self.clause(label), self.clause(1 - label)
        flaw = self.pick(QUALITIES[1 - label])
        return self.pick(
            (
                f"{loses}, but {wins}",
                f"{loses}, and yet {wins}",
                f"although {loses}, {wins}",
                f"{wins}, although {loses}",
                f"even if {loses}, {wins}",
                f"{wins}, even if {loses}",
                f"despite all the {flaw}, {wins}",
                f"{wins}, for all the {flaw}",
                f"{loses}; still, {wins}",
                f"{self.pick(OTHERS)} told me that {loses}, but {wins}",
                f"{self.pick(OTHERS)} told me that {subject} {'are' if plural else 'is'} "
                f"{self.adjective(topic, 1 - label)}, and they are wrong",
            )
        )

    def agreement(self, label: int) -> str:
        """Say the same thing twice."""
        return self.pick(
            (
                f"{self.clause(label)}, and {self.clause(label)}",
                f"{self.clause(label)}; what is more, {self.clause(label)}",
                f"{self.pick(OTHERS)} told me that {self.clause(label)}, and they are right",
            )
        )

    def sentence(self, label: int) -> str:
        """Write one sentence of the given label, with a neutral frame now and then."""
        kind: Callable = self.random.choices(
            (self.plain, self.negated, self.degree, self.contrast, self.agreement),
            self.mix.sentences,
        )[0]
        text = kind(label)
        frame = self.random.random()
        if frame < 0.15:
            text = f"{self.pick(OPENINGS).lower()}, {text}"
        elif frame < 0.30:
            text = f"in this {self.pick(GENRES)} about {self.pick(PEOPLE)}, {text}"
        return text[0].upper() + text[1:] + "."

    def outcry(self, label: int) -> str:
        """Write a handful of adjectives that lean the same way, as people do in a hurry."""
        topic = self.pick(TOPICS)
        words = [self.adjective(topic, label) for _ in range(self.random.randint(2, 4))]
        subject, plural = self.subject(topic)
        start = self.pick(("", f"{subject} {'are' if plural else 'is'} ", f"{subject}: "))
        text = f"{start}{', '.join(words[:-1])} and {words[-1]}"
        return text[0].upper() + text[1:] + "."

    def hurried_review(self, label: int) -> str:
        """Write an outcry and a verdict."""
        return f"{self.outcry(label)} {self.pick(VERDICTS[label])}"

    def review(self, label: int) -> str:
        """Write a few statements that agree, as a person's do; often with a verdict."""
        parts = []
        wanted = self.pick((1, 2, 3))
        while len(parts) < wanted:
            sentence = (self.outcry if self.random.random() < 0.25 else self.sentence)(label)
            if sentence not in self.taboo:
                parts.append(sentence)
        if len(parts) == 1 or self.random.random() < 0.7:
            parts.insert(self.pick((0, len(parts))), self.pick(VERDICTS[label]))
        return " ".join(parts)


def write_sentences(seed: int, count: int, taboo: Collection[str] = ()) -> list[tuple[str, int]]:
    """Write `count` different sentences, half of each label, in an order without pattern."""
    writer = Writer(seed)
    labels = {}
    for label in (NEGATIVE, POSITIVE):
        wanted = len(labels) + count // 2
        while len(labels) < wanted:
            sentence = writer.sentence(label)
            if sentence not in taboo:
                labels.setdefault(sentence, label)
    pairs = list(labels.items())
    writer.random.shuffle(pairs)
    return pairs


def write_reviews(seed: int, count: int, taboo: Collection[str] = ()) -> list[str]:
    """Write reviews for pretraining, none with a sentence from `taboo`; labels are thrown away."""
    writer = Writer(seed, taboo, EVERYDAY)
    return [writer.review(writer.pick((NEGATIVE, POSITIVE))) for _ in range(count)]


def write_hurried_reviews(seed: int, count: int) -> list[str]:
    """Write reviews of hardly more than adjectives; labels are thrown away."""
    writer = Writer(seed)
    return [writer.hurried_review(writer.pick((NEGATIVE, POSITIVE))) for _ in range(count)]


def _conjugate(phrase: str, plural: bool) -> str:
    """Put the verb that a phrase begins with into the third person."""
    if plural:
        return phrase
    verb, _, rest = phrase.partition(" ")
    verb += "es" if verb.endswith(("s", "sh", "ch", "x", "z", "o")) else "s"
    verb = verb[:-2] + "ies" if verb.endswith("ys") and verb[-3] not in "aeou" else verb
    return f"{verb} {rest}".strip()
