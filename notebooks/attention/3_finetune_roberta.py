# %% [markdown]
# # Finetuning RoBERTa
#
# You would not train a large model from scratch for one small task. You take one that has already read
# a great deal and teach it the rest with a few thousand examples. In this notebook you complete the
# code for that, all the way from raw sentences to a tested classifier.
#
# **The model: RoBERTa.** Your GPT in the second notebook reads from left to right and hides the future.
# RoBERTa is an *encoder*: it learned by filling in words that were masked out in the middle of a
# sentence, so every token may look at all the others, before and after, and there is no causal mask.
# That suits a classifier, which has the whole sentence in front of it; it makes RoBERTa unsuitable for
# writing text. **The data: SST-2**, sentences from film reviews that are positive (label 1) or negative
# (label 0): the clear cases among the 11,855 sentences of the Stanford Sentiment Treebank.
#
# **What you will be able to do afterwards:** write a training loop you can trust, say what every line
# in it is for, choose a model without fooling yourself, and look at its mistakes.
#
# | section | what you do | points | minutes | difficulty |
# |---|---|---|---|---|
# | 3.0 | step 0: preparation | – | 5 | ●○○ |
# | 3.1 | step 1: dataset, batches, dataloaders | 11 | 60 | ●○○ |
# | 3.2 | step 2: load the data | 3 | 25 | ●○○ |
# | 3.3 | step 3: training and evaluation | 12 | 75 | ●●○ |
# | 3.4 | step 4: the main training loop, optimizers, a search | 13.5 | 120 | ●●○ |
# | 3.5 | step 5: test the final model | 0.5 | 40 | ●●○ |
#
# With a GPU (in Colab: *Runtime → Change runtime type*) and a network you finetune the real
# `roberta-base` on the real SST-2. **Without them every cell still runs**, with a small RoBERTa and
# reviews made for this course; the notebook tells you which of the two you have, and every question can
# be answered with either.
#
# **How to work.** Fill in what says `TODO`, and remove the line that raises `NotImplementedError` when
# you do. The cell below each piece checks your work on the spot: it runs your code on a tiny model that
# keeps a diary, and tells you what your code did to it. (If a check says that a name is not defined, run
# the cell above it first.) A passing public check is a good sign; grading tries more. Questions (Q1.1 to
# Q5.1) are read by a person: a few sentences each. Printed, your answers and figures may fill **four
# pages**; short is good.

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
# - Nearly every mistake here trains without an error and only makes the numbers a little worse, or a
#   little too good. Ask people how they would notice: a forgotten `zero_grad`, dropout during
#   evaluation, a mean of batch means. The public checks name these; let people predict first.
# - The code of steps 1, 3 and 4 is graded on tiny models in seconds. What was trained (steps 2, 4
#   and 5) keeps the student's outputs and is not run again: read the answers beside them.
# - A wrong piece costs its own points only: `main` is graded on the student's own
#   `train_one_epoch` and `evaluate` first, and on right ones if that fails; feedback says which.
# - Accept whatever model and data the student had. The small ones are just as good for every question:
#   the numbers differ, the reasoning does not.
# - `test_predictions.csv` lets you recompute the accuracy that a student claims in Q5.1.
# ### END MARK SCHEME

# %% [markdown]
# ## 3.0 Step 0: preparation (5 minutes)

# %% setup="course"

# %%
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset
from tqdm.auto import tqdm
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

from course_utils import runtime
from course_utils.checks import check

DEVICE = runtime.device()  # a GPU if there is one
runtime.set_seed(64)
print(runtime.describe())

# %% [markdown]
# ## 3.1 Step 1: dataset, batches, dataloaders (60 minutes)
#
# Sentences reach a model in three stages. A **dataset** holds examples and hands them out one by
# one. A **collate function** turns a list of examples into one batch of tensors. A **dataloader**
# draws examples from the dataset, in some order, and has the collate function turn them into batches.
#
# Two pieces are **given**: the example, and the function that makes the three datasets.


# %%
@dataclass(frozen=True)
class SST2Example:
    """One sentence and what it expresses: 1 is positive, 0 is negative."""

    text: str
    label: int

    @classmethod
    def from_dict(cls, raw):
        """Make an example from {"text": ..., "label": ...}."""
        return cls(text=raw["text"], label=raw["label"])


def initialize_datasets(tokenizer):
    """Return {"train", "validation", "test"}, each an SST2Dataset."""
    from course_utils.sentiment import load_raw_splits

    splits = load_raw_splits(tokenizer)  # says where the sentences come from
    if runtime.profile() == "quick":  # to try the notebook out in a minute
        splits = {split: rows[:192] for split, rows in splits.items()}
    return {split: SST2Dataset(tokenizer, rows) for split, rows in splits.items()}


# %% [markdown]
# ### The dataset and its collate function
#
# Now finish `SST2Dataset`. Its `__init__` is given: it keeps the tokenizer **on the class**
# (`SST2Dataset.tokenizer`, one for all splits) and the examples in `self.sample_list`.
#
# - `len(dataset)`, `dataset[3]` and `for example in dataset` should do what they do for a list.
#   (2 points)
# - `collate_fn` is a *static* method: a dataloader calls it with a list of examples and nothing
#   else. It returns a dictionary with the tokenizer's `BatchEncoding` under `"text_encoding"`, and
#   the labels as one `LongTensor` under `"label_encoding"`. Call the tokenizer on the whole list of
#   texts at once, with `padding=True`, `max_length=512`, `truncation=True` and
#   `return_tensors="pt"`. (3 points)
#
# <details><summary>Hint 1: a nudge</summary>
#
# `self.sample_list` can already do everything a dataset needs. For the batch, collect the texts in one
# list and the labels in another.
#
# </details>
#
# <details><summary>Hint 2: shapes</summary>
#
# For B examples whose longest has T tokens: `input_ids` and `attention_mask` are (B, T), the labels
# are (B,), and their dtype is `torch.long`, because they are class ids and not quantities.
#
# </details>


