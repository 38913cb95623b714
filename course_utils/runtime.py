"""Where the notebook runs, on what device, how big the work may be, and with which seed."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

PROFILES = ("quick", "laptop", "gpu")
CHECKING = "COURSE_CHECKING"  # set in the kernel that runs a notebook for its checks


def device():
    """Return the best torch device there is: a GPU if one answers, the CPU otherwise."""
    import torch

    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def set_seed(seed: int) -> None:
    """Seed Python, NumPy and PyTorch (every GPU included) with the same number."""
    import numpy as np
    import torch

    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def where() -> str:
    """Say where this process runs: "autograder", "colab" or "laptop"."""
    if os.environ.get("NBGRADER_EXECUTION"):
        return "autograder"
    if "google.colab" in sys.modules:
        return "colab"
    return "laptop"


def is_watched() -> bool:
    """Say whether a person sees what is shown here, and not a program that runs the notebook."""
    return where() != "autograder" and not os.environ.get(CHECKING)


def in_kernel() -> bool:
    """Say whether this process is a notebook's kernel."""
    if "IPython" not in sys.modules:
        return False
    from IPython import get_ipython

    return hasattr(get_ipython(), "kernel")


def profile() -> str:
    """Return how big the work may be: "quick" (seconds), "laptop" (minutes) or "gpu".

    `COURSE_PROFILE` decides when it is set; otherwise a GPU means "gpu", the autograder
    means "quick" and anything else means "laptop".
    """
    wanted = os.environ.get("COURSE_PROFILE")
    if wanted:
        if wanted not in PROFILES:
            raise ValueError(
                f"COURSE_PROFILE is {wanted!r}; it must be one of {', '.join(PROFILES)}. "
                "Unset it to let the course choose."
            )
        return wanted
    if where() == "autograder":
        return "quick"
    return "gpu" if device().type == "cuda" else "laptop"


def data_dir() -> Path | None:
    """Return the folder that `COURSE_DATA` names, or None when it is not set."""
    wanted = os.environ.get("COURSE_DATA")
    if not wanted:
        return None
    folder = Path(wanted).expanduser()
    if not folder.is_dir():
        raise FileNotFoundError(
            f"COURSE_DATA points to {folder}, which is not a folder. "
            "Correct it, or unset it to use the course's own data."
        )
    return folder


def describe() -> str:
    """Say in one line where we run and with what, for the top of a notebook."""
    import torch

    chosen = device()
    name = torch.cuda.get_device_name(chosen) if chosen.type == "cuda" else str(chosen)
    place = {"autograder": "the autograder", "colab": "Colab", "laptop": "this computer"}[where()]
    return f"Running on {place}, device {name}, profile {profile()!r}, torch {torch.__version__}."
