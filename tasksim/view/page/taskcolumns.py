"""Columns of tasks for a page: their times, and what is known of each.

Each column holds what the others do not say: when a task began after the one before it on its
worker, when it became ready after the end of the task that released it. Most of that is nothing,
which takes no room. ``script/rundata.js`` puts the times together again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tasksim.graph.csr import transpose
from tasksim.graph.flop import task_flop
from tasksim.graph.iterations import iterations
from tasksim.run.copystatistics import data_arrival_s
from tasksim.view.page.subject import critical_tasks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.view.page.columns import Columns, Ticks
    from tasksim.view.page.subject import Subject

    Int64 = NDArray[np.int64]

__all__ = ["add_tasks"]


def add_tasks(columns: Columns, subject: Subject, ticks: Ticks) -> None:
    """Add the columns of the tasks of a run.

    Those in the order in which workers ran them are ``worker_tasks`` (how many each had),
    ``task``, ``gap`` and ``duration``; all others are in the order of the tasks.
    """
    tasks = subject.run.tasks
    start, end = ticks.of(tasks.start_s), ticks.of(tasks.end_s)
    _add_timeline(columns, subject, start, end)
    columns.whole("kernel", tasks.kernel)
    columns.whole("priority", tasks.priority, differences=True)
    columns.whole("number", tasks.task.astype(np.int64) - np.arange(len(tasks)))
    submitted, ready = ticks.of(tasks.submitted_s), ticks.of(tasks.ready_s)
    columns.whole("submitted", submitted, differences=True)
    released_by = tasks.released_by.astype(np.int64)
    released = (released_by >= 0) & (released_by < len(tasks))
    itself = np.arange(len(tasks))
    columns.whole("released", np.where(released, itself - released_by, 0))
    since = np.where(released, end[np.where(released, released_by, 0)], submitted)
    columns.whole("ready", ready - since)
    if not np.isnan(tasks.popped_s).all():
        columns.whole("taken", start - ticks.of(tasks.taken_s))
    columns.real("expected", subject.expected_s)
    columns.whole("critical", critical_tasks(subject.run), differences=True)
    _add_arrivals(columns, subject, ticks, start)
    if subject.graph is not None:
        _add_graph(columns, subject.graph)


def _add_timeline(columns: Columns, subject: Subject, start: Int64, end: Int64) -> None:
    """Add which tasks each worker ran, one after another."""
    tasks = subject.run.tasks
    order = np.lexsort((tasks.task, end, start, tasks.worker))
    worker = tasks.worker[order]
    before = np.zeros(len(order), dtype=np.int64)
    same = worker[1:] == worker[:-1]
    before[1:][same] = end[order][:-1][same]
    counts = np.bincount(tasks.worker, minlength=len(subject.run.workers))
    columns.whole("worker_tasks", counts)
    columns.whole("task", order, differences=True)
    columns.whole("gap", start[order] - before)
    columns.whole("duration", (end - start)[order])


def _add_arrivals(columns: Columns, subject: Subject, ticks: Ticks, start: Int64) -> None:
    """Add how long before its start the data of a task had come, 1 tick more; 0: none came."""
    if subject.run.transfers is None:
        return
    arrival_s = data_arrival_s(subject.run)
    came = np.isfinite(arrival_s)
    arrival = np.minimum(ticks.of(np.where(came, arrival_s, 0.0)), start)
    columns.whole("arrival", np.where(came, start - arrival + 1, 0))


def _add_graph(columns: Columns, graph: TaskGraph) -> None:
    """Add the predecessors of each task, its iteration, and its flop."""
    pointers, predecessors = transpose(graph.successor_ptr, graph.successors, len(graph))
    counts = np.diff(pointers)
    columns.whole("predecessors", counts)
    columns.whole("predecessor", np.repeat(np.arange(len(graph)), counts) - predecessors)
    found = iterations(graph)
    if found is not None:
        columns.whole("iteration", found, differences=True)
    flop = task_flop(graph)
    if np.isfinite(flop).any():
        columns.real("flop", flop)
