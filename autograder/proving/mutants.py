"""Mutants: right code with one thing changed, written by program, one kind of slip at a time.

Each function below takes a syntax tree and yields it changed in one place. What only shows (prints,
progress bars, docstrings, type hints, messages) is left alone, because changing it changes nothing.
"""

from __future__ import annotations

import ast
import copy
import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from autograder.python_text import drop_unreachable, parse

# Names whose calls only show something: neither they nor what is inside them is changed.
SHOWING = {"print", "tqdm", "set_postfix", "set_description", "debug", "info", "warning", "warn"}

# Methods and functions, and what somebody might write in their place.
NEIGHBOURS = {
    "mean": ("sum", "max"), "sum": ("mean", "max"), "max": ("min",), "min": ("max",),
    "argmax": ("argmin",), "train": ("eval",), "eval": ("train",), "tril": ("triu",),
    "triu": ("tril",), "softmax": ("log_softmax",), "float": ("long",), "long": ("float",),
    "cat": ("stack",), "stack": ("cat",), "extend": ("append",), "sqrt": ("square",),
    "exp": ("log",), "log": ("exp",), "ones": ("zeros",), "zeros": ("ones",),
    "ones_like": ("zeros_like",), "zeros_like": ("ones_like",), "relu": ("sigmoid", "abs"),
    "tanh": ("sigmoid",), "no_grad": ("enable_grad",), "inference_mode": ("enable_grad",),
    "randint": ("randrange",), "ljust": ("rjust",), "rjust": ("ljust",), "most_common": ("items",),
    "strip": ("lstrip", "lower"), "encode": ("decode",), "append": ("remove",),
    "shape": ("stride",), "masked_fill": ("masked_fill_",), "var": ("std",),
    "all": ("any",), "any": ("all",), "eq": ("ne",), "ne": ("eq",), "gt": ("ge", "lt"),
    "transpose": ("reshape",), "flatten": ("ravel",), "outer": ("dot",), "eye": ("ones",),
    "pvariance": ("variance",), "fmean": ("median",), "norm": ("sum",), "len": ("sum",),
    "zero_grad": ("step",), "full": ("full_like",), "randrange": ("randint",),
    "cross_entropy": ("nll_loss",), "SequentialSampler": ("RandomSampler",),
}  # fmt: skip
# Calls whose first two arguments may stand in either order.
SYMMETRIC = {
    "cat",
    "isinstance",
    "zip",
    "max",
    "min",
    "compute_accuracy",
    "equal",
    "dot",
    "maximum",
    "transpose",
    "swapaxes",
    "mul",
    "add",
}
# Parameters that hold something which a function could change in place, and whoever called would see.
CHANGEABLE = {"Q", "K", "V", "A", "x", "y", "mask", "X", "means", "predictions", "labels", "hidden",
              "encoder_outputs", "logits", "targets", "source", "losses", "train_answers", "questions",
              "answers", "places", "w1", "w2", "u_a", "u_b"}  # fmt: skip
# Words that stand for one another's choice: splits, reports, parts of a batch.
WORDS = {
    "train": ("validation", "test"), "validation": ("train", "test"), "test": ("validation",),
    "loss": ("accuracy",), "accuracy": ("loss",), "epoch": ("epochs",),
    "text_encoding": ("label_encoding",), "label_encoding": ("text_encoding",),
    "input_ids": ("attention_mask",), "attention_mask": ("input_ids",), "mean": ("variance", "sum"),
    "variance": ("mean",), "sum": ("mean",), "pt": ("np",), "-inf": ("inf", "0"), "logits": ("loss",),
}  # fmt: skip
# Calls that only hand on what they get: leaving them out is a slip of its own.
HANDING_ON = {"clone", "detach", "contiguous", "item", "float", "long", "to", "cpu", "copy", "int",
              "list", "str", "iter", "tolist", "double", "strip", "unsqueeze", "squeeze", "clamp",
              "deepcopy", "max", "min", "round", "sorted", "set"}  # fmt: skip
_COMPARISONS = {
    ast.Gt: (ast.GtE, ast.Lt), ast.GtE: (ast.Gt, ast.LtE), ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE), ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
}  # fmt: skip
_OPERATORS = {
    ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Div, ast.Add), ast.Div: (ast.Mult, ast.FloorDiv),
    ast.FloorDiv: (ast.Div, ast.Mod), ast.Mod: (ast.FloorDiv,), ast.Pow: (ast.Mult,),
    ast.MatMult: (ast.Mult,), ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,),
}  # fmt: skip
_IN_PLACE = {ast.Add: "add_", ast.Sub: "sub_", ast.Mult: "mul_", ast.Div: "div_"}


