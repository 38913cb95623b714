"""The real client code against a hub on loopback, in good health and in every bad mood."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from course_utils import hub
from course_utils.sentiment import sources
from tests.course_utils.fake_hub import serve_hub
from tests.course_utils.tiny import load_tokenizer, make_tiny_model

pytestmark = pytest.mark.xdist_group("hub")  # its fixtures take a while

ROOT = Path(__file__).parents[2]
SIZES = {"train": 40, "validation": 20, "test": 30}

# Answers one line with one line, so that a single process can meet a hub in all its moods.
CLIENT = """
import json, sys, time
from transformers import AutoModelForSequenceClassification, AutoTokenizer
from course_utils import hub
from course_utils.sentiment import sources
for line in sys.stdin:
    hub._last_asked.clear()  # as if a minute had passed
    began = time.perf_counter()
    model, data = sources.locate_model(), sources.locate_data()
    seconds = time.perf_counter() - began
    AutoTokenizer.from_pretrained(model.place)
    AutoModelForSequenceClassification.from_pretrained(model.place)
    if model.source == "hub":
        AutoModelForSequenceClassification.from_pretrained("roberta-base")
    print(json.dumps({
        "model": model.source, "data": data.source, "seconds": seconds,
        "problems": [model.problem, data.problem],
        "sizes": {split: len(rows) for split, rows in data.splits.items()},
        "first": data.splits["train"][:2],
    }), flush=True)
"""


@pytest.fixture(autouse=True)
def open_hub(monkeypatch):
    """Begin with a hub that may be asked, whatever an earlier test in this process switched off."""
    import datasets
    from huggingface_hub import constants

    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", False)


class Client:
    """A student's process, with a cache of its own."""

    def __init__(self, address: str, home: Path):
        variables = {
            **os.environ, "HF_ENDPOINT": address, "HF_HOME": str(home), "PYTHONPATH": str(ROOT),
            "HF_HUB_DISABLE_XET": "1", "TRANSFORMERS_VERBOSITY": "error",
        }  # fmt: skip
        for name in ("COURSE_DATA", "NBGRADER_EXECUTION", "HF_HUB_OFFLINE"):
            variables.pop(name, None)
        self.process = subprocess.Popen(
            [sys.executable, "-c", CLIENT], cwd=home.parent, env=variables, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def load(self) -> dict:
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        return json.loads(line)

    def close(self) -> None:
        self.process.communicate()


@pytest.fixture(scope="module")
def repositories(tmp_path_factory):
    """A model and a dataset laid out as they are on the hub."""
    model, data = tmp_path_factory.mktemp("model"), tmp_path_factory.mktemp("data")
    load_tokenizer().save_pretrained(model)
    make_tiny_model(len(load_tokenizer())).save_pretrained(model)
    for split, size in SIZES.items():
        rows = [
            {"text": f"{split} sentence {i} " + "x" * 200, "label": i % 2, "label_text": "positive"}
            for i in range(size)
        ]
        name = "dev" if split == "validation" else split
        (data / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (data / "README.md").write_text("# Sentences\n")
    return {"models/roberta-base": model, "datasets/SetFit/sst2": data}


@pytest.fixture(scope="module")
def moods(repositories, tmp_path_factory):
    """What one student gets from a hub that is ill in every way, well, ill again, and gone."""
    home = tmp_path_factory.mktemp("student") / "home"
    answers = {}
    with serve_hub(repositories) as server:
        client = Client(server.address, home)
        for turn, mood in enumerate(
            ("missing", "slow", "broken", "half", "well", "broken", "missing")
        ):
            server.mood = mood
            answers[mood if turn < 5 else f"{mood} later"] = client.load()
        answers["asked"] = list(server.asked)
        client.close()
    client = Client(server.address, home)  # the hub is gone, and so is the first process
    answers["gone"] = client.load()
    client.close()
    return answers


def test_a_hub_that_is_well_gives_both(moods):
    answer = moods["well"]
    assert (answer["model"], answer["data"], answer["problems"]) == ("hub", "hub", [None, None])
    assert answer["sizes"] == SIZES
    assert answer["first"][1] == {"text": "train sentence 1 " + "x" * 200, "label": 1}
    assert any(line.startswith("GET roberta-base/resolve") for line in moods["asked"])


@pytest.mark.parametrize(
    ("mood", "words"),
    [
        ("missing", "The hub has no "),
        ("broken", "The hub answered with error 500"),
        ("slow", "The Hugging Face hub cannot be reached"),
        ("half", "broke off"),
    ],
)
def test_a_hub_that_is_ill_costs_a_sentence(moods, mood, words):
    answer = moods[mood]
    assert (answer["model"], answer["data"]) == ("course", "course")
    assert [words in problem for problem in answer["problems"]] == [True, True]


def test_a_half_file_says_how_to_go_on(moods):
    said = ["run this cell again" in problem for problem in moods["half"]["problems"]]
    assert said == [True, True]


def test_nothing_half_is_kept(moods):
    """After every illness, the same cache and the same process, a healthy hub gives everything."""
    assert moods["well"]["sizes"] == SIZES


@pytest.mark.parametrize("mood", ["broken later", "missing later", "gone"])
def test_what_was_downloaded_outlives_the_hub(moods, mood):
    assert (moods[mood]["model"], moods[mood]["data"]) == ("cache", "cache")
    assert moods[mood]["sizes"] == SIZES


def test_a_silent_hub_is_asked_once(repositories, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(hub, "PATIENCE", 0.5)
    knocks = []
    knock = hub._knock
    monkeypatch.setattr(hub, "_knock", lambda address: knocks.append(address) or knock(address))

    hub._last_asked.clear()
    with serve_hub(repositories, mood="slow") as server:
        monkeypatch.setattr(constants, "ENDPOINT", server.address)
        assert "cannot be reached" in hub._find_problem("roberta-base", "model")
        assert "cannot be reached" in hub._find_problem("SetFit/sst2", "dataset")
        assert knocks == [server.address]
        asked, answer = hub._last_asked[server.address]
        hub._last_asked[server.address] = (asked - 61, answer)  # a minute later
        assert "cannot be reached" in hub._find_problem("roberta-base", "model")
        assert knocks == [server.address] * 2
    hub._last_asked.clear()


def test_switched_off_means_nobody_is_asked(repositories, monkeypatch):
    from huggingface_hub import constants
    from transformers import AutoTokenizer

    with serve_hub(repositories) as server:
        monkeypatch.setattr(constants, "ENDPOINT", server.address)
        with hub.switched_off(), pytest.raises(OSError):
            AutoTokenizer.from_pretrained("somebody/nothing-of-ours")
        assert server.asked == []


def test_a_chosen_model_is_never_replaced(repositories, monkeypatch):
    from huggingface_hub import constants

    hub._last_asked.clear()
    with serve_hub(repositories) as server:
        monkeypatch.setattr(constants, "ENDPOINT", server.address)
        with pytest.raises(
            FileNotFoundError, match=r"has no model 'bert-bsae'.*no checkpoint folder"
        ):
            sources.locate_model("bert-bsae")
    hub._last_asked.clear()
