"""Dependencies inferred from data accesses, by sequential task flow.

The accesses of one handle, in submission order, fall into *epochs*: a maximal run of reads,
a single write (W or RW), a maximal run of commutative accesses, a maximal run of reductions.
Every task of an epoch depends on every task of the epoch before. Scratch accesses are left
out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tasksim.graph.access_mode import READING_MODES, WRITING_MODES, AccessMode
from tasksim.graph.csr import Int32, Int64, pointers_of_counts, spans

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = [
    "MODE_READS",
    "MODE_WRITES",
    "Accesses",
    "first_repeated",
    "infer_dependencies",
    "last_writer",
    "merge_repeated",
]

MODE_READS: Final = np.array([mode in READING_MODES for mode in range(8)])
"""Access mode -> whether the task needs the previous value of the datum."""
MODE_WRITES: Final = np.array([mode in WRITING_MODES for mode in range(8)])
"""Access mode -> whether the task changes the datum."""

BATCH_ACCESSES: Final = 2**15
"""Number of accesses per batch: its arrays stay in a core's cache, and hardly add to the memory of
a graph of millions of tasks."""


MAX_COMPARED_ACCESSES: Final = 8
"""Number of accesses of a task up to which all pairs are compared: up to 20 this is faster than
sorting, and tasks of most graphs have three or four."""

_WRITE = 1
# Kind of each access mode for the order of tasks, in two bits; W and RW are the same.
_KIND = np.zeros(8, dtype=np.uint64)
_KIND[[AccessMode.W, AccessMode.RW]] = _WRITE
_KIND[AccessMode.COMMUTATIVE] = 2
_KIND[AccessMode.REDUCTION] = 3


class Accesses(NamedTuple):
    """Accesses in columns, task after task: task, handle, mode."""

    task: Int32
    handle: Int32
    mode: NDArray[np.int8]

    def take(self, places: NDArray[np.generic]) -> Accesses:
        """Return the accesses at *places* (positions or a mask)."""
        return Accesses(self.task[places], self.handle[places], self.mode[places])

    def pointers(self, tasks: int) -> Int64:
        """Return the beginnings of the accesses of each of *tasks* tasks."""
        return pointers_of_counts(np.bincount(self.task, minlength=tasks))

    def order_by_handle(self) -> Int64:
        """Return the positions sorted by handle, in submission order for each."""
        # The position is in the low bits: NumPy sorts plain integers much faster than a stable
        # argsort.
        handle = self.handle.astype(np.int64)
        keys = np.sort((handle << 32) | np.arange(len(handle), dtype=np.int64))
        return keys & 0xFFFFFFFF


def first_repeated(access_ptr: Int64, handle: Int32) -> tuple[int, int] | None:
    """Return the first task with two accesses to a handle, and the handle; None without one.

    The accesses of task *i*, to *handle*, are at ``access_ptr[i]`` to ``access_ptr[i + 1]``.
    """
    if len(access_ptr) > 1 and np.diff(access_ptr).max() <= MAX_COMPARED_ACCESSES:
        return _first_repeated_of_few(access_ptr, handle)
    for begin, end in _batches(access_ptr):
        here = slice(access_ptr[begin], access_ptr[end])
        tasks = np.repeat(np.arange(begin, end), np.diff(access_ptr[begin : end + 1]))
        keys = np.sort((tasks << 32) | handle[here])
        twice = keys[1:] == keys[:-1]
        if twice.any():
            key = int(keys[twice.argmax()])
            return key >> 32, key & 0xFFFFFFFF
    return None


def _first_repeated_of_few(access_ptr: Int64, handle: Int32) -> tuple[int, int] | None:
    """Return the same for tasks with few accesses, by comparing all pairs."""
    counts = np.diff(access_ptr)
    task = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    found: list[tuple[int, int]] = []
    for offset in range(1, int(counts.max())):
        same = (handle[offset:] == handle[:-offset]) & (task[offset:] == task[:-offset])
        if same.any():
            places = np.flatnonzero(same)
            places = places[task[places] == task[places[0]]]
            found.append((int(task[places[0]]), int(handle[places].min())))
    return min(found, default=None)


def merge_repeated(accesses: Accesses, tasks: int) -> Accesses:
    """Return *accesses* with one per task and handle: R and W make RW.

    It takes the place of the first. Modes that cannot be combined (R and COMMUTATIVE) stay, for
    :meth:`TaskGraph.validate` to refuse.
    """
    if first_repeated(accesses.pointers(tasks), accesses.handle) is None:
        return accesses
    order = accesses.order_by_handle()
    task, handle, mode = accesses.take(order)
    first = np.ones(len(task), dtype=bool)
    first[1:] = (task[1:] != task[:-1]) | (handle[1:] != handle[:-1])
    starts = np.flatnonzero(first)
    highest, lowest = np.maximum.reduceat(mode, starts), np.minimum.reduceat(mode, starts)
    merged = (highest <= AccessMode.RW) | (highest == lowest)
    combined = accesses.mode.copy()
    combined[order[starts[merged]]] = np.bitwise_or.reduceat(mode, starts)[merged]
    keep = np.empty(len(task), dtype=bool)
    keep[order] = first | ~merged[np.cumsum(first) - 1]
    return accesses._replace(mode=combined).take(keep)


def last_writer(handle: Int64, writes: NDArray[np.bool_]) -> Int64:
    """Return the index of the last write before each access to the same datum; -1 if none.

    *handle* is sorted.

    >>> last_writer(np.array([3, 3, 3, 5]), np.array([True, False, True, False])).tolist()
    [-1, 0, 0, -1]
    """
    last = np.maximum.accumulate(np.where(writes, np.arange(len(handle)), -1))
    before = np.concatenate((np.full(1, -1, np.int64), last))[: len(handle)]
    found: Int64 = np.where(handle[before] == handle, before, -1)
    return found


def infer_dependencies(accesses: Accesses) -> Int64:
    """Return the dependencies that *accesses* in submission order imply.

    They are edges of :mod:`tasksim.graph.csr`, ``predecessor << 32 | successor`` each. An edge
    appears once per handle that implies it. Redundant edges appear only if two neighbouring epochs
    of a handle imply them.
    """
    keys = _by_handle(accesses)
    handle = (keys >> 33).astype(np.int32)
    limits = np.append(np.flatnonzero(np.diff(handle, prepend=-1)), len(keys))
    edges = [
        _edges(keys[limits[begin] : limits[end]])
        for begin, end in _batches(limits.astype(np.int64))
    ]
    return np.concatenate([np.zeros(0, np.int64), *edges])


def _batches(pointers: Int64) -> Iterator[tuple[int, int]]:
    """Yield spans of lists with about :data:`BATCH_ACCESSES` indices together."""
    begin, lists = 0, len(pointers) - 1
    while begin < lists:
        end = int(np.searchsorted(pointers, pointers[begin] + BATCH_ACCESSES, side="right")) - 1
        end = max(end, begin + 1)
        yield begin, end
        begin = end


def _by_handle(accesses: Accesses) -> NDArray[np.uint64]:
    """Return handle, task and kind of all accesses except scratch, as sorted integers.

    They have 31, 31 and two bits, take a tenth of the time to sort of indices, and need no look-ups
    afterwards.
    """
    kept = accesses.mode != AccessMode.SCRATCH
    task, handle, mode = accesses if kept.all() else accesses.take(kept)
    keys = handle.astype(np.uint64)
    keys <<= 31
    keys |= task.view(np.uint32)
    keys <<= 2
    keys |= _KIND[mode]
    keys.sort()
    return keys


def _edges(keys: NDArray[np.uint64]) -> Int64:
    """Return the dependencies implied by the accesses to some handles, as of :func:`_by_handle`."""
    task = (keys >> 2 & 0x7FFFFFFF).astype(np.int64)
    changes = keys[1:] ^ keys[:-1]
    new = np.ones(len(keys), dtype=bool)  # beginnings of epochs
    new[1:] = (changes >> 33 != 0) | (changes & 3 != 0) | (keys[1:] & 3 == _WRITE)
    starts = np.flatnonzero(new)
    # Epochs after another one of the same handle.
    follows = np.zeros(len(starts), dtype=bool)
    follows[1:] = keys[starts[1:]] >> 33 == keys[starts[:-1]] >> 33
    before = np.roll(starts, 1)
    counts = np.where(follows, starts - before, 0)
    # All accesses of the epoch before are predecessors of each access of such an epoch.
    epoch = np.cumsum(new) - 1
    counts = counts[epoch]
    return task[spans(before[epoch], counts)] << 32 | np.repeat(task, counts)
