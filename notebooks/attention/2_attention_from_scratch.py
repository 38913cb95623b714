# %% [markdown]
# # Attention from scratch, and a GPT around it
#
# In the first notebook you wrote queries by hand. Now you write the machine itself: **causal
# multi-head attention**, the core of every GPT, in nine small functions. Most take a single line.
# Then you put your attention into a small language model, train it, and find out by an experiment
# of your own what one of its parts is good for.
#
# **What you will be able to do afterwards:** read attention code in research projects, say what
# every dimension of every tensor stands for, notice when a model sees the future, and report an
# experiment so that others believe it.
#
# | section | what you do | minutes |
# |---|---|---|
# | 2.1, step 0 | see where Q, K and V come from | 10 |
# | 2.1, step 1 | scores, scaling, weights, outputs | 40 |
# | 2.1, step 2 | hide the future | 30 |
# | 2.1, step 3 | split and merge heads | 30 |
# | 2.1, step 4 | put it together, and compare with PyTorch | 30 |
# | 2.2 | train a GPT, run an experiment, write the report | 300 |
#
# Section 2.1 needs no GPU. For 2.2 a laptop is enough; a GPU (in Colab: *Runtime → Change runtime
# type*) makes larger experiments pleasant.
#
# **How to work.** Fill in the functions that say `TODO`, and remove the line that raises
# `NotImplementedError` when you do. The cell below each of them checks your work on the spot: it
# runs your function on small inputs, and when the numbers are those of a mistake that it knows, it
# says which. A public check that passes is a good sign; grading tries more inputs.

# %% [markdown]
# ## Who helped you?
#
# Name everyone and everything that contributed, AI tools included, and say how. If you worked
# alone, write "alone": that is a fine answer. Leaving this cell untouched costs 2 % of the
# assignment's total.

# %% [markdown] answer="answer_collaborators" points=0
# Alone.
#
# ### BEGIN MARK SCHEME
# No points here. An untouched cell in any of the notebooks costs 2 % of the total, once
# (`[collaborators]` in course.toml). Any honest sentence counts as an answer, "alone" included.
#
# **Teaching notes for the whole notebook.**
#
# - Ask for shapes aloud, before every line. Nearly all mistakes of 2.1 are mistakes of shape: the
#   softmax over the wrong dimension, a transpose of the wrong two, a view where a transpose was
#   needed. The worst of them raise no error.
# - Step 3 is where people lose time. Let them fill a tensor with 0, 1, 2, ... and follow single
#   numbers by eye, as the picture does, before they write code.
# - A wrong piece costs its own points only. `self_attention` is graded on the student's own pieces
#   first, and on right ones if that fails; feedback says which.
# - Any mask convention earns full points if the two mask functions fit together.
# - `flags` in the results name students who called PyTorch's own attention in 2.1. It is not a
#   matter for the autograder: talk to them.
# - In 2.2 the outputs are those that the student handed in: training is not run again.
# ### END MARK SCHEME

# %% [markdown]
# ## Set-up

# %% setup="course"

# %%
import math

import torch
import torch.nn.functional as F
from torch import nn

from course_utils import attention_plots, runtime
from course_utils.checks import check
from course_utils.parity import show_parity

DEVICE = runtime.device()  # where tensors live: make new ones there
print(runtime.describe())

# %% [markdown]
# ## 2.1 Attention in nine functions (140 minutes)
#
# **Letters.** `B` sentences in a batch, `T` tokens in a sentence (in code `n_tok`), `C` numbers for
# a token (`n_embd`), `n_heads` heads of `head_size` = `C / n_heads` numbers each. *Scores* are what
# comes before the softmax, *weights* what comes after.
#
# **Three rules** for all nine functions:
#
# 1. **Leave your inputs as they are.** Whoever calls you may need them again. Functions that end in
#    `_` (such as `masked_fill_`) and `+=` on a tensor work in place: avoid them here.
# 2. **Any device, any float type.** The output stays on the device and of the type of the input. New
#    tensors are made on `DEVICE`, or on the device of an input.
# 3. **From scratch.** PyTorch has attention built in; here you build it. Everything else in PyTorch
#    is yours to use: `@`, `einsum`, `softmax`, `where` and so on. Loops are allowed, though slow.

