"""PDFs, images and Word files as pictures and words, whatever is in them."""

import io
import socket
import struct
import zipfile
import zlib

import pypdf
import pytest
from PIL import Image

from autograder import budgets
from autograder.course import CourseError
from autograder.intake.writeups import KINDS, WriteUp
from autograder.kernel import nursery, walls
from autograder.marking.documents import draw, open_document
from course_utils.bounded import Worker

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def put(folder, name, content):
    path = folder / name
    path.write_bytes(content)
    return WriteUp(name, KINDS[path.suffix], len(content), False, path)


def make_pdf(pages=2, size=(595, 842), password=None):
    writer = pypdf.PdfWriter()
    for _ in range(pages):
        writer.add_blank_page(*size)
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    made = io.BytesIO()
    writer.write(made)
    return made.getvalue()


def make_image(kind="PNG", size=(30, 20), **options):
    made = io.BytesIO()
    Image.new("RGB", size, "red").save(made, kind, **options)
    return made.getvalue()


def make_png_bomb(width, height):
    def chunk(name, data):
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0" * 10**6))
    )


def make_docx(xml, **more):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", xml)
        for name, content in more.items():
            archive.writestr(name, content)
    return made.getvalue()


def test_pages_of_a_pdf_become_new_pictures(tmp_path):
    found = put(tmp_path, "a.pdf", make_pdf(3))
    assert open_document(found).pages == 3 and not open_document(found).problem
    image = Image.open(io.BytesIO(draw(found, 2)))
    assert (image.format, image.width) == ("PNG", 1200)
    with pytest.raises(CourseError, match="no page 4"):
        draw(found, 4)


def test_a_pdf_inside_a_zip_is_shown(tmp_path):
    with zipfile.ZipFile(tmp_path / "work.zip", "w") as archive:
        archive.writestr("a.pdf", make_pdf(1))
    found = WriteUp("work.zip: a.pdf", "pdf", 1, False, tmp_path / "work.zip", "a.pdf")
    assert open_document(found).pages == 1 and draw(found, 1).startswith(b"\x89PNG")


REFUSED = {
    "damaged": ("a.pdf", lambda: b"%PDF-1.4 no", "damaged"),
    "empty": ("a.pdf", lambda: b"", "damaged"),
    "locked": ("a.pdf", lambda: make_pdf(password="secret"), "password"),
    "long": ("a.pdf", lambda: make_pdf(1000), "1,000 pages"),
    "no picture": ("a.png", lambda: b"GIF89a no", "damaged"),
    "half a picture": ("a.png", lambda: make_image(size=(300, 300))[:80], "damaged"),
    "another kind": ("a.png", lambda: b"%!PS-Adobe-3.0 EPSF-3.0\n(x) run", "damaged"),
    "bomb": ("a.png", lambda: make_png_bomb(60_000, 60_000), "60,000 by 60,000"),
    "no word file": ("a.docx", lambda: b"PK no", "damaged"),
    "a zip alone": ("a.docx", lambda: make_docx("").replace(b"document", b"dokument"), "damaged"),
    "entities": ("a.docx", lambda: make_docx(f'<!DOCTYPE d [<!ENTITY a "{"x" * 999}">]><d>{"&a;" * 999}</d>'),
                 "damaged"),
    "entities in another encoding": ("a.docx", lambda: make_docx(
        '<?xml version="1.0" encoding="utf-16"?><!DOCTYPE d [<!ENTITY a "x">]><d>&a;</d>'.encode("utf-16")), "damaged"),
    "long text": ("a.docx", lambda: make_docx("<d>" + " " * 30_000_000 + "</d>"), "far too long"),
    "old kind": ("a.doc", lambda: b"\xd0\xcf\x11\xe0", "not shown here"),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_shown_is_said(tmp_path, kind):
    name, make, words = REFUSED[kind]
    found = open_document(put(tmp_path, name, make()))
    assert words in found.problem and found.pages == 0 and not found.text


def test_a_file_that_is_gone_or_a_link_is_said(tmp_path):
    found = put(tmp_path, "a.pdf", make_pdf(1))
    found.path.unlink()
    assert "does not exist" in open_document(found).problem
    (tmp_path / "real.pdf").write_bytes(make_pdf(1))
    found.path.symlink_to(tmp_path / "real.pdf")
    assert "link" in open_document(found).problem


@pytest.mark.parametrize("size", [(14_400, 14_400), (3, 14_400), (0.01, 0.01)], ids=str)
def test_a_page_of_any_size_is_drawn_within_the_limits(tmp_path, size):
    found = put(tmp_path, "a.pdf", make_pdf(1, size))
    image = Image.open(io.BytesIO(draw(found, 1)))
    assert image.width * image.height <= budgets.MOST_PIXELS * 1.01


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF"])
def test_images_are_made_anew(tmp_path, kind):
    hidden = b"<script>alert(1)</script>"
    found = put(tmp_path, f"a.{kind.lower()}", make_image(kind, (3000, 2000)) + hidden)
    made = draw(found, 1)
    image = Image.open(io.BytesIO(made))
    assert (image.format, image.size) == ("PNG", (1200, 800)) and hidden not in made
    assert image.getpixel((600, 400))[0] > 200


def test_the_words_of_a_word_file(tmp_path):
    body = (f'<w:document xmlns:w="{W}"><w:p><w:r><w:t>One &lt;b&gt;</w:t><w:tab/><w:t>two</w:t></w:r></w:p>'
            "<w:p><w:del><w:delText>gone</w:delText></w:del><w:t>three</w:t></w:p></w:document>")  # fmt: skip
    found = open_document(put(tmp_path, "a.docx", make_docx(body, **{"word/media/a.png": b"x"})))
    assert found.text.startswith("One <b>\ttwo\nthree") and "gone" not in found.text
    assert "pictures and formulas are not shown" in found.text


def test_what_takes_too_long_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(budgets, "DRAW_SECONDS", 0.001)
    found = put(tmp_path, "a.jpeg", make_image("JPEG", (7000, 7000)))
    assert "more time or memory" in open_document(found).problem


@pytest.mark.skipif(
    not nursery.is_possible() or walls.landlock_version() < 4, reason="this needs Linux's Landlock"
)
def test_the_process_that_opens_them_is_walled_in(tmp_path):
    tmp_path.chmod(0o777)
    (tmp_path / "secret").write_text("x")
    (tmp_path / "secret").chmod(0o666)
    with socket.create_server(("127.0.0.1", 0)) as server:
        worker = Worker("tests.autograder.kernel.shut_in")
        tried = [("write", tmp_path), ("read", tmp_path / "secret"), ("fork", ""),
                 ("connect", server.getsockname()[1])]  # fmt: skip
        said = {what: worker.call("attempt", what, str(where)) for what, where in tried}
        worker.end()
    assert "done" not in said.values(), said
    assert not (tmp_path / "left-behind").exists()
