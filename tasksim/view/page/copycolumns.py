"""Columns of copies and memories for a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.view.timeseries import pairs, thinned, used_curve

if TYPE_CHECKING:
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run
    from tasksim.view.page.columns import Columns, Ticks

__all__ = ["add_copies", "add_memory", "data_names"]

_MOST_SLICES: Final = 20_000
"""Maximum number of slices of a curve of memory: finer than the pixels of a screen zoomed in
ten times."""


def add_copies(columns: Columns, run: Run, ticks: Ticks) -> list[dict[str, int]]:
    """Add the copies by link and start; return per link its memories and how many copies."""
    copies = run.transfers
    if copies is None or not len(copies):
        return []
    links = pairs(copies)
    rows = [part[np.argsort(copies.start_s[part], kind="stable")] for _, _, part in links]
    order = np.concatenate(rows)
    start = ticks.of(copies.start_s[order])
    columns.whole("copy_start", start, differences=True)
    columns.whole("copy_duration", ticks.of(copies.end_s[order]) - start)
    columns.whole("copy_requested", start - ticks.of(copies.requested_s[order]))
    columns.whole("copy_bytes", copies.size_bytes[order], differences=True)
    columns.whole("copy_handle", copies.handle[order], differences=True)
    columns.whole("copy_task", copies.task[order], differences=True)
    columns.whole("copy_reason", copies.reason[order])
    return [
        {"source": source, "target": target, "copies": len(part)} for source, target, part in links
    ]


def add_memory(columns: Columns, run: Run, ticks: Ticks) -> list[int]:
    """Add how full the memories were; return those of which it is known."""
    if run.memory is None or not len(run.memory):
        return []
    known: list[int] = np.unique(run.memory.memory).tolist()
    for memory in known:
        times, used = thinned(*used_curve(run.memory, memory, run.makespan_s), _MOST_SLICES)
        columns.whole(f"memory_time_{memory}", ticks.of(times), differences=True)
        columns.whole(f"memory_used_{memory}", used, differences=True)
    return known


def data_names(graph: TaskGraph | None) -> list[dict[str, Any]]:
    """Return what the data of a graph are called, block by block."""
    blocks = () if graph is None else graph.handle_blocks
    return [block._asdict() for block in blocks]
