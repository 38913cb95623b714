"""Warm kernels and their walls: started on demand, replaced when dead, gone with the grader."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager

from autograder import __main__ as main
from autograder.course import CourseError
from autograder.kernel import doctor, isolation, nursery, walls
from autograder.kernel.session import KernelSession
from autograder.kernel.workfolder import fill_folder
from tests.conftest import ROOT, run_autograder

pytestmark = pytest.mark.skipif(not nursery.is_possible(), reason="kernels cannot be forked here")


def show(kernel, expression):
    return kernel.run(expression, 60).outputs[0].data["text/plain"]


def test_a_kernel_comes_with_its_imports_and_forgets_the_grader():
    nursery.want(["transformers"])
    nursery.close_nursery()
    with KernelSession() as kernel:
        modules = show(kernel, "import sys\n[m in sys.modules for m in ('torch', 'transformers')]")
        assert modules == "[True, True]"
        assert show(kernel, "[m for m in sys.modules if m.startswith('autograder')]") == "[]"


def test_two_kernels_share_nothing_but_memory():
    with KernelSession() as one, KernelSession() as other:
        one.run("import random, numpy, torch, os\nopen('note', 'w').write('x')", 30)
        other.run("import random, numpy, torch, os", 30)
        assert show(other, "os.path.exists('note')") == "False"
        for draw in ("random.random()", "torch.rand(1).item()", "numpy.random.rand()"):
            numbers = [show(k, draw) for k in (one, other)]
            assert numbers[0] != numbers[1], f"forks must not share their random numbers: {draw}"


@pytest.mark.parametrize(("patience", "words"), [(0.01, "too busy"), (60, "ended while it was")])
def test_a_warm_process_that_is_not_ready_gets_a_sentence(patience, words, monkeypatch, capsys):
    monkeypatch.setattr(nursery, "_PATIENCE", patience)
    if patience > 1:  # it ends at once
        monkeypatch.setattr(nursery.sys, "executable", "/bin/false")
    monkeypatch.setattr(main, "run_doctor", lambda options: nursery.Nursery() and 0)
    assert main.main(["doctor"]) == 1
    shown = capsys.readouterr().err
    assert words in shown and "Traceback" not in shown


def test_a_killed_warm_process_is_replaced():
    before = nursery.share_nursery().pid
    os.kill(before, signal.SIGKILL)
    time.sleep(0.5)
    with KernelSession() as kernel:
        assert show(kernel, "1 + 1") == "2"
    assert nursery.share_nursery().pid != before


def test_a_stale_warm_process_is_replaced(monkeypatch):
    before = nursery.share_nursery().pid
    monkeypatch.setattr(nursery, "_fingerprint", lambda: 0.0)
    after = nursery.share_nursery().pid
    assert after != before
    monkeypatch.undo()


def test_kernels_die_with_a_killed_grader():
    code = (
        "import time\nfrom autograder.kernel.session import KernelSession\n"
        "with KernelSession() as kernel:\n"
        "    print(kernel.manager.provisioner.pid, flush=True)\n    time.sleep(600)"
    )
    grader = subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    kernel = int(grader.stdout.readline())
    assert psutil.pid_exists(kernel)
    family = psutil.Process(grader.pid).children(recursive=True)
    grader.kill()
    grader.wait()
    _, alive = psutil.wait_procs(family, timeout=20)
    assert alive == []


def test_a_notebook_opened_by_hand_gets_a_warm_kernel(tmp_path):
    """The installed kernelspec: no walls, its own folder, over ordinary ports."""
    specs = KernelSpecManager(kernel_dirs=[str(tmp_path)], ensure_native_kernel=False)
    (tmp_path / "attention-warm").symlink_to(ROOT / "autograder" / "kernel" / "spec")
    manager = KernelManager(kernel_name="attention-warm", kernel_spec_manager=specs)
    manager.start_kernel(cwd=str(tmp_path))
    client = manager.blocking_client()
    try:
        client.start_channels()
        client.wait_for_ready(timeout=120)
        reply = client.execute_interactive(
            "import sys, os\nassert 'torch' in sys.modules\nopen('saved', 'w').write('x')",
            timeout=60,
        )
        assert reply["content"]["status"] == "ok"
        assert (tmp_path / "saved").exists()
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def test_where_nothing_can_be_forked_an_ordinary_kernel_serves(monkeypatch, caplog):
    monkeypatch.setattr(nursery, "is_possible", lambda: False)
    isolation.measure_isolation.cache_clear()
    try:
        with KernelSession() as kernel:
            assert show(kernel, "1 + 1") == "2"
        assert isolation.measure_isolation().level == "process"
        assert any("cannot be forked" in line for _, line in doctor.examine_machine())
    finally:
        isolation.measure_isolation.cache_clear()


def test_landlock_alone_keeps_files_out_of_reach(tmp_path):
    """What remains where namespaces may not be made."""
    if not walls.landlock_version():
        pytest.skip("this system has no Landlock")
    folder, channel = tmp_path / "folder", tmp_path / "channel"
    folder.mkdir()
    channel.mkdir()
    (tmp_path / "secret").write_text("x")
    code = f"""
