# %% [markdown]
# # Pretraining: what a model knows, and how it came to know it
#
# Where was Hugo Fugen born? A model that has never read about him can only guess. In this notebook you
# pretrain a small GPT on short biographies, finetune it on questions, and ask it about people whose
# question it has never seen. Then you look at what it says about people about whom not a word was ever
# written.
#
# **What you will be able to do afterwards:** write the data side of pretraining (span corruption, pairs,
# targets that do not count), show in numbers what pretraining is worth, and tell when a confident answer
# is worth nothing.
#
# | section | what you do | points | minutes | difficulty |
# |---|---|---|---|---|
# | 3.1 | an answer that needs no model, and how answers are counted | 3 | 25 | ●○○ |
# | 3.2 | take spans out of texts | 4 | 45 | ●●○ |
# | 3.3 | make pairs to learn from | 5 | 40 | ●●○ |
# | 3.4 | get an answer out of a model | 2 | 30 | ●●○ |
# | 3.5 | four models side by side | 8 | 70 | ●●○ |
# | 3.6 | how sure is it, and should it be? | 8 | 45 | ●●○ |
#
# A laptop is enough. The trainings of 3.5 take a few minutes each on two cores; each tells you how long
# before it starts, and can be interrupted and resumed.
#
# **How to work.** Fill in the functions that say `TODO`, and remove the line that raises
# `NotImplementedError` when you do. The cell below each of them checks your work on the spot and, when
# it knows the mistake, names it. (If a check says that a name is not defined, run the cell above it
# first.) A public check that passes is a good sign; grading tries more inputs. **One rule for all
# functions:** leave what you are given as it is. Printed, your answers and figures should fit on **four
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
# - Begin with 3.6's question, without any code: how would *you* tell a right answer from a made-up
#   one if both sound the same? Come back to it at the end.
# - `corrupt_span` has no single right answer. It is judged by what must hold over thousands of draws:
#   the text goes back together, lengths and places vary, the means are right, and all randomness comes
#   from `rng`. Students who ask "which distribution?" have understood the task: any with that mean.
# - The most common slip in 3.3 is one character: in y, the first character of the place stands where
#   x has the MASK. Let them draw the two strips below each other.
# - A wrong piece costs its own points only: `make_question` is graded on the student's own
#   `make_pair` first, and on a right one if that fails.
# - In 3.5 and 3.6 the outputs are those that the student handed in: training is not run again. The
#   world, the models and the trainings have seeds, but results differ a little between machines.
# - docs/pretraining.md holds three seeds of the whole comparison, and what the real data came to.
# ### END MARK SCHEME

# %% [markdown]
# ## Set-up

# %% setup="course"

# %%
import random
from collections import Counter

import torch

from course_utils import runtime
from course_utils.checks import check
from course_utils.plots import pretraining as plots
from course_utils.pretraining import MASK, PAD
from course_utils.pretraining.world import find_places, load_world

print(runtime.describe())

# %% [markdown]
# ## 3.1 An answer that needs no model (25 minutes)
#
# ### The world (5 minutes)
#
# Unless real data are at hand, the people are made up, and so are the places; that way we know for
# sure what can be known about whom. There are three groups of people:
#
# | group | has biographies | has a question to learn from |
# |---|---|---|
# | `world.train` | yes | yes |
# | `world.test` | yes | no: we only ask it |
# | `world.unknown` | **no** | no: we only ask it |

# %%
world = load_world()
print(world.description)
print("\nSome of what there is to read:")
print(*world.biographies[:6], sep="\n")
print("\nA question to learn from:", world.train[0])
print("A question to ask:       ", world.test[0])
print("The most frequent places:", find_places(world.train)[:5])

# %% [markdown]
# ### The most frequent place (10 minutes)
#
# A model is only worth its trouble if it beats the simplest thing that one could do: always give the
# place that occurs most often among the training answers. Return it once per question; if several places
# tie, any of them will do. (1 point)
#
# **Predict, then run.** Look at the counts above. What share of the questions will this get right?
#
# <details><summary>Hint: a nudge</summary>
#
# Python's `collections` can count for you. What comes out still has to become a list that is as long
# as the questions.
#
# </details>


