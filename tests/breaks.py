"""Breaks the product in a hundred small ways, one at a time, and counts which the tests notice.

    python tests/breaks.py              # all of them; exit status 1 below 90 %
    python tests/breaks.py judge kept   # those whose room or old text holds one of these words

Each break is one replacement in a copy of the repository. The tests of the broken module run there first and,
if they do not notice, those of its room, until the first failure. A break that nothing notices asks for a
test.
"""

from __future__ import annotations

import functools
import importlib
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SITE = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
# What most tests import, and nothing of the course: that comes from the copy.
HEAVY = ("torch", "transformers.models.roberta.modeling_roberta", "datasets", "nbgrader.apps.api",
         "jupytext", "matplotlib.pyplot", "nh3")  # fmt: skip
ENOUGH = 0.9  # of the breaks have to be noticed
LONGEST = 900  # seconds for one break; tests that hang have noticed, too

JUDGE = "autograder/grading/judge.py"
JUDGES = "autograder/grading/judges.py"
GRADE = "autograder/grading/grade.py"
SECOND = "autograder/grading/second_try.py"
READ = "autograder/intake/read.py"
GATHER = "autograder/intake/gather.py"
RESTORE = "autograder/intake/restore.py"
UNZIP = "autograder/intake/unzip.py"
ARRIVALS = "autograder/intake/arrivals.py"
SESSION = "autograder/kernel/session.py"
WIRE = "autograder/kernel/wire.py"
WALLS = "autograder/kernel/walls.py"
SECCOMP = "autograder/kernel/seccomp.py"
GRADES = "autograder/reports/grades.py"
GRADEBOOK = "autograder/classroom/gradebook.py"
STALENESS = "autograder/classroom/staleness.py"
ROSTER = "autograder/roster.py"
PUBLISH = "autograder/authoring/publish.py"
LEAKS = "autograder/authoring/leaks.py"
COLLECT = "autograder/intake/collect.py"
LAYOUTS = "autograder/intake/layouts.py"
MATCHING = "autograder/intake/matching.py"
LATENESS = "autograder/reports/lateness.py"
MOMENTS = "autograder/intake/moments.py"
MIGRATION = "autograder/classroom/migration.py"
FEEDBACK = "autograder/reports/feedback.py"
WRITEUPS = "autograder/intake/writeups.py"
READING = "autograder/marking/reading.py"
RENDER = "autograder/marking/render.py"
DRAWING = "autograder/kernel/drawing.py"
BOUNDED = "course_utils/bounded.py"
SANITIZE = "autograder/grading/sanitize.py"
SIMILARITY = "autograder/reports/similarity.py"

