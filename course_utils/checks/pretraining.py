"""The checks of the notebook on pretraining: what came out, and if it is wrong, which mistake is it?

`pretraining_trials` runs a learner's function. Where one answer is right, it is compared with numbers
in pretraining.json beside this file, made by `python -m autograder build`; span corruption, which
has no single right answer, is judged by what must hold for any. There is no code in here that
solves anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np

from course_utils.checks.answer_numbers import load_answers
from course_utils.checks.findings import Finding, Part, drop_line, misses_gpu, name_second
from course_utils.checks.pretraining_trials import MASK, PAD, run_trial, unpack
from course_utils.checks.pretraining_words import WORDS

NAMES = (
    "majority_baseline",
    "count_right",
    "corrupt_span",
    "make_pair",
    "make_question",
    "answer_question",
)
Mistakes = Callable[[], Iterable[tuple[str, Mapping]]]
Fault = tuple[str, str]  # a key of WORDS, and facts to it

_PRAISE = {
    "majority_baseline": "The most frequent place came back, once per question.",
    "count_right": "Several lists of answers gave the right shares.",
    "corrupt_span": "Thousands of draws go back together, and lengths and places vary as they should.",
    "make_pair": "Texts that are too short, too long and just right gave the right pairs.",
    "make_question": "The model reads everything and is asked for the place and its end alone.",
    "answer_question": "Scripted models were asked as they should be, and said what they should.",
}


def examine(name: str, value) -> Finding:
    """Examine a learner's function on the visible inputs."""
    stored = load_answers("pretraining")[name]
    results = run_trial(name, {name: value}, stored["inputs"])
    return judge(name, results, stored["right"], lambda: stored["mistakes"], stored["inputs"])


def judge(name: str, results: dict, right: dict, mistakes: Mistakes, inputs: dict) -> Finding:
    """Judge what a trial wrote down, however it was come by: here or from a graded kernel."""
    if not results:
        return Finding(False, "nothing came back.", "no-answer")
    second: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    if isinstance(results.get("problem"), str):
        fault = _read_problem(name, results["problem"])
    elif name == "corrupt_span":
        parts = _count_corruption(results, inputs)
        fault = next(_check_corruption(results, inputs), None)
    else:
        faults = list(_FINDERS[name](results, right, inputs))
        fault = _choose_fault(faults, results, mistakes)
        second = name_second(fault[0] if fault else "", faults, _APART, WORDS)
        if name == "make_question" and fault:
            parts = _count_question(fault[0], results, right, inputs)
            if fault[0] in _VAGUE and any(part.cost for part in parts):
                fault = ("first-mask-counts", fault[1])
    if fault is None:
        return Finding(True, _PRAISE[name])
    diagnosis, words = fault
    facts = ((words,) if words else ()) + second
    return Finding(False, WORDS[diagnosis], diagnosis, facts, parts)


# ------------------------------------------------------------------------------ reading results

_STRINGS = {"corrupt_span": "not-a-string", "answer_question": "not-a-string",
            "make_pair": "not-two-strings", "make_question": "not-two-strings",
            "count_right": "count-not-a-number"}  # fmt: skip


def _read_problem(name: str, problem: str) -> Fault:
    kind, _, words = problem.partition("|")
    if kind == "open":
        return "todo-open", ""
    if kind == "undefined":
        return "not-defined", ""
    if kind == "not-callable":
        return "not-a-function", f"It is of type {words}."
    if kind == "none":
        return "returned-none", ""
    if kind == "endless":
        return "limit-ignored", ""
    if kind in ("type", "parts"):
        known = {("type", "str"): "baseline-one-string", ("parts", "tuple"): "baseline-with-count"}
        if name == "majority_baseline" and (kind, words) in known:
            return known[kind, words], ""
        if name == "majority_baseline":
            what = "It returned something" if kind == "type" else "Its items are"
            return "baseline-not-a-list", f"{what} of type {words}."
        return _STRINGS.get(name, "wrong-answer"), f"It returned something of type {words}."
    if misses_gpu(words):
        return "hard-coded-device", words
    if name == "corrupt_span" and "empty range" in drop_line(words):
        return "fails-on-short", words
    return "raised", words


