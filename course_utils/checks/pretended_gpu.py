"""A pretended GPU: does code keep its tensors together, as it has to on a real one?

The text of this file is also sent into kernels that are being graded, so it imports nothing of the
course.
"""

import contextlib
import functools
import sys
import types

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree

GPU = torch.device("cuda", 0)


class PretendedGPU(TorchFunctionMode):
    """Lets tensors say that they are on a GPU, and refuses to mix them with others, as one would.

    The work itself is done on the CPU. Models and optimizers pause it while they compute.
    """

    def __init__(self, default=False, kept=False):
        super().__init__()
        self.paused = False
        self.default = default  # are new tensors there too when nobody says where?
        self.kept = kept  # and those from before, such as a table made on DEVICE in another cell?
        self.answers = list(_list_answers(default))  # (module, name, real, pretended)

    def __enter__(self):
        self._answer(pretend=True)
        return super().__enter__()

    def __exit__(self, *reason):
        self._answer(pretend=False)
        return super().__exit__(*reason)

    def _answer(self, pretend):
        """Let torch say that there is a GPU, or what it says by itself."""
        for module, name, real, pretended in self.answers:
            setattr(module, name, pretended if pretend else real)

    @contextlib.contextmanager
    def pause(self):
        before, self.paused = self.paused, True
        self._answer(pretend=False)
        try:
            yield
        finally:
            self.paused = before
            self._answer(pretend=not before)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if self.paused:
            return func(*args, **kwargs)
        name = getattr(func, "__name__", "")
        if name == "__get__" and getattr(func, "__self__", None) is torch.Tensor.device:
            return GPU if self.has(args[0]) else func(*args)
        if name == "__get__" and getattr(func, "__self__", None) is torch.Tensor.is_cuda:
            return self.has(args[0])
        if name in ("cuda", "cpu", "to", "type_as"):
            return self._move(name, func, args, kwargs)
        if name in ("numpy", "__array__") and self.has(args[0]):
            raise TypeError("can't convert cuda:0 device type tensor to numpy.")
        wanted = kwargs.get("device")
        if wanted is not None and torch.device(wanted).type == "cuda":
            kwargs["device"] = "cpu"
        tensors = [x for x in _pytree.tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
        there = [x for x in tensors if self.has(x)]
        if name in ("tensor", "as_tensor") and _is_list(args):
            there, tensors = (
                [],
                [],
            )  # numbers are read out of what it holds: the new one is elsewhere
        if there and self._is_refused(name, args, tensors):
            raise RuntimeError(
                "Expected all tensors to be on the same device, but found at least two devices, "
                "cuda:0 and cpu!"
            )
        result = func(*args, **kwargs)
        if args and result is args[0]:  # changed in place: it stays where it is
            return result
        is_new = self.default and not tensors and wanted is None
        made_there = bool(there or is_new or kwargs.get("device") is not wanted)
        _pytree.tree_map_only(torch.Tensor, lambda tensor: mark(tensor, made_there), result)
        return result

    def _is_refused(self, name, args, tensors):
        """Would a GPU refuse this, some of the tensors being there?"""
        owner = args[0] if args and isinstance(args[0], torch.Tensor) else None
        if name == "copy_" or (name == "__getitem__" and owner is not None and self.has(owner)):
            return False  # between devices; and an index may stay on the CPU
        if name == "__setitem__":
            index, value = args[1:3]
            if not any(isinstance(x, torch.Tensor) for x in _pytree.tree_leaves(index)):
                return False  # copies the value
            tensors = [owner, value] if isinstance(value, torch.Tensor) else [owner]
        if owner is not None and not self.has(owner) and _is_in_place(name):
            return True  # what is there cannot be added to a number that is not
        return any(x.dim() and not self.has(x) for x in tensors)

    def has(self, tensor):
        return is_there(tensor, self.kept)

    def _move(self, name, func, args, kwargs):
        tensor, *rest = args
        target = {"cuda": GPU, "cpu": torch.device("cpu")}.get(name)
        if name == "to":
            target = kwargs.pop("device", None)
            for place, value in enumerate(rest):
                if isinstance(value, (str, int, torch.device)) and not isinstance(value, bool):
                    target = rest.pop(place)
                    break
                if isinstance(value, torch.Tensor):
                    target, rest[place] = (GPU if self.has(value) else "cpu"), value.dtype
                    break
            moved = func(tensor, *rest, **kwargs) if rest or kwargs else tensor
        elif name == "type_as":
            other = rest[0] if rest else kwargs["other"]
            target, moved = (GPU if self.has(other) else "cpu"), func(tensor, other)
        else:
            moved = tensor
        moved = moved.clone() if moved is tensor else moved
        if target is None:
            there = self.has(tensor)
        else:
            there = isinstance(target, int) or torch.device(target).type == "cuda"
        return mark(moved, there)


def _list_answers(default):
    """Yield what torch says about GPUs: module, name, real and pretended function."""
    yield torch.cuda, "is_available", torch.cuda.is_available, lambda: True
    accelerator = getattr(torch, "accelerator", None)  # since torch 2.6
    for name, answer in (("is_available", True), ("current_accelerator", torch.device("cuda"))):
        if hasattr(accelerator, name):
            pretended = functools.partial(_say, answer)
            yield accelerator, name, getattr(accelerator, name), pretended
    if default and hasattr(torch, "get_default_device"):
        yield torch, "get_default_device", torch.get_default_device, functools.partial(_say, GPU)


def _is_list(args):
    return bool(args) and isinstance(args[0], (list, tuple))


def _say(answer, *_, **__):
    return answer


def _is_in_place(name):
    if name in ("fill_", "set_"):
        return False
    return name in _IN_PLACE or (name.endswith("_") and not name.endswith("__"))


_IN_PLACE = {f"__i{name}__" for name in ("add", "sub", "mul", "truediv", "div", "floordiv", "mod",
                                         "pow", "and", "or", "xor", "lshift", "rshift")}  # fmt: skip


def is_there(tensor, unmarked=False):
    return getattr(tensor, "_on_pretended_gpu", unmarked)


def send(tensor, device):
    """Move numbers to a device; Apple's knows no float64, so there they come as float32."""
    if torch.device(device).type == "mps" and tensor.dtype == torch.float64:
        tensor = tensor.float()
    return tensor.to(device)


def put_there(tensor):
    return mark(tensor, True)


def mark(tensor, there):
    tensor._on_pretended_gpu = there
    return tensor


@contextlib.contextmanager
def pretending(gpu, *functions):
    """Enter the pretended GPU, with every device that these functions hold pointing to it.

    A device may be a variable of the notebook under any name, an entry of a dictionary or an
    attribute of a class or object there, an argument of a `partial`, a default, a variable of a
    function around it, or an attribute of an object that is called or whose method is.
    """
    undo = []
    try:
        for function in functions:
            _point_there(function, undo, set())
        with gpu:
            yield
    finally:
        for restore in reversed(undo):
            restore()


_DEVICES = ("cpu", "cuda", "cuda:0")


def _is_device(value):
    return isinstance(value, torch.device) or (isinstance(value, str) and value in _DEVICES)


def _move_device(value):
    """Return the GPU in place of a device, as a string in place of a string."""
    return "cuda" if isinstance(value, str) else GPU


def _is_own(kind):
    """Is this class, or function, one of the notebook?"""
    module = getattr(kind, "__module__", None)
    return module is not None and (module == "__main__" or module not in sys.modules)


def _point_there(function, undo, seen):
    """Make the devices that a function holds point to the pretended GPU; note how to undo it."""
    if id(function) in seen:
        return
    seen.add(id(function))
    if isinstance(function, type):
        _point_class(function, undo, seen)
        return
    if isinstance(function, functools.partial):
        _swap_in(function.keywords, undo)
        if any(_is_device(value) for value in function.args):
            function_, args, keywords, space = function.__reduce__()[2]
            placed = tuple(_move_device(x) if _is_device(x) else x for x in args)
            function.__setstate__((function_, placed, keywords, space))
            undo.append(lambda: function.__setstate__((function_, args, keywords, space)))
        _point_there(function.func, undo, seen)
        return
    if hasattr(function, "__wrapped__"):
        _point_there(function.__wrapped__, undo, seen)
    if isinstance(function, types.MethodType):
        _point_held(function.__self__, undo, seen)
    function = getattr(function, "__func__", function)
    space = getattr(function, "__globals__", None)
    if space is None:
        _swap_in(getattr(function, "__dict__", {}), undo)
        for name in ("__call__", "forward"):  # of an object that is called, of a module
            called = getattr(type(function), name, None)
            if hasattr(called, "__globals__"):
                _point_there(called, undo, seen)
        _point_class(type(function), undo, seen)
        return
    names = _list_names(function.__code__)
    _swap_in(space, undo, {"DEVICE", "device", *names})
    if function.__defaults__ and any(_is_device(value) for value in function.__defaults__):
        before = function.__defaults__
        function.__defaults__ = tuple(_move_device(x) if _is_device(x) else x for x in before)
        undo.append(lambda: setattr(function, "__defaults__", before))
    if function.__kwdefaults__:
        _swap_in(function.__kwdefaults__, undo)
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # an empty cell
            value = cell.cell_contents
            if _is_device(value):
                cell.cell_contents = _move_device(value)
                undo.append(lambda cell=cell, value=value: setattr(cell, "cell_contents", value))
            elif callable(value):
                _point_there(value, undo, seen)
            else:
                _point_held(value, undo, seen)
    for name in names:  # helpers of the notebook that it calls, and settings that it reads
        value = space.get(name)
        if callable(value) and _is_own(value):
            _point_there(value, undo, seen)
        elif value is not None and not isinstance(value, types.ModuleType):
            _point_held(value, undo, seen)


def _list_names(code):
    """Return the names of variables that code and the functions within it read."""
    names = dict.fromkeys(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= dict.fromkeys(_list_names(constant))
    return list(names)


def _point_held(value, undo, seen):
    """Do the same to the devices that a dictionary or an object holds."""
    if id(value) in seen or isinstance(value, type):
        return
    seen.add(id(value))
    if isinstance(value, dict):
        _swap_in(value, undo)
    held = getattr(value, "__dict__", None)
    if isinstance(held, dict):
        _swap_in(held, undo)
    _point_class(type(value), undo, seen)


def _point_class(kind, undo, seen):
    """Do the same to the devices that a class of the notebook and its methods hold."""
    for one in kind.__mro__:
        if not _is_own(one) or (one, "class") in seen:
            continue
        seen.add((one, "class"))
        for name, value in list(vars(one).items()):
            if _is_device(value):
                setattr(one, name, _move_device(value))
                undo.append(functools.partial(setattr, one, name, value))
            elif isinstance(getattr(value, "__func__", value), types.FunctionType):
                _point_there(getattr(value, "__func__", value), undo, seen)


def _swap_in(space, undo, names=None):
    kept = {
        name: space[name]
        for name in (space if names is None else names)
        if name in space and _is_device(space[name])
    }
    space.update({name: _move_device(value) for name, value in kept.items()})
    undo.append(lambda: space.update(kept))