@dataclass(frozen=True)
class Mutant:
    """Right code with one thing changed."""

    kind: str  # which slip it is
    code: str
    base: str  # the right code it was made from, written the same way

    @property
    def change(self) -> str:
        """The lines that were taken out and put in, as `- old` and `+ new`."""
        lines = difflib.ndiff(self.base.splitlines(), self.code.splitlines())
        kept = [line for line in lines if line[:1] in "+-"]
        return "\n".join(f"{line[0]} {line[2:].strip()}" for line in kept)


def make_mutants(code: str, within: Callable[[ast.AST], bool] | None = None) -> list[Mutant]:
    """Return every mutant of some code, each text once.

    `within` chooses definitions: only what stands inside one that it accepts is changed.
    """
    base = ast.unparse(drop_unreachable(parse(code)))
    seen, mutants = {_normalise(base)}, []
    for kind, make in _KINDS.items():
        for tree in make(parse(base)):
            text = ast.unparse(ast.fix_missing_locations(tree))
            key = _normalise(text)
            if key is None or key in seen:
                continue
            seen.add(key)
            if within is None or _changed_within(base, text, within):
                mutants.append(Mutant(kind, text, base))
    return mutants


def choose(mutants: list[Mutant], most: int) -> list[Mutant]:
    """Return at most so many mutants, of all kinds alike and spread over the code."""
    by_kind: dict[str, list[Mutant]] = {}
    for mutant in mutants:
        by_kind.setdefault(mutant.kind, []).append(mutant)
    while sum(map(len, by_kind.values())) > most:
        longest = max(by_kind, key=lambda kind: len(by_kind[kind]))
        left = by_kind[longest]
        left.pop((7 * len(left)) % len(left) if len(left) < 3 else len(left) * 3 // 5)
    return [mutant for mutant in mutants if mutant in by_kind[mutant.kind]]


def _normalise(text: str) -> str | None:
    """Return what tells a program from others, or None when it is none."""
    try:
        compile(text, "<mutant>", "exec")
        return ast.dump(parse(text))
    except (SyntaxError, ValueError):
        return None


def _changed_within(base: str, text: str, within) -> bool:
    """Say whether two programs differ only inside the chosen definitions."""
    return _dump_without(base, within) == _dump_without(text, within)


def _dump_without(text: str, within) -> str:
    tree = parse(text)
    for node in ast.walk(tree):
        if hasattr(node, "body") and isinstance(node.body, list):
            node.body = [child for child in node.body if not within(child)] or [ast.Pass()]
    return ast.dump(tree)


# ------------------------------------------------------------------------------ walking trees


def _places(tree: ast.AST) -> list[ast.AST]:
    """Return the nodes in which a slip could matter, in order."""
    found: list[ast.AST] = []

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.Call) and _name_of(node.func) in SHOWING - {"tqdm"}:
            return
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return  # a docstring
        if isinstance(node, ast.Assert | ast.Raise | ast.Import | ast.ImportFrom):
            return
        found.append(node)
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "type_comment", "format_spec"):
                continue
            if isinstance(node, ast.Call) and _name_of(node.func) == "tqdm" and name == "keywords":
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    visit(child)

    visit(tree)
    return found


def _name_of(function: ast.AST) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _each(
    tree: ast.Module, wanted: type | tuple[type, ...]
) -> Iterator[tuple[ast.Module, ast.AST]]:
    """Yield a fresh copy of the tree and in it, one after the other, each node of a type."""
    for number, node in enumerate(_places(tree)):
        if isinstance(node, wanted):
            fresh = copy.deepcopy(tree)
            yield fresh, _places(fresh)[number]


def _replace(tree: ast.AST, old: ast.AST, new: ast.AST) -> None:
    class Replacer(ast.NodeTransformer):
        def visit(self, node):
            return new if node is old else super().visit(node)

    Replacer().visit(tree)


