"""A complete schedule in the form that searches change: a worker and a place for each task."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.graph.csr import Int64
    from tasksim.optimization.replayer import Replayer
    from tasksim.platform.description import Platform
    from tasksim.schedulers.static.plan import Plan
    from tasksim.schedulers.static.problem import Problem

__all__ = [
    "ReplayedPlan",
    "placed",
    "schedule_from",
    "topological",
    "with_classes_merged",
    "with_near_classes_merged",
]

NEAR_CLASSES: Final = 0.15
"""Largest relative difference of durations of devices of a kind that count as one class."""


class ReplayedPlan(NamedTuple):
    """The plan of a search, and its replayed makespan in seconds."""

    worker: Int64
    """The worker of each task, by number."""
    order: Int64
    """All tasks, predecessors first; each worker runs its tasks in this order."""
    makespan_s: float


def schedule_from(replayer: Replayer, plan: Plan) -> ReplayedPlan:
    """Return *plan* with its replayed makespan, which is infinite if it cannot be followed."""
    tasks = np.arange(len(plan))
    order = np.lexsort((tasks, plan.end_s, plan.start_s)).astype(np.int64)
    worker = plan.worker.astype(np.int64)
    if not replayer.able[tasks, worker].all():
        return ReplayedPlan(worker, order, float("inf"))
    order = topological(replayer, order)
    return ReplayedPlan(worker, order, replayer.makespan_s(worker, order))


def placed(
    replayer: Replayer, problem: Problem, start_s: NDArray[np.float64], group: Int64
) -> ReplayedPlan:
    """Return the replayed schedule of starts and classes of *problem*, with a worker for each task.

    *problem* is that of *replayer*, or the one with classes merged. Among the free workers, a task
    gets the one in whose memory most of its data were written.
    """
    free = [0.0] * problem.workers
    members = [
        np.flatnonzero(problem.class_of == c).tolist() for c in range(problem.costs_s.shape[1])
    ]
    memory = problem.memory_of.tolist()
    source, target, handle = problem.flows
    size = problem.graph.handle_size[handle].tolist()
    home = problem.graph.handle_home[handle].tolist()
    by_target: list[list[tuple[int, int, int]]] = [[] for _ in range(problem.tasks)]
    for before, task, bytes_, place in zip(
        source.tolist(), target.tolist(), size, home, strict=True
    ):
        by_target[task].append((before, bytes_, place))
    worker = np.zeros(problem.tasks, np.int64)
    tasks = np.arange(problem.tasks)
    length_s = problem.costs_s[tasks, group]
    order = topological(replayer, np.lexsort((tasks, length_s > 0, start_s)).astype(np.int64))
    for task in order.tolist():
        near = [0] * problem.memories
        for before, bytes_, place in by_target[task]:
            near[place if before < 0 else memory[worker[before]]] += bytes_
        able = [w for w in members[group[task]] if replayer.able[task, w]]
        begin = float(start_s[task])
        worker[task] = chosen = min(
            able, key=lambda w: (max(0.0, free[w] - begin), -near[memory[w]], -free[w])
        )
        free[chosen] = max(free[chosen], begin) + float(length_s[task])
    return ReplayedPlan(worker, order, replayer.makespan_s(worker, order))


def topological(replayer: Replayer, order: Int64) -> Int64:
    """Return *order* with each task moved behind its predecessors, and no further than that."""
    edges = replayer.problem.edges
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    if not (place[edges.source] > place[edges.target]).any():
        return order
    # Submission order has predecessors first; no task comes before the last of them.
    bounds, sources = edges.target_ptr.tolist(), edges.source[edges.by_target].tolist()
    least = place.tolist()
    for task in range(len(order)):
        before = sources[bounds[task] : bounds[task + 1]]
        if before:
            least[task] = max(least[task], max(least[source] for source in before))
    return np.argsort(np.array(least, np.int64), kind="stable").astype(np.int64)


def with_classes_merged(problem: Problem) -> Problem:
    """Return *problem* with classes of workers that have equal durations as one.

    Workers whose memories alone differ are alike to models that leave copies out.
    """
    _, first, merged = np.unique(problem.costs_s, axis=1, return_index=True, return_inverse=True)
    # In the order of the classes, not of their durations.
    rank = np.argsort(np.argsort(first))
    return replace(
        problem,
        costs_s=np.ascontiguousarray(problem.costs_s[:, np.sort(first)]),
        class_of=rank[merged.reshape(-1)][problem.class_of],
    )


def with_near_classes_merged(problem: Problem, platform: Platform) -> Problem:
    """Return *problem* with nearly equal classes of an architecture as one, at its fastest.

    A schedule of *problem* is also one of the result, so bounds on the result hold for *problem*.
    Devices of a kind are seldom equally fast, and a solver gains nothing by telling them apart.
    """
    costs = problem.costs_s
    kinds = [
        platform.workers[int(np.argmax(problem.class_of == c))].architecture
        for c in range(costs.shape[1])
    ]
    firsts: list[int] = []
    merged = np.zeros(len(kinds), np.int64)
    for c, kind in enumerate(kinds):
        for number, first in enumerate(firsts):
            if kinds[first] == kind and np.allclose(costs[:, c], costs[:, first], NEAR_CLASSES, 0):
                merged[c] = number
                break
        else:
            merged[c] = len(firsts)
            firsts.append(c)
    fastest = [costs[:, merged == number].min(axis=1) for number in range(len(firsts))]
    return replace(problem, costs_s=np.stack(fastest, axis=1), class_of=merged[problem.class_of])
