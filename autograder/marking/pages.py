"""The desk's addresses. Every one asks for Jupyter's login first, and every change for its token."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from pathlib import Path
from urllib.parse import quote

from jupyter_server.auth.decorator import authorized
from jupyter_server.auth.identity import (
    IdentityProvider,
    LegacyIdentityProvider,
    PasswordIdentityProvider,
)
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.utils import url_path_join
from tornado import web

from autograder.blueprint import is_kept
from autograder.course import CourseError
from autograder.intake.writeups import WriteUp
from autograder.marking import charts
from autograder.marking.alike import show_difference
from autograder.marking.desk import Answer, Desk, Judgement, Overtaken, Place
from autograder.marking.documents import Document, draw, open_document
from autograder.marking.progress import measure_markers, measure_progress
from autograder.marking.questions import Question
from autograder.marking.render import (
    clean_text,
    render_code,
    render_inline,
    render_markdown,
    render_outputs,
)
from autograder.marking.requests import find_open, group_by_student
from autograder.opener import describe_size
from course_utils.bounded import spending

_STATIC = Path(__file__).parent / "static"
_KINDS = {".css": "text/css", ".js": "text/javascript"}
# These know no names: whoever has the token is a guest, and says who they are.
_NAMELESS = (IdentityProvider, PasswordIdentityProvider, LegacyIdentityProvider)
_COOKIE = "desk-marker"
_LONGEST_COMMENT = 10_000
_PAGE_SECONDS = 20  # of the processor, for all cells that a page shows; one cell has two
_MOST_WRITEUPS = 20
_NAMES = {"pdf": "PDF", "docx": "Word file", "image": "Picture", "other": "File"}
_ASSIGNMENT = r"/desk/(?P<assignment>[\w.-]+)"
_QUESTION = _ASSIGNMENT + r"/q/(?P<notebook>[\w.-]+)/(?P<cell>[\w.-]+)"
_ANSWER = _QUESTION + r"/(?P<code>[0-9a-f]{16})"


class DeskHandler(JupyterHandler):
    """What all pages share."""

    auth_resource = "desk"

    @property
    def content_security_policy(self) -> str:
        """Nothing on a page may act but our own script, whatever an answer holds.

        Pictures come from the desk as well: pages of a student's PDF, drawn anew.
        """
        return (
            "default-src 'none'; img-src 'self' data:; style-src 'self'; script-src 'self'; "
            "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'self'"
        )

    def set_default_headers(self) -> None:
        super().set_default_headers()
        self.set_header("Referrer-Policy", "same-origin")
        self.set_header("Cache-Control", "no-store")

    def address(self, *parts: str, **query) -> str:
        path = url_path_join(self.base_url, "desk", *(quote(part, safe="") for part in parts))
        words = "&".join(f"{key}={quote(str(value))}" for key, value in query.items() if value)
        return f"{path}?{words}" if words else path

    @property
    def fixed_name(self) -> str | None:
        """The marker's name, where the login knows it (JupyterHub does)."""
        if type(self.identity_provider) in _NAMELESS:
            return None
        return self.current_user.username

    @property
    def marker(self) -> str | None:
        if self.fixed_name:
            return self.fixed_name
        named = self.get_secure_cookie(_COOKIE)
        return named.decode() if named else None

    def require_marker(self) -> str:
        """Return who marks, or go and ask."""
        if self.marker is None:
            self.redirect(self.address("who", to=self.request.path))
            raise web.Finish()
        return self.marker

    def open_desk(self, assignment: str) -> Desk:
        desks = self.settings["marking_desks"]
        if assignment not in desks.assignments:
            raise web.HTTPError(404, f"There is no assignment {assignment!r}.")
        desk = desks.open(assignment)
        desk.refresh()
        return desk

    def find_question(self, desk: Desk, notebook: str, cell: str) -> Question:
        try:
            return desk.find_question(notebook, cell)
        except CourseError as problem:
            raise web.HTTPError(404, str(problem)) from None

    def show(self, template: str, status: int = 200, **facts) -> None:
        self.set_status(status)
        page = self.settings["marking_pages"].get_template(template)
        shared = {
            "address": self.address,
            "xsrf": self.xsrf_token.decode(),
            "marker": self.marker,
            "fixed_name": self.fixed_name,
            "course": self.settings["marking_desks"].course,
        }
        self.finish(page.render(**shared, **facts))

    def write_error(self, status_code: int, **kwargs) -> None:
        problem = kwargs.get("exc_info", (None, None, None))[1]
        if isinstance(problem, CourseError):
            status_code = 409 if isinstance(problem, Overtaken) else 503
            words = str(problem)
        elif isinstance(problem, web.HTTPError):
            words = problem.log_message or problem.reason or "This cannot be shown."
        else:
            words = "Something went wrong here. Nothing was saved by this step."
        if self.current_user is None:
            self.set_status(403)
            self.finish("Please log in first.")
            return
        back = self.request.uri if status_code == 409 and self.request.method == "POST" else ""
        self.show("trouble.html", status=status_code, words=words, back=back)

    def log_exception(self, kind, problem, trace) -> None:
        if not isinstance(problem, CourseError):
            super().log_exception(kind, problem, trace)


