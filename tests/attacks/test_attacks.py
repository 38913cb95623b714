"""None of the attacks gains a point, sees a secret or touches another's work."""

import contextlib
import json
import os
import shutil
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from autograder.blueprint import load_blueprint
from autograder.demo.personas import fill_in
from autograder.grading import judges
from autograder.grading.grade import grade_notebook
from autograder.intake.restore import restore
from autograder.kernel import nursery, session
from autograder.kernel.isolation import measure_isolation
from autograder.kernel.session import KernelSession
from tests.attacks.attacks import ATTACKS, Attack
from tests.attacks.probes import (
    ODD_VALUES,
    PROBES,
    TRIED,
    add_odd_values,
    add_probes,
    aim,
    find_loot,
)
from tests.conftest import ROOT

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("attacks")]

TOKEN = "hf_what_nobody_may_see"


@pytest.fixture(scope="module", autouse=True)
def impatience():
    """Give up sooner on a kernel that an attack has left without an answer."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("autograder.grading.grade.ASK_TIMEOUT", 4)
        patch.setattr("autograder.kernel.session._PATIENCE", 2)
        yield


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """What the attacks aim at: a course folder with a gradebook, a classmate, a token, a port."""
    folder = tmp_path_factory.mktemp("world")
    course = folder / "course"
    for name in ("source", "autograder"):
        shutil.copytree(ROOT / name, course / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "course.toml", course)
    (course / "grading").mkdir()
    (course / "grading" / "gradebook.db").write_bytes(b"marks")
    (course / "grading" / "secret").write_bytes(b"what inputs are drawn from")
    classmate = course / "grading" / "submitted" / "classmate" / "1_query_crafting.ipynb"
    classmate.parent.mkdir(parents=True)
    classmate.write_text("a classmate's work")
    with socket.create_server(("127.0.0.1", 0)) as door, pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_TOKEN", TOKEN)
        nursery.close_nursery()  # one that has seen the token
        yield {
            "<COURSE>": str(course),
            "<CLASSMATE>": str(classmate),
            "<GRADER>": str(os.getpid()),
            "<NURSERY>": str(nursery.share_nursery().pid),
            "<PORT>": str(door.getsockname()[1]),
            "<OWNER>": str(os.getuid()),
            "<HOME>": str(folder),
            "<GRADING>": str(course / "grading"),
            "<MARK>": "planted-by-an-attack",
        }


def submit(attack: Attack, world: dict, blueprint, folder: Path):
    """Grade one attack as a submission; return the result and the graded notebook."""
    code = aim(attack.code, world)
    notebook = fill_in(blueprint, {"q_select_first": code} if code else {})
    folder.mkdir(parents=True)
    if attack.prepare:
        attack.prepare(notebook, folder)
    restored = restore(notebook, blueprint)
    result = grade_notebook(
        restored,
        blueprint,
        folder,
        cell_timeout=attack.seconds,
    )
    return result, restored.notebook


# The weakest isolation (no namespaces, no Landlock, the grader's own rights) cannot stop these.
NEEDS_WALLS = {
    "read-source", "read-relative", "read-exercises", "import-autograder", "classmate",
    "overwrite-classmate", "edit-gradebook", "plant-module", "plant-pth", "detach-hook", "many-files",
    "truncate-classmate", "rename-classmate", "link-classmate", "mount", "open-by-handle",
    "stack-of-question", "udp", "large-message", "deep-folders", "no-permissions",
}  # fmt: skip


WITHOUT_WALLS = [
    attack
    for attack in ATTACKS
    if not attack.walls and attack.seconds >= 10 and attack.name not in NEEDS_WALLS
]
EACH = 3  # of these, every third; `make soak` tries them all


# Tests below ask what became of these. Of the others `make test` tries every second, `make landing` the rest.
ASKED_ABOUT = {
    "fake-torch", "fake-launcher", "fake-course-utils", "sitecustomize", "symlink",
    "exit", "segfault", "forever",
}  # fmt: skip
IN_TURNS = [
    pytest.param(
        attack,
        id=attack.name,
        marks=[pytest.mark.landing] if number % 2 and attack.name not in ASKED_ABOUT else [],
    )
    for number, attack in enumerate(ATTACKS)
]


@pytest.fixture(scope="module")
def passes(request, play_all):
    """Return (attack, with walls?) -> what came of it, for all attacks that this run asks for."""
    asked = {
        item.callspec.params["attack"].name
        for item in request.session.items
        if getattr(item, "originalname", "") == "test_an_attack_gains_nothing"
    }
    strong = measure_isolation().level == "walls"
    plans = [
        (attack, True)
        for attack in ATTACKS
        if attack.name in asked | ASKED_ABOUT and (strong or not attack.walls)
    ]
    return play_all(plans + [(attack, False) for attack in WITHOUT_WALLS[::EACH]])


@pytest.fixture(scope="module")
def play_all(world, assignment, tmp_path_factory):
    """Return a function that plays plans, a few at a time, for most of them wait."""
    blueprint = load_blueprint(assignment, "1_query_crafting")
    folder = tmp_path_factory.mktemp("submissions")
    mine = threading.local()  # both passes run side by side, so each thread has a switch of its own
    describe = session._WalledSpecs.get_kernel_spec

    def describe_with_or_without(specs, name):
        spec = describe(specs, name)
        spec.metadata["kernel_provisioner"]["config"]["walls"] = mine.walls
        return spec

    def play(plan):
        attack, mine.walls = plan
        return submit(attack, world, blueprint, folder / f"{attack.name}-{mine.walls}")

    def play_all(plans):
        # Those that use all there is up to their last second come first, the quick ones fill gaps.
        plans = sorted(plans, key=lambda plan: not (plan[0].walls or plan[0].seconds < 10))
        with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(4) as pool:
            patch.setattr(session._WalledSpecs, "get_kernel_spec", describe_with_or_without)
            results = list(pool.map(play, plans))
        return {(a.name, w): found for (a, w), found in zip(plans, results, strict=True)}

    return play_all


@pytest.fixture(scope="module")
def outcomes(passes):
    """All attacks that this machine's isolation should stop."""
    return {name: found for (name, walls), found in passes.items() if walls}


