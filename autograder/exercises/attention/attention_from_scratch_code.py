"""Notebook 2 as code: an oracle apart from the notebook, known mistakes by name, and other right ways to write it.

Everything here is source text, because it is run the way a student's cell is run.
"""

from __future__ import annotations

import ast

GIVEN = """
def init_qkv_proj(n_embd):
    return nn.Linear(n_embd, n_embd), nn.Linear(n_embd, n_embd), nn.Linear(n_embd, n_embd)


def split_heads_qkv(Q, K, V, n_heads):
    return split_heads(Q, n_heads), split_heads(K, n_heads), split_heads(V, n_heads)
"""

_SIGNATURES = {
    "pairwise_similarities": "Q, K",
    "attn_scaled": "A, n_embd, n_heads",
    "attn_softmax": "A",
    "compute_outputs": "A, V",
    "make_causal_mask": "n_tok",
    "apply_causal_mask": "mask, A",
    "split_heads": "x, n_heads",
    "merge_heads": "y",
    "self_attention": "Q, K, V, n_heads=1, causal=True",
}


def _define(name: str, body: str) -> str:
    """Write a function of the contract's signature around one or more lines."""
    lines = body.strip("\n").splitlines()
    if len(lines) == 1 and isinstance(ast.parse(lines[0]).body[0], ast.Expr):
        lines = [f"return {lines[0]}"]
    return "\n".join([f"def {name}({_SIGNATURES[name]}):", *(f"    {line}" for line in lines)])


_ATTENTION = """
n_embd = Q.shape[-1]
Q, K, V = split_heads_qkv(Q, K, V, n_heads)
A = attn_scaled(pairwise_similarities(Q, K), n_embd, n_heads)
if causal:
    A = apply_causal_mask(make_causal_mask(Q.shape[-2]), A)
return merge_heads(compute_outputs(attn_softmax(A), V))
"""

ORACLES = {
    name: _define(name, body)
    for name, body in {
        "pairwise_similarities": "Q @ K.transpose(-2, -1)",
        "attn_scaled": "A / math.sqrt(n_embd / n_heads)",
        "attn_softmax": "torch.softmax(A, dim=-1)",
        "compute_outputs": "A @ V",
        "make_causal_mask": "torch.ones(n_tok, n_tok, dtype=torch.bool, device=DEVICE).tril()",
        "apply_causal_mask": "A.masked_fill(mask == 0, -math.inf)",
        "split_heads": """
B, T, C = x.shape
return x.reshape(B, T, n_heads, C // n_heads).transpose(1, 2)
""",
        "merge_heads": "y.transpose(1, 2).flatten(-2)",
        "self_attention": _ATTENTION,
    }.items()
}


def _attention(old: str = "", new: str = "", signature: str = "") -> str:
    """Return the reference's self_attention with one piece of its text replaced."""
    assert old in _ATTENTION, old
    text = _define("self_attention", _ATTENTION.replace(old, new))
    return text.replace(_SIGNATURES["self_attention"], signature) if signature else text


_SOFTMAX = "attn_softmax(A)"
_MASKED = "A = apply_causal_mask(make_causal_mask(Q.shape[-2]), A)"
_SCALED = "attn_scaled(pairwise_similarities(Q, K), n_embd, n_heads)"


def _mask_weights(masked: str) -> str:
    """Return a self_attention that masks the weights, after the softmax."""
    old = f"    {_MASKED}\nreturn merge_heads(compute_outputs(attn_softmax(A), V))"
    masked = f"    mask = make_causal_mask(Q.shape[-2])\n    A = {masked}"
    text = _attention(old, f"{masked}\nreturn merge_heads(compute_outputs(A, V))")
    return text.replace(_SCALED, f"attn_softmax({_SCALED})")


