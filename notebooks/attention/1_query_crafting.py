# %% [markdown]
# # Query crafting
#
# A transformer spends its days asking questions. Each token sends out a *query*, every token holds up a
# *key*, and the better a key matches, the more of its *value* gets through. When the tokens that ask and
# the tokens that answer come from the same sentence, this is called **self-attention**. In real models
# the numbers are learned. In this notebook **you** write them, by hand, until attention does exactly
# what you want: pick one value, average a few, or change its mind because of a single key.
#
# **What you will be able to do afterwards:** work through attention with a pencil, say what the softmax
# does to large and small scores, and explain why a token that was ignored can still matter.
#
# | section | what you do | points | minutes | difficulty |
# |---|---|---|---|---|
# | 1.1 | watch attention work, step by step | – | 20 | ●○○ |
# | 1.2 | craft queries that **select** | 10 | 25 | ●○○ |
# | 1.3 | craft queries that **average** | 10 | 25 | ●●○ |
# | 1.4 | change one **key** and watch the others react | 10 | 30 | ●●● |
# | 1.5 | two challenges, for those who want more | – | 20 | ●●● |
#
# The assignment has 100 points for undergraduates and 110 for graduate students. Section 1.4 is required
# for graduate students; for undergraduates it counts half, as up to 5 extra points. You need neither a
# GPU nor (once the package is installed) a network.
#
# **How to work.** Fill in the cells that say `TODO`. The cell below each of them checks your work on the
# spot and tells you what it sees. (If a check says that a name is not defined, run the cell above it
# first.) A passing public check is a good sign; the written parts are read by a person. Most tasks have
# several right answers, and one is enough: your query only has to work for these keys and values.
# Printed, your answers and figures should fit on **three pages**. Short is good; nobody loses points for
# being brief.

# %% [markdown]
# ## Who helped you?
#
# Name everyone and everything that contributed, AI tools included, and say how. If you worked alone,
# write "alone": that is a fine answer. Leaving this cell untouched costs 2 % of the assignment's total.

# %% [markdown] answer="answer_collaborators" points=0
# Alone.
#
# ### BEGIN MARK SCHEME
# No points here. An untouched cell in any of the notebooks costs 2 % of the total, once
# (`[collaborators]` in course.toml). Any honest sentence counts as an answer, "alone" included.
#
# **Teaching notes for the whole notebook.**
#
# - Run 1.1 in class and ask for the predictions aloud before each cell is run. The second is the one
#   people get wrong most often: they expect that doubling the query doubles the weights.
# - Three ideas to listen for: scores are dot products, so both angle and length count; the softmax
#   turns *differences* between scores into *ratios* between weights; the weights always sum to 1, so
#   every key has a say in every weight.
# - In 1.3.2 a very long query fails, because k0 and k1 differ slightly in length. This is the best
#   moment of the notebook: let people find it (the figure after the check shows it), then ask what it
#   means for learned keys.
# - 1.4.2 cannot be solved with a short query from 1.3.2. The check says so and names the length it
#   takes. Going back is part of the exercise, not a trap.
# - The first challenge of 1.5 makes the point that a recipe which works for one pair of keys need not
#   work for another: `10 (k0 + k2)` gives v1 {{queries.pair_v1_percent}} % of the weight (error
#   {{queries.pair_error}}), although another query, `20 (-0.95, 0.31, 0.08)`, averages v0 and v2 to
#   within {{queries.pair_other_error}}.
# ### END MARK SCHEME

# %% [markdown]
# ## Set-up

# %% setup="course"

# %%
import torch

from course_utils import plots
from course_utils.checks import check
from course_utils.queries import K, V

print("K, one key per row:", K, sep="\n")
print("V, one value per row:", V, sep="\n")

