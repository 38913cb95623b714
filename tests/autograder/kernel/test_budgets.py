"""What a kernel may use up in all, and what it may not call: each is tried."""

import os
import subprocess
import sys
import time

import pytest

from autograder import budgets
from autograder.files import remove_tree
from autograder.kernel import (
    cgroup,
    isolation,
    landlock,
    nursery,
    seccomp,
    session,
    walls,
    watch,
    wire,
)
from autograder.kernel.session import KernelSession
from tests.conftest import ROOT

pytestmark = [
    pytest.mark.skipif(not nursery.is_possible(), reason="kernels cannot be forked here"),
    pytest.mark.xdist_group("kernels"),
]


def show(kernel, code, seconds=30):
    run = kernel.run(code, seconds)
    return "".join(output.get("text", "") for output in run.outputs).strip() or run.status


def test_the_whole_time_is_counted_and_said():
    with KernelSession(seconds=2) as kernel:
        assert kernel.run("import time; time.sleep(30)", 2).status == "timeout"
        assert kernel.run("1", 30).status == "used up"
        assert kernel.ask("def probe(n, i): return {'a': 1}", "{}", 5) == ("used up", "")


def test_the_folder_of_the_sockets_is_no_place_for_files():
    with KernelSession() as kernel:
        fill = f"open({kernel.channel!r} + '/big', 'wb').write(bytes({2 * budgets.CHANNEL_SIZE}))"
        run = kernel.run(f"{fill}\nimport time; time.sleep(20)", 20)
        if "files" in kernel.manager.provisioner.process.walls:
            assert "Read-only" in run.outputs[-1].evalue and not os.path.exists(
                f"{kernel.channel}/big"
            )
        else:
            assert run.status == "out of disk"
        assert show(kernel, "print(6 * 7)") == "42", "its sockets work as before"


def test_all_cells_together_may_show_so_much(monkeypatch):
    monkeypatch.setattr(budgets, "LARGEST_OUTPUTS", 2000)
    with KernelSession() as kernel:
        assert show(kernel, "print('x' * 1500)") == "x" * 1500
        assert "was left out" in show(kernel, "print('x' * 1500)")
        assert show(kernel, "print(6 * 7)") == "42", "what is short may still be shown"


def test_a_folder_on_the_disk_is_counted(tmp_path):
    budget = watch.Budget(2**40, {str(tmp_path): 2**20})
    assert watch.find_excess(budget) == ""
    (tmp_path / "big").write_bytes(bytes(2**21))
    assert watch.find_excess(budget) == "disk"


def test_the_limit_of_a_container_is_read_from_either_version(tmp_path):
    """The tightest of all groups around the process, on folders that look like the system's."""
    inner = tmp_path / "groups" / "pod" / "box"
    inner.mkdir(parents=True)
    top = tmp_path / "groups"
    (tmp_path / "cgroup").write_text("4:cpu,memory:/pod/box\n0::/pod/box\n")
    for kind, name, unlimited in (
        ("cgroup2 rw", "memory.max", "max"),
        ("cgroup rw,memory", "memory.limit_in_bytes", "9223372036854771712"),
    ):
        (tmp_path / "mounts").write_text(f"proc /proc proc rw 0 0\ncgroup {top} {kind} 0 0\n")
        assert cgroup.find_memory_limit(tmp_path) is None
        (inner / name).write_text(unlimited)
        assert cgroup.find_memory_limit(tmp_path) is None
        (inner.parent / name).write_text("805306368\n")
        assert cgroup.find_memory_limit(tmp_path) == 768 << 20
        (inner / name).write_text("5000\n")
        assert cgroup.find_memory_limit(tmp_path) == 5000
    (tmp_path / "cgroup").write_text("4:cpu,memory:/not/seen/here\n0::/not/seen/here\n")
    (top / "memory.limit_in_bytes").write_text("7000")
    assert cgroup.find_memory_limit(tmp_path) == 7000
    assert cgroup.find_memory_limit(tmp_path / "nowhere") is None


def test_a_control_group_is_made_where_memory_and_processes_are_handed_out(tmp_path):
    """On folders that look like the system's; where there are real ones, kernels run in them."""
    proc, place = tmp_path / "proc", tmp_path / "groups" / "users"
    proc.mkdir()
    place.mkdir(parents=True)
    (proc / "mounts").write_text(f"cgroup2 {place.parent} cgroup2 rw 0 0\n")
    (proc / "cgroup").write_text("4:memory:/old\n0::/\n")
    assert cgroup.find_place(proc)[1] == "the grader is in the topmost group that it sees"
    (proc / "cgroup").write_text("0::/users/grader\n")
    (place / "cgroup.subtree_control").write_text("cpu memory\n")
    (place / "cgroup.procs").touch()
    assert cgroup.find_place(proc) == (None, f"{place} does not hand out pids")
    (place / "cgroup.subtree_control").write_text("cpu memory pids\n")
    assert cgroup.find_place(proc) == (place, "")

    group = cgroup.Group(place, memory=5, processes=7)
    (folder,) = place.glob("course-*")
    assert [(folder / name).read_text() for name in ("memory.max", "pids.max")] == ["5", "7"]
    (folder / "memory.events").write_text("low 0\noom_kill 1\n")
    assert group.has_run_out()
    (folder / "cgroup.procs").touch()
    group.join()
    assert (folder / "cgroup.procs").read_text() == "0"
    with pytest.raises(OSError):
        group.has_run_out()  # a kernel keeps nothing with which it could leave