_MISTAKEN_BODIES = {
    "pairwise_similarities": {
        "queries-and-keys-swapped": ["K @ Q.transpose(-2, -1)", "(Q @ K.mT).mT"],
        "keys-not-transposed": ["Q @ K", "torch.matmul(Q, K)"],
        "transposed-all-dimensions": ["Q @ K.permute(*reversed(range(K.dim())))"],
        "transposed-fixed-dimensions": ["Q @ K.transpose(1, 2)", "Q @ torch.transpose(K, 2, 1)"],
        "elementwise-product": ["Q * K"],
        "only-matching-pairs": ["(Q * K).sum(dim=-1)"],
        "scaled-too-early": ["Q @ K.mT / math.sqrt(Q.shape[-1])"],
        "queries-with-queries": ["Q @ Q.mT"],
        "keys-with-keys": ["K @ K.mT"],
        "cosine-similarity": ["F.normalize(Q, dim=-1) @ F.normalize(K, dim=-1).mT"],
        "softmax-too-early": ["torch.softmax(Q @ K.mT, dim=-1)"],
        "no-gradient": ["torch.tensor((Q @ K.mT).tolist(), dtype=Q.dtype)", "(Q @ K.mT).detach()"],
        "wrong-dtype": ["(Q @ K.mT).half()"],
        "hard-coded-device": ["(Q @ K.mT).cpu()", "(Q @ K.mT).to('cuda')"],
        "input-changed": ["K.transpose_(-2, -1)\nreturn Q @ K"],
        "only-with-heads": ["torch.einsum('bhid,bhjd->bhij', Q, K)"],
        "returned-none": ["A = Q @ K.mT"],
        "not-a-tensor": ["(Q @ K.mT).tolist()"],
    },
    "attn_scaled": {
        "scale-by-n-embd": ["A / math.sqrt(n_embd)", "A * n_embd ** -0.5"],
        "scale-by-n-heads": ["A / math.sqrt(n_heads)"],
        "scale-by-tokens": ["A / math.sqrt(A.shape[-1])"],
        "scale-by-product": ["A / math.sqrt(n_embd * n_heads)"],
        "scale-without-root": ["A / (n_embd / n_heads)", "A / (n_embd // n_heads)"],
        "scale-multiplied": ["A * math.sqrt(n_embd / n_heads)"],
        "scale-rounded": ["A / int(math.sqrt(n_embd / n_heads))", "A / round(math.sqrt(n_embd / n_heads))", "A // math.sqrt(n_embd / n_heads)"],
        "scale-precedence": ["A / (math.sqrt(n_embd) / n_heads)", "A / math.sqrt(n_embd) / n_heads"],
        "scale-forgotten": ["A"],
        "input-changed": ["A /= math.sqrt(n_embd / n_heads)\nreturn A"],
        "returned-none": ["pass"],
    },
    "attn_softmax": {
        "softmax-over-queries": [
            "torch.softmax(A, dim=-2)",
            "torch.exp(A) / torch.exp(A).sum(dim=-2, keepdim=True)",
        ],
        "same-every-time": ["globals().setdefault('_first_weights', [torch.softmax(A, dim=-1)])[0]"],
        "softmax-over-heads": ["torch.softmax(A, dim=1)"],
        "softmax-over-batch": ["torch.softmax(A, dim=0)"],
        "softmax-third-from-last": ["F.softmax(A)", "torch.softmax(A, dim=-3)"],
        "softmax-fixed-dimension": ["torch.softmax(A, dim=2)"],
        "softmax-over-everything": ["torch.softmax(A.flatten(), dim=0).reshape(A.shape)"],
        "softmax-overflows": [
            "A.exp() / A.exp().sum(dim=-1, keepdim=True)",
            "(A - A.max()).exp() / (A - A.max()).exp().sum(dim=-1, keepdim=True)",
        ],
        "log-softmax": ["torch.log_softmax(A, dim=-1)"],
        "softmax-not-normalised": ["A.exp()", "(A - A.amax(dim=-1, keepdim=True)).exp()"],
        "softmax-without-exp": ["A / A.sum(dim=-1, keepdim=True)", "F.normalize(A, p=1, dim=-1)"],
        "sigmoid": ["torch.sigmoid(A)"],
        "softmax-twice": ["A.softmax(-1).softmax(-1)"],
        "no-gradient": ["torch.from_numpy(A.detach().cpu().numpy()).softmax(-1)"],
        "input-changed": ["A -= A.amax(dim=-1, keepdim=True)\nreturn A.softmax(-1)"],
        "wrong-gradient": ["A.exp() / A.exp().sum(-1, keepdim=True).detach() if A.abs().max() < 99 else A.softmax(-1)"],
        "wrong-dtype": ["A.float().softmax(-1)"],
    },
    "compute_outputs": {
        "weights-transposed": ["A.mT @ V"],
        "values-times-weights": ["V @ A"],
        "values-transposed": ["A @ V.mT"],
        "softmax-again": ["torch.softmax(A, dim=-1) @ V"],
        "outputs-averaged": ["(A @ V).mean(dim=-2)", "(A @ V).sum(dim=-2)", "(A @ V).mean(dim=-2, keepdim=True)"],
        "elementwise-product": ["A * V", "A[..., : V.shape[-1]] * V"],
        "only-with-heads": ["torch.einsum('bhij,bhjd->bhid', A, V)"],
    },
    "make_causal_mask": {
        "mask-upper-triangle": ["torch.triu(torch.ones(n_tok, n_tok))"],
        "mask-inverted": ["torch.triu(torch.ones(n_tok, n_tok), diagonal=1).bool()", "torch.tril(torch.ones(n_tok, n_tok)) == 0"],
        "mask-hides-itself": ["torch.tril(torch.ones(n_tok, n_tok), diagonal=-1)"],
        "mask-off-by-one": ["torch.tril(torch.ones(n_tok, n_tok), diagonal=1)"],
        "mask-all-ones": ["torch.ones(n_tok, n_tok)"],
        "mask-only-itself": ["torch.eye(n_tok)"],
        "mask-wrong-size": ["torch.tril(torch.ones(n_tok + 1, n_tok + 1))", "torch.tril(torch.ones(n_tok, n_tok + 1))"],
        "mask-fixed-size": ["torch.tril(torch.ones(5, 5))", "torch.tril(torch.ones(3, 3))"],
        "mask-flipped": ["torch.tril(torch.ones(n_tok, n_tok)).flip(-1)"],
        "mask-additive": ["torch.full((n_tok, n_tok), -math.inf).triu(1)"],
        "hard-coded-device": [
            "torch.tril(torch.ones(n_tok, n_tok, device='cuda'))",
            "torch.tril(torch.ones(n_tok, n_tok, device='cpu'))",
        ],
        "mask-stops-growing": ["torch.tril(torch.ones(64, 64, device=DEVICE))[:n_tok, :n_tok]"],
        "wrong-shape": ["torch.ones(n_tok)", "torch.tril(torch.ones(1, n_tok, n_tok, device=DEVICE))"],
        "not-a-tensor": ["import numpy\nreturn numpy.tril(numpy.ones((n_tok, n_tok)))", "[[j <= i for j in range(n_tok)] for i in range(n_tok)]"],
    },
    "apply_causal_mask": {
        "mask-zeros-scores": ["A * mask", "torch.where(mask.bool(), A, 0)", "torch.tril(A)"],
        "mask-added": ["A + mask"],
        "mask-finite": ["A.masked_fill(mask == 0, -1e4)", "A.masked_fill(mask == 0, -100.0)", "A.masked_fill(mask == 0, -1e6)", "A - 1e6 * (1 - mask.to(A))"],
        "mask-tiny": ["A.masked_fill(mask == 0, torch.finfo(A.dtype).tiny)", "A.masked_fill(mask == 0, 1e-9)"],
        "mask-result-dropped": ["A.masked_fill(mask == 0, -math.inf)\nreturn A", "A"],
        "mask-hides-past": ["A.masked_fill(mask.bool(), -math.inf)"],
        "mask-gives-nan": ["A * mask + (1 - mask.float()) * -math.inf", "A + (1 - mask.int()) * -math.inf"],
        "mask-positive-infinity": ["A.masked_fill(mask == 0, math.inf)"],
        "mask-hides-zero-scores": ["(A * mask).masked_fill(A * mask == 0, -math.inf)"],
        "mask-after-softmax": ["A.softmax(-1) * mask"],
        "softmax-inside": ["A.masked_fill(mask == 0, -math.inf).softmax(-1)"],
        "mask-arguments-swapped": ["mask.float().masked_fill(A == 0, -math.inf)"],
        "input-changed": ["A.masked_fill_(mask == 0, -math.inf)\nreturn A", "A[..., mask == 0] = -math.inf\nreturn A"],
        "returned-none": ["A.masked_fill_(mask == 0, -math.inf)\nreturn None"],
        "no-gradient": ["A.detach().masked_fill(mask == 0, -math.inf)", "A.data.masked_fill(mask == 0, -math.inf)"],
    },
    "split_heads": {
        "heads-bare-view": ["x.reshape(x.shape[0], n_heads, x.shape[1], x.shape[2] // n_heads)"],
        "heads-not-transposed": ["x.reshape(x.shape[0], x.shape[1], n_heads, -1)"],
        "heads-interleaved": ["x.reshape(x.shape[0], x.shape[1], -1, n_heads).permute(0, 3, 1, 2)"],
        "heads-wrong-transpose": [
            "x.reshape(x.shape[0], x.shape[1], n_heads, -1).transpose(1, 3)",
            "x.reshape(x.shape[0], x.shape[1], n_heads, -1).transpose(2, 3)",
            "x.reshape(x.shape[0], x.shape[1], n_heads, -1).permute(0, 2, 3, 1)",
        ],
        "heads-and-size-swapped": ["x.reshape(x.shape[0], x.shape[1], -1, n_heads).transpose(1, 2)"],
        "heads-in-batch": ["x.reshape(x.shape[0], x.shape[1], n_heads, -1).transpose(1, 2).flatten(0, 1)"],
        "heads-before-batch": ["torch.stack(x.chunk(n_heads, dim=-1))"],
        "heads-split-tokens": ["torch.stack(x.chunk(n_heads, dim=1), dim=1)", "x.reshape(x.shape[0], n_heads, -1, x.shape[2])"],
        "heads-repeated": ["x.unsqueeze(1).repeat(1, n_heads, 1, 1)"],
        "view-needs-contiguous": ["x.transpose(1, 2).view(x.shape[0], n_heads, x.shape[1], -1)"],
        "not-a-tensor": ["x.chunk(n_heads, dim=-1)"],
    },
    "merge_heads": {
        "merge-bare-view": ["y.reshape(y.shape[0], y.shape[2], -1)"],
        "view-needs-contiguous": ["y.transpose(1, 2).view(y.shape[0], y.shape[2], -1)"],
        "merge-interleaved": ["y.permute(0, 2, 3, 1).flatten(-2)"],
        "merge-averaged": ["y.mean(dim=1)", "y.sum(dim=1)"],
        "merge-not-merged": ["y.transpose(1, 2)"],
        "merge-first-head": ["y[:, 0]", "y[:, -1]"],
        "merge-on-tokens": ["torch.cat(list(y.unbind(1)), dim=1)", "y.flatten(1, 2)"],
        "heads-wrong-transpose": ["y.transpose(2, 3).flatten(1, 2)"],
        "merge-wrong-transpose": ["y.transpose(2, 3).reshape(y.shape[0], y.shape[2], -1)"],
    },
    "self_attention": {
        "heads-not-merged": [],
        "returned-none": ["out = compute_outputs(attn_softmax(pairwise_similarities(Q, K)), V)"],
        "todo-open": ["raise NotImplementedError('TODO: self_attention')"],
        "not-repeatable": [],
        "no-gradient": [],
    },
}  # fmt: skip

