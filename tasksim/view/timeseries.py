"""Time series for figures, such as copies by pair of memories, rates, waits and overlaps."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.errors import InputError
from tasksim.run.copystatistics import data_arrival_s

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.run.record import Run
    from tasksim.run.recordtables import MemoryTable, TransferTable

    Float64 = NDArray[np.float64]
    Int64 = NDArray[np.int64]
    Spans = tuple[NDArray[np.integer[Any]], Float64, Float64]

__all__ = [
    "arrival_rates",
    "idle_spans",
    "overlap_depths",
    "overlap_levels",
    "pairs",
    "refuse_infinite_times",
    "thinned",
    "used_curve",
]


def refuse_infinite_times(run: Run, name: str) -> None:
    """Raise :exc:`InputError` for the run called *name* if a time of its tasks is not finite."""
    for column in ("submitted_s", "ready_s", "start_s", "end_s"):
        if not np.isfinite(getattr(run.tasks, column)).all():
            raise InputError(f"run {name}: {column} of its tasks is not finite")


def pairs(transfers: TransferTable) -> list[tuple[int, int, Int64]]:
    """Return (source, target, rows of the table) per pair of memories with copies between them.

    The two directions of a pair are neighbours, the one from the smaller number first.
    """
    source, target = transfers.source.astype(np.int64), transfers.target.astype(np.int64)
    low, high = np.minimum(source, target), np.maximum(source, target)
    order = np.lexsort((source > target, low, high))
    ends = np.flatnonzero(np.diff(source[order]) | np.diff(target[order])) + 1
    groups = np.split(order, ends) if len(order) else []
    return [(int(source[rows[0]]), int(target[rows[0]]), np.sort(rows)) for rows in groups]


def overlap_levels(start_s: Float64, end_s: Float64) -> Int64:
    """Return per interval the lowest level that no interval that began earlier still takes.

    >>> overlap_levels(np.array([0.0, 1.0, 2.0]), np.array([2.0, 3.0, 4.0])).tolist()
    [0, 1, 0]
    """
    levels = np.zeros(len(start_s), dtype=np.int64)
    running: list[tuple[float, int]] = []
    free: list[int] = []
    starts, ends = start_s.tolist(), end_s.tolist()
    for row in np.lexsort((end_s, start_s)).tolist():
        while running and running[0][0] <= starts[row]:
            heappush(free, heappop(running)[1])
        levels[row] = level = heappop(free) if free else len(running)
        heappush(running, (ends[row], level))
    return levels


def overlap_depths(start_s: Float64, end_s: Float64, levels: Int64) -> Int64:
    """Return per interval how many levels its cluster has: what overlaps it, directly or not.

    >>> start, end = np.array([0.0, 1.0, 5.0]), np.array([2.0, 3.0, 6.0])
    >>> overlap_depths(start, end, overlap_levels(start, end)).tolist()
    [2, 2, 1]
    """
    if not len(start_s):
        return np.zeros(0, dtype=np.int64)
    order = np.lexsort((end_s, start_s))
    until = np.maximum.accumulate(end_s[order])
    begins = np.concatenate(([True], start_s[order][1:] >= until[:-1]))
    depth = np.maximum.reduceat(levels[order], np.flatnonzero(begins)) + 1
    depths = np.empty_like(levels)
    depths[order] = depth[np.cumsum(begins) - 1]
    return depths


def arrival_rates(transfers: TransferTable, memories: int, edges_s: Float64) -> Float64:
    """Return the bytes per second that arrive in each memory in each slice of time.

    A copy counts evenly over the time that it takes.

    Returns
    -------
    float64 [memories, slices]
    """
    rates = np.zeros((memories, len(edges_s) - 1))
    for memory in np.unique(transfers.target).tolist():
        rows = transfers.target == memory
        arrived = _arrived_bytes(transfers, rows, edges_s)
        rates[memory] = np.diff(arrived) / np.diff(edges_s)
    return rates


def _arrived_bytes(transfers: TransferTable, rows: NDArray[np.bool_], at_s: Float64) -> Float64:
    """Return how much of the copies in *rows* has arrived at each of the times *at_s*."""
    start, end = transfers.start_s[rows], transfers.end_s[rows]
    size = transfers.size_bytes[rows].astype(np.float64)
    takes = end > start
    slope = np.divide(size, end - start, out=np.zeros_like(size), where=takes)
    times = np.concatenate((start[takes], end[takes]))
    order = np.argsort(times, kind="stable")
    times, change = times[order], np.concatenate((slope[takes], -slope[takes]))[order]
    grown = np.cumsum(change)[:-1] * np.diff(times)
    arrived = (
        np.interp(at_s, times, np.concatenate(([0.0], np.cumsum(grown)))) if takes.any() else 0
    )
    instants = np.argsort(end[~takes])
    at_once = np.concatenate(([0.0], np.cumsum(size[~takes][instants])))
    return arrived + at_once[np.searchsorted(end[~takes][instants], at_s, side="right")]


def idle_spans(run: Run) -> dict[str, Spans]:
    """Return per reason (worker, begin, end) of the times when workers waited before a task.

    As :func:`tasksim.run.metrics.idle_time` counts them: for its dependencies until it was
    ready, for its data since the worker had taken it, for the scheduler and the runtime else.
    No two of them overlap on a worker.
    """
    tasks = run.tasks
    order = np.lexsort((tasks.task, tasks.end_s, tasks.start_s, tasks.worker))
    worker, start, end = tasks.worker[order], tasks.start_s[order], tasks.end_s[order]
    free = np.zeros(len(order))
    same = worker[1:] == worker[:-1]
    free[1:][same] = end[:-1][same]
    ready = np.clip(tasks.ready_s[order], free, np.maximum(start, free))
    taken = np.clip(tasks.taken_s[order], ready, np.maximum(start, ready))
    arrival = np.clip(data_arrival_s(run)[order], taken, np.maximum(start, taken))
    spans = {
        "dependency": [(free, ready)],
        "queue": [(ready, taken), (arrival, start)],
        "transfer": [(taken, arrival)],
    }
    found = {}
    for reason, parts in spans.items():
        begin, end = (np.concatenate(side) for side in zip(*parts, strict=True))
        longer = end > begin
        found[reason] = np.tile(worker, len(parts))[longer], begin[longer], end[longer]
    return found


def used_curve(table: MemoryTable, memory: int, until_s: float) -> tuple[Float64, Int64]:
    """Return times and used bytes of *memory*, a step function from 0 to *until_s* or beyond."""
    rows = table.memory == memory
    times, used = table.time_s[rows], table.used_bytes[rows]
    last = used[-1:] if len(used) else np.zeros(1, dtype=np.int64)
    until = max(until_s, float(times[-1]) if len(times) else 0.0)
    begins = np.zeros(0 if len(times) and times[0] <= 0 else 1)
    return (
        np.concatenate((begins, times, [until])),
        np.concatenate((begins.astype(np.int64), used, last)),
    )


def thinned(times_s: Float64, count: Int64, bins: int = 2000) -> tuple[Float64, Int64]:
    """Return a step function with the same extremes in each of *bins* slices of time."""
    if len(times_s) <= 4 * bins:
        return times_s, count
    slices = (times_s * (bins / times_s[-1])).astype(np.int64)
    first = np.flatnonzero(np.diff(slices, prepend=-1))
    last = np.append(first[1:], len(times_s)) - 1
    shown = [count[first], np.maximum.reduceat(count, first), np.minimum.reduceat(count, first)]
    # First what was there on entering the slice, last what is there on leaving it.
    values = np.stack([*shown, count[last]], axis=1)
    return np.repeat(times_s[first], 4), values.ravel()
