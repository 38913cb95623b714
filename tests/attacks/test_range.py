"""The whole range, by every door and at every level, as `python -m tests.attacks.range` tries it."""

import json
import os
import subprocess
import sys

import pytest

from autograder.kernel import nursery
from tests.attacks.range import LEVELS
from tests.conftest import ROOT


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.skipif(not nursery.is_possible() or os.geteuid() != 0, reason="needs root on Linux")
@pytest.mark.parametrize("level", LEVELS)
def test_no_attack_gets_anything_by_any_door(level):
    command = [sys.executable, "-m", "tests.attacks.range", "--here", "--as", level]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    for door, row in json.loads(done.stdout.splitlines()[-1])["doors"].items():
        assert row.pop("attacks") >= 130, door
        assert not any(row.values()), (door, row)
