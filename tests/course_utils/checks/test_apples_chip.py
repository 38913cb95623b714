"""Public checks on a Mac with Apple's chip, which knows no float64: right answers pass there too."""

import pytest
import torch
from torch.overrides import TorchFunctionMode

from autograder.exercises import find_exercises
from autograder.exercises.attention import attention_from_scratch, finetune_roberta
from autograder.exercises.attention_at_work import pretraining, translation
from course_utils.checks import _EXAMINERS

_MODULES = {
    "attention.attention_from_scratch": attention_from_scratch,
    "attention.finetune_roberta": finetune_roberta,
    "attention_at_work.translation": translation,
    "attention_at_work.pretraining": pretraining,
}
_CASES = [(module, name) for module in _MODULES for name in find_exercises(module)]


class PretendedMPS(TorchFunctionMode):
    """Takes tensors that are sent to "mps", and refuses float64 among them, as the chip does."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        places = (
            [*args[1:], kwargs.get("device")] if func is torch.Tensor.to else [kwargs.get("device")]
        )
        sent = any(
            str(place) == "mps" for place in places if isinstance(place, (str, torch.device))
        )
        if sent:
            args = tuple("cpu" if str(place) == "mps" else place for place in args)
            kwargs |= {"device": "cpu"} if "device" in kwargs else {}
        result = func(*args, **kwargs)
        if sent and isinstance(result, torch.Tensor) and result.dtype == torch.float64:
            raise TypeError("Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't "
                            "support float64. Please use float32 instead.")  # fmt: skip
        return result


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("module", "name"), _CASES, ids=[name for _, name in _CASES])
def test_a_right_answer_passes_on_apples_chip(module, name):
    exercises = find_exercises(module)
    namespace = _MODULES[module].make_namespace(*(e.oracle for e in exercises.values()))
    namespace["DEVICE"] = torch.device("mps")
    others = {"SST2Dataset": namespace["SST2Dataset"]} if name == "make_dataloaders" else {}
    with PretendedMPS():
        finding = _EXAMINERS[name](name, namespace[exercises[name].cell], **others)
    assert finding.passed, finding


def test_the_pretended_chip_refuses_what_the_chip_refuses():
    with PretendedMPS():
        assert torch.ones(2).to("mps").sum() == 2
        with pytest.raises(TypeError, match="float64"):
            torch.ones(2, dtype=torch.float64).to(torch.device("mps"))
