"""Commutative accesses: which tasks exclude each other without an order between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tasksim.graph.access_mode import AccessMode

if TYPE_CHECKING:
    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["commutative_handles", "ready_at_first"]


def commutative_handles(graph: TaskGraph) -> dict[int, tuple[int, ...]]:
    """Return the handles that each task accesses commutatively; tasks without any are left out."""
    positions = np.flatnonzero(graph.access_mode == AccessMode.COMMUTATIVE)
    tasks = np.searchsorted(graph.access_ptr, positions, side="right") - 1
    handles: dict[int, list[int]] = {}
    for task, handle in zip(tasks.tolist(), graph.access_handle[positions].tolist(), strict=True):
        handles.setdefault(task, []).append(handle)
    return {task: tuple(held) for task, held in handles.items()}


def ready_at_first(graph: TaskGraph) -> list[int]:
    """Return the tasks that can be ready together before any has run, in order of submission.

    Those without predecessors, but of two that exclude each other only the first.
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
