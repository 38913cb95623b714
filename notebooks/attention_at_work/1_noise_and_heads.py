# %% [markdown]
# # Noise and heads
#
# In *Query crafting* you wrote numbers for four keys you could see. Real keys never hold still: every
# sentence brings new ones. So this time you write **formulas**. A formula takes keys you have never seen
# and returns the query that does the job; it is judged on hundreds of draws, not on one.
#
# Then we shake the keys. With a little noise, one head still copes. With a key that is sometimes long
# and sometimes short, one head nearly always fails, whatever its query, while two heads hardly notice.
# You will see it as a cloud of outputs, work out why, and fix it. Finally you build the matrices K, Q
# and V themselves, and meet a layer that does without keys and queries.
#
# **What you will be able to do afterwards:** write queries as formulas and say when they hold, explain
# why transformers have several heads, build projections that make one token fetch what it needs from
# another, and say what attention can do that a synthesizer cannot.
#
# | section | what you do | points | minutes | difficulty |
# |---|---|---|---|---|
# | 1.1 | a formula that **copies** | 3 | 25 | ●○○ |
# | 1.2 | a formula that **averages** | 4 | 25 | ●○○ |
# | 1.3 | **noise**, and how it breaks one head | 4 | 35 | ●●○ |
# | 1.4 | **two heads** that fix it | 5 | 30 | ●●○ |
# | 1.5 | **K, Q and V** by hand | 7 | 45 | ●●● |
# | 1.6 | the **synthesizer** | 7 | 40 | ●●○ |
#
# You need neither a GPU nor (once the package is installed) a network.
#
# **How to work.** Fill in the cells that say `TODO`. The cell below each of them checks your work on the
# spot and tells you what it sees. (If a check says that a name is not defined, run the cell above it
# first.) The public checks always draw the same keys, so that the same answer gets the same reply; when
# you are graded, new ones are drawn. A public check that passes is a good sign; the written parts are
# read by a person. Many different answers are right. Printed, your answers should fit on **three
# pages**.

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
# - The heart of it is 1.3 and 1.4: run them in class, and let people predict the cloud before they
#   see it. Most expect a round cloud about the mean, because g scatters around 1. The average of the
#   outputs does lie between v_a and v_b; most single outputs lie towards one of the two ends, and few
#   near the middle.
# - A longer query does not help one head: it is right in at most {{noise.one_head_at_most}} % of draws
#   at any length. Two heads, C mu_a and C mu_b, are right in {{noise.two_heads.at_6}} % of draws at
#   C = 6, {{noise.two_heads.at_10}} % at 10, and in all from {{noise.two_heads.from}} up.
# - A tempting wrong answer in 1.4 is `mu_a + mu_b` and `mu_a - mu_b`, by analogy with vectors: add
#   the two outputs and something cancels. Weights are never negative, so nothing does. It is right in
#   {{noise.sum_and_difference.at_6}} % of draws at C = 6 and in about
#   {{noise.sum_and_difference.at_most}} % at most, and the check names it.
# - `mu_a - mu_b` with `mu_b - mu_a`, on the other hand, is right: each head finds one token.
# - In 1.5 the order is V, then who looks at whom, then Q. People who start with Q get lost.
# - 1.6 prepares the third notebook of this assignment, in which the synthesizer is trained. Let
#   students keep their function.
# ### END MARK SCHEME

# %% [markdown]
# ## Set-up

# %% setup="course"

# %%
import math

import numpy as np
import torch
import torch.nn.functional as F

from course_utils import noisy_keys
from course_utils.checks import check
from course_utils.plots import noise

# %% [markdown]
# ## 1.1 Copying, as a formula (25 minutes)
#
# **The world of this notebook.** There are $n$ tokens with keys and values of $d$ numbers each: $K$ and
# $V$ are both $n \times d$, one token per row, counted from 0. The keys have **length 1** and stand
# **at right angles** to each other. Attention is unscaled, as before:
#
# $$\text{weights} = \text{softmax}(K q), \qquad \text{output} = \text{weights} \cdot V .$$
#
# $n$ lies between 4 and 12, $d$ between $n$ and 16. Values lie between -1 and 1.