class Who(DeskHandler):
    """Asks for a marker's name where the login does not know it."""

    @web.authenticated
    @authorized
    def get(self):
        self.show("who.html", to=self._find_target(), words="")

    @web.authenticated
    @authorized
    def post(self):
        name = " ".join(clean_text(self.get_body_argument("name", "")).split())
        if not 1 <= len(name) <= 60:
            self.show("who.html", to=self._find_target(), words="Please give a name.", status=400)
            return
        self.set_secure_cookie(_COOKIE, name, path=self.base_url, httponly=True, samesite="Lax")
        self.redirect(self._find_target(), status=303)

    def _find_target(self) -> str:
        """Return where to go on: within the desk only."""
        wanted = self.get_argument("to", "")
        own = self.address()
        return wanted if wanted.startswith(f"{own}/") and "//" not in wanted else own


class Assignments(DeskHandler):
    @web.authenticated
    @authorized
    def get(self):
        found = self.settings["marking_desks"].assignments
        if len(found) == 1:
            self.redirect(self.address(found[0]))
            return
        titles = self.settings["marking_desks"].course.assignments
        self.show("assignments.html", assignments=[(name, titles[name].title) for name in found])


class Questions(DeskHandler):
    """The list: every question, and how far it is."""

    @web.authenticated
    @authorized
    def get(self, assignment: str):
        marker = self.require_marker()
        desk = self.open_desk(assignment)
        answers = desk.read_answers()
        second = {}
        for answer in answers:
            if desk.wants_second(answer, marker):
                key = (answer.notebook, answer.cell)
                second[key] = second.get(key, 0) + 1
        found = measure_progress(desk, answers)
        self.show(
            "questions.html",
            assignment=assignment,
            titles={plan.name: plan.title for plan in desk.assignment.notebooks},
            questions=found,
            waiting={
                (e.question.notebook, e.question.cell): e.to_read
                + second.get((e.question.notebook, e.question.cell), 0)
                for e in found
            },
            blank=sum(entry.counts["blank"] for entry in found),
            requests=group_by_student(find_open(desk.assignment, desk.gradebook), assignment),
            elsewhere=sum(entry.counts["elsewhere"] for entry in found),
            undone=self.get_query_argument("undone", ""),
        )


