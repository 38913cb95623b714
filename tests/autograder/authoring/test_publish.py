"""Publishing: complete, the same every time, never over anything else, and never with an answer."""

import io
import json
import re
import subprocess
import zipfile

import nbformat
import pytest

from autograder.__main__ import main
from autograder.authoring import publish as publishing
from autograder.authoring.leaks import collect_secrets, find_leaks_in_files, find_secrets_in_module
from autograder.authoring.publish import make_publication, make_readme, publish, verify
from autograder.authoring.wheel import find_version
from autograder.course import CourseError, _read_course, load_course
from course_utils import __version__ as VERSION
from tests.conftest import ROOT, without_build

pytestmark = pytest.mark.xdist_group("publish")


@pytest.fixture(scope="module")
def files():
    return make_publication(load_course(ROOT), ["attention"])


@pytest.fixture(scope="module")
def secrets():
    return collect_secrets(load_course(ROOT))


@pytest.fixture
def quick(files, secrets, monkeypatch):
    """Publishing with what was made once, so that each test takes no seconds."""
    monkeypatch.setattr(publishing, "make_publication", lambda course, names: dict(files))
    monkeypatch.setattr("autograder.authoring.leaks.collect_secrets", lambda course: secrets)
    with without_build():
        yield load_course(ROOT)


def test_everything_a_student_needs_is_there(published):
    versioned = json.loads((published / "release.json").read_text("utf-8"))["wheel"]
    assert {path.name for path in published.iterdir()} == {
        "attention",
        f"attention_course-{VERSION}-py3-none-any.whl", versioned, "environment.yml", "README.md", "LICENSE",
        "colab-badge.svg", "release.json", "SHA256SUMS",
    }  # fmt: skip
    assert {path.name for path in (published / "attention").iterdir()} == {
        "1_query_crafting.ipynb", "2_attention_from_scratch.ipynb", "3_finetune_roberta.ipynb",
    }  # fmt: skip
    done = subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=published, capture_output=True)
    assert done.returncode == 0
    environment = (published / "environment.yml").read_text("utf-8")
    assert "nbgrader" not in environment and "autograder" not in environment
    assert "- pytorch>=" in environment and "- jupyterlab>=" in environment
    assert f"- ./{versioned}" in environment
    readme = (published / "README.md").read_text("utf-8")
    links = re.findall(r"\]\(([^)h][^)]*)\)", readme)
    assert links
    for link in links:
        assert (published / link).exists(), link
    assert "python -m course_utils submit" in readme and "autograder" not in readme


def test_publishing_twice_makes_the_same_bytes(files):
    assert make_publication(load_course(ROOT), ["attention"]) == files


def test_an_earlier_publication_is_updated_and_nothing_else_is_touched(quick, files, tmp_path):
    folder = tmp_path / "public"
    (folder / ".git").mkdir(parents=True)
    assert set(publish(quick, folder)) == set(files)
    assert publish(quick, folder) == []
    (folder / "syllabus.pdf").write_bytes(b"%PDF of mine")
    (folder / "README.md").unlink()
    assert publish(quick, folder) == ["README.md"]
    assert (folder / "syllabus.pdf").read_bytes() == b"%PDF of mine"
    gone = folder / "old.ipynb"  # ours, from an earlier release, and no longer part of it
    gone.write_bytes(b"{}")
    with open(folder / "SHA256SUMS", "a") as sums:
        sums.write(f"{publishing._digest(b'{}')}  old.ipynb\n")
    assert set(publish(quick, folder)) == {"old.ipynb", "SHA256SUMS"} and not gone.exists()
    (folder / "README.md").write_text("My own words.")
    with pytest.raises(CourseError, match=r"README.md was changed by hand"):
        publish(quick, folder)
    assert (folder / "README.md").read_text() == "My own words."


def test_a_published_file_that_was_changed_by_hand_is_not_overwritten(quick, files, tmp_path):
    publish(quick, tmp_path)
    name = next(name for name in files if name.endswith(".ipynb"))
    (tmp_path / name).write_text("My own notebook.")
    with pytest.raises(CourseError, match=rf"{name} was changed by hand after it was published"):
        publish(quick, tmp_path)
    assert (tmp_path / name).read_text() == "My own notebook."


