"""Notebook 3's pipeline for benches and tests: the instructor's own solutions, as a module."""

from __future__ import annotations

from pathlib import Path

from autograder.blueprint import load_blueprint
from autograder.course import load_assignment
from autograder.exercises.attention.finetune_roberta import list_pieces, make_namespace

_ROOT = Path(__file__).resolve().parents[2]
_notebook = load_blueprint(load_assignment("attention", _ROOT), "3_finetune_roberta")
_names = make_namespace(*list_pieces(_notebook.solutions))

SST2Dataset = _names["SST2Dataset"]
make_dataloaders = _names["make_dataloaders"]
train_one_epoch = _names["train_one_epoch"]
evaluate = _names["evaluate"]
main = _names["main"]


def make_datasets(tokenizer, splits: dict[str, list[dict]]) -> dict:
    return {split: SST2Dataset(tokenizer, rows) for split, rows in splits.items()}
