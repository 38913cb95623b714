"""Notebook 3's judge: every known mistake is named, every right variant passes, nothing is paid twice."""

import threading
from collections import Counter
from itertools import zip_longest

import nbformat
import numpy as np
import pytest

from autograder.blueprint import load_blueprint
from autograder.course import load_assignment
from autograder.demo.personas import fill_in, solve_all
from autograder.exercises import find_exercises
from autograder.exercises.attention import finetune_roberta
from autograder.exercises.attention import finetune_roberta_code as code
from autograder.grading.in_process import grade_here
from autograder.grading.judge import Verdict, decide
from autograder.grading.second_try import judge_again
from autograder.kernel import wire
from course_utils.checks.finetuning import NAMES
from tests.conftest import grade

MODULE = "attention.finetune_roberta"
EXERCISES = find_exercises(MODULE)
SOLUTIONS = load_blueprint(load_assignment("attention"), "3_finetune_roberta").solutions
RIGHT = finetune_roberta.list_pieces(SOLUTIONS)
MISTAKES = [(name, mistake) for name in NAMES for mistake in EXERCISES[name].mistakes]
VARIANTS = [(name, text) for name in NAMES for text in EXERCISES[name].variants]
POINTS = {
    "SST2Dataset": 2, "collate_fn": 3, "make_dataloaders": 2, "train_one_epoch": 4,
    "compute_accuracy": 2, "evaluate": 3, "main": 4,
}  # fmt: skip


def judge(name: str, *codes: str, seed: int | None = None) -> Verdict:
    """Run code as solution cells would run and judge what it does."""
    exercise = EXERCISES[name]
    inputs = exercise.draw_inputs() if seed is None else exercise.draw_inputs(seed)
    values = finetune_roberta.try_out(name, wire.load(wire.dump(inputs)), *RIGHT, *codes)
    coded = {k: wire.Unusable(v) if isinstance(v, str) else v for k, v in values.items()}
    values = wire.load(wire.dump(coded))
    return decide(exercise, POINTS[name], "ok", values, inputs, SOLUTIONS)


def judge_in_kernel(name: str, namespace: dict, program: str = "") -> Verdict:
    """Judge a namespace by the program that is sent into kernels."""
    exercise = EXERCISES[name]
    inputs = exercise.draw_inputs()
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


def test_there_are_enough_of_both():
    assert len(MISTAKES) >= 30 and len(VARIANTS) >= 15
    assert len({mistake.diagnosis for _, mistake in MISTAKES}) >= 30


@pytest.mark.parametrize("name", NAMES)
def test_the_program_for_kernels_says_the_same(name):
    verdict = judge_in_kernel(name, finetune_roberta.make_namespace(*RIGHT))
    assert verdict.status == "passed", verdict.messages
    wrong = EXERCISES[name].mistakes[0]
    verdict = judge_in_kernel(name, finetune_roberta.make_namespace(*RIGHT, wrong.code))
    assert verdict.diagnosis == wrong.diagnosis


@pytest.mark.parametrize("seed", [1, 2, 20261116])
@pytest.mark.parametrize("name", NAMES)
def test_other_hidden_inputs_judge_alike(name, seed):
    assert judge(name, seed=seed).status == "passed"
    for text in EXERCISES[name].variants[:2]:
        assert judge(name, text, seed=seed).status == "passed"
    for mistake in EXERCISES[name].mistakes[:6]:
        assert judge(name, mistake.code, seed=seed).score <= POINTS[name] * mistake.share, mistake


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_every_draw_tells_a_best_so_far_that_starts_too_high(seed):
    for text in code.MISTAKES["main"]["nothing-saved"][1:]:
        assert judge("main", text, seed=seed).diagnosis == "nothing-saved"


@pytest.mark.parametrize("seed", range(1, 7))
def test_no_draw_lets_a_tie_broken_or_a_percentage_pass(seed):
    for text in (
        code.MISTAKES["main"]["latest-on-tie"][1],
        code.ORACLES["main"].replace('validation["accuracy"]', 'round(validation["accuracy"], 2)'),
        code.ORACLES["main"].replace('validation["accuracy"]', 'int(100 * validation["accuracy"])'),
    ):
        assert judge("main", text, seed=seed).score == 2.0, text  # not the checkpoint


