"""Notebook 3's model and data: from the hub, from COURSE_DATA, or the course's own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from course_utils import hub, runtime
from course_utils.checks.values import require
from course_utils.words import say

HUB_MODEL = "roberta-base"
HUB_DATA = "SetFit/sst2"  # gpt3mix/sst2 has its labels the wrong way round
OWN_MODEL = Path(__file__).parents[1] / "data" / "small_roberta"
OWN_DATA = Path(__file__).parents[1] / "data" / "reviews"
LABELS = ("negative", "positive")  # 1 is positive, in every source
SPLITS = ("train", "validation", "test")


@dataclass(frozen=True)
class Settings:
    """What one finetuning run is told."""

    batch_size: int = 64
    learning_rate: float = 5e-5
    num_epochs: int = 10
    seed: int = 64


@dataclass(frozen=True)
class Model:
    """Where a model is: `place` is what `from_pretrained` takes."""

    place: str
    source: str  # "hub", "cache", "folder" or "course"
    sentence: str
    problem: str | None = None  # what keeps us from the hub, in a sentence


@dataclass(frozen=True)
class Data:
    """Three splits, each a list of {"text", "label"}, and where they come from."""

    splits: dict[str, list[dict]]
    source: str  # "hub", "cache", "files" or "course"
    sentence: str
    problem: str | None = None  # what keeps us from the hub, in a sentence


def find_model(name: str | None = None) -> str:
    """Return what to give to `from_pretrained` for this model, and say once where it comes from.

    `name` is a name on the hub or a checkpoint folder of yours; without one the computer decides:
    roberta-base with a GPU, the course's small model where it would take hours.
    """
    model = locate_model(name or choose_model())
    _say_once(model.problem)
    _say_once(model.sentence)
    return model.place


def choose_model() -> str:
    """Return the model that this computer can finetune in reasonable time, and say why."""
    if runtime.where() == "autograder" or runtime.device().type != "cpu":
        return HUB_MODEL
    _say_once(
        f"No GPU was found. {HUB_MODEL} would need most of an hour per epoch here, so you get the "
        f'small model. To use {HUB_MODEL} all the same, call find_model("{HUB_MODEL}").'
    )
    return str(OWN_MODEL)


def load_raw_splits(tokenizer=None) -> dict[str, list[dict]]:
    """Return {"train", "validation", "test"}: lists of {"text", "label"}, 1 is positive.

    The small model's tokenizer gets the reviews that model was made for (unless COURSE_DATA names
    others); any other gets SST-2. Says once where they come from.
    """
    require(tokenizer=tokenizer)
    own = Path(getattr(tokenizer, "name_or_path", "") or ".") == OWN_MODEL
    data = locate_data(prefer_own=own)
    _say_once(data.problem)
    _say_once(data.sentence)
    return data.splits


def suggest_settings(model_name: str) -> Settings:
    """Return settings to begin with: those of the handout, or those that suit the small model."""
    if Path(model_name) == OWN_MODEL:
        return Settings(batch_size=32, learning_rate=5e-4, num_epochs=7)
    return Settings()


def locate_model(name: str = HUB_MODEL) -> Model:
    """Find a model: a folder as it is, a name on the hub or in its cache, else the course's own."""
    own = Model(str(OWN_MODEL), "course", "Model: the small RoBERTa made for this course.")
    folder = Path(name).expanduser()
    if runtime.where() == "autograder":
        hub.switch_off()
        return own
    if folder == OWN_MODEL:
        return own
    if folder.is_dir():
        return Model(str(folder), "folder", f"Model: your folder {folder}.")
    place, problem = hub.fetch(lambda: _fetch_model(name), name, "model")
    if problem is None:
        return Model(place, "hub", f"Model: {name} from the Hugging Face hub.")
    if place is not None:
        return Model(place, "cache", f"Model: {name}, as downloaded earlier.", problem)
    if name != HUB_MODEL:  # somebody chose it: another model in its place would be no help
        raise FileNotFoundError(f"{problem} And {name!r} is no checkpoint folder on this computer.")
    return replace(own, problem=problem)


def locate_data(prefer_own: bool = False) -> Data:
    """Find the sentences: COURSE_DATA's SST-2, the hub's (unless ours are preferred), or our own."""
    if runtime.where() == "autograder":
        hub.switch_off()
        return Data(load_own_splits(), "course", _describe("reviews written for this course"))
    folder = runtime.data_dir()
    if folder is not None and (folder / "sst2").is_dir():
        splits = {split: _read_stsa(folder / "sst2", split) for split in SPLITS}
        return Data(splits, "files", _describe(f"SST-2 from {folder / 'sst2'} (COURSE_DATA)"))
    if prefer_own:
        words = _describe("reviews written for this course, which the small model was made for")
        return Data(load_own_splits(), "course", words)
    splits, problem = hub.fetch(lambda: _load_dataset(HUB_DATA), HUB_DATA, "dataset")
    if problem is None:
        return Data(splits, "hub", _describe(f"SST-2 from the Hugging Face hub ({HUB_DATA})"))
    if splits is not None:
        return Data(splits, "cache", _describe(f"{HUB_DATA}, as downloaded earlier"), problem)
    return Data(load_own_splits(), "course", _describe("reviews written for this course"), problem)


def load_own_splits() -> dict[str, list[dict]]:
    """Return the course's own reviews, loaded as any folder of data files is."""
    return _load_dataset(str(OWN_DATA), streaming=True)  # so small that no cache is needed


# ------------------------------------------------------------------------------- the sources


def _fetch_model(name: str) -> str:
    """Have the usual calls fetch tokenizer, configuration and weights; return their folder."""
    from transformers import AutoConfig, AutoTokenizer
    from transformers.utils import cached_file

    AutoConfig.from_pretrained(name)
    AutoTokenizer.from_pretrained(name)
    try:
        weights = cached_file(name, "model.safetensors")
    except OSError as error:
        if "does not appear to have a file" not in str(error):
            raise
        weights = cached_file(name, "pytorch_model.bin")  # an older repository
    return str(Path(weights).parent)


def _load_dataset(place: str, **options) -> dict[str, list[dict]]:
    from datasets import load_dataset

    loaded = load_dataset(place, **options)
    return {
        split: [{"text": row["text"], "label": row["label"]} for row in loaded[split]]
        for split in SPLITS
    }


def _read_stsa(folder: Path, split: str) -> list[dict]:
    """Read `stsa.binary.*`: a label, a space and a sentence per line."""
    path = folder / f"stsa.binary.{'dev' if split == 'validation' else split}"
    if not path.is_file():
        raise FileNotFoundError(
            f"COURSE_DATA has a folder sst2 without {path.name}. "
            "Put the file there, or unset COURSE_DATA."
        )
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        label, _, text = line.partition(" ")
        if label not in ("0", "1"):
            raise ValueError(f"{path.name}, line {number}: it starts with {label!r}, not 0 or 1.")
        rows.append({"text": text, "label": int(label)})
    return rows


def _describe(origin: str) -> str:
    return f"Data: {origin}; label 1 is positive."


@cache
def _say_once(sentence: str | None) -> None:
    if sentence is not None:
        say(sentence)
