"""The translation notebook's exercises: attention, a loss, decoding, tried on hidden inputs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from threading import Lock

import numpy as np

from autograder.exercises.attention_at_work import translation_code as code
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
from course_utils.checks.translation import (
    DEFAULT_KQ,
    NAMES,
    SLIPS,
    TELLING,
    examine,
    judge,
    to_numbers,
)

LAYERS = ("q_proj", "k_proj", "v_proj")
START, STOP, UNK, PAD, FIRST_WORD = 0, 1, 2, 3, 4  # as in the notebook
# PyTorch's own attention: no shortcut in a module that is to be written from scratch.
BUILT_IN = ("scaled_dot_product_attention", "MultiheadAttention", "multi_head_attention_forward")


# ----------------------------------------------------------------------------------- inputs


def _normal(rng, *shape, dtype="float64", scale=1.0) -> np.ndarray:
    return np.round(scale * rng.standard_normal(shape), 3).astype(dtype)


def _draw_mask(rng, B: int, T: int) -> np.ndarray:
    """Draw padding on the right; where there is room, one sentence has none and one has a lot."""
    lengths = rng.integers(1, T + 1, B)
    lengths[0] = T
    if B > 1:
        lengths[1] = rng.integers(2, T) if T > 2 else 1  # never the number of all places
    return np.arange(T) < lengths[:, None]


def _draw_attention(
    rng, case: str, B: int, T: int, E: int, D: int, kq: int | None, *,
    dtype="float64", full=False, gradient=False, biases=True, extreme=False,
) -> dict:  # fmt: skip
    """Draw one case; kq None for a module without layers, 0 for the default size.

    What stands in places of padding is far from everything else, so that it shows when it is used.
    """
    # The first sentence is one with padding, so that its length does not stand in for all.
    mask = np.ones((B, T), bool) if full else np.roll(_draw_mask(rng, B, T), -1, axis=0)
    outputs = _normal(rng, B, T, 2 * E, dtype=dtype)
    outputs[~mask] = 3 * outputs[~mask] + 5
    arrays = {"hidden": _normal(rng, B, D, dtype=dtype), "outputs": outputs, "mask": mask}
    if kq is not None:
        arrays["sizes"] = np.array([E, D, kq])
        size = kq or DEFAULT_KQ
        for name, (wide, high) in zip(
            LAYERS, ((D, size), (2 * E, size), (2 * E, 2 * E)), strict=True
        ):
            arrays[f"{name}.weight"] = _normal(rng, high, wide, scale=1.2 / np.sqrt(wide))
            arrays[f"{name}.bias"] = _normal(rng, high) * biases
    if extreme:
        # Scores near -20,000: one number of every key is large, and so is the query's. Padding scores as
        # the first word does: taken out before or after the exponential, it leaves something of the words.
        for name in ("q_proj", "k_proj"):
            arrays[f"{name}.weight"][0] = 0.0
        arrays["outputs"] = np.where(mask[..., None], arrays["outputs"], arrays["outputs"][:, :1])
        arrays["outputs"][..., 0] = 100.0
        arrays["hidden"][..., 0] = 100.0
        root = np.sqrt(kq or DEFAULT_KQ)
        arrays["q_proj.weight"][0, 0], arrays["k_proj.weight"][0, 0] = -2.0 * root, 1.0
        arrays["outputs"] = np.round(arrays["outputs"]).astype(dtype)
    if gradient:
        arrays["weight"] = _normal(rng, B, 2 * E)
    return {f"{case}.{what}": array for what, array in arrays.items()}


def _draw_pooling(rng, hidden: bool) -> dict:
    if not hidden:
        return _draw_attention(rng, "plain", 3, 4, 1, 3, None, gradient=True) | _draw_attention(
            rng, "one-sentence", 1, 3, 1, 2, None, dtype="float32"
        ) | _draw_attention(rng, "device", 2, 3, 1, 2, None)  # fmt: skip
    B, T, E, D = (int(n) for n in rng.integers((3, 6, 5, 2), (5, 9, 7, 8)))
    inputs = _draw_attention(rng, "plain", B, T, E, D, None)
    inputs |= _draw_attention(rng, "gradient", 2, 5, 2, 3, None, gradient=True)
    inputs |= _draw_attention(rng, "float32", 4, 5, 3, 7, None, dtype="float32")
    inputs |= _draw_attention(rng, "one-sentence", 1, 7, 3, 4, None)
    inputs |= _draw_attention(rng, "one-word", 3, 1, 2, 4, None)
    inputs |= _draw_attention(rng, "no-padding", 2, 4, 3, 5, None, full=True)
    return inputs | _draw_attention(rng, "device", 2, 5, 2, 3, None)


def _draw_scaled(rng, hidden: bool) -> dict:
    if not hidden:
        plain = {"biases": False}
        inputs = _draw_attention(rng, "plain", 3, 5, 2, 3, 7, gradient=True, **plain)
        inputs |= _draw_attention(rng, "square", 2, 3, 1, 2, 2, dtype="float32", **plain)
        inputs |= _draw_attention(rng, "one-sentence", 1, 3, 1, 3, 2, **plain)
        inputs |= _draw_attention(rng, "one-word", 2, 1, 1, 3, 2, **plain)
        inputs |= _draw_attention(rng, "default", 2, 3, 1, 3, 0, **plain)
        inputs |= _draw_attention(
            rng, "extreme", 2, 3, 1, 2, 4, dtype="float32", extreme=True, **plain
        )
        return inputs | _draw_attention(rng, "device", 2, 3, 1, 3, 2, **plain)
    B, E, T = (int(n) for n in rng.integers((3, 5, 6), (5, 8, 9)))
    D, kq = (2 * int(n) for n in rng.integers(8, 12, 2))
    D += 1  # odd, so that no two of 2E, D and kq are the same
    inputs = _draw_attention(rng, "plain", B, T, E, D, kq)
    inputs |= _draw_attention(rng, "gradient", 2, 5, 2, 3, 5, gradient=True)
    inputs |= _draw_attention(rng, "square", 3, 5, 3, 6, 6)
    inputs |= _draw_attention(rng, "float32", 3, 6, 2, 5, 9, dtype="float32")
    inputs |= _draw_attention(rng, "one-sentence", 1, 7, 3, 5, 8)
    inputs |= _draw_attention(rng, "one-word", 3, 1, 2, 5, 3)
    inputs |= _draw_attention(rng, "no-padding", 2, 4, 3, 5, 2, full=True)
    inputs |= _draw_attention(rng, "default", 2, 5, 3, 4, 0)
    inputs |= _draw_attention(rng, "extreme", 3, 5, 2, 3, 4, dtype="float32", extreme=True)
    return inputs | _draw_attention(rng, "device", 2, 5, 2, 3, 4)


def _draw_losses(rng, hidden: bool) -> dict:
    def make(case, B, T, V, pad, *, dtype="float64", full=False, empty_row=False):
        mask = np.ones((B, T), bool) if full else _draw_mask(rng, B, T)
        if empty_row:
            mask[-1] = False
        words = rng.integers(0, V - 1, (B, T))
        words += words >= pad  # any word but padding
        others = [word for word in (0, 3) if word != pad]  # so that a fixed number shows
        words[0, : len(others)] = others
        logits = _normal(rng, B, T, V, dtype=dtype, scale=2.0)
        arrays = {"logits": logits, "targets": np.where(mask, words, pad), "pad": np.array(pad)}
        return {f"{case}.{what}": array for what, array in arrays.items()}

    if not hidden:
        return make("plain", 3, 4, 5, 3) | make("another-pad", 2, 3, 6, 5, dtype="float32") | make(
            "zero-pad", 2, 3, 5, 0
        )  # fmt: skip
    B, T, V = (int(n) for n in rng.integers((3, 5, 10), (6, 9, 15)))
    inputs = make("plain", B, T, V, 3)
    inputs |= make("another-pad", 3, 6, 11, int(rng.integers(4, 11)))
    inputs |= make("zero-pad", 4, 5, 9, 0, dtype="float32")
    inputs |= make("no-padding", 2, 4, 8, 3, full=True)
    inputs |= make("empty-row", 3, 5, 7, 5, empty_row=True)
    return inputs | make("one-sentence", 1, 6, 8, 1)


def _draw_decoding(rng, hidden: bool) -> dict:
    def make(case, n_words, max_tokens, training, V, n_source=None):
        """A model that says n_words and then STOP; asked in any other way it says other things."""
        words = rng.permutation(np.arange(FIRST_WORD, V))[:n_words]
        if n_words > 2:
            words[2] = words[0]  # no word ends a sentence by coming twice
        if n_words > 7:  # nor by coming twice in a row, and these two are words like any other
            words[3:5], words[7] = (UNK, PAD), words[6]
        steps = n_words + 3
        table = _normal(rng, steps, V, V, dtype="float32")
        table[..., START] = -9.0
        table[..., STOP] = -8.0
        said, token = [*words.tolist(), STOP], START
        for step, word in enumerate(said):
            table[step, token, word] = 6.0 + rng.random()
            runner_up = FIRST_WORD + (word - FIRST_WORD + 1) % (V - FIRST_WORD)
            table[step, token, runner_up] = 5.0
            token = word
        n_source = n_source or int(rng.integers(3, 7))
        source = [START, *rng.permutation(np.arange(FIRST_WORD, V))[:n_source].tolist(), STOP]
        arrays = {
            "table": table, "source": np.array(source), "max_tokens": np.array(max_tokens),
            "training": np.array(int(training)),
        }  # fmt: skip
        return {f"{case}.{what}": array for what, array in arrays.items()}

    if not hidden:
        return (
            make("stops", 8, 11, True, 12, n_source=1)
            | make("limit", 5, 3, False, 10)
            | make("none", 2, 0, True, 7)
        )
    n, V = (int(number) for number in rng.integers((4, 12), (7, 16)))
    inputs = make("stops", 8, 12, True, V, n_source=1)  # far longer than the sentence
    inputs |= make("limit", n + 1, n - 1, True, V + 1)
    inputs |= make("exact", 3, 3, False, 9)
    inputs |= make("eval", 2, 7, False, 9)
    inputs |= make("at-once", 0, 5, True, 8)
    return inputs | make("none", 3, 0, True, 8)


def _draw_numbers(rng, hidden: bool) -> dict:
    count = int(rng.integers(4, 8)) if hidden else 5
    make = lambda n: np.round(rng.uniform(0.8, 6.2, n), 3)  # noqa: E731
    inputs = {"floats.losses": make(count), "tensors.losses": make(count - 1)}
    inputs |= {"grad.losses": make(3), "floats_one.losses": make(1)}
    return inputs | {"ints.losses": rng.choice(np.arange(1, 20), 4, replace=False).astype(float)}


_DRAWERS: dict[str, Callable] = {
    "MeanPoolAttention": _draw_pooling,
    "SingleQueryScaledDotProductAttention": _draw_scaled,
    "masked_loss": _draw_losses,
    "greedy_translate": _draw_decoding,
    "describe_losses": _draw_numbers,
}

# ------------------------------------------------------------------------- asking and judging

_TRIALS_SOURCE = join_sources("learners_code", "pretended_gpu", "translation_trials")
# Told by what is seen in a trial, not by numbers that could be compared.
_TOLD_OTHERWISE = {
    "input-changed", "no-gradient", "wrong-gradient", "hard-coded-device", "not-repeatable", "wrong-dtype",
    "todo-open", "returned-none", "not-finite", "limit-ignored", "super-forgotten", "layers-missing",
    "follows-machine",
    "layers-not-linear", "extra-layers", "constructor-arguments", "remembers-first-call",
    "gradients-left-off",
}  # fmt: skip


def make_namespace(*codes: str) -> dict:
    """Return a namespace as the notebook has it, in which these codes have run."""
    return run_codes({"__name__": "__main__"}, code.GIVEN, *codes)  # named as in a notebook


def examine_code(name: str, text: str) -> Finding:
    """Show a solution cell's code to the public check, as a student would."""
    return examine(name, make_namespace(text)[name])