def _cases(inputs: Mapping) -> list[str]:
    return list(dict.fromkeys(key.split(".")[0] for key in inputs))


def _texts(value) -> list[str] | None:
    """Return texts that came back, or None when it is something else."""
    try:
        return unpack(value)
    except (TypeError, ValueError):
        return None


def _alike(one, other) -> bool:
    """Say whether two values of a trial are the same; of a Problem the kind is enough."""
    if isinstance(one, str) or isinstance(other, str):
        kinds = [str(v).partition(":")[0] if isinstance(v, str) else None for v in (one, other)]
        return kinds[0] == kinds[1]
    one, other = np.asarray(one), np.asarray(other)
    if one.shape != other.shape:
        return False
    return bool(np.allclose(one.astype(float), other.astype(float), 1e-5, 1e-6))


def _find_mistake(results: dict, mistakes: Mistakes) -> str | None:
    """Return the known mistake that gives the same numbers in every case."""
    for slug, found in mistakes():
        if found and all(key in results and _alike(results[key], found[key]) for key in found):
            return slug
    return None


def _choose_fault(faults: list[Fault], results: dict, mistakes: Mistakes) -> Fault | None:
    """Return what says most; a mistake that is known says more than a difference."""
    if not faults:
        return None
    sure = next((fault for fault in faults if fault[0] not in _VAGUE), None)
    if sure:
        return sure
    slug = _find_mistake(results, mistakes)
    return (slug, faults[0][1]) if slug else faults[0]


# Seen for themselves, in a diary or afterwards, whatever else is wrong.
_APART = {
    "not-in-eval", "gradients-on", "mode-not-put-back", "always-trains-after", "gradients-left-off",
    "input-changed", "stop-returned", "pad-does-not-stop", "mask-does-not-stop", "mask-not-appended",
}  # fmt: skip
_VAGUE = {
    "raised", "baseline-wrong-length", "baseline-several", "baseline-not-most-frequent", "count-wrong", "wrong-lengths", "wrong-x", "wrong-y",
    "wrong-characters", "wrong-text-asked", "wrong-answer",
}  # fmt: skip


def _problems(name: str, results: dict, inputs: dict) -> Iterator[Fault]:
    """Yield what came back as words instead of numbers."""
    for case in _cases(inputs):
        value = results.get(f"{case}.out")
        if isinstance(value, str):
            yield _read_problem(name, str(value))
        elif value is None or (name != "count_right" and _texts(value) is None):
            yield "wrong-answer", ""


# ---------------------------------------------------------------- baseline, counting and pairs


def _check_majority(results, right, inputs) -> Iterator[Fault]:
    yield from _problems("majority_baseline", results, inputs)
    for case in _cases(inputs):
        said = _texts(results.get(f"{case}.out"))
        if said is None:
            continue
        answers, questions = unpack(inputs[f"{case}.answers"]), unpack(inputs[f"{case}.questions"])
        if bool(np.any(results.get(f"{case}.changed"))):
            yield "input-changed", ""
        if not _is_true(results, f"{case}.steady"):
            yield "baseline-random", ""
        wanted, tied = _texts(right[f"{case}.out"]), _texts(right[f"{case}.tied"])
        if len(said) == len(wanted) and len(set(said)) <= 1 and set(said) <= set(tied):
            continue
        if len(said) != len(questions):
            words = f"Number of questions: {len(questions)}, of answers: {len(said)}."
            one = {1: "baseline-one-only", len(answers): "baseline-per-training-answer"}
            yield (one.get(len(said)) if questions else None) or "baseline-wrong-length", words
        if len(set(said)) > 1:
            yield (
                "baseline-several",
                f"The answers to one list of questions: {', '.join(said[:4])}.",
            )
        yield "baseline-not-most-frequent", f"It says {said[0]!r}; most frequent is {tied[0]!r}."


