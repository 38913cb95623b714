"""Makes ready the place where a notebook runs: a computer of one's own, or Colab."""

from __future__ import annotations

import json
import os
import threading
import urllib.request
from pathlib import Path

import course_utils
from course_utils import runtime
from course_utils.handing_in.handout import load_fact

_STAMP = Path(course_utils.__file__).parent / "data" / "version.txt"  # in published packages
DRIVE = Path("/content/drive")  # where Colab mounts Google Drive


def prepare(keep_on_drive: bool = False) -> None:
    """Say what there is, and in Colab keep files on Google Drive when asked. Safe to call twice."""
    if keep_on_drive:
        _move_to_drive()
    print(f"course_utils {find_version()} is ready. {describe_gpu()}")
    newer = find_newer_version()
    if newer:
        print(
            f"There is a corrected package, {newer['package']}; yours is {find_version()}. Get it, then "
            f"restart the kernel: pip install {newer['wheel']} (from {load_fact('address')})"
        )


def find_version() -> str:
    """Return the version of this package; one that was published says what is in it."""
    try:
        return _STAMP.read_text("utf-8").strip()
    except OSError:
        return course_utils.__version__


def find_newer_version() -> dict | None:
    """Return what the course's page says about its package, if that is another one than this.

    It is asked for two seconds at most; without a network, and in grading, nothing is said.
    """
    if not _STAMP.is_file() or os.environ.get("HF_HUB_OFFLINE"):
        return None
    answers: list[dict] = []
    asking = threading.Thread(target=_ask, args=(answers,), daemon=True)
    asking.start()
    asking.join(2)
    found = answers[0] if answers else {}
    told = all(isinstance(found.get(name), str) for name in ("package", "wheel"))
    return found if told and found["package"] != find_version() else None


def _ask(answers: list[dict]) -> None:
    address = os.environ.get("COURSE_ADDRESS") or load_fact("files")
    try:
        with urllib.request.urlopen(f"{address}/release.json", timeout=2) as page:
            found = json.loads(page.read(2**20))
            answers.append(found if isinstance(found, dict) else {})
    except (OSError, ValueError):
        pass  # no network, or not published yet: nothing to say


def describe_gpu() -> str:
    """Say which GPU was found, and what to do when there is none."""
    import torch

    if torch.cuda.is_available():
        return f"GPU: {torch.cuda.get_device_name()}."
    if torch.backends.mps.is_available():
        return "GPU: Apple's, through Metal."
    if runtime.where() == "colab":
        return "No GPU: choose one under Runtime → Change runtime type, then run this cell again."
    return "No GPU found; everything runs without one, long trainings slowly."


def _move_to_drive() -> None:
    """Work in a folder on Google Drive, where checkpoints outlive the session."""
    if runtime.where() != "colab":
        print("There is no Google Drive to mount here: your files stay in this folder.")
        return
    from google.colab import drive

    try:
        if not (DRIVE / "MyDrive").is_dir():
            drive.mount(str(DRIVE))
        folder = DRIVE / "MyDrive" / load_fact("id")
        folder.mkdir(parents=True, exist_ok=True)
        os.chdir(folder)
    except Exception as problem:  # refused in the browser, or Drive is full
        print(
            f"Google Drive could not be used ({problem}). Your files stay on this machine and are "
            "lost when Colab takes it back; run this cell again to try once more."
        )
        return
    print(f"Checkpoints and results are kept in {folder}.")
