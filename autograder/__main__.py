"""The instructor's command line: `python -m autograder build | grade | demo`."""

from __future__ import annotations

import argparse
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

    build = commands.add_parser("build", help="text notebooks -> source/ and release/")
    build.add_argument("--check", action="store_true", help="only say what is out of date")
    build.set_defaults(run=run_build)
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
        print("source/ and release/ are up to date.")
    elif options.check:
        print("Run `python -m autograder build` and commit the result.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
