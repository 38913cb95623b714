"""The course's own language pair: a small grammar that writes German and English side by side.

A rule is (weight, German side, English side). Names in capitals are rules themselves: the same name
on both sides stands for the same piece of meaning, wherever each language puts it. `a|b` on the
English side stands for words of one meaning, each as likely as the others:

    "SENTENCE": [(3, "MAIN , LINK FINAL .", "MAIN LINK FINAL .")]
    "LINK": [(1, "weil", "because|since")]

What makes German hard is all here. In a subordinate clause the verb comes last (*weil der koch den
hund sieht*). A separable verb leaves its prefix at the end, where it decides on the meaning (*macht
das fenster auf*, *macht das fenster zu*). Articles and adjectives agree with their noun.

A German sentence has one meaning, so nothing is left to chance but the choice between words of one
meaning. The best possible loss of a translator is therefore known exactly.
"""

from __future__ import annotations

import math
import random
import re
from functools import cache

Rule = tuple[float, str, str]  # weight, German side, English side

# Nouns: gender, singular, plural | English singular, plural
_BEINGS = """
m koch köche | cook cooks; m arzt ärzte | doctor|physician doctors|physicians; m maler maler | painter painters
m bauer bauern | farmer farmers; m sohn söhne | son sons; m hund hunde | dog dogs
m dieb diebe | thief thieves; m könig könige | king kings; m wirt wirte | landlord landlords
f frau frauen | woman women; f lehrerin lehrerinnen | teacher teachers; f katze katzen | cat cats
f tante tanten | aunt aunts; f richterin richterinnen | judge judges; f ziege ziegen | goat goats
f tochter töchter | daughter daughters; f königin königinnen | queen queens
n kind kinder | child children; n pferd pferde | horse horses; n huhn hühner | hen hens
n baby babys | baby babies; n mädchen mädchen | girl girls
"""
_THINGS = """
m brief briefe | letter letters; m koffer koffer | suitcase suitcases; m korb körbe | basket baskets
m schrank schränke | cupboard cupboards; m ring ringe | ring rings; m stuhl stühle | chair chairs
m topf töpfe | pot pots; m schirm schirme | umbrella umbrellas; f tür türen | door doors
f flasche flaschen | bottle bottles; f tasche taschen | bag bags; f kiste kisten | box boxes
f lampe lampen | lamp lamps; f uhr uhren | clock clocks; f geige geigen | violin violins
f karte karten | map maps; n fenster fenster | window windows; n buch bücher | book books
n fahrrad fahrräder | bicycle|bike bicycles|bikes; n bild bilder | picture pictures
n messer messer | knife knives; n glas gläser | glass glasses; n boot boote | boat boats
"""
# Adjectives: what they may describe, the word without its ending | English
_ADJECTIVES = """
any klein | small|little; any groß | big|large; any neu | new; any alt | old
any schön | beautiful|pretty; being müd | tired; being still | quiet|silent; being jung | young
being klug | clever|smart; being stark | strong; being freundlich | friendly
thing rot | red; thing grün | green; thing weiß | white; thing schwarz | black
thing schwer | heavy; thing leicht | light; thing billig | cheap; thing rund | round
"""
# Verbs: what they act on, singular, plural (and infinitive), participle, prefix if it has one
# | English with a singular subject, plural subject (and infinitive), participle.
# Verbs of one stem act on the same kind: only the prefix tells them apart.
_VERBS = """
thing macht machen gemacht auf | opens open opened
thing macht machen gemacht zu | closes close closed
thing nimmt nehmen genommen an | accepts accept accepted
thing nimmt nehmen genommen mit | takes_along take_along taken_along
thing nimmt nehmen genommen weg | removes remove removed
thing stellt stellen gestellt her | makes make made
thing stellt stellen gestellt um | moves move moved
thing stellt stellen gestellt vor | presents present presented
thing wirft werfen geworfen um | upsets upset upset
thing wirft werfen geworfen weg | throws_away throw_away thrown_away
thing gibt geben gegeben weiter | passes_on pass_on passed_on
thing gibt geben gegeben zurück | returns return returned
being ruft rufen gerufen an | phones phone phoned
being ruft rufen gerufen herbei | summons summon summoned
being lädt laden geladen aus | uninvites uninvite uninvited
being lädt laden geladen ein | invites invite invited
being lacht lachen gelacht an | smiles_at smile_at smiled_at
being lacht lachen gelacht aus | mocks mock mocked
being holt holen geholt ab | picks_up pick_up picked_up
being holt holen geholt ein | overtakes overtake overtaken
thing findet finden gefunden | finds find found
thing kauft kaufen gekauft | buys buy bought
thing braucht brauchen gebraucht | needs need needed
thing putzt putzen geputzt | cleans clean cleaned
being sieht sehen gesehen | sees see seen
being liebt lieben geliebt | loves love loved
being kennt kennen gekannt | knows know known
being fragt fragen gefragt | asks ask asked
"""
_PLACES = """
im garten | in the garden; in der küche | in the kitchen; auf dem markt | at the market
am bahnhof | at the station; im wald | in the forest; in der schule | at school
am see | by the lake; auf der brücke | on the bridge
"""
_TIMES = """
heute | today; gestern nacht | last night; oft | often; manchmal | sometimes; jetzt | now
plötzlich | suddenly; später | later; am abend | in the evening
"""
_ARTICLES = {  # with their case: masculine, feminine, neuter, plural
    ("the", "nominative"): "der die das die",
    ("the", "accusative"): "den die das die",
    ("a", "nominative"): "ein eine ein viele",
    ("a", "accusative"): "einen eine ein viele",
}
_ENDINGS = {  # of an adjective after that article
    ("the", "nominative"): "e e e en",
    ("the", "accusative"): "en e e en",
    ("a", "nominative"): "er e es e",
    ("a", "accusative"): "en e es e",
}
_SENTENCES = [
    (4, "MAIN .", "MAIN ."),
    (3, "TIME INVERTED .", "TIME INVERTED ."),
    (3, "MAIN , LINK FINAL .", "MAIN LINK FINAL ."),
    (2, "wenn FINAL , INVERTED .", "when FINAL , INVERTED ."),
    (2, "SAYS , dass FINAL .", "SAYS that FINAL ."),
    (1, "wenn FINAL , LINK FINAL2 , INVERTED .", "when FINAL LINK FINAL2 , INVERTED ."),
    (1, "SAYS , dass FINAL , LINK FINAL2 .", "SAYS that FINAL LINK FINAL2 ."),
]
_LINKS = [
    (1, "weil", "because|since"),
    (1, "obwohl", "although|though"),
    (1, "während", "while"),
]


