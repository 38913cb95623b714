"""The pretraining notebook as code: known mistakes by name, and right ways to write it.

Everything here is source text, because it is run the way a student's cell is run.
"""

from __future__ import annotations

import textwrap

GIVEN = """
import random
from collections import Counter

import torch

MASK, PAD = "\\u2047", "\\u25a1"
"""

SIGNATURES = {
    "majority_baseline": "train_answers, questions",
    "count_right": "answers, places",
    "corrupt_span": "document, block_size, rng",
    "make_pair": "text, block_size",
    "make_question": "question, place, block_size",
    "answer_question": "model, question, max_characters",
}


def define(name: str, body: str) -> str:
    """Write a function of the notebook with this body; a bare expression is returned."""
    body = body.strip("\n")
    if "\n" not in body and not body.startswith(("return", "raise", "pass")):
        body = f"return {body}"
    return f"def {name}({SIGNATURES[name]}):\n{textwrap.indent(body, '    ')}\n"


_CORRUPT = """
n = rng.randint(4, int(7 * block_size / 8))
text = document[:n]
size = rng.randint(1, max(1, len(text) // 2))
start = rng.randint(0, len(text) - size)
prefix, span, suffix = text[:start], text[start : start + size], text[start + size :]
return (prefix + MASK + suffix + MASK + span).ljust(block_size, PAD)
"""
_PAIR = """
padded = text.ljust(block_size + 1, PAD)[: block_size + 1]
return padded[:-1], padded[1:]
"""
_QUESTION = """
x, y = make_pair(question + MASK + place + MASK, block_size)
return x, (PAD * len(question) + y[len(question) :])[:block_size]
"""
_ANSWER = """
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
"""
_COUNT = """
if not answers:
    return 0.0
right = sum(answer.strip() == place.strip() for answer, place in zip(answers, places))
return right / len(answers)
"""
_MAJORITY = """
place, _ = Counter(train_answers).most_common(1)[0]
return [place] * len(questions)
"""
BODIES = {
    "majority_baseline": _MAJORITY,
    "count_right": _COUNT,
    "corrupt_span": _CORRUPT,
    "make_pair": _PAIR,
    "make_question": _QUESTION,
    "answer_question": _ANSWER,
}


def _swap(name: str, *changes: tuple[str, str]) -> str:
    """Return right code with some of its text exchanged: that is what most mistakes are."""
    body = BODIES[name]
    for old, new in changes:
        if old not in body:
            raise ValueError(f"{name} has no {old!r}")
        body = body.replace(old, new)
    return define(name, body)


# ------------------------------------------------------------------------------ known mistakes

_TAKEN = "text[:start], text[start : start + size], text[start + size :]"
_LAST = "return (prefix + MASK + suffix + MASK + span).ljust(block_size, PAD)"
_NUMBER = "n = rng.randint(4, int(7 * block_size / 8))"
_SIZE = "size = rng.randint(1, max(1, len(text) // 2))"
_START = "start = rng.randint(0, len(text) - size)"

