"""Accounts for everything under grading/submitted/: what can be graded, what cannot, and why.

Nobody vanishes: each folder there is gradable, or holds files that cannot be graded (a person has to
look; it is never 0 by itself), or holds nothing.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from autograder.blueprint import load_blueprints
from autograder.course import Assignment, CourseError
from autograder.files import explain_os_error
from autograder.intake.arrivals import RECORD, STAMP, find_students, settle
from autograder.opener import is_plain, walk
from autograder.terminal import track


@dataclass(frozen=True)
class Account:
    """What one student handed in, as far as it can be graded."""

    student: str
    handed_in: bool  # there is a file of theirs, gradable or not
    troubles: dict[str, str] = field(default_factory=dict)  # notebook -> why it cannot be graded
    gradable: tuple[str, ...] = ()  # notebooks

    @property
    def sentence(self) -> str:
        """Say why nothing, or not everything, can be graded."""
        return " ".join(dict.fromkeys(self.troubles.values()))


def account_for(assignment: Assignment) -> dict[str, Account]:
    """Return an account of every student's folder; nothing is written there."""
    kit = load_blueprints(assignment)
    submitted = assignment.grading / "submitted"
    strays = find_students(assignment)
    found = {}
    for home in track(sorted(submitted.glob("*")), "looking through what was handed in"):
        if home.is_dir() and not home.name.startswith("."):
            folder = home / assignment.name
            found[home.name] = _account(home.name, folder, kit, strays.get(home.name))
    return found


def _account(student: str, folder: Path, kit, strays: list[Path] | None) -> Account:
    if strays is None:
        return Account(student, handed_in=False)
    try:
        with tempfile.TemporaryDirectory(prefix="account-", ignore_cleanup_errors=True) as scratch:
            settled = settle(folder, kit, strays, Path(scratch))
            own = settled.folder.rglob("*")
            files = [path for path in own if path.is_file() and path.name != RECORD]
    except OSError as problem:
        return Account(student, True, dict.fromkeys(kit, f"{explain_os_error(problem)}."))
    except CourseError as problem:
        return Account(student, True, dict.fromkeys(kit, str(problem)))
    troubles = {n: facts["trouble"] for n, facts in settled.notes.items() if "trouble" in facts}
    gradable = tuple(name for name in kit if name in settled.files)
    handed_in = bool(strays) or any(path.name != STAMP for path in files)
    if handed_in and not gradable and not troubles:
        files += [p for stray in strays for p in ([stray] if is_plain(stray) else walk(stray))]
        names = ", ".join(sorted(path.name for path in files)[:4])
        troubles = dict.fromkeys(kit, f"There is no notebook among the files ({names}).")
    return Account(student, handed_in, troubles, gradable)


def find_handed_in(assignment: Assignment) -> list[str]:
    """Return who handed in a file of any kind, without a look at what is in it."""
    submitted = assignment.grading / "submitted"
    ours = (RECORD, STAMP)
    return [
        student
        for student, strays in find_students(assignment).items()
        if strays or any(p.name not in ours for p in walk(submitted / student / assignment.name))
    ]


def find_loose_files(assignment: Assignment) -> list[str]:
    """Return the names of files that lie beside the students' folders: nobody's, so far."""
    submitted = assignment.grading / "submitted"
    return [p.name for p in sorted(submitted.glob("*")) if p.is_file() and p.name[0] != "."]
