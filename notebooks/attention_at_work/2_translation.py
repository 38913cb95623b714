# %% [markdown]
# # Translation, with attention you can see
#
# Attention was not invented for language models. It was invented for **translation**, to solve a problem
# you will know if you have ever translated from memory: a long sentence is too much to hold in your
# head. So you look back at the original, word by word. In this notebook a network learns to look back,
# through an attention module that you write, and afterwards you can *watch* it do so.
#
# **What you will be able to do afterwards:** write attention between two networks, with a mask that
# works; measure a loss that padding cannot distort; decode; compare three models fairly; and read an
# attention picture critically, for what it shows and for what it does not.
#
# | section | what you do | points | minutes | difficulty |
# |---|---|---|---|---|
# | 2.1 | meet the data and the model | – | 20 | ●○○ |
# | 2.2 | write two kinds of attention | 12 | 75 | ●●● |
# | 2.3 | a loss, decoding, and a summary | 7 | 50 | ●●○ |
# | 2.4 | train three translators | – | 20 | ●○○ |
# | 2.5 | measure them, look at their attention, compare | 11 | 90 | ●●○ |
#
# Sections 2.1 to 2.3 need no GPU. Section 2.4 takes about three minutes on a laptop with the course's own
# pairs, about twenty with Multi30k.
#
# **How to work.** Fill in what says `TODO`, and remove the line that raises `NotImplementedError` when
# you do. The cell below each of them checks your work on the spot: it runs your code on small inputs,
# and when the results are those of a mistake that it knows, it says which. (If a check says that a name
# is not defined, run the cell above it first.) A public check that passes is a good sign; grading tries
# more inputs. Printed, your answers and figures should fit on **four pages**.

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
# - The mask is what goes wrong, in all three pieces that meet padding: attention, loss, mean. Draw a batch
#   of two sentences of different length on the board and ask, for every line, what happens in the
#   empty places.
# - `squeeze()` without a dimension works in every batch but the last one, which may hold a single
#   sentence. The checks try a batch of one on purpose.
# - Students who know transformers look for multiple heads, an output projection, dropout. There are none
#   here, and grading says so: it sets the weights of `q_proj`, `k_proj` and `v_proj` itself.
# - Let people say their predictions aloud before 2.4. Nearly everyone expects mean pooling to be as good
#   as useless; that it is far better than nothing is worth five minutes.
# - The variance over epochs tells how far a curve fell, not how reliable it is. Reports of earlier years
#   read it as noise between runs. It is the best discussion that the last answer leads to.
# - Trainings are not run again: outputs below 2.4 are those that the student handed in.
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
from course_utils.checks import check
from course_utils.language_model.corpus import PAD, START, STOP
from course_utils.translation.data import collate, load_data
from course_utils.translation.model import DummyAttention, Translator

DEVICE = runtime.device()  # where model and sentences live
print(runtime.describe())

# %% [markdown]
# ## 2.1 The data and the model (20 minutes)
#
# ### The sentences
#
# Pairs of a German sentence and its English translation. If the real Multi30k (captions of photographs)
# is available, you get that; otherwise you get pairs that the course makes up with a grammar of its own
# (`course_utils/translation/grammar.py`, worth a look). The next cell tells you which ones you have, and
# why.

# %%
data = load_data()
if data.problem:
    print(data.problem)
print(data.description)
for german, english in data.train[:4]:
    print()
    print("German: ", data.german.decode(german))
    print("English:", data.english.decode(english))

# %% [markdown]
# Words are numbers, as in the earlier notebooks; every sentence begins with `<START>` and
# ends with `<STOP>`. A **batch** is a table of them. Sentences that are shorter than the longest one are
# filled up with `<PAD>`, and a **mask** says what is a word (`True`) and what is only padding (`False`).

# %%
batch = collate(data.train[:3], DEVICE)
print("source", tuple(batch.source.shape), " mask", tuple(batch.mask.shape))
for row, mask in zip(batch.source, batch.mask, strict=True):
    print(data.german.decode(row.tolist()), "|", int(mask.sum()), "words")

# %% [markdown]
# ### Why German?
#
# **Predict, then run.** Suppose you translate these sentences into English from left to right, one word
# at a time, and may look at the German whenever you like. At which word of the translation do you have
# to look at the *end* of the German sentence?

# %%
for sentence in data.examples:
    print(sentence)

