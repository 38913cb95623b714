"""Notebook noise_and_heads as code: oracles apart from the notebook, known mistakes, other right ways.

Everything here is source text, because it is run the way a student's cell is run.
"""

from __future__ import annotations

import ast

_SIGNATURES = {
    "copy_query": "K, j",
    "average_query": "K, a, b",
    "robust_query": "means, a, b",
    "two_head_queries": "means, a, b",
    "craft_projections": "u_a, u_b, u_c, u_d",
    "synthesizer_attention": "X, w1, b1, w2, b2, V",
}


def _define(name: str, body: str) -> str:
    """Write a function of the contract's signature around one or more lines."""
    lines = body.strip("\n").splitlines()
    if len(lines) == 1 and isinstance(ast.parse(lines[0]).body[0], ast.Expr):
        lines = [f"return {lines[0]}"]
    return "\n".join([f"def {name}({_SIGNATURES[name]}):", *(f"    {line}" for line in lines)])


_PROJECTIONS = """
V = (np.outer(u_b, u_b) - np.outer(u_c, u_c)) / 100
K = np.eye(len(u_a))
Q = (np.outer(u_d, u_a) + np.outer(u_c, u_d)) / 100
return V, K, Q
"""

_SYNTHESIZER = """
T = X.shape[1]
scores = torch.relu(X @ w1 + b1) @ w2 + b2
scores = scores[:, :, :T]
seen = torch.ones(T, T, dtype=torch.bool, device=X.device).tril()
weights = torch.softmax(scores.masked_fill(~seen, -math.inf), dim=-1)
return weights @ V
"""

_SYNTHESIZER_LOOP = """
B, T, _ = X.shape
hidden = torch.maximum(X @ w1 + b1, torch.zeros_like(X @ w1 + b1))
scores = hidden @ w2 + b2
rows = []
for t in range(T):
    weights = torch.softmax(scores[:, t, : t + 1], dim=-1)
    rows.append((weights.unsqueeze(-1) * V[:, : t + 1]).sum(dim=1))
return torch.stack(rows, dim=1)
"""

ORACLES = {
    name: _define(name, body)
    for name, body in {
        "copy_query": "25 * np.linalg.pinv(K)[:, j]",
        "average_query": "30 * K[[a, b]].sum(axis=0)",
        "robust_query": "24 * means[[a, b]].mean(axis=0)",
        "two_head_queries": "40 * means[b], 40 * means[a]",
        "craft_projections": """
V = (np.outer(u_b, u_b) - np.outer(u_c, u_c)) / 100
K = (np.outer(u_a, u_d) + np.outer(u_d, u_c)) / 100
return V, K, np.eye(len(u_a))
""",
        "synthesizer_attention": _SYNTHESIZER_LOOP,
    }.items()
}


def _change(body: str, *changes: tuple[str, str]) -> str:
    """Return a body with pieces of its text replaced."""
    for old, new in changes:
        assert old in body, old
        body = body.replace(old, new)
    return body


def _projections(*changes: tuple[str, str]) -> str:
    return _change(_PROJECTIONS, *changes)


def _synthesizer(*changes: tuple[str, str]) -> str:
    return _change(_SYNTHESIZER, *changes)


_V_LINE, _K_LINE, _Q_LINE = _PROJECTIONS.strip().splitlines()[:3]
_SCORES = "torch.relu(X @ w1 + b1) @ w2 + b2"
_CUT = "scores = scores[:, :, :T]"
_MASKED = "scores.masked_fill(~seen, -math.inf)"
_WEIGHTS = f"torch.softmax({_MASKED}, dim=-1)"