# %% [markdown]
# ## 1.1 Attention in three steps (20 minutes)
#
# We start from four tokens, each with a key and a value; all of them are vectors of three numbers.
# Row $i$ of $K$ is the key $k_i$, row $i$ of $V$ is the value $v_i$, and **we count from 0**.
#
# One query $q$ goes through three steps:
#
# 1. **Scores**: how well does $q$ match each key? $\;a_i = q \cdot k_i$, together $a = q K^\top$.
# 2. **Weights**: the softmax turns the scores into shares, $\;a'_i = e^{a_i} / \sum_j e^{a_j}$. They
#    are positive and sum to 1.
# 3. **Output**: mix the values by those shares, $\;o = \sum_i a'_i v_i = a' V$.
#
# With several queries, one per row of a matrix $Q$, the same three steps read $A = Q K^\top$,
# $A' = \mathrm{softmax}(A)$ row by row, and $O = A' V$.
#
# Real transformers also divide the scores by a constant and run several heads side by side. We leave
# both out here, so that you can follow every number; the next notebook puts them back.
#
# The figure below shows the three steps for one query.

# %%
q = torch.tensor([1.0, 0.0, 0.5])
plots.plot_steps(q)

# %% [markdown]
# And here is the same thing in code. There is no more to it than these three lines.

# %%
scores = q @ K.T  # (4,)  one score per key
weights = torch.softmax(scores, dim=-1)  # (4,)  positive, sum to 1
output = weights @ V  # (3,)  a mixture of the values

print("scores ", scores)
print("weights", weights, "sum", weights.sum().item())
print("output ", output)

# %% [markdown]
# ### Keys and queries are arrows
#
# A dot product is large when two arrows point the same way, zero when they are at right angles, and
# negative when the angle between them is more than a right angle; and it grows with the length of
# either. The four keys all have a length close to 1, so for them it is mostly the direction that counts.
#
# The dial shows each key at its **true angle** to the query. Drop a perpendicular from a key's tip onto
# the line of the query: how far along it lands, times the length of the query, is the score. Only the
# angles to the query are true: two keys that stand close together on the dial may point in very
# different directions.

# %%
plots.plot_dial(q)

# %% [markdown]
# Here are the same arrows in three dimensions. Rotate them: from a single viewpoint, angles can be
# deceptive. (If you see a line that begins with `VBox(`, run the cell: sliders need a running kernel.)

# %%
plots.turn_arrows(q)

# %% [markdown]
# **Predict, then run.** The query below points in exactly the opposite direction. Which value gets the
# largest weight now? Which gets the smallest? Decide before you run the cell.

# %%
plots.plot_query(-q)

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# Reversing the query flips the sign of every score: the best match becomes the worst. The largest
# weight now belongs to the key that points most nearly opposite to the old query.
#
# </details>
#
# **Predict, then run.** The next picture keeps a query's direction and makes it longer. When the query
# is twice as long, are the weights twice as large? What happens at length 0, and what will the weights
# look like when the query is very long?

# %%
plots.plot_lengths([1.0, -1.0, -1.0], lengths=(0, 1, 2, 8, 32))

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# The weights always sum to 1, so they cannot all double. What doubles are the *differences* between
# scores, and the softmax turns differences into ratios: $a'_1 / a'_0 = e^{a_1 - a_0}$, so a ratio grows
# exponentially with the difference. At length 0 all scores are equal, and so are the weights; a very
# long query leaves a single winner.
#
# </details>

# %% [markdown]
# ### Explore
#
# Move the sliders and watch the scores, the weights and the output. Try to push one weight above 0.95,
# then to make two of them equal. (Sliders need a running notebook. If you don't see them, the next cell
# shows one setting as a static picture.)

# %%
plots.explore_query()

# %%
plots.plot_query([2.0, 0.0, 2.0])

# %% [markdown]
# ## 1.2 Selecting (25 minutes)
#
# Attention can copy: with the right query, the output is one of the values, virtually unchanged.
#
# **How answers are judged.** We run attention with your query and report the error, the largest
# difference between the output and the target in any coordinate. Up to **0.05** is full credit: most
# targets cannot be hit exactly. A query may be a list, an array or a tensor of three numbers, typed in
# or computed from `K` and `V`.
#
# Each query needs a short **rationale**, which a person will read: how did you find it, and what does
# each step of attention do with it? A rationale that uses no mechanism of attention ("I tried numbers
# until it worked") earns nothing.

# %% [markdown]
# ### 1.2.1 Select the first value ●○○
#
# Give a query for which attention returns $v_0$. (2 points, and 2 for the rationale)
#
# The picture below shows what the query from 1.1 gives, beside the target. With your query the two
# panels should match.

