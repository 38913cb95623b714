"""Every figure comes back closed, with a sentence that says the same."""

import math

import matplotlib.pyplot as plt
import pytest
import torch
from matplotlib.figure import Figure

from course_utils.history import History
from course_utils.language_model.evaluation import FutureProbe, Run
from course_utils.plots import training
from course_utils.plots.training import (
    LiveCurve,
    plot_all_heads,
    plot_attention,
    plot_comparison,
    plot_leak,
    plot_lengths,
    plot_losses,
)

WORDS = ["<START>", "Ada", "met", "Tom", "."]


def make_history(final=2.0):
    losses = [6 * math.exp(-i / 50) + final for i in range(300)]
    validations = [{"step": 300, "perplexity": 9.0, "corpus_perplexity": 8.0, "sentences": 500}]
    return History(losses=losses, tokens=[100] * 300, seconds=90.0, validations=validations)


def make_run(name, perplexity):
    return Run(name, make_history(), 1000, {"a": 1.0}, perplexity, perplexity + 1, 5, 6, ["x"], 0.0)


def check(figure, capsys, *words):
    sentence = " ".join(capsys.readouterr().out.split())  # wherever its lines are broken
    assert isinstance(figure, Figure)
    assert not plt.fignum_exists(figure.number), "a notebook would show it twice"
    figure.canvas.draw()
    for word in words:
        assert word in sentence
    return sentence


def test_losses(capsys):
    figure = plot_losses({"one": make_history(2), "two": make_history(3)}, entropy=1.18)
    said = check(figure, capsys, "one: loss 8.00 at first", "two", "below 1.18")
    assert "at the end (mean of the last 30 steps), development perplexity 8.0 (over all" in said
    assert "(over all tokens of the first 500 sentences)" in said and "validation" not in said
    styles = {line.get_linestyle() for line in figure.axes[0].lines if len(line.get_xdata()) > 2}
    assert len(styles) == 2, "colour alone must not tell the runs apart"


@pytest.mark.parametrize("n", [0, 1, 5])
def test_losses_of_a_training_that_hardly_began(capsys, n):
    history = History(losses=[6.0] * n, tokens=[1] * n, interrupted=True)
    check(plot_losses({"short": history}), capsys, "short")


def test_attention(capsys):
    weights = torch.eye(5).repeat(2, 1, 1)
    weights[1] = 0
    weights[1, :, 0] = 1
    figure = plot_attention(weights, WORDS, "layer 0")
    check(figure, capsys, "looks most at '.' (1.00)", "head 1", "looks most at '<START>' (1.00)")
    labels = [text.get_text() for text in figure.axes[0].get_xticklabels()]
    assert labels == WORDS
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == WORDS


def test_an_older_record_does_not_say_on_how_many_sentences(capsys):
    history = make_history()
    del history.validations[0]["sentences"]
    check(plot_losses({"old": history}), capsys, "development perplexity 8.0 (over all tokens).")


def test_all_heads_have_labels_that_can_be_read(capsys):
    T, words = 24, [f"word{i}" for i in range(24)]
    figure = plot_all_heads(torch.full((3, 3, T, T), 1 / T), words)
    check(figure, capsys, "3 layers of 3 heads")
    (label, *_) = figure.axes[6].get_xticklabels()
    assert label.get_text() == "word0"
    shown = 10 / figure.get_size_inches()[0]  # a notebook has room for some ten inches
    assert label.get_fontsize() * shown > 6.5
    assert (
        figure.get_supxlabel() == "key (looked at)" and figure.get_supylabel() == "query (looking)"
    )


def test_lengths(capsys):
    documents = [[0] * n for n in (3, 5, 5, 7, 100)]
    check(
        plot_lengths(documents, limit=100), capsys, "5 sentences of 3 to 100", "1 reach the limit"
    )


def test_leak_is_marked_with_more_than_colour(capsys):
    moved = torch.eye(5)
    check(plot_leak(FutureProbe(moved), WORDS), capsys, "is causal")
    moved[1, 3] = 0.2
    figure = plot_leak(FutureProbe(moved), WORDS)
    check(figure, capsys, "position 1", "20.0%", "token 3")
    crosses = [line for line in figure.axes[0].lines if line.get_marker() == "x"]
    assert crosses[0].get_xydata().tolist() == [[3.0, 1.0]]


def test_comparison(capsys):
    runs = [make_run("one", 300.0), make_run("two", 200.0)]
    check(plot_comparison(runs), capsys, "one", "300.0", "two", "201.0", "1:30 min")


def test_times_are_minutes_and_seconds_in_the_figure_too(capsys):
    figure = plot_comparison([make_run("one", 300.0)])
    times = next(axes for axes in figure.axes if axes.get_title() == "training time")
    assert [text.get_text() for text in times.texts] == ["1:30"]
    figure.canvas.draw()
    ticks = [label.get_text() for label in times.get_xticklabels()]
    assert "1:00" in ticks and times.get_xlabel() == "min:s"


def test_live_curve_draws_in_place_in_a_notebook_only(monkeypatch):
    shown = []

    class Handle:
        def update(self, figure):
            shown.append("again")

    def display(figure, display_id):
        shown.append("first")
        return Handle()

    import IPython.display

    monkeypatch.setattr(IPython.display, "display", display)
    monkeypatch.setattr(LiveCurve, "SECONDS", 0.0)
    curve = LiveCurve(None)
    curve.update(make_history())
    assert shown == []
    monkeypatch.setattr(training, "in_notebook", lambda: True)
    curve.update(make_history())
    curve.update(make_history())
    curve.finish()  # takes the live picture away
    assert shown == ["first", "again", "again"]
    assert plt.get_fignums() == []