# %% [markdown]
# <details><summary>What to see, and why it matters here</summary>
#
# German puts verbs late. In a subordinate clause (after *dass*, *weil*, *wenn* and so on) the verb comes
# last, while English wants it right after the subject. And some verbs come in two parts: *macht ... auf*
# is "opens", *macht ... zu* is "closes", and the part that decides stands at the very end. A translator
# that only remembers must keep everything else in mind until then. One that can look back could jump there:
# in 2.5 you will see when it does, and when it does not.
#
# </details>
#
# ### The model
#
# The model is given: read `course_utils/translation/model.py`, it is short. In words:
#
# - The **encoder** is a GRU that reads the German sentence in both directions. It leaves one vector of
#   `2E` numbers per word, `encoder_outputs`, half of it from each direction.
# - The **decoder** is a GRU that writes the English sentence one word at a time. Its memory is a vector
#   of `D` numbers, `hidden`. It starts from what the encoder remembers at the end.
# - Before every word the decoder asks an **attention module**: *this is my state; what should I know about
#   the German sentence?* It gets back one vector of `2E` numbers. **This module is yours.**
#
# Every attention module is called in the same way:
#
# | | shape | what it is |
# |---|---|---|
# | `hidden` | (B, D) | the decoder's state before the step, one vector per sentence |
# | `encoder_outputs` | (B, T, 2E) | one vector per German word |
# | `mask` | (B, T) | `True` on words, `False` on padding; at least one word per row |
# | returns `attended` | (B, 2E) | what the decoder gets to know |
# | returns `weights` | (B, T) | how much each word counted: at least 0, summing to 1, exactly 0 on padding |

# %% [markdown]
# ## 2.2 Two kinds of attention (75 minutes)
#
# **Three rules**, as in the notebook on attention from scratch: leave your inputs as they are; work on any
# device and with any float type; build it from the parts (PyTorch's ready-made attention is not one of
# them).
#
# The simplest kind is **given**. `DummyAttention` tells the decoder nothing at all: `attended` is zeros. Its
# weights are equal on all words, so that its pictures can be drawn like the others'.

# %%
dummy = DummyAttention()
example = torch.randn(3, batch.mask.shape[1], 8, device=DEVICE)  # (B, T, 2E)
attended, weights = dummy(torch.randn(3, 6, device=DEVICE), example, batch.mask)
print("attended", tuple(attended.shape), "all zeros:", bool((attended == 0).all()))
print("weights of the sentences sum to", weights.sum(dim=1).tolist())

# %% [markdown]
# ### Mean pooling (3 points, 20 minutes)
#
# One step up: give the decoder the **average of the words' vectors**, the same at every step. Every word has
# the same weight, and padding has none. There is nothing to learn in this module, so it has no layers and is
# made without arguments: `MeanPoolAttention()`. Points: sentences without padding 1, with padding 2.
#
# **Think first.** A batch holds a sentence of 4 words and one of 10. What would the short sentence's average
# be if padding were averaged in? And would its translation then depend on who else is in the batch?
#
# <details><summary>Hint 1: a nudge</summary>
#
# Make the weights first: they follow from the mask alone. What must each row of the mask be divided by?
# Once the weights are right, `attended` is the mixture that they describe.
#
# </details>
#
# <details><summary>Hint 2: types</summary>
#
# A mask is made of True and False. Multiplying needs numbers, of the same float type as `encoder_outputs`:
# look up what `.to(...)` accepts.
#
# </details>
#
# <details><summary>Hint 3: shapes</summary>
#
# weights (B, T) and encoder_outputs (B, T, 2E) give (B, 2E). With a dimension of size 1 put into the right
# place, that is one matrix product per sentence: (B, 1, T) times (B, T, 2E) gives (B, 1, 2E). Take the 1 out
# again *by its place*: in a batch with a single sentence there are two of them.
#
# </details>


# %% solve="MeanPoolAttention"
class MeanPoolAttention(nn.Module):
    """Attention that gives every word the same weight."""

    def forward(self, hidden, encoder_outputs, mask):
        """hidden (B, D), encoder_outputs (B, T, 2E), mask (B, T) -> (B, 2E), (B, T)"""
        ### BEGIN SOLUTION
        weights = mask.to(encoder_outputs.dtype)  # (B, T)
        weights = weights / weights.sum(dim=-1, keepdim=True)
        attended = torch.einsum("bt,btc->bc", weights, encoder_outputs)
        return attended, weights
        ### END SOLUTION
        raise NotImplementedError("TODO: MeanPoolAttention")


# %% check="MeanPoolAttention" points=3
check("MeanPoolAttention", MeanPoolAttention)

