"""Tries a learner's translation code on small inputs and writes down what happened, as numbers.

`run_trial(name, functions, inputs)` returns a dictionary of arrays, and Problems where there are
none. The text of this file is also sent into kernels that are being graded, with that of the modules
of the course that it imports. What is right is not written here.

Inputs are arrays named "<case>.<what>". An attention case has `hidden`, `outputs`, `mask`, `sizes`
(E, D, kq; kq 0 leaves it at its default), for a module with layers their weights, and for a case with
gradients `weight`. A case whose name begins with "device" is tried on another device.
"""

import torch
from torch import nn

from course_utils.checks.learners_code import Lent, Problem, describe_error
from course_utils.checks.pretended_gpu import PretendedGPU, is_there, mark, pretending, send

LAYERS = ("q_proj", "k_proj", "v_proj")
MODULES = ("MeanPoolAttention", "SingleQueryScaledDotProductAttention")
PATIENCE = 200  # steps after which a probe model concludes that decoding never ends


def run_trial(name, functions, inputs, device=True):
    """Run every case of one exercise; `device` says whether to try another device too."""
    found = functions.get(name)
    if found is ...:
        return {"problem": Problem("open|")}
    if not callable(found):
        kind = "undefined" if name not in functions else "not-callable"
        return {"problem": Problem(f"{kind}|{type(found).__name__}")}
    results = {}
    threads, gradients = torch.get_num_threads(), torch.is_grad_enabled()
    torch.set_num_threads(1)  # for tensors this small, waking threads costs more than the work
    dice = torch.get_rng_state()
    try:
        for case in dict.fromkeys(key.partition(".")[0] for key in inputs):
            if case.startswith("device") and not device:
                continue
            prefix = f"{case}."
            given = {k[len(prefix) :]: v for k, v in inputs.items() if k.startswith(prefix)}
            for what, value in _TRIALS[name](found, given, case).items():
                results[prefix + what] = value
    finally:
        torch.set_rng_state(dice)
        torch.set_num_threads(threads)
        torch.set_grad_enabled(gradients)
    return results


def _attempt(function, *arguments, **keywords):
    """Return what a call returns, or a Problem."""
    try:
        return function(*arguments, **keywords)
    except (Exception, SystemExit) as error:  # whatever a learner's code does wrong
        words = str(error)
        if type(error) is NotImplementedError and (not words or "TODO" in words):
            return Problem("open|")
        return Problem(f"raised|{describe_error(error)}")


def _find_device(function):
    """Return the DEVICE of the notebook that a function or class comes from, or the CPU."""
    device = _globals_of(function).get("DEVICE")
    return torch.device(device) if isinstance(device, (str, torch.device)) else torch.device("cpu")


def _globals_of(function):
    forward = getattr(function, "forward", None) if isinstance(function, type) else None
    return getattr(forward or function, "__globals__", {})


# --------------------------------------------------------------------------------- attention


def _try_attention(kind, given, case):
    """Build a module, put known weights into its layers, call it."""
    elsewhere = case.startswith("device")
    device = _find_device(kind)
    tensors = {
        name: send(torch.as_tensor(given[name]), device) for name in ("hidden", "outputs", "mask")
    }
    dtype = tensors["outputs"].dtype
    sizes = [int(size) for size in given["sizes"]] if "sizes" in given else []
    torch.manual_seed(0)
    module = _build(kind, sizes)
    if isinstance(module, Problem):
        return {"attended": module}
    if not isinstance(module, nn.Module):
        return {"attended": Problem(f"not-a-module|{type(module).__name__}")}
    results = {}
    if sizes:
        trouble = _look_at_layers(module, results)
        if trouble is None:
            trouble = _set_weights(module, given)
    else:
        names = [name for name, found in module.named_parameters() if found.requires_grad]
        trouble = Problem(f"extra-layers|{', '.join(names)}") if names else None
    if trouble is not None:
        if sizes and trouble.startswith("extra-layers|"):
            trouble = _set_weights(module, given) or trouble
        sized = trouble.startswith(("layer-sizes|v_proj", "extra-layers|"))
        module = module.to(device=device, dtype=dtype).eval()
        asked = _attempt(module, tensors["hidden"], tensors["outputs"], tensors["mask"])
        unfinished = isinstance(asked, Problem) and asked.startswith("open|")
        results["attended"] = asked if unfinished else trouble  # nothing is written yet
        out = _read_pair(asked)
        if sized and not isinstance(out, Problem):  # queries and keys may be right all the same
            results["weights"] = out[1].detach()
        return results
    if elsewhere:
        return _call_elsewhere(kind, sizes, tensors)
    module = module.to(device=device, dtype=dtype)
    called = _call_attention(module, tensors, given)
    if dtype != torch.as_tensor(given["outputs"]).dtype:  # this device knows float32 alone
        called = {k: v if isinstance(v, Problem) else v.cpu().double() for k, v in called.items()}
    return results | called


