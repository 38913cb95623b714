"""Tries a learner's pretraining code on small inputs and writes down what came out, as numbers.

Texts travel as the numbers of their characters. The model in here is no network: it follows a
script and keeps a diary of how it was asked. There is no code in here that solves anything. The
text of this file is also sent into kernels that are being graded, with that of the module of the
course that it imports.
"""

import random

import numpy as np
import torch

from course_utils.checks.learners_code import Failed, Lent, Problem, describe_error, find_function

MASK, PAD = "\u2047", "\u25a1"
_END = "\uffff"  # follows every text in a packed list; no text of ours holds this character
_MANY_CALLS = 60  # nobody who stops in time asks a model this often for one answer
_SOME_CALLS = 10  # of code that should not depend on chance


def pack(texts):
    """Write a list of texts as one array of numbers."""
    joined = "".join(text + _END for text in texts)
    numbers = np.frombuffer(joined.encode("utf-32-le", "replace"), dtype="<u4")
    return np.concatenate([[len(texts)], numbers]).astype(np.int32)


def unpack(numbers):
    """Read what `pack` wrote; anything else gives a ValueError."""
    numbers = np.asarray(numbers).reshape(-1)
    if numbers.dtype.kind not in "iu" or numbers.size == 0:
        raise ValueError("not texts")
    joined = numbers[1:].astype("<u4").tobytes().decode("utf-32-le")
    texts = joined.split(_END)
    if texts.pop() or numbers[0] != len(texts):
        raise ValueError("not texts")
    return texts


def run_trial(name, functions, inputs):
    """Try one function of the learner's; return what came out: arrays and Problems by case."""
    states = random.getstate(), np.random.get_state(), torch.get_rng_state()
    gradients = torch.is_grad_enabled()
    try:
        function = find_function(functions, name)
        return _TRIALS[name](function, inputs)
    except Failed as failure:
        return {"problem": failure.args[0]}
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])
        torch.set_rng_state(states[2])
        torch.set_grad_enabled(gradients)


def _call(function, *arguments):
    """Call the learner's code; return its value, or fail with a Problem."""
    try:
        return function(*arguments)
    except AskedTooOften:
        raise Failed(Problem("endless|")) from None
    except (Exception, SystemExit) as error:  # whatever a learner's code does wrong
        words = str(error)
        if type(error) is NotImplementedError and (not words or "TODO" in words):
            raise Failed(Problem("open|")) from None
        raise Failed(Problem(f"raised|{describe_error(error)}")) from None


def _cases(inputs):
    """Return the names of the cases, in the order in which they came."""
    return list(dict.fromkeys(key.split(".")[0] for key in inputs))


def _try_cases(run):
    """Make a trial of a function that runs one case and returns its value."""

    def trial(function, inputs):
        results = {}
        for case in _cases(inputs):
            given = {
                key.split(".")[1]: v for key, v in inputs.items() if key.startswith(f"{case}.")
            }
            try:
                results |= {f"{case}.{key}": value for key, value in run(function, given).items()}
            except Failed as failure:
                results[f"{case}.out"] = failure.args[0]
                if str(failure.args[0]).startswith("open|"):
                    return {"problem": failure.args[0]}
        return results

    return trial


def _as_texts(value, kinds=(list, tuple)):
    """Return a list of texts as numbers, or a Problem that says what it is instead."""
    if value is None:
        return Problem("none|")
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, kinds):
        return Problem(f"type|{type(value).__name__}")
    strange = [type(part).__name__ for part in value if not isinstance(part, str)]
    if strange:
        return Problem(f"parts|{strange[0]}")
    return pack([str(part) for part in value])


# ----------------------------------------------------------------------- counting and pairing


def _run_majority(function, given):
    answers, questions = unpack(given["answers"]), unpack(given["questions"])
    kept = list(answers), list(questions)
    value = _call(function, answers, questions)
    changed = (answers, questions) != kept
    again = []
    for seed in range(_SOME_CALLS):
        for throw in (random.seed, np.random.seed, torch.manual_seed):
            throw(seed)
        again.append(_call(function, list(kept[0]), list(kept[1])))
    steady = all(repr(other) == repr(again[0]) for other in again)
    return {
        "out": _as_texts(value),
        "changed": np.array(changed),
        "steady": np.array(steady or not isinstance(value, (list, tuple))),
    }


def _run_count(function, given):
    answers, places = unpack(given["answers"]), unpack(given["places"])
    kept = list(answers), list(places)
    value = _call(function, answers, places)
    if value is None:
        return {"out": Problem("none|")}
    if isinstance(value, (torch.Tensor, np.ndarray)) and np.size(value) == 1:
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, (int, float, np.floating, np.integer)):
        return {"out": Problem(f"type|{type(value).__name__}")}
    return {"out": np.array(float(value)), "changed": np.array((answers, places) != kept)}


def _run_pair(function, given):
    (text,) = unpack(given["text"])
    return {"out": _as_texts(_call(function, text, int(given["block_size"])))}


def _run_question(function, given):
    question, place = unpack(given["texts"])
    return {"out": _as_texts(_call(function, question, place, int(given["block_size"])))}


# ------------------------------------------------------------------------------ span corruption