# %% solve="majority_baseline"
def majority_baseline(train_answers, questions):
    """Answer every question with the most frequent training answer.

    train_answers: list of places; questions: list -> list of places, one per question
    """
    ### BEGIN SOLUTION
    place, _ = Counter(train_answers).most_common(1)[0]
    return [place] * len(questions)
    ### END SOLUTION
    raise NotImplementedError("TODO: majority_baseline")


# %% check="majority_baseline" points=1
check("majority_baseline", majority_baseline)

# %% [markdown]
# ### Counting right answers (10 minutes)
#
# Return the share of answers that match their place exactly, between 0 and 1. Capital letters count;
# spaces *around* an answer or a place do not. Both lists have the same length; for empty ones return
# 0.0. (2 points)
#
# <details><summary>Hint: a nudge</summary>
#
# Strings know how to lose the spaces around them. And what happens in your code when there is
# nothing to divide by?
#
# </details>


# %% solve="count_right"
def count_right(answers, places):
    """Return the share of answers that are exactly their place, as a float."""
    ### BEGIN SOLUTION
    if not answers:
        return 0.0
    pairs = zip(answers, places, strict=True)
    right = sum(answer.strip() == place.strip() for answer, place in pairs)
    return right / len(answers)
    ### END SOLUTION
    raise NotImplementedError("TODO: count_right")


# %% check="count_right" points=2
check("count_right", count_right)

# %%
train_answers = [question.place for question in world.train]
places = [question.place for question in world.test]
baseline = count_right(majority_baseline(train_answers, world.test), places)
print(f"The most frequent place is right for {baseline:.1%} of the {len(places)} questions.")

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# Roughly the share that this place has among the training answers, because the test questions are about people of
# the same world. Remember the number: everything that follows has to beat it.
#
# </details>

# %% [markdown]
# ## 3.2 Span corruption (45 minutes)
#
# ### The picture first (10 minutes)
#
# How does one learn from text that nobody has turned into questions? By making questions out of it:
# **take a piece out, and ask for it.** Here is a biography, and what the model gets to read instead. Two
# special characters that occur in no text help: `MASK` (drawn as a dark M) and `PAD` (drawn as a dot).

# %%
plots.plot_corruption(
    "Mara Keldon was born in Corvik.",
    f"Mara Keldon was b{MASK} Corvik.{MASK}orn in".ljust(48, PAD),
)

# %% [markdown]
# The model reads from left to right and predicts every next character. When it comes to the second
# `MASK`, it has seen everything on *both* sides of the gap, and now has to say what was in it.
#
# **Think first.** In this example, what does the model need to know to fill in the gap? And if the
# gap had been `Corvik`?
#
# <details><summary>One way to see it</summary>
#
# "orn in" follows from knowing English. "Corvik" does not follow from anything in the sentence: it
# takes knowledge about Mara Keldon. A span that hits the place is a question about her, in disguise.
#
# </details>
#
# ### Now as code (35 minutes)
#
# `corrupt_span(document, block_size, rng)` returns one string. In words:
#
# 1. Draw `n` uniformly from 4 to `int(7 * block_size / 8)`, both included. Keep the document's first
#    `n` characters (all of it, if it is shorter).
# 2. Take out **one** span of what was kept. It has at least 1 character; its place is random; its
#    length varies, and is on average a quarter of what was kept. What stands before and after the
#    span may be empty.
# 3. Return: what stood before, `MASK`, what stood after, `MASK`, the span, and then `PAD` up to
#    `block_size` characters.
#
# **All randomness must come from `rng`**, a `random.Random`: use its methods (`rng.randint`,
# `rng.random`, ...) and no others, so that a training can be repeated. How you draw the length is up to
# you, as long as the mean is right. `block_size` is at least 32, and a document has at least 4
# characters. (4 points: the form, which is the order, the two `MASK`s, padding, length and a span of at least
# one character, 2; the law, which is how lengths and places vary over their whole range, 2)
#
# <details><summary>Hint 1: a nudge</summary>
#
# If something is drawn evenly from 1 up to some largest value, what is it on average? Which largest
# value makes that average a quarter?
#
# </details>
#
# <details><summary>Hint 2: where the span may begin</summary>
#
# Draw the length first. Then there is an earliest and a latest place where a span of that length can
# begin, so that it still fits. `randint` includes both of its ends; `randrange` does not.
#
# </details>
#
# <details><summary>Hint 3: the smallest case</summary>
#
# Go through your code by hand with 4 characters. Is the span at least one character long? Does any
# range become empty?
#
# </details>


