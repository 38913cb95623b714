"""Notebook 3's pipeline as a learner would write it, for benches and tests (instructors only)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.utils.data import DataLoader, Dataset


@dataclass
class SST2Example:
    text: str
    label: int

    @staticmethod
    def from_dict(data: dict) -> SST2Example:
        return SST2Example(data["text"], data["label"])


class SST2Dataset(Dataset):
    tokenizer = None

    def __init__(self, tokenizer, raw_data_list: list[dict]):
        SST2Dataset.tokenizer = tokenizer
        self.sample_list = [SST2Example.from_dict(data) for data in raw_data_list]

    def __len__(self) -> int:
        return len(self.sample_list)

    def __getitem__(self, index: int) -> SST2Example:
        return self.sample_list[index]

    def __iter__(self):
        return iter(self.sample_list)

    @staticmethod
    def collate_fn(batch: list[SST2Example]) -> dict:
        encoding = SST2Dataset.tokenizer(
            [example.text for example in batch],
            padding=True,
            max_length=512,
            truncation=True,
            return_tensors="pt",
        )
        labels = torch.tensor([example.label for example in batch])
        return {"text_encoding": encoding, "label_encoding": labels}


def make_datasets(tokenizer, splits: dict[str, list[dict]]) -> dict[str, SST2Dataset]:
    return {split: SST2Dataset(tokenizer, rows) for split, rows in splits.items()}


def make_dataloaders(datasets: dict, batch_size: int) -> dict[str, DataLoader]:
    return {
        split: DataLoader(
            dataset, batch_size, shuffle=split == "train", collate_fn=SST2Dataset.collate_fn
        )
        for split, dataset in datasets.items()
    }


def train_one_epoch(model, dataloader, optimizer, epoch: int) -> dict[str, float]:
    model.train()
    total, right, count = 0.0, 0, 0
    for batch in dataloader:
        labels = batch["label_encoding"].to(model.device)
        output = model(**batch["text_encoding"].to(model.device), labels=labels)
        optimizer.zero_grad()
        output.loss.backward()
        optimizer.step()
        total += output.loss.item() * len(labels)
        right += int((output.logits.argmax(-1) == labels).sum())
        count += len(labels)
    return {"loss": total / count, "accuracy": right / count}


@torch.no_grad()
def evaluate(model, dataloader) -> dict[str, float]:
    model.eval()
    total, right, count = 0.0, 0, 0
    for batch in dataloader:
        labels = batch["label_encoding"].to(model.device)
        output = model(**batch["text_encoding"].to(model.device), labels=labels)
        total += output.loss.item() * len(labels)
        right += int((output.logits.argmax(-1) == labels).sum())
        count += len(labels)
    return {"loss": total / count, "accuracy": right / count}


def main(model, dataloaders, optimizer, num_epochs: int, checkpoint_dir) -> list[dict]:
    history, best = [], -1.0
    for epoch in range(1, num_epochs + 1):
        train = train_one_epoch(model, dataloaders["train"], optimizer, epoch)
        validation = evaluate(model, dataloaders["validation"])
        history.append({"epoch": epoch, "train": train, "validation": validation})
        if validation["accuracy"] > best:
            best = validation["accuracy"]
            model.save_pretrained(checkpoint_dir)
    return history