@pytest.mark.parametrize("attack", IN_TURNS)
def test_an_attack_gains_nothing(attack, outcomes):
    if attack.name not in outcomes:
        pytest.skip(f"needs walls, and this machine has {measure_isolation().sentence}")
    result, notebook = outcomes[attack.name]
    assert result.score == 0.0
    assert result.max_score == 12.0
    assert json.dumps(result.to_dict(), allow_nan=False)
    assert not find_loot(notebook)


def test_loot_is_seen_wherever_it_is_printed():
    from nbformat.v4 import new_code_cell, new_notebook, new_output

    printed = new_output("stream", name="stdout", text="['LOOT HF_TOKEN']\n")
    shown = new_output("execute_result", data={"text/plain": "LOOT"})
    quoted = new_output("error", ename="E", evalue="", traceback=["print('LOOT', text)"])
    named = ["", "# a-probe\n1", "# another\n1"]
    cells = [
        new_code_cell(source, outputs=[one])
        for source, one in zip(named, (printed, shown, quoted), strict=True)
    ]
    assert find_loot(new_notebook(cells=cells)) == {"", "a-probe"}


def test_there_are_at_least_a_hundred_and_fifty():
    everything = [*ATTACKS, *PROBES, *ODD_VALUES]
    assert len({attack.name for attack in everything}) == len(everything) >= 150


@pytest.fixture(scope="module")
def probed(world, blueprint):
    """All probes, graded in one notebook."""
    restored = restore(add_probes(blueprint, world), blueprint)
    result = grade_notebook(restored, blueprint, None)
    return result, restored.notebook


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.name)
def test_a_probe_does_not_get_through(probe, probed):
    if probe.open_below and measure_isolation().level != "walls":
        pytest.skip("needs walls, and docs/security.md says so")
    assert probe.name not in find_loot(probed[1])


def test_all_probes_were_tried_and_planted_nothing(probed, world):
    result, notebook = probed
    tried = {
        cell.source.split("\n")[0] for cell in notebook.cells if TRIED in str(cell.get("outputs"))
    }
    assert tried == {f"# {probe.name}" for probe in PROBES}
    assert result.score == 0.0 and result.cells["test_k2_select"]["status"] == "missing"
    mark = world["<MARK>"]
    assert not list(Path(world["<HOME>"]).glob(f".ipython/**/{mark}*"))
    for place in (world["<HOME>"], "/tmp", "/var/tmp", "/dev/shm", "/etc"):
        assert not os.path.exists(f"{place}/{mark}") and not os.path.exists(f"{place}/.{mark}")


def test_odd_values_earn_nothing(blueprint):
    for notebook in add_odd_values(blueprint):
        result = grade_notebook(restore(notebook, blueprint), blueprint, None)
        assert result.score == 0.0
        judged = [cell for cell in result.cells.values() if cell["status"] != "manual"]
        assert {cell["status"] for cell in judged} <= {"failed", "crashed", "timeout", "missing"}


def test_everything_outside_is_as_it_was(outcomes, world):
    assert Path(world["<CLASSMATE>"]).read_text() == "a classmate's work"
    assert Path(world["<COURSE>"], "grading", "gradebook.db").read_bytes() == b"marks"
    text = (ROOT / "course_utils" / "queries.py").read_text("utf-8")
    assert "raise SystemExit" not in text
    assert nursery.share_nursery().pid == int(world["<NURSERY>"]), "the warm process was killed"


def test_nothing_is_left_running(outcomes):
    """Kernels, and all they started, are gone; only the warm process and its idle judges remain."""
    while judges._idle:
        judges._idle.pop().end()
    warm = psutil.Process(nursery.share_nursery().pid)
    for _ in range(50):
        left = describe_running(warm.children(recursive=True))
        if not left:
            return
        time.sleep(0.1)
    pytest.fail(f"left running: {left}")


def describe_running(processes):
    """Return the command lines of those still alive; each may end while it is being looked at."""
    found = []
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.cmdline())
    return found


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
    from autograder.demo.personas import solve_all

    restored = restore(fill_in(blueprint, solve_all(blueprint)), blueprint)
    assert grade_notebook(restored, blueprint, tmp_path).score == 12.0


def check_without_walls(passes):
    without = {name: found for (name, walls), found in passes.items() if not walls}
    for name, (result, notebook) in without.items():
        assert result.score == 0.0 and not find_loot(notebook), name
    return len(without)


def test_without_namespaces_what_needs_no_walls_still_holds(passes):
    assert check_without_walls(passes) >= 15


@pytest.mark.soak
def test_without_namespaces_every_attack_that_needs_no_walls_gains_nothing(play_all):
    assert check_without_walls(play_all([(attack, False) for attack in WITHOUT_WALLS])) >= 40


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