def test_memory_is_counted_over_all_processes(monkeypatch):
    small = walls.Limits(whole_memory=3 * 2**29)
    monkeypatch.setattr("autograder.kernel.provisioner.walls.Limits", lambda: small)
    eat = """
import os, time
for _ in range(3):
    if os.fork() == 0:
        kept = bytearray(600 * 2**20)
        kept[::4096] = b"x" * len(kept[::4096])
        time.sleep(30)
time.sleep(30)
"""
    with KernelSession() as kernel:
        assert kernel.run(eat, 30).status == "out of memory"


def test_deep_folders_are_cleaned_away():
    with KernelSession() as kernel:
        place, channel = kernel._scratch, kernel.channel
        deep = "import os\nos.chdir({!r})\nfor _ in range(1500):\n    os.mkdir('d'); os.chdir('d')"
        kernel.run(deep.format(channel), 30)
    assert not place.exists() and not os.path.exists(channel)


def test_a_tree_of_any_depth_and_without_permissions_is_removed(tmp_path):
    top = tmp_path / "top"
    top.mkdir()
    here = os.open(top, os.O_RDONLY)
    for _ in range(2000):
        os.mkdir("d", 0o500, dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.fchmod(here, 0o500)
        os.close(here)
        here = inner
    os.close(here)
    remove_tree(top)
    assert not top.exists()


@pytest.mark.skipif(not seccomp.is_possible(), reason="unknown numbers of system calls")
def test_no_new_namespaces_and_no_memory_that_nobody_owns():
    code = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
print([libc.unshare(flag) for flag in (0x10000000, 0x20000, 0x40000000)],
      libc.mount(b"tmpfs", b"/tmp", b"tmpfs", 0, None), libc.ptrace(16, 1, 0, 0),
      libc.shmget(0, 4096, 0o1600), libc.syscall(319, b"x", 0))
import threading, subprocess
thread = threading.Thread(target=print, args=("threads work",)); thread.start(); thread.join()
print(subprocess.run(["echo", "programs work"], capture_output=True, text=True).stdout)
print(open("/proc/self/oom_score_adj").read())
"""
    with KernelSession() as kernel:
        said = show(kernel, code)
    assert said.startswith("[-1, -1, -1] -1 -1 -1 -1"), said
    assert "threads work" in said and "programs work" in said and "900" in said


@pytest.mark.skipif(not seccomp.is_possible(), reason="unknown numbers of system calls")
def test_limits_of_others_and_sockets_to_a_host_are_refused(tmp_path):
    """In a process of its own, with the filter alone: so it holds without namespaces, too."""
    code = """
import ctypes, os, resource, socket
from autograder.kernel import seccomp
libc = ctypes.CDLL(None)
libc.prctl(38, 1, 0, 0, 0)
assert seccomp.refuse_calls(libc, keep_permissions=False)
def attempt(action):
    try:
        action()
        print("went through")
    except OSError as problem:
        print(type(problem).__name__)
attempt(lambda: resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE))
attempt(lambda: os.sched_setaffinity(os.getppid(), {0}))
attempt(lambda: os.setpriority(os.PRIO_USER, 0, 1))
attempt(lambda: socket.socket(40, socket.SOCK_STREAM))
resource.getrlimit(resource.RLIMIT_NOFILE), os.sched_setaffinity(0, os.sched_getaffinity(0))
socket.socketpair(), socket.socket(), socket.socket(socket.AF_INET6)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["PermissionError"] * 3 + ["OSError"]


