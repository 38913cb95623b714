"""What a user sees: bars where there is a terminal, sentences for errors, no word of libraries."""

import contextlib
import errno
import io
import os
import re
import sqlite3
import sys
import warnings
from unittest import mock

import pytest
from sqlalchemy.exc import OperationalError

from autograder import terminal
from autograder.__main__ import main, make_parser
from autograder.course import CourseError
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
    # They show how far they are, or ask a question, over which no bar may run.
    own = {"grade", "regrade", "prove", "demo", "bench", "mark", "roster"}
    commands = make_parser()._subparsers._group_actions[0].choices
    silent = {name for name, parser in commands.items() if not parser.get_default("bar")}
    assert silent == own


def test_grading_shows_a_bar_before_there_is_a_plan():
    def stop(*_, **__):
        raise CourseError("enough")

    with at_a_terminal() as (screen, _), mock.patch("autograder.classroom.run.grade_class", stop):
        assert main(["grade"]) == 1
    assert "getting ready" in screen.getvalue()


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "the disk is full. Make room"),
        (IsADirectoryError(errno.EISDIR, "Is a directory", "out.csv"), "out.csv is a folder"),
        (
            NotADirectoryError(errno.ENOTDIR, "Not a directory", "a/b"),
            "a/b is a file, where there should be a folder",
        ),
        (
            OperationalError("INSERT", {}, sqlite3.OperationalError("database or disk is full")),
            "the gradebook could not be read or written: database or disk is full",
        ),
    ],
)
def test_what_the_system_refuses_is_a_sentence(problem, said, capsys):
    with mock.patch("autograder.__main__.run_grades", side_effect=problem):
        assert main(["grades"]) == 1
    assert said in capsys.readouterr().err


def test_a_pipe_or_device_is_not_replaced_by_a_file(tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe")
    assert main(["grades", "--output", str(tmp_path / "pipe")]) == 1
    assert "is no ordinary file" in capsys.readouterr().err


def test_a_fault_of_ours_is_not_hidden():
    with (
        mock.patch("autograder.__main__.run_grades", side_effect=KeyError("ours")),
        pytest.raises(KeyError),
    ):
        main(["grades"])


def test_warnings_of_libraries_stay_out_of_the_terminal(capsys):
    def warn(options):
        warnings.warn("old", FutureWarning, stacklevel=1)
        return 0

    with (
        warnings.catch_warnings(),
        mock.patch.object(sys, "warnoptions", []),
        mock.patch("autograder.__main__.run_grades", warn),
    ):
        warnings.simplefilter("always")
        assert main(["grades"]) == 0
    assert capsys.readouterr() == ("", "")
