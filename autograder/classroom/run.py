"""Grades a class: many notebooks at once, only what changed, and safe to stop at any point."""

from __future__ import annotations

import contextlib
import difflib
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from pathlib import Path

from nbgrader.utils import find_all_files

from autograder.blueprint import load_blueprints
from autograder.classroom.accounts import find_loose_files
from autograder.classroom.gradebook import ClassGradebook, NotRecorded
from autograder.classroom.history import History
from autograder.classroom.records import (
    REQUESTS,
    Record,
    Records,
    fingerprint_rules,
    fingerprint_work,
)
from autograder.classroom.worker import Finished, Task, run_task
from autograder.course import Assignment, CourseError
from autograder.exercises import warm_up
from autograder.fence import describe_failure
from autograder.files import explain_os_error
from autograder.grading.canary import prove
from autograder.grading.secret import draw_seed
from autograder.intake.arrivals import STAMP, Settled, find_students, settle
from autograder.intake.gather import Kit
from autograder.intake.moments import write_stamps
from autograder.intake.writeups import find_beside, find_elsewhere, flag_writeups
from autograder.kernel import nursery
from autograder.kernel.workfolder import fill_folder
from autograder.plain_text import clean_text, clean_words
from autograder.terminal import track


@dataclass(frozen=True)
class Unit:
    """One notebook of one student; `file` is None when it was not handed in."""

    student: str
    notebook: str
    file: Path | None
    work: str  # fingerprint of what was handed in
    rules: str  # fingerprint of what judges it

    def __str__(self) -> str:
        return f"{self.student}: {self.notebook}"


@dataclass
class Summary:
    """What came of a run."""

    graded: int = 0
    unchanged: int = 0
    missing: int = 0  # notebooks that were not handed in
    problems: list[dict] = field(default_factory=list)  # student, notebook, error
    seconds: float = 0.0

    def to_dict(self) -> dict:
        return dict(self.__dict__)


class _NothingThere(CourseError):
    """Nobody has handed in anything."""


class Listener:
    """Hears how a run goes; the terminal and --json each have their own."""

    def plan(self, total: int, unchanged: int) -> None: ...
    def start(self, unit: Unit) -> None: ...
    def finish(self, unit: Unit, result: dict) -> None: ...
    def fail(self, student: str, notebook: str | None, sentence: str) -> None: ...
    def close(self) -> None: ...


Runner = Callable[[Iterator[Unit], Callable[[Unit], Task], Kit], Iterator[tuple[Unit, Finished]]]


def grade_class(
    assignment: Assignment,
    students: list[str] | None = None,
    notebooks: list[str] | None = None,
    force: bool = False,
    workers: int | None = None,
    scheduler: str | None = None,
    listener: Listener | None = None,
    tried: list[Record] | None = None,
) -> Summary:
    """Grade what is in grading/submitted and has changed; write it to nbgrader's gradebook.

    With `tried` everything is graded and nothing is written: the records go there instead.
    """
    started = time.monotonic()
    listener = listener or Listener()
    preview = tried is not None
    alone = contextlib.nullcontext() if preview else _alone(assignment)
    with alone, ClassGradebook(assignment, preview) as gradebook:
        run = Run(assignment, gradebook, listener, tried)
        if not preview:
            write_stamps(assignment)
        units = run.plan(students, notebooks, force)
        if units:
            runner = _choose_runner(workers, scheduler)
            run.work_off(units, runner)
        run.summary.seconds = round(time.monotonic() - started, 1)
        return run.summary


def _choose_runner(workers: int | None, scheduler: str | None) -> Runner:
    if scheduler is None:
        return lambda *work: run_here(*work, workers or os.cpu_count() or 1)
    from autograder.classroom.cluster import run_on_cluster

    return lambda *work: run_on_cluster(*work, scheduler)


