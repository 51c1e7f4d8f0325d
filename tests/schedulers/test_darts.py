"""DARTS: which datum is next, what is planned with it, and where free tasks go."""

from __future__ import annotations

import random
from math import inf

import pytest
from scripted import machine, play, tasks

from tasksim.graph.builder import RW, GraphBuilder, R, W
from tasksim.platform.description import WorkerClass
from tasksim.schedulers.registry import create

RAM, GPU0, GPU1 = 0, 1, 2


class View:
    """Devices that each have a memory; *held* has pairs of a datum and a memory."""

    decisions = None

    def __init__(self, graph, devices=1, lengths=None, awake=()):
        self.graph, self.held = graph, {(handle, RAM) for handle in range(graph.handles)}
        self.classes = tuple(WorkerClass("cuda", k + 1, (k,), "cuda") for k in range(devices))
        self.class_of = list(range(devices))
        self.estimates = [lengths or [1.0] * len(graph)] * devices
        self.able = [(1 << devices) - 1] * len(graph)
        self.priority = graph.priority.tolist()
        self.woken, self.awake = [], awake

    def holds(self, handle, memory):
        return (handle, memory) in self.held

    def copy_estimate(self, size_bytes, source, target):
        return size_bytes if source == RAM else inf

    def sleeping(self, worker):
        return worker not in self.awake

    def wake(self, worker):
        self.woken.append(worker)

    def wake_all(self, task):
        self.woken.append("all")


def reading(*names, sizes=None, priorities=None):
    """A task per word, which reads the data that are its letters: a is the first one."""
    builder = GraphBuilder("reading")
    letters = sorted(set("".join(names)))
    data = {x: builder.handle(x, size_bytes=(sizes or {}).get(x, 1)) for x in letters}
    for k, name in enumerate(names):
        priority = priorities[k] if priorities else 0
        builder.insert("task", *(R(data[x]) for x in name), priority=priority)
    return builder.build()


def attached(view, hold=""):
    """A scheduler whose device 0 has had its first task, and holds the data *hold*."""
    scheduler = create("darts")
    scheduler.attach(view, random.Random(0))
    scheduler._begun[0] = True
    view.held |= {(ord(letter) - ord("a"), GPU0) for letter in hold}
    return scheduler


def order(view, hold="", worker=0):
    """The tasks that a device gets whose memory has *hold* when they are there; no copies come."""
    scheduler = attached(view)
    for task in range(len(view.graph)):
        scheduler.push(task)
    view.held |= {(ord(letter) - ord("a"), GPU0) for letter in hold}
    found = []
    while (task := scheduler.pop(worker)) is not None:
        found.append(task)
        view.held |= {(handle, GPU0) for handle in scheduler._reads[task]}
    return found


def test_the_first_task_of_a_device_is_the_most_urgent():
    scheduler = create("darts")
    view = View(reading("a", "b", "c", priorities=[0, 2, 2]))
    scheduler.attach(view, random.Random(0))
    for task in range(3):
        scheduler.push(task)
    assert scheduler.pop(0) == 1
    assert view.woken == ["all"] * 3


def test_the_datum_that_makes_most_work_possible_for_its_transfer_is_next():
    """With a: b makes two tasks possible, c makes one."""
    assert order(View(reading("ac", "ab", "ab")), hold="a") == [1, 2, 0]
    assert order(View(reading("ac", "ab", "ab"), lengths=[3.0, 1.0, 1.0]), hold="a") == [0, 1, 2]
    large = reading("ac", "ab", "ab", sizes={"b": 3})
    assert order(View(large), hold="a") == [0, 1, 2]


def test_what_lacks_nothing_any_more_is_first():
    assert order(View(reading("ac", "ab", "a")), hold="a") == [2, 0, 1]


def test_of_equal_ratios_more_tasks_then_the_higher_priority_then_more_that_lack_one_more():
    assert order(View(reading("ac", "ab", "ab", sizes={"b": 2})), hold="a")[0] == 1
    assert order(View(reading("ab", "ac", priorities=[1, 2])), hold="a") == [1, 0]
    # d and e with c: c makes one task possible and brings two more near, b none.
    assert order(View(reading("ab", "ac", "cd", "ce")), hold="a")[0] == 1


def test_if_no_datum_suffices_the_most_urgent_that_would_lack_one_more():
    graph = reading("ab", "ac", "bcd", priorities=[0, 1, 5])
    assert order(View(graph))[0] == 1


def test_if_all_lack_more_the_most_urgent():
    assert order(View(reading("abc", "abd", priorities=[0, 1])))[0] == 1


def test_a_task_whose_data_are_there_is_planned_when_it_is_ready_and_devices_take_turns():
    view = View(reading("a", "a", "b", "a"), devices=2)
    scheduler = attached(view, hold="a")
    view.held.add((0, GPU1))
    for task in range(4):
        scheduler.push(task)
    assert [list(each) for each in scheduler._planned] == [[0], [1, 3]]
    assert view.woken == [0, 1, "all", 1]


def test_data_of_planned_tasks_count_and_new_tasks_come_before_the_first_that_lacks_some():
    view = View(reading("ab", "a", "b", "c"))
    scheduler = attached(view, hold="c")
    scheduler._begun[0] = False
    scheduler.push(0)
    scheduler._plan(0, 0, 0)
    scheduler._waiting.clear()
    for task in (1, 2, 3):
        scheduler.push(task)
    assert list(scheduler._planned[0]) == [3, 2, 1, 0]


def test_devices_that_are_awake_need_no_call():
    view = View(reading("a"), awake=(0,))
    attached(view, hold="a").push(0)
    assert view.woken == []


def test_a_datum_that_is_only_written_need_not_be_there():
    builder = GraphBuilder("writes")
    data = [builder.handle(f"d{k}", 1) for k in range(2)]
    builder.insert("task", W(data[0]), R(data[1]))
    builder.insert("task", RW(data[0]))
    view = View(builder.build())
    scheduler = attached(view, hold="b")
    scheduler.push(0)
    scheduler.push(1)
    assert list(scheduler._planned[0]) == [0]
    assert list(scheduler._waiting) == [1]


@pytest.mark.parametrize(("scheduler", "makespan_s"), [("darts", 6.0), ("eager", 7.0)])
def test_a_run_whose_data_are_copied_while_others_are_used(scheduler, makespan_s):
    """A byte and a task take 1 s each. With a and b, c makes two tasks possible, d none yet."""
    pairs = [(0, 1), (2, 3), (0, 2), (1, 2)]
    graph = tasks(*((1, [(R, x), (R, y)]) for x, y in pairs), sizes=(1, 1, 1, 1))
    run = play(graph, machine(devices=1, cores=0), scheduler)
    assert max(run.end) == makespan_s
    assert len(run.copies) == 4
    if scheduler == "darts":
        assert run.start == [2.0, 5.0, 3.0, 4.0]


def test_a_small_memory_is_filled_fewer_times():
    """The products of 6 rows and 6 columns, where the memory holds 5 data."""
    given = [(1, [(R, row), (R, 6 + column)]) for row in range(6) for column in range(6)]
    graph = tasks(*given, sizes=[1] * 12)
    platform = machine(devices=1, cores=0, size=5.0)
    copies = {name: len(play(graph, platform, name).copies) for name in ("darts", "eager", "dmdar")}
    assert copies["darts"] < copies["dmdar"] < copies["eager"]
