"""The queues of the dm family: by priority, what goes first, what lies ahead; whole runs."""

from __future__ import annotations

import random
from math import nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasksim.engine.conformance import parametrize_with_checks
from tasksim.engine.replay import Replay
from tasksim.graph.apps.registry import generate
from tasksim.platform.description import Platform
from tasksim.schedulers.data_readiness import first_ready
from tasksim.schedulers.ends_ahead import WeighedTasks
from tasksim.schedulers.registry import create
from tasksim.schedulers.tasklists import PushOrder, SortedTasks

PRIORITY = [1, 5, 5, -2, 1, 5]


def test_the_order_of_pushes():
    queue = PushOrder([4, 2, 7, 1])
    assert [queue.popleft() for _ in range(3)] == [4, 2, 7]
    assert list(queue) == [1]


def test_by_priority_then_the_order_of_pushes():
    queue = SortedTasks(PRIORITY)
    for task in range(6):
        queue.append(task)
    assert len(queue) == 6
    assert [queue.popleft() for _ in range(6)] == [1, 2, 5, 0, 4, 3]
    assert len(queue) == 0


@given(st.integers(0, 2**32))
def test_the_work_of_every_level_is_that_of_its_tasks(seed):
    draw = random.Random(seed)
    priority = draw.choices(range(4), k=30)
    lengths = draw.choices([0.0, nan, 1.0, 2.0, 4.0], k=30)
    queue, inside = WeighedTasks(priority, lengths), []
    for task in range(30):
        queue.append(task)
        inside.append(task)
        if draw.random() < 0.6:
            inside.remove(queue.popleft())
        levels = sorted({priority[t] for t in inside}, reverse=True)
        works = [
            sum(lengths[t] for t in inside if priority[t] == p and lengths[t] > 0) for p in levels
        ]
        assert (queue.order, queue.work) == ([-p for p in levels], works)


def test_how_many_go_ahead_of_a_task_in_the_middle():
    queue = WeighedTasks([9, 9, 5, 1], [1.0] * 4)
    assert queue.count_ahead(3) is None  # nothing there
    for task in range(4):
        queue.append(task)
    assert [queue.count_ahead(p) for p in (10, 9, 6, 5, 1, 0)] == [None, 2, 2, 3, None, None]


def test_the_first_ready_task_lacks_fewest_bytes_then_fewest_to_ask_for_then_fewest_places():
    lacks = [(8, 8, 0), (4, 4, 9), (4, 2, 9), (4, 2, 3), (4, 2, 3)]
    assert first_ready(range(5), 1, lambda task, memory: lacks[task]) == (3, 5)
    assert first_ready(range(1), 1, lambda task, memory: lacks[task]) == (0, 1)


def test_a_task_that_only_lacks_a_place_is_not_the_end_of_the_search():
    lacks = [(0, 0, 4), (0, 0, 0)]
    assert first_ready(range(2), 1, lambda task, memory: lacks[task]) == (1, 2)


class Variant:
    """A factory of schedulers with options, that pytest can name."""

    def __init__(self, text):
        self.text = self.__name__ = text

    def __call__(self):
        return create(self.text)


@parametrize_with_checks(
    [
        Variant("dm:prefetch=0"),
        Variant("dmda:alpha=0"),
        Variant("dmdas:beta=0,gamma=2,idle_power=100"),
        Variant("dmdasd:alpha=2,idle_power=300"),
    ]
)
def test_schedulers_with_options(scheduler, check):
    check(scheduler)


@pytest.mark.parametrize(("one", "other"), [("dm", "dmda"), ("dmda", "dmdar"), ("dmdap", "dmdas")])
def test_where_nothing_is_moved_data_do_not_matter(one, other):
    graph = generate("cholesky", tiles=9)
    costs = [[1.0 + (task % 7) / 3 for task in range(len(graph))]]

    def run(name):
        replay = Replay(graph, Platform.identical(5), create(name), costs)
        replay.run(random.Random(0))
        return replay.ledger.worker, list(replay.ledger.start)

    assert run(one) == run(other)