def _check_count(results, right, inputs) -> Iterator[Fault]:
    yield from _problems("count_right", results, inputs)
    for case in _cases(inputs):
        value, wanted = results.get(f"{case}.out"), right[f"{case}.out"]
        if isinstance(value, str) or value is None:
            continue
        if bool(np.any(results.get(f"{case}.changed"))):
            yield "input-changed", ""
        if np.size(value) != 1 or not _alike(np.reshape(value, ()), np.reshape(wanted, ())):
            number = float(np.reshape(value, -1)[0])
            count = len(unpack(inputs[f"{case}.answers"]))
            yield (
                "count-wrong",
                f"For {count} answers it says {number:g}; it should be {float(wanted):g}.",
            )


def _check_pairs(results, right, inputs) -> Iterator[Fault]:
    name = "make_question" if f"{_cases(inputs)[0]}.texts" in inputs else "make_pair"
    yield from _problems(name, results, inputs)
    for case in _cases(inputs):
        said, wanted = _texts(results.get(f"{case}.out")), _texts(right[f"{case}.out"])
        if said is None or said == wanted:
            continue
        block_size = int(inputs[f"{case}.block_size"])
        if len(said) != 2:
            yield "not-two-strings", f"Number of strings: {len(said)}."
        elif [len(text) for text in said] != [block_size, block_size]:
            lengths = " and ".join(str(len(text)) for text in said)
            yield "wrong-lengths", f"With block_size = {block_size} their lengths are {lengths}."
        elif said[0] != wanted[0]:
            yield "wrong-x", f"For example x is {said[0]!r}."
        else:
            yield "wrong-y", f"For example, with x = {said[0]!r}, y is {said[1]!r}."


def _count_question(slug: str, results: dict, right: dict, inputs: dict) -> tuple[Part, ...]:
    """Judge x and y apart; a y that asks for the MASK before the place as well is half right."""
    pairs = []
    for case in _cases(inputs):
        said, wanted = _texts(results.get(f"{case}.out")), _texts(right[f"{case}.out"])
        if said is None or len(said) != 2 or wanted is None:
            return ()
        begin = len(unpack(inputs[f"{case}.texts"])[0]) - 1
        more = wanted[1]
        if 0 <= begin < len(more):
            more = more[:begin] + MASK + more[begin + 1 :]
        pairs.append((said, wanted, more))
    x = all(said[0] == wanted[0] for said, wanted, _ in pairs)
    y = all(said[1] == wanted[1] for said, wanted, _ in pairs)
    half = all(
        more.startswith(said[1]) and len(more) - len(said[1]) in (0, 1) for said, _, more in pairs
    )
    cost = 1 if half else None
    return Part("x", 1, None if x else slug), Part("y", 2, None if y else slug, cost)


# ------------------------------------------------------------------------------ span corruption

# A right way of drawing has to pass whatever its luck. With n uniform and a span of a quarter on
# average, each of these bounds is missed by chance with a probability below one in ten million:
# tests/autograder/test_pretraining_exercises.py works it out.
_THIRD_TOLERANCE = 0.08  # around the share of each third of the lengths kept
_MEAN_SPAN = (0.20, 0.30)  # mean(span / kept)
_MOST_SLOPE = 0.12  # between the mean shares among short and among long texts
_LEAST_SIDE = 0.10  # share of spans in each third
_LEAST_OCCURRING = 0.90  # of all the lengths that may be kept
_MOST_OF_ONE = 2.5  # times as often as it should may one length come up
_LEAST_WHOLE = 0.70  # of how often a short document should be kept whole
_NOT_SO_SHORT = 7  # characters from which a document cannot be kept whole every time by luck
_LEAST_SPREAD = 0.15  # between the extremes of where a span begins


_FORM, _LAW = "the form", "the law of lengths and places"


def _count_corruption(results: dict, inputs: dict) -> tuple[Part, ...]:
    """Judge the form of the texts apart from the law by which they were drawn."""
    form = law = None
    came: dict[str, list[str]] = {}
    for case in _cases(inputs):
        texts = _texts(results.get(f"{case}.out"))
        (document,) = unpack(inputs[f"{case}.document"])
        block_size = int(inputs[f"{case}.block_size"])
        if texts is None or len(texts) != int(inputs[f"{case}.draws"]):
            return ()
        fault = next(_check_form(texts, document, block_size), None)
        form = form or (fault[0] if fault else None)
        came[case] = texts
    drawn = next(filter(None, (_recover(came, inputs, order) for order in _ORDERS)), None)
    if drawn is None:
        law = form or "masks-wrong"
    else:
        if min(taken[:, 2].min() for taken in drawn.values()) < 1:
            form = form or "span-empty"
        law = next((slug for slug, _ in _check_law(drawn, results, inputs) if slug != form), None)
    return Part(_FORM, 2, form), Part(_LAW, 2, law)


