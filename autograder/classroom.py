"""Grades a class: many notebooks at once, only what changed, and safe to stop at any point."""

from __future__ import annotations

import contextlib
import difflib
import importlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

from nbgrader.utils import find_all_files

from autograder.arrivals import unpack_submission
from autograder.blueprint import load_blueprints
from autograder.course import Course, CourseError
from autograder.gradebook import ClassGradebook, NotRecorded, explain_os_error
from autograder.kernel import nursery
from autograder.kernel.workfolder import fill_folder
from autograder.nbgrader_plugin import JudgedExecute, restore_submission
from autograder.records import Record, Records, fingerprint_rules, fingerprint_work
from autograder.secret import draw_seed
from autograder.submissions import Unreadable, identify, read_notebook
from autograder.worker import Finished, Kit, Task, prove_grader, run_task


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


class Listener:
    """Hears how a run goes; the terminal and --json each have their own."""

    def plan(self, total: int, unchanged: int) -> None: ...
    def start(self, unit: Unit) -> None: ...
    def finish(self, unit: Unit, result: dict) -> None: ...
    def fail(self, student: str, notebook: str | None, sentence: str) -> None: ...
    def close(self) -> None: ...


Runner = Callable[[Iterator[Unit], Callable[[Unit], Task], Kit], Iterator[tuple[Unit, Finished]]]


def grade_class(
    course: Course,
    students: list[str] | None = None,
    notebooks: list[str] | None = None,
    force: bool = False,
    workers: int | None = None,
    scheduler: str | None = None,
    listener: Listener | None = None,
) -> Summary:
    """Grade what is in grading/submitted and has changed; write it to nbgrader's gradebook."""
    started = time.monotonic()
    listener = listener or Listener()
    with _alone(course), ClassGradebook(course) as gradebook:
        run = _Run(course, gradebook, listener)
        units = run.plan(students, notebooks, force)
        if units:
            runner = _choose_runner(workers, scheduler)
            run.work_off(units, runner)
        run.summary.seconds = round(time.monotonic() - started, 1)
        return run.summary


def _choose_runner(workers: int | None, scheduler: str | None) -> Runner:
    if scheduler is None:
        return lambda *work: run_here(*work, workers or os.cpu_count() or 1)
    from autograder.cluster import run_on_cluster

    return lambda *work: run_on_cluster(*work, scheduler)