# %% [markdown]
# <details><summary>One answer to "Think first"</summary>
#
# Six of the ten places of the short sentence are padding. Averaged in, they would make up 60 % of its vector, and
# more if a longer sentence joined the batch. So yes: its translation would depend on its neighbours.
#
# </details>
#
# ### Scaled dot-product attention with a single query (6 points, 40 minutes)
#
# Now the real thing. The decoder's state asks a question, every German word offers a key, and the decoder
# gets the values of the words whose keys fit:
#
# $$q = W_q\, h, \qquad k_t = W_k\, e_t, \qquad v_t = W_v\, e_t, \qquad
#   w = \mathrm{softmax}\!\left(\frac{q \cdot k_1}{\sqrt{d}}, \dots, \frac{q \cdot k_T}{\sqrt{d}}\right),
#   \qquad \text{attended} = \sum_t w_t\, v_t$$
#
# with $d$ = `kq_dim`. There is **one** query per sentence, because the decoder asks for one word at a time.
# That is all that is new: you wrote everything else in the notebook on attention from scratch.
#
# **The layers' names are part of the task**, because grading puts known weights into them: three
# `nn.Linear`, with or without bias, and no other weights.
#
# Points: layers and shapes 2, weights without padding 2, weights and result where there is padding 2. A module
# that asks for the machine's device instead of following the model loses at most 1 of them.
#
# | name | from | to |
# |---|---|---|
# | `q_proj` | `dec_hid_dim` (D) | `kq_dim` |
# | `k_proj` | `2 * enc_hid_dim` (2E) | `kq_dim` |
# | `v_proj` | `2 * enc_hid_dim` (2E) | `2 * enc_hid_dim` (2E) |
#
# <details><summary>Hint 1: a nudge</summary>
#
# Write the shape of every line behind it, as in `# (B, T, kq)`. Queries come from one place and keys from
# another, but a dot product needs both to have the same number of entries: that is what the projections
# are for.
#
# </details>
#
# <details><summary>Hint 2: the mask</summary>
#
# The mask is True on words. Which places must get a score that the softmax turns into exactly 0? And does
# that have to happen before the softmax or after it?
#
# </details>
#
# <details><summary>Hint 3: shapes</summary>
#
# hidden (B, D) becomes a query (B, kq), and then (B, 1, kq): a sentence's query as a table with one row.
# keys (B, T, kq). (B, 1, kq) times (B, kq, T) gives scores (B, 1, T). The mask is (B, T), and so are the
# weights that you return.
#
# </details>
#
# <details><summary>Hint 4: devices</summary>
#
# A tensor that you make in `__init__` and keep as an ordinary attribute stays behind when the model moves
# to a GPU. For the root of a number you need no tensor.
#
# </details>


# %% solve="SingleQueryScaledDotProductAttention"
class SingleQueryScaledDotProductAttention(nn.Module):
    """Attention that asks one question per sentence, and learns what to ask."""

    def __init__(self, enc_hid_dim, dec_hid_dim, kq_dim=64):
        super().__init__()
        ### BEGIN SOLUTION
        self.q_proj = nn.Linear(dec_hid_dim, kq_dim)
        self.k_proj = nn.Linear(2 * enc_hid_dim, kq_dim)
        self.v_proj = nn.Linear(2 * enc_hid_dim, 2 * enc_hid_dim)
        self.scale = math.sqrt(kq_dim)
        ### END SOLUTION

    def forward(self, hidden, encoder_outputs, mask):
        """hidden (B, D), encoder_outputs (B, T, 2E), mask (B, T) -> (B, 2E), (B, T)"""
        ### BEGIN SOLUTION
        query = self.q_proj(hidden).unsqueeze(1)  # (B, 1, kq)
        keys = self.k_proj(encoder_outputs)  # (B, T, kq)
        values = self.v_proj(encoder_outputs)  # (B, T, 2E)
        scores = (query @ keys.transpose(1, 2)).squeeze(1) / self.scale  # (B, T)
        weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
        attended = (weights.unsqueeze(1) @ values).squeeze(1)  # (B, 2E)
        return attended, weights
        ### END SOLUTION
        raise NotImplementedError("TODO: SingleQueryScaledDotProductAttention")


# %% check="SingleQueryScaledDotProductAttention" points=6
check("SingleQueryScaledDotProductAttention", SingleQueryScaledDotProductAttention)

# %% [markdown]
# ### What can each of them know? (3 points, 15 minutes)
#
# Before you train anything: **what can a decoder with each of the three kinds know about the German sentence
# while it writes a word, and what can it not know?** Think of which words there are, of their order, of where
# in the sentence the decoder is, and of long sentences. Three to six sentences in all.