# %% solve="SST2Dataset"
class SST2Dataset(Dataset):
    """Examples in a list, and how to make a batch of them."""

    tokenizer = None  # on the class: all splits share it

    def __init__(self, tokenizer, raw_data_list):
        SST2Dataset.tokenizer = tokenizer
        self.sample_list = [SST2Example.from_dict(raw) for raw in raw_data_list]

    def __len__(self):
        """Return the number of examples."""
        ### BEGIN SOLUTION
        return len(self.sample_list)
        ### END SOLUTION
        raise NotImplementedError("TODO: __len__")

    def __getitem__(self, idx):
        """Return one example, an SST2Example."""
        ### BEGIN SOLUTION
        return self.sample_list[idx]
        ### END SOLUTION
        raise NotImplementedError("TODO: __getitem__")

    def __iter__(self):
        """Return an iterator over all examples."""
        ### BEGIN SOLUTION
        return iter(self.sample_list)
        ### END SOLUTION
        raise NotImplementedError("TODO: __iter__")

    @staticmethod
    def collate_fn(batch):
        """Return {"text_encoding": BatchEncoding, "label_encoding": LongTensor (B,)}.

        batch is a list of B examples; the encoding's tensors are (B, T).
        """
        ### BEGIN SOLUTION
        text_encoding = SST2Dataset.tokenizer(
            [example.text for example in batch],
            padding=True,
            max_length=512,
            truncation=True,
            return_tensors="pt",
        )
        labels = [example.label for example in batch]
        return {
            "text_encoding": text_encoding,
            "label_encoding": torch.tensor(labels, dtype=torch.long),
        }
        ### END SOLUTION
        raise NotImplementedError("TODO: collate_fn")


# %% check="SST2Dataset" points=2
check("SST2Dataset", SST2Dataset)

# %% check="collate_fn" points=3
check("collate_fn", SST2Dataset)

# %% [markdown]
# **Q1.1** What do the arguments `padding`, `max_length`, `truncation` and `return_tensors` of a
# tokenizer do? (2 points)

# %% [markdown] answer="answer_q1_1" points=2
# - `padding` fills short sequences up with a special token, and marks the filled places with 0 in the
#   attention mask; with `True`, up to the longest sequence in the batch.
# - `truncation` says whether sequences over the limit are cut, and `max_length` is that limit, counted
#   in tokens, the special ones included.
# - `return_tensors` chooses what comes back: `"pt"` gives PyTorch tensors; without it you get lists.
#
# ### BEGIN MARK SCHEME
# - 0.5 points for each of the four. For `padding`, "to the same length" is enough; for
#   `max_length` it must be clear that tokens are counted, not characters or words.
# ### END MARK SCHEME

# %% [markdown]
# <details><summary>Compare, once you have written yours</summary>
#
# A good answer has one clause for each of the four, and says in what unit the length is counted.
#
# </details>

# %% [markdown]
# **Q1.2** And why are `padding=True`, `max_length=512`, `truncation=True` and
# `return_tensors="pt"` good values here? (2 points)

# %% [markdown] answer="answer_q1_2" points=2
# - The sentences of a batch have to stack into one rectangle so that a GPU can work on all of them at
#   once; padding only to the longest in the batch wastes far less than padding everything to 512.
# - RoBERTa was pretrained with positions for 512 tokens: a longer input has no position embedding and
#   fails, so 512 is the most that can be used, and cutting is better than failing. It also bounds
#   memory.
# - PyTorch tensors go straight into a PyTorch model.
#
# ### BEGIN MARK SCHEME
# - 0.5 points for each value with a reason that is about *this* model or batch. "Because it is the
#   default" earns nothing.
# ### END MARK SCHEME

# %% [markdown]
# <details><summary>Compare, once you have written yours</summary>
#
# A good answer gives a reason for each value that has to do with *this* model or with batches, not with
# defaults. What would happen with 600 tokens? With padding to 512 every time?
#
# </details>

# %% [markdown]
# ### The dataloaders
#
# Make one `DataLoader` for each split, with the given batch size and **our** collate function. The
# training data should come in a new random order in every epoch; validation and test data in their
# original order. No example may be lost. (2 points: splits, batch size and collating 1, the order of each
# split 1)
#
# <details><summary>Hint</summary>
#
# A static method can be passed on like any function, without calling it. Read what
# `torch.utils.data.DataLoader` does with `shuffle`, `collate_fn` and `drop_last`.
#
# </details>


# %% solve="make_dataloaders"
def make_dataloaders(datasets, batch_size):
    """Return {"train", "validation", "test"}, each a DataLoader.

    datasets has the same keys; only training data is shuffled.
    """
    ### BEGIN SOLUTION
    return {
        split: DataLoader(
            dataset,
            batch_size=batch_size,
            shuffle=split == "train",
            collate_fn=SST2Dataset.collate_fn,
        )
        for split, dataset in datasets.items()
    }
    ### END SOLUTION
    raise NotImplementedError("TODO: make_dataloaders")


# %% check="make_dataloaders" points=2
check("make_dataloaders", make_dataloaders, SST2Dataset=SST2Dataset)

# %% [markdown] keep="outputs"
# ## 3.2 Step 2: load the data (25 minutes)
#
# Now with real sentences. The `TODO`s in this section earn no points of their own, but everything below
# needs them; the questions are graded. What your cells print here is kept when you hand in.
#
# `find_model` returns what the usual `from_pretrained` takes, and chooses by your computer: with a GPU
# and a network it fetches `roberta-base` from the hub; otherwise it takes the small RoBERTa that comes
# with the course, because on a CPU `roberta-base` takes most of an hour *per epoch*. If you want it
# anyway, call `find_model("roberta-base")`. Any folder with a checkpoint works as well.

# %%
from course_utils.sentiment import find_model, suggest_settings

model_name = find_model()
settings = suggest_settings(model_name)
if runtime.profile() == "quick":
    settings = replace(settings, num_epochs=2)
print(settings)

# %% [markdown]
# With `roberta-base` the cell prints the settings of this assignment: batches of 64, learning rate 5e-5,
# 10 epochs, seed 64. With the small model it prints others, which suit that model better. Use what your
# cell printed.
#
# **TODO** (no points, but needed below): load the tokenizer that belongs to the model.

# %% solve="tokenizer"
tokenizer = ...
### BEGIN SOLUTION
tokenizer = AutoTokenizer.from_pretrained(model_name)
### END SOLUTION

