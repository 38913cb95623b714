"""The course's own language: a small grammar whose every sentence has a known probability.

Sentences agree in number across other nouns, open and close quotations, and bring names and
things back, so that a model which cannot look back pays for it. Since the grammar is ours, the
entropy of its sentences is known exactly, and so is the best perplexity that any model can reach.

A rule is a list of (weight, right-hand side). On a right-hand side, names in capitals are rules
or classes of words, `CLASS:x` remembers the chosen word as x (never one that is remembered
already), `@x` brings it back, and anything else is itself a word:

    "TALE": [(1, "GIRL:a met BOY:b , and she thanked @b .")]

No rule reaches itself, so the ways to build a sentence (its *frames*) can all be listed. No word
is in two classes and no two frames look alike, so a sentence has one frame, and its probability
is that of the frame times that of each choice of a word.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from functools import cache


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _with_s(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word + "s" for word in words)


_THING = _words("""
    lamp ladder bottle basket button candle carpet chair coin cup curtain drum feather flag flute
    hammer hat helmet jacket jar kettle key kite letter map mirror mug napkin needle notebook paddle
    pan pencil pillow pipe plate pot puzzle ribbon ring rope sail scarf shirt shovel spoon stamp
    sword table teapot ticket towel trumpet parasol vase violin wheel whistle window
""")
_PERSON = _words("""
    baker barber captain carpenter clerk cook dancer doctor driver farmer fisher gardener guard
    hunter judge king lawyer miller miner neighbour nurse painter pilot pirate poet potter priest
    queen rider sailor scholar shepherd singer smith soldier student tailor teacher weaver writer
""")
_ANIMAL = _words("""
    badger bear beetle camel cat cow crab crow dog donkey duck eagle frog goat hamster hen horse
    lion lizard monkey otter owl parrot pigeon rabbit raven seal snail spider tiger toad turtle
""")
_ACT = _words("""
    sleep wait smile sing jump shiver laugh yawn sneeze stumble wander listen whisper tremble hum
    swim sit stand run climb rest dream grumble mumble sigh blink limp nod kneel sulk
""")
_ADMIRE = _words("""
    admire need want draw hide count borrow clean collect cover describe deserve enjoy follow
    repair hate ignore keep like mend move pick prefer respect trust