def _bodies(tree: ast.Module) -> list[list[ast.stmt]]:
    """Return every list of statements, the module's own left out."""
    lists = []
    for node in _places(tree):
        if isinstance(node, ast.Module | ast.ClassDef):
            continue
        for name in ("body", "orelse", "finalbody"):
            value = getattr(node, name, None)
            if isinstance(value, list) and value:
                lists.append(value)
    return lists


def _shows_only(statement: ast.stmt) -> bool:
    """Say whether a statement does nothing but tell, check or document."""
    if isinstance(statement, ast.Assert | ast.Import | ast.ImportFrom | ast.Pass):
        return True
    if not isinstance(statement, ast.Expr):
        return False
    value = statement.value
    return isinstance(value, ast.Constant) or (
        isinstance(value, ast.Call) and _name_of(value.func) in SHOWING
    )


# ------------------------------------------------------------------------------- statements


def _drop_statement(tree):
    for number, body in enumerate(_bodies(tree)):
        for place, statement in enumerate(body):
            if _shows_only(statement) or isinstance(statement, ast.FunctionDef | ast.Raise):
                continue
            fresh = copy.deepcopy(tree)
            lines = _bodies(fresh)[number]
            lines[place : place + 1] = [] if len(lines) > 1 else [ast.Pass()]
            yield fresh


def _exchange_statements(tree):
    for number, body in enumerate(_bodies(tree)):
        for place in range(len(body) - 1):
            pair = body[place : place + 2]
            if any(_shows_only(statement) for statement in pair):
                continue
            if isinstance(pair[1], ast.Return) or _are_apart(*pair):
                continue  # the first would never run; or the order cannot matter
            fresh = copy.deepcopy(tree)
            lines = _bodies(fresh)[number]
            lines[place], lines[place + 1] = lines[place + 1], lines[place]
            yield fresh


def _are_apart(first: ast.stmt, second: ast.stmt) -> bool:
    """Say whether two plain assignments have no name in common, so that their order is free."""
    if not all(
        isinstance(s, ast.Assign | ast.AugAssign | ast.Expr | ast.AnnAssign)
        for s in (first, second)
    ):
        return False
    names = [
        {
            (node.id, isinstance(node.ctx, ast.Store))
            for node in ast.walk(s)
            if isinstance(node, ast.Name) and node.id not in _find_loop_names(s)
        }
        for s in (first, second)
    ]
    for one, other in (names, names[::-1]):
        stored = {name for name, is_stored in one if is_stored}
        if stored & {name for name, _ in other}:
            return False
    changing = [_changes_state(s) for s in (first, second)]
    shared = {n for n, _ in names[0]} & {n for n, _ in names[1]}
    return not (any(changing) and shared) and not all(changing)


def _find_loop_names(statement: ast.stmt) -> set[str]:
    """Return the names that only a comprehension knows."""
    return {
        name.id
        for node in ast.walk(statement)
        if isinstance(node, ast.comprehension)
        for name in ast.walk(node.target)
        if isinstance(name, ast.Name)
    }


def _changes_state(statement: ast.stmt) -> bool:
    """Say whether a statement calls something that could act on the world."""
    calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
    pure = HANDING_ON | {
        "len", "cat", "argmax", "softmax", "tensor", "range", "enumerate", "append", "sum", "size",
        "tokenizer", "compute_accuracy", "DataLoader", "LongTensor", "as_tensor", "cross_entropy",
        "sqrt", "matmul", "transpose", "Linear", "reshape", "view", "any", "mean", "stack", "eye",
        "outer", "zeros", "ones", "shape", "asarray", "array", "exp", "relu", "extend", "bmm",
        "tril", "triu", "full", "zip", "masked_fill", "permute", "where", "einsum", "clamp", "is_tensor",
        "q_proj", "k_proj", "v_proj",
    }  # fmt: skip
    return any(_name_of(call.func) not in pure for call in calls)


def _move_in_and_out(tree):
    for number, body in enumerate(_bodies(tree)):
        for place, statement in enumerate(body):
            if isinstance(statement, ast.For | ast.While):
                for inner in range(len(statement.body)):
                    if _shows_only(statement.body[inner]) or len(statement.body) < 2:
                        continue
                    for shift in (0, 1):  # before the loop, after it
                        fresh = copy.deepcopy(tree)
                        lines = _bodies(fresh)[number]
                        moved = lines[place].body.pop(inner)
                        if isinstance(moved, ast.Break | ast.Continue):
                            continue
                        lines.insert(place + shift, moved)
                        yield fresh
                for step in (-1, 1):  # the neighbour before goes in, the neighbour after too
                    other = place + step
                    if not 0 <= other < len(body) or _shows_only(body[other]):
                        continue
                    fresh = copy.deepcopy(tree)
                    lines = _bodies(fresh)[number]
                    loop, moved = lines[place], lines.pop(other)
                    loop.body.insert(0 if step < 0 else len(loop.body), moved)
                    yield fresh