# %% [markdown]
# **Predict, then run.** The tokenizer cuts rare words into pieces. Into how many tokens does it cut
# each of these, and what are the first and the last one? (What counts as rare depends on what the
# tokenizer was made from.)

# %%
for text in ("A fine film.", "An unwatchable, joyless film.", "absolutely"):
    if tokenizer is not ...:
        ids = tokenizer(text)["input_ids"]
        print(text, "->", len(ids), tokenizer.convert_ids_to_tokens(ids))

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# The tokenizer starts from bytes and joins what it has often seen together, so frequent words are one
# token and rare ones several: frequent in the texts it was made from, that is. The course's small
# tokenizer was made from the made-up reviews and knows "joyless" as one token, while it has to spell
# everyday words that never occur there; `roberta-base` has it the other way round. The `Ġ` in front of a
# token stands for a space. `<s>` and `</s>` enclose the sentence; the state of the first of them will be
# classified.
#
# </details>
#
# **TODO** (no points, but needed below): make the datasets with `initialize_datasets`, then look at the first training
# example and at the size of each split.

# %% solve="datasets"
datasets, first_example, split_sizes = ..., ..., ...
### BEGIN SOLUTION
datasets = initialize_datasets(tokenizer)
first_example = datasets["train"][0]
split_sizes = {split: len(dataset) for split, dataset in datasets.items()}
### END SOLUTION
print(first_example)
print(split_sizes)

# %% [markdown]
# **Q2.1** How many examples do the three splits have? (1 point)

# %% [markdown] answer="answer_q2_1" points=1
# SST-2 has 6,920 training, 872 validation and 1,821 test sentences. (The course's own set has
# {{sentiment.sizes.train}}, {{sentiment.sizes.validation}} and {{sentiment.sizes.test}}.)
#
# ### BEGIN MARK SCHEME
# - 1 point for the three numbers that the student's own cell above prints. With SST-2: 6,920 / 872 /
#   1,821; with the course's reviews: {{sentiment.sizes.train}} / {{sentiment.sizes.validation}} /
#   {{sentiment.sizes.test}}.
# ### END MARK SCHEME

# %% [markdown]
# <details><summary>Compare, once you have written yours</summary>
#
# A good answer says which number belongs to which split, and agrees with what your own cell printed.
#
# </details>
#
# **TODO** (no points, but needed below): make the dataloaders, and take the first batch of the *validation* data.

# %% solve="dataloaders"
dataloaders, first_batch = ..., ...
### BEGIN SOLUTION
dataloaders = make_dataloaders(datasets, settings.batch_size)
first_batch = next(iter(dataloaders["validation"]))
### END SOLUTION
if first_batch is not ...:
    encoding = first_batch["text_encoding"]
    for name, tensor in (*encoding.items(), ("label_encoding", first_batch["label_encoding"])):
        print(f"{name:15} {tuple(tensor.shape)} {tensor.dtype}")
    print(encoding["input_ids"][0])
    print(encoding["attention_mask"][0])

# %% [markdown]
# **Q2.2** What do the arguments `batch_size`, `shuffle` and `collate_fn` of a `DataLoader` do? There
# is a fourth that we left at its default, `num_workers`: what would it change? (1 point)

# %% [markdown] answer="answer_q2_2" points=1
# - `batch_size`: how many examples go into one batch, and so into one step.
# - `shuffle`: whether every pass takes the examples in a new random order.
# - `collate_fn`: turns the list of examples into one batch; ours tokenises and pads.
# - `num_workers`: how many extra processes prepare batches while the model computes; with 0 it happens
#   in the main process, one after the other.
#
# ### BEGIN MARK SCHEME
# - 0.25 points each. For `num_workers`, "loads in parallel" is enough.
# ### END MARK SCHEME

# %% [markdown]
# <details><summary>Compare, once you have written yours</summary>
#
# A good answer has one clause for each of the four; for the last, it says what would run in parallel.
#
# </details>

# %% [markdown]
# **Q2.3** What are the type and shape of `input_ids`, `attention_mask` and `label_encoding` in the first
# validation batch, and what do they mean? (1 point)

# %% [markdown] answer="answer_q2_3" points=1
# All three are tensors of 64-bit integers. With SST-2 and batches of 64, `input_ids` and
# `attention_mask` are [64, 45]: 64 sentences, the longest of which has 45 tokens. `input_ids` holds each
# token's number in the vocabulary; the mask has 1 for tokens and 0 for padding, which attention must
# leave out. `label_encoding` is [64], a class id for each sentence.
#
# ### BEGIN MARK SCHEME
# - 0.5 points: types and shapes as printed by the student's own cell (with SST-2: [64, 45], [64, 45],
#   [64]).
# - 0.5 points: what they mean; for the mask, that padding is kept out of attention.
# ### END MARK SCHEME

# %% [markdown]
# <details><summary>Compare, once you have written yours</summary>
#
# A good answer gives dtype and shape of all three as your own cell prints them, says where each dimension
# comes from, and what the mask is for.
#
# </details>

# %% [markdown]
# ## 3.3 Step 3: training and evaluation (75 minutes)
#
# Three functions: count right answers, train for one epoch, evaluate. They work with any sequence
# classifier from `transformers`. Call such a model with the encoding's tensors as keyword arguments, and
# with the labels if you want it to compute the loss:
#
#     outputs = model(input_ids=..., attention_mask=..., labels=...)
#     outputs.loss     # the mean over this batch
#     outputs.logits   # (B, 2), one per class; the larger, the more likely
#
# ### Accuracy
#
# **Predict, then run.** A first batch has 4 right answers out of 4, the last one is short and has 0
# out of 1. What is the accuracy? And the mean of the two batches' accuracies?

# %%
print("right answers among all:", 4 / 5, "  mean of the batches:", (4 / 4 + 0 / 1) / 2)

# %% [markdown]
# The last batch is nearly always shorter, so a mean of batch means gives its examples too much weight.
# The same holds for losses. In this notebook every accuracy and every loss is **a mean over examples**.
#
# Write `compute_accuracy`: two tensors of class ids of the same length in, a plain Python number
# between 0 and 1 out. (2 points; a tensor that holds the right number counts, with a remark)
#
# <details><summary>Hint</summary>
#
# Comparing two tensors gives one boolean per pair. PyTorch cannot average booleans; turn them into
# floats first. `.item()` turns a tensor with one entry into a Python number.
#
# </details>