def test_lines_added_to_the_readme_by_hand_survive(quick, files, tmp_path, monkeypatch):
    folder = tmp_path / "public"
    publish(quick, folder)
    path = folder / "README.md"
    lines = path.read_text("utf-8").splitlines()
    lines[3:3] = ["Office hours: Tuesdays, room 5.", ""]
    path.write_text("\n".join([*lines, "", "## My own section"]) + "\n", "utf-8")
    changed = files["README.md"].replace(b"## In Colab", b"## In Google Colab")
    fresh = files | {"README.md": changed}
    fresh["release.json"] = json.dumps(
        json.loads(files["release.json"]) | {"readme": changed.decode()}
    ).encode()
    monkeypatch.setattr(publishing, "make_publication", lambda course, names: dict(fresh))
    publish(quick, folder)
    text = path.read_text("utf-8")
    assert "Office hours: Tuesdays, room 5." in text and text.endswith("## My own section\n")
    assert "## In Google Colab" in text and "## In Colab" not in text
    assert text.index("Office hours") < text.index("## In Google Colab")
    assert publish(quick, folder) == [], "and it stays as it is"
    assert subprocess.run(["sha256sum", "-c", "--quiet", "SHA256SUMS"], cwd=folder).returncode == 0
    path.write_text(text.replace("## Hand in", "## Submit"), "utf-8")
    with pytest.raises(
        CourseError, match=r"README.md was changed by hand: line \d+ was '## Hand in'"
    ):
        publish(quick, folder)


def test_the_examples_address_is_refused(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("autograder.authoring.build.build", lambda course, check: [])
    assert main(["publish", str(tmp_path / "public")]) == 1
    assert "still has the example's address" in capsys.readouterr().err
    assert not (tmp_path / "public").exists()


def test_a_corrected_package_has_another_version_and_pip_sees_it(files):
    names = [name for name in files if name.endswith(".whl")]
    assert len(names) == 2
    version = json.loads(files["release.json"])["package"]
    plain = f"attention_course-{VERSION}-py3-none-any.whl"
    for name in names:
        with zipfile.ZipFile(io.BytesIO(files[name])) as archive:
            assert archive.testzip() is None
            assert archive.read("course_utils/data/version.txt").decode().strip() == version
            inside = next(n for n in archive.namelist() if n.endswith("METADATA"))
            said = VERSION if name == plain else version
            assert f"\nVersion: {said}\n" in archive.read(inside).decode()
            assert inside.startswith(f"attention_course-{said}.dist-info")
    same, other = io.BytesIO(), io.BytesIO()
    for target, text in ((same, b"x = 1"), (other, b"x = 2")):
        with zipfile.ZipFile(target, "w") as archive:
            archive.writestr("course_utils/a.py", text)
    assert find_version(same.getvalue(), "1.0") != find_version(other.getvalue(), "1.0")


def test_the_readme_says_when_where_and_for_how_many_points(course_copy):
    path = course_copy / "course.toml"
    text = path.read_text("utf-8")
    added = (
        '[hand_in]\nwhere = "the page in Canvas"\ndue.attention = 2030-03-01T18:00:00\n\n[weights]'
    )
    path.write_text(text.replace("[weights]", added), "utf-8")
    course = load_course(course_copy)
    readme = make_readme(course, ["attention"], "x.whl")
    assert "Due Friday, 01 March 2030, 18:00." in readme
    assert "Hand that file in: the page in Canvas." in readme
    for plan in course.find("attention").notebooks:
        assert f"| {plan.auto + plan.manual:g} | {plan.pages} |" in readme
    wrong = added.replace("2030-03-01T18:00:00", '"soon"')
    path.write_text(text.replace("[weights]", wrong) + "\n", "utf-8")
    _read_course.cache_clear()
    with pytest.raises(CourseError, match="must be a date and time"):
        load_course(course_copy)


def test_a_folder_with_other_things_is_left_alone(quick, tmp_path):
    (tmp_path / "thesis.txt").write_text("three years")
    with pytest.raises(CourseError, match=r"holds other things \(thesis.txt"):
        publish(quick, tmp_path)
    (tmp_path / "SHA256SUMS").write_text("")
    for facts in ('{"course": "another-course"}', "[1]", "null"):  # somebody else's publication
        (tmp_path / "release.json").write_text(facts)
        with pytest.raises(CourseError, match="holds other things"):
            publish(quick, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "thesis.txt",
        "release.json",
        "SHA256SUMS",
    }
    with pytest.raises(CourseError, match="is a file"):
        publish(quick, tmp_path / "thesis.txt")


def test_what_is_not_built_is_not_published(monkeypatch, tmp_path, capsys):
    stale = ROOT / "release" / "attention" / "1_query_crafting.ipynb"
    monkeypatch.setattr("autograder.authoring.build.build", lambda course, check: [stale])
    assert main(["publish", str(tmp_path / "public")]) == 1
    assert "out of date (release/attention/1_query_crafting.ipynb)" in capsys.readouterr().err
    assert not (tmp_path / "public").exists()


# -------------------------------------------------------------------------------------- leaks


def notebook_with(text, kind="code"):
    make = nbformat.v4.new_code_cell if kind == "code" else nbformat.v4.new_markdown_cell
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("Hi."), make(text)])
    return nbformat.writes(notebook).encode()


