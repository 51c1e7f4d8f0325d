"""Accesses of tasks, and hints about data, in the order of a replay."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from tasksim.graph.access_mode import AccessMode
from tasksim.graph.csr import Int64, owner_of_each, pointers_of_counts, spans

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph

__all__ = [
    "COPIED_MODES",
    "HintWaits",
    "Hints",
    "Need",
    "Needs",
    "TaskAccesses",
    "hint_waits",
    "ordered_accesses",
    "writers",
]

Need: TypeAlias = tuple[int, bool, bool]
"""An access to a datum: the datum, whether it is read, whether it is written."""

Needs: TypeAlias = Sequence[Need]
"""The accesses of a task."""

_IS_READ: Final = np.isin(range(8), [AccessMode.R, AccessMode.RW, AccessMode.COMMUTATIVE])
_IS_WRITTEN: Final = np.isin(range(8), [AccessMode.W, AccessMode.RW, AccessMode.COMMUTATIVE])
COPIED_MODES: Final = np.flatnonzero(_IS_READ | _IS_WRITTEN)
"""Modes of accesses for which data are copied: neither scratch memory nor reductions."""


class TaskAccesses(NamedTuple):
    """The accesses of each task, the data that it reads, and the priority of copies for it."""

    needs: Sequence[Needs]
    reads: Sequence[Sequence[int]]
    priorities: Sequence[int]


def ordered_accesses(
    graph: TaskGraph, *, moved: bool = True
) -> tuple[list[Needs], list[list[int]]]:
    """Return the accesses and the reads of each task.

    The order is StarPU's: written data first, then by handle; by handle alone if data are apart
    (:attr:`~tasksim.graph.taskgraph.TaskGraph.apart`). Scratch memory and reductions are left out,
    because nothing is copied for them. Without *moved*, on a machine with one memory, the lists of
    reads are empty, because nothing uses them.
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
    """Return the accesses in order, each as an integer.

    Its parts, from the highest bit on: the task in 31 bits, whether it only reads, the datum in 31
    bits, whether it reads at all.
    """
    reads, writes = _IS_READ[graph.access_mode], _IS_WRITTEN[graph.access_mode]
    keys = owner_of_each(graph.access_ptr)
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
    """Return *keys* in order of task and datum, with the bit for reading behind both."""
    task, only_reads, handle = keys >> 33, keys >> 32 & 1, keys >> 1 & 0x7FFFFFFF
    turned = task << 33 | handle << 2 | only_reads << 1 | keys & 1
    turned.sort()
    task, handle, only_reads = turned >> 33, turned >> 2 & 0x7FFFFFFF, turned >> 1 & 1
    return task << 33 | only_reads << 32 | handle << 1 | turned & 1


def _shared_needs(keys: Int64) -> list[Need]:
    """Return the needs for *keys*; equal needs share one object, which saves time and memory."""
    kind = (keys & 0xFFFFFFFF) << 1 | (keys >> 32 & 1)  # the datum, whether read, only read
    there = np.zeros(int(kind.max(initial=-1)) + 1, dtype=bool)
    there[kind] = True
    different = np.flatnonzero(there)
    columns = different >> 2, different & 2 != 0, different & 1 == 0
    known = list(zip(*(column.tolist() for column in columns), strict=True))
    number = np.cumsum(there) - 1
    return [known[place] for place in number[kind].tolist()]


def writers(graph: TaskGraph) -> list[list[int]]:
    """Return the tasks that write each datum, in order of number."""
    writes = _IS_WRITTEN[graph.access_mode]
    handle = graph.access_handle[writes]
    task = owner_of_each(graph.access_ptr)[writes]
    task = task[np.lexsort((task, handle))]
    ends = np.cumsum(np.bincount(handle, minlength=graph.handles))
    return [part.tolist() for part in np.split(task, ends[:-1])] if graph.handles else []


class Hints(NamedTuple):
    """Hints of a graph that data will not be used again.

    ``said`` has the number of tasks submitted before each hint, and its handle; ``waits`` the tasks
    whose ends it waits for; ``drops`` whether it drops a received copy.
    """

    said: list[tuple[int, int]]
    waits: list[list[int]]
    drops: list[bool]

    @classmethod
    def of(cls, graph: TaskGraph, waits: HintWaits | None = None) -> Hints:
        """Return the hints of *graph*; their default *waits* are those of :func:`hint_waits`."""
        pointers, tasks, drops = waits or hint_waits(graph)
        bounds, tasks = pointers.tolist(), tasks.tolist()
        said = list(zip(graph.hint_after.tolist(), graph.hint_handle.tolist(), strict=True))
        lists = [tasks[first:end] for first, end in pairwise(bounds)]
        return cls(said, lists, drops.tolist())


class HintWaits(NamedTuple):
    """Waits of hints: hint *i* waits for ``tasks[pointers[i]:pointers[i + 1]]``."""

    pointers: Int64
    tasks: Int64
    drops: NDArray[np.bool_]


def hint_waits(graph: TaskGraph, receive: int | None = None) -> HintWaits:
    """Return the tasks of *graph* that must end before each of its hints is followed.

    These are the last writers of the datum before the hint: one, or several that commute. A hint on
    a copy that the kernel *receive* wrote drops it, and waits for its readers, too: for a hint,
    StarPU accesses a received copy as a writer, and its own data as a reader
    (``starpu_mpi_cache.c``, ``user_interactions.c``).
    """
    tasks, hints = len(graph) + 1, graph.hints
    if not hints:
        return HintWaits(np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0, bool))
    user = owner_of_each(graph.access_ptr)
    keys = graph.access_handle.astype(np.int64) * tasks + user
    order = np.argsort(keys)
    keys, mode, user = keys[order], graph.access_mode[order], user[order]
    asked = graph.hint_handle.astype(np.int64) * tasks
    begin, end = np.searchsorted(keys, asked), np.searchsorted(keys, asked + graph.hint_after)
    place = np.arange(len(keys))
    last = np.maximum.accumulate(np.where(_IS_WRITTEN[mode], place, -1)) if len(keys) else place
    # The first of the accesses that commute.
    commutes = mode == AccessMode.COMMUTATIVE
    goes_on = np.zeros(len(keys), bool)
    goes_on[1:] = commutes[1:] & commutes[:-1] & (keys[1:] // tasks == keys[:-1] // tasks)
    first = np.maximum.accumulate(np.where(goes_on, -1, place)) if len(keys) else place
    writer = np.append(last, -1)[end - 1]
    written = writer >= begin
    writer = np.where(written, writer, 0)
    drops = np.zeros(hints, bool)
    if receive is not None and len(keys):
        drops = written & (graph.kernel[user[writer]] == receive)
    since = np.where(drops, writer, np.append(first, 0)[writer])
    until = np.where(drops, end, writer + 1)
    counts = np.where(written, until - since, 0)
    return HintWaits(pointers_of_counts(counts), user[spans(since, counts)], drops)
