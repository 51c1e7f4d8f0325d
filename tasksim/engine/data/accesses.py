"""Accesses of tasks, and hints about data, in the order in which a replay goes through them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from tasksim.graph.access_mode import AccessMode
from tasksim.graph.csr import Int64, pointers_of_counts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph

__all__ = [
    "COPIED",
    "Hints",
    "Need",
    "Needs",
    "TaskAccesses",
    "ordered_accesses",
    "writers",
    "writers_before_hints",
]

Need: TypeAlias = tuple[int, bool, bool]
"""One of the data that a task accesses: which, whether it is read, whether it is written."""

Needs: TypeAlias = Sequence[Need]
"""What a task accesses."""

_READ: Final = np.isin(range(8), [AccessMode.R, AccessMode.RW, AccessMode.COMMUTATIVE])
_WRITTEN: Final = np.isin(range(8), [AccessMode.W, AccessMode.RW, AccessMode.COMMUTATIVE])
COPIED: Final = np.flatnonzero(_READ | _WRITTEN)
"""Modes of accesses for which data are copied: not scratch memory, nor reductions."""


class TaskAccesses(NamedTuple):
    """What each task accesses, what of it is read, and how urgent copies for it are."""

    needs: Sequence[Needs]
    reads: Sequence[Sequence[int]]
    priorities: Sequence[int]


def ordered_accesses(
    graph: TaskGraph, *, moved: bool = True
) -> tuple[list[Needs], list[list[int]]]:
    """Return per task what it accesses, and per task what it reads.

    As StarPU orders them everywhere: what is written first, then by handle; by handle alone where
    data are apart (:attr:`~tasksim.graph.taskgraph.TaskGraph.apart`). Scratch memory and
    reductions are left out: nothing is copied for them. Where nothing is *moved*, as there is one
    memory, nobody asks what is read: then there are no lists of that.
    """
    keys = _in_order(graph)
    pointers = pointers_of_counts(np.bincount(keys >> 33, minlength=len(graph))).tolist()
    needs = _shared_needs(keys)
    if not moved:
        return [needs[a:b] for a, b in pairwise(pointers)], []
    read = keys[keys & 1 == 1]
    read_pointers = pointers_of_counts(np.bincount(read >> 33, minlength=len(graph))).tolist()
    handle = (read >> 1 & 0x7FFFFFFF).tolist()
    return (
        [needs[a:b] for a, b in pairwise(pointers)],
        [handle[a:b] for a, b in pairwise(read_pointers)],
    )


def _in_order(graph: TaskGraph) -> Int64:
    """Return the accesses in order, in an integer each.

    From the highest bit on: the task in 31 bits, whether it only reads, the datum in 31, whether
    it reads at all.
    """
    reads, writes = _READ[graph.access_mode], _WRITTEN[graph.access_mode]
    keys = np.repeat(np.arange(len(graph), dtype=np.int64), np.diff(graph.access_ptr))
    keys <<= 1
    keys |= ~writes
    keys <<= 31
    keys |= graph.access_handle
    keys <<= 1
    keys |= reads
    counted = reads | writes
    keys = keys if counted.all() else keys[counted]
    if graph.apart:
        return _by_handle(keys)
    keys.sort()
    return keys


def _by_handle(keys: Int64) -> Int64:
    """Return *keys* in order of task and datum: that bit comes after the datum while they sort."""
    task, only_reads, handle = keys >> 33, keys >> 32 & 1, keys >> 1 & 0x7FFFFFFF
    turned = task << 33 | handle << 2 | only_reads << 1 | keys & 1
    turned.sort()
    task, handle, only_reads = turned >> 33, turned >> 2 & 0x7FFFFFFF, turned >> 1 & 1
    return task << 33 | only_reads << 32 | handle << 1 | turned & 1


def _shared_needs(keys: Int64) -> list[Need]:
    """Return the needs that *keys* are; equal ones are one object, which saves time and memory."""
    kind = (keys & 0xFFFFFFFF) << 1 | (keys >> 32 & 1)  # the datum, whether read, only read
    there = np.zeros(int(kind.max(initial=-1)) + 1, dtype=bool)
    there[kind] = True
    different = np.flatnonzero(there)
    columns = different >> 2, different & 2 != 0, different & 1 == 0
    known = list(zip(*(column.tolist() for column in columns), strict=True))
    number = np.cumsum(there) - 1
    return [known[place] for place in number[kind].tolist()]


def writers(graph: TaskGraph) -> list[list[int]]:
    """Return per datum the tasks that write it, in order of number."""
    writes = _WRITTEN[graph.access_mode]
    handle = graph.access_handle[writes]
    task = np.repeat(np.arange(len(graph)), np.diff(graph.access_ptr))[writes]
    task = task[np.lexsort((task, handle))]
    ends = np.cumsum(np.bincount(handle, minlength=graph.handles))
    return [part.tolist() for part in np.split(task, ends[:-1])] if graph.handles else []


class Hints(NamedTuple):
    """What the graph says will not be used any more.

    ``said`` has a (number of tasks submitted before, handle) per hint; ``writer`` the last task
    before each that writes its datum, -1 if none.
    """

    said: list[tuple[int, int]]
    writer: dict[tuple[int, int], int]

    @classmethod
    def of(cls, graph: TaskGraph) -> Hints:
        """Return the hints of *graph*."""
        said = list(zip(graph.hint_after.tolist(), graph.hint_handle.tolist(), strict=True))
        return cls(said, dict(zip(said, writers_before_hints(graph).tolist(), strict=True)))


def writers_before_hints(graph: TaskGraph) -> NDArray[np.int64]:
    """Return per hint of *graph* the last task before it that writes its datum, -1 if none."""
    writes = _WRITTEN[graph.access_mode]
    task = np.repeat(np.arange(len(graph)), np.diff(graph.access_ptr))[writes]
    handle = graph.access_handle[writes]
    keys = np.sort(handle.astype(np.int64) * (len(graph) + 1) + task)
    asked = graph.hint_handle.astype(np.int64) * (len(graph) + 1)
    place = np.searchsorted(keys, asked + graph.hint_after) - 1
    found = keys[np.maximum(place, 0)] if len(keys) else np.zeros(len(place), np.int64)
    known = (place >= 0) & (found >= asked)
    return np.where(known, found - asked, -1)
