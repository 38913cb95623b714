"""The instructor's command line: `python -m autograder build | grade | report | grades | ...`."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import warnings

BENCHES = ("grading", "training", "finetuning", "translation", "pretraining", "marking")


def main(arguments: list[str] | None = None) -> int:
    """Run one command; a user's mistake ends in a sentence and exit status 1."""
    from autograder.course import CourseError
    from autograder.files import explain_os_error
    from autograder.terminal import show_bar

    parser = make_parser()
    options = parser.parse_args(arguments)
    if not sys.warnoptions:  # what libraries say to programmers helps no instructor; -W shows it
        warnings.simplefilter("ignore")
    try:
        # Most commands import for seconds before they begin; the others show how far they are.
        bar = show_bar(options.bar) if options.bar else contextlib.nullcontext()
        _require_ordinary(getattr(options, "output", None))
        with bar:
            status = options.run(options)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # whoever reads has seen enough: `... --json | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as problem:
        print(f"autograder: {explain_os_error(problem)}.", file=sys.stderr)
        return 1
    except CourseError as problem:
        print(f"autograder: {problem}", file=sys.stderr)
        return 1
    except RuntimeError as problem:
        from autograder.kernel.nursery import NurseryError

        if not isinstance(problem, NurseryError):
            raise
        print(f"autograder: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nautograder: stopped.", file=sys.stderr)
        return 130
    except Exception as problem:
        databases = sys.modules.get("sqlalchemy.exc")  # takes a while to import
        if databases is None or not isinstance(problem, databases.DBAPIError):
            raise
        print(f"autograder: the gradebook could not be read or written: {problem.orig}. What was "
              "written before is there; try again when that is mended.", file=sys.stderr)  # fmt: skip
        return 1


