"""How big a model and how long a training each profile gets, and what to expect of it."""

from __future__ import annotations

from dataclasses import dataclass

from course_utils import runtime
from course_utils.pretraining.training import Settings
from course_utils.pretraining.world import World


@dataclass(frozen=True)
class Plan:
    """The sizes of the model, the two stages, and how long both take."""

    sizes: dict[str, int]  # n_layers, n_heads, n_embd
    pretraining: Settings
    finetuning: Settings
    alone: Settings  # finetuning without any pretraining: longer, to be fair to it
    minutes: str  # of pretraining and finetuning, PyTorch's attention


_SMALL = {"n_layers": 3, "n_heads": 4, "n_embd": 64}
_LARGE = {"n_layers": 4, "n_heads": 8, "n_embd": 256}

PLANS = {
    "own": {
        "quick": Plan(_SMALL, Settings(3, 3e-3), Settings(2, 1e-3), Settings(2, 1e-3), "0.1"),
        "laptop": Plan(_SMALL, Settings(160, 3e-3), Settings(10, 1e-3), Settings(75, 1e-3), "2 to 4"),
        "gpu": Plan(_SMALL, Settings(160, 3e-3), Settings(10, 1e-3), Settings(75, 1e-3), "2 to 4"),
    },
    "real": {
        "quick": Plan(_SMALL, Settings(1, 3e-3), Settings(1, 1e-3), Settings(1, 1e-3), "0.5"),
        "laptop": Plan(_SMALL, Settings(80, 3e-3), Settings(10, 1e-3), Settings(20, 1e-3), "8 to 12"),
        "gpu": Plan(_LARGE, Settings(650, 1e-3, 128), Settings(10, 5e-4), Settings(75, 5e-4), "60 to 120"),
    },
}  # fmt: skip


def choose_plan(world: World) -> Plan:
    """Return the plan of the profile in use, and say how long it takes."""
    profile = runtime.profile()
    plan = PLANS[world.name][profile]
    print(
        f"Profile {profile!r}: {plan.pretraining.epochs} epochs of pretraining and "
        f"{plan.finetuning.epochs} of finetuning, together about {plan.minutes} minutes."
    )
    return plan
