"""Errors for the statuses of the core, the same as those of SimPy's engine.

This module is imported only after a failure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.core import interface
from tasksim.engine.data.accesses import COPIED
from tasksim.engine.data.capacity import no_room, too_large
from tasksim.runtime.flat import Refused
from tasksim.runtime.ledger import nobody_can_run
from tasksim.runtime.rules import dropped, illegal_pop, livelock

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform
    from tasksim.schedulers.base import Scheduler

__all__ = ["failure"]

_REASONS: Final = {
    interface.BAD_ARRAYS: "the core does not take these numbers",
    interface.NO_MEMORY: "there is not enough memory for the core",
    interface.UNKNOWN: "the core does not have this scheduler",
    interface.TOO_LATE: "the core's clock ends after 292 years",
}


def failure(
    status: int,
    outcome: interface.Outcome,
    graph: TaskGraph,
    platform: Platform,
    scheduler: Scheduler,
    columns: dict[str, NDArray[Any]],
) -> Exception:
    """Return the error that SimPy's engine would raise, or :exc:`Refused` where it shall try.

    *columns* are those of the tasks, none if the replay has not begun.
    """
    if status == interface.NOBODY:
        return nobody_can_run(graph, outcome.task)
    if status == interface.TOO_LARGE:
        return too_large(graph, outcome.task, _needed_bytes(graph, outcome.task))
    if status == interface.STUCK:
        memory = platform.memories[outcome.worker].name
        return no_room(graph, outcome.task, memory, outcome.now_s)
    states = columns["state"].tolist() if columns else []
    if status == interface.ILLEGAL_POP:
        worker = platform.workers[outcome.worker].name
        return illegal_pop(scheduler, graph, states, outcome.task, worker)
    if status == interface.DROPPED:
        return dropped(scheduler, graph, states, outcome.now_s)
    if status == interface.LIVELOCK:
        return livelock(scheduler, graph, states, outcome.now_s, outcome.number)
    return Refused(_REASONS.get(status, f"the core has failed with status {status}"))


def _needed_bytes(graph: TaskGraph, task: int) -> int:
    accesses = slice(graph.access_ptr[task], graph.access_ptr[task + 1])
    counts = np.isin(graph.access_mode[accesses], COPIED)
    return int(graph.handle_size[graph.access_handle[accesses][counts]].sum())
