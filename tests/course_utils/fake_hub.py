"""A Hugging Face hub on loopback: enough of it for the real client, and ways to go wrong."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

COMMIT = "5" * 40


class FakeHub(ThreadingHTTPServer):
    """Serves folders as repositories: {"models/roberta-base": folder, "datasets/SetFit/sst2": ...}.

    `mood` is "well", "missing" (404), "broken" (500), "slow" (nothing for ten seconds), "half"
    (files break off in the middle) or "slow files" (only files are slow).
    """

    daemon_threads = True

    def __init__(self, repositories: dict[str, Path], mood: str = "well"):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repositories, self.mood = repositories, mood
        self.asked: list[str] = []

    def handle_error(self, *_) -> None:
        """Say nothing: a client that stops waiting is what some tests are about."""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def serve_hub(repositories: dict[str, Path], mood: str = "well") -> Iterator[FakeHub]:
    """Serve the repositories for as long as the block lasts."""
    hub = FakeHub(repositories, mood)
    thread = threading.Thread(target=hub.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.shutdown()
        hub.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FakeHub

    def do_GET(self) -> None:
        self.answer()

    do_HEAD = do_POST = do_GET

    def answer(self) -> None:
        parts = urlsplit(self.path)
        path = unquote(parts.path).strip("/")
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.asked.append(f"{self.command} {path}")
        mood = self.server.mood
        if mood == "slow" or (mood == "slow files" and "/resolve/" in path):
            time.sleep(10)
        if mood == "broken" and path:
            return self.send(500, b"out of order")
        if not path:  # the front page
            return self.send(200, b"a hub")
        if "/resolve/" in path:
            repository, _, rest = path.partition("/resolve/")
            kind = "" if repository.startswith("datasets/") else "models/"
            return self.send_file(kind + repository, rest.partition("/")[2])
        if path.startswith("api/"):
            return self.send_facts(path.removeprefix("api/"), parse_qs(parts.query), body)
        self.send(404, b"", {"X-Error-Code": "RepoNotFound"})

    def find(self, path: str) -> tuple[str, Path] | None:
        if self.server.mood == "missing":
            return None
        for name, folder in self.server.repositories.items():
            if path == name or path.startswith(name + "/"):
                return name, folder
        return None

    def send_file(self, repository: str, file: str) -> None:
        found = self.find(repository)
        if found is None:
            return self.send(404, b"", {"X-Error-Code": "RepoNotFound"})
        path = found[1] / file
        if not path.is_file():
            return self.send(404, b"", {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": COMMIT})
        content = path.read_bytes()
        headers = {"ETag": f'"{_hash(content)}"', "X-Repo-Commit": COMMIT, "Accept-Ranges": "bytes"}
        asked = self.headers.get("Range")
        if asked:
            first, _, last = asked.removeprefix("bytes=").partition("-")
            first, last = int(first), int(last or len(content) - 1)
            headers["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
            return self.send(206, content[first : last + 1], headers, large=len(content) > 4096)
        self.send(200, content, headers, large=len(content) > 4096)

    def send_facts(self, path: str, query: dict, body: bytes) -> None:
        found = self.find(path)
        if found is None:
            return self.send(404, b"", {"X-Error-Code": "RepoNotFound"})
        name, folder = found
        what = path.removeprefix(name).strip("/")
        files = [_describe_file(folder, p) for p in sorted(folder.rglob("*")) if p.is_file()]
        if what.startswith("tree/"):
            below = what.split("/", 2)[2] if what.count("/") > 1 else ""
            chosen = [fact for fact in files if fact["path"].startswith(below)]
            if not chosen:
                return self.send(404, b"", {"X-Error-Code": "EntryNotFound"})
            return self.send_json(chosen)
        if what.startswith("paths-info/"):
            asked = (
                json.loads(body)["paths"]
                if body.startswith(b"{")
                else parse_qs(body.decode())["paths"]
            )
            return self.send_json([fact for fact in files if fact["path"] in asked])
        if what in ("", "revision/main", f"revision/{COMMIT}"):
            siblings = [{"rfilename": fact["path"]} for fact in files]
            facts = {"id": name.partition("/")[2], "sha": COMMIT, "siblings": siblings, "tags": []}
            return self.send_json({**facts, "private": False, "gated": False, "disabled": False})
        self.send(404, b"", {"X-Error-Code": "RevisionNotFound"})

    def send_json(self, facts) -> None:
        self.send(200, json.dumps(facts).encode(), {"Content-Type": "application/json"})

    def send(
        self, status: int, body: bytes, headers: dict | None = None, large: bool = False
    ) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        if large and self.server.mood == "half":
            self.wfile.write(body[: len(body) // 2])
            self.close_connection = True
            return
        self.wfile.write(body)

    def log_message(self, *_) -> None:
        """Keep quiet: `asked` remembers the requests."""


def _hash(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def _describe_file(folder: Path, path: Path) -> dict:
    content = path.read_bytes()
    name = path.relative_to(folder).as_posix()
    return {"type": "file", "path": name, "size": len(content), "oid": _hash(content)}
