"""Points without work: each try gains nothing, or is flagged in words that name the cell and what was seen."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from autograder.blueprint import load_blueprint, load_blueprints
from autograder.course import load_assignment
from autograder.demo.personas import fill_in, solve_all
from autograder.exercises import find_exercises
from autograder.grading.grade import grade_notebook
from autograder.intake.restore import restore
from autograder.proving.known import list_trials
from tests.conftest import ROOT

pytestmark = pytest.mark.xdist_group("cheats")


@dataclass(frozen=True)
class Cheat:
    """What somebody tries, in one cell of a notebook that holds no work otherwise."""

    name: str
    code: str
    flag: str = ""  # what the flag speaks of; nothing where nothing is gained
    cell: str = "q_select_first"
    assignment: str = "attention"
    notebook: str = "1_query_crafting"


def _in_second(name, code, flag="", cell="self_attention"):
    return Cheat(name, code, flag, cell, "attention", "2_attention_from_scratch")


_ASK = """
from course_utils.checks import check
import torch
for _ in range(3):
    q_select_first = 20 * torch.randn(3)
    try:
        check("q_select_first", q_select_first)
        break
    except Exception:
        pass
q_select_first = -q_select_first * 0
"""
_SDPA = """
def self_attention(Q, K, V, n_heads=1, causal=True):
    attend = getattr(torch.nn.functional, "scaled_dot" + "_product_attention")
    q, k, v = (x.unflatten(-1, (n_heads, -1)).transpose(1, 2) for x in (Q, K, V))
    return attend(q, k, v, is_causal=causal).transpose(1, 2).flatten(-2)
