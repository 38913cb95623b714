"""The words of the course's own film reviews, by what they are said of and which way they lean."""

from __future__ import annotations

from dataclasses import dataclass

POSITIVE, NEGATIVE = 1, 0  # the labels everywhere in the course


@dataclass(frozen=True)
class Topic:
    """Things of one kind, with the adjectives and verb phrases that suit them.

    Adjectives and verb phrases are indexed by label: `adjectives[POSITIVE]`. The verb of a phrase
    is its first word, in the plain form.
    """

    singular: tuple[str, ...]
    plural: tuple[str, ...]
    adjectives: tuple[tuple[str, ...], tuple[str, ...]]  # (negative, positive)
    verbs: tuple[tuple[str, ...], tuple[str, ...]]


def _split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(","))


TOPICS = (
    Topic(
        _split(
            "the story, the plot, the script, the premise, the mystery, the screenplay, the ending"
        ),
        _split("the twists, the subplots, the last ten minutes, the final scenes"),
        (
            _split(
                "predictable, muddled, contrived, threadbare, implausible, formulaic, incoherent, "
                "half-baked, recycled, bloated, shapeless, far-fetched, confusing, hackneyed, trite"
            ),
            _split(
                "gripping, clever, inventive, taut, surprising, well-built, absorbing, intricate, "
                "satisfying, coherent, ingenious, suspenseful, layered, tantalising, original"
            ),
        ),
        (
            _split(
                "fall apart, drag on, run out of steam, go nowhere, lose the thread, "
                "insult your intelligence, make no sense"
            ),
            _split(
                "keep you guessing, hold together, pay off, grip you from the start, "
                "surprise you at every turn, reward your attention, stay with you"
            ),
        ),
    ),
    Topic(
        _split("the acting, the lead performance, the supporting cast, the casting, the chemistry"),
        _split("the actors, the performances, the two leads, the child actors, the villains"),
        (
            _split(
                "wooden, stiff, unconvincing, hammy, listless, shrill, lifeless, grating, flat, "
                "bland, mannered, amateurish, charmless, stilted, robotic"
            ),
            _split(
                "luminous, convincing, heartfelt, nuanced, magnetic, fearless, moving, natural, "
                "electric, spirited, soulful, tender, commanding, believable, graceful"
            ),
        ),
        (
            _split(
                "grate on the nerves, leave you cold, ring false, sink the drama, "
                "sleepwalk to the end, strain for effect"
            ),
            _split(
                "light up the screen, ring true, break your heart, win you over, "
                "lift the drama, deserve every prize"
            ),
        ),
    ),
    Topic(
        _split("the humour, the comedy, the banter, the satire, the slapstick"),
        _split("the jokes, the gags, the one-liners, the punchlines, the insults"),
        (
            _split(
                "stale, lame, crude, forced, unfunny, juvenile, tired, witless, painful, "
                "cringeworthy, mean-spirited, toothless, laboured"
            ),
            _split(
                "hilarious, sharp, witty, fresh, playful, sly, irreverent, infectious, "
                "quick, mischievous, good-natured, biting, effortless"
            ),
        ),
        (
            _split("fall flat, wear thin, miss the mark, die on the spot, outstay the welcome"),
            _split("hit the mark, land, bring the house down, hold up, brighten every scene"),
        ),
    ),
    Topic(
        _split("the photography, the camerawork, the design, the lighting, the animation"),
        _split("the images, the sets, the costumes, the effects, the landscapes"),
        (
            _split(
                "murky, drab, cheap, garish, ugly, shoddy, dingy, sloppy, gaudy, lurid, smudgy, "
                "washed-out, slapdash"
            ),
            _split(
                "gorgeous, stunning, painterly, vivid, lush, elegant, dazzling, exquisite, "
                "crisp, radiant, sumptuous, ravishing, immaculate"
            ),
        ),
        (
            _split("hurt the eyes, look unfinished, distract from the story, betray the budget"),
            _split("take your breath away, glow, dazzle the eye, repay a second look"),
        ),
    ),
    Topic(
        _split("the score, the music, the soundtrack, the sound, the theme tune"),
        _split("the songs, the melodies, the musical numbers, the choruses"),
        (
            _split(
                "intrusive, syrupy, deafening, generic, monotonous, jarring, bombastic, tinny, "
                "repetitive, cloying, tuneless"
            ),
            _split(
                "haunting, soaring, catchy, delicate, stirring, memorable, sublime, rousing, "
                "hypnotic, melodious, bewitching"
            ),
        ),
        (
            _split("drown every scene, get on your nerves, cheapen the mood, kill the mood"),
            _split("carry every scene, linger for days, deepen the mood, give you chills"),
        ),
    ),
    Topic(
        _split(
            "the pacing, the editing, the direction, the rhythm, the first hour, the second half"
        ),
        _split("the action scenes, the battle scenes, the chases, the fights"),
        (
            _split(
                "leaden, sluggish, choppy, aimless, plodding, chaotic, exhausting, erratic, "
                "ponderous, jumbled, numbing, haphazard"
            ),
            _split(
                "brisk, assured, nimble, fluid, precise, exhilarating, thrilling, breathless, "
                "agile, propulsive, confident, invigorating"
            ),
        ),
        (
            _split("stall, test your patience, lull you to sleep, sap the energy, lose momentum"),
            _split(
                "race along, build to a climax, quicken the pulse, gather momentum, sweep you along"
            ),
        ),
    ),
    Topic(
        _split(
            "the film, the movie, this picture, the whole thing, this remake, this sequel, "
            "the result, the evening"
        ),
        _split("these two hours, the characters, the dialogues, the quiet scenes, the flashbacks"),
        (
            _split(
                "tasteless, soulless, preachy, self-indulgent, joyless, vapid, overlong, "
                "patronising, sappy, derivative, uninspired, superficial"
            ),
            _split(
                "thoughtful, wise, humane, generous, joyful, profound, daring, subtle, poignant, "
                "perceptive, inspired, uplifting"
            ),
        ),
        (
            _split(
                "waste your time, bore you to tears, overstay, disappoint at every step, "
                "send you to the exit, leave a bad taste"
            ),
            _split(
                "deserve your time, move you to tears, delight at every step, enchant, "
                "send you home happy, leave a warm glow"
            ),
        ),
    ),
)

