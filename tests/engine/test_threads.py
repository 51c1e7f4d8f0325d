"""Threads of StarPU-SimGrid: turns at locks and waits, and runs that are possible."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from scripted import machine

from tasksim import GraphBuilder, R, W
from tasksim.engine.clock import TickClock
from tasksim.engine.machine.intake import Intake
from tasksim.engine.machine.machine import MachineReplay
from tasksim.engine.outcome import records
from tasksim.engine.threads.kernel import Actor, Condition, Execution, Kernel, Mutex, TryLock, Wait
from tasksim.engine.threads.locks import DataLocks
from tasksim.engine.threads.suits import can_be_threads
from tasksim.platform.costs import Overheads
from tasksim.schedulers.registry import create

STARPU = Overheads(
    submission_s=1e-6, push_s=1e-6, fetch_s=1e-6, progress_s=1e-6, kernel_s=1e-5, copy_s=1e-5
)


@pytest.fixture
def play():
    """Return a function that runs threads, which note what they do when: (tick, name)."""
    clock = TickClock()
    clock.end_waits_in_reverse()
    kernel = Kernel(clock)

    def run(*threads):
        noted = []

        def calls(name, thread):
            for call in thread:
                if isinstance(call, str):
                    noted.append((clock._now, name + call))
                else:
                    yield call

        for name, thread in zip("abcd", threads, strict=False):
            Actor(clock, kernel).begin(calls(name, thread))
        kernel.run(lambda: 0)
        return noted

    run.kernel = kernel
    return run


def test_who_needs_fewer_calls_is_first(play):
    assert play([-3, "!"], [-2, "!"]) == [(0, "b!"), (0, "a!")]


def test_a_lock_is_handed_on_in_order(play):
    mutex = Mutex()
    held = [mutex, "+", -2, "-", mutex]
    assert [what for _, what in play(held, list(held), list(held))] == [
        "a+", "a-", "b+", "b-", "c+", "c-",
    ]  # fmt: skip


def test_a_try_does_not_wait(play):
    mutex = Mutex()

    def trier():
        yield -1
        yield TryLock(mutex)
        yield "yes" if mutex.owner is None else "no"

    assert play([mutex, -5, mutex], trier()) == [(0, "bno")]


def test_a_signal_wakes_all_that_wait_each_with_the_lock_again(play):
    mutex, condition = Mutex(), Condition()
    waiting = [mutex, Wait(condition, mutex), "!", mutex]
    noted = play(waiting, list(waiting), [7, mutex, condition, -3, "set", mutex])
    assert noted == [(7, "cset"), (7, "a!"), (7, "b!")]


def test_waits_end_last_begun_first_and_executions_in_order(play):
    assert play([5, "!"], [5, "!"]) == [(5, "b!"), (5, "a!")]


def test_executions_end_in_order(play):
    assert play([Execution(5), "!"], [Execution(5), "!"]) == [(5, "a!"), (5, "b!")]


def holds(locks):
    yield from locks.take(0)
    yield 9
    locks.give(0)


def wants(locks):
    yield -1
    yield from locks.take(0)
    yield "!"
    locks.give(0)


def test_who_finds_a_datum_locked_tries_a_little_later_then_whenever_the_time_advances(play):
    locks = DataLocks(2, play.kernel)
    # At 9 it looks before the other goes on and lets go; the next advance is that to 13.
    assert play(holds(locks), wants(locks), [13, "."]) == [(13, "c."), (13, "b!")]


def test_those_who_wait_for_a_lock_look_one_after_the_other(play):
    locks = DataLocks(2, play.kernel)
    # Waits end in reverse: at 9 the last looks before it is free, the other when it is.
    assert play(holds(locks), wants(locks), wants(locks), [13]) == [(9, "b!"), (13, "c!")]


@pytest.mark.parametrize(
    ("scheduler", "overheads", "as_threads"),
    [
        ("eager", STARPU, True),
        ("prio", STARPU, True),
        ("ws", STARPU, True),
        ("lws", STARPU, False),
        ("dmda", STARPU, False),
        ("eager", replace(STARPU, push_s=0.0), False),
        ("eager", replace(STARPU, push_s=1e-10), False),
        ("eager", replace(STARPU, wakeup_s=1e-6), False),
    ],
)
def test_threads_are_for_schedulers_and_costs_that_they_know(scheduler, overheads, as_threads):
    platform = replace(machine(devices=1, cores=2), overheads=overheads)
    assert can_be_threads(platform, create(scheduler)) is as_threads


def pair():
    g = GraphBuilder("pair")
    first = g.insert("task", duration_s=1e-3)
    g.insert("task", after=[first], duration_s=1e-3)
    return g.build()


@pytest.mark.parametrize("scheduler", ["eager", "prio", "ws"])
@pytest.mark.parametrize("devices", [0, 1])
def test_two_tasks_with_all_that_lies_between(scheduler, devices):
    """Submission and push 1 us each, a poll of 1 us until the pop; then the same at the end."""
    graph = pair()
    platform = replace(machine(devices=devices, cores=1), overheads=STARPU)
    costs = [[1e-3, 1e-3] for _ in platform.classes]
    replay = MachineReplay(graph, platform, create(scheduler), costs, simultaneous_pushes="blind")
    assert replay.node.threads is not None
    makespan_s = replay.run(random.Random(0))
    assert makespan_s == pytest.approx(2e-3, rel=0.03)


@pytest.mark.one_engine("the order of calls is looked at")
def test_who_asked_last_for_a_copy_hears_of_it_first(monkeypatch):
    heard = []
    arrive = Intake.arrive

    def noted(intake):
        heard.append(intake)
        arrive(intake)

    monkeypatch.setattr(Intake, "arrive", noted)
    g = GraphBuilder("read by two")
    datum = g.handle("x", size_bytes=8)
    g.insert("write", W(datum))
    g.wont_use(datum)  # so it goes home already when the others ask for it
    for _ in range(2):
        g.insert("read", R(datum))
    graph = g.build()
    platform = replace(machine(devices=1, cores=2), overheads=STARPU)
    costs = np.full((len(platform.classes), 3), 1e-3)
    for number, group in enumerate(platform.classes):
        costs[number, [0] if group.architecture == "cpu" else [1, 2]] = np.inf
    replay = MachineReplay(graph, platform, create("eager"), costs, simultaneous_pushes="blind")
    replay.run(random.Random(0))
    tasks = records(graph, replay.outcome())["tasks"]
    cores = [replay.node._drivers[worker].intake for worker in tasks.worker[1:].tolist()]
    assert tasks.popped_s[1] < tasks.popped_s[2]
    assert heard == cores[::-1]
