"""What to say about each known mistake in notebook 2: a name for reports, a sentence to a person.

Both the checks in the notebook and the judge speak through this table. A sentence says what is
seen and why it matters; finding what to do instead is the learner's part.
"""

WORDS = {
    # ------------------------------------------------------------------ any function
    "todo-open": "the TODO is still open: write the body of the function and return its result.",
    "not-defined": "there is no function with this name. Run its cell, and keep the name as it was.",
    "not-a-function": "this name no longer refers to a function. Did you use it for something else?",
    "returned-none": "the function returned None. Is a `return` missing at the end?",
    "not-a-tensor": "the function must return a tensor.",
    "raised": "the function stopped with an error.",
    "wrong-shape": "the output has the wrong shape: compare it with the expected one below.",
    "wrong-dtype": "the output's dtype differs from the input's. Keep the dtype you are given.",
    "not-finite": "the output contains NaN or infinite numbers where there should be ordinary ones.",
    "wrong-values": "the shape is right, but the numbers are not.",
    "input-changed": (
        "the output is right, but the function has changed a tensor it was given. The caller may "
        "still need that tensor: operations whose name ends in _ and augmented assignments such "
        "as *= work in place."
    ),
    "no-gradient": (
        "the numbers are right, but no gradient flows back through them, so nothing could be "
        "learned: look for detach(), .data, .numpy(), no_grad() or a new tensor made from numbers."
    ),
    "wrong-gradient": (
        "the numbers are right, but the gradient is not: it misses part of the computation."
    ),
    "hard-coded-device": (
        "the function works on one kind of device only. Stay on the device of the inputs (or on DEVICE "
        "from the set-up cell), or it breaks as soon as a GPU is used."
    ),
    "view-needs-contiguous": (
        "view() refused: after a transpose the numbers are no longer stored in the order the shape "
        "suggests, and view() never moves them. There are ways to reshape that do."
    ),
    "only-with-heads": (
        "it works only with four dimensions (batch, heads, tokens, ...). Before the heads are split "
        "there are three, and in general there may be any number of leading ones."
    ),
    "not-repeatable": (
        "two calls with the same inputs gave different outputs. The attention asked for here has "
        "nothing random in it: no dropout."
    ),
    "same-every-time": (
        "one and the same tensor came back for different inputs. Every call has to work out its own: "
        "nothing may be kept from the first one."
    ),
    # --------------------------------------------------------- pairwise_similarities
    "queries-and-keys-swapped": (
        "row i of your scores belongs to key i. Each row should belong to a query and each column to "
        "a key: your table is transposed."
    ),
    "keys-not-transposed": (
        "the keys go into the product as they are. For a table with one row per query and one "
        "column per key, their last two dimensions have to be swapped."
    ),
    "transposed-all-dimensions": (
        "the transpose reverses or swaps the batch dimensions too. Only the last two dimensions "
        "should be swapped; whatever comes before them stays."
    ),
    "transposed-fixed-dimensions": (
        "you transpose dimensions 1 and 2. These are the last two only as long as there are no "
        "heads; count from the end instead."
    ),
    "elementwise-product": (
        "this multiplies number by number. Every query has to meet every key: that takes a matrix "
        "product."
    ),
    "only-matching-pairs": (
        "each query meets only the key at its own position. Every query should be compared with "
        "every key."
    ),
    "scaled-too-early": (
        "the scores are already divided by a constant. That is the next function's job; doing it "
        "twice makes the weights too even."
    ),
    "queries-with-queries": "the keys are not used: your scores compare queries with queries.",
    "keys-with-keys": "the queries are not used: your scores compare keys with keys.",
    "cosine-similarity": (
        "these are cosines: the vectors are scaled to length 1 first. In a dot product their lengths "
        "count too."
    ),
    "softmax-too-early": "these are already weights. Only the raw scores are asked for here.",
    # ------------------------------------------------------------------- attn_scaled
    "scale-by-n-embd": (
        "you divide by the root of n_embd. Each head works with n_embd / n_heads numbers, and that is "
        "the size the scores grow with."
    ),
    "scale-by-n-heads": (
        "you divide by the root of the number of heads. It is the size of a head that makes scores "
        "grow, not how many there are."
    ),
    "scale-by-tokens": (
        "you divide by the root of the number of tokens. A score is a sum over the numbers of one "
        "head, however many tokens there are."
    ),
    "scale-by-product": (
        "you divide by the root of n_embd times n_heads. More heads mean *smaller* heads."
    ),
    "scale-without-root": (
        "the square root is missing: you divide by the size itself, which makes the weights too even."
    ),
    "scale-multiplied": "you multiply where you should divide: large scores get even larger.",
    "scale-rounded": (
        "the divisor is rounded to a whole number (by int(), round() or //), so it is right only by luck."
    ),
    "scale-precedence": (
        "only n_embd is under the root, n_heads is not. Check your brackets."
    ),
    "scale-forgotten": "the scores have not been scaled: they come out as they went in.",
    "scale-of-split-size": (
        "you scale by too little: what you pass as n_embd is already the size of one head, and it gets "
        "divided by n_heads once more."
    ),
    "scale-after-softmax": (
        "the weights are scaled after the softmax, so they no longer sum to 1. Scale the scores."
    ),
    # ------------------------------------------------------------------ attn_softmax
    "softmax-over-queries": (
        "your weights sum to 1 down each column: the softmax runs over queries. Each query "
        "should divide its own attention among the keys."
    ),
    "softmax-over-heads": (
        "your softmax runs over dimension 1. Here that is the queries, so your weights sum to 1 down "
        "each column; once there are heads, it is the heads, which would then compete with each "
        "other. Which dimension holds the keys, however many come before it?"
    ),
    "softmax-over-batch": (
        "your softmax runs over the batch, so unrelated sentences compete with each other."
    ),
    "softmax-third-from-last": (
        "your softmax runs over the batch and, once there are heads, over the heads. PyTorch picks these "
        "by itself when no dimension is named: say which one it should run along."
    ),
    "softmax-fixed-dimension": (
        "your softmax runs over dimension 2. That is the keys only as long as there are no heads; "
        "count from the end instead."
    ),
    "softmax-over-everything": (
        "all the weights together sum to 1. Each row should sum to 1 on its own."
    ),
    "softmax-overflows": (
        "right for small scores, but exp() of a large score overflows to infinity, or a whole row "
        "becomes 0. Shifting a row's scores changes nothing in its weights: use that, or a "
        "function that does."
    ),
    "log-softmax": "these are logarithms of the weights: negative numbers that do not sum to 1.",
    "softmax-not-normalised": "the exponentials are there, but a row does not sum to 1 yet.",
    "softmax-without-exp": (
        "you divide scores by their sum. Negative scores then give negative weights; the softmax "
        "takes the exponential first."
    ),
    "sigmoid": "each score is squashed on its own, so the rows do not sum to 1: keys must compete.",
    "softmax-twice": "the softmax is applied twice, which makes the weights nearly even.",
    # --------------------------------------------------------------- compute_outputs
    "weights-transposed": (
        "output i mixes the values with column i of the weights. Row i belongs to query i."
    ),
    "values-times-weights": (
        "the product is the wrong way round: the weights have to mix the rows of V, one row per "
        "token."
    ),
    "values-transposed": "V is transposed. Its rows already are the values; leave it as it is.",
    "softmax-again": (
        "the weights come in ready to use; here they go through a softmax once more."
    ),
    "outputs-averaged": (
        "the outputs of all queries are mixed into one. Each query has its own output."
    ),
    # -------------------------------------------------------------- make_causal_mask
    "mask-upper-triangle": (
        "your mask allows each token itself and what comes *after* it. The past lies below the "
        "diagonal: rows are queries, columns are keys."
    ),
    "mask-inverted": (
        "your mask marks what to hide; it should mark what to keep: one on and below the diagonal. "
        "(A mask of this kind also earns its points if your apply_causal_mask works with it; the "
        "check of that function tries the two together.)"
    ),
    "mask-hides-itself": (
        "no token may look at itself, and the first one may look at nothing at all: its weights "
        "become NaN. The diagonal belongs to what is allowed."
    ),
    "mask-off-by-one": (
        "each token may also look at the next one, which is exactly what it has to predict. The "
        "triangle reaches one diagonal too far."
    ),
    "mask-all-ones": "everything is allowed: the mask hides nothing.",
    "mask-only-itself": "each token may look only at itself. The past is allowed too.",
    "mask-wrong-size": "the mask must have one row and one column for each of the n_tok tokens.",
    "mask-fixed-size": "the mask has the same size whatever n_tok is.",
    "mask-stops-growing": (
        "the mask is right for a few tokens and too small for many: it stops growing. The notebook's own "
        "sequences have up to 100 tokens, and the function should work for any number."
    ),
    "parameters-exchanged": (
        "n_heads and causal have changed places in the signature. A call may leave out their names, and then n_heads "
        "comes first."
    ),
    "mask-flipped": (
        "the triangle leans the wrong way: it runs along the other diagonal. The first row is the "
        "first token, which may see only itself."
    ),
    "mask-additive": (
        "this is a mask to be added to scores (0 and minus infinity). It should be one/true where "
        "looking is allowed. (It also earns its points if your apply_causal_mask works with it; the "
        "check of that function tries the two together.)"
    ),
    # ------------------------------------------------------------- apply_causal_mask
    "mask-zeros-scores": (
        "hidden scores become 0. That is an ordinary score, and the softmax gives it weight: exp(0) "
        "is 1, often more than what the scores you keep get."
    ),
    "mask-added": (
        "the mask of zeros and ones is added to the scores. That only nudges them by 1 and hides "
        "nothing."
    ),
    "mask-finite": (
        "the hidden scores get a number that real scores can reach, so a hidden token may still win. "
        "Only something below every possible score is sure to hide."
    ),
    "mask-tiny": (
        "the hidden scores get a tiny positive number (the smallest one above zero), which is "
        "practically 0. Being small and being very negative are different things."
    ),
    "mask-result-dropped": (
        "the scores come back unmasked. Did you use the result of the masking? Operations without "
        "a trailing _ return a new tensor and leave the old one alone."
    ),
    "mask-hides-past": (
        "the past is hidden and the future is left visible: the mask is applied the wrong way round."
    ),
    "mask-gives-nan": (
        "0 times infinity is NaN, and NaN spreads to everything. Choose between values instead of "
        "multiplying by infinity."
    ),
    "mask-positive-infinity": (
        "the hidden scores become plus infinity, so the future wins every time. Mind the sign."
    ),
    "mask-hides-zero-scores": (
        "a score that happens to be exactly 0 gets hidden as well. Whether to hide is the mask's "
        "decision, not the score's."
    ),
    "mask-after-softmax": (
        "the weights are masked after the softmax. By then the future has already counted in the "
        "denominator: the rows sum to less than 1, and by how much gives the future away."
    ),
    "infinity-after-softmax": (
        "minus infinity is put among the weights, after the softmax, and it spreads: the outputs become "
        "infinite or NaN. It belongs among the scores, where the softmax turns it into a weight of 0."
    ),
    "softmax-inside": "these are already weights; only the masked scores are asked for here.",
    "mask-arguments-swapped": (
        "mask and scores are swapped: the mask comes first in the signature."
    ),
    # ------------------------------------------------------------------- split_heads
    "heads-bare-view": (
        "the shape is right, but the numbers are in the wrong places: a bare reshape cuts along "
        "tokens, so that one head gets pieces of several tokens. Each head needs its share of "
        "*every* token."
    ),
    "heads-not-transposed": (
        "the heads are separate, but they come after the tokens: (B, T, n_heads, head_size). Each "
        "head should hold its own table of tokens."
    ),
    "heads-interleaved": (
        "each head takes every n_heads-th number of a token. Heads take neighbouring numbers: the "
        "first head the first head_size of them, and so on."
    ),
    "heads-wrong-transpose": "the wrong two dimensions are swapped; compare the shapes below.",
    "heads-and-size-swapped": (
        "n_heads is used as the size of a head: there are n_embd / n_heads heads now."
    ),
    "heads-in-batch": (
        "the heads are folded into the batch dimension. Give them their own."
    ),
    "heads-before-batch": "the heads come before the batch. The batch stays in front.",
    "heads-split-tokens": "the tokens are divided among the heads; it should be each token's numbers.",
    "heads-repeated": (
        "every head gets the whole token. Each head should get only its share of the numbers."
    ),
    # ------------------------------------------------------------------- merge_heads
    "merge-bare-view": (
        "the shape is right, but the numbers are in the wrong places: a bare reshape puts different "
        "tokens of one head side by side. Undo the split in the opposite order."
    ),
    "merge-interleaved": (
        "the heads are merged one number at a time, in turn. Each head's numbers belong together."
    ),
    "merge-wrong-transpose": (
        "the shape is right, but the numbers are in the wrong places: the transpose swaps the tokens with "
        "the numbers of a head, so that the reshape still cuts across tokens."
    ),
    "merge-averaged": "the heads are averaged or summed. They should be laid side by side.",
    "merge-not-merged": "the heads are in the right place, but still in a separate dimension.",
    "merge-first-head": "only one head comes out; the others are lost.",
    "merge-on-tokens": "the heads are laid one after the other along the tokens, not side by side.",
    # ---------------------------------------------------------------- self_attention
    "mask-forgotten": (
        "right without a mask, but with causal=True nothing changes, so every token sees the future. "
        "Is the mask applied, and is its result used?"
    ),
    "mask-always": "right with a mask, but the mask is applied even with causal=False.",
    "causal-default-changed": (
        "called without `causal`, it does not mask: the default is causal=True. Leave the signature "
        "as it was."
    ),
    "heads-ignored": "right for one head, but n_heads changes nothing.",
    "heads-not-merged": "the heads have not been merged: the output must have the shape of Q.",
    "weights-returned": "the weights are returned instead of the output: the values are missing.",
    "values-not-used": "the weights mix something other than V.",
    "mask-before-heads-only": "right for one head, but with several the mask is left out.",
    "softmax-forgotten": "the scores are used directly as weights: the softmax is missing.",
    "output-projected": (
        "something is done to the merged heads before they are returned. The output projection "
        "belongs to the model; here nothing follows the merging."
    ),
    "sees-future": (
        "with causal=True, an output moved when only later tokens were changed: the future leaks in."
    ),
    "right-on-right-pieces": (
        "right, once correct pieces stand in for those of yours that did not pass."
    ),
}  # fmt: skip
