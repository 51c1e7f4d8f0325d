"""Message patterns for timing: to and fro, both ways at once, many to one, pairs.

All calls are collective. Sizes take turns in an order drawn anew for each round, so that a busy
moment affects all of them.
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
"""Duration of a burst of messages between two readings of the clock, in seconds: long enough that a
reading, some 50 ns, counts little, and short enough that most bursts end before the system preempts
them."""
BURSTS_PER_ROUND: Final = 8
"""Number of bursts of a size per round: agreement on the next size takes as long as several."""
MAX_BURST_MESSAGES: Final = 100
"""Largest number of messages in a burst."""


@dataclass
class Taken:
    """Times of messages in seconds, per size and round."""

    rounds: dict[int, list[float]] = field(default_factory=dict)

    def add(self, size_bytes: int, seconds: float) -> None:
        """Add the time of a message of a size in one round."""
        self.rounds.setdefault(size_bytes, []).append(seconds)

    @property
    def sizes(self) -> list[int]:
        """Sizes in ascending order."""
        return sorted(self.rounds)

    def least_s(self) -> list[float]:
        """Return the least time of all rounds per size."""
        return [min(self.rounds[size]) for size in self.sizes]

    def median_s(self) -> list[float]:
        """Return the median time of all rounds per size."""
        return [float(np.median(self.rounds[size])) for size in self.sizes]


def ping_pong(ranks: Ranks, sizes: Sequence[int], seconds: float, other: int = 1) -> Taken:
    """Return the time of a message between ranks 0 and *other*, half of a round trip."""
    return _measured(
        ranks, sizes, seconds, 2, lambda size, times: _to_and_fro(ranks, other, size, times)
    )


def both_ways(ranks: Ranks, sizes: Sequence[int], seconds: float) -> Taken:
    """Return the times of messages that ranks 0 and 1 exchange at once."""
    return _measured(
        ranks, sizes, seconds, 1, lambda size, times: _exchange(ranks, {0: 1, 1: 0}, size, times)
    )


def pairs(ranks: Ranks, sizes: Sequence[int], seconds: float) -> Taken:
    """Return the times of exchanges of all pairs at once: ranks 0 and 1, 2 and 3, and so on."""
    partners = {r: r ^ 1 for r in range(ranks.size) if r ^ 1 < ranks.size}
    return _measured(
        ranks, sizes, seconds, 1, lambda size, times: _exchange(ranks, partners, size, times)
    )


def fan_in(ranks: Ranks, sizes: Sequence[int], seconds: float) -> Taken:
    """Return the times until rank 0 has a message from each other rank."""
    return _measured(ranks, sizes, seconds, 1, lambda size, times: _gather(ranks, size, times))


def _measured(
    ranks: Ranks,
    sizes: Sequence[int],
    seconds: float,
    messages: int,
    play: Callable[[int, int], None],
) -> Taken:
    """Run a pattern for *seconds*, each size at least once; *messages* is its length.

    Each size has several bursts at a time, as agreement on the size takes longer than a burst.
    """
    taken, rng = Taken(), random.Random(0)
    often = dict.fromkeys(sizes, 1)
    until = perf_counter() + seconds
    more = True
    while more:
        for size in rng.sample(list(sizes), len(sizes)):
            play(size, 1)  # warm up, and let the ranks begin together
            least_s = 1.0
            for _ in range(BURSTS_PER_ROUND):
                begun = perf_counter()
                play(size, often[size])
                spent_s = (perf_counter() - begun) / often[size]
                least_s = min(least_s, spent_s)
                taken.add(size, spent_s / messages)
            often[size] = ranks.comm.bcast(
                max(1, min(round(BURST_S / least_s), MAX_BURST_MESSAGES))
            )
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
    """Return touched memory of *size* bytes, the same for each *which*."""
    if which not in _kept or len(_kept[which]) < size:
        _kept[which] = np.ones(max(size, 1), np.uint8)
    return _kept[which][:size]