@pytest.mark.parametrize("seed", range(1, 7))
def test_no_draw_lets_loss_and_accuracy_be_taken_for_each_other(seed):
    for right, wrong in (
        ('if validation["accuracy"] > best', 'if validation["loss"] > best'),
        ('best = validation["accuracy"]', 'best = validation["loss"]'),
    ):
        assert judge("main", code.ORACLES["main"].replace(right, wrong), seed=seed).score == 2.0


@pytest.mark.parametrize("seed", range(1, 13))
def test_no_draw_lets_a_rounded_share_or_sorted_texts_pass(seed):
    (rounded,) = code.MISTAKES["compute_accuracy"]["wrong-accuracy"]
    assert judge("compute_accuracy", rounded, seed=seed).diagnosis == "wrong-accuracy"
    by_text = code.MISTAKES["SST2Dataset"]["iter-wrong-items"][-1]
    assert judge("SST2Dataset", by_text, seed=seed).diagnosis == "iter-wrong-items"


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_an_accuracy_weighted_by_the_batch_size_asked_for_is_not_called_a_leftover(seed):
    constant = code.ORACLES["evaluate"].replace(
        "compute_accuracy(predictions, labels)}", "weighted / len(labels)}"
    )
    constant = constant.replace("total_loss, predictions", "weighted, total_loss, predictions")
    constant = constant.replace("= 0.0, [], []", "= 0.0, 0.0, [], []")
    add = "weighted += compute_accuracy(predictions[-1], label) * dataloader.batch_size"
    constant = constant.replace(
        "        labels.append(label)\n", f"        labels.append(label)\n        {add}\n"
    )
    assert judge("evaluate", constant, seed=seed).diagnosis == "wrong-accuracy"


def test_numbers_of_other_types_are_called_by_their_types():
    for body, slug, kind in (
        (".float().numpy().mean()", None, "`float32`"),
        (".float().mean().numpy()", None, "`ndarray`"),
        (".float().mean().item().__str__()", "not-a-number", "str"),
        (".float().mean()", None, "as a tensor"),
    ):
        text = (
            f"def compute_accuracy(predictions, labels):\n    return (predictions == labels){body}"
        )
        verdict = judge("compute_accuracy", text)
        assert verdict.diagnosis == slug and kind in " ".join(verdict.lines), verdict


@pytest.mark.parametrize("name", NAMES)
def test_open_and_missing_work_is_missing(name):
    piece = EXERCISES[name].cell
    namespace = finetune_roberta.make_namespace(*RIGHT)
    del namespace[piece]
    assert judge_in_kernel(name, namespace).status == "missing"
    namespace[piece] = ...
    assert judge_in_kernel(name, namespace).diagnosis == "todo-open"
    namespace[piece] = 3
    assert judge_in_kernel(name, namespace).score == 0.0


@pytest.mark.parametrize("name", NAMES)
def test_whatever_a_kernel_answers_is_judged_and_never_right(name):
    exercise = EXERCISES[name]
    inputs = exercise.draw_inputs()
    right = finetune_roberta.try_out(name, inputs, *RIGHT)
    junk = (
        wire.Unusable("x"),
        wire.Unusable("raised|x"),
        np.zeros(3),
        np.full((2, 2), np.nan),
        ...,
    )
    for value in junk:
        values = dict.fromkeys(right, value)
        assert decide(exercise, 2.0, "ok", values, inputs, SOLUTIONS).score == 0.0
    assert decide(exercise, 2.0, "ok", {}, inputs, SOLUTIONS).score == 0.0