# How a document goes together again from the three pieces, where the span begins, and which piece it is:
# as asked for, with the span back in its place, with the span in front, with the span not taken out.
_ORDERS = (((0, 2, 1), 0, 2), ((0, 1, 2), 0, 1), ((1, 0, 2), 1, 0), ((0, 1), 0, 2))


def _recover(came: dict[str, list[str]], inputs: dict, order) -> dict[str, np.ndarray] | None:
    """Return kept, start and size of every text, where all of them are put together in one order."""
    pieces, before, span = order
    drawn = {}
    for case, texts in came.items():
        (document,) = unpack(inputs[f"{case}.document"])
        rows = []
        for text in texts:
            parts = text.strip(PAD).split(MASK)
            parts = parts if len(parts) == 3 else text.strip(PAD).rstrip(MASK).split(MASK)
            if len(parts) != 3:
                return None
            whole = "".join(parts[i] for i in pieces)
            if not document.startswith(whole):
                return None
            rows.append((len(whole), len(parts[before]), len(parts[span])))
        drawn[case] = np.array(rows)
    return drawn


def _check_corruption(results: dict, inputs: dict) -> Iterator[Fault]:
    for case in _cases(inputs):
        if isinstance(results.get(f"{case}.out"), str):
            yield _read_problem("corrupt_span", str(results[f"{case}.out"]))
    drawn = {}
    for case in _cases(inputs):
        texts = _texts(results.get(f"{case}.out"))
        (document,) = unpack(inputs[f"{case}.document"])
        block_size, draws = int(inputs[f"{case}.block_size"]), int(inputs[f"{case}.draws"])
        if texts is None or len(texts) != draws:
            yield "wrong-answer", ""
            return
        yield from _check_form(texts, document, block_size)
        drawn[case] = np.array([_take_apart(text) for text in texts])  # kept, start, size
    yield from _check_law(drawn, results, inputs)


def _check_law(drawn: dict[str, np.ndarray], results: dict, inputs: dict) -> Iterator[Fault]:
    """See how lengths and places are drawn: kept, start and size, by case."""
    for case in drawn:
        (document,) = unpack(inputs[f"{case}.document"])
        block_size = int(inputs[f"{case}.block_size"])
        texts = _texts(results.get(f"{case}.out")) or []
        most = int(7 * block_size / 8)
        kept, _, size = drawn[case].T
        if kept.max() > most:
            yield "kept-too-long", f"With block_size = {block_size}, {kept.max()} were kept."
        if kept.min() < min(4, len(document)):
            yield "kept-too-short", f"{kept.min()} were kept."
        if size.min() < 1:
            yield "span-empty", ""
        if len(set(texts)) == 1 and len(document) > most:
            yield "same-every-time", ""
    for case in drawn:
        if not _is_true(results, f"{case}.repeats"):
            yield "chance-not-from-rng", ""
    long = [case for case in drawn if len(unpack(inputs[f"{case}.document"])[0]) > 40]
    for case in drawn:
        (document,) = unpack(inputs[f"{case}.document"])
        most = int(7 * int(inputs[f"{case}.block_size"]) / 8)
        check = _check_lengths if case in long else _check_whole
        yield from check(drawn[case][:, 0], most, document)
    yield from _check_spans(np.concatenate([drawn[case] for case in long]))


def _is_true(results: dict, key: str) -> bool:
    value = results.get(key)
    return value is not None and not isinstance(value, str) and bool(np.all(value))


def _take_apart(text: str) -> tuple[int, int, int]:
    """Return how much was kept, where the span began and how long it was."""
    prefix, suffix, span = text.rstrip(PAD).split(MASK)
    return len(prefix + suffix + span), len(prefix), len(span)