# %% solve="compute_accuracy"
def compute_accuracy(predictions, labels):
    """Return the share of predictions that are right, as a float.

    predictions, labels (N,): class ids

    >>> compute_accuracy(torch.tensor([0, 1, 1, 0]), torch.tensor([0, 1, 0, 0]))
    0.75
    """
    ### BEGIN SOLUTION
    return (predictions == labels).float().mean().item()
    ### END SOLUTION
    raise NotImplementedError("TODO: compute_accuracy")


# %% check="compute_accuracy" points=2
check("compute_accuracy", compute_accuracy)

# %% [markdown]
# ### Training and evaluation mode
#
# **Predict, then run.** A layer of dropout gets eight ones, twice in training mode and twice in
# evaluation mode. What comes out?

# %%
runtime.set_seed(64)
dropout = nn.Dropout(p=0.5)
for mode in (True, True, False, False):
    dropout.train(mode)
    print("training  " if mode else "evaluation", dropout(torch.ones(8)).tolist())

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# In training mode each number is dropped with probability one half, afresh in every call, and the
# others are doubled so that the mean stays the same. In evaluation mode the layer does nothing. A model
# passes its mode on to all its layers, and stays in it until you change it.
#
# </details>
#
# ### One epoch of training
#
# Write `train_one_epoch`: one pass over the dataloader, one step per batch. It returns
# `{"loss": ..., "accuracy": ...}`, plain numbers, over **all examples of the epoch**, each counted as
# the model answered it during this pass (so there is no second pass). `epoch` is for the progress
# bar. (4 points: what the model is afterwards, by its mode, steps and devices, 2; accuracy 1; loss 1)
#
# - Set the mode that training needs.
# - Move each batch to where the model is: `model.device`.
# - Three calls compute the gradients and update the weights. Their order matters.
# - Wrap the dataloader in `tqdm(...)` for a bar that shows how long it will take.
#
# <details><summary>Hint 1: a nudge</summary>
#
# Collect each batch's predictions and labels in lists and join them at the end with `torch.cat`; then
# your `compute_accuracy` does the rest. `outputs.loss` is a mean over its batch: what must it be
# multiplied by before it can be added up?
#
# </details>
#
# <details><summary>Hint 2: shapes</summary>
#
# Logits are (B, 2), so the predicted classes, (B,), are found along the last dimension. A
# `BatchEncoding` has `.to(device)`, and `**` unpacks it into named arguments. Add up
# `loss.item()`, not the loss itself, which would keep the whole graph in memory.
#
# </details>


# %% solve="train_one_epoch"
def train_one_epoch(model, dataloader, optimizer, epoch):
    """Train for one pass; return {"loss", "accuracy"} over all its examples."""
    ### BEGIN SOLUTION
    model.train()
    total_loss, predictions, labels = 0.0, [], []
    for batch in tqdm(dataloader, desc=f"epoch {epoch}", leave=False):
        text = batch["text_encoding"].to(model.device)
        label = batch["label_encoding"].to(model.device)  # (B,)
        outputs = model(**text, labels=label)
        optimizer.zero_grad()
        outputs.loss.backward()
        optimizer.step()
        total_loss += outputs.loss.item() * len(label)
        predictions.append(outputs.logits.argmax(dim=-1))  # (B,)
        labels.append(label)
    predictions, labels = torch.cat(predictions), torch.cat(labels)  # (N,)
    return {"loss": total_loss / len(labels), "accuracy": compute_accuracy(predictions, labels)}
    ### END SOLUTION
    raise NotImplementedError("TODO: train_one_epoch")


# %% check="train_one_epoch" points=4
check("train_one_epoch", train_one_epoch)

# %% [markdown]
# **Q3.1** Three calls in your loop compute gradients and update the weights. What does each of them do?
# (1 point)

# %% [markdown] answer="answer_q3_1" points=1
# - `optimizer.zero_grad()` clears the gradients of the previous batch, because PyTorch adds new ones to
#   what is there.
# - `loss.backward()` computes, by the chain rule, the gradient of the loss with respect to every weight
#   that needs one, and stores it with the weight.
# - `optimizer.step()` changes the weights using those gradients, according to the optimizer's rule.
#
# ### BEGIN MARK SCHEME
# - 1 point for all three, half for two. For `zero_grad` the reason (gradients add up) is needed.
# ### END MARK SCHEME

# %% [markdown]
# <details><summary>Compare, once you have written yours</summary>
#
# A good answer has one sentence per call, in the order in which they run, and says why clearing the
# gradients is needed at all.
#
# </details>

# %% [markdown]
# ### Evaluation
#
# Write `evaluate`: the same two numbers, without changing the model. Set the mode that evaluation needs,
# compute no gradients, change no weights. (3 points: mode, gradients and weights 1; accuracy 1; loss 1. A
# slip that `train_one_epoch` has paid for, such as a mean of batch means, costs nothing here.)
#
# <details><summary>Hint</summary>
#
# Two different switches: one is about what layers do, the other about what PyTorch remembers. You need
# both. The second works as `with torch.no_grad():` or as a decorator, and ends by itself.
#
# </details>


# %% solve="evaluate"
def evaluate(model, dataloader):
    """Return {"loss", "accuracy"} over all examples; leave the model's weights as they are."""
    ### BEGIN SOLUTION
    model.eval()
    total_loss, predictions, labels = 0.0, [], []
    with torch.no_grad():
        for batch in dataloader:
            text = batch["text_encoding"].to(model.device)
            label = batch["label_encoding"].to(model.device)  # (B,)
            outputs = model(**text, labels=label)
            total_loss += outputs.loss.item() * len(label)
            predictions.append(outputs.logits.argmax(dim=-1))  # (B,)
            labels.append(label)
    predictions, labels = torch.cat(predictions), torch.cat(labels)  # (N,)
    return {"loss": total_loss / len(labels), "accuracy": compute_accuracy(predictions, labels)}
    ### END SOLUTION
    raise NotImplementedError("TODO: evaluate")


# %% check="evaluate" points=3
check("evaluate", evaluate)

# %% [markdown]
# **Q3.2** What changes when you put a model into training mode, and into evaluation mode? (1 point)

