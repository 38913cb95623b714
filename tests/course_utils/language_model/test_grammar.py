"""The course's own language: its entropy is exact only if no sentence can be built in two ways."""

import itertools
import math
from collections import Counter

import pytest

from course_utils.language_model import grammar
from course_utils.language_model.corpus import OWN_SENTENCES


def test_no_word_is_in_two_classes_or_also_stands_by_itself():
    words = list(itertools.chain.from_iterable(grammar.CLASSES.values()))
    assert [word for word, n in Counter(words).items() if n > 1] == []
    literal = {
        slot
        for _, frame in grammar.list_frames()
        for slot in frame
        if slot.partition(":")[0] not in grammar.CLASSES and not slot.startswith("@")
    }
    assert literal.isdisjoint(words)
    assert not any(slot.isupper() and len(slot) > 1 for slot in literal), "a misspelt rule"


def possible_words(frame):
    """For each slot, what it can be: a word, a class, or the class of what it brings back."""
    memory = {}
    for slot in frame:
        name, _, key = slot.partition(":")
        if key:
            memory[key] = name
    return [memory[s[1:]] if s.startswith("@") else s.partition(":")[0] for s in frame]


def mentions(frame):
    """For each slot that brings a word back, the place of its first mention."""
    first = {slot.partition(":")[2]: i for i, slot in enumerate(frame) if ":" in slot[1:]}
    return [first[slot[1:]] if slot.startswith("@") else None for slot in frame]


def test_no_two_frames_can_make_the_same_sentence():
    frames = [frame for _, frame in grammar.list_frames()]
    for a, b in itertools.combinations(frames, 2):
        if possible_words(a) != possible_words(b):
            continue
        # The same classes in the same places: somewhere they must bring back different words,
        # both of them remembered, which are never the same word.
        assert any(
            x is not None and y is not None and x != y
            for x, y in zip(mentions(a), mentions(b), strict=True)
        ), (a, b)


def test_probabilities_sum_to_one():
    assert sum(p for p, _ in grammar.list_frames()) == pytest.approx(1)


def test_entropy_is_that_of_all_sentences_listed_one_by_one(monkeypatch):
    """On a language small enough to list, the formula and the list must agree."""
    monkeypatch.setattr(grammar, "CLASSES", {"GIRL": ("Ada", "Ida", "Eva"), "ACT": ("ran", "sat")})
    monkeypatch.setattr(
        grammar,
        "RULES",
        {
            "SENTENCE": [(3, "GIRL:a met GIRL:b . @a ACT END"), (1, "GIRL ACT")],
            "END": [(1, ""), (1, "with @b")],
        },
    )
    grammar.list_frames.cache_clear()
    try:
        sentences = {}
        for a, b in itertools.permutations(("Ada", "Ida", "Eva"), 2):
            for act in ("ran", "sat"):
                sentences[f"{a} met {b} . {a} {act}"] = 0.75 / 6 / 2 / 2
                sentences[f"{a} met {b} . {a} {act} with {b}"] = 0.75 / 6 / 2 / 2
        for a in ("Ada", "Ida", "Eva"):
            for act in ("ran", "sat"):
                sentences[f"{a} {act}"] = 0.25 / 6
        assert sum(sentences.values()) == pytest.approx(1)
        entropy = sum(-p * math.log(p) for p in sentences.values())
        tokens = sum(p * (len(s.split()) + 1) for s, p in sentences.items())
        assert grammar.compute_entropy() == pytest.approx(entropy / tokens)

        made, losses = grammar.generate_sentences(500, seed=0)
        for words, loss in zip(made, losses, strict=True):
            assert loss == pytest.approx(-math.log(sentences[" ".join(words)]))
    finally:
        grammar.list_frames.cache_clear()


def test_generated_sentences_have_the_entropy_on_average():
    sentences, losses = grammar.generate_sentences(20_000, seed=5)
    average = sum(losses) / sum(len(s) + 1 for s in sentences)
    assert average == pytest.approx(grammar.compute_entropy(), rel=0.01)


def test_same_seed_same_sentences():
    assert grammar.generate_sentences(50, seed=1) == grammar.generate_sentences(50, seed=1)
    assert grammar.generate_sentences(50, seed=1) != grammar.generate_sentences(50, seed=2)


def test_at_least_500_types():
    sentences, _ = grammar.generate_sentences(20_000, seed=1)
    assert len({word for sentence in sentences for word in sentence}) >= 500


def matches(words, frame):
    """Whether a frame can make these words."""
    if len(words) != len(frame):
        return False
    memory = {}
    for word, slot in zip(words, frame, strict=True):
        name, _, key = slot.partition(":")
        if slot.startswith("@"):
            if memory[slot[1:]] != word:
                return False
        elif name in grammar.CLASSES:
            if word not in grammar.CLASSES[name] or (key and word in memory.values()):
                return False
            if key:
                memory[key] = word
        elif word != slot:
            return False
    return True


@pytest.mark.parametrize("sentence", OWN_SENTENCES)
def test_the_example_sentences_belong_to_the_language(sentence):
    fitting = [f for _, f in grammar.list_frames() if matches(sentence.split(), f)]
    assert len(fitting) == 1
