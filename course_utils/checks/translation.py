"""The translation notebook's checks: what does this code do, and if it is wrong, which mistake is it?

`translation_trials` runs a learner's code on small inputs. What right code and what each known mistake
does with them are numbers in translation.json beside this file, made by `python -m autograder build`;
there is no code in here that attends, measures a loss or translates.
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
from course_utils.checks.translation_words import WORDS

NAMES = (
    "MeanPoolAttention",
    "SingleQueryScaledDotProductAttention",
    "masked_loss",
    "greedy_translate",
    "describe_losses",
)
TELLING = ("attended", "weights", "loss", "words", "found", "diary")  # what mistakes are told by
DEFAULT_KQ = 64
_LAYERS = ("q_proj", "k_proj", "v_proj")
_RTOL, _ATOL = 1e-4, 1e-5
# Faults for which a known mistake may have a better name.
_VAGUE = {
    "raised", "wrong-shape", "wrong-values", "weights-on-padding", "weights-do-not-sum", "not-finite",
    "attended-wrong", "wrong-loss", "wrong-words", "wrong-description", "squeezed-too-much",
    "tensors-not-taken", "not-the-likeliest",
}  # fmt: skip

# Seen for themselves, in a diary or afterwards, whatever else is wrong.
_APART = {
    "eval-forgotten", "gradients-on", "mode-not-restored", "mode-always-training", "input-changed",
    "stop-returned", "start-returned", "hidden-not-carried", "source-cut", "mask-hides-words",
    "gradients-left-off",
}  # fmt: skip

Mistakes = Callable[[], Iterable[tuple[str, Mapping]]]
Fault = tuple[str, str]  # a key of WORDS, and the number or words to it


def examine(name: str, value) -> Finding:
    """Examine a learner's class or function on the visible trial."""
    from course_utils.checks.translation_trials import run_trial

    stored = load_answers("translation")[name]
    results = run_trial(name, {name: value}, stored["inputs"])
    results = {key: to_numbers(value) for key, value in results.items()}
    return judge(name, results, stored["right"], lambda: stored["mistakes"], stored["inputs"])


def judge(name: str, results: dict, right: dict, mistakes: Mistakes, inputs: dict) -> Finding:
    """Judge what a trial wrote down, however it was come by: here or from a graded kernel."""
    if not results:
        return Finding(False, WORDS["no-answer"], "no-answer")
    cases = list(dict.fromkeys(key.partition(".")[0] for key in inputs))
    faults = collect(_FINDERS[name](cases, results, right, inputs))
    if not faults:
        count = sum(not case.startswith("device") for case in cases)
        return Finding(True, f"{count} different inputs gave the right results.")
    diagnosis, words = faults[0]
    if diagnosis in _VAGUE:
        diagnosis = _find_mistake(results, right, mistakes) or diagnosis
    facts = (end_sentence(words),) if words else ()
    second = name_second(diagnosis, iter(faults[1:]), _APART, WORDS)
    slugs = [diagnosis, *(slug for slug, _ in faults[1:])]
    parts = _COUNTERS[name](slugs, cases, results, right, inputs) if name in _COUNTERS else ()
    return Finding(False, WORDS[diagnosis], diagnosis, facts + second, parts)


# Named in two modules, these are one slip.
SLIPS = frozenset(
    {"weights-not-squeezed", "attended-not-squeezed", "squeezed-too-much", "mask-inverted", "wrong-dtype",
     "hard-coded-device", "follows-machine", "input-changed", "outputs-swapped"}
)  # fmt: skip
_MACHINE = "follows-machine"  # costs a point at most
# About the module itself; what is wrong with numbers is seen in the rows.
_ABOUT_MODULE = {
    "not-a-module", "not-a-pair", "not-a-tensor", "wrong-shape", "outputs-swapped", "weights-not-squeezed",
    "attended-not-squeezed", "squeezed-too-much", "extra-layers", "constructor-arguments", "layers-missing",
    "layers-not-linear", "layer-sizes", "v-proj-half", "v-proj-to-kq", "v-proj-to-decoder",
    "encoder-size-not-doubled", "projections-exchanged", "kq-dim-ignored", "kq-dim-default",
    "super-forgotten", "hard-coded-device", "follows-machine", "wrong-dtype", "input-changed",
    "todo-open", "not-defined", "not-a-function", "returned-none", "raised",
}  # fmt: skip