# %%
rng = np.random.default_rng(7)
world = noisy_keys.draw_world(rng, n=5)
K = world.means  # (n, d), one key per row
print("K has shape", K.shape)
print("K Kᵀ, rounded:", np.round(K @ K.T, 3) + 0.0, sep="\n")

# %% [markdown]
# The table above holds the dot product of every key with every other.
#
# **Predict, then run.** Take $q = 3 k_2$, three times the third key. What are the five scores? And is the
# weight of token 2 above or below 0.9?

# %%
q = 3 * K[2]
scores = K @ q  # (n,)
weights = np.exp(scores) / np.exp(scores).sum()  # (n,)
print("scores ", np.round(scores, 3) + 0.0)
print("weights", np.round(weights, 3))

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# The dot product of keys at right angles is 0, so only token 2 has a score other than 0: it is 3, and its
# weight is $e^3 / (e^3 + 4) \approx 0.83$, below 0.9. For a score of 0 is not a weight of 0: the other
# four tokens share what is left, and with more tokens there are more to share it.
#
# </details>
#
# **How answers are judged.** Your function is called on ten sets of keys, and for each set values are
# drawn 100 times. A draw is right when no coordinate of the output is off by more than **0.05**. With
# **950 of the 1,000 draws** right you have full credit. A query may come back as an array, a tensor or a
# list, of shape `(d,)` or `(1, d)`. Leave the arrays that you are given as they are.
#
# ### Your turn: `copy_query`
#
# Write a function that takes the keys and an index `j` and returns a query for which the output is
# $v_j$, whatever the values are. (1 point)
#
# <details><summary>Hint 1: a nudge</summary>
#
# In which direction does a query have to point so that only one score differs from 0?
#
# </details>
#
# <details><summary>Hint 2: if the check says "too short"</summary>
#
# Eleven other tokens with score 0 each count $e^0 = 1$ in the softmax. How large must the one score be
# so that they hardly matter?
#
# </details>


# %% solve="copy_query"
def copy_query(K, j):
    """Return a query for which attention returns the value of token j.

    K (n, d), one key per row; j an index from 0 -> q (d,)
    """
    ### BEGIN SOLUTION
    # Only k_j has a score other than 0, and that score is the query's length:
    # right in every draw from {{noise.copy_from}} up.
    return 20 * K[j]
    ### END SOLUTION
    raise NotImplementedError("TODO: copy_query")


# %% check="copy_query" points=1
check("copy_query", copy_query)

# %% [markdown]
# Your formula on three new sets of keys:

# %%
noise.plot_new_keys(copy_query, "copy_query")

# %% [markdown]
# ### Question 1.1
#
# What must hold of the **scores** so that attention copies one value, and what must hold of the **keys**
# so that some query can bring that about? (2 to 4 sentences, 2 points)

# %% [markdown] answer="answer_1_1" points=2
# One score has to exceed all others by so much that nearly all of the weight goes to it; with twelve
# tokens a gap of about {{noise.copy_from}} is enough for an error of 0.05. Some query must be able to make that gap: there
# has to be a direction in which this key reaches further than every other key. Keys at right angles
# always allow it, since the direction of the key itself gives the others a score of 0; two equal keys, or
# a key that lies between others, would not.
#
# ### BEGIN MARK SCHEME
# - 1 point: the score of the wanted token must lie well above all the others (nearly all of the weight).
# - 1 point: a condition on the keys: there is a direction along which this key reaches furthest
#   (orthogonal or clearly different keys suffice; a copy of the key, or a key in the middle of others,
#   makes it impossible). "The query must be similar to the key" alone does not earn it.
# ### END MARK SCHEME

