"""The translation notebook as code: one right way, known mistakes by name, other right ways to write it.

Everything here is source text, because it is run the way a student's cell is run.
"""

from __future__ import annotations

GIVEN = """
import math

import torch
import torch.nn.functional as F
from torch import nn

START, STOP, UNK, PAD = 0, 1, 2, 3
DEVICE = torch.device("cpu")
"""

_MEAN_POOL = """
class MeanPoolAttention(nn.Module):
    def forward(self, hidden, encoder_outputs, mask):
        weights = mask.to(encoder_outputs.dtype)
        weights = weights / weights.sum(dim=1, keepdim=True)
        attended = (weights.unsqueeze(1) @ encoder_outputs).squeeze(1)
        return attended, weights
"""

_SCALED = """
class SingleQueryScaledDotProductAttention(nn.Module):
    def __init__(self, enc_hid_dim, dec_hid_dim, kq_dim=64):
        super().__init__()
        self.kq_dim = kq_dim
        self.q_proj = nn.Linear(dec_hid_dim, kq_dim)
        self.k_proj = nn.Linear(2 * enc_hid_dim, kq_dim)
        self.v_proj = nn.Linear(2 * enc_hid_dim, 2 * enc_hid_dim)

    def forward(self, hidden, encoder_outputs, mask):
        query = self.q_proj(hidden).unsqueeze(1)
        keys = self.k_proj(encoder_outputs)
        values = self.v_proj(encoder_outputs)
        scores = (query @ keys.transpose(1, 2)).squeeze(1) / math.sqrt(self.kq_dim)
        scores = scores.masked_fill(~mask, -math.inf)
        weights = torch.softmax(scores, dim=-1)
        attended = (weights.unsqueeze(1) @ values).squeeze(1)
        return attended, weights
"""

_LOSS = """
def masked_loss(logits, targets, pad):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=pad)
"""

_GREEDY = """
def greedy_translate(model, source, max_tokens):
    was_training = model.training
    model.eval()
    words = []
    with torch.no_grad():
        ids = torch.tensor([source], device=DEVICE)
        mask = torch.ones_like(ids, dtype=torch.bool)
        outputs, hidden = model.encode(ids, mask)
        token = torch.tensor([START], device=DEVICE)
        while len(words) < max_tokens:
            logits, hidden, weights = model.step(token, hidden, outputs, mask)
            token = logits.argmax(dim=-1)
            if token.item() == STOP:
                break
            words.append(token.item())
    model.train(was_training)
    return words
"""

_DESCRIBE = """
def describe_losses(losses):
    values = [float(loss) for loss in losses]
    mean = sum(values) / len(values)
    variance = sum((value - mean) ** 2 for value in values) / len(values)
    return {"mean": mean, "variance": variance}
"""

ORACLES = {
    "MeanPoolAttention": _MEAN_POOL,
    "SingleQueryScaledDotProductAttention": _SCALED,
    "masked_loss": _LOSS,
    "greedy_translate": _GREEDY,
    "describe_losses": _DESCRIBE,
}


def _swap(text: str, *changes: str) -> str:
    """Replace pieces of a text: old, new, old, new, ...; each old one must be there."""
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        assert old in text, old
        text = text.replace(old, new)
    return text


def _remember(text: str, name: str, lines: str) -> str:
    """Keep what these lines of `forward` work out in the first call, and use it in every other."""
    kept = f"        if not hasattr(self, 'kept'):\n{_indent(lines, 4)}\n            self.kept = {name}\n"
    return _swap(text, lines, f"{kept}        {name} = self.kept\n")


def _indent(body: str, width: int) -> str:
    return "\n".join(" " * width + line if line else "" for line in body.strip("\n").splitlines())


def _pool(body: str) -> str:
    """Write MeanPoolAttention with another body of `forward`."""
    head = _MEAN_POOL[: _MEAN_POOL.index("        weights =")]
    return head + _indent(body, 8) + "\n"


def _scaled(*changes: str) -> str:
    return _swap(_SCALED, *changes)


def _forward(body: str) -> str:
    """Write the scaled dot-product module with another body of `forward`."""
    head = _SCALED[: _SCALED.index("        query =")]
    return head + _indent(body, 8) + "\n"


def _loss(body: str) -> str:
    return "\ndef masked_loss(logits, targets, pad):\n" + _indent(body, 4) + "\n"


def _greedy(*changes: str) -> str:
    return _swap(_GREEDY, *changes)


def _describe(body: str) -> str:
    return "\ndef describe_losses(losses):\n" + _indent(body, 4) + "\n"


_POOLED = "weights = mask.to(encoder_outputs.dtype)\nweights = weights / weights.sum(dim=1, keepdim=True)\n"
_ATTEND = "attended = (weights.unsqueeze(1) @ encoder_outputs).squeeze(1)\n"
_ROOT = "/ math.sqrt(self.kq_dim)"
_MASK = "scores = scores.masked_fill(~mask, -math.inf)"
_SOFTMAX = "weights = torch.softmax(scores, dim=-1)"
_MIX = "attended = (weights.unsqueeze(1) @ values).squeeze(1)"
_V = "self.v_proj = nn.Linear(2 * enc_hid_dim, 2 * enc_hid_dim)"
_PER_TOKEN = "losses = F.cross_entropy(logits.transpose(1, 2), targets, reduction='none')\nmask = targets != pad\n"
_FLOATS = "values = [float(loss) for loss in losses]\nmean = sum(values) / len(values)\n"

