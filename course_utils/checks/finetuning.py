"""Notebook 3's checks: what did this code do to a model, and if that is wrong, which mistake is it?

`finetuning_trials` runs a learner's code on models that keep a diary. What a right solution's diary
holds, and what some mistakes report, are numbers in finetuning.json beside this file, made by
`python -m autograder build`; there is no code in here that trains or evaluates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np

from course_utils.checks.answer_numbers import load_answers
from course_utils.checks.findings import (
    Finding,
    Part,
    collect,
    drop_line,
    end_sentence,
    misses_gpu,
    name_second,
)
from course_utils.checks.finetuning_words import WORDS

NAMES = (
    "SST2Dataset",
    "collate_fn",
    "make_dataloaders",
    "compute_accuracy",
    "train_one_epoch",
    "evaluate",
    "main",
)
SPLITS = ("train", "validation", "test")
_BACKWARD, _STEP, _CLEAR = 1, 2, 3  # events, as the trials write them down
_MAXIMA = (512, 550)  # tokens: as asked for, and of the trials' tokenizer when nobody asks
_PAD = 1  # the token that fills up short texts, in the trials' tokenizer
_TOLERANCE = 1e-4  # a rounded accuracy may pass; a mean of batch means may not
_VAGUE = {
    "wrong-loss",
    "wrong-accuracy",
    "wrong-weights",
    "state-kept",
}  # a known mistake may say more

# Seen for themselves, in a diary or in a batch, whatever else is wrong.
_APART = {
    "train-mode-forgotten", "eval-mode-forgotten", "no-grad-forgotten", "grad-left-off",
    "attention-mask-dropped", "batches-skipped", "weights-changed", "left-frozen",
    "labels-not-long", "labels-wrong-shape", "wrong-labels", "truncation-forgotten",
    "max-length-forgotten", "wrong-max-length", "padded-to-maximum", "mask-dropped", "not-static",
    "last-batch-dropped", "train-not-shuffled", "all-shuffled",
    "saves-last", "saves-first", "latest-on-tie", "keeps-worst", "nothing-saved",
    "best-by-validation-loss", "best-by-training", "small-gain-ignored", "epochs-from-zero",
    "splits-swapped",
}  # fmt: skip

Mistakes = Callable[[], Iterable[tuple[str, Mapping]]]
Fault = tuple[str, str]  # a key of WORDS, and the number or words to it


def examine(name: str, value, **others) -> Finding:
    """Examine a learner's class or function on the visible trial.

    `others` are pieces that it works with: make_dataloaders needs SST2Dataset.
    """
    from course_utils.checks.finetuning_trials import run_trial

    stored = load_answers("finetuning")[name]
    piece = "SST2Dataset" if name == "collate_fn" else name
    results = run_trial(name, {**others, piece: value}, stored["inputs"])
    results = {key: to_numbers(value) for key, value in results.items()}
    return judge(name, results, stored["right"], lambda: stored["mistakes"], stored["inputs"])


def judge(name: str, results: dict, right: dict, mistakes: Mistakes, inputs: dict) -> Finding:
    """Judge what a trial wrote down, however it was come by: here or from a graded kernel."""
    if not results:
        return Finding(False, "nothing came back.", "no-answer")
    faults = collect(_FINDERS[name](results, right, inputs))
    if not faults:
        return Finding(True, _PRAISE[name], facts=_remark(name, results))
    diagnosis, words = faults[0]
    facts = (end_sentence(words),) if words else ()
    slugs, seconds = [slug for slug, _ in faults], []
    if diagnosis in _VAGUE:
        known = _find_mistakes(results, right, mistakes) or _name_reports(slugs, results, right)
        diagnosis, *seconds = known or [diagnosis]
        slugs[0] = diagnosis
    parts = _count_parts(name, slugs, results, right)
    if name in _PASSES:
        lost = [part.lost_to for part in parts if part.lost_to]
        seconds += [slug for slug in lost if slug not in (diagnosis, *seconds) and slug in WORDS]
    facts += tuple(f"And a second thing: {WORDS[slug]}" for slug in dict.fromkeys(seconds))
    if not seconds:
        facts += name_second(diagnosis, iter(faults), _APART, WORDS)
    return Finding(False, WORDS[diagnosis], diagnosis, facts + _remark(name, results), parts)


# Points by parts, as the tasks state them: a part is lost to the first of its faults, and the first
# part of each function to any fault that is of no other part.
_PASSES = ("train_one_epoch", "evaluate")
_ORDER = {"train-not-shuffled", "all-shuffled", "not-in-order", "wrong-split-shuffled",
          "shuffled-only-once", "examples-repeated"}  # fmt: skip
_CHECKPOINT = {"nothing-saved", "saved-elsewhere", "not-save-pretrained", "saves-last", "saves-first",
               "latest-on-tie", "best-by-validation-loss", "best-by-training", "keeps-worst",
               "small-gain-ignored", "wrong-epoch-saved"}  # fmt: skip
_REPORT = {"returned-none", "wrong-keys", "not-a-dict", "not-a-number", "accuracy-in-percent",
           "wrong-loss", "wrong-accuracy"}  # fmt: skip
_UNUSED = {"batches-skipped", "batches-repeated"}
_PARTS = {
    "make_dataloaders": (("splits, batch size and collating", 1, set()),
                         ("the order of each split", 1, _ORDER)),
    "train_one_epoch": (("what the model is afterwards", 2, set()), ("the accuracy", 1, _REPORT),
                        ("the loss", 1, _REPORT)),
    "evaluate": (("mode, gradients and weights", 1, set()), ("the accuracy", 1, _REPORT | _UNUSED),
                 ("the loss", 1, _REPORT | _UNUSED)),
    "main": (("training and history", 2, set()), ("the checkpoint", 2, _CHECKPOINT)),
}  # fmt: skip
# Named in two functions, these are one slip.
SLIPS = frozenset(
    {"loss-mean-of-batches", "loss-not-divided", "loss-of-last-batch", "loss-divided-by-batches",
     "loss-divided-twice", "accuracy-mean-of-batches", "accuracy-of-last-batch", "accuracy-in-percent",
     "argmax-over-examples", "attention-mask-dropped", "device-ignored", "hard-coded-device",
     "batches-skipped"}
)  # fmt: skip


def _count_parts(name: str, slugs: list[str], results: dict, right: dict) -> tuple[Part, ...]:
    parts = _PARTS.get(name, ())
    whole = any(key == "problem" or key.endswith(".problem") for key in results)
    of_others = set().union(*(own for _, _, own in parts)) if parts else set()
    counted = []
    for words, points, own in parts:
        kept = [slug for slug in slugs if (slug in own if own else slug not in of_others)]
        lost_to = slugs[0] if whole else next(iter(kept), None)
        if words in _SEEN and not _SEEN[words](results, right):
            lost_to = lost_to or slugs[0]
        key = words.removeprefix("the ")
        if not whole and name in _PASSES and key in ("loss", "accuracy"):
            lost_to = _find_wrong_report(key, name, slugs, results, right)
        elif not whole and name in _PASSES:
            lost_to = next((s for s in kept if not _is_about_report(s, results, right)), None)
        counted.append(Part(words, points, lost_to))
    return tuple(counted)


# What else has to be seen before a part is given to work that is not all right.
_SEEN: dict[str, Callable[[dict, dict], bool]] = {
    "the order of each split": lambda results, right: all(
        set(_list(results, f"{split}.first")) <= set(range(40 * len(SPLITS)))
        and _list(results, f"{split}.first")
        for split in SPLITS
        if f"{split}.first" in results
    ),
    "the checkpoint": lambda results, right: all(
        _number(results, f"{case}.saved") == _number(right, f"{case}.saved")
        for case in ("long", "single")
    ),
}


def _is_about_report(slug: str, results: dict, right: dict) -> bool:
    """Is this a mistake in the numbers of a report alone, whatever became of the model?"""
    if not slug.startswith(("loss-", "accuracy-", "argmax-")) and slug != "state-kept":
        return False
    turns = [turn for turn in ("weights", "again.weights") if turn in right]
    return all(_alike(results.get(turn), right[turn]) for turn in turns)


def _find_wrong_report(
    key: str, name: str, slugs: list[str], results: dict, right: dict
) -> str | None:
    """Return what a number of the report is lost to: by what the model of this work answered itself."""
    unused = next((slug for slug in slugs if slug in _UNUSED), None)
    if unused:
        return unused
    for turn in ("", "again."):
        found = _number(results, f"{turn}{key}")
        if not _close(found, _number(right, f"{turn}{key}")) and not _close(
            found, _work_out(key, _list_batches(results, turn))
        ):
            if turn and "state-kept" in slugs:
                return "state-kept"
            named = [slug for slug in slugs if slug.startswith(key) or slug in _REPORT - {
                "wrong-loss", "wrong-accuracy", "accuracy-in-percent"}]  # fmt: skip
            if key == "accuracy" and "argmax-over-examples" in slugs:
                return "argmax-over-examples"
            return _name_report(key, results) or next(iter(named), f"wrong-{key}")
    return None


def _list_batches(results: dict, turn: str) -> np.ndarray:
    """Return loss, right answers and size of each batch that a model saw, in one pass."""
    key = "again.batches" if turn else "batches"
    rows = np.reshape(np.asarray(results.get(key, np.zeros((0, 5))), float), (-1, 5))
    return rows[len(_list_batches(results, "")) :, :3] if turn else rows[:, :3]


def _work_out(key: str, rows: np.ndarray) -> float:
    """Return the mean over all examples of the batches that a model saw."""
    loss, right, size = rows.T
    return float((loss @ size if key == "loss" else right.sum()) / max(1, size.sum()))


def _name_report(key: str, results: dict) -> str | None:
    """Name a wrong loss or accuracy by what would come of the batches that the model saw."""
    rows = [_list_batches(results, turn).T for turn in ("", "again.")]
    if not all(batches.size for batches in rows):
        return None
    ways = {
        "loss": {
            "loss-mean-of-batches": lambda loss, right, size: loss.mean(),
            "loss-of-last-batch": lambda loss, right, size: loss[-1],
            "loss-divided-twice": lambda loss, right, size: loss.sum() / size.sum(),
            "loss-divided-by-batches": lambda loss, right, size: loss @ size / len(size),
        },
        "accuracy": {
            "accuracy-mean-of-batches": lambda loss, right, size: (right / size).mean(),
            "accuracy-of-last-batch": lambda loss, right, size: right[-1] / size[-1],
            "accuracy-in-percent": lambda loss, right, size: 100 * right.sum() / size.sum(),
        },
    }[key]
    found = [_number(results, f"{turn}{key}") for turn in ("", "again.")]
    for slug, way in ways.items():
        if all(_close(one, way(*batches)) for one, batches in zip(found, rows, strict=True)):
            return slug
    return None


def _name_reports(slugs: list[str], results: dict, right: dict) -> list[str]:
    """Name what is wrong with a report where nothing else is."""
    if "wrong-weights" in slugs or "batches" not in results:
        return []
    named = [
        _name_report(key, results)
        for key in ("loss", "accuracy")
        if not _close(_number(results, key), _number(right, key))
    ]
    return [slug for slug in named if slug]


_PRAISE = {
    "SST2Dataset": "Length, items and loops are as they should be.",
    "collate_fn": "Keys, shapes, padding, cutting and labels are as they should be.",
    "make_dataloaders": "Splits, order, batch size and batches are as they should be.",
    "compute_accuracy": "Four different inputs gave the right numbers.",
    "train_one_epoch": "One epoch on a tiny model gave the right weights, loss and accuracy.",
    "evaluate": "A tiny model was left as it was, and its loss and accuracy are right.",
    "main": "History and checkpoint are right, and the test split was left alone.",
}


_TENSOR = (
    "Remark: {} came back as {}. It is the number, and counts; but a plain Python number (`.item()` or `float()` "
    "make one) keeps no memory of a GPU or of gradients alive, and can be written to a file."
)


def _remark(name: str, results: dict) -> tuple[str, ...]:
    for key in ("some", "loss", "accuracy"):
        kind = results.get(f"{key}.plain")
        if isinstance(kind, str) or (kind is not None and _number(results, f"{key}.plain") == 0):
            what = "the accuracy" if key == "some" else f"the {key}"
            words = kind.partition("|")[2] if isinstance(kind, str) else "tensor"
            return (
                _TENSOR.format(
                    what, f"another type, `{words}`" if words != "tensor" else "a tensor"
                ),
            )
    if name == "main" and _number(results, "hopeless.saved") != 1:
        return (
            "Remark: an epoch without a single right answer would not be saved, even if it is the first. "
            'What is "the best so far" before there is any?',
        )
    return ()


# ------------------------------------------------------------------------- reading results


def to_numbers(value):
    """Turn a trial's value into an array; a Problem stays words."""
    if isinstance(value, str):
        return value
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    return np.asarray(value)