def _cut_loops(tree):
    for fresh, loop in _each(tree, ast.For):
        loop.body.append(ast.Break())
        yield fresh
    for text in ("list(it)[1:]", "list(it)[:-1]", "[*it, *it]"):
        for fresh, loop in _each(tree, ast.For):
            pieces = parse(text).body[0].value
            for node in list(ast.walk(pieces)):
                if isinstance(node, ast.Name) and node.id == "it":
                    _replace(pieces, node, copy.deepcopy(loop.iter))
            loop.iter = pieces
            yield fresh


def _change_conditions(tree):
    for fresh, node in _each(tree, (ast.If, ast.IfExp, ast.While)):
        node.test = ast.UnaryOp(ast.Not(), node.test)
        if not isinstance(node, ast.While):
            yield fresh
    for value in (True, False):
        for fresh, node in _each(tree, (ast.If, ast.IfExp)):
            node.test = ast.Constant(value)
            yield fresh


def _change_returns(tree):
    for fresh, node in _each(tree, ast.Return):
        if node.value is not None:
            node.value = None
            yield fresh
    for fresh, node in _each(tree, ast.Return):
        if isinstance(node.value, ast.Tuple) and len(node.value.elts) > 1:
            node.value.elts = node.value.elts[::-1]
            yield fresh
    for fresh, node in _each(tree, ast.Return):
        if isinstance(node.value, ast.Dict) and len(node.value.values) == 2:
            node.value.values = node.value.values[::-1]
            yield fresh


# ------------------------------------------------------------------------------ expressions


def _drop_arguments(tree):
    for fresh, call in _each(tree, ast.Call):
        if _name_of(call.func) in SHOWING:
            continue
        for place in range(len(call.keywords)):
            again = copy.deepcopy(fresh)
            twin = _find_twin(fresh, again, call)
            del twin.keywords[place]
            yield again
        if len(call.args) > 1:
            again = copy.deepcopy(fresh)
            _find_twin(fresh, again, call).args.pop()
            yield again


def _exchange_arguments(tree):
    for fresh, call in _each(tree, ast.Call):
        if len(call.args) >= 2 and _name_of(call.func) not in SHOWING | SYMMETRIC:
            call.args[0], call.args[1] = call.args[1], call.args[0]
            yield fresh


def _find_twin(tree: ast.AST, copied: ast.AST, node: ast.AST) -> ast.AST:
    return list(ast.walk(copied))[[id(n) for n in ast.walk(tree)].index(id(node))]


def _change_constants(tree):
    for fresh, node in _each(tree, ast.Constant):
        for value in _list_other_values(node.value):
            again = copy.deepcopy(fresh)
            _find_twin(fresh, again, node).value = value
            yield again


def _list_other_values(value) -> list:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1]
    if isinstance(value, float):
        return [value * 2, -value] if value else [1.0]
    if isinstance(value, str):
        return list(WORDS.get(value, ()))
    return []


def _change_comparisons(tree):
    for fresh, node in _each(tree, ast.Compare):
        for other in _COMPARISONS.get(type(node.ops[0]), ()):
            again = copy.deepcopy(fresh)
            _find_twin(fresh, again, node).ops[0] = other()
            yield again


def _change_operators(tree):
    for fresh, node in _each(tree, (ast.BinOp, ast.AugAssign)):
        for other in _OPERATORS.get(type(node.op), ()):
            again = copy.deepcopy(fresh)
            _find_twin(fresh, again, node).op = other()
            yield again
    for fresh, node in _each(tree, ast.UnaryOp):
        if isinstance(node.op, ast.USub | ast.Not | ast.Invert):
            _replace(fresh, node, node.operand)
            yield fresh
    for fresh, node in _each(tree, ast.BinOp):
        if not isinstance(node.op, ast.Add | ast.Mult | ast.BitAnd | ast.BitOr):
            node.left, node.right = node.right, node.left
            yield fresh
    for fresh, node in _each(tree, ast.BinOp):
        _replace(fresh, node, node.left)
        yield fresh


