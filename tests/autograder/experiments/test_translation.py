"""The page of the comparison on real sentences."""

from autograder.experiments.translation import REPORTED, Row, load_references, write_table
from course_utils.translation.data import make_data
from course_utils.translation.grammar import generate_pairs
from course_utils.translation.training import History, Settings


def make_rows(losses):
    return [
        Row(
            name,
            History(name, "multi30k", {}, [{"epoch": 1, "train": loss, "validation": loss}]),
            9.0,
        )
        for name, loss in zip(REPORTED, losses, strict=True)
    ]


def test_the_page_says_whether_the_order_is_that_of_the_report():
    pairs, _ = generate_pairs(30, seed=1)
    data = make_data("multi30k", "Pairs.", dict.fromkeys(("train", "validation", "test"), pairs))
    page = write_table(data, Settings(epochs=1), make_rows([1.0, 2.0, 3.0]))
    assert "That is the order of the earlier report" in page
    assert "| mean pool | 2.00 | 2.00 | 2.00 (0.00) |" in page
    assert "NOT the order" in write_table(data, Settings(epochs=1), make_rows([3.0, 2.0, 1.0]))


def test_references_are_a_notebooks_names():
    assert {"MeanPoolAttention", "greedy_translate", "DEVICE"} <= set(load_references())
