"""Reuse distances of a task's data, which decide whether a cache still holds them."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

import numpy as np

from tasksim.graph.access_mode import AccessMode
from tasksim.graph.csr import owner_of_each

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph

__all__ = [
    "ReuseTracker",
    "accessed_bytes",
    "read_and_written_bytes",
    "remote_bytes",
    "reuse_distances",
    "task_bytes",
]


class ReuseTracker:
    """Tracker of reuse distances over the tasks of a run, in the order of their starts.

    The *reuse distance* of an access is the number of bytes that all tasks have accessed since the
    last access to the same handle; infinite for the first. A cache that all workers share still
    holds the handle if the distance is smaller than its size (Mattson et al., IBM Systems Journal
    9(2), 1970, for distinct bytes; here each access counts). Scratch memory is private: accesses to
    it have no bytes, and do not use the handle.

    With several caches, each serves some workers and counts the accesses of their tasks. Data that
    a task writes leave all other caches.
    """

    def __init__(self, graph: TaskGraph, caches: int = 1) -> None:
        self._first: list[int] = graph.access_ptr.tolist()
        self._handles: list[int] = graph.access_handle.tolist()
        self._sizes: list[float] = accessed_bytes(graph).tolist()
        self._is_use: list[bool] = (graph.access_mode != AccessMode.SCRATCH).tolist()
        self._writes: list[bool] = (graph.access_mode != AccessMode.R).tolist()
        self._last = [[-inf] * graph.handles for _ in range(caches)]
        """Per cache and handle, the bytes accessed there up to the handle's last access."""
        self._accessed = [0.0] * caches

    def distance(self, handle: int, cache: int = 0) -> float:
        """Return the bytes accessed through *cache* since the last access to *handle* there."""
        return self._accessed[cache] - self._last[cache][handle]

    def distances(self, task: int) -> list[float]:
        """Start *task*; return the reuse distance of each of its accesses, in bytes."""
        accesses = range(self._first[task], self._first[task + 1])
        found = [self.distance(self._handles[i]) for i in accesses]
        self.use(task)
        return found

    def far_bytes(
        self, task: int, near_bytes: float, reach_bytes: float, cache: int = 0
    ) -> tuple[float, float]:
        """Start *task* on a worker of *cache*; return its far bytes.

        The result has the bytes of data that it only reads, and of data that it writes. A datum is
        near up to a distance of *near_bytes*, far from *reach_bytes* on, and partly far in between.
        """
        last, accessed = self._last[cache], self._accessed[cache]
        read = written = 0.0
        for i in range(self._first[task], self._first[task + 1]):
            distance = accessed - last[self._handles[i]]
            if distance <= near_bytes:
                continue
            far = self._sizes[i]
            if distance < reach_bytes:
                far = far * (distance - near_bytes) / (reach_bytes - near_bytes)
            if self._writes[i]:
                written += far
            else:
                read += far
        self.use(task, cache)
        return read, written

    def use(self, task: int, cache: int = 0) -> None:
        """Start *task* on a worker of *cache*."""
        accesses = range(self._first[task], self._first[task + 1])
        for i in accesses:
            self._accessed[cache] += self._sizes[i]
        for i in accesses:
            if not self._is_use[i]:
                continue
            handle = self._handles[i]
            self._last[cache][handle] = self._accessed[cache]
            if self._writes[i] and len(self._last) > 1:
                for other, last in enumerate(self._last):
                    if other != cache:
                        last[handle] = -inf


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
    """Return the bytes of each access: the handle's size, or 0 for scratch."""
    sizes = graph.handle_size.astype(np.float64)[graph.access_handle]
    sizes[graph.access_mode == AccessMode.SCRATCH] = 0.0
    return sizes


def task_bytes(
    graph: TaskGraph, bytes_of_access: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return the bytes that each task accesses without scratch, or the sums of given ones."""
    if bytes_of_access is None:
        bytes_of_access = accessed_bytes(graph)
    owner = owner_of_each(graph.access_ptr)
    return np.bincount(owner, bytes_of_access, minlength=len(graph)).astype(np.float64)


def remote_bytes(
    graph: TaskGraph, worker: NDArray[np.integer], start_s: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the bytes of each task's data that another worker wrote last.

    Data that the task's own worker has used since are not counted.

    Parameters
    ----------
    graph : TaskGraph
        The graph.
    worker, start_s : numpy.ndarray
        The worker of each task, and its start.
    """
    used = graph.access_mode != AccessMode.SCRATCH
    task, handle = owner_of_each(graph.access_ptr)[used], graph.access_handle[used]
    order = np.lexsort((start_s[task], handle))
    task, handle = task[order], handle[order]
    writes = (graph.access_mode[used] != AccessMode.R)[order]
    user = worker[task].astype(np.int64)
    written_before = np.cumsum(writes) - writes  # in all handles up to this one
    # The last element is that of no write.
    writer, written = np.append(user[writes], -1), np.append(handle[writes], -1)
    by_another = (written[written_before - 1] == handle) & (writer[written_before - 1] != user)
    # A worker uses what was written for the first time.
    uses = (written_before * graph.handles + handle) * (user.max(initial=0) + 1) + user
    first = np.zeros(len(task), bool)
    first[np.unique(uses, return_index=True)[1]] = True
    sizes = graph.handle_size.astype(np.float64)[handle]
    remote = np.where(by_another & first, sizes, 0.0)
    return np.bincount(task, remote, minlength=len(graph)).astype(np.float64)


def read_and_written_bytes(
    graph: TaskGraph, bytes_of_access: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the bytes of data that each task only reads, and of data that it writes.

    *bytes_of_access* may replace the sizes of the data.
    """
    if bytes_of_access is None:
        bytes_of_access = accessed_bytes(graph)
    written = graph.access_mode != AccessMode.R
    return (
        task_bytes(graph, np.where(written, 0.0, bytes_of_access)),
        task_bytes(graph, np.where(written, bytes_of_access, 0.0)),
    )