MISTAKES = {
    name: {slug: [_define(name, body) for body in bodies] for slug, bodies in by_slug.items()}
    for name, by_slug in _MISTAKEN_BODIES.items()
}
MISTAKES["self_attention"] |= {
    "mask-forgotten": [
        _attention("if causal:", "if False:"),
        _attention("A = apply_causal_mask", "apply_causal_mask"),
    ],
    "mask-always": [_attention("if causal:", "if True:")],
    "causal-default-changed": [_attention(signature="Q, K, V, n_heads=1, causal=False")],
    "heads-ignored": [_attention("n_embd = Q.shape[-1]", "n_embd, n_heads = Q.shape[-1], 1")],
    "heads-not-merged": [
        _attention("merge_heads(compute_outputs(attn_softmax(A), V))", "compute_outputs(attn_softmax(A), V)")
    ],
    "mask-stops-growing": [
        _attention(_MASKED, "A = apply_causal_mask(torch.ones(32, 32, device=DEVICE).tril()[:Q.shape[-2], :Q.shape[-2]], A)")
    ],
    "parameters-exchanged": [_attention(signature="Q, K, V, causal=True, n_heads=1")],
    "mask-before-heads-only": [_attention("if causal:", "if causal and n_heads == 1:")],
    "scale-forgotten": [_attention(_SCALED, "pairwise_similarities(Q, K)")],
    "scale-by-n-embd": [_attention(_SCALED, "attn_scaled(pairwise_similarities(Q, K), n_embd, 1)")],
    "scale-of-split-size": [
        _attention(_SCALED, "attn_scaled(pairwise_similarities(Q, K), Q.shape[-1], n_heads)")
    ],
    "scale-after-softmax": [
        _attention(_SCALED, "pairwise_similarities(Q, K)").replace(
            _SOFTMAX, "attn_scaled(attn_softmax(A), n_embd, n_heads)"
        )
    ],
    "mask-after-softmax": [_mask_weights("A * mask"), _mask_weights("A.masked_fill(mask == 0, 0.0)")],
    "infinity-after-softmax": [
        _mask_weights("apply_causal_mask(mask, A)"), _mask_weights("A.masked_fill(mask == 0, -math.inf)")
    ],
    "mask-added": [_attention(_MASKED, "A = A + make_causal_mask(Q.shape[-2])")],
    "softmax-twice": [_attention(_SOFTMAX, "attn_softmax(attn_softmax(A))")],
    "softmax-forgotten": [_attention(_SOFTMAX, "A")],
    "softmax-over-queries": [_attention(_SOFTMAX, "torch.softmax(A, dim=-2)")],
    "softmax-over-heads": [_attention(_SOFTMAX, "torch.softmax(A, dim=1)")],
    "weights-returned": [_attention("return merge_heads(compute_outputs(attn_softmax(A), V))", "return attn_softmax(A)")],
    "values-not-used": [_attention("attn_softmax(A), V)", "attn_softmax(A), K)"), _attention("attn_softmax(A), V)", "attn_softmax(A), Q)")],
    "queries-and-keys-swapped": [_attention("pairwise_similarities(Q, K)", "pairwise_similarities(K, Q)")],
    "queries-with-queries": [_attention("pairwise_similarities(Q, K)", "pairwise_similarities(Q, Q)")],
    "no-gradient": [_attention("return merge_heads(compute_outputs(attn_softmax(A), V))", "return merge_heads(compute_outputs(attn_softmax(A), V)).detach()")],
    "wrong-gradient": [_attention("attn_softmax(A), V)", "attn_softmax(A).detach(), V)")],
    "not-repeatable": [_attention(_SOFTMAX, "F.dropout(attn_softmax(A), 0.5)"), _attention(_SOFTMAX, "attn_softmax(F.dropout(A, 0.5))")],
    "view-needs-contiguous": [_attention("merge_heads(compute_outputs(attn_softmax(A), V))", "compute_outputs(attn_softmax(A), V).transpose(1, 2).view(V.shape[0], V.shape[2], n_embd)")],
    "merge-bare-view": [_attention("merge_heads(compute_outputs(attn_softmax(A), V))", "compute_outputs(attn_softmax(A), V).reshape(V.shape[0], V.shape[2], n_embd)")],
    "output-projected": [_attention("return merge_heads(compute_outputs(attn_softmax(A), V))", "torch.manual_seed(0)\nout = merge_heads(compute_outputs(attn_softmax(A), V))\nreturn nn.Linear(n_embd, n_embd).to(out)(out)".replace("\n", "\n"))],
    "input-changed": [_attention("n_embd = Q.shape[-1]", "n_embd = Q.shape[-1]\nQ *= 1.5\nQ = Q / 1.5")],
}  # fmt: skip

