"""How values cross between the judge and a student's kernel: as plain arrays in JSON.

This file's text is sent into the kernel as it stands, so it imports nothing of the course.
Nothing here unpickles: what comes back is numbers, or a word about why there are none.
"""

import base64
import json

import numpy as np

LIMIT = 16 * 1024 * 1024  # characters in one reply; far above what any exercise needs
_DTYPES = {
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64",
}  # fmt: skip


class Missing:
    """Stands for a name that does not exist in the kernel."""


class Unusable(str):
    """Stands for a value that is not numbers; the text says what it is."""


class Reply(str):
    """A text that a kernel shows as it is, so that nothing has to be evaluated to read it."""

    def __repr__(self):
        return str.__str__(self)


def encode(value):
    """Turn one value into JSON-ready form."""
    if value is Missing:
        return {"kind": "missing"}
    if value is ...:
        return {"kind": "open"}
    if isinstance(value, Unusable):
        return {"kind": "unusable", "why": str(value)[:500]}
    try:
        array = _to_array(value)
    except Exception as problem:  # a student's object may fail in any way
        return {"kind": "unusable", "why": str(problem)[:500]}
    return {
        "kind": "array",
        "dtype": array.dtype.name,
        "shape": list(array.shape),
        "data": base64.b64encode(np.ascontiguousarray(array).tobytes()).decode(),
    }


def decode(coded):
    """Turn one encoded value back; anything malformed becomes Unusable, never an exception."""
    try:
        kind = coded["kind"]
        if kind == "missing":
            return Missing
        if kind == "open":
            return ...
        if kind == "unusable":
            return Unusable(str(coded["why"])[:500])
        if kind != "array" or coded["dtype"] not in _DTYPES:
            return Unusable("it came back in a form that is not numbers")
        shape = tuple(int(size) for size in coded["shape"])
        if len(shape) > 16 or any(size < 0 for size in shape):
            return Unusable("it came back with an impossible shape")
        data = base64.b64decode(coded["data"], validate=True)
        return np.frombuffer(data, dtype=coded["dtype"]).reshape(shape).copy()
    except Exception:  # whatever is wrong with it, it is not numbers
        return Unusable("it came back in a form that is not numbers")


def _to_array(value):
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        if str(value.dtype) == "torch.bfloat16":  # NumPy has no such type
            value = value.float()
        value = value.numpy()
    elif isinstance(value, (list, tuple)):
        parts = [_to_array(part) for part in value]
        if len({part.shape for part in parts}) > 1:
            raise ValueError("the rows of the list have different lengths")
        value = np.array(parts)
    array = np.asarray(value)
    if array.dtype.name not in _DTYPES or array.size == 0:
        raise ValueError(f"it is of type {type(value).__name__}, not numbers")
    return array


def dump(values):
    """Write a dictionary of values as one JSON text."""
    return json.dumps({name: encode(value) for name, value in values.items()})


def load(text):
    """Read what `dump` wrote, or {} when it is too long or not JSON."""
    if not isinstance(text, str) or len(text) > LIMIT:
        return {}
    try:
        coded = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return (
        {str(name): decode(value) for name, value in coded.items()} if type(coded) is dict else {}
    )


def answer(program, namespace, inputs):
    """Run a judge's program against a namespace and write down what it returns.

    `program` is source text that defines `probe(namespace, inputs)`, returning a dictionary.
    """
    scope = {"Missing": Missing, "Unusable": Unusable}
    exec(compile(program, "<judge>", "exec"), scope)
    return Reply(dump(scope["probe"](namespace, load(inputs))))