def _count_attention(slugs, cases, results, right, inputs) -> tuple[Part, ...]:
    """See apart: sentences without padding, those with it, and all else about the module."""
    layered = any(key.endswith(".sizes") for key in inputs)
    numbers = {True: True, False: True}  # are the rows right that have padding, and those without?
    seen = False
    for case in cases:
        if case.startswith("device"):
            continue
        weights, attended = (
            _as_rows(results, right, f"{case}.{what}") for what in ("weights", "attended")
        )
        mask = np.asarray(inputs[f"{case}.mask"], bool)
        for padded in (True, False):
            rows = mask.all(axis=1) != padded
            close = _close_rows(weights, right[f"{case}.weights"], rows)
            if padded or not layered:
                close = close and _close_rows(attended, right[f"{case}.attended"], rows)
            numbers[padded] &= close
        seen |= weights is not None
    named = slugs[0]
    about = _ABOUT_MODULE | {"no-gradient", "wrong-gradient"}  # the first of all, or they follow
    module = named if named in about else next((s for s in slugs if s in _ABOUT_MODULE), None)
    unsteady = named in ("remembers-first-call", "not-repeatable")
    of_rows = {
        padded: None if right_rows and seen and not unsteady else named
        for padded, right_rows in numbers.items()
    }
    if not (module or of_rows[True] or of_rows[False]):
        module = named
    cost = 1 if seen and module in (_MACHINE, "hard-coded-device") else None
    if layered:
        return (Part("layers and shapes", 2, None if seen and not module else module or named, cost),
                Part("weights without padding", 2, of_rows[False]),
                Part("weights and result where there is padding", 2, of_rows[True]))  # fmt: skip
    return (Part("without padding", 1, of_rows[False] or module, cost),
            Part("with padding", 2, of_rows[True] or (None if cost else module)))  # fmt: skip


def _as_rows(results, right, key) -> np.ndarray | None:
    """Return what came back in the right shape, where a dimension of size 1 is all that is in the way."""
    found, wanted = results.get(key), right[key]
    if found is None or isinstance(found, str) or np.size(found) != np.size(wanted):
        return None
    sizes = [size for size in np.shape(found) if size != 1]
    same = sizes == [size for size in np.shape(wanted) if size != 1]
    return np.reshape(np.asarray(found, float), np.shape(wanted)) if same else None


def _close_rows(found, wanted, rows) -> bool:
    if not rows.any():
        return True
    return found is not None and bool(np.allclose(found[rows], wanted[rows], 5e-3, 5e-3))


_MODES = {"eval-forgotten", "mode-not-restored", "mode-always-training", "gradients-on",
          "gradients-left-off"}  # fmt: skip
_LIMITS = {"limit-ignored", "limit-off-by-one"}


def _count_decoding(slugs, cases, results, right, inputs) -> tuple[Part, ...]:
    """See the words apart from mode, gradients and limit: in runs that were in evaluation mode."""
    manners = next((slug for slug in slugs if slug in _MODES | _LIMITS), None)
    lost, seen = None, False
    for case in cases:
        words, wanted = (_list(part, f"{case}.words") for part in (results, right))
        problem = isinstance(results.get(f"{case}.words"), str)
        if problem and slugs[0] in _LIMITS:
            continue
        diary = np.reshape(results.get(f"{case}.diary", [[-1] * 5]), (-1, 5))
        if not problem and (diary[:, 2] > 0).any():
            continue  # in training mode the model says other things
        limit = int(inputs[f"{case}.max_tokens"])
        if slugs[0] in _LIMITS and len(wanted) >= limit:
            continue
        seen |= not problem and bool(wanted)
        if problem or words != wanted:
            lost = slugs[0]
    others = next((slug for slug in slugs[:1] if slug not in _MODES | _LIMITS), None)
    lost = lost or others or (None if seen else slugs[0])
    return Part("the words", 2, lost), Part(
        "mode, gradients and limit", 1, manners or (lost if not seen else None)
    )