def _try_corruption(function, inputs):
    """Draw many times from each document; then see where the chance came from."""
    results = {}
    for case in _cases(inputs):
        (document,) = unpack(inputs[f"{case}.document"])
        block_size, seed = int(inputs[f"{case}.block_size"]), int(inputs[f"{case}.seed"])
        draws = int(inputs[f"{case}.draws"])
        texts = _draw(function, document, block_size, seed, draws, 0)
        results[f"{case}.out"] = pack([text[: 4 * block_size] for text in texts])
        # The same rng again, with everything else that could be random in another state.
        again = _draw(function, document, block_size, seed, draws, draws)
        results[f"{case}.repeats"] = np.array(again == texts)
    return results


def _draw(function, document, block_size, seed, draws, others):
    """Draw texts; `others` is where the seeds of all other dice begin, another one for each text."""
    rng = random.Random(seed)
    texts = []
    for number in range(others, others + draws):
        # The generator itself: torch.manual_seed looks for GPUs each time, which takes far longer.
        for throw in (random.seed, np.random.seed, torch.default_generator.manual_seed):
            throw(number)
        texts.append(_call(function, document, block_size, rng))
        if not isinstance(texts[-1], str):
            kind = "none|" if texts[-1] is None else f"type|{type(texts[-1]).__name__}"
            raise Failed(Problem(kind))
    return texts


# --------------------------------------------------------------------------- answering questions


class AskedTooOften(Exception):
    """Ends an answer that would never end by itself."""


class Letters:
    """A vocabulary like the course's: texts to numbers and back."""

    def __init__(self, characters):
        self.characters = list(characters)

    def __len__(self):
        return len(self.characters)

    def encode(self, text):
        return [self.characters.index(character) for character in text]

    def decode(self, numbers):
        return "".join(self.characters[int(number)] for number in numbers)


class ScriptedModel(Lent, torch.nn.Module):
    """Goes on as its script says, and keeps a diary of how it was asked."""

    closed = frozenset(
        (
            "script",
            "begin",
            "calls",
            "training_seen",
            "gradients_seen",
            "shapes_wrong",
            "off_script",
        )
    )

    def __init__(self, letters, question, script):
        super().__init__()
        self.vocabulary = Letters(letters)
        self.scale = torch.nn.Parameter(torch.ones(()))
        self.inner = torch.nn.Dropout(
            0.0
        )  # as in any real model, there are modules inside with a mode
        self.begin, self.script = question + MASK, script
        self.calls = 0
        self.training_seen = self.gradients_seen = self.shapes_wrong = False
        self.off_script = ""  # the first text that the script does not know

    def forward(self, ids):
        self.calls += 1
        if self.calls > _MANY_CALLS:
            raise AskedTooOften
        self.training_seen |= self.training or self.inner.training
        self.gradients_seen |= torch.is_grad_enabled() and self.scale.requires_grad
        self.shapes_wrong |= ids.dim() != 2 or ids.shape[0] != 1 or ids.is_floating_point()
        rows = ids.reshape(-1, ids.shape[-1])
        text = self.vocabulary.decode(rows[0].tolist())
        n = len(self.vocabulary)
        logits = torch.zeros(*rows.shape, n)
        for place in range(rows.shape[1]):  # elsewhere than at the end: plausible, and wrong
            logits[:, place, (5 * place + 2) % (n - 2) + 2] = 2.0
        said = text[len(self.begin) :]
        if text.startswith(self.begin) and self.script.startswith(said) and said != self.script:
            best = self.vocabulary.encode(self.script[len(said)])[0]
        else:
            self.off_script = self.off_script or text
            best = self.vocabulary.encode(self.script[-1])[0]  # most often the end: be kind
            if text.startswith(self.begin + self.script) and len(said) < len(self.script) + 4:
                best = 5 + len(said) % 20  # the end was there already: what follows is no answer
        logits[:, -1] = 0.0
        logits[:, -1, best] = 1.0  # clear for whoever takes the best, far from sure for dice
        return logits * self.scale


def _run_answer(function, given):
    letters, question, script = unpack(given["texts"])
    values = []
    for seed in (1, 2):  # twice, because dice would fall differently
        model = ScriptedModel(letters, question, script)
        model.train(bool(given["training"]))
        torch.set_grad_enabled(True)
        torch.manual_seed(seed)
        random.seed(seed)
        values.append(_call(function, model, question, int(given["limit"])))
        gradients = torch.is_grad_enabled() and model.scale.requires_grad
        torch.set_grad_enabled(True)
    value = values[0]
    if value is None:
        return {"out": Problem("none|")}
    out = pack([value]) if isinstance(value, str) else Problem(f"type|{type(value).__name__}")
    diary = [
        model.calls,
        model.training_seen,
        model.gradients_seen,
        model.shapes_wrong,
        all(module.training == bool(given["training"]) for module in model.modules()),
        gradients,
        values[0] == values[1],
    ]
    first = pack([model.off_script])
    return {"out": out, "diary": np.array(diary, dtype=np.int32), "off": first}


_TRIALS = {
    "majority_baseline": _try_cases(_run_majority),
    "count_right": _try_cases(_run_count),
    "make_pair": _try_cases(_run_pair),
    "make_question": _try_cases(_run_question),
    "corrupt_span": _try_corruption,
    "answer_question": _try_cases(_run_answer),
}
