"""The class report as one HTML page: words beside every figure, nothing from the network.

Everything that a student could have written goes through `_e`.
"""

from __future__ import annotations

import base64
import hashlib
import html
import math
import statistics
from collections import Counter

from autograder.marking.questions import name_answer
from autograder.opener import describe_size
from autograder.reports.lateness import Arrival, say_lateness
from autograder.reports.report import ClassFacts, ExerciseFacts, QuestionFacts
from autograder.reports.similarity import Pair

_STYLE = """
:root { --ink: #1b1f24; --soft: #525a66; --line: #c9ced6; --bar: #2b5c8a; --part: #b7791f;
  --none: #9aa3ae; --page: #fff; --card: #f5f7f9; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 66rem; padding: 1rem 1.25rem 4rem; color: var(--ink);
  background: var(--page); font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: .5rem 0 .25rem; }
h2 { font-size: 1.3rem; margin: 2.5rem 0 .5rem; border-bottom: 2px solid var(--line); }
h3 { font-size: 1.05rem; margin: 1.5rem 0 .4rem; }
p { margin: .4rem 0 .8rem; max-width: 46rem; }
.soft { color: var(--soft); }
a { color: #14508c; }
a:focus-visible, summary:focus-visible, [tabindex]:focus-visible { outline: 3px solid #14508c;
  outline-offset: 2px; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: 1rem; background: #fff; padding: .5rem; }
nav ul { columns: 2; padding-left: 1.2rem; margin: .5rem 0; }
.cards { display: flex; flex-wrap: wrap; gap: .75rem; padding: 0; list-style: none; margin: 1rem 0; }
.cards li { background: var(--card); border: 1px solid var(--line); border-radius: .5rem;
  padding: .6rem .9rem; min-width: 8rem; flex: 1; }
.cards b { display: block; font-size: 1.5rem; line-height: 1.2; }
figure { margin: .5rem 0 1rem; } figcaption { color: var(--soft); max-width: 46rem; }
svg { width: 100%; max-width: 42rem; height: auto; display: block; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .95rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem .35rem 0;
  border-bottom: 1px solid var(--line); } td.n, th.n { text-align: right; white-space: nowrap; }
.bar { display: flex; height: 1rem; min-width: 9rem; border: 1px solid var(--soft);
  background: #fff; overflow: hidden; }
.bar i { display: block; height: 100%; background: var(--bar); }
.bar i.part { background: repeating-linear-gradient(45deg, var(--part) 0 4px, #fff 4px 7px); }
details { border: 1px solid var(--line); border-radius: .5rem; margin: .5rem 0; padding: 0 .8rem;
  background: var(--card); }
summary { cursor: pointer; padding: .5rem 0; font-weight: 600; }
details > :last-child { margin-bottom: .8rem; }
.side { display: grid; grid-template-columns: 1fr 1fr; gap: .75rem; }
pre { margin: 0; padding: .6rem; background: #fff; border: 1px solid var(--line); overflow-x: auto;
  font: .85rem/1.4 ui-monospace, Menlo, Consolas, monospace; white-space: pre-wrap;
  overflow-wrap: anywhere; }
@media (max-width: 40rem) { body { padding: .75rem .8rem 3rem; } nav ul { columns: 1; }
  .side { grid-template-columns: 1fr; } td.wide, th.wide { min-width: 11rem; }
  .stack thead { position: absolute; left: -99rem; } .stack tr { display: grid; gap: .2rem .6rem;
  grid-template-columns: 1fr auto; border-bottom: 1px solid var(--line); padding: .4rem 0; }
  .stack td { border: 0; padding: 0; } .stack td.wide { grid-column: 1 / -1; min-width: 0; } }
@media print { body { max-width: none; font-size: 10pt; } nav, .skip { display: none; }
  h2 { break-after: avoid; } tr, figure, .cards li { break-inside: avoid; }
  details { background: #fff; } a { color: inherit; text-decoration: none; }
  .bar, .bar i { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
"""
# Printed pages cannot be unfolded: everything is open while they are made.
_SCRIPT = """
addEventListener("beforeprint", () => { for (const d of document.querySelectorAll("details")) {
  d.dataset.was = d.open; d.open = true; } });
addEventListener("afterprint", () => { for (const d of document.querySelectorAll("details")) {
  d.open = d.dataset.was === "true"; } });
"""
# Nothing from elsewhere, and no script but this one, whatever a student's words should turn into.
_HASH = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
_POLICY = (
    f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{_HASH}'"
)
_MOST_PAIRS, _MOST_CELLS = 30, 6


