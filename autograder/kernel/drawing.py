"""Draws PDFs, images and Word files of a student's, in a walled process that is given bytes alone.

Run by a worker of `course_utils.bounded`. What goes out is a new picture, plain text, or a sentence about
why not. This module imports little: a process of it is made for each file.
"""

from __future__ import annotations

import codecs
import io
import zipfile
from xml.parsers import expat

from autograder import budgets
from autograder.kernel import walls
from autograder.plain_text import clean_text

_WIDTH = 1_200  # pixels of a page
_KINDS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")
_WORDS = "word/document.xml"
_LARGEST_XML = 20 * 2**20
_FONTS = ["/usr/share/fonts", "/usr/local/share/fonts", "/etc/fonts"]


def begin() -> None:
    """Do each kind of work once, so that everything is loaded, then wall this process in."""
    import pypdfium2
    from PIL import Image

    pypdfium2.PdfDocument.new().new_page(9, 9).render().to_pil()
    for kind in _KINDS:
        made = io.BytesIO()
        Image.new("RGB", (2, 2)).save(made, kind)
        draw_image(made.getvalue(), 1)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(_WORDS, "<words/>")
    open_docx(made.getvalue())
    for name in ("cp437", "utf-16", "latin-1", "idna"):  # what texts may be written in
        codecs.lookup(name)
    walls.shut_in(_FONTS)


def open_pdf(content: bytes) -> dict:
    pdf, problem = _load(content)
    return {"problem": problem} if pdf is None else {"pages": len(pdf)}


def draw_pdf(content: bytes, page: int):
    pdf, problem = _load(content)
    if pdf is None or not 1 <= page <= len(pdf):
        return {"problem": problem or f"It has no page {page}."}
    found = pdf[page - 1]
    width, height = (max(1.0, size) for size in found.get_size())
    scale = min(_WIDTH / width, (budgets.MOST_PIXELS / (width * height)) ** 0.5)
    # Forms and what is set to run stay out: `init_forms` is never called.
    return _make_png(found.render(scale=scale, may_draw_forms=False).to_pil())


def _load(content: bytes):
    """Return an opened PDF, or None and a sentence."""
    import pypdfium2

    try:
        pdf = pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as problem:
        locked = "password" in str(problem).lower()
        why = "locked with a password" if locked else "damaged, or no PDF"
        return None, f"It is {why}, and was not opened."
    if len(pdf) > budgets.MOST_PAGES:
        return None, (
            f"It has {len(pdf):,} pages, more than {budgets.MOST_PAGES}, and was not opened."
        )
    if len(pdf) == 0:
        return None, "It has no page."
    return pdf, ""


def open_image(content: bytes) -> dict:
    drawn = draw_image(content, 1)
    return drawn if isinstance(drawn, dict) else {"pages": 1}


def draw_image(content: bytes, page: int):
    from PIL import Image, ImageOps

    Image.MAX_IMAGE_PIXELS = None  # counted here, before anything is decoded
    try:
        with Image.open(io.BytesIO(content), formats=_KINDS) as image:
            if image.width * image.height > budgets.MOST_PIXELS_READ:
                return {
                    "problem": f"It is a picture of {image.width:,} by {image.height:,} pixels, and was "
                    "not opened."
                }
            image.draft("RGB", (_WIDTH, _WIDTH))  # a JPEG is decoded as small as will do
            shown = ImageOps.exif_transpose(image.convert("RGB"))
    except MemoryError:
        raise
    except Exception:  # damaged in any of the many ways
        return {"problem": "It is damaged, or no picture, and was not opened."}
    scale = min(
        1.0, _WIDTH / shown.width, (budgets.MOST_PIXELS / (shown.width * shown.height)) ** 0.5
    )
    size = max(1, int(shown.width * scale)), max(1, int(shown.height * scale))
    return _make_png(shown if scale == 1.0 else shown.resize(size))


def _make_png(image) -> bytes:
    made = io.BytesIO()
    image.convert("RGB").save(made, "PNG")  # pixels alone: nothing else of the file comes along
    return made.getvalue()


def open_docx(content: bytes) -> dict:
    """Return the words of a Word file: of its one XML part, in which nothing may be defined."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive, archive.open(_WORDS) as part:
            xml = part.read(_LARGEST_XML + 1)
        if len(xml) > _LARGEST_XML:
            return {"problem": "Its text is far too long, and was not opened."}
        text = _read_words(xml)
    except MemoryError:
        raise
    except Exception:
        return {"problem": "It is damaged, locked or no Word file, and was not opened."}
    pictures = any("media/" in name for name in archive.namelist())
    words = text[: budgets.LONGEST_DOCUMENT]
    words += "\n[...]" if len(text) > len(words) else ""
    words += "\n[Its pictures and formulas are not shown here.]" if pictures else ""
    return {"text": clean_text(words).strip() or "[It holds no text.]"}


def _read_words(xml: bytes) -> str:
    parts: list[str] = []
    inside = [False]

    def start(name: str, _) -> None:
        tag = name.rpartition(":")[2]
        inside[0] = tag == "t"
        parts.append({"tab": "\t", "br": "\n", "cr": "\n"}.get(tag, ""))

    def end(name: str) -> None:
        inside[0] = False
        parts.append("\n" if name.rpartition(":")[2] == "p" else "")

    def refuse(*_) -> None:
        raise ValueError("a document type")

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = refuse  # without one there are no entities to expand
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = lambda text: parts.append(text) if inside[0] else None
    parser.Parse(xml, True)
    return "".join(parts)
