"""The judge of the pretraining notebook: mistakes are named, right ways pass, bad luck costs nothing."""

import math
import random
from collections import Counter

import numpy as np
import pytest

from autograder.blueprint import load_blueprint
from autograder.course import load_assignment
from autograder.exercises.attention_at_work import pretraining
from autograder.exercises.attention_at_work import pretraining_code as code
from autograder.grading.judge import Verdict, decide
from autograder.grading.second_try import add_stand_ins
from autograder.kernel import wire
from course_utils.checks import pretraining as rules
from course_utils.checks.pretraining_trials import pack, unpack
from course_utils.checks.pretraining_words import WORDS

BLUEPRINT = load_blueprint(load_assignment("attention_at_work"), "3_pretraining")
SOLUTIONS = BLUEPRINT.solutions
PIECES = pretraining.list_pieces(SOLUTIONS)
EXERCISES = {exercise.name: exercise for exercise in pretraining.EXERCISES}
NAMES = tuple(EXERCISES)
MISTAKES = [(name, mistake) for name in NAMES for mistake in EXERCISES[name].mistakes]
VARIANTS = [(name, text) for name in NAMES for text in EXERCISES[name].variants]
POINTS = {
    "majority_baseline": 1, "count_right": 2, "corrupt_span": 4, "make_pair": 2,
    "make_question": 3, "answer_question": 2,
}  # fmt: skip


def judge(name: str, *codes: str, seed: int = 447, program: str = "") -> Verdict:
    """Judge code by the program that is sent into kernels, arrays and all."""
    namespace = pretraining.make_namespace(*PIECES, *codes)
    return judge_namespace(name, namespace, seed, program)


def judge_namespace(name: str, namespace: dict, seed: int = 447, program: str = "") -> Verdict:
    exercise = EXERCISES[name]
    inputs = exercise.draw_inputs(seed)
    reply = wire.answer(program or exercise.program, namespace, wire.dump(inputs))
    return decide(exercise, POINTS[name], "ok", wire.load(reply), inputs, SOLUTIONS)


# Points of the known mistakes that were tried in this process, by exercise and name.
_best: dict[tuple[str, str], float] = {}
_untried = Counter([(name, mistake.diagnosis) for name, mistake in MISTAKES])


def label(value):
    return getattr(value, "diagnosis", value if value in NAMES else "")


@pytest.mark.parametrize("name, mistake", MISTAKES, ids=label)
def test_a_known_mistake_is_rejected_and_named(name, mistake):
    verdict = judge(name, mistake.code)
    assert verdict.score <= POINTS[name] * mistake.share < POINTS[name]
    assert verdict.status == ("partial" if verdict.score else "failed")
    _untried[name, mistake.diagnosis] -= 1
    _best[name, mistake.diagnosis] = max(verdict.score, _best.get((name, mistake.diagnosis), 0))
    assert verdict.diagnosis == mistake.diagnosis, verdict.messages
    assert len(verdict.messages[0]) > 30


def test_every_share_is_one_that_somebody_earns():
    for (name, slug), score in _best.items():
        if _untried[name, slug]:
            continue  # another process tried the others
        assert score == POINTS[name] * code.SHARES.get(name, {}).get(slug, 0), (name, slug)


@pytest.mark.parametrize("name, text", VARIANTS, ids=label)
def test_a_right_variant_gets_full_marks(name, text):
    verdict = judge(name, text)
    assert (verdict.score, verdict.status) == (POINTS[name], "passed"), verdict.messages


def test_there_are_enough_of_both_and_words_for_all():
    assert len(MISTAKES) >= 30 and len(VARIANTS) >= 15
    slugs = {mistake.diagnosis for _, mistake in MISTAKES}
    assert len(slugs) >= 30 and slugs <= set(WORDS)
    assert sum(POINTS.values()) == 14


@pytest.mark.parametrize("seed", range(1, 4))
@pytest.mark.parametrize("name", NAMES)
def test_other_hidden_inputs_judge_alike(name, seed):
    rng = random.Random(f"{name} {seed}")
    assert judge(name, seed=seed).status == "passed"
    for text in EXERCISES[name].variants[seed % 3 :: 3]:
        assert judge(name, text, seed=seed).status == "passed"
    for mistake in rng.sample(EXERCISES[name].mistakes, 4):
        verdict = judge(name, mistake.code, seed=seed)
        assert verdict.score <= POINTS[name] * mistake.share, verdict.messages
        assert verdict.diagnosis == mistake.diagnosis, verdict.messages


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 140))
@pytest.mark.parametrize("name", NAMES)
def test_many_hidden_inputs_judge_alike(name, seed):
    for text in (SOLUTIONS[name], code.ORACLES[name], *EXERCISES[name].variants):
        assert judge(name, text, seed=seed).status == "passed"
    for mistake in EXERCISES[name].mistakes:
        verdict = judge(name, mistake.code, seed=seed)
        assert verdict.score <= POINTS[name] * mistake.share, verdict.messages
        assert verdict.diagnosis == mistake.diagnosis, verdict.messages


