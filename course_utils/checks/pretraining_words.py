"""What to say about each known mistake in the notebook on pretraining: a name, and a sentence.

Both the checks in the notebook and the judge speak through this table. A sentence says what is
seen and why it matters; finding what to do instead is the learner's part.
"""

WORDS = {
    # -------------------------------------------------------------------------- any function
    "todo-open": "the TODO is still open: write the body and return its result.",
    "not-defined": "this name is not defined. Run its cell, and keep the name as it was.",
    "not-a-function": "this name no longer holds a function. Was it used for something else?",
    "returned-none": "it returned None. Is a `return` missing at the end?",
    "raised": "it stopped with an error.",
    "hard-coded-device": "it works only on a GPU. Nothing here needs one: leave tensors where they are.",
    "input-changed": "it has changed a list that it was given; the caller may still need it.",
    "not-a-string": "it should return one string.",
    "not-two-strings": "it should return two strings, x and y.",
    "wrong-answer": "it did not return what was asked for.",
    # --------------------------------------------------------------------- majority_baseline
    "baseline-least-frequent": "this is the rarest place of the training answers, not the most frequent.",
    "baseline-first-answer": "this is the first training answer, however often it occurs.",
    "baseline-last-answer": "this is the last training answer, however often it occurs.",
    "baseline-last-in-alphabet": (
        "this is the last place in the alphabet. `max` compares names unless it is told what to "
        "compare them by."
    ),
    "baseline-longest-name": "this is the place with the longest name, not the most frequent one.",
    "baseline-one-string": "it returned one string; it should be a list with one answer per question.",
    "baseline-one-only": "it answered once; there should be one answer per question.",
    "baseline-per-training-answer": (
        "there is one answer per *training* answer; there should be one per question."
    ),
    "baseline-with-count": "the answers should be places alone; these still carry how often they occur.",
    "baseline-letters": "the place was taken apart into its letters; each answer is a whole place.",
    "baseline-of-questions": "it counts the questions; what has to be counted are the training answers.",
    "baseline-not-a-list": "it should return a list with one place per question.",
    "baseline-random": "asked the same thing again, it answers differently: counting leaves nothing to chance.",
    "baseline-several": "its answers differ; the baseline gives the same answer to every question.",
    "baseline-wrong-length": "the number of answers is not the number of questions.",
    "baseline-not-most-frequent": "the place that it gives is not the most frequent training answer.",
    # --------------------------------------------------------------------------- count_right
    "count-not-divided": "this counts the right answers; it should be their share of all answers.",
    "count-in-percent": "this is in percent; a share lies between 0 and 1.",
    "count-ignores-case": "it takes no notice of capital letters, but they count.",
    "count-keeps-spaces": "spaces around an answer or a place should not matter, and here they do.",
    "count-drops-inner-spaces": "only spaces *around* do not matter; those inside a name belong to it, every one.",
    "count-part-of-name": "an answer that only shares a part with the place is not an exact match.",
    "count-ignores-order": (
        "it counts answers that are right for some question; each has to be right for its own."
    ),
    "count-strips-signs": "an answer with an extra character at its end, such as a full stop, is not an exact match.",
    "count-by-places": (
        "it divides by the number of different places; every question counts, even if its place "
        "has come up before."
    ),
    "count-repeats-once": (
        "answers or places that come up again are counted only once; every question counts by itself."
    ),
    "count-wrong-ones": "this is the share of the wrong ones.",
    "count-fails-when-empty": "with nothing to count it stops with an error; it should return 0.0.",
    "count-empty-is-one": "with nothing to count it should return 0.0.",
    "count-rounded-to-whole": "the share was rounded to a whole number.",
    "count-not-a-number": "it should return a number.",
    "count-wrong": "this is not the share of exact matches.",
    # -------------------------------------------------------------------------- corrupt_span
    "span-not-at-end": "the span that was taken out does not follow the second MASK.",
    "span-back-in-place": (
        "the span still stands where it was, between two MASKs. It has to move to the end: the "
        "model is to guess it from what stands on both sides."
    ),
    "span-first": "the span stands in front, where the model would read it before it has to guess it.",
    "second-mask-missing": (
        "there is a single MASK. A second one marks where the text ends and the missing span begins."
    ),
    "first-mask-missing": (
        "there is a single MASK, and none where the span was: nothing shows that something is missing."
    ),
    "mask-per-character": "one MASK stands for the whole span; several would give away its length.",
    "closing-mask-added": "there is a third MASK: after the span nothing follows but PAD.",
    "span-not-taken-out": "the span still stands in the text as well: nothing is left to guess.",
    "masks-wrong": "there should be exactly two MASKs.",
    "not-put-back": (
        "putting the span back where the first MASK stands does not give the beginning of the document."
    ),
    "not-padded": "the text should be filled up with PAD to block_size characters.",
    "padded-with-spaces": "the text is filled up with spaces instead of PAD.",
    "padded-with-mask": "the text is filled up with MASK instead of PAD.",
    "padded-in-front": "PAD stands in front; the text should begin at the first place.",
    "padded-too-far": "the result is longer than block_size: it was filled up too far.",
    "too-long-for-block": (
        "the result is longer than block_size. The beginning that is kept has to leave room for the "
        "two MASKs."
    ),
    "never-shortened": (
        "the same number of characters is kept every time; a new number should be drawn for each call."
    ),
    "kept-too-long": "more characters of the document are kept than 7/8 of block_size, rounded down.",
    "kept-too-short": "fewer than 4 characters of the document are kept.",
    "kept-never-longest": (
        "the largest number of characters that may be kept never comes up. Which of `randint` and "
        "`randrange` includes its end?"
    ),
    "kept-never-shortest": "the smallest number of characters that may be kept, 4, never comes up.",
    "kept-not-uniform": "the number of characters that are kept is not equally likely from 4 up to the most.",
    "kept-stripped": (
        "spaces at the end of what is kept are lost. They are characters like any other; without them "
        "fewer than n are kept."
    ),
    "short-documents-cut": (
        "short documents are cut too often. n goes up to 7/8 of block_size, however short the document is; "
        "one that is shorter than n is kept whole."
    ),
    "short-documents-whole": (
        "a short document is kept whole every time. n is drawn in the same way for every document, and may be "
        "smaller than this one."
    ),
    "kept-from-the-middle": "what is kept should be the *beginning* of the document; this is another part.",
    "span-empty": "sometimes nothing is taken out; the span should have at least one character.",
    "span-length-fixed": (
        "among texts of one length, the span always has the same length; it should vary by chance."
    ),
    "span-length-of-block": (
        "the span's length does not depend on how much of the document is kept; it should be a "
        "quarter of that on average."
    ),
    "span-too-long": "the span is too long on average: it should be a quarter of what is kept.",
    "span-too-short": "the span is too short on average: it should be a quarter of what is kept.",
    "span-place-fixed": "the span is always taken from the same place in the text.",
    "span-place-one-sided": "the span nearly always comes from the same side of the text.",
    "span-place-ends": (
        "the span nearly always comes from the beginning or the end of the text; the model would never "
        "have to guess from both sides."
    ),
    "chance-not-from-rng": (
        "with an `rng` in the same state it gives a different result: some of its randomness comes from "
        "elsewhere. Then no training can be repeated."
    ),
    "same-every-time": "it returns the same thing on every call: its randomness should come from the `rng` it is given.",
    "fails-on-short": "it stops with an error on short documents.",
    # ----------------------------------------------------------------- make_pair, make_question
    "pair-not-shifted": (
        "x and y are the same. At each place y holds the character that comes *next*: a model that "
        "had to predict what it reads would have nothing to learn."
    ),
    "pair-swapped": "x and y are swapped: here the model would predict what came before.",
    "pair-one-short": (
        "x and y are one character too short: shifting costs a character, so start from one more."
    ),
    "pair-one-long": "x and y are too long; each should have block_size characters.",
    "pair-not-cut": "a text that is too long was not cut.",
    "pair-not-padded": "a text that is too short was not filled up.",
    "pair-cut-in-front": "a text that is too long was cut at its beginning instead of its end.",
    "pair-padded-in-front": "PAD stands in front; the text should begin at the first place.",
    "pair-padded-with-spaces": "the text is filled up with spaces instead of PAD.",
    "pair-padded-with-mask": "the text is filled up with MASK instead of PAD.",
    "pair-mask-at-end": "there is a MASK at the end that the text did not have.",
    "pair-reversed": "y is read from the end.",
    "pair-shifted-by-two": "y is shifted by two characters instead of one.",
    "pair-stripped": "spaces at the ends of the text are lost. They are characters like any other.",
    "wrong-lengths": "x and y should both have block_size characters.",
    "wrong-x": "x is not the text that the model should read.",
    "wrong-y": "x is right, but y is not what the model should be asked for.",
    "question-counts": (
        "all of y counts. The model would spend most of its effort on predicting the question, which "
        "is given anyway."
    ),
    "first-mask-counts": "the MASK after the question counts in y; only the place and what closes it should.",
    "place-begins-late": "the first character of the place is PAD in y, so it is never asked for.",
    "closing-mask-does-not-count": (
        "the closing MASK is PAD in y. The model would never learn to stop after the place."
    ),
    "closing-mask-missing": "there is no MASK after the place. The model would never learn where to stop.",
    "question-mask-missing": "there is no MASK between question and place.",
    "question-space-added": "there is a space that neither the question nor the place has.",
    "question-hidden-in-x": "the question is hidden in x; the model has to read it. Only y leaves it out.",
    "place-hidden-in-x": "the place is hidden in x; while it learns, the model reads its earlier characters.",
    "only-question-counts": "y holds the question and leaves out the place: it should be the other way round.",
    "y-hidden-with-mask": "what should not count in y is PAD, not MASK: MASK would be learned.",
    "y-too-long": "y is longer than block_size where the question alone fills the block.",
    "place-found-in-question": (
        "where the place also occurs in the question, it is found there, and the wrong part of y counts."
    ),
    "y-shortened": "y is shorter than x: what does not count has to become PAD, so that everything stays in its place.",
    "y-not-shifted": "y is not shifted: at each place it should hold the character that comes next.",
    "place-before-question": "the place stands in front of the question, where it would give itself away.",
    "question-one-short": "x and y are one character too short.",
    # ------------------------------------------------------------------------ answer_question
    "mask-not-appended": (
        "the model was asked without the MASK after the question: that character is its cue to answer."
    ),
    "mask-appended-twice": "there were two MASKs after the question; one is what the model has learned.",
    "mask-appended-each-time": "the MASK should follow the question once; here it moves to the end each time.",
    "answer-not-fed-back": (
        "the characters of the answer were not shown to the model again, so it answers the same "
        "character each time."
    ),
    "question-not-fed-again": "after its first character the model no longer saw the question.",
    "last-character-only": "the model was shown a single character; it needs everything before it.",
    "wrong-text-asked": "the model was shown a text other than the question, MASK and the answer so far.",
    "stop-not-seen": "it goes on after MASK or PAD.",
    "stop-returned": "the MASK or PAD that ends the answer is part of what it returned.",
    "pad-does-not-stop": "PAD should end the answer, too.",
    "mask-does-not-stop": "MASK should end the answer, too.",
    "limit-off-by-one": "the limit is off by one character.",
    "limit-ignored": "it goes on past max_characters: a model that never says MASK would never stop.",
    "never-asked": (
        "the model is never asked, although there is room for an answer. Look at when your loop goes on: does "
        "the limit count the question as well?"
    ),
    "stops-too-early": (
        "the answer ends too early. MASK, PAD and the limit end it and nothing else: spaces, full stops "
        "and doubled letters belong to names."
    ),
    "answer-reworded": (
        "the answer is changed after the model has given it: capitals, spaces and punctuation are the model's own."
    ),
    "question-in-answer": "it returned the question as well; the answer alone is wanted.",
    "logits-of-first-place": "it reads the logits of the first position; the next character is predicted at the last.",
    "logits-of-place-before": "it reads the logits of the second-to-last position.",
    "worst-character": "it takes the least likely character.",
    "sampled": (
        "two calls with the same question gave different answers. Greedy means taking the most likely "
        "character each time: no sampling, and nothing left over from the call before."
    ),
    "wrong-characters": "the characters are not those that the model finds most likely.",
    "not-in-eval": "the model was in training mode while it was asked.",
    "mode-not-put-back": "a model that was in training mode no longer is: put its mode back.",
    "always-trains-after": "a model that was in eval mode is now in training mode: put its mode back.",
    "gradients-on": "it asks the model without switching gradients off, which costs time and memory.",
    "gradients-left-off": "gradients are still off afterwards: the next training would fail.",
    "batch-missing": "the model wants a batch of numbers, of shape (1, T).",
}
