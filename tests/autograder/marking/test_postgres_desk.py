"""The desk on a gradebook in a real PostgreSQL."""

import threading

import pytest

from autograder.course import load_assignment
from autograder.demo.written import make_written_class
from autograder.marking.desk import Desk, Judgement, Overtaken
from autograder.marking.records import read_records
from tests.autograder.classroom.test_postgres import database  # noqa: F401
from tests.autograder.marking.conftest import NOTEBOOK

pytestmark = pytest.mark.soak


@pytest.fixture
def assignment(course_copy, database, monkeypatch):  # noqa: F811
    config = course_copy / "nbgrader_config.py"
    config.write_text(
        config.read_text("utf-8") + f"\nc.CourseDirectory.db_url = {database!r}\n", "utf-8"
    )
    monkeypatch.setenv("COURSE_GRADING", "grading")
    return load_assignment("attention", course_copy)


def test_marks_are_given_once_and_undone_in_postgresql(assignment):
    make_written_class(assignment, 4, seed=1, notebooks=[NOTEBOOK])
    desk = Desk(assignment)
    desk.refresh()
    question = desk.find_question(NOTEBOOK, "answer_1_2_1")
    judgement = Judgement({question.scheme.items[0].digest: 1}, comment="half")
    answer, _ = desk.find_next(question, "ann")
    assert desk.take(answer.code, "bob") is None, "ann has it open"
    outcomes = []

    def compete(name):
        own = Desk(assignment)
        start.wait()
        try:
            own.give(question, name, judgement, {answer.code: answer.seen})
            outcomes.append("won")
        except Overtaken:
            outcomes.append("lost")
        own.close()

    start = threading.Barrier(4)
    threads = [threading.Thread(target=compete, args=(f"m{i}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["lost", "lost", "lost", "won"]
    found = desk.find_answer(question, answer.code)
    assert (found.status, found.score) == ("marked", 1.0)
    records = read_records(desk.gradebook, assignment.name, NOTEBOOK, found.student)
    assert records["answer_1_2_1"].list_items()[0][1] == 1.0
    assert desk.remember_comments(question) == ["half"]
    desk.undo(found.marker)
    assert desk.find_answer(question, answer.code).status == "open"
    desk.close()
