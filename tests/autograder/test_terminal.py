"""Bars: shown where there is a terminal, and nowhere else; errors leave none behind."""

import contextlib
import io
import re
import sys
from unittest import mock

import pytest

from autograder import terminal
from autograder.__main__ import make_parser
from autograder.terminal import show_bar, track


class Terminal(io.StringIO):
    def isatty(self):
        return True


@contextlib.contextmanager
def at_a_terminal():
    """Errors go to a terminal, results to a file."""
    with (
        mock.patch.dict("os.environ", {"TERM": "xterm"}),
        mock.patch.object(sys, "stderr", Terminal()) as screen,
        mock.patch.object(sys, "stdout", io.StringIO()) as results,
    ):
        yield screen, results


def test_a_bar_is_shown_in_a_terminal_and_results_stay_clean():
    with at_a_terminal() as (screen, results), show_bar("building"):
        for name in track(["one", "two"], "proving"):
            print(name)
    assert results.getvalue() == "one\ntwo\n"
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.getvalue())
    assert "building" in shown and "0/2" in shown and "0/?" not in shown
    assert terminal._display is None


def test_nothing_is_shown_where_errors_do_not_go_to_a_terminal(capsys):
    with show_bar("building"):
        assert list(track([1, 2], "proving")) == [1, 2]
    assert capsys.readouterr() == ("", "")


def test_an_error_leaves_no_bar_behind():
    with at_a_terminal():
        with pytest.raises(ValueError, match="wrong"), show_bar("building"):
            kept = track([1, 2], "proving")
            next(kept)
            raise ValueError("wrong")
        assert terminal._display is None
        kept.close()  # what a traceback holds is closed later
        with show_bar("again"):
            assert terminal._display is not None


def test_every_command_that_takes_a_while_has_a_bar():
    own = {"grade", "regrade", "prove", "demo", "bench", "mark"}  # they show how far they are
    commands = make_parser()._subparsers._group_actions[0].choices
    silent = {name for name, parser in commands.items() if not parser.get_default("bar")}
    assert silent == own
