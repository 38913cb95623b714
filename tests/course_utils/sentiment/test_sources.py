"""Where model and data come from, and what the course's own are like."""

import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from autograder.reviews import grammar, label
from course_utils import hub, runtime
from course_utils.sentiment import sources
from tests.course_utils.tiny import load_splits

REAL_DATA = Path(__file__).parents[4] / "shared" / "data"


@pytest.fixture(autouse=True)
def nobody_set_anything(monkeypatch):
    """Start each test on a laptop that knows neither COURSE_DATA nor an open hub."""
    for name in ("COURSE_DATA", "NBGRADER_EXECUTION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(hub, "_find_problem", lambda name, kind: "The hub cannot be reached.")
    sources._say_once.cache_clear()


# ------------------------------------------------------------------------- our own reviews


def test_our_reviews_are_many_balanced_and_kept_apart():
    splits = load_splits()
    texts = [row["text"] for rows in splits.values() for row in rows]
    assert [len(splits[name]) for name in sources.SPLITS] == [4_000, 400, 800]
    assert len(texts) == len(set(texts)) >= 2_000
    for rows in splits.values():
        assert Counter(row["label"] for row in rows) == {0: len(rows) // 2, 1: len(rows) // 2}


def test_our_reviews_are_what_their_seed_writes():
    for name, pairs in label.make_splits().items():
        assert [(row["text"], row["label"]) for row in load_splits()[name]] == pairs


def test_our_reviews_are_small():
    assert sum(path.stat().st_size for path in sources.OWN_DATA.iterdir()) < 1_000_000


def test_pretraining_never_meets_a_sentence_that_is_tested_on():
    tested = {row["text"] for name in ("validation", "test") for row in load_splits()[name]}
    taboo = label.list_taboo()
    assert tested < taboo

    def split_sentences(reviews):
        return {part.strip() + "." for review in reviews for part in review.split(".") if part}

    assert not split_sentences(grammar.write_reviews(1, 3_000, taboo=taboo)) & taboo
    assert split_sentences(grammar.write_reviews(1, 3_000)) & taboo  # it would, if let


def test_counting_words_is_not_enough():
    pytest.importorskip("sklearn")
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression

    texts, labels = (
        {name: [row[key] for row in rows] for name, rows in load_splits().items()}
        for key in ("text", "label")
    )
    counter = CountVectorizer()
    counts = counter.fit_transform(texts["train"])
    classifier = LogisticRegression(max_iter=1000).fit(counts, labels["train"])
    accuracy = classifier.score(counter.transform(texts["test"]), labels["test"])
    assert 0.55 < accuracy <= 0.80  # words do carry something, as in any language


@pytest.mark.parametrize(("wanted", "words"), [(1, "wonderful"), (0, "dreadful")])
def test_one_is_positive(wanted, words):
    """Among plain sentences, "wonderful" is said with label 1 and "dreadful" with label 0."""
    patterns = (f" is {words}.", f" are {words}.", f" truly {words}.", f" very {words}.")
    rows = [row for rows in load_splits().values() for row in rows]
    plain = [row for row in rows if row["text"].endswith(patterns) and len(row["text"].split()) < 7]
    plain = [row for row in plain if " not " not in row["text"]]
    assert plain and {row["label"] for row in plain} == {wanted}


# ----------------------------------------------------------------------------- the sources


def test_without_a_gpu_the_small_model_comes_unless_another_is_asked_for(monkeypatch, capsys):
    monkeypatch.setattr(sources, "locate_model", lambda name: sources.Model(name, "hub", "Model."))
    assert sources.find_model() == str(sources.OWN_MODEL)
    assert 'find_model("roberta-base")' in capsys.readouterr().out
    assert sources.find_model("roberta-base") == "roberta-base"
    monkeypatch.setattr(runtime, "device", lambda: torch.device("cuda"))
    assert sources.find_model() == "roberta-base"


def test_the_small_model_reads_the_reviews_it_was_made_for(monkeypatch):
    monkeypatch.setattr(hub, "fetch", lambda *_: pytest.fail("asked the hub"))
    tokenizer = SimpleNamespace(name_or_path=str(sources.OWN_MODEL))
    assert sources.load_raw_splits(tokenizer) == load_splits()


def test_without_hub_and_data_the_courses_own_are_used_and_said_once(capsys):
    assert sources.find_model("roberta-base") == str(sources.OWN_MODEL)
    assert sources.load_raw_splits() == load_splits()
    assert sources.find_model("roberta-base") == str(sources.OWN_MODEL)
    said = capsys.readouterr().out.splitlines()
    assert said == [
        "The hub cannot be reached.",
        "Model: the small RoBERTa made for this course.",
        "Data: reviews written for this course; label 1 is positive.",
    ]


def write_stsa(folder, **files):
    (folder / "sst2").mkdir()
    for name, text in files.items():
        (folder / "sst2" / f"stsa.binary.{name}").write_text(text)


def test_course_data_comes_first(tmp_path, monkeypatch, capsys):
    write_stsa(tmp_path, train="1 a joy .\n0 a bore .\n", dev="1 fine\n", test="0 bad , sad\n")
    monkeypatch.setenv("COURSE_DATA", str(tmp_path))
    assert sources.load_raw_splits() == {
        "train": [{"text": "a joy .", "label": 1}, {"text": "a bore .", "label": 0}],
        "validation": [{"text": "fine", "label": 1}],
        "test": [{"text": "bad , sad", "label": 0}],
    }
    assert "COURSE_DATA" in capsys.readouterr().out


def test_course_data_that_is_broken_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_DATA", str(tmp_path))
    write_stsa(tmp_path, train="1 a joy .\nbad line\n", dev="", test="")
    with pytest.raises(ValueError, match="line 2: it starts with 'bad'"):
        sources.load_raw_splits()
    (tmp_path / "sst2" / "stsa.binary.train").unlink()
    with pytest.raises(FileNotFoundError, match=r"without stsa\.binary\.train"):
        sources.load_raw_splits()


def test_course_data_without_sst2_is_no_obstacle(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_DATA", str(tmp_path))
    assert sources.locate_data().source == "course"


def test_while_grading_everything_is_the_courses_own(tmp_path, monkeypatch):
    write_stsa(tmp_path, train="1 a joy .\n", dev="1 fine\n", test="0 bad\n")
    monkeypatch.setenv("COURSE_DATA", str(tmp_path))
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    switched = []
    monkeypatch.setattr(hub, "switch_off", lambda: switched.append(True))
    assert sources.find_model(str(tmp_path)) == str(sources.OWN_MODEL)
    assert sources.load_raw_splits() == load_splits()
    assert switched == [True, True]


def test_a_folder_is_taken_as_it_is(tmp_path):
    assert sources.find_model(str(tmp_path)) == str(tmp_path)


def test_settings_are_the_handouts_but_for_the_small_model():
    assert sources.suggest_settings("roberta-base") == sources.Settings(64, 5e-5, 10, 64)
    assert sources.suggest_settings(str(sources.OWN_MODEL)).learning_rate > 5e-5


@pytest.mark.realdata
def test_the_real_sst2(monkeypatch):
    folder = runtime.data_dir() or REAL_DATA
    if not (folder / "sst2").is_dir():
        pytest.skip("the real SST-2 is not here; COURSE_DATA would say where it is")
    monkeypatch.setenv("COURSE_DATA", str(folder))
    splits = sources.load_raw_splits()
    assert [len(splits[name]) for name in sources.SPLITS] == [6_920, 872, 1_821]
    assert [sum(row["label"] for row in splits[name]) for name in sources.SPLITS] == [
        3_610,
        444,
        909,
    ]
    by_text = {row["text"]: row["label"] for row in splits["train"]}
    stirring = next(text for text in by_text if text.startswith("a stirring , funny"))
    assert by_text[stirring] == 1


# -------------------------------------------------------------------------- the small model


def test_the_small_model_is_a_real_roberta():
    from transformers import AutoTokenizer, RobertaForSequenceClassification

    tokenizer = AutoTokenizer.from_pretrained(sources.OWN_MODEL)
    encoded = tokenizer("Ünïcode, 🎬 and all", return_tensors="pt")
    assert (
        tokenizer.decode(encoded["input_ids"][0], skip_special_tokens=True) == "Ünïcode, 🎬 and all"
    )
    assert "token_type_ids" not in encoded
    assert (tokenizer.bos_token, tokenizer.pad_token, tokenizer.mask_token) == (
        "<s>",
        "<pad>",
        "<mask>",
    )
    model = RobertaForSequenceClassification.from_pretrained(sources.OWN_MODEL)
    long = tokenizer("word " * 600, truncation=True, max_length=512, return_tensors="pt")
    assert long["input_ids"].shape == (1, 512)
    assert model(**long).logits.shape == (1, 2)


def test_the_small_model_is_small():
    files = list(sources.OWN_MODEL.iterdir())
    assert sum(path.stat().st_size for path in files) < 5_000_000
    config = json.loads((sources.OWN_MODEL / "config.json").read_text())
    assert config["model_type"] == "roberta" and config["hidden_dropout_prob"] == 0.1