MISTAKES: dict[str, dict[str, list[str]]] = {
    "MeanPoolAttention": {
        "mean-over-padding": [
            _pool("weights = torch.full_like(mask, 1 / mask.shape[1], dtype=encoder_outputs.dtype)\nreturn encoder_outputs.mean(dim=1), weights"),
            _pool("weights = torch.softmax(torch.zeros_like(mask, dtype=encoder_outputs.dtype), dim=1)\n" + _ATTEND + "return attended, weights"),
        ],
        "attended-over-padding": [_pool(_POOLED + "return encoder_outputs.mean(dim=1), weights")],
        "weights-over-padding": [_pool(_POOLED + _ATTEND + "return attended, torch.full_like(weights, 1 / mask.shape[1])")],
        "divided-by-all-places": [
            _pool("weights = mask.to(encoder_outputs.dtype) / mask.shape[1]\n" + _ATTEND + "return attended, weights"),
            _pool("kept = encoder_outputs * mask.unsqueeze(-1)\nreturn kept.mean(dim=1), mask.to(kept.dtype) / mask.shape[1]"),
        ],
        "attended-divided-by-all-places": [_pool(_POOLED + "kept = encoder_outputs * mask.unsqueeze(-1)\nreturn kept.mean(dim=1), weights")],
        "length-of-first-sentence": [_pool("weights = mask.to(encoder_outputs.dtype)\nweights = weights / weights[0].sum()\n" + _ATTEND + "return attended, weights")],
        "sum-instead-of-mean": [_pool("weights = mask.to(encoder_outputs.dtype)\n" + _ATTEND + "return attended, weights")],
        "mask-inverted": [_pool("weights = (~mask).to(encoder_outputs.dtype)\nweights = weights / weights.sum(dim=1, keepdim=True).clamp(min=1)\n" + _ATTEND + "return attended, weights")],
        "softmax-of-mask": [_pool("weights = torch.softmax(mask.to(encoder_outputs.dtype), dim=1)\n" + _ATTEND + "return attended, weights")],
        "weights-not-squeezed": [_pool(_POOLED + _ATTEND + "return attended, weights.unsqueeze(1)")],
        "attended-not-squeezed": [_pool(_POOLED + "return weights.unsqueeze(1) @ encoder_outputs, weights")],
        "squeezed-too-much": [_pool(_POOLED + "return (weights.unsqueeze(1) @ encoder_outputs).squeeze(), weights")],
        "mean-over-batch": [_pool(_POOLED + "return encoder_outputs.mean(dim=0), weights")],
        "attended-zeros": [_pool(_POOLED + "return torch.zeros_like(encoder_outputs[:, 0]), weights")],
        "outputs-swapped": [_pool(_POOLED + _ATTEND + "return weights, attended")],
        "not-a-pair": [_pool(_POOLED + _ATTEND + "return attended")],
        "max-instead-of-mean": [_pool(_POOLED + "return encoder_outputs.masked_fill(~mask.unsqueeze(-1), -math.inf).amax(dim=1), weights")],
        "one-word-only": [
            _pool(_POOLED + "return encoder_outputs[:, 0], weights"),
            _pool(_POOLED + "return encoder_outputs[:, -1], weights"),
        ],
        "input-changed": [
            _pool("encoder_outputs.masked_fill_(~mask.unsqueeze(-1), 0.0)\n" + _POOLED + "return encoder_outputs.sum(dim=1) / mask.sum(dim=1, keepdim=True), weights"),
            _pool("lengths = mask.sum(dim=1, keepdim=True)\nencoder_outputs *= mask.unsqueeze(-1)\n" + _POOLED + "return encoder_outputs.sum(dim=1) / lengths, weights"),
        ],
        "no-gradient": [_pool(_POOLED + _ATTEND + "return attended.detach(), weights")],
        "not-repeatable": [_pool(_POOLED + "weights = F.dropout(weights, 0.3)\n" + _ATTEND + "return attended, weights")],
        "remembers-first-call": [
            _remember(_MEAN_POOL, "weights", "        weights = mask.to(encoder_outputs.dtype)\n        weights = weights / weights.sum(dim=1, keepdim=True)\n"),
            _remember(_MEAN_POOL, "attended", "        weights = mask.to(encoder_outputs.dtype)\n        weights = weights / weights.sum(dim=1, keepdim=True)\n        attended = (weights.unsqueeze(1) @ encoder_outputs).squeeze(1)\n").replace("return attended, weights", "return attended, mask / mask.sum(dim=1, keepdim=True)"),
        ],
        "not-a-module": ["\nclass MeanPoolAttention:\n" + _MEAN_POOL.split("\n", 2)[2]],
        "extra-layers": [_swap(_MEAN_POOL, "    def forward", "    def __init__(self):\n        super().__init__()\n        self.scores = nn.Linear(4, 1)\n\n    def forward")],
        "constructor-arguments": [_swap(_MEAN_POOL, "    def forward", "    def __init__(self, enc_hid_dim):\n        super().__init__()\n\n    def forward")],
        "hard-coded-device": [_swap(_MEAN_POOL, "mask.to(encoder_outputs.dtype)", "mask * torch.ones(mask.shape, dtype=encoder_outputs.dtype, device='cpu')"), _swap(_MEAN_POOL, "mask.to(encoder_outputs.dtype)", "mask.to(encoder_outputs.dtype).cuda()")],
        "wrong-dtype": [_pool("weights = mask.float() / mask.sum(dim=1, keepdim=True)\n" + _ATTEND + "return attended, weights"), _pool(_POOLED + "weights = weights.float()\nreturn (weights.unsqueeze(1) @ encoder_outputs.float()).squeeze(1), weights")],
        "returned-none": [_pool(_POOLED + _ATTEND)],
        "todo-open": [_pool("raise NotImplementedError('TODO: MeanPoolAttention')")],
    },
    "SingleQueryScaledDotProductAttention": {
        "v-proj-half": [_scaled(_V, "self.v_proj = nn.Linear(2 * enc_hid_dim, enc_hid_dim)")],
        "v-proj-to-kq": [_scaled(_V, "self.v_proj = nn.Linear(2 * enc_hid_dim, kq_dim)")],
        "v-proj-to-decoder": [_scaled(_V, "self.v_proj = nn.Linear(2 * enc_hid_dim, dec_hid_dim)")],
        "encoder-size-not-doubled": [_scaled("nn.Linear(2 * enc_hid_dim, kq_dim)", "nn.Linear(enc_hid_dim, kq_dim)"), _scaled(_V, "self.v_proj = nn.Linear(enc_hid_dim, enc_hid_dim)")],
        "projections-exchanged": [
            _scaled("nn.Linear(dec_hid_dim, kq_dim)", "nn.Linear(2 * enc_hid_dim, kq_dim)  #", "k_proj = nn.Linear(2 * enc_hid_dim, kq_dim)\n", "k_proj = nn.Linear(dec_hid_dim, kq_dim)\n", "self.q_proj(hidden)", "self.k_proj(hidden)", "self.k_proj(encoder_outputs)", "self.q_proj(encoder_outputs)"),
        ],
        "layers-called-exchanged": [_scaled("self.q_proj(hidden)", "self.k_proj(hidden)", "self.k_proj(encoder_outputs)", "self.q_proj(encoder_outputs)")],
        "kq-dim-ignored": [_scaled("self.kq_dim = kq_dim", "kq_dim = self.kq_dim = 64")],
        "kq-dim-default": [_scaled("kq_dim=64", "kq_dim=32"), _scaled("kq_dim=64", "kq_dim")],
        "layers-missing": [
            _swap(_SCALED, "q_proj", "query_layer", "k_proj", "key_layer", "v_proj", "value_layer"),
            _swap(_SCALED, "q_proj", "W_q", "k_proj", "W_k"),
            _scaled("self.q_proj(hidden)", "nn.Linear(hidden.shape[1], self.kq_dim).to(hidden)(hidden)", "        self.q_proj = nn.Linear(dec_hid_dim, kq_dim)\n", ""),
        ],
        "layers-not-linear": [_scaled("self.q_proj = nn.Linear(dec_hid_dim, kq_dim)", "self.q_proj = nn.Sequential(nn.Linear(dec_hid_dim, kq_dim))")],
        "extra-layers": [
            _scaled(_V, _V + "\n        self.out_proj = nn.Linear(2 * enc_hid_dim, 2 * enc_hid_dim)", "return attended, weights", "return self.out_proj(attended), weights"),
            _scaled(_V, _V + "\n        self.norm = nn.LayerNorm(2 * enc_hid_dim)"),
        ],
        "super-forgotten": [_scaled("        super().__init__()\n", "")],
        "raised": [_scaled("nn.Linear(dec_hid_dim, kq_dim)", "nn.Linear(dec_hid_dim)")],
        "scale-forgotten": [_scaled(_ROOT, "")],
        "scale-without-root": [_scaled(_ROOT, "/ self.kq_dim")],
        "scale-by-encoder-size": [
            _scaled(_ROOT, "/ math.sqrt(encoder_outputs.shape[-1] // 2)"),
            _scaled(_ROOT, "/ math.sqrt(encoder_outputs.shape[-1])"),
        ],
        "scale-by-decoder-size": [_scaled(_ROOT, "/ math.sqrt(hidden.shape[-1])")],
        "scale-by-length": [_scaled(_ROOT, "/ math.sqrt(encoder_outputs.shape[1])")],
        "scale-fixed": [_scaled(_ROOT, "/ math.sqrt(64)"), _scaled(_ROOT, "/ 8")],
        "scale-multiplied": [_scaled(_ROOT, "* math.sqrt(self.kq_dim)")],
        "scale-after-softmax": [_scaled(_ROOT, "", _SOFTMAX, _SOFTMAX + " / math.sqrt(self.kq_dim)")],
        "hard-coded-device": [
            _scaled("self.kq_dim = kq_dim", "self.scale = torch.tensor([kq_dim ** 0.5], device='cpu')", _ROOT, "/ self.scale"),
            _scaled("self.kq_dim = kq_dim", "self.scale = torch.sqrt(torch.FloatTensor([kq_dim])).to('cuda')", _ROOT, "/ self.scale"),
        ],
        "follows-machine": [
            _scaled("self.kq_dim = kq_dim", "self.scale = torch.sqrt(torch.FloatTensor([kq_dim])).to(DEVICE)", _ROOT, "/ self.scale"),
            _scaled("self.kq_dim = kq_dim", "device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n        self.scale = torch.sqrt(torch.FloatTensor([kq_dim])).to(device)", _ROOT, "/ self.scale"),
            _scaled("self.kq_dim = kq_dim", "self.kq_dim = kq_dim\n        self.device = 'cuda' if torch.cuda.is_available() else 'cpu'", _ROOT, "/ torch.tensor(float(self.kq_dim), device=self.device).reshape(1).sqrt()"),
        ],
        "softmax-over-batch": [_scaled(_SOFTMAX, "weights = torch.softmax(scores, dim=0)")],
        "softmax-forgotten": [_scaled(_MASK, "scores = scores.masked_fill(~mask, 0.0)", _SOFTMAX, "weights = scores")],
        "softmax-twice": [_scaled(_SOFTMAX, "weights = torch.softmax(torch.softmax(scores, dim=-1), dim=-1)")],
        "mask-ignored": [_scaled(_MASK, ""), _scaled(_MASK, "scores.masked_fill(~mask, -math.inf)")],
        "mask-inverted": [_scaled(_MASK, "scores = scores.masked_fill(mask, -math.inf).nan_to_num(neginf=-1e30)")],
        "mask-after-softmax": [_scaled(_MASK, "", _SOFTMAX, _SOFTMAX + " * mask")],
        "mask-zeros-scores": [_scaled(_MASK, "scores = scores * mask"), _scaled(_MASK, "scores = scores.masked_fill(~mask, 0.0)"), _scaled("-math.inf", "1e-9")],
        "mask-added": [_scaled(_MASK, "scores = scores + mask")],
        "mask-finite": [_scaled("-math.inf", "-1e4"), _scaled("-math.inf", "-1000.0")],
        "not-finite": [_scaled("-math.inf", "math.inf"), _scaled(_MASK, "scores = scores + (~mask) * -math.inf")],
        "weights-not-squeezed": [_forward("query = self.q_proj(hidden).unsqueeze(1)\nscores = query @ self.k_proj(encoder_outputs).transpose(1, 2) / math.sqrt(self.kq_dim)\nweights = torch.softmax(scores.masked_fill(~mask.unsqueeze(1), -math.inf), dim=-1)\nreturn (weights @ self.v_proj(encoder_outputs)).squeeze(1), weights")],
        "attended-not-squeezed": [_scaled(_MIX, "attended = weights.unsqueeze(1) @ values")],
        "squeezed-too-much": [_scaled(_MIX, "attended = (weights.unsqueeze(1) @ values).squeeze()"), _scaled(".squeeze(1) / math", ".squeeze() / math"), _scaled("(query @ keys.transpose(1, 2)).squeeze(1)", "(keys @ query.transpose(1, 2)).squeeze()")],
        "values-not-projected": [_scaled("self.v_proj(encoder_outputs)", "encoder_outputs")],
        "values-weighted-equally": [_scaled(_MIX, "attended = values.mean(dim=1)"), _scaled(_MIX, "attended = (values * mask.unsqueeze(-1)).sum(dim=1) / mask.sum(dim=1, keepdim=True)")],
        "outputs-swapped": [_scaled("return attended, weights", "return weights, attended")],
        "not-a-pair": [_scaled("return attended, weights", "return attended")],
        "scores-returned": [_scaled("return attended, weights", "return attended, scores")],
        "activation-added": [_scaled("self.q_proj(hidden).unsqueeze(1)", "torch.tanh(self.q_proj(hidden)).unsqueeze(1)", "keys = self.k_proj(encoder_outputs)", "keys = torch.tanh(self.k_proj(encoder_outputs))"), _scaled("self.q_proj(hidden).unsqueeze(1)", "torch.relu(self.q_proj(hidden)).unsqueeze(1)")],
        "not-repeatable": [_scaled(_SOFTMAX, _SOFTMAX + "\n        weights = F.dropout(weights, 0.3, training=self.training)")],
        "input-changed": [_scaled("        query =", "        encoder_outputs *= mask.unsqueeze(-1)\n        query ="), _scaled("        query =", "        mask.logical_not_()\n        query =", "~mask", "mask")],
        "no-gradient": [_scaled("return attended, weights", "return attended.detach(), weights")],
        "wrong-gradient": [_scaled(_MIX, "attended = (weights.detach().unsqueeze(1) @ values).squeeze(1)"), _scaled("self.q_proj(hidden)", "self.q_proj(hidden.detach())"), _scaled("self.q_proj(hidden)", "F.linear(hidden, self.q_proj.weight.data, self.q_proj.bias.data)"), _scaled(_V, _V + ".requires_grad_(False)")],
        "remembers-first-call": [
            _remember(_SCALED, "keys", "        keys = self.k_proj(encoder_outputs)\n"),
            _remember(_SCALED, "query", "        query = self.q_proj(hidden).unsqueeze(1)\n"),
        ],
        "wrong-dtype": [_scaled("return attended, weights", "return attended.float(), weights.float()")],
        "returned-none": [_scaled("return attended, weights", "")],
        "todo-open": [_forward("raise NotImplementedError('TODO: forward')"), _scaled("super().__init__()", "super().__init__()\n        raise NotImplementedError('TODO: __init__')")],
    },
    "masked_loss": {
        "loss-over-padding": [_loss("return F.cross_entropy(logits.flatten(0, 1), targets.flatten())"), _loss("return F.cross_entropy(logits.transpose(1, 2), targets)")],
        "loss-mean-of-sentences": [
            _loss(_PER_TOKEN + "return ((losses * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)).mean()"),
            _loss("parts = [F.cross_entropy(l[t != pad], t[t != pad]) for l, t in zip(logits, targets) if (t != pad).any()]\nreturn torch.stack(parts).mean()"),
            _loss("return torch.stack([F.cross_entropy(l, t, ignore_index=pad) for l, t in zip(logits, targets)]).mean()"),
        ],
        "loss-mean-of-steps": [_loss("parts = [F.cross_entropy(logits[:, i], targets[:, i], ignore_index=pad) for i in range(targets.shape[1]) if (targets[:, i] != pad).any()]\nreturn torch.stack(parts).mean()")],
        "loss-divided-by-all-places": [_loss(_PER_TOKEN + "return (losses * mask).mean()")],
        "loss-summed": [_loss("return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=pad, reduction='sum')")],
        "loss-divided-by-sentences": [_loss(_PER_TOKEN + "return (losses * mask).sum() / len(targets)")],
        "loss-pad-fixed": [
            _loss("return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=3)"),
            _loss("return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=0)"),
            _loss("return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=PAD)"),
        ],
        "loss-of-softmax": [_loss("return F.cross_entropy(logits.softmax(-1).flatten(0, 1), targets.flatten(), ignore_index=pad)")],
        "loss-of-probabilities": [_loss("return F.nll_loss(logits.softmax(-1).flatten(0, 1), targets.flatten(), ignore_index=pad)")],
        "loss-of-scores": [_loss("return F.nll_loss(logits.flatten(0, 1), targets.flatten(), ignore_index=pad)")],
        "loss-bare-view": [_loss("B, T, V = logits.shape\nreturn F.cross_entropy(logits.reshape(B, V, T), targets, ignore_index=pad)")],
        "loss-shifted": [_loss("return F.cross_entropy(logits[:, :-1].flatten(0, 1), targets[:, 1:].flatten(), ignore_index=pad)")],
        "loss-on-padding-only": [_loss(_PER_TOKEN + "return (losses * ~mask).sum() / (~mask).sum().clamp(min=1)")],
        "loss-negative": [_loss("return -F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=pad)")],
        "loss-not-scalar": [_loss("return F.cross_entropy(logits.transpose(1, 2), targets, ignore_index=pad, reduction='none')"), _loss("return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=pad).reshape(1)")],
        "no-gradient": [_loss("return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=pad).item()"), _loss("return F.cross_entropy(logits.detach().flatten(0, 1), targets.flatten(), ignore_index=pad)")],
        "input-changed": [_loss("targets[targets == pad] = -100\nreturn F.cross_entropy(logits.flatten(0, 1), targets.flatten())")],
        "loss-dimensions": [_loss("return F.cross_entropy(logits, targets, ignore_index=pad)")],
        "loss-in-bits": [_loss("return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=pad) / math.log(2)")],
        "returned-none": [_loss("loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=pad)")],
        "todo-open": [_loss("raise NotImplementedError('TODO: masked_loss')")],
    },
    "greedy_translate": {
        "stop-returned": [
            _greedy("            if token.item() == STOP:\n                break\n            words.append(token.item())\n", "            words.append(token.item())\n            if token.item() == STOP:\n                break\n"),
        ],
        "start-returned": [_greedy("words = []", "words = [START]", "len(words) < max_tokens", "len(words) - 1 < max_tokens")],
        "never-stops": [_greedy("            if token.item() == STOP:\n                break\n", ""), _greedy("            if token.item() == STOP:\n                break\n            words.append(token.item())", "            if token.item() != STOP:\n                words.append(token.item())").replace("while len(words) < max_tokens", "for _ in range(max_tokens)")],
        "limit-ignored": [_greedy("while len(words) < max_tokens", "while True")],
        "limit-off-by-one": [_greedy("len(words) < max_tokens", "len(words) <= max_tokens"), _greedy("len(words) < max_tokens", "len(words) < max_tokens - 1"), _greedy("while len(words) < max_tokens:", "while True:", "            words.append(token.item())\n", "            words.append(token.item())\n            if len(words) >= max_tokens:\n                break\n")],
        "token-not-fed-back": [_greedy("            token = logits.argmax(dim=-1)\n            if token.item() == STOP:\n                break\n            words.append(token.item())", "            best = logits.argmax(dim=-1)\n            if best.item() == STOP:\n                break\n            words.append(best.item())")],
        "source-fed": [_greedy("model.step(token,", "model.step(ids[:, min(len(words), ids.shape[1] - 1)],")],
        "hidden-not-carried": [_greedy("logits, hidden, weights", "logits, _, weights")],
        "begins-without-start": [_greedy("token = torch.tensor([START], device=DEVICE)", "token = torch.tensor([STOP], device=DEVICE)"), _greedy("token = torch.tensor([START], device=DEVICE)", "token = torch.tensor([source[1]], device=DEVICE)")],
        "not-the-likeliest": [_greedy("logits.argmax(dim=-1)", "logits.argmin(dim=-1)"), _greedy("logits.argmax(dim=-1)", "logits.topk(2).indices[:, 1]")],
        "not-repeatable": [_greedy("logits.argmax(dim=-1)", "torch.multinomial(logits.softmax(-1), 1)[0]")],
        "eval-forgotten": [
            _greedy("    model.eval()\n", ""),
            _greedy("    model.eval()\n", "    model.training = False\n", "model.train(was_training)", "model.training = was_training"),
            _greedy("    model.eval()\n", "", "        token = torch.tensor", "        model.eval()\n        token = torch.tensor"),
        ],
        "mode-not-restored": [_greedy("    model.train(was_training)\n", ""), _greedy("model.train(was_training)", "model.training = was_training")],
        "mode-always-training": [_greedy("model.train(was_training)", "model.train()")],
        "gradients-on": [
            _greedy("with torch.no_grad():", "if True:"),
            _greedy("    with torch.no_grad():\n        ids = torch.tensor([source], device=DEVICE)\n        mask = torch.ones_like(ids, dtype=torch.bool)\n        outputs, hidden = model.encode(ids, mask)\n", "    ids = torch.tensor([source], device=DEVICE)\n    mask = torch.ones_like(ids, dtype=torch.bool)\n    outputs, hidden = model.encode(ids, mask)\n    with torch.no_grad():\n"),
        ],
        "gradients-left-off": [
            _greedy("with torch.no_grad():", "torch.set_grad_enabled(False)\n    if True:"),
            _greedy("    words = []\n", "    words = []\n    for parameter in model.parameters():\n        parameter.requires_grad_(False)\n"),
        ],
        "limit-from-source": [
            _greedy("while len(words) < max_tokens", "for _ in range(min(max_tokens, len(source)))"),
            _greedy("while len(words) < max_tokens", "for _ in range(min(max_tokens, len(source) - 2))"),
            _greedy("while len(words) < max_tokens", "for _ in range(min(max_tokens, 2 * len(source)))"),
        ],
        "repeated-word-stops": [
            _greedy("if token.item() == STOP:", "if token.item() == STOP or token.item() in words:"),
            _greedy("if token.item() == STOP:", "if token.item() == STOP or words[-1:] == [token.item()]:"),
        ],
        "pad-stops": [_greedy("if token.item() == STOP:", "if token.item() in (STOP, PAD):")],
        "words-left-out": [
            _greedy("    return words", "    return [word for word in words if word > 3]"),
            _greedy("    return words", "    return [word for word in words if word not in (START, STOP, PAD)]"),
            _greedy("    return words", "    return [word for word in words if word not in (START, STOP, 2)]"),
        ],
        "mask-not-bool": [
            _greedy("torch.ones_like(ids, dtype=torch.bool)", "torch.ones_like(ids)"),
            _greedy("torch.ones_like(ids, dtype=torch.bool)", "torch.ones(1, len(source), device=DEVICE)"),
        ],
        "encoding-not-passed-on": [
            _greedy("logits, hidden, weights =", "logits, hidden, outputs ="),
            _greedy("hidden, outputs, mask)", "hidden, outputs, mask[:, :1])"),
            _greedy("hidden, outputs, mask)", "hidden, outputs, ~mask)"),
            _greedy("hidden, outputs, mask)", "hidden, outputs * 0, mask)"),
            _greedy("hidden, outputs, mask)", "hidden, ids, mask)"),
        ],
        "raised": [
            _greedy("model.step(token,", "model.step(token.float(),"),
            _greedy("torch.tensor([source], device=DEVICE)", "torch.tensor([source], device=DEVICE).float()"),
        ],
        "mask-inverted": [_greedy("torch.ones_like(ids, dtype=torch.bool)", "torch.zeros_like(ids, dtype=torch.bool)")],
        "mask-hides-words": [_greedy("torch.ones_like(ids, dtype=torch.bool)", "ids != 0"), _greedy("torch.ones_like(ids, dtype=torch.bool)", "(ids != START) & (ids != STOP)")],
        "source-cut": [_greedy("torch.tensor([source], device=DEVICE)", "torch.tensor([source[1:-1]], device=DEVICE)"), _greedy("torch.tensor([source], device=DEVICE)", "torch.tensor([source[1:]], device=DEVICE)")],
        "source-wrapped-again": [_greedy("torch.tensor([source], device=DEVICE)", "torch.tensor([[START, *source, STOP]], device=DEVICE)")],
        "input-changed": [_greedy("outputs, hidden = model.encode(ids, mask)", "outputs, hidden = model.encode(ids, mask)\n        source.pop()")],
        "last-word-dropped": [_greedy("    return words", "    return words[:-1]")],
        "not-ints": [_greedy("words.append(token.item())", "words.append(token)"), _greedy("words.append(token.item())", "words.append(token[0])")],
        "not-a-list": [_greedy("    return words", "    return torch.tensor(words)"), _greedy("    return words", "    return ' '.join(map(str, words))")],
        "batch-dimension": [_greedy("torch.tensor([source], device=DEVICE)", "torch.tensor(source, device=DEVICE)"), _greedy("torch.tensor([START], device=DEVICE)", "torch.tensor([[START]], device=DEVICE)")],
        "returned-none": [_greedy("    return words", "    pass")],
        "todo-open": ["\ndef greedy_translate(model, source, max_tokens):\n    raise NotImplementedError('TODO: greedy_translate')\n"],
    },
    "describe_losses": {
        "variance-of-sample": [
            _describe(_FLOATS + "return {'mean': mean, 'variance': sum((v - mean) ** 2 for v in values) / max(1, len(values) - 1)}"),
            _describe("import statistics\nvalues = [float(loss) for loss in losses]\nreturn {'mean': statistics.mean(values), 'variance': statistics.variance(values)}"),
            _describe("values = torch.tensor([float(loss) for loss in losses], dtype=torch.float64)\nreturn {'mean': values.mean().item(), 'variance': values.var().item()}"),
        ],
        "standard-deviation": [_describe(_FLOATS + "return {'mean': mean, 'variance': (sum((v - mean) ** 2 for v in values) / len(values)) ** 0.5}"), _describe("import numpy\nvalues = [float(loss) for loss in losses]\nreturn {'mean': float(numpy.mean(values)), 'variance': float(numpy.std(values))}")],
        "variance-not-divided": [_describe(_FLOATS + "return {'mean': mean, 'variance': sum((v - mean) ** 2 for v in values)}")],
        "variance-around-zero": [_describe(_FLOATS + "return {'mean': mean, 'variance': sum(v ** 2 for v in values) / len(values)}")],
        "absolute-deviation": [_describe(_FLOATS + "return {'mean': mean, 'variance': sum(abs(v - mean) for v in values) / len(values)}")],
        "mean-not-divided": [_describe(_FLOATS + "return {'mean': sum(values), 'variance': sum((v - mean) ** 2 for v in values) / len(values)}")],
        "median": [_describe("import statistics\nvalues = [float(loss) for loss in losses]\nreturn {'mean': statistics.median(values), 'variance': statistics.pvariance(values)}")],
        "mean-and-variance-swapped": [_describe(_FLOATS + "return {'variance': mean, 'mean': sum((v - mean) ** 2 for v in values) / len(values)}")],
        "last-loss": [_describe(_FLOATS + "return {'mean': values[-1], 'variance': sum((v - mean) ** 2 for v in values) / len(values)}")],
        "rounded": [_describe(_FLOATS + "return {'mean': round(mean, 2), 'variance': round(sum((v - mean) ** 2 for v in values) / len(values), 2)}")],
        "wrong-keys": [_describe(_FLOATS + "return {'mean': mean, 'var': sum((v - mean) ** 2 for v in values) / len(values)}")],
        "not-a-dict": [_describe(_FLOATS + "return mean, sum((v - mean) ** 2 for v in values) / len(values)")],
        "not-floats": [_describe("values = torch.tensor([float(loss) for loss in losses], dtype=torch.float64)\nreturn {'mean': values.mean(), 'variance': values.var(unbiased=False)}")],
        "tensors-not-taken": [_describe("import numpy\nreturn {'mean': float(numpy.mean(losses)), 'variance': float(numpy.var(losses))}"), _describe("import statistics\nreturn {'mean': statistics.fmean(losses), 'variance': statistics.pvariance(losses)}")],
        "floats-not-taken": [_describe("values = torch.stack(losses).double()\nreturn {'mean': values.mean().item(), 'variance': values.var(unbiased=False).item()}")],
        "input-changed": [_describe("losses.sort(key=float)\n" + _FLOATS + "return {'mean': mean, 'variance': sum((v - mean) ** 2 for v in values) / len(values)}")],
        "returned-none": [_describe(_FLOATS + "print(mean)")],
        "todo-open": [_describe("raise NotImplementedError('TODO: describe_losses')")],
    },
}  # fmt: skip