# %% [markdown]
# <details><summary>Compare, once you have written yours</summary>
#
# A good answer has two parts: one about how the scores must compare, and one about where the key must lie
# among the other keys. Can you name keys for which no query would do?
#
# </details>

# %% [markdown]
# ## 1.2 Averaging, as a formula (25 minutes)
#
# Now two tokens, `a` and `b`, should share the weight equally.
#
# ### Your turn: `average_query`
#
# Write a function that returns a query for which the output is the mean of $v_a$ and $v_b$. (2 points)
#
# <details><summary>Hint 1: a nudge</summary>
#
# Which scores do you want for `a`, for `b`, and for all the others?
#
# </details>
#
# <details><summary>Hint 2: more of a push</summary>
#
# A dot product with a sum is the sum of the dot products. Keys at right angles make that very convenient.
#
# </details>


# %% solve="average_query"
def average_query(K, a, b):
    """Return a query for which attention returns the mean of the values of tokens a and b.

    K (n, d), one key per row; a != b -> q (d,)
    """
    ### BEGIN SOLUTION
    # Both keys score 20, all others 0. Without noise all draws are right with scores from
    # {{noise.average_from}} up.
    return 20 * (K[a] + K[b])
    ### END SOLUTION
    raise NotImplementedError("TODO: average_query")


# %% check="average_query" points=2
check("average_query", average_query)

# %%
noise.plot_new_keys(average_query, "average_query")

# %% [markdown]
# ### Question 1.2
#
# Why does your formula give the two values equal weights, and all others next to none? What does the
# **length** of the query do here: what happens when it is short, and what when it grows without end?
# (2 to 4 sentences, 2 points)

# %% [markdown] answer="answer_1_2" points=2
# The keys are at right angles and have length 1, so the sum of two of them, times C, has the score C with
# each of the two and 0 with every other key: equal scores, equal weights. The others together get
# (n - 2) / (2 e^C + n - 2) of the weight. A short query leaves them a good part of it, a longer one less
# and less; with exactly equal scores there is no upper limit.
#
# ### BEGIN MARK SCHEME
# - 1 point: equal scores for a and b and lower ones for all others, from orthogonality and length 1.
# - 1 point: the length sets the gap to the others: too short lets them in, longer shuts them out (that
#   nothing breaks at great length, or that only rounding does, is welcome, not required).
# ### END MARK SCHEME

# %% [markdown]
# <details><summary>Compare, once you have written yours</summary>
#
# A good answer says which property of these keys makes the two scores equal, and follows what the *other*
# tokens get as the query grows.
#
# </details>

# %% [markdown]
# ## 1.3 Noise, and how it breaks one head (35 minutes)
#
# A key is computed from a token and its neighbourhood, so the "same" key comes out a little different each
# time. From here on you know only the **means** $\mu_i$ (again of length 1 and at right angles). The keys
# themselves are drawn: $k_i$ comes from a normal distribution around $\mu_i$ with variance $10^{-6}$ in
# every coordinate, so each number is off by about a thousandth.
#
# ### Your turn: `robust_query`
#
# The same task as in 1.2, the mean of $v_a$ and $v_b$, but from the means alone. Your query is fixed
# first; then the keys are drawn, 100 times for each of ten sets of means. (2 points)
#
# <details><summary>Hint 1: a nudge</summary>
#
# A thousandth is little. What does your query multiply it by?
#
# </details>
#
# <details><summary>Hint 2: if the check says "too long"</summary>
#
# The scores of `a` and `b` are no longer exactly equal. Their difference grows with the query's length,
# and the softmax turns it into a ratio. Some lengths are long enough for one purpose and still short
# enough for the other.
#
# </details>