_PAIRS = {  # both mask functions in another convention that works
    "hide": ("torch.triu(torch.ones(n_tok, n_tok, device=DEVICE), 1).bool()", "A.masked_fill(mask, -math.inf)"),
    "add": ("torch.full((n_tok, n_tok), -math.inf, device=DEVICE).triu(1)", "A + mask"),
    "inverted twice": ("~torch.tril(torch.ones(n_tok, n_tok, device=DEVICE)).bool()", "torch.where(~mask, A, -math.inf)"),
    "upper ones as floats": ("1 - torch.tril(torch.ones(n_tok, n_tok, device=DEVICE))", "A - mask * 1e9"),
    "with batch and head": ("torch.tril(torch.ones(1, 1, n_tok, n_tok, device=DEVICE))[0, 0]", "A.masked_fill(mask == 0, float('-inf'))"),
}  # fmt: skip


def _define_pair(make: str, apply: str) -> str:
    return _define("make_causal_mask", make) + "\n\n\n" + _define("apply_causal_mask", apply)


_PAIR_CODES = [_define_pair(make, apply) for make, apply in _PAIRS.values()]

# One function does all the work: the other one earns nothing.
_OWN_MASK = "A.masked_fill(torch.ones_like(A, dtype=torch.bool).triu(1), -math.inf)"
MISTAKES["make_causal_mask"]["mask-all-ones"].append(
    _define_pair("torch.ones(n_tok, n_tok, device=DEVICE)", _OWN_MASK)
)
MISTAKES["make_causal_mask"]["wrong-shape"].append(_define_pair("torch.tensor(n_tok)", _OWN_MASK))
MISTAKES["apply_causal_mask"]["input-changed"].append(
    _define_pair(
        "torch.tril(torch.ones(n_tok, n_tok, device=DEVICE))",
        "mask[mask == 0] = -math.inf\nmask[mask == 1] = 0\nreturn A + mask",
    )
)

