"""The replay: exact schedules on small graphs, published makespans, rules enforced."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import replace as changed

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import replay_of
from strategies import costs, graphs, platforms

from tasksim.base.errors import InputError, SchedulerError
from tasksim.graph.apps.registry import generate
from tasksim.graph.builder import RW, GraphBuilder, R
from tasksim.graph.taskgraph import THREAD_START, Binding
from tasksim.platform.description import Overheads, Platform
from tasksim.run.record import Run, TaskTable, WorkerInfo
from tasksim.run.runchecks import check_run
from tasksim.schedulers.base import Scheduler
from tasksim.schedulers.registry import create, names

COSTS = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0, "task": 1.0}


def replay(graph, platform, scheduler, table=None):
    if table is None:
        table = [[COSTS[graph.kernel_of(t)] for t in range(len(graph))]] * len(platform.classes)
    policy = create(scheduler) if isinstance(scheduler, str) else scheduler
    result = replay_of(graph, platform, policy, table)
    result.run(0)
    return result


def with_overheads(workers, **overheads):
    free = Platform.identical(workers)
    return Platform(
        name="costly",
        workers=free.workers,
        memories=free.memories,
        overheads=Overheads(**overheads),
    )


def plan1():
    """Estee's hand-drawn graph of eight tasks (Estee 5ba5421, tests/test_estee/test_utils.py)."""
    durations = [2, 3, 2, 1, 1, 6, 1, 1]
    predecessors = [(), (), (0,), (), (0, 1, 3), (3,), (), (2, 4, 5, 6)]
    builder = GraphBuilder("plan1")
    for duration, before in zip(durations, predecessors, strict=True):
        builder.insert("task", after=before, duration_s=float(duration))
    return builder.build(), [[float(d) for d in durations]]


@pytest.mark.parametrize(
    ("tiles", "workers", "makespan"),
    [(20, 4, 2008), (20, 8, 1014), (20, 32, 288), (40, 4, 16008), (40, 8, 8014), (40, 32, 2037)],
)
def test_cholesky_by_bottom_level_on_identical_workers(tiles, workers, makespan):
    """Three independent codes agree on these (Estee blevel-gt, SAGA HEFT, a list scheduler)."""
    graph = generate("cholesky", tiles=tiles, priorities="bottom-level")
    result = replay(graph, Platform.identical(workers), "prio")
    assert max(result.ledger.end) == makespan


def test_plan1_on_one_worker_takes_all_the_work():
    graph, table = plan1()
    assert max(replay(graph, Platform.identical(1), "eager", table).ledger.end) == 17


@pytest.mark.parametrize("scheduler", ["eager", "prio", "ws", "lws", "dm"])
def test_plan1_on_two_workers_is_within_grahams_bound(scheduler):
    """Any greedy schedule is at most work/P + (1 - 1/P) critical path; here 8.5 + 4."""
    graph, table = plan1()
    makespan = max(replay(graph, Platform.identical(2), scheduler, table).ledger.end)
    assert 8.5 <= makespan <= 12.5


def test_a_cost_per_task_delays_every_task_of_a_chain():
    """Estee's scheduling latency of 2 on a chain 3, 1, 1, 1."""
    graph = generate("chain", length=4)
    result = replay(graph, with_overheads(1, task_s=2.0), "eager", [[3.0, 1.0, 1.0, 1.0]])
    assert result.ledger.end.tolist() == [5.0, 8.0, 11.0, 14.0]


def test_a_worker_is_served_at_once_while_tasks_that_wait_are_submitted():
    """The end of a task and a submission fall on one instant; what is submitted is not ready."""
    builder = GraphBuilder("g")
    x = builder.handle("x", size_bytes=8)
    builder.insert("task", duration_s=2.0)
    for _ in range(9):
        builder.insert("task", RW(x), duration_s=1.0)
    machine = with_overheads(1, submission_s=1.0)
    result = replay(builder.build(), machine, "eager", [[2.0, *[1.0] * 9]])
    assert result.ledger.start.tolist() == [0.0, *map(float, range(2, 11))]


def test_submission_goes_on_while_tasks_run():
    builder = GraphBuilder("independent")
    for _ in range(4):
        builder.insert("task", duration_s=1.0)
    result = replay(builder.build(), with_overheads(2, submission_s=0.25), "eager")
    assert result.ledger.ready.tolist() == [0.0, 0.25, 0.5, 0.75]
    assert result.ledger.start.tolist() == [0.0, 0.25, 1.0, 1.25]


