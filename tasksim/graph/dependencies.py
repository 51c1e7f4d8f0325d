"""Dependencies from data accesses: sequential task flow.

The accesses of one handle, in submission order, fall into *epochs*: a maximal run of reads,
a single write (W or RW), a maximal run of commutative accesses, a maximal run of reductions.
Every task of an epoch depends on every task of the epoch before. Scratch accesses are left
out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tasksim.graph.access_mode import AccessMode

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.graph.csr import Int64

__all__ = ["Accesses", "infer_dependencies", "merge_repeated"]

_WRITE = 1
# Per access mode what it is to other tasks. W and RW are the same.
_KIND = np.zeros(8, dtype=np.int8)
_KIND[[AccessMode.W, AccessMode.RW]] = _WRITE
_KIND[AccessMode.COMMUTATIVE] = 2
_KIND[AccessMode.REDUCTION] = 3


class Accesses(NamedTuple):
    """Accesses in columns: who, what, how."""

    task: Int64
    handle: Int64
    mode: NDArray[np.int8]

    def take(self, places: NDArray[np.generic]) -> Accesses:
        """Return the accesses at *places* (positions or a mask)."""
        return Accesses(self.task[places], self.handle[places], self.mode[places])

    def order_by_handle(self) -> Int64:
        """Return the positions sorted by handle, in submission order for each."""
        # The position rides in the low bits: NumPy sorts plain integers much faster
        # than it does a stable argsort.
        keys = np.sort((self.handle << 32) | np.arange(len(self.handle), dtype=np.int64))
        return keys & 0xFFFFFFFF


def merge_repeated(accesses: Accesses) -> Accesses:
    """Return *accesses* with those of one task to one handle made one: R and W make RW.

    It takes the place of the first. What cannot be combined (R and COMMUTATIVE) is left as
    it is, for :meth:`TaskGraph.validate` to refuse.
    """
    order = accesses.order_by_handle()
    task, handle, mode = accesses.take(order)
    first = np.ones(len(task), dtype=bool)
    first[1:] = (task[1:] != task[:-1]) | (handle[1:] != handle[:-1])
    if first.all():
        return accesses
    starts = np.flatnonzero(first)
    highest, lowest = np.maximum.reduceat(mode, starts), np.minimum.reduceat(mode, starts)
    merged = (highest <= AccessMode.RW) | (highest == lowest)
    combined = accesses.mode.copy()
    combined[order[starts[merged]]] = np.bitwise_or.reduceat(mode, starts)[merged]
    keep = np.empty(len(task), dtype=bool)
    keep[order] = first | ~merged[np.cumsum(first) - 1]
    return accesses._replace(mode=combined).take(keep)


def infer_dependencies(accesses: Accesses) -> tuple[Int64, Int64]:
    """Return (predecessor, successor) pairs of tasks that *accesses* in submission order imply.

    A pair appears once per handle that implies it. Redundant pairs, those that follow from
    others, appear only where two neighbouring epochs of some handle imply them.
    """
    ordering = accesses.take(accesses.mode != AccessMode.SCRATCH)
    task, handle, mode = ordering.take(ordering.order_by_handle())
    starts = _epoch_starts(handle, _KIND[mode])
    lengths = np.diff(starts, append=len(task))
    # The epochs that follow another one of the same handle.
    later = np.flatnonzero(handle[starts[1:]] == handle[starts[:-1]]) + 1
    before, here = _pairs(lengths[later - 1], lengths[later])
    members = lengths[later - 1] * lengths[later]
    return (
        task[before + np.repeat(starts[later - 1], members)],
        task[here + np.repeat(starts[later], members)],
    )


def _epoch_starts(handle: Int64, kind: NDArray[np.int8]) -> Int64:
    """Return where epochs begin among accesses sorted by handle."""
    new = np.ones(len(handle), dtype=bool)
    new[1:] = (handle[1:] != handle[:-1]) | (kind[1:] != kind[:-1]) | (kind[1:] == _WRITE)
    return np.flatnonzero(new)


def _pairs(rows: Int64, columns: Int64) -> tuple[Int64, Int64]:
    """Return all (i, j) of grids of shape (rows[g], columns[g]), one grid after the other."""
    sizes = rows * columns
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    place = np.arange(total, dtype=np.int64) - np.repeat(ends - sizes, sizes)
    return np.divmod(place, np.repeat(columns, sizes))
