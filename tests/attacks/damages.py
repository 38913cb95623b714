"""Damages: files that arrive broken, by accident or on purpose, each written into a folder.

`make(folder, blueprint)` writes what one student handed in. None of these may stop the class, take
long, or reach what lies outside the folder; `earns` is what the grader must give for it.
"""

from __future__ import annotations

import io
import json
import os
import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import nbformat

from autograder.demo.personas import fill_in, solve_all
from tests.conftest import FULL

NAME = "1_query_crafting.ipynb"


@dataclass(frozen=True)
class Damage:
    name: str
    about: str
    make: Callable
    earns: float | None = 0.0  # None: it may or may not be read


DAMAGES: list[Damage] = []


def damage(about: str, earns: float | None = 0.0):
    def keep(make):
        DAMAGES.append(Damage(make.__name__.replace("_", "-"), about, make, earns))
        return make

    return keep


def solved(blueprint) -> dict:
    return json.loads(nbformat.writes(fill_in(blueprint, solve_all(blueprint))))


def write(path: Path, content) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), "utf-8")


def make_zip(path: Path, members: dict[str, bytes], method=zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    path.write_bytes(buffer.getvalue())
    return buffer.getvalue()


# ------------------------------------------------------------------------ notebooks as JSON


@damage("metadata is null, in a file of another name", earns=FULL)
def metadata_null(folder, blueprint):
    write(folder / "my notebook.ipynb", solved(blueprint) | {"metadata": None})


@damage("metadata is a list, in a file of another name", earns=FULL)
def metadata_list(folder, blueprint):
    write(folder / "my notebook.ipynb", solved(blueprint) | {"metadata": [1, [2]]})


@damage("the course's metadata cannot be hashed", earns=FULL)
def course_unhashable(folder, blueprint):
    metadata = {"course": {"notebook": [{}], "release": {"a": []}}}
    write(folder / "my notebook.ipynb", solved(blueprint) | {"metadata": metadata})


@damage("grade ids are lists, numbers and null", earns=FULL)
def grade_ids_odd(folder, blueprint):
    content = solved(blueprint)
    for number, cell in enumerate(content["cells"]):
        odd = [[], {}, None, 3, 1.5, True][number % 6]
        cell["metadata"] = {"nbgrader": {"grade_id": odd}, "tags": {"a": odd}}
    write(folder / NAME, content)


@damage("cells are numbers, lists and null")
def cells_of_all_kinds(folder, blueprint):
    write(folder / NAME, solved(blueprint) | {"cells": [1, None, [], "cell", {}]})


@damage("cells is an object")
def cells_object(folder, blueprint):
    write(folder / NAME, solved(blueprint) | {"cells": {"a": 1}})


@damage("sources are numbers, nested lists and objects")
def sources_odd(folder, blueprint):
    content = solved(blueprint)
    for cell, odd in zip(content["cells"], [1, [[]], {"a": 1}, None] * 99, strict=False):
        cell["source"] = odd
    write(folder / NAME, content)


@damage("outputs are of every wrong type", earns=FULL)
def outputs_odd(folder, blueprint):
    content = solved(blueprint)
    odd = [1, "x", [], {}, {"output_type": 5}, {"output_type": "stream", "text": {"a": [1]}},
           {"output_type": "display_data", "data": [1]}, {"output_type": "error", "traceback": 3},
           {"output_type": "display_data", "data": {"text/html": [1, None, "x"]}}]  # fmt: skip
    for cell in content["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = odd
    write(folder / NAME, content)


@damage("attachments are of every wrong type", earns=FULL)
def attachments_odd(folder, blueprint):
    content = solved(blueprint)
    for number, cell in enumerate(content["cells"]):
        if cell["cell_type"] == "markdown":
            cell["attachments"] = [1, [], {"a": 1}, {"a": {"image/png": {"b": 1}}}][number % 4]
    write(folder / NAME, content)


@damage("cell ids are repeated, empty, huge and no text", earns=FULL)
def ids_odd(folder, blueprint):
    content = solved(blueprint)
    for number, cell in enumerate(content["cells"]):
        cell["id"] = ["same", "", "x" * 5000, 7, None, "ä ö", []][number % 7]
    write(folder / NAME, content)


@damage("nbformat is a list")
def nbformat_list(folder, blueprint):
    write(folder / NAME, solved(blueprint) | {"nbformat": [4]})


@damage("nbformat is true")
def nbformat_true(folder, blueprint):
    write(folder / NAME, solved(blueprint) | {"nbformat": True})


@damage("nbformat is 99")
def nbformat_future(folder, blueprint):
    write(folder / NAME, solved(blueprint) | {"nbformat": 99})


@damage("an old nbformat with worksheets of the wrong type")
def nbformat_three(folder, blueprint):
    write(folder / NAME, {"nbformat": 3, "worksheets": [{"cells": [{"cell_type": 1}]}]})


@damage("halves of characters and control codes in every text", earns=FULL)
def surrogates(folder, blueprint):
    content = solved(blueprint)
    for cell in content["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = "\ud800 \x1b]0;title\x07 \x00 " + "".join(cell["source"])
    write(folder / NAME, content)


@damage("JSON nested ten thousand deep")
def json_deep(folder, blueprint):
    (folder / NAME).write_text('{"nbformat": 4, "cells": ' + "[" * 10_000 + "]" * 10_000 + "}")


@damage("an output nested nine hundred deep", earns=FULL)
def output_deep(folder, blueprint):
    content = solved(blueprint)
    deep: list = []
    for _ in range(400):
        deep = [{"a": deep}]
    content["cells"][-1]["metadata"] = {"deep": deep}
    write(folder / NAME, content)


@damage("a number of five thousand digits")
def number_huge(folder, blueprint):
    (folder / NAME).write_text('{"nbformat": 4, "cells": [], "x": ' + "9" * 5000 + "}")


@damage("NaN and Infinity, which are not JSON", earns=FULL)
def not_a_number(folder, blueprint):
    text = json.dumps(solved(blueprint) | {"extra": float("nan"), "more": float("inf")})
    (folder / NAME).write_text(text, "utf-8")


@damage("half a file")
def truncated(folder, blueprint):
    text = json.dumps(solved(blueprint))
    (folder / NAME).write_text(text[: len(text) // 2], "utf-8")


@damage("bytes that are no text")
def binary(folder, blueprint):
    (folder / NAME).write_bytes(bytes(range(256)) * 50)


@damage("another encoding than UTF-8")
def utf16(folder, blueprint):
    (folder / NAME).write_bytes(json.dumps(solved(blueprint)).encode("utf-16"))


@damage("a byte order mark and Windows line ends", earns=FULL)
def windows(folder, blueprint):
    text = json.dumps(solved(blueprint), indent=1).replace("\n", "\r\n")
    (folder / NAME).write_bytes(b"\xef\xbb\xbf" + text.encode())


@damage("an empty file")
def empty(folder, blueprint):
    (folder / NAME).touch()


@damage("a page that asks to log in, saved as a notebook")
def login_page(folder, blueprint):
    (folder / NAME).write_text("<!doctype html><title>Sign in</title>" * 100)


@damage("a merge that was never finished")
def merge_conflict(folder, blueprint):
    text = json.dumps(solved(blueprint), indent=1).split("\n")
    text[10:10] = ["<<<<<<< HEAD", "=======", ">>>>>>> theirs"]
    (folder / NAME).write_text("\n".join(text), "utf-8")


@damage("a folder in a notebook's place")
def folder_instead(folder, blueprint):
    (folder / NAME).mkdir()


@damage("a pipe in a notebook's place")
def pipe_instead(folder, blueprint):
    os.mkfifo(folder / NAME)


@damage("a hundred thousand empty cells")
def many_cells(folder, blueprint):
    content = solved(blueprint)
    cell = {"cell_type": "markdown", "metadata": {}, "source": ""}
    content["cells"] += [cell] * 100_000
    write(folder / NAME, content)


@damage("two thousand cells that define things, without any metadata")
def many_definitions(folder, blueprint):
    cells = [
        {"cell_type": "code", "metadata": {}, "source": f"a{i} = {i}", "outputs": []}
        for i in range(2000)
    ]
    write(folder / "my notebook.ipynb", solved(blueprint) | {"cells": cells})


@damage("a code cell of four megabytes")
def huge_code(folder, blueprint):
    content = solved(blueprint)
    code = {"cell_type": "code", "metadata": {}, "source": "x = 1\n" * 700_000, "outputs": []}
    write(folder / NAME, content | {"cells": [*content["cells"], code]})


@damage("three million small parts in the metadata")
def small_parts(folder, blueprint):
    text = json.dumps(solved(blueprint))
    (folder / NAME).write_text(text[:-1] + ', "extra": [' + "{}," * 3_000_000 + "1]}", "utf-8")


@damage("a stream of nine megabytes in an output", earns=FULL)
def huge_output(folder, blueprint):
    content = solved(blueprint)
    output = {"output_type": "stream", "name": "stdout", "text": "line\n" * 1_800_000}
    code = {"cell_type": "code", "metadata": {}, "source": "1", "outputs": [output]}
    write(folder / NAME, content | {"cells": [*content["cells"], code]})


# --------------------------------------------------------------------------------- code in .py


@damage("nine thousand minus signs")
def minus_signs(folder, blueprint):
    (folder / "1_query_crafting.py").write_text("# %%\n" + "-" * 9000 + "1")


@damage("nine thousand minus signs in a cell", earns=FULL)
def minus_signs_in_a_cell(folder, blueprint):
    content = solved(blueprint)
    code = {"cell_type": "code", "metadata": {}, "source": "-" * 9000 + "1", "outputs": []}
    write(folder / "my notebook.ipynb", content | {"cells": [*content["cells"], code]})


@damage("a .py of four megabytes")
def huge_py(folder, blueprint):
    (folder / "1_query_crafting.py").write_text("# %%\n" + "x = 1\n" * 700_000)


@damage("a .py of nine thousand statements that solve one exercise")
def long_py(folder, blueprint):
    (folder / "1_query_crafting.py").write_text("q_select_first = 1\n" * 9_000)


@damage("a .py in five thousand broken pieces")
def broken_py(folder, blueprint):
    (folder / "1_query_crafting.py").write_text("q_select_first = 1\n\n(\n\n" * 2500)


@damage("a .py that is no text")
def binary_py(folder, blueprint):
    (folder / "1_query_crafting.py").write_bytes(b"\x00\xff" * 1000)


@damage("cell marks whose metadata is broken")
def odd_marks(folder, blueprint):
    (folder / "1_query_crafting.py").write_text('# %% [markdown] {"a": [[[\n# %% tags=[1,\nx = 1\n')


# ----------------------------------------------------------------------------------- zip files


def _break_member(folder, blueprint, method):
    content = json.dumps(solved(blueprint)).encode()
    packed = bytearray(make_zip(folder / "work.zip", {NAME: content}, method))
    for index in range(60, 200):
        packed[index] ^= 0xFF
    (folder / "work.zip").write_bytes(packed)


@damage("a zip with a broken LZMA member")
def lzma_broken(folder, blueprint):
    _break_member(folder, blueprint, zipfile.ZIP_LZMA)


@damage("a zip with a broken bz2 member")
def bz2_broken(folder, blueprint):
    _break_member(folder, blueprint, zipfile.ZIP_BZIP2)


@damage("a zip with a broken deflated member")
def deflate_broken(folder, blueprint):
    _break_member(folder, blueprint, zipfile.ZIP_DEFLATED)


@damage("a zip with names that are too long for any disk")
def names_too_long(folder, blueprint):
    make_zip(folder / "work.zip", {"ä" * 150 + ".ipynb": b"{}", "n" * 239: b"x"})


@damage("a zip that leads outside its folder")
def zip_slip(folder, blueprint):
    make_zip(folder / "work.zip", {"../../../evil.ipynb": b"{}"})


@damage("a zip with a link to the solutions")
def zip_link(folder, blueprint):
    with zipfile.ZipFile(folder / "work.zip", "w") as archive:
        info = zipfile.ZipInfo(NAME)
        info.external_attr = 0o120777 << 16
        archive.writestr(info, "/etc/passwd")


@damage("a zip that says it holds sixty thousand files")
def zip_lies(folder, blueprint):
    packed = bytearray(make_zip(folder / "work.zip", {NAME: b"{}"}))
    end = packed.rfind(b"PK\x05\x06")
    packed[end + 8 : end + 12] = struct.pack("<HH", 60_000, 60_000)
    (folder / "work.zip").write_bytes(packed)


@damage("a zip of a gigabyte of zeros")
def zip_bomb(folder, blueprint):
    with zipfile.ZipFile(folder / "work.zip", "w", zipfile.ZIP_DEFLATED) as archive, \
            archive.open("zeros.bin", "w", force_zip64=True) as file:  # fmt: skip
        for _ in range(450):
            file.write(bytes(2**20))


@damage("a zip with a manifest of the wrong types", earns=FULL)
def manifest_odd(folder, blueprint):
    content = json.dumps(solved(blueprint)).encode()
    manifest = b'{"made": [1, {"a": null}], "files": 3}'
    make_zip(folder / "work.zip", {NAME: content, "manifest.json": manifest})


@damage("a zip with a manifest from the year 9999 and a record of ours", earns=FULL)
def manifest_future(folder, blueprint):
    content = json.dumps(solved(blueprint)).encode()
    make_zip(folder / "work.zip", {
        NAME: content, "manifest.json": b'{"made": "9999-12-31T23:59:59+00:00"}',
        ".taken-in.json": b"{}", "timestamp.txt": b"1999-01-01 00:00:00 UTC",
    })  # fmt: skip


@damage("a zip inside a zip")
def zip_in_zip(folder, blueprint):
    inner = make_zip(folder / "work.zip", {NAME: b"{}"})
    make_zip(folder / "work.zip", {"inner.zip": inner})


@damage("half a zip")
def zip_half(folder, blueprint):
    packed = make_zip(folder / "work.zip", {NAME: json.dumps(solved(blueprint)).encode()})
    (folder / "work.zip").write_bytes(packed[: len(packed) // 2])


# ------------------------------------------------------------------------- links and folders


@damage("a link to the solutions in a notebook's place")
def link_to_source(folder, blueprint):
    (folder / NAME).symlink_to(Path("source/attention").resolve() / NAME)


@damage("a .py link into the text notebooks")
def link_to_text(folder, blueprint):
    (folder / "1_query_crafting.py").symlink_to(
        Path("notebooks/attention/1_query_crafting.py").resolve()
    )


@damage("a folder that is a link to the solutions")
def link_to_folder(folder, blueprint):
    (folder / "mine").symlink_to(Path("source/attention").resolve())


@damage("a forged record that leads through a link")
def record_through_link(folder, blueprint):
    link_to_folder(folder, blueprint)
    record = {"from": {}, "for": [blueprint.name], "made": {}, "problems": [],
              "notebooks": {blueprint.name: {"file": f"mine/{NAME}"}}}  # fmt: skip
    write(folder / ".taken-in.json", record)


@damage("a forged record whose folder is a link to a classmate's", earns=0)
def record_link_folder(folder, blueprint):
    (folder / ".taken-in").symlink_to(folder.parent.parent)
    record = {"from": {}, "for": [blueprint.name], "made": {}, "problems": [],
              "notebooks": {blueprint.name: {"file": f".taken-in/{NAME}"}}}  # fmt: skip
    write(folder / ".taken-in.json", record)


@damage("a record in which everything has the wrong type", earns=FULL)
def record_odd(folder, blueprint):
    write(folder / NAME, solved(blueprint))
    write(folder / ".taken-in.json", {
        "from": {"a": 1}, "for": [None], "made": {"a": "b", "": "c"}, "problems": [[], {}],
        "notebooks": {"x": {"repairs": [1], "flags": 3, "file": 7}},
    })  # fmt: skip


@damage("folders within folders, three thousand deep", earns=None)
def deep_folders(folder, blueprint):
    write(folder / NAME, solved(blueprint))
    here = os.open(folder, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)


@damage("names with control codes and bytes that are no text")
def odd_names(folder, blueprint):
    write(
        Path(os.fsdecode(os.fsencode(folder) + b"/bad\xff\x1b]0;x\x07name.ipynb")), {"nbformat": 4}
    )