def _build(kind, sizes):
    if not sizes:
        return _attempt(kind)
    enc_hid_dim, dec_hid_dim, kq_dim = sizes
    keywords = {"kq_dim": kq_dim} if kq_dim else {}
    return _attempt(kind, enc_hid_dim, dec_hid_dim, **keywords)


def _look_at_layers(module, results):
    """Write down the layers' sizes; return a Problem when they are not the three that are asked for."""
    found = {name: getattr(module, name, None) for name in LAYERS}
    missing = [name for name, layer in found.items() if layer is None]
    # A layer may be held in a list as well; a frozen number is no more than a constant.
    known = {
        id(p)
        for layer in found.values()
        if isinstance(layer, nn.Module)
        for p in layer.parameters()
    }
    others = sorted(
        {
            name.partition(".")[0]
            for name, parameter in module.named_parameters()
            if parameter.requires_grad and id(parameter) not in known
        }
    )
    if missing:
        there = [name for name in LAYERS if name not in missing]
        found_ones = ", ".join([*there, *(name for name in others if name not in there)])
        return Problem(
            f"layers-missing|missing: {', '.join(missing)}; found: {found_ones or 'none'}"
        )
    strange = [name for name, layer in found.items() if not isinstance(layer, nn.Linear)]
    if strange:
        return Problem(f"layers-not-linear|{', '.join(strange)}")
    results["layers"] = torch.tensor([[x.in_features, x.out_features] for x in found.values()])
    results["biased"] = torch.tensor([float(layer.bias is not None) for layer in found.values()])
    if others:
        return Problem(f"extra-layers|{', '.join(others)}")
    return None


def _set_weights(module, given):
    with torch.no_grad():
        for name in LAYERS:
            layer = getattr(module, name)
            weight = torch.as_tensor(given[f"{name}.weight"])
            if layer.weight.shape != weight.shape:
                return Problem(f"layer-sizes|{name}")
            layer.weight.copy_(weight)
            if layer.bias is not None:
                layer.bias.copy_(torch.as_tensor(given[f"{name}.bias"]))
    return None


def _call_attention(module, tensors, given):
    module.eval()
    wanted = {}
    if "weight" in given:
        wanted = {name: tensors[name].requires_grad_() for name in ("hidden", "outputs")}
        for layer in LAYERS:
            found = getattr(module, layer, None)
            if isinstance(found, nn.Linear):  # by these names, wherever else it is held
                wanted |= {f"{layer}.{name}": tensor for name, tensor in found.named_parameters()}
    # Never a leaf, so that work in place is seen and does not raise.
    passed = {
        name: tensor * 1 if tensor.requires_grad else tensor.clone()
        for name, tensor in tensors.items()
    }
    again = {name: tensor.clone() for name, tensor in passed.items()}
    out = _read_pair(_attempt(module, passed["hidden"], passed["outputs"], passed["mask"]))
    if isinstance(out, Problem):
        return {"attended": out}
    attended, weights = out
    results = {"attended": attended.detach().clone(), "weights": weights.detach().clone()}
    for name, tensor in passed.items():
        same = tensor.shape == tensors[name].shape and torch.equal(
            tensor.detach(), tensors[name].detach()
        )
        results[f"kept.{name}"] = torch.tensor(float(same))
    module.train()  # there is nothing in it that should behave differently then
    second = _read_pair(_attempt(module, again["hidden"], again["outputs"], again["mask"]))
    if not isinstance(second, Problem):
        results["again"] = second[0].detach()
    results |= _call_with_others(module, tensors)
    if wanted:
        weight = torch.as_tensor(given["weight"]).to(attended)
        if attended.shape == weight.shape:
            results |= _find_gradients(attended, wanted, weight)
    return results