def test_judging_in_several_threads_gives_the_same():
    verdicts = []

    def work(name):
        verdicts.append(judge_with_mistakes(name))

    def judge_with_mistakes(name):
        inputs = EXERCISES[name].draw_inputs(5)
        values = finetune_roberta._try_once(name, inputs, *RIGHT)
        return EXERCISES[name].rule(values, inputs, SOLUTIONS).share

    threads = [threading.Thread(target=work, args=(name,)) for name in NAMES for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert verdicts == [1.0] * len(threads)


# ------------------------------------------------------------------- one mistake is paid once


def judge_twice(name: str, *codes: str) -> Verdict:
    """Judge on the learner's own pieces, then on right ones, as grading does."""
    namespace = finetune_roberta.make_namespace(*RIGHT, *codes)
    names = [*EXERCISES[name].builds_on, name]
    verdicts = {piece: judge_in_kernel(piece, namespace) for piece in names}

    def ask(exercise, program):
        return judge_in_kernel(exercise.name, namespace, program)

    return judge_again(verdicts, EXERCISES, SOLUTIONS, ask)[name]


@pytest.mark.parametrize(
    "name, piece, diagnosis",
    [
        ("main", "train_one_epoch", "batches-skipped"),
        ("main", "train_one_epoch", "returned-none"),
        ("main", "train_one_epoch", "wrong-keys"),
        ("main", "evaluate", "accuracy-in-percent"),
        ("main", "evaluate", "accuracy-mean-of-batches"),
        ("main", "compute_accuracy", "error-rate"),
        ("evaluate", "compute_accuracy", "accuracy-not-divided"),
        ("train_one_epoch", "compute_accuracy", "expects-logits"),
        ("make_dataloaders", "collate_fn", "padding-forgotten"),
        ("make_dataloaders", "SST2Dataset", "length-off"),
    ],
)
def test_right_work_on_a_wrong_piece_keeps_its_points(name, piece, diagnosis):
    wrong = code.MISTAKES[piece][diagnosis][0]
    assert judge(piece, wrong).status != "passed"
    verdict = judge_twice(name, wrong)
    assert (verdict.score, verdict.status) == (POINTS[name], "passed"), verdict.messages


def test_wrong_work_on_a_wrong_piece_earns_no_more_than_on_a_right_one():
    wrong = code.MISTAKES["evaluate"]["accuracy-mean-of-batches"][0]
    own = code.MISTAKES["main"]["saves-last"][1]
    verdict = judge_twice("main", wrong, own)
    assert (verdict.score, verdict.status) == (2.0, "partial")


def test_judging_leaves_the_namespace_as_it_was():
    import torch

    namespace = finetune_roberta.make_namespace(*RIGHT)
    namespace["SST2Dataset"].tokenizer = "the learner's own"
    before, gpu = dict(namespace), torch.cuda.is_available()
    for name in NAMES:
        judge_in_kernel(name, namespace)
    assert namespace == before and namespace["SST2Dataset"].tokenizer == "the learner's own"
    assert torch.cuda.is_available() is gpu and torch.is_grad_enabled()


def test_grading_inside_the_notebook_gives_the_same(monkeypatch):
    monkeypatch.delenv("COURSE_JUDGE", raising=False)
    wrong = code.MISTAKES["evaluate"]["accuracy-in-percent"][0]
    make = finetune_roberta.make_namespace
    assert grade_here(MODULE, "main", make(*RIGHT, wrong), points=4) == 4.0
    assert grade_here(MODULE, "evaluate", make(*RIGHT, wrong), points=3) == 2.0


# ------------------------------------------------------------------------- through the grader


@pytest.mark.landing
def test_grading_real_notebooks(assignment, tmp_path):
    """A few notebooks that hold many mistakes and variants, graded as a user would."""
    blueprint = load_blueprint(assignment, "3_finetune_roberta")
    solved = solve_all(blueprint)
    assert set(solved) == set(NAMES) - {"collate_fn"}

    def write(folder, codes):
        path = tmp_path / folder / f"{blueprint.name}.ipynb"
        path.parent.mkdir()
        path.write_text(nbformat.writes(fill_in(blueprint, solved | codes, "Words.")), "utf-8")
        return str(path)

    # Each notebook makes one mistake an exercise, so that a few hold many of them.
    lists = {name: list(EXERCISES[name].mistakes[:6:6]) for name in solved}
    lists["SST2Dataset"] = list(EXERCISES["collate_fn"].mistakes[2:8:6])
    files = {}
    for number, row in enumerate(zip(*lists.values(), strict=True)):
        mistakes = dict(zip(lists, row, strict=True))
        files[write(f"wrong-{number}", {n: m.code for n, m in mistakes.items()})] = mistakes
    variants = {}
    for number, row in enumerate(
        zip_longest(*(EXERCISES[name].variants[:1] for name in solved), fillvalue=None)
    ):
        codes = {name: text for name, text in zip(solved, row, strict=True) if text}
        variants[write(f"right-{number}", codes)] = codes
    broken = write("broken", {"SST2Dataset": "class SST2Dataset(Dataset):\n    x = 1 / 0"})

    results = {result["submission"]: result for result in grade(*files, *variants, broken)}
    for path, mistakes in files.items():
        cells = results[path]["cells"]
        for name, mistake in mistakes.items():
            cell = cells["test_collate_fn" if name == "SST2Dataset" else f"test_{name}"]
            assert cell["score"] <= cell["max_score"] * mistake.share, (mistake, cell)
            assert cell["status"] in ("failed", "partial")
            # Other pieces are wrong as well here, so what builds on them may look different.
            if name in ("SST2Dataset", "compute_accuracy"):
                assert cell["diagnosis"] == mistake.diagnosis
        assert cells["test_SST2Dataset"]["score"] == 2.0
        assert results[path]["score"] < 20.0
    for path, codes in variants.items():
        assert results[path]["score"] == results[path]["max_score"] == 20.0, codes
    cell = results[broken]["cells"]["test_collate_fn"]
    assert cell["diagnosis"] == "cell-raised" and "ZeroDivisionError" in cell["messages"][0]
    assert results[broken]["cells"]["test_main"]["score"] == 4.0


# ------------------------------------------------------------------------- points by parts


def change(name: str, *pairs: tuple[str, str]) -> str:
    text = code.ORACLES[name]
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    return text


_LOSS = "outputs.loss.item() * len(label)"
_MEANS = [
    (_LOSS, "outputs.loss.item()"),
    ("total_loss / len(labels)", "total_loss / len(dataloader)"),
]
_LISTED = [
    ("total_loss, predictions, labels = 0.0,", "losses, predictions, labels = [],"),
    ("total_loss += " + _LOSS, "losses += len(label) * [outputs.loss.detach()]"),
]
_AS_MEAN = [("total_loss / len(labels)", "torch.stack(losses).mean().item()")]
_AS_SUM = [("total_loss / len(labels)", "sum(losses) / len(losses)")]
_AS_WEIGHTED = [
    ("total_loss, predictions, labels = 0.0,", "losses, sizes, predictions, labels = [], [],"),
    (
        "total_loss += " + _LOSS,
        "losses.append(outputs.loss.detach())\n        sizes.append(len(label))",
    ),
    (
        "total_loss / len(labels)",
        "float((torch.tensor(losses) * torch.tensor(sizes)).sum() / sum(sizes))",
    ),
]
_AS_TENSOR = [("total_loss / len(labels)", "torch.tensor(losses).mean()")]


def write_shapes():
    """Ways in which public solutions of the original assignment are written, and what each loses."""
    no_step = ("        optimizer.step()\n", "")
    hits = (
        "        labels.append(label)\n",
        "        labels.append(label)\n        hits.append((predictions[-1] == label).float().mean())\n",
    )
    hits_begin = ("    model.train()\n", "    model.train()\n    hits = []\n")
    bars = ("in dataloader:", "in (bar := tqdm(dataloader)):")
    running = (
        "        labels.append(label)\n",
        "        labels.append(label)\n"
        "        bar.set_postfix(loss=total_loss / len(torch.cat(labels)), acc=float((predictions[-1] == label).float().mean()))\n",
    )
    accuracy = "compute_accuracy(predictions, labels)"
    by_hand = "(predictions == labels).sum() / len(labels)"
    schedule = (
        "    history, best",
        "    schedule = torch.optim.lr_scheduler.{}\n    history, best",
    )
    after = ("        history.append", "        schedule.step()\n        history.append")
    for name in ("train_one_epoch", "evaluate"):
        yield name, _MEANS, 1, "the loss is a mean of batch means"
        yield name, [*_LISTED, *_AS_MEAN], 0, "losses kept as a list of 0-d tensors, stacked"
        yield name, [*_LISTED, *_AS_SUM], 0, "the same, added up"
        yield name, [*_LISTED, *_AS_TENSOR], 0, "the same, made into one tensor"
        yield name, _AS_WEIGHTED, 0, "lists of 0-d tensors and of sizes, multiplied as tensors"
        yield name, [(accuracy, by_hand)], 0, "a 0-d tensor for the accuracy"
        yield name, [(accuracy, f"float({by_hand})")], 0, "the accuracy by hand"
        yield name, [bars, running], 0, "running means as progress"
        yield name, [(_LOSS, "outputs.loss * len(label)")], 0, "the loss with its graph"
    means = ('accuracy": ' + accuracy, 'accuracy": torch.stack(hits).mean().item()')
    yield "train_one_epoch", [hits_begin, hits, means], 1, "the accuracy is a mean of batch means"
    yield "train_one_epoch", [no_step], 2, "no step"
    yield "train_one_epoch", [("        optimizer.zero_grad()\n", "")], 2, "no zero_grad"
    yield (
        "main",
        [(schedule[0], schedule[1].format("StepLR(optimizer, 1)")), after],
        0,
        "a schedule",
    )
    linear = "LinearLR(optimizer, 1.0, 0.1, num_epochs)"
    yield "main", [(schedule[0], schedule[1].format(linear)), after], 0, "a linear schedule"
    state = "torch.save(model.state_dict(), str(checkpoint_dir) + '.pt')"
    yield "main", [("model.save_pretrained(checkpoint_dir)", state)], 2, "torch.save"
    print_all = (
        "        history.append",
        "        print(f'{epoch}: {train} {validation}')\n        history.append",
    )
    yield "main", [print_all], 0, "prints"


SHAPES = list(write_shapes())


@pytest.mark.parametrize("name, pairs, lost, why", SHAPES, ids=[f"{s[0]}: {s[3]}" for s in SHAPES])
def test_shapes_of_public_solutions_lose_what_the_task_asks_for_and_no_more(name, pairs, lost, why):
    namespace = finetune_roberta.make_namespace(*RIGHT, change(name, *pairs))
    verdict = judge_in_kernel(name, namespace)
    assert verdict.score == POINTS[name] - lost, verdict.messages
    assert finetune_roberta.examine_code(name, change(name, *pairs)).passed is not bool(lost)


@pytest.mark.parametrize("body", ["(predictions == labels).float().mean()",
                                  "torch.mean((predictions == labels).double())"])  # fmt: skip
def test_a_tensor_of_the_right_value_is_the_number_with_a_remark(body):
    verdict = judge("compute_accuracy", change("compute_accuracy", ("(predictions == labels).float().mean().item()", body)))  # fmt: skip
    assert verdict.status == "passed" and "Remark" in verdict.lines[-1]
    plain = judge("compute_accuracy", code.ORACLES["compute_accuracy"])
    assert not any("Remark" in line for line in plain.lines)


def test_parts_are_listed_and_what_follows_from_a_wrong_model_is_judged_by_that_model():
    pairs = [("        optimizer.zero_grad()\n", ""), *_MEANS]
    verdict = judge("train_one_epoch", change("train_one_epoch", *pairs))
    assert verdict.score == 1.0
    assert [slug for _, _, slug in verdict.parts] == [
        "wrong-weights", None, "loss-mean-of-batches",
    ]  # fmt: skip
    assert verdict.details[-1] == (
        "Points by parts: what the model is afterwards 0 of 2, the accuracy 1 of 1, the loss 0 of 1."
    )


def test_the_same_slip_in_training_and_evaluation_is_paid_once_on_both_roads(monkeypatch):
    monkeypatch.delenv("COURSE_JUDGE", raising=False)
    wrong = [change(name, *_MEANS) for name in ("train_one_epoch", "evaluate")]
    namespace = finetune_roberta.make_namespace(*RIGHT, *wrong)
    verdicts = {name: judge_in_kernel(name, namespace) for name in EXERCISES}

    def ask(exercise, program):
        return judge_in_kernel(exercise.name, namespace, program)

    outside = judge_again(verdicts, EXERCISES, SOLUTIONS, ask)
    points = {name: verdict.score for name, verdict in outside.items()}
    assert points == POINTS | {"train_one_epoch": 3.0}
    assert "`train_one_epoch` has paid for" in outside["evaluate"].messages[-1]
    for name in ("train_one_epoch", "evaluate", "main"):
        assert grade_here(MODULE, name, namespace, POINTS[name]) == points[name]
    alone = finetune_roberta.make_namespace(*RIGHT, wrong[1])
    assert grade_here(MODULE, "evaluate", alone, POINTS["evaluate"]) == 2.0


def test_exercises_stand_in_the_order_of_the_notebook():
    blueprint = load_blueprint(load_assignment("attention"), "3_finetune_roberta")
    assert [*EXERCISES] == [slot.exercise for slot in blueprint.slots if slot.role == "check"]