""")

CLASSES: dict[str, tuple[str, ...]] = {
    "GIRL": _words("""
        Ada Alma Anja Berta Bela Cora Clara Dina Dora Edda Elin Emma Erna Fay Flora Frida Gerda
        Greta Hanna Hedda Hilda Ida Ina Inga Iris Jana Julia Karin Kira Lara Lena Lotta Lucy Maja
        Marta Mila Mira Nadja Nora Olga Paula Petra Rita Rosa Runa Selma Sonja Tara Thea Tilda
        Ursa Vera Viola Wanda Yara Zita
    """),
    "BOY": _words("""
        Adam Alan Anton Aron Axel Boris Bruno Carl Cyril David Dirk Egon Emil Erik Felix Franz
        Gerd Gustav Hans Hektor Henk Hugo Igor Ivan Jakob Jan Jonas Josef Karl Klaus Kurt Lars
        Leo Linus Ludwig Magnus Marek Max Milo Nils Olaf Oscar Otto Paul Peter Ralf Rolf Rudi
        Simon Sven Theo Timo Tom Ulf Viktor Xaver
    """),
    "THING_S": _THING,
    "THING_P": _with_s(_THING),
    "PERSON_S": _PERSON,
    "PERSON_P": _with_s(_PERSON),
    "ANIMAL_S": _ANIMAL,
    "ANIMAL_P": _with_s(_ANIMAL),
    "ACTS": _with_s(_ACT),
    "ACT": _ACT,
    "ADMIRES": _with_s(_ADMIRE),
    "ADMIRE": _ADMIRE,
    "PLACE": _words("""
        harbour market garden bridge tower forest village station school library kitchen cellar
        attic stable mill bakery castle church museum theatre river lake valley hill meadow square
        gate well barn inn palace prison temple island cave workshop orchard courtyard airport beach
    """),
    "ADJECTIVE": _words("""
        red green blue yellow worn new tiny huge heavy broken shiny dusty wooden golden silver
        narrow round flat curious plain rare cheap costly strange lovely fancy rusty smooth soft
        crooked famous forgotten painted hollow warm cold spotless dark pale striped
    """),
    "ADVERB": _words("""
        quietly slowly again outside alone gladly sadly badly loudly softly calmly eagerly bravely
        lazily politely rarely secretly suddenly together twice
    """),
    "GAVE": _words("gave handed lent sold offered brought promised threw passed left"),
    "LOST": _words("lost dropped broke burned forgot buried ruined misplaced"),
    "HELPED": _words(
        "helped comforted scolded thanked teased forgave visited called hugged warned"
    ),
    "SAW": _words(
        "saw found fed chased greeted heard noticed photographed praised caught counted missed"
    ),
    "SAID": _words("said cried murmured shouted answered explained insisted claimed"),
    "NEAR": _words("near behind beside under above opposite"),
}

# Girls and boys have rules of their own where a pronoun must agree with the name.
RULES: dict[str, list[tuple[float, str]]] = {
    "SENTENCE": [(4, "TALE"), (3, "TALK"), (3, "SCENE"), (2, "RIDDLE")],
    # Names and things come back.
    "TALE": [
        (1, "GIRL:a met FRIEND WHERE , and she GAVE @b a ADJECTIVE:j THING_S:t . AFTERWARDS"),
        (1, "BOY:a met FRIEND WHERE , and he GAVE @b a ADJECTIVE:j THING_S:t . AFTERWARDS"),
    ],
    "FRIEND": [(1, "GIRL:b"), (1, "BOY:b")],
    "WHERE": [(2, "in the PLACE"), (1, "NEAR the PLACE"), (1, "")],
    "AFTERWARDS": [
        (1, "Later @b LOST the @t , so @a HELPED @b ."),
        (1, "Later @b showed the @j @t to THIRD , and @c HELPED @a ."),
        (1, "Now @b has the @t , but @a still ADMIRES it ."),
    ],
    "THIRD": [(1, "GIRL:c"), (1, "BOY:c")],
    # Quotations close, and the second speaker takes up what the first one spoke of.
    "TALK": [
        (1, "GIRL:a SAID : CLAIM Then FRIEND SAID : REPLY"),
        (1, "BOY:a SAID : CLAIM Then FRIEND SAID : REPLY"),
    ],
    "CLAIM": [
        (2, '" I ADMIRE:v the THING_S:t WHERE . "'),
        (1, '" The PERSON_P ADMIRE:v the THING_S:t . "'),
    ],
    "REPLY": [
        (2, '" I ADMIRE the @t too , @a . "'),
        (1, '" Why do you @v the @t , @a ? "'),
    ],
    # The verb agrees with its subject, whatever stands between them.
    "SCENE": [
        (1, "The ANIMAL_S:n BETWEEN ACTS ADVERB , and the @n WITNESS_S ."),
        (1, "The ANIMAL_P:n BETWEEN ACT ADVERB , and the @n WITNESS_P ."),
        (1, "The PERSON_S:n BETWEEN ACTS ADVERB , and the @n WITNESS_S ."),
        (1, "The PERSON_P:n BETWEEN ACT ADVERB , and the @n WITNESS_P ."),
    ],
    "BETWEEN": [
        (2, ""),
        (1, "NEAR the THING_S"),
        (1, "NEAR the THING_P"),
        (1, "that GIRL:a SAW"),
        (1, "that BOY:a SAW"),
    ],
    "WITNESS_S": [(1, "ADMIRES the PLACE"), (1, "is ADJECTIVE")],
    "WITNESS_P": [(1, "ADMIRE the PLACE"), (1, "are ADJECTIVE")],
    # A question that the sentence has answered already.
    "RIDDLE": [
        (1, "OWNERS . Who has the @t ? It is @a ."),
        (1, "OWNERS . Who has the @u ? It is @b ."),
    ],
    "OWNERS": [
        (1, "GIRL:a has a THING_S:t and FRIEND has a THING_S:u"),
        (1, "BOY:a has a THING_S:t and FRIEND has a THING_S:u"),
    ],
}


@cache
def list_frames() -> tuple[tuple[float, tuple[str, ...]], ...]:
    """List every frame of a sentence with its probability: ((p, slots), ...).

    A slot is a word, a class of words ("CLASS" or "CLASS:x") or a word brought back ("@x").
    """
    return tuple(_expand("SENTENCE"))


def _expand(symbol: str) -> Iterator[tuple[float, tuple[str, ...]]]:
    """Yield every (probability, slots) that a symbol can become."""
    if symbol not in RULES:
        yield 1.0, (symbol,)
        return
    total = sum(weight for weight, _ in RULES[symbol])
    for weight, side in RULES[symbol]:
        partial = [(weight / total, ())]
        for part in side.split():
            partial = [(p * q, so_far + more) for p, so_far in partial for q, more in _expand(part)]
        yield from partial


def _count_choices(frame: tuple[str, ...]) -> list[int]:
    """Return, for each choice of a word in a frame, how many words there are to choose from."""
    remembered: dict[str, int] = {}
    counts = []
    for slot in frame:
        name, _, memory = slot.partition(":")
        if name in CLASSES:
            counts.append(len(CLASSES[name]) - (remembered.get(name, 0) if memory else 0))
            if memory:
                remembered[name] = remembered.get(name, 0) + 1
    return counts


def compute_entropy() -> float:
    """Return the exact entropy of a token, in nats: no model can have a lower expected loss.

    It is the entropy of a sentence over its expected number of tokens, the STOP counted.
    """
    entropy = tokens = 0.0
    for p, frame in list_frames():
        entropy += p * (-math.log(p) + sum(math.log(n) for n in _count_choices(frame)))
        tokens += p * (len(frame) + 1)
    return entropy / tokens


def generate_sentences(n: int, seed: int) -> tuple[list[list[str]], list[float]]:
    """Return n sentences, each a list of words, and the exact loss of each (-log p, in nats)."""
    dice = random.Random(seed)
    frames = list_frames()
    losses = [-math.log(p) + sum(map(math.log, _count_choices(frame))) for p, frame in frames]
    picks = dice.choices(range(len(frames)), weights=[p for p, _ in frames], k=n)
    return [_fill(frames[i][1], dice) for i in picks], [losses[i] for i in picks]


def _fill(frame: tuple[str, ...], dice: random.Random) -> list[str]:
    """Choose a word for every slot of a frame."""
    memory: dict[str, str] = {}
    words = []
    for slot in frame:
        name, _, key = slot.partition(":")
        if slot.startswith("@"):
            words.append(memory[slot[1:]])
        elif name in CLASSES:
            word = dice.choice(CLASSES[name])
            while key and word in memory.values():
                word = dice.choice(CLASSES[name])
            if key:
                memory[key] = word
            words.append(word)
        else:
            words.append(slot)
    return words