# %% [markdown] answer="answer_2_1" points=3
# With dummy attention, all that the decoder ever knows about
# the German sentence is its first state: the encoder's last memory, squeezed into D numbers. A short
# sentence may fit; most of a long one is lost, and nothing can be looked up later. Mean pooling adds the
# average of all words' vectors, at every step: roughly *which* words there are. Early and late words
# have the same share in it, but the more words there are, the less it says about each; and it is the
# same at every step, so the decoder must work out by itself which word comes next, and swapping two
# nouns hardly changes it. (It does a little, because the vectors come from a GRU and depend on their
# neighbours.) Scaled dot-product attention depends on the decoder's state, so it can get a different
# vector at every step, nearly that of a single word, wherever it stands: it can know content, place and
# order, even in long sentences. What it cannot do is look twice within one step: there is one query,
# and one mixture.
#
# ### BEGIN MARK SCHEME
# - 1 point: dummy: only the decoder's first state, of fixed size, which long sentences overfill.
# - 1 point: mean pool: which words there are, the same vector at every step; not which one comes next,
#   and (nearly) nothing about their order. Full point without the remark on the GRU.
# - 1 point: scaled dot product: depends on the state, so it can choose a word at every step, at any distance.
# - "It is better" or "it has more parameters" is not an answer: the question is about information.
# ### END MARK SCHEME

# %% [markdown]
# <details><summary>Compare, once you have written yours</summary>
#
# A good answer goes through the three kinds one by one and speaks about *information*: what reaches the decoder, at
# which steps, and what becomes of it in long sentences. "It is better" is not yet an answer.
#
# </details>

# %% [markdown]
# ## 2.3 A loss, decoding, and a summary (50 minutes)
#
# ### A loss that padding cannot distort (2 points, 15 minutes)
#
# The model gives, for every place of every translation, one number per English word: `logits`
# (B, T, vocabulary). `targets` (B, T) holds the right words, and the number `pad` where there is none. Return
# the **mean cross-entropy over all tokens that are not padding**, as a scalar tensor that can be
# differentiated. Every token counts the same, whichever sentence it is in.
#
# <details><summary>Hint 1: a nudge</summary>
#
# PyTorch's `cross_entropy` can leave out a class. Or you can take the mean yourself: of what, and divided by
# how many?
#
# </details>
#
# <details><summary>Hint 2: shapes</summary>
#
# `cross_entropy` wants (N, vocabulary) and (N,), or else the vocabulary in the *second* dimension. Mind how
# you get there: a reshape never changes the order in which the numbers lie.
#
# </details>


# %% solve="masked_loss"
def masked_loss(logits, targets, pad):
    """Return the mean cross-entropy over all tokens that are not padding.

    logits (B, T, vocabulary), targets (B, T) -> ()
    """
    ### BEGIN SOLUTION
    return F.cross_entropy(logits.transpose(1, 2), targets, ignore_index=pad)
    ### END SOLUTION
    raise NotImplementedError("TODO: masked_loss")


# %% check="masked_loss" points=2
check("masked_loss", masked_loss)

# %% [markdown]
# **Predict, then run.** A model that has learned nothing finds all English words about equally likely. What is
# its loss, for a vocabulary of this size? (The logarithm is the natural one: the loss is in *nats*.)

# %%
runtime.set_seed(0)
untrained = Translator(len(data.german), len(data.english), DummyAttention()).to(DEVICE).eval()
with torch.no_grad():
    logits = untrained(batch)  # (B, T - 1, vocabulary): what comes after each word
print(f"a vocabulary of {len(data.english)}, log {math.log(len(data.english)):.2f}")
print(f"your loss before any training: {masked_loss(logits, batch.target[:, 1:], PAD):.2f}")

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# If all $n$ words are equally likely, each has probability $1/n$, and the loss is $\ln n$. An untrained model is
# not exactly even, so its loss lies close to that and not precisely on it.
#
# </details>

# %% [markdown]
# ### Decoding (3 points, 25 minutes)
#
# During training the decoder is fed the reference translation, word by word (*teacher forcing*). When it
# translates, it has to go on from its own words. **Greedy** decoding takes the likeliest word at every
# step:
#
# 1. `model.encode(ids, mask)` reads the sentence, once: ids (1, T) and mask (1, T) give `outputs` and `hidden`.
# 2. `model.step(token, hidden, outputs, mask)` writes one word: token (1,), the word written last, gives `logits`
#    (1, vocabulary), the next `hidden`, and the `weights` of the attention. The first token is `START`.
# 3. Go on until the word is `STOP`, or until there are `max_tokens` words.
#
# Return a list of ints without `START` and `STOP`; with `max_tokens` 0 it is empty. Translate in **eval mode and
# without gradients**, and leave the model in the mode in which you found it. `source` is a list of ints that
# begins with `START` and ends with `STOP`; a single sentence has no padding. Points: the words 2; mode, gradients
# and limit 1.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Three things change from step to step: the token, the hidden state, your list. Which things stay?
#
# </details>
#
# <details><summary>Hint 2: order</summary>
#
# By the time you see `STOP`, is it already in your list? When the limit is reached, how many words are
# there? Try it on paper with `max_tokens` = 1.
#
# </details>
#
# <details><summary>Hint 3: modes</summary>
#
# `model.training` is True or False, and `model.train(...)` takes such a value.
#
# </details>


