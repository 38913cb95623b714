# %% [markdown]
# # Attention from scratch, and a GPT around it
#
# In the first notebook you wrote queries by hand. Now you write the machine itself: **causal
# multi-head attention**, the core of every GPT, in nine small functions. Most take a single line.
# Then you put your attention into a small language model, train it, and run your own experiment to
# find out what one of its parts is for.
#
# **What you will be able to do afterwards:** read attention code in research projects, say what
# every dimension of every tensor stands for, notice when a model sees the future, and report an
# experiment convincingly.
#
# | section | what you do | points | minutes | difficulty |
# |---|---|---|---|---|
# | 2.1, step 0 | see where Q, K and V come from | – | 10 | ●○○ |
# | 2.1, step 1 | scores, scaling, weights, outputs | 8 | 40 | ●○○ |
# | 2.1, step 2 | hide the future | 4 | 30 | ●●○ |
# | 2.1, step 3 | split and merge heads | 4 | 30 | ●●○ |
# | 2.1, step 4 | put it together, and compare with PyTorch | 4 | 30 | ●●○ |
# | 2.1, step 5 | find the fault in five broken attention functions | – | 20 | ●●○ |
# | 2.2 | train a GPT, run an experiment, write the report | 20 | 300 | ●●● |
# | 2.3 | challenges, for those who want more | – | 60 | ●●● |
#
# Section 2.1 needs no GPU. For 2.2 a laptop is enough; a GPU (in Colab: *Runtime → Change runtime
# type*) makes larger experiments pleasant. Printed, your report may be up to **five pages** long, figures
# included; shorter is fine.
#
# **How to work.** Fill in the functions that say `TODO`, and remove the line that raises
# `NotImplementedError` when you do. The cell below each of them checks your work on the spot: it
# runs your function on small inputs, and if the numbers match a mistake it knows, it tells you which.
# A passing public check is a good sign; grading tries more inputs. If a check says that a name is not
# defined, run the cell above it first.
#
# Real code does not split attention into nine functions: that would make the whole harder to read. Here
# the split is scaffolding, so that you can test each idea alone.

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
# - Ask for shapes aloud, before every line. Nearly all mistakes in 2.1 are mistakes of shape: the
#   softmax over the wrong dimension, a transpose of the wrong two, a view where a transpose was
#   needed. The worst of them raise no error.
# - Step 3 is where people lose time. Let them fill a tensor with 0, 1, 2, ... and follow single
#   numbers by eye, as the picture does, before they write code.
# - A wrong piece costs its own points only. `self_attention` is graded on the student's own pieces
#   first, and on right ones if that fails; feedback says which.
# - Any mask convention earns full points if the two mask functions fit together.
# - Step 5 works well in pairs: one runs the measurements, the other says what they rule out.
# - `flags` in the results name students who called PyTorch's own attention in 2.1. That is not a
#   matter for the autograder: talk to them.
# - In 2.2 the outputs are those that the student handed in: training is not run again.
# - A reference for every suggested experiment lives in `autograder/experiments/language_model.py`; run it
#   as a module to get the tables.
# ### END MARK SCHEME

# %% [markdown]
# ## Set-up

# %% setup="course"

# %%
import math

import torch
import torch.nn.functional as F
from torch import nn

from course_utils import runtime
from course_utils.plots import attention as attention_plots
from course_utils.checks import check
from course_utils.language_model.compare_with_torch import show_parity
from course_utils.language_model.debugging import FAULTS, admit_patients, check_diagnosis
from course_utils.language_model.evaluation import map_attention

DEVICE = runtime.device()  # where tensors live: make new ones there
print(runtime.describe())

# %% [markdown]
# ## 2.1 Attention in nine functions (160 minutes)
#
# **Letters.** `B` sentences in a batch, `T` tokens in a sentence (`n_tok` in code), `C` numbers per
# token (`n_embd`), `n_heads` heads of `head_size` = `C / n_heads` numbers each. *Scores* are what
# comes before the softmax, *weights* what comes after.
#
# **Three rules** for all nine functions:
#
# 1. **Leave your inputs as they are.** The caller may still need them. Functions whose name ends in
#    `_` (such as `masked_fill_`) and `+=` on a tensor work in place: avoid them here.
# 2. **Any device, any float type.** Keep the output on the input's device and in the input's dtype. Make
#    new tensors on `DEVICE`, or on the device of an input.
# 3. **From scratch.** PyTorch has attention built in; here you build it. Everything else in PyTorch
#    is yours to use: `@`, `einsum`, `softmax`, `where` and so on. Loops are allowed, but slow.
#
# Worth a look on the way: PyTorch's pages on
# [matmul](https://pytorch.org/docs/stable/generated/torch.matmul.html) (how it treats extra dimensions)
# and [scaled_dot_product_attention](https://pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html)
# (what you are about to rebuild).

# %% [markdown]
# ### Step 0: where Q, K and V come from (10 minutes)
#
# Each token's vector goes through three linear layers; the three results are its query, its key and
# its value. This function is **given**. It returns the three linear layers (with their biases: leave
# those on), and the model in 2.2 will call it once per transformer layer.


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
enlarge = math.sqrt(3)  # so that the numbers of Q and K have a variance of about 1
Q, K, V = enlarge * W_q(x), enlarge * W_k(x), W_v(x)  # (B, T, C) each
print("Q", tuple(Q.shape), " K", tuple(K.shape), " V", tuple(V.shape))

# %% [markdown]
# ### Step 1: scores, scaling, weights, outputs (40 minutes)
#
# #### Pairwise similarities
#
# Compare **every** query with **every** key by the dot product: $A = Q K^\top$, so that $A_{ij}$ is
# the dot product of query $i$ and key $j$. Any leading dimensions (batch, later heads) are simply
# carried along. (2 points)
#
# <details><summary>Hint 1: a nudge</summary>
#
# PyTorch's matrix product works on the last two dimensions and treats all others as a batch. Which
# of the two factors has its last two dimensions the wrong way round?
#
# </details>
#
# <details><summary>Hint 2: shapes</summary>
#
# (..., T, D) times (..., D, T) gives (..., T, T). `.T` reverses *all* dimensions, including the batch;
# look up `torch.transpose`, and count dimensions from the end.
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
# Your scores for the sentence: rows are the tokens that look, columns the tokens they look at.

