"""Marks, leases, two readers, undo, and what becomes of marks when work is graded again."""

import os
import random
import signal
import sqlite3
import threading
import time

import nbformat
import pytest

from autograder.course import CourseError
from autograder.marking.desk import Desk, Judgement, Overtaken
from autograder.marking.progress import measure_markers, measure_progress
from tests.autograder.marking.conftest import NOTEBOOK, STUDENTS, marking_in
from tests.conftest import run_nbgrader

CELL = "answer_1_2_3"


def find_question(desk, cell=CELL):
    return desk.find_question(NOTEBOOK, cell)


def judge(question, count=1, **facts):
    """Give the first items of a question."""
    return Judgement({item.digest: 1 for item in question.scheme.items[:count]}, **facts)


def mark_next(desk, marker, count=1, cell=CELL, **facts):
    question = find_question(desk, cell)
    answer, _ = desk.find_next(question, marker)
    kind = "second" if desk.wants_second(answer, marker) else "mark"
    desk.give(question, marker, judge(question, count, **facts), {answer.code: answer.seen}, kind)
    return desk.find_answer(question, answer.code)


def read_grade(folder, student, cell=CELL):
    database = sqlite3.connect(folder / "gradebook.db")
    row = database.execute(
        "select g.manual_score, g.needs_manual_grade, c.manual_comment from grade g "
        "join base_cell b on b.id = g.cell_id "
        "join submitted_notebook n on n.id = g.notebook_id "
        "join submitted_assignment s on s.id = n.assignment_id "
        "join comment c on c.notebook_id = n.id "
        "join base_cell d on d.id = c.cell_id and d.name = b.name "
        "where s.student_id = ? and b.name = ?",
        (student, cell),
    ).fetchone()
    database.close()
    return row


def rewrite(folder, student, text, cell=CELL):
    """Let a graded notebook hold another answer."""
    path = folder / "autograded" / student / "attention" / f"{NOTEBOOK}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    for entry in notebook.cells:
        if entry.metadata.get("nbgrader", {}).get("grade_id") == cell:
            entry.source = text
    path.unlink()
    path.write_text(nbformat.writes(notebook), "utf-8")


def set_waiting(folder):
    """Do what nbgrader does when it grades again: everything that a person marked waits."""
    database = sqlite3.connect(folder / "gradebook.db")
    database.execute("update grade set needs_manual_grade = 1 where manual_score is not null")
    database.commit()
    database.close()


# ------------------------------------------------------------------------------------ marks


def test_a_mark_reaches_nbgraders_gradebook_with_its_record(desk, grading):
    answer = mark_next(desk, "ann", 1, comment="Name one.")
    assert read_grade(grading, answer.student) == (1.0, 0, "Name one.")
    assert (answer.status, answer.marker, answer.score) == ("marked", "ann", 1.0)
    given = desk.find_mark(answer.mark)
    assert given.comment == "Name one." and list(given.items.values()) == [1]
    (person,) = measure_markers(desk)
    assert (person.marker, person.marks) == ("ann", 1)


def test_every_question_has_its_own_order(desk):
    orders = [
        [answer.student for answer in desk.read_answers(find_question(desk, cell))]
        for cell in ("answer_1_2_1", "answer_1_2_2", "answer_1_2_3")
    ]
    assert sorted(orders[0]) == sorted(orders[1]) and orders[0] != orders[1] != orders[2]


def test_adjustment_and_cap(desk):
    answer = mark_next(desk, "ann", 2, adjustment=-0.5)
    assert answer.score == 1.5
    assert mark_next(desk, "ann", 2, adjustment=2).score == 2


def test_nothing_is_overwritten_unseen(desk):
    question = find_question(desk)
    answer, _ = desk.find_next(question, "ann")
    desk.give(question, "ann", judge(question, 2), {answer.code: answer.seen})
    with pytest.raises(Overtaken, match="ann has marked it"):
        desk.give(question, "bob", judge(question, 0), {answer.code: answer.seen})
    assert desk.find_answer(question, answer.code).score == 2


def test_a_mark_from_formgrader_is_not_overwritten_unseen(desk, grading):
    question = find_question(desk)
    answer, _ = desk.find_next(question, "ann")
    grade = desk.gradebook.find_grade(CELL, NOTEBOOK, "attention", answer.student)
    grade.manual_score, grade.needs_manual_grade = 1.75, False
    desk.gradebook.db.commit()
    with pytest.raises(Overtaken):
        desk.give(question, "ann", judge(question), {answer.code: answer.seen})
    assert read_grade(grading, answer.student)[0] == 1.75
    assert desk.find_answer(question, answer.code).status == "formgrader"


