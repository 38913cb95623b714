"""What to say about each known mistake in translation: a name for reports, a sentence to a person.

Both the checks in the notebook and the judge speak through this table. A sentence says what is seen
and why it matters; finding what to do instead is the learner's part.
"""

WORDS = {
    # ------------------------------------------------------------------------- anything
    "todo-open": "the TODO is still open: write the body and return its result.",
    "not-defined": "this name is not defined. Run its cell, and keep the name as it was.",
    "not-a-function": "this name no longer holds a function or a class. Was it used for something else?",
    "returned-none": "it returned None. Is a `return` missing at the end?",
    "raised": "it stopped with an error.",
    "no-answer": "nothing usable came back.",
    "input-changed": (
        "the result is right, but something that was passed in has been changed on the way. The "
        "caller may still need it: names that end in _, augmented assignments such as *= and list "
        "methods such as pop() work in place."
    ),
    "no-gradient": (
        "the numbers are right, but no gradient flows back through them, so nothing could be "
        "learned: look for detach(), .data, .item(), no_grad() or a new tensor made from numbers."
    ),
    "wrong-gradient": "the numbers are right, but part of the computation is cut off from the gradient.",
    "not-repeatable": (
        "two calls with the same inputs gave different results. There is nothing random in what is asked "
        "for here: no dropout, no sampling."
    ),
    "remembers-first-call": (
        "asked about other sentences, the same module answers wrongly: something that was worked out in "
        "the first call is kept and used again."
    ),
    "not-finite": "the result contains NaN or infinite numbers. Was infinity multiplied, or every word hidden?",
    "wrong-dtype": (
        "it works for one float type only. Attention has to take float32 and float64 and return what it "
        "was given; mind what type a mask becomes when it turns into numbers."
    ),
    "hard-coded-device": (
        "it only works on one device: a tensor in it stays where it was made, so the module breaks as "
        "soon as model and sentences move to a GPU. A plain number has no device."
    ),
    # ------------------------------------------------------------------- both attentions
    "not-a-module": "this is not an nn.Module: the model calls it like a function and moves it between devices.",
    "not-a-pair": "forward must return two tensors, (attended, weights).",
    "not-a-tensor": "forward must return two tensors; one of these is something else.",
    "wrong-shape": "the shapes are wrong: attended must be (B, 2E), weights (B, T).",
    "outputs-swapped": "attended and weights come back in the wrong order: attended first.",
    "weights-not-squeezed": (
        "the weights have a dimension too many. One query per sentence gives one row of weights: (B, T)."
    ),
    "attended-not-squeezed": "attended has a dimension too many: one vector per sentence is (B, 2E).",
    "squeezed-too-much": (
        "a dimension is gone where a batch has a single sentence, or a sentence a single word: a squeeze "
        "without a dimension takes away every dimension of size 1."
    ),
    "mask-inverted": "the words are hidden and the padding is seen: the mask is True on words.",
    "weights-on-padding": "some weight falls on padding. Only words may get any.",
    "weights-do-not-sum": "the weights of a sentence do not sum to 1.",
    "attended-wrong": "the weights are right, but attended is not the mixture that they describe.",
    "wrong-values": "the shapes are right, the numbers are not.",
    # ------------------------------------------------------------------ MeanPoolAttention
    "mean-over-padding": (
        "the padding is averaged in as if it were words. A sentence's result would then depend on how "
        "long the other sentences in its batch are."
    ),
    "attended-over-padding": "the weights are right, but attended averages over all places, padding too.",
    "weights-over-padding": "attended is right, but the weights returned with it count padding as words.",
    "divided-by-all-places": (
        "padding gets no weight, but you divide by the number of places, not by the number of words: the "
        "weights of a padded sentence sum to less than 1."
    ),
    "attended-divided-by-all-places": (
        "the weights are right, but attended is divided by the number of places, padding counted."
    ),
    "length-of-first-sentence": "every sentence is divided by the length of the first one of the batch.",
    "sum-instead-of-mean": "this is the sum over the words. A mean has weights that sum to 1.",
    "softmax-of-mask": (
        "a softmax over zeros and ones leaves padding with weight: e to the power of 0 is 1, not 0."
    ),
    "mean-over-batch": "this averages over the sentences of the batch. The words are another dimension.",
    "attended-zeros": "attended is all zeros: that is DummyAttention, which tells the decoder nothing.",
    "max-instead-of-mean": "this takes the largest number of each column instead of the mean.",
    "one-word-only": "attended is the vector of a single word. All words take part in a mean.",
    "follows-machine": (
        "it asks which device the machine has, and not where the model is. Here the machine has a GPU and the "
        "model is on the CPU, and the two get mixed. Take the device from the inputs or the layers."
    ),
    "extra-layers": (
        "there are weights in this module that are not asked for. Grading sets the weights of the "
        "layers it knows; with any others the result cannot be compared."
    ),
    "constructor-arguments": "it cannot be made without arguments: MeanPoolAttention() has nothing to learn.",
    # --------------------------------------------------------------- the three projections
    "layers-missing": (
        "the layers must be called q_proj, k_proj and v_proj, and be made in __init__: grading finds "
        "them by these names and puts known weights into them."
    ),
    "layers-not-linear": "q_proj, k_proj and v_proj must each be a plain nn.Linear.",
    "layer-sizes": (
        "a projection has the wrong size: q_proj takes D numbers to kq, k_proj 2E to kq, v_proj 2E to 2E."
    ),
    "v-proj-half": (
        "v_proj makes E numbers. The encoder reads in two directions, and attended must have 2E numbers, "
        "as the decoder expects."
    ),
    "v-proj-to-kq": "v_proj makes kq numbers: that size belongs to queries and keys. Attended has 2E.",
    "v-proj-to-decoder": "v_proj makes D numbers, the decoder's size. Attended has 2E.",
    "encoder-size-not-doubled": (
        "a projection of the encoder's outputs takes E numbers. They have 2E: one half per direction."
    ),
    "projections-exchanged": (
        "q_proj and k_proj are swapped: the query comes from the decoder's state, the keys from the "
        "encoder's outputs."
    ),
    "layers-called-exchanged": (
        "the layers have the right sizes, but q_proj is called on the encoder's outputs and k_proj on the "
        "decoder's state."
    ),
    "kq-dim-ignored": "kq_dim has no effect: the projections have the same size whatever it says.",
    "kq-dim-default": "without kq_dim, queries and keys must have 64 numbers.",
    "super-forgotten": "`super().__init__()` must come first in __init__, before any layer is assigned.",
    # --------------------------------------------------------- scaled dot-product attention
    "scale-forgotten": "the scores are not divided by anything: scaled is half of this module's name.",
    "scale-without-root": "you divide by kq itself. Dot products of kq numbers grow with its root.",
    "scale-by-encoder-size": (
        "you divide by the root of the encoder's size. What counts is how many numbers a dot product "
        "runs over, and that is the size of queries and keys."
    ),
    "scale-by-decoder-size": (
        "you divide by the root of the decoder's size. What counts is how many numbers a dot product "
        "runs over, and that is the size of queries and keys."
    ),
    "scale-by-length": "you divide by the root of the number of words. The sentence's length plays no part.",
    "scale-fixed": "you divide by the root of 64, whatever kq_dim is.",
    "scale-multiplied": "you multiply by the root of kq instead of dividing by it.",
    "scale-after-softmax": "the weights are scaled instead of the scores: they no longer sum to 1.",
    "softmax-over-batch": (
        "the softmax runs over the sentences of the batch: each word's weights sum to 1 over sentences "
        "that have nothing to do with each other."
    ),
    "softmax-forgotten": "these are scores, not weights: they have not been through a softmax.",
    "softmax-twice": "the softmax runs twice, which makes the weights nearly equal.",
    "mask-ignored": (
        "padding gets weight as if it were words. Is the mask used, and is its result kept?"
    ),
    "mask-after-softmax": (
        "padding is set to 0 after the softmax: it has taken its share already, and what is left of a "
        "padded sentence sums to less than 1."
    ),
    "mask-zeros-scores": "padding gets a score of 0, or nearly 0. That is a score like any other, and e to its power is 1.",
    "mask-added": "the mask is added to the scores as zeros and ones. That hides nothing.",
    "mask-finite": (
        "padding gets a low score, but real scores can be as low, and then padding is seen. Only minus "
        "infinity is low enough for certain."
    ),
    "values-not-projected": "v_proj is not used: the encoder's outputs themselves are mixed.",
    "values-weighted-equally": "the weights are right, but the values are averaged without them.",
    "scores-returned": "the second result holds scores. Return the weights that attended was mixed with.",
    "activation-added": "queries or keys go through an activation after their projection. None is asked for.",
    # ------------------------------------------------------------------------ masked_loss
    "loss-over-padding": (
        "padding counts as if it were words to predict. The loss then measures how well the model "
        "predicts padding, and depends on how much of it there happens to be."
    ),
    "loss-mean-of-sentences": (
        "this is a mean of means: one per sentence, then over sentences. Words of short sentences count "
        "more that way; every token should count the same."
    ),
    "loss-mean-of-steps": (
        "this is a mean of means: one per position, then over positions. Every token should count the same."
    ),
    "loss-divided-by-all-places": (
        "padding costs nothing, but you divide by the number of all places. More padding would then make "
        "the loss smaller."
    ),
    "loss-summed": "this is the sum over the tokens. You were asked for the mean.",
    "loss-divided-by-sentences": "the sum is divided by the number of sentences, not by that of tokens.",
    "loss-pad-fixed": "the padding's number is hard-coded. It comes in as `pad`.",
    "loss-of-softmax": (
        "the logits go through a softmax before the cross-entropy, which applies one itself: twice is once "
        "too often."
    ),
    "loss-of-probabilities": "the logarithm is missing: probabilities go in where log-probabilities belong.",
    "loss-of-scores": "the softmax is missing: these are logits, not log-probabilities.",
    "loss-bare-view": (
        "a reshape to (B, vocabulary, T) mixes up words and logits. It never moves numbers: exchanging two "
        "dimensions takes another operation."
    ),
    "loss-shifted": (
        "logits and targets are shifted against each other. They already line up: targets[b, t] is what "
        "logits[b, t] should predict."
    ),
    "loss-on-padding-only": "only the padding counts: the mask is the wrong way round.",
    "loss-negative": "the sign is wrong: a model that learns would make this loss larger.",
    "loss-not-scalar": "the loss must be a single number, a tensor of shape ().",
    "loss-dimensions": (
        "cross_entropy expects the vocabulary in the second dimension; here it is the third. Look at the "
        "shapes that it takes."
    ),
    "loss-in-bits": "this is the loss in bits (logarithm to base 2). The course counts in nats.",
    "wrong-loss": "the loss is not the mean cross-entropy over the tokens that are not padding.",
    # ------------------------------------------------------------------- greedy_translate
    "stop-returned": "STOP is among the words. It ends the translation and is no part of it.",
    "start-returned": "START is among the words. The decoder begins with it; it is no part of the translation.",
    "never-stops": "the decoder goes on after STOP. What it says then is no part of the translation.",
    "limit-ignored": "it never ends if the model never says STOP: max_tokens is ignored.",
    "limit-off-by-one": "the limit is off by one: at most max_tokens words, and none at all when it is 0.",
    "limit-from-source": (
        "the length of the source sentence ends the translation. It may well be longer: STOP and "
        "max_tokens alone end it."
    ),
    "pad-stops": "PAD ends the translation. STOP and max_tokens alone should.",
    "words-left-out": "some words that the model chose are left out. START and STOP alone are no part of a translation.",
    "repeated-word-stops": (
        "a word that was said before ends the translation. Sentences repeat words all the time: a man in "
        "a hat."
    ),
    "token-not-fed-back": "the decoder is fed the same token every time. It should read what it wrote last.",
    "source-fed": (
        "the decoder is fed words of the sentence to be translated. It should read what it wrote last."
    ),
    "hidden-not-carried": (
        "every step begins with the same hidden state: the one that `step` returns is not used."
    ),
    "begins-without-start": "the first token fed to the decoder must be START.",
    "not-the-likeliest": "the word chosen is not the one with the largest logit.",
    "eval-forgotten": "the model decodes in training mode, where dropout changes its answers.",
    "mode-not-restored": "the model comes back in eval mode although it was in training mode before.",
    "mode-always-training": "the model comes back in training mode although it was in eval mode before.",
    "gradients-on": "the steps are recorded for gradients that are never used, which costs memory and time.",
    "gradients-left-off": "gradients are still off afterwards: the next training would fail.",
    "mask-not-bool": "the mask that `encode` gets is not of type bool.",
    "encoding-not-passed-on": (
        "`step` gets outputs or a mask other than those of the encoded sentence. The decoder needs the same "
        "ones at every step."
    ),
    "mask-hides-words": "the mask hides some tokens of the sentence. A single sentence has no padding.",
    "source-cut": "the encoder does not get the whole sentence: START and STOP belong to `source`.",
    "source-wrapped-again": "the encoder gets START and STOP twice: `source` holds them already.",
    "source-not-encoded": "the encoder gets a different sentence from `source`.",
    "last-word-dropped": "the last word is missing.",
    "not-ints": "the words must be Python ints, not tensors, text or floats.",
    "not-a-list": "the words must come back as a list.",
    "batch-dimension": "a dimension is missing or too many: encode wants (1, T), step wants a token of shape (1,).",
    "wrong-words": "these are not the words that the model finds likeliest, one after the other.",
    # -------------------------------------------------------------------- describe_losses
    "variance-of-sample": (
        "this divides by one less than the number of losses. You were asked for the variance of the population: "
        "these are all the losses there are, and one loss alone has the variance 0."
    ),
    "standard-deviation": "this is the standard deviation, the root of the variance.",
    "variance-not-divided": "the squared distances are summed, but not divided by how many there are.",
    "variance-around-zero": "this is the mean of the squares. The variance is about distances from the mean.",
    "absolute-deviation": "distances from the mean are taken as they are. The variance squares them.",
    "mean-not-divided": "`mean` holds the sum.",
    "median": "`mean` holds the median.",
    "mean-and-variance-swapped": "mean and variance are swapped.",
    "last-loss": "`mean` holds a single loss.",
    "rounded": "the numbers are rounded. Keep them as they are; rounding is for printing.",
    "wrong-keys": 'the dictionary must have the keys "mean" and "variance", and no others.',
    "not-a-dict": 'it must return a dictionary: {"mean": ..., "variance": ...}.',
    "not-floats": "mean and variance must be floats.",
    "tensors-not-taken": (
        "it works for floats, but not for tensors of one number. Losses often come as such; float() takes "
        "either."
    ),
    "floats-not-taken": "it works for tensors, but not for plain numbers.",
    "wrong-description": "mean or variance is not right.",
}
