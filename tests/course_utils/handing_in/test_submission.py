"""Handing in: warned before it is too late, nothing destroyed, one document to print."""

import base64
import io
import json
import shutil
import struct
import sys
import types
import zipfile
import zlib

import nbformat
import pypdf
import pytest

from course_utils import colab
from course_utils.__main__ import main
from course_utils.handing_in import standing, submission, writeup
from course_utils.handing_in.handout import (
    HandInError,
    find_own_notebook,
    load_assignments,
    read_notebook,
)
from course_utils.handing_in.submission import make_submission
from tests.conftest import ROOT

NAMES = list(load_assignments()["attention"].notebooks)
RELEASE = ROOT / "release" / "attention"
PIXEL = base64.b64encode(b"\x89PNG pretend").decode()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The three notebooks as they were handed out, and no printer, so that nothing takes long."""
    monkeypatch.setattr(writeup, "find_printer", lambda: None)
    for name in NAMES:
        shutil.copy(RELEASE / f"{name}.ipynb", tmp_path)
    return tmp_path


def edit(path, change):
    notebook = nbformat.read(path, as_version=4)
    change(notebook.cells)
    path.write_text(nbformat.writes(notebook), "utf-8")


def fill_in(cells):
    """Answer and solve everything, in words that are nobody's stub."""
    for number, cell in enumerate(cells):
        if cell.metadata.get("nbgrader", {}).get("solution"):
            cell.source = f"answer_{number} = 'mine'"
        if cell.cell_type == "code":
            cell.execution_count = number + 1
            cell.outputs = [nbformat.v4.new_output("stream", text="done")]


def submit(folder, capsys):
    path = make_submission(folder)
    return path, capsys.readouterr().out


def test_untouched_work_is_named_and_the_zip_is_made_all_the_same(folder, capsys):
    path, said = submit(folder, capsys)
    assert "1_query_crafting.ipynb: not written yet: who helped you, 1.2.1, 1.2.2, 1.2.3" in said
    assert "the TODO is still open in: q_select_first, Q_identity" in said
    assert "not written yet: who helped you, Q1.1, Q1.2, Q2.1" in said
    assert "2.2 setup, 2.2 results, 2.2 interpretation" in said
    assert "trainings and experiments were not run" in said
    assert "test_predictions.csv is not here" in said
    assert "this zip file is also valid as it is" in said
    assert "No browser was found here" in said
    with zipfile.ZipFile(path) as archive:
        assert json.loads(archive.read("manifest.json"))["warnings"]


def test_a_finished_folder_gets_no_warning(folder, capsys):
    for name in NAMES:
        edit(folder / f"{name}.ipynb", fill_in)
    (folder / "test_predictions.csv").write_text("index,text,label,prediction\n")
    _, said = submit(folder, capsys)
    assert "!" not in said


def test_cells_out_of_order_and_errors_are_said(folder, capsys):
    def disorder(cells):
        fill_in(cells)
        code = [cell for cell in cells if cell.cell_type == "code"]
        code[1].execution_count, code[2].execution_count = 9, 3
        code[4].outputs = [nbformat.v4.new_output("error", ename="E", evalue="", traceback=[])]

    edit(folder / "1_query_crafting.ipynb", disorder)
    _, said = submit(folder, capsys)
    assert "1_query_crafting.ipynb: cells were run out of order" in said
    assert "older code. If you can" in said
    assert "an error is shown below cell " in said


def test_submitting_again_keeps_the_earlier_zip(folder, capsys):
    first, _ = submit(folder, capsys)
    content = first.read_bytes()
    second, _ = submit(folder, capsys)
    (folder / "attention-submission-7.zip").write_bytes(b"mine")
    third, _ = submit(folder, capsys)
    assert [path.name for path in (first, second, third)] == [
        "attention-submission-1.zip", "attention-submission-2.zip", "attention-submission-8.zip"
    ]  # fmt: skip
    assert first.read_bytes() == content
    assert (folder / "attention-submission-7.zip").read_bytes() == b"mine"


