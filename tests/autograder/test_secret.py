"""Hidden inputs: the same again on a regrade, others for other work, and a secret that stays."""

import nbformat

from autograder.secret import draw_seed, read_secret


def test_seeds_follow_from_the_secret_and_the_work(tmp_path):
    one = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x = 1")])
    other = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x = 2")])
    assert draw_seed(tmp_path, one) == draw_seed(tmp_path, nbformat.from_dict(one))
    assert draw_seed(tmp_path, one) != draw_seed(tmp_path, other)
    assert draw_seed(tmp_path / "elsewhere", one) != draw_seed(tmp_path, one)


def test_the_secret_is_made_once_and_for_us_alone(tmp_path):
    first = read_secret(tmp_path / "grading")
    assert len(first) == 64 and read_secret(tmp_path / "grading") == first
    assert (tmp_path / "grading" / "secret").stat().st_mode & 0o077 == 0
    assert [path.name for path in (tmp_path / "grading").iterdir()] == ["secret"]