# Who should notice what is wrong in a module, below tests/autograder.
GUARDS = {
    JUDGE: "grading/test_judge.py",
    JUDGES: "grading/test_judges.py",
    "course_utils/checks/attention.py": "exercises/test_attention_from_scratch.py",
    "course_utils/checks/calls.py": "exercises/test_attention_from_scratch.py",
    "course_utils/checks/comparing.py": "../course_utils/checks/test_comparing.py",
    "course_utils/checks/findings.py": "../course_utils/checks/test_undisturbed.py",
    "course_utils/checks/learners_code.py": "../course_utils/checks/test_undisturbed.py",
    "course_utils/checks/undisturbed.py": "../course_utils/checks/test_undisturbed.py",
    "course_utils/checks/translation.py": "../course_utils/checks/test_undisturbed.py",
    "course_utils/checks/pretended_gpu.py": "exercises/test_finetune_roberta.py",
    "course_utils/checks/finetuning.py": "exercises/test_finetune_roberta.py",
    "autograder/exercises/attention/finetune_roberta.py": "exercises/test_finetune_roberta.py",
    SECCOMP: "kernel/test_budgets.py",
    "autograder/kernel/cgroup.py": "kernel/test_budgets.py",
    GRADE: "grading/test_grade.py",
    SECOND: "grading/test_judge.py",
    "autograder/grading/canary.py": "grading/test_grade.py",
    "autograder/grading/kept_outputs.py": "grading/test_kept_outputs.py",
    "autograder/grading/borrowed.py": "grading/test_borrowed.py",
    "autograder/grading/secret.py": "grading/test_secret.py",
    "autograder/grading/tampering.py": "../attacks/test_cheats.py",
    "autograder/kernel/guard.py": "../attacks/test_cheats.py",
    "course_utils/sanitize.py": "../attacks/test_pages.py",
    READ: "intake/test_restore.py",
    RESTORE: "intake/test_restore.py",
    "autograder/intake/recognise.py": "intake/test_gather.py",
    UNZIP: "intake/test_unzip.py",
    GATHER: "intake/test_gather.py",
    ARRIVALS: "intake/test_arrivals.py",
    "autograder/__main__.py": "grading/test_grade.py",
    SESSION: "kernel/test_session.py",
    WIRE: "kernel/test_wire.py",
    WALLS: "kernel/test_nursery.py",
    "autograder/kernel/workfolder.py": "kernel/test_nursery.py",
    "autograder/kernel/nursery.py": "grading/test_load.py",
    GRADES: "reports/test_grades.py",
    GRADEBOOK: "reports/test_grades.py",
    STALENESS: "classroom/test_staleness.py",
    "autograder/classroom/snapshot.py": "classroom/test_previews.py",
    ROSTER: "test_roster.py",
    PUBLISH: "authoring/test_publish.py",
    LEAKS: "authoring/test_publish.py",
    COLLECT: "intake/test_downloads.py",
    LAYOUTS: "intake/test_downloads.py",
    MATCHING: "intake/test_downloads.py",
    LATENESS: "reports/test_lateness.py",
    MOMENTS: "intake/test_moments.py",
    MIGRATION: "reports/test_class_by_hand.py",
    FEEDBACK: "reports/test_feedback_files.py",
    SIMILARITY: "reports/test_report.py",
    WRITEUPS: "intake/test_writeups.py",
    READING: "marking/test_elsewhere.py",
    RENDER: "marking/test_render.py",
    DRAWING: "marking/test_documents.py",
    BOUNDED: "../course_utils/test_bounded.py",
    SANITIZE: "../attacks/test_pages.py",
}
# The tests of each room, the quick ones first.
TESTS = {
    "grades": ("test_roster.py", "intake/test_moments.py", "reports/test_grades.py",
               "reports/test_class_by_hand.py", "classroom/test_staleness.py",
               "classroom/test_previews.py"),
    "collect": ("intake/test_downloads.py", "intake/test_collect.py", "reports/test_report.py"),
    "publish": ("authoring/test_publish.py", "authoring/test_build.py"),
    "intake": ("intake/test_restore.py", "intake/test_unzip.py", "intake/test_gather.py",
               "intake/test_arrivals.py", "intake/test_colab_export.py", "intake/test_damage.py"),
    "judge": ("grading/test_judge.py", "grading/test_judges.py", "grading/test_load.py", "grading/test_secret.py", "grading/test_kept_outputs.py",
              "grading/test_borrowed.py",
              "exercises/test_attention_from_scratch.py", "exercises/test_finetune_roberta.py", "../attacks/test_pages.py",
              "grading/test_grade.py", "exercises/test_attention_graded.py"),
    "marking": ("marking/test_documents.py", "marking/test_elsewhere.py", "marking/test_render.py",
                "marking/test_desk.py"),
    "kernel": ("kernel/test_wire.py", "kernel/test_session.py", "grading/test_load.py", "kernel/test_nursery.py",
               "kernel/test_budgets.py", "../attacks/test_attacks.py"),
}  # fmt: skip


@dataclass(frozen=True)
class Break:
    room: str
    file: str
    old: str
    new: str