class Progress(DeskHandler):
    """What is left, by question and by marker, and the marks as pictures."""

    @web.authenticated
    @authorized
    def get(self, assignment: str):
        self.require_marker()
        desk = self.open_desk(assignment)
        found = measure_progress(desk)
        self.show(
            "progress.html",
            assignment=assignment,
            titles={plan.name: plan.title for plan in desk.assignment.notebooks},
            questions=found,
            markers=measure_markers(desk),
            charts={e.question.cell + e.question.notebook: charts.draw_marks(e) for e in found},
            share=desk.assignment.course.marking.get("twice_percent", 0),
        )


class Answers(DeskHandler):
    """All answers to a question: their state, and a way to each."""

    @web.authenticated
    @authorized
    def get(self, assignment: str, notebook: str, cell: str):
        self.require_marker()
        desk = self.open_desk(assignment)
        question = self.find_question(desk, notebook, cell)
        self.show(
            "answers.html",
            assignment=assignment,
            question=question,
            answers=desk.read_answers(question),
            names=bool(self.get_query_argument("names", "")),
        )


class Next(DeskHandler):
    """The next answer to a question that waits for this marker."""

    @web.authenticated
    @authorized
    async def get(self, assignment: str, notebook: str, cell: str):
        marker = self.require_marker()
        desk = self.open_desk(assignment)
        question = self.find_question(desk, notebook, cell)
        queue = self.get_query_argument("queue", "open")
        saved = _describe_saved(desk, self.get_query_argument("saved", ""))
        found = desk.find_next(question, marker, queue, self.get_query_argument("after", ""))
        if found is None:
            entry = next(e for e in measure_progress(desk) if e.question is question)
            following = _find_following(desk, question, marker)
            self.show("nothing.html", assignment=assignment, question=question, entry=entry,
                      saved=saved, queue=queue, following=following)  # fmt: skip
            return
        answer, ticket = found
        view = "decide" if queue == "decide" else "open" if queue == "reworded" else "blind"
        await _show_answer(self, desk, question, answer, ticket, view, queue, saved)


class One(DeskHandler):
    """One answer: to look at it again, and to save a mark."""

    @web.authenticated
    @authorized
    async def get(self, assignment: str, notebook: str, cell: str, code: str):
        marker = self.require_marker()
        desk = self.open_desk(assignment)
        question = self.find_question(desk, notebook, cell)
        answer = _find_answer(desk, question, code)
        holder = desk.find_holder(code)
        if holder not in (None, marker):
            raise Overtaken(f"{holder} has this answer open. It comes up again if they leave it.")
        ticket = desk.take(code, marker)
        if ticket is None:
            raise Overtaken("Somebody has just opened this answer.")
        view = "decide" if answer.status == "decide" else "open"
        await _show_answer(self, desk, question, answer, ticket, view, "open", "")

    @web.authenticated
    @authorized
    def post(self, assignment: str, notebook: str, cell: str, code: str):
        marker = self.require_marker()
        desk = self.open_desk(assignment)
        question = self.find_question(desk, notebook, cell)
        answer = _find_answer(desk, question, code)
        judgement = _read_judgement(self, question)
        seen = {code: self.get_body_argument("seen", "")}
        for name in self.request.body_arguments:
            if re.fullmatch(r"also-[0-9a-f]{16}", name):
                seen[name.removeprefix("also-")] = self.get_body_argument(name)
        view = self.get_body_argument("view", "open")
        kind = "mark"
        if view == "blind" and desk.wants_second(answer, marker) and len(seen) == 1:
            kind = "second"
        elif view == "decide":
            kind = "decision"
        batch = desk.give(question, marker, judgement, seen, kind)
        queue = self.get_body_argument("queue", "open")
        target = self.address(assignment, "q", notebook, cell, saved=batch,
                              queue=queue if queue != "open" else "")  # fmt: skip
        self.redirect(target, status=303)