# %%
plots.plot_target(q, V[0], name="q from 1.1")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Work backwards. Which weights would give exactly $v_0$? Which scores lead to such weights?
#
# </details>
#
# <details><summary>Hint 2: more of a push</summary>
#
# One score has to be far above the other three. Think of the arrows: what makes the dot product with one
# particular key large, and what makes *differences* between scores large? Take the arrow that points the
# right way, and multiply it by a large number.
#
# </details>

# %% solve="q_select_first"
q_select_first = ...  # three numbers
### BEGIN SOLUTION
# Along k0, and long: k0 then has the highest score, and the gap to the others grows with the
# length. Anything from {{queries.select_from}} times k0 upwards is within 0.05.
q_select_first = 10 * K[0]
### END SOLUTION

# %% check="q_select_first" points=2
check("q_select_first", q_select_first)

# %%
plots.plot_target(q_select_first, V[0])

# %% [markdown]
# Rationale for 1.2.1: how did you find your query, and why does it work?

# %% [markdown] answer="answer_1_2_1" points=2
# We want weights close to (1, 0, 0, 0), so the score of k0 must lie well above the others. The dot
# product with k0 is largest when q points along k0. Making q long multiplies every score, and with the
# scores the gaps between them, which the softmax turns into ratios.
#
# ### BEGIN MARK SCHEME
# - 1 point: says which weights (or scores) are needed, namely nearly all of the weight on k0.
# - 1 point: says how the query brings that about: its direction along k0 *and* enough length, through
#   the dot product and the softmax.
# - Any other query that passes is just as good; trial and error without a mechanism earns 0.
# ### END MARK SCHEME

# %% [markdown]
# <details><summary>Compare, once you have written yours</summary>
#
# A good answer says what the four weights have to look like, and connects this with **both** things a
# dot product depends on. Does yours say what the softmax does?
#
# </details>

# %% [markdown]
# ### 1.2.2 Select every value at once ●○○
#
# Now give a matrix of four queries, one per row, for which the output is $V$ itself: row $i$ selects
# $v_i$. (2 points, and 2 for the rationale)
#
# <details><summary>Hint: shapes</summary>
#
# $Q$ is $4 \times 3$, so $Q K^\top$ is $4 \times 4$: row $i$ holds the scores of query $i$. What should
# the weights, also $4 \times 4$, look like?
#
# </details>

# %% solve="Q_identity"
Q_identity = ...  # four rows of three numbers
### BEGIN SOLUTION
# Each row does for its key what 1.2.1 did for k0. From {{queries.identity_from}} times K upwards it
# is within 0.05.
Q_identity = 10 * K
### END SOLUTION

# %% check="Q_identity" points=2
check("Q_identity", Q_identity)

# %% [markdown]
# Rationale for 1.2.2:

# %% [markdown] answer="answer_1_2_2" points=2
# The weights should be close to the identity matrix. So the
# diagonal of QK^T must stand out in every row, and it does when row i of Q points along k_i and is long:
# every other key, having about the same length and another direction, has a clearly smaller dot product
# with it.
#
# ### BEGIN MARK SCHEME
# - 1 point: the weight matrix should be (close to) the identity.
# - 1 point: why the chosen Q makes the diagonal dominate each row after the softmax.
# ### END MARK SCHEME

# %% [markdown]
# <details><summary>Compare, once you have written yours</summary>
#
# A good answer names the matrix that the weights should be, and says why the entry you want wins in
# **each** of the four rows.
#
# </details>

# %% [markdown]
# ### 1.2.3 What is it good for? ●○○
#
# Why might the ability to select, to copy from an earlier token, be useful to a language model? Give a
# concrete example of what is copied, and say how it helps to predict the next token. (1 to 3 sentences,
# 2 points)

# %% [markdown] answer="answer_1_2_3" points=2
# Much of what comes next has been said before: a name, a number, the subject that a verb must agree
# with. A model that can look up one earlier token and pass its content on unchanged can use such
# details from any distance, instead of squeezing them through a memory of fixed size.
#
# ### BEGIN MARK SCHEME
# - 1 point: names something concrete that is copied or looked up (a name, a quoted phrase, a
#   referent, an agreeing subject).
# - 1 point: connects it with predicting the next token, or with reaching it at any distance.
# ### END MARK SCHEME

