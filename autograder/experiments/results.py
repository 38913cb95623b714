"""Measures every number that the notebooks quote, and writes them to one file per assignment.

    python -m autograder.experiments.results                      # everything (about an hour)
    python -m autograder.experiments.results --only queries       # one group, in a second

Text in the notebooks names a number, {{sentiment.default.best_epoch}}, and `python -m autograder
build` fills it in from notebooks/<assignment>/results.json, which this command rewrites. Finished
trainings are kept in runs/, so that it can be stopped and started again.

What `attention` quotes is measured here, what `attention_at_work` quotes in at_work.py. The numbers
of the real corpus are read from docs/experiments.md, which
`python -m autograder.experiments.language_model --corpus real` writes.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

from autograder.authoring.quoted_numbers import FILE, load_numbers
from autograder.blueprint import load_blueprint
from autograder.course import load_assignment
from autograder.experiments import at_work
from autograder.experiments.language_model import (
    EXPERIMENTS,
    SHORT,
    compare_longer,
    run_experiment,
)
from autograder.files import replace_file
from course_utils import queries, runtime
from course_utils.checks.query_crafting import ITEMS
from course_utils.language_model.corpus import load_own
from course_utils.language_model.evaluation import Run, measure_grammar
from course_utils.language_model.ladder import measure_counts
from course_utils.language_model.training import Settings

RUNS = Path("runs/results")
REAL = Path("docs/experiments.md")


# ------------------------------------------------------------------------------ notebook 1


def measure_queries() -> dict:
    """Return notebook 1's numbers: which lengths pass, and how far off the near misses are."""
    K = queries.make_keys().double()
    V = queries.make_values().double()

    def find_error(q, name: str, keys=K) -> float:
        return queries.find_error(queries.attend(q, keys, V)[2], ITEMS[name].target)

    def find_angle(one, other) -> float:
        return math.degrees(math.acos(float(one @ other / one.norm() / other.norm())))

    def find_passing(make: Callable, name: str, factors) -> list[float]:
        return [f for f in factors if find_error(make(f), name) <= queries.TOLERANCE]

    fine = [round(0.1 * step, 1) for step in range(1, 1500)]
    both = K[0] + K[1]
    two = find_passing(lambda f: f * both, "q_average_two", fine)
    won = K.clone()
    won[2] = both / both.norm()
    select = [f for f in two if find_error(f * both, "k2_select", won) <= queries.TOLERANCE]
    pair = queries.attend(10 * (K[0] + K[2]), K, V)
    found = 20 * torch.tensor([-0.95, 0.31, 0.08]).double()
    target = (V[0] + V[2]) / 2
    lengths = K.norm(dim=-1)
    return {
        "select_from": find_passing(lambda f: f * K[0], "q_select_first", fine)[0],
        "identity_from": find_passing(lambda f: f * K, "Q_identity", fine)[0],
        "mean_key_error": f"{find_error(K.mean(0), 'q_average_all'):.3f}",
        "two_from": two[0],
        "two_to": math.floor(two[-1]),
        "two_huge_error": round(find_error(1e6 * both, "q_average_two"), 2),
        "two_half_error": round(find_error(both / 2, "q_average_two"), 3),
        "win_factor": select[0],
        "win_length": round(float(select[0] * both.norm()), 1),
        "pair_degrees": round(find_angle(K[0] + K[2], K[1])),
        "pair_v1_percent": round(100 * float(pair[1][1]), 1),
        "pair_error": round(queries.find_error(pair[2], target), 2),
        "pair_other_error": f"{queries.find_error(queries.attend(found, K, V)[2], target):.4f}",
        "shortest_key": f"{float(lengths.min()):.3f}",
        "longest_key": f"{float(lengths.max()):.3f}",
    }


# ------------------------------------------------------------------------------ notebook 2