_one_at_a_time = Lock()  # several notebooks are judged at once; a trial sets torch's threads


def try_out(name: str, inputs: dict, *codes: str) -> dict:
    """Return what some code does in a trial, as numbers."""
    from course_utils.checks.translation_trials import run_trial

    with _one_at_a_time, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # mistakes are what they are; nobody needs to be warned
        results = run_trial(name, make_namespace(*codes), inputs, device=False)
    return {key: to_numbers(value) for key, value in results.items()}


@lru_cache(maxsize=2_000)
def _recall(name: str, inputs: str, text: str) -> dict:
    """Return what some code does in a trial; the same question is worked out only once."""
    return try_out(name, wire.load(inputs), text)


def list_mistakes(name: str) -> Iterator[tuple[str, str]]:
    """Yield (diagnosis, code) of the known mistakes."""
    return list_codes(code.MISTAKES[name])


def _list_telling(name: str, work_out: Callable[[str], dict]) -> Iterator[tuple[str, dict]]:
    """Yield (diagnosis, what its code does) of mistakes that are told by numbers."""
    for diagnosis, text in list_mistakes(name):
        if diagnosis not in _TOLD_OTHERWISE:
            yield diagnosis, work_out(text)


def _leave_out_biases(inputs: dict, results: dict) -> dict:
    """Return inputs as the learner's layers take them: a layer without a bias has a bias of 0."""
    fitted = dict(inputs)
    for key, flags in results.items():
        if key.endswith(".biased") and not isinstance(flags, str) and np.size(flags) == len(LAYERS):
            case = key.partition(".")[0]
            for name, flag in zip(LAYERS, np.reshape(flags, -1), strict=True):
                if f"{case}.{name}.bias" in fitted and not flag:
                    fitted[f"{case}.{name}.bias"] = 0 * fitted[f"{case}.{name}.bias"]
    return fitted


