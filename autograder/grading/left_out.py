"""Names of sections that grading does not run: a student's code may still mention them.

What `main` does may well print a model's name or save a tokenizer beside the model. What such a section
imports, and its functions and classes, are there; other names of it get stand-ins whose methods take
any call and do nothing, and whoever wants more of one is told what it is.
"""

from __future__ import annotations

import ast
import builtins
import symtable
import textwrap
from collections.abc import Iterable

from nbformat import NotebookNode

from autograder.blueprint import is_kept
from autograder.python_text import parse

# Runs in the student's kernel, as a cell of its own.
_STAND_INS = '''
class _LeftOut:
    """Stands in for something that is made in a section which grading does not run."""

    def __init__(self, name):
        self.__dict__["_name"] = name

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(self)(f"{self._name}.{name}")

    def __setattr__(self, name, value):
        pass

    def __call__(self, *arguments, **named):
        return self if "." in self._name else self._refuse()

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        return False

    def __repr__(self):
        return self._name

    __str__ = __fspath__ = __repr__

    def __format__(self, how):
        return self._name

    def _refuse(self, *others):
        raise NameError(
            f"name '{self._name}' is not defined here: it is made in a section that grading does not run. "
            "Use what the function is given."
        )

    __iter__ = __len__ = __getitem__ = __contains__ = __bool__ = __int__ = __float__ = __index__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = _refuse


for _name in {names!r}:
    globals()[_name] = _LeftOut(_name)
del _LeftOut
'''


def write_stand_ins(cells: Iterable[NotebookNode]) -> str:
    """Return code that makes up for names which only cells that are not run define; none, if all is there."""
    made: dict[str, str] = {}  # what is imported, or defined as a function or class, and how
    left_out, defined, used = set(), set(dir(builtins)), set()
    for cell in cells:
        tree = _read(cell)
        if is_kept(cell):
            left_out |= _list_assigned(tree)
            made |= _list_made(tree)
        else:
            defined |= _list_assigned(tree) | _list_made(tree).keys()
            used |= _find_globals(ast.unparse(tree))
            if cell.metadata.get("nbgrader", {}).get("solution"):
                defined |= _list_parameters(tree)
    wanted = (left_out | made.keys()) & used - defined
    lines = [
        f"try:\n{textwrap.indent(made[name], '    ')}\nexcept Exception:\n    pass"
        for name in sorted(wanted & made.keys())
    ]
    names = sorted(wanted - made.keys())
    if names:  # compiled under our name: an error in there is shown by the student's own line
        stand_ins = _STAND_INS.replace("{names!r}", repr(names))
        lines.append(f"exec(compile({stand_ins!r}, '<course>', 'exec'), globals())")
    return "\n".join(lines)


def _list_assigned(tree: ast.Module) -> set[str]:
    """Return the names that a cell assigns at its top level, inside loops and conditions too."""
    return {
        symbol.get_name()
        for symbol in symtable.symtable(ast.unparse(tree), "<cell>", "exec").get_symbols()
        if symbol.is_assigned()
    }


def _list_parameters(tree: ast.Module) -> set[str]:
    """Return what functions are given. Whoever reaches past a parameter is told so by Python."""
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return {
        node.arg
        for function in functions
        for node in ast.walk(function.args)
        if isinstance(node, ast.arg)
    }


def _find_globals(source: str) -> set[str]:
    """Return the names that code reads from the notebook: not its parameters or local variables."""
    names, tables = set(), [symtable.symtable(source, "<cell>", "exec")]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        at_top = table.get_type() == "module"
        names |= {
            symbol.get_name()
            for symbol in table.get_symbols()
            if symbol.is_referenced() and (at_top or symbol.is_global())
        }
    return names


def _read(cell: NotebookNode) -> ast.Module:
    try:
        return parse(cell.source if cell.cell_type == "code" else "")
    except SyntaxError:  # a line for the shell, or half a sentence
        return ast.Module([], [])


def _list_made(tree: ast.Module) -> dict[str, str]:
    """Return the names that a cell imports, or defines as a function or class, and the statement for each."""
    made = {}
    for statement in tree.body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            for alias in statement.names:
                name = (alias.asname or alias.name).partition(".")[0]
                made[name] = ast.unparse(statement)
        elif isinstance(statement, ast.FunctionDef | ast.ClassDef):
            made[statement.name] = ast.unparse(statement)
    return made