# %% solve="robust_query"
def robust_query(means, a, b):
    """Return a query for which attention over noisy keys returns the mean of two values.

    means (n, d), one mean key per row; a != b -> q (d,)
    """
    ### BEGIN SOLUTION
    # As in 1.2, and now the length has an upper limit too: with C (mu_a + mu_b) all draws are right for
    # C from {{noise.robust.from}} to {{noise.robust.to}}, {{noise.robust.at_20}} % at 20,
    # {{noise.robust.at_40}} % at 40, {{noise.robust.at_80}} % at 80, {{noise.robust.at_200}} % at 200.
    return 10 * (means[a] + means[b])
    ### END SOLUTION
    raise NotImplementedError("TODO: robust_query")


# %% check="robust_query" points=2
check("robust_query", robust_query)

# %% [markdown]
# ### Explore
#
# Two sliders: the noise (how far each number of a key is off, typically) and the length of your query.
# On the left every point is the output of one draw; on the right, the weight of `a` in each draw. Turn
# the noise up until the outputs leave the mean. Can you bring them back with the length? (If you don't
# see the sliders, the next cell shows one setting as a still picture.)

# %%
noise.explore_noise(robust_query)

# %%
noise.plot_noise(robust_query, noise=0.01, length=100)

# %% [markdown]
# ### A key that is sometimes long and sometimes short
#
# Now something worse than small noise. In each draw, key `a` is $g$ times $\mu_a$ (plus the same small
# noise): $g$ is drawn from a normal distribution with mean 1 and variance $\frac12$, and drawn again while
# it lies below 0.3. The direction of the key is steady; its length is not. All other keys are as before.
#
# **Predict, then run.** $g$ scatters around 1 (its mean is about {{noise.gain_mean}}). Where will the outputs of 300 draws
# lie: in a round cloud about the mean of $v_a$ and $v_b$, on the way between the two, or somewhere else?
# And how many of the 300 will be right?

# %%
noise.plot_cloud(robust_query)

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# Not a round cloud at all: the outputs lie on the line from $v_a$ to $v_b$, crowded towards its two ends.
# Their average lies between the two values, but few single outputs come near it. Question 1.3 asks you why;
# the next two figures help.
#
# </details>

# %% [markdown]
# The next picture leaves the noise out and moves $g$ alone.

# %%
noise.plot_gains(robust_query)

# %% [markdown]
# **Predict, then run.** Perhaps the length was just badly chosen. In the picture below the same query is
# made shorter and longer. Will some length save it when key `a` is unsteady?

# %%
noise.plot_shares(robust_query)

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# None does. With the small noise alone there was a range of lengths between too short and too long; with the
# unsteady key nothing is left of it. What goes wrong at the left end of the curve, and what at the right?
#
# </details>

# %% [markdown]
# ### Question 1.3
#
# What do the outputs of **one head** look like over many draws of the unsteady key? Explain why, from the
# scores of `a` and `b`. (2 to 4 sentences, 2 points)

# %% [markdown] answer="answer_1_3" points=2
# The outputs lie on the line between v_a and v_b, most of them close to one of its ends and few in the
# middle. The score of b is always about C, that of a is g C, so they differ by C (g - 1), and the weight of
# a is 1 / (1 + e^(-C (g - 1))). With C around 10 a g of 1.5 gives a nearly everything and a g of 0.5 nearly
# nothing; a longer query makes it worse, and a shorter one lets the other tokens in.
#
# ### BEGIN MARK SCHEME
# - 1 point: between v_a and v_b, mostly at the ends, varying strongly from draw to draw (a round cloud, or
#   "close to the mean", is wrong, even though the average over draws lies in between).
# - 1 point: the reason: the scores differ by something proportional to g - 1, which the softmax turns into
#   a choice; the two tokens compete within one softmax.
# ### END MARK SCHEME

# %% [markdown]
# <details><summary>Compare, once you have written yours</summary>
#
# A good answer describes where single outputs lie, not only their average, and says what the difference
# between the two scores depends on.
#
# </details>

