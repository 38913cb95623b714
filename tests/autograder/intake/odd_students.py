"""Odd but honest students: what each of them hands in, and what each has earned."""

import html
import json
import os
import shutil
import zipfile
from dataclasses import dataclass, field

import nbformat
from nbgrader.api import Gradebook

from autograder.demo.personas import fill_in, solve_all, strip_metadata
from tests.autograder.intake.latex import make_writeup
from tests.journey.forms import export_py

FIRST = "1_query_crafting"
SECOND = "2_attention_from_scratch"
THIRD = "3_finetune_roberta"
WRITEUP = "hw attention.pdf"
LONG_AGO = 10**9
MADE = "2030-03-01T12:00:00+00:00"


@dataclass
class Odd:
    """One student: the folder is filled by `put`; `earns` says what counts, by notebook."""

    name: str
    earns: dict[str, float]
    told: str = ""  # words that a flag or repair must hold
    refused: str = ""  # words about why nothing can be graded
    files: dict[str, object] = field(default_factory=dict)  # name -> notebook, bytes or zip


def make_odd_students(kit):
    """Return the class. Work in notebook 1 alone keeps it quick: its cells run in no time."""
    full = kit[FIRST].auto_points
    good = fill_in(kit[FIRST], solve_all(kit[FIRST]), "My own words.")
    worse = fill_in(kit[FIRST], {**solve_all(kit[FIRST]), "q_select_first": "q_select_first = 0"})
    blank = fill_in(kit[FIRST], {})
    other = fill_in(kit[SECOND], {})  # notebook 2 as it was handed out
    bare = nbformat.from_dict(good)
    strip_metadata(bare)
    whole, lost = {FIRST: full}, {FIRST: full - 2}
    name = f"{FIRST}.ipynb"
    return [
        Odd("ordinary", whole, files={f"attention/{name}": good}),
        Odd("blank-beside-copy", whole, f"Copy of {name} was graded",
            files={f"attention/{name}": (blank, 2 * LONG_AGO), f"attention/Copy of {name}": good}),
        Odd("blank-beside-zip", whole, "work.zip", files={
            f"attention/{name}": (blank, 2 * LONG_AGO), "attention/work.zip": {name: good}}),
        Odd("both-in-one-zip", whole, "Copy of", files={
            "attention/work.zip": {name: blank, f"Copy of {name}": good}}),
        Odd("names-exchanged", whole | {SECOND: 0}, "under the name", files={
            f"attention/{name}": other, f"attention/{SECOND}.ipynb": good}),
        Odd("tenth-zip", whole, "work-10.zip", files={
            "attention/work-9.zip": {name: worse}, "attention/work-10.zip": {name: good}}),
        Odd("manifest-decides", whole, "early.zip", files={
            "attention/early.zip": ({name: good}, LONG_AGO, "2030-03-02T12:00:00+00:00"),
            "attention/late.zip": ({name: worse}, 2 * LONG_AGO, MADE)}),
        Odd("later-zip-of-one", whole | {SECOND: 0}, "", files={
            "attention/all.zip": ({name: good, f"{SECOND}.ipynb": other}, LONG_AGO, MADE),
            "attention/one.zip": ({f"{SECOND}.ipynb": other}, LONG_AGO, "2030-03-02T12:00:00+00:00")}),
        Odd("nested-folder", whole, files={f"attention/week 3/mine/{name}": good}),
        Odd("capitals", whole, files={f"attention/{FIRST}.IPYNB": good}),
        Odd("dot-txt", whole, files={f"attention/{name}.txt": good}),
        Odd("misspelt-folder", whole, files={f"atention/{name}": good}),
        Odd("no-folder", whole, files={name: good}),
        Odd("zip-without-folder", whole, files={"homework.zip": {f"homework/{name}": good}}),
        Odd("copy-alone", whole, "under the name", files={f"attention/Copy of {FIRST} (1).ipynb": good}),
        Odd("own-title", whole, "under the name", files={"attention/Untitled7.ipynb": good}),
        Odd("no-metadata", whole, files={f"attention/{name}": bare}),
        Odd("worse-but-later", lost, "was graded", files={
            f"attention/{name}": (worse, 2 * LONG_AGO), f"attention/old {name}": good}),
        Odd("backup-kept", whole, "", files={
            f"attention/{name}": good, f"attention/.ipynb_checkpoints/{name}": blank,
            f"attention/__MACOSX/._{name}": b"\x00\x05\x16\x07"}),
        Odd("broken-zip", {}, refused="work.zip", files={"attention/work.zip": b"PK\x03\x04 no"}),
        Odd("web-page", {}, refused="", files={
            f"attention/{FIRST}.html": html.escape("<p>my work</p>").encode()}),
        Odd("empty-folder", {}, files={"attention": None}),
        # As the course's first edition wanted it: three .py files, and the answers in one PDF from LaTeX.
        Odd("latex-beside-py", whole | {SECOND: 0, THIRD: 0}, "they may be elsewhere", files={
            **{f"attention/{part}.py": export_py(notebook, part).encode() for part, notebook in (
                (FIRST, fill_in(kit[FIRST], solve_all(kit[FIRST]))), (SECOND, other),
                (THIRD, fill_in(kit[THIRD], {})))},
            f"attention/{WRITEUP}": make_writeup("1.2.1 Because the dot product grows.", "1.4.1 No.")}),
    ]  # fmt: skip


def put(student, folder):
    """Write what a student hands in below a folder of theirs."""
    for name, content in student.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        content, time, made = content if _is_timed(content, 3) else (
            (*content, None) if _is_timed(content, 2) else (content, LONG_AGO, None))  # fmt: skip
        if content is None:
            path.mkdir(parents=True)
            continue
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif isinstance(content, nbformat.NotebookNode):
            path.write_text(nbformat.writes(content), "utf-8")
        else:
            with zipfile.ZipFile(path, "w") as archive:
                for inner, notebook in content.items():
                    archive.writestr(inner, nbformat.writes(notebook))
                if made:
                    archive.writestr("manifest.json", json.dumps({"made": made}))
        os.utime(path, (time, time))


def _is_timed(content, length):
    return isinstance(content, tuple) and len(content) == length


def put_all(students, submitted):
    shutil.rmtree(submitted, ignore_errors=True)
    for student in students:
        put(student, submitted / student.name)


def read_scores(grading):
    """Return the automatic points in the gradebook, by student and notebook."""
    found = {}
    with Gradebook(f"sqlite:///{grading / 'gradebook.db'}", "attention-course") as gradebook:
        for submission in gradebook.assignment_submissions("attention"):
            for notebook in submission.notebooks:
                key = submission.student.id, notebook.name
                found[key] = sum(grade.auto_score or 0 for grade in notebook.grades)
    return found