def test_waking_a_sleeping_worker_takes_time():
    builder = GraphBuilder("fork")
    x = builder.handle("x", size_bytes=8)
    builder.insert("task", RW(x), duration_s=1.0)
    builder.insert("task", R(x), duration_s=1.0)
    builder.insert("task", R(x), duration_s=1.0)
    result = replay(builder.build(), with_overheads(2, wakeup_s=0.5, task_s=0.125), "eager")
    # The first task wakes a worker; at its end that worker is awake, the other is not.
    assert result.ledger.start.tolist() == [0.625, 1.75, 2.25]


def test_all_workers_but_the_first_are_there_late():
    builder = GraphBuilder("many")
    for _ in range(4):
        builder.insert("task")
    costly = with_overheads(3, start_s=1.0, wakeup_s=0.25)
    result = replay(builder.build(), costly, "eager", [[2.0] * 4])
    assert result.ledger.start.tolist() == [0.25, 1.0, 1.0, 2.25]


def test_a_worker_is_there_for_the_task_that_is_its_start():
    builder = GraphBuilder("region")
    for kernel in ("first", THREAD_START, "task", "task", "task"):
        builder.insert(kernel)
    nothing = np.full(5, -1, np.int32)
    held = np.array([Binding.HELD, Binding.HELD, *[Binding.TIED] * 3], np.int8)
    graph = changed(builder.build(), continues=nothing, creator=nothing, binding=held)
    late = with_overheads(3, start_s=0.75)
    result = replay(graph, late, "libomp", [[1.0, 0.5, 1.0, 1.0, 1.0]])
    assert result.ledger.start.tolist() == [0.0, 0.0, 0.5, 0.75, 1.0]


def test_all_ends_of_an_instant_release_before_any_worker_is_served():
    """Two tasks end together; the urgent successor of the second is seen by the first worker."""
    builder = GraphBuilder("two")
    x, y = builder.handle("x", size_bytes=8), builder.handle("y", size_bytes=8)
    builder.insert("task", RW(x), duration_s=1.0)
    builder.insert("task", RW(y), duration_s=1.0)
    builder.insert("task", R(x), priority=0, duration_s=1.0)
    builder.insert("task", R(y), priority=9, duration_s=1.0)
    result = replay(builder.build(), Platform.identical(2), "prio")
    assert result.ledger.worker == [0, 1, 1, 0]


def test_equal_expected_ends_go_to_the_first_worker():
    builder = GraphBuilder("independent")
    for _ in range(5):
        builder.insert("task", duration_s=1.0)
    result = replay(builder.build(), Platform.identical(3), "dm")
    assert result.ledger.worker == [0, 1, 2, 0, 1]


def test_dm_prefers_the_faster_class_until_its_queue_is_long():
    builder = GraphBuilder("independent")
    for _ in range(4):
        builder.insert("task", duration_s=1.0)
    two = Platform(
        name="two",
        workers=tuple(
            type(w)(id=w.id, name=w.name, architecture=a, memory=0)
            for w, a in zip(Platform.identical(2).workers, ["cpu", "big"], strict=True)
        ),
        memories=Platform.identical(2).memories,
    )
    result = replay(builder.build(), two, "dm", [[3.0] * 4, [1.0] * 4])
    assert result.ledger.worker == [1, 1, 0, 1]  # ends 1, 2, then 3 ties: the lower number, then 3


def test_the_thief_takes_the_newest_and_the_owner_the_oldest():
    builder = GraphBuilder("burst")
    x = builder.handle("x", size_bytes=8)
    builder.insert("task", RW(x), duration_s=1.0)
    for _ in range(3):
        builder.insert("task", R(x), duration_s=1.0)
    result = replay(builder.build(), Platform.identical(2), "lws", [[1.0, 5.0, 5.0, 5.0]])
    # Task 0, from the main thread, goes to worker 1, which releases the others. Worker 0 wakes,
    # is served first and steals the newest; worker 1 takes its oldest.
    assert result.ledger.worker[0] == 1
    assert (result.ledger.worker[3], result.ledger.worker[1]) == (0, 1)


def test_a_task_that_no_worker_can_run_is_named():
    graph = generate("chain", length=2)
    with pytest.raises(InputError, match=r"no worker .* can run task #1"):
        replay(graph, Platform.identical(1), "eager", [[1.0, np.inf]])


class Misbehaving(Scheduler):
    name = "misbehaving"

    def attach(self, view, rng):
        super().attach(view, rng)
        self.queue = deque()

    def push(self, task):
        self.queue.append(task)
        self.view.wake_any(task)

    def pop(self, worker):
        return self.queue.popleft() if self.queue else None


class Drops(Misbehaving):
    def push(self, task):
        if task != 2:
            super().push(task)


