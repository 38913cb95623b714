"""Counts the test accuracy again from the predictions that a student hands in."""

from __future__ import annotations

import csv
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

FILE = "test_predictions.csv"
_LARGEST_FILE = 20 * 2**20  # bytes


@dataclass(frozen=True)
class TestSet:
    """A test set whose labels we know: a digest of each text, and its label."""

    name: str
    digests: tuple[str, ...]
    labels: tuple[int, ...]


@dataclass(frozen=True)
class Counted:
    """An accuracy that was counted again, or None, and a sentence about it."""

    accuracy: float | None
    sentence: str


def collect_test_sets() -> list[TestSet]:
    """Return the test sets that can be had here: the course's own, and SST-2 where there is one."""
    from course_utils.sentiment.sources import load_own_splits, locate_data

    sets = [_describe("the course's own reviews", load_own_splits()["test"])]
    data = locate_data()
    if data.source != "course":
        sets.append(_describe("SST-2", data.splits["test"]))
    return sets


def _describe(name: str, rows: list[dict]) -> TestSet:
    return TestSet(
        name, tuple(_digest(row["text"]) for row in rows), tuple(row["label"] for row in rows)
    )


def write_test_sets(sets: list[TestSet]) -> bytes:
    """Write test sets to JSON: labels, and digests instead of texts."""
    return json.dumps([vars(one) for one in sets]).encode()


def read_test_sets(path: Path) -> list[TestSet]:
    """Read what `write_test_sets` wrote."""
    return [
        TestSet(one["name"], tuple(one["digests"]), tuple(one["labels"]))
        for one in json.loads(path.read_text("utf-8"))
    ]


def count_again(path: Path, sets: list[TestSet]) -> Counted:
    """Count the accuracy of a predictions file by our own labels; say why when it cannot be."""
    if path.is_symlink() or not path.is_file():
        return Counted(None, f"There is no {FILE}, so the test accuracy cannot be counted.")
    if path.stat().st_size > _LARGEST_FILE:
        return Counted(None, f"{FILE} is far too large to be a list of predictions.")
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            rows = [
                (_digest(row["text"]), int(row["label"]), int(row["prediction"]))
                for row in csv.DictReader(file)
            ]
    except (KeyError, TypeError, ValueError, AttributeError, csv.Error):
        return Counted(
            None,
            f"{FILE} is not as `write_predictions` makes it: it needs the columns index, text, "
            "label and prediction.",
        )
    texts = [digest for digest, _, _ in rows]
    for known in sets:
        if sorted(texts) == sorted(known.digests):
            return _compare(rows, known)
        if texts and set(texts) <= set(known.digests):
            return Counted(
                None,
                f"{FILE} has {len(rows):,} of the {len(known.labels):,} test sentences of "
                f"{known.name}: the accuracy counts when all are there, each once.",
            )
    return Counted(None, f"{FILE} speaks of sentences that are in no test set known here.")


def _compare(rows: list[tuple[str, int, int]], known: TestSet) -> Counted:
    """Compare predictions with our labels; texts that occur twice are taken in their order."""
    labels: dict[str, list[int]] = {}
    for digest, label in zip(known.digests, known.labels, strict=True):
        labels.setdefault(digest, []).append(label)
    right = relabelled = 0
    for digest, claimed, prediction in rows:
        label = labels[digest].pop(0)
        right += prediction == label
        relabelled += claimed != label
    accuracy = right / len(rows)
    sentence = f"Test accuracy on {known.name}, counted again: {accuracy:.2%} of {len(rows):,}."
    if relabelled:
        sentence += f" {relabelled:,} labels in the file are not those of the test set."
    return Counted(round(accuracy, 6), sentence)


def _digest(text: str) -> str:
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:16]
