"""Schedulers written in Python on the core: what they are asked, see and do is as under SimPy's."""

from __future__ import annotations

import gc
import random
import threading
import weakref
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from equal import answer
from own_schedulers import ENGINES, Gives, asked, both_clocks
from questions import drawn_question
from tiers import LONG

from tasksim.base.errors import SchedulerError
from tasksim.core.library import status
from tasksim.engine.choice import replayed
from tasksim.graph.apps.registry import generate
from tasksim.schedulers.base import Scheduler
from tasksim.schedulers.central import Eager
from tasksim.schedulers.registry import create, names

pytestmark = pytest.mark.skipif(not status().available, reason=f"the core is {status().why}")

each_scheduler = pytest.mark.parametrize("name", [*names(bare=True), "dmdas:idle_power=50"])


def derived(name, body=None):
    """Return what makes an object of a class derived from a built-in scheduler's."""

    def make(_platform):
        scheduler = create(name)
        scheduler.__class__ = type("Mine", (type(scheduler),), dict(body or {}))
        return scheduler

    return make


def passing_on(kind):
    """Return methods that pass all on to the built-in scheduler's own."""

    def of(method):
        return lambda self, *given: getattr(super(type(self), self), method)(*given)

    return {method: of(method) for method in kind}


HOOKS = passing_on(("attach", "push", "pop", "started", "finished"))
HALF_PASSING = passing_on(("choose", "chosen", "commit"))


def compare(seed, name, body=None):
    built_in = answer(drawn_question(seed, name), "compiled", seed)
    called = drawn_question(seed, derived(name, body))
    mine = answer(called, "compiled", seed)
    reference = answer(drawn_question(seed, derived(name, body)), "simpy", seed)
    assert mine == reference, f"seed {seed}"
    if "error" not in built_in:
        assert mine == built_in, f"seed {seed}"


@each_scheduler
def test_a_derived_class_is_called_and_does_what_the_built_in_one_does(name):
    for seed in range(8):
        compare(seed, name)


@pytest.mark.slow
@each_scheduler
def test_so_it_is_in_many_cases(name):
    for seed in range(8, 150 if LONG else 13):
        compare(seed, name)
        compare(seed, name, HOOKS)


@each_scheduler
def test_methods_that_pass_all_on_change_nothing(name):
    apart = type(create(name)).choose is not Scheduler.choose
    for seed in range(8, 12):
        compare(seed, name, {**HOOKS, **HALF_PASSING} if apart else HOOKS)


class Whims(Scheduler):
    """All that a view offers, asked and done at random; what it says is written down."""

    uses_priorities = True

    def attach(self, view, rng):
        super().attach(view, rng)
        self.queue, self.said = [], []
        self.note("attach", view.class_of, view.able, view.estimates, view.sizes, view.accesses)

    def note(self, *what):
        view, draw = self.view, self.rng
        memory, worker = draw.randrange(len(view.platform.memories)), draw.choice(view.workers).id
        self.said.append((view.now, view.pusher, view.sleeping(worker), *what))
        if view.able:
            task = draw.randrange(len(view.able))
            self.said.append(view.transfer_estimate(task, memory))
            self.said.append(view.unready(task, memory))
            self.said.append((view.can_run(task, worker), view.estimate(task, worker)))
        self.said.append(view.copy_estimate(7, 0, memory))

    def act(self, task):
        view, draw = self.view, self.rng
        memory = draw.randrange(len(view.platform.memories))
        for _ in range(draw.randrange(3)):
            does = draw.choice(("any", "all", "one", "prefetch", "handle"))
            if does == "any":
                view.wake_any(task)
            elif does == "all":
                view.wake_all(task)
            elif does == "one":
                view.wake(draw.choice(view.workers).id)
            elif does == "prefetch":
                view.prefetch(task, memory)
            elif view.sizes:
                view.prefetch_handle(draw.randrange(len(view.sizes)), memory)
        self.note(does if task % 2 else "")

    def take(self, task):
        self.queue.append(task)
        self.act(task)
        self.view.wake_all(task)

    def pop(self, worker):
        self.note("pop", worker)
        able = [task for task in self.queue if self.view.can_run(task, worker)]
        if not able or self.rng.random() < 0.1:
            return None
        task = self.rng.choice(able)
        self.queue.remove(task)
        if self.queue:
            self.act(self.queue[0])
        return np.int64(task) if task % 2 else task

    def started(self, task, worker):
        self.note("started", task, worker)

    def finished(self, task, worker):
        self.note("finished", task, worker)
        for other in self.queue:
            self.view.wake_all(other)


