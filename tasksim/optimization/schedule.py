"""A complete schedule in the form that searches change: a worker and a place for each task."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from tasksim.graph.csr import Int64
    from tasksim.optimization.replayer import Replayer
    from tasksim.run.record import TaskTable
    from tasksim.schedulers.static.plan import Plan

__all__ = ["Schedule", "critical_tasks", "schedule_from", "topological"]


class Schedule(NamedTuple):
    """The plan of a search, and its replayed makespan in seconds."""

    worker: Int64
    """The worker of each task, by number."""
    order: Int64
    """All tasks, predecessors first; each worker runs its tasks in this order."""
    makespan_s: float


def schedule_from(replayer: Replayer, plan: Plan) -> Schedule:
    """Return *plan* with its replayed makespan, which is infinite if it cannot be followed."""
    tasks = np.arange(len(plan))
    order = np.lexsort((tasks, plan.end_s, plan.start_s)).astype(np.int64)
    worker = plan.worker.astype(np.int64)
    if not replayer.able[tasks, worker].all():
        return Schedule(worker, order, float("inf"))
    order = topological(replayer, order)
    return Schedule(worker, order, replayer.makespan_s(worker, order))


def topological(replayer: Replayer, order: Int64) -> Int64:
    """Return *order* with each task after its predecessors, changed as little as that needs."""
    edges = replayer.problem.edges
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    if not (place[edges.source] > place[edges.target]).any():
        return order
    # Submission order has predecessors first; a task is at least where the last of them is.
    bounds, sources = edges.target_ptr.tolist(), edges.source[edges.by_target].tolist()
    least = place.tolist()
    for task in range(len(order)):
        before = sources[bounds[task] : bounds[task + 1]]
        if before:
            least[task] = max(least[task], max(least[source] for source in before))
    return np.argsort(np.array(least, np.int64), kind="stable").astype(np.int64)


def critical_tasks(table: TaskTable, order: Int64) -> list[int]:
    """Return the tasks that the end of a replay waited for, the last one first.

    Each task waited for the one that released it, or for the task before it on its worker,
    whichever ended later.
    """
    before = np.full(len(order), -1, np.int64)
    owner = table.worker[order]
    listed = order[np.argsort(owner, kind="stable")]
    same = table.worker[listed[1:]] == table.worker[listed[:-1]]
    before[listed[1:][same]] = listed[:-1][same]
    released = table.released_by.tolist()
    end, ready = table.end_s.tolist(), table.ready_s.tolist()
    previous: list[int] = before.tolist()
    task = int(np.argmax(table.end_s))
    found = []
    while task >= 0:
        found.append(task)
        other = previous[task]
        task = other if other >= 0 and end[other] >= ready[task] else released[task]
    return found