# %% [markdown] answer="answer_q3_2" points=1
# It tells every layer how to behave. In training mode dropout switches random units off (and batch
# normalisation, where there is any, uses the batch's statistics); in evaluation mode dropout is off and
# stored statistics are used, so that the same input always gives the same answer. It does not switch
# gradients on or off.
#
# ### BEGIN MARK SCHEME
# - 0.5 points for each mode, with at least one layer that behaves differently (dropout; RoBERTa has no
#   batch normalisation). Saying that evaluation mode turns gradients off costs 0.5.
# ### END MARK SCHEME

# %% [markdown]
# <details><summary>Compare, once you have written yours</summary>
#
# A good answer names a layer that behaves differently in the two modes, and does not confuse the mode
# with the other switch, the one about gradients.
#
# </details>

# %% [markdown]
# **Q3.3** What does `with torch.no_grad()` do in `evaluate`, and why is it there? (1 point)

# %% [markdown] answer="answer_q3_3" points=1
# Inside the block PyTorch does not record operations for gradients. Nothing will be learned from the
# evaluation, so keeping every intermediate result would only cost memory and time.
#
# ### BEGIN MARK SCHEME
# - 0.5 points: no recording of the graph, no gradients. 0.5 points: saves memory or time.
# ### END MARK SCHEME

# %% [markdown]
# <details><summary>Compare, once you have written yours</summary>
#
# A good answer says what PyTorch stops doing inside the block, and what that saves.
#
# </details>

# %% [markdown]
# ## 3.4 Step 4: the main training loop (120 minutes)
#
# Write `main`. In every epoch, counted from 1: train, then evaluate on the validation split. Whenever
# an epoch's **validation accuracy** is better than all before, save the model with
# `model.save_pretrained(checkpoint_dir)`; on a tie, keep the earlier epoch. Return the history, a list
# with one entry per epoch:
#
#     {"epoch": 1, "train": {"loss": ..., "accuracy": ...}, "validation": {"loss": ..., "accuracy": ...}}
#
# The test split is not touched here, though it is among the dataloaders. The optimizer that is given
# makes the steps; you may change its learning rate from epoch to epoch with a schedule, but need not.
# (4 points: training and history 2; the checkpoint 2)
#
# <details><summary>Hint</summary>
#
# The two functions of step 3 return exactly what goes into an entry. What should "the best so far" be
# before the first epoch, so that the first one is always saved?
#
# </details>


# %% solve="main"
def main(model, dataloaders, optimizer, num_epochs, checkpoint_dir):
    """Train, keep the best epoch by validation accuracy in checkpoint_dir, return the history."""
    ### BEGIN SOLUTION
    history, best = [], -1.0
    for epoch in range(1, num_epochs + 1):
        train = train_one_epoch(model, dataloaders["train"], optimizer, epoch)
        validation = evaluate(model, dataloaders["validation"])
        history.append({"epoch": epoch, "train": train, "validation": validation})
        if validation["accuracy"] > best:
            best = validation["accuracy"]
            model.save_pretrained(checkpoint_dir)
    return history
    ### END SOLUTION
    raise NotImplementedError("TODO: main")


# %% check="main" points=4
check("main", main)

# %% [markdown] keep="outputs"
# ### Finetune (20 minutes with a GPU)
#
# From here on a person grades your answers; no program does. The outputs of the cells below (and of
# cells you add) are kept as they are when you hand in, and not run again.
#
# First the model: pretrained weights, and a new head for two classes on top. `transformers` prints
# what it found. `MISSING` are the weights of the new head, which start at random; `UNEXPECTED` are those
# of the old head, which guessed masked words and is no longer needed.


# %%
from transformers.utils import logging

from course_utils.sentiment.finetuning import (
    compare_optimizers,
    estimate_training,
    measure_learning_curve,
    mixed_precision,
    search,
)
from course_utils.sentiment.resuming import train_resumably
from course_utils.plots.sentiment import plot_curves, plot_learning_curve, plot_optimizers


def make_model():
    """Return the pretrained model with a fresh head, on the device."""
    return AutoModelForSequenceClassification.from_pretrained(model_name, num_labels=2).to(DEVICE)


def make_untrained():
    """Return the same architecture with random weights."""
    config = AutoConfig.from_pretrained(model_name, num_labels=2)
    return AutoModelForSequenceClassification.from_config(config).to(DEVICE)


runtime.set_seed(settings.seed)
model = make_model()
print(f"{model.num_parameters():,} parameters on {model.device}")
logging.set_verbosity_error()  # the report above comes with every model; once is enough
logging.disable_progress_bar()  # of reading and writing files, which takes no time

# %% [markdown]
# **Predict, then run.** The head is random and has seen no label. What accuracy and what loss should
# the model have now? (Two classes, about equally frequent.)

# %%
if dataloaders is not ...:
    unseen = dataloaders["validation"]
    print(evaluate(model, unseen))

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# A model that finds both classes about equally likely has a loss of $-\ln \frac12 \approx 0.69$ and is
# right about half of the time. A random head may lean to one side, and being confidently wrong costs
# more: a loss of up to 0.9 is no reason to worry. If yours is far higher, look for a mistake before
# training.
#
# </details>
#
# Now the training. How long will it take? This cell times one batch. If the answer is more than an hour,
# it stops and asks you first.

# %%
PATIENT = False  # write True to start a training of more than an hour all the same
estimate_training(model, dataloaders, settings.num_epochs, patient=PATIENT)

# %% [markdown]
# `train_resumably` calls **your** `main` one epoch at a time, and keeps enough on disk to go on: if the
# session is lost or you stop it, run the same cell again, and it continues after the last finished
# epoch. To start over, for example after correcting your code, delete the folder first, here
# `checkpoints/default`. (Your bar says "epoch 1" every time; the line above it says which epoch it
# really is, and the history numbers them correctly. In Colab, put the folder on your Drive so that it
# outlives the machine.) On a GPU, `mixed_precision` does most of the work in 16 bits, which is usually a
# good deal faster.

# %%
runtime.set_seed(settings.seed)
optimizer = torch.optim.AdamW(model.parameters(), lr=settings.learning_rate, eps=1e-8)
with mixed_precision(model, optimizer):
    history = train_resumably(
        main, model, dataloaders, optimizer, settings.num_epochs, "checkpoints/default"
    )