def zipped(name, content):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, content)
    return buffer.getvalue()


def exercise_module():
    return (ROOT / "autograder/exercises/attention/query_crafting.py").read_bytes()


SOLUTION = "A line.\nq_average_two = 9 * (K[0] + K[1])\n"
PLANTS = {  # what is planted, under which name, and what the sentence must hold
    "a solution": ("notes.txt", None, r"notes.txt:\d+: holds .* belongs to the solution of"),
    "a solution in a notebook": (
        "extra.ipynb", None, r"extra.ipynb, cell 2, line \d+: .*the solution of"),
    "a hidden test": (
        "hints.md", b'Hi\nfrom autograder.grading.in_process import grade_here\n',
        r"hints.md:2: .*the hidden test of"),
    "a mark scheme": (
        "marks.csv", b"Nothing.\n1 point: the softmax normalises over all keys (shared\n"
        b"denominator, weights sum to 1).\n", r"marks.csv:2: .*the mark scheme of answer_1_4_3"),
    "a model answer": (
        "extra.ipynb", notebook_with(
            "Because every key stands in\nthe denominator of every weight: **The weights come from "
            "one softmax over all scores, so every key stands in the denominator of every "
            "weight.**", "markdown"),
        r"extra.ipynb, cell 2, line \d+: .*the model answer of answer_1_4_3"),
    "a reference": (
        "code.txt", b"Hello.\n\nprobabilities = torch.softmax(A, dim=-1)\n", None),
    "an exercise module": ("data.bin", exercise_module(), r"data.bin:\d+: .*exercise module of"),
    "an exercise module in another encoding": (
        "notes.txt", exercise_module().decode().encode("utf-16"), r"notes.txt:\d+: "),
    "a solution with other quotes": (
        "notes.txt", b'import os\ngrade_here( "attention.query_crafting", "q_select_first", globals(), points = 2)\n', "hidden test of"),
    "an exercise module in a zip": (
        "slides.pptx", zipped("a/b.xml", exercise_module()), r"slides.pptx!a/b.xml:\d+: "),
    "an exercise module inside binary data": (
        "weights.bin", b"\xff\x00\x81" * 9 + exercise_module() + b"\xfe\xff\x00",
        r"weights.bin:\d+: "),
    "compiled code": ("x.pyc", b"\xa7\r\r\n" + bytes(99), "x.pyc: .*cannot be looked into"),
    "a packed file": ("x.gz", b"\x1f\x8b\x08" + bytes(99), "x.gz: .*cannot be looked into"),
}  # fmt: skip


def make_plant(kind, secrets):
    name, content, sentence = PLANTS[kind]
    if content is None:  # a true solution, whatever it is today
        solution = max((s for s in secrets if s.kind == "solution"), key=lambda s: len(s.text))
        line = f"Look:\n\n  {solution.text}\n"
        content = notebook_with(line) if name.endswith(".ipynb") else line.encode()
    if kind == "a reference":
        reference = max((s for s in secrets if s.kind == "reference"), key=lambda s: len(s.text))
        content = f"Hello.\n\n{reference.text}\n".encode()
        sentence = r"code.txt:3: .*the reference of \w+.py"
    return name, content, sentence


@pytest.mark.parametrize("kind", PLANTS)
def test_a_planted_leak_stops_publishing_with_file_and_line(
    quick, files, secrets, kind, tmp_path, monkeypatch, capsys
):
    name, content, sentence = make_plant(kind, secrets)
    planted = {**files, name: content}
    monkeypatch.setattr(publishing, "make_publication", lambda course, names: planted)
    assert main(["publish", str(tmp_path / "public")]) == 1
    said = capsys.readouterr().err
    assert re.search(sentence, said), said
    assert "nothing was written" in said and not (tmp_path / "public").exists()


