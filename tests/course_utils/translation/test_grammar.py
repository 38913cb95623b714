"""The course's own language pair: one meaning per sentence, German order, exact losses."""

import itertools
import math
from functools import cache

from course_utils.translation import grammar


def test_the_entropy_is_that_of_many_pairs():
    pairs, losses = grammar.generate_pairs(8000, seed=3)
    sampled = sum(losses) / sum(len(english) + 1 for _, english in pairs)
    assert math.isclose(sampled, grammar.compute_entropy(), rel_tol=0.04)
    assert 0.01 < grammar.compute_entropy() < 0.1


@cache
def list_same_words():
    """Return the first of the words of one meaning, by each of them."""
    sides = [side for rules in grammar.list_rules().values() for _, _, side in rules]
    choices = [word.split("|") for side in sides for word in side.split() if "|" in word]
    return {"an": "a"} | {word: same[0] for same in choices for word in same}


def settle(english):
    """Write every word of one meaning in the same way."""
    return [list_same_words().get(word, word) for word in english]


def test_a_german_sentence_has_one_meaning():
    pairs, _ = grammar.generate_pairs(6000, seed=5)
    by_german = {}
    for german, english in pairs:
        by_german.setdefault(" ".join(german), set()).add(" ".join(settle(english)))
    assert all(len(meanings) == 1 for meanings in by_german.values())
    assert len(by_german) > 5500  # hardly any sentence comes twice


def test_verbs_come_late_and_prefixes_decide():
    pairs, _ = grammar.generate_pairs(4000, seed=7)
    final = [german for german, _ in pairs if "dass" in german and german.count(",") == 1]
    verbs = {german[-2] for german in final}
    assert len(final) > 100
    assert {"sieht", "aufmacht", "aufmachen"} & verbs
    opened = [(g, e) for g, e in pairs if "macht" in g and len(g) < 9]
    assert {("auf" in g) for g, _ in opened} == {True, False}
    assert all(("auf" in g) == ("opens" in e) for g, e in opened if g[-2] in ("auf", "zu"))


def test_articles_agree():
    pairs, _ = grammar.generate_pairs(2000, seed=9)
    for german, english in pairs:
        for before, word in itertools.pairwise(german):
            assert (before, word) not in {("der", "frau"), ("das", "koch"), ("die", "koch")}
        for before, word in itertools.pairwise(english):
            assert before not in ("a", "an") or (word[0] in "aeiou") == (before == "an")


def test_a_few_hundred_words():
    pairs, _ = grammar.generate_pairs(6000, seed=11)
    assert 200 < len({word for german, _ in pairs for word in german}) < 500
    assert 150 < len({word for _, english in pairs for word in english}) < 400
    assert grammar.generate_pairs(20, 1) == grammar.generate_pairs(20, 1)
