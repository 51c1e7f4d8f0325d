"""MultiPrio: who gains most, who may take a task, and what is near."""

from __future__ import annotations

import random
from math import inf

import pytest
from scripted import replay_of

from tasksim.base.errors import InputError
from tasksim.graph.builder import RW, GraphBuilder, R
from tasksim.platform.description import Memory, Platform, Worker, WorkerClass
from tasksim.schedulers.registry import create


class View:
    """Classes by hand; *held* has pairs of a datum and a memory."""

    decisions = None

    def __init__(self, graph, estimates, kinds, memories, workers=None):
        numbers = iter(range(100))
        self.graph, self.estimates, self.held = graph, estimates, set()
        self.classes = tuple(
            WorkerClass(kind, memory, tuple(next(numbers) for _ in range(count)), kind)
            for kind, memory, count in zip(kinds, memories, workers or [1] * 9, strict=False)
        )
        self.class_of = [k for k, each in enumerate(self.classes) for _ in each.workers]
        self.able = [
            sum(1 << group for group, row in enumerate(estimates) if row[task] != inf)
            for task in range(len(graph))
        ]
        self.woken = []

    def holds(self, handle, memory):
        return (handle, memory) in self.held

    def wake_all(self, task):
        self.woken.append(task)


def independent(count):
    builder = GraphBuilder("independent")
    for _ in range(count):
        builder.insert("task")
    return builder.build()


def pushed(estimates, kinds=("cpu", "cuda"), graph=None, options="", **more):
    graph = graph or independent(len(estimates[0]))
    view = View(graph, estimates, kinds, more.pop("memories", [0] * len(kinds)), **more)
    scheduler = create("multiprio" + options)
    scheduler.attach(view, random.Random(0))
    for task in range(len(graph)):
        scheduler.push(task)
    return scheduler, view


def popped(scheduler, worker, count):
    return [scheduler.pop(worker) for _ in range(count)]


def test_each_architecture_begins_with_what_it_gains_most_on():
    """The first task sets the scale: the others gain 0.8 and 0.9, the core 0.2 and 0.1."""
    scheduler, view = pushed([[11.0, 7.0, 9.0], [1.0, 1.0, 1.0]])
    assert popped(scheduler, 1, 4) == [0, 2, 1, None]
    assert view.woken == [0, 1, 2]
    scheduler, _ = pushed([[1.0, 1.0, 1.0], [11.0, 7.0, 9.0]])
    assert popped(scheduler, 0, 4) == [0, 2, 1, None]


def test_a_slow_worker_takes_what_loses_least_and_only_if_the_fast_one_is_busy_for_longer():
    durations = [[6.0, 3.5, 6.0], [1.0, 3.0, 1.0]]  # 5 s of work for the device
    scheduler, _ = pushed(durations)
    assert popped(scheduler, 0, 2) == [1, None]
    assert popped(scheduler, 1, 3) == [0, 2, None]


def test_a_task_that_a_slow_worker_has_refused_is_left_to_the_fast_one():
    scheduler, _ = pushed([[6.0, 6.0], [1.0, 1.0]])
    assert popped(scheduler, 0, 1) == [None]
    assert scheduler._queues[0] == []
    assert popped(scheduler, 1, 3) == [0, 1, None]


def test_the_work_of_the_fast_architecture_is_shared_by_its_workers():
    """10 s for two devices: 5 each, too little to spare a core a task of 6 s."""
    durations = [[6.0] * 10, [1.0] * 10]
    scheduler, _ = pushed(durations, workers=[1, 2])
    assert scheduler.pop(0) is None
    scheduler, _ = pushed(durations, workers=[1, 1])
    assert scheduler.pop(0) == 0


def test_two_devices_of_one_architecture_are_not_each_others_alternative():
    """On both, the gain is against the core: the scale is 4."""
    scheduler, _ = pushed(
        [[5.0, 3.0], [1.0, 1.0], [1.0, 1.0]], ("cpu", "cuda", "cuda"), memories=[0, 1, 2]
    )
    gains = [[-gain for gain, *_ in queue] for queue in scheduler._queues]
    assert gains == [[0.25, 0.0], [1.0, 0.75], [1.0, 0.75]]
    assert scheduler.pop(2) == 1 - 1
    assert scheduler.pop(1) == 1


