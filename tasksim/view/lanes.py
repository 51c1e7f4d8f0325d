"""Lanes and arrows for copies and messages in a Gantt chart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.patches import Patch

from tasksim.base.shortnames import shortened
from tasksim.base.units import format_size
from tasksim.view.bands import Boxes, add_bands
from tasksim.view.colours import COPY_REASONS
from tasksim.view.timeseries import overlap_depths, overlap_levels, pairs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from tasksim.run.record import Run
    from tasksim.run.recordtables import MessageTable, TransferTable

    Moved = TransferTable | MessageTable

__all__ = [
    "Lane",
    "arrows_shown",
    "draw_arrows",
    "draw_arrows_of",
    "draw_lanes",
    "draw_message_arrows",
    "lanes",
    "transfer_legend",
]

_MEMORY_LETTERS: Final = 16
"""Maximum length of the name of a memory in the label of a lane, which has two of them."""
MAX_ARROWS: Final = 80
"""Maximum number of arrows: on 9 inches of axis, more cross each other until none can be followed.
"""


def arrows_shown(table: Moved) -> NDArray[np.intp]:
    """Return the rows of *table* that have arrows, in order: the longest of each slice of time."""
    if len(table) <= MAX_ARROWS:
        return np.arange(len(table))
    until = float(table.end_s.max()) or 1.0
    slices = (table.start_s / until * MAX_ARROWS).astype(np.int64)
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
    part = f"the longest of each 1/{MAX_ARROWS} of the time"
    return f"arrows: {len(shown)} of {len(table):,} {what}, {part}"


MESSAGE_COLOUR: Final = "#5b3a8c"
"""Colour of messages, violet: copies inside nodes are red, and kernels are rarely violet."""


def draw_message_arrows(axes: Axes, run: Run) -> str:
    """Draw an arrow per message, from the middle of a node's rows to the worker that read it first.

    It begins when the data begin to move and ends when they are there. If there are too many to
    distinguish, only the longest message in each slice of time has an arrow; the returned text says
    so.
    """
    messages = run.messages
    if messages is None or not len(messages):
        return ""
    shown = arrows_shown(messages)
    nodes = np.array([worker.node for worker in run.workers])
    middle = np.bincount(nodes, np.arange(len(nodes))) / np.maximum(np.bincount(nodes), 1)
    source, target = middle[messages.source[shown]], middle[messages.target]
    if len(run.tasks):
        place = np.minimum(np.searchsorted(run.tasks.task, messages.task), len(run.tasks) - 1)
        worker = run.tasks.worker[place]
        known = (run.tasks.task[place] == messages.task) & (nodes[worker] == messages.target)
        target[known] = worker[known]
    target = target[shown]
    return draw_arrows_of(
        axes, messages, shown, source, target, "messages",
        color=MESSAGE_COLOUR, edgecolor="#ffffff", linewidth=0.3,
    )  # fmt: skip


_MAX_LEVELS: Final = 6
"""Maximum number of levels for simultaneous copies; further copies share the last level, as thinner
ones would be invisible."""


@dataclass(frozen=True, slots=True)
class Lane:
    """A row for the copies from one memory to another, in the units of the workers' rows."""

    source: int
    target: int
    rows: NDArray[np.int64]
    """Row numbers of its copies in the transfer table."""
    top: float
    height: float

    def label(self, run: Run) -> str:
        """Return the memories and how much was copied: ``ram → gpu0  1.5 GiB``."""
        size = int(run.transfers.size_bytes[self.rows].sum()) if run.transfers else 0
        names = [
            shortened(run.memories[memory].name, _MEMORY_LETTERS)
            for memory in (self.source, self.target)
        ]
        return f"{' → '.join(names)}  {format_size(size)}"


