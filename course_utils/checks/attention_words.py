"""What to say about each known mistake in notebook 2: a name for reports, a sentence to a person.

Both the checks in the notebook and the judge speak through this table. A sentence says what is
seen and why it matters; finding what to do instead is the learner's part.
"""

WORDS = {
    # ------------------------------------------------------------------ any function
    "todo-open": "the TODO is still open: write the body of the function and return its result.",
    "not-defined": "there is no function of this name. Run its cell; keep its name as it was.",
    "not-a-function": "this name does not hold a function any more. Was it used for something else?",
    "returned-none": "the function returned None. Is a `return` missing at the end?",
    "not-a-tensor": "the function must return a tensor.",
    "raised": "the function stopped with an error.",
    "wrong-shape": "the output has the wrong shape.",
    "wrong-dtype": "the output has another number type than the input. Leave the type as it comes.",
    "not-finite": "the output contains NaN or infinite numbers where there should be ordinary ones.",
    "wrong-values": "the shape is right, the numbers are not.",
    "input-changed": (
        "the output is right, but the function has changed a tensor that it was given. Whoever "
        "called it may still need that tensor: operations whose name ends in _ and augmented "
        "assignments such as *= work in place."
    ),
    "no-gradient": (
        "the numbers are right, but no gradient flows back through them, so nothing could be "
        "learned: look for detach(), .data, .numpy(), no_grad() or a new tensor made from numbers."
    ),
    "wrong-gradient": (
        "the numbers are right, but the gradient is not: part of the computation is cut off from it."
    ),
    "hard-coded-device": (
        "the function only works on one kind of device. Keep the device that the inputs are on (or "
        "DEVICE from the set-up cell), or it breaks as soon as a GPU is used."
    ),
    "view-needs-contiguous": (
        "view() refused: after a transpose the numbers no longer lie in memory in the order of the "
        "shape, and view() never moves them. There are ways to reshape that do."
    ),
    "only-with-heads": (
        "it works for four dimensions (batch, heads, tokens, ...) only. Before the heads are split "
        "there are three, and in general any number may come first."
    ),
    "not-repeatable": (
        "two calls with the same inputs gave different outputs. Attention as asked for here has "
        "nothing random in it: no dropout."
    ),
    # --------------------------------------------------------- pairwise_similarities
    "queries-and-keys-swapped": (
        "row i of your scores belongs to key i. Each row should belong to a query, each column to "
        "a key: you have the table on its side."
    ),
    "keys-not-transposed": (
        "the keys go into the product as they are. For a table with one row a query and one "
        "column a key, their last two dimensions have to change places."
    ),
    "transposed-all-dimensions": (
        "the transpose reverses or swaps the batch dimensions too. Only the last two dimensions "
        "should change places; whatever comes before them stays."
    ),
    "transposed-fixed-dimensions": (
        "you transpose dimensions 1 and 2. These are the last two only as long as there are no "
        "heads; count from the end instead."
    ),
    "elementwise-product": (
        "this multiplies number by number. Every row has to meet every other: that takes a matrix "
        "product."
    ),
    "only-matching-pairs": (
        "each query meets only the key at its own position. Every query should be compared with "
        "every key."
    ),
    "scaled-too-early": (
        "the scores are divided by a constant already. That is the next function's job; doing it "
        "twice makes the weights too even."
    ),
    "queries-with-queries": "the keys are not used: your scores compare queries with queries.",
    "keys-with-keys": "the queries are not used: your scores compare keys with keys.",
    "cosine-similarity": (
        "these are cosines: the vectors are brought to length 1 first. The dot product counts their "
        "lengths too."
    ),
    "softmax-too-early": "these are weights already. Here only the raw scores are asked for.",
    # ------------------------------------------------------------------- attn_scaled
    "scale-by-n-embd": (
        "you divide by the root of n_embd. Each head works with n_embd / n_heads numbers, and it is "
        "that size that the scores grow with."
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
        "the root is missing: you divide by the size itself, which makes the weights too even."
    ),
    "scale-multiplied": "you multiply where you should divide: large scores get even larger.",
    "scale-rounded": (
        "the divisor is rounded to a whole number (int() or // somewhere), so it is right only by "
        "luck."
    ),
    "scale-precedence": (
        "only n_embd stands under the root, n_heads does not. Look at the brackets once more."
    ),
    "scale-forgotten": "the scores have not been scaled: they are as large as they came.",
    "scale-of-split-size": (
        "the scale is too small: what you pass as n_embd is the size of one head already, and it "
        "gets divided by n_heads once more."
    ),
    "scale-after-softmax": (
        "the weights are scaled after the softmax, so they no longer sum to 1. Scale the scores."
    ),
    # ------------------------------------------------------------------ attn_softmax
    "softmax-over-queries": (
        "your weights sum to 1 down each column: the softmax runs over queries. Each query shares "
        "out its own attention among the keys."
    ),
    "softmax-over-heads": (
        "your softmax runs over dimension 1, which holds the heads once they are split: the heads "
        "then compete with each other instead of each looking for itself."
    ),
    "softmax-over-batch": (
        "your softmax runs over the batch, so unrelated sentences compete with each other."
    ),
    "softmax-fixed-dimension": (
        "your softmax runs over dimension 2. That holds the keys only as long as there are no heads; "
        "count from the end instead."
    ),
    "softmax-over-everything": (
        "all weights together sum to 1. Each row should sum to 1 by itself."
    ),
    "softmax-overflows": (
        "right for small scores, but exp() of a large score overflows to infinity, or all of a row "
        "becomes 0. Shifting a row's scores changes nothing in its weights: use that, or a "
        "function that does."
    ),
    "log-softmax": "these are logarithms of the weights: negative numbers that do not sum to 1.",
    "softmax-not-normalised": "the exponentials are there, but a row does not sum to 1 yet.",
    "softmax-without-exp": (
        "you divide scores by their sum. Negative scores then give negative weights; the softmax "
        "takes the exponential first."
    ),
    "sigmoid": "each score is squashed by itself, so the rows do not sum to 1: keys must compete.",
    "softmax-twice": "the softmax is applied twice, which makes the weights nearly even.",
    # --------------------------------------------------------------- compute_outputs
    "weights-transposed": (
        "output i mixes the values with column i of the weights. Row i belongs to query i."
    ),
    "values-times-weights": (
        "the product is the wrong way round: the weights have to act on the rows of V, one row a "
        "token."
    ),
    "values-transposed": "V is transposed. Its rows are the values already; leave it as it is.",
    "softmax-again": (
        "the weights come in ready to use; here they go through a softmax once more."
    ),
    "outputs-averaged": (
        "the outputs of all queries are mixed into one. Each query keeps an output of its own."
    ),
    # -------------------------------------------------------------- make_causal_mask
    "mask-upper-triangle": (
        "your mask allows each token itself and what comes *after* it. The past lies below the "
        "diagonal: rows are queries, columns are keys."
    ),
    "mask-inverted": (
        "your mask marks what to hide; asked for is what to keep: one on and below the diagonal. "
        "(A mask of this kind also earns its points if your apply_causal_mask works with it; the "
        "check of that function tries the two together.)"
    ),
    "mask-hides-itself": (
        "no token may look at itself, and the first one may look at nothing at all: its weights "
        "become NaN. The diagonal belongs to what is allowed."
    ),
    "mask-off-by-one": (
        "each token may look at the next one too, which is just what it should predict. The "
        "triangle reaches one diagonal too far."
    ),
    "mask-all-ones": "everything is allowed: the mask hides nothing.",
    "mask-only-itself": "each token may look only at itself. The past is allowed too.",
    "mask-wrong-size": "the mask must have one row and one column for each of the n_tok tokens.",
    "mask-fixed-size": "the mask has the same size whatever n_tok is.",
    "mask-flipped": (
        "the triangle leans the wrong way: it runs along the other diagonal. The first row is the "
        "first token, which may see only itself."
    ),
    "mask-additive": (
        "this is a mask to be added to scores (0 and minus infinity). Asked for is one/true where "
        "looking is allowed. (It also earns its points if your apply_causal_mask works with it; the "
        "check of that function tries the two together.)"
    ),
    # ------------------------------------------------------------- apply_causal_mask
    "mask-zeros-scores": (
        "hidden scores become 0. That is an ordinary score, and the softmax gives it weight: exp(0) "
        "is 1, often more than the scores you keep."
    ),
    "mask-added": (
        "the mask of zeros and ones is added to the scores. That only nudges them by 1 and hides "
        "nothing."
    ),
    "mask-finite": (
        "the hidden scores get a number that real scores can reach, so a hidden token may win after "
        "all. Only something below every possible score hides for certain."
    ),
    "mask-tiny": (
        "the hidden scores get a tiny positive number (the smallest one above zero), which is as "
        "good as 0. Being small and being very negative are different things."
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
        "the weights are masked after the softmax. The future has then already taken its share in "
        "the denominator: the rows sum to less than 1, and what is to come can be read off the rest."
    ),
    "softmax-inside": "these are weights already; here only the masked scores are asked for.",
    "mask-arguments-swapped": (
        "mask and scores have changed places: the mask comes first in the signature."
    ),
    # ------------------------------------------------------------------- split_heads
    "heads-bare-view": (
        "the shape is right, but the numbers are in the wrong places: a bare reshape cuts along "
        "tokens, so that one head gets pieces of several tokens. Each head needs its share of "
        "*every* token."
    ),
    "heads-not-transposed": (
        "the heads are separate, but they come after the tokens: (B, T, n_heads, head_size). Each "
        "head should hold a table of tokens of its own."
    ),
    "heads-interleaved": (
        "each head takes every n_heads-th number of a token. Heads take neighbouring numbers: the "
        "first head the first head_size of them, and so on."
    ),
    "heads-wrong-transpose": "the wrong two dimensions changed places; compare the shapes below.",
    "heads-and-size-swapped": (
        "n_heads is used as the size of a head: there are n_embd / n_heads heads now."
    ),
    "heads-in-batch": (
        "the heads are folded into the batch dimension. Give them a dimension of their own."
    ),
    "heads-before-batch": "the heads come before the batch. The batch stays in front.",
    "heads-split-tokens": "the tokens are shared out among the heads; it is their numbers that are.",
    "heads-repeated": (
        "every head gets the whole token. The heads share its numbers out among them."
    ),
    # ------------------------------------------------------------------- merge_heads
    "merge-bare-view": (
        "the shape is right, but the numbers are in the wrong places: a bare reshape puts different "
        "tokens of one head side by side. Undo the split in the opposite order."
    ),
    "merge-interleaved": (
        "the heads are merged number by number in turn. Each head's numbers belong side by side."
    ),
    "merge-averaged": "the heads are averaged or summed. They should be laid side by side.",
    "merge-not-merged": "the heads are in the right place but still have a dimension of their own.",
    "merge-first-head": "only one head comes out; the others are lost.",
    "merge-on-tokens": "the heads are laid one after the other along the tokens, not side by side.",
    # ---------------------------------------------------------------- self_attention
    "mask-forgotten": (
        "right without a mask; but with causal=True nothing changes, so every token sees the future. "
        "Is the mask applied, and is what comes out of that used?"
    ),
    "mask-always": "right with a mask; but it is applied even with causal=False.",
    "causal-default-changed": (
        "called without `causal`, it does not mask: the default is causal=True. Leave the signature "
        "as it was."
    ),
    "heads-ignored": "right for one head; but n_heads changes nothing.",
    "heads-not-merged": "the heads have not been merged: the output must have the shape of Q.",
    "weights-returned": "the weights are returned instead of the output: the values are missing.",
    "values-not-used": "the values are not V: something else is mixed by the weights.",
    "mask-before-heads-only": "right for one head, but with several the mask is left out.",
    "softmax-forgotten": "the scores are used as weights as they are: the softmax is missing.",
    "output-projected": (
        "something is done to the merged heads before they are returned. The output projection "
        "belongs to the model; here nothing follows the merging."
    ),
    "sees-future": (
        "with causal=True, an output moved when only later tokens were changed: the future leaks in."
    ),
    "right-on-right-pieces": (
        "right, as soon as right pieces take the place of those of yours that did not pass."
    ),
}  # fmt: skip