# %% solve="greedy_translate"
def greedy_translate(model, source, max_tokens):
    """Translate one sentence, the likeliest word at a time.

    source: a list of ints with START and STOP -> a list of ints without them, at most max_tokens
    """
    ### BEGIN SOLUTION
    was_training = model.training
    model.eval()
    translation = []
    with torch.no_grad():
        ids = torch.tensor([source], device=DEVICE)  # (1, T)
        mask = torch.ones_like(ids, dtype=torch.bool)
        outputs, hidden = model.encode(ids, mask)
        token = torch.tensor([START], device=DEVICE)
        for _ in range(max_tokens):
            logits, hidden, _ = model.step(token, hidden, outputs, mask)
            token = logits.argmax(dim=-1)  # (1,)
            if token.item() == STOP:
                break
            translation.append(token.item())
    model.train(was_training)
    return translation
    ### END SOLUTION
    raise NotImplementedError("TODO: greedy_translate")


# %% check="greedy_translate" points=3
check("greedy_translate", greedy_translate)

# %% [markdown]
# What does a model that has learned nothing say?

# %%
print(data.english.decode(greedy_translate(untrained, data.test[0][0], 12)))

# %% [markdown]
# ### Mean and variance (2 points, 10 minutes)
#
# For the comparison below you need a short summary of a list of losses: their mean, and their variance
# (of the population: the mean of the squared distances from the mean). The list is not empty; its items
# are whatever `float()` accepts: plain numbers, or tensors of a single number. Return a dictionary of
# two floats.
#
# <details><summary>Hint: a nudge</summary>
#
# Turn every loss into a float first; after that it is simple arithmetic. What is the variance of a
# single loss?
#
# </details>


# %% solve="describe_losses"
def describe_losses(losses):
    """Return {"mean": ..., "variance": ...} of a list of losses, as floats."""
    ### BEGIN SOLUTION
    values = [float(loss) for loss in losses]
    mean = sum(values) / len(values)
    return {"mean": mean, "variance": sum((value - mean) ** 2 for value in values) / len(values)}
    ### END SOLUTION
    raise NotImplementedError("TODO: describe_losses")


# %% check="describe_losses" points=2
check("describe_losses", describe_losses)

# %% [markdown] keep="outputs"
# ## 2.4 Three translators (20 minutes)
#
# From here on a person grades your pictures and answers; no program does. When you hand in, the outputs
# of the cells below (and of cells that you add below) are kept as they are and not run again, so hand in
# the notebook *with* its outputs.
#
# Same seed, same data, same model, same number of steps: only the attention differs. How long it takes
# is printed first. Finished epochs are saved under `runs/translation`, so you can stop at any time and
# run the cell again: it picks up where it left off. **If you change your attention, delete that
# folder.**
#
# **Predict, then run.** Put the three kinds in the order of their validation loss. How far apart will they be:
# is mean pooling closer to the dummy or to the real thing? Write your guess down before you run the cell.

# %%
from course_utils.plots.translation import (
    plot_alignment,
    plot_alignments,
    plot_gallery,
    plot_loss_by_length,
    plot_losses,
)
from course_utils.translation.evaluation import (
    MAX_TOKENS,
    align,
    align_text,
    choose_examples,
    group_by_length,
    measure_bleu,
    measure_sentences,
)
from course_utils.translation.training import choose_settings, train

ENC_HID_DIM, DEC_HID_DIM = 64, 128
KINDS = {
    "scaled dot product": lambda: SingleQueryScaledDotProductAttention(ENC_HID_DIM, DEC_HID_DIM),
    "mean pool": MeanPoolAttention,
    "dummy": DummyAttention,
}
settings = choose_settings(data)
models, histories = {}, {}
for kind, make_attention in KINDS.items():
    runtime.set_seed(settings.seed)
    model = Translator(
        len(data.german),
        len(data.english),
        make_attention(),
        enc_hid_dim=ENC_HID_DIM,
        dec_hid_dim=DEC_HID_DIM,
    ).to(DEVICE)
    histories[kind] = train(model, data, settings, kind.replace(" ", "_"), "runs/translation")
    models[kind] = model

# %%
plot_losses(histories, data.entropy)

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# Mean pooling lands between the two: knowing *which* words there are is worth a good deal, and being able to choose
# among them is worth about as much again, or more. Write down how far your guess was off: you can use it in your last
# answer.
#
# </details>

# %% [markdown]
# Your loss and the loop's agree, by the way (the loop computes the same number in another way, which is
# faster):

# %%
some = collate(data.validation[:64], DEVICE)
with torch.no_grad():
    for kind, model in models.items():
        yours = masked_loss(model(some), some.target[:, 1:], PAD)
        print(f"{kind:20} yours {yours:.4f}   the loop's {model.mean_loss(some):.4f}")

