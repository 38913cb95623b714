"""A pretended GPU: does code keep its tensors together, as it has to on a real one?

The text of this file is also sent into kernels that are being graded, so it imports nothing of the
course.
"""

import contextlib
import functools

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
        self.available = torch.cuda.is_available

    def __enter__(self):
        torch.cuda.is_available = lambda: True
        return super().__enter__()

    def __exit__(self, *reason):
        torch.cuda.is_available = self.available
        return super().__exit__(*reason)

    @contextlib.contextmanager
    def pause(self):
        before, self.paused = self.paused, True
        pretended, torch.cuda.is_available = torch.cuda.is_available, self.available
        try:
            yield
        finally:
            self.paused, torch.cuda.is_available = before, pretended

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if self.paused:
            return func(*args, **kwargs)
        name = getattr(func, "__name__", "")
        if name == "__get__" and getattr(func, "__self__", None) is torch.Tensor.device:
            return GPU if self.has(args[0]) else func(*args)
        if name == "__get__" and getattr(func, "__self__", None) is torch.Tensor.is_cuda:
            return self.has(args[0])
        if name in ("cuda", "cpu", "to"):
            return self._move(name, func, args, kwargs)
        if name in ("numpy", "__array__") and self.has(args[0]):
            raise TypeError("can't convert cuda:0 device type tensor to numpy.")
        wanted = kwargs.get("device")
        if wanted is not None and torch.device(wanted).type == "cuda":
            kwargs["device"] = "cpu"
        tensors = [x for x in _pytree.tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
        there = [x for x in tensors if self.has(x)]
        if there and any(x.dim() and not self.has(x) for x in tensors) and name != "copy_":
            raise RuntimeError(
                "Expected all tensors to be on the same device, but found at least two devices, "
                "cuda:0 and cpu!"
            )
        result = func(*args, **kwargs)
        is_new = self.default and not tensors and wanted is None
        made_there = bool(there or is_new or kwargs.get("device") is not wanted)
        _pytree.tree_map_only(torch.Tensor, lambda tensor: _mark(tensor, made_there), result)
        return result

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
        else:
            moved = tensor
        moved = moved.clone() if moved is tensor else moved
        if target is None:
            there = self.has(tensor)
        else:
            there = isinstance(target, int) or torch.device(target).type == "cuda"
        return _mark(moved, there)


def is_there(tensor, unmarked=False):
    return getattr(tensor, "_on_pretended_gpu", unmarked)


def put_there(tensor):
    return _mark(tensor, True)


def _mark(tensor, there):
    tensor._on_pretended_gpu = there
    return tensor


@contextlib.contextmanager
def pretending(gpu, *functions):
    """Enter the pretended GPU, with every device that these functions hold pointing to it.

    A device may be a variable of the notebook, an argument of a `partial`, a default, a variable of
    a function around it, or an attribute of an object that is called.
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


def _is_device(value):
    return isinstance(value, torch.device) or (isinstance(value, str) and value in ("cpu", "cuda"))


def _point_there(function, undo, seen):
    """Make the devices that a function holds point to the pretended GPU; note how to undo it."""
    if id(function) in seen or isinstance(function, type):
        return
    seen.add(id(function))
    if isinstance(function, functools.partial):
        _swap_in(function.keywords, undo)
        if any(_is_device(value) for value in function.args):
            function_, args, keywords, space = function.__reduce__()[2]
            placed = tuple(GPU if _is_device(value) else value for value in args)
            function.__setstate__((function_, placed, keywords, space))
            undo.append(lambda: function.__setstate__((function_, args, keywords, space)))
        _point_there(function.func, undo, seen)
        return
    if hasattr(function, "__wrapped__"):
        _point_there(function.__wrapped__, undo, seen)
    function = getattr(function, "__func__", function)
    space = getattr(function, "__globals__", None)
    if space is None:
        _swap_in(getattr(function, "__dict__", {}), undo)
        for name in ("__call__", "forward"):  # of an object that is called, of a module
            called = getattr(type(function), name, None)
            if hasattr(called, "__globals__"):
                _point_there(called, undo, seen)
        return
    _swap_in(space, undo, ("DEVICE", "device"))
    if function.__defaults__ and any(_is_device(value) for value in function.__defaults__):
        before = function.__defaults__
        function.__defaults__ = tuple(GPU if _is_device(value) else value for value in before)
        undo.append(lambda: setattr(function, "__defaults__", before))
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # an empty cell
            value = cell.cell_contents
            if _is_device(value):
                cell.cell_contents = GPU
                undo.append(lambda cell=cell, value=value: setattr(cell, "cell_contents", value))
            elif callable(value):
                _point_there(value, undo, seen)
    for name in function.__code__.co_names:  # helpers of the notebook that it calls
        if callable(space.get(name)) and getattr(space[name], "__module__", None) == "__main__":
            _point_there(space[name], undo, seen)


def _swap_in(space, undo, names=None):
    kept = {
        name: value
        for name, value in space.items()
        if _is_device(value) and (names is None or name in names)
    }
    space.update(dict.fromkeys(kept, GPU))
    undo.append(lambda: space.update(kept))
