"""Data flow between the tasks of a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tasksim.graph.access_mode import AccessMode

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.graph.csr import Int64
    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["Edges", "Flows", "edges_of", "flows_of"]

_WRITES = np.zeros(8, dtype=bool)
_WRITES[[AccessMode.W, AccessMode.RW, AccessMode.COMMUTATIVE, AccessMode.REDUCTION]] = True
_READS = np.zeros(8, dtype=bool)
_READS[[AccessMode.R, AccessMode.RW, AccessMode.COMMUTATIVE]] = True


class Flows(NamedTuple):
    """The flows of a graph in columns: a *target* reads a *handle* that a *source* wrote.

    A *source* of -1 means that no task wrote the datum, which is at its home. Data of size zero do
    not flow.
    """

    source: Int64
    target: Int64
    handle: Int64


class Edges(NamedTuple):
    """The dependencies of a graph with the data that flow along them, one row per pair of tasks.

    ``copies`` is the number of data and ``size_bytes`` their total size; both are 0 for a
    dependency without data. Rows are sorted by source, then target, with ``ptr`` as in CSR.
    ``by_target`` is the order of the rows by target, and ``target_ptr`` has the first row of each
    target in that order.
    """

    source: Int64
    target: Int64
    copies: NDArray[np.float64]
    size_bytes: NDArray[np.float64]
    ptr: Int64
    by_target: Int64
    target_ptr: Int64


def flows_of(graph: TaskGraph) -> Flows:
    """Return all flows of *graph*.

    The accesses of a handle in submission order form runs of reads, of commutative accesses, of
    reductions, or of a single write. A run that reads gets the data of the last writing run before
    it, from each task of that run.
    """
    task, handle, mode = _accesses_by_handle(graph)
    if not len(task):
        none = np.zeros(0, dtype=np.int64)
        return Flows(none, none, none)
    starts = _runs(handle, mode)
    ends = np.append(starts[1:], len(task))
    first_mode = mode[starts]
    writer = _last_writer(handle[starts], _WRITES[first_mode])
    reads = np.flatnonzero(_READS[first_mode])
    homeless = reads[writer[reads] < 0]
    fed = reads[writer[reads] >= 0]
    before, here = _grids(starts[writer[fed]], ends[writer[fed]], starts[fed], ends[fed])
    alone = _ranges(starts[homeless], ends[homeless])
    return Flows(
        np.concatenate((task[before], np.full(len(alone), -1, dtype=np.int64))),
        np.concatenate((task[here], task[alone])),
        np.concatenate((handle[here], handle[alone])),
    )


def edges_of(graph: TaskGraph, flows: Flows) -> Edges:
    """Return the dependencies of *graph* and those implied by *flows*, with their data."""
    between = flows.source >= 0
    tasks = len(graph)
    source = np.repeat(np.arange(tasks, dtype=np.int64), np.diff(graph.successor_ptr))
    waits = (source << 32) | graph.successors
    data = (flows.source[between] << 32) | flows.target[between]
    keys, where = np.unique(np.concatenate((waits, data)), return_inverse=True)
    size = graph.handle_size[flows.handle[between]]
    nothing = np.zeros(len(waits))
    copies = _sums(where, np.concatenate((nothing, np.ones(len(size)))), len(keys))
    size_bytes = _sums(where, np.concatenate((nothing, size)), len(keys))
    target = keys & 0xFFFFFFFF
    return Edges(
        keys >> 32,
        target,
        copies,
        size_bytes,
        _pointers(keys >> 32, tasks),
        np.argsort(target, kind="stable"),
        _pointers(target, tasks),
    )


def _accesses_by_handle(graph: TaskGraph) -> tuple[Int64, Int64, NDArray[np.int8]]:
    """Return task, handle and mode of accesses to data of nonzero size, sorted by handle."""
    task = np.repeat(np.arange(len(graph), dtype=np.int64), np.diff(graph.access_ptr))
    handle, mode = graph.access_handle.astype(np.int64), graph.access_mode
    kept = np.flatnonzero((mode != AccessMode.SCRATCH) & (graph.handle_size[handle] > 0))
    order = kept[np.argsort(handle[kept], kind="stable")]
    return task[order], handle[order], mode[order]


def _runs(handle: Int64, mode: NDArray[np.int8]) -> Int64:
    """Return the index of the first access of each run."""
    write = (mode == AccessMode.W) | (mode == AccessMode.RW)
    new = np.ones(len(handle), dtype=bool)
    new[1:] = (handle[1:] != handle[:-1]) | (mode[1:] != mode[:-1]) | write[1:]
    return np.flatnonzero(new)


def _last_writer(handle: Int64, writes: NDArray[np.bool_]) -> Int64:
    """Return, per run, the last run before it that wrote its handle; -1 if there is none."""
    number = np.arange(len(handle), dtype=np.int64)
    last = np.maximum.accumulate(np.where(writes, number, -1))
    before = np.concatenate((np.array([-1], dtype=np.int64), last[:-1]))
    same = handle[np.maximum(before, 0)] == handle
    found: Int64 = np.where(same, before, -1)
    return found


def _ranges(starts: Int64, ends: Int64) -> Int64:
    """Return all numbers from ``starts[i]`` to before ``ends[i]``, for each i."""
    lengths = ends - starts
    offset = np.cumsum(lengths) - lengths
    numbers: Int64 = np.arange(int(lengths.sum()), dtype=np.int64)
    numbers += np.repeat(starts - offset, lengths)
    return numbers


def _grids(rows: Int64, row_ends: Int64, columns: Int64, column_ends: Int64) -> tuple[Int64, Int64]:
    """Return all pairs of a number of ``rows[i]..`` and one of ``columns[i]..``, for each i."""
    widths = column_ends - columns
    row = _ranges(rows, row_ends)
    which = np.repeat(np.arange(len(rows)), row_ends - rows)
    column = _ranges(columns[which], column_ends[which])
    return np.repeat(row, widths[which]), column


def _sums(where: Int64, weights: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    return np.bincount(where, weights, count).astype(np.float64)


def _pointers(tasks: Int64, count: int) -> Int64:
    pointers = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(tasks, minlength=count), out=pointers[1:])
    return pointers
