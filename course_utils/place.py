"""Makes ready the place where a notebook runs: a computer of one's own, or Colab."""

from __future__ import annotations

import os
from pathlib import Path

import course_utils
from course_utils import runtime
from course_utils.handout import load_fact

DRIVE = Path("/content/drive")  # where Colab mounts Google Drive


def prepare(keep_on_drive: bool = False) -> None:
    """Say what there is, and in Colab keep files on Google Drive when asked. Safe to call twice."""
    if keep_on_drive:
        _move_to_drive()
    print(f"course_utils {course_utils.__version__} is ready. {describe_gpu()}")


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