def lanes(run: Run) -> list[Lane]:
    """Return a lane per pair of memories with copies between them, below the workers."""
    if run.transfers is None:
        return []
    # Where workers are many and their rows thin, lanes are not.
    height = max(1.0, len(run.workers) / 24)
    first = len(run.workers) - 0.5 + 0.4 * height
    return [
        Lane(source, target, rows, first + number * height, height)
        for number, (source, target, rows) in enumerate(pairs(run.transfers))
    ]


def draw_lanes(axes: Axes, run: Run, drawn: Sequence[Lane]) -> None:
    """Draw the copies of each lane; those at the same time above each other."""
    if run.transfers is None or not drawn:
        return
    copies, colours = run.transfers, [colour for _, colour in COPY_REASONS.values()]
    low, high = np.zeros(len(copies)), np.zeros(len(copies))
    for lane in drawn:
        start, end = copies.start_s[lane.rows], copies.end_s[lane.rows]
        levels = np.minimum(overlap_levels(start, end), _MAX_LEVELS - 1)
        step = 0.84 * lane.height / overlap_depths(start, end, levels)
        low[lane.rows] = lane.top + 0.08 * lane.height + levels * step
        high[lane.rows] = low[lane.rows] + step
    add_bands(axes, Boxes.of(copies.start_s, copies.end_s, (low, high), copies.reason, colours))
    axes.axhline(drawn[0].top - 0.2 * drawn[0].height, color="#999999", linewidth=0.6)


def transfer_legend(runs: Iterable[Run]) -> list[Patch]:
    """Return a legend entry per reason for which data were copied in any of *runs*."""
    tables = [run.transfers for run in runs if run.transfers is not None]
    found = {reason for table in tables for reason in np.unique(table.reason).tolist()}
    return [
        Patch(color=c, label=name) for reason, (name, c) in COPY_REASONS.items() if reason in found
    ]


def draw_arrows(axes: Axes, run: Run) -> str:
    """Draw an arrow per copy, from where it came to the worker that waited for it.

    If that worker is unknown, or does not use the memory, the arrow leads to the nearest row of the
    workers of that memory. If there are too many copies to distinguish, only the longest one in
    each slice of time has an arrow; the returned text says so.
    """
    if run.transfers is None or not len(run.transfers):
        return ""
    transfers = run.transfers
    low, high = _bands(run)
    worker = _worker_that_waited(run, transfers)
    to_low = np.where(worker < 0, low[transfers.target], worker)
    to_high = np.where(worker < 0, high[transfers.target], worker)
    source = np.clip((to_low + to_high) / 2, low[transfers.source], high[transfers.source])
    target = np.clip(source, to_low, to_high)
    shown = arrows_shown(transfers)
    colours = np.array([colour for _, colour in COPY_REASONS.values()])
    return draw_arrows_of(
        axes, transfers, shown, source[shown], target[shown], "copies",
        color=colours[transfers.reason[shown]], edgecolor="#222222", linewidth=0.4,
    )  # fmt: skip


def _worker_that_waited(run: Run, transfers: TransferTable) -> NDArray[np.int64]:
    """Return the worker that ran the task of each copy; -1: none with that memory."""
    if not len(run.tasks):
        return np.full(len(transfers), -1)
    place = np.searchsorted(run.tasks.task, transfers.task)
    place = np.minimum(place, len(run.tasks) - 1)
    worker = run.tasks.worker[place].astype(np.int64)
    memory = np.array([worker.memory for worker in run.workers])[worker]
    known = (run.tasks.task[place] == transfers.task) & (memory == transfers.target)
    return np.where(known, worker, -1)


def _bands(run: Run) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the first and the last row of the workers of each memory."""
    below = len(run.workers) - 0.5
    low, high = np.full(len(run.memories), below), np.full(len(run.memories), below)
    for memory in range(len(run.memories)):
        rows = [row for row, worker in enumerate(run.workers) if worker.memory == memory]
        if rows:
            # Arrows end at one worker, or at the edge of several.
            half = 0.5 if len(rows) > 1 else 0.0
            low[memory], high[memory] = rows[0] - half, rows[-1] + half
    return low, high