def _number(results: dict, key: str, default: float = float("nan")) -> float:
    value = results.get(key)
    if value is None or isinstance(value, str) or np.size(value) != 1:
        return default
    return float(np.reshape(value, -1)[0])


def _list(results: dict, key: str) -> list:
    value = results.get(key)
    return [] if value is None or isinstance(value, str) else np.reshape(value, -1).tolist()


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _close(one: float, other: float) -> bool:
    return abs(one - other) <= _TOLERANCE * max(1.0, abs(other))


def _alike(one, other) -> bool:
    if one is None or isinstance(one, str) or np.shape(one) != np.shape(other):
        return False
    return bool(np.allclose(np.asarray(one, float), np.asarray(other, float), 1e-4, 1e-5))


_PROBLEMS = {
    "open": "todo-open",
    "undefined": "not-defined",
    "not-callable": "not-a-function",
    "none": "returned-none",
    "keys": "wrong-keys",
    "samples": "samples-changed",
    "number": "not-a-number",
    "type": "not-a-dict",
    "batch": "collate-forgotten",
}


def _read_problem(problem: str) -> Fault:
    kind, _, words = problem.partition("|")
    if kind == "raised":
        return _read_error(words)
    if kind == "keys":
        words = f"It has: {words}"
    elif kind in ("type", "number"):
        words = f"It is of type {words}"
    return _PROBLEMS.get(kind, "raised"), words