MISTAKES: dict[str, dict[str, list[str]]] = {
    "majority_baseline": {
        "baseline-least-frequent": [
            define("majority_baseline", "[min(set(train_answers), key=train_answers.count)] * len(questions)"),
            _swap("majority_baseline", ("most_common(1)[0]", "most_common()[-1]")),
        ],
        "baseline-first-answer": [define("majority_baseline", "[train_answers[0]] * len(questions)")],
        "baseline-last-answer": [define("majority_baseline", "[train_answers[-1]] * len(questions)")],
        "baseline-last-in-alphabet": [define("majority_baseline", "[max(train_answers)] * len(questions)")],
        "baseline-longest-name": [define("majority_baseline", "[max(train_answers, key=len)] * len(questions)")],
        "baseline-one-string": [
            define("majority_baseline", "max(set(train_answers), key=train_answers.count)"),
        ],
        "baseline-one-only": [_swap("majority_baseline", ("[place] * len(questions)", "[place]"))],
        "baseline-per-training-answer": [
            _swap("majority_baseline", ("len(questions)", "len(train_answers)")),
        ],
        "baseline-with-count": [
            define("majority_baseline", "Counter(train_answers).most_common(1) * len(questions)"),
        ],
        "baseline-not-a-list": [
            define("majority_baseline", "place = max(set(train_answers), key=train_answers.count)\nreturn {question: place for question in questions}"),
            define("majority_baseline", "place = max(set(train_answers), key=train_answers.count)\nreturn (place for _ in questions)"),
            define("majority_baseline", "[[max(set(train_answers), key=train_answers.count)]] * len(questions)"),
        ],
        "baseline-wrong-length": [_swap("majority_baseline", ("len(questions)", "max(1, len(questions))"))],
        "baseline-letters": [define("majority_baseline", "list(max(set(train_answers), key=train_answers.count))")],
        "baseline-of-questions": [
            define("majority_baseline", "[Counter(questions).most_common(1)[0][0] if questions else ''] * len(questions)"),
        ],
        "baseline-random": [
            define("majority_baseline", "[random.choice(train_answers) for _ in questions]"),
            define("majority_baseline", "[random.choice(train_answers)] * len(questions)"),
        ],
        "input-changed": [
            define("majority_baseline", "train_answers.sort(key=train_answers[:].count)\nreturn [train_answers[-1]] * len(questions)"),
        ],
        "returned-none": [_swap("majority_baseline", ("return [place]", "answers = [place]"))],
    },
    "count_right": {
        "count-not-divided": [_swap("count_right", ("return right / len(answers)", "return float(right)"))],
        "count-in-percent": [_swap("count_right", ("return right / len(answers)", "return 100 * right / len(answers)"))],
        "count-ignores-case": [_swap("count_right", ("answer.strip() == place.strip()", "answer.strip().lower() == place.strip().lower()"))],
        "count-keeps-spaces": [
            _swap("count_right", ("answer.strip() == place.strip()", "answer == place")),
            _swap("count_right", ("answer.strip() == place.strip()", "answer == place.strip()")),
            _swap("count_right", ("answer.strip() == place.strip()", "answer.strip() == place")),
            _swap("count_right", ("answer.strip() == place.strip()", "answer.strip() == place.rstrip()")),
            _swap("count_right", ("answer.strip() == place.strip()", "answer.rstrip() == place.strip()")),
        ],
        "count-drops-inner-spaces": [
            _swap("count_right", ("answer.strip() == place.strip()", "answer.replace(' ', '') == place.replace(' ', '')")),
            _swap("count_right", ("answer.strip() == place.strip()", "answer.split() == place.split()")),
        ],
        "count-part-of-name": [
            _swap("count_right", ("answer.strip() == place.strip()", "place.strip() in answer")),
            _swap("count_right", ("answer.strip() == place.strip()", "answer.strip().startswith(place.strip())")),
            _swap("count_right", ("answer.strip() == place.strip()", "answer.strip() in place")),
        ],
        "count-ignores-order": [
            _swap("count_right", ("answer.strip() == place.strip() for answer, place in zip(answers, places)", "answer.strip() in [p.strip() for p in places] for answer in answers")),
        ],
        "count-strips-signs": [_swap("count_right", ("answer.strip() == place.strip()", "answer.strip(' .?!') == place.strip(' .?!')"))],
        "count-by-places": [_swap("count_right", ("right / len(answers)", "right / len(set(places))"))],
        "count-repeats-once": [
            _swap("count_right", ("for answer, place in zip(answers, places)", "for place, answer in dict(zip(places, answers)).items()")),
            _swap("count_right", ("for answer, place in zip(answers, places)", "for answer, place in dict(zip(answers, places)).items()")),
            define("count_right", "pairs = dict(zip(places, answers))\nright = sum(answer.strip() == place.strip() for place, answer in pairs.items())\nreturn right / len(pairs) if pairs else 0.0"),
            _swap("count_right", ("zip(answers, places)", "set(zip(answers, places))")),
        ],
        "count-wrong-ones": [_swap("count_right", ("==", "!="))],
        "count-fails-when-empty": [_swap("count_right", ("if not answers:\n    return 0.0\n", ""))],
        "count-empty-is-one": [_swap("count_right", ("return 0.0", "return 1.0"))],
        "count-rounded-to-whole": [_swap("count_right", ("right / len(answers)", "right // len(answers)"))],
        "returned-none": [_swap("count_right", ("return right / len(answers)", "share = right / len(answers)"))],
    },
    "corrupt_span": {
        "span-not-at-end": [
            _swap("corrupt_span", ("suffix + MASK + span", "suffix")),
            _swap("corrupt_span", ("suffix + MASK + span", "suffix + MASK")),
        ],
        "span-back-in-place": [_swap("corrupt_span", ("prefix + MASK + suffix + MASK + span", "prefix + MASK + span + MASK + suffix"))],
        "span-first": [_swap("corrupt_span", ("prefix + MASK + suffix + MASK + span", "span + MASK + prefix + MASK + suffix"))],
        "second-mask-missing": [_swap("corrupt_span", ("suffix + MASK + span", "suffix + span"))],
        "first-mask-missing": [_swap("corrupt_span", ("prefix + MASK + suffix", "prefix + suffix"))],
        "mask-per-character": [_swap("corrupt_span", ("prefix + MASK + suffix", "prefix + MASK * len(span) + suffix"))],
        "span-not-taken-out": [_swap("corrupt_span", (_TAKEN, "text[:start], text[start : start + size], text[start:]"))],
        "closing-mask-added": [_swap("corrupt_span", ("MASK + span)", "MASK + span + MASK)"))],
        "not-padded": [_swap("corrupt_span", (".ljust(block_size, PAD)", ""))],
        "padded-with-spaces": [_swap("corrupt_span", ("(block_size, PAD)", "(block_size)"))],
        "padded-with-mask": [_swap("corrupt_span", ("(block_size, PAD)", "(block_size, MASK)"))],
        "padded-in-front": [_swap("corrupt_span", ("ljust", "rjust"))],
        "padded-too-far": [_swap("corrupt_span", ("(block_size, PAD)", "(block_size + 1, PAD)"))],
        "never-shortened": [
            _swap("corrupt_span", (_NUMBER, "n = int(7 * block_size / 8)")),
            _swap("corrupt_span", (_NUMBER, "n = int(7 * block_size / 8)"), ("document[:n]", "document[:n] if rng.random() < 2 else ''")),
        ],
        "kept-too-long": [
            _swap("corrupt_span", ("int(7 * block_size / 8)", "block_size - 2")),
            _swap("corrupt_span", ("text = document[:n]", "text = document"), (_LAST, "return (prefix + MASK + suffix + MASK + span)[:block_size].ljust(block_size, PAD)")),
            _swap("corrupt_span", ("int(7 * block_size / 8)", "-(-7 * block_size // 8) + 1")),
            _swap("corrupt_span", ("int(7 * block_size / 8)", "round(7 * block_size / 8)")),
        ],
        "too-long-for-block": [
            _swap("corrupt_span", ("text = document[:n]", "text = document")),
        ],
        "kept-stripped": [_swap("corrupt_span", ("text = document[:n]", "text = document[:n].strip()"))],
        "short-documents-cut": [_swap("corrupt_span", (_NUMBER, "n = rng.randint(4, min(len(document), int(7 * block_size / 8)))"))],
        "short-documents-whole": [_swap("corrupt_span", (_NUMBER, "most = int(7 * block_size / 8)\nn = rng.randint(4, most) if len(document) > most else len(document)"))],
        "kept-never-longest": [_swap("corrupt_span", (_NUMBER, "n = rng.randrange(4, int(7 * block_size / 8))"))],
        "kept-never-shortest": [_swap("corrupt_span", ("rng.randint(4,", "rng.randint(5,"))],
        "kept-too-short": [_swap("corrupt_span", ("rng.randint(4,", "rng.randint(1,"))],
        "kept-not-uniform": [
            _swap("corrupt_span", (_NUMBER, "n = min(rng.randint(4, int(7 * block_size / 8)), rng.randint(4, int(7 * block_size / 8)))")),
            _swap("corrupt_span", ("int(7 * block_size / 8)", "block_size // 2")),
            _swap("corrupt_span", (_NUMBER, "n = rng.randrange(4, int(7 * block_size / 8) + 1, 4)")),
            _swap("corrupt_span", (_NUMBER, "n = max(4, rng.randint(0, int(7 * block_size / 8)))")),
        ],
        "kept-from-the-middle": [
            _swap("corrupt_span", ("text = document[:n]", "first = rng.randint(0, max(0, len(document) - n))\ntext = document[first : first + n]")),
            _swap("corrupt_span", ("text = document[:n]", "text = document[-n:]")),
        ],
        "span-empty": [_swap("corrupt_span", (_SIZE, "size = rng.randint(0, len(text) // 2)"))],
        "span-length-fixed": [
            _swap("corrupt_span", (_SIZE, "size = max(1, len(text) // 4)")),
            _swap("corrupt_span", (_SIZE, "size = round(len(text) / 4)")),
        ],
        "span-length-of-block": [
            _swap("corrupt_span", (_SIZE, "size = min(len(text), rng.randint(1, int(7 * block_size / 32)))")),
            _swap("corrupt_span", (_SIZE, "size = rng.randint(1, 5)\nsize = min(size, len(text))")),
        ],
        "span-too-long": [
            _swap("corrupt_span", (_SIZE, "size = rng.randint(1, len(text))")),
            _swap("corrupt_span", (_SIZE, "size = rng.randint(max(1, len(text) // 4), max(1, len(text) // 2))")),
        ],
        "span-too-short": [
            _swap("corrupt_span", (_SIZE, "size = rng.randint(1, max(1, len(text) // 4))")),
            _swap("corrupt_span", (_SIZE, "size = 1")),
        ],
        "span-place-fixed": [
            _swap("corrupt_span", (_START, "start = (len(text) - size) // 2")),
            _swap("corrupt_span", (_START, "start = 0")),
            _swap("corrupt_span", (_START, "start = len(text) - size")),
        ],
        "span-place-one-sided": [
            _swap("corrupt_span", (_START, "start = rng.randint(0, (len(text) - size) // 3)")),
            _swap("corrupt_span", (_START, "start = rng.randint((len(text) - size) // 2 + 1, len(text) - size) if len(text) - size > 2 else len(text) - size")),
        ],
        "span-place-ends": [_swap("corrupt_span", (_START, "start = len(text) - size if rng.random() < 0.5 else 0"))],
        "chance-not-from-rng": [
            define("corrupt_span", BODIES["corrupt_span"].replace("rng.", "random.")),
            _swap("corrupt_span", (_START, "start = random.randint(0, len(text) - size)")),
            _swap("corrupt_span", (_SIZE, "size = int(torch.randint(1, max(2, len(text) // 2 + 1), ()))")),
            _swap("corrupt_span", (_START, "import numpy\nstart = int(numpy.random.randint(0, len(text) - size + 1))")),
        ],
        "same-every-time": [
            _swap("corrupt_span", (_NUMBER, "rng = random.Random(0)\n" + _NUMBER)),
            _swap("corrupt_span", (_NUMBER, "rng.seed(3)\n" + _NUMBER)),
        ],
        "not-a-string": [
            _swap("corrupt_span", (_LAST, "return prefix, suffix, span")),
            _swap("corrupt_span", (_LAST, "return list((prefix + MASK + suffix + MASK + span).ljust(block_size, PAD))")),
        ],
        "fails-on-short": [
            _swap("corrupt_span", (_SIZE, "size = rng.randrange(1, len(text) // 2) if len(text) > 40 else rng.randrange(2, len(text) // 2)")),
        ],
        "returned-none": [_swap("corrupt_span", ("return (prefix", "out = (prefix"))],
    },
    "make_pair": {
        "pair-not-shifted": [
            define("make_pair", "padded = text.ljust(block_size, PAD)[:block_size]\nreturn padded, padded"),
        ],
        "pair-swapped": [_swap("make_pair", ("padded[:-1], padded[1:]", "padded[1:], padded[:-1]"))],
        "pair-one-short": [
            _swap("make_pair", ("text.ljust(block_size + 1, PAD)[: block_size + 1]", "text.ljust(block_size, PAD)[:block_size]")),
        ],
        "pair-one-long": [
            define("make_pair", "padded = text.ljust(block_size + 2, PAD)[: block_size + 2]\nreturn padded[:-1], padded[1:]"),
            define("make_pair", "padded = text.ljust(block_size + 1, PAD)[: block_size + 1]\nreturn padded, padded[1:] + PAD"),
        ],
        "pair-not-cut": [_swap("make_pair", (")[: block_size + 1]", ")"))],
        "pair-not-padded": [_swap("make_pair", ("text.ljust(block_size + 1, PAD)[: block_size + 1]", "text[: block_size + 1]"))],
        "pair-cut-in-front": [_swap("make_pair", ("[: block_size + 1]", "[-block_size - 1 :]"))],
        "pair-padded-in-front": [_swap("make_pair", ("ljust", "rjust"))],
        "pair-padded-with-spaces": [_swap("make_pair", ("block_size + 1, PAD)", "block_size + 1)"))],
        "pair-padded-with-mask": [_swap("make_pair", ("PAD", "MASK"))],
        "pair-stripped": [
            _swap("make_pair", ("text.ljust(block_size + 1, PAD)[: block_size + 1]", "text[: block_size + 1].strip().ljust(block_size + 1, PAD)")),
            _swap("make_pair", ("text.ljust", "text.strip().ljust")),
            _swap("make_pair", ("text.ljust", "text.rstrip().ljust")),
        ],
        "pair-mask-at-end": [_swap("make_pair", ("text.ljust", "(text + MASK).ljust"))],
        "pair-reversed": [_swap("make_pair", ("return padded[:-1], padded[1:]", "return padded[:-1], padded[::-1][1:]"))],
        "pair-shifted-by-two": [_swap("make_pair", ("return padded[:-1], padded[1:]", "return padded[:-1], padded[2:] + PAD"))],
        "not-two-strings": [
            _swap("make_pair", ("return padded[:-1], padded[1:]", "return padded")),
            _swap("make_pair", ("return padded[:-1], padded[1:]", "return [ord(c) for c in padded[:-1]], [ord(c) for c in padded[1:]]")),
        ],
        "returned-none": [_swap("make_pair", ("return padded", "pair = padded"))],
    },
    "make_question": {
        "question-counts": [
            define("make_question", "make_pair(question + MASK + place + MASK, block_size)"),
        ],
        "first-mask-counts": [
            _swap("make_question", ("PAD * len(question) + y[len(question) :]", "PAD * (len(question) - 1) + y[len(question) - 1 :]")),
            # As a course of another university has it, one character shorter than a block.
            define("make_question", "text = (question + MASK + place + MASK).ljust(block_size, PAD)[:block_size]\ny = PAD * (len(question) - 1) + text[len(question) :]\nreturn text[:-1], y[: block_size - 1]"),
        ],
        "place-begins-late": [_swap("make_question", ("PAD * len(question) + y[len(question) :]", "PAD * (len(question) + 1) + y[len(question) + 1 :]"))],
        "closing-mask-does-not-count": [
            define("make_question", "x, y = make_pair(question + MASK + place + MASK, block_size)\nstart = len(question)\nend = start + len(place)\nreturn x, (PAD * start + y[start:end]).ljust(block_size, PAD)[:block_size]"),
        ],
        "closing-mask-missing": [_swap("make_question", ("place + MASK, block_size", "place, block_size"))],
        "question-mask-missing": [_swap("make_question", ("question + MASK + place", "question + place"))],
        "question-space-added": [_swap("make_question", ("question + MASK + place", "question + ' ' + MASK + place")), _swap("make_question", ("question + MASK + place", "question + MASK + ' ' + place"))],
        "question-hidden-in-x": [
            _swap("make_question", ("return x, ", "return PAD * len(question) + x[len(question) :], ")),
        ],
        "place-hidden-in-x": [_swap("make_question", ("return x, ", "return (question + MASK).ljust(block_size, PAD)[:block_size], "))],
        "only-question-counts": [_swap("make_question", ("(PAD * len(question) + y[len(question) :])[:block_size]", "y[: len(question)].ljust(block_size, PAD)"))],
        "y-hidden-with-mask": [_swap("make_question", ("(PAD * len(question)", "(MASK * len(question)"))],
        "y-too-long": [_swap("make_question", (")[:block_size]", ")"))],
        "place-found-in-question": [
            define("make_question", "text = question + MASK + place + MASK\nx, y = make_pair(text, block_size)\nstart = text.index(place) - 1\nreturn x, (PAD * start + y[start : start + len(place) + 1]).ljust(block_size, PAD)[:block_size]"),
        ],
        "y-shortened": [_swap("make_question", ("(PAD * len(question) + y[len(question) :])[:block_size]", "y[len(question) :]"))],
        "y-not-shifted": [_swap("make_question", ("(PAD * len(question) + y[len(question) :])[:block_size]", "(PAD * (len(question) + 1) + x[len(question) + 1 :])[:block_size]"))],
        "place-before-question": [_swap("make_question", ("question + MASK + place + MASK", "place + MASK + question + MASK"))],
        "question-one-short": [_swap("make_question", ("place + MASK, block_size)", "place + MASK, block_size - 1)"), (")[:block_size]", ")[: block_size - 1]"))],
        "not-two-strings": [_swap("make_question", ("return x, (PAD * len(question) + y[len(question) :])[:block_size]", "return x"))],
        "returned-none": [_swap("make_question", ("return x", "pair = x"))],
    },
    "answer_question": {
        "mask-not-appended": [_swap("answer_question", ("text = question + MASK", "text = question"))],
        "mask-appended-twice": [_swap("answer_question", ("text = question + MASK", "text = question + MASK + MASK"))],
        "mask-appended-each-time": [_swap("answer_question", ("encode(text + answer)", "encode(question + answer + MASK)"))],
        "answer-not-fed-back": [_swap("answer_question", ("encode(text + answer)", "encode(text)"))],
        "question-not-fed-again": [_swap("answer_question", ("encode(text + answer)", "encode(answer or text)"))],
        "wrong-text-asked": [
            _swap("answer_question", ("encode(text + answer)", "encode(text + ' ' + answer)")),
            _swap("answer_question", ("encode(text + answer)", "encode((text + answer)[1:])")),
            _swap("answer_question", ("text = question + MASK", "text = question + ' ' + MASK")),
        ],
        "last-character-only": [_swap("answer_question", ("encode(text + answer)", "encode((text + answer)[-1])"))],
        "stop-not-seen": [_swap("answer_question", ("if character in (MASK, PAD):\n            break\n        ", ""))],
        "stop-returned": [_swap("answer_question", ("        if character in (MASK, PAD):\n            break\n        answer += character", "        answer += character\n        if character in (MASK, PAD):\n            break"))],
        "pad-does-not-stop": [
            _swap("answer_question", ("in (MASK, PAD)", "== MASK")),
            _swap("answer_question", ("in (MASK, PAD)", "== MASK"), ("return answer", "return answer.replace(PAD, '')")),
        ],
        "stops-too-early": [
            _swap("answer_question", ("in (MASK, PAD)", "in (MASK, PAD, ' ', '.', '?')")),
            _swap("answer_question", ("if character in (MASK, PAD)", "if character in (MASK, PAD) or answer.endswith(character)")),
        ],
        "answer-reworded": [_swap("answer_question", ("return answer", "return answer.capitalize()")), _swap("answer_question", ("return answer", "return answer.strip()")), _swap("answer_question", ("return answer", "return answer.title()"))],
        "never-asked": [
            _swap("answer_question", ("len(answer) < max_characters", "len(text + answer) < max_characters")),
            _swap("answer_question", ("len(answer) < max_characters", "len(answer) > max_characters")),
        ],
        "mask-does-not-stop": [_swap("answer_question", ("in (MASK, PAD)", "== PAD"))],
        "limit-off-by-one": [
            _swap("answer_question", ("len(answer) < max_characters", "len(answer) <= max_characters")),
            _swap("answer_question", ("len(answer) < max_characters", "len(answer) < max_characters - 1")),
        ],
        "limit-ignored": [_swap("answer_question", ("while len(answer) < max_characters", "while True"))],
        "question-in-answer": [
            _swap("answer_question", ("return answer", "return text + answer")),
            _swap("answer_question", ("return answer", "return question + answer")),
        ],
        "logits-of-first-place": [_swap("answer_question", ("[0, -1]", "[0, 0]"))],
        "logits-of-place-before": [_swap("answer_question", ("[0, -1]", "[0, -2]"))],
        "worst-character": [_swap("answer_question", ("argmax", "argmin"))],
        "sampled": [_swap("answer_question", ("model(ids)[0, -1].argmax().item()", "torch.multinomial(model(ids)[0, -1].softmax(-1), 1).item()"))],
        "not-in-eval": [_swap("answer_question", ("model.eval()\n", "")), _swap("answer_question", ("model.eval()\n", "model.training = False\n"), ("model.train(was_training)", "model.training = was_training"))],
        "mode-not-put-back": [
            _swap("answer_question", ("model.train(was_training)\n", "")),
            _swap("answer_question", ("            break\n", "            model.train(was_training)\n            break\n"), ("\nmodel.train(was_training)\nreturn", "\nreturn")),
            _swap("answer_question", ("was_training = model.training\nmodel.eval()\n", "was_training = model.training\nmodel.eval()\nif max_characters == 0:\n    return ''\n")),
        ],
        "always-trains-after": [_swap("answer_question", ("model.train(was_training)", "model.train()"))],
        "gradients-on": [_swap("answer_question", ("with torch.no_grad():", "if True:"))],
        "gradients-left-off": [_swap("answer_question", ("with torch.no_grad():", "torch.set_grad_enabled(False)\nif True:"))],
        "batch-missing": [_swap("answer_question", ("torch.tensor([model.vocabulary.encode(text + answer)])", "torch.tensor(model.vocabulary.encode(text + answer))"), ("[0, -1]", "[..., -1, :].flatten()[: len(model.vocabulary)]"))],
        "not-a-string": [_swap("answer_question", ("return answer", "return model.vocabulary.encode(answer)"))],
        "returned-none": [_swap("answer_question", ("return answer", "said = answer"))],
    },
}  # fmt: skip

