"""What stands between a question and the student's notebook, inside the kernel: set up before any cell runs.

This file's text is sent into the kernel as it stands, after that of `wire`, so it imports nothing of
the course. `install` takes hold of what a question needs, and notes from then on what the notebook
reaches for. A question has to be signed with a key that only the grader and this closure hold, and so
is what it answers: a reply that was changed on its way is known by its signature.
"""

import builtins
import contextlib
import hashlib
import importlib
import json
import os
import sys
import types

NAME = "_course_question"  # of the module through which a question comes in
_MOST = 20  # things that are noted
_MODULES = ("builtins", "json", "json.encoder", "json.decoder", "base64", "numpy", "math", "torch",
            "torch.nn.functional", "hashlib")  # fmt: skip
_CLASSES = (
    ("torch", "Tensor"), ("torch.nn", "*"), ("json", "JSONEncoder"),
    ("IPython.core.interactiveshell", "InteractiveShell"), ("ipykernel.zmqshell", "ZMQInteractiveShell"),
    ("IPython.core.formatters", "*"), ("ipykernel.ipkernel", "IPythonKernel"),
    ("ipykernel.kernelbase", "Kernel"), ("jupyter_client.session", "Session"),
)  # fmt: skip
_OWN = {
    "input",
    "display",
    "exit",
    "quit",
    "get_ipython",
    "_",
}  # builtins that a kernel sets itself
_EVENTS = {
    "sys._getframe": "frames", "sys._getframemodulename": "frames", "sys._current_frames": "frames",
    "sys.settrace": "frames", "sys.setprofile": "frames",
    "gc.get_objects": "the memory's objects", "gc.get_referrers": "the memory's objects",
    "gc.get_referents": "the memory's objects", "ctypes.dlopen": "raw memory",
    "ctypes.string_at": "raw memory", "ctypes.cdata": "raw memory",
}  # fmt: skip


def install(namespace):
    """Take hold of what questions need; return the key to sign them with, as a text."""
    key = os.urandom(32)
    blake2b, dumps_hex = hashlib.blake2b, bytes.hex
    held = [*_hold()]
    seen, asked = [], set()
    _note_reaching(seen)
    _rest_checks()

    def sign(*parts):
        digest = blake2b(key=key)
        for part in parts:
            content = part.encode("utf-8", "surrogatepass")
            digest.update(len(content).to_bytes(8, "big") + content)
        return digest.hexdigest()

    def answer(signature, nonce, program, inputs, watched):
        """Run a signed question once; return what came of it, signed."""
        if nonce in asked or signature != sign("question", nonce, program, inputs, watched):
            return Reply("")  # noqa: F821 - of wire.py
        asked.add(nonce)
        _put_back(held, seen)
        used, text = set(), ""
        scope = {"Missing": Missing, "Unusable": Unusable}  # noqa: F821
        with contextlib.suppress(Exception, SystemExit):
            exec(compile(program, "<judge>", "exec"), scope)
            with _noticing(watched.split(), used):
                values = scope["probe"](namespace, load(inputs))  # noqa: F821
            _put_back(held, seen)
            text = dump(values)  # noqa: F821
        content = json.dumps({"reply": text, "seen": seen[:_MOST], "used": sorted(used)})
        return Reply(f"{sign('reply', nonce, content)} {content}")  # noqa: F821

    module = types.ModuleType(NAME)
    module.answer = answer
    sys.modules[NAME] = module
    return Reply(dumps_hex(key))  # noqa: F821


def _rest_checks():
    """Let public checks do nothing here: whoever asks one until it says yes has thought of nothing.

    The code inside their functions is exchanged, so that nobody holds on to what they were.
    """
    try:
        from course_utils import checks
    except ImportError:
        return
    at_rest = checks.Finding(True, "Public checks rest while work is graded.")
    for name, module in [*sys.modules.items()]:
        if not name.startswith(checks.__name__):
            continue
        for function in [*vars(module).values()]:
            if not isinstance(function, types.FunctionType) or function.__module__ != name:
                continue
            if function is checks.check or function.__name__.lstrip("_").startswith("examine"):
                function.__globals__["AT_REST"] = None if function is checks.check else at_rest
                function.__code__ = (lambda *_, **__: AT_REST).__code__  # noqa: F821
                function.__defaults__ = function.__kwdefaults__ = None