# %% [markdown] keep="outputs"
# ## 2.5 What came out (90 minutes)
#
# ### Losses, in numbers (10 minutes)
#
# Your `describe_losses`, over the epochs of each training (as in the figure above) and over the validation
# sentences, each with the mean loss of its tokens.
#
# **Think first.** What does a large variance *over epochs* mean: that the training was unreliable, or that the
# loss fell far? And over sentences?

# %%
sentence_losses = {
    kind: measure_sentences(model, data.validation) for kind, model in models.items()
}
print(f"{'':20}{'best':>8}{'mean':>10}{'variance':>10}")
for kind, history in histories.items():
    for what, losses in (
        ("training, epochs", history.train_losses),
        ("validation, epochs", history.validation_losses),
        ("validation, sentences", sentence_losses[kind]),
    ):
        summary = describe_losses(losses)
        best = f"{min(losses):8.3f}" if "epochs" in what else " " * 8
        print(f"{kind:20}{best}{summary['mean']:10.3f}{summary['variance']:10.3f}  {what}")

# %% [markdown]
# <details><summary>How to read it</summary>
#
# Compare a row's variance over epochs with its curve in the figure above: where does the curve move most? Then ask
# yourself whether that says anything about a second training with another seed. Over sentences the variance answers
# another question: whether the model is equally good on all of them.
#
# </details>

# %% [markdown]
# ### BLEU, and what they write (10 minutes)
#
# BLEU compares translations with references by the words, pairs, triples and quadruples that they share,
# and penalises translations that are too short: 100 means identical to the reference, and a low score
# means that few sequences of words are shared. It is computed by `sacrebleu`, as in papers.

# %%
translations = {}
for kind, model in models.items():
    bleu, translations[kind] = measure_bleu(greedy_translate, model, data)
    print(f"{kind:20} BLEU {bleu:5.1f} on {len(translations[kind])} test sentences")
for i in range(3):
    print()
    print(f"{'German':20}", data.german.decode(data.test[i][0][1:-1]))
    print(f"{'reference':20}", data.english.decode(data.test[i][1][1:-1]))
    for kind in models:
        print(f"{kind:20}", translations[kind][i])

# %% [markdown]
# ### The longest sentences (10 minutes)
#
# **Predict, then run.** How does the loss change with the length of the sentence, for each kind? Which of the
# three lines will be the flattest?

# %%
plot_loss_by_length(
    {kind: group_by_length(data.validation, losses) for kind, losses in sentence_losses.items()}
)

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# With the course's own pairs, two of the lines rise with the length of the sentence, and one stays nearly flat. Your
# answer in 2.2 says what each kind can know: which of its sentences does this figure support?
#
# </details>

# %% [markdown]
# ### Where it looks (30 minutes)
#
# Eight sentences of the test set, translated by your model with scaled dot-product attention. German runs across,
# English down; each row shows where the model looked *before* it wrote that word. A word-by-word translation
# would be a bright diagonal.

# %%
gallery = [
    align(
        models["scaled dot product"],
        data,
        source,
        greedy_translate(models["scaled dot product"], source, MAX_TOKENS),
    )
    for source, _ in choose_examples(data, 8)
]
plot_gallery(gallery)

# %% [markdown]
# Any of them larger, to read it closely (choose a number from 1 to 8):

# %%
plot_alignment(gallery[0], "picture 1")

# %% [markdown]
# **A sentence of your own.** Type any German sentence; a word that the model has never met becomes `<UNK>`. With
# the course's own pairs, change a single word at the end of a sentence, and see whether the English word that depends
# on it changes as it should.

# %%
for sentence in data.examples[:2]:
    found = align_text(greedy_translate, models["scaled dot product"], data, sentence)
    print(sentence, "->", " ".join(found.english[:-1]))

# %%
MY_SENTENCE = data.examples[-1]
plot_alignment(
    align_text(greedy_translate, models["scaled dot product"], data, MY_SENTENCE), "my sentence"
)

# %% [markdown]
# The same sentence, translated by all three.

# %%
plot_alignments(
    {kind: align_text(greedy_translate, model, data, MY_SENTENCE) for kind, model in models.items()}
)

# %% [markdown]
# ### What do the pictures say? (5 points)
#
# Say in a sentence or two what is common to the eight pictures. Then **read two of them closely**, one of them
# with an inverted word order: which English words look where, is that where *you* would look, and what in the
# two languages explains it? If something looks wrong, say so, and say whether the translation suffered. (You may
# use pictures of sentences that you typed.)

