"""What to say about each known mistake in notebook 3: a name for reports, a sentence to a person.

Both the checks in the notebook and the judge speak through this table. A sentence says what is
seen and why it matters; finding what to do instead is the learner's part.
"""

WORDS = {
    # ---------------------------------------------------------------------- any piece
    "todo-open": "the TODO is still open: write the body and return its result.",
    "not-defined": "there is nothing of this name. Run its cell; keep its name as it was.",
    "not-a-function": "this name does not hold a function any more. Was it used for something else?",
    "returned-none": "it returned None. Is a `return` missing at the end?",
    "raised": "it stopped with an error.",
    "wrong-keys": "the dictionary has other keys than asked for. Names are part of the contract.",
    "not-a-dict": "it should return a dictionary.",
    "returned-tensor": (
        "a number came back as a tensor. Give plain Python numbers: a tensor may hold on to a GPU "
        "and to a whole graph of gradients, and cannot be written to a file as it is."
    ),
    "not-a-number": "it should return a number.",
    "input-changed": "it has changed a tensor that it was given; whoever called may still need it.",
    # -------------------------------------------------------------------- SST2Dataset
    "samples-changed": (
        "`sample_list` should hold one SST2Example for each dictionary. The given __init__ makes it "
        "so: leave it as it was."
    ),
    "length-off": "the length is not the number of examples in `sample_list`.",
    "length-fixed": "the length is the same however many examples there are.",
    "length-of-one-example": "the length is that of one example, not the number of examples.",
    "item-is-text": "an item should be the whole example; this is its text alone, without the label.",
    "item-not-an-example": (
        "an item should be an SST2Example as it is in `sample_list`. Taking it apart or encoding "
        "it is the collate function's work, for a whole batch at once."
    ),
    "item-always-first": "every index gives the same item: the index is not used.",
    "wrong-item": "an index gives another example than the one at that place of `sample_list`.",
    "iterates-once": (
        "a second loop over the dataset finds nothing, or two loops disturb each other. Every loop "
        "should begin anew."
    ),
    "iter-not-an-iterator": "__iter__ must return an iterator; a list is not one, it only has one.",
    "iter-wrong-items": "a loop over the dataset gives other things than its examples, in order.",
    # --------------------------------------------------------------------- collate_fn
    "not-static": (
        "`SST2Dataset.collate_fn(batch)` and `dataset.collate_fn(batch)` should both work with "
        "the batch alone: a DataLoader calls it with nothing else."
    ),
    "padding-forgotten": (
        "texts of different length cannot become one tensor: the shorter ones have to be filled up."
    ),
    "padded-to-maximum": (
        "every batch is filled up to the maximum length. To the longest text of the batch is "
        "enough: the rest is computing on nothing."
    ),
    "truncation-forgotten": (
        "a text of 600 words stays that long. The model has positions for 512 tokens and would "
        "fail on it: longer texts must be cut."
    ),
    "max-length-forgotten": (
        "texts are to be cut, but nobody said to which length, so this tokenizer does not cut."
    ),
    "wrong-max-length": "a long text is not cut to exactly 512 tokens.",
    "not-tensors": "input_ids and attention_mask should be PyTorch tensors; these are lists.",
    "labels-not-long": (
        "the labels have the wrong number type. They are class ids, and PyTorch's cross entropy "
        "wants those as 64-bit whole numbers (long)."
    ),
    "labels-not-a-tensor": "the labels should be a tensor.",
    "labels-wrong-shape": "the labels should have one dimension: one class id for each example.",
    "wrong-labels": "the labels are not those of the examples, in their order.",
    "encoding-is-bare": (
        "`text_encoding` should be the BatchEncoding that the tokenizer returns: it moves to a "
        "device in one go and holds the attention mask too."
    ),
    "mask-dropped": "the attention mask is gone: the model could not tell padding from text.",
    "token-type-ids": (
        "this tokenizer makes no `token_type_ids`: those belong to models that read pairs of "
        "sentences, such as BERT."
    ),
    "global-tokenizer": (
        "it uses a tokenizer from somewhere else in the notebook. The one that belongs to the "
        "dataset is on the class."
    ),
    "special-tokens-left-out": (
        "the special tokens at both ends are missing; the first of them is what gets classified."
    ),
    "wrong-tokens": "the input_ids are not the tokens of the texts, in their order.",
    # --------------------------------------------------------------- make_dataloaders
    "train-not-shuffled": (
        "the training data comes in its own order. In a fixed order, neighbours always share a "
        "batch, and the model can drift with whatever comes last."
    ),
    "shuffled-only-once": (
        "two passes over the training data come in the same shuffled order. Every epoch should "
        "see a new one."
    ),
    "all-shuffled": "validation and test data are shuffled too; there nothing is gained by it.",
    "wrong-split-shuffled": "the wrong splits are shuffled: training is in order, the others mixed.",
    "collate-forgotten": (
        "the batches are not dictionaries of encodings: the loader does not know how to put "
        "examples together."
    ),
    "batch-size-ignored": "the batches do not have the size that was asked for.",
    "last-batch-dropped": (
        "the last batch, shorter than the others, is left out: some examples are never seen."
    ),
    "split-missing": "a split is missing: train, validation and test are all needed.",
    "wrong-dataset": "a loader gives examples of another split than its name says.",
    "not-dataloaders": "each split should be a torch DataLoader.",
    # ------------------------------------------------------ train_one_epoch, evaluate
    "zero-grad-forgotten": (
        "gradients of earlier batches are still there when a step is made: PyTorch adds new "
        "gradients to old ones until somebody clears them."
    ),
    "zero-grad-once": (
        "gradients are cleared once an epoch, so within it every step still carries those of all "
        "batches before."
    ),
    "gradients-thrown-away": (
        "the gradients are cleared after they were computed and before they are used: the step has "
        "nothing to go by, and the weights stay as they were."
    ),
    "step-before-backward": "the step comes before the gradients of its batch are computed.",
    "step-forgotten": "gradients are computed, but no step is made with them: nothing is learned.",
    "backward-forgotten": "no gradients are computed, so that a step has nothing to go by.",
    "one-step-an-epoch": (
        "there are fewer steps than batches. Each batch should move the weights; that is what "
        "makes it a batch."
    ),
    "train-mode-forgotten": (
        "the model is still in evaluation mode while it trains, as the last evaluation left it: "
        "its dropout is switched off."
    ),
    "eval-mode-forgotten": (
        "the model is still in training mode while it is evaluated: dropout goes on switching "
        "parts of it off, and two evaluations would differ."
    ),
    "no-grad-in-training": "gradients are switched off while the model trains.",
    "no-grad-forgotten": (
        "while the model is evaluated, PyTorch keeps everything that gradients would need: slower, "
        "and more memory than there may be."
    ),
    "grad-left-off": "gradients stay switched off after the evaluation: the next epoch cannot train.",
    "weights-changed": "the evaluation changes the model's weights. It should only look.",
    "evaluation-trains": "the evaluation computes gradients. It should only look.",
    "batches-skipped": "not every example was used: each batch counts, the short last one too.",
    "batches-repeated": "examples were used more than once in one pass.",
    "attention-mask-dropped": (
        "the model gets the tokens without the attention mask, and takes padding for text."
    ),
    "hard-coded-device": ("it only works on a GPU. Follow the model to whatever device it is on."),
    "device-ignored": (
        "on a GPU it would fail: something that the model needs stays on the CPU while the model "
        "is elsewhere."
    ),
    "loss-mean-of-batches": (
        "the loss is the mean of the batches' losses. The last batch is shorter, so its examples "
        "count too much: take the mean over examples."
    ),
    "loss-not-divided": "the loss is a sum. The mean over all examples is asked for.",
    "loss-of-last-batch": "the loss is that of the last batch alone, not of the whole pass.",
    "loss-divided-twice": (
        "the loss is too small: each batch's loss is a mean already, and is divided by the number "
        "of examples once more."
    ),
    "accuracy-mean-of-batches": (
        "the accuracy is the mean of the batches' accuracies. The last batch is shorter, so its "
        "examples count too much: count over all examples."
    ),
    "accuracy-of-last-batch": "the accuracy is that of the last batch alone, not of the whole pass.",
    "accuracy-in-percent": "the accuracy should lie between 0 and 1; this one is in percent.",
    "argmax-over-examples": (
        "the largest logit is looked for among the examples of a batch, not among the classes of "
        "each example."
    ),
    "loss-summed": (
        "the weights move by a sum of losses, so that larger batches make larger steps. The "
        "batch's mean loss is what to learn from."
    ),
    "wrong-weights": "after one epoch the weights are not what they should be.",
    "wrong-loss": "the loss is not the mean over all examples of the pass.",
    "wrong-accuracy": "the accuracy is not the share of right answers among all examples.",
    # --------------------------------------------------------------- compute_accuracy
    "accuracy-not-divided": "it counts the right answers, but does not divide by how many there are.",
    "accuracy-of-positives": "only right answers of class 1 are counted; class 0 can be right too.",
    "error-rate": "this is the share of wrong answers.",
    "accuracy-whole-or-nothing": (
        "it is 1 only if every single answer is right, and 0 otherwise. (Division with // ends like "
        "that too.)"
    ),
    "accuracy-of-first": "only the first answer counts.",
    "divided-by-wrong-count": "the count of right answers is divided by something else than all.",
    "fixed-batch-size": "it divides by a fixed number, whatever the number of examples.",
    "expects-logits": (
        "it looks for the largest entry first. The predictions are class ids already, one a "
        "sentence."
    ),
    "mean-of-integers": (
        "PyTorch takes no mean of whole numbers or truth values: make them numbers with a point."
    ),
    # --------------------------------------------------------------------------- main
    "saves-last": "the checkpoint holds the last epoch, not the best one on validation.",
    "latest-on-tie": "of two epochs equally good on validation, the later one was kept.",
    "best-by-validation-loss": (
        "the checkpoint holds the epoch with the lowest validation loss; the best accuracy on "
        "validation is asked for. The two need not be the same epoch."
    ),
    "best-by-training": (
        "the checkpoint holds the epoch that did best on the training data, which says little "
        "about sentences that the model has not seen."
    ),
    "keeps-worst": "the checkpoint holds the epoch that did worst on validation.",
    "saves-first": "the checkpoint holds the first epoch, and no better one replaced it.",
    "wrong-epoch-saved": "the checkpoint does not hold the best epoch on validation.",
    "test-used": (
        "the test split was read. It is for the very end: once it helps to choose, it no longer "
        "tells how good the choice is."
    ),
    "nothing-saved": "nothing was saved: there is no model that could be tested afterwards.",
    "not-save-pretrained": (
        "something was saved, but `from_pretrained` could not read it: models have a method of "
        "their own for that."
    ),
    "saved-elsewhere": "a model was saved, but not in `checkpoint_dir` itself.",
    "epochs-from-zero": "epochs count from 1 here; the history begins with 0.",
    "epoch-missing": "there are fewer epochs than asked for.",
    "epochs-fixed": "the number of epochs is not the one asked for.",
    "validated-on-training-data": "the validation numbers come from another split.",
    "trained-on-validation-data": (
        "the model was trained on something else than the training split, or not at all."
    ),
    "validated-before-training": (
        "the validation numbers are one epoch behind: the model is evaluated before it is trained."
    ),
    "history-only-best": "the history should have an entry for every epoch, not only for the best.",
    "history-format": (
        "an entry of the history should be {'epoch': ..., 'train': {'loss', 'accuracy'}, "
        "'validation': {'loss', 'accuracy'}}."
    ),
    "history-shared": (
        "all entries of the history are the same: one dictionary was filled again and again."
    ),
    "splits-swapped": "in the history, training and validation have changed places.",
    "wrong-history": "the numbers in the history are not those of the epochs.",
    "not-a-list": "the history should be returned, as a list with one entry an epoch.",
}
