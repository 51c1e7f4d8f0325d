"""Tasks outside: handed out when they are released, and what waits for them waits."""

from __future__ import annotations

import random
import threading

import numpy as np
import pytest
from compiled_core import needs_core
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import graphs
from tiers import few

from tasksim.base.errors import SchedulerError, TaskFailed
from tasksim.graph.builder import RW, GraphBuilder
from tasksim.kernels.program import bind
from tasksim.native.runtimes import choose_runtime
from tasksim.platform.description import Platform
from tasksim.runtime.view import Facts
from tasksim.schedulers.base import Scheduler
from tasksim.schedulers.registry import create, names
from tasksim.schedulers.static import ALGORITHMS

PLANNERS = {*ALGORITHMS, "graph_test"}
"""They plan, or wait for, all tasks of a graph, also those that no worker executes."""
RUNTIMES = ["python", needs_core("compiled")]


class Thread:
    """Completes what it is handed, in its own order."""

    def __init__(self, tasks):
        self.tasks = np.array(tasks, dtype=np.int8)
        self.handed = []

    def label(self, task):
        return f"task {task} of all"

    def begin(self, runtime):
        self.thread = threading.Thread(target=self.work, args=(runtime,))
        self.thread.start()

    def work(self, runtime):
        while (found := runtime.handed_out(1e-4, 1e-5)) is not None:
            self.handed += found
            runtime.completed([(task, 1.0, 2.0) for task in reversed(found)])


def executed(graph, runtime, outside, scheduler="eager", workers=2, functions=None):
    """Return the table of a run in which *outside* has some tasks."""
    ran = []
    default = dict.fromkeys(graph.kernels, ran.append)
    program = bind(graph, workers, functions=functions or default)
    platform = Platform.identical(workers)
    policy = create(scheduler) if isinstance(scheduler, str) else scheduler
    make = choose_runtime(runtime, platform).execution
    facts = Facts.on_any_worker(graph, platform, policy, [[1e-4] * len(graph)])
    execution = make(facts, program, outside=outside)
    try:
        execution.run(random.Random(0))
    finally:
        outside.thread.join()
    return execution.table(), ran


@pytest.mark.parametrize("runtime", RUNTIMES)
@settings(max_examples=few(60), deadline=None)
@given(st.data())
def test_every_task_is_done_once_by_whom_it_is_for(runtime, data):
    graph = data.draw(graphs(max_tasks=15))
    flags = data.draw(st.lists(st.integers(0, 1), min_size=len(graph), max_size=len(graph)))
    outside = Thread(flags)
    scheduler = data.draw(st.sampled_from(sorted({*names(bare=True)} - PLANNERS)))
    table, ran = executed(graph, runtime, outside, scheduler)
    assert sorted(outside.handed) == np.flatnonzero(outside.tasks).tolist()
    assert sorted(ran) == np.flatnonzero(outside.tasks == 0).tolist()
    assert ((table.worker < 0) == (outside.tasks == 1)).all()


def chain(length):
    g = GraphBuilder("chain of one datum")
    x = g.handle("x", size_bytes=8)
    for _ in range(length):
        g.insert("step", RW(x))
    return g.build()


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_what_waits_for_a_task_outside_is_released_by_its_end(runtime):
    table, ran = executed(chain(5), runtime, Thread([0, 1, 0, 1, 1]))
    assert ran == [0, 2]
    assert table.start_s[[1, 3]].tolist() == [1.0, 1.0]
    assert table.end_s[[1, 3]].tolist() == [2.0, 2.0]
    assert (table.ready_s[1:] >= table.ready_s[:-1]).all()


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_failed_task_has_the_name_that_who_is_outside_gives_it(runtime):
    def fail(task):
        raise ValueError("no")

    with pytest.raises(TaskFailed, match="task 1 of all failed"):
        executed(chain(2), runtime, Thread([1, 0]), functions={"step": fail})


class Drops(Scheduler):
    """Takes tasks, and gives none."""

    name = "drops"

    def push(self, task):
        self.view.wake_all(task)

    def pop(self, worker):
        return None


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_dropped_task_is_found_when_nothing_outside_is_under_way(runtime):
    with pytest.raises(SchedulerError, match="drop"):
        executed(chain(2), runtime, Thread([1, 0]), Drops())