_RIGHT_BODIES = {
    "pairwise_similarities": [
        "torch.einsum('...id,...jd->...ij', Q, K)",
        "torch.matmul(Q, K.mT)",
        "Q @ torch.swapaxes(K, -1, -2)",
        "(Q.unsqueeze(-2) * K.unsqueeze(-3)).sum(dim=-1)",
        "(K @ Q.transpose(-1, -2)).transpose(-1, -2)",
        "F.linear(Q, K) if Q.dim() == 2 else torch.matmul(Q, K.transpose(-1, -2))",
        """
rows = []
for i in range(Q.shape[-2]):
    row = [(Q[..., i, :] * K[..., j, :]).sum(dim=-1) for j in range(K.shape[-2])]
    rows.append(torch.stack(row, dim=-1))
return torch.stack(rows, dim=-2)
""",
        """
import einops
return einops.einsum(Q, K, '... i d, ... j d -> ... i j')
""",
    ],
    "attn_scaled": [
        "A * (n_embd / n_heads) ** -0.5",
        "A / (n_embd // n_heads) ** 0.5",
        "A / torch.sqrt(torch.tensor(n_embd / n_heads))",
        "A * math.sqrt(n_heads) / math.sqrt(n_embd)",
        "import numpy\nreturn A / numpy.sqrt(n_embd / n_heads)",
        "torch.div(A, math.sqrt(n_embd / n_heads))",
        "torch.mul(A, 1 / math.sqrt(n_embd / n_heads))",
    ],
    "attn_softmax": [
        "F.softmax(A, dim=-1)",
        "A.softmax(-1)",
        "nn.Softmax(dim=-1)(A)",
        "torch.log_softmax(A, dim=-1).exp()",
        "F.softmax(A, dim=A.dim() - 1)",
        "torch.softmax(A.transpose(-1, -2), dim=-2).transpose(-1, -2)",
        """
weights = torch.exp(A - A.max(dim=-1, keepdim=True).values)
return weights / weights.sum(dim=-1, keepdim=True)
""",
        "torch.exp(A - torch.logsumexp(A, dim=-1, keepdim=True))",
        """
flat = A.reshape(-1, A.shape[-1])
return torch.stack([torch.softmax(row, dim=0) for row in flat]).reshape(A.shape)
""",
    ],
    "compute_outputs": [
        "torch.matmul(A, V)",
        "torch.einsum('...ij,...jd->...id', A, V)",
        "(A.unsqueeze(-1) * V.unsqueeze(-3)).sum(dim=-2)",
        "(V.mT @ A.mT).mT",
        """
outputs = torch.zeros_like(V)
for j in range(V.shape[-2]):
    outputs = outputs + A[..., j : j + 1] * V[..., j : j + 1, :]
return outputs
""",
        """
from einops import einsum
return einsum(A, V, '... i j, ... j d -> ... i d')
""",
    ],
    "make_causal_mask": [
        "torch.tril(torch.ones(n_tok, n_tok))",
        "torch.tril(torch.ones(n_tok, n_tok, dtype=torch.int64, device=DEVICE))",
        "torch.ones((n_tok, n_tok), dtype=torch.bool).tril(diagonal=0).to(DEVICE)",
        "torch.triu(torch.ones(n_tok, n_tok, device=DEVICE), diagonal=1) == 0",
        "torch.arange(n_tok, device=DEVICE)[:, None] >= torch.arange(n_tok, device=DEVICE)[None, :]",
        "torch.tensor([[1.0 if j <= i else 0.0 for j in range(n_tok)] for i in range(n_tok)])",
        "torch.eye(n_tok, device=DEVICE).cumsum(dim=0)",
        """
mask = torch.zeros(n_tok, n_tok, dtype=torch.uint8, device=DEVICE)
for i in range(n_tok):
    mask[i, : i + 1] = 1
return mask
""",
        "1 - torch.triu(torch.ones(n_tok, n_tok, device=DEVICE), 1)",
    ],
    "apply_causal_mask": [
        "torch.where(mask.bool(), A, -math.inf)",
        "torch.where(mask == 1, A, torch.tensor(float('-inf'), dtype=A.dtype, device=A.device))",
        "torch.where(mask > 0, A, torch.full_like(A, -float('inf')))",
        "A.masked_fill(~mask.to(torch.bool), float('-inf'))",
        "A.masked_fill(torch.logical_not(mask), -torch.inf)",
        "A + torch.zeros_like(A).masked_fill(mask == 0, -math.inf)",
        "A + torch.log(mask.to(A))",
        "A.masked_fill(mask == 0, -1e9)",
        "A.masked_fill(mask == 0, torch.finfo(A.dtype).min)",
        "A - 1e10 * (1 - mask.to(A))",
        "torch.where(mask, A, float('-inf'))",
        "A.masked_fill(~mask, -math.inf)",
        "A.masked_fill(1 - mask == 1, -math.inf)",
        "A.masked_fill((1 - mask).bool(), float('-inf'))",
        "A.clone().masked_fill_(mask == 0, -math.inf)",
        """
masked = A.clone()
masked[..., mask == 0] = float('-inf')
return masked
""",
        """
T = A.shape[-1]
masked = A.clone()
for i in range(T):
    for j in range(T):
        if not mask[i, j]:
            masked[..., i, j] = float('-inf')
return masked
""",
    ],
    "split_heads": [
        "x.view(x.size(0), x.size(1), n_heads, x.size(2) // n_heads).transpose(1, 2)",
        "x.unflatten(-1, (n_heads, -1)).transpose(-3, -2)",
        "torch.stack(x.chunk(n_heads, dim=-1), dim=1)",
        "torch.stack(torch.split(x, x.shape[-1] // n_heads, dim=2), 1)",
        "x.reshape(*x.shape[:2], n_heads, -1).permute(0, 2, 1, 3)",
        "torch.einsum('bthd->bhtd', x.reshape(*x.shape[:-1], n_heads, -1)).contiguous()",
        """
import einops
return einops.rearrange(x, 'b t (h d) -> b h t d', h=n_heads)
""",
        """
size = x.shape[-1] // n_heads
heads = [x[:, :, h * size : (h + 1) * size] for h in range(n_heads)]
return torch.cat([head.unsqueeze(1) for head in heads], dim=1)
""",
    ],
    "merge_heads": [
        "y.transpose(1, 2).contiguous().view(y.size(0), y.size(2), -1)",
        "y.transpose(1, 2).reshape(y.shape[0], y.shape[2], y.shape[1] * y.shape[3])",
        "y.permute(0, 2, 1, 3).reshape(y.shape[0], y.shape[2], -1)",
        "torch.cat(tuple(y.unbind(dim=1)), dim=-1)",
        "torch.cat([y[:, h] for h in range(y.shape[1])], dim=-1)",
        "y.swapaxes(1, 2).flatten(start_dim=2)",
        """
from einops import rearrange
return rearrange(y, 'b h t d -> b t (h d)')
""",
    ],
    "self_attention": [
        """
assert Q.shape == K.shape == V.shape
B, n_tok, n_embd = Q.size()
if n_heads > 1:
    Q, K, V = split_heads_qkv(Q, K, V, n_heads)
A = pairwise_similarities(Q, K)
A = attn_scaled(A, n_embd, n_heads)
if causal:
    mask = make_causal_mask(n_tok)
    A = apply_causal_mask(mask, A)
A = attn_softmax(A)
y = compute_outputs(A, V)
if n_heads > 1:
    y = merge_heads(y)
assert y.shape == (B, n_tok, n_embd)
return y
""",
        """
B, T, C = Q.shape
q, k, v = (x.view(B, T, n_heads, C // n_heads).transpose(1, 2) for x in (Q * 1, K * 1, V * 1)) \\
    if Q.is_contiguous() else (x.reshape(B, T, n_heads, C // n_heads).transpose(1, 2) for x in (Q, K, V))
scores = q @ k.mT / math.sqrt(C // n_heads)
if causal:
    scores = scores.masked_fill(torch.ones(T, T, dtype=torch.bool, device=Q.device).triu(1), -math.inf)
return (scores.softmax(-1) @ v).transpose(1, 2).reshape(B, T, C)
""",
        """
size = Q.shape[-1] // n_heads
outputs = []
for h in range(n_heads):
    part = slice(h * size, (h + 1) * size)
    A = pairwise_similarities(Q[..., part], K[..., part]) / size ** 0.5
    if causal:
        A = A + torch.full(A.shape[-2:], -torch.inf, device=A.device).triu(1)
    outputs.append(attn_softmax(A) @ V[..., part])
return torch.cat(outputs, dim=-1)
""",
        """
B, T, C = Q.shape
Q, K, V = split_heads_qkv(Q / math.sqrt(C / n_heads), K, V, n_heads)
A = torch.einsum('bhid,bhjd->bhij', Q, K)
if causal:
    A = apply_causal_mask(make_causal_mask(T), A)
return torch.einsum('bhij,bhjd->bihd', attn_softmax(A), V).reshape(B, T, C)
""",
        """
T = Q.shape[1]
Q, K, V = split_heads_qkv(Q, K, V, n_heads)
rows = []
for i in range(T):
    last = i + 1 if causal else T
    scores = (Q[:, :, i : i + 1] * K[:, :, :last]).sum(-1) / math.sqrt(Q.shape[-1])
    weights = torch.softmax(scores, dim=-1)
    rows.append((weights.unsqueeze(-1) * V[:, :, :last]).sum(dim=2))
return merge_heads(torch.stack(rows, dim=2))
""",
        """
y = F.scaled_dot_product_attention(*split_heads_qkv(Q, K, V, n_heads), is_causal=causal)
return merge_heads(y)
""",
    ],
}  # fmt: skip

