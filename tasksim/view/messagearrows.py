"""Arrows of messages in a Gantt chart: from the rows of one node to those of another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from tasksim.run.record import Run
    from tasksim.run.recordtables import MessageTable

__all__ = ["draw_message_arrows"]

MOST_ARROWS: Final = 80
"""On 9 inches of axis more than 80 arrows cross each other until none can be followed."""
COLOUR: Final = "#5b3a8c"
"""Violet: copies inside of nodes are red, kernels rarely violet."""


def draw_message_arrows(axes: Axes, run: Run) -> str:
    """Draw an arrow per message, from the middle of a node's rows to the worker that read it first.

    It begins when the data begin to move and ends when they are there. Of more messages than can
    be told apart, the one that took longest in each slice of time has its arrow; the text that is
    returned says so.
    """
    messages = run.messages
    if messages is None or not len(messages):
        return ""
    shown = _shown(messages)
    start, end = messages.start_s[shown], messages.end_s[shown]
    middle = _middles(run)
    source = middle[messages.source[shown]]
    target = _reader_rows(run, messages, middle)[shown]
    axes.quiver(
        start,
        source,
        end - start,
        target - source,
        color=COLOUR,
        edgecolor="#ffffff",
        linewidth=0.3,
        angles="xy",
        scale_units="xy",
        scale=1.0,
        units="inches",
        width=0.011,
        headwidth=5.0,
        headlength=7.0,
        headaxislength=6.0,
        zorder=3,
    )
    if len(shown) == len(messages):
        return ""
    part = f"the longest of each 1/{MOST_ARROWS} of the time"
    return f"arrows: {len(shown)} of {len(messages):,} messages, {part}"


def _shown(messages: MessageTable) -> NDArray[np.intp]:
    """Return the messages that have arrows, in order of the table."""
    if len(messages) <= MOST_ARROWS:
        return np.arange(len(messages))
    until = float(messages.end_s.max()) or 1.0
    slices = (messages.start_s / until * MOST_ARROWS).astype(np.int64)
    order = np.lexsort((np.arange(len(messages)), -messages.duration_s, slices))
    first = np.flatnonzero(np.diff(slices[order], prepend=-1))
    return np.sort(order[first])


def _middles(run: Run) -> NDArray[np.float64]:
    """Return the row in the middle of each node's workers."""
    nodes = np.array([worker.node for worker in run.workers])
    rows = np.arange(len(nodes), dtype=np.float64)
    count = np.bincount(nodes)
    return np.bincount(nodes, rows) / np.maximum(count, 1)


def _reader_rows(
    run: Run, messages: MessageTable, middle: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the row of the worker that ran the task of each message, if on its target."""
    rows = middle[messages.target].copy()
    if not len(run.tasks):
        return rows
    place = np.minimum(np.searchsorted(run.tasks.task, messages.task), len(run.tasks) - 1)
    worker = run.tasks.worker[place]
    nodes = np.array([worker.node for worker in run.workers])[worker]
    known = (run.tasks.task[place] == messages.task) & (nodes == messages.target)
    rows[known] = worker[known]
    return rows