class Run:
    """One run over a class: the plan, the work, and what came of it."""

    def __init__(
        self,
        assignment: Assignment,
        gradebook: ClassGradebook,
        listener: Listener,
        tried: list[Record] | None = None,
    ):
        self.assignment, self.gradebook, self.listener = assignment, gradebook, listener
        self.tried = tried
        self.history = History(assignment)
        self.records = Records(assignment, preview=gradebook.scratch is not None)
        self.kit: Kit = load_blueprints(assignment)
        self.summary = Summary()
        self.timeout = gradebook.cell_timeout
        self.rules: dict[str, str] = {}
        self.settled: dict[str, Settled] = {}  # by student
        self.strays: dict[str, list[Path]] = {}  # by student: work beside the assignment's folder

    # ----------------------------------------------------------------------------- planning

    def plan_all(self) -> list[Unit]:
        """Return what would be graded now; nothing where nobody has handed in."""
        with contextlib.suppress(_NothingThere):
            return self.plan(None, None, force=False)
        return []

    def plan(self, students, notebooks, force: bool) -> list[Unit]:
        """Return what has to be graded, in the order of students and notebooks."""
        names = _choose(notebooks, list(self.kit), "notebook", "course.toml names")
        self.rules = {
            name: fingerprint_rules(self.assignment, self.kit[name], self.gradebook.grading)
            for name in names
        }
        known = self._recorded_scores()
        units = []
        loose = find_loose_files(self.assignment) if students is None else []
        if loose:
            more = f", with {len(loose) - 1} more files," if len(loose) > 1 else ""
            self._fail(loose[0], None, f"lies{more} beside the students' folders and is nobody's: "
                       "`python -m autograder collect` sorts files by student.")  # fmt: skip
        for student in track(self._find_students(students), "looking through what was handed in"):
            try:
                found = self._find_units(student, names)
                fresh = [u for u in found if not force and self._is_graded(u, known)]
            except OSError as problem:
                self._fail(student, None, f"could not be read: {explain_os_error(problem)}.")
                continue
            except Exception as problem:  # one submission must never end the run for the others
                self._fail(student, None, describe_failure(problem, "could not be read"))
                continue
            self.summary.unchanged += len(fresh)
            units += [unit for unit in found if unit not in fresh]
        present = sum(unit.file is not None for unit in units)
        self.listener.plan(present, self.summary.unchanged)
        return units

    def _find_students(self, wanted: list[str] | None) -> list[str]:
        folder = self.gradebook.find_folders("*")[0]
        self.strays = find_students(self.assignment)
        present = sorted(self.strays)
        if not present:
            raise _NothingThere(
                f"There is nothing to grade: put each student's files into "
                f"{folder.parent.parent}/<student>/{self.assignment.name}/."
            )
        return _choose(wanted, present, "student", f"{folder.parent.parent} holds")

    def _find_units(self, student: str, names: list[str]) -> list[Unit]:
        folder = self.gradebook.find_folders(student)[0]
        settled = settle(folder, self.kit, self.strays[student], self._find_scratch())
        folder = settled.folder
        for sentence in settled.problems:
            self._fail(student, None, sentence)
        if not settled.notes:
            self._fail(student, None, f"{student} handed in no notebook (.ipynb).")
            return []
        said = " ".join(settled.problems)
        for name in names:
            trouble = settled.notes.get(name, {}).get("trouble", "")
            if trouble and trouble != said:  # it counts for nothing, and not as 0
                self._fail(student, name, trouble)
        self.settled[student] = settled
        others = self._find_others(folder)
        found = {
            name: settled.files.get(name)
            or (folder / f"{name}.ipynb" if name in settled.notes else None)
            for name in names
        }
        return [
            Unit(student, name, found[name],
                 fingerprint_work(found[name], others, folder), self.rules[name])
            for name in names
        ]  # fmt: skip

    def _find_scratch(self) -> Path | None:
        """Return where a preview settles what is not settled yet."""
        return self.gradebook.scratch and self.gradebook.scratch / "submitted"

    def _find_others(self, folder: Path) -> list[Path]:
        """Return the files besides notebooks that a score may depend on; requests and dates change none."""
        ignored = [*self.gradebook.directory.ignore, "*.ipynb", REQUESTS, STAMP]
        others = [Path(name) for name in find_all_files(str(folder), ignored)]
        return others + find_beside(folder)

    def _recorded_scores(self) -> dict[tuple[str, str], dict[str, float | None]]:
        scores: dict = {}
        for mark in self.gradebook.read_marks():
            scores.setdefault((mark.student, mark.notebook), {})[mark.cell] = mark.auto
        return scores

    def _is_graded(self, unit: Unit, known: dict) -> bool:
        """Is this work recorded, by these rules, and does the gradebook hold the same marks?"""
        record = self.records.find(unit.student, unit.notebook)
        if record is None or (record.work, record.rules) != (unit.work, unit.rules):
            return False
        held = known.get((unit.student, unit.notebook))
        if held is None:
            return False
        if record.result is None:
            return unit.file is None and all(score == 0 for score in held.values())
        place = self.gradebook.find_folders(unit.student)[1] / f"{unit.notebook}.ipynb"
        judged = {
            name: cell["score"]
            for name, cell in record.result["cells"].items()
            if cell["status"] != "manual"
        }
        return place.is_file() and all(held.get(name) == score for name, score in judged.items())

    # ------------------------------------------------------------------------------ grading

    def work_off(self, units: list[Unit], runner: Runner) -> None:
        """Grade all units; what could not be written is tried once more at the end."""
        absent = [unit for unit in units if unit.file is None]
        for unit in absent:
            self._try_to_write(unit, Finished())
        waiting: list[tuple[Unit, Finished]] = []
        present = (unit for unit in units if unit.file is not None)
        for unit, finished in runner(present, self._prepare, self.kit):
            if finished.error:
                self._fail(unit.student, unit.notebook, finished.error)
            elif not self._try_to_write(unit, finished, again=len(waiting) < 100):
                waiting.append((unit, finished))
        for unit, finished in waiting:
            self._try_to_write(unit, finished)

    def _prepare(self, unit: Unit) -> Task:
        """Read a submission and put it into the hand-out's shape, with hidden inputs of its own."""
        self.listener.start(unit)
        blueprint = self.kit[unit.notebook]
        if not unit.file.exists():
            raise CourseError("the submission was removed while the class was graded.")
        settled = self.settled[unit.student]
        folder, flags = self.gradebook.place_files(unit.student, settled.folder)
        restored = settled.restore(blueprint)
        restored.flags += flags
        if restored.trouble and "trouble" not in self.settled[unit.student].notes.get(
            unit.notebook, {}
        ):
            self._fail(unit.student, unit.notebook, restored.trouble)
        flag_writeups(restored, blueprint, find_elsewhere(self.assignment, unit.student))
        return Task(
            student=unit.student,
            restored=restored,
            seed=draw_seed(self.gradebook.grading, blueprint, restored.notebook, folder),
            timeout=self.timeout,
            folder=str(folder),
        )

    def _try_to_write(self, unit: Unit, finished: Finished, again: bool = False) -> bool:
        """Write one unit down; with `again`, return False instead of giving up on it."""
        try:
            self._require_unchanged(unit)
            self._write(unit, finished)
        except NotRecorded as problem:
            if again:
                return False
            self._fail(unit.student, unit.notebook, str(problem))
        except Exception as problem:  # one submission must never end the run for the others
            sentence = describe_failure(problem, "could not be recorded")
            self._fail(unit.student, unit.notebook, sentence)
        return True

    def _require_unchanged(self, unit: Unit) -> None:
        folder = self.settled[unit.student].folder
        if unit.file is not None and not unit.file.exists():
            raise CourseError("the submission was removed while it was graded; nothing recorded.")
        if fingerprint_work(unit.file, self._find_others(folder), folder) != unit.work:
            raise CourseError("the submission changed while it was graded; grade again.")

    def _write(self, unit: Unit, finished: Finished) -> None:
        before = self.records.find(unit.student, unit.notebook)
        same_work = before is not None and before.work == unit.work
        record = Record(
            student=unit.student,
            notebook=unit.notebook,
            work=unit.work,
            rules=unit.rules,
            result=finished.result,
            previous=_remember(before, unit) if same_work else None,
        )
        if self.tried is None:
            self._write_down(unit, finished, same_work)
            self.records.write(record)
            self.history.add(unit.student, unit.notebook, before, finished.result, same_work)
        else:
            self.tried.append(record)
        self.summary.graded += unit.file is not None
        self.summary.missing += unit.file is None
        if finished.result:
            self.listener.finish(unit, finished.result)

    def _write_down(self, unit: Unit, finished: Finished, same_work: bool) -> None:
        if unit.file is None:
            self.gradebook.write_missing(unit.student, unit.notebook)
        else:
            self.gradebook.write(unit.student, unit.notebook, finished.notebook, same_work)

    def _fail(self, student: str, notebook: str | None, sentence: str) -> None:
        problem = {"student": student, "notebook": notebook, "error": sentence}
        self.summary.problems.append(clean_words(problem))
        self.listener.fail(clean_text(student), notebook, clean_text(sentence))


