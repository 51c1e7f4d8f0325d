"""Ctrl-C in a long replay of the core, which looks up after some time, whatever events cost."""

from __future__ import annotations

import signal
import threading
import time
from dataclasses import replace
from functools import partial
from math import inf

import numpy as np
import pytest
from equal import in_bytes
from questions import drawn_question
from scripted import machine

from tasksim.base.errors import SchedulerError, TasksimError
from tasksim.core import interface
from tasksim.core.interface import CallStatus
from tasksim.core.library import status
from tasksim.engine import choice
from tasksim.engine.batch import totals
from tasksim.engine.compiled.replay import CompiledReplay
from tasksim.engine.question import Question
from tasksim.engine.simulation import Simulation
from tasksim.graph.apps.registry import generate
from tasksim.graph.builder import GraphBuilder
from tasksim.models.kinds.given import ConstantLibrary
from tasksim.platform.description import Overheads, Platform
from tasksim.schedulers.central import Eager
from tasksim.schedulers.registry import create

pytestmark = pytest.mark.skipif(not status().available, reason=f"the core is {status().why}")

ENDLESS_TASKS = 10**12
SOON_S = 0.1


GRAPH = generate("cholesky", tiles=70, tile_size=960, dtype="float32")


def long_replay(scheduler, devices=True):
    """Return a replay of 0.1 to 0.4 s; the memories of devices hold a quarter of the data."""
    size = float(GRAPH.handle_size.sum()) / 4
    costly = {"submission_s": 1e-6, "push_s": 1e-6, "fetch_s": 1e-6, "progress_s": 1e-6}
    platform = Platform.identical(12)
    if devices:
        platform = machine(3, 9, size, bandwidth=6e9, latency=1e-5, **costly)
    costs = np.full((len(platform.classes), len(GRAPH)), 3e-3)
    return CompiledReplay(Question(GRAPH, platform, create(scheduler), costs, costs))


def run_all(replays):
    for replay in replays:
        replay.run(0)
    time.sleep(60)


@pytest.mark.parametrize("scheduler", ["eager", "dmdas", "heteroprio", "modular-heft"])
def test_no_call_takes_long(scheduler):
    """Of the processor's time: how busy the machine is does not count."""
    replay = long_replay(scheduler)
    go_on, taken_s = replay._go_on, []

    def timed(handle, events):
        begun = time.thread_time()
        ended = go_on(handle, ENDLESS_TASKS)
        taken_s.append(time.thread_time() - begun)
        return ended

    replay._go_on = timed
    replay.run(0)
    assert len(taken_s) > 1
    assert max(taken_s) < SOON_S


def test_ctrl_c_is_heard_soon():
    main = threading.get_ident()
    pressed_s = []

    def press():
        clock = time.pthread_getcpuclockid(main)
        begun = time.clock_gettime(clock)
        while time.clock_gettime(clock) < begun + 0.05:
            time.sleep(0.001)
        pressed_s.append(time.clock_gettime(clock))
        signal.pthread_kill(main, signal.SIGINT)

    replays = [long_replay("eager") for _ in range(5)]  # press() may come late to the first ones
    presses = threading.Thread(target=press)
    presses.start()
    with pytest.raises(KeyboardInterrupt):
        run_all(replays)
    presses.join()
    assert time.thread_time() - pressed_s[0] < SOON_S


@pytest.mark.parametrize("scheduler", ["eager", "lws", "dmdas", "heteroprio", "modular-heft"])
def test_however_often_the_core_looks_up_the_replay_is_the_same(scheduler):
    for seed in range(20):
        found = []
        for most in (inf, 1, 7):
            replay = CompiledReplay(question := drawn_question(seed, scheduler))
            go_on = replay._go_on
            replay._go_on = lambda handle, events, go_on=go_on, most=most: go_on(
                handle, int(min(events, most))
            )
            try:
                replay.run(0)
            except TasksimError as error:
                found.append(str(error))
            else:
                found.append(in_bytes(question, replay))
        assert found[0] == found[1] == found[2], f"seed {seed}"


def test_no_event_is_no_progress_and_no_end():
    replay = long_replay("eager", devices=False)
    calls = []

    def patient(handle, events, go_on=replay._go_on):
        calls.append(go_on(handle, 0 if len(calls) < 5 else events))
        return calls[-1]

    replay._go_on = patient
    assert replay.run(0) > 0
    assert calls[:5] == [CallStatus.MORE] * 5


@pytest.mark.parametrize("tasks", [0, 1])
def test_a_negative_number_of_events_ends_a_replay(tasks):
    """Case in which the core cannot report that all tasks are done: WebAssembly."""
    builder = GraphBuilder("few")
    for _ in range(tasks):
        builder.insert("gemm")
    costs = np.ones((1, tasks))
    question = Question(builder.build(), Platform.identical(2), create("eager"), costs, costs)
    replay = CompiledReplay(question)
    replay._go_on = partial(lambda go_on, handle, events: go_on(handle, -1), replay._go_on)
    if not tasks:
        assert replay.run(0) == 0.0
        return
    with pytest.raises(SchedulerError, match="dropped gemm #0"):
        replay.run(0)


class Own(Eager):
    """One that the core calls."""


@pytest.mark.parametrize("given", ["dmdas", create("dmdas"), Own()])
def test_replays_of_other_threads_are_not_waited_for(monkeypatch, given):
    """They would go on for some seconds, but look between two calls whether they are wanted."""
    main, calls, many = threading.get_ident(), [], 5_000

    def slow(handle, events):
        calls.append(handle)
        if len(calls) == 20:
            signal.pthread_kill(main, signal.SIGINT)
        time.sleep(0.001)
        return CallStatus.MORE if len(calls) < many else CallStatus.DONE

    for functions in (interface.functions(), interface.locked_functions()):
        monkeypatch.setattr(functions, "tasksim_replay_go_on", slow)
    graph = generate("cholesky", tiles=4)
    models = ConstantLibrary(dict.fromkeys(graph.kernels, 1.0))
    item = Simulation(graph, Platform.identical(2), models, given)
    with pytest.raises(KeyboardInterrupt):
        list(totals([item._replace(seed=seed) for seed in range(8)], threads=2))
    assert 20 <= len(calls) < many


def test_what_the_core_refuses_is_replayed_by_the_caller(monkeypatch):
    replaying = []

    def by_simpy(*given, replay=choice._replayed_by_simpy):
        replaying.append(threading.current_thread())
        return replay(*given)

    monkeypatch.setattr(choice, "_replayed_by_simpy", by_simpy)
    graph = generate("cholesky", tiles=3)
    models = ConstantLibrary(dict.fromkeys(graph.kernels, 1.0))
    known = Simulation(graph, Platform.identical(2), models, "eager")
    more_than_a_day = replace(known.platform, overheads=Overheads(submission_s=1e5))
    refused = known._replace(platform=more_than_a_day)
    found = list(totals([known, refused, known], threads=2))
    assert [each.engine for each in found] == ["compiled", "simpy", "compiled"]
    assert replaying == [threading.main_thread()]