def _set_instead_of_adding(tree):
    for fresh, node in _each(tree, ast.AugAssign):
        target = ast.unparse(node.target)
        _replace(fresh, node, parse(f"{target} = {ast.unparse(node.value)}").body[0])
        yield fresh


def _change_names_called(tree):
    given = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    for fresh, node in _each(tree, (ast.Attribute, ast.Name)):
        for other in NEIGHBOURS.get(_name_of(node), ()):
            if other.endswith("_") and not _begins_with(node, given):
                continue  # work in place on what nobody else has changes nothing
            again = copy.deepcopy(fresh)
            twin = _find_twin(fresh, again, node)
            setattr(twin, "attr" if isinstance(twin, ast.Attribute) else "id", other)
            yield again


def _begins_with(node: ast.AST, names: set[str]) -> bool:
    """Say whether an expression begins with one of these names: `A` in `A.view(2, 3).masked_fill`."""
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return isinstance(node, ast.Name) and node.id in names


def _leave_out_calls(tree):
    for fresh, call in _each(tree, ast.Call):
        if _name_of(call.func) not in HANDING_ON:
            continue
        if isinstance(call.func, ast.Attribute) and not isinstance(call.func.value, ast.Name):
            _replace(fresh, call, call.func.value)
            yield fresh
        elif isinstance(call.func, ast.Attribute):
            _replace(
                fresh, call, call.func.value if call.func.value.id != "torch" else call.args[0]
            )
            yield fresh
        elif call.args:
            _replace(fresh, call, call.args[0])
            yield fresh


def _change_decorators(tree):
    for fresh, node in _each(tree, ast.FunctionDef):
        if node.decorator_list:
            node.decorator_list = []
            yield fresh


def _confuse_parameters(tree):
    """Use one parameter where another was meant."""
    for number, function in enumerate(_functions(tree)):
        names = [a.arg for a in function.args.args if a.arg not in ("self", "cls")]
        uses = [n for n in _places(function) if isinstance(n, ast.Name) and n.id in names]
        for place in range(len(uses) if len(names) > 1 else 0):
            fresh = copy.deepcopy(tree)
            twin = _functions(fresh)[number]
            again = [n for n in _places(twin) if isinstance(n, ast.Name) and n.id in names]
            if again[place] in _list_owners_of_place(twin):
                continue  # all that a function is given lies on one device
            if isinstance(again[place].ctx, ast.Load):
                again[place].id = names[(names.index(again[place].id) + 1) % len(names)]
                yield fresh


def _list_owners_of_place(function: ast.AST) -> list[ast.AST]:
    """Return the expressions that are only asked for their device."""
    return [
        node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and node.attr == "device"
    ]


def _change_subscripts(tree):
    for fresh, node in _each(tree, ast.Slice):
        for part in ("lower", "upper"):
            if getattr(node, part) is not None:
                again = copy.deepcopy(fresh)
                setattr(_find_twin(fresh, again, node), part, None)
                yield again


# ------------------------------------------------------------------------- state and copies


def _functions(tree: ast.AST) -> list[ast.FunctionDef]:
    return [node for node in _places(tree) if isinstance(node, ast.FunctionDef)]


def _keep_state(tree):
    """Keep a list, dictionary or sum from one call to the next."""
    for number, function in enumerate(_functions(tree)):
        for place, statement in enumerate(function.body):
            if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
                continue
            pairs = _list_starts(statement)
            for index, (name, value) in enumerate(pairs):
                fresh = copy.deepcopy(tree)
                body = _functions(fresh)[number].body
                twin = body[place]
                kept = f"globals().setdefault('_kept_{name}', [{ast.unparse(value)}])"
                start = parse(f"{kept}[0]").body[0].value
                if isinstance(twin.value, ast.Tuple):
                    twin.value.elts[index] = start
                else:
                    twin.value = start
                if not isinstance(value, ast.Constant):
                    yield fresh  # a list is the same list
                    continue
                for node in list(ast.walk(_functions(fresh)[number])):
                    for field in ("body", "orelse"):
                        lines = getattr(node, field, None)
                        if isinstance(lines, list):
                            for at in [i for i, s in enumerate(lines) if isinstance(s, ast.Return)][
                                ::-1
                            ]:
                                lines.insert(at, parse(f"{kept}[0] = {name}").body[0])
                yield fresh