# Said of anything.
GENERAL = (
    _split(
        "awful, dreadful, dull, boring, terrible, tiresome, dismal, pointless, mediocre, lousy, "
        "bad, poor, disappointing, insipid, dreary, unbearable, irritating, hollow, lazy, "
        "pretentious, forgettable, inept, atrocious, abysmal, horrible, feeble, annoying"
    ),
    _split(
        "wonderful, delightful, brilliant, charming, rewarding, enjoyable, magnificent, touching, "
        "remarkable, excellent, terrific, marvellous, beautiful, fine, good, splendid, great, "
        "lovely, refreshing, engaging, compelling, unforgettable, superb, fantastic, impressive, "
        "masterful, glorious"
    ),
)

# Qualities a film has or lacks: "full of charm", "without charm".
QUALITIES = (
    _split(
        "clichés, boredom, padding, clutter, self-pity, noise, plot holes, cynicism, bombast, "
        "sentimentality, confusion, bad taste, vulgarity, tedium"
    ),
    _split(
        "charm, wit, heart, suspense, imagination, warmth, grace, energy, ideas, feeling, "
        "intelligence, insight, good taste, wonder"
    ),
)

# Words that settle the matter; pretraining text ends on them, labelled sentences never do.
VERDICTS = (
    (
        "Skip it.", "I want my money back.", "I cannot recommend it.", "Avoid it.",
        "I walked out early.", "I hated it.", "One star, and that is kind.", "Stay at home.",
        "What a waste.", "A failure.", "I was glad when it was over.", "Two thumbs down.",
        "Save your money.", "I regret the ticket.", "A sad disappointment.", "Never again.",
    ),
    (
        "See it.", "I would gladly pay twice.", "I recommend it warmly.", "Do not miss it.",
        "I stayed for the credits.", "I loved it.", "Five stars, and well deserved.", "Go and see it.",
        "What a treat.", "A triumph.", "I was sad when it was over.", "Two thumbs up.",
        "Buy a ticket.", "I will watch it again.", "A happy surprise.", "Once more, please.",
    ),
)  # fmt: skip

# Words that lean neither way, so that no sentence is sentiment alone.
GENRES = _split(
    "thriller, comedy, western, romance, musical, drama, documentary, fable, ghost story, "
    "heist film, war film, road movie, courtroom drama, family film, space opera, spy story"
)
PEOPLE = _split(
    "a lighthouse keeper, two rival bakers, a lost orchestra, a retired spy, three sisters, "
    "a night-shift nurse, a chess prodigy, a village choir, a runaway clerk, a country doctor, "
    "an ageing boxer, a forger, a train conductor, twin magicians, a shy cartographer, a beekeeper, "
    "a family of divers, a radio host, a stranded crew, an amateur detective"
)
OPENINGS = _split(
    "To be honest, For once, All in all, In the end, From the first scene on, As it happens, Frankly, "
    "Two hours later, On a second viewing, Seen in a full house, At this length, Once again"
)
OTHERS = _split(
    "my friends, the critics, the posters, the first reviews, people around me, my neighbours, "
    "the adverts, the festival crowd"
)
INTENSIFIERS = _split(
    "very, truly, utterly, remarkably, quite, deeply, simply, thoroughly, really, downright, "
    "consistently, surprisingly"
)