@pytest.mark.parametrize("name", NAMES)
def test_hidden_inputs_come_from_a_large_space(name):
    drawn = {wire.dump(EXERCISES[name].draw_inputs(seed)) for seed in range(40)}
    assert len(drawn) == 40
    assert wire.dump(EXERCISES[name].draw_inputs(7)) == wire.dump(EXERCISES[name].draw_inputs(7))


@pytest.mark.parametrize("name", NAMES)
def test_open_and_missing_work_is_missing(name):
    namespace = pretraining.make_namespace(*PIECES)
    del namespace[name]
    assert judge_namespace(name, namespace).status == "missing"
    namespace[name] = ...
    assert judge_namespace(name, namespace).diagnosis == "todo-open"
    namespace[name] = 3
    assert judge_namespace(name, namespace).score == 0.0
    stub = code.define(name, f"raise NotImplementedError('TODO: {name}')")
    assert judge(name, stub).status == "missing"


@pytest.mark.parametrize("name", NAMES)
def test_whatever_a_kernel_answers_is_judged_and_never_right(name):
    exercise = EXERCISES[name]
    inputs = exercise.draw_inputs()
    right = pretraining.try_out(name, inputs, *PIECES)
    junk = (
        wire.Unusable("x"), wire.Unusable("raised|x"), np.zeros(3), np.full((2, 2), np.nan), ...,
        np.array([3, 70, 0xFFFF]), np.array(-1),
    )  # fmt: skip
    for value in junk:
        assert (
            decide(exercise, 2.0, "ok", dict.fromkeys(right, value), inputs, SOLUTIONS).score == 0.0
        )
    assert decide(exercise, 2.0, "ok", {}, inputs, SOLUTIONS).score == 0.0
    for key in right:  # one piece left out
        if not key.endswith((".tied", ".off")):
            rest = {other: value for other, value in right.items() if other != key}
            verdict = decide(exercise, 2.0, "ok", rest, inputs, SOLUTIONS)
            by_parts = key.endswith(".repeats") and verdict.status == "partial"  # the form was seen
            assert verdict.score == 0.0 or by_parts or key.endswith(".changed"), key


def test_a_wrong_make_pair_is_paid_once():
    wrong = code.MISTAKES["make_pair"]["pair-not-shifted"][0]
    assert judge("make_pair", wrong).score == 0.0
    assert judge("make_question", wrong).score == 1.0  # x is right all the same
    program = add_stand_ins(
        EXERCISES["make_question"], [(EXERCISES["make_pair"], SOLUTIONS["make_pair"])]
    )
    assert judge("make_question", wrong, program=program).score == 3.0


def test_a_cheat_that_knows_the_visible_inputs_earns_nothing():
    stored = pretraining.make_numbers("make_pair", SOLUTIONS)
    table = {
        (unpack(stored["inputs"][f"{case}.text"])[0], int(stored["inputs"][f"{case}.block_size"])): tuple(
            unpack(stored["right"][f"{case}.out"])
        )
        for case in ("short", "long", "block", "exact", "two")
    }  # fmt: skip
    cheat = code.define("make_pair", f"return {table!r}.get((text, block_size), ('', ''))")
    assert rules.examine("make_pair", pretraining.make_namespace(cheat)["make_pair"]).passed
    assert judge("make_pair", cheat).score == 0.0


def test_texts_travel_as_they_are():
    for texts in ([], [""], ["a", "", "⁇□ ü"], ["x" * 300]):
        assert unpack(pack(texts)) == texts
    for broken in (np.zeros(0), np.array([2, 65, 0xFFFF]), np.array([0.5]), np.array([1, 65])):
        with pytest.raises(ValueError):
            unpack(broken)


# -------------------------------------------------------------------------- luck and its limits


def bernstein(variance: float, tolerance: float, draws: int) -> float:
    """Bound the probability that a mean of numbers in [0, 1] is off by more than a tolerance."""
    return 2 * math.exp(-draws * tolerance**2 / (2 * (variance + tolerance / 3)))