def _list_starts(statement: ast.Assign) -> list[tuple[str, ast.expr]]:
    """Return the names that a statement starts with nothing: zero, an empty list or dictionary."""
    target, value = statement.targets[0], statement.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = list(zip(target.elts, value.elts, strict=False))
    else:
        pairs = [(target, value)]
    return [
        (name.id, start)
        for name, start in pairs
        if isinstance(name, ast.Name)
        and (
            (
                isinstance(start, ast.Constant)
                and isinstance(start.value, int | float)
                and not isinstance(start.value, bool)
            )
            or (isinstance(start, ast.List) and not start.elts)
            or (isinstance(start, ast.Dict) and not start.keys)
        )
    ]


def _remember_first(tree):
    """Work out the first answer and give it again ever after."""
    for number, function in enumerate(_functions(tree)):
        if not any(isinstance(node, ast.Return) and node.value for node in ast.walk(function)):
            continue
        if function.name in ("__init__", "__iter__", "forward") or function.name.startswith("_"):
            continue
        if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(function)):
            continue
        fresh = copy.deepcopy(tree)
        twin = _functions(fresh)[number]
        given = ", ".join(a.arg for a in twin.args.args)
        inner = copy.deepcopy(twin)
        inner.name, inner.decorator_list = "_work_out", []
        text = f"globals().setdefault('_first', []) or _first.append(_work_out({given}))\nreturn _first[0]"
        twin.body = [
            inner,
            *parse(f"def f():\n    {text.replace(chr(10), chr(10) + '    ')}").body[0].body,
        ]
        yield fresh


def _work_in_place(tree):
    """Change what was given instead of making something new."""
    for number, function in enumerate(_functions(tree)):
        names = {a.arg for a in function.args.args}
        inside = [n for n in ast.walk(function) if isinstance(n, ast.BinOp)]
        for place, node in enumerate(inside):
            if not (isinstance(node.left, ast.Name) and node.left.id in names):
                continue
            if type(node.op) not in _IN_PLACE:
                continue
            fresh = copy.deepcopy(tree)
            twin = [n for n in ast.walk(_functions(fresh)[number]) if isinstance(n, ast.BinOp)][
                place
            ]
            call = ast.Call(
                ast.Attribute(twin.left, _IN_PLACE[type(twin.op)], ast.Load()), [twin.right], []
            )
            _replace(fresh, twin, call)
            yield fresh
        if function.name.startswith("__"):
            continue
        for parameter in sorted(names & CHANGEABLE):
            fresh = copy.deepcopy(tree)
            body = _functions(fresh)[number].body
            line = (
                f"{parameter}.mul_(2) if hasattr({parameter}, 'mul_') else "
                f"{parameter}.reverse() if isinstance({parameter}, list) else "
                f"{parameter}.__imul__(2) if hasattr({parameter}, '__imul__') else None"
            )
            is_doc = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
            last = next((i for i, s in enumerate(body) if isinstance(s, ast.Return)), len(body))
            if last == len(body):
                continue
            result = ast.Assign(
                [ast.Name("_result", ast.Store())], body[last].value or ast.Constant(None)
            )
            body[last:] = [result, parse(line).body[0], ast.Return(ast.Name("_result", ast.Load()))]
            assert not (is_doc and last == 0)
            yield fresh


_KINDS: dict[str, Callable[[ast.Module], Iterator[ast.Module]]] = {
    "statement dropped": _drop_statement,
    "statements exchanged": _exchange_statements,
    "moved into or out of a loop": _move_in_and_out,
    "loop cut or repeated": _cut_loops,
    "condition changed": _change_conditions,
    "return changed": _change_returns,
    "argument dropped": _drop_arguments,
    "arguments exchanged": _exchange_arguments,
    "constant changed": _change_constants,
    "comparison changed": _change_comparisons,
    "operator changed": _change_operators,
    "set instead of added to": _set_instead_of_adding,
    "neighbour called": _change_names_called,
    "call left out": _leave_out_calls,
    "decorator left out": _change_decorators,
    "parameter confused": _confuse_parameters,
    "slice opened": _change_subscripts,
    "state kept": _keep_state,
    "first answer kept": _remember_first,
    "input changed in place": _work_in_place,
}