def test_several_answers_are_written_together_or_not_at_all(desk):
    question = find_question(desk)
    one, two = [x for x in desk.read_answers(question) if x.status == "open"][:2]
    with pytest.raises(Overtaken):
        desk.give(question, "ann", judge(question), {one.code: one.seen, two.code: "stale"})
    assert desk.find_answer(question, one.code).mark is None
    desk.give(question, "ann", judge(question), {one.code: one.seen, two.code: two.seen})
    assert [len(desk.undo("ann")), len(measure_markers(desk))] == [2, 0]


def test_two_processes_cannot_both_win(desk, grading):
    """Many try to mark the same answer at the same moment; one does."""
    question = find_question(desk)
    answer, _ = desk.find_next(question, "ann")
    outcomes = []

    def compete(name):
        with marking_in(grading) as assignment:
            own = Desk(assignment)
        start.wait()
        for _ in range(20):
            try:
                own.give(question, name, judge(question), {answer.code: answer.seen})
                outcomes.append("won")
            except Overtaken:
                outcomes.append("lost")
            except CourseError:  # the database was busy: nothing was saved
                continue
            break
        own.close()

    start = threading.Barrier(3)
    threads = [threading.Thread(target=compete, args=(f"m{i}",)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["lost", "lost", "won"]


# ----------------------------------------------------------------------------------- leases


def test_what_somebody_has_open_is_not_offered_to_another(desk):
    question = find_question(desk)
    one, ticket = desk.find_next(question, "ann")
    two, _ = desk.find_next(question, "bob")
    assert one.code != two.code and desk.find_holder(one.code) == "ann"
    assert desk.find_next(question, "ann")[0].code == one.code, "her own comes again"
    assert desk.take(one.code, "bob") is None
    desk.leave(one.code, "another page's ticket")
    assert desk.find_holder(one.code) == "ann"
    newest = desk.take(one.code, "ann")
    desk.leave(one.code, ticket)
    assert desk.find_holder(one.code) == "ann", "a page that was left does not close a newer one"
    desk.leave(one.code, newest)
    assert desk.find_holder(one.code) is None


def test_a_lease_ends(desk, monkeypatch):
    question = find_question(desk)
    one, _ = desk.find_next(question, "ann")
    later = time.time() + 3600
    monkeypatch.setattr(time, "time", lambda: later)
    assert desk.find_holder(one.code) is None
    assert desk.find_next(question, "bob")[0].code == one.code


def test_skipping_goes_on_behind(desk):
    question = find_question(desk)
    seen, after = [], ""
    count = sum(x.status == "open" for x in desk.read_answers(question))
    for _ in range(count):
        answer, ticket = desk.find_next(question, "ann", after=after)
        desk.leave(answer.code, ticket)
        seen.append(answer.code)
        after = answer.code
    assert len(set(seen)) == count and seen == sorted(seen)
    assert desk.find_next(question, "ann", after=after)[0].code == seen[0]


# -------------------------------------------------------------------------------- two readers


def test_a_second_reader_is_not_told_and_a_decision_settles(desk_twice, grading):
    desk, question = desk_twice, find_question(desk_twice)
    count = sum(x.status == "open" for x in desk.read_answers(question))
    for _ in range(count):
        mark_next(desk, "ann", 2)
    assert desk.find_next(question, "ann") is None, "nobody reads their own twice"
    first = mark_next(desk, "bob", 1)
    assert first.status == "decide" and read_grade(grading, first.student)[0] == 2.0
    agreed = mark_next(desk, "bob", 2)
    assert agreed.status == "marked" and agreed.second_marker == "bob"
    entry = next(e for e in measure_progress(desk) if e.question is question)
    assert (entry.read_twice, entry.disagreed, entry.mean_difference) == (2, 1, 0.5)
    answer, _ = desk.find_next(question, "cem", "decide")
    assert answer.code == first.code
    judgement = judge(question, 1, adjustment=0.5)
    desk.give(question, "cem", judgement, {answer.code: answer.seen}, "decision")
    settled = desk.find_answer(question, answer.code)
    assert settled.status == "marked" and read_grade(grading, settled.student)[0] == 1.5
    entry = next(e for e in measure_progress(desk) if e.question is question)
    assert (entry.disagreed, entry.mean_difference) == (1, 0.5), "a decision does not hide it"
    with pytest.raises(Overtaken, match="decided already"):
        desk.give(question, "ann", judgement, {settled.code: settled.seen}, "decision")


def test_the_share_read_twice_is_about_what_was_asked_for(desk_twice):
    answers = desk_twice.read_answers()
    for share, low, high in ((0, 0, 0), (100, len(answers), len(answers)), (50, 15, 57)):
        desk_twice.assignment.course.marking["twice_percent"] = share
        assert low <= sum(map(desk_twice.is_twice, answers)) <= high


# ------------------------------------------------------------------------------------- undo


def test_undo_goes_back_over_ones_own_marks(desk, grading):
    one = mark_next(desk, "ann", 1, comment="first")
    other = mark_next(desk, "bob", 2)
    two = mark_next(desk, "ann", 2)
    assert [x.code for x in desk.undo("ann")] == [two.code]
    assert [x.code for x in desk.undo("ann")] == [one.code]
    with pytest.raises(CourseError, match="nothing of yours"):
        desk.undo("ann")
    assert read_grade(grading, one.student) == (None, 1, None)
    assert read_grade(grading, other.student)[0] == 2.0


def test_undo_brings_the_mark_before_back(desk, grading):
    question = find_question(desk)
    answer = mark_next(desk, "ann", 1, comment="old")
    desk.give(question, "bob", judge(question, 2, comment="new"), {answer.code: answer.seen})
    with pytest.raises(Overtaken, match="marked again"):
        desk.undo("ann")
    desk.undo("bob")
    assert read_grade(grading, answer.student) == (1.0, 0, "old")
    assert desk.find_answer(question, answer.code).marker == "ann"


# ------------------------------------------------------------------------- comments, alike, blank


def test_comments_are_remembered_most_used_first(desk):
    for words in ("rare", "often", "often", ""):
        mark_next(desk, "ann", comment=words)
    assert desk.remember_comments(find_question(desk)) == ["often", "rare"]
    assert desk.remember_comments(find_question(desk, "answer_1_2_1")) == []


def test_alike_answers_are_found_and_only_unread_ones(desk, grading):
    question = find_question(desk)
    students = [x.student for x in desk.read_answers(question) if x.status == "open"]
    long = (
        "the model looks up the name that was said before and copies it to where it is needed now"
    )
    rewrite(grading, students[0], long)
    rewrite(grading, students[1], long.upper())
    rewrite(grading, students[2], long + " indeed")
    rewrite(grading, students[3], "short")
    rewrite(grading, students[4], "short?")
    desk.refresh(at_least=0)
    by_name = {x.student: x for x in desk.read_answers(question)}
    found = desk.find_alike(question, by_name[students[0]])
    assert [(x.student, likeness == 1) for x, likeness, _ in found] == [
        (students[1], True), (students[2], False),
    ]  # fmt: skip
    assert desk.find_alike(question, by_name[students[3]]) == []
    other = by_name[students[1]]
    desk.give(question, "ann", judge(question), {other.code: other.seen})
    assert [x.student for x, _, _ in desk.find_alike(question, by_name[students[0]])] == [
        students[2]
    ]


def test_untouched_and_empty_answers_wait_for_a_look(desk, grading):
    question = find_question(desk)
    answer = next(x for x in desk.read_answers(question) if x.status == "open")
    for text in ("", "   \n", "...", " - "):
        rewrite(grading, answer.student, text)
        desk.refresh(at_least=0)
        found = desk.find_answer(question, answer.code)
        assert (found.state, found.status) == ("empty", "blank"), text
    rewrite(grading, answer.student, question.slot.release.source + " \n")
    desk.refresh(at_least=0)
    assert desk.find_answer(question, answer.code).state == "untouched"
    assert answer.code not in {x.code for x in desk.read_answers(question) if x.status == "open"}


# --------------------------------------------------------------------- graded again, resubmitted


def test_a_mark_stays_when_the_same_answer_is_graded_again(desk, grading):
    answer = mark_next(desk, "ann", 2)
    set_waiting(grading)
    rewrite(grading, answer.student, "other words", cell="answer_1_3_3")  # the file is another
    desk.refresh(at_least=0)
    assert desk.find_answer(find_question(desk), answer.code).status == "marked"
    assert read_grade(grading, answer.student)[:2] == (2.0, 0)


def test_an_answer_that_changed_is_asked_for_again_and_keeps_its_mark(desk, grading):
    answer = mark_next(desk, "ann", 2)
    stale = answer.seen
    rewrite(grading, answer.student, "A new submission says something else.")
    desk.refresh(at_least=0)
    question = find_question(desk)
    found = desk.find_answer(question, answer.code)
    assert found.status == "changed" and read_grade(grading, answer.student)[:2] == (2.0, 1)
    with pytest.raises(Overtaken):
        desk.give(question, "bob", judge(question, 0), {answer.code: stale})
    waiting = {x.code for x in desk.read_answers(question) if x.status in ("open", "changed")}
    assert answer.code in waiting
    desk.give(question, "bob", judge(question, 1), {answer.code: found.seen})
    assert desk.find_answer(question, answer.code).status == "marked"


def test_a_notebook_that_is_not_there_is_not_asked_for(desk, grading):
    student = desk.read_answers()[0].student
    (grading / "autograded" / student / "attention" / f"{NOTEBOOK}.ipynb").unlink()
    desk.refresh(at_least=0)
    states = {x.status for x in desk.read_answers() if x.student == student}
    assert states == {"missing"}


def test_a_damaged_graded_file_stops_nobody(desk, grading):
    student = desk.read_answers()[0].student
    path = grading / "autograded" / student / "attention" / f"{NOTEBOOK}.ipynb"
    for content in ("{", '{"cells": [{"source": 3}]}', '{"cells": 5, "metadata": {}}', "[]"):
        path.unlink()
        path.write_text(content)
        desk.refresh(at_least=0)
        assert {x.status for x in desk.read_answers() if x.student == student} == {"missing"}
    assert any(x.status == "open" for x in desk.read_answers())


def test_a_reworded_scheme_shows_which_marks_are_old(desk, monkeypatch):
    answer = mark_next(desk, "ann", 1)
    question = find_question(desk)
    source = question.slot.source.source
    monkeypatch.setitem(
        question.slot.source, "source", source.replace("1 point: names", "1 point: says")
    )
    question.__dict__.pop("scheme")
    try:
        assert desk.find_next(question, "bob", "reworded")[0].code == answer.code
        entry = next(e for e in measure_progress(desk) if e.question is question)
        assert entry.reworded == 1
        (digest,) = desk.find_mark(answer.mark).items
        assert desk.find_item_words([digest])[digest][0].startswith("names something concrete")
    finally:
        question.__dict__.pop("scheme")


# ------------------------------------------------------------------------------- nbgrader, kills


def test_nbgraders_upgrade_and_export_leave_and_show_marks(desk, grading, tmp_path):
    answer = mark_next(desk, "ann", 2)
    desk.close()
    place = str(grading)
    done = run_nbgrader("db", "upgrade", COURSE_GRADING=place)
    assert done.returncode == 0, done.stderr
    target = tmp_path / "grades.csv"
    done = run_nbgrader("export", f"--to={target}", COURSE_GRADING=place)
    assert done.returncode == 0, done.stderr
    assert read_grade(grading, answer.student)[0] == 2.0
    row = next(line for line in target.read_text().splitlines() if answer.student in line)
    assert "attention" in row
    with marking_in(grading) as assignment:
        again = Desk(assignment)
        assert again.find_answer(find_question(again), answer.code).marker == "ann"
        again.close()


def mark_until_killed(folder, cell, wire):
    """Mark one answer after another, and say of each that it is saved."""
    with marking_in(folder) as assignment:
        desk = Desk(assignment)
        question = find_question(desk, cell)
        os.write(wire, b"ready\n")
        while found := desk.find_next(question, "ann"):
            answer, _ = found
            judgement = judge(question, 2, comment="kept")
            desk.give(question, "ann", judgement, {answer.code: answer.seen})
            os.write(wire, f"{answer.student}\n".encode())


def test_no_mark_that_was_shown_as_saved_is_lost(desk, grading):
    """Twenty kills at random moments: what was said to be saved is there, whole, and once."""
    desk.close()
    cells = [f"answer_1_{section}_{n}" for section in (2, 3, 4) for n in (1, 2, 3)]
    rng, saved = random.Random(3), {}
    for kill in range(20):
        cell = cells[kill % len(cells)]
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                mark_until_killed(grading, cell, writing)
            finally:
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as said:
            assert said.readline() == "ready\n"
            told = [said.readline().strip() for _ in range(rng.randint(0, 2))]
            time.sleep(rng.uniform(0, 0.02))
            os.kill(child, signal.SIGKILL)
            saved.setdefault(cell, set()).update({*told, *said.read().split()} - {""})
        os.waitpid(child, 0)
    assert sum(map(len, saved.values())) >= 5
    database = sqlite3.connect(grading / "gradebook.db")
    assert database.execute("pragma integrity_check").fetchone() == ("ok",)
    for cell, students in saved.items():
        for student in students:
            assert read_grade(grading, student, cell)[2] == "kept", (cell, student)
    broken = database.execute(
        "select count(*) from desk_mark m left join desk_answer a on a.mark = m.id where a.code is null"
    ).fetchone()
    twice = database.execute("select max(n) from (select count(*) n from desk_mark group by code)")
    assert broken == (0,) and twice.fetchone() == (1,)
    marks = database.execute("select count(*) from desk_mark").fetchone()[0]
    grades = database.execute(
        "select count(*) from grade where manual_score is not null"
    ).fetchone()
    assert marks == grades[0], "a mark and its record come and go together"


def test_students_of_the_class_are_all_there(desk):
    assert len({x.student for x in desk.read_answers()}) == STUDENTS