# ------------------------------------------------------------------------- other right answers

_VARIANT_BODIES = {
    "majority_baseline": [
        "[max(set(train_answers), key=train_answers.count)] * len(questions)",
        """
counts = {}
for answer in train_answers:
    counts[answer] = counts.get(answer, 0) + 1
best = max(counts, key=counts.get)
return [best for _ in questions]
""",
        "import statistics\nreturn [statistics.mode(train_answers)] * len(questions)",
        """
import numpy
names, counts = numpy.unique(train_answers, return_counts=True)
return [str(names[counts.argmax()])] * len(questions)
""",
        """
ordered = sorted(set(train_answers), key=lambda place: (-train_answers.count(place), place))
answers = []
for question in questions:
    answers.append(ordered[0])
return answers
""",
        "return tuple(Counter(train_answers).most_common(1)[0][0] for _ in questions)",
    ],
    "count_right": [
        """
right = 0
for i in range(len(answers)):
    if answers[i].strip() == places[i].strip():
        right += 1
return right / max(1, len(places))
""",
        """
pairs = list(zip(answers, places))
return sum(1.0 for a, b in pairs if a.strip() == b.strip()) / len(pairs) if pairs else 0
""",
        """
import numpy
hits = [a.strip() == b.strip() for a, b in zip(answers, places, strict=True)]
return float(numpy.mean(hits)) if len(hits) else 0.0
""",
        """
hits = torch.tensor([float(a.strip() == b.strip()) for a, b in zip(answers, places)])
return hits.mean().item() if len(hits) > 0 else 0.0
""",
        "import numpy\nreturn numpy.float64(sum(map(lambda a, b: a.strip() == b.strip(), answers, places))) / (len(answers) or 1)",
    ],
    "corrupt_span": [
        """
n = 4 + int(rng.random() * (int(7 * block_size / 8) - 3))
kept = document[:n]
size = min(len(kept), max(1, round(len(kept) * rng.uniform(0.05, 0.45))))
start = int(rng.random() * (len(kept) - size + 1))
out = kept[:start] + MASK + kept[start + size :] + MASK + kept[start : start + size]
while len(out) < block_size:
    out += PAD
return out
""",
        """
n = rng.choice(range(4, 7 * block_size // 8 + 1))
kept = document[: min(n, len(document))]
quarter = len(kept) / 4
size = int(rng.triangular(1, 2 * quarter, quarter) + rng.random())
size = max(1, min(size, len(kept) - 1))
start = rng.randrange(len(kept) - size + 1)
pieces = [kept[:start], kept[start + size :], kept[start : start + size]]
out = MASK.join(pieces)
return out + PAD * (block_size - len(out))
""",
        """
n = rng.randrange(4, int(7 * block_size / 8) + 1)
kept = document[:n]
quarter = max(1, len(kept) // 4)
size = max(1, min(len(kept), quarter + rng.choice([-1, 0, 1])))
middle = rng.uniform(size / 2, len(kept) - size / 2)
start = max(0, min(len(kept) - size, int(middle - size / 2)))
return f"{kept[:start]}{MASK}{kept[start + size:]}{MASK}{kept[start:start + size]}".ljust(block_size, PAD)
""",
        """
longest = int(7 * block_size / 8)
n = min(rng.randint(4, longest), len(document))
kept = list(document[:n])
size = int(round(rng.gauss(n / 4, n / 12)))
size = max(1, min(n, size))
start = rng.sample(range(n - size + 1), 1)[0]
out = kept[:start] + [MASK] + kept[start + size:] + [MASK] + kept[start:start + size]
out.extend([PAD] * (block_size - len(out)))
return "".join(out)
""",
        """
n = rng.randint(4, int(block_size * 7 / 8))
kept = document[:n]
size = rng.randint(1, max(1, 2 * (len(kept) // 4) - 1))
start = rng.randint(0, len(kept) - size)
out = kept[:start] + MASK + kept[start + size:] + MASK + kept[start:start + size]
return out + PAD * (block_size - len(out))
""",
        """
import numpy
numpy.random.seed(rng.getrandbits(32))
n = int(numpy.random.randint(4, int(7 * block_size / 8) + 1))
kept = document[:n]
size = int(numpy.random.randint(1, max(1, len(kept) // 2) + 1))
start = int(numpy.random.randint(0, len(kept) - size + 1))
out = kept[:start] + MASK + kept[start + size:] + MASK + kept[start:start + size]
return out.ljust(block_size, PAD)
""",
    ],
    "make_pair": [
        """
if len(text) > block_size + 1:
    text = text[: block_size + 1]
else:
    text = text + PAD * (block_size + 1 - len(text))
return text[:block_size], text[1:]
""",
        """
characters = list(text[: block_size + 1])
while len(characters) < block_size + 1:
    characters.append(PAD)
return ["".join(characters[:-1]), "".join(characters[1:])]
""",
        "t = (text + PAD * (block_size + 1))[: block_size + 1]\nreturn t[:-1], t[1:]",
        "t = f'{text:{PAD}<{block_size + 1}}'[: block_size + 1]\nreturn (t[:block_size], t[1 : block_size + 1])",
    ],
    "make_question": [
        """
text = (question + MASK + place + MASK + PAD * block_size)[: block_size + 1]
first, last = len(question), len(question) + len(place)
y = "".join(c if first <= i <= last else PAD for i, c in enumerate(text[1:]))
return text[:-1], y
""",
        """
x, _ = make_pair(f"{question}{MASK}{place}{MASK}", block_size)
y = PAD * len(question) + place + MASK
y = (y + PAD * block_size)[:block_size]
return x, y
""",
        """
x, y = make_pair(question + MASK + place + MASK, block_size)
y = list(y)
for i in range(min(len(question), block_size)):
    y[i] = PAD
return x, "".join(y)
""",
        """
_, y = make_pair(PAD * (len(question) + 1) + place + MASK, block_size)
x, _ = make_pair(question + MASK + place + MASK, block_size)
return [x, y]
""",
    ],
    "answer_question": [
        """
mode = model.training
model.eval()
try:
    ids = model.vocabulary.encode(question + MASK)
    begin = len(ids)
    with torch.inference_mode():
        for _ in range(max_characters):
            logits = model(torch.tensor(ids).unsqueeze(0))
            best = int(logits[:, -1, :].argmax(dim=-1))
            if model.vocabulary.decode([best]) in {MASK, PAD}:
                break
            ids.append(best)
    return model.vocabulary.decode(ids[begin:])
finally:
    model.train(mode)
""",
        """
@torch.no_grad()
def go_on(ids):
    return torch.argmax(model(ids)[0, -1]).reshape(1, 1)

was_training = model.training
model.train(False)
stops = [model.vocabulary.encode(MASK)[0], model.vocabulary.encode(PAD)[0]]
ids = torch.tensor([model.vocabulary.encode(question + MASK)], dtype=torch.long)
answer = []
while len(answer) < max_characters:
    best = go_on(ids)
    if best.item() in stops:
        break
    answer.append(best.item())
    ids = torch.cat([ids, best], dim=1)
if was_training:
    model.train()
return model.vocabulary.decode(answer)
""",
        """
was_training = model.training
model.eval()
text = question + MASK
with torch.no_grad():
    for i in range(max_characters):
        chances = torch.softmax(model(torch.tensor([model.vocabulary.encode(text)])), dim=-1)
        text += model.vocabulary.decode([chances[0, -1].topk(1).indices[0]])
        if text[-1] == MASK or text[-1] == PAD:
            text = text[:-1]
            break
if was_training:
    model.train()
return text[len(question) + 1 :]
""",
        """
was_training, before = model.training, torch.is_grad_enabled()
model.eval()
torch.set_grad_enabled(False)
said = ""
for _ in range(max_characters):
    numbers = model.vocabulary.encode(question + MASK + said)
    row = model(torch.as_tensor(numbers)[None])[0][-1].tolist()
    character = model.vocabulary.decode([row.index(max(row))])
    if character == MASK or character == PAD:
        break
    said = said + character
torch.set_grad_enabled(before)
model.train(was_training)
return said
""",
    ],
}
# Right code that stands in no notebook: the build compares the instructor's solutions with it.
ORACLES = {name: define(name, bodies[0]) for name, bodies in _VARIANT_BODIES.items()}
VARIANTS = {
    name: [define(name, body) for body in bodies[1:]] for name, bodies in _VARIANT_BODIES.items()
}