def test_a_missing_notebook_copies_and_large_files_are_said(folder, capsys, monkeypatch):
    (folder / "2_attention_from_scratch.ipynb").unlink()
    shutil.copy(folder / "1_query_crafting.ipynb", folder / "1_query_crafting (1).ipynb")
    (folder / "3_finetune_roberta.ipynb").rename(folder / "My homework.ipynb")
    monkeypatch.setattr(submission, "LARGE_FILE", 10_000)
    path, said = submit(folder, capsys)
    assert "2_attention_from_scratch.ipynb is not here: it will count as not handed in." in said
    assert "several copies of 1_query_crafting: 1_query_crafting.ipynb is handed in, not" in said
    assert "3_finetune_roberta.ipynb is large" in said
    assert "3_finetune_roberta.ipynb" in zipfile.ZipFile(path).namelist()


MISTAKES = {
    "no such folder": (lambda f: f / "gone", "There is no folder"),
    "nothing there": (lambda f: make_folder(f / "bare"), "None of the course's notebooks"),
    "a broken notebook": (
        lambda f: make_folder(f / "b", "1_query_crafting.ipynb", "{"), "is not a notebook, or it"),
}  # fmt: skip


def make_folder(path, name=None, content=""):
    path.mkdir()
    if name:
        (path / name).write_text(content)
    return path


@pytest.mark.parametrize("kind", MISTAKES)
def test_a_mistake_ends_in_a_sentence(folder, capsys, kind):
    make, sentence = MISTAKES[kind]
    assert main(["submit", str(make(folder))]) == 1
    said = capsys.readouterr().err
    assert sentence in said and "Traceback" not in said


def test_a_notebook_too_large_for_the_graders_is_refused_in_time(folder, monkeypatch):
    monkeypatch.setattr(submission, "LARGEST_FILE", 20_000)
    with pytest.raises(HandInError, match="Clear the outputs"):
        make_submission(folder)
    assert not list(folder.glob("*.zip"))