class _Run:
    """One run over a class: the plan, the work, and what came of it."""

    def __init__(self, course: Course, gradebook: ClassGradebook, listener: Listener):
        self.course, self.gradebook, self.listener = course, gradebook, listener
        self.records = Records(course)
        self.kit: Kit = load_blueprints(course)
        self.summary = Summary()
        self.timeout = JudgedExecute(config=gradebook.config).timeout
        self.rules: dict[str, str] = {}

    # ----------------------------------------------------------------------------- planning

    def plan(self, students, notebooks, force: bool) -> list[Unit]:
        """Return what has to be graded, in the order of students and notebooks."""
        names = _choose(notebooks, list(self.kit), "notebook", "course.toml names")
        self.rules = {name: fingerprint_rules(self.course, self.kit[name]) for name in names}
        known = self._recorded_scores()
        units = []
        for student in self._find_students(students):
            try:
                found = self._find_units(student, names)
            except OSError as problem:
                self._fail(student, None, f"could not be read: {explain_os_error(problem)}.")
                continue
            fresh = [u for u in found if not force and self._is_graded(u, known)]
            self.summary.unchanged += len(fresh)
            units += [unit for unit in found if unit not in fresh]
        present = sum(unit.file is not None for unit in units)
        self.listener.plan(present, self.summary.unchanged)
        return units

    def _find_students(self, wanted: list[str] | None) -> list[str]:
        folder = self.gradebook.find_folders("*")[0]
        present = sorted(
            path.parent.name
            for path in folder.parent.parent.glob(f"*/{self.course.assignment}")
            if path.is_dir() and not path.parent.name.startswith(".")
        )
        if not present:
            raise CourseError(
                f"There is nothing to grade: put each student's files into "
                f"{folder.parent.parent}/<student>/{self.course.assignment}/."
            )
        return _choose(wanted, present, "student", f"{folder.parent.parent} holds")

    def _find_units(self, student: str, names: list[str]) -> list[Unit]:
        folder = self.gradebook.find_folders(student)[0]
        for sentence in unpack_submission(folder, self.kit):
            self._fail(student, None, sentence)
        files = {path.stem: path for path in sorted(folder.glob("*.ipynb"))}
        if not files:
            self._fail(student, None, f"{student} handed in no notebook (.ipynb).")
            return []
        files = self._recognise(files)
        others = self._find_others(folder)
        return [
            Unit(student, name, files.get(name),
                 fingerprint_work(files.get(name), others, folder), self.rules[name])
            for name in names
        ]  # fmt: skip

    def _recognise(self, files: dict[str, Path]) -> dict[str, Path]:
        """Find notebooks that were handed in under another name."""
        for stem, path in list(files.items()):
            if stem in self.kit or len(self.kit.keys() - files.keys()) == 0:
                continue
            with contextlib.suppress(Unreadable):
                files.setdefault(identify(path, read_notebook(path), self.kit), path)
        return files

    def _find_others(self, folder: Path) -> list[Path]:
        ignored = [*self.gradebook.directory.ignore, "*.ipynb"]
        return [Path(name) for name in find_all_files(str(folder), ignored)]

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
        folder, flags = self.gradebook.place_files(unit.student)
        try:
            restored = restore_submission(read_notebook(unit.file), blueprint)
        except Unreadable as problem:
            restored = restore_submission(None, blueprint, trouble=str(problem))
        if unit.file.stem != unit.notebook and "repairs" in restored.metadata["course"]:
            sentence = f"the notebook was handed in under the name {unit.file.name}"
            restored.metadata["course"]["repairs"].append(sentence)
        return Task(
            student=unit.student,
            notebook=unit.notebook,
            restored=restored,
            seed=draw_seed(self.course.grading, restored),
            timeout=self.timeout,
            folder=str(folder),
            flags=tuple(flags),
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
        except CourseError as problem:
            self._fail(unit.student, unit.notebook, str(problem))
        except OSError as problem:
            self._fail(unit.student, unit.notebook, f"{explain_os_error(problem)}.")
        except Exception as problem:  # one submission must never end the run for the others
            sentence = f"could not be recorded: {type(problem).__name__}: {problem}"
            self._fail(unit.student, unit.notebook, sentence)
        return True

    def _require_unchanged(self, unit: Unit) -> None:
        folder = self.gradebook.find_folders(unit.student)[0]
        if unit.file is not None and not unit.file.exists():
            raise CourseError("the submission was removed while it was graded; nothing recorded.")
        if fingerprint_work(unit.file, self._find_others(folder), folder) != unit.work:
            raise CourseError("the submission changed while it was graded; grade again.")

    def _write(self, unit: Unit, finished: Finished) -> None:
        before = self.records.find(unit.student, unit.notebook)
        same_work = before is not None and before.work == unit.work
        if unit.file is None:
            self.gradebook.write_missing(unit.student, unit.notebook)
            self.summary.missing += 1
        else:
            self.gradebook.write(unit.student, unit.notebook, finished.notebook, same_work)
            self.summary.graded += 1
        self.records.write(
            Record(
                student=unit.student,
                notebook=unit.notebook,
                work=unit.work,
                rules=unit.rules,
                result=finished.result,
                previous=_remember(before, unit) if same_work else None,
            )
        )
        if finished.result:
            self.listener.finish(unit, finished.result)

    def _fail(self, student: str, notebook: str | None, sentence: str) -> None:
        self.summary.problems.append({"student": student, "notebook": notebook, "error": sentence})
        self.listener.fail(student, notebook, sentence)


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
def _alone(course: Course) -> Iterator[None]:
    """Keep a second run out while this one goes on; the lock ends with the process."""
    try:
        import fcntl
    except ImportError:  # not on this system: then people have to take care themselves
        yield
        return
    course.grading.mkdir(parents=True, exist_ok=True)
    with open(course.grading / ".lock", "a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise CourseError(
                f"Another run is grading into {course.grading}: wait for it, or stop it first."
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
    """Start the warm process while the judge imports what it needs; then prove that it grades."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(importlib.import_module, "course_utils.checks.finetuning_trials")
        if nursery.is_possible():
            nursery.share_nursery()  # by this thread, with which it would end
    prove_grader(kit)


def fill_up(running: dict, units, prepare, submit, size: int) -> Iterator[tuple[Unit, Finished]]:
    """Keep `size` tasks under way; yield what could not even be started."""
    while len(running) < size:
        unit = next(units, None)
        if unit is None:
            return
        try:
            running[submit(prepare(unit))] = unit
        except CourseError as problem:
            yield unit, Finished(error=str(problem))
        except OSError as problem:
            yield unit, Finished(error=f"{explain_os_error(problem)}.")
        except Exception as problem:  # one submission must never end the run for the others
            sentence = f"could not be graded: {type(problem).__name__}: {problem}"
            yield unit, Finished(error=sentence)


def pack_files(task: Task) -> Task:
    """Return a task that carries its files, for a worker that does not see our disk."""
    from dataclasses import replace

    with tempfile.TemporaryDirectory(prefix="pack-") as scratch:
        flags = fill_folder(Path(task.folder), Path(scratch))
        files = {
            str(path.relative_to(scratch)): path.read_bytes()
            for path in sorted(Path(scratch).rglob("*"))
            if path.is_file()
        }
    return replace(task, folder=None, files=files, flags=(*task.flags, *flags))