# %% [markdown]
# <details><summary>Compare, once you have written yours</summary>
#
# A good answer names one concrete thing that gets copied, and connects it with predicting the next
# token.
#
# </details>

# %% [markdown]
# ## 1.3 Averaging (25 minutes)
#
# The same mechanism can also blend values. Keys and values stay as they are.
#
# ### 1.3.1 Average everything ●○○
#
# Give a query for which the output is the mean of all four values. (2 points, and 2 for the rationale)
#
# <details><summary>Hint: a nudge</summary>
#
# Write down the four weights you need. What must be true of the four scores?
#
# </details>

# %% solve="q_average_all"
q_average_all = ...  # three numbers
### BEGIN SOLUTION
# All scores are 0, so all weights are exactly 1/4. The mean of the keys is off by
# {{queries.mean_key_error}} and passes too, but only because it happens to be short.
q_average_all = torch.zeros(3)
### END SOLUTION

# %% check="q_average_all" points=2
check("q_average_all", q_average_all)

# %%
plots.plot_target(q_average_all, V.mean(dim=0))

# %% [markdown]
# Rationale for 1.3.1:

# %% [markdown] answer="answer_1_3_1" points=2
# Equal weights need equal scores. The zero query has dot product 0 with every key, so the softmax gives
# each of them exactly one quarter.
#
# ### BEGIN MARK SCHEME
# - 1 point: equal weights come from equal scores.
# - 1 point: why this query makes the scores (nearly) equal. For the mean of the keys, "it averages the
#   keys, so it averages the values" is not a reason; that its scores all happen to be small is.
# ### END MARK SCHEME

# %% [markdown]
# <details><summary>Compare, once you have written yours</summary>
#
# A good answer says what the scores must have in common, and why your query gives them that.
#
# </details>

# %% [markdown]
# ### 1.3.2 Average the first two ●●○
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
# Read the weights that the check prints. Are the two scores *exactly* equal? What does the softmax do
# to a small difference when everything gets multiplied?
#
# </details>

# %% solve="q_average_two"
q_average_two = ...  # three numbers
### BEGIN SOLUTION
# The sum points between k0 and k1. Factors from about {{queries.two_from}} to {{queries.two_to}} pass:
# shorter queries let k2 and k3 in, longer ones blow up the small difference between the lengths of k0
# and k1. Factors from {{queries.win_factor}} up also leave 1.4.2 solvable.
q_average_two = 10 * (K[0] + K[1])
### END SOLUTION

# %% check="q_average_two" points=2
check("q_average_two", q_average_two)

# %% [markdown]
# **Predict, then run.** The figure keeps the direction of your query and changes its length, from tiny
# to enormous. Where does the error fall below 0.05? Does it stay there?

# %%
plots.plot_error(q_average_two, (V[0] + V[1]) / 2)

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# On the left the query is too short to tell the keys apart, and all four values get in. On the right it
# is so long that even a tiny difference between the two scores decides. (For a query along k0 + k1 it
# comes from the lengths of the keys, which lie between {{queries.shortest_key}} and
# {{queries.longest_key}}.) If your direction makes the two scores *exactly* equal, the curve stays low:
# then nothing is left to magnify.
#
# </details>
#
# Rationale for 1.3.2:

# %% [markdown] answer="answer_1_3_2" points=2
# The sum of k0 and k1 lies between the two, so it has nearly the same, high dot product with both and a
# low one with the others. Lengthening it separates the two from the rest. It must not be too long,
# because k0 and k1 are not exactly equally long: their scores differ a little, and the softmax
# magnifies every difference.
#
# ### BEGIN MARK SCHEME
# - 1 point: two equal, high scores; says why this direction gives them.
# - 1 point: the role of the length: long enough to shut out k2 and k3. (Noticing that too long is also
#   wrong is welcome, not required.)
# - Near misses that do not pass: `(k0 + k1) / 2` is off by {{queries.two_half_error}}, and a million
#   times the sum by {{queries.two_huge_error}}.
# ### END MARK SCHEME

# %% [markdown]
# <details><summary>Compare, once you have written yours</summary>
#
# A good answer says why two scores come out equal and high, and what the length of your query is for.
#
# </details>

# %% [markdown]
# ### 1.3.3 What is it good for? ●○○
#
# Why might the ability to average, over everything or over a chosen few, be useful to a language model?
# (1 to 3 sentences, 2 points)

