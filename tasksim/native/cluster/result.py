"""Result of a run over ranks, collected on rank 0 or judged on each rank.

Rank 0 receives each datum from the rank that owns it, directly into its own program's memory. To
judge a result without collecting it, each rank judges the data that it owns, and sums go over all
ranks.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tasksim.base.errors import InputError
from tasksim.graph.access_mode import AccessMode

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tasksim.graph.distribution.parts import Distribution
    from tasksim.native.cluster.parcels import Parcels
    from tasksim.native.cluster.ranks import Ranks

    T = TypeVar("T")
    Fetch = Callable[[int], Any]

__all__ = ["AmongRanks", "bring_to_rank_0"]


MAX_MESSAGES_IN_FLIGHT = 64
"""Maximum number of messages in flight: enough to keep the ranks busy, few enough for any MPI."""


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


class AmongRanks:
    """The ranks of a run, for :class:`tasksim.kernels.program.Together`.

    Parameters
    ----------
    ranks : Ranks
    cut : Distribution
        The graph cut for them; the rank that owns a datum counts it.
    """

    def __init__(self, ranks: Ranks, cut: Distribution) -> None:
        self.rank = ranks.rank
        self._ranks, self._cut = ranks, cut

    def counts(self, handle: int) -> bool:
        """Return whether this rank owns *handle*."""
        return int(self._cut.owners[handle]) == self.rank

    def executor(self, task: int) -> int:
        """Return the rank that executed *task*."""
        return int(self._cut.executor[task])

    def total(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the sum of *values* over all ranks, on all of them."""
        given = np.ascontiguousarray(values)
        summed = np.empty_like(given)
        self._ranks.comm.Allreduce(given, summed)
        return summed

    def pass_on(self, values: NDArray[Any], source: int, target: int) -> None:
        """Send *values* from rank *source* to rank *target*."""
        if self.rank == source:
            self._ranks.comm.Send(values, target)
        elif self.rank == target:
            self._ranks.comm.Recv(values, source)

    def asked(self, judge: Callable[[Fetch], T], give: Fetch) -> T | None:
        """Call *judge* on rank 0 with data fetched from their owners, and return its result.

        The other ranks serve data until it returns or fails; they return None.
        """
        comm, owners = self._ranks.comm, self._cut.owners
        if self.rank:
            while (handle := comm.bcast(None)) is not None:
                if self.counts(handle):
                    comm.send(_picklable(give(handle)), 0)
            return None

        def fetch(handle: int) -> Any:
            owner = int(owners[handle])
            if owner == self.rank:
                return give(handle)
            comm.bcast(handle)
            problem, datum = comm.recv(source=owner)
            if problem:
                name = self._cut.graph.handle_name(handle)
                raise InputError(f"{name}, of rank {owner}, cannot be sent to rank 0: {problem}")
            return datum

        try:
            return judge(fetch)
        finally:
            comm.bcast(None)


def _picklable(datum: Any) -> tuple[str, Any]:
    """Return ``("", datum)``, or the reason why *datum* cannot be pickled and None."""
    if not isinstance(datum, np.ndarray):
        try:
            pickle.dumps(datum)
        except Exception as error:
            return f"{type(error).__name__}: {error}", None
    return "", datum
