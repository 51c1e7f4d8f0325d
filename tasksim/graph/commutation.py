"""Mutual exclusion of tasks by commutative accesses, without an order."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.graph.access_mode import AccessMode
from tasksim.graph.taskgraph import HandleBlock

if TYPE_CHECKING:
    from collections.abc import Collection

    from tasksim.graph.taskgraph import TaskGraph

__all__ = [
    "PYTHON_LOCK",
    "commutative_handles",
    "ready_at_first",
    "taking_turns",
]

PYTHON_LOCK: Final = "Python's lock"
"""Name of the datum without bytes that serialises tasks that hold Python's lock."""


def commutative_handles(graph: TaskGraph) -> dict[int, tuple[int, ...]]:
    """Return task -> its commutatively accessed handles, if it has any."""
    positions = np.flatnonzero(graph.access_mode == AccessMode.COMMUTATIVE)
    tasks = np.searchsorted(graph.access_ptr, positions, side="right") - 1
    handles: dict[int, list[int]] = {}
    for task, handle in zip(tasks.tolist(), graph.access_handle[positions].tolist(), strict=True):
        handles.setdefault(task, []).append(handle)
    return {task: tuple(held) for task, held in handles.items()}


def taking_turns(graph: TaskGraph, kernels: Collection[str]) -> TaskGraph:
    """Return *graph* with the tasks of *kernels* one at a time, in any order.

    Each accesses a datum without bytes, :data:`PYTHON_LOCK`, commutatively; a graph without it gets
    one.
    """
    numbers = [number for number, name in enumerate(graph.kernels) if name in kernels]
    tasks = np.isin(graph.kernel, numbers)
    lock = next((b.first for b in graph.handle_blocks if b.name == PYTHON_LOCK), None)
    if lock is not None:
        holders = np.searchsorted(
            graph.access_ptr, np.flatnonzero(graph.access_handle == lock), side="right"
        )
        tasks[holders - 1] = False  # they already do
    if not tasks.any():
        return graph
    ends = graph.access_ptr[1:][tasks]
    fields = {
        "access_ptr": graph.access_ptr + np.concatenate([[0], np.cumsum(tasks)]),
        "access_handle": np.insert(
            graph.access_handle, ends, graph.handles if lock is None else lock
        ),
        "access_mode": np.insert(graph.access_mode, ends, AccessMode.COMMUTATIVE),
    }
    if lock is None:
        fields["handle_size"] = np.append(graph.handle_size, 0)
        fields["handle_home"] = np.append(graph.handle_home, np.int32(0))
        block = HandleBlock(PYTHON_LOCK, 0, 0, graph.handles)
        return replace(graph, **fields, handle_blocks=(*graph.handle_blocks, block))
    return replace(graph, **fields)


def ready_at_first(graph: TaskGraph) -> list[int]:
    """Return the tasks that can be ready together before any has run, in order of submission.

    They have no predecessors, and are the first of those that exclude each other.
    """
    exclusive = commutative_handles(graph)
    held: set[int] = set()
    ready = []
    for task in np.flatnonzero(graph.predecessor_count == 0).tolist():
        handles = exclusive.get(task, ())
        if held.isdisjoint(handles):
            held.update(handles)
            ready.append(task)
    return ready