def _call_with_others(module, tensors):
    """Call a module once more, with other sentences: it may have kept something of the first ones."""
    module.eval()
    hidden, outputs, mask = (tensors[name].detach().roll(1, 0) for name in tensors)
    out = _read_pair(_attempt(module, -hidden, outputs, mask))
    if isinstance(out, Problem):
        return {"other": out}
    return {"other": out[0].detach(), "other_weights": out[1].detach()}


def _read_pair(out):
    """Return (attended, weights) as tensors, or a Problem."""
    if isinstance(out, Problem):
        return out
    if out is ...:
        return Problem("open|")
    if out is None:
        return Problem("none|")
    if isinstance(out, torch.Tensor) or not isinstance(out, (tuple, list)) or len(out) != 2:
        count = f"{len(out)} values" if isinstance(out, (tuple, list)) else type(out).__name__
        return Problem(f"not-a-pair|{count}")
    for part in out:
        if not isinstance(part, torch.Tensor):
            return Problem(f"not-a-tensor|{type(part).__name__}")
    return out[0], out[1].float() if out[1].dtype == torch.bool else out[1]


def _find_gradients(attended, wanted, weight):
    if not attended.requires_grad:
        return {f"grad.{name}": Problem("no-gradient|") for name in wanted}
    asked = [tensor for tensor in wanted.values() if tensor.requires_grad]  # not a frozen layer
    found = torch.autograd.grad(attended, asked, weight, allow_unused=True)
    reached = {id(tensor): gradient for tensor, gradient in zip(asked, found, strict=True)}
    gradients = {}
    for name, tensor in wanted.items():
        gradient = reached.get(id(tensor))
        gradients[f"grad.{name}"] = torch.zeros_like(tensor) if gradient is None else gradient
    return gradients


def _call_elsewhere(kind, sizes, tensors):
    """Build and use a module where there is a GPU: with the model on the CPU, and then on the GPU.

    Either is 1 when all stays on the inputs' device, 0 when not, or a Problem.
    """
    results = {}
    for what, moved in (("machine", False), ("device", True)):
        with pretending(PretendedGPU(), kind):
            module = _build(kind, sizes)
        if isinstance(module, Problem):
            results[what] = module
            continue
        module = module.to(tensors["outputs"].dtype).eval()
        own = [*module.parameters(), *module.buffers()]
        given = {name: tensor.clone() for name, tensor in tensors.items()}
        for tensor in (*own, *given.values()):
            mark(tensor, moved)
        functions = [f for f in (getattr(kind, "forward", None), module) if f is not None]
        with pretending(PretendedGPU(default=moved), *functions):
            out = _attempt(module, given["hidden"], given["outputs"], given["mask"])
        if isinstance(out, Problem):
            results[what] = out
        elif not isinstance(out, (tuple, list)) or not all(
            isinstance(x, torch.Tensor) for x in out
        ):
            results[what] = Problem("type|not two tensors")
        else:
            results[what] = torch.tensor(float(all(is_there(part) == moved for part in out)))
    return results


# -------------------------------------------------------------------------------------- loss


