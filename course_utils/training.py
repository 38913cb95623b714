"""One plain training loop, what it remembers, and what to try before it runs."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import torch
from torch import nn
from tqdm.auto import tqdm

from course_utils import runtime
from course_utils.corpus import Corpus, make_batches, pad_batch
from course_utils.evaluation import measure_documents
from course_utils.gpt import GPT
from course_utils.history import History
from course_utils.training_plots import LiveCurve


@dataclass(frozen=True)
class Settings:
    """How to train; the course's values unless told otherwise."""

    learning_rate: float = 5e-4
    batch_size: int = 32
    epochs: int = 1
    n_train: int | None = None  # sentences to train on; None for all
    weight_decay: float = 0.1
    betas: tuple[float, float] = (0.9, 0.95)
    clip: float = 1.0
    n_validations: int = 10  # over the whole training
    n_validate: int = 500  # development sentences used for each
    seed: int = 0


def make_optimizer(model: nn.Module, settings: Settings) -> torch.optim.AdamW:
    """Return AdamW over all weights of the model, whatever they are called.

    Weight decay pulls on matrices; biases, norms (vectors) and embeddings are left alone.
    """
    embedded = {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)}
    weights = [p for p in model.parameters() if p.requires_grad]
    decayed = [p for p in weights if p.dim() >= 2 and id(p) not in embedded]
    others = [p for p in weights if p.dim() < 2 or id(p) in embedded]
    return torch.optim.AdamW(
        [
            {"params": decayed, "weight_decay": settings.weight_decay},
            {"params": others, "weight_decay": 0.0},
        ],
        lr=settings.learning_rate,
        betas=settings.betas,
        fused=weights[0].device.type in {"cpu", "cuda"},  # one pass over the weights, not ten
    )


def train(model: GPT, corpus: Corpus, settings: Settings | None = None) -> History:
    """Train a model in place and return what happened.

    Interrupt it (the stop button, or Ctrl-C) whenever you like: the model keeps what it learned.
    """
    settings = settings or Settings()
    device = next(model.parameters()).device
    documents = corpus.train[: settings.n_train]
    batches = [
        batch
        for epoch in range(settings.epochs)
        for batch in make_batches(documents, settings.batch_size, settings.seed + epoch)
    ]
    optimizer = make_optimizer(model, settings)
    history = History(settings=asdict(settings), corpus=corpus.name)
    every = max(1, len(batches) // max(1, settings.n_validations))
    curve = LiveCurve(corpus.entropy)
    progress = tqdm(batches, unit="step", disable=runtime.where() == "autograder")
    try:
        for step, batch in enumerate(progress, start=1):
            began = time.perf_counter()
            model.train()
            tokens = pad_batch([documents[i] for i in batch]).to(device)  # (B, T)
            loss = model.loss(tokens)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
            optimizer.step()

            history.losses.append(loss.item())
            history.tokens.append(tokens[:, 1:].numel())
            history.seconds += time.perf_counter() - began
            progress.set_postfix_str(
                f"loss {history.losses[-1]:.2f}, {history.tokens_per_second:,.0f} tokens/s",
                refresh=False,
            )
            if step % every == 0 or step == len(batches):
                measured = measure_documents(model, corpus.dev[: settings.n_validate])
                history.validations.append(
                    {
                        "step": step,
                        "perplexity": measured.mean_perplexity,
                        "corpus_perplexity": measured.corpus_perplexity,
                    }
                )
            curve.update(history)
    except KeyboardInterrupt:
        history.interrupted = True
        print(f"Interrupted after {len(history.losses)} steps; the model keeps what it learned.")
    finally:
        progress.close()
        model.eval()
    curve.finish(history)
    return history