def to_numbers(value):
    """Turn a trial's value into an array; a Problem stays words."""
    if isinstance(value, str):
        return value
    return value.detach().cpu().numpy() if hasattr(value, "detach") else np.asarray(value)


def _find_mistake(results: dict, right: dict, mistakes: Mistakes) -> str | None:
    """Return the first known mistake that does just the same in every case."""
    keys = [key for key in right if key.rpartition(".")[2] in TELLING and key.count(".") == 1]
    for name, outputs in mistakes():
        if all(_looks_like(results.get(key), outputs.get(key)) for key in keys):
            return name
    return None


def _looks_like(found, known) -> bool:
    if isinstance(found, str) or isinstance(known, str):
        both = isinstance(found, str) and isinstance(known, str)
        return both and _strip_numbers(found) == _strip_numbers(known)
    if found is None or known is None:
        return found is known
    return _alike(found, known, rtol=1e-3, atol=1e-3)


def _strip_numbers(problem: str) -> str:
    """Reduce an error to what does not depend on sizes: the start of its words."""
    return "".join(letter for letter in drop_line(problem) if not letter.isdigit())[:60]


def _alike(one, other, rtol: float = _RTOL, atol: float = _ATOL) -> bool:
    if one is None or isinstance(one, str) or np.shape(one) != np.shape(other):
        return False
    one, other = np.asarray(one, float), np.asarray(other, float)
    return bool(np.allclose(one, other, rtol, atol, equal_nan=True))


def _number(results: dict, key: str, default: float = float("nan")) -> float:
    value = results.get(key)
    if value is None or isinstance(value, str) or np.size(value) != 1:
        return default
    return float(np.reshape(value, -1)[0])


# ---------------------------------------------------------------------------------- problems

_PROBLEMS = {
    "open": "todo-open",
    "undefined": "not-defined",
    "not-callable": "not-a-function",
    "none": "returned-none",
    "keys": "wrong-keys",
}
_SIGNS = (  # words of an error that say by themselves which mistake it comes from
    ("before module.__init__() call", "super-forgotten"),
    ("expected scalar type", "wrong-dtype"),
    ("to have the same dtype", "wrong-dtype"),
    ("expected target size", "loss-dimensions"),
    ("far more words than allowed", "limit-ignored"),
    ("encode wants", "batch-dimension"),
    ("step wants", "batch-dimension"),
    ("the mask holds no truth values", "mask-not-bool"),
    ("not those of the encoded sentence", "encoding-not-passed-on"),
    ("at least two data points", "variance-of-sample"),
    ("meanpoolattention.__init__() missing", "constructor-arguments"),
    (
        "dotproductattention.__init__() missing 1 required positional argument: 'kq_dim'",
        "kq-dim-default",
    ),
)


def _read_problem(problem: str) -> Fault:
    kind, _, words = problem.partition("|")
    if kind == "raised":
        lower = drop_line(words).lower()
        sign = next((slug for sign, slug in _SIGNS if sign in lower), "raised")
        return "hard-coded-device" if misses_gpu(words) else sign, words
    slug = _PROBLEMS.get(kind, kind)
    return (slug if slug in WORDS else "raised"), words


def _find_problems(results: dict, *keys: str) -> Iterator[Fault]:
    for key in ("problem", *keys):
        if isinstance(results.get(key), str):
            yield _read_problem(results[key])