def test_the_name_of_a_mistake_is_no_secret():
    text = 'mistakes = {"attended-divided-by-all-places": "total = weights.sum(-1) / (mask + 1)"}'
    found = {s.text for s in find_secrets_in_module("x.py", text) if s.kind == "reference"}
    assert found == {"total=weights.sum(-1)/(mask+1)"}


def test_a_leak_inside_the_package_is_found_in_the_wheel(files, secrets):
    name = next(name for name in files if name.endswith(".whl"))
    buffer = io.BytesIO(files[name])
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr("course_utils/data/x.dat", "def f():\n    return 10 * K[0]\n")
    found = find_leaks_in_files({name: buffer.getvalue()}, secrets)
    assert [leak.place for leak in found][:1] == [f"{name}!course_utils/data/x.dat:2"]


def test_verify_finds_what_is_missing_changed_or_planted(quick, files, tmp_path, capsys):
    folder = tmp_path / "public"
    publish(quick, folder)
    assert main(["publish", str(folder), "--verify"]) == 0
    assert "nothing of the instructors' is in it" in capsys.readouterr().out
    (folder / "syllabus.txt").write_text("Week 1: queries.")
    assert verify(quick, folder) == [
        "syllabus.txt is not part of the publication; it holds no answer."
    ]
    (folder / "LICENSE").unlink()
    (folder / "README.md").write_text("changed")
    (folder / "tips.txt").write_text(SOLUTION.replace("q_average_two = 9", "x = 10 * K[0] + 9"))
    with pytest.raises(CourseError) as caught:
        verify(quick, folder)
    said = str(caught.value)
    assert "LICENSE is missing" in said and "README.md was changed after" in said
    assert "tips.txt:2: holds «" in said
    with pytest.raises(CourseError, match="was not published from here"):
        verify(quick, tmp_path)


def test_an_older_release_is_said(quick, tmp_path):
    publish(quick, tmp_path / "public")
    path = tmp_path / "public" / "release.json"
    facts = json.loads(path.read_text())
    facts["assignments"]["attention"]["1_query_crafting"] = "0.0.9+00000000"
    content = json.dumps(facts).encode()
    path.write_bytes(content)
    sums = tmp_path / "public" / "SHA256SUMS"
    old = re.search(r"(\w+)  release.json", sums.read_text())[1]
    sums.write_text(sums.read_text().replace(old, publishing._digest(content)))
    (note,) = verify(quick, tmp_path / "public")
    assert "an earlier release" in note


def test_a_list_of_sums_cannot_point_outside(quick, tmp_path):
    """Files of an earlier publication are removed when they are gone: none outside the folder."""
    folder, precious = tmp_path / "public", tmp_path / "precious.txt"
    publish(quick, folder)
    precious.write_bytes(b"mine")
    with open(folder / "SHA256SUMS", "a") as sums:
        for name in ("../precious.txt", str(precious)):
            sums.write(f"{publishing._digest(b'mine')}  {name}\n")
    publish(quick, folder)
    assert precious.read_bytes() == b"mine"


def test_an_older_package_is_told_of_the_new_one(tmp_path, monkeypatch, capsys):
    """The first cell asks the course's page, in a moment, and says nothing without a network."""
    import http.server
    import threading

    from course_utils import colab

    stamp = tmp_path / "version.txt"
    monkeypatch.setattr(colab, "_STAMP", stamp)
    monkeypatch.setattr(colab, "describe_gpu", lambda: "")
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    (tmp_path / "release.json").write_text('{"package": "0.2.0+new", "wheel": "new.whl"}')

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=str(tmp_path))

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("COURSE_ADDRESS", f"http://127.0.0.1:{server.server_port}")
        for version, told in (("0.2.0+old", True), ("0.2.0+new", False)):
            stamp.write_text(version)
            colab.prepare()
            said = capsys.readouterr().out
            assert f"course_utils {version} is ready." in said
            assert ("pip install new.whl" in said) == told
        server.shutdown()
    stamp.write_text("0.2.0+old")
    monkeypatch.setenv("COURSE_ADDRESS", "http://127.0.0.1:9")
    colab.prepare()
    assert "corrected" not in capsys.readouterr().out
