# %% [markdown]
# # Query crafting
#
# A transformer spends its days asking questions: each token sends out a *query*, every token
# holds up a *key*, and whoever matches best gets to pass on its *value*. In real models the
# numbers are learned. In this notebook **you** write them, by hand, until attention does exactly
# what you want: pick one value, average a few, or change its mind because of a single key.
#
# **What you will be able to do afterwards:** follow attention with a pencil, say what the softmax
# does to large and small scores, and explain why a token that was ignored can still matter.
#
# | section | what you do | minutes |
# |---|---|---|
# | 1.1 | watch attention work, step by step | 20 |
# | 1.2 | craft queries that **select** | 25 |
# | 1.3 | craft queries that **average** | 25 |
# | 1.4 | change one **key** and watch the others react | 30 |
#
# Section 1.4 is required for graduate students and extra credit for undergraduates. The
# notebook needs no GPU and no network.
#
# **How to work.** Fill in the cells that say `TODO`. The cell below each of them checks your work
# on the spot and tells you what it sees. A public check that passes is a good sign; the written
# parts are read by a person. Several different answers are right almost everywhere.

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
# - Run 1.1 in class, with the predictions asked aloud before each cell is run. The one people
#   get wrong most often is the second: they expect that doubling the query doubles the weights.
# - The three ideas to listen for: scores are dot products, so both angle and length count; the
#   softmax turns *differences* of scores into *ratios* of weights; the weights always share one
#   unit, so every key has a say in every weight.
# - In 1.3.2 a very long query fails, because k0 and k1 differ slightly in length. This is the
#   best moment of the notebook: let people find it, then ask what it means for learned keys.
# - 1.4.2 cannot be solved with a short query from 1.3.2. The check says so and names the length
#   that it takes. Going back is part of the exercise, not a trap.
# ### END MARK SCHEME

# %% [markdown]
# ## Set-up

# %% setup="course"

# %%
import torch

from course_utils import plots
from course_utils.checks import check
from course_utils.queries import K, V

print("K, one key a row:", K, sep="\n")
print("V, one value a row:", V, sep="\n")

# %% [markdown]
# ## 1.1 Attention in three steps (20 minutes)
#
# Four tokens have left us four keys and four values, each a vector of three numbers. Row $i$ of
# $K$ is the key $k_i$, row $i$ of $V$ is the value $v_i$, and **we count from 0**.
#
# One query $q$ goes through three steps:
#
# 1. **Scores**: how well does $q$ match each key? $\;a_i = q \cdot k_i$, together $a = q K^\top$.
# 2. **Weights**: the softmax makes shares of them, $\;a'_i = e^{a_i} / \sum_j e^{a_j}$. They are
#    positive and sum to 1.
# 3. **Output**: mix the values by those shares, $\;o = \sum_i a'_i v_i = a' V$.
#
# Real transformers also divide the scores by a constant and run several heads side by side. We
# leave both out here, so that you can follow every number; the next notebook puts them back.
#
# Below, the three steps for one query, each as a table you can read.

# %%
q = torch.tensor([1.0, 0.0, 0.5])
plots.plot_steps(q)

# %% [markdown]
# And here is the same thing in code. There is no more to it than these three lines.

# %%
scores = q @ K.T  # (4,)  one score a key
weights = torch.softmax(scores, dim=-1)  # (4,)  positive, sum to 1
output = weights @ V  # (3,)  a mixture of the values

print("scores ", scores)
print("weights", weights, "sum", weights.sum().item())
print("output ", output)

# %% [markdown]
# ### Keys and queries are arrows
#
# A dot product is large when two arrows point the same way, zero when they stand at right angles,
# and negative when they point apart; and it grows with the length of either. The four keys all
# have a length close to 1, so for them it is mostly the direction that counts.

# %%
plots.plot_arrows(q)

# %% [markdown]
# **Predict, then run.** The query below points against the first one. Which value gets the
# largest weight now? Which gets the smallest? Decide before you run the cell.

# %%
plots.plot_query(-q)

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# Turning the query round turns every score round: the best match becomes the worst. The largest
# weight now belongs to the key that points most nearly the opposite way of the old query.
#
# </details>
#
# **Predict, then run.** The next picture keeps a query's direction and makes it longer. When the
# query is twice as long, are the weights twice as large? What happens at length 0, and what will
# the weights look like when the query is very long?