def _require_ordinary(output: str | None) -> None:
    """Refuse to put a file in the place of a device or a pipe: /dev/stdout would be gone."""
    from autograder.course import CourseError

    if (
        output
        and os.path.exists(output)
        and not os.path.isfile(output)
        and not os.path.isdir(output)
    ):
        raise CourseError(f"{output} is no ordinary file, and is not replaced by one.")


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m autograder", description=__doc__)
    parser.set_defaults(bar="")
    commands = parser.add_subparsers(dest="command", required=True)

    build = commands.add_parser("build", help="text notebooks -> source/, release/, numbers")
    build.add_argument("--check", action="store_true", help="only say what is out of date")
    build.set_defaults(run=run_build, bar="building")

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
        help="refuse to grade below this level of isolation, and grade from it on",
    )
    _add_assignment(grade)
    grade.set_defaults(run=run_grade)

    regrade = commands.add_parser(
        "regrade",
        help="after a hidden test was fixed: grade again what it touches, say what changed",
    )
    regrade.add_argument("--dry-run", action="store_true",
                         help="only say what would change, and write nothing")  # fmt: skip
    regrade.add_argument("--json", action="store_true", help="one JSON object a line, nothing else")
    _add_class_options(regrade)
    _add_assignment(regrade)
    regrade.set_defaults(run=run_regrade)

    roster = commands.add_parser("roster", help="say who takes the course, and who is missing")
    roster.add_argument("file", nargs="?", metavar="FILE",
                        help="a CSV that takes its place; without it, only look")  # fmt: skip
    roster.add_argument("--remove", action="store_true",
                        help="take students off who are not in FILE, without asking")  # fmt: skip
    _add_assignment(roster)
    roster.set_defaults(run=run_roster)

    collect = commands.add_parser(
        "collect", help="sort a download from Moodle, Canvas, Blackboard or Gradescope by student"
    )
    collect.add_argument("downloads", nargs="+", metavar="DOWNLOAD",
                         help="a zip of all submissions, a folder named by student, or Moodle's "
                         "grading worksheet, which says when work came in")  # fmt: skip
    collect.add_argument("--assign", action="append", default=[], metavar="WORK=STUDENT",
                         help="whose a file or folder is that fits nobody; or a CSV of such lines")  # fmt: skip
    _add_assignment(collect)
    collect.set_defaults(run=run_collect, bar="collecting")

    dates = commands.add_parser(
        "date", help="say when work came in, where the platform does not, or says it wrongly"
    )
    dates.add_argument("student", nargs="?", metavar="STUDENT", help="without it: list all moments")
    dates.add_argument("moment", nargs="*", metavar="MOMENT",
                       help="such as 2030-03-01 18:00 (this computer's time) or 2030-03-01 18:00 UTC")  # fmt: skip
    dates.add_argument("--remove", action="store_true", help="take the entry of STUDENT away")
    dates.add_argument("--from-timestamps", action="store_true",
                       help="enter what timestamp.txt says for students whose work was not collected "
                       "here: nbgrader's exchange writes that file, but a student can, too")  # fmt: skip
    _add_assignment(dates)
    dates.set_defaults(run=run_date, bar="reading")

    feedback = commands.add_parser("feedback", help="pages for students, wherever marks changed")
    feedback.add_argument("--for", choices=("moodle", "canvas", "mail"), dest="system",
                          help="pack them for this system, or write mails")  # fmt: skip
    feedback.add_argument("--output", metavar="PLACE", help="where to (below grading/)")
    _add_stale_ok(feedback)
    _add_assignment(feedback)
    feedback.set_defaults(run=run_feedback, bar="making feedback")

    report = commands.add_parser("report", help="the class at a glance, or one page about it")
    report.add_argument("--write", action="store_true", help="write the page grading/report.html")
    report.add_argument("--output", metavar="FILE", help="write the page to this file")
    report.add_argument("--anonymous", action="store_true", help="leave names out")
    _add_stale_ok(report)
    _add_assignment(report)
    report.set_defaults(run=run_report, bar="making the report")

    mark = commands.add_parser("mark", help="open the marking desk for written answers")
    mark.add_argument("--port", type=int, metavar="N", help="where the server listens")
    mark.add_argument("--no-browser", action="store_true", help="only say the address")
    _add_assignment(mark)
    mark.set_defaults(run=run_mark)

    grades = commands.add_parser("grades", help="grades by track, as a file to import elsewhere")
    grades.add_argument("--format", choices=("csv", "canvas", "moodle"),
                        help="write a file in this form; without it, grades are only shown")  # fmt: skip
    grades.add_argument("--track", metavar="NAME", help="only this track (without a roster: all)")
    grades.add_argument("--output", metavar="FILE",
                        help="write a file, and where to (grading/grades-FORMAT.csv)")  # fmt: skip
    grades.add_argument("--course", action="store_true", dest="whole_course",
                        help="one total over all assignments, by the weights of course.toml")  # fmt: skip
    grades.add_argument("--unmarked-as-zero", action="store_true",
                        help="write grades although answers wait for a person")  # fmt: skip
    grades.add_argument("--explain", nargs="*", metavar="NAME",
                        help="only show how sums come about, those of all or of these students")  # fmt: skip
    _add_stale_ok(grades)
    _add_assignment(grades)
    grades.set_defaults(run=run_grades, bar="adding up")

    history = commands.add_parser("history", help="what one student handed in, got, and why")
    history.add_argument("student", metavar="STUDENT")
    _add_assignment(history)
    history.set_defaults(run=run_history, bar="reading")

    forget = commands.add_parser("forget", help="delete one student's data everywhere")
    forget.add_argument("student", metavar="STUDENT")
    forget.add_argument("--yes", action="store_true", help="really; without it, only say what")
    forget.set_defaults(run=run_forget, bar="looking")

    publish = commands.add_parser("publish", help="write the students' repository, or verify one")
    publish.add_argument("folder", metavar="DIR")
    publish.add_argument("--verify", action="store_true", help="only check what is there")
    publish.add_argument(
        "--answers", action="store_true", help="the edition with answers, after the deadline"
    )
    _add_assignment(publish)
    publish.set_defaults(run=run_publish, bar="publishing")

    gradescope = commands.add_parser("gradescope", help="make an autograder zip for Gradescope")
    gradescope.add_argument("path", metavar="OUT.zip")
    gradescope.add_argument("--torch-index", metavar="ADDRESS", default="",
                            help="where pip finds PyTorch's CPU builds, which are much smaller")  # fmt: skip
    _add_assignment(gradescope)
    gradescope.set_defaults(run=run_gradescope, bar="packing the autograder")

    demo = commands.add_parser("demo", help="play a made-up class through the whole flow")
    demo.add_argument("--students", type=int, metavar="N", help="a made-up class of this size")
    demo.add_argument("--seed", type=int, default=0, metavar="N", help="another class of that size")
    _add_assignment(demo)
    demo.set_defaults(run=run_demo)

    bench = commands.add_parser("bench", help="measure against the plain way, side by side")
    bench.add_argument("what", choices=BENCHES)
    bench.add_argument("--json", action="store_true", help="one JSON object")
    bench.set_defaults(run=run_bench)

    prove = commands.add_parser(
        "prove", help="let the judge prove itself on mutants and rewrites of every solution"
    )
    prove.add_argument("--notebook", metavar="NAME", help="only this notebook (or a part of it)")
    prove.add_argument("--exercise", metavar="NAME", help="only this exercise")
    prove.add_argument("--seeds", type=int, default=8, metavar="N", help="draws of hidden inputs")
    prove.add_argument("--workers", type=int, metavar="N", help="processes at once (the cores)")
    prove.add_argument("--sample", type=int, metavar="N", help="only so many per exercise")
    prove.add_argument("--json", action="store_true", help="one JSON object a line, nothing else")
    prove.add_argument("--write", metavar="FILE", help="write the table and survivors, as Markdown")
    _add_assignment(prove)
    prove.set_defaults(run=run_prove)

    doctor = commands.add_parser("doctor", help="what this machine can do, and how to get more")
    doctor.set_defaults(run=run_doctor, bar="trying what this machine can do")
    return parser


