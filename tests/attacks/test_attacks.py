"""None of the attacks gains a point, sees a secret or touches another's work."""

import json
import os
import shutil
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from autograder.grading import grade_notebook
from autograder.kernel import nursery
from autograder.kernel.isolation import measure_isolation
from autograder.kernel.session import KernelSession
from autograder.personas import fill_in
from autograder.submissions import restore
from tests.attacks.attacks import ATTACKS, Attack
from tests.conftest import ROOT

pytestmark = pytest.mark.xdist_group("attacks")


@pytest.fixture(scope="module", autouse=True)
def impatience():
    """Give up sooner on a kernel that an attack has left without an answer."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("autograder.grading.ASK_TIMEOUT", 4)
        patch.setattr("autograder.kernel.session._PATIENCE", 2)
        yield


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """What the attacks aim at: a course folder with a gradebook, a classmate, an open port."""
    folder = tmp_path_factory.mktemp("world")
    course = folder / "course"
    for name in ("source", "autograder"):
        shutil.copytree(ROOT / name, course / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "course.toml", course)
    (course / "grading").mkdir()
    (course / "grading" / "gradebook.db").write_bytes(b"marks")
    classmate = course / "grading" / "submitted" / "classmate" / "1_query_crafting.ipynb"
    classmate.parent.mkdir(parents=True)
    classmate.write_text("a classmate's work")
    with socket.create_server(("127.0.0.1", 0)) as door:
        yield {
            "<COURSE>": str(course),
            "<CLASSMATE>": str(classmate),
            "<GRADER>": str(os.getpid()),
            "<NURSERY>": str(nursery.share_nursery().pid),
            "<PORT>": str(door.getsockname()[1]),
        }


def submit(attack: Attack, world: dict, blueprint, folder: Path):
    """Grade one attack as a submission; return the result and the graded notebook."""
    code = attack.code
    for name, value in world.items():
        code = code.replace(name, value)
    notebook = fill_in(blueprint, {"q_select_first": code} if code else {})
    folder.mkdir(parents=True)
    if attack.prepare:
        attack.prepare(notebook, folder)
    restored = restore(notebook, blueprint)
    result = grade_notebook(
        restored.notebook,
        blueprint,
        folder,
        repairs=restored.repairs,
        flags=restored.flags,
        cell_timeout=attack.seconds,
    )
    return result, restored.notebook


@pytest.fixture(scope="module")
def outcomes(world, tmp_path_factory):
    """All attacks that this machine's isolation should stop, graded two at a time."""
    from autograder.blueprint import load_blueprint

    blueprint = load_blueprint(ROOT, "attention", "1_query_crafting")
    isolation = measure_isolation()
    chosen = [attack for attack in ATTACKS if isolation.level == "walls" or not attack.walls]
    folder = tmp_path_factory.mktemp("submissions")
    with ThreadPoolExecutor(2) as pool:
        results = pool.map(lambda a: submit(a, world, blueprint, folder / a.name), chosen)
        return dict(zip((attack.name for attack in chosen), results, strict=True))


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_gains_nothing(attack, outcomes):
    if attack.name not in outcomes:
        pytest.skip(f"needs walls, and this machine has {measure_isolation().sentence}")
    result, notebook = outcomes[attack.name]
    assert result.score == 0.0
    assert result.max_score == 12.0
    assert json.dumps(result.to_dict(), allow_nan=False)
    shown = json.dumps(
        [cell.get("outputs", []) for cell in notebook.cells if cell.cell_type == "code"]
    )
    assert "LOOT" not in shown.replace("print('LOOT", "").replace("'LOOT", "")


def test_there_are_at_least_forty():
    assert len(ATTACKS) >= 40
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS)


def test_everything_outside_is_as_it_was(outcomes, world):
    assert Path(world["<CLASSMATE>"]).read_text() == "a classmate's work"
    assert Path(world["<COURSE>"], "grading", "gradebook.db").read_bytes() == b"marks"
    text = (ROOT / "course_utils" / "queries.py").read_text("utf-8")
    assert "raise SystemExit" not in text
    assert nursery.share_nursery().pid == int(world["<NURSERY>"]), "the warm process was killed"


def test_nothing_is_left_running(outcomes):
    """Kernels, and all they started, are gone; only the warm process remains."""
    warm = psutil.Process(nursery.share_nursery().pid)
    for _ in range(50):
        left = [child for child in warm.children(recursive=True) if child.status() != "zombie"]
        if not left:
            return
        time.sleep(0.1)
    pytest.fail(f"left running: {[child.cmdline() for child in left]}")


def test_files_with_the_names_of_packages_are_set_aside_and_flagged(outcomes):
    for name in ("fake-torch", "fake-launcher", "fake-course-utils", "sitecustomize"):
        result, _ = outcomes[name]
        assert any("was set aside" in flag for flag in result.flags), name
    assert any("is a link" in flag for flag in outcomes["symlink"][0].flags)


def test_faults_are_reported_by_name(outcomes):
    def status(name):
        return outcomes[name][0].cells["test_q_select_first"]["status"]

    assert status("exit") == status("segfault") == "crashed"
    assert status("forever") == "timeout"


def test_an_honest_submission_is_graded_after_all_of_this(outcomes, blueprint, tmp_path):
    from autograder.personas import solve_all

    notebook = restore(fill_in(blueprint, solve_all(blueprint)), blueprint).notebook
    assert grade_notebook(notebook, blueprint, tmp_path).score == 12.0


def test_without_namespaces_what_needs_no_walls_still_holds(
    world, blueprint, tmp_path, monkeypatch
):
    """The weakest isolation: no namespaces, no Landlock, the same process rights as the grader."""
    monkeypatch.setattr("autograder.kernel.session.WITH_WALLS", False)
    weak = [attack for attack in ATTACKS if not attack.walls and attack.seconds >= 10]
    needs_walls = {"read-source", "read-relative", "read-exercises", "import-autograder", "classmate",
                   "overwrite-classmate", "edit-gradebook", "plant-module", "plant-pth", "detach-hook",
                   "many-files"}  # fmt: skip
    chosen = [attack for attack in weak if attack.name not in needs_walls]
    assert len(chosen) >= 20
    for attack in chosen:
        result, _ = submit(attack, world, blueprint, tmp_path / attack.name)
        assert result.score == 0.0, attack.name


def test_a_kernel_cannot_see_what_it_should_not(tmp_path):
    if measure_isolation().level != "walls":
        pytest.skip("needs walls")
    with KernelSession(tmp_path) as kernel:
        run = kernel.run(
            "import os\nprint(sorted(os.listdir('.')), os.getpid() < 10, os.getuid())", 30
        )
        assert run.outputs[0].text.startswith("[] True")
        run = kernel.run(f"import os\nprint(os.listdir({str(ROOT)!r}))", 30)
        seen = run.outputs[0].text
        for hidden in ("source", "autograder", "grading", "notebooks", "tests", "course.toml"):
            assert f"'{hidden}'" not in seen