def _find_changes(results: dict, case: str) -> Iterator[Fault]:
    changed = [
        key.rpartition(".")[2]
        for key in results
        if key.startswith(f"{case}.kept.") and _number(results, key) != 1
    ]
    if changed:
        yield "input-changed", f"Changed: {', '.join(changed)}"


# --------------------------------------------------------------------------------- attention


def _check_attention(cases, results, right, inputs) -> Iterator[Fault]:
    yield from _find_problems(results)
    ordinary = [case for case in cases if not case.startswith("device")]
    for case in ordinary:
        found = results.get(f"{case}.attended")
        if isinstance(found, str):
            slug, words = _read_problem(found)
            if slug == "layer-sizes":
                slug, words = _name_sizes(results.get(f"{case}.layers"), inputs[f"{case}.sizes"])
            if slug == "raised" and _fails_on_single_ones(ordinary, results, inputs):
                slug = "squeezed-too-much"
            yield slug, words
        if found is None:
            yield "no-answer", ""
    for case in ordinary:
        yield from _check_shapes(case, results, inputs)
    for case in ordinary:
        yield from _check_numbers(case, results, right, inputs)
    for case in ordinary:
        yield from _find_changes(results, case)
        yield from _check_gradients(case, results, right)
        yield from _check_others(case, results, right)
    for case in cases:
        if case.startswith("device"):
            yield from _check_device(results.get(f"{case}.device"))
            yield from _check_device(results.get(f"{case}.machine"), "follows-machine")


def _fails_on_single_ones(cases, results, inputs) -> bool:
    """Say whether it stops just where a batch has one sentence, or a sentence one word."""
    failed = {case for case in cases if isinstance(results.get(f"{case}.attended"), str)}
    return all(1 in np.shape(inputs[f"{case}.mask"]) for case in failed)


def _name_sizes(layers, sizes) -> Fault:
    """Name what is wrong with the sizes of the three layers."""
    E, D, kq = (int(size) for size in sizes)
    default, kq = not kq, kq or DEFAULT_KQ
    if layers is None or isinstance(layers, str) or np.shape(layers) != (3, 2):
        return "layer-sizes", ""
    q, k, v = ((int(a), int(b)) for a, b in np.asarray(layers))
    words = (
        f"With E = {E}, D = {D}, kq = {kq} the layers go {q[0]} -> {q[1]}, {k[0]} -> {k[1]} and "
        f"{v[0]} -> {v[1]} (q_proj, k_proj, v_proj)"
    )
    for sign, slug in (
        (q == (2 * E, kq) and k == (D, kq), "projections-exchanged"),
        (k[0] == E or v[0] == E, "encoder-size-not-doubled"),
        (q[1] == k[1] != kq and default, "kq-dim-default"),
        (q[1] == k[1] == DEFAULT_KQ != kq, "kq-dim-ignored"),
        (v == (2 * E, E), "v-proj-half"),
        (v == (2 * E, kq), "v-proj-to-kq"),
        (v == (2 * E, D), "v-proj-to-decoder"),
    ):
        if sign:
            return slug, words
    return "layer-sizes", words


def _check_shapes(case, results, inputs) -> Iterator[Fault]:
    attended, weights = (
        np.shape(results.get(f"{case}.{part}")) for part in ("attended", "weights")
    )
    B, T, width = np.shape(inputs[f"{case}.outputs"])
    if (attended, weights) == ((B, width), (B, T)):
        return
    words = f"With (B, T, 2E) = {(B, T, width)} attended is {attended} and weights is {weights}"
    for sign, slug in (
        ((attended, weights) == ((B, T), (B, width)), "outputs-swapped"),
        (len(attended) == 3 and attended[0] == B, "attended-not-squeezed"),
        (len(weights) == 3, "weights-not-squeezed"),
        ((len(attended) < 2 or len(weights) < 2) and 1 in (B, T), "squeezed-too-much"),
    ):
        if sign:
            yield slug, words
    yield "wrong-shape", words


