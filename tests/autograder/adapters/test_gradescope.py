import json

import pytest

from autograder.adapters import gradescope_run


@pytest.mark.parametrize("megabytes, graded", [(768, False), (1024, True), (None, True)])
def test_a_container_that_is_too_small_grades_nobody(
    monkeypatch, tmp_path, capsys, megabytes, graded
):
    """The system would end kernels there, and solved notebooks would lose half of their points."""
    limit = megabytes and megabytes << 20
    monkeypatch.chdir(tmp_path)
    (tmp_path / gradescope_run.ASSIGNMENT).write_text("attention")
    monkeypatch.setattr(gradescope_run, "find_memory_limit", lambda: limit)
    monkeypatch.setattr(gradescope_run, "load_assignment", lambda name, root: name)
    monkeypatch.setattr(gradescope_run, "grade_submission", lambda *_: {"score": 52.0})
    gradescope_run.main(tmp_path)
    results = json.loads((tmp_path / "results" / "results.json").read_text())
    told = capsys.readouterr().err
    if graded:
        assert results["score"] == 52.0 and not told
    else:
        assert results["score"] == 0.0 and "You need not do anything" in results["output"]
        assert "has 768 MB" in told and "Choose 1.5 GB" in told and "CourseError" not in told


def test_section_numbers_are_those_of_the_notebook(blueprint):
    sections = gradescope_run.find_sections(blueprint)
    assert sections["test_q_select_first"] == "1.2.1" and sections["test_k2_select"] == "1.4.2"