plot_curves(history)

# %% [markdown]
# **Q4.1** Show the training and validation **loss** over the epochs in one plot, and the two
# **accuracies** in another (with the settings given above). If the figure above shows both, name its
# axes and splits here in a sentence (what the curves *do* belongs in Q4.2); otherwise add your own. (2
# points)

# %% [markdown] answer="answer_q4_1" points=2
# See the figure above, made with the given settings: on the left training and validation loss, on
# the right the two accuracies, by epoch.
#
# ### BEGIN MARK SCHEME
# - 1 point: losses, both splits, epochs on the x-axis, axes named. 1 point: accuracies likewise.
# - The kept outputs above count as the student's figure. Numbers in words are as good as a plot for
#   those who cannot use one.
# ### END MARK SCHEME

# %% [markdown]
# <details><summary>Compare, once you have written yours</summary>
#
# A good answer has losses and accuracies of both splits over the epochs, and names axes and splits.
#
# </details>

# %% [markdown]
# **Q4.2** Describe the curves. In which epoch is the accuracy best on training data, and
# in which on validation data? Do the two follow the same trend? Why, or why not? (2 points)

# %% [markdown] answer="answer_q4_2" points=2
# The training loss falls in every epoch; training accuracy rises to nearly 100 % and is best in one of
# the last epochs. The validation loss falls at first and then rises. Validation accuracy is best early
# (with roberta-base on SST-2 within the first three epochs, at about 93-94 %), then moves up and down by
# a point. The trends part because the model begins to fit the peculiarities of the training sentences:
# it becomes ever more confident, and where it is wrong on new sentences, confidence costs more. That is
# overfitting; it is why `main` keeps the best epoch and not the last.
#
# With the course's small model, the training loss falls in every epoch
# ({{sentiment.default.train_losses}}), and the validation loss goes
# {{sentiment.default.validation_losses}}. Training accuracy is best in epoch
# {{sentiment.default.best_train_epoch}} and validation accuracy
# ({{sentiment.default.validation_accuracies}}) in epoch {{sentiment.default.best_epoch}} of
# {{sentiment.default.epochs}}, with {{sentiment.default.best_train}} on training data. The two
# go together most of the way: so few epochs are not enough to learn the training sentences by heart.
# Validation accuracy can even lie above training accuracy, because the latter is counted along the way,
# with dropout on and with weights that were worse at the beginning of the epoch than at its end.
#
# ### BEGIN MARK SCHEME
# - 1 point: best epochs of both splits, in agreement with the student's own history.
# - 1 point: compares the trends and explains the gap (fits the training data's particulars;
#   generalisation). With a small model whose curves go together, saying why no overfitting shows yet is
#   just as good.
# ### END MARK SCHEME

# %% [markdown]
# <details><summary>Compare, once you have written yours</summary>
#
# A good answer names both best epochs from your own history, says whether the two curves part, and
# explains it: what does a model go on learning when validation no longer improves?
#
# </details>

# %% [markdown]
# **Q4.3** Why do you shuffle the training data, but not the validation data? (1 point)

# %% [markdown] answer="answer_q4_3" points=1
# The order of the training examples decides which ones share a step and what is learned last; with a new
# random order in each epoch the noise of single steps averages out, instead of pushing in the same
# direction every time. Evaluation changes nothing, so every order gives the same numbers, and a fixed one
# keeps predictions aligned with the sentences.
#
# ### BEGIN MARK SCHEME
# - 0.5 points: training depends on the order (updates; batches should vary). 0.5 points: validation
#   does not.
# ### END MARK SCHEME

# %% [markdown]
# <details><summary>Compare, once you have written yours</summary>
#
# A good answer says what the order can do to training, and why it can do nothing to an evaluation.
#
# </details>

# %% [markdown] keep="outputs"
# ### What was pretraining worth? (20 minutes)
#
# **Predict, then run.** The same architecture, the same data, the same settings, but with random
# weights in place of the pretrained ones. What will its validation accuracy be, compared with the run
# above? (With `roberta-base` this takes as long as that run; skip it if your time on the GPU is short.)

# %%
runtime.set_seed(settings.seed)
untrained = make_untrained()
untrained_optimizer = torch.optim.AdamW(untrained.parameters(), lr=settings.learning_rate, eps=1e-8)
with mixed_precision(untrained, untrained_optimizer):
    untrained_history = train_resumably(
        main,
        untrained,
        dataloaders,
        untrained_optimizer,
        settings.num_epochs,
        "checkpoints/untrained",
    )
plot_optimizers({"pretrained": history, "random weights": untrained_history})

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# The head is equally new in both, and both see the same labels. What differs is what the layers below
# bring along: the pretrained ones already know which words behave alike, so a few labels go a long way;
# the random ones have to learn that from the labels as well.
#
# </details>
#
# **Predict, then run.** How does the gap change with the number of labelled examples? Each point below
# is one short run with the same number of steps, on the first 50, 200, ... training sentences. (Eight
# runs in all; with `roberta-base` you may skip this one, too.)

# %%
curves = measure_learning_curve(
    main,
    {"pretrained": make_model, "random weights": make_untrained},
    datasets,
    (50, 200, 1000),  # and all of them
    settings,
    steps=10 if runtime.profile() == "quick" else 200,
)
plot_learning_curve(curves)

# %% [markdown]
# <details><summary>What to look for</summary>
#
# With very few labels neither model can tell much. Where the curves part you see what pretraining is
# worth, and it can be read in two ways: upwards as accuracy, sideways as the number of labels you did not
# have to pay for. (These runs are short, far shorter than the one above, so neither curve shows how far
# its model could get.) One run per point is noisy; differences of less than four or five points mean
# little (with 400 validation sentences, chance alone moves an accuracy by about two percentage points).
#
# </details>

# %% [markdown] keep="outputs"
# ### Optimizers (30 minutes)
#
# **Q4.4** What does an optimizer do? (1 point)

# %% [markdown] answer="answer_q4_4" points=1
# It decides how the weights change, given their gradients: against the gradient, times a learning
# rate, and, depending on the kind, with a memory of earlier gradients (momentum) and a step size of its
# own for each weight. Its aim is a low loss in few steps.
#
# ### BEGIN MARK SCHEME
# - 0.5 points: updates the weights from gradients. 0.5 points: so as to lower the loss, or what
#   distinguishes optimizers (learning rate, momentum, step size for each weight).
# ### END MARK SCHEME