# %%
scores = pairwise_similarities(Q, K)  # (B, T, T)
attention_plots.plot_scores(scores, words, "raw scores")

# %% [markdown]
# #### Scaling
#
# **Predict, then run.** Take two random vectors of `d` numbers each, all independent, with mean 0 and
# variance 1. On average their dot product is 0; but how far from 0 is it typically? When `d` gets 16
# times as large, does that distance get 16 times as large, 4 times as large, or does it stay the same?

# %%
for d in (4, 16, 64, 256):
    dots = (torch.randn(10_000, d) * torch.randn(10_000, d)).sum(dim=-1)
    print(f"d = {d:3}: typical size {dots.std():5.1f}")

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# A sum of `d` independent terms has a variance proportional to `d`, so its typical size grows with the
# square root of `d`. Large scores make the softmax pick a single winner, and then hardly any gradient
# reaches any score, the winner's included: for scores (10, 0, 0) every derivative of the softmax is
# below 0.0001. Dividing by the typical size keeps the scores in a range where learning works.
#
# </details>
#
# Attention therefore divides the scores by $\sqrt{\text{head\_size}}$, where the head size is
# $\text{n\_embd} / \text{n\_heads}$: with several heads, each dot product runs over the numbers of
# one head only. (2 points)
#
# <details><summary>Hint: a nudge</summary>
#
# `n_embd` and `n_heads` are ordinary numbers, so `math` has what you need. Do not round the root.
#
# </details>