def _check_numbers(case, results, right, inputs) -> Iterator[Fault]:
    attended, weights = results[f"{case}.attended"], results[f"{case}.weights"]
    again = results.get(f"{case}.again")
    if again is not None and not _alike(again, attended):
        yield "not-repeatable", ""
    sums = "" if f"{case}.sizes" not in inputs else f" (E, D, kq = {_write_sizes(inputs, case)})"
    words = f"Seen with (B, T) = {np.shape(inputs[f'{case}.mask'])}{sums}"
    if not (np.isfinite(attended).all() and np.isfinite(weights).all()):
        yield "not-finite", words
    wanted = np.asarray(inputs[f"{case}.outputs"]).dtype
    if attended.dtype != wanted and _alike(attended, right[f"{case}.attended"], 1e-2, 1e-2):
        yield "wrong-dtype", f"For {wanted} it returns {attended.dtype}"
    rounding = (5e-3, 5e-3) if case.startswith("extreme") else (_RTOL, _ATOL)
    same_weights = _alike(weights, right[f"{case}.weights"], *rounding)
    same_attended = _alike(attended, right[f"{case}.attended"], *rounding)
    if same_weights and same_attended:
        return
    padding = np.abs(weights[~np.asarray(inputs[f"{case}.mask"], bool)])
    if padding.size and padding.max() > 1e-6:
        # In extreme cases alone: the mask works, but not for scores as low as these.
        low = case.startswith("extreme")
        yield ("mask-finite" if low else "weights-on-padding"), words
    if same_weights:
        yield "attended-wrong", words
    if np.abs(weights.sum(axis=-1) - 1).max() > 1e-3:
        yield "weights-do-not-sum", words
    yield "wrong-values", words


def _write_sizes(inputs, case) -> str:
    E, D, kq = (int(size) for size in inputs[f"{case}.sizes"])
    return f"{E}, {D}, {kq or 'default'}"


def _check_gradients(case, results, right) -> Iterator[Fault]:
    keys = [key for key in right if key.startswith(f"{case}.grad.")]
    if f"{case}.biased" in results:  # a layer may have no bias
        flags = zip(_LAYERS, np.reshape(results[f"{case}.biased"], -1), strict=True)
        absent = {f"{case}.grad.{layer}.bias" for layer, flag in flags if not flag}
        keys = [key for key in keys if key not in absent]
    if any(isinstance(results.get(key), str) or results.get(key) is None for key in keys):
        yield "no-gradient", ""
    for key in keys:
        if not _alike(results[key], right[key]):
            name, none = key.partition(".grad.")[2], not np.any(results[key])
            yield (
                "wrong-gradient",
                f"No gradient reaches {name}" if none else f"The gradient for {name} is wrong",
            )


def _check_others(case, results, right) -> Iterator[Fault]:
    """See whether the same module is right about other sentences too."""
    if isinstance(results.get(f"{case}.other"), str):
        yield _read_problem(results[f"{case}.other"])
    if case.startswith("extreme"):  # seen well enough elsewhere, without a thought for rounding
        return
    for key in (f"{case}.other", f"{case}.other_weights"):
        if not _alike(results.get(key), right[key]):
            yield "remembers-first-call", ""


_DEVICE_TROUBLE = (
    "cuda",
    "nvidia",
    "expected device",
    "same device",
    "not on the expected",
    "accelerator",
)


def _check_device(value, slug: str = "hard-coded-device") -> Iterator[Fault]:
    """Code that asks for numbers cannot be tried on a device without any: that is no fault.

    Nor is a single number from the CPU as the filling of masked places: a GPU takes it.
    """
    if isinstance(value, str):
        lower = drop_line(value).lower()
        if any(word in lower for word in _DEVICE_TROUBLE) and "expected `value`" not in lower:
            yield slug, value.partition("|")[2]
    elif value is None or float(np.reshape(value, -1)[0]) != 1.0:
        yield slug, ""


