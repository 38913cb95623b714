"""The gradebook in a real PostgreSQL, by nbgrader's own setting."""

import os
import pwd
import shutil
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.authoring.build import load_nbgrader_config
from autograder.course import CourseError, load_assignment, load_course
from tests.autograder.classroom.classes import NOTEBOOK, make_submissions
from tests.conftest import run_autograder


def find_server():
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    place = shutil.which("postgres")
    return found[-1].parent if found else Path(place).parent if place else None


@pytest.fixture
def database(tmp_path_factory):
    """A server of our own on loopback; PostgreSQL refuses to run as root, so it runs as another."""
    binaries = find_server()
    if binaries is None:
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    folder = Path("/tmp") / f"course-postgres-{os.getpid()}"
    folder.mkdir()
    identity = {}
    if os.geteuid() == 0:
        person = pwd.getpwnam("postgres")
        os.chown(folder, person.pw_uid, person.pw_gid)
        identity = {"user": person.pw_uid, "group": person.pw_gid, "extra_groups": []}
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

    def run(name, *arguments):
        subprocess.run(
            [binaries / name, *map(str, arguments)], cwd=folder, check=True,
            stdout=subprocess.DEVNULL, env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
            **identity,
        )  # fmt: skip

    run("initdb", "-D", folder / "data", "-U", "course", "--auth=trust")
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1"
    run("pg_ctl", "-D", folder / "data", "-w", "-l", folder / "log", "-o", options, "start")
    try:
        run("createdb", "-h", "127.0.0.1", "-p", port, "-U", "course", "gradebook")
        yield f"postgresql+psycopg://course@127.0.0.1:{port}/gradebook"
    finally:
        run("pg_ctl", "-D", folder / "data", "-m", "fast", "stop")
        shutil.rmtree(folder)


def test_the_address_of_psycopg2_is_refused_in_a_sentence(tmp_path, monkeypatch):
    (tmp_path / "nbgrader_config.py").write_text(
        'c = get_config()\nc.CourseDirectory.db_url = "postgresql://course@nowhere/gradebook"\n'
    )
    monkeypatch.setitem(sys.modules, "psycopg2", None)
    assignment = replace(load_assignment("attention"), course=replace(load_course(), root=tmp_path))
    with pytest.raises(CourseError, match=r"Write postgresql\+psycopg:// in its place"):
        load_nbgrader_config(assignment)
    url = (
        (tmp_path / "nbgrader_config.py").read_text().replace("postgresql:", "postgresql+psycopg:")
    )
    (tmp_path / "nbgrader_config.py").write_text(url)
    assert load_nbgrader_config(assignment)


@pytest.mark.soak
def test_a_class_is_graded_into_postgresql(course_copy, database):
    config = course_copy / "nbgrader_config.py"
    config.write_text(
        config.read_text("utf-8") + f"\nc.CourseDirectory.db_url = {database!r}\n", "utf-8"
    )
    folder = course_copy / "grading"
    make_submissions(folder, 3)
    options = {"cwd": course_copy, "COURSE_GRADING": "grading"}
    done = run_autograder("grade", "--notebook", NOTEBOOK, "--json", **options)
    assert done.returncode == 0, done.stderr[-3000:]
    assert not (folder / "gradebook.db").exists()
    again = run_autograder("grade", "--notebook", NOTEBOOK, "--json", **options)
    assert '"unchanged": 3' in again.stdout
    grades = run_autograder(
        "grades", "--track", "graduate", "--unmarked-as-zero", "--format", "csv", **options
    )
    assert grades.returncode == 0, grades.stderr[-3000:]
    assert "ada,,graduate,12," in (folder / "grades-csv.csv").read_text("utf-8-sig")
    report = run_autograder("report", **options)
    assert report.returncode == 0, report.stderr[-3000:]