# %% [markdown]
# ## 1.4 Two heads that fix it (30 minutes)
#
# Two heads are two queries over the **same** keys and values, each with a softmax of its own. Here the
# output is the mean of the two heads' outputs:
#
# $$\text{output} = \tfrac12 \big(\text{softmax}(K q_1) V + \text{softmax}(K q_2) V\big).$$
#
# ### Your turn: `two_head_queries`
#
# The keys are drawn as before: small noise on all of them, and key `a` unsteady. Return two queries for
# which the output is the mean of $v_a$ and $v_b$, from the means alone. (3 points)
#
# **Predict first.** Both heads have the same unsteady keys to look at. What could two softmaxes do that
# one cannot?
#
# <details><summary>Hint 1: a nudge</summary>
#
# In 1.3, `a` and `b` had to share one softmax and fought over it. Who fights with whom is up to you.
#
# </details>
#
# <details><summary>Hint 2: if it is right only some of the time</summary>
#
# Look at the smallest $g$ that can occur, 0.3. How large is the score of `a` then, and how many tokens
# with score 0 does it have to beat?
#
# </details>


# %% solve="two_head_queries"
def two_head_queries(means, a, b):
    """Return two queries; the mean of the two heads' outputs should be the mean of two values.

    means (n, d), one mean key per row; a != b -> (q1, q2), each (d,)
    """
    ### BEGIN SOLUTION
    # Each head copies one value, so g only changes by how much a wins in its own head. With C mu_a and
    # C mu_b {{noise.two_heads.at_6}} % of draws are right at C = 6, {{noise.two_heads.at_10}} % at 10,
    # {{noise.two_heads.at_14}} % at 14, and all from {{noise.two_heads.from}} up.
    return 30 * means[a], 30 * means[b]
    ### END SOLUTION
    raise NotImplementedError("TODO: two_head_queries")


# %% check="two_head_queries" points=3
check("two_head_queries", two_head_queries)

# %% [markdown]
# The same 300 draws, with one head and with two:

# %%
noise.plot_cloud(robust_query, two_head_queries)

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# With two heads the points gather in one spot, at the mean. The figure after this one shows why: look at what
# each head's softmax has to decide, and whether $g$ can change the outcome.
#
# </details>

# %% [markdown]
# And the weights as $g$ grows; for two heads, the average of the two:

# %%
noise.plot_gains(robust_query, two_head_queries)

# %% [markdown]
# ### Question 1.4
#
# What do the outputs of your **two heads** look like over many draws, and why does the unsteady key no
# longer matter (much)? When would it still matter? (2 to 4 sentences, 2 points)

# %% [markdown] answer="answer_1_4" points=2
# All outputs lie at the mean, in one spot. Each head copies one of the values: in the first, a competes
# only with tokens whose score is 0, and wins with nearly all of the weight as long as g C is large; how
# far it wins by does not show, because the softmax is saturated. The second head does not depend on g
# at all, since its query is at right angles to mu_a. It would matter again if the query were so short
# that g C is small when g is near 0.3.
#
# ### BEGIN MARK SCHEME
# - 1 point: (nearly) all outputs at the mean; each head is responsible for one token, so a and b no longer
#   compete within one softmax.
# - 1 point: why g does not show (saturation: a score of g C is enough in any case), or when it would (short
#   queries, small g).
# ### END MARK SCHEME

# %% [markdown]
# <details><summary>Compare, once you have written yours</summary>
#
# A good answer says what each head is responsible for, why the length of the unsteady key then hardly shows,
# and when it would show again.
#
# </details>