# %%
plots.plot_lengths([1.0, -1.0, -1.0], lengths=(0, 1, 2, 8))

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# The weights always sum to 1, so they cannot all double. What doubles are the *differences*
# between scores, and the softmax turns differences into ratios: if $a_1 - a_0$ grows, the ratio
# $a'_1 / a'_0 = e^{a_1 - a_0}$ grows exponentially.
#
# </details>

# %% [markdown]
# ### Explore
#
# Move the sliders and watch the query, the weights and the output. Try to push one weight above
# 0.95, then to make two of them equal. (Sliders need a running notebook; where they do not
# appear, the still picture in the cell after them shows one position.)

# %%
plots.explore_query()

# %%
plots.plot_query([2.0, 0.0, 2.0])

# %% [markdown]
# ## 1.2 Selecting (25 minutes)
#
# Attention can copy: with the right query, the output is one of the values, as good as untouched.
#
# **How answers are judged.** We run attention with your query and report the error, the largest
# difference between the output and the target in any coordinate. Up to **0.05** is full credit:
# most targets cannot be hit exactly. A query may be a list, an array or a tensor of three numbers,
# typed in or computed from `K` and `V`.
#
# For every query there is also a short **rationale**, read by a person: how did you find it, and
# what does each step of attention do with it? A rationale that uses no mechanism of attention
# ("I tried numbers until it worked") earns nothing.

# %% [markdown]
# ### 1.2.1 Select the first value
#
# Give a query for which attention returns $v_0$. (2 points, and 2 for the rationale)
#
# The picture below shows what the query of 1.1 gives, beside the target. Yours should make the
# two halves look alike.

# %%
plots.plot_target(q, V[0])

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Work backwards. Which weights would give exactly $v_0$? Which scores make such weights?
#
# </details>
#
# <details><summary>Hint 2: more of a push</summary>
#
# One score has to be far above the other three. Think of the arrows: what makes a dot product
# with one particular key large, and what makes *differences* between scores large?
#
# </details>

# %% solve="q_select_first"
q_select_first = ...  # three numbers
### BEGIN SOLUTION
# Along k0, and long: k0 then has the highest score, and the gap to the others grows with the
# length. Anything from 3.5 times k0 upwards is within 0.05.
q_select_first = 10 * K[0]
### END SOLUTION

# %% check="q_select_first" points=2
check("q_select_first", q_select_first)

# %% [markdown]
# Rationale for 1.2.1: how did you find your query, and why does it work?

# %% [markdown] answer="answer_1_2_1" points=2
# We want weights close to (1, 0, 0, 0), so the score of k0 must lie well above the others. The
# dot product with k0 is largest when q points along k0; making q long multiplies every score, and
# with them the gaps that the softmax turns into ratios.
#
# ### BEGIN MARK SCHEME
# - 1 point: says which weights (or scores) are needed, namely nearly all of the weight on k0.
# - 1 point: says how the query brings that about: direction along k0 *and* enough length, through
#   the dot product and the softmax.
# - Any other query that passes is as good; trial and error without a mechanism earns 0.
# ### END MARK SCHEME

# %% [markdown]
# ### 1.2.2 Select every value at once
#
# Now give a matrix of four queries, one a row, for which the output is $V$ itself: row $i$ selects
# $v_i$. (2 points, and 2 for the rationale)
#
# <details><summary>Hint: shapes</summary>
#
# $Q$ is $4 \times 3$, so $Q K^\top$ is $4 \times 4$: row $i$ holds the scores of query $i$. What
# should the weights, also $4 \times 4$, look like?
#
# </details>

# %% solve="Q_identity"
Q_identity = ...  # four rows of three numbers
### BEGIN SOLUTION
# Each row does for its key what 1.2.1 did for k0. From 4.3 times K upwards it is within 0.05.
Q_identity = 10 * K
### END SOLUTION

# %% check="Q_identity" points=2
check("Q_identity", Q_identity)

# %% [markdown]
# Rationale for 1.2.2:

# %% [markdown] answer="answer_1_2_2" points=2
# The weights should be close to the identity matrix. The diagonal of QK^T must therefore stand out
# in every row, which it does when row i of Q points along k_i and is long: no other key of about
# the same length has a larger dot product with it.
#
# ### BEGIN MARK SCHEME
# - 1 point: the weight matrix should be (close to) the identity.
# - 1 point: why the chosen Q makes the diagonal dominate each row after the softmax.
# ### END MARK SCHEME

# %% [markdown]
# ### 1.2.3 What is it good for?
#
# Why might the ability to select, to copy from an earlier token, be useful for a language model?
# (1 to 3 sentences, 2 points)

