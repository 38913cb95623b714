"""The instructor's command line: `python -m autograder build | grade | report | grades | ...`."""

from __future__ import annotations

import argparse
import json
import os
import sys


def main(arguments: list[str] | None = None) -> int:
    """Run one command; a user's mistake ends in a sentence and exit status 1."""
    from autograder.course import CourseError

    parser = make_parser()
    options = parser.parse_args(arguments)
    try:
        return options.run(options)
    except CourseError as problem:
        print(f"autograder: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nautograder: stopped.", file=sys.stderr)
        return 130


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m autograder", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)

    build = commands.add_parser("build", help="text notebooks -> source/, release/, numbers")
    build.add_argument("--check", action="store_true", help="only say what is out of date")
    build.set_defaults(run=run_build)

    grade = commands.add_parser("grade", help="grade the class, or notebooks anywhere on disk")
    grade.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="an .ipynb, .zip or .py file, or a folder, graded without the gradebook; "
        "without any, the class in grading/submitted is graded",
    )
    grade.add_argument("--json", action="store_true", help="one JSON object a line, nothing else")
    _add_class_options(grade)
    grade.add_argument("--force", action="store_true", help="grade again what has not changed")
    grade.add_argument(
        "--require-isolation",
        choices=("process", "fence", "walls"),
        help="refuse to grade below this level of isolation",
    )
    grade.set_defaults(run=run_grade)

    regrade = commands.add_parser(
        "regrade",
        help="after a hidden test was fixed: grade again what it touches, say what changed",
    )
    regrade.add_argument("--json", action="store_true", help="one JSON object a line, nothing else")
    _add_class_options(regrade)
    regrade.set_defaults(run=run_regrade)

    roster = commands.add_parser("roster", help="say who takes the course, and who is missing")
    roster.add_argument("file", nargs="?", metavar="FILE", help="a CSV; without it, look again")
    roster.set_defaults(run=run_roster)

    report = commands.add_parser("report", help="one page about the class")
    report.add_argument("--anonymous", action="store_true", help="leave names out")
    report.add_argument("--output", metavar="FILE", help="where to (grading/report.html)")
    report.set_defaults(run=run_report)

    grades = commands.add_parser("grades", help="grades by track, as a file to import elsewhere")
    grades.add_argument("--format", choices=("csv", "canvas", "moodle"), default="csv")
    grades.add_argument("--track", metavar="NAME", help="only this track (without a roster: all)")
    grades.add_argument("--output", metavar="FILE", help="where to (grading/grades-FORMAT.csv)")
    grades.add_argument("--explain", nargs="*", metavar="NAME", help="show how sums come about")
    grades.set_defaults(run=run_grades)

    publish = commands.add_parser("publish", help="write the students' repository, or verify one")
    publish.add_argument("folder", metavar="DIR")
    publish.add_argument("--verify", action="store_true", help="only check what is there")
    publish.set_defaults(run=run_publish)

    gradescope = commands.add_parser("gradescope", help="make an autograder zip for Gradescope")
    gradescope.add_argument("path", metavar="OUT.zip")
    gradescope.set_defaults(run=run_gradescope)

    demo = commands.add_parser("demo", help="play a made-up class through the whole flow")
    demo.add_argument("--students", type=int, metavar="N", help="a made-up class of this size")
    demo.add_argument("--seed", type=int, default=0, metavar="N", help="another class of that size")
    demo.set_defaults(run=run_demo)

    bench = commands.add_parser("bench", help="measure against the plain way, side by side")
    bench.add_argument("what", choices=("grading", "training", "finetuning"))
    bench.add_argument("--json", action="store_true", help="one JSON object")
    bench.set_defaults(run=run_bench)

    doctor = commands.add_parser("doctor", help="what this machine can do, and how to get more")
    doctor.set_defaults(run=run_doctor)
    return parser


def _add_class_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the class")
    group.add_argument("--student", nargs="+", metavar="NAME", help="only these students")
    group.add_argument("--notebook", nargs="+", metavar="NAME", help="only these notebooks")
    group.add_argument("--workers", type=int, metavar="N", help="kernels at once (the cores)")
    group.add_argument("--scheduler", metavar="ADDRESS", help="a Dask cluster to work on")


def run_build(options) -> int:
    from autograder.build import build
    from autograder.course import load_course

    course = load_course()
    changed = build(course, check=options.check)
    for path in changed:
        verb = "out of date" if options.check else "written"
        print(f"{verb}: {path.relative_to(course.root)}")
    if not changed:
        print("source/, release/ and the answer numbers are up to date.")
    elif options.check:
        print("Run `python -m autograder build` and commit the result.", file=sys.stderr)
        return 1
    return 0