def test_a_full_disk_leaves_no_half_zip(folder, monkeypatch):
    def fail(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(zipfile.ZipFile, "writestr", fail)
    with pytest.raises(HandInError, match=r"No space left on device\. Nothing was handed in"):
        make_submission(folder)
    assert not list(folder.glob("*.zip"))


# -------------------------------------------------------------------------------- the write-up


def write_answers(cells, text):
    for cell in cells:
        marks = cell.metadata.get("nbgrader", {})
        if marks.get("grade") and marks.get("solution"):
            cell.source = text


def show(cells, *outputs, where):
    cell = next(cell for cell in cells if cell.cell_type == "code" and where in cell.source)
    cell.outputs = [nbformat.v4.new_output("display_data", data=data) for data in outputs]


def test_the_write_up_holds_answers_and_own_figures_in_order(folder):
    def work(cells):
        write_answers(cells, "Because **of** $e^{x}$ and $\\weird{x}$.<script>alert(1)</script>")
        show(cells, {"image/png": PIXEL}, where="history = train(")
        show(cells, {"text/markdown": "| a | b |\n|---|---|\n| 7 | 8 |"}, where="comparison")
        show(cells, {"image/png": PIXEL, "text/plain": "not mine"}, where="words = [")

    edit(folder / "2_attention_from_scratch.ipynb", work)
    notebooks = [read_notebook(folder / f"{name}.ipynb") for name in reversed(NAMES)]
    parts = writeup.make_parts(notebooks)
    assert [part.name for part in parts] == NAMES, "in the assignment's order"
    body = parts[1].body
    assert body.index("Who helped you") < body.index("2.2 setup") < body.index("2.2 results")
    assert "<strong>of</strong>" in body and 'alt="e^{x}" src="data:image/png' in body
    assert "<code>\\weird{x}</code>" in body, "what cannot be drawn stays readable"
    assert body.count('<img class="figure"') == 1 and "not mine" not in body
    assert "<td>7</td>" in body and "script" not in body
    assert "not written" in parts[0].body


def test_figures_of_given_cells_are_printed_two_in_a_row(folder):
    """They are part of the notebook, and there are many of them; what students draw stays large."""

    def work(cells):
        show(cells, {"image/png": PIXEL}, where="history = train(")
        own = next(cell for cell in cells if cell.source == "comparison.figure")
        own.source += "  # and mine"
        show(cells, {"image/png": PIXEL}, where="# and mine")

    edit(folder / "2_attention_from_scratch.ipynb", work)
    (part,) = writeup.make_parts([read_notebook(folder / "2_attention_from_scratch.ipynb")])
    assert (part.given, part.figures) == (1, 1)
    assert part.body.count('<div class="given"><figure>') == 1
    assert part.body.count("<figure>") == 2


def test_it_is_told_when_the_pages_are_too_many(folder, capsys):
    edit(folder / "1_query_crafting.ipynb", lambda cells: write_answers(cells, "word " * 400))
    _, said = submit(folder, capsys)
    assert "1_query_crafting: answers and figures take about 8 pages, 3 are allowed." in said
    assert "Pages (estimated): 1_query_crafting 8, " in said


def test_a_browser_prints_it_and_pages_are_counted(tmp_path, capsys):
    printer = writeup.find_printer()
    if printer is None:
        pytest.skip("no browser and no WeasyPrint here")
    for name in NAMES[:2]:
        shutil.copy(RELEASE / f"{name}.ipynb", tmp_path)
    edit(tmp_path / f"{NAMES[0]}.ipynb", lambda cells: write_answers(cells, "long words " * 250))
    path, said = submit(tmp_path, capsys)
    with zipfile.ZipFile(path) as archive:
        pdf = archive.read("write-up.pdf")
        pages = json.loads(archive.read("manifest.json"))["pages"]
    assert pdf.startswith(b"%PDF") and writeup.count_pages(pdf) == sum(pages.values())
    assert pages[NAMES[0]] > 3 and pages[NAMES[1]] == 1
    assert f"{NAMES[0]}: answers and figures take {pages[NAMES[0]]} pages, 3 are allowed" in said


def test_a_browser_that_fails_is_no_reason_to_fail(folder, monkeypatch, capsys):
    def fail(document):
        raise OSError("it did not start")

    monkeypatch.setattr(writeup, "find_printer", lambda: fail)
    path, said = submit(folder, capsys)
    assert "write-up.html" in zipfile.ZipFile(path).namelist() and "open it and print" in said


# ------------------------------------------------------------------------- finding the notebook


def test_the_own_notebook_is_found(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    assert find_own_notebook("1_query_crafting").name == "1_query_crafting.ipynb"
    (folder / "1_query_crafting.ipynb").rename(folder / "mine.ipynb")
    assert find_own_notebook("1_query_crafting").name == "mine.ipynb"
    monkeypatch.setenv("JPY_SESSION_NAME", str(folder / "3_finetune_roberta.ipynb"))
    assert find_own_notebook("1_query_crafting").name == "3_finetune_roberta.ipynb"
    monkeypatch.delenv("JPY_SESSION_NAME")
    (folder / "mine.ipynb").unlink()
    with pytest.raises(HandInError, match=r"1_query_crafting.ipynb is not in"):
        find_own_notebook("1_query_crafting")


def pretend_colab(monkeypatch, content):
    colab = types.ModuleType("google.colab")
    colab._message = types.SimpleNamespace(blocking_request=lambda *a, **k: {"ipynb": content})
    colab.files = types.SimpleNamespace(download=lambda path: print(f"downloading {path}"))
    google = types.ModuleType("google")
    google.colab = colab
    monkeypatch.setitem(sys.modules, "google", google)
    monkeypatch.setitem(sys.modules, "google.colab", colab)


def test_in_colab_the_notebook_comes_from_the_page(folder, monkeypatch, capsys):
    content = json.loads((folder / "1_query_crafting.ipynb").read_text("utf-8"))
    (folder / "1_query_crafting.ipynb").unlink()
    monkeypatch.chdir(folder)
    pretend_colab(monkeypatch, content)
    assert find_own_notebook("1_query_crafting") == folder / "1_query_crafting.ipynb"
    submission.submit()
    assert "downloading" in capsys.readouterr().out
    assert len(list(folder.glob("1_*.ipynb"))) == 1, "our own copy may be replaced"
    (folder / "1_query_crafting.ipynb").write_text("{}")  # an upload of the student's
    find_own_notebook("1_query_crafting")
    assert (folder / "1_query_crafting (earlier 1).ipynb").read_text() == "{}"
    (folder / "2_attention_from_scratch.ipynb").unlink()
    submission.submit()
    assert "the last one finds them all" in capsys.readouterr().out
    sys.modules["google.colab"]._message = None
    with pytest.raises(HandInError, match=r"Download \.ipynb"):
        find_own_notebook("2_attention_from_scratch")


def test_the_cells_of_the_notebook_print_a_sentence_when_they_cannot(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    standing.check_notebook("1_query_crafting")
    submission.submit()
    said = capsys.readouterr().out
    assert "1_query_crafting.ipynb is not in" in said and "None of the course's notebooks" in said


def test_a_check_inside_a_check_does_nothing(monkeypatch, capsys):
    monkeypatch.setenv("COURSE_CHECKING", "1")
    standing.check_notebook("1_query_crafting")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "content, sentence",
    [
        (None, "There is no file"),
        ("{", "is not a notebook, or it was cut off"),
        ("[]", "is not a notebook of format 4"),
        ('{"cells": [], "metadata": {}}', "has no public checks"),
    ],
)
def test_check_says_what_is_wrong_with_a_file(tmp_path, capsys, content, sentence):
    path = tmp_path / "x.ipynb"
    if content is not None:
        path.write_text(content)
    assert main(["check", str(path)]) == 1
    said = capsys.readouterr().err
    assert sentence in said and "Traceback" not in said


def test_drive_is_not_looked_for_on_a_laptop(capsys):
    colab.prepare(keep_on_drive=True)
    said = capsys.readouterr().out
    assert "There is no Google Drive to mount here" in said and "is ready" in said


def test_a_drive_that_refuses_is_said(monkeypatch, capsys):
    pretend_colab(monkeypatch, {})

    def refuse(where):
        raise ValueError("mount failed")

    sys.modules["google.colab"].drive = types.SimpleNamespace(mount=refuse)
    colab.prepare(keep_on_drive=True)
    assert "Google Drive could not be used (mount failed)" in capsys.readouterr().out


def test_a_notebook_whose_cells_die_is_told_cell_by_cell(tmp_path, capsys, monkeypatch):
    notebook = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_code_cell("from course_utils.checks import check"),
            nbformat.v4.new_code_cell('check("q_select_first", ...)'),
            nbformat.v4.new_code_cell("import os; os._exit(1)"),
            nbformat.v4.new_code_cell('check("q_average_all", 1)'),
        ]
    )
    (tmp_path / "x.ipynb").write_text(nbformat.writes(notebook))
    monkeypatch.chdir(ROOT)
    standing.check_notebook(str(tmp_path / "x.ipynb"))  # as the notebook's last cell does
    first, *lines = capsys.readouterr().out.splitlines()
    assert first.startswith("A fresh kernel runs your notebook")
    assert lines[0].startswith("○ q_select_first: still `...`")
    assert lines[1].startswith("✘ q_average_all: could not be run, because cell 3 ended the kernel")
    assert lines[-2] == "x.ipynb: 0 of 2 public checks pass."
    assert lines[-1] == "The lines with ✘ and ○ say what to look at."


