"""A real Dask scheduler with two real workers on loopback, one of which is killed."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys

import pytest

from tests.autograder.classroom.classes import (
    NOTEBOOK,
    grade_class,
    make_submissions,
    read_gradebook,
    read_graded,
    start_grading,
    wait_for,
)
from tests.conftest import ROOT, run_autograder


@contextlib.contextmanager
def run_dask(name, *arguments, folder):
    """Run a part of Dask in a folder of its own, where nothing of the course is."""
    pytest.importorskip("distributed", reason="Dask is not installed (the extra `cluster`)")
    process = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_" + name, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COURSE_GRADING": "/nowhere"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()


def test_a_cluster_grades_as_one_machine_does(graded, tmp_path):
    """Two workers in threads of this process: what travels is packed and sent all the same."""
    distributed = pytest.importorskip("distributed", reason="the extra `cluster` is not installed")
    for name in ("submitted", "secret"):
        source = graded[0] / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / name)
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": False}
    with distributed.LocalCluster(
        **options, host="127.0.0.1", protocol="tcp", dashboard_address=None
    ) as cluster:
        results, summary = grade_class(tmp_path, scheduler=cluster.scheduler_address)
    assert not summary["problems"], summary
    assert len(results) == summary["graded"] == 4
    assert read_gradebook(tmp_path) == read_gradebook(graded[0])
    assert read_graded(tmp_path) == read_graded(graded[0])


@pytest.mark.soak
def test_a_cluster_grades_as_one_machine_does_though_a_worker_is_killed(tmp_path):
    calm, folder, elsewhere = (tmp_path / name for name in ("calm", "cluster", "elsewhere"))
    make_submissions(calm, 5)
    (calm / "submitted/ada/attention/data.csv").write_text("1,2\n")
    grade_class(calm, notebooks=[NOTEBOOK])
    folder.mkdir()
    elsewhere.mkdir()
    shutil.copytree(calm / "submitted", folder / "submitted")
    shutil.copy(calm / "secret", folder / "secret")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    scheduler = ["--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
    worker = [address, "--no-nanny", "--nthreads", "1", "--no-dashboard",
              "--local-directory", str(elsewhere)]  # fmt: skip
    with (
        run_dask("scheduler", *scheduler, folder=elsewhere),
        run_dask("worker", *worker, folder=elsewhere) as victim,
        run_dask("worker", *worker, folder=elsewhere),
    ):
        process = start_grading(folder, "--scheduler", address, "--notebook", NOTEBOOK)
        wait_for(lambda: list(folder.glob("results/*/*/*.json")) or process.poll() is not None, 240)
        victim.kill()
        out, error = process.communicate(timeout=400)
    assert process.returncode == 0, out[-2000:] + error[-3000:]
    assert '"graded": 5' in out.splitlines()[-1]
    assert read_gradebook(folder) == read_gradebook(calm)
    assert read_graded(folder) == read_graded(calm)


def test_without_a_scheduler_there_is_a_sentence(tmp_path, monkeypatch):
    pytest.importorskip("distributed", reason="Dask is not installed (the extra `cluster`)")
    from autograder.classroom import cluster
    from autograder.course import CourseError

    monkeypatch.setattr(cluster, "_PATIENCE", 2)
    with pytest.raises(CourseError, match="There is no Dask scheduler"):
        next(cluster.run_on_cluster(iter([]), None, {}, "tcp://127.0.0.1:1"))


def test_without_dask_there_is_a_sentence(tmp_path, monkeypatch):
    from autograder.classroom import cluster
    from autograder.course import CourseError

    monkeypatch.setattr(cluster.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(CourseError, match=r"\[cluster\]"):
        next(cluster.run_on_cluster(iter([]), None, {}, "tcp://127.0.0.1:1"))


def test_a_worker_of_another_version_gives_no_marks():
    from autograder.classroom.cluster import _run

    assert "instead of 9.9" in _run(b"", b"", "9.9").error


def test_the_class_options_are_listed():
    assert "--scheduler" in run_autograder("grade", "--help").stdout