# %% [markdown] answer="answer_1_2_3" points=2
# Much of what comes next has been said before: a name, a number, the subject that a verb must
# agree with. A model that can look up one earlier token and pass its content on unchanged can use
# such details from any distance instead of squeezing them through a fixed-size memory.
#
# ### BEGIN MARK SCHEME
# - 1 point: names something concrete that is copied or looked up (a name, a quoted phrase, a
#   referent, an agreeing subject).
# - 1 point: connects it to predicting the next token, or to reaching it regardless of distance.
# ### END MARK SCHEME

# %% [markdown]
# ## 1.3 Averaging (25 minutes)
#
# The same machine can blend. Keys and values stay as they are.
#
# ### 1.3.1 Average everything
#
# Give a query for which the output is the mean of all four values. (2 points, and 2 for the
# rationale)
#
# <details><summary>Hint: a nudge</summary>
#
# Write down the four weights you need. What must be true of the four scores?
#
# </details>

# %% solve="q_average_all"
q_average_all = ...  # three numbers
### BEGIN SOLUTION
# All scores are 0, so all weights are exactly 1/4. The mean of the keys errs by 0.020 and passes
# too, but only because it happens to be short.
q_average_all = torch.zeros(3)
### END SOLUTION

# %% check="q_average_all" points=2
check("q_average_all", q_average_all)

# %% [markdown]
# Rationale for 1.3.1:

# %% [markdown] answer="answer_1_3_1" points=2
# Equal weights need equal scores. The zero query has the dot product 0 with every key, so the
# softmax gives each of them exactly one quarter.
#
# ### BEGIN MARK SCHEME
# - 1 point: equal weights come from equal scores.
# - 1 point: why this query makes the scores (nearly) equal. For the mean of the keys, "it averages
#   the keys, so it averages the values" is not a reason; that its scores all happen to be small is.
# ### END MARK SCHEME

# %% [markdown]
# ### 1.3.2 Average the first two
#
# Give a query for which the output is the mean of $v_0$ and $v_1$ alone. Section 1.4 builds on this
# query. (2 points, and 2 for the rationale)
#
# <details><summary>Hint 1: a nudge</summary>
#
# Two scores should be high and equal, the other two much lower.
#
# </details>
#
# <details><summary>Hint 2: if a longer query makes things worse</summary>
#
# Read the weights that the check prints. Are the two scores *exactly* equal? What does the softmax
# do to a small difference when everything gets multiplied?
#
# </details>

# %% solve="q_average_two"
q_average_two = ...  # three numbers
### BEGIN SOLUTION
# The sum points between k0 and k1. Factors from about 1.4 to 87 pass: shorter ones let k2 and k3
# in, longer ones blow up the small difference between the lengths of k0 and k1. Factors from 8.4
# up also leave 1.4.2 solvable.
q_average_two = 10 * (K[0] + K[1])
### END SOLUTION

# %% check="q_average_two" points=2
check("q_average_two", q_average_two)

# %% [markdown]
# Rationale for 1.3.2:

# %% [markdown] answer="answer_1_3_2" points=2
# The sum of k0 and k1 lies between the two, so it has nearly the same, high dot product with
# both and a low one with the others. Lengthening it separates the two from the rest. It must not
# be too long, because k0 and k1 are not exactly equally long: their scores differ a little, and the
# softmax magnifies every difference.
#
# ### BEGIN MARK SCHEME
# - 1 point: two equal, high scores; says why this direction gives them.
# - 1 point: the role of the length: long enough to shut out k2 and k3. (Noticing that too long is
#   also wrong is welcome, not required.)
# ### END MARK SCHEME

# %% [markdown]
# ### 1.3.3 What is it good for?
#
# Why might the ability to average, over everything or over a chosen few, be useful for a language
# model? (1 to 3 sentences, 2 points)

# %% [markdown] answer="answer_1_3_3" points=2
# Often no single token holds the answer: topic, tone or the meaning of a phrase are spread over
# many. Averaging lets a model gather them into one vector, and averaging selectively lets it gather
# only those that belong together, such as the words of one noun phrase.
#
# ### BEGIN MARK SCHEME
# - 1 point: information that is spread over several tokens is brought together.
# - 1 point: what that gives a language model (topic, summary, phrase meaning, robustness to a
#   single odd token).
# ### END MARK SCHEME

