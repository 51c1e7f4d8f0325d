"""Network use of a run on several nodes, over time and on the critical path."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.run.critical import practical_critical_path

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.base.arrays import Floats, Indices, Ints
    from tasksim.run.record import Run
    from tasksim.run.recordtables import MessageTable

    Curve = tuple[Floats, Ints]

__all__ = ["PathMessages", "in_flight", "node_idleness", "node_rates", "path_messages"]

ROUNDING_S: Final = 1e-9
"""Rounding of a replay's clock, in seconds: equal times may differ by it."""


def in_flight(run: Run) -> tuple[Curve, Curve]:
    """Return the numbers of moving and of waiting messages, as step functions of time.

    A message waits from when it is posted and its datum is ready until its data move.
    """
    messages = _messages(run)
    waits = np.minimum(np.fmax(messages.posted_s, messages.ready_s), messages.start_s)
    return _steps(messages.start_s, messages.end_s), _steps(waits, messages.start_s)


def _steps(begin: Floats, end: Floats) -> Curve:
    """Return times, and the number of spans in progress from each time on."""
    known = np.isfinite(begin) & np.isfinite(end) & (end > begin)
    times, place = np.unique(np.concatenate((begin[known], end[known])), return_inverse=True)
    change = np.zeros(len(times), np.int64)
    count = int(known.sum())
    np.add.at(change, place[:count], 1)
    np.add.at(change, place[count:], -1)
    return np.concatenate(([0.0], times)), np.concatenate(([0], np.cumsum(change)))


def node_rates(run: Run, edges_s: Floats) -> tuple[Floats, Floats]:
    """Return the bytes per second out of each node and into each node, in each slice of time.

    A run records when the data of a message move, but not how fast at each moment. Here, messages
    that leave a node together share its link evenly, as do messages that reach one; so a fairly
    shared link never carries more than it can.

    Returns
    -------
    float64 [nodes, slices], float64 [nodes, slices]
    """
    messages = _messages(run)
    nodes = 1 + max((worker.node for worker in run.workers), default=0)
    out = _sums(messages, messages.source, nodes, edges_s)
    return out, _sums(messages, messages.target, nodes, edges_s)


def _sums(messages: MessageTable, node: NDArray[np.int32], nodes: int, edges_s: Floats) -> Floats:
    rates = np.zeros((nodes, len(edges_s) - 1))
    for number in range(nodes):
        rows = np.flatnonzero((node == number) & np.isfinite(messages.end_s))
        if len(rows):
            moved = _moved(messages, rows, edges_s)
            rates[number] = np.diff(moved) / np.diff(edges_s)
    return rates


def _moved(messages: MessageTable, rows: Indices, at_s: Floats) -> Floats:
    """Return the number of bytes of the messages in *rows* that have moved at each time."""
    start_s, end_s = messages.start_s[rows], messages.end_s[rows]
    end_s = np.maximum(end_s, start_s + 1e-12)
    times, share = _shares(start_s, end_s)
    # On a clock that runs at a k-th of its speed while k messages share a link, each message has a
    # constant rate.
    start, end, at = (np.interp(moments, times, share) for moments in (start_s, end_s, at_s))
    slope = messages.size_bytes[rows] / (end - start)
    turns = np.concatenate((start, end))
    order = np.argsort(turns, kind="stable")
    turns, change = turns[order], np.concatenate((slope, -slope))[order]
    grown = np.cumsum(change)[:-1] * np.diff(turns)
    return np.interp(at, turns, np.concatenate(([0.0], np.cumsum(grown))))


def _shares(start_s: Floats, end_s: Floats) -> tuple[Floats, Floats]:
    """Return times, and the share of an evenly shared link that one message had by then."""
    times, moving = _steps(start_s, end_s)
    passed = np.diff(times) / np.maximum(moving[:-1], 1)
    return times, np.concatenate(([0.0], np.cumsum(passed)))


def node_idleness(run: Run) -> Floats:
    """Return the idle share of the makespan of each node's workers, on average.

    Examples
    --------
    >>> import tasksim
    >>> node_idleness(tasksim.simulate("chain length=2", workers=2)).tolist()
    [0.5]
    """
    nodes = np.array([worker.node for worker in run.workers], np.int64)
    busy = np.bincount(run.tasks.worker, run.tasks.duration_s, minlength=len(nodes))
    workers = np.bincount(nodes)
    worked = np.bincount(nodes, busy) / np.maximum(workers, 1)
    return 1.0 - worked / run.makespan_s if run.makespan_s else np.zeros(len(workers))


@dataclass(frozen=True)
class PathMessages:
    """The messages on the critical path of a run."""

    count: int
    size_bytes: int
    moving_s: float
    """Time during which their data moved."""
    waiting_s: float
    """Time for which they waited before that, from when their data were ready."""

    def to_json(self) -> dict[str, float]:
        """Return the messages as plain JSON data."""
        return {
            "count": self.count,
            "bytes": self.size_bytes,
            "moving_s": self.moving_s,
            "waiting_s": self.waiting_s,
        }


def path_messages(run: Run) -> PathMessages:
    """Return the cost of the messages on the practical critical path of *run*.

    Where the path goes from one node to another, the last message between both counts that started
    after the first task and arrived before the second.

    Raises
    ------
    InputError
        If the run was on one node.
    """
    messages, tasks = _messages(run), run.tasks
    node = np.array([worker.node for worker in run.workers])[tasks.worker]
    path = [step.task for step in practical_critical_path(run).steps]
    rows: list[int] = []
    for before, after in itertools.pairwise(path):
        if node[before] != node[after]:
            between = (messages.source == node[before]) & (messages.target == node[after])
            between &= messages.start_s >= tasks.end_s[before] - ROUNDING_S
            between &= messages.end_s <= tasks.start_s[after] + ROUNDING_S
            found = np.flatnonzero(between)
            if len(found):
                rows.append(int(found[np.argmax(messages.end_s[found])]))
    ready = np.fmax(messages.posted_s[rows], messages.ready_s[rows])
    return PathMessages(
        len(rows),
        int(messages.size_bytes[rows].sum()),
        float(messages.duration_s[rows].sum()),
        float(np.maximum(messages.start_s[rows] - ready, 0.0).sum()),
    )


def _messages(run: Run) -> MessageTable:
    if run.messages is None:
        raise InputError("the run has no messages: it was on one node")
    return run.messages