def _remember(before: Record, unit: Unit) -> dict | None:
    """Return the cells as they were judged by other rules; a second run by the same ones keeps them."""
    if before.rules == unit.rules:
        return before.previous
    return before.result["cells"] if before.result else None


def _choose(wanted: list[str] | None, present: list[str], kind: str, where: str) -> list[str]:
    """Return what was asked for, in the order there is, or all; name what does not exist."""
    for name in wanted or []:
        if name not in present:
            close = difflib.get_close_matches(name, present, 1)
            hint = f" Did you mean {close[0]}?" if close else f" {where}: {', '.join(present[:8])}."
            raise CourseError(f"There is no {kind} {name!r}.{hint}")
    return [name for name in present if not wanted or name in wanted]


@contextlib.contextmanager
def _alone(assignment: Assignment) -> Iterator[None]:
    """Keep a second run out while this one goes on; the lock ends with the process."""
    try:
        import fcntl
    except ImportError:  # not on this system: then people have to take care themselves
        yield
        return
    assignment.grading.mkdir(parents=True, exist_ok=True)
    with open(assignment.grading / ".lock", "a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise CourseError(
                f"Another run is grading into {assignment.grading}: wait for it, or stop it first."
            ) from None
        yield


# ------------------------------------------------------------------------------- running


