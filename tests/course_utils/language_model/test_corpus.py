import os
from pathlib import Path

import pytest
import torch

from course_utils import hub
from course_utils.language_model import corpus as corpus_module
from course_utils.language_model.corpus import (
    MAX_TOKENS,
    PAD,
    START,
    STOP,
    UNK,
    CorpusError,
    Vocabulary,
    load_corpus,
    load_own,
    load_real,
    make_batches,
    pad_batch,
    read_sentences,
    split_paragraph,
)


def find_real_data() -> Path | None:
    beside = Path(__file__).parents[4] / "shared" / "data"
    folder = Path(os.environ.get("COURSE_DATA") or beside)
    return folder if (folder / "lm1b").is_dir() else None


@pytest.fixture(scope="module")
def own():
    return load_own("for a test")


@pytest.fixture
def alone(monkeypatch):
    """No real data, no hub, not being graded, whatever the machine has; and little of our own."""
    monkeypatch.setattr(corpus_module, "OWN_COUNTS", {"train": 200, "dev": 20, "test": 20})
    monkeypatch.delenv("COURSE_DATA", raising=False)
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)


# Vocabulary


def test_words_seen_three_times_are_known_and_others_are_unk():
    vocabulary = Vocabulary.build([["a", "b"], ["a", "b"], ["a", "b", "c"], ["a", "c"]])
    assert vocabulary.words == ["<START>", "<STOP>", "<UNK>", "<PAD>", "a", "b"]
    assert vocabulary.encode("a c b") == [START, 4, UNK, 5, STOP]
    assert vocabulary.decode([START, 4, UNK, STOP]) == "<START> a <UNK> <STOP>"


def test_a_special_in_the_text_does_not_get_a_second_number():
    vocabulary = Vocabulary.build([["<PAD>", "a"]] * 3)
    assert vocabulary.words.count("<PAD>") == 1


@pytest.mark.parametrize("n_words", [0, 1, 97, 98, 99, 500])
def test_long_sentences_are_cut_and_keep_start_and_stop(n_words):
    tokens = Vocabulary(["a"]).encode(["a"] * n_words)
    assert len(tokens) == min(n_words + 2, MAX_TOKENS)
    assert tokens[0] == START
    assert tokens[-1] == STOP


# Batches


def test_batches_hold_every_document_once_and_one_length_each(own):
    documents = own.train[:1000]
    batches = make_batches(documents, 32, seed=0)
    assert sorted(i for batch in batches for i in batch) == list(range(1000))
    for batch in batches:
        assert len({len(documents[i]) for i in batch}) == 1
        assert len(batch) <= 32


def test_a_seed_shuffles_and_the_same_seed_repeats(own):
    documents = own.train[:500]
    assert make_batches(documents, 32, seed=0) == make_batches(documents, 32, seed=0)
    assert make_batches(documents, 32, seed=0) != make_batches(documents, 32, seed=1)
    lengths = [len(documents[batch[0]]) for batch in make_batches(documents, 32, seed=0)]
    assert lengths != sorted(lengths), "short sentences first would be another training"


def test_padding_stands_on_the_right():
    padded = pad_batch([[0, 5, 1], [0, 1]])
    assert padded.tolist() == [[0, 5, 1], [0, 1, PAD]]
    assert pad_batch([[0, 1]], length=4).tolist() == [[0, 1, PAD, PAD]]
    assert padded.dtype == torch.long


# Files


def test_missing_empty_binary_and_folder_get_a_sentence(tmp_path):
    (tmp_path / "empty").write_text("")
    (tmp_path / "blank").write_text(" \n\n  \n")
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    (tmp_path / "zeros").write_bytes(b"\0" * 100)
    for name, words in {
        "missing": "There is no file",
        "empty": "is empty",
        "blank": "is empty",
        "binary": "not text",
        "zeros": "not text",
        ".": "is a folder",
    }.items():
        with pytest.raises(CorpusError, match=words) as caught:
            read_sentences(tmp_path / name)
        assert "\n" not in str(caught.value)
        assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_windows_line_ends_are_no_words(tmp_path):
    (tmp_path / "f").write_bytes(b"a b .\r\nc d .\r\n")
    assert read_sentences(tmp_path / "f") == [["a", "b", "."], ["c", "d", "."]]