def _make_rule(name: str):
    def rule(values: dict, inputs: dict, solutions: dict[str, str]) -> Ruling:
        results = {key: value for key, value in values.items() if value is not wire.Missing}
        fitted = _leave_out_biases(inputs, results)

        def find() -> Finding:
            work_out = partial(_recall, name, wire.dump(fitted))
            right = work_out(solutions[name])
            return judge(name, results, right, lambda: _list_telling(name, work_out), fitted)

        return judge_safely(find)

    return rule


def _make(name: str) -> Exercise:
    return Exercise(
        name=name,
        oracle=code.ORACLES[name],
        program=write_program(_TRIALS_SOURCE, (name,), f"run_trial({name!r}, functions, inputs)"),
        rule=_make_rule(name),
        make_inputs=lambda rng: _DRAWERS[name](rng, hidden=True),
        mistakes=make_mistakes(list_mistakes(name), code.SHARES.get(name)),
        slips=SLIPS,
        variants=tuple(code.VARIANTS[name]),
        watched=BUILT_IN if name == "SingleQueryScaledDotProductAttention" else (),
    )


EXERCISES = [_make(name) for name in NAMES]


# ---------------------------------------------------------------------- numbers for students

ANSWER_FILE = "translation.json"


def make_answers(solutions: dict[str, str]) -> dict[str, dict]:
    """Return what the public checks compare with, by exercise."""
    return {e.name: encode_trial(make_numbers(e.name, solutions)) for e in EXERCISES}


def make_numbers(name: str, solutions: dict[str, str], seed: int = 5) -> dict:
    """Return the visible inputs, what right code does with them, and what telling mistakes do."""
    inputs = _DRAWERS[name](np.random.default_rng(seed), hidden=False)
    right = try_out(name, inputs, solutions[name])
    telling = {key for key in right if key.rpartition(".")[2] in TELLING and key.count(".") == 1}
    mistakes = [
        (diagnosis, {key: found[key] for key in sorted(telling & found.keys())})
        for diagnosis, found in _list_telling(name, partial(try_out, name, inputs))
    ]
    return {"inputs": inputs, "right": right, "mistakes": mistakes}
