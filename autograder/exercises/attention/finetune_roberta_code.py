"""Notebook 3 as code: an oracle apart from the notebook, known mistakes by name, and other right ways to write it.

Everything here is source text, because it is run the way a student's cell is run.
"""

from __future__ import annotations

GIVEN = """
from dataclasses import dataclass
from pathlib import Path

import torch
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset
from functools import partial
from tqdm.auto import tqdm as _bar
from transformers import AutoModelForSequenceClassification, AutoTokenizer

tqdm = partial(_bar, disable=True)  # nobody watches the judge
DEVICE = torch.device("cpu")


@dataclass(frozen=True)
class SST2Example:
    text: str
    label: int

    @classmethod
    def from_dict(cls, raw):
        return cls(raw["text"], raw["label"])
"""

# ------------------------------------------------------------------- SST2Dataset, collate_fn

_CLASS = """
class SST2Dataset(Dataset):
    tokenizer = None

    def __init__(self, tokenizer, raw_data_list):
        SST2Dataset.tokenizer = tokenizer
        self.sample_list = [SST2Example.from_dict(raw) for raw in raw_data_list]

{length}

{item}

{iterate}

{collate}
"""
_PARTS = {
    "length": "def __len__(self):\n    return len(self.sample_list)",
    "item": "def __getitem__(self, idx):\n    return self.sample_list[idx]",
    "iterate": "def __iter__(self):\n    return iter(self.sample_list)",
    "collate": '''@staticmethod
def collate_fn(batch):
    text_encoding = SST2Dataset.tokenizer(
        [example.text for example in batch],
        padding=True, max_length=512, truncation=True, return_tensors="pt",
    )
    label_encoding = torch.tensor([example.label for example in batch], dtype=torch.long)
    return {"text_encoding": text_encoding, "label_encoding": label_encoding}''',
}  # fmt: skip


def _indent(text: str) -> str:
    return "\n".join(f"    {line}" if line else "" for line in text.strip("\n").splitlines())


def _dataset(**parts: str) -> str:
    """Write the class with some of its methods replaced."""
    return _CLASS.format(**{name: _indent(text) for name, text in (_PARTS | parts).items()})


def _swap(text: str, *changes: tuple[str, str]) -> str:
    """Replace pieces of a text; each must be there."""
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def _collate(*changes: tuple[str, str]) -> str:
    return _dataset(collate=_swap(_PARTS["collate"], *changes))


_LABELS = "torch.tensor([example.label for example in batch], dtype=torch.long)"
_TOKENS = 'padding=True, max_length=512, truncation=True, return_tensors="pt"'

# ------------------------------------------------------------------------ make_dataloaders

_LOADERS = """
def make_dataloaders(datasets, batch_size):
    return {
        split: DataLoader(
            dataset,
            batch_size=batch_size,
            shuffle=split == "train",
            collate_fn=SST2Dataset.collate_fn,
        )
        for split, dataset in datasets.items()
    }
"""

# ---------------------------------------------------------------------- training, evaluation

_ACCURACY = """
def compute_accuracy(predictions, labels):
    return (predictions == labels).float().mean().item()
"""

_TRAIN = """
def train_one_epoch(model, dataloader, optimizer, epoch):
    model.train()
    total_loss, predictions, labels = 0.0, [], []
    for batch in dataloader:
        text = batch["text_encoding"].to(model.device)
        label = batch["label_encoding"].to(model.device)
        outputs = model(**text, labels=label)
        optimizer.zero_grad()
        outputs.loss.backward()
        optimizer.step()
        total_loss += outputs.loss.item() * len(label)
        predictions.append(outputs.logits.argmax(dim=-1))
        labels.append(label)
    predictions, labels = torch.cat(predictions), torch.cat(labels)
    return {"loss": total_loss / len(labels), "accuracy": compute_accuracy(predictions, labels)}
"""

_EVALUATE = """
@torch.no_grad()
def evaluate(model, dataloader):
    model.eval()
    total_loss, predictions, labels = 0.0, [], []
    for batch in dataloader:
        text = batch["text_encoding"].to(model.device)
        label = batch["label_encoding"].to(model.device)
        outputs = model(**text, labels=label)
        total_loss += outputs.loss.item() * len(label)
        predictions.append(outputs.logits.argmax(dim=-1))
        labels.append(label)
    predictions, labels = torch.cat(predictions), torch.cat(labels)
    return {"loss": total_loss / len(labels), "accuracy": compute_accuracy(predictions, labels)}
"""

_MAIN = """
def main(model, dataloaders, optimizer, num_epochs, checkpoint_dir):
    history, best = [], -1.0
    for epoch in range(1, num_epochs + 1):
        train = train_one_epoch(model, dataloaders["train"], optimizer, epoch)
        validation = evaluate(model, dataloaders["validation"])
        history.append({"epoch": epoch, "train": train, "validation": validation})
        if validation["accuracy"] > best:
            best = validation["accuracy"]
            model.save_pretrained(checkpoint_dir)
    return history
"""

ORACLES = {
    "SST2Dataset": _dataset(),
    "collate_fn": _dataset(),
    "make_dataloaders": _LOADERS,
    "train_one_epoch": _TRAIN,
    "compute_accuracy": _ACCURACY,
    "evaluate": _EVALUATE,
    "main": _MAIN,
}


def _loaders(*changes):
    return _swap(_LOADERS, *changes)


def _train(*changes):
    return _swap(_TRAIN, *changes)


def _evaluate(*changes):
    return _swap(_EVALUATE, *changes)


def _main(*changes):
    return _swap(_MAIN, *changes)


def _accuracy(body: str) -> str:
    return f"\ndef compute_accuracy(predictions, labels):\n{_indent(body)}\n"


_STEPS = """        optimizer.zero_grad()
        outputs.loss.backward()
        optimizer.step()
"""
_REPORT_LOSS = '{"loss": total_loss / len(labels), '
_REPORT_ACCURACY = '"accuracy": compute_accuracy(predictions, labels)}'
_WEIGHTED = "total_loss += outputs.loss.item() * len(label)"
_CHOICE = """        if validation["accuracy"] > best:
            best = validation["accuracy"]
            model.save_pretrained(checkpoint_dir)
"""
_BATCH_MEANS = "sum(compute_accuracy(p, l) for p, l in zip(predictions, labels)) / len(labels)}"
_NOT_JOINED = (
    "    predictions, labels = torch.cat(predictions), torch.cat(labels)\n",
    "",
)

