"""A write-up from elsewhere, as LaTeX makes one: a PDF with words on its pages."""


def make_writeup(*pages):
    """Return a PDF with a page for each text."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Kids[{kids}]/Count {len(pages)}>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Times-Roman>>",
    ]
    for number, text in enumerate(pages):
        lines = "".join(f"({line}) Tj 0 -16 Td " for line in text.splitlines())
        shown = f"BT /F1 12 Tf 72 770 Td {lines}ET"
        objects.append(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F1 3 0 R>>>>"
            f"/Contents {5 + 2 * number} 0 R>>"
        )
        objects.append(f"<</Length {len(shown)}>>stream\n{shown}\nendstream")
    pdf, places = b"%PDF-1.5\n", []
    for number, words in enumerate(objects, start=1):
        places.append(len(pdf))
        pdf += f"{number} 0 obj{words}endobj\n".encode()
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    return (
        pdf
        + (
            f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
            f"trailer<</Size {len(objects) + 1}/Root 1 0 R>>\nstartxref\n{len(pdf)}\n%%EOF\n"
        ).encode()
    )