def _grade_class(options, force: bool = False) -> int:
    from autograder.classroom import grade_class
    from autograder.course import load_course
    from autograder.progress import Bar, Lines, show_summary

    listener = Lines() if options.json else Bar()
    try:
        summary = grade_class(
            load_course(),
            students=options.student,
            notebooks=options.notebook,
            force=force,
            workers=options.workers,
            scheduler=options.scheduler,
            listener=listener,
        )
    except KeyboardInterrupt:
        listener.close()
        print("\nautograder: stopped. What was graded is recorded; start again to go on.",
              file=sys.stderr, flush=True)  # fmt: skip
        os._exit(130)  # at once, not when the notebooks that are running are done
    finally:
        listener.close()
    show_summary(summary, options.json)
    return int(bool(summary.problems))


def run_grade(options) -> int:
    from autograder.course import CourseError, load_course
    from autograder.intake import grade_paths
    from autograder.kernel.isolation import require_isolation
    from autograder.terminal import show_result

    if options.require_isolation:
        require_isolation(options.require_isolation)
    if not options.paths:
        return _grade_class(options, force=options.force)
    chosen = (options.student, options.notebook, options.workers, options.scheduler)
    if options.force or any(choice is not None for choice in chosen):
        raise CourseError(
            "--student, --notebook, --workers, --scheduler and --force are about the class in "
            "grading/submitted; leave the paths out, or leave these out."
        )
    failed = False
    for found in grade_paths(options.paths, load_course()):
        failed |= "error" in found
        if options.json:
            print(json.dumps(found, ensure_ascii=False, allow_nan=False), flush=True)
        else:
            show_result(found)
    return int(failed)


def run_regrade(options) -> int:
    from autograder.course import load_course
    from autograder.regrade import find_changes, show_changes

    status = _grade_class(options)
    changes = find_changes(load_course(), options.student, options.notebook)
    if options.json:
        for change in changes:
            print(json.dumps({"changed": change.to_dict()}, ensure_ascii=False), flush=True)
    else:
        show_changes(changes)
    return status


def run_roster(options) -> int:
    from pathlib import Path

    from autograder.course import CourseError, load_course
    from autograder.gradebook import ClassGradebook
    from autograder.roster import compare, find_roster, set_roster

    course = load_course()
    roster = set_roster(course, Path(options.file)) if options.file else find_roster(course)
    if roster is None:
        raise CourseError("There is no roster yet: python -m autograder roster FILE.")
    with ClassGradebook(course) as gradebook:
        for entry in roster.values():
            gradebook.register(entry)
        submitted = gradebook.find_folders("*")[0].parent.parent
    handed_in = [path.parent.name for path in submitted.glob(f"*/{course.assignment}")]
    unknown, missing = compare(roster, handed_in)
    print(f"The roster names {len(roster)} students; {len(handed_in)} have handed in.")
    for name in unknown:
        print(f"unknown: {name} handed in but is not on the roster")
    for name in missing:
        print(f"missing: {name} is on the roster and has handed in nothing")
    return 0


def run_report(options) -> int:
    from pathlib import Path

    from autograder.course import load_course
    from autograder.report import write_report

    course = load_course()
    path = Path(options.output) if options.output else course.grading / "report.html"
    write_report(course, path, anonymous=options.anonymous)
    print(f"Written: {path}")
    return 0


def run_grades(options) -> int:
    from pathlib import Path

    from autograder.course import CourseError, load_course
    from autograder.grades import work_out_grades, write_grades
    from autograder.terminal import show_grades

    course = load_course()
    grades, notes = work_out_grades(course, options.track)
    explained = options.explain
    for name in explained or []:
        if name not in {grade.entry.student for grade in grades}:
            raise CourseError(f"There is no grade for {name!r}.")
    path = Path(options.output or course.grading / f"grades-{options.format}.csv")
    write_grades(grades, course, options.format, path)
    show_grades(grades, explained)
    for note in notes:
        print(note, file=sys.stderr)
    print(f"Written: {path}")
    return 0


def run_publish(options) -> int:
    from pathlib import Path

    from autograder.course import load_course
    from autograder.publish import publish, verify

    course, folder = load_course(), Path(options.folder)
    if options.verify:
        for note in verify(course, folder):
            print(note)
        print(f"{folder}: complete, unchanged, and nothing of the instructors' is in it.")
        return 0
    changed = publish(course, folder)
    for name in changed:
        print(f"written: {folder / name}")
    print(f"{folder}: {'up to date' if not changed else 'ready to be made public'}.")
    return 0


def run_gradescope(options) -> int:
    from pathlib import Path

    from autograder.course import load_course
    from autograder.gradescope import make_gradescope_zip

    known = make_gradescope_zip(load_course(), Path(options.path))
    print(f"written: {options.path}. It holds solutions and the course's secret: keep it private.")
    print(f"Its leaderboard can count the accuracy on: {', '.join(known)}.")
    return 0


def run_demo(options) -> int:
    from autograder.course import load_course
    from autograder.demo import run_demo as play

    play(load_course(), options.students, options.seed)
    return 0


def run_bench(options) -> int:
    import importlib

    importlib.import_module(f"autograder.bench.{options.what}").run(options.json)
    return 0


def run_doctor(options) -> int:
    from autograder.doctor import run_doctor as examine

    examine()
    return 0


if __name__ == "__main__":
    sys.exit(main())
