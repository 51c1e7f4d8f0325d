"""The order of what happens at one instant, as StarPU-SimGrid has it."""

from __future__ import annotations

import pytest
from scripted import machine

from tasksim import GraphBuilder, Scheduler, simulate
from tasksim.engine.clock import Clock, Routine
from tasksim.engine.machine.instant import BY_NUMBER, in_steps
from tasksim.models.kinds.given import GivenDurations


def ends(clock, kept):
    """Three waits of 5 ticks, begun at once: which ends when; *kept* are those that keep order."""
    found = []

    def wait(routine, number):
        if number in kept:
            clock.keep_order()
        yield routine.wait(5)
        found.append(number)

    for number in range(3):
        routine = Routine(clock)
        routine.begin(wait(routine, number))
    clock.run()
    return found


def test_waits_end_in_the_order_in_which_they_were_begun():
    assert ends(Clock(), {1}) == [0, 1, 2]


@pytest.mark.parametrize(
    ("kept", "order"), [(set(), [2, 1, 0]), ({0, 1, 2}, [0, 1, 2]), ({0}, [2, 1, 0])]
)
def test_or_in_reverse_but_for_kernels(kept, order):
    clock = Clock()
    clock.end_waits_in_reverse()
    assert ends(clock, kept) == order


def test_what_began_at_an_earlier_instant_ends_first_all_the_same():
    clock = Clock()
    clock.end_waits_in_reverse()
    found = []

    def wait(routine, number, first, then):
        yield routine.wait(first)
        yield routine.wait(then)
        found.append(number)

    for number, waits in enumerate([(1, 9), (2, 8), (2, 8)]):
        routine = Routine(clock)
        routine.begin(wait(routine, number, *waits))
    clock.run()
    assert found == [0, 1, 2]  # 1 and 2: turned around twice


class PutsThere(Scheduler):
    """Puts tasks on workers as it is told; notes in which order that happens."""

    def __init__(self, worker_of):
        self.worker_of = worker_of
        self.committed = []

    def attach(self, view, rng):
        super().attach(view, rng)
        self.queues = [[] for _ in view.workers]

    def choose(self, task):
        return self.worker_of[task]

    def chosen(self, choice):
        return choice

    def commit(self, task, choice):
        self.committed.append(task)
        self.queues[choice].append(task)
        self.view.wake(choice)

    def pop(self, worker):
        return self.queues[worker].pop(0) if self.queues[worker] else None


@pytest.mark.parametrize(
    ("pushes", "goes", "order"),
    [
        ("serial", {2: 2, 3: 1}, [2, 3]),
        ("blind", {2: 2, 3: 1}, [3, 2]),  # the later end is pushed first
        ("blind", {2: 1, 3: 1}, [2, 3]),  # but what stays where it is pushed needs fewer steps
    ],
)
def test_pushes_of_one_instant_come_in_reverse_those_of_own_tasks_first(pushes, goes, order):
    """Two tasks end together on workers 1 and 2; each has a successor."""
    g = GraphBuilder("pairs")
    first, second = (g.insert("task", duration_s=1.0) for _ in range(2))
    g.insert("task", after=[first], duration_s=1.0)
    g.insert("task", after=[second], duration_s=1.0)
    graph = g.build()
    scheduler = PutsThere({0: 1, 1: 2, **goes})
    simulate(
        graph,
        machine(devices=1, cores=2),
        GivenDurations(graph),
        scheduler,
        simultaneous_pushes=pushes,
        check=True,
    )
    assert scheduler.committed[2:] == order


def test_each_device_makes_all_workers_ask_later():
    assert BY_NUMBER.pop_phase(0) < BY_NUMBER.pop_phase(1) < BY_NUMBER.push
    one, three = (in_steps(machine(devices=count)) for count in (1, 3))
    assert one.push < one.pop_phase(0) == one.pop_phase(1) < one.commit_own < one.commit
    assert three.pop_phase(0) == one.pop_phase(0) + 32 > three.commit
    assert in_steps(machine(devices=0, cores=2)).pop_phase(0) == 18
