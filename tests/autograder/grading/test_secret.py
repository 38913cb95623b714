"""Hidden inputs: the same again on a regrade, others for other work, and a secret that stays."""

import secrets
from dataclasses import replace

import nbformat
import pytest

from autograder.course import CourseError
from autograder.grading.secret import draw_seed, read_secret


def test_seeds_follow_from_the_secret_and_the_work(tmp_path, blueprint):
    one = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x = 1")])
    other = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x = 2")])
    seed = draw_seed(tmp_path, blueprint, one, None)
    assert draw_seed(tmp_path, blueprint, nbformat.from_dict(one), None) == seed
    assert draw_seed(tmp_path, blueprint, other, None) != seed
    assert draw_seed(tmp_path, replace(blueprint, name="another"), one, None) != seed
    assert draw_seed(tmp_path / "elsewhere", blueprint, one, None) != seed


def test_the_draw_hangs_on_everything_that_the_code_can_read(tmp_path, blueprint):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x = 1")])
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        (folder / "data").mkdir(parents=True)
        (folder / "data" / "numbers.csv").write_text("1,2")

    def draw(folder):
        return draw_seed(tmp_path / "grading", blueprint, notebook, folder)

    seed = draw(here)
    assert seed == draw(there) != draw(None)
    (there / "other.ipynb").write_text("{}")  # what no kernel is given
    (there / "timestamp.txt").write_text("2030-01-01")
    (there / ".1_query_crafting.ipynb.new").write_text("{")
    assert draw(there) == seed
    (there / "data" / "numbers.csv").write_text("1,3")
    assert draw(there) != seed
    (there / "data" / "numbers.csv").rename(there / "data" / "other.csv")
    (there / "data" / "other.csv").write_text("1,2")
    assert draw(there) != seed, "a name says something, too"
    (here / "answers.txt").write_text("what the first grading said")
    assert draw(here) != seed


def test_the_secret_is_made_once_and_for_us_alone(tmp_path):
    first = read_secret(tmp_path / "grading")
    assert len(first) == 64 and read_secret(tmp_path / "grading") == first
    assert (tmp_path / "grading" / "secret").stat().st_mode & 0o077 == 0
    assert [path.name for path in (tmp_path / "grading").iterdir()] == ["secret"]


def test_an_empty_secret_is_refused(tmp_path):
    (tmp_path / "secret").write_text("\n")
    with pytest.raises(CourseError, match="empty or too short"):
        read_secret(tmp_path)


def test_no_two_courses_have_the_same_secret(tmp_path, monkeypatch):
    monkeypatch.setattr("autograder.grading.secret.secrets", secrets)  # the real one
    assert read_secret(tmp_path / "one" / "grading") != read_secret(tmp_path / "two" / "grading")