# %% [markdown] answer="answer_2_2" points=5
# In all eight pictures nearly every row has one bright place, in {{translation.pictures.sharp}} of
# {{translation.pictures.rows}} rows with a weight above 0.9: the model looks at one word at a time. Where the two
# languages agree in order there is a diagonal; the full stop and STOP look at the end of the sentence.
#
# *Picture 7* ({{translation.pictures.picture_7.german}}; "{{translation.pictures.picture_7.english}}"): a diagonal as
# far as "cooks". Then English needs the verb, which German has put last, after *die stühle*. The row of "need" jumps
# over the object to *{{translation.pictures.picture_7.looks_at.need}}*
# ({{translation.pictures.picture_7.weights.need}}), and the next two rows jump back to *die* and *stühle*: exactly
# where I would look. No word looks at the comma after *hoffen*, because English has none there. This is the inverted
# word order of a subordinate clause.
#
# *Picture 1* ({{translation.pictures.picture_1.german}}; "{{translation.pictures.picture_1.english}}"): a clean
# diagonal, and wrong. *nimmt ... an* is "accepts"; "removes" would be *nimmt ... weg*. The row of the verb has the
# weight {{translation.pictures.picture_1.weights.removes}} on
# *{{translation.pictures.picture_1.looks_at.removes}}* and none on *an*, which decides the meaning. The encoder's vector at *nimmt* could know about *an*, since it also reads from
# right to left, but evidently it does not know it well. I would have looked at the end. So a sharp picture is no
# proof of a good translation, and one look per word is not enough for a verb in two pieces.
#
# ### BEGIN MARK SCHEME
# - 1 point: all eight pictures are there, with something that they have in common (for instance: mostly one bright
#   place per row; a diagonal that breaks where the verb is; STOP looks at the end).
# - 2 points: a first picture read closely: named words with their places and weights, compared with what a
#   translator would look at.
# - 2 points: a second one with inverted word order, explained by grammar: a verb at the clause's end that English
#   needs early, or a separable prefix; the jump right and back is described.
# - Take off 1 if weights are called explanations without any doubt: the encoder's vector at one word also knows
#   its neighbours, so that looking *beside* the word one expects need not be a mistake.
# - On Multi30k, short captions are nearly diagonal; to find an inverted word order, students may have to
#   type a sentence of their own. That is fine.
# ### END MARK SCHEME

# %% [markdown]
# <details><summary>Compare, once you have written yours</summary>
#
# A good answer names words, places and weights, says for each whether a human translator would look there, and
# explains the unusual word order by German grammar. Does it also say what such a picture cannot prove?
#
# </details>

# %% [markdown]
# ### Which attention, and how sure are you? (6 points)
#
# Compare the three kinds: **training and validation loss, mean and variance** (which mean, over what?), BLEU, and
# the loss on long sentences. What follows about what attention is good for, and does it agree with what you wrote
# in 2.2? Then say what your numbers *cannot* show: what does the variance over epochs tell, and what would you
# have to do to learn how much the result depends on chance?

