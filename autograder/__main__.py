"""The instructor's command line: `python -m autograder build | grade | demo | bench | doctor`."""

from __future__ import annotations

import argparse
import json
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

    grade = commands.add_parser("grade", help="grade notebooks anywhere on disk, no gradebook")
    grade.add_argument(
        "paths", nargs="+", metavar="PATH", help="an .ipynb, .zip or .py file, or a folder"
    )
    grade.add_argument("--json", action="store_true", help="one JSON object a line, nothing else")
    grade.add_argument(
        "--require-isolation",
        choices=("process", "fence", "walls"),
        help="refuse to grade below this level of isolation",
    )
    grade.set_defaults(run=run_grade)

    publish = commands.add_parser("publish", help="write the students' repository, or verify one")
    publish.add_argument("folder", metavar="DIR")
    publish.add_argument("--verify", action="store_true", help="only check what is there")
    publish.set_defaults(run=run_publish)

    gradescope = commands.add_parser("gradescope", help="make an autograder zip for Gradescope")
    gradescope.add_argument("path", metavar="OUT.zip")
    gradescope.set_defaults(run=run_gradescope)

    demo = commands.add_parser("demo", help="play a made-up class through the whole flow")
    demo.set_defaults(run=run_demo)

    bench = commands.add_parser("bench", help="measure against the plain way, side by side")
    bench.add_argument("what", choices=("grading", "training", "finetuning"))
    bench.add_argument("--json", action="store_true", help="one JSON object")
    bench.set_defaults(run=run_bench)

    doctor = commands.add_parser("doctor", help="what this machine can do, and how to get more")
    doctor.set_defaults(run=run_doctor)
    return parser


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


def run_grade(options) -> int:
    from autograder.course import load_course
    from autograder.intake import grade_paths
    from autograder.kernel.isolation import require_isolation
    from autograder.terminal import show_result

    if options.require_isolation:
        require_isolation(options.require_isolation)
    failed = False
    for found in grade_paths(options.paths, load_course()):
        failed |= "error" in found
        if options.json:
            print(json.dumps(found, ensure_ascii=False, allow_nan=False), flush=True)
        else:
            show_result(found)
    return int(failed)


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

    play(load_course())
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