def _add_assignment(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--assignment", metavar="NAME", help="which assignment, where there are several"
    )


def _add_stale_ok(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--stale-ok", action="store_true",
                        help="go on where scores are older than points, tests or work, and mark them")  # fmt: skip


def _add_class_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the class")
    group.add_argument("--student", nargs="+", metavar="NAME", help="only these students")
    group.add_argument("--notebook", nargs="+", metavar="NAME", help="only these notebooks")
    group.add_argument("--workers", type=int, metavar="N", help="kernels at once (the cores)")
    group.add_argument("--scheduler", metavar="ADDRESS", help="a Dask cluster to work on")


def run_build(options) -> int:
    from autograder.authoring.build import build
    from autograder.authoring.kept_sections import describe_runs
    from autograder.blueprint import load_blueprints
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
    if not options.check:
        print("\nCode cells by section, as grading treats them:")
        for assignment in course.assignments.values():
            for blueprint in load_blueprints(assignment).values():
                print("\n".join(describe_runs(blueprint)))
    return 0


def _grade_class(options, force: bool = False, tried: list | None = None) -> int:
    """Grade the class; with `tried`, put the records there instead of writing anything."""
    from autograder.terminal import show_bar

    with show_bar("getting ready"):  # these take seconds to import
        from autograder.classroom.progress import Bar, Lines, show_summary
        from autograder.classroom.run import grade_class
        from autograder.course import load_assignment
        from autograder.marking.desk import refresh_desk

    listener = Lines() if options.json else Bar()
    try:
        summary = grade_class(
            load_assignment(options.assignment),
            students=options.student,
            notebooks=options.notebook,
            force=force,
            workers=options.workers,
            scheduler=options.scheduler,
            listener=listener,
            tried=tried,
        )
    except KeyboardInterrupt:
        listener.close()
        print("\nautograder: stopped. What was graded is recorded; start again to go on.",
              file=sys.stderr, flush=True)  # fmt: skip
        os._exit(130)  # at once, not when the notebooks that are running are done
    finally:
        listener.close()
    if tried is None:
        show_summary(summary, options.json)
        with show_bar("putting answers on the marking desk"):
            refresh_desk(load_assignment(options.assignment))
    return int(bool(summary.problems))


def run_grade(options) -> int:
    from autograder.terminal import show_bar, show_result

    with show_bar("getting ready"):  # these take seconds to import
        from autograder.course import CourseError, load_course
        from autograder.grading.paths import grade_paths
        from autograder.kernel.isolation import require_isolation

    if options.require_isolation:
        require_isolation(options.require_isolation)
        os.environ["COURSE_ISOLATION"] = options.require_isolation
    if not options.paths:
        return _grade_class(options, force=options.force)
    chosen = (options.student, options.notebook, options.workers, options.scheduler)
    if options.force or any(choice is not None for choice in chosen):
        raise CourseError(
            "--student, --notebook, --workers, --scheduler and --force are about the class in "
            "grading/submitted; leave the paths out, or leave these out."
        )
    failed = False
    with contextlib.nullcontext() if options.json else show_bar("grading"):
        for found in grade_paths(options.paths, load_course(), options.assignment):
            failed |= "error" in found
            if options.json:
                print(json.dumps(found, ensure_ascii=False, allow_nan=False), flush=True)
            else:
                show_result(found)
    return int(failed)


