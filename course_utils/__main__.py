"""For students: `python -m course_utils check NOTEBOOK` and `python -m course_utils submit`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path


def main(arguments: list[str] | None = None) -> int:
    """Run one command; what a student can mend ends in a sentence and exit status 1."""
    # Older kernels import a debugger that prints a warning here, and in the kernels they start.
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    from course_utils.handing_in.handout import HandInError

    options = make_parser().parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):  # some terminals would stumble over a ✔
        stream.reconfigure(errors="replace")
    try:
        return options.run(options)
    except HandInError as problem:
        print(problem, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        return 130


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m course_utils", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)

    check = commands.add_parser("check", help="run a notebook's public checks in a clean kernel")
    check.add_argument("notebooks", nargs="+", metavar="NOTEBOOK")
    check.set_defaults(run=run_check)

    submit = commands.add_parser("submit", help="put everything into one zip file to hand in")
    submit.add_argument(
        "folder", nargs="?", default=".", help="where the notebooks are (this folder, if left out)"
    )
    submit.add_argument(
        "--assignment", metavar="NAME", help="which one, in a folder with several assignments"
    )
    submit.set_defaults(run=run_submit)
    return parser


def run_check(options) -> int:
    from course_utils.handing_in.standing import report_standing

    def say(line: str) -> None:
        print(line, flush=True)

    done = [report_standing(Path(name), say) for name in options.notebooks]
    return 0 if all(done) else 1


def run_submit(options) -> int:
    from course_utils.handing_in.submission import make_submission

    make_submission(Path(options.folder), options.assignment)
    return 0


if __name__ == "__main__":
    sys.exit(main())