# %% [markdown]
# ## 1.4 Interactions (30 minutes)
#
# *Required for graduate students, extra credit for undergraduates.*
#
# Your query from 1.3.2 pays no attention to the third token. Leave the query and the other keys
# exactly as they are, and change **only the third key** $k_2$. You give the three numbers of the new
# $k_2$; the check puts it in its place.
#
# **Predict first.** If $k_2$ changes, can the weights of $v_0$ and $v_1$ change as well, although their
# own scores stay the same? Look at the softmax formula in 1.1 before you decide.

# %% [markdown]
# ### 1.4.1 Let the third one in
#
# Give a new $k_2$ for which the same query averages $v_0$, $v_1$ **and** $v_2$. (2 points, and 2 for
# the rationale)
#
# <details><summary>Hint: a nudge</summary>
#
# What score does the new key need? You know two keys that have it.
#
# </details>

# %% solve="k2_average_three"
k2_average_three = ...  # three numbers: the new third key
### BEGIN SOLUTION
# Its score is the mean of the other two, whatever the query.
k2_average_three = (K[0] + K[1]) / 2
### END SOLUTION

# %% check="k2_average_three" points=2
check("k2_average_three", k2_average_three, query=q_average_two)

# %% [markdown]
# Rationale for 1.4.1:

# %% [markdown] answer="answer_1_4_1" points=2
# For equal weights the third score must match those of k0 and k1. The dot product is linear, so the
# midpoint of k0 and k1 gets the mean of their scores, which are nearly equal already.
#
# ### BEGIN MARK SCHEME
# - 1 point: the new key needs the same score as k0 and k1.
# - 1 point: why the chosen key has it (linearity, or copying one of the two, or solving for it).
# ### END MARK SCHEME

# %% [markdown]
# ### 1.4.2 Let the third one win
#
# Give a new $k_2$ **of length 1** for which the same query returns $v_2$. Attention itself asks for no
# such length; we do, so that you cannot simply shout. (2 points, and 2 for the rationale)
#
# <details><summary>Hint: a nudge</summary>
#
# Among all arrows of length 1, which has the largest dot product with a given query? If even that
# one does not win clearly enough, read what the check says about your query.
#
# </details>

# %% solve="k2_select"
k2_select = ...  # three numbers of length 1: the new third key
### BEGIN SOLUTION
# The unit vector along the query. It beats k0 and k1 because these point beside the query, each
# at an angle; the gap grows with the query's length and suffices from about 13.4 up.
k2_select = q_average_two / q_average_two.norm()
### END SOLUTION

# %% check="k2_select" points=2
check("k2_select", k2_select, query=q_average_two)

# %% [markdown]
# Rationale for 1.4.2:

# %% [markdown] answer="answer_1_4_2" points=2
# Of all keys of length 1, the one along the query has the highest score, namely the query's own
# length. k0 and k1 have nearly length 1 too but stand at an angle to the query, so their scores are
# lower by a fixed share; a long query makes that share a large difference.
#
# ### BEGIN MARK SCHEME
# - 1 point: at fixed length, the dot product is largest along the query.
# - 1 point: why that beats k0 and k1 (their angle to the query), or the role of the query's length.
# ### END MARK SCHEME

# %% [markdown]
# ### 1.4.3 Why does it matter?
#
# Before, the output ignored the third token. Why can a change to $k_2$ alone change that output?
# (2 to 4 sentences, 2 points)

# %% [markdown] answer="answer_1_4_3" points=2
# The weights come from one softmax over all scores, so every key stands in the denominator of every
# weight. The third token was ignored only because its score was far below the others, not because
# it was left out. When its score rises it takes weight from k0 and k1, although their own scores have
# not changed.
#
# ### BEGIN MARK SCHEME
# - 1 point: the softmax normalises over all keys (shared denominator, weights sum to 1).
# - 1 point: the token had a small weight, not none: raising its score takes weight from the others.
# ### END MARK SCHEME

# %% [markdown]
# ## Before you hand in
#
# Restart the kernel and run everything from top to bottom once (in JupyterLab: *Kernel → Restart
# Kernel and Run All Cells*). Every check should say "public check passed", and every written cell,
# the one about collaborators included, should hold words of yours.

# %% [markdown] keep="outputs"
# ### Where do I stand?
#
# **Save the notebook first** (Ctrl+S). This cell then runs the saved file from top to bottom in a fresh
# kernel, and says which public checks pass and what is still open.

# %%
from course_utils.standing import check_notebook

check_notebook("1_query_crafting")

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
