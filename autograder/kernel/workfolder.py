"""The folder a student's notebook runs in: a copy of what was handed in, without surprises."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

LARGEST_FILE = 50 * 2**20  # bytes
LARGEST_FOLDER = 200 * 2**20
MOST_FILES = 2000


def fill_folder(source: Path | None, target: Path) -> list[str]:
    """Copy a submission's files for one kernel; return what a person should know about.

    Notebooks stay behind (they are not data), and so do links, files that would be imported in
    place of a package, and whatever is too large.
    """
    flags: list[str] = []
    if source is None:
        return flags
    size = count = 0
    for name in sorted(os.listdir(source)):
        path = source / name
        if path.suffix == ".ipynb" or name in ("__pycache__", ".ipynb_checkpoints"):
            continue
        if _shadows_a_module(path):
            flags.append(f"{name} has the name of a package and was set aside")
            continue
        for file in [path] if not path.is_dir() or path.is_symlink() else sorted(path.rglob("*")):
            relative = file.relative_to(source)
            if file.is_symlink() or not (file.is_file() or file.is_dir()):
                flags.append(f"{relative} is a link or no ordinary file and was left out")
                continue
            if file.is_dir():
                continue
            size, count = size + file.stat().st_size, count + 1
            if file.stat().st_size > LARGEST_FILE or size > LARGEST_FOLDER or count > MOST_FILES:
                flags.append(f"{relative} and what follows it was too much and was left out")
                return flags
            (target / relative).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target / relative, follow_symlinks=False)
    return flags


def _shadows_a_module(path: Path) -> bool:
    """Would `import` find this instead of an installed package?"""
    name = path.name.split(".")[0]
    is_module = path.is_dir() or path.suffix in (".py", ".pyc", ".so", ".pyd", ".pth")
    if not is_module or not name.isidentifier():
        return False
    if name in ("sitecustomize", "usercustomize"):
        return True
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return True
