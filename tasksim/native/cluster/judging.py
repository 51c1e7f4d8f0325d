"""Judging of a run over ranks: each with the data that it owns, sums made over all ranks."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tasksim.graph.distribution.parts import Distribution
    from tasksim.native.cluster.ranks import Ranks

    T = TypeVar("T")
    Fetch = Callable[[int], Any]

__all__ = ["AmongRanks"]


class AmongRanks:
    """All ranks of a run, as :class:`tasksim.kernels.together.Together` has them.

    Parameters
    ----------
    ranks : Ranks
    cut : Distribution
        The graph cut for them: a datum is counted by the rank that owns it.
    """

    def __init__(self, ranks: Ranks, cut: Distribution) -> None:
        self.rank = ranks.rank
        self._ranks, self._cut = ranks, cut

    def counts(self, handle: int) -> bool:
        """Return whether this rank owns *handle*."""
        return int(self._cut.owners[handle]) == self.rank

    def executor(self, task: int) -> int:
        """Return which rank executed *task*."""
        return int(self._cut.executor[task])

    def total(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the sum of the *values* of all ranks, the same on all."""
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
        """Return what *judge* makes, on rank 0, of the data that it asks their owners for.

        The others give what is asked for, until it has returned or failed; they return None.
        """
        if self.rank == 0:
            return self._lead(judge, give)
        self._serve(give)
        return None

    def _lead(self, judge: Callable[[Fetch], T], give: Fetch) -> T:
        comm, owners = self._ranks.comm, self._cut.owners

        def fetch(handle: int) -> Any:
            owner = int(owners[handle])
            if owner == self.rank:
                return give(handle)
            comm.bcast(handle)
            problem, datum = comm.recv(source=owner)
            if problem:
                name = self._cut.graph.handle_name(handle)
                raise InputError(f"{name}, of rank {owner}, cannot be looked at here: {problem}")
            return datum

        try:
            return judge(fetch)
        finally:
            comm.bcast(None)

    def _serve(self, give: Fetch) -> None:
        comm = self._ranks.comm
        while (handle := comm.bcast(None)) is not None:
            if self.counts(handle):
                comm.send(_picklable(give(handle)), 0)


def _picklable(datum: Any) -> tuple[str, Any]:
    """Return *datum* behind an empty text; where it cannot be sent, behind the reason."""
    if not isinstance(datum, np.ndarray):
        try:
            pickle.dumps(datum)
        except Exception as error:
            return f"{type(error).__name__}: {error}", None
    return "", datum