# %% [markdown] answer="answer_2_3" points=6
# | attention | training loss by epoch: mean (variance) | validation loss by epoch: mean (variance) | best validation | BLEU |
# |---|---|---|---|---|
# | scaled dot product | {{translation.scaled_dot_product.train_mean}} ({{translation.scaled_dot_product.train_variance}}) | {{translation.scaled_dot_product.validation_mean}} ({{translation.scaled_dot_product.validation_variance}}) | {{translation.scaled_dot_product.best}} | {{translation.scaled_dot_product.bleu}} |
# | mean pool | {{translation.mean_pool.train_mean}} ({{translation.mean_pool.train_variance}}) | {{translation.mean_pool.validation_mean}} ({{translation.mean_pool.validation_variance}}) | {{translation.mean_pool.best}} | {{translation.mean_pool.bleu}} |
# | dummy | {{translation.dummy.train_mean}} ({{translation.dummy.train_variance}}) | {{translation.dummy.validation_mean}} ({{translation.dummy.validation_variance}}) | {{translation.dummy.best}} | {{translation.dummy.bleu}} |
#
# (Nats per token, over {{translation.epochs}} epochs; no translator can get below {{translation.floor}}.) The order is
# the same in training and validation: scaled dot product, mean pool, dummy. Mean pooling is far better than nothing,
# but with a BLEU of {{translation.mean_pool.bleu}} it often gets the frame of a sentence right and the wrong nouns into
# it: it knows roughly which words there are, not where they belong. Only attention that can choose gets near what is
# possible. The figure by length agrees with what I wrote in 2.2: from 6-10 to 26-30 German words the loss of mean
# pooling rises from {{translation.mean_pool.by_length.6_10}} to {{translation.mean_pool.by_length.26_30}} and that of
# the dummy from {{translation.dummy.by_length.6_10}} to {{translation.dummy.by_length.26_30}}, while that of scaled dot
# product hardly moves ({{translation.scaled_dot_product.by_length.6_10}} and
# {{translation.scaled_dot_product.by_length.26_30}}). Longer sentences are too few to tell. Validation losses lie below
# training losses most of the time, because a training loss is averaged over an epoch in which the model still improves,
# with dropout on; at the end that of mean pooling is {{translation.mean_pool.most_above}} above, which is little. So
# none of the three has learned its sentences by heart.
#
# The variance over epochs is largest for the best model because its loss fell the furthest, from
# {{translation.scaled_dot_product.first_validation}} to {{translation.scaled_dot_product.last_validation}} on the
# validation sentences. It says nothing about chance. The variance over sentences says something else:
# {{translation.scaled_dot_product.sentence_variance}} against {{translation.mean_pool.sentence_variance}} for mean
# pooling, so the good model is good on nearly every sentence. How much depends on the seed I cannot know from one training
# each: I would train every kind with five seeds and compare the best validation losses. And the sentences are made by
# a small grammar; real ones have more words and fewer rules.
#
# ### BEGIN MARK SCHEME
# - 2 points: the numbers: training and validation loss of all three with mean and variance, saying over what; BLEU.
# - 1 point: the order is named and the distances are judged (mean pool much better than nothing, far from scaled
#   dot product), training and validation told apart.
# - 1 point: length: the two others grow worse with it, scaled dot product hardly does; tied to the answer in 2.2.
# - 1 point: the variance over epochs is read correctly: it shows how far the loss fell, not how reliable it is. "Higher
#   variance, so less stable between runs" earns nothing here, though earlier reports said so.
# - 1 point: limits: one seed, one size, a made-up language (or short captions); several seeds would be needed, or
#   another concrete experiment. "More data" alone earns nothing.
#
# **What to expect.** On the course's own pairs, laptop profile: best validation losses of
# {{translation.scaled_dot_product.best}}, {{translation.mean_pool.best}} and {{translation.dummy.best}}, BLEU of
# {{translation.scaled_dot_product.bleu}}, {{translation.mean_pool.bleu}} and {{translation.dummy.bleu}} (scaled dot
# product, mean pool, dummy). Digits move with the machine; the order and the distances do not. Much of what scaled dot
# product still loses comes from separable verbs in main clauses: it looks at their stem, hardly ever at their prefix,
# and then guesses.
# On Multi30k an earlier course reports validation losses of 2.64 (scaled dot product), 3.02 (mean pool) and 3.16
# (dummy), and training losses of 3.35, 3.58 and 3.67; docs/translation.md has the same comparison with this
# course's model, with the command that made it. In the quick profile nothing much has been learned yet: its
# pictures show that everything runs.
# ### END MARK SCHEME

# %% [markdown]
# <details><summary>Compare, once you have written yours</summary>
#
# A good answer has all the numbers with "over what", judges the distances between the three kinds, ties the long
# sentences to what you wrote before the training, and says plainly which conclusion a single training cannot carry.
#
# </details>

# %% [markdown]
# ## Read on
#
# - Bahdanau, Cho and Bengio, [Neural Machine Translation by Jointly Learning to Align and
#   Translate](https://arxiv.org/abs/1409.0473), 2015: the paper that attention comes from, with pictures like yours.
# - Luong, Pham and Manning, [Effective Approaches to Attention-based Neural Machine
#   Translation](https://arxiv.org/abs/1508.04025), 2015: the dot product, and other ways to score.
# - Post, [A Call for Clarity in Reporting BLEU Scores](https://arxiv.org/abs/1804.08771), 2018: why we use `sacrebleu`.
# - Elliott and others, [Multi30K](https://arxiv.org/abs/1605.00459), 2016: where the captions come from.

# %% [markdown]
# ## Before you hand in
#
# The checks of 2.2 and 2.3 should all say "public check passed": to be sure, restart the kernel and run
# the cells up to 2.4 once more. Leave the outputs of 2.4 and 2.5 in place. Every written cell, the one
# about collaborators included, should contain your own answer.

# %% [markdown] keep="outputs"
# ### Where do I stand?
#
# **Save the notebook first** (Ctrl+S). This cell then runs the saved file from top to bottom in a fresh
# kernel, except 2.4 and 2.5, and tells you which public checks pass and what is still open.

# %%
from course_utils.handing_in import check_notebook

check_notebook("2_translation")

# %% [markdown] keep="outputs"
# ### Hand in
#
# When all notebooks of this assignment are in this folder, saved with their outputs, this cell puts them
# into one zip file, together with your answers as one document to print. It tells you if anything is
# missing. Do it as often as you like: earlier zip files stay.

# %%
from course_utils.handing_in import submit

READY = False  # write True and run this cell when you want to hand in
if READY:
    submit()
