"""The world: who is known, how often places occur, and files that are not what they should be."""

from collections import Counter

import pytest

from course_utils.pretraining.characters import MASK, PAD, Characters, UnknownCharacter
from course_utils.pretraining.world import (
    PLACES,
    REAL_COUNTS,
    WorldError,
    load_real,
    load_world,
    make_world,
)


def name_of(question):
    return question.text.removeprefix("Where was ").removesuffix(" born?")


def test_the_same_seed_gives_the_same_world_and_another_another():
    assert make_world(3).biographies == make_world(3).biographies
    assert make_world(3).biographies != make_world(4).biographies


def test_known_people_are_read_about_and_unknown_ones_are_not():
    world = make_world()
    for question in world.train + world.test:
        told = [text for text in world.biographies if name_of(question) in text]
        assert len(told) == len(set(told)) == 6
        assert all(question.place in text for text in told)
    for question in world.unknown:
        surname = name_of(question).split()[1]
        assert not any(f"{surname}" in text.split() for text in world.biographies)
    names = [name_of(q) for q in world.train + world.test + world.unknown]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("seed", range(1, 6))
def test_places_have_their_shares_whatever_the_seed(seed):
    world = make_world(seed)
    assert sum(PLACES.values()) == 100
    for questions in (world.train, world.test, world.unknown):
        counts = Counter(question.place for question in questions)
        assert counts.most_common(1) == [("Arlen", round(0.2 * len(questions)))]
        for place, share in PLACES.items():
            assert abs(counts[place] - len(questions) * share / 100) < 1


def test_texts_fit_the_block_and_hold_neither_sign():
    world = make_world()
    longest = max(len(q.text + q.place) for q in world.train + world.test + world.unknown)
    assert longest + 2 <= world.block_size
    assert not any(MASK in text or PAD in text for text in world.biographies)


def test_characters_go_there_and_back():
    characters = Characters(["Zoë"])
    text = f"Zoë was 7{MASK}born?{PAD}"
    assert characters.decode(characters.encode(text)) == text
    assert characters.encode(PAD) == [characters.pad]
    with pytest.raises(UnknownCharacter, match="'ж'"):
        characters.encode("ж")


def write_real(folder, **changes):
    folder = folder / "cs224n_a5"
    folder.mkdir()
    for name, count in REAL_COUNTS.items():
        line = (
            "Ada Ro. Ada Ro was born in Riga ."
            if name == "wiki.txt"
            else "Where was Ada Ro born?\tRiga"
        )
        (folder / name).write_text(changes.get(name, f"{line}\n" * count), "utf-8")
    return folder


def test_real_files_are_read(tmp_path, monkeypatch):
    write_real(tmp_path)
    world = load_real(tmp_path)
    assert (len(world.biographies), len(world.train), len(world.test)) == (2937, 2000, 500)
    assert world.train[0].place == "Riga" and {q.place for q in world.unknown} == {"Riga"}
    monkeypatch.setenv("COURSE_DATA", str(tmp_path))
    assert load_world().name == "real"
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    assert load_world().name == "own"


@pytest.mark.parametrize(
    "change, words",
    [
        ({"wiki.txt": "one line\n"}, "holds 1 lines"),
        ({"birth_dev.tsv": "Where was Ada born? Riga\n" * 500}, "a question, a tab and a place"),
        ({"wiki.txt": f"a {MASK} b\n" * 2937}, "stand for something else"),
    ],
)
def test_files_that_are_something_else_get_a_sentence(tmp_path, change, words):
    write_real(tmp_path, **change)
    with pytest.raises(WorldError, match=words):
        load_real(tmp_path)


def test_missing_and_compressed_files_get_a_sentence(tmp_path):
    with pytest.raises(WorldError, match="There is no file"):
        load_real(tmp_path)
    folder = write_real(tmp_path)
    (folder / "wiki.txt").write_bytes(b"\x1f\x8b\xff")
    with pytest.raises(WorldError, match="UTF-8"):
        load_real(tmp_path)
