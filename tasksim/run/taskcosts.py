"""Costs of tasks in the bulk-synchronous model: synchronisations, words, operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.graph.access_mode import AccessMode
from tasksim.graph.flop import task_flop

if TYPE_CHECKING:
    from tasksim.base.arrays import Bools, Floats, Ints
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run

__all__ = ["task_costs"]

WORD_BYTES: Final = 8
"""Size of a word: a double, as in the papers that count words."""


def task_costs(run: Run, graph: TaskGraph) -> dict[str, Floats]:
    """Return each task's synchronisations, words and flop; NaN where they are not known."""
    worker = run.tasks.worker.astype(np.int64)
    flop = task_flop(graph)
    moved = _moved_bytes(graph)
    if moved is not None:
        return {
            "synchronisations": (moved > 0).astype(np.float64),
            "words": moved / WORD_BYTES,
            "flop": flop,
        }
    # A task synchronises if it depends on a task of another worker.
    before = np.repeat(worker, np.diff(graph.successor_ptr))
    synchronisations = np.zeros(len(graph))
    synchronisations[graph.successors[before != worker[graph.successors]]] = 1.0
    return {
        "synchronisations": synchronisations,
        "words": _bytes_of_others(graph, worker, run.tasks.start_s) / WORD_BYTES,
        "flop": flop,
    }


def _moved_bytes(graph: TaskGraph) -> Floats | None:
    """Return the bytes that each task of a communication kernel moves; None without such tasks."""
    found = None
    for index, names in enumerate(graph.parameter_names):
        if {"bytes", "ranks"} <= set(names):
            found = np.zeros(len(graph)) if found is None else found
            mine = graph.kernel == index
            found[mine] = graph.parameters[index][:, names.index("bytes")][graph.row[mine]]
    return found


def _bytes_of_others(graph: TaskGraph, worker: Ints, start_s: Floats) -> Floats:
    """Return, per task, the bytes last written by another worker that it is the first to read.

    It is the first of its worker: data that a worker has read stay there until they are written
    again.
    """
    if not graph.handles:
        return np.full(len(graph), np.nan)
    counts = graph.access_mode != AccessMode.SCRATCH
    handle = graph.access_handle[counts].astype(np.int64)
    order = np.argsort(handle, kind="stable")  # by datum, then in submission order
    handle, mode = handle[order], graph.access_mode[counts][order]
    task = np.repeat(np.arange(len(graph)), np.diff(graph.access_ptr))[counts][order]
    writer = _last_writer(handle, mode != AccessMode.R)
    reads = np.flatnonzero((mode != AccessMode.W) & (writer >= 0))
    reads = reads[worker[task[writer[reads]]] != worker[task[reads]]]
    reads = reads[np.argsort(start_s[task[reads]], kind="stable")]
    versions = np.stack([writer[reads], worker[task[reads]]])
    firsts = reads[np.unique(versions, axis=1, return_index=True)[1]]
    sizes = graph.handle_size[handle[firsts]].astype(np.float64)
    return np.bincount(task[firsts], sizes, minlength=len(graph)).astype(np.float64)


def _last_writer(handle: Ints, writes: Bools) -> Ints:
    """Return, per access sorted by *handle*, the index of the last write before it; -1: none."""
    places = np.where(writes, np.arange(len(handle)), -1)
    before = np.concatenate(([-1], np.maximum.accumulate(places)[:-1])) if len(handle) else places
    first = np.searchsorted(handle, handle)  # first access to the datum
    return np.where(before >= first, before, -1)
