"""Rewrites: right code written otherwise, so that nothing about what it does is changed.

They stand for the habits of people who write good code: helpers, classes, prints, logging, hints,
asserts, decorators. A judge that refuses any of them wrongs somebody.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from autograder.python_text import drop_unreachable, parse

# Arguments that say what is so anyway.
_DEFAULTS = {
    "DataLoader": {"num_workers": "0", "drop_last": "False"}, "zero_grad": {"set_to_none": "True"},
    "softmax": {"dtype": "None"}, "backward": {"retain_graph": "None"}, "sorted": {"reverse": "False"},
    "cross_entropy": {"label_smoothing": "0.0"}, "Linear": {"device": "None"}, "split": {"maxsplit": "-1"},
    "argmax": {"keepdim": "False"}, "mean": {"dtype": "None"}, "enumerate": {"start": "0"},
}  # fmt: skip


@dataclass(frozen=True)
class Rewrite:
    """Right code, written otherwise."""

    kind: str
    code: str


def make_rewrites(code: str) -> list[Rewrite]:
    """Return rewrites of a cell that defines a function, a class or a variable, each text once."""
    base = ast.unparse(drop_unreachable(parse(code)))
    seen, rewrites = {base}, []
    for kind, make in _KINDS.items():
        for text in make(base):
            if text not in seen:
                seen.add(text)
                rewrites.append(Rewrite(kind, text))
    return rewrites


def _last(base: str) -> tuple[ast.Module, ast.stmt]:
    tree = parse(base)
    return tree, tree.body[-1]


def _name(statement: ast.stmt) -> str | None:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return statement.name
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id
    return None


def _list_functions(tree: ast.AST) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def _start(function: ast.FunctionDef) -> int:
    """Return the place of the first statement that is not the docstring."""
    first = function.body[0]
    is_doc = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return int(is_doc)


def _write(tree: ast.AST) -> str:
    return ast.unparse(ast.fix_missing_locations(tree))


# --------------------------------------------------------------------------- around a name


def _define_twice(base: str) -> Iterator[str]:
    _, last = _last(base)
    name = _name(last)
    if isinstance(last, ast.FunctionDef) and not last.decorator_list:
        yield f"def {name}(*arguments, **named):\n    raise NotImplementedError\n\n\n{base}"
    elif isinstance(last, ast.Assign) and name:
        yield f"{name} = [0.0, 0.0, 0.0]\n{base}"


def _decorate(base: str) -> Iterator[str]:
    _, last = _last(base)
    if not isinstance(last, ast.FunctionDef):
        return
    body = (
        "    def inner(*arguments, **named):\n"
        "        started = time.perf_counter()\n"
        "        result = function(*arguments, **named)\n"
        "        inner.seconds = time.perf_counter() - started\n"
        "        return result\n    return inner\n\n\n"
    )
    for wraps in ("", "    @functools.wraps(function)\n"):
        timed = f"import functools\nimport time\n\n\ndef timed(function):\n{wraps}{body}"
        yield f"{timed}{base}\n\n{last.name} = timed({last.name})"


def _extract(base: str) -> Iterator[str]:
    tree, last = _last(base)
    if not isinstance(last, ast.FunctionDef):
        return
    arguments = copy.deepcopy(last.args)
    given = ", ".join(
        a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    )
    name = last.name
    last.name = f"_{name}_helper"
    yield f"{_write(tree)}\n\ndef {name}({ast.unparse(arguments)}):\n    return _{name}_helper({given})"
    yield f"import functools\n{_write(tree)}\n\n{name} = functools.partial(_{name}_helper)"
    inside = "\n        ".join(ast.unparse(last).splitlines())
    yield (
        f"{_write(ast.Module(tree.body[:-1], []))}\nclass _{name.title()}Worker:\n"
        f"    def __call__(self, {ast.unparse(arguments)}):\n        {inside}\n"
        f"        return {last.name}({given})\n\n\n{name} = _{name.title()}Worker()"
    )
    yield f"{_write(tree)}\n\n{name} = lambda {ast.unparse(arguments)}: {last.name}({given})"


def _hold_device(base: str) -> Iterator[str]:
    """Keep the notebook's DEVICE in a partial or an object, instead of reading it each time."""
    tree, last = _last(base)
    if not isinstance(last, ast.FunctionDef) or last.decorator_list or "DEVICE" not in base:
        return
    name, given = last.name, ", ".join(a.arg for a in last.args.args)
    for node in ast.walk(last):
        if isinstance(node, ast.Name) and node.id == "DEVICE":
            node.id = "where"
    inside = copy.deepcopy(last)
    last.name = f"_{name}_there"
    last.args.args.insert(0, ast.arg("where"))
    yield f"import functools\n{_write(tree)}\n\n{name} = functools.partial(_{name}_there, DEVICE)"
    inside.name = "__call__"
    inside.args.args.insert(0, ast.arg("self"))
    inside.body.insert(_start(inside), parse("where = self.where").body[0])
    body = "\n    ".join(ast.unparse(inside).splitlines())
    yield (
        f"class _Placed:\n    def __init__(self, where):\n        self.where = where\n\n    {body}\n\n\n"
        f"{name} = _Placed(DEVICE)"
    )
    assert given is not None


def _subclass(base: str) -> Iterator[str]:
    _, last = _last(base)
    if isinstance(last, ast.ClassDef):
        yield f"{base}\n\n\nclass _Base({last.name}):\n    note = 'mine'\n\n\n_whole = {last.name}"


# ------------------------------------------------------------------------- inside functions


def _inside(change: Callable[[ast.FunctionDef], None]) -> Callable[[str], Iterator[str]]:
    def make(base: str) -> Iterator[str]:
        tree = parse(base)
        for function in _list_functions(tree):
            change(function)
        if _list_functions(tree):
            yield _write(tree)

    return make


