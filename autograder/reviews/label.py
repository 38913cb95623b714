"""Writes the course's own labelled reviews: three splits that share no sentence.

`python -m autograder.reviews.label` rewrites course_utils/data/reviews from its seed.
"""

from __future__ import annotations

import json
from pathlib import Path

from autograder.reviews.grammar import write_sentences

SEED = 64
# Each part has the next seed. The last one was added after pretraining, whose text avoids every
# sentence of the parts before it; those that are tested on are among these.
PARTS = (("train", 2_000), ("validation", 400), ("test", 800), ("train", 2_000))
PARTS_BEFORE_PRETRAINING = 3
FOLDER = Path(__file__).parents[2] / "course_utils" / "data" / "reviews"


def write_parts() -> list[tuple[str, list[tuple[str, int]]]]:
    """Return (split, pairs) for every part; pairs are (text, label), half of each label."""
    parts, seen = [], set()
    for offset, (split, size) in enumerate(PARTS):
        pairs = write_sentences(SEED + offset, size, taboo=seen)
        seen.update(text for text, _ in pairs)
        parts.append((split, pairs))
    return parts


def make_splits() -> dict[str, list[tuple[str, int]]]:
    """Return {"train", "validation", "test"}: lists of (text, label), each balanced."""
    splits = {split: [] for split, _ in PARTS}
    for split, pairs in write_parts():
        splits[split] += pairs
    return splits


def list_taboo() -> set[str]:
    """Return the sentences that pretraining must not meet."""
    parts = write_parts()[:PARTS_BEFORE_PRETRAINING]
    return {text for _, pairs in parts for text, _ in pairs}


def main() -> None:
    """Write the splits as JSON lines."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, pairs in make_splits().items():
        lines = [json.dumps({"text": t, "label": label}, ensure_ascii=False) for t, label in pairs]
        (FOLDER / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"{FOLDER / name}.jsonl: {len(pairs)} sentences")


if __name__ == "__main__":
    main()
