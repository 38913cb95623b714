"""The public checks of notebook 1: right answers pass, wrong ones get the right sentence."""

import numpy as np
import pytest
import torch

from course_utils import checks, queries
from course_utils.checks.query_crafting import ITEMS, examine

K, V = queries.make_keys(), queries.make_values()


@pytest.mark.parametrize(
    "value",
    [
        (10 * K[0]).tolist(),
        (10 * K[0]).numpy(),
        10 * K[0],
        (10 * K[0])[None],
        tuple((10 * K[0]).tolist()),
        torch.nn.Parameter(10 * K[0]),
        [10 * number for number in K[0]],
        np.array([[470, 650, 600]]),
    ],
    ids=["list", "array", "tensor", "row", "tuple", "parameter", "tensors in a list", "integers"],
)
def test_every_form_of_a_query_is_accepted(value):
    assert examine("q_select_first", value).passed


def test_the_facts_of_the_course_hold():
    mean_of_two = 10 * (K[0] + K[1])
    assert not examine("q_select_first", 3.4 * K[0]).passed
    assert examine("q_select_first", 3.5 * K[0]).passed
    assert not examine("Q_identity", 4.2 * K).passed
    assert examine("Q_identity", 4.3 * K).passed
    assert examine("q_average_all", torch.zeros(3)).passed
    assert examine("q_average_all", K.mean(0)).passed
    for factor, right in ((1.3, False), (1.4, True), (87, True), (88, False), (1e6, False)):
        assert examine("q_average_two", factor * (K[0] + K[1])).passed is right, factor
    assert examine("k2_average_three", (K[0] + K[1]) / 2, query=mean_of_two).passed
    for factor, right in ((8.3, False), (8.4, True)):
        q = factor * (K[0] + K[1])
        assert examine("k2_select", q / q.norm(), query=q).passed is right, factor


@pytest.mark.parametrize("value, remarked", [(torch.zeros(3), False), (K.mean(0), True)])
def test_weights_that_are_not_quite_even_get_a_remark(value, remarked):
    finding = examine("q_average_all", value)
    assert finding.passed
    assert any("Remark" in fact for fact in finding.facts) is remarked


def test_several_queries_are_too_short_together():
    assert "the queries are too short (lengths " in examine("Q_identity", K).sentence


def test_counting_from_0_is_mentioned_only_where_the_next_key_wins():
    hint = "Rows count from 0."
    for query, hinted in ((10 * K[1], True), (10 * (K[0] + K[1]), False), (10 * K[3], False)):
        finding = examine("q_select_first", query)
        assert finding.diagnosis == "wrong-key", finding
        assert (hint in finding.sentence) is hinted


def test_an_error_of_exactly_the_tolerance_passes(monkeypatch):
    finding = examine("q_average_all", K.mean(0))
    error = queries.find_error(queries.attend(K.mean(0), K, V)[2], V.mean(0))
    monkeypatch.setattr("course_utils.checks.query_crafting.TOLERANCE", error + 1e-7)
    assert finding.passed and examine("q_average_all", K.mean(0)).passed
    monkeypatch.setattr("course_utils.checks.query_crafting.TOLERANCE", error - 1e-4)
    assert not examine("q_average_all", K.mean(0)).passed


def test_a_short_query_is_named_with_the_length_it_takes():
    q = 2 * (K[0] + K[1])
    finding = examine("k2_select", q / q.norm(), query=q)
    assert finding.diagnosis == "query-too-short"
    assert "3.2" in finding.sentence and "13.4" in finding.sentence
    longer = q / q.norm() * 13.45
    assert examine("q_average_two", longer).passed
    assert examine("k2_select", q / q.norm(), query=longer).passed


@pytest.mark.parametrize(
    "length, right", [(0.985, False), (0.991, True), (1.009, True), (1.02, False)]
)
def test_length_one_means_within_a_hundredth(length, right):
    q = 12 * (K[0] + K[1])
    finding = examine("k2_select", length * q / q.norm(), query=q)
    assert finding.passed is right
    assert right or finding.diagnosis == "length-not-1"


def test_section_1_4_asks_for_1_3_2_first():
    for query in (None, ..., torch.zeros(3), "text"):
        finding = examine("k2_select", [0, 0, 1], query=query)
        assert finding.diagnosis == "query-not-ready"
        assert "1.3.2" in finding.sentence


def test_the_check_shows_error_and_weights(capsys):
    checks.check("q_select_first", 10 * K[0])
    shown = capsys.readouterr().out
    assert "public check passed" in shown
    assert "all correct" not in shown
    assert "error 0.0004 (at most 0.05)" in shown and "v0 0.999" in shown


def test_a_failed_check_is_a_sentence_and_not_a_traceback():
    with pytest.raises(checks.CheckFailed) as caught:
        checks.check("q_select_first", 2 * K[0])
    lines = caught.value._render_traceback_()[0].splitlines()
    assert lines[0].startswith("✘ q_select_first: the direction is fine, the query is too short")
    assert any("must be at most 0.05" in line for line in lines)
    assert not any("Traceback" in line for line in lines)


def test_an_open_todo_is_named():
    for name, item in ITEMS.items():
        with pytest.raises(checks.CheckFailed, match=f"TODO of {item.number} is open"):
            checks.check(name, ...)


def test_an_unknown_check_is_named():
    with pytest.raises(ValueError, match="no check called 'q_selectfirst'"):
        checks.check("q_selectfirst", 1)


def test_changed_keys_are_noticed(monkeypatch):
    monkeypatch.setattr(queries, "K", K.clone().fill_(1.0))
    assert any("have been changed" in line for line in examine("q_select_first", K[1]).facts)
    monkeypatch.undo()
    assert not any("have been changed" in line for line in examine("q_select_first", K[1]).facts)


def test_nothing_is_changed_in_place():
    q = 10 * (K[0] + K[1])
    given = q.clone()
    examine("k2_average_three", K[0], query=q)
    examine("q_average_two", q)
    assert torch.equal(q, given) and torch.equal(queries.K, queries.make_keys())


@pytest.mark.parametrize("name", ITEMS)
def test_no_sentence_gives_an_answer_away(name):
    """Whatever is handed in, no message holds numbers that would pass."""
    generator = torch.Generator().manual_seed(1)
    shape = ITEMS[name].shape
    for scale in (0.1, 1, 10, 1000):
        value = scale * torch.randn(*shape, generator=generator)
        finding = examine(name, value, query=10 * (K[0] + K[1]))
        text = " ".join(finding.lines)
        for secret in ("k0 + k1", "K[0]", "S *", "zeros", "/ 2", "norm"):
            assert secret not in text