import sys
from autograder.kernel import walls, provisioner
plan = walls.Plan({str(folder)!r}, {str(channel)!r}, tuple(provisioner.find_visible()))
print(walls.build_walls(plan, 0))
open("mine", "w").write("x")
import json.tool, course_utils.runtime
for path in ({str(tmp_path / "secret")!r}, {str(ROOT / "course.toml")!r}):
    try:
        open(path)
    except PermissionError:
        print("refused")
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.splitlines()[-2:] == ["refused", "refused"], done.stderr
    assert "files by Landlock" in done.stdout
    assert (folder / "mine").exists()


def test_a_level_that_is_not_there_is_refused(monkeypatch):
    weak = isolation.Isolation("process", (), ("use the network",))
    monkeypatch.setattr(isolation, "measure_isolation", lambda: weak)
    isolation.require_isolation("process")
    with pytest.raises(CourseError, match="Nothing was graded"):
        isolation.require_isolation("walls")


@pytest.mark.skipif(os.geteuid() != 0, reason="all walls are sure to stand for root only")
def test_on_this_machine_all_walls_stand():
    found = isolation.measure_isolation()
    assert (found.level, found.holes) == ("walls", ())
    done = run_autograder("doctor", COLUMNS="200")
    assert done.returncode == 0 and "Measured by trying to break out: walls" in done.stdout


def test_a_course_that_lies_beside_python_is_told_so():
    exposed = isolation.find_exposure(Path("/usr/local/course/autograder/kernel/isolation.py"))
    assert exposed.startswith("the course lies in /usr, which Python needs")
    inside = Path(sys.prefix) / "course" / "autograder" / "kernel" / "isolation.py"
    assert f"the course lies in {sys.prefix}" in isolation.find_exposure(inside)
    for place in (isolation.__file__, "/opt/course/autograder/kernel/isolation.py"):
        assert isolation.find_exposure(Path(place).resolve()) == ""


def test_limits_stop_what_eats_everything_up():
    with KernelSession() as kernel:
        run = kernel.run("x = bytearray(20 * 2**30)", 60)
        assert run.status == "out of memory" and run.outputs[-1].ename == "MemoryError"
        run = kernel.run("open('big', 'wb').write(b'x' * (300 * 2**20))", 60)
        assert run.status == "error"
        run = kernel.run("for _ in range(3000): print('x' * 10000)", 60)
        assert sum(len(o.text) for o in run.outputs) < 3 * 2**20
        assert "left out" in run.outputs[-1].text


def test_the_work_folder_holds_what_was_handed_in(tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "data").mkdir(parents=True)
    target.mkdir()
    (source / "data" / "numbers.csv").write_text("1,2")
    (source / "helper.py").write_text("x = 1")
    (source / "torch.py").write_text("x = 1")
    (source / "1_query_crafting.ipynb").write_text("{}")
    (source / ".2_another.ipynb.new").write_text('{"half of a graded')
    (source / "data" / ".2_another.ipynb.new").write_text("{")
    (source / "data" / "graded.ipynb").write_text("{}")
    (source / "link").symlink_to("/etc/passwd")
    flags = fill_folder(source, target)
    copied = sorted(str(path.relative_to(target)) for path in target.rglob("*") if path.is_file())
    assert copied == ["data/numbers.csv", "helper.py"]
    assert flags == [
        "link is a link or no ordinary file and was left out",
        "torch.py has the name of a package and was set aside",
    ]
    assert fill_folder(None, target) == []
    assert Path(source / "torch.py").exists(), "what was handed in stays as it is"


def test_what_a_kernel_sees_of_the_system_it_cannot_change():
    """Not only because files belong to others: the mounts themselves are for reading."""
    if isolation.measure_isolation().level != "walls":
        pytest.skip("needs walls")
    places = [str(ROOT / "course_utils"), "/usr"]
    with KernelSession() as kernel:
        code = f"import os\n[bool(os.statvfs(p).f_flag & os.ST_RDONLY) for p in {places!r}]"
        assert show(kernel, code) == str([True] * len(places))
        assert show(kernel, "bool(os.statvfs('.').f_flag & os.ST_RDONLY)") == "False"


def test_a_token_of_the_graders_is_not_in_what_the_warm_process_began_with(monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_what_nobody_may_see")
    nursery.close_nursery()
    with KernelSession() as kernel:
        assert show(kernel, "'hf_what' in open('/proc/self/environ').read()") == "False"
