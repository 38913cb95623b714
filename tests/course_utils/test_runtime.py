"""Where we run, with what, and what a wrong setting says."""

import pytest
import torch

from course_utils import runtime


def test_the_profile_follows_the_place(monkeypatch):
    monkeypatch.delenv("COURSE_PROFILE", raising=False)
    monkeypatch.setattr(runtime, "device", lambda: torch.device("cpu"))
    assert runtime.profile() == "laptop"
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    assert runtime.where() == "autograder" and runtime.profile() == "quick"
    monkeypatch.delenv("NBGRADER_EXECUTION")
    monkeypatch.setattr(runtime, "device", lambda: torch.device("cuda"))
    assert runtime.profile() == "gpu"
    monkeypatch.setenv("COURSE_PROFILE", "laptop")
    assert runtime.profile() == "laptop"


def test_a_wrong_setting_is_a_sentence(monkeypatch, tmp_path):
    monkeypatch.setenv("COURSE_PROFILE", "huge")
    with pytest.raises(ValueError, match="'huge'; it must be one of quick, laptop, gpu"):
        runtime.profile()
    monkeypatch.setenv("COURSE_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match="is not a folder"):
        runtime.data_dir()


def test_a_seed_makes_the_same_numbers():
    runtime.set_seed(3)
    first = torch.rand(3)
    runtime.set_seed(3)
    assert torch.equal(first, torch.rand(3))


def test_the_description_names_device_and_profile(monkeypatch):
    monkeypatch.setenv("COURSE_PROFILE", "quick")
    assert "profile 'quick'" in runtime.describe()