def make_page(facts: ClassFacts) -> str:
    """Return the whole page."""
    sections = [
        *_write_not_gradable(facts),
        *_write_elsewhere(facts),
        ("scores", "Scores", _write_scores(facts)),
        ("exercises", "Points by exercise", _write_exercises(facts)),
        ("mistakes", "Which mistakes were made", _write_mistakes(facts)),
        ("alike", "Work that is nearly the same", _write_pairs(facts)),
        ("notes", "What was repaired or flagged", _write_notes(facts)),
        ("hand", "Written answers", _write_questions(facts)),
        ("absent", "What is not there", _write_missing(facts)),
        ("arrivals", "When it was handed in", _write_arrivals(facts)),
        ("time", "How long grading took", _write_times(facts)),
    ]
    links = "".join(f'<li><a href="#{key}">{title}</a></li>' for key, title, _ in sections)
    body = "".join(
        f'<section aria-labelledby="{key}"><h2 id="{key}">{title}</h2>{text}</section>'
        for key, title, text in sections
    )
    names = "Names are left out. " if facts.anonymous else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="referrer" content="no-referrer">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{_e(facts.title)}: the class</title><style>{_STYLE}</style></head><body>"
        '<a class="skip" href="#main">To the report</a>'
        f"<header><h1>{_e(facts.title)}: the class at a glance</h1>"
        f'<p class="soft">Made {_e(facts.made)}. {names}Points are what the autograder gave; what '
        f"people read comes on top.</p></header>{_write_cards(facts)}"
        f'<nav aria-label="Contents"><ul>{links}</ul></nav><main id="main">{body}</main>'
        f'<footer><p class="soft">{_e(" / ".join(facts.isolation))}</p></footer>'
        f"<script>{_SCRIPT}</script></body></html>\n"
    )


def _write_not_gradable(facts: ClassFacts) -> list[tuple[str, str, str]]:
    """Say first whose work could not be graded: nobody gets 0 for that by itself."""
    if not facts.not_gradable:
        return []
    items = "".join(
        f"<li><b>{_e(student)}</b>: {_e(words)}</li>" for student, words in facts.not_gradable
    )
    words = (
        "This was handed in but cannot be graded as it is. It is not counted as 0: ask for a new "
        "file, or give the marks by hand."
    )
    return [("ungradable", "Handed in, but not gradable", f"<p>{words}</p><ul>{items}</ul>")]


def _write_elsewhere(facts: ClassFacts) -> list[tuple[str, str, str]]:
    """List what was handed in beside the notebooks: answers may stand there that no cell holds."""
    if not facts.writeups:
        return []
    rows = []
    for student, writeup, document in facts.writeups:
        name = f"a {writeup.kind} file" if facts.anonymous else writeup.label
        pages = f"{document.pages}" if writeup.kind == "pdf" and document.pages else ""
        bare = facts.bare.get(student, 0)
        words = (
            f"{_count(bare, 'answer')} untouched: elsewhere" if bare else "no answer is untouched"
        )
        rows.append(
            f"<tr><td>{_name(facts, student)}</td><td>{_e(name)}</td><td class='n'>{pages}</td>"
            f"<td class='n'>{describe_size(writeup.size)}</td>"
            f"<td>{_e(words if facts.anonymous or not document.problem else f'{words}. {document.problem}')}</td></tr>"
        )
    told = (
        "This was handed in beside the notebooks. An answer whose cell is untouched may stand in it: it "
        "waits for a person, and the marking desk shows both side by side. What submit prints "
        "is not listed: it holds the same answers as the notebooks."
    )
    heads = "".join(
        f'<th scope="col"{kind}>{word}</th>'
        for word, kind in (("who", ""), ("file", ""), ("pages", ' class="n"'), ("size", ' class="n"'),
                           ("their answers", ""))
    )  # fmt: skip
    table = (
        f'<p>{told}</p><div class="scroll" tabindex="0"><table><thead><tr>{heads}</tr></thead><tbody>'
        f"{''.join(rows)}</tbody></table></div>"
    )
    return [("elsewhere", "Written elsewhere", table)]