def run_here(
    units: Iterator[Unit], prepare: Callable[[Unit], Task], kit: Kit, workers: int
) -> Iterator[tuple[Unit, Finished]]:
    """Grade on this machine, several at once; yield each as it is done."""
    _warm_up(kit)
    pool = ThreadPoolExecutor(workers, thread_name_prefix="grader")
    running: dict[Future, Unit] = {}
    try:
        while True:
            # A little more than the workers can do at once, so that none has to wait for us.
            yield from fill_up(running, units, prepare, lambda t: pool.submit(run_task, t, kit),
                             workers + 1)  # fmt: skip
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _warm_up(kit: Kit) -> None:
    """Start the warm process while this one imports what drawing inputs needs; then prove that it grades."""
    for blueprint in kit.values():
        nursery.want(blueprint.warm_imports)
    with ThreadPoolExecutor(1) as pool:
        for blueprint in kit.values():
            pool.submit(warm_up, blueprint.exercises)
        if nursery.is_possible():
            nursery.share_nursery()
    prove(kit)


def fill_up(running: dict, units, prepare, submit, size: int) -> Iterator[tuple[Unit, Finished]]:
    """Keep `size` tasks under way; yield what could not even be started."""
    while len(running) < size:
        unit = next(units, None)
        if unit is None:
            return
        try:
            running[submit(prepare(unit))] = unit
        except Exception as problem:  # one submission must never end the run for the others
            yield unit, Finished(error=describe_failure(problem))


def pack_files(task: Task) -> Task:
    """Return a task that carries its files, for a worker that does not see our disk."""
    with tempfile.TemporaryDirectory(prefix="pack-") as scratch:
        flags = fill_folder(Path(task.folder), Path(scratch))
        files = {
            str(path.relative_to(scratch)): path.read_bytes()
            for path in sorted(Path(scratch).rglob("*"))
            if path.is_file()
        }
    restored = replace(task.restored, flags=[*task.restored.flags, *flags])
    return replace(task, restored=restored, folder=None, files=files)