MISTAKES: dict[str, dict[str, list[str]]] = {
    "SST2Dataset": {
        "length-off": [_dataset(length="def __len__(self):\n    return len(self.sample_list) - 1")],
        "length-fixed": [_dataset(length="def __len__(self):\n    return 6920")],
        "length-of-one-example": [
            _dataset(length="def __len__(self):\n    return len(self.sample_list[0].text)")
        ],
        "item-is-text": [_dataset(item="def __getitem__(self, idx):\n    return self.sample_list[idx].text")],
        "item-not-an-example": [
            _dataset(item="def __getitem__(self, idx):\n    e = self.sample_list[idx]\n    return e.text, e.label"),
            _dataset(item="def __getitem__(self, idx):\n    return vars(self.sample_list[idx])"),
            _dataset(item="def __getitem__(self, idx):\n    return self.tokenizer(self.sample_list[idx].text)"),
        ],
        "item-always-first": [_dataset(item="def __getitem__(self, idx):\n    return self.sample_list[0]")],
        "wrong-item": [
            _dataset(item="def __getitem__(self, idx):\n    return self.sample_list[idx - 1]"),
            _dataset(item="def __getitem__(self, idx):\n    return self.sample_list[::-1][idx]"),
        ],
        "negative-index": [
            _dataset(item="def __getitem__(self, idx):\n    if idx < 0:\n        raise IndexError(idx)\n    return self.sample_list[idx]")
        ],
        "index-beyond-the-end": [
            _dataset(item="def __getitem__(self, idx):\n    return self.sample_list[idx % len(self.sample_list)]")
        ],
        "none-beyond-the-end": [
            _dataset(item="def __getitem__(self, idx):\n    if idx < len(self.sample_list):\n        return self.sample_list[idx]")
        ],
        "iterates-once": [
            _dataset(iterate="""def __iter__(self):
    if not hasattr(self, "rest"):
        self.rest = iter(self.sample_list)
    return self.rest""")
        ],
        "iter-not-an-iterator": [_dataset(iterate="def __iter__(self):\n    return self.sample_list")],
        "iter-wrong-items": [
            _dataset(iterate="def __iter__(self):\n    return iter(range(len(self.sample_list)))"),
            _dataset(iterate="def __iter__(self):\n    return (e.text for e in self.sample_list)"),
            _dataset(iterate="def __iter__(self):\n    yield from self.sample_list[1:]"),
            _dataset(iterate="def __iter__(self):\n    return iter(sorted(self.sample_list, key=lambda e: e.text))"),
        ],
        "returned-none": [_dataset(item="def __getitem__(self, idx):\n    self.sample_list[idx]")],
    },
    "collate_fn": {
        "not-static": [
            _collate(("@staticmethod\n", ""), ("collate_fn(batch)", "collate_fn(self, batch)")),
            _collate(("@staticmethod\n", "")),
        ],
        "padding-forgotten": [_collate(("padding=True, ", ""))],
        "padded-to-maximum": [_collate(("padding=True", 'padding="max_length"'))],
        "padded-beyond-longest": [_collate(("padding=True", "padding=True, pad_to_multiple_of=8"))],
        "wrong-tokens": [
            _collate(("[example.text for example in batch]", '" ".join(example.text for example in batch)')),
            _collate(("[example.text for", '["Sentence: " + example.text for')),
            _collate(("[example.text for", "[example.text.capitalize() for")),
        ],
        "truncation-forgotten": [
            _collate(("max_length=512, truncation=True, ", "")),
            _collate(("truncation=True", "truncation=False")),
        ],
        "max-length-forgotten": [_collate(("max_length=512, ", ""))],
        "wrong-max-length": [_collate(("max_length=512", "max_length=128")), _collate(("512", "510"))],
        "not-tensors": [_collate((', return_tensors="pt"', ""))],
        "labels-not-long": [
            _collate(("dtype=torch.long", "dtype=torch.float")),
            _collate((_LABELS, "torch.Tensor([example.label for example in batch])")),
            _collate(("dtype=torch.long", "dtype=torch.int32")),
        ],
        "labels-not-a-tensor": [_collate((_LABELS, "[example.label for example in batch]"))],
        "labels-wrong-shape": [
            _collate((_LABELS, _LABELS + ".unsqueeze(-1)")),
            _collate((_LABELS, "F.one_hot(" + _LABELS + ", 2)")),
        ],
        "wrong-labels": [
            _collate(("[example.label for", "[1 - example.label for")),
            _collate((_LABELS, "torch.arange(len(batch))")),
        ],
        "wrong-keys": [
            _collate(('"label_encoding": label_encoding', '"labels": label_encoding')),
            _collate(('{"text_encoding": text_encoding, "label_encoding"', '{**text_encoding, "label_encoding"')),
        ],
        "not-a-dict": [
            _collate(
                ('{"text_encoding": text_encoding, "label_encoding": label_encoding}',
                 "text_encoding, label_encoding")
            )
        ],
        "encoding-is-bare": [
            _collate(('"text_encoding": text_encoding', '"text_encoding": text_encoding["input_ids"]')),
            _collate(('"text_encoding": text_encoding', '"text_encoding": dict(text_encoding)')),
        ],
        "mask-dropped": [
            _collate(("text_encoding = ", "text_encoding = __import__('transformers').BatchEncoding({'input_ids': "),
                     ("    )\n    label", "    )['input_ids']})\n    label"))
        ],
        "wrong-mask": [
            _collate(("    return {", "    text_encoding['attention_mask'] = torch.ones_like(text_encoding['input_ids'])\n    return {"))
        ],
        "token-type-ids": [
            _collate(("    return {", "    text_encoding['token_type_ids'].sum()\n    return {"))
        ],
        "global-tokenizer": [_collate(("SST2Dataset.tokenizer(", "tokenizer("))],
        "padded-in-front": [_collate(("    text_encoding = ", '    SST2Dataset.tokenizer.padding_side = "left"\n    text_encoding = '))],
        "special-tokens-left-out": [_collate(("padding=True", "padding=True, add_special_tokens=False"))],
        "returned-none": [_collate(("return {", "batch = {"))],
    },
    "make_dataloaders": {
        "loaders-shared": [
            _loaders(("(datasets, batch_size):", "(datasets, batch_size, loaders={}):"),
                     ("    return {\n", "    loaders.update({\n"), ("    }\n", "    })\n    return loaders\n"))
        ],
        "examples-repeated": [
            _loaders(('shuffle=split == "train"', 'sampler=torch.utils.data.RandomSampler(dataset, replacement=True) if split == "train" else None'))
        ],
        "train-not-shuffled": [
            _loaders(('            shuffle=split == "train",\n', "")),
            _loaders(('shuffle=split == "train"', "shuffle=False")),
        ],
        "all-shuffled": [_loaders(('shuffle=split == "train"', "shuffle=True"))],
        "not-in-order": [
            _loaders(('shuffle=split == "train"', 'shuffle=True if split == "train" else None, sampler=None if split == "train" else sorted(range(len(dataset)), key=lambda i: len(dataset[i].text))'))
        ],
        "wrong-split-shuffled": [_loaders(('split == "train"', 'split != "train"'))],
        "collate-forgotten": [_loaders(("            collate_fn=SST2Dataset.collate_fn,\n", ""))],
        "batch-size-ignored": [
            _loaders(("batch_size=batch_size", "batch_size=64")),
            _loaders(("            batch_size=batch_size,\n", "")),
        ],
        "last-batch-dropped": [_loaders(("shuffle=", "drop_last=True, shuffle="))],
        "wrong-keys": [_loaders(("        split: DataLoader", "        split.upper(): DataLoader"))],
        "split-missing": [
            _loaders(("in datasets.items()", 'in datasets.items() if split != "test"'))
        ],
        "wrong-dataset": [_loaders(("            dataset,\n", '            datasets["train"],\n'))],
        "not-dataloaders": [
            "def make_dataloaders(datasets, batch_size):\n"
            "    return {split: [SST2Dataset.collate_fn(list(dataset))]"
            " for split, dataset in datasets.items()}\n"
        ],
        "not-a-dict": [
            "def make_dataloaders(datasets, batch_size):\n"
            "    return [DataLoader(datasets[s], batch_size, collate_fn=SST2Dataset.collate_fn)"
            ' for s in ("train", "validation", "test")]\n'
        ],
        "shuffled-only-once": [
            _loaders(
                ("    return {", '    order = torch.randperm(len(datasets["train"])).tolist()\n    return {'),
                ("            dataset,\n", '            torch.utils.data.Subset(dataset, order) if split == "train" else dataset,\n'),
                ('shuffle=split == "train"', "shuffle=False"),
            ),
            _loaders(('shuffle=split == "train"', 'sampler=sorted(range(len(dataset)), key=lambda i: len(dataset[i].text)) if split == "train" else None')),
        ],
        "returned-none": [_loaders(("return {", "loaders = {"))],
    },
    "train_one_epoch": {
        "zero-grad-forgotten": [_train(("        optimizer.zero_grad()\n", ""))],
        "zero-grad-once": [
            _train(("        optimizer.zero_grad()\n", ""), ("    model.train()\n", "    model.train()\n    optimizer.zero_grad()\n"))
        ],
        "gradients-thrown-away": [
            _train((_STEPS, "        outputs.loss.backward()\n        optimizer.zero_grad()\n        optimizer.step()\n"))
        ],
        "step-before-backward": [
            _train((_STEPS, "        optimizer.zero_grad()\n        optimizer.step()\n        outputs.loss.backward()\n")),
            _train((_STEPS, "        optimizer.step()\n        optimizer.zero_grad()\n        outputs.loss.backward()\n")),
        ],
        "wrong-optimizer": [
            _train(("    model.train()\n", "    model.train()\n    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)\n"))
        ],
        "earlier-batches-again": [
            _train(("        outputs.loss.backward()\n", "        running = outputs.loss if not labels else running + outputs.loss\n        running.backward(retain_graph=True)\n")),
            _train(("        outputs.loss.backward()\n", "        running = outputs.loss if not labels else running + outputs.loss\n        running.backward()\n")),
        ],
        "step-forgotten": [_train(("        optimizer.step()\n", ""))],
        "backward-forgotten": [_train(("        outputs.loss.backward()\n", ""))],
        "one-step-an-epoch": [
            _train(("        optimizer.step()\n", ""), ("    predictions, labels = torch.cat", "    optimizer.step()\n    predictions, labels = torch.cat"))
        ],
        "train-mode-forgotten": [
            _train(("    model.train()\n", "")),
            _train(("model.train()", "model.eval()")),
        ],
        "no-grad-in-training": [_train(("\ndef train", "\n@torch.no_grad()\ndef train"))],
        "batches-skipped": [
            _train(("        labels.append(label)\n", "        labels.append(label)\n        break\n")),
            _train(("in dataloader:", "in tqdm(list(dataloader)[:-1]):")),
            _train(("in dataloader:", "in [batch for _, batch in zip(range(10), dataloader)]:")),
            _train(("        text = ", '        if len(batch["label_encoding"]) < dataloader.batch_size:\n            continue\n        text = ')),
            _train(("    return {", "        return {"), ("    predictions, labels = torch.cat", "        predictions, labels = torch.cat")),
        ],
        "batches-repeated": [
            _train(("in dataloader:", "in [*dataloader, *dataloader]:")),
        ],
        "attention-mask-dropped": [_train(("model(**text, ", 'model(input_ids=text["input_ids"], '))],
        "hard-coded-device": [
            _train(("model.device", '"cuda"')),
            _train(('batch["label_encoding"].to(model.device)', 'batch["label_encoding"].cuda()')),
        ],
        "device-ignored": [
            _train((".to(model.device)", "")),
            _train((".to(model.device)", '.to("cpu")')),
            _train(('label = batch["label_encoding"].to(model.device)', 'label = batch["label_encoding"]')),
            _train(("total_loss, predictions, labels = 0.0,", "total_loss, predictions, labels = torch.tensor(0.0),"), ("outputs.loss.item() * ", "outputs.loss.detach() * "), ("total_loss / len(labels)", "(total_loss / len(labels)).item()")),
        ],
        "loss-mean-of-batches": [
            _train((_WEIGHTED, "total_loss += outputs.loss.item()"), (_REPORT_LOSS, '{"loss": total_loss / len(dataloader), '))
        ],
        "loss-not-divided": [
            _train((_REPORT_LOSS, '{"loss": total_loss, ')),
            _train((_WEIGHTED, "total_loss += outputs.loss.item()"), (_REPORT_LOSS, '{"loss": total_loss, ')),
        ],
        "loss-of-last-batch": [_train((_REPORT_LOSS, '{"loss": outputs.loss.item(), '))],
        "loss-divided-by-batches": [_train((_REPORT_LOSS, '{"loss": total_loss / len(dataloader), '))],
        "loss-divided-twice": [_train((_WEIGHTED, "total_loss += outputs.loss.item()"))],
        "accuracy-mean-of-batches": [
            _train(_NOT_JOINED, (_REPORT_ACCURACY, '"accuracy": ' + _BATCH_MEANS), ("total_loss / len(labels)", "total_loss / sum(map(len, labels))"))
        ],
        "accuracy-of-last-batch": [
            _train((_REPORT_ACCURACY, '"accuracy": compute_accuracy(outputs.logits.argmax(dim=-1), label)}'))
        ],
        "accuracy-in-percent": [_train((_REPORT_ACCURACY, '"accuracy": 100 * compute_accuracy(predictions, labels)}'))],
        "argmax-over-examples": [
            _train(("argmax(dim=-1)", "argmax(dim=0)"), (_REPORT_ACCURACY, '"accuracy": (predictions == labels[:len(predictions)]).float().mean().item()}'))
        ],
        "loss-summed": [_train(("outputs.loss.backward()", "(outputs.loss * len(label)).backward()"))],
        "wrong-keys": [_train(('"accuracy": ', '"acc": '))],
        "not-a-dict": [_train((_REPORT_LOSS, "total_loss / len(labels), "), (_REPORT_ACCURACY, "compute_accuracy(predictions, labels)"))],
        "returned-none": [_train(("    return {", "    report = {"))],
    },
    "compute_accuracy": {
        "accuracy-not-divided": [
            _accuracy("return (predictions == labels).sum().item()"),
            _accuracy("return float((predictions == labels).sum())"),
        ],
        "accuracy-in-percent": [_accuracy("return 100 * (predictions == labels).float().mean().item()")],
        "accuracy-of-positives": [
            _accuracy("return ((predictions == 1) & (labels == 1)).float().mean().item()"),
        ],
        "error-rate": [_accuracy("return (predictions != labels).float().mean().item()")],
        "not-a-number": [_accuracy("return f'{(predictions == labels).float().mean().item():.4f}'")],
        "wrong-accuracy": [_accuracy("return round((predictions == labels).float().mean().item(), 2)")],
        "accuracy-whole-or-nothing": [
            _accuracy("return float((predictions == labels).all())"),
            _accuracy("return float(torch.equal(predictions, labels))"),
            _accuracy("return (predictions == labels).sum().item() // len(labels)"),
        ],
        "accuracy-of-first": [_accuracy("return float(predictions[0] == labels[0])")],
        "divided-by-wrong-count": [_accuracy("return (predictions == labels).sum().item() / predictions.sum().clamp(min=1).item()")],
        "fixed-batch-size": [_accuracy("return (predictions == labels).sum().item() / 64")],
        "expects-logits": [_accuracy("return (predictions.argmax(dim=-1) == labels).float().mean().item()"),
                           _accuracy("return (predictions.argmax(dim=1) == labels).float().mean().item()")],
        "input-changed": [_accuracy("predictions -= labels\nreturn (predictions == 0).float().mean().item()")],
        "mean-of-integers": [_accuracy("return (predictions == labels).long().mean().item()")],
        "returned-none": [_accuracy("(predictions == labels).float().mean().item()")],
    },
    "evaluate": {
        "eval-mode-forgotten": [
            _evaluate(("    model.eval()\n", "")),
            _evaluate(("model.eval()", "model.train()")),
            _evaluate(("model.eval()", "model.eval")),
        ],
        "left-frozen": [_evaluate(("    model.eval()\n", "    model.eval()\n    model.requires_grad_(False)\n"))],
        "state-kept": [
            _evaluate(("(model, dataloader):", "(model, dataloader, predictions=[], labels=[]):"), ("total_loss, predictions, labels = 0.0, [], []", "total_loss = 0.0"))
        ],
        "no-grad-forgotten": [
            _evaluate(("@torch.no_grad()\n", "")),
            _evaluate(("@torch.no_grad()\n", ""), ("    model.eval()\n", "    model.eval()\n    torch.no_grad()\n")),
        ],
        "grad-left-off": [_evaluate(("@torch.no_grad()\n", ""), ("    model.eval()\n", "    model.eval()\n    torch.set_grad_enabled(False)\n"))],
        "weights-changed": [
            _evaluate(("    total_loss, p", "    with torch.no_grad():\n        for weight in model.parameters():\n            weight += 0.01\n    total_loss, p")),
        ],
        "evaluation-trains": [
            _evaluate(("@torch.no_grad()\n", ""), (_WEIGHTED, _WEIGHTED + "\n        outputs.loss.backward()")),
        ],
        "batches-skipped": [
            _evaluate(("in dataloader:", "in list(dataloader)[:-1]:")),
            _evaluate(("in dataloader:", "in [batch for _, batch in zip(range(10), dataloader)]:")),
            _evaluate(("    return {", "        return {"), ("    predictions, labels = torch.cat", "        predictions, labels = torch.cat")),
        ],
        "attention-mask-dropped": [_evaluate(("model(**text, ", 'model(text["input_ids"], '))],
        "loss-mean-of-batches": [
            _evaluate((_WEIGHTED, "total_loss += outputs.loss.item()"), (_REPORT_LOSS, '{"loss": total_loss / len(dataloader), '))
        ],
        "loss-not-divided": [_evaluate((_REPORT_LOSS, '{"loss": total_loss, '))],
        "loss-of-last-batch": [_evaluate((_REPORT_LOSS, '{"loss": outputs.loss.item(), '))],
        "loss-divided-by-batches": [_evaluate((_REPORT_LOSS, '{"loss": total_loss / len(dataloader), '))],
        "loss-divided-twice": [_evaluate((_WEIGHTED, "total_loss += outputs.loss.item()"))],
        "accuracy-mean-of-batches": [
            _evaluate(_NOT_JOINED, (_REPORT_ACCURACY, '"accuracy": ' + _BATCH_MEANS), ("total_loss / len(labels)", "total_loss / sum(map(len, labels))"))
        ],
        "accuracy-of-last-batch": [
            _evaluate((_REPORT_ACCURACY, '"accuracy": compute_accuracy(outputs.logits.argmax(dim=-1), label)}'))
        ],
        "accuracy-in-percent": [_evaluate((_REPORT_ACCURACY, '"accuracy": 100 * compute_accuracy(predictions, labels)}'))],
        "hard-coded-device": [_evaluate(("model.device", '"cuda"'))],
        "device-ignored": [
            _evaluate((".to(model.device)", "")),
            _evaluate(("total_loss, predictions, labels = 0.0,", "total_loss, predictions, labels = torch.tensor(0.0),"), ("outputs.loss.item() * ", "outputs.loss * "), ("total_loss / len(labels)", "(total_loss / len(labels)).item()")),
        ],
        "wrong-keys": [_evaluate(('"loss": ', '"val_loss": '))],
        "not-a-dict": [_evaluate((_REPORT_LOSS, "total_loss / len(labels), "), (_REPORT_ACCURACY, "compute_accuracy(predictions, labels)"))],
        "returned-none": [_evaluate(("    return {", "    report = {"))],
    },
    "main": {
        "wrong-optimizer": [
            _main(("    history, best", "    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)\n    history, best")),
            _main(("    history, best", "    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)\n    history, best")),
        ],
        "train-evaluated-again": [_main(('"train": train,', '"train": evaluate(model, dataloaders["train"]),'))],
        "steps-changed": [
            _main(("        validation = ", "        optimizer.step()\n        validation = ")),
        ],
        "small-gain-ignored": [_main(("> best:", "> best + 0.01:"))],
        "epochs-too-many": [_main(("num_epochs + 1", "num_epochs + 2"))],
        "saves-last": [
            _main((_CHOICE, ""), ("    return history", "    model.save_pretrained(checkpoint_dir)\n    return history")),
            _main((_CHOICE, "        model.save_pretrained(checkpoint_dir)\n")),
            _main(("            best = validation", "            latest = validation")),
        ],
        "latest-on-tie": [
            _main(('validation["accuracy"] > best', 'validation["accuracy"] >= best')),
            _main(("-1.0", "(-1.0, 0.0)"), ('validation["accuracy"] > best', '(validation["accuracy"], -validation["loss"]) > best'), ('best = validation["accuracy"]', 'best = validation["accuracy"], -validation["loss"]')),
        ],
        "best-by-validation-loss": [
            _main(("best = [], -1.0", "best = [], float('inf')"), ('validation["accuracy"] > best', 'validation["loss"] < best'), ('best = validation["accuracy"]', 'best = validation["loss"]'))
        ],
        "best-by-training": [
            _main(('validation["accuracy"] > best', 'train["accuracy"] > best'), ('best = validation["accuracy"]', 'best = train["accuracy"]')),
        ],
        "keeps-worst": [_main(("-1.0", "2.0"), ('validation["accuracy"] > best', 'validation["accuracy"] < best'))],
        "saves-first": [_main(('validation["accuracy"] > best', "epoch == 1"))],
        "test-used": [
            _main(('dataloaders["validation"]', 'dataloaders["test"]')),
            _main(('        history.append', '        test = evaluate(model, dataloaders["test"])\n        history.append')),
            _main(('    return history', '    print(evaluate(model, dataloaders["test"]))\n    return history')),
        ],
        "nothing-saved": [
            _main(("            model.save_pretrained(checkpoint_dir)\n", "")),
            _main(("best = [], -1.0", "best = [], 0.5")),
            _main(("best = [], -1.0", "best = [], 0.01")),
        ],
        "not-save-pretrained": [
            _main(("model.save_pretrained(checkpoint_dir)", 'Path(checkpoint_dir).mkdir(exist_ok=True); torch.save(model.state_dict(), Path(checkpoint_dir) / "best.pt")')),
        ],
        "saved-elsewhere": [
            _main(("save_pretrained(checkpoint_dir)", 'save_pretrained("best_model")')),
            _main(("save_pretrained(checkpoint_dir)", 'save_pretrained(f"{checkpoint_dir}/epoch_{epoch}")')),
        ],
        "epochs-from-zero": [_main(("range(1, num_epochs + 1)", "range(num_epochs)"))],
        "epoch-missing": [_main(("range(1, num_epochs + 1)", "range(1, num_epochs)"), ("    return history", "    return history or [{'epoch': 1, 'train': {'loss': 0.0, 'accuracy': 0.0}, 'validation': {'loss': 0.0, 'accuracy': 0.0}}]"))],
        "epochs-fixed": [_main(("num_epochs + 1", "11"))],
        "validated-on-training-data": [_main(('dataloaders["validation"]', 'dataloaders["train"]'))],
        "trained-on-validation-data": [
            _main(('dataloaders["train"]', 'dataloaders["validation"]')),
            _main(("        history.append", '        train_one_epoch(model, dataloaders["validation"], optimizer, epoch)\n        history.append')),
        ],
        "validated-before-training": [
            _main(
                ('        train = train_one_epoch(model, dataloaders["train"], optimizer, epoch)\n', ""),
                ("        history.append", '        train = train_one_epoch(model, dataloaders["train"], optimizer, epoch)\n        history.append'),
            )
        ],
        "history-only-best": [
            _main(("        history.append(", "        record = ("), ("            model.save", "            history.append(record)\n            model.save"))
        ],
        "history-format": [
            _main(('"train": train, "validation": validation', '**train, "validation": validation')),
            _main(('{"epoch": epoch, "train": train, "validation": validation}', "(epoch, train, validation)")),
            _main(('"validation": validation}', '"validation": validation["accuracy"]}')),
        ],
        "history-shared": [
            _main(("history, best = [], -1.0", "history, best, record = [], -1.0, {}"), ("history.append({", "record.update({"), ("validation})", "validation})\n        history.append(record)")),
        ],
        "splits-swapped": [_main(('"train": train, "validation": validation', '"train": validation, "validation": train'))],
        "returned-none": [_main(("    return history", "    pass"))],
        "not-a-list": [_main(("return history", "return {'history': history}")), _main(("return history", "return history, best"))],
    },
}  # fmt: skip