# %% solve="corrupt_span"
def corrupt_span(document, block_size, rng):
    """Return the beginning of a document with a span moved to its end, padded to the block.

    document: string; rng: random.Random -> string of block_size characters
    """
    ### BEGIN SOLUTION
    n = rng.randint(4, int(7 * block_size / 8))
    text = document[:n]
    size = rng.randint(1, max(1, len(text) // 2))
    start = rng.randint(0, len(text) - size)
    prefix, span, suffix = text[:start], text[start : start + size], text[start + size :]
    return (prefix + MASK + suffix + MASK + span).ljust(block_size, PAD)
    ### END SOLUTION
    raise NotImplementedError("TODO: corrupt_span")


# %% check="corrupt_span" points=4
check("corrupt_span", corrupt_span)

# %% [markdown]
# Your own corruption of the first biography. Run the cell a few times with other seeds.

# %%
document = world.biographies[0]
plots.plot_corruption(document, corrupt_span(document, 48, random.Random(9)))

# %% [markdown]
# **Predict, then run.** How often does a random span hit the *whole* place, so that the model is
# asked for a fact and for nothing less? Guess a share before you run this.

# %%
rng = random.Random(0)
hits = [
    question.place in corrupt_span(text, world.block_size, rng).split(MASK)[2]
    for question in world.train[:100]
    for text in world.biographies
    if question.text.removeprefix("Where was ").removesuffix(" born?") in text
]
print(f"The span held the whole place in {sum(hits) / max(1, len(hits)):.0%} of {len(hits)} draws.")

# %% [markdown]
# <details><summary>What to make of it</summary>
#
# Only in a few. But every biography is corrupted anew in every epoch, so that over the whole of
# pretraining each place is asked for again and again, each time in a new context. And a place that was
# not taken out still has to be predicted when the model reads up to it.
#
# </details>
#
# ## 3.3 Pairs to learn from (40 minutes)
#
# ### What comes next (15 minutes)
#
# A GPT predicts the next character at every place. So from one text come two strings of equal
# length: `x`, what the model reads, and `y`, what it should say at each place. Pad or cut the text
# to `block_size + 1` characters, called `t`; then `x` is all of `t` but its last character, and `y`
# all but its first. Where `y` is `PAD`, nothing is asked, and the loss does not count it. (2
# points)
#
# <details><summary>Hint: a nudge</summary>
#
# Why one character more than the block? Write down x and y for the text "abc" and a block of 5, and
# count.
#
# </details>


# %% solve="make_pair"
def make_pair(text, block_size):
    """Return what the model reads and what it should say, block_size characters each.

    text: string -> (x, y): two strings
    """
    ### BEGIN SOLUTION
    padded = text.ljust(block_size + 1, PAD)[: block_size + 1]
    return padded[:-1], padded[1:]
    ### END SOLUTION
    raise NotImplementedError("TODO: make_pair")


# %% check="make_pair" points=2
check("make_pair", make_pair)

# %%
plots.plot_pair(*make_pair(corrupt_span(document, 48, random.Random(9)), 48))

# %% [markdown]
# ### Questions (25 minutes)
#
# For finetuning, the text is the question, `MASK`, the place, `MASK`: the same special characters as
# before, so that what was learned about gaps helps with questions. Make the pair as above. But now the
# model should spend nothing on predicting the *question*, which is always given: in `y`, everything is
# `PAD` except the place and the `MASK` that closes it. (3 points: `x` 1; `y` 2, of which 1 for a `y` that
# also asks for the `MASK` before the place)
#
# **Think first.** Which character of `x` stands above the first character of the place in `y`? (The figure after the
# check shows it.)
#
# <details><summary>Hint 1: a nudge</summary>
#
# Make the whole pair first. Then count how many characters at the beginning of `y` are not to be
# asked for. The strips of the figure above help: put a question of three characters into them.
#
# </details>
#
# <details><summary>Hint 2: lengths</summary>
#
# `x` and `y` both keep `block_size` characters: what should not count is replaced, not removed. A
# long question may be cut in the middle of its place; then only what is left of it counts.
#
# </details>


# %% solve="make_question"
def make_question(question, place, block_size):
    """Return a pair in which only the place and its closing MASK are asked for.

    question, place: strings -> (x, y): two strings of block_size characters
    """
    ### BEGIN SOLUTION
    x, y = make_pair(question + MASK + place + MASK, block_size)
    return x, (PAD * len(question) + y[len(question) :])[:block_size]
    ### END SOLUTION
    raise NotImplementedError("TODO: make_question")


# %% check="make_question" points=3
check("make_question", make_question)

# %%
question = world.train[0]
plots.plot_pair(*make_question(question.text, question.place, 48))

# %% [markdown]
# ## 3.4 Getting an answer (30 minutes)
#
# Give the model the question and a `MASK`, and let it go on: take the most likely next character, append
# it, ask again. Stop at `MASK`, at `PAD`, or after `max_characters`; neither of the two is part of the
# answer. Ask in eval mode and without gradients, and afterwards put the model back into the mode you
# found it in. (2 points)
#
# What a model of this notebook can do:
#
# | call | gives |
# |---|---|
# | `model.vocabulary.encode("Arlen")` | a list of numbers, one per character |
# | `model.vocabulary.decode([38, 55])` | the text that these numbers stand for |
# | `model(ids)` with ids (1, T) | logits (1, T, vocabulary): at each place, a score for each next character |
#
# <details><summary>Hint 1: a nudge</summary>
#
# The model predicts something at every position of the text. Which position predicts the character that
# is not there yet?
#
# </details>
#
# <details><summary>Hint 2: shapes and modes</summary>
#
# `torch.tensor` of a list within a list has shape (1, T). `model.training` tells the mode, and
# `model.train(...)` takes True or False.
#
# </details>


# %% solve="answer_question"
def answer_question(model, question, max_characters):
    """Return the model's answer, character by character the most likely one.

    question: string -> string of at most max_characters, without MASK and PAD
    """
    ### BEGIN SOLUTION
    was_training = model.training
    model.eval()
    text = question + MASK
    answer = ""
    with torch.no_grad():
        while len(answer) < max_characters:
            ids = torch.tensor([model.vocabulary.encode(text + answer)])  # (1, T)
            best = model(ids)[0, -1].argmax().item()
            character = model.vocabulary.decode([best])
            if character in (MASK, PAD):
                break
            answer += character
    model.train(was_training)
    return answer
    ### END SOLUTION
    raise NotImplementedError("TODO: answer_question")


# %% check="answer_question" points=2
check("answer_question", answer_question)

# %% [markdown] keep="outputs"
# ## 3.5 Four models side by side (70 minutes)
#
# From here on a person grades your answers; no program does. The outputs of the cells below (and of
# cells that you add below) are kept as they are and not run again, so hand in the notebook *with* its
# outputs.
#
# The model is the course's GPT from the previous assignment, on characters (read it:
# `course_utils/pretraining/` is short). Its attention is PyTorch's own. Every training is saved under
# `runs/` as it goes: if you stop a cell and run it again, it picks up where it left off. If you change
# one of your functions, delete that folder first.
#
# **Predict, then run.** Rank these four by their share of right answers about `world.test`, and guess
# the shares: the most frequent place; finetuning alone; pretraining, then finetuning; the same with the
# synthesizer of `1_noise_and_heads` in place of attention. Which of them will beat the most frequent
# place on people who are in no biography?

# %%
from course_utils.pretraining.answering import Answer, ask_all, measure_confidence
from course_utils.pretraining.model import make_model, make_synthesizer_layer
from course_utils.pretraining.plans import choose_plan
from course_utils.pretraining.synthesizer import explain_why_not
from course_utils.pretraining.training import finetune, pretrain

plan = choose_plan(world)
answers, shares = {}, {}  # by model, then by group of people


def ask_everyone(name, model):
    """Ask a model about people with and without biographies; remember and print the shares."""
    answers[name] = {
        "with biographies": ask_all(model, world.test, answer_question),
        "unknown people": ask_all(model, world.unknown, answer_question),
    }
    shares[name] = {
        group: count_right([a.said for a in found], [a.place for a in found])
        for group, found in answers[name].items()
    }
    print(name, {group: f"{share:.1%}" for group, share in shares[name].items()})


shares["most frequent place"] = {
    group: count_right(majority_baseline(train_answers, asked), [q.place for q in asked])
    for group, asked in (("with biographies", world.test), ("unknown people", world.unknown))
}
print(shares)

# %% [markdown]
# ### Finetuning alone (5 minutes)
#
# A new model learns from the questions of `world.train`, and reads no biography at all. It may take
# more epochs than the others.

# %%
alone = make_model(world, plan.sizes)
print(f"{alone.count_parameters():,} weights without the output layer")
alone_finetuning = finetune(alone, world, make_question, plan.alone, "runs/alone")
ask_everyone("finetuning alone", alone)

# %% [markdown]
# ### Pretraining, then finetuning (15 minutes)
#
# The same model, from the same start; but first it reads the biographies, with your `corrupt_span`.

# %%
model = make_model(world, plan.sizes)
pretraining = pretrain(model, world, corrupt_span, make_pair, plan.pretraining, "runs/pretrained")
print("Loss in the last epoch of pretraining:", round(pretraining.losses[-1], 3))

# %% [markdown]
# Has it learned anything yet? It knows about gaps, but has never seen a question. Ask it
# in its own way:

# %%
person = world.test[0].text.removeprefix("Where was ").removesuffix(" born?")
for start in (f"{person} was born in {MASK}.", world.test[0].text):
    print(
        repr(start), "->", repr(answer_question(model, start, 20)), "; right:", world.test[0].place
    )

# %%
finetuning = finetune(model, world, make_question, plan.finetuning, "runs/pretrained")
ask_everyone("pretrained and finetuned", model)

# %% [markdown]
# ### The synthesizer (15 minutes)
#
# In `1_noise_and_heads` you wrote `synthesizer_attention`, which makes its weights without comparing
# queries and keys. Paste your function here. The layer around it is given and holds its weights; it
# has one head. Without your function, or if it does not work, this run is left out and nothing else
# is lost; the course has no copy of it.

# %% solve="synthesizer_attention"
synthesizer_attention = None  # paste your function from 1_noise_and_heads below this line
### BEGIN SOLUTION


def synthesizer_attention(X, w1, b1, w2, b2, V):
    """Mix values by weights that come from each token alone.  V (B, T, Cv) -> (B, T, Cv)"""
    T = X.shape[1]
    scores = torch.relu(X @ w1 + b1) @ w2[:, :T] + b2[:T]  # (B, T, T)
    future = torch.ones(T, T, dtype=torch.bool, device=X.device).triu(1)
    return scores.masked_fill(future, -torch.inf).softmax(-1) @ V


### END SOLUTION

# %%
synthesizer = synthesizer_pretraining = synthesizer_finetuning = None
reason = explain_why_not(synthesizer_attention)
if reason:
    print(reason)
else:
    synthesizer = make_model(world, plan.sizes, make_synthesizer_layer(synthesizer_attention))
    print(f"{synthesizer.count_parameters():,} weights without the output layer")
    synthesizer_pretraining = pretrain(
        synthesizer, world, corrupt_span, make_pair, plan.pretraining, "runs/synthesizer"
    )
    synthesizer_finetuning = finetune(
        synthesizer, world, make_question, plan.finetuning, "runs/synthesizer"
    )
    ask_everyone("the same with the synthesizer", synthesizer)

# %% [markdown]
# ### Side by side (10 minutes)

# %%
plots.plot_curves(
    {
        name: history
        for name, history in (
            ("attention", pretraining),
            ("synthesizer", synthesizer_pretraining),
        )
        if history
    },
    {
        name: history
        for name, history in (
            ("alone", alone_finetuning),
            ("after pretraining", finetuning),
            ("synthesizer", synthesizer_finetuning),
        )
        if history
    },
)

# %%
plots.plot_shares(shares)

# %% [markdown]
# <details><summary>What to look at</summary>
#
# Compare with your ranking. For people with biographies the distance between the bars is what reading was worth; for
# unknown people there was nothing to read. Which model would you have thought knew more about *them*, and does it?
#
# </details>

# %%
for name, stages in (
    ("finetuning alone", [alone_finetuning]),
    ("pretrained and finetuned", [pretraining, finetuning]),
    ("the same with the synthesizer", [synthesizer_pretraining, synthesizer_finetuning]),
):
    if all(stages):
        seconds = sum(history.seconds for history in stages)
        print(f"{name}: {seconds:.0f} seconds of training")

# %% [markdown]
# ### What was pretraining worth? (15 minutes)
#
# Put the numbers of all the models that you ran side by side, for people with biographies and for
# unknown people, and explain them: why does finetuning alone land where it does, and what can the
# pretrained model do that it cannot? Be careful about *which* people a question is about, and about
# what finetuning still has to teach. (5 points)

# %% [markdown] answer="answer_3_1" points=5
# | model | with biographies | unknown people |
# |---|---|---|
# | most frequent place | {{pretraining.baseline.known}} | {{pretraining.baseline.unknown}} |
# | finetuning alone | {{pretraining.alone.known}} | {{pretraining.alone.unknown}} |
# | pretrained and finetuned | {{pretraining.pretrained.known}} | {{pretraining.pretrained.unknown}} |
# | the same with the synthesizer | {{pretraining.synthesizer.known}} | {{pretraining.synthesizer.unknown}} |
#
# The people of the test questions have biographies, but their own questions were never trained on.
# Finetuning alone sees 80 names with their places and nothing else: about any other name it cannot
# know anything, so the best it could learn is how frequent the places are. With
# {{pretraining.alone.known}} it ends below always saying Arlen. The pretrained model has read where the others were born, in several
# wordings; that knowledge sits in its weights before the first question. Finetuning on *other*
# people only teaches it the form: that a question followed by MASK wants the place, and nothing
# more, after it. So the facts come from pretraining and the skill of answering from finetuning, and
# it takes both. For unknown people there is no fact to find, and all models are back at guessing.
#
# ### BEGIN MARK SCHEME
# - 2 points: the numbers of at least three models for people with biographies, and a word about
#   unknown people. Numbers that come from the student's own outputs above.
# - 2 points: why pretraining matters: the facts about the tested people stand in the biographies
#   only, and finetuning alone has no way to them (1); finetuning teaches the form of question and
#   answer, and carries over to people whose questions were not trained on (1).
# - 1 point: reads finetuning alone against the baseline: it learns at best how frequent places are.
# - "Pretraining gives the model general language understanding" without saying where the *facts*
#   come from earns at most 1 of the 2 points for why.
#
# **What to expect** (laptop profile, three seeds in docs/pretraining.md): baseline
# {{pretraining.baseline.known}}, finetuning alone {{pretraining.alone.lowest}} to
# {{pretraining.alone.highest}}, pretrained {{pretraining.pretrained.lowest}} to
# {{pretraining.pretrained.highest}}, the synthesizer {{pretraining.synthesizer.lowest}} to
# {{pretraining.synthesizer.highest}}, unknown people at or below the baseline. On the real data reports
# say 0.6 % for finetuning alone, 5.0 % for always London and 23.0 % after 650 epochs of pretraining.
# With this course's small model, {{pretraining.real.pretrained.epochs}} epochs came to
# {{pretraining.real.pretrained.right}} only (docs/pretraining.md): do not expect 23 % on a laptop.
# ### END MARK SCHEME

# %% [markdown]
# <details><summary>Compare, once you have written yours</summary>
#
# A good answer has your own numbers for both groups of people, and tells apart two things that a model needs: where
# does each of them come from? It also compares finetuning alone with the simplest answer.
#
# </details>

# %% [markdown]
# ### What did the synthesizer cost, or save? (10 minutes)
#
# Compare the two pretrained models: share of right answers, loss of pretraining, weights, seconds.
# Where do the differences come from? (If you could not run it, say from its formula what it has to
# do without, and what you would expect; that can earn 2 of the 3 points.) (3 points)

# %% [markdown] answer="answer_3_4" points=3
# With attention {{pretraining.pretrained.known}} are right, with the synthesizer
# {{pretraining.synthesizer.known}}; the losses of pretraining end at {{pretraining.pretrained.loss}} and
# {{pretraining.synthesizer.loss}}. The synthesizer saved little here: it has slightly more weights
# ({{pretraining.synthesizer.weights}} against {{pretraining.pretrained.weights}}, because each layer
# needs a column of scores for each of the 128 places of the block), and it took
# {{pretraining.synthesizer.seconds}} processor seconds against {{pretraining.pretrained.seconds}}. For longer texts it would save the product of all queries with
# all keys. What it gives up is looking by content: a token decides where to look from itself and
# its position alone, so a name that stands a few characters further on has to be found by other
# weights, and one head has to do what four did. With short biographies that are worded alike, much
# of that can be learned by position; in freer texts I would expect to lose more. It is one seed
# each, so I trust the direction more than the size.
#
# ### BEGIN MARK SCHEME
# - 1 point: both accuracies (or losses) with numbers from the student's outputs.
# - 1 point: a cost or a saving beside accuracy: weights, time, memory, or that the block size is
#   built in (the weights w2 and b2 have one column per position).
# - 1 point: where it comes from: no comparison of queries with keys, so where a token looks does not
#   depend on what the other tokens are; or that one head has to do what several did.
# - Without a run of their own: up to 2 points for a reasoned expectation from the formula.
# ### END MARK SCHEME

# %% [markdown]
# <details><summary>Compare, once you have written yours</summary>
#
# A good answer compares numbers of both models, mentions one cost or saving besides accuracy, and traces the
# difference back to the formula in section 1.6 of `1_noise_and_heads`.
#
# </details>

# %% [markdown] keep="outputs"
# ## 3.6 How sure is it, and should it be? (45 minutes)
#
# ### Confidence (15 minutes)
#
# A model gives every answer a probability: the product of the probabilities of its characters, and
# of the `MASK` that ends it. Call that its **confidence**.
#
# **Predict, then run.** The model has read about some of these people; others it has never heard of.
# Will its confidence tell them apart? Sketch the three rows of dots before you run the cell.

# %%
chosen = answers["pretrained and finetuned"]
known, unknown = chosen["with biographies"], chosen["unknown people"]
plots.plot_confidence(
    {
        "known, right": [a.confidence for a in known if a.right],
        "known, wrong": [a.confidence for a in known if not a.right],
        "unknown people": [a.confidence for a in unknown],
    },
    "pretrained and finetuned",
)

# %%
print("Unknown people, the surest answers first:")
for a in sorted(unknown, key=lambda a: -a.confidence)[:8]:
    print(f"  {a.confidence:.2f}  {a.question} -> {a.said!r}")
print("How often each answer was given:", Counter(a.said for a in unknown).most_common(6))
real_places = {question.place for question in (*world.train, *world.test)}
made_up = sorted({a.said for a in (*known, *unknown)} - real_places)
print("Answers that are no place at all:", made_up or "none")

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# On average, yes; case by case, no. The dots of known and unknown people lie in different regions on the whole, but
# they overlap, and some answers about unknown people are among the surest. Wherever you draw a line, there are
# made-up answers above it or right ones below. The last two questions ask what follows from that.
#
# </details>

# %% [markdown]
# ### Ask it anything (10 minutes)
#
# Change the questions: a name with one letter changed, a first name alone, somebody famous, another
# question altogether, nonsense. What does it say, and how sure is it?

# %%
for text in (
    world.test[0].text,
    world.test[0].text.replace("Where was ", "Where was old "),
    "Where was Marie Curie born?",
    "When was Marie Curie born?",
    "What is the answer?",
):
    said = answer_question(model, text, 40)
    print(f"{measure_confidence(model, text, said):.2f}  {text} -> {said!r}")

# %% [markdown]
# ### Right and made-up answers look alike (10 minutes)
#
# Anyone who reads an answer sees a place name, well spelled, and nothing that tells knowledge from
# invention. Give **two different reasons** why this is a concern for people who use such a system,
# each with an example of what could go wrong. (4 points)

# %% [markdown] answer="answer_3_2" points=4
# First, users cannot decide what to believe. In my outputs the pretrained model is wrong about some
# people whom it did read about, and most of the wrong answers are real places of this world, as
# well spelled as the right ones. A journalist who copies one into an obituary has no sign that this
# was the one to check. Second, errors spread and gain weight. A made-up birthplace that looks like
# all the others ends up in databases and on web pages, is quoted from there, and becomes training
# text for the next model, which then "knows" it. A registry office that fills in forms this way
# would not notice before a real person is refused a document.
#
# ### BEGIN MARK SCHEME
# - 2 points for each of two *different* reasons: 1 for the reason, 1 for a concrete consequence or
#   example. Good reasons: nobody can tell which answers to check; trust in right answers suffers
#   once one is found wrong (or too much trust stays); harm to the person who is written about;
#   errors spread into other texts and training data; responsibility is unclear; people who could
#   check are replaced.
# - Two wordings of the same reason earn 2.
# - "It could be wrong", without what makes *indistinguishable* answers worse than plain errors: 0
#   for that reason.
# ### END MARK SCHEME

# %% [markdown]
# <details><summary>Compare, once you have written yours</summary>
#
# A good answer gives two reasons that are really different, each with somebody to whom something happens, and says
# why answers that *cannot be told apart* are worse than answers that are merely wrong.
#
# </details>

# %% [markdown]
# ### A person it never read about (10 minutes)
#
# How does the model answer for unknown people, and how sure is it? Use the numbers of your
# confidence plot. By what mechanism does a name that it has never seen lead to *this* place? And
# why is that a concern? (4 points)

# %% [markdown] answer="answer_3_3" points=4
# It never says that it does not know. For the 100 unknown people it mostly names places of this
# world (a few answers are fragments of biographies), and {{pretraining.pretrained.unknown}} happen to be
# right: less than the {{pretraining.baseline.unknown}} of always saying Arlen. Its mean confidence there
# is {{pretraining.pretrained.unknown_people}}, and {{pretraining.pretrained.above_half}} of these answers
# lie above one half; for known people it is {{pretraining.pretrained.right}} where it is right, and
# {{pretraining.pretrained.wrong}} where it is wrong. So it is less sure on average, but the surest of the
# made-up answers reaches {{pretraining.pretrained.surest}}, and no threshold separates the groups. The mechanism: after a question and MASK all probability has to go to some continuation,
# and finetuning has only ever shown places there. An unknown name shares pieces with names that it
# knows (a first name, a syllable), and these pull towards the places of their owners. That is a
# concern because confidence, the one number that could serve as a warning, was never trained to
# mean "I have read about this", and because people with similar names would all be given the same
# wrong origin.
#
# ### BEGIN MARK SCHEME
# - 1 point: what it says: always a place (or something like one), right about as often as by chance.
# - 1 point: confidence with numbers of known and unknown people from the student's plot, compared.
# - 1 point: a mechanism: it must continue somehow and has only learned to name places; similar
#   names or parts of names; how frequent places are.
# - 1 point: a concern that follows from this: confidence is no warning, no way to say "I don't
#   know", stereotypes by name, harm to those about whom little is written.
# - Numbers differ between machines; accept what the plot in the notebook shows.
# ### END MARK SCHEME

# %% [markdown]
# <details><summary>Compare, once you have written yours</summary>
#
# A good answer quotes the confidence of known and unknown people, explains how a name that was never read can still
# lead somewhere in particular, and draws a consequence from both.
#
# </details>

# %% [markdown]
# ## Read on
#
# - Raffel and others, [Exploring the Limits of Transfer Learning with a Unified Text-to-Text
#   Transformer](https://arxiv.org/abs/1910.10683), 2020: span corruption, at full size.
# - Petroni and others, [Language Models as Knowledge Bases?](https://arxiv.org/abs/1909.01066), 2019: facts in weights.
# - Kadavath and others, [Language Models (Mostly) Know What They Know](https://arxiv.org/abs/2207.05221), 2022: confidence
#   in much larger models.
#
# The idea of asking a small GPT for birthplaces, and the real data, go back to an assignment of Stanford's CS224n; our
# world, the text and the code are new.

# %% [markdown]
# ## Before you hand in
#
# The checks of 3.1 to 3.4 should all say "public check passed": to be sure, restart the kernel and run
# the cells up to 3.5 once more. Leave the outputs of 3.5 and 3.6 in place. Every written cell, the one
# about collaborators included, should contain your own answer.

# %% [markdown] keep="outputs"
# ### Where do I stand?
#
# **Save the notebook first** (Ctrl+S). This cell then runs the saved file from top to bottom in a fresh
# kernel, except 3.5 and 3.6, and tells you which public checks pass and what is still open.

# %%
from course_utils.handing_in import check_notebook

check_notebook("3_pretraining")

# %% [markdown] keep="outputs"
# ### Hand in
#
# When all three notebooks of this assignment are in this folder, saved with their outputs, this cell
# puts them into one zip file, together with your answers as one document to print. It tells you if
# anything is missing. Do it as often as you like: earlier zip files stay.

# %%
from course_utils.handing_in import submit

READY = False  # write True and run this cell when you want to hand in
if READY:
    submit()