VARIANTS: dict[str, list[str]] = {
    "MeanPoolAttention": [
        _pool("kept = encoder_outputs * mask.unsqueeze(-1)\nlengths = mask.sum(dim=1, keepdim=True)\nreturn kept.sum(dim=1) / lengths, mask.to(encoder_outputs.dtype) / lengths"),
        _pool("scores = torch.zeros_like(encoder_outputs[..., 0]).masked_fill(~mask, -math.inf)\nweights = scores.softmax(dim=1)\nreturn torch.einsum('bt,btc->bc', weights, encoder_outputs), weights"),
        _pool("lengths = mask.sum(dim=1)\nmeans = [o[m].mean(dim=0) for o, m in zip(encoder_outputs, mask)]\nreturn torch.stack(means), mask / lengths[:, None]"),
        _pool("weights = F.normalize(mask.to(encoder_outputs), p=1, dim=1)\nreturn torch.bmm(weights[:, None, :], encoder_outputs)[:, 0], weights"),
        _swap(_MEAN_POOL, "    def forward", "    def __init__(self):\n        super().__init__()\n        self.softmax = nn.Softmax(dim=-1)\n\n    def forward"),
        _swap(_MEAN_POOL, "    def forward", "    def __init__(self, *unused):\n        super().__init__()\n\n    def forward"),
        _pool("weights = torch.where(mask, 1.0, 0.0).to(encoder_outputs)\nweights = weights / weights.sum(-1, keepdim=True)\nreturn (weights[..., None] * encoder_outputs).sum(1), weights"),
    ],
    "SingleQueryScaledDotProductAttention": [
        _scaled(_MASK, "", _SOFTMAX, _SOFTMAX + " * mask\n        weights = weights / weights.sum(dim=-1, keepdim=True)"),
        _scaled(_MASK, "", _SOFTMAX, "top = scores.masked_fill(~mask, -math.inf).amax(dim=-1, keepdim=True)\n        weights = torch.exp(scores - top) * mask\n        weights = weights / weights.sum(dim=-1, keepdim=True)"),
        _swap(_SCALED, "(dec_hid_dim, kq_dim)", "(dec_hid_dim, kq_dim, bias=False)", "(2 * enc_hid_dim, kq_dim)", "(2 * enc_hid_dim, kq_dim, bias=False)", "(2 * enc_hid_dim, 2 * enc_hid_dim)", "(2 * enc_hid_dim, 2 * enc_hid_dim, bias=False)"),
        _scaled("(2 * enc_hid_dim, kq_dim)", "(enc_hid_dim * 2, kq_dim, bias=False)"),
        _forward("query, keys, values = self.q_proj(hidden), self.k_proj(encoder_outputs), self.v_proj(encoder_outputs)\nscores = torch.einsum('bk,btk->bt', query, keys) * self.kq_dim ** -0.5\nscores = torch.where(mask, scores, torch.tensor(-math.inf, dtype=scores.dtype, device=scores.device))\nweights = F.softmax(scores, dim=1)\nreturn torch.einsum('bt,btc->bc', weights, values), weights"),
        _forward("query = self.q_proj(hidden).unsqueeze(-1)\nscores = torch.bmm(self.k_proj(encoder_outputs), query).squeeze(-1) / self.kq_dim ** 0.5\nweights = scores.masked_fill(mask == 0, -1e9).softmax(-1)\nreturn torch.bmm(weights.unsqueeze(1), self.v_proj(encoder_outputs)).squeeze(1), weights"),
        _forward("query = self.q_proj(hidden)\nkeys = self.k_proj(encoder_outputs)\nscores = (query[:, None] * keys).sum(-1) / math.sqrt(query.shape[-1])\nscores = scores + torch.zeros_like(scores).masked_fill(~mask, float('-inf'))\nweights = scores.softmax(dim=-1)\nmixed = (weights[..., None] * encoder_outputs).sum(dim=1)\nreturn self.v_proj(mixed), weights"),
        _forward("query = self.q_proj(hidden).unsqueeze(1) / math.sqrt(self.kq_dim)\nweights = torch.softmax(torch.matmul(query, self.k_proj(encoder_outputs).mT).masked_fill(~mask.unsqueeze(1), -torch.inf), dim=2)\nattended = torch.matmul(weights, self.v_proj(encoder_outputs))\nreturn attended.squeeze(1), weights.squeeze(1)"),
        _forward("query = self.q_proj(hidden).unsqueeze(1)\nkeys, values = self.k_proj(encoder_outputs), self.v_proj(encoder_outputs)\nscores = (query @ keys.transpose(1, 2)).squeeze(1) / math.sqrt(keys.shape[-1])\nscores = scores - scores.masked_fill(~mask, -math.inf).amax(dim=1, keepdim=True)\nexponentials = torch.where(mask, scores, 0.0).exp() * mask\nweights = exponentials / exponentials.sum(dim=1, keepdim=True)\nreturn (weights.unsqueeze(1) @ values).squeeze(1), weights"),
        _scaled("self.kq_dim = kq_dim", "self.register_buffer('scale', torch.tensor(float(kq_dim)).sqrt())", _ROOT, "/ self.scale"),
        _scaled("self.kq_dim = kq_dim", "self.scale = kq_dim ** 0.5\n        self.softmax = nn.Softmax(dim=-1)", _ROOT, "/ self.scale", _SOFTMAX, "weights = self.softmax(scores)"),
        _scaled("-math.inf", "torch.finfo(scores.dtype).min"),
        _scaled("self.q_proj = nn.Linear(dec_hid_dim, kq_dim)\n        self.k_proj = nn.Linear(2 * enc_hid_dim, kq_dim)\n        " + _V, "sizes = (dec_hid_dim, kq_dim), (2 * enc_hid_dim, kq_dim), (2 * enc_hid_dim, 2 * enc_hid_dim)\n        self.projections = nn.ModuleList(nn.Linear(*size) for size in sizes)\n        self.q_proj, self.k_proj, self.v_proj = self.projections"),
        _scaled("self.kq_dim = kq_dim", "self.scale = nn.Parameter(torch.tensor(float(kq_dim)).sqrt(), requires_grad=False)", _ROOT, "/ self.scale"),
        _scaled("-math.inf", "torch.tensor(-math.inf)"),
        _scaled("        query =", "        assert mask.any(dim=1).all(), 'a sentence without words'\n        query ="),
        _scaled(_ROOT, "/ torch.sqrt(torch.tensor(self.kq_dim))"),
        _forward("rows = []\nfor b in range(len(hidden)):\n    scores = self.k_proj(encoder_outputs[b]) @ self.q_proj(hidden[b]) / math.sqrt(self.kq_dim)\n    rows.append(torch.softmax(scores.masked_fill(~mask[b], -math.inf), dim=0))\nweights = torch.stack(rows)\nreturn (weights.unsqueeze(1) @ self.v_proj(encoder_outputs)).squeeze(1), weights"),
        _forward("values = self.v_proj(encoder_outputs)\nquery, keys = self.q_proj(hidden)[:, None], self.k_proj(encoder_outputs)\nattended = F.scaled_dot_product_attention(query, keys, values, attn_mask=mask[:, None])[:, 0]\nscores = (query @ keys.mT)[:, 0] / math.sqrt(self.kq_dim)\nreturn attended, scores.masked_fill(~mask, -math.inf).softmax(-1)"),
    ],
    "masked_loss": [
        _loss("return F.cross_entropy(logits.transpose(1, 2), targets, ignore_index=pad)"),
        _loss("keep = targets != pad\nreturn F.cross_entropy(logits[keep], targets[keep])"),
        _loss(_PER_TOKEN + "return (losses * mask).sum() / mask.sum()"),
        _loss("logprobs = torch.log_softmax(logits, dim=-1)\nmask = (targets != pad).to(logits.dtype)\nchosen = logprobs.gather(-1, targets.unsqueeze(-1)).squeeze(-1)\nreturn -(chosen * mask).sum() / mask.sum()"),
        _loss("return nn.CrossEntropyLoss(ignore_index=pad)(logits.reshape(-1, logits.size(-1)), targets.reshape(-1))"),
        _loss("total, count = 0.0, 0\nfor row, answers in zip(logits, targets):\n    for scores, answer in zip(row, answers):\n        if answer.item() != pad:\n            total = total + torch.logsumexp(scores, dim=0) - scores[answer]\n            count += 1\nreturn total / count"),
        _loss("targets = targets.clone()\ntargets[targets == pad] = -100\nreturn F.cross_entropy(logits.flatten(0, 1), targets.flatten())"),
    ],
    "greedy_translate": [
        """
@torch.no_grad()
def greedy_translate(model, source, max_tokens):
    training = model.training
    model.eval()
    try:
        ids = torch.tensor(source, device=DEVICE).unsqueeze(0)
        mask = torch.ones(1, len(source), dtype=torch.bool, device=DEVICE)
        outputs, hidden = model.encode(ids, mask)
        token, result = torch.tensor([START], device=DEVICE), []
        for _ in range(max_tokens):
            logits, hidden, _ = model.step(token, hidden, outputs, mask)
            token = logits[0].argmax().reshape(1)
            if int(token) == STOP:
                return result
            result.append(int(token))
        return result
    finally:
        if training:
            model.train()
""",
        """
def greedy_translate(model, source, max_tokens):
    before = model.training
    model.eval()
    with torch.inference_mode():
        ids = torch.LongTensor([source]).to(DEVICE)
        mask = ids != PAD
        outputs, hidden = model.encode(ids, mask)
        words = [START]
        while len(words) <= max_tokens and words[-1] != STOP:
            logits, hidden, _ = model.step(torch.tensor(words[-1:], device=DEVICE), hidden, outputs, mask)
            words.append(logits.argmax(-1).item())
    model.train(before)
    return [word for word in words if word not in (START, STOP)]
""",
        """
def greedy_translate(model, source, max_tokens):
    mode = model.training
    model.eval()
    with torch.no_grad():
        device = next(model.parameters()).device
        ids = torch.as_tensor(source).view(1, -1).to(device)
        mask = torch.full(ids.shape, True, device=device)
        outputs, hidden = model.encode(ids, mask)
        token = torch.full((1,), START, device=device)
        out = []
        for i in range(max_tokens):
            logits, hidden, weights = model.step(token, hidden, outputs, mask)
            token = torch.softmax(logits, dim=1).max(dim=1).indices
            out += token.tolist()
            if out[-1] == STOP:
                out.pop()
                break
    model.train(mode)
    return out
""",
        _greedy("logits.argmax(dim=-1)", "torch.topk(logits, 1).indices[:, 0]", "    return words", "    return tuple(words)"),
        _greedy("    words = []\n", "    words = []\n    if max_tokens == 0:\n        model.train(was_training)\n        return []\n"),
    ],
    "describe_losses": [
        _describe("import statistics\nvalues = [float(loss) for loss in losses]\nreturn {'mean': statistics.fmean(values), 'variance': statistics.pvariance(values)}"),
        _describe("import numpy\nvalues = numpy.array([float(loss) for loss in losses])\nreturn {'mean': values.mean(), 'variance': values.var()}"),
        _describe("values = torch.tensor([float(loss) for loss in losses], dtype=torch.float64)\nreturn {'mean': values.mean().item(), 'variance': values.var(unbiased=False).item()}"),
        _describe("values = torch.tensor([float(loss) for loss in losses])\nreturn dict(variance=values.var(correction=0).item(), mean=values.mean().item())"),
        _describe(_FLOATS + "squares = sum(v * v for v in values) / len(values)\nreturn {'mean': mean, 'variance': squares - mean ** 2}"),
        _describe("total, squares, n = 0.0, 0.0, 0\nfor loss in losses:\n    n += 1\n    gap = float(loss) - total\n    total += gap / n\n    squares += gap * (float(loss) - total)\nreturn {'mean': total, 'variance': squares / n}"),
    ],
}  # fmt: skip