VARIANTS: dict[str, list[str]] = {
    "SST2Dataset": [
        _dataset(iterate="def __iter__(self):\n    yield from self.sample_list"),
        _dataset(
            length="def __len__(self) -> int:\n    return sum(1 for _ in self.sample_list)",
            item="def __getitem__(self, index):\n    return self.sample_list.__getitem__(index)",
            iterate="def __iter__(self):\n    for i in range(len(self)):\n        yield self[i]",
        ),
        _dataset(iterate="def __iter__(self):\n    return (example for example in self.sample_list)"),
        _dataset(item="def __getitem__(self, idx):\n    e = self.sample_list[idx]\n    return SST2Example(e.text, e.label)"),
        _dataset(item="""def __getitem__(self, idx):
    if torch.is_tensor(idx):
        idx = idx.tolist()
    return self.sample_list[idx]"""),
    ],
    "collate_fn": [
        _collate((_TOKENS, 'padding="longest", max_length=512, truncation="longest_first", return_tensors="pt"')),
        _collate((_LABELS, "torch.LongTensor([example.label for example in batch])")),
        _collate((_LABELS, "torch.tensor([int(example.label) for example in batch])")),
        _dataset(collate='''@staticmethod
def collate_fn(examples):
    texts, labels = [], []
    for example in examples:
        texts.append(example.text)
        labels.append(example.label)
    encoded = SST2Dataset.tokenizer(
        texts, return_tensors="pt", truncation=True, padding=True, max_length=512
    )
    return dict(text_encoding=encoded, label_encoding=torch.as_tensor(labels).long())'''),
        _dataset(collate='''@classmethod
def collate_fn(cls, batch):
    encoded = cls.tokenizer(list(map(lambda e: e.text, batch)), None, padding=True,
                            max_length=512, truncation=True, return_tensors="pt")
    return {"label_encoding": torch.stack([torch.tensor(e.label) for e in batch]),
            "text_encoding": encoded, "texts": [e.text for e in batch]}'''),
    ],
    "make_dataloaders": [
        _loaders(("    return {\n", "    loaders = {\n"), ("    }\n", '    }\n    loaders["extra"] = None\n    return loaders\n')),
        '''
def make_dataloaders(datasets, batch_size):
    train = DataLoader(datasets["train"], batch_size, True, collate_fn=SST2Dataset.collate_fn)
    validation = DataLoader(datasets["validation"], batch_size, collate_fn=SST2Dataset.collate_fn)
    test = DataLoader(datasets["test"], batch_size, collate_fn=SST2Dataset.collate_fn)
    return {"train": train, "validation": validation, "test": test}
''',
        '''
def make_dataloaders(datasets, batch_size=64):
    loaders = {}
    for split in datasets:
        loaders[split] = torch.utils.data.DataLoader(
            datasets[split], batch_size=batch_size, shuffle=(split == "train"),
            collate_fn=datasets[split].collate_fn, num_workers=0, pin_memory=False,
            generator=torch.Generator().manual_seed(64),
        )
    return loaders
''',
        '''
def make_dataloaders(datasets, batch_size):
    from torch.utils.data import RandomSampler, SequentialSampler
    return {
        name: DataLoader(
            data, sampler=RandomSampler(data) if name == "train" else SequentialSampler(data),
            batch_size=batch_size, collate_fn=lambda batch: SST2Dataset.collate_fn(batch),
        )
        for name, data in datasets.items()
    }
''',
    ],
    "train_one_epoch": [
        '''
def train_one_epoch(model, dataloader, optimizer, epoch):
    device = next(model.parameters()).device
    model.train(True)
    correct = count = 0
    running = 0.0
    for batch in dataloader:
        inputs = {key: value.to(device) for key, value in batch["text_encoding"].items()}
        targets = batch["label_encoding"].to(device)
        optimizer.zero_grad(set_to_none=True)
        logits = model(**inputs).logits
        loss = F.cross_entropy(logits, targets)
        loss.backward()
        optimizer.step()
        running += loss.detach() * targets.size(0)
        correct += (logits.argmax(1) == targets).sum()
        count += targets.size(0)
    return {"loss": (running / count).item(), "accuracy": (correct / count).item()}
''',
        '''
def train_one_epoch(model, dataloader, optimizer, epoch):
    model.train()
    criterion = torch.nn.CrossEntropyLoss(reduction="none")
    losses, hits = [], []
    bar = tqdm(dataloader, desc=f"Training {epoch}", leave=False)
    for batch in bar:
        batch["text_encoding"] = batch["text_encoding"].to(DEVICE)
        batch["label_encoding"] = batch["label_encoding"].to(DEVICE)
        output = model(
            input_ids=batch["text_encoding"]["input_ids"],
            attention_mask=batch["text_encoding"]["attention_mask"],
        )
        loss = criterion(output.logits, batch["label_encoding"])
        model.zero_grad()
        loss.mean().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses += loss.tolist()
        hits += (output.logits.argmax(-1) == batch["label_encoding"]).tolist()
        bar.set_postfix(loss=sum(losses) / len(losses))
    return {"loss": sum(losses) / len(losses), "accuracy": sum(hits) / len(hits), "split": "train"}
''',
        '''
def train_one_epoch(model, dataloader, optimizer, epoch):
    """zero_grad after the step, indices and counters by hand."""
    model.train()
    total = 0.0
    all_predictions = torch.empty(0, dtype=torch.long)
    all_labels = torch.empty(0, dtype=torch.long)
    for index, batch in enumerate(dataloader):
        labels = batch["label_encoding"].to(model.device)
        loss, logits = model(**batch["text_encoding"].to(model.device), labels=labels)[:2]
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        total += float(loss) * labels.shape[0]
        predictions = torch.max(logits, dim=1).indices.cpu()
        all_predictions = torch.cat([all_predictions, predictions])
        all_labels = torch.cat([all_labels, labels.cpu()])
        if index % 100 == 0:
            print(epoch, index, loss.item())
    accuracy = compute_accuracy(all_predictions, all_labels)
    return {"accuracy": accuracy, "loss": total / len(dataloader.dataset)}
''',
        '''
def train_one_epoch(model, dataloader, optimizer, epoch):
    model.train()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model.to(device)
    predictions, references, losses = [], [], []
    for batch in dataloader:
        for parameter in model.parameters():
            parameter.grad = None
        labels = batch["label_encoding"].to(device)
        outputs = model(**batch["text_encoding"].to(device), labels=labels)
        outputs["loss"].backward()
        optimizer.step()
        losses.extend([outputs["loss"].item()] * len(labels))
        predictions.extend(outputs["logits"].detach().softmax(-1)[:, 1].gt(0.5).long().tolist())
        references.extend(labels.tolist())
    accuracy = compute_accuracy(torch.tensor(predictions), torch.tensor(references))
    return {"loss": sum(losses) / len(losses), "accuracy": accuracy}
''',
        "dev = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n" + _train((".to(model.device)", ".to(dev)")),
        "class CFG:\n    device = 'cuda' if torch.cuda.is_available() else 'cpu'\n" + _train((".to(model.device)", ".to(CFG.device)")),
        _train(("    model.train()\n", "    model.train()\n    found = hasattr(torch, 'accelerator') and torch.accelerator.is_available() or torch.cuda.is_available()\n    device = 'cuda' if found else 'cpu'\n"), (".to(model.device)", ".to(device)")),
        _train(("outputs.loss.item() * ", "outputs.loss.detach() * ")),  # a 0-d tensor is the number
        _train(("total_loss / len(labels)", "__import__('numpy').float32(total_loss / len(labels))")),
        _train((_WEIGHTED, "total_loss -= outputs.logits.detach().log_softmax(-1)[torch.arange(len(label)), label].sum().item()")),
        _train(("total_loss, predictions, labels = 0.0,", "total_loss, predictions, labels = torch.tensor(0.0),"), (_WEIGHTED, "total_loss = total_loss + outputs.loss.detach() * len(label)"), ("total_loss / len(labels)", "(total_loss / len(labels)).item()")),
    ],
    "compute_accuracy": [
        _accuracy("return (predictions == labels).sum().item() / len(labels)"),
        _accuracy("return (predictions == labels).float().mean()"),
        _accuracy("return (predictions == labels).float().numpy().mean()"),
        _accuracy("return (predictions == labels).float().mean().numpy()"),
        _accuracy("return torch.mean((predictions == labels).double()).item()"),
        _accuracy("return sum(p == l for p, l in zip(predictions.tolist(), labels.tolist())) / len(labels)"),
        _accuracy("return float(predictions.eq(labels).sum()) / labels.numel()"),
        _accuracy("return 1 - (predictions != labels).float().mean().item()"),
        _accuracy("return (predictions.cpu().numpy() == labels.cpu().numpy()).mean()"),
        _accuracy("from sklearn.metrics import accuracy_score\nreturn accuracy_score(labels, predictions)"),
        _accuracy("return round((predictions == labels).float().mean().item(), 4)"),
    ],
    "evaluate": [
        '''
def evaluate(model, dataloader):
    model.eval()
    device = next(model.parameters()).device
    correct, seen, loss_sum = 0, 0, 0.0
    with torch.no_grad():
        for batch in tqdm(dataloader, leave=False):
            labels = batch["label_encoding"].to(device)
            logits = model(**batch["text_encoding"].to(device)).logits
            loss_sum += F.cross_entropy(logits, labels, reduction="sum").item()
            correct += (logits.argmax(dim=-1) == labels).sum().item()
            seen += len(labels)
    return {"loss": loss_sum / seen, "accuracy": correct / seen}
''',
        '''
@torch.inference_mode()
def evaluate(model, dataloader):
    was_training = model.training
    model.eval()
    logits, labels = [], []
    for batch in dataloader:
        inputs = {name: tensor.to(DEVICE) for name, tensor in batch["text_encoding"].items()}
        logits.append(model(**inputs).logits.cpu())
        labels.append(batch["label_encoding"].cpu())
    logits, labels = torch.cat(logits), torch.cat(labels)
    model.train(was_training)
    return {
        "loss": F.cross_entropy(logits, labels).item(),
        "accuracy": compute_accuracy(logits.argmax(dim=-1), labels),
    }
''',
        '''
def evaluate(model, dataloader):
    model.train(False)
    previous = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    try:
        losses, hits, sizes = [], [], []
        for batch in dataloader:
            labels = batch["label_encoding"].to(model.device)
            output = model(**batch["text_encoding"].to(model.device), labels=labels)
            losses.append(output.loss.item())
            hits.append(compute_accuracy(output.logits.argmax(-1), labels))
            sizes.append(len(labels))
    finally:
        torch.set_grad_enabled(previous)
    total = sum(sizes)
    return {
        "loss": sum(l * n for l, n in zip(losses, sizes)) / total,
        "accuracy": sum(h * n for h, n in zip(hits, sizes)) / total,
    }
''',
        _evaluate(("outputs.loss.item() * ", "outputs.loss * ")),
        "settings = {'device': 'cuda' if torch.cuda.is_available() else 'cpu'}\n" + _evaluate((".to(model.device)", '.to(settings["device"])')),
        _evaluate(("compute_accuracy(predictions, labels)", "compute_accuracy(predictions.type_as(labels), labels)"), ("outputs.logits.argmax", "model(**text).logits.argmax")),
        "import copy\n" + _evaluate(("    model.eval()\n", "    model = copy.deepcopy(model).eval()\n")),
        '''
class Evaluator:
    def __init__(self, device):
        self.device = device

    @torch.no_grad()
    def run(self, model, dataloader):
        model.eval()
        logits = torch.cat([model(**self.move(batch)).logits for batch in dataloader])
        labels = torch.cat([batch["label_encoding"].to(self.device) for batch in dataloader])
        accuracy = compute_accuracy(logits.argmax(dim=-1), labels)
        return {"loss": F.cross_entropy(logits, labels).item(), "accuracy": accuracy}

    def move(self, batch):
        return batch["text_encoding"].to(self.device)


evaluate = Evaluator(torch.device("cuda" if torch.cuda.is_available() else "cpu")).run
''',
    ],
    "main": [
        _main(("    history, best", "    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)\n    history, best"), ("        history.append", "        schedule.step()\n        history.append")),
        _main(("model.save_pretrained(checkpoint_dir)", "model.save_pretrained(checkpoint_dir); SST2Dataset.tokenizer.save_pretrained(checkpoint_dir)")),
        '''
def main(model, dataloaders, optimizer, num_epochs, checkpoint_dir):
    history = []
    best_accuracy = 0
    for epoch in range(num_epochs):
        record = {"epoch": epoch + 1}
        record["train"] = train_one_epoch(model, dataloaders["train"], optimizer, epoch + 1)
        record["validation"] = evaluate(model, dataloaders["validation"])
        print(record)
        if best_accuracy < record["validation"]["accuracy"]:
            best_accuracy = record["validation"]["accuracy"]
            model.save_pretrained(str(checkpoint_dir))
        history += [record]
    return history
''',
        '''
def main(model, dataloaders, optimizer, num_epochs=10, checkpoint_dir="checkpoint"):
    import copy
    history, best_state = [], None
    for epoch in tqdm(range(1, num_epochs + 1)):
        train = train_one_epoch(model, dataloaders["train"], optimizer, epoch)
        validation = evaluate(model, dataloaders["validation"])
        accuracies = [record["validation"]["accuracy"] for record in history]
        if not accuracies or validation["accuracy"] > max(accuracies):
            best_state = copy.deepcopy(model.state_dict())
        history.append(dict(epoch=epoch, train=train, validation=validation))
    model.load_state_dict(best_state)
    model.save_pretrained(checkpoint_dir)
    return history
''',
        '''
def main(model, dataloaders, optimizer, num_epochs, checkpoint_dir):
    """Everything in one function, and the best epoch found in the history."""
    checkpoint_dir = Path(checkpoint_dir)
    checkpoint_dir.mkdir(parents=True, exist_ok=True)
    history = []
    for epoch in range(1, num_epochs + 1):
        reports = {}
        for split in ("train", "validation"):
            training = split == "train"
            model.train(training)
            loss_sum, hits, count = 0.0, 0, 0
            with torch.set_grad_enabled(training):
                for batch in dataloaders[split]:
                    labels = batch["label_encoding"].to(model.device)
                    output = model(**batch["text_encoding"].to(model.device), labels=labels)
                    if training:
                        optimizer.zero_grad()
                        output.loss.backward()
                        optimizer.step()
                    loss_sum += output.loss.item() * len(labels)
                    hits += (output.logits.argmax(-1) == labels).sum().item()
                    count += len(labels)
            reports[split] = {"loss": loss_sum / count, "accuracy": hits / count}
        history.append({"epoch": epoch, **reports})
        best = max(history, key=lambda record: record["validation"]["accuracy"])
        if best["epoch"] == epoch:
            model.save_pretrained(checkpoint_dir)
    return history
''',
        _main(("    return history", "    model = AutoModelForSequenceClassification.from_pretrained(checkpoint_dir)\n    print(evaluate(model, dataloaders['validation']))\n    return history")),
        _main(("    return history", "    best_model = model.__class__.from_pretrained(checkpoint_dir)\n    evaluate(best_model, dataloaders['validation'])\n    return history")),
    ],
}  # fmt: skip

