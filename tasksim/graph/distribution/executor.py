"""Executors of tasks: the nodes that own the written data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tasksim.graph.access_mode import AccessMode
from tasksim.graph.dependencies import MODE_READS, MODE_WRITES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.graph.csr import Int32
    from tasksim.graph.dependencies import Accesses

__all__ = ["executors"]


def executors(accesses: Accesses, sizes: NDArray[np.int64], owners: Int32, tasks: int) -> Int32:
    """Return the node of each of *tasks* tasks: *owner computes*.

    It is the owner of the written data. With several owners or none, it is the node with most
    accessed bytes, in a tie the lowest one, so that tasks without data are on node 0. Read and
    written bytes count once each.
    """
    node, single = np.zeros(tasks, np.int32), np.zeros(tasks, np.bool_)
    places = np.flatnonzero(MODE_WRITES[accesses.mode])
    if len(places):
        task, owner = accesses.task[places], owners[accesses.handle[places]]
        starts = np.flatnonzero(np.diff(task, prepend=-1))
        lowest, highest = np.minimum.reduceat(owner, starts), np.maximum.reduceat(owner, starts)
        node[task[starts]], single[task[starts]] = lowest, lowest == highest
    if not single.all():
        several = accesses.take(~single[accesses.task] & (accesses.mode != AccessMode.SCRATCH))
        times = MODE_READS[several.mode].astype(np.int64) + MODE_WRITES[several.mode]
        keys = several.task.astype(np.int64) << 32 | owners[several.handle]
        held, place = np.unique(keys, return_inverse=True)
        amount = np.zeros(len(held), np.int64)
        np.add.at(amount, place, times * sizes[several.handle])
        # Nodes of each task, ascending and stable, so that the lowest one wins a tie in reverse.
        order = np.lexsort((-(held & 0xFFFFFFFF), amount, held >> 32))
        node[held[order] >> 32] = held[order] & 0xFFFFFFFF
    return node