"""
# Those that were tried on an earlier version, by somebody who had read it.
NAMED = [
    Cheat("patches json.dumps", "import json\nold = json.dumps\njson.dumps = lambda *a, **k: old(*a, **k).replace('open', 'x')\nq_select_first = [0, 0, 0]", "json.dumps"),
    Cheat("asks the public check", _ASK),
    _in_second("library attention by halves of a name", _SDPA, "scaled_dot_product_attention"),
    _in_second("the package's own attention", "from course_utils.pretraining.model import torch_attention as self_attention"),
    Cheat("a hook that writes replies", "ip = get_ipython()\nold = ip.user_expressions\nip.user_expressions = lambda e: {k: {'status': 'ok', 'data': {'text/plain': '{}'}, 'metadata': {}} for k in e}\nq_select_first = 1", "user_expressions"),
]  # fmt: skip
# Twenty more of their kinds.
MORE = [
    Cheat("torch.softmax returns the target", "torch.softmax = lambda x, dim=-1: torch.eye(len(x))[0]\nq_select_first = torch.zeros(3)", "torch.softmax"),
    Cheat("Tensor.detach gives another tensor", "torch.Tensor.detach = lambda self: torch.tensor([17.0, 0, 0])\nq_select_first = torch.zeros(3)", "Tensor.detach"),
    Cheat("np.asarray gives other numbers", "import numpy as np\nold = np.asarray\nnp.asarray = lambda *a, **k: old([17.0, 0, 0])\nq_select_first = [0, 0, 0]", "numpy.asarray"),
    Cheat("callable says yes", "import builtins\nbuiltins.callable = lambda x: True\nq_select_first = [0, 0, 0]", "builtins.callable"),
    Cheat("JSONEncoder.default", "import json\njson.JSONEncoder.default = lambda self, o: 1\nq_select_first = 1", "JSONEncoder.default"),
    Cheat("hides a builtin in a module", "import base64\nbase64.isinstance = lambda *a: True\nq_select_first = 1", "base64.isinstance"),
    Cheat("the formatter of IPython", "from IPython.core.formatters import PlainTextFormatter\nPlainTextFormatter.__call__ = lambda self, o: '{\"q_select_first\": 1}'\nq_select_first = 1", "PlainTextFormatter.__call__"),
    Cheat("b64encode", "import base64\nbase64.b64encode = lambda b: b'AAAA'\nq_select_first = 1", "base64.b64encode"),
    Cheat("asks the question itself", "import sys\ntry:\n    print(sys.modules['_course_' + 'question'].answer('', 'n', 'def probe(n, i): return {}', '{}', ''))\nexcept Exception as e:\n    print(e)\nq_select_first = 1"),
    Cheat("puts a module in the question's place", "import sys, types\nm = types.ModuleType('x')\nm.answer = lambda *a: '{\"q_select_first\": 1}'\nsys.modules['_course_question'] = m\nq_select_first = 1", "_course_question"),
    Cheat("looks for the key among all objects", "import gc\nfound = [o for o in gc.get_objects() if isinstance(o, bytes) and len(o) == 32]\nq_select_first = 1", "get_objects"),
    Cheat("frames by halves of a name", "import sys\nclass Q(list):\n    def __iter__(self):\n        getattr(sys, '_get' + 'frame')(1)\n        return iter([0.0, 0.0, 0.0])\nq_select_first = Q()\ngetattr(sys, '_get' + 'frame')(0)", "frames"),
    Cheat("the frame of a traceback", "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    f = e.__traceback__.tb_frame.f_back\nq_select_first = 1", "frames"),
    Cheat("opens the closure", "import sys\nk = sys.modules.get('_course_question').answer.__closure__\nq_select_first = 1", "_course_question"),
    Cheat("a table beside the notebook", "import os, json\nq_select_first = json.load(open('answers.json')) if os.path.exists('answers.json') else 0"),
    Cheat("examines by itself", "from course_utils.checks import query_crafting\nq_select_first = next(q for q in [[0, 0, 0], [1, 0, 0]] if query_crafting.examine('q_select_first', q).passed)"),
    Cheat("prints a score", "print(2.0)\n2.0"),
    Cheat("reads the answers' file", "from course_utils.checks.answer_numbers import load_answers\nprint(load_answers('attention').keys())\nq_select_first = 1"),
    _in_second("MultiheadAttention", "def self_attention(Q, K, V, n_heads=1, causal=True):\n    return nn.MultiheadAttention(Q.shape[-1], n_heads, batch_first=True)(Q, K, V)[0]", "MultiheadAttention"),
    _in_second("through torch.ops", "def self_attention(Q, K, V, n_heads=1, causal=True):\n    q, k, v = (x.unflatten(-1, (n_heads, -1)).transpose(1, 2) for x in (Q, K, V))\n    return torch.ops.aten.scaled_dot_product_attention(q, k, v, None, 0.0, causal).transpose(1, 2).flatten(-2)", "scaled_dot_product_attention"),
]  # fmt: skip
HONEST = {
    "patches a class of one's own": "class A:\n    def f(self): return 1\nA.f = lambda self: 2\nA().f()",
    "reads a function of one's own": "import inspect\ndef f(): return 1\nprint(inspect.getsource(f), inspect.signature(f))",
    "a debugger that is there": "import pdb\nd = pdb.Pdb()\nd.reset()",
    "collects garbage": "import gc\ngc.collect()\ngc.disable()\ngc.enable()",
    "logs and warns": "import logging, warnings\nlogging.warning('x')\nwarnings.warn('y')",
    "named tuples and data classes": "from collections import namedtuple\nfrom dataclasses import dataclass\nP = namedtuple('P', 'x')\n@dataclass\nclass D:\n    x: int = 1",
    "shows a traceback": "import traceback\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    traceback.print_exc()",
    "sets print options": "torch.set_printoptions(precision=3)\nimport numpy as np\nnp.set_printoptions(precision=3)",
    "a print of one's own": "import functools\nprint = functools.partial(print, flush=True)",
    "writes json": "import json\njson.dumps({'a': 1})",
    "pandas-like copies": "import copy\ncopy.deepcopy({'a': torch.ones(3)})",
    "wakes a part of PyTorch that exchanges torch.manual_seed": "import torch._dynamo\ntorch.manual_seed(0)",
    "times itself": "%timeit -n 1 -r 1 1 + 1",
}  # fmt: skip


def _grade(assignment, notebook, codes, folder=None):
    blueprint = load_blueprint(load_assignment(assignment, ROOT), notebook)
    return grade_notebook(restore(fill_in(blueprint, codes), blueprint), blueprint, folder)


def _try(cheat):
    result = _grade(cheat.assignment, cheat.notebook, {cheat.cell: cheat.code})
    return cheat, result.score, result.flags


def test_no_cheat_gains_a_point_unseen():
    with ThreadPoolExecutor(3) as pool:
        tried = list(pool.map(_try, [*NAMED, *MORE]))
    for cheat, score, flags in tried:
        assert score == 0 or flags, cheat.name
        if cheat.flag:
            assert any(cheat.flag in flag for flag in flags), (cheat.name, flags)
            assert any("ell " in flag or cheat.cell in flag for flag in flags), flags
    gained = {cheat.name for cheat, score, _ in tried[len(NAMED) :] if score}
    assert len(MORE) == 20 and len(gained) <= 8, gained


def test_a_table_beside_the_same_notebook_meets_other_questions(tmp_path):
    from autograder.grading.secret import draw_seed

    blueprint = load_blueprint(load_assignment("attention", ROOT), "1_query_crafting")
    notebook = fill_in(blueprint, {})
    alone = draw_seed(tmp_path, blueprint, notebook, None)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "answers.json").write_text("[]")
    assert draw_seed(tmp_path, blueprint, notebook, tmp_path / "work") != alone


def test_honest_uses_raise_no_flag():
    blueprint = load_blueprint(load_assignment("attention", ROOT), "1_query_crafting")
    right = solve_all(blueprint)
    code = "\n".join(HONEST.values())
    result = _grade("attention", "1_query_crafting", right | {"q_select_first": f"{code}\n{right['q_select_first']}"})  # fmt: skip
    assert result.flags == [] and result.score == result.max_score


@pytest.mark.landing
@pytest.mark.timeout(3600)
def test_two_hundred_honest_notebooks_raise_no_flag():
    tried = 0
    for assignment in ("attention", "attention_at_work"):
        for blueprint in load_blueprints(load_assignment(assignment, ROOT)).values():
            watched = {n for e in find_exercises(blueprint.exercises).values() for n in e.watched}
            trials = [t for t in list_trials(blueprint) if t.is_right or not watched]
            # What calls a library's attention where it was to be written is flagged, right as it is.
            trials = [t for t in trials if not any(n in str(t.codes) for n in watched)]
            for trial in trials[:40]:
                result = _grade(assignment, blueprint.name, solve_all(blueprint) | trial.codes)
                assert result.flags == [], (trial.codes, result.flags)
                tried += 1
    assert tried >= 200