class Pushes(Whims):
    def push(self, task):
        self.take(task)


class Chooses(Whims):
    looks_at_data = True

    def choose(self, task):
        self.note("choose", task)
        return {"worker": self.rng.choice(self.view.workers).id, "task": task}

    def chosen(self, choice):
        return choice["worker"]

    def commit(self, task, choice):
        assert choice["task"] == task
        self.take(task)


@pytest.mark.parametrize("kind", [Pushes, Chooses])
def test_a_view_says_and_does_the_same(kind):
    errors = 0
    for seed in range(60):
        given, said = [], []
        for engine in ENGINES:
            question = drawn_question(seed, lambda _: kind())
            given.append(answer(question, engine, seed))
            said.append(repr(question.scheduler.said))
        assert given[0] == given[1], f"seed {seed}"
        assert said[0] == said[1], f"seed {seed}"
        errors += "error" in given[0]
    assert errors < 50


class Nested(Eager):
    """Simulates inside a replay."""

    def __init__(self, depth=2):
        super().__init__()
        self.depth, self.inner = depth, []

    def push(self, task):
        super().push(task)
        if self.depth:
            done = replayed(asked(Nested(self.depth - 1)), 0, "compiled")
            self.inner.append(done.replay.records()["tasks"].end_s.tolist())


def test_a_scheduler_may_simulate():
    scheduler = Nested()
    done = replayed(asked(scheduler), 0, "compiled")
    ends = done.replay.records()["tasks"].end_s.tolist()
    assert scheduler.inner == [ends] * 3


@pytest.mark.slow
def test_a_view_can_be_asked_after_the_run():
    class Keeps(Eager):
        pass

    seen = []
    for engine in ENGINES:
        for machine in (False, True):
            scheduler = Keeps()
            replayed(asked(scheduler, machine=machine), 0, engine)
            gc.collect()
            view = scheduler.view
            view.wake(0)
            view.wake_any(0)
            view.prefetch(0, 0)
            seen.append((view.now, view.unready(0, 0), view.pusher))
    assert seen[:2] == seen[2:]


def test_methods_may_be_exchanged_while_it_runs():
    class Changes(Eager):
        def pop(self, worker):
            self.pop = super().pop

        def push(self, task):
            super().push(task)
            self.view.wake(0)
            self.view.wake(1)

    told = [replayed(asked(Changes()), 0, engine).replay.records() for engine in ENGINES]
    tables = [found["tasks"] for found in told]
    assert tables[0].start_s.tolist() == tables[1].start_s.tolist()


@both_clocks
def test_nothing_is_left_of_a_replay_without_the_collector(machine):
    gc.collect()
    gc.disable()
    try:
        for fails in (False, True):
            scheduler = Gives(-1 if fails else 1)
            question = asked(scheduler, machine=machine)
            left = [weakref.ref(scheduler)]
            try:
                left.append(weakref.ref(replayed(question, 0, "compiled").replay))
                left.append(weakref.ref(scheduler.view))
            except SchedulerError:
                pass
            del question, scheduler
            assert [each() for each in left] == [None] * len(left)
    finally:
        gc.enable()


def resident_pages():
    return int(Path("/proc/self/statm").read_text().split()[1])


@pytest.mark.slow
def test_ten_thousand_replays_take_no_more_memory_than_a_thousand():
    class Mine(Eager):
        def finished(self, task, worker):
            pass

    graph = generate("cholesky", tiles=4)
    question = asked(None, graph)

    def some():
        for _ in range(1000):
            replayed(replace(question, scheduler=Mine()), 0, "compiled")

    some()
    before = resident_pages()
    for _ in range(9):
        some()
    assert resident_pages() - before < 500  # 2 MB; a replay takes some 5 kB


def test_threads_replay_side_by_side():
    graph = generate("cholesky", tiles=8)
    ends = {}

    def work(number):
        done = replayed(asked(Nested(0), graph), 0, "compiled")
        ends[number] = done.replay.records()["tasks"].end_s.tobytes()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ends) == 4
    assert len(set(ends.values())) == 1


def test_random_numbers_are_the_same():
    class Draws(Eager):
        def pop(self, worker):
            self.view.sleeping(self.rng.randrange(2))
            return super().pop(worker)

    states = []
    for engine in ENGINES:
        scheduler = Draws()
        replayed(asked(scheduler), 3, engine)
        states.append(scheduler.rng.getstate())
    assert states[0] == states[1] != random.Random(3).getstate()
