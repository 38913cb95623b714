"""What to say about each known mistake in notebook noise_and_heads.

Both the checks in the notebook and the judge speak through this table. A sentence says what is
seen and why it matters; finding what to do instead is the learner's part.
"""

from course_utils.checks.attention_words import WORDS as _ATTENTION_WORDS

# Faults that any function of tensors may have are said in the words of the first assignment.
_SHARED = (
    "todo-open", "not-defined", "not-a-function", "not-a-tensor", "wrong-shape", "wrong-dtype",
    "not-finite", "wrong-values", "no-gradient", "wrong-gradient", "hard-coded-device",
    "view-needs-contiguous", "sees-future", "same-every-time",
)  # fmt: skip

WORDS = {slug: _ATTENTION_WORDS[slug] for slug in _SHARED} | {
    # ------------------------------------------------------------------ any function
    "returned-none": "the function returned None. Is a `return` missing at the end?",
    "raised": "the function stopped with an error.",
    "not-repeatable": (
        "two calls with the same arguments gave different answers. What is asked for depends on "
        "the arguments alone: nothing random, nothing remembered from the call before."
    ),
    "input-changed": (
        "the answer is right, but the function has changed an array that it was given. The "
        "caller may still need that array: `*=` and `+=` work in place."
    ),
    # ----------------------------------------------------------------------- queries
    "opposite-sign": (
        "flip its sign and it would be right. What you want to find has the lowest score "
        "instead of the highest."
    ),
    "scale-too-small": (
        "the direction is fine, but the query is too short (length {length}): the scores differ "
        "too little, and the softmax lets the other tokens in."
    ),
    "scale-too-large": (
        "the direction is fine, but the query is too long (length {length}): it multiplies the "
        "noise in the keys as well, until the softmax sees one winner."
    ),
    "averages-all": (
        "all tokens get the same weight, so the output is the mean of all values. Some keys must "
        "score higher than the others."
    ),
    "off-by-one": (
        "the weight goes to the neighbours of the tokens that were asked for. Rows count from 0, "
        "and so do the indices you are given."
    ),
    "fixed-index": (
        "the weight goes to row {rows} whatever indices the function is given. A formula uses its "
        "arguments."
    ),
    "wrong-key": "most of the weight goes to tokens that were not asked for.",
    "difference": (
        "one of the two tokens scores as far below zero as the other scores above it, so a single "
        "value gets all the weight. A mean needs two scores that are equal."
    ),
    "selects-one": (
        "one of the two tokens takes nearly all the weight. A mean gives both the same, so both "
        "need the same score."
    ),
    "unequal-weights": (
        "the weight goes to the right two tokens, in unequal shares. For equal shares, their "
        "scores have to be equal."
    ),
    "remembers-tokens": (
        "asked for the same tokens among new keys, it returns the query for the previous keys: something is "
        "remembered from an earlier call."
    ),
    "wrong-weights": "compare the weights below with the ones you want.",
    # ------------------------------------------------------------------------- heads
    "one-query-twice": (
        "both heads ask with the same query, so they see the same thing and fail together. Two heads "
        "help when each has a job of its own."
    ),
    "both-heads-mixed": (
        "both heads still look at a and b. Within a head the two tokens compete, and the one whose "
        "key happens to be longer wins."
    ),
    "one-head-flat": (
        "one head scores all tokens the same, so that half of the output is the mean of all values. Each "
        "of the two needs a token of its own."
    ),
    "one-head-mixed": (
        "one head still looks at a and b at once. Within it the two tokens compete, and the one "
        "whose key happens to be longer wins."
    ),
    "sum-and-difference": (
        "one head looks at a and b at once, where the longer key wins, and the other finds one of "
        "them only. A weight is never negative: outputs of heads cannot cancel, as a sum and a "
        "difference of vectors would."
    ),
    "same-key-twice": (
        "both heads look at the same token, so the other one's value hardly gets into the output."
    ),
    # ------------------------------------------------------------------- projections
    "wrong-order": (
        "the three matrices are fine, but they come back in the wrong order. The function returns "
        "(V, K, Q)."
    ),
    "transposed": (
        "with a matrix transposed it would be right. Here v = Vx, k = Kx and q = Qx: the matrix "
        "multiplies the token from the left."
    ),
    "values-turned": "flip the sign of V and it would be right.",
    "scores-too-small": (
        "each token looks in the right direction, but the scores are too close together: the "
        "softmax still gives a good part of the weight to the other tokens."
    ),
    "values-wrong-length": (
        "everything points the right way, but what V hands over is {factor} times as long as it "
        "should be. Mind that every u has length 10."
    ),
    "identity-matrices": (
        "with V = K = Q = I every token finds itself: it scores highest with its own key, and "
        "hands over itself unchanged."
    ),
    "looks-at-several": (
        "{token} looks at x1, x2, x3 with the weights {weights}, so {half} is a mixture of values. "
        "It should be {target}."
    ),
    "looks-at-wrong-token": (
        "{half} should be {target}, and the value of {better} is just that; but {token} looks at "
        "{place}."
    ),
    "value-not-wanted": (
        "{token} looks at {place} alone, whose value is {value}; but {half} should be {target}."
    ),
    # ------------------------------------------------------------------- synthesizer
    "mask-forgotten": (
        "every token sees all the others, those that come later too. A causal layer hides them."
    ),
    "mask-off-by-one": "the mask is off by one: a token sees the one after it, or not itself.",
    "mask-inverted": "the mask hides the past and shows the future.",
    "mask-after-softmax": (
        "the future is hidden after the softmax, so what is left of a row no longer sums to 1, and "
        "later tokens still have a say in it."
    ),
    "mask-zeros-scores": (
        "hidden scores are set to 0. The softmax turns 0 into a positive weight; only minus "
        "infinity becomes no weight at all."
    ),
    "mask-finite": (
        "hidden scores get a number that real scores can reach, so that a later token shows "
        "through when scores are very low."
    ),
    "softmax-over-queries": "the softmax runs down the columns. Each row belongs to one token.",
    "softmax-over-batch": "the softmax runs over the batch. Each row belongs to one token.",
    "softmax-forgotten": "the scores are used as weights. The softmax comes in between.",
    "softmax-twice": "the softmax is applied twice, which makes the weights nearly equal.",
    "softmax-over-block": (
        "the softmax runs over the whole block and is cut to T columns afterwards, so the weights "
        "of a row no longer sum to 1."
    ),
    "block-not-cut": (
        "it works only when the block is as long as the sentence. A shorter sentence uses the "
        "first T columns of the scores."
    ),
    "last-columns": "the last T columns of the scores are used. The first T are the ones that count.",
    "relu-forgotten": "without relu the two layers collapse into one linear layer.",
    "relu-too-late": "relu comes after the second layer. It belongs between the two.",
    "relu-before-bias": "relu comes before b1 is added. The bias belongs inside.",
    "other-activation": "something other than relu stands between the two layers.",
    "b1-forgotten": "b1 is not used.",
    "b2-forgotten": "b2 is not used.",
    "scale-added": "the scores are divided by a root. The synthesizer has no scaling.",
    "weights-returned": "the weights come back, not the values mixed by them.",
    "values-not-used": "X is mixed by the weights. The values to mix are V.",
    "dot-product": "the scores are dot products of tokens. A synthesizer never compares tokens.",
    "only-last-token": "only one row of scores is used for all tokens. Every token has its own.",
}
