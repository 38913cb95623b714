"""A desk as a server of its own on loopback, as a marker starts it."""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from http.cookiejar import CookieJar
from pathlib import Path

from tests.conftest import ROOT

TOKEN = "a-token-for-the-tests"


@contextlib.contextmanager
def serving(folder, *options, extension="autograder.marking", lab=False):
    """Run a Jupyter server with the desk on a folder of grading; give its address and process.

    With `lab` it is JupyterLab, which finds the desk by the files that `make setup` copies.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    home = Path(folder) / "home"
    environment = {
        **os.environ, "PATH": path, "COURSE_GRADING": str(folder), "HOME": str(home),
        "JUPYTER_CONFIG_DIR": str(home / "config"), "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
    }  # fmt: skip
    if lab:
        _copy_card(home)
        environment |= {
            "JUPYTER_CONFIG_PATH": str(home / "etc"), "JUPYTER_PATH": str(home / "share")
        }  # fmt: skip
        program = ["jupyterlab", "--LabApp.news_url=None",
                   "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]  # fmt: skip
    else:
        program = ["jupyter", "server", f"--ServerApp.jpserver_extensions={extension}=True"]
    process = subprocess.Popen(
        [sys.executable, "-m", *program, "--allow-root", f"--ServerApp.port={port}",
         f"--ServerApp.root_dir={ROOT}", f"--IdentityProvider.token={TOKEN}",
         "--ServerApp.open_browser=False", "--ServerApp.ip=127.0.0.1", *options],
        cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(2400):  # a busy machine takes its time
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"{address}/api", timeout=5)
                break
            time.sleep(0.1)
        else:
            raise AssertionError("the server did not start within four minutes")
        yield address, process
    finally:
        process.kill()
        process.wait()


def _copy_card(home):
    """Copy what `make setup` copies into Jupyter's folders, into folders of the test's own."""
    card = ROOT / "autograder/marking/jupyter/attention-marking-desk"
    shutil.copytree(card, home / "share/labextensions" / card.name)
    settings = home / "etc/jupyter_server_config.d" / f"{card.name}.json"
    settings.parent.mkdir(parents=True)
    shutil.copy(card.with_suffix(".json"), settings)


class Person:
    """Somebody with a browser, as far as cookies go."""

    def __init__(self, address, name=None, token=TOKEN):
        self.address = address
        self.cookies = CookieJar()
        self._opener = urllib.request.build_opener(
            urllib.request.HTTPCookieProcessor(self.cookies), urllib.request.HTTPRedirectHandler()
        )
        if name:
            self.get(f"/desk?token={token}")
            self.post("/desk/who", name=name, to="/desk/attention")

    def get(self, path):
        return self._open(urllib.request.Request(self.address + path))

    def post(self, path, forged=False, **fields):
        if not forged:
            fields["_xsrf"] = next((c.value for c in self.cookies if c.name == "_xsrf"), "")
        data = urllib.parse.urlencode(fields).encode()
        return self._open(urllib.request.Request(self.address + path, data=data, method="POST"))

    def _open(self, request):
        try:
            with self._opener.open(request, timeout=60) as answer:
                return answer.status, answer.read().decode(), answer.url
        except urllib.error.HTTPError as problem:
            return problem.code, problem.read().decode(), problem.url


def read_form(page):
    """Return the hidden fields and the items of an answer's page."""
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page))
    fields["items"] = re.findall(r'name="(item-\w+)"', page)
    fields["action"] = re.search(r'<form method="post" action="([^"]+)" id="mark"', page)[1]
    return fields
