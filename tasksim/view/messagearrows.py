"""Arrows of messages in a Gantt chart: from the rows of one node to those of another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.view.arrows import arrows_shown, draw_arrows_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from tasksim.run.record import Run
    from tasksim.run.recordtables import MessageTable

__all__ = ["draw_message_arrows"]

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
