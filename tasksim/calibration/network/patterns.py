"""Patterns of messages whose time is measured: to and fro, both ways at once, many to one, pairs.

All ranks call these together. Sizes take turns, in an order that is drawn anew for each round, so
that a busy moment falls on all of them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tasksim.native.cluster.ranks import Ranks

__all__ = ["Taken", "both_ways", "fan_in", "pairs", "ping_pong"]

BURST_S: Final = 30e-6
"""How long messages follow each other before the clock is read: so that reading it, some 50 ns,
counts little, and that most bursts end before the system lets somebody else run."""
BURSTS: Final = 8
"""Bursts of a size in a round: to agree on the next size takes as long as some."""
MOST_AT_ONCE: Final = 100
"""Messages of a burst."""


@dataclass
class Taken:
    """What messages took, seconds, per size and round."""

    rounds: dict[int, list[float]] = field(default_factory=dict)

    def add(self, size_bytes: int, seconds: float) -> None:
        """Add what messages of a size took in one round."""
        self.rounds.setdefault(size_bytes, []).append(seconds)

    @property
    def sizes(self) -> list[int]:
        """The sizes, ascending."""
        return sorted(self.rounds)

    def least_s(self) -> list[float]:
        """Return the least of all rounds, per size."""
        return [min(self.rounds[size]) for size in self.sizes]

    def median_s(self) -> list[float]:
        """Return the median of all rounds, per size."""
        return [float(np.median(self.rounds[size])) for size in self.sizes]


def ping_pong(ranks: Ranks, sizes: Sequence[int], seconds: float, other: int = 1) -> Taken:
    """Return how long a message takes between ranks 0 and *other*, half of to and fro."""
    return _measured(
        ranks, sizes, seconds, 2, lambda size, times: _to_and_fro(ranks, other, size, times)
    )


def both_ways(ranks: Ranks, sizes: Sequence[int], seconds: float) -> Taken:
    """Return how long messages take that ranks 0 and 1 send each other at once."""
    return _measured(
        ranks, sizes, seconds, 1, lambda size, times: _exchange(ranks, {0: 1, 1: 0}, size, times)
    )


def pairs(ranks: Ranks, sizes: Sequence[int], seconds: float) -> Taken:
    """Return the same of all pairs at once, ranks 0 and 1, 2 and 3, and so on."""
    partners = {r: r ^ 1 for r in range(ranks.size) if r ^ 1 < ranks.size}
    return _measured(
        ranks, sizes, seconds, 1, lambda size, times: _exchange(ranks, partners, size, times)
    )


def fan_in(ranks: Ranks, sizes: Sequence[int], seconds: float) -> Taken:
    """Return how long it takes until rank 0 has a message of each of the others."""
    return _measured(ranks, sizes, seconds, 1, lambda size, times: _gather(ranks, size, times))


def _measured(
    ranks: Ranks,
    sizes: Sequence[int],
    seconds: float,
    messages: int,
    play: Callable[[int, int], None],
) -> Taken:
    """Play a pattern for so many *seconds*, each size at least once; *messages* are its length.

    A size has several bursts at a time, as it costs more to agree than to send.
    """
    taken, rng = Taken(), random.Random(0)
    often = dict.fromkeys(sizes, 1)
    until = perf_counter() + seconds
    more = True
    while more:
        for size in rng.sample(list(sizes), len(sizes)):
            play(size, 1)  # what is only slow the first time, and the ranks begin together
            least_s = 1.0
            for _ in range(BURSTS):
                begun = perf_counter()
                play(size, often[size])
                spent_s = (perf_counter() - begun) / often[size]
                least_s = min(least_s, spent_s)
                taken.add(size, spent_s / messages)
            often[size] = ranks.comm.bcast(max(1, min(round(BURST_S / least_s), MOST_AT_ONCE)))
        more = ranks.comm.bcast(perf_counter() < until)
    return taken


def _to_and_fro(ranks: Ranks, other: int, size: int, times: int) -> None:
    if ranks.rank not in (0, other):
        return
    comm, out, into = ranks.comm, _memory(size, 0), _memory(size, 1)
    for _ in range(times):
        if ranks.rank == 0:
            comm.Send(out, other)
            comm.Recv(into, other)
        else:
            comm.Recv(into, 0)
            comm.Send(out, 0)


def _exchange(ranks: Ranks, partners: dict[int, int], size: int, times: int) -> None:
    partner = partners.get(ranks.rank)
    if partner is None:
        return
    out, into = _memory(size, 0), _memory(size, 1)
    for _ in range(times):
        ranks.comm.Sendrecv(out, partner, recvbuf=into, source=partner)


def _gather(ranks: Ranks, size: int, times: int) -> None:
    comm = ranks.comm
    for _ in range(times):
        if ranks.rank:
            comm.Send(_memory(size, 0), 0)
            comm.Recv(_memory(0, 1), 0)
            continue
        from mpi4py import MPI

        MPI.Request.Waitall([comm.Irecv(_memory(size, r), r) for r in range(1, ranks.size)])
        for rank in range(1, ranks.size):
            comm.Send(_memory(0, 0), rank)


_kept: dict[int, Any] = {}


def _memory(size: int, which: int) -> Any:
    """Return memory of *size* bytes, the same for each *which*, which has been touched."""
    if which not in _kept or len(_kept[which]) < size:
        _kept[which] = np.ones(max(size, 1), np.uint8)
    return _kept[which][:size]
