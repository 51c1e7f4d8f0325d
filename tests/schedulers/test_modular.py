"""Modular schedulers, step by step against a view that is played by hand."""

from __future__ import annotations

import random
from math import inf, nan

import pytest

from tasksim.base.errors import InputError
from tasksim.platform.description import Worker, WorkerClass
from tasksim.schedulers.modular import (
    ModularDmda,
    ModularDmdar,
    ModularDmdas,
    ModularEager,
    ModularHeft,
    ModularPrio,
)
from tasksim.schedulers.queues import task_list


class View:
    """Worker *i* is a class of its own, with a memory of its own unless *memories* says else."""

    power = decisions = None

    def __init__(self, estimates, memories=None, priority=None):
        count, tasks = len(estimates), len(estimates[0])
        memories = memories or list(range(count))
        self.now = 0.0
        self.pusher = None
        self.workers = tuple(
            Worker(id=i, name=f"w{i}", architecture=f"a{i}", memory=m, node=0, core=None)
            for i, m in enumerate(memories)
        )
        self.classes = tuple(
            WorkerClass(architecture=f"a{i}", memory=m, workers=(i,), models=None)
            for i, m in enumerate(memories)
        )
        self.class_of = list(range(count))
        self.estimates = estimates
        self.able = [
            sum(1 << c for c in range(count) if estimates[c][t] != inf) for t in range(tasks)
        ]
        self.priority = priority or [0] * tasks
        self.transfers = {}
        self.lacking = {}
        self.prefetched = []
        self.woken = []

    def can_run(self, task, worker):
        return bool(self.able[task] >> worker & 1)

    def transfer_estimate(self, task, memory):
        return self.transfers.get((task, memory), 0.0)

    def unready(self, task, memory):
        return self.lacking.get((task, memory), (0, 0, 0))

    def prefetch(self, task, memory):
        self.prefetched.append((task, memory))

    def wake(self, worker):
        self.woken.append(worker)

    def wake_any(self, task):
        self.woken.append(min(w for w in self.class_of if self.can_run(task, w)))


def attached(scheduler, view):
    scheduler.attach(view, random.Random(0))
    return scheduler


def test_a_transfer_delays_the_end_and_is_charged_besides():
    """Core: 10 s. Device: 2 s after 5 s of transfer, hence 7 s; its fitness is 5, the core's 3."""
    for beta, chosen in [(1.0, 0), (0.5, 1)]:
        view = View([[10.0], [2.0]])
        view.transfers[0, 1] = 5.0
        attached(ModularDmda(beta=beta), view).push(0)
        assert view.woken == [chosen]
        assert view.prefetched == [(0, chosen)]


def test_workers_of_one_memory_prefetch_nothing():
    view = View([[1.0], [1.0]], memories=[0, 0])
    attached(ModularDmda(), view).push(0)
    assert view.prefetched == []


def test_queued_work_counts_and_ties_go_to_the_lowest_number():
    view = View([[4.0] * 4, [4.0] * 4])
    scheduler = attached(ModularDmda(), view)
    for task in range(4):
        scheduler.push(task)
    assert view.woken == [0, 1, 0, 1]


def test_energy_is_charged_when_the_whole_gets_longer():
    """4 s of energy on the core; 1.5 and 4.5, or 0.25 and 3.25 s, of transfer and energy."""
    view = View([[4.0, 4.0], [3.0, 9.0]])
    view.transfers[0, 1] = 1.5
    scheduler = attached(ModularDmda(alpha=0.0, gamma=1000.0, idle_power=1000.0), view)
    scheduler.push(0)
    assert view.woken == [0]
    cheaper = View([[4.0, 4.0], [3.0, 9.0]])
    cheaper.transfers[0, 1] = 0.25
    attached(ModularDmda(alpha=0.0, beta=1.0, gamma=1e6, idle_power=1.0), cheaper).push(0)
    assert cheaper.woken == [1]


def test_a_device_that_asks_for_a_second_task_is_taken_to_be_free():
    view = View([[5.0, 5.0], [4.0, 4.0]])
    scheduler = attached(ModularDmda(), view)
    scheduler.push(0)
    assert scheduler.pop(1) == 0
    scheduler.started(0, 1)
    assert scheduler.pop(1) is None
    scheduler.push(1)
    assert view.woken == [1, 1]


def test_a_running_task_counts_for_a_worker_that_does_not_ask():
    view = View([[5.0, 5.0], [4.0, 4.0]])
    scheduler = attached(ModularDmda(), view)
    scheduler.push(0)
    assert scheduler.pop(1) == 0
    scheduler.started(0, 1)
    scheduler.push(1)
    assert view.woken == [1, 0]


def test_the_readiest_task_first_with_dmdar():
    view = View([[1.0] * 3])
    view.lacking = {(0, 0): (9, 9, 0), (1, 0): (9, 4, 0), (2, 0): (9, 4, 2)}
    scheduler = attached(ModularDmdar(), view)
    for task in range(3):
        scheduler.push(task)
    assert [scheduler.pop(0) for _ in range(4)] == [1, 2, 0, None]


