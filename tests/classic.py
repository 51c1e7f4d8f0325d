"""The model of the papers on static scheduling: unrelated processors, no contention."""

from __future__ import annotations

import numpy as np

from tasksim.graph.builder import GraphBuilder, R, W
from tasksim.platform.costs import Copying
from tasksim.platform.description import Link, Memory, Platform, Route, Worker
from tasksim.schedulers.static import Problem

MANY_COPIES = 10**9

TOPCUOGLU = (
    [(14, 16, 9), (13, 19, 18), (11, 13, 19), (13, 8, 17), (12, 13, 10), (13, 16, 9), (7, 15, 11),
     (5, 11, 14), (18, 12, 20), (21, 7, 16)],
    {(1, 2): 18, (1, 3): 12, (1, 4): 9, (1, 5): 11, (1, 6): 14, (2, 8): 19, (2, 9): 16, (3, 7): 23,
     (4, 8): 27, (4, 9): 23, (5, 9): 13, (6, 8): 15, (7, 10): 17, (8, 10): 11, (9, 10): 13},
)  # fmt: skip
"""H. Topcuoglu, S. Hariri, M.-Y. Wu, IEEE TPDS 13(3), 2002, figure 2: costs and volumes."""

ARABNEJAD = (
    [(22, 21, 36), (22, 18, 18), (32, 27, 43), (7, 10, 4), (29, 27, 35), (26, 17, 24), (14, 25, 30),
     (29, 23, 36), (15, 21, 8), (13, 16, 33)],
    {(1, 2): 17, (1, 3): 31, (1, 4): 29, (1, 5): 13, (1, 6): 7, (2, 8): 3, (2, 9): 30, (3, 7): 16,
     (4, 8): 11, (4, 9): 7, (5, 9): 57, (6, 8): 5, (7, 10): 9, (8, 10): 42, (9, 10): 7},
)  # fmt: skip
"""H. Arabnejad, J. G. Barbosa, IEEE TPDS 25(3), 2014, figure 1: costs and volumes."""


def processors(memory_of, bandwidth=1.0, latency=0.0):
    """Workers with these memories, all memories linked, copies that do not share anything."""
    memories = 1 + max(memory_of)
    pairs = [(a, b) for a in range(memories) for b in range(memories) if a != b]
    return Platform(
        name="classic",
        workers=tuple(Worker(k, f"P{k}", f"P{k}", m) for k, m in enumerate(memory_of)),
        memories=tuple(Memory(k, f"m{k}") for k in range(memories)),
        links=(Link(0, "network", None, bandwidth, latency, shared=False),) if pairs else (),
        routes=tuple(Route(a, b, (0,)) for a, b in pairs),
        copying=Copying(fetches=MANY_COPIES, prefetches=MANY_COPIES, idle=MANY_COPIES),
    )


def graph_of(tasks, volumes, waits=()):
    """Tasks numbered from 1, and what they send each other: a datum each.

    *waits*: task -> the tasks, numbered from 0, that it waits for without data.
    """
    waits = dict(waits)
    g = GraphBuilder("classic")
    handles = {pair: g.handle(f"{pair}", size_bytes=size) for pair, size in volumes.items()}
    for task in range(1, tasks + 1):
        sent = [W(handle) for (source, _), handle in handles.items() if source == task]
        got = [R(handle) for (_, target), handle in handles.items() if target == task]
        g.insert("task", *sent, *got, after=waits.get(task, []))
    return g.build()


def problem_of(costs, volumes):
    """The problem of a paper's example, every processor with its own memory, bandwidth 1."""
    table = np.array(costs, dtype=float).T
    return Problem.of(graph_of(len(costs), volumes), processors(range(len(table))), table)


def timeline(plan, workers):
    """Per worker: task (from 1), start, end."""
    return [
        [(task + 1, plan.start_s[task], plan.end_s[task]) for task in tasks]
        for tasks in plan.orders(workers)
    ]


def communication_s(problem, pair_row, source_memory, target_memory):
    """The time of one row of the problem's edges between two memories."""
    edges = problem.edges
    return (
        edges.copies[pair_row] * problem.latency_s[source_memory, target_memory]
        + edges.size_bytes[pair_row] * problem.seconds_per_byte[source_memory, target_memory]
    )


def assert_valid(plan, problem):
    """The plan runs each task once, as long as it takes, after what it waits for, alone."""
    worker, edges = plan.worker, problem.edges
    durations = problem.costs_s[np.arange(problem.tasks), problem.class_of[worker]]
    assert np.isfinite(durations).all()
    assert np.allclose(plan.end_s - plan.start_s, durations, atol=1e-9)
    assert (plan.start_s >= 0).all()
    memory = problem.memory_of[worker]
    for row, (source, target) in enumerate(zip(edges.source, edges.target, strict=True)):
        there = plan.end_s[source] + communication_s(problem, row, memory[source], memory[target])
        assert plan.start_s[target] >= there - 1e-9
    for task, home, size in zip(*problem.initial, strict=True):
        copy = problem.latency_s[home, memory[task]]
        copy += size * problem.seconds_per_byte[home, memory[task]]
        assert plan.start_s[task] >= copy - 1e-9
    for tasks in plan.orders(problem.workers):
        ends, starts = plan.end_s[tasks[:-1]], plan.start_s[tasks[1:]]
        assert (starts >= ends - 1e-9).all()
