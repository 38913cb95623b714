"""The Dockerfile names files that are there, and installs as the Makefile does."""

import re

from tests.conftest import ROOT

TEXT = (ROOT / "Dockerfile").read_text("utf-8")


def test_it_copies_what_is_there_and_nothing_of_the_students():
    copied = [name for line in re.findall(r"^COPY (.+)$", TEXT, re.M) for name in line.split()[:-1]]
    assert copied and all((ROOT / name).exists() for name in copied)
    needed = {
        "course_utils",
        "autograder",
        "source",
        "release",
        "course.toml",
        "nbgrader_config.py",
    }
    assert needed <= set(copied)
    ignored = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    assert "grading" in ignored and not set(copied) & set(ignored)


def test_its_python_is_one_that_the_package_allows_and_versions_are_pinned():
    found = re.search(r"^FROM python:(3\.\d+)-slim$", TEXT, re.M)
    assert found and found[1] == "3.11"
    installs = re.findall(r"pip install (.+)", TEXT)
    assert len(installs) == 2 and all("-c constraints.txt" in line for line in installs)
