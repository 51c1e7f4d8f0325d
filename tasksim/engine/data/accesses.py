"""Accesses of tasks, and hints about data, in the order in which a replay goes through them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from tasksim.graph.access_mode import AccessMode

if TYPE_CHECKING:
    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["Hints", "Need", "Needs", "TaskAccesses", "ordered_accesses", "writers"]

Need: TypeAlias = tuple[int, bool, bool]
"""One of the data that a task accesses: which, whether it is read, whether it is written."""

Needs: TypeAlias = Sequence[Need]
"""What a task accesses."""

READS: Final = [int(mode) for mode in (AccessMode.R, AccessMode.RW, AccessMode.COMMUTATIVE)]
WRITES: Final = [int(mode) for mode in (AccessMode.W, AccessMode.RW, AccessMode.COMMUTATIVE)]


class TaskAccesses(NamedTuple):
    """What each task accesses, what of it is read, and how urgent copies for it are."""

    needs: Sequence[Needs]
    reads: Sequence[Sequence[int]]
    priorities: Sequence[int]


def ordered_accesses(graph: TaskGraph) -> tuple[list[Needs], list[list[int]]]:
    """Return per task what it accesses, and per task what it reads.

    As StarPU orders them everywhere: what is written first, then by handle. Scratch memory and
    reductions are left out: nothing is copied for them.
    """
    task = np.repeat(np.arange(len(graph)), np.diff(graph.access_ptr))
    mode = graph.access_mode
    reads, writes = np.isin(mode, READS), np.isin(mode, WRITES)
    order = np.lexsort((graph.access_handle, ~writes, task))
    order = order[(reads | writes)[order]]
    handle = graph.access_handle[order].tolist()
    needs = list(zip(handle, reads[order].tolist(), writes[order].tolist(), strict=True))
    read = order[reads[order]]
    handle = graph.access_handle[read].tolist()
    tasks = np.arange(len(graph) + 1)
    spans, read_spans = (pairwise(np.searchsorted(task[o], tasks).tolist()) for o in (order, read))
    return [needs[a:b] for a, b in spans], [handle[a:b] for a, b in read_spans]


def writers(graph: TaskGraph) -> list[list[int]]:
    """Return per datum the tasks that write it, in order of number."""
    writes = np.isin(graph.access_mode, WRITES)
    handle = graph.access_handle[writes]
    task = np.repeat(np.arange(len(graph)), np.diff(graph.access_ptr))[writes]
    task = task[np.lexsort((task, handle))]
    ends = np.cumsum(np.bincount(handle, minlength=graph.handles))
    return [part.tolist() for part in np.split(task, ends[:-1])] if graph.handles else []


class Hints(NamedTuple):
    """What the graph says will not be used any more.

    ``said`` has a (number of tasks submitted before, handle) per hint; ``writer`` the last task
    before each that writes its datum, -1 if none; ``writers`` all tasks that write a datum.
    """

    said: list[tuple[int, int]]
    writer: dict[tuple[int, int], int]
    writers: dict[int, list[int]]

    @classmethod
    def of(cls, graph: TaskGraph) -> Hints:
        """Return the hints of *graph*."""
        said = list(zip(graph.hint_after.tolist(), graph.hint_handle.tolist(), strict=True))
        writes = np.isin(graph.access_mode, WRITES)
        task = np.repeat(np.arange(len(graph)), np.diff(graph.access_ptr))[writes]
        handle = graph.access_handle[writes]
        keys = np.sort(handle.astype(np.int64) * (len(graph) + 1) + task)
        asked = graph.hint_handle.astype(np.int64) * (len(graph) + 1)
        place = np.searchsorted(keys, asked + graph.hint_after) - 1
        found = keys[np.maximum(place, 0)] if len(keys) else np.zeros(len(place), np.int64)
        known = (place >= 0) & (found >= asked)
        writer = np.where(known, found - asked, -1).tolist()
        data = np.unique(graph.hint_handle).astype(np.int64)
        first, last = (np.searchsorted(keys, (data + k) * (len(graph) + 1)) for k in (0, 1))
        spans = zip(data.tolist(), first.tolist(), last.tolist(), strict=True)
        writers = {handle: (keys[a:b] % (len(graph) + 1)).tolist() for handle, a, b in spans}
        return cls(said, dict(zip(said, writer, strict=True)), writers)