def test_rehearsals_are_not_called_by_the_name_of_what_they_rehearse():
    notebook = read_notebook(RELEASE / "2_attention_from_scratch.ipynb")
    labels = [cell.label for cell in notebook.cells if cell.role == "check"]
    assert labels.count("self_attention") == 1 and {"Test 1", "Test 2"} <= set(labels)


def test_without_a_kernel_check_says_what_to_do(tmp_path, capsys, monkeypatch):
    def fail(*arguments, **options):
        raise RuntimeError("No such kernel named python3")

    monkeypatch.setattr("nbclient.NotebookClient.setup_kernel", fail)
    cells = [nbformat.v4.new_code_cell('check("q_select_first", ...)')]
    path = tmp_path / "x.ipynb"
    path.write_text(nbformat.writes(nbformat.v4.new_notebook(cells=cells)))
    assert main(["check", str(path)]) == 1
    assert "No fresh kernel could be started (No such kernel" in capsys.readouterr().err


def test_a_link_is_not_packed(folder, capsys):
    secret = folder.parent / "secret.csv"
    secret.write_text("a classmate's predictions")
    (folder / "test_predictions.csv").symlink_to(secret)
    with pytest.raises(
        HandInError, match=r"test_predictions\.csv is a link, .* Put the file itself"
    ):
        make_submission(folder)
    assert not list(folder.glob("*.zip"))
    (folder / "test_predictions.csv").unlink()
    (folder / "test_predictions.csv").write_text("index,label")
    path, _ = submit(folder, capsys)
    assert "test_predictions.csv" in zipfile.ZipFile(path).namelist()