def run_regrade(options) -> int:
    from autograder.classroom.regrade import find_changes, show_changes, tell_once
    from autograder.course import load_assignment

    assignment = load_assignment(options.assignment)
    tried: list | None = [] if options.dry_run else None
    status = _grade_class(options, tried=tried)
    changes = find_changes(assignment, options.student, options.notebook, tried)
    if options.json:
        for change in changes:
            print(json.dumps({"changed": change.to_dict()}, ensure_ascii=False), flush=True)
    else:
        show_changes(changes, options.dry_run)
    if not options.dry_run:
        tell_once(assignment, changes)
    return status


def run_roster(options) -> int:
    from pathlib import Path

    from autograder.terminal import show_bar

    with show_bar("reading the roster"):  # these take seconds to import
        from autograder.classroom.accounts import find_handed_in
        from autograder.classroom.gradebook import ClassGradebook
        from autograder.course import CourseError, load_assignment
        from autograder.plain_text import clean_text
        from autograder.roster import compare, find_roster, find_without_track, set_roster

    assignment = load_assignment(options.assignment)
    handed_in = find_handed_in(assignment)
    if options.file:
        roster, told = set_roster(
            assignment, Path(options.file), lambda change: _confirm(change, handed_in, options)
        )
        if told:
            print(told)
        with ClassGradebook(assignment) as gradebook:
            for entry in roster.values():
                gradebook.register(entry)
    else:
        roster = find_roster(assignment)
    if roster is None:
        raise CourseError("There is no roster yet: python -m autograder roster FILE.")
    unknown, missing = compare(roster, handed_in)
    print(f"The roster names {len(roster)} students; {len(handed_in)} have handed in.")
    for name in unknown:
        print(f"unknown: {clean_text(name)} handed in but is not on the roster")
    for name in missing if handed_in else ():
        print(f"missing: {clean_text(name)} is on the roster and has handed in nothing")
    without = find_without_track(assignment, roster)
    if without:
        print(f"{len(without)} of {len(roster)} students have no track yet: write "
              f"{' or '.join(assignment.course.tracks)} into the column `track` of "
              f"{assignment.grading / 'roster.csv'}.")  # fmt: skip
    return 0


def _confirm(change, handed_in: list[str], options) -> None:
    """Show what a new roster changes, and ask before anybody is taken off."""
    from autograder.course import CourseError
    from autograder.plain_text import clean_text

    lines = [] if change.is_first else [f"comes: {entry.label}" for entry in change.coming]
    lines += [f"changes: {student}: {'; '.join(what)}" for student, what in change.changed.items()]
    for entry in change.going:
        known = ", who has handed in" if entry.student in handed_in else ""
        lines.append(f"goes: {entry.label}{known}")
    for line in lines:
        print(clean_text(line))
    if not change.going or options.remove:
        return
    if not sys.stdin.isatty():
        raise CourseError(
            f"Nothing was changed: {len(change.going)} students of the roster are not in "
            f"{options.file}. Say --remove to take them off."
        )
    question = f"{len(change.going)} students would go. Take them off the roster? [y/N] "
    with contextlib.suppress(EOFError):
        if input(question).strip().lower() in ("y", "yes"):
            return
    raise CourseError("Nothing was changed.")


def run_collect(options) -> int:
    from pathlib import Path

    from autograder.course import load_assignment
    from autograder.intake.collect import collect
    from autograder.intake.summary import tell_about_times, tell_what_came, tell_what_is_open
    from autograder.roster import find_roster

    assignment = load_assignment(options.assignment)
    done = collect(assignment, [Path(name) for name in options.downloads], options.assign)
    for line in tell_what_came(done, find_roster(assignment) or {}):
        print(line)
    if done.results:
        print(f"Gradescope's points of {done.results} students were kept: `grades` compares them.")
    for line in tell_about_times(done):
        print(line)
    for line in tell_what_is_open(done, assignment):
        print(f"autograder: {line}", file=sys.stderr)
    return int(bool(done.unmatched or done.problems))