def test_priority_before_readiness_with_dmdas():
    view = View([[1.0] * 3], priority=[1, 5, 5])
    view.lacking = {(1, 0): (9, 9, 0), (2, 0): (8, 8, 8)}
    scheduler = attached(ModularDmdas(), view)
    for task in range(3):
        scheduler.push(task)
    assert [scheduler.pop(0) for _ in range(3)] == [2, 1, 0]


def test_the_search_ends_at_a_task_that_lacks_nothing():
    asked = []
    view = View([[1.0] * 3])
    view.lacking = {(0, 0): (1, 1, 1)}
    original = view.unready
    view.unready = lambda task, memory: (asked.append(task), original(task, memory))[1]
    queue = task_list(view, 0, by_priority=False, ready_first=True)
    for task in range(3):
        queue.append(task)
    assert queue.popleft() == 1
    assert 2 not in asked


def test_tasks_of_unknown_duration_are_spread():
    view = View([[nan] * 4, [1.0] * 4])
    scheduler = attached(ModularDmda(), view)
    for task in range(4):
        scheduler.push(task)
    assert [scheduler.pop(0), scheduler.pop(0), scheduler.pop(0)] == [0, 2, None]
    assert [scheduler.pop(1), scheduler.pop(1)] == [1, 3]


def test_heft_keeps_centrally_what_finds_its_queue_full():
    """All want worker 0, whose queue takes one: worker 1 gets nothing, worker 0 them in turn."""
    view = View([[1.0] * 3, [10.0] * 3])
    scheduler = attached(ModularHeft(tasks=1), view)
    for task in range(3):
        scheduler.push(task)
    assert view.woken == [0]
    assert scheduler.pop(1) is None
    assert [scheduler.pop(0) for _ in range(4)] == [0, 1, 2, None]


def test_heft_decides_anew_when_a_worker_asks():
    """Task 2 waits for worker 0 (2 s against 3 s); when 1 takes its task it looks free: 1.5 s."""
    view = View([[1.0] * 3, [1.5] * 3])
    scheduler = attached(ModularHeft(tasks=1), view)
    for task in range(3):
        scheduler.push(task)
    assert view.woken == [0, 1]
    assert [scheduler.pop(1), scheduler.pop(1)] == [1, 2]
    assert scheduler.pop(0) == 0


def test_heft_binds_the_most_urgent_first():
    view = View([[1.0] * 4], priority=[0, 1, 5, 5])
    scheduler = attached(ModularHeft(tasks=1), view)
    for task in range(4):
        scheduler.push(task)
    assert [scheduler.pop(0) for _ in range(4)] == [0, 2, 3, 1]


def test_heft_bounds_the_work_of_a_queue():
    """2 s of work and no more: the third second waits centrally; an empty queue takes anything."""
    view = View([[1.0, 0.9, 1.0, 7.0]], priority=[0, 0, 0, 9])
    scheduler = attached(ModularHeft(seconds=2.0), view)
    for task in range(4):
        scheduler.push(task)
    assert view.woken == [0, 0]
    assert [scheduler.pop(0) for _ in range(4)] == [0, 1, 3, 2]


def test_default_bounds():
    assert (ModularHeft().tasks, ModularHeft().seconds) == (30, 1000)
    view = View([[1.0] * 40])
    scheduler = attached(ModularHeft(), view)
    for task in range(40):
        scheduler.push(task)
    assert len(view.woken) == 30


def test_eager_wakes_everybody():
    view = View([[1.0], [1.0], [inf]])
    attached(ModularEager(), view).push(0)
    assert view.woken == [0, 1, 2]


def test_eager_offers_only_the_first_task():
    """Worker 1 could run task 1, but the first one is for worker 0, which is told."""
    view = View([[1.0, 1.0], [inf, 1.0]])
    scheduler = attached(ModularEager(), view)
    scheduler.push(0)
    scheduler.push(1)
    view.woken.clear()
    assert scheduler.pop(1) is None
    assert view.woken == [0]
    assert [scheduler.pop(0), scheduler.pop(1), scheduler.pop(0)] == [0, 1, None]


def test_prio_offers_the_most_urgent():
    view = View([[1.0] * 3], priority=[1, 7, 7])
    scheduler = attached(ModularPrio(), view)
    for task in range(3):
        scheduler.push(task)
    assert [scheduler.pop(0) for _ in range(3)] == [1, 2, 0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": "x"}, r"'modular-heft': option 'alpha': got 'x' .*; legal: a number from 0"),
        ({"beta": -1}, r"option 'beta': got -1 .*; legal: a number from 0"),
        ({"tasks": 0}, r"option 'tasks': got 0 .*; legal: a number from 1"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(InputError, match=message):
        ModularHeft(**options)