def _write_cards(facts: ClassFacts) -> str:
    done = sum(len(found) for found in facts.totals.values())
    waiting = sum(question.waiting for question in facts.questions)
    flagged = len({student for student, _, kind, _ in facts.notes if kind == "flag"})
    cards = [
        (len(facts.people), "students"),
        (done, "notebooks graded"),
        (waiting, "answers wait for a person"),
        (flagged, "students with something to look at"),
        (len(facts.pairs), "pairs of nearly the same work"),
    ]
    items = "".join(f"<li><b>{number}</b>{label}</li>" for number, label in cards)
    return f'<ul class="cards">{items}</ul>'


# ------------------------------------------------------------------------------------ scores


def _write_scores(facts: ClassFacts) -> str:
    most = sum(facts.max_totals.values())
    totals = [sum(found.values()) for found in facts.totals.values()]
    parts = [_draw_histogram("all notebooks", totals, most)]
    for name, title in facts.notebooks.items():
        scores = [found[name] for found in facts.totals.values() if name in found]
        parts.append(f"<h3>{_e(title)}</h3>")
        parts.append(
            _draw_histogram(title, scores, facts.max_totals[name])
            if scores
            else "<p>Nobody handed this in.</p>"
        )
    rows = "".join(
        f"<tr><td>{_name(facts, student)}</td>"
        + "".join(
            f'<td class="n">{found[name]:g}</td>' if name in found else '<td class="n">–</td>'
            for name in facts.notebooks
        )
        + f'<td class="n"><b>{sum(found.values()):g}</b></td></tr>'
        for student, found in _in_order(facts, facts.totals)
    )
    heads = "".join(f'<th class="n" scope="col">{_e(t)}</th>' for t in facts.notebooks.values())
    table = (
        f'<div class="scroll" tabindex="0"><table><thead><tr><th scope="col">who</th>{heads}'
        f'<th class="n" scope="col">of {most:g}</th></tr></thead><tbody>{rows}</tbody></table></div>'
    )
    parts.append(f"<details><summary>Everybody's points</summary>{table}</details>")
    return "".join(parts)