def run_feedback(options) -> int:
    from pathlib import Path

    from autograder.classroom.gradebook import ClassGradebook
    from autograder.classroom.staleness import require_fresh
    from autograder.course import CourseError, load_assignment
    from autograder.reports.feedback_files import clear_stale, make_pages, pack, write_mails
    from autograder.roster import find_roster, say_old_extensions
    from autograder.terminal import track

    assignment = load_assignment(options.assignment)
    for note in say_old_extensions(assignment, find_roster(assignment)):
        print(note, file=sys.stderr)
    with ClassGradebook(assignment, preview=True) as gradebook:
        old = {entry.student for entry in require_fresh(gradebook, options.stale_ok)}
    stale = clear_stale(assignment, old)
    problems = make_pages(assignment, track(stale, "feedback"))
    pages = assignment.grading / "feedback"
    if not any(pages.glob(f"*/{assignment.name}/*.html")) and not problems:
        raise CourseError("Nothing is graded yet: python -m autograder grade.")
    print(f"Pages of {len(stale)} students were made in {pages}; all others are up to date.")
    if options.system == "mail":
        folder = Path(options.output or assignment.grading / "mail" / assignment.name)
        count, unknown = write_mails(assignment, folder)
        print(f"Written: {count} mails in {folder}")
        if unknown:
            print(f"No address is known for {', '.join(unknown)}.", file=sys.stderr)
    elif options.system:
        name = assignment.name_output(f"feedback-{options.system}.zip")
        path = Path(options.output or assignment.grading / name)
        count, left_out = pack(assignment, options.system, path)
        print(f"Written: {path}, with the pages of {count} students")
        if left_out:
            print(f"Not in it, because their work did not come from {options.system}: "
                  f"{', '.join(left_out)}.", file=sys.stderr)  # fmt: skip
    for sentence in problems:
        print(f"autograder: {sentence}", file=sys.stderr)
    return int(bool(problems))


def run_report(options) -> int:
    from pathlib import Path

    from autograder.course import load_assignment
    from autograder.reports.report import gather, summarise, write_report
    from autograder.roster import find_roster, say_old_extensions

    assignment = load_assignment(options.assignment)
    place = assignment.grading / assignment.name_output("report.html")
    path = Path(options.output) if options.output else place
    for note in say_old_extensions(assignment, find_roster(assignment)):
        print(note, file=sys.stderr)
    facts = gather(assignment, path, options.anonymous, options.stale_ok)
    print("\n".join(summarise(facts)))
    if options.write or options.output:
        write_report(facts, path)
        print(f"Written: {path}")
    else:
        print("Nothing was written: --write makes the page.")
    return 0


def run_mark(options) -> int:
    from autograder.course import load_assignment
    from autograder.marking.app import open_desk

    open_desk(load_assignment(options.assignment), options.port, browser=not options.no_browser)
    return 0


def run_date(options) -> int:
    from autograder.course import CourseError, load_assignment
    from autograder.intake.moments import (
        describe_moment,
        find_moments,
        read_moment,
        set_dates,
        take_over_timestamps,
        write_moment,
    )

    assignment = load_assignment(options.assignment)
    moment = " ".join(options.moment)
    if options.from_timestamps:
        if options.student or options.remove:
            raise CourseError("--from-timestamps goes alone: it is about all students.")
        taken, left = take_over_timestamps(assignment)
        for student, time in taken.items():
            print(f"{student}: {write_moment(time)}, entered from timestamp.txt")
        for sentence in left:
            print(f"not entered: {sentence}", file=sys.stderr)
        print(f"{len(taken)} moments were entered.")
    elif options.student is None:
        for student, found in find_moments(assignment).items():
            print(f"{student}: {describe_moment(found)}")
    else:
        if bool(moment) == options.remove:
            raise CourseError("Say either when the work came in, or --remove.")
        try:
            time = None if options.remove else read_moment(moment)
        except CourseError as problem:
            raise CourseError(f"{problem}.") from None
        set_dates(assignment, {options.student: time})
        found = find_moments(assignment).get(options.student)
        print(f"{options.student}: {describe_moment(found) if found else 'nobody says when'}")
    return 0