# %% solve="attn_scaled"
def attn_scaled(A, n_embd, n_heads):
    """Divide scores by the square root of the head size.

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
# Each query now divides its attention among the keys: its weights are positive and sum to 1. Along
# which dimension does the softmax have to run? (2 points)
#
# <details><summary>Hint 1: a nudge</summary>
#
# Row $i$ holds the scores of query $i$ with all keys. Which numbers have to sum to 1: those in a row,
# or those in a column?
#
# </details>
#
# <details><summary>Hint 2: it must work with heads as well</summary>
#
# Later there will be four dimensions instead of three. Name the dimension in a way that is right for
# both.
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
# **Predict, then run.** Below are the weights with scaling and without. In which picture does each row
# commit to a single key?

# %%
scaled = attn_scaled(scores, n_embd, 1)  # (B, T, T)
weights = attn_softmax(scaled)  # (B, T, T)
attention_plots.plot_side_by_side(
    {"weights, scores scaled": weights, "weights, scores not scaled": attn_softmax(scores)}, words
)

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# Without scaling, nearly every row commits to one key: larger scores mean larger differences, and the
# softmax turns those into ratios, as in the first notebook. With scaling, most rows leave a share to
# several keys, and gradients can still move the choice. From here on all scores are scaled.
#
# </details>
#
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
attention_plots.plot_pipeline(scaled, weights, output, words)

# %% [markdown]
# #### Test 1: one head, no mask
#
# Put your four functions together: from Q, K and V to the output. `n_heads` and `causal` will matter in
# the next steps; here you can ignore them. (Not graded: a rehearsal for step 4.)


# %% solve="attention_step_1" optional=true
def attention_step_1(Q, K, V, n_heads=1, causal=False):
    """Attention with one head and no mask.  Q, K, V (B, T, C) -> (B, T, C)"""
    ### BEGIN SOLUTION
    A = attn_scaled(pairwise_similarities(Q, K), Q.shape[-1], 1)  # (B, T, T)
    return compute_outputs(attn_softmax(A), V)
    ### END SOLUTION
    raise NotImplementedError("TODO: attention_step_1")


# %%
check("self_attention", attention_step_1, test=1)

# %% [markdown]
# ### Step 2: hide the future (30 minutes)
#
# A language model predicts the next token. If a token could look at the ones after it, the model would
# simply copy the answer. So each token may look at **itself and at what came before**, and at nothing
# else.
#
# #### The mask
#
# Make an `n_tok` by `n_tok` table that is one (or true) where looking is allowed and zero (or false)
# where it is not. Make it on `DEVICE`. (2 points)
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
# The shape you drew is a triangle. PyTorch has a function that keeps the lower or the upper triangle of
# a matrix: mind which one you get, and whether the diagonal belongs to it.
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
# (Its check comes below, together with that of the next function: the two have to fit together.)
#
# #### Masking
#
# Wherever the mask forbids looking, set the score to $-\infty$, **before** the softmax. Mind the order
# of the arguments: the mask comes first. (2 points)
#
# **Predict, then run.** The second of four tokens has the scores −20, −12, 20 and 25, and may look at
# the first two keys only. What happens to its weights when the scores of the other two are set to 0? And
# when they are set to $-\infty$?

# %%
for name, others in (
    ("as they are", [20.0, 25.0]),
    ("zero", [0.0, 0.0]),
    ("minus infinity", [-math.inf, -math.inf]),
):
    shares = torch.tensor([-20.0, -12.0, *others]).softmax(-1)
    print(f"{name:15}", *(f"{share:.4f}" for share in shares))

# %% [markdown]
# **Think first.** Why $-\infty$ and not 0? And why before the softmax: why not just set the weights to 0
# afterwards?
#
# <details><summary>One answer to each</summary>
#
# A score of 0 is an ordinary score: $e^0 = 1$, and in the row above that is far more than the two visible
# keys have, so the hidden ones get nearly everything. And a weight that is set
# to 0 after the softmax has already been counted in its row: the remaining weights no longer sum to 1,
# and by how much they fall short depends on the hidden tokens. In 2.2 you can see what a model makes of
# that; it is one of the most instructive experiments there are.
#
# </details>
#
# <details><summary>Hint 1: a nudge</summary>
#
# $e^{-\infty} = 0$, so a hidden key takes no weight away from the others. There are several ways to
# choose between two numbers at every place of a table: look for functions that *fill* or *choose where*.
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
    """Return the scores with minus infinity wherever the mask forbids looking.

    mask (T, T), A (..., T, T) -> (..., T, T)
    """
    ### BEGIN SOLUTION
    return A.masked_fill(mask == 0, -math.inf)
    ### END SOLUTION
    raise NotImplementedError("TODO: apply_causal_mask")


# %% [markdown]
# Any kind of mask is fine as long as your two functions agree on it. If each passes but they do not
# work together, the check says so.

# %% check="make_causal_mask" points=2
check("make_causal_mask", make_causal_mask, apply_causal_mask=apply_causal_mask)

# %% check="apply_causal_mask" points=2
check("apply_causal_mask", apply_causal_mask, make_causal_mask=make_causal_mask)

# %% [markdown]
# **Predict, then run.** What will the first row of the weights be? When part of a row is hidden, do the
# remaining weights stay the same?

# %%
masked = apply_causal_mask(make_causal_mask(len(words)), scaled)
attention_plots.plot_masking(scaled, masked, words)

# %%
attention_plots.plot_side_by_side(
    {"weights before masking": weights, "weights after masking": attn_softmax(masked)}, words
)

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# The first token can only look at itself, so its row is (1, 0, 0, ...). In every row in which something
# is hidden, the remaining weights grow: they share out what the hidden keys had, and keep their ratios
# to each other, because a ratio of two weights depends only on the difference of their two scores. The
# last row has nothing hidden, and stays as it was.
#
# </details>
#
# #### Test 2: one head, with the mask
#
# Add the mask to your function from Test 1, for `causal=True`; `n_heads` still does not matter. (Not
# graded.)


# %% solve="attention_step_2" optional=true
def attention_step_2(Q, K, V, n_heads=1, causal=True):
    """Attention with one head, masked if causal.  Q, K, V (B, T, C) -> (B, T, C)"""
    ### BEGIN SOLUTION
    A = attn_scaled(pairwise_similarities(Q, K), Q.shape[-1], 1)  # (B, T, T)
    if causal:
        A = apply_causal_mask(make_causal_mask(Q.shape[-2]), A)
    return compute_outputs(attn_softmax(A), V)
    ### END SOLUTION
    raise NotImplementedError("TODO: attention_step_2")


# %%
check("self_attention", attention_step_2, test=2)

# %% [markdown]
# ### Step 3: several heads (30 minutes)
#
# One softmax gives one set of weights. To look for several things at once, attention runs several
# **heads** side by side, each on its own share of the numbers: with `C` = 12 and 3 heads, head 0 works
# with numbers 0 to 3 of every token, head 1 with 4 to 7, head 2 with 8 to 11.
#
# #### Split
#
# Turn (B, T, C) into (B, n_heads, T, head_size). Each head then holds a table of tokens in its last two
# dimensions, and everything from step 1 works on it unchanged. (2 points)
#
# <details><summary>Hint 1: a nudge</summary>
#
# It takes two moves. A reshape can cut the last dimension in two, but it never changes the order of the
# numbers. So the first move gives a shape that is not yet the one you want.
#
# </details>
#
# <details><summary>Hint 2: shapes</summary>
#
# (B, T, C) → (B, T, n_heads, head_size) → (B, n_heads, T, head_size). If you go to the last shape in
# one step, the numbers end up in the wrong places, and no error tells you so.
#
# </details>


# %% solve="split_heads"
def split_heads(x, n_heads):
    """Give each head its share of every token.

    x (B, T, C) -> (B, n_heads, T, C // n_heads)
    """
    ### BEGIN SOLUTION
    B, T, C = x.shape
    return x.reshape(B, T, n_heads, C // n_heads).transpose(1, 2)
    ### END SOLUTION
    raise NotImplementedError("TODO: split_heads")


# %% check="split_heads" points=2
check("split_heads", split_heads)

# %% [markdown]
# Follow the numbers: below, token 0 holds 0 to 11, token 1 holds 12 to 23, and so on. Which numbers of
# *every* token belong to head 0?

# %%
counted = torch.arange(len(words) * n_embd, device=DEVICE).float().reshape(1, len(words), n_embd)
attention_plots.plot_heads(counted, split_heads(counted, 3), words)

# %% [markdown]
# This helper is **given**; use it or leave it.


# %%
def split_heads_qkv(Q, K, V, n_heads):
    """Split all three: (B, T, C) x3 -> (B, n_heads, T, C // n_heads) x3."""
    return split_heads(Q, n_heads), split_heads(K, n_heads), split_heads(V, n_heads)


# %% [markdown]
# #### Merge
#
# The way back: (B, n_heads, T, head_size) to (B, T, C). Merging what you split must give back exactly
# what you started from. (2 points)
#
# <details><summary>Hint 1: a nudge</summary>
#
# Undo the two moves, the last one first.
#
# </details>
#
# <details><summary>Hint 2: if view() complains</summary>
#
# After a transpose the numbers are no longer stored in the order the shape suggests. `view` refuses to
# move them; `reshape`, `flatten` and `contiguous` don't. In a shape, `-1` lets PyTorch work out that
# dimension for you.
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
# Now build the whole `self_attention`. Start from your function of Test 2, split into heads at the
# beginning and merge them at the end. There is no projection at the end: the model adds it.
#
# With `causal=False` nothing is masked; with `n_heads=1` there is one head with all the numbers.
# (4 points, one for each combination: one head / several, masked / unmasked)
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
# **Test 3**: one head and three, with the mask and without.

# %% check="self_attention" points=4
check("self_attention", self_attention)

# %% [markdown]
# #### What your heads look at
#
# Each head has its own weights. (Given the right values, attention reveals its weights: if value $j$ is
# 1 in place $j$ and 0 elsewhere, the output *is* the row of weights. That is how this picture is made,
# without looking into your function.)

# %%
with torch.no_grad():
    head_weights = map_attention(self_attention, Q[0], K[0], n_heads=3)  # (n_heads, T, T)
attention_plots.plot_weights(head_weights[None], words, "weights of your three heads")

# %% [markdown]
# #### Your attention and PyTorch's
#
# Once Test 3 passes, the next cell puts your function beside PyTorch's own
# `F.scaled_dot_product_attention`, which is what large models call. It runs between your split and
# your merge. The numbers should agree up to rounding; the time shows what a fused kernel saves, because
# it never writes the whole (T, T) table of weights to memory.

# %%
show_parity(self_attention, split_heads, merge_heads)

# %% [markdown]
# ### Step 5: five broken attention functions (no points, 20 minutes)
#
# Reading code for faults is hard; measuring is often quicker. Below are five broken copies of *your*
# attention, our patients A to E. Each has exactly one of these faults:

# %%
for fault, symptom in FAULTS.items():
    print(f"{fault:9} – {symptom}")
patients = admit_patients(self_attention)

# %% [markdown]
# You have tools: draw a patient's weights beside your own, add up its rows, change a late token and see
# which outputs move, try one head instead of three. Before you measure, decide what each fault would
# show. The cell starts with one patient and one measurement; go on from there.

# %%
with torch.no_grad():
    weights_of_A = map_attention(patients["A"], Q[0], K[0], n_heads=3)  # (n_heads, T, T)
print("row sums of A:", *(f"{total:.2f}" for total in weights_of_A.sum(dim=-1)[0]))
attention_plots.plot_side_by_side(
    {"yours, head 0": head_weights[0], "patient A, head 0": weights_of_A[0]}, words
)

# %% solve="diagnosis" optional=true
diagnosis = {"A": ..., "B": ..., "C": ..., "D": ..., "E": ...}  # short names, such as "scale"
### BEGIN SOLUTION
# Row sums below 1 give the late mask away. Weights above the diagonal: one place above it is "next",
# everywhere is "future". Of the other two, only "scale" is right again with a single head.
diagnosis = {name: patient._fault for name, patient in patients.items()}
### END SOLUTION
check_diagnosis(patients, diagnosis)

# %% [markdown]
# <details><summary>Which measurement tells which fault</summary>
#
# Three of the faults show in the weights alone, without knowing what is right: look above the diagonal,
# and add up the rows. Of the two that look ahead, one stops one place above the diagonal. The other two
# have proper causal weights that are merely wrong: compare them with yours, once with one head and once
# with three. Another seed, `admit_patients(self_attention, seed=1)`, shuffles them.
#
# </details>

# %% [markdown] keep="outputs"
# ## 2.2 A GPT with your attention, and an experiment (300 minutes)
#
# From here on a person grades your **report**; no program does. When you hand in, the outputs of the
# cells below (and of cells you add) are kept as they are and not run again, so hand in the notebook
# *with* its outputs.
#
# ### The data (10 minutes)
#
# A word-level corpus: words seen at least three times have a number of their own, all others are
# `<UNK>`; every sentence begins with `<START>` and ends with `<STOP>`, at most 100 tokens in all.
# Which corpus you get depends on what is available; the cell says which one, and why.

# %%
from course_utils.language_model.corpus import MAX_TOKENS, load_corpus
from course_utils.language_model.evaluation import (
    compare,
    evaluate_run,
    map_model,
    measure_documents,
    measure_grammar,
    measure_sentences,
    probe_future,
    score_heads,
    write_samples,
)
from course_utils.language_model.gpt import GPT, GPTConfig, LearnedPositions
from course_utils.language_model.heads import check_heads, make_echoes
from course_utils.language_model.ladder import fits_rung, measure_counts, show_ladder
from course_utils.language_model.preflight import check_before_training
from course_utils.language_model.training import Settings, choose_settings, train
from course_utils.plots.training import (
    browse_heads,
    plot_all_heads,
    plot_leak,
    plot_lengths,
    plot_losses,
)
from course_utils.words import say

corpus = load_corpus()
say(corpus.description)
say(f"For example: {corpus.vocabulary.decode(corpus.train[0])}")

# %%
plot_lengths(corpus.train, MAX_TOKENS)

# %% [markdown]
# ### Before training (10 minutes)
#
# The model is ours (read it: `course_utils/language_model/gpt.py` is short); the attention in it is
# yours. Two checks are worth a minute before every training run:
#
# **Predict, then run.** Before it has learned anything, the model should give every word about the same
# probability. With the vocabulary of this corpus (the cell above printed its size), what is its loss?
# And if it may read the same eight sentences over and over, how low should the loss get?

# %%
runtime.set_seed(0)
config = GPTConfig(vocab_size=len(corpus.vocabulary))
model = GPT(config, self_attention, init_qkv_proj).to(DEVICE)
print(f"{model.count_parameters():,} parameters without the output layer")
check_before_training(model, corpus)

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# If all $n$ words of the vocabulary are equally likely, each has probability $1/n$ and the loss is $\ln
# n$; a model that starts far above that has a fault in its output or its initialisation. Eight sentences
# read over and over can be learned by heart, so the loss should fall to well below half within these
# steps, and close to 0 with more; if it does not, gradients are not reaching everything.
#
# </details>
#
# ### Training (5 minutes)
#
# One pass over the corpus. Interrupt it whenever you like (the stop button): the model keeps what it
# has learned so far. How long it takes is printed first, with the loss to expect where it has been
# measured.

# %%
settings = choose_settings(corpus)
history = train(model, corpus, settings)
history.save("runs/dot-product-history.json")
plot_losses({"dot product": history}, corpus.entropy)

# %% [markdown]
# ### Evaluation (10 minutes)
#
# Perplexity is the exponential of the loss: a model with perplexity 100 is as unsure as if it had to
# choose among 100 equally likely words. There are two ways to average it. They differ in two respects:
# the *mean over sentences*, mean(exp(sentence loss)), counts every sentence the same and averages after
# the exponential; the perplexity *over all tokens* counts long sentences more and averages before it. On
# sentences of equal length the first is never the smaller of the two. Say in your report which one you
# use. (The training printed the second kind, for the first 500 development sentences; here it is for all
# of them, so the two numbers differ a little.)

# %%
measured = measure_documents(model, corpus.dev)
print(f"development perplexity, mean over sentences: {measured.mean_perplexity:.1f}")
print(f"development perplexity, over all tokens:     {measured.corpus_perplexity:.1f}")
best = measure_grammar(corpus)
if best:
    print(
        f"the grammar that wrote these sentences scores {best.mean_perplexity:.2f} "
        f"and {best.corpus_perplexity:.2f} itself"
    )
for sentence, loss in measure_sentences(model, corpus).items():
    say(f"  loss {loss:.2f}, perplexity {math.exp(loss):8.1f}: {sentence}")

# %% [markdown]
# What does it write?

# %%
for sample in write_samples(model, corpus.vocabulary):
    say(sample)

# %% [markdown]
# ### What its heads look at (15 minutes)
#
# Here are all layers and heads for one sentence: rows are the tokens that look, columns the tokens they
# look at. Below, the same heads one at a time, to browse. (Colours are stretched so that small weights
# show: read the colour bar.)

# %%
tokens = corpus.vocabulary.encode(corpus.sentences[1])
token_words = corpus.vocabulary.decode(tokens).split()
maps = map_model(model, tokens)  # (layers, heads, T, T)
plot_all_heads(maps, token_words)

# %%
browse_heads(maps, token_words)

# %% [markdown]
# **Find a head ●●○** Which head of your model puts most weight on *the token before*? And which on
# *earlier copies of the same word*? Decide from the pictures; one sentence is little evidence, so look
# at others as well (put another number into `corpus.sentences[1]`, or a sentence of your own, with
# spaces around its punctuation). Then name the two heads, each as (layer, head). The cell compares with
# averages over two hundred sentences. (Not graded.)

# %% solve="heads_found" optional=true
heads_found = {"the token before": ..., "same word earlier": ...}  # (layer, head) for each
head_scores = score_heads(model, corpus.dev[:200])
### BEGIN SOLUTION
heads_found = {
    job: divmod(int(weights.argmax()), config.n_heads)
    for job, weights in zip(heads_found, (head_scores.previous, head_scores.same_word), strict=True)
}
### END SOLUTION
check_heads(head_scores, heads_found)

# %% [markdown]
# The averages themselves (the last line says what an even spread over all visible tokens would put on
# the token before):

# %%
print(head_scores)

# %% [markdown]
# <details><summary>What to look for</summary>
#
# In a small model trained on ordinary sentences few heads have just one job: most numbers are close to
# those of the other heads, and a head that stands out in one column may stand out in another as well. One
# picture is easily misread; a claim about a head needs an average to back it up.
#
# </details>
#
# **A language that needs such a head.** When do heads specialise? When the data leave them no choice. In
# the language below, each word from the third on repeats the one two places back, most of the time;
# otherwise it is drawn at random. *Predict, then run:* to guess the next word, which token does the
# current one have to look at? In which layer do you expect the head that does it? (Half a minute.)

# %%
echoes = make_echoes()
say(echoes.description)
say(f"For example: {echoes.vocabulary.decode(echoes.dev[0])}")
runtime.set_seed(0)
echo_config = GPTConfig(vocab_size=len(echoes.vocabulary), block_size=32, n_layers=2)
echo_model = GPT(echo_config, self_attention, init_qkv_proj).to(DEVICE)
echo_history = train(echo_model, echoes, Settings(learning_rate=3e-3))
print(f"loss {echo_history.final_loss:.2f}, best possible {echoes.entropy:.2f}")
print(score_heads(echo_model, echoes.dev))
echo_tokens = echoes.dev[0]
plot_all_heads(map_model(echo_model, echo_tokens), echoes.vocabulary.decode(echo_tokens).split())

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# The next word is most likely a copy of the one *two places before it*, and from where the current token
# stands that is **the token before**. Nothing else in the sentence helps, so the heads of the first layer
# put most of their weight there: a bright line just below the diagonal. The second layer has little left
# to do. Heads that look at the token before also appear in large models, where they are half of the
# circuit that continues repeated passages ([Olsson and others,
# 2022](https://arxiv.org/abs/2209.11895)).
#
# </details>

# %% [markdown]
# ### Does it see the future? (5 minutes)
#
# This probe changes one token at a time and watches which outputs move. A causal model has nothing above
# the diagonal. Keep the probe at hand: a model that cheats has a wonderful perplexity. On the course's
# own corpus there is a second proof: no model that sees only the past knows more about the next word
# than the grammar that wrote the sentences, so whatever falls *far* below what the grammar itself scores
# must be looking ahead.

# %%
probe = probe_future(model, tokens)
plot_leak(probe, token_words)

# %% [markdown]
# ### Your experiment (165 minutes)
#
# Change something about attention, or about the transformer around it, and find out what that does.
# Some directions:
#
# - **Another similarity** than the dot product: any function of two vectors that returns a number,
#   for example a small network, $W_2 \tanh(W_1 [q; k])$.
# - **Shared projections**: do we need all three of Q, K and V? Which models still learn when two of
#   them, or all, come from the same layer, and which learn nothing?
# - **Sinusoidal positions** instead of learned ones. A learned position that never occurred in training
#   is still what it was at the start: noise. Do sines hold up better on sentences longer than any in
#   training? Train on short sentences (`run_experiment(..., data=keep_short(corpus, 21))`), and have
#   `run_experiment` measure whole longer ones by position before it returns:
#   `measure_positions(model, [s for s in corpus.dev if len(s) > 21])`. (Import both functions from
#   `course_utils.language_model.evaluation`; the development sentences stay as they are.) Scale the
#   sines to the size of the embeddings, whose standard deviation starts at 0.02, or they drown the words.
#   The course's own corpus cannot show it: its long sentences follow patterns that its short ones do not
#   contain, so every model fails on them, whatever its positions. Whether a natural corpus does is yours
#   to find out.
# - **The naive mask**: set weights to 0 after the softmax, instead of scores to $-\infty$ before.
#   Look at more than the perplexity.
# - **Richer projections**: small networks, or a nonlinearity on one of them.
# - A paper's change: the [Attention Free Transformer](https://arxiv.org/abs/2105.14103), or additive
#   attention as in [Fastformer](https://arxiv.org/abs/2108.09084).
#
# Or an idea of your own. An experiment that only turns a number up or down (heads, size, learning
# rate) can earn full points too, but is held to a higher standard; one that rebuilds a paper's change
# to attention is read leniently. A negative result is still a result.
#
# **You can swap out three parts of the model**, each without touching the rest:
#
# | part | a function of this form |
# |---|---|
# | `attention` | `f(Q, K, V, n_heads, causal)`, three times (B, T, C) to (B, T, C) |
# | `projections` | `f(n_embd)`, returns three layers |
# | `positions` | `f(n_tokens, n_embd)`, returns (T, C) |
#
# If your attention has parameters of its own, write it as a class (`nn.Module`) that is built from
# `(n_embd, n_heads)` and pass **the class**: each layer then gets, and trains, its own. For
# more than that, copy `course_utils/language_model/gpt.py` and change what you like.
#
# The next cell is a starting point: one function that trains a model with your parts and measures
# everything a report needs. Same seed, same data, same steps: that is what makes two runs comparable.


# %%
def run_experiment(
    name,
    attention=self_attention,
    projections=init_qkv_proj,
    positions=LearnedPositions,
    data=corpus,
):
    """Train a model with these parts, measure it, save the results under runs/."""
    runtime.set_seed(0)
    model = GPT(config, attention, projections, positions).to(DEVICE)
    history = train(model, data, settings)
    run = evaluate_run(name, model, data, history)
    run.save(f"runs/{name}.json")
    return run


baseline = evaluate_run("dot product", model, corpus, history)

# %% [markdown]
# ### The ladder (20 minutes)
#
# How good is a loss? It helps to know what simpler models reach on the same sentences: one that gives
# every word the same probability, one that knows how frequent words are, one that knows which word
# follows which.
#
# **Predict, then run.** One rung is missing: the same GPT *without* attention, in which every token
# receives its own value and nothing from the others. What can such a model know about the next word?
# Which of the counting models should it come close to? Fill in the rung (one line), and see.


# %% solve="without_attention" optional=true
def without_attention(Q, K, V, n_heads=1, causal=True):
    """Attention switched off: each token receives its own value.  (B, T, C) x3 -> (B, T, C)"""
    ### BEGIN SOLUTION
    return V
    ### END SOLUTION
    return ...


rungs = measure_counts(corpus)
rungs["with your attention"] = math.log(baseline.dev_corpus_perplexity)
if best:
    rungs["best possible from the past"] = math.log(best.corpus_perplexity)
if fits_rung(without_attention(Q, K, V), V):
    switched_off = run_experiment("no attention", attention=without_attention)
    rungs["without attention"] = math.log(switched_off.dev_corpus_perplexity)
print(show_ladder(rungs))

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# Without attention a token knows its own word and its position, and nothing of what came before, so the
# bigram model is the natural guess. On the course's own corpus it does better still
# ({{own.no_attention.dev_loss}} against {{own.ladder.bigram}} nats), because the sentences follow
# patterns, so the position says a great deal. The distance from there to your model is what attention is
# worth on this corpus.
#
# </details>
#
# ### Your change
#
# Your part goes here. As it stands, it changes nothing.


# %%
def my_attention(Q, K, V, n_heads=1, causal=True):
    """Your change to attention.  (B, T, C) x3 -> (B, T, C)"""
    return self_attention(Q, K, V, n_heads, causal)


# %% [markdown]
# Train it, and compare it with the baseline. The table and the figure are also saved in
# `runs/comparison`, for your report.

# %% solve="experiment_runs"
experiment_runs = [baseline]


### BEGIN SOLUTION
# The experiment of the model report: the naive mask.
def zero_after_softmax(Q, K, V, n_heads=1, causal=True):
    q, k, v = split_heads_qkv(Q, K, V, n_heads)  # (B, nh, T, hs)
    weights = attn_softmax(attn_scaled(pairwise_similarities(q, k), Q.shape[-1], n_heads))
    if causal:
        weights = weights * make_causal_mask(Q.shape[1])
    return merge_heads(compute_outputs(weights, v))


experiment_runs += [
    switched_off,
    run_experiment("zero after softmax", attention=zero_after_softmax),
]
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
# most. Figures and tables may appear in cells above; point to them. The report need not be research. It
# should be honest, and it should let the reader check what you claim.
#
# #### Setup (6 points)
#
# What did you change, why is that interesting, and what did you expect? Give the background the reader
# needs (a formula helps), and everything it takes to repeat the experiment: data, sizes, what was
# trained for how long, what was kept the same.

# %% [markdown] answer="answer_2_2_setup" points=6
# I replaced the causal mask. The standard way sets the scores of later tokens to minus infinity
# before the softmax; the naive way leaves the scores alone and sets the weights of later tokens to
# zero after it, $A' = \mathrm{softmax}(QK^\top/\sqrt{d}) \odot M$. It looks equivalent: in both
# cases no value of a later token is mixed in. I expected slightly worse results, because rows no
# longer sum to 1. Everything else stayed the same: the course's own corpus ({{own.sentences}} training
# sentences, a vocabulary of {{own.words}}), GPT-nano (3 layers, 3 heads, 48 dimensions), one epoch,
# batches of 32, AdamW with learning rate 5e-4, seed 0.
#
# ### BEGIN MARK SCHEME
# - 2 points: the change is stated so exactly that one could implement it (formula or code), with the
#   baseline it is compared with.
# - 2 points: motivation and background: why one might expect a difference; a prediction that could
#   turn out wrong.
# - 2 points: conditions: data, sizes, training length, seed; what was held constant. Take off 1 if
#   two things were changed at once without saying so.
# - An experiment that only varies a hyperparameter needs a reason from theory and several values
#   (or seeds) for full points. A rebuilt paper is read leniently on conditions.
# ### END MARK SCHEME

# %% [markdown]
# <details><summary>Compare, once you have written yours</summary>
#
# A good setup names the one thing that was changed, exactly enough to rebuild it; the baseline; a
# prediction that could have turned out wrong, with a reason; and the conditions: data, sizes, length of
# training, seed. Was anything else different between the two runs?
#
# </details>
#
# #### Results (8 points)
#
# What came out? Include at least **one table or graph** that shows it at a glance, with words that say
# what to see in it. Say what each number is: which perplexity, on which split. Show samples where they
# tell the reader something.

# %% [markdown] answer="answer_2_2_results" points=8
# | mask | final training loss | train perplexity | dev perplexity | sees the future (largest relative change of an output) |
# |---|---|---|---|---|
# | before the softmax | {{own.dot_product.final_loss}} | {{own.dot_product.train}} | {{own.dot_product.dev}} | no |
# | zero after the softmax | {{own.zero_after_softmax.final_loss}} | {{own.zero_after_softmax.train}} | {{own.zero_after_softmax.dev}} | yes ({{own.zero_after_softmax.leak}}) |
# | no attention at all | {{own.no_attention.final_loss}} | {{own.no_attention.train}} | {{own.no_attention.dev}} | no |
#
# (Course's own corpus; perplexity is the mean of exp(loss) over sentences; train: the first 5,000
# training sentences.) In the figure above the naive mask's training loss ends far lower, at
# {{own.zero_after_softmax.final_loss}} against {{own.dot_product.final_loss}}. Its perplexity is far
# lower on both splits, and it falls far below {{own.floor.dev}}, which is what the grammar itself
# scores: no model that sees only the past can do that. Its samples show the other side. The baseline
# writes {{own.dot_product.sample}}; the naive mask writes {{own.zero_after_softmax.sample}}. The probe
# confirms it: outputs move when only later tokens change. I ran one seed; a difference of this size is
# far larger than I would expect from another seed, but I would not read anything into differences of a
# few percent.
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
# **What to expect.** On the course's own corpus (laptop profile), dev perplexity: dot product
# {{own.dot_product.dev}}, zero after softmax {{own.zero_after_softmax.dev}}, no attention
# {{own.no_attention.dev}}, the grammar itself {{own.floor.dev}}. The ladder, in nats per token: uniform
# {{own.ladder.uniform}}, unigram {{own.ladder.unigram}}, bigram {{own.ladder.bigram}}, no attention
# {{own.no_attention.dev_loss}}, attention {{own.dot_product.dev_loss}}, the grammar in the long run
# {{own.floor.loss}}.
#
# Positions cannot be judged on this corpus: trained on sentences of at most {{own.positions.trained_to}}
# tokens and measured on longer ones, the loss is far worse than uniform guessing even at positions that
# occurred in training (learned {{own.positions.learned.within}}, sinusoidal
# {{own.positions.sinusoidal.within}}), because longer sentences follow other patterns; what comes after
# those positions (learned {{own.positions.learned.beyond}}, sinusoidal
# {{own.positions.sinusoidal.beyond}}) says nothing about positions. Whoever notices that has understood
# the experiment.
#
# On the real corpus, one epoch, train / dev, with this course's training loop: dot product
# {{real.dot_product.train}} / {{real.dot_product.dev}}; additive {{real.additive.train}} /
# {{real.additive.dev}}; zero after softmax {{real.zero_after_softmax.train}} /
# {{real.zero_after_softmax.dev}} with samples that are hardly more than a full stop, and the probe sees
# the leak; sinusoidal positions (scaled) {{real.sinusoidal.train}} / {{real.sinusoidal.dev}}; no
# attention {{real.no_attention.train}} / {{real.no_attention.dev}}. Reports from earlier years, with
# another loop, give 401.0 / 380.8, 405.3 / 386.0 and 200.3 / 186.5, and for sinusoidal positions 485.6
# (with sines of amplitude 1, which drown the embeddings). docs/experiments.md has all the suggested
# directions on the real corpus, with the command. Earlier reports also claim that additive attention is
# six times slower: here it costs {{real.additive.cost}} against {{real.dot_product.cost}} microseconds
# per token; and they call a lower loss on the four sentences beside a higher dev perplexity
# "overfitting", which four sentences and one seed cannot show. In the quick profile little has been
# learned yet: its table only shows that everything runs. WikiText-2, which students with a network get,
# has not been measured; judge by the ladder.
# ### END MARK SCHEME

# %% [markdown]
# <details><summary>Compare, once you have written yours</summary>
#
# A good results section has one table or graph that answers the question by itself, with the baseline in
# it; training *and* held-out numbers, each with its kind; what surprised you, in words; evidence beyond
# one number (samples, maps, the probe); and an honest word on size and noise.
#
# </details>
#
# #### Interpretation (6 points)
#
# What does it mean for attention in language models? Does it support something about how attention
# is designed, or speak against it? What else could explain the result, and what would you try next?

# %% [markdown] answer="answer_2_2_interpretation" points=6
# The naive mask leaks. A weight that is set to zero afterwards has already counted in the denominator
# of its row, so the size of what remains tells how well the later tokens matched: a high score for
# the next token shrinks the whole output. The model learns to read this shrinking, which explains
# the low perplexity; when it samples there is no future to read from, and it falls apart. So the order
# of masking and softmax is not a detail: it is what makes the loss mean anything. To be sure, I would
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
# <details><summary>Compare, once you have written yours</summary>
#
# A good interpretation explains by mechanism: what your change did to scores, weights or gradients. It
# says what follows for the design of attention, names another possible explanation and how one could
# tell, and ends with a concrete next step ("more data" is not one).
#
# </details>

# %% [markdown]
# ## 2.3 Challenges (no points, 60 minutes)
#
# **Rotary positions ●●○** Instead of adding positions to the embeddings, RoPE
# ([Su and others, 2021](https://arxiv.org/abs/2104.09864)) *turns* queries and keys, pair of numbers by
# pair of numbers, by an angle that grows with the position. A score then depends on the two positions
# only through their distance. Write it for (B, T, C), C even; the check only asks for what a rotation must
# do, so any pairing is fine.

# %% solve="rotate_positions" optional=true
rotate_positions = ...  # def rotate_positions(x): (B, T, C) -> (B, T, C)
### BEGIN SOLUTION


def rotate_positions(x, base=10_000.0):
    """Turn each pair of numbers by its position times a rate of its own."""
    T, C = x.shape[-2:]
    rates = base ** (-torch.arange(0, C, 2, device=x.device) / C)  # (C/2,)
    angles = torch.arange(T, device=x.device)[:, None] * rates  # (T, C/2)
    even, odd = x[..., 0::2], x[..., 1::2]  # (B, T, C/2)
    turned = (
        even * angles.cos() - odd * angles.sin(),
        even * angles.sin() + odd * angles.cos(),
    )
    return torch.stack(turned, dim=-1).flatten(-2)


### END SOLUTION
if rotate_positions is not ...:
    check("rotate_positions", rotate_positions)

# %% [markdown]
# **A cache ●●○** When a model writes, it adds one token at a time; computing all keys and values again
# for each would be a waste. Write attention for *one* new token: it gets the new query, key and value,
# (B, 1, C) each, and the cache that your previous call returned (`None` the first time), and returns the
# output, (B, 1, C), and the new cache. The check feeds it a sentence and compares with your
# `self_attention`.

# %% solve="attend_next" optional=true
attend_next = ...  # def attend_next(q, k, v, cache, n_heads): -> output, cache
### BEGIN SOLUTION


def attend_next(q, k, v, cache, n_heads):
    """Attend from one new token to all so far: they are all in the past, so no mask is needed."""
    if cache is not None:
        k, v = torch.cat([cache[0], k], dim=1), torch.cat([cache[1], v], dim=1)
    return self_attention(q, k, v, n_heads, causal=False), (k, v)


### END SOLUTION
if attend_next is not ...:
    check("attend_next", attend_next, self_attention=self_attention)

# %% [markdown]
# **Memory linear in T ●●●** The table of scores has T × T entries. Compute the same causal attention
# without ever holding that table: `chunk` queries at a time. The check compares with your
# `self_attention` and measures the largest tensor you make. (Going further, chunk by chunk over the keys
# as well, leads to [FlashAttention](https://arxiv.org/abs/2205.14135).)

# %% solve="attend_in_chunks" optional=true
attend_in_chunks = ...  # def attend_in_chunks(Q, K, V, n_heads, chunk): -> (B, T, C)
### BEGIN SOLUTION


def attend_in_chunks(Q, K, V, n_heads, chunk):
    """Attend from `chunk` queries at a time, each time to the keys up to the last of them."""
    parts = []
    for start in range(0, Q.shape[1], chunk):
        stop = min(start + chunk, Q.shape[1])
        q, k, v = split_heads_qkv(Q[:, start:stop], K[:, :stop], V[:, :stop], n_heads)
        A = attn_scaled(pairwise_similarities(q, k), Q.shape[-1], n_heads)  # (B, nh, chunk, stop)
        places = torch.arange(stop, device=Q.device)
        A = A.masked_fill(places > places[start:, None], -math.inf)
        parts.append(merge_heads(compute_outputs(attn_softmax(A), v)))
    return torch.cat(parts, dim=1)


### END SOLUTION
if attend_in_chunks is not ...:
    check("attend_in_chunks", attend_in_chunks, self_attention=self_attention)

# %% [markdown]
# ## Read on
#
# - Karpathy, [minGPT](https://github.com/karpathy/minGPT): the model of this notebook is written in its
#   spirit; compare its `model.py` with `gpt.py`.
# - [The Annotated Transformer](https://nlp.seas.harvard.edu/annotated-transformer/): the original paper,
#   line by line, in PyTorch.
# - Vaswani and others, [Attention Is All You Need](https://arxiv.org/abs/1706.03762), 2017.
#
# ## Before you hand in
#
# The checks of the nine functions in 2.1 should all say "public check passed"; Tests 1 and 2 are
# rehearsals and say "passed". (The next cell counts them in: with them there are eleven.) To be sure,
# restart the kernel and run the cells up to 2.2 once more. Leave the outputs of 2.2 in place. Every
# written cell, the one about collaborators included, should contain your own answer.

# %% [markdown] keep="outputs"
# ### Where do I stand?
#
# **Save the notebook first** (Ctrl+S). This cell then runs the saved file from top to bottom in a fresh
# kernel, except 2.2, and tells you which public checks pass and what is still open.

# %%
from course_utils.handing_in import check_notebook

check_notebook("2_attention_from_scratch")

# %% [markdown] keep="outputs"
# ### Hand in
#
# When all three notebooks are in this folder, saved with their outputs, this cell puts them into one zip
# file, together with `test_predictions.csv` and your answers as one document to print. It tells you if
# anything is missing. Do it as often as you like: earlier zip files stay.

# %%
from course_utils.handing_in import submit

READY = False  # write True and run this cell when you want to hand in
if READY:
    submit()