def _draw_histogram(what: str, scores: list[float], most: float) -> str:
    """Draw how many students have how many points, in steps of whole points, and say it in words."""
    step_points = _choose_step(most)
    bins = max(1, math.ceil(most / step_points))
    counts = [0] * bins
    for score in scores:
        counts[min(bins - 1, int(score // step_points))] += 1
    width, height, base = 620, 170, 140
    step, tallest = (width - 30) / bins, max(counts)
    marks = []
    for index, count in enumerate(counts):
        tall = 110 * count / tallest if tallest else 0
        left, middle = index * step + 4, (index + 0.5) * step
        marks.append(
            f'<rect x="{left:.0f}" y="{base - tall:.1f}" width="{step - 6:.0f}" '
            f'height="{tall:.1f}" fill="#2b5c8a"/>'
        )
        if count:
            marks.append(
                f'<text x="{middle:.0f}" y="{base - tall - 5:.1f}" text-anchor="middle" '
                f'font-size="14" fill="#1b1f24">{count}</text>'
            )
    for index in range(bins + 1):
        anchor = "start" if index == 0 else "middle"
        points = min(index * step_points, math.ceil(most)) if index == bins else index * step_points
        marks.append(
            f'<text x="{index * step:.0f}" y="{base + 20}" text-anchor="{anchor}" font-size="13" '
            f'fill="#525a66">{points:g}</text>'
        )
    marks.append(f'<line x1="0" y1="{base}" x2="{width}" y2="{base}" stroke="#525a66"/>')
    full = sum(score >= most for score in scores)
    half = sum(score < most / 2 for score in scores)
    words = (
        f"{what[:1].upper()}{what[1:]}: {_count(len(scores), 'student')}, median "
        f"{statistics.median(scores):g} of {most:g} points, from {min(scores):g} to {max(scores):g}. "
        f"{full} with all points, {half} with less than half."
    )
    return (
        f'<figure><svg viewBox="0 0 {width} {height}" role="img" aria-label="{_e(words)}">'
        f"{''.join(marks)}</svg><figcaption>{_e(words)}</figcaption></figure>"
    )


def _choose_step(most: float) -> int:
    """Return a step of whole points that makes at most 14 bars, if it can without a rest."""
    least = max(1, math.ceil(most / 14))
    even = (step for step in range(least, 2 * least + 1) if most % step == 0)
    return next(even, least)


def _write_exercises(facts: ClassFacts) -> str:
    parts = [
        _compare_exercises(facts),
        "<p>The bar shows the share of students with all points (full) and with some (striped).</p>",
    ]
    for name, title in facts.notebooks.items():
        rows = "".join(_write_exercise(e) for e in facts.exercises if e.notebook == name)
        parts.append(
            f'<h3>{_e(title)}</h3><div class="scroll" tabindex="0"><table class="stack"><thead><tr>'
            '<th scope="col">exercise</th><th class="n" scope="col">mean</th>'
            '<th scope="col" class="wide">share of students</th><th scope="col" class="wide">in words'
            f"</th></tr></thead><tbody>{rows}</tbody></table></div>"
        )
    return "".join(parts)


def _compare_exercises(facts: ClassFacts) -> str:
    """Draw all exercises in one figure, the hardest first: the mean share of their points."""
    tried = sorted((e for e in facts.exercises if e.scores), key=lambda e: e.mean_share)
    if not tried:
        return ""
    left, width, row = 230, 360, 24
    marks = []
    for index, entry in enumerate(tried):
        y, wide = 8 + index * row, width * entry.mean_share
        marks.append(
            f'<text x="{left - 8}" y="{y + 13}" text-anchor="end" font-size="13" '
            f'fill="#1b1f24">{_e(entry.name)}</text>'
            f'<rect x="{left}" y="{y}" width="{width}" height="16" fill="#e3e8ee"/>'
            f'<rect x="{left}" y="{y}" width="{wide:.1f}" height="16" fill="#2b5c8a"/>'
            f'<text x="{left + width + 6}" y="{y + 13}" font-size="13" '
            f'fill="#525a66">{entry.mean_share:.0%}</text>'
        )
    hardest, easiest = tried[0], tried[-1]
    words = (
        f"The exercises side by side, by the mean share of their points: {hardest.name} was the "
        f"hardest ({hardest.mean_share:.0%}), {easiest.name} the easiest ({easiest.mean_share:.0%})."
    )
    return (
        f'<figure><svg viewBox="0 0 640 {16 + len(tried) * row}" role="img" '
        f'aria-label="{_e(words)}">{"".join(marks)}</svg><figcaption>{_e(words)}</figcaption></figure>'
    )


def _write_exercise(exercise: ExerciseFacts) -> str:
    number = len(exercise.scores)
    if not number:
        return (
            f"<tr><td>{_e(exercise.name)}</td><td></td><td></td><td>nobody handed it in</td></tr>"
        )
    full = sum(score >= exercise.max_score for score in exercise.scores)
    some = sum(0 < score < exercise.max_score for score in exercise.scores)
    words = f"{full} of {number} have all points" + (f", {some} some" if some else "")
    common = max(exercise.mistakes.items(), key=lambda pair: len(pair[1]), default=None)
    if common and len(common[1]) > 1:
        words += f"; most common: {_words(common[0])} ({len(common[1])})"
    bar = (
        f'<div class="bar" role="img" aria-label="{_e(words)}">'
        f'<i style="width:{100 * full / number:.1f}%"></i>'
        f'<i class="part" style="width:{100 * some / number:.1f}%"></i></div>'
    )
    mean = f"{exercise.mean_share * exercise.max_score:.2g} / {exercise.max_score:g}"
    return (
        f"<tr><td><code>{_e(exercise.name)}</code></td>"
        f'<td class="n">{mean}</td><td class="wide">{bar}</td><td class="wide">{_e(words)}</td></tr>'
    )


# ---------------------------------------------------------------------------------- mistakes


def _write_mistakes(facts: ClassFacts) -> str:
    groups = sorted(
        (
            (exercise, diagnosis, students)
            for exercise in facts.exercises
            for diagnosis, students in exercise.mistakes.items()
        ),
        key=lambda group: (group[1] == "todo-open", -len(group[2])),
    )
    if not groups:
        return "<p>No mistake was found.</p>"
    parts = [
        "<p>The largest groups first, what was left open last. Each opens to an example and to who "
        "is in it.</p>"
    ]
    for exercise, diagnosis, students in groups:
        quoted = exercise.sentences[diagnosis]
        # What an error or an odd value says may be in a student's own words.
        sentence = "" if facts.anonymous and _may_quote(diagnosis) else f"<p>{_e(quoted)}</p>"
        names = ", ".join(_name(facts, student, exercise.notebook) for student in sorted(students))
        example = exercise.examples.get(diagnosis)
        if example and diagnosis != "todo-open":
            sentence += (
                "<p>One of them, comments and longer texts left out:</p>"
                f'<pre tabindex="0" aria-label="An example">{_e(example)}</pre>'
            )
        parts.append(
            f"<details><summary>{_count(len(students), 'student')}: {_e(_words(diagnosis))} "
            f'<span class="soft">in <code>{_e(exercise.name)}</code></span></summary>'
            f"{sentence}<p>{names}</p></details>"
        )
    return "".join(parts)


def _may_quote(diagnosis: str) -> bool:
    return diagnosis in ("cell-raised", "not-numbers", "raised", "unknown", "no-answer")


# ------------------------------------------------------------------------------------- alike


def _write_pairs(facts: ClassFacts) -> str:
    if not facts.pairs:
        return (
            "<p>No two submissions share much that others do not have. This says nothing about "
            "short answers, which are alike by nature.</p>"
        )
    parts = [
        "<p>These share passages that hardly anybody else wrote; what the hand-out gives, names of "
        "variables and comments do not count. There can be good reasons, such as work done together "
        "and said so. <b>Please look and ask; nothing here is a verdict.</b></p>"
    ]
    for pair in facts.pairs[:_MOST_PAIRS]:
        parts.append(_write_pair(facts, pair))
    if len(facts.pairs) > _MOST_PAIRS:
        parts.append(f"<p>{len(facts.pairs) - _MOST_PAIRS} more are not shown.</p>")
    return "".join(parts)


def _write_pair(facts: ClassFacts, pair: Pair) -> str:
    one, other = (_name(facts, work.student, pair.notebook) for work in (pair.one, pair.other))
    labels = [facts.people[work.student].label for work in (pair.one, pair.other)]
    title = _e(facts.notebooks[pair.notebook])
    cells = ", ".join(f"<code>{_e(name)}</code>" for name in pair.cells[:_MOST_CELLS])
    text = (
        f"<p>Did {one} and {other} work on this together? {pair.share:.0%} of what is unusual in one "
        f"of them is in the other, too, most of it in {cells}.</p>"
    )
    if facts.anonymous:
        return (
            f"<details><summary>{_e(labels[0])} and {_e(labels[1])}, {title}: "
            f"{pair.share:.0%} alike?</summary>{text}<p>Their texts are left out here.</p></details>"
        )
    named = "".join(
        f"<p>{_e(label)} says about collaborators: “{_e(work.collaborators or 'nothing')}”</p>"
        for label, work in zip(labels, (pair.one, pair.other), strict=True)
    )
    shown = "".join(
        f'<h4>{_e(name)}</h4><div class="side">'
        f'<pre tabindex="0" aria-label="{_e(labels[0])}">{_e(pair.one.cells[name])}</pre>'
        f'<pre tabindex="0" aria-label="{_e(labels[1])}">'
        f"{_e(pair.other.cells.get(name, '(stands in another cell)'))}</pre></div>"
        for name in pair.cells[:_MOST_CELLS]
    )
    return (
        f"<details><summary>{_e(labels[0])} and {_e(labels[1])}, {title}: {pair.share:.0%} alike?"
        f"</summary>{text}{named}{shown}</details>"
    )


# --------------------------------------------------------------------------------- the others


def _write_notes(facts: ClassFacts) -> str:
    parts = []
    for kind, title, none in (
        ("flag", "For a person to look at", "Nothing was flagged."),
        ("repair", "Put right, at no cost to the student", "Nothing had to be repaired."),
    ):
        times = Counter(_hide_files(facts.notes) if facts.anonymous else facts.notes)
        rows = "".join(
            f"<tr><td>{_name(facts, student, notebook)}</td><td>{_e(facts.notebooks[notebook])}</td>"
            f'<td class="wide">{_e(words)}{f" ({number} times)" if number > 1 else ""}</td></tr>'
            for (student, notebook, what, words), number in times.items()
            if what == kind
        )
        parts.append(f"<h3>{title}</h3>")
        parts.append(
            f'<div class="scroll" tabindex="0"><table><thead><tr><th scope="col">who</th>'
            '<th scope="col">notebook</th><th scope="col" class="wide">what</th></tr></thead>'
            f"<tbody>{rows}</tbody></table></div>"
            if rows
            else f"<p>{none}</p>"
        )
    return "".join(parts)


def _hide_files(notes: list[tuple[str, str, str, str]]) -> list[tuple[str, str, str, str]]:
    """Leave out which files there were: people put their own names on them."""
    return [
        (student, notebook, kind, words.partition(":")[0] if " was graded (" in words else words)
        for student, notebook, kind, words in notes
        if "under the name" not in words
    ]


def _write_questions(facts: ClassFacts) -> str:
    waiting = sum(question.waiting for question in facts.questions)
    total = sum(question.everything for question in facts.questions)
    if not total:
        return "<p>There is nothing to read.</p>"
    where = "<code>python -m autograder mark</code>"
    if not facts.anonymous:
        where += f' (<a href="{_e(facts.desk)}/progress">its progress</a>, while it runs here)'
    intro = (
        f"<p>{_count(waiting, 'answer')} of {total} wait for a person, at the marking desk: {where}.</p>"
        if waiting
        else f"<p>Every answer has been read. Look again at the marking desk: {where}.</p>"
    )
    rows = "".join(map(_write_question, facts.questions))
    return (
        f"{intro}<p>The bar shows the mean share of points among the answers that were read.</p>"
        '<div class="scroll" tabindex="0"><table class="stack"><thead><tr><th scope="col">answer</th>'
        '<th class="n" scope="col">read</th><th scope="col" class="wide">mean</th>'
        f'<th scope="col" class="wide">in words</th></tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _write_question(question: QuestionFacts) -> str:
    bar = words = ""
    if question.scores:
        mean = statistics.fmean(question.scores)
        full = sum(score >= question.max_score for score in question.scores)
        none = sum(score <= 0 for score in question.scores)
        words = (
            f"mean {mean:.2g} of {question.max_score:g}; {full} with all points, {none} with none"
        )
        bar = (
            f'<div class="bar" role="img" aria-label="{_e(words)}">'
            f'<i style="width:{100 * mean / question.max_score:.1f}%"></i></div>'
        )
    return (
        f"<tr><td><code>{_e(name_answer(question.cell))}</code></td>"
        f'<td class="n">{len(question.scores)} of {question.everything}</td>'
        f'<td class="wide">{bar}</td><td class="wide">{_e(words or "nothing read yet")}</td></tr>'
    )


def _write_missing(facts: ClassFacts) -> str:
    items = [
        f"<li>{_name(facts, student)}: {_e(facts.notebooks[notebook])} was not handed in</li>"
        for student, notebook in facts.missing
    ]
    items += [
        f"<li>{_name(facts, student, notebook)}: "
        f"{_e(f'{facts.notebooks[notebook]} cannot be read' if facts.anonymous else sentence)}</li>"
        for student, notebook, sentence in facts.unreadable
    ]
    if facts.anonymous:
        counts = ((facts.not_on_roster, "not on the roster"),
                  (facts.nothing_handed_in, "on the roster without any work"))  # fmt: skip
        items += [f"<li>{_count(len(who), 'student')} {words}</li>" for who, words in counts if who]
    else:
        items += [f"<li>{_e(name)} is not on the roster</li>" for name in facts.not_on_roster]
        items += [f"<li>{_e(name)} has handed in nothing</li>" for name in facts.nothing_handed_in]
    return f"<ul>{''.join(items)}</ul>" if items else "<p>Everything is there.</p>"


def _write_arrivals(facts: ClassFacts) -> str:
    late = [arrival for arrival in facts.arrivals if arrival.seconds_late > 0]
    unknown = [arrival for arrival in facts.arrivals if not arrival.moment]
    words = [f"{_count(len(late), 'student')} handed in late, extensions counted."]
    if unknown:
        words.append(
            f"Of {_count(len(unknown), 'student')} nobody says when: nothing is taken off there until "
            "you do: python -m autograder date STUDENT MOMENT."
        )
    called = sum(arrival.called_late for arrival in unknown)
    if called:
        words.append(f"The learning platform calls {called} of them late, but not since when.")
    text = f"<p>{' '.join(words)}</p>"
    if facts.anonymous:
        return text
    said = [
        f"{arrival.student}: {one}." for arrival in facts.arrivals for one in arrival.contradictions
    ]
    if said:
        text += f"<ul>{''.join(f'<li>{_e(words)}</li>' for words in said)}</ul>"
    rows = "".join(
        f"<tr><td>{_name(facts, arrival.student)}</td><td>{_e(arrival.moment or 'not known')}</td>"
        f'<td class="wide">{_e(arrival.source)}</td><td>{_say_late(arrival)}</td></tr>'
        for arrival in facts.arrivals
    )
    return (
        f"{text}<details><summary>Everybody's moment, and who says it</summary>"
        '<div class="scroll" tabindex="0"><table class="stack"><thead><tr><th scope="col">who</th>'
        '<th scope="col">when</th><th scope="col" class="wide">says</th><th scope="col">late</th></tr>'
        f"</thead><tbody>{rows}</tbody></table></div></details>"
    )


def _say_late(arrival: Arrival) -> str:
    if arrival.called_late:
        return "late, says the platform"
    if not arrival.seconds_late:
        return ""
    spent = f", {arrival.days_spent} by late days" if arrival.days_spent else ""
    return f"{say_lateness(arrival.seconds_late)}{spent}"


def _write_times(facts: ClassFacts) -> str:
    if not facts.seconds:
        return "<p>Nothing was run.</p>"
    times = sorted(facts.seconds.values())
    slowest = sorted(facts.seconds.items(), key=lambda pair: -pair[1])[:5]
    rows = "".join(
        f'<tr><td>{_name(facts, student)}</td><td class="n">{seconds:.1f} s</td></tr>'
        for student, seconds in slowest
    )
    return (
        f"<p>A submission took {statistics.median(times):.1f} seconds in the middle, from "
        f"{times[0]:.1f} to {times[-1]:.1f}; all of them {sum(times) / 60:.1f} minutes of work.</p>"
        f'<details><summary>The longest</summary><table><thead><tr><th scope="col">who</th>'
        f'<th class="n" scope="col">time</th></tr></thead><tbody>{rows}</tbody></table></details>'
    )


# ------------------------------------------------------------------------------------- words


def _e(text) -> str:
    return html.escape(str(text))


def _name(facts: ClassFacts, student: str, notebook: str | None = None) -> str:
    """Return a student's name, linked to their notebook where there is one to open."""
    who = facts.people[student]
    address = who.links.get(notebook) if notebook else next(iter(who.links.values()), None)
    return f'<a href="{_e(address)}">{_e(who.label)}</a>' if address else _e(who.label)


def _in_order(facts: ClassFacts, table: dict) -> list:
    return sorted(table.items(), key=lambda pair: _natural(facts.people[pair[0]].label))


def _natural(label: str) -> tuple:
    word, _, number = label.rpartition(" ")
    return (word, int(number)) if number.isdigit() else (label, 0)


def _words(diagnosis: str) -> str:
    return diagnosis.replace("-", " ")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
