"""What to try before a training: does everything fit, and can the model learn at all?"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from course_utils.language_model.corpus import START, Corpus, pad_batch
from course_utils.language_model.gpt import GPT
from course_utils.words import say

OVERFIT_SENTENCES = 8
OVERFIT_STEPS = 60


class ContractError(ValueError):
    """A piece that does not fit into the model, said in one sentence."""


def check_before_training(model: GPT, corpus: Corpus) -> None:
    """Check that the pieces fit, that the first loss is right, and that the model can learn."""
    check_model(model)
    first, expected = check_first_loss(model, corpus)
    print(
        f"First loss {first:.2f}; a model that knows nothing has ln(vocabulary) = {expected:.2f}."
    )
    before, after = check_overfits(model, corpus)
    print(
        f"{OVERFIT_SENTENCES} sentences learned by heart: loss {before:.2f} -> {after:.2f} in "
        f"{OVERFIT_STEPS} steps. The model was then set back to where it started."
    )


def check_model(model: GPT) -> None:
    """Raise a `ContractError` if the attention, projections or positions do not fit.

    Runs every layer on a short batch and on a single token, as sampling will.
    """
    warn_of_sharing(model)
    device = next(model.parameters()).device
    for shape in ((2, 7), (1, 1)):
        tokens = torch.full(shape, START, device=device)  # (B, T)
        with torch.enable_grad():
            x = model.embed(tokens)  # (B, T, C)
            for layer, block in enumerate(model.blocks):
                Q, K, V = block.project(x)
                for name, value in zip("QKV", (Q, K, V), strict=True):
                    check_output(value, x, f"The projection for {name}", layer)
                out = block.attend(Q, K, V)
                check_output(out, V, name_attention(block.attention), layer)
                x = block(x)
        check_reached(x, model)


def name_attention(attention) -> str:
    """Return what the learner calls an attention: a function's name, or that of its class."""
    name = getattr(attention, "__name__", type(attention).__name__)
    return "The attention" if name == "<lambda>" else name


def warn_of_sharing(model: GPT) -> None:
    """Say so when one module with parameters, built beforehand, serves all layers."""
    first, *others = (block.attention for block in model.blocks)
    if not others or not isinstance(first, nn.Module) or not list(first.parameters()):
        return
    if all(attention is first for attention in others):
        name = type(first).__name__
        say(
            f"Mind that all {len(model.blocks)} layers share the parameters of one {name}, because it "
            f"was built before the model: pass the class, {name}, and each layer has its own."
        )


def check_output(out, like: Tensor, what: str, layer: int) -> None:
    """Raise a `ContractError` unless `out` is a tensor like the one given, with a gradient."""
    given = f"in layer {layer}, given (B, T, C) = {tuple(like.shape)}"
    if out is None:
        raise ContractError(f"{what} returned None {given}: is a `return` missing?")
    if not isinstance(out, Tensor):
        raise ContractError(f"{what} returned a {type(out).__name__}, not a tensor, {given}.")
    if out.shape != like.shape:
        raise ContractError(
            f"{what} returned shape {tuple(out.shape)} {given}; the shape must stay the same."
        )
    if out.dtype != like.dtype:
        raise ContractError(f"{what} returned {out.dtype} {given}; it must stay {like.dtype}.")
    if out.device != like.device:
        raise ContractError(
            f"{what} returned a tensor on {out.device} {given}; it must stay on {like.device}."
        )
    if not out.requires_grad:
        raise ContractError(
            f"{what} returned a tensor without a gradient {given}, so nothing could be learned "
            "through it: look for detach(), .data, numpy or torch.no_grad()."
        )
    if not out.isfinite().all():
        raise ContractError(f"{what} returned NaN or infinite numbers {given}.")


def check_reached(out: Tensor, model: GPT) -> None:
    """Raise a `ContractError` if the output depends on parameters that are not the model's.

    A function that uses an `nn.Linear` from outside would run, but that layer would not train.
    """
    known = {id(p) for p in model.parameters()}
    todo, seen = [out.grad_fn], set()
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        todo.extend(following for following, _ in node.next_functions)
        weight = getattr(node, "variable", None)  # where a path ends at a weight
        if weight is not None and id(weight) not in known:
            raise ContractError(
                f"The model uses a parameter of shape {tuple(weight.shape)} that it does not hold, "
                "so it would not be trained: make the piece that uses it an nn.Module class and "
                "pass the class."
            )


def check_first_loss(model: GPT, corpus: Corpus) -> tuple[float, float]:
    """Return the loss before training and ln(vocabulary), which it should be close to."""
    with torch.no_grad():
        first = model.loss(take_batch(model, corpus, 32)).item()
    expected = math.log(model.config.vocab_size)
    if not abs(first - expected) < 0.5:
        raise ContractError(
            f"Before any training the loss is {first:.2f}; a model that knows nothing should be "
            f"close to ln(vocabulary) = {expected:.2f}. Was it trained before, or are its first "
            "parameters very large?"
        )
    return first, expected


def check_overfits(model: GPT, corpus: Corpus) -> tuple[float, float]:
    """Return the loss on a few sentences before and after learning them by heart.

    The model is set back afterwards. A model that cannot do this will not learn a corpus.
    """
    tokens = take_batch(model, corpus, OVERFIT_SENTENCES)
    before_all = {name: value.clone() for name, value in model.state_dict().items()}
    losses = []
    with torch.random.fork_rng():
        model.train()
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
        for _ in range(OVERFIT_STEPS):
            loss = model.loss(tokens)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
    model.load_state_dict(before_all)
    model.zero_grad()
    if not losses[-1] < 0.5 * losses[0]:
        raise ContractError(
            f"The model could not learn {len(tokens)} sentences by heart: its loss went from "
            f"{losses[0]:.2f} to {losses[-1]:.2f} in {OVERFIT_STEPS} steps; it should "
            "have fallen below half. Does every step of the attention pass the gradient on?"
        )
    return losses[0], losses[-1]


def take_batch(model: GPT, corpus: Corpus, n: int) -> Tensor:
    """Return the first n training sentences, padded.  -> (n, T)"""
    return pad_batch(corpus.train[:n]).to(next(model.parameters()).device)