# %% [markdown] answer="answer_1_3_3" points=2
# Often no single token holds the answer: topic, tone or the meaning of a phrase are spread over many.
# Averaging lets a model gather them into one vector, and averaging selectively lets it gather only
# those that belong together, such as the words of one noun phrase.
#
# ### BEGIN MARK SCHEME
# - 1 point: information that is spread over several tokens is brought together.
# - 1 point: what that gives a language model (topic, summary, phrase meaning, robustness to a single
#   odd token).
# ### END MARK SCHEME

# %% [markdown]
# <details><summary>Compare, once you have written yours</summary>
#
# A good answer says what kind of information no single token carries, and what a model gains from
# having it in one vector.
#
# </details>

# %% [markdown]
# ## 1.4 Interactions (30 minutes)
#
# *Required for graduate students, extra credit for undergraduates.*
#
# That you could average the first two values was partly luck. With other keys there might be no query
# that averages just those two: what attention can do depends on **all** the keys, the ignored ones
# included. This section is about that dependence. (The first challenge of 1.5 shows how quickly a
# recipe breaks down.)
#
# Your query from 1.3.2 pays no attention to the third token. Leave the query and the other keys exactly
# as they are, and change **only the third key** $k_2$. You give the three numbers of the new $k_2$; the
# check puts it in its place.
#
# **Predict first.** If $k_2$ changes, can the weights of $v_0$ and $v_1$ change as well, although their
# own scores stay the same? Look at the softmax formula in 1.1 before you decide, then move the sliders:
# grey is before, blue is with your $k_2$.

# %%
plots.explore_key(q_average_two)

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# The scores of the other keys do not move: each depends on the query and on its own key only. Their
# weights can move all the same. What links the keys to each other is written in the softmax formula;
# question 1.4.3 asks you to say it in your own words.
#
# </details>
#
# ### 1.4.1 Let the third one in ●●○
#
# Give a new $k_2$ for which the same query averages $v_0$, $v_1$ **and** $v_2$. (2 points, and 2 for the
# rationale)
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

# %%
plots.plot_key(k2_average_three, q_average_two)

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
# <details><summary>Compare, once you have written yours</summary>
#
# A good answer says which score the new key needs, and how you know that your key has it.
#
# </details>

# %% [markdown]
# ### 1.4.2 Let the third one win ●●●
#
# Give a new $k_2$ **of length 1** for which the same query returns $v_2$. Attention has no such rule. We
# add it so that you can't win just by making the key enormous. (2 points, and 2 for the rationale)
#
# <details><summary>Hint: a nudge</summary>
#
# Among all arrows of length 1, which has the largest dot product with a given query? If even that one
# does not win clearly enough, read what the check says about your query.
#
# </details>

# %% solve="k2_select"
k2_select = ...  # three numbers, of length 1: the new third key
### BEGIN SOLUTION
# The unit vector along the query. It beats k0 and k1 because these point to either side of the query,
# each at an angle; the gap grows with the query's length and suffices from about
# {{queries.win_length}} up.
k2_select = q_average_two / q_average_two.norm()
### END SOLUTION

# %% check="k2_select" points=2
check("k2_select", k2_select, query=q_average_two)

# %%
plots.plot_key(k2_select, q_average_two)

# %% [markdown]
# Rationale for 1.4.2, in two parts: why does your key score higher than others of length 1 would, and why is
# that enough to beat k0 and k1?

# %% [markdown] answer="answer_1_4_2" points=2
# Of all keys of length 1, the one along the query has the highest score, namely the query's own length.
# k0 and k1 have nearly length 1 too but stand at an angle to the query, so their scores are lower by a
# fixed fraction; a long query turns that fraction into a large difference.
#
# ### BEGIN MARK SCHEME
# - 1 point: at fixed length, the dot product is largest along the query.
# - 1 point: why that beats k0 and k1 (their angle to the query), or the role of the query's length.
# ### END MARK SCHEME

# %% [markdown]
# <details><summary>Compare, once you have written yours</summary>
#
# A good answer says which direction is best at a fixed length, and why k0 and k1, of nearly the same
# length, score lower.
#
# </details>

