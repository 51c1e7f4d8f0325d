"""Result of a run over ranks: its final data, collected on rank 0 and checked there.

Rank 0 receives each datum from the rank that owns it, directly into its own program's memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.graph.access_mode import AccessMode

if TYPE_CHECKING:
    from tasksim.graph.distribution.parts import Distribution
    from tasksim.native.cluster.parcels import Parcels
    from tasksim.native.cluster.ranks import Ranks

__all__ = ["bring_to_rank_0"]

MAX_MESSAGES_IN_FLIGHT = 64
"""Largest number of messages in flight: enough to keep the ranks busy, few enough for any MPI."""


def bring_to_rank_0(ranks: Ranks, cut: Distribution, parcels: Parcels) -> None:
    """Bring data that tasks wrote to rank 0 from their owners; collective."""
    whole = cut.graph
    written = whole.access_handle[whole.access_mode != AccessMode.R]
    elsewhere = [int(h) for h in np.unique(written) if cut.owners[h] != 0]
    requests: list[Any] = []
    for handle in elsewhere:
        owner = int(cut.owners[handle])
        if ranks.rank == 0:
            requests.append(ranks.comm.Irecv(parcels.buffer(handle), owner, 0))
        elif ranks.rank == owner:
            requests.append(ranks.comm.Isend(parcels.buffer(handle), 0, 0))
        if len(requests) >= MAX_MESSAGES_IN_FLIGHT:
            _wait(requests)
    _wait(requests)


def _wait(requests: list[Any]) -> None:
    from mpi4py import MPI

    MPI.Request.Waitall(requests)
    requests.clear()