def test_of_equal_gains_what_releases_more_is_first():
    """The second has a successor of its own, the third shares two: 1 against 1/2 + 1/2."""
    builder = GraphBuilder("releases")
    data = [builder.handle(f"d{k}", 8) for k in range(3)]
    first, second, third = (builder.insert("task", RW(each)) for each in data)
    builder.insert("task", after=[second])
    builder.insert("task", after=[second, third])
    graph = builder.build()
    view = View(graph, [[1.0] * 5], ["cpu"], [0])
    scheduler = create("multiprio")
    scheduler.attach(view, random.Random(0))
    for task in (first, third, second):
        scheduler.push(task)
    assert popped(scheduler, 0, 4) == [second, third, first, None]


def two_that_read(sizes, modes):
    builder = GraphBuilder("near")
    for k, (size, mode) in enumerate(zip(sizes, modes, strict=True)):
        builder.insert("task", mode(builder.handle(f"d{k}", size)))
    return builder.build()


@pytest.mark.parametrize(
    ("sizes", "modes", "options", "first"),
    [
        ((8, 9), (R, R), "", 1),  # more bytes are near
        ((8, 9), (RW, R), "", 0),  # written bytes count squared
        ((8, 9), (R, R), ":candidates=1", 0),
        ((8, 9), (R, R), ":tolerance=0.2", 0),  # the gains are 1 and 0.75
    ],
)
def test_among_the_first_the_one_whose_data_are_near_is_next(sizes, modes, options, first):
    scheduler, view = pushed(
        [[5.0, 3.0], [1.0, 1.0]],
        graph=two_that_read(sizes, modes),
        options=options,
        memories=[0, 1],
    )
    view.held = {(0, 1), (1, 1)}
    assert scheduler.pop(1) == first


def test_unknown_durations_are_none():
    scheduler, _ = pushed([[float("nan"), 2.0], [float("nan"), 1.0]])
    assert popped(scheduler, 0, 2) == [0, None]
    assert popped(scheduler, 1, 2) == [1, None]


@pytest.mark.parametrize(("on_core", "makespan_s"), [(3.5, 4.5), (6.0, 6.0)])
def test_a_run_with_a_core_and_a_device(on_core, makespan_s):
    """After a task of 1 s, three: the device needs 1, 3 and 1 s, the core 6, *on_core* and 6."""
    builder = GraphBuilder("three")
    builder.insert("task")
    for _ in range(3):
        builder.insert("task", after=[0])
    platform = Platform(
        name="pair",
        workers=(Worker(0, "core", "cpu", 0), Worker(1, "device", "cuda", 0)),
        memories=(Memory(0, "ram"),),
    )
    durations = [[1.0, 6.0, on_core, 6.0], [1.0, 1.0, 3.0, 1.0]]
    replay = replay_of(builder.build(), platform, create("multiprio"), durations)
    replay.run(0)
    assert max(replay.ledger.end) == makespan_s
    assert replay.ledger.worker[1] == replay.ledger.worker[3] == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("candidates=0", "option 'candidates': got 0 (int); legal: a whole number from 1"),
        ("candidates=few", "option 'candidates': got 'few' (str); legal: a whole number from 1"),
        ("tolerance=2", "option 'tolerance': got 2 (int); legal: a number from 0 to 1"),
        ("tolerance=nan", "option 'tolerance': got 'nan' (str); legal: a number from 0 to 1"),
        ("tolerence=1", "unknown option 'tolerence' (nearest: tolerance)"),
    ],
)
def test_options_that_are_wrong(text, message):
    with pytest.raises(InputError, match="multiprio") as error:
        create(f"multiprio:{text}")
    assert message.partition(" (")[0] in str(error.value)