def _try_loss(function, given, case):
    device = _find_device(function)
    logits = send(torch.as_tensor(given["logits"]), device).requires_grad_()
    targets = torch.as_tensor(given["targets"]).to(device)
    passed, passed_targets = logits * 1, targets.clone()
    out = _attempt(function, passed, passed_targets, int(given["pad"]))
    if out is None:
        return {"loss": Problem("none|")}
    if out is ...:
        return {"loss": Problem("open|")}
    if isinstance(out, Problem):
        return {"loss": out}
    if isinstance(out, (int, float)):
        return {"loss": torch.tensor(float(out)), "grad": Problem("no-gradient|a plain number")}
    if not isinstance(out, torch.Tensor):
        return {"loss": Problem(f"not-a-tensor|{type(out).__name__}")}
    results = {
        "loss": out.detach().clone(),
        "kept.logits": torch.tensor(float(torch.equal(passed.detach(), logits.detach()))),
        "kept.targets": torch.tensor(float(torch.equal(passed_targets, targets))),
    }
    if out.dim() == 0:
        if not out.requires_grad:
            results["grad"] = Problem("no-gradient|")
        else:
            (gradient,) = torch.autograd.grad(out, [logits], allow_unused=True)
            results["grad"] = torch.zeros_like(logits) if gradient is None else gradient
    return results


# ----------------------------------------------------------------------------------- decoding


class ProbeTranslator(Lent, nn.Module):
    """Stands in for a translator: what it says next depends on how often and on what it was asked.

    It keeps a diary of every call: the token it was fed, how far the hidden state had come, whether it
    was in training mode and whether gradients were recorded.
    """

    closed = frozenset(("table", "diary", "sources", "masks", "encoding", "encoded_in"))

    def __init__(self, table, device):
        super().__init__()
        self.table = torch.as_tensor(table).to(
            device
        )  # (steps, V, V): logits after a token at a step
        self.weight = nn.Parameter(torch.ones((), device=device, dtype=self.table.dtype))
        self.inner = nn.Dropout(0.0)  # as in any real model, there are modules inside with a mode
        self.sources, self.masks, self.diary = [], [], []
        self.encoding = None  # what the last sentence became, and its mask
        self.encoded_in = [
            0,
            0,
        ]  # was any sentence encoded in training mode, recorded for gradients?

    def look_around(self):
        """Return whether this call is in training mode, and whether it is recorded for gradients."""
        recorded = torch.is_grad_enabled() and self.weight.requires_grad
        return [int(self.training or self.inner.training), int(recorded)]

    def encode(self, ids, mask):
        if ids.dim() != 2 or ids.shape[0] != 1 or mask.shape != ids.shape:
            raise ValueError(
                f"encode wants ids (1, T) and mask (1, T); it got {tuple(ids.shape)} and {tuple(mask.shape)}"
            )
        if ids.is_floating_point():
            raise TypeError("the ids of a sentence are whole numbers, not floats")
        if mask.dtype != torch.bool:
            raise TypeError(f"the mask holds no truth values: its type is {mask.dtype}")
        self.sources.append(ids.detach().clone())
        self.masks.append(mask.detach().clone())
        self.encoded_in = [
            max(pair) for pair in zip(self.encoded_in, self.look_around(), strict=True)
        ]
        outputs = ids[..., None].to(self.table.dtype) * self.weight  # (1, T, 1)
        self.encoding = outputs.detach().clone(), mask.detach().clone()
        return outputs, torch.zeros(1, 2, device=ids.device, dtype=self.table.dtype) * self.weight

    def knows(self, *given):
        """Say whether these are the outputs and the mask of the last sentence."""
        return self.encoding is not None and all(
            isinstance(one, torch.Tensor)
            and (one.shape, one.dtype) == (other.shape, other.dtype)
            and torch.equal(one, other)
            for one, other in zip(given, self.encoding, strict=True)
        )

    def step(self, token, hidden, outputs, mask):
        if token.shape != (1,):
            raise ValueError(f"step wants token (1,); it got {tuple(token.shape)}")
        if token.is_floating_point():
            raise TypeError("a token is a whole number, not a float")
        if not self.knows(outputs, mask):
            raise ValueError("outputs and mask are not those of the encoded sentence")
        if len(self.diary) >= PATIENCE:
            raise RuntimeError("the model was asked for far more words than allowed")
        asked, word = int(hidden[0, 0]), int(token[0])
        mode = self.look_around()
        self.diary.append([word, asked, *mode, int(mask.bool().sum())])
        logits = self.table[min(asked, len(self.table) - 1), word][None] * self.weight
        if mode[0]:  # as dropout would, it gives other answers
            logits = logits.roll(1, dims=-1)
        weights = mask.to(logits.dtype) / mask.sum()
        return logits, hidden + 1, weights


