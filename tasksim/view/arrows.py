"""Arrows in a Gantt chart, of copies and of messages: which are shown, and how they look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from tasksim.run.record import Run
    from tasksim.run.recordtables import MessageTable, TransferTable

    Moved = TransferTable | MessageTable

__all__ = ["arrows_shown", "draw_arrows_of", "draw_message_arrows"]


MOST_ARROWS: Final = 80
"""On 9 inches of axis more than 80 arrows cross each other until none can be followed."""


def arrows_shown(table: Moved) -> NDArray[np.intp]:
    """Return the rows of *table* that have arrows, in order: the longest of each slice of time."""
    if len(table) <= MOST_ARROWS:
        return np.arange(len(table))
    until = float(table.end_s.max()) or 1.0
    slices = (table.start_s / until * MOST_ARROWS).astype(np.int64)
    # By slice, the longest first; of equals the first in the table.
    order = np.lexsort((np.arange(len(table)), -table.duration_s, slices))
    first = np.flatnonzero(np.diff(slices[order], prepend=-1))
    return np.sort(order[first])


def draw_arrows_of(
    axes: Axes,
    table: Moved,
    shown: NDArray[np.intp],
    source: NDArray[Any],
    target: NDArray[Any],
    what: str,
    **look: Any,
) -> str:
    """Draw an arrow per row *shown*, between rows of the chart; return a text on those left out.

    *what* the rows are, in words; *look* are colours and the width of edges.
    """
    start, end = table.start_s[shown], table.end_s[shown]
    axes.quiver(
        start,
        source,
        end - start,
        target - source,
        angles="xy",
        scale_units="xy",
        scale=1.0,
        units="inches",
        width=0.011,
        headwidth=5.0,
        headlength=7.0,
        headaxislength=6.0,
        zorder=3,
        **look,
    )
    if len(shown) == len(table):
        return ""
    part = f"the longest of each 1/{MOST_ARROWS} of the time"
    return f"arrows: {len(shown)} of {len(table):,} {what}, {part}"


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
    shown = arrows_shown(messages)
    middle = _middles(run)
    source = middle[messages.source[shown]]
    target = _reader_rows(run, messages, middle)[shown]
    return draw_arrows_of(
        axes, messages, shown, source, target, "messages",
        color=COLOUR, edgecolor="#ffffff", linewidth=0.3,
    )  # fmt: skip


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
