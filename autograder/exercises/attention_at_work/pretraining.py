"""The exercises of the notebook on pretraining: six functions on texts, tried on hidden ones."""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache, partial
from threading import Lock

import numpy as np

from autograder.exercises.attention_at_work import pretraining_code as code
from autograder.exercises.base import Exercise, Ruling, join_sources
from autograder.exercises.numbers import encode_trial
from autograder.exercises.trials import (
    judge_safely,
    list_codes,
    make_mistakes,
    run_codes,
    write_program,
)
from autograder.kernel import wire
from course_utils.checks.findings import Finding
from course_utils.checks.pretraining import NAMES, examine, judge
from course_utils.checks.pretraining_trials import MASK, PAD, Problem, pack, run_trial, unpack

BUILDS_ON = {"make_question": ("make_pair",)}
DRAWS = 2_000  # of span corruption, from each of two long documents
# What tells known mistakes apart: the answer, what was asked, and how.
TELLING = (".out", ".off", ".diary")
SHORT_DRAWS = 150  # from a short one

_CONSONANTS, _VOWELS = "bdfghklmnprstvz", "aeiou"


# ----------------------------------------------------------------------------------- inputs


def _make_word(rng: np.random.Generator, syllables: int) -> str:
    letters = [
        letter
        for _ in range(syllables)
        for letter in (rng.choice(list(_CONSONANTS)), rng.choice(list(_VOWELS)))
    ]
    return "".join(letters).capitalize()


def _make_words(rng: np.random.Generator, count: int, syllables: int = 3) -> list[str]:
    """Draw names that are all different, none of which begins like another."""
    words: list[str] = []
    while len(words) < count:
        word = _make_word(rng, syllables)
        if not any(word.lower()[:3] == other.lower()[:3] for other in words):
            words.append(word)
    return words


def _make_questions(rng: np.random.Generator, count: int) -> list[str]:
    return [f"Where was {_make_word(rng, 2)} {_make_word(rng, 2)} born?" for _ in range(count)]


def _draw_majority(rng: np.random.Generator) -> dict:
    # Sorted, so that the frequent place is neither the first nor the last in the alphabet; the
    # longest name, the first and the last answer and the rarest are places of their own.
    low, first, often, last, tied, rare, high = sorted(_make_words(rng, 7))
    longest = f"{rare} {_make_word(rng, 3)} {_make_word(rng, 2)}"
    n = int(rng.integers(4, 8))
    rest = [often] * n + [tied] * (n - 2) + [first] * (n - 2) + [longest] * 2 + [high] * 2 + [rare]
    rest += [low] * 2 + [last]
    plain = [first, *(rest[i] for i in rng.permutation(len(rest))), last]
    both = [often, tied] * n + [rare, high, last]
    shuffled = [rare, *(both[i] for i in rng.permutation(len(both))), last]
    # Never as many questions as answers, nor one; two of them are the same.
    asked = _make_questions(rng, int(rng.integers(3, 7)))
    asked.insert(1, asked[-1])
    return {
        "plain.answers": pack(plain),
        "plain.questions": pack(asked),
        "tie.answers": pack(shuffled),
        "tie.questions": pack(_make_questions(rng, 3)),
        "one.answers": pack([high]),  # who still counts the answers from before says another place
        "one.questions": pack(_make_questions(rng, 2)),
        "none.answers": pack([tied, often, often]),
        "none.questions": pack([]),
    }


def _draw_count(rng: np.random.Generator) -> dict:
    """Each way to be almost right occurs a different number of times, so that none hides another."""
    names = _make_words(rng, 40)
    pairs = [(name, name) for name in names[:4]]
    pairs += [(names[0], names[0]), (names[1], names[0])]  # a place that is asked for three times
    pairs += [(names[2], names[2])] * 8  # and one that comes up again and again
    pairs += [(names[4], f"{names[4]} "), (f" {names[5]}", names[5]), (f"{names[6]}  ", names[6])]
    pairs += [(names[34], f" {names[34]}")]
    pairs += [(names[7].lower(), names[7])]
    pairs += [(f"{a} {b}", a) for a, b in zip(names[8:10], names[10:12], strict=True)]
    pairs += [(a, f"{a} {b}") for a, b in zip(names[12:15], names[15:18], strict=True)]
    pairs += [(f"New{name}", f"New {name}") for name in names[18:22]]
    pairs += [(f"{name}.", name) for name in names[28:34]]
    pairs += [(f"New  {name}", f"New {name}") for name in names[35:40]]
    exchanged = names[22:28]
    pairs += list(zip(exchanged, [*exchanged[1:], exchanged[0]], strict=True))
    pairs = [pairs[i] for i in rng.permutation(len(pairs))]
    answers, places = zip(*pairs, strict=True)
    return {
        "mixed.answers": pack(answers),
        "mixed.places": pack(places),
        "all.answers": pack(names[:3]),
        "all.places": pack(names[:3]),
        "wrong.answers": pack(names[3:5]),
        "wrong.places": pack(names[5:7]),
        "empty.answers": pack([]),
        "empty.places": pack([]),
    }