def _try_decoding(function, given, case):
    device = _find_device(function)
    model = ProbeTranslator(given["table"], device)
    training = bool(int(given["training"]))
    model.train(training)
    torch.set_grad_enabled(True)
    source = [int(token) for token in given["source"]]
    passed = list(source)
    out = _attempt(function, model, passed, int(given["max_tokens"]))
    restored = all(module.training == training for module in model.modules())
    results = {
        "mode": torch.tensor(float(training == restored)),
        "gradients_after": torch.tensor(
            float(torch.is_grad_enabled() and model.weight.requires_grad)
        ),
        "encoded_in": torch.tensor(model.encoded_in),
        "kept.source": torch.tensor(float(passed == source)),
        "diary": torch.tensor(model.diary or [[-1] * 5]),
        "n_steps": torch.tensor(len(model.diary)),
        "encoded": torch.cat([ids.reshape(-1) for ids in model.sources] or [torch.tensor([-1])]),
        "masked": torch.tensor(float(all(bool(m.all()) for m in model.masks))),
    }
    results["words"] = _read_words(out)
    if not isinstance(results["words"], Problem):
        model.diary = []
        again = _read_words(_attempt(function, model, list(source), int(given["max_tokens"])))
        results["again"] = again
    return results


def _read_words(out):
    """Return the words as a tensor with a -1 at its end, so that it is never empty; or a Problem."""
    if isinstance(out, Problem):
        return out
    if out is ...:
        return Problem("open|")
    if out is None:
        return Problem("none|")
    if not isinstance(out, (list, tuple)):
        return Problem(f"not-a-list|{type(out).__name__}")
    if any(
        isinstance(word, (torch.Tensor, str, float)) or not hasattr(word, "__index__")
        for word in out
    ):
        return Problem(f"not-ints|{type(out[0]).__name__}")
    return torch.tensor([*(int(word) for word in out), -1])


# ------------------------------------------------------------------------------- descriptions


def _try_description(function, given, case):
    numbers = [float(number) for number in given["losses"]]
    losses = {
        "floats": lambda: list(numbers),
        "tensors": lambda: [torch.tensor(x, dtype=torch.float64) for x in numbers],
        "grad": lambda: [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in numbers],
        "ints": lambda: [int(x) for x in numbers],
    }[case.partition("_")[0]]()
    passed = list(losses)
    out = _attempt(function, passed)
    if out is None:
        return {"found": Problem("none|")}
    if out is ...:
        return {"found": Problem("open|")}
    if isinstance(out, Problem):
        return {"found": out}
    if not isinstance(out, dict):
        return {"found": Problem(f"not-a-dict|{type(out).__name__}")}
    if set(out) != {"mean", "variance"}:
        return {"found": Problem(f"keys|{', '.join(map(str, out))}"[:200])}
    if not all(isinstance(value, float) for value in out.values()):
        kinds = {type(value).__name__ for value in out.values() if not isinstance(value, float)}
        return {"found": Problem(f"not-floats|{', '.join(sorted(kinds))}")}
    kept = len(passed) == len(losses) and all(a is b for a, b in zip(passed, losses, strict=False))
    return {
        "found": torch.tensor([out["mean"], out["variance"]], dtype=torch.float64),
        "kept.losses": torch.tensor(float(kept)),
    }


_TRIALS = {
    "MeanPoolAttention": _try_attention,
    "SingleQueryScaledDotProductAttention": _try_attention,
    "masked_loss": _try_loss,
    "greedy_translate": _try_decoding,
    "describe_losses": _try_description,
}