_MISTAKEN_BODIES = {
    "copy_query": {
        "scale-too-small": ["K[j]", "3 * K[j]", "K[j] / np.linalg.norm(K[j])"],
        "opposite-sign": ["-20 * K[j]"],
        "off-by-one": ["20 * K[j - 1]", "20 * K[j + 1]", "20 * K[(j + 1) % len(K)]"],
        "fixed-index": ["20 * K[0]", "20 * K[2]"],
        "wrong-shape": ["20 * K[:, j]", "20 * K", "20 * K[j][:, None]", "20 * K[j, j]"],
        "averages-all": ["np.zeros(K.shape[1])", "20 * K.sum(axis=0)"],
        "not-finite": ["np.inf * K[j]", "K[j] / 0.0"],
        "not-numbers": ["str(20 * K[j])", "{'q': 20 * K[j]}"],
        "wrong-key": ["20 * np.eye(K.shape[1])[j]"],
        "not-repeatable": ["20 * K[j] + 1e-2 * np.random.standard_normal(K.shape[1])"],
        "input-changed": ["K *= 20\nreturn K[j]"],
        "returned-none": ["q = 20 * K[j]", "print(20 * K[j])"],
        "raised": ["20 * K[j] @ V[j]", "20 * K[j, :].reshape(3)"],
        "todo-open": ["...", "raise NotImplementedError('TODO: copy_query')"],
    },
    "average_query": {
        "scale-too-small": ["K[a] + K[b]", "(K[a] + K[b]) / 2", "(K[a] + K[b]) / np.sqrt(2)"],
        "scale-too-large": ["1e18 * (K[a] + K[b])"],
        "difference": ["20 * (K[a] - K[b])", "20 * (K[b] - K[a])"],
        "selects-one": ["20 * K[a]", "20 * K[b]", "20 * K[a] + 10 * K[b]", "20 * max(K[a], K[b], key=np.sum)"],
        "unequal-weights": ["20 * K[a] + 19 * K[b]", "20 * (K[a] + 0.99 * K[b])"],
        "remembers-tokens": ["memo, asked = average_query.__dict__, str((a, b, K.shape))\nif asked not in memo:\n    memo[asked] = 20 * (K[a] + K[b])\nreturn memo[asked]"],
        "opposite-sign": ["-20 * (K[a] + K[b])"],
        "off-by-one": ["20 * (K[a - 1] + K[b - 1])", "20 * (K[a + 1] + K[b + 1])"],
        "fixed-index": ["20 * (K[0] + K[1])", "20 * K[:2].sum(axis=0)"],
        "averages-all": ["np.zeros(K.shape[1])", "20 * K.sum(axis=0)", "K.mean(axis=0)"],
        "wrong-shape": ["20 * K[a], 20 * K[b]", "20 * K[[a, b]]", "20 * (K[:, a] + K[:, b])"],
        "input-changed": ["K[a] += K[b]\nreturn 20 * K[a]"],
    },
    "robust_query": {
        "scale-too-small": ["means[a] + means[b]", "(means[a] + means[b]) / 2", "3 * (means[a] + means[b])"],
        "scale-too-large": ["80 * (means[a] + means[b])", "200 * (means[a] + means[b])", "1e6 * (means[a] + means[b])"],
        "difference": ["10 * (means[a] - means[b])"],
        "selects-one": ["10 * means[a]", "20 * means[a] + 10 * means[b]"],
        "opposite-sign": ["-10 * (means[a] + means[b])"],
        "off-by-one": ["10 * (means[a - 1] + means[b - 1])"],
        "fixed-index": ["10 * (means[0] + means[1])"],
        "averages-all": ["0 * means[a]", "10 * means.mean(axis=0) * len(means)"],
        "not-repeatable": ["noisy = means + 1e-3 * np.random.standard_normal(means.shape)\nreturn 10 * (noisy[a] + noisy[b])"],
        "wrong-shape": ["10 * means[a], 10 * means[b]"],
    },
    "two_head_queries": {
        "sum-and-difference": [
            "10 * (means[a] + means[b]), 10 * (means[a] - means[b])",
            "40 * (means[a] - means[b]), 40 * (means[a] + means[b])",
            "means[a] + means[b], means[a] - means[b]",
        ],
        "one-query-twice": ["q = 10 * (means[a] + means[b])\nreturn q, q", "30 * means[a], 30 * means[a]"],
        "both-heads-mixed": ["10 * (means[a] + means[b]), 20 * (means[a] + means[b])", "15 * (means[a] + 0.5 * means[b]), 15 * (0.5 * means[a] + means[b])"],
        "one-head-flat": ["30 * means[a], 0 * means[b]", "np.zeros(means.shape[1]), 30 * means[b]"],
        "one-head-mixed": ["30 * means[a], 30 * (means[a] + means[b])"],
        "same-key-twice": ["20 * means[a], 40 * means[a]", "30 * means[b], 20 * means[b]", "30 * (means[a] - means[b]), 20 * (means[a] - means[b])"],
        "scale-too-small": ["means[a], means[b]", "5 * means[a], 5 * means[b]", "9 * means[a], 9 * means[b]", "30 * means[a], 3 * means[b]", "(means[a] - means[b], means[b] - means[a])"],
        "opposite-sign": ["-30 * means[a], -30 * means[b]"],
        "off-by-one": ["30 * means[a - 1], 30 * means[b - 1]", "30 * means[a + 1], 30 * means[b + 1]"],
        "fixed-index": ["30 * means[0], 30 * means[1]"],
        "averages-all": ["np.zeros((2, means.shape[1]))"],
        "wrong-count": ["30 * (means[a] + means[b])", "30 * means", "30 * means[a], 30 * means[b], 0.5", "{'q1': 30 * means[a]}"],
        "wrong-shape": ["30 * means[:, a], 30 * means[:, b]"],
        "not-finite": ["np.inf * means[a], np.inf * means[b]"],
        "not-repeatable": ["30 * means[a] + 1e-3 * np.random.standard_normal(means.shape[1]), 30 * means[b]"],
    },
    "craft_projections": {
        "identity-matrices": ["I = np.eye(len(u_a))\nreturn I, I, I"],
        "wrong-order": [_projections(("V, K, Q\n", "Q, K, V\n")), _projections(("V, K, Q\n", "K, Q, V\n")), _projections(("V, K, Q\n", "K, V, Q\n"))],
        "transposed": [_projections(("return V, K, Q", "return V, K, Q.T")), _projections(("return V, K, Q", "return V.T, K.T, Q.T"))],
        "opposite-sign": [_projections(("return V, K, Q", "return V, K, -Q"))],
        "values-turned": [_projections(("return V, K, Q", "return -V, K, Q"))],
        "scores-too-small": [_projections((_Q_LINE, _Q_LINE + " / 100")), _projections((_Q_LINE, _Q_LINE + " / 1e4"))],
        "values-wrong-length": [_projections((_V_LINE, _V_LINE.removesuffix(" / 100"))), _projections((_V_LINE, _V_LINE + " / 10"))],
        "value-not-wanted": [
            _projections(("- np.outer(u_c, u_c)", "")),
            _projections(("- np.outer(u_c, u_c)", "+ np.outer(u_c, u_c)")),
            _projections((_V_LINE, "V = np.eye(len(u_a))")),
        ],
        "looks-at-wrong-token": [
            _projections(("np.outer(u_d, u_a)", "np.outer(u_a, u_a)")),
            _projections(("np.outer(u_c, u_d)", "np.outer(u_a, u_d)")),
            _projections(("np.outer(u_d, u_a)", "np.outer(u_c, u_a)")),
            _projections((_Q_LINE, "Q = np.eye(len(u_a))")),
            _projections((_V_LINE, "V = np.outer(u_b, u_a) / 100")),
        ],
        "looks-at-several": [
            _projections((" + np.outer(u_c, u_d)", "")),
            _projections(("np.outer(u_d, u_a)", "np.outer(u_b, u_a)")),
            _projections((_Q_LINE, "Q = np.zeros((len(u_a), len(u_a)))")),
        ],
        "wrong-shape": ["return u_b, u_a, u_d", _projections(("np.eye(len(u_a))", "np.eye(4)[:3]")), "return [np.stack([u_a, u_b, u_c])] * 3"],
        "wrong-count": [_projections(("return V, K, Q", "return K, Q")), _projections(("return V, K, Q", "return V"))],
        "not-finite": [_projections(("/ 100\nK", "/ 0.0\nK"))],
        "input-changed": ["u_a /= 10; u_b /= 10; u_c /= 10; u_d /= 10\nV = np.outer(u_b, u_b) - np.outer(u_c, u_c)\nQ = 10 * (np.outer(u_d, u_a) + np.outer(u_c, u_d))\nreturn V, np.eye(len(u_a)), Q"],
        "returned-none": [_projections(("return V, K, Q", "pass"))],
        "not-repeatable": [_projections(("return V, K, Q", "return V, K, Q + 1e-3 * np.random.standard_normal(Q.shape)"))],
    },
    "synthesizer_attention": {
        "mask-forgotten": [_synthesizer((_MASKED, "scores")), _synthesizer((_WEIGHTS, f"{_MASKED}\nweights = torch.softmax(scores, dim=-1)"))],
        "mask-off-by-one": [_synthesizer((".tril()", ".tril(1)")), _synthesizer((".tril()", ".tril(-1)"))],
        "mask-inverted": [_synthesizer((".tril()", ".triu()")), _synthesizer(("~seen", "seen"))],
        "mask-after-softmax": [
            _synthesizer((_WEIGHTS, "torch.softmax(scores, dim=-1) * seen")),
            _synthesizer((_WEIGHTS, "torch.softmax(scores, dim=-1).masked_fill(~seen, 0)")),
        ],
        "mask-zeros-scores": [_synthesizer((_MASKED, "scores * seen")), _synthesizer((_MASKED, "scores.tril()"))],
        "mask-finite": [_synthesizer(("-math.inf", "-1e4")), _synthesizer(("-math.inf", "-100"))],
        "softmax-over-queries": [_synthesizer((f"{_MASKED}, dim=-1", f"{_MASKED}, dim=-2")), _synthesizer((f"{_MASKED}, dim=-1", f"{_MASKED}, dim=1"))],
        "softmax-over-batch": [_synthesizer((f"{_MASKED}, dim=-1", f"{_MASKED}, dim=0"))],
        "softmax-forgotten": [_synthesizer((_WEIGHTS, "scores.tril()"))],
        "softmax-twice": [_synthesizer((_WEIGHTS, f"torch.softmax(torch.softmax({_MASKED}, -1).masked_fill(~seen, -math.inf), -1)"))],
        "softmax-over-block": [
            """
T, block = X.shape[1], w2.shape[1]
scores = torch.relu(X @ w1 + b1) @ w2 + b2
return torch.softmax(scores, dim=-1)[:, :, :T].tril() @ V
""",
            """
T, block = X.shape[1], w2.shape[1]
scores = torch.relu(X @ w1 + b1) @ w2 + b2
seen = torch.ones(T, block, dtype=torch.bool, device=X.device).tril(block - T)
return torch.softmax(scores.masked_fill(~seen, -math.inf), dim=-1)[:, :, :T] @ V
""",
        ],
        "block-not-cut": [_synthesizer((_CUT, "")), _synthesizer((_CUT, "scores = scores.view(X.shape[0], T, T)"))],
        "last-columns": [_synthesizer((_CUT, "scores = scores[:, :, -T:]"))],
        "relu-forgotten": [_synthesizer((_SCORES, "(X @ w1 + b1) @ w2 + b2"))],
        "relu-too-late": [_synthesizer((_SCORES, "torch.relu((X @ w1 + b1) @ w2 + b2)")), _synthesizer((_SCORES, "torch.relu(torch.relu(X @ w1 + b1) @ w2 + b2)"))],
        "relu-before-bias": [_synthesizer((_SCORES, "(torch.relu(X @ w1) + b1) @ w2 + b2"))],
        "other-activation": [_synthesizer(("torch.relu(X @ w1 + b1)", f"{name}(X @ w1 + b1)")) for name in ("torch.tanh", "F.gelu", "torch.sigmoid", "F.leaky_relu")],
        "b1-forgotten": [_synthesizer((" + b1", ""))],
        "b2-forgotten": [_synthesizer((" + b2", ""))],
        "scale-added": [_synthesizer((_SCORES, f"({_SCORES}) / math.sqrt(X.shape[-1])")), _synthesizer((_SCORES, f"({_SCORES}) / math.sqrt(w1.shape[1])"))],
        "weights-returned": [_synthesizer(("return weights @ V", "return weights"))],
        "values-not-used": [_synthesizer(("return weights @ V", "return weights @ X"))],
        "dot-product": [_synthesizer((_SCORES, "X @ X.transpose(1, 2)"))],
        "only-last-token": [_synthesizer((_CUT, "scores = scores[:, -1:, :T].expand(-1, T, -1)")), _synthesizer((_CUT, "scores = scores[:, :1, :T].expand(-1, T, -1)"))],
        "no-gradient": [_synthesizer(("return weights @ V", "return (weights @ V).detach()")), "with torch.no_grad():\n" + "".join(f"    {line}\n" for line in _SYNTHESIZER.strip().splitlines())],
        "wrong-gradient": [_synthesizer(("return weights @ V", "return weights.detach() @ V"))],
        "input-changed": [_synthesizer((_CUT, "b2[T:] = 0.0\n" + _CUT)), "X -= 0.5\nX += 0.75\nX -= 0.25" + _SYNTHESIZER, "V *= 2" + _SYNTHESIZER.replace("weights @ V", "weights @ V / 2")],
        "not-repeatable": [_synthesizer(("return weights @ V", "return F.dropout(weights, 0.5) @ V"))],
        "not-a-tensor": [_synthesizer(("return weights @ V", "return (weights @ V).tolist()")), _synthesizer(("return weights @ V", "return weights @ V, weights"))],
        "returned-none": [_synthesizer(("return weights @ V", "out = weights @ V"))],
        "hard-coded-device": [_synthesizer(("return weights @ V", "return (weights @ V).cpu()")), _synthesizer(("device=X.device", "device='cuda'"))],
        "raised": [_synthesizer((_SCORES, "torch.relu(X @ w1.T + b1) @ w2.T + b2")), _synthesizer(("return weights @ V", "return (weights @ V).view(X.shape)"))],
        "todo-open": ["raise NotImplementedError('TODO: synthesizer_attention')"],
    },
}  # fmt: skip

