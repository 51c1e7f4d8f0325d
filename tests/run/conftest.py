"""Runs made by hand, and by a small list scheduler."""

import heapq
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tasksim import simulate
from tasksim.graph.builder import RW, Commute, GraphBuilder, R, W
from tasksim.run.record import (
    Disturbance,
    MemoryInfo,
    MemoryTable,
    Run,
    TaskTable,
    TransferTable,
    WorkerInfo,
)


def make_run(rows, workers=("cpu0", "cpu1"), kernels=("potrf", "gemm"), **changes):
    """Rows: (kernel, worker, submitted, ready, start, end, released_by)."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * 7
    kernel, worker, submitted, ready, start, end, by = columns
    n = len(rows)
    given = {
        "kind": "simulated",
        "graph_name": "test",
        "graph_arguments": {"tiles": 2},
        "kernel_names": kernels,
        "workers": tuple(WorkerInfo(name, name.rstrip("0123456789")) for name in workers),
        "platform": "hand",
        "scheduler": "eager",
        "seed": 0,
        "tasks": TaskTable(range(n), kernel, worker, [0] * n, submitted, ready, start, end, by),
    }
    return Run(**(given | changes))


def cholesky(tiles):
    """Right-looking tiled Cholesky factorisation."""
    g = GraphBuilder("cholesky", {"tiles": tiles})
    A = g.matrix("A", tiles, tiles, size_bytes=8)
    for k in range(tiles):
        g.insert("potrf", RW(A[k, k]), n=1)
        for m in range(k + 1, tiles):
            g.insert("trsm", R(A[k, k]), RW(A[m, k]), n=1)
        for n in range(k + 1, tiles):
            g.insert("syrk", R(A[n, k]), RW(A[n, n]), n=1)
            for m in range(n + 1, tiles):
                g.insert("gemm", R(A[m, k]), R(A[n, k]), RW(A[m, n]), n=1)
    return g.build()


def reduction(leaves):
    """Leaves that update one sum in any order, one at a time; then a task that reads it."""
    g = GraphBuilder("reduction", {"leaves": leaves})
    total = g.handle("sum", 8)
    for leaf in range(leaves):
        g.insert("add", Commute(total), i=leaf)
    g.insert("read", R(total))
    return g.build()


def schedule(graph, workers=3, durations_s=None, **changes):
    """First come, first served; for graphs without commutative accesses."""
    n = len(graph)
    durations = np.ones(n) if durations_s is None else np.asarray(durations_s, float)
    missing = graph.predecessor_count.tolist()
    ready, start, end, worker, by = np.zeros(n), np.zeros(n), np.zeros(n), [0] * n, [-1] * n
    queue = [task for task in range(n) if not missing[task]]
    idle, running, now = list(range(workers)), [], 0.0
    while queue or running:
        while queue and idle:
            task, worker[task] = queue.pop(0), heapq.heappop(idle)
            start[task], end[task] = now, now + durations[task]
            heapq.heappush(running, (end[task], task, worker[task]))
        now, done, free = heapq.heappop(running)
        heapq.heappush(idle, free)
        for successor in graph.successors_of(done):
            missing[successor] -= 1
            if not missing[successor]:
                ready[successor], by[successor] = now, done
                queue.append(successor)
    rows = list(zip(graph.kernel, worker, [0.0] * n, ready, start, end, by, strict=True))
    names = [f"cpu{i}" for i in range(workers)]
    given = {"graph_name": graph.name, "graph_arguments": dict(graph.arguments)}
    return make_run(rows, names, graph.kernels, **(given | changes))


def two_memories():
    """Four tasks on three data: a of 40 bytes, b of 60, c of 20, all in RAM at first."""
    g = GraphBuilder("travel")
    a, b, c = (g.handle(name, size) for name, size in (("a", 40), ("b", 60), ("c", 20)))
    g.insert("potrf", RW(a), i=0)
    g.insert("gemm", RW(a), RW(b), i=1)
    g.insert("gemm", R(c), RW(b), i=2)
    g.insert("potrf", R(b), i=3)
    return g.build()


def travel(**changes):
    """The graph above: 0 and 3 on cpu0, 1 and 2 on gpu0, whose memory holds 100 bytes.

    b is prefetched for 1, a fetched; a has to leave before c can be fetched for 2; 3 waits for
    b to come back.
    """
    transfers = [
        # handle, source, target, size, requested, start, end, reason, task
        (1, 0, 1, 60, 0.0, 0.0, 1.0, 1, 1),
        (0, 0, 1, 40, 2.0, 2.0, 3.0, 0, 1),
        (0, 1, 0, 40, 5.0, 5.0, 5.5, 3, -1),
        (2, 0, 1, 20, 5.0, 5.5, 6.0, 0, 2),
        (1, 1, 0, 60, 7.25, 7.25, 8.5, 0, 3),
    ]
    run = make_run(
        [
            (0, 0, 0.0, 0.0, 0.0, 2.0, -1),
            (1, 1, 0.0, 2.0, 3.0, 5.0, 0),
            (1, 1, 0.0, 5.0, 6.0, 7.0, 1),
            (0, 0, 0.0, 7.0, 8.75, 9.0, 2),
        ],
        graph_name="travel",
        graph_arguments={},
        workers=("cpu0", "gpu0"),
        transfers=TransferTable(*zip(*transfers, strict=True)),
        memory=MemoryTable([0.0, 2.0, 5.5, 5.5], [1, 1, 1, 1], [60, 100, 60, 80]),
        memories=(MemoryInfo("ram"), MemoryInfo("gpu0", 0, 100.0)),
        evictions=1,
    )
    tasks = replace(run.tasks, popped_s=[0.0, 2.0, 5.0, 7.25])
    workers = (run.workers[0], replace(run.workers[1], memory=1))
    return replace(run, tasks=tasks, workers=workers, **changes)


def losing(lost_s, preemptions):
    """Return a run of tasks of 1 s on one worker, which lost some more."""
    rows, now = [], 0.0
    for lost in lost_s:
        rows.append((1, 0, 0.0, 0.0, now, now + 1.0 + lost, -1))
        now += 1.0 + lost
    run = make_run(rows, workers=("cpu0",))
    tasks = replace(run.tasks, cpu_s=[1.0] * len(lost_s), preemptions=preemptions)
    return replace(run, kind="native", tasks=tasks)


def passed_on(kernel, size_bytes, **fields):
    """Return a graph and a run of it: the second of its workers uses what the first has written."""
    builder = GraphBuilder("passed on")
    datum = builder.handle("datum", size_bytes=size_bytes)
    builder.insert("somebody's", W(datum))
    builder.insert(kernel, R(datum))
    builder.insert(kernel, R(datum))
    graph = builder.build()
    run = simulate(graph, workers=1, durations={"somebody's": 1.0, kernel: 1.0})
    tasks = replace(run.tasks, worker=[0, 1, 1], cpu_s=np.ones(3), preemptions=np.zeros(3, int))
    told = Disturbance((0.0, 0.0), (0, 0), **fields)
    workers = (run.workers[0], replace(run.workers[0], name="cpu1"))
    run = replace(run, kind="native", workers=workers, tasks=tasks, disturbance=told)
    return graph, run


@pytest.fixture(scope="session")
def make():
    return SimpleNamespace(
        run=make_run,
        cholesky=cholesky,
        reduction=reduction,
        schedule=schedule,
        two_memories=two_memories,
        losing=losing,
        passed_on=passed_on,
    )


@pytest.fixture
def small(make):
    """Two workers, four tasks: cpu0 runs 0 (0-2 s) and 2 (3-6 s), cpu1 1 (0-1 s) and 3 (2-4 s)."""
    return make.run(
        [
            (0, 0, 0.0, 0.0, 0.0, 2.0, -1),
            (1, 1, 0.0, 0.0, 0.0, 1.0, -1),
            (1, 0, 0.0, 2.0, 3.0, 6.0, 0),
            (1, 1, 0.5, 2.0, 2.0, 4.0, 0),
        ]
    )


@pytest.fixture
def travelled():
    """Four tasks in two memories, with five copies between them."""
    return travel()
