"""The crew of a rank: what it says is heard once, in its order, by who waits for it."""

from __future__ import annotations

import threading

import tasksim
from tasksim.graph.distribution.cutting import cut_by
from tasksim.graph.distribution.owners import Grid
from tasksim.kernels.program import bind
from tasksim.native.selective.ranks.crew import BEGUN, FAILED, RETURNED, Crew


def crew_of_one(functions=None):
    graph = tasksim.generate("chain", length=2)
    given = functions or dict.fromkeys(graph.kernels, lambda *_: None)
    part = cut_by(graph, Grid(1, 1), "row").parts[0]
    return Crew(bind(graph, 1, functions=given), part, 1)


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