# %% [markdown]
# <details><summary>Compare, once you have written yours</summary>
#
# A good answer says what goes in, what comes out, and to what end.
#
# </details>

# %% [markdown]
# `compare_optimizers` runs your `main` once for each optimizer, all from the same start. **TODO** (not
# graded): choose **two others** from `torch.optim` and add them below. Fewer epochs than above are
# enough. Before you run it, write down which one you expect to learn fastest, and why.

# %% solve="optimizers"
EPOCHS = 1 if runtime.profile() == "quick" else 3
rate = settings.learning_rate
optimizers = {"AdamW": lambda parameters: torch.optim.AdamW(parameters, lr=rate, eps=1e-8)}
### BEGIN SOLUTION
optimizers["SGD"] = lambda parameters: torch.optim.SGD(parameters, lr=rate)
optimizers["Adagrad"] = lambda parameters: torch.optim.Adagrad(parameters, lr=rate)
### END SOLUTION
histories = compare_optimizers(
    main, make_model, dataloaders, optimizers, EPOCHS, "checkpoints/optimizers"
)
plot_optimizers(histories)

# %% [markdown]
# **Q4.5** How do the two differ from AdamW, in how they work and in what you measured? Back up what you
# say with numbers or a figure. (2 points)

# %% [markdown] answer="answer_q4_5" points=2
# At the same learning rate SGD hardly moves: on SST-2 validation accuracy stays near 50 %, because its
# steps are the bare gradient times 5e-5, while AdamW divides by the gradient's own size and so takes
# steps of about the learning rate, whatever the gradient. Adagrad also scales each weight's step, but by
# *all* squared gradients since the start. Its first step is as long as AdamW's; after that its steps
# shrink, so the gap between the two grows. SGD needs a far higher rate to learn at all.
#
# With the course's small model, three epochs at {{sentiment.settings.rate}}, training losses by epoch and
# best validation accuracy: AdamW {{sentiment.adamw.train_losses}} and {{sentiment.adamw.best_validation}};
# Adagrad {{sentiment.adagrad.train_losses}} and {{sentiment.adagrad.best_validation}}; SGD
# {{sentiment.sgd.train_losses}} and {{sentiment.sgd.best_validation}}.
#
# ### BEGIN MARK SCHEME
# - 1 point: how each differs from AdamW in its rule (no step size of its own for each weight,
#   momentum, sum against moving average, ...).
# - 1 point: a number or figure from the student's own runs for both. On SST-2, SGD at 5e-5 staying
#   near 50 % is right, not a mistake; a fair word on the learning rate is welcome.
# - An earlier report on SST-2 with Adagrad: 87 % to 98 % on training, 91 % to 93 % on validation data.
# ### END MARK SCHEME

# %% [markdown]
# <details><summary>Compare, once you have written yours</summary>
#
# A good answer says for each of your two how its step differs from AdamW's, gives a number from your own
# runs for each, and asks whether one learning rate is fair to all three.
#
# </details>

# %% [markdown] keep="outputs"
# ### A search (30 minutes)
#
# So far batch size, learning rate and number of epochs were given. Now look for better ones. `search`
# runs your `main` once for each choice, collects the runs in a table, saves each one as soon as it
# finishes (run the cell again after an interruption; to start over, delete `checkpoints/search`), and
# keeps the best run's model in the folder `best`. It makes batches of sentences of similar length, so
# that less padding is computed; otherwise the code is yours.
#
# **TODO** (not graded): which choices do you try, and in which order? One is filled in, to show the form.

# %% solve="choices"
choices = [replace(settings, num_epochs=EPOCHS)]
### BEGIN SOLUTION
choices = [
    replace(settings, learning_rate=factor * settings.learning_rate, num_epochs=EPOCHS)
    for factor in (0.4, 1.0, 2.0)
]
### END SOLUTION
runs = search(main, make_model, datasets, choices, "checkpoints/search")
runs

# %% [markdown]
# **Q4.6** Which combinations of batch size, learning rate and number of epochs did you try, by which
# strategy, and why that one? (1 point)

# %% [markdown] answer="answer_q4_6" points=1
# Three learning rates, 0.4, 1 and 2 times the given one, with the given batch size and a few epochs
# each. One thing at a time, and the learning rate first, because it matters most; by factors, because
# its effect is multiplicative. I left the batch size alone for lack of time, and the number of epochs
# needs no search of its own, since the best epoch is kept. This is cheaper than a full grid; with more
# parameters than these I would search at random.
#
# ### BEGIN MARK SCHEME
# - 0.5 points: says which values and by which strategy (grid, random, one at a time, coarse to fine).
# - 0.5 points: a reason. Choosing by test accuracy loses this half.
# ### END MARK SCHEME

# %% [markdown]
# <details><summary>Compare, once you have written yours</summary>
#
# A good answer lists the values, names the strategy, and gives a reason for it. By which split did you
# choose?
#
# </details>

# %% [markdown]
# **Q4.7** What are batch size, learning rate and number of epochs of the model you choose? What are its
# accuracies on training and validation data? (0.5 points)

# %% [markdown] answer="answer_q4_7" points=0.5
# The row marked as best in the table above: its batch size, learning rate, epochs, and its two
# accuracies. With the small model the long run beats the short ones of the search (the best of which
# reaches {{sentiment.search.best_validation}} at {{sentiment.search.best_rate}}), and saying so is right:
# batches of {{sentiment.settings.batch}}, learning rate {{sentiment.settings.rate}}, epoch
# {{sentiment.default.best_epoch}} of {{sentiment.default.epochs}}, {{sentiment.default.best_train}} on
# training and {{sentiment.default.best_validation}} on validation data.
#
# ### BEGIN MARK SCHEME
# - 0.5 points for all five numbers, in agreement with the student's own runs.
# - An earlier report on SST-2 chose batches of 64, learning rate 2e-6 and 10 epochs.
# ### END MARK SCHEME

# %% [markdown]
# <details><summary>Compare, once you have written yours</summary>
#
# A good answer has the three settings and both accuracies, each to be found in an output above. Is there
# any run, the long one at the start included, that does better on the validation data?
#
# </details>

