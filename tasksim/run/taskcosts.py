"""Costs of tasks in the bulk-synchronous model: synchronisations, words, operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.graph.access_mode import AccessMode
from tasksim.graph.csr import owner_of_each
from tasksim.graph.dependencies import last_writer
from tasksim.graph.flop import task_flop
from tasksim.graph.taskgraph import task_parameter

if TYPE_CHECKING:
    from tasksim.base.arrays import Floats, Ints
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
        "words": _fetched_bytes(graph, worker, run.tasks.start_s) / WORD_BYTES,
        "flop": flop,
    }


def _moved_bytes(graph: TaskGraph) -> Floats | None:
    """Return the bytes that each task of a communication kernel moves; None without such tasks."""
    communicates = ~np.isnan(task_parameter(graph, "ranks"))
    moved = np.where(communicates, task_parameter(graph, "bytes"), np.nan)
    return None if np.isnan(moved).all() else np.nan_to_num(moved)


def _fetched_bytes(graph: TaskGraph, worker: Ints, start_s: Floats) -> Floats:
    """Return the bytes that each task fetches, which a task of another worker wrote last.

    Only the first reader on a worker fetches a datum: it stays there until it is written again.
    """
    if not graph.handles:
        return np.full(len(graph), np.nan)
    accessed = graph.access_mode != AccessMode.SCRATCH
    handle = graph.access_handle[accessed].astype(np.int64)
    order = np.argsort(handle, kind="stable")  # by datum, then in submission order
    handle, mode = handle[order], graph.access_mode[accessed][order]
    task = owner_of_each(graph.access_ptr)[accessed][order]
    writer = last_writer(handle, mode != AccessMode.R)
    reads = np.flatnonzero((mode != AccessMode.W) & (writer >= 0))
    reads = reads[worker[task[writer[reads]]] != worker[task[reads]]]
    reads = reads[np.argsort(start_s[task[reads]], kind="stable")]
    versions = np.stack([writer[reads], worker[task[reads]]])
    firsts = reads[np.unique(versions, axis=1, return_index=True)[1]]
    sizes = graph.handle_size[handle[firsts]].astype(np.float64)
    return np.bincount(task[firsts], sizes, minlength=len(graph)).astype(np.float64)