@pytest.mark.skipif(not walls.landlock_version(), reason="no Landlock")
def test_where_only_landlock_stands_files_of_others_stay_whole(tmp_path):
    """As the same user and without namespaces: emptying, permissions, signals."""
    folder, channel, victim = (tmp_path / name for name in ("folder", "channel", "victim"))
    folder.mkdir()
    channel.mkdir()
    victim.write_text("marks")
    victim.chmod(0o644)
    code = f"""
import os
from autograder.kernel import walls, provisioner
plan = walls.Plan({str(folder)!r}, {str(channel)!r}, tuple(provisioner.find_visible()))
print(walls.build_walls(plan, 0))
for action in (lambda: os.truncate({str(victim)!r}, 0), lambda: os.chmod({str(victim)!r}, 0),
               lambda: os.rename({str(victim)!r}, "mine"), lambda: os.link({str(victim)!r}, "mine"),
               lambda: os.utime({str(victim)!r}, (0, 0)), lambda: os.kill({os.getpid()}, 0)):
    try:
        action()
        print("went through")
    except OSError as problem:
        print("refused", problem.errno)
open("own", "w").write("12345"); os.truncate("own", 2); print(os.path.getsize("own"))
"""
    before = victim.stat().st_mtime
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "2", done.stderr
    assert victim.read_text() == "marks" and victim.stat().st_mode & 0o777 == 0o644
    assert victim.stat().st_mtime == before
    if walls.landlock_version() >= 6:
        assert done.stdout.splitlines()[-2] == "refused 1", "a signal left the walls"


def test_every_right_of_every_version_is_taken():
    assert [landlock.every_right(version).bit_length() for version in (1, 2, 3, 4, 5, 7)] == [
        13, 14, 15, 15, 16, 16,
    ]  # fmt: skip


def test_a_message_and_a_reply_have_one_limit():
    assert wire.LIMIT == budgets.LARGEST_MESSAGE


def test_a_kernel_gets_back_the_time_that_we_were_held_up(monkeypatch):
    """A grader that was busy elsewhere for longer than the limit takes no honest point."""
    receive, waits = session._receive, iter([3.0])

    def receive_late(channel):
        time.sleep(next(waits, 0))
        return receive(channel)

    with KernelSession() as kernel:
        monkeypatch.setattr(session, "_receive", receive_late)
        status, reply = kernel.ask(
            "def probe(n, i):\n    import time\n    time.sleep(0.5)\n    return {'a': 1}", "{}", 2
        )
    assert status == "ok" and wire.load(reply)["a"] == 1


def test_a_question_is_asked_again_when_we_were_too_late_for_its_answer(monkeypatch):
    """Time ran out while this process was held up, for longer than it gives back."""
    count = "def probe(n, i):\n    n['asked'] = n.get('asked', 0) + 1\n    return {'a': n['asked']}"
    with KernelSession() as kernel:
        listen, late = kernel._listen, iter([True])

        def listen_late(*arguments):
            status = listen(*arguments)
            if next(late, False):
                kernel._held_up += 2
                return "timeout"
            return status

        monkeypatch.setattr(kernel, "_listen", listen_late)
        status, reply = kernel.ask(count, "{}", 5)
    assert status == "ok" and wire.load(reply)["a"] == 2


def test_a_fresh_kernel_has_the_cells_and_nothing_of_what_was_asked():
    plant = "def probe(n, i):\n    import builtins\n    builtins.planted = n['planted'] = 1\n    return {}"
    look = "import builtins\nprint(x, hasattr(builtins, 'planted') or 'planted' in globals())"
    with KernelSession() as kernel:
        assert kernel.run("x = 3\nprint('seen once')", 30).status == "ok"
        kernel.ask(plant, "{}", 30)
        assert show(kernel, look) == "3 True"
        kernel.start_afresh(30)
        assert show(kernel, look) == "3 False"


@pytest.mark.parametrize("length", [10, 120])
def test_kernels_start_wherever_temporary_files_are(tmp_path, length):
    """Clusters keep them elsewhere than in /tmp, under names that no socket can have."""
    place = tmp_path / ("x" * length)
    place.mkdir()
    code = (
        "from autograder.kernel.session import KernelSession\n"
        "with KernelSession() as kernel:\n"
        "    print(kernel.run('print(6 * 7)', 60).outputs[0].text)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True,
        env={**os.environ, "TMPDIR": str(place), "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.stdout.strip() == "42", done.stderr


def test_below_full_walls_under_our_own_name_nothing_is_graded(monkeypatch):
    from autograder.course import CourseError

    weak = isolation.Isolation("fence", (), ("see the grader's process",), "a test", True)
    monkeypatch.setattr(isolation, "measure_isolation", lambda: weak)
    monkeypatch.delenv("COURSE_ISOLATION", raising=False)
    with pytest.raises(CourseError, match="COURSE_ISOLATION=fence"):
        isolation.require_enough()
    monkeypatch.setenv("COURSE_ISOLATION", "fence")
    isolation.require_enough()
    monkeypatch.setenv("COURSE_ISOLATION", "walls")
    with pytest.raises(CourseError, match="Nothing was graded"):
        isolation.require_enough()
    monkeypatch.setenv("COURSE_ISOLATION", "castle")
    with pytest.raises(CourseError, match="castle"):
        isolation.require_enough()