# %% [markdown]
# ## 1.5 K, Q and V by hand (45 minutes)
#
# So far the keys and values were simply given. In a transformer all three come from the tokens
# themselves, through matrices: $k = K x$, $q = Q x$ and $v = V x$. (From here on $K$, $Q$ and $V$ are $d
# \times d$ **matrices** that multiply a token from the left.) Token $i$ then gets its **context**
#
# $$c_i = \sum_j w_{ij} v_j, \qquad w_{i1}, w_{i2}, w_{i3} = \text{softmax}(k_1 \cdot q_i,\; k_2 \cdot q_i,\; k_3 \cdot q_i).$$
#
# Our tokens are made of four directions $u_a, u_b, u_c, u_d$, mutually at right angles and all of
# **length 10**. Think of them as meanings that a token carries. There are three tokens:
#
# $$x_1 = u_d + u_b, \qquad x_2 = u_a, \qquad x_3 = u_c + u_b .$$
#
# ### What the identity does
#
# **Predict, then run.** Let $V = K = Q = I$, so that keys, queries and values are the tokens themselves.
# Which token does each token look at?


# %%
def use_identity(u_a, u_b, u_c, u_d):
    identity = np.eye(len(u_a))
    return identity, identity, identity


noise.plot_projections(use_identity)

# %% [markdown]
# In the picture the arrows go from the token that looks to the tokens it looks at, with
# the weights on them. Next to each box you see what the token contains: on the left its input, in the
# middle the value it passes on. With `add_to_x2="u_d"`, or another direction, you can change $x_2$ and
# look again:

# %%
noise.plot_projections(use_identity, add_to_x2="u_d")

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# Each token looks at itself, with practically all of its weight. Follow the arrows of $x_2$, and compare the
# scores that they come from: a token's dot product with itself is the sum of the squares of all it carries.
# Question 1.5 asks you to turn this into an argument.
#
# </details>

# %% [markdown]
# ### Question 1.5
#
# With $V = K = Q = I$, what does $c_2$ approximate, and why? Can adding $u_d$ or $u_c$ to $x_2$ make $c_2$
# equal to $u_b$? Explain with the scores, and with what the values can be mixed to. (3 to 6 sentences,
# 3 points)

# %% [markdown] answer="answer_1_5" points=3
# x2 scores 100 with itself and 0 with the other two tokens, so e^100 leaves nothing for them: c2 is x2
# itself, u_a. With u_d added, x2 scores 200 with itself and 100 with x1, and again everything goes to
# itself: c2 is u_a + u_d. The same happens with u_c and x3. It cannot be u_b in any case: with V = I the
# context is a mixture of the tokens with positive weights that sum to 1, and every token holds something
# besides u_b that no mixture can take away.
#
# ### BEGIN MARK SCHEME
# - 1 point: c2 is (nearly) x2 = u_a, because its score with itself, 100, stands against 0.
# - 1 point: after adding u_d or u_c the own score, 200, still beats the other one, 100, so c2 is the new x2.
# - 1 point: the general reason: a mixture of whole tokens always keeps u_a, u_c or u_d; to hand over a part
#   of a token it takes another V.
# ### END MARK SCHEME

# %% [markdown]
# <details><summary>Compare, once you have written yours</summary>
#
# A good answer gives the scores of $x_2$ as numbers, before and after the addition, and a reason that holds
# for every mixture of these three tokens.
#
# </details>

# %% [markdown]
# ### Your turn: `craft_projections`
#
# Return three matrices `(V, K, Q)`, in this order, for which
#
# - $c_2 = u_b$: the second token fetches $u_b$ (2 points), and
# - $c_1 = u_b - u_c$: the first token fetches $u_b$ and gets $u_c$ taken away (2 points).
#
# The two are judged separately, by the largest error in any coordinate, which may be 0.5. What becomes
# of $c_3$ does not matter. Your function gets the four directions as arrays of $d$ numbers, $d$ from 4
# to 16, and they point elsewhere every time.
#
# <details><summary>Hint 1: where to begin</summary>
#
# Begin with $V$. Which token could hand over $u_b$ if only a part of it went through, and which one could
# hand over $u_b - u_c$? Then decide who has to look at whom. Only then think about queries.
#
# </details>
#
# <details><summary>Hint 2: a matrix that does one thing</summary>
#
# The matrix $u v^\top$ (`np.outer(u, v)`) asks a token "how much of $v$ do you have?" and answers with that
# much of $u$. What does it make of a token that is at right angles to $v$? Matrices can be added, and then
# they do both things. Mind the lengths: $v \cdot v = 100$.
#
# </details>
#
# <details><summary>Hint 3: who looks at whom</summary>
#
# The keys may stay as they are. Then a query only has to point at something that the wanted token has and
# the two others lack.
#
# </details>


