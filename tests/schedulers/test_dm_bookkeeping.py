"""Bookkeeping of the dm family, step by step, and its requests to the view."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pytest

from tasksim import simulate
from tasksim.base.errors import InputError
from tasksim.schedulers.base import Scheduler
from tasksim.schedulers.registry import create

FAMILY = ["dm", "dmda", "dmdap", "dmdar", "dmdas", "dmdasd"]


class View:
    """One GPU with a memory of its own; its tasks take *lengths*, their data *transfers*."""

    power = decisions = None
    able, class_of = [1] * 9, [0]
    workers = (SimpleNamespace(id=0, memory=1, architecture="cuda"),)
    classes = (SimpleNamespace(workers=(0,), memory=1),)

    def __init__(self, lengths, transfers):
        self.now, self.asked = 0.0, []
        self.estimates, self.transfers = [lengths], transfers
        self.priority = [0] * len(lengths)

    def transfer_estimate(self, task, memory):
        assert memory == 1
        return self.transfers[task]

    def unready(self, task, memory):
        return (0, 0, 0)

    def prefetch(self, task, memory):
        self.asked.append(("prefetch", task, memory))

    def wake(self, worker):
        self.asked.append(("wake", worker))


def attached(text, view):
    scheduler = create(text)
    scheduler.attach(view, random.Random(0))
    return scheduler


def believed(scheduler):
    """Return when worker 0 starts on its queue, how long that takes, what it holds."""
    return (scheduler._exp_start[0], scheduler._exp_len[0], scheduler._pipeline_len[0])


def test_two_tasks_through_a_pipeline_of_two():
    view = View(lengths=[10.0, 20.0], transfers=[4.0, 6.0])
    scheduler = attached("dmda", view)
    scheduler.push(0)  # the worker is free: nothing of the transfer is hidden
    assert believed(scheduler) == (0.0, 14.0, 0.0)
    scheduler.push(1)  # this one's is over long before the worker comes to it
    assert believed(scheduler) == (0.0, 34.0, 0.0)
    view.now = 1.0
    assert scheduler.pop(0) == 0  # the transfer of 4 is handed out
    assert believed(scheduler) == (5.0, 30.0, 4.0)
    view.now = 5.0
    scheduler.started(0, 0)
    assert believed(scheduler) == (15.0, 20.0, 10.0)
    view.now = 6.0
    assert scheduler.pop(0) == 1  # the task that runs counts in full again
    assert believed(scheduler) == (16.0, 20.0, 10.0)
    view.now = 13.0
    scheduler.finished(0, 0)  # early, but the expected start does not move back
    assert believed(scheduler) == (16.0, 20.0, 0.0)
    scheduler.started(1, 0)  # until the next start
    assert believed(scheduler) == (33.0, 0.0, 20.0)
    view.now = 40.0
    scheduler.finished(1, 0)
    assert believed(scheduler) == (40.0, 0.0, 0.0)


def test_a_transfer_that_outlasts_the_queue_counts_for_the_rest():
    view = View(lengths=[3.0, 1.0], transfers=[0.0, 5.0])
    scheduler = attached("dmda", view)
    scheduler.push(0)
    view.now = 2.0
    scheduler.push(1)  # the queue ends at 2 + 3, the transfer at 2 + 5
    assert believed(scheduler) == (2.0, 3.0 + 2.0 + 1.0, 0.0)


def test_dm_does_not_ask_for_transfers():
    view = View(lengths=[3.0], transfers=[5.0])
    scheduler = attached("dm", view)
    scheduler.push(0)
    assert believed(scheduler) == (0.0, 3.0, 0.0)


def test_a_pop_that_finds_nothing_leaves_a_late_worker_free_from_now_on():
    view = View(lengths=[3.0], transfers=[0.0])
    scheduler = attached("dmda", view)
    view.now = 7.0
    assert scheduler.pop(0) is None
    scheduler.push(0)
    assert believed(scheduler) == (7.0, 3.0, 0.0)


def test_a_worker_with_nothing_left_is_exactly_free():
    view = View(lengths=[0.1, 0.2, 0.3], transfers=[0.0] * 3)
    scheduler = attached("dm", view)
    for task in range(3):
        scheduler.push(task)
    for task in range(3):
        assert scheduler.pop(0) == task
        scheduler.started(task, 0)
        scheduler.finished(task, 0)
    assert believed(scheduler)[1:] == (0.0, 0.0)  # 0.1 + 0.2 + 0.3 - 0.1 - 0.2 - 0.3 is not 0


@pytest.mark.parametrize("name", FAMILY)
def test_the_choice_changes_nothing_and_the_commit_uses_what_was_chosen(name):
    view = View(lengths=[3.0, 3.0], transfers=[2.0, 2.0])
    scheduler = attached(name, view)
    choice = scheduler.choose(0)
    assert scheduler.choose(0) == choice
    assert (believed(scheduler), view.asked) == ((0.0, 0.0, 0.0), [])
    view.transfers = None  # not asked again
    scheduler.commit(0, choice)
    assert believed(scheduler)[1] == (3.0 if name == "dm" else 5.0)


@pytest.mark.parametrize("name", FAMILY)
def test_a_push_is_a_choice_and_its_commit(name):
    pushed, committed = (attached(name, View([3.0, 1.0], [2.0, 4.0])) for _ in range(2))
    for task in (0, 1):
        pushed.push(task)
        committed.commit(task, committed.choose(task))
    assert believed(pushed) == believed(committed)
    assert type(pushed).push is Scheduler.push


@pytest.mark.parametrize("name", FAMILY)
def test_data_are_brought_before_the_task_is_queued_and_the_worker_woken(name):
    view = View(lengths=[3.0], transfers=[2.0])
    scheduler = attached(name, view)
    queued = []
    view.prefetch = lambda task, memory: queued.append((memory, len(scheduler._queues[0])))
    scheduler.push(0)
    assert (queued, view.asked) == ([(1, 0)], [("wake", 0)])


@pytest.mark.parametrize("name", FAMILY)
def test_without_prefetch_the_worker_is_only_woken(name):
    view = View(lengths=[3.0], transfers=[2.0])
    attached(f"{name}:prefetch=0", view).push(0)
    assert view.asked == [("wake", 0)]


def test_those_that_sort_by_priority_use_it_for_copies_too():
    assert [create(name).uses_priorities for name in FAMILY] == [
        False,
        False,
        True,
        False,
        True,
        True,
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dmda:alpha=-1", r"scheduler 'dmda': option 'alpha': got '?-1'? .*; legal: a number"),
        (
            "dmdas:beta=much",
            r"scheduler 'dmdas': option 'beta': got '?'much''? .*; legal: a number",
        ),
        ("dmdar:gamma=nan", r"scheduler 'dmdar': option 'gamma': got '?nan'? .*; legal: a number"),
        (
            "dmdap:idle_power=inf",
            r"scheduler 'dmdap': option 'idle_power': got '?inf'? .*; legal: a number",
        ),
        ("dm:prefetch=2", r"scheduler 'dm': option 'prefetch': got 2 .*; legal: 0 or 1"),
        ("dmda:alpha=1,alpha=2", r"alpha is given twice: 1 and 2"),
        ("dmda:alhpa=1", r"unknown option 'alhpa', did you mean 'alpha'\?"),
        ("dm:beta=2", r"dm:beta=2.*unknown option 'beta'"),
    ],
)
def test_options_that_mean_nothing_are_refused(text, message):
    with pytest.raises(InputError, match=message):
        create(text)


@pytest.mark.parametrize("name", ["dmda", "modular-heft"])
def test_a_weight_of_energy_needs_energy(name):
    with pytest.raises(InputError, match=r"option 'gamma' does nothing without 'idle_power' or"):
        simulate("chain length=2 duration=1", workers=1, scheduler=f"{name}:gamma=2")
