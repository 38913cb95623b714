"""Batches of like length against shuffled ones: speed, padding, and that accuracy does not suffer.

    python -m autograder.bench.finetuning [--json]

Plain: shuffled, each batch padded to its longest sentence. Against it the search helper's loop,
which batches sentences of like length; counting their tokens is part of its time. On the real
SST-2 when COURSE_DATA names it, on the course's own reviews otherwise.
"""

from __future__ import annotations

import argparse
import json as json_format
import math
import statistics
import time

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from autograder.bench import pipeline
from course_utils import runtime
from course_utils.sentiment import sources
from course_utils.sentiment.finetuning import make_like_length_dataloaders, measure_padding

ROUNDS = 3
BATCH_SIZE = 32  # with it an epoch is enough to be well above chance, so accuracies can differ


def make_loaders(kind: str, datasets: dict) -> dict:
    """Return the dataloaders of one of the two ways."""
    make = pipeline.make_dataloaders if kind == "plain" else make_like_length_dataloaders
    return make(datasets, BATCH_SIZE)


def load_bench_datasets() -> tuple[dict, str]:
    """Return datasets of real sentences where COURSE_DATA names them; and what they are."""
    folder = runtime.data_dir()
    real = folder is not None and (folder / "sst2").is_dir()
    splits = sources.locate_data().splits if real else sources.load_own_splits()
    tokenizer = AutoTokenizer.from_pretrained(sources.OWN_MODEL)
    used = {split: splits[split] for split in ("train", "validation")}
    return pipeline.make_datasets(tokenizer, used), "SST-2" if real else "the course's own reviews"


def run_round(kind: str, datasets: dict, seed: int) -> tuple[float, float]:
    """Train for one epoch; return examples a second, and validation accuracy afterwards."""
    runtime.set_seed(seed)
    model = AutoModelForSequenceClassification.from_pretrained(sources.OWN_MODEL)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
    began = time.perf_counter()
    loaders = make_loaders(kind, datasets)
    pipeline.train_one_epoch(model, loaders["train"], optimizer, 1)
    seconds = time.perf_counter() - began
    return len(datasets["train"]) / seconds, pipeline.evaluate(model, loaders["validation"])[
        "accuracy"
    ]


def measure(datasets: dict) -> dict:
    """Run both ways in turns, so that what else the machine does hurts them alike."""
    kinds = ("plain", "like_length")
    speeds, accuracies = {kind: [] for kind in kinds}, {kind: [] for kind in kinds}
    for seed in range(ROUNDS):
        for kind in kinds:
            speed, accuracy = run_round(kind, datasets, seed)
            speeds[kind].append(speed)
            accuracies[kind].append(accuracy)
    plain, like = (statistics.mean(accuracies[kind]) for kind in kinds)
    # Two accuracies on n sentences differ by chance by up to about two standard errors; more
    # rounds would narrow the error of training, but not that of the sentences.
    noise = 2 * math.sqrt(2 * 0.25 / len(datasets["validation"]))
    ratios = [like / plain for plain, like in zip(*speeds.values(), strict=True)]
    return {
        "ratio": statistics.median(ratios),
        "equal": abs(plain - like) <= noise,
        "plain_accuracy": plain,
        "like_length_accuracy": like,
        "noise": noise,
        **{f"{kind}_examples_per_second": statistics.median(speeds[kind]) for kind in kinds},
        **{
            f"{kind}_padding": measure_padding(make_loaders(kind, datasets)["train"])
            for kind in kinds
        },
    }


def run(json: bool) -> dict:
    """Measure everything; print a table, or with `json` one JSON object."""
    datasets, name = load_bench_datasets()
    result = {"bench": "finetuning", **measure(datasets), "data": name}
    result |= {"sentences": len(datasets["train"]), "threads": torch.get_num_threads()}
    print(json_format.dumps(result) if json else describe(result))
    return result


def describe(result: dict) -> str:
    """Return the results as a small table and a verdict."""
    lines = [
        f"{result['sentences']:,} sentences of {result['data']}, batches of {BATCH_SIZE}.",
        "",
        f"{'':14}{'examples/s':>12}{'padding':>10}{'accuracy':>10}",
    ]
    for kind in ("plain", "like_length"):
        lines.append(
            f"{kind.replace('_', ' '):14}{result[f'{kind}_examples_per_second']:>12,.0f}"
            f"{result[f'{kind}_padding']:>10.1%}{result[f'{kind}_accuracy']:>10.1%}"
        )
    verdict = "equal within noise" if result["equal"] else "NOT EQUAL"
    lines += [
        "",
        f"{result['ratio']:.2f} times as fast on {result['threads']} threads; accuracies are "
        f"{verdict} (±{result['noise']:.1%}).",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    run(parser.parse_args().json)


if __name__ == "__main__":
    main()
