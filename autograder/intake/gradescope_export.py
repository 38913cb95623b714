"""What Gradescope's own run gave, as its export tells it: to compare with the gradebook."""

from __future__ import annotations

import math
from datetime import UTC, datetime


def read_gradescope_results(submission: str, facts) -> dict | None:
    """Return the points of one submission, or None where nothing was graded there.

    What counts are the tests with points: a person may have changed the total on Gradescope.
    """
    results = facts.get(":results") if isinstance(facts, dict) else None
    tests = results.get("tests") if isinstance(results, dict) else None
    scores = [
        float(test["score"])
        for test in (tests if isinstance(tests, list) else [])
        if isinstance(test, dict) and _is_number(test.get("score")) and test.get("max_score")
    ]
    if not scores:
        return None
    moment = read_gradescope_time(facts.get(":created_at"))
    when = f"{moment:%Y-%m-%d %H:%M:%S} UTC" if moment else ""
    return {"submission": submission, "score": sum(scores), "time": when}


def read_gradescope_time(value) -> datetime | None:
    """Read a moment as the export writes it: YAML's own, or a text."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.replace(" UTC", "+00:00"))
        except ValueError:
            return None
    if not isinstance(value, datetime):
        return None
    return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC)


def _is_number(value) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