class Repeats(Misbehaving):
    def pop(self, worker):
        return self.queue[0] if self.queue else None


class Invents(Misbehaving):
    def pop(self, worker):
        return 99


class Impatient(Misbehaving):
    def pop(self, worker):
        return 1


class WakesNobody(Misbehaving):
    def push(self, task):
        self.queue.append(task)


class WakesAStranger(Misbehaving):
    def push(self, task):
        self.view.wake(7)


class Sloppy(Misbehaving):
    def pop(self, worker):
        return "gemm"


@pytest.mark.parametrize(
    ("scheduler", "message"),
    [
        (Drops, r"dropped task #2 \(duration_s=0.001\): pushed, but all workers sleep at 2 s"),
        (Repeats, r"gave worker cpu0 task #0 .*, which is already finished"),
        (Invents, r"gave worker cpu0 99, which is not a task \(legal: 0 to 3, or None\)"),
        (Impatient, r"gave worker cpu0 task #1 .*, which is not ready"),
        (WakesNobody, r"dropped task #0 .*: pushed, but all workers sleep at 0 s"),
        (WakesAStranger, r"woke worker 7; the workers are 0 to 1"),
        (Sloppy, r"gave worker cpu0 'gemm', which is not a task"),
    ],
)
def test_a_scheduler_that_breaks_a_rule_is_caught_and_named(scheduler, message):
    graph = generate("chain", length=4)
    with pytest.raises(SchedulerError, match=rf"scheduler {scheduler.__name__} " + message):
        replay(graph, Platform.identical(2), scheduler())


def test_a_worker_that_cannot_run_the_task_is_refused():
    graph = generate("chain", length=1)
    two = Platform(
        name="two",
        workers=tuple(
            type(w)(id=w.id, name=w.name, architecture=a, memory=0)
            for w, a in zip(Platform.identical(2).workers, ["cpu", "big"], strict=True)
        ),
        memories=Platform.identical(2).memories,
    )

    class WakesTheWrongOne(Misbehaving):
        def push(self, task):
            self.queue.append(task)
            self.view.wake(0)

    with pytest.raises(SchedulerError, match=r"gave worker cpu0 .*, which that worker cannot run"):
        replay(graph, two, WakesTheWrongOne(), [[np.inf], [1.0]])


@given(st.data(), graphs(), platforms(), st.sampled_from(names(bare=True)))
def test_every_invariant_holds_for_random_graphs_platforms_and_schedulers(
    data, graph, platform, scheduler
):
    table = data.draw(costs(graph, platform))
    result = replay(graph, platform, scheduler, table)
    tasks = np.arange(len(graph))
    run = Run(
        kind="simulated",
        graph_name=graph.name,
        graph_arguments={},
        kernel_names=graph.kernels,
        workers=tuple(WorkerInfo(w.name, w.architecture, w.node) for w in platform.workers),
        platform=platform.name,
        scheduler=scheduler,
        seed=0,
        tasks=TaskTable(
            task=tasks,
            kernel=graph.kernel,
            worker=result.ledger.worker,
            priority=graph.priority,
            submitted_s=tasks * platform.overheads.submission_s,
            ready_s=result.ledger.ready,
            start_s=result.ledger.start,
            end_s=result.ledger.end,
            released_by=result.ledger.released_by,
        ),
    )
    check_run(run, graph)
    for task, worker in enumerate(result.ledger.worker):
        cost = table[result.view.class_of[worker]][task]
        start = result.ledger.start[task]
        assert result.ledger.end[task] == pytest.approx(start + cost)
        assert start >= result.ledger.ready[task] + platform.overheads.task_s


@pytest.mark.parametrize("name", ["eager", "prio"])
@pytest.mark.parametrize("seed", range(100))
def test_both_engines_submit_by_the_same_rule(seed, name):
    """Costs that floats hold exactly, so that what meets at one instant does so in both."""
    rng = random.Random(seed)
    builder = GraphBuilder("random")
    data = [builder.handle(f"x{i}", size_bytes=8) for i in range(rng.randrange(1, 6))]
    tasks = rng.randrange(2, 25)
    for _ in range(tasks):
        used = rng.sample(data, min(len(data), rng.randrange(3)))
        accesses = [rng.choice((R, RW))(handle) for handle in used]
        builder.insert("task", *accesses, priority=rng.randrange(3))
    graph = builder.build()
    costs_s = [[rng.choice((1.0, 2.0, 3.0)) for _ in range(tasks)]]
    platform = with_overheads(rng.randrange(1, 4), submission_s=rng.choice((0.25, 0.5, 1.0)))
    replay_of(graph, platform, create(name), costs_s).run(0)  # on both engines
