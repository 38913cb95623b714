"""What an honest student may well hand in comes through unharmed: full marks, and a page that shows it all."""

import json

import nbformat
import pytest

from autograder.demo.personas import fill_in, solve_all
from tests.attacks.test_pages import PIXEL
from tests.conftest import FULL, run_autograder

pytestmark = pytest.mark.xdist_group("pages")
NAME = "1_query_crafting"
ANSWER = r"""My query is $q = 10\,k_0$, and
$$\alpha_i = \frac{\exp(q \cdot k_i)}{\sum_j \exp(q \cdot k_j)}$$

![what I drew](attachment:drawn.png)

<table><tr><th>key</th><th>weight</th></tr><tr><td>k<sub>0</sub></td><td>0.99</td></tr></table>
"""
SHOWS = """
from IPython.display import HTML, Latex, display
display(HTML("<table><tr><td><b>0.99</b></td></tr></table>"))
display(Latex(r"$\\alpha_0 \\approx 1$"))
for line in range(3000):
    print("line", line)
"""


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory, blueprint):
    """Pasted pictures, LaTeX, HTML tables, long outputs, 200 added cells; graded and fed back."""
    notebook = fill_in(blueprint, solve_all(blueprint), ANSWER)
    for cell in notebook.cells:
        if "attachment:drawn.png" in cell.source:
            cell.attachments = {"drawn.png": {"image/png": PIXEL}}
    added = [nbformat.v4.new_code_cell(SHOWS)]
    for number in range(100):
        added.append(nbformat.v4.new_code_cell(f"note_{number} = {number}"))
        added.append(
            nbformat.v4.new_markdown_cell(f"My note {number}: $x_{{{number}}}$ < 5 & *so on*")
        )
    for place, cell in enumerate(added):  # here and there, between the cells of the hand-out
        notebook.cells.insert(5 + (place * 7) % len(notebook.cells), cell)
    grading = tmp_path_factory.mktemp("honest")
    folder = grading / "submitted" / "ada" / "attention"
    folder.mkdir(parents=True)
    nbformat.write(notebook, folder / f"{NAME}.ipynb")
    done = run_autograder("grade", "--json", "--notebook", NAME, COURSE_GRADING=str(grading))
    assert done.returncode == 0, done.stderr
    fed = run_autograder("feedback", COURSE_GRADING=str(grading))
    assert fed.returncode == 0, fed.stderr
    page = grading / "feedback" / "ada" / "attention" / f"{NAME}.html"
    graded = nbformat.read(grading / "autograded" / "ada" / "attention" / f"{NAME}.ipynb", 4)
    results = [json.loads(line) for line in done.stdout.splitlines()]
    return next(r for r in results if "score" in r), graded, page.read_text("utf-8")


def test_it_gets_full_marks_and_no_cell_is_lost(handed_in):
    result, graded, _ = handed_in
    assert result["score"] == FULL
    sources = [cell.source for cell in graded.cells]
    assert sum(source.startswith("note_") for source in sources) == 100
    assert sum(source.startswith("My note ") for source in sources) == 100


def test_pictures_formulas_and_tables_are_kept(handed_in):
    _, graded, page = handed_in
    answers = [cell for cell in graded.cells if "attachment:drawn.png" in cell.source]
    assert answers and all(
        cell.attachments == {"drawn.png": {"image/png": PIXEL}} for cell in answers
    )
    assert all(r"\frac{\exp(q \cdot k_i)}" in cell.source for cell in answers)
    shown = next(cell for cell in graded.cells if cell.source.strip() == SHOWS.strip())
    text = str(shown.outputs)
    assert "<b>0.99</b>" in text and "alpha_0" in text
    assert "line 998" in text and "Output truncated" in text, (
        "a thousand lines: nbgrader's own limit"
    )
    assert PIXEL in page and r"\frac{\exp(q \cdot k_i)}" in page
    assert "<sub>0</sub>" in page and "0.99" in page