def measure_language_model() -> dict:
    """Return what the suggested experiments come to on the course's own corpus, one epoch each."""
    corpus = load_own("as asked for")
    results: dict = {"sentences": f"{len(corpus.train):,}", "words": len(corpus.vocabulary)}
    counted = measure_counts(corpus)
    results["ladder"] = {name: round(loss, 2) for name, loss in counted.items()}
    floor = measure_grammar(corpus)
    results["floor"] = {
        "loss": round(corpus.entropy, 2),
        "dev": round(floor.mean_perplexity, 2),
        "dev_corpus": round(floor.corpus_perplexity, 2),
    }
    for name in ("dot product", "zero after softmax", "no attention"):
        run = _run_once(name, corpus)
        results[name.replace(" ", "_")] = {
            "train": round(run.train_perplexity, 2),
            "dev": round(run.dev_perplexity, 2),
            "dev_corpus": round(run.dev_corpus_perplexity, 2),
            "dev_loss": round(math.log(run.dev_corpus_perplexity), 2),
            "final_loss": round(run.history.final_loss, 2),
            "leak": round(run.leak, 2),
            "sample": f"`{_shorten(run.samples[0])}`",
        }
    results["positions"] = _measure_positions_once(corpus)
    return results


def _shorten(sample: str, words: int = 24) -> str:
    """Return the start of a sample: some never end."""
    tokens = sample.split()
    return " ".join(tokens[:words] + ["..."] * (len(tokens) > words))


def _run_once(name: str, corpus) -> Run:
    path = RUNS / f"{name}.json"
    if not path.exists():
        print(name, flush=True)
        experiment = next(e for e in EXPERIMENTS if e.name == name)
        run_experiment(experiment, corpus, Settings()).save(path)
    return Run.load(path)


def _measure_positions_once(corpus) -> dict:
    """Return losses within the trained length and beyond it, for learned and sinusoidal positions."""
    path = RUNS / "positions.json"
    if not path.exists():
        print("positions", flush=True)
        replace_file(path, json.dumps(compare_longer(corpus, Settings())).encode())
    results: dict = {"trained_to": SHORT}
    for name, bands in json.loads(path.read_text("utf-8")).items():
        beyond = [loss for band, loss in bands.items() if int(band.split()[0]) >= SHORT - 1]
        within = [loss for band, loss in bands.items() if int(band.split()[0]) < SHORT - 1]
        results[name] = {
            "within": round(sum(within) / len(within), 2),
            "beyond": round(sum(beyond) / len(beyond), 2),
        }
    return results


def read_real() -> dict:
    """Return the summary table of docs/experiments.md: one entry per experiment that was run."""
    results = {}
    for line in REAL.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 8 and re.fullmatch(r"[\d.,]+", cells[1]):
            name, train, dev, final_loss, time, cost, leak, _ = cells
            results[name.replace(" ", "_").replace(",", "")] = {
                "train": train, "dev": dev, "final_loss": final_loss, "time": time, "cost": cost,
                "sees_future": leak,
            }  # fmt: skip
    return results


# ------------------------------------------------------------------------------ notebook 3