def _read_error(words: str) -> Fault:
    """Name an error that says by itself which mistake it comes from."""
    lower = drop_line(words).lower()
    gradients = "element 0 of tensors does not require grad" in lower
    for sign, diagnosis in (
        (gradients, "no-grad-in-training"),
        (misses_gpu(words), "hard-coded-device"),
        ("token_type_ids" in lower, "token-type-ids"),
        ("name 'tokenizer' is not defined" in lower, "global-tokenizer"),
        ("activate truncation and/or padding" in lower, "padding-forgotten"),
        ("default_collate: batch must contain" in lower, "collate-forgotten"),
        ("non-iterator" in lower, "iter-not-an-iterator"),
        ("could not infer output dtype" in lower, "mean-of-integers"),
        ("input dtype must be either a floating point" in lower, "mean-of-integers"),
    ):
        if sign:
            return diagnosis, words
    return "raised", words


def _find_problem(results: dict, *keys: str) -> Iterator[Fault]:
    for key in ("problem", *keys):
        if isinstance(results.get(key), str):
            yield _read_problem(results[key])


# ----------------------------------------------------------------------- dataset and batches


def _check_dataset(results, right, inputs) -> Iterator[Fault]:
    yield from _find_problem(results)
    counts = {case: len(inputs[f"{case}.labels"]) for case in ("many", "one")}
    for what in ("length", "items", "pass"):  # an open TODO says more than what it leads to
        if str(results.get(f"many.{what}")).startswith("open|"):
            yield "todo-open", ""
    lengths = [_number(results, f"{case}.length") for case in counts]
    if any(isinstance(results.get(f"{case}.length"), str) for case in counts):
        yield from _find_problem(results, "many.length", "one.length")
    if lengths != list(counts.values()):
        words = f"For {counts['many']} examples it says {lengths[0]:g}"
        if lengths[0] == lengths[1]:
            yield "length-fixed", words
        is_text = all(
            lengths[i] == _measure_text(inputs[f"{c}.words"][0]) for i, c in enumerate(counts)
        )
        yield ("length-of-one-example" if is_text else "length-off"), words
    for case, count in counts.items():
        items, forwards = (results.get(f"{case}.{what}") for what in ("items", "forwards"))
        if isinstance(items, str) and not isinstance(forwards, str):
            yield "negative-index", items.partition("|")[2]
        yield from _find_problem(results, f"{case}.items")
        *places, stranger = _list(results, f"{case}.items") or [-1, 2]
        if stranger:
            yield _STRANGERS.get(int(stranger), "item-not-an-example"), ""
        asked = [int(place) for place in _list(inputs, f"{case}.order")]
        if places != [place % count for place in asked]:
            words = f"Indices {asked} gave places {[int(place) for place in places]}"
            yield ("item-always-first" if set(places) == {0} else "wrong-item"), words
        if _number(results, f"{case}.beyond") == 2:
            yield "none-beyond-the-end", f"For {_count(count, 'example')}, index {count} gave None"
        if _number(results, f"{case}.beyond") != 1:
            yield "index-beyond-the-end", f"For {_count(count, 'example')}, index {count} gave one"
    yield from _find_problem(results, "many.pass", "one.pass")
    for case, count in counts.items():
        first, second = _list(results, f"{case}.pass"), _list(results, f"{case}.twice")
        if first != [*range(count), 0]:
            yield "iter-wrong-items", ""
        if second != first or _number(results, f"{case}.nested") != count**2:
            yield "iterates-once", ""
        if _number(results, f"{case}.kept") != 1:
            yield "samples-changed", ""


