"""All-to-all exchange, as messages between ranks."""

from __future__ import annotations

from typing import Final

from tasksim.network.collectives import allgather
from tasksim.network.collectives.allgather import linear
from tasksim.network.collectives.steps import RankSteps, Step, doubled, doubling, exchange

__all__ = ["bruck", "linear", "pairwise", "ring", "scattered"]


CONCURRENT_MESSAGES: Final = 4
"""Number of concurrent messages in :func:`scattered`, as in MPICH."""


def scattered(ranks: int, size: float) -> RankSteps:
    """Return the program in which each rank sends to itself and the others, four at a time."""
    return [
        [
            Step(
                tuple(((rank - hop) % ranks, size) for hop in hops),
                tuple(((rank + hop) % ranks, size) for hop in hops),
            )
            for hops in (
                range(first, min(first + CONCURRENT_MESSAGES, ranks))
                for first in range(0, ranks, CONCURRENT_MESSAGES)
            )
        ]
        for rank in range(ranks)
    ]


def ring(ranks: int, size: float) -> RankSteps:
    """Return the program in which each rank sends one rank farther in each round."""
    return [
        [
            exchange((rank + hop) % ranks, (rank - hop) % ranks, size, size)
            for hop in range(1, ranks)
        ]
        for rank in range(ranks)
    ]


def pairwise(ranks: int, size: float) -> RankSteps:
    """Return the program in which pairs exchange, for powers of two; else :func:`ring`."""
    if ranks & (ranks - 1):
        return ring(ranks, size)
    return allgather.pairwise(ranks, size)


def bruck(ranks: int, size: float) -> RankSteps:
    """Return Bruck's program, in ceil(log2) rounds with about half of the data each."""
    blocks = {d: sum(1 for block in range(ranks) if block & d) for d in doubling(ranks)}

    def step(rank: int, distance: int) -> Step:
        handed = blocks[distance] * size
        return exchange((rank + distance) % ranks, (rank - distance) % ranks, handed, handed)

    return doubled(ranks, step)
