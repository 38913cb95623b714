"""Old names of modules, for notebooks that were handed out before version 0.2.

A student's notebook from an earlier release still says `from course_utils.gpt import GPT`. It gets
the module under its new name; nothing else in the course uses the old ones.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import sys

NEW_NAMES = {
    "attention_plots": "plots.attention",
    "corpus": "language_model.corpus",
    "evaluation": "language_model.evaluation",
    "finetuning": "sentiment.finetuning",
    "gpt": "language_model.gpt",
    "parity": "language_model.compare_with_torch",
    "place": "colab",
    "predictions": "sentiment.predictions",
    "preflight": "language_model.preflight",
    "resuming": "sentiment.resuming",
    "sentiment_plots": "plots.sentiment",
    "standing": "handing_in.standing",
    "training": "language_model.training",
    "training_plots": "plots.training",
}


class _OldNames(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds a module of ours under the name that it had."""

    def find_spec(self, name: str, path=None, target=None):
        package, _, leaf = name.rpartition(".")
        if package == "course_utils" and leaf in NEW_NAMES:
            return importlib.util.spec_from_loader(name, self)
        return None

    def exec_module(self, module) -> None:
        new = NEW_NAMES[module.__name__.rpartition(".")[2]]
        sys.modules[module.__name__] = importlib.import_module(f"course_utils.{new}")


def install() -> None:
    """Let Python look here last, after every module that there is."""
    if not any(isinstance(finder, _OldNames) for finder in sys.meta_path):
        sys.meta_path.append(_OldNames())
