"""What to say about each known mistake in notebook 3: a name for reports, a sentence to a person.

Both the checks in the notebook and the judge speak through this table. A sentence says what is
seen and why it matters; finding what to do instead is the learner's part.
"""

WORDS = {
    # ---------------------------------------------------------------------- any piece
    "todo-open": "the TODO is still open: write the body and return its result.",
    "not-defined": "there is nothing with this name. Run its cell, and keep the name as it was.",
    "not-a-function": "this name no longer refers to a function. Did you use it for something else?",
    "returned-none": "it returned None. Is a `return` missing at the end?",
    "raised": "it stopped with an error.",
    "wrong-keys": "the dictionary does not have the keys asked for. Names are part of the contract.",
    "not-a-dict": "it should return a dictionary.",
    "not-a-number": "it should return a number.",
    "input-changed": "it has changed a tensor it was given; the caller may still need it.",
    # -------------------------------------------------------------------- SST2Dataset
    "samples-changed": (
        "`sample_list` should hold one SST2Example per dictionary. The given __init__ does that: leave "
        "it as it was."
    ),
    "length-off": "the length is not the number of examples in `sample_list`.",
    "length-fixed": "the length is the same however many examples there are.",
    "length-of-one-example": "this is the length of one example, not the number of examples.",
    "item-is-text": "an item should be the whole example; this is only its text, without the label.",
    "item-not-an-example": (
        "an item should be an SST2Example, just as it is in `sample_list`. Taking it apart or encoding "
        "it is the collate function's job, for a whole batch at once."
    ),
    "item-always-first": "every index gives the same item: the index is not used.",
    "wrong-item": "an index returns a different example from the one at that place in `sample_list`.",
    "negative-index": (
        "a negative index stops with an error. For a list, -1 is the last item and -2 the one before it, and "
        "an index into the dataset should do the same."
    ),
    "index-beyond-the-end": (
        "an index past the last example still returns one. A list raises an IndexError there, and code that "
        "counts up until it comes would never stop."
    ),
    "none-beyond-the-end": (
        "an index past the last example returns None instead of raising an IndexError, and code that counts up "
        "until one comes would never stop."
    ),
    "iterates-once": (
        "a second loop over the dataset finds nothing, or two loops disturb each other. Every loop "
        "should start from the beginning."
    ),
    "iter-not-an-iterator": "__iter__ must return an iterator; a list is not one, though iter() makes one from it.",
    "iter-wrong-items": "a loop over the dataset does not give its examples in order.",
    # --------------------------------------------------------------------- collate_fn
    "not-static": (
        "`SST2Dataset.collate_fn(batch)` and `dataset.collate_fn(batch)` should both work with "
        "the batch alone: a DataLoader calls it with nothing else."
    ),
    "padding-forgotten": (
        "texts of different lengths cannot become one tensor: the shorter ones have to be padded."
    ),
    "padded-to-maximum": (
        "every batch is padded to the maximum length. Padding to the longest text in the batch is "
        "enough; the rest is wasted computation."
    ),
    "padded-beyond-longest": (
        "the batch is padded beyond its longest text. Padding to the longest one is enough; the rest is "
        "wasted computation."
    ),
    "truncation-forgotten": (
        "a text of 600 words stays that long. The model has positions for 512 tokens and would "
        "fail on it: longer texts must be cut."
    ),
    "max-length-forgotten": (
        "truncation is on, but no length is given, so this tokenizer does not cut at 512."
    ),
    "wrong-max-length": "a long text is not cut to exactly 512 tokens.",
    "not-tensors": "input_ids and attention_mask should be PyTorch tensors; these are something else.",
    "labels-not-long": (
        "the labels have the wrong number type. They are class ids, and PyTorch's cross entropy "
        "expects 64-bit integers (long)."
    ),
    "labels-not-a-tensor": "the labels should be a tensor.",
    "labels-wrong-shape": "the labels should have one dimension: one class id per example.",
    "wrong-labels": "the labels are not those of the examples, in order.",
    "encoding-is-bare": (
        "`text_encoding` should be the BatchEncoding that the tokenizer returns: it moves to a "
        "device in one call and holds the attention mask too."
    ),
    "mask-dropped": "the attention mask is gone: the model could not tell padding from text.",
    "wrong-mask": "the attention mask is not 1 on every token of a text and 0 on the padding after it.",
    "token-type-ids": (
        "this tokenizer makes no `token_type_ids`: those belong to models that read pairs of "
        "sentences, such as BERT."
    ),
    "global-tokenizer": (
        "it uses a tokenizer from elsewhere in the notebook. The one that belongs to the dataset is "
        "on the class."
    ),
    "special-tokens-left-out": (
        "the special tokens at both ends are missing; the first of them is what gets classified."
    ),
    "padded-in-front": (
        "the padding comes before the shorter texts. Leave it after them, where this tokenizer puts it: "
        "the first token of each row is the one that gets classified."
    ),
    "wrong-tokens": "the input_ids are not the tokens of the texts, in order.",
    # --------------------------------------------------------------- make_dataloaders
    "train-not-shuffled": (
        "the training data comes in its original order. In a fixed order the same neighbours always "
        "share a batch, and the model drifts towards whatever comes last."
    ),
    "shuffled-only-once": (
        "two passes over the training data come in the same order. Every epoch should see a new one."
    ),
    "all-shuffled": "data that is not for training is shuffled too; nothing is gained by that.",
    "not-in-order": "data that is not for training should come in its original order, and it does not.",
    "wrong-split-shuffled": "the training data comes in order, and data that is not for training is shuffled.",
    "collate-forgotten": (
        "the batches are not dictionaries of encodings: the loader does not know how to put "
        "examples together."
    ),
    "batch-size-ignored": "the batches do not have the size asked for.",
    "last-batch-dropped": (
        "the last batch, shorter than the others, is left out: some examples are never seen."
    ),
    "split-missing": "a split is missing: train, validation and test are all needed.",
    "wrong-dataset": "a loader gives examples from a different split than its name says.",
    "loaders-shared": (
        "a second call changes the dictionary that the first one returned. Every call should make its own."
    ),
    "not-dataloaders": "each split should be a torch DataLoader.",
    # ------------------------------------------------------ train_one_epoch, evaluate
    "zero-grad-forgotten": (
        "gradients of earlier batches are still there when a step is taken: PyTorch adds new "
        "gradients to old ones until you clear them."
    ),
    "zero-grad-once": (
        "gradients are cleared only once per epoch, so every step still carries those of all earlier "
        "batches."
    ),
    "gradients-thrown-away": (
        "the gradients are cleared after they were computed and before they are used: the step has "
        "nothing to work with, and the weights stay as they were."
    ),
    "step-before-backward": "the step comes before the gradients of its batch are computed.",
    "earlier-batches-again": (
        "backward goes back through batches that are done: their gradients have been used up, and the weights "
        "have moved on since. Call it on the loss of one batch alone; a sum over batches is for the report."
    ),
    "step-forgotten": "gradients are computed, but no step is taken with them: nothing is learned.",
    "backward-forgotten": "no gradients are computed, so a step has nothing to work with.",
    "one-step-an-epoch": (
        "there are fewer steps than batches. Each batch should update the weights."
    ),
    "train-mode-forgotten": (
        "the model was in evaluation mode while it was trained, so its dropout was switched off. A "
        "model keeps the mode that it was last given."
    ),
    "eval-mode-forgotten": (
        "the model is still in training mode while it is evaluated: dropout keeps switching "
        "parts of it off, and two evaluations would differ."
    ),
    "no-grad-in-training": "gradients are switched off while the model trains.",
    "no-grad-forgotten": (
        "during evaluation PyTorch keeps everything that gradients would need: that is slower, and "
        "may need more memory than there is."
    ),
    "grad-left-off": "gradients stay switched off after the evaluation: the next epoch cannot train.",
    "weights-changed": "the evaluation changes the model's weights. It must leave them alone.",
    "evaluation-trains": "the evaluation computes gradients. None are needed there.",
    "batches-skipped": "not every example was used: each batch counts, the short last one too.",
    "batches-repeated": "examples were used more than once in one pass.",
    "attention-mask-dropped": (
        "the model gets the tokens without the attention mask, and mistakes padding for text."
    ),
    "hard-coded-device": ("it works only on a GPU. Follow the model to whatever device it is on."),
    "device-ignored": (
        "on a GPU it would fail: a tensor on the CPU is combined with one on the model's device. Move every part of a "
        "batch to `model.device`, in training and in evaluation alike."
    ),
    "loss-mean-of-batches": (
        "the loss is the mean of the batches' losses. The last batch is shorter, so its examples "
        "count too much: take the mean over all examples."
    ),
    "loss-not-divided": "the loss is a sum. The mean over all examples is asked for.",
    "loss-of-last-batch": "the loss is that of the last batch alone, not of the whole pass.",
    "loss-divided-by-batches": (
        "the loss is too large: you multiply by the batch size, but divide by the number of batches."
    ),
    "loss-divided-twice": (
        "the loss is too small: each batch's loss is already a mean, and it is divided by the number "
        "of examples once more."
    ),
    "accuracy-mean-of-batches": (
        "the accuracy is the mean of the batches' accuracies. The last batch is shorter, so its "
        "examples count too much: count over all examples."
    ),
    "accuracy-of-last-batch": "the accuracy is that of the last batch alone, not of the whole pass.",
    "accuracy-in-percent": "the accuracy should lie between 0 and 1; this one is in percent.",
    "argmax-over-examples": (
        "the largest logit is taken over the examples of a batch, not over the classes of each "
        "example."
    ),
    "loss-summed": (
        "the model learns from a sum of losses, so larger batches make larger steps. Use the batch's "
        "mean loss."
    ),
    "wrong-weights": "after one epoch the weights are not what they should be.",
    "wrong-loss": "the loss is not the mean over all examples of the pass.",
    "wrong-accuracy": "the accuracy is not the share of right answers among all examples.",
    # --------------------------------------------------------------- compute_accuracy
    "accuracy-not-divided": "it counts the right answers, but does not divide by how many there are in all.",
    "accuracy-of-positives": "only right answers of class 1 are counted; class 0 can be right too.",
    "error-rate": "this is the share of wrong answers.",
    "accuracy-whole-or-nothing": (
        "it is 1 only if every single answer is right, and 0 otherwise. (Division with // does that "
        "too.)"
    ),
    "accuracy-of-first": "only the first answer counts.",
    "divided-by-wrong-count": "the count of right answers is divided by something other than the number of answers.",
    "fixed-batch-size": "it divides by a fixed number, whatever the number of examples.",
    "expects-logits": (
        "it takes the largest entry first. The predictions are already class ids, one per sentence."
    ),
    "mean-of-integers": (
        "PyTorch cannot average integers or booleans: turn them into floats first."
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
        "about sentences the model has not seen."
    ),
    "keeps-worst": "the checkpoint holds the epoch that did worst on validation.",
    "saves-first": "the checkpoint holds the first epoch, and no better one replaced it.",
    "wrong-epoch-saved": "the checkpoint does not hold the best epoch on validation.",
    "test-used": (
        "the test split was read. It is for the very end: once it helps to choose, it no longer "
        "tells you how good the choice is."
    ),
    "nothing-saved": "nothing was saved: there is no model that could be tested afterwards.",
    "not-save-pretrained": (
        "something was saved, but `from_pretrained` cannot read it: models have their own method for "
        "saving."
    ),
    "saved-elsewhere": "a model was saved, but not in `checkpoint_dir` itself.",
    "epochs-from-zero": "epochs count from 1 here; the history begins with 0.",
    "epoch-missing": "there are fewer epochs than asked for.",
    "epochs-fixed": "the number of epochs is not the one asked for.",
    "validated-on-training-data": "the validation numbers come from another split.",
    "trained-on-validation-data": (
        "the model was trained on something other than the training split, or not at all."
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
    "splits-swapped": "in the history, training and validation are swapped.",
    "train-evaluated-again": (
        "the training numbers in the history come from one more pass over the training data, after the "
        "epoch. What belongs there is what the training itself reported, and it costs no second pass."
    ),
    "wrong-history": "the numbers in the history are not those of the epochs.",
    "not-a-list": "the history should be returned as a list with one entry per epoch.",
    "examples-repeated": (
        "one pass over a loader gives some examples several times and others never. An epoch is one "
        "pass in which each example comes exactly once: shuffled, but not drawn with replacement."
    ),
    "left-frozen": (
        "some parameters no longer require gradients after this function, so the next training "
        "would leave them as they are. Leave `requires_grad` the way it was."
    ),
    "state-kept": (
        "the first call is right, but a second one, on other examples, is not. Is something left over "
        "from the first call? Look for a list or a sum that is not reset, or a mode that is set only "
        "once."
    ),
    "wrong-optimizer": (
        "the model did not learn as it should have: the optimizer that the function is given has to be the "
        "one that makes the steps, and no other."
    ),
    "steps-changed": (
        "the given optimizer took steps, but the weights are not what it gives with one step for each training "
        "batch."
    ),
    "epochs-too-many": "there are more entries in the history than epochs were asked for.",
    "small-gain-ignored": (
        "an epoch that is better by a little is not saved. Better is better, by however much; only a "
        "tie is no reason to save again."
    ),
    "other-batches": "the batches are not as the collate function makes them from these examples.",
}
