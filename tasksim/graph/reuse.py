"""Reuse distances of a task's data, which decide whether a cache still holds them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tasksim.graph.access_mode import AccessMode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["ReuseTracker", "accessed_bytes", "reuse_distances", "task_bytes"]


class ReuseTracker:
    """Tracker of reuse distances over the tasks of a run, in the order of their starts.

    The *reuse distance* of an access is the number of bytes that all tasks have accessed since
    the last access to the same handle; infinite for the first. A cache of some size that all
    workers share still holds the handle if the distance is smaller (Mattson et al., IBM
    Systems Journal 9(2), 1970, for distinct bytes; here each access counts). Scratch memory is
    the task's own: accesses to it have no bytes, and are no use of the handle.
    """

    def __init__(self, graph: TaskGraph) -> None:
        self._first: list[int] = graph.access_ptr.tolist()
        self._handles: list[int] = graph.access_handle.tolist()
        self._sizes: list[float] = accessed_bytes(graph).tolist()
        self._is_use: list[bool] = (graph.access_mode != AccessMode.SCRATCH).tolist()
        self._last = [-np.inf] * graph.handles
        self._accessed = 0.0

    def distances(self, task: int) -> list[float]:
        """Start *task*; return the reuse distance of each of its accesses, in bytes."""
        accesses = range(self._first[task], self._first[task + 1])
        distances = [self._accessed - self._last[self._handles[i]] for i in accesses]
        self._touch(accesses)
        return distances

    def far_bytes(self, task: int, reach_bytes: float) -> float:
        """Start *task*; return the bytes it accesses whose reuse distance exceeds *reach_bytes*."""
        accesses = range(self._first[task], self._first[task + 1])
        oldest = self._accessed - reach_bytes
        last, handles, sizes = self._last, self._handles, self._sizes
        far = 0.0
        for i in accesses:
            if last[handles[i]] < oldest:
                far += sizes[i]
        self._touch(accesses)
        return far

    def _touch(self, accesses: range) -> None:
        for i in accesses:
            self._accessed += self._sizes[i]
        for i in accesses:
            if self._is_use[i]:
                self._last[self._handles[i]] = self._accessed


def reuse_distances(graph: TaskGraph, order: Iterable[int]) -> NDArray[np.float64]:
    """Return the reuse distance in bytes of every access, for tasks started in *order*.

    The result is laid out like ``graph.access_handle``.
    """
    tracker = ReuseTracker(graph)
    distances = np.empty(len(graph.access_handle))
    for task in order:
        distances[graph.access_ptr[task] : graph.access_ptr[task + 1]] = tracker.distances(task)
    return distances


def accessed_bytes(graph: TaskGraph) -> NDArray[np.float64]:
    """Return per access the bytes that count: the handle's size, 0 for scratch."""
    sizes = graph.handle_size.astype(np.float64)[graph.access_handle]
    sizes[graph.access_mode == AccessMode.SCRATCH] = 0.0
    return sizes


def task_bytes(graph: TaskGraph) -> NDArray[np.float64]:
    """Return the bytes that each task accesses, scratch left out."""
    owner = np.repeat(np.arange(len(graph)), np.diff(graph.access_ptr))
    return np.bincount(owner, accessed_bytes(graph), minlength=len(graph)).astype(np.float64)
