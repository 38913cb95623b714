"""Notebook 3's model and data, and what helps around your own finetuning functions."""

from course_utils.sentiment.sources import (
    OWN_MODEL,
    find_model,
    load_raw_splits,
    suggest_settings,
)

__all__ = ["OWN_MODEL", "find_model", "load_raw_splits", "suggest_settings"]