# What wrong work earns at most, as a share of the points, by its parts; what is not listed earns nothing.
_OF_REPORT = (
    "loss-mean-of-batches", "loss-not-divided", "loss-of-last-batch", "loss-divided-by-batches",
    "loss-divided-twice", "accuracy-mean-of-batches", "accuracy-of-last-batch", "accuracy-in-percent",
    "argmax-over-examples", "wrong-keys",
)  # fmt: skip
_OF_DATALOADERS = (
    "collate-forgotten", "loaders-shared", "examples-repeated", "train-not-shuffled", "batch-size-ignored",
    "last-batch-dropped", "split-missing", "wrong-dataset", "shuffled-only-once", "all-shuffled",
    "not-in-order", "wrong-split-shuffled",
)  # fmt: skip
_OF_MODEL = (
    "zero-grad-forgotten", "zero-grad-once", "gradients-thrown-away", "step-before-backward",
    "wrong-optimizer", "step-forgotten", "backward-forgotten", "one-step-an-epoch", "train-mode-forgotten",
    "attention-mask-dropped", "hard-coded-device", "device-ignored", "loss-summed", "not-a-dict",
    "returned-none",
)  # fmt: skip
_OF_MODE = (
    "eval-mode-forgotten", "left-frozen", "no-grad-forgotten", "grad-left-off", "weights-changed",
    "evaluation-trains", "attention-mask-dropped", "hard-coded-device", "device-ignored",
)  # fmt: skip
_OF_MAIN = (
    "saves-last", "saves-first", "latest-on-tie", "best-by-validation-loss", "best-by-training",
    "keeps-worst", "nothing-saved", "not-save-pretrained", "saved-elsewhere", "small-gain-ignored",
    "wrong-optimizer", "train-evaluated-again", "steps-changed", "epochs-too-many", "test-used",
    "epochs-from-zero", "epochs-fixed", "trained-on-validation-data", "history-only-best",
    "history-format", "history-shared", "splits-swapped", "returned-none", "not-a-list",
)  # fmt: skip
SHARES: dict[str, dict[str, float]] = {
    "make_dataloaders": dict.fromkeys(_OF_DATALOADERS, 1 / 2),
    "train_one_epoch": dict.fromkeys(_OF_REPORT, 3 / 4) | dict.fromkeys(_OF_MODEL, 2 / 4),
    "evaluate": dict.fromkeys((*_OF_REPORT, *_OF_MODE), 2 / 3)
    | dict.fromkeys(("batches-skipped", "not-a-dict", "returned-none", "state-kept"), 1 / 3),
    "main": dict.fromkeys(_OF_MAIN, 2 / 4),
}