def test_files_of_another_size_are_refused_by_count(tmp_path):
    for split in ("train", "dev", "test"):
        (tmp_path / f"1b_benchmark.{split}.tokens").write_text("one sentence .\n")
    with pytest.raises(CorpusError, match=r"holds 1 sentences where .* 61,530"):
        load_corpus(tmp_path)


def test_a_named_folder_without_the_files_is_an_error(tmp_path, alone):
    with pytest.raises(CorpusError, match="There is no file"):
        load_corpus(tmp_path)


@pytest.mark.realdata
def test_the_real_corpus_has_its_known_counts():
    folder = find_real_data()
    if folder is None:
        pytest.skip("no real data: COURSE_DATA is not set and ../shared/data is absent")
    real = load_real(folder)
    assert len(real.vocabulary) == 26_604
    assert [len(real.train), len(real.dev), len(real.test)] == [61_530, 12_216, 12_105]
    assert max(map(len, real.train)) == MAX_TOKENS


# Which corpus


def test_course_data_is_used_when_it_has_the_files(tmp_path, alone, monkeypatch):
    (tmp_path / "lm1b").mkdir()
    monkeypatch.setenv("COURSE_DATA", str(tmp_path))
    with pytest.raises(CorpusError, match=r"1b_benchmark\.train"):
        load_corpus()


def test_course_data_for_another_notebook_does_not_stand_in_the_way(tmp_path, alone, monkeypatch):
    (tmp_path / "sst2").mkdir()
    monkeypatch.setenv("COURSE_DATA", str(tmp_path))
    assert load_corpus().name == "own"


def test_grading_always_uses_the_courses_own(tmp_path, alone, monkeypatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    assert load_corpus(tmp_path).name == "own"


def test_own_corpus_says_which_it_is_and_why(alone):
    loaded = load_corpus()
    assert "own corpus" in loaded.description
    assert "HF_HUB_OFFLINE" in loaded.description


def test_own_corpus_has_no_unknown_word(own):
    for split in (own.train, own.dev, own.test):
        assert not any(UNK in document for document in split)
    assert not any(UNK in own.vocabulary.encode(s) for s in own.sentences)


def test_quick_training_meets_every_word(own):
    seen = {token for document in own.train[:4000] for token in document}
    assert len(seen) > 0.95 * (len(own.vocabulary) - 2)


def test_without_the_hub_it_is_our_own_and_the_reason_is_said(alone, monkeypatch):
    """How the hub is asked is the business of course_utils.hub, and of its tests."""
    sentence = "The Hugging Face hub cannot be reached."
    monkeypatch.setattr(hub, "_find_problem", lambda name, kind: sentence)
    monkeypatch.setattr("datasets.load_dataset", None)
    loaded = load_corpus()
    assert loaded.name == "own" and loaded.description.endswith(sentence)


def test_the_hubs_paragraphs_become_sentences(alone, monkeypatch):
    import datasets

    text = ["", " = Title = \n", " A cat sat . It ran ! And \n"]
    fake = {split: {"text": text * 3} for split in ("train", "validation", "test")}
    monkeypatch.setattr(datasets, "load_dataset", lambda *names: fake)
    monkeypatch.setattr(hub, "_find_problem", lambda name, kind: None)
    loaded = load_corpus()
    assert loaded.name == "wikitext-2"
    assert loaded.vocabulary.decode(loaded.train[1]) == "<START> It ran ! <STOP>"
    assert list(split_paragraph(" = Title = ")) == []


def test_a_hub_that_fails_half_way_leads_to_our_own_and_says_so(alone, monkeypatch):
    import datasets

    def fail(*names):
        raise ConnectionError("cut off")

    monkeypatch.setattr(datasets, "load_dataset", fail)
    monkeypatch.setattr(hub, "_find_problem", lambda name, kind: None)
    loaded = load_corpus()
    assert loaded.name == "own"
    assert "cut off" in loaded.description
