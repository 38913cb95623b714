"""Generated submissions: whatever arrives is read, or refused in a sentence, and soon."""

import copy
import io
import json
import os
import resource
import time
import zipfile

import nbformat
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as some

from autograder.course import CourseError
from autograder.files import remove_tree
from autograder.grading.paths import find_jobs
from autograder.grading.sanitize import sanitize_notebook
from autograder.intake.arrivals import settle
from autograder.plain_text import clean_words
from tests.attacks.damages import NAME, solved
from tests.journey.forms import export_py

pytestmark = pytest.mark.xdist_group("fuzz")
SECONDS = 2  # of the processor, for one submission
MEGABYTES = 300

texts = some.text(max_size=20) | some.sampled_from(
    ["\ud800", "\x1b]0;x\x07", "image/png", "markdown", "code", "cells", "test_q_select_first",
     "<script>", "[x](javascript:a)", "%%time", '"""', "# %% [markdown]", "\r\n", "-" * 300]
)  # fmt: skip
values = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | texts,
    lambda inner: some.lists(inner, max_size=4) | some.dictionaries(texts, inner, max_size=4),
    max_leaves=8,
)


@some.composite
def notebooks(draw, whole):
    """A solved notebook in which some places hold anything at all."""
    content = copy.deepcopy(whole)
    for _ in range(draw(some.integers(0, 6))):
        place = content
        while isinstance(place, dict | list) and place:
            keys = list(place) if isinstance(place, dict) else range(len(place))
            key = draw(some.sampled_from(list(keys)))
            if not isinstance(place[key], dict | list) or draw(some.booleans()):
                if isinstance(place, dict) and draw(some.integers(0, 4)) == 0:
                    del place[key]
                elif isinstance(place, list) and draw(some.integers(0, 4)) == 0:
                    place.insert(key, draw(values))
                else:
                    place[key] = draw(values)
                break
            place = place[key]
    return json.dumps(content).encode()


@some.composite
def flawed(draw, content):
    """Bytes of which a few are others, or missing."""
    changed = bytearray(content)
    for _ in range(draw(some.integers(0, 5))):
        at = draw(some.integers(0, max(0, len(changed) - 1)))
        if draw(some.booleans()):
            changed[at : at + draw(some.integers(0, 50))] = draw(some.binary(max_size=8))
        else:
            changed[at : at + 1] = draw(some.binary(min_size=1, max_size=1))
    return bytes(changed)


class Files(dict):
    """Files by name, shown in few words."""

    def __repr__(self):
        return str({name: f"{len(content)} bytes" for name, content in self.items()})


@some.composite
def submissions(draw, whole, code):
    """Return the files of one submission, by name."""
    files = {}
    for _ in range(draw(some.integers(1, 2))):
        kind = draw(some.sampled_from(["notebook", "json", "bytes", "zip", "py", "record"]))
        name = draw(some.sampled_from([NAME, "my notebook.ipynb", "copy (1).ipynb"]))
        if kind == "notebook":
            files[name] = draw(notebooks(whole))
        elif kind == "json":
            files[name] = json.dumps(draw(values)).encode()
        elif kind == "bytes":
            files[name] = draw(flawed(json.dumps(whole).encode()))
        elif kind == "zip":
            buffer = io.BytesIO()
            with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr(name, draw(notebooks(whole)))
                archive.writestr("manifest.json", json.dumps(draw(values)))
            files["work.zip"] = draw(flawed(buffer.getvalue()))
        elif kind == "py":
            text = draw(flawed(code.encode()))
            files[f"{NAME.split('.')[0]}.py"] = text + draw(texts).encode("utf-8", "replace")
        else:
            keys = ["from", "for", "made", "notebooks", "problems"]
            record = {key: draw(values) for key in keys}
            files[".taken-in.json"] = json.dumps(record).encode()
            files[NAME] = draw(notebooks(whole))
    return Files(files)