# %% solve="craft_projections"
def craft_projections(u_a, u_b, u_c, u_d):
    """Return (V, K, Q), each (d, d), for which c2 is u_b and c1 is u_b - u_c.

    u_a, u_b, u_c, u_d (d,), at right angles and of length 10
    """
    ### BEGIN SOLUTION
    # V keeps what a token has of u_b and flips the sign of what it has of u_c: v1 = u_b, v3 = u_b - u_c.
    V = (np.outer(u_b, u_b) - np.outer(u_c, u_c)) / 100
    # x2 must find x1, which alone has u_d; x1 must find x3, which alone has u_c.
    K = np.identity(len(u_a))
    Q = (np.outer(u_d, u_a) + np.outer(u_c, u_d)) / 100
    return V, K, Q
    ### END SOLUTION
    raise NotImplementedError("TODO: craft_projections")


# %% check="craft_projections" points=4
check("craft_projections", craft_projections)

# %%
noise.plot_projections(craft_projections)

# %% [markdown]
# ## 1.6 The synthesizer (40 minutes)
#
# Do we need keys and queries at all? The **synthesizer** (Tay and others, 2020) says: perhaps not. Each
# token computes its row of scores by a small network from its own vector alone,
#
# $$\text{scores}_t = \text{relu}(x_t w_1 + b_1)\, w_2 + b_2 ,$$
#
# one score for each place in a block of fixed size. The rest is as you know it: hide the future, softmax,
# mix the values.
#
# ### Your turn: `synthesizer_attention`
#
# Write it in PyTorch, with one head:
#
# $$\text{softmax}\big(\text{mask}(\text{relu}(X w_1 + b_1)\, w_2 + b_2)\big)\, V .$$
#
# The shapes: `X` (B, T, C), `w1` (C, D), `b1` (D,), `w2` (D, block), `b2` (block,), and the values `V`
# (B, T, Cv), which come in ready-made. `block` is at least `T`, and only the **first T columns** of the
# scores count. The layer is **causal**: a token sees itself and what came before. Gradients must flow,
# and the inputs stay as they are. (4 points)
#
# Keep this function: in the third notebook of this assignment you can train it.
#
# <details><summary>Hint 1: shapes</summary>
#
# `X @ w1 + b1` is (B, T, D): one row of D numbers for each token. What shape do the scores have, and which
# part of them do you need before anything else happens to them?
#
# </details>
#
# <details><summary>Hint 2: the mask</summary>
#
# Row $t$ belongs to the token that looks, column $s$ to the place it looks at. Hide before the softmax, so
# that what remains still sums to 1, and make the mask on the device of `X`.
#
# </details>


# %% solve="synthesizer_attention"
def synthesizer_attention(X, w1, b1, w2, b2, V):
    """Return softmax(mask(relu(X w1 + b1) w2 + b2)) V, causal, one head.

    X (B, T, C), w1 (C, D), b1 (D,), w2 (D, block), b2 (block,), V (B, T, Cv) -> (B, T, Cv)
    """
    ### BEGIN SOLUTION
    T = X.shape[1]
    scores = torch.relu(X @ w1 + b1) @ w2 + b2  # (B, T, block)
    scores = scores[:, :, :T]  # (B, T, T)
    seen = torch.ones(T, T, dtype=torch.bool, device=X.device).tril()
    weights = torch.softmax(scores.masked_fill(~seen, -math.inf), dim=-1)
    return weights @ V  # (B, T, Cv)
    ### END SOLUTION
    raise NotImplementedError("TODO: synthesizer_attention")


