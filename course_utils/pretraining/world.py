"""What there is to read and to ask: a small world of our own, or the real birthplaces.

In our own world everything is made up and drawn from one seed. Each *known* person has several
short biographies, worded differently. Some of the known people also have a question whose answer is
learned from (`train`), the others one that is only asked (`test`). *Unknown* people have a place
too, but nobody wrote about them: whatever a model says of them, it cannot know it.

    world = make_world(seed=1)
    world.biographies[0]   # "Hugo Fugen grew up in Elspo."
    world.train[0]         # Question(text="Where was Hugo Fugen born?", place="Elspo")
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from course_utils import runtime
from course_utils.pretraining.characters import MASK, PAD, Characters

BLOCK_SIZE = 128  # characters that a model reads at once

# A few places are far more frequent than the others: the number is a place's share of 100 people.
PLACES = {
    "Arlen": 20, "Bostra": 12, "Corvik": 8, "Dunmar": 6, "Elspo": 6, "Fenrow": 6, "Galdin": 6,
    "Hestra": 6, "Ilmar": 6, "Jorund": 6, "Kelmo": 6, "Lindow": 6, "Morvan": 6,
}  # fmt: skip
FIRST_NAMES = (
    "Ada", "Ben", "Cleo", "Dora", "Emil", "Finn", "Gwen", "Hugo", "Ida", "Jan", "Kira", "Leo",
    "Mara", "Nils", "Olga", "Paul", "Rosa", "Sven", "Tara", "Uwe",
)  # fmt: skip
BEGINNINGS = (
    "B", "Br", "D", "Dr", "F", "Fr", "G", "Gr", "H", "K", "Kl", "L", "M", "N", "P", "R", "S",
    "St", "T", "V",
)  # fmt: skip
VOWELS = (
    "a", "e", "i", "o", "u",
)  # fmt: skip
MIDDLES = (
    "b", "d", "g", "k", "l", "ld", "lm", "m", "n", "nd", "r", "rn", "s", "st", "t", "v", "z",
)  # fmt: skip
ENDINGS = (
    "a", "an", "e", "el", "en", "er", "i", "in", "o", "on", "or", "us",
)  # fmt: skip
TRADES = (
    "baker", "cook", "doctor", "judge", "nurse", "painter", "pilot", "poet", "singer",
    "teacher",
)  # fmt: skip

WORDINGS = (
    "{name} was born in {place}.",
    "{name} comes from {place}.",
    "{name}, a {trade}, was born in {place}.",
    "{name} is a {trade} from {place}.",
    "{name} grew up in {place}.",
    "The home of {name} is {place}.",
    "The {trade} {name} was born in {place}.",
    "Born: {name}, in {place}.",
    "In {place}, {name} was born.",
)
QUESTION = "Where was {name} born?"

# What the real files must hold.
REAL_FOLDER = "cs224n_a5"
REAL_COUNTS = {"wiki.txt": 2_937, "birth_places_train.tsv": 2_000, "birth_dev.tsv": 500}


class WorldError(ValueError):
    """Files that cannot be used, said in one sentence."""


@dataclass(frozen=True)
class Person:
    """Somebody made up."""

    name: str
    place: str
    trade: str

    def describe(self, wording: str) -> str:
        """Return a biography in this wording."""
        return wording.format(name=self.name, place=self.place, trade=self.trade)

    def ask(self) -> Question:
        """Return the question about this person, with its answer."""
        return Question(QUESTION.format(name=self.name), self.place)


@dataclass(frozen=True)
class Question:
    """A question and its right answer."""

    text: str
    place: str


@dataclass
class World:
    """All there is to read, and three lists of questions."""

    name: str
    description: str
    biographies: list[str]
    train: list[Question]  # to finetune on
    test: list[Question]  # people who have biographies, but whose question is not trained on
    unknown: list[Question]  # people who are in no biography
    block_size: int = BLOCK_SIZE
    vocabulary: Characters = field(init=False)

    def __post_init__(self):
        asked = [q.text + q.place for q in (*self.train, *self.test, *self.unknown)]
        self.vocabulary = Characters([*self.biographies, *asked])
        for text in (*self.biographies, *asked):
            if MASK in text or PAD in text:
                raise WorldError(
                    f"{MASK} and {PAD} stand for something else here; {text!r} has one."
                )


def load_world(folder: str | Path | None = None) -> World:
    """Load the real people and places where `folder` or `COURSE_DATA` has them, else our own world.

    While being graded it is always our own.
    """
    if runtime.where() == "autograder":
        return make_world()
    if folder is not None:
        return load_real(Path(folder))
    data = runtime.data_dir()
    if data is not None and ((data / REAL_FOLDER).is_dir() or (data / "wiki.txt").exists()):
        return load_real(data)
    return make_world()


# ------------------------------------------------------------------------------ our own world


def make_world(
    seed: int = 1,
    n_train: int = 80,
    n_test: int = 60,
    n_unknown: int = 100,
    n_biographies: int = 6,
) -> World:
    """Make up people, and write about all but the unknown ones."""
    rng = random.Random(seed)
    surnames = iter(make_surnames(n_train + n_test + n_unknown, rng))
    trained, tested, unknown = (
        make_people(surnames, count, rng) for count in (n_train, n_test, n_unknown)
    )
    biographies = [
        person.describe(wording)
        for person in trained + tested
        for wording in rng.sample(WORDINGS, n_biographies)
    ]
    return World(
        name="own",
        description=(
            f"A world of our own, made up from seed {seed}: {n_train + n_test} people with "
            f"{n_biographies} short biographies each, {len(PLACES)} places; {n_train} questions to "
            f"finetune on, {n_test} about other people with biographies, {n_unknown} about people "
            "of whom nothing was written."
        ),
        biographies=biographies,
        train=[person.ask() for person in trained],
        test=[person.ask() for person in tested],
        unknown=[person.ask() for person in unknown],
    )


def make_surnames(count: int, rng: random.Random) -> list[str]:
    """Make up surnames of two syllables, no two the same."""
    surnames: dict[str, None] = {}
    while len(surnames) < count:
        parts = (BEGINNINGS, VOWELS, MIDDLES, ENDINGS)
        surnames["".join(rng.choice(part) for part in parts)] = None
    return list(surnames)


def make_people(surnames: Iterator[str], count: int, rng: random.Random) -> list[Person]:
    """Make up people; each place gets its share of them, whatever the seed."""
    return [
        Person(f"{rng.choice(FIRST_NAMES)} {next(surnames)}", place, rng.choice(TRADES))
        for place in share_out_places(count, rng)
    ]


def share_out_places(count: int, rng: random.Random) -> list[str]:
    """Return so many places in random order, each as often as its share says."""
    total = sum(PLACES.values())
    exact = {place: count * share / total for place, share in PLACES.items()}
    counts = {place: int(number) for place, number in exact.items()}
    missing = count - sum(counts.values())
    for place in sorted(PLACES, key=lambda place: counts[place] - exact[place])[:missing]:
        counts[place] += 1  # those that rounding down hurt most
    places = [place for place, number in counts.items() for _ in range(number)]
    rng.shuffle(places)
    return places


# ------------------------------------------------------------------------------ the real data


def load_real(folder: Path) -> World:
    """Read the real files, and make sure by their counts that they are whole.

    Unknown people are made up: no real text mentions them. Their places are drawn from those of
    the questions, so that a lucky guess is as likely as it is for anybody.
    """
    files = folder / REAL_FOLDER if (folder / REAL_FOLDER).is_dir() else folder
    lines = {name: read_lines(files / name) for name in REAL_COUNTS}
    for name, count in REAL_COUNTS.items():
        if len(lines[name]) != count:
            raise WorldError(
                f"{files / name} holds {len(lines[name]):,} lines where the course's file has "
                f"{count:,}: it is another file, or not all of it."
            )
    train = read_questions(lines["birth_places_train.tsv"], files / "birth_places_train.tsv")
    rng = random.Random(0)
    unknown = [
        Question(person.ask().text, rng.choice(train).place)
        for person in make_people(iter(make_surnames(200, rng)), 200, rng)
    ]
    return World(
        name="real",
        description=(
            f"Real people and birthplaces, read from files: {len(lines['wiki.txt']):,} lines of "
            f"text, {len(train):,} questions to finetune on, "
            f"{len(lines['birth_dev.tsv']):,} about other people."
        ),
        biographies=lines["wiki.txt"],
        train=train,
        test=read_questions(lines["birth_dev.tsv"], files / "birth_dev.tsv"),
        unknown=unknown,
    )


def read_lines(path: Path) -> list[str]:
    """Read the lines of a text file, or say in a sentence why that is impossible."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise WorldError(f"There is no file {path}.") from None
    except IsADirectoryError:
        raise WorldError(f"{path} is a folder, not a text file.") from None
    except UnicodeDecodeError:
        raise WorldError(f"{path} is not text in UTF-8; is it still compressed?") from None
    return [line for line in text.split("\n") if line.strip()]


def read_questions(lines: Sequence[str], path: Path) -> list[Question]:
    """Read one question and its answer from each line, with a tab between them."""
    questions = []
    for number, line in enumerate(lines, 1):
        parts = line.split("\t")
        if len(parts) != 2:
            raise WorldError(
                f"{path}, line {number}: there should be a question, a tab and a place."
            )
        questions.append(Question(parts[0].strip(), parts[1].strip()))
    return questions


def find_places(questions: Sequence[Question]) -> list[tuple[str, int]]:
    """Return the places of some questions with how often they occur, the most frequent first."""
    return Counter(question.place for question in questions).most_common()