def _make_text(rng: np.random.Generator, length: int) -> str:
    text = ""
    while len(text) < length:
        text += f"{_make_word(rng, int(rng.integers(1, 4)))} "
    return text[: length - 1].strip().ljust(length - 1, "x") + "."


def _draw_pair(rng: np.random.Generator) -> dict:
    block_size = int(rng.integers(14, 30))
    inputs = {}
    for case, length in (
        ("short", block_size - int(rng.integers(4, 8))),
        ("long", block_size + int(rng.integers(4, 12))),
        ("block", block_size),
        ("exact", block_size + 1),
        ("two", block_size + 2),
    ):
        text = _make_text(rng, length)
        if case == "short":
            text = f"{text[:3]}{MASK}{text[4:-3]}{MASK}{text[-2:]}"
        # Spaces where a text begins, ends and is cut: they count like any other character.
        if case == "block":
            text = f" {text[1:]}"
        if case == "exact":
            text = f"{text[:-1]} "
        if case == "long":
            text = f"{text[:block_size]} {text[block_size + 1 :]}"
        inputs[f"{case}.text"] = pack([text])
        inputs[f"{case}.block_size"] = np.array(block_size)
    return inputs


def _draw_question(rng: np.random.Generator) -> dict:
    inputs = {}
    for case in ("roomy", "other", "exact", "cut", "full", "named"):
        (question,), place = _make_questions(rng, 1), _make_word(rng, int(rng.integers(2, 5)))
        if case == "full":  # the question alone is longer than the block
            question = f"Where was {_make_word(rng, 5)} {_make_word(rng, 5)} born?"
        if case == "named":  # somebody is called as the place is
            place = question.split()[-2]
        whole = len(question) + len(place) + 2
        block_size = {
            "roomy": whole + int(rng.integers(5, 20)),
            "other": whole + int(rng.integers(3, 9)),
            "exact": whole - 1,
            "cut": whole - 1 - int(rng.integers(2, 4)),  # the end of the place is cut off
            "full": len(question) - int(rng.integers(2, 5)),
            "named": whole + int(rng.integers(3, 9)),
        }[case]
        inputs[f"{case}.texts"] = pack([question, place])
        inputs[f"{case}.block_size"] = np.array(block_size)
    return inputs


def _draw_corruption(rng: np.random.Generator) -> dict:
    inputs = {}
    short = {"short": int(rng.integers(7, 10)), "shortest": int(rng.integers(4, 6))}
    for case in ("long", "longer", *short):
        # In one of them 7/8 of the block ends in more than a half: rounding it would be too much.
        block_size = 8 * int(rng.integers(8, 12)) + (
            int(rng.integers(1, 4)) if case == "longer" else 0
        )
        length = short.get(case) or block_size + int(rng.integers(20, 60))
        inputs[f"{case}.document"] = pack([_make_text(rng, length)])
        inputs[f"{case}.block_size"] = np.array(32 if case in short else block_size)
        inputs[f"{case}.seed"] = np.array(rng.integers(2**31 - 2))
        inputs[f"{case}.draws"] = np.array(SHORT_DRAWS if case in short else DRAWS)
    return inputs


def _draw_answer(rng: np.random.Generator) -> dict:
    letters = PAD + MASK + "?. " + string.ascii_letters
    inputs = {}
    # In whatever way an answer ends, a model that was in training mode must be so again.
    for case, stop, training in (
        ("masked", MASK, 0), ("padded", PAD, 1), ("limited", MASK, 1), ("silent", MASK, 1),
        ("none", MASK, 1), ("other", MASK, 0),
    ):  # fmt: skip
        (question,) = _make_questions(rng, 1)
        place = "" if case == "silent" else _make_word(rng, int(rng.integers(3, 6)))
        if case in ("padded", "other"):  # only MASK, PAD and the limit end an answer
            place = f"New {place}ll on St. {_make_word(rng, 2)}"
        if case == "other":  # nor is it for anybody to tidy up
            place += " "
        limit = {"limited": int(rng.integers(3, len(place) - 1)) if place else 0, "none": 0}
        inputs[f"{case}.texts"] = pack([letters, question, place + stop])
        inputs[f"{case}.limit"] = np.array(limit.get(case, len(place) + int(rng.integers(3, 9))))
        inputs[f"{case}.training"] = np.array(training)
    return inputs


_DRAWERS = {
    "majority_baseline": _draw_majority,
    "count_right": _draw_count,
    "corrupt_span": _draw_corruption,
    "make_pair": _draw_pair,
    "make_question": _draw_question,
    "answer_question": _draw_answer,
}

