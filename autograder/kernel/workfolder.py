"""The folder a student's notebook runs in: a copy of what was handed in, without surprises."""

from __future__ import annotations

import importlib.util
import os
import shutil
import stat
from pathlib import Path

from autograder.budgets import DEEPEST_FOLDER, LARGEST_FILE, LARGEST_FOLDER, MOST_FILES
from autograder.opener import is_plain, open_plain, walk
from autograder.plain_text import clean_text


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
        flags += [
            f"{clean_text(str(link.relative_to(source)))} is a link or no ordinary file and was left out"
            for link in _find_odd(path)
        ]
        for file in [path] if is_plain(path) else walk(path) if not path.is_symlink() else ():
            relative = file.relative_to(source)
            size, count = size + file.stat().st_size, count + 1
            if file.stat().st_size > LARGEST_FILE or size > LARGEST_FOLDER or count > MOST_FILES:
                shown = clean_text(str(relative))
                flags.append(f"{shown} and what follows it was too much and was left out")
                return flags
            (target / relative).parent.mkdir(parents=True, exist_ok=True)
            with open_plain(file) as content, open(target / relative, "wb") as copy:
                shutil.copyfileobj(content, copy)
    return flags


def _find_odd(path: Path) -> list[Path]:
    """Return what is neither an ordinary file nor a folder, at a place or below it."""
    found, level = [], [path]
    for _ in range(DEEPEST_FOLDER):
        below = []
        for place in level:
            mode = os.lstat(place).st_mode
            if stat.S_ISDIR(mode):
                below += [place / name for name in sorted(os.listdir(place))[:MOST_FILES]]
            elif not stat.S_ISREG(mode):
                found.append(place)
        level = below[:MOST_FILES]
    return found[:20]


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
