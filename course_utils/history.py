"""What happened during a training, kept so that it can be saved, drawn and compared."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass
class History:
    """The losses, speed and validations of one training; saves to a file and loads from it."""

    settings: dict = field(default_factory=dict)
    corpus: str = ""
    losses: list[float] = field(default_factory=list)  # one per step
    tokens: list[int] = field(default_factory=list)  # one per step
    seconds: float = 0.0  # of training, validation left out
    processor_seconds: float = 0.0  # the same on all cores together, where it was measured
    # step, perplexity, corpus_perplexity, and on how many sentences (older records do not say)
    validations: list[dict] = field(default_factory=list)
    interrupted: bool = False

    @property
    def final_loss(self) -> float:
        """The mean loss of the last steps: that of a single one depends on its few sentences."""
        last = self.losses[-self.n_final :]
        return sum(last) / len(last) if last else math.nan

    @property
    def n_final(self) -> int:
        """Over how many steps `final_loss` is the mean: 100, but no more than a tenth of all."""
        return max(1, min(100, len(self.losses) // 10))

    @property
    def tokens_per_second(self) -> float:
        """How many tokens the model learned to predict in a second of training."""
        return sum(self.tokens) / self.seconds if self.seconds else 0.0

    def save(self, path: str | Path) -> None:
        """Write everything to a JSON file."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> History:
        """Read what `save` wrote."""
        return cls(**json.loads(Path(path).read_text(encoding="utf-8")))


def format_time(seconds: float) -> str:
    """Return minutes and seconds, as in 3:35."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"