MISTAKES = {
    name: {slug: [_define(name, body) for body in bodies] for slug, bodies in by_slug.items()}
    for name, by_slug in _MISTAKEN_BODIES.items()
}

_RIGHT_BODIES = {
    "copy_query": [
        "6 * K[j]",
        "1e6 * K[j]",
        "(20 * K[j]).tolist()",
        "20 * K[j : j + 1]",
        "torch.from_numpy(20 * K[j])",
        "torch.tensor(20 * K[j], dtype=torch.float32, requires_grad=True)",
        "[20 * number for number in K[j]]",
        "30 * K.T @ np.eye(len(K))[j]",
        "20 * K[j]",
        "20 * K[j] - 5 * (K.sum(axis=0) - K[j])",
        "tuple(25.0 * x for x in K[j])",
    ],
    "average_query": [
        "6 * (K[a] + K[b])",
        "1000 * (K[a] + K[b])",
        "40 * K[[a, b]].mean(axis=0)",
        "torch.tensor(15 * (K[a] + K[b]))",
        "np.einsum('n,nd->d', 20.0 * np.isin(np.arange(len(K)), [a, b]), K)",
        "[[20 * (x + y) for x, y in zip(K[a], K[b])]]",
        "20 * (K[a] + K[b]) - 20 * sum(K[i] for i in range(len(K)) if i not in (a, b))",
        """
q = np.zeros(K.shape[1])
for index in (a, b):
    for place in range(K.shape[1]):
        q[place] += 12 * K[index, place]
return q
""",
        "np.linalg.lstsq(K, 20.0 * (np.eye(len(K))[a] + np.eye(len(K))[b]), rcond=None)[0]",
    ],
    "robust_query": [
        "6 * (means[a] + means[b])",
        "14 * (means[a] + means[b])",
        "20 * (means[a] + means[b])",
        "(20 * means[[a, b]].mean(axis=0)).tolist()",
        "torch.as_tensor(means)[[a, b]].sum(dim=0, keepdim=True) * 10",
        "10 * (means[a] + means[b]) - 4 * (means.sum(axis=0) - means[a] - means[b])",
        "math.log(1e4) * (means[a] + means[b])",
    ],
    "two_head_queries": [
        "14 * means[a], 14 * means[b]",
        "1e5 * means[b], 1e5 * means[a]",
        "[(40 * means[a]).tolist(), (40 * means[b]).tolist()]",
        "40 * means[[a, b]]",
        "torch.tensor(40 * means[[b, a]])",
        "torch.tensor(25 * means[a])[None], (60 * means[b]).tolist()",
        "30 * (means[a] - means[b]), 30 * (means[b] - means[a])",
        "np.stack([50 * means[a : a + 1], 50 * means[b : b + 1]])",
        """
queries = []
for chosen in (a, b):
    others = sum(means[i] for i in range(len(means)) if i != chosen)
    queries.append(30 * means[chosen] - 30 * others)
return queries
""",
        "np.einsum('hn,nd->hd', 30.0 * np.eye(len(means))[[a, b]], means)",
    ],
    "craft_projections": [
        _projections((_Q_LINE, _Q_LINE.removesuffix(" / 100"))),
        _projections((_K_LINE, "K = (np.outer(u_d, u_d) + np.outer(u_c, u_c)) / 100")),
        _PROJECTIONS,
        """
X = np.stack([u_d + u_b, u_a, u_c + u_b], axis=1)
inverse = np.linalg.pinv(X)
goals = np.stack([u_b, 0 * u_b, u_b - u_c], axis=1)
V = goals @ inverse
basis = np.eye(len(u_a))[:, :3]
K = 10 * basis @ inverse
Q = 10 * basis[:, [2, 0, 1]] @ inverse
return V, K, Q
""",
        """
d = len(u_a)
X = torch.tensor(np.stack([u_d + u_b, u_a, u_c + u_b])).T
inverse = torch.linalg.pinv(X)
goals = torch.tensor(np.stack([u_b - u_c, 7 * u_a, u_b])).T
K = torch.eye(d, 3, dtype=torch.float64) @ inverse
wanted = torch.tensor([[50.0, 0, 0], [0, 0, 0], [0, 50.0, 0]], dtype=torch.float64)
Q = torch.linalg.pinv(K @ X).T @ wanted @ inverse
return goals @ inverse, K, Q
""",
        "d = len(u_a)\nscale = 0.01\nV = [[scale * (u_b[i] * u_b[j] - u_c[i] * u_c[j]) for j in range(d)] for i in range(d)]\nQ = [[scale * (u_d[i] * u_a[j] + u_c[i] * u_d[j]) for j in range(d)] for i in range(d)]\nreturn V, np.eye(d).tolist(), Q",
        "b, c, a, d = (torch.tensor(u / 10, dtype=torch.float32) for u in (u_b, u_c, u_a, u_d))\nV = torch.outer(b, b) - torch.outer(c, c)\nQ = 3 * torch.outer(d, a) + 3 * torch.outer(c, d)\nreturn torch.stack([V, torch.eye(len(a)), Q])",
        _projections((_V_LINE, "V = np.einsum('ki,kj->ij', [u_b, -u_c], [u_b, u_c]) / 100")),
        _projections(("np.outer(u_c, u_d)", "np.outer(u_c, u_b)"), ("np.outer(u_d, u_a)", "np.outer(u_d - u_c, u_a)")),
    ],
    "synthesizer_attention": [
        """
def one(x, v):
    T = x.shape[0]
    scores = (torch.relu(x @ w1 + b1) @ w2 + b2)[:, :T]
    scores = torch.where(torch.ones(T, T, device=x.device).tril().bool(), scores, -torch.inf)
    return torch.softmax(scores, -1) @ v

return torch.vmap(one)(X, V)
""",
        _synthesizer((_SCORES, "torch.einsum('btd,dk->btk', F.relu(torch.einsum('btc,cd->btd', X, w1) + b1), w2) + b2")),
        _synthesizer((_SCORES, "F.linear(F.linear(X, w1.T, b1).clamp(min=0), w2.T, b2)")),
        _synthesizer(("torch.relu(X @ w1 + b1) @ w2 + b2\nscores = scores[:, :, :T]", "torch.relu(X @ w1 + b1) @ w2[:, :T] + b2[:T]")),
        _synthesizer((_MASKED, "scores + torch.full((T, T), -math.inf, device=X.device, dtype=X.dtype).triu(1)")),
        _synthesizer(("-math.inf", "-1e9")),
        _synthesizer(("-math.inf", "torch.finfo(scores.dtype).min")),
        _synthesizer((_MASKED, "torch.where(seen, scores, -torch.inf)")),
        _synthesizer(("return weights @ V", "return torch.einsum('bts,bsc->btc', weights, V)")),
        _synthesizer((_WEIGHTS, "torch.softmax(scores, dim=-1).tril()\nweights = weights / weights.sum(dim=-1, keepdim=True)")),
        _SYNTHESIZER,
        """
T, block = X.size(1), w2.size(1)
scores = F.relu(X @ w1 + b1) @ w2 + b2
mask = torch.tril(torch.ones(block, block, device=X.device)).view(1, block, block)
scores = scores[:, :, :T].masked_fill(mask[:, :T, :T] == 0, float('-inf'))
return torch.bmm(F.softmax(scores, dim=-1), V)
""",
        """
T, block = X.shape[1], w2.shape[1]
scores = torch.relu(X @ w1 + b1) @ w2 + b2
places = torch.arange(block, device=X.device)
hidden = places[None, :] > places[:T, None]
return torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1)[..., :T] @ V
""",
        """
T = X.shape[1]
scores = (torch.relu(X @ w1 + b1) @ w2 + b2)[..., :T]
scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -math.inf)
scores = scores - scores.amax(dim=-1, keepdim=True)
weights = scores.exp() / scores.exp().sum(dim=-1, keepdim=True)
return weights.matmul(V)
""",
    ],
}  # fmt: skip

VARIANTS = {
    name: [_define(name, body) for body in bodies] for name, bodies in _RIGHT_BODIES.items()
}


# What wrong work earns at most, as a share of the points: c1 and c2 are judged apart.
_OF_ONE_CONTEXT = ("value-not-wanted", "looks-at-wrong-token", "looks-at-several")
SHARES: dict[str, dict[str, float]] = {
    "craft_projections": dict.fromkeys(_OF_ONE_CONTEXT, 1 / 2),
}