# ------------------------------------------------------------------------- asking and judging

_TRIALS_SOURCE = join_sources("learners_code", "pretraining_trials")


def make_namespace(*codes: str) -> dict:
    """Return a namespace as the notebook has it, in which these codes have run."""
    return run_codes({"__name__": "__main__"}, code.GIVEN, *codes)  # named as in a notebook


def examine_code(name: str, text: str) -> Finding:
    """Show a solution cell's code to the public check, as a student would."""
    return examine(name, make_namespace(*code.ORACLES.values(), text)[name])


def list_pieces(solutions: dict[str, str]) -> tuple[str, ...]:
    """Return the code of a right notebook: every cell that an exercise is about."""
    return tuple(solutions[name] for name in NAMES)


def try_out(name: str, inputs: dict, *codes: str) -> dict:
    """Return what some code does in a trial; the codes are a whole notebook's."""
    results = run_trial(name, make_namespace(*codes), inputs)
    if name == "majority_baseline":
        results |= _find_tied(inputs)
    return results


def _find_tied(inputs: dict) -> dict:
    """Return the places that may be given in each case: the most frequent ones."""
    tied = {}
    for key in inputs:
        case, what = key.split(".")
        if what == "answers":
            counts = Counter(unpack(inputs[key]))
            most = max(counts.values())
            tied[f"{case}.tied"] = pack([place for place in counts if counts[place] == most])
    return tied


_one_at_a_time = Lock()  # several notebooks are judged at once; a trial moves global dice about


@lru_cache(maxsize=2_000)
def _recall(name: str, inputs: str, *codes: str) -> dict:
    """Return what some code does in a trial; the same question is worked out only once."""
    with _one_at_a_time:
        return try_out(name, wire.load(inputs), *codes)


# Named by what must hold, not by comparing numbers: chance is in them, or the diary tells.
_NOT_BY_NUMBERS = ("baseline-random", "sampled", "input-changed")


def list_mistakes(name: str) -> Iterator[tuple[str, str]]:
    """Yield (diagnosis, code) of the known mistakes."""
    return list_codes(code.MISTAKES[name])


def _list_numbers(name: str, inputs: dict, pieces: tuple[str, ...]) -> Iterator[tuple[str, dict]]:
    """Yield what known mistakes return for these inputs, where that tells them apart."""
    if name == "corrupt_span":
        return
    for diagnosis, text in list_mistakes(name):
        if diagnosis not in _NOT_BY_NUMBERS:
            results = _recall(name, wire.dump(inputs), *pieces, text)
            yield (
                diagnosis,
                {
                    key: value
                    for key, value in results.items()
                    if key.endswith(TELLING) and not key.startswith("tie")  # any of several will do
                },
            )


def _make_right(name: str, inputs: dict, pieces: tuple[str, ...]) -> dict:
    """Return what a right solution gives; span corruption has no single right answer."""
    return {} if name == "corrupt_span" else _recall(name, wire.dump(inputs), *pieces)


def _make_rule(name: str):
    def rule(values: dict, inputs: dict, solutions: dict[str, str]) -> Ruling:
        pieces = list_pieces(solutions)
        results = {
            key: Problem(value) if isinstance(value, str) else value
            for key, value in values.items()
            if value is not wire.Missing and value is not ...
        }

        def find() -> Finding:
            right = _make_right(name, inputs, pieces)
            mistakes = partial(_list_numbers, name, inputs, pieces)
            return judge(name, results, right, mistakes, inputs)

        return judge_safely(find)

    return rule


def _make(name: str) -> Exercise:
    return Exercise(
        name=name,
        oracle=code.ORACLES[name],
        program=write_program(_TRIALS_SOURCE, (name,), f"run_trial({name!r}, functions, inputs)"),
        rule=_make_rule(name),
        make_inputs=_DRAWERS[name],
        mistakes=make_mistakes(list_mistakes(name), code.SHARES.get(name)),
        variants=tuple(code.VARIANTS[name]),
        builds_on=BUILDS_ON.get(name, ()),
    )


EXERCISES = [_make(name) for name in NAMES]


# ---------------------------------------------------------------------- numbers for students


ANSWER_FILE = "pretraining.json"


def make_answers(solutions: dict[str, str]) -> dict[str, dict]:
    """Return what the public checks compare with, by exercise."""
    return {e.name: encode_trial(make_numbers(e.name, solutions)) for e in EXERCISES}


def make_numbers(name: str, solutions: dict[str, str], seed: int = 5) -> dict:
    """Return the visible inputs, what a right solution gives, and what known mistakes give."""
    inputs = _DRAWERS[name](np.random.default_rng(seed))
    pieces = list_pieces(solutions)
    return {
        "inputs": inputs,
        "right": _make_right(name, inputs, pieces),
        "mistakes": list(_list_numbers(name, inputs, pieces)),
    }
