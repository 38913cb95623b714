"""All three notebooks go the whole way: publish, fetch, solve, check, submit, grade, each way in."""

import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest

from autograder.__main__ import main
from autograder.adapters.gradescope_run import SMALLEST_MEMORY, grade_submission
from autograder.blueprint import load_blueprints
from autograder.course import load_assignment
from autograder.demo.personas import fill_in, solve_all
from autograder.reports.sentences import describe_check
from tests.autograder.intake.test_unzip import make_bomb
from tests.conftest import grade, without_build
from tests.journey.conftest import run_student
from tests.journey.forms import WRONG, change_as_colab_does, export_py, write

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("whole way")]

TOTALS = {"1_query_crafting": 10, "2_attention_from_scratch": 18, "3_finetune_roberta": 18}


def read_release(published):
    return json.loads((published / "release.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def laptop(published, solved, student_python):
    """A student's Python with the published wheel installed, and the folder to work in."""
    wheel = published / read_release(published)["wheel"]
    done = run_student(
        student_python, "-m", "pip", "install", "-q", "--no-index", wheel, cwd=solved
    )
    assert done.returncode == 0, done.stderr
    return student_python, solved


@pytest.fixture(scope="module")
def checked(laptop):
    python, folder = laptop
    return run_student(
        python, "-m", "course_utils", "check", *(f"{name}.ipynb" for name in TOTALS), cwd=folder
    )


@pytest.fixture(scope="module")
def submitted(laptop):
    python, folder = laptop
    return run_student(python, "-m", "course_utils", "submit", cwd=folder), folder


@pytest.mark.landing
def test_check_says_where_you_stand(checked):
    assert checked.returncode == 1 and checked.stderr == ""
    lines = checked.stdout.splitlines()
    for name, wrong in WRONG.items():
        assert any(line.startswith(f"✘ {wrong}: ") and len(line) > 40 for line in lines), wrong
        assert any(line.startswith(f"{name}.ipynb: ") and "public checks pass." in line
                   for line in lines)  # fmt: skip
    assert "1_query_crafting.ipynb: 5 of 6 public checks pass." in lines
    assert "✔ q_select_first: public check passed." in lines
    assert "✔ self_attention: public check passed." not in lines  # it uses the mistake
    assert "Not written yet" not in checked.stdout and "Traceback" not in checked.stdout
    assert "correct" not in checked.stdout


def test_submit_makes_one_zip_that_says_what_is_in_it(submitted, published):
    done, folder = submitted
    assert done.returncode == 0, done.stderr
    path = folder / "attention-submission-1.zip"
    assert done.stdout.splitlines()[-1] == f"Hand in this file: {path.name}"
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        manifest = json.loads(archive.read("manifest.json"))
        kept = archive.read("2_attention_from_scratch.ipynb").decode()
    assert names[:4] == [*(f"{name}.ipynb" for name in TOTALS), "test_predictions.csv"]
    assert names[4] in ("write-up.pdf", "write-up.html") and names[5:] == ["manifest.json"]
    assert "loss 5.80 after an hour" in kept, "outputs go along"
    assert set(manifest["files"]) == set(names[:5])
    assert manifest["versions"]["attention-course"] == read_release(published)["package"]
    assert manifest["versions"]["torch"]
    assert set(manifest["releases"]) == set(TOTALS)
    assert manifest["warnings"] == []


@pytest.fixture(scope="module")
def ways(submitted, course, tmp_path_factory):
    """Return way in -> notebook -> cell -> score, all graded in one call."""
    _, solved = submitted
    folder = tmp_path_factory.mktemp("ways")
    for name in TOTALS:
        notebook = nbformat.read(solved / f"{name}.ipynb", as_version=4)
        (folder / "bare").mkdir(exist_ok=True)
        shutil.copy(solved / f"{name}.ipynb", folder / "bare")
        (folder / "py").mkdir(exist_ok=True)
        (folder / "py" / f"{name}.py").write_text(export_py(notebook, name), "utf-8")
        write(folder / "colab" / f"Copy of {name}.ipynb", change_as_colab_does(notebook))
    shutil.copy(solved / "attention-submission-1.zip", folder / "zip.zip")
    paths = {
        "zip": [folder / "zip.zip"],
        "bare": [folder / "bare" / f"{name}.ipynb" for name in TOTALS],
        "colab": [folder / "colab"],
        "py": [folder / "py"],
    }
    results = grade(*(path for group in paths.values() for path in group))
    owner = {str(path): way for way, group in paths.items() for path in group}
    found = {way: {} for way in paths}
    for result in results:
        found[owner[result["submission"]]][result["notebook"]] = result
    return found


def scores(results):
    return {
        notebook: {name: cell["score"] for name, cell in result["cells"].items()}
        for notebook, result in results.items()
    }


@pytest.mark.parametrize("way", ["zip", "bare", "colab", "py"])
def test_every_way_in_gives_the_same_scores(ways, way):
    assert {name: result["score"] for name, result in ways[way].items()} == TOTALS
    assert scores(ways[way]) == scores(ways["bare"])
    for name, result in ways[way].items():
        assert result["cells"][f"test_{WRONG[name]}"]["score"] == 0
        answers = [c for c in result["cells"].values() if c["status"] == "manual"]
        assert answers and all(cell["messages"] != ["untouched"] for cell in answers)


def test_the_grader_knows_the_release(ways, published):
    stamps = json.loads((published / "release.json").read_text("utf-8"))["assignments"]["attention"]
    for way in ("zip", "bare", "colab"):
        assert {name: result["release"] for name, result in ways[way].items()} == stamps
        assert [flag for result in ways[way].values() for flag in result["flags"]] == []
    for result in ways["py"].values():
        assert result["release"] == ""
        assert any("no outputs" in flag for flag in result["flags"])


# ---------------------------------------------------------------------------------- Gradescope


@pytest.fixture(scope="module")
def container(tmp_path_factory):
    """The autograder zip, laid out as Gradescope does, and set up."""
    return lay_out(tmp_path_factory.mktemp("gradescope") / "autograder")


def lay_out(root, *options):
    """Make an autograder zip and lay it out below `root` as Gradescope does."""
    bundle = root.parent / "bundle.zip"
    with without_build(), pytest.MonkeyPatch.context() as patch:
        patch.setenv("COURSE_GRADING", str(root.parent / "grading"))
        patch.setenv("NBGRADER_EXECUTION", "autograde")  # no need to look for SST-2
        assert main(["gradescope", str(bundle), *options]) == 0
    for name in ("source", "submission", "results"):
        (root / name).mkdir(parents=True)
    with zipfile.ZipFile(bundle) as archive:
        archive.extractall(root / "source")
        assert "course/grading/secret" in archive.namelist()
    environment = {"AUTOGRADER_ROOT": str(root), "COURSE_PYTHON": sys.executable}
    run_script("setup.sh", root, **environment)
    return root


def run_script(name, root, **variables):
    kept = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        ["bash", str(root / "source" / name)],
        cwd="/", env={**kept, "AUTOGRADER_ROOT": str(root), **variables},
        capture_output=True, text=True, timeout=400,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


def read_results(root):
    return json.loads((root / "results" / "results.json").read_text("utf-8"))


def fill(root, archive=None):
    shutil.rmtree(root / "submission")
    (root / "submission").mkdir()
    if archive:
        with zipfile.ZipFile(archive) as content:
            content.extractall(root / "submission")


def without_numbers(sentence):
    """A sentence apart from its numbers: hidden inputs are drawn anew under each course's secret."""
    return re.sub(r"\d+(\.\d+)?", "#", sentence)


@pytest.mark.landing
def test_gradescope_gives_the_same_scores_and_full_results(container, submitted, ways, assignment):
    fill(container, submitted[1] / "attention-submission-1.zip")
    run_script("run_autograder", container)
    results = read_results(container)
    assert results["score"] == sum(TOTALS.values())
    by_name = {test["name"]: test for test in results["tests"]}
    for plan in assignment.notebooks:
        for name, cell in ways["bare"][plan.name]["cells"].items():
            if cell["status"] == "manual":
                continue
            test = by_name[f"{plan.title}: {name.removeprefix('test_')}"]
            assert (test["score"], test["max_score"]) == (cell["score"], cell["max_score"])
            assert test["status"] == ("passed" if cell["status"] == "passed" else "failed")
            assert test["visibility"] == "after_published" and test["output_format"] == "text"
            sentence = describe_check(cell).split(" Seen with")[0]
            assert without_numbers(test["output"]).startswith(without_numbers(sentence))
            assert test["number"].split(".")[0] == plan.name[0]
    arrived = by_name["What arrived"]
    assert arrived["visibility"] == "visible" and arrived["status"] == "passed"
    assert "6 of 6 exercises worked on, 10 of 10 answers written" in arrived["output"]
    (board,) = results["leaderboard"]
    assert board["name"] == "Test accuracy" and 0.97 < board["value"] < 1
    assert results["stdout_visibility"] == "hidden"


@pytest.mark.landing
def test_gradescope_writes_results_whatever_the_submission_does(container, assignment):
    """A notebook that kills its kernel, leaves a letter, and tries to write the results itself."""
    fill(container)
    notebook = nbformat.read(assignment.release / "1_query_crafting.ipynb", as_version=4)
    target = container / "results" / "results.json"
    evil = (
        f"import os, signal, pathlib\nfor name in ({str(target)!r}, 'x'):\n    try:\n"
        f"        pathlib.Path(name).write_text('{{\"score\": 100}}')\n    except OSError:\n"
        "        pass\nprint(os.getuid())\nos.kill(os.getpid(), signal.SIGKILL)"
    )
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "q_select_first":
            cell.source = evil
    write(container / "submission" / "1_query_crafting.ipynb", notebook)
    (container / "submission" / "test_predictions.csv").write_text("nonsense\n\x00")
    (container / "submission" / "link").symlink_to("/etc/passwd")
    run_script("run_autograder", container)
    results = read_results(container)
    assert results["score"] == 0 and len(results["tests"]) == 23
    assert results["tests"][1]["output"].startswith("q_select_first")
    arrived = results["tests"][0]
    assert arrived["status"] == "failed" and "leaderboard" not in results
    assert "The submission has no notebook 2_attention_from_scratch.ipynb." in arrived["output"]
    assert "is not as `write_predictions` makes it" in arrived["output"]


def find_own(container):
    """Return the assignment as the container knows it."""
    return load_assignment("attention", container / "source" / "course")


def test_an_empty_submission_gets_a_sentence(container, tmp_path, monkeypatch):
    monkeypatch.setattr("autograder.grading.paths.prove", lambda kit: None)
    results = grade_submission(find_own(container), tmp_path)
    assert results["score"] == 0 and len(results["tests"]) == 23
    assert "The submission holds no notebook (.ipynb)." in results["tests"][0]["output"]


def test_a_bomb_gets_a_sentence(container, tmp_path):
    make_bomb(tmp_path / "a.zip")
    results = grade_submission(find_own(container), tmp_path)
    assert results["score"] == 0 and len(results["tests"]) == 23
    assert "a.zip would unpack to more than 400 MB" in results["tests"][0]["output"]


@pytest.fixture
def memory_group():
    """Return a function that runs a command with so much memory and returns the peak; root's, in MB."""
    version_1 = Path("/sys/fs/cgroup/memory")
    top = version_1 if version_1.is_dir() else Path("/sys/fs/cgroup")
    names = (
        ("memory.limit_in_bytes", "memory.max_usage_in_bytes")
        if top == version_1
        else ("memory.max", "memory.peak")
    )
    folder = top / "gradescope-test"
    try:
        folder.mkdir()
        (folder / names[0]).write_text(str(2**30))
    except OSError as problem:
        folder.is_dir() and folder.rmdir()
        pytest.skip(f"no group of our own can limit memory here: {problem}")

    def run(root, megabytes):
        (folder / names[0]).write_text(str(megabytes << 20))
        join = f"echo $$ > {folder}/cgroup.procs; exec bash {root}/source/run_autograder"
        done = subprocess.run(
            ["bash", "-c", join],
            cwd="/", env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "AUTOGRADER_ROOT": str(root)},
            capture_output=True, text=True, timeout=400,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return int((folder / names[1]).read_text()) >> 20, done.stderr

    yield run
    folder.rmdir()


@pytest.mark.soak
def test_three_solved_notebooks_fit_the_memory_that_gradescope_is_asked_for(
    container, assignment, memory_group
):
    """README says how much is needed; this is where the number comes from (`pytest -s` shows it)."""
    fill(container)
    for name, blueprint in load_blueprints(assignment).items():
        write(container / "submission" / f"{name}.ipynb", fill_in(blueprint, solve_all(blueprint)))
    _, told = memory_group(container, 768)
    assert read_results(container)["score"] == 0 and "has 768 MB" in told
    peak, _ = memory_group(container, SMALLEST_MEMORY >> 20)
    print(f"peak {peak} MB")
    results = read_results(container)
    assert results["score"] == sum(test.get("max_score", 0) for test in results["tests"]) > 0


@pytest.mark.parametrize("fault", ["no python", "too slow"])
def test_gradescope_writes_results_when_all_else_fails(container, fault):
    fill(container)
    (container / "results" / "results.json").write_text("left over")
    variables = {}
    if fault == "no python":
        (container / "source" / "python").write_text("/nowhere/python\n")
    elif fault == "too slow":
        variables["AUTOGRADER_SECONDS"] = "0.2"
    run_script("run_autograder", container, **variables)
    (container / "source" / "python").write_text(f"{sys.executable}\n")
    results = read_results(container)
    assert results["score"] == 0
    assert "You need not do anything" in results["output"]