def _check_form(texts: list[str], document: str, block_size: int) -> Iterator[Fault]:
    """Find what is wrong with single texts: the name that fits all the wrong ones."""
    wrong = [(t, names) for t in texts if (names := _name_form(t, document, block_size))]
    if not wrong:
        return
    votes = Counter(name for _, names in wrong for name in names)
    order = list(dict.fromkeys(name for _, names in wrong for name in names))
    best = max(order, key=lambda name: votes[name])
    example = next(text for text, names in wrong if best in names)
    yield best, f"For example: {example[: block_size + 8]!r}."


def _name_form(text: str, document: str, block_size: int) -> list[str]:
    """Return the mistakes that this text may come from; none when it is well formed."""
    body = text.rstrip(PAD)
    parts = body.split(MASK)
    if len(text) > block_size:
        return ["padded-too-far" if len(body) <= block_size else "too-long-for-block"]
    if len(text) < block_size:
        return ["not-padded"]
    if text.startswith(PAD):
        return ["padded-in-front"]
    if not text.endswith(PAD):  # there is always room left: 1/8 of the block, less two MASKs
        endings = {" ": "padded-with-spaces", MASK: "padded-with-mask"}
        return [endings.get(text[-1], "kept-too-long")]
    if len(parts) == 3:
        return _name_three_parts(*parts, document)
    if len(parts) == 2:
        return _name_two_parts(*parts, document)
    names = []
    if body.endswith(MASK) and len(parts) == 4 and not _name_three_parts(*parts[:3], document):
        names.append("closing-mask-added")
    if len(parts) == len(parts[-1]) + 2:
        names.append("mask-per-character")
    return names or ["masks-wrong"]


def _name_three_parts(first: str, second: str, third: str, document: str) -> list[str]:
    if document.startswith(first + third + second):
        return []
    names = []
    if document.startswith(first + second + third):
        names.append("span-back-in-place")
    if document.startswith(second + first + third):
        names.append("span-first")
    if not third:
        names.append("span-not-at-end")
    if third and document.startswith(first + second) and second.startswith(third):
        names.append("span-not-taken-out")
    if first + third + second in document:
        names.append("kept-from-the-middle")
    return names or ["not-put-back"]


def _name_two_parts(first: str, second: str, document: str) -> list[str]:
    """Name what can lead to a single MASK."""
    names = []
    whole = len(first) + len(second)
    if any(document[:whole] == first[:i] + second + first[i:] for i in range(len(first) + 1)):
        names.append("first-mask-missing")
    if any(
        document[:whole] == first + second[i:] + second[:i] for i in range(len(second) + 1)
    ):  # fmt: skip
        names.append("second-mask-missing")
    if document.startswith(first) and second in document:
        names.append("span-not-at-end")
    return names or ["masks-wrong"]


def _check_whole(kept: np.ndarray, most: int, document: str) -> Iterator[Fault]:
    """A document shorter than the number drawn must be kept as it is."""
    whole, wanted = (kept == len(document)).mean(), (most - len(document) + 1) / (most - 3)
    if whole < _LEAST_WHOLE * wanted:
        yield (
            "short-documents-cut",
            f"A document of {len(document)} characters came back whole in {whole:.0%} of {len(kept)} "
            f"draws; {wanted:.0%} are to be expected.",
        )
    if whole == 1 and len(document) >= _NOT_SO_SHORT:
        yield (
            "short-documents-whole",
            f"A document of {len(document)} characters came back whole in all of {len(kept)} draws; "
            f"{wanted:.0%} are to be expected.",
        )