# %% [markdown] keep="outputs"
# ## 3.5 Step 5: test the final model (40 minutes)
#
# Now, once, the test split. **TODO** (not graded): put the folder of your best checkpoint into
# `best_folder`, load the model from it with `from_pretrained`, and evaluate it on the test data.

# %% solve="test_report"
best_folder, best_model, test_report = ..., ..., ...
### BEGIN SOLUTION
default_best = max(record["validation"]["accuracy"] for record in history)
searched = runs.best["validation_accuracy"] > default_best
best_folder = Path("checkpoints/search/best" if searched else "checkpoints/default")
best_model = AutoModelForSequenceClassification.from_pretrained(best_folder).to(DEVICE)
test_report = evaluate(best_model, dataloaders["test"])
### END SOLUTION
print(best_folder, test_report)

# %% [markdown]
# **TODO** (not graded): a number on its own is only a claim. Save the model's prediction for every test
# sentence, so that anyone can check it.
#
# - `classify(model, tokenizer, texts)` returns the probabilities of both classes for each text, (N, 2).
# - `write_predictions(path, texts, labels, predictions)` makes the file, from N class ids each for labels
#   and predictions.
#
# **Hand in `test_predictions.csv` together with this notebook.**

# %% solve="predictions"
from course_utils.sentiment.predictions import classify, read_mistakes, write_predictions
from course_utils.plots.sentiment import plot_attention, plot_confusion, plot_deletions

examples = datasets["test"].sample_list if datasets is not ... else []
texts = [example.text for example in examples]
labels = [example.label for example in examples]
probabilities, predictions = ..., ...
### BEGIN SOLUTION
probabilities = classify(best_model, tokenizer, texts)  # (N, 2)
predictions = probabilities.argmax(dim=-1)  # (N,)
write_predictions("test_predictions.csv", texts, labels, predictions)
### END SOLUTION
if predictions is not ...:
    share = compute_accuracy(predictions, torch.tensor(labels))
    print(f"accuracy by these predictions: {share:.4f}")

# %% [markdown]
# **Q5.1** What is the accuracy of your best model on the test split? (0.5 points)

# %% [markdown] answer="answer_q5_1" points=0.5
# The number printed above. With the course's small model and data it is {{sentiment.default.test}}
# ({{sentiment.default.mistakes}} mistakes in {{sentiment.sizes.test}} sentences); with roberta-base on
# SST-2 one can expect between 93 and 95 %.
#
# ### BEGIN MARK SCHEME
# - 0.5 points for a number that `test_predictions.csv` bears out. On SST-2, 93.3 % and 94.8 % have been
#   reported; our own run of the small model gives {{sentiment.default.test}}, and other seeds and choices
#   differ by a few points.
# ### END MARK SCHEME

# %% [markdown]
# <details><summary>Compare, once you have written yours</summary>
#
# A good answer is one number that anyone can recompute from your file. It is an honest one if no choice
# before it looked at the test split.
#
# </details>

# %% [markdown]
# ### Look at the mistakes
#
# **Predict, then run.** Does the model make more false positives or more false negatives?

# %%
plot_confusion(labels, predictions)

# %%
print(read_mistakes(texts, labels, probabilities, count=5))

# %% [markdown]
# <details><summary>What to look for</summary>
#
# If the two kinds of mistake are about equally frequent, the model leans neither way; if not, compare
# with the share of each label in the training data before you blame the model. As a rule of thumb, with
# $n$ mistakes in all a difference smaller than about $2\sqrt{n}$ may be chance.
#
# </details>
#
# Read the mistakes aloud. Can you name what several of them have in common: negation, irony, a turn
# after "but"? Do you agree with every label?
#
# ### Where does attention look?
#
# The picture shows the last layer's weights from the first token, whose state is classified. It is
# tempting to read them as reasons. **Be careful**: attention weights say where information *may* come
# from, not what the values carry, nor what earlier layers have already mixed. The same model can often
# reach the same decision with very different attention weights (see *Read on*). Take the picture as a
# question, and test it: leave out a word and see whether the answer changes.
#
# **Predict, then run.** The second figure leaves out one word at a time. Will the words that matter be
# those with the largest weights?

# %%
sentence = "The plot is thin, but the acting is wonderful."
plot_attention(best_model, tokenizer, sentence)

# %%
plot_deletions(best_model, tokenizer, sentence)

# %% [markdown]
# <details><summary>What to look for</summary>
#
# Put the two figures side by side (the deletions take a word together with its punctuation). Often a
# word with a large weight can go without changing much, and a word with a small weight decides. Deletion
# measures what a word does to *this* decision; it has limits of its own: a sentence with a gap in it may
# be unlike anything the model has ever seen.
#
# </details>
#
# Now replace whole words:

# %%
for changed in (
    sentence,
    sentence.replace("wonderful", "dreadful"),
    sentence.replace("but", "and"),
):
    print(f"{float(classify(best_model, tokenizer, [changed])[0, 1]):.3f} positive: {changed}")

# %% [markdown]
# ## Read on
#
# - Liu and others, [RoBERTa: A Robustly Optimized BERT Pretraining
#   Approach](https://arxiv.org/abs/1907.11692), 2019.
# - Socher and others, [Recursive Deep Models for Semantic Compositionality Over a Sentiment
#   Treebank](https://aclanthology.org/D13-1170/), 2013: where SST comes from.
# - Is attention an explanation? [Jain and Wallace](https://arxiv.org/abs/1902.10186), 2019, say it is
#   not; [Wiegreffe and Pinter](https://arxiv.org/abs/1908.04626), 2019, reply that it depends on what
#   one asks of an explanation.
#
# ## Before you hand in
#
# Save the notebook **with its outputs**: those of steps 2, 4 and 5 are read as you made them. Every
# check should say "public check passed", and every written cell, the one about collaborators included,
# should contain your own answer. Hand in `test_predictions.csv` with the notebook.

# %% [markdown] keep="outputs"
# ### Where do I stand?
#
# **Save the notebook first** (Ctrl+S). This cell then runs the saved file from top to bottom in a fresh
# kernel, except the trainings, and tells you which public checks pass and what is still open.

# %%
from course_utils.handing_in import check_notebook

check_notebook("3_finetune_roberta")

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