class Page(DeskHandler):
    """A page of what a student handed in beside the notebooks, drawn anew."""

    @web.authenticated
    @authorized
    async def get(self, assignment: str, notebook: str, cell: str, code: str, key: str, page: str):
        self.require_marker()
        desk = self.open_desk(assignment)
        answer = _find_answer(desk, self.find_question(desk, notebook, cell), code)
        writeup = next((one for one in desk.find_writeups(answer) if one.key == key), None)
        if writeup is None or writeup.kind not in ("pdf", "image"):
            raise web.HTTPError(404, "This file is not there any more.")
        try:
            drawn = await _elsewhere(draw, writeup, int(page))
        except CourseError as problem:
            raise web.HTTPError(404, str(problem).replace("%", "%%")) from None
        self.set_header("Content-Type", "image/png")
        self.set_header("Cache-Control", "private, max-age=3600")
        self.finish(drawn)


class PutPlace(DeskHandler):
    """Writes down on which page an answer stands."""

    @web.authenticated
    @authorized
    def post(self, assignment: str, notebook: str, cell: str, code: str):
        marker = self.require_marker()
        desk = self.open_desk(assignment)
        answer = _find_answer(desk, self.find_question(desk, notebook, cell), code)
        given = self.get_body_argument("at", "")
        place = None
        if given:
            key, _, page = given.partition(":")
            known = {writeup.key for writeup in desk.find_writeups(answer)}
            if key not in known or not re.fullmatch(r"[1-9]\d{0,2}", page):
                raise web.HTTPError(400, "There is no such page. Nothing was saved.")
            place = Place(key, int(page), marker)
        desk.put_place(answer, place)
        target = self.address(assignment, "q", notebook, cell, code)
        self.redirect(f"{target}#page-{key}-{page}" if place else target, status=303)


class Lease(DeskHandler):
    """Keeps an answer while its page is open, or gives it back."""

    @web.authenticated
    @authorized
    def post(self, assignment: str, notebook: str, cell: str, code: str, what: str):
        desk = self.settings["marking_desks"].open(assignment)
        self.require_marker()
        step = desk.keep if what == "keep" else desk.leave
        step(code, self.get_body_argument("ticket", ""))
        self.set_status(204)
        self.finish()


class Undo(DeskHandler):
    """Takes back the marker's latest mark, and opens that answer again."""

    @web.authenticated
    @authorized
    def post(self, assignment: str):
        marker = self.require_marker()
        desk = self.open_desk(assignment)
        found = desk.undo(marker)
        if len(found) > 1:
            self.redirect(self.address(assignment, undone=len(found)), status=303)
            return
        (answer,) = found
        self.redirect(
            self.address(assignment, "q", answer.notebook, answer.cell, answer.code), status=303
        )


class Blank(DeskHandler):
    """Untouched and empty answers: a look, and zero for them in one step."""

    @web.authenticated
    @authorized
    def get(self, assignment: str):
        self.require_marker()
        desk = self.open_desk(assignment)
        answers = desk.read_answers()
        blank = [answer for answer in answers if answer.status == "blank"]
        elsewhere = [answer for answer in answers if answer.status == "elsewhere"]
        texts = desk.read_texts(answer.code for answer in blank)
        groups = [
            (
                question,
                [x for x in blank if (x.notebook, x.cell) == (question.notebook, question.cell)],
            )
            for question in desk.questions
        ]
        self.show(
            "blank.html",
            assignment=assignment,
            groups=[group for group in groups if group[1]],
            texts={code: text[:200] for code, text in texts.items()},
            total=len(blank),
            elsewhere=[(desk.find_question(x.notebook, x.cell), x) for x in elsewhere],
            done=self.get_query_argument("done", ""),
        )

    @web.authenticated
    @authorized
    def post(self, assignment: str):
        marker = self.require_marker()
        desk = self.open_desk(assignment)
        chosen = {
            name.removeprefix("zero-"): self.get_body_argument(name)
            for name in self.request.body_arguments
            if re.fullmatch(r"zero-[0-9a-f]{16}", name)
        }
        where = {answer.code: answer for answer in desk.read_answers()}
        by_question: dict[tuple[str, str], dict[str, str]] = {}
        for code, seen in chosen.items():
            answer = where.get(code)
            if answer is None or answer.status != "blank":
                raise Overtaken(
                    "Nothing was saved: one of these answers is not empty any more. Look again."
                )
            by_question.setdefault((answer.notebook, answer.cell), {})[code] = seen
        desk.give_all(
            marker,
            [
                (desk.find_question(*names), Judgement(comment="No answer was given."), seen)
                for names, seen in by_question.items()
            ],
        )
        self.redirect(self.address(assignment, "blank", done=len(chosen)), status=303)