# -------------------------------------------------------------------------------------- loss


def _check_loss(cases, results, right, inputs) -> Iterator[Fault]:
    yield from _find_problems(results, *(f"{case}.loss" for case in cases))
    for case in cases:
        loss = results.get(f"{case}.loss")
        if loss is None:
            yield "no-answer", ""
        if np.shape(loss) != ():
            yield "loss-not-scalar", f"Its shape is {np.shape(loss)}"
    for case in cases:
        loss, wanted = float(results[f"{case}.loss"]), float(right[f"{case}.loss"])
        if not _alike(loss, wanted):
            words = f"With logits of shape {np.shape(inputs[f'{case}.logits'])}, pad = "
            yield "wrong-loss", f"{words}{int(inputs[f'{case}.pad'])} it is {loss:.4g}"
    for case in cases:
        yield from _find_changes(results, case)
        if isinstance(results.get(f"{case}.grad"), str):
            yield "no-gradient", ""
        if not _alike(results.get(f"{case}.grad"), right[f"{case}.grad"]):
            yield "wrong-gradient", ""


# ----------------------------------------------------------------------------------- decoding


def _check_decoding(cases, results, right, inputs) -> Iterator[Fault]:
    yield from _find_problems(results, *(f"{case}.words" for case in cases))
    for case in cases:
        yield from _check_encoding(case, results, inputs)
    for case in cases:
        yield from _check_words(case, results, right, inputs)
    for case in cases:
        before, after = int(inputs[f"{case}.training"]), _number(results, f"{case}.mode")
        if before != after:
            yield ("mode-not-restored" if before else "mode-always-training"), ""
        yield from _find_changes(results, case)
        if _number(results, f"{case}.gradients_after") != 1:
            yield "gradients-left-off", ""


def _check_encoding(case, results, inputs) -> Iterator[Fault]:
    source = [int(token) for token in inputs[f"{case}.source"]]
    encoded = [int(token) for token in np.reshape(results.get(f"{case}.encoded", [-1]), -1)]
    diary = np.reshape(results.get(f"{case}.diary", [[-1] * 5]), (-1, 5))
    if encoded[: len(source)] != source and encoded != [-1]:
        shorter = any(encoded == part for part in (source[1:-1], source[1:], source[:-1]))
        wrapped = encoded[1:-1] == source
        slug = (
            "source-cut" if shorter else "source-wrapped-again" if wrapped else "source-not-encoded"
        )
        yield slug, ""
    if _number(results, f"{case}.masked", 1.0) != 1:
        yield ("mask-inverted" if (diary[:, 4] <= 0).all() else "mask-hides-words"), ""
    trained, recorded = np.reshape(results[f"{case}.encoded_in"], -1)
    if trained or (diary[0, 0] >= 0 and (diary[:, 2] != 0).any()):
        yield "eval-forgotten", "The sentence is encoded in training mode" if trained else ""
    if recorded or (diary[0, 0] >= 0 and (diary[:, 3] != 0).any()):
        yield "gradients-on", "It begins when the sentence is encoded" if recorded else ""