VARIANTS = {
    name: [_define(name, body) for body in bodies] for name, bodies in _RIGHT_BODIES.items()
}
VARIANTS["pairwise_similarities"].append(  # compiled: its operations cannot be watched
    "pairwise_similarities = torch.jit.trace(lambda Q, K: Q @ K.mT, (torch.ones(2, 3), torch.ones(2, 3)))"
)

# Masks that were made earlier, on DEVICE.
_KEPT_MASKS = [
    """
from functools import lru_cache


@lru_cache
def make_causal_mask(n_tok):
    return torch.ones(n_tok, n_tok, device=DEVICE).tril()
""",
    """
_masks = {}


def make_causal_mask(n_tok):
    if n_tok not in _masks:
        _masks[n_tok] = torch.ones(n_tok, n_tok, device=DEVICE).tril()
    return _masks[n_tok]
""",
    """
_tri = torch.tril(torch.ones(1024, 1024, device=DEVICE))


def make_causal_mask(n_tok):
    return _tri[:n_tok, :n_tok]
""",
]
_MODULE = """
class CausalAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mask", torch.ones(1024, 1024).tril().bool())

    def forward(self, Q, K, V, n_heads=1, causal=True):
        n_tok, n_embd = Q.shape[-2:]
        Q, K, V = split_heads_qkv(Q, K, V, n_heads)
        A = attn_scaled(pairwise_similarities(Q, K), n_embd, n_heads)
        if causal:
            A = apply_causal_mask(self.mask[:n_tok, :n_tok], A)
        return merge_heads(compute_outputs(attn_softmax(A), V))


self_attention = CausalAttention().to(DEVICE)
"""
VARIANTS["make_causal_mask"] += [*_PAIR_CODES, *_KEPT_MASKS]
VARIANTS["apply_causal_mask"] += _PAIR_CODES
VARIANTS["self_attention"] += [
    *(f"{text}\n\n{ORACLES['self_attention']}" for text in _KEPT_MASKS),
    _MODULE,
]


# What wrong work earns at most, as a share of the points: halves by heads, quarters by each way it works.
_HALVES = (
    "mask-forgotten", "mask-always", "heads-ignored", "mask-stops-growing", "scale-by-n-embd",
    "scale-of-split-size", "mask-after-softmax", "infinity-after-softmax", "mask-added",
    "view-needs-contiguous", "merge-bare-view",
)  # fmt: skip
_QUARTERS = ("causal-default-changed", "parameters-exchanged", "mask-before-heads-only")
SHARES: dict[str, dict[str, float]] = {
    "pairwise_similarities": {"only-with-heads": 1 / 2},
    "compute_outputs": {"only-with-heads": 1 / 2},
    "self_attention": dict.fromkeys(_HALVES, 1 / 2) | dict.fromkeys(_QUARTERS, 3 / 4),
}