# %% [markdown]
# ### Step 0: where Q, K and V come from (10 minutes)
#
# Each token's vector goes through three linear layers; the three results are its query, its key and
# its value. This function is **given**. It returns the three layers, and the model in 2.2 will call
# it once for each of its layers.


# %%
def init_qkv_proj(n_embd):
    """Make the three projections, for Q, K and V: each (B, T, C) -> (B, T, C)."""
    return nn.Linear(n_embd, n_embd), nn.Linear(n_embd, n_embd), nn.Linear(n_embd, n_embd)


# %% [markdown]
# A sentence to play with. Its vectors are random, so don't look for meaning in the pictures below:
# look for structure.

# %%
runtime.set_seed(3)
words = ["the", "cat", "saw", "a", "dog", "run"]
n_embd = 12
x = torch.randn(1, len(words), n_embd, device=DEVICE)  # (B, T, C)

W_q, W_k, W_v = (layer.to(DEVICE) for layer in init_qkv_proj(n_embd))
Q, K, V = 3 * W_q(x), 3 * W_k(x), W_v(x)  # (B, T, C) each; times 3, so that there is more to see
print("Q", tuple(Q.shape), " K", tuple(K.shape), " V", tuple(V.shape))

# %% [markdown]
# ### Step 1: scores, scaling, weights, outputs (40 minutes)
#
# #### Pairwise similarities
#
# Compare **every** query with **every** key by the dot product: $A = Q K^\top$, so that $A_{ij}$ is
# the dot product of query $i$ and key $j$. The dimensions in front (the batch, later also the heads)
# are just carried along, and there may be any number of them. (2 points)
#
# <details><summary>Hint 1: a nudge</summary>
#
# PyTorch's matrix product works on the last two dimensions and treats all others as a batch. Which
# of the two factors has its last two dimensions in the wrong order?
#
# </details>
#
# <details><summary>Hint 2: shapes</summary>
#
# (..., T, D) times (..., D, T) gives (..., T, T). `.T` turns round *all* dimensions of a tensor, the
# batch too; look up `torch.transpose`, and count dimensions from the end.
#
# </details>


# %% solve="pairwise_similarities"
def pairwise_similarities(Q, K):
    """Return the dot product of every query with every key.

    Q, K (..., T, D) -> scores (..., T, T): row i belongs to query i, column j to key j
    """
    ### BEGIN SOLUTION
    return Q @ K.transpose(-2, -1)
    ### END SOLUTION
    raise NotImplementedError("TODO: pairwise_similarities")


# %% check="pairwise_similarities" points=2
check("pairwise_similarities", pairwise_similarities)

# %% [markdown]
# Your scores for the sentence: row = who looks, column = at whom.

# %%
scores = pairwise_similarities(Q, K)  # (B, T, T)
attention_plots.plot_scores(scores, words)

# %% [markdown]
# #### Scaling
#
# **Predict, then run.** Take two random vectors of `d` numbers and their dot product. It is 0 on
# average; but how far from 0 does it typically lie? When `d` gets 16 times as large, does that
# distance get 16 times as large, 4 times, or does it stay?

# %%
for d in (4, 16, 64, 256):
    dots = (torch.randn(10_000, d) * torch.randn(10_000, d)).sum(dim=-1)
    print(f"d = {d:3}: typical size {dots.std():5.1f}")

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# A sum of `d` independent terms has a variance that grows with `d`, so its typical size grows with
# the root of `d`. Large scores make the softmax pick a single winner, and then hardly any gradient
# reaches the others. Dividing by the typical size keeps the scores in a range where learning works.
#
# </details>
#
# Attention therefore divides the scores by $\sqrt{\text{head\_size}}$, where the head size is
# $\text{n\_embd} / \text{n\_heads}$: with several heads, each dot product runs over the numbers of
# one head only. (2 points)
#
# <details><summary>Hint: a nudge</summary>
#
# `n_embd` and `n_heads` are ordinary numbers, so `math` has what you need. Rounding is not needed.
#
# </details>


# %% solve="attn_scaled"
def attn_scaled(A, n_embd, n_heads):
    """Divide scores by the root of the head size.

    A (..., T, T) -> (..., T, T)
    """
    ### BEGIN SOLUTION
    return A / math.sqrt(n_embd / n_heads)
    ### END SOLUTION
    raise NotImplementedError("TODO: attn_scaled")