def _measure_text(words) -> int:
    """Return how many characters a text of the trial has."""
    spelled = [f"w{int(word) % 200}" for word in words if word >= 0]  # W0 is as long as w0
    return len(",  ".join(spelled))


_STRANGERS = {1: "item-is-text", 2: "item-not-an-example", 3: "returned-none"}


def _check_collate(results, right, inputs) -> Iterator[Fault]:
    yield from _find_problem(results)
    cases = ("short", "long", "one")
    for case in cases:
        problem = results.get(f"{case}.problem")
        if isinstance(problem, str):
            if "positional argument" in problem and "collate_fn" in problem:
                yield "not-static", problem.partition("|")[2]
            if problem.startswith("keys|") and "input_ids" in problem:
                yield "wrong-keys", f"It has: {problem.partition('|')[2]}"
            yield _read_problem(problem)
        if isinstance(results.get(f"{case}.bound.problem"), str):
            yield "not-static", results[f"{case}.bound.problem"].partition("|")[2]
    for case in cases:
        yield from _check_labels(case, results, right)
        ids, mask = results.get(f"{case}.input_ids"), results.get(f"{case}.attention_mask")
        if isinstance(ids, str):
            listed = ids in ("type|list", "type|ndarray")
            yield ("not-tensors" if listed else "encoding-is-bare"), ids.partition("|")[2]
        if isinstance(mask, str):
            yield "mask-dropped", ""
        if np.shape(ids) != np.shape(right[f"{case}.input_ids"]):
            texts = _count(len(inputs[f"{case}.labels"]), "text")
            yield (
                _name_width(case, ids, right[f"{case}.input_ids"], results),
                f"For {texts} input_ids has the shape {np.shape(ids)}",
            )
        if not np.array_equal(ids, right[f"{case}.input_ids"]):
            yield _name_tokens(ids), ""
        if not np.array_equal(mask, right[f"{case}.attention_mask"]):
            yield "wrong-mask", ""
        if _number(results, f"{case}.encoding") != 1:
            yield "encoding-is-bare", ""


