"""Checks of a run's messages for :func:`tasksim.run.runchecks.check_run`."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.errors import CheckFailed
from tasksim.graph.access_mode import READING_MODES, WRITING_MODES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run
    from tasksim.run.recordtables import MessageTable

__all__ = ["binding_across_nodes", "check_messages", "waiting_for_a_send"]


def check_messages(run: Run, graph: TaskGraph | None, slack_s: float) -> None:
    """Raise :exc:`CheckFailed` unless the messages of *run* are consistent.

    They go from one node to another, are ready after they are posted, move after they are ready and
    awaited, and tasks start after the messages sent for them have arrived.
    """
    messages = run.messages
    assert messages is not None
    node = np.array([worker.node for worker in run.workers])
    last = node.max(initial=0)
    for name in ("source", "target"):
        column = getattr(messages, name)
        _demand((column >= 0) & (column <= last), messages, f"its {name} is not a node")
    _demand(messages.source != messages.target, messages, "its source and target are the same")
    order = ("posted_s", "ready_s", "start_s", "end_s")
    for earlier, later in (*itertools.pairwise(order), ("awaited_s", "end_s")):
        times = getattr(messages, earlier), getattr(messages, later)
        _demand(times[1] >= times[0] - slack_s, messages, f"{later} is before {earlier}")
    where = node[run.tasks.worker[messages.task]]
    reader = where == messages.target
    _demand(reader | (where == messages.source), messages, "its task runs on neither node")
    start_s, end_s = run.tasks.start_s[messages.task], run.tasks.end_s[messages.task]
    late = reader & (start_s < messages.end_s - slack_s)
    _demand(~late, messages, "its task starts before it has arrived")
    early = ~reader & (messages.start_s < end_s - slack_s)
    _demand(~early, messages, "it is sent before its task has ended")
    if graph is not None:
        own = messages.handle < graph.handles
        sizes = graph.handle_size[np.where(own, messages.handle, 0)] if graph.handles else 0
        expected = np.where(own, sizes, 0)
        _demand(messages.size_bytes == expected, messages, "its size is not that of its datum")


def _demand(holds: NDArray[np.bool_], messages: MessageTable, what: str) -> None:
    """Raise an error for the first message that fails a check."""
    if not holds.all():
        row = int(np.argmin(holds))
        ends = f"from node {messages.source[row]} to node {messages.target[row]}"
        raise CheckFailed(f"message #{row} of handle #{messages.handle[row]} {ends}: {what}")


def binding_across_nodes(
    run: Run, graph: TaskGraph, before: NDArray[np.intp], after: NDArray[np.int32]
) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
    """Return the dependencies *before* -> *after* that must hold, given the nodes of the tasks.

    Across nodes, a task waits for data that it reads, or for a task that it has no data in common
    with. It need not wait until another one has read the data that it overwrites: the reader has a
    copy.
    """
    node = np.array([worker.node for worker in run.workers])[run.tasks.worker]
    across = np.flatnonzero(node[before] != node[after])
    binds = np.ones(len(before), np.bool_)
    for edge in across.tolist():
        first, second = (dict(graph.accesses_of(int(task[edge]))) for task in (before, after))
        common = first.keys() & second.keys()
        binds[edge] = not common or any(
            first[h] in WRITING_MODES and second[h] in READING_MODES for h in common
        )
    return before[binds], after[binds]


def waiting_for_a_send(run: Run, graph: TaskGraph, before: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return, per task, whether it overwrites data that *before* wrote and its node sent.

    A datum counts as read until it is sent; the task that released the send is recorded as
    releasing the next writer, although other readers may be between both in the graph.
    """
    found = np.zeros(len(graph), np.bool_)
    if run.messages is None:
        return found
    sent = set(np.unique(run.messages.handle).tolist())
    for task in np.flatnonzero(before >= 0).tolist():
        mine, theirs = (
            {handle for handle, mode in graph.accesses_of(number) if mode in WRITING_MODES}
            for number in (task, int(before[task]))
        )
        found[task] = not sent.isdisjoint(mine & theirs)
    return found