# %% check="attn_scaled" points=2
check("attn_scaled", attn_scaled)

# %% [markdown]
# #### Weights
#
# Each query now shares out its attention among the keys: the weights of a query are positive and sum
# to 1. Along which dimension does the softmax have to run? (2 points)
#
# <details><summary>Hint 1: a nudge</summary>
#
# Row $i$ holds the scores of query $i$ with all keys. Which numbers have to sum to 1: those of a row,
# or those of a column?
#
# </details>
#
# <details><summary>Hint 2: it must work with heads as well</summary>
#
# Later there will be four dimensions instead of three. Say which dimension you mean in a way that is
# right for both.
#
# </details>


# %% solve="attn_softmax"
def attn_softmax(A):
    """Turn scores into weights: for each query, positive numbers over the keys that sum to 1.

    A (..., T, T) -> (..., T, T)
    """
    ### BEGIN SOLUTION
    return torch.softmax(A, dim=-1)
    ### END SOLUTION
    raise NotImplementedError("TODO: attn_softmax")


# %% check="attn_softmax" points=2
check("attn_softmax", attn_softmax)

# %% [markdown]
# **Predict, then run.** Below are the weights with scaling and without. In which of the two pictures
# do the rows look more like a clear choice?

# %%
weights = attn_softmax(attn_scaled(scores, n_embd, 1))  # (B, T, T)
attention_plots.plot_weights(weights, words, "weights, scores scaled")

# %%
attention_plots.plot_weights(attn_softmax(scores), words, "weights, scores not scaled")

# %% [markdown]
# #### Outputs
#
# Each query's output is the mixture of all values by its weights: $O = A' V$. (2 points)
#
# <details><summary>Hint: shapes</summary>
#
# (..., T, T) and (..., T, D) give (..., T, D).
#
# </details>


# %% solve="compute_outputs"
def compute_outputs(A, V):
    """Mix the values by the weights.

    A (..., T, T), V (..., T, D) -> (..., T, D)
    """
    ### BEGIN SOLUTION
    return A @ V
    ### END SOLUTION
    raise NotImplementedError("TODO: compute_outputs")


# %% check="compute_outputs" points=2
check("compute_outputs", compute_outputs)

# %%
output = compute_outputs(weights, V)  # (B, T, C)
attention_plots.plot_pipeline(scores, weights, output, words)

# %% [markdown]
# ### Step 2: hide the future (30 minutes)
#
# A language model predicts the next token. If a token could look at those after it, it would simply
# copy the answer. So each token may look at **itself and at what came before**, and at nothing else.
#
# #### The mask
#
# Make a table of `n_tok` by `n_tok` that is one (or true) where looking is allowed and zero (or
# false) where it is not. Make it on `DEVICE`. (2 points)
#
# <details><summary>Hint 1: a nudge</summary>
#
# Draw it for three tokens. Rows are queries, columns are keys: which entries of the first row are
# allowed? Of the last?
#
# </details>
#
# <details><summary>Hint 2: where to look</summary>
#
# The shape you drew is a triangle. PyTorch cuts triangles out of matrices; mind which one you get,
# and whether the diagonal belongs to it.
#
# </details>


# %% solve="make_causal_mask"
def make_causal_mask(n_tok):
    """Return a mask, (n_tok, n_tok): one or true on and below the diagonal, zero or false above."""
    ### BEGIN SOLUTION
    return torch.ones(n_tok, n_tok, dtype=torch.bool, device=DEVICE).tril()
    ### END SOLUTION
    raise NotImplementedError("TODO: make_causal_mask")


# %%
attention_plots.plot_mask(make_causal_mask(len(words)), words)

# %% [markdown]
# A first look (the check that counts comes below, together with the next function):

# %%
check("make_causal_mask", make_causal_mask)

# %% [markdown]
# #### Masking
#
# Where the mask says no, the score must become $-\infty$, **before** the softmax. Mind the order of
# the arguments: the mask comes first. (2 points)
#
# **Think first.** Why $-\infty$ and not 0? And why before the softmax: would it not do to set weights
# to 0 afterwards? (In 2.2 you can try what happens then. It is one of the most instructive
# experiments there are.)
#
# <details><summary>Hint 1: a nudge</summary>
#
# $e^{-\infty} = 0$, and what is 0 takes no share from the others. There are several ways to choose
# between two numbers in every place of a table: look for functions that *fill* or *choose where*.
#
# </details>
#
# <details><summary>Hint 2: if you see NaN</summary>
#
# $0 \cdot \infty$ is not a number. Don't multiply by infinity.
#
# </details>


