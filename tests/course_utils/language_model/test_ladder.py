"""Each rung of the ladder is lower than the one before, and the counts are right."""

import math

import pytest
import torch

from course_utils.language_model.corpus import make_corpus
from course_utils.language_model.grammar import generate_sentences
from course_utils.language_model.ladder import fits_rung, measure_counts, show_ladder


def test_knowing_more_is_better():
    sentences, _ = generate_sentences(800, seed=0)
    corpus = make_corpus("tiny", "Tiny.", {"train": sentences, "dev": sentences[:40], "test": []})
    rungs = measure_counts(corpus)
    assert rungs["uniform"] == pytest.approx(math.log(len(corpus.vocabulary)))
    assert rungs["uniform"] > rungs["unigram"] > rungs["bigram"] > 1
    lines = show_ladder(rungs | {"yours": 0.5}).splitlines()
    assert [line.split()[0] for line in lines] == ["uniform", "unigram", "bigram", "yours"]


def test_a_bigram_of_one_sentence_is_sure():
    sentences = [["a", "b"]] * 1000
    corpus = make_corpus("one", "One.", {"train": sentences, "dev": sentences[:2], "test": []})
    assert measure_counts(corpus)["bigram"] < 0.01


def test_a_rung_that_is_not_attention_switched_off_is_left_out(capsys):
    values = torch.randn(1, 4, 6)
    assert fits_rung(values.clone(), values)
    assert not fits_rung(..., values), "not written yet: nothing to say"
    assert capsys.readouterr().out == ""
    for wrong in (0 * values, values + 1, values[0], None, values.cumsum(1)):
        assert not fits_rung(wrong, values)
        assert "left out" in capsys.readouterr().out
