import pytest
import torch
import torch.nn.functional as F

from course_utils import chunked_loss
from course_utils.chunked_loss import CHUNK, mean_cross_entropy, token_cross_entropies


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


def test_the_whole_matrix_never_exists(monkeypatch):
    """The largest tensor that is made is a chunk's, whatever the number of tokens."""
    sizes = []
    original = torch.Tensor.new_empty

    def watch(self, *shape, **options):
        made = original(self, *shape, **options)
        sizes.append(made.numel())
        return made

    monkeypatch.setattr(torch.Tensor, "new_empty", watch)
    hidden, weight, targets = make(10 * CHUNK, vocab=1000)
    mean_cross_entropy(hidden, weight, targets)
    assert max(sizes) == chunked_loss.CHUNK * 1000