# %% solve="apply_causal_mask"
def apply_causal_mask(mask, A):
    """Return the scores with minus infinity wherever the mask does not allow to look.

    mask (T, T), A (..., T, T) -> (..., T, T)
    """
    ### BEGIN SOLUTION
    return A.masked_fill(mask == 0, -math.inf)
    ### END SOLUTION
    raise NotImplementedError("TODO: apply_causal_mask")


# %% [markdown]
# If your two functions fit together, they pass, whatever kind of mask you use between them.

# %% check="make_causal_mask" points=2
check("make_causal_mask", make_causal_mask, apply_causal_mask=apply_causal_mask)

# %% check="apply_causal_mask" points=2
check("apply_causal_mask", apply_causal_mask, make_causal_mask=make_causal_mask)

# %% [markdown]
# **Predict, then run.** What will the first row of the weights be? And how does a row change when
# part of it gets hidden: do the others keep their weights?

# %%
masked = apply_causal_mask(make_causal_mask(len(words)), scores)
attention_plots.plot_masking(scores, masked, words)

# %%
attention_plots.plot_weights(attn_softmax(masked), words, "weights after masking")

# %% [markdown]
# ### Step 3: several heads (30 minutes)
#
# One softmax can make one choice. To look for several things at once, attention runs several **heads**
# side by side, each on its own share of the numbers: with `C` = 12 and 3 heads, head 0 works with the
# numbers 0 to 3 of every token, head 1 with 4 to 7, head 2 with 8 to 11.
#
# #### Split
#
# Turn (B, T, C) into (B, n_heads, T, head_size), so that the last two dimensions of each head are a
# table of tokens, and everything from step 1 works on it as it is. (2 points)
#
# <details><summary>Hint 1: a nudge</summary>
#
# It takes two moves. A reshape can cut the last dimension in two, but it never changes the order in
# which the numbers lie. The first move therefore gives a shape that is not yet the one you want.
#
# </details>
#
# <details><summary>Hint 2: shapes</summary>
#
# (B, T, C) → (B, T, n_heads, head_size) → (B, n_heads, T, head_size). If you go to the last shape in
# one step, the numbers end up in the wrong places, and no error tells you.
#
# </details>