class Static(DeskHandler):
    """Our style sheet and script; these, too, are only for those who are logged in."""

    @web.authenticated
    @authorized
    def get(self, name: str):
        path = _STATIC / name
        if not path.is_file():
            raise web.HTTPError(404)
        self.set_header("Content-Type", f"{_KINDS[path.suffix]}; charset=utf-8")
        self.set_header("Cache-Control", "private, max-age=3600")
        self.finish(path.read_bytes())


ADDRESSES = [
    (r"/desk/?", Assignments),
    (r"/desk/who", Who),
    (r"/desk/static/([\w-]+\.(?:css|js))", Static),
    (_ASSIGNMENT, Questions),
    (_ASSIGNMENT + r"/progress", Progress),
    (_ASSIGNMENT + r"/blank", Blank),
    (_ASSIGNMENT + r"/undo", Undo),
    (_QUESTION, Next),
    (_QUESTION + r"/answers", Answers),
    (_ANSWER, One),
    (_ANSWER + r"/(?P<what>keep|leave)", Lease),
    (_ANSWER + r"/page/(?P<key>[0-9a-f]{16})/(?P<page>[1-9]\d{0,2})", Page),
    (_ANSWER + r"/place", PutPlace),
]


# ------------------------------------------------------------------------------------ parts


def _find_answer(desk: Desk, question: Question, code: str) -> Answer:
    try:
        return desk.find_answer(question, code)
    except CourseError as problem:
        raise web.HTTPError(404, str(problem)) from None


def _find_following(desk: Desk, question: Question, marker: str) -> Question | None:
    """Return the next question, in the notebooks' order, that has something for this marker."""
    waiting = {
        (x.notebook, x.cell)
        for x in desk.read_answers()
        if x.status in ("open", "elsewhere", "changed") or desk.wants_second(x, marker)
    }
    index = desk.questions.index(question)
    order = desk.questions[index + 1 :] + desk.questions[:index]
    return next((q for q in order if (q.notebook, q.cell) in waiting), None)


def _describe_saved(desk: Desk, batch: str) -> str:
    """Say what was saved, as the database has it: no mark is shown as saved that is not."""
    marks = desk.read_batch(batch) if batch else []
    if not marks:
        return ""
    number = f"{len(marks)} answers" if len(marks) > 1 else "the last answer"
    points = "1 point" if marks[0].score == 1 else f"{marks[0].score:g} points"
    return f"Saved: {points} for {number}."


def _read_judgement(handler: DeskHandler, question: Question) -> Judgement:
    given = {}
    for item in question.scheme.items:
        value = handler.get_body_argument(f"item-{item.digest}", "0")
        given[item.digest] = int(value) if re.fullmatch(r"\d{1,2}", value) else 0
    try:
        adjustment = float(handler.get_body_argument("adjustment", "0") or 0)
    except ValueError:
        adjustment = float("nan")
    if not abs(adjustment) <= question.points:
        raise web.HTTPError(
            400,
            f"Nothing was saved: the adjustment must be a number between -{question.points:g} and "
            f"{question.points:g}.",
        )
    comment = clean_text(handler.get_body_argument("comment", "")).strip()
    if len(comment) > _LONGEST_COMMENT:
        raise web.HTTPError(
            400, f"Nothing was saved: the comment is longer than {_LONGEST_COMMENT:,} characters."
        )
    return Judgement(given, adjustment, comment.replace("\r\n", "\n"))