BREAKS = [
    Break("intake", WRITEUPS, 'Path(name).stem == "write-up" and listed ==', "listed and listed !="),
    Break("intake", WRITEUPS, "    if root.is_symlink():\n        return\n", ""),
    Break("marking", READING, 'if elsewhere and state != "given":', "if False:"),
    Break("marking", READING, "state, read = \"elsewhere\", elsewhere", 'state, read = "elsewhere", ""'),
    Break("marking", RENDER, "    if state.src[place + len(closing) : state.eMarks[line]].strip():", "    if False:"),
    Break("marking", DRAWING, "if len(pdf) > budgets.MOST_PAGES:", "if False:"),
    Break("marking", "autograder/kernel/walls.py", "landlock.restrict(_libc, readable=readable, writable=[], devices=[])", "pass"),
    Break("marking", DRAWING, "parser.StartDoctypeDeclHandler = refuse", "pass"),
    Break("marking", BOUNDED, 'signal.setitimer(signal.ITIMER_PROF, asked["seconds"])', "pass"),
    Break("marking", BOUNDED, "digest in _failed or seconds <= 0", "seconds <= 0"),
    Break("judge", SANITIZE, "if found[\"own\"]:", "if True:"),
    Break("judge", SANITIZE, 'text = _FOREIGN.sub(_NOT_SHOWN, clean_text(text))', "text = clean_text(text)"),
    # ------------------------------------------------------------------------------- the judge
    Break("judge", JUDGE, "min(1.0, max(0.0, share))", "max(0.0, share)"),
    Break("judge", JUDGE, "ruling.share if math.isfinite(ruling.share) else 0.0", "ruling.share"),
    Break("judge", JUDGE, "elif score >= points:", "elif score > 0:"),
    Break("judge", JUDGE, "if status in _TROUBLE:", 'if status == "timeout":'),
    Break("judge", SECOND, "if failed & set(pair)", "if failed >= set(pair)"),
    Break("judge", SECOND, "        namespace.clear()", "        pass"),
    Break("judge", SECOND, "if second.score <= first.score:", "if second.score < first.score:"),
    Break("judge", JUDGE, '("todo-open", "not-defined")', '("todo-open",)'),
    Break("judge", SECOND, 'if verdict.status in ("passed", "missing")', 'if verdict.status == "passed"'),
    Break("judge", SECOND, "lost & exercise.slips & paid.keys()", "lost & paid.keys()"),
    Break("judge", SECOND, "for _, lost, slip in verdict.parts if slip in again", "for _, lost, slip in verdict.parts"),
    Break("judge", SECOND, "namespace[name] = scope['fitted']", "pass"),
    Break("judge", GRADE, "html.escape(line)", "line"),
    Break("judge", GRADE, "exercise.draw_inputs(seed)", "exercise.draw_inputs()"),
    Break("judge", GRADE, "flags += kernel.flags", "pass"),
    Break("judge", GRADE, "        start_afresh()  # in", "        pass  # in"),
    Break("judge", JUDGES, "signal.setitimer(signal.ITIMER_PROF, seconds)", "pass"),
    Break("judge", JUDGES, "wire.load(reply), wire.load(self.inputs)", "wire.load(reply), exercise.draw_inputs()"),
    Break("judge", JUDGES, "for _ in range(_TRIES):", "for _ in range(1):"),
    Break("judge", JUDGES, "code in (_OUT_OF_MEMORY, -signal.SIGPROF)", "code in (_OUT_OF_MEMORY, -signal.SIGPROF, -9)"),
    Break("judge", JUDGE, "*(fact.strip() for fact in finding.facts), ", ""),
    Break("judge", JUDGE, "    except Exception as problem:  # a reply", "    except KeyboardInterrupt as problem:  # a reply"),
    Break("judge", GRADE, "        if verdict.slip:", "        if False:"),
    Break("judge", GRADE, "for line in verdict.lines)", "for line in verdict.messages)"),
    Break("kernel", "autograder/kernel/nursery.py", "        closed.wait()", "        closed.wait(2)"),
    Break("kernel", SESSION, 'getattr(self.manager.provisioner.process, "lost", False)', "False"),
    Break("judge", GRADE, "elif is_kept(cell):", "elif is_kept(cell) and cell.outputs:"),
    Break("judge", "autograder/grading/canary.py", "if scores.get(name) != bird.earns:",
          "if scores.get(name, 0.0) > bird.earns:"),
    Break("judge", "autograder/grading/kept_outputs.py", "return kept if is_note else [note, *kept]",
          "return [note, *kept]"),
    Break("judge", "course_utils/sanitize.py", 'if name == "src":', 'if name == "href":'),
    Break("judge", "course_utils/sanitize.py", "(?:png|jpeg|gif);base64", "[a-z+]*;base64"),
    Break("judge", "autograder/grading/borrowed.py", "waiting.append(used)", "pass"),
    Break("judge", "autograder/grading/secret.py", "[blueprint.assignment, blueprint.name, files, *cells]",
          "[blueprint.assignment, blueprint.name, files]"),
    Break("judge", "course_utils/checks/attention.py", "if tells_apart and _pair_works(", "if _pair_works("),
    Break("judge", "course_utils/checks/calls.py", "in given.items()} | kept", "in given.items()}"),
    Break("judge", "course_utils/checks/pretended_gpu.py", "return is_there(tensor, self.kept)",
          "return is_there(tensor)"),
    Break("judge", "course_utils/checks/pretended_gpu.py", '{"DEVICE", "device", *names}', '{"DEVICE", "device"}'),
    Break("judge", "course_utils/checks/pretended_gpu.py", "not self.has(owner) and _is_in_place(name):", "False:"),
    Break("judge", "course_utils/checks/attention.py", "        if misplaced:", "        if False:"),
    Break("judge", "course_utils/checks/comparing.py", "if right and all(", "if not right and all("),
    Break("judge", "course_utils/checks/finetuning.py", "if once and len(seen) > len(wanted):", "if len(seen) > len(wanted):"),
    Break("judge", "course_utils/checks/finetuning.py", "if wanted - seen:", "if seen - wanted:"),
    Break("judge", "autograder/exercises/attention/finetune_roberta.py", "max(sureness[[best, tie]]) + 0.1",
          "min(sureness[[best, tie]]) - 0.1"),
    Break("judge", "course_utils/checks/undisturbed.py", "torch.random.fork_rng(devices=cards), ", ""),
    Break("judge", "course_utils/checks/undisturbed.py", "redirect_stdout(quiet), ", ""),
    Break("judge", "course_utils/checks/learners_code.py", "is_closed = name == \"__dict__\" or name in", "is_closed = name in"),
    Break("judge", "course_utils/checks/findings.py", 'partition(" [line ")', 'partition(" [no line ")'),
    Break("judge", "course_utils/checks/findings.py", '"no cuda gpus",', ""),
    Break("judge", "course_utils/checks/translation.py", "lower = drop_line(words).lower()", "lower = words.lower()"),
    Break("judge", "autograder/grading/tampering.py", 'yield _SEEN["exchanged"], path', "pass"),
    Break("judge", "autograder/grading/tampering.py", "if _is_ours(cell):", "if False:"),
    Break("kernel", "autograder/kernel/guard.py", "nonce in asked or signature != sign(", "nonce in asked or not sign("),
    Break("kernel", "autograder/kernel/guard.py", "    sys.addaudithook(hook)", "    pass"),
    Break("kernel", "autograder/kernel/guard.py", "    _rest_checks()\n\n", "\n"),
    Break("kernel", "autograder/kernel/guard.py", "setattr(owner, name, before[name])", "pass"),
    Break("kernel", SESSION, "if not hmac.compare_digest(", "if False and not hmac.compare_digest("),
    # ------------------------------------------------------------------------------- the intake
    Break("intake", READ, "type(version) is not int or version not in (1, 2, 3, 4)", "version != 4"),
    Break("intake", READ, 'decode("utf-8-sig")', 'decode("utf-8")'),
    Break("intake", RESTORE, "(worked_on or candidates)[-1]", "(worked_on or candidates)[0]"),
    Break("intake", RESTORE, "if key is None or keys[key] > 1:", "if key is None:"),
    Break("intake", RESTORE, 'slot.source if slot.role == "check" else slot.release', "slot.release"),
    Break("intake", RESTORE, "kept = last_slot >= 0 and is_kept(blueprint.slots[last_slot].source)",
          "kept = is_kept(cell)"),
    Break("intake", RESTORE, "metadata=NotebookNode(), source=cell.source", "metadata=cell.metadata, source=cell.source"),
    Break("intake", RESTORE, 'release[:40] if isinstance(release, str) else ""', 'release or ""'),
    Break("intake", RESTORE, "if restored.release and restored.release != current:",
          "if restored.release != current:"),
    Break("intake", RESTORE, "isinstance(value, ast.Constant) and value.value is ...", "False"),
    Break("intake", "autograder/intake/recognise.py", "if evidence[best] == 0:", "if evidence[best] < 0:"),
    Break("intake", UNZIP, 'or ".." in place.parts ', ""),
    Break("intake", UNZIP, "(0, stat.S_IFREG, stat.S_IFDIR)", "(0, stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK)"),
    Break("intake", UNZIP, "size = sum(member.file_size for", "size = max(member.file_size for"),
    Break("intake", UNZIP, "or set(place.parts) & set(_JUNK)", ""),
    Break("intake", UNZIP, "count > MOST_FILES or index > _LARGEST_INDEX", "count > MOST_FILES"),
    Break("intake", GATHER, "return (work[id(piece)] > 0, moment, ", "return (moment, "),
    Break("intake", GATHER, "time = _read_manifest_time(inside) or _read_time(path)", "time = _read_time(path)"),
    Break("intake", "autograder/__main__.py", 'failed |= "error" in found', 'failed = "error" in found'),
    Break("intake", ARRIVALS, "taken = place not in made and (folder / place).exists()", "taken = False"),
    Break("intake", ARRIVALS, "    if path.is_symlink():\n        return False\n", ""),
    # ------------------------------------------------------------------------------- the kernel
    Break("kernel", SESSION, 'if result.status in ("ok", "error"):', 'if result.status == "ok":'),
    Break("kernel", SESSION, "for code in self._finished:", "for code in []:"),
    Break("kernel", SESSION, "            self.manager.interrupt_kernel()", "            pass"),
    Break("kernel", SESSION, "            process.close_channel()", "            pass"),
    Break("kernel", SESSION, "        self._room -= result.size\n", ""),
    Break("kernel", SESSION, 'if status == "timeout" and self._held_up', "if False"),
    Break("kernel", SECCOMP, 'for number in numbers["of_others"]:', "for number in ():"),
    Break("kernel", SECCOMP, "_FAMILIES = (1, 2, 10, 16)", "_FAMILIES = (1, 2, 10, 16, 40)"),
    Break("kernel", "autograder/kernel/cgroup.py", "if missing:", "if False:"),
    Break("kernel", SESSION, 'parent.get("msg_id") == request', 'bool(parent.get("msg_id"))'),
    Break("kernel", WIRE, ' or coded["dtype"] not in _DTYPES', ""),
    Break("kernel", WIRE, " or len(text) > LIMIT", ""),
    Break("kernel", WIRE, 'if str(value.dtype) == "torch.bfloat16":', "if False:"),
    Break("kernel", "autograder/kernel/workfolder.py", 'path.name.startswith(".")\n        or ', ""),
    Break("judge", "autograder/grading/secret.py", "blueprint.name, files, *cells", "blueprint.name, *cells"),
    Break("kernel", "autograder/kernel/workfolder.py", " if not path.is_symlink() else ()", ""),
    Break("kernel", WALLS, "        (resource.RLIMIT_FSIZE, limits.file_size),\n", ""),
    Break("kernel", WALLS, "_make_place(root, name), read_only=True", "_make_place(root, name), read_only=False"),
    Break("kernel", WALLS, " | NEWPID | NEWNET", " | NEWPID"),
    Break("kernel", "autograder/kernel/nursery.py", "env={k: os.environ[k] for k in KEPT_VARIABLES "
          "+ _TO_FIND_PYTHON if k in os.environ}", "env=os.environ"),
    Break("kernel", "autograder/kernel/nursery.py", "    torch.seed()", "    pass"),
    Break("kernel", "autograder/kernel/nursery.py", "    numpy.random.seed()", "    pass"),
    # ------------------------------------------------------------------------------- the grades
    Break("grades", GRADES, "part.extra += weight * points", "part.extra += points"),
    Break("grades", GRADES, "return max(0.0, points)", "return points"),
    Break("grades", GRADES, "ROUND_HALF_UP)) + 0.0", '"ROUND_DOWN")) + 0.0'),
    Break("grades", GRADES, "if track is None or first.track == track:", "if True:"),
    Break("grades", GRADES, "if open_in else 0.0", "* len(open_in)"),
    Break("grades", GRADES, "if arrival.seconds_charged > 0:", "if arrival.seconds_charged > 86_400:"),
    Break("grades", GRADES, "waiting=sum(mark.waits and mark.max_score > 0 for", "waiting=sum(mark.waits for"),
    Break("grades", GRADES, "[;|\\t", "[|\\t"),
    Break("grades", GRADES, "=+\\-@＝＋－＠", "=+\\-@"),
    Break("grades", GRADEBOOK, "self.manual if self.manual is not None else self.auto",
          "self.manual or self.auto"),
    Break("grades", GRADEBOOK, "granted = self.extensions.get(student)", "granted = None"),
    Break("grades", GRADEBOOK, "min(given, self.max_score)", "given"),
    Break("grades", MIGRATION, "last.manual_score > cell.max_score", "False"),
    Break("grades", MOMENTS, "if time > datetime.now(UTC):", "if False:"),
    Break("grades", MOMENTS, "if is_ambiguous(moment):", "if False:"),
    Break("grades", MOMENTS, 'if entry.get("says") == "system" and', 'if entry.get("says") and'),
    Break("grades", MOMENTS, "    if entered is not None:\n", "    if entered is not None and not files:\n"),
    Break("grades", MOMENTS, "        if not text:\n", "        if False:\n"),
    Break("grades", LATENESS, "has = left.get(student, days)", "has = days"),
    Break("grades", LATENESS, "math.ceil(arrival.seconds_late / _DAY)", "int(arrival.seconds_late / _DAY)"),
    Break("grades", GRADEBOOK, "        if self.scratch:\n", "        if False:\n"),
    Break("grades", STALENESS, "if record.rules != run.rules[key[1]]:", "if False:"),
    Break("grades", STALENESS, "result == record.result", "True"),
    Break("grades", "autograder/classroom/snapshot.py", "?mode=ro", ""),
    Break("grades", ROSTER, "if student not in roster]", "if False]"),
    # ------------------------------------------------------------------------------- collecting
    Break("collect", LAYOUTS, 'r"(?P<who>.+?)_attempt_', 'r"(?P<who>.+)_attempt_'),
    Break("collect", LAYOUTS, "(len(fits[one]), -_measure(fits[one].values()))", "len(fits[one])"),
    Break("collect", LAYOUTS, "return found or [()]", "return found[:1]"),
    Break("collect", LAYOUTS, 'or is_known(("folder", top))', ""),
    Break("collect", LAYOUTS, "if _WRAPPER.fullmatch(top) or top in", "if True or top in"),
    Break("collect", LAYOUTS, "if row and row.fits(who):", "if row:"),
    Break("collect", LAYOUTS, 'late=bool(match["late"])', "late=False"),
    Break("collect", MATCHING, "if len(claims[match.student]) > 1:", "if False:"),
    Break("collect", MATCHING, "if before and identity not in before", "if False"),
    Break("collect", MATCHING, 'text = unicodedata.normalize("NFC", text)', 'text = unicodedata.normalize("NFKC", text)'),
    Break("collect", MATCHING, "for one in named if not self._speaks_against(one, keys)", "for one in named"),
    Break("collect", MATCHING, "if len(found) == 1:", "if found:"),
    Break("collect", COLLECT, "except Exception as problem:  # one file must not", "except KeyError as problem:  # one file must not"),
    Break("collect", COLLECT, "finally:  # what was placed", "except ZeroDivisionError:  # what was placed"),
    Break("collect", COLLECT, 'if part.startswith(".") or part == STAMP:', "if part == STAMP:"),
    Break("collect", COLLECT, "parts.append(_shorten(part))", "parts.append(part)"),
    Break("collect", COLLECT, "spent[0] + file.entry.size > LARGEST_CONTENT", "False"),
    Break("collect", COLLECT, "time = min([moment", "time = max([moment"),
    Break("intake", UNZIP, "allowance.size -= used", "allowance.size -= 0"),
    Break("intake", UNZIP, "if size > max(PLAIN_CONTENT, EMPTY_RATIO * packed):", "if False:"),
    Break("grades", MOMENTS, "names = names or [", "names = ["),
    Break("grades", FEEDBACK, "if grade is None:", "if True:"),
    Break("collect", SIMILARITY, "or _agree(words[one], words[other], _HALF)", ""),
    Break("collect", SIMILARITY, "or _agree(unusual[one], unusual[other], _SHARE)", ""),
    # ------------------------------------------------------------------------------- publishing
    Break("publish", PUBLISH, '            raise CourseError(\n                f"{path} was changed by hand',
          '            print(\n                f"{path} was changed by hand'),
    Break("publish", PUBLISH, 'or facts.get("course") != course.id:', "or not facts:"),
    Break("publish", PUBLISH, "for name in sorted(set(earlier) - set(files)):", "for name in []:"),
    Break("publish", PUBLISH, 'if name and not Path(name).is_absolute() and ".." not in Path(name).parts:',
          "if name:"),
    Break("publish", LEAKS, 'folder.rglob("*.py")', 'folder.glob("*.py")'),
    Break("publish", LEAKS, 'if content.startswith(b"PK\\x03\\x04"):', 'if name.endswith(".zip"):'),
    Break("publish", LEAKS, """.replace('"', "'")""", ""),
    Break("publish", LEAKS, 'if content.startswith((b"\\xff\\xfe", b"\\xfe\\xff")):', "if False:"),
]  # fmt: skip