# %% [markdown]
# ### 1.4.3 Why does it matter? ●●○
#
# Before, the output ignored the third token. Why can a change to $k_2$ alone change that output?
# (2 to 4 sentences, 2 points)

# %% [markdown] answer="answer_1_4_3" points=2
# The weights come from one softmax over all scores, so every key stands in the denominator of every
# weight. The third token was ignored only because its score was far below the others, not because it
# was left out. When its score rises it takes weight away from k0 and k1, although their own scores have
# not changed.
#
# ### BEGIN MARK SCHEME
# - 1 point: the softmax normalises over all keys (shared denominator, weights sum to 1).
# - 1 point: the token had a small weight, not none: raising its score takes weight from the others.
# ### END MARK SCHEME

# %% [markdown]
# <details><summary>Compare, once you have written yours</summary>
#
# A good answer points to the one place in the formulas where all keys meet, and says what "ignored"
# meant in numbers.
#
# </details>

# %% [markdown]
# ## 1.5 Challenges (no points, 20 minutes)
#
# **Does the recipe generalise? ●●○** Whatever you did for the pair $v_0$, $v_1$ in 1.3.2, do the same
# for $v_0$ and $v_2$, with $K$ as given. *Predict first:* which value will get most of the weight? Then
# look at the dial of that query, and find a query that does work: it exists. Only *differences* between
# scores count: equal scores need not be positive.

# %% solve="challenge_pair" optional=true
challenge_pair = ...  # three numbers
### BEGIN SOLUTION
# k1 lies between k0 and k2, so the sum of these two favours k1. The direction has to score k0 and k2
# alike *and* above k1: one equation and one inequality, and this is a solution of both.
challenge_pair = 20 * torch.tensor([-0.95, 0.31, 0.08])
### END SOLUTION
if challenge_pair is not ...:
    check("challenge_pair", challenge_pair)

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# The sum of k0 and k2 points almost straight at k1, which lies between them (it is only
# {{queries.pair_degrees}} degrees off). With `10 * (K[0] + K[2])`, v1 gets {{queries.pair_v1_percent}} % of
# the weight. A query that works gives k0 and k2 the same score *and* leaves k1 and k3 with lower ones.
#
# </details>
#
# **Three at once ●●●** Average $v_0$, $v_1$ and $v_2$ with a query alone, $K$ as given. Three scores
# have to be equal: how many equations is that for your three numbers, and what is left to choose?

# %% solve="challenge_three" optional=true
challenge_three = ...  # three numbers
### BEGIN SOLUTION
# Two equations, q (k0 - k1) = 0 and q (k0 - k2) = 0, leave one direction: the cross product. Its sign
# is chosen so that k3 scores lower, its length so that k3 gets nothing.
challenge_three = 20 * torch.linalg.cross(K[0] - K[1], K[0] - K[2])
### END SOLUTION
if challenge_three is not ...:
    check("challenge_three", challenge_three)

# %% [markdown]
# ## Read on
#
# - Vaswani and others, [Attention Is All You Need](https://arxiv.org/abs/1706.03762), 2017: section 3.2
#   covers everything you just did, and what the next notebook adds.
# - Alammar, [The Illustrated Transformer](https://jalammar.github.io/illustrated-transformer/): the same
#   steps in pictures.
#
# The exercises of this assignment go back to a university assignment on attention and transformers
# (query crafting, attention from scratch on a fork of minGPT, RoBERTa on SST-2), designed by Yegor
# Kuznetsov, Liwei Jiang and Jaehun Jung with feedback from Alisa Liu, Melanie Sclar, Gary Liu and Taylor
# Sorensen. Ideas and numbers are theirs; the text and the code are new.

# %% [markdown]
# ## Before you hand in
#
# Restart the kernel and run everything from top to bottom once (in JupyterLab: *Kernel → Restart Kernel
# and Run All Cells*). Every check should say "public check passed", and every written cell, the one
# about collaborators included, should contain your own answer. (If you leave out 1.4, running everything
# stops at its first check. That is fine: run the cells below it by hand.)

# %% [markdown] keep="outputs"
# ### Where do I stand?
#
# **Save the notebook first** (Ctrl+S). This cell then runs the saved file from top to bottom in a fresh
# kernel, and tells you which public checks pass and what is still open.

# %%
from course_utils.handing_in import check_notebook

check_notebook("1_query_crafting")

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
