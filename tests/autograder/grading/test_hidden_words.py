"""What the judge asks with is not shown, neither in a message nor in an output."""

from nbformat.v4 import new_output

from autograder.blueprint import load_blueprint
from autograder.demo.personas import fill_in, solve_all
from autograder.exercises import find_exercises
from autograder.grading.grade import grade_notebook
from autograder.grading.hidden_words import INSTEAD, HiddenWords
from autograder.intake.restore import restore

PROGRAM = """
def probe(namespace, inputs):
    values = namespace["attn_softmax"](inputs["hidden scores"])
    return {"values": values, "said 'so'": inputs["hidden scores"] + 1}
"""
LINE = 'values = namespace["attn_softmax"](inputs["hidden scores"])'


def test_a_line_of_a_program_is_not_shown():
    hidden = HiddenWords([PROGRAM], visible=["x = 1"])
    for text in (LINE, f"Error: {PROGRAM!r}", PROGRAM):
        assert hidden.strip_messages([text]) == [INSTEAD]
        output = new_output("stream", name="stdout", text=text)
        assert hidden.strip_outputs([output])[0].text == INSTEAD + "\n"
    shown = new_output("display_data", data={"text/html": f"<b>{LINE}</b>", "image/png": "x"})
    assert "hidden scores" not in str(hidden.strip_outputs([shown]))


def test_what_a_student_wrote_too_and_short_words_stay():
    hidden = HiddenWords([PROGRAM], visible=[f"def mine():\n    {LINE}"])
    assert hidden.strip_messages([LINE, "def probe(namespace"]) == [LINE, "def probe(namespace"]


def test_a_message_is_one_line_of_some_length():
    (message,) = HiddenWords([], []).strip_messages(["a\nb \x1b[31m" + "x" * 5000])
    assert "\n" not in message and "\x1b" not in message and len(message) == 400


SPY = """
import sys
seen = []
class Spy(list):
    def __len__(self):
        frame = sys._getframe()
        while frame:
            seen.extend(str(v) for v in frame.f_locals.values() if "def probe" in str(v))
            frame = frame.f_back
        return list.__len__(self)
    def __iter__(self):
        len(self)
        return list.__iter__(self)
q_select_first = Spy([0.0, 0.0, 0.0])
"""


def test_a_program_read_on_the_stack_cannot_be_printed_later(assignment):
    blueprint = load_blueprint(assignment, "1_query_crafting")
    codes = solve_all(blueprint) | {
        "q_select_first": SPY,
        "Q_identity": "print(*seen)\nQ_identity = 1",
    }
    restored = restore(fill_in(blueprint, codes), blueprint)
    result = grade_notebook(restored, blueprint, None)
    text = str(restored.notebook.cells)
    assert INSTEAD in text, "the spy saw a program, and it was not shown"
    assert "def probe(namespace, inputs)" not in text + str(result.to_dict())


def test_an_errors_words_are_bounded_and_quote_no_program(assignment):
    blueprint = load_blueprint(assignment, "1_query_crafting")
    loud = SPY.replace("        frame = sys", "        seen.clear()\n        frame = sys").replace(
        "        return list.__len__(self)\n", "        raise ValueError(' '.join(seen))\n"
    )
    codes = {"q_select_first": loud, "Q_identity": "raise ValueError('long ' * 60_000)"}
    notebook = fill_in(blueprint, codes)
    cells = grade_notebook(restore(notebook, blueprint), blueprint, folder=None).cells
    long = cells["test_Q_identity"]
    assert long["diagnosis"] == "cell-raised" and max(map(len, long["messages"])) <= 400
    program = find_exercises(blueprint.exercises)["q_select_first"].program
    assert not any(line.strip() in str(cells) for line in program.splitlines() if len(line) > 40)
