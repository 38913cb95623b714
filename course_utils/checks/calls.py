"""Calls a learner's functions on prepared inputs and writes down what came back, as numbers.

A case is a plain dictionary, so that it can live in a file and travel into a kernel:

    {"name": "plain", "call": "attn_softmax", "arguments": ["A"], "keywords": {}, ...}

`arguments` are names of arrays, found under "plain.A", or numbers. The text of this file is also
sent into kernels that are being graded, with that of the modules of the course that it imports.
"""

import torch

from course_utils.checks.learners_code import Problem, describe_error
from course_utils.checks.pretended_gpu import PretendedGPU, pretending, put_there, send


def run_cases(functions, cases, arrays):
    """Run every case; return "<case>.out" and, where asked for, ".again", ".after.X",
    ".grad.X" and ".device".
    """
    results = {}
    device = _find_device(functions)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # for tensors this small, waking threads costs more than the work
    try:
        for case in cases:
            for what, value in _run_case(functions, case, arrays, device).items():
                results[f"{case['name']}.{what}"] = value
    finally:
        torch.set_num_threads(threads)
    return results


def _find_device(functions):
    """Return the DEVICE of the notebook that the functions come from, or the CPU."""
    for function in functions.values():
        device = getattr(function, "__globals__", {}).get("DEVICE")
        if isinstance(device, (str, torch.device)):
            return torch.device(device)
    return torch.device("cpu")


def _run_case(functions, case, arrays, device):
    tensors = {
        name: _make_tensor(arrays[f"{case['name']}.{name}"], case, device)
        for name in case["arguments"]
        if isinstance(name, str)
    }
    given = {name: _detach_leaf(tensor, case) for name, tensor in tensors.items()}
    arguments = [given[name] if isinstance(name, str) else name for name in case["arguments"]]
    if case.get("device"):
        return {"device": _call_on_device(functions, case, arguments)}
    fresh = [x.clone() if isinstance(x, torch.Tensor) else x for x in arguments]
    if case["call"] == "mask_pair":
        out, kept = _call_pair(functions, *arguments)
    else:
        out, kept = _call(functions, case["call"], arguments, case["keywords"]), {}
    results = {"out": out.detach().clone() if isinstance(out, torch.Tensor) else out}
    if case.get("again"):  # the same call once more must give the same
        second = _call(functions, case["call"], fresh, case["keywords"])
        results["again"] = second.detach() if isinstance(second, torch.Tensor) else second
    if case.get("after"):
        results |= {f"after.{name}": tensor.detach() for name, tensor in given.items()} | kept
    if case.get("grad") and isinstance(out, torch.Tensor):
        weight = arrays[f"{case['name']}.weight"]
        results |= _find_gradients(out, tensors, weight)
    return results


def _make_tensor(array, case, device):
    tensor = torch.as_tensor(array).clone()
    if case.get("strided") and tensor.dim() > 2:  # as a transposed view, the way heads arrive
        tensor = tensor.transpose(0, 1).contiguous().transpose(0, 1)
    tensor = send(tensor, device)
    return tensor.requires_grad_() if case.get("grad") and tensor.is_floating_point() else tensor


def _detach_leaf(tensor, case):
    """Return what is passed on: never a leaf, so that work in place is seen and does not raise."""
    return tensor * 1 if case.get("grad") and tensor.requires_grad else tensor


def _call_pair(functions, n_tok, scores):
    """Call the learner's two mask functions together; say too whether the mask stayed as it was."""
    mask = _call(functions, "make_causal_mask", [n_tok], {})
    if isinstance(mask, Problem):
        return mask, {}
    before = mask.clone()
    out = _call(functions, "apply_causal_mask", [mask, scores], {})
    return out, {"after.mask": torch.tensor(float(torch.equal(mask, before)))}


def _call(functions, name, arguments, keywords):
    """Return the tensor that a function returns, or a Problem."""
    function = functions.get(name)
    if function is ...:
        return Problem("open|")
    if not callable(function):
        kind = "undefined" if name not in functions else "not-callable"
        return Problem(f"{kind}|{type(function).__name__}")
    try:
        out = function(*arguments, **keywords)
    except (Exception, SystemExit) as error:  # whatever a learner's code does wrong
        words = str(error)
        if type(error) is NotImplementedError and (not words or "TODO" in words):
            return Problem("open|")
        return Problem(f"raised|{describe_error(error)}")
    if out is ...:
        return Problem("open|")
    if out is None:
        return Problem("none|")
    if not isinstance(out, torch.Tensor):
        return Problem(f"type|{type(out).__name__}")
    return out if out.numel() else Problem(f"empty|it has no numbers at all: {tuple(out.shape)}")


def _call_on_device(functions, case, arguments):
    """Return 1 when the output stays on the inputs' device, 0 when not, or a Problem."""
    for tensor in arguments:
        if isinstance(tensor, torch.Tensor):
            put_there(tensor)
    gpu = PretendedGPU(default=True, kept=True)
    with pretending(gpu, functions.get(case["call"])):
        out = _call(functions, case["call"], arguments, case["keywords"])
    return out if isinstance(out, Problem) else torch.tensor(float(gpu.has(out)))


def _find_gradients(out, tensors, weight):
    """Return the gradients of a weighted sum of the output, by input."""
    wanted = {name: tensor for name, tensor in tensors.items() if tensor.requires_grad}
    if not out.requires_grad:
        return {f"grad.{name}": Problem("no-gradient|") for name in wanted}
    weight = torch.as_tensor(weight).to(out)
    if weight.shape != out.shape:  # the wrong shape is reported already
        return {}
    try:
        found = torch.autograd.grad(out, list(wanted.values()), weight, allow_unused=True)
    except RuntimeError as error:
        return {f"grad.{name}": Problem(f"raised|{error}"[:400]) for name in wanted}
    return {
        f"grad.{name}": Problem("no-gradient|") if gradient is None else gradient
        for name, gradient in zip(wanted, found, strict=True)
    }
