"""16-bit arithmetic on a CPU: tried in a child first, and never used by what people run unasked."""

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.course_utils import sixteen_bits


def test_a_processor_that_dies_of_it_only_skips_tests(tmp_path):
    """As on a machine whose bfloat16 instruction is illegal."""
    done = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "-p", "no:xdist",
            "tests/course_utils/sentiment/test_finetuning.py", "-k", "sixteen or enlarged or overflow",
        ],
        cwd=ROOT, capture_output=True, text=True, timeout=300,
        env=os.environ | {"COURSE_PRETEND_ILLEGAL": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "4 skipped" in done.stdout and "passed" not in done.stdout, done.stdout
    assert "this processor cannot compute in bfloat16: Illegal instruction" in done.stdout


def test_a_child_that_fails_is_a_reason_too(monkeypatch):
    monkeypatch.setattr(sixteen_bits, "_PROGRAM", "raise RuntimeError('no such kernel')")
    sixteen_bits.find_trouble.cache_clear()
    try:
        with pytest.raises(pytest.skip.Exception, match="no such kernel"):
            sixteen_bits.require("bfloat16")
    finally:
        sixteen_bits.find_trouble.cache_clear()


def test_nothing_uses_it_unasked():
    """16 bits are named where a student asks for them, on a GPU, and where a result is read."""
    asked = {"course_utils/sentiment/finetuning.py"}
    read = {"course_utils/checks/attention.py", "autograder/kernel/wire.py"}
    mistaken = {"autograder/exercises/attention/attention_from_scratch_code.py"}  # rounds a result
    named = {
        path.relative_to(ROOT).as_posix()
        for folder in ("course_utils", "autograder", "notebooks")
        for path in (ROOT / folder).rglob("*.py")
        for text in [path.read_text("utf-8")]
        if any(word in text for word in ("bfloat16", "float16", "autocast", ".half()"))
    }
    assert named == asked | read | mistaken