def _check_labels(case, results, right) -> Iterator[Fault]:
    labels, wanted = results.get(f"{case}.labels"), right[f"{case}.labels"]
    if isinstance(labels, str) or labels is None:
        yield "labels-not-a-tensor", f"They are of type {str(labels).partition('|')[2]}"
    elif labels.shape != wanted.shape:
        yield "labels-wrong-shape", f"Their shape is {labels.shape}, it should be {wanted.shape}"
    elif labels.dtype != np.int64:
        yield "labels-not-long", f"Their type is {labels.dtype}"
    elif not np.array_equal(labels, wanted):
        yield "wrong-labels", ""


def _name_width(case, ids, wanted, results) -> str:
    width, right_width = np.shape(ids)[-1] if np.ndim(ids) == 2 else 0, wanted.shape[-1]
    if np.ndim(ids) == 2 and np.asarray(ids)[0, 0] != 0:
        return "special-tokens-left-out"
    if case == "long":
        uncut = {550: "max-length-forgotten", 602: "truncation-forgotten"}
        return uncut.get(width, "wrong-max-length")
    same_rows = np.ndim(ids) == 2 and len(ids) == len(wanted) and width > right_width
    if not same_rows or (np.asarray(ids)[:, right_width:] != _PAD).any():
        return "wrong-tokens"
    return "padded-to-maximum" if width in _MAXIMA else "padded-beyond-longest"


def _name_tokens(ids) -> str:
    known = np.asarray(ids)
    if (known[:, 0] == _PAD).any():
        return "padded-in-front"
    stranger = (known > 223).any() or known[0, 0] != 0  # not in the vocabulary that it should have
    return "global-tokenizer" if stranger else "wrong-tokens"