# What wrong work earns at most, as a share of the points, by its parts; what is not listed earns nothing.
_EARNED: dict[str, dict[float, tuple[str, ...]]] = {
    "MeanPoolAttention": {
        2 / 3: (
            "hard-coded-device",
        ),
        1 / 3: (
            "mean-over-padding", "attended-over-padding", "weights-over-padding", "divided-by-all-places", "attended-divided-by-all-places", "softmax-of-mask",
        ),
    },
    "SingleQueryScaledDotProductAttention": {
        5 / 6: (
            "hard-coded-device", "follows-machine",
        ),
        4 / 6: (
            "mask-ignored", "mask-after-softmax", "mask-zeros-scores", "mask-added", "mask-finite",
            "not-finite", "weights-not-squeezed", "attended-not-squeezed", "squeezed-too-much",
            "values-not-projected", "values-weighted-equally", "input-changed", "no-gradient", "wrong-gradient", "wrong-dtype",
        ),
        2 / 6: (
            "v-proj-half", "v-proj-to-kq", "v-proj-to-decoder", "extra-layers", "scale-forgotten",
            "scale-without-root", "scale-by-encoder-size", "scale-by-decoder-size", "scale-by-length",
            "scale-fixed", "scale-multiplied", "scale-after-softmax", "softmax-over-batch", "softmax-forgotten", "softmax-twice", "mask-inverted", "scores-returned", "activation-added", "not-repeatable", "remembers-first-call",
        ),
    },
    "greedy_translate": {
        2 / 3: (
            "limit-ignored", "limit-off-by-one", "eval-forgotten", "mode-not-restored", "mode-always-training", "gradients-on", "gradients-left-off",
        ),
        1 / 3: (
            "stop-returned", "never-stops", "token-not-fed-back", "source-fed", "hidden-not-carried",
            "begins-without-start", "not-the-likeliest", "not-repeatable", "limit-from-source",
            "repeated-word-stops", "pad-stops", "words-left-out", "mask-inverted", "mask-hides-words",
            "source-cut", "source-wrapped-again", "input-changed",
        ),
    },
}  # fmt: skip
SHARES = {
    name: {slug: share for share, slugs in earned.items() for slug in slugs}
    for name, earned in _EARNED.items()
}
