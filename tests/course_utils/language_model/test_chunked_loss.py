import pytest
import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from course_utils.language_model.chunked_loss import (
    CHUNK,
    mean_cross_entropy,
    token_cross_entropies,
)


def make(n_tokens, vocab=50, n_embd=8, scale=1.0, dtype=torch.float64):
    torch.manual_seed(0)
    hidden = (torch.randn(n_tokens, n_embd, dtype=dtype) * scale).requires_grad_()
    weight = torch.randn(vocab, n_embd, dtype=dtype).requires_grad_()
    return hidden, weight, torch.randint(0, vocab, (n_tokens,))


@pytest.mark.parametrize("n_tokens", [1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 7])
def test_loss_and_gradients_are_those_of_pytorch(n_tokens):
    hidden, weight, targets = make(n_tokens)
    ours = mean_cross_entropy(hidden, weight, targets)
    theirs = F.cross_entropy(hidden @ weight.T, targets)
    torch.testing.assert_close(ours, theirs)
    # Times 3, because a loss is not always the last thing that is computed.
    for a, b in zip(
        torch.autograd.grad(3 * ours, (hidden, weight)),
        torch.autograd.grad(3 * theirs, (hidden, weight)),
        strict=True,
    ):
        torch.testing.assert_close(a, b)


def test_token_losses_are_those_of_pytorch_and_carry_no_gradient():
    hidden, weight, targets = make(2 * CHUNK + 5)
    ours = token_cross_entropies(hidden, weight, targets)
    torch.testing.assert_close(ours, F.cross_entropy(hidden @ weight.T, targets, reduction="none"))
    assert not ours.requires_grad
    with torch.no_grad():
        torch.testing.assert_close(mean_cross_entropy(hidden, weight, targets), ours.mean())


def test_huge_logits_do_not_overflow():
    hidden, weight, targets = make(CHUNK, scale=1e4, dtype=torch.float32)
    ours = mean_cross_entropy(hidden, weight, targets)
    torch.testing.assert_close(ours, F.cross_entropy(hidden @ weight.T, targets))
    ours.backward()
    assert hidden.grad.isfinite().all()
    assert weight.grad.isfinite().all()


def test_inputs_are_not_changed():
    hidden, weight, targets = make(CHUNK + 3)
    before = hidden.clone(), weight.clone(), targets.clone()
    mean_cross_entropy(hidden, weight, targets).backward()
    for a, b in zip(before, (hidden, weight, targets), strict=True):
        assert torch.equal(a, b)


class LargestTensor(TorchDispatchMode):
    """Remember the size of the largest tensor that any operation makes."""

    numel = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        made = function(*args, **(kwargs or {}))
        if isinstance(made, torch.Tensor):
            self.numel = max(self.numel, made.numel())
        return made


def test_the_whole_matrix_never_exists():
    hidden, weight, targets = make(10 * CHUNK, vocab=1000)
    with LargestTensor() as largest:
        mean_cross_entropy(hidden, weight, targets).backward()
    assert largest.numel == CHUNK * 1000
    with LargestTensor() as largest:
        F.cross_entropy(hidden @ weight.T, targets).backward()
    assert largest.numel == 10 * CHUNK * 1000, "or this test would not see it"