# %% solve="split_heads"
def split_heads(x, n_heads):
    """Give each head its share of every token.

    x (B, T, C) -> (B, n_heads, T, C / n_heads)
    """
    ### BEGIN SOLUTION
    B, T, C = x.shape
    return x.reshape(B, T, n_heads, C // n_heads).transpose(1, 2)
    ### END SOLUTION
    raise NotImplementedError("TODO: split_heads")


# %% check="split_heads" points=2
check("split_heads", split_heads)

# %% [markdown]
# Follow the numbers: below, token 0 holds 0 to 11, token 1 holds 12 to 23, and so on.

# %%
counted = torch.arange(len(words) * n_embd, device=DEVICE).float().reshape(1, len(words), n_embd)
attention_plots.plot_heads(counted, split_heads(counted, 3), words)

# %% [markdown]
# This helper is **given**; use it or leave it.


# %%
def split_heads_qkv(Q, K, V, n_heads):
    """Split all three: (B, T, C) x3 -> (B, n_heads, T, C / n_heads) x3."""
    return split_heads(Q, n_heads), split_heads(K, n_heads), split_heads(V, n_heads)


# %% [markdown]
# #### Merge
#
# The way back: (B, n_heads, T, head_size) to (B, T, C). Merging what you split must give exactly what
# you started from. (2 points)
#
# <details><summary>Hint 1: a nudge</summary>
#
# Undo the two moves, the last one first.
#
# </details>
#
# <details><summary>Hint 2: if view() complains</summary>
#
# After a transpose the numbers lie in memory in another order than the shape says. `view` refuses to
# move them; `reshape`, `flatten` and `contiguous` don't.
#
# </details>


# %% solve="merge_heads"
def merge_heads(y):
    """Lay the heads of each token side by side again.

    y (B, n_heads, T, head_size) -> (B, T, n_heads * head_size)
    """
    ### BEGIN SOLUTION
    return y.transpose(1, 2).flatten(-2)
    ### END SOLUTION
    raise NotImplementedError("TODO: merge_heads")


# %% check="merge_heads" points=2
check("merge_heads", merge_heads)

# %%
print("there and back:", torch.equal(merge_heads(split_heads(counted, 3)), counted))

# %% [markdown]
# ### Step 4: put it together (30 minutes)
#
# Now build `self_attention` from your pieces. There is no projection at the end: the model adds it.
# Grow it in three rounds, and run the test of each round before you go on:
#
# 1. **one head, no mask**: what step 1 did, from Q, K and V to the output. Then run Test 1.
# 2. **the mask**, when `causal` is true. Then run Test 2.
# 3. **several heads**: split at the start, merge at the end. Then run Test 3.
#
# With `causal=False` nothing is masked; with `n_heads=1` there is one head with all the numbers.
# (4 points: one head or several, with the mask and without, count one each)
#
# <details><summary>Hint 1: if it is right for one head and wrong for three</summary>
#
# What do you pass to the scaling as `n_embd`: the size before the split, or after it?
#
# </details>
#
# <details><summary>Hint 2: shapes</summary>
#
# With heads, everything between split and merge has four dimensions: scores and weights are
# (B, n_heads, T, T), and one (T, T) mask serves them all.
#
# </details>


# %% solve="self_attention"
def self_attention(Q, K, V, n_heads=1, causal=True):
    """Causal multi-head scaled dot-product attention, without the projection at the end.

    Q, K, V (B, T, C) -> (B, T, C)
    """
    ### BEGIN SOLUTION
    n_embd = Q.shape[-1]
    Q, K, V = split_heads_qkv(Q, K, V, n_heads)  # (B, nh, T, hs)
    A = attn_scaled(pairwise_similarities(Q, K), n_embd, n_heads)  # (B, nh, T, T)
    if causal:
        A = apply_causal_mask(make_causal_mask(Q.shape[-2]), A)
    return merge_heads(compute_outputs(attn_softmax(A), V))  # (B, T, C)
    ### END SOLUTION
    raise NotImplementedError("TODO: self_attention")


# %% [markdown]
# **Test 1**: one head, no mask.

# %%
check("self_attention", self_attention, test=1)

# %% [markdown]
# **Test 2**: one head, with the mask (and Test 1 again).

# %%
check("self_attention", self_attention, test=2)

# %% [markdown]
# **Test 3**: three heads (and everything before).

# %% check="self_attention" points=4
check("self_attention", self_attention)

# %% [markdown]
# #### What your heads look at
#
# Each head has its own weights. (Fed with the right values, attention shows its own weights: if
# value $j$ is 1 in place $j$ and 0 elsewhere, the output *is* the row of weights. That is how this
# picture is made, without looking into your function.)

# %%
from course_utils.evaluation import map_attention

with torch.no_grad():
    head_weights = map_attention(self_attention, Q[0], K[0], n_heads=3)  # (n_heads, T, T)
attention_plots.plot_weights(head_weights[None], words, "weights of your three heads")

# %% [markdown]
# #### Your attention and PyTorch's
#
# Once Test 3 passes, the next cell puts your function beside PyTorch's own
# `F.scaled_dot_product_attention`, which is what large models call. It runs between your split and
# your merge. The numbers should agree to rounding; the time shows what a fused kernel saves, because
# it never writes the whole table of weights to memory.

# %%
show_parity(self_attention, split_heads, merge_heads)

# %% [markdown] keep="outputs"
# ## 2.2 A GPT with your attention, and an experiment (300 minutes)
#
# From here on nothing is graded by a program: your **report** is. When you hand in, the outputs of
# the cells below (and of cells that you add below) are kept as they are and not run again, so hand
# in the notebook *with* its outputs.
#
# ### The data (10 minutes)
#
# A word-level corpus: words seen three times or more have a number of their own, all others are
# `<UNK>`; every sentence begins with `<START>` and ends with `<STOP>`, at most 100 tokens in all.
# Which corpus you get depends on what is there; the cell says which one and why.

# %%
from course_utils.corpus import MAX_TOKENS, load_corpus
from course_utils.evaluation import (
    compare,
    evaluate_run,
    map_model,
    measure_documents,
    measure_grammar,
    measure_sentences,
    probe_future,
    write_samples,
)
from course_utils.gpt import GPT, GPTConfig, LearnedPositions
from course_utils.preflight import check_before_training
from course_utils.training import choose_settings, train
from course_utils.training_plots import plot_attention, plot_leak, plot_lengths, plot_losses

corpus = load_corpus()
print(corpus.description)
print(f"{len(corpus.train):,} training sentences, a vocabulary of {len(corpus.vocabulary):,}")
print("for example:", corpus.vocabulary.decode(corpus.train[0]))

# %%
plot_lengths(corpus.train, MAX_TOKENS)

# %% [markdown]
# ### Before training (10 minutes)
#
# The model is ours (read it: `course_utils/gpt.py` is short); the attention in it is yours. Two
# checks are worth a minute before every training:
#
# **Predict, then run.** Before it has learned anything, the model should find every word about
# equally likely. With a vocabulary of that size, what is its loss? And if it may read the same eight
# sentences again and again, how low should the loss get?

# %%
runtime.set_seed(0)
config = GPTConfig(vocab_size=len(corpus.vocabulary))
model = GPT(config, self_attention, init_qkv_proj).to(DEVICE)
print(f"{model.count_parameters():,} weights without the output layer")
check_before_training(model, corpus)

# %% [markdown]
# ### Training (5 minutes)
#
# One pass over the corpus. Interrupt it whenever you like (the stop button): the model keeps what it
# has learned so far. How long it takes, and which loss to expect, is printed first.

# %%
settings = choose_settings(corpus)
history = train(model, corpus, settings)
history.save("runs/dot-product-history.json")
plot_losses({"dot product": history}, corpus.entropy)

# %% [markdown]
# ### Evaluation (15 minutes)
#
# Perplexity is the exponential of the loss: a model of perplexity 100 is as unsure as if it had to
# choose among 100 words. There are two ways to average it, and they differ: over documents (every
# sentence counts the same) or over tokens (long sentences count more). Say in your report which one
# you use.

# %%
measured = measure_documents(model, corpus.dev)
print(f"development perplexity, mean over documents: {measured.mean_perplexity:.1f}")
print(f"development perplexity, over all tokens:     {measured.corpus_perplexity:.1f}")
best = measure_grammar(corpus)
if best:
    print(
        f"no model can do better than {best.mean_perplexity:.2f} and {best.corpus_perplexity:.2f}"
    )
for sentence, loss in measure_sentences(model, corpus).items():
    print(f"  loss {loss:.2f}, perplexity {math.exp(loss):8.1f}: {sentence}")

# %% [markdown]
# What does it write?

# %%
print(*write_samples(model, corpus.vocabulary), sep="\n")

# %% [markdown]
# Where does it look? One picture a layer, one panel a head. Find a head that looks at the token before,
# and one that looks at something else.

# %%
tokens = corpus.vocabulary.encode(corpus.sentences[1])
token_words = corpus.vocabulary.decode(tokens).split()
maps = map_model(model, tokens)  # (layers, heads, T, T)
plot_attention(maps[0], token_words, "layer 0")

# %% [markdown]
# **Does it see the future?** This probe changes one token at a time and watches which outputs move. A
# causal model has nothing above the diagonal. Keep the probe at hand: a model that cheats has a
# wonderful perplexity.

# %%
probe = probe_future(model, tokens)
print(probe.describe())
plot_leak(probe, token_words)

# %% [markdown]
# ### Your experiment (180 minutes)
#
# Change something about attention, or about the transformer around it, and find out what that does.
# Some directions:
#
# - **Another similarity** than the dot product: any function of two vectors that returns a number,
#   for example a small network, $W_2 \tanh(W_1 [q; k])$.
# - **Shared projections**: do we need all three of Q, K and V? Which models still learn when two of
#   them, or all, come from the same layer?
# - **Sinusoidal positions** instead of learned ones. Do they hold up on sequences longer than those
#   of the training? (`course_utils.evaluation.measure_positions` gives the loss by position.)
# - **The naive mask**: set weights to 0 after the softmax, instead of scores to $-\infty$ before.
#   Look at more than the perplexity.
# - **Richer projections**: small networks, or a nonlinearity on one of them.
# - A paper's change: the **Attention Free Transformer**, or additive attention as in **Fastformer**.
#
# Or an idea of your own. An experiment that only turns a number up or down (heads, size, learning
# rate) can earn everything too, but is held to a higher standard; one that rebuilds a paper's change
# to attention is read leniently. A result that is worse than the original is a result.
#
# **Three pieces of the model can be exchanged**, each without touching the rest:
#
# | piece | a function of this form |
# |---|---|
# | `attention` | `f(Q, K, V, n_heads, causal)`, (B, T, C) three times to (B, T, C) |
# | `projections` | `f(n_embd)`, returns three layers |
# | `positions` | `f(n_tokens, n_embd)`, returns (T, C) |
#
# If your attention has weights of its own, write it as a class (`nn.Module`) that is built from
# `(n_embd, n_heads)` and pass **the class**: each layer then gets, and trains, its own. For
# more than that, copy `course_utils/gpt.py` and change what you like.
#
# The next cell is a starting point: one function that trains a model with your pieces and measures
# everything a report needs. Same seed, same data, same steps: that is what makes two runs comparable.


# %%
def run_experiment(
    name, attention=self_attention, projections=init_qkv_proj, positions=LearnedPositions
):
    """Train a model with these pieces, measure it, save the results under runs/."""
    runtime.set_seed(0)
    model = GPT(config, attention, projections, positions).to(DEVICE)
    history = train(model, corpus, settings)
    run = evaluate_run(name, model, corpus, history)
    run.save(f"runs/{name}.json")
    return run


baseline = evaluate_run("dot product", model, corpus, history)

# %% [markdown]
# Your piece goes here. As it stands, it changes nothing.


# %%
def my_attention(Q, K, V, n_heads=1, causal=True):
    """Your change to attention.  (B, T, C) x3 -> (B, T, C)"""
    return self_attention(Q, K, V, n_heads, causal)


# %% [markdown]
# Train it, and put it beside the baseline. The table and the figure are also saved in
# `runs/comparison`, for your report.

# %% solve="experiment_runs"
experiment_runs = [baseline]
### BEGIN SOLUTION
# A reference for each suggested direction. They live in autograder/experiments.py; run that file as
# a module to get the tables on the real corpus.
from autograder.experiments import EXPERIMENTS, compare_longer

experiment_runs += [
    run_experiment(e.name, e.attention, e.projections, e.positions) for e in EXPERIMENTS[1:]
]
print(compare_longer(corpus, settings))
### END SOLUTION
# experiment_runs.append(run_experiment("mine", attention=my_attention))
comparison = compare(experiment_runs)
comparison

# %%
comparison.figure

# %% [markdown]
# ### The report (60 minutes)
#
# Write for a reader who knows language models but not this notebook: about two pages in all, five at
# most. Figures and tables may stand in cells above; say where. The report need not be research. It
# should be honest, and it should let the reader check what you claim.
#
# #### Setup (6 points)
#
# What did you change, why is that interesting, and what did you expect? Give the background that the
# reader needs (a formula helps), and everything that one would need to repeat the experiment: data,
# sizes, what was trained for how long, what was kept the same.

# %% [markdown] answer="answer_2_2_setup" points=6
# I replaced the causal mask. The standard way sets the scores of later tokens to minus infinity
# before the softmax; the naive way leaves the scores alone and sets the weights of later tokens to
# zero after it, $A' = \mathrm{softmax}(QK^\top/\sqrt{d}) \odot M$. It looks equivalent: in both
# cases no value of a later token is mixed in. I expected slightly worse results, because rows no
# longer sum to 1. Everything else stayed the same: GPT-nano (3 layers, 3 heads, 48 dimensions), one
# epoch, batch 32, AdamW with learning rate 5e-4, the same seed and data.
#
# ### BEGIN MARK SCHEME
# - 2 points: the change is stated so exactly that one could write it down (formula or code), with
#   the baseline it is compared with.
# - 2 points: motivation and background: why one might expect a difference; a prediction that could
#   turn out wrong.
# - 2 points: conditions: data, sizes, training length, seed; what was held constant. Take off 1 if
#   two things were changed at once without saying so.
# - An experiment that only varies a hyperparameter needs a reason from theory and several values
#   (or seeds) for full points. A rebuilt paper is read leniently on conditions.
# ### END MARK SCHEME

# %% [markdown]
# #### Results (8 points)
#
# What came out? At least **one table or graph** that shows it at a glance, with words that say what to
# see in it. Numbers with their unit and kind (which perplexity, on which split), samples where they
# tell something.

# %% [markdown] answer="answer_2_2_results" points=8
# | mask | train perplexity | dev perplexity | samples | sees the future |
# |---|---|---|---|---|
# | before the softmax | 401.0 | 380.8 | readable | no |
# | zero after the softmax | 200.3 | 186.5 | junk | yes |
#
# (Mean over documents, one epoch.) The naive mask halves the perplexity on both splits, and yet the
# samples are worthless: repeated words, sentences without end. The probe shows why: outputs move when
# only later tokens change.
#
# ### BEGIN MARK SCHEME
# - 3 points: a table or graph with labelled axes or columns, baseline included, that answers the
#   question at a glance.
# - 2 points: training behaviour *and* held-out performance (perplexity with its kind named).
# - 2 points: words that say what is seen, including what is surprising; qualitative evidence
#   (samples, attention maps, probe) where numbers mislead.
# - 1 point: honest about size and noise: differences of a few percent from one seed are not called
#   an effect.
# - Without any table or graph: at most 4.
#
# **What to expect.** One epoch on the real corpus, mean over documents, train / dev. With this
# course's training loop: dot product 383.5 / 366.4; additive 384.2 / 366.2; zero after softmax
# 91.5 / 85.0 with junk samples, and the probe sees the leak. Reports from earlier years, with another
# loop: 401.0 / 380.8, 405.3 / 386.0 and 200.3 / 186.5; sinusoidal positions 485.6.
# docs/experiments.md holds the tables of all suggested directions, with the command that made them.
# On the course's own corpus (laptop profile) attention switched off is at least 30 % worse than with
# it. In the quick profile little has been learned yet: its table shows that everything runs.
# ### END MARK SCHEME

# %% [markdown]
# #### Interpretation (6 points)
#
# What does it mean for attention in language models? Does it support something about how attention
# is designed, or speak against it? What else could explain the result, and what would you try next?

# %% [markdown] answer="answer_2_2_interpretation" points=6
# The naive mask leaks. A weight that is set to zero afterwards has already stood in the denominator
# of its row, so the size of what remains tells how well the later tokens matched: a high score for
# the next token shrinks the whole output. The model learns to read this shrinking, which explains
# the low perplexity; when it samples there is no future to read from, and it falls apart. So the order
# of masking and softmax is not a detail but what makes the loss mean anything. To be sure, I would
# renormalise the rows after zeroing: the leak should vanish and the perplexity return to the
# baseline's.
#
# ### BEGIN MARK SCHEME
# - 2 points: an explanation by mechanism (what the change does to scores, weights or gradients), not
#   a restatement of numbers.
# - 2 points: what it says about the design of attention, or of the part that was changed.
# - 2 points: alternatives or limits: another explanation and how one could tell, or a concrete next
#   step. "More data and more epochs" alone earns nothing.
# - For the naive mask: calling the lower perplexity an improvement, without noticing the leak, earns
#   at most 2 of 6.
# ### END MARK SCHEME

# %% [markdown]
# ## Before you hand in
#
# The checks of 2.1 should all say "public check passed": to be sure, restart the kernel and run the
# cells up to 2.2 once more. Leave the outputs of 2.2 in place. Every written cell, the one about
# collaborators included, should hold words of yours.

# %% [markdown] keep="outputs"
# ### Where do I stand?
#
# **Save the notebook first** (Ctrl+S). This cell then runs the saved file from top to bottom in a fresh
# kernel, all but 2.2, and says which public checks pass and what is still open.

# %%
from course_utils.standing import check_notebook

check_notebook("2_attention_from_scratch")

# %% [markdown] keep="outputs"
# ### Hand in
#
# When all three notebooks lie in this folder, saved with their outputs, this cell puts them into one
# zip file, together with `test_predictions.csv` and your answers as one document to print. It says
# what is missing. Do it as often as you like: earlier zip files stay.

# %%
from course_utils.handing_in import submit

READY = False  # write True and run this cell when you want to hand in
if READY:
    submit()