def _say_something(function: ast.FunctionDef) -> None:
    lines = f"print('in {function.name}')\nlogging.getLogger(__name__).debug('called')"
    function.body[_start(function) : _start(function)] = parse(f"import logging\n{lines}").body


def _assert_something(function: ast.FunctionDef) -> None:
    names = [a.arg for a in function.args.args if a.arg not in ("self", "cls")]
    lines = (
        "\n".join(f"assert {name} is not None, 'give me {name}'" for name in names) or "assert True"
    )
    function.body[_start(function) : _start(function)] = parse(lines).body


def _log_tensors(function: ast.FunctionDef) -> None:
    """Keep a copy of every tensor on the CPU, as for a log or a picture."""
    log = "_log = {0}.detach().cpu() if hasattr({0}, 'detach') else None"

    def add(lines: list[ast.stmt]) -> None:
        for place in range(len(lines) - 1, -1, -1):
            statement = lines[place]
            for field in ("body", "orelse", "finalbody"):
                inner = getattr(statement, field, None)
                if isinstance(inner, list) and not isinstance(
                    statement, ast.FunctionDef | ast.ClassDef
                ):
                    add(inner)
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                lines.insert(place + 1, parse(log.format(statement.targets[0].id)).body[0])

    add(function.body)
    names = [a.arg for a in function.args.args if a.arg not in ("self", "cls")]
    for name in names[::-1]:
        function.body.insert(_start(function), parse(log.format(name)).body[0])


def _name_result(function: ast.FunctionDef) -> None:
    class Namer(ast.NodeTransformer):
        def visit_FunctionDef(self, node):  # not into functions inside
            return node if node is not function else self.generic_visit(node)

        def visit_Lambda(self, node):
            return node

        def visit_Return(self, node):
            if node.value is None:
                return node
            return [
                ast.Assign([ast.Name("the_result", ast.Store())], node.value),
                ast.Return(ast.Name("the_result", ast.Load())),
            ]

    Namer().visit(function)


def _wrap_in_try(function: ast.FunctionDef) -> None:
    start = _start(function)
    done = parse("finished = True").body
    function.body[start:] = [ast.Try(function.body[start:], [], [], done)]


def _add_hints(function: ast.FunctionDef) -> None:
    for argument in function.args.args:
        if argument.arg not in ("self", "cls"):
            argument.annotation = ast.Constant("Whatever | None")
    function.returns = ast.Constant("Whatever")


def _add_words(function: ast.FunctionDef) -> None:
    if not _start(function):
        function.body.insert(0, ast.Expr(ast.Constant("What this does, in my own words.")))


def _rename(base: str) -> Iterator[str]:
    """Give every local variable another name."""
    tree = parse(base)
    for function in _list_functions(tree):
        fixed = {a.arg for a in ast.walk(function) if isinstance(a, ast.arg)}
        declared = [n for n in ast.walk(function) if isinstance(n, ast.Global | ast.Nonlocal)]
        fixed |= {name for node in declared for name in node.names}
        stored = {
            node.id
            for node in ast.walk(function)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        } - fixed
        for node in ast.walk(function):
            if isinstance(node, ast.Name) and node.id in stored:
                node.id = f"my_{node.id}"
    yield _write(tree)


def _say_defaults(base: str) -> Iterator[str]:
    tree = parse(base)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        on_tensor = isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) not in (
            "F",
            "np",
        )
        said = {keyword.arg for keyword in node.keywords}
        for keyword, value in _DEFAULTS.get(name, {}).items():
            positional = len(node.args) > {"DataLoader": 3, "cross_entropy": 2}.get(
                name, 1 + (not on_tensor)
            )
            if keyword not in said and None not in said and not positional and _fits(name, node):
                node.keywords.append(ast.keyword(keyword, parse(value).body[0].value))
    yield _write(tree)


def _fits(name: str, call: ast.Call) -> bool:
    """Say whether this really is the torch function of that name, and not another's."""
    owner = ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    if name in ("mean", "argmax", "softmax"):
        return owner in ("torch", "torch.nn.functional", "F") and bool(call.keywords)
    if name == "zero_grad":
        return owner == "optimizer"
    return name != "split"


# -------------------------------------------------------------------------------- variables


def _write_value_otherwise(base: str) -> Iterator[str]:
    _, last = _last(base)
    name = _name(last)
    if not isinstance(last, ast.Assign) or name is None:
        return
    yield f"{base}\n{name} = torch.as_tensor({name})"
    yield f"{base}\n{name} = torch.as_tensor({name}).tolist()"
    yield f"{base}\n{name} = torch.as_tensor({name}).numpy()"
    yield f"{base}\n{name} = torch.as_tensor({name}).double()"
    yield f"def _make():\n    return {ast.unparse(last.value)}\n\n\n{name} = _make()"
    yield f"{base}\nprint({name})\nassert {name} is not None"


_KINDS: dict[str, Callable[[str], Iterator[str]]] = {
    "defined twice": _define_twice,
    "decorated": _decorate,
    "a helper, a partial, an object": _extract,
    "DEVICE in a partial or an object": _hold_device,
    "beside a subclass": _subclass,
    "with prints and logging": _inside(_say_something),
    "with asserts": _inside(_assert_something),
    "with copies on the CPU for a log": _inside(_log_tensors),
    "with a named result": _inside(_name_result),
    "in try and finally": _inside(_wrap_in_try),
    "with type hints": _inside(_add_hints),
    "with a docstring": _inside(_add_words),
    "renamed": _rename,
    "defaults said": _say_defaults,
    "a value in another form": _write_value_otherwise,
}