@pytest.mark.parametrize("block_size", [*range(64, 102)])
def test_a_right_corruption_fails_by_bad_luck_less_than_once_in_a_million(block_size):
    """Bound all the ways in which the reference could miss, with the largest blocks there are."""
    draws, most = pretraining.DRAWS, int(7 * block_size / 8)
    kept = np.arange(4, most + 1)
    # Never the shortest, never the longest: in one of the two documents.
    missing = 4 * (1 - 1 / len(kept)) ** draws
    thirds = [len(third) / len(kept) for third in np.array_split(kept, 3)]
    uneven = sum(2 * bernstein(p * (1 - p), rules._THIRD_TOLERANCE, draws) for p in thirds)
    # The span is uniform on 1 .. k // 2 for k characters: its share has this mean and spread.
    half = kept // 2
    means, squares = (half + 1) / 2 / kept, (half + 1) * (2 * half + 1) / 6 / kept**2
    mean, variance = means.mean(), squares.mean() - means.mean() ** 2
    low, high = rules._MEAN_SPAN
    tolerance = min(mean - low, high - mean)
    assert tolerance > 0.025
    off = bernstein(variance, tolerance, 2 * draws)
    short, long = means[: len(kept) // 3].mean(), means[-(len(kept) // 3) :].mean()
    slope = 2 * bernstein(variance, (rules._MOST_SLOPE - (short - long)) / 2, 2 * draws // 3)
    # A third of the places lies in each third of the text; most texts leave room enough to count.
    sides = 3 * bernstein(2 / 9, 1 / 3 - 0.05 - rules._LEAST_SIDE, draws)
    # A tenth of all lengths never comes up: each of them would have to be missed.
    absent = 2 * len(kept) * (1 - 1 / len(kept)) ** draws
    # One length comes up far too often, in one of the two documents.
    bound = math.floor(rules._MOST_OF_ONE * draws / len(kept)) + 1
    crowded = 2 * len(kept) * find_upper_tail(draws, 1 / len(kept), bound)
    assert crowded < 1e-7
    assert missing + uneven + off + slope + sides + absent + crowded < 1e-6


def find_upper_tail(draws: int, chance: float, least: int) -> float:
    """Return the probability that something comes up at least so often."""
    logs = [
        math.lgamma(draws + 1) - math.lgamma(k + 1) - math.lgamma(draws - k + 1)
        + k * math.log(chance) + (draws - k) * math.log(1 - chance)
        for k in range(least, least + 400)
    ]  # fmt: skip
    return sum(map(math.exp, logs))


@pytest.mark.parametrize("length", range(4, 10))
def test_a_short_document_is_kept_whole_often_enough_for_any_luck(length):
    whole = (28 - length + 1) / (28 - 3)  # block_size 32
    tolerance = (1 - rules._LEAST_WHOLE) * whole
    assert bernstein(whole * (1 - whole), tolerance, pretraining.SHORT_DRAWS) < 1e-6


@pytest.mark.parametrize("length", range(rules._NOT_SO_SHORT, 10))
def test_luck_does_not_keep_a_short_document_whole_every_time(length):
    assert ((28 - length + 1) / (28 - 3)) ** pretraining.SHORT_DRAWS < 1e-7


def test_block_sizes_are_those_that_the_bound_covers():
    for seed in range(300):
        inputs = EXERCISES["corrupt_span"].draw_inputs(seed)
        for case in ("long", "longer"):
            assert 64 <= int(inputs[f"{case}.block_size"]) < 102
            (document,) = unpack(inputs[f"{case}.document"])
            assert len(document) > int(7 * int(inputs[f"{case}.block_size"]) / 8)
        longer = int(inputs["longer.block_size"])
        assert round(7 * longer / 8) > int(7 * longer / 8)
        assert len(unpack(inputs["short.document"])[0]) >= rules._NOT_SO_SHORT


@pytest.mark.parametrize("seed", range(4))
def test_what_is_said_about_a_prompt_is_true_of_it(seed):
    prompts = {
        "(text + answer)[-20:]": "wrong-text-asked",  # the question's end is still there
        "answer or text": "question-not-fed-again",
        "question + answer + MASK": "mask-appended-each-time",
        "answer + text": "wrong-text-asked",
        "text.lower() + answer": "wrong-text-asked",
    }
    for prompt, slug in prompts.items():
        body = code.BODIES["answer_question"].replace("text + answer", prompt)
        verdict = judge("answer_question", code.define("answer_question", body), seed=seed)
        assert verdict.diagnosis == slug, (prompt, verdict.messages)


def test_global_dice_are_left_as_they_were():
    random.seed(5)
    before = random.getstate()
    for name in NAMES:
        judge(name)
    assert random.getstate() == before