# %% check="synthesizer_attention" points=4
check("synthesizer_attention", synthesizer_attention)

# %% [markdown]
# **Predict, then run.** Below, one of the five tokens is replaced by another: *cat*
# becomes some other word. In which rows will the synthesizer's weights change, and in which those of
# attention with keys, queries and values? (Both are causal, and all weights are random: look for
# structure.)

# %%
noise.plot_changed_token(synthesizer_attention, changed=1)

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# In the synthesizer only the row of the changed token moves. With keys and queries the rows of the later
# tokens move as well, including those of tokens that are still the same words. (Earlier rows stay in both:
# the mask sees to that.) Question 1.6 asks you why.
#
# </details>

# %% [markdown]
# ### Question 1.6
#
# What can key-query-value attention do in one layer that the synthesizer cannot? Say what the weights of a
# token depend on in each of the two, and give an example from language that needs the difference. (3 to 6
# sentences, 3 points)

# %% [markdown] answer="answer_1_6" points=3
# The synthesizer's weights for a token depend on that token's own vector and on positions, never on
# what the other tokens are: in the picture only the replaced token's own row changed. With keys and queries each weight comes from comparing two tokens, so the rows of all
# later tokens changed as well. So one layer of attention can look something up by its content, wherever
# it stands: the noun that a pronoun refers to, the subject that a verb agrees with, the earlier place
# where the same word occurred. The synthesizer can only learn habits such as "after an article, look one
# place back".
#
# ### BEGIN MARK SCHEME
# - 1 point: in the synthesizer the weights of a token come from that token alone (and from positions).
# - 1 point: in key-query-value attention they come from comparing pairs of tokens, so they react to what the
#   other tokens are.
# - 1 point: an example in which the place to look at is known by its content and not by its position.
# - That the synthesizer's block has a fixed length is true and welcome, and earns the third point only
#   together with an example.
# ### END MARK SCHEME

# %% [markdown]
# <details><summary>Compare, once you have written yours</summary>
#
# A good answer says, for both layers, what a row of weights is computed from, and gives an example in which
# the place to look at cannot be known in advance.
#
# </details>

# %% [markdown]
# ## Read on
#
# - Vaswani and others, [Attention Is All You Need](https://arxiv.org/abs/1706.03762), 2017: section 3.2.2 on why
#   there are several heads.
# - Michel, Levy and Neubig, [Are Sixteen Heads Really Better than One?](https://arxiv.org/abs/1905.10650), 2019:
#   which heads can be taken away again.
# - Tay and others, [Synthesizer: Rethinking Self-Attention in Transformer Models](https://arxiv.org/abs/2005.00743),
#   2020: section 1.6, at full size.
#
# Copying, averaging, the unsteady key and the projections go back to exercises of Stanford's CS224n; the text
# and the code here are new.

# %% [markdown]
# ## Before you hand in
#
# Restart the kernel and run everything from top to bottom once (in JupyterLab: *Kernel → Restart Kernel
# and Run All Cells*). Every check should say "public check passed", and every written cell, the one
# about collaborators included, should contain your own answer.

# %% [markdown] keep="outputs"
# ### Where do I stand?
#
# **Save the notebook first** (Ctrl+S). This cell then runs the saved file from top to bottom in a fresh
# kernel, and tells you which public checks pass and what is still open.

# %%
from course_utils.handing_in import check_notebook

check_notebook("1_noise_and_heads")

# %% [markdown] keep="outputs"
# ### Hand in
#
# When the notebooks of this assignment are in this folder, saved with their outputs, this cell puts them
# into one zip file, together with your answers as one document to print. It tells you if anything is
# missing. Do it as often as you like: earlier zip files stay.

# %%
from course_utils.handing_in import submit

READY = False  # write True and run this cell when you want to hand in
if READY:
    submit()