def _check_dataloaders(results, right, inputs) -> Iterator[Fault]:
    problem = results.get("problem")
    if isinstance(problem, str):
        kind, _, words = problem.partition("|")
        if kind == "keys":
            missing = set(words.split(", ")) < set(SPLITS)
            yield ("split-missing" if missing else "wrong-keys"), f"It has: {words}"
        if kind == "loader":
            yield "not-dataloaders", f"One is of type {words}"
        yield _read_problem(problem)
    if isinstance(results.get("keys"), str):
        yield "split-missing", f"It has: {results['keys'].partition('|')[2]}"
    if isinstance(results.get("batches"), str):
        yield _read_problem(results["batches"])
    there = [split for split in SPLITS if f"{split}.first" in results]
    counts = {split: len(inputs[f"{split}.labels"]) for split in SPLITS}
    first = {split: _list(results, f"{split}.first") for split in there}
    starts = {split: 40 * place for place, split in enumerate(SPLITS)}
    truth = {
        starts[split] + place: int(label)
        for split in SPLITS
        for place, label in enumerate(inputs[f"{split}.labels"])
    }
    for split in there:
        wanted = [*range(starts[split], starts[split] + counts[split])]
        if not set(first[split]) <= set(wanted):
            yield "wrong-dataset", f"The loader {split!r} gives other examples"
    batch_size = int(_number(inputs, "batch_size"))
    dropped = False
    for split in there:
        sizes = _list(results, f"{split}.sizes")
        whole = [batch_size] * (counts[split] // batch_size)
        if counts[split] % batch_size and sizes == whole:
            dropped = True
            yield "last-batch-dropped", f"{split}: batches of {sizes}"
        rest = counts[split] % batch_size
        if sizes != whole + [rest] * (rest > 0):
            yield "batch-size-ignored", f"{split}: batches of {sizes} where {batch_size} was asked"
    for split in there:
        for turn in ("first", "second"):
            found = _list(results, f"{split}.{turn}")
            labels = [truth.get(int(n)) for n in found]
            is_repeated = len(set(found)) < len(found) or not dropped
            if set(found) <= set(range(starts[split], starts[split] + counts[split])) and (
                len(set(found)) < counts[split] and is_repeated
            ):
                times = f"{len(set(found))} of {counts[split]} examples of {split!r} came"
                yield "examples-repeated", f"In one pass {times}"
            if _list(results, f"{split}.{turn}.labels") != labels:
                yield "wrong-labels", ""
    mixed = dict.fromkeys(SPLITS, False)
    mixed |= {split: first[split] != sorted(first[split]) for split in there}
    for split in ("validation", "test"):
        if mixed[split] and first[split] == _list(results, f"{split}.second"):
            yield "not-in-order", f"Both passes over {split!r} came in the same changed order"
    if "train" in there and not mixed["train"] and (mixed["validation"] or mixed["test"]):
        yield "wrong-split-shuffled", ""
    if "train" in there and not mixed["train"]:
        yield "train-not-shuffled", ""
    if mixed["validation"] or mixed["test"]:
        yield "all-shuffled", ""
    if "train" in there and first["train"] == _list(results, "train.second"):
        yield "shuffled-only-once", ""
    for split in ("validation", "test"):
        if not mixed[split] and _list(results, f"{split}.widths") != _list(
            right, f"{split}.widths"
        ):
            yield (
                "other-batches",
                f"{split}: batches as wide as {_list(results, f'{split}.widths')}",
            )
    for split in SPLITS:
        if _list(results, f"{split}.twice") != _list(right, f"{split}.twice"):
            yield "state-kept", f"{split}: batches of {_list(results, f'{split}.twice')}"
    if _number(results, "own") != 1:
        yield "loaders-shared", ""


# --------------------------------------------------------------------------- accuracy


def _check_accuracy(results, right, inputs) -> Iterator[Fault]:
    problem = results.get("problem")
    if isinstance(problem, str):
        dimension = "dimension out of range" in problem.lower()
        yield ("expects-logits", problem.partition("|")[2]) if dimension else _read_problem(problem)
    cases = ("some", "all", "none", "one")
    yield from _find_problem(results, *cases)
    found = {case: _number(results, case) for case in cases}
    wanted = {case: _number(right, case) for case in cases}
    words = f"For {len(inputs['some.labels'])} answers it gave {found['some']:g}"
    if not all(_close(found[case], wanted[case]) for case in cases):
        yield _name_accuracy(found, wanted, inputs), words
    if not all(_number(results, f"{case}.kept") == 1 for case in cases):
        yield "input-changed", ""


def _name_accuracy(found, wanted, inputs) -> str:
    counts = {case: len(inputs[f"{case}.labels"]) for case in found}

    def fits(make) -> bool:
        return all(_close(found[case], make(case)) for case in found)

    if fits(lambda case: 100 * wanted[case]):
        return "accuracy-in-percent"
    if fits(lambda case: counts[case] * wanted[case]):
        return "accuracy-not-divided"
    if fits(lambda case: 1 - wanted[case]):
        return "error-rate"
    if fits(lambda case: float(wanted[case] == 1)) and found["some"] == 0:
        return "accuracy-whole-or-nothing"
    answers = {case: (inputs[f"{case}.predictions"], inputs[f"{case}.labels"]) for case in found}
    if fits(lambda case: float(answers[case][0][0] == answers[case][1][0])):
        return "accuracy-of-first"
    fixed = {round(counts[c] * wanted[c] / found[c], 2) for c in found if found[c]}
    if len(fixed) == 1 and sum(bool(found[c]) for c in found) >= 3:
        return "fixed-batch-size"
    if fits(lambda case: float(np.mean(answers[case][0] * answers[case][1]))):
        return "accuracy-of-positives"
    if fits(lambda case: float(np.mean(answers[case][0].argmax() == answers[case][1]))):
        return "expects-logits"
    if fits(lambda case: counts[case] * wanted[case] / max(1, answers[case][0].sum())):
        return "divided-by-wrong-count"
    return "wrong-accuracy"


# ------------------------------------------------------------------ one pass over a loader


def _check_training(results, right, inputs) -> Iterator[Fault]:
    yield from _check_graph(results)
    yield from _find_problem(results, "pinned")
    yield from _check_pass(results, right, once=True)
    if not all(_list(results, "modes")):
        yield "train-mode-forgotten", ""
    if not all(_list(results, "gradients")):
        yield "no-grad-in-training", ""
    if not _alike(results.get("weights"), right["weights"]):
        events = _list(results, "events")
        if _STEP not in events and _number(results, "moved") > 0:
            yield "wrong-optimizer", "The optimizer that it was given made no step"
        kinds = ((_BACKWARD, "backward"), (_STEP, "step"), (_CLEAR, "zero_grad"))
        counted = ", ".join(f"{word} {events.count(kind)}" for kind, word in kinds)
        batches = len(_list(right, "modes"))
        yield _name_step(events, batches), f"Calls for {batches} batches: {counted}"
    if _number(results, "off") == 1:
        yield "no-grad-in-training", ""
    yield from _check_report(results, right)
    yield from _check_second_call(results, right)


def _check_graph(results) -> Iterator[Fault]:
    """Name errors that come from going back through what a step has changed, or has used up."""
    problem, events = str(results.get("problem", "")), _list(results, "events")
    words = problem.partition("|")[2]
    changed = "modified by an inplace operation" in drop_line(problem)
    if changed and [event for event in events if event != _CLEAR][:1] == [_STEP]:
        yield "step-before-backward", words
    if changed or "backward through the graph a second time" in drop_line(problem):
        yield "earlier-batches-again", words


def _name_step(events: list[int], batches: int) -> str:
    """Name what is wrong with the order in which gradients are made, used and cleared."""
    backwards, steps = (events.count(kind) for kind in (_BACKWARD, _STEP))
    if not backwards:
        return "backward-forgotten"
    if not steps:
        return "step-forgotten"
    if steps < batches:
        return "one-step-an-epoch"
    if events.index(_STEP) < events.index(_BACKWARD):
        return "step-before-backward"
    return "wrong-weights"


def _check_evaluation(results, right, inputs) -> Iterator[Fault]:
    yield from _find_problem(results, "pinned")
    yield from _check_pass(results, right)
    if any(_list(results, "modes")):
        yield "eval-mode-forgotten", ""
    if _BACKWARD in _list(results, "events") or _number(results, "left") == 1:
        yield "evaluation-trains", ""
    if any(_list(results, "gradients")):
        yield "no-grad-forgotten", ""
    if _number(results, "off") == 1:
        yield "grad-left-off", ""
    if _number(results, "moved") != 0:
        yield "weights-changed", ""
    yield from _check_report(results, right)
    yield from _check_second_call(results, right)


def _check_pass(results, right, once: bool = False) -> Iterator[Fault]:
    """Each example has to be used; `once`: and no more than once, because every use is a step."""
    seen, wanted = _list(results, "seen"), _list(right, "seen")
    if not all(_list(results, "masks")):
        yield "attention-mask-dropped", ""
    if set(wanted) - set(seen):
        yield (
            "batches-skipped",
            f"{len(set(seen) & set(wanted))} of {len(wanted)} examples were used",
        )
    if once and len(seen) > len(wanted):
        yield "batches-repeated", f"{len(seen)} examples were used where there are {len(wanted)}"


def _check_second_call(results, right) -> Iterator[Fault]:
    """The first call was right; is the second one too, on other examples?"""
    if _number(results, "frozen") != 0:
        yield "left-frozen", ""
    kept = False
    for key in ("again.loss", "again.accuracy"):
        if not _close(_number(results, key), _number(right, key)):
            kept = _close(_number(results, key[6:]), _number(right, key[6:]))
            what = key.removeprefix("again.")
            yield "state-kept", f"The {what} of the second call is {_number(results, key):.4g}"
    if not _alike(results.get("again.weights"), right["again.weights"]):
        yield "state-kept", "After the second call the weights are not the right ones"
    yield from _find_problem(results, "longer.problem")
    if "pinned" in results:
        return
    seen, wanted = set(_list(results, "longer.seen")), set(_list(right, "longer.seen"))
    if wanted - seen:
        words = f"Of {len(wanted)} examples in a longer loader, {len(seen & wanted)} were used"
        yield "batches-skipped", words
    if _number(results, "device") == 0 and not kept:  # what was kept was not on the GPU
        yield "device-ignored", ""


def _check_report(results, right) -> Iterator[Fault]:
    yield from _find_problem(results, "report", "loss", "accuracy")
    for key in ("loss", "accuracy"):
        found, wanted = _number(results, key), _number(right, key)
        if not _close(found, wanted):
            words = f"The {key} is {found:.4g}"
            in_percent = key == "accuracy" and _close(found, 100 * wanted)
            yield ("accuracy-in-percent" if in_percent else f"wrong-{key}"), words


# ------------------------------------------------------------------------------------ main


def _check_main(results, right, inputs) -> Iterator[Fault]:
    yield from _find_problem(results)
    if any(_number(results, f"{case}.test", 0) > 0 for case in ("long", "single")):
        yield "test-used", ""
    for case in ("long", "single"):
        for slug, words in _find_problem(results, f"{case}.problem"):
            yield ("raised" if slug == "global-tokenizer" else slug), words
        yield from _check_history(case, results, right)
        saved, wanted = _number(results, f"{case}.saved"), _number(right, f"{case}.saved")
        if saved == 0:
            accuracy = f"{right[f'{case}.history'][0, 4]:.3f}"
            alone = f"A single epoch, of validation accuracy {accuracy}, is the best there is"
            yield "nothing-saved", alone if case == "single" else ""
        if saved < 0:
            elsewhere = _number(results, f"{case}.elsewhere") == 1
            yield ("saved-elsewhere" if elsewhere else "not-save-pretrained"), ""
        if saved != wanted:
            yield (
                _name_epoch(int(saved), right[f"{case}.history"]),
                (f"It holds epoch {saved:g}, where epoch {wanted:g} was the best"),
            )
        elif not _alike(results.get(f"{case}.bias"), right[f"{case}.bias"]):
            yield _name_learning(case, results), ""


def _check_history(case, results, right) -> Iterator[Fault]:
    history, wanted = results.get(f"{case}.history"), right[f"{case}.history"]
    if isinstance(history, str) or history is None:
        kind, _, words = str(history).partition("|")
        diagnosis = {
            "none": "returned-none", "type": "not-a-list", "entry": "history-format",
            "empty": "epoch-missing",
        }.get(kind, "not-a-list")  # fmt: skip
        yield diagnosis, words
        return
    history = np.asarray(history, float)
    epochs, trained = len(wanted), _number(results, f"{case}.trained")
    words = f"Number of entries: {len(history)}, of epochs: {epochs}"
    if len(history) and history[0, 0] == 0 and len(history) == epochs:
        yield "epochs-from-zero", ""
    if len(history) < epochs:
        better = _list_improvements(wanted[:, 4])
        yield ("history-only-best" if _alike(history, wanted[better]) else "epoch-missing"), words
    if len(history) > epochs:
        same = [np.size(results.get(f"{one}.history")) for one in ("long", "single")]
        yield ("epochs-fixed" if same[0] == same[1] else "epochs-too-many"), words
    if _alike(history, wanted):
        return
    learned = results.get(f"{case}.learned")
    if not np.any(learned) and trained >= epochs:
        yield "wrong-optimizer", ""
    if _alike(history[:, ::2], wanted[:, ::2]) and not _alike(learned, right[f"{case}.learned"]):
        words = "Epochs and accuracies are right, the losses are not"
        yield _name_learning(case, results), words
    if _alike(history[:, [0, 3, 4]], wanted[:, [0, 3, 4]]) and trained > epochs:
        yield "train-evaluated-again", ""
    if epochs > 1 and (history == history[0]).all():
        yield "history-shared", ""
    swapped = wanted[:, [0, 3, 4, 1, 2]]
    if _alike(history, swapped):
        yield "splits-swapped", ""
    if _number(results, f"{case}.validated") == 0:
        yield "validated-on-training-data", ""
    if trained == 0:
        yield "trained-on-validation-data", ""
    if _alike(history[1:, 3:], wanted[:-1, 3:]):
        yield "validated-before-training", ""
    if epochs == 1 and not _alike(history, wanted) and trained < 1:
        yield "epoch-missing", ""
    yield "wrong-history", ""


def _name_learning(case, results) -> str:
    """Name why a model has not learned what it should have: who made steps, and after which data?"""
    on_train, on_validation, *_ = _list(results, f"{case}.steps") or [0, 0, 0]
    if on_validation:
        return "trained-on-validation-data"
    return "steps-changed" if on_train else "wrong-optimizer"


def _list_improvements(accuracies) -> list[int]:
    """Return the epochs that are better than all before them."""
    return [i for i, one in enumerate(accuracies) if i == 0 or one > max(accuracies[:i])]


def _name_epoch(saved: int, history: np.ndarray) -> str:
    """Name the rule by which this epoch would have been chosen."""
    train_accuracy, loss, accuracy = history[:, 2], history[:, 3], history[:, 4]
    ties = np.flatnonzero(accuracy == accuracy.max()) + 1
    for epoch, diagnosis in (
        (len(history), "saves-last"),
        (ties[-1], "latest-on-tie"),
        (loss.argmin() + 1, "best-by-validation-loss"),
        (train_accuracy.argmax() + 1, "best-by-training"),
        (accuracy.argmin() + 1, "keeps-worst"),
        (_find_patient(accuracy), "small-gain-ignored"),
        (1, "saves-first"),
    ):
        if saved == epoch:
            return diagnosis
    return "wrong-epoch-saved"


def _find_patient(accuracy: np.ndarray) -> int:
    """Return the epoch that is kept by whoever asks for more than a hundredth of progress."""
    best = 0
    for epoch in range(1, len(accuracy)):
        if accuracy[epoch] > accuracy[best] + 0.01:
            best = epoch
    return best + 1


_FINDERS = {
    "SST2Dataset": _check_dataset,
    "collate_fn": _check_collate,
    "make_dataloaders": _check_dataloaders,
    "compute_accuracy": _check_accuracy,
    "train_one_epoch": _check_training,
    "evaluate": _check_evaluation,
    "main": _check_main,
}


# ------------------------------------------------------------------------- known mistakes

TELLING = ("weights", "loss", "accuracy", "again.weights", "again.loss", "again.accuracy")


def _find_mistakes(results: dict, right: dict, mistakes: Mistakes) -> list[str]:
    """Return the known mistake that gives these very numbers, or two that do so together."""
    keys = [key for key in TELLING if key in right]
    parts: dict[str, str] = {}  # the loss and the accuracy may be wrong for reasons of their own
    for name, numbers in mistakes():
        if all(_looks_like(numbers.get(key), right[key]) for key in keys):
            continue  # a mistake that shows elsewhere
        if all(_looks_like(results.get(key), numbers.get(key)) for key in keys):
            return [name]
        for part in ("loss", "accuracy"):
            own = [key for key in keys if key.endswith(part)]
            rest = [key for key in keys if not key.endswith(part)]
            if (
                all(_looks_like(results.get(key), numbers.get(key)) for key in own)
                and not all(_looks_like(results.get(key), right[key]) for key in own)
                and all(_looks_like(numbers.get(key), right[key]) for key in rest)
            ):
                parts.setdefault(part, name)
    rest = [key for key in keys if not key.endswith(("loss", "accuracy"))]
    whole = all(_looks_like(results.get(key), right[key]) for key in rest)
    return list(parts.values()) if whole and len(parts) == 2 else []


def _looks_like(found, known) -> bool:
    if found is None or known is None or isinstance(found, str) or isinstance(known, str):
        return False
    if np.shape(found) != np.shape(known):
        return False
    return bool(np.allclose(np.asarray(found, float), np.asarray(known, float), 1e-4, 1e-4))