def read_everything(folder, blueprint):
    """What every door does with a submission before a kernel is started, and after."""
    kit = {blueprint.name: blueprint}
    restored = []
    try:
        restored.append(settle(folder, kit).restore(blueprint))
        restored.append(settle(folder, kit).restore(blueprint))
    except CourseError as sentence:
        assert "\n" not in str(sentence)
    scratch = folder.parent / "scratch"
    for job in find_jobs(str(folder), {"attention": kit}, scratch):
        assert job.problem is None or "could not be graded" not in job.problem, job.problem
        if job.gathered:
            restored.append(job.gathered.restore(blueprint))
    for one in restored:
        sanitize_notebook(one.notebook, ours=set())
        nbformat.writes(one.notebook, version=4).encode("utf-8")
        json.dumps(clean_words([one.repairs, one.flags, one.trouble])).encode("utf-8")


def try_submissions(tmp_path, blueprint, count):
    whole = solved(blueprint)
    code = export_py(nbformat.reads(json.dumps(whole), 4), NAME)
    number = iter(range(10**9))
    slowest = [0.0]

    @settings(
        max_examples=count, deadline=None, database=None, derandomize=count < 1000,
        suppress_health_check=list(HealthCheck), phases=[Phase.generate],
    )  # fmt: skip
    @given(files=submissions(whole, code))
    def attempt(files):
        folder = tmp_path / str(next(number)) / "attention"
        folder.mkdir(parents=True)
        for name, content in files.items():
            (folder / name).write_bytes(content)
        started = time.process_time()
        read_everything(folder, blueprint)
        slowest[0] = max(slowest[0], time.process_time() - started)
        remove_tree(folder.parent)

    attempt()
    assert slowest[0] < SECONDS
    return slowest[0]


def test_generated_submissions_never_escape(tmp_path, blueprint):
    try_submissions(tmp_path, blueprint, 30)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_twenty_thousand_generated_submissions_never_escape(tmp_path, blueprint):
    count = int(os.environ.get("FUZZ_CASES", 20_000))
    print(f"{count} cases, slowest: {try_submissions(tmp_path, blueprint, count):.2f} s")


SHAPES = {
    "cells": lambda n, whole: json.dumps(
        whole | {"cells": [{"cell_type": "code", "metadata": {}, "source": f"a{i} = {i}"}
                           for i in range(n // 80)]}
    ),
    "empty cells": lambda n, whole: json.dumps(whole | {"cells": [{}] * (n // 4)}),
    "code": lambda n, whole: json.dumps(
        whole | {"cells": [{"cell_type": "code", "source": "f(a, b);" * (n // 8)}]}
    ),
    "text": lambda n, whole: json.dumps(
        whole | {"cells": [{"cell_type": "markdown", "source": "<b *_[(" * (n // 7)}]}
    ),
    "output": lambda n, whole: json.dumps(
        whole | {"cells": [{"cell_type": "code", "source": "1", "outputs": [
            {"output_type": "display_data", "data": {"text/html": "<b <a x='" * (n // 9)}}]}]}
    ),
    "parts": lambda n, whole: json.dumps(whole | {"x": [{"": 0}] * (n // 9)}),
    "lists": lambda n, whole: json.dumps(whole | {"x": [[]] * (n // 4)}),
}  # fmt: skip


def measure(shape, size, folder, blueprint, whole):
    folder.mkdir(parents=True)
    (folder / NAME).write_text(SHAPES[shape](size, whole), "utf-8")
    started = time.process_time()
    read_everything(folder, blueprint)
    return time.process_time() - started


@pytest.mark.parametrize("shape", SHAPES)
def test_reading_takes_time_in_proportion_to_size(shape, tmp_path, blueprint):
    """Ten times the size takes about ten times the time: what is quadratic takes a hundred."""
    whole = solved(blueprint)
    small, large = (
        min(
            measure(shape, size, tmp_path / f"{size}-{turn}" / "attention", blueprint, whole)
            for turn in range(2)
        )
        for size in (40_000, 400_000)
    )
    assert large < 25 * small + 0.5


@pytest.mark.soak
@pytest.mark.parametrize("shape", SHAPES)
def test_ten_megabytes_take_neither_long_nor_much_memory(shape, tmp_path, blueprint):
    """In a process of its own, so that its memory can be told from ours."""
    whole = solved(blueprint)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            seconds = measure(shape, 10 * 2**20, tmp_path / "attention", blueprint, whole)
            grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
            print(f"{shape}: {seconds:.1f} s, {grown:.0f} MB", flush=True)
            code = int(seconds > 3 * SECONDS or grown > MEGABYTES)  # three readings
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