def run_grades(options) -> int:
    from pathlib import Path

    from autograder.course import CourseError, load_assignment
    from autograder.reports.grades import (
        require_marked,
        say_new_columns,
        say_open,
        work_out_course,
        work_out_grades,
        write_course,
        write_grades,
    )
    from autograder.roster import find_roster, say_old_extensions
    from autograder.terminal import show_grades

    explained = options.explain
    writes = bool(options.format or options.output)
    if writes and explained is not None:
        raise CourseError("--explain only shows: leave out --format and --output, or --explain.")
    assignment = load_assignment(options.assignment)
    if options.whole_course:
        grades, notes = work_out_course(assignment.course, options.track, options.stale_ok)
        single = [grade for total in grades for grade in total.grades.values()]
    else:
        grades, notes = work_out_grades(assignment, options.track, options.stale_ok)
        single = grades
    for student in explained or []:
        if student not in {grade.entry.student for grade in grades}:
            raise CourseError(f"There is no grade for {student!r}.")
    shown = [grade for grade in grades if not explained or grade.entry.student in explained]
    show_grades(shown, explained)
    for note in [*notes, *say_old_extensions(assignment, find_roster(assignment))]:
        print(note, file=sys.stderr)
    if not writes:
        if said := say_open(single):
            print(f"These are not the last word, because what is open counts 0: {said}.",
                  file=sys.stderr)  # fmt: skip
        return 0
    if not options.unmarked_as_zero:
        require_marked(single)
    form = options.format or "csv"
    if options.whole_course:
        name = f"grades-course-{form}.csv"
    else:
        name = assignment.name_output(f"grades-{form}.csv")
    path = Path(options.output or assignment.grading / name)
    if options.whole_course:
        write_course(grades, assignment.course, form, path)
    else:
        write_grades(grades, assignment, form, path)
    if form == "canvas":
        for sentence in say_new_columns(grades, assignment, options.whole_course):
            print(sentence, file=sys.stderr)
    print(f"Written: {path}")
    return 0


def run_history(options) -> int:
    from autograder.course import load_course
    from autograder.reports.history import tell_history

    course = load_course()
    wanted = (
        [course.find(options.assignment)] if options.assignment else course.assignments.values()
    )
    for line in tell_history(list(wanted), options.student):
        print(line)
    return 0


def run_forget(options) -> int:
    from autograder.course import load_course
    from autograder.reports.forget import forget

    for line in forget(load_course(), options.student, really=options.yes):
        print(line)
    if not options.yes:
        print("Nothing was deleted: say --yes to do it. It cannot be undone.")
    return 0


def run_publish(options) -> int:
    from pathlib import Path

    from autograder.authoring.answers import publish_answers
    from autograder.authoring.publish import publish, verify
    from autograder.course import load_course

    course, folder = load_course(), Path(options.folder)
    if options.verify:
        for note in verify(course, folder):
            print(note)
        print(f"{folder}: complete, unchanged, and nothing of the instructors' is in it.")
        return 0
    if options.answers:
        for name in publish_answers(course, folder, options.assignment):
            print(f"written: {folder / name}")
        print(
            f"{folder} holds the answers, without tests and mark schemes. Hand it out when the "
            "deadline is over, extensions included."
        )
        return 0
    changed = publish(course, folder, options.assignment)
    for name in changed:
        print(f"written: {folder / name}")
    print(f"{folder}: {'up to date' if not changed else 'ready to be made public'}.")
    return 0


def run_gradescope(options) -> int:
    from pathlib import Path

    from autograder.adapters.gradescope import make_gradescope_zip
    from autograder.course import load_assignment

    known = make_gradescope_zip(
        load_assignment(options.assignment), Path(options.path), options.torch_index
    )
    print(f"written: {options.path}. It holds solutions and the course's secret: keep it private.")
    if known:
        print(f"Its leaderboard can count the accuracy on: {', '.join(known)}.")
    return 0


def run_demo(options) -> int:
    from autograder.course import load_assignment, load_course
    from autograder.demo.play import run_demo as play

    os.environ.setdefault("COURSE_ISOLATION", "process")  # its students are made up
    name = options.assignment
    assignments = [load_assignment(name)] if name else list(load_course().assignments.values())
    play(assignments, options.students, options.seed)
    return 0


def run_bench(options) -> int:
    import importlib

    os.environ.setdefault("COURSE_ISOLATION", "process")  # its students are made up
    importlib.import_module(f"autograder.bench.{options.what}").run(options.json)
    return 0


def run_prove(options) -> int:
    from autograder.course import CourseError
    from autograder.proving.command import run

    for name in ("seeds", "workers", "sample"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise CourseError(f"--{name} must be at least 1.")
    return run(options)


def run_doctor(options) -> int:
    from autograder.kernel.doctor import run_doctor as examine

    examine()
    return 0


if __name__ == "__main__":
    sys.exit(main())
