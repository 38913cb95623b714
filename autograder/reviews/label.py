"""Writes the course's own labelled reviews: three splits that share no sentence.

`python -m autograder.reviews.label` rewrites course_utils/data/reviews from its seed.
"""

from __future__ import annotations

import json
from pathlib import Path

from autograder.reviews.grammar import write_sentences

SEED = 64
SIZES = {"train": 2_000, "validation": 400, "test": 800}
FOLDER = Path(__file__).parents[2] / "course_utils" / "data" / "reviews"


def make_splits() -> dict[str, list[tuple[str, int]]]:
    """Return {"train", "validation", "test"}: lists of (text, label), each balanced."""
    splits, seen = {}, set()
    for offset, (name, size) in enumerate(SIZES.items()):
        splits[name] = write_sentences(SEED + offset, size, taboo=seen)
        seen.update(text for text, _ in splits[name])
    return splits


def main() -> None:
    """Write the splits as JSON lines."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, pairs in make_splits().items():
        lines = [json.dumps({"text": t, "label": label}, ensure_ascii=False) for t, label in pairs]
        (FOLDER / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"{FOLDER / name}.jsonl: {len(pairs)} sentences")


if __name__ == "__main__":
    main()
