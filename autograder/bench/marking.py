"""How long a marker waits: the list and the next answer of a class of 300, beside formgrader.

Everything goes through real servers on loopback, in one run: the desk's list, the desk's next answer
(opened and marked, one after another), and the same submissions opened in formgrader.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from http.cookiejar import CookieJar
from pathlib import Path

from autograder.course import load_assignment
from autograder.marking.desk import Desk

STUDENTS, REQUESTS, FORMGRADER = 300, 100, 20
_DESK, _FORMGRADER = "autograder.marking", "nbgrader.server_extensions.formgrader"


def run(as_json: bool) -> None:
    """Measure and print."""
    measured = measure()
    if as_json:
        print(json.dumps(measured))
        return
    print(f"{measured['students']} students, {measured['answers']} written answers")
    print(f"the list:         {1000 * measured['list_seconds']:6.0f} ms (median of {REQUESTS})")
    print(f"the next answer:  {1000 * measured['next_seconds']:6.0f} ms (median of {REQUESTS})")
    print(
        f"formgrader:       {1000 * measured['formgrader_seconds']:6.0f} ms (median of {FORMGRADER})"
    )
    print(f"ratio: {measured['ratio']:.1f}; both show the same marks: {measured['equal']}")


def measure(students: int = STUDENTS, requests: int = REQUESTS, others: int = FORMGRADER) -> dict:
    """Return medians in seconds, and whether formgrader shows the marks that the desk saved."""
    from autograder.demo.written import make_written_class

    with tempfile.TemporaryDirectory(prefix="marking-") as scratch:
        os.environ["COURSE_GRADING"] = scratch
        assignment = load_assignment()
        make_written_class(assignment, students)
        desk = Desk(assignment)
        desk.refresh()
        with _serving(assignment.root, scratch, _DESK, _FORMGRADER) as visitor:
            found = _measure_desk(visitor, desk, requests)
            found |= _measure_formgrader(visitor, desk, others)
        desk.close()
    return {
        "bench": "marking",
        "ratio": round(found["formgrader_seconds"] / found["next_seconds"], 2),
        "students": students,
        "requests": requests,
        **found,
    }


def _measure_desk(visitor: _Visitor, desk: Desk, requests: int) -> dict:
    visitor.open(f"/desk/{desk.assignment.name}")
    visitor.send("/desk/who", {"name": "bench", "to": "/desk/attention"})
    base = f"/desk/{desk.assignment.name}"
    lists = [visitor.time(base) for _ in range(requests)]
    questions = [q for q in desk.questions if q.scheme.items]
    nexts = []
    for index in range(requests):
        question = questions[index % len(questions)]
        address = f"{base}/q/{question.notebook}/{question.cell}"
        seconds, page = visitor.time(address)
        nexts.append((seconds, page))
        action = re.search(r'action="([^"]+)" id="mark"', page)
        hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page))
        if action:
            given = {f"item-{question.scheme.items[0].digest}": "1"}
            visitor.send(action[1], {**hidden, **given, "comment": "", "adjustment": "0"})
    return {
        "answers": len(desk.read_answers()),
        "list_seconds": round(statistics.median(seconds for seconds, _ in lists), 4),
        "next_seconds": round(statistics.median(seconds for seconds, _ in nexts), 4),
    }


def _measure_formgrader(visitor: _Visitor, desk: Desk, requests: int) -> dict:
    """Open the submissions that were marked, and compare the marks that formgrader's API shows."""
    marked = [answer for answer in desk.read_answers() if answer.mark]
    times, equal = [], True
    for answer in marked[:requests]:
        notebook = desk.gradebook.find_submission_notebook(
            answer.notebook, desk.assignment.name, answer.student
        )
        seconds, _ = visitor.time(f"/formgrader/submissions/{notebook.id}/")
        times.append(seconds)
        _, text = visitor.time(f"/formgrader/api/grades?submission_id={notebook.id}")
        shown = {grade["name"]: grade["manual_score"] for grade in json.loads(text)}
        equal &= shown[answer.cell] == answer.score
    return {
        "formgrader_seconds": round(statistics.median(times), 4),
        "equal": equal and bool(times),
    }


class _Visitor:
    """A browser, as far as cookies and time go."""

    def __init__(self, address: str, token: str):
        self.address, self.token, self._cookies = address, token, CookieJar()
        self._opener = urllib.request.build_opener(
            urllib.request.HTTPCookieProcessor(self._cookies)
        )

    def open(self, path: str, data: bytes | None = None) -> str:
        request = urllib.request.Request(self.address + path, data=data)
        if data is None and not len(self._cookies):
            request.full_url += f"?token={self.token}"
        with self._opener.open(request, timeout=120) as answer:
            return answer.read().decode()

    def time(self, path: str) -> tuple[float, str]:
        started = time.perf_counter()
        page = self.open(path)
        return time.perf_counter() - started, page

    def send(self, path: str, fields: dict[str, str]) -> str:
        fields["_xsrf"] = next(c.value for c in self._cookies if c.name == "_xsrf")
        return self.open(path, urllib.parse.urlencode(fields).encode())


@contextlib.contextmanager
def _serving(root: Path, scratch: str, *extensions: str) -> Iterator[_Visitor]:
    """Run a Jupyter server with these extensions on loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    token = secrets.token_hex(16)
    settings = {"jpserver_extensions": dict.fromkeys(extensions, True)}
    config = Path(scratch) / "jupyter_server_config.json"
    config.write_text(json.dumps({"ServerApp": settings}), "utf-8")
    process = subprocess.Popen(
        [sys.executable, "-m", "jupyter", "server", "--allow-root", f"--config={config}",
         f"--ServerApp.port={port}", f"--ServerApp.root_dir={root}", "--ServerApp.ip=127.0.0.1",
         f"--IdentityProvider.token={token}", "--ServerApp.open_browser=False"],
        cwd=root, env={**os.environ, "COURSE_GRADING": scratch, "JUPYTER_CONFIG_DIR": scratch},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    visitor = _Visitor(f"http://127.0.0.1:{port}", token)
    try:
        for _ in range(1200):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"{visitor.address}/api", timeout=5)
                break
            time.sleep(0.1)
        yield visitor
    finally:
        process.kill()
        process.wait()