def measure_sentiment() -> dict:
    """Return what notebook 3 comes to with the course's small model and reviews."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer
    from transformers.utils import logging

    from autograder.exercises.attention.finetune_roberta import list_pieces, make_namespace
    from course_utils.sentiment import finetuning, predictions, sources

    logging.set_verbosity_error()
    blueprint = load_blueprint(load_assignment("attention"), "3_finetune_roberta")
    solved = make_namespace(*list_pieces(blueprint.solutions))
    main, evaluate = solved["main"], solved["evaluate"]
    settings = sources.suggest_settings(str(sources.OWN_MODEL))
    tokenizer = AutoTokenizer.from_pretrained(str(sources.OWN_MODEL))
    datasets = {
        split: solved["SST2Dataset"](tokenizer, rows)
        for split, rows in sources.load_own_splits().items()
    }
    loaders = solved["make_dataloaders"](datasets, settings.batch_size)

    def make_model():
        return AutoModelForSequenceClassification.from_pretrained(
            str(sources.OWN_MODEL), num_labels=2
        )

    def adamw(parameters, rate: float = settings.learning_rate):
        return torch.optim.AdamW(parameters, lr=rate, eps=1e-8)

    def train(name: str, optimizer=adamw, epochs: int = settings.num_epochs):
        folder = RUNS / "sentiment" / name
        if not (folder / "history.json").exists():
            print(name, flush=True)
            shutil.rmtree(folder, ignore_errors=True)
            runtime.set_seed(settings.seed)
            model = make_model()
            runtime.set_seed(settings.seed)
            history = main(model, loaders, optimizer(model.parameters()), epochs, folder)
            replace_file(folder / "history.json", json.dumps(history).encode())
        return json.loads((folder / "history.json").read_text("utf-8"))

    default = train("default")
    best_model = AutoModelForSequenceClassification.from_pretrained(RUNS / "sentiment/default")
    test = evaluate(best_model, loaders["test"])
    results = {
        "sizes": {split: len(dataset) for split, dataset in datasets.items()},
        "settings": {"batch": settings.batch_size, "rate": f"{settings.learning_rate:g}"},
        "default": _summarise(default) | {"test": _percent(test["accuracy"])},
        "adamw": _summarise(default[:3]),  # the same start and the same batches as the others below
    }
    rate = settings.learning_rate
    for name, optimizer in (
        ("sgd", lambda p: torch.optim.SGD(p, lr=rate)),
        ("adagrad", lambda p: torch.optim.Adagrad(p, lr=rate)),
    ):
        results[name] = _summarise(train(name, optimizer=optimizer, epochs=3))
    choices = [
        replace(settings, learning_rate=factor * rate, num_epochs=3) for factor in (0.4, 1.0, 2.0)
    ]
    runs = finetuning.search(main, make_model, datasets, choices, RUNS / "sentiment" / "search")
    results["search"] = {
        "best_rate": f"{runs.best['learning_rate']:g}",
        "best_validation": _percent(runs.best["validation_accuracy"]),
    }
    texts = [example.text for example in datasets["test"].sample_list]
    wrong = predictions.classify(best_model, tokenizer, texts).argmax(-1) != torch.tensor(
        [example.label for example in datasets["test"].sample_list]
    )
    results["default"]["mistakes"] = int(wrong.sum())
    return results


def _summarise(history: list[dict]) -> dict:
    best = max(history, key=lambda record: record["validation"]["accuracy"])
    return {
        "epochs": len(history),
        "best_epoch": best["epoch"],
        "best_train": _percent(best["train"]["accuracy"]),
        "best_validation": _percent(best["validation"]["accuracy"]),
        "first_validation": _percent(history[0]["validation"]["accuracy"]),
        "last_validation": _percent(history[-1]["validation"]["accuracy"]),
        "best_train_epoch": max(history, key=lambda r: r["train"]["accuracy"])["epoch"],
        "train_losses": ", ".join(f"{record['train']['loss']:.2f}" for record in history),
        "validation_losses": ", ".join(f"{r['validation']['loss']:.2f}" for r in history),
        "validation_accuracies": ", ".join(
            _percent(r["validation"]["accuracy"]) for r in history
        ),
    }  # fmt: skip


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


# ---------------------------------------------------------------------------------- writing

GROUPS = {  # by assignment; each group's name is used once
    "attention": {
        "queries": measure_queries,
        "own": measure_language_model,
        "real": read_real,
        "sentiment": measure_sentiment,
    },
    "attention_at_work": at_work.GROUPS,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m autograder.experiments.results")
    names = [name for groups in GROUPS.values() for name in groups]
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    chosen = parser.parse_args().only
    for assignment, groups in GROUPS.items():
        path = load_assignment(assignment).texts / FILE
        for name in groups:
            if name in chosen:
                write_group(path, groups, name)
                print(f"{path}: {name} is measured.", flush=True)
    print("Now `python -m autograder build` puts the numbers where they belong.")


def write_group(path: Path, groups: dict[str, Callable], name: str) -> None:
    """Measure one group, and put it in its place in an assignment's file; the others stay."""
    results = load_numbers(path.parent)
    results[name] = groups[name]()
    ordered = {key: results[key] for key in groups if key in results}
    text = json.dumps(ordered, indent=1, ensure_ascii=False)
    replace_file(path, (text + "\n").encode())


if __name__ == "__main__":
    main()
