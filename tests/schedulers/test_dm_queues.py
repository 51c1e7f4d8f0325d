"""The queues of the dm family: by priority, what goes first, what lies ahead; whole runs."""

from __future__ import annotations

import random
from math import nan

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import replay_of

from tasksim.engine.conformance import parametrize_with_checks
from tasksim.graph.apps.registry import generate
from tasksim.platform.description import Platform
from tasksim.schedulers.dmdasd import LevelSums, PriorityRanks, WeighedTasks
from tasksim.schedulers.queues import PushOrder, SortedTasks, first_ready
from tasksim.schedulers.registry import create

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
def test_the_work_ahead_is_that_of_more_urgent_tasks(seed):
    draw = random.Random(seed)
    priority = draw.choices(range(4), k=30)
    lengths = draw.choices([0.0, nan, 1.0, 2.0, 4.0], k=30)
    queue, inside = WeighedTasks(priority, PriorityRanks(priority), lengths), []
    for task in range(30):
        queue.append(task)
        inside.append(task)
        if draw.random() < 0.6:
            inside.remove(queue.popleft())
        before = [t for t in inside if priority[t] >= priority[task]]
        work, count = 0.5 + sum(lengths[t] for t in before if lengths[t] > 0), len(before)
        if not before:
            work, count = 0.5, None
        elif len(before) == len(inside):
            work, count = 100.0, None
        assert (queue.ahead(task, 0.5, 100.0), queue.count_ahead(task)) == (work, count)


def test_how_many_go_ahead_of_a_task_in_the_middle():
    priority = [9, 9, 5, 1, 10, 6, 0, 3]
    queue = WeighedTasks(priority, PriorityRanks(priority), [1.0] * 8)
    assert queue.count_ahead(7) is None  # nothing there
    for task in range(4):
        queue.append(task)
    asked = [4, 0, 5, 2, 3, 6]
    assert [queue.count_ahead(task) for task in asked] == [None, 2, 2, 3, None, None]


@pytest.mark.slow
@given(st.integers(0, 2**32))
def test_sums_over_levels_are_those_of_what_is_there(seed):
    """Of thousands of levels: nodes come and go; in the end, all are gone."""
    draw = random.Random(seed)
    ranks = draw.choice((1, 16, 17, 300, 5000))
    sums, known = LevelSums(ranks), dict.fromkeys(draw.choices(range(ranks), k=20), 0.0)
    for _ in range(60):
        rank, amount = draw.choice(list(known)), draw.choice((0.5, 3.0, -2.0))
        if draw.random() < 0.4:
            sums.clear(rank)
            known[rank] = 0.0
        else:
            sums.add(rank, amount)
            known[rank] += amount
        asked = draw.randrange(ranks)
        assert sums.up_to(asked) == sum(known[r] for r in known if r <= asked)
    for rank in known:
        sums.clear(rank)
    assert sums.up_to(ranks - 1) == 0.0
    assert not any(nodes for _, nodes in sums._nodes)


def test_what_is_far_smaller_leaves_no_error_behind():
    sums = LevelSums(100)
    sums.add(7, 0.1)
    sums.add(50, 1e20)
    sums.clear(50)
    assert sums.up_to(99) == 0.1


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
        replay = replay_of(graph, Platform.identical(5), create(name), costs)
        replay.run(0)
        return replay.ledger.worker, list(replay.ledger.start)

    assert run(one) == run(other)
