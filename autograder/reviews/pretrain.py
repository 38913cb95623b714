"""Makes the course's small RoBERTa: a byte-level BPE and masked language modelling on our reviews.

`python -m autograder.reviews.pretrain` rewrites course_utils/data/small_roberta from its seed.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from tokenizers import ByteLevelBPETokenizer
from torch import Tensor, nn
from transformers import RobertaConfig, RobertaForMaskedLM, RobertaTokenizer

from autograder.reviews.grammar import write_hurried_reviews, write_reviews
from autograder.reviews.label import list_taboo
from course_utils.runtime import set_seed

SEED = 517
HURRIED = 100_000  # reviews of hardly more than adjectives, read once and first
REVIEWS = 60_000  # whole reviews, read EPOCHS times
EPOCHS = 3
VOCABULARY = 2_500  # enough for every word of ours to be one token, and so to be guessed whole
BATCH = 64
LEARNING_RATE = 1e-3  # twice as much never gets to what words mean
MASKED_SHARE = 0.2  # a little more than RoBERTa's 0.15: our sentences are short
FOLDER = Path(__file__).parents[2] / "course_utils" / "data" / "small_roberta"


def train_tokenizer(texts: list[str]) -> RobertaTokenizer:
    """Train RoBERTa's kind of tokenizer, byte-level BPE, on our own text."""
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trainer = ByteLevelBPETokenizer()
    trainer.train_from_iterator(
        texts, vocab_size=VOCABULARY, min_frequency=2, special_tokens=specials, show_progress=False
    )
    with tempfile.TemporaryDirectory() as folder:
        trainer.save_model(folder)
        return RobertaTokenizer.from_pretrained(folder, model_max_length=512)


def make_config(tokenizer: RobertaTokenizer, dropout: float = 0.1) -> RobertaConfig:
    """Describe a RoBERTa of three narrow layers that still reads 512 tokens."""
    return RobertaConfig(
        vocab_size=len(tokenizer),
        hidden_size=96,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=384,
        max_position_embeddings=514,  # RoBERTa's positions start at 2
        type_vocab_size=1,
        layer_norm_eps=1e-5,
        initializer_range=0.1,  # about 1/sqrt(hidden_size): with 0.02 the layers start out mute
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )


def mask_tokens(ids: Tensor, tokenizer: RobertaTokenizer) -> tuple[Tensor, Tensor]:
    """Hide some tokens as RoBERTa does: 80 % become <mask>, 10 % another token, 10 % stay.

    ids (B, T) -> masked ids (B, T), and where to predict (B, T) bool.
    """
    chosen = (torch.rand(ids.shape) < MASKED_SHARE) & (ids >= len(tokenizer.all_special_ids))
    fate = torch.rand(ids.shape)
    masked = ids.masked_fill(chosen & (fate < 0.8), tokenizer.mask_token_id)
    other = torch.randint(len(tokenizer.all_special_ids), len(tokenizer), ids.shape)
    return torch.where(chosen & (fate > 0.9), other, masked), chosen


def make_batches(rows: list[list[int]], pad: int) -> Iterator[Tensor]:
    """Yield batches (B, T) of like length in random order; without padding there is less to do."""
    order = sorted(torch.randperm(len(rows)).tolist(), key=lambda index: len(rows[index]))
    starts = torch.randperm((len(rows) + BATCH - 1) // BATCH) * BATCH
    for start in starts.tolist():
        batch = [torch.tensor(rows[index]) for index in order[start : start + BATCH]]
        yield nn.utils.rnn.pad_sequence(batch, batch_first=True, padding_value=pad)


def pretrain() -> tuple[RobertaTokenizer, RobertaForMaskedLM]:
    """Return tokenizer and model after masked language modelling on our reviews.

    Words come before sentences: what leans which way is found out soonest where hardly anything
    else is said, and how sentences turn it round can only be found out after that.
    """
    hurried = write_hurried_reviews(SEED, HURRIED)
    reviews = write_reviews(SEED, REVIEWS, taboo=list_taboo())  # what is tested on must be new
    tokenizer = train_tokenizer(reviews)
    set_seed(SEED)
    # No text is seen often enough to be learned by heart, so pretraining needs no dropout.
    model = RobertaForMaskedLM(make_config(tokenizer, dropout=0.0))
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.01, fused=True)
    steps = math.ceil(HURRIED / BATCH) + EPOCHS * math.ceil(REVIEWS / BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, LEARNING_RATE, total_steps=steps, pct_start=0.05
    )
    start = time.perf_counter()
    for number, texts in enumerate([hurried] + [reviews] * EPOCHS):
        rows = tokenizer(texts)["input_ids"]
        loss = train_one_pass(model, tokenizer, rows, optimizer, schedule)
        minutes = (time.perf_counter() - start) / 60
        print(f"pass {number} over {len(rows):,}: loss {loss:.3f} ({minutes:.1f} min)", flush=True)
    model.config.update(make_config(tokenizer).to_dict())  # finetuning does want dropout
    return tokenizer, model


def train_one_pass(model, tokenizer, rows, optimizer, schedule) -> float:
    """Guess hidden tokens in every row once; return the mean loss of a hidden token."""
    total, count = 0.0, 0
    for ids in make_batches(rows, tokenizer.pad_token_id):
        masked, chosen = mask_tokens(ids, tokenizer)
        states = model.roberta(masked, attention_mask=ids != tokenizer.pad_token_id)[0]
        logits = model.lm_head(states[chosen])  # (hidden tokens, vocabulary)
        loss = nn.functional.cross_entropy(logits, ids[chosen])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        total, count = total + loss.item() * len(logits), count + len(logits)
    return total / count


def main() -> None:
    """Pretrain from the seed and write the checkpoint folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    folder = parser.parse_args().folder
    tokenizer, model = pretrain()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(f"{folder}: {model.num_parameters():,} parameters, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