async def _elsewhere(work, *arguments):
    """Let something that takes its time happen in a thread, so that the desk goes on."""
    return await asyncio.get_running_loop().run_in_executor(None, work, *arguments)


def _describe_writeups(writeups: list[WriteUp]) -> list[dict]:
    """Return what a page shows of each file, under a name that is nobody's."""
    shown, numbers = [], Counter()
    for writeup in writeups[:_MOST_WRITEUPS]:
        document = open_document(writeup) if not writeup.same_answers else Document()
        kind = _NAMES[writeup.kind]
        numbers[kind] += 1
        shown.append({"writeup": writeup, "document": document, "name": f"{kind} {numbers[kind]}",
                      "size": describe_size(writeup.size)})  # fmt: skip
    return shown


async def _show_answer(
    handler: DeskHandler,
    desk: Desk,
    question: Question,
    answer: Answer,
    ticket: str,
    view: str,
    queue: str,
    saved: str,
) -> None:
    writeups = desk.find_writeups(answer)
    documents = await _elsewhere(_describe_writeups, writeups)
    with spending(_PAGE_SECONDS):
        _write_answer(handler, desk, question, answer, ticket, view, queue, saved, documents)


def _write_answer(
    handler: DeskHandler,
    desk: Desk,
    question: Question,
    answer: Answer,
    ticket: str,
    view: str,
    queue: str,
    saved: str,
    documents: list[dict],
) -> None:
    cells, attachments = desk.read_work(question, answer)
    text = desk.read_texts([answer.code])[answer.code]
    blind = view == "blind" and answer.status != "changed"
    mark = None if blind else desk.find_mark(answer.mark)
    second = desk.find_mark(answer.second) if view == "decide" else None
    known = {item.digest for item in question.scheme.items}
    old = [key for m in (mark, second) if m for key in m.items if key not in known]
    alike = [] if view != "blind" or answer.mark else desk.find_alike(question, answer)
    remembered = desk.remember_comments(question)
    work = [shown for cell in cells if (shown := _show_cell(cell, question))]
    handler.show(
        "answer.html",
        assignment=desk.assignment.name,
        question=question,
        answer=answer,
        standing="open" if blind else answer.status,
        text=render_markdown(text, attachments),
        work=work,
        kept=is_kept(question.slot.source),
        pictured=any(cell["kept"] and cell["outputs"] for cell in work),
        asked=[render_markdown(cell.source, cell.get("attachments")) for cell in question.asked],
        section=render_markdown(question.section.source) if question.section is not None else "",
        model=render_markdown(question.scheme.model),
        notes=render_markdown(question.scheme.notes) if question.scheme.notes else "",
        items=[(item, render_inline(item.text)) for item in question.scheme.items],
        mark=mark,
        second=second,
        old_items=desk.find_item_words(old) if old else {},
        alike=[(x, likeness, show_difference(words, text)) for x, likeness, words in alike],
        comments=remembered,
        documents=documents,
        place=desk.find_place(answer),
        names=bool(handler.get_query_argument("names", "")),
        ticket=ticket,
        view=view,
        queue=queue,
        saved=saved,
    )


def _show_cell(cell, question: Question) -> dict | None:
    """Return a code cell above an answer: what the student wrote, and what came out."""
    given = {slot.release.source.strip() for slot in question.blueprint.slots}
    graded = bool(cell.metadata.get("nbgrader", {}).get("grade"))
    own = cell.source.strip() not in given and not graded
    outputs = render_outputs(cell.get("outputs"))
    if not own and not outputs:
        return None
    return {
        "code": render_code(cell.source) if own else "",
        "own": own,
        "outputs": outputs,
        "kept": is_kept(cell),
        "graded": graded,
    }