@cache
def list_rules() -> dict[str, tuple[Rule, ...]]:
    """Return the whole grammar: for the name of each rule, what it can become."""
    rules: dict[str, list[Rule]] = {"SENTENCE": _SENTENCES, "LINK": _LINKS}
    rules["WHERE"] = [(12, "", ""), *((1, de, en) for de, en in _read(_PLACES))]
    rules["TIME"] = [(1, de, en) for de, en in _read(_TIMES)]
    for kind, nouns in (("being", _BEINGS), ("thing", _THINGS)):
        rules |= _make_adjectives(kind) | _make_noun_phrases(kind, nouns)
    return {name: tuple(sides) for name, sides in (rules | _make_clauses()).items()}


def _read(table: str) -> list[tuple[str, str]]:
    """Read the entries of a table: [(German, English), ...]."""
    entries = [entry for entry in re.split(r"[;\n]", table) if entry.strip()]
    return [tuple(side.strip() for side in entry.split(" | ")) for entry in entries]


def _make_adjectives(kind: str) -> dict[str, list[Rule]]:
    """Make one rule per ending: "THING_E", "THING_EN" and so on, or no adjective at all."""
    known = [(de.split()[1], en) for de, en in _read(_ADJECTIVES) if de.split()[0] in ("any", kind)]
    return {
        f"{kind}_{ending}".upper(): [
            (2 * len(known), "", ""),
            *((1, stem + ending, english) for stem, english in known),
        ]
        for ending in ("e", "en", "er", "es")
    }


def _make_noun_phrases(kind: str, nouns: str) -> dict[str, list[Rule]]:
    """Make an article, perhaps an adjective, and a noun: as subject (one or several), as object."""
    rules: dict[str, list[Rule]] = {"ONE": [], "SEVERAL": [], "OBJECT": []}
    for german, english in _read(nouns):
        gender, *forms = german.split()
        for number, (noun, translated) in enumerate(zip(forms, english.split(), strict=True)):
            form = 3 if number else "mfn".index(gender)
            for (article, case), articles in _ARTICLES.items():
                word = articles.split()[form]
                adjective = f"{kind}_{_ENDINGS[article, case].split()[form]}".upper()
                theirs = "many" if number and article == "a" else article
                role = "OBJECT" if case == "accusative" else "SEVERAL" if number else "ONE"
                rules[role].append(
                    (
                        2 - (article == "a"),
                        f"{word} {adjective} {noun}",
                        f"{theirs} {adjective} {translated}",
                    )
                )
    return {f"{role}_{kind}".upper(): sides for role, sides in rules.items()}