# ------------------------------------------------------------------- functions that are exchanged


def _hold():
    """Yield (owner, its name, its functions, all its names) for all that is held on to."""
    for name in _MODULES:
        with contextlib.suppress(ImportError):
            module = importlib.import_module(name)
            yield module, name, _list_callables(module), {*vars(module)}
    for place, name in _CLASSES:
        with contextlib.suppress(ImportError, AttributeError):
            module = importlib.import_module(place)
            for kind in [*vars(module)] if name == "*" else [name]:
                owner = getattr(module, kind)
                if isinstance(owner, type):
                    yield owner, f"{place}.{kind}", _list_callables(owner), {*vars(owner)}


def _list_callables(owner):
    return {
        name: value
        for name, value in vars(owner).items()
        if (callable(value) or isinstance(value, (staticmethod, classmethod, property)))
        and not (owner is builtins and name in _OWN)
    }


def _put_back(held, seen):
    """Put back every function that was exchanged since, and note its name."""
    for owner, place, before, names in held:
        now = vars(owner)
        changed = [name for name, value in before.items() if now.get(name) is not value]
        if isinstance(owner, type):  # a new method may hide an inherited one
            hidden = {name for base in owner.__mro__[1:] for name in vars(base)}
        else:  # a new name in a module may hide a builtin
            hidden = set() if owner is builtins else {*vars(builtins)}
        added = [name for name in now if name not in names and name in hidden]
        for name in changed:
            with contextlib.suppress(Exception):
                setattr(owner, name, before[name])
        for name in added:
            with contextlib.suppress(Exception):
                delattr(owner, name)
        for name in (*changed, *added):
            note = ["exchanged", f"{place}.{name}", ""]
            if f"{place}.{name}" == "torch.manual_seed" and "torch._dynamo" in sys.modules:
                continue  # that part of PyTorch exchanges it by itself when it is first needed
            if note not in seen and len(seen) < _MOST:
                seen.append(note)


# ------------------------------------------------------------------------ what is reached for


def _note_reaching(seen):
    """Note when the notebook's own code asks the interpreter for what is none of its business.

    A hook of this kind cannot be removed or exchanged: the interpreter keeps it.
    """
    getframe, busy = sys._getframe, []
    ours = tuple({sys.prefix, sys.base_prefix, os.path.dirname(os.__file__), "<frozen", "<judge>", "<course>"})  # fmt: skip
    here = os.getcwd()

    def is_theirs(name):
        return name.startswith(here) or "ipykernel_" in name or not (
            name.startswith(ours) or "site-packages" in name or "/course_utils/" in name
        )  # fmt: skip

    def hook(event, arguments):
        if event not in _EVENTS or busy or len(seen) >= _MOST:
            return
        busy.append(1)
        try:
            frame = getframe(1)
            while frame is not None and frame.f_code.co_filename.endswith(("/inspect.py", "/ctypes/__init__.py", "/ctypes/util.py")):  # fmt: skip
                frame = frame.f_back
            if frame is not None and is_theirs(frame.f_code.co_filename):
                import linecache

                line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()[:80]
                note = [_EVENTS[event], event, line]
                if note not in seen:
                    seen.append(note)
        except Exception:  # whoever is in the way of this gains nothing by it
            pass
        finally:
            busy.clear()

    sys.addaudithook(hook)


# --------------------------------------------------------------------- a library's ready-made work


def _noticing(names, used):
    """Note calls of a library's functions by name, however they were come by."""
    if not names:
        return contextlib.nullcontext()
    from torch.overrides import TorchFunctionMode

    class Noticing(TorchFunctionMode):
        def __torch_function__(self, function, kinds, arguments=(), keywords=None):
            name = str(getattr(function, "__name__", function))
            used.update(watched for watched in names if watched in name)
            return function(*arguments, **(keywords or {}))

    return Noticing()
