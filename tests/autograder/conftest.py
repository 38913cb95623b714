"""One graded class for all tests that need one: graded once, whoever asks first."""

import json
import shutil

import pytest
from filelock import FileLock

from tests.autograder.classroom.classes import grade_class, make_submissions


@pytest.fixture(scope="session")
def graded(tmp_path_factory, request):
    """Four students, notebook 1: the folder, the results and the summary. Copy it to change it."""
    place = tmp_path_factory.getbasetemp()
    if hasattr(request.config, "workerinput"):  # the workers of a run share the folder above theirs
        place = place.parent
    folder, told = place / "graded-class", place / "graded-class.json"
    with FileLock(place / "graded-class.lock"):
        if not told.exists():
            shutil.rmtree(folder, ignore_errors=True)  # of a grading that failed
            make_submissions(folder, 4)
            extra = folder / "submitted" / "ada" / "attention"
            (extra / "notes").mkdir()
            (extra / "notes" / "plan.txt").write_text("first the keys\n")
            (extra / "timestamp.txt").write_text("2030-01-01 10:00:00 UTC\n")
            told.write_text(json.dumps(grade_class(folder)), "utf-8")
    return folder, *json.loads(told.read_text("utf-8"))