def _make_clauses() -> dict[str, list[Rule]]:
    """Make a clause of each verb, number and tense in three orders: MAIN, INVERTED and FINAL."""
    rules: dict[str, list[Rule]] = {"MAIN": [], "INVERTED": [], "FINAL": [], "SAYS": []}
    for german, english in _read(_VERBS):
        kind, one, several, participle, *prefix = german.split()
        prefix = "".join(prefix)
        theirs = [verb.replace("_", " ") for verb in english.split()]
        for subject, verb, their_verb, has, their_has, will, their_will in (
            ("ONE_BEING", one, theirs[0], "hat", "has", "will", "wants"),
            ("SEVERAL_BEING", several, theirs[1], "haben", "have", "wollen", "want"),
        ):
            what = f"OBJECT_{kind}".upper()
            for weight, first, last, joined, translated in (
                (3, verb, prefix, prefix + verb, their_verb),
                (1, has, prefix + participle, f"{prefix}{participle} {has}", f"{their_has} {theirs[2]}"),
                (1, will, prefix + several, f"{prefix}{several} {will}", f"{their_will} to {theirs[1]}"),
            ):  # fmt: skip
                meaning = f"{subject} {translated} {what} WHERE"
                rules["MAIN"].append((weight, f"{subject} {first} {what} WHERE {last}", meaning))
                rules["INVERTED"].append(
                    (weight, f"{first} {subject} {what} WHERE {last}", meaning)
                )
                rules["FINAL"].append((weight, f"{subject} {what} WHERE {joined}", meaning))
    for one, several, theirs in (
        ("glaubt", "glauben", "believes|thinks believe|think"),
        ("weiß", "wissen", "knows know"),
        ("hofft", "hoffen", "hopes hope"),
    ):
        their_one, their_several = theirs.split()
        rules["SAYS"].append((1, f"ONE_BEING {one}", f"ONE_BEING {their_one}"))
        rules["SAYS"].append((1, f"SEVERAL_BEING {several}", f"SEVERAL_BEING {their_several}"))
    rules["FINAL2"] = [(1, "FINAL", "FINAL")]  # a second one in the same sentence
    return rules


def generate_pairs(n: int, seed: int) -> tuple[list[tuple[list[str], list[str]]], list[float]]:
    """Return n pairs (German words, English words), and the exact loss of each (-log p, in nats)."""
    dice = random.Random(seed)
    made = [_expand("SENTENCE", dice) for _ in range(n)]
    return [(german, _write_articles(english)) for german, english, _ in made], [
        loss for _, _, loss in made
    ]


def _expand(name: str, dice: random.Random) -> tuple[list[str], list[str], float]:
    """Follow a rule down to words: (German, English, -log p of the English given the German)."""
    rules = list_rules()
    ((_, german, english),) = dice.choices(rules[name], weights=_weights(name))
    parts = {part: _expand(part, dice) for part in german.split() if part in rules}
    loss = sum(part_loss for _, _, part_loss in parts.values())
    source, target = [], []
    for word in german.split():
        source += parts[word][0] if word in parts else [word]
    for word in english.split():
        choices = word.split("|")
        target += parts[word][1] if word in parts else [dice.choice(choices)]
        loss += 0.0 if word in parts else math.log(len(choices))
    return source, target, loss


@cache
def _weights(name: str) -> list[float]:
    return [weight for weight, _, _ in list_rules()[name]]


def _write_articles(english: list[str]) -> list[str]:
    """Write "an" before a vowel."""
    following = [*english[1:], ""]
    return [
        "an" if word == "a" and after[0] in "aeiou" else word
        for word, after in zip(english, following, strict=True)
    ]


def compute_entropy() -> float:
    """Return the exact best loss per token, in nats: no translator can expect a lower one.

    It is the entropy of a translation, given the German, over its expected number of tokens, the
    STOP counted.
    """
    entropy, tokens = _expect("SENTENCE")
    return entropy / (tokens + 1)


@cache
def _expect(name: str) -> tuple[float, float]:
    """Return the expected loss and the expected number of English words of a rule."""
    rules = list_rules()
    total = sum(_weights(name))
    loss = tokens = 0.0
    for weight, _, english in rules[name]:
        for word in english.split():
            expected = _expect(word) if word in rules else (math.log(len(word.split("|"))), 1.0)
            loss += weight / total * expected[0]
            tokens += weight / total * expected[1]
    return loss, tokens