def main(words: list[str]) -> int:
    """Try the breaks, print a line for each, and say how many were noticed."""
    chosen = [b for b in BREAKS if not words or any(word in b.room + b.old for word in words)]
    for name in HEAVY:
        importlib.import_module(name)
    with tempfile.TemporaryDirectory(prefix="breaks-") as scratch:
        copy = Path(scratch) / "course"
        copy_repository(copy)
        outcomes = []
        for room in TESTS:
            broken_here = [broken for broken in chosen if broken.room == room]
            outcomes += [(broken, *try_break(broken, copy)) for broken in broken_here]
    missed = [broken for broken, noticed, _ in outcomes if not noticed]
    noticed = len(outcomes) - len(missed)
    print(f"\n{noticed} of {len(outcomes)} breaks were noticed ({noticed / len(outcomes):.0%}).")
    for broken in missed:
        print(f"not noticed: {broken.file}: {broken.old.strip()!r} -> {broken.new.strip()!r}")
    return int(noticed < ENOUGH * len(outcomes))


def copy_repository(target: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    subprocess.run(["git", "init", "-q"], cwd=target, check=True)  # some tests ask what is tracked
    subprocess.run(["git", "add", "-A"], cwd=target, check=True)


@functools.cache
def check_unbroken(tests: tuple[str, ...], copy: Path) -> None:
    """Stop where tests fail without any break: they would notice nothing."""
    failed, by = run_tests(tests, copy)
    if failed:
        sys.exit(f"A test fails without any break, so it notices nothing: {by}")


def try_break(broken: Break, copy: Path) -> tuple[bool, str]:
    """Try one break on its module's tests, then on its room's; return whether they noticed, and which."""
    began = time.monotonic()
    noticed, by = False, ""
    for tests in ((GUARDS[broken.file],), TESTS[broken.room]):
        if not noticed:
            check_unbroken(tests, copy)
            noticed, by = run_broken(tests, broken, copy)
    sign = "noticed    " if noticed else "NOT NOTICED"
    print(f"{sign} {time.monotonic() - began:4.0f} s  {broken.room}: "
          f"{broken.old.strip()[:60]!r}  {by}", flush=True)  # fmt: skip
    return noticed, by


def run_broken(tests: tuple[str, ...], broken: Break, copy: Path) -> tuple[bool, str]:
    path = copy / broken.file
    whole = path.read_text("utf-8")
    if whole.count(broken.old) != 1:
        sys.exit(f"{broken.file} holds {whole.count(broken.old)} times: {broken.old!r}")
    path.write_text(whole.replace(broken.old, broken.new), "utf-8")
    try:
        return run_tests(tests, copy)
    finally:
        path.write_text(whole, "utf-8")


def run_tests(tests: tuple[str, ...], copy: Path) -> tuple[bool, str]:
    """Run tests of the copy in a fork of this process, which has imported what takes seconds."""
    told = copy.parent / "told.txt"
    process = os.fork()
    if process == 0:
        os.setpgid(0, 0)
        _run_pytest(tests, copy, told)
    deadline = time.monotonic() + LONGEST
    while True:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            break
        if time.monotonic() > deadline:
            os.killpg(process, signal.SIGKILL)
            os.waitpid(process, 0)
            return True, "the tests hang"
        time.sleep(0.1)
    code, text = os.waitstatus_to_exitcode(status), told.read_text("utf-8", errors="replace")
    if code in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED):
        sys.exit(f"pytest could not run:\n{text[-3000:]}")
    failed = [line for line in text.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return code != 0, failed[0].split(" - ")[0] if failed else ""


def _run_pytest(tests: tuple[str, ...], copy: Path, told: Path) -> None:
    code = 1
    try:
        for stream in (1, 2):
            os.dup2(os.open(told, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND), stream)
        variables = {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
        os.environ.update(variables | {"OMP_NUM_THREADS": "1"})
        sys.path[:] = [str(copy), *(path for path in sys.path if not path.startswith(str(ROOT)))]
        sys.path += [path for path in SITE if path not in sys.path]
        sys.dont_write_bytecode = True
        os.chdir(copy)
        options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m",
                   "not soak and not landing and not browser"]  # fmt: skip
        code = int(pytest.main([*options, *(f"tests/autograder/{name}" for name in tests)]))
    finally:
        sys.stdout.flush()
        os._exit(code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
