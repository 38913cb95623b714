"""The folder a student's notebook runs in: a copy of what was handed in, without surprises."""

from __future__ import annotations

import hashlib
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

    Notebooks stay behind (they are not data), and so do hidden files, links, files that would be
    imported in place of a package, and whatever is too large.
    """
    files, flags = list_files(source) if source else ([], [])
    for file in files:
        place = target / file.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        with open_plain(file) as content, open(place, "wb") as copy:
            shutil.copyfileobj(content, copy)
    return flags


def list_files(source: Path) -> tuple[list[Path], list[str]]:
    """Return the files of a submission that its code can read, in order, and what is odd about others.

    Hidden files are not among them: those are a system's, a half-written file's or records of ours.
    """
    files: list[Path] = []
    flags: list[str] = []
    size = 0
    for name in sorted(os.listdir(source)):
        path = source / name
        if _is_no_data(path):
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
            if any(_is_no_data(Path(part)) for part in relative.parts):
                continue
            length = file.stat().st_size
            size += length
            if length > LARGEST_FILE or size > LARGEST_FOLDER or len(files) >= MOST_FILES:
                shown = clean_text(str(relative))
                flags.append(f"{shown} and what follows it was too much and was left out")
                return files, flags
            files.append(file)
    return files, flags


def fingerprint_files(source: Path | None) -> str:
    """Return a digest of everything that a submission's code can read beside its notebook."""
    digest = hashlib.sha256()
    for file in list_files(source)[0] if source else ():
        with open_plain(file) as content:
            inside = hashlib.file_digest(content, "sha256").hexdigest()
        digest.update(
            f"{file.relative_to(source).as_posix()}\0{inside}\0".encode("utf-8", "surrogateescape")
        )
    return digest.hexdigest()


def _is_no_data(path: Path) -> bool:
    return (
        path.name.startswith(".")
        or path.suffix in (".ipynb", ".pyc")
        or path.name in ("__pycache__", "feedback", "timestamp.txt")
    )


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
