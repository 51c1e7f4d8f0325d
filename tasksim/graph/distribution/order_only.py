"""Order without data: dependencies that no access implies, as data without bytes.

Across nodes an order takes a message. A task that others wait for, and not because of a datum,
writes one of no bytes, which they read.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tasksim.graph.access_mode import AccessMode
from tasksim.graph.csr import from_edges
from tasksim.graph.dependencies import Accesses, infer_dependencies
from tasksim.graph.taskgraph import HandleBlock

if TYPE_CHECKING:
    from tasksim.graph.csr import Int32, Int64
    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["with_data_of_edges"]


def with_data_of_edges(
    graph: TaskGraph, accesses: Accesses, owners: Int32, executor: Int32
) -> tuple[TaskGraph, Accesses, Int32]:
    """Return *graph* and its *accesses* with data for the order that these do not imply.

    And the *owners* of all data: those of the new ones are who writes them. The graph has the new
    data, its columns of accesses are left as they are.
    """
    edges = _not_implied(graph, accesses)
    if not len(edges):
        return graph, accesses, owners
    writers, place = np.unique(edges >> 32, return_inverse=True)
    data = graph.handles + np.arange(len(writers))
    task = np.concatenate((accesses.task, writers, edges & 0xFFFFFFFF)).astype(np.int32)
    handle = np.concatenate((accesses.handle, data, data[place])).astype(np.int32)
    mode = np.repeat([AccessMode.W, AccessMode.R], [len(writers), len(edges)]).astype(np.int8)
    mode = np.concatenate((accesses.mode, mode))
    order = np.argsort(task, kind="stable")
    more = len(writers)
    whole = replace(
        graph,
        handle_size=np.append(graph.handle_size, np.zeros(more, np.int64)),
        handle_home=np.append(graph.handle_home, np.zeros(more, np.int32)),
        handle_blocks=(*graph.handle_blocks, HandleBlock("order", more, 0, graph.handles)),
    )
    added = Accesses(task, handle, mode).take(order)
    return whole, added, np.concatenate((owners, executor[writers]))


def _not_implied(graph: TaskGraph, accesses: Accesses) -> Int64:
    """Return the edges of *graph*, as in :mod:`tasksim.graph.csr`, that *accesses* do not imply."""
    pointers, successors = from_edges(infer_dependencies(accesses), len(graph))
    same = np.array_equal(pointers, graph.successor_ptr)
    if same and np.array_equal(successors, graph.successors):
        return np.empty(0, np.int64)
    tasks = np.arange(len(graph), dtype=np.int64) << 32
    implied = np.repeat(tasks, np.diff(pointers)) | successors
    given = np.repeat(tasks, np.diff(graph.successor_ptr)) | graph.successors
    return given[~np.isin(given, implied)]
