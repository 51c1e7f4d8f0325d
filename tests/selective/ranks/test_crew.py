"""The crew of a rank: what it says is heard once, in its order, by who waits for it."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

import tasksim
from tasksim.graph.distribution.owners import NodeGrid
from tasksim.graph.distribution.parts import cut_by
from tasksim.kernels.program import bind
from tasksim.selective import timedtasks
from tasksim.selective.ranks.crew import BEGUN, FAILED, RETURNED, Crew


def crew_of_one(functions=None, **options):
    graph = tasksim.generate("chain", length=2)
    given = functions or dict.fromkeys(graph.kernels, lambda *_: None)
    part = cut_by(graph, NodeGrid(1, 1), "row").parts[0]
    return Crew(bind(graph, 1, functions=given), part, 1, **options)


def heard(crew, count):
    found = []
    while len(found) < count:
        crew.listen(0.5)
        found += crew.answers()
    return found


def test_who_listens_hears_a_worker_at_once_and_each_word_once():
    crew = crew_of_one()
    crew.order(0, 0, -1, safe=False)
    assert crew.busy
    thread = threading.Thread(target=crew.work, args=(0,))
    thread.start()
    assert [answer.what for answer in heard(crew, 2)] == [BEGUN, RETURNED]
    assert not crew.busy
    assert crew.answers() == []
    crew.end()
    thread.join()


def test_a_failure_ends_what_is_under_way():
    def fail(*_):
        raise ValueError("no")

    graph = tasksim.generate("chain", length=2)
    crew = crew_of_one(dict.fromkeys(graph.kernels, fail))
    crew.order(0, 1, -1, safe=False)
    crew.end()
    crew.work(0)
    answers = heard(crew, 2)
    assert [answer.what for answer in answers] == [BEGUN, FAILED]
    assert not crew.busy


def test_who_listens_in_vain_goes_on():
    crew = crew_of_one()
    crew.listen(1e-6)
    assert crew.answers() == []


def test_how_long_a_task_has_taken_does_not_count_what_is_rehearsed_before(monkeypatch):
    seen = []

    def look(_):
        seen.append(crew.elapsed_s(0))

    ticks = iter(range(1000))
    clock = SimpleNamespace(now_s=lambda: 1e-9 * next(ticks))
    monkeypatch.setattr("tasksim.selective.timedtasks.ThreadClock", lambda: clock)
    graph = tasksim.generate("chain", length=2)
    crew = crew_of_one(dict.fromkeys(graph.kernels, look))
    crew.order(0, 1, 0, safe=False)
    assert crew.elapsed_s(0) == 0.0
    crew.end()
    crew.work(0)
    rehearsed_s, measured_s = seen
    assert rehearsed_s == 0.0
    assert measured_s > 0.0
    assert crew.elapsed_s(0) == next(a for a in heard(crew, 2) if a.what == RETURNED).first_s
    crew.order(0, 1, -1, safe=False)
    assert crew.elapsed_s(0) == 0.0


@pytest.mark.parametrize(
    ("cores", "own_s"), [("to spare", 0.001), ("one each", 0.003), ("too few", 0.010)]
)
def test_what_the_thread_that_gives_orders_takes_is_no_disturbance(monkeypatch, cores, own_s):
    """A task of 10 ms was preempted and had a core for 1 ms, that thread meanwhile for 2 ms."""
    worker, ordering, counts = iter([0.0, 0.001]), iter([0.0, 0.002]), iter([0, 9])
    clock = SimpleNamespace(now_s=lambda: next(worker))
    monkeypatch.setattr(timedtasks, "ThreadClock", lambda: clock)
    monkeypatch.setattr(timedtasks, "preemptions", lambda: next(counts))
    monkeypatch.setattr(timedtasks, "status", lambda: SimpleNamespace(available=False))
    wall = iter([1.0, 1.010])
    monkeypatch.setattr(timedtasks, "perf_counter", lambda: next(wall))
    monkeypatch.setattr(
        "tasksim.selective.ranks.crew.ThreadClock",
        lambda: SimpleNamespace(now_s=lambda: next(ordering)),
    )
    crew = crew_of_one(cores=cores)
    crew.ordered_from_here()
    crew.order(0, 0, -1, safe=False)
    crew.end()
    crew.work(0)
    assert crew.elapsed_s(0) == pytest.approx(own_s)