def _check_lengths(kept: np.ndarray, most: int, document: str) -> Iterator[Fault]:
    """The number of characters kept must be uniform on 4 .. most."""
    if kept.min() == kept.max():
        yield "never-shortened", f"In {len(kept)} draws {kept[0]} characters were kept each time."
    values = np.arange(4, most + 1)
    missing = set(values.tolist()) - set(kept.tolist())
    if missing and missing == {n for n in values.tolist() if document[n - 1] == " "}:
        yield "kept-stripped", f"In {len(kept)} draws what is kept never ended in a space."
    for third in np.array_split(values, 3):
        share = np.isin(kept, third).mean()
        if abs(share - len(third) / len(values)) > _THIRD_TOLERANCE:
            yield (
                "kept-not-uniform",
                f"{third[0]} to {third[-1]} came up in {share:.0%} of {len(kept)} draws; "
                f"{len(third) / len(values):.0%} would be even.",
            )
    if len(missing) > (1 - _LEAST_OCCURRING) * len(values):
        yield (
            "kept-not-uniform",
            f"{len(missing)} of {len(values)} lengths never came up in {len(kept)} draws.",
        )
    if kept.max() == most - 1:
        yield (
            "kept-never-longest",
            f"In {len(kept)} draws at most {kept.max()} of {most} were kept.",
        )
    if kept.min() == 5:
        yield "kept-never-shortest", f"In {len(kept)} draws at least 5 were kept."
    ((most_often, count),) = Counter(kept.tolist()).most_common(1)
    if count > _MOST_OF_ONE * len(kept) / len(values):
        yield (
            "kept-not-uniform",
            f"{most_often} came up {count} times in {len(kept)} draws; about "
            f"{len(kept) / len(values):.0f} would be even.",
        )


def _check_spans(drawn: np.ndarray) -> Iterator[Fault]:
    """Spans must vary in place and length, and be a quarter of the text on average."""
    kept, start, size = drawn.T
    share = size / kept
    shorter, longer = kept <= np.quantile(kept, 1 / 3), kept >= np.quantile(kept, 2 / 3)
    if share[shorter].mean() - share[longer].mean() > _MOST_SLOPE:
        words = f"{share[shorter].mean():.0%} of short texts on average, {share[longer].mean():.0%} of long ones."
        yield "span-length-of-block", words
    low, high = _MEAN_SPAN
    if share.mean() > high:
        yield "span-too-long", f"On average it is {share.mean():.2f} of what is kept."
    if share.mean() < low:
        yield "span-too-short", f"On average it is {share.mean():.2f} of what is kept."
    groups = [size[kept == length] for length in np.unique(kept) if length >= 12]
    varied = [len(set(group.tolist())) > 1 for group in groups if len(group) >= 8]
    if np.mean(varied) < 0.5:
        yield "span-length-fixed", ""
    room = kept - size
    begins = (start / np.maximum(room, 1))[room >= 8]
    if begins.max() - begins.min() < _LEAST_SPREAD:
        yield "span-place-fixed", ""
    early, late = (begins < 1 / 3).mean(), (begins > 2 / 3).mean()
    if min(early, late) < _LEAST_SIDE:
        yield "span-place-one-sided", f"{early:.0%} lie in the first third, {late:.0%} in the last."
    if 1 - early - late < _LEAST_SIDE:
        yield "span-place-ends", f"{early:.0%} lie in the first third, {late:.0%} in the last."


# --------------------------------------------------------------------------- answering questions


def _check_answers(results, right, inputs) -> Iterator[Fault]:
    yield from _problems("answer_question", results, inputs)
    said, wanted, scripts = {}, {}, {}
    for case in _cases(inputs):
        value = _texts(results.get(f"{case}.out"))
        if value is None:
            continue
        if len(value) != 1:
            yield "wrong-answer", ""
            continue
        said[case], wanted[case] = value[0], _texts(right[f"{case}.out"])[0]
        scripts[case] = unpack(inputs[f"{case}.texts"])[1:]
    wrong = [case for case in said if said[case] != wanted[case]]
    yield from _check_dice(results, said)
    for case in wrong:
        diary = results.get(f"{case}.diary")
        if wanted[case] and np.shape(diary) == (7,) and diary[0] == 0:
            yield "never-asked", f"With max_characters = {int(inputs[f'{case}.limit'])}."
    offs = {case: (_texts(results.get(f"{case}.off")) or [""])[0] for case in wrong}
    yield from _check_ends(said, wanted, scripts, offs, inputs)
    for case in wrong:
        yield _name_asked(offs[case], *scripts[case], said[case])
    yield from _check_diary(results, said, inputs)
    for case in wrong:
        yield "wrong-characters", f"It says {said[case]!r}; the script says {wanted[case]!r}."