def _check_words(case, results, right, inputs) -> Iterator[Fault]:
    words, wanted = (_list(part, f"{case}.words") for part in (results, right))
    if (
        isinstance(results.get(f"{case}.again"), np.ndarray)
        and _list(results, f"{case}.again") != words
    ):
        yield "not-repeatable", ""
    if words == wanted:
        return
    limit = int(inputs[f"{case}.max_tokens"])
    seen = f"With max_tokens = {limit} the number of words is {len(words)}"
    diary = np.reshape(results[f"{case}.diary"], (-1, 5))[
        : int(_number(results, f"{case}.n_steps", 0))
    ]
    START, STOP = (
        int(token) for token in (inputs[f"{case}.source"][0], inputs[f"{case}.source"][-1])
    )
    fed, asked = diary[:, 0].tolist(), diary[:, 1].tolist()
    table = np.asarray(inputs[f"{case}.table"])
    likeliest = [
        int(table[min(step, len(table) - 1), word].argmax())
        for word, step in zip(fed, asked, strict=False)
    ]
    stopped = STOP in likeliest[:-1]
    for sign, slug in (
        (fed and fed[0] != START, "begins-without-start"),
        (len(asked) > 1 and set(asked) == {0}, "hidden-not-carried"),
        (
            len(fed) > 1 and set(fed) == {START} and words == likeliest[: len(words)],
            "token-not-fed-back",
        ),
        (fed[1:] != likeliest[:-1] and fed == _list(inputs, f"{case}.source", fed), "source-fed"),
        (fed[1:] != likeliest[:-1], "not-the-likeliest"),
        (words[:1] == [START], "start-returned"),
        (stopped and fed[1:] == likeliest[:-1], "never-stops"),
        (words[-1:] == [STOP], "stop-returned"),
        (
            words == wanted[: len(words)]
            and len(wanted) < limit
            and len(words) in _list_lengths(inputs[f"{case}.source"]),
            "limit-from-source",
        ),
        (
            words == wanted[:-1] and len(fed) == int(_number(right, f"{case}.n_steps")),
            "last-word-dropped",
        ),
        (
            len(wanted) == limit and (words == wanted[:-1] or words[:-1] == wanted),
            "limit-off-by-one",
        ),
        (len(words) > limit, "limit-ignored"),
    ):
        if sign:
            yield slug, seen
    yield "wrong-words", seen


def _list_lengths(source) -> tuple[int, ...]:
    """Return the lengths that somebody may take from a sentence for that of its translation."""
    return len(source), len(source) - 2, 2 * len(source)


def _list(values: dict, key: str, like: list | None = None) -> list[int]:
    """Return words as a list, without the -1 at their end; or as much of them as `like` has."""
    value = values.get(key)
    if value is None or isinstance(value, str):
        return []
    numbers = [int(number) for number in np.reshape(value, -1)]
    if like is None:
        return numbers[:-1] if numbers[-1:] == [-1] else numbers
    return (numbers + numbers[-1:] * len(like))[: len(like)]


# ------------------------------------------------------------------------------- descriptions


def _check_description(cases, results, right, inputs) -> Iterator[Fault]:
    yield from _find_problems(results)
    for case in cases:
        found = results.get(f"{case}.found")
        if found is None:
            yield "no-answer", ""
        if isinstance(found, str):
            slug, words = _read_problem(found)
            if slug == "raised" and case.startswith(("tensors", "grad")):
                slug = "tensors-not-taken"
            elif slug == "raised" and not isinstance(results.get("tensors.found"), str):
                slug = "floats-not-taken"
            yield slug, words
    for case in cases:
        if not _alike(results[f"{case}.found"], right[f"{case}.found"]):
            mean, variance = np.reshape(results[f"{case}.found"], -1)[:2]
            numbers = ", ".join(f"{float(loss):g}" for loss in inputs[f"{case}.losses"])
            yield "wrong-description", f"For {numbers} it says {mean:.6g} and {variance:.6g}"
    for case in cases:
        yield from _find_changes(results, case)


_COUNTERS = {
    "MeanPoolAttention": _count_attention,
    "SingleQueryScaledDotProductAttention": _count_attention,
    "greedy_translate": _count_decoding,
}
_FINDERS = {
    "MeanPoolAttention": _check_attention,
    "SingleQueryScaledDotProductAttention": _check_attention,
    "masked_loss": _check_loss,
    "greedy_translate": _check_decoding,
    "describe_losses": _check_description,
}
