"""Shows an author which cells grading runs again and whose outputs it keeps, section by section."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from autograder.blueprint import Blueprint, is_kept

_HEADING = re.compile(r"^(#{1,6}) +(.+)", re.MULTILINE)


def describe_runs(blueprint: Blueprint) -> Iterator[str]:
    """Yield lines about one notebook: how many code cells of which section are run again, or kept."""
    counts: dict[bool, Counter[str]] = {False: Counter(), True: Counter()}
    heading = "before the first heading"
    for slot in blueprint.slots:
        if slot.source.cell_type == "markdown":
            found = _HEADING.match(slot.release.source)
            heading = found[2].strip() if found else heading
        elif slot.source.cell_type == "code":
            counts[is_kept(slot.source)][heading] += 1
    yield f"{blueprint.assignment}/{blueprint.name}"
    for kept, title in ((False, "run again"), (True, "kept as handed in")):
        sections = [f"{name} ({count})" for name, count in counts[kept].items()]
        yield f"  {title}: {', '.join(sections) or 'nothing'}"