def test_no_word_of_an_answer_is_taken_for_a_formula():
    text = "FORMULA7X and FORMULA0X, 0123456789abcdefx0x, and $x$"
    page = writeup.render_markdown(text, {})
    assert "FORMULA7X and FORMULA0X, 0123456789abcdefx0x, and <img" in page


def test_an_answer_that_takes_too_long_is_shown_as_it_was_typed(monkeypatch):
    pictures = {"a.png": "data:image/png;base64," + "A" * 20_000_000}
    page = writeup.render_markdown("**mine** " + "![p](attachment:a.png)" * 1_000, pictures)
    assert "would have taken too long" in page and "**mine**" in page and len(page) < 30_000
    assert "<strong>" in writeup.render_markdown("**mine**", {})


def test_pages_are_counted_in_compressed_pdfs_too():
    """Where the list of pages is compressed, as WeasyPrint does it, no word of it is in the bytes."""
    writer = pypdf.PdfWriter()
    for _ in range(3):
        writer.add_blank_page(100, 100)
    plain = io.BytesIO()
    writer.write(plain)
    assert writeup.count_pages(plain.getvalue()) == 3
    compressed = make_compressed_pdf(4)
    assert b"/Page" not in compressed
    assert writeup.count_pages(compressed) == 4
    for damaged in (b"", b"%PDF-1.7 no", plain.getvalue()[:200]):
        with pytest.raises(ValueError, match=r"PDF|page"):
            writeup.count_pages(damaged)


def make_compressed_pdf(pages):
    """Return a PDF whose objects lie in a compressed object stream."""
    kids = " ".join(f"{3 + i} 0 R" for i in range(pages))
    objects = {1: "<</Type/Catalog/Pages 2 0 R>>", 2: f"<</Type/Pages/Kids[{kids}]/Count {pages}>>"}
    objects |= {3 + i: "<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>" for i in range(pages)}
    index, body = "", ""
    for number, words in objects.items():
        index += f"{number} {len(body)} "
        body += words + " "
    packed = zlib.compress((index + body).encode())
    pdf = b"%PDF-1.7\n"
    stream, table = len(objects) + 1, len(objects) + 2
    first = len(pdf)
    pdf += (f"{stream} 0 obj<</Type/ObjStm/N {len(objects)}/First {len(index)}/Filter/FlateDecode"
            f"/Length {len(packed)}>>stream\n").encode() + packed + b"\nendstream endobj\n"  # fmt: skip
    start = len(pdf)
    rows = struct.pack(">BHB", 0, 0, 0)
    rows += b"".join(struct.pack(">BHB", 2, stream, i) for i in range(len(objects)))
    rows += struct.pack(">BHB", 1, first, 0) + struct.pack(">BHB", 1, start, 0)
    rows = zlib.compress(rows)
    pdf += (f"{table} 0 obj<</Type/XRef/Size {table + 1}/W[1 2 1]/Root 1 0 R/Filter/FlateDecode"
            f"/Length {len(rows)}>>stream\n").encode() + rows + b"\nendstream endobj\n"  # fmt: skip
    return pdf + f"startxref\n{start}\n%%EOF\n".encode()
