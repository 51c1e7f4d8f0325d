"""Executors of tasks, the nodes that own the written data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.graph.access_mode import AccessMode

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.graph.csr import Int32
    from tasksim.graph.dependencies import Accesses

__all__ = ["READS", "WRITES", "executors"]

READS: Final = np.array([mode not in (0, 2, 6, 7) for mode in range(8)])
"""Whether the task needs the previous value of the datum, per access mode."""
WRITES: Final = np.array([mode in (2, 3, 4, 5) for mode in range(8)])
"""Whether the task changes the datum, per access mode."""


def executors(accesses: Accesses, sizes: NDArray[np.int64], owners: Int32, tasks: int) -> Int32:
    """Return the node of each of so many *tasks*: *owner computes*.

    That is the owner of the data that it writes. Where they have several owners, or there are
    none, it is the node with most bytes, read ones and written ones counted once each; of equal
    ones the lowest, so tasks without data are on node 0.
    """
    node, single = _only_owners(accesses, owners, tasks)
    if not single.all():
        several = ~single[accesses.task] & (accesses.mode != AccessMode.SCRATCH)
        _most_bytes(accesses.take(several), sizes, owners, node)
    return node


def _only_owners(accesses: Accesses, owners: Int32, tasks: int) -> tuple[Int32, NDArray[np.bool_]]:
    """Return per task the owner of what it writes, and whether there is just one."""
    node, single = np.zeros(tasks, np.int32), np.zeros(tasks, np.bool_)
    places = np.flatnonzero(WRITES[accesses.mode])
    if len(places):
        task, owner = accesses.task[places], owners[accesses.handle[places]]
        starts = np.flatnonzero(np.diff(task, prepend=-1))
        lowest, highest = np.minimum.reduceat(owner, starts), np.maximum.reduceat(owner, starts)
        node[task[starts]], single[task[starts]] = lowest, lowest == highest
    return node, single


def _most_bytes(accesses: Accesses, sizes: NDArray[np.int64], owners: Int32, node: Int32) -> None:
    """Set *node* of the tasks that have *accesses* to the one with most bytes of theirs."""
    if not len(accesses.task):
        return
    times = READS[accesses.mode].astype(np.int64) + WRITES[accesses.mode]
    keys = accesses.task.astype(np.int64) << 32 | owners[accesses.handle]
    held, place = np.unique(keys, return_inverse=True)
    amount = np.zeros(len(held), np.int64)
    np.add.at(amount, place, times * sizes[accesses.handle])
    # Ascending nodes of each task: stable, so that of equal ones the lowest is last in reverse.
    order = np.lexsort((-(held & 0xFFFFFFFF), amount, held >> 32))
    node[held[order] >> 32] = held[order] & 0xFFFFFFFF