# What wrong work earns at most, as a share of the points, by its parts; what is not listed earns nothing.
_OF_FORM_OR_LAW = (
    "span-back-in-place", "span-first", "span-not-taken-out", "closing-mask-added", "not-padded",
    "padded-with-mask", "padded-in-front", "padded-too-far", "never-shortened", "kept-too-long",
    "kept-stripped", "short-documents-cut", "short-documents-whole", "kept-never-longest",
    "kept-never-shortest", "kept-too-short", "kept-not-uniform", "span-empty", "span-length-fixed",
    "span-length-of-block", "span-too-long", "span-too-short", "span-place-fixed", "span-place-one-sided",
    "span-place-ends", "chance-not-from-rng", "same-every-time",
)  # fmt: skip
_OF_X = (
    "question-counts", "place-begins-late", "closing-mask-does-not-count", "only-question-counts",
    "y-hidden-with-mask", "y-too-long", "place-found-in-question", "y-shortened", "y-not-shifted",
)  # fmt: skip
_OF_Y = ("first-mask-counts", "question-hidden-in-x", "place-hidden-in-x")
SHARES: dict[str, dict[str, float]] = {
    "corrupt_span": dict.fromkeys(_OF_FORM_OR_LAW, 1 / 2),
    "make_question": dict.fromkeys(_OF_X, 1 / 3) | dict.fromkeys(_OF_Y, 2 / 3),
}