def _check_dice(results, said) -> Iterator[Fault]:
    for case in said:
        diary = results.get(f"{case}.diary")
        if np.shape(diary) == (7,) and not diary[6]:
            yield "sampled", ""


def _check_ends(said, wanted, scripts, offs, inputs) -> Iterator[Fault]:
    """Name what is wrong about where an answer begins and ends; `offs` has the wrong cases."""
    for case in offs:
        question = scripts[case][0]
        for begin in (question + MASK, question):
            if said[case] == begin + wanted[case]:
                yield "question-in-answer", f"It says {said[case]!r}."
    signs = {MASK: "mask-does-not-stop", PAD: "pad-does-not-stop"}
    tripped = {
        sign: [
            case
            for case, (question, _) in scripts.items()
            if case in offs
            and (
                said[case].startswith(wanted[case] + sign)
                or (wanted[case] and offs[case].startswith(question + MASK + wanted[case] + sign))
            )
        ]
        for sign in signs
    }
    cases = [case for found in tripped.values() for case in found]
    if any(tripped.values()):
        words = f"It says {said[cases[0]]!r}."
        if all(said[case] == wanted[case] + scripts[case][1][-1] for case in cases):
            yield "stop-returned", words
        for sign, name in signs.items():
            if tripped[sign] and not any(tripped[other] for other in signs if other != sign):
                yield name, words
        yield "stop-not-seen", words
    for case in offs:
        limit, script = int(inputs[f"{case}.limit"]), scripts[case][1]
        on_script = script.startswith(said[case]) and not offs[case]
        if on_script and len(wanted[case]) == limit:
            words = f"With max_characters = {limit} it says {said[case]!r}."
            if abs(len(said[case]) - limit) == 1:
                yield "limit-off-by-one", words
            if len(said[case]) > limit:
                yield "limit-ignored", words
        words = f"It says {said[case]!r}; the script says {wanted[case]!r}."
        if not offs[case] and _keep_letters(said[case]) == _keep_letters(wanted[case]):
            yield "answer-reworded", words
        if on_script and 0 < len(said[case]) < len(wanted[case]) < limit:
            yield "stops-too-early", words


def _keep_letters(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter.isalpha())


def _name_asked(off: str, question: str, script: str, said: str) -> Fault:
    """Name what was wrong with the text that the model was shown."""
    words = f"The model was shown {off!r}." if off else ""
    if len(said) > 2 and set(said) == {script[0]} and not off:
        return "answer-not-fed-back", f"It says {said!r}."
    if off == question:
        return "mask-not-appended", words
    if off.startswith(question + MASK + MASK):
        return "mask-appended-twice", words
    if off == MASK:
        return "last-character-only", words
    if off in [question + script[:k] + MASK for k in range(1, len(script))]:
        return "mask-appended-each-time", words
    if off and off in script:
        return "question-not-fed-again", words
    begin = question + MASK
    if off and not (off.startswith(begin) and said.startswith(off[len(begin) :])):
        return "wrong-text-asked", words
    return "wrong-characters", words  # it was asked as it should be, about what was said so far


def _check_diary(results, said, inputs) -> Iterator[Fault]:
    for case in said:
        diary = results.get(f"{case}.diary")
        if np.shape(diary) != (7,) or isinstance(diary, str):
            yield "wrong-answer", ""
            continue
        _, trained, gradients, shapes, put_back, gradients_after, _ = np.asarray(diary).tolist()
        if shapes:
            yield "batch-missing", ""
        if trained:
            yield "not-in-eval", ""
        if gradients:
            yield "gradients-on", ""
        if not put_back:
            training = bool(inputs[f"{case}.training"])
            yield ("mode-not-put-back" if training else "always-trains-after"), ""
        if not gradients_after:
            yield "gradients-left-off", ""


_FINDERS = {
    "majority_baseline": _check_majority,
    "count_right": _check_count,
    "make_pair": _check_pairs,
    "make_question": _check_pairs,
    "answer_question": _check_answers,
}
