"""What takes too much time or memory ends in another process; whoever asked goes on."""

import os
import threading
import time

import pytest

from course_utils import bounded
from tests.course_utils.bounded_work import work

pytestmark = pytest.mark.xdist_group("bounded")


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(bounded, "SECONDS", 0.3)
    monkeypatch.setattr(bounded, "_failed", set())


@pytest.mark.parametrize("what", ["regex", "memory", "deep", "crash"])
def test_what_takes_too_much_is_given_up_and_the_next_one_is_done(what):
    assert work(what) == f"plain: {what[:5]}"
    assert work("other", amount=3).startswith("done in")


def test_it_runs_in_a_process_of_its_own_that_is_used_again():
    first = work("one", amount=1)
    assert first.endswith("True 1") and str(os.getpid()) not in first
    assert work("two").split()[2] == first.split()[2]
    assert work("print").startswith("done in"), "what is printed there is no answer"


def test_it_holds_in_threads():
    answers = []
    threads = [
        threading.Thread(target=lambda w=w: answers.append(work(w)))
        for w in ("regex", "sleep", "crash", "other")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(answer.split()[0] for answer in answers) == ["done", "done", "plain:", "plain:"]


def test_the_same_text_is_given_up_once():
    assert work("regex") == "plain: regex"
    started = time.process_time(), time.monotonic()
    worker = bounded._workers.get("tests.course_utils.bounded_work")
    assert work("regex") == "plain: regex"
    assert bounded._workers.get("tests.course_utils.bounded_work") is worker
    assert time.monotonic() - started[1] < 0.3, "nobody waits for it again"


def test_a_whole_page_has_a_limit_too():
    with bounded.spending(0.5):
        answers = [work("regex", amount=number) for number in range(40)]
        assert work("other") == "plain: other", "nothing is left"
    assert set(answers) == {"plain: regex"}
    assert work("other").startswith("done in")


def test_bytes_go_there_and_come_back():
    worker = bounded.Worker("tests.course_utils.bounded_work")
    assert worker.call("reverse", 2, content=b"ab") == b"baba"
    worker.end()
    assert not worker.is_usable
    with pytest.raises(bounded.TooMuch):
        worker.call("reverse", 2, content=b"ab")


def test_a_module_that_is_not_there_is_too_much():
    with pytest.raises(bounded.TooMuch):
        bounded.Worker("course_utils.nothing_of_the_kind")
