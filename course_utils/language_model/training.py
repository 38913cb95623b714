"""One plain training loop, what it remembers, and what to try before it runs."""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass

import torch
from torch import Tensor, nn
from tqdm.auto import tqdm

from course_utils import runtime
from course_utils.history import History
from course_utils.language_model.corpus import Corpus, make_batches, pad_batch
from course_utils.language_model.evaluation import measure_documents
from course_utils.language_model.gpt import GPT
from course_utils.language_model.preflight import check_model
from course_utils.plots.training import LiveCurve
from course_utils.words import say


@dataclass(frozen=True)
class Settings:
    """How to train; the course's values unless told otherwise."""

    learning_rate: float = 5e-4
    batch_size: int = 32
    epochs: int = 1
    n_train: int | None = None  # sentences to train on; None for all
    weight_decay: float = 0.1
    beta_1: float = 0.9
    beta_2: float = 0.95
    clip: float = 1.0
    n_validations: int = 10  # over the whole training
    n_validate: int = 500  # development sentences used for each
    seed: int = 0


@dataclass(frozen=True)
class Profile:
    """How much of a corpus to train on, and what to expect from it."""

    n_train: int | None  # sentences; None for all
    minutes: dict[str, str]  # by corpus
    loss: dict[str, float]  # the final training loss, by corpus


TOKENS_PER_SECOND = 9_600  # on two quiet cores, with a vocabulary of some 26,000 words

# The losses were measured with dot-product attention. The minutes follow from its tokens per second
# on two quiet cores (37,000 on our own corpus, 9,600 on lm1b), and go up to what runs on a busy machine
# took (docs/experiments.md); those on a GPU are a guess.
PROFILES = {
    "quick": Profile(4_000, {"own": "about 0.1", "lm1b": "about 0.2"}, {"own": 4.5, "lm1b": 6.9}),
    "laptop": Profile(
        None, {"own": "about 2 to 8", "lm1b": "about 3 to 20"}, {"own": 1.3, "lm1b": 5.8}
    ),
    "gpu": Profile(
        None, {"own": "probably 1 to 2", "lm1b": "probably 1 to 2"}, {"own": 1.3, "lm1b": 5.8}
    ),
}


def choose_settings(corpus: Corpus) -> Settings:
    """Return the settings of the profile in use, and say how long it takes and what to expect."""
    name = runtime.profile()
    profile = PROFILES[name]
    n_train = min(profile.n_train or len(corpus.train), len(corpus.train))
    words = f"Profile {name!r}: {n_train:,} training sentences"
    if corpus.name in profile.minutes:
        words += (
            f", {profile.minutes[corpus.name]} minutes, "
            f"to a loss near {profile.loss[corpus.name]:.1f}"
        )
    else:  # not measured: go by the number of tokens and the speed on a vocabulary as large
        n_tokens = sum(len(document) - 1 for document in corpus.train[:n_train])
        minutes = n_tokens / TOKENS_PER_SECOND / 60
        words += (
            f" with {n_tokens:,} tokens: about {minutes:.0f} minutes on two quiet cores, several "
            "times that on a busy computer, far less on a GPU. The loss to expect has not been "
            f"measured for this corpus; it starts near {math.log(len(corpus.vocabulary)):.1f}"
        )
    say(words + ".")
    return Settings(n_train=n_train)


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
        betas=(settings.beta_1, settings.beta_2),
        fused=weights[0].device.type in {"cpu", "cuda"},  # one pass over the weights, not ten
    )


def take_step(model: GPT, optimizer: torch.optim.Optimizer, tokens: Tensor, clip: float) -> Tensor:
    """Learn from one batch and return its loss.  tokens (B, T) -> ()"""
    loss = model.loss(tokens)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return loss.detach()


def train(model: GPT, corpus: Corpus, settings: Settings | None = None) -> History:
    """Train a model in place and return what happened.

    Interrupt it (the stop button, or Ctrl-C) whenever you like: the model keeps what it learned.
    """
    settings = settings or choose_settings(corpus)
    check_model(model)
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
            loss = take_step(model, optimizer, tokens, settings.clip)
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
                        "sentences": len(measured.losses),
                    }
                )
            curve.update(history)
    except KeyboardInterrupt:
        history.interrupted = True
        print(f"Interrupted after {len(history.losses)} steps; the model keeps what it learned.")
    finally:
        progress.close()
        model.eval()
    curve.finish()
    return history
